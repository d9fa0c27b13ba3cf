//! Streams come, change and go, and no packet that waits is lost by it.

use super::config::{Lane, StreamConfig, StreamError};
use super::pool::Share;
use super::stream::{BLOCKED, DUE, EXPEDITED, MOVING, OPEN, Rest, Stream};
use super::{EdgeQueues, Queue};
use gannet_machine::time::Instant;

impl<T> EdgeQueues<T> {
    /// Sets up a stream, or gives it other values; what waits stays. A larger allocation is granted as far as shared buffers are
    /// free, and the rest of it as they become free. A stream that changes its queue is served in order: what came before the change
    /// leaves the former queue first.
    ///
    /// # Errors
    /// [`StreamError`] says why nothing has changed.
    pub fn configure(&mut self, now: Instant, at: u32, config: &StreamConfig) -> Result<(), StreamError> {
        let unknown = StreamError::Unknown { streams_max: self.config.streams_max };
        let (Some(stream), Some(rest)) = (self.streams.get_mut(at as usize), self.rests.get_mut(at as usize))
        else {
            return Err(unknown);
        };
        let (from, to) = (stream.lane(), config.service.lane());
        let promised = if stream.is(OPEN) { rest.target } else { 0 };
        let needs = self.config.of(to).allocation(config);
        let queue = self.queues.get(to);
        let left = queue.pool.octets() - queue.promised + if from == to { promised } else { 0 };
        let Some(target) = u32::try_from(needs).ok().filter(|target| *target <= left) else {
            return Err(StreamError::NoRoom { needs, left });
        };
        if from != to && stream.is(MOVING) {
            return Err(StreamError::Moving);
        }
        let fresh = from != to || !stream.is(OPEN);
        self.queues.get_mut(from).promised -= promised;
        self.queues.get_mut(to).promised += target;
        rest.target = target;
        rest.config = *config;
        if from != to {
            self.leave(at, from);
        }
        let Some(stream) = self.streams.get_mut(at as usize) else { return Err(unknown) };
        stream.mark(OPEN, true);
        stream.mark(EXPEDITED, to == Lane::Expedited);
        if to == Lane::Expedited {
            stream.police(now, config, fresh);
        }
        self.allot(at, to, target);
        Ok(())
    }

    /// Adds what others have counted whose place these queues take, as far as they have served it.
    pub fn count_on(&mut self, former: &Self) {
        for (own, former) in self.streams.iter_mut().zip(&former.streams) {
            // The distance between the two is what waits, here alone.
            own.accepted_pdus = own.accepted_pdus.wrapping_add(former.served_low());
            own.served_pdus += former.served_pdus;
            own.served_octets += former.served_octets;
            own.dropped_pdus += former.dropped_pdus;
        }
        self.accepted_pdus += former.served_pdus;
        self.served_pdus += former.served_pdus;
        self.accepted_octets += former.served_octets;
        self.served_octets += former.served_octets;
        self.drops.add_all(&former.drops);
    }

    /// Takes a stream away. What it has waiting is served.
    pub fn remove(&mut self, at: u32) {
        self.set_blocked(at, false);
        let (Some(stream), Some(rest)) = (self.streams.get_mut(at as usize), self.rests.get_mut(at as usize))
        else {
            return;
        };
        if !stream.is(OPEN) {
            return;
        }
        stream.mark(OPEN, false);
        let lane = stream.lane();
        self.queues.get_mut(lane).promised -= rest.target;
        rest.target = 0;
        self.allot(at, lane, 0);
    }

    /// The stream has another queue from now on: what it has in this one is in shared buffers there.
    fn leave(&mut self, at: u32, lane: Lane) {
        self.allot(at, lane, 0);
        let (Some(stream), Some(rest)) = (self.streams.get_mut(at as usize), self.rests.get_mut(at as usize))
        else {
            return;
        };
        rest.before = core::mem::take(&mut stream.share);
        rest.before_pdus = stream.waiting();
        stream.mark(MOVING, rest.before_pdus > 0);
    }

    /// Changes the allocation of a stream: what it gives back goes to those who wait for theirs.
    fn allot(&mut self, at: u32, lane: Lane, target: u32) {
        let Some(stream) = self.streams.get_mut(at as usize) else { return };
        let queue = self.queues.get_mut(lane);
        if stream.is(DUE) {
            stream.mark(DUE, false);
            self.links.remove(&mut queue.due, at);
        }
        queue.pool.lower(&mut stream.share, target);
        self.grant(lane);
        let Some(stream) = self.streams.get_mut(at as usize) else { return };
        let queue = self.queues.get_mut(lane);
        queue.pool.keep(&mut stream.share, target);
        // Whoever waits for buffers has been given all that were free.
        let is_whole = queue.pool.raise(&mut stream.share, target);
        if !is_whole {
            stream.mark(DUE, true);
            self.links.push_back(&mut queue.due, at);
        }
    }

    /// Shared buffers are free: streams that wait for their allocations get them, in the order in which they asked.
    pub(super) fn grant(&mut self, lane: Lane) {
        let Self { queues, streams, rests, links, .. } = self;
        let Queue { pool, due, .. } = queues.get_mut(lane);
        while let Some(at) = due.first() {
            let Some(stream) = streams.get_mut(at as usize) else { return };
            let target = rests.get(at as usize).map_or(0, |rest| rest.target);
            if !pool.raise(&mut stream.share, target) {
                return;
            }
            stream.mark(DUE, false);
            links.remove(due, at);
        }
    }

    /// A packet of a stream that is moving has left the former queue. After the last one those that came meanwhile take their
    /// places in the new one.
    #[cold]
    pub(super) fn moves_on(&mut self, at: u32, lane: Lane, octets: u32) {
        let (Some(stream), Some(rest)) = (self.streams.get_mut(at as usize), self.rests.get_mut(at as usize))
        else {
            return;
        };
        let Queue { pool, .. } = self.queues.get_mut(lane);
        pool.release(&mut rest.before, octets);
        rest.before_pdus -= 1;
        if rest.before_pdus > 0 {
            return;
        }
        stream.mark(MOVING, false);
        rest.before = Share::default();
        let to = stream.lane();
        let Queue { fifo, .. } = self.queues.get_mut(to);
        let was_empty = fifo.is_empty();
        self.nodes.append(fifo, &mut rest.held);
        if was_empty {
            self.first_is(to);
        }
    }

    /// Blocks or unblocks a stream. What was parked returns to the head of its queue.
    pub(super) fn set_blocked(&mut self, at: u32, blocked: bool) {
        let (Some(stream), Some(rest)) = (self.streams.get_mut(at as usize), self.rests.get_mut(at as usize))
        else {
            return;
        };
        if !stream.is(OPEN) || stream.is(BLOCKED) == blocked {
            return;
        }
        stream.mark(BLOCKED, blocked);
        if blocked {
            self.blocked += stream.waiting();
            return;
        }
        self.blocked -= stream.waiting();
        if rest.parked.is_empty() {
            return;
        }
        let lane = if stream.is(MOVING) { stream.lane().other() } else { stream.lane() };
        let Queue { fifo, .. } = self.queues.get_mut(lane);
        self.nodes.append(&mut rest.parked, fifo);
        core::mem::swap(fifo, &mut rest.parked);
        self.first_is(lane);
    }

    /// The state of a stream and the rest of it, for a test that adds all up and for a person.
    pub(super) fn parts(&self, at: u32) -> Option<(&Stream, &Rest)> {
        Some((self.streams.get(at as usize)?, self.rests.get(at as usize)?))
    }
}
