//! How many different flows come: with a few thousand, who finds nothing of its own waiting comes again soon; of a million
//! each comes once in a while, and what waits of them is but a queue.

/// A mark for each flow that came since the last count, some flows sharing one.
#[derive(Debug)]
pub(super) struct Variety {
    marks: Vec<u64>,
    /// Bits of `marks`, less one: a power of two less one.
    mask: u32,
    /// Flows that are counted at once.
    window: u32,
    came: u32,
    different: u32,
    is_great: bool,
}

/// Flows above which nothing is counted: they would all be different.
const COUNTED_MAX: u32 = 1 << 20;

impl Variety {
    /// Great is more than half of twice as many as `crowd`.
    pub(super) fn new(crowd: u32) -> Self {
        let crowd = if crowd > COUNTED_MAX { 0 } else { crowd };
        let bits = (crowd * 4).next_power_of_two().max(64);
        let marks = if crowd == 0 { Vec::new() } else { vec![0; bits as usize / 64] };
        Self { marks, mask: bits - 1, window: crowd * 2, came: 0, different: 0, is_great: false }
    }

    /// A flow came that has nothing waiting.
    pub(super) fn came(&mut self, flow: u32) {
        let Some(word) = self.marks.get_mut((flow & self.mask) as usize / 64) else { return };
        let bit = 1 << (flow % 64);
        self.different += u32::from(*word & bit == 0);
        *word |= bit;
        self.came += 1;
        if self.came == self.window {
            self.is_great = self.different > self.window / 2;
            (self.came, self.different) = (0, 0);
            self.marks.fill(0);
        }
    }

    /// Were most of those counted last different?
    pub(super) const fn is_great(&self) -> bool {
        self.is_great
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_that_come_often_are_told_from_many_that_come_rarely() {
        let mut variety = Variety::new(1000);
        assert!(!variety.is_great());
        (0..2000).for_each(|flow| variety.came(flow));
        assert!(variety.is_great());
        (0..1999).for_each(|at| variety.came(at % 900));
        assert!(variety.is_great(), "not all have been counted");
        variety.came(0);
        assert!(!variety.is_great());
        // One in so many of very many.
        (0..2000).for_each(|at: u32| variety.came(at.wrapping_mul(7919) % 1_000_003));
        assert!(variety.is_great());
    }

    #[test]
    fn without_a_limit_nothing_is_counted() {
        for crowd in [u32::MAX, COUNTED_MAX + 1, 0] {
            let mut variety = Variety::new(crowd);
            (0..100_000).for_each(|flow| variety.came(flow));
            assert!(!variety.is_great());
        }
    }
}
