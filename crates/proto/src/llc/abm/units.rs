//! The units of layer 3 that are not acknowledged: what is known of each, and their octets in one piece of memory.

use crate::octet_queue::OctetQueue;
use crate::prefetch::Prefetch;
use crate::time::Instant;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Units that are asked for ahead at most: more than these would push out what was asked for others.
const EXPECTED_MAX: usize = 16;

/// What is known of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Unit {
    /// When it was sent last.
    pub(super) sent_at: Instant,
    pub(super) reference: u32,
    /// Its place among all transmissions of I frames.
    pub(super) order: u32,
    octets: u16,
    pub(super) transmissions: u8,
    /// It asked for an acknowledgement when it was sent last.
    pub(super) is_asked: bool,
    /// It was sent again because T201 had run out, and not because it was shown to be lost.
    pub(super) is_guess: bool,
    /// It is to be sent again.
    pub(super) is_lost: bool,
    /// It has arrived, and one before it has not.
    pub(super) has_arrived: bool,
}

const _: () = assert!(size_of::<Unit>() == 24);

impl Unit {
    /// One of layer 3's, which waits.
    pub(super) const fn new(reference: u32, now: Instant) -> Self {
        Self {
            sent_at: now,
            reference,
            order: 0,
            octets: 0,
            transmissions: 0,
            is_asked: false,
            is_guess: false,
            is_lost: false,
            has_arrived: false,
        }
    }

    /// It goes out: as which of all transmissions, when, and whether it asks for an acknowledgement.
    pub(super) const fn sent(&mut self, (order, now, is_asked): (u32, Instant, bool)) {
        (self.order, self.sent_at, self.is_asked) = (order, now, is_asked);
        self.transmissions = self.transmissions.saturating_add(1);
    }

    /// How many octets it has.
    pub(super) const fn octets(&self) -> u16 {
        self.octets
    }
}

/// From V(A) on: those that are sent, then those that wait.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Units {
    units: VecDeque<Unit>,
    octets: OctetQueue,
}

impl Units {
    pub(super) fn len(&self) -> usize {
        self.units.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// Has room for so many units, of so many octets each, from now on: memory that grows unit by unit is copied each time.
    pub(super) fn reserve(&mut self, units: usize, octets: usize) {
        self.units.reserve(units);
        self.octets.reserve(units * octets);
    }

    /// Puts a unit at the end, which comes in two pieces.
    pub(super) fn push(&mut self, unit: Unit, [head, octets]: [&[u8]; 2]) {
        let len = u16::try_from(head.len() + octets.len()).unwrap_or(u16::MAX);
        self.units.push_back(Unit { octets: len, ..unit });
        if !head.is_empty() {
            self.octets.push(head);
        }
        self.octets.push(octets);
    }

    /// Takes the first `count` off. `each` sees them. Gives how many octets they had. Their memory stays for the next.
    pub(super) fn take_off(&mut self, count: u16, mut each: impl FnMut(&Unit)) -> u32 {
        let count = usize::from(count).min(self.units.len());
        let mut octets = 0;
        for unit in self.units.drain(..count) {
            octets += u32::from(unit.octets);
            each(&unit);
        }
        self.octets.discard(octets as usize, usize::MAX);
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
        self.units.get(index)
    }

    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut Unit> {
        self.units.get_mut(index)
    }

    /// The octets of the unit at `index`, in two pieces.
    pub(super) fn octets_of(&self, index: usize) -> Option<[&[u8]; 2]> {
        let unit = self.units.get(index)?;
        let from = self.units.iter().take(index).map(|unit| usize::from(unit.octets)).sum();
        self.octets.get(from..from + usize::from(unit.octets))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Unit> {
        self.units.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Unit> {
        self.units.iter_mut()
    }

    /// Asks for the memory where the next unit will stand, of so many octets.
    pub(super) fn expect_next(&self, octets: usize, prefetch: Prefetch) {
        prefetch.end_of(&self.units, size_of::<Unit>());
        self.octets.expect_end(octets, prefetch);
    }

    /// Asks for what is known of the first `count`, or of as many as usual, without their octets.
    pub(super) fn expect_first(&self, count: usize, prefetch: Prefetch) {
        let (front, _) = self.units.as_slices();
        let first = front.get(..count.min(front.len()).min(EXPECTED_MAX)).unwrap_or_default();
        if !first.is_empty() {
            prefetch.value(first);
        }
    }

    /// Octets of memory beside the value itself.
    pub(super) fn heap_octets(&self) -> usize {
        self.units.capacity() * size_of::<Unit>() + self.octets.capacity()
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
            units.push(Unit::new(reference, Instant::ZERO), [&[], octets]);
        }
        Self(units)
    }
}

impl ReturnedUnits {
    /// The reference of each, and its octets in two pieces.
    pub fn iter(&self) -> impl Iterator<Item = (u32, [&[u8]; 2])> {
        let Units { units, octets } = &self.0;
        let mut from = 0;
        units.iter().filter_map(move |unit| {
            let start = from;
            from += usize::from(unit.octets);
            Some((unit.reference, octets.get(start..from)?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_returned_is_what_was_given() {
        let given = [(7, &b"one"[..]), (9, b""), (8, b"three")];
        let returned: ReturnedUnits = given.into_iter().collect();
        let again: Vec<_> = returned.iter().map(|(reference, pieces)| (reference, pieces.concat())).collect();
        assert_eq!(again, given.map(|(reference, octets)| (reference, octets.to_vec())));
    }
}
