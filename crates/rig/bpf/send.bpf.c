// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A sender in bursts: each call by live frames of BPF_PROG_RUN becomes the next packet, to one destination after the other, and
// leaves by a device. The program is attached to that device, so that a call waits for no grace period (see traffic.bpf.c).

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <bpf/bpf_helpers.h>

// Calls of BPF_PROG_RUN come from the loopback interface, whose index is 1 in each network namespace.
#define LOOPBACK 1
#define IPV4_LEN 20 // without options

// The device, the first destination, and how many there are.
const volatile __u32 device = 1;
const volatile __u32 first = 1;
const volatile __u32 destinations = 1;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} sent SEC(".maps");

SEC("xdp")
int send(struct xdp_md *ctx)
{
	__u8 *end = (__u8 *)(long)ctx->data_end;
	__u8 *ip = (__u8 *)(long)ctx->data + ETH_HLEN;
	__u32 key = 0, to, sum = 0;
	__u64 *number;

	if (ctx->ingress_ifindex != LOOPBACK)
		return XDP_PASS;
	number = bpf_map_lookup_elem(&sent, &key);
	if (!number || ip + IPV4_LEN > end)
		return XDP_DROP;
	to = first + (__u32)((*number)++ % destinations);
	// A frame is used again with what was in it.
	ip[8] = 64;
	ip[10] = 0;
	ip[11] = 0;
	ip[16] = to >> 24;
	ip[17] = to >> 16;
	ip[18] = to >> 8;
	ip[19] = to;
#pragma unroll
	for (int i = 0; i < IPV4_LEN; i += 2)
		sum += ip[i] << 8 | ip[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~((sum & 0xffff) + (sum >> 16));
	ip[10] = sum >> 8;
	ip[11] = sum;
	return bpf_redirect(device, 0);
}

char _license[] SEC("license") = "Dual MIT/GPL";
