//! Control messages of the network.

use crate::Case;
use gannet_wire::gsmtap::Channel;
use gannet_wire::id::{PTmsi, Plmn, Rai, Tlli};
use gannet_wire::l3::ie::Octets;
use gannet_wire::rlcmac::bcch::{ControlChannel, RachParameters, SystemInformation3};
use gannet_wire::rlcmac::cell::{
    AccessBurst, AccessThreshold, BcchChangeMark, Broadcast, BsCvMax, CellAccess, CellInformation,
    CellOptions, CellPowerControl, ChangeField, DrxTimerCode, NetworkMode, PacketSystemInformation13, Pan,
    PanStep, Rac, SystemInformation13, T3168Code, T3192Code,
};
use gannet_wire::rlcmac::coding::CodingScheme;
use gannet_wire::rlcmac::control::{ControlAddress, DownlinkControlHeader, OptionalOctets};
use gannet_wire::rlcmac::downlink::{
    AssignedPower, BlockPowerControl, DynamicAllocation, MeasurementMapping, PacketAccessReject,
    PacketDownlinkAssignment, PacketDownlinkDummy, PacketPdchRelease, PacketPollingRequest,
    PacketPowerControlTimingAdvance, PacketQueueingNotification, PacketTbfRelease, PacketTimeslotReconfigure,
    PacketUplinkAckNack, PacketUplinkAssignment, PowerOrTiming, PoweredTimeslot, PoweredTimeslots,
    ReconfiguredAllocation, ReconfiguredUplink, Reject, RejectAddress, SingleBlockAllocation, TimingAndPower,
    UplinkAllocation, UplinkTimeslots,
};
use gannet_wire::rlcmac::element::{
    AckNackDescription, AllocatedChannels, ChangeMarks, ContinuousTimingAdvance, DirectFrequencies,
    DownlinkPower, Frequencies, FrequencyList, FrequencyParameters, GlobalPowerControl, GlobalTfi,
    GlobalTimingAdvance, IndirectFrequencies, MobileAllocation, PacketRequestReference, PacketTimingAdvance,
    PolledAddress, PowerControl, RelativeFrame, StartingTime, TfiOrTlli, UplinkAddress, Wait,
};
use gannet_wire::rlcmac::paging::{CircuitPage, PacketPagingRequest, Page, PagedIdentity};
use gannet_wire::rlcmac::value::{
    AccessInformation, AckType, Alpha, Arfcn, AveragingPeriod, BlockPower, BlocksGranted, Bsn, BtsPowerMode,
    ChangeMark, ChannelNeeded, EmlppPriority, Gamma, Hsn, InterferenceFilter, ListNumber, MaNumber, MacMode,
    Maio, MeasuredChannel, MeasurementInterval, NetworkControlOrder, P0, PageMode, PdchSet, PersistenceLevel,
    PowerReduction, PrMode, ReducedFrame, ReleaseCause, RflNumber, RlcMode, Rrbp, Rti, Tfi, Timeslot,
    TimingAdvance, TimingAdvanceIndex, TlliBlockCoding, Tqi, Tsc, Usf, UsfGranularity, WaitIndication,
    WaitUnit,
};
use gannet_wire::rlcmac::{Bits, DownlinkControlBlock, DownlinkMessage, Later, LaterRest};

pub const TLLI: Tlli = Tlli(0xc0de_1234);

fn case_with(header: DownlinkControlHeader, message: DownlinkMessage, fields: &'static str) -> Case {
    let block = DownlinkControlBlock { header, message }.emit().unwrap();
    Case::new("gsm_rlcmac", Channel::Pacch, false, &block, fields)
}

pub fn case(message: impl Into<DownlinkMessage>, fields: &'static str) -> Case {
    case_with(DownlinkControlHeader::new(Usf::lowest(5)), message.into(), fields)
}

fn timing_advance() -> PacketTimingAdvance {
    let continuous =
        ContinuousTimingAdvance { index: TimingAdvanceIndex::lowest(11), timeslot: Timeslot::lowest(3) };
    PacketTimingAdvance { value: TimingAdvance::new(37), continuous: Some(continuous) }
}

fn frequencies() -> FrequencyParameters {
    FrequencyParameters { tsc: Tsc::lowest(6), frequencies: Frequencies::Arfcn(Arfcn::lowest(700)) }
}

fn gammas() -> [Option<Gamma>; 8] {
    let mut gammas = [None; 8];
    gammas[2] = Gamma::new(17);
    gammas[5] = Gamma::new(30);
    gammas
}

fn power() -> AssignedPower {
    AssignedPower { p0: P0::lowest(9), bts_mode: BtsPowerMode::B, pr_mode: PrMode::A }
}

fn downlink_assignment() -> PacketDownlinkAssignment {
    PacketDownlinkAssignment {
        page_mode: PageMode::Extended,
        persistence: Some([1, 4, 9, 15].map(PersistenceLevel::lowest)),
        address: TfiOrTlli::Tlli(TLLI),
        mac_mode: MacMode::ExtendedDynamic,
        rlc_mode: RlcMode::Unacknowledged,
        control_ack: true,
        timeslots: PdchSet(0b0011_1000),
        timing_advance: timing_advance(),
        power: Some(power()),
        frequencies: Some(frequencies()),
        tfi: Tfi::new(21),
        power_control: None,
        starting_time: Some(StartingTime::Absolute(ReducedFrame::of(2044))),
        measurement: None,
        later: Later::NONE,
    }
}

fn dynamic(timeslots: UplinkTimeslots) -> DynamicAllocation {
    DynamicAllocation {
        is_extended: true,
        power: Some(DownlinkPower { p0: P0::lowest(6), pr_mode: PrMode::B }),
        granularity: UsfGranularity::Four,
        tfi: Tfi::new(13),
        blocks: None,
        starting_time: Some(StartingTime::Relative(RelativeFrame::lowest(5))),
        timeslots,
    }
}

fn uplink_assignment(allocation: UplinkAllocation) -> PacketUplinkAssignment {
    PacketUplinkAssignment {
        page_mode: PageMode::Normal,
        persistence: None,
        address: UplinkAddress::Tlli(TLLI),
        coding: CodingScheme::Cs3,
        tlli_coding: TlliBlockCoding::AsCommanded,
        timing_advance: PacketTimingAdvance { value: TimingAdvance::new(5), continuous: None },
        frequencies: None,
        allocation,
        later: Later::NONE,
    }
}

fn usfs() -> UplinkTimeslots {
    let mut usfs = [None; 8];
    usfs[1] = Usf::new(4);
    usfs[7] = Usf::new(6);
    UplinkTimeslots::Usf(usfs)
}

fn powered() -> UplinkTimeslots {
    let mut timeslots = [None; 8];
    timeslots[3] = Some(PoweredTimeslot { usf: Usf::lowest(2), gamma: Gamma::lowest(19) });
    UplinkTimeslots::UsfAndPower(PoweredTimeslots { alpha: Alpha::lowest(8), timeslots })
}

pub fn assignments() -> Vec<Case> {
    let mapping = MeasurementMapping {
        start: StartingTime::Relative(RelativeFrame::lowest(1)),
        interval: MeasurementInterval::lowest(20),
        timeslots: PdchSet(0x81),
    };
    let by_tfi = PacketDownlinkAssignment {
        persistence: None,
        address: TfiOrTlli::Tfi(GlobalTfi::Uplink(Tfi::lowest(7))),
        frequencies: None,
        power_control: Some(PowerControl { alpha: Alpha::lowest(3), gammas: gammas() }),
        starting_time: None,
        measurement: Some(mapping),
        ..downlink_assignment()
    };
    let granted = DynamicAllocation { blocks: BlocksGranted::new(77), ..dynamic(usfs()) };
    vec![
        case(
            downlink_assignment(),
            "dl_payload_type=1 usf=5 dl.message_type=2 page_mode=1 ~PERSISTENCE_LEVEL=1,4,9,15 \
                 tlli=0xc0de1234 dl.mac_mode=1 dl.rlc_mode=1 dl.control_ack=1 dl.timeslot_allocation=0x38 \
                 dl.timing_advance_value=37 dl.timing_advance_index=11 dl.timing_advance_timeslot_number=3 \
                 dl.p0=9 dl.bts_pwr_ctrl_mode=1 dl.pr_mode=0 dl.tsc=6 dl.arfcn=700 dl.tfi=21 \
                 dl.n32=1 dl.n51=4 dl.n26=16 dl.alpha=",
        ),
        case(
            by_tfi,
            "dl.message_type=2 ul.tfi=7 dl.alpha=3 dl.gamma=17,30 dl.arfcn= dl.pda_measurement_interval=20 \
                 dl.pda_measurement_bitmap=0x81",
        ),
        case(
            uplink_assignment(UplinkAllocation::Dynamic(dynamic(usfs()))),
            "dl.message_type=10 page_mode=0 tlli=0xc0de1234 dl.gprs_channel_coding_command=2 \
                 dl.tlli_block_channel_coding=1 dl.timing_advance_value=5 dl.extended_dynamic_allocation=1 \
                 dl.p0=6 dl.pr_mode=1 dl.usf_granularity=1 ul.tfi=13 dl.rlc_data_blocks_granted= dl.k=5 \
                 usf=5,4,6",
        ),
        case(
            uplink_assignment(UplinkAllocation::Dynamic(dynamic(powered()))),
            "dl.message_type=10 dl.alpha=8 usf=5,2 dl.gamma=19 ul.tfi=13",
        ),
        case(
            uplink_assignment(UplinkAllocation::Dynamic(granted)),
            "dl.message_type=10 dl.rlc_data_blocks_granted=77 usf=5,4,6",
        ),
    ]
}

fn single_block(frequencies: Frequencies, fields: &'static str) -> Case {
    let block = SingleBlockAllocation {
        timeslot: Timeslot::lowest(6),
        power_control: Some(BlockPowerControl { alpha: Alpha::lowest(10), gamma: Gamma::lowest(25) }),
        power: Some(power()),
        starting_time: StartingTime::Absolute(ReducedFrame::of(42_000)),
    };
    let message = PacketUplinkAssignment {
        address: UplinkAddress::Tqi(Tqi::lowest(0xbeef)),
        frequencies: Some(FrequencyParameters { tsc: Tsc::lowest(1), frequencies }),
        ..uplink_assignment(UplinkAllocation::SingleBlock(block))
    };
    case(message, fields)
}

pub fn frequencies_and_single_blocks() -> Vec<Case> {
    let change_marks = ChangeMarks { first: ChangeMark::lowest(2), second: ChangeMark::new(1) };
    let indirect = IndirectFrequencies {
        maio: Maio::lowest(33),
        number: MaNumber::lowest(14),
        change_marks: Some(change_marks),
    };
    let direct = DirectFrequencies {
        maio: Maio::lowest(21),
        allocation: MobileAllocation {
            hsn: Hsn::lowest(44),
            lists: [3, 12].map(RflNumber::lowest).to_vec(),
            channels: AllocatedChannels::Bitmap(Bits::new(&[0b1011_0000], 5)),
        },
    };
    let list = FrequencyList { maio: Maio::lowest(50), hsn: Hsn::lowest(9), contents: vec![0x8f, 1, 2, 3] };
    vec![
        single_block(
            Frequencies::Arfcn(Arfcn::lowest(1023)),
            "dl.message_type=10 dl.tqi=0xbeef dl.tsc=1 dl.arfcn=1023 dl.pua_timeslot_number=6 dl.alpha=10 \
                 dl.gamma=25 dl.p0=9 dl.bts_pwr_ctrl_mode=1 dl.pr_mode=0 dl.n32=31 dl.n51=27 dl.n26=10",
        ),
        single_block(
            Frequencies::Indirect(indirect),
            "dl.tsc=1 dl.maio=33 dl.pua_ma_number=14 dl.pua_change_mark_1=2 dl.pua_change_mark_2=1 \
                 dl.pua_timeslot_number=6",
        ),
        single_block(
            Frequencies::Direct(direct),
            "dl.maio=21 dl.hsn=44 dl.gprs_mobile_allocation_rfl_number=3,12 dl.pua_timeslot_number=6",
        ),
        single_block(
            Frequencies::List(list),
            "dl.maio=50 dl.hsn=9 dl.ma_frequency_list_length=4 dl.ma_frequency_list=0x8f,1,2,3 dl.pua_timeslot_number=6",
        ),
    ]
}

fn request_reference() -> PacketRequestReference {
    // One phase, class 12, priority 2.
    PacketRequestReference {
        access: AccessInformation::lowest(0b001_1001_0101),
        frame: ReducedFrame::of(2044),
    }
}

fn acknowledgement() -> PacketUplinkAckNack {
    PacketUplinkAckNack {
        page_mode: PageMode::SameAsBefore,
        tfi: Tfi::lowest(29),
        coding: CodingScheme::Cs2,
        ack_nack: AckNackDescription { is_final: false, ssn: Bsn::lowest(66), bitmap: 0x8000_0000_0000_0001 },
        contention_tlli: Some(TLLI),
        timing_advance: None,
        power_control: None,
        extension: None,
        later: Later::NONE,
    }
}

fn rejects_and_queueing() -> Vec<Case> {
    let wait = |value, unit| Some(Wait { value: WaitIndication::lowest(value), unit });
    let reject = PacketAccessReject {
        page_mode: PageMode::Normal,
        reject: Reject {
            address: RejectAddress::Request(request_reference()),
            wait: wait(200, WaitUnit::TwentyMilliseconds),
        },
        more: vec![
            Reject { address: RejectAddress::Tlli(TLLI), wait: wait(5, WaitUnit::Second) },
            Reject { address: RejectAddress::Tfi(GlobalTfi::Downlink(Tfi::lowest(3))), wait: None },
        ],
        later: Later::NONE,
    };
    let queued = PacketQueueingNotification {
        page_mode: PageMode::Normal,
        request: request_reference(),
        tqi: Tqi::lowest(0x1234),
    };
    vec![
        case(
            reject,
            "dl.message_type=33 dl.pua_random_access_information=0x195 ~FRAME_NUMBER=0x08,0x90 \
             dl.par_wait_indication=200,5 dl.par_wait_indication_size=1,0 tlli=0xc0de1234 dl.tfi=3",
        ),
        case(
            queued,
            "dl.message_type=6 dl.pua_random_access_information=0x195 ~FRAME_NUMBER=0x08,0x90 dl.tqi=0x1234",
        ),
    ]
}

fn paging_and_polling() -> Vec<Case> {
    let circuit = CircuitPage {
        identity: PagedIdentity::Temporary(PTmsi(0x1122_3344)),
        channel: ChannelNeeded::FullRate,
        priority: EmlppPriority::new(5),
    };
    let imsi = PagedIdentity::Mobile(Octets::from_start(&[0x09, 0x10, 0x10, 0, 0, 0, 0, 0x10]));
    let page = |pages| PacketPagingRequest {
        page_mode: PageMode::Normal,
        persistence: None,
        list: ListNumber::new(2),
        pages,
        later: Later::NONE,
    };
    let temporary = Page::Packet(PagedIdentity::Temporary(PTmsi(0xd199_2173)));
    let poll = PacketPollingRequest {
        page_mode: PageMode::Normal,
        address: PolledAddress::Tlli(TLLI),
        answer: AckType::ControlBlock,
        later: Later::NONE,
    };
    vec![
        case(
            page(vec![temporary, Page::Circuit(circuit)]),
            "dl.message_type=34 dl.nln=2 dl.page_request_ptmsi=0xd1,0x99,0x21,0x73 dl.ppr_conn_tmsi=0x11,0x22,0x33,0x44 \
             dl.ppr_channel_needed=2 dl.ppr_emlpp_priority=5",
        ),
        case(
            page(vec![Page::Packet(imsi)]),
            "dl.message_type=34 dl.ppr_length_of_mobile_identity_contents=8",
        ),
        case(poll, "dl.message_type=4 tlli=0xc0de1234 dl.ack_type=1"),
    ]
}

fn power_and_timing() -> Vec<Case> {
    let continuous = |index, timeslot| ContinuousTimingAdvance {
        index: TimingAdvanceIndex::lowest(index),
        timeslot: Timeslot::lowest(timeslot),
    };
    let timing_advance = GlobalTimingAdvance {
        value: TimingAdvance::new(63),
        uplink: Some(continuous(4, 1)),
        downlink: Some(continuous(9, 7)),
    };
    let power_control = PowerControl { alpha: Alpha::lowest(3), gammas: gammas() };
    let global_power = GlobalPowerControl {
        alpha: Alpha::lowest(6),
        idle_averaging: AveragingPeriod::lowest(25),
        transfer_averaging: AveragingPeriod::lowest(12),
        pb: PowerReduction::lowest(3),
        measured: MeasuredChannel::Pdch,
        measurement_list: false,
        interference_filter: InterferenceFilter::lowest(10),
    };
    let message = |global_power, parameters| PacketPowerControlTimingAdvance {
        page_mode: PageMode::Normal,
        tfi: GlobalTfi::Uplink(Tfi::lowest(24)),
        global_power,
        parameters,
        later: Later::NONE,
    };
    vec![
        case(
            message(None, PowerOrTiming::Both(TimingAndPower { timing_advance, power_control })),
            "dl.message_type=5 ul.tfi=24 dl.timing_advance_value=63 ul.timing_advance_index=4 \
             ul.timing_advance_timeslot_number=1 dl.timing_advance_index=9 dl.timing_advance_timeslot_number=7 \
             dl.alpha=3 dl.gamma=17,30",
        ),
        case(
            message(Some(global_power), PowerOrTiming::Power(power_control)),
            "dl.message_type=5 dl.alpha=6,3 dl.t_avg_w=25 dl.t_avg_t=12 dl.pb=3 dl.pc_meas_chan=1 \
             dl.int_meas_channel_list_avail=0 dl.n_avg_i=10 dl.gamma=17,30 dl.timing_advance_value=",
        ),
        case(
            message(None, PowerOrTiming::Timing(timing_advance)),
            "dl.message_type=5 dl.timing_advance_value=63 dl.alpha= dl.gamma=",
        ),
    ]
}

fn releases_and_others() -> Vec<Case> {
    let release = PacketTbfRelease {
        page_mode: PageMode::Normal,
        tfi: GlobalTfi::Downlink(Tfi::lowest(31)),
        uplink: false,
        downlink: true,
        cause: ReleaseCause::Abnormal,
    };
    let timing_advance = PacketTimingAdvance { value: TimingAdvance::new(2), continuous: None };
    let full = PacketUplinkAckNack {
        tfi: Tfi::lowest(1),
        contention_tlli: None,
        timing_advance: Some(timing_advance),
        power_control: Some(PowerControl { alpha: Alpha::lowest(7), gammas: gammas() }),
        ..acknowledgement()
    };
    let available = PacketPdchRelease { page_mode: PageMode::Normal, available: PdchSet(0x7e) };
    let dummy = PacketDownlinkDummy {
        page_mode: PageMode::Reorganization,
        persistence: Some([0, 3, 8, 12].map(PersistenceLevel::lowest)),
    };
    vec![
        case(
            release,
            "dl.message_type=8 dl.tfi=31 dl.packetbf_release_uplink_release=0 \
             dl.packetbf_release_downlink_release=1 dl.packetbf_release_tbf_release_cause=2",
        ),
        case(
            acknowledgement(),
            "dl.message_type=9 page_mode=3 ul.tfi=29 dl.gprs_channel_coding_command=1 \
             dl.final_ack_indication=0 dl.starting_sequence_number=66 ~Received_Block_Bitmap=0x8000000000000001 \
             tlli=0xc0de1234 dl.timing_advance_value= dl.alpha=",
        ),
        case(full, "dl.message_type=9 ul.tfi=1 tlli= dl.timing_advance_value=2 dl.alpha=7 dl.gamma=17,30"),
        case(available, "dl.message_type=35 dl.ppr_timeslots_available=0x7e"),
        case(dummy, "dl.message_type=37 page_mode=2 ~PERSISTENCE_LEVEL=0,3,8,12"),
    ]
}

fn reconfigurations() -> Vec<Case> {
    let uplink = ReconfiguredUplink {
        is_extended: false,
        power: None,
        granularity: UsfGranularity::One,
        blocks: None,
        starting_time: Some(StartingTime::Relative(RelativeFrame::lowest(8191))),
        timeslots: usfs(),
    };
    let reconfigure = PacketTimeslotReconfigure {
        page_mode: PageMode::Normal,
        address: GlobalTfi::Uplink(Tfi::lowest(11)),
        coding: CodingScheme::Cs4,
        timing_advance: GlobalTimingAdvance::default(),
        downlink_mode: RlcMode::Unacknowledged,
        control_ack: true,
        downlink_tfi: Tfi::new(12),
        uplink_tfi: Tfi::new(14),
        downlink_timeslots: PdchSet(0x3c),
        frequencies: Some(frequencies()),
        uplink: ReconfiguredAllocation::Dynamic(uplink.clone()),
        later: Later::NONE,
    };
    let powered = ReconfiguredUplink {
        is_extended: true,
        power: Some(DownlinkPower { p0: P0::lowest(6), pr_mode: PrMode::B }),
        starting_time: None,
        timeslots: powered(),
        ..uplink
    };
    let plain = PacketTimeslotReconfigure {
        address: GlobalTfi::Downlink(Tfi::lowest(11)),
        downlink_tfi: None,
        uplink_tfi: None,
        frequencies: None,
        uplink: ReconfiguredAllocation::Dynamic(powered),
        ..reconfigure.clone()
    };
    vec![
        case(
            reconfigure,
            "dl.message_type=7 ul.tfi=11,14 dl.tfi=12 dl.gprs_channel_coding_command=3 dl.rlc_mode=1 \
             dl.control_ack=1 dl.timeslot_allocation=0x3c dl.tsc=6 dl.arfcn=700 dl.extended_dynamic_allocation=0 \
             dl.usf_granularity=0 dl.k=8191 usf=5,4,6",
        ),
        case(
            plain,
            "dl.message_type=7 dl.tfi=11 ul.tfi= dl.extended_dynamic_allocation=1 dl.p0=6 dl.pr_mode=1 \
             dl.alpha=8 dl.gamma=19 usf=5,2",
        ),
    ]
}

fn cell_information() -> CellInformation {
    let options = CellOptions {
        mode: NetworkMode::III,
        t3168: T3168Code::lowest(5),
        t3192: T3192Code::lowest(6),
        drx_timer_max: DrxTimerCode::lowest(4),
        access_burst: AccessBurst::Bits11,
        control_ack: AckType::ControlBlock,
        bs_cv_max: BsCvMax::lowest(9),
        pan: Some(Pan {
            decrement: PanStep::lowest(1),
            increment: PanStep::lowest(2),
            maximum: PanStep::lowest(5),
        }),
        extension: None,
    };
    let power = CellPowerControl {
        alpha: Alpha::lowest(7),
        idle_averaging: AveragingPeriod::lowest(21),
        transfer_averaging: AveragingPeriod::lowest(11),
        measured: MeasuredChannel::Pdch,
        interference_filter: InterferenceFilter::lowest(6),
    };
    let access = CellAccess {
        rac: Rac::lowest(0xa5),
        split_paging: true,
        threshold: AccessThreshold::lowest(5),
        control: NetworkControlOrder::Nc1,
        options,
        power,
    };
    CellInformation {
        change_mark: BcchChangeMark::lowest(6),
        change_field: ChangeField::lowest(9),
        allocation: None,
        broadcast: Broadcast::Bcch(access),
    }
}

pub fn system_information() -> Vec<Case> {
    let packet = PacketSystemInformation13 {
        page_mode: PageMode::Normal,
        cell: cell_information(),
        later: Later::NONE,
    };
    let packet = case(
        packet,
        "dl.message_type=55 dl.bcch_change_mark=6 dl.si_change_field=9 dl.rac=0xa5 \
             dl.pbcch_not_present_spgc_ccch_sup=1 dl.pbcch_not_present_priority_access_thr=5 \
             dl.gprs_cell_options_nmo=2 dl.gprs_cell_options_t3168=5 dl.gprs_cell_options_t3192=6 \
             dl.gprs_cell_options_drx_timer_max=4 dl.gprs_cell_options_access_burst_type=1 \
             dl.gprs_cell_options_bs_cv_max=9 dl.gprs_cell_options_pan_dec=1 dl.gprs_cell_options_pan_inc=2 \
             dl.gprs_cell_options_pan_max=5 dl.alpha=7 dl.t_avg_w=21 dl.t_avg_t=11 dl.pc_meas_chan=1 dl.n_avg_i=6",
    );
    let block = SystemInformation13 { cell: Some(cell_information()), later: LaterRest::NONE };
    let block = block.emit().unwrap();
    let block = Case::new(
        "gsm_a.rr",
        Channel::Bcch,
        false,
        &block,
        "l2_pseudo_len=0 bcch_change_mark=6 si_change_field=9 rac=0xa5 spgc_ccch_sup=1 priority_access_thr=5 \
             network_control_order=1 nmo=2 t3168=5 t3192=6 drx_timer_max=4 access_burst_type=1 \
             control_ack_type=1 bs_cv_max=9 pan_dec=1 pan_inc=2 pan_max=5 alpha=7 t_avg_w=21 t_avg_t=11 \
             pc_meas_chan=1 n_avg_i=6",
    );
    let rach = RachParameters { max_retrans: 2, tx_integer: 20, is_barred: false, barred_classes: 0x0400 };
    let rai = Rai { plmn: Plmn::new(262, 42, false), lac: 0x1007, rac: 3 };
    macro_rules! fields {
        ($own:literal) => {
            concat!(
                "l2_pseudo_len=18 /gsm_a.dtap.msg_rr_type=0x1b /gsm_a.bssmap.cell_ci=0x1234 /gsm_a.lac=0x1007 ",
                "/e212.lai.mcc=262 /e212.lai.mnc=42 max_retrans=1 tx_integer=12 cell_barr_access=0 acc=0x0400 ",
                "gprs_indicator=1 gprs_ra_colour=0 si13_position=0 bs_ag_blks_res=2 bs_pa_mfrms=7 t3212=30 ",
                $own
            )
        };
    }
    let third = |is_combined: bool, expected: &'static str| {
        let control = ControlChannel {
            has_attach: is_combined,
            access_blocks: 2,
            is_combined,
            channels: 1,
            multiframes: 7,
            t3212: 30,
        };
        let block = SystemInformation3::new(rai, 0x1234, control, rach).emit().unwrap();
        Case::new("gsm_a.rr", Channel::Bcch, false, &block, expected)
    };
    let uncombined = third(false, fields!("att=0 ccch_conf=0"));
    vec![packet, block, uncombined, third(true, fields!("att=1 ccch_conf=1"))]
}

pub fn messages() -> Vec<Case> {
    let cases = [
        rejects_and_queueing(),
        paging_and_polling(),
        power_and_timing(),
        releases_and_others(),
        reconfigurations(),
    ];
    cases.concat()
}

pub fn headers() -> Vec<Case> {
    let dummy = || PacketDownlinkDummy { page_mode: PageMode::Normal, persistence: None }.into();
    let address = ControlAddress { power: BlockPower::lowest(2), tfi: GlobalTfi::Downlink(Tfi::lowest(17)) };
    let optional =
        OptionalOctets { is_second: false, rti: Rti::lowest(22), is_final: true, address: Some(address) };
    let poll = DownlinkControlHeader { poll: Some(Rrbp::N21), ..DownlinkControlHeader::new(Usf::lowest(1)) };
    let addressed = DownlinkControlHeader { optional: Some(optional), ..poll };
    let unaddressed = DownlinkControlHeader {
        optional: Some(OptionalOctets { address: None, ..optional }),
        poll: None,
        ..addressed
    };
    vec![
        case_with(poll, dummy(), "dl_payload_type=1 rrbp=2 s_p=1 usf=1 dl.rbsn= dl.message_type=37"),
        case_with(
            addressed,
            dummy(),
            "dl_payload_type=2 rrbp=2 s_p=1 usf=1 dl.rbsn=0 dl.rti=22 dl.fs=1 dl.ac=1 dl.pr=2 dl.tfi=17 dl.d=1 \
                 dl.message_type=37",
        ),
        case_with(unaddressed, dummy(), "dl_payload_type=2 s_p=0 dl.rti=22 dl.ac=0 dl.message_type=37"),
    ]
}
