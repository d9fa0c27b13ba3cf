//! Points and sums over time in bounded memory.

use crate::record::Stamp;
use serde::Serialize;

/// Points of which at most a given number is kept: when it is full, each second one goes, and from then on each second one is taken.
#[derive(Debug, Clone, Serialize)]
pub struct Series<T> {
    points: Vec<T>,
    every: u64,
    seen: u64,
    #[serde(skip)]
    most: usize,
}

impl<T> Series<T> {
    /// For at most so many points; at least two.
    #[must_use]
    pub const fn new(most: usize) -> Self {
        Self { points: Vec::new(), every: 1, seen: 0, most: if most < 2 { 2 } else { most } }
    }

    /// Takes a point.
    pub fn push(&mut self, point: T) {
        if self.seen.is_multiple_of(self.every) {
            if self.points.len() >= self.most {
                let mut number = 0_u64;
                self.points.retain(|_| {
                    number += 1;
                    !number.is_multiple_of(2)
                });
                self.every = self.every.saturating_mul(2);
            }
            if self.seen.is_multiple_of(self.every) {
                self.points.push(point);
            }
        }
        self.seen += 1;
    }

    /// Those that are kept, in the order in which they came.
    #[must_use]
    pub fn points(&self) -> &[T] {
        &self.points
    }

    /// Each so manieth point is kept.
    #[must_use]
    pub const fn every(&self) -> u64 {
        self.every
    }

    /// How many came.
    #[must_use]
    pub const fn seen(&self) -> u64 {
        self.seen
    }
}

/// Amounts summed by equal intervals of time. Where there would be too many intervals, two become one.
#[derive(Debug, Clone, Serialize)]
pub struct Sums {
    start: Option<Stamp>,
    width_ns: u64,
    sums: Vec<u64>,
    #[serde(skip)]
    most: usize,
}

impl Sums {
    /// Intervals of this width at first, at most so many; at least two.
    #[must_use]
    pub const fn new(width_ns: u64, most: usize) -> Self {
        let (width_ns, most) = (if width_ns == 0 { 1 } else { width_ns }, if most < 2 { 2 } else { most });
        Self { start: None, width_ns, sums: Vec::new(), most }
    }

    /// Adds an amount at a time. What is earlier than the first time counts in the first interval.
    pub fn add(&mut self, at: Stamp, amount: u64) {
        let start = *self.start.get_or_insert(at);
        let since = at.0.saturating_sub(start.0);
        while since / self.width_ns >= self.most as u64 {
            self.sums = self.sums.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.width_ns = self.width_ns.saturating_mul(2);
        }
        let index = usize::try_from(since / self.width_ns).unwrap_or(0);
        if self.sums.len() <= index {
            self.sums.resize(index + 1, 0);
        }
        if let Some(sum) = self.sums.get_mut(index) {
            *sum += amount;
        }
    }

    /// The beginning of the first interval.
    #[must_use]
    pub const fn start(&self) -> Option<Stamp> {
        self.start
    }

    /// The width of each interval, in nanoseconds.
    #[must_use]
    pub const fn width_ns(&self) -> u64 {
        self.width_ns
    }

    /// The sum of each interval.
    #[must_use]
    pub fn sums(&self) -> &[u64] {
        &self.sums
    }

    /// The middle of each interval in seconds after `from`, and what came in it by the second.
    pub fn rates(&self, from: Stamp) -> impl Iterator<Item = (f64, f64)> {
        let width_s = seconds(self.width_ns);
        let offset = self.start.map_or(0.0, |start| start.seconds_since(from));
        self.sums
            .iter()
            .zip(0_u32..)
            .map(move |(sum, number)| (offset + (f64::from(number) + 0.5) * width_s, real(*sum) / width_s))
    }
}

/// Nanoseconds in seconds.
#[must_use]
pub fn seconds(ns: u64) -> f64 {
    real(ns) / 1e9
}

/// A count as a real number; exact below 2^53.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts and nanoseconds of captures are below 2^53")]
pub const fn real(count: u64) -> f64 {
    count as f64
}

/// A real number as a count: rounded, and nothing below zero.
#[must_use]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast of a float saturates")]
pub fn whole(value: f64) -> u64 {
    value.round() as u64
}

/// The value below which this part of the values lies (nearest rank); `None` where there are none. Sorts them.
#[must_use]
pub fn quantile(values: &mut [u64], part: f64) -> Option<u64> {
    values.sort_unstable();
    let last = values.len().checked_sub(1)?;
    let rank = usize::try_from(whole(part.clamp(0.0, 1.0) * real(last as u64))).unwrap_or(last);
    values.get(rank.min(last)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_series_keeps_each_second_point() {
        let mut series = Series::new(4);
        (0..4).for_each(|n| series.push(n));
        assert_eq!((series.points(), series.every()), (&[0, 1, 2, 3][..], 1));
        (4..17).for_each(|n| series.push(n));
        assert_eq!((series.points(), series.every(), series.seen()), (&[0, 8, 16][..], 8, 17));
        (17..100_000).for_each(|n| series.push(n));
        assert!(series.points().len() <= 4);
    }

    #[test]
    fn sums_lose_nothing_when_intervals_are_joined() {
        let mut sums = Sums::new(10, 4);
        for at in [5, 6, 17, 44, 3] {
            sums.add(Stamp(at), at);
        }
        assert_eq!((sums.sums(), sums.width_ns()), (&[5 + 6 + 3, 17, 0, 44][..], 10));
        sums.add(Stamp(45), 1);
        assert_eq!((sums.sums(), sums.width_ns()), (&[5 + 6 + 3 + 17, 44, 1][..], 20));
        sums.add(Stamp(u64::MAX), 7);
        assert_eq!(sums.sums().iter().sum::<u64>(), 5 + 6 + 3 + 17 + 44 + 1 + 7);
        assert!(sums.sums().len() <= 4);
        let mut two = Sums::new(500_000_000, 10);
        two.add(Stamp(1_000_000_000), 100);
        two.add(Stamp(1_700_000_000), 50);
        let rates: Vec<(f64, f64)> = two.rates(Stamp(0)).collect();
        assert_eq!(rates, [(1.25, 200.0), (1.75, 100.0)]);
    }

    #[test]
    fn a_quantile_is_one_of_the_values() {
        assert_eq!(quantile(&mut [], 0.5), None);
        assert_eq!(quantile(&mut [7], 0.9), Some(7));
        let mut values = [5, 1, 4, 2, 3];
        assert_eq!(
            [0.0, 0.5, 0.9, 1.0, 7.0].map(|part| quantile(&mut values, part).unwrap()),
            [1, 3, 5, 5, 5]
        );
    }
}
