//! Connections of TCP, as they pass one place: throughput, round trips, outstanding data, what was sent again and why, outages, and the
//! buffer of the bottleneck.
//!
//! Everything is read from what passed: sequence numbers, acknowledgements, selective acknowledgements and timestamps. Nothing is known
//! of the sender's state. A connection that was seen at two places has a report for each; [`between`] compares them.
//!
//! | what | how |
//! |---|---|
//! | round trip | from a segment that was sent once to the acknowledgement that covers it first (Karn; as tcptrace has it) |
//! | sent again: fast | three duplicate acknowledgements, three segments selectively acknowledged above, any selective acknowledgement just before, or a recovery that is not over |
//! | sent again: timeout | the first unacknowledged segment, after the timeout of RFC 6298; and what follows until all that was outstanding is acknowledged |
//! | sent again: tail probe | the last segment before that timeout (RFC 8985, clause 7) |
//! | spurious | [`report::Spurious`]: by timestamps (RFC 3522), by the receiver's report (RFC 2883), or by time |
//! | buffer | outstanding data when the first lost segment was sent, less idle round trip × rate: what was acknowledged within one idle round trip after it |
//!
//! The rate is that at which the outstanding data drained. A capture at the receiver does not have the lost segment. There the segment
//! before it says by its timestamp's echo which acknowledgement its sender had.

mod answer;
pub mod between;
mod flight;
mod half;
mod number;
mod recovery;
pub mod report;
pub mod round_trip;
#[cfg(test)]
mod tests;

use crate::record::{Proof, Seen, Stamp, TcpSegment};
use half::{Half, RST};
use report::ConnectionReport;
use std::collections::BTreeMap;

/// Limits of what is kept, and thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The width of an interval of throughput at first, in nanoseconds.
    pub interval_ns: u64,
    /// Points of each series of a connection. Connections behind the 64th have fewer.
    pub points_max: usize,
    /// Retransmissions of a direction that are kept; more are counted.
    pub retransmissions_max: usize,
    /// Outages of a direction.
    pub outages_max: usize,
    /// The shortest outage, in nanoseconds; never less than two idle round trips.
    pub outage_ns: u64,
    /// Connections; more are counted.
    pub connections_max: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            interval_ns: 1_000_000_000,
            points_max: 4_096,
            retransmissions_max: 10_000,
            outages_max: 1_000,
            outage_ns: 1_000_000_000,
            connections_max: 4_096,
        }
    }
}

/// Points of all connections together, about.
const POINTS: usize = 64 * 4_096;

/// One connection at one place.
#[derive(Debug)]
struct Connection {
    first: (Stamp, Proof),
    last: (Stamp, Proof),
    reset: Option<Proof>,
    forward: Half,
    backward: Half,
}

/// All connections of a reading.
#[derive(Debug, Default)]
pub struct Tcp {
    settings: Settings,
    connections: BTreeMap<(u32, u16), Connection>,
    left_out: u64,
}

impl Tcp {
    /// Without any.
    #[must_use]
    pub const fn new(settings: Settings) -> Self {
        Self { settings, connections: BTreeMap::new(), left_out: 0 }
    }

    /// Takes a segment. Those of one place come in the order of time.
    pub fn take(&mut self, seen: &Seen<TcpSegment>) {
        let key = (seen.what.connection, seen.place);
        let here = (seen.at, seen.proof);
        let count = self.connections.len();
        let connection = match self.connections.entry(key) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(_) if count >= self.settings.connections_max => {
                self.left_out += 1;
                return;
            }
            std::collections::btree_map::Entry::Vacant(entry) => {
                let points_max = self.settings.points_max.min(POINTS / (count + 1)).max(16);
                let half = Half::new(Settings { points_max, ..self.settings });
                entry.insert(Connection {
                    first: here,
                    last: here,
                    reset: None,
                    forward: half.clone(),
                    backward: half,
                })
            }
        };
        connection.take(seen);
    }

    /// Segments of connections for which there was no room.
    #[must_use]
    pub const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// What is known of each connection, by connection and place.
    #[must_use]
    pub fn finish(self) -> Vec<ConnectionReport> {
        self.connections.into_iter().map(|(key, connection)| connection.finish(key)).collect()
    }
}

impl Connection {
    fn take(&mut self, seen: &Seen<TcpSegment>) {
        let segment = &seen.what;
        self.last = (seen.at, seen.proof);
        if segment.flags & RST != 0 {
            self.reset.get_or_insert(seen.proof);
        }
        let round_ns = self.forward.idle_ns().saturating_add(self.backward.idle_ns());
        let (own, other) = if segment.is_forward {
            (&mut self.forward, &mut self.backward)
        } else {
            (&mut self.backward, &mut self.forward)
        };
        let mut echoed = None;
        if let Some((_, echo)) = segment.timestamps.filter(|_| segment.flags & half::ACK != 0) {
            echoed = other.clock.find(echo);
            other.echoed(echo, self.last);
        }
        let acknowledged = other.answered(seen);
        if let Some((value, _)) = segment.timestamps {
            own.clock.note(value, self.last, acknowledged.unwrap_or(0));
        }
        own.sent(seen, echoed, round_ns);
    }

    fn finish(self, (connection, place): (u32, u16)) -> ConnectionReport {
        let idle = |half: &Half| {
            let of = [half.report.idle_rtt, half.report.idle_echo];
            of.into_iter().flatten().map(|sample| sample.rtt_ns).min()
        };
        let idles = (idle(&self.forward), idle(&self.backward));
        ConnectionReport {
            connection,
            place,
            first: self.first,
            last: self.last,
            reset: self.reset,
            forward: self.forward.finish(idles.1),
            backward: self.backward.finish(idles.0),
        }
    }
}
