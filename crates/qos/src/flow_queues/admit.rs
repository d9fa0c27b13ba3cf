//! What comes in, and what gives way to it.

use super::flow::{BLOCKED, MEMBER};
use super::nodes::Taken;
use super::{FlowQueues, NIL};
use crate::class::Precedence;
use gannet_machine::drops::Drop;
use gannet_machine::time::Instant;

/// The names under which packets are dropped that find no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DropNames {
    /// The flow's own queue is full, or there is no such flow.
    pub flow_full: Drop,
    /// Its cell is full.
    pub cell_full: Drop,
    /// All queues together are, or the flow has its share of the room.
    pub node_full: Drop,
    /// It gave way to another.
    pub pushed_out: Drop,
}

impl DropNames {
    /// Of N-PDUs on their way down.
    pub const DOWNLINK: Self = Self {
        flow_full: Drop::FlowQueueFull,
        cell_full: Drop::FlowQueueCellFull,
        node_full: Drop::FlowQueueNodeFull,
        pushed_out: Drop::FlowQueuePushedOut,
    };

    /// Of LL-PDUs on their way up.
    pub const UPLINK: Self = Self {
        flow_full: Drop::UplinkQueueFull,
        cell_full: Drop::UplinkQueueCellFull,
        node_full: Drop::UplinkQueueNodeFull,
        pushed_out: Drop::UplinkQueuePushedOut,
    };
}

/// A packet that was dropped: the one that arrived, or one that gave way to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dropped<T> {
    /// Its flow.
    pub flow: u32,
    /// Itself.
    pub item: T,
    /// Its octets.
    pub octets: u32,
    /// Why.
    pub reason: Drop,
    /// By this its flow has come down to its low watermark, and to half of its share of the room.
    pub crossed_low: bool,
}

/// What became of a packet that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Enqueued {
    /// It is queued.
    pub accepted: bool,
    /// The flow's backlog has come above its high watermark, or has its share of the room that is left: by it, or since there
    /// is less room.
    pub crossed_high: bool,
}

impl<T> FlowQueues<T> {
    /// Takes a packet of `octets` into the queue of `flow`. What is dropped for it, or itself, goes to `dropped`.
    pub fn enqueue(
        &mut self,
        now: Instant,
        flow: u32,
        octets: u32,
        item: T,
        dropped: &mut impl FnMut(Dropped<T>),
    ) -> Enqueued {
        self.totals.offered += 1;
        if self.flows.get(flow as usize).is_some_and(|state| state.pdus == 0 && state.shares()) {
            self.variety.came(flow);
        }
        if let Err(reason) = self.make_room(flow, octets, dropped) {
            return self.refuse(flow, octets, item, reason, dropped);
        }
        let (share, names) = (self.share(), self.config.names);
        let Some(state) = self.flows.get_mut(flow as usize) else {
            return self.refuse(flow, octets, item, names.flow_full, dropped);
        };
        if let Err(back) = self.nodes.push_back(state, Taken { item, since: now, octets }) {
            return self.refuse(flow, octets, back.item, names.node_full, dropped);
        }
        self.queued.add(octets);
        let (crossed_high, lifted) = (state.rises(share), state.lifts());
        if let Some(cell) = self.cells.get_mut(state.cell as usize) {
            cell.came(flow, state, octets);
            if state.wants() && !cell.blocked {
                self.ready += 1;
            }
        }
        if !state.is(MEMBER) {
            state.mark(MEMBER, true);
            self.members.push_front(Self::members_of(state.cell, state.precedence), flow);
        }
        let was_empty = state.pdus == 1;
        if was_empty || lifted {
            self.list(flow, was_empty);
        }
        Enqueued { accepted: true, crossed_high }
    }

    fn refuse(
        &mut self,
        flow: u32,
        octets: u32,
        item: T,
        reason: Drop,
        dropped: &mut impl FnMut(Dropped<T>),
    ) -> Enqueued {
        self.count_drop(flow, reason);
        let share = self.share();
        // Of one that has nothing waiting nobody would be told that it may go on.
        let state = self.flows.get_mut(flow as usize).filter(|state| state.pdus > 0);
        let crossed_high = state.is_some_and(|state| state.has_its(share) && state.rises(share));
        dropped(Dropped { flow, item, octets, reason, crossed_low: false });
        Enqueued { accepted: false, crossed_high }
    }

    /// Drops what has to give way to a packet of `octets` for `flow`, or says why that packet has to.
    fn make_room(
        &mut self,
        flow: u32,
        octets: u32,
        dropped: &mut impl FnMut(Dropped<T>),
    ) -> Result<(), Drop> {
        let (share, names) = (self.share(), self.config.names);
        let state = self.flows.get(flow as usize).ok_or(names.flow_full)?;
        if state.pdus >= state.limit_pdus || octets > state.limit_octets.saturating_sub(state.octets) {
            return Err(names.flow_full);
        }
        if state.has_its(share) || (state.pdus == 0 && state.shares() && self.has_a_crowd()) {
            return Err(names.node_full);
        }
        let cell_at = state.cell;
        let cell = self.cells.get(cell_at as usize).ok_or(names.flow_full)?;
        let fits = cell.fits(octets);
        if fits && self.nodes.free() > 0 {
            return Ok(());
        }
        let reason = if fits { names.node_full } else { names.cell_full };
        let precedence = state.precedence;
        if !cell.would_fit(octets, precedence) || state.is(BLOCKED) {
            return Err(reason);
        }
        while self.cells.get(cell_at as usize).is_some_and(|cell| !cell.fits(octets))
            || self.nodes.free() == 0
        {
            if !self.push_out(cell_at, precedence, dropped) {
                return Err(reason);
            }
        }
        Ok(())
    }

    /// Drops one packet of lower precedence than `above` in the cell. False where there is none.
    fn push_out(&mut self, cell: u32, above: Precedence, dropped: &mut impl FnMut(Dropped<T>)) -> bool {
        let Some(level) = self.cells.get(cell as usize).and_then(|cell| cell.lowest_below(above)) else {
            return false;
        };
        let Some(victim) = self.victim(cell, level) else { return false };
        let share = self.share();
        let Some(flow) = self.flows.get_mut(victim as usize) else { return false };
        let was_ready = flow.wants();
        let Some(taken) = self.nodes.pop_back(flow) else { return false };
        self.queued.sub(taken.octets);
        let crossed_low = flow.falls(share);
        if let Some(cell) = self.cells.get_mut(cell as usize) {
            cell.went(victim, flow, taken.octets, was_ready);
            if was_ready && !cell.blocked {
                self.fewer_ready(1);
            }
        }
        let reason = self.config.names.pushed_out;
        self.count_drop(victim, reason);
        dropped(Dropped { flow: victim, item: taken.item, octets: taken.octets, reason, crossed_low });
        true
    }

    /// The flow that gives way at this level, which has a backlog somewhere in the cell: the longest one known, else
    /// that which came last. Flows found empty leave the chain until their next packet.
    fn victim(&mut self, cell: u32, level: Precedence) -> Option<u32> {
        let longest = self.cells.get(cell as usize).map_or(NIL, |cell| cell.longest(level));
        if self.flows.get(longest as usize).is_some_and(|flow| flow.pdus > 0) {
            return Some(longest);
        }
        let chain = Self::members_of(cell, level);
        while let Some(first) = self.members.first(chain) {
            let flow = self.flows.get_mut(first as usize)?;
            if flow.pdus > 0 {
                return Some(first);
            }
            flow.mark(MEMBER, false);
            self.members.unlink(first);
        }
        None
    }
}
