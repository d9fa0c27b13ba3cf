//! How fast captures are read on one thread, from a file that the page cache has, in octets of frames.
//!
//! `cargo bench -p gannet-analysis --bench read`. Records of Gn and Gb have 500 octets in the mean. A block of the radio has 98 at the most,
//! headers of GSMTAP, UDP and IP included, so that its row is one of blocks rather than of octets.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    missing_docs,
    reason = "a benchmark fails by panicking"
)]

mod made;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use gannet_analysis::source::Capture;
use gannet_analysis::{Reading, Settings};
use gannet_testkit::TempDir;
use made::{Crowd, Made, layers};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

const OCTETS: u64 = 64 << 20;

/// A file, the octets of its frames, and their number.
struct File {
    path: PathBuf,
    frame_octets: u64,
    records: u64,
}

fn file(directory: &Path, name: &str, crowd: Crowd) -> File {
    let path = directory.join(name);
    let mut made = Made::new(crowd, OCTETS);
    std::io::copy(&mut made, &mut std::fs::File::create(&path).unwrap()).unwrap();
    File { path, frame_octets: made.frame_octets, records: made.records }
}

fn frames(path: &Path) -> u64 {
    let mut capture = Capture::open(path).unwrap();
    let mut octets = 0;
    while capture.advance().unwrap() {
        octets += capture.frame().unwrap().octets.len() as u64;
    }
    octets
}

/// Layers of all frames.
fn decoded(path: &Path) -> u64 {
    let mut capture = Capture::open(path).unwrap();
    let mut found = 0;
    while capture.advance().unwrap() {
        found += layers(&capture.frame().unwrap());
    }
    found
}

fn records(path: &Path) -> u64 {
    let mut reading = Reading::open(&[path], Settings::default()).unwrap();
    let records = reading.by_ref().inspect(|seen| _ = black_box(seen)).count();
    assert!(reading.damages().is_empty());
    records as u64
}

fn rows(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, file: &File) {
    assert_eq!(frames(&file.path), file.frame_octets);
    println!("{name}: {} frames of {} octets", file.records, file.frame_octets / file.records);
    group.throughput(Throughput::Bytes(file.frame_octets));
    group.bench_function(format!("{name}, frames alone"), |bench| bench.iter(|| frames(&file.path)));
    // IP, UDP and what they carry, in each frame.
    assert!(decoded(&file.path) >= 4 * file.records);
    group.bench_function(format!("{name}, all layers"), |bench| bench.iter(|| decoded(&file.path)));
    group.bench_function(format!("{name}, all layers joined"), |bench| bench.iter(|| records(&file.path)));
}

fn read(criterion: &mut Criterion) {
    let directory = TempDir::new("gannet-read-bench");
    let mut group = criterion.benchmark_group("read");
    group.sample_size(10).measurement_time(Duration::from_secs(5));
    let core = Crowd { mobiles: 1000, on_radio: 0, in_core: true };
    let crowds = [
        ("Gn and Gb", core),
        ("Gn, Gb and Um of one mobile in 20", Crowd { on_radio: 50, ..core }),
        ("Um", Crowd { mobiles: 50, on_radio: 50, in_core: false }),
    ];
    for (name, crowd) in crowds {
        rows(&mut group, name, &file(directory.path(), name, crowd));
    }
    group.finish();
}

criterion_group!(benches, read);
criterion_main!(benches);
