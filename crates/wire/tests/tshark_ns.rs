//! NS and GSMTAP against Wireshark, field by field.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

mod gb;

use gannet_testkit::Need;
use gannet_testkit::tshark::Capture;
use gannet_wire::gsmtap::{self, Channel, PayloadType};
use gannet_wire::id::{Bvci, Nsei, Nsvci};
use gannet_wire::ns::{Cause, IpElement, IpElements, Pdu, PduType, Sns, Status, Unitdata};
use gb::dissect;
use std::process::ExitCode;

/// One PDU of every type, with what tshark should say: type, cause, NS-VCI, NSEI, BVCI, octets of the PDU in error.
fn control_pdus() -> Vec<(Pdu, [Option<u64>; 5])> {
    let (nsvci, nsei) = (Nsvci(0x1234), Nsei(0xfedc));
    let status = |cause, nsvci, bvci| Pdu::Status(Status { nsvci, bvci, ..Status::of(cause) });
    let (vci, sei) = (Some(0x1234), Some(0xfedc));
    vec![
        (Pdu::Reset { cause: Cause::EquipmentFailure, nsvci, nsei }, [Some(2), Some(2), vci, sei, None]),
        (Pdu::ResetAck { nsvci, nsei }, [Some(3), None, vci, sei, None]),
        (Pdu::Block { cause: Cause::TransitNetworkFailure, nsvci }, [Some(4), Some(0), vci, None, None]),
        (Pdu::BlockAck { nsvci }, [Some(5), None, vci, None, None]),
        (Pdu::Unblock, [Some(6), None, None, None, None]),
        (Pdu::UnblockAck, [Some(7), None, None, None, None]),
        (status(Cause::NsVcBlocked, Some(nsvci), None), [Some(8), Some(3), vci, None, None]),
        (status(Cause::BvciUnknown, None, Some(Bvci(77))), [Some(8), Some(5), None, None, Some(77)]),
        (Pdu::Alive, [Some(10), None, None, None, None]),
        (Pdu::AliveAck, [Some(11), None, None, None, None]),
    ]
}

fn control() {
    let cases = control_pdus();
    let octets: Vec<Vec<u8>> = cases.iter().map(|(pdu, _)| pdu.to_vec()).collect();
    let fields = ["pdu_type", "cause", "ns_vci", "nsei", "bvci"].map(|field| format!("nsip.{field}"));
    let rows = dissect(&octets, &fields.each_ref().map(String::as_str));
    for ((pdu, expected), row) in cases.iter().zip(rows) {
        let expected: Vec<Vec<u64>> = expected.iter().map(|value| value.iter().copied().collect()).collect();
        assert_eq!(row, expected, "{pdu:?}");
    }
}

/// tshark's text for each cause and each PDU type is ours, but for punctuation.
fn names() {
    let details = |octets: Vec<Vec<u8>>| {
        let mut capture = Capture::new();
        octets.iter().for_each(|octets| capture.add_udp(23000, 22000, octets));
        plain(&capture.details(&gb::OPTIONS))
    };
    let text = details(Cause::ALL.iter().map(|cause| Pdu::Status(Status::of(*cause)).to_vec()).collect());
    for cause in Cause::ALL {
        let line = format!("cause{}{:#04x}", plain(&cause.to_string()), cause.octet());
        assert!(text.contains(&line), "{line} is not among them");
    }
    let text = details(PduType::ALL.iter().map(|pdu_type| vec![pdu_type.octet(), 0, 0, 2]).collect());
    for pdu_type in PduType::ALL {
        let line = format!("pdutype{}{:#04x}", plain(&pdu_type.to_string()), pdu_type.octet());
        assert!(text.contains(&line), "{line} is not among them");
    }
}

/// Lower case letters and digits alone.
fn plain(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase()
}

fn status_with_pdu() {
    let status = Status::about_pdu(Cause::ProtocolError, &[0x7f, 1, 2, 3]);
    let mut capture = Capture::new();
    capture.add_udp(23000, 22000, &Pdu::Status(status).to_vec());
    let rows =
        capture.dissect(&gb::OPTIONS, &["nsip.pdu_type", "nsip.cause", "nsip.ns_pdu", "_ws.malformed"]);
    assert_eq!(rows, [["0x08,0x7f", "0x0b", "02847f010203", ""]]);
}

fn unitdata() {
    let mut octets = Unitdata { control: 3, bvci: Bvci(0xabcd) }.emit().to_vec();
    octets.extend([0x41, 0x07, 0x81, 0x05]);
    let fields = ["nsip.pdu_type", "nsip.control_bits", "nsip.bvci", "bssgp.pdu_type"];
    assert_eq!(dissect(&[octets], &fields), [[vec![0], vec![3], vec![0xabcd], vec![0x41]]]);
}

fn ip_elements() -> IpElements {
    let element = |text: &str, signalling_weight, data_weight| IpElement {
        endpoint: text.parse().unwrap(),
        signalling_weight,
        data_weight,
    };
    [element("192.0.2.1:23000", 1, 2), element("192.0.2.2:23001", 3, 4), element("[2001:db8::5]:23002", 5, 6)]
        .into_iter()
        .collect()
}

/// The fields of the IP sub-network service, in the order of the rows below.
const SNS_FIELDS: [&str; 14] = [
    "pdu_type",
    "nsei",
    "cause",
    "reset_flag.flag",
    "max_num_ns_vc",
    "num_ip4_endpoints",
    "num_ip6_endpoints",
    "end_flag.flag",
    "transaction_id",
    "ipv4_address",
    "ipv6_address",
    "ip_element.udp_port",
    "ip_element.signalling_weight",
    "ip_element.data_weight",
];

fn sns() {
    let nsei = Nsei(0x1234);
    let (v4, v6) = ("192.0.2.1,192.0.2.2", "2001:db8::5");
    let (ports, signalling, data) = ("23000,23001,23002", "1,3,5", "2,4,6");
    let (invalid, unknown) = (Some(Cause::InvalidNumberOfNsVcs), Some(Cause::UnknownIpEndpoint));
    let address = |text: &str| Some(text.parse().unwrap());
    let (none, elements) = (IpElements::default, ip_elements);
    let size = Sns::Size {
        nsei,
        reset: true,
        ns_vcs_max: 0x0102,
        ip4_endpoints: Some(0x0304),
        ip6_endpoints: Some(0x0506),
    };
    let n = "4660";
    let cases: [(Sns, [&str; 14]); 11] = [
        (size, ["0x12", n, "", "1", "258", "772", "1286", "", "", "", "", "", "", ""]),
        (Sns::SizeAck { nsei, cause: None }, ["0x13", n, "", "", "", "", "", "", "", "", "", "", "", ""]),
        (
            Sns::SizeAck { nsei, cause: invalid },
            ["0x13", n, "0x10", "", "", "", "", "", "", "", "", "", "", ""],
        ),
        (
            Sns::Config { nsei, end: true, elements: elements() },
            ["0x0f", n, "", "", "", "", "", "1", "", v4, v6, ports, signalling, data],
        ),
        (
            Sns::Config { nsei, end: false, elements: elements() },
            ["0x0f", n, "", "", "", "", "", "0", "", v4, v6, ports, signalling, data],
        ),
        (
            Sns::ConfigAck { nsei, cause: invalid },
            ["0x10", n, "0x10", "", "", "", "", "", "", "", "", "", "", ""],
        ),
        (
            Sns::Add { nsei, transaction: 200, elements: elements() },
            ["0x0d", n, "", "", "", "", "", "", "200", v4, v6, ports, signalling, data],
        ),
        (
            Sns::Delete { nsei, transaction: 201, address: None, elements: elements() },
            ["0x11", n, "", "", "", "", "", "", "201", v4, v6, ports, signalling, data],
        ),
        (
            Sns::Delete { nsei, transaction: 1, address: address("192.0.2.9"), elements: none() },
            ["0x11", n, "", "", "", "", "", "", "1", "192.0.2.9", "", "", "", ""],
        ),
        (
            Sns::Changeweight { nsei, transaction: 3, elements: elements() },
            ["0x0e", n, "", "", "", "", "", "", "3", v4, v6, ports, signalling, data],
        ),
        (
            Sns::Ack { nsei, transaction: 4, cause: unknown, elements: elements() },
            ["0x0c", n, "0x12", "", "", "", "", "", "4", v4, v6, ports, signalling, data],
        ),
    ];
    let mut capture = Capture::new();
    cases.iter().for_each(|(sns, _)| capture.add_udp(23000, 22000, &Pdu::Sns(sns.clone()).to_vec()));
    let fields = SNS_FIELDS.map(|field| format!("nsip.{field}"));
    let mut fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    fields.push("_ws.malformed");
    let rows = capture.dissect(&gb::OPTIONS, &fields);
    assert_eq!(rows.len(), cases.len());
    for ((sns, expected), row) in cases.iter().zip(rows) {
        assert_eq!(row[..14], expected[..], "{sns:?}");
        assert_eq!(row[14], "", "{sns:?} is malformed");
    }
    // tshark reads the type of an IPv6 address, and then takes the address for one of IPv4.
    let address = address("2001:db8::7");
    let delete = Sns::Delete { nsei, transaction: 2, address, elements: none() };
    let rows = dissect(&[Pdu::Sns(delete).to_vec()], &["nsip.transaction_id", "nsip.ip_address_type"]);
    assert_eq!(rows, [[vec![2], vec![2]]]);
}

fn gsmtap_header() {
    let header = gsmtap::Header {
        timeslot: 5,
        arfcn: 871,
        pcs_1900: true,
        signal_dbm: -63,
        snr_db: 12,
        frame_number: 1_234_567,
        antenna: 1,
        sub_slot: 2,
        ..gsmtap::Header::um(Channel::Pdtch, true)
    };
    let mut capture = Capture::new();
    let with_frame = |header: &gsmtap::Header, frame: &[u8]| [&header.emit()[..], frame].concat();
    capture.add_udp(50000, gsmtap::UDP_PORT, &with_frame(&header, &[0x40; 23]));
    let llc = gsmtap::Header::new(PayloadType::GbLlc, false);
    capture.add_udp(50000, gsmtap::UDP_PORT, &with_frame(&llc, &[0x41, 0xc0, 0x01, 0x08, 0x01, 1, 2, 3]));
    let fields = [
        "version",
        "hdr_len",
        "type",
        "ts",
        "arfcn",
        "uplink",
        "pcs_band",
        "signal_dbm",
        "snr_db",
        "frame_nr",
        "chan_type",
        "antenna",
        "sub_slot",
    ]
    .map(|field| format!("gsmtap.{field}"));
    let rows = capture.dissect(&[], &fields.each_ref().map(String::as_str));
    assert_eq!(rows[0][..4], ["2", "16", "1", "5"]);
    assert_eq!(rows[0][4..], ["871", "1", "1", "-63", "12", "1234567", "13", "1", "2"]);
    assert_eq!(rows[1][2..6], ["8", "0", "0", "0"]);
    let protocols = capture.protocols(&[]);
    assert!(protocols[0].contains("gsmtap:gsm_rlcmac"), "{protocols:?}");
    assert!(protocols[1].contains("gsmtap:llcgprs"), "{protocols:?}");
}

fn main() -> ExitCode {
    gannet_testkit::main(&[
        ("control", &[Need::Tshark], control),
        ("names", &[Need::Tshark], names),
        ("status_with_pdu", &[Need::Tshark], status_with_pdu),
        ("sns", &[Need::Tshark], sns),
        ("unitdata", &[Need::Tshark], unitdata),
        ("gsmtap_header", &[Need::Tshark], gsmtap_header),
    ])
}
