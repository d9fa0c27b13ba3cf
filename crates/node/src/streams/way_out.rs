//! A way out of a node: the queues of its streams behind the rate of its line, or nothing where it has no rate.

use super::BEST_EFFORT;
use gannet_machine::Batch;
use gannet_machine::drops::Drop;
use gannet_machine::time::Instant;
use gannet_qos::discipline::{Discipline, Packet, Waiting};
use gannet_qos::edge::{
    Config, ConfigError, EdgeQueues, Service, StreamConfig, StreamError, StreamView, Totals,
};
use gannet_qos::shaped::Shaped;
use gannet_qos::succession::Succession;
use gannet_qos::token_bucket::Rate;

/// The line behind a way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Its rate in octets/s, and the octets by which a wake-up that comes late is made up for.
    pub rate: Rate,
    /// Octets that it adds to each IP packet.
    pub overhead: u32,
    /// Its queues.
    pub queues: Config,
}

/// How a way out is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WayOutConfig {
    /// Its name, for people.
    pub name: String,
    /// The line that it leads to; without one packets leave at once.
    pub line: Option<Line>,
    /// What its streams get, by their numbers. Packets of other streams are of [`BEST_EFFORT`], which has no rate unless it is here.
    pub streams: Vec<(u32, StreamConfig)>,
}

/// Why a way out cannot be set up so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WayOutError {
    /// Its queues.
    Queues(ConfigError),
    /// A stream, by its number.
    Stream(u32, StreamError),
}

impl core::fmt::Display for WayOutError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Queues(error) => error.fmt(f),
            Self::Stream(number, error) => write!(f, "stream {number}: {error}"),
        }
    }
}

impl core::error::Error for WayOutError {}

/// What a way out has sent without queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Unqueued {
    /// Packets.
    pub pdus: u64,
    /// Octets.
    pub octets: u64,
}

/// A stream that has a part of nothing: best effort, where nothing else is said.
const NO_PART: StreamConfig = StreamConfig { service: Service::BestEffort, rate: 0, burst: 0 };

impl WayOutConfig {
    /// Its streams, best effort included.
    fn all_streams(&self) -> Vec<(u32, StreamConfig)> {
        let is_said = self.streams.iter().any(|(number, _)| *number == BEST_EFFORT);
        let unsaid = (!is_said).then_some((BEST_EFFORT, NO_PART));
        unsaid.into_iter().chain(self.streams.iter().copied()).collect()
    }

    /// Empty queues with all streams; `None` without a line.
    fn queues<T>(&self, now: Instant) -> Result<Option<EdgeQueues<T>>, WayOutError> {
        let Some(line) = &self.line else { return Ok(None) };
        let mut queues = EdgeQueues::new(line.queues).map_err(WayOutError::Queues)?;
        for (number, config) in self.all_streams() {
            queues.configure(now, number, &config).map_err(|error| WayOutError::Stream(number, error))?;
        }
        Ok(Some(queues))
    }
}

/// A way out at work, for packets `T`.
#[derive(Debug)]
pub struct WayOut<T> {
    config: WayOutConfig,
    queues: Option<Shaped<Succession<T, EdgeQueues<T>>>>,
    /// Streams that are configured, by their numbers.
    is_known: Vec<bool>,
    ready: Batch<T>,
    unqueued: Unqueued,
    /// The wake-up that was asked for.
    pub(crate) wakes_at: Option<Instant>,
}

impl<T> WayOut<T> {
    /// A way out whose queues are empty.
    ///
    /// # Errors
    /// [`WayOutError`].
    pub fn new(now: Instant, config: &WayOutConfig) -> Result<Self, WayOutError> {
        let queues = config.queues(now)?;
        let behind =
            |line: &Line, queues| Shaped::new(now, line.rate, line.overhead, Succession::new(queues));
        let mut this = Self {
            queues: config.line.as_ref().zip(queues).map(|(line, queues)| behind(line, queues)),
            config: config.clone(),
            is_known: Vec::new(),
            ready: Batch::default(),
            unqueued: Unqueued::default(),
            wakes_at: None,
        };
        this.know_streams();
        Ok(this)
    }

    fn know_streams(&mut self) {
        self.is_known.clear();
        let Some(line) = self.config.line else { return };
        self.is_known.resize(line.queues.streams_max as usize, false);
        for (number, _) in self.config.all_streams() {
            if let Some(is_known) = self.is_known.get_mut(number as usize) {
                *is_known = true;
            }
        }
    }

    /// Takes another configuration. No packet that waits is lost. Rate, overhead and streams change in place. Where pools, weights or
    /// rules of buffers change, the queues are new ones, and what waited in the old ones leaves first; it counts as sent. Without a line
    /// all that waits leaves at once. A packet whose stream is gone is of [`BEST_EFFORT`].
    ///
    /// # Errors
    /// Why all stays as it was.
    pub fn reconfigure(&mut self, now: Instant, config: &WayOutConfig) -> Result<(), WayOutError> {
        if *config == self.config {
            return Ok(());
        }
        let fresh = config.queues(now)?;
        let former = core::mem::replace(&mut self.config, config.clone());
        match (config.line, fresh) {
            (Some(line), Some(mut fresh)) => match &mut self.queues {
                Some(queues) => {
                    queues.set_rate(now, line.rate);
                    queues.set_overhead(line.overhead);
                    let are_same = former.line.is_some_and(|former| former.queues == line.queues);
                    if !are_same || !change_streams(now, queues.inner_mut().inner_mut(), &former, config) {
                        queues.inner_mut().succeed(now, |former| {
                            fresh.count_on(former);
                            fresh
                        });
                    }
                }
                None => {
                    self.queues = Some(Shaped::new(now, line.rate, line.overhead, Succession::new(fresh)));
                }
            },
            _ => self.release(now),
        }
        self.know_streams();
        Ok(())
    }

    /// All that waits leaves at once, and there are no queues any more.
    pub(crate) fn release(&mut self, now: Instant) {
        let Some(mut queues) = self.queues.take() else { return };
        while let Some(taken) = queues.inner_mut().take(now) {
            self.ready.push(taken.packet.item);
        }
    }

    /// A packet on its way out.
    pub fn offer(
        &mut self,
        now: Instant,
        stream: u32,
        (item, len): (T, usize),
        mut dropped: impl FnMut(Drop),
    ) {
        let octets = u32::try_from(len).unwrap_or(u32::MAX);
        let Some(queues) = &mut self.queues else {
            self.unqueued.pdus += 1;
            self.unqueued.octets += u64::from(octets);
            self.ready.push(item);
            return;
        };
        let is_known = self.is_known.get(stream as usize).copied().unwrap_or(false);
        let flow = if is_known { stream } else { BEST_EFFORT };
        queues.offer(now, Packet { flow, octets, item }, &mut |lost| dropped(lost.reason));
    }

    /// The next packet that leaves now and that `keep` gives back; those that it does not give back take nothing of the rate.
    pub fn take(&mut self, now: Instant, keep: &mut impl FnMut(T) -> Option<T>) -> Option<T> {
        while let Some(first) = self.ready.pop() {
            if let Some(kept) = keep(first) {
                return Some(kept);
            }
        }
        self.queues.as_mut()?.take_kept(now, keep)
    }

    /// When the next packet may leave.
    #[must_use]
    pub fn next_conforming(&self, now: Instant) -> Option<Instant> {
        if !self.ready.is_empty() {
            return Some(now);
        }
        self.queues.as_ref()?.next_conforming(now)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.config.name
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
        self.queues.as_ref().map(|queues| queues.inner().inner().totals())
    }

    /// A stream that is configured here.
    #[must_use]
    pub fn stream(&self, stream: u32) -> Option<StreamView> {
        self.queues.as_ref()?.inner().inner().view(stream)
    }
}

/// Streams that go first make room for those that come or grow. False where there is no order in which all changes have room, or a
/// stream is on its way from one queue to the other.
fn change_streams<T>(
    now: Instant,
    queues: &mut EdgeQueues<T>,
    former: &WayOutConfig,
    config: &WayOutConfig,
) -> bool {
    let (before, mut left) = (former.all_streams(), config.all_streams());
    for (number, _) in before.iter().filter(|(number, _)| left.iter().all(|(other, _)| other != number)) {
        queues.remove(*number);
    }
    left.retain(|stream| !before.contains(stream));
    while !left.is_empty() {
        let count = left.len();
        left.retain(|(number, config)| queues.configure(now, *number, config).is_err());
        if left.len() == count {
            return false;
        }
    }
    true
}
