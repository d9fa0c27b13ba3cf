//! Who is who: a mobile's index by each of its names in O(1).
//!
//! A mobile's own datagrams come by its index. Its other names are for what every mobile of a cell hears: paging by
//! IMSI or by P-TMSI, and LL-PDUs that the BSS sends to all.

use foldhash::quality::SeedableRandomState;
use gannet_wire::id::{Imei, Imsi, PTmsi, Rai, Tlli};
use std::collections::HashMap;

type Table<K> = HashMap<K, u32, SeedableRandomState>;

/// The changing names of one mobile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Names {
    /// P-TMSI, and the routing area in which it means something.
    pub ptmsi: Option<(Rai, PTmsi)>,
    /// TLLIs that are accepted, and the index of the cell in which they are heard.
    pub tllis: [Option<(u16, Tlli)>; 2],
}

/// All names of a fleet.
#[derive(Debug)]
pub struct Directory {
    first: Imsi,
    mobiles: u32,
    by_ptmsi: Table<(Rai, PTmsi)>,
    by_tlli: Table<(u16, Tlli)>,
}

impl Directory {
    /// Room for the names of `mobiles` mobiles whose IMSIs begin with `first`, taken now.
    #[must_use]
    pub fn new(first: Imsi, mobiles: u32) -> Self {
        let state = || SeedableRandomState::with_seed(1, foldhash::SharedSeed::global_fixed());
        let room = mobiles as usize * 2;
        Self {
            first,
            mobiles,
            by_ptmsi: HashMap::with_capacity_and_hasher(room, state()),
            by_tlli: HashMap::with_capacity_and_hasher(room * 2, state()),
        }
    }

    /// The mobile of a subscriber.
    #[must_use]
    pub fn by_imsi(&self, imsi: Imsi) -> Option<u32> {
        let same_length = imsi.digits().count() == self.first.digits().count();
        let index = number(imsi.digits()).checked_sub(number(self.first.digits()))?;
        u32::try_from(index).ok().filter(|index| same_length && *index < self.mobiles)
    }

    /// The mobile that has a P-TMSI in a routing area.
    #[must_use]
    pub fn by_ptmsi(&self, rai: Rai, ptmsi: PTmsi) -> Option<u32> {
        self.by_ptmsi.get(&(rai, ptmsi)).copied()
    }

    /// The mobile that answers to a TLLI in a cell.
    #[must_use]
    pub fn by_tlli(&self, cell: u16, tlli: Tlli) -> Option<u32> {
        self.by_tlli.get(&(cell, tlli)).copied()
    }

    /// Gives mobile `index` the names `new` instead of `old`.
    pub fn rename(&mut self, index: u32, old: Names, new: Names) {
        if old == new {
            return;
        }
        if let Some(name) = old.ptmsi.filter(|name| self.by_ptmsi.get(name) == Some(&index)) {
            self.by_ptmsi.remove(&name);
        }
        for name in old.tllis.into_iter().flatten() {
            if self.by_tlli.get(&name) == Some(&index) {
                self.by_tlli.remove(&name);
            }
        }
        if let Some(name) = new.ptmsi {
            self.by_ptmsi.insert(name, index);
        }
        for name in new.tllis.into_iter().flatten() {
            self.by_tlli.insert(name, index);
        }
    }
}

fn number(digits: impl Iterator<Item = u8>) -> u64 {
    digits.fold(0, |number, digit| number * 10 + u64::from(digit))
}

/// The decimal digits of `number`, `count` of them.
fn digits(number: u64, count: usize) -> impl Iterator<Item = u8> {
    (0..count).rev().map(move |place| {
        let weight =
            u32::try_from(place).ok().and_then(|place| 10_u64.checked_pow(place)).unwrap_or(u64::MAX);
        u8::try_from(number / weight % 10).unwrap_or(0)
    })
}

/// The IMSI of mobile `index` of a fleet that begins with `first`; `None` where its digits do not suffice.
#[must_use]
pub fn imsi_of(first: Imsi, index: u32) -> Option<Imsi> {
    let count = first.digits().count();
    let imsi = Imsi::from_digits(digits(number(first.digits()) + u64::from(index), count))?;
    (number(imsi.digits()) >= number(first.digits())).then_some(imsi)
}

/// The IMEI of mobile `index`: the last digit is spare and stays (03.03 clause 6.2.1 [23.003]).
#[must_use]
pub fn imei_of(first: Imei, index: u32) -> Option<Imei> {
    let count = first.digits().count();
    Imei::from_digits(digits(number(first.digits()) + u64::from(index) * 10, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imsis_follow_each_other() {
        let first: Imsi = "001010000000098".parse().unwrap();
        let directory = Directory::new(first, 3);
        let third = imsi_of(first, 2).unwrap();
        assert_eq!(third.to_string(), "001010000000100");
        assert_eq!(directory.by_imsi(third), Some(2));
        for other in ["001010000000097", "001010000000101", "1010000000099"] {
            assert_eq!(directory.by_imsi(other.parse().unwrap()), None, "{other}");
        }
        assert_eq!(imsi_of("999".parse().unwrap(), 1), None);
        let imei = imei_of("350000000000090".parse().unwrap(), 1).unwrap();
        assert_eq!(imei.to_string(), "350000000000100");
    }

    #[test]
    fn a_name_that_another_took_is_not_removed() {
        let mut directory = Directory::new("001".parse().unwrap(), 2);
        let name = Names { tllis: [Some((1, Tlli(0x8000_0000))), None], ..Names::default() };
        directory.rename(0, Names::default(), name);
        directory.rename(1, Names::default(), name);
        directory.rename(0, name, Names::default());
        assert_eq!(directory.by_tlli(1, Tlli(0x8000_0000)), Some(1));
        assert_eq!(directory.by_tlli(2, Tlli(0x8000_0000)), None, "another cell");
        directory.rename(1, name, Names::default());
        assert_eq!(directory.by_tlli(1, Tlli(0x8000_0000)), None);
    }
}
