//! Why a segment was sent again, as far as what passed one place tells.

use super::report::Kind;
use crate::record::Stamp;

/// Duplicate acknowledgements that mean a loss (RFC 5681, clause 3.2).
const DUPLICATES: u32 = 3;

/// What is known of a segment that leaves again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Again {
    pub(super) at: Stamp,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) una: u64,
    pub(super) next: u64,
    /// How often it was sent before.
    pub(super) copies_before: u32,
    /// When it was sent last.
    pub(super) last_sent: Stamp,
    /// Octets above it that have arrived.
    pub(super) sacked_above: u64,
    pub(super) segment_octets: u64,
    /// The timeout that RFC 6298 has at this time.
    pub(super) timeout_ns: u64,
    /// What follows an acknowledgement within this time may be its effect.
    pub(super) reaction_ns: u64,
}

/// The state of a sender's recovery, seen from outside.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Recovery {
    duplicates: u32,
    /// Until everything below is acknowledged.
    fast_until: Option<u64>,
    timeout_until: Option<u64>,
    last_answer: Option<Stamp>,
    /// When the timer was started: at an acknowledgement of something new, or at a timeout.
    timer_from: Option<Stamp>,
}

impl Recovery {
    /// An acknowledgement of something new.
    pub(super) fn advanced(&mut self, at: Stamp, una: u64) {
        self.duplicates = 0;
        self.last_answer = Some(at);
        self.timer_from = Some(at);
        self.fast_until = self.fast_until.filter(|until| una < *until);
        self.timeout_until = self.timeout_until.filter(|until| una < *until);
    }

    /// One that says the same again, or something in its selective part.
    pub(super) const fn answered(&mut self, at: Stamp, is_duplicate: bool) {
        if is_duplicate {
            self.duplicates = self.duplicates.saturating_add(1);
        }
        self.last_answer = Some(at);
    }

    /// Segments left while nothing was outstanding: the timer starts.
    pub(super) const fn started(&mut self, at: Stamp) {
        self.timer_from = Some(at);
    }

    /// Says why the segment leaves again, and whether an episode begins with it.
    pub(super) fn judge(&mut self, again: &Again) -> (Kind, bool) {
        let since = |from: Option<Stamp>| from.map_or(u64::MAX, |from| again.at.0.saturating_sub(from.0));
        let is_first_unacknowledged = again.start <= again.una;
        let waited = since(self.timer_from).min(again.at.0.saturating_sub(again.last_sent.0));
        // Timers of real senders have a granularity: a tenth is given to them.
        let is_late = waited.saturating_add(waited / 10) >= again.timeout_ns;
        let is_certain = self.duplicates >= DUPLICATES
            || again.sacked_above >= u64::from(DUPLICATES) * again.segment_octets
            || self.fast_until.is_some_and(|until| again.start < until);
        let is_hinted = again.sacked_above > 0 && since(self.last_answer) <= again.reaction_ns;
        let is_timer = is_first_unacknowledged && is_late && (again.copies_before > 1 || !is_certain);
        if let Some(until) = self.timeout_until
            && again.start < until
            && !is_timer
        {
            return (Kind::Timeout, false);
        }
        if !is_timer && (is_certain || is_hinted) {
            let begins = self.fast_until.is_none();
            self.fast_until = self.fast_until.or(Some(again.next));
            return (Kind::Fast, begins);
        }
        let is_tail = again.end == again.next && (!is_first_unacknowledged || again.copies_before == 1);
        if !is_timer && is_tail {
            return (Kind::Tail, true);
        }
        self.timeout_until = Some(again.next);
        self.fast_until = None;
        self.duplicates = 0;
        self.timer_from = Some(again.at);
        (Kind::Timeout, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Ten segments of 1000 octets are outstanding since 0 ms.
    fn again(at_ms: u64, start: u64, end: u64) -> Again {
        Again {
            at: Stamp(at_ms * MS),
            start,
            end,
            una: 0,
            next: 10_000,
            copies_before: 1,
            last_sent: Stamp(0),
            sacked_above: 0,
            segment_octets: 1_000,
            timeout_ns: 600 * MS,
            reaction_ns: 50 * MS,
        }
    }

    fn started() -> Recovery {
        let mut recovery = Recovery::default();
        recovery.started(Stamp(0));
        recovery
    }

    #[test]
    fn three_duplicates_make_it_fast_and_the_rest_of_the_episode_too() {
        let mut recovery = started();
        (0..3).for_each(|n| recovery.answered(Stamp((300 + n) * MS), true));
        assert_eq!(recovery.judge(&again(303, 0, 1_000)), (Kind::Fast, true));
        assert_eq!(
            recovery.judge(&again(304, 4_000, 5_000)),
            (Kind::Fast, false),
            "a partial acknowledgement"
        );
        recovery.advanced(Stamp(500 * MS), 10_000);
        let alone =
            Again { una: 10_000, next: 12_000, last_sent: Stamp(500 * MS), ..again(700, 11_000, 12_000) };
        assert_eq!(recovery.judge(&alone), (Kind::Tail, true), "the episode is over");
    }

    #[test]
    fn a_selective_acknowledgement_just_before_is_enough() {
        let mut recovery = started();
        recovery.answered(Stamp(300 * MS), false);
        let hinted = Again { sacked_above: 1_000, ..again(320, 0, 1_000) };
        assert_eq!(recovery.judge(&hinted), (Kind::Fast, true));
        let mut recovery = started();
        recovery.answered(Stamp(300 * MS), false);
        let long_ago = Again { sacked_above: 1_000, ..again(900, 0, 1_000) };
        assert_eq!(recovery.judge(&long_ago), (Kind::Timeout, true));
    }

    #[test]
    fn a_timer_makes_it_a_timeout_and_all_that_follows() {
        let mut recovery = started();
        assert_eq!(recovery.judge(&again(600, 0, 1_000)), (Kind::Timeout, true));
        recovery.advanced(Stamp(800 * MS), 1_000);
        let follows = Again { una: 1_000, ..again(801, 1_000, 2_000) };
        assert_eq!(recovery.judge(&follows), (Kind::Timeout, false));
        let twice =
            Again { copies_before: 2, last_sent: Stamp(801 * MS), una: 1_000, ..again(2_001, 1_000, 2_000) };
        assert_eq!(recovery.judge(&twice), (Kind::Timeout, true), "the timer once more");
    }

    #[test]
    fn the_second_copy_of_a_fast_one_needs_the_timer() {
        let mut recovery = started();
        (0..5).for_each(|n| recovery.answered(Stamp((300 + n) * MS), true));
        assert_eq!(recovery.judge(&again(303, 0, 1_000)).0, Kind::Fast);
        let second = Again { copies_before: 2, last_sent: Stamp(303 * MS), ..again(910, 0, 1_000) };
        assert_eq!(recovery.judge(&second), (Kind::Timeout, true));
    }

    #[test]
    fn the_last_segment_sent_early_is_a_probe() {
        assert_eq!(started().judge(&again(400, 9_000, 10_000)), (Kind::Tail, true));
        let lone = Again { next: 1_000, ..again(400, 0, 1_000) };
        assert_eq!(started().judge(&lone), (Kind::Tail, true), "alone, and before the timer");
        let lone = Again { next: 1_000, ..again(601, 0, 1_000) };
        assert_eq!(started().judge(&lone), (Kind::Timeout, true));
    }
}
