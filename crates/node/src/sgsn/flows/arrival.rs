//! An N-PDU goes into the queue of its context.

use super::blocking::UNREACHABLE;
use super::{CELLS_OF_A_CELL, flow_of};
use crate::sgsn::contexts::{ContextRef, Contexts};
use crate::sgsn::directory::Directory;
use crate::sgsn::owner::Owner;
use crate::sgsn::{GTP_U, Sgsn, SgsnCommand, is_gb};
use crate::slots::Slot;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::prefetch::Prefetch;
use gannet_machine::time::Duration;
use gannet_machine::timers::TimerName as _;
use gannet_machine::{Batch, Context, Input};
use gannet_proto::about::About as _;
use gannet_proto::classifier::{Block, RuleChange};
use gannet_proto::gmm::network::GmmEvent;
use gannet_proto::gtp::ContextName;
use gannet_qos::class::Class;
use gannet_qos::flow_queues::Dropped;
use gannet_wire::bssgp::unitdata::UlUnitdata;
use gannet_wire::id::{Tlli, TlliKind};
use gannet_wire::{gtp, ns};

/// How long an arrival of real time is remembered.
const HURRY: Duration = Duration::from_millis(100);

/// How far ahead what arrives is looked at, in two steps, and in a third where it does not wait in queues.
const FAR: usize = 12;
const NEAR: usize = 6;
const NEXT: usize = 3;

/// An acknowledgement without a long bitmap has no more octets, with NS and BSSGP around it.
const SHORT: usize = 64;

/// For how many of the inputs each step was done.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::sgsn) struct Expected {
    far: usize,
    near: usize,
    next: usize,
}

/// The place of the context for which something arrives, as far as its first octets say.
fn place_of(contexts: &Contexts, input: &Input<SgsnCommand>) -> Option<u32> {
    let name = match input {
        Input::Classified { port: GTP_U, name, .. } => ContextName(*name),
        Input::Datagram { port: GTP_U, frame, .. } => contexts.name(gtp::Header::glance(frame)?),
        _ => return None,
    };
    Some(name.place())
}

/// The TLLI from which an acknowledgement, or anything as short, comes, as far as its first octets say. What is longer mostly waits.
fn tlli_of(input: &Input<SgsnCommand>) -> Option<Tlli> {
    let Input::Datagram { port, frame, .. } = input else { return None };
    let is_meant = frame.len() <= SHORT && ns::Unitdata::is(frame);
    UlUnitdata::glance(frame.get(ns::UNITDATA_HEADER_LEN..)?)
        .filter(|tlli| is_gb(*port) && is_meant && tlli.kind() == TlliKind::Local)
}

impl Sgsn {
    /// A T-PDU whose TEID a driver has read. Who sent it is not known, so an unknown TEID has no answer.
    pub(in crate::sgsn) fn classified(&mut self, cx: &mut Context<'_>, name: ContextName, frame: Frame) {
        if self.enqueue_n_pdu(cx, name, frame).is_err() {
            cx.drop(Drop::GtpUnknownTeid, None);
        }
    }

    /// Asks for what will be needed of the contexts for which something arrives next: their rows, and their queues; without
    /// queues, their mobiles. Of the mobiles from which acknowledgements may come, or whose links are woken: themselves and their queues, then
    /// their links and MM's timers, and then what links know of units.
    pub(in crate::sgsn) fn prefetch_arrivals(
        &self,
        prefetch: Prefetch,
        inputs: &Batch<Input<SgsnCommand>>,
        expected: &mut Expected,
    ) {
        let all = inputs.len();
        let places = |from: usize, to: usize| {
            (from..to.min(all)).filter_map(|at| Some((at, place_of(&self.contexts, inputs.get(at)?)?)))
        };
        let mobiles =
            |from: usize, to: usize| (from..to.min(all)).filter_map(|at| self.concerned(inputs.get(at)?));
        for slot in mobiles(expected.far, FAR) {
            self.mobiles.prefetch(slot.index, prefetch);
            if let Some(uplink) = &self.uplink {
                uplink.prefetch(slot, prefetch);
            }
        }
        for mobile in mobiles(expected.near, NEAR).filter_map(|slot| self.mobiles.get(slot)) {
            mobile.prefetch_links(prefetch);
            mobile.gmm.prefetch_heard(prefetch);
        }
        for mobile in mobiles(expected.next, NEXT).filter_map(|slot| self.mobiles.get(slot)) {
            mobile.prefetch_unconfirmed(prefetch);
        }
        for (_, place) in places(expected.far, FAR) {
            self.contexts.prefetch(place, prefetch);
            if let Some(flows) = &self.flows {
                flows.queues.prefetch(place, prefetch);
            }
        }
        for (at, place) in places(expected.near, NEAR) {
            if let Some(flows) = &self.flows {
                flows.queues.prefetch_end(place, at, prefetch);
            } else if let Some((_, context)) = self.contexts.at(place) {
                self.mobiles.prefetch(context.mobile.index, prefetch);
                self.gb.flow.prefetch(context.mobile.index, prefetch);
            }
        }
        if self.flows.is_none() {
            for (_, place) in places(expected.next, NEXT) {
                if let Some((_, context)) = self.contexts.at(place) {
                    self.gb.flow.prefetch_offer(context.mobile.index, prefetch);
                }
            }
        }
        // One of them is taken now.
        let done = |step: usize| step.min(all) - 1;
        *expected = Expected { far: done(FAR), near: done(NEAR), next: done(NEXT) };
    }

    /// The mobile whose link something is for.
    fn concerned(&self, input: &Input<SgsnCommand>) -> Option<Slot> {
        match *input {
            Input::Timeout(key) if Owner::of(key) == Some(Owner::Llc) => {
                Some(Slot { index: key.slot, generation: key.generation })
            }
            _ => self.directory.by_ptmsi(Directory::ptmsi_of(tlli_of(input)?)),
        }
    }

    /// A T-PDU for one of our endpoints.
    ///
    /// # Errors
    /// The T-PDU itself, where no active context has this very TEID.
    pub(in crate::sgsn) fn enqueue_n_pdu(
        &mut self,
        cx: &mut Context<'_>,
        name: ContextName,
        frame: Frame,
    ) -> Result<(), Frame> {
        let Some(ContextRef { mobile: slot, .. }) = self.contexts.find(name) else { return Err(frame) };
        let Some(flows) = &mut self.flows else { return Err(frame) };
        let flow = flow_of(name);
        let Some(view) = flows.queues.view(flow) else { return Err(frame) };
        self.stats.n_pdu_downlink += 1;
        if view.cell >= flows.cells_max * CELLS_OF_A_CELL {
            // Its cell was not known when the mobile was heard there.
            if self.flows_moved(slot) {
                self.claims_moved(cx, slot);
            }
        }
        let Some(flows) = &mut self.flows else { return Ok(()) };
        if view.class == Class::RealTime {
            flows.hurry_until = cx.now + HURRY;
        }
        // The marks are in memory of their own, which those that are served need not touch.
        let unreachable = view.blocked && flows.mark(slot) & UNREACHABLE != 0;
        if unreachable && !self.may_hold(cx, view.queued.pdus) {
            cx.drop_of(Drop::HeldFull, self.imsi_of(slot));
            self.gmm(cx, slot, GmmEvent::DownlinkData);
            return Ok(());
        }
        let Some(flows) = &mut self.flows else { return Ok(()) };
        let octets = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        let mut dropped = core::mem::take(&mut flows.dropped);
        let enqueued = flows.queues.enqueue(cx.now, flow, octets, frame, &mut |gone| dropped.push(gone));
        if enqueued.accepted && unreachable {
            flows.held += 1;
        }
        if enqueued.crossed_high {
            self.classify(RuleChange::Block(self.driver_key(name), Block::QueueFull));
        }
        for gone in &dropped {
            self.gave_way(cx, flow, gone);
        }
        // The frames of what was dropped go back to their pool.
        dropped.clear();
        if let Some(flows) = &mut self.flows {
            flows.dropped = dropped;
        }
        if unreachable {
            self.note_held(cx, slot);
            self.gmm(cx, slot, GmmEvent::DownlinkData);
        }
        if self.gb.flow.config().asks_at_zero {
            self.gb.flow.ask(cx, slot.index);
        }
        Ok(())
    }

    /// Something was dropped so that something else has room, or because it has none itself.
    fn gave_way(&mut self, cx: &mut Context<'_>, arrived: u32, gone: &Dropped<Frame>) {
        let Some((name, context)) = self.context_of_flow(gone.flow) else { return };
        cx.drop_of(gone.reason, self.imsi_of(context.mobile));
        if let Some(flows) = &mut self.flows
            && flows.mark(context.mobile) & UNREACHABLE != 0
            && (gone.flow != arrived || gone.reason == Drop::FlowQueuePushedOut)
        {
            flows.held -= 1;
        }
        if gone.crossed_low {
            self.classify(RuleChange::Unblock(self.driver_key(name), Block::QueueFull));
        }
    }
}
