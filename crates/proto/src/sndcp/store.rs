//! The N-PDUs of one NSAPI that the peer has not confirmed (04.65 clause 6.3 [44.065]). Plain octets: they travel with their
//! mobile.
//!
//! The octets of each stand in one place. One that goes to LLC whole, in one SN-PDU, is kept by LLC alone until it is
//! acknowledged there, and comes back where its link ends. What waits for LLC stands here; and so does, until it is confirmed, what
//! goes in several SN-PDUs or compressed, since LLC cannot give all of that back.

use crate::octet_queue::OctetQueue;
use gannet_wire::sndcp::DATA_FIRST_LEN;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// N-PDUs of one NSAPI that LLC has or has had at most, and that are unconfirmed, where a number alone is to tell a repetition
/// from a new one: half of what numbers tell apart, less one.
pub const WINDOW: u8 = 127;

/// Octets of memory that an empty store may keep.
const KEPT_EMPTY: usize = 2048;

/// N-PDUs in the order of their numbers: first those that LLC has, then those that wait.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Store {
    /// Octets of all.
    octets: u32,
    /// SN-PDUs that LLC has and has not confirmed.
    segments: u16,
    /// The number of the first.
    oldest: u8,
    /// How many there are. Of those that wait some may have the numbers of others again.
    count: u16,
    /// LLC has so many of them, or has had.
    handed: u8,
    /// The peer has said that it has so many of them, while LLC goes on with what it has of these.
    received: u8,
    /// Those whose octets stand here.
    kept: VecDeque<Kept>,
    here: OctetQueue,
}

/// One N-PDU whose octets stand here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Kept {
    /// 0 where it was lost with LLC.
    len: u16,
    number: u8,
    /// Its SN-PDUs that LLC has and has not confirmed.
    segments: u8,
}

/// N-PDUs that are confirmed: the number of the first, and how many.
pub(super) type Run = (u8, u8);

impl Store {
    /// An empty one, whose first N-PDU will have this number.
    pub(super) fn beginning_at(number: u8) -> Self {
        Self { oldest: number, ..Self::default() }
    }

    /// N-PDUs in it that the peer has not confirmed.
    pub(super) const fn len(&self) -> usize {
        (self.count - self.received as u16) as usize
    }

    /// The same, and those that LLC alone has not confirmed.
    pub(super) const fn len_with_llc(&self) -> u16 {
        self.count
    }

    /// N-PDUs that LLC has, or has had: the peer may have them.
    pub(super) const fn handed(&self) -> u8 {
        self.handed
    }

    /// Octets of all, those that LLC alone has not confirmed included.
    pub(super) const fn octets(&self) -> usize {
        self.octets as usize
    }

    /// SN-PDUs that LLC has and has not confirmed.
    pub(super) const fn segments(&self) -> u16 {
        self.segments
    }

    /// The number of the first.
    pub(super) const fn oldest(&self) -> u8 {
        self.oldest
    }

    /// The number of the next N-PDU.
    pub(super) const fn next_number(&self) -> u8 {
        let [number, _] = self.count.to_le_bytes();
        self.oldest.wrapping_add(number)
    }

    /// The number of the first that LLC does not have.
    pub(super) const fn waiting_number(&self) -> u8 {
        self.oldest.wrapping_add(self.handed)
    }

    /// Does any wait for LLC?
    pub(super) const fn has_waiting(&self) -> bool {
        (self.handed as u16) < self.count
    }

    /// Puts an N-PDU at the end, which waits.
    pub(super) fn push(&mut self, n_pdu: &[u8]) {
        let len = u16::try_from(n_pdu.len()).unwrap_or(u16::MAX);
        self.kept.push_back(Kept { len, number: self.next_number(), segments: 0 });
        self.here.push(n_pdu);
        self.octets += u32::from(len);
        self.count += 1;
    }

    /// An N-PDU of so many octets, before which none waits, goes to LLC in one SN-PDU.
    pub(super) const fn push_handed(&mut self, len: u16) {
        self.octets += len as u32;
        self.segments += 1;
        self.count += 1;
        self.handed += 1;
    }

    /// The first N-PDU that LLC does not have, in two pieces: without octets where it was lost.
    pub(super) fn waiting(&self) -> Option<[&[u8]; 2]> {
        let mut start = 0;
        for kept in &self.kept {
            let len = usize::from(kept.len);
            if kept.number == self.waiting_number() {
                return self.here.get(start..start + len);
            }
            start += len;
        }
        None
    }

    /// The first that waited goes to LLC, in so many SN-PDUs. It stays here as well.
    pub(super) fn hand(&mut self, segments: u8) {
        let number = self.waiting_number();
        if let Some(next) = self.kept.iter_mut().find(|kept| kept.number == number) {
            next.segments = segments;
            self.handed += 1;
            self.segments += u16::from(segments);
        }
    }

    /// Those that wait first and were lost with LLC are passed over: nothing of them goes out. True where there are any.
    pub(super) fn pass_lost(&mut self, confirmed: impl FnMut(Run)) -> bool {
        let is_lost =
            |store: &Self| store.waiting().is_some_and(|octets| octets.iter().all(|piece| piece.is_empty()));
        let was_lost = is_lost(self);
        while is_lost(self) && self.handed < u8::MAX {
            self.hand(0);
        }
        if was_lost {
            self.settle(confirmed);
        }
        was_lost
    }

    /// May LLC alone keep the first that waits? Nothing that stands here is before it.
    pub(super) fn is_first_here(&self) -> bool {
        self.kept.front().is_some_and(|kept| kept.number == self.waiting_number())
    }

    /// That one goes to LLC, in one SN-PDU.
    pub(super) fn hand_alone(&mut self) {
        if let Some(Kept { len, .. }) = self.kept.pop_front() {
            self.here.discard(len.into(), usize::MAX);
            self.handed += 1;
            self.segments += 1;
            self.tidy();
        }
    }

    /// LLC has confirmed so many N-PDUs that it alone has kept, whose SN-PDUs had so many octets. `None` where it cannot have.
    pub(super) fn confirm_alone(
        &mut self,
        (number, count): Run,
        octets: u32,
        mut confirmed: impl FnMut(Run),
    ) -> Option<()> {
        let here = self.kept.front().map_or(u8::MAX, |kept| kept.number.wrapping_sub(self.oldest));
        if number != self.oldest || count > self.handed.min(here) {
            return None;
        }
        let known = self.received.min(count);
        let headers = u32::from(count) * u32::try_from(DATA_FIRST_LEN).unwrap_or(0);
        self.octets = self.octets.saturating_sub(octets.saturating_sub(headers));
        self.segments = self.segments.saturating_sub(count.into());
        self.count -= u16::from(count);
        self.handed -= count;
        self.received -= known;
        self.oldest = self.oldest.wrapping_add(count);
        if known < count {
            confirmed((number.wrapping_add(known), count - known));
        }
        self.settle(confirmed);
        Some(())
    }

    /// LLC has confirmed an SN-PDU of an N-PDU that stands here. `None` where it has none of it.
    pub(super) fn confirm(&mut self, number: u8, confirmed: impl FnMut(Run)) -> Option<()> {
        let kept = self.kept.iter_mut().find(|kept| kept.number == number && kept.segments > 0)?;
        kept.segments -= 1;
        self.segments -= 1;
        self.settle(confirmed);
        Some(())
    }

    /// Takes the oldest out where all their SN-PDUs are confirmed. In this order alone: what LLC confirms beyond a gap is lost when
    /// the link is established anew.
    fn settle(&mut self, mut confirmed: impl FnMut(Run)) {
        while let Some(Kept { len, number, segments: 0 }) = self.kept.front().copied()
            && self.handed > 0
            && number == self.oldest
        {
            self.kept.pop_front();
            self.here.discard(len.into(), usize::MAX);
            self.octets = self.octets.saturating_sub(len.into());
            self.count -= 1;
            self.handed -= 1;
            self.oldest = self.oldest.wrapping_add(1);
            if self.received > 0 {
                self.received -= 1;
            } else if len > 0 {
                confirmed((number, 1));
            }
        }
        self.tidy();
    }

    /// The peer says that it has all before `number`. LLC goes on with what it has of these. `None` where that is none of those
    /// that are kept, or the one behind them.
    pub(super) fn receive(&mut self, number: u8) -> Option<Run> {
        let first = self.oldest.wrapping_add(self.received);
        let count = number.wrapping_sub(first);
        if usize::from(count) > self.len() {
            return None;
        }
        self.received = self.received.checked_add(count)?;
        self.pass_received();
        Some((first, count))
    }

    /// What waits and was received is not to go out.
    fn pass_received(&mut self) {
        self.handed = self.handed.max(self.received);
        self.settle(|_| {});
    }

    /// LLC has nothing any more of the N-PDUs from `number` on. What it alone has kept comes back, in its order, and all of that waits
    /// again. Gives how many are lost, as they have not come back.
    pub(super) fn take_back<'a>(&mut self, number: u8, units: impl Iterator<Item = (u8, &'a [u8])>) -> usize {
        let first = number.wrapping_sub(self.oldest);
        if first >= self.handed {
            return 0;
        }
        let (old, here) = (core::mem::take(&mut self.kept), core::mem::take(&mut self.here));
        let (mut old, mut start, mut lost) = (old.into_iter().peekable(), 0, 0);
        let (oldest, handed) = (self.oldest, self.handed);
        let mut units = units.filter(|(of, _)| of.wrapping_sub(oldest) < handed).peekable();
        for at in 0..self.count {
            let [place, _] = at.to_le_bytes();
            let number = self.oldest.wrapping_add(place);
            let is_back = (u16::from(first)..u16::from(handed)).contains(&at);
            if let Some(mut kept) = old.next_if(|kept| kept.number == number) {
                let octets = here.get(start..start + usize::from(kept.len)).unwrap_or_default();
                start += usize::from(kept.len);
                octets.iter().for_each(|piece| self.here.push(piece));
                if is_back {
                    self.segments -= u16::from(core::mem::take(&mut kept.segments));
                }
                self.kept.push_back(kept);
            } else if is_back {
                while units.next_if(|(of, _)| of.wrapping_sub(oldest) < place).is_some() {}
                let octets = units.next_if(|(of, _)| *of == number).map(|(_, octets)| octets);
                lost += usize::from(octets.is_none());
                let octets = octets.unwrap_or_default();
                self.here.push(octets);
                let len = u16::try_from(octets.len()).unwrap_or(0);
                self.segments -= 1;
                self.kept.push_back(Kept { len, number, segments: 0 });
            }
        }
        if first == 0 {
            self.octets = u32::try_from(self.here.len()).unwrap_or(u32::MAX);
        }
        self.handed = first;
        self.pass_received();
        lost
    }

    /// The same of all that LLC has, of which nothing comes back any more.
    pub(super) fn lose(&mut self) -> usize {
        self.take_back(self.oldest, core::iter::empty())
    }

    fn tidy(&mut self) {
        if self.kept.is_empty() && self.here.capacity() > KEPT_EMPTY {
            (self.kept, self.here) = (VecDeque::new(), OctetQueue::default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(store: &Store) -> Vec<u8> {
        store.waiting().unwrap().concat()
    }

    fn store_of(n_pdus: &[&[u8]]) -> Store {
        let mut store = Store::default();
        n_pdus.iter().for_each(|n_pdu| store.push(n_pdu));
        store
    }

    /// What LLC gives back.
    fn back<'a>(n_pdus: &'a [(u8, &'a [u8])]) -> impl Iterator<Item = (u8, &'a [u8])> {
        n_pdus.iter().copied()
    }

    fn confirm(store: &mut Store, number: u8) -> Option<Vec<Run>> {
        let mut runs = Vec::new();
        store.confirm(number, |run| runs.push(run)).map(|()| runs)
    }

    /// SN-PDUs with so many octets, their headers included.
    fn confirm_alone(store: &mut Store, run: Run, octets: u32) -> Option<Vec<Run>> {
        let mut runs = Vec::new();
        store.confirm_alone(run, octets, |run| runs.push(run)).map(|()| runs)
    }

    #[test]
    fn in_the_order_of_their_numbers() {
        let mut store = store_of(&[b"one", b"second", b"3"]);
        assert_eq!((store.len(), store.octets()), (3, 10));
        assert_eq!(waiting(&store), b"one");
        store.hand(2);
        assert_eq!(waiting(&store), b"second");
        assert!(!store.is_first_here(), "what is before it stands here");
        store.hand(1);
        assert_eq!((store.segments(), store.waiting_number()), (3, 2));
        // The second one is confirmed, and stays until the first one is.
        assert_eq!(confirm(&mut store, 1), Some(vec![]));
        assert_eq!((confirm(&mut store, 1), confirm(&mut store, 2)), (None, None));
        assert_eq!(confirm(&mut store, 0), Some(vec![]));
        assert_eq!(confirm(&mut store, 0), Some(vec![(0, 1), (1, 1)]));
        assert_eq!(
            (waiting(&store), store.len(), store.octets(), store.segments()),
            (b"3".to_vec(), 1, 1, 0)
        );
    }

    #[test]
    fn llc_alone_has_what_goes_whole() {
        let mut store = store_of(&[b"one", b"second"]);
        assert!(store.is_first_here());
        store.hand_alone();
        store.hand_alone();
        store.push_handed(300);
        assert_eq!((store.len(), store.octets(), store.segments(), store.here.len()), (3, 309, 3, 0));
        store.push(b"4");
        assert_eq!(waiting(&store), b"4");
        for (run, octets) in [((1, 1), 9), ((0, 4), 0)] {
            assert_eq!(confirm_alone(&mut store, run, octets), None, "{run:?}");
        }
        assert_eq!(confirm(&mut store, 0), None);
        assert_eq!(confirm_alone(&mut store, (0, 2), 15), Some(vec![(0, 2)]));
        assert_eq!((store.len(), store.octets(), store.segments()), (2, 301, 1));
        store.hand(2);
        assert_eq!(confirm_alone(&mut store, (2, 2), 304), None, "the last is not whole");
        assert_eq!(confirm_alone(&mut store, (2, 1), 303), Some(vec![(2, 1)]));
        assert_eq!((confirm(&mut store, 3), confirm(&mut store, 3)), (Some(vec![]), Some(vec![(3, 1)])));
        assert_eq!(store, Store::beginning_at(4));
    }

    #[test]
    fn what_comes_back_waits_again() {
        let mut store = store_of(&[b"one", b"second"]);
        store.hand_alone();
        store.hand(2);
        store.push_handed(1);
        store.push(b"four");
        assert_eq!(confirm(&mut store, 1), Some(vec![]));
        assert_eq!(store.take_back(0, back(&[(0, b"one"), (2, b"3")])), 0);
        assert_eq!((store.segments(), store.waiting_number(), store.octets()), (0, 0, 14));
        assert!(confirm(&mut store, 1).is_none() && confirm_alone(&mut store, (0, 1), 6).is_none());
        for n_pdu in [&b"one"[..], b"second", b"3", b"four"] {
            assert_eq!(waiting(&store), n_pdu);
            store.hand_alone();
        }
        assert_eq!(confirm_alone(&mut store, (0, 4), 26), Some(vec![(0, 4)]));
        assert_eq!(store, Store::beginning_at(4));
    }

    #[test]
    fn what_llc_has_not_taken_waits_behind_what_it_has() {
        let mut store = Store::beginning_at(254);
        for len in [3, 6, 1, 1] {
            store.push_handed(len);
        }
        store.push(b"five");
        assert_eq!(store.take_back(0, back(&[(0, b"3"), (1, b"4")])), 0);
        assert_eq!((store.waiting_number(), waiting(&store), store.segments()), (0, b"3".to_vec(), 2));
        assert_eq!(store.take_back(254, back(&[(254, b"one"), (255, b"second")])), 0);
        assert_eq!((store.waiting_number(), waiting(&store), store.segments()), (254, b"one".to_vec(), 0));
        assert_eq!((store.octets(), store.here.len(), store.len()), (15, 15, 5));
    }

    #[test]
    fn what_does_not_come_back_is_passed_over() {
        let mut store = Store::default();
        (0..3).for_each(|_| store.push_handed(100));
        store.push(b"4");
        // One of another context as well.
        assert_eq!(store.take_back(0, back(&[(250, b"x"), (1, b"second")])), 2);
        assert_eq!((store.octets(), store.waiting_number()), (7, 0));
        let mut confirmed = Vec::new();
        store.pass_lost(|run| confirmed.push(run));
        assert_eq!((waiting(&store), store.waiting_number()), (b"second".to_vec(), 1));
        store.hand_alone();
        store.pass_lost(|run| confirmed.push(run));
        assert_eq!((waiting(&store), store.waiting_number()), (b"4".to_vec(), 3));
        assert_eq!(confirm_alone(&mut store, (1, 1), 9), Some(vec![(1, 1)]));
        assert_eq!((store.len(), store.octets(), store.lose()), (1, 1, 0));
        assert!(confirmed.is_empty(), "nobody has them");
    }

    #[test]
    fn llc_goes_on_with_what_the_peer_has() {
        let mut store = store_of(&[b"one", b"second", b"3", b"four", b"five"]);
        store.hand(2);
        store.hand(1);
        // The third has not gone out this time.
        assert_eq!(store.receive(3), Some((0, 3)));
        assert_eq!((waiting(&store), store.len(), store.waiting_number()), (b"four".to_vec(), 2, 3));
        assert_eq!(store.segments(), 3, "LLC has no more room than before");
        assert_eq!(store.octets(), 18, "and no less memory");
        store.hand(1);
        assert!(confirm(&mut store, 0).is_some() && confirm(&mut store, 0).is_some());
        assert_eq!((store.octets(), confirm(&mut store, 1)), (15, Some(vec![])), "it was known");
        assert_eq!((store.octets(), store.segments()), (8, 1));
        assert_eq!(confirm(&mut store, 3), Some(vec![(3, 1)]));
        assert_eq!((store.receive(4), store.receive(3), store.receive(6)), (Some((4, 0)), None, None));
        store.hand_alone();
        store.push_handed(1);
        assert_eq!(store.receive(5), Some((4, 1)));
        assert_eq!(confirm_alone(&mut store, (4, 2), 11), Some(vec![(5, 1)]));
        store.push_handed(1);
        assert_eq!(store.receive(7), Some((6, 1)));
        assert_eq!(store.take_back(6, back(&[(6, b"7")])), 0);
        assert_eq!(store, Store::beginning_at(7), "LLC has lost that, too");
    }

    #[test]
    fn an_empty_one_gives_its_memory_back() {
        let mut store = store_of(&[&[7; 1500][..]; 4]);
        assert_eq!(store.receive(4), Some((0, 4)));
        assert!(store.here.capacity() <= KEPT_EMPTY);
        assert_eq!(store, Store::beginning_at(4));
    }
}
