//! Circuit-switched calls of a cell: which timeslots they hold, and when that changes.
//!
//! Calls are load and carry no voice. They come by a script, in periods, or by an Erlang model, and have priority over GPRS: a timeslot that a
//! call takes is no PDCH until the call ends.

use gannet_machine::rng::Rng;
use gannet_machine::time::{Duration, Instant};

/// Calls that come at a time that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// When they begin, after the start of the BSS.
    pub at: Duration,
    /// How long they last.
    pub span: Duration,
    /// How many timeslots they take, the highest first.
    pub slots: u8,
}

/// How calls come to a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallPlan {
    /// At these times.
    Script(Vec<Taken>),
    /// Again and again.
    Periodic {
        /// When the first period begins, after the start of the BSS.
        first: Duration,
        /// How long each lasts.
        span: Duration,
        /// From the end of one to the begin of the next.
        between: Duration,
        /// How many timeslots they take, the highest first; 8 for all.
        slots: u8,
    },
    /// Calls arrive by a Poisson process, and last for times with an exponential distribution. Each takes one timeslot, the highest that is
    /// free. A call that finds none is blocked and does not come again.
    Erlang {
        /// Of the dice of the first cell; each next one has one more.
        seed: u64,
        /// Offered load in thousandths of an Erlang.
        millierlangs: u32,
        /// Mean holding time.
        mean_holding: Duration,
    },
}

/// What calls have done in a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallCounts {
    /// Calls that came. A script has one for each timeslot that it takes.
    pub offered: u64,
    /// Of these, those that found no timeslot.
    pub blocked: u64,
}

/// The calls of one cell.
#[derive(Debug)]
pub struct Calls {
    source: Source,
    /// Timeslots that calls may have, bit 0 for timeslot 0.
    timeslots: u8,
    /// Until when a call has each timeslot.
    until: [Option<Instant>; 8],
    counts: CallCounts,
}

#[derive(Debug)]
enum Source {
    Script {
        start: Instant,
        /// The last is the next.
        rest: Vec<Taken>,
    },
    Periodic {
        next: Instant,
        span: Duration,
        between: Duration,
        slots: u8,
    },
    Erlang {
        rng: Rng,
        next: Option<Instant>,
        mean_gap_ns: f64,
        mean_holding_ns: f64,
    },
}

/// The least time between two calls and of a call: a plan of nothing but zeroes does not stop the clock.
const LEAST: Duration = Duration::from_millis(1);

/// A time with an exponential distribution.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped")]
fn exponential(rng: &mut Rng, mean_ns: f64) -> Duration {
    Duration((-(1.0 - rng.unit()).ln() * mean_ns).clamp(LEAST.0 as f64, 1e18) as u64)
}

impl Calls {
    /// The calls of a cell by its number, on these timeslots. They come from `now` on.
    #[must_use]
    pub fn new(plan: &CallPlan, cell: u32, timeslots: u8, now: Instant) -> Self {
        let source = match plan {
            CallPlan::Script(script) => {
                let mut rest = script.clone();
                // Of those that come at the same time the first stands last.
                rest.sort_by_key(|taken| taken.at);
                rest.reverse();
                Source::Script { start: now, rest }
            }
            CallPlan::Periodic { first, span, between, slots } => {
                let (span, between) = ((*span).max(LEAST), (*between).max(LEAST));
                Source::Periodic { next: now + *first, span, between, slots: *slots }
            }
            CallPlan::Erlang { seed, millierlangs, mean_holding } => {
                let mut rng = Rng::seeded(seed.wrapping_add(cell.into()));
                let mean_holding_ns = (*mean_holding).max(LEAST).0 as f64;
                let mean_gap_ns = mean_holding_ns * 1000.0 / f64::from(*millierlangs);
                let next = (*millierlangs > 0).then(|| now + exponential(&mut rng, mean_gap_ns));
                Source::Erlang { rng, next, mean_gap_ns, mean_holding_ns }
            }
        };
        Self { source, timeslots, until: [None; 8], counts: CallCounts::default() }
    }

    /// Timeslots that calls hold, bit 0 for timeslot 0.
    #[must_use]
    pub fn held(&self) -> u8 {
        let held = (0_u8..).zip(&self.until).filter(|(_, until)| until.is_some());
        held.fold(0, |set, (slot, _)| set | 1 << slot)
    }

    /// What they have done.
    #[must_use]
    pub const fn counts(&self) -> CallCounts {
        self.counts
    }

    /// When a call comes or ends next.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        let comes = match &self.source {
            Source::Script { start, rest } => rest.last().map(|taken| *start + taken.at),
            Source::Periodic { next, .. } => Some(*next),
            Source::Erlang { next, .. } => *next,
        };
        self.until.iter().flatten().copied().chain(comes).min()
    }

    /// Calls come and end until now. Those that end make room for those that come at the same time.
    pub fn wake(&mut self, now: Instant) {
        while let Some(due) = self.next_due().filter(|due| *due <= now) {
            self.until.iter_mut().for_each(|until| *until = until.filter(|until| *until > due));
            self.come(due);
        }
    }

    /// The calls that come at this time.
    fn come(&mut self, due: Instant) {
        let (slots, until) = match &mut self.source {
            Source::Script { start, rest } => {
                let Some(taken) = rest.pop_if(|taken| *start + taken.at <= due) else { return };
                (taken.slots, due + taken.span.max(LEAST))
            }
            Source::Periodic { next, span, between, slots } => {
                if *next > due {
                    return;
                }
                *next = due + *span + *between;
                (*slots, due + *span)
            }
            Source::Erlang { rng, next, mean_gap_ns, mean_holding_ns } => {
                if next.is_none_or(|next| next > due) {
                    return;
                }
                *next = Some(due + exponential(rng, *mean_gap_ns));
                (1, due + exponential(rng, *mean_holding_ns))
            }
        };
        let wanted = u32::from(slots).min(self.timeslots.count_ones());
        for _ in 0..wanted {
            self.counts.offered += 1;
            let places = (0..8_u8).zip(&mut self.until).rev();
            let mut free = places.filter(|(slot, place)| self.timeslots >> slot & 1 == 1 && place.is_none());
            match free.next() {
                Some((_, place)) => *place = Some(until),
                None => self.counts.blocked += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PDCHS: u8 = 0b1110_0000;

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// When which timeslots are held, until a time.
    fn life(calls: &mut Calls, until: u64) -> Vec<(u64, u8)> {
        let mut all = Vec::new();
        while let Some(due) = calls.next_due().filter(|due| *due <= Instant::ZERO + s(until)) {
            calls.wake(due);
            all.push((due.0 / 1_000_000_000, calls.held()));
        }
        all
    }

    #[test]
    fn a_script_takes_the_highest_timeslots_for_its_time() {
        let taken = |at, span, slots| Taken { at: s(at), span: s(span), slots };
        // Not in their order; two at the same time, and one that finds nothing.
        let plan = CallPlan::Script(vec![taken(5, 10, 1), taken(1, 6, 1), taken(5, 2, 1), taken(6, 1, 2)]);
        let mut calls = Calls::new(&plan, 0, PDCHS, Instant::ZERO);
        let expected = [(1, 0x80), (5, 0xe0), (6, 0xe0), (7, 0x40), (15, 0)];
        assert_eq!(life(&mut calls, 100), expected);
        assert_eq!(calls.counts(), CallCounts { offered: 5, blocked: 2 });
        assert_eq!(calls.next_due(), None);
    }

    #[test]
    fn periods_have_their_time_between_them() {
        let plan = CallPlan::Periodic { first: s(60), span: s(3), between: s(60), slots: 8 };
        let mut calls = Calls::new(&plan, 0, PDCHS, Instant::ZERO + s(10));
        let expected = [(70, PDCHS), (73, 0), (133, PDCHS), (136, 0), (196, PDCHS)];
        assert_eq!(life(&mut calls, 196), expected);
        assert_eq!(calls.counts(), CallCounts { offered: 9, blocked: 0 });
        let endless = CallPlan::Periodic { first: s(0), span: s(0), between: s(0), slots: 8 };
        let mut calls = Calls::new(&endless, 0, PDCHS, Instant::ZERO);
        calls.wake(Instant::ZERO + s(1));
        assert!(calls.next_due() > Some(Instant::ZERO + s(1)), "the clock goes on");
    }

    /// Erlang's formula B for `servers` and `load`.
    fn erlang_b(servers: u32, load: f64) -> f64 {
        (1..=servers).fold(1.0, |blocked, n| load * blocked / (f64::from(n) + load * blocked))
    }

    #[test]
    fn as_many_calls_are_blocked_as_erlang_says() {
        for (millierlangs, seed) in [(500, 1), (2000, 2), (6000, 3)] {
            let plan = CallPlan::Erlang { seed, millierlangs, mean_holding: s(10) };
            let mut calls = Calls::new(&plan, 0, PDCHS, Instant::ZERO);
            calls.wake(Instant::ZERO + s(1_000_000));
            let CallCounts { offered, blocked } = calls.counts();
            let share = blocked as f64 / offered as f64;
            let expected = erlang_b(3, f64::from(millierlangs) / 1000.0);
            assert!((share - expected).abs() < 0.01, "{millierlangs}: {share} for {expected}");
            let arrivals = offered as f64 / (100.0 * f64::from(millierlangs));
            assert!((arrivals - 1.0).abs() < 0.02, "{millierlangs}: {offered}");
        }
        let nobody = CallPlan::Erlang { seed: 1, millierlangs: 0, mean_holding: s(10) };
        assert_eq!(Calls::new(&nobody, 0, PDCHS, Instant::ZERO).next_due(), None);
    }

    #[test]
    fn cells_have_dice_of_their_own() {
        let plan = CallPlan::Erlang { seed: 7, millierlangs: 1000, mean_holding: s(10) };
        let first = |cell| Calls::new(&plan, cell, PDCHS, Instant::ZERO).next_due();
        assert_eq!(first(0), first(0));
        assert_ne!(first(0), first(1));
    }
}
