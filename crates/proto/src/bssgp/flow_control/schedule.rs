//! Whose turn it is: mobiles are idle, ready or waiting; cells send, wait, or have nothing to send.

use super::state::{Ms, NEVER, Place};
use super::{Bucket, Dequeue, FlowControl, PduMeta};
use crate::about::About as _;
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::time::Instant;
use gannet_qos::class::CellClass;
use gannet_qos::links::NIL;

/// What a cell's next PDU is judged by.
#[derive(Debug, Clone, Copy)]
struct Head {
    octets: u64,
    expires: Instant,
}

impl<T: PduMeta> FlowControl<T> {
    /// The next PDU that conforms now, which is counted in its buckets, or how long nothing will conform.
    pub fn dequeue(&mut self, cx: &mut Context<'_>) -> Dequeue<T> {
        loop {
            self.wake_due(cx);
            let Some(cell) = self.sending.first() else {
                return self.waiting.next().map_or(Dequeue::Empty, Dequeue::WaitUntil);
            };
            if let Some(found) = self.send(cx, cell) {
                return found;
            }
        }
    }

    /// Mobiles and cells whose instant has come.
    #[inline]
    pub(super) fn wake_due(&mut self, cx: &mut Context<'_>) {
        while self.waiting.next().is_some_and(|next| next <= cx.now) {
            self.wake_some(cx);
        }
    }

    /// A few of them: what they need is loaded at the same time before they are looked at one by one.
    fn wake_some(&mut self, cx: &mut Context<'_>) {
        let mut due = [NIL; 8];
        for place in &mut due {
            let Some(member) = self.waiting.pop_due(cx.now) else { break };
            *place = member;
        }
        let heads = due.map(|at| {
            let ms = self.mobiles.get(at as usize);
            ms.and_then(|ms| ms.queues[ms.head_class()?].list.first()).unwrap_or(NIL)
        });
        let expiries = heads.map(|node| self.pdus.get(node).map_or(0, |head| head.pdu.expires.0));
        core::hint::black_box(expiries);
        for member in due.into_iter().take_while(|member| *member != NIL) {
            match self.cell_of_member(member) {
                None if self.has_rested(cx.now, member) => {}
                None => self.refresh(cx, member),
                Some(cell) => {
                    if let Some(state) = self.cells.get_mut(cell as usize) {
                        state.waiting = false;
                    }
                    self.end_rest_of_cell(cell);
                    self.stir(cell);
                }
            }
        }
    }

    /// Lets the mobile whose turn it is in a cell send; `None` where the cell has to be looked at again or no longer.
    fn send(&mut self, cx: &mut Context<'_>, cell: u32) -> Option<Dequeue<T>> {
        let now = cx.now;
        let Some((list, at)) = self.turn(now, cell) else {
            self.pause(cx, cell);
            return None;
        };
        self.settle(now, at);
        let (state, ms) = (self.cells.get_mut(cell as usize)?, self.mobiles.get_mut(at as usize)?);
        let longest = ms.bucket.bmax_octets().min(state.bucket.bmax_octets());
        let class = ms.head_class().unwrap_or(list);
        let head = ms.queues[class].list.first().and_then(|node| self.pdus.get(node));
        let octets = head.filter(|head| head.pdu.expires > now).map(|head| head.pdu.frame.len() as u64);
        let Some(octets) = octets.filter(|octets| *octets <= longest) else {
            self.purge(cx, at);
            self.place(now, at);
            return None;
        };
        if !(state.open && state.bucket.conforms(now, octets)) {
            self.pause(cx, cell);
            return None;
        }
        if core::mem::take(&mut ms.asks) {
            ms.bucket.put_in(now, octets);
        } else if !ms.bucket.admit(now, octets) {
            self.place(now, at);
            return None;
        }
        state.count(now, class, octets);
        if list == CellClass::Guaranteed {
            self.guarantees.take(now, ms.name, octets);
        } else if list == CellClass::BestEffort {
            state.turns += 1;
            if class == CellClass::Guaranteed {
                self.guarantees.note_turn(ms.name, state.turns, state.ready[list].len());
            }
        }
        let name = (at >= self.config.cells_max).then_some(ms.name);
        let queued = self.pop(at, class)?;
        self.place(now, at);
        self.rotate(at, list);
        self.rotate_cells(cell);
        Some(Dequeue::Pdu { cell, ms: name, since: queued.since, pdu: queued.pdu })
    }

    /// Whose turn it is in a cell, and in which of its lists: signalling, real time within its share, what is guaranteed, best
    /// effort, real time beyond its share.
    fn turn(&self, now: Instant, cell: u32) -> Option<(CellClass, u32)> {
        let state = self.cells.get(cell as usize)?;
        let first = |list| Some((list, state.ready[list].first()?));
        if let Some(signalling) = first(CellClass::Signalling) {
            return Some(signalling);
        }
        let other = first(CellClass::Guaranteed).or_else(|| first(CellClass::BestEffort));
        let (Some(urgent), Some(other)) = (first(CellClass::RealTime), other) else {
            return first(CellClass::RealTime).or(other);
        };
        let share = self.head(urgent.1, CellClass::RealTime);
        let within = share.is_none_or(|head| state.real_time.conforms(now, head.octets));
        Some(if within { urgent } else { other })
    }

    #[inline]
    fn head(&self, at: u32, class: CellClass) -> Option<Head> {
        self.first(at, class)
            .map(|queued| Head { octets: queued.pdu.frame.len() as u64, expires: queued.pdu.expires })
    }

    /// Nothing can go out of a cell now: it waits for its bucket, for the real time's share or for the end of a
    /// lifetime, or for nothing.
    fn pause(&mut self, cx: &mut Context<'_>, cell: u32) {
        for class in CellClass::ALL {
            if let Some(at) = self.first_ready(cell, class)
                && self.purge(cx, at)
            {
                // The cell is looked at again.
                self.place(cx.now, at);
                return;
            }
        }
        let wake = self.cell_wake(cx.now, cell);
        let member = self.member_of_cell(cell);
        let Some(state) = self.cells.get_mut(cell as usize) else { return };
        if core::mem::replace(&mut state.sending, false) {
            self.cell_turns.remove(&mut self.sending, cell);
        }
        let waits = wake != NEVER;
        if state.rests && !waits {
            return;
        }
        let waited = core::mem::replace(&mut state.waiting, waits);
        let rested = core::mem::replace(&mut state.rests, false);
        if waits {
            self.waiting.set(member, wake);
        } else if waited {
            self.waiting.remove(member);
        }
        if rested {
            self.mark_cell(cell);
        }
    }

    /// When a cell that can send nothing now is to be looked at again.
    fn cell_wake(&self, now: Instant, cell: u32) -> Instant {
        let Some(state) = self.cells.get(cell as usize) else { return NEVER };
        let firsts = CellClass::ALL.map(|class| state.ready[class].first());
        let expiry = firsts
            .into_iter()
            .flatten()
            .filter_map(|at| Some(self.first_expiry(self.mobiles.get(at as usize)?)))
            .min()
            .unwrap_or(NEVER);
        if !state.open {
            return expiry;
        }
        let [signalling, real_time, guaranteed, best_effort] = firsts;
        let octets = |at: Option<u32>| {
            let class = self.mobiles.get(at? as usize)?.head_class()?;
            Some(self.head(at?, class)?.octets)
        };
        let passes = |octets: Option<u64>| {
            octets.and_then(|octets| state.bucket.next_conforming(now, octets)).unwrap_or(NEVER)
        };
        if signalling.is_some() {
            return expiry.min(passes(octets(signalling)));
        }
        let (urgent, other) = (octets(real_time), octets(guaranteed.or(best_effort)));
        let (urgent_passes, other_passes) = (passes(urgent), passes(other));
        let wake = match (urgent, other) {
            (Some(octets), Some(_)) => {
                let share = state.real_time.next_conforming(now, octets).unwrap_or(NEVER);
                // The others have their turn until real time is within its share again.
                if other_passes < share { other_passes } else { urgent_passes.max(share) }
            }
            (_, None) => urgent_passes,
            (None, _) => other_passes,
        };
        expiry.min(wake)
    }

    /// Has a cell looked at: something that it may have waited for has changed.
    pub(super) fn stir(&mut self, cell: u32) {
        if let Some(state) = self.cells.get_mut(cell as usize)
            && !core::mem::replace(&mut state.sending, true)
        {
            self.cell_turns.push_back(&mut self.sending, cell);
        }
    }

    /// Brings a mobile's values, queues and place up to date. To be called after every change.
    pub(super) fn refresh(&mut self, cx: &mut Context<'_>, at: u32) {
        self.settle(cx.now, at);
        self.purge(cx, at);
        self.place(cx.now, at);
        if let Some(cell) = self.cell_of(at) {
            self.stir(cell);
        }
    }

    /// Ends the values of a FLOW-CONTROL-MS where Th has run out, at the instant at which it did.
    #[inline]
    pub(super) fn settle(&mut self, now: Instant, at: u32) {
        let Some(ms) = self.mobiles.get_mut(at as usize).filter(|ms| ms.specific_until <= now) else {
            return;
        };
        if let Some(cell) = self.cells.get(ms.cell as usize) {
            let Bucket { bmax_octets, rate_bit_per_s } = cell.default_ms;
            ms.bucket.reconfigure(ms.specific_until, bmax_octets, rate_bit_per_s);
            ms.specific_until = NEVER;
        }
    }

    /// The cell's default values have changed from `former`: for a mobile that has none of its own.
    pub(super) fn apply_default(&mut self, now: Instant, at: u32, former: Bucket) {
        let is_mobile = self.is_mobile(at);
        let Some(ms) = self.mobiles.get_mut(at as usize).filter(|_| is_mobile) else { return };
        if ms.specific_until <= now {
            ms.bucket.reconfigure(ms.specific_until, former.bmax_octets, former.rate_bit_per_s);
            ms.specific_until = NEVER;
        }
        if ms.specific_until == NEVER
            && let Some(cell) = self.cells.get(ms.cell as usize)
        {
            ms.bucket.reconfigure(now, cell.default_ms.bmax_octets, cell.default_ms.rate_bit_per_s);
        }
    }

    /// The longest PDU that can ever conform: the smaller Bmax.
    pub(super) fn longest(&self, at: u32) -> u64 {
        let Some(ms) = self.mobiles.get(at as usize) else { return 0 };
        let of_cell = self.cells.get(ms.cell as usize).map_or(0, |cell| cell.bucket.bmax_octets());
        ms.bucket.bmax_octets().min(of_cell)
    }

    /// Drops PDUs that stand first and whose lifetime has run out or that have become too long. True where it did.
    fn purge(&mut self, cx: &mut Context<'_>, at: u32) -> bool {
        let (longest, mut dropped) = (self.longest(at), false);
        for class in CellClass::ALL {
            while let Some(queued) = self.first(at, class) {
                let drop = if queued.pdu.expires <= cx.now {
                    Drop::FlowLifetime
                } else if queued.pdu.frame.len() as u64 > longest {
                    Drop::FlowTooLong
                } else {
                    break;
                };
                cx.drop_of(drop, queued.pdu.meta.whose());
                self.pop(at, class);
                dropped = true;
            }
        }
        dropped
    }

    /// When the first lifetime of a PDU that stands first in this mobile's queues ends.
    fn first_expiry(&self, ms: &Ms) -> Instant {
        let mut first = NEVER;
        for queue in &ms.queues.0 {
            if let Some(head) = queue.list.first().and_then(|node| self.pdus.get(node)) {
                first = first.min(head.pdu.expires);
            }
        }
        first
    }

    /// Where a mobile belongs now, and until when it waits there.
    fn judge(&self, now: Instant, at: u32) -> (Place, Instant) {
        const NOTHING: (Place, Instant) = (Place::Idle, NEVER);
        let Some(ms) = self.mobiles.get(at as usize) else { return NOTHING };
        let Some(class) = ms.head_class() else { return NOTHING };
        let Some(Head { octets, expires }) = self.head(at, class) else { return NOTHING };
        if ms.held && class != CellClass::Signalling {
            return (Place::Waiting, self.first_expiry(ms).min(ms.specific_until));
        }
        if ms.asks {
            return (Place::Ready(class), NEVER);
        }
        let conforms = ms.bucket.next_conforming(now, octets);
        if conforms.is_some_and(|when| when <= now) {
            return match class {
                CellClass::Guaranteed => self.guarantees.judge(now, ms.name, octets),
                CellClass::Signalling | CellClass::RealTime | CellClass::BestEffort => {
                    (Place::Ready(class), NEVER)
                }
            };
        }
        let wake = match conforms {
            None => NEVER,
            Some(first) if class == CellClass::BestEffort => {
                let queued = ms.queues[class].octets.into();
                self.config.wait_quantum.wake(now, &ms.bucket, (first, octets, expires), queued)
            }
            Some(first) => first,
        };
        (Place::Waiting, wake.min(self.first_expiry(ms)).min(ms.specific_until))
    }

    /// Puts a mobile where it belongs now; one that was ready and still is keeps its turn.
    pub(super) fn place(&mut self, now: Instant, at: u32) {
        self.end_rest(at);
        let (place, wake) = self.judge(now, at);
        let Some(ms) = self.mobiles.get_mut(at as usize) else { return };
        let former = core::mem::replace(&mut ms.place, place);
        let exceeds = place != Place::Waiting && wake != NEVER;
        let exceeded = core::mem::replace(&mut ms.exceeds, exceeds);
        let cell = ms.cell;
        if former != place {
            match former {
                Place::Idle => {}
                Place::Waiting => self.waiting.remove(at),
                Place::Ready(class) => self.leave_ready(cell, at, class),
            }
            if let Place::Ready(class) = place {
                self.enter_ready(cell, at, class);
            }
            if matches!(former, Place::Ready(_)) != matches!(place, Place::Ready(_)) {
                self.stand(at, matches!(place, Place::Ready(_)));
            }
        }
        if place == Place::Waiting {
            if wake == NEVER {
                self.waiting.remove(at);
            } else {
                self.waiting.set(at, wake);
            }
        } else if exceeds {
            self.waiting.set(at, wake);
        } else if exceeded {
            self.waiting.remove(at);
        }
    }

    fn leave_ready(&mut self, cell: u32, at: u32, class: CellClass) {
        let Some(state) = self.cells.get_mut(cell as usize) else { return };
        let first = state.ready[class].first() == Some(at);
        self.turns.remove(&mut state.ready[class], at);
        if first {
            self.stir(cell);
        }
    }

    fn enter_ready(&mut self, cell: u32, at: u32, class: CellClass) {
        let Some(state) = self.cells.get_mut(cell as usize) else { return };
        let (first, others) = (state.ready[class].is_empty(), state.ready[class].len());
        let Some(ms) = self.mobiles.get(at as usize) else { return };
        if ms.exceeds && self.guarantees.is_due(ms.name, state.turns, others) {
            self.turns.push_front(&mut state.ready[class], at);
        } else {
            self.turns.push_back(&mut state.ready[class], at);
        }
        if first {
            self.stir(cell);
        }
    }

    /// A mobile that has sent and may go on in this class stands behind the others.
    fn rotate(&mut self, at: u32, class: CellClass) {
        let Some(ms) = self.mobiles.get(at as usize).filter(|ms| ms.place == Place::Ready(class)) else {
            return;
        };
        let Some(state) = self.cells.get_mut(ms.cell as usize) else { return };
        if state.ready[class].len() > 1 {
            self.turns.remove(&mut state.ready[class], at);
            self.turns.push_back(&mut state.ready[class], at);
        }
    }

    /// A cell that has sent stands behind the others, or has nothing more to send.
    fn rotate_cells(&mut self, cell: u32) {
        let member = self.member_of_cell(cell);
        let Some(state) = self.cells.get_mut(cell as usize) else { return };
        if state.is_quiet() {
            state.sending = false;
            self.cell_turns.remove(&mut self.sending, cell);
            if !state.rests && core::mem::replace(&mut state.waiting, false) {
                self.waiting.remove(member);
            }
        } else if self.sending.len() > 1 {
            self.cell_turns.remove(&mut self.sending, cell);
            self.cell_turns.push_back(&mut self.sending, cell);
        }
    }

    /// Takes a mobile out of the list or the heap that it is in, as if it had nothing queued.
    pub(super) fn unplace(&mut self, at: u32) {
        let Some(ms) = self.mobiles.get_mut(at as usize) else { return };
        let (former, cell) = (core::mem::replace(&mut ms.place, Place::Idle), ms.cell);
        if core::mem::replace(&mut ms.exceeds, false) {
            self.waiting.remove(at);
        }
        match former {
            Place::Idle => {}
            Place::Waiting => self.waiting.remove(at),
            Place::Ready(class) => {
                self.leave_ready(cell, at, class);
                self.stand(at, false);
            }
        }
    }

    /// Not the owner of a cell's own PDUs.
    #[inline]
    pub(super) const fn is_mobile(&self, at: u32) -> bool {
        at >= self.config.cells_max
    }

    pub(super) fn first_ready(&self, cell: u32, class: CellClass) -> Option<u32> {
        self.cells.get(cell as usize)?.ready[class].first()
    }

    /// The heap's name of a cell.
    pub(super) const fn member_of_cell(&self, cell: u32) -> u32 {
        self.config.cells_max + self.config.active_ms_max + cell
    }

    const fn cell_of_member(&self, member: u32) -> Option<u32> {
        member.checked_sub(self.member_of_cell(0))
    }
}
