// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A GGSN's user plane at the driver: G-PDUs of known contexts leave Gn for Gi, and packets to mobiles leave Gi for Gn,
// without anything else of the machine. Everything that needs more goes on to the kernel, and from there to the node by
// its UDP socket or its TUN device: what these programs do is a short cut, and the node is the reference.
//
// The model in src/model/gateway.rs says the same in Rust; a test gives both the same frames and compares verdicts,
// frames and counters.

#include "gateway.h"

#ifndef AF_INET
#define AF_INET 2
#endif
#ifndef AF_INET6
#define AF_INET6 10
#endif

/* A G-PDU in the shape that nearly all have. */
struct outer {
	__be32 source;
	__u32 name;
	/* Of the T-PDU. */
	__u32 at;
	__u32 len;
};

static __always_inline int parse_outer(void *data, void *end, struct outer *outer)
{
	__u8 *p = data;
	__u32 total, numbers;

	if (data + ETH_HLEN + OUTER_LEN + V1_LEN > end || data + FRAME_MAX < end)
		return TO_KERNEL;
	if (*(__be16 *)(p + 12) != bpf_htons(ETH_P_IP) || p[14] != 0x45 || p[23] != IPPROTO_UDP)
		return TO_KERNEL;
	if (*(__be32 *)(p + 30) != own_user || *(__be16 *)(p + 36) != bpf_htons(GTP_U_PORT))
		return TO_KERNEL;
	if (*(__be16 *)(p + 20) & bpf_htons(IP_FRAGMENT))
		return TO_KERNEL;
	total = bpf_ntohs(*(__be16 *)(p + 16));
	if (total < OUTER_LEN + V1_LEN || data + ETH_HLEN + total > end)
		return FORWARD_LEFT_SHAPE;
	if (fold(halves(p + 14) + halves(p + 22) + *(__u32 *)(p + 30)) != 0xffff)
		return FORWARD_LEFT_SHAPE;
	if (bpf_ntohs(*(__be16 *)(p + 38)) != total - 20)
		return FORWARD_LEFT_SHAPE;
	if ((p[42] & V1_KNOWN) != V1 || p[43] != G_PDU)
		return FORWARD_LEFT_SHAPE;
	if (bpf_ntohs(*(__be16 *)(p + 44)) != total - OUTER_LEN - V1_LEN)
		return FORWARD_LEFT_SHAPE;
	numbers = p[42] & V1_NUMBERS ? V1_LEN_LONG - V1_LEN : 0;
	if (total < OUTER_LEN + V1_LEN + numbers)
		return FORWARD_LEFT_SHAPE;
	outer->source = *(__be32 *)(p + 26);
	outer->name = name_of_teid(bpf_ntohl(*(__be32 *)(p + 46)));
	outer->at = ETH_HLEN + OUTER_LEN + V1_LEN + numbers;
	outer->len = total - OUTER_LEN - V1_LEN - numbers;
	return FOUND;
}

/* May the mobile say that this is its source, and is the destination one that a route decides about? */
static __always_inline int judge_addresses(struct way_up *up, struct inner *inner)
{
	if (!inner->is_v6) {
		if (!up->v4 || inner->source != up->v4)
			return FORWARD_FOREIGN_SOURCE;
		return is_odd_v4(inner->destination) || is_own_v4(inner->destination) ? FORWARD_LEFT_ADDRESS : FOUND;
	}
	if (stays_on_link(inner->source_v6[0]) || stays_on_link(inner->destination_v6[0]) || !inner->source_v6[0]
	    || !inner->destination_v6[0])
		return FORWARD_LEFT_ADDRESS;
	if (!up->v6 || inner->source_v6[0] != up->v6)
		return FORWARD_FOREIGN_SOURCE;
	return is_own_v6(inner->destination_v6[0], inner->destination_v6[1]) ? FORWARD_LEFT_ADDRESS : FOUND;
}

/* The kernel's route of a mobile's packet, as if it had come by the TUN device. */
static __always_inline int find_route(struct xdp_md *ctx, struct network *network, struct inner *inner,
				      struct bpf_fib_lookup *fib)
{
	fib->ifindex = network->tun;
	fib->tot_len = inner->len;
	if (inner->is_v6) {
		fib->family = AF_INET6;
		fib->flowinfo = inner->flow;
		__builtin_memcpy(fib->ipv6_src, inner->source_v6, 16);
		__builtin_memcpy(fib->ipv6_dst, inner->destination_v6, 16);
	} else {
		fib->family = AF_INET;
		fib->tos = inner->tos;
		fib->ipv4_src = inner->source;
		fib->ipv4_dst = inner->destination;
	}
	if (bpf_fib_lookup(ctx, fib, sizeof(*fib), 0) != BPF_FIB_LKUP_RET_SUCCESS)
		return FORWARD_LEFT_ROUTE;
	return network->device && fib->ifindex == network->device ? FOUND : FORWARD_LEFT_ROUTE;
}

/* `cost` and `burst` are the way's; 1 where the packet is over the rate. */
static __always_inline int is_over_rate(__u64 *tat_ns, __u64 octet_cost, __u64 burst_ns, __u32 octets)
{
	return octet_cost && !conforms(tat_ns, (octet_cost * octets) >> 16, burst_ns);
}

static __always_inline int left(__u32 why)
{
	count(why);
	return XDP_PASS;
}

static __always_inline int to_ring(struct xdp_md *ctx)
{
	count(FORWARD_TO_RING);
	return bpf_redirect_map(&rings, ctx->rx_queue_index, XDP_PASS);
}

/* Cuts off what is behind the packet, which ends at `stop`. */
static __always_inline int cut(struct xdp_md *ctx, __u32 stop)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	__u64 len = end - data;

	KEEP(len);
	return len > stop ? bpf_xdp_adjust_tail(ctx, (int)stop - (int)len) : 0;
}

static __always_inline void write_ethernet(__u8 *frame, struct bpf_fib_lookup *fib, __u16 type)
{
	__builtin_memcpy(frame, fib->dmac, ETH_ALEN);
	__builtin_memcpy(frame + ETH_ALEN, fib->smac, ETH_ALEN);
	*(__be16 *)(frame + 2 * ETH_ALEN) = bpf_htons(type);
}

/* What stood in front of the packet goes, and it leaves by the route. */
static __always_inline int decapsulated(struct xdp_md *ctx, __u32 at, __u32 len, int is_v6, struct bpf_fib_lookup *fib)
{
	void *data, *end;

	if (cut(ctx, at + len) || bpf_xdp_adjust_head(ctx, (int)at - ETH_HLEN))
		return XDP_DROP;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (data + ETH_HLEN + 20 > end)
		return XDP_DROP;
	write_ethernet(data, fib, is_v6 ? ETH_P_IPV6 : ETH_P_IP);
	one_hop_less(data + ETH_HLEN, is_v6);
	return bpf_redirect(fib->ifindex, 0);
}

SEC("xdp")
int uplink(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct bpf_fib_lookup fib = {};
	struct inner inner = {};
	struct network *network;
	struct tunnel *tunnel;
	struct outer outer;
	struct way_up *up;
	void *ip;
	int found = parse_outer(data, end, &outer);

	if (found == TO_KERNEL)
		return XDP_PASS;
	if (found != FOUND)
		return left(found);
	tunnel = tunnel_at(outer.name);
	if (!tunnel || !(tunnel->up.flags & WAY_ACTIVE) || tunnel->up.name != outer.name)
		return left(FORWARD_LEFT_CONTEXT);
	up = &tunnel->up;
	if (up->source && up->source != outer.source)
		return left(FORWARD_LEFT_SENDER);
	if (up->flags & WAY_TO_RING)
		return to_ring(ctx);
	ip = data + outer.at;
	KEEP(ip);
	if (ip + 1 > end)
		return left(FORWARD_LEFT_SHAPE);
	if (*(__u8 *)ip >> 4 == 4)
		found = read_v4(ip, end, up->flags, &inner);
	else
		found = read_v6(ip, end, up->flags, &inner);
	if (found == FOUND && inner.len != outer.len)
		found = FORWARD_LEFT_SHAPE;
	if (found != FOUND)
		return left(found);
	found = judge_addresses(up, &inner);
	if (found == FORWARD_FOREIGN_SOURCE) {
		__sync_fetch_and_add(&tunnel->down.foreign, 1);
		count(FORWARD_FOREIGN_SOURCE);
		return XDP_DROP;
	}
	if (found != FOUND)
		return left(found);
	network = network_at(up->network);
	if (!network || find_route(ctx, network, &inner, &fib) != FOUND)
		return left(FORWARD_LEFT_ROUTE);
	if (is_over_rate(&up->tat_ns, up->octet_cost, up->burst_ns, inner.len)) {
		__sync_fetch_and_add(&up->over_rate, 1);
		count(FORWARD_OVER_RATE);
		return XDP_DROP;
	}
	__sync_fetch_and_add(&up->packets, 1);
	__sync_fetch_and_add(&up->octets, inner.len);
	count_forwarded(FORWARD_UPLINK, inner.len);
	return decapsulated(ctx, outer.at, outer.len, inner.is_v6, &fib);
}

/* Would the kernel let a packet with this source in? What it may doubt it gets. */
static __always_inline int is_doubtful(struct inner *inner)
{
	if (inner->is_v6)
		return !inner->source_v6[0] || stays_on_link(inner->source_v6[0])
		       || is_of_pool(pools_v6, inner->source_v6[0])
		       || is_own_v6(inner->source_v6[0], inner->source_v6[1]);
	return is_odd_v4(inner->source) || is_of_pool(pools_v4, inner->source) || is_own_v4(inner->source);
}

/* The context to which a packet from this network goes; its packet is read then. */
static __always_inline int find_mobile(void *data, void *end, struct inner *inner,
				       struct tunnel **tunnel)
{
	void *ip = data + ETH_HLEN;
	__u64 *name, key;
	int found;

	if (ip + 20 > end || data + FRAME_MAX < end)
		return TO_KERNEL;
	if (*(__be16 *)(data + 12) == bpf_htons(ETH_P_IP)) {
		key = *(__be32 *)(ip + 16);
		name = bpf_map_lookup_elem(&mobiles_v4, &key);
	} else if (*(__be16 *)(data + 12) == bpf_htons(ETH_P_IPV6) && ip + 40 <= end) {
		key = *(__u64 *)(ip + 24);
		name = bpf_map_lookup_elem(&mobiles_v6, &key);
	} else {
		return TO_KERNEL;
	}
	if (!name)
		return TO_KERNEL;
	*tunnel = tunnel_at(*name);
	if (!*tunnel || !((*tunnel)->down.flags & WAY_ACTIVE) || (*tunnel)->down.name != *name)
		return FORWARD_LEFT_CONTEXT;
	if (*(__be16 *)(data + 12) == bpf_htons(ETH_P_IP))
		found = read_v4(ip, end, (*tunnel)->down.flags, inner);
	else
		found = read_v6(ip, end, (*tunnel)->down.flags, inner);
	if (found == FOUND && ip + inner->len > end)
		found = FORWARD_LEFT_SHAPE;
	return found;
}

/* The kernel's route to the SGSN through Gn. */
static __always_inline int find_peer(struct xdp_md *ctx, struct way_down *down, __u32 len, struct bpf_fib_lookup *fib)
{
	struct network *gn = network_at(0);

	if (!gn || !gn->device)
		return FORWARD_LEFT_ROUTE;
	fib->family = AF_INET;
	fib->l4_protocol = IPPROTO_UDP;
	fib->sport = bpf_htons(GTP_U_PORT);
	fib->dport = bpf_htons(GTP_U_PORT);
	fib->tot_len = len;
	fib->tos = down->tos;
	fib->ipv4_src = own_user;
	fib->ipv4_dst = down->peer;
	fib->ifindex = gn->device;
	if (bpf_fib_lookup(ctx, fib, sizeof(*fib), BPF_FIB_LOOKUP_OUTPUT) != BPF_FIB_LKUP_RET_SUCCESS)
		return FORWARD_LEFT_ROUTE;
	return fib->ifindex == gn->device ? FOUND : FORWARD_LEFT_ROUTE;
}

/* Outer headers of a packet of `len` octets, in the `headers` octets behind the Ethernet header. */
static __always_inline void write_outer(__u8 *p, struct way_down *down, __u32 len, __u32 headers)
{
	__u32 udp = headers - 20 + len;

	p[0] = 0x45;
	p[1] = down->tos;
	*(__be16 *)(p + 2) = bpf_htons(20 + udp);
	*(__be16 *)(p + 4) = 0;
	*(__be16 *)(p + 6) = bpf_htons(IP_DF);
	p[8] = OUTER_TTL;
	p[9] = IPPROTO_UDP;
	*(__be16 *)(p + 10) = 0;
	*(__be32 *)(p + 12) = own_user;
	*(__be32 *)(p + 16) = down->peer;
	*(__be16 *)(p + 10) = ~fold(halves(p) + halves(p + 8) + *(__u32 *)(p + 16));
	*(__be16 *)(p + 20) = bpf_htons(GTP_U_PORT);
	*(__be16 *)(p + 22) = bpf_htons(GTP_U_PORT);
	*(__be16 *)(p + 24) = bpf_htons(udp);
	*(__be16 *)(p + 26) = 0;
	p[28] = V1;
	p[29] = G_PDU;
	*(__be16 *)(p + 30) = bpf_htons(udp - 8 - V1_LEN);
	*(__be32 *)(p + 32) = down->peer_teid;
}

/* A packet in which there is room in front for the outer headers. */
static __always_inline int encapsulated(struct xdp_md *ctx, struct way_down *down, struct inner *inner, __u32 headers,
					struct bpf_fib_lookup *fib)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	__u8 *p = data + ETH_HLEN;

	if (data + ETH_HLEN + OUTER_LEN + V1_LEN + 20 > end)
		return XDP_DROP;
	write_ethernet(data, fib, ETH_P_IP);
	write_outer(p, down, inner->len, headers);
	if (headers == OUTER_LEN + V1_LEN_LONG) {
		if (data + ETH_HLEN + OUTER_LEN + V1_LEN_LONG + 20 > end)
			return XDP_DROP;
		p[28] |= V1_SEQUENCE;
		*(__be16 *)(p + 36) = bpf_htons(__sync_fetch_and_add(&down->sequence, 1));
		*(__be16 *)(p + 38) = 0;
		one_hop_less(p + OUTER_LEN + V1_LEN_LONG, inner->is_v6);
	} else {
		one_hop_less(p + OUTER_LEN + V1_LEN, inner->is_v6);
	}
	return bpf_redirect(fib->ifindex, 0);
}

SEC("xdp")
int downlink(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct bpf_fib_lookup fib = {};
	struct inner inner = {};
	struct network *network;
	struct tunnel *tunnel = NULL;
	struct way_down *down;
	__u32 headers;
	int found = find_mobile(data, end, &inner, &tunnel);

	if (found == TO_KERNEL)
		return XDP_PASS;
	if (found != FOUND || !tunnel)
		return left(found);
	down = &tunnel->down;
	network = network_at(down->network);
	if (!network || network->device != ctx->ingress_ifindex)
		return left(FORWARD_LEFT_ADDRESS);
	if (!(network->forwards & (inner.is_v6 ? FORWARDS_V6 : FORWARDS_V4)) || is_doubtful(&inner))
		return left(FORWARD_LEFT_ADDRESS);
	if (down->flags & WAY_TO_RING)
		return to_ring(ctx);
	headers = OUTER_LEN + (down->flags & WAY_SEQUENCED ? V1_LEN_LONG : V1_LEN);
	if (inner.len > network->mtu || find_peer(ctx, down, headers + inner.len, &fib) != FOUND)
		return left(FORWARD_LEFT_ROUTE);
	if (is_over_rate(&down->tat_ns, down->octet_cost, down->burst_ns, inner.len)) {
		__sync_fetch_and_add(&down->over_rate, 1);
		count(FORWARD_OVER_RATE);
		return XDP_DROP;
	}
	/* A driver without so much room in front leaves the packet as it is. */
	if (cut(ctx, ETH_HLEN + inner.len) || bpf_xdp_adjust_head(ctx, -(int)headers))
		return left(FORWARD_LEFT_SHAPE);
	__sync_fetch_and_add(&down->packets, 1);
	__sync_fetch_and_add(&down->octets, inner.len);
	count_forwarded(FORWARD_DOWNLINK, inner.len);
	return encapsulated(ctx, down, &inner, headers, &fib);
}

char _license[] SEC("license") = "Dual MIT/GPL";
