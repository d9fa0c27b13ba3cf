//! What a sender counts, and the points of its figures.

use gannet_machine::time::{Duration, Instant};

/// Why a segment left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// For the first time.
    New,
    /// Again, as others behind it have arrived.
    Fast,
    /// Again, as nobody answered in time.
    Timeout,
}

/// A point of the time-sequence figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// A segment left: its first octet and the one behind it, counted from the SYN.
    Sent(u64, u64, Reason),
    /// Everything below was acknowledged.
    Acknowledged(u64),
}

/// Counters, and points where [`Record::keeps_points`].
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// Segments that left, all of them.
    pub segments: u64,
    /// Of these, sent again in a fast recovery.
    pub fast: u64,
    /// Sent again after a timeout.
    pub after_timeout: u64,
    /// Sent again, and had arrived before, says the receiver (RFC 2883).
    pub spurious: u64,
    /// Fast recoveries.
    pub recoveries: u64,
    /// Timeouts.
    pub timeouts: u64,
    /// Those that were found not to be a loss (RFC 5682 or RFC 3522).
    pub spurious_timeouts: u64,
    /// Reductions that were taken back.
    pub undone: u64,
    /// Whether the points below are kept: they grow with the transfer.
    pub keeps_points: bool,
    /// Round trips as the timeout's estimator was told, each with its time.
    pub round_trips: Vec<(Instant, Duration)>,
    /// Window and threshold in segments; the threshold is `u32::MAX` where there is none.
    pub windows: Vec<(Instant, u32, u32)>,
    /// What left and what was acknowledged.
    pub sequence: Vec<(Instant, Point)>,
}

impl Record {
    /// Segments that were sent again.
    #[must_use]
    pub const fn retransmitted(&self) -> u64 {
        self.fast + self.after_timeout
    }

    pub(super) fn sent(&mut self, now: Instant, start: u64, end: u64, reason: Reason) {
        self.segments += 1;
        self.fast += u64::from(reason == Reason::Fast);
        self.after_timeout += u64::from(reason == Reason::Timeout);
        if self.keeps_points {
            self.sequence.push((now, Point::Sent(start, end, reason)));
        }
    }

    pub(super) fn acknowledged(&mut self, now: Instant, number: u64) {
        if self.keeps_points {
            self.sequence.push((now, Point::Acknowledged(number)));
        }
    }

    pub(super) fn round_trip(&mut self, now: Instant, rtt: Duration) {
        if self.keeps_points {
            self.round_trips.push((now, rtt));
        }
    }

    pub(super) fn window(&mut self, now: Instant, cwnd: u32, ssthresh: u32) {
        let is_new = self.windows.last().is_none_or(|(_, c, s)| (*c, *s) != (cwnd, ssthresh));
        if self.keeps_points && is_new {
            self.windows.push((now, cwnd, ssthresh));
        }
    }
}
