//! The state of a flow, in one line of the cache.

use super::{COST_MAX_NS, FlowConfig, Turn};
use crate::class::{Class, Precedence};

/// "No node", "no flow".
pub(super) const NIL: u32 = u32::MAX;

/// The low bits of a flow's marks: in which rings it is, by [`Turn`].
const IN_RINGS: u16 = 0b1_1111;
/// It is configured.
pub(super) const EXISTS: u16 = 1 << 5;
/// Its owner blocked it.
pub(super) const BLOCKED: u16 = 1 << 6;
/// Its backlog went above its high watermark and has not come down to the low one.
pub(super) const ABOVE: u16 = 1 << 7;
/// It is in a chain of turns: parked, limited or returning.
pub(super) const LINKED: u16 = 1 << 8;
/// That chain is, or was before its cell was unblocked, that of its cell's real-time limiter.
pub(super) const LIMITED: u16 = 1 << 9;
/// It is in its cell's chain of flows that may have a backlog.
pub(super) const MEMBER: u16 = 1 << 10;

/// It is lifted: its precedence is high, and its backlog went above its low watermark and is not down to half of it.
pub(super) const LIFTED: u16 = 1 << 11;

/// It has not been in the round of best effort all the time since its last quantum there.
pub(super) const ABSENT: u16 = 1 << 12;

/// Quanta of best effort that a flow keeps where it did not need them in their round.
const KEPT: u32 = 8;

/// How much a flow may have waiting for the room that is left in all queues together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share(u32);

impl Share {
    /// One in `part` of the room for so many packets, `least` in any case; of none there is no limit.
    pub(super) fn of(room: usize, part: u32, least: u32) -> Self {
        let room = u32::try_from(room).unwrap_or(u32::MAX);
        Self(room.checked_div(part).unwrap_or(u32::MAX).max(least))
    }
}

/// A flow. All that enqueueing and dequeueing need of it is here: one miss of the cache each, however many there are.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub(super) struct Flow {
    pub(super) head: u32,
    pub(super) tail: u32,
    pub(super) octets: u32,
    pub(super) pdus: u16,
    pub(super) limit_pdus: u16,
    pub(super) limit_octets: u32,
    pub(super) high_octets: u32,
    pub(super) low_octets: u32,
    pub(super) high_pdus: u16,
    pub(super) low_pdus: u16,
    /// What it may still cost in this visit, in ns; below zero what its last visit cost too much.
    pub(super) deficit_ns: i32,
    pub(super) cell: u32,
    pub(super) marks: u16,
    pub(super) weight: u16,
    pub(super) class: Class,
    pub(super) precedence: Precedence,
    /// PDUs served since it was configured.
    pub(super) served: u64,
    /// PDUs dropped since then, by any name.
    pub(super) dropped: u32,
    /// The first place of the round of best effort when it got its last quantum there.
    pub(super) since: u32,
}

impl Flow {
    /// A place without a flow: its limit is 0, so nothing gets in.
    pub(super) const NONE: Self = Self {
        head: NIL,
        tail: NIL,
        octets: 0,
        pdus: 0,
        limit_pdus: 0,
        limit_octets: 0,
        high_octets: 0,
        low_octets: 0,
        high_pdus: 0,
        low_pdus: 0,
        deficit_ns: 0,
        cell: NIL,
        marks: 0,
        weight: 1,
        class: Class::BestEffort,
        precedence: Precedence::Normal,
        served: 0,
        dropped: 0,
        since: 0,
    };

    /// Takes the values of `config`, but not its cell.
    pub(super) fn set(&mut self, config: &FlowConfig) {
        let pdus = |pdus: u32| u16::try_from(pdus).unwrap_or(u16::MAX);
        self.class = config.class;
        self.precedence = config.precedence;
        self.weight = config.weight.max(1);
        self.limit_pdus = pdus(config.limit.pdus);
        self.limit_octets = config.limit.octets;
        self.high_pdus = pdus(config.high.pdus).max(1);
        self.high_octets = config.high.octets.max(1);
        self.low_pdus = pdus(config.low.pdus).min(self.high_pdus - 1);
        self.low_octets = config.low.octets.min(self.high_octets - 1);
    }

    pub(super) const fn is(&self, mark: u16) -> bool {
        self.marks & mark != 0
    }

    pub(super) const fn mark(&mut self, mark: u16, value: bool) {
        if value {
            self.marks |= mark;
        } else {
            self.marks &= !mark;
        }
    }

    /// True where something could be served if its cell is not blocked.
    pub(super) const fn wants(&self) -> bool {
        self.pdus > 0 && !self.is(BLOCKED)
    }

    pub(super) const fn is_in(&self, turn: Turn) -> bool {
        self.is(1 << turn as u16)
    }

    pub(super) const fn mark_in(&mut self, turn: Turn, value: bool) {
        self.mark(1 << turn as u16, value);
    }

    /// Forgets all but in which rings it still is.
    pub(super) const fn clear(&mut self) {
        let rings = self.marks & IN_RINGS;
        *self = Self::NONE;
        self.marks = rings;
    }

    /// In whose round it is to be served.
    pub(super) fn home(&self) -> Turn {
        match self.class {
            Class::Signalling => Turn::Signalling,
            Class::RealTime => Turn::RealTime,
            Class::BestEffort if self.is(LIFTED) && self.precedence == Precedence::High => Turn::Lifted,
            Class::BestEffort => Turn::BestEffort,
        }
    }

    /// A visit begins: its quantum, of which at least one packet is served whatever was owed.
    pub(super) fn visit(&mut self, quantum_ns: u32) {
        let quantum = self.of_quanta(quantum_ns, 1);
        self.deficit_ns = self.deficit_ns.saturating_add(quantum).clamp(1, quantum);
    }

    /// A visit in the round of best effort, of so many places, the first of which is `head`. The flow has kept what it did
    /// not need, and gets what it would have had if it had been here all the time: with a queue of a few packets it
    /// would else get less than its share whenever its packets come unevenly.
    pub(super) fn visit_in_turn(&mut self, quantum_ns: u32, head: u32, places: u32) {
        let round = u64::from(places.max(1));
        let passed = u64::from(head.wrapping_sub(self.since)).max(round);
        let passed = if self.served > 0 && self.is(ABSENT) { passed } else { round };
        self.marks &= !ABSENT;
        let due = (u64::from(quantum_ns) * passed / round).min(COST_MAX_NS);
        let due = self.of_quanta(u32::try_from(due).unwrap_or(u32::MAX), 1);
        self.deficit_ns = self.deficit_ns.saturating_add(due).clamp(1, self.of_quanta(quantum_ns, KEPT));
        self.since = head;
    }

    /// Have all others had a quantum since it got its last one, if it ever got one?
    pub(super) const fn is_due(&self, head: u32, places: u32) -> bool {
        self.served == 0 || head.wrapping_sub(self.since) >= places
    }

    /// It leaves a ring: only in those of best effort it keeps what it did not need.
    pub(super) fn leave(&mut self, ring: Turn) {
        self.mark_in(ring, false);
        self.marks |= ABSENT;
        if !matches!(ring, Turn::Fresh | Turn::BestEffort) {
            self.deficit_ns = self.deficit_ns.min(0);
        }
    }

    /// It gets its next quantum when all others have had one, as if it got one now, where the round is at `head`.
    pub(super) fn forget_what_it_missed(&mut self, head: u32) {
        self.deficit_ns = self.deficit_ns.min(0);
        self.since = head;
        self.marks &= !ABSENT;
    }

    /// So many quanta at its weight.
    fn of_quanta(&self, quantum_ns: u32, quanta: u32) -> i32 {
        let ns = u64::from(quantum_ns) * u64::from(self.weight) * u64::from(quanta);
        i32::try_from(ns.min(COST_MAX_NS)).unwrap_or(i32::MAX)
    }

    /// Whether it has to be content with an equal share of the room that is left: what is urgent, or pushes others out, has
    /// its own limits alone.
    pub(super) fn shares(&self) -> bool {
        self.class == Class::BestEffort && self.precedence != Precedence::High
    }

    /// Nothing more goes into it, whatever its own limits are.
    pub(super) fn has_its(&self, share: Share) -> bool {
        self.shares() && u32::from(self.pdus) >= share.0
    }

    /// After something came in: true where the backlog is now above the high watermark, or above its `share` of the room,
    /// and was not before.
    pub(super) fn rises(&mut self, share: Share) -> bool {
        let above = self.pdus >= self.high_pdus || self.octets >= self.high_octets || self.has_its(share);
        let crossed = above && !self.is(ABOVE);
        if crossed {
            self.marks |= ABOVE;
        }
        crossed
    }

    /// After something came in: true where the flow is lifted now and was not before.
    pub(super) fn lifts(&mut self) -> bool {
        let lifted = self.precedence == Precedence::High
            && !self.is(LIFTED)
            && (self.pdus > self.low_pdus || self.octets > self.low_octets);
        if lifted {
            self.marks |= LIFTED;
        }
        lifted
    }

    /// After something went out: true where the backlog has come down to the low watermark, and to half of its `share` of the
    /// room. A lifted flow comes down at half of its low watermark.
    pub(super) fn falls(&mut self, share: Share) -> bool {
        if self.is(LIFTED) && self.pdus <= self.low_pdus / 2 && self.octets <= self.low_octets / 2 {
            self.marks &= !LIFTED;
        }
        let crossed = self.is(ABOVE)
            && self.pdus <= self.low_pdus
            && self.octets <= self.low_octets
            && (!self.shares() || u32::from(self.pdus) <= share.0 / 2);
        if crossed {
            self.marks &= !ABOVE;
        }
        crossed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_one_line_of_the_cache() {
        assert_eq!((size_of::<Flow>(), align_of::<Flow>()), (64, 64));
    }
}
