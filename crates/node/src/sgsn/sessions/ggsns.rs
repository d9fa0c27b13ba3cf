//! Which addresses a context's GGSN has, and what is taken from them.

use super::tunnels::end_user_address;
use crate::sgsn::Sgsn;
use crate::slots::Slot;
use core::net::IpAddr;
use gannet_machine::drops::Drop;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Context, Peer};
use gannet_proto::about::About as _;
use gannet_proto::gtp::{Endpoint, GsnAddresses, GtpTunnel, Transaction, Version};
use gannet_wire::gtp::header::message_type;
use gannet_wire::gtp::ie;
use gannet_wire::gtp::v1c::{CreateResponse, Created};
use gannet_wire::gtp::value::Qos;
use gannet_wire::id::{Nsapi, Teid};
use std::collections::BTreeMap;

/// Addresses of GGSNs besides those of their tunnels, by context: where the Create went and where its answer came from, and
/// alternative ones.
#[derive(Debug, Default)]
pub struct GgsnAddresses(BTreeMap<(Slot, Nsapi), Vec<IpAddr>>);

/// From where a context's GGSN has answered its Create, and with which restart counter, by context.
#[derive(Debug, Default)]
pub struct GgsnOrigins(BTreeMap<(Slot, Nsapi), Origin>);

/// Of one context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Origin {
    /// The path of the address that the answer came from.
    path: u16,
    /// The GGSN's restart counter at that time.
    pub counter: Option<u8>,
}

impl GgsnOrigins {
    /// Contexts that have one.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The GGSN has told its counter anew.
    pub(super) fn note_counter(&mut self, slot: Slot, nsapi: Nsapi, counter: u8) {
        if let Some(origin) = self.0.get_mut(&(slot, nsapi)) {
            origin.counter = Some(counter);
        }
    }
}

impl GgsnAddresses {
    /// Of a context.
    #[must_use]
    pub fn of(&self, slot: Slot, nsapi: Nsapi) -> &[IpAddr] {
        self.0.get(&(slot, nsapi)).map_or(&[], Vec::as_slice)
    }

    /// Keeps them.
    pub fn set(&mut self, slot: Slot, nsapi: Nsapi, addresses: Vec<IpAddr>) {
        self.0.remove(&(slot, nsapi));
        if !addresses.is_empty() {
            self.0.insert((slot, nsapi), addresses);
        }
    }

    /// Contexts that have some.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl Sgsn {
    pub(super) fn address_of(&self, path: u16) -> Option<IpAddr> {
        self.gtp.paths().get(path).map(|path| path.address)
    }

    pub(super) fn tunnel_of(&self, slot: Slot, nsapi: Nsapi) -> Option<GtpTunnel> {
        self.mobiles.get(slot)?.bearer(nsapi)?.tunnel
    }

    /// All addresses that are known of a context's GGSN.
    fn known(&self, slot: Slot, nsapi: Nsapi) -> impl Iterator<Item = IpAddr> {
        let tunnel = self.tunnel_of(slot, nsapi);
        let paths = tunnel.map(|tunnel| [tunnel.user_path, tunnel.control_path]);
        let of_paths = paths.into_iter().flatten().filter_map(|path| self.address_of(path));
        of_paths.chain(self.ggsn_addresses.of(slot, nsapi).iter().copied())
    }

    /// Is this one of the addresses of a context's GGSN, or one that may speak for it? Whoever else speaks of the context is not
    /// believed.
    pub(super) fn is_ggsn_of(&self, slot: Slot, nsapi: Nsapi, peer: IpAddr) -> bool {
        self.tunnel_of(slot, nsapi).is_some() && self.gtp.believes(peer, self.known(slot, nsapi))
    }

    /// May a G-PDU for a context come from here? Counted and logged where it may not.
    pub(in crate::sgsn) fn is_from_ggsn(
        &mut self,
        cx: &mut Context<'_>,
        (slot, nsapi): (Slot, Nsapi),
        peer: Peer,
    ) -> bool {
        let (Some(tunnel), Peer::Udp(from)) = (self.tunnel_of(slot, nsapi), peer) else { return true };
        let (from, user) = (from.ip(), self.address_of(tunnel.user_path));
        if user == Some(from) || self.gtp.believes_user(from, self.known(slot, nsapi)) {
            self.gtp.heard(tunnel.user_path);
            return true;
        }
        let whose = self.imsi_of(slot);
        self.gtp.foreign(cx, Drop::GtpForeignUser, whose, "G-PDU", (from, user));
        false
    }

    /// Counts and logs a message about a context from an address that is not believed.
    pub(super) fn note_foreign(
        &mut self,
        cx: &mut Context<'_>,
        (slot, nsapi): (Slot, Nsapi),
        what: &str,
        from: IpAddr,
    ) {
        let of = self.tunnel_of(slot, nsapi).and_then(|tunnel| self.address_of(tunnel.control_path));
        let whose = self.imsi_of(slot);
        self.gtp.foreign(cx, Drop::SgsnForeignGgsn, whose, what, (from, of));
    }

    /// The mobile with the context that a request of a GGSN concerns, where it is that GGSN's. The endpoint may be that of
    /// another context of the same address: a GGSN may keep to the first one (29.060 clause 7.3.1).
    pub(super) fn asked_about(
        &mut self,
        cx: &mut Context<'_>,
        transaction: &Transaction,
        endpoint: Endpoint,
        asked: Nsapi,
    ) -> Option<Slot> {
        let from = transaction.peer.ip();
        let (slot, nsapi) = self.context_at(endpoint)?;
        if !self.is_ggsn_of(slot, nsapi, from) {
            let what = match transaction.request {
                message_type::DELETE_REQUEST => "Delete request",
                message_type::UPDATE_REQUEST => "Update request",
                _ => "request",
            };
            self.note_foreign(cx, (slot, nsapi), what, from);
            return None;
        }
        let mobile = self.mobiles.get(slot)?;
        let shares = || mobile.sm().sharers(nsapi).any(|other| other == asked);
        (nsapi == asked || shares() && self.is_ggsn_of(slot, asked, from)).then_some(slot)
    }

    /// Which contexts an Error Indication names, by the GGSN's endpoint or by the TID of our G-PDU.
    pub(super) fn missing_at_ggsn(&self, path: u16, endpoint: Endpoint) -> Vec<(Slot, Nsapi)> {
        match endpoint {
            Endpoint::Teid(teid) => {
                let slot = |index, generation| Slot { index, generation };
                let first = (path, teid, slot(0, 0), Nsapi(0));
                let last = (path, teid, slot(u32::MAX, u16::MAX), Nsapi(u8::MAX));
                let named = self.by_peer_endpoint.range(first..=last);
                named.map(|(_, _, slot, nsapi)| (*slot, *nsapi)).collect()
            }
            Endpoint::Tid { tid, .. } => {
                let found = self.context_by_tid(tid);
                let found = found.filter(|(_, bearer)| {
                    bearer
                        .tunnel
                        .is_some_and(|tunnel| tunnel.version == Version::V0 && tunnel.user_path == path)
                });
                found.map(|(slot, _)| (slot, tid.nsapi)).into_iter().collect()
            }
        }
    }

    /// A GGSN does not know the endpoint of a context, where it is that GGSN who says so (29.060 clause 7.3.7).
    pub(super) fn endpoint_missing(
        &mut self,
        cx: &mut Context<'_>,
        peer: IpAddr,
        path: u16,
        endpoint: Endpoint,
    ) {
        let named = self.missing_at_ggsn(path, endpoint);
        if named.is_empty() {
            return cx.drop(Drop::GtpUnexpectedErrorIndication, None);
        }
        let believed: Vec<_> =
            named.iter().copied().filter(|(slot, nsapi)| self.is_ggsn_of(*slot, *nsapi, peer)).collect();
        if let (true, Some(context)) = (believed.is_empty(), named.first()) {
            return self.note_foreign(cx, *context, "Error Indication", peer);
        }
        for (slot, nsapi) in believed {
            self.note_lost(cx, (slot, nsapi), peer, "says by an Error Indication that it does not have it");
            // The mobile may make it anew. Mostly the GGSN has restarted, and says so later.
            let cause = self.asked_anew.cause(cx.now, slot, nsapi);
            self.tunnel_lost(cx, slot, nsapi, cause);
        }
    }

    /// Where a GGSN's answer to a Create says that its tunnel ends; `None`, counted and logged, where an element is missing or
    /// its addresses cannot be reached from here.
    pub(super) fn created_tunnel(
        &mut self,
        cx: &mut Context<'_>,
        (slot, nsapi): (Slot, Nsapi),
        (peer, asked, version): (IpAddr, IpAddr, Version),
        response: &CreateResponse,
    ) -> Option<(Created, GtpTunnel)> {
        let whose = self.imsi_of(slot);
        let created = match response.created() {
            Ok(created) => created,
            Err(error) => {
                cx.drop_of(Drop::GtpIncomplete, whose);
                let text = format_args!("NSAPI {nsapi}: refused, Create response from {peer}: {error}");
                cx.explain(Category::Gtp, whose, text);
                return None;
            }
        };
        let named = named_by_response(response);
        let Some((control, user)) = self.gtp.reachable(&named) else {
            cx.drop_of(Drop::GtpUnreachable, whose);
            let addresses: Vec<String> = named.iter().map(|address| address.to_string()).collect();
            let text = format_args!(
                "NSAPI {nsapi}: Create response from {peer}: GSN Address {} cannot be reached from here",
                addresses.join(", ")
            );
            cx.log(Category::Gtp, Level::Notice, text);
            return None;
        };
        let recovery = response.recovery.map(|counter| (peer, counter));
        let ends = ((control, created.teid_control), (user, created.teid_data));
        let path = self.gtp.open_origin(cx, version, peer, response.recovery)?;
        let Some(tunnel) = self.gtp.open(cx, version, ends.0, ends.1, recovery) else {
            self.gtp.close_origin(path);
            return None;
        };
        self.origin_gone(slot, nsapi);
        self.ggsn_origins.0.insert((slot, nsapi), Origin { path, counter: response.recovery });
        let mut others: Vec<IpAddr> = named.iter().chain([peer, asked]).collect();
        others.sort_unstable();
        others.dedup();
        others.retain(|address| *address != control && *address != user);
        self.ggsn_addresses.set(slot, nsapi, others);
        Some((created, tunnel))
    }

    /// Puts in what a GGSN has left out of its answer to a Create and a context can live without, though 29.060 clause 7.3.2 has
    /// it there; what it has left out is named. An endpoint is not guessed: see [`Sgsn::created_tunnel`].
    pub(super) fn complete(
        &self,
        cx: &mut Context<'_>,
        (slot, nsapi): (Slot, Nsapi),
        peer: IpAddr,
        response: &mut CreateResponse,
    ) {
        fn put<T>(place: &mut Option<T>, kind: u8, value: T, left_out: &mut Vec<&'static str>) {
            if place.is_none() {
                *place = Some(value);
                left_out.push(ie::name(kind));
            }
        }
        let context = self.mobiles.get(slot).and_then(|mobile| mobile.sm().get(nsapi));
        let Some((qos, address)) = context.map(|context| (context.qos(), context.address())) else { return };
        let mut left_out = Vec::new();
        // The address that the mobile has asked for: a dynamic one is not known here, and may reach it by DHCP or PPP.
        put(&mut response.end_user_address, ie::END_USER_ADDRESS, end_user_address(address), &mut left_out);
        put(&mut response.charging_id, ie::CHARGING_ID, 0, &mut left_out);
        if let Some(control) = response.ggsn_control {
            put(&mut response.ggsn_user, ie::GSN_ADDRESS, control, &mut left_out);
        }
        let asked = Qos::new(qos.precedence.0, &qos);
        put(&mut response.qos, ie::QOS_PROFILE, asked, &mut left_out);
        if !left_out.is_empty() {
            let whose = self.imsi_of(slot);
            cx.drop_of(Drop::GtpElementAbsent, whose);
            let text = format_args!(
                "NSAPI {nsapi}: Create response from {peer} is taken without {}",
                left_out.join(", ")
            );
            cx.log_of(whose, Category::Gtp, Level::Notice, text);
        }
    }

    /// A context has no GGSN any more.
    pub(super) fn origin_gone(&mut self, slot: Slot, nsapi: Nsapi) {
        if let Some(origin) = self.ggsn_origins.0.remove(&(slot, nsapi)) {
            self.gtp.close_origin(origin.path);
        }
    }

    /// Has the GGSN of a context lost it, when the peer of this path has restarted and has now this counter? Not where the context
    /// was made since then.
    pub(super) fn is_lost_by_restart(
        &self,
        (slot, nsapi): (Slot, Nsapi),
        tunnel: &GtpTunnel,
        path: u16,
        counter: u8,
    ) -> bool {
        let origin = self.ggsn_origins.0.get(&(slot, nsapi));
        let is_there = tunnel.control_path == path
            || tunnel.user_path == path
            || origin.is_some_and(|origin| origin.path == path);
        is_there && origin.and_then(|origin| origin.counter) != Some(counter)
    }

    /// Where a tunnel is taken down that a GGSN has made and that is of no use here: at the address that it names, if that can
    /// be reached.
    pub(super) fn control_of(&self, response: &CreateResponse, peer: IpAddr) -> IpAddr {
        let named = named_by_response(response).control.into_iter().flatten();
        named.into_iter().find(|address| self.gtp.is_reachable(*address)).unwrap_or(peer)
    }

    /// Where a GGSN hears the answer to a request that names this endpoint of ours; 0 where the context is not its own.
    pub(super) fn peer_control(&self, transaction: &Transaction, endpoint: Endpoint) -> Teid {
        let known = self.context_at(endpoint);
        let known = known.filter(|(slot, nsapi)| self.is_ggsn_of(*slot, *nsapi, transaction.peer.ip()));
        let tunnel = known.and_then(|(slot, nsapi)| self.tunnel_of(slot, nsapi));
        tunnel.map_or(Teid(0), |tunnel| tunnel.peer_control)
    }
}

const fn named_by_response(response: &CreateResponse) -> GsnAddresses {
    GsnAddresses {
        control: [response.ggsn_control, response.alternative_control],
        user: [response.ggsn_user, response.alternative_user],
    }
}
