//! What a cell and its mobiles drain downlink: the leak rates R of their buckets (08.18 clause 8.2 [48.018]).
//!
//! Measured are block periods that begin with a backlog: more waits than goes in two of them, and the TBF of a mobile takes it and has all its
//! timeslots. Of these the last 224 to 256 count, which are 4.5 to 5.1 s of them, and they need not follow each other.
//!
//! * A cell drains what its data blocks carry: octets of LL-PDUs, by blocks that were used for data or control. Blocks that were left
//!   idle, or in which something was repeated for want of anything better, could have carried more, and do not count.
//! * A mobile drains what went to it in the time in which it had a backlog. So its rate is its share of the cell, less what is sent to
//!   it again. A mobile that does not answer drains nothing.
//!
//! A cell or mobile with less to send is not measured, and its TBFs are set up without being counted as slow. What was measured holds for
//! 30 s after the last backlog. Without it the rate is that of the configured timeslots and coding scheme: a cell that has little to do is
//! never said to be slow.

use super::Pcu;
use super::downlink::DownState;
use super::resources::{Direction, permits};
use crate::rlcmac::rlc::Kind;

/// Block periods in a second: 12 in 240 ms (05.02 clause 6.3.2.2 [45.002]).
pub const PERIODS_PER_S: u64 = 50;
/// Parts of the window, and periods of a part.
const PARTS: usize = 8;
const PART_PERIODS: u64 = 32;
/// What is a backlog, by what goes in a period.
const BACKLOG_PERIODS: u64 = 2;
/// Periods of backlog that say something: a second of them.
const LEAST: u64 = 50;
/// Periods after the last backlog until what was measured is forgotten: 30 s.
const FORGOTTEN: u64 = 1500;

/// A rate at which something is drained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrainRate {
    /// Bits of LL-PDUs in a second.
    pub bit_per_s: u64,
    /// It was measured; otherwise the configuration permits it.
    pub is_measured: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Part {
    periods: u64,
    blocks: u64,
    octets: u64,
}

/// The last periods with a backlog.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Window {
    parts: [Part; PARTS],
    at: usize,
    last: u64,
}

impl Window {
    /// A period with a backlog has passed, with this many blocks of data or control, and octets of LL-PDUs in them.
    fn count(&mut self, period: u64, blocks: u64, octets: u64) {
        if period.saturating_sub(self.last) > FORGOTTEN {
            *self = Self::default();
        }
        self.last = period;
        if self.parts.get(self.at).is_none_or(|part| part.periods >= PART_PERIODS) {
            self.at = (self.at + 1) % PARTS;
            if let Some(part) = self.parts.get_mut(self.at) {
                *part = Part::default();
            }
        }
        if let Some(part) = self.parts.get_mut(self.at) {
            part.periods += 1;
            part.blocks += blocks;
            part.octets += octets;
        }
    }

    /// All of it; `None` where it says nothing at this time.
    fn sum(&self, period: u64) -> Option<Part> {
        let sum = self.parts.iter().fold(Part::default(), |sum, part| Part {
            periods: sum.periods + part.periods,
            blocks: sum.blocks + part.blocks,
            octets: sum.octets + part.octets,
        });
        (sum.periods >= LEAST && period.saturating_sub(self.last) <= FORGOTTEN).then_some(sum)
    }
}

/// The drain of a mobile.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MobileDrain {
    window: Window,
    /// Since this period it does not answer.
    silent_since: Option<u64>,
    /// What was measured while the cell had all its PDCHs; it is known again when they return.
    of_all: Option<Window>,
}

impl MobileDrain {
    /// It does not answer: until it does, nothing goes to it.
    pub(super) fn is_silent(&mut self, period: u64) {
        self.silent_since.get_or_insert(period);
    }

    /// It answers: what went before it was silent says nothing of now, and what the SGSN holds back for it cannot be measured.
    pub(super) fn answers(&mut self) {
        if self.silent_since.take().is_some() {
            self.window = Window::default();
        }
    }

    /// The cell has all its PDCHs or only some of them. What goes on some says nothing of all, and the other way round.
    pub(super) fn channels_are(&mut self, period: u64, all: bool) {
        if all {
            if let Some(mut window) = self.of_all.take() {
                window.last = period;
                self.window = window;
            }
        } else {
            let window = core::mem::take(&mut self.window);
            self.of_all.get_or_insert(window);
        }
    }

    /// Octets that went, in so many periods.
    fn sum_of(&self, period: u64) -> Option<(u64, u64)> {
        let silent = self.silent_since.map_or(0, |since| period.saturating_sub(since));
        match self.window.sum(period) {
            Some(sum) => Some((sum.octets, sum.periods + silent)),
            None => (silent >= LEAST).then_some((0, silent)),
        }
    }
}

/// What is counted in the period that runs.
#[derive(Debug, Default)]
pub(super) struct Drains {
    window: Window,
    period: u64,
    /// The cell has a backlog.
    has_backlog: bool,
    blocks: u64,
    octets: u64,
    /// Mobiles with a backlog, and octets that went to them.
    mobiles: Vec<(u32, u64)>,
}

impl Drains {
    /// A block with a control message goes.
    pub(super) const fn control(&mut self) {
        self.blocks += 1;
    }

    /// A data block goes to a mobile.
    pub(super) fn data(&mut self, mobile: u32, kind: Kind, octets: u64) {
        self.blocks += u64::from(!matches!(kind, Kind::PrematureStalled | Kind::PrematureIdle));
        self.octets += octets;
        if let Some((_, sum)) = self.mobiles.iter_mut().find(|(whose, _)| *whose == mobile) {
            *sum += octets;
        }
    }
}

impl Pcu {
    /// A period begins: what the one before has drained is known.
    pub(super) fn measure_drain(&mut self, period: u64) {
        let before = self.drains.period;
        let mut mobiles = core::mem::take(&mut self.drains.mobiles);
        for (mobile, octets) in mobiles.drain(..) {
            if let Some(context) = self.contexts.get_mut(&mobile) {
                context.drain.window.count(before, 0, octets);
            }
        }
        let Drains { window, has_backlog, blocks, octets, .. } = &mut self.drains;
        if *has_backlog {
            window.count(before, *blocks, *octets);
        }
        (*blocks, *octets) = (0, 0);
        let block = self.config.downlink_coding.data_octets() as u64 * BACKLOG_PERIODS;
        self.drains.period = period;
        self.drains.has_backlog = self.waiting().1 >= block * u64::from(self.usable().count_ones());
        let with_backlog = |tfi| {
            let tbf = self.down.get(usize::from(tfi))?.as_ref()?;
            let drains = tbf.state == DownState::Flowing && tbf.slots == tbf.wanted;
            let least = block * u64::from(tbf.wanted.count_ones());
            (drains && self.waits_at_least(tbf.mobile, least)).then_some((tbf.mobile, 0))
        };
        for (mobile, octets) in self.resources.tfis(Direction::Down).filter_map(with_backlog) {
            if mobiles.iter().all(|(other, _)| *other != mobile) {
                mobiles.push((mobile, octets));
            }
        }
        self.drains.mobiles = mobiles;
    }

    /// Octets that wait for a mobile in LL-PDUs that are in no TBF, and in its TBF.
    fn octets_of(&self, mobile: u32) -> impl Iterator<Item = u64> {
        let context = self.contexts.get(&mobile);
        let tfi = context.and_then(|context| context.down);
        let in_tbf = tfi.and_then(|tfi| self.down.get(usize::from(tfi))?.as_ref());
        let in_tbf = in_tbf.map_or(0, |tbf| tbf.waiting_octets());
        let queued = context.into_iter().flat_map(|context| &context.queue);
        core::iter::once(in_tbf).chain(queued.map(|pdu| pdu.frame.len() as u64))
    }

    fn waits_at_least(&self, mobile: u32, octets: u64) -> bool {
        let mut sum = 0;
        self.octets_of(mobile).any(|more| {
            sum += more;
            sum >= octets
        })
    }

    /// Octets of LL-PDUs that wait for a mobile.
    #[must_use]
    pub fn waiting_of(&self, mobile: u32) -> u64 {
        self.octets_of(mobile).sum()
    }

    /// What the cell drains, as it is known in a block period.
    #[must_use]
    pub fn drain_rate(&self, period: u64) -> DrainRate {
        let pdchs = u64::from(self.drained_by().count_ones());
        match self.drains.window.sum(period).filter(|sum| sum.blocks > 0) {
            Some(sum) => DrainRate {
                bit_per_s: sum.octets * 8 * PERIODS_PER_S * pdchs / sum.blocks,
                is_measured: true,
            },
            None => DrainRate {
                bit_per_s: self.config.downlink_coding.bits_per_second() * pdchs,
                is_measured: false,
            },
        }
    }

    /// What a mobile drains of which nothing is known, alone in the cell, in bit/s: by the timeslots that the multislot class of such
    /// mobiles permits.
    #[must_use]
    pub fn default_drain_rate(&self) -> u64 {
        let (class, pdchs) = (self.config.multislot_class, self.drained_by());
        let wanted = self.config.downlink_slots;
        let set = self.resources.choose(Direction::Down, pdchs, wanted, |set| permits(class, set, 0), |_| 0);
        self.config.downlink_coding.bits_per_second() * u64::from(set.count_ones())
    }

    /// The mobiles whose drain is measured, in their order: each with its rate in bit/s, and the octets that wait for it.
    pub fn measured_mobiles(&self, period: u64, mut out: impl FnMut(u32, u64, u64)) {
        let measured = self.contexts.iter().filter_map(|(mobile, context)| {
            let (octets, periods) = context.drain.sum_of(period)?;
            Some((*mobile, octets * 8 * PERIODS_PER_S / periods))
        });
        let mut all: Vec<(u32, u64)> = measured.collect();
        all.sort_unstable();
        all.into_iter().for_each(|(mobile, rate)| out(mobile, rate, self.waiting_of(mobile)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_the_last_periods_with_a_backlog() {
        let mut window = Window::default();
        for period in 0..49 {
            window.count(period, 3, 90);
        }
        assert_eq!(window.sum(49), None, "less than a second says nothing");
        window.count(49, 3, 90);
        assert_eq!(window.sum(50), Some(Part { periods: 50, blocks: 150, octets: 4500 }));
        // Slower from now on: after 256 periods nothing else is known.
        for period in 100..356 {
            window.count(period, 3, 30);
        }
        let sum = window.sum(356).unwrap();
        assert!(sum.octets == sum.periods * 30 && (224..=256).contains(&sum.periods), "{sum:?}");
    }

    #[test]
    fn what_was_measured_is_forgotten() {
        let mut window = Window::default();
        (0..60).for_each(|period| window.count(period, 1, 20));
        assert!(window.sum(59 + FORGOTTEN).is_some() && window.sum(60 + FORGOTTEN).is_none());
        window.count(5000, 1, 20);
        assert_eq!(window.sum(5000), None, "it begins anew");
    }
}
