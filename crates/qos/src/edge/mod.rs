//! The QoS component of an edge router: two queues, fair queueing between them, and rates kept by buffers alone.
//!
//! R. Guérin, L. Li, S. Nadas, P. Pan, V. Peris: *The Cost of QoS Support in Edge Devices: An Experimental Study*, IEEE INFOCOM
//! 1999, section III ("the paper"). A *stream* is the unit of what is reserved; many flows may be one stream.
//!
//! **Two queues.** EF streams have one, all others the second: AF, network control and best effort. Both are first in, first out.
//!
//! **Between them**, self-clocked fair queueing: the first packet of a queue, of L octets, has the tag T_S + L / R of its queue; the
//! smaller tag is served (EF where they are equal), and its tag becomes T_S. T_S is reset to 0 where both queues are empty. Where
//! T_S comes to its most significant bit, that bit is taken off T_S and both tags. The weights R are given for themselves
//! ([`QueueConfig::weight`]): as EF is policed, its weight may be larger than what is reserved in it, for a shorter delay.
//!
//! **Within a queue**, rates come from buffers. A pool of B counted octets has a part for each stream and a shared rest:
//!
//! | | |
//! |---|---|
//! | a packet of L octets counts | max(L, `BUFF_SIZE`), or L byte-exact ([`Accounting`]) |
//! | allocation of a stream with rate r and burst allowance σ | B_k = σ + B · r / R (equation (1), with R of [`QueueConfig::rate`]) |
//! | shared buffers | B − Σ B_k |
//! | a packet with b_k + L ≤ B_k | is taken |
//! | any other of a stream with s = max(0, b_k − B_k) while F of the shared buffers are free | is taken where s + L ≤ F − L, or where s ≤ F and L ≤ F ([`Excess`]) |
//! | a packet that leaves | releases shared buffers first |
//!
//! A stream that always fills its part of the queue has the same part of its service, so that an allocation is a rate. Best effort
//! has shared buffers alone, or with a rate a floor. EF has no excess: a stream of it is also policed to its rate by a token bucket
//! of σ octets ([`TokenBucket`](crate::token_bucket::TokenBucket)), which a packet may overdraw once.
//!
//! **Changes.** At any time all grants, what is used of the shared buffers and what is free are the pool. A larger allocation
//! takes shared buffers that are free and waits for the rest of it; until it has that, nobody gets more of them. A stream that goes
//! leaves its packets in their queue. A stream that changes between the queues has its new packets wait, counted in the new queue,
//! until its last old one has left. A stream that is blocked has its packets set aside as they come to the head of their queue.
//!
//! **Cost.** O(1) a packet, amortised over the packets that a blocked stream has set aside. No allocation a packet: the table of
//! packets grows to what has once waited, at most B / `BUFF_SIZE` (byte-exact: B / 20) of each queue. A packet touches its stream,
//! one line of the cache, when it comes and when it goes.

mod config;
mod fifo;
mod pool;
mod scfq;
mod stream;
mod streams;
#[cfg(test)]
mod tests;

pub use config::{
    Accounting, Config, ConfigError, Excess, Lane, QueueConfig, Service, StreamConfig, StreamError,
};

use crate::discipline::{Blocking, Discipline, Dropped, Offered, Packet, Taken, Waiting};
use crate::links::{Links, List};
use fifo::{Chain, Label, Nodes, Popped};
use gannet_machine::drops::{Drop, DropCounters};
use gannet_machine::prefetch::Prefetch;
use gannet_machine::time::Instant;
use pool::Pool;
use scfq::{Tag, VirtualTime};
use stream::{APART, BLOCKED, MOVING, OPEN, Rest, Stream};

/// A queue.
#[derive(Debug)]
struct Queue {
    pool: Pool,
    fifo: Chain,
    tag: Tag,
    /// Streams that wait for a part of their allocation.
    due: List,
    /// All allocations, granted or waited for. At most the pool.
    promised: u32,
}

/// One for each lane.
#[derive(Debug)]
struct Both {
    expedited: Queue,
    assured: Queue,
}

impl Both {
    #[inline]
    const fn get(&self, lane: Lane) -> &Queue {
        match lane {
            Lane::Expedited => &self.expedited,
            Lane::Assured => &self.assured,
        }
    }

    #[inline]
    const fn get_mut(&mut self, lane: Lane) -> &mut Queue {
        match lane {
            Lane::Expedited => &mut self.expedited,
            Lane::Assured => &mut self.assured,
        }
    }

    /// Whose turn it is, where one of them is not empty.
    #[inline]
    const fn next(&self) -> Lane {
        if self.expedited.tag.is_before(&self.assured.tag) { Lane::Expedited } else { Lane::Assured }
    }
}

impl Config {
    const fn of(&self, lane: Lane) -> &QueueConfig {
        match lane {
            Lane::Expedited => &self.expedited,
            Lane::Assured => &self.assured,
        }
    }
}

/// What became of all packets. What was offered is the sum of the others and of what waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Totals {
    /// Offered.
    pub offered: u64,
    /// Served.
    pub served: u64,
    /// Dropped, by name.
    pub drops: DropCounters,
}

/// A stream for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamView {
    /// What it may claim.
    pub config: StreamConfig,
    /// B_k, in counted octets.
    pub allocation: u32,
    /// What of that is granted.
    pub granted: u32,
    /// b_k, in counted octets, of its queue.
    pub occupied: u32,
    /// Packets that wait.
    pub waiting: u32,
    /// It is not served.
    pub blocked: bool,
    /// Packets of it wait in a queue that it has left.
    pub moving: bool,
    /// Served since the queues were made under this name.
    pub served_pdus: u64,
    /// Served octets.
    pub served_octets: u64,
    /// Dropped.
    pub dropped_pdus: u64,
}

/// A queue for a person, in counted octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueView {
    /// B.
    pub pool: u32,
    /// Σ B_k, as far as granted.
    pub granted: u32,
    /// F: what is free of the shared buffers, which are `pool` − `granted`.
    pub free: u32,
}

/// The two queues of an interface, over handles `T` of packets.
#[derive(Debug)]
pub struct EdgeQueues<T> {
    streams: Vec<Stream>,
    rests: Vec<Rest>,
    /// Of streams that wait for their allocations.
    links: Links,
    queues: Both,
    nodes: Nodes<T>,
    now: VirtualTime,
    /// Packets of streams that are blocked.
    blocked: u32,
    /// Since the beginning. What waits is what was accepted and not served.
    accepted_pdus: u64,
    served_pdus: u64,
    drops: DropCounters,
    accepted_octets: u64,
    served_octets: u64,
    config: Config,
}

impl<T> EdgeQueues<T> {
    /// Empty queues, no stream configured.
    ///
    /// # Errors
    /// Where the configuration makes no queues.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.expedited.check()?;
        config.assured.check()?;
        let queue = |of: &QueueConfig, other: &QueueConfig| Queue {
            pool: Pool::new(of.buffers, of.excess),
            fifo: Chain::EMPTY,
            tag: Tag::new(other.weight),
            due: List::EMPTY,
            promised: 0,
        };
        let streams = config.streams_max as usize;
        let packets = [&config.expedited, &config.assured].map(|of| of.buffers.packets_max() as usize);
        Ok(Self {
            streams: vec![Stream::none(); streams],
            rests: vec![Rest::NONE; streams],
            links: Links::new(streams),
            queues: Both {
                expedited: queue(&config.expedited, &config.assured),
                assured: queue(&config.assured, &config.expedited),
            },
            nodes: Nodes::with_capacity(packets.iter().sum()),
            now: VirtualTime::ZERO,
            blocked: 0,
            accepted_pdus: 0,
            served_pdus: 0,
            drops: DropCounters::default(),
            accepted_octets: 0,
            served_octets: 0,
            config,
        })
    }

    /// What became of all packets so far.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let offered = self.accepted_pdus + self.drops.total();
        Totals { offered, served: self.served_pdus, drops: self.drops.clone() }
    }

    /// A stream; `None` where it is not configured.
    #[must_use]
    pub fn view(&self, stream: u32) -> Option<StreamView> {
        let (stream, rest) = self.parts(stream).filter(|(stream, _)| stream.is(OPEN))?;
        Some(StreamView {
            config: rest.config,
            allocation: rest.target,
            granted: stream.share.granted,
            occupied: stream.share.occupied,
            waiting: stream.waiting(),
            blocked: stream.is(BLOCKED),
            moving: stream.is(MOVING),
            served_pdus: stream.served_pdus,
            served_octets: stream.served_octets,
            dropped_pdus: stream.dropped_pdus,
        })
    }

    /// A queue.
    #[must_use]
    pub const fn queue(&self, lane: Lane) -> QueueView {
        let pool = &self.queues.get(lane).pool;
        QueueView { pool: pool.octets(), granted: pool.granted(), free: pool.free() }
    }

    /// Asks for the state of a stream for which a packet arrives.
    #[inline]
    pub fn expect(&self, stream: u32, prefetch: Prefetch) {
        if let Some(stream) = self.streams.get(stream as usize) {
            prefetch.value(stream);
        }
    }

    /// Asks for what the next packets of both queues will touch. To be called before each [`Discipline::take`].
    #[inline]
    pub fn look_ahead(&self, prefetch: Prefetch) {
        for queue in [&self.queues.expedited, &self.queues.assured] {
            if let Some(stream) = self.nodes.look_ahead(queue.fifo, prefetch) {
                self.expect(stream, prefetch);
            }
        }
    }

    /// The scheduler learns of the first packet of a queue.
    fn first_is(&mut self, lane: Lane) {
        let queue = self.queues.get_mut(lane);
        match self.nodes.first(queue.fifo) {
            Some(first) => queue.tag.first_is(&self.now, first.octets),
            None => queue.tag.has_none(),
        }
    }

    /// Takes in a packet of a stream that is blocked, moving or not there.
    #[cold]
    fn offer_apart(
        &mut self,
        now: Instant,
        packet: Packet<T>,
        dropped: &mut impl FnMut(Dropped<T>),
    ) -> Offered {
        let Packet { flow, octets, .. } = packet;
        let (Some(stream), Some(rest)) =
            (self.streams.get_mut(flow as usize), self.rests.get_mut(flow as usize))
        else {
            return self.refuse(packet, Drop::EdgeUnknownStream, dropped);
        };
        if !stream.is(OPEN) {
            return self.refuse(packet, Drop::EdgeUnknownStream, dropped);
        }
        let queue = self.queues.get_mut(stream.lane());
        if let Err(reason) = stream.admit(now, &mut queue.pool, octets) {
            return self.refuse(packet, reason, dropped);
        }
        self.accepted_pdus += 1;
        self.accepted_octets += u64::from(octets);
        self.blocked += u32::from(stream.is(BLOCKED));
        let chain = if stream.is(MOVING) { &mut rest.held } else { &mut queue.fifo };
        let lane = stream.lane();
        if self.nodes.push_back(chain, packet.item, now, Label { stream: flow, octets }) {
            self.first_is(lane);
        }
        Offered { accepted: true, crossed_high: false }
    }

    /// The first packet of a queue is of a stream that is blocked: it is set aside.
    #[cold]
    fn park(&mut self, lane: Lane, stream: u32) {
        if let Some(rest) = self.rests.get_mut(stream as usize) {
            self.nodes.shift(&mut self.queues.get_mut(lane).fifo, &mut rest.parked);
        }
        self.first_is(lane);
    }

    /// Virtual time has come to its highest bit, or streams wait for buffers.
    #[cold]
    fn after(&mut self) {
        let Both { expedited, assured } = &mut self.queues;
        self.now.wrap([&mut expedited.tag, &mut assured.tag]);
        self.grant(Lane::Expedited);
        self.grant(Lane::Assured);
    }

    /// Virtual time begins anew where both queues are empty.
    #[inline]
    const fn rest(&mut self) {
        if self.queues.expedited.fifo.is_empty() && self.queues.assured.fifo.is_empty() {
            self.now = VirtualTime::ZERO;
        }
    }

    /// The first packet that is next is of a stream that is blocked, gone or moving. A blocked one is set aside, and another one may
    /// be first then.
    #[cold]
    fn take_apart(&mut self, at: u32) -> Option<Taken<T>> {
        let lane = self.queues.next();
        let stream = self.streams.get_mut(at as usize)?;
        if stream.is(BLOCKED) {
            self.park(lane, at);
            return None;
        }
        let is_moving = stream.is(MOVING);
        let Queue { pool, fifo, tag, .. } = self.queues.get_mut(lane);
        let popped = self.nodes.pop_front_where(fifo, |_| true).ok()?;
        stream.serves(popped.octets);
        if !is_moving {
            pool.release(&mut stream.share, popped.octets);
        }
        self.now.serves(tag);
        self.first_is(lane);
        if is_moving {
            self.moves_on(at, lane, popped.octets);
        }
        self.rest();
        self.after();
        Some(self.taken(popped))
    }

    /// Counts a packet that is served.
    #[inline]
    fn taken(&mut self, popped: Popped<T>) -> Taken<T> {
        let Popped { item, since, stream, octets, .. } = popped;
        self.served_pdus += 1;
        self.served_octets += u64::from(octets);
        Taken { packet: Packet { flow: stream, octets, item }, since, crossed_low: false }
    }

    /// Counts a packet that is lost, and gives it back.
    #[cold]
    fn refuse(&mut self, packet: Packet<T>, reason: Drop, dropped: &mut impl FnMut(Dropped<T>)) -> Offered {
        self.drops.add(reason);
        if let Some(stream) = self.streams.get_mut(packet.flow as usize) {
            stream.dropped_pdus += u64::from(stream.is(OPEN));
        }
        dropped(Dropped { packet, reason, crossed_low: false });
        Offered { accepted: false, crossed_high: false }
    }
}

// Inlined where they are called, since what they spend on a packet is little more than a call.
#[expect(clippy::inline_always, reason = "measured: a sixth of the instructions")]
impl<T> Discipline<T> for EdgeQueues<T> {
    #[inline(always)]
    fn offer(&mut self, now: Instant, packet: Packet<T>, dropped: &mut impl FnMut(Dropped<T>)) -> Offered {
        let Packet { flow, octets, .. } = packet;
        let Some(stream) = self.streams.get_mut(flow as usize) else {
            return self.refuse(packet, Drop::EdgeUnknownStream, dropped);
        };
        let marks = stream.marks;
        if marks & APART != 0 {
            return self.offer_apart(now, packet, dropped);
        }
        let queue = self.queues.get_mut(stream::lane_of(marks));
        if let Err(reason) = stream.admit(now, &mut queue.pool, octets) {
            return self.refuse(packet, reason, dropped);
        }
        self.accepted_pdus += 1;
        self.accepted_octets += u64::from(octets);
        if self.nodes.push_back(&mut queue.fifo, packet.item, now, Label { stream: flow, octets }) {
            queue.tag.first_is(&self.now, octets);
        }
        Offered { accepted: true, crossed_high: false }
    }

    #[inline(always)]
    fn take(&mut self, _now: Instant) -> Option<Taken<T>> {
        loop {
            let Queue { pool, fifo, tag, due, .. } = self.queues.get_mut(self.queues.next());
            let streams = &mut self.streams;
            let popped = self.nodes.pop_front_where(fifo, |Label { stream, octets }| {
                match streams.get_mut(stream as usize) {
                    Some(stream) if !stream.is(APART) => {
                        pool.release(&mut stream.share, octets);
                        stream.serves(octets);
                        true
                    }
                    _ => false,
                }
            });
            let popped = match popped {
                Ok(popped) => popped,
                Err(apart) => match self.take_apart(apart?) {
                    Some(taken) => return Some(taken),
                    None => continue,
                },
            };
            let is_rare = self.now.serves(tag) | !due.is_empty();
            match popped.next_octets {
                Some(octets) => tag.first_is(&self.now, octets),
                None => {
                    tag.has_none();
                    self.rest();
                }
            }
            if is_rare {
                self.after();
            }
            return Some(self.taken(popped));
        }
    }

    /// Now, where something waits that is not blocked: a link that is free is never kept idle.
    #[inline]
    fn next_conforming(&self, now: Instant) -> Option<Instant> {
        (self.waiting().pdus > self.blocked).then_some(now)
    }

    #[inline]
    fn waiting(&self) -> Waiting {
        let pdus = self.accepted_pdus - self.served_pdus;
        Waiting {
            // A pool has no more packets.
            pdus: u32::try_from(pdus).unwrap_or(u32::MAX),
            octets: self.accepted_octets - self.served_octets,
        }
    }
}

impl<T> Blocking for EdgeQueues<T> {
    fn block(&mut self, flow: u32) {
        self.set_blocked(flow, true);
    }

    fn unblock(&mut self, flow: u32) {
        self.set_blocked(flow, false);
    }
}
