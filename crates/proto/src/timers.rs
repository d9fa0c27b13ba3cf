//! Timers: a table of named deadlines in each machine, and one queue of wake-ups for a whole node.
//!
//! A deadline belongs to the state that it concerns ([`Deadlines`], plain data that moves with its mobile). The
//! node asks the driver only for a wake-up ([`Timers::wake`]); a wake-up that comes too early, because the deadline
//! was moved since, costs one look. So restarting the READY timer with every uplink frame is one store.

use crate::time::Instant;
use core::cmp::Reverse;
use serde::{Deserialize, Serialize};
use std::collections::BinaryHeap;

/// Who wants to be woken: chosen by the node, meaningless to the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerKey {
    /// What kind of owner (a mobile, a cell, a path), in the node's own numbering.
    pub owner: u8,
    /// The owner's slot.
    pub slot: u32,
    /// The slot's generation, so that a wake-up for a former owner is recognised.
    pub generation: u16,
}

/// The wake-ups of one node, ordered by time, then by the order of asking.
#[derive(Debug, Default)]
pub struct Timers {
    heap: BinaryHeap<Reverse<(Instant, u64, TimerKey)>>,
    sequence: u64,
}

impl Timers {
    /// Room for `capacity` wake-ups, allocated now.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self { heap: BinaryHeap::with_capacity(capacity), sequence: 0 }
    }

    /// Asks for `Input::Timeout(key)` at `at` or as soon after as the driver can.
    pub fn wake(&mut self, key: TimerKey, at: Instant) {
        self.sequence += 1;
        self.heap.push(Reverse((at, self.sequence, key)));
    }

    /// When the next wake-up is due.
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    /// Takes one wake-up that is due at `now`.
    pub fn pop_due(&mut self, now: Instant) -> Option<TimerKey> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, _, key))| key)
    }

    /// Wake-ups asked for and not yet taken.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// True when nobody waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

/// Named deadlines of one owner. `N` is the number of names; a name is its index (`T3350 as usize`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deadlines<const N: usize> {
    #[serde(with = "array")]
    at: [Instant; N],
    /// The earliest wake-up that was asked for and has not come yet.
    #[serde(skip, default = "never")]
    asked: Instant,
}

/// The instant that stands for "not running": eight octets for a deadline, not sixteen.
const NEVER: Instant = Instant(u64::MAX);

const fn never() -> Instant {
    NEVER
}

fn running(at: Instant) -> Option<Instant> {
    (at != NEVER).then_some(at)
}

impl<const N: usize> Default for Deadlines<N> {
    fn default() -> Self {
        Self { at: [NEVER; N], asked: NEVER }
    }
}

impl<const N: usize> Deadlines<N> {
    /// Sets or moves the deadline `name`.
    pub fn set(&mut self, name: usize, at: Instant) {
        if let Some(slot) = self.at.get_mut(name) {
            *slot = at;
        }
    }

    /// Removes the deadline `name`.
    pub fn clear(&mut self, name: usize) {
        if let Some(slot) = self.at.get_mut(name) {
            *slot = NEVER;
        }
    }

    /// Removes all deadlines.
    pub fn clear_all(&mut self) {
        self.at = [NEVER; N];
    }

    /// The deadline `name`.
    #[must_use]
    pub fn get(&self, name: usize) -> Option<Instant> {
        self.at.get(name).copied().and_then(running)
    }

    /// True where `name` is running.
    #[must_use]
    pub fn is_set(&self, name: usize) -> bool {
        self.get(name).is_some()
    }

    /// The earliest deadline.
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
        self.at.iter().min().copied().and_then(running)
    }

    /// Takes the name of one deadline that is due, the earliest first, and removes it.
    pub fn pop_due(&mut self, now: Instant) -> Option<usize> {
        let (name, _) = self
            .at
            .iter()
            .enumerate()
            .filter(|(_, at)| **at <= now && **at != NEVER)
            .min_by_key(|(name, at)| (**at, *name))?;
        self.clear(name);
        Some(name)
    }

    /// Asks for a wake-up where the one that is on its way would come too late. To be called after every change;
    /// costs a comparison when there is nothing to do.
    pub fn arm(&mut self, key: TimerKey, timers: &mut Timers) {
        let Some(next) = self.next() else { return };
        if next < self.asked {
            timers.wake(key, next);
            self.asked = next;
        }
    }

    /// To be called when the owner is woken, before [`Deadlines::pop_due`] and [`Deadlines::arm`].
    pub fn woken(&mut self, now: Instant) {
        if self.asked <= now {
            self.asked = NEVER;
        }
    }
}

/// Serialisation of the deadlines as absolute instants; serde has no arrays of any length.
mod array {
    use super::Instant;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer, const N: usize>(at: &[Instant; N], s: S) -> Result<S::Ok, S::Error> {
        at.as_slice().serialize(s)
    }

    pub fn deserialize<'de, D: Deserializer<'de>, const N: usize>(d: D) -> Result<[Instant; N], D::Error> {
        let at = Vec::<Instant>::deserialize(d)?;
        let len = at.len();
        at.try_into().map_err(|_| D::Error::invalid_length(len, &"the number of timer names"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: TimerKey = TimerKey { owner: 1, slot: 7, generation: 0 };

    #[test]
    fn a_deadline_that_moves_back_costs_one_early_wake_up() {
        let mut timers = Timers::default();
        let mut deadlines = Deadlines::<2>::default();
        deadlines.set(0, Instant(10));
        deadlines.arm(KEY, &mut timers);
        deadlines.set(0, Instant(20));
        deadlines.arm(KEY, &mut timers);
        assert_eq!(timers.len(), 1);
        assert_eq!(timers.pop_due(Instant(9)), None);
        assert_eq!(timers.pop_due(Instant(10)), Some(KEY));
        deadlines.woken(Instant(10));
        assert_eq!(deadlines.pop_due(Instant(10)), None);
        deadlines.arm(KEY, &mut timers);
        assert_eq!(timers.next(), Some(Instant(20)));
        assert_eq!(timers.pop_due(Instant(20)), Some(KEY));
        assert_eq!(deadlines.pop_due(Instant(20)), Some(0));
        assert_eq!(deadlines.next(), None);
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
