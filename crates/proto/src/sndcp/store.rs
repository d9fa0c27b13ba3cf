//! The N-PDUs of one NSAPI that the peer has not confirmed (04.65 clause 6.3 [44.065]), as they came, so that they can be
//! compressed anew when they go out a second time. Plain octets: they travel with their mobile.

use super::acknowledged::WINDOW;
use crate::octet_queue::OctetQueue;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Octets of memory that an empty store may keep.
const KEPT_EMPTY: usize = 2048;

/// N-PDUs in the order of their numbers: first those that LLC has, then those that wait.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Store {
    octets: OctetQueue,
    n_pdus: VecDeque<Kept>,
    /// How many LLC has.
    handed: u8,
    /// SN-PDUs of these that are not confirmed.
    segments: u16,
    /// SN-PDUs that LLC has of N-PDUs which are gone from here, since the peer has said that it has them.
    outlived: u16,
    /// Octets of these N-PDUs, until LLC has confirmed all of them.
    outlived_octets: u32,
}

/// One N-PDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    len: u16,
    /// Its SN-PDUs that LLC has and has not confirmed.
    segments: u8,
}

impl Store {
    /// N-PDUs in it.
    pub(super) fn len(&self) -> usize {
        self.n_pdus.len()
    }

    /// Octets in it.
    pub(super) fn octets(&self) -> usize {
        self.octets.len()
    }

    /// The same, and octets of N-PDUs that LLC alone has.
    pub(super) fn octets_with_llc(&self) -> usize {
        self.octets.len() + self.outlived_octets as usize
    }

    /// SN-PDUs that LLC has and has not confirmed.
    pub(super) const fn segments(&self) -> u16 {
        self.segments.saturating_add(self.outlived)
    }

    /// How many N-PDUs LLC has.
    pub(super) const fn handed(&self) -> u8 {
        self.handed
    }

    /// Puts an N-PDU at the end.
    pub(super) fn push(&mut self, n_pdu: &[u8]) {
        self.octets.push(n_pdu);
        let len = u16::try_from(n_pdu.len()).unwrap_or(u16::MAX);
        self.n_pdus.push_back(Kept { len, segments: 0 });
    }

    /// The first N-PDU that LLC does not have, in two pieces.
    pub(super) fn waiting(&self) -> Option<[&[u8]; 2]> {
        let handed = usize::from(self.handed);
        let next = self.n_pdus.get(handed)?;
        let start: usize = self.n_pdus.iter().take(handed).map(|kept| usize::from(kept.len)).sum();
        self.octets.get(start..start + usize::from(next.len))
    }

    /// The first that waited goes to LLC, in so many SN-PDUs.
    pub(super) fn hand(&mut self, segments: u8) {
        if let Some(next) = self.n_pdus.get_mut(usize::from(self.handed)) {
            next.segments = segments;
            self.handed += 1;
            self.segments += u16::from(segments);
        }
    }

    /// LLC has confirmed an SN-PDU of the N-PDU at `place`, that before the oldest being 255. False where it has none of it.
    pub(super) fn confirm(&mut self, place: u8) -> bool {
        if place >= self.handed {
            let is_outlived = place > WINDOW && self.outlived > 0;
            self.outlived -= u16::from(is_outlived);
            if self.outlived == 0 {
                self.outlived_octets = 0;
            }
            return is_outlived;
        }
        match self.n_pdus.get_mut(usize::from(place)) {
            Some(kept) if kept.segments > 0 => {
                kept.segments -= 1;
                self.segments -= 1;
                true
            }
            Some(_) | None => false,
        }
    }

    /// Takes the oldest out where all its SN-PDUs are confirmed. In this order alone: what LLC confirms beyond a gap
    /// is lost when the link is established anew.
    pub(super) fn pop_confirmed(&mut self) -> bool {
        let is_confirmed = self.handed > 0 && self.n_pdus.front().is_some_and(|kept| kept.segments == 0);
        if is_confirmed {
            self.pop();
        }
        is_confirmed
    }

    /// LLC has lost all that it had: everything waits again.
    pub(super) fn take_back(&mut self) {
        self.n_pdus.iter_mut().take(usize::from(self.handed)).for_each(|kept| kept.segments = 0);
        (self.handed, self.segments) = (0, 0);
        (self.outlived, self.outlived_octets) = (0, 0);
    }

    /// Takes the oldest out, since the peer has said that it has it. LLC goes on with what it has of it.
    pub(super) fn pop_received(&mut self) {
        let of_llc = self.n_pdus.front().filter(|kept| self.handed > 0 && kept.segments > 0).copied();
        self.pop();
        if let Some(Kept { len, segments }) = of_llc {
            self.outlived += u16::from(segments);
            self.outlived_octets += u32::from(len);
        }
    }

    fn pop(&mut self) {
        let Some(kept) = self.n_pdus.pop_front() else { return };
        self.octets.discard(usize::from(kept.len), usize::MAX);
        if self.handed > 0 {
            self.handed -= 1;
            self.segments -= u16::from(kept.segments);
        }
        if self.n_pdus.is_empty() && self.octets.capacity() > KEPT_EMPTY {
            let Self { outlived, outlived_octets, .. } = *self;
            *self = Self { outlived, outlived_octets, ..Self::default() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(store: &Store) -> Vec<u8> {
        store.waiting().unwrap().concat()
    }

    #[test]
    fn in_the_order_of_their_numbers() {
        let mut store = Store::default();
        for n_pdu in [&b"one"[..], b"second", b"3"] {
            store.push(n_pdu);
        }
        assert_eq!((store.len(), store.octets()), (3, 10));
        assert_eq!(waiting(&store), b"one");
        store.hand(2);
        assert_eq!(waiting(&store), b"second");
        store.hand(1);
        assert_eq!((store.segments(), store.handed()), (3, 2));
        // The second one is confirmed, and stays until the first one is.
        assert!(store.confirm(1) && !store.confirm(1) && !store.confirm(2));
        assert!(!store.pop_confirmed());
        assert!(store.confirm(0) && store.confirm(0));
        assert!(store.pop_confirmed() && store.pop_confirmed() && !store.pop_confirmed());
        assert_eq!((waiting(&store), store.len(), store.segments()), (b"3".to_vec(), 1, 0));
    }

    #[test]
    fn what_is_taken_back_waits_again() {
        let mut store = Store::default();
        store.push(b"one");
        store.push(b"second");
        store.hand(2);
        assert!(store.confirm(0));
        store.take_back();
        assert_eq!((waiting(&store), store.segments(), store.handed()), (b"one".to_vec(), 0, 0));
        assert!(!store.pop_confirmed() && !store.confirm(0));
        store.hand(1);
        assert!(store.confirm(0) && store.pop_confirmed());
        assert_eq!((waiting(&store), store.segments(), store.handed()), (b"second".to_vec(), 0, 0));
    }

    #[test]
    fn llc_goes_on_with_what_the_peer_has() {
        let mut store = Store::default();
        for n_pdu in [&b"one"[..], b"second", b"3"] {
            store.push(n_pdu);
        }
        store.hand(2);
        store.hand(1);
        (0..2).for_each(|_| store.pop_received());
        assert_eq!((waiting(&store), store.len(), store.handed()), (b"3".to_vec(), 1, 0));
        assert_eq!(store.segments(), 3, "LLC has no more room than before");
        assert_eq!((store.octets(), store.octets_with_llc()), (1, 10), "and no less memory");
        store.hand(1);
        assert!(!store.confirm(1) && store.confirm(255) && store.confirm(254) && store.confirm(254));
        assert!(!store.confirm(255), "there were three");
        assert_eq!(store.octets_with_llc(), 1);
        assert!(store.confirm(0) && store.pop_confirmed() && store.segments() == 0);
        store.push(b"4");
        store.hand(3);
        store.pop_received();
        assert_eq!(store.segments(), 3);
        store.take_back();
        assert_eq!((store.segments(), store.octets_with_llc()), (0, 0), "LLC has lost that, too");
    }

    #[test]
    fn an_empty_one_gives_its_memory_back() {
        let mut store = Store::default();
        (0..4).for_each(|_| store.push(&[7; 1500]));
        (0..4).for_each(|_| store.pop_received());
        assert!(store.octets.capacity() <= KEPT_EMPTY);
        assert_eq!(store, Store::default());
    }
}
