//! Captures of this project's own writer: what is read of them is what is read of a foreign capture of the same packets, and Wireshark reads
//! the same.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use core::net::SocketAddr;
use gannet_analysis::decode::ip;
use gannet_analysis::decode::link::{Inside, inside};
use gannet_analysis::record::{Kind, Proof, Record, Seen};
use gannet_analysis::source::Capture;
use gannet_analysis::{Reading, Settings};
use gannet_testkit::tshark::dissect_file;
use gannet_testkit::{Need, TempDir};
use gannet_trace::pcapng::{Beside, Direction, LinkType, Packet, Recorder};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    gannet_testkit::main(&[
        ("a_foreign_capture_written_anew_has_the_same_records", &[], core),
        ("blocks_of_the_radio_too", &[], radio),
        ("drops_stand_beside_packets_and_alone", &[Need::Tshark], drops),
    ])
}

fn foreign(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(name)
}

/// What a node has of a packet: a datagram of a port of GPRS comes from a socket without its headers.
fn interface_of(ports: [u16; 2]) -> Option<&'static str> {
    let of = |port| match port {
        4729 => Some("Abis"),
        23_000 => Some("Gb"),
        2123 | 2152 => Some("Gn"),
        _ => None,
    };
    of(ports[0]).or(of(ports[1]))
}

/// Writes the packets of a capture as nodes of this project do. Gives how many it wrote of how many.
fn write_anew(from: &Path, to: &Path) -> (u64, u64) {
    let mut capture = Capture::open(from).unwrap();
    let mut recorder = Recorder::create(to).unwrap();
    let (mut written, mut all) = (0, 0);
    while capture.advance().unwrap() {
        let frame = capture.frame().unwrap();
        all += 1;
        let Inside::Ip(octets) = inside(frame.link, frame.octets) else { continue };
        let Some(packet) = ip::parse(octets) else { continue };
        let beside = Beside::whole(frame.at, if all % 2 == 0 { Direction::In } else { Direction::Out });
        let (source, destination) = (packet.summary.source, packet.summary.destination);
        let udp = packet.udp().filter(|_| !packet.is_cut);
        match udp.and_then(|udp| Some((interface_of([udp.0, udp.1])?, udp))) {
            Some((name, (from, to, payload))) => {
                let ends = (SocketAddr::new(source, from), SocketAddr::new(destination, to));
                let interface = recorder.interface(name);
                recorder.packet(interface, Packet::Udp(ends, payload), &beside);
            }
            None => {
                let interface = recorder.interface("Gi");
                recorder.packet(interface, Packet::Ip(&octets[..packet.octets as usize]), &beside);
            }
        }
        written += 1;
    }
    recorder.flush().unwrap();
    assert_eq!(recorder.lost(), 0);
    (written, all)
}

/// Records without what is the file's own: numbers of frames and places.
fn records(path: &Path) -> (Vec<Seen<Record>>, Reading) {
    let mut reading = Reading::open(&[path], Settings::default()).unwrap();
    let none = Proof { file: 0, frame: 0 };
    let plain = |mut seen: Seen<Record>| {
        (seen.proof, seen.place) = (none, 0);
        match &mut seen.what {
            Record::Llc(ll_pdu) => ll_pdu.first = none,
            Record::Packet(packet) => packet.first = none,
            _ => {}
        }
        seen
    };
    let records = reading.by_ref().map(plain).collect();
    assert_eq!(reading.damages(), []);
    (records, reading)
}

fn same(name: &str, least: usize) -> Vec<Seen<Record>> {
    let directory = TempDir::new("gannet-own-captures");
    let own = directory.path().join("own.pcapng");
    let (written, all) = write_anew(&foreign(name), &own);
    assert!(written > 0 && written * 10 > all * 9, "{written} of {all} frames");
    let ((theirs, reading), (ours, own)) = (records(&foreign(name)), records(&own));
    assert!(theirs.len() > least, "{} records", theirs.len());
    for (at, (theirs, ours)) in theirs.iter().zip(&ours).enumerate() {
        assert_eq!(theirs, ours, "record {at}");
    }
    assert_eq!(theirs.len(), ours.len());
    let names =
        |reading: &Reading| reading.mobiles().all().map(|(_, mobile)| mobile.clone()).collect::<Vec<_>>();
    assert_eq!(names(&reading), names(&own));
    assert_eq!(reading.connections(), own.connections());
    assert_eq!(reading.counts().rlc, own.counts().rlc);
    ours
}

fn core() {
    let records = same("real-phone-core.pcapng.gz", 1000);
    for layer in ["BSSGP", "LLC", "GMM/SM", "SNDCP", "IP", "GTP"] {
        assert!(records.iter().any(|seen| seen.what.layer() == layer), "{layer}");
    }
}

fn radio() {
    let records = same("real-phone-um.pcapng.gz", 1000);
    assert!(records.iter().filter(|seen| matches!(seen.what, Record::Llc(_))).count() > 20);
}

/// A capture of what is beside packets: remarks with a drop's name, an event without a packet, and packets that are missing.
fn drops() {
    let directory = TempDir::new("gannet-own-drops");
    let path = directory.path().join("own.pcapng");
    let mut recorder = Recorder::create(&path).unwrap();
    let packet = [
        &[0x45, 0, 0, 28, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2][..],
        &[0, 1, 0, 2, 0, 8, 0, 0],
    ]
    .concat();
    for (at, (name, comment)) in
        [("Gi", "no_context: no PDP context has this address"), ("TUN", "IMSI 001010000000001"), ("TUN", "")]
            .into_iter()
            .enumerate()
    {
        let interface = match name {
            "Gi" => recorder.interface(name),
            // What an interface records and what it is, as the loop of a node says.
            _ if at == 1 => {
                recorder.add_interface(name, LinkType::Raw, "packets of a TUN device", "headers: cut")
            }
            _ => recorder.interface(name),
        };
        let beside =
            Beside { comments: [comment, ""], ..Beside::whole(1_000_000 * (at as u64 + 1), Direction::In) };
        recorder.packet(interface, Packet::Ip(&packet), &beside);
    }
    recorder.event(4_000_000, &[("MESSAGE", "the queue is full"), ("GANNET_DROP", "queue_full")]);
    recorder.flush().unwrap();
    let rows =
        dissect_file(&path.to_string_lossy(), &[], &["frame.interface_name", "frame.comment", "udp.srcport"]);
    let expected = [
        ["Gi", "no_context: no PDP context has this address", "1"],
        ["TUN", "IMSI 001010000000001", "1"],
        ["TUN", "", "1"],
    ];
    assert_eq!(rows[..3].iter().map(|row| row[..3].to_vec()).collect::<Vec<_>>(), expected);
    let mut capture = Capture::open(&path).unwrap();
    let mut comments = Vec::new();
    while capture.advance().unwrap() {
        let comment = capture.frame().unwrap().comment.unwrap_or_default();
        comments.push(String::from_utf8_lossy(comment).into_owned());
    }
    assert_eq!(comments, expected.map(|row| row[1]));
    let (records, reading) = records(&path);
    assert_eq!(records.len(), 3);
    let places: Vec<_> = reading.places().iter().map(|place| (place.name.as_deref(), place.kind)).collect();
    assert_eq!(places, [(Some("Gi"), Kind::Ip), (Some("TUN"), Kind::Ip)]);
}
