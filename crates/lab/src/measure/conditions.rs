//! What the machine was like while a step ran, beside another.
//!
//! On a shared machine both cores change their place and their speed from second to second. What is compared is measured
//! under the same conditions, or at once one after the other.

use super::account::Step;

/// A core that ran faster or slower by this part ran under other conditions.
const PACE: f64 = 0.04;
/// So do cores of which a cache line's round trip takes so many times as long.
const DISTANCE: f64 = 2.0;
/// And such that were away for so much more of the time.
const AWAY: f64 = 0.01;

/// The machine during a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Conditions {
    /// A cache line from one core to the other and back, in ns; not a number where nobody has looked.
    pub round_trip_ns: f64,
    /// The speed of the SGSN's core as a part of the highest that was seen; the same.
    pub pace: f64,
    /// The part of the step for which one of the cores was away.
    pub away: f64,
}

/// How conditions differ from others; what is not known does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beside {
    /// Something was worse.
    pub worse: bool,
    /// Something was better.
    pub better: bool,
}

impl Beside {
    /// Nothing differed that matters.
    #[must_use]
    pub const fn is_alike(self) -> bool {
        !self.worse && !self.better
    }
}

impl Conditions {
    /// Those of a step.
    #[must_use]
    pub fn of(step: &Step) -> Self {
        Self {
            round_trip_ns: step.round_trip_ns,
            pace: step.speed.unwrap_or(f64::NAN),
            away: step.longest_away_s() / step.whole_s(),
        }
    }

    /// These beside others.
    #[must_use]
    pub fn beside(&self, other: &Self) -> Beside {
        let exceeds = |a: f64, b: f64, times: f64| a > b * times;
        let pace = 1.0 + PACE;
        let worse = |a: &Self, b: &Self| {
            exceeds(a.round_trip_ns, b.round_trip_ns, DISTANCE)
                || exceeds(b.pace, a.pace, pace)
                || a.away > b.away + AWAY
        };
        Beside { worse: worse(self, other), better: worse(other, self) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Conditions = Conditions { round_trip_ns: 100.0, pace: 0.95, away: 0.002 };

    #[test]
    fn conditions_differ_in_distance_pace_and_absence() {
        let alike = Conditions { round_trip_ns: 150.0, pace: 0.98, away: 0.006 };
        assert!(alike.beside(&USUAL).is_alike() && USUAL.beside(&alike).is_alike());
        for worse in [
            Conditions { round_trip_ns: 600.0, ..USUAL },
            Conditions { pace: 0.8, ..USUAL },
            Conditions { away: 0.02, ..USUAL },
        ] {
            assert_eq!(worse.beside(&USUAL), Beside { worse: true, better: false });
            assert_eq!(USUAL.beside(&worse), Beside { worse: false, better: true });
        }
        let unknown = Conditions { round_trip_ns: f64::NAN, pace: f64::NAN, away: 0.0 };
        assert!(unknown.beside(&USUAL).is_alike() && USUAL.beside(&unknown).is_alike());
    }
}
