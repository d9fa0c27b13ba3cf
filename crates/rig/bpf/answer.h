// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The mobiles' side of LLC's acknowledged mode (04.64 clause 8.6 [44.064]), as far as whoever only receives needs it: V(R) of
// each flow, and RR for who asks. An I frame that is not the next one is not delivered, be it one that came before or one behind
// a gap: the SGSN sends again what is missing. No frame is kept, so that there is no SACK bitmap to be told.
//
// The acknowledgement is made of the very frame that it answers, and goes back through the device by which that came. A mobile
// behind a radio path answers later; for that it may wait until some more of the same flow have come. Where none comes any more
// the SGSN's T201 asks once more, and what has come before is answered at once.

#ifndef GANNET_ANSWER_H
#define GANNET_ANSWER_H

#include "cipher.h"
#include "generator.h"

#define SN_DATA 0x40 // first segment; of an N-PDU that is not segmented the last one as well
#define I_HEADER 4 // address and control field without SACK bitmap
#define I_HEADERS (I_HEADER + 3) // and SNDCP's
#define S_FRAME 6 // address, control field, FCS
#define ANSWER (LOWER + 24 + S_FRAME)
#define SACK 3 // of the supervisory functions
#define SABM 7 // of the unnumbered ones
#define S 0x80 // of the first octet of a control field: supervision
#define ACKNOWLEDGE 0x20 // and A

// What an I frame says, and what becomes of it.
struct i_frame {
	__u16 ns; // N(S)
	__u16 nr; // V(R), once it has been looked at
	__u8 sapi;
	_Bool is_one;
	_Bool asks; // A
	_Bool is_damaged; // its FCS was looked at
	_Bool is_answered; // now
	__u32 flow;
};

// An intact I frame of a flow has come. True where it is the one that is expected.
static __always_inline _Bool follow(struct plan *plan, struct seen *seen, struct group *group, struct i_frame *i)
{
	_Bool is_next = i->ns == seen->received;

	if (is_next)
		seen->received = (seen->received + 1) & 511;
	else
		group->unexpected++;
	i->nr = seen->received;
	if (is_next && seen->owed)
		i->is_answered = !--seen->owed;
	if (i->asks && (!is_next || !plan->answer_after)) {
		i->is_answered = 1;
		seen->owed = 0;
	} else if (i->asks && !seen->owed && !i->is_answered) {
		seen->owed = plan->answer_after;
	}
	return is_next;
}

// The frame becomes an UL-UNITDATA with RR. A function of its own to the verifier.
__noinline int answer(struct xdp_md *ctx, struct i_frame *i, __be32 tlli)
{
	__u32 zero = 0, key, crc = 0xffffff;
	struct plan *plan = bpf_map_lookup_elem(&plans, &zero);
	struct tables *tables = bpf_map_lookup_elem(&constants, &zero);
	struct group *group;
	struct flow *flow;
	struct cell *cell;
	__u8 *data, *llc;

	if (!plan || !tables || !i)
		return XDP_DROP;
	key = i->flow;
	flow = bpf_map_lookup_elem(&flows, &key);
	if (!flow)
		return XDP_DROP;
	cell = bpf_map_lookup_elem(&cells, &flow->cell);
	key = flow->group & (GROUPS - 1);
	group = bpf_map_lookup_elem(&groups, &key);
	if (!cell || !group || bpf_xdp_adjust_tail(ctx, ANSWER - (int)(ctx->data_end - ctx->data)))
		return XDP_DROP;
	data = (__u8 *)(long)ctx->data;
	if (data + ANSWER > (__u8 *)(long)ctx->data_end)
		return XDP_DROP;
	write_lower(data, plan->up, plan->up_sum, ANSWER - LOWER);
	*(__be16 *)(data + 34) = cell->port;
	llc = write_unitdata(data + LOWER, cell, tlli, S_FRAME, 0);
	llc[0] = i->sapi; // a mobile's response has C/R 1, as its command has 0
	llc[0] |= 0x40;
	llc[1] = 0x80 | i->nr >> 6;
	llc[2] = i->nr << 2;
	for (int n = 0; n < 3; n++)
		crc = crc >> 8 ^ tables->crc[(crc ^ llc[n]) & 0xff];
	llc[3] = ~crc;
	llc[4] = ~crc >> 8;
	llc[5] = ~crc >> 16;
	group->answered++;
	return XDP_TX;
}

// What is seen of the flow of this TLLI, its number in *flow.
static __always_inline struct seen *find_link(__be32 endpoint, __u32 *flow)
{
	__u64 tlli = endpoint, *number = bpf_map_lookup_elem(&by_tlli, &tlli);

	if (!number)
		return 0;
	*flow = *number;
	return bpf_map_lookup_elem(&seens, flow);
}

// The SGSN establishes a link anew: the emulator answers, and here V(R) begins again (clause 8.5.1.2).
static __always_inline void begin_again(__be32 tlli)
{
	__u32 flow;
	struct seen *seen = find_link(tlli, &flow);

	if (seen) {
		seen->received = 0;
		seen->owed = 0;
	}
}

// An S frame that asks for an acknowledgement.
static __always_inline int answer_s(struct xdp_md *ctx, struct i_frame *i, __be32 tlli)
{
	struct seen *seen = find_link(tlli, &i->flow);

	if (!seen || !seen->acknowledged)
		return XDP_PASS;
	i->nr = seen->received;
	seen->owed = 0;
	return answer(ctx, i, tlli);
}

#endif
