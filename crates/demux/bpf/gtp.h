/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * GTP's user plane: a G-PDU of version 1 (29.060 clause 6) or a T-PDU of version 0 (09.60 clause 6). What the node
 * accepts is found here, what it counts as malformed is malformed here; every other message goes to the node.
 */
#ifndef GANNET_GTP_H
#define GANNET_GTP_H

#include "contexts.h"
#include "layout.h"
#include "teid.h"

#define GTP_V1_PORT 2152
#define GTP_V0_PORT 3386
#define G_PDU 255

#define V1_VERSION 0x30 /* version 1, protocol type GTP */
#define V1_VERSION_MASK 0xf0
#define V1_E 4
#define V1_OPTIONS 7
#define V1_LEN 8
#define V1_LEN_LONG 12
#define V0_VERSION 0x10 /* version 0, protocol type GTP */
#define V0_VERSION_MASK 0xf0
#define V0_LEN 20
#define V0_TID 12

/* Extension headers that are walked; longer chains go to the node. */
#define EXTENSIONS_MAX 8
/* Known types, and the bit that asks an endpoint to comprehend an unknown one. */
#define EXTENSION_PDCP_PDU_NUMBER 0xc0
#define EXTENSION_COMPREHEND 0x80

struct g_pdu {
	/* From where it comes, over IPv4; else 0. */
	__be32 source;
	/* The name of the context, by its TEID or its TID. */
	__u32 name;
	/* Octets in the order of the wire. */
	__u64 tid;
	/* T-PDU: where, from the same start as the header; and octets. */
	__u32 at;
	__u32 len;
	/* The message with its header, where it is of version 1. */
	__u32 message_at;
	__u32 message_len;
	__u8 is_v0;
};

/* From the TID of GTPv0 (octets of the wire) to the name of the context. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u64);
} tids SEC(".maps");

/*
 * The flow of a G-PDU: FOUND, or the reason why it has none. With another generation, `flow` is who has its place now.
 */
static __always_inline int find_flow(struct g_pdu *pdu, struct context **flow)
{
	__u8 key = BY_TEID;

	*flow = NULL;
	if (pdu->is_v0) {
		__u64 *name = bpf_map_lookup_elem(&tids, &pdu->tid);

		if (!name)
			return COUNT_UNKNOWN_CONTEXT;
		pdu->name = *name;
		key = BY_TID;
	}
	*flow = entry_at(pdu->name);
	if (!*flow || !((*flow)->keys & key))
		return COUNT_UNKNOWN_CONTEXT;
	return (*flow)->teid == pdu->name ? FOUND : COUNT_STALE_GENERATION;
}

/* The node knows who else may send to a context than the end of its tunnel; the kernel gives it these packets. */
static __always_inline int is_from_elsewhere(struct context *flow, __be32 source)
{
	return flow->source && flow->source != source;
}

#endif
