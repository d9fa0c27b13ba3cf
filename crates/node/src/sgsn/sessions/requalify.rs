//! What is asked for and granted: noted when a context is activated, and looked at again when the subscription changes, in
//! either direction (03.60 clause 6.11.1.1 [23.060 clause 6.11.1]). The SGSN then asks the GGSN, and with its answer the mobile
//! (03.60 clause 9.2.3 [23.060 clause 9.2.3.1]); what the mobile accepts reaches the queues, as always.

use super::requests::Kind;
use super::selection::{Decided, subscribed};
use crate::sgsn::Sgsn;
use crate::sgsn::mobile::Mobile;
use crate::sgsn::quality::within_subscription;
use crate::sgsn::subscribers::Subscriber;
use crate::slots::Slot;
use core::net::IpAddr;
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::trace::{Category, Level};
use gannet_proto::about::About as _;
use gannet_proto::sm::network::{SmContext, SmEvent, SmState};
use gannet_wire::gtp::Cause;
use gannet_wire::gtp::v1c::UpdateResponse;
use gannet_wire::gtp::value::Qos;
use gannet_wire::id::Nsapi;
use gannet_wire::l3::ie::{QosProfile, ReliabilityClass, SmCause};

impl Sgsn {
    /// An activation's quality of service was decided.
    pub(super) fn quality_decided(&mut self, cx: &mut Context<'_>, slot: Slot, decided: &Decided) {
        let Decided { nsapi, wish, granted, admitted } = decided;
        self.note_admission(*admitted);
        if wish.reliability != ReliabilityClass(0) && wish.reliability < granted.reliability {
            let line = format_args!(
                "NSAPI {nsapi}: reliability class {} is granted as {}",
                wish.reliability.0, granted.reliability.0
            );
            cx.log(Category::Pdp, Level::Info, line);
        }
        if admitted.is_err() {
            return;
        }
        let state = self.mobiles.get(slot).and_then(|mobile| mobile.sm().get(*nsapi)).map(SmContext::state);
        match state {
            // What it has holds until the GGSN has accepted.
            Some(SmState::Updating) => self.updates.wish(slot, *nsapi, Some((*wish, *granted))),
            _ => self.note_wish(slot, *nsapi, wish, granted),
        }
    }

    /// What a mobile wished for a context, and what the GGSN was asked for.
    pub(super) fn note_wish(&mut self, slot: Slot, nsapi: Nsapi, wish: &QosProfile, asked: &QosProfile) {
        if let Some(subscriber) = self.mobiles.get_mut(slot).and_then(Mobile::known_subscriber_mut) {
            subscriber.note_wish(nsapi, wish, asked);
        }
    }

    /// The subscription has changed: what its active contexts would be granted now they are to have.
    pub(in crate::sgsn) fn requalify(&mut self, cx: &mut Context<'_>, slot: Slot) {
        for nsapi in (5..=15).map(Nsapi) {
            self.requalify_one(cx, slot, nsapi);
        }
    }

    /// The same of one of its contexts, also when what was under way with it has ended.
    pub(super) fn requalify_one(&mut self, cx: &mut Context<'_>, slot: Slot, nsapi: Nsapi) {
        if let Some((_, asked)) = self.would_ask(cx, slot, nsapi) {
            let whose = self.imsi_of(slot).map(|imsi| format!("IMSI {imsi} ")).unwrap_or_default();
            let line = format_args!("{whose}NSAPI {nsapi}: now subscribed to {asked}");
            cx.log(Category::Pdp, Level::Info, line);
            // Without an answer it goes on as it is.
            let _ = self.ask_for_update(cx, (slot, nsapi), Kind::Requalify, &asked, None);
        }
    }

    /// What a mobile has wished for an active context, and what would be asked for it now where that is something else.
    fn would_ask(&self, cx: &Context<'_>, slot: Slot, nsapi: Nsapi) -> Option<(QosProfile, QosProfile)> {
        let mobile = self.mobiles.get(slot)?;
        // With one that is being changed something else is under way, at whose end this is asked again.
        let context = mobile.sm().get(nsapi).filter(|context| context.state() == SmState::Active)?;
        let subscriber = mobile.subscriber()?;
        let (wish, asked) = subscriber.wish(nsapi)?;
        let apn = self.access_points.get(context.apn())?;
        let profile = subscribed(Subscriber::data(subscriber), Some(apn))?.qos.map(|qos| qos.profile());
        let wished = profile.map_or(wish, |profile| within_subscription(&wish, &profile));
        let mut granted = self.access_points.ceilings.grant(&wished);
        if wish.r99.is_none() {
            granted.r99 = None;
        }
        let room = self.room_instead(cx.now, slot, mobile.bearer(nsapi)?.name);
        // Where a guarantee that does not fit would be rejected, the context goes on as it is.
        let (granted, _) = room.admit(&granted).ok()?;
        (granted != asked).then_some((wish, granted))
    }

    /// The GGSN has answered: what it says is final.
    pub(super) fn requalified(
        &mut self,
        cx: &mut Context<'_>,
        (slot, nsapi): (Slot, Nsapi),
        ggsn: IpAddr,
        response: &UpdateResponse,
    ) {
        let asked = self.would_ask(cx, slot, nsapi);
        let Some(mobile) = self.mobiles.get_mut(slot) else { return };
        let whose = mobile.imsi();
        if mobile.sm().get(nsapi).map(SmContext::state) != Some(SmState::Active) {
            return;
        }
        if !response.cause.is_accepted() {
            cx.drop_of(Drop::SgsnGgsnRefused, whose);
            self.explain_refused_change(cx, (slot, nsapi), ggsn, response.cause);
            // It has no such context (29.060 clause 7.3.4).
            if response.cause == Cause::NonExistent {
                self.note_lost(cx, (slot, nsapi), ggsn, "has no such context");
                self.tunnel_lost(cx, slot, nsapi, SmCause::RegularDeactivation);
            }
            return;
        }
        let Some(qos) = response.qos.or(asked.map(|(_, asked)| Qos::new(asked.precedence.0, &asked))) else {
            return;
        };
        if let Some(bearer) = mobile.bearer_mut(nsapi) {
            bearer.allocation_retention = qos.allocation_retention;
        }
        let mut negotiated = qos.profile();
        if asked.is_some_and(|(wish, _)| wish.r99.is_none()) {
            negotiated.r99 = None;
        }
        if let Some((wish, asked)) = asked {
            self.note_wish(slot, nsapi, &wish, &asked);
        }
        self.sm(cx, slot, SmEvent::Modify { nsapi, qos: negotiated });
    }
}
