//! What LLC costs an LL-PDU of 400 octets that comes up ciphered with GEA3: FCS, counters and cipher, one frame after the
//! other as against those of many mobiles deciphered in one call.
//!
//! Both ways are alternated in one run, each with frames and mobiles of its own. Each cell is the median of ns per LL-PDU
//! over [`ROUNDS`] and, in brackets, the least and the most. `docs/lab/ciphering.md` has a run's table.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, reason = "a benchmark")]

use gannet_machine::frame::Frame;
use gannet_machine::trace::Quiet;
use gannet_machine::{Batch, Surroundings};
use gannet_proto::llc::{Algorithm, Ciphering, Deferred, LlcContext, LlcOutput, LlcRole};
use gannet_wire::id::{Sapi, Tlli};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

const OCTETS: usize = 400;
const SIZES: [usize; 7] = [1, 2, 4, 8, 16, 24, 32];
const ROUNDS: usize = 31;
/// Batches of one round.
const BATCHES: u32 = 40;

#[derive(Clone, Copy)]
enum Way {
    Alone,
    Together,
}

/// So many mobiles, each with a frame in a batch.
struct Cell {
    way: Way,
    around: Surroundings<Quiet>,
    /// The mobile's LLC and the SGSN's.
    links: Vec<(LlcContext, LlcContext)>,
    measured: Vec<u128>,
}

impl Cell {
    fn new(way: Way, size: usize) -> Self {
        let link = |n: usize| {
            let number = u32::try_from(n).unwrap();
            let kc = u64::from(number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
            let ciphering = Ciphering::with_kc(Algorithm::Gea3, kc).unwrap();
            let end = |role| {
                let mut llc = LlcContext::new(role);
                llc.assign(Some(Tlli(0xc000_0000 | number)), None, ciphering);
                llc
            };
            (end(LlcRole::Ms), end(LlcRole::Sgsn))
        };
        let around = Surroundings::new(1, 2 * size, Quiet::default());
        Self { way, around, links: (0..size).map(link).collect(), measured: Vec::new() }
    }

    fn batch(&mut self) -> Duration {
        let Self { way, around, links, .. } = self;
        let mut frames: Vec<(Frame, Option<Deferred>)> = Vec::with_capacity(links.len());
        for (ms, _) in links.iter_mut() {
            let mut frame = around.frames.copy_of(&[7; OCTETS]).unwrap();
            ms.unitdata_request(Sapi::DATA3, true, true, &mut frame).unwrap();
            frames.push((frame, None));
        }
        let mut out: Batch<LlcOutput> = Batch::with_capacity(frames.len());
        let begin = Instant::now();
        if matches!(way, Way::Together) {
            for ((frame, done), (_, sgsn)) in frames.iter_mut().zip(links.iter()) {
                *done = sgsn.deciphering_of(frame);
            }
            let jobs = frames.iter_mut().filter_map(|(frame, done)| Some(done.as_ref()?.job(frame)));
            gannet_rt::gea::best().apply(&mut jobs.collect::<Vec<_>>());
        }
        for ((frame, done), (_, sgsn)) in frames.into_iter().zip(links) {
            assert!(sgsn.receive_deciphered(&mut around.context(), None, frame, done.as_ref(), &mut out));
        }
        let elapsed = begin.elapsed();
        assert_eq!(out.len(), self.links.len());
        elapsed
    }

    fn measure(&mut self) {
        let total: Duration = (0..BATCHES).map(|_| self.batch()).sum();
        self.measured.push(total.as_nanos() / (u128::from(BATCHES) * self.links.len() as u128));
    }

    fn text(&mut self) -> String {
        self.measured.sort_unstable();
        let at = |n: usize| self.measured.get(n).copied().unwrap_or(0);
        format!("{} [{}..{}]", at(ROUNDS / 2), at(0), at(ROUNDS - 1))
    }
}

fn main() {
    let row = |way| SIZES.map(|size| Cell::new(way, size));
    let mut rows = [("one by one", row(Way::Alone)), ("side by side", row(Way::Together))];
    for _ in 0..ROUNDS {
        rows.iter_mut().flat_map(|(_, cells)| cells).for_each(Cell::measure);
    }
    let sizes = SIZES.map(|size| size.to_string()).join(" | ");
    println!(
        "| ns per LL-PDU of {OCTETS} octets, {}, mobiles at once: | {sizes} |",
        gannet_rt::gea::best().name()
    );
    println!("|---|{}", "---|".repeat(SIZES.len()));
    for (name, cells) in &mut rows {
        let mut text = String::new();
        cells.iter_mut().for_each(|cell| write!(text, " {} |", cell.text()).unwrap());
        println!("| {name} |{text}");
    }
}
