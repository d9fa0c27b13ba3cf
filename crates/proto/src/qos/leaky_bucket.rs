//! The leaky bucket of BSSGP's flow control (08.18 clause 8.2 [48.018]), in exact integers.
//!
//! On a PDU of length L at the instant Tc: B* = B + L − R·(Tc − Tp); where that is below L it becomes L; where it is
//! above Bmax the PDU does not conform and nothing changes; otherwise the PDU passes, B = B* and Tp = Tc.
//!
//! The counter is held in bits · 10⁻⁹, so that R (bit/s) times a span (ns) is a whole number of its units: nothing is
//! rounded, and nothing drifts however long the bucket lives.

use crate::time::Instant;
use serde::{Deserialize, Serialize};

/// Units of the counter in one octet: 8 bits of 10⁹ units.
const UNITS_PER_OCTET: u128 = 8_000_000_000;

/// A leaky bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeakyBucket {
    /// B at the instant `updated`.
    level: u128,
    /// Tp.
    updated: Instant,
    bmax_octets: u64,
    rate_bit_per_s: u64,
}

impl LeakyBucket {
    /// An empty bucket of `bmax_octets` that leaks `rate_bit_per_s`.
    #[must_use]
    pub const fn new(bmax_octets: u64, rate_bit_per_s: u64) -> Self {
        Self { level: 0, updated: Instant::ZERO, bmax_octets, rate_bit_per_s }
    }

    /// Bmax, in octets.
    #[must_use]
    pub const fn bmax_octets(&self) -> u64 {
        self.bmax_octets
    }

    /// R, in bit/s.
    #[must_use]
    pub const fn rate_bit_per_s(&self) -> u64 {
        self.rate_bit_per_s
    }

    /// B less what has leaked since Tp, in units.
    fn level_at(&self, now: Instant) -> u128 {
        let span_ns = u128::from(now.since(self.updated).0);
        self.level.saturating_sub(u128::from(self.rate_bit_per_s) * span_ns)
    }

    fn bmax(&self) -> u128 {
        u128::from(self.bmax_octets) * UNITS_PER_OCTET
    }

    /// What is in the bucket at `now`, in octets, a part of an octet counted as a whole one.
    #[must_use]
    pub fn level_octets(&self, now: Instant) -> u64 {
        u64::try_from(self.level_at(now).div_ceil(UNITS_PER_OCTET)).unwrap_or(u64::MAX)
    }

    /// True where everything has leaked: the bucket is as good as a new one.
    #[must_use]
    pub fn is_empty(&self, now: Instant) -> bool {
        self.level_at(now) == 0
    }

    /// The first instant, `now` or later, at which a PDU of `octets` conforms if no other passes before it. `None`
    /// where it never does: it is longer than Bmax, or R is 0 and the bucket closed by that.
    #[must_use]
    pub fn next_conforming(&self, now: Instant, octets: u64) -> Option<Instant> {
        if octets > self.bmax_octets || self.rate_bit_per_s == 0 {
            return None;
        }
        let after = self.level_at(now) + u128::from(octets) * UNITS_PER_OCTET;
        let over = after.saturating_sub(self.bmax());
        if over == 0 {
            return Some(now);
        }
        let wait_ns = over.div_ceil(u128::from(self.rate_bit_per_s));
        let wait_ns = u64::try_from(wait_ns).ok()?;
        Some(Instant(now.0.checked_add(wait_ns)?))
    }

    /// Lets a PDU of `octets` pass, or changes nothing and returns false where it does not conform at `now`.
    #[must_use]
    pub fn admit(&mut self, now: Instant, octets: u64) -> bool {
        if self.next_conforming(now, octets) != Some(now) {
            return false;
        }
        self.level = self.level_at(now) + u128::from(octets) * UNITS_PER_OCTET;
        self.settle(now);
        true
    }

    /// Takes new values of Bmax and R from `now` on. What is in the bucket stays there, and what has leaked until now
    /// has leaked at the former rate.
    pub fn reconfigure(&mut self, now: Instant, bmax_octets: u64, rate_bit_per_s: u64) {
        self.level = self.level_at(now);
        self.settle(now);
        self.bmax_octets = bmax_octets;
        self.rate_bit_per_s = rate_bit_per_s;
    }

    /// Sets B to `percent` of Bmax: the bucket-full ratio that the BSS measured (08.18 clause 11.3.46).
    pub fn set_full_ratio(&mut self, now: Instant, percent: u8) {
        self.level = self.bmax() * u128::from(percent) / 100;
        self.settle(now);
    }

    /// Takes `octets` out that the BSS has discarded or given to another cell (08.18 clauses 8.1 and 8.3).
    pub fn take_out(&mut self, now: Instant, octets: u64) {
        self.level = self.level_at(now).saturating_sub(u128::from(octets) * UNITS_PER_OCTET);
        self.settle(now);
    }

    /// Puts `octets` in that came to the BSS by another way, conforming or not (08.18 clause 8.1: transferred LL-PDUs).
    pub fn put_in(&mut self, now: Instant, octets: u64) {
        self.level = self.level_at(now) + u128::from(octets) * UNITS_PER_OCTET;
        self.settle(now);
    }

    /// Tp = `now`, unless the caller's clock went back.
    fn settle(&mut self, now: Instant) {
        self.updated = self.updated.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;

    #[test]
    fn a_pdu_waits_to_the_nanosecond() {
        // 8000 bit/s are 1000 octets/s; 3 bit/s do not divide a second evenly.
        let mut bucket = LeakyBucket::new(1000, 8000);
        assert!(bucket.admit(Instant(0), 600));
        assert_eq!(bucket.next_conforming(Instant(0), 500), Some(Instant(100_000_000)));
        assert!(!bucket.admit(Instant(99_999_999), 500));
        assert!(bucket.admit(Instant(100_000_000), 500));
        assert_eq!(bucket.level_octets(Instant(100_000_000)), 1000);
        let mut slow = LeakyBucket::new(1, 3);
        assert!(slow.admit(Instant(0), 1));
        assert_eq!(slow.next_conforming(Instant(0), 1), Some(Instant(2_666_666_667)));
    }

    #[test]
    fn after_an_idle_time_the_counter_is_the_length_of_the_pdu() {
        let mut bucket = LeakyBucket::new(3000, 8000);
        for _ in 0..3 {
            assert!(bucket.admit(Instant(0), 1000));
        }
        let later = Instant::ZERO + Duration::from_secs(10);
        assert!(bucket.is_empty(later));
        assert!(bucket.admit(later, 700));
        assert_eq!(bucket.level_octets(later), 700);
    }

    #[test]
    fn never_is_said_as_never() {
        let bucket = LeakyBucket::new(100, 8000);
        assert_eq!(bucket.next_conforming(Instant(5), 101), None);
        assert_eq!(LeakyBucket::new(100, 0).next_conforming(Instant(5), 1), None);
    }

    #[test]
    fn a_new_rate_counts_from_its_arrival() {
        let mut bucket = LeakyBucket::new(1000, 8000);
        assert!(bucket.admit(Instant(0), 1000));
        bucket.reconfigure(Instant(500_000_000), 1000, 80_000);
        assert_eq!(bucket.level_octets(Instant(500_000_000)), 500);
        assert_eq!(bucket.next_conforming(Instant(500_000_000), 1000), Some(Instant(550_000_000)));
        bucket.set_full_ratio(Instant(500_000_000), 120);
        assert_eq!(bucket.level_octets(Instant(500_000_000)), 1200);
        bucket.take_out(Instant(500_000_000), 200);
        bucket.put_in(Instant(500_000_000), 1);
        assert_eq!(bucket.level_octets(Instant(500_000_000)), 1001);
    }
}
