//! Wake-ups that wait unordered, in slots of time, until theirs comes near.

use super::Wake;
use crate::time::Instant;

/// Where a wake-up stands, among others: its place + 1, or 0 for none.
pub(super) type Link = u32;

/// The wake-ups of all wheels, in lists. One keeps its place until it is taken.
#[derive(Debug)]
pub(super) struct Places {
    all: Vec<Place>,
    free: Link,
}

#[derive(Debug)]
struct Place {
    /// `None` where it was recalled, or the place is free.
    wake: Option<Wake>,
    /// What comes behind it in its list.
    next: Link,
}

impl Places {
    /// Room for `capacity`, allocated now.
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self { all: Vec::with_capacity(capacity), free: 0 }
    }

    fn at(&mut self, link: Link) -> Option<&mut Place> {
        self.all.get_mut(link.checked_sub(1)? as usize)
    }

    /// Puts one in.
    pub(super) fn insert(&mut self, wake: Wake) -> Link {
        let place = Place { wake: Some(wake), next: 0 };
        let link = self.free;
        if let Some(free) = self.at(link) {
            let next = core::mem::replace(free, place).next;
            self.free = next;
            return link;
        }
        self.all.push(place);
        Link::try_from(self.all.len()).unwrap_or(0)
    }

    /// The wake-up at `link`, which may have been recalled, and what comes behind it.
    pub(super) fn get(&mut self, link: Link) -> Option<(Option<Wake>, Link)> {
        self.at(link).map(|place| (place.wake, place.next))
    }

    /// Frees a place that is in no list any more.
    pub(super) fn remove(&mut self, link: Link) {
        let free = self.free;
        if let Some(place) = self.at(link) {
            *place = Place { wake: None, next: free };
            self.free = link;
        }
    }

    /// Takes the wake-up out where it is the one that is meant. Its place stays in its list.
    pub(super) fn recall(&mut self, link: Link, is_meant: impl FnOnce(&Wake) -> bool) -> bool {
        self.at(link).is_some_and(|place| place.wake.take_if(|wake| is_meant(wake)).is_some())
    }
}

/// Slots of equal length, the nearest of which is open: what belongs there, or is farther away than all of them, stands elsewhere.
#[derive(Debug)]
pub(super) struct Wheel {
    /// Length of a slot, as a power of two of nanoseconds.
    shift: u32,
    /// For each slot its list; and when the earliest that was put there is due, in ns.
    first: Vec<Link>,
    earliest: Vec<u64>,
    /// Bit by bit: is anything in the slot?
    filled: Vec<u64>,
    /// The slot of the present.
    open: u64,
    /// The next slot that holds something.
    next: Option<u64>,
}

impl Wheel {
    /// `slots` is a power of two and a multiple of 64, or 0.
    pub(super) fn new(shift: u32, slots: usize) -> Self {
        Self {
            shift,
            first: vec![0; slots],
            earliest: vec![0; slots],
            filled: vec![0; slots / 64],
            open: 0,
            next: None,
        }
    }

    /// How many slots ahead there are.
    const fn slots(&self) -> u64 {
        self.first.len() as u64
    }

    /// The place of a slot among all slots.
    fn place_of(&self, slot: u64) -> usize {
        usize::try_from(slot & self.slots().wrapping_sub(1)).unwrap_or(0)
    }

    /// Puts what is due at `at`, and stands at `link`, in its slot; false where there is none for it.
    pub(super) fn put(&mut self, places: &mut Places, Instant(at): Instant, link: Link) -> bool {
        let number = at >> self.shift;
        if number <= self.open || number >= self.open + self.slots() {
            return false;
        }
        let slot = self.place_of(number);
        let (Some(first), Some(earliest), Some(place)) =
            (self.first.get_mut(slot), self.earliest.get_mut(slot), places.at(link))
        else {
            return false;
        };
        *earliest = if *first == 0 { at } else { at.min(*earliest) };
        place.next = core::mem::replace(first, link);
        self.next = Some(self.next.map_or(number, |next| next.min(number)));
        if let Some(word) = self.filled.get_mut(slot / 64) {
            *word |= 1 << (slot % 64);
        }
        true
    }

    /// When the next of its wake-ups is due, or a little before where that was recalled.
    pub(super) fn next(&self) -> Option<Instant> {
        self.next.and_then(|slot| self.earliest.get(self.place_of(slot)).copied().map(Instant))
    }

    /// Opens the next slot that holds something, until that of `now`, and takes its list; `None` where nothing more is there.
    pub(super) fn open(&mut self, Instant(now): Instant) -> Option<Link> {
        let last = now >> self.shift;
        if last <= self.open {
            return None;
        }
        let Some(slot) = self.next.filter(|slot| *slot <= last) else {
            self.open = last;
            return None;
        };
        self.open = slot;
        let place = self.place_of(slot);
        if let Some(word) = self.filled.get_mut(place / 64) {
            *word &= !(1 << (place % 64));
        }
        self.next = self.next_slot();
        self.first.get_mut(place).map(core::mem::take)
    }

    /// The next slot that holds something, after the one that is open.
    fn next_slot(&self) -> Option<u64> {
        let mut slot = self.open + 1;
        while slot < self.open + self.slots() {
            let place = self.place_of(slot);
            let word = self.filled.get(place / 64)? >> (place % 64);
            if word != 0 {
                return Some(slot + u64::from(word.trailing_zeros()));
            }
            slot = (slot | 63) + 1;
        }
        None
    }
}
