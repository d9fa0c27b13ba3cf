/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the program of an edge router shares with user space, octet by octet. src/edge.rs says the same in Rust.
 */
#ifndef GANNET_EDGE_H
#define GANNET_EDGE_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "address.h"

/* Interfaces of a router. */
#define INTERFACES_MAX 32

/* What is counted, in the order of edge::Count. */
enum {
	/* Given to the ring of the queue, or where that has no socket to the kernel. */
	EDGE_TO_RING,
	/* No IP packet for this station: tags, ARP, to many, to others. */
	EDGE_LEFT_OTHER,
	/* Options, the last hop, longer than a frame of the ring, what cannot be read. */
	EDGE_LEFT_SHAPE,
	/* From or to an address that a router does not forward for. */
	EDGE_LEFT_ADDRESS,
	/* For this machine, without a route through the router's interfaces or without a neighbour, too long for its way. */
	EDGE_LEFT_ROUTE,
	EDGE_COUNTS,
};

struct router {
	/* The interface's Ethernet address in the order of the wire, and two octets of zero behind it. */
	__u64 station;
	/* The indices of all interfaces of the router; 0 ends them. */
	__u32 interfaces[INTERFACES_MAX];
};

_Static_assert(sizeof(struct router) == 8 + 4 * INTERFACES_MAX, "no padding");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct router);
} routers SEC(".maps");

/* A socket of the node's for each receive queue. */
struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} rings SEC(".maps");

static __always_inline int is_of_router(struct router *router, __u32 interface)
{
#pragma clang loop unroll(disable)
	for (int i = 0; i < INTERFACES_MAX; i++) {
		__u32 own = *(volatile __u32 *)&router->interfaces[i];

		if (!own)
			return 0;
		if (own == interface)
			return 1;
	}
	return 0;
}

#endif
