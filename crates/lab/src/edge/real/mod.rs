//! Experiment `edge-real`: the streams of figure 6 as UDP in real time, over one emulated line of 2 Mbit/s, behind `gannet edge`,
//! behind the kernel with HTB, and through `gannet ggsn`, in turns.
//!
//! | file | what |
//! |---|---|
//! | `arms` | which forwarders are measured, and how each is set up |
//! | `bed` | hosts, forwarder and line |
//! | `flows` | sender and far end |
//! | `judge` | what it comes to |

mod arms;
mod bed;
mod flows;
mod judge;

use super::link::Plan;
use super::scenario::EXCESS_KBPS;
use crate::report::{Options, Report, Size};
use crate::testbed;
use arms::{ALL, Arm, EACH, Forwards};
use bed::Bed;
use core::sync::atomic::AtomicBool;
use gannet_machine::time::Duration;
use judge::All;

/// Rounds, and what a run of an arm is.
const fn sizes(size: Size) -> (u32, (Plan, u32)) {
    let (rounds, sets, span_ms) = match size {
        Size::Quick => (1, 3, 1200),
        Size::Normal => (3, 7, 1000),
        Size::Full => (10, 10, 2000),
    };
    (rounds, (Plan { warm_up: Duration::from_secs(1), span: Duration::from_millis(span_ms) }, sets))
}

/// Runs it.
///
/// # Errors
/// A sentence for the person: this machine cannot do it, or something has ended.
pub fn run(options: &Options) -> Result<Report, String> {
    let stop = testbed::begin("edge-real", &["ip", "taskset"])?;
    let bed = Bed::new(&options.out)?;
    let mut report = Report::here("edge-real", options);
    let has_htb =
        if testbed::is_installed("tc") { bed.has_htb(&EACH) } else { Err("tc is not installed".to_owned()) };
    if let Err(why) = &has_htb {
        report.remarks.push(format!("HTB was not measured: {why}"));
    }
    let (rounds, plan) = sizes(options.size);
    let arms: Vec<Arm> =
        ALL.into_iter().filter(|arm| has_htb.is_ok() || !matches!(arm.forwards, Forwards::Htb(_))).collect();
    let mut all = All::new();
    for round in 0..rounds {
        for turn in 0..arms.len() {
            // Who is first changes from round to round.
            let Some(arm) = arms.get((turn + round as usize) % arms.len()) else { continue };
            if options.progress {
                eprintln!("edge-real: round {} of {rounds}, {}", round + 1, arm.name);
            }
            measure(&bed, arm, (plan, options.seed + u64::from(round)), &mut all, &stop)
                .map_err(|why| format!("{}: {why}", arm.name))?;
        }
    }
    report.parameter("streams", "figure 6, as UDP; A2 and A5 use the EF queue where it is said");
    report.parameter("assumed", format!("streams in excess send {EXCESS_KBPS} kbit/s each"));
    for (name, value) in bed::set_up(plan, rounds) {
        report.parameter(name, value);
    }
    report.cells = all.cells();
    report.verdicts = all.verdicts();
    report.remarks.extend(all.tables());
    if !all.preempting() {
        report.remarks.push(
            "The emulated line could not go before other threads (SCHED_FIFO): it was as late as they let it be.".to_owned(),
        );
    }
    Ok(report)
}

/// One run of an arm: the same seed is the same packets for every arm with such arrivals.
fn measure(
    bed: &Bed,
    arm: &Arm,
    (plan, seed): ((Plan, u32), u64),
    all: &mut All,
    stop: &AtomicBool,
) -> Result<(), String> {
    let sendings = flows::schedule(&arm.offered_kbps(), arm.arrivals, plan, seed);
    let passed = bed.pass(arm, &sendings, stop)?;
    let measured = flows::account(&sendings, &passed.arrivals, plan)?;
    let Some(of) = all.of(arm) else { return Ok(()) };
    of.measured.push(measured);
    of.lines.push(passed.line);
    of.sent_late_us.push(passed.sent_late_us);
    Ok(())
}
