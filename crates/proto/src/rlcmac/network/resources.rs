//! TFIs, USFs and timeslots of a cell: who has which.
//!
//! A TFI names one TBF of its direction on the whole cell, and not only on its PDCHs (44.060 clause 5.4 asks for no more than
//! the latter): a message that was meant for another never finds a TBF of its number.

use crate::rlcmac::multislot::{MultislotClass, Slots};

/// A direction of a TBF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the mobile.
    Down,
    /// From the mobile.
    Up,
}

/// TFIs of a direction (44.060 clause 12.15: five bits).
pub const TFIS: usize = 32;
/// USF values that a mobile can have; the last, 7, is nobody's (44.060 clause 10.4.1).
pub const USFS: u8 = 7;

/// What is taken of a cell.
#[derive(Debug, Clone, Default)]
pub struct Resources {
    tfis: [u32; 2],
    usfs: [u8; 8],
    /// TBFs on each timeslot, by direction.
    load: [[u8; 8]; 2],
}

/// The timeslots of a set, lowest first.
pub fn slots(set: u8) -> impl Iterator<Item = u8> {
    (0..8).filter(move |slot| set >> slot & 1 == 1)
}

impl Resources {
    /// A TFI that no TBF of the direction has.
    pub fn take_tfi(&mut self, direction: Direction) -> Option<u8> {
        let taken = self.tfis.get_mut(direction as usize)?;
        let tfi = (0..32).find(|tfi| *taken >> tfi & 1 == 0)?;
        *taken |= 1 << tfi;
        Some(tfi)
    }

    /// A TBF has ended: its TFI may be another's.
    pub fn give_tfi(&mut self, direction: Direction, tfi: u8) {
        if let Some(taken) = self.tfis.get_mut(direction as usize) {
            *taken &= !(1_u32.checked_shl(u32::from(tfi)).unwrap_or(0));
        }
    }

    /// The TFIs that are taken, lowest first.
    pub fn tfis(&self, direction: Direction) -> impl Iterator<Item = u8> + use<> {
        let mut taken = self.tfis.get(direction as usize).copied().unwrap_or_default();
        core::iter::from_fn(move || {
            let tfi = u8::try_from(taken.trailing_zeros()).ok().filter(|tfi| *tfi < 32)?;
            taken &= taken - 1;
            Some(tfi)
        })
    }

    /// A USF on a timeslot that no TBF has.
    pub fn take_usf(&mut self, slot: u8, per_pdch_max: u8) -> Option<u8> {
        let taken = self.usfs.get_mut(usize::from(slot))?;
        let usf = (0..USFS.min(per_pdch_max)).find(|usf| *taken >> usf & 1 == 0)?;
        *taken |= 1 << usf;
        Some(usf)
    }

    /// True where a timeslot has a USF to give.
    #[must_use]
    pub fn has_usf(&self, slot: u8, per_pdch_max: u8) -> bool {
        let taken = self.usfs.get(usize::from(slot)).copied().unwrap_or(u8::MAX);
        (0..USFS.min(per_pdch_max)).any(|usf| taken >> usf & 1 == 0)
    }

    /// A USF is given back.
    pub fn give_usf(&mut self, slot: u8, usf: u8) {
        if let Some(taken) = self.usfs.get_mut(usize::from(slot)) {
            *taken &= !(1_u8.checked_shl(u32::from(usf)).unwrap_or(0));
        }
    }

    /// A TBF uses these timeslots, or uses them no longer.
    pub fn count(&mut self, direction: Direction, set: u8, is_more: bool) {
        let Some(load) = self.load.get_mut(direction as usize) else { return };
        for slot in slots(set) {
            if let Some(load) = load.get_mut(usize::from(slot)) {
                *load = if is_more { load.saturating_add(1) } else { load.saturating_sub(1) };
            }
        }
    }

    /// TBFs on a timeslot.
    #[must_use]
    pub fn load(&self, direction: Direction, slot: u8) -> u8 {
        self.load.get(direction as usize).and_then(|load| load.get(usize::from(slot))).copied().unwrap_or(0)
    }

    /// The run of `wanted` neighbouring PDCHs that `fits`, or of as many as there are, with the fewest TBFs; among equals the first
    /// with the lowest `cost`. Empty where there is none.
    pub fn choose(
        &self,
        direction: Direction,
        pdchs: u8,
        wanted: u8,
        fits: impl Fn(u8) -> bool,
        cost: impl Fn(u8) -> u32,
    ) -> u8 {
        let busy = |set: u8| slots(set).map(|slot| u32::from(self.load(direction, slot))).sum::<u32>();
        let best =
            |count| runs(pdchs, count).filter(|set| fits(*set)).min_by_key(|set| (busy(*set), cost(*set)));
        (1..=wanted.clamp(1, 8)).rev().find_map(best).unwrap_or(0)
    }
}

/// The runs of `count` neighbouring timeslots in a set.
pub fn runs(set: u8, count: u8) -> impl Iterator<Item = u8> {
    let run = u8::try_from((1_u16 << count.min(8)) - 1).unwrap_or(u8::MAX);
    (0..=8_u8.saturating_sub(count)).map(move |first| run << first).filter(move |run| run & !set == 0)
}

/// Whether a mobile of a class can have these timeslots at once. Downlink ones alone must leave it one of them to send in.
#[must_use]
pub fn permits(class: MultislotClass, down: u8, up: u8) -> bool {
    let is_good = |up: u8| class.permits(Slots(down), Slots(up));
    if up == 0 { slots(down).any(|slot| is_good(1 << slot)) } else { is_good(up) }
}

/// The most timeslots that a mobile of a class can have downlink beside this one uplink.
#[must_use]
pub fn most_down(class: MultislotClass, pdchs: u8, up: u8) -> u32 {
    let most = (1..=8).rev().find(|count| runs(pdchs, *count).any(|down| permits(class, down, up)));
    most.map_or(0, u32::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tfi_and_usf_is_given_once() {
        let mut all = Resources::default();
        let taken: Vec<_> = core::iter::from_fn(|| all.take_tfi(Direction::Up)).collect();
        assert_eq!(taken, (0..32).collect::<Vec<_>>());
        assert_eq!(all.take_tfi(Direction::Down), Some(0), "each direction has its own");
        all.give_tfi(Direction::Up, 17);
        assert_eq!((all.take_tfi(Direction::Up), all.take_tfi(Direction::Up)), (Some(17), None));
        let usfs: Vec<_> = core::iter::from_fn(|| all.take_usf(3, 7)).collect();
        assert_eq!((usfs, all.has_usf(3, 7), all.has_usf(4, 7)), ((0..7).collect(), false, true));
        all.give_usf(3, 2);
        assert_eq!((all.take_usf(3, 2), all.take_usf(3, 7)), (None, Some(2)));
    }

    #[test]
    fn neighbouring_timeslots_with_the_fewest_tbfs_are_chosen() {
        let mut all = Resources::default();
        let choose =
            |all: &Resources, pdchs, wanted| all.choose(Direction::Down, pdchs, wanted, |_| true, |_| 0);
        assert_eq!(choose(&all, 0b1111_0000, 3), 0b0111_0000);
        all.count(Direction::Down, 0b0111_0000, true);
        assert_eq!(choose(&all, 0b1111_0000, 3), 0b1110_0000);
        assert_eq!(choose(&all, 0b1111_0000, 1), 0b1000_0000);
        assert_eq!(choose(&all, 0b1010_0000, 4), 0b1000_0000, "no two are neighbours");
        let even = |set: u8| set & 0b0101_0000 != 0;
        assert_eq!(
            all.choose(Direction::Up, 0b1111_0000, 1, even, |set| u32::from(set == 0b0001_0000)),
            0b0100_0000
        );
        all.count(Direction::Down, 0b0111_0000, false);
        assert_eq!((all.load(Direction::Down, 4), choose(&all, 0, 4)), (0, 0));
    }

    #[test]
    fn class_6_has_three_timeslots_down_beside_the_middle_one_up() {
        let class = MultislotClass::new(6).unwrap();
        let beside = [4, 5, 6, 7].map(|slot| most_down(class, 0b1111_0000, 1 << slot));
        assert_eq!(beside, [2, 3, 3, 2]);
        assert!(permits(class, 0b0111_0000, 0) && permits(class, 0b0111_0000, 0b0010_0000));
        assert!(!permits(class, 0b1111_0000, 0) && !permits(class, 0b0111_0000, 0b0001_0000));
    }
}
