//! Who has used up what its bucket takes at once rests, whether it has more waiting or not: the owner is told to wait before
//! it spends anything on a PDU that could not go, and told to go on when there is room for several.
//!
//! So what exceeds a leak rate waits where it arrived, and the BSS has what is in its bucket to send meanwhile. In the queue
//! here it would stand behind all that has been done to it already, to be looked for a second time. Best effort only: real
//! time and signalling are not to wait for room that one PDU has already. In a cell nobody rests while real time has lately
//! gone out there, since what that may take depends on whether best effort waits.

use super::state::NEVER;
use super::{CellClass, FlowControl, PduMeta, Place};
use gannet_machine::time::Instant;

impl<T: PduMeta> FlowControl<T> {
    /// A PDU of best effort of `octets` has gone out, and another like it would not conform.
    #[cold]
    pub(super) fn rest(&mut self, now: Instant, (cell, at): (u32, u32), octets: u64) {
        if self.config.feedback.is_some() {
            self.rest_ms(now, at, octets);
            self.rest_cell(now, cell, octets);
        }
    }

    fn rest_ms(&mut self, now: Instant, at: u32, octets: u64) {
        let is_mobile = self.is_mobile(at);
        let quantum = self.config.rest_quantum;
        let Some(ms) = self.mobiles.get_mut(at as usize).filter(|_| is_mobile) else { return };
        let Some(first) = ms.bucket.next_conforming(now, octets).filter(|first| *first > now) else { return };
        let wake = quantum.wake(now, &ms.bucket, (first, octets, NEVER), u64::MAX).min(ms.specific_until);
        ms.rests_for = u32::try_from(octets).unwrap_or(u32::MAX);
        let told = core::mem::replace(&mut ms.full[CellClass::BestEffort], true);
        let name = ms.name;
        self.waiting.set(at, wake);
        if !told {
            self.tell_ms(name, CellClass::BestEffort);
        }
    }

    fn rest_cell(&mut self, now: Instant, cell: u32, octets: u64) {
        let (member, quantum) = (self.member_of_cell(cell), self.config.wait_quantum);
        let Some(state) = self.cells.get_mut(cell as usize) else { return };
        let Some(first) = state.bucket.next_conforming(now, octets).filter(|first| *first > now) else {
            return;
        };
        if !state.real_time.is_empty(now) {
            return;
        }
        let wake = quantum.wake(now, &state.bucket, (first, octets, NEVER), u64::MAX);
        (state.rests, state.waiting) = (true, true);
        self.waiting.set(member, wake);
        self.mark_cell(cell);
    }

    /// The instant for which a mobile has rested has come: true where that was what it waited for.
    pub(super) fn has_rested(&mut self, now: Instant, at: u32) -> bool {
        let Some(ms) = self.mobiles.get(at as usize) else { return false };
        if ms.rests_for == 0 || ms.place != Place::Idle {
            return false;
        }
        let octets = ms.rests_for.into();
        self.settle(now, at);
        self.end_rest(at);
        self.rest_ms(now, at, octets);
        true
    }

    /// A mobile has something queued, or something else about it has changed.
    pub(super) fn end_rest(&mut self, at: u32) {
        let Some(ms) = self.mobiles.get_mut(at as usize).filter(|ms| ms.rests_for != 0) else { return };
        ms.rests_for = 0;
        self.waiting.remove(at);
        self.mark_ms(at, CellClass::BestEffort);
    }

    /// A cell may go on.
    pub(super) fn end_rest_of_cell(&mut self, cell: u32) {
        let member = self.member_of_cell(cell);
        let Some(state) = self.cells.get_mut(cell as usize).filter(|state| state.rests) else { return };
        (state.rests, state.waiting) = (false, false);
        self.waiting.remove(member);
        self.mark_cell(cell);
    }
}
