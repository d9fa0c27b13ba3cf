/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Counters of each CPU, the clock, and the token bucket: what every program has that decides about packets.
 */
#ifndef GANNET_COUNTING_H
#define GANNET_COUNTING_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "layout.h"

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

static __always_inline void count_more(__u32 what, __u64 by)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct totals *of_cpu = bpf_map_lookup_elem(&totals, &cpu);

	if (of_cpu)
		of_cpu->count[what] += by;
}

static __always_inline void count(__u32 what)
{
	count_more(what, 1);
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

#endif
