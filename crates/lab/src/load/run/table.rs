//! The live table and the summary, for people.

use super::{Report, Second};
use crate::load::traffic::{GroupResult, StepResult};
use core::fmt::Write as _;
use std::time::Duration;

/// The heading of both tables. With its rows it fits a terminal of 80 columns.
const HEADING: &str = "group                asked/s offered/s delivered/s   lost %   p50 µs   p99 µs";

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

/// A share in percent; what is more than nothing never reads as nothing.
fn lost_percent(lost: u64, offered: u64) -> String {
    match percent(lost, offered) {
        _ if lost == 0 => "0".to_owned(),
        share if share < 0.001 => "<0.001".to_owned(),
        share => format!("{share:.3}"),
    }
}

fn line(out: &mut String, asked_pps: f64, span: Duration, now: &GroupResult, before: Option<&GroupResult>) {
    let since = |what: fn(&GroupResult) -> u64| what(now).saturating_sub(before.map_or(0, what));
    let (offered, delivered) = (since(|group| group.offered), since(|group| group.delivered));
    // Writing into a string cannot fail.
    let _ = writeln!(
        out,
        "{:<18} {asked_pps:>9.0} {:>9.0} {:>11.0} {:>8} {:>8.0} {:>8.0}",
        now.name,
        per_second(offered, span),
        per_second(delivered, span),
        lost_percent(offered.saturating_sub(delivered), offered),
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
        "step {} of {}, load x {:.2}, {:.0} s of {:.0} s, generator away {:.1} %",
        second.step + 1,
        second.steps,
        second.factor,
        second.elapsed.as_secs_f64(),
        second.duration.as_secs_f64(),
        100.0 * second.away.as_secs_f64() / second.span.as_secs_f64().max(1e-9),
    );
    let _ = writeln!(out, "{HEADING}");
    for group in second.now {
        let before = second.before.iter().find(|before| before.group == group.group);
        line(&mut out, second.asked.pps(group.group, second.factor), second.span, group, before);
    }
    out
}

/// A table that takes the place of the one before, of so many lines, on a terminal. What is wider than the terminal is cut and not
/// wrapped, so that the lines that were written are the lines that stand there.
#[must_use]
pub fn in_place(lines_before: usize, table: &str) -> String {
    let up = if lines_before == 0 { String::new() } else { format!("\x1b[{lines_before}A") };
    format!("{up}\r\x1b[J\x1b[?7l{table}\x1b[?7h")
}

fn timing(out: &mut String, result: &StepResult) {
    let offered = result.total(|group| group.offered);
    let slip_max = result.groups.iter().map(|group| group.slip_max_ns).max().unwrap_or(0);
    let slip =
        result.groups.iter().map(|group| group.slip_mean_ns.saturating_mul(group.offered)).sum::<u64>();
    let _ = writeln!(
        out,
        "N-PDUs left {:.0} µs late in the mean, {:.0} µs at the most; the longest pause of the generator was {:.0} µs",
        micros(slip.checked_div(offered).unwrap_or(0)),
        micros(slip_max),
        result.pause_max.as_secs_f64() * 1e6,
    );
}

fn losses(out: &mut String, result: &StepResult) {
    let lost = result.total(GroupResult::lost);
    let offered = result.total(|group| group.offered);
    let _ = writeln!(out, "lost: {lost} N-PDUs, {} % of what was offered", lost_percent(lost, offered));
    for loss in &result.losses {
        let _ = writeln!(out, "  {:<27} {:>9}  {}", loss.name, loss.n_pdus, loss.meaning);
    }
}

fn step(out: &mut String, factor: f64, result: &StepResult) {
    let _ = writeln!(out, "load x {factor:.2} for {:.1} s", result.duration.as_secs_f64());
    let _ = writeln!(out, "{HEADING}");
    for group in &result.groups {
        line(out, per_second(group.asked, result.duration), result.duration, group, None);
    }
    let (asked, offered) = (result.total(|group| group.asked), result.total(|group| group.offered));
    let _ = writeln!(
        out,
        "asked: {asked} N-PDUs; offered: {offered}, {:.1} % of these; the generator was away {:.1} % of the time",
        percent(offered, asked),
        result.away_share * 100.0,
    );
    losses(out, result);
    timing(out, result);
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
    for warning in &report.warnings {
        let _ = writeln!(out, "WARNING: {warning}");
    }
    if report.interrupted {
        let _ = writeln!(out, "interrupted: the last step is shorter than asked");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Stats;
    use crate::load::run::offered::Asked;
    use crate::load::traffic::{FlowSpec, Group, Loss};
    use core::net::Ipv4Addr;

    fn group(offered: u64, delivered: u64) -> GroupResult {
        let name = Group::HIGH.up().name();
        GroupResult {
            group: Group::HIGH.up().0,
            name,
            asked: 5000,
            offered,
            delivered,
            ..GroupResult::default()
        }
    }

    #[test]
    fn what_is_more_than_nothing_reads_so() {
        assert_eq!(lost_percent(0, 0), "0");
        assert_eq!(lost_percent(0, 7), "0");
        assert_eq!(lost_percent(1, 10_000_000), "<0.001");
        assert_eq!(lost_percent(1, 3), "33.333");
    }

    #[test]
    fn the_live_table_says_what_was_asked_and_fits_eighty_columns() {
        let flow = FlowSpec { group: Group::HIGH, ..FlowSpec::down(1, 2, 0, Ipv4Addr::LOCALHOST, 2500.0) };
        let (before, now) = (vec![group(100, 100)], vec![group(1100, 1090)]);
        let text = live(&Second {
            step: 9,
            steps: 10,
            factor: 2.0,
            elapsed: Duration::from_secs(3600),
            duration: Duration::from_secs(86_400),
            span: Duration::from_secs(1),
            away: Duration::from_millis(800),
            asked: &Asked::of([flow.up(3)].iter()),
            now: &now,
            before: &before,
        });
        assert!(
            text.starts_with("step 10 of 10, load x 2.00, 3600 s of 86400 s, generator away 80.0 %"),
            "{text}"
        );
        let row = "high precedence up      5000      1000         990    1.000        0        0";
        assert_eq!(text.lines().nth(2), Some(row));
        assert!(text.lines().all(|line| line.chars().count() < 80), "{text}");
    }

    #[test]
    fn a_table_takes_the_place_of_the_one_before() {
        assert_eq!(in_place(0, "a\nb\n"), "\r\x1b[J\x1b[?7la\nb\n\x1b[?7h");
        assert_eq!(in_place(2, "c\n"), "\x1b[2A\r\x1b[J\x1b[?7lc\n\x1b[?7h");
    }

    #[test]
    fn the_summary_names_losses_and_warns() {
        let loss = Loss { name: "damaged".to_owned(), n_pdus: 10, meaning: "octets were wrong".to_owned() };
        let result = StepResult {
            duration: Duration::from_secs(1),
            away_share: 0.8,
            groups: vec![group(1000, 990)],
            losses: vec![loss],
            ..StepResult::default()
        };
        let mut report = Report {
            users: 1,
            active: 1,
            activated_per_second: 1.0,
            generator: String::new(),
            steps: vec![(1.0, result)],
            warnings: Vec::new(),
            stats: Stats::default(),
            interrupted: false,
        };
        let text = summary(&report);
        let asked =
            "asked: 5000 N-PDUs; offered: 1000, 20.0 % of these; the generator was away 80.0 % of the time";
        assert!(text.lines().any(|line| line == asked), "{text}");
        assert!(text.contains("lost: 10 N-PDUs, 1.000 % of what was offered\n  damaged "), "{text}");
        assert!(!text.contains("WARNING") && report.is_sound());
        report.warnings.push("a fifth".to_owned());
        assert!(summary(&report).contains("\nWARNING: a fifth\n") && !report.is_sound());
    }
}
