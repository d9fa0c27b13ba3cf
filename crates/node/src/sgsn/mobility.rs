//! Mobility management: what GMM asks of the node is done here.

use super::charging::ChargedEvent;
use super::directory::Directory;
use super::mobile::RADIO_CAPABILITY_MAX;
use super::{Sgsn, SgsnEvent};
use crate::sgsn::owner::Owner;
use crate::slots::Slot;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::time::Instant;
use gannet_machine::{Batch, Context};
use gannet_proto::about::About as _;
use gannet_proto::auth::AuthDecision;
use gannet_proto::gmm::network::{GmmAction, GmmEvent, Uplink};
use gannet_proto::gmm::{MmState, TemporaryIdentity, goes_ciphered};
use gannet_proto::sndcp::Sndcp;
use gannet_wire::id::{PTmsi, Sapi, Tlli, TlliKind};
use gannet_wire::l3::L3Message;
use gannet_wire::l3::gmm::GmmMessage;
use gannet_wire::l3::ie::{DetachTypeMt, GmmCause, Octets};

/// How often a P-TMSI is thrown before the node says that there is none left. With a million mobiles one throw in a
/// thousand meets a P-TMSI that is taken.
const PTMSI_THROWS: usize = 16;

impl Sgsn {
    /// Gives an event to a mobile's GMM and does what follows.
    pub(super) fn gmm(&mut self, cx: &mut Context<'_>, slot: Slot, event: GmmEvent) {
        let Some(mobile) = self.mobiles.get_mut(slot) else { return };
        let mut actions = Batch::default();
        let was_suspended = mobile.gmm.is_suspended();
        let is_paging_alone = matches!(event, GmmEvent::DownlinkData);
        mobile.gmm.set_active_nsapis(mobile.sm().status());
        let was = mobile.imsi();
        mobile.gmm.handle(cx, &self.config.gmm, event, &mut actions);
        if let Some(was) = was.filter(|was| mobile.imsi() != Some(*was)) {
            self.replace_subscriber(cx, slot, was);
        }
        self.gmm_actions(cx, slot, &mut actions);
        if !is_paging_alone {
            self.mark_for_store(slot);
        }
        if was_suspended {
            self.resumed(cx, slot);
        }
    }

    /// What was held while a mobile was suspended goes out where it is READY, and has it paged where it is not.
    fn resumed(&mut self, cx: &mut Context<'_>, slot: Slot) {
        let Some(mobile) = self.mobiles.get(slot).filter(|mobile| !mobile.gmm.is_suspended()) else { return };
        match mobile.gmm.mm_state() {
            MmState::Ready => self.within_reach(cx, slot),
            MmState::Standby if self.has_waiting(slot) => self.gmm(cx, slot, GmmEvent::DownlinkData),
            MmState::Standby | MmState::Idle => {}
        }
    }

    /// A deadline of a mobile's GMM may be due.
    pub(super) fn wake_gmm(&mut self, cx: &mut Context<'_>, slot: Slot) {
        let Some(mobile) = self.mobiles.get_mut(slot) else { return };
        let mut actions = Batch::default();
        mobile.gmm.set_active_nsapis(mobile.sm().status());
        mobile.gmm.expire(cx, &self.config.gmm, &mut actions);
        self.gmm_actions(cx, slot, &mut actions);
    }

    /// An LLC frame of a mobile that is not a GMM message. The frequent case, a mobile that is READY in this cell,
    /// leaves no action and allocates nothing.
    pub(super) fn gmm_heard(&mut self, cx: &mut Context<'_>, slot: Slot, from: Uplink) {
        let mut actions = core::mem::take(&mut self.scratch.gmm);
        if let Some(mobile) = self.mobiles.get_mut(slot) {
            mobile.gmm.handle(cx, &self.config.gmm, GmmEvent::LlcFrame(from), &mut actions);
            self.gmm_actions(cx, slot, &mut actions);
        }
        self.scratch.gmm = actions;
    }

    fn gmm_actions(&mut self, cx: &mut Context<'_>, slot: Slot, actions: &mut Batch<GmmAction>) {
        while let Some(action) = actions.pop() {
            self.gmm_action(cx, slot, action, actions);
        }
        if let Some(mobile) = self.mobiles.get_mut(slot) {
            mobile.gmm.deadlines_mut().arm(Owner::Gmm.of_mobile(slot), cx.timers);
        }
        self.flows_follow(slot);
    }

    fn gmm_action(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        action: GmmAction,
        actions: &mut Batch<GmmAction>,
    ) {
        if is_durable(&action) {
            self.mark_for_store(slot);
        }
        match action {
            GmmAction::Send { message, tlli } => self.send_gmm(cx, slot, tlli, message),
            GmmAction::AssignTlli { new, old } => {
                if let Some(mobile) = self.mobiles.get_mut(slot) {
                    let ciphering = mobile.llc.ciphering();
                    mobile.llc.assign(Some(new), Some(old), ciphering);
                }
            }
            GmmAction::UnassignTlli { old } => self.unassign_tlli(slot, old),
            GmmAction::AllocatePtmsi => {
                let identity = self.allocate_ptmsi(cx, slot);
                self.answer(cx, slot, GmmEvent::PtmsiAllocated(identity), actions);
            }
            GmmAction::FreePtmsi(ptmsi) => self.forget_ptmsi(ptmsi, slot),
            GmmAction::AskAuth { imsi, question, ticket } => {
                let decision = self.ask_auth(cx, slot, imsi, (question, ticket));
                if decision != AuthDecision::Pending {
                    self.answer(cx, slot, GmmEvent::AuthAnswer { ticket, decision }, actions);
                }
            }
            GmmAction::Authenticated => self.cipher_from_now_on(slot),
            // It only seems to be: an older context stays until nobody doubts it any more.
            GmmAction::IdentityIsKnown { imsi: _ } => {}
            GmmAction::RadioAccessCapability(capability) => {
                if capability.0.len() <= RADIO_CAPABILITY_MAX
                    && let Some(mobile) = self.mobiles.get_mut(slot)
                {
                    mobile.radio_capability = Octets::from_start(&capability.0);
                }
            }
            GmmAction::Registered => {
                self.stats.attached += 1;
                self.charged(cx, slot, ChargedEvent::Attach, None);
                if let Some(imsi) = self.imsi_of(slot) {
                    self.replace_former(cx, slot, imsi);
                    self.tell(SgsnEvent::Attached { imsi });
                }
            }
            GmmAction::Updated => {
                if let Some(mobile) = self.mobiles.get_mut(slot) {
                    mobile.counters_mut().count(|counters| &mut counters.updates);
                }
                self.charged(cx, slot, ChargedEvent::Update, None);
            }
            GmmAction::NPduNumbers(numbers) => self.n_pdu_numbers(cx, slot, &numbers),
            GmmAction::CellChanged { old, new } => self.cell_changed(cx, slot, old, new),
            GmmAction::MmStateChanged(MmState::Ready) => self.within_reach(cx, slot),
            GmmAction::MmStateChanged(MmState::Standby | MmState::Idle) => {}
            GmmAction::Page { imsi, ptmsi, rai, drx } => {
                if let Some(mobile) = self.mobiles.get_mut(slot) {
                    mobile.counters_mut().count(|counters| &mut counters.pagings);
                }
                self.page(cx, imsi, ptmsi, rai, drx);
            }
            GmmAction::PagingFailed => {
                self.discard_held(cx, slot, Drop::HeldUnanswered);
                self.drop_queued(cx, slot, Instant(u64::MAX), Drop::HeldUnanswered);
            }
            GmmAction::DeletePdpContexts(contexts) => self.delete_contexts(cx, slot, contexts),
            GmmAction::GiveUpActivations => self.give_up_activations(cx, slot),
            GmmAction::Released => {
                self.purge(cx, slot);
                self.forget_mobile(cx, slot);
            }
        }
    }

    fn answer(&mut self, cx: &mut Context<'_>, slot: Slot, event: GmmEvent, actions: &mut Batch<GmmAction>) {
        if let Some(mobile) = self.mobiles.get_mut(slot) {
            mobile.gmm.handle(cx, &self.config.gmm, event, actions);
        }
    }

    fn unassign_tlli(&mut self, slot: Slot, old: Tlli) {
        let Some(mobile) = self.mobiles.get_mut(slot) else { return };
        if mobile.llc.tlli_old() == Some(old) {
            let (current, ciphering) = (mobile.llc.tlli(), mobile.llc.ciphering());
            mobile.llc.assign(current, None, ciphering);
        }
        if let Some((bvc, tlli)) = mobile.take_foreign(old) {
            self.forget_foreign_tlli(bvc, tlli, slot);
        }
    }

    /// A P-TMSI that is nobody else's, with a signature; the mobile is found by it from now on.
    fn allocate_ptmsi(&mut self, cx: &mut Context<'_>, slot: Slot) -> Option<TemporaryIdentity> {
        let throw = || PTmsi(cx.rng.u32() | 0xc000_0000);
        let ptmsi = core::iter::repeat_with(throw)
            .take(PTMSI_THROWS)
            .find(|ptmsi| *ptmsi != PTmsi(u32::MAX) && self.directory.by_ptmsi(*ptmsi).is_none());
        let Some(ptmsi) = ptmsi else {
            cx.drop_of(Drop::SgsnNoPTmsi, self.imsi_of(slot));
            return None;
        };
        self.name_ptmsi(ptmsi, slot);
        Some(TemporaryIdentity::new(ptmsi, self.config.gmm.signatures.throw(cx.rng)))
    }

    /// Sends a GMM message with the TLLI that GMM says.
    pub(super) fn send_gmm(&mut self, cx: &mut Context<'_>, slot: Slot, tlli: Tlli, message: GmmMessage) {
        self.stats.messages.gmm_sent(&message);
        let ciphered = goes_ciphered(&message);
        match cx.frames.copy_of(&L3Message::Gmm(message).to_vec()) {
            Some(frame) => self.send_sealed(cx, slot, tlli, frame, ciphered),
            None => cx.drop_of(Drop::NoFrame, self.imsi_of(slot)),
        }
    }

    /// Sends a layer 3 message on SAPI 1.
    pub(super) fn send_l3(&mut self, cx: &mut Context<'_>, slot: Slot, tlli: Tlli, message: &L3Message) {
        match cx.frames.copy_of(&message.to_vec()) {
            Some(frame) => self.send_layer3_frame(cx, slot, tlli, frame),
            None => cx.drop_of(Drop::NoFrame, self.imsi_of(slot)),
        }
    }

    pub(super) fn send_layer3_frame(&mut self, cx: &mut Context<'_>, slot: Slot, tlli: Tlli, frame: Frame) {
        self.send_sealed(cx, slot, tlli, frame, true);
    }

    fn send_sealed(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        tlli: Tlli,
        mut frame: Frame,
        ciphered: bool,
    ) {
        let Some(mobile) = self.mobiles.get_mut(slot) else { return };
        match mobile.llc.unitdata_request(Sapi::GMM, true, ciphered, &mut frame) {
            Ok(()) => {
                mobile.counters_mut().sent();
                self.send_signalling(cx, slot, tlli, frame);
                self.mark_counters_for_store(slot);
            }
            Err(drop) => cx.drop_of(drop, mobile.imsi()),
        }
    }

    /// The P-TMSI whose foreign TLLI this is, and whose mobile it then may be.
    pub(super) fn by_foreign_ptmsi(&self, tlli: Tlli) -> Option<Slot> {
        (tlli.kind() == TlliKind::Foreign)
            .then(|| self.directory.by_ptmsi(Directory::ptmsi_of(tlli)))
            .flatten()
    }

    /// The operator, or a newer context of the same subscriber, ends a mobile: its contexts at the GGSN go, the mobile
    /// itself is told nothing.
    pub(super) fn delete_mobile(&mut self, cx: &mut Context<'_>, slot: Slot) {
        let Some(mobile) = self.mobiles.get(slot) else { return };
        let contexts = mobile.sm().status();
        self.delete_contexts(cx, slot, contexts);
        self.forget_mobile(cx, slot);
    }

    /// Removes a mobile and every name it has.
    pub(super) fn forget_mobile(&mut self, cx: &mut Context<'_>, slot: Slot) {
        self.discard_held(cx, slot, Drop::HeldMobileGone);
        // Its last message, DETACH ACCEPT for one, may still be in the queue.
        self.send_queued(cx);
        self.forget_in_cells(cx, slot);
        self.close_accounts(cx, slot);
        let unconfirmed =
            self.mobiles.get(slot).and_then(|mobile| mobile.sndcp()).map_or(0, Sndcp::unconfirmed);
        self.forget_sndcp(slot);
        let Some(mobile) = self.mobiles.remove(slot) else { return };
        self.mark_for_store(slot);
        for ptmsi in [mobile.gmm.ptmsi(), mobile.gmm.new_ptmsi()].into_iter().flatten() {
            self.forget_ptmsi(ptmsi, slot);
        }
        if let Some((bvc, tlli)) = mobile.foreign() {
            self.forget_foreign_tlli(bvc, tlli, slot);
        }
        self.reassembler.forget_mobile(cx, slot.index);
        (0..unconfirmed).for_each(|_| cx.drop_of(Drop::SndcpUnconfirmed, mobile.imsi()));
        for (nsapi, bearer) in mobile.bearers() {
            // A tunnel that is still being made is taken down as soon as the GGSN says that it is there.
            self.requests.abandon(slot, nsapi);
            self.bearer_gone(cx, slot, nsapi, bearer, mobile.imsi());
        }
        self.forget_flows(slot);
        self.uplink_gone(cx, slot, mobile.imsi());
        self.subscribers.forget(slot);
        if let Some(imsi) = mobile.imsi() {
            // Who only claimed to be a subscriber that is served elsewhere leaves that one attached.
            let was_served = mobile.gmm.mm_state() != MmState::Idle;
            let is_named = self.directory.by_imsi(imsi).is_none_or(|named| named == slot);
            self.directory.forget_imsi(imsi, slot);
            // Who was refused has never been there.
            if (was_served || is_named) && mobile.gmm.ptmsi().is_some() {
                self.tell(SgsnEvent::Detached { imsi });
            }
        }
    }

    /// The operator asks a mobile to detach.
    pub(super) fn operator_detach(&mut self, cx: &mut Context<'_>, slot: Slot, reattach: bool) {
        let kind = if reattach { DetachTypeMt::ReattachRequired } else { DetachTypeMt::ReattachNotRequired };
        let cause = (!reattach).then_some(GmmCause::NetworkFailure);
        self.gmm(cx, slot, GmmEvent::OperatorDetach { kind, cause });
    }
}

/// Does what leads to this action outlive a restart? Being READY does not, nor does paging.
const fn is_durable(action: &GmmAction) -> bool {
    match action {
        GmmAction::Send { .. }
        | GmmAction::MmStateChanged(_)
        | GmmAction::Page { .. }
        | GmmAction::PagingFailed => false,
        GmmAction::AssignTlli { .. }
        | GmmAction::UnassignTlli { .. }
        | GmmAction::AllocatePtmsi
        | GmmAction::FreePtmsi(_)
        | GmmAction::AskAuth { .. }
        | GmmAction::Authenticated
        | GmmAction::IdentityIsKnown { .. }
        | GmmAction::RadioAccessCapability(_)
        | GmmAction::Registered
        | GmmAction::Updated
        | GmmAction::NPduNumbers(_)
        | GmmAction::CellChanged { .. }
        | GmmAction::DeletePdpContexts(_)
        | GmmAction::GiveUpActivations
        | GmmAction::Released => true,
    }
}
