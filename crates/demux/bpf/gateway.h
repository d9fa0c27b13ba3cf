/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The tables of a GGSN's programs, octet by octet, and what both directions ask of an IP packet. src/gateway/layout.rs
 * says the same in Rust.
 *
 * Whatever needs more than a router's own work goes to the node: every function here that finds such a thing says so
 * with the counter of its reason.
 */
#ifndef GANNET_GATEWAY_H
#define GANNET_GATEWAY_H

#include "address.h"
#include "counting.h"
#include "parse.h"
#include "teid.h"

#define GTP_U_PORT 2152
#define G_PDU 255
#define V1 0x30 /* version 1, protocol type GTP */
#define V1_KNOWN 0xf4 /* these, and the bit of an extension header */
#define V1_NUMBERS 3 /* sequence number, N-PDU number */
#define V1_SEQUENCE 2
#define V1_LEN 8
#define V1_LEN_LONG 12
#define OUTER_LEN (20 + 8) /* IPv4 and UDP */

#define TCP_FLAGS 13
#define TCP_SYN 2
#define OUTER_TTL 64
#define POOLS_MAX 8

/* What is counted, in the order of struct totals. The first are drops. */
enum {
	FORWARD_FOREIGN_SOURCE,
	FORWARD_OVER_RATE,
	FORWARD_DROPS,
	FORWARD_UPLINK = FORWARD_DROPS,
	FORWARD_UPLINK_OCTETS,
	FORWARD_DOWNLINK,
	FORWARD_DOWNLINK_OCTETS,
	/* Left to the node: no context, or none that is forwarded here. */
	FORWARD_LEFT_CONTEXT,
	/* Another sender than the context's SGSN. */
	FORWARD_LEFT_SENDER,
	/* Options, fragments, extension headers, a wrong header checksum, the last hop, what cannot be read. */
	FORWARD_LEFT_SHAPE,
	/* Addresses that the kernel or the node has to judge. */
	FORWARD_LEFT_ADDRESS,
	/* No route through the network's interface, no neighbour, or longer than the way takes. */
	FORWARD_LEFT_ROUTE,
	/* Given to the ring of the queue, or where it has no socket to the kernel. */
	FORWARD_TO_RING,
	FORWARD_COUNTS,
};

/* Bits of `flags` of a way. */
enum {
	WAY_ACTIVE = 1,
	WAY_SEQUENCED = 2,
	WAY_TO_RING = 4,
	/* The node changes what a TCP connection begins with. */
	WAY_SYN_TO_NODE = 8,
};

/* From the mobile: one cache line, so that neither direction waits for the other's. */
struct way_up {
	/* With its generation. */
	__u32 name;
	__u8 flags;
	__u8 unused;
	/* Index of the network: entry 0 of `networks` is Gn. */
	__u16 network;
	/* Where its G-PDUs come from; 0 for anywhere. */
	__be32 source;
	/* The mobile's address; 0 for none. */
	__be32 v4;
	/* The first 64 bits of its IPv6 addresses, octets of the wire; 0 for none. */
	__u64 v6;
	__u64 tat_ns;
	__u64 octet_cost;
	__u64 burst_ns;
	__u64 octets;
	__u32 packets;
	__u32 over_rate;
};

/* To the mobile. */
struct way_down {
	__u32 name;
	__u8 flags;
	__u8 tos;
	__u16 network;
	__be32 peer;
	__be32 peer_teid;
	/* Of the next G-PDU. */
	__u32 sequence;
	/* Of the uplink: packets whose source is not the mobile's. */
	__u32 foreign;
	__u64 tat_ns;
	__u64 octet_cost;
	__u64 burst_ns;
	__u64 octets;
	__u32 packets;
	__u32 over_rate;
};

struct tunnel {
	struct way_up up;
	struct way_down down;
};

/* Versions of IP that the kernel forwards from a network's interface. */
enum {
	FORWARDS_V4 = 1,
	FORWARDS_V6 = 2,
};

struct network {
	/* The interface that it is reached by; 0 while there is none. */
	__u32 device;
	/* The TUN device, as which its mobiles are known to the kernel. */
	__u32 tun;
	/* Of the TUN device. */
	__u32 mtu;
	__u32 forwards;
};

/* Addresses of mobiles, octets of the wire and how many of them count. */
struct pool {
	__u64 network;
	__u64 mask;
};

_Static_assert(sizeof(struct way_up) == 64 && sizeof(struct way_down) == 64, "two cache lines");
_Static_assert(FORWARD_COUNTS <= 16, "all counters fit");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tunnel);
} tunnels SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct network);
} networks SEC(".maps");

/* From an IPv4 address, and from the first 64 bits of an IPv6 address, to the name of the one context that has it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u64);
} mobiles_v4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u64);
} mobiles_v6 SEC(".maps");

/* A socket of the node's for each receive queue, for what goes to a ring. */
struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} rings SEC(".maps");

/* Our address for G-PDUs. */
const volatile __be32 own_user;
const volatile struct pool pools_v4[POOLS_MAX];
const volatile struct pool pools_v6[POOLS_MAX];

/* Source and destination of an IP packet, and what the route depends upon beside them. */
struct inner {
	__u32 len;
	__u8 is_v6;
	__u8 tos;
	__be32 flow;
	__be32 source;
	__be32 destination;
	/* Halves of 64 bits. */
	__u64 source_v6[2];
	__u64 destination_v6[2];
};

static __always_inline int is_of_pool(const volatile struct pool *pools, __u64 address)
{
#pragma unroll
	for (int i = 0; i < POOLS_MAX; i++)
		if (pools[i].mask && (address & pools[i].mask) == pools[i].network)
			return 1;
	return 0;
}

/* Of a packet of `len` octets whose TCP header begins at `at`. */
static __always_inline int opens_tcp(void *ip, void *end, __u32 at, __u32 len)
{
	return len < at + TCP_FLAGS + 1 || ip + at + TCP_FLAGS + 1 > end || *(__u8 *)(ip + at + TCP_FLAGS) & TCP_SYN;
}

static __always_inline int read_v4(void *ip, void *end, __u8 flags, struct inner *inner)
{
	if (ip + 20 > end || *(__u8 *)ip != 0x45)
		return FORWARD_LEFT_SHAPE;
	if (*(__be16 *)(ip + 6) & bpf_htons(IP_FRAGMENT) || *(__u8 *)(ip + 8) <= 1)
		return FORWARD_LEFT_SHAPE;
	if (fold(halves(ip) + halves(ip + 8) + *(__u32 *)(ip + 16)) != 0xffff)
		return FORWARD_LEFT_SHAPE;
	inner->len = bpf_ntohs(*(__be16 *)(ip + 2));
	if (inner->len < 20)
		return FORWARD_LEFT_SHAPE;
	if (flags & WAY_SYN_TO_NODE && *(__u8 *)(ip + 9) == IPPROTO_TCP && opens_tcp(ip, end, 20, inner->len))
		return FORWARD_LEFT_SHAPE;
	inner->is_v6 = 0;
	inner->tos = *(__u8 *)(ip + 1);
	inner->source = *(__be32 *)(ip + 12);
	inner->destination = *(__be32 *)(ip + 16);
	return FOUND;
}

static __always_inline int read_v6(void *ip, void *end, __u8 flags, struct inner *inner)
{
	__u8 next;

	if (ip + 40 > end || *(__u8 *)ip >> 4 != 6)
		return FORWARD_LEFT_SHAPE;
	next = *(__u8 *)(ip + 6);
	if (next == IP_HOP_BY_HOP || *(__u8 *)(ip + 7) <= 1)
		return FORWARD_LEFT_SHAPE;
	inner->len = 40 + bpf_ntohs(*(__be16 *)(ip + 4));
	if (flags & WAY_SYN_TO_NODE && next != IPPROTO_UDP && next != IPPROTO_ICMPV6
	    && (next != IPPROTO_TCP || opens_tcp(ip, end, 40, inner->len)))
		return FORWARD_LEFT_SHAPE;
	inner->is_v6 = 1;
	inner->flow = *(__be32 *)ip & bpf_htonl(0x0fffffff);
	inner->source_v6[0] = *(__u64 *)(ip + 8);
	inner->source_v6[1] = *(__u64 *)(ip + 16);
	inner->destination_v6[0] = *(__u64 *)(ip + 24);
	inner->destination_v6[1] = *(__u64 *)(ip + 32);
	return FOUND;
}

/* What a router does to a packet that it passes on; there is a hop left. */
static __always_inline void one_hop_less(void *ip, int is_v6)
{
	__u32 sum;

	if (is_v6) {
		*(__u8 *)(ip + 7) -= 1;
		return;
	}
	sum = *(__be16 *)(ip + 10) + bpf_htons(0x0100);
	*(__be16 *)(ip + 10) = sum + (sum >= 0xffff);
	*(__u8 *)(ip + 8) -= 1;
}

static __always_inline struct network *network_at(__u32 index)
{
	return bpf_map_lookup_elem(&networks, &index);
}

static __always_inline struct tunnel *tunnel_at(__u32 name)
{
	__u32 place = name & PLACE_MASK;

	return bpf_map_lookup_elem(&tunnels, &place);
}

static __always_inline void count_forwarded(__u32 what, __u32 octets)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct totals *of_cpu = bpf_map_lookup_elem(&totals, &cpu);

	if (of_cpu) {
		of_cpu->count[what]++;
		of_cpu->count[what + 1] += octets;
	}
}

#endif
