//! The HLR's answers, and what it asks itself (09.02 clause 8 [29.002], in GSUP).

use super::{Awaited, Subscriber};
use crate::sgsn::Sgsn;
use crate::sgsn::mobile::Mobile;
use crate::slots::Slot;
use gannet_machine::drops::Drop;
use gannet_machine::timers::TimerKey;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Context, Output, Peer, StreamState};
use gannet_proto::about::About as _;
use gannet_proto::auth::aka::{Quintuplet, Triplet, UmtsKeys};
use gannet_proto::auth::key::{Key64, Key128};
use gannet_proto::auth::vectors::Vector;
use gannet_proto::auth::{AuthDecision, AuthTicket};
use gannet_proto::gmm::network::GmmEvent;
use gannet_proto::gsup::{
    GsupConfirm, GsupFailure, GsupIndication, GsupOutput, GsupRequest, GsupTransaction,
};
use gannet_proto::llc::Ciphering;
use gannet_wire::gsup::{AuthTuple, CancelType};
use gannet_wire::id::Imsi;
use gannet_wire::l3::ie::{DetachTypeMt, GmmCause};

impl Sgsn {
    /// The stream to the HLR was connected or lost.
    pub(in crate::sgsn) fn hlr_stream(&mut self, cx: &mut Context<'_>, state: StreamState) {
        if let Some(hlr) = &mut self.subscribers.hlr {
            hlr.stream(cx, state, &mut self.subscribers.outputs);
        }
    }

    /// Octets came from the HLR.
    pub(in crate::sgsn) fn hlr_octets(&mut self, cx: &mut Context<'_>, octets: &[u8]) {
        if let Some(hlr) = &mut self.subscribers.hlr {
            hlr.receive(cx, octets, &mut self.subscribers.outputs);
        }
    }

    pub(in crate::sgsn) fn wake_hlr(&mut self, cx: &mut Context<'_>, key: TimerKey) {
        if let Some(hlr) = &mut self.subscribers.hlr {
            hlr.wake(cx, key, &mut self.subscribers.outputs);
        }
    }

    /// Does what GSUP asks for, after everything that may have made it ask.
    pub(in crate::sgsn) fn serve_hlr(&mut self, cx: &mut Context<'_>) {
        while let Some(output) = self.subscribers.outputs.pop() {
            match output {
                GsupOutput::Transmit { port, frame } => self.transmit(port, Peer::Link, frame),
                GsupOutput::Disconnect(port) => self.out.push(Output::Disconnect(port)),
                GsupOutput::Confirm(imsi, confirm) => self.hlr_confirms(cx, imsi, confirm),
                GsupOutput::Indication(transaction, indication) => {
                    self.hlr_asks(cx, transaction, indication);
                }
                // Told by the log already.
                GsupOutput::LinkUp | GsupOutput::LinkDown => {}
            }
        }
    }

    fn hlr_confirms(&mut self, cx: &mut Context<'_>, imsi: Imsi, confirm: GsupConfirm) {
        match confirm {
            GsupConfirm::AuthInfo(result) => self.vectors_came(cx, imsi, result),
            GsupConfirm::UpdateLocation(result) => self.location_updated(cx, imsi, result),
            // Nobody waits for it; a failure was counted by its name.
            GsupConfirm::Purge(_) => {}
        }
    }

    /// Each of those who wait gets a vector of his own, and the last one the rest: none serves twice.
    fn vectors_came(
        &mut self,
        cx: &mut Context<'_>,
        imsi: Imsi,
        result: Result<Vec<AuthTuple>, GsupFailure>,
    ) {
        let rules = self.config.subscribers.rules();
        let waiting = self.subscribers.take(imsi, true);
        if let Err(failure) = &result {
            let what = "the HLR's answer about authentication";
            cx.explain(Category::Mm, Some(imsi), format_args!("not served by {what}: {failure}"));
        }
        let (mut tuples, failure) = match result {
            Ok(tuples) => (tuples, GmmCause::NetworkFailure),
            Err(failure) => (Vec::new(), failure.gmm_cause()),
        };
        let count = waiting.len();
        for (at, who) in waiting.into_iter().enumerate() {
            let Some(mobile) = self.mobiles.get_mut(who.slot) else { continue };
            let own = if at + 1 == count { tuples.len() } else { tuples.len().min(1) };
            let subscriber = mobile.subscriber_mut();
            for vector in tuples.drain(..own).filter_map(|tuple| vector(&tuple)) {
                if let Err(refused) = subscriber.vectors.add(vector) {
                    cx.drop_of(Drop::GsupVectorRefused, Some(imsi));
                    let line = format_args!("from the HLR: {refused}");
                    cx.log_of(Some(imsi), Category::Mm, Level::Notice, line);
                }
            }
            let decision = if subscriber.vectors.unused() > 0 {
                subscriber.vectors.proceed(rules)
            } else {
                AuthDecision::Reject(failure)
            };
            subscriber.note(&decision);
            self.answer_gmm(cx, who.slot, who.ticket, decision);
        }
    }

    pub(in crate::sgsn) fn location_updated(
        &mut self,
        cx: &mut Context<'_>,
        imsi: Imsi,
        result: Result<(), GsupFailure>,
    ) {
        if let Err(failure) = &result {
            let what = "the HLR's answer about its location";
            cx.explain(Category::Mm, Some(imsi), format_args!("not served by {what}: {failure}"));
        }
        for who in self.subscribers.take(imsi, false) {
            let Awaited::Location(decision) = who.awaited else { continue };
            let Some(subscriber) = self.mobiles.get_mut(who.slot).map(Mobile::subscriber_mut) else {
                continue;
            };
            let decision = match result {
                Ok(()) => {
                    subscriber.located = true;
                    self.accepted(cx, who.slot, imsi);
                    decision
                }
                Err(failure) => AuthDecision::Reject(failure.gmm_cause()),
            };
            self.answer_gmm(cx, who.slot, who.ticket, decision);
        }
    }

    fn answer_gmm(&mut self, cx: &mut Context<'_>, slot: Slot, ticket: AuthTicket, decision: AuthDecision) {
        self.gmm(cx, slot, GmmEvent::AuthAnswer { ticket, decision });
    }

    // ------------------------------------------------------------------------------------- what the HLR asks

    fn hlr_asks(&mut self, cx: &mut Context<'_>, transaction: GsupTransaction, indication: GsupIndication) {
        let imsi = transaction.imsi();
        let slot = self.subscribers.being_located(imsi).or_else(|| self.directory.by_imsi(imsi));
        let result = match (slot, &indication) {
            // As osmo-sgsn says it; 09.02 has no cause for this place.
            (None, _) => Err(GmmCause::ImsiUnknownInHlr),
            (Some(slot), GsupIndication::InsertData(data)) => {
                let subscriber = self.mobiles.get_mut(slot).map(Mobile::subscriber_mut);
                let taken = subscriber.is_some_and(|subscriber| subscriber.data.insert(data));
                taken.then_some(()).ok_or(GmmCause::Congestion)
            }
            (Some(slot), GsupIndication::DeleteData(contexts)) => {
                if let Some(subscriber) = self.mobiles.get_mut(slot).map(Mobile::subscriber_mut) {
                    subscriber.data.delete(contexts);
                }
                Ok(())
            }
            (Some(_), GsupIndication::Cancel(_)) => Ok(()),
        };
        if let Some(hlr) = &mut self.subscribers.hlr {
            hlr.respond(cx, transaction, result, &mut self.subscribers.outputs);
        }
        match (slot, indication) {
            (Some(slot), GsupIndication::Cancel(how)) => self.cancelled(cx, slot, how),
            (Some(slot), GsupIndication::InsertData(_) | GsupIndication::DeleteData(_)) => {
                self.subscription_changed(cx, slot);
            }
            (None, _) => {}
        }
    }

    /// The subscriber is elsewhere, or has no subscription any more (09.02 clause 8.1.3 [29.002]; 03.60 clause 6.6.2.1
    /// [23.060]).
    pub(in crate::sgsn) fn cancelled(&mut self, cx: &mut Context<'_>, slot: Slot, how: CancelType) {
        if let Some(subscriber) = self.mobiles.get_mut(slot).and_then(Mobile::known_subscriber_mut) {
            // The HLR knows it: nothing is to be purged.
            subscriber.located = false;
        }
        match how {
            CancelType::Update => self.delete_mobile(cx, slot),
            CancelType::Withdraw => {
                let whose = self.imsi_of(slot);
                cx.explain(
                    Category::Mm,
                    whose,
                    format_args!("detached: the HLR has withdrawn the subscription"),
                );
                // The mobile is not to come back by itself, and may when its user asks for that: then the HLR says whether
                // it is served. Cause 10 as osmo-sgsn has it; cause 7 would hold until its power is off.
                let (kind, cause) = (DetachTypeMt::ReattachNotRequired, Some(GmmCause::ImplicitlyDetached));
                self.gmm(cx, slot, GmmEvent::OperatorDetach { kind, cause });
            }
        }
    }

    /// Contexts that the subscription no longer has end (03.60 clause 6.11.1.1 [23.060 clause 6.11.1]), and the others get the
    /// quality of service that it has now.
    fn subscription_changed(&mut self, cx: &mut Context<'_>, slot: Slot) {
        let Some(mobile) = self.mobiles.get(slot) else { return };
        let Some(data) = mobile.subscriber().map(Subscriber::data) else { return };
        let is_void = |apn: u16| {
            let name = self.access_points.get(apn);
            name.is_some_and(|name| crate::sgsn::sessions::subscribed(data, Some(name)).is_none())
        };
        let void: Vec<_> = mobile
            .sm()
            .iter()
            .filter(|(_, context)| is_void(context.apn()))
            .map(|(nsapi, _)| nsapi)
            .collect();
        void.into_iter().for_each(|nsapi| self.deactivate(cx, slot, nsapi));
        self.requalify(cx, slot);
    }

    /// A mobile that was served is gone for good: the HLR may forget that it was here (03.60 clause 6.7 [23.060]).
    pub(in crate::sgsn) fn purge(&mut self, cx: &mut Context<'_>, slot: Slot) {
        if let Some(imsi) = self.mobiles.get(slot).and_then(Mobile::imsi) {
            self.purge_as(cx, slot, imsi);
        }
    }

    /// Forgets the subscriber that a mobile `was`, since it says that it is another. Nothing known of the former speaks for
    /// the new one: neither name, nor vectors and key, nor subscription.
    pub(in crate::sgsn) fn replace_subscriber(&mut self, cx: &mut Context<'_>, slot: Slot, was: Imsi) {
        self.purge_as(cx, slot, was);
        self.subscribers.forget(slot);
        self.directory.forget_imsi(was, slot);
        if let Some(mobile) = self.mobiles.get_mut(slot) {
            mobile.forget_subscriber();
            mobile.llc.set_ciphering(Ciphering::NONE);
        }
    }

    fn purge_as(&mut self, cx: &mut Context<'_>, slot: Slot, imsi: Imsi) {
        let Some(mobile) = self.mobiles.get_mut(slot) else { return };
        let was_here = mobile
            .known_subscriber_mut()
            .is_some_and(|subscriber| core::mem::replace(&mut subscriber.located, false));
        // Another context of the same subscriber is served here: the HLR is not to forget it.
        let stays = self.directory.by_imsi(imsi).is_some_and(|other| other != slot);
        if let Some(hlr) = self.subscribers.hlr.as_mut().filter(|_| was_here && !stays) {
            hlr.request(cx, imsi, GsupRequest::Purge, &mut self.subscribers.outputs);
        }
    }
}

/// As authentication takes it: of one that has both, the quintuplet, of which the triplet follows.
fn vector(tuple: &AuthTuple) -> Option<Vector> {
    let rand = tuple.rand;
    match (&tuple.quintuplet, &tuple.triplet) {
        (Some(of), _) => Some(Vector::Umts(Quintuplet {
            rand,
            xres: of.res,
            keys: UmtsKeys { ck: Key128(of.ck), ik: Key128(of.ik) },
            autn: of.autn,
        })),
        (None, Some(of)) => Some(Vector::Gsm(Triplet { rand, sres: of.sres, kc: Key64(of.kc) })),
        (None, None) => None,
    }
}
