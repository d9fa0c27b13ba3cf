//! LL-PDUs whose TLLI nobody has: a mobile that attaches, one that moved here, or one that takes itself for attached.
//!
//! A TLLI is no proof of anything. A stranger gets a place in the table only for an ATTACH REQUEST, and an answer only
//! as fast as the limiter permits.

use super::directory::BvcAddress;
use super::mobile::Mobile;
use super::unknown_users::user_data_sapi;
use super::{Sgsn, SgsnEvent};
use crate::slots::Slot;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context};
use gannet_proto::about::About as _;
use gannet_proto::gmm::MmState;
use gannet_proto::gmm::network::{GmmContext, GmmEvent, Stranger, Uplink, answer_to_stranger};
use gannet_proto::llc::{LlcContext, LlcOutput, LlcRole};
use gannet_wire::Reader;
use gannet_wire::id::Sapi;
use gannet_wire::l3::gmm::GmmMessage;
use gannet_wire::l3::ie::MobileIdentity;
use gannet_wire::l3::{Direction, Header, L3Message};

/// Places that are looked at for one that can give way.
const EVICTION_LOOKS: u32 = 256;

impl Sgsn {
    /// An LL-PDU of a mobile that is not known by this TLLI.
    pub(super) fn stranger(&mut self, cx: &mut Context<'_>, bvc: BvcAddress, from: Uplink, frame: Frame) {
        let mut llc = LlcContext::new(LlcRole::Sgsn);
        let mut outputs = Batch::default();
        let user_data = user_data_sapi(&frame);
        if !llc.receive(cx, None, frame, &mut outputs) {
            cx.drop(Drop::SgsnUnknownTlli, None);
            match user_data {
                Some(sapi) => self.unknown_user(cx, bvc, from, (sapi, llc)),
                None => unanswered(cx, from, "an LL-PDU that LLC does not take"),
            }
            return;
        }
        let octets = outputs.pop().and_then(|output| match output {
            LlcOutput::Unitdata { sapi: Sapi::GMM, frame, .. } => Some(frame),
            _ => None,
        });
        let message = octets.as_deref().map(|octets| L3Message::parse(Direction::Uplink, octets));
        let header = octets.as_deref().and_then(|octets| Header::parse(&mut Reader::new(octets)).ok());
        // The answer may need its frame.
        drop(octets);
        match (message, header) {
            (Some(Ok(L3Message::Gmm(message))), _) => {
                self.stats.messages.gmm_received(&message);
                self.stranger_message(cx, bvc, from, llc, message);
            }
            (Some(Err(error)), Some(Header::Gmm { skip: 0, message_type })) => {
                self.answer_stranger(cx, from, llc, Stranger::Unreadable { message_type, error: &error });
            }
            (Some(Ok(L3Message::Sm { .. }) | Err(_)) | None, _) => {
                self.answer_stranger(cx, from, llc, Stranger::LlcFrame);
            }
        }
    }

    fn stranger_message(
        &mut self,
        cx: &mut Context<'_>,
        bvc: BvcAddress,
        from: Uplink,
        llc: LlcContext,
        message: GmmMessage,
    ) {
        if let GmmMessage::AttachRequest(request) = &message {
            let known = match request.identity {
                MobileIdentity::PTmsi(_) if self.serves(request.old_rai) => self.by_foreign_ptmsi(from.tlli),
                _ => None,
            };
            let known = known.filter(|slot| {
                let mobile = self.mobiles.get(*slot);
                mobile.is_some_and(|mobile| mobile.gmm.is_claimed_by(&self.config.gmm, request))
            });
            let slot = match known {
                Some(slot) => {
                    // It was switched off and on: its logical links start again (04.64 clause 8.3).
                    let mut former = Batch::default();
                    if let Some(mobile) = self.mobiles.get_mut(slot) {
                        core::mem::replace(&mut mobile.llc, llc).end_links(&mut former);
                        mobile.links_began_anew();
                    }
                    if self.has_user_plane(slot) {
                        self.llc_outputs(cx, slot, from, &mut former);
                    }
                    Some(slot)
                }
                None => self.admit(cx, from, llc),
            };
            if let Some(slot) = slot {
                self.name_foreign(bvc, from, slot);
                self.gmm(cx, slot, GmmEvent::Message { message, from, ciphered: false });
            }
            return;
        }
        if let GmmMessage::RauRequest(request) = &message
            && self.serves(request.old_rai)
            && let Some(slot) = self.by_foreign_ptmsi(from.tlli)
        {
            self.name_foreign(bvc, from, slot);
            self.gmm(cx, slot, GmmEvent::Message { message, from, ciphered: false });
            return;
        }
        self.answer_stranger(cx, from, llc, Stranger::Message { message: &message });
    }

    /// A place in the table for a mobile that attaches.
    fn admit(&mut self, cx: &mut Context<'_>, from: Uplink, llc: LlcContext) -> Option<Slot> {
        if self.mobiles.len() == self.mobiles.limit() {
            self.evict(cx);
        }
        let mobile = Mobile::new(GmmContext::new(from.tlli, from.cell), Some(llc));
        let slot = self.mobiles.insert(mobile).ok();
        if slot.is_none() {
            cx.drop(Drop::SgsnMobileTableFull, None);
            self.tell_overload(cx);
            let limit = self.mobiles.limit();
            let line = format_args!(
                "TLLI {} finds no place: all {limit} of the table of mobiles are taken",
                from.tlli
            );
            cx.log(Category::Mm, Level::Error, line);
        }
        slot
    }

    /// The table is full: a mobile that has asked to attach and is not attached gives way, so that invented
    /// subscribers cannot keep real ones out. A few places are looked at each time, in turn.
    fn evict(&mut self, cx: &mut Context<'_>) {
        let limit = u32::try_from(self.mobiles.limit()).unwrap_or(u32::MAX).max(1);
        for _ in 0..EVICTION_LOOKS.min(limit) {
            self.eviction_hand = (self.eviction_hand + 1) % limit;
            let Some(slot) = self.mobiles.at(self.eviction_hand) else { continue };
            if self.mobiles.get(slot).is_some_and(|mobile| mobile.gmm.mm_state() == MmState::Idle) {
                cx.drop_of(Drop::SgsnEvicted, self.imsi_of(slot));
                self.delete_mobile(cx, slot);
                return;
            }
        }
    }

    /// From now on the mobile is found by the TLLI with which it came.
    fn name_foreign(&mut self, bvc: BvcAddress, from: Uplink, slot: Slot) {
        let Some(mobile) = self.mobiles.get_mut(slot) else { return };
        if let Some((former_bvc, former)) = mobile.set_foreign((bvc, from.tlli)) {
            self.forget_foreign_tlli(former_bvc, former, slot);
        }
        self.name_foreign_tlli(bvc, from.tlli, slot);
    }

    fn answer_stranger(&mut self, cx: &mut Context<'_>, from: Uplink, llc: LlcContext, what: Stranger<'_>) {
        cx.drop(Drop::SgsnUnknownTlli, None);
        let Some(answer) = answer_to_stranger(what) else {
            return unanswered(cx, from, "a message that has no answer to a mobile without a context");
        };
        if !self.stranger_limiter.permit(cx.now) {
            cx.drop(Drop::SgsnStrangerUnanswered, None);
            unanswered(cx, from, "too many unknown mobiles were answered lately");
            self.tell_overload(cx);
            return;
        }
        self.send_answer(cx, from, llc, answer);
    }

    /// Sends a message to a mobile without a context.
    pub(super) fn send_answer(
        &mut self,
        cx: &mut Context<'_>,
        from: Uplink,
        mut llc: LlcContext,
        answer: GmmMessage,
    ) {
        self.stats.messages.gmm_sent(&answer);
        // It counts from where its former context was; what begins at zero would pass for a repetition. So the logical
        // links begin anew at both ends (LLGMM-RESET, 04.64 clauses 7.2.1.2 and 8.5.3.1).
        let mut reset = Batch::default();
        llc.reset_request(cx, &mut reset);
        while let Some(output) = reset.pop() {
            if let LlcOutput::Transmit { frame, .. } = output {
                self.send_to_stranger(cx, from, frame);
            }
        }
        let Some(mut frame) = cx.frames.copy_of(&L3Message::Gmm(answer).to_vec()) else {
            cx.drop(Drop::NoFrame, None);
            return;
        };
        if llc.unitdata_request(Sapi::GMM, true, false, &mut frame).is_ok() {
            self.send_to_stranger(cx, from, frame);
            self.tell(SgsnEvent::StrangerAnswered { tlli: from.tlli });
        }
    }
}

/// A line of the log: why a mobile without a context gets no answer.
fn unanswered(cx: &mut Context<'_>, from: Uplink, why: &str) {
    let (tlli, cell) = (from.tlli, from.cell);
    let text = format_args!("TLLI {tlli} (NSEI {}, BVCI {}) is not answered: {why}", cell.nsei, cell.bvci);
    cx.log(Category::Mm, Level::Info, text);
}
