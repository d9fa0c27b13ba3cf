//! The runs in real time as tables, and each TCP beside the study in a sentence.

use super::super::measured::{Event, Measured};
use super::super::paper::Row;
use super::super::place::Policy;
use super::super::table::dash;
use super::super::trace::Restart;
use super::kernel::Cause;
use super::measured::{More, Series};
use crate::radio::as_f64;
use std::fmt::Write as _;

const HEAD: [&str; 17] = [
    "policy",
    "period, s",
    "buffer",
    "TCP",
    "kbit/s",
    "share",
    "of time left",
    "again, %",
    "RTT, s",
    "outstanding, mean..max, kB",
    "silence, s",
    "recovery, s",
    "caught up, s",
    "timeouts",
    "of them spurious",
    "probes",
    "late at 99 %, ms",
];
const EVENTS: [&str; 14] = [
    "policy",
    "period, s",
    "buffer",
    "TCP",
    "preemptions",
    "lost in a row",
    "by the terminal, %",
    "by the server, %",
    "by the network, %",
    "fast retransmit, %",
    "timeout, %",
    "probe, %",
    "nothing again, %",
    "first block, ms",
];

/// All tables, and the sentences.
#[must_use]
pub fn tables(all: &[Series]) -> Vec<String> {
    vec![runs(all), events(all), all.iter().flat_map(explained).collect()]
}

fn head(columns: &[&str]) -> String {
    format!("| {} |\n|{}\n", columns.join(" | "), "---|".repeat(columns.len()))
}

fn place(series: &Series, of: &Measured) -> String {
    let place = &of.place;
    let (policy, buffer) = (place.policy_name(), place.buffer.name());
    format!("| {policy} | {} | {buffer} | {} |", place.period_s(), series.tcp.name())
}

/// Every run.
fn runs(all: &[Series]) -> String {
    let mut text = head(&HEAD);
    for (series, of, more) in all.iter().flat_map(|of| of.each().map(move |(run, more)| (of, run, more))) {
        let recovery = of.recovery_s();
        // An event without one counts as infinite, and is no sample.
        let recovery = match (of.events.len(), recovery.len()) {
            (0, _) => "–".to_owned(),
            (all, some) if all == some => format!("{:.2}, at most {:.2}", recovery.median(), recovery.max()),
            _ => format!("{}, some never", dash(recovery.median(), 2)),
        };
        let _ = writeln!(
            text,
            "{} {:.2} | {:.3} | {:.3} | {:.2} | {:.2} | {:.1}..{:.1} | {:.2} | {recovery} | {} | {} | {} | {} | {} |",
            place(series, of),
            of.goodput_bit_per_s / 1000.0,
            series.runs().share(of),
            series.runs().of_time_left(of),
            of.again_percent(),
            of.rtt_s,
            of.outstanding.0 / 1000.0,
            as_f64(of.outstanding.1) / 1000.0,
            of.silence_s,
            dash(of.samples(|event| event.caught_up_s).median(), 2),
            of.timeouts,
            of.spurious_timeouts,
            more.probes,
            dash(more.late_s[0] * 1000.0, 2),
        );
    }
    text
}

/// What happened at each preemption.
fn events(all: &[Series]) -> String {
    let mut text = head(&EVENTS);
    let all = all.iter().flat_map(|of| of.each().map(move |(run, more)| (of, run, more)));
    for (series, of, more) in all.filter(|(_, of, _)| !of.events.is_empty()) {
        let by = |restart| of.part(|event: &Event| event.restart == Some(restart)) * 100.0;
        let again = |cause| more.part(cause) * 100.0;
        let lost = of.samples(|event| Some(as_f64(event.lost)));
        let first = of.samples(|event| event.first_block_s);
        let _ = writeln!(
            text,
            "{} {} | {:.0} [{:.0}..{:.0}] | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {} |",
            place(series, of),
            of.events.len(),
            lost.median(),
            lost.min(),
            lost.max(),
            by(Restart::Terminal),
            by(Restart::Server),
            by(Restart::Network),
            again(Some(Cause::Fast)),
            again(Some(Cause::Timeout)),
            again(Some(Cause::Probe)),
            again(None),
            dash(first.median() * 1000.0, 0),
        );
    }
    text
}

/// Each run with `flush` beside the study's row, in a sentence from the trace.
fn explained(series: &Series) -> Vec<String> {
    let is_flush = |of: &Measured| of.place.preemption.is_some_and(|(policy, _)| policy == Policy::Flush);
    let rows = series.each().filter(|(of, _)| is_flush(of));
    rows.filter_map(|(of, more)| Some(sentence(series, of, more, Row::of(of.place.period_s())?))).collect()
}

fn sentence(series: &Series, of: &Measured, more: &More, row: Row) -> String {
    let causes = [
        (Some(Cause::Fast), "a fast retransmit"),
        (Some(Cause::Timeout), "a timeout"),
        (Some(Cause::Probe), "a tail loss probe"),
        (None, "nothing"),
    ];
    let most = causes.into_iter().max_by(|a, b| more.part(a.0).total_cmp(&more.part(b.0)));
    let (cause, word) = most.unwrap_or((None, "nothing"));
    format!(
        "* {}, flush, {} s, {}: {:.2} of its own rate (study {:.2}), {:.1} % sent again ({:.1}), {:.1} s of round trip ({:.1}): {:.0} segments are \
         lost in a row, {word} is first in {:.0} %, and all is acknowledged {} s after the return.\n",
        series.tcp.name(),
        of.place.period_s(),
        of.place.buffer.name(),
        series.runs().share(of),
        row.share(),
        of.again_percent(),
        row.again_percent,
        of.rtt_s,
        row.rtt_s,
        of.samples(|event| Some(as_f64(event.lost))).median(),
        more.part(cause) * 100.0,
        dash(of.samples(|event| event.caught_up_s).median(), 1),
    )
}
