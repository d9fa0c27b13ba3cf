//! Where packets to an address leave, as the kernel's tables say it, and the packets that wait for the answer.

use core::net::IpAddr;
use foldhash::fast::FixedState;
use gannet_machine::EthernetAddress;
use gannet_machine::frame::Frame;
use gannet_machine::time::{Duration, Instant};
use std::collections::{HashMap, VecDeque};

/// Destinations that are known at a time. One more, and all are asked for anew.
const KNOWN_MAX: usize = 65_536;
/// Destinations that are asked for at a time.
const ASKED_MAX: usize = 256;
/// Packets that wait for one destination (the kernel's default holds some hundred kilooctets; a router needs the first few), and
/// in all.
const HELD_PER_DESTINATION: usize = 8;
const HELD_MAX: usize = 256;
/// How long they wait: as long as a host asks for an Ethernet address (RFC 4861 clause 10: three times, a second apart).
pub(super) const HELD_FOR: Duration = Duration::from_secs(3);

/// Where a packet goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hop {
    /// To a station on the link of an interface.
    Station {
        /// The interface, by its index.
        interface: u16,
        /// The station.
        station: EthernetAddress,
        /// Octets of the longest packet.
        mtu: u16,
    },
    /// The kernel answers or delivers: an address of this machine, no route, or a way through none of the interfaces.
    Kernel,
}

/// A packet that waits, with the interface on which it arrived.
pub(super) type Held = (u16, Frame);

#[derive(Debug)]
struct Asked {
    since: Instant,
    held: VecDeque<Held>,
}

/// The destinations.
#[derive(Debug)]
pub(super) struct Hops {
    known: HashMap<IpAddr, Hop, FixedState>,
    asked: HashMap<IpAddr, Asked, FixedState>,
    held: usize,
}

/// What became of a packet that has to wait.
pub(super) enum Waits {
    /// It waits, and the destination has to be asked for.
    Ask,
    /// It waits.
    Asked,
    /// There is no room for it.
    Full,
}

impl Hops {
    /// Nothing is known. Who does not know `seed` cannot choose addresses that share a place of the tables.
    pub(super) fn new(seed: u64) -> Self {
        let state = FixedState::with_seed(seed);
        Self { known: HashMap::with_hasher(state.clone()), asked: HashMap::with_hasher(state), held: 0 }
    }

    pub(super) fn get(&self, destination: IpAddr) -> Option<Hop> {
        self.known.get(&destination).copied()
    }

    /// Has a packet wait for its destination.
    pub(super) fn hold(&mut self, now: Instant, destination: IpAddr, held: Held) -> Waits {
        let is_new = !self.asked.contains_key(&destination);
        if self.held >= HELD_MAX || (is_new && self.asked.len() >= ASKED_MAX) {
            return Waits::Full;
        }
        let asked = self.asked.entry(destination);
        let asked = asked.or_insert_with(|| Asked { since: now, held: VecDeque::new() });
        if asked.held.len() >= HELD_PER_DESTINATION {
            return Waits::Full;
        }
        asked.held.push_back(held);
        self.held += 1;
        if is_new { Waits::Ask } else { Waits::Asked }
    }

    /// Learns a hop; the packets that have waited for it.
    pub(super) fn learn(&mut self, destination: IpAddr, hop: Hop) -> VecDeque<Held> {
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        self.known.insert(destination, hop);
        let held = self.asked.remove(&destination).map(|asked| asked.held).unwrap_or_default();
        self.held -= held.len();
        held
    }

    /// Nothing is known any more; those for which packets wait, who have to be asked for again.
    pub(super) fn forget_all(&mut self) -> Vec<IpAddr> {
        self.known.clear();
        self.asked.keys().copied().collect()
    }

    /// The number of packets that have waited too long; they are gone.
    pub(super) fn expire(&mut self, now: Instant) -> usize {
        let before = self.held;
        let mut left = 0;
        self.asked.retain(|_, asked| {
            let keeps = now < asked.since + HELD_FOR;
            left += if keeps { asked.held.len() } else { 0 };
            keeps
        });
        self.held = left;
        before - left
    }

    /// When the first packet has waited too long.
    pub(super) fn next_expiry(&self) -> Option<Instant> {
        self.asked.values().map(|asked| asked.since + HELD_FOR).min()
    }

    pub(super) fn known(&self) -> usize {
        self.known.len()
    }
}
