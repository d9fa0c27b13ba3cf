//! The one table of PDP contexts: the place of a context is the low part of its TEID, the index of its flow queue, and
//! the index of its entry in a kernel's map, so that one access finds it everywhere.
//!
//! A row says whose context it is and nothing else; what belongs to the context travels with its mobile.

use crate::slots::{Slot, Slots};
use gannet_proto::gtp::{PLACES, TeidParts, Version};
use gannet_proto::prefetch::Prefetch;
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

/// All contexts that have a TEID.
#[derive(Debug)]
pub struct Contexts(Slots<Row>);

impl Contexts {
    /// Room for `limit` contexts, at most [`PLACES`]. TEIDs begin with `generation`.
    #[must_use]
    pub fn with_limit(limit: usize, generation: u8) -> Self {
        Self(Slots::with_limit(limit.min(PLACES as usize)).from_generation(generation.into()))
    }

    /// A TEID for a new context; `None` where the table is full.
    pub fn make(&mut self, of: ContextRef) -> Option<Teid> {
        self.0.insert(Row::of(of)).ok().map(teid_of)
    }

    /// True where a context can have this very TEID.
    #[must_use]
    pub fn is_free(&self, teid: Teid) -> bool {
        let parts = TeidParts::of(teid);
        parts.generation > 0 && self.0.is_free(parts.place)
    }

    /// Gives a context the TEID that it had elsewhere; false where another context stands at its place.
    pub fn put(&mut self, teid: Teid, of: ContextRef) -> bool {
        slot_of(teid).is_some_and(|slot| self.0.insert_at(slot, Row::of(of)).is_ok())
    }

    /// The GGSN of a context speaks this version.
    pub fn set_version(&mut self, teid: Teid, version: Version) {
        if let Some(row) = self.slot(teid).and_then(|slot| self.0.get_mut(slot)) {
            row.version = version;
        }
    }

    /// The context with this TEID is gone, and the TEID is old from now on.
    pub fn remove(&mut self, teid: Teid) {
        if let Some(slot) = self.slot(teid) {
            self.0.remove(slot);
        }
    }

    /// Whose TEID this is: one access to the table.
    #[must_use]
    pub fn find(&self, teid: Teid) -> Option<ContextRef> {
        let Row { index, generation, nsapi, version } = *self.0.get(self.slot(teid)?)?;
        Some(ContextRef { mobile: Slot { index, generation }, nsapi, version })
    }

    /// What stands at a place, with its TEID.
    #[must_use]
    pub fn at(&self, place: u32) -> Option<(Teid, ContextRef)> {
        let slot = self.0.at(place)?;
        let Row { index, generation, nsapi, version } = *self.0.get(slot)?;
        Some((teid_of(slot), ContextRef { mobile: Slot { index, generation }, nsapi, version }))
    }

    /// Asks for the row of a place.
    #[inline]
    pub fn prefetch(&self, place: u32, prefetch: Prefetch) {
        self.0.prefetch(place, prefetch);
    }

    /// The slot's generation has more bits than the TEID's.
    fn slot(&self, teid: Teid) -> Option<Slot> {
        let slot = self.0.at(TeidParts::of(teid).place)?;
        (teid_of(slot) == teid).then_some(slot)
    }

    /// Contexts that have a TEID.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// True when none has.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there may be.
    #[must_use]
    pub const fn limit(&self) -> usize {
        self.0.limit()
    }
}

impl Row {
    const fn of(context: ContextRef) -> Self {
        let ContextRef { mobile: Slot { index, generation }, nsapi, version } = context;
        Self { index, generation, nsapi, version }
    }
}

fn teid_of(slot: Slot) -> Teid {
    TeidParts { generation: TeidParts::generation_of(slot.generation), place: slot.index }.teid()
}

fn slot_of(teid: Teid) -> Option<Slot> {
    let TeidParts { generation, place } = TeidParts::of(teid);
    Some(Slot { index: place, generation: u16::from(generation.checked_sub(1)?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(index: u32) -> ContextRef {
        ContextRef { mobile: Slot { index, generation: 3 }, nsapi: Nsapi(5), version: Version::V1 }
    }

    #[test]
    fn an_old_teid_finds_nothing_and_a_travelling_one_keeps_its_place() {
        let mut contexts = Contexts::with_limit(2, 0);
        let first = contexts.make(context(7)).unwrap();
        let second = contexts.make(context(8)).unwrap();
        assert_eq!((first, second), (Teid(0x0100_0000), Teid(0x0100_0001)));
        assert_eq!((contexts.make(context(9)), contexts.find(second)), (None, Some(context(8))));
        contexts.remove(first);
        contexts.remove(first);
        assert_eq!((contexts.find(first), contexts.len()), (None, 1));
        let third = contexts.make(context(9)).unwrap();
        assert_eq!(third, Teid(0x0200_0000));
        assert!(!contexts.is_free(first) && !contexts.put(first, context(7)), "another one stands there");
        assert_eq!((contexts.find(first), contexts.find(third)), (None, Some(context(9))));
        contexts.remove(third);
        assert!(contexts.put(first, context(7)));
        assert_eq!((contexts.find(first), contexts.at(0)), (Some(context(7)), Some((first, context(7)))));
        contexts.set_version(first, Version::V0);
        contexts.set_version(third, Version::V0);
        assert_eq!(contexts.find(first), Some(ContextRef { version: Version::V0, ..context(7) }));
        assert_eq!(contexts.at(2), None);
        assert!(!contexts.is_free(Teid(0)) && !contexts.is_free(Teid(0x0100_0002)));
    }

    #[test]
    fn generations_go_round_without_a_zero() {
        let mut contexts = Contexts::with_limit(1, 0);
        let mut last = Teid(0);
        for _ in 0..600 {
            let teid = contexts.make(context(1)).unwrap();
            assert!(teid.0 >= 0x0100_0000 && teid != last);
            assert_eq!((contexts.find(last), contexts.find(teid)), (None, Some(context(1))));
            contexts.remove(teid);
            last = teid;
        }
    }

    #[test]
    fn a_place_that_another_run_may_have_used_begins_with_another_generation() {
        let mut contexts = Contexts::with_limit(3, 16);
        assert!(contexts.put(Teid(0x0500_0001), context(7)));
        let [hole, fresh] = [8, 9].map(|index| contexts.make(context(index)).unwrap());
        assert_eq!((fresh, hole), (Teid(0x1100_0000), Teid(0x1100_0002)), "fresh places come first");
    }

    #[test]
    fn a_million_rows_are_small() {
        assert!(size_of::<Row>() <= 8);
    }
}
