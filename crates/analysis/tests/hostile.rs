//! Files that are made to harm: they end with a clear message, or are read in bounded memory.
//!
//! One test of one process, since memory is the process's: what each file takes is the growth of `VmHWM` after the kernel has forgotten
//! the peak before.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking"
)]

use gannet_analysis::source::{Capture, Octets};
use gannet_analysis::{Reading, Settings};
use gannet_wire::bssgp::ie::QosProfile;
use gannet_wire::bssgp::unitdata::UlUnitdata;
use gannet_wire::id::{Bvci, CellId, Tlli};
use gannet_wire::ns;
use std::io::{self, Cursor, Read, Write as _};
use std::path::Path;

const MIB: u64 = 1 << 20;

fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
}

/// Reads all, and gives the damages, in words, the reading, and octets of memory that it took.
fn read(octets: Octets) -> (Vec<String>, Option<Reading>, u64) {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = peak();
    let capture = match Capture::from_octets(Path::new("hostile"), octets) {
        Ok(capture) => capture,
        Err(damage) => return (vec![damage.to_string()], None, peak() - before),
    };
    let mut reading = Reading::new(vec![capture], Settings::default());
    let records = reading.by_ref().count();
    assert!(records as u64 <= 16 * reading.counts().frames.max(1));
    let damages = reading.damages().iter().map(ToString::to_string).collect();
    (damages, Some(reading), peak() - before)
}

fn plain(octets: Vec<u8>) -> Octets {
    Octets::new(Box::new(Cursor::new(octets)), false)
}

fn of_file(octets: &[u8]) -> (Vec<String>, Option<Reading>, u64) {
    let directory = gannet_testkit::TempDir::new("gannet-hostile");
    let path = directory.path().join("x");
    std::fs::write(&path, octets).unwrap();
    read(Octets::open(&path).unwrap())
}

/// A block of pcapng with this body, whose two lengths are right.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let len = (12 + body.len().next_multiple_of(4)) as u32;
    let mut octets = [&kind.to_le_bytes()[..], &len.to_le_bytes(), body].concat();
    octets.resize(octets.len().next_multiple_of(4), 0);
    octets.extend(len.to_le_bytes());
    octets
}

fn section() -> Vec<u8> {
    let body = [&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat();
    block(0x0a0d_0d0a, &body)
}

/// A section with one interface of raw IP.
fn begin() -> Vec<u8> {
    [section(), block(1, &[101, 0, 0, 0, 0, 0, 0, 0])].concat()
}

fn frame(at: u32, octets: &[u8]) -> Vec<u8> {
    let len = (octets.len() as u32).to_le_bytes();
    block(6, &[&[0; 8][..], &at.to_le_bytes(), &len, &len, octets].concat())
}

fn ip(protocol: u8, from: [u8; 4], rest: &[u8]) -> Vec<u8> {
    let len = ((20 + rest.len()) as u16).to_be_bytes();
    let head = [0x45, 0, len[0], len[1], 0, 0, 0, 0, 64, protocol, 0, 0];
    [&head[..], &from, &[192, 0, 2, 1], rest].concat()
}

fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let len = ((8 + payload.len()) as u16).to_be_bytes();
    [&port.to_be_bytes()[..], &port.to_be_bytes(), &len, &[0, 0], payload].concat()
}

/// Makes frame after frame while they are read.
struct Endless<F> {
    frame: F,
    number: u32,
    frames: u32,
    ready: Cursor<Vec<u8>>,
}

impl<F: FnMut(u32) -> Vec<u8>> Read for Endless<F> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.ready.position() == self.ready.get_ref().len() as u64 && self.number < self.frames {
            self.ready = Cursor::new(frame(self.number, &(self.frame)(self.number)));
            self.number += 1;
        }
        self.ready.read(room)
    }
}

fn many(frames: u32, frame: impl FnMut(u32) -> Vec<u8> + Send + 'static) -> Octets {
    Octets::new(Box::new(Endless { frame, number: 0, frames, ready: Cursor::new(begin()) }), false)
}

fn ul_unitdata(tlli: u32) -> Vec<u8> {
    let cell = CellId::from_octets([0, 0xf1, 0x10, 0, 1, 1, 0, 1]);
    let header = UlUnitdata::new(Tlli(tlli), QosProfile::default(), cell);
    let ll_pdu = [0x43, 0xc0, 0x01, 1, 2, 3, 4, 5, 6];
    let mut bssgp = vec![0; header.buffer_len(ll_pdu.len())];
    assert!(header.emit(ll_pdu.len(), &mut bssgp));
    [&ns::Unitdata::of(Bvci(2)).emit()[..], &bssgp, &ll_pdu].concat()
}

fn more_mobiles_than_are_told_apart() {
    let octets = many(220_000, |n| ip(17, [192, 0, 2, 2], &udp(ns::UDP_PORT, &ul_unitdata(0xc000_0000 | n))));
    let (damages, reading, taken) = read(octets);
    let reading = reading.unwrap();
    assert_eq!((damages.len(), reading.counts().frames), (0, 220_000));
    assert!(reading.counts().beyond_tables >= 20_000, "{:?}", reading.counts());
    assert!(taken < 128 * MIB, "{taken} octets for TLLIs");
}

/// Each opens a connection, and another TBF, and begins a packet that never ends.
fn what_begins_and_never_ends() {
    let octets = many(60_000, |n| {
        let from = [10, (n >> 16) as u8, (n >> 8) as u8, n as u8];
        match n % 3 {
            0 => ip(6, from, &[&[0, 80, 0, 81][..], &n.to_be_bytes(), &[0; 4], &[0x50, 2], &[0; 6]].concat()),
            1 => {
                let tap = [2, 4, 1, 4, (n >> 8) as u8 & 0x3f, n as u8, 0, 0, 0, 0, 0, 0, 13, 0, 0, 0];
                let block = [&[0, (n % 32) as u8 * 2, (n % 128) as u8 * 2][..], &[0x55; 51]].concat();
                ip(17, from, &udp(4729, &[&tap[..], &block].concat()))
            }
            _ => {
                let mut piece = ip(17, from, &[0; 1400]);
                piece[6] = 0x20;
                piece
            }
        }
    });
    let (damages, reading, taken) = read(octets);
    let counts = reading.unwrap().counts();
    assert_eq!((damages.len(), counts.frames), (0, 60_000));
    assert!(counts.rlc.tbfs > 10_000 && counts.fragments_missing == 20_000, "{counts:?}");
    // 4096 TBFs with a window of blocks each would be 32 MB, 256 packets of 64 KB 16 MB.
    assert!(taken < 128 * MIB, "{taken} octets");
}

fn lengths_that_lie() {
    let said = |octets: Vec<u8>| {
        let (damages, _, taken) = read(plain(octets));
        assert!(taken < 48 * MIB, "{taken} octets");
        assert_eq!(damages.len(), 1, "{damages:?}");
        damages.concat()
    };
    let with = |octets: &[u8]| [&begin(), octets].concat();
    let good = frame(1, &ip(17, [10, 0, 0, 1], &udp(1, b"x")));
    // A block that never ends: longer than is believed, and as long as is believed.
    let endless = [&6_u32.to_le_bytes()[..], &0x7fff_fffc_u32.to_le_bytes(), &[0; 64]].concat();
    assert!(said(with(&[&good[..], &endless].concat())).contains("2147483644"));
    let long = [&0xbad_u32.to_le_bytes()[..], &(15 * MIB as u32).to_le_bytes(), &[0; 64]].concat();
    assert!(said(with(&long)).contains("ends within a block of 15728640"));
    for (len, what) in [(0_u32, "a block of 0 octets"), (8, "a block of 8"), (13, "a block of 13")] {
        let short = [&6_u32.to_le_bytes()[..], &len.to_le_bytes(), &[0; 64]].concat();
        assert!(said(with(&short)).contains(what));
    }
    let mut behind = good.clone();
    let last = behind.len() - 4;
    behind[last] ^= 4;
    assert!(said(with(&behind)).contains("one length in front and another behind"));
    let mut within = good.clone();
    within[20..24].copy_from_slice(&1_000_000_u32.to_le_bytes());
    assert!(said(with(&within)).contains("a frame of 1000000 octets in a block of"));
    // A name that is longer than its block is none.
    let name = [&[101, 0, 0, 0, 0, 0, 0, 0][..], &[2, 0, 0xff, 0xff], b"Gb"].concat();
    let (damages, reading, _) = read(plain([section(), block(1, &name), good].concat()));
    assert_eq!((damages.len(), reading.unwrap().counts().frames), (0, 1));
}

fn interfaces_without_end() {
    let name = [&[101, 0, 0, 0, 0, 0, 0, 0][..], &[2, 0, 0, 4], &[b'x'; 1024], &[0; 4]].concat();
    let mut octets = begin();
    octets.extend(frame(1, &ip(17, [10, 0, 0, 1], &udp(1, b"x"))));
    (0..65_535).for_each(|_| octets.extend(block(1, &name)));
    let (damages, reading, taken) = read(plain(octets));
    assert!(damages.concat().contains("more than 4096 interfaces"), "{damages:?}");
    assert_eq!(reading.unwrap().counts().frames, 1, "what stands before counts");
    assert!(taken < 16 * MIB, "{taken} octets");
    // The same as sections: each has its own, and all are added up.
    let many: Vec<u8> = (0..5000).flat_map(|_| begin()).collect();
    assert!(read(plain(many)).0.concat().contains("more than 4096 interfaces"));
}

fn gzip(octets: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(octets).unwrap();
    encoder.finish().unwrap()
}

fn packed_bombs() {
    // A capture within gzip within gzip: only the outer one is unpacked.
    let inner = gzip(&[&begin()[..], &frame(1, &[0x45; 20])].concat());
    let (damages, ..) = of_file(&gzip(&inner));
    assert!(damages.concat().contains("is no capture"), "{damages:?}");
    // Two hundred megabytes of nothing, in two hundred kilobytes: a block of what is not known, again and again.
    let nothing = block(0xbad, &vec![0; 8 << 20]);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&begin()).unwrap();
    (0..25).for_each(|_| encoder.write_all(&nothing).unwrap());
    encoder.write_all(&frame(1, &ip(17, [10, 0, 0, 1], &udp(1, b"x")))).unwrap();
    let bomb = encoder.finish().unwrap();
    assert!(bomb.len() < 2 << 20, "{}", bomb.len());
    let (damages, reading, taken) = of_file(&bomb);
    assert_eq!((damages.len(), reading.unwrap().counts().frames), (0, 1));
    assert!(taken < 48 * MIB, "{taken} octets");
    // Zeros without a capture.
    let (damages, _, taken) = of_file(&gzip(&vec![0; 50 << 20]));
    assert!(damages.concat().contains("is no capture") && taken < 16 * MIB, "{damages:?} {taken}");
    // A frame of zstd that wants a window of 2^41 octets.
    let (damages, _, taken) = of_file(&[0x28, 0xb5, 0x2f, 0xfd, 0, 0xf8, 1, 0, 0, 0, 0, 0]);
    assert!(!damages.is_empty() && taken < 16 * MIB, "{damages:?} {taken}");
}

#[test]
fn hostile_files_are_refused_in_words_or_read_in_bounded_memory() {
    lengths_that_lie();
    interfaces_without_end();
    packed_bombs();
    what_begins_and_never_ends();
    more_mobiles_than_are_told_apart();
}
