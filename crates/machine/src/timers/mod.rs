//! Timers: a table of named deadlines in each machine, and one queue of wake-ups for a whole node.
//!
//! A deadline belongs to the state that it concerns ([`Deadlines`], plain data that moves with its mobile). The
//! node asks the driver only for a wake-up ([`Timers::wake`]); a wake-up that comes too early, because the deadline
//! was moved since, costs one look. So restarting the READY timer with every uplink frame is one store.
//!
//! Wake-ups that are far away stand in slots, unordered, until their time comes near: a heap of all of them, which is a
//! READY timer and a periodic one for each of a million mobiles, costs twenty cold cache lines for each one that is due.
//! The slots of the next quarter of a second are as long as a millisecond, so that few are in order at a time.
//!
//! A deadline that is mostly moved away before it is due, as that of an acknowledgement, is a [`FleetingDeadlines`]: its wake-up is
//! recalled ([`Timers::recall`]), which touches the place where it stands and not what it would have woken.

mod deadlines;
mod names;
mod wheel;

pub use deadlines::{Deadlines, FleetingDeadlines};
pub use names::TimerName;

use crate::time::Instant;
use core::cmp::Reverse;
use core::num::NonZeroU64;
use std::collections::BinaryHeap;
use wheel::{Link, Places, Wheel};

/// Length of a slot and how many there are, for what comes soon: 1.05 ms, 268 ms of them.
const SOON: (u32, usize) = (20, 1 << 8);
/// The same for what comes later: 67 ms, 73 minutes of them. What is farther away is in order too.
const LATER: (u32, usize) = (26, 1 << 16);
/// With room for fewer wake-ups than this at the start all of them are in order: slots would take more memory.
const MANY: usize = 4096;

/// Who wants to be woken: chosen by the node, meaningless to the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerKey {
    /// What kind of owner (a mobile, a cell, a path), by its number among the node's own ([`TimerName::number`]).
    pub owner: u8,
    /// The owner's slot.
    pub slot: u32,
    /// The slot's generation, so that a wake-up for a former owner is recognised.
    pub generation: u16,
}

/// Where a wake-up was put, to recall it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ticket(Link);

/// The wake-ups of one node, ordered by time, then by the order of asking.
#[derive(Debug)]
pub struct Timers {
    /// Those of slots that are open and of earlier ones, and those for which there is no slot.
    near: BinaryHeap<Reverse<Wake>>,
    soon: Wheel,
    later: Wheel,
    /// Those that are not near.
    places: Places,
    waiting: usize,
    sequence: NonZeroU64,
}

/// When, after how many others it was asked for, and who.
type Wake = (Instant, NonZeroU64, TimerKey);

impl Default for Timers {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl Timers {
    /// Room for `capacity` wake-ups, allocated now.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        let wheel = |(shift, slots)| Wheel::new(shift, if capacity >= MANY { slots } else { 0 });
        Self {
            near: BinaryHeap::with_capacity(capacity),
            soon: wheel(SOON),
            later: wheel(LATER),
            places: Places::with_capacity(capacity),
            waiting: 0,
            sequence: NonZeroU64::MIN,
        }
    }

    /// Asks for `Input::Timeout(key)` at `at` or as soon after as the driver can.
    pub fn wake(&mut self, key: TimerKey, at: Instant) -> Ticket {
        self.sequence = self.sequence.saturating_add(1);
        self.waiting += 1;
        let link = self.places.insert((at, self.sequence, key));
        if self.put_in_slot(at, link) { Ticket(link) } else { self.put_in_order(link) }
    }

    fn put_in_slot(&mut self, at: Instant, link: Link) -> bool {
        let Self { soon, later, places, .. } = self;
        soon.put(places, at, link) || later.put(places, at, link)
    }

    fn put_in_order(&mut self, link: Link) -> Ticket {
        if let Some((Some(wake), _)) = self.places.get(link) {
            self.near.push(Reverse(wake));
        }
        self.places.remove(link);
        Ticket::default()
    }

    /// Takes back the wake-up for `key` at `at`; its place stays taken until then. False where it is not in a slot (any more), as what
    /// is near: it still comes, for nothing.
    pub fn recall(&mut self, Ticket(link): Ticket, key: TimerKey, at: Instant) -> bool {
        let is_recalled = self.places.recall(link, |wake| wake.0 == at && wake.2 == key);
        self.waiting -= usize::from(is_recalled);
        is_recalled
    }

    /// When the next wake-up is due, or a little before where that was recalled.
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
        let near = self.near.peek().map(|Reverse((at, ..))| *at);
        near.into_iter().chain(self.soon.next()).chain(self.later.next()).min()
    }

    /// Takes one wake-up that is due at `now`.
    pub fn pop_due(&mut self, now: Instant) -> Option<TimerKey> {
        while let Some(list) = self.soon.open(now).or_else(|| self.later.open(now)) {
            self.open(list);
        }
        let due = self.near.peek().is_some_and(|Reverse((at, ..))| *at <= now);
        let Reverse((_, _, key)) = due.then(|| self.near.pop())??;
        self.waiting -= 1;
        Some(key)
    }

    /// What was in a slot goes where it belongs now.
    fn open(&mut self, mut list: Link) {
        while let Some((wake, next)) = self.places.get(list) {
            match wake {
                Some((at, ..)) if self.put_in_slot(at, list) => {}
                _ => {
                    self.put_in_order(list);
                }
            }
            list = next;
        }
    }

    /// Wake-ups asked for, not recalled and not yet taken.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.waiting
    }

    /// True when nobody waits.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.waiting == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: TimerKey = TimerKey { owner: 1, slot: 7, generation: 0 };

    #[test]
    fn near_and_far_come_as_one_queue() {
        let mut timers = Timers::with_capacity(MANY);
        let mut expected = std::collections::BTreeSet::new();
        let mut rng = fastrand::Rng::with_seed(7);
        let (mut now, mut slot) = (0, 0);
        // From a nanosecond to some hours.
        let some_time = |rng: &mut fastrand::Rng, most: u32| {
            let bits = rng.u32(1..most);
            rng.u64(..1 << bits)
        };
        for _ in 0..20_000 {
            if rng.bool() {
                slot += 1;
                let at = now + some_time(&mut rng, 44);
                timers.wake(TimerKey { slot, ..KEY }, Instant(at));
                expected.insert((at, slot));
            } else {
                now = match timers.next() {
                    Some(Instant(at)) if rng.bool() => now.max(at),
                    _ => now + some_time(&mut rng, 30),
                };
            }
            assert_eq!(timers.next().map(|at| at.0), expected.first().map(|(at, _)| *at));
            if rng.u8(..4) > 0 {
                let due = expected.first().copied().filter(|(at, _)| *at <= now);
                assert_eq!(timers.pop_due(Instant(now)).map(|key| key.slot), due.map(|(_, slot)| slot));
                due.map(|due| expected.remove(&due));
            }
            assert_eq!(timers.len(), expected.len());
        }
        assert!(slot > 9_000 && timers.len() > 100);
    }

    #[test]
    fn what_is_recalled_does_not_come_whatever_stands_beside_it() {
        let mut timers = Timers::with_capacity(MANY);
        let mut rng = fastrand::Rng::with_seed(3);
        let mut expected = std::collections::BTreeSet::new();
        let mut tickets = Vec::new();
        let (mut now, mut recalled) = (0, 0);
        for slot in 0..50_000 {
            let (bits, step) = (rng.u32(10..38), rng.u32(5..22));
            let (key, at) = (TimerKey { slot, ..KEY }, Instant(now + rng.u64(..1 << bits)));
            tickets.push((timers.wake(key, at), key, at));
            expected.insert((at.0, slot));
            // Also one that has come, or was recalled, or whose place has another since.
            let (ticket, key, at) = tickets[rng.usize(..tickets.len())];
            if timers.recall(ticket, key, at) {
                assert!(expected.remove(&(at.0, key.slot)), "it was there");
                recalled += 1;
            }
            now += rng.u64(..1 << step);
            while let Some(key) = timers.pop_due(Instant(now)) {
                let due = expected.pop_first().unwrap();
                assert!(due.0 <= now);
                assert_eq!(key.slot, due.1);
            }
            assert!(expected.first().is_none_or(|first| first.0 > now), "none is missed");
            assert_eq!(timers.len(), expected.len());
            let first = expected.first().map_or(u64::MAX, |first| first.0);
            assert!(expected.is_empty() || timers.next().is_some_and(|next| next.0 <= first));
        }
        assert!(recalled > 1000, "{recalled}");
    }

    #[test]
    fn equal_times_come_in_the_order_of_asking() {
        let mut timers = Timers::default();
        for slot in [3, 1, 2] {
            timers.wake(TimerKey { slot, ..KEY }, Instant(5));
        }
        let order: Vec<u32> =
            core::iter::from_fn(|| timers.pop_due(Instant(5))).map(|key| key.slot).collect();
        assert_eq!(order, [3, 1, 2]);
    }
}
