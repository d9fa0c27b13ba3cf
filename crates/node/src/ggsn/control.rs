//! Signalling: contexts are created, updated and deleted (29.060 clause 7.3).

use super::context::PdpContext;
use super::notify::notification;
use super::peers::{Ends, name_of, named_by_create};
use super::{AccessPoint, Addresses, DeleteReason, Ggsn, GgsnEvent, Pap, pco};
use crate::slots::Slot;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use gannet_machine::drops::Drop;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Context, Output};
use gannet_proto::about::About as _;
use gannet_proto::gtp::{Endpoint, GtpOutput, GtpTunnel, Plane, Transaction, Version, flow_label};
use gannet_wire::gtp::ie;
use gannet_wire::gtp::v1c::{CreateRequest, CreateResponse, DeleteRequest, DeleteResponse};
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

/// What an access point has of what a mobile asks for, and the cause that says so (24.008 clause 6.1.3.1.1).
fn served(point: &AccessPoint, address: &EndUserAddress) -> Result<(Asked, Cause), Cause> {
    let serves = [point.v4.is_served(), point.v6.is_served()];
    let (v4, v6) = match address {
        EndUserAddress::Ipv4(v4) => (Some(*v4), None),
        EndUserAddress::Ipv6(v6) => (None, Some(*v6)),
        EndUserAddress::Ipv4v6(v4, v6) => (Some(*v4), Some(*v6)),
        EndUserAddress::Ppp | EndUserAddress::Other { .. } => return Err(Cause::UnknownPdpAddressOrType),
    };
    match (v4, v6, serves) {
        (Some(_), None, [true, _]) | (None, Some(_), [_, true]) => {
            Ok((Asked { v4, v6 }, Cause::RequestAccepted))
        }
        (Some(_), Some(_), [true, true]) if point.config.dual_stack => {
            Ok((Asked { v4, v6 }, Cause::RequestAccepted))
        }
        (Some(_), Some(_), [true, true]) => Ok((Asked { v4, v6: None }, Cause::NewPdpTypeSingleAddress)),
        (Some(_), Some(_), [true, false]) => Ok((Asked { v4, v6: None }, Cause::NewPdpTypeNetworkPreference)),
        (Some(_), Some(_), [false, true]) => Ok((Asked { v4: None, v6 }, Cause::NewPdpTypeNetworkPreference)),
        (..) => Err(Cause::UnknownPdpAddressOrType),
    }
}

/// Which addresses, each static or left to us; the outer `None` for none of that version.
#[derive(Clone, Copy)]
struct Asked {
    v4: Option<Option<Ipv4Addr>>,
    v6: Option<Option<Ipv6Addr>>,
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
                let slot = self.contexts.by_control(endpoint);
                let (known, imsi) = self.answered_to(slot, transaction.peer.ip());
                self.refuse(cx, &transaction, reply_to.unwrap_or(known), imsi, cause);
            }
            // Whatever the SGSN answered to our Delete PDP Context Request, or if it did not: the context goes.
            GtpOutput::Response { user, message, .. } => match notification(user) {
                Some(teid) => self.notification_answered(cx, teid, Some(message)),
                None => self.deletion_answered(cx, slot_of(user)),
            },
            GtpOutput::TimedOut { user } | GtpOutput::VersionRefused { user } => match notification(user) {
                Some(teid) => self.notification_answered(cx, teid, None),
                None => self.deletion_answered(cx, slot_of(user)),
            },
            GtpOutput::PeerRestarted { peer, path, counter } => {
                let reused = self.endpoint_asked_with(peer);
                self.sgsn_restarted(cx, path, counter, reused);
            }
            // Told by the log already.
            GtpOutput::PathFailed { .. } | GtpOutput::PathRestored { .. } => {}
            GtpOutput::PathLost { path, plane, .. } => self.path_lost(cx, path, plane),
            GtpOutput::ErrorIndication { peer, path, endpoint } => {
                let slots = self.missing_at_sgsn(path, endpoint);
                self.missing(cx, &slots, peer);
            }
        }
    }

    /// The endpoint for signalling of a Create PDP Context Request of this SGSN that waits to be processed, if one does.
    fn endpoint_asked_with(&self, sgsn: IpAddr) -> Option<Teid> {
        self.gtp_outputs.iter().find_map(|output| {
            let GtpOutput::Request { transaction, message, .. } = output else { return None };
            match message.as_ref() {
                Message::CreateRequest(request) if transaction.peer.ip() == sgsn => request.teid_control,
                _ => None,
            }
        })
    }

    /// Which contexts an Error Indication names: by the SGSN's endpoint, or in version 0 by the TID of our G-PDU, where that
    /// goes to the address that it names.
    fn missing_at_sgsn(&self, path: u16, endpoint: Endpoint) -> Vec<Slot> {
        match endpoint {
            Endpoint::Teid(teid) => self.contexts.by_peer(path, teid),
            Endpoint::Tid { .. } => {
                let slot = self.contexts.by_endpoint(endpoint);
                let goes_there = |slot: &Slot| {
                    self.contexts.get(*slot).is_some_and(|context| context.tunnel.user_path == path)
                };
                slot.into_iter().filter(goes_there).collect()
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
            Message::DeleteRequest(request) => self.deletion(cx, transaction, endpoint, request),
            Message::PduNotificationRejectRequest(request) => {
                self.notification_rejected(cx, transaction, endpoint, request);
            }
            // An SGSN is the one to be asked this.
            _ => self.refuse(cx, transaction, Teid(0), None, Cause::ServiceNotSupported),
        }
    }

    /// An SGSN deletes a context, or all of its address (29.060 clause 7.3.5).
    fn deletion(
        &mut self,
        cx: &mut Context<'_>,
        transaction: &Transaction,
        endpoint: Endpoint,
        request: &DeleteRequest,
    ) {
        let found = self.find(endpoint, request.nsapi.0);
        let Some(slot) = self.believed(cx, transaction, (endpoint, found)) else {
            return self.refuse(cx, transaction, Teid(0), None, Cause::NonExistent);
        };
        let Some(context) = self.contexts.get(slot) else { return };
        let reply_to = context.tunnel.peer_control;
        if request.teardown == Some(true) {
            self.delete_all(cx, slot, DeleteReason::Sgsn);
        } else {
            self.delete(cx, slot, DeleteReason::Sgsn);
        }
        let cause = Cause::RequestAccepted;
        let response = DeleteResponse { cause, pco: None, private_extension: None }.into();
        self.gtp.respond(cx, transaction, reply_to, &response, &mut self.gtp_outputs);
    }

    /// The context that an SGSN means: our endpoint must be that of a context of its address and the NSAPI its own, in
    /// version 0 the TID and our flow label.
    pub(super) fn find(&self, endpoint: Endpoint, nsapi: u8) -> Option<Slot> {
        match endpoint {
            Endpoint::Teid(_) => self.beside(endpoint, Nsapi(nsapi)),
            Endpoint::Tid { flow, .. } => {
                let slot = self.contexts.by_control(endpoint)?;
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
                let created = self.create_secondary(cx, transaction, (endpoint, linked), request);
                created.map(|slot| (slot, Cause::RequestAccepted))
            }
            None => self.create(cx, transaction, request),
        };
        match created {
            Ok((slot, cause)) => self.accept_creation(cx, transaction, slot, cause, request),
            Err(cause) => {
                let apn = self.access_point(request.apn.as_ref()).map(usize::from);
                if let Some(point) = apn.and_then(|apn| self.access_points.get_mut(apn)) {
                    point.counters.refused += 1;
                }
                let slot = self.contexts.by_control(endpoint);
                let (peer, imsi) = self.answered_to(slot, transaction.peer.ip());
                let reply_to = request.teid_control.unwrap_or(peer);
                self.refuse(cx, transaction, reply_to, request.imsi.or(imsi), cause);
            }
        }
    }

    /// What a request wants, or the cause to refuse it with.
    fn examine(
        &self,
        cx: &mut Context<'_>,
        transaction: &Transaction,
        request: &CreateRequest,
    ) -> Result<Wanted, Cause> {
        if request.tft.is_some() {
            // A first context has none to tell it from (24.008 clause 6.1.3.1).
            return Err(Cause::OptionalIeIncorrect);
        }
        let mut missing = |kind| {
            cx.drop_of(Drop::GtpIncomplete, request.imsi);
            let (from, element) = (transaction.peer.ip(), ie::name(kind));
            let text = format_args!("Create request from {from}: {element} is missing");
            cx.log(Category::Gtp, Level::Notice, text);
            Cause::MandatoryIeMissing
        };
        let imsi = request.imsi.ok_or_else(|| missing(ie::IMSI))?;
        let reply_to = request.teid_control.ok_or_else(|| missing(ie::TEID_CONTROL))?;
        let address = request.end_user_address.as_ref().ok_or_else(|| missing(ie::END_USER_ADDRESS))?;
        let apn = self.access_point(request.apn.as_ref()).ok_or(Cause::MissingOrUnknownApn)?;
        let point = self.access_points.get(usize::from(apn)).ok_or(Cause::MissingOrUnknownApn)?;
        let (address, cause) = served(point, address)?;
        if point.config.pap == Pap::Refused && request.pco.as_ref().is_some_and(|pco| pco::has_pap(pco)) {
            return Err(Cause::UserAuthenticationFailed);
        }
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
        transaction: &Transaction,
        request: &CreateRequest,
    ) -> Result<(Slot, Cause), Cause> {
        let wanted = self.examine(cx, transaction, request)?;
        let ends = self.ends(cx, transaction, &named_by_create(request), Some(wanted.imsi))?;
        let from = transaction.peer.ip();
        // The SGSN has forgotten the context that the subscriber had before (29.060 clause 7.3.1).
        let old = self.contexts.by_tid(Tid { imsi: wanted.imsi, nsapi: request.nsapi });
        self.may_create(cx, old, transaction)?;
        let is_lent = old.is_some_and(|old| self.lend(old));
        let (address, opened) = match self.reserve(cx, transaction, request, &wanted, &ends) {
            Ok(reserved) => reserved,
            Err(cause) => {
                old.filter(|_| is_lent).into_iter().for_each(|old| self.take_back(old));
                return Err(cause);
            }
        };
        if let Some(old) = old {
            self.replace(cx, (old, is_lent), from, ends.control);
        }
        let slot = self.insert(cx, request, &wanted, (address, ends.named), opened);
        if slot.is_none() {
            self.give_back(wanted.apn, address);
        }
        slot.map(|slot| (slot, wanted.cause)).ok_or(Cause::NoResourcesAvailable)
    }

    /// All that a context needs besides a place of the table.
    fn reserve(
        &mut self,
        cx: &mut Context<'_>,
        transaction: &Transaction,
        request: &CreateRequest,
        wanted: &Wanted,
        ends: &Ends,
    ) -> Result<(Addresses, (GtpTunnel, u16)), Cause> {
        let from = transaction.peer.ip();
        let address = self.take_address(cx, wanted, from)?;
        let control = (ends.control, wanted.reply_to);
        let user = (ends.user, request.teid_data);
        let opened = self.open(cx, transaction.version(), control, user, (from, request.recovery));
        if opened.is_err() {
            self.give_back(wanted.apn, address);
        }
        opened.map(|opened| (address, opened))
    }

    /// The tunnel of a context, and the path that its request came from.
    pub(super) fn open(
        &mut self,
        cx: &mut Context<'_>,
        version: Version,
        control: (IpAddr, Teid),
        user: (IpAddr, Teid),
        (from, recovery): (IpAddr, Option<u8>),
    ) -> Result<(GtpTunnel, u16), Cause> {
        if !self.has_path_room(from, version, [control.0, user.0]) {
            cx.drop(Drop::GtpPathTableFull, None);
            return Err(Cause::NoResourcesAvailable);
        }
        let origin = self.gtp.open_origin(cx, version, from, recovery).ok_or(Cause::NoResourcesAvailable)?;
        match self.gtp.open(cx, version, control, user, None) {
            Some(tunnel) => Ok((tunnel, origin)),
            None => {
                self.gtp.close_origin(origin);
                Err(Cause::NoResourcesAvailable)
            }
        }
    }

    fn take_address(
        &mut self,
        cx: &mut Context<'_>,
        wanted: &Wanted,
        from: IpAddr,
    ) -> Result<Addresses, Cause> {
        let point = self.access_points.get(usize::from(wanted.apn)).filter(|point| !point.closed);
        let point = point.ok_or(Cause::MissingOrUnknownApn)?;
        let wants = [wanted.address.v4.is_some(), wanted.address.v6.is_some()];
        if !self.has_unlisted_room(point, from, wants) {
            cx.drop_of(Drop::GgsnPeerLimit, Some(wanted.imsi));
            return Err(Cause::AllDynamicAddressesOccupied);
        }
        let point = self.access_points.get_mut(usize::from(wanted.apn)).ok_or(Cause::MissingOrUnknownApn)?;
        // 0.0.0.0 asks for a dynamic address as no address does.
        let asked = wanted.address.v4.map(|asked| asked.filter(|address| !address.is_unspecified()));
        let owner = asked.flatten().and_then(|address| self.static_mobiles.owner(wanted.apn, address));
        let v4 = match (asked, owner) {
            // Kept for him all the time.
            (Some(Some(own)), Some(owner)) if owner == wanted.imsi && point.v4.owner(own).is_none() => {
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
        (address, named): (Addresses, Vec<IpAddr>),
        (tunnel, origin): (GtpTunnel, u16),
    ) -> Option<Slot> {
        let path = self.gtp.paths().get(origin);
        let (from, counter) = (path.map(|path| path.address), path.and_then(|path| path.restart_counter));
        let is_unlisted = from.is_some_and(|from| self.is_limited(from));
        let own_name = self.access_points.get(usize::from(wanted.apn)).map(|point| &point.config.name);
        let requested = request.apn.as_ref().filter(|name| Some(*name) != own_name);
        let context = PdpContext {
            imsi: wanted.imsi,
            nsapi: request.nsapi,
            msisdn: request.msisdn,
            apn: wanted.apn,
            requested: requested.cloned().map(Box::new),
            address,
            teid: Teid(0),
            control_teid: Teid(0),
            tunnel,
            origin,
            counter,
            named,
            is_unlisted,
            charging_id: self.next_charging_id,
            qos: request.qos.concrete(),
            since: cx.now,
            uplink: super::Volume::default(),
            downlink: super::Volume::default(),
            groups: self.shaping.groups_of(wanted.imsi),
            deleting: false,
            tft: None,
            classifier: None,
            at_driver: None,
            ending: None,
            last_active: cx.now,
            idle_at: None,
            policer: None,
            advertise_at: None,
            next_answer: None,
        };
        let Some(slot) = self.contexts.insert(context) else {
            self.gtp.close(tunnel);
            self.gtp.close_origin(origin);
            return None;
        };
        if let Some(point) = self.access_points.get_mut(usize::from(wanted.apn)).filter(|_| is_unlisted) {
            point.count_unlisted(address);
        }
        self.next_charging_id = self.next_charging_id.wrapping_add(1).max(1);
        self.assign_addresses(wanted.apn, address, slot);
        self.advertise_soon(cx, slot);
        self.watch_idle(cx, slot);
        self.mark_for_store(slot);
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
        let point = self.access_points.get(usize::from(context.apn));
        let pco = request.pco.as_ref().zip(point);
        // The SGSN has confirmed the endpoint for signalling by using it (29.060 clause 7.3.2). A flow label is always there.
        let is_confirmed = request.linked_nsapi.is_some() && transaction.version() == Version::V1;
        let sgsn = self.sgsn_of(context).unwrap_or(transaction.peer.ip());
        let [control, user] = [Plane::Control, Plane::User].map(|plane| self.gtp.told(sgsn, plane));
        let response = CreateResponse {
            reordering_required: Some(false),
            recovery: Some(self.config.restart_counter),
            teid_data: Some(context.teid),
            teid_control: Some(context.control_teid).filter(|_| !is_confirmed),
            charging_id: Some(context.charging_id),
            end_user_address: Some(context.address.end_user_address()),
            pco: pco.and_then(|(pco, point)| pco::answer(pco, context.address.v4, &point.config)),
            ggsn_control: Some(control.first),
            ggsn_user: Some(user.first),
            alternative_control: control.alternative,
            alternative_user: user.alternative,
            qos: Some(context.qos),
            ..CreateResponse::refused(cause)
        };
        let reply_to = context.tunnel.peer_control;
        let (imsi, nsapi, apn, address) = (context.imsi, context.nsapi, context.apn, context.address);
        self.gtp.respond(cx, transaction, reply_to, &response.into(), &mut self.gtp_outputs);
        self.counters.created += 1;
        if let Some(point) = self.access_points.get_mut(usize::from(apn)) {
            point.counters.created += 1;
        }
        cx.log(
            Category::Pdp,
            Level::Info,
            format_args!("IMSI {imsi} NSAPI {nsapi}: context with address {address}"),
        );
        self.event(GgsnEvent::Created { imsi, nsapi, apn, address });
    }

    // -------------------------------------------------------------------------------------------------- delete

    /// Asks the SGSN to delete a context, since an operator wants it (29.060 clause 7.3.5).
    pub(super) fn ask_to_delete(&mut self, cx: &mut Context<'_>, slot: Slot) {
        self.ask_to_delete_for(cx, slot, DeleteReason::Command);
    }

    /// The SGSN has answered, or has not.
    fn deletion_answered(&mut self, cx: &mut Context<'_>, slot: Slot) {
        let reason = self.contexts.get(slot).and_then(|context| context.ending);
        self.delete(cx, slot, reason.unwrap_or(DeleteReason::Command));
    }

    /// Asks the SGSN to delete a context for this reason.
    pub(super) fn ask_to_delete_for(&mut self, cx: &mut Context<'_>, slot: Slot, reason: DeleteReason) {
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
            context.ending = Some(reason);
        }
    }

    pub(super) fn delete_where(
        &mut self,
        cx: &mut Context<'_>,
        reason: DeleteReason,
        concerns: impl Fn(&PdpContext) -> bool,
    ) {
        let slots: Vec<Slot> =
            self.contexts.iter().filter(|(_, context)| concerns(context)).map(|(slot, _)| slot).collect();
        slots.into_iter().for_each(|slot| self.delete(cx, slot, reason));
    }

    pub(super) fn delete(&mut self, cx: &mut Context<'_>, slot: Slot, reason: DeleteReason) {
        self.remove(cx, slot, reason, false);
    }

    /// The same; its addresses do not come back where they are lent.
    pub(super) fn remove(&mut self, cx: &mut Context<'_>, slot: Slot, reason: DeleteReason, is_lent: bool) {
        let sharer = self.sharers(slot).into_iter().find(|other| *other != slot);
        let Some(context) = self.contexts.remove(slot, sharer) else { return };
        self.advertising.forget(context.advertise_at, slot);
        self.idle.forget(context.idle_at, slot);
        if let Some(point) = self.access_points.get_mut(usize::from(context.apn)) {
            point.counters.deleted += 1;
            point.counters.idle += u64::from(reason == DeleteReason::Idle);
        }
        match sharer {
            Some(sharer) => {
                self.reclassify(sharer);
                // Another of the mobile's contexts goes on with it.
                context.advertise_at.into_iter().for_each(|at| self.advertise_at(cx, sharer, at));
            }
            None if is_lent => {}
            None => {
                let point = self.access_points.get_mut(usize::from(context.apn));
                if let Some(point) = point.filter(|_| context.is_unlisted) {
                    point.discount_unlisted(context.address);
                }
                self.give_back(context.apn, context.address);
            }
        }
        self.gtp.close(context.tunnel);
        self.gtp.close_origin(context.origin);
        self.mark_for_store(slot);
        self.counters.deleted += 1;
        let PdpContext { imsi, nsapi, address, .. } = context;
        cx.log(
            Category::Pdp,
            Level::Info,
            format_args!("IMSI {imsi} NSAPI {nsapi}: context with address {address} is gone: {reason}"),
        );
        self.event(GgsnEvent::Deleted { imsi, nsapi, address, reason });
    }

    pub(super) fn release_address(&mut self, apn: u16, address: Addresses) {
        if let Some(point) = self.access_points.get_mut(usize::from(apn)) {
            point.release(address);
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
        cx.drop_of(Drop::GgsnRefused, imsi);
        let what = name_of(transaction.request);
        let why = format_args!("{what} request from {} refused: {cause}", transaction.peer);
        cx.explain(Category::Pdp, imsi, why);
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
