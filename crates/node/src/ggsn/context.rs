//! The PDP contexts of a GGSN and the ways to find one: by TEID, by IMSI and NSAPI, by the SGSN's endpoint. The way by
//! address goes through the pool of the access point.

use super::addresses::Addresses;
use super::bundle::Classifier;
use crate::slots::{Slot, Slots};
use foldhash::fast::FixedState;
use gannet_proto::gtp::{Endpoint, GtpTunnel, TeidParts, Version};
use gannet_proto::time::Instant;
use gannet_wire::gtp::{Msisdn, Qos};
use gannet_wire::id::{Imsi, Nsapi, Teid, Tid};
use gannet_wire::l3::ie::Tft;
use std::collections::HashMap;

/// T-PDUs and their octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Volume {
    /// How many.
    pub t_pdus: u64,
    /// Their octets.
    pub octets: u64,
}

impl Volume {
    pub(super) const fn add(&mut self, octets: usize) {
        self.t_pdus += 1;
        self.octets += octets as u64;
    }
}

/// One PDP context.
#[derive(Debug, Clone)]
pub struct PdpContext {
    /// The subscriber.
    pub imsi: Imsi,
    /// Which of his contexts.
    pub nsapi: Nsapi,
    /// His telephone number, where the SGSN told it.
    pub msisdn: Option<Msisdn>,
    /// The access point, by its index in the configuration.
    pub apn: u16,
    /// The mobile's addresses.
    pub address: Addresses,
    /// Our endpoint, for signalling and G-PDUs.
    pub teid: Teid,
    /// The way to the SGSN.
    pub tunnel: GtpTunnel,
    /// Identifies its charging data.
    pub charging_id: u32,
    /// Negotiated quality of service.
    pub qos: Qos,
    /// When it was created.
    pub since: Instant,
    /// From the mobile.
    pub uplink: Volume,
    /// To the mobile.
    pub downlink: Volume,
    /// We have asked the SGSN to delete it.
    pub deleting: bool,
    /// Which downlink packets belong to it; `None` for all that belong to no other context of its address.
    pub tft: Option<Tft>,
    /// When its mobile is told its prefix next.
    pub(super) advertise_at: Option<Instant>,
    /// How packets are told apart among the contexts of its address, kept by the first of them where they need to be.
    pub(super) classifier: Option<Box<Classifier>>,
}

impl PdpContext {
    /// IMSI and NSAPI.
    #[must_use]
    pub const fn tid(&self) -> Tid {
        Tid { imsi: self.imsi, nsapi: self.nsapi }
    }
}

/// The table of contexts.
#[derive(Debug)]
pub(super) struct Contexts {
    slots: Slots<PdpContext>,
    by_tid: HashMap<u64, Slot, FixedState>,
    /// By the path and endpoint to which we send G-PDUs.
    by_peer: HashMap<(u16, Teid), Slot, FixedState>,
}

impl Contexts {
    pub fn with_limit(limit: usize) -> Self {
        Self {
            slots: Slots::with_limit(limit),
            by_tid: HashMap::with_hasher(FixedState::default()),
            by_peer: HashMap::with_hasher(FixedState::default()),
        }
    }

    pub fn is_full(&self) -> bool {
        self.slots.len() >= self.slots.limit()
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = (Slot, &PdpContext)> {
        self.slots.iter()
    }

    /// Puts a context in and gives it its TEID; `None` where the table is full.
    pub fn insert(&mut self, context: PdpContext) -> Option<Slot> {
        let (tid, peer) = (context.tid().to_u64(), peer_key(&context.tunnel));
        let slot = self.slots.insert(context).ok()?;
        if let Some(context) = self.slots.get_mut(slot) {
            let generation = TeidParts::generation_of(slot.generation);
            context.teid = TeidParts { generation, place: slot.index }.teid();
        }
        self.by_tid.insert(tid, slot);
        self.by_peer.insert(peer, slot);
        Some(slot)
    }

    pub fn remove(&mut self, slot: Slot) -> Option<PdpContext> {
        let context = self.slots.remove(slot)?;
        self.by_tid.remove(&context.tid().to_u64());
        self.forget_peer(&context.tunnel, slot);
        Some(context)
    }

    /// Gives a context another tunnel; the one it had.
    pub fn replace_tunnel(&mut self, slot: Slot, tunnel: GtpTunnel) -> Option<GtpTunnel> {
        let context = self.slots.get_mut(slot)?;
        let old = core::mem::replace(&mut context.tunnel, tunnel);
        context.tunnel.next_sequence = old.next_sequence;
        self.forget_peer(&old, slot);
        self.by_peer.insert(peer_key(&tunnel), slot);
        Some(old)
    }

    /// An SGSN may use one endpoint for two contexts: only the last of them is found by it.
    fn forget_peer(&mut self, tunnel: &GtpTunnel, slot: Slot) {
        if self.by_peer.get(&peer_key(tunnel)) == Some(&slot) {
            self.by_peer.remove(&peer_key(tunnel));
        }
    }

    pub fn get(&self, slot: Slot) -> Option<&PdpContext> {
        self.slots.get(slot)
    }

    pub fn get_mut(&mut self, slot: Slot) -> Option<&mut PdpContext> {
        self.slots.get_mut(slot)
    }

    /// The context of one of our endpoints.
    fn by_teid(&self, teid: Teid) -> Option<Slot> {
        let slot = self.slots.at(TeidParts::of(teid).place)?;
        self.slots.get(slot).filter(|context| context.teid == teid).map(|_| slot)
    }

    /// The context to which an endpoint of ours leads, as its SGSN's version of GTP names it. In version 0 the TID says that
    /// alone: the flow label of a G-PDU is not looked at.
    pub fn by_endpoint(&self, endpoint: Endpoint) -> Option<Slot> {
        let (slot, version) = match endpoint {
            Endpoint::Teid(teid) => (self.by_teid(teid)?, Version::V1),
            Endpoint::Tid { tid, .. } => (self.by_tid(tid)?, Version::V0),
        };
        self.slots.get(slot).filter(|context| context.tunnel.version == version).map(|_| slot)
    }

    /// The context at a place of the table.
    pub fn by_index(&self, index: u32) -> Option<Slot> {
        self.slots.at(index)
    }

    pub fn by_tid(&self, tid: Tid) -> Option<Slot> {
        self.by_tid.get(&tid.to_u64()).copied()
    }

    /// The context whose G-PDUs go to an endpoint of a peer.
    pub fn by_peer(&self, path: u16, teid: Teid) -> Option<Slot> {
        self.by_peer.get(&(path, teid)).copied()
    }
}

const fn peer_key(tunnel: &GtpTunnel) -> (u16, Teid) {
    (tunnel.user_path, tunnel.peer_user)
}
