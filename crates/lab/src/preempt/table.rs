//! The runs as tables.

use super::judge::Runs;
use super::measured::Measured;
use super::paper::{Row, UNDISTURBED_KBIT_PER_S};
use super::place::{Policy, Sender};
use super::trace::Restart;
use crate::radio::as_f64;
use crate::tcp::Reason;
use std::fmt::Write as _;

const HEAD: &str = "| policy | period, s | buffer | sender | kbit/s | share | of time left | again, % | RTT, s | outstanding, mean..max, kB | \
                    silence, s | recovery, s | caught up, s | timeouts | needed | again | control | idle |\n";
const COLUMNS: usize = 18;

/// All tables.
#[must_use]
pub fn tables(all: &[Measured]) -> Vec<String> {
    vec![runs(all), events(all)]
}

pub(super) fn dash(value: f64, digits: usize) -> String {
    if value.is_finite() { format!("{value:.digits$}") } else { "–".to_owned() }
}

/// Every run.
fn runs(all: &[Measured]) -> String {
    let mut text = format!("{HEAD}|{}\n", "---|".repeat(COLUMNS));
    for of in all {
        let share = Runs(all).share(of);
        let parts = of.spent().map(|(_, part)| format!("{:.1}", part * 100.0));
        let recovery = of.recovery_s();
        let recovery = match (recovery.is_empty(), recovery.max().is_finite()) {
            (true, _) => "–".to_owned(),
            (false, true) => format!("{:.2}, at most {:.2}", recovery.median(), recovery.max()),
            (false, false) => format!("{}, some never", dash(recovery.median(), 2)),
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {:.2} | {share:.3} | {:.3} | {:.2} | {:.2} | {:.1}..{:.1} | {:.2} | {recovery} | {} | {} | {} |",
            of.place.policy_name(),
            of.place.period_s(),
            of.place.buffer.name(),
            of.place.sender.name(),
            of.goodput_bit_per_s / 1000.0,
            Runs(all).of_time_left(of),
            of.again_percent(),
            of.rtt_s,
            of.outstanding.0 / 1000.0,
            as_f64(of.outstanding.1) / 1000.0,
            of.silence_s,
            dash(of.samples(|event| event.caught_up_s).median(), 2),
            of.timeouts,
            parts.join(" | "),
        );
        paper(of, &mut text);
    }
    text
}

/// The study's row behind ours.
fn paper(of: &Measured, text: &mut String) {
    let is_theirs = of.place.preemption.is_some_and(|(policy, _)| policy == Policy::Flush)
        && of.place.sender == Sender::Linux242;
    let Some(row) = Row::of(of.place.period_s()).filter(|_| is_theirs) else { return };
    let _ = writeln!(
        text,
        "| *the study* | {} | | Linux 2.4.2-2 | {:.2} | {:.3} | {:.3} | {:.2} | {:.2} |{}",
        row.period_s,
        row.kbit_per_s,
        row.share(),
        row.kbit_per_s / UNDISTURBED_KBIT_PER_S * as_f64(60 + row.period_s) / 60.0,
        row.again_percent,
        row.rtt_s,
        " |".repeat(COLUMNS - 9),
    );
}

/// What happened at each preemption.
fn events(all: &[Measured]) -> String {
    let mut text = "| policy | period, s | buffer | sender | preemptions | lost in a row | by the terminal, % | by the server, % | \
                    by the network, % | fast retransmit, % | timeout, % | nothing again, % | first block, ms |\n"
        .to_owned();
    let _ = writeln!(text, "|{}", "---|".repeat(13));
    for of in all.iter().filter(|of| !of.events.is_empty()) {
        let percent = |is: &dyn Fn(&super::measured::Event) -> bool| format!("{:.0}", of.part(is) * 100.0);
        let by = |restart| percent(&|event| event.restart == Some(restart));
        let again = |reason| percent(&|event| event.again == reason);
        let lost = of.samples(|event| Some(as_f64(event.lost)));
        let first = of.samples(|event| event.first_block_s);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {:.0} [{:.0}..{:.0}] | {} | {} | {} | {} | {} | {} | {} |",
            of.place.policy_name(),
            of.place.period_s(),
            of.place.buffer.name(),
            of.place.sender.name(),
            of.events.len(),
            lost.median(),
            lost.min(),
            lost.max(),
            by(Restart::Terminal),
            by(Restart::Server),
            by(Restart::Network),
            again(Some(Reason::Fast)),
            again(Some(Reason::Timeout)),
            again(None),
            dash(first.median() * 1000.0, 0),
        );
    }
    text
}
