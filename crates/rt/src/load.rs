//! How busy a loop is that never sleeps: whether it has hardly any time left, or time again.

use gannet_proto::time::{Duration, Instant};

/// How often is asked.
const SPAN: Duration = Duration::from_millis(2);
/// Of that time it had nothing to do for less than one part in so many, before it is short of time; and for more than one in so
/// many, before it is not: what is done about it gives it time.
const IDLE_BEFORE: u64 = 3;
const IDLE_AFTER: u64 = 2;

/// How busy the loop is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Load {
    /// When it was asked last, and for how long there has been nothing to do since.
    asked_at: Instant,
    idle: Duration,
    /// When the last turn began, and whether there was something to do in it.
    turn_at: Instant,
    had_some: bool,
    is_short_of_time: bool,
}

impl Load {
    /// Has the loop hardly any time left?
    pub(crate) const fn is_short_of_time(&self) -> bool {
        self.is_short_of_time
    }

    /// A turn that began at `now` is nearly over; was there something to do in it?
    pub(crate) fn follow(&mut self, now: Instant, had_some: bool) {
        if !core::mem::replace(&mut self.had_some, had_some) {
            self.idle = Duration(self.idle.0 + now.since(self.turn_at).0);
        }
        self.turn_at = now;
        let span = now.since(self.asked_at);
        if span < SPAN {
            return;
        }
        self.asked_at = now;
        let idle = core::mem::replace(&mut self.idle, Duration::ZERO);
        self.is_short_of_time =
            if self.is_short_of_time { idle.0 * IDLE_AFTER <= span.0 } else { idle.0 * IDLE_BEFORE < span.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Is the load high after so many turns of 10 µs, of which one in so many has nothing to do?
    fn is_short_of_time(load: &mut Load, turns: u64, one_in: u64) -> bool {
        let from = load.turn_at.0;
        (1..=turns).for_each(|turn| load.follow(Instant(from + turn * 10_000), !turn.is_multiple_of(one_in)));
        load.is_short_of_time()
    }

    #[test]
    fn it_is_short_of_time_from_a_third_of_idle_time_on_until_half_of_the_time_is() {
        let mut load = Load::default();
        assert!(!is_short_of_time(&mut load, 1000, 1), "nothing to do");
        assert!(!is_short_of_time(&mut load, 1000, 2), "half of the time");
        assert!(is_short_of_time(&mut load, 1000, 4));
        assert!(
            is_short_of_time(&mut load, 1000, 3) && is_short_of_time(&mut load, 1000, 2),
            "it has more time for that"
        );
        assert!(!is_short_of_time(&mut load, 1000, 1));
    }
}
