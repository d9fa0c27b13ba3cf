//! Segments between two places: how long they took, and which were lost on the way.

use super::half::{FIN, SYN};
use crate::record::{Proof, Seen, Stamp, TcpSegment};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};

/// A segment that has not come to another place after this time is lost: no network holds one longer (RFC 9293 has two minutes).
const WAIT_NS: u64 = 120_000_000_000;
/// Segments that are followed at one time.
const SEGMENTS_MAX: usize = 65_536;
/// Lost segments that are kept for each pair of places; more are counted.
const LOST_MAX: usize = 1_000;

/// By what a copy at another place is known: connection, direction, numbers, identification and time of sending.
type Key = (u32, bool, u32, u32, u16, Option<u32>);

/// A segment and where it was seen.
#[derive(Debug)]
struct Copies {
    key: Key,
    seen: Vec<(u16, Stamp, Proof)>,
}

/// A segment that was seen before and not behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Lost {
    /// The connection.
    pub connection: u32,
    /// Its direction.
    pub is_forward: bool,
    /// When it was seen at the first place.
    pub at: Stamp,
    /// The frame there.
    pub proof: Proof,
    /// Its sequence number on the wire.
    pub sequence: u32,
}

/// What segments with data did on their way from one place to another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Way {
    /// The first place.
    pub from: u16,
    /// The second place.
    pub to: u16,
    /// Segments that were seen at both.
    pub arrived: u64,
    /// The shortest and the longest delay, in nanoseconds; negative where the clocks of the files differ by more.
    pub delay_ns: (i64, i64),
    /// Segments that were seen at the first place alone, while both places were recorded.
    pub lost: u64,
    /// The first of them.
    pub lost_first: Vec<Lost>,
}

/// Statistics of a pair of places in one direction, from the lower place to the higher one.
#[derive(Debug, Default)]
struct Pair {
    arrived: u64,
    sum_ns: i128,
    least_ns: i64,
    most_ns: i64,
    only: [u64; 2],
    lost: [Vec<Lost>; 2],
}

/// Compares the places of all connections.
#[derive(Debug, Default)]
pub struct Between {
    waiting: VecDeque<Copies>,
    /// How many have left `waiting`.
    gone: u64,
    known: BTreeMap<Key, u64>,
    /// When segments of a direction were seen first and last at each place.
    active: BTreeMap<(u32, bool), BTreeMap<u16, (Stamp, Stamp)>>,
    pairs: BTreeMap<(u16, u16, bool), Pair>,
    forgotten: u64,
}

impl Between {
    /// Takes a segment; those of all places come in the order of time.
    pub fn take(&mut self, seen: &Seen<TcpSegment>) {
        let segment = &seen.what;
        if segment.length == 0 && segment.flags & (SYN | FIN) == 0 {
            return;
        }
        let direction = (segment.connection, segment.is_forward);
        let places = self.active.entry(direction).or_default();
        places.entry(seen.place).or_insert((seen.at, seen.at)).1 = seen.at;
        let value = segment.timestamps.map(|(value, _)| value);
        let (connection, is_forward) = direction;
        let key = (connection, is_forward, segment.sequence, segment.length, segment.identification, value);
        let here = (seen.place, seen.at, seen.proof);
        let index = self.known.get(&key).and_then(|number| usize::try_from(number - self.gone).ok());
        if let Some(copies) = index.and_then(|index| self.waiting.get_mut(index))
            && copies.seen.iter().all(|(place, ..)| *place != seen.place)
        {
            copies.seen.push(here);
        } else {
            self.known.insert(key, self.gone + self.waiting.len() as u64);
            self.waiting.push_back(Copies { key, seen: vec![here] });
        }
        while let Some(first) = self.waiting.front().and_then(|copies| copies.seen.first()) {
            let is_over = seen.at.0.saturating_sub(first.1.0) > WAIT_NS;
            if !is_over && self.waiting.len() <= SEGMENTS_MAX {
                break;
            }
            self.forgotten += u64::from(!is_over);
            self.settle();
        }
    }

    /// The oldest one has come wherever it comes.
    fn settle(&mut self) {
        let Some(copies) = self.waiting.pop_front() else { return };
        if self.known.get(&copies.key) == Some(&self.gone) {
            self.known.remove(&copies.key);
        }
        self.gone += 1;
        let (connection, is_forward, sequence, ..) = copies.key;
        let Some(active) = self.active.get(&(connection, is_forward)) else { return };
        for (place, at, proof) in &copies.seen {
            for (other, (from, to)) in active.iter().filter(|(other, _)| *other != place) {
                let (low, high) = (*place.min(other), *place.max(other));
                let pair = self.pairs.entry((low, high, is_forward)).or_default();
                if let Some((_, then, _)) = copies.seen.iter().find(|(seen, ..)| seen == other) {
                    if *place == low {
                        pair.add(then.0.wrapping_sub(at.0).cast_signed());
                    }
                } else if from <= at && at <= to {
                    let side = usize::from(*place == high);
                    let lost = Lost { connection, is_forward, at: *at, proof: *proof, sequence };
                    if let (Some(count), Some(kept)) = (pair.only.get_mut(side), pair.lost.get_mut(side)) {
                        *count += 1;
                        if kept.len() < LOST_MAX {
                            kept.push(lost);
                        }
                    }
                }
            }
        }
    }

    /// Segments that had to be forgotten before their time, as too many were on their way.
    #[must_use]
    pub const fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// The ways between each two places. Which of them comes first is told by the delays.
    #[must_use]
    pub fn finish(mut self) -> Vec<Way> {
        while !self.waiting.is_empty() {
            self.settle();
        }
        let way = |((low, high, _), pair): ((u16, u16, bool), Pair)| {
            let [lost_low, lost_high] = pair.lost;
            let [only_low, only_high] = pair.only;
            (pair.arrived > 0).then(|| {
                if pair.sum_ns >= 0 {
                    let (arrived, delay_ns) = (pair.arrived, (pair.least_ns, pair.most_ns));
                    Way { from: low, to: high, arrived, delay_ns, lost: only_low, lost_first: lost_low }
                } else {
                    let (arrived, delay_ns) = (pair.arrived, (-pair.most_ns, -pair.least_ns));
                    Way { from: high, to: low, arrived, delay_ns, lost: only_high, lost_first: lost_high }
                }
            })
        };
        self.pairs.into_iter().filter_map(way).collect()
    }
}

impl Pair {
    fn add(&mut self, delay_ns: i64) {
        let is_first = self.arrived == 0;
        self.least_ns = if is_first { delay_ns } else { self.least_ns.min(delay_ns) };
        self.most_ns = if is_first { delay_ns } else { self.most_ns.max(delay_ns) };
        self.sum_ns += i128::from(delay_ns);
        self.arrived += 1;
    }
}
