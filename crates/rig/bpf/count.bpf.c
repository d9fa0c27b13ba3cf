// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A sink that counts: T-PDUs of one kind, as they are or in G-PDUs, are counted and dropped at the driver. All else passes.

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define IPV4_LEN 20 // without options
#define UDP_LEN 8
#define GTP_PORT 2152
#define G_PDU 255

// What is counted: T-PDUs that come in G-PDUs, their UDP destination port, and their octets.
const volatile __u8 tunnelled = 0;
const volatile __u16 port = 1;
const volatile __u16 octets = 1;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} counted SEC(".maps");

static __always_inline __u16 be16_at(const __u8 *p)
{
	return p[0] << 8 | p[1];
}

// An IPv4 packet without options that holds UDP to this port; its octets, or 0.
static __always_inline __u16 udp_to(const __u8 *ip, const __u8 *end, __u16 to)
{
	if (ip + IPV4_LEN + UDP_LEN > end || ip[0] != 0x45 || ip[9] != IPPROTO_UDP)
		return 0;
	return be16_at(ip + IPV4_LEN + 2) == to ? be16_at(ip + 2) : 0;
}

SEC("xdp")
int count(struct xdp_md *ctx)
{
	const __u8 *end = (const __u8 *)(long)ctx->data_end;
	const __u8 *at = (const __u8 *)(long)ctx->data;
	__u32 key = 0;
	__u64 *counter;

	if (at + ETH_HLEN > end || be16_at(at + 12) != ETH_P_IP)
		return XDP_PASS;
	at += ETH_HLEN;
	if (tunnelled) {
		if (!udp_to(at, end, GTP_PORT))
			return XDP_PASS;
		at += IPV4_LEN + UDP_LEN;
		if (at + 8 > end || at[0] >> 4 != 3 || at[1] != G_PDU)
			return XDP_PASS;
		// Any of three flags adds four octets (29.060 clause 6).
		at += at[0] & 7 ? 12 : 8;
	}
	if (udp_to(at, end, port) != octets)
		return XDP_PASS;
	counter = bpf_map_lookup_elem(&counted, &key);
	if (counter)
		__sync_fetch_and_add(counter, 1);
	return XDP_DROP;
}

char _license[] SEC("license") = "Dual MIT/GPL";
