//! A value for each NSAPI of a mobile, small where there is one context, which is nearly always.
//!
//! The first one stands in the table itself, the others behind it in memory of their own that most mobiles never
//! need. All of it belongs to the mobile and travels with it as octets like the rest.

use gannet_wire::id::Nsapi;
use serde::{Deserialize, Serialize};

/// NSAPIs 5 to 15.
pub const NSAPIS: usize = 11;

/// Values by NSAPI, 5 to 15.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ByNsapi<T> {
    first: Option<(Nsapi, T)>,
    more: Option<Box<[Option<T>; NSAPIS]>>,
}

impl<T> Default for ByNsapi<T> {
    fn default() -> Self {
        Self { first: None, more: None }
    }
}

/// Where in `more` an NSAPI stands.
fn place_of(nsapi: Nsapi) -> Option<usize> {
    usize::from(nsapi.0).checked_sub(5).filter(|place| *place < NSAPIS)
}

impl<T> ByNsapi<T> {
    /// The value of an NSAPI.
    #[must_use]
    pub fn get(&self, nsapi: Nsapi) -> Option<&T> {
        match &self.first {
            Some((of, value)) if *of == nsapi => Some(value),
            _ => self.more.as_ref()?.get(place_of(nsapi)?)?.as_ref(),
        }
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, nsapi: Nsapi) -> Option<&mut T> {
        match &mut self.first {
            Some((of, value)) if *of == nsapi => Some(value),
            _ => self.more.as_mut()?.get_mut(place_of(nsapi)?)?.as_mut(),
        }
    }

    /// Puts a value in, in place of what is there, and returns it; `None`, and nothing has changed, outside 5 to 15.
    pub fn insert(&mut self, nsapi: Nsapi, value: T) -> Option<&mut T> {
        let place = place_of(nsapi)?;
        let elsewhere = self.more.as_ref().is_some_and(|more| more.get(place).is_some_and(Option::is_some));
        let is_first = self.first.as_ref().is_none_or(|(of, _)| *of == nsapi);
        if is_first && !elsewhere {
            return Some(&mut self.first.insert((nsapi, value)).1);
        }
        let more = self.more.get_or_insert_with(|| Box::new([const { None }; NSAPIS]));
        Some(more.get_mut(place)?.insert(value))
    }

    /// Takes a value out.
    pub fn remove(&mut self, nsapi: Nsapi) -> Option<T> {
        if let Some((_, value)) = self.first.take_if(|(of, _)| *of == nsapi) {
            return Some(value);
        }
        let more = self.more.as_mut()?;
        let value = more.get_mut(place_of(nsapi)?)?.take();
        if more.iter().all(Option::is_none) {
            self.more = None;
        }
        value
    }

    /// All of them by rising NSAPI.
    pub fn iter(&self) -> impl Iterator<Item = (Nsapi, &T)> {
        (5..=15).filter_map(|nsapi| Some((Nsapi(nsapi), self.get(Nsapi(nsapi))?)))
    }

    /// All of them, to change them, in no certain order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let more = self.more.as_mut().map(|more| more.iter_mut().flatten());
        self.first.as_mut().map(|(_, value)| value).into_iter().chain(more.into_iter().flatten())
    }

    /// True where there is one at most, which needs no look elsewhere.
    #[must_use]
    #[inline]
    pub const fn is_single(&self) -> bool {
        self.more.is_none()
    }

    /// True where there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.first.is_none() && self.more.is_none()
    }
}

impl<T: PartialEq> PartialEq for ByNsapi<T> {
    /// The same values under the same NSAPIs, wherever they stand.
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T: Eq> Eq for ByNsapi<T> {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn one_context_needs_no_memory_of_its_own() {
        let mut table = ByNsapi::default();
        assert!(table.insert(Nsapi(9), 1_u64).is_some());
        assert!(table.more.is_none());
        assert!(table.insert(Nsapi(5), 2).is_some());
        assert_eq!(table.remove(Nsapi(5)), Some(2));
        assert!(table.more.is_none());
        assert!(table.insert(Nsapi(4), 3).is_none());
        assert!(table.insert(Nsapi(16), 3).is_none());
        assert_eq!(table.iter().collect::<Vec<_>>(), [(Nsapi(9), &1)]);
    }

    proptest! {
        #[test]
        fn it_is_a_map(steps in proptest::collection::vec((4_u8..17, any::<Option<u16>>()), 0..80)) {
            let (mut table, mut model) = (ByNsapi::default(), BTreeMap::new());
            for (nsapi, value) in steps {
                let valid = (5..=15).contains(&nsapi);
                match value {
                    Some(value) => {
                        prop_assert_eq!(table.insert(Nsapi(nsapi), value).copied(), valid.then_some(value));
                        if valid {
                            model.insert(nsapi, value);
                        }
                    }
                    None => prop_assert_eq!(table.remove(Nsapi(nsapi)), model.remove(&nsapi)),
                }
                let all: Vec<(u8, u16)> = table.iter().map(|(nsapi, value)| (nsapi.0, *value)).collect();
                prop_assert_eq!(all, model.iter().map(|(a, b)| (*a, *b)).collect::<Vec<_>>());
                prop_assert_eq!(table.iter_mut().count(), model.len());
                prop_assert_eq!(table.is_empty(), model.is_empty());
                let again: ByNsapi<u16> = in_reverse(&table);
                prop_assert!(again == table);
            }
        }
    }

    /// The same values in another order of arrival.
    fn in_reverse(table: &ByNsapi<u16>) -> ByNsapi<u16> {
        let mut again = ByNsapi::default();
        let values: Vec<_> = table.iter().map(|(nsapi, value)| (nsapi, *value)).collect();
        for (nsapi, value) in values.into_iter().rev() {
            again.insert(nsapi, value);
        }
        again
    }
}
