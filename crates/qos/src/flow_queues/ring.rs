//! Whose turn it is: the flows of one round, in a circular array.
//!
//! An array and no list through the flows, since the next flows to be served can then be read ahead without a look at
//! any of them: with a million flows each look costs a miss, and only misses that do not wait for each other overlap.
//! A flow is in a ring once at most (the flow's mark says so) and leaves it at its front only: one that is blocked
//! stays until it is met.

use super::NIL;

/// Steps in which what comes is looked at ahead of its turn.
pub(super) const STEPS: usize = 3;

/// A ring.
#[derive(Debug)]
pub(super) struct Ring {
    /// A power of two of places.
    places: Vec<u32>,
    /// Where the first stands; counts on for ever.
    head: u32,
    tail: u32,
    /// Up to where each step has looked ahead.
    looked: [u32; STEPS],
    /// The first has been given its quantum and is being served.
    pub(super) open: bool,
}

impl Ring {
    /// A ring for `flows` flows, allocated now.
    pub(super) fn new(flows: u32) -> Self {
        // Not zero, so that the memory is there from the start: taken while packets flow, a huge page costs milliseconds.
        let places = vec![NIL; (flows.max(1) as usize).next_power_of_two()];
        Self { places, head: 0, tail: 0, looked: [0; STEPS], open: false }
    }

    const fn place(&self, position: u32) -> usize {
        position as usize & (self.places.len() - 1)
    }

    /// The flow at a position between `head` and `tail`.
    pub(super) fn get(&self, position: u32) -> Option<u32> {
        if position.wrapping_sub(self.head) >= self.len() {
            return None;
        }
        self.places.get(self.place(position)).copied()
    }

    /// The flow whose turn it is.
    pub(super) fn front(&self) -> Option<u32> {
        self.get(self.head)
    }

    /// Where the first stands.
    pub(super) const fn head(&self) -> u32 {
        self.head
    }

    /// How many places are taken.
    pub(super) const fn len(&self) -> u32 {
        self.tail.wrapping_sub(self.head)
    }

    /// The next flow that a step has not looked at yet, at most `far` places from the front.
    #[inline]
    pub(super) fn look(&mut self, step: usize, far: u32) -> Option<u32> {
        let (head, len) = (self.head, self.len());
        let looked = self.looked.get_mut(step)?;
        if looked.wrapping_sub(head) > len {
            // Turns went faster than it looked.
            *looked = head;
        }
        if looked.wrapping_sub(head) >= far.min(len) {
            return None;
        }
        let position = *looked;
        *looked = position.wrapping_add(1);
        self.get(position)
    }

    /// Puts a flow that is not in it at the end.
    pub(super) fn push(&mut self, flow: u32) {
        let at = self.place(self.tail);
        if let Some(place) = self.places.get_mut(at) {
            *place = flow;
            self.tail = self.tail.wrapping_add(1);
        }
    }

    /// Takes the first out.
    pub(super) fn pop(&mut self) {
        if self.len() > 0 {
            self.head = self.head.wrapping_add(1);
            self.open = false;
        }
    }

    /// The flows in the order of their turns.
    #[cfg(test)]
    fn flows(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.len()).filter_map(|ahead| self.get(self.head.wrapping_add(ahead)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_looks_at_each_flow_once_before_its_turn() {
        let mut ring = Ring::new(8);
        for flow in [7, 8, 9] {
            ring.push(flow);
        }
        let looked = |ring: &mut Ring, step| core::iter::from_fn(|| ring.look(step, 2)).collect::<Vec<_>>();
        assert_eq!(looked(&mut ring, 0), [7, 8]);
        ring.pop();
        assert_eq!((looked(&mut ring, 0), looked(&mut ring, 1)), (vec![9], vec![8, 9]));
        // Turns that were over before it looked are behind it.
        ring.pop();
        ring.pop();
        ring.push(3);
        assert_eq!((looked(&mut ring, 2), looked(&mut ring, 0)), (vec![3], vec![3]));
    }

    #[test]
    fn turns_go_round_over_the_end_of_the_array_and_of_the_counter() {
        let mut ring = Ring::new(3);
        (ring.head, ring.tail) = (u32::MAX - 1, u32::MAX - 1);
        for flow in [7, 8, 9] {
            ring.push(flow);
        }
        for _ in 0..10 {
            let first = ring.front().unwrap();
            ring.pop();
            ring.push(first);
        }
        assert_eq!((ring.flows().collect::<Vec<_>>(), ring.len()), (vec![8, 9, 7], 3));
        assert_eq!(ring.get(ring.head().wrapping_add(3)), None);
        for _ in 0..4 {
            ring.pop();
        }
        assert_eq!((ring.front(), ring.len()), (None, 0));
    }
}
