//! Where packets to an address leave, as the kernel's tables say it, and the packets that wait for the answer.

use core::net::IpAddr;
use foldhash::fast::FixedState;
use gannet_machine::EthernetAddress;
use gannet_machine::frame::Frame;
use gannet_machine::time::{Duration, Instant};
use gannet_proto::flow_rule::Prefix;
use std::collections::{HashMap, VecDeque};

/// Destinations that are known at a time. One more, and all are asked for anew.
const KNOWN_MAX: usize = 65_536;
/// Destinations that are asked for at a time.
const ASKED_MAX: usize = 256;
/// Packets that wait for one destination whose station has to be found (the kernel's default holds some hundred kilooctets; a router
/// needs the first few), those that wait for the answer whether it has, and those that wait in all.
const HELD_PER_DESTINATION: usize = 8;
const HELD_AT_ONCE: usize = 256;
const HELD_MAX: usize = 512;
/// Groups of destinations, a power of two. What is remembered of flows holds until a destination of their group is doubted.
const GROUPS: usize = 256;
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

/// What of the kernel's tables has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// Anything.
    All,
    /// Routes to these destinations.
    Within(Prefix),
    /// This station, to which packets leave, has another address or is gone.
    Station(EthernetAddress),
    /// A station has become known.
    Found,
}

impl Changed {
    fn concerns(self, destination: IpAddr, hop: Hop) -> bool {
        match self {
            Self::All => true,
            Self::Within(prefix) => prefix.contains(destination),
            Self::Station(gone) => matches!(hop, Hop::Station { station, .. } if station == gone),
            Self::Found => false,
        }
    }
}

/// A packet that waits, with the interface on which it arrived.
pub(super) type Held = (u16, Frame);

#[derive(Debug)]
struct Asked {
    since: Instant,
    held: VecDeque<Held>,
    /// Its station has to be found.
    is_unresolved: bool,
}

#[derive(Debug)]
struct Known {
    hop: Hop,
    validity: Validity,
}

/// What a known hop is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Validity {
    Valid,
    /// It may have changed: the next packet has it asked for anew.
    Doubtful,
    /// It was asked for. Until the answer comes, in this turn of the driver, packets leave as before.
    Asked,
}

/// What is known of a destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lookup {
    /// Nothing.
    Nothing,
    /// The hop.
    Valid(Hop),
    /// The hop that was; true where the destination has to be asked for.
    Former(Hop, bool),
}

/// The destinations.
#[derive(Debug)]
pub(super) struct Hops {
    /// Groups of destinations: how often one of a group was doubted.
    ages: [u32; GROUPS],
    known: HashMap<IpAddr, Known, FixedState>,
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
        let (known, asked) = (HashMap::with_hasher(state.clone()), HashMap::with_hasher(state));
        Self { ages: [0; GROUPS], known, asked, held: 0 }
    }

    /// The age of a destination's group: what was decided at another age does not hold.
    pub(super) fn age(&self, destination: IpAddr) -> u32 {
        self.ages.get(group_of(destination)).copied().unwrap_or(0)
    }

    pub(super) fn get(&mut self, destination: IpAddr) -> Lookup {
        let Some(Known { hop, validity }) = self.known.get_mut(&destination) else { return Lookup::Nothing };
        match validity {
            Validity::Valid => Lookup::Valid(*hop),
            Validity::Asked => Lookup::Former(*hop, false),
            Validity::Doubtful => {
                *validity = Validity::Asked;
                Lookup::Former(*hop, true)
            }
        }
    }

    /// Has a packet wait for its destination.
    pub(super) fn hold(&mut self, now: Instant, destination: IpAddr, held: Held) -> Waits {
        let is_new = !self.asked.contains_key(&destination);
        if self.held >= HELD_MAX || (is_new && self.asked.len() >= ASKED_MAX) {
            return Waits::Full;
        }
        let asked = self.asked.entry(destination);
        let asked =
            asked.or_insert_with(|| Asked { since: now, held: VecDeque::new(), is_unresolved: false });
        let most = if asked.is_unresolved { HELD_PER_DESTINATION } else { HELD_AT_ONCE };
        if asked.held.len() >= most {
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
            self.ages.iter_mut().for_each(|age| *age = age.wrapping_add(1));
        }
        self.known.insert(destination, Known { hop, validity: Validity::Valid });
        let held = self.asked.remove(&destination).map(|asked| asked.held).unwrap_or_default();
        self.held -= held.len();
        held
    }

    /// The station of a destination has to be found: nothing is known of it. The number of packets that were too many to wait for that;
    /// they are gone.
    pub(super) fn unresolved(&mut self, destination: IpAddr) -> usize {
        self.known.remove(&destination);
        let Some(asked) = self.asked.get_mut(&destination) else { return 0 };
        asked.is_unresolved = true;
        let before = asked.held.len();
        asked.held.truncate(HELD_PER_DESTINATION);
        let gone = before - asked.held.len();
        self.held -= gone;
        gone
    }

    /// Doubts routes that have changed, and forgets stations and all; those for which packets wait, who have to be asked for again.
    pub(super) fn doubt(&mut self, changed: Changed) -> Vec<IpAddr> {
        // Routes differ seldom where they are said anew; a station that is gone takes no packet more.
        let keeps = matches!(changed, Changed::Within(_));
        let ages = &mut self.ages;
        self.known.retain(|destination, known| {
            let concerned = changed.concerns(*destination, known.hop);
            if concerned {
                known.validity = Validity::Doubtful;
                if let Some(age) = ages.get_mut(group_of(*destination)) {
                    *age = age.wrapping_add(1);
                }
            }
            keeps || !concerned
        });
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

/// The octets of an address, folded: those of neighbours differ in the last ones.
fn group_of(destination: IpAddr) -> usize {
    let octets = match destination {
        IpAddr::V4(address) => address.to_bits(),
        IpAddr::V6(address) => {
            let [a, b, c, d] = *address.octets().as_chunks::<4>().0 else { return 0 };
            [a, b, c, d]
                .map(u32::from_be_bytes)
                .into_iter()
                .fold(0_u32, |all, part| all.rotate_left(7) ^ part)
        }
    };
    octets.to_be_bytes().into_iter().fold(0, |all, octet| all ^ usize::from(octet)) % GROUPS
}
