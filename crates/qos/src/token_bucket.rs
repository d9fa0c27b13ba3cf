//! A token bucket that may run into debt: a PDU conforms while there are tokens at all, and takes what it costs.
//!
//! So the next conforming instant is known without a look at the PDU, and the rate is exact in the long run whatever
//! the sizes; a burst exceeds the bucket by at most one PDU. A token is whatever is limited: an octet, or a nanosecond
//! of processing. Tokens are held in parts of 10⁻⁹, so that rate (tokens/s) times span (ns) is a whole number and
//! nothing drifts.

use gannet_machine::time::Instant;
use serde::{Deserialize, Serialize};

/// Parts in one token.
const PARTS: i64 = 1_000_000_000;

/// What passes in the long run, and what passes at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// Tokens per second; 0 lets nothing pass but the first burst.
    pub per_s: u32,
    /// Tokens after a long pause. At least 1 is taken.
    pub burst: u32,
}

/// A token bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenBucket {
    rate: Rate,
    /// Tokens at the instant `updated`, in parts; below zero is debt.
    level: i64,
    updated: Instant,
}

impl TokenBucket {
    /// A full bucket.
    #[must_use]
    pub fn new(now: Instant, rate: Rate) -> Self {
        Self { rate, level: full(rate), updated: now }
    }

    /// The rate and the burst.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    fn level_at(&self, now: Instant) -> i64 {
        let span_ns = now.since(self.updated).0;
        let gained = i64::try_from(u64::from(self.rate.per_s).saturating_mul(span_ns)).unwrap_or(i64::MAX);
        self.level.saturating_add(gained).min(full(self.rate))
    }

    /// True where a PDU may pass at `now`.
    #[must_use]
    pub fn conforms(&self, now: Instant) -> bool {
        self.level_at(now) > 0
    }

    /// The first instant, `now` or later, at which a PDU may pass; `None` where that is never.
    #[must_use]
    pub fn next_conforming(&self, now: Instant) -> Option<Instant> {
        let level = self.level_at(now);
        if level > 0 {
            return Some(now);
        }
        let missing = level.unsigned_abs().saturating_add(1);
        if self.rate.per_s == 0 {
            return None;
        }
        Some(Instant(now.0.checked_add(missing.div_ceil(u64::from(self.rate.per_s)))?))
    }

    /// Takes `tokens` at `now`, whether they are there or not.
    pub fn take(&mut self, now: Instant, tokens: u32) {
        self.level = self.level_at(now).saturating_sub(i64::from(tokens) * PARTS);
        self.updated = self.updated.max(now);
    }

    /// Takes `tokens` at `now` where a PDU may pass; true where it did.
    #[inline]
    pub fn try_take(&mut self, now: Instant, tokens: u32) -> bool {
        let level = self.level_at(now);
        if level <= 0 {
            return false;
        }
        self.level = level - i64::from(tokens) * PARTS;
        self.updated = self.updated.max(now);
        true
    }

    /// A new rate from `now` on; what has come until now came at the former one.
    pub fn reconfigure(&mut self, now: Instant, rate: Rate) {
        self.level = self.level_at(now).min(full(rate));
        self.updated = self.updated.max(now);
        self.rate = rate;
    }
}

/// The parts in a full bucket.
fn full(rate: Rate) -> i64 {
    i64::from(rate.burst.max(1)) * PARTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_machine::time::Duration;

    #[test]
    fn the_rate_is_exact_whatever_the_sizes() {
        let mut bucket = TokenBucket::new(Instant(5), Rate { per_s: 3, burst: 10 });
        bucket.take(Instant(5), 10);
        assert!(!bucket.conforms(Instant(5)));
        // One part is enough: the debt is paid before the next PDU.
        assert_eq!(bucket.next_conforming(Instant(5)), Some(Instant(6)));
        bucket.take(Instant(6), 7);
        // 7 tokens at 3 a second, less three parts that had come: 2.33 s.
        let next = bucket.next_conforming(Instant(6)).unwrap();
        assert_eq!(next, Instant(6 + 2_333_333_333));
        assert!(bucket.conforms(next) && !bucket.conforms(Instant(next.0 - 1)));
    }

    #[test]
    fn a_pause_fills_it_up_to_the_burst() {
        let mut bucket = TokenBucket::new(Instant::ZERO, Rate { per_s: u32::MAX, burst: 100 });
        bucket.take(Instant::ZERO, u32::MAX);
        let later = Instant::ZERO + Duration::from_secs(1_000_000);
        bucket.take(later, 99);
        assert!(bucket.conforms(later));
        bucket.take(later, 1);
        assert!(!bucket.conforms(later));
        // A clock that goes back gains nothing.
        assert!(!bucket.conforms(Instant::ZERO));
    }

    #[test]
    fn never_is_said_as_never() {
        let mut bucket = TokenBucket::new(Instant::ZERO, Rate { per_s: 0, burst: 1 });
        assert!(bucket.conforms(Instant::ZERO));
        bucket.take(Instant::ZERO, 1);
        assert_eq!(bucket.next_conforming(Instant(9)), None);
        bucket.reconfigure(Instant(9), Rate { per_s: 1_000_000_000, burst: 5 });
        assert_eq!(bucket.next_conforming(Instant(9)), Some(Instant(10)));
    }
}
