//! The numbers of all runs in real time: those of a run in virtual time, and what only the kernel knows.

use super::super::judge::Runs;
use super::super::measured::{Measured, round};
use super::kernel::Cause;
use super::plan::{Run, Tcp};
use super::run::Ran;
use crate::report::Cell;
use serde_json::{Value, json};

/// What a run in virtual time does not have.
#[derive(Debug, Clone)]
pub struct More {
    /// Tail loss probes.
    pub probes: u64,
    /// Of each preemption: why the first segment was sent again.
    pub firsts: Vec<Option<Cause>>,
    /// The lateness that 99 % of all events and N-PDUs did not exceed, and the largest, in seconds.
    pub late_s: [f64; 2],
    /// The world's thread could preempt others.
    pub preempting: bool,
}

/// The runs of one TCP, in the order of the table.
#[derive(Debug)]
pub struct Series {
    /// Which.
    pub tcp: Tcp,
    /// What virtual time has as well.
    pub all: Vec<Measured>,
    /// The rest, of the same runs.
    pub more: Vec<More>,
}

/// For the JSON.
const fn cause_name(cause: Cause) -> &'static str {
    match cause {
        Cause::Fast => "fast retransmit",
        Cause::Timeout => "timeout",
        Cause::Probe => "tail loss probe",
    }
}

impl More {
    fn of(ran: &Ran) -> Self {
        let trace = &ran.raw.trace;
        let first = |period: &core::ops::Range<_>| {
            let until = trace.next_after(period);
            ran.again.iter().find(|(at, _)| (period.start..until).contains(at)).map(|(_, cause)| *cause)
        };
        Self {
            probes: ran.counts.probes,
            firsts: trace.periods.iter().map(first).collect(),
            late_s: [ran.late.quantile_s(0.99), ran.late.latest_s()],
            preempting: ran.late.preempting,
        }
    }

    /// The part of the preemptions after which that was the first reason to send a segment again.
    #[must_use]
    pub fn part(&self, cause: Option<Cause>) -> f64 {
        let count = self.firsts.iter().filter(|first| **first == cause).count();
        crate::radio::as_f64(count as u64) / crate::radio::as_f64(self.firsts.len() as u64)
    }
}

impl Series {
    /// All series of runs that were made beside each other, or one part after the other.
    #[must_use]
    pub fn of(parts: &[Vec<Ran>]) -> Vec<Self> {
        let series = |tcp: Tcp| {
            let mut of = Self { tcp, all: Vec::new(), more: Vec::new() };
            for part in parts {
                for ran in part.iter().filter(|ran| ran.run.tcp == tcp) {
                    let undisturbed = part.iter().find(|other| other.run == ran.run.undisturbed());
                    let rate = undisturbed.map_or(f64::NAN, |other| other.raw.trace.blocks_per_s());
                    of.all.push(Measured::of(&ran.raw, rate));
                    of.more.push(More::of(ran));
                }
            }
            of
        };
        Tcp::ALL.into_iter().map(series).collect()
    }

    /// What is compared within the series.
    #[must_use]
    pub fn runs(&self) -> Runs<'_> {
        Runs(&self.all)
    }

    /// Each run.
    pub fn each(&self) -> impl Iterator<Item = (&Measured, &More)> {
        self.all.iter().zip(&self.more)
    }

    /// For the JSON.
    pub fn cells(&self) -> impl Iterator<Item = Cell> {
        self.each().map(|(of, more)| {
            let run = Run { tcp: self.tcp, place: of.place };
            let firsts: Vec<Value> = more.firsts.iter().map(|first| json!(first.map(cause_name))).collect();
            let [late_s, latest_s] = more.late_s.map(|late_s| json!(round(late_s)));
            let metrics = [
                ("tail_loss_probes", json!(more.probes)),
                ("first_cause", Value::Array(firsts)),
                ("late_p99_s", late_s),
                ("late_max_s", latest_s),
                ("preempts_threads", json!(more.preempting)),
            ];
            let metrics = metrics.into_iter().map(|(name, value)| (name.to_owned(), value));
            Cell::new(run.axes(), of.cell().metrics.into_iter().chain(metrics))
        })
    }
}
