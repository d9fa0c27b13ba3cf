//! The time that an acknowledgement takes, as Jacobson and Karels estimate it (RFC 6298).

use gannet_machine::time::Duration;
use serde::{Deserialize, Serialize};

/// T201 is never shorter: acknowledgements are sent by machines that do other things too.
const SHORTEST: Duration = Duration::from_millis(10);

/// How much longer than a round trip it is at least (G of RFC 6298, section 2), in µs: twice the time between two moments at which
/// links are woken.
const GRANULARITY_US: u64 = 2 * super::transmit::WOKEN_AT / 1000;

/// How often T201 is doubled at most.
const DOUBLED_MOST: u8 = 12;

/// Mean, mean deviation and the shortest, in microseconds; 0 before the first measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct RoundTrip {
    mean_us: u32,
    deviation_us: u32,
    shortest_us: u32,
    /// How often T201 has run out since the last measurement.
    doubled: u8,
}

impl RoundTrip {
    /// Takes a measurement over. It must be of a frame that was sent once: of one that was sent again nobody knows which of
    /// both was acknowledged (Karn).
    pub(super) fn measured(&mut self, took: Duration) {
        let Duration(ns) = took;
        // An hour is more than any T200.
        let us = u32::try_from((ns / 1000).clamp(1, 3_600_000_000)).unwrap_or(u32::MAX);
        self.doubled = 0;
        if self.mean_us == 0 {
            let shortest_us = if self.shortest_us == 0 { us } else { self.shortest_us.min(us) };
            *self = Self { mean_us: us, deviation_us: us / 2, shortest_us, doubled: 0 };
            return;
        }
        self.shortest_us = self.shortest_us.min(us);
        let error = us.abs_diff(self.mean_us);
        self.deviation_us = self.deviation_us - self.deviation_us / 4 + error / 4;
        self.mean_us = self.mean_us - self.mean_us / 8 + us / 8;
    }

    /// The path took so long while nothing was on it. What an acknowledgement takes where a window of frames is before it, that does not
    /// say.
    pub(super) fn established(&mut self, took: Duration) {
        if self.shortest_us == 0 {
            self.set_shortest(took);
        }
    }

    /// The shortest so far.
    pub(super) fn shortest(self) -> Option<Duration> {
        (self.shortest_us != 0).then(|| Duration::from_micros(self.shortest_us.into()))
    }

    /// A round trip takes less than twice as long as the shortest: nothing waits on the path for as long.
    pub(super) const fn is_near_shortest(self) -> bool {
        self.mean_us < self.shortest_us.saturating_mul(2)
    }

    /// The path is another one than it was when the shortest was found.
    pub(super) fn set_shortest(&mut self, took: Duration) {
        let Duration(ns) = took;
        self.shortest_us = u32::try_from((ns / 1000).max(1)).unwrap_or(u32::MAX);
    }

    /// T201 has run out. It stays twice as long until the next measurement (RFC 6298, section 5), not only until something is
    /// acknowledged: where T201 is shorter than the round trip every frame is sent twice, and none is measured.
    pub(super) fn expired(&mut self) {
        self.doubled = (self.doubled + 1).min(DOUBLED_MOST);
    }

    /// A frame that was sent once was acknowledged so long after it was sent, be it that it asked for that or not.
    pub(super) fn took(&mut self, took: Duration) {
        if self.shortest().is_some_and(|shortest| took < shortest) {
            self.set_shortest(took);
        }
    }

    /// The same as [`RoundTrip::timeout`], however often T201 has run out.
    pub(super) fn usual(self, longest: Duration) -> Duration {
        Self { doubled: 0, ..self }.timeout(longest)
    }

    /// How long an acknowledgement is waited for, at most `longest`, which is also waited as long as nothing was
    /// measured.
    pub(super) fn timeout(self, longest: Duration) -> Duration {
        if self.mean_us == 0 {
            return longest;
        }
        let us = u64::from(self.mean_us) + (u64::from(self.deviation_us) * 4).max(GRANULARITY_US);
        let Duration(once) = Duration::from_micros(us).max(SHORTEST);
        Duration(once << self.doubled).min(longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_secs(5);

    #[test]
    fn the_first_measurement_counts_whole_and_later_ones_by_an_eighth() {
        let mut trip = RoundTrip::default();
        assert_eq!(trip.timeout(LONGEST), LONGEST);
        trip.measured(Duration::from_millis(700));
        assert_eq!(trip.timeout(LONGEST), Duration::from_millis(700 + 4 * 350));
        trip.measured(Duration::from_millis(1500));
        assert_eq!((trip.mean_us, trip.deviation_us), (800_000, 462_500));
        assert_eq!(trip.shortest(), Some(Duration::from_millis(700)));
        for _ in 0..100 {
            trip.measured(Duration::from_millis(100));
        }
        let Duration(settled) = trip.timeout(LONGEST);
        assert!((102_000_000..103_000_000).contains(&settled), "{settled}");
    }

    #[test]
    fn it_stays_within_its_limits() {
        let mut trip = RoundTrip::default();
        trip.measured(Duration::ZERO);
        assert_eq!(trip.timeout(LONGEST), SHORTEST);
        trip.measured(Duration(u64::MAX));
        assert_eq!(trip.timeout(LONGEST), LONGEST);
        assert_eq!(trip.timeout(Duration::from_millis(100)), Duration::from_millis(100));
        for _ in 0..300 {
            trip.expired();
        }
        assert_eq!(trip.timeout(LONGEST), LONGEST);
    }

    #[test]
    fn what_has_run_out_stays_twice_as_long_until_the_next_measurement() {
        let mut trip = RoundTrip::default();
        trip.measured(Duration::from_millis(100));
        for by in [1, 2, 4, 8] {
            assert_eq!(trip.timeout(LONGEST), Duration::from_millis(300) * by);
            trip.expired();
        }
        trip.measured(Duration::from_millis(100));
        assert_eq!(trip.timeout(LONGEST), Duration::from_millis(250));
    }
}
