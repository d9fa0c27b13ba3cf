// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Uplink on Gb: whose LL-PDU it is, and what becomes of it, before the kernel spends anything on it.
//
// An UL-UNITDATA names its mobile by TLLI: a local one that the SGSN has assigned is unique, every other one means
// something in its cell only, which is named by the NSE, that is by the address from which it sends, and the BVCI.
// Every other PDU of NS and BSSGP goes to the node. The model in src/model/uplink.rs says the same in Rust.

#include "parse.h"
#include "contexts.h"
#include "redirect.h"

#define NS_UNITDATA 0
#define NS_LEN 4
#define BVCI_PTP 2 /* the first: 0 is signalling, 1 point-to-multipoint */
#define UL_UNITDATA 1
#define UL_UNITDATA_LEN 8
#define IEI_LLC_PDU 0x0e
/* Elements in front of the LL-PDU that are skipped; longer chains go to the node. */
#define ELEMENTS_MAX 8
/* Octets of an LL-PDU with user data that are none of the N-PDU: address, control and FCS of LLC, header of SNDCP. */
#define LL_PDU_HEADERS 10

// Our NS port, in the order of the wire.
const volatile __be16 ns_port;
// The policer of a mobile's signalling, apart from that of its data: ns for one LL-PDU, and how far that may run ahead.
// 0 for no limit.
const volatile __u64 signalling_interval_ns;
const volatile __u64 signalling_burst_ns;
// Signalling of mobiles that nobody knows has a sample of its own, so that user data of others of them does not keep
// them from attaching: in the same terms as that of user data.
const volatile __u64 stranger_interval_ns;
const volatile __u64 stranger_burst_ns;

// From a peer's IPv4 address and port (octets of the wire: 4, 2, and 2 of 0) to its NSEI.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u64);
} peers SEC(".maps");

// From NSEI (16 bits), BVCI (16 bits) and TLLI, or from a local TLLI alone, to the name of the mobile. A mobile has one
// for nearly all its time and three at most, so memory is taken as they come.
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u64);
} tllis SEC(".maps");

struct unitdata {
	__u32 tlli;
	__u16 bvci;
	struct part ns;
	struct part llc;
	/* User data of a mobile in either mode, and what belongs to acknowledged mode; not what else its LLC says to ours. */
	__u8 is_data;
};

static __always_inline int is_user_data(__u8 address, __u8 control)
{
	__u8 sapi = address & 15, function = control & 15;

	if (!(sapi == 3 || sapi == 5 || sapi == 9 || sapi == 11))
		return 0;
	/* I frames begin with 0, S frames with 10, UI frames with 110. */
	if ((control & 0xe0) != 0xe0)
		return 1;
	/* Of the U frames those that no I or S frame may overtake, nor be overtaken by: DM, DISC, UA, SABM, FRMR. */
	return function == 1 || function == 4 || function == 6 || function == 7 || function == 8;
}

// The LL-PDU among the elements from `offset`.
static __always_inline int find_llc(void *data, void *end, __u32 offset, __u32 stop, struct unitdata *pdu)
{
#pragma clang loop unroll(disable)
	for (int i = 0; i < ELEMENTS_MAX; i++) {
		void *p = data + offset;
		__u32 len;
		__u8 iei;

		KEEP(p);
		if (offset + 2 > stop || p + 2 > end)
			return OURS_TO_KERNEL;
		iei = *(__u8 *)p;
		len = *(__u8 *)(p + 1);
		offset += 2;
		if (len & 0x80) {
			len &= 0x7f;
		} else {
			if (offset + 1 > stop || p + 3 > end)
				return OURS_TO_KERNEL;
			len = len << 8 | *(__u8 *)(p + 2);
			offset += 1;
		}
		if (offset + len > stop)
			return OURS_TO_KERNEL;
		if (iei == IEI_LLC_PDU) {
			p = data + offset;
			KEEP(p);
			if (!len || offset > FRAME_MAX || p + 1 > end)
				return OURS_TO_KERNEL;
			pdu->llc.at = offset;
			pdu->llc.len = len;
			pdu->is_data = len > 1 && p + 2 <= end && is_user_data(*(__u8 *)p, *(__u8 *)(p + 1));
			return FOUND;
		}
		offset += len;
		/* Not so, since `stop` lies in the frame: for the verifier. */
		if (offset > FRAME_MAX)
			return OURS_TO_KERNEL;
	}
	return OURS_TO_KERNEL;
}

static __always_inline int parse_unitdata(void *data, void *end, __u32 at, __u32 len, struct unitdata *pdu)
{
	void *ns = data + at;

	if (len < NS_LEN + UL_UNITDATA_LEN || ns + NS_LEN + UL_UNITDATA_LEN > end)
		return OURS_TO_KERNEL;
	pdu->bvci = bpf_ntohs(*(__be16 *)(ns + 2));
	if (*(__u8 *)ns != NS_UNITDATA || pdu->bvci < BVCI_PTP || *(__u8 *)(ns + NS_LEN) != UL_UNITDATA)
		return OURS_TO_KERNEL;
	pdu->tlli = bpf_ntohl(*(__be32 *)(ns + NS_LEN + 1));
	pdu->ns.at = at;
	pdu->ns.len = len;
	return find_llc(data, end, at + NS_LEN + UL_UNITDATA_LEN, at + len, pdu);
}

// The mobile of a TLLI: FOUND, or what becomes of the PDU without one.
static __always_inline int find_mobile(struct datagram *udp, struct unitdata *pdu, struct context **mobile)
{
	__u64 key = pdu->tlli;
	__u64 *name = NULL;

	*mobile = NULL;
	/* Local TLLIs begin with 11. */
	if (pdu->tlli >> 30 == 3)
		name = bpf_map_lookup_elem(&tllis, &key);
	if (!name) {
		__u64 peer = (__u64)udp->source_port << 32 | udp->source;
		__u64 *nsei = bpf_map_lookup_elem(&peers, &peer);

		/* Of an address that is no NS-VC's, or not of version 4, the node knows more. */
		if (!nsei)
			return OURS_TO_KERNEL;
		key |= *nsei << 48 | (__u64)pdu->bvci << 32;
		name = bpf_map_lookup_elem(&tllis, &key);
	}
	if (!name)
		return COUNT_UNKNOWN_TLLI;
	*mobile = entry_at(*name);
	if (!*mobile || !((*mobile)->keys & BY_TLLI) || (*mobile)->name != *name)
		return COUNT_UNKNOWN_TLLI;
	return FOUND;
}

// Signalling is not blocked, and its rate is limited apart, so that neither storms nor queues of data are in its way.
static __always_inline __u32 decide_signalling(struct context *mobile)
{
	if (signalling_interval_ns &&
	    !conforms(&mobile->signalling_tat_ns, signalling_interval_ns, signalling_burst_ns)) {
		add_u32(&mobile->dropped_over_rate);
		return COUNT_OVER_RATE;
	}
	add_u32(&mobile->passed);
	return COUNT_REDIRECTED + CLASS_SIGNALLING;
}

// Of an LL-PDU without mobile: whether it goes up, so that the node gets to know its sender.
static __always_inline int is_let_in(struct unitdata *pdu)
{
	__u64 *tat_ns;

	if (pdu->is_data)
		return is_sample();
	if (!stranger_interval_ns)
		return 0;
	tat_ns = cell(CELL_STRANGER_TAT);
	return tat_ns && conforms(tat_ns, stranger_interval_ns, stranger_burst_ns);
}

// What an LL-PDU takes of its mobile's rate: the N-PDU's octets, and where there is hardly one as much as its headers, so that
// acknowledgements and empty frames have a limit as well.
static __always_inline __u32 n_pdu_octets(struct unitdata *pdu)
{
	return pdu->llc.len > 2 * LL_PDU_HEADERS ? pdu->llc.len - LL_PDU_HEADERS : LL_PDU_HEADERS;
}

static __always_inline int find(struct xdp_md *ctx, struct unitdata *pdu, struct context **mobile)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct datagram udp;
	int found = parse_udp(data, end, &udp);

	if (found != FOUND)
		return found;
	if (udp.port != ns_port)
		return TO_KERNEL;
	found = check_udp(ctx, data, end, &udp);
	if (found == FOUND)
		found = parse_unitdata(data, end, udp.at + 8, udp.len - 8, pdu);
	return found == FOUND ? find_mobile(&udp, pdu, mobile) : found;
}

SEC("xdp")
int gb(struct xdp_md *ctx)
{
	struct context *mobile = NULL;
	struct unitdata pdu;
	__u32 what;
	int found = find(ctx, &pdu, &mobile);

	if (found == TO_KERNEL)
		return XDP_PASS;
	if (found == OURS_TO_KERNEL) {
		count(COUNT_TO_KERNEL);
		return XDP_PASS;
	}
	if (found == COUNT_UNKNOWN_TLLI && is_let_in(&pdu)) {
		count(COUNT_SAMPLED);
		return XDP_PASS;
	}
	if (!mobile || found != FOUND) {
		count(found);
		return XDP_DROP;
	}
	what = pdu.is_data ? decide(mobile, n_pdu_octets(&pdu), 0) : decide_signalling(mobile);
	count(what);
	if (what < DROPS)
		return XDP_DROP;
	return redirect(ctx, mobile, what - COUNT_REDIRECTED, pdu.ns, pdu.llc);
}

char _license[] SEC("license") = "Dual MIT/GPL";
