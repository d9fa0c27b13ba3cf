//! All numbers of a run, from its raw record.

use super::place::Place;
use super::run::Raw;
use super::trace::{Again, Restart, Story, reason_name, seconds};
use crate::measure::stats::Samples;
use crate::radio::airtime::Airtime;
use crate::radio::as_f64;
use crate::radio::seen::Spot;
use crate::report::Cell;
use crate::tcp::Reason;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// One preemption.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Event {
    /// Segments that were lost in a row.
    pub lost: u64,
    /// What brought data back.
    pub restart: Option<Restart>,
    /// Why the first segment was sent again.
    pub again: Option<Reason>,
    /// From the return to the first downlink data block, in seconds.
    pub first_block_s: Option<f64>,
    /// From the return to the start of the first recovered second.
    pub recovery_s: Option<f64>,
    /// From the return until all was acknowledged that had been sent before.
    pub caught_up_s: Option<f64>,
}

/// A run.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Where it stands.
    pub place: Place,
    /// Bits of the stream a second.
    pub goodput_bit_per_s: f64,
    /// Downlink data blocks a second.
    pub blocks_per_s: f64,
    /// Segments with data that left the server.
    pub segments: u64,
    /// Of these, sent again.
    pub again: u64,
    /// Mean round trip as tcptrace has it, in seconds.
    pub rtt_s: f64,
    /// Octets outstanding: mean by time, and the most.
    pub outstanding: (f64, u64),
    /// The longest silence at the client, in seconds.
    pub silence_s: f64,
    /// Of the run's blocks, those in which calls had the PDCHs.
    pub calls: f64,
    /// Of the run's blocks, segments that had come before.
    pub twice: f64,
    /// Segments that were sent again, by what had become of the copies before.
    pub copies: Again,
    /// The rest of the airtime.
    pub airtime: Airtime,
    /// Set-up of a downlink TBF, in seconds.
    pub setups_s: Samples,
    /// Expiries of the sender's timer.
    pub timeouts: u64,
    /// Of these, those that were no loss.
    pub spurious_timeouts: u64,
    /// Fast recoveries.
    pub recoveries: u64,
    /// Expiries of the mobile's timers.
    pub mobile_expiries: u64,
    /// LL-PDUs that the mobile gave up.
    pub given_up: u64,
    /// Drops by name.
    pub drops: BTreeMap<&'static str, u64>,
    /// Each preemption.
    pub events: Vec<Event>,
    /// What does not add up.
    pub faults: Vec<String>,
}

impl Measured {
    /// From a record; `undisturbed_per_s` is the rate of blocks of the same run without preemption.
    #[must_use]
    pub fn of(raw: &Raw, undisturbed_per_s: f64) -> Self {
        let trace = &raw.trace;
        let (segments, again) = trace.sent_again();
        let round_trips = trace.round_trips();
        let sum: f64 = round_trips.iter().map(|(_, rtt)| rtt).sum();
        let event = |(period, story): (_, Story)| {
            let next = trace.next_after(period);
            Event {
                lost: story.lost,
                restart: story.restart,
                again: story.again,
                first_block_s: trace.first_block_s(period, next),
                recovery_s: trace.recovery_s(period, next, undisturbed_per_s),
                caught_up_s: trace.caught_up_s(period),
            }
        };
        let taken: f64 = trace.periods.iter().map(|period| seconds(period.start, period.end)).sum();
        let all_s = seconds(trace.span.start, trace.span.end);
        let carried: u64 = trace.data(Spot::Came).map(|seen| seen.data.1 - seen.data.0).sum();
        Self {
            place: raw.place,
            goodput_bit_per_s: trace.goodput_bit_per_s(),
            blocks_per_s: trace.blocks_per_s(),
            segments,
            again,
            rtt_s: sum / as_f64(round_trips.len() as u64),
            outstanding: outstanding(raw),
            silence_s: trace.silence_s(),
            calls: taken / all_s,
            // Headers and filling of a segment that came twice were spent twice as well.
            twice: as_f64(trace.came_twice()) / as_f64(carried)
                * (raw.airtime.payload + raw.airtime.ip + raw.airtime.llc),
            copies: trace.again(),
            airtime: raw.airtime,
            setups_s: raw.setups_s.clone(),
            timeouts: raw.timeouts,
            spurious_timeouts: raw.spurious_timeouts,
            recoveries: raw.recoveries,
            mobile_expiries: raw.mobile_expiries,
            given_up: raw.given_up,
            drops: raw.drops.clone(),
            events: trace.periods.iter().zip(trace.stories()).map(event).collect(),
            faults: raw.faults.clone(),
        }
    }

    /// Sent again, of all segments, in per cent.
    #[must_use]
    pub fn again_percent(&self) -> f64 {
        as_f64(self.again) * 100.0 / as_f64(self.segments)
    }

    /// Of the time that calls leave, the parts of the downlink's blocks: needed, again (by TCP and by RLC), control, idle.
    #[must_use]
    pub fn spent(&self) -> [(&'static str, f64); 4] {
        let of = &self.airtime;
        let needed = of.payload + of.ip + of.llc + of.rlc - self.twice;
        [
            ("needed", needed),
            ("again", self.twice + of.again),
            ("control", of.control),
            ("idle", of.dummy + of.idle - self.calls),
        ]
    }

    /// A number of each preemption.
    #[must_use]
    pub fn samples(&self, value: impl Fn(&Event) -> Option<f64>) -> Samples {
        self.events.iter().filter_map(value).collect()
    }

    /// Seconds from the return to a recovered second. Not a number where a preemption has none before the next.
    #[must_use]
    pub fn recovery_s(&self) -> Samples {
        self.events.iter().map(|event| event.recovery_s.unwrap_or(f64::INFINITY)).collect()
    }

    /// The part of the preemptions of which something is so.
    #[must_use]
    pub fn part(&self, is: impl Fn(&Event) -> bool) -> f64 {
        let count = self.events.iter().filter(|event| is(event)).count();
        as_f64(count as u64) / as_f64(self.events.len() as u64)
    }

    /// For the JSON.
    #[must_use]
    pub fn cell(&self) -> Cell {
        let list = |value: &dyn Fn(&Event) -> Value| Value::Array(self.events.iter().map(value).collect());
        let metrics = [
            ("goodput_bit_per_s", json!(round(self.goodput_bit_per_s))),
            ("blocks_per_s", json!(round(self.blocks_per_s))),
            ("segments", json!(self.segments)),
            ("segments_again", json!(self.again)),
            ("segments_again_needless", json!(self.copies.needless)),
            ("rtt_mean_s", json!(round(self.rtt_s))),
            ("outstanding_mean_octets", json!(round(self.outstanding.0))),
            ("outstanding_max_octets", json!(self.outstanding.1)),
            ("silence_max_s", json!(round(self.silence_s))),
            ("tbf_setup_median_s", json!(round(self.setups_s.median()))),
            ("timeouts", json!(self.timeouts)),
            ("spurious_timeouts", json!(self.spurious_timeouts)),
            ("fast_recoveries", json!(self.recoveries)),
            ("mobile_timer_expiries", json!(self.mobile_expiries)),
            ("mobile_ll_pdus_given_up", json!(self.given_up)),
            ("airtime_calls", json!(round(self.calls))),
            ("drops", json!(self.drops)),
            ("lost_in_a_row", list(&|event| json!(event.lost))),
            ("restarted_by", list(&|event| json!(event.restart.map(Restart::name)))),
            ("first_sent_again", list(&|event| json!(event.again.map(reason_name)))),
            ("first_block_s", list(&|event| json!(event.first_block_s.map(round)))),
            ("recovery_s", list(&|event| json!(event.recovery_s.map(round)))),
            ("caught_up_s", list(&|event| json!(event.caught_up_s.map(round)))),
        ];
        let spent = self.spent().map(|(name, part)| (format!("airtime_{name}"), json!(round(part))));
        let metrics = metrics.into_iter().map(|(name, value)| (name.to_owned(), value));
        Cell::new(self.place.axes(), metrics.chain(spent))
    }
}

/// Octets outstanding: mean by time, and the most.
fn outstanding(raw: &Raw) -> (f64, u64) {
    let all = raw.trace.outstanding();
    let mut sum = 0.0;
    for pair in all.windows(2) {
        if let [(from, octets), (to, _)] = pair {
            sum += as_f64(*octets) * seconds(*from, *to);
        }
    }
    let span = all.first().zip(all.last()).map_or(f64::NAN, |(first, last)| seconds(first.0, last.0));
    (sum / span, all.iter().map(|(_, octets)| *octets).max().unwrap_or(0))
}

/// Six digits: the same on every machine.
#[must_use]
pub fn round(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}
