//! BSSGP signalling from a BSS: virtual connections, flow control, suspension, capabilities, flushing.

use super::super::Sgsn;
use super::super::directory::BvcAddress;
use crate::slots::Slot;
use gannet_proto::bssgp::flow_control::{Bucket, BvcParameters};
use gannet_proto::drops::Drop;
use gannet_proto::frame::Frame;
use gannet_proto::gmm::network::{GmmEvent, GmmState};
use gannet_proto::machine::{Batch, Context};
use gannet_wire::DecodeError;
use gannet_wire::bssgp::ie::{Cause, RaCapUpdCause};
use gannet_wire::bssgp::signalling::{FlowControlBvc, FlowControlMs, RaCapabilityUpdateAck};
use gannet_wire::bssgp::{Message, PduType};
use gannet_wire::id::{Imsi, Rai, Tlli};

impl Sgsn {
    /// A PDU on the BVC of a cell: user data and what concerns that cell alone.
    pub(super) fn bssgp_ptp(&mut self, cx: &mut Context<'_>, bvc: BvcAddress, frame: Frame) {
        let mut outputs = Batch::default();
        let cell = self.gb.bvcs.accept(cx, bvc.nsei, bvc.bvci, &frame, &mut outputs);
        self.bvc_outputs(cx, &mut outputs);
        let Some(cell) = cell else { return };
        if PduType::of(&frame) == Some(PduType::UlUnitdata) {
            self.stats.ll_pdu_uplink += 1;
            self.ul_unitdata(cx, bvc, frame);
            return;
        }
        self.let_arrive(cx);
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
            Message::RadioStatus { mobile, cause } => self.radio_status(cx, bvc, mobile, cause),
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
        let mut outputs = Batch::default();
        let taken = self.gb.bvcs.receive(cx, nsei, &message, &mut outputs);
        self.bvc_outputs(cx, &mut outputs);
        if taken {
            return;
        }
        match message {
            Message::Suspend { tlli, rai } => self.suspend(cx, bvc, tlli, rai),
            Message::Resume { tlli, rai, reference: _ } => self.resume(cx, bvc, tlli, rai),
            Message::FlushLlAck(ack) => self.flush_ll_ack(cx, nsei, &ack),
            Message::MsRegistrationEnquiry { imsi } => self.ms_registration_enquiry(cx, bvc, imsi),
            Message::LlcDiscarded(discarded) => {
                let cell = BvcAddress { nsei, bvci: discarded.bvci };
                let slot = self.directory.by_tlli(cell, discarded.tlli);
                for _ in 0..discarded.frames {
                    cx.drop(Drop::SgsnDiscardedByBss, slot.and_then(|slot| self.imsi_of(slot)));
                }
                if let Some(index) = self.gb.bvcs.find(nsei, discarded.bvci) {
                    let octets = u64::from(discarded.octets);
                    self.gb.flow.take_out(cx, index, slot.map(|slot| slot.index), octets);
                }
            }
            other => self.bssgp_unexpected(cx, bvc, &other),
        }
    }

    // ------------------------------------------------------------------------------------------ flow control

    fn flow_control_bvc(&mut self, cx: &mut Context<'_>, bvc: BvcAddress, cell: u32, flow: &FlowControlBvc) {
        self.gb.flow.set_bvc(cx, cell, BvcParameters::from(flow), flow.bucket_full_ratio);
        self.resume_claims(cx, cell);
        self.send_bssgp(cx, bvc, &Message::FlowControlBvcAck { tag: flow.tag });
    }

    fn flow_control_ms(&mut self, cx: &mut Context<'_>, bvc: BvcAddress, cell: u32, flow: &FlowControlMs) {
        let Some(slot) = self.directory.by_tlli(bvc, flow.tlli) else {
            cx.drop(Drop::SgsnUnknownTlli, None);
            return;
        };
        if self.gb.flow.set_ms(cx, cell, slot.index, Bucket::from(flow), flow.bucket_full_ratio) {
            self.send_bssgp(cx, bvc, &Message::FlowControlMsAck { tlli: flow.tlli, tag: flow.tag });
            self.leak_rate_changed(slot);
        }
    }

    // ------------------------------------------------------------------------------------------------ mobiles

    /// SUSPEND (08.18 clause 7.4): nothing is sent to the mobile until it resumes or updates its routing area.
    fn suspend(&mut self, cx: &mut Context<'_>, bvc: BvcAddress, tlli: Tlli, rai: Rai) {
        let answer = match self.slot_of_local(tlli) {
            Some(slot) => {
                self.gmm(cx, slot, GmmEvent::Suspend);
                // What waits would be sent to a mobile that does not listen.
                self.gb.flow.flush(cx, slot.index);
                Message::SuspendAck { tlli, rai, reference: slot.index.to_be_bytes()[3] }
            }
            None => Message::SuspendNack { tlli, rai, cause: Some(Cause::UnknownMs) },
        };
        self.send_bssgp(cx, bvc, &answer);
    }

    fn resume(&mut self, cx: &mut Context<'_>, bvc: BvcAddress, tlli: Tlli, rai: Rai) {
        let Some(slot) = self.slot_of_local(tlli) else {
            let cause = Some(Cause::UnknownMs);
            return self.send_bssgp(cx, bvc, &Message::ResumeNack { tlli, rai, cause });
        };
        self.send_bssgp(cx, bvc, &Message::ResumeAck { tlli, rai });
        self.gmm(cx, slot, GmmEvent::Resume);
    }

    /// A mobile by a TLLI that comes without its cell: only a local one names it.
    pub(super) fn slot_of_local(&self, tlli: Tlli) -> Option<Slot> {
        self.directory.by_tlli(BvcAddress::default(), tlli)
    }

    fn ra_capability_update(&mut self, cx: &mut Context<'_>, bvc: BvcAddress, tlli: Tlli, tag: u8) {
        let slot = self.directory.by_tlli(bvc, tlli);
        let mobile = slot.and_then(|slot| self.mobiles.get(slot));
        let capability = mobile.map(|mobile| mobile.radio_capability.as_slice().to_vec());
        let capability = capability.filter(|octets| !octets.is_empty());
        let imsi = slot.and_then(|slot| self.imsi_of(slot));
        let cause = match (slot, &capability) {
            (Some(_), Some(_)) => RaCapUpdCause::Ok,
            (Some(_), None) => RaCapUpdCause::NotAvailable,
            (None, _) => RaCapUpdCause::TlliUnknown,
        };
        let ack = RaCapabilityUpdateAck { tlli, tag, imsi, cause, ms_ra_capability: capability };
        self.send_bssgp(cx, bvc, &Message::RaCapabilityUpdateAck(ack));
    }

    /// MS-REGISTRATION-ENQUIRY (48.018 clause 10.3): where several operators share the cells, a BSS asks for the one with
    /// which a mobile is registered. Here that is the one of the routing area in which it is.
    fn ms_registration_enquiry(&mut self, cx: &mut Context<'_>, bvc: BvcAddress, imsi: Imsi) {
        let mobile = self.directory.by_imsi(imsi).and_then(|slot| self.mobiles.get(slot));
        let registered = mobile.filter(|mobile| mobile.gmm.gmm_state() == GmmState::Registered);
        let plmn = registered.map(|mobile| mobile.gmm.routing_area().plmn);
        self.send_bssgp(cx, bvc, &Message::MsRegistrationEnquiryResponse { imsi, plmn });
    }

    // ------------------------------------------------------------------------------------------------- errors

    pub(in super::super) fn bssgp_malformed(
        &mut self,
        cx: &mut Context<'_>,
        bvc: BvcAddress,
        octets: &[u8],
        error: &DecodeError,
    ) {
        let mut outputs = Batch::default();
        self.gb.bvcs.malformed(cx, bvc.nsei, error, octets, &mut outputs);
        self.bvc_outputs(cx, &mut outputs);
    }

    fn bssgp_unexpected(&mut self, cx: &mut Context<'_>, bvc: BvcAddress, message: &Message) {
        let mut outputs = Batch::default();
        self.gb.bvcs.unexpected(cx, bvc.nsei, message, &mut outputs);
        self.bvc_outputs(cx, &mut outputs);
    }
}
