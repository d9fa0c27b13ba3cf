//! BSSGP signalling from a BSS: which part takes each PDU. What concerns one mobile is in `about_mobiles` and `cell_change`.

use super::super::Sgsn;
use super::super::directory::BvcAddress;
use gannet_machine::frame::Frame;
use gannet_machine::{Batch, Context};
use gannet_wire::DecodeError;
use gannet_wire::bssgp::{Message, PduType};

impl Sgsn {
    /// A PDU on the BVC of a cell: user data and what concerns that cell alone.
    pub(super) fn bssgp_ptp(&mut self, cx: &mut Context<'_>, bvc: BvcAddress, frame: Frame) {
        let mut outputs = Batch::default();
        let cell = self.gb.bvcs.accept(cx, bvc.nsei, bvc.bvci, &frame, &mut outputs);
        self.bvc_outputs(cx, &mut outputs);
        let Some(cell) = cell else { return };
        if PduType::of(&frame) == Some(PduType::UlUnitdata) {
            self.stats.ll_pdu_uplink += 1;
            self.ul_unitdata(cx, bvc, cell, frame);
            return;
        }
        self.flush_decipher_batch(cx);
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
        self.gb.bvcs.count_signalling(bvc.nsei, octets.len());
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
            Message::Resume { tlli, rai, reference } => self.resume(cx, bvc, (tlli, rai, reference)),
            Message::FlushLlAck(ack) => self.flush_ll_ack(cx, nsei, &ack),
            Message::MsRegistrationEnquiry { imsi } => self.ms_registration_enquiry(cx, bvc, imsi),
            Message::LlcDiscarded(discarded) => self.llc_discarded(cx, nsei, &discarded),
            other => self.bssgp_unexpected(cx, bvc, &other),
        }
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
