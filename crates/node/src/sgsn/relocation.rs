//! A mobile leaves as octets, and arrives as octets: restart, change of core, inter-SGSN routing area update and a pool
//! are this one mechanism.
//!
//! Everything about the mobile is in the octets. Indices into this node's tables are not: its tunnels name their paths
//! by address and its contexts their APN by name. Its contexts keep their TEIDs where it arrives at a node with the same key
//! ([`TeidKey`](gannet_proto::gtp::TeidKey)). Elsewhere they get new ones, of which the GGSNs are told (Update PDP Context).
//!
//! What [`super::durable`] keeps for the time after a restart are the same octets.

use super::Sgsn;
use super::contexts::ContextRef;
use super::mobile::Mobile;
use super::sessions::Kind;
use crate::sgsn::owner::Owner;
use crate::slots::Slot;
use core::net::IpAddr;
use gannet_machine::Context;
use gannet_proto::gtp::{GtpTunnel, Version};
use gannet_proto::sm::network::{SmContext, SmEvent, SmState};
use gannet_wire::fcs24::{FCS_LEN, fcs24};
use gannet_wire::id::{Imsi, Nsapi};
use gannet_wire::l3::ie::Apn;
use serde::{Deserialize, Serialize};

/// The addresses of one tunnel's far end, and the name of its access point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Endpoint {
    nsapi: Nsapi,
    control: IpAddr,
    user: IpAddr,
    /// Other addresses of the GGSN.
    others: Vec<IpAddr>,
}

/// The first octet of what travels: another layout is another number.
pub const LAYOUT: u8 = 22;

/// What travels, between [`LAYOUT`] and an FCS-24 of all octets before it.
#[derive(Debug, Deserialize)]
struct Travelling {
    /// Under which key its contexts have their TEIDs.
    key: u32,
    slot: Slot,
    mobile: Mobile,
    endpoints: Vec<Endpoint>,
    apns: Vec<(u16, Apn)>,
}

/// The same where it is, to be written.
#[derive(Debug, Serialize)]
struct Leaving<'a> {
    key: u32,
    slot: Slot,
    mobile: &'a Mobile,
    endpoints: Vec<Endpoint>,
    apns: Vec<(u16, &'a Apn)>,
}

/// Why a mobile could not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportError {
    /// The octets are no mobile, or damaged.
    Unreadable,
    /// The octets are a mobile in the layout of another version.
    OtherLayout(u8),
    /// The subscriber, or a mobile with the same P-TMSI, is here already.
    Present,
    /// The table of mobiles or of paths is full.
    Full,
    /// Another context has the place that one of its TEIDs names. Its GGSN sends to that TEID, so it cannot have another.
    TeidTaken,
}

impl core::fmt::Display for ImportError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Unreadable => f.write_str("it is damaged"),
            Self::OtherLayout(layout) => {
                write!(f, "it has layout {layout}, and this version layout {LAYOUT}")
            }
            Self::Present => f.write_str("the subscriber or its P-TMSI is here already"),
            Self::Full => f.write_str("a table is full"),
            Self::TeidTaken => f.write_str("another context has one of its TEIDs"),
        }
    }
}

impl Sgsn {
    /// Takes a mobile out as octets; `None` where it is not here. Frames that are held for it are dropped by name; its
    /// tunnels and its timers go with it.
    pub fn export(&mut self, cx: &mut Context<'_>, imsi: Imsi) -> Option<Vec<u8>> {
        let slot = self.directory.by_imsi(imsi)?;
        let octets = self.copy_out(slot)?;
        // What is not confirmed goes on where it arrives.
        self.forget_sndcp(slot);
        self.forget_mobile(cx, slot);
        Some(octets)
    }

    /// A mobile as octets, which stays.
    #[must_use]
    pub fn copy_out(&self, slot: Slot) -> Option<Vec<u8>> {
        let mut octets = Vec::new();
        self.copy_out_to(slot, &mut octets)?;
        Some(octets)
    }

    /// The same into memory that is there already, whose content goes.
    pub(super) fn copy_out_to(&self, slot: Slot, octets: &mut Vec<u8>) -> Option<()> {
        let mobile = self.mobiles.get(slot)?;
        let path = |index| self.gtp.paths().get(index).map(|path| path.address);
        let endpoints = mobile.bearers().filter_map(|(nsapi, bearer)| {
            let tunnel = bearer.tunnel?;
            let others = self.ggsn_addresses.of(slot, nsapi).to_vec();
            let (control, user) = (path(tunnel.control_path)?, path(tunnel.user_path)?);
            Some(Endpoint { nsapi, control, user, others })
        });
        let apns = mobile.sm().iter().filter_map(|(_, context)| {
            let apn = self.access_points.get(context.apn())?;
            Some((context.apn(), apn))
        });
        let (key, endpoints, apns) = (self.contexts.key().id(), endpoints.collect(), apns.collect());
        let leaving = Leaving { key, slot, mobile, endpoints, apns };
        octets.clear();
        octets.push(LAYOUT);
        *octets = postcard::to_extend(&leaving, core::mem::take(octets)).ok()?;
        octets.extend(fcs24(octets));
        Some(())
    }

    /// Takes a mobile in, under its TEIDs; its slot may be another than before.
    ///
    /// # Errors
    /// See [`ImportError`]; nothing has changed then.
    pub fn import(&mut self, cx: &mut Context<'_>, octets: &[u8]) -> Result<Slot, ImportError> {
        let travelling = read(octets)?;
        let slot = self.take_in(cx, travelling)?;
        self.mark_for_store(slot);
        Ok(slot)
    }

    /// Takes a mobile in that an earlier run of this node has kept ([`super::durable`]), whose clock was another one.
    ///
    /// # Errors
    /// See [`ImportError`]; nothing has changed then. Octets of another subscriber than this one are unreadable.
    pub fn restore(&mut self, cx: &mut Context<'_>, imsi: Imsi, octets: &[u8]) -> Result<Slot, ImportError> {
        let mut travelling = read(octets)?;
        let mobile = &mut travelling.mobile;
        if mobile.imsi() != Some(imsi) {
            return Err(ImportError::Unreadable);
        }
        mobile.gmm.restore(cx, &self.config.gmm);
        mobile.restore(cx.now, &self.config.sm);
        if let Some(sndcp) = mobile.sndcp_mut() {
            sndcp.restore(cx, Some(imsi));
        }
        let slot = self.take_in(cx, travelling)?;
        self.restored(slot, imsi);
        Ok(slot)
    }

    fn take_in(&mut self, cx: &mut Context<'_>, travelling: Travelling) -> Result<Slot, ImportError> {
        let Travelling { key, slot: former, mut mobile, endpoints, apns } = travelling;
        let imsi = mobile.imsi().ok_or(ImportError::Unreadable)?;
        let is_taken = |ptmsi: Option<_>| ptmsi.is_some_and(|ptmsi| self.directory.by_ptmsi(ptmsi).is_some());
        let taken = is_taken(mobile.gmm.ptmsi()) || is_taken(mobile.gmm.new_ptmsi());
        if taken || self.directory.by_imsi(imsi).is_some() {
            return Err(ImportError::Present);
        }
        if self.mobiles.len() >= self.mobiles.limit() {
            return Err(ImportError::Full);
        }
        // Under another key the same names would be other TEIDs, and the same TEIDs no places.
        let keeps_teids = key == self.contexts.key().id();
        if keeps_teids && !mobile.bearers().all(|(_, bearer)| self.contexts.is_free(bearer.name)) {
            return Err(ImportError::TeidTaken);
        }
        if !keeps_teids && mobile.bearers().count() > self.contexts.room() {
            return Err(ImportError::Full);
        }
        let mut here = Vec::new();
        for (number, apn) in apns {
            here.push((
                number,
                self.access_points.number_of(&apn, Some(imsi)).map_err(|_| ImportError::Full)?,
            ));
        }
        mobile.sm_mut().renumber_apns(|number| {
            here.iter().find(|(there, _)| *there == number).map_or(number, |(_, here)| *here)
        });
        self.open_tunnels(cx, &mut mobile, &endpoints)?;
        let slot = self.place(former, mobile).ok_or(ImportError::Full)?;
        if !keeps_teids {
            self.rename_contexts(slot);
        }
        for Endpoint { nsapi, others, .. } in endpoints {
            self.ggsn_addresses.set(slot, nsapi, others);
        }
        self.name(cx, slot, imsi);
        self.count_unconfirmed(slot);
        self.flows_follow(slot);
        (5..=15).map(Nsapi).for_each(|nsapi| {
            self.claim_negotiated(cx, slot, nsapi);
            self.flow_changed(slot, nsapi);
        });
        self.open_accounts(cx, slot);
        self.settle_contexts(cx, slot);
        if !keeps_teids {
            self.tell_new_teids(cx, slot);
        }
        self.send_queued(cx);
        Ok(slot)
    }

    /// Finds the tunnels' paths here: of all tunnels or of none.
    fn open_tunnels(
        &mut self,
        cx: &mut Context<'_>,
        mobile: &mut Mobile,
        endpoints: &[Endpoint],
    ) -> Result<(), ImportError> {
        let mut opened: Vec<GtpTunnel> = Vec::new();
        for nsapi in (5..=15).map(Nsapi) {
            let place = mobile.bearer_mut(nsapi).map(|bearer| &mut bearer.tunnel);
            let Some(tunnel) = place.and_then(Option::as_mut) else { continue };
            let endpoint = endpoints.iter().find(|endpoint| endpoint.nsapi == nsapi);
            let here = endpoint.ok_or(ImportError::Unreadable).and_then(|endpoint| {
                let control = (endpoint.control, tunnel.peer_control);
                let user = (endpoint.user, tunnel.peer_user);
                self.gtp.open(cx, tunnel.version, control, user, None).ok_or(ImportError::Full)
            });
            match here {
                Ok(here) => {
                    opened.push(here);
                    (tunnel.control_path, tunnel.user_path) = (here.control_path, here.user_path);
                }
                Err(error) => {
                    opened.into_iter().for_each(|tunnel| self.gtp.close(tunnel));
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// The GGSN's answers to what was asked before the mobile left do not reach it here: what waits for one ends.
    fn settle_contexts(&mut self, cx: &mut Context<'_>, slot: Slot) {
        for nsapi in (5..=15).map(Nsapi) {
            let state =
                self.mobiles.get(slot).and_then(|mobile| mobile.sm().get(nsapi)).map(SmContext::state);
            match state {
                Some(SmState::ActivePending) => self.sm(cx, slot, SmEvent::CreateFailed { nsapi }),
                Some(SmState::Updating) => self.sm(cx, slot, SmEvent::UpdateFailed { nsapi }),
                Some(SmState::Releasing) => self.sm(cx, slot, SmEvent::Deleted { nsapi }),
                Some(SmState::Active | SmState::ModifyPending | SmState::InactivePending(_)) | None => {}
            }
        }
    }

    /// Gives the contexts of a mobile that comes from elsewhere names of this node; there is room for them.
    fn rename_contexts(&mut self, slot: Slot) {
        for nsapi in (5..=15).map(Nsapi) {
            let bearer = self.mobiles.get_mut(slot).and_then(|mobile| mobile.bearer_mut(nsapi));
            let Some(bearer) = bearer else { continue };
            let version = bearer.tunnel.map(|tunnel| tunnel.version).unwrap_or_default();
            if let Some(name) = self.contexts.make(ContextRef { mobile: slot, nsapi, version }) {
                bearer.name = name;
            }
        }
    }

    /// The GGSNs of a mobile that comes from elsewhere are told where its contexts are now (29.060 clause 7.3.3).
    fn tell_new_teids(&mut self, cx: &mut Context<'_>, slot: Slot) {
        for nsapi in (5..=15).map(Nsapi) {
            let context = self.mobiles.get(slot).and_then(|mobile| mobile.sm().get(nsapi));
            if let Some(qos) = context.filter(|context| context.is_active()).map(SmContext::qos) {
                // Without an answer the path tells that its GGSN is gone.
                let _ = self.ask_for_update(cx, (slot, nsapi), Kind::Moved, &qos, None);
            }
        }
    }

    /// Puts a mobile into the slot that it had, or into another.
    fn place(&mut self, former: Slot, mobile: Mobile) -> Option<Slot> {
        match self.mobiles.insert_at(former, mobile) {
            Ok(()) => Some(former),
            Err(mobile) => self.mobiles.insert(mobile).ok(),
        }
    }

    fn name(&mut self, cx: &mut Context<'_>, slot: Slot, imsi: Imsi) {
        self.directory.name_imsi(imsi, slot);
        let Some(mobile) = self.mobiles.get_mut(slot) else { return };
        for (nsapi, bearer) in mobile.bearers() {
            let version = bearer.tunnel.map(|tunnel| tunnel.version).unwrap_or_default();
            self.contexts.put(bearer.name, ContextRef { mobile: slot, nsapi, version });
            if let Some(tunnel) = bearer.tunnel.filter(|tunnel| tunnel.version == Version::V1) {
                self.by_peer_endpoint.insert((tunnel.user_path, tunnel.peer_user, slot, nsapi));
            }
        }
        mobile.gmm.deadlines_mut().arm(Owner::Gmm.of_mobile(slot), cx.timers);
        mobile.llc.arm(Owner::Llc.of_mobile(slot), cx.timers);
        mobile.arm_links(Owner::Links.of_mobile(slot), cx);
        if let Some(at) = mobile.sm().deadline(cx.now) {
            cx.timers.wake(Owner::Sm.of_mobile(slot), at);
        }
        let ptmsis = [mobile.gmm.ptmsi(), mobile.gmm.new_ptmsi()];
        let foreign = mobile.foreign();
        for ptmsi in ptmsis.into_iter().flatten() {
            self.name_ptmsi(ptmsi, slot);
        }
        if let Some((bvc, tlli)) = foreign {
            self.name_foreign_tlli(bvc, tlli, slot);
        }
    }
}

fn read(octets: &[u8]) -> Result<Travelling, ImportError> {
    let (covered, fcs) = octets.split_last_chunk::<FCS_LEN>().ok_or(ImportError::Unreadable)?;
    let (layout, content) = covered.split_first().ok_or(ImportError::Unreadable)?;
    if fcs24(covered) != *fcs {
        return Err(ImportError::Unreadable);
    }
    if *layout != LAYOUT {
        return Err(ImportError::OtherLayout(*layout));
    }
    postcard::from_bytes(content).map_err(|_| ImportError::Unreadable)
}
