//! Echoes of ICMP: how long each took at the place where both request and answer were seen.

use crate::record::{Packet, Proof, Seen, Stamp};
use crate::series::{Series, quantile};
use crate::tcp::report::RoundTrip;
use crate::tcp::round_trip::oscillation;
use serde::Serialize;
use std::collections::BTreeMap;

/// Requests that wait for their answers.
const WAITING_MAX: usize = 4_096;
/// Rows of pings that are told apart.
const ROWS_MAX: usize = 1_024;
/// Round trips of a row that are kept.
const POINTS_MAX: usize = 4_096;

/// Echoes with one identifier at one place.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The place.
    pub place: u16,
    /// Their identifier.
    pub identifier: u16,
    /// Requests, and the first of them.
    pub requests: u64,
    /// The first of them.
    pub first: Proof,
    /// Answers.
    pub round_trips: Series<RoundTrip>,
}

impl Row {
    /// A part of the kept round trips lies below this, in nanoseconds.
    #[must_use]
    pub fn quantile(&self, part: f64) -> Option<u64> {
        quantile(&mut self.rtts(), part)
    }

    /// By how much each second one is longer, in nanoseconds, if they swing; none where some were thinned out.
    #[must_use]
    pub fn oscillation(&self) -> Option<(u64, f64)> {
        (self.round_trips.every() == 1).then(|| oscillation(&self.rtts())).flatten()
    }

    fn rtts(&self) -> Vec<u64> {
        self.round_trips.points().iter().map(|one| one.rtt_ns).collect()
    }
}

/// All echoes of a reading.
#[derive(Debug, Default)]
pub struct Pings {
    waiting: BTreeMap<(u16, u16, u16), (Stamp, Proof)>,
    rows: BTreeMap<(u16, u16), Row>,
}

impl Pings {
    /// Takes a packet.
    pub fn take(&mut self, seen: &Seen<&Packet>) {
        let Some(ip) = seen.what.ip else { return };
        let (Some((identifier, number)), Some(kind)) = (ip.ports, ip.icmp_type) else { return };
        let key = (seen.place, identifier, number);
        let is_request = matches!((ip.protocol, kind), (1, 8) | (58, 128));
        let is_answer = matches!((ip.protocol, kind), (1, 0) | (58, 129));
        if is_request {
            let has_room = self.rows.len() < ROWS_MAX;
            let row = match self.rows.entry((seen.place, identifier)) {
                std::collections::btree_map::Entry::Vacant(_) if !has_room => return,
                entry => entry.or_insert_with(|| Row {
                    place: seen.place,
                    identifier,
                    requests: 0,
                    first: seen.proof,
                    round_trips: Series::new(POINTS_MAX),
                }),
            };
            row.requests += 1;
            if self.waiting.len() >= WAITING_MAX {
                self.waiting.pop_first();
            }
            self.waiting.insert(key, (seen.at, seen.proof));
        } else if is_answer
            && let Some((from, sent)) = self.waiting.remove(&key)
            && let Some(row) = self.rows.get_mut(&(seen.place, identifier))
        {
            let rtt_ns = seen.at.0.saturating_sub(from.0);
            row.round_trips.push(RoundTrip { at: seen.at, rtt_ns, sent, answered: seen.proof });
        }
    }

    /// The rows, by place and identifier.
    #[must_use]
    pub fn finish(self) -> Vec<Row> {
        self.rows.into_values().collect()
    }
}
