// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The generator: each call is an empty frame that becomes the next N-PDU that is due, or goes back unused where nothing
// is. It runs as live frames of BPF_PROG_RUN, on one core, in calls that last some milliseconds: the clock is looked at
// here, so that a packet leaves when it is due and not when a call begins.
//
// The calendar has slots of one window (exact pacing), or 1024 slots for one window of some milliseconds, in which a flow
// takes a random place: then all that is due in a window leaves at its beginning, the flows in random order, what one
// flow has to send in one piece (section 7.1.2 of the thesis).
//
// Frames are recycled with what was in them. Each is a room of ROOM octets, the N-PDU, and some octets for the FCS. The
// pattern in it is written once, by user space; what else the FCS of a shorter frame has overwritten is put right again
// with the help of a note at the frame's beginning, which no packet covers.

#ifndef GANNET_GENERATOR_H
#define GANNET_GENERATOR_H

#include "traffic.h"

#define ROOM 128
#define LOWER 42 // Ethernet, IPv4, UDP
#define DOWN_HEADER (LOWER + 8) // and GTP-U
#define EXACT_NS 1024 // a window of exact pacing
#define LOOK_AHEAD 32 // empty slots that one call passes
#define TOUCH_AHEAD 12 // slots before a flow's turn that its memory is asked for
#define ENTER_AT_ONCE 256 // slots ahead that are still in the cache, or come too soon to be asked for
#define WAIT_ROUNDS 3 // that a frame waits for something that is due, each of plan->wait_ns
#define WAIT_LOOKS 256 // at the clock meanwhile, at the most

// In the window that is counted apart; `now` in ns since the step began.
static __always_inline _Bool is_inside(const struct plan *plan, __u64 now)
{
	return now >= plan->inside_from && now < plan->inside_to;
}

static __always_inline __u64 roll(struct flow *flow)
{
	flow->dice = flow->dice * 6364136223846793005ULL + 1442695040888963407ULL;
	return flow->dice >> 33;
}

// Puts a flow in front of those of a slot.
static __always_inline void put(struct flow *flow, __u32 number, __u32 key)
{
	struct place *place = bpf_map_lookup_elem(&calendar, &key);

	if (!place)
		return;
	flow->next = place->first;
	place->first = number + 1;
}

// The flow that still has to be entered: by now its slot has come into the cache.
static __always_inline void finish_entering(struct plan *plan)
{
	struct flow *flow;
	__u32 number;

	if (!plan->entering)
		return;
	number = plan->entering - 1;
	plan->entering = 0;
	flow = bpf_map_lookup_elem(&flows, &number);
	if (flow)
		put(flow, number, plan->entering_key);
}

// Puts a flow where its next N-PDU is due; later than the calendar reaches is its far end. Where that is far away and so in
// no cache it is asked for, and the flow is put there when the generator looks at the calendar again.
static __always_inline void enter(struct plan *plan, struct flow *flow, __u32 number)
{
	struct place *place;
	__u64 slot;
	__u32 key;

	// The short way of what the other one says, without its division.
	if (plan->window_ns == EXACT_NS && !plan->slots_mask)
		slot = flow->due / EXACT_NS;
	else
		slot = flow->due / plan->window_ns * (plan->slots_mask + 1);
	if (plan->slots_mask)
		slot += roll(flow) & plan->slots_mask;
	if (slot < plan->slot)
		slot = plan->slot;
	if (slot >= plan->slot + SLOTS)
		slot = plan->slot + SLOTS - 1;
	key = slot & (SLOTS - 1);
	if (slot < plan->slot + ENTER_AT_ONCE || plan->entering) {
		put(flow, number, key);
		return;
	}
	place = bpf_map_lookup_elem(&calendar, &key);
	if (!place)
		return;
	*(volatile __u32 *)&place->touched = 1;
	plan->entering = number + 1;
	plan->entering_key = key;
}

static __always_inline __u64 gap_of(struct plan *plan, struct flow *flow, struct tables *tables)
{
	__u64 gap = flow->gap * plan->stretch >> 16;

	if (flow->flags & FLOW_EXPONENTIAL)
		gap = gap * tables->exponential[roll(flow) >> 19 & 4095] >> 16;
	return gap ? gap : 1;
}

// Asks for what the generator and the sink will need of a flow: of a million nothing is in the cache. A program has no
// instruction for that, but one that writes does not wait for what it writes to.
static __always_inline struct flow *touch_flow(__u32 number)
{
	struct flow *flow = bpf_map_lookup_elem(&flows, &number);
	struct seen *seen = bpf_map_lookup_elem(&seens, &number);

	if (flow)
		*(volatile __u8 *)&flow->touched = 1;
	if (seen)
		*(volatile __u8 *)&seen->touched = 1;
	return flow;
}

// The first flow of a later slot.
static __noinline int touch(struct plan *plan)
{
	struct place *place;
	__u32 key;

	if (!plan)
		return 0;
	key = (plan->slot + TOUCH_AHEAD) & (SLOTS - 1);
	place = bpf_map_lookup_elem(&calendar, &key);
	if (place && place->first)
		touch_flow(place->first - 1);
	return 0;
}

// The flow that is due now, its number in *number; and what is due next of it is entered.
static __always_inline struct flow *next_due(struct plan *plan, __u64 now, __u32 *number)
{
	for (int i = 0; i < LOOK_AHEAD; i++) {
		__u32 key = plan->slot & (SLOTS - 1);
		struct place *place = bpf_map_lookup_elem(&calendar, &key);
		struct flow *flow;

		if (!place || now < plan->window)
			return 0;
		if (!place->first) {
			plan->slot++;
			if (!(plan->slot & plan->slots_mask))
				plan->window += plan->window_ns;
			touch(plan);
			continue;
		}
		*number = place->first - 1;
		flow = bpf_map_lookup_elem(&flows, number);
		if (!flow)
			return 0;
		// Those behind the first are known by it alone.
		if (flow->next)
			touch_flow(flow->next - 1);
		if (flow->due >= plan->window + plan->window_ns) {
			// It was too far away for the calendar.
			place->first = flow->next;
			enter(plan, flow, *number);
			continue;
		}
		return flow;
	}
	return 0;
}

static __always_inline void after(struct plan *plan, struct tables *tables, struct flow *flow, __u32 number)
{
	__u32 key = plan->slot & (SLOTS - 1);
	struct place *place;

	flow->due += gap_of(plan, flow, tables);
	if (flow->due < plan->window + plan->window_ns)
		return;
	place = bpf_map_lookup_elem(&calendar, &key);
	if (!place)
		return;
	place->first = flow->next;
	enter(plan, flow, number);
}

static __always_inline __u16 fold(__u64 sum)
{
	sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

struct inner {
	__u8 version, tos;
	__be16 len;
	__be32 id;
	__u8 ttl, protocol;
	__be16 sum;
	__be32 from, to;
	__be16 from_port, to_port, udp_len, udp_sum;
	struct mark mark;
} __attribute__((packed));

// The first octets of the N-PDU; what follows is pattern.
static __always_inline void write_n_pdu(struct inner *to, struct plan *plan, struct flow *flow, __u32 number, __u64 now)
{
	_Bool up = flow->flags & FLOW_UPLINK;
	__be32 from = up ? flow->address : plan->server;
	__be32 dest = up ? plan->server : flow->address;
	struct mark mark = {
		.magic = MARK_MAGIC, .flow = number, .sequence = flow->sequence, .step = plan->step,
		.group = flow->group, .stamp = now,
	};

	mark.check = check_of(&mark);
	to->version = 0x45;
	to->tos = 0;
	to->len = bpf_htons(flow->size);
	to->id = bpf_htonl(0x4000); // don't fragment
	to->ttl = 64;
	to->protocol = 17;
	to->sum = fold((__u64)bpf_htons(0x4500) + to->len + bpf_htons(0x4000) + bpf_htons(64 << 8 | 17)
		       + from + dest);
	to->from = from;
	to->to = dest;
	to->from_port = bpf_htons(9);
	to->to_port = bpf_htons(9);
	to->udp_len = bpf_htons(flow->size - 20);
	to->udp_sum = 0;
	to->mark = mark;
}

// Ethernet, IPv4 and UDP header of a frame whose UDP payload has `len` octets.
static __always_inline void write_lower(__u8 *to, const __u8 *header, __u32 sum, __u16 len)
{
	__builtin_memcpy(to, header, LOWER);
	*(__be16 *)(to + 16) = bpf_htons(len + 28);
	*(__be16 *)(to + 24) = fold((__u64)sum + bpf_htons(len + 28));
	*(__be16 *)(to + 38) = bpf_htons(len + 8);
}

// LLC UI (04.64 clause 6.4.2), unprotected, so that its FCS covers header and N202 = 4 octets alone: those of SNDCP.
static __always_inline __u32 write_llc(__u8 *to, struct tables *tables, struct flow *flow)
{
	__u16 control = 0xc000 | (flow->sequence & 0x1ff) << 2;
	__u32 crc = 0xffffff;

	to[0] = flow->sapi & 0xf;
	to[1] = control >> 8;
	to[2] = control;
	to[3] = 0x60 | (flow->nsapi & 0xf); // first segment, SN-UNITDATA
	to[4] = 0;
	to[5] = flow->sequence >> 8 & 0xf;
	to[6] = flow->sequence;
	for (int i = 0; i < 7; i++)
		crc = crc >> 8 ^ tables->crc[(crc ^ to[i]) & 0xff];
	return ~crc;
}

// UDP payload of an uplink frame up to its LL-PDU of so many octets, which begins where this points.
static __always_inline __u8 *write_unitdata(__u8 *to, struct cell *cell, __be32 tlli, __u16 llc_len, _Bool is_long)
{
	*(__be16 *)to = 0; // NS-UNITDATA
	*(__be16 *)(to + 2) = cell->bvci;
	to[4] = 0x01; // UL-UNITDATA
	*(__be32 *)(to + 5) = tlli;
	to[9] = 0; // QoS profile: no bit rate, normal precedence
	to[10] = 0;
	to[11] = 0x20;
	to[12] = 0x08; // Cell Identifier
	to[13] = 0x88;
	__builtin_memcpy(to + 14, cell->identifier, 8);
	to[22] = 0x0e; // LLC-PDU
	if (is_long) {
		to[23] = llc_len >> 8;
		to[24] = llc_len;
		return to + 25;
	}
	to[23] = 0x80 | llc_len;
	return to + 24;
}

// The same up to the N-PDU, which begins at LOWER + 33 + (long ? 1 : 0). Gives the FCS.
static __always_inline __u32 write_up(__u8 *to, struct tables *tables, struct flow *flow, struct cell *cell, _Bool is_long)
{
	return write_llc(write_unitdata(to, cell, flow->endpoint, flow->size + 10, is_long), tables, flow);
}

// Puts right what an FCS has overwritten of the pattern, in this frame's earlier life.
static __always_inline void mend(__u8 *data, __u8 *end, struct tables *tables)
{
	__u32 at = *(__u16 *)data & (PATTERN_MAX - 1);
	__u8 *to = data + ROOM + at;

	if (at && to + 4 <= end) {
		*(__u16 *)data = 0;
		*(__u32 *)to = *(__u32 *)(tables->pattern + at);
	}
}

// Writes the pattern again where a receiver has used the page for something else: whatever it was, it began before the
// pattern does.
static __always_inline void renew(struct xdp_md *ctx, struct tables *tables)
{
	__u8 *data = (__u8 *)(long)ctx->data, *end = (__u8 *)(long)ctx->data_end;
	__u64 len = end - data - ROOM - N_PDU_MIN;

	if (data + ROOM + N_PDU_MIN + 8 > end || *(__u64 *)(data + ROOM + N_PDU_MIN) == *(__u64 *)(tables->pattern + N_PDU_MIN))
		return;
	asm volatile("" : "+r"(len));
	len &= PATTERN_MAX - 1;
	if (len && len <= PATTERN_MAX - N_PDU_MIN)
		bpf_xdp_store_bytes(ctx, ROOM + N_PDU_MIN, tables->pattern + N_PDU_MIN, len);
}

// The flow that is due now and may take the line, its number in *number and the time in *clock.
static __noinline struct flow *look(struct plan *plan, __u32 *number, __u64 *clock)
{
	__u64 now = bpf_ktime_get_ns();

	*clock = now;
	// What was not sent while the core was away is not made up for: a burst of it would say nothing about the receiver.
	if (now - plan->last > plan->pause_ns) {
		plan->begin += now - plan->last;
		plan->paused += now - plan->last;
	}
	plan->last = now;
	now -= plan->begin;
	finish_entering(plan);
	if (now >= plan->stop || now < plan->free_at)
		return 0;
	return next_due(plan, now, number);
}

// A frame that goes back unused takes the lock under which the receiver's core returns its own: so it does not go back at
// once, or the generator would slow down whoever it offers little to.
static __always_inline struct flow *wait(struct plan *plan, __u32 *number, __u64 *clock)
{
	struct flow *flow = look(plan, number, clock);

#pragma clang loop unroll(disable)
	for (int round = 0; round < WAIT_ROUNDS && !flow; round++) {
		__u64 since = *clock;

#pragma clang loop unroll(disable)
		for (int i = 0; i < WAIT_LOOKS; i++) {
			if (bpf_ktime_get_ns() - since >= plan->wait_ns)
				break;
		}
		flow = look(plan, number, clock);
	}
	return flow;
}

static __always_inline int generate(struct xdp_md *ctx)
{
	__u8 *data = (__u8 *)(long)ctx->data, *end = (__u8 *)(long)ctx->data_end;
	__u32 zero = 0, number = 0, group_number, header, len, fcs = 0;
	struct plan *plan = bpf_map_lookup_elem(&plans, &zero);
	struct tables *tables = bpf_map_lookup_elem(&constants, &zero);
	struct cell *cell = 0;
	struct group *group;
	struct flow *flow;
	_Bool is_long;
	__u64 clock, now, slip, at_once;

	if (!plan || !tables || data + ROOM + N_PDU_MIN > end)
		return XDP_ABORTED;
	flow = wait(plan, &number, &clock);
	if (!flow)
		return XDP_DROP;
	now = clock - plan->begin;
	slip = now > flow->due ? now - flow->due : 0;
	// So many at once, and then at the line's rate.
	at_once = plan->line_ns * plan->at_once;
	if (plan->free_at + at_once < now)
		plan->free_at = now - at_once;
	plan->free_at += plan->line_ns;

	if (plan->has_uplink)
		mend(data, end, tables);
	renew(ctx, tables);
	data = (__u8 *)(long)ctx->data;
	end = (__u8 *)(long)ctx->data_end;
	if (data + ROOM + N_PDU_MIN > end)
		return XDP_ABORTED;
	write_n_pdu((struct inner *)(data + ROOM), plan, flow, number, clock);
	is_long = flow->size + 10 > 127;
	len = flow->size & 2047;
	if (flow->flags & FLOW_UPLINK) {
		cell = bpf_map_lookup_elem(&cells, &flow->cell);
		if (!cell)
			return XDP_ABORTED;
		header = LOWER + (is_long ? 32 : 31);
		// The note for mend().
		*(__u16 *)data = len;
	} else {
		header = DOWN_HEADER;
	}
	if (bpf_xdp_adjust_head(ctx, ROOM - header))
		return XDP_ABORTED;
	len += header + (cell ? 3 : 0);
	if (len != ctx->data_end - ctx->data
	    && bpf_xdp_adjust_tail(ctx, (int)len - (int)(ctx->data_end - ctx->data)))
		return XDP_ABORTED;
	data = (__u8 *)(long)ctx->data;
	end = (__u8 *)(long)ctx->data_end;
	if (data + LOWER + 32 > end)
		return XDP_ABORTED;
	if (cell) {
		write_lower(data, plan->up, plan->up_sum, len - LOWER);
		*(__be16 *)(data + 34) = cell->port;
		fcs = write_up(data + LOWER, tables, flow, cell, is_long);
		len -= 3;
		if (data + (len & 2047) + 3 > end)
			return XDP_ABORTED;
		data += len & 2047;
		data[0] = fcs;
		data[1] = fcs >> 8;
		data[2] = fcs >> 16;
	} else {
		write_lower(data, plan->down, plan->down_sum, len - LOWER);
		*(__be16 *)(data + LOWER) = bpf_htons(0x30ff); // GTPv1, G-PDU
		*(__be16 *)(data + LOWER + 2) = bpf_htons(flow->size);
		*(__be32 *)(data + LOWER + 4) = flow->endpoint;
	}

	group_number = flow->group;
	flow->sequence++;
	after(plan, tables, flow, number);
	group = bpf_map_lookup_elem(&groups, &group_number);
	if (group) {
		group->offered++;
		group->offered_octets += flow->size;
		group->offered_inside += is_inside(plan, now);
		group->slip_sum += slip;
		if (slip > group->slip_max)
			group->slip_max = slip;
	}
	return bpf_redirect(cell ? gb_ifindex : gn_ifindex, 0);
}

#endif
