//! Sessions: what SM asks of the node, and what the GGSNs answer.

mod asked_anew;
mod ggsns;
mod moved;
mod notified;
mod requalify;
mod requests;
mod selection;
mod tunnels;
mod unanswered;
mod updates;

pub use asked_anew::AskedAnew;
pub use ggsns::{GgsnAddresses, GgsnOrigins};
pub use notified::Notifications;
pub(super) use requests::Kind;
pub use requests::Requests;
pub use selection::{AccessPoints, subscribed};
pub use updates::Updates;

use super::charging::ChargedEvent;
use super::contexts::ContextRef;
use super::held::HeldKind;
use super::mobile::{Bearer, Mobile};
use super::{Sgsn, SgsnEvent};
use crate::sgsn::owner::Owner;
use crate::slots::Slot;
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_machine::trace::Category;
use gannet_machine::{Batch, Context};
use gannet_proto::about::About as _;
use gannet_proto::gmm::MmState;
use gannet_proto::gtp::{ContextName, Version};
use gannet_proto::llc::{Layer3Offer, LlcOutput, XidRequest};
use gannet_proto::sm::network::{SmAction, SmEvent, SmNetwork, SmRequestedAnswer, SmState};
use gannet_proto::sndcp::{ReassemblyKey, SndcpNsapi};
use gannet_wire::DecodeError;
use gannet_wire::id::{Imsi, Nsapi, Sapi};
use gannet_wire::l3::L3Message;
use gannet_wire::l3::ie::{PdpContextStatus, QosProfile, SmCause};
use gannet_wire::l3::sm::SmMessage;
use selection::OfSubscriber;

impl Sgsn {
    /// Gives an event to a mobile's SM and does what follows.
    pub(super) fn sm(&mut self, cx: &mut Context<'_>, slot: Slot, event: SmEvent) {
        let Some(mobile) = self.mobiles.get_mut(slot) else { return };
        let mut actions = Batch::default();
        let whose = mobile.gmm.imsi();
        if self.access_points.is_full() && self.apn_sweep_due <= cx.now {
            // Names that no context uses any more make room for others; once a second, since all mobiles are looked at.
            self.apn_sweep_due = cx.now + Duration::from_secs(1);
            let in_use =
                self.mobiles.iter().flat_map(|(_, mobile)| mobile.sm().iter().map(|(_, sm)| sm.apn()));
            self.access_points.forget_all_but(&in_use.collect());
        }
        let room = self.room(cx.now, slot);
        let own = if event.is_wish() { self.own_claims(slot) } else { Vec::new() };
        let Some(mobile) = self.mobiles.get_mut(slot) else { return };
        let (sm, data, wrong_flag_said) = mobile.sessions();
        let mut selection = OfSubscriber::new((&mut self.access_points, whose), data, room, own);
        let mut network = SmNetwork {
            cfg: &self.config.sm,
            selection: &mut selection,
            whose,
            requested: self.notifications.requested(slot),
            wrong_flag_said,
        };
        sm.handle(cx, &mut network, event, &mut actions);
        if let Some((apn, cause)) = &selection.refused {
            let rule = selection.rule(*cause);
            match apn {
                Some(apn) => cx.explain(Category::Pdp, whose, format_args!("APN {apn} is refused: {rule}")),
                None => cx.explain(Category::Pdp, whose, format_args!("no APN was named, and {rule}")),
            }
        }
        let by_network = selection.by_network;
        if let Some(decided) = selection.decided {
            self.quality_decided(cx, slot, &decided);
        }
        // SNDCP speaks with the mobile when that knows of its context.
        let mut activated = Vec::new();
        while let Some(action) = actions.pop() {
            if let SmAction::Active { nsapi, sapi, qos, .. } = &action {
                activated.push(((*nsapi, *sapi), qos.reliability));
            }
            self.sm_action(cx, slot, action, by_network);
        }
        for (of, reliability) in activated {
            self.bearer_activated(cx, slot, of, reliability);
        }
        if let Some(at) = self.mobiles.get(slot).and_then(|mobile| mobile.sm().deadline(cx.now)) {
            cx.timers.wake(Owner::Sm.of_mobile(slot), at);
        }
        self.mark_for_store(slot);
    }

    pub(super) fn wake_sm(&mut self, cx: &mut Context<'_>, slot: Slot) {
        self.sm(cx, slot, SmEvent::Timer);
    }

    /// A message from the mobile. One that is not attached has no sessions (04.08 clause 4.7.1.3).
    pub(super) fn sm_message(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        ti: u8,
        ti_flag: bool,
        message: SmMessage,
    ) {
        if !self.is_registered(cx, slot) {
            return;
        }
        match self.notification_answered(cx, slot, (ti, ti_flag), &message) {
            Some(SmRequestedAnswer::Rejects(_)) => {}
            Some(SmRequestedAnswer::Activates) => {
                self.sm(cx, slot, SmEvent::Message { ti, ti_flag, message });
                self.notifications.answered(slot);
            }
            None => self.sm(cx, slot, SmEvent::Message { ti, ti_flag, message }),
        }
    }

    pub(super) fn sm_malformed(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        (ti, ti_flag): (u8, bool),
        message_type: u8,
        error: DecodeError,
    ) {
        if self.is_registered(cx, slot) {
            self.sm(cx, slot, SmEvent::DecodeFailed { ti, ti_flag, message_type, error });
        }
    }

    fn is_registered(&mut self, cx: &mut Context<'_>, slot: Slot) -> bool {
        let registered = self.mobiles.get(slot).is_some_and(|mobile| mobile.gmm.mm_state() != MmState::Idle);
        if !registered {
            cx.drop_of(Drop::SgsnSmUnattached, self.imsi_of(slot));
        }
        registered
    }

    /// `by_network` where the mobile that asked has named no access point.
    fn sm_action(&mut self, cx: &mut Context<'_>, slot: Slot, action: SmAction, by_network: bool) {
        match action {
            SmAction::Send { ti, ti_flag, message } => {
                self.send_sm(cx, slot, &L3Message::Sm { ti, ti_flag, message });
            }
            SmAction::CreateTunnel { nsapi, apn, qos, address, pco, linked, tft } => {
                let wish = tunnels::Wish { apn, by_network, qos, address, pco, linked, tft };
                self.create_tunnel(cx, slot, nsapi, wish);
                self.claim(cx, slot, nsapi, &qos);
            }
            SmAction::UpdateTunnel { nsapi, qos, tft } => self.update_tunnel(cx, slot, nsapi, &qos, tft),
            SmAction::DeleteTunnel { nsapi, tear_down } => self.delete_tunnel(cx, slot, nsapi, tear_down),
            SmAction::Active { nsapi, sapi, qos, address: _, radio_priority: _ } => {
                self.activated(cx, slot, nsapi, sapi, &qos);
            }
            SmAction::Modified { nsapi, qos } => {
                if let Some(bearer) = self.mobiles.get_mut(slot).and_then(|mobile| mobile.bearer_mut(nsapi)) {
                    bearer.set_qos(&qos);
                }
                self.bearer_modified(cx, slot, nsapi, qos.reliability);
                self.claim(cx, slot, nsapi, &qos);
                self.flow_changed(slot, nsapi);
                self.updated(cx, slot, nsapi, &qos);
                self.requalify_one(cx, slot, nsapi);
            }
            SmAction::NotModified { nsapi } => self.update_abandoned(cx, slot, nsapi),
            SmAction::Released { nsapi, cause: _ } => self.released(cx, slot, nsapi),
        }
    }

    /// A session message goes at once to a mobile that is READY; one in STANDBY is paged first (04.08 clause 4.7.9).
    fn send_sm(&mut self, cx: &mut Context<'_>, slot: Slot, message: &L3Message) {
        if let L3Message::Sm { message, .. } = message {
            self.stats.messages.sm_sent(message);
        }
        let Some(mobile) = self.mobiles.get(slot) else { return };
        let (tlli, mm_state) = (mobile.gmm.tlli(), mobile.gmm.mm_state());
        if mm_state != MmState::Standby {
            self.send_l3(cx, slot, tlli, message);
            return;
        }
        match cx.frames.copy_of(&message.to_vec()) {
            Some(frame) => self.hold(cx, slot, HeldKind::Layer3, frame),
            None => cx.drop_of(Drop::NoFrame, self.imsi_of(slot)),
        }
    }

    /// A context is active: SNDCP starts to count, and LLC is asked for longer frames where that was configured.
    fn activated(&mut self, cx: &mut Context<'_>, slot: Slot, nsapi: Nsapi, sapi: Sapi, qos: &QosProfile) {
        self.stats.activated += 1;
        let n201_u = self.config.n201_u;
        let Some(mobile) = self.mobiles.get_mut(slot) else { return };
        mobile.counters_mut().count(|counters| &mut counters.activations);
        if let Some(bearer) = mobile.bearer_mut(nsapi) {
            bearer.sndcp = SndcpNsapi::new(nsapi, sapi);
            bearer.set_qos(qos);
        }
        self.claim(cx, slot, nsapi, qos);
        self.flow_changed(slot, nsapi);
        let Some(mobile) = self.mobiles.get_mut(slot) else { return };
        let (tlli, imsi) = (mobile.gmm.tlli(), mobile.imsi());
        let mut outputs = Batch::default();
        if let Some(wanted) = n201_u.filter(|wanted| *wanted != mobile.llc.n201_u(sapi)) {
            let request = XidRequest { n201_u: Some(wanted), n201_i: None, layer3: Layer3Offer::Nothing };
            mobile.llc.xid_request(cx, sapi, request, &mut outputs);
            mobile.llc.arm(Owner::Llc.of_mobile(slot), cx.timers);
        }
        while let Some(output) = outputs.pop() {
            if let LlcOutput::Transmit { frame, .. } = output {
                self.send_signalling(cx, slot, tlli, frame);
            }
        }
        self.open_account(cx, slot, nsapi);
        if let Some(imsi) = imsi {
            self.tell(SgsnEvent::Activated { imsi, nsapi });
        }
    }

    /// Everything about a context is gone but the tunnel, which has its own way.
    fn released(&mut self, cx: &mut Context<'_>, slot: Slot, nsapi: Nsapi) {
        self.reassembler.forget(cx, ReassemblyKey { slot: slot.index, nsapi });
        self.updates.wish(slot, nsapi, None);
        self.close_account(cx, slot, nsapi, ChargedEvent::PdpDeactivated);
        self.bearer_deactivated(cx, slot, nsapi);
        if let Some(bearer) = self.mobiles.get_mut(slot).and_then(|mobile| mobile.take_bearer(nsapi)) {
            let whose = self.imsi_of(slot);
            if let Some(subscriber) = self.mobiles.get_mut(slot).and_then(Mobile::known_subscriber_mut) {
                subscriber.forget_wish(nsapi);
            }
            self.bearer_gone(cx, slot, nsapi, &bearer, whose);
        }
        if let Some(imsi) = self.imsi_of(slot) {
            self.tell(SgsnEvent::Deactivated { imsi, nsapi });
        }
    }

    /// Contexts that end without a word to the mobile: it detached, or does not know them.
    pub(super) fn delete_contexts(&mut self, cx: &mut Context<'_>, slot: Slot, contexts: PdpContextStatus) {
        for nsapi in (5..=15).map(Nsapi).filter(|nsapi| contexts.0 >> nsapi.0 & 1 == 1) {
            self.close_account(cx, slot, nsapi, ChargedEvent::PdpTerminated);
            self.sm(cx, slot, SmEvent::Forget { nsapi, cause: SmCause::RegularDeactivation });
        }
    }

    /// Contexts that a mobile has only asked for end here and at their GGSNs.
    pub(super) fn give_up_activations(&mut self, cx: &mut Context<'_>, slot: Slot) {
        let mut pending = PdpContextStatus::default();
        let contexts = self.mobiles.get(slot).into_iter().flat_map(|mobile| mobile.sm().iter());
        contexts
            .filter(|(_, context)| context.state() == SmState::ActivePending)
            .for_each(|(nsapi, _)| pending.set(nsapi));
        self.delete_contexts(cx, slot, pending);
    }

    /// The operator ends a context.
    pub(super) fn deactivate(&mut self, cx: &mut Context<'_>, slot: Slot, nsapi: Nsapi) {
        self.sm(
            cx,
            slot,
            SmEvent::Deactivate { nsapi, cause: SmCause::RegularDeactivation, tunnel_gone: false },
        );
    }

    /// The bearer of a new context, under a name of its own; `None` where the table of contexts is full.
    pub(super) fn make_bearer(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        nsapi: Nsapi,
    ) -> Option<ContextName> {
        let mobile = self.mobiles.get_mut(slot)?;
        if let Some(bearer) = mobile.bearer(nsapi) {
            return Some(bearer.name);
        }
        let Some(name) = self.contexts.make(ContextRef { mobile: slot, nsapi, version: Version::default() })
        else {
            cx.drop_of(Drop::SgsnContextTableFull, mobile.imsi());
            return None;
        };
        if mobile.make_bearer(nsapi, name).is_none() {
            self.contexts.remove(name);
            return None;
        }
        Some(name)
    }

    /// A bearer was taken out of its mobile: its TEID is old from now on, and its tunnel goes.
    pub(super) fn bearer_gone(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        nsapi: Nsapi,
        bearer: &Bearer,
        whose: Option<Imsi>,
    ) {
        self.flow_gone(cx, slot, bearer.name, whose);
        self.unclaim(cx, slot, bearer.name);
        self.update_abandoned(cx, slot, nsapi);
        self.contexts.remove(bearer.name);
        if let Some(tunnel) = bearer.tunnel {
            self.close_tunnel(slot, nsapi, tunnel);
        }
    }
}
