//! The GGSN changes the quality of service of a context (29.060 clause 7.3.3, 23.060 clause 9.2.3.2): the mobile is asked,
//! and the GGSN has its answer when the mobile has accepted.

use crate::sgsn::Sgsn;
use crate::slots::Slot;
use gannet_proto::gtp::{Endpoint, Transaction};
use gannet_proto::machine::{Batch, Context};
use gannet_proto::sm::network::{SmContext, SmEvent};
use gannet_wire::gtp::Cause;
use gannet_wire::gtp::v1c::{UpdateRequest, UpdateResponse};
use gannet_wire::gtp::value::Qos;
use gannet_wire::id::{Nsapi, Teid};
use gannet_wire::l3::ie::QosProfile;
use std::collections::BTreeMap;

/// What GGSNs have asked, by context, until the mobile has answered.
#[derive(Debug, Default)]
pub struct Updates(BTreeMap<(Slot, Nsapi), (Transaction, u8)>);

impl Updates {
    /// Requests without an answer.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
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
        let known = self.asked_about(cx, transaction, endpoint).filter(|(_, nsapi)| *nsapi == request.nsapi);
        let active = known.filter(|(slot, nsapi)| {
            let context = self.mobiles.get(*slot).and_then(|mobile| mobile.sm.get(*nsapi));
            context.is_some_and(SmContext::is_active)
        });
        let Some((slot, nsapi)) = active else {
            let to = self.peer_control(transaction, endpoint);
            return self.refuse(cx, transaction, to, Cause::NonExistent);
        };
        let Some(qos) = request.qos else {
            // Nothing that concerns the mobile.
            return self.answer_update(cx, slot, nsapi, transaction, None);
        };
        // A newer wish takes the place of one that was not answered.
        self.update_abandoned(cx, slot, nsapi);
        self.updates.0.insert((slot, nsapi), (*transaction, qos.allocation_retention));
        self.sm(cx, slot, SmEvent::Modify { nsapi, qos: qos.profile() });
    }

    /// The mobile has accepted.
    pub(super) fn updated(&mut self, cx: &mut Context<'_>, slot: Slot, nsapi: Nsapi, qos: &QosProfile) {
        if let Some((transaction, allocation_retention)) = self.updates.0.remove(&(slot, nsapi)) {
            let qos = Qos::new(allocation_retention, qos);
            self.answer_update(cx, slot, nsapi, &transaction, Some(qos));
        }
    }

    /// It never will: the context ends, or its GGSN wants something else.
    pub(super) fn update_abandoned(&mut self, cx: &mut Context<'_>, slot: Slot, nsapi: Nsapi) {
        if let Some((transaction, _)) = self.updates.0.remove(&(slot, nsapi)) {
            let tunnel = self.mobiles.get(slot).and_then(|mobile| mobile.bearer(nsapi)?.tunnel);
            let to = tunnel.map_or(Teid(0), |tunnel| tunnel.peer_control);
            self.refuse(cx, &transaction, to, Cause::NonExistent);
        }
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
            teid_data: Some(bearer.teid),
            gsn_first: Some(self.config.gtp_address),
            qos,
            ..UpdateResponse::refused(Cause::RequestAccepted)
        };
        let mut outputs = Batch::default();
        self.gtp.respond(cx, transaction, to, &response.into(), &mut outputs);
        self.gtp_outputs(cx, &mut outputs);
    }
}
