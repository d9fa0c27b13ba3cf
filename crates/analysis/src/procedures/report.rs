//! What is said of procedures.

use super::{Cause, Kind};
use crate::record::{Proof, Stamp};
use crate::series::{quantile, seconds};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How a procedure ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It was accepted, or answered.
    Accepted,
    /// It was refused.
    Rejected(Cause),
    /// Nobody answered.
    Unanswered,
    /// It wants no answer: the mobile is switched off.
    NoAnswerWanted,
    /// The capture ends before its timer does.
    UnderWay,
}

/// One procedure, as one place saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Procedure {
    /// Which.
    pub kind: Kind,
    /// The place, as an index into the places of the reading.
    pub place: u16,
    /// The mobile, as an index into the mobiles of the reading.
    pub mobile: Option<u32>,
    /// The first request.
    pub began: (Stamp, Proof),
    /// The first answer.
    pub answered: Option<(Stamp, Proof)>,
    /// What confirms the answer, such as ATTACH COMPLETE.
    pub completed: Option<(Stamp, Proof)>,
    /// How often the request came again.
    pub repeats: u32,
    /// The frames of these, the first ones.
    pub repeated: Vec<Proof>,
    /// How often the answer came again.
    pub answers_again: u32,
    /// How it ended.
    pub outcome: Outcome,
}

impl Procedure {
    /// From the first request to the answer, in nanoseconds.
    #[must_use]
    pub fn duration_ns(&self) -> Option<u64> {
        self.answered.map(|(at, _)| at.0.saturating_sub(self.began.0.0))
    }

    /// The frames that prove it.
    pub fn proofs(&self) -> impl Iterator<Item = Proof> + '_ {
        let ends = [Some(self.began), self.answered, self.completed];
        ends.into_iter().flatten().map(|(_, proof)| proof).chain(self.repeated.iter().copied())
    }

    /// How it ended, in words.
    #[must_use]
    pub fn ending(&self) -> String {
        let after = self.duration_ns().map_or_else(String::new, |ns| format!(" after {:.3} s", seconds(ns)));
        match &self.outcome {
            Outcome::Accepted => format!("accepted{after}"),
            Outcome::Rejected(Cause { number: Some(number), name }) => {
                format!("rejected{after}: {name}, cause {number}")
            }
            Outcome::Rejected(Cause { number: None, name }) => format!("rejected{after}: {name}"),
            Outcome::Unanswered => "not answered".to_owned(),
            Outcome::NoAnswerWanted => "no answer wanted".to_owned(),
            Outcome::UnderWay => "under way at the end of the capture".to_owned(),
        }
    }
}

/// All procedures of a kind at a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The place.
    pub place: u16,
    /// Which.
    pub kind: Kind,
    /// How many.
    pub count: u64,
    /// Accepted.
    pub accepted: u64,
    /// Refused.
    pub rejected: u64,
    /// Without an answer.
    pub unanswered: u64,
    /// Requests that came again.
    pub repeats: u64,
    /// The median of what was accepted, from request to answer, in nanoseconds.
    pub median_ns: Option<u64>,
    /// The longest.
    pub worst_ns: Option<u64>,
    /// The first, and the longest.
    pub proofs: (Proof, Option<Proof>),
}

/// What is known of procedures.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Report {
    /// By place and kind.
    pub rows: Vec<Row>,
    /// All of them, by their beginning.
    pub procedures: Vec<Procedure>,
    /// Procedures beyond the limit, which were not followed.
    pub left_out: u64,
}

impl Report {
    pub(super) fn new(procedures: Vec<Procedure>, left_out: u64) -> Self {
        let mut by: BTreeMap<(u16, Kind), Vec<&Procedure>> = BTreeMap::new();
        for procedure in &procedures {
            by.entry((procedure.place, procedure.kind)).or_default().push(procedure);
        }
        let rows = by.into_iter().filter_map(|((place, kind), all)| row(place, kind, &all)).collect();
        Self { rows, procedures, left_out }
    }

    /// A table by place and kind; empty where there is nothing.
    #[must_use]
    pub fn table(&self, place: impl Fn(u16) -> String) -> String {
        let mut text = String::new();
        if self.rows.is_empty() {
            return text;
        }
        let _ = writeln!(
            text,
            "{:<24} {:<36} {:>7} {:>9} {:>9} {:>11} {:>8} {:>9} {:>9}",
            "place",
            "procedure",
            "count",
            "accepted",
            "rejected",
            "unanswered",
            "repeats",
            "median s",
            "worst s"
        );
        let time = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.3}", seconds(ns)));
        for row in &self.rows {
            let _ = writeln!(
                text,
                "{:<24} {:<36} {:>7} {:>9} {:>9} {:>11} {:>8} {:>9} {:>9}",
                place(row.place),
                row.kind.name(),
                row.count,
                row.accepted,
                row.rejected,
                row.unanswered,
                row.repeats,
                time(row.median_ns),
                time(row.worst_ns)
            );
        }
        text
    }
}

fn row(place: u16, kind: Kind, all: &[&Procedure]) -> Option<Row> {
    let count = |of: fn(&Outcome) -> bool| all.iter().filter(|it| of(&it.outcome)).count() as u64;
    let is_accepted = |it: &&&Procedure| it.outcome == Outcome::Accepted;
    let mut durations: Vec<u64> = all.iter().filter(is_accepted).filter_map(|it| it.duration_ns()).collect();
    let worst = all.iter().filter(is_accepted).max_by_key(|it| it.duration_ns());
    Some(Row {
        place,
        kind,
        count: all.len() as u64,
        accepted: count(|it| *it == Outcome::Accepted),
        rejected: count(|it| matches!(it, Outcome::Rejected(_))),
        unanswered: count(|it| *it == Outcome::Unanswered),
        repeats: all.iter().map(|it| u64::from(it.repeats)).sum(),
        median_ns: quantile(&mut durations, 0.5),
        worst_ns: worst.and_then(|it| it.duration_ns()),
        proofs: (all.first()?.began.1, worst.map(|it| it.began.1)),
    })
}
