//! `compare`: two builds of the program in the same place, in turns.
//!
//! Three SGSNs run: the other build twice, and this one. Each round searches the saturation of each of them and offers all
//! the same load, 90 % of the first one's first saturation. A round's ratios are those of its own three results, so that a
//! machine that becomes slower does not decide.

use crate::measure::bench::{Axis, Bench, Runner};
use crate::measure::loads::KBPS;
use crate::measure::saturation::{FINE, Found, cap};
use crate::measure::stats::Samples;
use crate::measure::{Candidate, Setup};
use serde_json::json;

/// Rounds; a quick run has as many.
const ROUNDS: u32 = 15;
/// Where the first search begins, in packets/s.
const GUESS_PPS: f64 = 350_000.0;
/// Of saturation, at what load delay and cost are measured.
const LOAD: f64 = 0.9;
/// By what part this build may be worse, beyond what the other differs from itself.
const WORSE_MAX: f64 = 0.05;
/// The SGSNs, in the order of [`runners`].
const NAMES: [&str; 3] = ["other build", "other build again", "this build"];

/// Quantities that are compared.
const QUANTITIES: [(&str, &str, bool); 4] = [
    ("saturation", "The highest load that is delivered whole.", true),
    (
        "packets for each CPU-second",
        "N-PDUs that the SGSN's loop serves in a second in which it is busy.",
        true,
    ),
    ("mean delay", "From Gn to Gb, at 90 % of the other build's saturation.", false),
    ("99 % delay", "From Gn to Gb, at 90 % of the other build's saturation.", false),
];

/// One SGSN's results, a sample for each round.
type Results = [Samples; QUANTITIES.len()];

/// Measures.
///
/// # Errors
/// A sentence for the person; without another build to compare with.
pub fn experiment(bench: &mut Bench<'_>) -> Result<(), String> {
    let other = bench.against.clone().ok_or("another build is needed: --against PROGRAM")?;
    bench.sizes.repetitions = bench.sizes.repetitions.max(ROUNDS);
    let setup = bench.setup(KBPS);
    let drop_pps = bench.drop_rate(&setup)?.median();
    let mut runners = runners(bench, &setup, &other)?;
    let mut found = vec![Found::default(); runners.len()];
    let mut results: Vec<Results> = vec![Results::default(); runners.len()];
    let mut load = None;
    for round in 0..bench.sizes.repetitions {
        for turn in 0..runners.len() {
            // Nobody is always the first.
            let n = (turn + round as usize) % runners.len();
            let (Some(runner), Some(found), Some(results)) =
                (runners.get_mut(n), found.get_mut(n), results.get_mut(n))
            else {
                continue;
            };
            let bracket = found.bracket(GUESS_PPS, FINE, cap(drop_pps, 0.0));
            bench.search(runner, (&setup, 0.0, round), bracket, found)?;
            let saturation = found.pps.last();
            let load = *load.get_or_insert(LOAD * saturation);
            let [of_saturation, rest @ ..] = results;
            of_saturation.push(saturation);
            at_load(bench, runner, (&setup, load), (n, round), rest)?;
        }
    }
    judge(bench, &results);
    Ok(())
}

/// The other build, the same again, and this one.
fn runners(bench: &mut Bench<'_>, setup: &Setup, other: &std::path::Path) -> Result<Vec<Runner>, String> {
    let mut runners = Vec::new();
    for program in [Some(other.to_owned()), Some(other.to_owned()), None] {
        runners.extend(bench.start(&[Candidate::Xdp], &Setup { program, ..setup.clone() })?);
    }
    if runners.len() < NAMES.len() {
        return Ok(Vec::new());
    }
    Ok(runners)
}

/// One step at the common load: cost of a packet, mean and 99 % of the delay.
fn at_load(
    bench: &mut Bench<'_>,
    runner: &mut Runner,
    (setup, load): (&Setup, f64),
    (n, round): (usize, u32),
    [per_second, mean, p99]: &mut [Samples; 3],
) -> Result<(), String> {
    let axis: Axis = vec![
        ("program", json!(NAMES.get(n))),
        ("what", json!("at the common load")),
        ("repetition", json!(round)),
    ];
    let mut offer = bench.mix(setup, load, 0.0);
    offer.window_s *= 2.0;
    let step = bench.turn(runner, |bench, chain| bench.step(chain, &axis, &offer))?;
    per_second.push(step.busy_ns_per_n_pdu().map_or(f64::NAN, |ns| 1e9 / ns));
    let Some(delay) = step.group("good").map(|group| group.delay).filter(|delay| delay.count > 0) else {
        return Ok(());
    };
    mean.push(delay.mean_us);
    p99.push(delay.p99_us);
    Ok(())
}

/// Each one of these by that of the other of the same round.
fn ratios(these: &Samples, others: &Samples) -> Samples {
    these.each().zip(others.each()).map(|((_, this), (_, other))| this / other).collect()
}

fn judge(bench: &mut Bench<'_>, results: &[Results]) {
    for (n, (name, means, more_is_better)) in QUANTITIES.into_iter().enumerate() {
        let of = |program: usize| results.get(program).and_then(|results| results.get(n));
        let (Some(other), Some(again), Some(this)) = (of(0), of(1), of(2)) else {
            bench.claim(name, means, None, "not measured".to_owned(), goal(0.0), None);
            continue;
        };
        let (this, itself) = (ratios(this, other), ratios(again, other));
        let cells =
            [("this_by_other".to_owned(), this.json()), ("other_by_itself".to_owned(), itself.json())];
        bench.cell(vec![("what", json!(name))], cells.into());
        let differs = (itself.median() - 1.0).abs();
        let worse = if more_is_better { 1.0 - this.median() } else { this.median() - 1.0 };
        let holds = (differs.is_finite() && worse.is_finite()).then_some(worse <= WORSE_MAX + differs);
        let said = |samples: &Samples| {
            format!("{:.3} [{:.3}..{:.3}]", samples.median(), samples.min(), samples.max())
        };
        let ours = format!("{} times; the other by itself {} times", said(&this), said(&itself));
        bench.claim(name, means, None, ours, goal(differs), holds);
    }
}

fn goal(differs: f64) -> String {
    let percent = (WORSE_MAX + if differs.is_finite() { differs } else { 0.0 }) * 100.0;
    format!("not worse by more than {percent:.1} %")
}
