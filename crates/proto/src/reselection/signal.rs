//! The level at which a mobile receives each cell, over time: a script, or the samples of a model.
//!
//! A script has a line for each time, in their order: seconds, and the level of each cell in dBm, in the order of the cells.
//! Between two lines a level goes straight from the one to the other. Before the first and behind the last it stays. `-` is a cell
//! that is not received. `#` begins a remark.
//!
//! ```text
//! # seconds  cell 0  cell 1
//! 0            -60     -95
//! 40           -95     -60
//! ```

use core::fmt;
use gannet_machine::time::Duration;

/// Levels of all cells at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// When, after the mobile was switched on.
    pub at: Duration,
    /// In dBm, in the order of the cells; `None` for a cell that is not received.
    pub levels_dbm: Vec<Option<i16>>,
}

/// Levels over time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Signal {
    points: Vec<Point>,
}

/// A line of a script that is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub fault: ScriptFault,
}

/// What is wrong with a line of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptFault {
    /// It does not begin with a time: a number of seconds that is not negative.
    Time(String),
    /// This is no level: a whole number of dBm from −120 to 0, or `-`.
    Level(String),
    /// It has another number of cells than the first one.
    Cells {
        /// How many it has.
        has: usize,
        /// How many the first one has.
        first: usize,
    },
    /// Its time is not later than that of the line before.
    Order,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        match &self.fault {
            ScriptFault::Time(word) => write!(f, "{word} is no time in seconds"),
            ScriptFault::Level(word) => write!(f, "{word} is no level: -120 to 0 dBm, or - for none"),
            ScriptFault::Cells { has, first } => write!(f, "levels of {has} cells, and of {first} before"),
            ScriptFault::Order => f.write_str("its time is not later than that of the line before"),
        }
    }
}

impl core::error::Error for ScriptError {}

impl Signal {
    /// Of samples of a model. They are put in the order of their times.
    #[must_use]
    pub fn new(mut points: Vec<Point>) -> Self {
        points.sort_by_key(|point| point.at);
        Self { points }
    }

    /// Reads a script.
    ///
    /// # Errors
    /// The first line that is none.
    pub fn parse(script: &str) -> Result<Self, ScriptError> {
        let mut points: Vec<Point> = Vec::new();
        for (text, line) in script.lines().zip(1..) {
            let error = |fault| ScriptError { line, fault };
            let mut words = text.split('#').next().unwrap_or_default().split_whitespace();
            let Some(time) = words.next() else { continue };
            let at = seconds(time).ok_or_else(|| error(ScriptFault::Time(time.to_owned())))?;
            let level = |word: &str| level(word).ok_or_else(|| error(ScriptFault::Level(word.to_owned())));
            let levels_dbm: Vec<_> = words.map(level).collect::<Result<_, _>>()?;
            if let Some(before) = points.last() {
                let (has, first) = (levels_dbm.len(), before.levels_dbm.len());
                if has != first {
                    return Err(error(ScriptFault::Cells { has, first }));
                }
                if at <= before.at {
                    return Err(error(ScriptFault::Order));
                }
            }
            points.push(Point { at, levels_dbm });
        }
        Ok(Self { points })
    }

    /// When its last point is.
    #[must_use]
    pub fn end(&self) -> Duration {
        self.points.last().map_or(Duration::ZERO, |point| point.at)
    }

    /// The level of a cell at a time, in dBm; `None` where it is not received.
    #[must_use]
    pub fn level_dbm(&self, at: Duration, cell: u16) -> Option<i16> {
        let level = |point: &Point| point.levels_dbm.get(usize::from(cell)).copied().flatten();
        let next = self.points.partition_point(|point| point.at <= at);
        let before = next.checked_sub(1).and_then(|before| self.points.get(before));
        match (before, self.points.get(next)) {
            (Some(before), Some(after)) => match (level(before), level(after)) {
                (Some(low), Some(high)) => {
                    let (gone, span) = (at.0 - before.at.0, after.at.0 - before.at.0);
                    let change = (i128::from(high) - i128::from(low)) * i128::from(gone);
                    let change = change.div_euclid(i128::from(span.max(1)));
                    i16::try_from(change).ok().map(|change| low.saturating_add(change))
                }
                (low, _) => low,
            },
            (Some(only), None) | (None, Some(only)) => level(only),
            (None, None) => None,
        }
    }
}

fn seconds(word: &str) -> Option<Duration> {
    let (whole, part) = word.split_once('.').unwrap_or((word, ""));
    let is_number = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
    if whole.is_empty() || part.len() > 9 || !is_number(whole) || !is_number(part) {
        return None;
    }
    let nanoseconds: u64 = format!("{part:0<9}").parse().ok()?;
    let whole = whole.parse::<u64>().ok().filter(|whole| *whole < 1_000_000_000)?;
    Some(Duration(Duration::from_secs(whole).0 + nanoseconds))
}

fn level(word: &str) -> Option<Option<i16>> {
    match word {
        "-" => Some(None),
        _ => word.parse().ok().filter(|level| (-120..=0).contains(level)).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "# seconds, cell 0, cell 1\n\n0 -60 -95\n40.5 -95 - # the second is gone\n";

    #[test]
    fn levels_go_straight_from_point_to_point() {
        let signal = Signal::parse(SCRIPT).unwrap();
        let at = |ms, cell| signal.level_dbm(Duration::from_millis(ms), cell);
        assert_eq!((at(0, 0), at(0, 1)), (Some(-60), Some(-95)));
        assert_eq!((at(20_250, 0), at(20_250, 1)), (Some(-78), Some(-95)), "half way, rounded down");
        assert_eq!((at(40_500, 0), at(40_500, 1), at(99_000, 0)), (Some(-95), None, Some(-95)));
        assert_eq!((at(0, 2), signal.end()), (None, Duration::from_millis(40_500)));
        assert_eq!(Signal::default().level_dbm(Duration::ZERO, 0), None);
    }

    #[test]
    fn a_line_that_is_none_is_named() {
        for (script, told) in [
            ("x -60", "line 1: x is no time in seconds"),
            ("0 -60\n1.-5 -60", "line 2: 1.-5 is no time in seconds"),
            ("0 -60\n1 60", "line 2: 60 is no level: -120 to 0 dBm, or - for none"),
            ("0 -60\n1 -60 -70", "line 2: levels of 2 cells, and of 1 before"),
            ("0 -60\n\n0 -61", "line 3: its time is not later than that of the line before"),
        ] {
            assert_eq!(Signal::parse(script).unwrap_err().to_string(), told);
        }
    }
}
