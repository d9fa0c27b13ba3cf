//! `show counters`, `show stats` and `show rate-counters`.

use super::{Group, Kind, Level, Metric, Period, Rates};
use core::fmt::Write as _;

/// What an operator asks of the statistics of a node, whatever node it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistics {
    /// `show stats [level (global|peer|subscriber)] [skip-zero]`
    Show {
        /// Down to this level.
        level: Level,
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

/// `show stats`: as `show counters`, and below it what is said of peers, with a headline for each.
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
        let _ = writeln!(out, "{} {}:", group.class.title, group.index);
        for (place, metric) in group.metrics.iter().enumerate().filter(|(_, metric)| metric.is_counter()) {
            if skip_zero && metric.value == 0 {
                continue;
            }
            let _ = write!(out, "{:>25}: {:>10} ", metric.osmocom_name(), metric.value);
            if rates.is_running() && group.class.level == Level::Global {
                let [second, minute, hour, day] =
                    Period::ALL.map(|period| rates.get(period, group, place, metric));
                let _ = write!(out, "({second}/s {minute}/m {hour}/h {day}/d) ");
            }
            let _ = writeln!(out, "{}", metric.help);
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
        assert_eq!(out, "The SGSN 0:\n           llc:dl_packets:          7 LL-PDUs that went to BSSs\n");
        out.clear();
        rates.second(&groups);
        rate_counters(&groups[..1], &rates, true, &mut out);
        assert!(out.ends_with("         7 (0/s 0/m 0/h 0/d) LL-PDUs that went to BSSs\n"), "{out}");
    }
}
