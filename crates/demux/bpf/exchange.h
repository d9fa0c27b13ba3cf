/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Pages that are exchanged: what arrives is copied into a slot that user space has mapped, and the page that it came in
 * leaves with a frame that user space has finished.
 *
 * An AF_XDP socket in copy mode takes a copy as well, and throws the page away; what it sends costs an sk_buff, another
 * copy and another page. A page that is redirected costs neither, returns to the core that it belongs to, and the
 * receiver's program gets it as it is.
 *
 * Where very many contexts are known, that of a packet is in no cache, and the program would wait for it, with each packet
 * again: it has no way to ask for memory ahead. There it leaves it to user space to decide, which asks for the contexts of
 * all that a poll has brought at once: a packet of GTPv1 then waits in a ring of its own, QUEUE_LEFT.
 *
 * All queues are arrays of words in which 0 is an empty place: who finds a place as it needs it goes on, who does not has
 * nothing to do. So neither side reads the other's counters.
 */
#ifndef GANNET_EXCHANGE_H
#define GANNET_EXCHANGE_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "contexts.h"
#include "parse.h"
#include "redirect.h"

/* Entries of each queue, powers of two; src/exchange.rs says the same. */
#define EXCHANGE_RING 4096
#define EXCHANGE_OUT 512
/* Empty slots at the most. The first EXCHANGE_OUT slots are for what leaves, those behind for what arrives. */
#define EXCHANGE_SLOTS 4096
#define SLOT_ROOM 1848
/* Places of frames that were taken back which one packet passes. */
#define EXCHANGE_PASS 8

/* The rings, and what is left to user space. */
#define QUEUE_LEFT RINGS
#define QUEUES (RINGS + 1)

/* What `state` is but the length of a frame that waits. */
enum {
	SLOT_EMPTY = 0,
	/* The program reads it. */
	SLOT_BUSY = 1 << 16,
	/* User space sends it otherwise; the place is to be passed. */
	SLOT_TAKEN = 1 << 17,
};

struct slot {
	__u64 state;
	/* Of what arrives metadata and frame, of what leaves the frame. */
	__u8 octets[SLOT_ROOM];
};

struct exchange {
	/* Where packets arrive whose pages are exchanged, and where they leave; 0 where they do not. */
	__u32 gn;
	__u32 gb;
	/* User space decides. */
	__u32 leaves;
	/* The CPU that redirected last, + 1. */
	__u32 cpu;
	__u32 fill_next;
	__u32 out_next;
	__u32 ring_next[QUEUES];
	/* Packets that may wait in each ring, EXCHANGE_RING at the most. */
	__u32 ring_len[QUEUES];
	/* That the device took no redirected page. */
	__u32 refused;
	/* So that nothing lies between what stands before and behind. */
	__u32 unused;
	__u64 ring_full[QUEUES];
	__u64 fill_empty;
	__u64 carried;
	/* Slot + 1. */
	__u64 fill[EXCHANGE_SLOTS];
	__u64 ring[QUEUES][EXCHANGE_RING];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct exchange);
} exchanges SEC(".maps");

/* Set where pages may be exchanged: older kernels do not know the helpers. */
const volatile __u8 exchanging;

/* Is anything left to user space? Asked of every packet, so that it costs one look. */
static __always_inline int leaves(void)
{
	struct exchange *exchange;
	__u32 zero = 0;

	if (!exchanging)
		return 0;
	exchange = bpf_map_lookup_elem(&exchanges, &zero);
	return exchange && exchange->leaves;
}

/* The exchange, where this packet came to its queue. */
static __always_inline struct exchange *exchange_of(struct xdp_md *ctx)
{
	struct exchange *exchange;
	__u32 zero = 0;

	if (!exchanging)
		return 0;
	exchange = bpf_map_lookup_elem(&exchanges, &zero);
	if (!exchange || ctx->ingress_ifindex != exchange->gn || ctx->rx_queue_index)
		return 0;
	return exchange;
}

/* Copies the frame into a slot and shows it to user space in this queue. 0 where that is none of its business. */
static __always_inline int hand_over(struct xdp_md *ctx, struct exchange *exchange, __u32 ring, const struct metadata *what)
{
	__u32 next = exchange->ring_next[ring];
	__u64 *place = &exchange->ring[ring][next & (EXCHANGE_RING - 1)];
	/* Places are emptied in order: where this one is not, so many wait. */
	__u64 *last = &exchange->ring[ring][(next - exchange->ring_len[ring]) & (EXCHANGE_RING - 1)];
	__u64 *fill = &exchange->fill[exchange->fill_next & (EXCHANGE_SLOTS - 1)];
	__u64 number = *(volatile __u64 *)fill;
	__u64 len = ctx->data_end - ctx->data;
	struct slot *slot;
	__u32 key;

	if (!len || len > FRAME_MAX)
		return 0;
	if (*(volatile __u64 *)last) {
		exchange->ring_full[ring]++;
		return 1;
	}
	if (!number) {
		exchange->fill_empty++;
		return 1;
	}
	key = number - 1;
	slot = bpf_map_lookup_elem(&slots, &key);
	if (!slot)
		return 0;
	__builtin_memcpy(slot->octets, what, sizeof(*what));
	/* Within bounds already; said for the verifier. */
	KEEP(len);
	len &= 2047;
	if (!len || len > FRAME_MAX || bpf_xdp_load_bytes(ctx, 0, slot->octets + sizeof(*what), len))
		return 0;
	slot->state = len;
	*fill = 0;
	exchange->fill_next++;
	__sync_lock_test_and_set(place, number);
	exchange->ring_next[ring] = next + 1;
	return 1;
}

/* The page of a packet that is done with: leaves with the next frame that is finished, or is dropped. */
static __noinline int carry(struct xdp_md *ctx)
{
	struct exchange *exchange = exchange_of(ctx);

	if (!exchange || !exchange->gb)
		return XDP_DROP;
#pragma clang loop unroll(disable)
	for (int i = 0; i < EXCHANGE_PASS; i++) {
		__u32 key = exchange->out_next & (EXCHANGE_OUT - 1);
		struct slot *slot = bpf_map_lookup_elem(&slots, &key);
		__u64 state, len, have;

		if (!slot)
			return XDP_DROP;
		state = *(volatile __u64 *)&slot->state;
		if (state == SLOT_EMPTY)
			return XDP_DROP;
		if (state == SLOT_TAKEN) {
			__sync_lock_test_and_set(&slot->state, SLOT_EMPTY);
			exchange->out_next++;
			continue;
		}
		if (__sync_val_compare_and_swap(&slot->state, state, SLOT_BUSY) != state)
			continue;
		len = state;
		KEEP(len);
		len &= 2047;
		have = ctx->data_end - ctx->data;
		if (!len || len > FRAME_MAX
		    || (len != have && bpf_xdp_adjust_tail(ctx, (int)len - (int)have))
		    || bpf_xdp_store_bytes(ctx, 0, slot->octets, len)) {
			/* Another page may have room for it. */
			__sync_lock_test_and_set(&slot->state, state);
			return XDP_DROP;
		}
		__sync_lock_test_and_set(&slot->state, SLOT_EMPTY);
		exchange->out_next++;
		exchange->carried++;
		exchange->cpu = bpf_get_smp_processor_id() + 1;
		return bpf_redirect(exchange->gb, 0);
	}
	return XDP_DROP;
}

/*
 * The device took no redirected page, as a veth whose other end has lost its program: no further frame goes that way, until
 * user space finds that it can. The kernel tells of it on the CPU and at once.
 */
SEC("raw_tp/xdp_redirect_err")
int refused(struct bpf_raw_tracepoint_args *ctx)
{
	struct exchange *exchange;
	__u32 zero = 0;

	exchange = bpf_map_lookup_elem(&exchanges, &zero);
	if (exchange && exchange->gb && exchange->gb == (__u32)ctx->args[6]
	    && exchange->cpu == bpf_get_smp_processor_id() + 1) {
		exchange->gb = 0;
		exchange->refused++;
	}
	return 0;
}

#endif
