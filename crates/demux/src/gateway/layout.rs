//! What the programs of a GGSN and user space share, octet by octet: `bpf/gateway.h` in Rust.
#![expect(unsafe_code, reason = "the promise that shared values are made of atomic integers")]

use crate::bpf::Shared;
use crate::layout::Gcra;
use core::mem::offset_of;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};
use gannet_machine::drops::Drop;
use gannet_proto::forwarding::Carried;

/// Pools of each version.
pub(crate) const POOLS_MAX: usize = 8;
/// Room for counters.
pub(crate) const COUNTS: usize = 16;

/// Positions of counters.
pub(crate) mod count {
    /// The first are the drops, as [`super::FORWARD_DROPS`] has them.
    pub(crate) const FOREIGN_SOURCE: usize = 0;
    pub(crate) const OVER_RATE: usize = 1;
    /// Packets; their octets follow.
    pub(crate) const UPLINK: usize = 2;
    pub(crate) const DOWNLINK: usize = 4;
    /// The first of the reasons for which a packet is left, in the order of [`crate::gateway::Left::ALL`].
    pub(crate) const LEFT: usize = 6;
}

/// The drops that the programs count, in the order of their counters.
pub(crate) const FORWARD_DROPS: [Drop; 2] = [Drop::DemuxForeignSource, Drop::DemuxOverRate];

/// Bits of a way's flags.
pub(crate) mod flag {
    pub(crate) const ACTIVE: u8 = 1;
    pub(crate) const SEQUENCED: u8 = 2;
    pub(crate) const TO_RING: u8 = 4;
    pub(crate) const SYN_TO_NODE: u8 = 8;
}

/// Bits of a network's `forwards`.
pub(crate) const FORWARDS_V4: u32 = 1;
pub(crate) const FORWARDS_V6: u32 = 2;

/// What both ways end with: the bucket, and what was carried.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Load {
    pub(crate) tat_ns: AtomicU64,
    pub(crate) octet_cost: AtomicU64,
    pub(crate) burst_ns: AtomicU64,
    pub(crate) octets: AtomicU64,
    pub(crate) packets: AtomicU32,
    pub(crate) over_rate: AtomicU32,
}

/// `struct way_up`.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct WayUp {
    pub(crate) name: AtomicU32,
    pub(crate) flags: AtomicU8,
    unused: AtomicU8,
    pub(crate) network: AtomicU16,
    pub(crate) source: AtomicU32,
    pub(crate) v4: AtomicU32,
    pub(crate) v6: AtomicU64,
    pub(crate) load: Load,
}

/// `struct way_down`.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct WayDown {
    pub(crate) name: AtomicU32,
    pub(crate) flags: AtomicU8,
    pub(crate) tos: AtomicU8,
    pub(crate) network: AtomicU16,
    pub(crate) peer: AtomicU32,
    pub(crate) peer_teid: AtomicU32,
    pub(crate) sequence: AtomicU32,
    pub(crate) foreign: AtomicU32,
    pub(crate) load: Load,
}

/// `struct tunnel`: a PDP context, one cache line for each direction.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Tunnel {
    pub(crate) up: WayUp,
    pub(crate) down: WayDown,
}

/// `struct network`.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct NetworkEntry {
    pub(crate) device: AtomicU32,
    pub(crate) tun: AtomicU32,
    pub(crate) mtu: AtomicU32,
    pub(crate) forwards: AtomicU32,
}

// SAFETY: `repr(C)`, atomic integers alone, and the assertions show that nothing lies between them.
unsafe impl Shared for Tunnel {}
// SAFETY: as above.
unsafe impl Shared for NetworkEntry {}

const _: () = assert!(size_of::<Load>() == 40 && size_of::<WayUp>() == 64 && size_of::<WayDown>() == 64);
const _: () = assert!(offset_of!(WayUp, v6) == 16 && offset_of!(WayUp, load) == 24);
const _: () = assert!(offset_of!(WayDown, foreign) == 20 && offset_of!(WayDown, load) == 24);
const _: () = assert!(size_of::<NetworkEntry>() == 16);

impl Load {
    /// Takes another bucket, empty; one like the former stays as full as it is.
    pub(crate) fn set_bucket(&self, gcra: Gcra) {
        let former =
            Gcra { octet_cost: self.octet_cost.load(Relaxed), burst_ns: self.burst_ns.load(Relaxed) };
        if former != gcra {
            self.tat_ns.store(0, Relaxed);
            self.octet_cost.store(gcra.octet_cost, Relaxed);
            self.burst_ns.store(gcra.burst_ns, Relaxed);
        }
    }

    pub(crate) fn carried(&self) -> Carried {
        Carried {
            packets: self.packets.load(Relaxed),
            octets: self.octets.load(Relaxed),
            over_rate: self.over_rate.load(Relaxed),
        }
    }

    /// Begins anew, for another context.
    pub(crate) fn clear(&self) {
        self.tat_ns.store(0, Relaxed);
        self.octets.store(0, Relaxed);
        self.packets.store(0, Relaxed);
        self.over_rate.store(0, Relaxed);
    }
}
