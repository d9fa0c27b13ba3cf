//! The clock of mobiles whose cell is elsewhere: they count its frames.
//!
//! What is received says its frame. The frame began no later than it came, so that the earliest arrivals are the best: one that
//! is ahead of the clock moves it at once, one that is behind moves it a little, since it may just have been longer on its way.

use super::multiframe::{frame_at, frame_start};
use super::on_air::frame_near;
use gannet_machine::time::{Duration, Instant};

/// A difference beyond this is no delay: the cell has begun to count anew.
const JUMP: Duration = Duration::from_millis(500);
/// An arrival behind the clock moves it by this part of the difference.
const SLACKEN: u64 = 32;

/// What a frame number did to the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// It goes on.
    Steady,
    /// It is another one: nothing that was to happen at a time of it happens.
    Anew,
}

/// The time of the cell, counted in its own frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AirClock {
    /// A time here and the time there.
    at: Option<(Instant, Instant)>,
}

impl AirClock {
    /// The time of the cell; `None` before anything was heard.
    #[must_use]
    pub fn at(&self, now: Instant) -> Option<Instant> {
        let (here, there) = self.at?;
        Some(moved((here, there), now))
    }

    /// The time here of a time of the cell.
    #[must_use]
    pub fn here(&self, then: Instant) -> Option<Instant> {
        let (here, there) = self.at?;
        Some(moved((there, here), then))
    }

    /// A frame with this number begins now, or did a moment ago. Gives the frame as well, counted since the cell began.
    pub fn heard(&mut self, now: Instant, frame_number: u32) -> (u64, Told) {
        let Some(before) = self.at(now) else {
            let frame = u64::from(frame_number);
            self.at = Some((now, frame_start(frame)));
            return (frame, Told::Anew);
        };
        let frame = frame_near(frame_at(before), frame_number);
        let start = frame_start(frame);
        let (ahead, behind) = (start.since(before), before.since(start));
        if ahead > JUMP || behind > JUMP {
            self.at = Some((now, start));
            return (frame, Told::Anew);
        }
        if start >= before {
            self.at = Some((now, start));
        } else {
            self.at = Some((now, Instant(before.0 - behind.0 / SLACKEN)));
        }
        (frame, Told::Steady)
    }
}

/// A time of one clock as the other has it, where the two instants are one.
fn moved((from, to): (Instant, Instant), at: Instant) -> Instant {
    if at >= from { to + at.since(from) } else { Instant(to.0.saturating_sub(from.since(at).0)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rlcmac::multiframe::HYPERFRAME;
    use crate::rlcmac::on_air::frame_number;

    #[test]
    fn the_earliest_arrivals_set_it_and_late_ones_hardly_move_it() {
        let mut clock = AirClock::default();
        assert_eq!(clock.at(Instant(5)), None);
        let (offset, mut rng) = (Duration::from_secs(1000), fastrand::Rng::with_seed(1));
        // Of each frame: the delay in microseconds.
        let hear = |clock: &mut AirClock, frame: u64, delay: u64| {
            let now = frame_start(frame) + offset + Duration::from_micros(delay);
            (now, clock.heard(now, frame_number(frame)))
        };
        let first = u64::from(HYPERFRAME) - 200;
        assert_eq!(hear(&mut clock, first, 9000).1, (first, Told::Anew));
        for frame in first + 1..first + 2000 {
            let delay = rng.u64(100..3000);
            let (now, (told, news)) = hear(&mut clock, frame, delay);
            assert_eq!((told, news), (frame, Told::Steady));
            let there = clock.at(now).unwrap();
            let truth = now.since(Instant::ZERO + offset);
            assert!(there.0 <= truth.0 && truth.0 - there.0 < 2_500_000, "{truth} {there} in frame {frame}");
            assert_eq!(clock.here(there), Some(now));
        }
        // The cell starts again.
        let now = frame_start(first + 2000) + offset;
        assert_eq!(clock.heard(now, 17).1, Told::Anew);
    }
}
