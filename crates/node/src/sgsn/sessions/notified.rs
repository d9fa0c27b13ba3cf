//! Activation that the network requests (23.060 clause 9.2.2.2): a GGSN has data for a static address and says so
//! (29.060 clauses 7.3.8 to 7.3.11); the mobile is asked, and activates the context or rejects it.

use super::requests::{Kind, Request};
use super::subscribed;
use crate::sgsn::Sgsn;
use crate::sgsn::owner::Owner;
use crate::slots::Slot;
use core::net::IpAddr;
use gannet_machine::drops::Drop;
use gannet_machine::{Batch, Context};
use gannet_proto::about::About as _;
use gannet_proto::gmm::MmState;
use gannet_proto::gtp::{Endpoint, Transaction};
use gannet_proto::sm::network::{SmRequested, SmRequestedAnswer, SmRequestedExpiry};
use gannet_wire::gtp::v1c::{PduNotificationRejectRequest, PduNotificationRequest, PduNotificationResponse};
use gannet_wire::gtp::{Cause, EndUserAddress};
use gannet_wire::id::{Nsapi, Teid};
use gannet_wire::l3::ie::PdpAddress;
use gannet_wire::l3::{L3Message, SmMessage};
use std::collections::BTreeMap;

/// One notification, until the mobile has answered.
#[derive(Debug)]
struct Notified {
    requested: SmRequested,
    /// Who is told where it comes to nothing.
    ggsn: (IpAddr, Teid),
    address: EndUserAddress,
}

/// What GGSNs have notified, one for each mobile at most.
#[derive(Debug, Default)]
pub struct Notifications(BTreeMap<Slot, Notified>);

impl Notifications {
    /// Notifications without an answer of the mobile.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// What a mobile is asked.
    pub(super) fn requested(&self, slot: Slot) -> Option<&SmRequested> {
        self.0.get(&slot).map(|notified| &notified.requested)
    }

    /// It has activated what it was asked.
    pub(super) fn answered(&mut self, slot: Slot) {
        self.0.remove(&slot);
    }
}

impl Sgsn {
    /// PDU Notification Request (29.060 clause 7.3.8).
    pub(super) fn ggsn_notifies(
        &mut self,
        cx: &mut Context<'_>,
        transaction: &Transaction,
        request: &PduNotificationRequest,
    ) {
        let (slot, address) = match self.examine_notification(cx, transaction, request) {
            Ok(examined) => examined,
            Err(cause) => return self.refuse(cx, transaction, request.teid_control, cause),
        };
        let Some(mobile) = self.mobiles.get(slot) else { return };
        let requested =
            SmRequested::begin(cx.now, &self.config.sm, mobile.sm(), address, request.apn.clone());
        let ggsn = (request.ggsn_control, request.teid_control);
        let address = request.end_user_address.clone();
        self.notifications.0.insert(slot, Notified { requested, ggsn, address });
        let response = PduNotificationResponse { cause: Cause::RequestAccepted, private_extension: None };
        let mut outputs = Batch::default();
        self.gtp.respond(cx, transaction, request.teid_control, &response.into(), &mut outputs);
        self.gtp_outputs(cx, &mut outputs);
        self.request_activation(cx, slot);
    }

    /// Whom it concerns and for which address, or the cause of the refusal.
    fn examine_notification(
        &self,
        cx: &mut Context<'_>,
        transaction: &Transaction,
        request: &PduNotificationRequest,
    ) -> Result<(Slot, PdpAddress), Cause> {
        let from = transaction.peer.ip();
        if !self.config.ggsns.iter().any(|ggsn| ggsn.address == from) {
            cx.drop_of(Drop::SgsnForeignGgsn, Some(request.imsi));
            return Err(Cause::ServiceNotSupported);
        }
        if !self.gtp.is_reachable(request.ggsn_control) {
            cx.drop_of(Drop::GtpUnreachable, Some(request.imsi));
            return Err(Cause::MandatoryIeIncorrect);
        }
        let slot = self.directory.by_imsi(request.imsi).ok_or(Cause::ImsiNotKnown)?;
        let mobile = self.mobiles.get(slot).ok_or(Cause::ImsiNotKnown)?;
        if mobile.gmm.mm_state() == MmState::Idle {
            return Err(Cause::MsIsGprsDetached);
        }
        let address = match request.end_user_address {
            EndUserAddress::Ipv4(Some(address)) => PdpAddress::Ipv4(address),
            EndUserAddress::Ipv6(Some(address)) => PdpAddress::Ipv6(address),
            EndUserAddress::Ipv4(None)
            | EndUserAddress::Ipv6(None)
            | EndUserAddress::Ipv4v6(..)
            | EndUserAddress::Ppp
            | EndUserAddress::Other { .. } => return Err(Cause::MandatoryIeIncorrect),
        };
        // Where a subscription is known, the address must be its own.
        if let Some(subscriber) = mobile.subscriber() {
            let info = subscribed(subscriber.data(), Some(&request.apn));
            info.filter(|info| info.address == Some(address)).ok_or(Cause::ApnAccessDenied)?;
        }
        if self.notifications.0.contains_key(&slot) {
            Err(Cause::NoResourcesAvailable)
        } else {
            Ok((slot, address))
        }
    }

    /// REQUEST PDP CONTEXT ACTIVATION, for the first time or again.
    fn request_activation(&mut self, cx: &mut Context<'_>, slot: Slot) {
        let Some(notified) = self.notifications.0.get(&slot) else { return };
        let (ti, ti_flag, message) = notified.requested.message();
        if let Some(at) = notified.requested.deadline(cx.now) {
            cx.timers.wake(Owner::Notified.of_mobile(slot), at);
        }
        self.send_sm(cx, slot, &L3Message::Sm { ti, ti_flag, message });
    }

    /// Whether a message from the mobile answers a notification, and how. Nothing else is to be done with a rejection.
    pub(super) fn notification_answered(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        (ti, ti_flag): (u8, bool),
        message: &SmMessage,
    ) -> Option<SmRequestedAnswer> {
        let answer = self.notifications.requested(slot)?.answered_by(ti, ti_flag, message)?;
        if let SmRequestedAnswer::Rejects(_) = answer {
            cx.drop_of(Drop::SmRejected, self.imsi_of(slot));
            self.notification_failed(cx, slot, Cause::MsRefusesRequest);
        }
        Some(answer)
    }

    /// T3385 of a mobile may have expired.
    pub(in crate::sgsn) fn wake_notified(&mut self, cx: &mut Context<'_>, slot: Slot) {
        let Some(notified) = self.notifications.0.get_mut(&slot) else { return };
        match notified.requested.timer(cx.now, &self.config.sm) {
            SmRequestedExpiry::Waits => {}
            SmRequestedExpiry::Again if self.mobiles.get(slot).is_some() => self.request_activation(cx, slot),
            SmRequestedExpiry::Again | SmRequestedExpiry::GivesUp => {
                cx.drop_of(Drop::SmNoAnswer, self.imsi_of(slot));
                self.notification_failed(cx, slot, Cause::MsIsNotGprsRespondingRequest);
            }
        }
    }

    /// PDU Notification Reject Request (29.060 clause 7.3.10). Nothing hangs on its answer.
    fn notification_failed(&mut self, cx: &mut Context<'_>, slot: Slot, cause: Cause) {
        let Some(Notified { requested, ggsn: (to, teid), address }) = self.notifications.0.remove(&slot)
        else {
            return;
        };
        let message = PduNotificationRejectRequest {
            cause,
            teid_control: Teid(0),
            end_user_address: address,
            apn: requested.apn().clone(),
            pco: None,
            private_extension: None,
        };
        let request =
            Request { slot, nsapi: Nsapi(0), kind: Kind::Notification, subscriber: None, ggsn: None };
        let key = self.requests.begin_abandoned(request);
        self.request(cx, key, to, Endpoint::Teid(teid), &message.into());
    }
}
