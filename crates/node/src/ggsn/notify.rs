//! Static addresses of subscribers, and PDU Notification where a packet comes for one that has no context (23.060 clause
//! 9.2.2.2, 29.060 clauses 7.3.8 to 7.3.11): the SGSN is asked to have the mobile activate it.
//!
//! Nobody is asked for the SGSN: it stands in the configuration beside subscriber and address. A subscriber's SGSN is asked
//! once in [`NOTIFICATION_INTERVAL`], whatever it answers and however much comes for him, and no more than [`NOTIFICATIONS_MAX`]
//! of them wait for answers: whoever tries all addresses of a network leaves the requests about contexts their places.

use super::{Addresses, Ggsn, GgsnConfigError};
use core::net::{IpAddr, Ipv4Addr};
use gannet_machine::drops::Drop;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Context, Peer};
use gannet_proto::about::About as _;
use gannet_proto::gtp::{ContextName, Endpoint, Plane, Transaction};
use gannet_wire::DecodeError;
use gannet_wire::gtp::v1c::{
    PduNotificationRejectRequest, PduNotificationRejectResponse, PduNotificationRequest,
};
use gannet_wire::gtp::{Cause, EndUserAddress, Message};
use gannet_wire::id::{Imsi, Teid};
use std::collections::BTreeMap;

/// From one notification to the next for the same address.
pub const NOTIFICATION_INTERVAL: Duration = Duration::from_secs(60);
/// Notifications that may be unanswered at a time.
pub const NOTIFICATIONS_MAX: usize = 128;
/// Static addresses that one GGSN may have.
pub const STATIC_MOBILES_MAX: usize = 1 << 16;
/// Names of the endpoints of notifications: no context has the generation 0.
const FIRST_NAME: u32 = 0x00f0_0000;
/// Tells our notifications from requests about contexts.
const USER: u64 = 1 << 63;

/// A subscriber who has an address of his own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StaticMobile {
    /// Index of the access point.
    pub apn: u16,
    /// His address, out of its prefix. Nobody else is given it.
    pub address: Ipv4Addr,
    /// He.
    pub imsi: Imsi,
    /// The SGSN that is asked for him.
    pub sgsn: IpAddr,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct StaticMobiles {
    mobiles: Vec<(StaticMobile, Option<Instant>)>,
    by_address: BTreeMap<(u16, Ipv4Addr), usize>,
    /// Notifications that are not answered yet.
    unanswered: usize,
}

impl StaticMobiles {
    pub fn add(&mut self, mobile: StaticMobile) -> Result<(), GgsnConfigError> {
        let place = self.mobiles.len();
        let is_new = self.by_address.insert((mobile.apn, mobile.address), place).is_none();
        if !is_new || place >= STATIC_MOBILES_MAX {
            return Err(GgsnConfigError::StaticAddress(mobile.address));
        }
        self.mobiles.push((mobile, None));
        Ok(())
    }

    /// Whose an address is.
    pub fn owner(&self, apn: u16, address: Ipv4Addr) -> Option<Imsi> {
        let place = self.by_address.get(&(apn, address))?;
        self.mobiles.get(*place).map(|(mobile, _)| mobile.imsi)
    }

    fn find(&self, peer: Peer, address: IpAddr) -> Option<usize> {
        let IpAddr::V4(address) = address else { return None };
        match peer {
            Peer::Slot(apn) => self.by_address.get(&(u16::try_from(apn).ok()?, address)).copied(),
            Peer::Link | Peer::Udp(_) | Peer::Ethernet(_) => {
                self.mobiles.iter().position(|(mobile, _)| mobile.address == address)
            }
        }
    }

    fn at(&self, name: ContextName) -> Option<StaticMobile> {
        let place = usize::try_from(name.0.checked_sub(FIRST_NAME)?).ok()?;
        self.mobiles.get(place).map(|(mobile, _)| *mobile)
    }
}

/// Whether a response belongs to a notification: the name of the endpoint that it had.
pub(super) fn notification(user: u64) -> Option<ContextName> {
    user.checked_sub(USER).and_then(|name| u32::try_from(name).ok()).map(ContextName)
}

impl Ggsn {
    /// A packet came for an address that no context has.
    pub(super) fn no_context(&mut self, cx: &mut Context<'_>, peer: Peer, destination: IpAddr) {
        let place = self.static_mobiles.find(peer, destination);
        let known = place.and_then(|place| Some((place, *self.static_mobiles.mobiles.get(place)?)));
        let Some((place, (mobile, next))) = known else {
            cx.drop(Drop::GgsnNoContext, None);
            return;
        };
        let is_asked = next.is_some_and(|next| cx.now < next) || self.notify(cx, place, mobile).is_some();
        let why = if is_asked { Drop::GgsnAwaitsContext } else { Drop::GgsnNotificationLimited };
        cx.drop_of(why, Some(mobile.imsi));
    }

    /// PDU Notification Request (29.060 clause 7.3.8). `None` where it cannot be sent now.
    fn notify(&mut self, cx: &mut Context<'_>, place: usize, mobile: StaticMobile) -> Option<()> {
        if self.static_mobiles.unanswered >= NOTIFICATIONS_MAX {
            return None;
        }
        let apn = self.access_points.get(usize::from(mobile.apn))?.config.name.clone();
        let name = ContextName(FIRST_NAME + u32::try_from(place).ok()?);
        let request = PduNotificationRequest {
            imsi: mobile.imsi,
            teid_control: self.config.teid_key.teid(name),
            end_user_address: EndUserAddress::Ipv4(Some(mobile.address)),
            apn,
            pco: None,
            ggsn_control: self.gtp.told(mobile.sgsn, Plane::Control).first,
            private_extension: None,
        };
        let (user, to) = (USER | u64::from(name.0), Endpoint::Teid(Teid(0)));
        self.gtp.request(cx, user, mobile.sgsn, to, &request.into(), &mut self.gtp_outputs)?;
        self.counters.notified += 1;
        self.static_mobiles.unanswered += 1;
        let (_, next) = self.static_mobiles.mobiles.get_mut(place)?;
        *next = Some(cx.now + NOTIFICATION_INTERVAL);
        Some(())
    }

    /// The SGSN has answered, or has not.
    pub(super) fn notification_answered(
        &mut self,
        cx: &mut Context<'_>,
        name: ContextName,
        answer: Option<Result<Box<Message>, DecodeError>>,
    ) {
        self.static_mobiles.unanswered = self.static_mobiles.unanswered.saturating_sub(1);
        let Some(mobile) = self.static_mobiles.at(name) else { return };
        let why = match answer {
            Some(Ok(message)) => match *message {
                Message::PduNotificationResponse(response) if response.cause.is_accepted() => return,
                Message::PduNotificationResponse(response) => response.cause.to_string(),
                other => format!("answered by message {}", other.message_type()),
            },
            Some(Err(error)) => error.to_string(),
            None => "no answer".to_owned(),
        };
        self.not_reached(cx, mobile, &why);
    }

    /// PDU Notification Reject Request (29.060 clause 7.3.10): the mobile does not activate.
    pub(super) fn notification_rejected(
        &mut self,
        cx: &mut Context<'_>,
        transaction: &Transaction,
        endpoint: Endpoint,
        request: &PduNotificationRejectRequest,
    ) {
        let known = match endpoint {
            Endpoint::Teid(teid) => self.static_mobiles.at(self.config.teid_key.name(teid)),
            Endpoint::Tid { .. } => None,
        };
        let Some(mobile) = known.filter(|mobile| mobile.sgsn == transaction.peer.ip()) else {
            return self.refuse(cx, transaction, request.teid_control, None, Cause::NonExistent);
        };
        self.not_reached(cx, mobile, &request.cause.to_string());
        let cause = Cause::RequestAccepted;
        let response = PduNotificationRejectResponse { cause, private_extension: None }.into();
        self.gtp.respond(cx, transaction, request.teid_control, &response, &mut self.gtp_outputs);
    }

    fn not_reached(&self, cx: &mut Context<'_>, mobile: StaticMobile, why: &str) {
        cx.drop_of(Drop::GgsnNotReached, Some(mobile.imsi));
        let StaticMobile { imsi, address, .. } = mobile;
        let text = format_args!("IMSI {imsi}: no context for its address {address}: {why}");
        cx.log(Category::Pdp, Level::Notice, text);
    }

    /// The address of a mobile comes back: one that has an owner stays his.
    pub(super) fn give_back(&mut self, apn: u16, address: Addresses) {
        let owned = address.v4.filter(|v4| self.static_mobiles.owner(apn, *v4).is_some());
        self.release_address(apn, address);
        if let (Some(v4), Some(point)) = (owned, self.access_points.get_mut(usize::from(apn))) {
            // It was free a moment ago.
            let _ = point.v4.claim(v4);
        }
    }
}
