//! How busy a loop is that never sleeps: for how long it had something to do, and whether it has hardly any time left, or time
//! again.

use gannet_proto::time::{Duration, Instant};

/// How often is asked.
const SPAN: Duration = Duration::from_millis(2);
/// Of that time it had nothing to do for less than one part in so many, before it is short of time; and for more than one in so
/// many, before it is not: what is done about it gives it time.
const IDLE_BEFORE: u64 = 3;
const IDLE_AFTER: u64 = 2;

/// What a loop that never sleeps did with its time. The kernel takes all of it for busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoopTime {
    /// Since it began.
    pub all: Duration,
    /// Of that, turns in which there was something to do, with their polls.
    pub busy: Duration,
}

/// How busy the loop is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Load {
    time: LoopTime,
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

    /// What it did with its time, up to the turn before.
    pub(crate) const fn time(&self) -> LoopTime {
        self.time
    }

    /// A turn that began at `now` is nearly over; was there something to do in it?
    pub(crate) fn follow(&mut self, now: Instant, had_some: bool) {
        let took = now.since(self.turn_at).0;
        self.time.all = Duration(self.time.all.0 + took);
        if core::mem::replace(&mut self.had_some, had_some) {
            self.time.busy = Duration(self.time.busy.0 + took);
        } else {
            self.idle = Duration(self.idle.0 + took);
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
    fn turns_with_something_to_do_are_busy() {
        let mut load = Load::default();
        for (at, had_some) in [(100, true), (130, false), (200, true), (205, true), (300, false)] {
            load.follow(Instant(at), had_some);
        }
        assert_eq!(load.time(), LoopTime { all: Duration(300), busy: Duration(30 + 5 + 95) });
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
