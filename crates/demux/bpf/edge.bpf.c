// SPDX-License-Identifier: MIT OR Apache-2.0
//
// An edge router at the driver: packets that the kernel would forward between the router's interfaces go to the ring of
// their receive queue, and everything else to the kernel as if this program were not there.
//
// The kernel's own tables decide. So whatever a router's kernel answers or delivers reaches the kernel, and so does what
// only the node knows how to forward: it sees those packets by its packet socket.

#include "counting.h"
#include "edge.h"
#include "parse.h"

#ifndef AF_INET
#define AF_INET 2
#endif
#ifndef AF_INET6
#define AF_INET6 10
#endif

static __always_inline int read_v4(void *ip, void *end, struct bpf_fib_lookup *fib)
{
	if (ip + 20 > end || *(__u8 *)ip != 0x45 || *(__u8 *)(ip + 8) <= 1)
		return EDGE_LEFT_SHAPE;
	if (is_odd_v4(*(__be32 *)(ip + 12)))
		return EDGE_LEFT_ADDRESS;
	fib->family = AF_INET;
	fib->tos = *(__u8 *)(ip + 1);
	/* What may be fragmented is never too long: the node does that. */
	fib->tot_len = *(__be16 *)(ip + 6) & bpf_htons(IP_DF) ? bpf_ntohs(*(__be16 *)(ip + 2)) : 0;
	fib->ipv4_src = *(__be32 *)(ip + 12);
	fib->ipv4_dst = *(__be32 *)(ip + 16);
	return FOUND;
}

static __always_inline int read_v6(void *ip, void *end, struct bpf_fib_lookup *fib)
{
	if (ip + 40 > end || *(__u8 *)ip >> 4 != 6 || *(__u8 *)(ip + 6) == IP_HOP_BY_HOP || *(__u8 *)(ip + 7) <= 1)
		return EDGE_LEFT_SHAPE;
	/* Of the link, to many, or in ::/64, where the unspecified address and that of loopback are. */
	if (stays_on_link(*(__u64 *)(ip + 8)) || stays_on_link(*(__u64 *)(ip + 24)) || !*(__u64 *)(ip + 8)
	    || !*(__u64 *)(ip + 24))
		return EDGE_LEFT_ADDRESS;
	fib->family = AF_INET6;
	fib->flowinfo = *(__be32 *)ip & bpf_htonl(0x0fffffff);
	fib->tot_len = 40 + bpf_ntohs(*(__be16 *)(ip + 4));
	__builtin_memcpy(fib->ipv6_src, ip + 8, 16);
	__builtin_memcpy(fib->ipv6_dst, ip + 24, 16);
	return FOUND;
}

/* Is the frame for this station, and what is in it? */
static __always_inline int read_frame(void *data, void *end, struct router *router, struct bpf_fib_lookup *fib)
{
	__u64 station;
	__be16 type;

	if (data + ETH_HLEN > end)
		return EDGE_LEFT_OTHER;
	/* The first six octets; the two of the sender's behind them do not count. */
	station = *(__u64 *)data & bpf_cpu_to_be64(~0xffffULL);
	type = *(__be16 *)(data + 12);
	if (station != router->station)
		return EDGE_LEFT_OTHER;
	if (data + FRAME_MAX < end)
		return EDGE_LEFT_SHAPE;
	if (type == bpf_htons(ETH_P_IP))
		return read_v4(data + ETH_HLEN, end, fib);
	if (type == bpf_htons(ETH_P_IPV6))
		return read_v6(data + ETH_HLEN, end, fib);
	return EDGE_LEFT_OTHER;
}

static __always_inline int left(__u32 why)
{
	count(why);
	return XDP_PASS;
}

SEC("xdp")
int edge(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct bpf_fib_lookup fib = {};
	struct router *router;
	__u32 zero = 0;
	int found;

	router = bpf_map_lookup_elem(&routers, &zero);
	if (!router)
		return XDP_PASS;
	found = read_frame(data, end, router, &fib);
	if (found != FOUND)
		return left(found);
	fib.ifindex = ctx->ingress_ifindex;
	if (bpf_fib_lookup(ctx, &fib, sizeof(fib), 0) != BPF_FIB_LKUP_RET_SUCCESS)
		return left(EDGE_LEFT_ROUTE);
	/* Where it leaves as it came the kernel tells the sender of the better way. */
	if (fib.ifindex == ctx->ingress_ifindex || !is_of_router(router, fib.ifindex))
		return left(EDGE_LEFT_ROUTE);
	count(EDGE_TO_RING);
	return bpf_redirect_map(&rings, ctx->rx_queue_index, XDP_PASS);
}

char _license[] SEC("license") = "Dual MIT/GPL";
