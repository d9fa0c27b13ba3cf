//! Whose turn it is: mobiles are idle, ready or waiting; cells send, wait, or have nothing to send.

use super::{Bucket, Dequeue, FlowControl, PduMeta, Place};
use crate::drops::Drop;
use crate::machine::Context;
use crate::qos::class::Class;
use crate::time::Instant;

/// The instant that never comes.
const NEVER: Instant = Instant(u64::MAX);

impl<T: PduMeta> FlowControl<T> {
    /// The next PDU that conforms now, which is counted in its buckets, or how long nothing will conform.
    pub fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue<T> {
        loop {
            while let Some(member) = self.waiting.pop_due(cx.now) {
                self.wake(cx, member);
            }
            let Some(cell) = self.sending.first() else {
                return self.waiting.next().map_or(Dequeue::Empty, Dequeue::WaitUntil);
            };
            if let Some(found) = self.send(cx, cell) {
                return found;
            }
        }
    }

    /// A mobile or a cell whose instant has come.
    fn wake(&mut self, cx: &mut Context<'_>, member: u32) {
        match self.cell_of_member(member) {
            None => self.refresh(cx, member),
            Some(cell) => {
                for class in Class::ALL {
                    if let Some(at) = self.first_ready(cell, class) {
                        self.refresh(cx, at);
                    }
                }
                self.place_cell(cx.now, cell);
            }
        }
    }

    /// Lets the first mobile of a cell send; `None` where its PDU had to be dropped instead.
    fn send(&mut self, cx: &mut Context<'_>, cell: u32) -> Option<Dequeue<T>> {
        let now = cx.now;
        let turn = Class::ALL.into_iter().find_map(|class| Some((class, self.first_ready(cell, class)?)));
        let Some((class, at)) = turn else {
            self.place_cell(now, cell);
            return None;
        };
        self.settle(now, at);
        if self.purge(cx, at) || !self.conforms(now, at, class) {
            self.place(now, at);
            return None;
        }
        let queued = self.pop(at, class)?;
        let octets = queued.pdu.frame.len() as u64;
        let ms = self.mobiles.get_mut(at as usize)?;
        let name = ms.bucket.is_some().then_some(ms.name);
        // Both conform, as was asked above.
        let _ = ms.bucket.as_mut().is_none_or(|bucket| bucket.admit(now, octets));
        let _ = self.cells.get_mut(cell as usize)?.bucket.admit(now, octets);
        self.unplace(at);
        self.place(now, at);
        self.rotate_cells(cell);
        Some(Dequeue::Pdu { cell, ms: name, since: queued.since, pdu: queued.pdu })
    }

    fn conforms(&self, now: Instant, at: u32, class: Class) -> bool {
        let Some(octets) = self.first(at, class).map(|queued| queued.pdu.frame.len() as u64) else {
            return false;
        };
        let Some(ms) = self.mobiles.get(at as usize) else { return false };
        let cell = self.cells.get(ms.cell as usize);
        ms.bucket.is_none_or(|bucket| bucket.next_conforming(now, octets) == Some(now))
            && cell.is_some_and(|cell| cell.open && cell.bucket.next_conforming(now, octets) == Some(now))
    }

    /// Brings a mobile's values, queues and place up to date. To be called after every change.
    pub(super) fn refresh(&mut self, cx: &mut Context<'_>, at: u32) {
        self.settle(cx.now, at);
        self.purge(cx, at);
        self.place(cx.now, at);
    }

    /// Ends the values of a FLOW-CONTROL-MS where Th has run out, at the instant at which it did.
    pub(super) fn settle(&mut self, now: Instant, at: u32) {
        let Some(ms) = self.mobiles.get_mut(at as usize) else { return };
        let (Some(until), Some(bucket)) = (ms.specific_until, &mut ms.bucket) else { return };
        if until <= now
            && let Some(cell) = self.cells.get(ms.cell as usize)
        {
            bucket.reconfigure(until, cell.default_ms.bmax_octets, cell.default_ms.rate_bit_per_s);
            ms.specific_until = None;
        }
    }

    /// The cell's default values have changed from `former`: for a mobile that has none of its own.
    pub(super) fn apply_default(&mut self, now: Instant, at: u32, former: Bucket) {
        let Some(ms) = self.mobiles.get_mut(at as usize) else { return };
        let Some(bucket) = &mut ms.bucket else { return };
        if let Some(until) = ms.specific_until.filter(|until| *until <= now) {
            bucket.reconfigure(until, former.bmax_octets, former.rate_bit_per_s);
            ms.specific_until = None;
        }
        if ms.specific_until.is_none()
            && let Some(cell) = self.cells.get(ms.cell as usize)
        {
            bucket.reconfigure(now, cell.default_ms.bmax_octets, cell.default_ms.rate_bit_per_s);
        }
    }

    /// The longest PDU that can ever conform: the smaller Bmax.
    pub(super) fn longest(&self, at: u32) -> u64 {
        let Some(ms) = self.mobiles.get(at as usize) else { return 0 };
        let of_ms = ms.bucket.map_or(u64::MAX, |bucket| bucket.bmax_octets());
        let of_cell = self.cells.get(ms.cell as usize).map_or(0, |cell| cell.bucket.bmax_octets());
        of_ms.min(of_cell)
    }

    /// Drops PDUs that stand first and whose lifetime has run out or that have become too long. True where it did.
    fn purge(&mut self, cx: &mut Context<'_>, at: u32) -> bool {
        let (longest, mut dropped) = (self.longest(at), false);
        for class in Class::ALL {
            while let Some(queued) = self.first(at, class) {
                let drop = if queued.pdu.expires <= cx.now {
                    Drop::FlowLifetime
                } else if queued.pdu.frame.len() as u64 > longest {
                    Drop::FlowTooLong
                } else {
                    break;
                };
                cx.drop(drop, queued.pdu.meta.whose());
                self.pop(at, class);
                dropped = true;
            }
        }
        dropped
    }

    /// When the first lifetime of a PDU that stands first in this mobile's queues ends.
    fn first_expiry(&self, at: u32) -> Instant {
        let ends = Class::ALL.into_iter().filter_map(|class| self.first(at, class)).map(|q| q.pdu.expires);
        ends.min().unwrap_or(NEVER)
    }

    /// Puts a mobile where it belongs now; one that was ready and still is keeps its turn.
    pub(super) fn place(&mut self, now: Instant, at: u32) {
        let Some(ms) = self.mobiles.get(at as usize) else { return };
        let (cell, bucket, specific_until) = (ms.cell, ms.bucket, ms.specific_until);
        let head =
            Class::ALL.into_iter().find_map(|class| Some((class, self.first(at, class)?.pdu.frame.len())));
        let (place, wake) = match head {
            None => (Place::Idle, NEVER),
            Some((class, octets)) => {
                let conforms = bucket.map_or(Some(now), |b| b.next_conforming(now, octets as u64));
                match conforms {
                    Some(when) if when <= now => (Place::Ready(class), NEVER),
                    Some(_) | None => {
                        let until = specific_until.unwrap_or(NEVER);
                        (Place::Waiting, conforms.unwrap_or(NEVER).min(self.first_expiry(at)).min(until))
                    }
                }
            }
        };
        if self.mobiles.get(at as usize).is_some_and(|ms| ms.place != place) {
            self.unplace(at);
            match place {
                Place::Idle => self.leave_list_to_idle(at),
                Place::Ready(class) => self.make_ready(cell, at, class),
                Place::Waiting => self.leave_list(at, Place::Waiting),
            }
        }
        if place == Place::Waiting && wake != NEVER {
            self.waiting.set(at, wake);
        } else {
            self.waiting.remove(at);
        }
        self.place_cell(now, cell);
    }

    /// Takes a mobile out of the list of ready ones, and makes it idle.
    pub(super) fn unplace(&mut self, at: u32) {
        self.waiting.remove(at);
        self.leave_list_to_idle(at);
    }

    fn leave_list_to_idle(&mut self, at: u32) {
        if self.mobiles.get(at as usize).is_some_and(|ms| ms.place != Place::Idle) {
            self.leave_list(at, Place::Idle);
            if self.is_mobile(at) {
                self.turns.push_back(&mut self.idle, at);
            }
        }
    }

    /// Takes a mobile out of the list that it is in; it then is in none.
    fn leave_list(&mut self, at: u32, then: Place) {
        let is_mobile = self.is_mobile(at);
        let Some(ms) = self.mobiles.get_mut(at as usize) else { return };
        match core::mem::replace(&mut ms.place, then) {
            Place::Idle if is_mobile => self.turns.remove(&mut self.idle, at),
            Place::Idle | Place::Waiting => {}
            Place::Ready(class) => {
                let cell = self.cells.get_mut(ms.cell as usize);
                if let Some(list) = cell.and_then(|cell| cell.ready.get_mut(class as usize)) {
                    self.turns.remove(list, at);
                }
            }
        }
    }

    fn make_ready(&mut self, cell: u32, at: u32, class: Class) {
        self.leave_list(at, Place::Ready(class));
        let cell = self.cells.get_mut(cell as usize);
        if let Some(list) = cell.and_then(|cell| cell.ready.get_mut(class as usize)) {
            self.turns.push_back(list, at);
        }
    }

    /// Not the owner of a cell's own PDUs, which is never in the list of idle ones.
    const fn is_mobile(&self, at: u32) -> bool {
        at >= self.config.cells_max
    }

    fn first_ready(&self, cell: u32, class: Class) -> Option<u32> {
        self.cells.get(cell as usize)?.ready.get(class as usize)?.first()
    }

    /// The heap's name of a cell.
    fn member_of_cell(&self, cell: u32) -> u32 {
        self.config.cells_max + self.config.active_ms_max + cell
    }

    fn cell_of_member(&self, member: u32) -> Option<u32> {
        member.checked_sub(self.member_of_cell(0))
    }

    /// Puts a cell where it belongs now: it sends, or it waits for its bucket or for the end of a lifetime.
    pub(super) fn place_cell(&mut self, now: Instant, cell: u32) {
        let firsts = Class::ALL.map(|class| self.first_ready(cell, class));
        let mut wake = firsts.into_iter().flatten().map(|at| self.first_expiry(at)).min().unwrap_or(NEVER);
        let head = Class::ALL.into_iter().zip(firsts).find_map(|(class, at)| self.first(at?, class));
        let octets = head.map(|queued| queued.pdu.frame.len() as u64);
        let Some(state) = self.cells.get_mut(cell as usize) else { return };
        let conforms =
            octets.filter(|_| state.open).and_then(|octets| state.bucket.next_conforming(now, octets));
        let sends = conforms.is_some_and(|when| when <= now);
        if sends != core::mem::replace(&mut state.sending, sends) {
            if sends {
                self.cell_turns.push_back(&mut self.sending, cell);
            } else {
                self.cell_turns.remove(&mut self.sending, cell);
            }
        }
        wake = wake.min(conforms.unwrap_or(NEVER));
        let member = self.member_of_cell(cell);
        if sends || wake == NEVER {
            self.waiting.remove(member);
        } else {
            self.waiting.set(member, wake);
        }
    }

    fn rotate_cells(&mut self, cell: u32) {
        if self.cells.get(cell as usize).is_some_and(|state| state.sending) {
            self.cell_turns.remove(&mut self.sending, cell);
            self.cell_turns.push_back(&mut self.sending, cell);
        }
    }
}
