//! The live table and the summary, for people.

use super::{Report, Second};
use crate::load::traffic::{GroupResult, StepResult};
use core::fmt::Write as _;
use std::time::Duration;

/// The heading of both tables.
const HEADING: &str =
    "group                 offered/s  delivered/s    lost %   corrupt     wrong   p50 µs   p99 µs";

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn per_second(count: u64, span: Duration) -> f64 {
    count as f64 / span.as_secs_f64().max(1e-9)
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn micros(ns: u64) -> f64 {
    ns as f64 / 1e3
}

fn line(out: &mut String, name: &str, span: Duration, now: &GroupResult, before: Option<&GroupResult>) {
    let since = |what: fn(&GroupResult) -> u64| what(now).saturating_sub(before.map_or(0, what));
    let (offered, delivered) = (since(|group| group.offered), since(|group| group.delivered));
    let wrong = since(|group| group.wrong_mobile + group.wrong_cell);
    let lost = percent(offered.saturating_sub(delivered), offered);
    // Writing into a string cannot fail.
    let _ = writeln!(
        out,
        "{name:<20} {:>10.0} {:>12.0} {lost:>9.3} {:>9} {wrong:>9} {:>8.0} {:>8.0}",
        per_second(offered, span),
        per_second(delivered, span),
        since(|group| group.corrupt),
        micros(now.latency.quantile_ns(0.5)),
        micros(now.latency.quantile_ns(0.99)),
    );
}

/// The last second of a step; latencies are those of the step so far.
#[must_use]
pub fn live(second: &Second<'_>) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "step {} of {}, load × {:.2}, {:.0} s of {:.0} s",
        second.step + 1,
        second.steps,
        second.factor,
        second.elapsed.as_secs_f64(),
        second.duration.as_secs_f64(),
    );
    let _ = writeln!(out, "{HEADING}");
    for group in second.now {
        let before = second.before.iter().find(|before| before.group == group.group);
        line(&mut out, &group.name, second.span, group, before);
    }
    out
}

fn step(out: &mut String, factor: f64, result: &StepResult) {
    let _ = writeln!(out, "load × {factor:.2} for {:.1} s", result.duration.as_secs_f64());
    let _ = writeln!(out, "{HEADING}");
    for group in &result.groups {
        line(out, &group.name, result.duration, group, None);
    }
    let offered = result.total(|group| group.offered);
    let slip_max = result.groups.iter().map(|group| group.slip_max_ns).max().unwrap_or(0);
    let slip =
        result.groups.iter().map(|group| group.slip_mean_ns.saturating_mul(group.offered)).sum::<u64>();
    let _ = writeln!(
        out,
        "really offered: {offered} N-PDUs, {:.0}/s, of which the SGSN's driver refused {} ({:.4} %); they left {:.1} µs \
         after they were due in the mean, {:.0} µs at the most; the longest pause of the generator was {:.0} µs",
        per_second(offered, result.duration),
        result.refused(),
        percent(result.refused(), offered),
        micros(slip.checked_div(offered).unwrap_or(0)),
        micros(slip_max),
        result.pause_max.as_secs_f64() * 1e6,
    );
    let vanished = offered.saturating_sub(result.refused() + result.gn.taken + result.gb.taken);
    if vanished > 0 {
        let _ = writeln!(
            out,
            "{vanished} of them reached no ring of the SGSN's driver: a veth device takes frames of XDP only where its end \
             has a program of XDP or GRO (ethtool -K DEVICE gro on)"
        );
    }
    if let Some(samples) = &result.samples {
        let _ = writeln!(
            out,
            "ciphered: {} known by TLLI and N(U) alone, {} deciphered and compared as a whole; the mark is read in one of \
             {}, all octets in one of {}, and of real-time users each mark",
            result.total(|group| group.unread),
            result.total(|group| group.whole),
            samples.read_every,
            samples.whole_every,
        );
    }
    let answered = result.total(|group| group.answered);
    if answered > 0 {
        let _ = writeln!(
            out,
            "acknowledged mode: {answered} acknowledgements were sent, of which the SGSN's driver refused {}; {} I frames came again \
             or behind one that was missing",
            result.answers.refused,
            result.total(|group| group.unexpected),
        );
    }
    let _ = writeln!(
        out,
        "at the sink: {} came again, {} late, {} of user data that is not ours, {} of the control plane",
        result.total(|group| group.repeated),
        result.total(|group| group.reordered),
        result.unmarked,
        result.passed,
    );
}

/// Everything, at the end.
#[must_use]
pub fn summary(report: &Report) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{} of {} users have a PDP context, activated at {:.0} a second; {} messages were sent again, {} orders failed",
        report.active, report.users, report.activated_per_second, report.stats.repeated, report.stats.failed,
    );
    if report.stats.windows_lowered > 0 {
        let _ = writeln!(
            out,
            "kD: the SGSN agreed to less than was proposed, {} times of {}; what it agrees to is configured by `llc sapi 3 window`",
            report.stats.windows_lowered, report.stats.windows_proposed,
        );
    }
    let _ = writeln!(out, "generator: {}", report.generator);
    for (factor, result) in &report.steps {
        step(&mut out, *factor, result);
    }
    let stats = &report.stats;
    let _ = writeln!(
        out,
        "control plane: {} FLOW-CONTROL sent, {} acknowledged, {} paged, {} FLUSH-LL, {} contexts deactivated by the network, \
         {} Error Indications, {} G-PDUs for nobody",
        stats.flow_control_sent,
        stats.flow_control_acknowledged,
        stats.paged,
        stats.flushed,
        stats.network_deactivated,
        stats.error_indications,
        stats.g_pdus_unknown,
    );
    if report.interrupted {
        let _ = writeln!(out, "interrupted: the last step is shorter than asked");
    }
    out
}
