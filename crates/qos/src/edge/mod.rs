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
use fifo::{Chain, Label, Nodes};
use gannet_machine::drops::{Drop, DropCounters};
use gannet_machine::prefetch::Prefetch;
use gannet_machine::time::Instant;
use pool::Pool;
use scfq::Scfq;
use stream::{BLOCKED, MOVING, OPEN, Rest, Stream};

/// A queue.
#[derive(Debug)]
struct Queue {
    pool: Pool,
    fifo: Chain,
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

    /// Whose turn it is, of the queues that are not empty.
    #[inline]
    const fn next(&self, scheduler: &Scfq) -> Option<Lane> {
        match (self.expedited.fifo.is_empty(), self.assured.fifo.is_empty()) {
            (true, true) => None,
            (false, true) => Some(Lane::Expedited),
            (true, false) => Some(Lane::Assured),
            (false, false) => Some(scheduler.smaller()),
        }
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
#[derive(Debug, Clone, PartialEq, Eq, Default)]
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
    scheduler: Scfq,
    /// Packets of streams that are not blocked.
    ready: u32,
    waiting: Waiting,
    totals: Totals,
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
        let queue = |of: &QueueConfig| Queue {
            pool: Pool::new(of.buffers, of.excess),
            fifo: Chain::EMPTY,
            due: List::EMPTY,
            promised: 0,
        };
        let streams = config.streams_max as usize;
        let packets = [&config.expedited, &config.assured].map(|of| of.buffers.packets_max() as usize);
        Ok(Self {
            streams: vec![Stream::none(); streams],
            rests: vec![Rest::NONE; streams],
            links: Links::new(streams),
            queues: Both { expedited: queue(&config.expedited), assured: queue(&config.assured) },
            nodes: Nodes::with_capacity(packets.iter().sum()),
            scheduler: Scfq::new([config.expedited.weight, config.assured.weight]),
            ready: 0,
            waiting: Waiting::default(),
            totals: Totals::default(),
            config,
        })
    }

    /// What became of all packets so far.
    #[must_use]
    pub const fn totals(&self) -> &Totals {
        &self.totals
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
            waiting: stream.waiting,
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

    /// Whether a packet is taken, and counted if so.
    #[inline]
    fn admit(&mut self, now: Instant, at: u32, octets: u32) -> Result<&mut Stream, Drop> {
        let stream = self.streams.get_mut(at as usize).filter(|stream| stream.is(OPEN));
        let stream = stream.ok_or(Drop::EdgeUnknownStream)?;
        let admitted = if stream.conforms(now) {
            self.queues.get_mut(stream.lane()).pool.admit(&mut stream.share, octets)
        } else {
            Err(Drop::EdgeOverRate)
        };
        if let Err(reason) = admitted {
            stream.dropped_pdus += 1;
            return Err(reason);
        }
        stream.accepts(now, octets);
        self.ready += u32::from(!stream.is(BLOCKED));
        Ok(stream)
    }

    /// The scheduler learns of the first packet of a queue, where there is one.
    #[inline]
    fn first_is(&mut self, lane: Lane) {
        if let Some(first) = self.nodes.first(self.queues.get(lane).fifo) {
            self.scheduler.first_is(lane, first.octets);
        }
    }

    /// The queue whose first packet is served next. Packets of blocked streams are set aside until there is one.
    #[inline]
    fn choose(&mut self) -> Option<(Lane, Label)> {
        loop {
            let lane = self.queues.next(&self.scheduler)?;
            let fifo = &mut self.queues.get_mut(lane).fifo;
            let first = self.nodes.first(*fifo)?;
            if !self.streams.get(first.stream as usize)?.is(BLOCKED) {
                return Some((lane, first));
            }
            let parked = &mut self.rests.get_mut(first.stream as usize)?.parked;
            self.nodes.shift(fifo, parked);
            self.first_is(lane);
        }
    }
}

impl<T> Discipline<T> for EdgeQueues<T> {
    #[inline]
    fn offer(&mut self, now: Instant, packet: Packet<T>, dropped: &mut impl FnMut(Dropped<T>)) -> Offered {
        self.totals.offered += 1;
        let Packet { flow, octets, .. } = packet;
        let stream = match self.admit(now, flow, octets) {
            Ok(stream) => stream,
            Err(reason) => {
                self.totals.drops.add(reason);
                dropped(Dropped { packet, reason, crossed_low: false });
                return Offered { accepted: false, crossed_high: false };
            }
        };
        let (lane, moving) = (stream.lane(), stream.is(MOVING));
        self.waiting.pdus += 1;
        self.waiting.octets += u64::from(octets);
        let label = Label { stream: flow, octets };
        if moving && let Some(rest) = self.rests.get_mut(flow as usize) {
            self.nodes.push_back(&mut rest.held, packet.item, now, label);
            return Offered { accepted: true, crossed_high: false };
        }
        let fifo = &mut self.queues.get_mut(lane).fifo;
        if fifo.is_empty() {
            self.scheduler.first_is(lane, octets);
        }
        self.nodes.push_back(fifo, packet.item, now, label);
        Offered { accepted: true, crossed_high: false }
    }

    #[inline]
    fn take(&mut self, _now: Instant) -> Option<Taken<T>> {
        if self.ready == 0 {
            return None;
        }
        let (lane, Label { stream: at, octets }) = self.choose()?;
        let queue = self.queues.get_mut(lane);
        let (item, since) = self.nodes.pop_front(&mut queue.fifo)?;
        self.scheduler.serves(lane);
        self.ready -= 1;
        self.waiting.pdus -= 1;
        self.waiting.octets -= u64::from(octets);
        self.totals.served += 1;
        let stream = self.streams.get_mut(at as usize)?;
        stream.waiting -= 1;
        stream.served_pdus += 1;
        stream.served_octets += u64::from(octets);
        if stream.is(MOVING) {
            self.moves_on(at, lane, octets);
        } else {
            queue.pool.release(&mut stream.share, octets);
        }
        if !self.queues.get(lane).due.is_empty() {
            self.grant(lane);
        }
        self.first_is(lane);
        if self.queues.next(&self.scheduler).is_none() {
            self.scheduler.is_idle();
        }
        Some(Taken { packet: Packet { flow: at, octets, item }, since, crossed_low: false })
    }

    /// Now, where something waits that is not blocked: a link that is free is never kept idle.
    #[inline]
    fn next_conforming(&self, now: Instant) -> Option<Instant> {
        (self.ready > 0).then_some(now)
    }

    #[inline]
    fn waiting(&self) -> Waiting {
        self.waiting
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
