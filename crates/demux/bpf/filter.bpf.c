// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Downlink on Gn without XDP: the same decisions at the kernel's UDP sockets. `steer` chooses the socket of the packet's
// ring; `filter`, on each socket, drops what would be dropped later. Not in `steer`: what that drops is answered with
// a port unreachable.
//
// Both see a datagram from its UDP header on, and the kernel has verified it.

#include "gtp.h"
#include <bpf/bpf_endian.h>

#define UDP_LEN 8

// One UDP socket for each ring at the port of GTPv1, then as many at that of GTPv0.
struct {
	__uint(type, BPF_MAP_TYPE_REUSEPORT_SOCKARRAY);
	__uint(max_entries, 2 * RINGS);
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

static __always_inline int skip_extensions(struct __sk_buff *skb, __u32 *at, __u32 stop, __u8 next)
{
	__u32 offset = *at;

#pragma clang loop unroll(disable)
	for (int i = 0; i < EXTENSIONS_MAX; i++) {
		__u8 len;

		if (!next)
			break;
		if (next & EXTENSION_COMPREHEND && next != EXTENSION_PDCP_PDU_NUMBER)
			return OURS_TO_KERNEL;
		if (offset >= stop || bpf_skb_load_bytes(skb, offset, &len, 1) || !len || offset + len * 4 > stop)
			return COUNT_MALFORMED;
		offset += len * 4;
		if (bpf_skb_load_bytes(skb, offset - 1, &next, 1))
			return COUNT_MALFORMED;
	}
	if (next)
		return OURS_TO_KERNEL;
	*at = offset;
	return FOUND;
}

// What stands behind eight octets of a GTPv1 header, up to the T-PDU.
static __always_inline int parse_v1(struct __sk_buff *skb, const __u8 *gtp, struct g_pdu *pdu)
{
	__u32 at = UDP_LEN + V1_LEN;
	__u32 stop = at + bpf_ntohs(*(__be16 *)(gtp + 2));
	__u8 numbers[4];

	if (stop > skb->len)
		return COUNT_MALFORMED;
	pdu->name = name_of_teid(bpf_ntohl(*(__be32 *)(gtp + 4)));
	if (gtp[0] & V1_OPTIONS) {
		if (at + 4 > stop || bpf_skb_load_bytes(skb, at, numbers, 4))
			return COUNT_MALFORMED;
		at += 4;
		if (gtp[0] & V1_E) {
			int found = skip_extensions(skb, &at, stop, numbers[3]);

			if (found != FOUND)
				return found;
		}
	}
	pdu->len = stop - at;
	pdu->is_v0 = 0;
	return FOUND;
}

static __always_inline int parse_v0(struct __sk_buff *skb, const __u8 *gtp, struct g_pdu *pdu)
{
	pdu->len = bpf_ntohs(*(__be16 *)(gtp + 2));
	if (bpf_skb_load_bytes(skb, UDP_LEN + V0_TID, &pdu->tid, 8))
		return COUNT_MALFORMED;
	if (UDP_LEN + V0_LEN + pdu->len > skb->len)
		return COUNT_MALFORMED;
	pdu->is_v0 = 1;
	return FOUND;
}

static __always_inline int parse(struct __sk_buff *skb, struct g_pdu *pdu)
{
	__u8 gtp[8];
	__be16 port;
	int is_v0;

	if (bpf_skb_load_bytes(skb, 2, &port, 2) || bpf_skb_load_bytes(skb, UDP_LEN, gtp, 1))
		return COUNT_MALFORMED;
	is_v0 = port == bpf_htons(GTP_V0_PORT);
	if ((gtp[0] & (is_v0 ? V0_VERSION_MASK : V1_VERSION_MASK)) != (is_v0 ? V0_VERSION : V1_VERSION))
		return OURS_TO_KERNEL;
	if (bpf_skb_load_bytes(skb, UDP_LEN, gtp, 8) || (is_v0 && skb->len < UDP_LEN + V0_LEN))
		return COUNT_MALFORMED;
	if (gtp[1] != G_PDU)
		return OURS_TO_KERNEL;
	return is_v0 ? parse_v0(skb, gtp, pdu) : parse_v1(skb, gtp, pdu);
}

// 0 drops the datagram; else so many of its octets are kept.
SEC("socket")
int filter(struct __sk_buff *skb)
{
	struct context *flow;
	struct g_pdu pdu;
	__u32 what;
	int found = parse(skb, &pdu);

	if (found == OURS_TO_KERNEL) {
		count(COUNT_TO_KERNEL);
		return -1;
	}
	if (found != FOUND) {
		count(found);
		return 0;
	}
	found = find_flow(&pdu, &flow);
	if (!flow || found != FOUND) {
		if (is_sample()) {
			count(COUNT_SAMPLED);
			return -1;
		}
		count(found);
		return 0;
	}
	what = decide(flow, pdu.len, 1);
	count(what);
	return what < DROPS ? 0 : -1;
}

// The ring of a datagram; what is no user data goes where signalling goes.
static __always_inline __u32 ring_of_datagram(struct sk_reuseport_md *md)
{
	struct context *flow;
	__u8 gtp[8];
	__be16 port;
	__u64 tid;
	__u32 name;

	if (bpf_skb_load_bytes(md, 2, &port, 2) || bpf_skb_load_bytes(md, UDP_LEN, gtp, 8) || gtp[1] != G_PDU)
		return RING_SIGNALLING;
	name = name_of_teid(bpf_ntohl(*(__be32 *)(gtp + 4)));
	if (port == bpf_htons(GTP_V0_PORT)) {
		__u64 *found;

		if (bpf_skb_load_bytes(md, UDP_LEN + V0_TID, &tid, 8))
			return RING_SIGNALLING;
		found = bpf_map_lookup_elem(&tids, &tid);
		if (!found)
			return RING_BEST_EFFORT;
		name = *found;
	}
	flow = entry_at(name);
	if (!flow || !flow->keys || flow->teid != name)
		return RING_BEST_EFFORT;
	return ring_of(flow->class, flow->precedence);
}

SEC("sk_reuseport")
int steer(struct sk_reuseport_md *md)
{
	__be16 port;
	__u32 first = !bpf_skb_load_bytes(md, 2, &port, 2) && port == bpf_htons(GTP_V0_PORT) ? RINGS : 0;
	__u32 socket = first + ring_of_datagram(md);

	if (bpf_sk_select_reuseport(md, &sockets, &socket, 0)) {
		socket = first + RING_BEST_EFFORT;
		bpf_sk_select_reuseport(md, &sockets, &socket, 0);
	}
	return SK_PASS;
}

char _license[] SEC("license") = "Dual MIT/GPL";
