//! GPRS mobility management.

use super::Direction::{Downlink, Uplink};
use super::{Case, Direction, ELEMENTS, L3Message, check};
use gannet_wire::id::{Nsapi, PTmsi, Rai};
use gannet_wire::l3::{gmm::*, ie::*};

const MSG: &str = "gsm_a.dtap.msg_gmm_type";

/// N-PDU number 17, then the PDP context status of NSAPI 0 to 15, of which 5 is active.
const NUMBER_AND_STATUS: &str = "0x0011,0x0000,0x0000,0x0000,0x0000,0x0000,0x0001,0x0000,0x0000,0x0000,0x0000,0x0000,\
     0x0000,0x0000,0x0000,0x0000,0x0000";

fn gmm(
    direction: Direction,
    message: impl Into<GmmMessage>,
    expected: &[(&'static str, &'static str)],
) -> Case {
    (direction, L3Message::Gmm(message.into()), expected.to_vec())
}

fn rai() -> Rai {
    Rai::from_octets([0x13, 0x00, 0x14, 0x12, 0x34, 0x56])
}

fn ptmsi() -> MobileIdentity {
    MobileIdentity::PTmsi(PTmsi(0xdead_beef))
}

pub fn attach() {
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
                ms_radio_access_capability: MsRadioAccessCapability::typical(11),
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
                ("gsm_a.gm.gmm.net_cap.gea3", "1"),
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
                ("gsm_a.gm.gmm.rac.gprs_multi_slot_class", "11"),
                ("gsm_a.gm.gmm.rac.gprs_ext_dyn_alloc_cap", "0"),
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

pub fn detach() {
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

pub fn routing_area_update() {
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

pub fn service() {
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

pub fn common_procedures() {
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
