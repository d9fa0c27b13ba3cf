//! BSSGP signalling from a BSS: virtual connections, flow control, suspension, capabilities, flushing.

use super::super::Sgsn;
use super::super::directory::BvcAddress;
use crate::slots::Slot;
use gannet_proto::bssgp::flow_control::{Bucket, BvcParameters};
use gannet_proto::drops::Drop;
use gannet_proto::frame::Frame;
use gannet_proto::gmm::network::GmmEvent;
use gannet_proto::machine::Context;
use gannet_proto::trace::{Category, Level};
use gannet_wire::DecodeError;
use gannet_wire::bssgp::ie::{Cause, FlushAction, RaCapUpdCause};
use gannet_wire::bssgp::signalling::{
    FlowControlBvc, FlowControlMs, FlushLlAck, Message, MobileRef, RaCapabilityUpdateAck, Status,
};
use gannet_wire::bssgp::{PduType, cause};
use gannet_wire::id::{Bvci, CellId, Nsei, Rai, Tlli};

impl Sgsn {
    /// A PDU on the BVC of a cell: user data and what concerns that cell alone.
    pub(super) fn bssgp_ptp(&mut self, cx: &mut Context<'_>, bvc: BvcAddress, frame: Frame) {
        let Some(cell) = self.gb.cells.index_of(bvc) else {
            self.unknown_bvc(cx, bvc, Drop::BvcUnknown, Cause::UnknownBvci);
            return;
        };
        if self.gb.cells.get(cell).is_some_and(|state| state.blocked) {
            self.unknown_bvc(cx, bvc, Drop::BvcBlocked, Cause::BvciBlocked);
            return;
        }
        if PduType::of(&frame) == Some(PduType::UlUnitdata) {
            self.stats.ll_pdu_uplink += 1;
            self.ul_unitdata(cx, bvc, frame);
            return;
        }
        match Message::parse(&frame) {
            Ok(message) => self.ptp_message(cx, bvc, cell, message),
            Err(error) => self.bssgp_malformed(cx, bvc, &frame, &error),
        }
    }

    fn ptp_message(&mut self, cx: &mut Context<'_>, bvc: BvcAddress, cell: u32, message: Message) {
        match message {
            Message::FlowControlBvc(flow) => self.flow_control_bvc(cx, bvc, cell, &flow),
            Message::FlowControlMs(flow) => self.flow_control_ms(cx, bvc, cell, &flow),
            Message::RaCapabilityUpdate { tlli, tag } => self.ra_capability_update(cx, bvc, tlli, tag),
            Message::RadioStatus { mobile, cause } => {
                cx.log(Category::Bssgp, Level::Info, format_args!("RADIO-STATUS {mobile:?}: {cause:?}"));
                if let MobileRef::Tlli(tlli) = mobile
                    && let Some(slot) = self.directory.by_tlli(bvc, tlli)
                {
                    cx.drop(Drop::SgsnRadioStatus, self.imsi_of(slot));
                }
            }
            Message::Status(status) => self.bssgp_status(cx, bvc, &status),
            other => self.bssgp_unexpected(cx, bvc, &other),
        }
    }

    /// A PDU on the signalling BVC.
    pub(super) fn bssgp_signalling(&mut self, cx: &mut Context<'_>, bvc: BvcAddress, octets: &[u8]) {
        match Message::parse(octets) {
            Ok(message) => self.signalling_message(cx, bvc, message),
            Err(error) => self.bssgp_malformed(cx, bvc, octets, &error),
        }
    }

    fn signalling_message(&mut self, cx: &mut Context<'_>, bvc: BvcAddress, message: Message) {
        let nsei = bvc.nsei;
        match message {
            Message::BvcReset { bvci, cause, cell, features: _ } => self.bvc_reset(cx, nsei, bvci, cause, cell),
            Message::BvcBlock { bvci, cause } => {
                cx.log(Category::Bssgp, Level::Notice, format_args!("BVC {nsei}/{bvci} blocked: {cause:?}"));
                self.set_blocked(cx, BvcAddress { nsei, bvci }, true, &Message::BvcBlockAck { bvci });
            }
            Message::BvcUnblock { bvci } => {
                self.set_blocked(cx, BvcAddress { nsei, bvci }, false, &Message::BvcUnblockAck { bvci });
            }
            Message::Suspend { tlli, rai } => self.suspend(cx, bvc, tlli, rai),
            Message::Resume { tlli, rai, reference: _ } => self.resume(cx, bvc, tlli, rai),
            Message::FlushLlAck(ack) => self.flush_ll_ack(cx, nsei, &ack),
            Message::LlcDiscarded(discarded) => {
                let cell = BvcAddress { nsei, bvci: discarded.bvci };
                let slot = self.directory.by_tlli(cell, discarded.tlli);
                for _ in 0..discarded.frames {
                    cx.drop(Drop::SgsnDiscardedByBss, slot.and_then(|slot| self.imsi_of(slot)));
                }
                if let Some(index) = self.gb.cells.index_of(cell) {
                    let octets = u64::from(discarded.octets);
                    self.gb.flow.take_out(cx, index, slot.map(|slot| slot.index), octets);
                }
            }
            // The answer to a reset, block or unblock of ours.
            Message::BvcResetAck { .. } | Message::BvcBlockAck { .. } | Message::BvcUnblockAck { .. } => {}
            Message::Status(status) => self.bssgp_status(cx, bvc, &status),
            other => self.bssgp_unexpected(cx, bvc, &other),
        }
    }

    // ------------------------------------------------------------------------------------------------- BVCs

    /// BVC-RESET (08.18 clause 8.4): of a cell, or of the whole NSE. What was queued is gone, other cells go on.
    fn bvc_reset(&mut self, cx: &mut Context<'_>, nsei: Nsei, bvci: Bvci, cause: Cause, cell: Option<CellId>) {
        cx.log(Category::Bssgp, Level::Notice, format_args!("BVC {nsei}/{bvci} reset: {cause:?}"));
        if bvci == Bvci::SIGNALLING {
            for index in self.gb.cells.remove_nse(nsei) {
                self.gb.flow.reset_cell(cx, index);
            }
        } else {
            let bvc = BvcAddress { nsei, bvci };
            // Clause 8.4: the cell identifier is there when a BSS resets the BVC of a cell.
            let known = self.gb.cells.index_of(bvc).and_then(|index| self.gb.cells.get(index)).map(|c| c.id);
            let Some(id) = cell.or(known) else {
                let status = Status { cause: Cause::MissingConditionalIe, bvci: Some(bvci), pdu: None };
                cx.drop(Drop::BssgpMalformed, None);
                self.send_bssgp(cx, BvcAddress { nsei, bvci: Bvci::SIGNALLING }, &Message::Status(status));
                return;
            };
            let Some(index) = self.gb.cells.introduce(bvc, id) else {
                cx.drop(Drop::SgsnCellTableFull, None);
                cx.log(Category::Bssgp, Level::Error, format_args!("the table of cells is full"));
                return;
            };
            self.gb.flow.reset_cell(cx, index);
        }
        let ack = Message::BvcResetAck { bvci, cell: None, features: None };
        self.send_bssgp(cx, BvcAddress { nsei, bvci: Bvci::SIGNALLING }, &ack);
    }

    /// BVC-BLOCK and BVC-UNBLOCK (08.18 clause 8.3): answered also when the BVC is in that state already.
    fn set_blocked(&mut self, cx: &mut Context<'_>, bvc: BvcAddress, blocked: bool, ack: &Message) {
        let Some(index) = self.gb.cells.index_of(bvc) else {
            self.unknown_bvc(cx, bvc, Drop::BvcUnknown, Cause::UnknownBvci);
            return;
        };
        if let Some(state) = self.gb.cells.get_mut(index) {
            state.blocked = blocked;
        }
        self.gb.flow.set_open(cx, index, !blocked);
        self.send_bssgp(cx, BvcAddress { nsei: bvc.nsei, bvci: Bvci::SIGNALLING }, ack);
    }

    fn unknown_bvc(&mut self, cx: &mut Context<'_>, bvc: BvcAddress, drop: Drop, cause: Cause) {
        cx.drop(drop, None);
        let status = Status { cause, bvci: Some(bvc.bvci), pdu: None };
        self.send_bssgp(cx, BvcAddress { nsei: bvc.nsei, bvci: Bvci::SIGNALLING }, &Message::Status(status));
    }

    // ------------------------------------------------------------------------------------------ flow control

    fn flow_control_bvc(&mut self, cx: &mut Context<'_>, bvc: BvcAddress, cell: u32, flow: &FlowControlBvc) {
        let parameters = BvcParameters {
            bvc: Bucket { bmax_octets: flow.bmax_octets(), rate_bit_per_s: flow.leak_bits_per_s() },
            default_ms: Bucket {
                bmax_octets: flow.bmax_default_ms_octets(),
                rate_bit_per_s: flow.leak_default_ms_bits_per_s(),
            },
        };
        self.gb.flow.set_bvc(cx, cell, parameters, flow.bucket_full_ratio);
        self.send_bssgp(cx, bvc, &Message::FlowControlBvcAck { tag: flow.tag });
    }

    fn flow_control_ms(&mut self, cx: &mut Context<'_>, bvc: BvcAddress, cell: u32, flow: &FlowControlMs) {
        let Some(slot) = self.directory.by_tlli(bvc, flow.tlli) else {
            cx.drop(Drop::SgsnUnknownTlli, None);
            return;
        };
        let bucket = Bucket { bmax_octets: flow.bmax_octets(), rate_bit_per_s: flow.leak_bits_per_s() };
        if self.gb.flow.set_ms(cx, cell, slot.index, bucket, flow.bucket_full_ratio) {
            self.send_bssgp(cx, bvc, &Message::FlowControlMsAck { tlli: flow.tlli, tag: flow.tag });
        }
    }

    /// FLUSH-LL-ACK: what the BSS has deleted or moved is out of the old cell's bucket (08.18 clause 8.1).
    fn flush_ll_ack(&mut self, cx: &mut Context<'_>, nsei: Nsei, ack: &FlushLlAck) {
        let Some(slot) = self.slot_of_local(ack.tlli) else { return };
        let octets = u64::from(ack.octets);
        if ack.action == FlushAction::Transferred
            && let Some(bvci) = ack.new_bvci
            && let Some(cell) = self.gb.cells.index_of(BvcAddress { nsei, bvci })
        {
            self.gb.flow.put_in(cx, cell, slot.index, octets);
        }
    }

    // ------------------------------------------------------------------------------------------------ mobiles

    /// SUSPEND (08.18 clause 7.4): nothing is sent to the mobile until it resumes or updates its routing area.
    fn suspend(&mut self, cx: &mut Context<'_>, bvc: BvcAddress, tlli: Tlli, rai: Rai) {
        let answer = match self.slot_of_local(tlli) {
            Some(slot) => {
                self.gmm(cx, slot, GmmEvent::Suspend);
                Message::SuspendAck { tlli, rai, reference: slot.index.to_be_bytes()[3] }
            }
            None => Message::SuspendNack { tlli, rai, cause: Some(Cause::UnknownMs) },
        };
        self.send_bssgp(cx, bvc, &answer);
    }

    fn resume(&mut self, cx: &mut Context<'_>, bvc: BvcAddress, tlli: Tlli, rai: Rai) {
        let answer = match self.slot_of_local(tlli) {
            Some(slot) => {
                self.gmm(cx, slot, GmmEvent::Resume);
                self.release_held(cx, slot);
                Message::ResumeAck { tlli, rai }
            }
            None => Message::ResumeNack { tlli, rai, cause: Some(Cause::UnknownMs) },
        };
        self.send_bssgp(cx, bvc, &answer);
    }

    /// A mobile by a TLLI that comes without its cell: only a local one names it.
    fn slot_of_local(&self, tlli: Tlli) -> Option<Slot> {
        self.directory.by_tlli(BvcAddress::default(), tlli)
    }

    fn ra_capability_update(&mut self, cx: &mut Context<'_>, bvc: BvcAddress, tlli: Tlli, tag: u8) {
        let slot = self.directory.by_tlli(bvc, tlli);
        let capability = slot.and_then(|slot| self.radio_capability.get(&slot)).map(|c| c.0.clone());
        let imsi = slot.and_then(|slot| self.imsi_of(slot));
        let cause = match (slot, &capability) {
            (Some(_), Some(_)) => RaCapUpdCause::Ok,
            (Some(_), None) => RaCapUpdCause::NoCapability,
            (None, _) => RaCapUpdCause::TlliUnknown,
        };
        let ack = RaCapabilityUpdateAck { tlli, tag, imsi, cause, ms_ra_capability: capability };
        self.send_bssgp(cx, bvc, &Message::RaCapabilityUpdateAck(ack));
    }

    // ------------------------------------------------------------------------------------------------- errors

    /// What cannot be read is answered with STATUS and its octets, never a STATUS itself (08.18 clause 7.8, 08.16
    /// clause 8).
    pub(in super::super) fn bssgp_malformed(
        &mut self,
        cx: &mut Context<'_>,
        bvc: BvcAddress,
        octets: &[u8],
        error: &DecodeError,
    ) {
        cx.drop(Drop::BssgpMalformed, None);
        cx.log(Category::Bssgp, Level::Info, format_args!("from {}/{}: {error}", bvc.nsei, bvc.bvci));
        if PduType::of(octets) != Some(PduType::Status) {
            let about = (bvc.bvci != Bvci::SIGNALLING).then_some(bvc.bvci);
            let status = Status::about_pdu(cause(error), about, octets);
            self.send_bssgp(cx, BvcAddress { nsei: bvc.nsei, bvci: Bvci::SIGNALLING }, &Message::Status(status));
        }
    }

    fn bssgp_unexpected(&mut self, cx: &mut Context<'_>, bvc: BvcAddress, message: &Message) {
        cx.drop(Drop::SgsnBssgpUnexpected, None);
        let status =
            Status::about_pdu(Cause::PduNotCompatible, None, &message.to_vec());
        self.send_bssgp(cx, BvcAddress { nsei: bvc.nsei, bvci: Bvci::SIGNALLING }, &Message::Status(status));
    }

    /// STATUS: the BSS does not know what we know of it.
    fn bssgp_status(&mut self, cx: &mut Context<'_>, bvc: BvcAddress, status: &Status) {
        cx.drop(Drop::SgsnBssgpStatus, None);
        cx.log(
            Category::Bssgp,
            Level::Notice,
            format_args!("STATUS from NSE {}: {:?} {:?}", bvc.nsei, status.cause, status.bvci),
        );
    }
}
