//! GTP against Wireshark, field by field.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

use gannet_testkit::{Need, tshark::Capture};
use gannet_wire::gtp::header::{ExtensionHeader, Repr, message_type};
use gannet_wire::gtp::v1c::{
    self, CreateRequest, CreateResponse, DeleteRequest, DeleteResponse, EchoRequest, EchoResponse,
    ErrorIndication, PduNotificationRejectRequest, PduNotificationRejectResponse, PduNotificationRequest,
    PduNotificationResponse, SupportedExtensionHeaders, UpdateRequest, UpdateResponse, VersionNotSupported,
};
use gannet_wire::gtp::value::{MsTimeZone, SelectionMode};
use gannet_wire::gtp::{
    Cause, EndUserAddress, Message, Msisdn, PORT_CONTROL, PORT_USER, PrivateExtension, Qos, UserLocation,
    UserLocationKind, pco,
};
use gannet_wire::id::{Nsapi, Plmn, Rai, Teid};
use gannet_wire::l3::ie::Octets;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::ExitCode;

const V4: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));
const V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));
const MOBILE: Ipv4Addr = Ipv4Addr::new(172, 16, 222, 1);

/// What Wireshark reads in one message: the value of each named field.
fn check(teid: u32, message: impl Into<Message>, expected: &[(&str, &str)]) {
    let message = message.into();
    let kind = message.message_type();
    let mut datagram = Vec::new();
    assert!(v1c::emit_datagram(Teid(teid), 0x1234, &message, &mut datagram));
    let (kind, teid) = (format!("{kind:#04x}"), format!("{teid:#010x}"));
    let length = (datagram.len() - 8).to_string();
    let header = [
        ("gtp.message", kind.as_str()),
        ("gtp.teid", &teid),
        ("gtp.seq_number", "0x1234"),
        ("gtp.length", &length),
        ("gtp.flags", "0x32"),
        ("_ws.malformed", ""),
        ("_ws.expert.severity", ""),
    ];
    let fields: Vec<(&str, &str)> = header.iter().chain(expected).copied().collect();
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let row = Capture::new().udp(PORT_CONTROL, PORT_CONTROL, &datagram).dissect(&[], &names).remove(0);
    for (value, (name, wanted)) in row.iter().zip(&fields) {
        // Wireshark gives the length of some elements the name of the header's.
        let value = if *name == "gtp.length" { value.split(',').next().unwrap() } else { value };
        assert_eq!(value, *wanted, "{name} of {message:?}");
    }
}

fn qos() -> Qos {
    // Delay class 4, reliability 3, peak 2 kB/s, precedence 2, best effort; then R99: interactive, 64 kbit/s.
    let value = [0x23, 0x12, 0x1f, 0x73, 0x96, 0x40, 0x40, 0x74, 0x02, 0x00, 0x00];
    Qos { allocation_retention: 2, value: Octets::from_start(&value) }
}

const QOS: [(&str, &str); 8] = [
    ("gtp.qos_al_ret_priority", "2"),
    ("gtp.qos_delay", "4"),
    ("gtp.qos_reliability", "3"),
    ("gtp.qos_precedence", "2"),
    ("gtp.qos_mean", "31"),
    ("gtp.qos_traf_class", "3"),
    ("gtp.qos_max_ul", "64"),
    ("gtp.qos_traf_handl_prio", "2"),
];

fn private_extension() -> Option<PrivateExtension> {
    Some(PrivateExtension { identifier: 10_415, value: vec![1, 2, 3] })
}

fn with_qos(expected: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    expected.iter().chain(&QOS).copied().collect()
}

fn path_management() {
    check(0, EchoRequest { private_extension: private_extension() }, &[("gtp.ext_id", "10415")]);
    check(0, EchoResponse { recovery: 200, private_extension: None }, &[("gtp.recovery", "200")]);
    check(0, VersionNotSupported {}, &[("gtp.flags.version", "1")]);
    let types = vec![0xc0, 0xc1];
    check(
        0,
        SupportedExtensionHeaders { types },
        &[("gtp.num_ext_hdr_types", "2"), ("gtp.ext_hdr_type", "192,193")],
    );
}

fn create_request() -> CreateRequest {
    let plmn = Plmn::new(240, 1, false);
    CreateRequest {
        imsi: Some("240010123456789".parse().unwrap()),
        rai: Some(Rai { plmn, lac: 0x1111, rac: 0x22 }),
        recovery: Some(17),
        selection_mode: Some(SelectionMode::MsNotVerified),
        teid_data: Teid(0x0102_0304),
        teid_control: Some(Teid(0x0506_0708)),
        nsapi: Nsapi(6),
        linked_nsapi: Some(Nsapi(5)),
        charging_characteristics: Some(0x0800),
        trace_reference: Some(0x0a0b),
        trace_type: Some(0x0c0d),
        end_user_address: Some(EndUserAddress::Ipv4(Some(MOBILE))),
        apn: Some("internet.example".parse().unwrap()),
        pco: Some(pco::emit(&[pco::PcoOption { identifier: 0x000d, content: Vec::new() }])),
        sgsn_control: V4,
        sgsn_user: V6,
        alternative_control: None,
        alternative_user: None,
        msisdn: Some(Msisdn { nature_and_plan: 0x91, tbcd: Octets::from_start(&[0x64, 0x07, 0xf2]) }),
        qos: qos(),
        tft: None,
        trigger_id: Some(vec![1, 2]),
        omc_identity: Some(vec![3]),
        common_flags: Some(2),
        apn_restriction: Some(1),
        rat_type: Some(v1c::RAT_TYPE_GERAN),
        user_location: Some(UserLocation { kind: UserLocationKind::Cgi, plmn, lac: 0x1111, code: 0x3333 }),
        ms_time_zone: Some(MsTimeZone { zone: 0x40, daylight_saving: 1 }),
        imeisv: Some("1234567890123456".parse().unwrap()),
        private_extension: private_extension(),
    }
}

fn creation() {
    let expected = with_qos(&[
        ("e212.imsi", "240010123456789"),
        ("e212.rai.mcc", "240"),
        ("e212.rai.mnc", "1"),
        ("gtp.lac", "4369,4369"),
        ("gtp.rai_rac", "34"),
        ("gtp.recovery", "17"),
        ("gtp.sel_mode", "1"),
        ("gtp.teid_data", "0x01020304"),
        ("gtp.teid_cp", "0x05060708"),
        ("gtp.nsapi", "6,5"),
        ("gtp.chrg_char", "2048"),
        ("gtp.trace_type", "0x0c0d"),
        ("gtp.user_addr_pdp_org", "1"),
        ("gtp.user_addr_pdp_type", "0x21"),
        ("gtp.user_ipv4", "172.16.222.1"),
        ("gtp.apn", "internet.example"),
        ("gtp.gsn_ipv4", "192.0.2.7"),
        ("gtp.gsn_ipv6", "2001:db8::1"),
        ("e164.msisdn", "46702"),
        ("gtp.ext_apn_res", "1"),
        ("gtp.ext_rat_type", "2"),
        ("gtp.cgi_ci", "13107"),
        ("gtp.ext_imeisv", "1234567890123456"),
        ("gtp.ext_id", "10415"),
    ]);
    check(0, create_request(), &expected);
    let response = CreateResponse {
        cause: Cause::RequestAccepted,
        reordering_required: Some(true),
        recovery: Some(3),
        teid_data: Some(Teid(1)),
        teid_control: Some(Teid(2)),
        nsapi: None,
        charging_id: Some(0x0a00_0001),
        end_user_address: Some(EndUserAddress::Ipv6(Some("2001:db8::2".parse().unwrap()))),
        pco: Some(pco::emit(&[pco::PcoOption { identifier: 0x000d, content: vec![192, 0, 2, 53] }])),
        ggsn_control: Some(V4),
        ggsn_user: Some(V4),
        alternative_control: Some(V6),
        alternative_user: Some(V6),
        qos: Some(qos()),
        common_flags: None,
        apn_restriction: Some(2),
        charging_gateway: Some(V4),
        private_extension: None,
    };
    let expected = with_qos(&[
        ("gtp.cause", "128"),
        ("gtp.reorder", "1"),
        ("gtp.recovery", "3"),
        ("gtp.teid_data", "0x00000001"),
        ("gtp.teid_cp", "0x00000002"),
        ("gtp.chrg_id", "0x0a000001"),
        ("gtp.user_ipv6", "2001:db8::2"),
        ("gsm_a.gm.sm.pco_pid", "0x000d"),
        ("gtp.gsn_ipv4", "192.0.2.7,192.0.2.7"),
        ("gtp.gsn_ipv6", "2001:db8::1,2001:db8::1"),
        ("gtp.ext_apn_res", "2"),
        ("gtp.chrg_ipv4", "192.0.2.7"),
    ]);
    check(0x0506_0708, response, &expected);
}

fn causes() {
    let mut capture = Capture::new();
    for cause in Cause::ALL {
        let mut datagram = Vec::new();
        assert!(v1c::emit_datagram(Teid(1), 1, &CreateResponse::refused(*cause).into(), &mut datagram));
        capture.add_udp(PORT_CONTROL, PORT_CONTROL, &datagram);
    }
    let expected: Vec<Vec<String>> = Cause::ALL.iter().map(|cause| vec![cause.octet().to_string()]).collect();
    assert_eq!(capture.dissect(&[], &["gtp.cause"]), expected);
}

fn update() {
    let request = UpdateRequest {
        imsi: Some("240010123456789".parse().unwrap()),
        recovery: Some(9),
        teid_data: Some(Teid(3)),
        teid_control: Some(Teid(4)),
        sgsn_control: Some(V4),
        sgsn_user: Some(V4),
        qos: Some(qos()),
        ..UpdateRequest::new(Nsapi(15))
    };
    let expected = with_qos(&[
        ("e212.imsi", "240010123456789"),
        ("gtp.recovery", "9"),
        ("gtp.teid_data", "0x00000003"),
        ("gtp.teid_cp", "0x00000004"),
        ("gtp.nsapi", "15"),
        ("gtp.gsn_ipv4", "192.0.2.7,192.0.2.7"),
    ]);
    check(7, request, &expected);
    let response = UpdateResponse {
        recovery: Some(10),
        teid_data: Some(Teid(5)),
        teid_control: Some(Teid(6)),
        charging_id: Some(7),
        gsn_first: Some(V4),
        gsn_second: Some(V6),
        qos: Some(qos()),
        ..UpdateResponse::refused(Cause::RequestAccepted)
    };
    let expected = with_qos(&[
        ("gtp.cause", "128"),
        ("gtp.recovery", "10"),
        ("gtp.teid_data", "0x00000005"),
        ("gtp.teid_cp", "0x00000006"),
        ("gtp.chrg_id", "0x00000007"),
        ("gtp.gsn_ipv4", "192.0.2.7"),
        ("gtp.gsn_ipv6", "2001:db8::1"),
    ]);
    check(8, response, &expected);
}

fn deletion_and_errors() {
    let request = DeleteRequest { teardown: Some(true), nsapi: Nsapi(5), pco: None, private_extension: None };
    check(9, request, &[("gtp.tear_ind", "1"), ("gtp.nsapi", "5")]);
    let response = DeleteResponse { cause: Cause::NonExistent, pco: None, private_extension: None };
    check(10, response, &[("gtp.cause", "192")]);
    let indication = ErrorIndication { teid: Teid(0xdead), address: V4, private_extension: None };
    check(0, indication, &[("gtp.teid_data", "0x0000dead"), ("gtp.gsn_ipv4", "192.0.2.7")]);
}

fn pdu_notification() {
    let end_user_address = EndUserAddress::Ipv4(Some(MOBILE));
    let apn: gannet_wire::l3::ie::Apn = "mms".parse().unwrap();
    let request = PduNotificationRequest {
        imsi: "240010123456789".parse().unwrap(),
        teid_control: Teid(11),
        end_user_address: end_user_address.clone(),
        apn: apn.clone(),
        pco: None,
        ggsn_control: V4,
        private_extension: None,
    };
    let common = [("gtp.teid_cp", "0x0000000b"), ("gtp.user_ipv4", "172.16.222.1"), ("gtp.apn", "mms")];
    let mut expected = common.to_vec();
    expected.extend([("e212.imsi", "240010123456789"), ("gtp.gsn_ipv4", "192.0.2.7")]);
    check(0, request, &expected);
    let cause = Cause::RequestAccepted;
    check(1, PduNotificationResponse { cause, private_extension: None }, &[("gtp.cause", "128")]);
    let cause = Cause::MsIsNotGprsResponding;
    let reject = PduNotificationRejectRequest {
        cause,
        teid_control: Teid(11),
        end_user_address,
        apn,
        pco: None,
        private_extension: None,
    };
    let mut expected = common.to_vec();
    expected.push(("gtp.cause", "196"));
    check(1, reject, &expected);
    let cause = Cause::RequestAccepted;
    check(1, PduNotificationRejectResponse { cause, private_extension: None }, &[("gtp.cause", "128")]);
}

/// G-PDUs with every combination of optional fields and extension headers, around an IPv4 packet.
fn headers_of_g_pdus() {
    let mut t_pdu = vec![0x45, 0, 0, 28, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    t_pdu.extend([0x27, 0x10, 0x27, 0x11, 0, 8, 0, 0]);
    let chain = [
        ExtensionHeader { kind: 0xc0, content: &[0x12, 0x34] },
        ExtensionHeader { kind: 0x40, content: &[0x08, 0x68] },
    ];
    let mut capture = Capture::new();
    let mut expected = Vec::new();
    for sequence in [None, Some(0xfffe)] {
        for npdu_number in [None, Some(0xab)] {
            for extensions in [&[][..], &chain[..1], &chain] {
                let repr =
                    Repr { message: message_type::G_PDU, teid: Teid(0x8000_0001), sequence, npdu_number };
                let mut datagram = vec![0; repr.buffer_len()];
                if extensions.is_empty() {
                    assert!(repr.emit(t_pdu.len(), &mut datagram));
                    datagram.extend(&t_pdu);
                } else {
                    datagram.clear();
                    assert!(repr.emit_extended(extensions, &t_pdu, &mut datagram));
                }
                capture.add_udp(PORT_USER, PORT_USER, &datagram);
                let flag = |set: bool| u8::from(set).to_string();
                // The last extension header says that none follows.
                let kinds = extensions.iter().map(|extension| extension.kind).chain([0]);
                let mut types: Vec<String> = kinds.map(|kind| format!("{kind:#04x}")).collect();
                if extensions.is_empty() {
                    types.clear();
                }
                expected.push(vec![
                    (datagram.len() - 8).to_string(),
                    flag(!extensions.is_empty()),
                    flag(sequence.is_some()),
                    flag(npdu_number.is_some()),
                    sequence.map(|n| format!("{n:#06x}")).unwrap_or_default(),
                    npdu_number.map(|n| format!("{n:#04x}")).unwrap_or_default(),
                    types.join(","),
                    String::new(),
                    "raw:ip:udp:gtp:ip:udp".to_owned(),
                ]);
            }
        }
    }
    let fields = [
        "gtp.length",
        "gtp.flags.e",
        "gtp.flags.s",
        "gtp.flags.pn",
        "gtp.seq_number",
        "gtp.npdu_number",
        "gtp.ext_hdr.next",
        "_ws.malformed",
        "frame.protocols",
    ];
    let rows = capture.dissect(&[], &fields);
    assert_eq!(rows, expected);
}

/// What an SGSN sends; `create_request` of gannet-node makes the file, and fails where the SGSN sends anything else.
fn create_requests_of_an_sgsn() {
    let mut capture = Capture::new();
    for line in include_str!("create_requests.txt").lines() {
        let octets: Vec<u8> =
            line.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap()).map(octet).collect();
        capture.add_udp(PORT_CONTROL, PORT_CONTROL, &octets);
    }
    let fields = [
        "_ws.malformed",
        "_ws.expert.severity",
        "gtp.message",
        "e212.imsi",
        "gtp.ext_imeisv",
        "gtp.ext_rat_type",
        "gtp.cgi_ci",
        "gtp.sel_mode",
        "gtp.apn",
        "gsm_a.gm.sm.pco_pid",
        "gtp.nsapi",
    ];
    let rows = capture.dissect(&[], &fields);
    let expected = [
        ["001010000000001", "490154203237518", "2", "10", "1", "internet", "0x000d", "5"],
        ["001010000000002", "4901542032375101", "2", "10", "2", "", "", "5"],
        ["", "", "2", "10", "", "", "", "6,5"],
    ];
    let expected = expected.map(|row| [&["", "", "0x10"][..], &row].concat());
    assert_eq!(rows, expected);
}

fn octet(digits: &str) -> u8 {
    u8::from_str_radix(digits, 16).unwrap()
}

fn main() -> ExitCode {
    let needs = &[Need::Tshark];
    gannet_testkit::main(&[
        ("path_management", needs, path_management),
        ("creation", needs, creation),
        ("create_requests_of_an_sgsn", needs, create_requests_of_an_sgsn),
        ("causes", needs, causes),
        ("update", needs, update),
        ("deletion_and_errors", needs, deletion_and_errors),
        ("pdu_notification", needs, pdu_notification),
        ("headers_of_g_pdus", needs, headers_of_g_pdus),
    ])
}
