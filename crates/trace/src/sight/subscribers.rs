//! Names of subscribers and whose they are: a table of fixed size, in which the oldest of a few gives way.

use core::num::NonZeroU64;

/// Buckets, a power of two. With their ways these are half a million names; a subscriber has some six.
const BUCKETS: usize = 1 << 17;
const WAYS: usize = 4;

/// A name and a number that is the IMSI's: as long as a line of a cache with its neighbours. The number 0 is nobody's.
type Bucket = [(u64, u64); WAYS];

#[derive(Debug)]
pub(super) struct Subscribers {
    buckets: Vec<Bucket>,
}

impl Subscribers {
    /// Takes its memory when the first name is learnt.
    pub(super) const fn new() -> Self {
        Self { buckets: Vec::new() }
    }

    pub(super) fn find(&self, key: u64) -> Option<NonZeroU64> {
        let bucket = self.buckets.get(place(key))?;
        let (_, number) = bucket.iter().find(|(known, number)| *known == key && *number != 0)?;
        NonZeroU64::new(*number)
    }

    /// What the name was before is forgotten.
    pub(super) fn learn(&mut self, key: u64, number: NonZeroU64) {
        if self.buckets.is_empty() {
            self.buckets = vec![[(0, 0); WAYS]; BUCKETS];
        }
        let Some(bucket) = self.buckets.get_mut(place(key)) else { return };
        match bucket.iter_mut().find(|(known, of)| *known == key && *of != 0) {
            Some((_, of)) => *of = number.get(),
            None => {
                bucket.rotate_right(1);
                bucket[0] = (key, number.get());
            }
        }
    }
}

/// Keys are spread already.
const fn place(key: u64) -> usize {
    #[expect(clippy::cast_possible_truncation, reason = "the low bits are what is wanted")]
    {
        key as usize & (BUCKETS - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_a_full_bucket_gives_way() {
        let mut subscribers = Subscribers::new();
        let number = |of: u64| NonZeroU64::new(of + 1).unwrap();
        let key = |of: u64| 5 + of * BUCKETS as u64;
        assert_eq!(subscribers.find(key(0)), None);
        for of in 0..5 {
            subscribers.learn(key(of), number(of));
        }
        let found: Vec<_> = (0..5).map(|of| subscribers.find(key(of))).collect();
        assert_eq!(found[0], None);
        assert_eq!(found[1..], [1, 2, 3, 4].map(|of| Some(number(of))));
        subscribers.learn(key(1), number(9));
        assert_eq!((subscribers.find(key(1)), subscribers.find(key(2))), (Some(number(9)), Some(number(2))));
    }
}
