//! What is queued, and who is known: PDUs in a table with lists through it, mobiles in a table with a directory.

use super::state::{ByClass, Cell, Ms, NEVER, Place, Queue, Rank};
use super::{Amount, Bucket, FlowControl, Pdu, PduMeta};
use crate::about::About as _;
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::prefetch::Prefetch;
use gannet_machine::time::Instant;
use gannet_qos::class::CellClass;
use gannet_qos::links::{Links, List};

/// Where more mobiles than this are known, and few of them at the same time, their places go round: what is touched
/// stays small, and in the cache.
const RECLAIM_FROM: usize = 12_288;
/// So many places go round, and so many more each time that those are not enough: 128 octets each.
const ROUND: u32 = 1024;
/// How often in a row: the second time they are places that have not gone round of late, since a round gets shorter by no more
/// than the first.
const WIDENED: u32 = 2;
/// Mobiles that are then looked at for one that is idle and whose bucket is empty before the table grows.
const RECLAIM_EARLY: u32 = 2;
/// The same before a new mobile is refused.
const RECLAIM_FULL: u32 = 16;

/// A PDU in a queue.
#[derive(Debug)]
pub(super) struct Queued<T> {
    pub(super) pdu: Pdu<T>,
    pub(super) since: Instant,
    /// Its mobile's place in the table.
    owner: u32,
}

/// All queued PDUs. The table grows up to its capacity, so that only memory is touched that was needed.
#[derive(Debug)]
pub(super) struct Pdus<T> {
    nodes: Vec<Option<Queued<T>>>,
    capacity: u32,
    used: u32,
    free: Vec<u32>,
    /// Of the mobiles' queues.
    links: Links,
    /// Of the cells' lists by rank.
    ranks: Links,
}

impl<T> Pdus<T> {
    pub(super) fn new(capacity: u32) -> Self {
        let room = capacity as usize;
        Self {
            nodes: Vec::with_capacity(room),
            capacity,
            used: 0,
            free: Vec::with_capacity(room),
            links: Links::with_capacity(room),
            ranks: Links::with_capacity(room),
        }
    }

    pub(super) const fn free(&self) -> u32 {
        self.capacity - self.used
    }

    fn add(&mut self, queued: Queued<T>) -> Option<u32> {
        if self.used >= self.capacity {
            return None;
        }
        self.used += 1;
        if let Some(at) = self.free.pop() {
            *self.nodes.get_mut(at as usize)? = Some(queued);
            return Some(at);
        }
        let at = u32::try_from(self.nodes.len()).ok()?;
        self.nodes.push(Some(queued));
        self.links.grow();
        self.ranks.grow();
        Some(at)
    }

    #[inline]
    pub(super) fn get(&self, at: u32) -> Option<&Queued<T>> {
        self.nodes.get(at as usize)?.as_ref()
    }

    fn take(&mut self, at: u32) -> Option<Queued<T>> {
        let queued = self.nodes.get_mut(at as usize)?.take()?;
        self.used -= 1;
        self.free.push(at);
        Some(queued)
    }
}

impl<T: PduMeta> FlowControl<T> {
    #[inline]
    pub(super) fn find(&self, ms: u32) -> Option<u32> {
        self.directory
            .find(ms)
            .filter(|at| self.mobiles.get(*at as usize).is_some_and(|state| state.name == ms))
    }

    #[inline]
    pub(super) fn cell_of(&self, at: u32) -> Option<u32> {
        self.mobiles.get(at as usize).map(|state| state.cell)
    }

    #[inline]
    pub(super) fn queue(&self, at: u32, class: CellClass) -> &Queue {
        const NONE: &Queue = &Queue { list: List::EMPTY, octets: 0 };
        self.mobiles.get(at as usize).map_or(NONE, |state| &state.queues[class])
    }

    #[inline]
    pub(super) fn first(&self, at: u32, class: CellClass) -> Option<&Queued<T>> {
        self.pdus.get(self.queue(at, class).list.first()?)
    }

    /// Asks for where a mobile's state is found by its name.
    #[inline]
    pub fn prefetch(&self, ms: u32, prefetch: Prefetch) {
        self.directory.prefetch(ms, prefetch);
    }

    /// Asks for what [`FlowControl::offer`] will need of a mobile; after [`FlowControl::prefetch`].
    #[inline]
    pub fn prefetch_offer(&self, ms: u32, prefetch: Prefetch) {
        if let Some(state) = self.directory.find(ms).and_then(|at| self.mobiles.get(at as usize)) {
            prefetch.beginning(state, Ms::HOT);
        }
    }

    /// Asks for what [`FlowControl::offer`] will need of a cell.
    #[inline]
    pub fn prefetch_cell(&self, cell: u32, prefetch: Prefetch) {
        if let Some(state) = self.cells.get(cell as usize) {
            prefetch.beginning(state, Cell::HOT);
        }
    }

    /// One more place in the table of mobiles, which has room for it.
    pub(super) fn add_mobile(&mut self) -> Option<u32> {
        let at = u32::try_from(self.mobiles.len()).ok()?;
        if at >= self.config.cells_max + self.config.active_ms_max {
            return None;
        }
        self.mobiles.push(Ms::UNUSED);
        self.turns.grow();
        self.membership.grow();
        Some(at)
    }

    /// The mobile, known anew where it was not, with the default bucket of its cell; `None` where no room is left.
    pub(super) fn find_or_create(&mut self, now: Instant, cell: u32, ms: u32) -> Option<u32> {
        if let Some(at) = self.find(ms) {
            return (cell < self.config.cells_max).then_some(at);
        }
        let default_ms = self.cells.get(cell as usize)?.default_ms;
        if !self.directory.has(ms) {
            return None;
        }
        let at = self
            .free_mobiles
            .pop()
            .or_else(|| (self.mobiles.len() >= RECLAIM_FROM).then(|| self.reclaim(now, RECLAIM_EARLY))?)
            .or_else(|| self.add_mobile())
            .or_else(|| self.reclaim(now, RECLAIM_FULL))?;
        if let Some(state) = self.mobiles.get_mut(at as usize) {
            state.name = ms;
            state.bucket = default_ms.empty();
        }
        self.directory.set(ms, at);
        self.join(cell, at);
        Some(at)
    }

    /// The mobile as a member of `cell`, to which it comes where it has no backlog elsewhere.
    pub(super) fn member(&mut self, cx: &mut Context<'_>, cell: u32, ms: u32) -> Option<u32> {
        let at = self.find_or_create(cx.now, cell, ms)?;
        if self.cell_of(at) != Some(cell)
            && CellClass::ALL.into_iter().all(|class| self.first(at, class).is_none())
        {
            self.move_to(cx, at, cell);
        }
        Some(at).filter(|at| self.cell_of(*at) == Some(cell))
    }

    /// Makes room: forgets a mobile that is idle and whose bucket is as good as a new one, if one is found among the
    /// next `attempts` of those that go round, or of those that have not for a while.
    fn reclaim(&mut self, now: Instant, attempts: u32) -> Option<u32> {
        let found = self.reclaim_among(now, attempts);
        found.or_else(|| {
            (0..WIDENED).find_map(|_| {
                self.widen_round();
                self.reclaim_among(now, attempts)
            })
        })
    }

    fn reclaim_among(&mut self, now: Instant, attempts: u32) -> Option<u32> {
        for _ in 0..attempts {
            let at = self.next_in_round();
            self.settle(now, at);
            let state = self.mobiles.get(at as usize)?;
            let idle =
                self.is_mobile(at) && state.place == Place::Idle && state.rests_for == 0 && !state.held;
            if idle && state.specific_until == NEVER && state.bucket.is_empty(now) {
                self.release(at);
                return self.free_mobiles.pop();
            }
        }
        None
    }

    /// The next place of those that go round.
    fn next_in_round(&mut self) -> u32 {
        let first = self.config.cells_max;
        let end = first.saturating_add(self.round).min(u32::try_from(self.mobiles.len()).unwrap_or(u32::MAX));
        if self.hand >= end {
            // What was needed once may not be needed any longer.
            self.round = (self.round - (self.round / 8).min(ROUND)).max(ROUND);
            self.hand = first;
        }
        let at = self.hand;
        self.hand += 1;
        at
    }

    /// More places go round, those that are new among them first.
    fn widen_round(&mut self) {
        self.hand = self.config.cells_max.saturating_add(self.round);
        self.round = self.round.saturating_add(ROUND).min(self.config.active_ms_max);
    }

    /// Makes a mobile a member of a cell.
    pub(super) fn join(&mut self, cell: u32, at: u32) {
        if let (Some(state), Some(ms)) =
            (self.cells.get_mut(cell as usize), self.mobiles.get_mut(at as usize))
        {
            ms.cell = cell;
            self.membership.push_back(&mut state.members, at);
        }
    }

    /// Forgets a mobile that has no backlog. The cells' own PDUs have an owner for ever.
    pub(super) fn release(&mut self, at: u32) {
        let is_mobile = self.is_mobile(at);
        let Some(ms) = self.mobiles.get_mut(at as usize).filter(|ms| is_mobile && ms.place == Place::Idle)
        else {
            return;
        };
        let former = core::mem::replace(ms, Ms::UNUSED);
        if let Some(cell) = self.cells.get_mut(former.cell as usize) {
            self.membership.remove(&mut cell.members, at);
        }
        self.free_mobiles.push(at);
    }

    /// Calls `action` for each member of a cell; it may take that member out.
    pub(super) fn for_members(&mut self, cell: u32, mut action: impl FnMut(&mut Self, u32)) {
        let mut next = self.cells.get(cell as usize).and_then(|state| state.members.first());
        while let Some(at) = next {
            next = self.membership.next(at);
            action(self, at);
        }
    }

    /// Finds a place for a PDU in the queues of its cell and in the table, where those of lower rank are pushed out.
    pub(super) fn make_room(&mut self, cx: &mut Context<'_>, cell: u32, pdu: &Pdu<T>) -> Result<(), Drop> {
        let (class, octets) = (pdu.class, pdu.frame.len() as u64);
        let rank = Rank::of(class, pdu.precedence);
        let limit = self.config.limits(class).cell;
        let full = |control: &Self| {
            control.cells.get(cell as usize).is_none_or(|state| !limit.holds(state.limited(class), octets))
        };
        while full(self) {
            // To push out user data makes no room among signalling.
            if rank == Rank::SIGNALLING || !self.push_out(cx, cell, rank) {
                return Err(Drop::FlowCellQueueFull);
            }
        }
        let reserved = if class == CellClass::Signalling { 0 } else { self.config.pdus_max / 8 };
        if self.pdus.free() <= reserved && !self.push_out(cx, cell, rank) {
            return Err(Drop::FlowTableFull);
        }
        Ok(())
    }

    /// Drops the youngest PDU of the lowest rank below `rank` in a cell; false where there is none.
    fn push_out(&mut self, cx: &mut Context<'_>, cell: u32, rank: Rank) -> bool {
        let lower = self
            .cells
            .get(cell as usize)
            .and_then(|state| state.ranks.iter().take(rank.index()).find_map(List::last));
        lower.is_some_and(|node| self.discard(cx, node, Drop::FlowPushedOut))
    }

    /// Drops a PDU, wherever in its queue it stands.
    fn discard(&mut self, cx: &mut Context<'_>, node: u32, drop: Drop) -> bool {
        let Some(queued) = self.pdus.get(node) else { return false };
        let (owner, class) = (queued.owner, queued.pdu.class);
        let first = self.queue(owner, class).list.first() == Some(node);
        cx.drop_of(drop, queued.pdu.meta.whose());
        self.take(owner, class, node);
        if first {
            self.refresh(cx, owner);
        }
        true
    }

    /// How many PDUs are ahead of the others in a queue, and the last of them.
    pub(super) fn ahead_of(&self, at: u32, class: CellClass) -> (u32, Option<u32>) {
        let (mut count, mut last, mut next) = (0, None, self.queue(at, class).list.first());
        while let Some(node) = next.filter(|node| self.pdus.get(*node).is_some_and(|of| of.pdu.is_ahead)) {
            (count, last, next) = (count + 1, Some(node), self.pdus.links.next(node));
        }
        (count, last)
    }

    /// Puts a PDU at the end of its queue, or behind those that are ahead as it is. True where it is the first.
    pub(super) fn push(&mut self, now: Instant, at: u32, pdu: Pdu<T>) -> bool {
        let (class, rank, octets) = (pdu.class, Rank::of(pdu.class, pdu.precedence), pdu.frame.len());
        let stands = self.stands(at);
        let ahead = pdu.is_ahead.then(|| self.ahead_of(at, class).1);
        let Some(node) = self.pdus.add(Queued { pdu, since: now, owner: at }) else { return false };
        let Some(ms) = self.mobiles.get_mut(at as usize) else { return false };
        let Some(cell) = self.cells.get_mut(ms.cell as usize) else { return false };
        let list = &mut ms.queues[class].list;
        match ahead {
            None => self.pdus.links.push_back(list, node),
            Some(None) => self.pdus.links.push_front(list, node),
            Some(Some(last)) => self.pdus.links.insert_behind(list, last, node),
        }
        let is_first = list.first() == Some(node);
        if let Some(list) = cell.ranks.get_mut(rank.index()) {
            self.pdus.ranks.push_back(list, node);
        }
        let octets = u32::try_from(octets).unwrap_or(u32::MAX);
        ms.queues[class].octets += octets;
        let one = Amount { pdus: 1, octets: octets.into() };
        cell.queued[class] = cell.queued[class].plus(one);
        if stands {
            cell.standing[class] = cell.standing[class].plus(one);
        }
        self.grown(at, class);
        is_first
    }

    /// Takes a PDU of a mobile's queue out.
    fn take(&mut self, at: u32, class: CellClass, node: u32) -> Option<Queued<T>> {
        let stands = self.stands(at);
        let queued = self.pdus.take(node)?;
        let ms = self.mobiles.get_mut(at as usize)?;
        let cell = self.cells.get_mut(ms.cell as usize)?;
        self.pdus.links.remove(&mut ms.queues[class].list, node);
        if let Some(list) = cell.ranks.get_mut(Rank::of(class, queued.pdu.precedence).index()) {
            self.pdus.ranks.remove(list, node);
        }
        let octets = u32::try_from(queued.pdu.frame.len()).unwrap_or(u32::MAX);
        ms.queues[class].octets -= octets;
        let one = Amount { pdus: 1, octets: octets.into() };
        cell.queued[class] = cell.queued[class].minus(one);
        if stands {
            cell.standing[class] = cell.standing[class].minus(one);
        }
        self.shrunk(at, class);
        Some(queued)
    }

    /// Takes the first PDU of a class.
    pub(super) fn pop(&mut self, at: u32, class: CellClass) -> Option<Queued<T>> {
        let node = self.queue(at, class).list.first()?;
        self.take(at, class, node)
    }

    /// Drops the whole backlog of a mobile, each PDU by name.
    pub(super) fn empty(&mut self, cx: &mut Context<'_>, at: u32) -> Amount {
        let mut sum = Amount::default();
        for class in CellClass::ALL {
            while let Some(queued) = self.pop(at, class) {
                sum = sum.plus(Amount { pdus: 1, octets: queued.pdu.frame.len() as u64 });
                cx.drop_of(Drop::FlowFlushed, queued.pdu.meta.whose());
            }
        }
        sum
    }

    /// Moves a mobile to another cell with its queues.
    pub(super) fn move_to(&mut self, cx: &mut Context<'_>, at: u32, cell: u32) {
        let Some(Bucket { bmax_octets, rate_bit_per_s }) =
            self.cells.get(cell as usize).map(|state| state.default_ms)
        else {
            return;
        };
        self.unplace(at);
        let amounts = ByClass(CellClass::ALL.map(|class| self.queue(at, class).amount()));
        let Some(ms) = self.mobiles.get_mut(at as usize) else { return };
        let former = ms.cell;
        ms.bucket = Bucket { bmax_octets, rate_bit_per_s }.empty();
        ms.specific_until = NEVER;
        self.rerank(at, former, cell);
        if let Some(state) = self.cells.get_mut(former as usize) {
            self.membership.remove(&mut state.members, at);
            for class in CellClass::ALL {
                state.queued[class] = state.queued[class].minus(amounts[class]);
            }
        }
        self.join(cell, at);
        if let Some(state) = self.cells.get_mut(cell as usize) {
            for class in CellClass::ALL {
                state.queued[class] = state.queued[class].plus(amounts[class]);
            }
        }
        self.mark_cell(former);
        self.mark_cell(cell);
        self.trim(cx, at, cell);
        self.stir(former);
        self.refresh(cx, at);
    }

    /// Moves a mobile's user data from the lists of one cell to those of another, where it is the youngest.
    fn rerank(&mut self, at: u32, from: u32, to: u32) {
        for class in CellClass::DATA {
            let mut next = self.queue(at, class).list.first();
            while let Some(node) = next {
                next = self.pdus.links.next(node);
                let Some(queued) = self.pdus.get(node) else { return };
                let rank = Rank::of(class, queued.pdu.precedence).index();
                if let Some(list) =
                    self.cells.get_mut(from as usize).and_then(|cell| cell.ranks.get_mut(rank))
                {
                    self.pdus.ranks.remove(list, node);
                }
                if let Some(list) = self.cells.get_mut(to as usize).and_then(|cell| cell.ranks.get_mut(rank))
                {
                    self.pdus.ranks.push_back(list, node);
                }
            }
        }
    }

    /// Drops what exceeds the limits of a cell to which a mobile has come: of its signalling the youngest, of all user
    /// data the youngest of the lowest rank.
    fn trim(&mut self, cx: &mut Context<'_>, at: u32, cell: u32) {
        for class in [CellClass::Signalling, CellClass::BestEffort] {
            let limit = self.config.limits(class).cell;
            while self
                .cells
                .get(cell as usize)
                .is_some_and(|state| limit.is_exceeded_by(state.limited(class)))
            {
                let node = match class {
                    CellClass::Signalling => self.queue(at, class).list.last(),
                    CellClass::RealTime | CellClass::Guaranteed | CellClass::BestEffort => self
                        .cells
                        .get(cell as usize)
                        .and_then(|state| state.ranks.iter().find_map(List::last)),
                };
                let Some((node, queued)) = node.and_then(|node| Some((node, self.pdus.get(node)?))) else {
                    break;
                };
                let drop = if queued.owner == at { Drop::FlowCellQueueFull } else { Drop::FlowPushedOut };
                self.discard(cx, node, drop);
            }
        }
    }
}
