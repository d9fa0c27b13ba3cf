//! Datagrams for a statsd, as Osmocom's reporter fills them: `PREFIX.GROUP.INDEX.NAME:VALUE|c` with what a counter has
//! grown since the last report, `|g` with what a gauge is.
//!
//! The first report has everything, a later one what has changed, and everything again each `flush-period` reports, where
//! one is configured. Several values share a datagram, a line each, up to its length.

use super::{Group, Level, Marks};
use core::fmt::Write as _;

/// Octets of a datagram unless `mtu` says otherwise: what Ethernet takes whole, with IPv4 and UDP in front.
pub const LENGTH_DEFAULT: u16 = 1472;

/// What a reporter remembers from report to report.
#[derive(Debug, Default)]
pub struct Reporter {
    last: Marks,
    reports: u64,
}

/// How a reporter writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style<'a> {
    /// In front of every name; nothing where it is empty.
    pub prefix: &'a str,
    /// Groups down to this level.
    pub level: Level,
    /// Octets of a datagram at most; a single line that is longer goes alone.
    pub length_max: usize,
    /// All values each so many reports; 0 for never again.
    pub flush_period: u16,
}

impl Reporter {
    /// The datagrams of one report, in their order.
    pub fn report(&mut self, groups: &[Group], style: &Style<'_>) -> Vec<String> {
        let all = match style.flush_period {
            0 => self.reports == 0,
            period => self.reports.is_multiple_of(period.into()),
        };
        self.reports += 1;
        let mut datagrams = vec![String::new()];
        let mut line = String::new();
        for group in groups.iter().filter(|group| group.class.level <= style.level) {
            for (place, metric) in group.metrics.iter().enumerate() {
                let before = self.last.get(group, place, metric);
                if !all && before == Some(metric.value) {
                    continue;
                }
                let value = match metric.is_counter() {
                    true => self.last.growth(group, place, metric),
                    false => metric.value,
                };
                line.clear();
                name(style.prefix, group, metric.osmocom_name(), &mut line);
                let _ = write!(line, ":{value}|{}", if metric.is_counter() { 'c' } else { 'g' });
                put(&line, style.length_max, &mut datagrams);
            }
            self.last.note(group);
        }
        datagrams.retain(|datagram| !datagram.is_empty());
        datagrams
    }

    /// The next report is a first one.
    pub fn restart(&mut self) {
        *self = Self::default();
    }
}

/// Colons part a name from its value there, so within a name they are dots.
fn name(prefix: &str, group: &Group, metric: &str, out: &mut String) {
    let index = group.title.as_deref().unwrap_or_else(|| group.osmocom_index());
    for part in [prefix, group.class.osmocom, index, metric] {
        if !out.is_empty() {
            out.push('.');
        }
        out.extend(part.chars().map(|c| match c {
            ':' => '.',
            '|' | '@' | '\n' => '-',
            other => other,
        }));
    }
}

fn put(line: &str, length_max: usize, datagrams: &mut Vec<String>) {
    match datagrams.last_mut() {
        Some(last) if last.is_empty() => last.push_str(line),
        Some(last) if last.len() + 1 + line.len() <= length_max => {
            last.push('\n');
            last.push_str(line);
        }
        _ => datagrams.push(line.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::groups;
    use super::*;

    const STYLE: Style<'static> = Style { prefix: "me", level: Level::Peer, length_max: 64, flush_period: 0 };

    #[test]
    fn reports_by_octets() {
        let (mut groups, mut reporter) = (groups(), Reporter::default());
        let first = [
            "me.sgsn.0.llc.dl_packets:7|c\nme.sgsn.0.mobiles:2|g",
            "me.sgsn.0.pool_no_frame:0|c\nme.x.part.a-1.taken:3|c",
            "me.x.part.127-0-0-1-5.taken:4|c",
        ];
        assert_eq!(reporter.report(&groups, &STYLE), first);
        assert!(reporter.report(&groups, &STYLE).is_empty(), "nothing has changed");
        groups[0].metrics[0].value = 9;
        groups[0].metrics[1].value = 1;
        let changed = ["me.sgsn.0.llc.dl_packets:2|c\nme.sgsn.0.mobiles:1|g"];
        assert_eq!(reporter.report(&groups, &STYLE), changed);
        reporter.restart();
        assert_eq!(reporter.report(&groups, &STYLE).len(), 3);
    }

    #[test]
    fn levels_prefixes_and_periods() {
        let (groups, mut reporter) = (groups(), Reporter::default());
        let style = Style { prefix: "", level: Level::Global, length_max: 1, flush_period: 2 };
        let node = ["sgsn.0.llc.dl_packets:7|c", "sgsn.0.mobiles:2|g", "sgsn.0.pool_no_frame:0|c"];
        assert_eq!(reporter.report(&groups, &style), node);
        assert!(reporter.report(&groups, &style).is_empty());
        let again = ["sgsn.0.llc.dl_packets:0|c", "sgsn.0.mobiles:2|g", "sgsn.0.pool_no_frame:0|c"];
        assert_eq!(reporter.report(&groups, &style), again);
    }
}
