//! Experiment `trace-read`: how fast captures are read, and what a long one or a hostile one takes of memory.
//!
//! The captures are made with the encoders of this project: TCP downlink of many mobiles, each segment on Gn, on Gb, and of some mobiles
//! on Um as well. Rates are those of a file that the page cache has, on one thread. For memory the capture has no file: its octets
//! are made while they are read, so that 10 GB need no disk. The peak is the kernel's own (`VmHWM` of `/proc/self/status`).

#[path = "../../analysis/benches/made/mod.rs"]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "what it makes has lengths that it knows")]
mod made;

use crate::report::{Cell, Options, Report, Size, Verdict, at_least, at_most};
use gannet_analysis::record::{Carrier, Record};
use gannet_analysis::source::{Capture, Octets};
use gannet_analysis::{Reading, Settings};
use made::{Crowd, Made, layers};
use serde_json::json;
use std::io::Read;
use std::path::Path;
use std::time::Instant;

/// What decoding has to reach, in octets of frames a second.
const LEAST_PER_S: f64 = 300e6;
/// Passes over each file, of which the median counts.
const PASSES: usize = 5;
/// What a reading may take of memory: an ordinary capture, one of more mobiles than it tells apart, and what more of the same adds.
const ORDINARY_MAX: u64 = 256 << 20;
const CROWDED_MAX: u64 = 1 << 30;
const GROWTH_MAX: u64 = 16 << 20;
/// Of a long capture, the part after which memory is looked at for the first time.
const FIRST_PART: u64 = 4;

const CORE: Crowd = Crowd { mobiles: 1000, on_radio: 0, in_core: true };
const LONG: Crowd = Crowd { mobiles: 10_000, on_radio: 500, in_core: true };
const CROWDED: Crowd = Crowd { mobiles: 1_100_000, on_radio: 0, in_core: true };

/// Octets of a file for rates, and of the long capture.
const fn sizes(size: Size) -> (u64, u64) {
    match size {
        Size::Quick => (64 << 20, 1_000_000_000),
        Size::Normal | Size::Full => (256 << 20, 10_000_000_000),
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

#[expect(clippy::cast_precision_loss, reason = "octets and counts of a run")]
const fn as_f64(number: u64) -> f64 {
    number as f64
}

/// The highest that this process has taken of memory since [`forget_peak`], in octets.
fn peak() -> Result<u64, String> {
    let status = std::fs::read_to_string("/proc/self/status").map_err(text)?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.map(|kib| kib * 1024).ok_or_else(|| "/proc/self/status: no VmHWM".to_owned())
}

fn forget_peak() -> Result<(), String> {
    std::fs::write("/proc/self/clear_refs", "5").map_err(|error| format!("/proc/self/clear_refs: {error}"))
}

/// The median rate of some passes, in octets of frames a second.
fn rate(frame_octets: u64, pass: &dyn Fn() -> Result<(), String>) -> Result<f64, String> {
    let mut rates = Vec::new();
    for _ in 0..PASSES {
        let begun = Instant::now();
        pass()?;
        rates.push(as_f64(frame_octets) / begun.elapsed().as_secs_f64());
    }
    rates.sort_by(f64::total_cmp);
    rates.get(PASSES / 2).copied().ok_or_else(|| "no pass".to_owned())
}

/// All frames by themselves; what is done with each.
fn frames(
    path: &Path,
    mut each: impl FnMut(&gannet_analysis::source::Frame<'_>) -> u64,
) -> Result<u64, String> {
    let mut capture = Capture::open(path).map_err(text)?;
    let mut found = 0;
    while capture.advance().map_err(text)? {
        found += capture.frame().map_or(0, |frame| each(&frame));
    }
    Ok(found)
}

fn joined(path: &Path) -> Result<(), String> {
    let mut reading = Reading::open(&[path], Settings::default()).map_err(text)?;
    let records = reading.by_ref().fold(0_u64, |count, seen| count + u64::from(seen.proof.frame > 0));
    match (records, reading.damages().first()) {
        (_, Some(damage)) => Err(damage.to_string()),
        (0, None) => Err("no record".to_owned()),
        _ => Ok(()),
    }
}

/// Rates of a file: frames alone, all layers of each by itself, all layers joined.
fn rates(report: &mut Report, directory: &Path, octets: u64) -> Result<[f64; 3], String> {
    let path = directory.join("core.pcapng");
    let mut made = Made::new(CORE, octets);
    let mut file = std::fs::File::create(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    std::io::copy(&mut made, &mut file).map_err(text)?;
    let length = as_f64(made.frame_octets) / as_f64(made.records);
    report.parameter("frames of rates", format!("{} of {length:.0} octets in the mean", made.records));
    let octets = made.frame_octets;
    let alone = rate(octets, &|| match frames(&path, |frame| frame.octets.len() as u64)? {
        all if all == octets => Ok(()),
        other => Err(format!("{other} octets were read of {octets}")),
    })?;
    let decoded = rate(octets, &|| match frames(&path, layers)? {
        found if found >= 4 * made.records => Ok(()),
        found => Err(format!("{found} layers in {} frames", made.records)),
    })?;
    let joined = rate(octets, &|| joined(&path))?;
    std::fs::remove_file(&path).map_err(text)?;
    let all = [alone, decoded, joined];
    for (what, rate) in ["frames alone", "all layers", "all layers joined"].into_iter().zip(all) {
        let metrics = [
            ("octets_per_s".to_owned(), json!(rate)),
            ("ns_per_frame".to_owned(), json!(length * 1e9 / rate)),
        ];
        report.cells.push(Cell::new([("what", json!(what))], metrics));
    }
    Ok(all)
}

/// What a capture without a file took.
#[derive(Debug)]
struct Streamed {
    octets: u64,
    frames: u64,
    segments: u64,
    n_pdus: u64,
    lost: u64,
    beyond_tables: u64,
    connections: usize,
    /// Octets of memory above what was there before: at the first look, and at the end.
    first: u64,
    last: u64,
    took_s: f64,
}

/// Counts what a reader gives.
struct Counted<R>(R, std::sync::Arc<std::sync::atomic::AtomicU64>);

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        let read = self.0.read(room)?;
        self.1.fetch_add(read as u64, std::sync::atomic::Ordering::Relaxed);
        Ok(read)
    }
}

fn stream(crowd: Crowd, octets: u64) -> Result<Streamed, String> {
    let read = std::sync::Arc::default();
    let made = Counted(Made::new(crowd, octets), std::sync::Arc::clone(&read));
    let capture =
        Capture::from_octets(Path::new("made"), Octets::new(Box::new(made), false)).map_err(text)?;
    let mut reading = Reading::new(vec![capture], Settings::default());
    forget_peak()?;
    let before = peak()?;
    let begun = Instant::now();
    let (mut segments, mut n_pdus, mut first) = (0, 0, None);
    for seen in reading.by_ref() {
        match seen.what {
            Record::Tcp(_) => segments += 1,
            Record::Packet(packet) if matches!(packet.carrier, Carrier::Segments { .. }) => n_pdus += 1,
            _ => {}
        }
        if first.is_none() && read.load(std::sync::atomic::Ordering::Relaxed) > octets / FIRST_PART {
            first = Some(peak()?.saturating_sub(before));
        }
    }
    let took_s = begun.elapsed().as_secs_f64();
    if let Some(damage) = reading.damages().first() {
        return Err(damage.to_string());
    }
    let counts = reading.counts();
    Ok(Streamed {
        octets: read.load(std::sync::atomic::Ordering::Relaxed),
        frames: counts.frames,
        segments,
        n_pdus,
        lost: counts.rlc.lost + counts.rlc.missing + counts.n_pdus_lost + counts.out_of_order,
        beyond_tables: counts.beyond_tables,
        connections: reading.connections().len(),
        first: first.unwrap_or(0),
        last: peak()?.saturating_sub(before),
        took_s,
    })
}

fn note(report: &mut Report, what: &str, it: &Streamed) {
    report.cells.push(Cell::new(
        [("what", json!(what))],
        [
            ("octets".to_owned(), json!(it.octets)),
            ("frames".to_owned(), json!(it.frames)),
            ("segments_of_tcp".to_owned(), json!(it.segments)),
            ("n_pdus_joined".to_owned(), json!(it.n_pdus)),
            ("lost".to_owned(), json!(it.lost)),
            ("names_beyond_tables".to_owned(), json!(it.beyond_tables)),
            ("connections".to_owned(), json!(it.connections)),
            ("peak_first_octets".to_owned(), json!(it.first)),
            ("peak_octets".to_owned(), json!(it.last)),
            ("took_s".to_owned(), json!(it.took_s)),
        ],
    ));
}

fn verdict(name: &str, means: &str, ours: String, goal: String, holds: Option<bool>) -> Verdict {
    Verdict { name: name.to_owned(), means: means.to_owned(), paper: None, ours, goal, holds }
}

fn megabytes(octets: u64) -> String {
    format!("{:.0} MB", as_f64(octets) / 1e6)
}

/// Runs the experiment.
///
/// # Errors
/// Where a file cannot be written, or what was made cannot be read.
pub fn run(options: &Options) -> Result<Report, String> {
    let (file_octets, long_octets) = sizes(options.size);
    let mut report = Report::here("trace-read", options);
    let directory = options.out.join("trace-read");
    std::fs::create_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let [alone, decoded, joined] = rates(&mut report, &directory, file_octets)?;
    let long = stream(LONG, long_octets)?;
    note(&mut report, "long", &long);
    // One segment and one request of each.
    let crowded = stream(CROWDED, u64::from(CROWDED.mobiles) * 1200)?;
    note(&mut report, "crowded", &crowded);
    let mega = |rate: f64| format!("{:.0} MB/s", rate / 1e6);
    report.remarks = vec![
        format!(
            "frames alone {}, all layers {}, all layers joined {}; the long capture {:.1} s, which has the making of its octets in it",
            mega(alone),
            mega(decoded),
            mega(joined),
            long.took_s
        ),
        format!(
            "the crowded capture: {} mobiles, {} connections, {} names beyond the tables",
            CROWDED.mobiles, crowded.connections, crowded.beyond_tables
        ),
    ];
    report.verdicts = judge(decoded, &long, &crowded);
    Ok(report)
}

fn judge(decoded: f64, long: &Streamed, crowded: &Streamed) -> Vec<Verdict> {
    let growth = long.last.saturating_sub(long.first);
    vec![
        verdict(
            "decoding of all layers",
            "Octets of frames a second on one thread, from the page cache, where nothing is joined.",
            format!("{:.0} MB/s", decoded / 1e6),
            format!("at least {:.0} MB/s", LEAST_PER_S / 1e6),
            at_least(decoded, LEAST_PER_S),
        ),
        verdict(
            "a long capture: memory",
            "The highest that reading it took beyond what the process had before.",
            format!("{} for {}", megabytes(long.last), megabytes(long.octets)),
            format!("at most {}", megabytes(ORDINARY_MAX)),
            at_most(as_f64(long.last), as_f64(ORDINARY_MAX)),
        ),
        verdict(
            "a long capture: growth",
            "What the last three quarters of it added to that.",
            megabytes(growth),
            format!("at most {}", megabytes(GROWTH_MAX)),
            at_most(as_f64(growth), as_f64(GROWTH_MAX)),
        ),
        verdict(
            "a long capture: nothing lost",
            "LL-PDUs, N-PDUs and records that were lost or out of order; each N-PDU of Gb and Um has its segment of TCP, as on Gn.",
            format!("{} lost, {} N-PDUs, {} segments", long.lost, long.n_pdus, long.segments),
            "0 lost".to_owned(),
            Some(long.lost == 0 && long.beyond_tables == 0 && long.n_pdus > 0 && long.segments > long.n_pdus),
        ),
        verdict(
            "more mobiles than are told apart: memory",
            "The same for a capture with a million mobiles and more, each with names, a tunnel, an address and a connection.",
            megabytes(crowded.last),
            format!("at most {}", megabytes(CROWDED_MAX)),
            at_most(as_f64(crowded.last), as_f64(CROWDED_MAX)),
        ),
        verdict(
            "more mobiles than are told apart: said",
            "Names that were not learnt are counted.",
            format!("{} names", crowded.beyond_tables),
            "more than 0".to_owned(),
            Some(crowded.beyond_tables > 0),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory is the process's, in which other tests run: what is read is looked at here alone.
    #[test]
    fn what_is_made_is_read_to_the_last_segment() {
        let mut made = Made::new(Crowd { mobiles: 20, on_radio: 2, in_core: true }, 300_000);
        let mut octets = Vec::new();
        made.read_to_end(&mut octets).unwrap();
        let crowd = Crowd { mobiles: 20, on_radio: 2, in_core: true };
        let it = stream(crowd, 300_000).unwrap();
        assert_eq!((it.octets, it.frames), (octets.len() as u64, made.records));
        assert_eq!((it.lost, it.beyond_tables, it.connections), (0, 0, 20));
        // 28 rounds of 20 mobiles would be 560 segments; of each on Gn and Gb, and of two mobiles on Um.
        let rounds = it.segments as f64 / (20.0 * 2.0 + 2.0);
        assert!(it.n_pdus < it.segments && rounds > 5.0, "{it:?}");
    }

    #[test]
    fn verdicts_fail_where_they_should() {
        let good = || Streamed {
            octets: 10_000_000_000,
            frames: 1,
            segments: 3,
            n_pdus: 2,
            lost: 0,
            beyond_tables: 0,
            connections: 1,
            first: 50 << 20,
            last: 60 << 20,
            took_s: 1.0,
        };
        let crowded = || Streamed { beyond_tables: 9, last: 600 << 20, ..good() };
        let holds = |all: Vec<Verdict>| all.iter().map(|one| one.holds == Some(true)).collect::<Vec<_>>();
        assert_eq!(holds(judge(400e6, &good(), &crowded())), [true; 6]);
        assert!(!holds(judge(200e6, &good(), &crowded()))[0]);
        let large = Streamed { first: 300 << 20, last: 310 << 20, ..good() };
        assert_eq!(holds(judge(400e6, &large, &crowded()))[1..3], [false, true]);
        let growing = Streamed { first: 10 << 20, ..good() };
        assert_eq!(holds(judge(400e6, &growing, &crowded()))[1..3], [true, false]);
        let lossy = Streamed { lost: 1, ..good() };
        assert!(!holds(judge(400e6, &lossy, &crowded()))[3]);
        let silent = Streamed { beyond_tables: 0, last: 2 << 30, ..good() };
        assert_eq!(holds(judge(400e6, &good(), &silent))[4..], [false, false]);
    }
}
