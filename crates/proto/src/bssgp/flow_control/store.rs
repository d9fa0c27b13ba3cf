//! What is queued, and who is known: PDUs in a table with lists through it, mobiles in a table with a directory.

use super::{Amount, Bucket, CLASSES, FlowControl, Ms, Pdu, PduMeta, Place};
use crate::drops::Drop;
use crate::machine::Context;
use crate::qos::class::Class;
use crate::qos::leaky_bucket::LeakyBucket;
use crate::qos::links::{Links, List, NIL};
use crate::time::Instant;

/// Idle mobiles that are looked at for one whose bucket is empty before a new mobile is refused.
const RECLAIM_ATTEMPTS: u32 = 4;

/// A PDU in a queue.
#[derive(Debug)]
pub(super) struct Queued<T> {
    pub(super) pdu: Pdu<T>,
    pub(super) since: Instant,
}

/// All queued PDUs.
#[derive(Debug)]
pub(super) struct Pdus<T> {
    nodes: Vec<Option<Queued<T>>>,
    free: Vec<u32>,
    links: Links,
}

/// One queue through the table.
#[derive(Debug, Default)]
pub(super) struct Queue {
    list: List,
    octets: u64,
}

impl Queue {
    pub(super) fn amount(&self) -> Amount {
        Amount { pdus: self.list.len(), octets: self.octets }
    }
}

impl<T> Pdus<T> {
    pub(super) fn new(capacity: u32) -> Self {
        Self {
            nodes: (0..capacity).map(|_| None).collect(),
            free: (0..capacity).rev().collect(),
            links: Links::new(capacity as usize),
        }
    }

    pub(super) const fn free(&self) -> u32 {
        // The table's size is a u32.
        #[expect(clippy::cast_possible_truncation, reason = "at most `capacity`, which is a u32")]
        let free = self.free.len() as u32;
        free
    }

    fn push(&mut self, queue: &mut Queue, queued: Queued<T>) {
        let octets = queued.pdu.frame.len() as u64;
        let Some(at) = self.free.pop() else { return };
        if let Some(node) = self.nodes.get_mut(at as usize) {
            *node = Some(queued);
            queue.octets += octets;
            self.links.push_back(&mut queue.list, at);
        }
    }

    fn take(&mut self, queue: &mut Queue, at: u32) -> Option<Queued<T>> {
        let queued = self.nodes.get_mut(at as usize)?.take()?;
        self.links.remove(&mut queue.list, at);
        queue.octets = queue.octets.saturating_sub(queued.pdu.frame.len() as u64);
        self.free.push(at);
        Some(queued)
    }

    fn first(&self, queue: &Queue) -> Option<&Queued<T>> {
        self.nodes.get(queue.list.first()? as usize)?.as_ref()
    }
}

impl<T: PduMeta> FlowControl<T> {
    pub(super) fn find(&self, ms: u32) -> Option<u32> {
        self.directory.get(ms as usize).copied().filter(|at| *at != NIL)
    }

    pub(super) fn cell_of(&self, at: u32) -> Option<u32> {
        self.mobiles.get(at as usize).map(|state| state.cell)
    }

    pub(super) fn queue(&self, at: u32, class: Class) -> &Queue {
        const NONE: &Queue = &Queue { list: List::EMPTY, octets: 0 };
        self.mobiles.get(at as usize).and_then(|state| state.queues.get(class as usize)).unwrap_or(NONE)
    }

    pub(super) fn queued(&self, cell: u32, class: Class) -> Amount {
        let state = self.cells.get(cell as usize);
        state.and_then(|state| state.queued.get(class as usize)).copied().unwrap_or_default()
    }

    /// What shares one limit of a cell with a class: signalling has its own, all user data has the other.
    pub(super) fn queued_with(&self, cell: u32, class: Class) -> Amount {
        match class {
            Class::Signalling => self.queued(cell, class),
            Class::RealTime | Class::BestEffort => {
                self.queued(cell, Class::RealTime).plus(self.queued(cell, Class::BestEffort))
            }
        }
    }

    pub(super) fn first(&self, at: u32, class: Class) -> Option<&Queued<T>> {
        self.pdus.first(self.queue(at, class))
    }

    /// The mobile, known anew where it was not, with the default bucket of its cell; `None` where no room is left.
    pub(super) fn find_or_create(&mut self, now: Instant, cell: u32, ms: u32) -> Option<u32> {
        if let Some(at) = self.find(ms) {
            return (cell < self.config.cells_max).then_some(at);
        }
        let Bucket { bmax_octets, rate_bit_per_s } = self.cells.get(cell as usize)?.default_ms;
        self.directory.get(ms as usize)?;
        let at = self.free_mobiles.pop().or_else(|| self.reclaim(now))?;
        if let Some(state) = self.mobiles.get_mut(at as usize) {
            state.name = ms;
            state.bucket = Some(LeakyBucket::new(bmax_octets, rate_bit_per_s));
        }
        if let Some(entry) = self.directory.get_mut(ms as usize) {
            *entry = at;
        }
        self.join(cell, at);
        self.turns.push_back(&mut self.idle, at);
        Some(at)
    }

    /// The mobile as a member of `cell`, to which it comes where it has no backlog elsewhere.
    pub(super) fn member(&mut self, cx: &mut Context<'_>, cell: u32, ms: u32) -> Option<u32> {
        let at = self.find_or_create(cx.now, cell, ms)?;
        if self.cell_of(at) != Some(cell)
            && Class::ALL.into_iter().all(|class| self.first(at, class).is_none())
        {
            self.move_to(cx, at, cell);
        }
        Some(at).filter(|at| self.cell_of(*at) == Some(cell))
    }

    /// Makes room: forgets a mobile that is idle and whose bucket is as good as a new one.
    fn reclaim(&mut self, now: Instant) -> Option<u32> {
        for _ in 0..RECLAIM_ATTEMPTS {
            let at = self.idle.first()?;
            self.settle(now, at);
            let state = self.mobiles.get(at as usize)?;
            if state.specific_until.is_none() && state.bucket.is_some_and(|bucket| bucket.is_empty(now)) {
                self.release(at);
                return self.free_mobiles.pop();
            }
            self.turns.remove(&mut self.idle, at);
            self.turns.push_back(&mut self.idle, at);
        }
        None
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
        let Some(ms) =
            self.mobiles.get_mut(at as usize).filter(|ms| ms.name != NIL && ms.place == Place::Idle)
        else {
            return;
        };
        let former = core::mem::replace(ms, Ms::unused());
        if let Some(cell) = self.cells.get_mut(former.cell as usize) {
            self.membership.remove(&mut cell.members, at);
        }
        self.turns.remove(&mut self.idle, at);
        if let Some(entry) = self.directory.get_mut(former.name as usize) {
            *entry = NIL;
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

    /// Puts a PDU at the end of its queue.
    pub(super) fn push(&mut self, now: Instant, at: u32, pdu: Pdu<T>) {
        let (class, octets) = (pdu.class, pdu.frame.len() as u64);
        let Some(ms) = self.mobiles.get_mut(at as usize) else { return };
        if let Some(queue) = ms.queues.get_mut(class as usize) {
            self.pdus.push(queue, Queued { pdu, since: now });
        }
        let cell = ms.cell;
        self.count(cell, class, |sum| sum.plus(Amount { pdus: 1, octets }));
    }

    fn take(&mut self, at: u32, class: Class, node: impl Fn(&List) -> Option<u32>) -> Option<Queued<T>> {
        let ms = self.mobiles.get_mut(at as usize)?;
        let queue = ms.queues.get_mut(class as usize)?;
        let node = node(&queue.list)?;
        let queued = self.pdus.take(queue, node)?;
        let (cell, octets) = (ms.cell, queued.pdu.frame.len() as u64);
        self.count(cell, class, |sum| Amount {
            pdus: sum.pdus.saturating_sub(1),
            octets: sum.octets.saturating_sub(octets),
        });
        Some(queued)
    }

    /// Takes the first PDU of a class.
    pub(super) fn pop(&mut self, at: u32, class: Class) -> Option<Queued<T>> {
        self.take(at, class, List::first)
    }

    fn count(&mut self, cell: u32, class: Class, change: impl FnOnce(Amount) -> Amount) {
        let state = self.cells.get_mut(cell as usize);
        if let Some(sum) = state.and_then(|state| state.queued.get_mut(class as usize)) {
            *sum = change(*sum);
        }
    }

    /// Drops the whole backlog of a mobile, each PDU by name.
    pub(super) fn empty(&mut self, cx: &mut Context<'_>, at: u32) -> Amount {
        let mut sum = Amount::default();
        for class in Class::ALL {
            while let Some(queued) = self.pop(at, class) {
                sum = sum.plus(Amount { pdus: 1, octets: queued.pdu.frame.len() as u64 });
                cx.drop(Drop::FlowFlushed, queued.pdu.meta.whose());
            }
        }
        sum
    }

    /// Moves a mobile to another cell with its queues.
    pub(super) fn move_to(&mut self, cx: &mut Context<'_>, at: u32, cell: u32) {
        self.unplace(at);
        let Some(ms) = self.mobiles.get_mut(at as usize) else { return };
        let (Some(default_ms), former) = (self.cells.get(cell as usize).map(|c| c.default_ms), ms.cell)
        else {
            return;
        };
        ms.bucket = Some(LeakyBucket::new(default_ms.bmax_octets, default_ms.rate_bit_per_s));
        ms.specific_until = None;
        let amounts: [Amount; CLASSES] = Class::ALL.map(|class| self.queue(at, class).amount());
        for (class, amount) in Class::ALL.into_iter().zip(amounts) {
            self.count(former, class, |sum| Amount {
                pdus: sum.pdus.saturating_sub(amount.pdus),
                octets: sum.octets.saturating_sub(amount.octets),
            });
            self.count(cell, class, |sum| sum.plus(amount));
        }
        if let Some(state) = self.cells.get_mut(former as usize) {
            self.membership.remove(&mut state.members, at);
        }
        self.join(cell, at);
        for class in Class::ALL.into_iter().rev() {
            let limit = self.limits(class).cell;
            let over = |sum: Amount| sum.pdus > limit.pdus || sum.octets > limit.octets;
            while over(self.queued_with(cell, class)) {
                let Some(queued) = self.take(at, class, List::last) else { break };
                cx.drop(Drop::FlowCellQueueFull, queued.pdu.meta.whose());
            }
        }
        self.place_cell(cx.now, former);
        self.refresh(cx, at);
    }
}
