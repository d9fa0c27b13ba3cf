//! GTPv0 against Wireshark, field by field.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

use gannet_testkit::{Need, tshark::Capture};
use gannet_wire::gtp::v0::message::{
    CreateRequest, CreateResponse, DeleteRequest, DeleteResponse, EchoRequest, EchoResponse, ErrorIndication,
    PduNotificationRejectRequest, PduNotificationRejectResponse, PduNotificationRequest,
    PduNotificationResponse, UpdateRequest, UpdateResponse, VersionNotSupported,
};
use gannet_wire::gtp::v0::{Header, Message, emit_datagram, g_pdu};
use gannet_wire::gtp::value::{QosR97, SelectionMode};
use gannet_wire::gtp::{Cause, EndUserAddress, Msisdn, PORT_V0, PrivateExtension, pco};
use gannet_wire::id::{FlowLabel, Nsapi, Tid};
use gannet_wire::l3::ie::Octets;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::ExitCode;

const V4: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));
const V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));
const MOBILE: Ipv4Addr = Ipv4Addr::new(172, 16, 222, 1);

fn tid() -> Tid {
    Tid { imsi: "240010123456789".parse().unwrap(), nsapi: Nsapi(5) }
}

/// As Wireshark writes it: the digits, then the NSAPI.
const TID: &str = "2400101234567895";

/// What Wireshark reads in one message: the value of each named field.
fn check(header: Header, message: impl Into<Message>, expected: &[(&str, &str)]) {
    let message = message.into();
    let kind = format!("{:#04x}", message.message_type());
    let mut datagram = Vec::new();
    assert!(emit_datagram(header, &message, &mut datagram));
    let length = (datagram.len() - 20).to_string();
    let flow = format!("{:#06x}", header.flow.0);
    let common = [
        ("gtp.flags.version", "0"),
        ("gtp.flags.payload", "1"),
        ("gtp.message", kind.as_str()),
        ("gtp.length", &length),
        ("gtp.seq_number", "0x1234"),
        ("gtp.flow_label", &flow),
        ("_ws.malformed", ""),
        ("_ws.expert.severity", ""),
    ];
    let fields: Vec<(&str, &str)> = common.iter().chain(expected).copied().collect();
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let row = Capture::new().udp(PORT_V0, PORT_V0, &datagram).dissect(&[], &names).remove(0);
    for (value, (name, wanted)) in row.iter().zip(&fields) {
        // Wireshark gives the length of some elements the name of the header's.
        let value = if *name == "gtp.length" { value.split(',').next().unwrap() } else { value };
        assert_eq!(value, *wanted, "{name} of {message:?}");
    }
}

fn of_path() -> Header {
    Header::of_path(0, 0x1234)
}

fn of_tunnel(flow: u16) -> Header {
    Header::of_tunnel(0, 0x1234, tid(), FlowLabel(flow))
}

/// Delay class 4, reliability 3, peak 2 kB/s, precedence 2, best effort.
const QOS: QosR97 = QosR97([0x23, 0x22, 0x1f]);

fn with<'a>(expected: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let qos = [
        ("gtp.qos_delay", "4"),
        ("gtp.qos_reliability", "3"),
        ("gtp.qos_peak", "2"),
        ("gtp.qos_precedence", "2"),
        ("gtp.qos_mean", "31"),
    ];
    expected.iter().copied().chain(qos).collect()
}

fn path_management() {
    let private_extension = Some(PrivateExtension { identifier: 10_415, value: vec![1, 2, 3] });
    check(of_path(), EchoRequest { private_extension }, &[("gtp.ext_id", "10415")]);
    check(of_path(), EchoResponse { recovery: 200, private_extension: None }, &[("gtp.recovery", "200")]);
    check(of_path(), VersionNotSupported {}, &[]);
}

fn creation() {
    let request = CreateRequest {
        qos: QOS,
        recovery: Some(17),
        selection_mode: SelectionMode::MsNotVerified,
        flow_data: FlowLabel(0x0102),
        flow_signalling: FlowLabel(0x0304),
        end_user_address: EndUserAddress::Ipv4(Some(MOBILE)),
        apn: "internet.example".parse().unwrap(),
        pco: Some(pco::emit(&[pco::PcoOption { identifier: 0x000d, content: Vec::new() }])),
        sgsn_control: V4,
        sgsn_user: V6,
        msisdn: Msisdn { nature_and_plan: 0x91, tbcd: Octets::from_start(&[0x64, 0x07, 0xf2]) },
        private_extension: None,
    };
    let expected = with(&[
        ("gtp.tid", TID),
        ("gtp.recovery", "17"),
        ("gtp.sel_mode", "1"),
        ("gtp.flow_sig", "0x0304"),
        ("gtp.user_ipv4", "172.16.222.1"),
        ("gtp.apn", "internet.example"),
        ("gsm_a.gm.sm.pco_pid", "0x000d"),
        ("gtp.gsn_ipv4", "192.0.2.7"),
        ("gtp.gsn_ipv6", "2001:db8::1"),
        ("e164.msisdn", "46702"),
    ]);
    check(of_tunnel(0), request, &expected);
    let response = CreateResponse {
        cause: Cause::RequestAccepted,
        qos: Some(QOS),
        reordering_required: Some(true),
        recovery: Some(3),
        flow_data: Some(FlowLabel(1)),
        flow_signalling: Some(FlowLabel(2)),
        charging_id: Some(0x0a00_0001),
        end_user_address: Some(EndUserAddress::Ipv4(Some(MOBILE))),
        pco: None,
        ggsn_control: Some(V4),
        ggsn_user: Some(V4),
        charging_gateway: Some(V4),
        private_extension: None,
    };
    let expected = with(&[
        ("gtp.cause", "128"),
        ("gtp.reorder", "1"),
        ("gtp.recovery", "3"),
        ("gtp.flow_sig", "0x0002"),
        ("gtp.chrg_id", "0x0a000001"),
        ("gtp.user_ipv4", "172.16.222.1"),
        ("gtp.gsn_ipv4", "192.0.2.7,192.0.2.7"),
        ("gtp.chrg_ipv4", "192.0.2.7"),
    ]);
    check(of_tunnel(0x0304), response, &expected);
}

fn update_and_deletion() {
    let request = UpdateRequest {
        qos: QOS,
        recovery: Some(9),
        flow_data: FlowLabel(3),
        flow_signalling: FlowLabel(4),
        sgsn_control: V4,
        sgsn_user: V4,
        private_extension: None,
    };
    let expected =
        with(&[("gtp.recovery", "9"), ("gtp.flow_sig", "0x0004"), ("gtp.gsn_ipv4", "192.0.2.7,192.0.2.7")]);
    check(of_tunnel(7), request, &expected);
    let response = UpdateResponse {
        cause: Cause::RequestAccepted,
        qos: Some(QOS),
        recovery: Some(10),
        flow_data: Some(FlowLabel(5)),
        flow_signalling: Some(FlowLabel(6)),
        charging_id: Some(7),
        ggsn_control: Some(V4),
        ggsn_user: Some(V6),
        charging_gateway: None,
        private_extension: None,
    };
    let expected = with(&[("gtp.cause", "128"), ("gtp.flow_sig", "0x0006"), ("gtp.chrg_id", "0x00000007")]);
    check(of_tunnel(8), response, &expected);
    check(of_tunnel(9), DeleteRequest { private_extension: None }, &[("gtp.tid", TID)]);
    let cause = Cause::NonExistent;
    check(of_tunnel(10), DeleteResponse { cause, private_extension: None }, &[("gtp.cause", "192")]);
    check(of_tunnel(0), ErrorIndication { private_extension: None }, &[("gtp.tid", TID)]);
}

fn pdu_notification() {
    let end_user_address = EndUserAddress::Ipv4(Some(MOBILE));
    let request =
        PduNotificationRequest { end_user_address: end_user_address.clone(), private_extension: None };
    check(of_tunnel(0), request, &[("gtp.user_ipv4", "172.16.222.1")]);
    let cause = Cause::RequestAccepted;
    check(of_tunnel(0), PduNotificationResponse { cause, private_extension: None }, &[("gtp.cause", "128")]);
    let cause = Cause::MsIsNotGprsResponding;
    let reject = PduNotificationRejectRequest { cause, end_user_address, private_extension: None };
    check(of_tunnel(0), reject, &[("gtp.cause", "196"), ("gtp.user_ipv4", "172.16.222.1")]);
    let cause = Cause::RequestAccepted;
    let response = PduNotificationRejectResponse { cause, private_extension: None };
    check(of_tunnel(0), response, &[("gtp.cause", "128")]);
}

fn g_pdus() {
    let mut t_pdu = vec![0x45, 0, 0, 28, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    t_pdu.extend([0x27, 0x10, 0x27, 0x11, 0, 8, 0, 0]);
    let mut capture = Capture::new();
    let mut expected = Vec::new();
    for llc_number in [None, Some(0xab)] {
        let header = Header { llc_number, ..g_pdu(tid(), FlowLabel(0x0a0b), 0xfffe) };
        let mut datagram = vec![0; 20];
        assert!(header.emit(t_pdu.len(), &mut datagram));
        datagram.extend(&t_pdu);
        capture.add_udp(PORT_V0, PORT_V0, &datagram);
        let has_number = u8::from(llc_number.is_some()).to_string();
        let number = format!("{:#04x}", llc_number.unwrap_or(0xff));
        let fields =
            ["0xff", "28", "0xfffe", "0x0a0b", &has_number, &number, TID, "raw:ip:udp:gtpprime:ip:udp"];
        expected.push(fields.map(str::to_owned).to_vec());
    }
    let fields = [
        "gtp.message",
        "gtp.length",
        "gtp.seq_number",
        "gtp.flow_label",
        "gtp.flags.snn",
        "gtp.sndcp_number",
        "gtp.tid",
        "frame.protocols",
    ];
    assert_eq!(capture.dissect(&[], &fields), expected);
}

fn main() -> ExitCode {
    let needs = &[Need::Tshark];
    gannet_testkit::main(&[
        ("path_management", needs, path_management),
        ("creation", needs, creation),
        ("update_and_deletion", needs, update_and_deletion),
        ("pdu_notification", needs, pdu_notification),
        ("g_pdus", needs, g_pdus),
    ])
}
