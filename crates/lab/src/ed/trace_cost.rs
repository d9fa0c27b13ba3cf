//! `trace-cost`: what a capture costs the SGSN beside which it runs.
//!
//! One SGSN is begun and ended a capture at, by words of its configuration, from step to step: with and without it are the same process,
//! the same mobiles and the same memory. Steps come in pairs at one load, now the one first and now the other; a pair's ratio is of
//! its own two steps.
//!
//! At half of saturation the headers of everything are recorded. What an N-PDU costs is the time in which the loop had something to
//! do, with the time of all other threads, the capture's writer among them, by the N-PDUs delivered. Above saturation one subscriber of
//! nine is recorded whole, and what counts is how many N-PDUs are delivered.
//!
//! The loop never sleeps and goes before everything on its core, and so does the generator on the other. The writer stands on the
//! loop's core and goes before both, so that all that a capture costs comes out of the one core.

use crate::measure::bench::{Axis, Bench, Runner};
use crate::measure::loads::KBPS;
use crate::measure::saturation::{FINE, Found};
use crate::measure::stats::Samples;
use crate::measure::{Candidate, Offer, Setup, Tracing};
use crate::report::{at_least, at_most};
use serde_json::json;

/// Pairs of steps, of a normal run and of a quick one.
const PAIRS: u32 = 7;
const PAIRS_QUICK: u32 = 3;
/// Where the search for saturation begins, and the most that is looked for, in packets/s.
const GUESS_PPS: f64 = 350_000.0;
const CAP_PPS: f64 = 1_200_000.0;
/// Loads by saturation.
const HALF: f64 = 0.5;
const ABOVE: f64 = 1.25;
/// The part of what was offered that is delivered at most where it is more than anybody serves.
const SERVED_MAX: f64 = 0.97;
/// Of so many subscribers one is recorded whole: at least a tenth of them, whatever the hash does.
const ONE_IN: u32 = 9;
const LEAST_SHARE: f64 = 0.1;
/// What a capture may cost of CPU time, and of throughput.
const COST_MAX: f64 = 1.15;
const THROUGHPUT_MIN: f64 = 0.95;
/// By what a loop may differ whose capture has ended from one that never had any, unless the steps themselves differ by more.
const OFF_MAX: f64 = 0.05;

/// What was found with a capture of one kind, and without one at the same load.
#[derive(Debug, Clone, Default)]
struct Pairs {
    /// CPU time of an N-PDU in ns.
    on_ns: Samples,
    off_ns: Samples,
    /// N-PDUs delivered, in packets/s.
    on_pps: Samples,
    off_pps: Samples,
    /// Of what was offered without a capture, the part that was delivered.
    off_served: Samples,
    /// Records by N-PDU delivered on Gn and on Gb.
    share: Samples,
    /// Of all steps with a capture: records missing, N-PDUs dropped under a name, and lost in rings while nobody had taken the core.
    missing: u64,
    dropped: u64,
    in_rings: u64,
    /// Steps with a capture, and records of those without.
    steps: u32,
    stray: u64,
}

/// Measures.
///
/// # Errors
/// A sentence for the person.
pub fn experiment(bench: &mut Bench<'_>) -> Result<(), String> {
    let setup = bench.setup(KBPS);
    let (mut half, mut above, mut before) = (Pairs::default(), Pairs::default(), Samples::default());
    let mut runners = bench.start(&[Candidate::Xdp], &setup)?;
    let mut saturation = 0.0;
    if let Some(runner) = runners.first_mut() {
        let mut found = Found::default();
        let bracket = found.bracket(GUESS_PPS, FINE, CAP_PPS);
        bench.search(runner, (&setup, 0.0, 0), bracket, &mut found)?;
        saturation = found.pps.median();
        if saturation > 0.0 {
            let pairs = if bench.sizes.quick { PAIRS_QUICK } else { PAIRS };
            let load = |part| (part, saturation * part);
            for _ in 0..pairs {
                let step = one(bench, runner, (&setup, load(HALF), "never"), None)?;
                before.push(step.cpu_ns);
            }
            for pair in 0..pairs {
                let headers = Tracing { headers: true, one_in: None };
                both(bench, runner, (&setup, load(HALF), pair), headers, &mut half)?;
                let sample = Tracing { headers: false, one_in: Some(ONE_IN) };
                both(bench, runner, (&setup, load(ABOVE), pair), sample, &mut above)?;
            }
        }
    }
    bench.remarks.push(format!("saturation {:.1} kpps", saturation / 1e3));
    judge(bench, &half, &above, &before);
    show(bench, &half, &above, &before);
    Ok(())
}

/// What one step says.
struct One {
    cpu_ns: f64,
    pps: f64,
    served: f64,
    share: f64,
    records: u64,
    missing: u64,
    dropped: u64,
    in_rings: u64,
}

#[expect(clippy::cast_precision_loss, reason = "counts of a step")]
const fn as_f64(count: u64) -> f64 {
    count as f64
}

/// A pair of steps: the one first, or the other.
fn both(
    bench: &mut Bench<'_>,
    runner: &mut Runner,
    (setup, load, pair): (&Setup, (f64, f64), u32),
    tracing: Tracing,
    pairs: &mut Pairs,
) -> Result<(), String> {
    let mut order = [Some(tracing), None];
    if pair % 2 == 1 {
        order.reverse();
    }
    for tracing in order {
        let what = if tracing.is_some() { "on" } else { "off" };
        let it = one(bench, runner, (setup, load, what), tracing)?;
        if tracing.is_none() {
            pairs.off_ns.push(it.cpu_ns);
            pairs.off_pps.push(it.pps);
            pairs.off_served.push(it.served);
            pairs.stray += it.records;
            continue;
        }
        pairs.on_ns.push(it.cpu_ns);
        pairs.on_pps.push(it.pps);
        pairs.share.push(it.share);
        pairs.missing += it.missing;
        pairs.dropped += it.dropped;
        pairs.in_rings += it.in_rings;
        pairs.steps += 1;
    }
    Ok(())
}

/// One step, with a capture or without.
fn one(
    bench: &mut Bench<'_>,
    runner: &mut Runner,
    (setup, (part, pps), what): (&Setup, (f64, f64), &str),
    tracing: Option<Tracing>,
) -> Result<One, String> {
    let axis: Axis = vec![("capture", json!(what)), ("load", json!(part)), ("octets", json!(setup.octets))];
    let offer = Offer { is_probe: part > 1.0, ..bench.mix(setup, pps, 0.0) };
    let step = bench.turn(runner, |bench, chain| {
        chain.trace(tracing)?;
        let step = bench.step(chain, &axis, &offer);
        // Also where the step has failed.
        let ended = chain.trace(None);
        step.and_then(|step| ended.map(|()| step))
    })?;
    let raw = |name: &str| step.raw.get(name).copied().unwrap_or(0);
    let delivered = as_f64(step.delivered_all());
    let (busy_us, others_us) = (raw("loop_busy_us"), raw("other_threads_us"));
    let is_measured = busy_us > 0 && delivered > 0.0;
    Ok(One {
        cpu_ns: if is_measured { as_f64(busy_us + others_us) * 1e3 / delivered } else { f64::NAN },
        pps: if delivered > 0.0 { step.delivered_pps() } else { f64::NAN },
        served: step.delivered_pps() / step.offered_pps(),
        share: as_f64(raw("capture_datagrams")) / (2.0 * delivered),
        records: raw("capture_datagrams"),
        missing: raw("capture_lost"),
        dropped: step.drops.values().sum(),
        in_rings: step.ring_losses - step.excused_losses(),
    })
}

/// Each by the one of the same pair.
fn ratios(these: &Samples, others: &Samples) -> Samples {
    these.each().zip(others.each()).map(|((_, this), (_, other))| this / other).collect()
}

fn spread(samples: &Samples, digits: usize) -> String {
    format!("{:.digits$} [{:.digits$}..{:.digits$}]", samples.median(), samples.min(), samples.max())
}

fn judge(bench: &mut Bench<'_>, half: &Pairs, above: &Pairs, before: &Samples) {
    let cost = ratios(&half.on_ns, &half.off_ns);
    bench.claim(
        "headers of everything at half of saturation: CPU time of an N-PDU",
        "The loop's busy time and that of the capture's writer, by N-PDUs delivered, beside the same without a capture.",
        None,
        format!("{} times ({} ns against {} ns)", spread(&cost, 3), spread(&half.on_ns, 0), spread(&half.off_ns, 0)),
        format!("at most {COST_MAX} times"),
        at_most(cost.median(), COST_MAX),
    );
    let was_measured = half.steps > 0 && half.on_pps.median().is_finite();
    bench.claim(
        "headers of everything at half of saturation: records",
        "Each N-PDU is recorded on Gn and on Gb, and no record is missing.",
        None,
        format!("{} missing, {:.3} of what passed", half.missing, half.share.min()),
        "0 missing, all of it".to_owned(),
        was_measured.then_some(half.missing == 0 && half.share.min() >= 1.0),
    );
    bench.claim(
        "headers of everything at half of saturation: N-PDUs",
        "Nothing is dropped, and rings lose no more than without a capture may be lost, which every step is held to.",
        None,
        format!("{} dropped, {} in rings", half.dropped, half.in_rings),
        "0 dropped".to_owned(),
        was_measured.then_some(half.dropped == 0),
    );
    let throughput = ratios(&above.on_pps, &above.off_pps);
    bench.claim(
        "a ninth of the subscribers above saturation: throughput",
        "N-PDUs delivered where a quarter more than saturation is offered, with one subscriber of nine recorded whole, beside the same without a capture.",
        None,
        format!(
            "{} times; without a capture {:.3} of what was offered",
            spread(&throughput, 3),
            above.off_served.median()
        ),
        format!("at least {THROUGHPUT_MIN} times, and more offered than is served"),
        // What is served whole says nothing of saturation.
        at_least(throughput.median(), THROUGHPUT_MIN).filter(|_| above.off_served.median() <= SERVED_MAX),
    );
    bench.claim(
        "a ninth of the subscribers above saturation: records",
        "The part of what passed that was recorded, by subscribers, and records that are missing of theirs.",
        None,
        format!("{:.3}, {} missing", above.share.min(), above.missing),
        format!("at least {LEAST_SHARE}, 0 missing"),
        at_least(above.share.min(), LEAST_SHARE).map(|holds| holds && above.missing == 0),
    );
    let off = half.off_ns.median() / before.median();
    let allowed = OFF_MAX.max(half.off_ns.half_spread() / before.median());
    let allowed = allowed.max(before.half_spread() / before.median());
    bench.claim(
        "off: CPU time of an N-PDU after captures, by that before the first",
        "A capture that has ended leaves nothing behind in the loop; nothing is recorded without one.",
        None,
        format!("{off:.3} times, {} records", half.stray + above.stray),
        format!("at most {:.3} times, 0 records: 5 % or the spread", 1.0 + allowed),
        at_most(off, 1.0 + allowed).map(|holds| holds && half.stray + above.stray == 0),
    );
}

fn show(bench: &mut Bench<'_>, half: &Pairs, above: &Pairs, before: &Samples) {
    let named = [("headers at half of saturation", half), ("a ninth above saturation", above)];
    for (what, pairs) in named {
        let metrics = [
            ("on_cpu_ns", &pairs.on_ns),
            ("off_cpu_ns", &pairs.off_ns),
            ("on_pps", &pairs.on_pps),
            ("off_pps", &pairs.off_pps),
            ("recorded_share", &pairs.share),
        ];
        let metrics = metrics.map(|(name, samples)| (name.to_owned(), samples.json()));
        bench.cell(vec![("what", json!(what))], metrics.into());
    }
    bench.cell(
        vec![("what", json!("before the first capture"))],
        vec![("off_cpu_ns".to_owned(), before.json())],
    );
}
