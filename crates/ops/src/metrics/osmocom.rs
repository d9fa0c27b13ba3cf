//! The counters of osmo-sgsn's groups: its names, and the labels under which its VTY has them.
//!
//! `osmo-sgsn.counters` has what Debian's program (1.9.0) prints of its groups for the node, NS and BSSGP.

use super::Metric;

/// What osmo-sgsn calls a value of the same meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Its name in statsd, CTRL and `show rate-counters`.
    pub name: &'static str,
    /// What stands in front of it in `show stats` and behind it in `show rate-counters`.
    pub label: &'static str,
    /// What stands behind a gauge.
    pub unit: &'static str,
}

impl Known {
    /// A counter.
    #[must_use]
    pub const fn counter(name: &'static str, label: &'static str) -> Self {
        Self { name, label, unit: "" }
    }
}

/// A counter's own name, its help, osmo-sgsn's name and label, and where it is found.
pub type Row<T> = (&'static str, &'static str, &'static str, &'static str, fn(&T) -> u64);

/// The counters of such rows.
pub fn counters<T, const N: usize>(rows: &[Row<T>; N], of: &T) -> [Metric; N] {
    rows.map(|(name, help, known, label, value)| {
        Metric::counter(name, help, value(of)).known_as(known, label)
    })
}

/// The lines of osmo-sgsn: each group's title with its index, then what is known of it.
pub const ORDER: [&str; 5] = ["bssgp:bss_ctx", "ns:nsvc", "ns:nse", "sgsn", "ns.bind"];

/// The groups, names and kinds (`c` for a counter, `g` for a gauge) of the list.
pub fn names() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    include_str!("osmo-sgsn.counters").lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?, words.next()?, words.next()?))
    })
}
