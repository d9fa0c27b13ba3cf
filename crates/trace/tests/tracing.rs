//! Files in turn, headers alone, some subscribers of many, events and a live stream, as Wireshark and our own reader see them.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use gannet_testkit::tshark::dissect_file;
use gannet_testkit::{Need, TempDir};
use gannet_trace::live::Live;
use gannet_trace::pcapng::{Beside, Direction, LinkType, Packet, Reader, Recorder, Ring, Section};
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    gannet_testkit::main(&[
        ("a_ring_keeps_its_files_and_each_is_a_capture", &[], ring_by_size),
        ("a_file_has_no_more_than_its_seconds", &[], ring_by_time),
        ("files_of_a_run_before_belong_to_the_ring", &[], former_files),
        ("a_ring_on_a_full_disk_goes_on_with_whole_blocks", &[], full_ring),
        ("no_ring_without_a_directory", &[], no_directory),
        ("wireshark_reads_files_of_a_ring", &[Need::Tshark], ring_in_wireshark),
        ("wireshark_reads_who_wrote_and_what_is_cut", &[Need::Tshark], headers_in_wireshark),
        ("wireshark_reads_an_event_without_a_packet", &[Need::Tshark], event_in_wireshark),
        ("a_gap_is_counted_in_the_file", &[], gap),
        ("a_live_stream_has_gsmtap_around_ll_pdus", &[], live),
    ])
}

const BEGINNING_NS: u64 = 1_700_000_000_123_456_789;
const SECOND_NS: u64 = 1_000_000_000;

fn ends() -> (SocketAddr, SocketAddr) {
    ("192.0.2.1:23000".parse().unwrap(), "192.0.2.2:23001".parse().unwrap())
}

fn section() -> Section {
    Section { application: "gannet 1".to_owned(), comment: "sgsn of x.cfg".to_owned() }
}

/// `count` packets of 100 octets, so many nanoseconds apart; each has its number in front.
fn record(recorder: &mut Recorder, numbers: core::ops::Range<u32>, apart_ns: u64) {
    let gb = recorder.interface("Gb");
    for number in numbers {
        let mut payload = [0x0a; 100];
        payload[..4].copy_from_slice(&number.to_be_bytes());
        let at_ns = BEGINNING_NS + u64::from(number) * apart_ns;
        recorder.udp(gb, at_ns, Direction::Out, ends(), &payload);
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut all: Vec<_> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all
}

/// The numbers of the packets of a file, all of whose records are on Gb.
fn numbers(path: &Path) -> Vec<u32> {
    let records = Reader::open(path).unwrap().map(Result::unwrap);
    let number = |record: gannet_trace::pcapng::Record| {
        assert_eq!(record.interface, "Gb");
        u32::from_be_bytes(record.udp().unwrap().payload[..4].try_into().unwrap())
    };
    records.map(number).collect()
}

fn ring(size: Option<u64>, seconds: Option<u64>, files: usize) -> Option<Ring> {
    Some(Ring { size, seconds, files })
}

fn ring_by_size() {
    let directory = TempDir::new("gannet-ring");
    let path = directory.path().join("x.pcapng");
    let mut recorder =
        Recorder::to_files(&path, ring(Some(2000), None, 3), &section(), BEGINNING_NS).unwrap();
    record(&mut recorder, 0..100, 1);
    recorder.flush().unwrap();
    assert_eq!((recorder.recorded(), recorder.lost()), (100, 0));
    let there = files(directory.path());
    assert_eq!(there.len(), 3);
    let mut all = Vec::new();
    for (place, file) in there.iter().enumerate() {
        assert!(std::fs::metadata(file).unwrap().len() <= 2000);
        let numbers = numbers(file);
        assert!(numbers.len() > 5 || place == 2, "a file is filled: {numbers:?}");
        all.extend(numbers);
    }
    let first = all[0];
    assert!(all.into_iter().eq(first..100), "the last files have the last packets, in order");
}

fn ring_by_time() {
    let directory = TempDir::new("gannet-ring");
    let path = directory.path().join("x.pcapng");
    let mut recorder =
        Recorder::to_files(&path, ring(None, Some(10), 100), &section(), BEGINNING_NS).unwrap();
    record(&mut recorder, 0..35, SECOND_NS);
    recorder.flush().unwrap();
    let there = files(directory.path());
    let names: Vec<_> = there.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    let expected = [
        "x_00001_20231114221320.pcapng",
        "x_00002_20231114221330.pcapng",
        "x_00003_20231114221340.pcapng",
        "x_00004_20231114221350.pcapng",
    ];
    assert_eq!(names, expected);
    let each: Vec<_> = there.iter().map(|path| numbers(path)).collect();
    assert_eq!(
        each,
        [(0..10).collect::<Vec<_>>(), (10..20).collect(), (20..30).collect(), (30..35).collect()]
    );
}

/// A node that dies and starts again fills no disk.
fn former_files() {
    let directory = TempDir::new("gannet-ring");
    let path = directory.path().join("x.pcapng");
    let other = directory.path().join("y_00001_20231114221320.pcapng");
    std::fs::write(&other, "of another ring").unwrap();
    for run in 0..5 {
        let now_ns = BEGINNING_NS + run * SECOND_NS;
        let mut recorder = Recorder::to_files(&path, ring(Some(2000), None, 2), &section(), now_ns).unwrap();
        record(&mut recorder, 0..3, 1);
        recorder.flush().unwrap();
    }
    let there = files(directory.path());
    let names: Vec<_> = there.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    let expected =
        ["x_00004_20231114221323.pcapng", "x_00005_20231114221324.pcapng", "y_00001_20231114221320.pcapng"];
    assert_eq!(names, expected);
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "of another ring");
}

/// The next file cannot be begun for a while: its directory is away. What waits is in it afterwards.
fn full_ring() {
    let directory = TempDir::new("gannet-ring");
    let (inside, aside) = (directory.path().join("in"), directory.path().join("aside"));
    std::fs::create_dir(&inside).unwrap();
    let path = inside.join("x.pcapng");
    let mut recorder =
        Recorder::to_files(&path, ring(Some(2000), None, 100), &section(), BEGINNING_NS).unwrap();
    record(&mut recorder, 0..5, 1);
    recorder.flush().unwrap();
    std::fs::rename(&inside, &aside).unwrap();
    record(&mut recorder, 5..40, 1);
    assert!(recorder.flush().is_err());
    assert!(recorder.failure().is_some());
    std::fs::rename(&aside, &inside).unwrap();
    recorder.flush().unwrap();
    record(&mut recorder, 40..50, 1);
    assert_eq!((recorder.recorded(), recorder.lost(), recorder.failure()), (50, 0, None));
    drop(recorder);
    let all: Vec<u32> = files(&inside).iter().flat_map(|path| numbers(path)).collect();
    assert!(all.into_iter().eq(0..50));
}

fn no_directory() {
    for path in ["/nowhere/at/all.pcapng", "/"] {
        let made = Recorder::to_files(Path::new(path), ring(Some(1), None, 1), &section(), 0);
        assert!(made.is_err(), "{path}");
    }
    let made = Recorder::to_files(Path::new("/nowhere/at/all.pcapng"), None, &section(), 0);
    assert_eq!(made.unwrap_err().kind(), std::io::ErrorKind::NotFound);
}

fn ring_in_wireshark() {
    let directory = TempDir::new("gannet-ring");
    let path = directory.path().join("x.pcapng");
    let mut recorder =
        Recorder::to_files(&path, ring(Some(1000), None, 3), &section(), BEGINNING_NS).unwrap();
    record(&mut recorder, 0..50, 1);
    let gi = recorder.interface("Gi");
    recorder.ip(gi, BEGINNING_NS + 50, Direction::In, &[0x45, 0, 0, 20]);
    recorder.flush().unwrap();
    let fields = ["frame.interface_name", "frame.time_epoch", "_ws.malformed"];
    let mut last = String::new();
    for file in files(directory.path()) {
        let rows = dissect_file(&file.to_string_lossy(), &[], &fields);
        assert!(!rows.is_empty());
        rows.iter().for_each(|row| last.clone_from(&row[0]));
        assert_eq!(rows[0][0], if rows.len() == 1 { &last } else { "Gb" });
        assert!(rows[0][1].starts_with("1700000000.1234568"));
    }
    assert_eq!(last, "Gi", "an interface that came later");
}

/// A G-PDU with a TCP segment of 400 octets: 8 of GTP, 20 of IP and 20 of TCP are recorded.
fn headers_in_wireshark() {
    let directory = TempDir::new("gannet-ring");
    let path = directory.path().join("x.pcapng");
    let mut recorder = Recorder::to_files(&path, None, &section(), 0).unwrap();
    let gn = recorder.add_interface("Gn", LinkType::Raw, "GTP over UDP", "headers");
    let mut t_pdu = vec![0x45, 0, 1, 0xb8, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    t_pdu.extend([0, 80, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 0x10, 0, 0, 0, 0, 0, 0]);
    t_pdu.resize(440, 0);
    let gtp = [&[0x30, 0xff, 1, 0xb8, 0, 0, 0, 9][..], &t_pdu].concat();
    let ends = ("192.0.2.1:2152".parse().unwrap(), "192.0.2.2:2152".parse().unwrap());
    let comments = ["IMSI 001010000000001", "lost"];
    let beside = Beside { at_ns: BEGINNING_NS, direction: Direction::In, keep: 48, comments };
    recorder.packet(gn, Packet::Udp(ends, &gtp), &beside);
    recorder.flush().unwrap();
    let fields = [
        "frame.protocols",
        "frame.cap_len",
        "frame.len",
        "frame.comment",
        "frame.interface_description",
        "tcp.len",
        "udp.checksum",
    ];
    let rows = dissect_file(&path.to_string_lossy(), &["-o", "gtp.dissect_tpdu_as:TPDU Heuristic"], &fields);
    assert_eq!(rows.len(), 1);
    let row = &rows[0];
    assert_eq!(row[0], "raw:ip:udp:gtp:ip:tcp");
    assert_eq!((row[1].as_str(), row[2].as_str()), ("76", "476"), "28 of IP and UDP are made");
    assert!(row[3].contains("IMSI 001010000000001") && row[3].contains("lost"), "{}", row[3]);
    assert_eq!((row[4].as_str(), row[5].as_str()), ("GTP over UDP", "400"));
    let output = std::process::Command::new("capinfos").arg(&path).output();
    if let Ok(output) = output {
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("gannet 1") && said.contains("sgsn of x.cfg"), "{said}");
    }
}

fn event_in_wireshark() {
    let directory = TempDir::new("gannet-ring");
    let path = directory.path().join("x.pcapng");
    let mut recorder = Recorder::to_files(&path, None, &section(), 0).unwrap();
    record(&mut recorder, 0..1, 1);
    let fields = [("MESSAGE", "a frame had no room"), ("GANNET_DROP", "no_frame"), ("GANNET_IMSI", "")];
    recorder.event(BEGINNING_NS + 1000, &fields);
    record(&mut recorder, 2..3, 1000);
    recorder.flush().unwrap();
    let rows = dissect_file(&path.to_string_lossy(), &[], &["frame.protocols", "frame.time_epoch"]);
    assert_eq!(rows.len(), 3);
    assert!(rows[1][0].contains("systemd_journal"), "{rows:?}");
    assert!(rows[1][1].starts_with("1700000000.123457"), "{rows:?}");
    let text = gannet_testkit::tshark::dissect_file(
        &path.to_string_lossy(),
        &["-Y", "systemd_journal"],
        &["systemd_journal.message"],
    );
    assert_eq!(text, [["a frame had no room"]]);
    assert_eq!(Reader::open(&path).unwrap().count(), 2, "whoever reads packets has packets");
}

/// The first record behind lost ones says how many they are.
fn gap() {
    let directory = TempDir::new("gannet-ring");
    let path = directory.path().join("x.pcapng");
    let mut recorder = Recorder::with_limit(&path, 2000).unwrap();
    let gb = recorder.interface("Gb");
    recorder.udp(gb, BEGINNING_NS, Direction::In, ends(), &[0; 4000]);
    recorder.udp(gb, BEGINNING_NS, Direction::In, ends(), &[0; 4000]);
    recorder.udp(gb, BEGINNING_NS, Direction::In, ends(), &[0; 4]);
    recorder.udp(gb, BEGINNING_NS, Direction::In, ends(), &[0; 4]);
    assert_eq!((recorder.recorded(), recorder.lost()), (2, 2));
    drop(recorder);
    let octets = std::fs::read(&path).unwrap();
    // The option's code, its length, and two.
    let option = [4, 0, 8, 0, 2, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(octets.windows(option.len()).filter(|window| *window == option).count(), 1);
}

fn live() {
    let listener = UdpSocket::bind("127.0.0.1:0").unwrap();
    listener.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut live = Live::connect(listener.local_addr().unwrap()).unwrap();
    live.gsmtap(&[2, 4, 1, 2]);
    live.ll_pdu(true, &[0x41, 0xc0, 1]);
    live.flush().unwrap();
    assert_eq!((live.sent(), live.lost()), (2, 0));
    let mut octets = [0; 100];
    let count = listener.recv(&mut octets).unwrap();
    assert_eq!(octets[..count], [2, 4, 1, 2]);
    let count = listener.recv(&mut octets).unwrap();
    // Version, words of header, type Gb LLC; the flag of the uplink.
    assert_eq!((count, &octets[..3], octets[4] & 0x40), (19, &[2, 4, 8][..], 0x40));
    assert_eq!(octets[16..19], [0x41, 0xc0, 1]);
}
