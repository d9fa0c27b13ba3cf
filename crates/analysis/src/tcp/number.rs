//! Sequence numbers without their wrap, and sets of their ranges.

use std::collections::BTreeMap;

/// Where counting begins, so that nothing is below zero: 2^33.
const BASE: u64 = 1 << 33;
/// A number that is further from the last one is no number of this connection: 2^30 octets, the largest window (RFC 7323).
pub(super) const FAR: u64 = 1 << 30;

/// The first number of a direction.
pub(super) const fn begin(raw: u32) -> u64 {
    BASE + raw as u64
}

/// The number nearest to `near` which is `raw` on the wire.
#[expect(clippy::cast_possible_truncation, reason = "the lower half is what stands on the wire")]
pub(super) const fn unwrap(near: u64, raw: u32) -> u64 {
    let ahead = raw.wrapping_sub(near as u32).cast_signed();
    near.wrapping_add_signed(ahead as i64)
}

/// Whether a TSval is older than another (RFC 7323, clause 4).
pub(super) const fn is_older(one: u32, other: u32) -> bool {
    one.wrapping_sub(other).cast_signed() < 0
}

/// Ranges that neither overlap nor touch.
#[derive(Debug, Clone, Default)]
pub(super) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds a range; gives how many octets are new.
    pub(super) fn add(&mut self, start: u64, end: u64) -> u64 {
        if start >= end {
            return 0;
        }
        let (mut left, mut right, mut known) = (start, end, 0);
        while let Some((from, to)) = self.0.range(..=right).next_back().map(|(from, to)| (*from, *to)) {
            if to < left {
                break;
            }
            known += to.min(end).saturating_sub(from.max(start));
            left = left.min(from);
            right = right.max(to);
            self.0.remove(&from);
        }
        self.0.insert(left, right);
        (end - start).saturating_sub(known)
    }

    /// Takes away what is below.
    pub(super) fn forget_below(&mut self, number: u64) {
        while let Some((from, to)) = self.0.first_key_value().map(|(from, to)| (*from, *to)) {
            if from >= number {
                return;
            }
            self.0.remove(&from);
            if to > number {
                self.0.insert(number, to);
                return;
            }
        }
    }

    /// Octets in it at and above a number.
    pub(super) fn octets_from(&self, number: u64) -> u64 {
        self.0
            .iter()
            .rev()
            .take_while(|(_, to)| **to > number)
            .map(|(from, to)| to - (*from).max(number))
            .sum()
    }

    /// How many ranges there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_goes_on_over_the_wrap() {
        let first = begin(u32::MAX - 9);
        let next = unwrap(first, 10);
        assert_eq!(next - first, 20);
        assert_eq!(unwrap(next, u32::MAX - 9), first);
        assert!(is_older(u32::MAX, 3) && !is_older(3, u32::MAX) && !is_older(5, 5));
    }

    proptest! {
        #[test]
        fn ranges_are_a_set_of_octets(parts in prop::collection::vec((0_u64..60, 0_u64..20), 0..20), low in 0_u64..80) {
            let mut ranges = Ranges::default();
            let mut set = std::collections::BTreeSet::new();
            for (start, length) in parts {
                let before = set.len();
                set.extend(start..start + length);
                prop_assert_eq!(ranges.add(start, start + length), (set.len() - before) as u64);
            }
            prop_assert_eq!(ranges.octets_from(low), set.range(low..).count() as u64);
            ranges.forget_below(low);
            prop_assert_eq!(ranges.octets_from(0), set.range(low..).count() as u64);
        }
    }
}
