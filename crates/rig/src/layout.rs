//! The maps of `bpf/traffic.bpf.c`, generator and sink of `gannet load`, as `bpf/traffic.h` lays them out.
//!
//! All fields are atomics in memory that the kernel's program shares; numbers that travel in packets are in network
//! order there ([`be32`]). While a call of the generator runs, its own fields belong to it.
#![expect(unsafe_code, reason = "layouts that are shared with the kernel")]

use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use gannet_demux::bpf::Shared;

/// Groups of flows that are counted apart.
pub const GROUPS: usize = 16;
/// Buckets of a latency histogram.
pub const BUCKETS: usize = 2048;
/// Octets of the shortest and of the longest N-PDU.
pub const N_PDU_MIN: usize = 56;
/// See [`N_PDU_MIN`].
pub const N_PDU_MAX: usize = 1504;
/// Octets in front of the N-PDU in a frame that the generator is given.
pub const ROOM: usize = 128;
/// Octets of the pattern, of which the octets of an N-PDU from [`N_PDU_MIN`] on are a part.
pub const PATTERN_LEN: usize = 2056;
/// Slots of the calendar.
pub const SLOTS: usize = 1 << 20;
/// Spacing is exponential, not fixed.
pub const FLOW_EXPONENTIAL: u8 = 1;
/// From the mobile to the server.
pub const FLOW_UPLINK: u8 = 2;
/// Its LL-PDUs come with GEA3.
pub const FLOW_CIPHERED: u8 = 4;
/// And of each of them the mark is read.
pub const FLOW_EACH: u8 = 8;

/// What the generator knows of a flow.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Flow {
    /// When the next N-PDU is to leave, in ns since the beginning of the step.
    pub due: AtomicU64,
    /// Mean time between two N-PDUs, in ns.
    pub gap: AtomicU64,
    /// State of its dice.
    pub dice: AtomicU64,
    /// The next flow of the same slot, number + 1, or 0.
    pub next: AtomicU32,
    /// Sequence number of the next N-PDU.
    pub sequence: AtomicU32,
    /// Downlink: the SGSN's TEID; uplink: the TLLI. Network order.
    pub endpoint: AtomicU32,
    /// PDP address, network order.
    pub address: AtomicU32,
    /// Uplink: index of the cell.
    pub cell: AtomicU32,
    /// Octets of an N-PDU.
    pub size: AtomicU16,
    /// Its group.
    pub group: AtomicU8,
    /// [`FLOW_EXPONENTIAL`], [`FLOW_UPLINK`].
    pub flags: AtomicU8,
    /// Uplink: LLC's.
    pub sapi: AtomicU8,
    /// Uplink: SNDCP's.
    pub nsapi: AtomicU8,
    spare: [AtomicU8; 14],
}

/// What the sink knows of a flow.
#[derive(Debug)]
#[repr(C)]
pub struct Seen {
    /// The last 64 sequence numbers that came.
    pub window: AtomicU64,
    /// Octets of N-PDUs that were delivered.
    pub octets: AtomicU64,
    /// Downlink: the TLLI that is right; uplink: the GGSN's TEID. Network order.
    pub endpoint: AtomicU32,
    /// The one before that, which is right as well.
    pub endpoint_before: AtomicU32,
    /// Downlink: BVCI of the cell, network order; uplink: 0.
    pub bvci: AtomicU16,
    /// Downlink: UDP port of the NSE on our side, network order; uplink: 0.
    pub port: AtomicU16,
    /// Sequence number that is expected.
    pub next: AtomicU32,
    /// N-PDUs delivered.
    pub delivered: AtomicU32,
    /// N-PDUs whose octets were wrong.
    pub corrupt: AtomicU32,
    /// N-PDUs that came to another mobile.
    pub wrong: AtomicU32,
    /// N-PDUs that came again.
    pub repeated: AtomicU32,
    /// N-PDUs that came after later ones.
    pub reordered: AtomicU32,
    open: [AtomicU16; 3],
    open_segment: [AtomicU8; 2],
    /// V(R) of its LLE, in acknowledged mode.
    pub received: AtomicU16,
    /// I frames until the acknowledgement that was asked for.
    pub owed: AtomicU8,
    /// 1 where it comes in acknowledged mode; then nothing else is taken.
    pub acknowledged: AtomicU8,
}

/// Counters of a group.
#[derive(Debug)]
#[repr(C)]
pub struct Group {
    /// N-PDUs given to the driver's ring, or refused by it.
    pub offered: AtomicU64,
    /// Octets of these.
    pub offered_octets: AtomicU64,
    /// From when they were due to when they left, ns.
    pub slip_sum: AtomicU64,
    /// The longest of these.
    pub slip_max: AtomicU64,
    /// N-PDUs that came as they should; of several segments the first.
    pub delivered: AtomicU64,
    /// Octets of these.
    pub delivered_octets: AtomicU64,
    /// N-PDUs whose octets were wrong.
    pub corrupt: AtomicU64,
    /// N-PDUs that came to another mobile.
    pub wrong_mobile: AtomicU64,
    /// Delivered, in a cell where the mobile is not.
    pub wrong_cell: AtomicU64,
    /// N-PDUs that came again.
    pub repeated: AtomicU64,
    /// Delivered, after later ones.
    pub reordered: AtomicU64,
    /// N-PDUs that left in an earlier step.
    pub other_step: AtomicU64,
    /// Delivered by the first of several segments.
    pub segmented: AtomicU64,
    /// Of these, those whose segments all came, in their order.
    pub completed: AtomicU64,
    /// Delivered, came ciphered, known by TLLI and N(U) alone.
    pub unread: AtomicU64,
    /// Delivered, came ciphered: each octet was deciphered and is right, the FCS too.
    pub whole: AtomicU64,
    /// N-PDUs that were offered within the window ([`Plan::inside_from`]).
    pub offered_inside: AtomicU64,
    /// N-PDUs that were delivered within it.
    pub delivered_inside: AtomicU64,
    /// I frames whose N(S) was not V(R): what came before, or behind what is missing. None was delivered.
    pub unexpected: AtomicU64,
    /// Acknowledgements that were sent.
    pub answered: AtomicU64,
    /// Time from generator to sink, ns.
    pub latency_sum: AtomicU64,
    /// The longest.
    pub latency_max: AtomicU64,
    /// Its histogram, see [`bucket_range`].
    pub latency: [AtomicU64; BUCKETS],
}

impl Plan {
    /// Of no step: everything is zero.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            begin: AtomicU64::new(0),
            stop: AtomicU64::new(0),
            slot: AtomicU64::new(0),
            window: AtomicU64::new(0),
            window_ns: AtomicU64::new(0),
            slots_mask: AtomicU64::new(0),
            line_ns: AtomicU64::new(0),
            free_at: AtomicU64::new(0),
            stretch: AtomicU64::new(0),
            last: AtomicU64::new(0),
            pause_ns: AtomicU64::new(0),
            paused: AtomicU64::new(0),
            inside_from: AtomicU64::new(0),
            inside_to: AtomicU64::new(0),
            at_once: AtomicU64::new(0),
            wait_ns: AtomicU64::new(0),
            unmarked: AtomicU64::new(0),
            passed: AtomicU64::new(0),
            has_uplink: AtomicU32::new(0),
            step: AtomicU16::new(0),
            ports: AtomicU16::new(0),
            port_first: AtomicU16::new(0),
            gtp_port: AtomicU16::new(0),
            down_sum: AtomicU32::new(0),
            up_sum: AtomicU32::new(0),
            server: AtomicU32::new(0),
            entering: AtomicU32::new(0),
            entering_key: AtomicU32::new(0),
            read_mask: AtomicU32::new(0),
            whole_mask: AtomicU32::new(0),
            answer_after: AtomicU32::new(0),
            spare: AtomicU32::new(0),
            down: [const { AtomicU8::new(0) }; 48],
            up: [const { AtomicU8::new(0) }; 48],
        }
    }
}

impl Default for Plan {
    fn default() -> Self {
        Self::new()
    }
}

impl Group {
    /// Sets everything to zero.
    pub fn clear(&self) {
        for counter in self.counters() {
            counter.store(0, Ordering::Relaxed);
        }
    }

    fn counters(&self) -> impl Iterator<Item = &AtomicU64> {
        let plain = [
            &self.offered,
            &self.offered_octets,
            &self.slip_sum,
            &self.slip_max,
            &self.delivered,
            &self.delivered_octets,
            &self.corrupt,
            &self.wrong_mobile,
            &self.wrong_cell,
            &self.repeated,
            &self.reordered,
            &self.other_step,
            &self.segmented,
            &self.completed,
            &self.unread,
            &self.whole,
            &self.offered_inside,
            &self.delivered_inside,
            &self.unexpected,
            &self.answered,
            &self.latency_sum,
            &self.latency_max,
        ];
        plain.into_iter().chain(&self.latency)
    }
}

/// Where an uplink flow comes from.
#[derive(Debug)]
#[repr(C)]
pub struct Cell {
    /// Network order.
    pub bvci: AtomicU16,
    /// UDP port of its NSE on our side, network order.
    pub port: AtomicU16,
    /// Cell Identifier: RAI and CI.
    pub identifier: [AtomicU8; 8],
    spare: [AtomicU8; 4],
}

/// The step that is run, and where the calendar stands.
#[derive(Debug)]
#[repr(C)]
pub struct Plan {
    /// When the step began, ns of the monotonic clock.
    pub begin: AtomicU64,
    /// When it is over, ns since then.
    pub stop: AtomicU64,
    /// The calendar's slot, absolute.
    pub slot: AtomicU64,
    /// When that slot's window begins, ns since the beginning.
    pub window: AtomicU64,
    /// Length of a window, ns.
    pub window_ns: AtomicU64,
    /// Slots of a window, less one; a power of two less one.
    pub slots_mask: AtomicU64,
    /// Time that an N-PDU takes of the line, ns; after a pause it takes [`Plan::at_once`].
    pub line_ns: AtomicU64,
    /// When the line would be free again if it took nothing at once.
    pub free_at: AtomicU64,
    /// Factor of all gaps, 16.16.
    pub stretch: AtomicU64,
    /// When the generator last looked at the clock, ns of the monotonic clock.
    pub last: AtomicU64,
    /// Where it looks after a longer time, its core was away, and the schedule waits for it; ns.
    pub pause_ns: AtomicU64,
    /// The sum of such times, by which `begin` has moved; ns.
    pub paused: AtomicU64,
    /// A window within the step that is counted apart as well begins then, ns since the beginning.
    pub inside_from: AtomicU64,
    /// It ends then.
    pub inside_to: AtomicU64,
    /// N-PDUs that the line takes at once after a pause.
    pub at_once: AtomicU64,
    /// Where nothing is due a frame goes back unused after so long, ns.
    pub wait_ns: AtomicU64,
    /// User data at the sink without our mark.
    pub unmarked: AtomicU64,
    /// Frames that went to the control plane.
    pub passed: AtomicU64,
    /// 1 where there are uplink flows, whose FCS overwrites what follows an N-PDU.
    pub has_uplink: AtomicU32,
    /// Number of the step, in each mark.
    pub step: AtomicU16,
    /// NSEs.
    pub ports: AtomicU16,
    /// UDP port of the first NSE on our side.
    pub port_first: AtomicU16,
    /// UDP port of GTP-U.
    pub gtp_port: AtomicU16,
    /// Sum of the outer IPv4 header without the total length, downlink.
    pub down_sum: AtomicU32,
    /// The same, uplink.
    pub up_sum: AtomicU32,
    /// The address that mobiles talk to, network order.
    pub server: AtomicU32,
    /// A flow that has left its slot and is to be entered in another: its number + 1, or 0.
    pub entering: AtomicU32,
    entering_key: AtomicU32,
    /// Of LL-PDUs that come ciphered the mark is read in one of so many and one; a power of two less one.
    pub read_mask: AtomicU32,
    /// And all of it; of I frames the FCS.
    pub whole_mask: AtomicU32,
    /// I frames of a flow that follow the one that asked for an acknowledgement, before it is sent.
    pub answer_after: AtomicU32,
    spare: AtomicU32,
    /// Ethernet, IPv4 and UDP header towards the SGSN's end of Gn.
    pub down: [AtomicU8; 48],
    /// The same towards its end of Gb.
    pub up: [AtomicU8; 48],
}

/// Tables that are written once.
#[derive(Debug)]
#[repr(C)]
pub struct Tables {
    /// -ln(1 - u) in 16.16, for u in the middle of 4096 equal parts.
    pub exponential: [AtomicU32; 4096],
    /// Of the LLC's FCS.
    pub crc: [AtomicU32; 256],
    /// What N-PDUs are filled with.
    pub pattern: [AtomicU8; PATTERN_LEN],
    /// KASUMI's S-boxes.
    pub s9: [AtomicU16; 512],
    /// See there.
    pub s7: [AtomicU8; 128],
}

/// The key of a flow's LL-PDUs.
#[repr(C)]
pub struct Secret {
    /// KASUMI's subkeys KL1 KL2 KO1 KO2, KO3 KI1 KI2 KI3 of each round, the first in the highest bits.
    pub rounds: [[AtomicU64; 2]; 8],
    /// IOV-UI ⊕ SX (04.64 annex A.2.1 [44.064]).
    pub offset: AtomicU32,
    spare: [AtomicU32; 3],
}

/// Keys are never printed.
impl core::fmt::Debug for Secret {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Secret(..)")
    }
}

// SAFETY: atomic integers alone, repr(C), each at a multiple of its size, the whole a multiple of eight octets.
unsafe impl Shared for Flow {}
// SAFETY: as above.
unsafe impl Shared for Seen {}
// SAFETY: as above.
unsafe impl Shared for Group {}
// SAFETY: as above.
unsafe impl Shared for Cell {}
// SAFETY: as above.
unsafe impl Shared for Plan {}
// SAFETY: as above.
unsafe impl Shared for Tables {}
// SAFETY: as above.
unsafe impl Shared for Secret {}

const _: () = assert!(size_of::<Flow>() == 64 && size_of::<Seen>() == 64 && size_of::<Cell>() == 16);
const _: () = assert!(size_of::<Plan>() == 18 * 8 + 4 + 8 + 20 + 8 + 8 + 96);
const _: () = assert!(size_of::<Group>() == (22 + BUCKETS) * 8);

/// A number as it stands in a packet.
#[must_use]
pub const fn be32(value: u32) -> u32 {
    value.to_be()
}

/// A number as it stands in a packet.
#[must_use]
pub const fn be16(value: u16) -> u16 {
    value.to_be()
}

/// The latencies of a bucket, in ns: from the first to below the second.
#[must_use]
pub const fn bucket_range(bucket: usize) -> (u64, u64) {
    let octave = bucket >> 6;
    let part = (bucket & 63) as u64;
    if octave == 0 {
        return (part, part + 1);
    }
    ((64 + part) << (octave - 1), (65 + part) << (octave - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other() {
        for bucket in 0..(BUCKETS / 2) {
            let (from, to) = bucket_range(bucket);
            assert_eq!(to, bucket_range(bucket + 1).0);
            assert!(to - from == 1 || (to - from) * 64 <= from);
        }
        assert!(bucket_range(64 * 29).0 > 10_000_000_000);
    }
}
