//! Control messages of mobiles.

use crate::Case;
use gannet_wire::gsmtap::Channel;
use gannet_wire::id::Tlli;
use gannet_wire::rlcmac::access::AcknowledgementBurst;
use gannet_wire::rlcmac::element::{
    AckNackDescription, ChannelQuality, ChannelRequestDescription, GlobalTfi, RadioCapabilities,
    RadioCapability,
};
use gannet_wire::rlcmac::neighbour::CellName;
use gannet_wire::rlcmac::uplink::{
    CellChangeReport, MeasuredList, MeasurementReport, Neighbour, Neighbours, NetworkReport,
    PacketCellChangeFailure, PacketCellChangeNotification, PacketControlAcknowledgement,
    PacketDownlinkAckNack, PacketMeasurementReport, PacketMobileTbfStatus, PacketResourceRequest,
    PacketUplinkDummy, RequestAddress,
};
use gannet_wire::rlcmac::value::{
    AccessType, Arfcn, ArfcnIndex, Bsic, Bsn, CValue, CellChangeCause, ChangeMark, CtrlAck,
    InterferenceLevel, LlcPduType, MessageType, MultislotClass, PeakThroughputClass, RadioPriority, RlcMode,
    RlcOctets, RxLevel, RxQuality, SignVariance, StatusCause, Tfi, Timeslot,
};
use gannet_wire::rlcmac::{Later, UplinkControlBlock, UplinkMessage};

fn case(is_retry: bool, message: impl Into<UplinkMessage>, fields: &'static str) -> Case {
    let block = UplinkControlBlock { is_retry, message: message.into() }.emit().unwrap();
    Case::new("gsm_rlcmac", Channel::Pacch, true, &block, fields)
}

const TLLI: Tlli = Tlli(0xc0de_1234);

fn request(first_pdu: LlcPduType) -> ChannelRequestDescription {
    ChannelRequestDescription {
        peak_throughput: PeakThroughputClass::lowest(9),
        priority: RadioPriority::lowest(2),
        rlc_mode: RlcMode::Unacknowledged,
        first_pdu,
        octets: RlcOctets::lowest(1503),
    }
}

fn interference() -> [Option<InterferenceLevel>; 8] {
    let mut levels = [None; 8];
    levels[1] = InterferenceLevel::new(3);
    levels[6] = InterferenceLevel::new(14);
    levels
}

fn acknowledgements() -> Vec<Case> {
    let ack_nack =
        AckNackDescription { is_final: true, ssn: Bsn::lowest(101), bitmap: 0xf0f0_1234_5678_9abd };
    let quality = ChannelQuality {
        c_value: CValue::lowest(41),
        quality: RxQuality::lowest(5),
        variance: SignVariance::lowest(33),
        interference: interference(),
    };
    let report =
        PacketDownlinkAckNack { tfi: Tfi::lowest(19), ack_nack, request: None, quality, later: Later::NONE };
    let asking = PacketDownlinkAckNack { request: Some(request(LlcPduType::Other)), ..report.clone() };
    vec![
        case(
            false,
            PacketControlAcknowledgement { tlli: TLLI, ctrl_ack: CtrlAck::lowest(2), later: Later::NONE },
            "ul_payload_type=1 ul.retry=0 ul.message_type=1 tlli=0xc0de1234 ul.packet_control_ack_ctrl_ack=2",
        ),
        case(
            true,
            report,
            "ul.retry=1 ul.message_type=2 dl.tfi=19 dl.final_ack_indication=1 dl.starting_sequence_number=101 \
             ~Received_Block_Bitmap=0xf0f0123456789abd dl.c_value=41 dl.rxqual=5 dl.sign_var=33 \
             dl.slot0_i_level_tn= dl.slot1_i_level_tn=3 dl.slot6_i_level_tn=14 dl.slot7_i_level_tn= \
             ul.channel_request_description_rlc_octet_count=",
        ),
        case(
            false,
            asking,
            "ul.message_type=2 ul.channel_request_description_peak_throughput_class=9 \
             ul.channel_request_description_radio_priority=2 dl.rlc_mode=1 \
             ul.channel_request_description_llc_pdu_type=1 ul.channel_request_description_rlc_octet_count=1503 \
             dl.c_value=41 dl.slot6_i_level_tn=14",
        ),
    ]
}

fn requests() -> Vec<Case> {
    let capabilities = RadioCapabilities(vec![
        RadioCapability::gprs(1, 4, MultislotClass::lowest(12)),
        RadioCapability::gprs(3, 1, MultislotClass::lowest(6)),
    ]);
    let two_phase = PacketResourceRequest {
        access_type: Some(AccessType::PageResponse),
        address: RequestAddress::Tlli(TLLI),
        capabilities: Some(capabilities),
        request: request(LlcPduType::Acknowledgement),
        change_mark: Some(ChangeMark::lowest(1)),
        c_value: CValue::lowest(12),
        variance: Some(SignVariance::lowest(7)),
        interference: [None; 8],
        later: Later::NONE,
    };
    let on_pacch = PacketResourceRequest {
        access_type: None,
        address: RequestAddress::Tfi(GlobalTfi::Downlink(Tfi::lowest(30))),
        capabilities: None,
        change_mark: None,
        variance: None,
        interference: interference(),
        ..two_phase.clone()
    };
    vec![
        case(
            false,
            two_phase,
            "ul.message_type=5 ul.prr_access_type=1 tlli=0xc0de1234 ms_ra_capability_value_choice=1,3 \
             ul.rf_power_capability=4,1 ul.gprs_multislot_class=12,6 \
             ul.gprs_extended_dynamic_allocation_capability=0,0 \
             ul.channel_request_description_peak_throughput_class=9 \
             ul.channel_request_description_radio_priority=2 ul.channel_request_description_llc_pdu_type=0 \
             ul.channel_request_description_rlc_octet_count=1503 ul.prr_change_mark=1 ul.prr_c_value=12 \
             ul.prr_sign_var=7",
        ),
        case(
            false,
            on_pacch,
            "ul.message_type=5 ul.prr_access_type= dl.tfi=30 ms_ra_capability_value_choice= ul.prr_change_mark= \
             ul.prr_c_value=12 ul.prr_sign_var= ul.prr_i_level=3,14",
        ),
    ]
}

fn reports() -> Vec<Case> {
    let neighbour = |frequency, bsic: Option<u8>, level| Neighbour {
        frequency: ArfcnIndex::lowest(frequency),
        bsic: bsic.map(Bsic::lowest),
        level: RxLevel::lowest(level),
    };
    vec![
        case(
            false,
            PacketUplinkDummy { tlli: TLLI, later: Later::NONE },
            "ul.message_type=3 tlli=0xc0de1234",
        ),
        case(
            false,
            PacketCellChangeFailure {
                tlli: TLLI,
                arfcn: Arfcn::lowest(871),
                bsic: Bsic::lowest(0o35),
                cause: CellChangeCause::lowest(2),
                later: Later::NONE,
            },
            "ul.message_type=0 tlli=0xc0de1234 dl.arfcn=871 ul.pccf_bsic=29 ul.pccf_cause=2",
        ),
        case(
            false,
            PacketCellChangeNotification {
                tfi: GlobalTfi::Downlink(Tfi::lowest(21)),
                cell: CellName { arfcn: Arfcn::lowest(871), bsic: Bsic::lowest(0o35) },
                list: MeasuredList::BaList(true),
                pmo_used: false,
                is_repeated: true,
                report: CellChangeReport {
                    serving: RxLevel::lowest(12),
                    neighbours: Neighbours(vec![Neighbour {
                        frequency: ArfcnIndex::lowest(9),
                        bsic: Some(Bsic::lowest(0o35)),
                        level: RxLevel::lowest(40),
                    }]),
                },
                later: Later::NONE,
            },
            "ul.message_type=12 dl.tfi=21 dl.arfcn=871 ul.pccn_ba_ind=1 ul.pccn_pmo_used=0 ul.pccn_pccn_sending=1 \
             dl.rxlev_serving_cell=12 dl.number_of_nc_measurements=1",
        ),
        case(
            false,
            PacketMeasurementReport {
                tlli: TLLI,
                change_mark: Some(ChangeMark::lowest(3)),
                report: MeasurementReport::Network(NetworkReport {
                    is_nc2: true,
                    serving: RxLevel::lowest(44),
                    interference: None,
                    neighbours: Neighbours(vec![neighbour(5, Some(62), 20), neighbour(31, None, 9)]),
                }),
                later: Later::NONE,
            },
            "ul.message_type=4 tlli=0xc0de1234 ul.pmr_psi5_change_mark=3 ul.nc_mode=1 ul.rxlev_serving_cell=44 \
             ul.number_of_nc_measurements=2 ul.frequency_n=5,31 ul.bsic_n=62 ul.rxlev_n=20,9",
        ),
        case(
            false,
            PacketMobileTbfStatus {
                tfi: GlobalTfi::Uplink(Tfi::lowest(9)),
                cause: StatusCause::WrongState,
                about: MessageType::new(0b00_1010),
                later: Later::NONE,
            },
            "ul.message_type=6 ul.tfi=9 ul.pmts_tbf_cause=4 dl.message_type=10",
        ),
    ]
}

pub fn messages() -> Vec<Case> {
    [acknowledgements(), requests(), reports()].concat()
}

pub fn acknowledgement_bursts() -> Vec<Case> {
    let burst = |timeslot: Option<u8>| AcknowledgementBurst {
        ctrl_ack: CtrlAck::lowest(1),
        timeslot: timeslot.map(Timeslot::lowest),
    };
    let eight = |timeslot| [burst(timeslot).emit8()];
    // The bits of eleven stand first in two octets.
    let eleven = |timeslot| (burst(timeslot).emit11() << 5).to_be_bytes();
    let case = |octets: &[u8], fields| Case::new("gsm_rlcmac", Channel::Pacch, true, octets, fields);
    vec![
        case(&eight(None), "message_type_6=31"),
        case(&eight(Some(6)), "message_type_3=0 ~TN_RRBP=6"),
        case(&eleven(None), "message_type_9=505"),
        case(&eleven(Some(6)), "message_type_6=55 ~TN_RRBP=6"),
    ]
}
