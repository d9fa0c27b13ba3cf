//! An interface on the way out: the queues of its streams behind the rate of its line, or nothing where it has no rate.

use super::BEST_EFFORT;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::time::Instant;
use gannet_machine::{Batch, EthernetAddress};
use gannet_qos::discipline::{Discipline, Packet, Waiting};
use gannet_qos::edge::{
    Config, ConfigError, EdgeQueues, Service, StreamConfig, StreamError, StreamView, Totals,
};
use gannet_qos::shaped::Shaped;
use gannet_qos::token_bucket::Rate;

/// The line behind an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Its rate in octets/s, and the octets by which a wake-up that comes late is made up for.
    pub rate: Rate,
    /// Octets that it adds to each IP packet.
    pub overhead: u32,
    /// Its queues.
    pub queues: Config,
}

/// How an interface is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfaceConfig {
    /// Its name, for people.
    pub name: String,
    /// The line that it leads to; without one packets leave at once.
    pub line: Option<Line>,
    /// What its streams get, by their numbers. Packets of other streams are of [`BEST_EFFORT`], which has no rate unless it is here.
    pub streams: Vec<(u32, StreamConfig)>,
}

/// Why an interface cannot be set up so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterfaceError {
    /// Its queues.
    Queues(ConfigError),
    /// A stream, by its number.
    Stream(u32, StreamError),
}

impl core::fmt::Display for InterfaceError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Queues(error) => error.fmt(f),
            Self::Stream(number, error) => write!(f, "stream {number}: {error}"),
        }
    }
}

impl core::error::Error for InterfaceError {}

/// A packet with the station that it goes to.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) to: EthernetAddress,
    pub(super) frame: Frame,
}

/// What an interface has sent without queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unqueued {
    /// Packets.
    pub pdus: u64,
    /// Octets.
    pub octets: u64,
}

/// An interface at work.
#[derive(Debug)]
pub struct Interface {
    name: String,
    queues: Option<Shaped<EdgeQueues<Outgoing>>>,
    /// Streams that are configured, by their numbers.
    is_known: Vec<bool>,
    ready: Batch<Outgoing>,
    unqueued: Unqueued,
    /// The wake-up that was asked for.
    pub(super) wakes_at: Option<Instant>,
}

impl Interface {
    /// An interface whose queues are empty.
    ///
    /// # Errors
    /// [`InterfaceError`].
    pub(super) fn new(now: Instant, config: &InterfaceConfig) -> Result<Self, InterfaceError> {
        let mut this = Self {
            name: config.name.clone(),
            queues: None,
            is_known: Vec::new(),
            ready: Batch::default(),
            unqueued: Unqueued::default(),
            wakes_at: None,
        };
        let Some(line) = &config.line else { return Ok(this) };
        let queues = EdgeQueues::new(line.queues).map_err(InterfaceError::Queues)?;
        this.queues = Some(Shaped::new(now, line.rate, line.overhead, queues));
        this.is_known = vec![false; line.queues.streams_max as usize];
        let best_effort = StreamConfig { service: Service::BestEffort, rate: 0, burst: 0 };
        for (stream, config) in [(BEST_EFFORT, best_effort)].iter().chain(&config.streams) {
            this.configure(now, *stream, Some(config))?;
        }
        Ok(this)
    }

    /// Gives a stream other values, or takes it away; its packets are of [`BEST_EFFORT`] then. What waits stays.
    pub(super) fn configure(
        &mut self,
        now: Instant,
        stream: u32,
        config: Option<&StreamConfig>,
    ) -> Result<(), InterfaceError> {
        let Some(queues) = &mut self.queues else { return Ok(()) };
        match config {
            Some(config) => queues
                .inner_mut()
                .configure(now, stream, config)
                .map_err(|error| InterfaceError::Stream(stream, error))?,
            None => queues.inner_mut().remove(stream),
        }
        if let Some(is_known) = self.is_known.get_mut(stream as usize) {
            *is_known = config.is_some();
        }
        Ok(())
    }

    /// A new rate of its line.
    pub(super) fn set_rate(&mut self, now: Instant, rate: Rate) {
        if let Some(queues) = &mut self.queues {
            queues.set_rate(now, rate);
        }
    }

    /// A packet on its way out.
    pub(super) fn offer(
        &mut self,
        now: Instant,
        stream: u32,
        packet: Outgoing,
        mut dropped: impl FnMut(Drop),
    ) {
        let octets = u32::try_from(packet.frame.len()).unwrap_or(u32::MAX);
        let Some(queues) = &mut self.queues else {
            self.unqueued.pdus += 1;
            self.unqueued.octets += u64::from(octets);
            self.ready.push(packet);
            return;
        };
        let is_known = self.is_known.get(stream as usize).copied().unwrap_or(false);
        let flow = if is_known { stream } else { BEST_EFFORT };
        queues.offer(now, Packet { flow, octets, item: packet }, &mut |lost| dropped(lost.reason));
    }

    /// The next packet that leaves now.
    pub(super) fn take(&mut self, now: Instant) -> Option<Outgoing> {
        if let Some(first) = self.ready.pop() {
            return Some(first);
        }
        Some(self.queues.as_mut()?.take(now)?.packet.item)
    }

    /// When the next packet may leave.
    pub(super) fn next_conforming(&self, now: Instant) -> Option<Instant> {
        if !self.ready.is_empty() {
            return Some(now);
        }
        self.queues.as_ref()?.next_conforming(now)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it has sent without queues.
    #[must_use]
    pub const fn unqueued(&self) -> Unqueued {
        self.unqueued
    }

    /// What waits in its queues.
    #[must_use]
    pub fn waiting(&self) -> Waiting {
        self.queues.as_ref().map_or_else(Waiting::default, Discipline::waiting)
    }

    /// What became of the packets of its queues; `None` where it has none.
    #[must_use]
    pub fn totals(&self) -> Option<Totals> {
        self.queues.as_ref().map(|queues| queues.inner().totals())
    }

    /// A stream that is configured here.
    #[must_use]
    pub fn stream(&self, stream: u32) -> Option<StreamView> {
        self.queues.as_ref()?.inner().view(stream)
    }
}
