//! RLC data blocks against Wireshark, field by field, in GSMTAP.

use gannet_testkit::Need;
use gannet_testkit::tshark::Capture;
use gannet_wire::gsmtap::{Channel, Header, UDP_PORT};
use gannet_wire::id::Tlli;
use gannet_wire::rlcmac::block::{Body, DownlinkHeader, UplinkHeader};
use gannet_wire::rlcmac::coding::CodingScheme;
use std::process::ExitCode;

/// The octets of LL-PDUs: frames of user data that end in a wrong FCS, which the dissector of LLC takes as they are.
const OCTETS: [u8; 50] = [0x43; 50];

fn add(capture: &mut Capture, uplink: bool, block: &[u8]) {
    let mut octets = Header::um(Channel::Pdtch, uplink).emit().to_vec();
    octets.extend(block);
    capture.add_udp(40_000, UDP_PORT, &octets);
}

/// A body of each kind with the length indicators that it should have: LI, M and E, as tshark prints them.
fn bodies(scheme: CodingScheme, tlli: Option<Tlli>) -> Vec<(Body, String)> {
    let space = scheme.data_octets() - if tlli.is_some() { 4 } else { 0 };
    let compose = |lengths: &[u8], more: bool, pieces: &[usize]| {
        let pieces = pieces.iter().map(|octets| OCTETS.get(..*octets).unwrap_or_default());
        Body::compose(scheme, tlli, (lengths, more), pieces).expect("it fits")
    };
    vec![
        (compose(&[], false, &[space]), String::new()),
        (compose(&[7], false, &[7]), "7".into()),
        (compose(&[7], true, &[7, space - 8]), "7".into()),
        (compose(&[5, 6], true, &[5, 6, space - 13]), "5,6".into()),
        (compose(&[0], false, &[space - 1]), "0".into()),
        (compose(&[7, 0], false, &[7, space - 9]), "7,0".into()),
    ]
}

fn downlink_headers() -> [DownlinkHeader; 4] {
    [
        DownlinkHeader::default(),
        DownlinkHeader { usf: 7, rrbp: Some(0), power_reduction: 0, tfi: 31, is_final: true, bsn: 127 },
        DownlinkHeader { usf: 3, rrbp: Some(2), power_reduction: 3, tfi: 5, is_final: false, bsn: 64 },
        DownlinkHeader { usf: 5, rrbp: None, power_reduction: 1, tfi: 16, is_final: true, bsn: 1 },
    ]
}

fn downlink() {
    let mut capture = Capture::new();
    let mut expected = Vec::new();
    for scheme in CodingScheme::ALL {
        for header in downlink_headers() {
            for (body, lengths) in bodies(scheme, None) {
                add(&mut capture, false, &header.emit(&body));
                expected.push((header, lengths));
            }
        }
    }
    let fields = [
        "_ws.malformed",
        "gsm_rlcmac.dl_payload_type",
        "gsm_rlcmac.usf",
        "gsm_rlcmac.s_p",
        "gsm_rlcmac.rrbp",
        "gsm_rlcmac.dl.pr",
        "gsm_rlcmac.dl.tfi",
        "gsm_rlcmac.fbi",
        "gsm_rlcmac.bsn",
        "gsm_rlcmac.li",
    ];
    for (row, (header, lengths)) in capture.dissect(&[], &fields).into_iter().zip(expected) {
        let number = |value: u8| value.to_string();
        let bit = |value: bool| u8::from(value).to_string();
        let wanted = [
            String::new(),
            number(0),
            number(header.usf),
            bit(header.rrbp.is_some()),
            number(header.rrbp.unwrap_or(0)),
            number(header.power_reduction),
            number(header.tfi),
            bit(header.is_final),
            number(header.bsn),
            lengths,
        ];
        assert_eq!(row, wanted, "{header:?}");
    }
}

fn uplink() {
    let headers = [
        UplinkHeader::default(),
        UplinkHeader { countdown: 15, is_stalled: true, is_retry: false, tfi: 31, bsn: 127 },
        UplinkHeader { countdown: 6, is_stalled: false, is_retry: true, tfi: 9, bsn: 77 },
    ];
    let mut capture = Capture::new();
    let mut expected = Vec::new();
    for scheme in CodingScheme::ALL {
        for header in headers {
            for tlli in [None, Some(Tlli(0xc012_3456))] {
                for (body, lengths) in bodies(scheme, tlli) {
                    add(&mut capture, true, &header.emit(&body));
                    expected.push((header, tlli, lengths));
                }
            }
        }
    }
    let fields = [
        "_ws.malformed",
        "gsm_rlcmac.ul_payload_type",
        "gsm_rlcmac.ul.cv",
        "gsm_rlcmac.ul.data_si",
        "gsm_rlcmac.ul.retry",
        "gsm_rlcmac.pi",
        "gsm_rlcmac.ul.tfi",
        "gsm_rlcmac.ti",
        "gsm_rlcmac.bsn",
        "gsm_rlcmac.tlli",
        "gsm_rlcmac.li",
    ];
    for (row, (header, tlli, lengths)) in capture.dissect(&[], &fields).into_iter().zip(expected) {
        let number = |value: u8| value.to_string();
        let bit = |value: bool| u8::from(value).to_string();
        let wanted = [
            String::new(),
            number(0),
            number(header.countdown),
            bit(header.is_stalled),
            bit(header.is_retry),
            number(0),
            number(header.tfi),
            bit(tlli.is_some()),
            number(header.bsn),
            tlli.map_or_else(String::new, |tlli| format!("{:#010x}", tlli.0)),
            lengths,
        ];
        assert_eq!(row, wanted, "{header:?}");
    }
}

fn main() -> ExitCode {
    gannet_testkit::main(&[("downlink", &[Need::Tshark], downlink), ("uplink", &[Need::Tshark], uplink)])
}
