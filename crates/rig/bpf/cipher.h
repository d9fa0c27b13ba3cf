// SPDX-License-Identifier: MIT OR Apache-2.0
//
// GEA3 (55.216 clause 7) at the sink: KGCORE over KASUMI (35.202), of as many octets of a frame as somebody wants to see.
// A block takes some 0.2 us here, and each needs the one before it, so that few frames are read and fewer as a whole.

#ifndef GANNET_CIPHER_H
#define GANNET_CIPHER_H

#include "traffic.h"

#define BLOCKS 192 // of a frame, at most
#define UI_HEADER 3
#define FCS_LEN 3
#define N202 4

// Keeps the compiler from reasoning about a value in a way that the verifier does not follow.
#define hide(value) asm volatile("" : "+r"(value))

// CK ^ KM in the words of subkeys: 0x5555 rotated.
#define KM_FIRST 0xaaaa5555aaaa5555ULL
#define KM_SECOND 0xaaaa555555555555ULL

static __always_inline __u32 rotate(__u32 word)
{
	return (word << 1 | word >> 15) & 0xffff;
}

// FI (35.202 clause 4.4).
static __always_inline __u32 fi(struct tables *tables, __u32 word, __u32 key)
{
	__u32 nine = word >> 7 & 511, seven = word & 127;

	nine = tables->s9[nine] ^ seven;
	seven = tables->s7[seven] ^ (nine & 127) ^ (key >> 9 & 127);
	nine ^= key & 511;
	nine = tables->s9[nine & 511] ^ seven;
	seven = tables->s7[seven & 127] ^ (nine & 127);
	return seven << 9 | nine;
}

// FO (clause 4.3) of the left and the right sixteen bits.
static __always_inline __u32 fo(struct tables *tables, __u32 words, __u64 first, __u64 second)
{
	__u32 left = words >> 16, right = words & 0xffff, one, two;

	one = fi(tables, left ^ (first >> 16 & 0xffff), second >> 32 & 0xffff) ^ right;
	two = fi(tables, right ^ (first & 0xffff), second >> 16 & 0xffff) ^ one;
	return two << 16 | (fi(tables, one ^ (second >> 48), second & 0xffff) ^ two);
}

// FL (clause 4.2).
static __always_inline __u32 fl(__u32 words, __u64 first)
{
	__u32 left = words >> 16, right = words & 0xffff;

	right ^= rotate(left & (first >> 48));
	left ^= rotate((right | (first >> 32)) & 0xffff);
	return left << 16 | right;
}

// One block; `modified` is 1 for the key that is changed by KM.
static __noinline __u64 kasumi(struct tables *tables, struct secret *secret, __u64 block, __u64 modified)
{
	__u32 left = block >> 32, right = block;

	if (!tables || !secret)
		return 0;
#pragma clang loop unroll(full)
	for (int i = 0; i < 8; i += 2) {
		__u64 first = secret->rounds[i][0] ^ modified * KM_FIRST;
		__u64 second = secret->rounds[i][1] ^ modified * KM_SECOND;

		right ^= fo(tables, fl(left, first), first, second);
		first = secret->rounds[i + 1][0] ^ modified * KM_FIRST;
		second = secret->rounds[i + 1][1] ^ modified * KM_SECOND;
		left ^= fl(fo(tables, right, first, second), first);
	}
	return (__u64)left << 32 | right;
}

// Deciphers `len` octets of a frame or somewhat more, as far as it reaches. `at` is where information and FCS begin, and
// `count` is OC + N(U). A function of its own to the verifier.
__noinline int decipher(struct xdp_md *ctx, __u32 at, __u32 len, __u32 number, __u32 count)
{
	__u32 zero = 0;
	struct secret *secret = bpf_map_lookup_elem(&secrets, &number);
	struct tables *tables = bpf_map_lookup_elem(&constants, &zero);
	__u8 *data = (__u8 *)(long)ctx->data, *end = (__u8 *)(long)ctx->data_end, *p;
	__u64 word, stream = 0;

	if (!secret || !tables)
		return 0;
	p = data + (at & 2047);
	// Downlink: DIRECTION is 1; CA is 0xff for GPRS.
	word = kasumi(tables, secret, (__u64)(secret->offset + count) << 32 | 1 << 26 | 0xff << 16, 1);
	for (__u32 i = 0; i < BLOCKS && i * 8 < len; i++) {
		hide(p);
		stream = kasumi(tables, secret, word ^ i ^ stream, 0);
		if (p + 8 > end) {
			for (int k = 0; k < 7 && p + 1 <= end; k++, p++)
				*p ^= stream >> (56 - 8 * k);
			break;
		}
		*(__u64 *)p ^= bpf_cpu_to_be64(stream);
		p += 8;
	}
	return 1;
}

// Whether the FCS of an LL-PDU of `len` octets is right (04.64 clause 5.5), `covered` octets of which it covers.
__noinline int fcs_is_right(struct xdp_md *ctx, __u32 at, __u32 len, __u32 covered)
{
	__u32 zero = 0, crc = 0xffffff, said;
	struct tables *tables = bpf_map_lookup_elem(&constants, &zero);
	__u8 *data = (__u8 *)(long)ctx->data, *end = (__u8 *)(long)ctx->data_end, *p;

	if (!tables || len < FCS_LEN)
		return 0;
	p = data + (at & 2047);
	for (__u32 i = 0; i < BLOCKS * 8 && i < covered; i++) {
		hide(p);
		if (p + 1 > end)
			return 0;
		crc = crc >> 8 ^ tables->crc[(crc ^ *p) & 0xff];
		p++;
	}
	p = data + (at & 2047) + ((len - FCS_LEN) & 2047);
	if (p + FCS_LEN > end)
		return 0;
	said = p[0] | p[1] << 8 | p[2] << 16;
	return said == (~crc & 0xffffff);
}

#endif
