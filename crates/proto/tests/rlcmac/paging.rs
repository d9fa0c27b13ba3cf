//! Paging, and mobiles in DRX mode.

use crate::world::{Plan, World, octets, tlli};
use gannet_machine::time::{Duration, Instant};
use gannet_proto::bearer::PagedIdentity;
use gannet_proto::rlcmac::air::Direction::{Down, Up};
use gannet_proto::rlcmac::ccch::{Layout, block_ends};
use gannet_proto::rlcmac::config::{CellOptions, NetworkConfig};
use gannet_proto::rlcmac::mobile::{Mac, MobileConfig};
use gannet_proto::rlcmac::multiframe::{frame_at, frame_start};
use gannet_proto::rlcmac::network::Pcu;
use gannet_proto::rlcmac::network::fair::Class;
use gannet_proto::rlcmac::paging::{Drx, Page, PagingControl};
use gannet_proto::rlcmac::signal::{Burst, Common};
use gannet_wire::id::{Imsi, PTmsi};
use gannet_wire::rlcmac::coding::CodingScheme::Cs2;

const CONTROL: PagingControl = PagingControl { layout: Layout::Uncombined, multiframes: 5, access_blocks: 2 };

fn options() -> CellOptions {
    CellOptions { paging: CONTROL, ..CellOptions::default() }
}

fn plan() -> Plan {
    Plan { options: options(), ..Plan::default() }
}

fn imsi(number: u32) -> Imsi {
    format!("001010000{number:06}").parse().unwrap()
}

/// The first frames of the CCCH blocks from this time on.
fn blocks(from: Instant) -> impl Iterator<Item = u64> {
    let next = |frame: &u64| Some(CONTROL.layout.block_from(frame_start(frame + 1)));
    core::iter::successors(Some(CONTROL.layout.block_from(from)), next)
}

#[test]
fn a_mobile_in_drx_mode_listens_to_the_blocks_of_its_group_alone() {
    let mut mac = Mac::new(MobileConfig::default(), options());
    assert!(blocks(Instant::ZERO).take(45).all(|frame| mac.listens_to(frame)), "without DRX to each");
    let drx = Drx { imsi: imsi(123), non_drx: Duration::from_secs(2) };
    mac.set_drx(Some(drx));
    let group = CONTROL.group(&drx.imsi);
    let heard: Vec<u64> = blocks(Instant::ZERO).take(90).filter(|frame| mac.listens_to(*frame)).collect();
    let of_group: Vec<u64> =
        blocks(Instant::ZERO).take(90).filter(|frame| CONTROL.is_of(group, *frame)).collect();
    assert_eq!((heard.len(), heard), (2, of_group));
    mac.suspend(Instant::ZERO, true);
    assert!(!blocks(Instant::ZERO).take(45).any(|frame| mac.listens_to(frame)));
}

#[test]
fn an_access_needs_each_block() {
    let mut world = World::new(&plan());
    let drx = world.sleeper(0, 7, Duration::ZERO);
    world.up(0, &octets(1, 50));
    let mac = &world.mobiles[0].mac;
    assert!(blocks(world.around.now).take(20).all(|frame| mac.listens_to(frame)));
    world.settle();
    let group = CONTROL.group(&drx.imsi);
    let mac = &world.mobiles[0].mac;
    assert!(
        blocks(world.around.now).take(90).all(|frame| mac.listens_to(frame) == CONTROL.is_of(group, frame))
    );
    assert_eq!(world.arrived(Up).len(), 1);
}

/// The times from the last block of a transfer on, to the end of the non-DRX period.
fn awake_for(non_drx: Duration, drx_timer_max: Duration) -> Duration {
    let options = CellOptions { drx_timer_max, ..options() };
    let mut world = World::new(&Plan { options, ..plan() });
    let drx = world.sleeper(0, 400, non_drx);
    world.down(0, &octets(1, 300));
    while world.mobiles[0].mac.slots() == 0 {
        world.pass(Duration::from_millis(20));
    }
    while world.mobiles[0].mac.slots() != 0 {
        world.pass(Duration::from_millis(1));
    }
    let (begin, mac) = (world.around.now, &world.mobiles[0].mac);
    let group = CONTROL.group(&drx.imsi);
    let is_woken = |frame: &u64| mac.listens_to(*frame) && !CONTROL.is_of(group, *frame);
    let last = blocks(begin).take(3000).filter(is_woken).last();
    last.map_or(Duration::ZERO, |frame| frame_start(frame).since(begin))
}

#[test]
fn after_a_transfer_a_mobile_listens_to_each_block_for_the_shorter_of_both_timers() {
    let seconds = Duration::from_secs;
    for (non_drx, longest, expected) in [(2, 4, 2), (8, 4, 4), (1, 64, 1), (16, 0, 0), (0, 64, 0)] {
        let took = awake_for(seconds(non_drx), seconds(longest)).0;
        let expected: u64 = expected * 1_000_000_000;
        // The last block before the end; blocks are at most 46 ms apart.
        assert!(took <= expected && took + 60_000_000 > expected, "{non_drx} and {longest} s: {took} ns");
    }
}

struct Network {
    pcu: Pcu,
    world: World,
    now: Instant,
}

impl Network {
    fn new() -> Self {
        let world = World::new(&plan());
        let network = NetworkConfig { downlink_slots: 1, ..NetworkConfig::new(crate::world::PDCHS, Cs2) };
        Self { pcu: Pcu::new(network, options()), world, now: Instant(50_000_000) }
    }

    fn request(&mut self, mobile: u32) {
        let pdu = self.world.pdu(mobile, &octets(mobile, 100));
        self.pcu.request(pdu, Class::Weighted(1), true).unwrap();
    }

    /// The next message and the first frame of its block.
    fn common(&mut self) -> (u64, Common) {
        let frame = self.pcu.next_common_at(self.now).unwrap();
        let message = self.pcu.next_common(frame_start(frame), frame).unwrap();
        self.now = block_ends(frame);
        self.pcu.common_sent(&message);
        (frame, message)
    }
}

#[test]
fn an_assignment_for_a_mobile_that_sleeps_waits_for_its_group_and_for_nobody_else() {
    let mut network = Network::new();
    let drx = Drx { imsi: imsi(31), non_drx: Duration::ZERO };
    network.pcu.set_drx(1, Some(drx));
    let group = CONTROL.group(&drx.imsi);
    let expected = CONTROL.next_of(group, network.now);
    assert!(frame_start(expected).since(network.now) > Duration::from_millis(300));
    network.request(1);
    network.request(2);
    network.pcu.burst(Burst { code: 0x79, frame: 5 });
    let (first, message) = network.common();
    assert!(matches!(message, Common::Downlink { tlli: its, .. } if its == tlli(2)), "{message:?}");
    let (second, message) = network.common();
    assert!(matches!(message, Common::Uplink { .. }), "{message:?}");
    let (third, message) = network.common();
    assert!(matches!(message, Common::Downlink { tlli: its, .. } if its == tlli(1)), "{message:?}");
    assert_eq!((first, third), (CONTROL.layout.block_from(Instant(50_000_000)), expected));
    assert!(first < second && second < third && network.pcu.next_common_at(network.now).is_none());
    assert_eq!(network.pcu.access_counts().downlink_in_group, 1);
}

#[test]
fn in_its_group_an_assignment_goes_before_pages_and_these_before_what_can_wait() {
    let mut network = Network::new();
    let drx = Drx { imsi: imsi(31), non_drx: Duration::ZERO };
    network.pcu.set_drx(1, Some(drx));
    let page = Page { identity: PagedIdentity::Imsi(imsi(66)), is_packet: true };
    assert_eq!(CONTROL.group(&imsi(66)), CONTROL.group(&drx.imsi), "35 groups");
    assert!(network.pcu.page(page, &imsi(66)));
    network.request(1);
    network.now = frame_start(CONTROL.next_of(CONTROL.group(&drx.imsi), network.now));
    let begin = network.now;
    network.pcu.burst(Burst { code: 0x79, frame: frame_at(begin) });
    let messages: Vec<(u64, Common)> = (0..3).map(|_| network.common()).collect();
    assert!(matches!(messages[0].1, Common::Downlink { .. }), "{messages:?}");
    assert!(matches!(messages[1].1, Common::Uplink { .. }), "{messages:?}");
    assert_eq!(messages[2].1, Common::Paging([Some(page), None, None, None]));
    assert_eq!(messages[2].0 - messages[0].0, 5 * 51, "a cycle later");
}

#[test]
fn within_its_non_drx_period_a_mobile_is_assigned_a_tbf_at_once() {
    for (pause, is_at_once) in [(1000, true), (2200, true), (3200, false)] {
        let mut world = World::new(&plan());
        // T3192 is half a second; then two seconds follow.
        world.sleeper(0, 31, Duration::from_secs(2));
        world.down(0, &octets(1, 300));
        while world.arrived(Down).is_empty() {
            world.pass(Duration::from_millis(10));
        }
        world.pass(Duration::from_millis(pause));
        let before = world.cell.pcu().access_counts().downlink_in_group;
        world.down(0, &octets(2, 300));
        let asked = world.around.now;
        world.settle();
        let told = world.told.iter().find(|told| told.octets == octets(2, 300)).unwrap();
        let in_group = world.cell.pcu().access_counts().downlink_in_group - before;
        assert_eq!((told.loss, in_group), (None, u64::from(!is_at_once)), "{pause} ms");
        let took = told.at.since(asked);
        assert_eq!(took < Duration::from_millis(300), is_at_once, "{pause} ms: {took}");
    }
}

#[test]
fn uplink_transfers_are_followed_by_a_non_drx_period_too() {
    let mut world = World::new(&plan());
    world.sleeper(0, 31, Duration::from_secs(2));
    world.down(0, &octets(0, 100));
    world.settle();
    world.pass(Duration::from_secs(5));
    let in_group = |world: &World| world.cell.pcu().access_counts().downlink_in_group;
    assert_eq!(in_group(&world), 1);
    world.up(0, &octets(1, 100));
    while world.mobiles[0].mac.is_busy() {
        world.pass(Duration::from_millis(20));
    }
    world.pass(Duration::from_millis(1500));
    world.down(0, &octets(2, 100));
    world.settle();
    assert_eq!((world.arrived(Down).len(), in_group(&world)), (2, 1));
}

#[test]
fn a_page_is_heard_by_the_mobiles_of_its_group_and_by_those_that_listen_to_each_block() {
    let mut world = World::new(&Plan { mobiles: 4, ..plan() });
    // Mobiles 0 and 1 are of one group, mobile 2 is of another, and mobile 3 uses no DRX.
    for (mobile, number) in [(0, 40), (1, 5), (2, 41)] {
        world.sleeper(mobile, number, Duration::ZERO);
    }
    let by_ptmsi =
        |bits: u32| Page { identity: PagedIdentity::PTmsi(PTmsi(0xc000_0000 | bits)), is_packet: true };
    (1..=4).for_each(|name| world.page(by_ptmsi(name), &imsi(40)));
    let by_imsi = Page { identity: PagedIdentity::Imsi(imsi(41)), is_packet: false };
    world.page(by_imsi, &imsi(41));
    world.settle();
    let heard = |mobile: u32| {
        let of = world.paged.iter().filter(|(_, whose, _)| *whose == mobile);
        let of: Vec<(Instant, Page)> = of.map(|(at, _, page)| (*at, *page)).collect();
        of
    };
    let group = CONTROL.group(&imsi(40));
    let at = block_ends(CONTROL.next_of(group, Instant::ZERO));
    assert_eq!(heard(0), (1..=4).map(|name| (at, by_ptmsi(name))).collect::<Vec<_>>(), "in one message");
    assert_eq!(heard(1), heard(0));
    let later = block_ends(CONTROL.next_of(CONTROL.group(&imsi(41)), Instant::ZERO));
    assert_eq!((heard(2), heard(3).len()), (vec![(later, by_imsi)], 5));
    let counts = world.cell.pcu().access_counts();
    assert_eq!((counts.paging_requests, counts.pages), (2, 5));
}

#[test]
fn so_many_pages_wait_and_no_more() {
    let mut network = Network::new();
    let page = Page { identity: PagedIdentity::Imsi(imsi(1)), is_packet: true };
    let taken = (0..300).filter(|number| network.pcu.page(page, &imsi(*number))).count();
    assert_eq!(taken, 256);
    let mut said = 0;
    while network.pcu.has_common() {
        let (_, Common::Paging(pages)) = network.common() else { panic!("no page") };
        said += pages.iter().flatten().count();
    }
    assert_eq!((said, network.pcu.access_counts().pages), (256, 256));
}

#[test]
fn the_wait_for_a_group_is_half_a_cycle_on_the_average() {
    for (multiframes, expected_ms) in [(2, 235.4), (5, 588.5), (9, 1059.2)] {
        let paging = PagingControl { multiframes, ..PagingControl::default() };
        let mut pcu =
            Pcu::new(NetworkConfig::new(crate::world::PDCHS, Cs2), CellOptions { paging, ..options() });
        pcu.set_drx(1, Some(Drx { imsi: imsi(77), non_drx: Duration::ZERO }));
        let world = World::new(&plan());
        pcu.request(world.pdu(1, &octets(1, 100)), Class::Weighted(1), true).unwrap();
        let frames = u64::from(multiframes) * 51;
        let wait = |frame: u64| {
            // In the middle of a frame.
            let now = Instant(frame_start(frame).0 + 2_307_692);
            frame_start(pcu.next_common_at(now).unwrap()).since(now).0
        };
        let mean_ms = (0..frames).map(wait).sum::<u64>() as f64 / frames as f64 / 1e6;
        assert!((mean_ms - expected_ms).abs() < 0.1, "{multiframes}: {mean_ms} ms");
    }
}
