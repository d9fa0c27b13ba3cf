//! A table whose entries are reached by index, never by search, and whose old names are recognised as old.

use gannet_machine::prefetch::Prefetch;
use serde::{Deserialize, Serialize};

/// The name of an entry: its place, and how often that place was used before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Slot {
    /// The place. Its high bits are the shard's, zero while there is one shard.
    pub index: u32,
    /// How often the place was given to another before.
    pub generation: u16,
}

/// One place. Whether it is taken stands beside its generation, in the first octets of the line that everything begins with,
/// and not wherever a value has a bit pattern to spare.
#[derive(Debug)]
#[repr(u8)]
enum Place<T> {
    Free {
        /// It stands in the queue of free places.
        queued: bool,
        generation: u16,
    },
    Taken {
        /// It stands there still: a value came back to it meanwhile, and it is passed over there.
        queued: bool,
        generation: u16,
        value: T,
    },
}

impl<T> Place<T> {
    const fn generation(&self) -> u16 {
        let (Self::Free { generation, .. } | Self::Taken { generation, .. }) = self;
        *generation
    }

    const fn is_queued(&self) -> bool {
        let (Self::Free { queued, .. } | Self::Taken { queued, .. }) = self;
        *queued
    }

    const fn is_free(&self) -> bool {
        matches!(self, Self::Free { .. })
    }

    /// The value that has this generation.
    #[inline]
    fn of(&self, wanted: u16) -> Option<&T> {
        match self {
            Self::Taken { generation, value, .. } if *generation == wanted => Some(value),
            _ => None,
        }
    }

    #[inline]
    fn of_mut(&mut self, wanted: u16) -> Option<&mut T> {
        match self {
            Self::Taken { generation, value, .. } if *generation == wanted => Some(value),
            _ => None,
        }
    }
}

/// A table with a limit. Memory is taken when it is made.
#[derive(Debug)]
pub struct Slots<T> {
    places: Vec<Place<T>>,
    /// Places that were given back, the longest unused first in use again.
    free: std::collections::VecDeque<u32>,
    len: usize,
    limit: usize,
    /// The generation of places that were never used.
    first: u16,
}

impl<T> Slots<T> {
    /// Octets of a place.
    pub const PLACE: usize = size_of::<Place<T>>();

    /// A table of at most `limit` entries.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self {
            places: Vec::with_capacity(limit),
            free: std::collections::VecDeque::with_capacity(limit),
            len: 0,
            limit,
            first: 0,
        }
    }

    /// The same, whose places begin with this generation.
    #[must_use]
    pub fn from_generation(self, first: u16) -> Self {
        Self { first, ..self }
    }

    /// Puts a value in; gives it back where the table is full.
    ///
    /// # Errors
    /// The value itself.
    pub fn insert(&mut self, value: T) -> Result<Slot, T> {
        // A fresh place is preferred: the longer a place rests, the longer its old names stay recognisable.
        if self.places.len() < self.limit
            && let Ok(index) = u32::try_from(self.places.len())
        {
            let generation = self.first;
            self.places.push(Place::Taken { queued: false, generation, value });
            self.len += 1;
            return Ok(Slot { index, generation });
        }
        while let Some(index) = self.free.pop_front() {
            let Some(place) = self.places.get_mut(index as usize) else { continue };
            let generation = place.generation();
            match place {
                Place::Taken { queued, .. } => *queued = false,
                Place::Free { .. } => {
                    *place = Place::Taken { queued: false, generation, value };
                    self.len += 1;
                    return Ok(Slot { index, generation });
                }
            }
        }
        Err(value)
    }

    /// Puts a value where it was before, under its former name; gives it back where that place is taken.
    ///
    /// # Errors
    /// The value itself.
    pub fn insert_at(&mut self, slot: Slot, value: T) -> Result<(), T> {
        if !self.is_free(slot.index) {
            return Err(value);
        }
        while self.places.len() <= slot.index as usize {
            if let Ok(index) = u32::try_from(self.places.len()) {
                self.free.push_back(index);
            }
            self.places.push(Place::Free { queued: true, generation: self.first });
        }
        let Some(place) = self.places.get_mut(slot.index as usize) else { return Err(value) };
        *place = Place::Taken { queued: place.is_queued(), generation: slot.generation, value };
        self.len += 1;
        Ok(())
    }

    /// Would a value find room at this place?
    #[must_use]
    pub fn is_free(&self, index: u32) -> bool {
        let index = index as usize;
        index < self.limit && self.places.get(index).is_none_or(Place::is_free)
    }

    /// Takes a value out. Its name is old from now on.
    pub fn remove(&mut self, slot: Slot) -> Option<T> {
        let place = self.places.get_mut(slot.index as usize)?;
        place.of(slot.generation)?;
        let was_queued = place.is_queued();
        let free = Place::Free { queued: true, generation: slot.generation.wrapping_add(1) };
        let Place::Taken { value, .. } = core::mem::replace(place, free) else { return None };
        self.len -= 1;
        if !was_queued {
            self.free.push_back(slot.index);
        }
        Some(value)
    }

    /// The value of a name that is not old.
    #[must_use]
    pub fn get(&self, slot: Slot) -> Option<&T> {
        self.places.get(slot.index as usize)?.of(slot.generation)
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, slot: Slot) -> Option<&mut T> {
        self.places.get_mut(slot.index as usize)?.of_mut(slot.generation)
    }

    /// Asks for a place.
    #[inline]
    pub fn prefetch(&self, index: u32, prefetch: Prefetch) {
        if let Some(place) = self.places.get(index as usize) {
            prefetch.value(place);
        }
    }

    /// The full name of what stands at a place now.
    #[must_use]
    pub fn at(&self, index: u32) -> Option<Slot> {
        let place = self.places.get(index as usize).filter(|place| !place.is_free())?;
        Some(Slot { index, generation: place.generation() })
    }

    /// The name that the last value had which was taken out of a place.
    #[must_use]
    pub fn last(&self, index: u32) -> Option<Slot> {
        let place = self.places.get(index as usize).filter(|place| place.generation() != self.first)?;
        Some(Slot { index, generation: place.generation().wrapping_sub(1) })
    }

    /// How many places have been used so far, the free ones among them.
    #[must_use]
    pub fn places(&self) -> u32 {
        u32::try_from(self.places.len()).unwrap_or(u32::MAX)
    }

    /// How many entries there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// True when there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many entries there may be.
    #[must_use]
    pub const fn limit(&self) -> usize {
        self.limit
    }

    /// All entries in the order of their places.
    pub fn iter(&self) -> impl Iterator<Item = (Slot, &T)> {
        self.places.iter().zip(0_u32..).filter_map(|(place, index)| match place {
            Place::Taken { generation, value, .. } => Some((Slot { index, generation: *generation }, value)),
            Place::Free { .. } => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_name_finds_nothing() {
        let mut slots = Slots::with_limit(1);
        let first = slots.insert("a").unwrap();
        assert_eq!(slots.insert("b"), Err("b"));
        assert_eq!(slots.remove(first), Some("a"));
        assert_eq!(slots.remove(first), None);
        let second = slots.insert("c").unwrap();
        assert_eq!((second.index, second.generation), (0, 1));
        assert_eq!((slots.get(first), slots.get(second)), (None, Some(&"c")));
        assert_eq!(slots.get_mut(first), None);
        assert_eq!(slots.at(0), Some(second));
        assert_eq!(slots.len(), 1);
    }

    #[test]
    fn what_left_may_come_back_under_its_name() {
        let mut slots = Slots::with_limit(4);
        let name = Slot { index: 2, generation: 7 };
        assert_eq!(slots.insert_at(name, "a"), Ok(()));
        assert_eq!(slots.insert_at(name, "b"), Err("b"));
        assert_eq!(slots.insert_at(Slot { index: 4, generation: 0 }, "c"), Err("c"));
        assert_eq!((slots.get(name), slots.len()), (Some(&"a"), 1));
        let others: Vec<u32> = (0..3).map(|_| slots.insert("d").unwrap().index).collect();
        assert_eq!(others, [3, 0, 1]);
        assert_eq!(slots.remove(name), Some("a"));
        assert_eq!(slots.insert_at(name, "a"), Ok(()));
        assert_eq!((slots.insert("e"), slots.len()), (Err("e"), 4));
    }

    #[test]
    fn coming_and_going_at_one_place_needs_no_more_room() {
        let mut slots = Slots::with_limit(2);
        let name = slots.insert("a").unwrap();
        for _ in 0..100 {
            assert!(!slots.is_free(name.index));
            assert_eq!(slots.remove(name), Some("a"));
            assert!(slots.is_free(name.index) && slots.is_empty());
            assert_eq!(slots.insert_at(name, "a"), Ok(()));
        }
        assert!(slots.free.len() <= 1);
        assert_eq!(slots.insert("b").map(|slot| slot.index), Ok(1));
        assert_eq!((slots.insert("c"), slots.len()), (Err("c"), 2));
    }
}
