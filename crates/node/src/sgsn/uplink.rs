//! From Gb to Gn: UL-UNITDATA → LL-PDU → layer 3 or N-PDU → GTP.

use super::Sgsn;
use super::arriving::Arrived;
use super::charging;
use super::claimants::Speaker;
use super::directory::BvcAddress;
use super::mobile::Mobile;
use crate::sgsn::owner::Owner;
use crate::slots::Slot;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context};
use gannet_proto::about::About as _;
use gannet_proto::gmm::network::{GmmEvent, Uplink};
use gannet_proto::gmm::{Cell, MmState, message_goes_ciphered};
use gannet_proto::gtp::{GtpEntity, GtpOutput};
use gannet_proto::llc::{Deferred, Kind, LlcOutput, XidIndication};
use gannet_proto::sndcp::{self, NPdu, Receiver};
use gannet_proto::user_plane::Said;
use gannet_wire::bssgp::unitdata::UlUnitdata;
use gannet_wire::id::{CellId, Nsapi, Sapi, Tid, Tlli};
use gannet_wire::l3::{Direction, Header, L3Message, PD_GMM};
use gannet_wire::llc;
use gannet_wire::{DecodeError, Reader};

impl Sgsn {
    /// An UL-UNITDATA of a cell (08.18 clause 6.1).
    pub(super) fn ul_unitdata(
        &mut self,
        cx: &mut Context<'_>,
        bvc: BvcAddress,
        index: u32,
        mut frame: Frame,
    ) {
        let (tlli, named, range) = match UlUnitdata::parse(&frame) {
            Ok((unitdata, range)) => (unitdata.tlli, unitdata.cell, range),
            Err(error) => {
                self.bssgp_malformed(cx, bvc, &frame, &error);
                return;
            }
        };
        // The mobile is in the cell for which the BVC was reset, whatever the PDU says.
        let id = match self.gb.bvcs.get(index).map(|known| known.cell) {
            Some(known) if known != named => {
                cx.drop(Drop::BssgpOtherCell, None);
                known
            }
            Some(_) | None => named,
        };
        let cell = Cell { nsei: bvc.nsei, bvci: bvc.bvci, id };
        if !frame.narrow(range.start, range.end) {
            cx.drop(Drop::BssgpMalformed, None);
            return;
        }
        self.stats.ll_octets_uplink += frame.len() as u64;
        let from = Uplink { tlli, cell };
        match self.directory.by_tlli(bvc, tlli) {
            Some(slot) => {
                let kind = Kind::of(&frame);
                if self.lacks_update(cx, slot, (cell, named), (&frame, kind)) {
                    return;
                }
                if let Some(frame) = self.enqueue_uplink(cx, slot, from, (frame, kind)) {
                    self.batch_for_deciphering(cx, Arrived::new(slot, (from, None), (frame, kind)));
                }
            }
            None => {
                self.flush_decipher_batch(cx);
                self.stranger(cx, bvc, from, frame);
            }
        }
    }

    /// An LL-PDU of a mobile that is known; `done` where it was deciphered already.
    pub(super) fn ll_pdu(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        from: Uplink,
        (frame, kind, done): (Frame, Kind, Option<Deferred>),
    ) {
        let (slot, attaches) = match self.speaker(slot, from, (&frame, kind)) {
            Speaker::Known(slot, attaches) => (slot, attaches),
            Speaker::New => {
                self.tell_claim(cx, slot, from);
                let bvc = BvcAddress { nsei: from.cell.nsei, bvci: from.cell.bvci };
                return self.stranger(cx, bvc, from, frame);
            }
        };
        let Some(mobile) = self.mobiles.get_mut(slot) else { return };
        let mut outputs = core::mem::take(&mut self.scratch.llc);
        if attaches && mobile.llc.is_repetition(&frame) {
            mobile.llc.peer_began_anew(&mut outputs);
            mobile.links_began_anew();
        }
        let whose = mobile.gmm.imsi();
        let intact = mobile.llc.receive_deciphered(cx, whose, frame, done.as_ref(), &mut outputs);
        mobile.llc.arm(Owner::Llc.of_mobile(slot), cx.timers);
        self.mark_counters_for_store(slot);
        self.received(cx, slot, from, intact, &mut outputs);
        self.scratch.llc = outputs;
    }

    /// A mobile that comes into another routing area updates it before it sends anything else (03.60 clause 6.9.1 [23.060]).
    /// What comes from there without an update shows nothing of where the mobile is, and is dropped. Both the cell of the BVC
    /// and the one that the PDU names have to be of another routing area: a BVC that was reset for a wrong cell costs nobody
    /// his user data.
    fn lacks_update(
        &self,
        cx: &mut Context<'_>,
        slot: Slot,
        (cell, named): (Cell, CellId),
        (ll_pdu, kind): (&[u8], Kind),
    ) -> bool {
        let Some(gmm) = self.mobiles.get(slot).map(|mobile| &mobile.gmm) else { return false };
        let registered = gmm.routing_area();
        let is_there = cell.id.rai == registered || named.rai == registered;
        if is_there || gmm.mm_state() == MmState::Idle || may_be_gmm(ll_pdu, kind) {
            return false;
        }
        self.drop_strayed(cx, slot, cell);
        true
    }

    fn drop_strayed(&self, cx: &mut Context<'_>, slot: Slot, cell: Cell) {
        let Some(gmm) = self.mobiles.get(slot).map(|mobile| &mobile.gmm) else { return };
        cx.drop_of(Drop::SgsnOtherRoutingArea, gmm.imsi());
        let (name, there, registered) = (gmm.name(), cell.id, gmm.routing_area());
        let text = format_args!(
            "{name}: an LL-PDU from cell {there} is dropped: the mobile is registered in routing area {registered} and \
             has not updated it"
        );
        cx.log(Category::Mm, Level::Info, text);
    }

    /// The same of layer 3, which cannot be told before it is deciphered: only what begins an attach, an update or a detach
    /// comes from a routing area in which the mobile is neither registered nor about to be.
    fn strays(&self, slot: Slot, from: Uplink, octets: &[u8]) -> bool {
        let Some(gmm) = self.mobiles.get(slot).map(|mobile| &mobile.gmm) else { return false };
        let (cell, there) = (gmm.cell(), from.cell.id.rai);
        let is_there = there == gmm.routing_area() || there == cell.id.rai;
        let moves = (cell.nsei, cell.bvci) != (from.cell.nsei, from.cell.bvci);
        moves && !is_there && gmm.mm_state() != MmState::Idle && !begins_procedure(octets)
    }

    /// Does what follows from an LL-PDU. An intact one shows where the mobile is, whatever is in it; a GMM message
    /// says so itself.
    pub(super) fn received(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        from: Uplink,
        intact: bool,
        outputs: &mut Batch<LlcOutput>,
    ) {
        if intact {
            self.heard_again(cx, slot);
        }
        let is_gmm =
            outputs.iter().any(|output| matches!(output, LlcOutput::Unitdata { sapi: Sapi::GMM, .. }));
        if intact && !is_gmm {
            self.gmm_heard(cx, slot, from);
        }
        if self.has_user_plane(slot) {
            self.llc_outputs(cx, slot, from, outputs);
            return;
        }
        while let Some(output) = outputs.pop() {
            self.llc_output(cx, slot, from, output);
        }
    }

    pub(super) fn llc_output(&mut self, cx: &mut Context<'_>, slot: Slot, from: Uplink, output: LlcOutput) {
        if !matches!(output, LlcOutput::Unitdata { .. }) && !self.has_user_plane(slot) {
            // Parameters may have been negotiated.
            self.mark_for_store(slot);
        }
        match Said::of(output) {
            Some(Said::Transmit { sapi, frame }) => self.send_of_llc(cx, slot, (from.tlli, sapi), frame),
            Some(Said::Unitdata { sapi: Sapi::GMM, frame, ciphered }) => {
                self.layer3(cx, slot, from, &frame, ciphered);
            }
            Some(Said::Unitdata { sapi, frame, ciphered: _ }) => self.sn_pdu(cx, slot, sapi, frame),
            Some(Said::XidIndication(indication)) => self.xid_indication(cx, slot, from.tlli, indication),
            // The links of a mobile that is known are never reset from here.
            Some(Said::Reset) | None => {}
        }
    }

    /// An SN-PDU of a mobile; the N-PDU goes to the GGSN when it is whole.
    fn sn_pdu(&mut self, cx: &mut Context<'_>, slot: Slot, sapi: Sapi, frame: Frame) {
        let Some(mobile) = self.mobiles.get_mut(slot) else { return };
        if sapi == Sapi::SMS {
            // There is no SMS-GMSC behind this SGSN (03.60 clause 5.4.1 [23.060]).
            cx.drop_of(Drop::SgsnSmsNotServed, mobile.imsi());
            return;
        }
        let receiver = Receiver { slot: slot.index, whose: mobile.imsi(), compresses: false };
        let n_pdu = mobile.unitdata_indication(cx, &mut self.reassembler, receiver, sapi, frame);
        self.reassembler.arm(Owner::Reassembly.of_node(), cx.timers);
        let Some(n_pdu) = n_pdu else { return };
        let (nsapi, octets) = (n_pdu.nsapi, n_pdu.frame.len());
        let is_sent = to_ggsn(cx, &mut self.gtp, mobile, n_pdu, &mut self.scratch.gtp);
        self.n_pdu_went(cx, slot, (nsapi, octets), is_sent);
    }

    /// An N-PDU of acknowledged mode goes to its GGSN.
    pub(super) fn n_pdu_uplink(&mut self, cx: &mut Context<'_>, slot: Slot, n_pdu: NPdu) {
        let Some(mobile) = self.mobiles.get_mut(slot) else { return };
        let (nsapi, octets) = (n_pdu.nsapi, n_pdu.frame.len());
        let is_sent = to_ggsn(cx, &mut self.gtp, mobile, n_pdu, &mut self.scratch.gtp);
        self.n_pdu_went(cx, slot, (nsapi, octets), is_sent);
    }

    /// What follows from an N-PDU that was given to GTP, and from how that went.
    fn n_pdu_went(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        (nsapi, octets): (Nsapi, usize),
        is_sent: bool,
    ) {
        self.stats.n_pdu_uplink += 1;
        if is_sent {
            self.count_octets(slot, nsapi, charging::Direction::Uplink, octets);
        }
        let mut outputs = core::mem::take(&mut self.scratch.gtp);
        self.gtp_outputs(cx, &mut outputs);
        self.scratch.gtp = outputs;
    }

    fn xid_indication(&mut self, cx: &mut Context<'_>, slot: Slot, tlli: Tlli, indication: XidIndication) {
        let Some(mobile) = self.mobiles.get_mut(slot) else { return };
        let mut outputs = Batch::default();
        let answer = sndcp::answer_xid(cx, mobile.gmm.imsi(), &indication.layer3);
        mobile.llc.xid_response(cx, indication, answer, &mut outputs);
        while let Some(output) = outputs.pop() {
            if let LlcOutput::Transmit { frame, .. } = output {
                self.send_signalling(cx, slot, tlli, frame);
            }
        }
    }

    /// T200 of a mobile's LLC may be due.
    pub(super) fn wake_llc(&mut self, cx: &mut Context<'_>, slot: Slot) {
        let Some(mobile) = self.mobiles.get_mut(slot) else { return };
        if mobile.llc.sleeps_on(cx.now, Owner::Llc.of_mobile(slot), cx.timers) {
            return;
        }
        if mobile.sndcp().is_some() {
            self.wake_links(cx, slot);
            return;
        }
        let mut outputs = Batch::default();
        mobile.llc.wake(cx, mobile.gmm.imsi(), &mut outputs);
        mobile.llc.arm(Owner::Llc.of_mobile(slot), cx.timers);
        let tlli = mobile.gmm.tlli();
        while let Some(output) = outputs.pop() {
            if let LlcOutput::Transmit { frame, .. } = output {
                self.send_signalling(cx, slot, tlli, frame);
            }
        }
    }

    /// A layer 3 message on SAPI 1. On a link that has a cipher, what has to come ciphered is taken in no other way (04.08
    /// clause 4.7.1.2).
    fn layer3(&mut self, cx: &mut Context<'_>, slot: Slot, from: Uplink, octets: &[u8], ciphered: bool) {
        if self.strays(slot, from, octets) {
            return self.drop_strayed(cx, slot, from.cell);
        }
        if octets.is_empty() {
            // Any LL-PDU answers a page, and phones send an empty one (04.08 clause 4.7.9.1.1).
            return self.gmm_heard(cx, slot, from);
        }
        let Some(mobile) = self.mobiles.get_mut(slot) else { return };
        mobile.counters_mut().received();
        let in_the_clear = mobile.llc.ciphering().is_on() && !ciphered;
        match L3Message::parse(Direction::Uplink, octets) {
            Ok(message) if in_the_clear && message_goes_ciphered(&message) => {
                cx.drop_of(Drop::LlcUnciphered, mobile.imsi());
                let name = mobile.gmm.name();
                let text =
                    format_args!("{name}: a message in the clear is not taken, since the link is ciphered");
                cx.log(Category::Mm, Level::Info, text);
            }
            Ok(L3Message::Gmm(message)) => {
                self.stats.messages.gmm_received(&message);
                let ciphered = ciphered && mobile.llc.ciphering().is_on();
                self.gmm(cx, slot, GmmEvent::Message { message, from, ciphered });
            }
            Ok(L3Message::Sm { ti, ti_flag, message }) => {
                self.stats.messages.sm_received(&message);
                self.gmm_heard(cx, slot, from);
                self.sm_message(cx, slot, ti, ti_flag, message);
            }
            Err(error) => self.layer3_malformed(cx, slot, from, octets, error),
        }
    }

    /// 04.08 clause 8: what cannot be read is answered by the protocol that it belongs to.
    fn layer3_malformed(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        from: Uplink,
        octets: &[u8],
        error: DecodeError,
    ) {
        if let Some(mobile) = self.mobiles.get(slot) {
            cx.log(Category::Mm, Level::Info, format_args!("{}: layer 3: {error}", mobile.gmm.name()));
        }
        match Header::parse(&mut Reader::new(octets)) {
            Ok(Header::Gmm { skip: 0, message_type }) => {
                let message_type = Some(message_type);
                self.gmm(cx, slot, GmmEvent::DecodeFailed { message_type, error, from });
            }
            Ok(Header::Sm { ti, ti_flag, message_type }) => {
                self.gmm_heard(cx, slot, from);
                self.sm_malformed(cx, slot, (ti, ti_flag), message_type, error);
            }
            // Clauses 8.2.3 and 8.3.1: ignored.
            Ok(Header::Gmm { .. }) | Err(_) => {
                self.gmm_heard(cx, slot, from);
                cx.drop_of(Drop::GmmMalformed, self.imsi_of(slot));
            }
        }
    }
}

/// Gives an N-PDU to GTP; false, and it is dropped, where that does not send it.
fn to_ggsn(
    cx: &mut Context<'_>,
    gtp: &mut GtpEntity,
    mobile: &mut Mobile,
    n_pdu: NPdu,
    outputs: &mut Batch<GtpOutput>,
) -> bool {
    let (whose, NPdu { nsapi, frame, .. }) = (mobile.imsi(), n_pdu);
    let tunnel = mobile.bearer_mut(nsapi).and_then(|bearer| bearer.tunnel.as_mut());
    let (Some(imsi), Some(tunnel)) = (whose, tunnel) else {
        cx.drop_of(Drop::SgsnNoContext, whose);
        return false;
    };
    gtp.send_user(cx, Tid { imsi, nsapi }, tunnel, frame, outputs)
}

/// A message of mobility management, or one of SAPI 1 that cannot be told before it is deciphered.
fn may_be_gmm(ll_pdu: &[u8], kind: Kind) -> bool {
    match kind {
        Kind::Gmm { encrypted: true } => true,
        Kind::Gmm { encrypted: false } => {
            let layout = llc::Header::parse(ll_pdu);
            let information = layout.ok().and_then(|layout| ll_pdu.get(layout.info()));
            information.and_then(<[u8]>::first).is_some_and(|first| first & 0x0f == PD_GMM)
        }
        Kind::Unacknowledged | Kind::Acknowledged | Kind::Supervisory(_) | Kind::Other => false,
    }
}

/// ATTACH, DETACH or ROUTING AREA UPDATE REQUEST, whatever follows its type (04.08 clause 10.4 [24.008]).
const fn begins_procedure(octets: &[u8]) -> bool {
    matches!(octets, [PD_GMM, 0x01 | 0x05 | 0x08, ..])
}
