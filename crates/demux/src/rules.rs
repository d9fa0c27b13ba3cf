//! What a classifier is told and what it tells, whether it is the kernel's program or the model.

use crate::bpf::{self, XdpMode};
use crate::layout::{ByRing, DROPS, OWN_MAX, PLACE_MASK, count};
use gannet_machine::drops::Drop;
use gannet_proto::classifier::RuleChange;
use gannet_proto::gtp::TeidKey;
use gannet_qos::class::Class;
use std::net::IpAddr;
use std::os::fd::BorrowedFd;

/// How a classifier of Gn is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The addresses on which the node receives user data, at most eight of each version. Without any, every address
    /// counts as ours: right only where the interface carries nothing else.
    pub addresses: Vec<IpAddr>,
    /// Places of PDP contexts, 1 to 2^24.
    pub contexts: u32,
    /// Contexts of GTPv0 at most.
    pub tids: u32,
    /// Receive queues of the interfaces; each is a shard.
    pub shards: u8,
    /// Whether UDP checksums are verified. Otherwise the NIC is trusted to have dropped what is wrong; on a veth pair
    /// they must not be verified, since a sender on the same machine leaves them unfinished. A datagram over IPv4
    /// without checksum is accepted always (RFC 768).
    pub verify_udp_checksum: bool,
    /// Whether more than one CPU may classify at a time: where any interface has more than one receive queue, or
    /// several interfaces are served. Where not, counting needs no atomic instructions.
    pub concurrent: bool,
    /// Packets of unknown contexts that go up to the node each second, for its Error Indications; 0 for none.
    pub samples_per_s: u32,
    /// How many of them at once after a pause.
    pub samples_at_once: u32,
    /// Whether pages may be exchanged: see [`crate::exchange`].
    pub exchange: bool,
    /// Slots for what arrives then, at most [`crate::layout::ARRIVING_MAX`]: with fewer less may wait in all rings together.
    pub arriving: u32,
    /// Between TEIDs and the names of contexts.
    pub teid_key: TeidKey,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            addresses: Vec::new(),
            contexts: 1024,
            tids: 1024,
            shards: 1,
            verify_udp_checksum: false,
            concurrent: true,
            samples_per_s: 100,
            samples_at_once: 16,
            exchange: false,
            arriving: crate::layout::ARRIVING_MAX,
            teid_key: TeidKey::TRANSPARENT,
        }
    }
}

impl Config {
    /// Says what is wrong with it.
    ///
    /// # Errors
    /// [`Error::Config`].
    pub fn check(&self) -> Result<(), Error> {
        let v4 = self.addresses.iter().filter(|address| address.is_ipv4()).count();
        if v4 > OWN_MAX || self.addresses.len() - v4 > OWN_MAX {
            return Err(Error::Config("more than eight addresses of one version"));
        }
        if self.contexts == 0 || self.contexts > PLACE_MASK + 1 {
            return Err(Error::Config("the number of contexts is not 1 to 2^24"));
        }
        if self.tids == 0 || self.shards == 0 {
            return Err(Error::Config("no room for GTPv0 contexts, or no shard"));
        }
        Ok(())
    }

    /// Interval of the samples and how far they may run ahead, both in ns; 0 for no samples.
    pub(crate) fn sampling_ns(&self) -> (u64, u64) {
        interval_and_burst_ns(self.samples_per_s, self.samples_at_once)
    }
}

/// A rate of events as the programs have it: ns for one, and how far they may run ahead; 0 where the rate is 0.
pub(crate) fn interval_and_burst_ns(per_s: u32, at_once: u32) -> (u64, u64) {
    let interval = 1_000_000_000_u64.checked_div(u64::from(per_s)).unwrap_or(0);
    (interval, interval.saturating_mul(u64::from(at_once.max(1))))
}

/// How a classifier of Gb is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UplinkConfig {
    /// What Gn has too: `contexts` are the places of mobiles, and samples are of user data from mobiles that nobody knows,
    /// so that they are told; `tids` means nothing.
    pub base: Config,
    /// Our NS port.
    pub port: u16,
    /// Addresses of peers at most.
    pub peers: u32,
    /// TLLIs at most; a mobile may have three at a time.
    pub tllis: u32,
    /// LL-PDUs of signalling that pass from one mobile each second; 0 for no limit.
    pub signalling_per_s: u32,
    /// How many of them at once after a pause.
    pub signalling_at_once: u32,
    /// LL-PDUs of signalling that pass each second from mobiles that nobody knows, all together, so that they can attach;
    /// 0 for none.
    pub strangers_per_s: u32,
    /// How many of them at once after a pause.
    pub strangers_at_once: u32,
}

impl Default for UplinkConfig {
    fn default() -> Self {
        Self {
            base: Config::default(),
            port: gannet_wire::ns::UDP_PORT,
            peers: 1024,
            tllis: 3 * 1024,
            signalling_per_s: 20,
            signalling_at_once: 40,
            strangers_per_s: 20_000,
            strangers_at_once: 2000,
        }
    }
}

impl UplinkConfig {
    /// Says what is wrong with it.
    ///
    /// # Errors
    /// [`Error::Config`].
    pub fn check(&self) -> Result<(), Error> {
        if self.peers == 0 || self.tllis == 0 || self.port == 0 {
            return Err(Error::Config("no room for peers or TLLIs, or no port"));
        }
        self.base.check()
    }
}

/// Why a classifier could not do what it was told.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel refused.
    #[error(transparent)]
    Kernel(#[from] bpf::Error),
    /// The set-up contradicts itself.
    #[error("classifier: {0}")]
    Config(&'static str),
    /// A rule is for a place that the table does not have.
    #[error("the table of contexts has {places} places, and a rule is for place {place}")]
    NoPlace {
        /// The rule's.
        place: u32,
        /// How many there are, from 0.
        places: usize,
    },
    /// A program is on that interface already.
    #[error("interface {0} is served already")]
    Attached(u32),
}

/// What was counted since the classifier was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals(pub(crate) [u64; count::ROOM]);

impl Totals {
    fn at(&self, index: usize) -> u64 {
        self.0.get(index).copied().unwrap_or(0)
    }

    pub(crate) fn add(&mut self, index: usize) {
        if let Some(counter) = self.0.get_mut(index) {
            *counter += 1;
        }
    }

    /// Every drop of the classifier with its count, 0 among them.
    pub fn drops(&self) -> impl Iterator<Item = (Drop, u64)> + '_ {
        DROPS.iter().copied().zip(self.0)
    }

    /// The count of one drop; 0 for those that are not the classifier's.
    #[must_use]
    pub fn of(&self, drop: Drop) -> u64 {
        self.drops().find(|(name, _)| *name == drop).map_or(0, |(_, count)| count)
    }

    /// Packets of a class that were given to their ring.
    #[must_use]
    pub fn redirected(&self, class: Class) -> u64 {
        self.at(count::REDIRECTED + class as usize)
    }

    /// Packets without context that the node got all the same, so that it tells their sender.
    #[must_use]
    pub fn sampled(&self) -> u64 {
        self.at(count::SAMPLED)
    }

    /// All that was counted. One that is dropped and told of all the same stands in it twice.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Datagrams for our address and port that are no user data, or are more than the program understands.
    #[must_use]
    pub fn to_kernel(&self) -> u64 {
        self.at(count::TO_KERNEL)
    }
}

/// What was counted for one flow since its rule was installed. Each number starts again at 2^32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlowCounters {
    /// Packets given to a ring.
    pub passed: u32,
    /// Octets of their N-PDUs.
    pub passed_octets: u64,
    /// Dropped while flow control had it blocked.
    pub blocked: u32,
    /// Dropped by its policer.
    pub over_rate: u32,
    /// Dropped while its queue was full.
    pub queue_full: u32,
}

impl FlowCounters {
    /// The drops with their names.
    #[must_use]
    pub fn drops(&self) -> [(Drop, u32); 3] {
        [
            (Drop::DemuxBlocked, self.blocked),
            (Drop::DemuxOverRate, self.over_rate),
            (Drop::DemuxQueueFull, self.queue_full),
        ]
    }
}

/// The drops that only a socket's statistics can tell: what the program redirected and the kernel could not deliver.
///
/// `ring_full` and `fill_empty` are `rx_ring_full` and `rx_fill_ring_empty_descs` of `struct xdp_statistics`.
#[must_use]
pub const fn ring_drops(ring_full: u64, fill_empty: u64) -> [(Drop, u64); 2] {
    [(Drop::DemuxRingFull, ring_full), (Drop::DemuxFillEmpty, fill_empty)]
}

/// Something that classifies by rules.
pub trait Classify {
    /// Applies a change. Changes for keys of the other interface, and those for a flow that is not there, do nothing; so do
    /// addresses of IPv6, which the program for Gb leaves to the node.
    ///
    /// # Errors
    /// [`Error::NoPlace`]; [`Error::Kernel`] where the kernel's table of TIDs, TLLIs or addresses is full.
    fn apply(&mut self, change: &RuleChange) -> Result<(), Error>;

    /// All counters.
    fn totals(&self) -> Totals;

    /// The counters of the flow with this name; `None` where no rule has it.
    fn of_flow(&self, name: u32) -> Option<FlowCounters>;
}

/// Something that classifies at a driver, into AF_XDP sockets.
pub trait AtDriver: Classify {
    /// Sets the program on an interface of this thread's network namespace.
    ///
    /// # Errors
    /// [`Error::Attached`]; another program there, no native XDP, no such interface.
    fn attach(&mut self, ifindex: u32, mode: XdpMode) -> Result<(), Error>;

    /// Takes the program off an interface, also off one that has vanished.
    fn detach(&mut self, ifindex: u32);

    /// Gives the frames that arrive on a receive queue to the AF_XDP sockets of their rings, which are bound to that
    /// queue. High precedence without a socket has that of the other best effort; the frames of every other ring
    /// without one go to the kernel.
    ///
    /// # Errors
    /// [`Error::Config`] for a shard that was not asked for; what the kernel says of a socket.
    fn set_sockets(&mut self, shard: u8, sockets: ByRing<Option<BorrowedFd<'_>>>) -> Result<(), Error>;

    /// Lends the program a time, so that it needs not ask the kernel for it with each packet: who polls a device knows it,
    /// and a poll is short. In ns of the monotonic clock; 0 ends that.
    fn lend_clock(&self, now_ns: u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contradiction_is_said() {
        let config = Config::default();
        assert!(config.check().is_ok());
        assert!(Config { contexts: 0, ..config.clone() }.check().is_err());
        assert!(Config { contexts: (1 << 24) + 1, ..config.clone() }.check().is_err());
        assert!(Config { shards: 0, ..config.clone() }.check().is_err());
        let nine = (0..9).map(|last| IpAddr::from([192, 0, 2, last])).collect();
        assert!(Config { addresses: nine, ..config }.check().is_err());
    }

    #[test]
    fn what_a_ring_loses_has_a_name() {
        let drops = ring_drops(3, 4);
        assert_eq!(drops, [(Drop::DemuxRingFull, 3), (Drop::DemuxFillEmpty, 4)]);
        let per_flow = FlowCounters { blocked: 1, over_rate: 2, queue_full: 3, ..FlowCounters::default() };
        assert_eq!(per_flow.drops().iter().map(|(_, count)| count).sum::<u32>(), 6);
    }
}
