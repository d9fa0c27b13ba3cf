/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The table of contexts, the counters, and what is decided once a packet's owner is known. The same for every program:
 * the cheapest and commonest drop, a blocked flow, comes first.
 */
#ifndef GANNET_CONTEXTS_H
#define GANNET_CONTEXTS_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "layout.h"

/* One entry for each place; user space has it mapped. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct context);
} contexts SEC(".maps");

/* One entry for each CPU, so that nothing is counted twice or lost. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct totals);
} totals SEC(".maps");

/*
 * The bucket of the unknown contexts that go up, as a theoretical arrival time; the time of who polls the
 * device, where he lends it; and the bucket of signalling from unknown mobiles.
 */
enum {
	CELL_SAMPLE_TAT,
	CELL_CLOCK,
	CELL_STRANGER_TAT,
	CELLS,
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, CELLS);
	__type(key, __u32);
	__type(value, __u64);
} cells SEC(".maps");

/* Set where more than one CPU may run the program at a time: counters and buckets of a flow are then changed atomically. */
const volatile __u8 concurrent = 1;
/* Unknown contexts that go up: one each so many ns, so many ns' worth at once. 0 lets none. */
const volatile __u64 sample_interval_ns;
const volatile __u64 sample_burst_ns;

static __always_inline __u64 *cell(__u32 index)
{
	return bpf_map_lookup_elem(&cells, &index);
}

/*
 * The time, as old as a poll at most where it is lent: to ask takes some 38 of 93 ns (benches/verdict.rs), and waits for
 * what is being loaded. 0 is no time.
 */
static __always_inline __u64 now_ns(void)
{
	__u64 *clock = cell(CELL_CLOCK);
	__u64 lent = clock ? *(volatile __u64 *)clock : 0;

	return lent ? lent : bpf_ktime_get_ns();
}

static __always_inline void count(__u32 what)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct totals *of_cpu = bpf_map_lookup_elem(&totals, &cpu);

	if (of_cpu)
		of_cpu->count[what]++;
}

static __always_inline void add_u32(__u32 *counter)
{
	if (concurrent)
		__sync_fetch_and_add(counter, 1);
	else
		(*counter)++;
}

/*
 * The generic cell rate algorithm: passes where the theoretical arrival time, at least now, plus the increment lies at
 * most `burst` ahead, and moves it there. A CPU that loses the race three times counts the packet as over the rate.
 */
static __always_inline int conforms(__u64 *tat_ns, __u64 increment, __u64 burst)
{
	__u64 now = now_ns();

#pragma unroll
	for (int i = 0; i < 3; i++) {
		__u64 old = *(volatile __u64 *)tat_ns;
		__u64 next = (old > now ? old : now) + increment;

		if (next - now > burst)
			return 0;
		if (!concurrent) {
			*tat_ns = next;
			return 1;
		}
		if (__sync_val_compare_and_swap(tat_ns, old, next) == old)
			return 1;
	}
	return 0;
}

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
