//! The whole chain at a tiny size: nothing is judged by its speed, but every packet has to be accounted for.

use super::account::Step;
use super::bench::{Bench, Sizes};
use super::real::RealLab;
use super::{Candidate, Chain, Lab, Lower, Members};
use crate::report::Size;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Good packets/s.
const PPS: f64 = 2_000.0;
/// Packets/s for nobody.
const STRANGE_PPS: f64 = 500.0;

/// Starts a candidate, attaches a few mobiles, offers good and exceeding traffic and some for nobody, lowers a leak rate,
/// pauses and resumes; gives a line for each step.
///
/// # Errors
/// What did not work, or what is not accounted for.
pub fn run(gannet: PathBuf, candidate: Candidate, out: &Path) -> Result<String, String> {
    let mut lab = RealLab::new(gannet, out)?;
    if let Some(why) = lab.missing(candidate) {
        return Err(why);
    }
    let sizes = Sizes {
        users: 60,
        cells: 4,
        repetitions: 1,
        window_s: 0.3,
        warm_up_s: 0.1,
        buffer_ms: 200,
        ..Sizes::of(Size::Quick)
    };
    let bench = Bench::new(&mut lab, sizes, 1);
    let setup = bench.setup(448);
    let mut offer = bench.mix(&setup, PPS, 0.5);
    offer.unknown_pps = STRANGE_PPS;
    let mut chain = lab.start(candidate, &setup)?;
    let mut said = String::new();
    let mut step = |chain: &mut dyn Chain, what: &str| {
        let step = chain.step(&offer)?;
        note(&mut said, what, &step);
        let nothing = step.delivered_all() == 0;
        match step.fault().or_else(|| nothing.then(|| "nothing was delivered".to_owned())) {
            Some(why) => Err(format!("{what}: {why}\n{said}\n{:?}", step.raw)),
            None => Ok(()),
        }
    };
    step(chain.as_mut(), "good, bad and strange")?;
    chain.lower(&Lower::Mobiles(Members { first: 1, stride: 2, count: setup.users / 2 }, 20.0))?;
    step(chain.as_mut(), "with leak rates lowered")?;
    chain.raise()?;
    chain.pause()?;
    chain.resume()?;
    step(chain.as_mut(), "after a pause")?;
    Ok(said)
}

fn note(said: &mut String, what: &str, step: &Step) {
    let _ = writeln!(
        said,
        "{what}: offered {}, delivered {}, drops {:?}, ring {}, waiting {}",
        step.offered_all(),
        step.delivered_all(),
        step.drops,
        step.ring_losses,
        step.queued
    );
}
