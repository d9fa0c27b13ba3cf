//! Address conversion at the access point: which mobile is at which address of which bearer, by its TLLI.
//!
//! A mobile with a key is one place, whatever TLLIs it uses. One without is as many as the TLLIs that it uses: there is
//! nothing else to know it by.

use foldhash::fast::FixedState;
use gannet_machine::Peer;
use gannet_machine::drops::Drop;
use gannet_machine::time::{Duration, Instant};
use gannet_qos::links::{Links, List};
use gannet_wire::id::Tlli;
use std::collections::HashMap;

/// So long a mobile keeps its place and its TLLIs without being heard.
pub const KEPT: Duration = Duration::from_secs(120);

/// So long after a mobile has gone elsewhere its PDUs from the address that it has left are late: they were under way.
pub const LATE: Duration = Duration::from_secs(1);

/// TLLIs by which a mobile is known at once: the one it uses and the one before.
const TLLIS: usize = 2;

/// Where a mobile is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The link, by its index.
    pub link: u16,
    /// Its address there.
    pub peer: Peer,
}

/// A mobile.
#[derive(Debug, Clone, Copy)]
pub struct Station {
    /// Where it was heard last, but for what was late.
    pub address: Address,
    /// Where it was before, and when it left there.
    left: Option<(Address, Instant)>,
    /// The index of its key; `None` where it does not authenticate.
    pub owner: Option<u32>,
    /// When it was heard last.
    pub heard: Instant,
    /// PDUs sent to it, modulo 2^32.
    pub sent: u32,
    /// PDUs received from it, modulo 2^32.
    pub received: u32,
    tllis: [Tlli; TLLIS],
}

impl Station {
    /// The TLLI that it used last.
    #[must_use]
    pub const fn tlli(&self) -> Tlli {
        self.tllis[0]
    }
}

/// That a mobile was heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heard {
    /// Its place.
    pub slot: u32,
    /// It is new, has another TLLI, or is somewhere else.
    pub is_news: bool,
    /// Where it is: not where this PDU is from, if that is late.
    pub address: Address,
}

/// Whether a PDU says where its sender is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// It does.
    Where,
    /// It tells it by the way, if it is not late ([`LATE`]).
    Other,
}

/// A table that is never more than half full.
fn table<K>(entries: u32, seed: u64) -> HashMap<K, u32, FixedState> {
    HashMap::with_capacity_and_hasher(entries as usize * 2, FixedState::with_seed(seed))
}

/// All mobiles of an access point.
#[derive(Debug)]
pub struct Stations {
    places: Vec<Option<Station>>,
    free: Vec<u32>,
    order: Links,
    /// The one heard longest ago stands first.
    recent: List,
    by_tlli: HashMap<Tlli, u32, FixedState>,
    by_owner: HashMap<u32, u32, FixedState>,
}

impl Stations {
    /// Room for so many, allocated now. Tables of names begin with `seed`.
    #[must_use]
    pub fn new(limit: u32, seed: u64) -> Self {
        let limit = limit.max(1);
        Self {
            places: vec![None; limit as usize],
            free: (0..limit).rev().collect(),
            order: Links::new(limit as usize),
            recent: List::EMPTY,
            by_tlli: table(limit.saturating_mul(2), seed),
            by_owner: table(limit, seed),
        }
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.recent.len()
    }

    /// True where there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.recent.is_empty()
    }

    /// A mobile by its place.
    #[must_use]
    pub fn get(&self, slot: u32) -> Option<&Station> {
        self.places.get(slot as usize)?.as_ref()
    }

    /// The same, to count.
    pub fn get_mut(&mut self, slot: u32) -> Option<&mut Station> {
        self.places.get_mut(slot as usize)?.as_mut()
    }

    /// A mobile by its TLLI.
    #[must_use]
    pub fn find(&self, tlli: Tlli) -> Option<u32> {
        self.by_tlli.get(&tlli).copied()
    }

    /// All that were heard last on a link.
    pub fn on_link(&self, link: u16) -> impl Iterator<Item = (u32, &Station)> {
        let places = (0..).zip(&self.places).filter_map(|(slot, place)| Some((slot, place.as_ref()?)));
        places.filter(move |(_, station)| station.address.link == link)
    }

    /// A mobile was heard by a TLLI. Links overtake each other: what comes late from where it was before does not move it.
    ///
    /// # Errors
    /// `AdaptForeignTlli` where the TLLI is another's; `AdaptTableFull` where no place is free and nobody was silent for
    /// [`KEPT`].
    pub fn hear(
        &mut self,
        now: Instant,
        tlli: Tlli,
        (from, word): (Address, Word),
        owner: Option<u32>,
    ) -> Result<Heard, Drop> {
        let mut slot = self.find(tlli);
        if let Some(station) = slot.and_then(|slot| self.get(slot)) {
            let is_silent = now.since(station.heard) >= KEPT;
            if station.owner != owner {
                if !(is_silent || station.owner.is_none()) {
                    return Err(Drop::AdaptForeignTlli);
                }
                self.by_tlli.remove(&tlli);
                slot = None;
            }
        }
        let slot = slot.or_else(|| self.by_owner.get(&owner?).copied());
        let (slot, is_new) = match slot {
            Some(slot) => (slot, false),
            None => (self.begin(now, from, owner)?, true),
        };
        let Some(station) = self.places.get_mut(slot as usize).and_then(Option::as_mut) else {
            return Err(Drop::AdaptTableFull);
        };
        let is_from_left = station.left.is_some_and(|(left, when)| left == from && now.since(when) < LATE);
        let moves = station.address != from && (word == Word::Where || !is_from_left);
        if moves {
            station.left = Some((core::mem::replace(&mut station.address, from), now));
        }
        let (mut is_news, address) = (is_new || moves, station.address);
        station.heard = now;
        station.received = station.received.wrapping_add(1);
        if station.tllis[0] != tlli {
            is_news = true;
            let [last, before] = core::mem::replace(&mut station.tllis, [tlli, Tlli::UNASSIGNED]);
            station.tllis[1] = last;
            if before != tlli && self.by_tlli.get(&before) == Some(&slot) {
                self.by_tlli.remove(&before);
            }
        }
        self.by_tlli.insert(tlli, slot);
        self.order.remove(&mut self.recent, slot);
        self.order.push_back(&mut self.recent, slot);
        Ok(Heard { slot, is_news, address })
    }

    fn begin(&mut self, now: Instant, address: Address, owner: Option<u32>) -> Result<u32, Drop> {
        if self.free.is_empty()
            && let Some(oldest) = self.recent.first()
            && self.get(oldest).is_some_and(|station| now.since(station.heard) >= KEPT)
        {
            self.forget(oldest);
        }
        let slot = self.free.pop().ok_or(Drop::AdaptTableFull)?;
        let tllis = [Tlli::UNASSIGNED; TLLIS];
        let station = Station { address, left: None, owner, heard: now, sent: 0, received: 0, tllis };
        if let Some(place) = self.places.get_mut(slot as usize) {
            *place = Some(station);
        }
        if let Some(owner) = owner {
            self.by_owner.insert(owner, slot);
        }
        self.order.push_back(&mut self.recent, slot);
        Ok(slot)
    }

    /// A mobile has left.
    pub fn forget(&mut self, slot: u32) {
        let Some(station) = self.places.get_mut(slot as usize).and_then(Option::take) else { return };
        for tlli in station.tllis {
            if self.by_tlli.get(&tlli) == Some(&slot) {
                self.by_tlli.remove(&tlli);
            }
        }
        if let Some(owner) = station.owner {
            self.by_owner.remove(&owner);
        }
        self.order.remove(&mut self.recent, slot);
        self.free.push(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_machine::EthernetAddress;

    fn at(station: u8) -> Address {
        Address { link: 0, peer: Peer::Ethernet(EthernetAddress([2, 0, 0, 0, 0, station])) }
    }

    fn heard(slot: u32, is_news: bool) -> Result<(u32, bool), Drop> {
        Ok((slot, is_news))
    }

    impl Stations {
        fn hears(
            &mut self,
            now: Instant,
            tlli: Tlli,
            from: Address,
            owner: Option<u32>,
        ) -> Result<(u32, bool), Drop> {
            self.hear(now, tlli, (from, Word::Other), owner).map(|heard| (heard.slot, heard.is_news))
        }
    }

    #[test]
    fn a_mobile_is_where_its_tlli_was_heard_last() {
        let mut stations = Stations::new(2, 1);
        let now = Instant(5);
        assert_eq!(stations.hears(now, Tlli(7), at(1), None), heard(0, true));
        assert_eq!(stations.hears(now, Tlli(7), at(1), None), heard(0, false));
        assert_eq!(stations.hears(now, Tlli(7), at(2), None), heard(0, true));
        assert_eq!(stations.get(0).map(|station| (station.address, station.received)), Some((at(2), 3)));
        assert_eq!(
            stations.hears(now, Tlli(8), at(2), None),
            heard(1, true),
            "nothing says that it is the same"
        );
        assert_eq!(stations.hears(now, Tlli(9), at(2), None), Err(Drop::AdaptTableFull));
        let later = now + KEPT;
        assert_eq!(
            stations.hears(later, Tlli(9), at(3), None),
            heard(0, true),
            "the one that is silent longest"
        );
        assert_eq!((stations.find(Tlli(7)), stations.find(Tlli(9)), stations.len()), (None, Some(0), 2));
        stations.forget(0);
        assert_eq!((stations.find(Tlli(9)), stations.len()), (None, 1));
    }

    #[test]
    fn a_mobile_with_a_key_has_one_place_and_its_tllis_are_its_own() {
        let mut stations = Stations::new(4, 1);
        let now = Instant(5);
        assert_eq!(stations.hears(now, Tlli(1), at(1), Some(0)), heard(0, true));
        assert_eq!(stations.hears(now, Tlli(2), at(1), Some(0)), heard(0, true));
        assert_eq!((stations.find(Tlli(1)), stations.find(Tlli(2))), (Some(0), Some(0)));
        for thief in [None, Some(1)] {
            for tlli in [1, 2] {
                assert_eq!(stations.hears(now, Tlli(tlli), at(2), thief), Err(Drop::AdaptForeignTlli));
            }
        }
        assert_eq!(stations.get(0).unwrap().address, at(1));
        assert_eq!(stations.hears(now, Tlli(3), at(1), Some(0)), heard(0, true));
        assert_eq!(stations.find(Tlli(1)), None, "two at once");
        // Who has no key cannot keep one from who has.
        assert_eq!(stations.hears(now, Tlli(9), at(2), None), heard(1, true));
        assert_eq!(stations.hears(now, Tlli(9), at(1), Some(0)), heard(0, true));
        // Nobody keeps a TLLI for ever.
        assert_eq!(stations.hears(now + KEPT, Tlli(3), at(2), Some(1)), heard(2, true));
        assert_eq!(stations.find(Tlli(3)), Some(2));
    }

    #[test]
    fn what_is_late_moves_nobody_but_a_word_does() {
        let mut stations = Stations::new(2, 1);
        let mut hear = |now, station, word| {
            let Heard { is_news, address, .. } =
                stations.hear(Instant(now), Tlli(7), (at(station), word), None).unwrap();
            (is_news, address)
        };
        assert_eq!(hear(0, 1, Word::Where), (true, at(1)));
        assert_eq!(hear(10, 2, Word::Where), (true, at(2)));
        assert_eq!(hear(20, 1, Word::Other), (false, at(2)), "it was under way");
        assert_eq!(hear(30, 3, Word::Other), (true, at(3)), "somewhere else altogether");
        assert_eq!(hear(40, 2, Word::Other), (false, at(3)));
        assert_eq!(hear(50, 2, Word::Where), (true, at(2)), "it is back");
        assert_eq!(hear(49 + LATE.0, 3, Word::Other), (false, at(2)));
        assert_eq!(hear(50 + LATE.0, 3, Word::Other), (true, at(3)), "nothing is under way for so long");
    }
}
