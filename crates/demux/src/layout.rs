//! What the kernel's programs and user space share, octet by octet: `bpf/layout.h` in Rust.
#![expect(unsafe_code, reason = "the promise that shared values are made of atomic integers")]

use crate::bpf::Shared;
use core::mem::offset_of;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};
use gannet_machine::drops::Drop;
use gannet_proto::classifier::{Block, Policer};
use gannet_qos::class::{Class, Precedence};
use std::net::IpAddr;

/// Entries of the queue of empty slots for pages that are exchanged, and so slots for what arrives at the most.
pub const ARRIVING_MAX: u32 = 4096;

/// Low bits of the name of a PDP context: its place.
pub const PLACE_MASK: u32 = 0x00ff_ffff;
/// Longer frames do not fit behind 256 octets of headroom in a chunk of 2048 octets; the kernel gets them.
pub const FRAME_MAX: usize = 2048 - 256;
/// Addresses of each version that are ours, at most.
pub const OWN_MAX: usize = 8;
/// Extension headers of GTPv1 that are walked; longer chains go to the node.
pub const EXTENSIONS_MAX: usize = 8;
/// Rings, and so places for sockets of one receive queue.
pub(crate) const RINGS: u32 = Ring::BestEffort as u32 + 1;
/// Octets of the metadata in front of a redirected frame.
pub const METADATA_LEN: usize = 16;

/// Where what is classified waits for the node: an AF_XDP socket for each receive queue and ring, or with
/// [`crate::reuseport`] a UDP socket for each ring. They stand in the order in which the node takes what is in them.
///
/// What overflows is lost in order of arrival, which knows no precedence: best effort of high precedence therefore has a
/// ring of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Ring {
    /// Of signalling.
    Signalling = 0,
    /// Of real time.
    RealTime = 1,
    /// Of best effort with high precedence.
    High = 2,
    /// Of all other user data.
    BestEffort = 3,
}

/// One of something for each ring.
pub type ByRing<T> = [T; Ring::ALL.len()];

impl Ring {
    /// All rings in their order.
    pub const ALL: [Self; RINGS as usize] = [Self::Signalling, Self::RealTime, Self::High, Self::BestEffort];

    /// The ring of a packet.
    #[must_use]
    pub const fn of(class: Class, precedence: Precedence) -> Self {
        match (class, precedence) {
            (Class::Signalling, _) => Self::Signalling,
            (Class::RealTime, _) => Self::RealTime,
            (Class::BestEffort, Precedence::High) => Self::High,
            (Class::BestEffort, Precedence::Normal | Precedence::Low) => Self::BestEffort,
        }
    }
}

/// Which keys lead to an entry.
pub(crate) mod key {
    /// A TEID.
    pub(crate) const TEID: u8 = 1;
    /// A TID of GTPv0.
    pub(crate) const TID: u8 = 2;
    /// A TLLI.
    pub(crate) const TLLI: u8 = 4;
}

/// Cells of the map of that name: the bucket of the unknown contexts that go up, and the time of who polls.
pub(crate) const CELL_SAMPLE_TAT: usize = 0;
pub(crate) const CELL_CLOCK: usize = 1;

/// Positions in [`Counts`].
pub(crate) mod count {
    use gannet_qos::class::Class;

    /// The first are the drops, as [`super::DROPS`] has them.
    pub(crate) const UNKNOWN_CONTEXT: usize = 0;
    pub(crate) const STALE_GENERATION: usize = 1;
    pub(crate) const BLOCKED: usize = 2;
    pub(crate) const OVER_RATE: usize = 3;
    pub(crate) const QUEUE_FULL: usize = 4;
    pub(crate) const DROPS: usize = 9;
    /// Given to a ring, by class.
    pub(crate) const REDIRECTED: usize = DROPS;
    /// Unknown contexts that the kernel got.
    pub(crate) const SAMPLED: usize = REDIRECTED + Class::ALL.len();
    /// For our address and port, and not for the program to judge.
    pub(crate) const TO_KERNEL: usize = SAMPLED + 1;
    /// How many there are room for.
    pub(crate) const ROOM: usize = 16;
}

/// The drops that a program counts, in the order of its counters.
pub const DROPS: [Drop; count::DROPS] = [
    Drop::DemuxUnknownContext,
    Drop::DemuxStaleGeneration,
    Drop::DemuxBlocked,
    Drop::DemuxOverRate,
    Drop::DemuxQueueFull,
    Drop::DemuxBadIpChecksum,
    Drop::DemuxBadUdpChecksum,
    Drop::DemuxMalformed,
    Drop::DemuxUnknownTlli,
];

/// The counters of one CPU.
pub(crate) type Counts = [AtomicU64; count::ROOM];

/// One flow (`struct context`): one cache line.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Entry {
    pub(crate) teid: AtomicU32,
    pub(crate) keys: AtomicU8,
    pub(crate) blocked: AtomicU8,
    pub(crate) class: AtomicU8,
    pub(crate) precedence: AtomicU8,
    pub(crate) tat_ns: AtomicU64,
    pub(crate) octet_cost: AtomicU64,
    pub(crate) burst_ns: AtomicU64,
    pub(crate) name: AtomicU32,
    pub(crate) passed: AtomicU32,
    pub(crate) blocked_drops: AtomicU32,
    pub(crate) over_rate_drops: AtomicU32,
    pub(crate) queue_full_drops: AtomicU32,
    /// On Gn the address of IPv4 that packets come from, in the order of the wire; 0 for any.
    pub(crate) source: AtomicU32,
    /// For a mobile's uplink the theoretical arrival time of its signalling.
    pub(crate) passed_octets: AtomicU64,
}

// SAFETY: `repr(C)`, atomic integers alone, and the assertions show that nothing lies between them.
unsafe impl Shared for Entry {}

const _: () = assert!(size_of::<Entry>() == 64 && offset_of!(Entry, tat_ns) == 8);
const _: () = assert!(offset_of!(Entry, name) == 32 && offset_of!(Entry, passed_octets) == 56);

/// The bit of a reason in an entry's `blocked`.
pub(crate) const fn block_bit(reason: Block) -> u8 {
    1 << reason as u8
}

/// A token bucket as the program has it: the generic cell rate algorithm on time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Gcra {
    /// Time that an octet takes at the permitted rate, in 1/65536 ns; 0 for no limit.
    pub(crate) octet_cost: u64,
    /// How far the theoretical arrival time may lie ahead.
    pub(crate) burst_ns: u64,
}

impl Gcra {
    /// From a rate and a burst in octets.
    pub(crate) fn of(policer: Option<Policer>) -> Self {
        const NS_PER_S: u128 = 1_000_000_000;
        let Some(policer) = policer else { return Self::default() };
        let rate = u128::from(policer.rate_octets_per_s.max(1));
        let octet_cost = ((NS_PER_S << 16) + rate / 2) / rate;
        let burst_ns = (octet_cost * u128::from(policer.burst_octets)) >> 16;
        // A rate that fits 32 bits costs at most 46 bits an octet; a burst of centuries is cut.
        Self {
            octet_cost: u64::try_from(octet_cost).unwrap_or(u64::MAX),
            burst_ns: u64::try_from(burst_ns).unwrap_or(u64::MAX).min(u64::MAX / 4),
        }
    }

    /// What a packet adds to the theoretical arrival time.
    pub(crate) const fn increment_ns(self, octets: usize) -> u64 {
        self.octet_cost.wrapping_mul(octets as u64) >> 16
    }
}

/// The generic cell rate algorithm: where the theoretical arrival time goes, if after this it lies at most `burst_ns` ahead;
/// `None` for what does not conform.
pub(crate) const fn conforming(tat_ns: u64, increment_ns: u64, burst_ns: u64, now_ns: u64) -> Option<u64> {
    let from = if tat_ns > now_ns { tat_ns } else { now_ns };
    let next = from.wrapping_add(increment_ns);
    if next.wrapping_sub(now_ns) <= burst_ns { Some(next) } else { None }
}

/// The source of a context's packets as an entry has it. A packet over IPv6 has 0, and no packet has the broadcast address: the kernel
/// gets all packets of a context whose peer speaks IPv6.
pub(crate) fn source_of(source: Option<IpAddr>) -> u32 {
    match source {
        None => 0,
        Some(IpAddr::V4(address)) => u32::from_ne_bytes(address.octets()),
        Some(IpAddr::V6(_)) => u32::MAX,
    }
}

/// Where the packets of a context come from `source`, does this one come from elsewhere?
pub(crate) const fn is_from_elsewhere(source: u32, packet: u32) -> bool {
    source != 0 && source != packet
}

/// What the program says of a frame that it gives to a socket: the octets in front of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metadata {
    /// The rule's name for the flow.
    pub name: u32,
    /// Where the PDU that the node wants begins, from the start of the Ethernet frame: on Gn the T-PDU, on Gb the NS
    /// PDU, whose cell the node has to see.
    pub pdu_offset: u16,
    /// Its octets.
    pub pdu_len: u16,
    /// Signalling, or the flow's.
    pub class: Class,
    /// For the scheduler.
    pub precedence: Precedence,
    /// The receive queue.
    pub shard: u8,
    /// Where it was to go: what [`Ring::of`] says. Where the ring has no socket it came through another one.
    pub ring: Ring,
    /// Where on Gb the LL-PDU begins, from the start of the Ethernet frame; 0 on Gn.
    pub llc_offset: u16,
    /// Its octets.
    pub llc_len: u16,
}

impl Metadata {
    /// Reads it; `None` where a program of another version wrote it.
    #[must_use]
    pub fn from_octets(octets: &[u8; METADATA_LEN]) -> Option<Self> {
        let [n0, n1, n2, n3, o0, o1, l0, l1, class, precedence, shard, ring, a0, a1, b0, b1] = *octets;
        Some(Self {
            name: u32::from_ne_bytes([n0, n1, n2, n3]),
            pdu_offset: u16::from_ne_bytes([o0, o1]),
            pdu_len: u16::from_ne_bytes([l0, l1]),
            class: *Class::ALL.get(usize::from(class))?,
            precedence: *Precedence::ALL.get(usize::from(precedence))?,
            shard,
            ring: *Ring::ALL.get(usize::from(ring))?,
            llc_offset: u16::from_ne_bytes([a0, a1]),
            llc_len: u16::from_ne_bytes([b0, b1]),
        })
    }

    /// Writes it as the program does.
    #[must_use]
    pub fn to_octets(self) -> [u8; METADATA_LEN] {
        let [n0, n1, n2, n3] = self.name.to_ne_bytes();
        let [o0, o1] = self.pdu_offset.to_ne_bytes();
        let [l0, l1] = self.pdu_len.to_ne_bytes();
        let (class, precedence, ring) = (self.class as u8, self.precedence as u8, self.ring as u8);
        let [a0, a1] = self.llc_offset.to_ne_bytes();
        let [b0, b1] = self.llc_len.to_ne_bytes();
        [n0, n1, n2, n3, o0, o1, l0, l1, class, precedence, self.shard, ring, a0, a1, b0, b1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_there_and_back() {
        let metadata = Metadata {
            name: 0x0102_0304,
            pdu_offset: 50,
            pdu_len: 378,
            class: Class::RealTime,
            precedence: Precedence::Low,
            shard: 3,
            ring: Ring::RealTime,
            llc_offset: 77,
            llc_len: 300,
        };
        let mut octets = metadata.to_octets();
        assert_eq!(Metadata::from_octets(&octets), Some(metadata));
        octets[8] = 9;
        assert_eq!(Metadata::from_octets(&octets), None);
    }

    #[test]
    fn best_effort_of_high_precedence_has_a_ring() {
        let rings = |class| Precedence::ALL.map(|precedence| Ring::of(class, precedence));
        assert_eq!(rings(Class::Signalling), [Ring::Signalling; 3]);
        assert_eq!(rings(Class::RealTime), [Ring::RealTime; 3]);
        assert_eq!(rings(Class::BestEffort), [Ring::High, Ring::BestEffort, Ring::BestEffort]);
        assert_eq!(Ring::ALL.map(|ring| ring as u32), [0, 1, 2, RINGS - 1]);
    }

    #[test]
    fn a_rate_in_the_programs_terms() {
        // 1000 octets/s: a millisecond an octet.
        let gcra = Gcra::of(Some(Policer { rate_octets_per_s: 1000, burst_octets: 1500 }));
        assert_eq!((gcra.octet_cost >> 16, gcra.burst_ns), (1_000_000, 1_500_000_000));
        assert_eq!(gcra.increment_ns(400), 400_000_000);
        assert_eq!(Gcra::of(None), Gcra::default());
        // The extremes neither overflow nor become free.
        let slow = Gcra::of(Some(Policer { rate_octets_per_s: 1, burst_octets: u32::MAX }));
        assert_eq!(slow.increment_ns(FRAME_MAX), FRAME_MAX as u64 * 1_000_000_000);
        assert!(slow.burst_ns > 4_000_000_000_000_000_000);
        let fast = Gcra::of(Some(Policer { rate_octets_per_s: u32::MAX, burst_octets: 1 }));
        assert!(fast.octet_cost > 0 && fast.burst_ns == 0);
    }
}
