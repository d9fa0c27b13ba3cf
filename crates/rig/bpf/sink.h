// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The sink: what the SGSN sent is taken apart at the driver of the other end, checked octet by octet, counted and dropped.
// All that is not user data goes to the control plane's sockets.

#ifndef GANNET_SINK_H
#define GANNET_SINK_H

#include "answer.h"

#define ELEMENTS 12 // of a DL-UNITDATA PDU, at most
#define WORDS (N_PDU_MAX / 8)

// Where user data came from, and which part of an N-PDU it is.
struct arrival {
	__be32 endpoint;
	__be16 bvci;
	__be16 port;
	__u32 len; // octets of the N-PDU in this frame
	__u16 number; // SNDCP's
	_Bool more;
	_Bool ciphered; // its number was counted already
	_Bool part; // the mark alone was deciphered
	struct i_frame i;
};

static __always_inline __u32 bucket_of(__u64 ns)
{
	__u32 octave = 0;
	__u64 rest = ns >> BUCKET_BITS;

	if (ns >= 1ULL << 36)
		return BUCKETS - 1;
	if (rest >> 16) { rest >>= 16; octave += 16; }
	if (rest >> 8) { rest >>= 8; octave += 8; }
	if (rest >> 4) { rest >>= 4; octave += 4; }
	if (rest >> 2) { rest >>= 2; octave += 2; }
	if (rest >> 1) { rest >>= 1; octave += 1; }
	if (rest)
		octave++;
	// Octave 0 has the values below 64, each further one 64 buckets for twice the span.
	if (!octave)
		return ns & 63;
	return (octave << BUCKET_BITS) + (ns >> (octave - 1) & 63);
}

// True where the octets from p on, which end before the end of the frame, are the pattern from `at` on. What remains
// behind the last whole word is compared with the octets before it as one more word.
static __always_inline _Bool is_pattern(const __u8 *p, __u32 len, const __u8 *end, struct tables *tables, __u32 at)
{
	const __u8 *last = p + ((len - 8) & (PATTERN_MAX - 1));
	__u32 words = len / 8;
	__u64 differs;

	if (len < 8) {
		for (__u32 i = 0; i < 7 && i < len; i++, p++) {
			hide(p);
			if (p + 1 > end || *p != tables->pattern[(at + i) & (PATTERN_MAX - 1)])
				return 0;
		}
		return 1;
	}
	if (last + 8 > end)
		return 0;
	differs = *(__u64 *)last ^ *(__u64 *)(tables->pattern + ((at + len - 8) & (PATTERN_MAX - 1)));
	// So that what is learnt of the length in the loop is forgotten behind it.
	hide(words);
	for (__u32 i = 0; i < WORDS && i < words; i++) {
		hide(p);
		if (p + 8 > end)
			return 0;
		differs |= *(__u64 *)p ^ *(__u64 *)(tables->pattern + (at & (PATTERN_MAX - 1)));
		p += 8;
		at += 8;
	}
	return !differs;
}

static __always_inline _Bool is_inner(const struct inner *n_pdu)
{
	const __be16 *words = (const __be16 *)n_pdu;
	__u64 sum = 0;

	for (int i = 0; i < 10; i++)
		sum += words[i];
	return n_pdu->version == 0x45 && fold(sum) == 0 && n_pdu->protocol == 17 && n_pdu->udp_sum == 0
	       && n_pdu->from_port == bpf_htons(9) && n_pdu->to_port == bpf_htons(9)
	       && bpf_ntohs(n_pdu->udp_len) == bpf_ntohs(n_pdu->len) - 20;
}

// Counts the sequence number of a good N-PDU. False where it came before.
static __always_inline _Bool is_new(struct seen *seen, struct group *group, __u32 sequence)
{
	__u32 behind = seen->next - 1 - sequence;
	__u32 ahead = sequence - seen->next;

	if (ahead < 1U << 31) {
		seen->window = ahead < 63 ? seen->window << (ahead + 1) | 1 : 1;
		seen->next = sequence + 1;
		return 1;
	}
	// What is older than the window cannot have been repeated by anything that works in order.
	if (behind < 64) {
		if (seen->window >> behind & 1) {
			seen->repeated++;
			group->repeated++;
			return 0;
		}
		seen->window |= 1ULL << behind;
	}
	seen->reordered++;
	group->reordered++;
	return 1;
}

// An N-PDU of so many octets has come, now.
static __always_inline void deliver(struct plan *plan, struct arrival *from, struct seen *seen, struct group *group,
				    __u32 octets, __u64 now)
{
	if (seen->bvci != from->bvci || seen->port != from->port)
		group->wrong_cell++;
	seen->delivered++;
	seen->octets += octets;
	group->delivered++;
	group->delivered_octets += octets;
	group->delivered_inside += is_inside(plan, now - plan->begin);
}

// The first segment of an N-PDU, or all of it, which begins at `at`. A function of its own to the verifier.
__noinline int take(struct xdp_md *ctx, struct arrival *from, __u32 at)
{
	__u32 zero = 0, key;
	struct plan *plan = bpf_map_lookup_elem(&plans, &zero);
	struct tables *tables = bpf_map_lookup_elem(&constants, &zero);
	__u8 *p = (__u8 *)(long)ctx->data + (at & 2047), *end = (__u8 *)(long)ctx->data_end;
	struct inner *n_pdu = (struct inner *)p;
	struct mark *mark;
	struct group *group;
	struct seen *seen;
	__u64 now, latency;

	if (!plan || !tables || !from)
		return XDP_PASS;
	if (from->len < N_PDU_MIN || p + N_PDU_MIN > end || n_pdu->mark.magic != MARK_MAGIC) {
		plan->unmarked++;
		return XDP_PASS;
	}
	mark = &n_pdu->mark;
	key = mark->flow;
	seen = bpf_map_lookup_elem(&seens, &key);
	key = mark->group & (GROUPS - 1);
	group = bpf_map_lookup_elem(&groups, &key);
	if (!seen || !group || key != mark->group) {
		plan->unmarked++;
		return XDP_DROP;
	}
	from->i.flow = mark->flow;
	if (mark->step != plan->step) {
		group->other_step++;
		// Its link goes on all the same.
		if (from->i.is_one && !from->i.is_damaged && from->endpoint == seen->endpoint
		    && mark->check == check_of(mark))
			follow(plan, seen, group, &from->i);
		return XDP_DROP;
	}
	// The mark says for whom it is; if the mark has suffered it says nothing.
	if (mark->check == check_of(mark) && from->endpoint != seen->endpoint && from->endpoint != seen->endpoint_before) {
		seen->wrong++;
		group->wrong_mobile++;
		return XDP_DROP;
	}
	if (mark->check != check_of(mark) || from->i.is_damaged || from->i.is_one != seen->acknowledged || !is_inner(n_pdu)
	    || (!from->part && !is_pattern(p + N_PDU_MIN, from->len - N_PDU_MIN, end, tables, N_PDU_MIN))
	    || (from->more ? bpf_ntohs(n_pdu->len) <= from->len : bpf_ntohs(n_pdu->len) != from->len)) {
		seen->corrupt++;
		group->corrupt++;
		return XDP_DROP;
	}
	if (from->i.is_one && !follow(plan, seen, group, &from->i))
		return XDP_DROP;
	if (!from->ciphered && !is_new(seen, group, mark->sequence))
		return XDP_DROP;
	group->whole += from->ciphered && !from->part;
	if (from->more) {
		seen->open_number = from->number;
		seen->open_octets = from->len;
		seen->open_size = bpf_ntohs(n_pdu->len);
		seen->open_segment = 1;
		group->segmented++;
	}
	now = bpf_ktime_get_ns();
	latency = now - mark->stamp;
	deliver(plan, from, seen, group, bpf_ntohs(n_pdu->len), now);
	group->latency_sum += latency;
	if (latency > group->latency_max)
		group->latency_max = latency;
	key = bucket_of(latency) & (BUCKETS - 1);
	group->latency[key]++;
	return XDP_DROP;
}

// A later segment of an N-PDU, which has no mark: it has to be what its flow waits for.
static __always_inline int take_segment(struct plan *plan, struct tables *tables, struct arrival *from, __u8 segment,
					__u8 *p, __u8 *end)
{
	__u64 tlli = from->endpoint, *number = bpf_map_lookup_elem(&by_tlli, &tlli);
	struct group *group;
	struct seen *seen;
	struct flow *flow;
	__u32 key;

	if (!number) {
		plan->unmarked++;
		return XDP_PASS;
	}
	key = *number;
	seen = bpf_map_lookup_elem(&seens, &key);
	flow = bpf_map_lookup_elem(&flows, &key);
	if (!seen || !flow)
		return XDP_DROP;
	key = flow->group & (GROUPS - 1);
	group = bpf_map_lookup_elem(&groups, &key);
	// Something is missing before it: the N-PDU stays incomplete.
	if (!group || seen->open_segment != segment || seen->open_number != from->number)
		return XDP_DROP;
	if (!is_pattern(p, from->len, end, tables, seen->open_octets)) {
		seen->open_segment = 0;
		seen->corrupt++;
		group->corrupt++;
		return XDP_DROP;
	}
	seen->open_octets += from->len;
	seen->open_segment++;
	if (!from->more && seen->open_octets == seen->open_size)
		group->completed++;
	return XDP_DROP;
}

#define MARK_OCTETS 64 // of an LL-PDU behind its header, up to the end of the mark: SNDCP, IPv4, UDP, mark
#define SN_UNITDATA 0x60 // first segment; of an N-PDU that is not segmented the last one as well

// An LL-PDU that came ciphered, of `len` octets from `at` on. Whose it is says its TLLI, and which one, N(U), in the clear;
// the mark is read in a part of them, and all of it in fewer.
static __always_inline int take_ciphered(struct xdp_md *ctx, struct plan *plan, struct arrival *from, __u32 at, __u32 len,
					 __u32 control)
{
	__u64 tlli = from->endpoint, *number = bpf_map_lookup_elem(&by_tlli, &tlli);
	__u32 nu = control >> 2 & 511, key, place, behind, count, turn, covered;
	struct group *group;
	struct seen *seen;
	struct flow *flow;
	__u8 *p, *end;
	_Bool whole;

	if (!number) {
		plan->unmarked++;
		return XDP_PASS;
	}
	place = *number;
	seen = bpf_map_lookup_elem(&seens, &place);
	flow = bpf_map_lookup_elem(&flows, &place);
	if (!seen || !flow || !(flow->flags & FLOW_CIPHERED)) {
		plan->unmarked++;
		return XDP_PASS;
	}
	key = flow->group & (GROUPS - 1);
	group = bpf_map_lookup_elem(&groups, &key);
	if (!group)
		return XDP_DROP;
	// OC + N(U) (04.64 clause 8.4.2): up to 32 behind the one expected it comes late.
	behind = (seen->next - 1 - nu) & 511;
	count = behind < 32 ? seen->next - 1 - behind : seen->next + (511 - behind);
	if (!is_new(seen, group, count))
		return XDP_DROP;
	from->len = len - 10;
	// Not the same numbers of all flows.
	turn = count + place * 37;
	whole = !(turn & plan->whole_mask);
	if (!whole && !(flow->flags & FLOW_EACH) && (turn & plan->read_mask)) {
		group->unread++;
		deliver(plan, from, seen, group, from->len, bpf_ktime_get_ns());
		return XDP_DROP;
	}
	decipher(ctx, at + UI_HEADER, whole ? len - UI_HEADER : MARK_OCTETS, place, count);
	covered = len - FCS_LEN;
	if (!(control & 1) && covered > UI_HEADER + N202)
		covered = UI_HEADER + N202;
	p = (__u8 *)(long)ctx->data + (at & 1023);
	end = (__u8 *)(long)ctx->data_end;
	if (p + 7 + N_PDU_MIN > end || (p[3] & 0xf0) != SN_UNITDATA || p[4]
	    || ((struct inner *)(p + 7))->mark.magic != MARK_MAGIC
	    || (whole && !fcs_is_right(ctx, at, len, covered))) {
		seen->corrupt++;
		group->corrupt++;
		return XDP_DROP;
	}
	from->ciphered = 1;
	from->part = !whole;
	return take(ctx, from, at + 7);
}

static __always_inline int pass(struct plan *plan)
{
	plan->passed++;
	return XDP_PASS;
}

// True for an IPv4 packet without options, whole, that carries UDP.
static __always_inline _Bool is_udp(const __u8 *data)
{
	return *(__be16 *)(data + 12) == bpf_htons(0x0800) && data[14] == 0x45 && data[23] == 17
	       && !(*(__be16 *)(data + 20) & bpf_htons(0x3fff));
}

#define ECHO_ROOM 8 // octets of the mark in an echo

// An ICMP echo of ours comes back with a whole UDP packet in it, which is let out: so a socket of ours learns which NAPI
// instance serves this interface, whatever the SGSN is, and can poll it.
static __always_inline int echo(struct xdp_md *ctx)
{
	__u8 *data = (__u8 *)(long)ctx->data, *end = (__u8 *)(long)ctx->data_end;
	__u8 lower[12];

	if (data + 42 + ECHO_ROOM > end || data[34] != 0 || *(__u32 *)(data + 42) != MARK_MAGIC)
		return XDP_PASS;
	__builtin_memcpy(lower, data, 12);
	if (bpf_xdp_adjust_head(ctx, 28 + ECHO_ROOM))
		return XDP_PASS;
	data = (__u8 *)(long)ctx->data;
	end = (__u8 *)(long)ctx->data_end;
	if (data + 14 > end)
		return XDP_DROP;
	__builtin_memcpy(data, lower, 12);
	*(__be16 *)(data + 12) = bpf_htons(0x0800);
	return XDP_PASS;
}

static __always_inline _Bool is_icmp(const __u8 *data)
{
	return *(__be16 *)(data + 12) == bpf_htons(0x0800) && data[14] == 0x45 && data[23] == 1;
}

// An LL-PDU of `len` octets from `at` on, on a SAPI of user data, that is no UI frame.
static __always_inline int take_of_link(struct xdp_md *ctx, struct plan *plan, struct arrival *from, __u32 at, __u32 len)
{
	__u8 *p = (__u8 *)(long)ctx->data + (at & 1023), *end = (__u8 *)(long)ctx->data_end;
	__u32 control;
	int verdict;

	if (p + 2 > end)
		return pass(plan);
	from->i.sapi = p[0] & 0xf;
	if ((p[1] & 0xef) == (0xe0 | SABM))
		begin_again(from->endpoint);
	if ((p[1] & 0xe0) == (S | ACKNOWLEDGE))
		return answer_s(ctx, &from->i, from->endpoint);
	if (p[1] & 0x80)
		return pass(plan);
	if (len < I_HEADERS + FCS_LEN || p + I_HEADERS > end)
		return pass(plan);
	control = p[1] << 16 | p[2] << 8 | p[3];
	if ((control & 3) == SACK || (p[4] & 0xf0) != SN_DATA || p[5])
		return pass(plan);
	from->i.is_one = 1;
	from->i.asks = control >> 22 & 1;
	from->i.ns = control >> 12 & 511;
	from->len = len - I_HEADERS - FCS_LEN;
	from->i.is_damaged = !(from->i.ns & plan->whole_mask) && !fcs_is_right(ctx, at, len, len - FCS_LEN);
	verdict = take(ctx, from, at + I_HEADERS);
	return from->i.is_answered ? answer(ctx, &from->i, from->endpoint) : verdict;
}

// Gb: NS-UNITDATA, DL-UNITDATA, LLC UI frame with SN-UNITDATA, or I frame with SN-DATA.
static __always_inline int sink_gb(struct xdp_md *ctx)
{
	__u8 *data = (__u8 *)(long)ctx->data, *end = (__u8 *)(long)ctx->data_end, *p;
	struct plan *plan;
	struct tables *tables;
	struct arrival from = {};
	__u32 zero = 0, at = LOWER + 12, len = 0, sapi;
	__u8 flags, segment;

	plan = bpf_map_lookup_elem(&plans, &zero);
	tables = bpf_map_lookup_elem(&constants, &zero);
	if (!plan || !tables)
		return XDP_PASS;
	if (data + LOWER + 12 > end)
		return pass(plan);
	if (is_icmp(data))
		return echo(ctx);
	if (!is_udp(data))
		return pass(plan);
	p = data + LOWER;
	if ((__u16)(bpf_ntohs(*(__be16 *)(data + 36)) - plan->port_first) >= plan->ports || p[0] != 0 || p[4] != 0)
		return pass(plan);
	from.port = *(__be16 *)(data + 36);
	from.bvci = *(__be16 *)(p + 2);
	from.endpoint = *(__be32 *)(p + 5);
	for (int i = 0; i < ELEMENTS; i++) {
		__u8 iei;

		hide(at);
		p = data + (at & 1023);
		if (p + 3 > end)
			return pass(plan);
		iei = p[0];
		if (p[1] & 0x80) {
			len = p[1] & 0x7f;
			at += 2;
		} else {
			len = p[1] << 8 | p[2];
			at += 3;
		}
		if (iei == 0x0e)
			break;
		at += len;
		len = 0;
	}
	// The same to the verifier whichever way it came here.
	hide(at);
	hide(len);
	if (len < 5 || len > 1600 || at > 1023)
		return pass(plan);
	p = data + at;
	if (p + len > end || p + 2 > end)
		return pass(plan);
	sapi = p[0] & 0xf;
	if (p[0] & 0x80 || !(sapi == 3 || sapi == 5 || sapi == 9 || sapi == 11))
		return pass(plan);
	if (p[1] >> 5 != 6)
		return take_of_link(ctx, plan, &from, at, len);
	if (len < 13 || p + 7 > end)
		return pass(plan);
	if (p[2] & 2)
		return take_ciphered(ctx, plan, &from, at, len, p[1] << 8 | p[2]);
	p += 3;
	flags = p[0];
	from.more = flags >> 4 & 1;
	if (!(flags & 0x20))
		return pass(plan);
	if (flags & 0x40) {
		if (p[1])
			return pass(plan);
		from.number = (p[2] & 0xf) << 8 | p[3];
		from.len = len - 10;
		return take(ctx, &from, at + 7);
	}
	segment = p[1] >> 4;
	from.number = (p[1] & 0xf) << 8 | p[2];
	from.len = len - 9;
	return take_segment(plan, tables, &from, segment, p + 3, end);
}

// Gn: G-PDUs.
static __always_inline int sink_gn(struct xdp_md *ctx)
{
	__u8 *data = (__u8 *)(long)ctx->data, *end = (__u8 *)(long)ctx->data_end, *p;
	struct arrival from = {};
	struct plan *plan;
	struct tables *tables;
	__u32 zero = 0;

	plan = bpf_map_lookup_elem(&plans, &zero);
	tables = bpf_map_lookup_elem(&constants, &zero);
	if (!plan || !tables)
		return XDP_PASS;
	if (data + DOWN_HEADER + 4 > end)
		return pass(plan);
	if (is_icmp(data))
		return echo(ctx);
	if (!is_udp(data))
		return pass(plan);
	p = data + LOWER;
	if (*(__be16 *)(data + 36) != bpf_htons(plan->gtp_port) || (p[0] & 0xf8) != 0x30 || p[0] & 4 || p[1] != 255)
		return pass(plan);
	from.endpoint = *(__be32 *)(p + 4);
	from.len = bpf_ntohs(*(__be16 *)(p + 2));
	if (p[0] & 3) {
		from.len -= 4;
		p += 4;
	}
	if (from.len > N_PDU_MAX || p + 8 + from.len > end)
		return pass(plan);
	return take(ctx, &from, p + 8 - data);
}

#endif
