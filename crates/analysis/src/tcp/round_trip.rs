//! Round trips: samples, the timeout that they make, and their oscillation.

use super::number::is_older;
use crate::record::{Proof, Stamp};
use std::collections::VecDeque;

/// The smallest timeout that is assumed: that of Linux. RFC 6298 has one second.
const TIMEOUT_MIN_NS: u64 = 200_000_000;
/// The timeout before there is a sample (RFC 6298, clause 2.1).
const TIMEOUT_FIRST_NS: u64 = 1_000_000_000;
/// Values of TSval that are remembered.
const VALUES_MAX: usize = 4_096;

/// Smoothed round trip and its variation (RFC 6298, clause 2).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Estimator(Option<(u64, u64)>);

impl Estimator {
    pub(super) const fn sample(&mut self, rtt_ns: u64) {
        let (smooth, variation) = match self.0 {
            None => (rtt_ns, rtt_ns / 2),
            Some((smooth, variation)) => {
                let difference = smooth.abs_diff(rtt_ns);
                (smooth - smooth / 8 + rtt_ns / 8, variation - variation / 4 + difference / 4)
            }
        };
        self.0 = Some((smooth, variation));
    }

    pub(super) fn timeout_ns(self) -> u64 {
        self.0.map_or(TIMEOUT_FIRST_NS, |(smooth, variation)| {
            TIMEOUT_MIN_NS.max(smooth.saturating_add(variation.saturating_mul(4)))
        })
    }
}

/// When values of TSval were seen first, and what was acknowledged by then: the echo of a value tells how long the way to the other
/// end and back is, and which acknowledgement that end had when it sent (RFC 7323).
#[derive(Debug, Clone, Default)]
pub(super) struct Clock {
    values: VecDeque<Value>,
}

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) tsval: u32,
    pub(super) first: Stamp,
    pub(super) proof: Proof,
    pub(super) last: Stamp,
    /// The highest acknowledgement with this value.
    pub(super) acknowledged: u64,
    is_echoed: bool,
}

impl Clock {
    /// A segment with a value left here.
    pub(super) fn note(&mut self, tsval: u32, (at, proof): (Stamp, Proof), acknowledged: u64) {
        match self.values.back_mut() {
            Some(last) if last.tsval == tsval => {
                last.acknowledged = last.acknowledged.max(acknowledged);
                last.last = at;
            }
            Some(last) if is_older(tsval, last.tsval) => {}
            _ => {
                if self.values.len() >= VALUES_MAX {
                    self.values.pop_front();
                }
                self.values.push_back(Value {
                    tsval,
                    first: at,
                    proof,
                    last: at,
                    acknowledged,
                    is_echoed: false,
                });
            }
        }
    }

    /// The value that is echoed.
    pub(super) fn find(&self, tsecr: u32) -> Option<Value> {
        let index = self.values.partition_point(|value| is_older(value.tsval, tsecr));
        self.values.get(index).filter(|value| value.tsval == tsecr).copied()
    }

    /// When a value left first, where it is echoed for the first time.
    pub(super) fn echo(&mut self, tsecr: u32) -> Option<(Stamp, Proof)> {
        let index = self.values.partition_point(|value| is_older(value.tsval, tsecr));
        let value = self.values.get_mut(index).filter(|value| value.tsval == tsecr && !value.is_echoed)?;
        value.is_echoed = true;
        Some((value.first, value.proof))
    }
}

/// By how much each second of a row of round trips is longer, in nanoseconds, with the part of neighbours that agree.
///
/// Medians of those at odd and at even places are compared. `None` where there are fewer than eight, or where fewer than nine of ten
/// neighbours go the same way: a drift or noise is no oscillation.
#[must_use]
pub fn oscillation(rtts_ns: &[u64]) -> Option<(u64, f64)> {
    if rtts_ns.len() < 8 {
        return None;
    }
    let half = |odd: usize| {
        let mut values: Vec<u64> = rtts_ns.iter().skip(odd).step_by(2).copied().collect();
        crate::series::quantile(&mut values, 0.5)
    };
    let (even, odd) = (half(0)?, half(1)?);
    let (mut agree, mut pairs) = (0_u64, 0_u64);
    for (index, pair) in rtts_ns.windows(2).enumerate() {
        let &[one, next] = pair else { continue };
        let (at_even, at_odd) = if index.is_multiple_of(2) { (one, next) } else { (next, one) };
        pairs += 1;
        agree += u64::from(if odd > even { at_odd > at_even } else { at_even > at_odd });
    }
    let part = crate::series::real(agree) / crate::series::real(pairs);
    (part >= 0.9 && even != odd).then_some((even.abs_diff(odd), part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_is_that_of_the_specification() {
        let mut estimator = Estimator::default();
        assert_eq!(estimator.timeout_ns(), 1_000_000_000);
        estimator.sample(400_000_000);
        assert_eq!(estimator.timeout_ns(), 400_000_000 + 4 * 200_000_000);
        (0..200).for_each(|_| estimator.sample(400_000_000));
        assert!((400_000_000..401_000_000).contains(&estimator.timeout_ns()));
        (0..200).for_each(|_| estimator.sample(1_000));
        assert_eq!(estimator.timeout_ns(), 200_000_000);
    }

    #[test]
    fn an_echo_is_a_sample_once() {
        let mut clock = Clock::default();
        let at = |at| (Stamp(at), Proof { file: 0, frame: at });
        clock.note(u32::MAX, at(100), 5);
        clock.note(u32::MAX, at(150), 6);
        clock.note(1, at(200), 7);
        assert_eq!(
            clock.find(u32::MAX).map(|value| (value.first, value.acknowledged)),
            Some((Stamp(100), 6))
        );
        assert_eq!(clock.echo(u32::MAX), Some(at(100)));
        assert_eq!(clock.echo(u32::MAX), None);
        assert_eq!(clock.echo(1), Some(at(200)));
        assert_eq!(clock.echo(0), None, "never seen");
        (0..10_000).for_each(|n| clock.note(n, at(u64::from(n)), 0));
        assert!(clock.values.len() <= VALUES_MAX);
    }

    #[test]
    fn each_second_round_trip_longer_is_an_oscillation_and_a_drift_is_none() {
        let swinging: Vec<u64> = (0..20).map(|n| 600 + 100 * (n % 2) + n % 3).collect();
        let (by, part) = oscillation(&swinging).unwrap();
        assert!((98..=102).contains(&by) && part > 0.99, "{by} {part}");
        let other_way: Vec<u64> = swinging.iter().skip(1).copied().collect();
        assert!(oscillation(&other_way).is_some());
        let drifting: Vec<u64> = (0..20).map(|n| 600 + 10 * n).collect();
        assert_eq!(oscillation(&drifting), None);
        assert_eq!(oscillation(&swinging[..7]), None);
        assert_eq!(oscillation(&[500; 20]), None);
    }
}
