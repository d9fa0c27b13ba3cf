//! The state of a stream: one line of the cache for what each packet touches, and the rest beside it.

use super::config::{Lane, Service, StreamConfig};
use super::fifo::Chain;
use super::pool::{Pool, Share};
use crate::token_bucket::{Rate, TokenBucket};
use gannet_machine::drops::Drop;
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

/// The queue of a stream with these marks.
#[inline]
pub(super) const fn lane_of(marks: u8) -> Lane {
    if marks & EXPEDITED != 0 { Lane::Expedited } else { Lane::Assured }
}

/// It is not open, or it is blocked or moving: what few streams are, tested as one.
pub(super) const APART: u8 = 32;

/// What each packet of a stream touches.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub(super) struct Stream {
    /// In its queue; what waits in a queue that it has left stands in [`Rest::before`].
    pub(super) share: Share,
    /// The low part of a count: what is not served yet is its distance from the low part of `served_pdus`.
    pub(super) accepted_pdus: u32,
    pub(super) marks: u8,
    policer: TokenBucket,
    // Apart from each other, so that each is one instruction: side by side they are made one of vectors, which takes five.
    pub(super) served_octets: u64,
    pub(super) dropped_pdus: u64,
    pub(super) served_pdus: u64,
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
            accepted_pdus: 0,
            marks: APART,
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
        let marks = if on { self.marks | mark } else { self.marks & !mark };
        let apart = if marks & (OPEN | BLOCKED | MOVING) == OPEN { 0 } else { APART };
        self.marks = marks & !APART | apart;
    }

    #[inline]
    pub(super) const fn lane(&self) -> Lane {
        lane_of(self.marks)
    }

    /// A packet is served.
    #[inline]
    pub(super) fn serves(&mut self, octets: u32) {
        self.served_pdus += 1;
        self.served_octets += u64::from(octets);
    }

    /// Its packets that wait, wherever.
    pub(super) const fn waiting(&self) -> u32 {
        self.accepted_pdus.wrapping_sub(self.served_low())
    }

    /// The low part of what was served.
    #[expect(clippy::cast_possible_truncation, reason = "of two counts that are never 2³² apart")]
    pub(super) const fn served_low(&self) -> u32 {
        self.served_pdus as u32
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

    /// Counts a packet of the stream in the pool of its queue and by its policer, or says why it is lost.
    #[inline]
    pub(super) fn admit(&mut self, now: Instant, pool: &mut Pool, octets: u32) -> Result<(), Drop> {
        pool.admit(&mut self.share, octets)?;
        if self.is(EXPEDITED) && !self.policer.try_take(now, octets) {
            pool.release(&mut self.share, octets);
            return Err(Drop::EdgeOverRate);
        }
        self.accepted_pdus = self.accepted_pdus.wrapping_add(1);
        Ok(())
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
