//! LL-PDUs in hand-built BSSGP over NS over UDP, and what tshark says about them.

#![allow(dead_code, reason = "each test program uses its part")]

use gannet_testkit::tshark::Capture;
use gannet_wire::fcs24::fcs24;
use gannet_wire::llc::Header;

/// The options that make tshark take UDP port 23000 for Gb.
pub const OPTIONS: [&str; 2] = ["-d", "udp.port==23000,gprs-ns"];

/// Header, information and FCS.
pub fn ll_pdu(header: &Header, info: &[u8]) -> Vec<u8> {
    let mut pdu = header.emit().to_vec();
    pdu.extend(info);
    let covered = header.emit().len() + header.covered_info(info.len());
    pdu.extend(fcs24(&pdu[..covered]));
    pdu
}

/// NS-UNITDATA with an UL-UNITDATA that holds `ll_pdu`.
pub fn uplink(ll_pdu: &[u8]) -> Vec<u8> {
    let mut octets = vec![0, 0, 0, 2, 1, 0xc0, 0, 0, 1, 0, 0, 4];
    octets.extend([0x08, 0x88, 0x00, 0xf1, 0x10, 0, 1, 0, 0x1b, 0x39]);
    with_ll_pdu(octets, ll_pdu)
}

/// NS-UNITDATA with a DL-UNITDATA that holds `ll_pdu`.
pub fn downlink(ll_pdu: &[u8]) -> Vec<u8> {
    with_ll_pdu(vec![0, 0, 0, 2, 0, 0xc0, 0, 0, 1, 0, 0, 0x20, 0x16, 0x82, 0x03, 0xe8], ll_pdu)
}

fn with_ll_pdu(mut octets: Vec<u8>, ll_pdu: &[u8]) -> Vec<u8> {
    octets.push(0x0e);
    octets.extend(u16::try_from(ll_pdu.len()).unwrap().to_be_bytes());
    octets.extend(ll_pdu);
    octets
}

/// The numbers that tshark gives for `fields`, one list a field, one row a frame.
pub fn dissect(datagrams: &[Vec<u8>], fields: &[&str]) -> Vec<Vec<Vec<u64>>> {
    let mut capture = Capture::new();
    for datagram in datagrams {
        capture.add_udp(23000, 22000, datagram);
    }
    let rows = capture.dissect(&OPTIONS, fields);
    rows.iter().map(|row| row.iter().map(|values| numbers(values)).collect()).collect()
}

fn numbers(values: &str) -> Vec<u64> {
    let number = |value: &str| match (value, value.strip_prefix("0x")) {
        ("True", _) => 1,
        ("False", _) => 0,
        (_, Some(hex)) => u64::from_str_radix(hex, 16).unwrap(),
        (_, None) => value.parse().unwrap_or_else(|_| panic!("not a number: {value}")),
    };
    values.split(',').filter(|value| !value.is_empty()).map(number).collect()
}
