//! What a driver that never sleeps knows of its time: for how long it had something to do, whether it has hardly any left, and what
//! of a turn a machine's packets have cost.
//!
//! All of it is measured by a clock that goes on while something else has the processor. So no single turn says much: one that took
//! longer than turns take counts as a long one, and what a machine does about it, which may cost somebody a packet, waits until many
//! spans have said the same.

use crate::time::{Duration, Instant};

/// How often is asked, in time that turns took.
const SPAN: Duration = Duration::from_millis(2);
/// A turn that took longer was interrupted: so much of it counts, be it busy or idle.
const TURN_MAX: Duration = Duration::from_micros(400);
/// Of that time it had nothing to do for less than one part in so many, before it is short of time; and for more than one in so
/// many, before it is not: what is done about it gives it time.
const IDLE_BEFORE: u64 = 3;
const IDLE_AFTER: u64 = 2;
/// So many more spans that were short of time than others, or others than such, until it lasts.
const SPANS_TO_LAST: u32 = 50;

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
pub struct Load {
    time: LoopTime,
    /// What turns took since it was asked last, and those in which there was nothing to do.
    span: Duration,
    idle: Duration,
    /// When the last turn began, and whether there was something to do in it.
    turn_at: Instant,
    had_some: bool,
    is_short_of_time: bool,
    /// From 0 to [`SPANS_TO_LAST`].
    lasted: u32,
    lasts: bool,
}

impl Load {
    /// Has the loop hardly any time left now?
    #[must_use]
    pub const fn is_short_of_time(&self) -> bool {
        self.is_short_of_time
    }

    /// And has it had none for a while, a tenth of a second at least?
    #[must_use]
    pub const fn lasts(&self) -> bool {
        self.lasts
    }

    /// What it did with its time, up to the turn before.
    #[must_use]
    pub const fn time(&self) -> LoopTime {
        self.time
    }

    /// A turn that began at `now` is nearly over; was there something to do in it?
    pub fn follow(&mut self, now: Instant, had_some: bool) {
        let took = now.since(self.turn_at);
        let counts = took.min(TURN_MAX).0;
        self.time.all.0 += took.0;
        self.span.0 += counts;
        if core::mem::replace(&mut self.had_some, had_some) {
            self.time.busy.0 += took.0;
        } else {
            self.idle.0 += counts;
        }
        self.turn_at = now;
        if self.span < SPAN {
            return;
        }
        let span = core::mem::replace(&mut self.span, Duration::ZERO);
        let idle = core::mem::replace(&mut self.idle, Duration::ZERO);
        self.is_short_of_time =
            if self.is_short_of_time { idle.0 * IDLE_AFTER <= span.0 } else { idle.0 * IDLE_BEFORE < span.0 };
        self.lasted = if self.is_short_of_time {
            (self.lasted + 1).min(SPANS_TO_LAST)
        } else {
            self.lasted.saturating_sub(1)
        };
        match self.lasted {
            0 => self.lasts = false,
            SPANS_TO_LAST => self.lasts = true,
            _ => {}
        }
    }
}

/// What a turn has spent on a machine's packets: all of it, to receive, to serve and to send, but for what else it did.
///
/// Of what else there is the driver takes away what it can tell: the time in which machines take their inputs, where signalling is
/// worked at and garbage is refused, and what services of an operator have done.
#[derive(Debug, Clone, Copy, Default)]
pub struct TurnCost {
    began: Instant,
    other: Duration,
}

impl TurnCost {
    /// A turn begins.
    pub const fn begin(&mut self, now: Instant) {
        *self = Self { began: now, other: Duration::ZERO };
    }

    /// So much of it went to something else.
    pub const fn add_other(&mut self, time: Duration) {
        self.other.0 = self.other.0.saturating_add(time.0);
    }

    /// It has ended.
    #[must_use]
    pub const fn ended(&self, now: Instant) -> Duration {
        Duration(now.since(self.began).0.saturating_sub(self.other.0))
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

    #[test]
    fn it_lasts_after_a_tenth_of_a_second_of_turns() {
        let mut load = Load::default();
        assert!(is_short_of_time(&mut load, 9_000, u64::MAX) && !load.lasts());
        is_short_of_time(&mut load, 1_400, u64::MAX);
        assert!(load.lasts());
        assert!(!is_short_of_time(&mut load, 9_000, 1) && load.lasts(), "a pause is no end");
        is_short_of_time(&mut load, 1_400, 1);
        assert!(!load.lasts());
    }

    #[test]
    fn a_turn_in_which_something_else_had_the_processor_is_no_work() {
        let mut load = Load::default();
        let mut now = Instant(0);
        // Each tenth millisecond a packet comes, and the processor is taken away in its midst, for as long as that again ten times.
        for turn in 1..100_000_u64 {
            let is_packet = turn.is_multiple_of(1000);
            load.follow(now, is_packet);
            now.0 += if is_packet { 100_000_000 } else { 10_000 };
            assert!(!load.is_short_of_time() && !load.lasts(), "turn {turn}");
        }
    }

    #[test]
    fn what_else_a_turn_did_is_no_packets_cost() {
        let mut turn = TurnCost::default();
        turn.begin(Instant(1000));
        turn.add_other(Duration(300));
        turn.add_other(Duration(200));
        assert_eq!(turn.ended(Instant(2000)), Duration(500));
        turn.begin(Instant(2000));
        assert_eq!(turn.ended(Instant(2100)), Duration(100));
        turn.add_other(Duration(101));
        assert_eq!(turn.ended(Instant(2100)), Duration::ZERO);
    }
}
