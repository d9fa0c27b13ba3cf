//! The PDP contexts of a GGSN and the ways to find one: by TEID, by IMSI and NSAPI, by the SGSN's endpoint. The way by
//! address goes through the pool of the access point.

use super::DeleteReason;
use super::addresses::Addresses;
use super::classifier::Classifier;
use super::cues::{AtDriver, Cues};
use super::police::Policer;
use crate::slots::{Slot, Slots};
use core::net::IpAddr;
use foldhash::fast::FixedState;
use gannet_machine::time::Instant;
use gannet_proto::forwarding::Carried;
use gannet_proto::gtp::{ContextName, Endpoint, GtpTunnel, TeidKey, Version};
use gannet_wire::gtp::{Msisdn, Qos};
use gannet_wire::id::{Imsi, Nsapi, Teid, Tid};
use gannet_wire::l3::ie::{Apn, Tft};
use std::collections::{BTreeSet, HashMap};

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

    /// What a driver has forwarded meanwhile.
    pub(super) fn add_carried(&mut self, carried: Carried) {
        self.t_pdus += u64::from(carried.packets);
        self.octets += carried.octets;
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
    /// The name that was asked for, where it is not the access point's.
    pub requested: Option<Box<Apn>>,
    /// The mobile's addresses.
    pub address: Addresses,
    /// Our endpoint for G-PDUs, and for signalling where it is the first context of its address.
    pub teid: Teid,
    /// Our endpoint for signalling, one for all contexts of an address (29.060 clause 5).
    pub control_teid: Teid,
    /// The way to the SGSN.
    pub tunnel: GtpTunnel,
    /// The path of the address that its Create came from, or the Update that moved it.
    pub(super) origin: u16,
    /// The SGSN's restart counter at that time.
    pub(super) counter: Option<u8>,
    /// All addresses that the SGSN named.
    pub(super) named: Vec<IpAddr>,
    /// It came from an SGSN that is not listed, while others are.
    pub(super) is_unlisted: bool,
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
    /// The groups that the subscriber is in, as of [`Subscriber`](crate::streams::Subscriber).
    pub(super) groups: u32,
    /// We have asked the SGSN to delete it.
    pub deleting: bool,
    /// Which downlink packets belong to it; `None` for all that belong to no other context of its address.
    pub tft: Option<Tft>,
    /// Why we have asked for that.
    pub(super) ending: Option<DeleteReason>,
    /// When it had traffic last, or was created.
    pub last_active: Instant,
    /// When it is looked at whether it has had any since.
    pub(super) idle_at: Option<Instant>,
    /// Holds its maximum bit rate, once a packet has come while its access point wants that.
    pub(super) policer: Option<Box<Policer>>,
    /// When its mobile is told its prefix next.
    pub(super) advertise_at: Option<Instant>,
    /// When its mobile is answered again that asks for routers.
    pub(super) next_answer: Option<Instant>,
    /// What a driver has forwarded for it; `None` while it never had a rule.
    pub(super) at_driver: Option<AtDriver>,
    /// How packets are told apart among the contexts of its address, kept by the first of them where they need to be.
    pub(super) classifier: Option<Box<Classifier>>,
}

impl PdpContext {
    /// IMSI and NSAPI.
    #[must_use]
    pub const fn tid(&self) -> Tid {
        Tid { imsi: self.imsi, nsapi: self.nsapi }
    }

    /// When a driver was last asked and had forwarded something for this context since it was asked before.
    #[must_use]
    pub fn active_at_driver(&self) -> Option<Instant> {
        self.at_driver.and_then(|at_driver| at_driver.active_at)
    }
}

/// The table of contexts.
#[derive(Debug)]
pub(super) struct Contexts {
    slots: Slots<PdpContext>,
    key: TeidKey,
    by_tid: HashMap<u64, Slot, FixedState>,
    /// By the path and endpoint to which we send G-PDUs: several, where SGSNs say so.
    by_peer: BTreeSet<(u16, Teid, Slot)>,
    /// Endpoints for signalling whose first context is gone, with one of those that still share them.
    shared_control: HashMap<Teid, Slot, FixedState>,
    /// Contexts whose rules for a driver may have to change.
    pub(super) cues: Cues,
}

impl Contexts {
    pub fn with_limit(limit: usize, generation: u8, key: TeidKey) -> Self {
        Self {
            slots: Slots::with_limit(limit).from_generation(generation.into()),
            key,
            by_tid: HashMap::with_hasher(FixedState::default()),
            by_peer: BTreeSet::new(),
            shared_control: HashMap::with_hasher(FixedState::default()),
            cues: Cues::default(),
        }
    }

    pub fn is_full(&self) -> bool {
        self.slots.len() >= self.slots.limit()
    }

    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Places of the table that have been used.
    pub fn places(&self) -> u32 {
        self.slots.places()
    }

    pub fn iter(&self) -> impl Iterator<Item = (Slot, &PdpContext)> {
        self.slots.iter()
    }

    /// Puts a context in and gives it its TEID, which is that for signalling, too, where it has none yet; `None` where the table
    /// is full.
    pub fn insert(&mut self, context: PdpContext) -> Option<Slot> {
        let (tid, tunnel) = (context.tid().to_u64(), context.tunnel);
        let mut slot = self.slots.insert(context).ok()?;
        // An endpoint for signalling outlives its context where others share it, and is nobody else's meanwhile.
        while self.shared_control.contains_key(&teid_at(&self.key, slot)) {
            let context = self.slots.remove(slot)?;
            slot = self.slots.insert(context).ok()?;
        }
        if let Some(context) = self.slots.get_mut(slot) {
            context.teid = teid_at(&self.key, slot);
            if context.control_teid == Teid(0) {
                context.control_teid = context.teid;
            }
        }
        self.by_tid.insert(tid, slot);
        self.by_peer.insert(peer_key(&tunnel, slot));
        self.cues.changed(slot);
        Some(slot)
    }

    /// Would a context find room at this place, and be the only one that its TEID names?
    pub fn is_free(&self, slot: Slot) -> bool {
        self.slots.is_free(slot.index) && !self.shared_control.contains_key(&teid_at(&self.key, slot))
    }

    /// Puts a context back at its former place, which is free: it has its TEID again.
    pub fn insert_at(&mut self, slot: Slot, context: PdpContext) {
        let (tid, tunnel) = (context.tid().to_u64(), context.tunnel);
        let context = PdpContext { teid: teid_at(&self.key, slot), ..context };
        if self.slots.insert_at(slot, context).is_ok() {
            self.by_tid.insert(tid, slot);
            self.by_peer.insert(peer_key(&tunnel, slot));
            self.cues.changed(slot);
        }
    }

    /// The endpoints for signalling of these contexts, whose first context is not among them, lead to one of them.
    pub fn share_control(&mut self, slots: &[Slot]) {
        for slot in slots {
            let Some(shared) = self.slots.get(*slot).map(|context| context.control_teid) else { continue };
            if self.by_teid(shared).is_none() {
                self.shared_control.insert(shared, *slot);
            }
        }
    }

    /// Takes a context out. `sharer` is another one with its endpoint for signalling.
    pub fn remove(&mut self, slot: Slot, sharer: Option<Slot>) -> Option<PdpContext> {
        let context = self.slots.remove(slot)?;
        self.cues.gone(slot, context.at_driver);
        self.by_tid.remove(&context.tid().to_u64());
        self.by_peer.remove(&peer_key(&context.tunnel, slot));
        let shared = context.control_teid;
        if context.teid == shared || self.shared_control.get(&shared) == Some(&slot) {
            match sharer {
                Some(sharer) => drop(self.shared_control.insert(shared, sharer)),
                None => drop(self.shared_control.remove(&shared)),
            }
        }
        Some(context)
    }

    /// Gives a context another tunnel; the one it had.
    pub fn replace_tunnel(&mut self, slot: Slot, tunnel: GtpTunnel) -> Option<GtpTunnel> {
        let context = self.slots.get_mut(slot)?;
        let old = core::mem::replace(&mut context.tunnel, tunnel);
        context.tunnel.next_sequence = old.next_sequence;
        self.by_peer.remove(&peer_key(&old, slot));
        self.by_peer.insert(peer_key(&tunnel, slot));
        self.cues.changed(slot);
        Some(old)
    }

    pub fn get(&self, slot: Slot) -> Option<&PdpContext> {
        self.slots.get(slot)
    }

    pub fn get_mut(&mut self, slot: Slot) -> Option<&mut PdpContext> {
        self.slots.get_mut(slot)
    }

    /// The context of one of our endpoints.
    fn by_teid(&self, teid: Teid) -> Option<Slot> {
        let slot = self.slots.at(self.key.name(teid).place())?;
        self.slots.get(slot).filter(|context| context.teid == teid).map(|_| slot)
    }

    /// The context to whose G-PDUs an endpoint of ours belongs, as its SGSN's version of GTP names it. In version 0 the TID says
    /// that alone: the flow label of a G-PDU is not looked at.
    pub fn by_endpoint(&self, endpoint: Endpoint) -> Option<Slot> {
        let (slot, version) = match endpoint {
            Endpoint::Teid(teid) => (self.by_teid(teid)?, Version::V1),
            Endpoint::Tid { tid, .. } => (self.by_tid(tid)?, Version::V0),
        };
        self.slots.get(slot).filter(|context| context.tunnel.version == version).map(|_| slot)
    }

    /// A context to which an endpoint of ours for signalling belongs.
    pub fn by_control(&self, endpoint: Endpoint) -> Option<Slot> {
        let shared = || match endpoint {
            Endpoint::Teid(teid) => self.shared_control.get(&teid).copied(),
            Endpoint::Tid { .. } => None,
        };
        self.by_endpoint(endpoint).or_else(shared)
    }

    /// Was this an endpoint of ours, the last one before now at its place? Then whoever names it knew it, and has not guessed.
    pub fn was_used(&self, endpoint: Endpoint) -> bool {
        let Endpoint::Teid(teid) = endpoint else { return false };
        let last = self.slots.last(self.key.name(teid).place());
        last.is_some_and(|slot| teid_at(&self.key, slot) == teid)
    }

    /// The context at a place of the table.
    pub fn by_index(&self, index: u32) -> Option<Slot> {
        self.slots.at(index)
    }

    pub fn by_tid(&self, tid: Tid) -> Option<Slot> {
        self.by_tid.get(&tid.to_u64()).copied()
    }

    /// The contexts whose G-PDUs go to an endpoint of a peer.
    pub fn by_peer(&self, path: u16, teid: Teid) -> Vec<Slot> {
        let (first, last) =
            (Slot { index: 0, generation: 0 }, Slot { index: u32::MAX, generation: u16::MAX });
        self.by_peer.range((path, teid, first)..=(path, teid, last)).map(|(.., slot)| *slot).collect()
    }
}

fn teid_at(key: &TeidKey, slot: Slot) -> Teid {
    key.teid(ContextName::new(ContextName::generation_of(slot.generation), slot.index))
}

const fn peer_key(tunnel: &GtpTunnel, slot: Slot) -> (u16, Teid, Slot) {
    (tunnel.user_path, tunnel.peer_user, slot)
}
