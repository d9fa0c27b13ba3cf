// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A router at the driver, to compare others with: it asks the kernel's routes and neighbours, changes what a router changes, and
// has the frame leave by the other device. What it cannot forward so passes.

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define AF_INET 2
#define IPV4_LEN 20 // without options

SEC("xdp")
int forward(struct xdp_md *ctx)
{
	__u8 *end = (__u8 *)(long)ctx->data_end;
	__u8 *frame = (__u8 *)(long)ctx->data;
	__u8 *ip = frame + ETH_HLEN;
	struct bpf_fib_lookup route = {};
	__u32 sum;

	if (ip + IPV4_LEN > end || (frame[12] << 8 | frame[13]) != ETH_P_IP)
		return XDP_PASS;
	if (ip[0] != 0x45 || ip[8] <= 1)
		return XDP_PASS;
	route.family = AF_INET;
	route.tos = ip[1];
	route.tot_len = ip[2] << 8 | ip[3];
	route.l4_protocol = ip[9];
	route.ifindex = ctx->ingress_ifindex;
	__builtin_memcpy(&route.ipv4_src, ip + 12, 4);
	__builtin_memcpy(&route.ipv4_dst, ip + 16, 4);
	if (bpf_fib_lookup(ctx, &route, sizeof(route), 0) != BPF_FIB_LKUP_RET_SUCCESS)
		return XDP_PASS;
	// The hop limit falls by one, and the checksum with it (RFC 1624).
	ip[8]--;
	sum = (ip[10] << 8 | ip[11]) + 0x100;
	sum = (sum & 0xffff) + (sum >> 16);
	ip[10] = sum >> 8;
	ip[11] = sum;
	__builtin_memcpy(frame, route.dmac, ETH_ALEN);
	__builtin_memcpy(frame + ETH_ALEN, route.smac, ETH_ALEN);
	return bpf_redirect(route.ifindex, 0);
}

char _license[] SEC("license") = "Dual MIT/GPL";
