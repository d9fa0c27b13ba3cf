//! Several mobiles in a cell: they share it, they collide, and each gets what is its own.

use crate::world::{FRAMES, Plan, Told, World, octets};
use gannet_machine::rng::Rng;
use gannet_machine::time::{Duration, Instant};
use gannet_proto::bearer::PagedIdentity;
use gannet_proto::rlcmac::air::Direction::{self, Down, Up};
use gannet_proto::rlcmac::air::Faults;
use gannet_proto::rlcmac::ccch::Layout;
use gannet_proto::rlcmac::channel::{Bursts, Capture, Link, Profile};
use gannet_proto::rlcmac::config::{CellOptions, NetworkConfig, Preempted, WithoutPdch};
use gannet_proto::rlcmac::custody::LlPdu;
use gannet_proto::rlcmac::mobile::{Keeps, MobileConfig};
use gannet_proto::rlcmac::network::fair::Class;
use gannet_proto::rlcmac::paging::{Page, PagingControl};
use gannet_proto::rlcmac::policy::{Idle, Policy, UplinkAcks};
use gannet_proto::rlcmac::rlc::Age;
use gannet_proto::rlcmac::tap::{Late, Scope, Tap};
use gannet_wire::id::Imsi;
use gannet_wire::l3::ie::RadioPriority;
use gannet_wire::rlcmac::coding::CodingScheme;
use std::collections::BTreeMap;

#[test]
fn ten_mobiles_that_begin_at_once_all_get_through() {
    let mut world = World::new(&Plan { mobiles: 10, ..Plan::default() });
    for mobile in 0..10 {
        world.up(mobile, &octets(mobile, 200));
        world.down(mobile, &octets(100 + mobile, 400));
    }
    world.settle();
    let both = |direction| world.arrived(direction).len();
    assert_eq!((both(Down), both(Up)), (10, 10), "{:?}", world.cell.counts());
    assert!(world.cell.counts().burst_collisions > 0, "they collide");
    assert_eq!(world.cell.counts().faults, Faults::default());
}

#[test]
fn mobiles_whose_bursts_are_alike_learn_whose_the_tbf_is() {
    // Bursts of the same frame, of which one is stronger: both mobiles take the assignment where they threw the same bits.
    let mut lost = 0;
    for seed in 0..200 {
        let capture = Capture::Ratio(0.0);
        let mut world = World::new(&Plan { seed, mobiles: 12, capture, ..Plan::default() });
        for mobile in 0..12 {
            world.up(mobile, &octets(mobile, 100));
        }
        world.settle();
        assert_eq!(world.arrived(Up).len(), 12, "seed {seed}");
        lost += world.mobiles.iter().map(|mobile| mobile.mac.counts().contentions_lost).sum::<u64>();
        assert_eq!(world.cell.counts().faults, Faults::default(), "seed {seed}");
    }
    assert!(lost > 20, "contention happens: {lost}");
}

#[test]
fn blocks_go_by_weight_and_signalling_first() {
    // SAPI 3 has eight times the weight of SAPI 11.
    let network = NetworkConfig { downlink_slots: 1, ..NetworkConfig::new(0b0001_0000, CodingScheme::Cs2) };
    let mut world = World::new(&Plan { mobiles: 3, network, ..Plan::default() });
    let of_sapi = |name: u32, sapi: u8, len: usize| {
        let mut octets = octets(name, len);
        octets.insert(0, sapi);
        octets
    };
    for name in 0..20 {
        world.down(0, &of_sapi(name, 3, 1000));
        world.down(1, &of_sapi(100 + name, 11, 1000));
    }
    world.pass(Duration::from_secs(14));
    let count =
        |world: &World, mobile| world.arrived(Down).iter().filter(|(whose, _)| *whose == mobile).count();
    let (many, few) = (count(&world, 0), count(&world, 1));
    assert!(few > 0 && many >= 6 * few, "{many} and {few}");
    world.down(2, &of_sapi(200, 1, 300));
    let before = world.told.len();
    world.pass(Duration::from_secs(1));
    assert!(world.told[before..].iter().any(|told| told.mobile == 2), "signalling does not wait");
}

/// Of one mobile, too, user data of a better priority does not wait behind that of a worse one, but for that of its own SAPI.
#[test]
fn of_one_mobile_the_better_priority_goes_first_and_no_sapi_is_disordered() {
    let network = NetworkConfig::new(0b0001_0000, CodingScheme::Cs2);
    let mut world = World::new(&Plan { mobiles: 1, network, ..Plan::default() });
    let of_sapi = |name: u32, sapi: u8| {
        let mut octets = octets(name, 500);
        octets.insert(0, sapi);
        octets
    };
    let put = |world: &mut World, priority, octets: &[u8]| {
        let pdu = LlPdu { priority, ..world.pdu(0, octets) };
        world.cell.pcu_mut().request(pdu, Class::Weighted(1), true).unwrap();
        world.cell.touched(world.around.now, None, &world.mobiles);
    };
    let (low, high) = (RadioPriority::Four, RadioPriority::Two);
    (0..20).for_each(|name| put(&mut world, low, &of_sapi(name, 3)));
    put(&mut world, high, &of_sapi(100, 3));
    put(&mut world, high, &of_sapi(101, 5));
    put(&mut world, high, &of_sapi(102, 5));
    world.settle();
    let came: Vec<Vec<u8>> = world.arrived(Down).into_iter().map(|(_, octets)| octets).collect();
    let place = |name: u32, sapi: u8| came.iter().position(|octets| *octets == of_sapi(name, sapi)).unwrap();
    assert_eq!(came.len(), 23);
    assert!(place(101, 5) <= 2 && place(102, 5) == place(101, 5) + 1, "it waits behind those begun at most");
    let of_three = (0..20).chain([100]).map(|name| place(name, 3));
    assert!(of_three.is_sorted(), "none overtakes another of its SAPI");
}

/// Anything that may be done about lost blocks.
fn random_policy(dice: &mut Rng, plan: &mut Plan) {
    let before = plan.network.policy;
    plan.network.policy = Policy {
        poll_after_loss: 1 + dice.below(u64::from(before.poll_every)) as u16,
        polls_max: 1 + dice.below(4) as u8,
        age: [Age::Ignored, Age::Spares, Age::SparesAndFinds][dice.below(3) as usize],
        idle: [Idle::InTurn, Idle::Spare, Idle::SpareOnce, Idle::ToPoll][dice.below(4) as usize],
        polls_anew: dice.chance(0.5),
        spares_reports: dice.chance(0.5),
        uplink_acks: if dice.chance(0.5) { UplinkAcks::OnGap } else { UplinkAcks::Every },
        ..before
    };
    plan.mobile.sparing = dice.chance(0.5);
}

/// What cell, what mobiles, and what the channel loses.
fn random_plan(seed: u64, dice: &mut Rng) -> Plan {
    let coding = CodingScheme::ALL[dice.below(4) as usize];
    let pdchs = [0b0001_0000, 0b0011_0000, 0b1111_0000, 0b1110_1000][dice.below(4) as usize];
    let acknowledged = dice.chance(0.8);
    let (poll_every, ack_every) = (1 + dice.below(20) as u16, 1 + dice.below(20) as u16);
    let delayed_release = Duration::from_millis([0, 0, 300, 2000][dice.below(4) as usize]);
    let (idle, age) = (
        if dice.chance(0.7) { Idle::Spare } else { Idle::ToPoll },
        if dice.chance(0.5) { Age::Spares } else { Age::Ignored },
    );
    let network = NetworkConfig {
        acknowledged,
        policy: Policy { poll_every, ack_every, idle, age, poll_after_loss: poll_every, ..Policy::USUAL },
        delayed_release,
        force_two_phase: dice.chance(0.3),
        confirm_assignment: dice.chance(0.3),
        downlink_slots: 1 + dice.below(4) as u8,
        uplink_slots: 1 + dice.below(2) as u8,
        preempted: [
            Preempted::Flush,
            Preempted::HoldFor(Duration::from_millis(dice.below(3000))),
            Preempted::Hold,
            Preempted::Forward,
        ][dice.below(4) as usize],
        without_pdch: if dice.chance(0.5) { WithoutPdch::Ignore } else { WithoutPdch::Reject },
        ..NetworkConfig::new(pdchs, coding)
    };
    let options = CellOptions {
        bs_cv_max: dice.below(16) as u8,
        extended_uplink: Duration::from_millis([0, 0, 500][dice.below(3) as usize]),
        t3192: Duration::from_millis([0, 120, 500, 1500][dice.below(4) as usize]),
        paging: PagingControl {
            layout: if dice.chance(0.3) { Layout::Combined } else { Layout::Uncombined },
            multiframes: 2 + dice.below(8) as u8,
            access_blocks: dice.below(8) as u8,
        },
        drx_timer_max: Duration::from_secs([0, 1, 4][dice.below(3) as usize]),
        ..CellOptions::default()
    };
    let link = match dice.below(4) {
        0 => Link::perfect(),
        1 => Link::with_rate(0.3 * dice.unit()),
        2 => Link::new(
            Profile::Tu50,
            Profile::Tu50.reference_db(coding) + 9.0 * dice.unit(),
            Bursts::of(0.1, 20.0),
        ),
        _ => Link::new(Profile::Tu3, Profile::Tu3.reference_db(coding) + 9.0 * dice.unit(), None),
    };
    let mobiles = 1 + dice.below(9) as u32;
    let capture = if dice.chance(0.5) { Capture::Ratio(2.0) } else { Capture::None };
    let mobile = MobileConfig { two_phase: dice.chance(0.3), keeps: keeps(dice), ..MobileConfig::default() };
    Plan { seed, mobiles, network, options, mobile, capture, link }
}

/// LL-PDUs that were sent, by direction (true for down) and mobile.
type SentPdus = BTreeMap<(bool, u32), Vec<Vec<u8>>>;

/// What is sent and when, who is paged, who vanishes, which PDCHs go and which calls take. Gives the LL-PDUs and the number of pages.
fn random_life(world: &mut World, mobiles: u32, dice: &mut Rng) -> (SentPdus, u64) {
    for mobile in 0..mobiles {
        if dice.chance(0.6) {
            world.sleeper(mobile, mobile, Duration::from_secs([0, 1, 2][dice.below(3) as usize]));
        }
    }
    let mut pages = 0;
    let mut sent = SentPdus::new();
    for name in 0..(4 + dice.below(60) as u32) {
        let (mobile, len) = (dice.below(mobiles.into()) as u32, 5 + dice.below(900) as usize);
        let octets = octets(name, len);
        if dice.chance(0.5) {
            let lives = Duration::from_millis(if dice.chance(0.1) { dice.below(2000) } else { 1_000_000 });
            world.down_until(mobile, &octets, world.around.now + lives);
            sent.entry((true, mobile)).or_default().push(octets);
        } else {
            world.up(mobile, &octets);
            sent.entry((false, mobile)).or_default().push(octets);
        }
        world.pass(Duration::from_millis(dice.below(400)));
        if dice.chance(0.04) {
            // A mobile vanishes in the middle, or comes back.
            let state = &mut world.mobiles[mobile as usize];
            let gone = if dice.chance(0.5) { Link::with_rate(1.0) } else { Link::perfect() };
            (state.downlink, state.uplink) = (gone.clone(), gone);
        }
        if dice.chance(0.1) {
            world.page(page_of(mobile), &imsi_of(mobile));
            pages += 1;
        }
        if dice.chance(0.02) {
            // PDCHs come and go.
            let pdchs = [0b0001_0000, 0b0110_0000, 0b1111_0000, 0b1000_0001][dice.below(4) as usize];
            let network = NetworkConfig { pdchs, ..*world.cell.pcu().config() };
            world.cell.pcu_mut().reconfigure(network);
            world.cell.touched(world.around.now, None, &world.mobiles);
        }
        if dice.chance(0.06) {
            // Calls take some PDCHs, or all, or none.
            world.hold([0, 0, 0xff, 0xff, 0b0111_0000, 0b1010_0101][dice.below(6) as usize]);
        }
    }
    world.pass(Duration::from_millis(dice.below(3000)));
    world.hold(0);
    (sent, pages)
}

/// Whoever never gives up must be heard in the end.
fn hear_all(world: &mut World) {
    for state in &mut world.mobiles {
        (state.downlink, state.uplink) = (Link::perfect(), Link::perfect());
    }
}

/// A world from a seed.
fn keeps(dice: &mut Rng) -> Keeps {
    match dice.below(10) {
        0..3 => Keeps::All,
        3 => Keeps::Nothing,
        _ => Keeps::Accesses,
    }
}

fn random_world(seed: u64) {
    let mut dice = Rng::seeded(seed);
    let mut plan = random_plan(seed, &mut dice);
    random_policy(&mut Rng::seeded(seed ^ 0x7011_0000), &mut plan);
    let mut world = World::new(&plan);
    let (sent, pages) = random_life(&mut world, plan.mobiles, &mut dice);
    if plan.mobile.keeps == Keeps::All {
        hear_all(&mut world);
    }
    world.settle_of(seed);
    assert_eq!(world.cell.counts().faults.misdelivered, 0, "seed {seed}");
    assert_eq!(world.cell.counts().faults.unreadable, 0, "seed {seed}");
    assert!(!plan.network.acknowledged || world.cell.counts().faults.strange == 0, "seed {seed}");
    for (direction, is_down) in [(Down, true), (Up, false)] {
        check(&world, direction, &sent, is_down, seed);
    }
    assert_eq!(world.cell.pcu().tbfs(), (0, 0), "seed {seed}");
    assert_eq!(world.cell.pcu().waiting(), (0, 0), "seed {seed}");
    assert_eq!(world.around.frames.free(), FRAMES, "seed {seed}");
    check_pages(&world, pages, plan.options.paging, seed);
}

/// Each page was said, and heard once at most, by mobiles that listened to its block.
fn check_pages(world: &World, pages: u64, paging: PagingControl, seed: u64) {
    assert_eq!(world.cell.pcu().access_counts().pages, pages, "seed {seed}");
    for (at, mobile, page) in &world.paged {
        let same = world.paged.iter().filter(|(when, whose, _)| (when, whose) == (at, mobile));
        assert!(same.count() <= 4, "seed {seed}");
        let PagedIdentity::Imsi(imsi) = page.identity else { panic!("seed {seed}: {page:?}") };
        // The block ended now; a frame of it is two frames back.
        let first = paging.layout.block_from(Instant(at.0 - 4 * 4_615_385));
        assert!(paging.is_of(paging.group(&imsi), first), "seed {seed}: mobile {mobile} at {at}");
    }
    assert!(world.paged.len() as u64 <= pages * world.mobiles.len() as u64, "seed {seed}");
}

fn imsi_of(mobile: u32) -> Imsi {
    format!("001010000{mobile:06}").parse().unwrap()
}

fn page_of(mobile: u32) -> Page {
    Page { identity: PagedIdentity::Imsi(imsi_of(mobile)), is_packet: true }
}

/// Each LL-PDU is told of once, as its own mobile's; what arrives arrives in order.
fn check(world: &World, direction: Direction, sent: &SentPdus, is_down: bool, seed: u64) {
    for mobile in 0..world.mobiles.len() as u32 {
        let told = world.told.iter().filter(|told| (told.direction, told.mobile) == (direction, mobile));
        let all = sent.get(&(is_down, mobile)).cloned().unwrap_or_default();
        let place = |octets: &Vec<u8>| all.iter().position(|sent| sent == octets).unwrap();
        let mut places: Vec<usize> = told.clone().map(|told| place(&told.octets)).collect();
        let arrived: Vec<usize> =
            told.filter(|told| told.loss.is_none()).map(|told| place(&told.octets)).collect();
        assert!(arrived.is_sorted(), "seed {seed}: {direction:?} of {mobile}: {arrived:?}");
        places.sort_unstable();
        assert_eq!(places, (0..all.len()).collect::<Vec<_>>(), "seed {seed}: {direction:?} of {mobile}");
    }
}

/// Where the network hears little of mobiles that hear it, TBFs break whose LL-PDUs the receiver gets whole all the same. Each such copy is one of an LL-PDU that is told
/// of once, as arrived or as lost by name: no loss hides behind it, and nothing arrives twice. Links lose half of the uplink blocks, or more, or all; a mobile that gives
/// nothing up is heard after a minute.
#[test]
fn a_late_copy_hides_no_loss() {
    let (mut late, mut arrived, mut lost) = (0, 0, 0);
    for seed in 0..240 {
        let mut dice = Rng::seeded(seed);
        let mut plan = random_plan(seed, &mut dice);
        plan.network.acknowledged = true;
        let mut world = World::new(&plan);
        for state in &mut world.mobiles {
            (state.downlink, state.uplink) = (Link::with_rate(0.2), Link::with_rate(0.5 + 0.5 * dice.unit()));
        }
        world.cell.set_tap(Some(Tap::new(Scope::Abis, 1, None)));
        let (sent, _) = random_life(&mut world, plan.mobiles, &mut dice);
        if plan.mobile.keeps == Keeps::All {
            world.pass(Duration::from_secs(60));
            hear_all(&mut world);
        }
        world.settle_of(seed);
        for (direction, is_down) in [(Down, true), (Up, false)] {
            check(&world, direction, &sent, is_down, seed);
        }
        let copies: Vec<Late> =
            core::iter::from_fn(|| world.cell.tap_mut().and_then(Tap::pop_late)).collect();
        assert_eq!(copies.len() as u64, world.cell.counts().late, "seed {seed}");
        for copy in copies {
            let is_its = |told: &&Told| {
                (told.direction, told.mobile, &told.octets) == (copy.direction, copy.mobile, &copy.octets)
            };
            let told: Vec<&Told> = world.told.iter().filter(is_its).collect();
            let [told] = told[..] else { panic!("seed {seed}: {copy:?} is told of {} times", told.len()) };
            late += 1;
            *(if told.loss.is_none() { &mut arrived } else { &mut lost }) += 1;
        }
    }
    assert!(late > 0 && late == arrived + lost && arrived > 0, "{late} late: {arrived} arrived, {lost} lost");
}

/// `RLCMAC_WORLDS=N` runs so many, `RLCMAC_SEED=N` that one.
#[test]
fn in_random_worlds_each_ll_pdu_arrives_once_or_is_lost_and_never_at_another_mobile() {
    let worlds = std::env::var("RLCMAC_WORLDS").ok().and_then(|worlds| worlds.parse().ok()).unwrap_or(150);
    match std::env::var("RLCMAC_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => random_world(seed),
        None => (0..worlds).for_each(random_world),
    }
}
