/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * From an Ethernet frame to the UDP datagram in it: Ethernet with up to two VLAN tags, IPv4 with options, IPv6 without
 * extension headers, UDP. Whatever is not a whole datagram for one of our addresses goes to the kernel.
 *
 * Positions are numbers counted from the start of the frame, so that they can be reported.
 */
#ifndef GANNET_PARSE_H
#define GANNET_PARSE_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include "layout.h"

#define VLAN_TAG 4
#define IP_DF 0x4000
#define IP_FRAGMENT 0x3fff /* offset and more fragments */

/* Keeps the compiler from a form of what follows that the verifier does not follow, arithmetic on the end of the packet. */
#define KEEP(variable) asm volatile("" : "+r"(variable))

/* Our addresses; without any, every address is ours. */
const volatile __u32 own_v4_count;
const volatile __u32 own_v6_count;
const volatile __u32 own_v4[OWN_MAX];
const volatile __u64 own_v6[OWN_MAX][2];

/* 0 trusts the NIC, and on a veth pair the sender, which leaves the checksum unfinished. */
const volatile __u8 verify_udp_checksum;

struct datagram {
	/* Of the UDP header, from the start of the frame. */
	__u32 at;
	/* UDP header and payload. */
	__u32 len;
	__be16 port;
	/* Of version 4 only. */
	__be32 source;
	__be16 source_port;
	/* Of the pseudo header, not folded. */
	__u64 pseudo;
	__be16 checksum;
	__u8 is_v6;
	/* An IPv4 header with a wrong checksum: a drop, once the port is known to be ours. */
	__u8 bad_header;
};

static __always_inline int is_own_v4(__u32 address)
{
	if (own_v4_count + own_v6_count == 0)
		return 1;
#pragma unroll
	for (__u32 i = 0; i < OWN_MAX; i++) {
		if (i >= own_v4_count)
			return 0;
		if (own_v4[i] == address)
			return 1;
	}
	return 0;
}

static __always_inline int is_own_v6(__u64 high, __u64 low)
{
	if (own_v4_count + own_v6_count == 0)
		return 1;
#pragma unroll
	for (__u32 i = 0; i < OWN_MAX; i++) {
		if (i >= own_v6_count)
			return 0;
		if (own_v6[i][0] == high && own_v6[i][1] == low)
			return 1;
	}
	return 0;
}

/* Two halves of 32 bits of eight octets of the frame. */
static __always_inline __u64 halves(const void *p)
{
	__u64 both = *(const __u64 *)p;

	return (both & 0xffffffff) + (both >> 32);
}

static __always_inline __u32 fold(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static __always_inline int parse_v4(void *data, void *end, __u32 at, struct datagram *udp)
{
	void *ip = data + at, *p;
	__u64 sum;
	__u32 header_len, total;

	if (ip + 20 > end)
		return TO_KERNEL;
	if (*(__u8 *)(ip + 9) != IPPROTO_UDP || !is_own_v4(*(__u32 *)(ip + 16)))
		return TO_KERNEL;
	/* Version and header length in one comparison for nearly all. */
	sum = halves(ip) + halves(ip + 8) + *(__u32 *)(ip + 16);
	header_len = 20;
	if (*(__u8 *)ip != 0x45) {
		if (*(__u8 *)ip >> 4 != 4)
			return TO_KERNEL;
		header_len = (*(__u8 *)ip & 15) * 4;
		if (header_len < 20 || ip + header_len > end)
			return TO_KERNEL;
#pragma clang loop unroll(disable)
		for (__u32 i = 20; i < 60; i += 4) {
			if (i >= header_len)
				break;
			p = ip + i;
			KEEP(p);
			if (p + 4 > end)
				return TO_KERNEL;
			sum += *(__u32 *)p;
		}
	}
	if (*(__be16 *)(ip + 6) & bpf_htons(IP_FRAGMENT))
		return TO_KERNEL;
	total = bpf_ntohs(*(__be16 *)(ip + 2));
	udp->bad_header = fold(sum) != 0xffff;
	udp->pseudo = halves(ip + 12);
	udp->source = *(__be32 *)(ip + 12);
	udp->at = at + header_len;
	udp->is_v6 = 0;
	/* Without a whole UDP header nobody can say that it is for our port. */
	if (total < header_len + 8)
		return TO_KERNEL;
	udp->len = total - header_len;
	return FOUND;
}

static __always_inline int parse_v6(void *data, void *end, __u32 at, struct datagram *udp)
{
	void *ip = data + at;

	if (ip + 40 > end)
		return TO_KERNEL;
	if (*(__u8 *)(ip + 6) != IPPROTO_UDP || *(__u8 *)ip >> 4 != 6)
		return TO_KERNEL;
	if (!is_own_v6(*(__u64 *)(ip + 24), *(__u64 *)(ip + 32)))
		return TO_KERNEL;
	udp->bad_header = 0;
	udp->pseudo = halves(ip + 8) + halves(ip + 16) + halves(ip + 24) + halves(ip + 32);
	udp->source = 0;
	udp->at = at + 40;
	udp->is_v6 = 1;
	udp->len = bpf_ntohs(*(__be16 *)(ip + 4));
	if (udp->len < 8)
		return TO_KERNEL;
	return FOUND;
}

/* Finds the UDP header. `len` is what the IP header says until the caller knows that the port is ours. */
static __always_inline int parse_udp(void *data, void *end, struct datagram *udp)
{
	__u32 at = ETH_HLEN;
	__be16 type;
	int found;

	if (data + ETH_HLEN > end || data + FRAME_MAX < end)
		return TO_KERNEL;
	type = *(__be16 *)(data + 12);
#pragma unroll
	for (int i = 0; i < 2; i++) {
		if (type != bpf_htons(ETH_P_8021Q) && type != bpf_htons(ETH_P_8021AD))
			break;
		if (data + at + VLAN_TAG > end)
			return TO_KERNEL;
		type = *(__be16 *)(data + at + 2);
		at += VLAN_TAG;
	}
	if (type == bpf_htons(ETH_P_IP))
		found = parse_v4(data, end, at, udp);
	else if (type == bpf_htons(ETH_P_IPV6))
		found = parse_v6(data, end, at, udp);
	else
		return TO_KERNEL;
	if (found != FOUND)
		return found;
	if (data + udp->at + 8 > end)
		return TO_KERNEL;
	udp->source_port = *(__be16 *)(data + udp->at);
	udp->port = *(__be16 *)(data + udp->at + 2);
	udp->checksum = *(__be16 *)(data + udp->at + 6);
	return FOUND;
}

/*
 * Whether one's complement sum over `len` octets of the frame from `at`, and over the pseudo header, is that of a right
 * checksum. A function of its own, which the verifier walks once and not once for each way that leads to it.
 */
__noinline int sum_is_right(struct xdp_md *ctx, __u32 at, __u32 len, __u64 sum)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	void *p;

	if (at > FRAME_MAX || len > FRAME_MAX)
		return 0;
	p = data + at;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < FRAME_MAX / 4; i++) {
		if (len < 4 || p + 4 > end)
			break;
		sum += *(__u32 *)p;
		p += 4;
		len -= 4;
	}
	if (len >= 2 && p + 2 <= end) {
		sum += *(__u16 *)p;
		p += 2;
		len -= 2;
	}
	/* The last octet is the first of a pair whose second is 0. */
	if (len == 1 && p + 1 <= end)
		sum += bpf_htons(*(__u8 *)p << 8);
	return fold(sum) == 0xffff;
}

/* Of a datagram for our port: whole, and its checksums right. Sets `len` to that of UDP. */
static __always_inline int check_udp(struct xdp_md *ctx, void *data, void *end, struct datagram *udp)
{
	void *p = data + udp->at;
	__u32 len;

	if (udp->bad_header)
		return COUNT_BAD_IP_CHECKSUM;
	if (p + 8 > end)
		return COUNT_MALFORMED;
	len = bpf_ntohs(*(__be16 *)(p + 4));
	if (len < 8 || len > udp->len || data + udp->at + udp->len > end)
		return COUNT_MALFORMED;
	udp->len = len;
	if (verify_udp_checksum) {
		__u64 sum;

		if (!udp->checksum)
			return udp->is_v6 ? COUNT_BAD_UDP_CHECKSUM : FOUND;
		sum = udp->pseudo + bpf_htons(len) + bpf_htons(IPPROTO_UDP);
		if (!sum_is_right(ctx, udp->at, len, sum))
			return COUNT_BAD_UDP_CHECKSUM;
	}
	return FOUND;
}

#endif
