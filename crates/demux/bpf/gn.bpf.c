// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Downlink on Gn: whose G-PDU it is, and what becomes of it, before the kernel spends anything on it.
//
// The model in src/model says the same in Rust; a test gives both the same frames and compares verdicts, metadata and
// counters.

#include "parse.h"
#include "gtp.h"
#include "redirect.h"
#include "exchange.h"

// The chain of extension headers from `at`; `next` is the type of the first. Moves `at` behind it.
static __always_inline int parse_extensions(void *data, void *end, __u32 *at, __u32 stop, __u8 next)
{
	__u32 offset = *at;

#pragma clang loop unroll(disable)
	for (int i = 0; i < EXTENSIONS_MAX; i++) {
		void *p = data + offset;
		__u32 len;

		if (!next)
			break;
		if (next & EXTENSION_COMPREHEND && next != EXTENSION_PDCP_PDU_NUMBER)
			return OURS_TO_KERNEL;
		if (offset >= stop || p + 1 > end)
			return COUNT_MALFORMED;
		len = *(__u8 *)p * 4;
		if (!len || offset + len > stop)
			return COUNT_MALFORMED;
		offset += len;
		/* Not so, since `stop` lies in the frame: for the verifier. */
		if (offset - 1 > FRAME_MAX)
			return COUNT_MALFORMED;
		p = data + (offset - 1);
		KEEP(p);
		if (p + 1 > end)
			return COUNT_MALFORMED;
		next = *(__u8 *)p;
	}
	if (next)
		return OURS_TO_KERNEL;
	*at = offset;
	return FOUND;
}

static __always_inline int parse_v1(void *data, void *end, __u32 at, __u32 len, struct g_pdu *pdu)
{
	void *gtp = data + at;
	__u32 stop;
	__u8 flags;

	if (!len || gtp + 1 > end)
		return COUNT_MALFORMED;
	flags = *(__u8 *)gtp;
	if ((flags & V1_VERSION_MASK) != V1_VERSION)
		return OURS_TO_KERNEL;
	if (len < V1_LEN || gtp + V1_LEN > end)
		return COUNT_MALFORMED;
	if (*(__u8 *)(gtp + 1) != G_PDU)
		return OURS_TO_KERNEL;
	stop = bpf_ntohs(*(__be16 *)(gtp + 2));
	if (stop > len - V1_LEN)
		return COUNT_MALFORMED;
	pdu->name = name_of_teid(bpf_ntohl(*(__be32 *)(gtp + 4)));
	stop += at + V1_LEN;
	at += V1_LEN;
	if (flags & V1_OPTIONS) {
		at += V1_LEN_LONG - V1_LEN;
		if (at > stop || gtp + V1_LEN_LONG > end)
			return COUNT_MALFORMED;
		if (flags & V1_E) {
			int found = parse_extensions(data, end, &at, stop, *(__u8 *)(gtp + 11));

			if (found != FOUND)
				return found;
		}
	}
	pdu->at = at;
	pdu->len = stop - at;
	pdu->message_at = gtp - data;
	pdu->message_len = len;
	pdu->is_v0 = 0;
	return FOUND;
}

static __always_inline int parse_v0(void *data, void *end, __u32 at, __u32 len, struct g_pdu *pdu)
{
	void *gtp = data + at;

	if (!len || gtp + 1 > end)
		return COUNT_MALFORMED;
	if ((*(__u8 *)gtp & V0_VERSION_MASK) != V0_VERSION)
		return OURS_TO_KERNEL;
	if (len < V0_LEN || gtp + V0_LEN > end)
		return COUNT_MALFORMED;
	if (*(__u8 *)(gtp + 1) != G_PDU)
		return OURS_TO_KERNEL;
	pdu->len = bpf_ntohs(*(__be16 *)(gtp + 2));
	if (pdu->len > len - V0_LEN)
		return COUNT_MALFORMED;
	__builtin_memcpy(&pdu->tid, gtp + V0_TID, 8);
	pdu->at = at + V0_LEN;
	pdu->is_v0 = 1;
	return FOUND;
}

static __always_inline int parse(struct xdp_md *ctx, void *data, void *end, struct g_pdu *pdu)
{
	struct datagram udp;
	int found = parse_udp(data, end, &udp);
	int is_v0;

	if (found != FOUND)
		return found;
	is_v0 = udp.port == bpf_htons(GTP_V0_PORT);
	if (!is_v0 && udp.port != bpf_htons(GTP_V1_PORT))
		return TO_KERNEL;
	found = check_udp(ctx, data, end, &udp);
	if (found != FOUND)
		return found;
	pdu->source = udp.source;
	if (is_v0)
		return parse_v0(data, end, udp.at + 8, udp.len - 8, pdu);
	return parse_v1(data, end, udp.at + 8, udp.len - 8, pdu);
}

static __always_inline int forward(struct xdp_md *ctx, struct context *flow, __u32 class, struct part pdu)
{
	struct exchange *exchange = exchange_of(ctx);

	if (exchange) {
		__u32 ring = ring_of(class, flow->precedence) & (RINGS - 1);
		struct metadata what;

		describe(&what, flow, class, 0, pdu, (struct part){});
		if (hand_over(ctx, exchange, ring, &what))
			return carry(ctx);
	}
	return redirect(ctx, flow, class, pdu, (struct part){});
}

/*
 * Leaves it to user space to decide: the name is that of the TEID, and instead of an LL-PDU the message. Parts are place << 16 | length.
 * Where class, precedence, queue and ring would stand, the source stands. Apart from the rest, which is for everybody.
 */
static __noinline int leave(struct xdp_md *ctx, __u32 name, __u32 pdu, __u32 message, __be32 source)
{
	struct exchange *exchange = exchange_of(ctx);
	struct metadata what = {
		.name = name,
		.pdu_offset = pdu >> 16,
		.pdu_len = pdu,
		.llc_offset = message >> 16,
		.llc_len = message,
	};

	__builtin_memcpy(&what.class, &source, sizeof(source));
	return exchange && hand_over(ctx, exchange, QUEUE_LEFT, &what);
}

SEC("xdp")
int gn(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct g_pdu pdu;
	struct context *flow;
	__u32 what;
	int found = parse(ctx, data, end, &pdu);

	if (found == TO_KERNEL)
		return XDP_PASS;
	if (found == OURS_TO_KERNEL) {
		count(COUNT_TO_KERNEL);
		return XDP_PASS;
	}
	if (found != FOUND) {
		count(found);
		return carry(ctx);
	}
	if (leaves() && !pdu.is_v0
	    && leave(ctx, pdu.name, pdu.at << 16 | pdu.len, pdu.message_at << 16 | pdu.message_len, pdu.source))
		return carry(ctx);
	found = find_flow(&pdu, &flow);
	if (!flow || found != FOUND) {
		if (is_sample()) {
			count(COUNT_SAMPLED);
			return XDP_PASS;
		}
		count(found);
		return carry(ctx);
	}
	if (is_from_elsewhere(flow, pdu.source)) {
		count(COUNT_TO_KERNEL);
		return XDP_PASS;
	}
	what = decide(flow, pdu.len, 1);
	count(what);
	if (what < DROPS)
		return carry(ctx);
	return forward(ctx, flow, what - COUNT_REDIRECTED, (struct part){ pdu.at, pdu.len });
}

char _license[] SEC("license") = "Dual MIT/GPL";
