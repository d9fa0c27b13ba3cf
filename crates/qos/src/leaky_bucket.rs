//! The leaky bucket of BSSGP's flow control (08.18 clause 8.2 [48.018]), in exact integers.
//!
//! On a PDU of length L at the instant Tc: B* = B + L − R·(Tc − Tp); where that is below L it becomes L; where it is
//! above Bmax the PDU does not conform and nothing changes; otherwise the PDU passes, B = B* and Tp = Tc.
//!
//! The counter is held in bits · 10⁻⁹, so that R (bit/s) times a span (ns) is a whole number of its units: nothing is
//! rounded, and nothing drifts however long the bucket lives. It fits in 64 bits since no bucket is larger than
//! [`BMAX_OCTETS_MAX`]; where R times a span does not fit, the bucket has long been empty.

use gannet_machine::time::Instant;
use serde::{Deserialize, Serialize};

/// Units of the counter in one octet: 8 bits of 10⁹ units.
const UNITS_PER_OCTET: u64 = 8_000_000_000;

/// The largest bucket, 1 GiB. A larger Bmax counts as this one, and so does what is in a bucket, which errs on the side
/// of sending later.
pub const BMAX_OCTETS_MAX: u32 = 1 << 30;

/// The highest counter. One more PDU of at most [`BMAX_OCTETS_MAX`] can be added to it without overflow.
const LEVEL_MAX: u64 = BMAX_OCTETS_MAX as u64 * UNITS_PER_OCTET;

/// A leaky bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeakyBucket {
    /// B at the instant `updated`, at most [`LEVEL_MAX`].
    level: u64,
    /// Tp.
    updated: Instant,
    rate_bit_per_s: u64,
    /// At most [`BMAX_OCTETS_MAX`].
    bmax_octets: u32,
}

impl LeakyBucket {
    /// A bucket in which everything conforms: it leaks faster than anything can arrive.
    pub const OPEN: Self = Self::new(BMAX_OCTETS_MAX as u64, u64::MAX);

    /// An empty bucket of `bmax_octets` that leaks `rate_bit_per_s`.
    #[must_use]
    #[inline]
    pub const fn new(bmax_octets: u64, rate_bit_per_s: u64) -> Self {
        Self { level: 0, updated: Instant::ZERO, rate_bit_per_s, bmax_octets: Self::clamped(bmax_octets) }
    }

    #[inline]
    const fn clamped(octets: u64) -> u32 {
        if octets < BMAX_OCTETS_MAX as u64 {
            #[expect(clippy::cast_possible_truncation, reason = "less than a constant that is a u32")]
            let octets = octets as u32;
            octets
        } else {
            BMAX_OCTETS_MAX
        }
    }

    /// Bmax, in octets.
    #[must_use]
    #[inline]
    pub const fn bmax_octets(&self) -> u64 {
        self.bmax_octets as u64
    }

    /// R, in bit/s.
    #[must_use]
    #[inline]
    pub const fn rate_bit_per_s(&self) -> u64 {
        self.rate_bit_per_s
    }

    /// B less what has leaked since Tp, in units.
    #[inline]
    const fn level_at(&self, now: Instant) -> u64 {
        let span_ns = now.since(self.updated).0;
        self.level.saturating_sub(self.rate_bit_per_s.saturating_mul(span_ns))
    }

    #[inline]
    const fn bmax(&self) -> u64 {
        self.bmax_octets as u64 * UNITS_PER_OCTET
    }

    /// What is in the bucket at `now`, in octets, a part of an octet counted as a whole one.
    #[must_use]
    pub const fn level_octets(&self, now: Instant) -> u64 {
        self.level_at(now).div_ceil(UNITS_PER_OCTET)
    }

    /// True where everything has leaked: the bucket is as good as a new one.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self, now: Instant) -> bool {
        self.level_at(now) == 0
    }

    /// The counter after a PDU of `octets` that conforms at `now`.
    #[inline]
    const fn after(&self, now: Instant, octets: u64) -> Option<u64> {
        if octets > self.bmax_octets as u64 || self.rate_bit_per_s == 0 {
            return None;
        }
        let after = self.level_at(now) + octets * UNITS_PER_OCTET;
        if after <= self.bmax() { Some(after) } else { None }
    }

    /// Does a PDU of `octets` conform at `now`?
    #[inline]
    #[must_use]
    pub const fn conforms(&self, now: Instant, octets: u64) -> bool {
        self.after(now, octets).is_some()
    }

    /// The first instant, `now` or later, at which a PDU of `octets` conforms if no other passes before it. `None`
    /// where it never does: it is longer than Bmax, or R is 0 and the bucket closed by that.
    #[must_use]
    #[inline]
    pub fn next_conforming(&self, now: Instant, octets: u64) -> Option<Instant> {
        if octets > self.bmax_octets() || self.rate_bit_per_s == 0 {
            return None;
        }
        let after = self.level_at(now) + octets * UNITS_PER_OCTET;
        let over = after.saturating_sub(self.bmax());
        if over == 0 {
            return Some(now);
        }
        Some(Instant(now.0.checked_add(over.div_ceil(self.rate_bit_per_s))?))
    }

    /// Lets a PDU of `octets` pass, or changes nothing and returns false where it does not conform at `now`.
    #[inline]
    #[must_use]
    pub const fn admit(&mut self, now: Instant, octets: u64) -> bool {
        let Some(after) = self.after(now, octets) else { return false };
        self.set(now, after);
        true
    }

    /// Takes new values of Bmax and R from `now` on. What is in the bucket stays there, and what has leaked until now
    /// has leaked at the former rate.
    pub const fn reconfigure(&mut self, now: Instant, bmax_octets: u64, rate_bit_per_s: u64) {
        self.set(now, self.level_at(now));
        self.bmax_octets = Self::clamped(bmax_octets);
        self.rate_bit_per_s = rate_bit_per_s;
    }

    /// Sets B to `percent` of Bmax: the bucket-full ratio that the BSS measured (08.18 clause 11.3.46).
    pub fn set_full_ratio(&mut self, now: Instant, percent: u8) {
        let level = u128::from(self.bmax()) * u128::from(percent) / 100;
        self.set(now, u64::try_from(level).unwrap_or(u64::MAX));
    }

    /// Takes `octets` out that the BSS has discarded or given to another cell (08.18 clauses 8.1 and 8.3).
    pub const fn take_out(&mut self, now: Instant, octets: u64) {
        self.set(now, self.level_at(now).saturating_sub(octets.saturating_mul(UNITS_PER_OCTET)));
    }

    /// Puts `octets` in that came to the BSS by another way, conforming or not (08.18 clause 8.1: transferred LL-PDUs).
    pub const fn put_in(&mut self, now: Instant, octets: u64) {
        self.set(now, self.level_at(now).saturating_add(octets.saturating_mul(UNITS_PER_OCTET)));
    }

    /// B = `level` and Tp = `now`, unless the caller's clock went back.
    #[inline]
    const fn set(&mut self, now: Instant, level: u64) {
        self.level = if level < LEVEL_MAX { level } else { LEVEL_MAX };
        if now.0 > self.updated.0 {
            self.updated = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_machine::time::Duration;

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

    #[test]
    fn the_largest_values_are_exact_too() {
        let now = Instant(u64::MAX / 2);
        let mut large = LeakyBucket::new(u64::MAX, 1);
        assert_eq!(large.bmax_octets(), u64::from(BMAX_OCTETS_MAX));
        large.set_full_ratio(now, 255);
        assert_eq!(large.level_octets(now), u64::from(BMAX_OCTETS_MAX));
        large.take_out(now, 9);
        assert!(large.admit(now, 8) && !large.admit(now, 2) && large.admit(now, 1) && !large.admit(now, 1));
        large.put_in(now, u64::MAX);
        let all = u64::from(BMAX_OCTETS_MAX);
        assert_eq!(large.next_conforming(now, all), Some(Instant(now.0 + all * UNITS_PER_OCTET)));
        assert_eq!(large.next_conforming(Instant(u64::MAX - 1), all + 1), None);
        let mut open = LeakyBucket::OPEN;
        assert!((1..100).all(|ns| open.admit(Instant(ns), 1 << 20)));
    }
}
