//! A mobile changes its bearer in the middle of a transfer: one access point with two links, over which packets take different
//! times.

use crate::adaptation::{Choice, OUTSIDE, World};
use crate::world::packet;
use core::net::Ipv4Addr;
use gannet_machine::drops::Drop;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::{Input, Peer};
use gannet_node::bss::access_point::ApCommand;
use gannet_node::ggsn::PORT_TUN;
use gannet_node::ms::{self, MsCommand, MsEvent};
use gannet_proto::adaptation::Medium;
use gannet_proto::bearer::Order;
use gannet_wire::id::Sapi;
use gannet_wire::l3::ie::{QosProfile, ReliabilityClass};

/// The mobile that transfers.
pub const MOBILE: u32 = 3;
/// N-PDUs each way in all.
const N_PDUS: usize = 2400;
/// The most N-PDUs under way uplink: a mobile that is given many more at once drops them before it can say that it is full.
const UP_MOST: usize = 48;

/// N-PDUs of one direction: what was sent, and what came.
#[derive(Default)]
struct Way {
    sent: Vec<Vec<u8>>,
    came: Vec<Vec<u8>>,
}

/// What goes on during a transfer.
#[derive(Debug, Clone, Copy)]
pub enum Act {
    Prefer(u16),
    Order,
    Pull,
    Plug,
    Length(u16),
}

pub struct Transfer {
    pub world: World,
    address: Ipv4Addr,
    down: Way,
    up: Way,
    /// N-PDUs each way in all.
    n_pdus: usize,
    /// The mobile takes nothing.
    is_held_back: bool,
    /// When something came last, and the longest time for which nothing did.
    came_at: Instant,
    longest_wait: Duration,
}

/// A packet that is like no other.
fn numbered(source: Ipv4Addr, destination: Ipv4Addr, octets: usize, number: usize) -> Vec<u8> {
    let mut packet = packet(source, destination, octets - number % 7);
    packet[28..36].copy_from_slice(&(number as u64).to_be_bytes());
    packet
}

impl Transfer {
    /// The first link is the slower one: what was sent there arrives after what is sent on the other one later.
    fn new(has_keys: bool, reliability: ReliabilityClass) -> Self {
        let mut choice = Choice::new(&[Medium::Ethernet, Medium::Udp], has_keys);
        choice.is_one_ap = true;
        choice.delays = [3000, 200].map(Duration::from_micros).to_vec();
        Self::over(&choice, reliability, N_PDUS)
    }

    /// So many N-PDUs each way in a world as chosen.
    pub fn over(choice: &Choice, reliability: ReliabilityClass, n_pdus: usize) -> Self {
        let mut world = World::new(choice);
        let qos = QosProfile { reliability, ..QosProfile::BEST_EFFORT };
        let address = world.activate_with(Some(qos))[MOBILE as usize];
        world.from_ms.clear();
        let came_at = world.now;
        let (down, up) = <(Way, Way)>::default();
        Self { world, address, down, up, n_pdus, is_held_back: false, came_at, longest_wait: Duration::ZERO }
    }

    fn act(&mut self, act: Act) {
        let bearer =
            |world: &mut World, order| world.ms.inputs.push(Input::Command(MsCommand::Bearer(order)));
        match act {
            Act::Prefer(link) => bearer(&mut self.world, Order::PreferLink(link)),
            Act::Order => bearer(&mut self.world, Order::Prefer(vec![0, 1])),
            Act::Pull | Act::Plug => {
                let is_up = matches!(act, Act::Plug);
                self.world.cut(0, !is_up);
                bearer(&mut self.world, Order::SetLink { link: 0, is_up });
                let command = ApCommand::SetLink { link: 0, is_up };
                self.world.aps[0].inputs.push(Input::Command(command));
            }
            Act::Length(octets) => {
                bearer(&mut self.world, Order::SetMtu { link: 0, octets });
                let command = ApCommand::SetMtu { link: 0, octets };
                self.world.aps[0].inputs.push(Input::Command(command));
            }
        }
    }

    /// Both ways at once: no more than `window` are under way in each direction, and uplink no more than [`UP_MOST`]. Acts happen when so
    /// much has come.
    pub fn run(&mut self, window: usize, acts: &[(usize, Act)]) {
        let n_pdus = self.n_pdus;
        let mut acts = acts.iter().peekable();
        for _ in 0..120_000 {
            while let Some((_, act)) = acts.next_if(|(at, _)| self.down.came.len() >= *at) {
                self.act(*act);
            }
            while self.down.sent.len() < (self.down.came.len() + window).min(n_pdus) {
                let down = numbered(OUTSIDE, self.address, 1400, self.down.sent.len());
                self.world.ggsn.datagram(PORT_TUN, Peer::Slot(0), &down);
                self.down.sent.push(down);
            }
            for event in self.world.events.drain(..) {
                if let MsEvent::HeldBack { mobile: MOBILE, on } = event {
                    self.is_held_back = on;
                }
            }
            while !self.is_held_back
                && self.up.sent.len() < (self.up.came.len() + window.min(UP_MOST)).min(n_pdus)
            {
                let up = numbered(self.address, OUTSIDE, 1300, self.up.sent.len());
                self.world.ms.datagram(ms::TUN, Peer::Slot(MOBILE), &up);
                self.up.sent.push(up);
            }
            self.world.pass(1);
            let before = self.down.came.len();
            self.down
                .came
                .extend(core::mem::take(&mut self.world.from_ms).into_iter().map(|(_, octets)| octets));
            self.up.came.append(&mut self.world.from_ggsn);
            if self.down.came.len() > before {
                self.longest_wait = self.longest_wait.max(self.world.now.since(self.came_at));
                self.came_at = self.world.now;
            }
            let is_whole = |way: &Way| way.came.len() >= n_pdus;
            if self.down.came.len() + self.refused() >= n_pdus && is_whole(&self.up) {
                break;
            }
        }
        assert!(acts.next().is_none(), "{} came", self.down.came.len());
        // What comes twice comes later.
        self.world.pass(20_000);
        self.down.came.extend(core::mem::take(&mut self.world.from_ms).into_iter().map(|(_, octets)| octets));
        self.up.came.append(&mut self.world.from_ggsn);
    }

    /// N-PDUs downlink that did not come. Those that did came once and in their order.
    fn missing(&self) -> usize {
        let mut sent = self.down.sent.iter();
        let is_there = |came: &Vec<u8>| sent.any(|sent| sent == came);
        assert!(self.down.came.iter().all(is_there), "out of order, or twice");
        self.down.sent.len() - self.down.came.len()
    }

    /// N-PDUs for which a queue of the SGSN had no room.
    fn refused(&self) -> usize {
        usize::try_from(self.world.sgsn.drops().get(Drop::FlowQueueFull)).unwrap()
    }

    pub fn came_once_and_in_order(&self, about: &str) {
        for (name, way) in [("down", &self.down), ("up", &self.up)] {
            let same = way.sent.iter().zip(&way.came).take_while(|(sent, came)| sent == came).count();
            assert_eq!((way.came.len(), same), (self.n_pdus, self.n_pdus), "{name}, {about}");
        }
    }
}

const CHANGES: &[(usize, Act)] = &[
    (300, Act::Prefer(1)),
    (600, Act::Order),
    (900, Act::Prefer(1)),
    (901, Act::Order),
    (1200, Act::Pull),
    (1500, Act::Plug),
    (1800, Act::Length(900)),
    (2100, Act::Prefer(1)),
];

/// In acknowledged mode everything comes once and in its order, whatever happens to the links, and the wait is short.
#[test]
fn a_change_of_bearer_loses_and_doubles_nothing_in_acknowledged_mode() {
    for has_keys in [false, true] {
        let mut transfer = Transfer::new(has_keys, ReliabilityClass::TWO);
        transfer.run(48, CHANGES);
        transfer.came_once_and_in_order(&format!("keys {has_keys}"));
        let wait = transfer.longest_wait;
        assert!(wait < Duration::from_millis(200), "{wait:?}, keys {has_keys}");
        assert_eq!(transfer.world.cell_of(MOBILE).map(|cell| cell.ci), Some(20));
        let deactivated = transfer.world.ms.machine.stats().links_ended;
        assert_eq!((deactivated, transfer.world.drops(Drop::MsOverMtu)), (0, 0));
        // Another N201-I is agreed to while frames of the former length are under way.
        for drop in [Drop::LlcFrameRejected, Drop::LlcNotAbm, Drop::LlcUnexpected] {
            assert_eq!(transfer.world.drops_of_links(drop), 0, "{}, keys {has_keys}", drop.name());
        }
    }
}

/// What operators have chosen of N201-I ends at what the bearer carries, at whichever end: no frame is cut, and none is rejected.
#[test]
fn n201_i_ends_at_what_the_bearer_carries() {
    for (chosen, agreed) in [(Some(1503), 1485), (None, 1485), (Some(900), 900)] {
        let mut choice = Choice::new(&[Medium::Ethernet], false);
        choice.n201_i = chosen;
        let mut world = World::new(&choice);
        let qos = QosProfile { reliability: ReliabilityClass::TWO, ..QosProfile::BEST_EFFORT };
        let address = world.activate_with(Some(qos))[MOBILE as usize];
        for _ in 0..20 {
            assert!(world.exchange(MOBILE, address, 1500), "{chosen:?}");
        }
        assert_eq!(world.drops_of_links(Drop::LlcFrameRejected), 0, "{chosen:?}");
        assert_eq!((world.pieces, world.drops(Drop::MsOverMtu)), (0, 0), "{chosen:?}");
        assert_eq!(world.ms.machine.mobile(MOBILE).unwrap().llc.n201_i(Sapi::DATA3), agreed, "{chosen:?}");
    }
}

/// In unacknowledged mode make before break is all there is: as long as both links are there nothing is lost.
#[test]
fn a_change_between_links_that_are_there_loses_nothing_in_unacknowledged_mode() {
    let acts = [
        (300, Act::Prefer(1)),
        (600, Act::Order),
        (900, Act::Prefer(1)),
        (901, Act::Order),
        (2000, Act::Prefer(1)),
    ];
    for has_keys in [false, true] {
        let mut transfer = Transfer::new(has_keys, ReliabilityClass::THREE);
        transfer.run(12, &acts);
        for (name, way) in [("down", &mut transfer.down), ("up", &mut transfer.up)] {
            way.sent.sort();
            way.came.sort();
            assert_eq!((way.came.len(), way.came == way.sent), (N_PDUS, true), "{name}, keys {has_keys}");
        }
    }
}

/// With so many N-PDUs under way, where the window of LLC is k.
fn with_window(k: u8, delays_us: [u64; 2], window: usize, acts: &[(usize, Act)]) -> Transfer {
    let mut choice = Choice::new(&[Medium::Ethernet, Medium::Udp], false);
    choice.is_one_ap = true;
    choice.k = Some(k);
    choice.delays = delays_us.map(Duration::from_micros).to_vec();
    let mut transfer = Transfer::over(&choice, ReliabilityClass::TWO, N_PDUS);
    transfer.run(window, acts);
    transfer
}

/// All that is under way may be in the queue of the context at a change: 180 N-PDUs of 1400 octets are just below its 256,000.
#[test]
fn a_change_loses_nothing_of_a_window_that_fits_the_queue_of_the_context() {
    for (k, delays_us) in [(16, [200, 200]), (255, [200, 200]), (255, [3000, 200])] {
        let transfer = with_window(k, delays_us, 180, CHANGES);
        transfer.came_once_and_in_order(&format!("k {k}, {delays_us:?}"));
        assert_eq!(transfer.refused(), 0, "k {k}, {delays_us:?}");
    }
}

/// A source that fills the queue until that refuses some, as TCP does, and goes on with a full queue: what is missing was refused, and
/// changes between links that are there have no more refused than none.
#[test]
fn where_more_is_under_way_the_full_queue_refuses_some_and_nothing_is_lost_elsewhere() {
    for k in [16, 255] {
        let missing = [&CHANGES[..4], &[]].map(|acts| {
            let transfer = with_window(k, [200, 200], 260, acts);
            assert_eq!(transfer.missing(), transfer.refused(), "k {k}, {} changes", acts.len());
            transfer.missing()
        });
        let [with, without] = missing;
        assert!(with > 0 && with == without, "k {k}: {with} missing with changes, {without} without");
    }
}
