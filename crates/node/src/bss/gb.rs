//! What comes from the SGSN and what goes there, below the level of single messages.

use super::flow::Told;
use super::radio::{Claim, Indication, LossCause, Pending, Urgency, Way};
use super::{Bss, Event, UM};
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::{Context, Output, Peer};
use gannet_proto::about::About as _;
use gannet_proto::bssgp::bvc::BvcOutput;
use gannet_proto::ns::{NsOutput, NsStatus};
use gannet_proto::um::{UmHeader, UmKind};
use gannet_wire::bssgp::ie::RadioCause;
use gannet_wire::bssgp::signalling::{LlcDiscarded, MobileRef};
use gannet_wire::bssgp::{DlUnitdata, Message, PduType};
use gannet_wire::id::{Bvci, Nsei, Tlli};
use gannet_wire::l3::Element as _;
use gannet_wire::l3::ie::DrxParameter;

impl Bss {
    pub(super) fn ns_output(&mut self, cx: &mut Context<'_>, output: NsOutput) {
        match output {
            NsOutput::Transmit { port, peer, frame } => {
                self.outputs.push(Output::Transmit { port, peer: Peer::Udp(peer), frame });
            }
            NsOutput::Unitdata { nsei, bvci, frame } => self.bssgp_pdu(cx, nsei, bvci, frame),
            NsOutput::Status { nsei, status } => match status {
                NsStatus::NseAvailable => self.bvcs.nse_up(cx, nsei, &mut self.bvc_outputs),
                NsStatus::NseUnavailable => self.bvcs.nse_down(nsei, &mut self.bvc_outputs),
                NsStatus::TransferCapacity { .. } | NsStatus::VcReset(_) => {}
            },
        }
    }

    pub(super) fn bvc_output(&mut self, cx: &mut Context<'_>, output: BvcOutput) {
        match output {
            BvcOutput::Send { nsei, bvci, message } => self.send(cx, nsei, bvci, &message),
            BvcOutput::Reset { bvc } => {
                self.flush_cell(cx, bvc);
                self.outputs.push(Output::Event(Event::CellUp(bvc)));
                self.send_flow_control(cx, bvc);
                self.arm_cell(cx, bvc);
            }
            BvcOutput::Unblocked { bvc } => {
                self.outputs.push(Output::Event(Event::CellUp(bvc)));
                self.send_flow_control(cx, bvc);
                self.arm_cell(cx, bvc);
            }
            BvcOutput::Blocked { bvc, .. } => self.outputs.push(Output::Event(Event::CellDown(bvc))),
            BvcOutput::Down { bvc } => {
                self.flush_cell(cx, bvc);
                self.outputs.push(Output::Event(Event::CellDown(bvc)));
            }
            BvcOutput::Unanswered { .. } => {}
        }
    }

    /// The cell begins anew: what was queued in either direction belongs to its former life.
    fn flush_cell(&mut self, cx: &mut Context<'_>, cell: u32) {
        let now = cx.now;
        for way in [Way::Downlink, Way::Uplink] {
            self.radio.take_waiting(now, cell, way, None, &mut |_| cx.drop(Drop::BssFlushed, None));
        }
        let away: Vec<u32> = self.away.mobiles_of(cell).collect();
        for mobile in away {
            self.away.take(mobile, cell).into_iter().for_each(|_| cx.drop(Drop::BssFlushed, None));
        }
        if let Some(state) = self.cells.get_mut(cell as usize) {
            state.told = Told::default();
            state.shared.begin_anew();
        }
        self.arm_cell(cx, cell);
    }

    /// NS-UNITDATA.request with a message.
    pub(super) fn send(&mut self, cx: &mut Context<'_>, nsei: Nsei, bvci: Bvci, message: &Message) {
        let Some(frame) = cx.frames.copy_of(&message.to_vec()) else {
            cx.drop(Drop::NoFrame, None);
            return;
        };
        self.ns.unitdata_request(cx, nsei, bvci, 0, frame, &mut self.ns_outputs);
    }

    /// A message on the cell's own BVC.
    pub(super) fn send_ptp(&mut self, cx: &mut Context<'_>, cell: u32, message: &Message) {
        if let Some(config) = self.cells.get(cell as usize).map(|cell| cell.config) {
            self.send(cx, config.nsei, config.bvci, message);
        }
    }

    fn bssgp_pdu(&mut self, cx: &mut Context<'_>, nsei: Nsei, bvci: Bvci, frame: Frame) {
        let kind = PduType::of(&frame);
        if bvci == Bvci::SIGNALLING {
            return self.message(cx, nsei, None, &frame);
        }
        let Some(cell) = self.bvcs.accept(cx, nsei, bvci, &frame, &mut self.bvc_outputs) else { return };
        if kind == Some(PduType::DlUnitdata) {
            self.dl_unitdata(cx, nsei, cell, frame);
        } else {
            self.message(cx, nsei, Some(cell), &frame);
        }
    }

    fn message(&mut self, cx: &mut Context<'_>, nsei: Nsei, cell: Option<u32>, frame: &Frame) {
        match Message::parse(frame) {
            Ok(message) => {
                if !self.bvcs.receive(cx, nsei, &message, &mut self.bvc_outputs) {
                    self.signalling(cx, nsei, cell, &message);
                }
            }
            Err(error) => self.bvcs.malformed(cx, nsei, &error, frame, &mut self.bvc_outputs),
        }
    }

    /// DL-UNITDATA (08.18 clause 6.1): into the queue of the cell's radio.
    fn dl_unitdata(&mut self, cx: &mut Context<'_>, nsei: Nsei, cell: u32, mut frame: Frame) {
        let (header, llc) = match DlUnitdata::parse(&frame) {
            Ok((header, llc)) => {
                let known = self.known(cell, &header);
                if let (Some(mobile), Some(octets)) = (known, header.ms_ra_capability) {
                    self.mobiles.set_ra_capability(mobile, octets);
                }
                (header.detached(), llc)
            }
            Err(error) => return self.bvcs.malformed(cx, nsei, &error, &frame, &mut self.bvc_outputs),
        };
        if !frame.narrow(llc.start, llc.end) {
            return;
        }
        let Some(mobile) = self.known(cell, &header) else {
            cx.drop_of(Drop::BssUnknownMobile, header.imsi);
            return self.contact_lost(cx, cell, header.tlli, frame.len() as u64);
        };
        let is_here = self.is_on_air(mobile, cell);
        if is_here && header.old_tlli.is_some() {
            self.mobiles.heard(mobile, cell, header.tlli);
        }
        let expires = header.lifetime.nanos().map_or(Instant(u64::MAX), |span| cx.now + Duration(span));
        let urgency = Urgency::of(&header, self.config.real_time_lifetime);
        let pdu = Pending { mobile, tlli: header.tlli, expires, urgency, frame };
        if !is_here {
            return self.wait_for(cx, cell, pdu);
        }
        if let (Some(imsi), Some(drx)) = (header.imsi, header.drx)
            && let Ok(drx) = DrxParameter::parse_value(&drx.to_be_bytes())
        {
            self.radio.learn(cell, mobile, imsi, drx);
        }
        self.open_mobile(cx, cell, mobile);
        if let Err(pdu) = self.radio.request(cx.now, cell, Way::Downlink, pdu, Claim::New) {
            cx.drop_of(Drop::BssOverrun, header.imsi);
            self.discarded(cx, cell, header.tlli, pdu.frame.len() as u64);
        }
        if self.radio.is_immediate() {
            self.downlink_arrived(cx, cell);
        }
        self.watch_flow(cx.now, cell);
        self.arm_cell(cx, cell);
    }

    fn known(&self, cell: u32, header: &DlUnitdata<'_>) -> Option<u32> {
        let find = |tlli| self.mobiles.find(cell, tlli);
        find(header.tlli).or_else(|| header.old_tlli.and_then(find))
    }

    /// Nobody in the cell answers to the TLLI (08.18 clauses 8.3 and 7.4).
    fn contact_lost(&mut self, cx: &mut Context<'_>, cell: u32, tlli: Tlli, octets: u64) {
        self.discarded(cx, cell, tlli, octets);
        let cells = u32::try_from(self.cells.len()).unwrap_or(u32::MAX);
        if (0..cells).all(|other| self.mobiles.find(other, tlli).is_none()) {
            let mobile = MobileRef::Tlli(tlli);
            let cause = RadioCause::ContactLost;
            self.send_ptp(cx, cell, &Message::RadioStatus { mobile, cause });
        }
    }

    /// LLC-DISCARDED (08.18 clause 8.3).
    pub(super) fn discarded(&mut self, cx: &mut Context<'_>, cell: u32, tlli: Tlli, octets: u64) {
        let Some(state) = self.cells.get_mut(cell as usize) else { return };
        state.counters.discarded.add(octets);
        let (nsei, bvci) = (state.config.nsei, state.config.bvci);
        let octets = u32::try_from(octets).unwrap_or(u32::MAX);
        let message = Message::LlcDiscarded(LlcDiscarded { tlli, frames: 1, bvci, octets });
        self.send(cx, nsei, Bvci::SIGNALLING, &message);
    }

    /// LL-PDUs have come to the end of their way over the radio.
    pub(super) fn downlink_arrived(&mut self, cx: &mut Context<'_>, cell: u32) {
        while let Some(indication) = self.radio.indication(cx, cell, Way::Downlink) {
            match indication {
                Indication::Arrived(pdu) => self.deliver(cx, cell, pdu),
                Indication::Lost { pdu, cause } => self.downlink_lost(cx, cell, &pdu, cause),
            }
        }
        while let Some((mobile, page)) = self.radio.pop_paged(cell) {
            self.paged(cx, cell, mobile, page);
        }
        self.look_at_channels(cx, cell);
    }

    fn downlink_lost(&mut self, cx: &mut Context<'_>, cell: u32, pdu: &Pending, cause: LossCause) {
        cx.drop(cause.drop(), None);
        if cause.is_discard() {
            self.discarded(cx, cell, pdu.tlli, pdu.frame.len() as u64);
        }
        if cause == LossCause::Preempted {
            self.close_mobile(cx, cell, pdu.mobile);
        }
    }

    fn deliver(&mut self, cx: &mut Context<'_>, cell: u32, pdu: Pending) {
        let Pending { mobile, tlli, mut frame, .. } = pdu;
        let octets = frame.len() as u64;
        if !self.radio.has_mobiles() {
            if let Some(state) = self.cells.get_mut(cell as usize) {
                state.counters.downlink.add(octets);
            }
            return;
        }
        let header = UmHeader { kind: UmKind::LlPdu, cell: um_cell(cell), tlli, priority: None };
        if !frame.prepend(&header.emit()) {
            cx.drop(Drop::NoFrame, None);
            return;
        }
        if let Some(state) = self.cells.get_mut(cell as usize) {
            state.counters.downlink.add(octets);
        }
        self.outputs.push(Output::Transmit { port: UM, peer: Peer::Slot(mobile), frame });
    }
}

/// The cell's number on Um.
pub(super) fn um_cell(cell: u32) -> u16 {
    u16::try_from(cell).unwrap_or(u16::MAX)
}
