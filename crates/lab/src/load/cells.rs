//! BSSGP as a BSS speaks it: BVCs, flow control, paging, flushing.

use super::bvc::Bvc;
use super::emulator::{Emulator, Flow, MsFlow, Waiting};
use super::mobile::{Phase, random_tlli, user_of_imsi, user_of_random};
use gannet_machine::Context;
use gannet_machine::frame::Frame;
use gannet_machine::time::Duration;
use gannet_proto::bssgp::flow_control::{Bucket, BvcParameters};
use gannet_wire::bssgp::ie::{Cause, FlushAction};
use gannet_wire::bssgp::signalling::{FlushLlAck, PagingPs, Status};
use gannet_wire::bssgp::{DlUnitdata, Message, PduType};
use gannet_wire::id::{Bvci, Tlli, TlliKind};

/// BVC-RESETs that may be without an answer at the same time.
const RESETS_PENDING_MAX: u32 = 64;
/// C: the least time from one FLOW-CONTROL PDU to the next (08.18 clause 8.2.3.2).
const C: Duration = Duration::from_secs(1);

/// FLOW-CONTROL PDUs in a millisecond, at most: when the rates of thousands of mobiles change at once, an SGSN's socket
/// has no room for all that says so.
const TOLD_PER_MS: u32 = 32;

impl Emulator {
    // ------------------------------------------------------------------------------------------------- BVCs

    pub(super) fn nse_up(&mut self, nse: u16) {
        self.nse_down(nse);
        // A reset from before may have gone with the NS-VC.
        self.set_pending(Bvc::Signalling(nse), false);
        self.resets.push_back(Bvc::Signalling(nse));
    }

    /// Nothing can be sent to its cells.
    pub(super) fn nse_down(&mut self, nse: u16) {
        if let Some(state) = self.nses.get_mut(usize::from(nse)) {
            state.up = false;
        }
        let step = usize::from(self.config.nses);
        for cell in self.cells.iter_mut().skip(usize::from(nse)).step_by(step) {
            self.cells_up -= u32::from(cell.up);
            cell.up = false;
        }
    }

    fn is_up(&self, bvc: Bvc) -> bool {
        match bvc {
            Bvc::Signalling(nse) => self.nses.get(usize::from(nse)).is_some_and(|nse| nse.up),
            Bvc::Ptp(cell) => self.cells.get(cell as usize).is_some_and(|cell| cell.up),
        }
    }

    fn pending(&mut self, bvc: Bvc) -> Option<&mut bool> {
        match bvc {
            Bvc::Signalling(nse) => self.nses.get_mut(usize::from(nse)).map(|nse| &mut nse.pending),
            Bvc::Ptp(cell) => self.cells.get_mut(cell as usize).map(|cell| &mut cell.pending),
        }
    }

    /// A reset is without an answer from now on, or is no longer; true where that is another state than before.
    fn set_pending(&mut self, bvc: Bvc, is_pending: bool) -> bool {
        let Some(pending) = self.pending(bvc) else { return false };
        let has_changed = core::mem::replace(pending, is_pending) != is_pending;
        match (has_changed, is_pending) {
            (true, true) => self.resets_pending += 1,
            (true, false) => self.resets_pending -= 1,
            (false, _) => {}
        }
        has_changed
    }

    pub(super) fn start_resets(&mut self, cx: &mut Context<'_>) {
        while self.resets_pending < RESETS_PENDING_MAX {
            let Some(bvc) = self.resets.pop_front() else { return };
            // An NSE that has come up more than once has its cells in there as often.
            if !self.is_up(bvc) && self.set_pending(bvc, true) {
                self.send_reset(cx, bvc);
            }
        }
    }

    /// BVC-RESET (08.18 clause 8.4).
    fn send_reset(&mut self, cx: &mut Context<'_>, bvc: Bvc) {
        let cause = Cause::OamIntervention;
        let (nse, bvci, cell) = match bvc {
            Bvc::Signalling(nse) => (nse, Bvci::SIGNALLING, None),
            Bvc::Ptp(cell) => {
                let (_, bvci) = self.config.bvc_of(cell);
                (self.config.nse_of(cell), bvci, Some(self.config.cell_id(cell)))
            }
        };
        self.wait(Waiting::Bvc(bvc));
        self.send_bssgp(cx, nse, Bvci::SIGNALLING, &Message::BvcReset { bvci, cause, cell, features: None });
    }

    pub(super) fn bvc_late(&mut self, cx: &mut Context<'_>, bvc: Bvc) {
        let reachable = match bvc {
            Bvc::Signalling(nse) => self.ns.is_available(self.config.nsei(nse)),
            Bvc::Ptp(cell) => self.is_up(Bvc::Signalling(self.config.nse_of(cell))),
        };
        let is_pending = self.pending(bvc).is_some_and(|pending| *pending);
        if is_pending && reachable {
            self.stats.repeated += 1;
            self.send_reset(cx, bvc);
        } else {
            // Answered in time, or given up.
            self.set_pending(bvc, false);
        }
    }

    fn bvc_up(&mut self, cx: &mut Context<'_>, nse: u16, bvci: Bvci) {
        if bvci == Bvci::SIGNALLING {
            let Some(state) = self.nses.get_mut(usize::from(nse)) else { return };
            state.up = true;
            self.set_pending(Bvc::Signalling(nse), false);
            let cells = (u32::from(nse)..self.config.cells).step_by(usize::from(self.config.nses));
            self.resets.extend(cells.map(Bvc::Ptp));
            return;
        }
        let Some(index) = self.config.cell_of(nse, bvci) else { return };
        let Some(cell) = self.cells.get_mut(index as usize) else { return };
        if !core::mem::replace(&mut cell.up, true) {
            self.cells_up += 1;
        }
        self.set_pending(Bvc::Ptp(index), false);
        self.tell_cell_flow(cx, index);
    }

    // ------------------------------------------------------------------------------------------ flow control

    /// A cell's buckets from now on: told at once, or C after the last time.
    pub fn set_cell_flow(&mut self, cx: &mut Context<'_>, cell: u32, flow: BvcParameters) {
        self.now_ms = super::emulator::millis(cx.now);
        let c = u32::try_from(C.as_millis()).unwrap_or(0);
        let Some(state) = self.cells.get_mut(cell as usize) else { return };
        state.flow = flow;
        let earliest = state.told_ms.map_or(0, |told| told.saturating_add(c));
        state.due_ms = earliest.max(self.now_ms);
        let due = state.due_ms;
        self.flow_due(cx, due, Flow::Cell(cell));
        self.settle(cx);
    }

    /// A mobile's own bucket: told at once and refreshed from then on (08.18 clause 8.2.3.6).
    pub fn set_ms_flow(&mut self, cx: &mut Context<'_>, user: u32, bucket: Bucket) {
        self.now_ms = super::emulator::millis(cx.now);
        let due_ms = self.now_ms;
        let tag = self.ms_flow.get(&user).map_or(0, |flow| flow.tag);
        self.ms_flow.insert(user, MsFlow { bucket, tag, due_ms });
        self.flow_due(cx, due_ms, Flow::Ms(user));
        self.settle(cx);
    }

    /// A mobile has no bucket of its own any more: the SGSN forgets it when Th is over.
    pub fn clear_ms_flow(&mut self, user: u32) {
        self.ms_flow.remove(&user);
    }

    /// Puts a deadline into the queue that is earlier than those behind it.
    fn sooner(&mut self, due: u32, flow: Flow) {
        let place = self.flows.partition_point(|(other, _)| *other <= due);
        self.flows.insert(place, (due, flow));
    }

    fn tell_cell_flow(&mut self, cx: &mut Context<'_>, index: u32) {
        let due = self.later(self.config.flow_interval.max(C));
        let now = self.now_ms;
        let Some(cell) = self.cells.get_mut(index as usize).filter(|cell| cell.up) else { return };
        (cell.due_ms, cell.told_ms, cell.tag) = (due, Some(now), cell.tag.wrapping_add(1));
        let message = Message::FlowControlBvc(cell.flow.to_message(cell.tag));
        self.flows.push_back((due, Flow::Cell(index)));
        self.stats.flow_control_sent += 1;
        self.send_ptp(cx, index, &message);
    }

    fn tell_ms_flow(&mut self, cx: &mut Context<'_>, user: u32) {
        let due = self.later(self.config.flow_interval.max(C));
        let Some(mobile) = self.mobiles.get(user as usize) else { return };
        let attached = !matches!(mobile.phase, Phase::Detached | Phase::Attaching);
        let (tlli, cell) = (Tlli(mobile.tlli), mobile.cell);
        let Some(flow) = self.ms_flow.get_mut(&user) else { return };
        (flow.due_ms, flow.tag) = (due, flow.tag.wrapping_add(1));
        let message = Message::FlowControlMs(flow.bucket.to_message(tlli, flow.tag));
        self.flows.push_back((due, Flow::Ms(user)));
        if attached {
            self.stats.flow_control_sent += 1;
            self.send_ptp(cx, cell, &message);
        }
    }

    /// May another FLOW-CONTROL PDU go in this millisecond?
    pub(super) const fn has_room_to_tell(&mut self) -> bool {
        if self.told.0 != self.now_ms {
            self.told = (self.now_ms, 0);
        }
        self.told.1 < TOLD_PER_MS
    }

    /// A bucket is to be told: now, or when its time has come and there is room for it.
    pub(super) fn flow_due(&mut self, cx: &mut Context<'_>, due: u32, flow: Flow) {
        let valid = match flow {
            Flow::Cell(cell) => self.cells.get(cell as usize).map(|cell| cell.due_ms),
            Flow::Ms(user) => self.ms_flow.get(&user).map(|flow| flow.due_ms),
        };
        // Otherwise it was told since then.
        if valid != Some(due) {
            return;
        }
        if due > self.now_ms || !self.has_room_to_tell() {
            return self.sooner(due, flow);
        }
        self.told.1 += 1;
        match flow {
            Flow::Cell(cell) => self.tell_cell_flow(cx, cell),
            Flow::Ms(user) => self.tell_ms_flow(cx, user),
        }
    }

    // ---------------------------------------------------------------------------------------------- messages

    pub(super) fn send_bssgp(&mut self, cx: &mut Context<'_>, nse: u16, bvci: Bvci, message: &Message) {
        match cx.frames.copy_of(&message.to_vec()) {
            Some(frame) => self.send_ns(cx, nse, bvci, frame),
            None => self.stats.no_frame += 1,
        }
    }

    /// A message on the BVC of a cell.
    pub(super) fn send_ptp(&mut self, cx: &mut Context<'_>, cell: u32, message: &Message) {
        let (_, bvci) = self.config.bvc_of(cell);
        self.send_bssgp(cx, self.config.nse_of(cell), bvci, message);
    }

    pub(super) fn bssgp_pdu(&mut self, cx: &mut Context<'_>, nse: u16, bvci: Bvci, frame: Frame) {
        if PduType::of(&frame) == Some(PduType::DlUnitdata) {
            return self.dl_unitdata(cx, nse, bvci, frame);
        }
        match Message::parse(&frame) {
            Ok(message) => self.message(cx, nse, &message),
            Err(_) => self.stats.malformed += 1,
        }
    }

    fn dl_unitdata(&mut self, cx: &mut Context<'_>, nse: u16, bvci: Bvci, mut frame: Frame) {
        let Ok((tlli, llc)) = DlUnitdata::parse(&frame).map(|(header, llc)| (header.tlli, llc)) else {
            self.stats.malformed += 1;
            return;
        };
        let Some(user) = self.find(tlli) else {
            self.stats.unknown_tlli += 1;
            return;
        };
        let here = self.mobiles.get(user as usize).map(|mobile| mobile.cell);
        if here != self.config.cell_of(nse, bvci) {
            self.stats.wrong_cell += 1;
            return;
        }
        if frame.narrow(llc.start, llc.end) {
            self.ll_pdu(cx, user, frame);
        }
    }

    /// The user who answers to a TLLI. The random one of an attach stays valid beside the local one that it led to: an
    /// SGSN goes over when it has heard the mobile use that.
    pub(super) fn find(&self, tlli: Tlli) -> Option<u32> {
        match tlli.kind() {
            TlliKind::Random => {
                let user = user_of_random(tlli);
                let mobile = self.mobiles.get(user as usize)?;
                (mobile.attaches > 0 && random_tlli(user, mobile.attaches) == tlli).then_some(user)
            }
            _ => self.by_tlli.get(&tlli.0).copied(),
        }
    }

    fn message(&mut self, cx: &mut Context<'_>, nse: u16, message: &Message) {
        let signalling = Bvci::SIGNALLING;
        match message {
            Message::BvcResetAck { bvci, .. } => self.bvc_up(cx, nse, *bvci),
            Message::BvcReset { bvci, .. } => {
                let cell = self.config.cell_of(nse, *bvci).map(|cell| self.config.cell_id(cell));
                let ack = Message::BvcResetAck { bvci: *bvci, cell, features: None };
                self.send_bssgp(cx, nse, signalling, &ack);
                if *bvci != signalling {
                    self.bvc_up(cx, nse, *bvci);
                }
            }
            Message::BvcBlock { bvci, .. } => {
                self.send_bssgp(cx, nse, signalling, &Message::BvcBlockAck { bvci: *bvci });
            }
            Message::BvcUnblock { bvci } => {
                self.send_bssgp(cx, nse, signalling, &Message::BvcUnblockAck { bvci: *bvci });
            }
            Message::FlowControlBvcAck { .. } | Message::FlowControlMsAck { .. } => {
                self.stats.flow_control_acknowledged += 1;
            }
            Message::FlushLl { tlli, .. } => {
                // Nothing is queued here: what has arrived is with the mobile.
                self.stats.flushed += 1;
                let action = FlushAction::Deleted;
                let ack = FlushLlAck { tlli: *tlli, action, new_bvci: None, octets: 0, new_nsei: None };
                self.send_bssgp(cx, nse, signalling, &Message::FlushLlAck(ack));
            }
            Message::PagingPs(paging) => self.paged(cx, paging),
            Message::Status(status) => self.bssgp_status(nse, status),
            _ => {}
        }
    }

    /// PAGING-PS: the mobile answers with an LL-PDU (04.08 clause 4.7.9.1.1 [24.008]).
    fn paged(&mut self, cx: &mut Context<'_>, paging: &PagingPs) {
        let Some(user) = user_of_imsi(&paging.imsi).filter(|user| *user < self.config.users) else { return };
        self.stats.paged += 1;
        self.be_heard(cx, user);
    }

    /// The SGSN does not know a cell any more: it gets to know it again.
    fn bssgp_status(&mut self, nse: u16, status: &Status) {
        self.stats.status += 1;
        let (Cause::BvciUnknown, Some(bvci)) = (status.cause, status.bvci) else { return };
        let Some(index) = self.config.cell_of(nse, bvci) else { return };
        if let Some(cell) = self.cells.get_mut(index as usize).filter(|cell| cell.up) {
            cell.up = false;
            self.cells_up -= 1;
            self.resets.push_back(Bvc::Ptp(index));
        }
    }
}
