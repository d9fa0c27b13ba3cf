//! Tunnels to the GGSNs: made, taken down, and lost.

use super::requests::{Creating, Kind, Request};
use super::selection::selection_mode;
use super::unanswered::NoAnswer;
use crate::sgsn::Sgsn;
use crate::sgsn::SgsnEvent;
use crate::sgsn::mobile::{Bearer, Mobile};
use crate::sgsn::subscribers::Subscriber;
use crate::slots::Slot;
use core::net::IpAddr;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::timers::TimerKey;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context, Peer};
use gannet_proto::about::About as _;
use gannet_proto::gtp::{Endpoint, GtpOutput, GtpTunnel, Plane, Transaction, Version};
use gannet_proto::sm::network::{SmContext, SmCreated, SmEvent};
use gannet_wire::DecodeError;
use gannet_wire::gtp::v1c::{CreateRequest, CreateResponse, DeleteRequest, DeleteResponse, RAT_TYPE_GERAN};
use gannet_wire::gtp::value::{EndUserAddress, Msisdn, Qos, UserLocation, UserLocationKind};
use gannet_wire::gtp::{Cause, Message};
use gannet_wire::id::{CellId, Nsapi, Teid, Tid};
use gannet_wire::l3::ie::{PdpAddress, ProtocolConfiguration, QosProfile, SmCause, TrafficFlowTemplate};

/// What the GGSN is asked for.
#[derive(Debug, Clone)]
pub(super) struct Wish {
    pub apn: u16,
    /// The mobile has named none.
    pub by_network: bool,
    pub qos: QosProfile,
    pub address: PdpAddress,
    pub pco: Option<ProtocolConfiguration>,
    /// The context whose address a secondary one shares.
    pub linked: Option<Nsapi>,
    pub tft: Option<TrafficFlowTemplate>,
}

impl Sgsn {
    /// A datagram at the port of GTP-C.
    pub(in crate::sgsn) fn gtp_control(&mut self, cx: &mut Context<'_>, peer: Peer, frame: &Frame) {
        let mut outputs = Batch::default();
        self.gtp.receive_control(cx, peer, frame, &mut outputs);
        self.gtp_outputs(cx, &mut outputs);
    }

    pub(in crate::sgsn) fn wake_gtp(&mut self, cx: &mut Context<'_>, key: TimerKey) {
        let mut outputs = Batch::default();
        self.gtp.wake(cx, key, &mut outputs);
        self.gtp_outputs(cx, &mut outputs);
    }

    pub(in crate::sgsn) fn gtp_outputs(&mut self, cx: &mut Context<'_>, outputs: &mut Batch<GtpOutput>) {
        while let Some(output) = outputs.pop() {
            match output {
                GtpOutput::Transmit { port, peer, frame } => self.transmit(port, peer, frame),
                GtpOutput::Request { transaction, endpoint, message } => {
                    self.ggsn_asks(cx, &transaction, endpoint, &message)
                }
                GtpOutput::Malformed { transaction, endpoint, reply_to, cause } => {
                    let to = reply_to.unwrap_or_else(|| self.peer_control(&transaction, endpoint));
                    self.refuse(cx, &transaction, to, cause);
                }
                GtpOutput::Response { user, peer, asked, version, message } => {
                    self.ggsn_answered(cx, user, (peer, asked, version), message);
                }
                GtpOutput::TimedOut { user } => self.no_answer(cx, user, NoAnswer::Silence),
                GtpOutput::VersionRefused { user } => self.no_answer(cx, user, NoAnswer::OtherVersion),
                GtpOutput::PeerRestarted { peer, path, counter } => {
                    self.tell(SgsnEvent::GgsnRestarted { peer });
                    self.tunnels_lost(cx, peer, path, counter);
                }
                GtpOutput::PathFailed { .. } => cx.drop(Drop::SgsnPathFailed, None),
                GtpOutput::PathLost { peer, path, plane } => self.path_lost(cx, peer, path, plane),
                GtpOutput::PathRestored { peer, plane, .. } => {
                    cx.log(
                        Category::Gtp,
                        Level::Notice,
                        format_args!("path to GGSN {peer} restored, {plane}"),
                    );
                }
                GtpOutput::ErrorIndication { peer, path, endpoint } => {
                    self.endpoint_missing(cx, peer, path, endpoint);
                }
            }
        }
    }

    // ------------------------------------------------------------------------------------------------- making

    /// Create PDP Context Request (29.060 clause 7.3.1).
    pub(super) fn create_tunnel(&mut self, cx: &mut Context<'_>, slot: Slot, nsapi: Nsapi, wish: Wish) {
        let version = |linked| Some(self.mobiles.get(slot)?.bearer(linked)?.tunnel?.version);
        if wish.linked.and_then(version) == Some(Version::V0) {
            // 09.60 has no secondary contexts.
            let (cause, pco) = (Cause::ServiceNotSupported, None);
            return self.sm(cx, slot, SmEvent::CreateRejected { nsapi, cause, pco });
        }
        let asked = self.ask_for_tunnel(cx, slot, nsapi, wish);
        if asked.is_none() {
            self.sm(cx, slot, SmEvent::CreateFailed { nsapi });
        }
    }

    fn ask_for_tunnel(&mut self, cx: &mut Context<'_>, slot: Slot, nsapi: Nsapi, wish: Wish) -> Option<()> {
        let apn = self.access_points.get(wish.apn)?.clone();
        let ggsn = self.access_points.ggsn_of(&apn, self.imsi_of(slot))?;
        let name = self.make_bearer(cx, slot, nsapi)?;
        let teid = self.contexts.teid(name);
        let mobile = self.mobiles.get(slot)?;
        // A secondary context goes to the GGSN that has the other, which knows the rest (29.060 clause 7.3.1).
        let shared = match wish.linked {
            Some(linked) => Some(mobile.bearer(linked)?.tunnel?),
            None => None,
        };
        let is_first = shared.is_none();
        let (peer, version) = match shared {
            Some(tunnel) => (self.gtp.paths().get(tunnel.control_path)?.address, tunnel.version),
            None => (ggsn.address, ggsn.version),
        };
        let address = self.gtp.own_address(peer);
        let alternative = self.gtp.alternative_address(peer);
        let subscription = mobile.subscriber().map(Subscriber::data);
        let mode = selection_mode(subscription, &apn, wish.by_network);
        let request = CreateRequest {
            imsi: mobile.imsi().filter(|_| is_first),
            rai: Some(mobile.gmm.routing_area()),
            recovery: Some(self.config.restart_counter),
            selection_mode: is_first.then_some(mode),
            teid_data: teid,
            teid_control: Some(teid),
            nsapi,
            linked_nsapi: wish.linked,
            // Normal charging (32.015 clause 6).
            charging_characteristics: Some(0x0800),
            trace_reference: None,
            trace_type: None,
            end_user_address: is_first.then(|| end_user_address(wish.address)),
            apn: is_first.then_some(apn),
            pco: wish.pco.map(|pco| pco.0),
            sgsn_control: address,
            sgsn_user: address,
            alternative_control: alternative,
            alternative_user: alternative,
            msisdn: mobile
                .subscriber()
                .filter(|_| is_first)
                .and_then(|subscriber| subscriber.data().msisdn)
                .map(Msisdn::from),
            // 23.107 clause 9.1.2.2: the precedence class of R97 is the allocation/retention priority.
            qos: Qos::new(wish.qos.precedence.0, &wish.qos),
            tft: wish.tft.map(|tft| tft.0),
            trigger_id: None,
            omc_identity: None,
            common_flags: None,
            apn_restriction: None,
            rat_type: Some(RAT_TYPE_GERAN),
            user_location: Some(cell_of(mobile.gmm.cell().id)),
            ms_time_zone: None,
            imeisv: mobile.gmm.imei().filter(|_| is_first),
            private_extension: None,
        };
        let subscriber = mobile.imsi();
        let imsi = subscriber?;
        let control = shared.map_or(Teid(0), |tunnel| tunnel.peer_control);
        let to = Endpoint::of_peer(version, Tid { imsi, nsapi }, control);
        let key = self.requests.begin(Request { slot, nsapi, kind: Kind::Create, subscriber, ggsn: None });
        let sequence = self.request(cx, key, peer, to, &request.into())?;
        let creating = Creating { key, sequence, ggsn: peer };
        if let Some(former) = self.requests.create_sent(imsi, nsapi, creating) {
            self.gtp.cancel(former.sequence, former.key);
        }
        Some(())
    }

    pub(super) fn request(
        &mut self,
        cx: &mut Context<'_>,
        key: u64,
        to: IpAddr,
        endpoint: Endpoint,
        message: &Message,
    ) -> Option<u16> {
        let mut outputs = Batch::default();
        self.requests.sent(key, to);
        let sent = self.gtp.request(cx, key, to, endpoint, message, &mut outputs);
        self.gtp_outputs(cx, &mut outputs);
        if sent.is_none() {
            self.requests.end(key);
        }
        sent
    }

    fn ggsn_answered(
        &mut self,
        cx: &mut Context<'_>,
        key: u64,
        from: (IpAddr, IpAddr, Version),
        message: Result<Box<Message>, DecodeError>,
    ) {
        let Some((request, is_current)) = self.requests.end(key) else { return };
        let Request { slot, nsapi, kind, .. } = request;
        let message = message.map(|message| *message);
        match &message {
            Err(error) => self.explain_unreadable(cx, &request, from.0, error),
            Ok(Message::UpdateResponse(response)) if is_current => {
                self.tunnel_moved(cx, (slot, nsapi), (from.0, from.1), response);
            }
            Ok(_) => {}
        }
        match (kind, message) {
            (Kind::Create, Ok(Message::CreateResponse(response))) if is_current => {
                if !response.cause.is_accepted() {
                    let why = format_args!("NSAPI {nsapi}: GGSN {} refuses it: {}", from.0, response.cause);
                    cx.explain(Category::Pdp, self.imsi_of(slot), why);
                }
                if !self.created(cx, slot, nsapi, from, &response) {
                    self.take_down(cx, request, from, &response);
                }
            }
            // Nobody wants this tunnel any more, and no later one has taken its place.
            (Kind::Create, Ok(Message::CreateResponse(response))) => {
                self.take_down(cx, request, from, &response);
            }
            (Kind::Create, Ok(_) | Err(_)) if is_current => {
                self.sm(cx, slot, SmEvent::CreateFailed { nsapi });
            }
            (Kind::Update, answer) if is_current => self.update_answered(cx, (slot, nsapi), from.0, answer),
            (Kind::Delete, _) if is_current => self.tunnel_deleted(cx, slot, nsapi),
            (Kind::Requalify, Ok(Message::UpdateResponse(response))) if is_current => {
                self.requalified(cx, (slot, nsapi), from.0, &response);
            }
            // 29.060 clause 7.3.4: the GGSN does not have the context, or not for this node.
            (Kind::Moved, Ok(Message::UpdateResponse(response)))
                if is_current && !response.cause.is_accepted() =>
            {
                self.note_lost(cx, (slot, nsapi), from.0, "does not take it over from another node");
                self.tunnel_lost(cx, slot, nsapi, SmCause::ReactivationRequired);
            }
            (
                Kind::Create
                | Kind::Update
                | Kind::Requalify
                | Kind::Moved
                | Kind::Delete
                | Kind::Notification,
                _,
            ) => {}
        }
    }

    /// A tunnel that the GGSN has made and that is of no use here.
    fn take_down(
        &mut self,
        cx: &mut Context<'_>,
        request: Request,
        (peer, _, version): (IpAddr, IpAddr, Version),
        response: &CreateResponse,
    ) {
        if response.cause.is_accepted()
            && let Some(teid) = response.teid_control
            && let Some(imsi) = request.subscriber
        {
            let endpoint = Endpoint::of_peer(version, Tid { imsi, nsapi: request.nsapi }, teid);
            self.send_delete(cx, request, self.control_of(response, peer), endpoint);
        }
    }

    /// Takes the GGSN's answer. False where it has made a tunnel that cannot be used.
    fn created(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        nsapi: Nsapi,
        from: (IpAddr, IpAddr, Version),
        response: &CreateResponse,
    ) -> bool {
        let version = from.2;
        let pco = response.pco.clone().map(ProtocolConfiguration);
        if !response.cause.is_accepted() {
            cx.drop_of(Drop::SgsnGgsnRefused, self.imsi_of(slot));
            self.sm(cx, slot, SmEvent::CreateRejected { nsapi, cause: response.cause, pco });
            return true;
        }
        let mut response = self.with_what_is_shared(slot, nsapi, response);
        self.complete(cx, (slot, nsapi), from.0, &mut response);
        let tunnel = self.created_tunnel(cx, (slot, nsapi), from, &response);
        let Some((created, tunnel)) = tunnel else {
            self.sm(cx, slot, SmEvent::CreateFailed { nsapi });
            return false;
        };
        match self.mobiles.get_mut(slot).and_then(|mobile| mobile.bearer_mut(nsapi)) {
            Some(bearer) => {
                bearer.tunnel = Some(tunnel);
                bearer.allocation_retention = created.qos.allocation_retention;
                self.contexts.set_version(bearer.name, version);
                let name = bearer.name;
                self.note_charging_id(name, created.charging_id);
            }
            None => {
                self.close_tunnel(slot, nsapi, tunnel);
                return false;
            }
        }
        if version == Version::V1 {
            self.by_peer_endpoint.insert((tunnel.user_path, tunnel.peer_user, slot, nsapi));
        }
        let (qos, address) = (created.qos.profile(), pdp_address(&created.end_user_address));
        let created = SmCreated { qos, address, cause: response.cause, pco };
        self.sm(cx, slot, SmEvent::Created { nsapi, created });
        true
    }

    /// A GGSN need not say again of a secondary context what holds of the others of its address (29.060 clause 7.3.2).
    fn with_what_is_shared(&self, slot: Slot, nsapi: Nsapi, response: &CreateResponse) -> CreateResponse {
        let mut response = response.clone();
        let secondary = |mobile: &&Mobile| mobile.sm().get(nsapi).is_some_and(SmContext::is_secondary);
        let Some(mobile) = self.mobiles.get(slot).filter(secondary) else { return response };
        let address = mobile.sm().get(nsapi).map(|context| end_user_address(context.address()));
        let shared = mobile.sm().sharers(nsapi).find_map(|other| mobile.bearer(other)?.tunnel);
        let path = shared.and_then(|shared| self.gtp.paths().get(shared.control_path));
        response.end_user_address = response.end_user_address.or(address);
        response.teid_control = response.teid_control.or(shared.map(|shared| shared.peer_control));
        response.ggsn_control = response.ggsn_control.or(path.map(|path| path.address));
        response
    }

    /// Takes the tunnel from a context, and with it its flow.
    fn take_tunnel(&mut self, cx: &mut Context<'_>, slot: Slot, nsapi: Nsapi) -> Option<GtpTunnel> {
        self.update_abandoned(cx, slot, nsapi);
        let mobile = self.mobiles.get_mut(slot)?;
        let (whose, bearer) = (mobile.imsi(), mobile.bearer_mut(nsapi)?);
        let (tunnel, name) = (bearer.tunnel.take(), bearer.name);
        self.flow_gone(cx, slot, name, whose);
        tunnel
    }

    /// Gives a tunnel back that a context had.
    pub(in crate::sgsn) fn close_tunnel(&mut self, slot: Slot, nsapi: Nsapi, tunnel: GtpTunnel) {
        self.by_peer_endpoint.remove(&(tunnel.user_path, tunnel.peer_user, slot, nsapi));
        self.ggsn_addresses.set(slot, nsapi, Vec::new());
        self.origin_gone(slot, nsapi);
        self.gtp.close(tunnel);
    }

    // --------------------------------------------------------------------------------------------- taking down

    /// Delete PDP Context Request (29.060 clause 7.3.5). Where the tunnel is still being made, it is taken down as soon
    /// as the GGSN says that it is there.
    pub(super) fn delete_tunnel(&mut self, cx: &mut Context<'_>, slot: Slot, nsapi: Nsapi, tear_down: bool) {
        let abandoned = self.requests.abandon(slot, nsapi);
        let Some(tunnel) = self.take_tunnel(cx, slot, nsapi) else {
            if !abandoned {
                let line = format_args!("NSAPI {nsapi} has no tunnel to take down");
                cx.log_of(self.imsi_of(slot), Category::Gtp, Level::Debug, line);
            }
            self.tunnel_deleted(cx, slot, nsapi);
            return;
        };
        let to = self.gtp.paths().get(tunnel.control_path).map(|path| path.address);
        self.close_tunnel(slot, nsapi, tunnel);
        let key = self.requests.begin(Request {
            slot,
            nsapi,
            kind: Kind::Delete,
            subscriber: self.imsi_of(slot),
            ggsn: None,
        });
        let message =
            DeleteRequest { teardown: Some(tear_down), nsapi, pco: None, private_extension: None }.into();
        let endpoint = self
            .imsi_of(slot)
            .map(|imsi| Endpoint::of_peer(tunnel.version, Tid { imsi, nsapi }, tunnel.peer_control));
        let sent = to.zip(endpoint).and_then(|(to, endpoint)| self.request(cx, key, to, endpoint, &message));
        if sent.is_none() {
            self.tunnel_deleted(cx, slot, nsapi);
        }
    }

    /// A tunnel is gone. Who waits for that is told; a context that was forgotten at once does not wait.
    pub(super) fn tunnel_deleted(&mut self, cx: &mut Context<'_>, slot: Slot, nsapi: Nsapi) {
        if self.mobiles.get(slot).is_some_and(|mobile| mobile.sm().get(nsapi).is_some()) {
            self.sm(cx, slot, SmEvent::Deleted { nsapi });
        }
    }

    fn send_delete(&mut self, cx: &mut Context<'_>, of: Request, to: IpAddr, endpoint: Endpoint) {
        let key = self.requests.begin_abandoned(Request { kind: Kind::Delete, ..of });
        let message =
            DeleteRequest { teardown: Some(true), nsapi: of.nsapi, pco: None, private_extension: None }
                .into();
        self.request(cx, key, to, endpoint, &message);
    }

    // -------------------------------------------------------------------------------------------- from the GGSN

    fn ggsn_asks(
        &mut self,
        cx: &mut Context<'_>,
        transaction: &Transaction,
        endpoint: Endpoint,
        message: &Message,
    ) {
        match message {
            Message::DeleteRequest(request) => self.ggsn_deletes(cx, transaction, endpoint, request),
            Message::UpdateRequest(request) => self.ggsn_updates(cx, transaction, endpoint, request),
            Message::PduNotificationRequest(request) => self.ggsn_notifies(cx, transaction, request),
            other => {
                cx.log(
                    Category::Gtp,
                    Level::Info,
                    format_args!(
                        "GGSN {}: message of type {:#04x} refused",
                        transaction.peer,
                        other.message_type()
                    ),
                );
                let to = self.peer_control(transaction, endpoint);
                self.refuse(cx, transaction, to, Cause::ServiceNotSupported);
            }
        }
    }

    /// The GGSN deletes a context: the mobile is told (29.060 clause 7.3.5, 23.060 clause 9.2.4.3).
    fn ggsn_deletes(
        &mut self,
        cx: &mut Context<'_>,
        transaction: &Transaction,
        endpoint: Endpoint,
        request: &DeleteRequest,
    ) {
        let nsapi = request.nsapi;
        let Some(slot) = self.asked_about(cx, transaction, endpoint, nsapi) else {
            self.refuse(cx, transaction, Teid(0), Cause::NonExistent);
            return;
        };
        let to = self.peer_control(transaction, endpoint);
        let message =
            DeleteResponse { cause: Cause::RequestAccepted, pco: None, private_extension: None }.into();
        let mut outputs = Batch::default();
        self.gtp.respond(cx, transaction, to, &message, &mut outputs);
        self.gtp_outputs(cx, &mut outputs);
        let sharers = |mobile: &Mobile| mobile.sm().sharers(nsapi).collect::<Vec<_>>();
        let others = self.mobiles.get(slot).filter(|_| request.teardown == Some(true)).map(sharers);
        match others {
            Some(others) if !others.is_empty() => self.tunnels_torn_down(cx, slot, nsapi, &others),
            Some(_) | None => self.tunnel_lost(cx, slot, nsapi, SmCause::RegularDeactivation),
        }
    }

    /// All contexts of an address are gone at the GGSN: the mobile is told of one of them.
    fn tunnels_torn_down(&mut self, cx: &mut Context<'_>, slot: Slot, nsapi: Nsapi, others: &[Nsapi]) {
        for nsapi in others.iter().copied().chain([nsapi]) {
            if let Some(tunnel) = self.take_tunnel(cx, slot, nsapi) {
                self.close_tunnel(slot, nsapi, tunnel);
            }
        }
        let cause = SmCause::RegularDeactivation;
        self.sm(cx, slot, SmEvent::TearDown { nsapi, cause, tunnel_gone: true });
    }

    pub(super) fn refuse(&mut self, cx: &mut Context<'_>, transaction: &Transaction, to: Teid, cause: Cause) {
        let mut outputs = Batch::default();
        self.gtp.refuse(cx, transaction, to, cause, &mut outputs);
        self.gtp_outputs(cx, &mut outputs);
    }

    /// Contexts whose GGSN does not know them any more are deactivated towards the mobile, which by default is to activate
    /// them anew (23.007, restart of the GGSN); all others go on.
    fn tunnels_lost(&mut self, cx: &mut Context<'_>, ggsn: IpAddr, path: u16, counter: u8) {
        let mut affected = Vec::new();
        for (slot, mobile) in self.mobiles.iter() {
            let is_lost = |nsapi, tunnel| self.is_lost_by_restart((slot, nsapi), tunnel, path, counter);
            let bearers = mobile
                .bearers()
                .filter(|(nsapi, bearer)| bearer.tunnel.as_ref().is_some_and(|it| is_lost(*nsapi, it)));
            affected.extend(bearers.map(|(nsapi, _)| (slot, nsapi)));
        }
        for (slot, nsapi) in affected {
            self.note_lost(cx, (slot, nsapi), ggsn, "has restarted and lost it");
            self.tunnel_lost(cx, slot, nsapi, self.config.ggsn_restart_cause);
        }
    }

    /// A GGSN has not answered since its path failed, for as long as contexts wait for it: those that use the plane end here and
    /// at the mobiles. Nobody is asked to activate them anew at a GGSN that is not there.
    fn path_lost(&mut self, cx: &mut Context<'_>, ggsn: IpAddr, path: u16, plane: Plane) {
        let mut affected = Vec::new();
        for (slot, mobile) in self.mobiles.iter() {
            let uses = |bearer: &Bearer| bearer.tunnel.is_some_and(|tunnel| tunnel.uses(path, plane));
            let bearers = mobile.bearers().filter(|(_, bearer)| uses(bearer));
            affected.extend(bearers.map(|(nsapi, _)| (slot, nsapi)));
        }
        let count = affected.len();
        let text = format_args!("path to GGSN {ggsn} is given up, {plane}: {count} contexts end");
        cx.log(Category::Gtp, Level::Error, text);
        for (slot, nsapi) in affected {
            self.note_lost(cx, (slot, nsapi), ggsn, "does not answer any more");
            self.tunnel_lost(cx, slot, nsapi, SmCause::NetworkFailure);
        }
    }

    pub(super) fn tunnel_lost(&mut self, cx: &mut Context<'_>, slot: Slot, nsapi: Nsapi, cause: SmCause) {
        if let Some(tunnel) = self.take_tunnel(cx, slot, nsapi) {
            self.close_tunnel(slot, nsapi, tunnel);
        }
        self.sm(cx, slot, SmEvent::Deactivate { nsapi, cause, tunnel_gone: true });
    }
}

/// User Location Information of GERAN (29.060 clause 7.7.51).
const fn cell_of(cell: CellId) -> UserLocation {
    let CellId { rai, ci } = cell;
    UserLocation { kind: UserLocationKind::Cgi, plmn: rai.plmn, lac: rai.lac, code: ci }
}

pub(super) fn end_user_address(address: PdpAddress) -> EndUserAddress {
    match address.left_open() {
        PdpAddress::Ipv4Dynamic | PdpAddress::Empty => EndUserAddress::Ipv4(None),
        PdpAddress::Ipv4(address) => EndUserAddress::Ipv4(Some(address)),
        PdpAddress::Ipv6Dynamic => EndUserAddress::Ipv6(None),
        PdpAddress::Ipv6(address) => EndUserAddress::Ipv6(Some(address)),
        PdpAddress::Ipv4v6Dynamic => EndUserAddress::Ipv4v6(None, None),
        PdpAddress::Ipv4v6(v4, v6) => EndUserAddress::Ipv4v6(Some(v4), Some(v6)),
        PdpAddress::Ppp => EndUserAddress::Ppp,
        PdpAddress::Other { organisation, number } => {
            EndUserAddress::Other { organisation, number, address: Vec::new() }
        }
    }
}

fn pdp_address(address: &EndUserAddress) -> Option<PdpAddress> {
    match address {
        EndUserAddress::Ipv4(address) => address.map(PdpAddress::Ipv4),
        EndUserAddress::Ipv6(address) => address.map(PdpAddress::Ipv6),
        EndUserAddress::Ipv4v6(Some(v4), Some(v6)) => Some(PdpAddress::Ipv4v6(*v4, *v6)),
        EndUserAddress::Ipv4v6(v4, v6) => v4.map(PdpAddress::Ipv4).or(v6.map(PdpAddress::Ipv6)),
        EndUserAddress::Ppp => Some(PdpAddress::Ppp),
        EndUserAddress::Other { .. } => None,
    }
}
