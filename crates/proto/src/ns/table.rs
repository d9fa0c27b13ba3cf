//! The NS-VCs and NSEs of an entity: found by address, by identifiers and by number, each in one access.

use super::load_sharing::Member;
use super::vc::{NsVc, VcCounters, VcIndex, VcOrigin, VcState};
use core::net::SocketAddr;
use foldhash::fast::FixedState;
use gannet_machine::Port;
use gannet_machine::time::Instant;
use gannet_machine::timers::Deadlines;
use gannet_wire::id::{Nsei, Nsvci};
use gannet_wire::ns::Cause;
use std::collections::HashMap;

/// A network service entity: the far side of a group of NS-VCs.
#[derive(Debug)]
pub struct Nse {
    pub(super) nsei: Nsei,
    pub(super) vcs: Vec<VcIndex>,
    /// Those that carry NS-UNITDATA, in the order in which they were unblocked.
    pub(super) unblocked: Vec<Member<VcIndex>>,
}

impl Nse {
    /// Its identifier.
    #[must_use]
    pub const fn nsei(&self) -> Nsei {
        self.nsei
    }
    /// Its NS-VCs.
    #[must_use]
    pub fn vcs(&self) -> &[VcIndex] {
        &self.vcs
    }
    /// How many of them are unblocked.
    #[must_use]
    pub const fn unblocked(&self) -> usize {
        self.unblocked.len()
    }
}

/// What an NS-VC is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewVc {
    pub(super) nsei: Nsei,
    pub(super) nsvci: Option<Nsvci>,
    pub(super) port: Port,
    pub(super) peer: SocketAddr,
    pub(super) origin: VcOrigin,
    pub(super) signalling_weight: u8,
    pub(super) data_weight: u8,
}

impl NewVc {
    /// One with an NS-VCI, whose weight is that of every other.
    pub(super) const fn named(
        nsei: Nsei,
        nsvci: Nsvci,
        (port, peer): (Port, SocketAddr),
        origin: VcOrigin,
    ) -> Self {
        Self { nsei, nsvci: Some(nsvci), port, peer, origin, signalling_weight: 1, data_weight: 1 }
    }
}

#[derive(Debug, Default)]
struct Slot {
    generation: u16,
    vc: Option<NsVc>,
}

#[derive(Debug)]
pub(super) struct Table {
    slots: Vec<Slot>,
    free: Vec<VcIndex>,
    by_address: HashMap<(Port, SocketAddr), VcIndex, FixedState>,
    by_identity: HashMap<(Nsei, Nsvci), VcIndex, FixedState>,
    nses: HashMap<Nsei, Nse, FixedState>,
    vc_max: usize,
    nse_max: usize,
    /// How often an address has come, gone or changed hands.
    changes: u64,
}

impl Table {
    pub(super) fn new(vc_max: usize, nse_max: usize) -> Self {
        let seed = || FixedState::with_seed(0x6e73);
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            by_address: HashMap::with_hasher(seed()),
            by_identity: HashMap::with_hasher(seed()),
            nses: HashMap::with_hasher(seed()),
            vc_max,
            nse_max,
            changes: 0,
        }
    }

    pub(super) const fn changes(&self) -> u64 {
        self.changes
    }

    /// Something that is learned of an NSE has changed without its addresses.
    pub(super) const fn touch(&mut self) {
        self.changes += 1;
    }

    pub(super) fn get(&self, index: VcIndex) -> Option<&NsVc> {
        self.slots.get(usize::try_from(index.0).ok()?)?.vc.as_ref()
    }

    pub(super) fn get_mut(&mut self, index: VcIndex) -> Option<&mut NsVc> {
        self.slots.get_mut(usize::try_from(index.0).ok()?)?.vc.as_mut()
    }

    pub(super) fn at(&self, port: Port, peer: SocketAddr) -> Option<VcIndex> {
        self.by_address.get(&(port, peer)).copied()
    }

    pub(super) fn named(&self, nsei: Nsei, nsvci: Nsvci) -> Option<VcIndex> {
        self.by_identity.get(&(nsei, nsvci)).copied()
    }

    pub(super) fn nse(&self, nsei: Nsei) -> Option<&Nse> {
        self.nses.get(&nsei)
    }

    /// All NS-VCs, by number.
    pub(super) fn vcs(&self) -> impl Iterator<Item = &NsVc> {
        self.slots.iter().filter_map(|slot| slot.vc.as_ref())
    }

    /// All NSEs, by identifier.
    pub(super) fn nses(&self) -> impl Iterator<Item = &Nse> {
        let mut nses: Vec<&Nse> = self.nses.values().collect();
        nses.sort_unstable_by_key(|nse| nse.nsei);
        nses.into_iter()
    }

    /// True where an NS-VC of `nsei` can be added.
    pub(super) fn has_room(&self, nsei: Nsei) -> bool {
        self.by_address.len() < self.vc_max
            && (self.nses.contains_key(&nsei) || self.nses.len() < self.nse_max)
    }

    /// Adds a dead NS-VC whose address and identifiers are not in the table; `None` where it is full.
    pub(super) fn insert(&mut self, new: NewVc, now: Instant) -> Option<VcIndex> {
        if !self.has_room(new.nsei) {
            return None;
        }
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                self.slots.push(Slot::default());
                VcIndex(u32::try_from(self.slots.len() - 1).ok()?)
            }
        };
        let slot = self.slots.get_mut(usize::try_from(index.0).ok()?)?;
        slot.vc = Some(NsVc {
            index,
            generation: slot.generation,
            nsei: new.nsei,
            nsvci: new.nsvci,
            port: new.port,
            peer: new.peer,
            origin: new.origin,
            signalling_weight: new.signalling_weight,
            data_weight: new.data_weight,
            state: VcState::Dead,
            since: now,
            oam_blocked: false,
            is_recalled: false,
            reset_cause: Cause::OamIntervention,
            repeated: 0,
            alive_repeated: 0,
            deadlines: Deadlines::default(),
            counters: VcCounters::default(),
        });
        self.changes += 1;
        self.by_address.insert((new.port, new.peer), index);
        if let Some(nsvci) = new.nsvci {
            self.by_identity.insert((new.nsei, nsvci), index);
        }
        let nse = self.nses.entry(new.nsei).or_insert_with(|| Nse {
            nsei: new.nsei,
            vcs: Vec::new(),
            unblocked: Vec::new(),
        });
        nse.vcs.push(index);
        // So that a state change never allocates.
        nse.unblocked.reserve(nse.vcs.len());
        Some(index)
    }

    /// Takes an NS-VC out. Its NSE goes with its last one.
    pub(super) fn remove(&mut self, index: VcIndex) -> Option<NsVc> {
        let slot = self.slots.get_mut(usize::try_from(index.0).ok()?)?;
        let vc = slot.vc.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(index);
        self.changes += 1;
        self.by_address.remove(&(vc.port, vc.peer));
        if let Some(nsvci) = vc.nsvci {
            self.by_identity.remove(&(vc.nsei, nsvci));
        }
        if let Some(nse) = self.nses.get_mut(&vc.nsei) {
            nse.vcs.retain(|other| *other != index);
            nse.unblocked.retain(|member| member.vc != index);
            if nse.vcs.is_empty() {
                self.nses.remove(&vc.nsei);
            }
        }
        Some(vc)
    }

    /// Gives an NS-VC another far end, which no other NS-VC has.
    pub(super) fn move_to(&mut self, index: VcIndex, port: Port, peer: SocketAddr) {
        let Some(vc) = self.get_mut(index) else { return };
        let former = (vc.port, vc.peer);
        (vc.port, vc.peer) = (port, peer);
        self.changes += 1;
        self.by_address.remove(&former);
        self.by_address.insert((port, peer), index);
    }

    /// Writes down whether `index` carries NS-UNITDATA; how many of its NSE did before and do now.
    pub(super) fn set_unblocked(&mut self, index: VcIndex, on: bool) -> (usize, usize) {
        let Some(vc) = self.get(index) else { return (0, 0) };
        let key = vc.nsvci.map_or(index.0, |nsvci| nsvci.0.into());
        let (signalling_weight, data_weight) = vc.weights();
        let member = Member { key, signalling_weight, data_weight, doubtful: false, vc: index };
        let nsei = vc.nsei;
        let Some(nse) = self.nses.get_mut(&nsei) else { return (0, 0) };
        let before = nse.unblocked.len();
        nse.unblocked.retain(|other| other.vc != index);
        if on {
            nse.unblocked.push(member);
        }
        (before, nse.unblocked.len())
    }

    /// Writes down whether the last NS-ALIVE of `index` was not answered in time.
    pub(super) fn set_doubtful(&mut self, index: VcIndex, doubtful: bool) {
        if let Some(member) = self.member(index) {
            member.doubtful = doubtful;
        }
    }

    /// Gives `index` other weights.
    pub(super) fn set_weights(&mut self, index: VcIndex, signalling_weight: u8, data_weight: u8) {
        if let Some(member) = self.member(index) {
            (member.signalling_weight, member.data_weight) = (signalling_weight, data_weight);
        }
        if let Some(vc) = self.get_mut(index) {
            (vc.signalling_weight, vc.data_weight) = (signalling_weight, data_weight);
        }
    }

    fn member(&mut self, index: VcIndex) -> Option<&mut Member<VcIndex>> {
        let nsei = self.get(index)?.nsei;
        self.nses.get_mut(&nsei)?.unblocked.iter_mut().find(|member| member.vc == index)
    }

    /// Room for NS-VCs, whatever their NSE.
    pub(super) fn room(&self) -> usize {
        self.vc_max.saturating_sub(self.by_address.len())
    }

    /// The dead NS-VC that its peer announced and that has been dead for longest.
    pub(super) fn longest_dead(&self) -> Option<VcIndex> {
        self.vcs()
            .filter(|vc| vc.origin == VcOrigin::Announced && vc.state == VcState::Dead)
            .min_by_key(|vc| vc.since)
            .map(|vc| vc.index)
    }
}
