//! What SIGUSR1 and SIGUSR2 write into the log: counters, tables and memory.

use super::statistics::{self, Counted};
use super::{Node, Running};
use gannet_machine::trace::{Category, Level, TraceSink};
use gannet_ops::config::Element;
use gannet_ops::metrics::{Level as Detail, text};
use gannet_rt::Access;
use std::fmt::Write as _;

/// One table of a node, with how much of it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// What stands in it.
    pub name: String,
    /// Entries that are used.
    pub used: u64,
    /// Entries that it has room for, where it has a limit of its own.
    pub limit: Option<u64>,
}

impl Table {
    /// A table with a limit.
    pub fn limited(name: impl Into<String>, used: usize, limit: usize) -> Self {
        Self { name: name.into(), used: statistics::number(used), limit: Some(statistics::number(limit)) }
    }

    /// A table that only others limit.
    pub fn unlimited(name: impl Into<String>, used: usize) -> Self {
        Self { name: name.into(), used: statistics::number(used), limit: None }
    }
}

/// Writes them. Counters that are 0 are left out.
pub fn log<N: Node>(running: &mut Running<N>, access: &mut Access<'_>) {
    let mut lines = String::new();
    let _ = writeln!(lines, "counters of the {} that are above 0:", N::Element::NAME.to_uppercase());
    let mut groups = Vec::new();
    let mut counted = Counted { running: &mut *running, access: &mut *access };
    gannet_ops::metrics::Source::groups(&mut counted, 0, &mut groups);
    text::stats(&groups, Detail::Global, true, &mut lines);
    let (free, total) = (access.frames().free(), access.frames().capacity());
    let mut tables = running.node.tables(access);
    tables.push(Table::limited("frames", total.saturating_sub(free), total));
    lines.push_str("tables:\n");
    for Table { name, used, limit } in tables {
        let _ = match limit {
            Some(limit) => writeln!(lines, "{name}: {used} of {limit}"),
            None => writeln!(lines, "{name}: {used}"),
        };
    }
    lines.push_str("memory:\n");
    memory(&std::fs::read_to_string("/proc/self/status").unwrap_or_default(), &mut lines);
    for line in lines.lines() {
        access.log().line(Category::Main, Level::Notice, format_args!("{line}"));
    }
}

/// The lines of the kernel about a process that speak of its memory, in words.
fn memory(status: &str, out: &mut String) {
    const WORDS: &[(&str, &str)] = &[
        ("VmRSS", "resident"),
        ("VmHWM", "resident at the most so far"),
        ("VmData", "allocated"),
        ("VmLck", "locked"),
        ("VmSwap", "paged out"),
    ];
    for (name, words) in WORDS {
        let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        if let Some(value) = value {
            let _ = writeln!(out, "{words}: {}", value.trim());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_in_words() {
        let mut out = String::new();
        memory("Name:\tgannet\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\nThreads:\t1\n", &mut out);
        assert_eq!(out, "resident: 1024 kB\nresident at the most so far: 2048 kB\n");
    }
}
