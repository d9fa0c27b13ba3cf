/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The table of contexts, and what is decided once a packet's owner is known. The same for every program:
 * the cheapest and commonest drop, a blocked flow, comes first.
 */
#ifndef GANNET_CONTEXTS_H
#define GANNET_CONTEXTS_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "counting.h"
#include "layout.h"

/* One entry for each place; user space has it mapped. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct context);
} contexts SEC(".maps");

/* Unknown contexts that go up: one each so many ns, so many ns' worth at once. 0 lets none. */
const volatile __u64 sample_interval_ns;
const volatile __u64 sample_burst_ns;

/* Of a packet without context: whether it goes up, so that the node tells the sender. */
static __always_inline int is_sample(void)
{
	__u64 *tat_ns;

	if (!sample_interval_ns)
		return 0;
	tat_ns = cell(CELL_SAMPLE_TAT);
	return tat_ns && conforms(tat_ns, sample_interval_ns, sample_burst_ns);
}

/* The entry of a place, where there is one. */
static __always_inline struct context *entry_at(__u32 name)
{
	__u32 place = name & PLACE_MASK;

	return bpf_map_lookup_elem(&contexts, &place);
}

/*
 * What becomes of a packet of a flow: COUNT_REDIRECTED + its class, or the counter of a drop. Everything that belongs
 * to the flow is counted here, and nothing else.
 */
static __always_inline __u32 decide(struct context *flow, __u32 octets, int counts_octets)
{
	__u8 blocked = flow->blocked;

	if (blocked) {
		if (blocked & BLOCKED_FLOW_CONTROL) {
			add_u32(&flow->dropped_blocked);
			return COUNT_BLOCKED;
		}
		add_u32(&flow->dropped_queue_full);
		return COUNT_QUEUE_FULL;
	}
	if (flow->octet_cost) {
		__u64 increment = (flow->octet_cost * octets) >> 16;

		if (!conforms(&flow->tat_ns, increment, flow->burst_ns)) {
			add_u32(&flow->dropped_over_rate);
			return COUNT_OVER_RATE;
		}
	}
	add_u32(&flow->passed);
	if (counts_octets && concurrent)
		__sync_fetch_and_add(&flow->passed_octets, octets);
	else if (counts_octets)
		flow->passed_octets += octets;
	return COUNT_REDIRECTED + (flow->class < CLASSES ? flow->class : CLASS_BEST_EFFORT);
}

/* The ring of a packet. */
static __always_inline __u32 ring_of(__u32 class, __u8 precedence)
{
	if (class == CLASS_SIGNALLING)
		return RING_SIGNALLING;
	if (class == CLASS_REAL_TIME)
		return RING_REAL_TIME;
	return precedence == PRECEDENCE_HIGH ? RING_HIGH : RING_BEST_EFFORT;
}

#endif
