//! Experiment `preempt`: a download over GPRS while calls take all PDCHs of the cell now and then, as in the preemption study
//! ([`paper`]), with what that study's network did to its queue and with what another could do.
//!
//! | module | what |
//! |---|---|
//! | [`place`] | axes, and the world of a run |
//! | [`run`] | a run, and its raw record |
//! | [`trace`] | what is read from the record |
//! | [`measured`] | all numbers of a run |
//! | [`judge`] | claims |
//! | [`others`] | what is no download |
//! | [`ends`] | `flush` with other terminals and clients |
//! | [`real`] | experiment `preempt-kernel`: the kernel's TCP in real time |
//! | [`erlang`] | experiment `preempt-erlang`: calls that take PDCHs one by one |
//! | [`table`], [`figures`] | tables and figures |

pub mod ends;
pub mod erlang;
pub mod figures;
pub mod judge;
pub mod measured;
#[cfg(test)]
mod n_pdus;
pub mod others;
pub mod paper;
pub mod place;
pub mod real;
pub mod run;
pub mod table;
#[cfg(test)]
mod tests;
pub mod trace;

use crate::parallel;
use crate::report::{Options, Report, Size};
use gannet_machine::time::Duration;
use judge::Runs;
use measured::Measured;
use others::{Case, Got, Workload};
use place::{Buffer, Place, Policy, periods, span};
use run::Raw;

/// Runs the experiment.
///
/// # Errors
/// Where a world cannot be set up.
pub fn run(options: &Options) -> Result<Report, String> {
    let periods = periods(options.size);
    let cases = Case::all(&periods);
    report_of(&Place::all(options.size), (&cases, &periods), (span(options.size), &periods), options)
}

/// The same of some runs of 200 s, for a test that compares their points: every policy at the larger buffer, and `forward` at the smaller.
///
/// # Errors
/// Where a world cannot be set up.
pub fn sample(options: &Options) -> Result<Report, String> {
    let is_in = |place: &Place| {
        let policy = place.preemption.map(|(policy, _)| policy);
        place.buffer == Buffer::Window || matches!(policy, None | Some(Policy::Forward))
    };
    let places: Vec<Place> = Place::all(Size::Quick).into_iter().filter(is_in).collect();
    let is_beside = |case: &Case| (case.workload, case.policy) == (Workload::Interactive, Policy::Forward);
    let cases: Vec<Case> = Case::all(&[3]).into_iter().filter(is_beside).collect();
    report_of(&places, (&cases, &[]), (Duration::from_secs(200), &[3, 15]), options)
}

fn report_of(
    places: &[Place],
    (cases, ends): (&[Case], &[u64]),
    (span, periods): (Duration, &[u64]),
    options: &Options,
) -> Result<Report, String> {
    let (raws, all) = measure(places, span, options)?;
    let mut report = Report::simulated("preempt", options);
    report.parameter("seconds of a run", span.as_secs_f64());
    report.parameter("cell", "CS-2, 3 PDCHs, 3 + 1 timeslots of one mobile, C/I 20 dB");
    report.parameter("LLC, RLC", "unacknowledged, N201-U 500; acknowledged");
    report.parameter("PDU lifetime", "63 s");
    let others = parallel::each(cases, |case| others::run(*case, span, options.seed));
    let others = others.into_iter().collect::<Result<Vec<Got>, String>>()?;
    let ends = ends::run(ends, span, options)?;
    let faults = all.iter().map(|of| &of.faults).chain(others.iter().map(|got| &got.faults));
    let faults = faults.chain(ends.iter().map(|got| &got.with.faults));
    let faults: Vec<String> = faults.flatten().cloned().collect();
    report.cells = all.iter().map(Measured::cell).chain(others.iter().map(Got::cell)).collect();
    report.cells.extend(ends.iter().map(ends::Got::cell));
    report.verdicts = others::verdicts(&others);
    report.verdicts.extend(judge::verdicts(Runs(&all), periods, &faults));
    report.figures = figures::figures(&raws, &all);
    report.remarks = vec![
        table::runs(&report.cells),
        table::events(&report.cells),
        ends::table(&ends),
        table::others(&report.cells),
    ];
    Ok(report)
}

/// The numbers of all runs, those without preemption first, and the records that figures need.
fn measure(places: &[Place], span: Duration, options: &Options) -> Result<(Vec<Raw>, Vec<Measured>), String> {
    let run = |place: &Place| {
        let raw = run::run(*place, span, options.seed);
        if options.progress {
            eprintln!("preempt: {}", place.name());
        }
        raw
    };
    let (whole, others): (Vec<Place>, Vec<Place>) =
        places.iter().partition(|place| place.preemption.is_none());
    let whole: Vec<Raw> = parallel::each(&whole, run).into_iter().collect::<Result<_, _>>()?;
    let undisturbed_per_s = |place: Place| {
        let of = whole.iter().find(|raw| raw.place == place.undisturbed());
        of.map_or(f64::NAN, |raw| raw.trace.blocks_per_s())
    };
    let mut all: Vec<Measured> =
        whole.iter().map(|raw| Measured::of(raw, raw.trace.blocks_per_s())).collect();
    let measured = parallel::each(&others, |place| {
        let raw = run(place)?;
        let measured = Measured::of(&raw, undisturbed_per_s(*place));
        Ok::<_, String>((measured, figures::needs(*place).then_some(raw)))
    });
    let mut raws = Vec::new();
    for result in measured {
        let (measured, raw) = result?;
        all.push(measured);
        raws.extend(raw);
    }
    Ok((raws, all))
}
