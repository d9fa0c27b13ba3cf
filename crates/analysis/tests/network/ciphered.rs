//! Ciphered captures, with and without their key.

use super::gb::{Link, Made, S, cell, found, imsi, layer3, number, packets, ping, sn_unitdata, u};
use gannet_analysis::Settings;
use gannet_analysis::findings::{Analysis, Names};
use gannet_analysis::record::{Fcs, Record};
use gannet_proto::llc::{Algorithm, Ciphering, Direction as Way, cipher};
use gannet_wire::fcs24::fcs24;
use gannet_wire::id::Sapi;
use gannet_wire::l3::GmmMessage;
use gannet_wire::l3::gmm::AuthenticationRequest;
use gannet_wire::l3::ie::{AcReference, CipheringAlgorithm, Cksn, ForceToStandby, ImeisvRequest, Rand};
use gannet_wire::llc::xid::{self, Parameter};
use gannet_wire::llc::{Control, Header, Supervisory, UFunction};
use gannet_wire::sndcp::{self, Compression, Pdu};

const TLLI: u32 = 0xc000_0042;
const KC: &str = "0123456789abcdef";
const KC_128: &str = "00112233445566778899aabbccddeeff";

fn ciphering(algorithm: Algorithm) -> Ciphering {
    let kc = [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef];
    let kc_128 = core::array::from_fn(|n| n as u8 * 0x11);
    Ciphering::with_kc(algorithm, kc).or_else(|| Ciphering::with_kc128(algorithm, kc_128)).unwrap()
}

fn request(algorithm: Algorithm) -> GmmMessage {
    GmmMessage::AuthenticationRequest(AuthenticationRequest {
        ciphering: CipheringAlgorithm(algorithm.number()),
        imeisv_request: ImeisvRequest::NotRequested,
        force_to_standby: ForceToStandby::NotIndicated,
        reference: AcReference(1),
        rand: Some(Rand([7; 16])),
        cksn: Some(Cksn(0)),
        autn: None,
    })
}

/// Authentication, XID with an IOV-UI, then pings; GEA0 is in the clear.
fn capture(algorithm: Algorithm, pings: u16) -> Made {
    let mut made = Made::default();
    layer3(&mut made, false, TLLI, 1, request(algorithm));
    let iov_ui = 0x1234_5678;
    let mut offset = Vec::new();
    xid::emit(&[Parameter::IovUi(iov_ui)], &mut offset);
    made.down(TLLI, 1, Some(imsi()), &u(false, true, Sapi::GMM, UFunction::Xid, &offset));
    made.up(TLLI, cell(1), &u(true, false, Sapi::GMM, UFunction::Xid, &offset));
    let ciphering = (algorithm != Algorithm::Gea0).then(|| ciphering(algorithm));
    let [mut up, mut down] = [true, false].map(|is_up| {
        let link = Link::new(is_up, Sapi::DATA3);
        Link { iov_ui, ciphering, is_protected: !is_up, ..link }
    });
    for sequence in 0..pings {
        let octets = usize::from(sequence % 60);
        let n_pdu = |is_up| sn_unitdata(sequence, Compression::NONE, &ping(is_up, sequence, octets));
        let frame = up.ui(&n_pdu(true));
        // One of twenty is lost before the capture.
        if sequence % 20 != 11 {
            made.up(TLLI, cell(1), &frame);
        }
        let frame = down.ui(&n_pdu(false));
        made.down(TLLI, 1, None, &frame);
    }
    made
}

fn keys(keys: &[&str]) -> Settings {
    Settings { keys: keys.iter().map(|key| key.parse().unwrap()).collect(), ..Settings::default() }
}

fn seen(made: &Made, settings: Settings) -> (Vec<Option<u64>>, gannet_analysis::cipher::Counts) {
    let (records, reading) = made.read(settings);
    let digests = packets(&records).iter().map(|packet| packet.digest).collect();
    (digests, reading.counts().cipher)
}

#[test]
fn with_the_key_all_packets_are_those_in_the_clear() {
    let plain = |pings| seen(&capture(Algorithm::Gea0, pings), Settings::default()).0;
    // More than two overflows of N(U) with the algorithm that takes the least time.
    let cases =
        [(Algorithm::Gea1, 60), (Algorithm::Gea2, 60), (Algorithm::Gea3, 1100), (Algorithm::Gea4, 60)];
    for (algorithm, pings) in cases {
        let (plain, expected) = (plain(pings), 2 * u64::from(pings) - u64::from(pings / 20));
        assert_eq!(plain.len() as u64, expected);
        let key = if algorithm == Algorithm::Gea4 { KC_128 } else { KC };
        let made = capture(algorithm, pings);
        let (opened, counts) = seen(&made, keys(&[key]));
        assert!(opened == plain, "{algorithm}");
        assert_eq!((counts.ciphered, counts.opened, counts.refused), (expected, expected, 0));
        // The key of another mobile is tried with nobody; this one's is found among others.
        let own = format!("{}={key}", imsi());
        let given = ["262011111111111=ffffffffffffffff", "ffffffffffffffff", &own];
        let (opened, counts) = seen(&made, keys(&given));
        assert!(opened == plain && counts.refused == 0, "{algorithm}");
    }
}

#[test]
fn without_the_key_nothing_is_guessed_and_that_is_said() {
    let made = capture(Algorithm::Gea3, 400);
    let cases: [(&[&str], (u64, u64)); 3] = [
        (&[], (780, 0)),
        (&["262011111111111=0123456789abcdef"], (780, 0)),
        (&["fedcba9876543210", KC_128], (0, 780)),
    ];
    for (given, (without_key, refused)) in cases {
        let (records, reading) = made.read(keys(given));
        assert!(packets(&records).is_empty());
        let counts = reading.counts().cipher;
        assert_eq!((counts.opened, counts.without_key, counts.refused), (0, without_key, refused));
        let ciphered = |it: &Record| matches!(it, Record::Llc(ll_pdu) if ll_pdu.fcs == Fcs::Ciphered);
        assert_eq!(records.iter().filter(|seen| ciphered(&seen.what)).count(), 780);
        let mut analysis = Analysis::default();
        records.iter().for_each(|seen| analysis.take(seen));
        let report = analysis.finish(&Names::of(&reading));
        let [finding] = found(&report, "ciphered")[..] else { panic!() };
        assert_eq!(number(finding, "opened").to_bits(), 0.0_f64.to_bits());
        assert_eq!(finding.text.contains("the keys are wrong"), refused > 0, "{finding}");
    }
}

#[test]
fn a_capture_that_starts_in_the_middle_is_opened_without_the_request() {
    let made = capture(Algorithm::Gea3, 1100);
    // IOV-UI is lost with the XID, and without it no key opens anything.
    assert_eq!(seen(&made.from(1500), keys(&[KC])).1.opened, 0);
    let mut again = Made::default();
    let mut link = Link { ciphering: Some(ciphering(Algorithm::Gea3)), ..Link::new(true, Sapi::DATA3) };
    for sequence in 0..3000 {
        let frame = link.ui(&sn_unitdata(sequence, Compression::NONE, &ping(true, sequence, 30)));
        again.up(TLLI, cell(1), &frame);
    }
    let (opened, counts) = seen(&again.from(2000), keys(&[KC]));
    assert_eq!((opened.len(), counts.opened, counts.refused), (1000, 1000, 0));
}

#[test]
fn i_frames_are_opened_with_the_offset_of_their_link() {
    let mut made = Made::default();
    layer3(&mut made, false, TLLI, 1, request(Algorithm::Gea3));
    let iov_i = 0xdead_beef;
    let mut offset = Vec::new();
    xid::emit(&[Parameter::IovI(iov_i)], &mut offset);
    made.down(TLLI, 1, None, &u(false, true, Sapi::DATA3, UFunction::Sabm, &offset));
    made.up(TLLI, cell(1), &u(true, false, Sapi::DATA3, UFunction::Ua, &offset));
    let key = ciphering(Algorithm::Gea3);
    for count in 0..700_u32 {
        let control =
            Control::I { ack_request: false, ns: (count % 512) as u16, nr: 0, supervisory: Supervisory::Rr };
        let mut frame = Header { cr: true, sapi: Sapi::DATA3, control }.emit().to_vec();
        let header_len = frame.len();
        let pdu = Pdu::Data { first: Some((Compression::NONE, count as u8)) };
        let header = sndcp::Header { nsapi: gannet_wire::id::Nsapi(5), more: false, pdu };
        frame.extend(&header.emit()[..]);
        frame.extend(ping(false, count as u16, 40));
        frame.extend(fcs24(&frame));
        key.apply(cipher::i_input(iov_i, count), Way::Downlink, &mut frame[header_len..]);
        made.down(TLLI, 1, None, &frame);
    }
    let (opened, counts) = seen(&made, keys(&[KC]));
    assert_eq!((opened.iter().flatten().count(), counts.opened, counts.ciphered), (700, 700, 700));
    let (closed, counts) = seen(&made, Settings::default());
    assert_eq!((closed.len(), counts.without_key), (0, 700));
}

/// The second authentication chooses another algorithm, and the mobile begins anew.
#[test]
fn keys_and_counters_change_on_the_way() {
    let mut made = capture(Algorithm::Gea1, 60);
    let second = capture(Algorithm::Gea3, 60);
    made.at(100 * S);
    let mut reset = Vec::new();
    xid::emit(&[Parameter::Reset], &mut reset);
    made.down(TLLI, 1, None, &u(false, true, Sapi::GMM, UFunction::Xid, &reset));
    made.up(TLLI, cell(1), &u(true, false, Sapi::GMM, UFunction::Xid, &reset));
    made.append(&second);
    let (opened, counts) = seen(&made, keys(&["ffffffffffffffff", KC]));
    assert_eq!((opened.len(), counts.opened, counts.refused), (2 * 117, 2 * 117, 0));
}
