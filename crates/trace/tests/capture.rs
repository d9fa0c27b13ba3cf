//! Captures as Wireshark and our own reader see them.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use gannet_testkit::tshark::dissect_file;
use gannet_testkit::{Need, TempDir};
use gannet_trace::pcapng::{Direction, Reader, Record, Recorder};
use std::io::Read as _;
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    gannet_testkit::main(&[
        ("what_was_recorded_is_read_again", &[], read_again),
        ("a_file_cut_anywhere_is_readable_up_to_the_last_block", &[], cut_anywhere),
        ("ethernet_frames_have_an_interface_of_their_own", &[Need::Tshark], ethernet),
        ("a_remark_stands_beside_its_datagram", &[Need::Tshark], remark),
        ("a_record_that_has_no_room_is_lost_and_counted", &[], lost),
        ("a_full_disk_is_told_and_stops_nothing", &[], full_disk),
        ("a_disk_that_has_room_again_is_written_on", &[], room_again),
        ("what_comes_by_a_new_interface_is_written_without_being_asked_for", &[], new_interface),
        ("a_new_capture_is_its_owners_alone", &[], owners_alone),
        ("a_capture_takes_no_file_of_another_user", &[Need::NetAdmin], of_another_user),
        ("wireshark_reads_every_frame", &[Need::Tshark], wireshark),
    ])
}

const BEGINNING_NS: u64 = 1_700_000_000_123_456_789;

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn record(path: &Path) {
    let mut recorder = Recorder::create(path).unwrap();
    let (gb, gn) = (recorder.interface("Gb"), recorder.interface("Gn-U"));
    assert_eq!(recorder.interface("Gb"), gb);
    let ends = (address("192.0.2.1:23000"), address("192.0.2.2:23001"));
    // NS-ALIVE, a GTPv1 echo request, and an ICMP echo request as it comes from a TUN device.
    recorder.udp(gb, BEGINNING_NS, Direction::Out, ends, &[0x0a]);
    let ends = (address("[2001:db8::1]:2123"), address("[2001:db8::2]:2123"));
    recorder.udp(gn, BEGINNING_NS + 1, Direction::In, ends, &[0x32, 1, 0, 4, 0, 0, 0, 0, 0, 7, 0, 0]);
    let gi = recorder.interface("Gi");
    let mut ping = vec![0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, 1, 0xb6, 0xdd, 192, 0, 2, 1, 192, 0, 2, 2];
    ping.extend([8, 0, 0xf7, 0xfe, 0, 0, 0, 1]);
    recorder.ip(gi, BEGINNING_NS + 2, Direction::In, &ping);
    recorder.flush().unwrap();
    assert_eq!((recorder.recorded(), recorder.lost()), (3, 0));
}

/// The lengths of remarks have all remainders of the padding.
fn remark() {
    let directory = TempDir::new("gannet-capture");
    let path = directory.path().join("x.pcapng");
    let mut recorder = Recorder::create(&path).unwrap();
    let um = recorder.interface("Um");
    let ends = (address("127.0.0.1:10000"), address("127.0.0.1:4729"));
    let remarks = ["lost", "lost at", "read by mobile 3", "from mobile 4; collided with 2 more; lost"];
    for (text, at) in remarks.into_iter().zip(0..) {
        recorder.udp_with_comment(um, BEGINNING_NS + at, Direction::In, (ends, &[0x78]), text);
        recorder.udp(um, BEGINNING_NS + at, Direction::In, ends, &[0x79]);
    }
    recorder.flush().unwrap();
    let rows = dissect_file(&path.to_string_lossy(), &[], &["frame.comment", "udp.srcport"]);
    assert_eq!(rows.len(), 2 * remarks.len());
    for (pair, text) in rows.chunks(2).zip(remarks) {
        assert_eq!(pair, [[text, "10000"], ["", "10000"]]);
    }
    assert_eq!(records(&std::fs::read(&path).unwrap()).len(), rows.len());
}

fn records(octets: &[u8]) -> Vec<Record> {
    Reader::new(octets).unwrap().map(Result::unwrap).collect()
}

fn owners_alone() {
    let directory = TempDir::new("gannet-capture");
    let path = directory.path().join("x.pcapng");
    let rights = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    record(&path);
    assert_eq!(rights(), 0o600);
    // Of one that is there its group may go on to read it, which its owner has decided. Others may not: it may be older than
    // captures that have keys.
    for before in [0o640, 0o644, 0o666] {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(before)).unwrap();
        record(&path);
        assert_eq!(rights(), before & 0o770);
        assert_eq!(records(&std::fs::read(&path).unwrap()).len(), 3);
    }
    // A device is no file to keep.
    assert!(Recorder::create(Path::new("/dev/null")).is_ok());
}

/// Somebody has put a file there that he may read, and holds it open.
fn of_another_user() {
    let directory = TempDir::new("gannet-capture");
    let path = directory.path().join("x.pcapng");
    std::fs::write(&path, "of another").unwrap();
    std::os::unix::fs::chown(&path, Some(65534), Some(65534)).unwrap();
    let mut held = std::fs::File::open(&path).unwrap();
    record(&path);
    let there = std::fs::metadata(&path).unwrap();
    assert_eq!((there.uid(), there.permissions().mode() & 0o777), (0, 0o600));
    let mut content = String::new();
    held.read_to_string(&mut content).unwrap();
    assert_eq!(content, "of another");
}

fn read_again() {
    let directory = TempDir::new("gannet-capture");
    let path = directory.path().join("x.pcapng");
    record(&path);
    let records: Vec<Record> = Reader::open(&path).unwrap().map(Result::unwrap).collect();
    let [gb, gn, gi] = records.as_slice() else { panic!("{records:?}") };
    let names: Vec<&str> = records.iter().map(|record| record.interface.as_str()).collect();
    assert_eq!(names, ["Gb", "Gn-U", "Gi"]);
    let udp = gb.udp().unwrap();
    assert_eq!((udp.source, udp.destination), (address("192.0.2.1:23000"), address("192.0.2.2:23001")));
    assert_eq!((udp.payload, gb.direction, gb.at_ns), (&[0x0a][..], Some(Direction::Out), BEGINNING_NS));
    assert_eq!(gn.udp().unwrap().destination, address("[2001:db8::2]:2123"));
    assert_eq!((gn.direction, gn.at_ns), (Some(Direction::In), BEGINNING_NS + 1));
    assert_eq!((gi.udp(), gi.packet.len()), (None, 28));
}

fn ethernet() {
    let directory = TempDir::new("gannet-capture");
    let path = directory.path().join("x.pcapng");
    let mut recorder = Recorder::create(&path).unwrap();
    let (gb, device) = (recorder.interface("Gb"), recorder.ethernet_interface("eth0"));
    assert_ne!(gb, device);
    // A destination whose first octet is that of an IPv4 header.
    let header = [0x45, 0, 0, 0, 0, 1, 2, 0, 0, 17, 0, 2, 0x88, 0xb5];
    recorder.ethernet(device, BEGINNING_NS, Direction::In, header, &[0x24, 0, 0, 1, 0, 0, 0, 0, 4]);
    recorder.udp(gb, BEGINNING_NS, Direction::Out, (address("192.0.2.1:1"), address("192.0.2.2:2")), &[7]);
    recorder.flush().unwrap();
    let both = records(&std::fs::read(&path).unwrap());
    assert_eq!([both[0].is_ethernet, both[1].is_ethernet], [true, false]);
    assert_eq!((both[0].udp(), both[0].interface.as_str()), (None, "eth0"));
    assert_eq!(both[0].packet[..14], header);
    assert!(both[1].udp().is_some());
    let rows = dissect_file(&path.to_string_lossy(), &[], &["eth.type", "eth.src", "udp.dstport"]);
    assert_eq!(rows[0], ["0x88b5", "02:00:00:11:00:02", ""]);
    assert_eq!(rows[1], ["", "", "2"]);
}

/// The thread sleeps when the interface is made: `flush` has waited for it.
fn new_interface() {
    let directory = TempDir::new("gannet-capture");
    let path = directory.path().join("x.pcapng");
    let mut recorder = Recorder::create(&path).unwrap();
    recorder.flush().unwrap();
    let gb = recorder.interface("Gb");
    let ends = (address("192.0.2.1:23000"), address("192.0.2.2:23001"));
    recorder.udp(gb, BEGINNING_NS, Direction::Out, ends, &[0x0a]);
    let until = Instant::now() + Duration::from_secs(30);
    while records(&std::fs::read(&path).unwrap()).is_empty() {
        assert!(Instant::now() < until, "nothing is written");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn cut_anywhere() {
    let directory = TempDir::new("gannet-capture");
    let path = directory.path().join("x.pcapng");
    record(&path);
    let whole = std::fs::read(&path).unwrap();
    let head = u32::from_le_bytes(whole[4..8].try_into().unwrap()) as usize;
    let mut counts: Vec<usize> = (head..=whole.len()).map(|len| records(&whole[..len]).len()).collect();
    assert!(counts.is_sorted());
    counts.dedup();
    assert_eq!(counts, [0, 1, 2, 3]);
}

fn lost() {
    let directory = TempDir::new("gannet-capture");
    let path = directory.path().join("x.pcapng");
    let mut recorder = Recorder::with_limit(&path, 1000).unwrap();
    let gb = recorder.interface("Gb");
    let ends = (address("192.0.2.1:1"), address("192.0.2.2:2"));
    recorder.udp(gb, 0, Direction::In, ends, &[0; 1000]);
    assert_eq!((recorder.recorded(), recorder.lost()), (0, 1));
    for _ in 0..500 {
        recorder.udp(gb, 0, Direction::In, ends, &[0; 100]);
    }
    let (recorded, lost) = (recorder.recorded(), recorder.lost());
    assert_eq!(recorded + lost, 501);
    drop(recorder);
    assert_eq!(records(&std::fs::read(&path).unwrap()).len() as u64, recorded);
}

fn full_disk() {
    let mut recorder = Recorder::create(Path::new("/dev/full")).unwrap();
    let gb = recorder.interface("Gb");
    let ends = (address("192.0.2.1:1"), address("192.0.2.2:2"));
    recorder.udp(gb, 0, Direction::In, ends, &[0; 100]);
    assert_eq!(recorder.flush().unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    assert!(recorder.failure().unwrap().contains("No space left"));
    // Some are kept for the time when there is room again, and no more.
    (0..100_000).for_each(|_| recorder.udp(gb, 0, Direction::In, ends, &[0; 100]));
    assert!(recorder.lost() > 0 && recorder.recorded() > 1000);
    assert!(recorder.flush().is_err());
}

/// A disk with some room: it takes a part of a block before it is full.
#[derive(Clone)]
struct Disk {
    room: Arc<AtomicUsize>,
    octets: Arc<Mutex<Vec<u8>>>,
}

impl std::io::Write for Disk {
    fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
        let count = octets.len().min(self.room.load(SeqCst));
        if count == 0 {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        self.room.fetch_sub(count, SeqCst);
        self.octets.lock().unwrap().extend_from_slice(&octets[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The disk is full in the middle of a block, and has room again: the file has every record that was not counted as lost, each whole.
fn room_again() {
    let disk = Disk { room: Arc::new(AtomicUsize::new(1001)), octets: Arc::default() };
    let mut recorder = Recorder::into_writer(Box::new(disk.clone()), 4000).unwrap();
    let gb = recorder.interface("Gb");
    let ends = (address("192.0.2.1:1"), address("192.0.2.2:2"));
    let record = |recorder: &mut Recorder, count| {
        (0..count).for_each(|_| recorder.udp(gb, 0, Direction::In, ends, &[0; 100]))
    };
    record(&mut recorder, 20);
    assert!(recorder.flush().is_err());
    assert!(recorder.failure().is_some());
    let before = records(&disk.octets.lock().unwrap()).len();
    assert!((1..20).contains(&before), "{before}");
    record(&mut recorder, 100);
    disk.room.store(usize::MAX / 2, SeqCst);
    recorder.flush().unwrap();
    assert_eq!(recorder.failure(), None);
    record(&mut recorder, 5);
    let (recorded, lost) = (recorder.recorded(), recorder.lost());
    assert!(recorded > 30 && lost > 50 && recorded + lost == 125, "{recorded}, {lost}");
    drop(recorder);
    assert_eq!(records(&disk.octets.lock().unwrap()).len() as u64, recorded);
}

fn wireshark() {
    let directory = TempDir::new("gannet-capture");
    let path = directory.path().join("x.pcapng");
    record(&path);
    let path = path.to_string_lossy();
    let options =
        ["-d", "udp.port==23000,gprs-ns", "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"];
    let fields = [
        "frame.protocols",
        "frame.interface_name",
        "frame.time_epoch",
        "ip.checksum.status",
        "udp.checksum.status",
        "_ws.malformed",
        "frame.packet_flags_direction",
    ];
    let rows = dissect_file(&path, &options, &fields);
    let expected = [
        ["raw:ip:udp:gprs-ns", "Gb", "1700000000.123456789", "1", "1", "", "0x00000002"],
        ["raw:ipv6:udp:gtp", "Gn-U", "1700000000.123456790", "", "1", "", "0x00000001"],
        ["raw:ip:icmp", "Gi", "1700000000.123456791", "1", "", "", "0x00000001"],
    ];
    assert_eq!(rows, expected);
}
