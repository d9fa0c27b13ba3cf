/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Which addresses no router forwards for.
 */
#ifndef GANNET_ADDRESS_H
#define GANNET_ADDRESS_H

#include <linux/types.h>
#include <bpf/bpf_endian.h>

/* The next header of IPv6 that every router looks at. */
#define IP_HOP_BY_HOP 0

/* Of this network, of this machine, to many or reserved: what is no address of one station elsewhere. */
static __always_inline int is_odd_v4(__be32 address)
{
	__u8 first = bpf_ntohl(address) >> 24;

	return first == 0 || first == 127 || first >= 224;
}

/* Link-local (fe80::/10) or to many (ff00::/8), by the first 64 bits. */
static __always_inline int stays_on_link(__u64 high)
{
	__be16 first = high;

	return (first & bpf_htons(0xffc0)) == bpf_htons(0xfe80) || (first & bpf_htons(0xff00)) == bpf_htons(0xff00);
}

#endif
