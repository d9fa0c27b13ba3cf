//! Layer 3 against Wireshark, field by field: every message with every element.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

mod gb;

use Direction::{Downlink, Uplink};
use gannet_testkit::{Need, tshark::Capture};
use gannet_wire::id::{Nsapi, PTmsi, Rai, Sapi};
use gannet_wire::l3::ie::*;
use gannet_wire::l3::sm::{
    ActivateAccept, ActivateReject, ActivateRequest, ActivateSecondaryAccept, ActivateSecondaryReject,
    ActivateSecondaryRequest, DeactivateAccept, DeactivateRequest, ModifyAcceptMo, ModifyAcceptMt,
    ModifyReject, ModifyRequestMo, ModifyRequestMt, RequestActivation, RequestActivationReject, SmMessage,
    SmStatus,
};
use gannet_wire::l3::{Direction, L3Message, gmm::*};
use gannet_wire::llc::{Control, Header};
use std::process::ExitCode;

/// A message and what Wireshark must say about it.
type Case = (Direction, L3Message, Vec<(&'static str, &'static str)>);

/// Fields in which Wireshark complains. Its notes about spare bits and the like are not errors.
const COMPLAINTS: [&str; 5] = [
    "gsm_a.gm.extraneous_data",
    "gsm_a.gm.not_enough_data",
    "gsm_a.gm.undecoded",
    "gsm_a.gm.missing_mandatory_element",
    "_ws.malformed",
];

fn check(cases: &[Case]) {
    let mut fields: Vec<&str> = COMPLAINTS.to_vec();
    for (_, _, expected) in cases {
        for (field, _) in expected {
            if !fields.contains(field) {
                fields.push(field);
            }
        }
    }
    let mut capture = Capture::new();
    for (direction, message, _) in cases {
        let control = Control::Ui { nu: 0, encrypted: false, protected: true };
        let header = Header { cr: *direction == Downlink, sapi: Sapi::GMM, control };
        let pdu = gb::ll_pdu(&header, &message.to_vec());
        match direction {
            Uplink => capture.add_udp(22000, 23000, &gb::uplink(&pdu)),
            Downlink => capture.add_udp(23000, 22000, &gb::downlink(&pdu)),
        }
    }
    let rows = capture.dissect(&gb::OPTIONS, &fields);
    let mut wrong = Vec::new();
    for ((_, message, expected), row) in cases.iter().zip(&rows) {
        for field in COMPLAINTS {
            let at = fields.iter().position(|f| *f == field).unwrap();
            if !row[at].is_empty() {
                wrong.push(format!("{}: {field} {}", message.name(), row[at]));
            }
        }
        for (field, value) in expected {
            let at = fields.iter().position(|f| f == field).unwrap();
            if row[at] != *value {
                wrong.push(format!("{}: {field} is {} instead of {value}", message.name(), row[at]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn gmm(
    direction: Direction,
    message: impl Into<GmmMessage>,
    expected: &[(&'static str, &'static str)],
) -> Case {
    (direction, L3Message::Gmm(message.into()), expected.to_vec())
}

fn sm(
    direction: Direction,
    message: impl Into<SmMessage>,
    expected: &[(&'static str, &'static str)],
) -> Case {
    (direction, L3Message::Sm { ti: 2, ti_flag: true, message: message.into() }, expected.to_vec())
}

const MSG: &str = "gsm_a.dtap.msg_gmm_type";
const SM_MSG: &str = "gsm_a.dtap.msg_sm_type";
const ELEMENTS: &str = "gsm_a.gm.elem_id";

/// N-PDU number 17, then the PDP context status of NSAPI 0 to 15, of which 5 is active.
const NUMBER_AND_STATUS: &str = "0x0011,0x0000,0x0000,0x0000,0x0000,0x0000,0x0001,0x0000,0x0000,0x0000,0x0000,0x0000,\
     0x0000,0x0000,0x0000,0x0000,0x0000";

fn rai() -> Rai {
    Rai::from_octets([0x13, 0x00, 0x14, 0x12, 0x34, 0x56])
}

fn ptmsi() -> MobileIdentity {
    MobileIdentity::PTmsi(PTmsi(0xdead_beef))
}

fn attach() {
    check(&[
        gmm(
            Uplink,
            AttachRequest {
                ms_network_capability: MsNetworkCapability::typical(),
                attach_type: AttachType { kind: AttachKind::Combined, follow_on: true },
                cksn: Cksn(5),
                drx: DrxParameter {
                    split_pg_cycle: 10,
                    cn_drx_coefficient: 7,
                    split_on_ccch: true,
                    non_drx_timer: 3,
                },
                identity: MobileIdentity::Imsi("262423203000056".parse().unwrap()),
                old_rai: rai(),
                ms_radio_access_capability: MsRadioAccessCapability(vec![0x13, 0x42, 0x23, 0x57, 0x2b, 0xf7]),
                old_ptmsi_signature: Some(PTmsiSignature(0x0012_3456)),
                requested_ready_timer: Some(GprsTimer::from_seconds(44)),
                tmsi_status: Some(TmsiStatus::Available),
            },
            &[
                (MSG, "0x01"),
                ("gsm_a.gm.gmm.net_cap.gea1", "1"),
                ("gsm_a.gm.gmm.net_cap.smdch", "1"),
                ("gsm_a.gm.gmm.net_cap.smgprs", "1"),
                ("gsm_a.gm.gmm.net_cap.ucs2", "0"),
                ("gsm_a.gm.gmm.net_cap.rev", "1"),
                ("gsm_a.gm.gmm.net_cap.pfc", "1"),
                ("gsm_a.gm.gmm.net_cap.gea2", "1"),
                ("gsm_a.gm.gmm.net_cap.gea3", "0"),
                ("gsm_a.gm.gmm.type_of_attach", "3"),
                ("gsm_a.gm.gmm.for", "1"),
                ("gsm_a.gm.gmm.split_pg_cycle_code", "10"),
                ("gsm_a.gm.gmm.cn_spec_drx_cycle_len_coef", "7"),
                ("gsm_a.gm.gmm.split_on_ccch", "1"),
                ("gsm_a.gm.gmm.non_drx_timer", "3"),
                ("e212.imsi", "262423203000056"),
                ("gsm_a.lac", "0x0001,0x1234"),
                ("gsm_a.gm.gmm.rac", "0x00,0x56"),
                ("gsm_a.gm.gmm.ptmsi_sig", "0x123456"),
                ("gsm_a.gm.gmm.gprs_timer_value", "22"),
                ("gsm_a.gm.gmm.gprs_timer_unit", "0"),
                ("gsm_a.gm.gmm.tmsi_flag", "1"),
            ],
        ),
        gmm(
            Downlink,
            AttachAccept {
                result: AttachResult::Combined,
                force_to_standby: ForceToStandby::Indicated,
                periodic_ra_update_timer: GprsTimer::from_seconds(3240),
                radio_priority_sms: RadioPriority::Two,
                radio_priority_tom8: RadioPriority::Three,
                rai: rai(),
                ptmsi_signature: Some(PTmsiSignature(0x00ab_cdef)),
                negotiated_ready_timer: Some(GprsTimer::DEACTIVATED),
                allocated_ptmsi: Some(ptmsi()),
                ms_identity: Some(MobileIdentity::PTmsi(PTmsi(1))),
                gmm_cause: Some(GmmCause::MscNotReachable),
                t3302: Some(GprsTimer::from_seconds(720)),
                cell_notification: Some(CellNotification),
                equivalent_plmns: Some(EquivalentPlmns(vec![rai().plmn])),
                network_feature_support: Some(NetworkFeatureSupport(8)),
            },
            &[
                (MSG, "0x02"),
                ("gsm_a.gm.gmm.res_of_attach", "3"),
                ("gsm_a.gm.gmm.force_to_standby", "1"),
                ("gsm_a.gm.gmm.gprs_timer_value", "9,0"),
                ("gsm_a.gm.gmm.gprs_timer_unit", "2,7"),
                ("gsm_a.gm.radio_priority_pdp", "2"),
                ("gsm_a.gm.radio_priority_tom8", "3"),
                ("gsm_a.gm.gmm.ptmsi_sig", "0xabcdef"),
                ("3gpp.tmsi", "3735928559,1"),
                ("gsm_a.gm.gmm.cause", "16"),
                ("gsm_a.gm.gmm.gprs_timer2", "0x0c"),
                ("gsm_a.gm.gmm.lcs_molr", "1"),
                (ELEMENTS, "0x19,0x17,0x25,0x2a,0x8c"),
            ],
        ),
        gmm(Uplink, AttachComplete {}, &[(MSG, "0x03")]),
        gmm(
            Downlink,
            AttachReject { cause: GmmCause::Congestion, t3302: Some(GprsTimer::from_seconds(30)) },
            &[(MSG, "0x04"), ("gsm_a.gm.gmm.cause", "22"), (ELEMENTS, "0x2a")],
        ),
    ]);
}

fn detach() {
    check(&[
        gmm(
            Downlink,
            DetachRequestMt {
                detach_type: DetachTypeMt::ReattachRequired,
                force_to_standby: ForceToStandby::Indicated,
                cause: Some(GmmCause::ImplicitlyDetached),
            },
            &[
                (MSG, "0x05"),
                ("gsm_a.gm.gmm.type_of_detach", "1"),
                ("gsm_a.gm.gmm.force_to_standby", "1"),
                ("gsm_a.gm.gmm.cause", "10"),
            ],
        ),
        gmm(
            Uplink,
            DetachRequestMo {
                detach_type: DetachTypeMo { kind: DetachKindMo::Combined, power_off: true },
                ptmsi: Some(ptmsi()),
                ptmsi_signature: Some(PTmsiSignature(0x0012_3456)),
            },
            &[
                (MSG, "0x05"),
                ("gsm_a.gm.gmm.type_of_detach", "3"),
                ("gsm_a.gm.gmm.power_off", "1"),
                ("3gpp.tmsi", "3735928559"),
                ("gsm_a.gm.gmm.ptmsi_sig2", "0x123456"),
            ],
        ),
        gmm(Uplink, DetachAcceptMt {}, &[(MSG, "0x06")]),
        gmm(
            Downlink,
            DetachAcceptMo { force_to_standby: ForceToStandby::Indicated },
            &[(MSG, "0x06"), ("gsm_a.gm.gmm.force_to_standby", "1")],
        ),
    ]);
}

fn routing_area_update() {
    check(&[
        gmm(
            Uplink,
            RauRequest {
                update_type: UpdateType { kind: UpdateKind::Periodic, follow_on: true },
                cksn: Cksn::NO_KEY,
                old_rai: rai(),
                ms_radio_access_capability: MsRadioAccessCapability(vec![0x13, 0x42, 0x23, 0x57, 0x2b, 0xf7]),
                old_ptmsi_signature: Some(PTmsiSignature(0x0012_3456)),
                requested_ready_timer: Some(GprsTimer::from_seconds(44)),
                drx: Some(DrxParameter { split_pg_cycle: 1, ..DrxParameter::default() }),
                tmsi_status: Some(TmsiStatus::NotAvailable),
                ptmsi: Some(ptmsi()),
                ms_network_capability: Some(MsNetworkCapability::typical()),
                pdp_context_status: Some(PdpContextStatus(0x8060)),
            },
            &[
                (MSG, "0x08"),
                ("gsm_a.gm.gmm.update_type", "3"),
                ("gsm_a.gm.gmm.for", "1"),
                ("gsm_a.gm.gmm.split_pg_cycle_code", "1"),
                (ELEMENTS, "0x19,0x17,0x27,0x31,0x32"),
            ],
        ),
        gmm(
            Downlink,
            RauAccept {
                force_to_standby: ForceToStandby::Indicated,
                result: UpdateResult::Combined,
                periodic_ra_update_timer: GprsTimer::from_seconds(3240),
                rai: rai(),
                ptmsi_signature: Some(PTmsiSignature(0x0012_3456)),
                allocated_ptmsi: Some(ptmsi()),
                ms_identity: Some(MobileIdentity::PTmsi(PTmsi(1))),
                // One only: Wireshark 4.0 reads every second one wrongly.
                receive_npdu_numbers: Some(ReceiveNpduNumbers(vec![(Nsapi(5), 17)])),
                negotiated_ready_timer: Some(GprsTimer::from_seconds(44)),
                gmm_cause: Some(GmmCause::MscNotReachable),
                t3302: Some(GprsTimer::from_seconds(720)),
                cell_notification: Some(CellNotification),
                equivalent_plmns: Some(EquivalentPlmns(vec![rai().plmn, rai().plmn])),
                pdp_context_status: Some(PdpContextStatus(0x0020)),
                network_feature_support: Some(NetworkFeatureSupport(8)),
            },
            &[
                (MSG, "0x09"),
                ("gsm_a.gm.gmm.force_to_standby", "1"),
                ("gsm_a.gm.gmm.update_result", "1"),
                ("gsm_a.gm.gmm.nsapi", NUMBER_AND_STATUS),
                (ELEMENTS, "0x19,0x26,0x17,0x25,0x2a,0x8c,0x32"),
            ],
        ),
        gmm(
            Uplink,
            RauComplete { receive_npdu_numbers: Some(ReceiveNpduNumbers(vec![(Nsapi(15), 3)])) },
            &[(MSG, "0x0a"), ("gsm_a.gm.gmm.nsapi", "0x0003")],
        ),
        gmm(
            Downlink,
            RauReject {
                cause: GmmCause::IdentityUnknown,
                force_to_standby: ForceToStandby::Indicated,
                t3302: Some(GprsTimer::from_seconds(720)),
            },
            &[
                (MSG, "0x0b"),
                ("gsm_a.gm.gmm.cause", "9"),
                ("gsm_a.gm.gmm.force_to_standby", "1"),
                (ELEMENTS, "0x2a"),
            ],
        ),
    ]);
}

fn service() {
    check(&[
        gmm(
            Uplink,
            ServiceRequest {
                cksn: Cksn(3),
                service_type: ServiceType::Data,
                ptmsi: ptmsi(),
                pdp_context_status: Some(PdpContextStatus(0x0020)),
            },
            &[
                (MSG, "0x0c"),
                ("gsm_a.gm.gmm.serv_type", "1"),
                ("gsm_a.key_seq", "3"),
                ("3gpp.tmsi", "3735928559"),
            ],
        ),
        gmm(
            Downlink,
            ServiceAccept { pdp_context_status: Some(PdpContextStatus(0x0020)) },
            &[(MSG, "0x0d"), (ELEMENTS, "0x32")],
        ),
        gmm(
            Downlink,
            ServiceReject { cause: GmmCause::NoPdpContextActivated },
            &[(MSG, "0x0e"), ("gsm_a.gm.gmm.cause", "40")],
        ),
    ]);
}

fn common_procedures() {
    check(&[
        gmm(
            Downlink,
            PTmsiReallocationCommand {
                allocated_ptmsi: ptmsi(),
                rai: rai(),
                force_to_standby: ForceToStandby::Indicated,
                ptmsi_signature: Some(PTmsiSignature(0x0012_3456)),
            },
            &[
                (MSG, "0x10"),
                ("3gpp.tmsi", "3735928559"),
                ("gsm_a.gm.gmm.force_to_standby", "1"),
                ("gsm_a.gm.gmm.ptmsi_sig", "0x123456"),
            ],
        ),
        gmm(Uplink, PTmsiReallocationComplete {}, &[(MSG, "0x11")]),
        gmm(
            Downlink,
            AuthenticationRequest {
                ciphering: CipheringAlgorithm(3),
                imeisv_request: ImeisvRequest::Requested,
                force_to_standby: ForceToStandby::Indicated,
                reference: AcReference(9),
                rand: Some(Rand([0x5a; 16])),
                cksn: Some(Cksn(4)),
                autn: Some(Autn([0xa5; 16])),
            },
            &[
                (MSG, "0x12"),
                ("gsm_a.gm.gmm.type_of_ciph_alg", "3"),
                ("gsm_a.gm.gmm.imeisv_req", "1"),
                ("gsm_a.gm.gmm.force_to_standby", "1"),
                ("gsm_a.gm.gmm.ac_ref_nr", "9"),
                ("gsm_a.dtap.rand", "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a"),
                ("gsm_a.dtap.autn", "a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5"),
            ],
        ),
        gmm(
            Uplink,
            AuthenticationResponse {
                reference: AcReference(9),
                response: Some(AuthParameterResponse([1, 2, 3, 4])),
                imeisv: Some(MobileIdentity::Imeisv("1234567890123456".parse().unwrap())),
                extended_response: Some(ExtendedResponse(Octets::from_start(&[5, 6, 7, 8]))),
            },
            &[
                (MSG, "0x13"),
                ("gsm_a.gm.gmm.ac_ref_nr", "9"),
                ("gsm_a.dtap.sres", "01020304"),
                ("gsm_a.imeisv", "1234567890123456"),
                ("gsm_a.dtap.xres", "05060708"),
            ],
        ),
        gmm(Downlink, AuthenticationReject {}, &[(MSG, "0x14")]),
        gmm(
            Uplink,
            AuthenticationFailure { cause: GmmCause::SynchFailure, auts: Some(Auts([7; 14])) },
            &[
                (MSG, "0x1c"),
                ("gsm_a.gm.gmm.cause", "21"),
                ("gsm_a.dtap.auts", "0707070707070707070707070707"),
            ],
        ),
        gmm(
            Downlink,
            IdentityRequest {
                identity_type: IdentityType::Imeisv,
                force_to_standby: ForceToStandby::Indicated,
            },
            &[(MSG, "0x15"), ("gsm_a.gm.gmm.type_of_identity", "3"), ("gsm_a.gm.gmm.force_to_standby", "1")],
        ),
        gmm(
            Uplink,
            IdentityResponse { identity: MobileIdentity::Imei("490154203237518".parse().unwrap()) },
            &[(MSG, "0x16"), ("gsm_a.imei", "490154203237518")],
        ),
        gmm(
            Uplink,
            IdentityResponse { identity: MobileIdentity::Imsi("00101123456789".parse().unwrap()) },
            &[(MSG, "0x16"), ("e212.imsi", "00101123456789")],
        ),
        gmm(Uplink, IdentityResponse { identity: MobileIdentity::None }, &[(MSG, "0x16")]),
        gmm(
            Uplink,
            GmmStatus { cause: GmmCause::MessageTypeNonExistent },
            &[(MSG, "0x20"), ("gsm_a.gm.gmm.cause", "97")],
        ),
        gmm(
            Downlink,
            GmmInformation {
                full_name: Some(NetworkName::from_text("Gannet Lab")),
                short_name: Some(NetworkName::from_text("Gannet")),
                time_zone: Some(TimeZone(-22)),
                universal_time: Some(UniversalTime {
                    year: 26,
                    month: 11,
                    day: 21,
                    hour: 23,
                    minute: 59,
                    second: 8,
                    zone: TimeZone(8),
                }),
                lsa_identity: Some(LsaIdentity(Some([0, 0, 1]))),
                daylight_saving: Some(DaylightSaving(1)),
            },
            &[
                (MSG, "0x21"),
                ("gsm_a.dtap.text_string", "Gannet Lab,Gannet"),
                ("gsm_a.dtap.time_zone_time", "Nov 21, 2026 23:59:08.000000000 UTC"),
                ("gsm_a.dtap.dst_adjustment", "1"),
            ],
        ),
    ]);
}

fn qos() -> QosProfile {
    QosProfile {
        delay: DelayClass::TWO,
        reliability: ReliabilityClass::THREE,
        peak: PeakThroughput::from_octets_per_s(32_000),
        precedence: PrecedenceClass::LOW,
        mean: MeanThroughput(18),
        r99: Some(QosR99 {
            traffic_class: TrafficClass::STREAMING,
            delivery_order: 2,
            erroneous_sdus: 3,
            max_sdu: 153,
            mbr_up: bit_rate_code_kbps(64),
            mbr_down: BitRate::from_kbps(16_000),
            residual_ber: 7,
            sdu_error_ratio: 4,
            transfer_delay: 16,
            handling_priority: 1,
            gbr_up: bit_rate_code_kbps(0),
            gbr_down: BitRate::from_kbps(640),
            signalling: Some(0x11),
        }),
    }
}

/// What Wireshark says of [`qos`].
const QOS: [(&str, &str); 16] = [
    ("gsm_a.gm.sm.qos.delay_cls", "2"),
    ("gsm_a.gm.sm.qos.reliability_cls", "3"),
    ("gsm_a.gm.sm.qos.peak_throughput", "6"),
    ("gsm_a.gm.sm.qos.prec_class", "3"),
    ("gsm_a.gm.sm.qos.mean_throughput", "18"),
    ("gsm_a.gm.sm.qos.traffic_cls", "2"),
    ("gsm_a.gm.sm.qos.del_order", "2"),
    ("gsm_a.gm.sm.qos.del_of_err_sdu", "3"),
    ("gsm_a.gm.sm.qos.ber", "7"),
    ("gsm_a.gm.sm.qos.sdu_err_rat", "4"),
    ("gsm_a.gm.sm.qos.trans_delay", "16"),
    ("gsm_a.gm.sm.qos.traff_hdl_pri", "1"),
    ("gsm_a.gm.sm.qos.max_bitrate_upl", "64"),
    ("gsm_a.gm.sm.qos.max_bitrate_downl", "254"),
    ("gsm_a.gm.sm.qos.max_bitrate_downl_ext", "74"),
    ("gsm_a.gm.sm.qos.signalling_ind", "1"),
];

fn pdp_activation() {
    let with_qos = |more: &[(&'static str, &'static str)]| [&QOS[..], more].concat();
    check(&[
        sm(
            Uplink,
            ActivateRequest {
                nsapi: Nsapi(5),
                sapi: Sapi::DATA9,
                qos: qos(),
                address: PdpAddress::Ipv4([10, 1, 2, 3].into()),
                apn: Some("internet.mnc001.mcc001.gprs".parse().unwrap()),
                pco: Some(ProtocolConfiguration(vec![0x80, 0x00, 0x0d, 0x00])),
            },
            &with_qos(&[
                (SM_MSG, "0x41"),
                ("gsm_a.dtap.ti_flag", "1"),
                ("gsm_a.dtap.tio", "2"),
                ("gsm_a.gm.gmm.nsapi", "0x0005"),
                ("gsm_a.gm.sm.llc_sapi", "9"),
                ("gsm_a.gm.sm.pdp_type_number", "33"),
                ("gsm_a.gm.sm.pdp_type_org", "1"),
                ("gsm_a.gm.sm.apn", "internet.mnc001.mcc001.gprs"),
                (ELEMENTS, "0x28,0x27"),
            ]),
        ),
        sm(
            Downlink,
            ActivateAccept {
                sapi: Sapi::DATA3,
                qos: qos(),
                radio_priority: RadioPriority::One,
                address: Some(PdpAddress::Ipv6("2001:db8::1".parse().unwrap())),
                pco: Some(ProtocolConfiguration(vec![0x80])),
                packet_flow_identifier: Some(PacketFlowIdentifier::SMS),
            },
            &with_qos(&[
                (SM_MSG, "0x42"),
                ("gsm_a.gm.radio_priority_pdp", "1"),
                ("gsm_a.gm.sm.packet_flow_id", "2"),
                (ELEMENTS, "0x2b,0x27,0x34"),
            ]),
        ),
        sm(
            Downlink,
            ActivateReject {
                cause: SmCause::MissingOrUnknownApn,
                pco: Some(ProtocolConfiguration(vec![0x80])),
            },
            &[(SM_MSG, "0x43"), ("gsm_a.gm.sm.cause", "27"), (ELEMENTS, "0x27")],
        ),
        sm(
            Downlink,
            RequestActivation {
                address: PdpAddress::Ipv4([10, 1, 2, 3].into()),
                apn: Some("internet".parse().unwrap()),
            },
            &[(SM_MSG, "0x44"), ("gsm_a.gm.sm.pdp_type_number", "33"), ("gsm_a.gm.sm.apn", "internet")],
        ),
        sm(
            Uplink,
            RequestActivationReject { cause: SmCause::InsufficientResources },
            &[(SM_MSG, "0x45"), ("gsm_a.gm.sm.cause", "26")],
        ),
        sm(
            Uplink,
            ActivateSecondaryRequest {
                nsapi: Nsapi(6),
                sapi: Sapi::DATA5,
                qos: qos(),
                linked_ti: LinkedTi { ti: 1, ti_flag: false },
                tft: Some(TrafficFlowTemplate(vec![0x21, 0x10, 0x20, 0x02, 0x30, 0x11])),
            },
            &with_qos(&[(SM_MSG, "0x4d"), ("gsm_a.gm.sm.llc_sapi", "5"), (ELEMENTS, "0x36")]),
        ),
        sm(
            Downlink,
            ActivateSecondaryAccept {
                sapi: Sapi::DATA5,
                qos: qos(),
                radio_priority: RadioPriority::Three,
                packet_flow_identifier: Some(PacketFlowIdentifier(9)),
            },
            &with_qos(&[
                (SM_MSG, "0x4e"),
                ("gsm_a.gm.radio_priority_pdp", "3"),
                ("gsm_a.gm.sm.packet_flow_id", "9"),
            ]),
        ),
        sm(
            Downlink,
            ActivateSecondaryReject { cause: SmCause::ServiceOptionNotSupported },
            &[(SM_MSG, "0x4f"), ("gsm_a.gm.sm.cause", "32")],
        ),
    ]);
}

fn pdp_modification_and_deactivation() {
    let with_qos = |more: &[(&'static str, &'static str)]| [&QOS[..], more].concat();
    check(&[
        sm(
            Downlink,
            ModifyRequestMt {
                radio_priority: RadioPriority::Two,
                sapi: Sapi::DATA11,
                qos: qos(),
                address: Some(PdpAddress::Ipv4([10, 1, 2, 3].into())),
                packet_flow_identifier: Some(PacketFlowIdentifier(9)),
            },
            &with_qos(&[
                (SM_MSG, "0x48"),
                ("gsm_a.gm.radio_priority_pdp", "2"),
                ("gsm_a.gm.sm.llc_sapi", "11"),
                (ELEMENTS, "0x2b,0x34"),
            ]),
        ),
        sm(
            Uplink,
            ModifyRequestMo {
                sapi: Some(Sapi::DATA5),
                qos: Some(qos()),
                tft: Some(TrafficFlowTemplate(vec![0x21, 0x10, 0x20, 0x02, 0x30, 0x11])),
            },
            &with_qos(&[(SM_MSG, "0x4a"), (ELEMENTS, "0x32,0x30,0x31")]),
        ),
        sm(Uplink, ModifyAcceptMo {}, &[(SM_MSG, "0x49")]),
        sm(
            Downlink,
            ModifyAcceptMt {
                qos: Some(qos()),
                sapi: Some(Sapi::DATA5),
                radio_priority: Some(RadioPriority::Two),
                packet_flow_identifier: Some(PacketFlowIdentifier(9)),
            },
            &with_qos(&[(SM_MSG, "0x4b"), (ELEMENTS, "0x30,0x32,0x34")]),
        ),
        sm(
            Downlink,
            ModifyReject { cause: SmCause::ServiceOptionNotSupported },
            &[(SM_MSG, "0x4c"), ("gsm_a.gm.sm.cause", "32")],
        ),
        sm(
            Uplink,
            DeactivateRequest {
                cause: SmCause::RegularDeactivation,
                tear_down: Some(TearDownIndicator::AllOfAddress),
            },
            &[(SM_MSG, "0x46"), ("gsm_a.gm.sm.cause", "36"), ("gsm_a.gm.sm.tdi", "1")],
        ),
        sm(Downlink, DeactivateAccept {}, &[(SM_MSG, "0x47")]),
        sm(
            Downlink,
            SmStatus { cause: SmCause::InvalidTi },
            &[(SM_MSG, "0x55"), ("gsm_a.gm.sm.cause", "81")],
        ),
        (
            Uplink,
            L3Message::Sm { ti: 100, ti_flag: false, message: DeactivateAccept {}.into() },
            vec![(SM_MSG, "0x47"), ("gsm_a.dtap.ti_flag", "0"), ("gsm_a.dtap.tie", "100")],
        ),
    ]);
}

fn main() -> ExitCode {
    gannet_testkit::main(&[
        ("attach", &[Need::Tshark], attach),
        ("detach", &[Need::Tshark], detach),
        ("routing_area_update", &[Need::Tshark], routing_area_update),
        ("service", &[Need::Tshark], service),
        ("common_procedures", &[Need::Tshark], common_procedures),
        ("pdp_activation", &[Need::Tshark], pdp_activation),
        ("pdp_modification_and_deactivation", &[Need::Tshark], pdp_modification_and_deactivation),
    ])
}
