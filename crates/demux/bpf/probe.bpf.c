// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What this machine permits: a map that user space shares, a map of AF_XDP sockets, and a program that lets every frame
// pass and counts it. It is loaded, and for a moment attached, before a back end is chosen.

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} seen SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} seen_by_cpu SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

// What it counts a frame for.
const volatile __u64 step = 1;

SEC("xdp")
int probe(struct xdp_md *ctx)
{
	__u32 zero = 0;
	__u64 *count = bpf_map_lookup_elem(&seen, &zero);

	if (count)
		__sync_fetch_and_add(count, step);
	count = bpf_map_lookup_elem(&seen_by_cpu, &zero);
	if (count)
		*count += step;
	return bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS);
}

char _license[] SEC("license") = "Dual MIT/GPL";
