//! What an operator sees of an SGSN: its parts, read only.

use super::contexts::Contexts;
use super::flows::Flows;
use super::gb::Gb;
use super::mobile::{Bearer, Mobile};
use super::subscribers::Subscribers;
use super::uplink_queues::UplinkQueues;
use super::user_plane::Unconfirmed;
use super::{GgsnPeer, Sgsn, SgsnConfig, Stats};
use crate::slots::Slot;
use gannet_proto::classifier::Key;
use gannet_proto::gtp::{ContextName, GtpEntity, TeidKey, Version};
use gannet_qos::flow_queues::FlowView;
use gannet_wire::id::{Imsi, Nsapi, Teid, Tid};
use gannet_wire::l3::ie::Apn;

impl Sgsn {
    /// As it was configured.
    #[must_use]
    pub const fn config(&self) -> &SgsnConfig {
        &self.config
    }

    /// The HLR, and who waits for it.
    #[must_use]
    pub const fn subscribers(&self) -> &Subscribers {
        &self.subscribers
    }

    /// How many mobiles there are.
    #[must_use]
    pub const fn mobiles_len(&self) -> usize {
        self.mobiles.len()
    }

    /// N-PDUs and messages held outside the queues for mobiles that are paged or suspended.
    #[must_use]
    pub fn held_len(&self) -> usize {
        self.held.len()
    }

    /// All mobiles, attached or attaching.
    pub fn mobiles(&self) -> impl Iterator<Item = (Slot, &Mobile)> {
        self.mobiles.iter()
    }

    /// The mobile of a subscriber.
    #[must_use]
    pub fn mobile_of(&self, imsi: Imsi) -> Option<(Slot, &Mobile)> {
        let slot = self.directory.by_imsi(imsi)?;
        Some((slot, self.mobiles.get(slot)?))
    }

    /// The context that a GTPv0 tunnel identifier names: IMSI and NSAPI, in O(1).
    #[must_use]
    pub fn context_by_tid(&self, tid: Tid) -> Option<(Slot, &Bearer)> {
        let (slot, mobile) = self.mobile_of(tid.imsi)?;
        Some((slot, mobile.bearer(tid.nsapi)?))
    }

    /// Network service, virtual connections and queues.
    #[must_use]
    pub const fn gb(&self) -> &Gb {
        &self.gb
    }

    /// Paths and outstanding requests.
    #[must_use]
    pub const fn gtp(&self) -> &GtpEntity {
        &self.gtp
    }

    /// The link to the HLR is up.
    #[must_use]
    pub fn hlr_is_up(&self) -> bool {
        self.subscribers.hlr().is_some_and(|hlr| hlr.is_up())
    }

    /// Counters of the data path and of procedures.
    #[must_use]
    pub const fn stats(&self) -> &Stats {
        &self.stats
    }

    /// An access point by the number that a context has, and the GGSN to which it leads a subscriber.
    #[must_use]
    pub fn access_point(&self, number: u16, imsi: Option<Imsi>) -> Option<(&Apn, Option<GgsnPeer>)> {
        let apn = self.access_points.get(number)?;
        Some((apn, self.access_points.ggsn_of(apn, imsi)))
    }

    /// Our TEID of a context, for both planes; `None` where it has no bearer.
    #[must_use]
    pub fn teid(&self, slot: Slot, nsapi: Nsapi) -> Option<Teid> {
        Some(self.contexts.teid(self.context_name(slot, nsapi)?))
    }

    /// What a context is called in this node, as the rules of a driver name it; `None` where it has no bearer.
    #[must_use]
    pub fn context_name(&self, slot: Slot, nsapi: Nsapi) -> Option<ContextName> {
        Some(self.mobiles.get(slot)?.bearer(nsapi)?.name)
    }

    /// The key between the names of contexts and their TEIDs.
    #[must_use]
    pub const fn teid_key(&self) -> &TeidKey {
        self.contexts.key()
    }

    /// The queues of the queued ingress; `None` where N-PDUs are processed as they arrive.
    #[must_use]
    pub const fn flows(&self) -> Option<&Flows> {
        self.flows.as_ref()
    }

    /// What acknowledged mode holds of all mobiles.
    #[must_use]
    pub const fn unconfirmed(&self) -> Unconfirmed {
        self.unconfirmed
    }

    /// The queue of a context.
    #[must_use]
    pub fn flow_of(&self, name: ContextName) -> Option<FlowView> {
        self.contexts.find(name)?;
        self.flows.as_ref()?.queues().view(name.place())
    }

    /// The queues of what comes from mobiles; `None` where that is processed as it arrives.
    #[must_use]
    pub const fn uplink(&self) -> Option<&UplinkQueues> {
        self.uplink.as_ref()
    }

    /// What a driver has to know by now, in the order of keys: of active contexts, and of the names of mobiles, with the
    /// names of their rules. Gathered from the tables themselves, so that the rules can be compared with them.
    #[must_use]
    pub fn driver_keys(&self) -> Vec<(Key, u32)> {
        if self.flows.is_none() {
            return Vec::new();
        }
        let bearers = self.mobiles().flat_map(|(_, mobile)| mobile.bearers().map(move |it| (mobile, it)));
        let active = bearers.filter(|(mobile, (nsapi, bearer))| {
            bearer.tunnel.is_some() && mobile.sm().get(*nsapi).is_some_and(|context| context.is_active())
        });
        let downlink = active.map(|(mobile, (nsapi, bearer))| {
            let version = bearer.tunnel.map(|tunnel| tunnel.version);
            let key = match (version, mobile.imsi()) {
                (Some(Version::V0), Some(imsi)) => Key::Tid(Tid { imsi, nsapi }),
                (_, _) => Key::Teid(self.contexts.teid(bearer.name)),
            };
            (key, bearer.name.0)
        });
        let uplink = self.directory.keys().map(|(key, slot)| (key, slot.index));
        let mut all: Vec<_> = downlink.chain(uplink).collect();
        all.sort_unstable();
        all
    }

    /// PDP contexts that have a TEID.
    #[must_use]
    pub const fn contexts(&self) -> &Contexts {
        &self.contexts
    }

    /// What is left in tables that are empty when nothing goes on: (table, entries).
    #[must_use]
    pub fn leftovers(&self) -> Vec<(&'static str, usize)> {
        let tables = [
            ("mobiles", self.mobiles.len()),
            ("names of mobiles", self.directory.len()),
            ("PDP contexts", self.contexts.len()),
            ("N-PDUs held", self.held.len()),
            ("octets that wait for confirmation", self.unconfirmed.octets),
            ("N-PDUs queued", self.flows.as_ref().map_or(0, |flows| flows.queues().queued().pdus as usize)),
            (
                "LL-PDUs of user data queued",
                self.uplink.as_ref().map_or(0, |uplink| uplink.queued() as usize),
            ),
            ("N-PDUs queued for who is paged", self.flows.as_ref().map_or(0, |flows| flows.held() as usize)),
            ("N-PDUs in reassembly", self.reassembler.len()),
            ("requests to GGSNs", self.requests.len()),
            ("updates by GGSNs", self.updates.len()),
            ("other addresses of GGSNs", self.ggsn_addresses.len()),
            ("restart counters of GGSNs", self.ggsn_origins.len()),
            ("notifications by GGSNs", self.notifications.len()),
            ("paths to GGSNs", self.gtp.paths().len()),
            ("cells that wait for FLUSH-LL-ACK", self.gb.cells_flushing()),
            ("mobiles out of reach", self.gb.mobiles_out_of_reach()),
            ("LL-PDUs queued", self.gb.flow.queued_pdus() as usize),
        ];
        tables.into_iter().filter(|(_, entries)| *entries > 0).collect()
    }
}
