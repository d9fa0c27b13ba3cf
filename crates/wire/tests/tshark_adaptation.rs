//! The adaptation protocol against Wireshark with the dissector of `docs`, field by field, over Ethernet and over UDP.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

use gannet_testkit::Need;
use gannet_testkit::tshark::{Capture, Rows};
use gannet_wire::adaptation::{
    ApName, BEACON_LEN_MAX, Beacon, BeaconFlags, ETHERTYPE, HEADER_LEN, Header, Hello, Identity, Level,
    LinkReport, Load, MESSAGE_LEN_MAX, Message, MessageType, NetworkMode, PagingCs, PagingPs, Probe,
    ProbeAnswer, Reachable, Release, ReleaseCause, Resume, SEGMENT_LEN, Segment, Suspend, SuspendAck, TABLE,
    Trailer, UDP_PORT, Welcome,
};
use gannet_wire::fcs24::fcs24;
use gannet_wire::id::{CellId, PTmsi, Plmn, Rai, Tlli};
use std::process::ExitCode;

const TLLI: Tlli = Tlli(0xc123_4567);
/// The PDU, and the fields that Wireshark shows.
type Case = (Vec<u8>, Vec<(&'static str, &'static str)>);

const CELL: CellId =
    CellId { rai: Rai { plmn: Plmn::from_octets([0x62, 0xf2, 0x10]), lac: 7, rac: 3 }, ci: 515 };

fn pdu(message: &Message<'_>, tlli: Tlli) -> Vec<u8> {
    let mut room = [0; MESSAGE_LEN_MAX];
    let length = message.emit(tlli, false, &mut room).expect("there is room");
    room[..length].to_vec()
}

fn of_mobile(message: Message<'_>, mut fields: Vec<(&'static str, &'static str)>) -> Case {
    fields.push(("tlli", "0xc1234567"));
    (pdu(&message, TLLI), fields)
}

fn beacon() -> Case {
    let beacon = Beacon {
        cell: CELL,
        boot: 0x0102_0304_0506_0708,
        interval_ms: 1000,
        ll_pdu_max: 1492,
        mode: NetworkMode::II,
        load: Load(Some(37)),
        flags: BeaconFlags(BeaconFlags::AUTHENTICATION),
    };
    let octets = pdu(&Message::Beacon(beacon, ApName::from_start("Möwe".as_bytes())), Tlli(0));
    let shown = vec![
        ("beacon.cell.mcc", "262"),
        ("beacon.cell.mnc", "01"),
        ("beacon.cell.lac", "7"),
        ("beacon.cell.rac", "3"),
        ("beacon.cell.ci", "515"),
        ("beacon.boot", "0x0102030405060708"),
        ("beacon.interval_ms", "1000"),
        ("beacon.ll_pdu_max", "1492"),
        ("beacon.mode", "2"),
        ("beacon.load", "37"),
        ("beacon.flags", "0x80"),
        ("beacon.flags.authentication", "1"),
        ("beacon.flags.in_service", "0"),
        ("option.name", "Möwe"),
        ("tlli", "0x00000000"),
    ];
    (octets, shown)
}

fn handshake() -> [Case; 2] {
    let (random, of_mobile, mac) = ([0x11; 16], [0x22; 16], [0x33; 16]);
    let hello = Message::Hello(Hello { key: 5, random: of_mobile, mac });
    let welcome = Message::Welcome(Welcome { key: 5, session: 77, random, of_mobile, mac });
    let ones = "11111111111111111111111111111111";
    let twos = "22222222222222222222222222222222";
    let threes = "33333333333333333333333333333333";
    [
        (pdu(&hello, Tlli(0)), vec![("hello.key", "5"), ("hello.random", twos), ("hello.mac", threes)]),
        (
            pdu(&welcome, Tlli(0)),
            vec![
                ("welcome.key", "5"),
                ("welcome.session", "77"),
                ("welcome.random", ones),
                ("welcome.of_mobile", twos),
                ("welcome.mac", threes),
            ],
        ),
    ]
}

/// An UI frame of GMM without information, whole and as an authenticated piece.
fn ll_pdus() -> [Case; 2] {
    let frame = [0x41, 0xc0, 0x01, 0x08, 0x15, 0x01];
    let ui = [&frame[..], &fcs24(&frame)].concat();
    let mut piece = vec![0; HEADER_LEN + SEGMENT_LEN];
    let header = Header {
        is_authenticated: true,
        segment: Some(Segment { datagram: 513, number: 3, is_last: true }),
        ..Header::new(MessageType::LlPdu, TLLI)
    };
    assert!(header.emit(2, &mut piece));
    piece.extend([0xab, 0xcd]);
    piece.extend(Trailer::signed_octets(9, 11));
    piece.extend([0x44; 16]);
    let shown = vec![
        ("segment", "1"),
        ("authenticated", "1"),
        ("length", "6"),
        ("segment.datagram", "513"),
        ("segment.last", "1"),
        ("segment.number", "3"),
        ("piece", "abcd"),
        ("trailer.session", "0x00000009"),
        ("trailer.packet", "11"),
        ("trailer.mac", "44444444444444444444444444444444"),
        ("tlli", "0xc1234567"),
    ];
    [of_mobile(Message::LlPdu(&ui), vec![("segment", "0"), ("length", "9")]), (piece, shown)]
}

fn cases() -> Vec<Case> {
    let rai = CELL.rai;
    let imsi = Identity::Imsi("001010000000042".parse().expect("digits"));
    let ptmsi = Identity::PTmsi(PTmsi(0xdead_beef));
    let padding = BEACON_LEN_MAX - HEADER_LEN;
    let report = LinkReport { sent: 70_000, received: 69_990, level: Level(Some(-71)) };
    let mut cases = vec![
        beacon(),
        (pdu(&Message::Solicit(padding), Tlli(0)), vec![("length", "85")]),
        of_mobile(
            Message::Reachable(Reachable { cell: CELL }),
            vec![("reachable.cell.lac", "7"), ("reachable.cell.ci", "515")],
        ),
        of_mobile(
            Message::LinkReport(report),
            vec![
                ("link_report.sent", "70000"),
                ("link_report.received", "69990"),
                ("link_report.level", "-71"),
            ],
        ),
        of_mobile(Message::Probe(Probe { token: 1 << 60 }), vec![("probe.token", "0x1000000000000000")]),
        of_mobile(
            Message::ProbeAnswer(ProbeAnswer { token: 2 }),
            vec![("probe_answer.token", "0x0000000000000002")],
        ),
        (
            pdu(&Message::PagingPs(PagingPs { identity: imsi }), Tlli(0)),
            vec![("paging_ps.identity.kind", "1"), ("paging_ps.identity.imsi", "001010000000042")],
        ),
        (
            pdu(&Message::PagingCs(PagingCs { identity: ptmsi }), Tlli(0)),
            vec![("paging_cs.identity.kind", "0"), ("paging_cs.identity.ptmsi", "0xdeadbeef")],
        ),
        of_mobile(
            Message::Suspend(Suspend { rai }),
            vec![("suspend.rai.mcc", "262"), ("suspend.rai.rac", "3")],
        ),
        of_mobile(Message::SuspendAck(SuspendAck { reference: 9 }), vec![("suspend_ack.reference", "9")]),
        of_mobile(
            Message::Resume(Resume { rai, reference: 9 }),
            vec![("resume.rai.mnc", "01"), ("resume.reference", "9")],
        ),
        of_mobile(
            Message::Release(Release { cause: ReleaseCause::AccessPointStops }),
            vec![("release.cause", "2")],
        ),
    ];
    cases.extend(handshake());
    cases.extend(ll_pdus());
    cases
}

fn check(rows: &Rows, cases: &[Case], fields: &[String]) {
    for (row, (octets, wanted)) in rows.iter().zip(cases) {
        let shown = |name: &str| {
            let at = fields.iter().position(|field| field.strip_prefix("gannet_adaptation.") == Some(name));
            row[at.expect("it was asked for")].as_str()
        };
        let kind = octets[0] & 0x1f;
        assert_eq!(row[..2], [String::new(), String::new()], "type {kind} is malformed");
        assert_eq!((shown("version"), shown("type")), ("1", kind.to_string().as_str()));
        for (name, value) in wanted {
            assert_eq!(shown(name), *value, "{name} of type {kind}");
        }
        // An LL-PDU that is whole is LLC's.
        let is_llc = kind == MessageType::LlPdu.number() && octets[1] == 0;
        assert_eq!(row[2], if is_llc { "1" } else { "" }, "type {kind}");
    }
}

fn every_type_over_ethernet_and_udp() {
    let cases = cases();
    let script = concat!("lua_script:", env!("CARGO_MANIFEST_DIR"), "/../../docs/gannet-adaptation.lua");
    let mut names: Vec<&str> =
        cases.iter().flat_map(|(_, shown)| shown.iter().map(|(name, _)| *name)).collect();
    names.extend(["version", "type"]);
    names.sort_unstable();
    names.dedup();
    let mut fields = ["_ws.malformed", "gannet_adaptation.short", "llcgprs.sapi"].map(str::to_owned).to_vec();
    fields.extend(names.iter().map(|name| format!("gannet_adaptation.{name}")));
    let asked: Vec<&str> = fields.iter().map(String::as_str).collect();
    let (mut ethernet, mut udp) = (Capture::ethernet(), Capture::new());
    for (octets, _) in &cases {
        let head = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]].concat();
        let mut frame = [&head[..], &ETHERTYPE.to_be_bytes(), octets].concat();
        frame.resize(frame.len().max(60), 0);
        ethernet.add_packet(&frame);
        udp.add_udp(40_000, UDP_PORT, octets);
    }
    for capture in [ethernet, udp] {
        check(&capture.dissect(&["-X", script], &asked), &cases, &fields);
        let details = capture.details(&["-X", script]);
        for wrong in ["Malformed", "Lua Error", "incorrect, should be"] {
            let line = details.lines().find(|line| line.contains(wrong));
            assert_eq!(line, None);
        }
    }
}

fn what_is_too_short_is_shown_as_such() {
    let script = concat!("lua_script:", env!("CARGO_MANIFEST_DIR"), "/../../docs/gannet-adaptation.lua");
    let mut capture = Capture::new();
    let mut wanted = Vec::new();
    for (octets, _) in cases() {
        // Less than the length says, and a length that is less than the fields need.
        capture.add_udp(40_000, UDP_PORT, &octets[..octets.len() - 1]);
        wanted.push(true);
        let kind = MessageType::from_number(octets[0] & 0x1f);
        if kind == Some(MessageType::LlPdu) {
            continue;
        }
        let mut shorter = octets.clone();
        shorter.truncate(HEADER_LEN + 2);
        shorter[1] = 0;
        shorter[2..4].copy_from_slice(&[0, 2]);
        capture.add_udp(40_000, UDP_PORT, &shorter);
        let has_fields = TABLE.iter().any(|layout| {
            Some(layout.kind) == kind && layout.fields.iter().map(|field| field.len).sum::<usize>() > 2
        });
        let is_too_long = matches!(kind, Some(MessageType::Release | MessageType::SuspendAck));
        wanted.push(has_fields || is_too_long);
    }
    let rows = capture.dissect(&["-X", script], &["gannet_adaptation.short"]);
    let shown: Vec<bool> = rows.iter().map(|row| !row[0].is_empty()).collect();
    assert_eq!(shown, wanted);
    let details = capture.details(&["-X", script]);
    let error = details.lines().find(|line| line.contains("Lua Error"));
    assert_eq!(error, None);
}

fn main() -> ExitCode {
    gannet_testkit::main(&[
        ("every_type_over_ethernet_and_udp", &[Need::Tshark], every_type_over_ethernet_and_udp),
        ("what_is_too_short_is_shown_as_such", &[Need::Tshark], what_is_too_short_is_shown_as_such),
    ])
}
