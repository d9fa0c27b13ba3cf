//! Octets of several PDUs, one behind the other, for those that are kept until a peer has them: one piece of memory for all,
//! which is written and freed in the order in which they came. Plain data: it travels with its mobile.

use core::ops::Range;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The queue. Where each PDU begins and ends is known to who keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OctetQueue(VecDeque<u8>);

impl OctetQueue {
    /// Octets in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True where there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Octets of memory.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.0.capacity()
    }

    /// Has room for so many more from now on.
    pub fn reserve(&mut self, octets: usize) {
        self.0.reserve(octets);
    }

    /// Puts octets at the end.
    pub fn push(&mut self, octets: &[u8]) {
        self.0.extend(octets);
    }

    /// Takes as many off the front, or all where there are fewer. An empty queue keeps at most `kept` octets of memory.
    pub fn discard(&mut self, octets: usize, kept: usize) {
        self.0.drain(..octets.min(self.0.len()));
        if self.0.is_empty() && self.0.capacity() > kept {
            self.0 = VecDeque::new();
        }
    }

    /// Those from `range.start` on, in two pieces; `None` where not all are there.
    #[must_use]
    pub fn get(&self, range: Range<usize>) -> Option<[&[u8]; 2]> {
        if range.start > range.end || range.end > self.0.len() {
            return None;
        }
        let (front, back) = self.0.as_slices();
        let of = |piece: Range<usize>, behind: usize| {
            piece.start.max(behind) - behind..piece.end.max(behind) - behind
        };
        let of_front = front.get(range.start.min(front.len())..range.end.min(front.len()))?;
        Some([of_front, back.get(of(range, front.len()))?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn octets(queue: &OctetQueue, range: Range<usize>) -> Option<Vec<u8>> {
        queue.get(range).map(|pieces| pieces.concat())
    }

    #[test]
    fn in_their_order_also_where_the_memory_begins_again() {
        let mut queue = OctetQueue::default();
        queue.push(&[0; 5]);
        let capacity = queue.capacity();
        for n in 0..100 {
            queue.push(&[n, n + 1]);
            queue.discard(2, usize::MAX);
            assert_eq!((queue.len(), queue.capacity()), (5, capacity.max(8)));
            assert_eq!(octets(&queue, 3..5).unwrap(), [n, n + 1]);
            assert_eq!(octets(&queue, 0..5).unwrap().len(), 5);
        }
        assert_eq!((octets(&queue, 3..6), octets(&queue, 5..5)), (None, Some(vec![])));
    }

    #[test]
    fn an_empty_one_gives_its_memory_back() {
        let mut queue = OctetQueue::default();
        queue.push(&[7; 100]);
        queue.discard(99, 64);
        assert!(queue.capacity() >= 100 && !queue.is_empty());
        queue.discard(2, 100);
        assert!(queue.capacity() >= 100 && queue.is_empty());
        queue.push(&[7]);
        queue.discard(1, 64);
        assert_eq!((queue.capacity(), queue), (0, OctetQueue::default()));
    }
}
