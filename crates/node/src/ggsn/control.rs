//! Signalling: contexts are created, updated and deleted (29.060 clause 7.3).

use super::context::PdpContext;
use super::notify::notification;
use super::pool::ClaimError;
use super::{AccessPoint, Addresses, DeleteReason, Ggsn, GgsnEvent, pco};
use crate::slots::Slot;
use core::net::{Ipv4Addr, Ipv6Addr};
use gannet_proto::drops::Drop;
use gannet_proto::gtp::{Endpoint, GtpOutput, GtpTunnel, Transaction, Version, flow_label};
use gannet_proto::machine::{Context, Output};
use gannet_proto::trace::{Category, Level};
use gannet_wire::gtp::header::message_type;
use gannet_wire::gtp::v1c::{
    CreateRequest, CreateResponse, DeleteRequest, DeleteResponse, UpdateRequest, UpdateResponse,
};
use gannet_wire::gtp::{Cause, EndUserAddress, Message};
use gannet_wire::id::{Imsi, Nsapi, Teid, Tid};
use gannet_wire::l3::ie::Apn;

/// What a Create PDP Context Request asks for, once it is known to be sound.
struct Wanted {
    imsi: Imsi,
    reply_to: Teid,
    apn: u16,
    address: Asked,
    /// Of the acceptance.
    cause: Cause,
}

/// Which addresses, each static or left to us; the outer `None` for none of that version.
#[derive(Clone, Copy)]
struct Asked {
    v4: Option<Option<Ipv4Addr>>,
    v6: Option<Option<Ipv6Addr>>,
}

impl AccessPoint {
    fn take_v4(&mut self, asked: Option<Ipv4Addr>) -> Result<Ipv4Addr, Cause> {
        match asked {
            None => self.pool.take().ok_or(Cause::AllDynamicAddressesOccupied),
            Some(_) if !self.config.static_addresses => Err(Cause::UnknownPdpAddressOrType),
            Some(address) => match self.pool.claim(address) {
                Ok(()) => Ok(address),
                Err(ClaimError::Outside | ClaimError::Occupied) => Err(Cause::UnknownPdpAddressOrType),
            },
        }
    }

    fn take_v6(&mut self, asked: Option<Ipv6Addr>) -> Result<Ipv6Addr, Cause> {
        let pool = self.ipv6.as_mut().ok_or(Cause::UnknownPdpAddressOrType)?;
        match asked {
            None => pool.take().ok_or(Cause::AllDynamicAddressesOccupied),
            Some(_) if !self.config.static_addresses => Err(Cause::UnknownPdpAddressOrType),
            Some(address) => match pool.claim(address) {
                Ok(()) => Ok(address),
                Err(ClaimError::Outside | ClaimError::Occupied) => Err(Cause::UnknownPdpAddressOrType),
            },
        }
    }
}

impl Ggsn {
    pub(super) fn gtp_output(&mut self, cx: &mut Context<'_>, output: GtpOutput) {
        match output {
            GtpOutput::Transmit { port, peer, frame } => {
                self.outputs.push(Output::Transmit { port, peer, frame });
            }
            GtpOutput::Request { transaction, endpoint, message } => {
                self.request(cx, &transaction, endpoint, &message);
            }
            GtpOutput::Malformed { transaction, endpoint, reply_to, cause } => {
                let known = self.contexts.by_endpoint(endpoint).and_then(|slot| self.contexts.get(slot));
                let imsi = known.map(|context| context.imsi);
                let reply_to = reply_to.or(known.map(|context| context.tunnel.peer_control));
                self.refuse(cx, &transaction, reply_to.unwrap_or_default(), imsi, cause);
            }
            // Whatever the SGSN answered to our Delete PDP Context Request, or if it did not: the context goes.
            GtpOutput::Response { user, message, .. } => match notification(user) {
                Some(teid) => self.notification_answered(cx, teid, Some(message)),
                None => self.delete(cx, slot_of(user), DeleteReason::Command),
            },
            GtpOutput::TimedOut { user } => match notification(user) {
                Some(teid) => self.notification_answered(cx, teid, None),
                None => self.delete(cx, slot_of(user), DeleteReason::Command),
            },
            GtpOutput::PeerRestarted { path, .. } => {
                self.delete_where(cx, DeleteReason::PeerRestarted, |tunnel| tunnel.control_path == path);
            }
            GtpOutput::PathFailed { path, .. } => {
                self.delete_where(cx, DeleteReason::PathFailed, |tunnel| {
                    tunnel.control_path == path || tunnel.user_path == path
                });
            }
            GtpOutput::PathRestored { .. } => {}
            GtpOutput::ErrorIndication { path, endpoint, .. } => match self.missing_at_sgsn(path, endpoint) {
                Some(slot) => self.delete(cx, slot, DeleteReason::ErrorIndication),
                None => cx.drop(Drop::GtpUnexpectedErrorIndication, None),
            },
        }
    }

    /// Which context an Error Indication names: by the SGSN's endpoint, or in version 0 by the TID of our G-PDU, where that
    /// goes to who says so.
    fn missing_at_sgsn(&self, path: u16, endpoint: Endpoint) -> Option<Slot> {
        match endpoint {
            Endpoint::Teid(teid) => self.contexts.by_peer(path, teid),
            Endpoint::Tid { .. } => {
                let slot = self.contexts.by_endpoint(endpoint)?;
                self.contexts.get(slot).filter(|context| context.tunnel.user_path == path).map(|_| slot)
            }
        }
    }

    fn request(
        &mut self,
        cx: &mut Context<'_>,
        transaction: &Transaction,
        endpoint: Endpoint,
        message: &Message,
    ) {
        match message {
            Message::CreateRequest(request) => self.creation(cx, transaction, endpoint, request),
            Message::UpdateRequest(request) => self.update(cx, transaction, endpoint, request),
            Message::DeleteRequest(request) => {
                let Some(slot) = self.find(endpoint, request.nsapi.0) else {
                    return self.refuse(cx, transaction, Teid(0), None, Cause::NonExistent);
                };
                let Some(reply_to) = self.contexts.get(slot).map(|context| context.tunnel.peer_control)
                else {
                    return;
                };
                if request.teardown == Some(true) {
                    self.delete_all(cx, slot, DeleteReason::Sgsn);
                } else {
                    self.delete(cx, slot, DeleteReason::Sgsn);
                }
                let cause = Cause::RequestAccepted;
                let response = DeleteResponse { cause, pco: None, private_extension: None }.into();
                self.gtp.respond(cx, transaction, reply_to, &response, &mut self.gtp_outputs);
            }
            Message::PduNotificationRejectRequest(request) => {
                self.notification_rejected(cx, transaction, endpoint, request);
            }
            // An SGSN is the one to be asked this.
            _ => self.refuse(cx, transaction, Teid(0), None, Cause::ServiceNotSupported),
        }
    }

    /// The context that an SGSN means: our endpoint must be that of a context of its address and the NSAPI its own, in
    /// version 0 the TID and our flow label.
    fn find(&self, endpoint: Endpoint, nsapi: u8) -> Option<Slot> {
        match endpoint {
            Endpoint::Teid(_) => self.beside(endpoint, Nsapi(nsapi)),
            Endpoint::Tid { flow, .. } => {
                let slot = self.contexts.by_endpoint(endpoint)?;
                let is_meant = |context: &&PdpContext| flow == flow_label(context.teid);
                self.contexts.get(slot).filter(is_meant).map(|_| slot)
            }
        }
    }

    // -------------------------------------------------------------------------------------------------- create

    fn creation(
        &mut self,
        cx: &mut Context<'_>,
        transaction: &Transaction,
        endpoint: Endpoint,
        request: &CreateRequest,
    ) {
        let created = match request.linked_nsapi {
            Some(linked) => {
                let created = self.create_secondary(cx, endpoint, linked, request);
                created.map(|slot| (slot, Cause::RequestAccepted))
            }
            None => self.create(cx, transaction.version(), request),
        };
        match created {
            Ok((slot, cause)) => self.accept_creation(cx, transaction, slot, cause, request),
            Err(cause) => {
                let (peer, imsi) = self.linked_peer(endpoint).unzip();
                let reply_to = request.teid_control.or(peer).unwrap_or_default();
                self.refuse(cx, transaction, reply_to, request.imsi.or(imsi), cause);
            }
        }
    }

    /// What a request wants, or the cause to refuse it with.
    fn examine(&self, request: &CreateRequest) -> Result<Wanted, Cause> {
        if request.tft.is_some() {
            // A first context has none to tell it from (24.008 clause 6.1.3.1).
            return Err(Cause::OptionalIeIncorrect);
        }
        let (Some(imsi), Some(reply_to), Some(address)) =
            (request.imsi, request.teid_control, &request.end_user_address)
        else {
            return Err(Cause::MandatoryIeMissing);
        };
        let apn = self.access_point(request.apn.as_ref()).ok_or(Cause::MissingOrUnknownApn)?;
        let has_ipv6 = self.access_points.get(usize::from(apn)).is_some_and(|point| point.ipv6.is_some());
        let (address, cause) = match address {
            EndUserAddress::Ipv4(v4) => (Asked { v4: Some(*v4), v6: None }, Cause::RequestAccepted),
            EndUserAddress::Ipv6(v6) if has_ipv6 => {
                (Asked { v4: None, v6: Some(*v6) }, Cause::RequestAccepted)
            }
            EndUserAddress::Ipv4v6(v4, v6) if has_ipv6 => {
                (Asked { v4: Some(*v4), v6: Some(*v6) }, Cause::RequestAccepted)
            }
            EndUserAddress::Ipv4v6(v4, _) => {
                (Asked { v4: Some(*v4), v6: None }, Cause::NewPdpTypeNetworkPreference)
            }
            EndUserAddress::Ipv6(_) | EndUserAddress::Ppp | EndUserAddress::Other { .. } => {
                return Err(Cause::UnknownPdpAddressOrType);
            }
        };
        Ok(Wanted { imsi, reply_to, apn, address, cause })
    }

    /// By the whole name, else by what it means: an operator identifier need not be there ([`Apn::means`]).
    fn access_point(&self, name: Option<&Apn>) -> Option<u16> {
        let name = name?;
        let names = || self.access_points.iter().map(|point| &point.config.name);
        let found = names().position(|own| own == name).or_else(|| names().position(|own| own.means(name)));
        found.and_then(|index| u16::try_from(index).ok()).or(self.config.default_apn)
    }

    fn create(
        &mut self,
        cx: &mut Context<'_>,
        version: Version,
        request: &CreateRequest,
    ) -> Result<(Slot, Cause), Cause> {
        let wanted = self.examine(request)?;
        // The SGSN has forgotten the context that the subscriber had before (29.060 clause 7.3.1).
        if let Some(old) = self.contexts.by_tid(Tid { imsi: wanted.imsi, nsapi: request.nsapi }) {
            self.delete(cx, old, DeleteReason::Replaced);
        }
        if self.contexts.is_full() {
            return Err(Cause::NoResourcesAvailable);
        }
        let address = self.take_address(&wanted)?;
        let control = (request.sgsn_control, wanted.reply_to);
        let user = (request.sgsn_user, request.teid_data);
        let tunnel = self.gtp.open(cx, version, control, user, request.recovery);
        let slot = tunnel.and_then(|tunnel| self.insert(cx, request, &wanted, address, tunnel));
        if slot.is_none() {
            self.give_back(wanted.apn, address);
        }
        slot.map(|slot| (slot, wanted.cause)).ok_or(Cause::NoResourcesAvailable)
    }

    fn take_address(&mut self, wanted: &Wanted) -> Result<Addresses, Cause> {
        let point = self.access_points.get_mut(usize::from(wanted.apn)).ok_or(Cause::MissingOrUnknownApn)?;
        // 0.0.0.0 asks for a dynamic address as no address does.
        let asked = wanted.address.v4.map(|asked| asked.filter(|address| !address.is_unspecified()));
        let owner = asked.flatten().and_then(|address| self.static_mobiles.owner(wanted.apn, address));
        let v4 = match (asked, owner) {
            // Kept for him all the time.
            (Some(Some(own)), Some(owner)) if owner == wanted.imsi && point.pool.owner(own).is_none() => {
                Some(own)
            }
            (Some(_), Some(_)) => return Err(Cause::UnknownPdpAddressOrType),
            (Some(asked), None) => Some(point.take_v4(asked)?),
            (None, _) => None,
        };
        let v6 = match wanted.address.v6 {
            Some(asked) => point.take_v6(asked.filter(|address| !address.is_unspecified())).map(Some),
            None => Ok(None),
        };
        match (v4, v6) {
            (v4, Ok(v6)) => Ok(Addresses { v4, v6 }),
            (v4, Err(cause)) => {
                self.give_back(wanted.apn, Addresses { v4, v6: None });
                Err(cause)
            }
        }
    }

    fn insert(
        &mut self,
        cx: &mut Context<'_>,
        request: &CreateRequest,
        wanted: &Wanted,
        address: Addresses,
        tunnel: GtpTunnel,
    ) -> Option<Slot> {
        let context = PdpContext {
            imsi: wanted.imsi,
            nsapi: request.nsapi,
            msisdn: request.msisdn,
            apn: wanted.apn,
            address,
            teid: Teid(0),
            tunnel,
            charging_id: self.next_charging_id,
            qos: request.qos.concrete(),
            since: cx.now,
            uplink: super::Volume::default(),
            downlink: super::Volume::default(),
            deleting: false,
            tft: None,
            classifier: None,
            advertise_at: None,
            next_answer: None,
        };
        let Some(slot) = self.contexts.insert(context) else {
            self.gtp.close(tunnel);
            return None;
        };
        self.next_charging_id = self.next_charging_id.wrapping_add(1).max(1);
        self.assign_addresses(wanted.apn, address, slot);
        self.advertise_soon(cx, slot);
        Some(slot)
    }

    fn accept_creation(
        &mut self,
        cx: &mut Context<'_>,
        transaction: &Transaction,
        slot: Slot,
        cause: Cause,
        request: &CreateRequest,
    ) {
        let Some(context) = self.contexts.get(slot) else { return };
        let dns = self.access_points.get(usize::from(context.apn)).map(|point| point.config.dns);
        let pco = request.pco.as_ref().zip(dns);
        let own = context.address.v4.unwrap_or(Ipv4Addr::UNSPECIFIED);
        let response = CreateResponse {
            reordering_required: Some(false),
            recovery: Some(self.config.restart_counter),
            teid_data: Some(context.teid),
            teid_control: Some(context.teid),
            charging_id: Some(context.charging_id),
            end_user_address: Some(context.address.end_user_address()),
            pco: pco.and_then(|(pco, dns)| pco::answer(pco, own, &dns)),
            ggsn_control: Some(self.config.address),
            ggsn_user: Some(self.config.address),
            qos: Some(context.qos),
            ..CreateResponse::refused(cause)
        };
        let reply_to = context.tunnel.peer_control;
        let (imsi, nsapi, apn, address) = (context.imsi, context.nsapi, context.apn, context.address);
        self.gtp.respond(cx, transaction, reply_to, &response.into(), &mut self.gtp_outputs);
        self.counters.created += 1;
        cx.log(
            Category::Pdp,
            Level::Info,
            format_args!("IMSI {imsi} NSAPI {nsapi}: context with address {address}"),
        );
        self.event(GgsnEvent::Created { imsi, nsapi, apn, address });
    }

    // -------------------------------------------------------------------------------------------------- update

    /// The mobile is at another SGSN, or wants another quality of service (29.060 clause 7.3.3).
    fn update(
        &mut self,
        cx: &mut Context<'_>,
        transaction: &Transaction,
        endpoint: Endpoint,
        request: &UpdateRequest,
    ) {
        let Some(slot) = self.find(endpoint, request.nsapi.0) else {
            return self.refuse(cx, transaction, Teid(0), request.imsi, Cause::NonExistent);
        };
        let Some(context) = self.contexts.get(slot) else { return };
        let (imsi, old_control) = (context.imsi, context.tunnel.peer_control);
        let update = match request.sgsn_initiated() {
            Ok(update) => update,
            Err(error) => {
                cx.drop(Drop::GtpMalformed, Some(imsi));
                let cause = gannet_wire::gtp::cause(&error);
                return self.refuse(cx, transaction, old_control, Some(imsi), cause);
            }
        };
        let (nsapi, held) = (context.nsapi, context.tft.clone());
        let tft = match &request.tft {
            Some(change) => self.template_after(slot, nsapi, held.as_ref(), Some(change)),
            None => Ok(held.clone()),
        };
        let tft = match tft {
            Ok(tft) => tft,
            Err(cause) => return self.refuse(cx, transaction, old_control, Some(imsi), cause),
        };
        let control = (update.sgsn_control, update.teid_control.unwrap_or(old_control));
        let user = (update.sgsn_user, update.teid_data);
        let opened = self.gtp.open(cx, transaction.version(), control, user, request.recovery);
        let Some(tunnel) = opened else {
            return self.refuse(cx, transaction, control.1, Some(imsi), Cause::NoResourcesAvailable);
        };
        if let Some(old) = self.contexts.replace_tunnel(slot, tunnel) {
            self.gtp.close(old);
        }
        let Some(context) = self.contexts.get_mut(slot) else { return };
        context.qos = update.qos.concrete();
        context.tft = tft;
        let response = UpdateResponse {
            recovery: Some(self.config.restart_counter),
            teid_data: Some(context.teid),
            teid_control: Some(context.teid),
            charging_id: Some(context.charging_id),
            gsn_first: Some(self.config.address),
            gsn_second: Some(self.config.address),
            qos: Some(context.qos),
            ..UpdateResponse::refused(Cause::RequestAccepted)
        };
        self.counters.updated += 1;
        if held.is_some() || request.tft.is_some() {
            self.reclassify(slot);
        }
        self.gtp.respond(cx, transaction, control.1, &response.into(), &mut self.gtp_outputs);
    }

    // -------------------------------------------------------------------------------------------------- delete

    /// Asks the SGSN to delete a context (29.060 clause 7.3.5).
    pub(super) fn ask_to_delete(&mut self, cx: &mut Context<'_>, slot: Slot) {
        let teardown = Some(self.sharers(slot).len() == 1);
        let Some(context) = self.contexts.get_mut(slot).filter(|context| !context.deleting) else { return };
        let tunnel = context.tunnel;
        let Some(peer) = self.gtp.paths().get(tunnel.control_path).map(|path| path.address) else { return };
        let nsapi = context.nsapi;
        let request = DeleteRequest { teardown, nsapi, pco: None, private_extension: None };
        let to = Endpoint::of_peer(tunnel.version, context.tid(), tunnel.peer_control);
        let (user, message) = (user_of(slot), request.into());
        let asked = self.gtp.request(cx, user, peer, to, &message, &mut self.gtp_outputs).is_some();
        if let Some(context) = self.contexts.get_mut(slot) {
            context.deleting = asked;
        }
    }

    fn delete_where(
        &mut self,
        cx: &mut Context<'_>,
        reason: DeleteReason,
        concerns: impl Fn(&GtpTunnel) -> bool,
    ) {
        let slots: Vec<Slot> = self
            .contexts
            .iter()
            .filter(|(_, context)| concerns(&context.tunnel))
            .map(|(slot, _)| slot)
            .collect();
        slots.into_iter().for_each(|slot| self.delete(cx, slot, reason));
    }

    pub(super) fn delete(&mut self, cx: &mut Context<'_>, slot: Slot, reason: DeleteReason) {
        let sharer = self.sharers(slot).into_iter().find(|other| *other != slot);
        let Some(context) = self.contexts.remove(slot) else { return };
        self.advertising.forget(context.advertise_at, slot);
        match sharer {
            Some(sharer) => {
                self.reclassify(sharer);
                // Another of the mobile's contexts goes on with it.
                context.advertise_at.into_iter().for_each(|at| self.advertise_at(cx, sharer, at));
            }
            None => self.give_back(context.apn, context.address),
        }
        self.gtp.close(context.tunnel);
        self.counters.deleted += 1;
        let PdpContext { imsi, nsapi, address, .. } = context;
        cx.log(
            Category::Pdp,
            Level::Info,
            format_args!("IMSI {imsi} NSAPI {nsapi}: context with address {address} is gone, {reason:?}"),
        );
        self.event(GgsnEvent::Deleted { imsi, nsapi, address, reason });
    }

    pub(super) fn release_address(&mut self, apn: u16, address: Addresses) {
        let Some(point) = self.access_points.get_mut(usize::from(apn)) else { return };
        if let Some(v4) = address.v4 {
            point.pool.release(v4);
        }
        if let (Some(v6), Some(pool)) = (address.v6, &mut point.ipv6) {
            pool.release(v6);
        }
    }

    pub(super) fn refuse(
        &mut self,
        cx: &mut Context<'_>,
        transaction: &Transaction,
        reply_to: Teid,
        imsi: Option<Imsi>,
        cause: Cause,
    ) {
        cx.drop(Drop::GgsnRefused, imsi);
        let what = match transaction.request {
            message_type::CREATE_REQUEST => "Create",
            message_type::UPDATE_REQUEST => "Update",
            message_type::DELETE_REQUEST => "Delete",
            _ => "other",
        };
        cx.log(
            Category::Pdp,
            Level::Notice,
            format_args!("{what} request from {} refused: {cause}", transaction.peer),
        );
        self.counters.refused += 1;
        self.gtp.refuse(cx, transaction, reply_to, cause, &mut self.gtp_outputs);
        self.event(GgsnEvent::Refused { imsi, cause });
    }
}

/// The key of our request about a context.
fn user_of(slot: Slot) -> u64 {
    u64::from(slot.generation) << 32 | u64::from(slot.index)
}

fn slot_of(user: u64) -> Slot {
    let [_, _, g0, g1, i0, i1, i2, i3] = user.to_be_bytes();
    Slot { index: u32::from_be_bytes([i0, i1, i2, i3]), generation: u16::from_be_bytes([g0, g1]) }
}
