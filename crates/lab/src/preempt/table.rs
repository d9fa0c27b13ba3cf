//! Runs as tables, from the cells of their JSON: those of virtual time, those of the kernel, those without a download, and those of
//! calls by an Erlang model.

use super::paper::Row;
use super::place::{Policy, Sender};
use crate::measure::stats::Samples;
use crate::radio::as_f64;
use crate::report::{Cell, Verdict};
use serde_json::{Value, json};

/// A cell, and those beside which it stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run<'a> {
    cell: &'a Cell,
    all: &'a [Cell],
}

/// A column: its head, and what it says of a run.
type Column = (&'static str, fn(&Run<'_>) -> String);

const PLACE: [Column; 4] = [
    ("policy", |run| run.axis("policy")),
    ("period, s", |run| run.axis("period_s")),
    ("buffer", |run| run.axis("buffer")),
    ("sender", |run| run.sender()),
];
const NUMBERS: [Column; 9] = [
    ("kbit/s", |run| dash(run.metric("goodput_bit_per_s") / 1000.0, 2)),
    ("share", |run| dash(run.share(), 3)),
    ("of time left", |run| dash(run.of_time_left(), 3)),
    ("again, %", |run| dash(run.again_percent(), 2)),
    ("RTT, s", |run| dash(run.metric("rtt_mean_s"), 2)),
    ("outstanding, mean..max, kB", |run| run.outstanding()),
    ("silence, s", |run| dash(run.metric("silence_max_s"), 2)),
    ("recovery, s", |run| run.recovery()),
    ("caught up, s", |run| dash(run.samples("caught_up_s").median(), 2)),
];
const VIRTUAL: [Column; 5] = [
    ("timeouts", |run| run.count("timeouts")),
    ("needed", |run| run.percent("airtime_needed")),
    ("again", |run| run.percent("airtime_again")),
    ("control", |run| run.percent("airtime_control")),
    ("idle", |run| run.percent("airtime_idle")),
];
const REAL: [Column; 4] = [
    ("timeouts", |run| run.count("timeouts")),
    ("of them spurious", |run| run.count("spurious_timeouts")),
    ("probes", |run| run.count("tail_loss_probes")),
    ("late at 99 %, ms", |run| dash(run.metric("late_p99_s") * 1000.0, 2)),
];
const EVENTS: [Column; 7] = [
    ("preemptions", |run| run.list("lost_in_a_row").len().to_string()),
    ("lost in a row", |run| run.lost()),
    ("by the terminal, %", |run| run.part("restarted_by", Some("terminal"))),
    ("by the server, %", |run| run.part("restarted_by", Some("server"))),
    ("by the network, %", |run| run.part("restarted_by", Some("network"))),
    ("fast retransmit, %", |run| run.part(run.causes(), Some("fast retransmit"))),
    ("timeout, %", |run| run.part(run.causes(), Some("timeout"))),
];
const PROBES: Column = ("probe, %", |run| run.part(run.causes(), Some("tail loss probe")));
const AFTERWARDS: [Column; 2] = [
    ("nothing again, %", |run| run.part(run.causes(), None)),
    ("first block, ms", |run| dash(run.samples("first_block_s").median() * 1000.0, 0)),
];
const OTHERS: [Column; 9] = [
    ("workload", |run| run.axis("workload")),
    ("policy", |run| run.axis("policy")),
    ("period, s", |run| run.axis("period_s")),
    ("sent", |run| run.count("sent")),
    ("lost, %", |run| dash(run.lost_percent("sent", "came"), 1)),
    ("delay median, s", |run| dash(run.metric("delay_median_s"), 2)),
    ("longest, s", |run| dash(run.metric("delay_max_s"), 2)),
    ("longest silence, s", |run| dash(run.metric("silence_max_s"), 2)),
    ("download beside it, kbit/s", |run| match run.metric("bulk_bit_per_s") {
        none if none <= 0.0 => "–".to_owned(),
        rate => dash(rate / 1000.0, 2),
    }),
];
const ERLANG: [Column; 14] = [
    ("policy", |run| run.axis("policy")),
    ("load, % of PDCHs", |run| run.axis("load_percent")),
    ("some taken", |run| run.count("preemptions_partial")),
    ("all taken", |run| run.count("preemptions_complete")),
    ("PDCHs left, %", |run| run.percent("pdchs_left")),
    ("none left, %", |run| run.percent("no_pdch_left")),
    ("downloads, kbit/s", |run| dash(run.metric("tcp_bit_per_s") / 1000.0, 2)),
    ("of PDCHs left", |run| dash(run.of_pdchs_left(), 3)),
    ("of one, least..most", |run| {
        let of = |name| dash(run.metric(name) / 1000.0, 2);
        format!("{}..{}", of("tcp_least_bit_per_s"), of("tcp_most_bit_per_s"))
    }),
    ("again, %", |run| dash(run.again_percent(), 2)),
    ("flow lost, %", |run| dash(run.lost_percent("flow_sent", "flow_came"), 1)),
    ("flow delay median, ms", |run| dash(run.metric("flow_delay_median_s") * 1000.0, 0)),
    ("at 95 %, ms", |run| dash(run.metric("flow_delay_p95_s") * 1000.0, 0)),
    ("longest silence, s", |run| dash(run.metric("flow_silence_max_s"), 2)),
];

/// A number, or a dash where there is none.
fn dash(value: f64, digits: usize) -> String {
    if value.is_finite() { format!("{value:.digits$}") } else { "–".to_owned() }
}

impl Run<'_> {
    /// Runs of a download.
    fn downloads(all: &[Cell]) -> impl Iterator<Item = Run<'_>> {
        // Runs with other terminals and clients have a table of their own.
        let is_download = |cell: &&Cell| {
            cell.metrics.contains_key("goodput_bit_per_s") && !cell.axis.contains_key("terminal")
        };
        all.iter().filter(is_download).map(move |cell| Run { cell, all })
    }

    /// Runs that have this axis.
    fn with<'a>(all: &'a [Cell], axis: &str) -> impl Iterator<Item = Run<'a>> {
        all.iter().filter(move |cell| cell.axis.contains_key(axis)).map(move |cell| Run { cell, all })
    }

    fn axis(&self, name: &str) -> String {
        match self.cell.axis.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => String::new(),
        }
    }

    /// A sender of virtual time, or a kernel's TCP.
    fn sender(&self) -> String {
        self.axis(if self.cell.axis.contains_key("tcp") { "tcp" } else { "sender" })
    }

    fn period_s(&self) -> u64 {
        self.cell.axis.get("period_s").and_then(Value::as_u64).unwrap_or(0)
    }

    fn is(&self, policy: Policy) -> bool {
        self.axis("policy") == policy.name()
    }

    /// A metric; not a number where it is none.
    fn metric(&self, name: &str) -> f64 {
        self.cell.metrics.get(name).and_then(Value::as_f64).unwrap_or(f64::NAN)
    }

    fn count(&self, name: &str) -> String {
        dash(self.metric(name), 0)
    }

    fn percent(&self, name: &str) -> String {
        dash(self.metric(name) * 100.0, 1)
    }

    /// A metric that has a value for each preemption.
    fn list(&self, name: &str) -> &[Value] {
        self.cell.metrics.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn samples(&self, name: &str) -> Samples {
        self.list(name).iter().filter_map(Value::as_f64).collect()
    }

    /// The part of the preemptions of which a list has this word, in per cent.
    fn percent_of(&self, name: &str, word: Option<&str>) -> f64 {
        let list = self.list(name);
        let count = list.iter().filter(|value| value.as_str() == word).count();
        as_f64(count as u64) * 100.0 / as_f64(list.len() as u64)
    }

    fn part(&self, name: &str, word: Option<&str>) -> String {
        dash(self.percent_of(name, word), 0)
    }

    /// The list of why segments were sent again: what a kernel counts, or what a sender of virtual time notes.
    fn causes(&self) -> &'static str {
        if self.cell.metrics.contains_key("first_cause") { "first_cause" } else { "first_sent_again" }
    }

    fn undisturbed(&self) -> Option<Run<'_>> {
        let is_it = |run: &Run<'_>| {
            let alike = |name| run.axis(name) == self.axis(name);
            run.period_s() == 0 && alike("buffer") && run.sender() == self.sender()
        };
        Self::downloads(self.all).find(is_it)
    }

    /// Goodput as a part of that of the same run without preemption.
    fn share(&self) -> f64 {
        let whole = self.undisturbed().map_or(f64::NAN, |whole| whole.metric("goodput_bit_per_s"));
        self.metric("goodput_bit_per_s") / whole
    }

    /// The same as a part of the time that calls leave.
    fn of_time_left(&self) -> f64 {
        self.share() * (60.0 + as_f64(self.period_s())) / 60.0
    }

    fn again_percent(&self) -> f64 {
        self.metric("segments_again") * 100.0 / self.metric("segments")
    }

    fn lost_percent(&self, sent: &str, came: &str) -> f64 {
        100.0 - self.metric(came) * 100.0 / self.metric(sent)
    }

    fn outstanding(&self) -> String {
        let of = |name| dash(self.metric(name) / 1000.0, 1);
        format!("{}..{}", of("outstanding_mean_octets"), of("outstanding_max_octets"))
    }

    fn recovery(&self) -> String {
        let (all, some) = (self.list("recovery_s").len(), self.samples("recovery_s"));
        match (all, some.len()) {
            (0, _) => "–".to_owned(),
            (all, some_of) if all == some_of => format!("{:.2}, at most {:.2}", some.median(), some.max()),
            _ => format!("{}, some never", dash(some.median(), 2)),
        }
    }

    fn lost(&self) -> String {
        let lost = self.samples("lost_in_a_row");
        format!("{:.0} [{:.0}..{:.0}]", lost.median(), lost.min(), lost.max())
    }

    /// What the downloads get of an Erlang model's cell, by what they get of the whole cell and by the PDCHs that calls leave.
    fn of_pdchs_left(&self) -> f64 {
        let is_whole =
            |run: &Run<'_>| run.axis("load_percent") == "0" && run.axis("policy") == self.axis("policy");
        let whole = Run::with(self.all, "load_percent").find(is_whole);
        let whole = whole.map_or(f64::NAN, |run| run.metric("tcp_bit_per_s"));
        self.metric("tcp_bit_per_s") / whole / self.metric("pdchs_left")
    }
}

fn line(fields: impl IntoIterator<Item = String>) -> String {
    format!("| {} |\n", fields.into_iter().collect::<Vec<_>>().join(" | "))
}

/// A table with these columns, and perhaps a line behind each run.
fn table<'a>(
    columns: &[&[Column]],
    runs: impl Iterator<Item = Run<'a>>,
    behind: impl Fn(&Run<'a>) -> Option<String>,
) -> String {
    let columns: Vec<Column> = columns.concat();
    let mut text = line(columns.iter().map(|(head, _)| (*head).to_owned()));
    text += &format!("|{}\n", "---|".repeat(columns.len()));
    for run in runs {
        text += &line(columns.iter().map(|(_, of)| of(&run)));
        text += &behind(&run).unwrap_or_default();
    }
    text
}

/// The study's row behind ours, in a table with so many columns.
fn study(run: &Run<'_>, columns: usize) -> Option<String> {
    let is_theirs = run.is(Policy::Flush) && run.sender() == Sender::Linux242.name();
    let row = Row::of(run.period_s()).filter(|_| is_theirs)?;
    let of_time_left = row.share() * as_f64(60 + row.period_s) / 60.0;
    let mut fields = vec![
        "*the study*".to_owned(),
        row.period_s.to_string(),
        String::new(),
        "Linux 2.4.2-2".to_owned(),
        format!("{:.2}", row.kbit_per_s),
        format!("{:.3}", row.share()),
        format!("{of_time_left:.3}"),
        format!("{:.2}", row.again_percent),
        format!("{:.2}", row.rtt_s),
    ];
    fields.resize(columns, String::new());
    Some(line(fields))
}

/// Every run in virtual time.
#[must_use]
pub fn runs(cells: &[Cell]) -> String {
    let columns: [&[Column]; 3] = [&PLACE, &NUMBERS, &VIRTUAL];
    table(&columns, Run::downloads(cells), |run| study(run, columns.concat().len()))
}

/// What happened at each preemption of runs in virtual time.
#[must_use]
pub fn events(cells: &[Cell]) -> String {
    let disturbed = Run::downloads(cells).filter(|run| run.period_s() > 0);
    table(&[&PLACE, &EVENTS, &AFTERWARDS], disturbed, |_| None)
}

/// Runs of the study's sender alone.
#[must_use]
pub fn of_the_study(cells: &[Cell]) -> Vec<Cell> {
    let is_theirs = |run: &Run<'_>| run.sender() == Sender::Linux242.name();
    Run::downloads(cells).filter(is_theirs).map(|run| run.cell.clone()).collect()
}

/// Every run in real time.
#[must_use]
pub fn real_runs(cells: &[Cell]) -> String {
    table(&[&PLACE, &NUMBERS, &REAL], Run::downloads(cells), |_| None)
}

/// What happened at each preemption of runs in real time.
#[must_use]
pub fn real_events(cells: &[Cell]) -> String {
    let disturbed = Run::downloads(cells).filter(|run| run.period_s() > 0);
    table(&[&PLACE, &EVENTS, &[PROBES], &AFTERWARDS], disturbed, |_| None)
}

/// What is no download.
#[must_use]
pub fn others(cells: &[Cell]) -> String {
    table(&[&OTHERS], Run::with(cells, "workload"), |_| None)
}

/// Calls by an Erlang model: medians of all seeds.
#[must_use]
pub fn erlang(cells: &[Cell]) -> String {
    let medians = medians(cells, "seed");
    table(&[&ERLANG], Run::with(&medians, "load_percent"), |_| None)
}

/// Cells without an axis: each number is the median of all cells that differ in that axis alone.
fn medians(cells: &[Cell], axis: &str) -> Vec<Cell> {
    let mut all: Vec<(Cell, Vec<&Cell>)> = Vec::new();
    for cell in cells.iter().filter(|cell| cell.axis.contains_key(axis)) {
        let mut one = Cell { axis: cell.axis.clone(), metrics: cell.metrics.clone() };
        one.axis.remove(axis);
        match all.iter_mut().find(|(other, _)| other.axis == one.axis) {
            Some((_, group)) => group.push(cell),
            None => all.push((one, vec![cell])),
        }
    }
    for (one, group) in &mut all {
        for (name, value) in &mut one.metrics {
            let each = group.iter().filter_map(|cell| cell.metrics.get(name)?.as_f64());
            *value = json!(each.collect::<Samples>().median());
        }
    }
    all.into_iter().map(|(one, _)| one).collect()
}

/// Claims.
#[must_use]
pub fn claims(verdicts: &[Verdict]) -> String {
    let mut text = "| claim | study | here | goal | holds |\n|---|---|---|---|---|\n".to_owned();
    for verdict in verdicts {
        let word = if verdict.holds == Some(false) { "**no**".to_owned() } else { verdict.word().to_owned() };
        let paper = verdict.paper.clone().unwrap_or_else(|| "–".to_owned());
        text += &line([verdict.name.clone(), paper, verdict.measured(), verdict.goal.clone(), word]);
    }
    text
}

/// Each run of a kernel with `flush` beside the study's row, in a sentence from the trace.
#[must_use]
pub fn explained(cells: &[Cell]) -> String {
    Run::downloads(cells).filter(|run| run.is(Policy::Flush)).filter_map(|run| sentence(&run)).collect()
}

fn sentence(run: &Run<'_>) -> Option<String> {
    let row = Row::of(run.period_s())?;
    let causes = [
        (Some("fast retransmit"), "a fast retransmit"),
        (Some("timeout"), "a timeout"),
        (Some("tail loss probe"), "a tail loss probe"),
        (None, "nothing"),
    ];
    let percents = causes.map(|(cause, word)| (run.percent_of(run.causes(), cause), word));
    let (percent, word) = percents.into_iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(format!(
        "* {}, flush, {} s, {}: {:.2} of its own rate (study {:.2}), {:.1} % sent again ({:.1}), {:.1} s of round trip ({:.1}): {:.0} segments are \
         lost in a row, {word} is first in {percent:.0} %, and all is acknowledged {} s after the return.\n",
        run.sender(),
        run.axis("period_s"),
        run.axis("buffer"),
        run.share(),
        row.share(),
        run.again_percent(),
        row.again_percent,
        run.metric("rtt_mean_s"),
        row.rtt_s,
        run.samples("lost_in_a_row").median(),
        dash(run.samples("caught_up_s").median(), 1),
    ))
}
