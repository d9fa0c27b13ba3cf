//! `show counters`, `show stats` and `show rate-counters`.

use super::{Group, Kind, Level, Metric, Period, Rates, osmocom};
use core::fmt::{self, Write as _};

/// What an operator asks of the statistics of a node, whatever node it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistics {
    /// `show stats [level (global|peer|subscriber)] [skip-zero]`
    Show {
        /// Down to this level; without one, what osmo-sgsn has of all levels, and ours of the node.
        level: Option<Level>,
        /// Leave out what is 0.
        skip_zero: bool,
    },
    /// `show rate-counters [skip-zero]`
    Rates {
        /// Leave out what is 0.
        skip_zero: bool,
    },
    /// `stats report`
    Report,
    /// `stats reset`
    Reset,
}

/// A drop that never happened is nobody's line.
const fn is_worth_a_line(metric: &Metric, skip_zero: bool) -> bool {
    metric.value > 0 || !(skip_zero || matches!(metric.kind, Kind::Drop))
}

/// `show counters`: `NAME VALUE`, one a line, for programs.
pub fn counters(groups: &[Group], out: &mut String) {
    for group in groups {
        let Some(before) = group.class.lines else { continue };
        for metric in group.metrics.iter().filter(|metric| is_worth_a_line(metric, false)) {
            let _ = writeln!(out, "{before}{} {}", metric.name, metric.value);
        }
    }
}

/// The rates of a counter, as osmo-sgsn writes them; a `-` each where none is taken.
struct PerPeriod(Option<[u64; 4]>);

impl PerPeriod {
    fn of(rates: &Rates, group: &Group, place: usize, metric: &Metric) -> Self {
        let is_taken = rates.is_running() && group.class.level == Level::Global;
        Self(is_taken.then(|| Period::ALL.map(|period| rates.get(period, group, place, metric))))
    }
}

impl fmt::Display for PerPeriod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some([second, minute, hour, day]) => write!(f, "({second}/s {minute}/m {hour}/h {day}/d)"),
            None => f.write_str("(-/s -/m -/h -/d)"),
        }
    }
}

/// `LABEL: VALUE RATES` or `LABEL: VALUE UNIT`, as osmo-sgsn has it; nothing of what it does not have.
#[derive(Debug)]
pub struct KnownLine<'a>(pub &'a Metric);

impl KnownLine<'_> {
    fn write(&self, rates: &PerPeriod, f: &mut impl fmt::Write) -> fmt::Result {
        let Some(known) = self.0.osmocom else { return Ok(()) };
        write!(f, "{}: {:8} ", known.label, self.0.value)?;
        if self.0.is_counter() { write!(f, "{rates}") } else { f.write_str(known.unit) }
    }
}

impl fmt::Display for KnownLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(&PerPeriod(None), f)
    }
}

/// Such lines of values that belong to one object.
///
/// # Errors
/// Those of the writer.
pub fn known_lines(indent: &str, metrics: &[Metric], f: &mut impl fmt::Write) -> fmt::Result {
    metrics.iter().try_for_each(|metric| writeln!(f, "{indent}{}", KnownLine(metric)))
}

/// What osmo-sgsn has in `show stats`: first the counters of its groups, then their gauges.
pub fn osmocom_stats(groups: &[Group], rates: &Rates, level: Level, skip_zero: bool, out: &mut String) {
    let known: Vec<&Group> = osmocom::ORDER
        .iter()
        .flat_map(|class| groups.iter().filter(move |group| group.class.osmocom == *class))
        .filter(|group| group.class.level <= level)
        .collect();
    if known.is_empty() {
        return;
    }
    out.push_str("Ungrouped counters:\n");
    for are_counters in [true, false] {
        for group in &known {
            let is_one = |metric: &Metric| metric.osmocom.is_some() && metric.is_counter() == are_counters;
            if !group.metrics.iter().any(is_one) {
                continue;
            }
            let _ = write!(out, "{} ({})", group.class.title, group.osmocom_index());
            if let Some(title) = &group.title {
                let _ = write!(out, "('{title}')");
            }
            out.push_str(":\n");
            for (place, metric) in group.metrics.iter().enumerate().filter(|(_, metric)| is_one(metric)) {
                if skip_zero && metric.value == 0 {
                    continue;
                }
                out.push(' ');
                let _ = KnownLine(metric).write(&PerPeriod::of(rates, group, place, metric), out);
                out.push('\n');
            }
        }
    }
}

/// `show stats`, what is ours: as `show counters`, and below it what is said of peers, with a headline for each.
pub fn stats(groups: &[Group], level: Level, skip_zero: bool, out: &mut String) {
    for group in groups.iter().filter(|group| group.class.level <= level) {
        let indent = if group.class.lines.is_some() { "" } else { " " };
        if group.class.lines.is_none() {
            headline(group, out);
        }
        let before = group.class.lines.unwrap_or_default();
        for metric in group.metrics.iter().filter(|metric| is_worth_a_line(metric, skip_zero)) {
            let _ = writeln!(out, "{indent}{before}{} {}", metric.name, metric.value);
        }
    }
}

fn headline(group: &Group, out: &mut String) {
    out.push_str(group.class.title);
    for (label, value) in &group.labels {
        let _ = write!(out, " {label} {value}");
    }
    out.push_str(":\n");
}

/// `show rate-counters`: name, count, rates where they are taken, and what it means.
pub fn rate_counters(groups: &[Group], rates: &Rates, skip_zero: bool, out: &mut String) {
    for group in groups {
        let _ = write!(out, "{} {}", group.class.title, group.osmocom_index());
        if let Some(title) = &group.title {
            let _ = write!(out, " ({title})");
        }
        out.push_str(":\n");
        for (place, metric) in group.metrics.iter().enumerate().filter(|(_, metric)| metric.is_counter()) {
            if skip_zero && metric.value == 0 {
                continue;
            }
            let _ = write!(out, "{:>25}: {:>10} ", metric.osmocom_name(), metric.value);
            let text = metric.osmocom.map_or(metric.help, |known| known.label);
            let _ = writeln!(out, "{} {text}", PerPeriod::of(rates, group, place, metric));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::groups;
    use super::*;

    #[test]
    fn lines_for_programs() {
        let (mut out, mut groups) = (String::new(), groups());
        counters(&groups, &mut out);
        assert_eq!(out, "ll_pdu_downlink 7\nmobiles 2\n");
        groups[0].metrics[2].value = 1;
        out.clear();
        counters(&groups, &mut out);
        assert!(out.ends_with("pool_no_frame 1\n"));
    }

    #[test]
    fn lines_for_persons() {
        let (mut out, mut groups) = (String::new(), groups());
        groups[0].metrics[0].value = 0;
        stats(&groups, Level::Global, false, &mut out);
        assert_eq!(out, "ll_pdu_downlink 0\nmobiles 2\n");
        out.clear();
        stats(&groups, Level::Peer, true, &mut out);
        assert_eq!(out, "mobiles 2\nA part name a\"1:\n taken 3\nA part name 127.0.0.1:5:\n taken 4\n");
    }

    #[test]
    fn rates_as_osmocom_has_them() {
        let (mut out, groups, mut rates) = (String::new(), groups(), Rates::default());
        rate_counters(&groups[..1], &rates, true, &mut out);
        assert_eq!(out, "The SGSN 0:\n           llc:dl_packets:          7 (-/s -/m -/h -/d) Sent\n");
        out.clear();
        rates.second(&groups);
        rate_counters(&groups[..1], &rates, true, &mut out);
        assert!(out.ends_with("         7 (0/s 0/m 0/h 0/d) Sent\n"), "{out}");
    }

    #[test]
    fn statistics_as_osmocom_has_them() {
        let (mut out, mut groups, mut rates) = (String::new(), groups(), Rates::default());
        rates.second(&groups);
        osmocom_stats(&groups, &rates, Level::Subscriber, false, &mut out);
        assert_eq!(out, "Ungrouped counters:\nThe SGSN (0):\n Sent:        7 (0/s 0/m 0/h 0/d)\n");
        let delay = crate::view::NsVcStats { alive_delay_ms: 12, ..Default::default() }.delay();
        groups[0].add(delay);
        groups[0] = groups[0].clone().numbered(5, Some("by name".to_owned()));
        groups[0].metrics[0].value = 0;
        out.clear();
        osmocom_stats(&groups, &Rates::default(), Level::Global, true, &mut out);
        let headline = "The SGSN (5)('by name'):\n";
        let lines = format!("{headline}{headline} ALIVE response time        :       12 ms\n");
        assert_eq!(out, format!("Ungrouped counters:\n{lines}"));
        out.clear();
        rate_counters(&groups[..1], &rates, false, &mut out);
        assert!(out.starts_with("The SGSN 5 (by name):\n"), "{out}");
    }
}
