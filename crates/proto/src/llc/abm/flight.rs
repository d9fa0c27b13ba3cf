//! How many I frames may be on their way at once, beside what the window says.
//!
//! What is sent beyond what the path holds waits in a queue before its narrowest part, and what is sent again waits behind all
//! of it. The window meanwhile stands at what is missing; where it closes before that has come, the path runs empty. So
//! as soon as frames are lost, and the round trip shows a queue, no more are let out than fill the path and a quarter: as many as make
//! the round trip a quarter longer than the shortest. Where nothing is lost, or nothing waits, the window alone counts.

use super::acknowledge::is_after;
use super::round_trip::RoundTrip;
use core::cmp::Ordering;
use gannet_machine::time::Duration;
use serde::{Deserialize, Serialize};

/// There is no lower limit than this, nor than this part of k: on a path that loses some acknowledgements are asked for by every
/// sixteenth frame.
const LEAST: u8 = 32;
const LEAST_OF_K: u8 = 4;
/// Measurements under a limit after which the shortest is found anew: the path may have become a longer one. There are as many in a
/// round trip as acknowledgements are asked for.
const MEASUREMENTS_OF_A_SHORTEST: u8 = 250;
/// Measurements of which the least is the new shortest; an acknowledgement that was lost makes one of them too long.
const SAMPLES: u8 = 2;
/// What is let out meanwhile, as a part of the limit: less than the path holds, so that nothing waits.
const MEASURING_PART: u8 = 2;
/// How long the round trip may be beside the shortest: a frame that is lost twice has then come before 255 others fill the window.
const FILLED: u64 = 5;
const FILLED_OF: u64 = 4;

/// The limit, and how it is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Flight {
    /// I frames that may be on their way.
    most: u8,
    /// The place of the last I frame that was sent under an earlier limit.
    since: u32,
    /// Measurements under a limit since the shortest round trip was found.
    measurements: u8,
    /// Measurements that are still to come for a new shortest.
    samples: u8,
    /// A frame was lost since the last measurement.
    is_lossy: bool,
}

impl Default for Flight {
    fn default() -> Self {
        Self { most: u8::MAX, since: 0, measurements: 0, samples: 0, is_lossy: false }
    }
}

impl Flight {
    /// I frames that may be on their way.
    pub(super) const fn most(self) -> u8 {
        if self.samples > 0 { self.most / MEASURING_PART } else { self.most }
    }

    /// A frame is lost.
    pub(super) const fn lost(&mut self) {
        self.is_lossy = true;
    }

    /// The frame at place `order` of all, of which `last` is the latest, took this long to be acknowledged. What was sent
    /// under an earlier limit says nothing of this one.
    pub(super) fn measured(
        &mut self,
        (order, last): (u32, u32),
        took: Duration,
        k: u8,
        trip: &mut RoundTrip,
    ) {
        let Some(shortest) = trip.shortest() else { return };
        if !is_after(order, self.since) {
            return;
        }
        if self.samples > 0 {
            let is_first = self.samples == SAMPLES;
            trip.set_shortest(if is_first { took } else { shortest.min(took) });
            self.samples -= 1;
            if self.samples == 0 {
                self.since = last;
            }
            return;
        }
        let before = self.most.min(k);
        let wanted = Self::filling(before, shortest, took).max(LEAST).max(k / LEAST_OF_K);
        match wanted.cmp(&before) {
            Ordering::Less if self.is_lossy => self.set(wanted, last),
            Ordering::Less => {}
            Ordering::Equal => self.is_lossy = false,
            Ordering::Greater => self.set(wanted, last),
        }
        if self.most < k {
            self.measurements += 1;
            if self.measurements == MEASUREMENTS_OF_A_SHORTEST {
                (self.measurements, self.samples, self.since) = (0, SAMPLES, last);
            }
        }
    }

    /// Where `flight` frames take `took`, those that would take a quarter more than the shortest round trip.
    fn filling(flight: u8, shortest: Duration, took: Duration) -> u8 {
        let flight = u64::from(flight);
        let (Duration(shortest), Duration(took)) = (shortest, took);
        let wanted = (flight * FILLED).saturating_mul(shortest) / took.max(1) / FILLED_OF;
        u8::try_from(wanted.min(flight * 2)).unwrap_or(u8::MAX)
    }

    const fn set(&mut self, most: u8, last: u32) {
        (self.most, self.since, self.is_lossy) = (most, last, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORTEST: Duration = Duration::from_millis(700);
    /// What the path takes to carry a frame.
    const EACH: Duration = Duration::from_millis(25);

    fn trip() -> RoundTrip {
        let mut trip = RoundTrip::default();
        trip.measured(SHORTEST);
        trip
    }

    /// The round trip with as many frames as are let out on a path whose own is `shortest`.
    fn took(flight: Flight, shortest: Duration) -> Duration {
        shortest.max(EACH * u64::from(flight.most()))
    }

    #[test]
    fn without_loss_the_window_alone_counts() {
        let (mut flight, mut trip) = (Flight::default(), trip());
        for order in 1..1000 {
            flight.measured((order, order), took(flight, SHORTEST), u8::MAX, &mut trip);
        }
        assert_eq!(flight, Flight::default());
    }

    #[test]
    fn with_loss_the_path_is_filled_twice_and_no_limit_is_so_low_that_acknowledgements_stop() {
        let (mut flight, mut trip) = (Flight::default(), trip());
        flight.lost();
        flight.measured((1, 1), took(flight, SHORTEST), u8::MAX, &mut trip);
        assert_eq!(flight.most(), 63, "a quarter of k; the path and a quarter are 35");
        flight.measured((1, 9), Duration::from_secs(60), u8::MAX, &mut trip);
        assert_eq!(flight.most(), 63, "of a frame that was sent before");
        let mut flight = Flight::default();
        flight.lost();
        flight.measured((1, 1), Duration::from_secs(60), 20, &mut trip);
        assert!(flight.most() >= 20, "a short window is no matter of this: {flight:?}");
    }

    #[test]
    fn where_nothing_waits_any_more_the_limit_rises() {
        let (mut flight, mut trip) = (Flight::default(), trip());
        flight.lost();
        flight.measured((1, 1), Duration::from_secs(7), u8::MAX, &mut trip);
        flight.measured((2, 2), SHORTEST, u8::MAX, &mut trip);
        assert_eq!(flight.most(), 78);
        flight.measured((3, 3), SHORTEST * 5, u8::MAX, &mut trip);
        assert_eq!(flight.most(), 78, "nothing is lost");
    }

    #[test]
    fn a_path_that_has_become_longer_is_found() {
        let (mut flight, mut trip) = (Flight::default(), trip());
        let longer = SHORTEST * 4;
        for order in 1..600 {
            flight.lost();
            flight.measured((order, order), took(flight, longer), u8::MAX, &mut trip);
        }
        assert_eq!(trip.shortest(), Some(longer));
        assert!(flight.most() > 120, "112 fill it: {flight:?}");
    }
}
