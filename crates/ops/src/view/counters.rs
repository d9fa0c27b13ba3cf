//! Drops, and the answer to "why?".

use super::Seconds;
use core::fmt;
use gannet_machine::drops::{Drop, DropCounters};
use gannet_machine::time::Instant;

/// One line of `show drops`: `name count sentence (clause)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropCount {
    /// Which.
    pub drop: Drop,
    /// How often since the start.
    pub count: u64,
}

impl fmt::Display for DropCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { drop, count } = self;
        writeln!(f, "{:<24} {count:>10}  {} ({})", drop.name(), drop.sentence(), drop.clause())
    }
}

/// The lines of `show drops` for a table of counters.
pub fn drops(counters: &DropCounters) -> impl Iterator<Item = DropCount> + '_ {
    counters.raised().map(|(drop, count)| DropCount { drop, count })
}

/// One line of `show why imsi IMSI`: what befell a mobile, when, and by which clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    /// When, since the start.
    pub time: Instant,
    /// The name of the drop, or of the message that rejected something.
    pub name: String,
    /// The clause that says so.
    pub clause: String,
    /// What a person reads.
    pub sentence: String,
}

impl Why {
    /// Of a drop.
    #[must_use]
    pub fn of_drop(time: Instant, drop: Drop) -> Self {
        Self {
            time,
            name: drop.name().to_owned(),
            clause: drop.clause().to_owned(),
            sentence: drop.sentence().to_owned(),
        }
    }
}

/// One line of `show why imsi IMSI` that explains: the cause, and who or which rule has decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Explanation<'a> {
    /// When, since the start.
    pub time: Instant,
    /// The sentence.
    pub sentence: &'a str,
}

impl fmt::Display for Explanation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:>12}  {}", Seconds(self.time).to_string(), self.sentence)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { time, name, clause, sentence } = self;
        writeln!(f, "{:>12}  {name}: {sentence} ({clause})", Seconds(*time).to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_begin_with_what_scripts_look_for() {
        let drop = Drop::NoFrame;
        let mut counters = DropCounters::default();
        counters.add(drop);
        let text: String = drops(&counters).map(|drop| drop.to_string()).collect();
        let mut words = text.split_whitespace();
        assert_eq!((words.next(), words.next()), (Some(drop.name()), Some("1")));
        let line = Why::of_drop(Instant(1_234_567_890), drop).to_string();
        assert!(line.starts_with("     1.234 s  pool_no_frame: "), "{line}");
        assert!(line.ends_with(&format!("({})\n", drop.clause())), "{line}");
    }
}
