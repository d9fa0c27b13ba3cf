//! The units of layer 3 that are not acknowledged: what is known of each, and where its octets are kept.

use gannet_machine::kept::{Kept, Octets};
use gannet_machine::prefetch::Prefetch;
use gannet_machine::time::Instant;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Units that are asked for ahead at most: more than these would push out what was asked for others.
const EXPECTED_MAX: usize = 16;

/// What is known of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Unit {
    /// When it was sent last.
    pub(super) sent_at: Instant,
    /// Its octets; the note is layer 3's reference.
    kept: Kept,
    /// Its place among all transmissions of I frames.
    pub(super) order: u32,
    transmitted: Transmitted,
    /// It was sent again because T201 had run out, and not because it was shown to be lost.
    pub(super) is_guess: bool,
    /// It is to be sent again.
    pub(super) is_lost: bool,
    /// It has arrived, and one before it has not.
    pub(super) has_arrived: bool,
}

const _: () = assert!(size_of::<Unit>() == 32);

/// How often a unit was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Transmitted {
    Never,
    Once,
    /// And asked for an acknowledgement.
    OnceAsking,
    Again,
}

impl Transmitted {
    const fn first(is_asked: bool) -> Self {
        if is_asked { Self::OnceAsking } else { Self::Once }
    }
}

impl Unit {
    /// One of layer 3's, which waits.
    pub(super) const fn new(now: Instant, kept: Kept) -> Self {
        Self {
            sent_at: now,
            kept,
            order: 0,
            transmitted: Transmitted::Never,
            is_guess: false,
            is_lost: false,
            has_arrived: false,
        }
    }

    /// It goes out: as which of all transmissions, when, and whether it asks for an acknowledgement.
    pub(super) const fn sent(&mut self, (order, now, is_asked): (u32, Instant, bool)) {
        (self.order, self.sent_at) = (order, now);
        self.transmitted = match (self.transmitted, is_asked) {
            (Transmitted::Never, is_asked) => Transmitted::first(is_asked),
            (Transmitted::Once | Transmitted::OnceAsking | Transmitted::Again, _) => Transmitted::Again,
        };
    }

    /// It was sent once.
    pub(super) const fn is_sent_once(&self) -> bool {
        matches!(self.transmitted, Transmitted::Once | Transmitted::OnceAsking)
    }

    /// It was sent once, and asked for an acknowledgement.
    pub(super) const fn has_asked_once(&self) -> bool {
        matches!(self.transmitted, Transmitted::OnceAsking)
    }

    /// It was sent again.
    pub(super) const fn is_sent_again(&self) -> bool {
        matches!(self.transmitted, Transmitted::Again)
    }

    /// Layer 3's reference.
    pub(super) const fn reference(&self) -> u32 {
        self.kept.note()
    }

    /// How many octets it has.
    pub(super) const fn octets(&self) -> u16 {
        self.kept.len()
    }

    /// Its octets.
    pub(super) fn kept(&self) -> Octets<'_> {
        self.kept.octets()
    }
}

/// From V(A) on: those that are sent, then those that wait.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Units(VecDeque<Unit>);

impl Units {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Has room for so many units from now on: memory that grows unit by unit is copied each time.
    pub(super) fn reserve(&mut self, units: usize) {
        self.0.reserve(units);
    }

    /// Puts a unit at the end.
    pub(super) fn push(&mut self, unit: Unit) {
        self.0.push_back(unit);
    }

    /// Puts one at the end that goes out at once. It is put together where it stands: to move it would wait for the stores just made.
    pub(super) fn push_sent(&mut self, kept: Kept, (order, now, is_asked): (u32, Instant, bool)) {
        self.0.push_back(Unit::new(Instant::ZERO, Kept::NOTHING));
        if let Some(unit) = self.0.back_mut() {
            unit.kept = kept;
            (unit.order, unit.sent_at) = (order, now);
            // It is not read for the same reason.
            unit.transmitted = Transmitted::first(is_asked);
        }
    }

    /// Keeps the octets of the unit that is there, which come in two pieces.
    pub(super) fn write_last(&self, pieces: [&[u8]; 2]) {
        if let Some(unit) = self.0.back() {
            unit.kept.write(pieces);
        }
    }

    /// Takes the first `count` off. `each` sees them. Gives how many octets they had.
    pub(super) fn take_off(&mut self, count: u16, mut each: impl FnMut(&Unit)) -> u32 {
        let count = usize::from(count).min(self.0.len());
        let mut octets = 0;
        for unit in self.0.drain(..count) {
            octets += u32::from(unit.octets());
            each(&unit);
        }
        octets
    }

    /// Is there memory, and no unit in it?
    pub(super) fn has_empty_memory(&self) -> bool {
        self.is_empty() && self.heap_octets() > 0
    }

    /// Where there is no unit, there is no memory.
    pub(super) fn tidy(&mut self) {
        if self.has_empty_memory() {
            *self = Self::default();
        }
    }

    pub(super) fn get(&self, index: usize) -> Option<&Unit> {
        self.0.get(index)
    }

    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut Unit> {
        self.0.get_mut(index)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Unit> {
        self.0.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Unit> {
        self.0.iter_mut()
    }

    /// Asks for the memory where the next unit will stand.
    pub(super) fn prefetch_next(&self, prefetch: Prefetch) {
        prefetch.end_of(&self.0, size_of::<Unit>());
    }

    /// Asks for what is known of the first `count`, or of as many as usual, without their octets.
    pub(super) fn prefetch_first(&self, count: usize, prefetch: Prefetch) {
        let (front, _) = self.0.as_slices();
        let first = front.get(..count.min(front.len()).min(EXPECTED_MAX)).unwrap_or_default();
        if !first.is_empty() {
            prefetch.value(first);
        }
    }

    /// Octets of memory beside the value itself, those of what is kept as many as they are.
    pub(super) fn heap_octets(&self) -> usize {
        self.0.capacity() * size_of::<Unit>()
            + self.iter().map(|unit| usize::from(unit.octets())).sum::<usize>()
    }
}

/// Units that a link has not confirmed, given back to layer 3 in the order of their requests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReturnedUnits(pub(super) Units);

/// For who stands in for LLC: references with their octets.
impl<'a> FromIterator<(u32, &'a [u8])> for ReturnedUnits {
    fn from_iter<T: IntoIterator<Item = (u32, &'a [u8])>>(given: T) -> Self {
        let mut units = Units::default();
        for (reference, octets) in given {
            units.push(Unit::new(Instant::ZERO, Kept::own(octets, reference)));
        }
        Self(units)
    }
}

impl ReturnedUnits {
    /// The reference of each, and a copy of its octets.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Vec<u8>)> {
        self.0.iter().map(|unit| (unit.reference(), unit.kept().to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_returned_is_what_was_given() {
        let given = [(7, &b"one"[..]), (9, b""), (8, b"three")];
        let returned: ReturnedUnits = given.into_iter().collect();
        let again: Vec<_> = returned.iter().collect();
        assert_eq!(again, given.map(|(reference, octets)| (reference, octets.to_vec())));
    }
}
