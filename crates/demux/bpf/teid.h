/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * From a TEID to the name of its context: proto::gtp::TeidKey::name, which says what the permutation is for. A test compares both.
 */
#ifndef GANNET_TEID_H
#define GANNET_TEID_H

#include <linux/types.h>
#include "layout.h"

/* Two words of each round, the mask of what a round gives, and what 0 would become. All 0: a TEID is a name. */
const volatile __u32 teid_key[2 * TEID_ROUNDS + 2];

static __always_inline __u32 name_of_teid(__u32 teid)
{
	__u32 mask = teid_key[2 * TEID_ROUNDS];
	__u32 left, right;

	teid ^= teid_key[2 * TEID_ROUNDS + 1];
	left = teid >> 16;
	right = teid & 0xffff;
#pragma unroll
	for (int i = TEID_ROUNDS - 1; i >= 0; i--) {
		__u64 product = ((__u64)left + teid_key[2 * i]) * (__u64)(left ^ teid_key[2 * i + 1]);
		__u32 half = left;

		left = right ^ ((__u32)(product >> 24) & mask);
		right = half;
	}
	return left << 16 | right;
}

#endif
