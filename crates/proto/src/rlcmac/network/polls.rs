//! Polls of a downlink TBF (44.060 clause 9.3.2.5): when one is due, which are unanswered, and what had been sent when a report was made.

use crate::rlcmac::policy::Policy;

/// Of one TBF.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Polls {
    /// Data blocks since the last poll.
    since: u16,
    /// Polls whose block has not come.
    unanswered: u8,
    /// The last block that was reserved for a report brought none.
    is_missed: bool,
    /// The last report lacks blocks.
    lacks: bool,
    /// How many blocks had been sent when the report that comes was made.
    serial: u64,
    /// The block period in which the mobile reports.
    reports_in: Option<u64>,
}

impl Polls {
    pub(super) const fn block_sent(&mut self) {
        self.since = self.since.saturating_add(1);
    }

    /// A poll is due with the block that goes now, a new one or not: the last one, or one at an end for now (the window is full, or nothing
    /// waits).
    pub(super) const fn is_due(&self, policy: &Policy, is_new: bool, is_last: bool, is_end: bool) -> bool {
        let every = if self.lacks { policy.poll_after_loss } else { policy.poll_every };
        let most = if policy.polls_max == 0 { 1 } else { policy.polls_max };
        let is_anew = policy.polls_anew && self.is_missed;
        let is_regular = self.since >= every || is_last || is_anew || is_end && self.unanswered == 0;
        is_regular && self.unanswered < most
            || policy.polls_anew && is_new && is_end && self.unanswered <= most
    }

    pub(super) const fn sent(&mut self) {
        self.unanswered = self.unanswered.saturating_add(1);
        (self.since, self.is_missed) = (0, false);
    }

    /// A block that was reserved for a report has passed.
    pub(super) const fn passed(&mut self, came: bool) {
        self.unanswered = self.unanswered.saturating_sub(1);
        self.is_missed = !came;
    }

    pub(super) const fn is_polled(&self) -> bool {
        self.unanswered > 0
    }

    /// The mobile makes its report now, when so many blocks have been sent.
    pub(super) const fn report_is_made(&mut self, serial: u64, period: u64) {
        (self.serial, self.reports_in) = (serial, Some(period));
    }

    pub(super) const fn serial(&self) -> u64 {
        self.serial
    }

    pub(super) fn reports_in(&self, period: u64) -> bool {
        self.reports_in == Some(period)
    }

    pub(super) const fn reported(&mut self, lacks: bool) {
        self.lacks = lacks;
    }
}
