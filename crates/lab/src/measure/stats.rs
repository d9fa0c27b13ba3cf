//! Medians with their spread, and the arithmetic of the bounds.

use crate::figure::Point;
use serde_json::{Value, json};

/// Repetitions of one quantity.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// No repetition yet.
    pub const NONE: Self = Self(Vec::new());

    /// One more; what is not a number is not one.
    pub fn push(&mut self, value: f64) {
        if value.is_finite() {
            self.0.push(value);
        }
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True where there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The median: of an even number the mean of the middle two, of none not a number.
    #[must_use]
    pub fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        match (sorted.get(middle.wrapping_sub(1)), sorted.get(middle)) {
            (Some(below), Some(above)) if sorted.len().is_multiple_of(2) => f64::midpoint(*below, *above),
            (_, Some(middle)) => *middle,
            _ => f64::NAN,
        }
    }

    /// The lowest.
    #[must_use]
    pub fn min(&self) -> f64 {
        self.0.iter().copied().fold(f64::NAN, f64::min)
    }

    /// The highest.
    #[must_use]
    pub fn max(&self) -> f64 {
        self.0.iter().copied().fold(f64::NAN, f64::max)
    }

    /// The value that this part of all does not exceed: of none not a number.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in the list")]
    pub fn quantile(&self, part: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let place = (part * sorted.len() as f64).ceil() as usize;
        sorted.get(place.saturating_sub(1)).copied().unwrap_or(f64::NAN)
    }

    /// Half of the way from the lowest to the highest.
    #[must_use]
    pub fn half_spread(&self) -> f64 {
        (self.max() - self.min()) / 2.0
    }

    /// The median with its spread, for a figure.
    #[must_use]
    pub fn point(&self, x: f64) -> Point {
        Point { x, y: self.median(), spread: (self.min(), self.max()) }
    }

    /// Every repetition divided by the same number.
    #[must_use]
    pub fn over(&self, divisor: f64) -> Self {
        Self(self.0.iter().map(|value| value / divisor).collect())
    }

    /// The one of a repetition; not a number where there is none.
    #[must_use]
    pub fn at(&self, repetition: u32) -> f64 {
        self.0.get(repetition as usize).copied().unwrap_or(f64::NAN)
    }

    /// The last one; not a number where there is none.
    #[must_use]
    pub fn last(&self) -> f64 {
        self.0.last().copied().unwrap_or(f64::NAN)
    }

    /// Each less that of the same repetition of others.
    #[must_use]
    pub fn minus(&self, others: &Self) -> Self {
        Self(self.0.iter().zip(&others.0).map(|(value, other)| value - other).collect())
    }

    /// Each with its number from 1, as a figure's x.
    pub fn each(&self) -> impl Iterator<Item = (f64, f64)> {
        self.0.iter().copied().zip(1_u32..).map(|(value, n)| (f64::from(n), value))
    }

    /// For the JSON: median, lowest, highest, and all in their order.
    #[must_use]
    pub fn json(&self) -> Value {
        json!({ "median": self.median(), "min": self.min(), "max": self.max(), "all": self.0 })
    }

    /// `median [min..max]`, in thousands.
    #[must_use]
    pub fn kpps(&self) -> String {
        let [median, min, max] = [self.median(), self.min(), self.max()].map(|value| value / 1000.0);
        format!("{median:.1} [{min:.1}..{max:.1}] kpps")
    }
}

impl FromIterator<f64> for Samples {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut samples = Self::default();
        values.into_iter().for_each(|value| samples.push(value));
        samples
    }
}

/// k, the exceeding packets for each good one, where they are the fraction `f` of all.
#[must_use]
pub fn exceeding_per_good(f: f64) -> f64 {
    f / (1.0 - f)
}

/// The best possible saturation in packets/s, where a good packet costs `c` seconds, one that is dropped at once `d`,
/// and `k` of those come with each good one.
#[must_use]
pub fn best_saturation(c: f64, d: f64, k: f64) -> f64 {
    1.0 / (c + k * d)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_spreads() {
        let odd: Samples = [3.0, 1.0, 2.0].into_iter().collect();
        assert_eq!((odd.median(), odd.min(), odd.max(), odd.half_spread()), (2.0, 1.0, 3.0, 1.0));
        let even: Samples = [4.0, 1.0, 2.0, 3.0, f64::NAN].into_iter().collect();
        assert_eq!((even.len(), even.median()), (4, 2.5));
        assert!(Samples::default().median().is_nan() && Samples::default().is_empty());
        assert_eq!(odd.over(2.0).max(), 1.5);
        assert_eq!((odd.minus(&even).json()["all"].clone(), odd.last()), (json!([-1.0, 0.0, 0.0]), 2.0));
        assert_eq!(odd.point(7.0), Point { x: 7.0, y: 2.0, spread: (1.0, 3.0) });
    }

    #[test]
    fn the_best_saturation_falls_by_what_dropping_costs() {
        assert_eq!(exceeding_per_good(0.5), 1.0);
        assert!((exceeding_per_good(0.9) - 9.0).abs() < 1e-9);
        let (c, d) = (2e-6, 0.4e-6);
        assert!((best_saturation(c, d, 0.0) - 500_000.0).abs() < 1e-3);
        assert!((best_saturation(c, d, 9.0) - 178_571.4).abs() < 0.1);
    }
}
