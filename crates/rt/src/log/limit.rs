//! How many lines a category may write of one level: a peer that says nonsense, each piece of which is worth a line, is not to fill a disk.

use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::Level;

/// Between two lines in the long run.
const EACH: Duration = Duration::from_millis(10);
/// What may come at once, as the time that it takes in the long run: 1000 lines.
const AT_ONCE: Duration = Duration::from_secs(10);

/// The limit of one category at one level.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Limit {
    /// When all that was written would have been written at an even pace.
    even: Instant,
    left_out: u64,
}

impl Limit {
    /// Whether a line may be written, and how many were left out before it.
    pub fn admit(&mut self, now: Instant) -> Option<u64> {
        let even = self.even.max(now);
        if even >= now + AT_ONCE {
            self.left_out += 1;
            return None;
        }
        self.even = even + EACH;
        Some(core::mem::take(&mut self.left_out))
    }
}

/// The limits of one category: what is an error is not hidden by any number of notices.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Limits {
    notices: Limit,
    errors: Limit,
}

impl Limits {
    /// The one that holds for a level. Who has debug or info shown wants all of it; and the last word is always said.
    pub const fn of(&mut self, level: Level) -> Option<&mut Limit> {
        match level {
            Level::Notice => Some(&mut self.notices),
            Level::Error => Some(&mut self.errors),
            Level::Debug | Level::Info | Level::Fatal => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_at_once_and_then_a_hundred_a_second() {
        let mut limit = Limit::default();
        let now = Instant::ZERO + Duration::from_secs(5);
        let mut written = |now, lines: u32| (0..lines).filter(|_| limit.admit(now).is_some()).count();
        assert_eq!(written(now, 5000), 1000);
        assert_eq!(written(now + Duration::from_secs(1), 5000), 100);
        assert_eq!(limit.admit(now + Duration::from_secs(2)), Some(4900));
        assert_eq!(limit.admit(now + Duration::from_secs(2)), Some(0));
        let mut written = |now, lines: u32| (0..lines).filter(|_| limit.admit(now).is_some()).count();
        assert_eq!(written(now + Duration::from_secs(100), 5000), 1000, "after a pause as in the beginning");
    }
}
