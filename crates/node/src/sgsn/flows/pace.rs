//! What an N-PDU costs, as far as the turns of a driver show it.
//!
//! A driver says what a turn has spent on packets ([`gannet_machine::load::TurnCost`]). That is time by the clock: now and then something
//! else had the processor meanwhile, and some turns did what nobody could take away from it. So the cost is the lower quartile of what
//! the turns of a fifth of a second took: three quarters of these would have to be disturbed, each of which is shorter than the time for which a
//! process keeps the processor at the least. Nothing is carried over from one such window to the next. A turn with a single packet counts as
//! one with many, so that there are windows where there is little to do.
//!
//! It moves nothing but the limit of the node's real time. How many packets may wait for the processor follows from what it serves
//! ([`gannet_qos::flow_queues`]), and of the rounds all quanta and costs change alike.

use gannet_machine::time::{Duration, Instant};
use gannet_qos::flow_queues::Cost;

/// A window is so long, and has so many turns, at the least.
const WINDOW: Duration = Duration::from_millis(200);
const TURNS_MIN: u32 = 8;
/// Of its turns one in so many took no longer than what counts.
const QUARTILE: u32 = 4;

/// What an N-PDU costs. Where no driver tells what turns took, as in a simulation, the first value stays.
#[derive(Debug, Clone)]
pub struct Pace {
    cost: Cost,
    /// What [`Pace::cost`] is multiplied with, in 1024ths.
    factor: u32,
    /// What was served in this turn should have cost so much by `cost`, in ns.
    expected_ns: u64,
    began: Instant,
    turns: Turns,
}

impl Pace {
    pub(super) const fn new(cost: Cost) -> Self {
        Self { cost, factor: 1024, expected_ns: 0, began: Instant::ZERO, turns: Turns::NONE }
    }

    /// What an N-PDU costs, as measured last.
    #[must_use]
    pub fn cost(&self) -> Cost {
        let scaled = |ns: u32| {
            let scaled = u64::from(ns) * u64::from(self.factor) / 1024;
            u32::try_from(scaled).unwrap_or(u32::MAX)
        };
        Cost {
            per_pdu_ns: scaled(self.cost.per_pdu_ns),
            per_1024_octets_ns: scaled(self.cost.per_1024_octets_ns),
        }
    }

    /// A packet of `octets` was served.
    pub(super) fn served(&mut self, octets: u32) {
        self.expected_ns += u64::from(self.cost.of(octets));
    }

    /// What was served since it was told the last time took so long. Gives the cost where that has changed.
    pub(super) fn turn_took(&mut self, now: Instant, took: Duration) -> Option<Cost> {
        let expected_ns = core::mem::take(&mut self.expected_ns);
        if expected_ns == 0 || took == Duration::ZERO {
            return None;
        }
        if self.turns.all == 0 {
            self.began = now;
        }
        self.turns.count(took.0.saturating_mul(1024) / expected_ns);
        if now.since(self.began) < WINDOW || self.turns.all < TURNS_MIN {
            return None;
        }
        let factor = self.turns.quartile();
        self.turns = Turns::NONE;
        (core::mem::replace(&mut self.factor, factor) != factor).then(|| self.cost())
    }
}

/// Factors from 2 to the power of this to that, each power of two in so many bins: a bin is 3 to 6 % wide.
const POWER_MIN: u32 = 6;
const POWERS: u32 = 15;
const BINS_OF_A_POWER: u32 = 16;
const BINS: usize = (POWERS * BINS_OF_A_POWER) as usize;

/// How many turns of a window were so much dearer than expected.
#[derive(Debug, Clone)]
struct Turns {
    all: u32,
    by_factor: [u32; BINS],
}

impl Turns {
    const NONE: Self = Self { all: 0, by_factor: [0; BINS] };

    fn count(&mut self, factor: u64) {
        let factor = factor.clamp(1 << POWER_MIN, (1 << (POWER_MIN + POWERS)) - 1);
        let power = factor.ilog2();
        // The four bits behind the first one.
        let within = factor >> (power - BINS_OF_A_POWER.ilog2()) & u64::from(BINS_OF_A_POWER - 1);
        let bin = u64::from((power - POWER_MIN) * BINS_OF_A_POWER) + within;
        if let Some(count) = usize::try_from(bin).ok().and_then(|bin| self.by_factor.get_mut(bin)) {
            *count += 1;
        }
        self.all += 1;
    }

    /// The middle of the bin that has the turn with a quarter of all before it.
    fn quartile(&self) -> u32 {
        let mut before = self.all / QUARTILE;
        let bins = (0..).zip(&self.by_factor);
        let bin = bins.into_iter().find(|(_, count)| match before.checked_sub(**count) {
            Some(left) => {
                before = left;
                false
            }
            None => true,
        });
        let bin: u32 = bin.map_or(0, |(bin, _)| bin);
        let (power, within) = (POWER_MIN + bin / BINS_OF_A_POWER, bin % BINS_OF_A_POWER);
        let width = 1 << (power - BINS_OF_A_POWER.ilog2());
        (BINS_OF_A_POWER + within) * width + width / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COST: Cost = Cost { per_pdu_ns: 1000, per_1024_octets_ns: 0 };

    /// Turns with a packet each, one every `every_us`, for so many milliseconds.
    fn turns(pace: &mut Pace, now: &mut Instant, (ms, every_us): (u64, u64), took_ns: impl Fn(u64) -> u64) {
        for turn in 0..ms * 1000 / every_us {
            pace.served(100);
            pace.turn_took(*now, Duration(took_ns(turn)));
            now.0 += every_us * 1000;
        }
    }

    /// Within 6 %.
    fn costs(pace: &Pace, ns: u32) -> bool {
        pace.cost().per_pdu_ns.abs_diff(ns) * 16 <= ns
    }

    #[test]
    fn every_factor_has_a_bin_and_comes_back() {
        for factor in (0..40).flat_map(|power| [1 << power, 3 << power, 5 << power]) {
            let mut turns = Turns::NONE;
            turns.count(factor);
            let near = u64::from(turns.quartile());
            let possible = factor.clamp(64, (1 << 21) - 1);
            assert!(near.abs_diff(possible) * 16 <= possible, "{factor}: {near}");
            assert_eq!(turns.by_factor.iter().sum::<u32>(), 1);
        }
    }

    #[test]
    fn it_follows_what_packets_cost_within_a_second_up_and_down() {
        for every_us in [20, 3333, 90_000] {
            let (mut pace, mut now) = (Pace::new(COST), Instant(5));
            for cost_ns in [3000, 40_000, 700, 1000] {
                turns(&mut pace, &mut now, (1600, every_us), |_| cost_ns);
                assert!(costs(&pace, u32::try_from(cost_ns).unwrap()), "{cost_ns}: {pace:?}");
            }
        }
    }

    #[test]
    fn a_cost_is_told_when_it_changes() {
        let (mut pace, mut now, mut told) = (Pace::new(COST), Instant(0), Vec::new());
        for _ in 0..2000 {
            pace.served(100);
            told.extend(pace.turn_took(now, Duration(3000)));
            now.0 += 1_000_000;
        }
        assert_eq!(told, [pace.cost()]);
    }

    #[test]
    fn turns_in_which_something_else_had_the_processor_do_not_count() {
        for every_us in [20, 3333, 90_000] {
            let (mut pace, mut now) = (Pace::new(COST), Instant(5));
            turns(&mut pace, &mut now, (3000, every_us), |_| 3000);
            let before = pace.cost();
            // Two in three, for a hundredth of a second each.
            turns(
                &mut pace,
                &mut now,
                (3000, every_us),
                |turn| if turn % 3 == 0 { 3000 } else { 10_000_000 },
            );
            assert_eq!(pace.cost(), before);
        }
    }

    #[test]
    fn a_turn_that_served_nothing_says_nothing() {
        let mut pace = Pace::new(COST);
        for turn in 0..10_000 {
            assert_eq!(pace.turn_took(Instant(turn * 1_000_000), Duration(7_000_000)), None);
        }
        assert_eq!(pace.cost(), COST);
    }

    #[test]
    fn a_turn_of_many_packets_counts_for_each_of_them() {
        let (mut pace, mut now) = (Pace::new(COST), Instant(0));
        for _ in 0..500 {
            (0..16).for_each(|_| pace.served(100));
            pace.turn_took(now, Duration(32_000));
            now.0 += 1_000_000;
        }
        assert!(costs(&pace, 2000), "{pace:?}");
    }
}
