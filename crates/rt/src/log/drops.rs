//! Drops of a turn, for a capture: some of them, where there are many.

use super::LogSink;
use gannet_machine::drops::Drop;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::Owner;

/// Drops that are kept in one millisecond. Under overload there are many more, and each says the same.
const PER_MILLISECOND: usize = 16;
/// Drops that wait for the end of a turn.
const WAITING_MAX: usize = 256;
const MILLISECOND: Duration = Duration::from_millis(1);

#[derive(Debug, Default)]
pub(super) struct KeptDrops {
    is_wanted: bool,
    kept: Vec<(Drop, Option<Owner>)>,
    /// Until when so many more are kept.
    until: Instant,
    left: usize,
    /// Those that were not kept.
    unsaid: u64,
}

impl KeptDrops {
    #[inline]
    pub(super) fn keep(&mut self, now: Instant, drop: Drop, whose: Option<Owner>) {
        if self.is_wanted {
            self.keep_some(now, drop, whose);
        }
    }

    fn keep_some(&mut self, now: Instant, drop: Drop, whose: Option<Owner>) {
        if now >= self.until {
            (self.until, self.left) = (now + MILLISECOND, PER_MILLISECOND);
        }
        if self.left == 0 || self.kept.len() >= WAITING_MAX {
            self.unsaid += 1;
            return;
        }
        self.left -= 1;
        self.kept.push((drop, whose));
    }
}

impl LogSink {
    /// Keeps drops for a capture from now on, or no more.
    pub(crate) fn keep_drops(&mut self, on: bool) {
        if on && self.kept_drops.kept.capacity() == 0 {
            self.kept_drops.kept.reserve(WAITING_MAX);
        }
        self.kept_drops.is_wanted = on;
        if !on {
            self.kept_drops.kept.clear();
        }
    }

    /// Takes what was kept, in order.
    pub(crate) fn take_drops(&mut self) -> impl Iterator<Item = (Drop, Option<Owner>)> {
        self.kept_drops.kept.drain(..)
    }

    /// How many were not kept since the last time.
    pub(crate) fn take_drops_unsaid(&mut self) -> u64 {
        if self.kept_drops.kept.is_empty() { 0 } else { core::mem::take(&mut self.kept_drops.unsaid) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_of_one_millisecond_are_counted() {
        let mut kept = KeptDrops { is_wanted: true, ..KeptDrops::default() };
        let now = Instant(5_000_000);
        (0..40).for_each(|_| kept.keep(now, Drop::NoFrame, None));
        assert_eq!((kept.kept.len(), kept.unsaid), (PER_MILLISECOND, 24));
        kept.keep(now + MILLISECOND, Drop::NoFrame, None);
        assert_eq!((kept.kept.len(), kept.unsaid), (PER_MILLISECOND + 1, 24));
        kept.is_wanted = false;
        kept.keep(now + Duration::from_secs(1), Drop::NoFrame, None);
        assert_eq!(kept.kept.len(), PER_MILLISECOND + 1);
    }
}
