//! Files of any writer, damaged anywhere: what is before the damage counts, and nothing panics.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking"
)]

use gannet_analysis::source::{Capture, Damage, Octets};
use gannet_analysis::{Reading, Settings};
use proptest::prelude::*;
use std::io::{Cursor, Read as _, Write as _};
use std::path::Path;
use std::sync::LazyLock;

const AT_NS: u64 = 1_700_000_000_123_456_000;

fn open(octets: &[u8]) -> Result<Capture, Damage> {
    let octets = Octets::new(Box::new(Cursor::new(octets.to_vec())), false);
    Capture::from_octets(Path::new("x"), octets)
}

/// Times and lengths of all frames, and what ended them.
fn frames(octets: &[u8]) -> (Vec<(u64, usize)>, Option<Damage>) {
    let mut capture = match open(octets) {
        Ok(capture) => capture,
        Err(damage) => return (Vec::new(), Some(damage)),
    };
    let mut found = Vec::new();
    loop {
        match capture.advance() {
            Ok(true) => {
                let frame = capture.frame().unwrap();
                assert_eq!(frame.number, found.len() as u64 + 1);
                found.push((frame.at, frame.octets.len()));
            }
            Ok(false) => return (found, None),
            Err(damage) => return (found, Some(damage)),
        }
    }
}

struct Writer {
    octets: Vec<u8>,
    big: bool,
}

impl Writer {
    fn u32(&mut self, value: u32) {
        self.octets.extend(if self.big { value.to_be_bytes() } else { value.to_le_bytes() });
    }

    fn u16(&mut self, value: u16) {
        self.octets.extend(if self.big { value.to_be_bytes() } else { value.to_le_bytes() });
    }

    fn block(&mut self, kind: u32, body: impl FnOnce(&mut Self)) {
        let start = self.octets.len();
        self.u32(kind);
        self.u32(0);
        body(self);
        while !self.octets.len().is_multiple_of(4) {
            self.octets.push(0);
        }
        let len = (self.octets.len() - start + 4) as u32;
        self.u32(len);
        let len = if self.big { len.to_be_bytes() } else { len.to_le_bytes() };
        self.octets[start + 4..start + 8].copy_from_slice(&len);
    }

    /// A section with an interface that counts in 2^-20 s, and one that counts in microseconds.
    fn section(&mut self) {
        self.block(0x0a0d_0d0a, |it| {
            it.u32(0x1a2b_3c4d);
            it.u32(1);
            it.u32(u32::MAX);
            it.u32(u32::MAX);
        });
        for resolution in [Some(0x80 | 20), None] {
            self.block(1, |it| {
                it.u16(101);
                it.u16(0);
                it.u32(0);
                if let Some(resolution) = resolution {
                    it.u16(9);
                    it.u16(1);
                    it.octets.extend([resolution, 0, 0, 0]);
                    it.u32(0);
                }
            });
        }
    }

    fn packet(&mut self, interface: u32, ticks: u64, octets: &[u8]) {
        self.block(6, |it| {
            it.u32(interface);
            it.u32((ticks >> 32) as u32);
            it.u32(ticks as u32);
            it.u32(octets.len() as u32);
            it.u32(octets.len() as u32);
            it.octets.extend(octets);
        });
    }
}

fn pcapng(big: bool) -> Vec<u8> {
    let mut writer = Writer { octets: Vec::new(), big };
    for _ in 0..2 {
        writer.section();
        writer.packet(0, 3 << 19, &[0x45; 61]);
        writer.packet(1, AT_NS / 1000, &[0x45; 30]);
        // What is not known here is passed over.
        writer.block(0xbad, |it| it.u32(7));
    }
    writer.octets
}

#[test]
fn pcap_of_each_order_and_resolution() {
    for big in [false, true] {
        for (magic, unit) in [(0xa1b2_c3d4, 1000), (0xa1b2_3c4d, 1)] {
            let mut writer = Writer { octets: Vec::new(), big };
            writer.u32(magic);
            writer.u16(2);
            writer.u16(4);
            [0, 0, 65_535, 101].into_iter().for_each(|word| writer.u32(word));
            for word in [(AT_NS / 1_000_000_000) as u32, (AT_NS % 1_000_000_000 / unit) as u32, 40, 1500] {
                writer.u32(word);
            }
            writer.octets.extend([0x45; 40]);
            assert_eq!(frames(&writer.octets), (vec![(AT_NS, 40)], None));
            assert_eq!(open(&writer.octets).unwrap().interfaces()[0].link, 101);
        }
    }
}

#[test]
fn pcapng_with_sections_and_resolutions() {
    for big in [false, true] {
        let once = [(1_500_000_000, 61), (AT_NS, 30)];
        assert_eq!(frames(&pcapng(big)), ([once, once].concat(), None));
    }
}

#[test]
fn a_file_that_ends_anywhere_counts_up_to_there() {
    let whole = pcapng(false);
    let (all, _) = frames(&whole);
    let mut most = 0;
    let mut clean = 0;
    for end in 0..whole.len() {
        let (found, damage) = frames(&whole[..end]);
        assert_eq!(found, all[..found.len()]);
        assert!(found.len() >= most);
        most = found.len();
        match damage {
            None => clean += 1,
            Some(damage) => {
                assert_eq!(damage.frame, found.len() as u64);
                assert!(damage.octet <= end as u64 && !damage.to_string().is_empty());
            }
        }
    }
    // Only at the borders of blocks is nothing damaged: sections of six blocks, the first of which has to be there.
    assert_eq!((most, clean), (4, 11));
}

#[test]
fn what_is_too_long_is_not_believed() {
    let mut writer = Writer { octets: Vec::new(), big: false };
    writer.section();
    writer.packet(0, 0, &[0; 8]);
    let start = writer.octets.len() as u64;
    writer.u32(6);
    writer.u32(0xffff_fff0);
    writer.u32(0);
    let (found, damage) = frames(&writer.octets);
    let damage = damage.unwrap();
    assert_eq!((found.len(), damage.frame, damage.octet), (1, 1, start));
    assert!(damage.what.contains("4294967280"), "{damage}");
    writer.octets.truncate(start as usize);
    writer.packet(5, 0, &[0; 8]);
    assert!(frames(&writer.octets).1.unwrap().what.contains("interface 5"));
    for (octets, what) in
        [(&b""[..], "empty"), (b"hello, world", "no capture"), (b"\xd4\xc3\xb2\xa1\x02", "header")]
    {
        assert!(open(octets).unwrap_err().what.contains(what));
    }
    let none = Capture::open(Path::new("/nowhere/x.pcap")).unwrap_err();
    assert!(none.what.contains("cannot be opened"));
}

#[test]
fn packed_files_of_several_members() {
    let whole = pcapng(true);
    let (first, second) = whole.split_at(100);
    let gzip = |octets: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(octets).unwrap();
        encoder.finish().unwrap()
    };
    let zstd = |octets: &[u8]| {
        ruzstd::encoding::compress_to_vec(octets, ruzstd::encoding::CompressionLevel::Fastest)
    };
    let skipped = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9];
    let files =
        [[gzip(first), gzip(second)].concat(), [zstd(first), skipped.to_vec(), zstd(second)].concat()];
    let directory = gannet_testkit::TempDir::new("gannet-analysis-packed");
    for (number, packed) in files.iter().enumerate() {
        let path = directory.path().join(number.to_string());
        std::fs::write(&path, packed).unwrap();
        let mut octets = Octets::open(&path).unwrap();
        assert!(octets.is_packed());
        assert_eq!(octets.want(whole.len() + 1).unwrap(), whole.len());
        assert_eq!(octets.peek(), whole);
        std::fs::write(&path, &packed[..packed.len() - 12]).unwrap();
        let mut capture = Capture::open(&path).unwrap();
        let damage = loop {
            match capture.advance() {
                Ok(has_frame) => assert!(has_frame, "the damage is told"),
                Err(damage) => break damage,
            }
        };
        assert!(damage.is_packed && damage.to_string().contains("unpacks to"), "{damage}");
    }
}

static REAL: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
    ["real-phone-core.pcapng.gz", "real-phone-um.pcapng.gz"]
        .into_iter()
        .map(|name| {
            let file = std::fs::File::open(directory.join(name)).unwrap();
            let mut octets = vec![0; 40_000];
            flate2::read::GzDecoder::new(file).read_exact(&mut octets).unwrap();
            octets
        })
        .collect()
});

fn drain(octets: &[u8]) -> usize {
    let Ok(capture) = open(octets) else { return 0 };
    let mut reading = Reading::new(vec![capture], Settings::default());
    let mut count = 0;
    for seen in reading.by_ref() {
        assert!(!gannet_analysis::view::words(&seen.what).is_empty());
        count += 1;
    }
    count
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_octets_are_read_without_panic(head in 0..5_usize, octets in prop::collection::vec(any::<u8>(), 0..600)) {
        let magic: [&[u8]; 5] = [&[], &[0xd4, 0xc3, 0xb2, 0xa1], &[0xa1, 0xb2, 0x3c, 0x4d],
            &[10, 13, 13, 10, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a], &[10, 13, 13, 10, 0, 0, 0, 28, 0x1a, 0x2b, 0x3c, 0x4d]];
        drain(&[magic[head], &octets].concat());
    }

    #[test]
    fn a_real_capture_with_changed_octets_is_read_without_panic(
        which in 0..2_usize,
        changes in prop::collection::vec((0..40_000_usize, any::<u8>()), 1..400),
    ) {
        let mut octets = REAL[which].clone();
        for (at, value) in changes {
            // Headers of blocks stay: what is in frames is to be changed.
            if at % 7 != 0 && at > 400 {
                octets[at] = value;
            }
        }
        drain(&octets);
    }
}

#[test]
fn real_captures_have_records() {
    for octets in REAL.iter() {
        let count = drain(octets);
        assert!(count > 30, "{count} records");
    }
}
