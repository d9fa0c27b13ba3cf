//! What the runs in real time bear out.

use super::super::judge::{FORWARD, FORWARD_AGAIN_PERCENT, RECOVERY_S, TWO_BLOCKS_S};
use super::super::measured::Measured;
use super::super::place::{Buffer, Policy};
use super::measured::{More, Series};
use super::plan::Tcp;
use crate::radio::{as_f64, conserved, verdict};
use crate::report::{REPORTED, Verdict, at_least, at_most, greatest, least};

/// Lateness that 99 % of all events and N-PDUs may have.
const LATE_S: f64 = 0.005;

/// All claims.
#[must_use]
pub fn verdicts(all: &[Series]) -> Vec<Verdict> {
    let mut rows = vec![lateness(all)];
    rows.extend(all.iter().map(throughput));
    rows.extend(all.iter().map(again_short));
    rows.extend(all.iter().map(again_long));
    rows.push(first_block(all));
    rows.extend(all.iter().map(recovery));
    let faults = all.iter().flat_map(|series| &series.all).flat_map(|of| of.faults.iter().cloned());
    rows.push(conserved(&faults.collect::<Vec<_>>()));
    rows
}

/// The runs with `forward` of which something is so.
fn forward(series: &Series, is: impl Fn(&Measured) -> bool) -> impl Iterator<Item = (&Measured, &More)> {
    let is_forward = |of: &Measured| of.place.preemption.is_some_and(|(policy, _)| policy == Policy::Forward);
    series.each().filter(move |(of, _)| is_forward(of) && is(of))
}

fn lateness(all: &[Series]) -> Verdict {
    let late = greatest(all.iter().flat_map(|series| series.more.iter().map(|more| more.late_s[0])));
    let latest = greatest(all.iter().flat_map(|series| series.more.iter().map(|more| more.late_s[1])));
    let preempting = all.iter().flat_map(|series| &series.more).all(|more| more.preempting);
    let how = if preempting { "" } else { "; without the right to preempt other threads" };
    verdict(
        "lateness at 99 %, ms",
        "By how much the clock had passed the time of an event, or of an N-PDU that left, when it happened: in the world where that is most.",
        format!("{:.2}, at most {:.1}{how}", late * 1000.0, latest * 1000.0),
        format!("< {:.0}", LATE_S * 1000.0),
        at_most(late, LATE_S),
    )
}

fn throughput(series: &Series) -> Verdict {
    let runs = forward(series, |of| of.place.buffer == Buffer::Window);
    let part = least(runs.map(|(of, _)| series.runs().of_time_left(of)));
    let is_reported = series.tcp == Tcp::Bbr;
    verdict(
        &format!("forward: throughput by the time that calls leave, the kernel's {}", series.tcp.name()),
        "By this run's own rate and 60/(60 + P), at the period at which it is lowest. The SGSN holds more than the window.",
        format!("{part:.3}"),
        if is_reported { REPORTED.to_owned() } else { format!(">= {FORWARD}") },
        if is_reported { at_least(part, 0.0) } else { at_least(part, FORWARD) },
    )
}

fn again_short(series: &Series) -> Verdict {
    let runs = forward(series, |of| of.place.buffer == Buffer::Window && of.place.period_s() < 15);
    let beyond = |of: &Measured| series.runs().again_beyond(of) * 100.0 / as_f64(of.segments);
    let percent = greatest(runs.map(|(of, _)| beyond(of)));
    verdict(
        &format!(
            "forward, 3 and 6 s, the kernel's {}: segments sent again beyond the run without preemption, %",
            series.tcp.name()
        ),
        "At the period where there are most. The SGSN holds more than the window.",
        format!("{percent:.2}"),
        format!("<= {FORWARD_AGAIN_PERCENT}"),
        at_most(percent, FORWARD_AGAIN_PERCENT),
    )
}

fn again_long(series: &Series) -> Verdict {
    let runs = forward(series, |of| of.place.buffer == Buffer::Small || of.place.period_s() >= 15);
    // What is beyond one segment for each expiry.
    let excess = |of: &Measured, more: &More| {
        series.runs().again_beyond(of) - as_f64(of.timeouts) - as_f64(more.probes)
    };
    let worst = runs.map(|(of, more)| (excess(of, more), of, more)).max_by(|a, b| a.0.total_cmp(&b.0));
    let ours = worst.map_or_else(
        || "NaN".to_owned(),
        |(_, of, more)| {
            format!(
                "{:.1} segments for {} timeouts and {} probes ({} s, {})",
                series.runs().again_beyond(of),
                of.timeouts,
                more.probes,
                of.place.period_s(),
                of.place.buffer.name()
            )
        },
    );
    verdict(
        &format!(
            "forward, 15 s or 16 KB in all, the kernel's {}: segments sent again beyond the run without preemption",
            series.tcp.name()
        ),
        "Of the run where there are most beyond one for each expiry of the sender's timer or tail loss probe.",
        ours,
        "<= expiries".to_owned(),
        at_most(worst.map_or(f64::NAN, |(excess, ..)| excess), 0.0),
    )
}

fn first_block(all: &[Series]) -> Verdict {
    let runs = all.iter().flat_map(|series| forward(series, |_| true));
    let late = |(of, _): (&Measured, &More)| {
        let longest = of.events.iter().map(|event| event.first_block_s.unwrap_or(f64::INFINITY));
        (greatest(longest), of.setups_s.median())
    };
    let worst = runs.map(late).max_by(|a, b| (a.0 - a.1).total_cmp(&(b.0 - b.1)));
    let (longest, setup) = worst.unwrap_or((f64::NAN, f64::NAN));
    verdict(
        "forward: from the return to the first RLC block, ms",
        "The longest of all preemptions, by the run's median set-up of a TBF for a mobile in packet idle mode.",
        format!("{:.0}, set-up {:.0}", longest * 1000.0, setup * 1000.0),
        "<= set-up + 40".to_owned(),
        at_most(longest - setup, TWO_BLOCKS_S),
    )
}

fn recovery(series: &Series) -> Verdict {
    let longest =
        greatest(forward(series, |_| true).map(|(of, _)| {
            greatest(of.events.iter().map(|event| event.recovery_s.unwrap_or(f64::INFINITY)))
        }));
    verdict(
        &format!("forward: recovery, the kernel's {}, s", series.tcp.name()),
        "From the return to the start of the first sliding second in which RLC brings 95 % of the undisturbed rate: the longest of all.",
        format!("{longest:.2}"),
        format!("< {RECOVERY_S}"),
        at_most(longest, RECOVERY_S),
    )
}
