//! What GEA costs a frame of 400 octets and its FCS, by how many frames are ciphered at once.
//!
//! The ways are alternated in one run, so that what the machine does besides hits all of them alike. Each cell is the
//! median of ns per frame over [`ROUNDS`] and, in brackets, the least and the most. `docs/lab/ciphering.md` has a run's table.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, reason = "a benchmark")]

use gannet_proto::llc::cipher::{Algorithm, BatchCipher, Ciphering, Direction, Job};
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Octets of information and FCS.
const OCTETS: usize = 400 + 3;
const SIZES: [usize; 8] = [1, 2, 4, 8, 16, 24, 32, 64];
const ROUNDS: usize = 31;
/// What is timed at once takes at least about this.
const AT_ONCE: Duration = Duration::from_micros(400);

/// One frame after the other, nothing side by side.
#[derive(Debug)]
struct Alone(&'static str);

impl BatchCipher for Alone {
    fn name(&self) -> &'static str {
        self.0
    }

    fn apply(&self, jobs: &mut [Job<'_>]) {
        jobs.iter_mut().for_each(Job::alone);
    }
}

/// A way, an algorithm and a size.
struct Cell {
    cipher: &'static dyn BatchCipher,
    frames: Vec<(Ciphering, Vec<u8>)>,
    iterations: u32,
    /// ns per frame.
    measured: Vec<u64>,
}

impl Cell {
    fn new(cipher: &'static dyn BatchCipher, algorithm: Algorithm, size: usize) -> Self {
        let frame = |n: usize| {
            let kc = u64::try_from(n).unwrap().wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
            (Ciphering::with_kc(algorithm, kc).unwrap(), vec![n.to_le_bytes()[0]; OCTETS])
        };
        let mut cell =
            Self { cipher, frames: (0..size).map(frame).collect(), iterations: 1, measured: Vec::new() };
        let once = cell.time().as_nanos().max(1);
        cell.iterations = u32::try_from(AT_ONCE.as_nanos() / once).unwrap().max(1);
        cell
    }

    fn time(&mut self) -> Duration {
        let begin = Instant::now();
        for input in 0..self.iterations {
            let jobs = self.frames.iter_mut().map(|(ciphering, octets)| Job {
                ciphering,
                input,
                direction: Direction::Downlink,
                octets,
            });
            self.cipher.apply(black_box(&mut jobs.collect::<Vec<_>>()));
        }
        begin.elapsed()
    }

    fn measure(&mut self) {
        let frames = u128::from(self.iterations) * self.frames.len() as u128;
        let ns = self.time().as_nanos() / frames;
        self.measured.push(u64::try_from(ns).unwrap());
    }

    fn text(&mut self) -> String {
        self.measured.sort_unstable();
        let at = |n: usize| self.measured.get(n).copied().unwrap_or(0);
        format!("{} [{}..{}]", at(ROUNDS / 2), at(0), at(ROUNDS - 1))
    }
}

fn table(rows: &mut [(String, Vec<Cell>)]) -> String {
    for _ in 0..ROUNDS {
        rows.iter_mut().flat_map(|(_, cells)| cells).for_each(Cell::measure);
    }
    let mut text = String::new();
    for (name, cells) in rows {
        let cells: Vec<String> = cells.iter_mut().map(Cell::text).collect();
        writeln!(text, "| {name} | {} |", cells.join(" | ")).unwrap();
    }
    text
}

fn main() {
    let sizes = SIZES.map(|size| size.to_string()).join(" | ");
    println!("| ns per frame of {OCTETS} octets, frames at once: | {sizes} |");
    println!("|---|{}", "---|".repeat(SIZES.len()));
    let mut ways: Vec<&'static dyn BatchCipher> = vec![&Alone("scalar")];
    ways.extend(gannet_rt::gea::all());
    let mut rows: Vec<(String, Vec<Cell>)> = ways
        .into_iter()
        .map(|way| {
            let cells = SIZES.iter().map(|size| Cell::new(way, Algorithm::Gea3, *size));
            (format!("GEA3, {}", way.name()), cells.collect())
        })
        .collect();
    print!("{}", table(&mut rows));
    let mut old = [Algorithm::Gea1, Algorithm::Gea2]
        .map(|algorithm| (format!("{algorithm}, scalar"), vec![Cell::new(&Alone("scalar"), algorithm, 1)]));
    print!("{}", table(&mut old));
}
