//! Timers: a table of named deadlines in each machine, and one queue of wake-ups for a whole node.
//!
//! A deadline belongs to the state that it concerns ([`Deadlines`], plain data that moves with its mobile). The
//! node asks the driver only for a wake-up ([`Timers::wake`]); a wake-up that comes too early, because the deadline
//! was moved since, costs one look. So restarting the READY timer with every uplink frame is one store.
//!
//! Wake-ups that are far away stand in slots, unordered, until their time comes near: a heap of all of them, which is a
//! READY timer and a periodic one for each of a million mobiles, costs twenty cold cache lines for each one that is due.

use crate::time::Instant;
use core::cmp::Reverse;
use serde::{Deserialize, Serialize};
use std::collections::BinaryHeap;

/// Length of a slot, a power of two of nanoseconds: 67 ms.
const SLOT_SHIFT: u32 = 26;
/// Slots, a power of two; all of them are 73 minutes. What is farther away is in order too.
const SLOTS: u64 = 1 << 16;
/// With room for fewer wake-ups than this at the start all of them are in order: slots would take more memory.
const MANY: usize = 4096;

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
#[derive(Debug)]
pub struct Timers {
    /// Those of the slot that is open and of earlier ones, and those for which there is no slot.
    near: BinaryHeap<Reverse<Wake>>,
    /// Those of later slots, in lists, and places of former ones in a list of their own.
    far: Vec<Far>,
    free: u32,
    /// For each slot the first of its list, place + 1, or 0; and when the earliest of them is due, in ns.
    first: Vec<u32>,
    earliest: Vec<u64>,
    /// Bit by bit: is anything in the slot?
    filled: Vec<u64>,
    /// The slot of the present: what is due in it is in order.
    open: u64,
    /// The next slot that holds something.
    next: Option<u64>,
    waiting: usize,
    sequence: u64,
}

/// When, after how many others it was asked for, and who.
type Wake = (Instant, u64, TimerKey);

#[derive(Debug)]
struct Far {
    wake: Wake,
    /// Place + 1, or 0.
    next: u32,
}

impl Default for Timers {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl Timers {
    /// Room for `capacity` wake-ups, allocated now.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        let slots = usize::try_from(SLOTS).ok().filter(|_| capacity >= MANY).unwrap_or(0);
        Self {
            near: BinaryHeap::with_capacity(capacity),
            far: Vec::with_capacity(capacity),
            free: 0,
            first: vec![0; slots],
            earliest: vec![0; slots],
            filled: vec![0; slots / 64],
            open: 0,
            next: None,
            waiting: 0,
            sequence: 0,
        }
    }

    /// Asks for `Input::Timeout(key)` at `at` or as soon after as the driver can.
    pub fn wake(&mut self, key: TimerKey, at: Instant) {
        self.sequence += 1;
        self.waiting += 1;
        self.put((at, self.sequence, key));
    }

    fn put(&mut self, wake: Wake) {
        let (Instant(at), ..) = wake;
        let number = at >> SLOT_SHIFT;
        if self.first.is_empty() || number <= self.open || number >= self.open + SLOTS {
            self.near.push(Reverse(wake));
            return;
        }
        let slot = place_of(number);
        self.next = Some(self.next.map_or(number, |next| next.min(number)));
        let (Some(first), Some(earliest)) = (self.first.get_mut(slot), self.earliest.get_mut(slot)) else {
            return;
        };
        *earliest = if *first == 0 { at } else { at.min(*earliest) };
        let far = Far { wake, next: *first };
        match self.free.checked_sub(1).and_then(|place| self.far.get_mut(place as usize)) {
            Some(place) => {
                *first = core::mem::replace(&mut self.free, place.next);
                *place = far;
            }
            None => {
                self.far.push(far);
                *first = u32::try_from(self.far.len()).unwrap_or(0);
            }
        }
        if let Some(word) = self.filled.get_mut(slot / 64) {
            *word |= 1 << (slot % 64);
        }
    }

    /// The next slot that holds something, after the one that is open.
    fn next_slot(&self) -> Option<u64> {
        let mut slot = self.open + 1;
        while slot < self.open + SLOTS {
            let word = self.filled.get(place_of(slot) / 64)? >> (slot % 64);
            if word != 0 {
                return Some(slot + u64::from(word.trailing_zeros()));
            }
            slot = (slot | 63) + 1;
        }
        None
    }

    /// When the next wake-up is due.
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
        let near = self.near.peek().map(|Reverse((at, ..))| *at);
        let far = self.next.and_then(|slot| self.earliest.get(place_of(slot)).copied().map(Instant));
        near.into_iter().chain(far).min()
    }

    /// Takes one wake-up that is due at `now`.
    pub fn pop_due(&mut self, now: Instant) -> Option<TimerKey> {
        if now.0 >> SLOT_SHIFT > self.open {
            self.open_until(now.0 >> SLOT_SHIFT);
        }
        let due = self.near.peek().is_some_and(|Reverse((at, ..))| *at <= now);
        let Reverse((_, _, key)) = due.then(|| self.near.pop())??;
        self.waiting -= 1;
        Some(key)
    }

    fn open_until(&mut self, last: u64) {
        while let Some(slot) = self.next.filter(|slot| *slot <= last) {
            self.open = slot;
            let place = place_of(slot);
            if let Some(word) = self.filled.get_mut(place / 64) {
                *word &= !(1 << (place % 64));
            }
            self.next = self.next_slot();
            let mut next = self.first.get_mut(place).map_or(0, core::mem::take);
            while let Some(far) = next.checked_sub(1).and_then(|at| self.far.get_mut(at as usize)) {
                let wake = far.wake;
                let at = core::mem::replace(&mut next, far.next);
                far.next = core::mem::replace(&mut self.free, at);
                self.put(wake);
            }
        }
        self.open = last;
    }

    /// Wake-ups asked for and not yet taken.
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

/// The place of a slot among all slots.
fn place_of(slot: u64) -> usize {
    usize::try_from(slot & (SLOTS - 1)).unwrap_or(0)
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
