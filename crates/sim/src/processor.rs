//! A processor that a node does not have for itself: in virtual time, work takes as long as others let it.

use gannet_machine::rng::Rng;
use gannet_machine::time::{Duration, Instant};
use std::collections::VecDeque;

/// How fast it is until an instant, in hundredths; 0 while somebody else has it.
#[derive(Debug, Clone, Copy)]
struct Spell {
    until: Instant,
    speed: u64,
}

/// A processor, and what is planned for it. Where nothing is it has its full speed.
#[derive(Debug, Clone)]
pub struct Processor {
    now: Instant,
    spells: VecDeque<Spell>,
}

/// What may be done to a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disturbance {
    /// Other processes have it for 1 to 100 ms at a time, and for as long or longer it is ours.
    Preemption,
    /// A host takes it away for 50 µs to 2 ms, often.
    Steal,
    /// It runs at 55 to 100 % of its speed, another one each 0.1 to 2 s.
    Frequency,
}

impl Disturbance {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Preemption, Self::Steal, Self::Frequency];
}

/// Hundredths of the full speed.
const FULL: u64 = 100;

impl Processor {
    /// One that is ours alone.
    #[must_use]
    pub const fn new(now: Instant) -> Self {
        Self { now, spells: VecDeque::new() }
    }

    /// The time, as the node sees it.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// It is disturbed so from now on for a span of time. Gives the part of its work that it can do meanwhile.
    pub fn disturb(&mut self, disturbances: &[Disturbance], span: Duration, dice: &mut Rng) -> f64 {
        let end = self.now + span;
        let mut done = 0;
        let mut at = self.now;
        let [mut away, mut stolen, mut fast] = [Vec::new(), Vec::new(), Vec::new()];
        for disturbance in disturbances {
            match disturbance {
                Disturbance::Preemption => away = spans(at, end, (1e6, 1e8), (5e5, 6.0), dice),
                Disturbance::Steal => stolen = spans(at, end, (5e4, 2e6), (2e5, 10.0), dice),
                Disturbance::Frequency => fast = speeds(at, end, dice),
            }
        }
        while at < end {
            let of = |spells: &[Spell]| spells.iter().find(|spell| spell.until > at).copied();
            let default = Spell { until: end, speed: FULL };
            let [away, stolen, fast] = [&away, &stolen, &fast].map(|spells| of(spells).unwrap_or(default));
            let until = away.until.min(stolen.until).min(fast.until).min(end);
            let speed = if away.speed == 0 || stolen.speed == 0 { 0 } else { fast.speed };
            done += until.since(at).0 * speed;
            self.spells.push_back(Spell { until, speed });
            at = until;
        }
        part(done, span.0 * FULL)
    }

    /// Does what takes so long on an undisturbed processor.
    pub fn work(&mut self, span: Duration) {
        let mut left = span.0 * FULL;
        while left > 0 {
            let Some(spell) = self.spell() else {
                self.now.0 += left / FULL;
                return;
            };
            let most = spell.until.since(self.now).0 * spell.speed;
            if most >= left {
                self.now.0 += left.div_ceil(spell.speed);
                return;
            }
            left -= most;
            self.now = spell.until;
        }
    }

    /// Has nothing to do up to an instant, or until somebody else gives it back.
    pub fn idle(&mut self, until: Instant) {
        self.now = self.now.max(until);
        if let Some(Spell { until, speed: 0 }) = self.spell() {
            self.now = until;
        }
    }

    fn spell(&mut self) -> Option<Spell> {
        while self.spells.front().is_some_and(|spell| spell.until <= self.now) {
            self.spells.pop_front();
        }
        self.spells.front().copied()
    }
}

#[expect(clippy::cast_precision_loss, reason = "a part need not be exact")]
fn part(of: u64, all: u64) -> f64 {
    of as f64 / all as f64
}

/// A number whose logarithm is spread evenly.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positive, and far below the limit"
)]
fn between((least, most): (f64, f64), dice: &mut Rng) -> u64 {
    (least * (most / least).powf(dice.unit())) as u64
}

/// Somebody else has it for a time within these limits, and then the node for a time from `least` up to so many times what was taken.
fn spans(
    from: Instant,
    end: Instant,
    taken: (f64, f64),
    (least, times): (f64, f64),
    dice: &mut Rng,
) -> Vec<Spell> {
    let (mut at, mut spells) = (from, Vec::new());
    while at < end {
        let span = between(taken, dice);
        #[expect(clippy::cast_precision_loss, reason = "far below the limit")]
        let ours = between((least, (span as f64 * times).max(2.0 * least)), dice);
        for (span, speed) in [(ours, FULL), (span, 0)] {
            at += Duration(span);
            spells.push(Spell { until: at, speed });
        }
    }
    spells
}

fn speeds(from: Instant, end: Instant, dice: &mut Rng) -> Vec<Spell> {
    let (mut at, mut spells) = (from, Vec::new());
    while at < end {
        at += Duration(between((1e8, 2e9), dice));
        spells.push(Spell { until: at, speed: 55 + dice.below(46) });
    }
    spells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_as_long_as_others_let_it() {
        let mut processor = Processor::new(Instant(0));
        processor.work(Duration(100));
        assert_eq!(processor.now(), Instant(100));
        let spells =
            [(200, 0), (400, 50), (500, 0)].map(|(until, speed)| Spell { until: Instant(until), speed });
        processor.spells.extend(spells);
        processor.work(Duration(50));
        assert_eq!(processor.now(), Instant(300));
        processor.work(Duration(80));
        assert_eq!(processor.now(), Instant(530), "50 in 100, and 30");
        processor.spells.push_back(Spell { until: Instant(900), speed: 0 });
        processor.idle(Instant(600));
        assert_eq!(processor.now(), Instant(900));
    }

    #[test]
    fn it_can_do_as_much_as_is_said() {
        for seed in 0..50 {
            let mut dice = Rng::seeded(seed);
            let mut processor = Processor::new(Instant(7));
            let span = Duration::from_secs(2);
            let some = &Disturbance::ALL[..1 + usize::try_from(seed % 3).unwrap()];
            let part = processor.disturb(some, span, &mut dice);
            assert!((0.02..1.0).contains(&part), "{part}");
            let mut done = 0.0;
            while processor.now() < Instant(7) + span {
                processor.work(Duration::from_micros(100));
                done += 1e5;
            }
            assert!((done / 2e9 / part - 1.0).abs() < 0.02, "{done} of {part}");
        }
    }
}
