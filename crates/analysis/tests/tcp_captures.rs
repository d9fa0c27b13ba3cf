//! Real transfers of a kernel, analysed, with tshark's own analysis as the second opinion.
//!
//! | capture | what was sent |
//! |---|---|
//! | `drop-sender.pcap`, `drop-receiver.pcap` | 300 kB over a relay: 80 kB/s, 100 ms each way, a drop-tail queue of 36 000 octets of IP |
//! | `spike-sender.pcap` | 70 kB over the same; 0.8 s after the first packet everything is held for 4 s, and nothing is lost |

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use gannet_analysis::record::{Proof, Seen, Stamp, TcpSegment};
use gannet_analysis::series::whole;
use gannet_analysis::tcp::between::Between;
use gannet_analysis::tcp::report::{ConnectionReport, Kind, Spurious};
use gannet_analysis::tcp::{Settings, Tcp};
use gannet_testkit::Need;
use gannet_testkit::tshark::dissect_file;
use std::collections::BTreeSet;
use std::process::ExitCode;

fn main() -> ExitCode {
    gannet_testkit::main(&[
        ("the_buffer_of_the_relay_is_found_from_either_host", &[], buffer),
        ("a_held_link_is_an_outage_with_a_spurious_timeout", &[], spike),
        ("drops_between_both_hosts_are_those_sent_again", &[], between),
        ("wireshark_sees_the_same_segments_sent_again", &[Need::Tshark], same_again),
        ("wireshark_sees_the_same_round_trips", &[Need::Tshark], same_round_trips),
        ("wireshark_sees_the_same_octets_in_flight", &[Need::Tshark], same_in_flight),
    ])
}

fn path(name: &str) -> String {
    format!("{}/tests/captures/{name}.pcap", env!("CARGO_MANIFEST_DIR"))
}

fn be32(octets: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(octets[at..at + 4].try_into().unwrap())
}

fn be16(octets: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(octets[at..at + 2].try_into().unwrap())
}

/// Segments of a capture of raw IPv4 with one connection, which 10.9.0.1 opened.
fn segments(name: &str, place: u16) -> Vec<Seen<TcpSegment>> {
    // Little-endian, microseconds, packets cut behind their headers.
    let file = std::fs::read(path(name)).unwrap();
    let le32 = |octets: &[u8], at: usize| u32::from_le_bytes(octets[at..at + 4].try_into().unwrap());
    assert_eq!((le32(&file, 0), le32(&file, 20)), (0xa1b2_c3d4, 101));
    let mut rest = &file[24..];
    let mut all = Vec::new();
    let mut frame = 0;
    while !rest.is_empty() {
        let (header, behind) = rest.split_at(16);
        let (ip, behind) = behind.split_at(le32(header, 8) as usize);
        rest = behind;
        frame += 1;
        let at = Stamp(u64::from(le32(header, 0)) * 1_000_000_000 + u64::from(le32(header, 4)) * 1_000);
        let tcp = &ip[usize::from(ip[0] & 15) * 4..];
        let header = usize::from(tcp[12] >> 4) * 4;
        let ip_octets = u32::from(be16(ip, 2));
        let mut segment = TcpSegment {
            connection: 0,
            is_forward: ip[15] == 1,
            sequence: be32(tcp, 4),
            acknowledgement: be32(tcp, 8),
            length: ip_octets - 20 - u32::try_from(header).unwrap(),
            flags: tcp[13],
            window: be16(tcp, 14),
            sack: Vec::new(),
            timestamps: None,
            scale: None,
            mss: None,
            identification: be16(ip, 4),
            ip_octets,
        };
        let mut options = &tcp[20..header];
        while let [kind, rest @ ..] = options {
            if *kind < 2 {
                options = rest;
                continue;
            }
            let (option, behind) = options.split_at(usize::from(options[1]));
            match kind {
                2 => segment.mss = Some(be16(option, 2)),
                3 => segment.scale = Some(option[2]),
                5 => {
                    segment.sack =
                        option[2..].chunks(8).map(|block| (be32(block, 0), be32(block, 4))).collect()
                }
                8 => segment.timestamps = Some((be32(option, 2), be32(option, 6))),
                _ => {}
            }
            options = behind;
        }
        all.push(Seen { at, proof: Proof { file: place, frame }, place, what: segment });
    }
    all
}

fn report(name: &str) -> ConnectionReport {
    let mut tcp = Tcp::new(Settings::default());
    segments(name, 0).iter().for_each(|seen| tcp.take(seen));
    tcp.finish().remove(0)
}

fn buffer() {
    for (name, is_before) in [("drop-sender", true), ("drop-receiver", false)] {
        let report = report(name);
        let estimate = report.forward.buffer().unwrap();
        assert_eq!(estimate.is_before, is_before);
        let off = estimate.ip_octets.abs_diff(36_000);
        assert!(off <= 3 * 1_500, "{name}: {estimate:?}");
        assert!((estimate.rate / 80_000.0 - 0.965).abs() < 0.05, "{name}: {estimate:?}");
    }
}

fn spike() {
    let report = report("spike-sender");
    let half = &report.forward;
    let [outage] = half.outages[..] else { panic!("{:?}", half.outages) };
    assert!((3_500_000_000..4_600_000_000).contains(&outage.length_ns()), "{outage:?}");
    assert!(outage.recovered.is_some(), "{outage:?} {:?}", report.last);
    // Both copies are reported as duplicates; the first acknowledgement echoes the first copy's time.
    assert_eq!(half.count(Kind::Timeout), (2, 2, 2), "{:?}", half.retransmissions);
    let frames: Vec<u64> = half.retransmissions.iter().map(|again| again.proof.frame).collect();
    assert_eq!((frames, half.retransmissions[0].spurious), (vec![72, 73], Some(Spurious::Eifel)));
    assert!(half.buffers.is_empty(), "nothing was full");
}

fn between() {
    let mut all = segments("drop-sender", 0);
    all.extend(segments("drop-receiver", 1));
    all.sort_by_key(|seen| seen.at);
    let mut between = Between::default();
    all.iter().for_each(|seen| between.take(seen));
    let ways = between.finish();
    let way = ways.iter().find(|way| way.from == 0).unwrap();
    let sent_again = report("drop-sender").forward.retransmissions;
    let needed = sent_again.iter().filter(|again| again.spurious.is_none()).count() as u64;
    assert_eq!(way.lost, needed);
    assert!(way.delay_ns.0 >= 100_000_000, "{:?}", way.delay_ns);
}

fn frames(name: &str, filter: &str) -> BTreeSet<u64> {
    dissect_file(&path(name), &["-Y", filter], &["frame.number"])
        .iter()
        .map(|row| row[0].parse().unwrap())
        .collect()
}

/// Before the sender nothing changes the order: what tshark calls out of order, as it comes soon, is sent again too.
fn same_again() {
    for name in ["drop-sender", "spike-sender"] {
        let own: BTreeSet<u64> =
            report(name).forward.retransmissions.iter().map(|again| again.proof.frame).collect();
        assert_eq!(own, frames(name, "tcp.analysis.retransmission || tcp.analysis.out_of_order"), "{name}");
        assert!(own.len() >= 2);
    }
}

/// Those of tshark are of each acknowledgement; ours leave out what was sent twice.
fn same_round_trips() {
    for name in ["drop-sender", "spike-sender"] {
        let fields = ["frame.number", "tcp.analysis.acks_frame", "tcp.analysis.ack_rtt"];
        let rows = dissect_file(&path(name), &["-Y", "tcp.analysis.ack_rtt && ip.src == 10.9.0.2"], &fields);
        let all: BTreeSet<(u64, u64, u64)> = rows
            .iter()
            .map(|row| {
                let rtt: f64 = row[2].parse().unwrap();
                (row[0].parse().unwrap(), row[1].parse().unwrap(), whole(rtt * 1e6))
            })
            .collect();
        let report = report(name);
        let own = report.forward.round_trips.points();
        assert!(own.len() > 20, "{}", own.len());
        for rtt in own {
            let one = (rtt.answered.frame, rtt.sent.frame, (rtt.rtt_ns + 500) / 1_000);
            assert!(all.contains(&one), "{name}: {one:?}");
        }
    }
}

/// Before anything is selectively acknowledged, which tshark takes away.
fn same_in_flight() {
    let fields = ["frame.number", "tcp.analysis.bytes_in_flight"];
    let rows = dissect_file(&path("drop-sender"), &["-Y", "tcp.len > 0 && frame.number < 180"], &fields);
    let all: BTreeSet<(u64, u64)> =
        rows.iter().map(|row| (row[0].parse().unwrap(), row[1].parse().unwrap())).collect();
    let report = report("drop-sender");
    let points = report.forward.outstanding.points().iter();
    let own: BTreeSet<(u64, u64)> = points
        .map(|point| (point.proof.frame, point.octets))
        .filter(|point| all.iter().any(|(frame, _)| *frame == point.0))
        .collect();
    assert!(own.len() > 100);
    assert_eq!(own, all);
}
