//! The one table of PDP contexts: the place of a context is the low part of its name, the index of its flow queue, and
//! the index of its entry in a kernel's map, so that one access finds it everywhere. Its TEID is its name under a key
//! ([`TeidKey`]).
//!
//! A row says whose context it is and nothing else; what belongs to the context travels with its mobile.

use crate::slots::{Slot, Slots};
use gannet_machine::prefetch::Prefetch;
use gannet_proto::gtp::{ContextName, PLACES, TeidKey, Version};
use gannet_wire::id::{Nsapi, Teid};

/// Whose context stands at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextRef {
    /// The mobile.
    pub mobile: Slot,
    /// Which of its contexts.
    pub nsapi: Nsapi,
    /// Which version of GTP its GGSN speaks: so its G-PDUs come.
    pub version: Version,
}

/// One row, 8 octets: a [`ContextRef`] without the gaps.
#[derive(Debug, Clone, Copy)]
struct Row {
    index: u32,
    generation: u16,
    nsapi: Nsapi,
    version: Version,
}

/// All contexts that have a TEID, and the key between the TEIDs and what the contexts are called here.
#[derive(Debug)]
pub struct Contexts {
    slots: Slots<Row>,
    key: TeidKey,
}

impl Contexts {
    /// Room for `limit` contexts, at most [`PLACES`]. Names begin with `generation`.
    #[must_use]
    pub fn with_limit(limit: usize, generation: u8, key: TeidKey) -> Self {
        let slots = Slots::with_limit(limit.min(PLACES as usize)).from_generation(generation.into());
        Self { slots, key }
    }

    /// The TEID of a context, as it stands on the wire.
    #[must_use]
    pub fn teid(&self, name: ContextName) -> Teid {
        self.key.teid(name)
    }

    /// What the context of a TEID is called here, where there is one.
    #[must_use]
    pub fn name(&self, teid: Teid) -> ContextName {
        self.key.name(teid)
    }

    /// The key.
    #[must_use]
    pub const fn key(&self) -> &TeidKey {
        &self.key
    }

    /// A name for a new context; `None` where the table is full.
    pub fn make(&mut self, of: ContextRef) -> Option<ContextName> {
        self.slots.insert(Row::of(of)).ok().map(name_of)
    }

    /// True where a context can have this very name.
    #[must_use]
    pub fn is_free(&self, name: ContextName) -> bool {
        name.generation() > 0 && self.slots.is_free(name.place())
    }

    /// How many more there may be.
    #[must_use]
    pub const fn room(&self) -> usize {
        self.slots.limit().saturating_sub(self.slots.len())
    }

    /// Gives a context the name that it had before; false where another context stands at its place.
    pub fn put(&mut self, name: ContextName, of: ContextRef) -> bool {
        slot_of(name).is_some_and(|slot| self.slots.insert_at(slot, Row::of(of)).is_ok())
    }

    /// The GGSN of a context speaks this version.
    pub fn set_version(&mut self, name: ContextName, version: Version) {
        if let Some(row) = self.slot(name).and_then(|slot| self.slots.get_mut(slot)) {
            row.version = version;
        }
    }

    /// The context with this name is gone, and its TEID is old from now on.
    pub fn remove(&mut self, name: ContextName) {
        if let Some(slot) = self.slot(name) {
            self.slots.remove(slot);
        }
    }

    /// Whose context this is: one access to the table.
    #[must_use]
    pub fn find(&self, name: ContextName) -> Option<ContextRef> {
        let Row { index, generation, nsapi, version } = *self.slots.get(self.slot(name)?)?;
        Some(ContextRef { mobile: Slot { index, generation }, nsapi, version })
    }

    /// What stands at a place, with its name.
    #[must_use]
    pub fn at(&self, place: u32) -> Option<(ContextName, ContextRef)> {
        let slot = self.slots.at(place)?;
        let Row { index, generation, nsapi, version } = *self.slots.get(slot)?;
        Some((name_of(slot), ContextRef { mobile: Slot { index, generation }, nsapi, version }))
    }

    /// Asks for the row of a place.
    #[inline]
    pub fn prefetch(&self, place: u32, prefetch: Prefetch) {
        self.slots.prefetch(place, prefetch);
    }

    /// The slot's generation has more bits than the name's.
    fn slot(&self, name: ContextName) -> Option<Slot> {
        let slot = self.slots.at(name.place())?;
        (name_of(slot) == name).then_some(slot)
    }

    /// Contexts that have a TEID.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.slots.len()
    }

    /// True when none has.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// How many there may be.
    #[must_use]
    pub const fn limit(&self) -> usize {
        self.slots.limit()
    }
}

impl Row {
    const fn of(context: ContextRef) -> Self {
        let ContextRef { mobile: Slot { index, generation }, nsapi, version } = context;
        Self { index, generation, nsapi, version }
    }
}

fn name_of(slot: Slot) -> ContextName {
    ContextName::new(ContextName::generation_of(slot.generation), slot.index)
}

fn slot_of(name: ContextName) -> Option<Slot> {
    Some(Slot { index: name.place(), generation: u16::from(name.generation().checked_sub(1)?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(index: u32) -> ContextRef {
        ContextRef { mobile: Slot { index, generation: 3 }, nsapi: Nsapi(5), version: Version::V1 }
    }

    #[test]
    fn an_old_name_finds_nothing_and_a_travelling_one_keeps_its_place() {
        let mut contexts = Contexts::with_limit(2, 0, TeidKey::default());
        let first = contexts.make(context(7)).unwrap();
        let second = contexts.make(context(8)).unwrap();
        assert_eq!((first, second), (ContextName(0x0100_0000), ContextName(0x0100_0001)));
        assert_eq!((contexts.make(context(9)), contexts.find(second)), (None, Some(context(8))));
        contexts.remove(first);
        contexts.remove(first);
        assert_eq!((contexts.find(first), contexts.len()), (None, 1));
        let third = contexts.make(context(9)).unwrap();
        assert_eq!(third, ContextName(0x0200_0000));
        assert!(!contexts.is_free(first) && !contexts.put(first, context(7)), "another one stands there");
        assert_eq!((contexts.find(first), contexts.find(third)), (None, Some(context(9))));
        contexts.remove(third);
        assert!(contexts.put(first, context(7)));
        assert_eq!((contexts.find(first), contexts.at(0)), (Some(context(7)), Some((first, context(7)))));
        contexts.set_version(first, Version::V0);
        contexts.set_version(third, Version::V0);
        assert_eq!(contexts.find(first), Some(ContextRef { version: Version::V0, ..context(7) }));
        assert_eq!(contexts.at(2), None);
        assert!(!contexts.is_free(ContextName(0)) && !contexts.is_free(ContextName(0x0100_0002)));
    }

    #[test]
    fn generations_go_round_without_a_zero() {
        let mut contexts = Contexts::with_limit(1, 0, TeidKey::default());
        let mut last = ContextName(0);
        for _ in 0..600 {
            let name = contexts.make(context(1)).unwrap();
            assert!(name.0 >= 0x0100_0000 && name != last);
            let teid = contexts.teid(name);
            assert_eq!((contexts.name(teid), teid == Teid(0)), (name, false));
            assert_eq!((contexts.find(last), contexts.find(name)), (None, Some(context(1))));
            contexts.remove(name);
            last = name;
        }
    }

    #[test]
    fn a_place_that_another_run_may_have_used_begins_with_another_generation() {
        let mut contexts = Contexts::with_limit(3, 16, TeidKey::default());
        assert!(contexts.put(ContextName(0x0500_0001), context(7)));
        let [hole, fresh] = [8, 9].map(|index| contexts.make(context(index)).unwrap());
        assert_eq!(
            (fresh, hole),
            (ContextName(0x1100_0000), ContextName(0x1100_0002)),
            "fresh places come first"
        );
    }

    #[test]
    fn a_million_rows_are_small() {
        assert!(size_of::<Row>() <= 8);
    }
}
