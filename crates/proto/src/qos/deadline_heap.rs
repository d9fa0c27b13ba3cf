//! Who waits until when: a binary heap whose members are known by index, so that one can be moved or taken out in
//! O(log n). Equal instants come in the order of their arrival. Nothing is allocated after it is made.

use crate::time::Instant;

/// Stands in [`DeadlineHeap::place`] for a member that does not wait.
const ABSENT: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Item {
    at: Instant,
    sequence: u64,
    member: u32,
}

/// A heap of at most `members` members, named 0 to `members` − 1.
#[derive(Debug)]
pub struct DeadlineHeap {
    items: Vec<Item>,
    /// Where in `items` each member stands.
    place: Vec<u32>,
    sequence: u64,
}

impl DeadlineHeap {
    /// A heap for `members` members, allocated now.
    #[must_use]
    pub fn new(members: usize) -> Self {
        Self { items: Vec::with_capacity(members), place: vec![ABSENT; members], sequence: 0 }
    }

    /// Lets `member` wait until `at`, instead of what it waited for before.
    pub fn set(&mut self, member: u32, at: Instant) {
        self.remove(member);
        if (member as usize) >= self.place.len() {
            return;
        }
        self.sequence += 1;
        self.items.push(Item { at, sequence: self.sequence, member });
        self.note(self.items.len() - 1);
        self.up(self.items.len() - 1);
    }

    /// Takes `member` out, where it waits.
    pub fn remove(&mut self, member: u32) {
        let Some(place) = self.place.get_mut(member as usize) else { return };
        let at = core::mem::replace(place, ABSENT) as usize;
        if at >= self.items.len() {
            return;
        }
        self.items.swap_remove(at);
        if at < self.items.len() {
            self.note(at);
            self.up(at);
            self.down(at);
        }
    }

    /// The earliest instant.
    #[must_use]
    #[inline]
    pub fn next(&self) -> Option<Instant> {
        self.items.first().map(|item| item.at)
    }

    /// Takes out the earliest member where its instant has come.
    #[inline]
    pub fn pop_due(&mut self, now: Instant) -> Option<u32> {
        let first = self.items.first().filter(|item| item.at <= now)?.member;
        self.remove(first);
        Some(first)
    }

    /// How many wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// True when nobody waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Writes down where the item at `at` stands.
    fn note(&mut self, at: usize) {
        if let Some(item) = self.items.get(at)
            && let Some(place) = self.place.get_mut(item.member as usize)
        {
            *place = u32::try_from(at).unwrap_or(ABSENT);
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.items.swap(a, b);
        self.note(a);
        self.note(b);
    }

    fn up(&mut self, mut at: usize) {
        while at > 0 {
            let parent = (at - 1) / 2;
            if self.items.get(at) >= self.items.get(parent) {
                return;
            }
            self.swap(at, parent);
            at = parent;
        }
    }

    fn down(&mut self, mut at: usize) {
        loop {
            let child = (2 * at + 1..=2 * at + 2)
                .filter(|child| *child < self.items.len())
                .min_by_key(|child| self.items.get(*child).copied());
            match child {
                Some(child) if self.items.get(child) < self.items.get(at) => {
                    self.swap(at, child);
                    at = child;
                }
                Some(_) | None => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_by_time_and_then_by_arrival() {
        let mut heap = DeadlineHeap::new(5);
        for (member, at) in [(0, 30), (1, 10), (2, 10), (3, 20), (4, 5)] {
            heap.set(member, Instant(at));
        }
        heap.set(0, Instant(10));
        heap.remove(4);
        heap.remove(4);
        assert_eq!((heap.next(), heap.len()), (Some(Instant(10)), 4));
        let order: Vec<u32> = core::iter::from_fn(|| heap.pop_due(Instant(19))).collect();
        assert_eq!(order, [1, 2, 0]);
        assert_eq!(heap.pop_due(Instant(20)), Some(3));
        assert!(heap.is_empty());
    }
}
