//! How fast the page is: `cargo bench -p gannet-view --bench page [-- RECORDS]`, a million records unless said otherwise.
//!
//! It prints how long the index took, and what memory the process had at most. Tiles of all lanes are timed at windows from all to a thousandth.
//! A browser without a screen says when the first picture stood, and how long pictures take while the wheel turns.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    missing_docs,
    dead_code,
    unused_imports,
    reason = "a benchmark fails by panicking, and shares files with others"
)]

#[path = "../tests/browser/driver.rs"]
mod driver;
#[path = "../../analysis/benches/made/mod.rs"]
mod made;

use driver::Browser;
use gannet_analysis::{Reading, Settings};
use gannet_testkit::TempDir;
use gannet_view::index::Index;
use gannet_view::lane::Lane;
use gannet_view::server::Server;
use gannet_view::span::spans;
use gannet_view::tile::{Window, tile};
use made::{Crowd, Made};
use std::time::{Duration, Instant};

/// Octets of the file for each record of the index: each frame of Gn has three records, of Gb six.
const OCTETS_PER_RECORD: u64 = 160;

fn median(mut times: Vec<f64>) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    (times[times.len() / 2], times[times.len() - 1])
}

fn memory_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1000
}

fn main() {
    let records = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(1_000_000);
    let directory = TempDir::new("gannet-view-bench");
    let path = directory.path().join("made.pcapng");
    let crowd = Crowd { mobiles: 100, on_radio: 20, in_core: true };
    let mut made = Made::new(crowd, records * OCTETS_PER_RECORD);
    std::io::copy(&mut made, &mut std::fs::File::create(&path).unwrap()).unwrap();

    let begun = Instant::now();
    let mut reading = Reading::open(&[&path], Settings::default()).unwrap();
    let index = Index::of(&mut reading, vec!["made".to_owned()]).unwrap();
    println!(
        "{} records: index in {:.2} s, {} MB of memory at most",
        index.len(),
        begun.elapsed().as_secs_f64(),
        memory_mb()
    );

    let (start, length) = (index.start, index.end() - index.start);
    let mut times = Vec::new();
    for number in 0..200_u64 {
        let width = length / [1, 3, 10, 100, 1000][usize::try_from(number % 5).unwrap()];
        let from = start + (number * 7919 % 1000) * (length - width) / 1000;
        let window = Window { from, until: from + width, bins: 1500, mobile: None };
        let begun = Instant::now();
        let tiles = Lane::ALL.into_iter().filter_map(|lane| tile(&index, lane, window)).count();
        assert_eq!(tiles, Lane::ALL.len());
        std::hint::black_box(spans(&index, window));
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    let (middle, most) = median(times);
    println!("tiles of all lanes: {middle:.2} ms as the median of 200 windows, {most:.2} ms at most");

    let server = Server::bind(index, None, 0).unwrap();
    let url = server.url();
    std::thread::spawn(move || server.run());
    let browser = Browser::start(1400, 1000);
    let begun = Instant::now();
    browser.open(&url);
    println!("first picture after {:.2} s, the page's loading included", begun.elapsed().as_secs_f64());
    browser.value("window.frames.splice(0)");
    for turn in 0..60 {
        browser.wheel(500, 300, if turn % 20 < 12 { -250 } else { 300 });
        std::thread::sleep(Duration::from_millis(60));
    }
    let frames = browser.value("window.frames");
    let (middle, most) =
        median(frames.as_array().unwrap().iter().filter_map(serde_json::Value::as_f64).collect());
    println!(
        "pictures while the wheel turns: {middle:.1} ms as the median of {}, {most:.1} ms at most",
        frames.as_array().unwrap().len()
    );
}
