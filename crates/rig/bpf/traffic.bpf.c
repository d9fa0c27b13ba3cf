// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The two ends of `gannet load`: generator and sink. One program for each interface is both, so that the generator is
// attached to something: the kernel keeps attached programs at hand, and a call of BPF_PROG_RUN for any other one waits
// twice for an RCU grace period (20 ms against 11 us).

#include "sink.h"

// Calls of BPF_PROG_RUN come from the loopback interface, whose index is 1 in each network namespace.
#define LOOPBACK 1

SEC("xdp")
int gn(struct xdp_md *ctx)
{
	if (ctx->ingress_ifindex == LOOPBACK)
		return generate(ctx);
	return sink_gn(ctx);
}

SEC("xdp")
int gb(struct xdp_md *ctx)
{
	return sink_gb(ctx);
}

char _license[] SEC("license") = "Dual MIT/GPL";
