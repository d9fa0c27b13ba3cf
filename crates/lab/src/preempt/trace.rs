//! What one run leaves behind, and what is read from it.
//!
//! All that the experiment says comes from [`Trace`]: segments as both hosts saw them, why each was sent, what happened to the mobile on
//! the radio, and how its blocks grew. Sequence numbers are positions in the stream, counted from the SYN.

use crate::radio::probe::{Blocks, Mark};
use crate::radio::seen::{Seen, Spot};
use crate::tcp::{Point, Reason};
use core::ops::Range;
use gannet_machine::time::{Duration, Instant};
use gannet_node::bss::radio::Way;
use std::collections::{BTreeMap, BTreeSet};

/// The part of the undisturbed rate that is called recovered.
const RECOVERED: f64 = 0.95;
const SECOND: Duration = Duration::from_secs(1);

/// The raw record of a run.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    /// The run, from the connection's first packet.
    pub span: Range<Instant>,
    /// When calls had all PDCHs.
    pub periods: Vec<Range<Instant>>,
    /// Segments, in the order of time.
    pub seen: Vec<Seen>,
    /// What the sender noted of each segment.
    pub points: Vec<(Instant, Point)>,
    /// What happened to the mobile on the radio.
    pub marks: Vec<(Instant, Mark)>,
    /// Downlink data blocks.
    pub blocks: Vec<(Instant, Blocks)>,
}

/// What brought data back after resources had returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Restart {
    /// The mobile asked for an uplink TBF: it had something to say.
    Terminal,
    /// The server sent a segment after the return, and the base station sought the mobile for it.
    Server,
    /// The base station sought the mobile for what it had.
    Network,
}

impl Restart {
    /// For the table and the JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Server => "server",
            Self::Network => "network",
        }
    }
}

/// Segments that were sent again, by what had become of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Again {
    /// No copy had come or came: each copy before was lost.
    pub lost: u64,
    /// Another copy came, so that this one was not needed.
    pub needless: u64,
}

/// What a preemption did to a stream, as the study tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Story {
    /// Segments lost in a row.
    pub lost: u64,
    /// What brought data back.
    pub restart: Option<Restart>,
    /// Why the first segment was sent again.
    pub again: Option<Reason>,
}

/// The name of why a segment was sent again.
#[must_use]
pub const fn reason_name(reason: Reason) -> &'static str {
    match reason {
        Reason::New => "new",
        Reason::Fast => "fast retransmit",
        Reason::Timeout => "timeout",
    }
}

/// Seconds from one time to another; negative ones are none.
pub fn seconds(from: Instant, to: Instant) -> f64 {
    to.since(from).as_secs_f64()
}

impl Trace {
    /// Segments with data that were seen at a place.
    pub fn data(&self, spot: Spot) -> impl Iterator<Item = &Seen> {
        self.seen.iter().filter(move |seen| seen.spot == spot && seen.data.0 < seen.data.1)
    }

    /// Segments that the server sent, and of these those that begin below what was sent before.
    #[must_use]
    pub fn sent_again(&self) -> (u64, u64) {
        let (mut all, mut again, mut highest) = (0, 0, 0);
        for seen in self.data(Spot::Sent) {
            all += 1;
            again += u64::from(seen.data.0 < highest);
            highest = highest.max(seen.data.1);
        }
        (all, again)
    }

    /// Octets in order at the client, each time at which they grew.
    #[must_use]
    pub fn in_order(&self) -> Vec<(Instant, u64)> {
        let mut waiting: BTreeMap<u64, u64> = BTreeMap::new();
        // The SYN has position 0.
        let (mut next, mut all) = (1, Vec::new());
        for seen in self.data(Spot::Came) {
            let end = waiting.entry(seen.data.0).or_default();
            *end = (*end).max(seen.data.1);
            let before = next;
            while let Some(first) = waiting.first_entry().filter(|first| *first.key() <= next) {
                next = next.max(first.remove());
            }
            if next > before {
                all.push((seen.at, next - 1));
            }
        }
        all
    }

    /// Octets that came to the client and had come before.
    #[must_use]
    pub fn came_twice(&self) -> u64 {
        let octets: u64 = self.data(Spot::Came).map(|seen| seen.data.1 - seen.data.0).sum();
        let places: BTreeSet<(u64, u64)> = self.data(Spot::Came).map(|seen| seen.data).collect();
        octets - places.into_iter().map(|(start, end)| end - start).sum::<u64>()
    }

    /// Bits of the stream a second, in order at the client.
    #[must_use]
    pub fn goodput_bit_per_s(&self) -> f64 {
        let octets = self.in_order().last().map_or(0, |(_, octets)| *octets);
        crate::radio::as_f64(octets * 8) / seconds(self.span.start, self.span.end)
    }

    /// Round trips in seconds as tcptrace counts them, each with its time: a segment is measured by the acknowledgement that ends
    /// with it, where neither it nor one before it was sent again since.
    #[must_use]
    pub fn round_trips(&self) -> Vec<(Instant, f64)> {
        // By the end of a segment: when it was sent.
        let (mut sent, mut highest, mut una) = (BTreeMap::new(), 0, 0);
        let mut all = Vec::new();
        for seen in &self.seen {
            match seen.spot {
                Spot::Sent if seen.data.0 < highest => {
                    // It and all behind it are ambiguous from now on.
                    drop(sent.split_off(&(seen.data.0 + 1)));
                }
                Spot::Sent if seen.data.0 < seen.data.1 => {
                    highest = seen.data.1;
                    sent.insert(seen.data.1, seen.at);
                }
                Spot::Answered if seen.acknowledges > una => {
                    una = seen.acknowledges;
                    if let Some(at) = sent.get(&una) {
                        all.push((seen.at, seconds(*at, seen.at)));
                    }
                    sent = sent.split_off(&(una + 1));
                }
                _ => {}
            }
        }
        all
    }

    /// Octets that were sent and are not acknowledged, at each time at which they changed at the server.
    #[must_use]
    pub fn outstanding(&self) -> Vec<(Instant, u64)> {
        let (mut highest, mut una, mut all) = (1, 1, Vec::new());
        for seen in &self.seen {
            match seen.spot {
                Spot::Sent => highest = highest.max(seen.data.1),
                Spot::Answered => una = una.max(seen.acknowledges),
                Spot::Came | Spot::Answers => continue,
            }
            all.push((seen.at, highest.saturating_sub(una)));
        }
        all
    }

    /// The longest time, in seconds, in which no segment with data came to the client.
    #[must_use]
    pub fn silence_s(&self) -> f64 {
        let times = self.data(Spot::Came).map(|seen| seen.at);
        longest_gap(times.chain([self.span.end]))
    }

    /// Segments that one preemption took: those in a row, in the order of sending, behind the last that came before it, and before
    /// the first that came after it.
    #[must_use]
    pub fn lost_in_a_row(&self, period: &Range<Instant>) -> u64 {
        let came: BTreeMap<u16, Instant> = self.data(Spot::Came).map(|seen| (seen.id, seen.at)).collect();
        let mut row = 0;
        for seen in self.data(Spot::Sent) {
            match came.get(&seen.id) {
                Some(at) if *at < period.end => row = 0,
                Some(_) => break,
                // What was sent later was not there to be taken.
                None if seen.at >= period.start => {}
                None => row += 1,
            }
        }
        row
    }

    /// What brought data back after a preemption.
    #[must_use]
    pub fn restarted_by(&self, period: &Range<Instant>, next: Instant) -> Option<Restart> {
        let after = self.marks.iter().filter(|(at, _)| (period.end..next).contains(at));
        let (at, mark) = after
            .filter(|(_, mark)| matches!(mark, Mark::Burst | Mark::Assigned(_)))
            .min_by_key(|(at, _)| *at)?;
        if !matches!(mark, Mark::Assigned(Way::Downlink)) {
            return Some(Restart::Terminal);
        }
        let has_sent = self.data(Spot::Sent).any(|seen| (period.end..=*at).contains(&seen.at));
        Some(if has_sent { Restart::Server } else { Restart::Network })
    }

    /// Why the first segment was sent again since a preemption began.
    #[must_use]
    pub fn first_again(&self, period: &Range<Instant>, next: Instant) -> Option<Reason> {
        self.points.iter().filter(|(at, _)| (period.start..next).contains(at)).find_map(|(_, point)| {
            match point {
                Point::Sent(_, _, reason @ (Reason::Fast | Reason::Timeout)) => Some(*reason),
                Point::Sent(_, _, Reason::New) | Point::Acknowledged(_) => None,
            }
        })
    }

    /// What each preemption did, in their order.
    #[must_use]
    pub fn stories(&self) -> Vec<Story> {
        let story = |period: &Range<Instant>| {
            let next = self.next_after(period);
            Story {
                lost: self.lost_in_a_row(period),
                restart: self.restarted_by(period, next),
                again: self.first_again(period, next),
            }
        };
        self.periods.iter().map(story).collect()
    }

    /// What became of the copies before each segment that was sent again. A copy is known by the identification of its IP header, so that a
    /// run has less than 65,536 segments.
    #[must_use]
    pub fn again(&self) -> Again {
        let came: BTreeSet<u16> = self.data(Spot::Came).map(|seen| seen.id).collect();
        let (mut all, mut highest) = (Again::default(), 0);
        let mut brought: BTreeSet<u64> = BTreeSet::new();
        for seen in self.data(Spot::Sent) {
            if seen.data.0 < highest {
                let is_needless = brought.contains(&seen.data.0);
                all.needless += u64::from(is_needless);
                all.lost += u64::from(!is_needless);
            }
            highest = highest.max(seen.data.1);
            if came.contains(&seen.id) {
                brought.insert(seen.data.0);
            }
        }
        all
    }

    /// Downlink data blocks that had come by a time.
    fn came_by(&self, at: Instant) -> u64 {
        let after = self.blocks.partition_point(|(time, _)| *time <= at);
        after.checked_sub(1).and_then(|place| self.blocks.get(place)).map_or(0, |(_, blocks)| blocks.came)
    }

    /// Downlink data blocks a second that came in the whole run.
    #[must_use]
    pub fn blocks_per_s(&self) -> f64 {
        crate::radio::as_f64(self.came_by(self.span.end)) / seconds(self.span.start, self.span.end)
    }

    /// Seconds from the return to the start of the first sliding second in which RLC brought 95 % of an undisturbed run's rate.
    #[must_use]
    pub fn recovery_s(&self, period: &Range<Instant>, next: Instant, undisturbed_per_s: f64) -> Option<f64> {
        let goal = RECOVERED * undisturbed_per_s;
        // A second begins best just before a block.
        let starts = self.blocks.iter().map(|(at, _)| Instant(at.0.saturating_sub(1)));
        let starts = [period.end].into_iter().chain(starts.filter(|at| *at > period.end));
        let brings =
            |at: &Instant| crate::radio::as_f64(self.came_by(*at + SECOND) - self.came_by(*at)) >= goal;
        starts.take_while(|at| *at + SECOND <= next).find(brings).map(|at| seconds(period.end, at))
    }

    /// Seconds from the return until all was acknowledged that had been sent when the preemption began.
    #[must_use]
    pub fn caught_up_s(&self, period: &Range<Instant>) -> Option<f64> {
        let before = self.data(Spot::Sent).take_while(|seen| seen.at <= period.start);
        let highest = before.map(|seen| seen.data.1).max()?;
        let done = |seen: &&Seen| seen.spot == Spot::Answered && seen.acknowledges >= highest;
        self.seen.iter().find(done).map(|seen| seconds(period.end, seen.at))
    }

    /// Seconds from the return to the first downlink data block after it.
    #[must_use]
    pub fn first_block_s(&self, period: &Range<Instant>, next: Instant) -> Option<f64> {
        let sent_at = self.blocks.partition_point(|(at, _)| *at <= period.end).checked_sub(1);
        let before = sent_at.and_then(|place| self.blocks.get(place)).map_or(0, |(_, blocks)| blocks.sent);
        let first = self.blocks.iter().find(|(at, blocks)| *at > period.end && blocks.sent > before)?;
        (first.0 < next).then(|| seconds(period.end, first.0))
    }

    /// When the next preemption begins, or the run is over.
    #[must_use]
    pub fn next_after(&self, period: &Range<Instant>) -> Instant {
        let later = self.periods.iter().map(|other| other.start).filter(|start| *start >= period.end);
        later.min().unwrap_or(self.span.end)
    }
}

/// The longest time between two that follow each other, in seconds.
pub fn longest_gap(times: impl Iterator<Item = Instant>) -> f64 {
    let mut last = None;
    times.fold(0.0, |longest: f64, at| {
        let gap = last.replace(at).map_or(0.0, |last| seconds(last, at));
        longest.max(gap)
    })
}
