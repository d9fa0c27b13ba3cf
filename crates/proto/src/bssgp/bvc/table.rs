//! Who is there, and the procedures that this end begins.

use super::{Bvc, BvcCounters, BvcOutput, BvcState, Bvcs, Config, Nse, Role};
use crate::allowance::Allowance;
use foldhash::fast::FixedState;
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_machine::timers::Deadlines;
use gannet_machine::{Batch, Context};
use gannet_qos::deadline_heap::DeadlineHeap;
use gannet_wire::bssgp::{Cause, Message};
use gannet_wire::id::{Bvci, CellId, Nsei};
use std::collections::HashMap;

/// From the last BVC-RESET of a BSS that stays without answer to the next. Where O&M does nothing a cell would be out of service for
/// ever, though the SGSN may have been out of reach for a while only.
const RESET_AGAIN: Duration = Duration::from_secs(60);

impl Bvcs {
    /// Nothing there yet.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let hasher = || FixedState::with_seed(0);
        let members = (config.bvcs_max + config.nses_max) as usize;
        Self {
            config,
            bvcs: Vec::new(),
            nses: Vec::new(),
            by_bvci: HashMap::with_hasher(hasher()),
            by_cell: HashMap::with_hasher(hasher()),
            by_nsei: HashMap::with_hasher(hasher()),
            waiting: DeadlineHeap::new(members),
            deadlines: Deadlines::default(),
            to_strangers: Allowance::default(),
        }
    }

    /// A BVC that this BSS has, and its index; `None` where the table is full or the cell or BVCI is there already.
    pub fn add(&mut self, nsei: Nsei, bvci: Bvci, cell: CellId) -> Option<u32> {
        let taken = self.by_bvci.contains_key(&(nsei, bvci)) || self.by_cell.contains_key(&cell);
        if taken || bvci <= Bvci::PTM {
            return None;
        }
        let room = u32::try_from(self.bvcs.len()).ok().filter(|index| *index < self.config.bvcs_max);
        let index = room.or_else(|| self.down_bvc())?;
        let (state, cause) = (BvcState::Down, Cause::OamIntervention);
        let bvc = Bvc {
            nsei,
            bvci,
            cell,
            state,
            cause,
            tries: 0,
            is_heard: false,
            counters: BvcCounters::default(),
        };
        match self.bvcs.get_mut(index as usize) {
            Some(place) => {
                let former = core::mem::replace(place, bvc);
                self.by_bvci.remove(&(former.nsei, former.bvci));
                if self.by_cell.get(&former.cell) == Some(&index) {
                    self.by_cell.remove(&former.cell);
                }
            }
            None => self.bvcs.push(bvc),
        }
        self.by_bvci.insert((nsei, bvci), index);
        self.by_cell.insert(cell, index);
        Some(index)
    }

    /// A BVC by its index.
    #[must_use]
    pub fn get(&self, bvc: u32) -> Option<&Bvc> {
        self.bvcs.get(bvc as usize)
    }

    /// The index of a BVC.
    #[must_use]
    pub fn find(&self, nsei: Nsei, bvci: Bvci) -> Option<u32> {
        self.by_bvci.get(&(nsei, bvci)).copied()
    }

    /// The index of the BVC that serves a cell.
    #[must_use]
    pub fn find_cell(&self, cell: CellId) -> Option<u32> {
        self.by_cell.get(&cell).copied()
    }

    /// True where a BVC is in service.
    #[must_use]
    pub fn is_unblocked(&self, bvc: u32) -> bool {
        self.get(bvc).is_some_and(|bvc| bvc.state == BvcState::Unblocked)
    }

    /// Features that both ends of an NSE have.
    #[must_use]
    pub fn features(&self, nsei: Nsei) -> u8 {
        let nse = self.by_nsei.get(&nsei).and_then(|nse| self.nses.get(*nse as usize));
        nse.map_or(0, |nse| nse.features)
    }

    /// All BVCs by index.
    pub fn bvcs(&self) -> impl Iterator<Item = (u32, &Bvc)> {
        (0..).zip(&self.bvcs)
    }

    /// All NSEs in the order of their coming.
    pub fn nses(&self) -> impl Iterator<Item = &Nse> {
        self.nses.iter()
    }

    /// The BVC of a cell that its BSS has named with a BVC-RESET. A cell that another BVC had served leaves that one,
    /// which is down then; a BVC that had served another cell serves this one now.
    pub(super) fn learn(
        &mut self,
        nsei: Nsei,
        bvci: Bvci,
        cell: CellId,
        out: &mut Batch<BvcOutput>,
    ) -> Option<u32> {
        if let Some(former) = self.by_cell.get(&cell).copied()
            && self.get(former).is_some_and(|bvc| (bvc.nsei, bvc.bvci) != (nsei, bvci))
        {
            self.by_cell.remove(&cell);
            self.set(former, BvcState::Down);
            out.push(BvcOutput::Down { bvc: former });
        }
        let Some(index) = self.find(nsei, bvci) else {
            if let Some(bvc) = self.unheard_bvc() {
                self.set(bvc, BvcState::Down);
                out.push(BvcOutput::Down { bvc });
            }
            return self.add(nsei, bvci, cell);
        };
        if let Some(bvc) = self.bvcs.get_mut(index as usize) {
            let former = core::mem::replace(&mut bvc.cell, cell);
            if former != cell && self.by_cell.get(&former) == Some(&index) {
                self.by_cell.remove(&former);
            }
            self.by_cell.insert(cell, index);
        }
        Some(index)
    }

    pub(super) fn find_or_add_nse(&mut self, cx: &mut Context<'_>, nsei: Nsei) -> Option<u32> {
        if let Some(nse) = self.by_nsei.get(&nsei) {
            return Some(*nse);
        }
        let room = u32::try_from(self.nses.len()).ok().filter(|index| *index < self.config.nses_max);
        let Some(index) = room.or_else(|| self.down_nse()) else {
            cx.drop(Drop::BssgpTableFull, None);
            return None;
        };
        let statuses = Allowance::default();
        let counters = BvcCounters::default();
        let nse = Nse { nsei, state: BvcState::Down, features: 0, tries: 0, statuses, counters };
        match self.nses.get_mut(index as usize) {
            Some(place) => {
                let former = core::mem::replace(place, nse);
                self.by_nsei.remove(&former.nsei);
            }
            None => self.nses.push(nse),
        }
        self.by_nsei.insert(nsei, index);
        Some(index)
    }

    /// A BVC whose place a new one may have: at the SGSN one that is down, which its BSS resets when it comes back.
    fn down_bvc(&self) -> Option<u32> {
        let is_down = |(_, bvc): &(u32, &Bvc)| bvc.state == BvcState::Down;
        (self.config.role == Role::Sgsn).then(|| self.bvcs().find(is_down)).flatten().map(|(index, _)| index)
    }

    /// In a table where nobody has such a place: a BVC on which nothing has come. Somebody may have invented its cell.
    fn unheard_bvc(&self) -> Option<u32> {
        let is_full = self.bvcs.len() >= self.config.bvcs_max as usize && self.down_bvc().is_none();
        is_full.then(|| self.bvcs().find(|(_, bvc)| !bvc.is_heard)).flatten().map(|(index, _)| index)
    }

    pub(super) fn heard(&mut self, bvc: u32, is_heard: bool) {
        if let Some(bvc) = self.bvcs.get_mut(bvc as usize) {
            bvc.is_heard = is_heard;
        }
    }

    /// A PDU of so many octets came on the signalling BVC of an NSE.
    pub fn count_signalling(&mut self, nsei: Nsei, octets: usize) {
        let nse = self.by_nsei.get(&nsei).copied();
        if let Some(nse) = nse.and_then(|nse| self.nse_mut(nse)) {
            nse.counters.received(octets);
        }
    }

    /// A PDU of so many octets goes out on a PTP BVC.
    pub fn count_sent(&mut self, bvc: u32, octets: usize) {
        if let Some(bvc) = self.bvcs.get_mut(bvc as usize) {
            bvc.counters.sent(octets);
        }
    }

    /// The same, on a BVC by its name.
    pub fn count_sent_by_name(&mut self, nsei: Nsei, bvci: Bvci, octets: usize) {
        if bvci == Bvci::SIGNALLING {
            let nse = self.by_nsei.get(&nsei).copied();
            if let Some(nse) = nse.and_then(|nse| self.nse_mut(nse)) {
                nse.counters.sent(octets);
            }
        } else if let Some(bvc) = self.find(nsei, bvci) {
            self.count_sent(bvc, octets);
        }
    }

    /// A BSS has discarded LL-PDUs of a cell.
    pub fn count_discarded(&mut self, nsei: Nsei, bvci: Bvci) {
        let bvc = self.find(nsei, bvci);
        if let Some(bvc) = bvc.and_then(|bvc| self.bvcs.get_mut(bvc as usize)) {
            bvc.counters.discarded += 1;
        }
    }

    /// The counters of the BVC that a message of the signalling BVC is about, or of the signalling BVC itself.
    pub(super) fn counters_of(&mut self, nsei: Nsei, bvci: Option<Bvci>) -> Option<&mut BvcCounters> {
        let ptp = bvci.and_then(|bvci| self.find(nsei, bvci));
        match ptp {
            Some(bvc) => self.bvcs.get_mut(bvc as usize).map(|bvc| &mut bvc.counters),
            None => {
                let nse = self.by_nsei.get(&nsei).copied()?;
                self.nse_mut(nse).map(|nse| &mut nse.counters)
            }
        }
    }

    /// The same of an NSE: one that is down with all its BVCs.
    fn down_nse(&self) -> Option<u32> {
        let is_down = |nse: &Nse| {
            nse.state == BvcState::Down
                && self.bvcs().all(|(_, bvc)| bvc.nsei != nse.nsei || bvc.state == BvcState::Down)
        };
        let found = (0..).zip(&self.nses).find(|(_, nse)| is_down(nse)).map(|(index, _)| index);
        found.filter(|_| self.config.role == Role::Sgsn)
    }

    pub(super) fn nse_mut(&mut self, nse: u32) -> Option<&mut Nse> {
        self.nses.get_mut(nse as usize)
    }

    /// A state that no timer guards.
    pub(super) fn set(&mut self, bvc: u32, state: BvcState) {
        self.waiting.remove(bvc);
        if let Some(bvc) = self.bvcs.get_mut(bvc as usize) {
            bvc.state = state;
        }
    }

    pub(super) fn set_nse(&mut self, nse: u32, state: BvcState) {
        self.waiting.remove(self.config.bvcs_max + nse);
        if let Some(nse) = self.nse_mut(nse) {
            nse.state = state;
        }
    }

    /// All PTP BVCs of an NSE are down.
    pub(super) fn end_ptp(&mut self, nsei: Nsei, out: &mut Batch<BvcOutput>) {
        for bvc in self.ptp_of(nsei) {
            if self.get(bvc).is_some_and(|bvc| bvc.state != BvcState::Down) {
                self.set(bvc, BvcState::Down);
                out.push(BvcOutput::Down { bvc });
            }
        }
    }

    /// The BVCs of an NSE by index. A list of its own: procedures are rare.
    pub(super) fn ptp_of(&self, nsei: Nsei) -> Vec<u32> {
        self.bvcs().filter(|(_, bvc)| bvc.nsei == nsei).map(|(index, _)| index).collect()
    }

    /// BVC-RESET of the signalling BVC (clause 8.4); T2 guards it.
    pub(super) fn begin_signalling_reset(
        &mut self,
        cx: &mut Context<'_>,
        nse: u32,
        out: &mut Batch<BvcOutput>,
    ) {
        let Some(state) = self.nse_mut(nse) else { return };
        let nsei = state.nsei;
        state.tries = 0;
        self.end_ptp(nsei, out);
        self.set_nse(nse, BvcState::Resetting);
        self.send_signalling_reset(cx, nse, out);
    }

    fn send_signalling_reset(&mut self, cx: &Context<'_>, nse: u32, out: &mut Batch<BvcOutput>) {
        let Some(nsei) = self.nse_mut(nse).map(|nse| nse.nsei) else { return };
        let features = (self.config.features != 0).then_some(self.config.features);
        let (bvci, cause) = (Bvci::SIGNALLING, Cause::OamIntervention);
        let message = Message::BvcReset { bvci, cause, cell: None, features };
        out.push(BvcOutput::Send { nsei, bvci, message });
        self.waiting.set(self.config.bvcs_max + nse, cx.now + self.config.t2);
    }

    /// T2 of a signalling BVC has run out.
    pub(super) fn signalling_t2(&mut self, cx: &mut Context<'_>, nse: u32, out: &mut Batch<BvcOutput>) {
        let retries = self.config.reset_retries;
        let Some(state) = self.nse_mut(nse) else { return };
        let nsei = state.nsei;
        if state.state == BvcState::Down {
            self.begin_signalling_reset(cx, nse, out);
        } else if state.tries < retries {
            state.tries += 1;
            self.send_signalling_reset(cx, nse, out);
        } else {
            self.set_nse(nse, BvcState::Down);
            cx.drop(Drop::BssgpUnanswered, None);
            out.push(BvcOutput::Unanswered { nsei, bvci: Bvci::SIGNALLING });
            if self.config.role == Role::Bss {
                self.waiting.set(self.config.bvcs_max + nse, cx.now + RESET_AGAIN);
            }
        }
    }

    /// Sends what `state` stands for, and starts the timer that guards it.
    pub(super) fn begin(
        &mut self,
        cx: &mut Context<'_>,
        bvc: u32,
        state: BvcState,
        out: &mut Batch<BvcOutput>,
    ) {
        if let Some(bvc) = self.bvcs.get_mut(bvc as usize) {
            bvc.state = state;
            bvc.tries = 0;
        }
        self.send(cx, bvc, out);
    }

    fn send(&mut self, cx: &Context<'_>, index: u32, out: &mut Batch<BvcOutput>) {
        let Some(Bvc { nsei, bvci, cell, state, cause, .. }) = self.get(index).copied() else { return };
        let cell = (self.config.role == Role::Bss).then_some(cell);
        let (message, guard) = match state {
            BvcState::Resetting => (Message::BvcReset { bvci, cause, cell, features: None }, self.config.t2),
            BvcState::Blocking => (Message::BvcBlock { bvci, cause }, self.config.t1),
            BvcState::Unblocking => (Message::BvcUnblock { bvci }, self.config.t1),
            BvcState::Down | BvcState::Unblocked | BvcState::Blocked => return,
        };
        out.push(BvcOutput::Send { nsei, bvci: Bvci::SIGNALLING, message });
        self.waiting.set(index, cx.now + guard);
    }

    /// T1 or T2 of a PTP BVC has run out (clauses 8.3.2 and 8.4.1).
    pub(super) fn repeat(&mut self, cx: &mut Context<'_>, index: u32, out: &mut Batch<BvcOutput>) {
        let (block, reset) = (self.config.block_retries, self.config.reset_retries);
        let Some(bvc) = self.bvcs.get_mut(index as usize) else { return };
        let (retries, then) = match bvc.state {
            BvcState::Resetting => (reset, BvcState::Down),
            // It stays as it is without the peer's consent, and O&M is told.
            BvcState::Blocking => (block, BvcState::Blocked),
            // The BSS starts afresh instead: the SGSN may have forgotten the BVC.
            BvcState::Unblocking => (block, BvcState::Resetting),
            BvcState::Down => return self.begin_again(cx, index, out),
            BvcState::Unblocked | BvcState::Blocked => return,
        };
        if bvc.tries < retries {
            bvc.tries += 1;
            self.send(cx, index, out);
        } else {
            let (nsei, bvci) = (bvc.nsei, bvc.bvci);
            self.set(index, then);
            cx.drop(Drop::BssgpUnanswered, None);
            out.push(BvcOutput::Unanswered { nsei, bvci });
            match then {
                BvcState::Down if self.config.role == Role::Bss => {
                    self.waiting.set(index, cx.now + RESET_AGAIN)
                }
                BvcState::Resetting => self.reset(cx, index, Cause::EquipmentFailure, out),
                _ => {}
            }
        }
    }

    /// A BSS resets what stayed without answer.
    fn begin_again(&mut self, cx: &mut Context<'_>, index: u32, out: &mut Batch<BvcOutput>) {
        let nse = self.get(index).and_then(|bvc| self.by_nsei.get(&bvc.nsei).copied());
        let state = nse.and_then(|nse| self.nse_mut(nse)).map(|nse| nse.state);
        // Otherwise the reset of the signalling BVC brings it back.
        if state == Some(BvcState::Unblocked) {
            self.begin(cx, index, BvcState::Resetting, out);
        }
    }
}
