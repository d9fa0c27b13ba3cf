//! Mobiles whose rate is guaranteed, and what of it they have used.
//!
//! A bucket for each of them leaks its guaranteed rate. As long as it has room, the mobile's PDUs of the guaranteed class go
//! ahead of best effort; what goes while it has none goes as best effort and is not counted, so that what a mobile gets beyond
//! its guarantee never takes from that. Nobody else's PDUs look at this: whoever has no guarantee pays nothing for it.

use super::state::{NEVER, Place};
use super::{CellClass, FlowControl, PduMeta};
use foldhash::fast::FixedState;
use gannet_machine::Context;
use gannet_machine::time::Instant;
use gannet_qos::leaky_bucket::LeakyBucket;
use std::collections::HashMap;

/// The headers of SNDCP and LLC around an N-PDU that is not segmented (04.65 clause 7.2, 04.64 clause 6): a rate that is
/// guaranteed is one of N-PDUs (23.107 clause 6.4.3).
const HEADERS_OCTETS: u64 = 10;
/// What may go at once after a pause, as a part of what goes in a second.
const BURST_DIVISOR: u64 = 4;
/// And at least two of the longest N-PDUs.
const BURST_OCTETS_MIN: u64 = 3040;

/// The guarantees, by the names of mobiles.
#[derive(Debug, Default)]
pub(super) struct Guarantees(HashMap<u32, Guarantee, FixedState>);

#[derive(Debug)]
struct Guarantee {
    bucket: LeakyBucket,
    /// From which turn of its cell's best effort on it is its own turn there: it leaves that list whenever its guarantee has
    /// room, and would else come back to the end of it each time.
    due: u64,
}

impl Guarantees {
    pub(super) fn set(&mut self, now: Instant, name: u32, octets_per_s: Option<u64>) {
        let Some(octets_per_s) = octets_per_s else {
            self.0.remove(&name);
            return;
        };
        let burst = (octets_per_s / BURST_DIVISOR).max(BURST_OCTETS_MIN);
        let rate_bit_per_s = octets_per_s.saturating_mul(8);
        self.0
            .entry(name)
            .and_modify(|of| of.bucket.reconfigure(now, burst, rate_bit_per_s))
            .or_insert_with(|| Guarantee { bucket: LeakyBucket::new(burst, rate_bit_per_s), due: 0 });
    }

    pub(super) fn rate_octets_per_s(&self, name: u32) -> Option<u64> {
        self.0.get(&name).map(|of| of.bucket.rate_bit_per_s() / 8)
    }

    /// Where a mobile stands whose first PDU is of the guaranteed class and conforms to its bucket, and up to when.
    pub(super) fn judge(&self, now: Instant, name: u32, octets: u64) -> (Place, Instant) {
        let of = self.0.get(&name);
        match of.map(|of| of.bucket.next_conforming(now, counted(octets))) {
            Some(Some(room)) if room <= now => (Place::Ready(CellClass::Guaranteed), NEVER),
            Some(Some(room)) => (Place::Ready(CellClass::BestEffort), room),
            Some(None) | None => (Place::Ready(CellClass::BestEffort), NEVER),
        }
    }

    /// A PDU goes; beyond the guarantee it counts for nothing.
    pub(super) fn take(&mut self, now: Instant, name: u32, octets: u64) {
        if let Some(of) = self.0.get_mut(&name) {
            let _ = of.bucket.admit(now, counted(octets));
        }
    }

    /// Has everybody had a turn among best effort, so many mobiles, since this one had its last? In another cell than it had that
    /// in, it has one at once.
    pub(super) fn is_due(&self, name: u32, turns: u64, mobiles: u32) -> bool {
        self.0.get(&name).is_some_and(|of| of.due <= turns || of.due > turns + u64::from(mobiles) + 1)
    }

    /// It has its turn among so many, and its next one when all of them have had theirs. What it waited too long for that it
    /// keeps, up to one turn.
    pub(super) fn note_turn(&mut self, name: u32, turns: u64, mobiles: u32) {
        if let Some(of) = self.0.get_mut(&name) {
            let round = u64::from(mobiles);
            of.due = of.due.max(turns.saturating_sub(round)).min(turns) + round;
        }
    }
}

const fn counted(octets: u64) -> u64 {
    octets.saturating_sub(HEADERS_OCTETS)
}

impl<T: PduMeta> FlowControl<T> {
    /// Guarantees a rate of N-PDUs to what a mobile has of the guaranteed class, in octets/s; `None` for none.
    pub fn set_guarantee(&mut self, cx: &mut Context<'_>, ms: u32, octets_per_s: Option<u64>) {
        self.guarantees.set(cx.now, ms, octets_per_s);
        if let Some(at) = self.find(ms) {
            self.refresh(cx, at);
        }
    }

    /// What is guaranteed to a mobile, in octets/s of N-PDUs.
    #[must_use]
    pub fn guarantee(&self, ms: u32) -> Option<u64> {
        self.guarantees.rate_octets_per_s(ms)
    }

    /// A PDU of the guaranteed class has passed: best effort need not rest while there is other traffic to share the cell with.
    #[cold]
    pub(super) fn guaranteed_passes(&mut self, now: Instant, cell: u32, name: u32, octets: u64) {
        self.guarantees.take(now, name, octets);
        self.end_rest_of_cell(cell);
    }
}
