//! Session management.

use super::Direction::{Downlink, Uplink};
use super::{Case, Direction, ELEMENTS, L3Message, check, gb};
use gannet_testkit::tshark::Capture;
use gannet_wire::gtp::v1c::{UpdateResponse, emit_datagram};
use gannet_wire::gtp::{Cause, PORT_CONTROL, Qos};
use gannet_wire::id::{Nsapi, Sapi, Teid};
use gannet_wire::l3::{Element, ie::*, sm::*};
use gannet_wire::llc::{Control, Header};
use std::collections::BTreeSet;

const SM_MSG: &str = "gsm_a.dtap.msg_sm_type";

fn sm(
    direction: Direction,
    message: impl Into<SmMessage>,
    expected: &[(&'static str, &'static str)],
) -> Case {
    (direction, L3Message::Sm { ti: 2, ti_flag: true, message: message.into() }, expected.to_vec())
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
            mbr_up: BitRate::from_kbps(100_000),
            mbr_down: BitRate::from_kbps(16_000),
            residual_ber: 7,
            sdu_error_ratio: 4,
            transfer_delay: 16,
            handling_priority: 1,
            gbr_up: BitRate::from_kbps(0),
            gbr_down: BitRate::from_kbps(640),
            signalling: Some(0x11),
        }),
    }
}

/// What Wireshark says of [`qos`].
const QOS: [(&str, &str); 17] = [
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
    ("gsm_a.gm.sm.qos.max_bitrate_upl", "254"),
    ("gsm_a.gm.sm.qos.max_bitrate_upl_ext", "158"),
    ("gsm_a.gm.sm.qos.max_bitrate_downl", "254"),
    ("gsm_a.gm.sm.qos.max_bitrate_downl_ext", "74"),
    ("gsm_a.gm.sm.qos.signalling_ind", "1"),
];

pub fn pdp_activation() {
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
                cause: Some(SmCause::Ipv4Only),
            },
            &with_qos(&[
                (SM_MSG, "0x42"),
                ("gsm_a.gm.sm.cause_2", "50"),
                ("gsm_a.gm.radio_priority_pdp", "1"),
                ("gsm_a.gm.sm.packet_flow_id", "2"),
                (ELEMENTS, "0x2b,0x27,0x34,0x39"),
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

pub fn pdp_modification_and_deactivation() {
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

/// A template with each component in some filter, and each operation.
pub fn traffic_flow_template() {
    let filter = |identifier, direction, precedence, components: &[Component]| PacketFilter {
        identifier,
        direction,
        precedence,
        components: components.to_vec(),
    };
    let address = "2001:db8::".parse().unwrap();
    let mask = "ffff:ffff::".parse().unwrap();
    let filters = vec![
        filter(
            1,
            FilterDirection::Unsaid,
            20,
            &[
                Component::Ipv4Source { address: [192, 0, 2, 0].into(), mask: [255, 255, 255, 0].into() },
                Component::Protocol(17),
                Component::DestinationPort(5000),
                Component::SourcePorts(1000, 2000),
                Component::TypeOfService { value: 0xb8, mask: 0xfc },
            ],
        ),
        filter(
            2,
            FilterDirection::Downlink,
            10,
            &[Component::Ipv6Source { address, mask }, Component::SecurityParameterIndex(0x0102_0304)],
        ),
        filter(3, FilterDirection::Both, 30, &[Component::FlowLabel(0x1_2345)]),
    ];
    let modify = |operation: TftOperation, parameters, expected: &[(&'static str, &'static str)]| {
        let tft = TftRepr { operation, parameters }.to_element();
        sm(Uplink, ModifyRequestMo { sapi: None, qos: None, tft: Some(tft) }, expected)
    };
    let other = filter(
        4,
        FilterDirection::Unsaid,
        7,
        &[Component::SourcePort(53), Component::DestinationPorts(100, 200)],
    );
    check(&[
        modify(
            TftOperation::Create(filters),
            vec![TftParameter { identifier: 3, content: vec![0, 1] }],
            &[
                ("gsm_a.gm.sm.tft.op_code", "1"),
                ("gsm_a.gm.sm.tft.e_bit", "1"),
                ("gsm_a.gm.sm.tft.pkt_flt", "3"),
                ("gsm_a.gm.sm.tft.pkt_flt_id", "1,2,3"),
                ("gsm_a.gm.sm.tft.pkt_flt_dir", "0,1,3"),
                ("gsm_a.gm.sm.tft.packet_evaluation_precedence", "0x14,0x0a,0x1e"),
                ("gsm_a.gm.sm.tft.packet_filter_component_type_id", "16,48,64,81,112,32,96,128"),
                ("gsm_a.gm.sm.ip4_address", "192.0.2.0"),
                ("gsm_a.gm.sm.ip4_mask", "255.255.255.0"),
                ("gsm_a.gm.sm.ip6_address", "2001:db8::"),
                ("gsm_a.gm.sm.ip6_mask", "ffff:ffff::"),
                ("gsm_a.gm.sm.tft.protocol_header", "0x11"),
                ("gsm_a.gm.sm.tft.port", "5000"),
                ("gsm_a.gm.sm.tft.port_low", "1000"),
                ("gsm_a.gm.sm.tft.port_high", "2000"),
                ("gsm_a.gm.sm.tft.security", "0x01020304"),
                ("gsm_a.gm.sm.tft.traffic_class", "0xb8"),
                ("gsm_a.gm.sm.tft.traffic_mask", "0xfc"),
                ("gsm_a.gm.sm.tft.flow_label_type", "0x012345"),
                ("gsm_a.gm.sm.tft.param_id", "3"),
            ],
        ),
        modify(
            TftOperation::Add(vec![other.clone()]),
            Vec::new(),
            &[
                ("gsm_a.gm.sm.tft.op_code", "3"),
                ("gsm_a.gm.sm.tft.e_bit", "0"),
                ("gsm_a.gm.sm.tft.port", "53"),
                ("gsm_a.gm.sm.tft.port_high", "200"),
            ],
        ),
        modify(TftOperation::Replace(vec![other]), Vec::new(), &[("gsm_a.gm.sm.tft.op_code", "4")]),
        modify(
            TftOperation::DeleteFilters(vec![1, 3]),
            Vec::new(),
            &[("gsm_a.gm.sm.tft.op_code", "5"), ("gsm_a.gm.sm.tft.pkt_flt_id", "1,3")],
        ),
        modify(TftOperation::Delete, Vec::new(), &[("gsm_a.gm.sm.tft.op_code", "2")]),
    ]);
}

/// What a profile may ask for: each value of each octet, with nothing said in the others, with all of their bits, and with a
/// profile of a phone.
fn wishes(length: usize) -> impl Iterator<Item = Vec<u8>> {
    let phone =
        [0x23, 0x92, 0x1f, 0x73, 0x96, 0xfe, 0xfe, 0x74, 0xfb, 0xff, 0xff, 0, 0x6a, 0, 0x4a, 0, 1, 1, 1, 1];
    let others = [vec![0; length], vec![0xff; length], phone[..length].to_vec()];
    others.into_iter().flat_map(move |others| {
        (0..length).flat_map(move |place| {
            let others = others.clone();
            (0..=255).map(move |value| {
                let mut octets = others.clone();
                octets[place] = value;
                octets
            })
        })
    })
}

/// Lines of Wireshark's about quality of service that say nothing. Those about bits of GTP's header are another matter.
fn says_nothing(details: &str) -> Vec<&str> {
    let is_open = |line: &&str| {
        let says = |word| line.contains(word);
        (says("eserved") || says("ubscribed") || says("nspecified"))
            && !says("Reserved bit: Not set")
            && !line.ends_with(" = Reserved: 0")
    };
    details.lines().filter(is_open).collect()
}

pub fn profiles_that_are_granted() {
    let mut granted = BTreeSet::new();
    for octets in [3, 11, 12, 14].into_iter().flat_map(wishes) {
        let wish = QosProfile::parse_value(&octets).unwrap();
        let mut out = Vec::new();
        wish.concrete().emit_value(&mut out);
        assert_eq!(QosProfile::parse_value(&out).unwrap().concrete(), wish.concrete(), "{octets:02x?}");
        granted.insert(out);
    }
    assert!(granted.len() > 1000, "{}", granted.len());
    let mut capture = Capture::new();
    for octets in &granted {
        let qos = Some(QosProfile::parse_value(octets).unwrap());
        let message = ModifyAcceptMt { qos, sapi: None, radio_priority: None, packet_flow_identifier: None };
        let message = L3Message::Sm { ti: 0, ti_flag: true, message: message.into() };
        let control = Control::Ui { nu: 0, encrypted: false, protected: true };
        let header = Header { cr: true, sapi: Sapi::GMM, control };
        capture.add_udp(23000, 22000, &gb::downlink(&gb::ll_pdu(&header, &message.to_vec())));
    }
    let details = capture.details(&gb::OPTIONS);
    assert!(details.matches("Precedence class").count() >= granted.len());
    assert_eq!(says_nothing(&details), Vec::<&str>::new());
}

pub fn profiles_between_the_nodes() {
    let mut granted = BTreeSet::new();
    for octets in [3, 11, 12, 14, 16, 20].into_iter().flat_map(wishes) {
        let qos = Qos { allocation_retention: octets[0] & 7, value: Octets::from_start(&octets) };
        let qos = qos.concrete();
        assert_eq!(qos.concrete(), qos, "{octets:02x?}");
        assert!(matches!(qos.allocation_retention, 1..=3));
        let mut out = vec![qos.allocation_retention];
        out.extend(qos.value.as_slice());
        granted.insert(out);
    }
    let mut capture = Capture::new();
    for octets in &granted {
        let qos = Qos { allocation_retention: octets[0], value: Octets::from_start(&octets[1..]) };
        let message = UpdateResponse { qos: Some(qos), ..UpdateResponse::refused(Cause::RequestAccepted) };
        let mut datagram = Vec::new();
        assert!(emit_datagram(Teid(1), 1, &message.into(), &mut datagram));
        capture.add_udp(PORT_CONTROL, PORT_CONTROL, &datagram);
    }
    let details = capture.details(&[]);
    assert!(details.matches("Quality of Service").count() >= granted.len());
    assert_eq!(says_nothing(&details), Vec::<&str>::new());
}
