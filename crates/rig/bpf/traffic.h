// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What generator, sink and user space share: the layout of the maps. crates/rig/src/layout.rs says the same in Rust.
//
// A flow is the traffic of one user in one direction. A marked N-PDU looks like this, in octets:
//
//   0   IPv4 header without options
//   20  UDP header, checksum 0
//   28  struct mark
//   56  the pattern from this place on, to the end of the N-PDU

#ifndef GANNET_TRAFFIC_H
#define GANNET_TRAFFIC_H

#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define N_PDU_MIN 56
#define N_PDU_MAX 1504
#define PATTERN_MAX 2048 // a power of two
#define MARK_MAGIC 0x476e5475 // "GnTu"

#define GROUPS 16
#define BUCKETS 2048
#define BUCKET_BITS 6 // 64 buckets in each octave: a bucket is at most 1.6 % wide

// Flags of a flow.
#define FLOW_EXPONENTIAL 1
#define FLOW_UPLINK 2
#define FLOW_CIPHERED 4 // its LL-PDUs come with GEA3
#define FLOW_EACH 8 // and of each of them the mark is read

struct mark {
	__u32 magic;
	__u32 flow;
	__u32 sequence;
	__u16 step;
	__u16 group;
	__u64 stamp; // ns, CLOCK_MONOTONIC
	__u32 check; // of the fields before
} __attribute__((packed));

// What the generator touches of a flow: one cache line.
struct flow {
	__u64 due; // when the next N-PDU is to leave, in ns since the beginning of the step
	__u64 gap; // mean time between two of them, in ns
	__u64 dice;
	__u32 next; // of the same slot of the calendar: number + 1, or 0
	__u32 sequence; // of the next N-PDU
	__be32 endpoint; // downlink: TEID of the SGSN; uplink: TLLI
	__be32 address; // the mobile's PDP address
	__u32 cell; // uplink: index into the map cells
	__u16 size; // of an N-PDU, octets
	__u8 group;
	__u8 flags;
	__u8 sapi;
	__u8 nsapi;
	__u8 touched;
	__u8 spare[13];
};

// What the sink touches of a flow: one cache line.
struct seen {
	__u64 window; // bit k: the N-PDU of sequence number next - 1 - k has come
	__u64 octets; // of the N-PDUs that were delivered
	__be32 endpoint; // downlink: TLLI; uplink: TEID of the GGSN
	__be32 endpoint_before; // also right, for what was under way when it changed
	__be16 bvci; // downlink: the cell's
	__be16 port; // downlink: UDP port of its NSE on our side
	__u32 next; // sequence number that is expected
	__u32 delivered;
	__u32 corrupt;
	__u32 wrong; // came for another mobile
	__u32 repeated;
	__u32 reordered;
	__u16 open_number; // the N-PDU whose segments are coming
	__u16 open_octets; // of it that have come
	__u16 open_size;
	__u8 open_segment; // the one that is expected
	__u8 touched;
	__u16 received; // V(R) of its LLE
	__u8 owed; // I frames until the acknowledgement that was asked for
	__u8 acknowledged; // it comes in I frames, and only in these
};

// Counters of one group of flows. The histogram is log-linear, in ns.
struct group {
	__u64 offered; // by the generator: in the driver's ring, or refused by it
	__u64 offered_octets;
	__u64 slip_sum; // from when an N-PDU was due to when it left, ns
	__u64 slip_max;
	__u64 delivered;
	__u64 delivered_octets;
	__u64 corrupt;
	__u64 wrong_mobile;
	__u64 wrong_cell; // delivered, in a cell where the mobile is not
	__u64 repeated;
	__u64 reordered; // delivered, after a later one
	__u64 other_step; // left in an earlier step; counted nowhere else
	__u64 segmented; // delivered by the first of several segments
	__u64 completed; // of these: all segments came, in their order
	__u64 unread; // delivered, came ciphered, known by TLLI and N(U) alone
	__u64 whole; // delivered, came ciphered: each octet was deciphered and is right, the FCS too
	__u64 offered_inside; // within the window that is counted apart
	__u64 delivered_inside; // came within it
	__u64 unexpected; // I frames with another N(S) than V(R): of what came before, or beyond what is missing
	__u64 answered; // acknowledgements that were sent
	__u64 latency_sum;
	__u64 latency_max;
	__u64 latency[BUCKETS];
};

// Where an uplink flow comes from.
struct cell {
	__be16 bvci;
	__be16 port; // UDP port of the NSE on our side
	__u8 identifier[8]; // RAI and CI
	__u8 spare[4];
};

// The step that is being run, and where the calendar stands.
struct plan {
	__u64 begin; // CLOCK_MONOTONIC, ns
	__u64 stop; // ns since begin
	__u64 slot; // the calendar's, absolute
	__u64 window; // when the window of this slot begins, ns since begin
	__u64 window_ns; // N-PDUs that are due in one window leave at its beginning
	__u64 slots_mask; // slots of a window, less one: more than one shuffle the users of a burst
	__u64 line_ns; // from one N-PDU to the next, at the least
	__u64 free_at; // when the line would be free again if it took nothing at once
	__u64 stretch; // factor of all gaps, 16.16
	__u64 last; // when the generator last looked at the clock
	__u64 pause_ns; // it was away from its core, where it looks after a longer time: the schedule waits for it
	__u64 paused; // ns in all, by which begin has moved
	__u64 inside_from; // what leaves and what comes from then on is counted apart as well, ns since begin
	__u64 inside_to; // up to then
	__u64 at_once; // N-PDUs that the line takes at once after a pause
	__u64 wait_ns; // before a frame goes back unused
	__u64 unmarked; // user data at the sink without our mark, or for no flow of ours
	__u64 passed; // frames for the control plane
	__u32 has_uplink;
	__u16 step;
	__u16 ports; // NSEs: UDP ports from port_first on are ours
	__u16 port_first;
	__u16 gtp_port;
	__be32 down_sum; // of the outer IPv4 headers without the total length
	__be32 up_sum;
	__be32 server; // address that the mobiles talk to
	__u32 entering; // flow that has left its slot and is to be entered in another: number + 1, or 0
	__u32 entering_key; // that slot's
	__u32 read_mask; // of LL-PDUs that come ciphered the mark is read in one of so many and one
	__u32 whole_mask; // and all of it; of I frames the FCS
	__u32 answer_after; // I frames that follow the one that asked for an acknowledgement, before it is sent
	__u32 spare;
	__u8 down[48]; // Ethernet, IPv4, UDP header towards the SGSN on Gn; 42 are used
	__u8 up[48]; // the same on Gb
};

// Constant tables that user space writes once.
struct tables {
	__u32 exponential[4096]; // -ln(1 - u) in 16.16, mean 1
	__u32 crc[256]; // of the LLC FCS, 04.64 clause 5.5
	__u8 pattern[PATTERN_MAX + 8];
	__u16 s9[512]; // of KASUMI, 35.202 clause 4.5
	__u8 s7[128];
};

// The key of a flow's LL-PDUs.
struct secret {
	__u64 rounds[8][2]; // KASUMI's subkeys KL1 KL2 KO1 KO2, KO3 KI1 KI2 KI3, the first in the highest bits
	__u32 offset; // IOV-UI ^ SX (04.64 annex A.2.1)
	__u32 spare[3];
};

// One for each flow; none where nothing is ciphered.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct secret);
} secrets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct flow);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct seen);
} seens SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, GROUPS);
	__type(key, __u32);
	__type(value, struct group);
} groups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cell);
} cells SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct plan);
} plans SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tables);
} constants SEC(".maps");

// The calendar: for each slot the first flow that is due in it, number + 1, or 0.
#define SLOTS (1 << 20)
struct place {
	__u32 first;
	__u32 touched;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, struct place);
} calendar SEC(".maps");

// Whose later segments of an N-PDU, and whose ciphered LL-PDUs are: TLLI to flow. Empty where no N-PDU is longer than
// N201-U and nothing is ciphered.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u64);
} by_tlli SEC(".maps");

// Interfaces of this network namespace: the GGSN's end of Gn and the BSS's end of Gb.
const volatile __u32 gn_ifindex = 0;
const volatile __u32 gb_ifindex = 0;

// Says which mark was written: one that was changed on the way does not fit any more.
static __always_inline __u32 check_of(const struct mark *mark)
{
	__u64 mixed = mark->stamp ^ ((__u64)mark->flow << 32 | mark->sequence) ^ (__u64)mark->step << 16 ^ mark->group;

	mixed *= 0x9e3779b97f4a7c15ULL;
	return mixed >> 32;
}

#endif
