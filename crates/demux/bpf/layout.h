/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the kernel's programs and user space share, octet by octet. src/layout.rs says the same in Rust; a difference
 * fails its assertions or the test that compares the programs with the model.
 */
#ifndef GANNET_LAYOUT_H
#define GANNET_LAYOUT_H

#include <linux/types.h>

/* Low bits of a context's name: its place. The bits above count how often the place was used before. */
#define PLACE_MASK 0xffffff

/* Rounds between a name and its TEID (teid.h). */
#define TEID_ROUNDS 6

/* Longer frames do not fit behind the 256 octets of headroom of a chunk of 2048 octets. */
#define FRAME_MAX (2048 - 256)

/* Addresses of each version that are ours. */
#define OWN_MAX 8

/* Classes of service, qos::class::Class. */
enum {
	CLASS_SIGNALLING,
	CLASS_REAL_TIME,
	CLASS_BEST_EFFORT,
	CLASSES,
};

/* Precedence classes, qos::class::Precedence. */
enum {
	PRECEDENCE_HIGH,
	PRECEDENCE_NORMAL,
	PRECEDENCE_LOW,
};

/*
 * Where what is classified waits for the node, in the order in which the node takes it. What overflows a ring knows no
 * precedence, so best effort of high precedence has one of its own.
 */
enum {
	RING_SIGNALLING,
	RING_REAL_TIME,
	RING_HIGH,
	RING_BEST_EFFORT,
	RINGS,
};

/* Which keys lead to an entry. An entry without any is empty. */
enum {
	BY_TEID = 1,
	BY_TID = 2,
	BY_TLLI = 4,
};

/* Bits of `blocked`, qos::classifier::Block. */
enum {
	BLOCKED_FLOW_CONTROL = 1,
	BLOCKED_QUEUE_FULL = 2,
};

/* What is counted, in the order of struct totals. The first are drops. */
enum {
	COUNT_UNKNOWN_CONTEXT,
	COUNT_STALE_GENERATION,
	COUNT_BLOCKED,
	COUNT_OVER_RATE,
	COUNT_QUEUE_FULL,
	COUNT_BAD_IP_CHECKSUM,
	COUNT_BAD_UDP_CHECKSUM,
	COUNT_MALFORMED,
	COUNT_UNKNOWN_TLLI,
	DROPS,
	/* Given to a ring, by class. */
	COUNT_REDIRECTED = DROPS,
	/* Unknown contexts that the kernel got, so that the node answers. */
	COUNT_SAMPLED = COUNT_REDIRECTED + CLASSES,
	/* For our address and port, and yet not for us to judge. */
	COUNT_TO_KERNEL,
	COUNTS,
};

/* What parsing came to: below 0 one of these, else the counter of a drop. */
enum {
	FOUND = -1,
	TO_KERNEL = -2,
	/* For our address and port; counted. */
	OURS_TO_KERNEL = -3,
};

/* One flow: one cache line. */
struct context {
	/* The name under which it is found, with its generation; with BY_TLLI how many TLLIs lead here. */
	__u32 teid;
	__u8 keys;
	__u8 blocked;
	__u8 class;
	__u8 precedence;
	/* Theoretical arrival time: the instant at which the bucket will have leaked empty. */
	__u64 tat_ns;
	/* Time that an octet takes at the permitted rate, in 1/65536 ns; 0 for no limit. */
	__u64 octet_cost;
	/* How far the theoretical arrival time may lie ahead. */
	__u64 burst_ns;
	/* What the program says of the flow's packets to the node. */
	__u32 name;
	__u32 passed;
	__u32 dropped_blocked;
	__u32 dropped_over_rate;
	__u32 dropped_queue_full;
	/* On Gn the address of IPv4 that its packets come from; 0 for any. */
	__be32 source;
	union {
		__u64 passed_octets;
		/* With BY_TLLI: the bucket of the mobile's signalling. */
		__u64 signalling_tat_ns;
	};
};

/* Counters of one CPU: two cache lines. */
struct totals {
	__u64 count[16];
};

/* In front of a redirected frame. */
struct metadata {
	__u32 name;
	/* What the node gets, from the start of the Ethernet frame: a T-PDU on Gn, an NS PDU on Gb. */
	__u16 pdu_offset;
	__u16 pdu_len;
	__u8 class;
	__u8 precedence;
	/* The receive queue, and which of its rings. */
	__u8 shard;
	__u8 ring;
	/* The LL-PDU in an NS PDU, from the start of the Ethernet frame; 0 on Gn. */
	__u16 llc_offset;
	__u16 llc_len;
};

_Static_assert(sizeof(struct context) == 64, "one cache line");
_Static_assert(COUNTS <= 16, "all counters fit");
_Static_assert(sizeof(struct metadata) == 16, "metadata comes in steps of four octets");

#endif
