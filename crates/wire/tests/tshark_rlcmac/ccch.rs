//! Blocks of AGCH and PCH.

use crate::Case;
use gannet_wire::gsmtap::Channel;
use gannet_wire::id::{PTmsi, Tlli};
use gannet_wire::l3::ie::{MobileIdentity, Octets};
use gannet_wire::rlcmac::LaterRest;
use gannet_wire::rlcmac::ccch::{
    CcchMessage, ChannelsNeeded, HoppingChannel, IaRestOctets, ImmediateAssignment,
    ImmediateAssignmentExtended, ImmediateAssignmentReject, ImmediateDownlink, ImmediateDownlinkTbf,
    ImmediateSingleBlock, ImmediateUplinkTbf, IndirectChannel, Notification, P1RestOctets, P2RestOctets,
    P3RestOctets, PacketChannel, PacketChannelFrequencies, PagedMobile, PagingRequest1, PagingRequest2,
    PagingRequest3, PagingRest, RejectedRequest, RequestReference, Resource, SecondAssignment,
};
use gannet_wire::rlcmac::coding::CodingScheme;
use gannet_wire::rlcmac::downlink::AssignedPower;
use gannet_wire::rlcmac::element::DownlinkPower;
use gannet_wire::rlcmac::value::{
    Alpha, Arfcn, BtsPowerMode, ChangeMark, ChannelNeeded, EmlppPriority, Gamma, Hsn, ListNumber, Maio, P0,
    PageMode, PrMode, ReducedFrame, RlcMode, Tfi, Timeslot, TimingAdvance, TimingAdvanceIndex,
    TlliBlockCoding, Tsc, Usf, UsfGranularity,
};

fn case(channel: Channel, message: impl Into<CcchMessage>, fields: &'static str) -> Case {
    let message = message.into();
    let block = message.emit().unwrap_or_else(|| panic!("{message:?} does not fit"));
    assert_eq!(CcchMessage::parse(&block), Ok(message));
    // Identities stand beside the fields of radio resources.
    let prefix = if channel == Channel::Pch { "gsm_a" } else { "gsm_a.rr" };
    Case::new(prefix, channel, false, &block, fields)
}

fn request(access: u8) -> RequestReference {
    RequestReference { access, frame: ReducedFrame::of(2044) }
}

fn packet(is_downlink: bool, frequencies: PacketChannelFrequencies) -> Resource {
    let channel = PacketChannel { timeslot: Timeslot::lowest(5), tsc: Tsc::lowest(3), frequencies };
    Resource::Packet { is_downlink, channel }
}

fn assignment(resource: Resource, rest: IaRestOctets) -> ImmediateAssignment {
    ImmediateAssignment {
        page_mode: PageMode::Extended,
        is_one_of_two: false,
        resource,
        request: request(0x7b),
        timing_advance: TimingAdvance::lowest(44),
        mobile_allocation: Octets::EMPTY,
        starting_time: None,
        rest,
    }
}

fn uplink_tbf() -> ImmediateUplinkTbf {
    ImmediateUplinkTbf {
        tfi: Tfi::lowest(26),
        polling: true,
        usf: Usf::lowest(5),
        granularity: UsfGranularity::Four,
        power: Some(DownlinkPower { p0: P0::lowest(11), pr_mode: PrMode::B }),
        coding: CodingScheme::Cs2,
        tlli_coding: TlliBlockCoding::AsCommanded,
        alpha: Alpha::new(9),
        gamma: Gamma::lowest(21),
        timing_advance_index: TimingAdvanceIndex::new(13),
        starting_time: Some(ReducedFrame::of(42_000)),
        later: LaterRest::NONE,
    }
}

fn packet_assignments() -> Vec<Case> {
    let arfcn = PacketChannelFrequencies::Arfcn(Arfcn::lowest(871));
    let indirect = PacketChannelFrequencies::Indirect(IndirectChannel {
        maio: Maio::lowest(41),
        is_second: true,
        change_mark: ChangeMark::new(2),
    });
    let block = ImmediateSingleBlock {
        alpha: None,
        gamma: Gamma::lowest(7),
        starting_time: ReducedFrame::of(42_000),
        power: Some(AssignedPower { p0: P0::lowest(3), bts_mode: BtsPowerMode::A, pr_mode: PrMode::B }),
        later: LaterRest::NONE,
    };
    let tbf = ImmediateDownlinkTbf {
        tfi: Tfi::lowest(14),
        rlc_mode: RlcMode::Unacknowledged,
        alpha: Alpha::new(4),
        gamma: Gamma::lowest(30),
        polling: true,
        timing_advance_valid: true,
    };
    let down = ImmediateDownlink {
        tlli: Tlli(0xc0de_1234),
        tbf: Some(tbf),
        timing_advance_index: TimingAdvanceIndex::new(2),
        starting_time: None,
        power: None,
        later: LaterRest::NONE,
    };
    vec![
        case(
            Channel::Agch,
            assignment(packet(false, arfcn), IaRestOctets::Uplink(uplink_tbf())),
            "l2_pseudo_len=11 page_mode=1 dedicated_mode_or_tbf=1 timeslot=5 training_sequence=3 \
             single_channel_arfcn=871 ra=0x7b T1prim=1 T3=4 T2=16 rfn=2044 timing_adv=44 tfi_assignment=26 \
             polling=1 usf=5 usf_granularity=1 p0=11 pr_mode=1 gprs_cs=1 tlli_block_cs=1 alpha=9 gamma=21 \
             timing_adv_idx=13 tbf.T1prim=31 tbf.T3=27 tbf.T2=10",
        ),
        case(
            Channel::Agch,
            assignment(packet(false, indirect), IaRestOctets::SingleBlock(block)),
            "dedicated_mode_or_tbf=1 hopping_channel_maio=41 hopping_channel_ma_num_ind=1 \
             hopping_channel_change_mark_1=2 gamma=7 tbf.T1prim=31 tbf.T3=27 tbf.T2=10 p0=3 pr_mode=1 \
             tfi_assignment=",
        ),
        case(
            Channel::Agch,
            assignment(packet(true, arfcn), IaRestOctets::Downlink(down)),
            "dedicated_mode_or_tbf=3 tlli=0xc0de1234 tfi_assignment=14 rlc_mode=1 alpha=4 gamma=30 polling=1 \
             ta_valid=1 timing_adv_idx=2",
        ),
    ]
}

pub fn assignments() -> Vec<Case> {
    let hopping =
        PacketChannelFrequencies::Hopping(HoppingChannel { maio: Maio::lowest(7), hsn: Hsn::lowest(50) });
    let hopped = ImmediateAssignment {
        page_mode: PageMode::Normal,
        mobile_allocation: Octets::from_start(&[0xa5]),
        ..assignment(packet(false, hopping), IaRestOctets::Uplink(uplink_tbf()))
    };
    let mobile = |access, timing_advance| SecondAssignment {
        channel: [0x44, 0xe3, 0x67],
        request: request(access),
        timing_advance: TimingAdvance::lowest(timing_advance),
    };
    let extended = ImmediateAssignmentExtended {
        page_mode: PageMode::Normal,
        mobiles: [mobile(0x11, 3), mobile(0x12, 8)],
        mobile_allocation: Octets::EMPTY,
        starting_time: None,
        rest: LaterRest::NONE,
    };
    let rejected = |access, wait_s| RejectedRequest { request: request(access), wait_s };
    let reject = ImmediateAssignmentReject {
        page_mode: PageMode::Normal,
        rejected: [rejected(0x78, 1), rejected(0x79, 20), rejected(0x7a, 255), rejected(0x7b, 0)],
        rest: LaterRest::NONE,
    };
    let mut cases = packet_assignments();
    cases.extend([
        case(
            Channel::Agch,
            hopped,
            "l2_pseudo_len=12 dedicated_mode_or_tbf=1 hopping_channel_maio=7 hsn=50 tfi_assignment=26",
        ),
        case(
            Channel::Agch,
            extended,
            "l2_pseudo_len=18 page_mode=0 ra=0x11,0x12 timing_adv=3,8 rfn=2044,2044",
        ),
        case(
            Channel::Agch,
            reject,
            "l2_pseudo_len=19 ra=0x78,0x79,0x7a,0x7b rfn=2044,2044,2044,2044 wait_indication=1,20,255,0",
        ),
    ]);
    cases
}

fn notification() -> Option<Notification> {
    Some(Notification { list: ListNumber::lowest(2), status: true })
}

pub fn pages() -> Vec<Case> {
    let first = PagingRequest1 {
        page_mode: PageMode::Normal,
        channels: [ChannelNeeded::Sdcch, ChannelNeeded::AnyRate],
        first: PagedMobile::of(MobileIdentity::PTmsi(PTmsi(0xd199_2173))),
        second: Some(PagedMobile::of(MobileIdentity::Imsi("262019876543210".parse().unwrap()))),
        rest: PagingRest::Read(P1RestOctets {
            notification: None,
            priorities: [None; 2],
            is_packet: [true, false],
            later: LaterRest::NONE,
        }),
    };
    let second = PagingRequest2 {
        page_mode: PageMode::Extended,
        channels: [ChannelNeeded::Any, ChannelNeeded::FullRate],
        mobiles: [PTmsi(1), PTmsi(0xffff_fffe)],
        third: Some(PagedMobile::of(MobileIdentity::PTmsi(PTmsi(0xc0de_1234)))),
        rest: PagingRest::Read(P2RestOctets {
            channel: Some(ChannelNeeded::AnyRate),
            notification: None,
            priorities: [None; 3],
            is_packet: true,
            later: LaterRest::NONE,
        }),
    };
    let third = PagingRequest3 {
        page_mode: PageMode::Normal,
        channels: [ChannelNeeded::Sdcch, ChannelNeeded::Any],
        mobiles: [PTmsi(1), PTmsi(2), PTmsi(3), PTmsi(4)],
        rest: PagingRest::Read(P3RestOctets {
            channels: Some(ChannelsNeeded { third: ChannelNeeded::FullRate, fourth: ChannelNeeded::AnyRate }),
            notification: notification(),
            priorities: [EmlppPriority::new(6), None, None, None],
            later: LaterRest::NONE,
        }),
    };
    let alone = PagingRequest1 {
        second: None,
        rest: PagingRest::Read(P1RestOctets {
            notification: notification(),
            priorities: [EmlppPriority::new(3), EmlppPriority::new(7)],
            is_packet: [false, true],
            later: LaterRest::NONE,
        }),
        ..first.clone()
    };
    vec![
        case(
            Channel::Pch,
            first,
            "rr.l2_pseudo_len=19 rr.page_mode=0 rr.chnl_needed_ch1=1 rr.chnl_needed_ch2=3 /3gpp.tmsi=0xd1992173 \
                 /e212.imsi=262019876543210 rr.packet_page_indication_1=1 rr.packet_page_indication_2=0",
        ),
        case(
            Channel::Pch,
            alone,
            "rr.l2_pseudo_len=9 rr.nln_pch=2 rr.nln_status_pch=1 rr.packet_page_indication_1=0 \
                 rr.packet_page_indication_2=1",
        ),
        // tshark names the indication of the third mobile as if it were the first of three.
        case(
            Channel::Pch,
            second,
            "rr.l2_pseudo_len=18 rr.page_mode=1 rr.chnl_needed_ch2=2 tmsi=1,0xfffffffe /3gpp.tmsi=0xc0de1234 \
                 rr.chnl_needed_ch3=3 rr.packet_paging_procedure_1=1",
        ),
        case(
            Channel::Pch,
            third,
            "rr.l2_pseudo_len=19 tmsi=1,2,3,4 rr.chnl_needed_ch3=2 rr.chnl_needed_ch4=3 rr.nln_pch=2 rr.nln_status_pch=1",
        ),
    ]
}
