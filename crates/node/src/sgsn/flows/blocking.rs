//! Flows that are not served: of mobiles that must be paged first or are suspended, and of those whose output queue is
//! full. What waits for a mobile that cannot be reached is bounded, for each and in all, and not kept for ever.
//!
//! What comes for a mobile whose output queue is full, or whose bucket, waits in its queue. But where the driver is short of time
//! it is dropped there: after it has waited for a leak rate it is out of the caches, and is paid for by all others. The BSS has
//! what is in the mobile's bucket to send meanwhile.
//!
//! A context that goes before others of its mobile ([`Mobile::goes_ahead`]) does not wait with them: it is served until as many of its
//! LL-PDUs as the high watermark has wait for the mobile's bucket. So none waits behind the others, and these have their part where it is
//! never without.
//!
//! In acknowledged mode a context's N-PDUs wait, too, while as many as may be are not confirmed: of the context, or of all.

use super::service::BATCH;
use super::{Flows, flow_of, key_of};
use crate::sgsn::contexts::ContextRef;
use crate::sgsn::gb::Gb;
use crate::sgsn::mobile::{Bearer, Mobile};
use crate::sgsn::owner::Owner;
use crate::sgsn::user_plane::Allowance;
use crate::sgsn::{Sgsn, SgsnConfig};
use crate::slots::Slot;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::prefetch::Prefetch;
use gannet_machine::time::Instant;
use gannet_machine::{Context, Output};
use gannet_proto::about::About as _;
use gannet_proto::bssgp::flow_control::{Feedback, Whose};
use gannet_proto::classifier::{Block, RuleChange};
use gannet_proto::sndcp::N_PDU_MAX;
use gannet_qos::class::CellClass;
use gannet_qos::flow_queues::Served;
use gannet_wire::id::Nsapi;

/// The mobile is not READY, or is suspended.
pub(super) const UNREACHABLE: u8 = 1;
/// Flow control takes no more real time of the mobile.
pub(super) const FULL_REAL_TIME: u8 = 1 << 1;
/// Flow control takes no more best effort of the mobile.
pub(super) const FULL_BEST_EFFORT: u8 = 1 << 2;
/// The mobile is among the expiries.
const NOTED: u8 = 1 << 3;
/// The driver drops real time of the mobile, as flow control takes no more.
const DROPPED_REAL_TIME: u8 = 1 << 4;
/// The driver drops best effort of the mobile.
const DROPPED_BEST_EFFORT: u8 = 1 << 5;
/// The driver holds best effort of the mobile to its leak rate.
pub(super) const LEAKING: u8 = 1 << 6;
/// Flow control takes no more of the mobile that is guaranteed.
const FULL_GUARANTEED: u8 = 1 << 7;

/// Mobiles of which is told at once.
const AT_ONCE: usize = 8;

/// The mark of a full output queue.
const fn full_mark(class: CellClass) -> u8 {
    match class {
        CellClass::RealTime => FULL_REAL_TIME,
        CellClass::Guaranteed => FULL_GUARANTEED,
        CellClass::Signalling | CellClass::BestEffort => FULL_BEST_EFFORT,
    }
}

/// The mark of what the driver drops. What is guaranteed waits.
const fn dropped_mark(class: CellClass) -> u8 {
    match class {
        CellClass::RealTime => DROPPED_REAL_TIME,
        CellClass::Guaranteed => 0,
        CellClass::Signalling | CellClass::BestEffort => DROPPED_BEST_EFFORT,
    }
}

/// Has SNDCP as many N-PDUs of a context in acknowledged mode as may wait for the mobile's confirmation? More octets than it is
/// allowed are too many only where it has some whose confirmation has the flow looked at anew.
fn waits_for_confirmation(config: &SgsnConfig, allowance: Allowance, mobile: &Mobile, nsapi: Nsapi) -> bool {
    let limits = &config.user_plane.sndcp.limits;
    mobile.sndcp().is_some_and(|sndcp| {
        let waiting = sndcp.unconfirmed_octets_of(nsapi);
        let is_too_much = waiting > 0 && !allowance.takes(waiting, N_PDU_MAX);
        sndcp.is_acknowledged(nsapi) && (is_too_much || !sndcp.has_room(limits, &mobile.llc, nsapi))
    })
}

/// Does the context go ahead of what its mobile's bucket keeps waiting? Not where enough of its own waits there.
fn has_way(gb: &Gb, slot: Slot, mobile: &Mobile, bearer: &Bearer) -> bool {
    let most = gb.flow.config().feedback.map_or(u32::MAX, |marks| marks.ms.high.pdus);
    mobile.goes_ahead(bearer) && gb.flow.ahead(slot.index, bearer.class) < most
}

impl Sgsn {
    /// Brings a context's flow in line with its mobile's marks.
    pub(in crate::sgsn) fn set_blocked(&mut self, slot: Slot, nsapi: Nsapi) {
        let allowance = self.allowance();
        let (Some(flows), Some(mobile)) = (&mut self.flows, self.mobiles.get(slot)) else { return };
        if let Some(bearer) = mobile.bearer(nsapi) {
            let waits = waits_for_confirmation(&self.config, allowance, mobile, nsapi);
            flows.set_blocked(slot, bearer, waits, has_way(&self.gb, slot, mobile, bearer));
        }
    }

    /// The same after an N-PDU was sent while the mobile's output queue is full: of a context that goes ahead there may be enough.
    pub(super) fn block_where_ahead(&mut self, slot: Slot, nsapi: Nsapi) {
        if self.flows.as_ref().is_some_and(|flows| flows.mark(slot) & FULL_BEST_EFFORT != 0) {
            self.set_blocked(slot, nsapi);
        }
    }

    /// The same after an N-PDU was sent, which can only have made a window full: whatever makes room goes through
    /// [`Sgsn::count_unconfirmed`], which has all flows of the mobile looked at.
    pub(in crate::sgsn) fn block_where_full(&mut self, slot: Slot, nsapi: Nsapi) {
        let allowance = self.allowance();
        let (Some(flows), Some(mobile)) = (&mut self.flows, self.mobiles.get(slot)) else { return };
        if let Some(bearer) = mobile.bearer(nsapi)
            && waits_for_confirmation(&self.config, allowance, mobile, nsapi)
        {
            flows.queues.block(flow_of(bearer.name));
        }
    }

    pub(in crate::sgsn) fn set_all_blocked(&mut self, slot: Slot) {
        let allowance = self.allowance();
        let (Some(flows), Some(mobile)) = (&mut self.flows, self.mobiles.get(slot)) else { return };
        for (nsapi, bearer) in mobile.bearers() {
            let waits = waits_for_confirmation(&self.config, allowance, mobile, nsapi);
            flows.set_blocked(slot, bearer, waits, has_way(&self.gb, slot, mobile, bearer));
        }
    }

    /// The N-PDU that is next. One that may not wait for its mobile's confirmation now, as others wait for theirs, stays in its queue,
    /// and nothing of its flow is served until it may.
    pub(super) fn next_served(&mut self, now: Instant) -> Option<Served<Frame>> {
        let allowance = self.allowance();
        let is_ample = allowance.is_ample(self.config.user_plane.sndcp.limits.of_window(u8::MAX).octets_max);
        let Self { flows: Some(flows), contexts, mobiles, .. } = self else { return None };
        let Flows { queues, starved, node_full: false, .. } = flows else { return None };
        queues.dequeue_where(now, |flow, octets| {
            if is_ample {
                return true;
            }
            let context = contexts.at(flow).map(|(_, context)| context);
            let sndcp = context.and_then(|context| mobiles.get(context.mobile)?.sndcp());
            let (Some(ContextRef { nsapi, .. }), Some(sndcp)) = (context, sndcp) else { return true };
            let waiting = sndcp.unconfirmed_octets_of(nsapi);
            let may = !sndcp.is_acknowledged(nsapi) || allowance.takes(waiting, octets as usize);
            // Of one that has something the next confirmation has the flow looked at anew, of others somebody else's.
            if !may && waiting == 0 {
                starved.push(flow);
            }
            may
        })
    }

    /// The node has room again for N-PDUs that wait for confirmation: flows that were kept from their first for want of it are served. Where
    /// there is room for more than are looked at in one turn, the others are in the turns that follow.
    pub(in crate::sgsn) fn unblock_starved(&mut self) {
        let mut room = self.allowance().n_pdus();
        for _ in 0..BATCH {
            if room == 0 {
                break;
            }
            let Some(flow) = self.flows.as_mut().and_then(|flows| flows.starved.pop()) else { break };
            let Some((name, context)) = self.context_of_flow(flow) else { continue };
            if self.flows.as_ref().is_some_and(|flows| flows.has_queued(name)) {
                self.set_blocked(context.mobile, context.nsapi);
                room -= 1;
            }
        }
        // Those that want it no more have taken none.
        if let Some(Flows { starved, .. }) = &mut self.flows {
            starved.is_behind = room > 0 && !starved.is_empty();
        }
    }

    /// Asked after everything that GMM has done to a mobile: are its flows to be served?
    pub(in crate::sgsn) fn flows_follow(&mut self, slot: Slot) {
        let (Some(flows), Some(mobile)) = (&mut self.flows, self.mobiles.get(slot)) else { return };
        let unreachable = mobile.is_out_of_reach();
        if (flows.mark(slot) & UNREACHABLE != 0) == unreachable {
            return;
        }
        flows.set_mark(slot, UNREACHABLE, unreachable);
        let waiting: u32 =
            mobile.bearers().map(|(_, bearer)| flows.queues.backlog(flow_of(bearer.name)).pdus).sum();
        flows.held = if unreachable { flows.held + waiting } else { flows.held - waiting };
        self.set_all_blocked(slot);
    }

    /// Something waits in a queue of a mobile.
    pub(in crate::sgsn) fn has_queued(&self, slot: Slot) -> bool {
        let (Some(flows), Some(mobile)) = (&self.flows, self.mobiles.get(slot)) else { return false };
        mobile.bearers().any(|(_, bearer)| flows.has_queued(bearer.name))
    }

    /// A mobile is gone: nothing that was known of it holds for the next one in its slot.
    pub(in crate::sgsn) fn forget_flows(&mut self, slot: Slot) {
        if let Some(marks) = self.flows.as_mut().and_then(|flows| flows.marks.get_mut(slot.index as usize)) {
            *marks = 0;
        }
    }

    /// Does what flow control has told since it was asked last. To be called after everything that fills or empties its
    /// queues, and before the next N-PDU goes into them.
    pub(in crate::sgsn) fn follow_feedback(&mut self, now: Instant, prefetch: Prefetch) {
        self.review_leaks(now);
        while let Some(first) = self.gb.flow.take_feedback() {
            // Many mobiles may go on at the same instant: what is known of some is asked for before the first is looked at.
            let mut some = [None; AT_ONCE];
            let mut next = Some(first);
            for place in &mut some {
                *place = next.take().or_else(|| self.gb.flow.take_feedback());
                let Some(Feedback { whose: Whose::Ms(index, _), .. }) = *place else { continue };
                self.mobiles.prefetch(index, prefetch);
            }
            self.prefetch_flows(&some, prefetch);
            for Feedback { whose, blocked } in some.into_iter().flatten() {
                match whose {
                    Whose::Ms(index, class) => self.mobile_full(now, index, class, blocked),
                    Whose::Cell(cell, class) => self.cell_full(cell, class, blocked),
                    Whose::Node => {
                        if let Some(flows) = &mut self.flows {
                            flows.node_full = blocked;
                        }
                    }
                }
            }
        }
    }

    /// Asks for the flows of mobiles that are told of, where that is more than one.
    fn prefetch_flows(&self, some: &[Option<Feedback>; AT_ONCE], prefetch: Prefetch) {
        let [_, Some(_), ..] = some else { return };
        let Some(flows) = &self.flows else { return };
        for Feedback { whose, .. } in some.iter().flatten() {
            let Whose::Ms(index, _) = whose else { continue };
            let mobile = self.mobiles.at(*index).and_then(|slot| self.mobiles.get(slot));
            for (_, bearer) in mobile.into_iter().flat_map(Mobile::bearers) {
                flows.queues.prefetch(flow_of(bearer.name), prefetch);
            }
        }
    }

    /// Flow control has told that the output queue of a mobile is full, or no longer.
    fn mobile_full(&mut self, now: Instant, index: u32, class: CellClass, full: bool) {
        let Some(slot) = self.mobiles.at(index) else { return };
        if let Some(flows) = &mut self.flows {
            flows.set_mark(slot, full_mark(class), full);
        }
        self.set_all_blocked(slot);
        self.drop_at_driver(slot, class, full);
        if full && class == CellClass::BestEffort {
            self.hold_to_leak_rate(now, slot);
        }
    }

    /// Where time is short a driver drops what comes for a mobile whose output queue is full.
    fn drop_at_driver(&mut self, slot: Slot, class: CellClass, full: bool) {
        let (Some(flows), Some(mobile)) = (&mut self.flows, self.mobiles.get(slot)) else { return };
        let on = full && flows.short_of_time && class != CellClass::Guaranteed;
        if flows.is_dropped(slot, class) == on {
            return;
        }
        flows.set_mark(slot, dropped_mark(class), on);
        for (_, bearer) in mobile.bearers().filter(|(_, bearer)| bearer.class == class) {
            let key = key_of(&self.contexts, bearer.name, mobile.imsi());
            let why = Block::FlowControl;
            let change = if on { RuleChange::Block(key, why) } else { RuleChange::Unblock(key, why) };
            self.out.push(Output::Classify(change));
        }
    }

    /// The same of a cell.
    fn cell_full(&mut self, cell: u32, class: CellClass, full: bool) {
        let Some(flows) = &mut self.flows else { return };
        let cell = flows.cell_of(Some(cell), class);
        if full {
            flows.queues.block_cell(cell);
        } else {
            flows.queues.unblock_cell(cell);
        }
    }

    // ---------------------------------------------------------------------------------------------- what is held

    /// True where one more N-PDU may be held for a mobile of which so many are.
    pub(super) fn may_hold(&mut self, cx: &mut Context<'_>, held: u32) -> bool {
        if held >= self.config.held_per_mobile_max {
            return false;
        }
        if self.is_held_full() {
            self.expire_held(cx);
        }
        !self.is_held_full()
    }

    fn is_held_full(&self) -> bool {
        self.flows.as_ref().is_some_and(|flows| flows.held >= self.config.held_max)
    }

    /// Something is held for a mobile: when that is too old, it is looked for.
    pub(super) fn note_held(&mut self, cx: &mut Context<'_>, slot: Slot) {
        let due = cx.now + self.config.held_lifetime;
        let Some(flows) = &mut self.flows else { return };
        if flows.mark(slot) & NOTED == 0 && flows.expiries.len() < flows.expiries.capacity() {
            flows.set_mark(slot, NOTED, true);
            if flows.expiries.is_empty() {
                cx.timers.wake(Owner::Held.of_node(), due);
            }
            flows.expiries.push_back((due, slot));
        }
    }

    /// Drops what is too old of the mobiles that are due, and asks to be woken for the next.
    pub(in crate::sgsn) fn expire_held(&mut self, cx: &mut Context<'_>) {
        while let Some(slot) = self.flows.as_mut().and_then(|flows| flows.due(cx.now)) {
            if self.mobiles.get(slot).is_none() {
                continue;
            }
            if let Some(flows) = &mut self.flows {
                flows.set_mark(slot, NOTED, false);
            }
            // What came a whole lifetime ago is too old, to the nanosecond.
            let before = Instant((cx.now.0 + 1).saturating_sub(self.config.held_lifetime.0));
            if self.drop_queued(cx, slot, before, Drop::HeldTooLong) > 0 {
                self.note_held(cx, slot);
            }
        }
        if let Some(flows) = &self.flows
            && let Some((due, _)) = flows.expiries.front()
        {
            cx.timers.wake(Owner::Held.of_node(), *due);
        }
    }

    /// Drops what waits for a mobile that cannot be reached since before an instant. Gives how many are left.
    pub(in crate::sgsn) fn drop_queued(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        before: Instant,
        why: Drop,
    ) -> u32 {
        let (Some(flows), Some(mobile)) = (&mut self.flows, self.mobiles.get(slot)) else { return 0 };
        if flows.mark(slot) & UNREACHABLE == 0 {
            return 0;
        }
        let (whose, mut left) = (mobile.imsi(), 0);
        for (_, bearer) in mobile.bearers() {
            let (flow, mut gone) = (flow_of(bearer.name), 0);
            let crossed_low = flows.queues.expire(flow, before, |_, _| {
                gone += 1;
                cx.drop_of(why, whose);
            });
            flows.held -= gone;
            left += flows.queues.backlog(flow).pdus;
            if crossed_low {
                let key = key_of(&self.contexts, bearer.name, whose);
                let change = RuleChange::Unblock(key, Block::QueueFull);
                self.out.push(Output::Classify(change));
            }
        }
        left
    }
}

impl Flows {
    /// Brings the flow of a bearer in line with its mobile's marks, with the window of acknowledged mode, and with what goes ahead.
    fn set_blocked(&mut self, slot: Slot, bearer: &Bearer, is_full: bool, has_way: bool) {
        let flow = flow_of(bearer.name);
        let full = if has_way { 0 } else { full_mark(bearer.class) };
        if is_full || self.mark(slot) & (UNREACHABLE | full) != 0 {
            self.queues.block(flow);
        } else {
            self.queues.unblock(flow);
        }
    }

    /// Does the driver drop what comes for this class of a mobile, as flow control takes no more?
    pub(super) fn is_dropped(&self, slot: Slot, class: CellClass) -> bool {
        self.mark(slot) & dropped_mark(class) != 0
    }

    /// The next mobile of which something may be too old.
    fn due(&mut self, now: Instant) -> Option<Slot> {
        self.expiries.front().filter(|(due, _)| *due <= now)?;
        self.expiries.pop_front().map(|(_, slot)| slot)
    }
}
