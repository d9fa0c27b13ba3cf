//! Contexts are changed, from either side.
//!
//! The GGSN changes the quality of service of a context (29.060 clause 7.3.3, 23.060 clause 9.2.3.2): the mobile is asked,
//! and the GGSN has its answer when the mobile has accepted. The mobile changes that or its traffic flow template
//! (23.060 clause 9.2.3.3): the GGSN is asked, and the mobile has its answer when the GGSN has accepted.

use super::requests::{Kind, Request};
use crate::sgsn::Sgsn;
use crate::slots::Slot;
use core::net::IpAddr;
use gannet_machine::drops::Drop;
use gannet_machine::{Batch, Context};
use gannet_proto::about::About as _;
use gannet_proto::gtp::{Endpoint, Transaction, Version};
use gannet_proto::sm::network::{SmContext, SmEvent, SmState};
use gannet_wire::DecodeError;
use gannet_wire::gtp::v1c::{UpdateRequest, UpdateResponse};
use gannet_wire::gtp::value::Qos;
use gannet_wire::gtp::{Cause, Message};
use gannet_wire::id::{Nsapi, Teid, Tid};
use gannet_wire::l3::ie::{QosProfile, SmCause, TrafficFlowTemplate};
use std::collections::BTreeMap;

/// What GGSNs have asked, by context, until the mobile has answered.
#[derive(Debug, Default)]
pub struct Updates {
    asked: BTreeMap<(Slot, Nsapi), (Transaction, u8)>,
    /// What mobiles have wished and GGSNs were asked for, until these have answered.
    wishes: BTreeMap<(Slot, Nsapi), (QosProfile, QosProfile)>,
}

impl Updates {
    /// Requests without an answer, of either side.
    #[must_use]
    pub fn len(&self) -> usize {
        self.asked.len() + self.wishes.len()
    }

    /// Notes what a GGSN is being asked for, in the place of what it was asked before, or forgets that.
    pub(super) fn wish(&mut self, slot: Slot, nsapi: Nsapi, wish: Option<(QosProfile, QosProfile)>) {
        self.wishes.remove(&(slot, nsapi));
        self.wishes.extend(wish.map(|wish| ((slot, nsapi), wish)));
    }
}

impl Sgsn {
    /// Update PDP Context Request of a GGSN.
    pub(super) fn ggsn_updates(
        &mut self,
        cx: &mut Context<'_>,
        transaction: &Transaction,
        endpoint: Endpoint,
        request: &UpdateRequest,
    ) {
        let nsapi = request.nsapi;
        let active = self.asked_about(cx, transaction, endpoint, nsapi).filter(|slot| {
            let context = self.mobiles.get(*slot).and_then(|mobile| mobile.sm().get(nsapi));
            context.is_some_and(SmContext::is_active)
        });
        let Some(slot) = active else {
            let to = self.peer_control(transaction, endpoint);
            return self.refuse(cx, transaction, to, Cause::NonExistent);
        };
        let Some(qos) = request.qos else {
            // Nothing that concerns the mobile.
            return self.answer_update(cx, slot, nsapi, transaction, None);
        };
        // A newer wish takes the place of one that was not answered.
        self.update_abandoned(cx, slot, nsapi);
        self.updates.asked.insert((slot, nsapi), (*transaction, qos.allocation_retention));
        self.sm(cx, slot, SmEvent::Modify { nsapi, qos: qos.profile() });
    }

    /// The mobile has accepted, or has got what it asked for itself; then it is still to be asked what the GGSN wants.
    pub(super) fn updated(&mut self, cx: &mut Context<'_>, slot: Slot, nsapi: Nsapi, qos: &QosProfile) {
        if self.mobiles.get(slot).is_some_and(|mobile| mobile.sm().has_offer(nsapi)) {
            return;
        }
        if let Some((transaction, allocation_retention)) = self.updates.asked.remove(&(slot, nsapi)) {
            let qos = Qos::new(allocation_retention, qos).concrete();
            self.answer_update(cx, slot, nsapi, &transaction, Some(qos));
        }
    }

    /// It never will: the context ends, or its GGSN wants something else.
    pub(super) fn update_abandoned(&mut self, cx: &mut Context<'_>, slot: Slot, nsapi: Nsapi) {
        if let Some((transaction, _)) = self.updates.asked.remove(&(slot, nsapi)) {
            let tunnel = self.mobiles.get(slot).and_then(|mobile| mobile.bearer(nsapi)?.tunnel);
            let to = tunnel.map_or(Teid(0), |tunnel| tunnel.peer_control);
            self.refuse(cx, &transaction, to, Cause::NonExistent);
        }
    }

    /// Update PDP Context Request to the GGSN (29.060 clause 7.3.3).
    pub(super) fn update_tunnel(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        nsapi: Nsapi,
        qos: &QosProfile,
        tft: Option<TrafficFlowTemplate>,
    ) {
        let tunnel = self.mobiles.get(slot).and_then(|mobile| mobile.bearer(nsapi)?.tunnel);
        if tft.is_some() && tunnel.is_some_and(|tunnel| tunnel.version == Version::V0) {
            // 09.60 has no traffic flow templates.
            return self.sm(cx, slot, SmEvent::UpdateRejected { nsapi, cause: Cause::ServiceNotSupported });
        }
        if self.ask_for_update(cx, (slot, nsapi), Kind::Update, qos, tft).is_none() {
            self.update_failed(cx, slot, nsapi);
        }
    }

    /// The same, and what the answer is for.
    pub(in crate::sgsn) fn ask_for_update(
        &mut self,
        cx: &mut Context<'_>,
        (slot, nsapi): (Slot, Nsapi),
        kind: Kind,
        qos: &QosProfile,
        tft: Option<TrafficFlowTemplate>,
    ) -> Option<()> {
        let mobile = self.mobiles.get(slot)?;
        let (imsi, bearer) = (mobile.imsi()?, mobile.bearer(nsapi)?);
        let tunnel = bearer.tunnel?;
        let to = self.gtp.paths().get(tunnel.control_path)?.address;
        let address = self.gtp.own_address(to);
        let alternative = self.gtp.alternative_address(to);
        let teid = self.contexts.teid(bearer.name);
        let request = UpdateRequest {
            rai: Some(mobile.gmm.routing_area()),
            recovery: Some(self.config.restart_counter),
            teid_data: Some(teid),
            teid_control: Some(teid),
            sgsn_control: Some(address),
            sgsn_user: Some(address),
            alternative_control: alternative,
            alternative_user: alternative,
            // 23.107 clause 9.1.2.2: the precedence class of R97 is the allocation/retention priority.
            qos: Some(Qos::new(qos.precedence.0, qos)),
            tft: tft.map(|tft| tft.0),
            ..UpdateRequest::new(nsapi)
        };
        let endpoint = Endpoint::of_peer(tunnel.version, Tid { imsi, nsapi }, tunnel.peer_control);
        let key = self.requests.begin(Request { slot, nsapi, kind, subscriber: None, ggsn: None });
        self.request(cx, key, to, endpoint, &request.into()).map(|_| ())
    }

    /// The GGSN's answer to that.
    pub(super) fn update_answered(
        &mut self,
        cx: &mut Context<'_>,
        (slot, nsapi): (Slot, Nsapi),
        ggsn: IpAddr,
        answer: Result<Message, DecodeError>,
    ) {
        let wished = self.updates.wishes.remove(&(slot, nsapi));
        let Ok(Message::UpdateResponse(response)) = answer else {
            return self.update_failed(cx, slot, nsapi);
        };
        if !response.cause.is_accepted() {
            cx.drop_of(Drop::SgsnGgsnRefused, self.imsi_of(slot));
            self.sm(cx, slot, SmEvent::UpdateRejected { nsapi, cause: response.cause });
            self.explain_refused_change(cx, (slot, nsapi), ggsn, response.cause);
            if response.cause == Cause::NonExistent {
                // 29.060 clause 7.3.4: the GGSN does not have the context.
                self.note_lost(cx, (slot, nsapi), ggsn, "has no such context");
                self.tunnel_lost(cx, slot, nsapi, SmCause::RegularDeactivation);
            }
            return;
        }
        let Some(mobile) = self.mobiles.get_mut(slot) else { return };
        let held = mobile.sm().get(nsapi).map(SmContext::qos).unwrap_or_default();
        if mobile.sm().get(nsapi).map(SmContext::state) != Some(SmState::Updating) {
            return cx.drop_of(Drop::SmUnexpected, mobile.imsi());
        }
        if let (Some(qos), Some(bearer)) = (&response.qos, mobile.bearer_mut(nsapi)) {
            bearer.allocation_retention = qos.allocation_retention;
        }
        let qos = response.qos.map_or(held, |qos| qos.profile());
        if let Some((wish, asked)) = wished {
            self.note_wish(slot, nsapi, &wish, &asked);
        }
        self.sm(cx, slot, SmEvent::Updated { nsapi, qos });
    }

    /// What the mobile asked for will not be: the context goes on as it was.
    pub(super) fn update_failed(&mut self, cx: &mut Context<'_>, slot: Slot, nsapi: Nsapi) {
        self.updates.wish(slot, nsapi, None);
        self.sm(cx, slot, SmEvent::UpdateFailed { nsapi });
        self.requalify_one(cx, slot, nsapi);
    }

    fn answer_update(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        nsapi: Nsapi,
        transaction: &Transaction,
        qos: Option<Qos>,
    ) {
        let Some(bearer) = self.mobiles.get(slot).and_then(|mobile| mobile.bearer(nsapi)) else { return };
        let to = bearer.tunnel.map_or(Teid(0), |tunnel| tunnel.peer_control);
        let response = UpdateResponse {
            teid_data: Some(self.contexts.teid(bearer.name)),
            gsn_first: Some(self.gtp.own_address(transaction.peer.ip())),
            qos,
            ..UpdateResponse::refused(Cause::RequestAccepted)
        };
        let mut outputs = Batch::default();
        self.gtp.respond(cx, transaction, to, &response.into(), &mut outputs);
        self.gtp_outputs(cx, &mut outputs);
    }
}
