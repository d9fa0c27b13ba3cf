/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The way to the node past the kernel: metadata in front of the frame, and the socket of its queue and ring.
 */
#ifndef GANNET_REDIRECT_H
#define GANNET_REDIRECT_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "contexts.h"

/* One AF_XDP socket for each receive queue and ring, at queue * RINGS + ring. */
struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, RINGS);
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

/* Octets of a frame, counted from the start of the Ethernet header. */
struct part {
	__u32 at;
	__u32 len;
};

/* What the node is told of a frame. */
static __always_inline void describe(struct metadata *meta, struct context *flow, __u32 class, __u32 queue, struct part pdu,
				     struct part llc)
{
	__u8 precedence = flow->precedence;

	meta->name = flow->name;
	meta->pdu_offset = pdu.at;
	meta->pdu_len = pdu.len;
	meta->class = class;
	meta->precedence = precedence;
	meta->shard = queue;
	meta->ring = ring_of(class, precedence);
	meta->llc_offset = llc.at;
	meta->llc_len = llc.len;
}

/* Gives the frame to its socket, or where there is none, or the driver has no room for metadata, to the kernel. */
static __always_inline int redirect(struct xdp_md *ctx, struct context *flow, __u32 class, struct part pdu,
				    struct part llc)
{
	__u32 queue = ctx->rx_queue_index;
	__u32 ring = ring_of(class, flow->precedence);
	struct metadata *meta;

	if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(*meta)))
		return XDP_PASS;
	meta = (void *)(long)ctx->data_meta;
	if ((void *)(meta + 1) > (void *)(long)ctx->data)
		return XDP_PASS;
	describe(meta, flow, class, queue, pdu, llc);
	return bpf_redirect_map(&sockets, queue * RINGS + ring, XDP_PASS);
}

#endif
