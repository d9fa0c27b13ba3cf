//! The state of a stream: one line of the cache for what each packet touches, and the rest beside it.

use super::config::{Lane, Service, StreamConfig};
use super::fifo::Chain;
use super::pool::Share;
use crate::token_bucket::{Rate, TokenBucket};
use gannet_machine::time::Instant;

/// It is configured.
pub(super) const OPEN: u8 = 1;
/// It uses the EF queue, and is policed.
pub(super) const EXPEDITED: u8 = 2;
/// It is not served.
pub(super) const BLOCKED: u8 = 4;
/// It has changed its queue, and packets wait in the former one.
pub(super) const MOVING: u8 = 8;
/// It waits for a part of its allocation.
pub(super) const DUE: u8 = 16;

/// What each packet of a stream touches.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub(super) struct Stream {
    /// In its queue; what waits in a queue that it has left stands in [`Rest::before`].
    pub(super) share: Share,
    /// Its packets that wait, wherever.
    pub(super) waiting: u32,
    pub(super) marks: u8,
    policer: TokenBucket,
    pub(super) served_octets: u64,
    pub(super) served_pdus: u64,
    pub(super) dropped_pdus: u64,
}

/// What few packets touch.
#[derive(Debug, Clone)]
pub(super) struct Rest {
    pub(super) config: StreamConfig,
    /// Its allocation, when all of it is granted.
    pub(super) target: u32,
    /// Packets that came to the head of their queue while it was blocked.
    pub(super) parked: Chain,
    /// Packets that came while it was moving: counted in its new queue, and not in that queue's list yet.
    pub(super) held: Chain,
    /// What waits in the queue that it has left.
    pub(super) before: Share,
    pub(super) before_pdus: u32,
}

impl Stream {
    pub(super) fn none() -> Self {
        Self {
            share: Share::default(),
            waiting: 0,
            marks: 0,
            policer: TokenBucket::new(Instant::ZERO, Rate { per_s: 0, burst: 1 }),
            served_octets: 0,
            served_pdus: 0,
            dropped_pdus: 0,
        }
    }

    #[inline]
    pub(super) const fn is(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }

    pub(super) const fn mark(&mut self, mark: u8, on: bool) {
        if on {
            self.marks |= mark;
        } else {
            self.marks &= !mark;
        }
    }

    #[inline]
    pub(super) const fn lane(&self) -> Lane {
        if self.is(EXPEDITED) { Lane::Expedited } else { Lane::Assured }
    }

    /// Polices it by a configuration. What it has used of an earlier one stays used.
    pub(super) fn police(&mut self, now: Instant, config: &StreamConfig, fresh: bool) {
        let rate = Rate { per_s: config.rate, burst: config.burst };
        if fresh {
            self.policer = TokenBucket::new(now, rate);
        } else {
            self.policer.reconfigure(now, rate);
        }
    }

    /// A packet is within the rate of the stream, or the stream has none.
    #[inline]
    pub(super) fn conforms(&self, now: Instant) -> bool {
        !self.is(EXPEDITED) || self.policer.conforms(now)
    }

    /// A packet was accepted.
    #[inline]
    pub(super) fn accepts(&mut self, now: Instant, octets: u32) {
        if self.is(EXPEDITED) {
            self.policer.take(now, octets);
        }
        self.waiting += 1;
    }
}

impl Rest {
    pub(super) const NONE: Self = Self {
        config: StreamConfig { service: Service::BestEffort, rate: 0, burst: 0 },
        target: 0,
        parked: Chain::EMPTY,
        held: Chain::EMPTY,
        before: Share { granted: 0, occupied: 0 },
        before_pdus: 0,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_touches_one_line_of_its_stream() {
        assert_eq!((size_of::<Stream>(), align_of::<Stream>()), (64, 64));
        assert!(size_of::<Rest>() <= 64);
    }
}
