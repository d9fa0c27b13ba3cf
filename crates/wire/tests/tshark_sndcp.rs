//! SNDCP against Wireshark, field by field.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

mod gb;

use gannet_testkit::Need;
use gannet_wire::id::{Nsapi, Sapi};
use gannet_wire::llc::{self, Control, UFunction};
use gannet_wire::sndcp::{Compression, Header, Pdu, algorithms, xid};
use gb::{dissect, downlink, ll_pdu};
use std::process::ExitCode;

fn in_llc(header: Header) -> Vec<u8> {
    let control = match header.pdu {
        Pdu::Unitdata { .. } => Control::Ui { nu: 7, encrypted: false, protected: true },
        Pdu::Data { .. } => {
            Control::I { ack_request: false, ns: 1, nr: 2, supervisory: llc::Supervisory::Rr }
        }
    };
    let mut info = header.emit().to_vec();
    info.extend([0x45, 0, 0, 20, 0, 0, 0, 0, 64, 1, 0x7a, 0xe7, 192, 0, 2, 1, 192, 0, 2, 2]);
    downlink(&ll_pdu(&llc::Header { cr: true, sapi: Sapi(3), control }, &info))
}

fn headers() {
    let none = Some(Compression::NONE);
    let cases = [
        (Nsapi(5), false, Pdu::Unitdata { first: none, segment: 0, number: 0 }),
        (Nsapi(6), true, Pdu::Unitdata { first: none, segment: 0, number: 4095 }),
        (Nsapi(15), true, Pdu::Unitdata { first: None, segment: 15, number: 0x123 }),
        (Nsapi(15), false, Pdu::Unitdata { first: None, segment: 1, number: 200 }),
    ];
    let mut datagrams = Vec::new();
    let mut expected = Vec::new();
    for (nsapi, more, pdu) in cases {
        let Pdu::Unitdata { first, segment, .. } = pdu else { unreachable!() };
        datagrams.push(in_llc(Header { nsapi, more, pdu }));
        let optional = |value: Option<u8>| value.map(u64::from).into_iter().collect::<Vec<_>>();
        expected.push(vec![
            vec![0],
            vec![u64::from(first.is_some())],
            vec![1],
            vec![u64::from(more)],
            vec![u64::from(nsapi.0)],
            optional(first.map(|c| c.dcomp)),
            optional(first.map(|c| c.pcomp)),
            vec![u64::from(segment)],
        ]);
    }
    let fields = ["x", "f", "t", "m", "nsapib", "dcomp", "pcomp", "segment"].map(|f| format!("sndcp.{f}"));
    assert_eq!(dissect(&datagrams, &fields.each_ref().map(String::as_str)), expected);
}

fn numbers_and_acknowledged_pdus() {
    let first = Pdu::Data { first: Some((Compression { dcomp: 0, pcomp: 0 }, 200)) };
    let datagrams = [
        in_llc(Header { nsapi: Nsapi(5), more: false, pdu: first }),
        in_llc(Header {
            nsapi: Nsapi(5),
            more: false,
            pdu: Pdu::Unitdata { first: Some(Compression::NONE), segment: 0, number: 0x9ab },
        }),
    ];
    let rows = dissect(&datagrams, &["sndcp.t", "sndcp.f", "sndcp.npdu", "sndcp.segment"]);
    assert_eq!(rows[0], [vec![0], vec![1], vec![200], vec![]]);
    assert_eq!(rows[1][..2], [vec![1], vec![1]]);
    assert_eq!(rows[1][3], [0]);
    let mut capture = gannet_testkit::tshark::Capture::new();
    capture.add_udp(23000, 22000, &datagrams[1]);
    let protocols = capture.protocols(&gb::OPTIONS);
    assert!(protocols[0].contains("llcgprs:sndcp:ip"), "{protocols:?}");
}

fn xid_block() {
    let entity = |number, algorithm, fields: &[u8]| xid::Entity {
        number,
        algorithm: Some(algorithm),
        fields: fields.to_vec(),
    };
    let block = [
        xid::Parameter::Version(0),
        xid::Parameter::Data(vec![entity(
            1,
            algorithms::data_algorithm::V42BIS,
            &[0x10, 0, 0x60, 3, 8, 0, 20],
        )]),
        xid::Parameter::Protocol(vec![entity(
            2,
            algorithms::protocol_algorithm::RFC_1144,
            &[0x12, 0, 0x20, 15],
        )]),
    ];
    let mut octets = Vec::new();
    xid::emit(&block, &mut octets);
    let mut info = Vec::new();
    llc::xid::emit(&[llc::xid::Parameter::Layer3(octets)], &mut info);
    let control = Control::U { poll_final: true, function: UFunction::Xid };
    let datagram = downlink(&ll_pdu(&llc::Header { cr: true, sapi: Sapi(3), control }, &info));
    let names =
        ["l3xidpartype", "l3xidparlen", "l3xiddcomppbit", "l3xidentity", "l3xidalgoid", "l3xidcomplen"];
    let fields = names.map(|f| format!("llcgprs.{f}"));
    let rows = dissect(&[datagram], &fields.each_ref().map(String::as_str));
    assert_eq!(rows[0], [vec![0, 1, 2], vec![1, 10, 7], vec![1, 1], vec![1, 2], vec![0, 0], vec![7, 4]]);
}

fn main() -> ExitCode {
    gannet_testkit::main(&[
        ("headers", &[Need::Tshark], headers),
        ("numbers_and_acknowledged_pdus", &[Need::Tshark], numbers_and_acknowledged_pdus),
        ("xid_block", &[Need::Tshark], xid_block),
    ])
}
