//! Which SGSN a context belongs to, and from which addresses messages about it are taken.
//!
//! A context belongs to the address that its Create came from (its origin) and to the control address that this named. It
//! is lost when one of these says that it has restarted, under another counter than that of the context.

use super::context::PdpContext;
use super::{AccessPoint, Addresses, AfterRestart, DeleteReason, Ggsn};
use crate::slots::Slot;
use core::net::IpAddr;
use gannet_machine::drops::Drop;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Context, Peer};
use gannet_proto::about::About as _;
use gannet_proto::gtp::{Endpoint, GsnAddresses, Plane, Transaction, Version};
use gannet_wire::gtp::Cause;
use gannet_wire::gtp::header::message_type;
use gannet_wire::gtp::v1c::{CreateRequest, UpdateRequest};
use gannet_wire::id::{Imsi, Teid};

/// The ends of a tunnel to an SGSN, and what else it named.
pub(super) struct Ends {
    pub control: IpAddr,
    pub user: IpAddr,
    /// All addresses that it named.
    pub named: Vec<IpAddr>,
}

/// What a request is called in a line.
pub(super) const fn name_of(request: u8) -> &'static str {
    match request {
        message_type::CREATE_REQUEST => "Create",
        message_type::UPDATE_REQUEST => "Update",
        message_type::DELETE_REQUEST => "Delete",
        _ => "other",
    }
}

pub(super) const fn named_by_create(request: &CreateRequest) -> GsnAddresses {
    GsnAddresses {
        control: [Some(request.sgsn_control), request.alternative_control],
        user: [Some(request.sgsn_user), request.alternative_user],
    }
}

pub(super) const fn named_by_update(request: &UpdateRequest) -> GsnAddresses {
    GsnAddresses {
        control: [request.sgsn_control, request.alternative_control],
        user: [request.sgsn_user, request.alternative_user],
    }
}

impl Ggsn {
    /// The ends that an SGSN names, or the cause of the refusal: a mandatory address is of no use to this node (29.060 clauses
    /// 7.3.1, 7.3.3 and 11.1.7).
    pub(super) fn ends(
        &self,
        cx: &mut Context<'_>,
        transaction: &Transaction,
        named: &GsnAddresses,
        whose: Option<Imsi>,
    ) -> Result<Ends, Cause> {
        // Version 0 has one socket, of IPv4; its GSN Address is that of 09.60 clause 7.9.23.
        let usable = match transaction.version() {
            Version::V0 => named.of_ipv4(),
            Version::V1 => *named,
        };
        if let Some((control, user)) = self.gtp.reachable(&usable) {
            return Ok(Ends { control, user, named: named.iter().collect() });
        }
        cx.drop_of(Drop::GtpUnreachable, whose);
        let what = name_of(transaction.request);
        let addresses: Vec<String> = named.iter().map(|address| address.to_string()).collect();
        let text = format_args!(
            "{what} request from {}: GSN Address {} cannot be reached from here",
            transaction.peer.ip(),
            addresses.join(", ")
        );
        cx.log(Category::Gtp, Level::Notice, text);
        Err(Cause::MandatoryIeIncorrect)
    }

    pub(super) fn address_of(&self, path: u16) -> Option<IpAddr> {
        self.gtp.paths().get(path).map(|path| path.address)
    }

    /// The address of the SGSN for signalling.
    pub(super) fn sgsn_of(&self, context: &PdpContext) -> Option<IpAddr> {
        self.address_of(context.tunnel.control_path)
    }

    /// All addresses that are known of a context's SGSN.
    fn known<'a>(&'a self, context: &'a PdpContext) -> impl Iterator<Item = IpAddr> + 'a {
        let paths = [context.tunnel.user_path, context.tunnel.control_path, context.origin];
        let of_paths = paths.into_iter().filter_map(|path| self.address_of(path));
        of_paths.chain(context.named.iter().copied())
    }

    /// Is a message about a context taken from this address?
    pub(super) fn is_believed(&self, slot: Slot, from: IpAddr) -> bool {
        self.contexts.get(slot).is_some_and(|context| self.gtp.believes(from, self.known(context)))
    }

    /// Is this address known of a context's SGSN, whoever may speak for it?
    pub(super) fn is_known(&self, slot: Slot, from: IpAddr) -> bool {
        self.contexts.get(slot).is_some_and(|context| self.known(context).any(|known| known == from))
    }

    /// The same of a G-PDU; counted and logged where it is not.
    pub(super) fn is_from_sgsn(&mut self, cx: &mut Context<'_>, slot: Slot, peer: Peer) -> bool {
        let (Some(context), Peer::Udp(from)) = (self.contexts.get(slot), peer) else { return true };
        let from = from.ip();
        if self.address_of(context.tunnel.user_path) == Some(from)
            || self.gtp.believes_user(from, self.known(context))
        {
            self.gtp.heard(context.tunnel.user_path);
            return true;
        }
        let (whose, of) = (Some(context.imsi), self.address_of(context.tunnel.user_path));
        self.gtp.foreign(cx, Drop::GtpForeignUser, whose, "G-PDU", (from, of));
        false
    }

    /// Does an address name an endpoint that it cannot know? One that existed lately it may know, and so may the SGSN of an
    /// endpoint that still exists for something else.
    pub(super) fn is_guess(&self, endpoint: Endpoint, from: IpAddr) -> bool {
        let is_its_own = self.contexts.by_control(endpoint).is_some_and(|slot| self.is_known(slot, from));
        !is_its_own && !self.contexts.was_used(endpoint)
    }

    /// A request names no context; counted where its endpoint is guessed.
    pub(super) fn note_missing(&mut self, cx: &mut Context<'_>, endpoint: Endpoint, from: IpAddr) {
        if self.is_guess(endpoint, from) {
            self.gtp.missed(cx, from);
        }
    }

    /// The context that a request is about, where it may come from where it does. Whoever may not is answered as if there were
    /// no such context.
    pub(super) fn believed(
        &mut self,
        cx: &mut Context<'_>,
        transaction: &Transaction,
        (endpoint, found): (Endpoint, Option<Slot>),
    ) -> Option<Slot> {
        let from = transaction.peer.ip();
        let Some(slot) = found else {
            self.note_missing(cx, endpoint, from);
            return None;
        };
        if self.is_believed(slot, from) {
            return Some(slot);
        }
        self.note_foreign(cx, Drop::GgsnForeignSgsn, slot, transaction);
        None
    }

    pub(super) fn note_foreign(
        &mut self,
        cx: &mut Context<'_>,
        drop: Drop,
        slot: Slot,
        transaction: &Transaction,
    ) {
        let Some(context) = self.contexts.get(slot) else { return };
        let (whose, of) = (Some(context.imsi), self.sgsn_of(context));
        let what = format_args!("{} request", name_of(transaction.request));
        self.gtp.foreign(cx, drop, whose, what, (transaction.peer.ip(), of));
    }

    /// May an Update move a context (29.060 clause 7.3.3)? True where it comes from the context's SGSN, or from one that may
    /// take it over.
    pub(super) fn may_update(&mut self, cx: &mut Context<'_>, slot: Slot, transaction: &Transaction) -> bool {
        let from = transaction.peer.ip();
        if self.is_known(slot, from) || self.gtp.may_move(from, cx.now) {
            return true;
        }
        self.note_foreign(cx, Drop::GgsnMoveRefused, slot, transaction);
        false
    }

    /// An Update has come from an address that the context did not know: it belongs there from now on. `origin` is the path of that.
    pub(super) fn moved(&mut self, slot: Slot, from: IpAddr, origin: u16) {
        let Some(context) = self.contexts.get_mut(slot) else { return };
        let was = core::mem::replace(&mut context.origin, origin);
        self.gtp.close_origin(was);
        if self.gtp.listed(from).is_some() {
            self.count_as_listed(slot);
        }
    }

    /// The addresses of a context's SGSN, for signalling and for user traffic.
    pub(super) fn ends_of(&self, context: &PdpContext) -> [Option<IpAddr>; 2] {
        [self.sgsn_of(context), self.address_of(context.tunnel.user_path)]
    }

    /// Tells that an Update `from` an address has moved a context, whose SGSN was at `was`.
    pub(super) fn note_move(&self, cx: &mut Context<'_>, slot: Slot, from: IpAddr, was: [Option<IpAddr>; 2]) {
        let Some(context) = self.contexts.get(slot) else { return };
        let (imsi, nsapi, is) = (context.imsi, context.nsapi, self.ends_of(context));
        let text = |address: Option<IpAddr>| address.map_or_else(|| "-".to_owned(), |it| it.to_string());
        let [was_control, was_user] = was.map(text);
        let [control, user] = is.map(text);
        let is_split = was_user != was_control || user != control;
        let users =
            if is_split { format!(", user traffic from {was_user} to {user}") } else { String::new() };
        let by = if is[0] == Some(from) { String::new() } else { format!(", as {from} says") };
        let line =
            format_args!("IMSI {imsi} NSAPI {nsapi}: moved from {was_control} to {control}{users}{by}");
        cx.log(Category::Pdp, Level::Notice, line);
    }

    // -------------------------------------------------------------------------------------------------- limits

    /// PDP contexts whose requests came from an address.
    fn contexts_of(&self, address: IpAddr) -> u32 {
        let of = |version| {
            let paths = self.gtp.paths();
            paths.find(address, version).and_then(|path| paths.get(path)).map_or(0, |path| path.origins)
        };
        of(Version::V0) + of(Version::V1)
    }

    /// May an address have another context? A listed one up to its own limit. All others together may have half of the
    /// contexts, as long as any is listed.
    pub(super) fn within_limits(&self, cx: &mut Context<'_>, from: IpAddr) -> Result<(), Cause> {
        let is_full = match self.gtp.listed(from) {
            Some(peer) => peer.contexts_max.is_some_and(|max| self.contexts_of(from) >= max),
            None if self.gtp.lists_peers() => {
                let unlisted =
                    self.gtp.paths().iter().filter(|(_, path)| self.gtp.listed(path.address).is_none());
                unlisted.map(|(_, path)| path.origins).sum::<u32>() >= self.config.context_limit / 2
            }
            None => false,
        };
        if is_full {
            cx.drop(Drop::GgsnPeerLimit, None);
            return Err(Cause::NoResourcesAvailable);
        }
        Ok(())
    }

    /// Is there room in a pool for what an address wants of IPv4 and IPv6? All that are not listed have half of each together, as
    /// long as any is listed.
    pub(super) fn has_unlisted_room(&self, point: &AccessPoint, from: IpAddr, wants: [bool; 2]) -> bool {
        let is_full =
            [point.unlisted.v4 >= point.v4.capacity() / 2, point.unlisted.v6 >= point.v6.capacity() / 2];
        let is_short = wants.into_iter().zip(is_full).any(|(wants, is_full)| wants && is_full);
        !self.is_limited(from) || !is_short
    }

    /// Is an address one of those that are limited together, since others are listed?
    pub(super) fn is_limited(&self, from: IpAddr) -> bool {
        self.gtp.lists_peers() && self.gtp.listed(from).is_none()
    }

    /// Is there room in the table of paths for what an address names? All that are not listed have half of it together, as long
    /// as any is listed.
    pub(super) fn has_path_room(&self, from: IpAddr, version: Version, ends: [IpAddr; 2]) -> bool {
        if !self.is_limited(from) {
            return true;
        }
        let paths = self.gtp.paths();
        let is_unlisted = |address: IpAddr| self.gtp.listed(address).is_none();
        let mut new: Vec<IpAddr> = [from].into_iter().chain(ends).collect();
        new.retain(|address| is_unlisted(*address) && paths.find(*address, version).is_none());
        new.sort_unstable();
        new.dedup();
        let held = paths.iter().filter(|(_, path)| is_unlisted(path.address)).count();
        new.is_empty() || held + new.len() <= usize::from(self.gtp.config().path_limit / 2)
    }

    fn count_as_listed(&mut self, slot: Slot) {
        let Some(context) = self.contexts.get(slot).filter(|context| context.is_unlisted) else { return };
        let (apn, address): (usize, Addresses) = (context.apn.into(), context.address);
        for slot in self.sharers(slot) {
            if let Some(context) = self.contexts.get_mut(slot) {
                context.is_unlisted = false;
            }
        }
        if let Some(point) = self.access_points.get_mut(apn) {
            point.discount_unlisted(address);
        }
    }

    // ---------------------------------------------------------------------------------------------------- lost

    /// An SGSN has restarted: the contexts that belong to that path are gone. Where the configuration says so, the SGSN is told of each,
    /// but of none whose endpoint it has `reused` in its first request: it would delete the new context.
    pub(super) fn sgsn_restarted(
        &mut self,
        cx: &mut Context<'_>,
        path: u16,
        counter: u8,
        reused: Option<Teid>,
    ) {
        let concerns = |context: &PdpContext| {
            let is_there = context.origin == path || context.tunnel.control_path == path;
            is_there && context.counter != Some(counter)
        };
        match self.config.after_restart {
            AfterRestart::Forget => self.delete_where(cx, DeleteReason::PeerRestarted, concerns),
            AfterRestart::Delete => {
                let is_reused = |context: &PdpContext| reused == Some(context.tunnel.peer_control);
                self.delete_where(cx, DeleteReason::PeerRestarted, |of| concerns(of) && is_reused(of));
                let slots: Vec<Slot> =
                    self.contexts.iter().filter(|(_, of)| concerns(of)).map(|(slot, _)| slot).collect();
                slots
                    .into_iter()
                    .for_each(|slot| self.ask_to_delete_for(cx, slot, DeleteReason::PeerRestarted));
            }
        }
    }

    /// An SGSN has not answered since its path failed, for as long as contexts wait for it: those that use the plane are gone.
    pub(super) fn path_lost(&mut self, cx: &mut Context<'_>, path: u16, plane: Plane) {
        self.delete_where(cx, DeleteReason::PathFailed, |context| context.tunnel.uses(path, plane));
    }

    /// An Error Indication names an endpoint: the contexts that have it, and whose SGSN says so, are gone (29.060 clause 7.3.7).
    pub(super) fn missing(&mut self, cx: &mut Context<'_>, slots: &[Slot], from: IpAddr) {
        let (believed, foreign): (Vec<Slot>, Vec<Slot>) =
            slots.iter().copied().partition(|slot| self.is_believed(*slot, from));
        match (believed.is_empty(), foreign.first().and_then(|slot| self.contexts.get(*slot))) {
            (true, Some(context)) => {
                let (whose, of) = (Some(context.imsi), self.address_of(context.tunnel.user_path));
                let drop = Drop::GtpForeignErrorIndication;
                self.gtp.foreign(cx, drop, whose, "Error Indication", (from, of));
            }
            (true, None) => cx.drop(Drop::GtpUnexpectedErrorIndication, None),
            (false, _) => {
                believed.into_iter().for_each(|slot| self.delete(cx, slot, DeleteReason::ErrorIndication));
            }
        }
    }

    /// Where the answer to a request goes that names one of our endpoints and nothing else: 0 for whoever is not believed.
    pub(super) fn answered_to(&self, slot: Option<Slot>, from: IpAddr) -> (Teid, Option<Imsi>) {
        let believed = slot.filter(|slot| self.is_believed(*slot, from));
        let context = believed.and_then(|slot| self.contexts.get(slot));
        context.map_or((Teid(0), None), |context| (context.tunnel.peer_control, Some(context.imsi)))
    }
}
