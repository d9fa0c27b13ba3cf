//! Who waits until when: a heap whose members are known by index, so that one can be moved or taken out in O(log n).
//! Equal instants come in the order of their arrival. Nothing is allocated after it is made.
//!
//! Each item has four below it, which fill one cache line: half as many levels as with two.

use gannet_machine::time::Instant;

/// Items below one item.
const BELOW: usize = 4;

#[derive(Debug, Clone, Copy)]
struct Item {
    at: Instant,
    /// Goes round: of equal instants none waits for 2³¹ others.
    sequence: u32,
    member: u32,
}

impl Item {
    #[inline]
    const fn is_before(&self, other: &Self) -> bool {
        let later = other.sequence.wrapping_sub(self.sequence);
        self.at.0 < other.at.0 || (self.at.0 == other.at.0 && later != 0 && later < 1 << 31)
    }
}

/// A heap of at most `members` members, named 0 to `members` − 1.
#[derive(Debug)]
pub struct DeadlineHeap {
    items: Vec<Item>,
    /// Where in `items` each member stands, plus one; 0 where it does not wait, so that memory is touched late.
    place: Vec<u32>,
    sequence: u32,
}

impl DeadlineHeap {
    /// A heap for `members` members, allocated now.
    #[must_use]
    pub fn new(members: usize) -> Self {
        Self { items: Vec::with_capacity(members), place: vec![0; members], sequence: 0 }
    }

    /// Lets `member` wait until `at`, instead of what it waited for before.
    pub fn set(&mut self, member: u32, at: Instant) {
        let Some(place) = self.place.get(member as usize) else { return };
        self.sequence = self.sequence.wrapping_add(1);
        let item = Item { at, sequence: self.sequence, member };
        if *place == 0 {
            self.items.push(item);
            self.up(self.items.len() - 1, item);
        } else {
            self.settle(*place as usize - 1, item);
        }
    }

    /// Takes `member` out, where it waits.
    pub fn remove(&mut self, member: u32) {
        let Some(place) = self.place.get_mut(member as usize).filter(|place| **place != 0) else { return };
        let hole = core::mem::replace(place, 0) as usize - 1;
        if let Some(last) = self.items.pop()
            && hole < self.items.len()
        {
            self.settle(hole, last);
        }
    }

    /// The earliest instant.
    #[inline]
    #[must_use]
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

    /// Puts an item in and writes down where it stands.
    #[inline]
    fn put(&mut self, at: usize, item: Item) {
        if let Some(slot) = self.items.get_mut(at)
            && let Some(place) = self.place.get_mut(item.member as usize)
        {
            *slot = item;
            *place = u32::try_from(at + 1).unwrap_or(0);
        }
    }

    /// Puts an item into the hole, or above or below it.
    fn settle(&mut self, hole: usize, item: Item) {
        if hole > 0 && self.items.get((hole - 1) / BELOW).is_some_and(|above| item.is_before(above)) {
            self.up(hole, item);
        } else {
            self.down(hole, item);
        }
    }

    fn up(&mut self, mut hole: usize, item: Item) {
        while hole > 0 {
            let parent = (hole - 1) / BELOW;
            match self.items.get(parent).copied() {
                Some(above) if item.is_before(&above) => self.put(hole, above),
                Some(_) | None => break,
            }
            hole = parent;
        }
        self.put(hole, item);
    }

    fn down(&mut self, mut hole: usize, item: Item) {
        loop {
            let first = BELOW * hole + 1;
            let below = self.items.iter().enumerate().skip(first).take(BELOW);
            let earliest = below.reduce(|best, other| if other.1.is_before(best.1) { other } else { best });
            match earliest.map(|(at, earliest)| (at, *earliest)) {
                Some((at, earliest)) if earliest.is_before(&item) => {
                    self.put(hole, earliest);
                    hole = at;
                }
                Some(_) | None => break,
            }
        }
        self.put(hole, item);
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

    #[test]
    fn a_heap_of_many_agrees_with_a_sorted_list() {
        let mut dice = gannet_machine::rng::Rng::seeded(7);
        let (mut heap, mut list) = (DeadlineHeap::new(64), vec![None; 64]);
        heap.sequence = u32::MAX - 500;
        for turn in 0..20_000_u64 {
            let member = u32::try_from(dice.below(64)).unwrap();
            match dice.below(4) {
                0 => {
                    heap.remove(member);
                    list[member as usize] = None;
                }
                1 => {
                    let now = dice.below(50);
                    let due = |(at, _): &(u64, u64)| *at <= now;
                    let first = (0_u32..).zip(&list).filter_map(|(m, x)| Some((x.filter(due)?, m))).min();
                    assert_eq!(heap.pop_due(Instant(now)), first.map(|(_, member)| member));
                    if let Some((_, member)) = first {
                        list[member as usize] = None;
                    }
                }
                _ => {
                    let at = dice.below(50);
                    heap.set(member, Instant(at));
                    list[member as usize] = Some((at, turn));
                }
            }
            assert_eq!(heap.len(), list.iter().flatten().count());
            assert_eq!(heap.next(), list.iter().flatten().min().map(|(at, _)| Instant(*at)));
        }
    }
}
