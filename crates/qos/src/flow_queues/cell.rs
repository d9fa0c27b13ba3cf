//! A cell: what its flows hold together, and how much real time goes ahead there.

use super::flow::{Flow, NIL};
use super::{Amount, Limit};
use crate::class::Precedence;
use crate::token_bucket::{Rate, TokenBucket};
use gannet_machine::time::Instant;

/// What holds for a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellConfig {
    /// The queues of all its flows together.
    pub limit: Limit,
    /// What of real time is served ahead of others, in octets per second; `None`: all of it.
    pub real_time: Option<Rate>,
}

/// What a person wants to know of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellView {
    /// What waits, by precedence.
    pub queued: [Amount; 3],
    /// None of its flows is served.
    pub blocked: bool,
}

/// The flow with the longest backlog that an arrival has shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Longest {
    pub(super) flow: u32,
    pdus: u16,
}

/// A cell: what each packet touches in the first two lines of the cache.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Cell {
    /// All that waits.
    held: Amount,
    pub(super) limit: Limit,
    /// Packets of its flows that are not blocked.
    pub(super) ready: u32,
    pub(super) blocked: bool,
    longest: [Longest; 3],
    /// What waits, by precedence.
    queued: [Amount; 3],
    pub(super) real_time: Option<TokenBucket>,
}

const _: () = assert!(core::mem::offset_of!(Cell, real_time) <= Cell::HOT);

impl Cell {
    /// Octets of the lines that each packet touches.
    pub(super) const HOT: usize = 128;

    pub(super) fn new(now: Instant, config: CellConfig) -> Self {
        Self {
            held: Amount::default(),
            limit: config.limit,
            ready: 0,
            blocked: false,
            longest: [Longest { flow: NIL, pdus: 0 }; 3],
            queued: [Amount::default(); 3],
            real_time: config.real_time.map(|rate| TokenBucket::new(now, rate)),
        }
    }

    pub(super) fn configure(&mut self, now: Instant, config: CellConfig) {
        self.limit = config.limit;
        match (&mut self.real_time, config.real_time) {
            (Some(bucket), Some(rate)) => bucket.reconfigure(now, rate),
            (bucket, rate) => *bucket = rate.map(|rate| TokenBucket::new(now, rate)),
        }
    }

    pub(super) fn view(&self) -> CellView {
        CellView { queued: self.queued, blocked: self.blocked }
    }

    /// True where a packet of `octets` fits.
    pub(super) fn fits(&self, octets: u32) -> bool {
        self.has_room(self.held, octets)
    }

    /// True where it would, were what is at levels below `above` not there, and where anything is.
    pub(super) fn would_fit(&self, octets: u32, above: Precedence) -> bool {
        let lower = self.queued.iter().skip(above as usize + 1);
        let (held, any) = lower.fold((self.held, false), |(held, any), level| {
            let rest = Amount { pdus: held.pdus - level.pdus, octets: held.octets - level.octets };
            (rest, any || level.pdus > 0)
        });
        any && self.has_room(held, octets)
    }

    fn has_room(&self, held: Amount, octets: u32) -> bool {
        held.pdus < self.limit.pdus && held.octets + u64::from(octets) <= u64::from(self.limit.octets)
    }

    /// The lowest level below `above` at which something waits.
    pub(super) fn lowest_below(&self, above: Precedence) -> Option<Precedence> {
        Precedence::ALL.into_iter().rev().take_while(|level| *level > above).find(|level| self.holds(*level))
    }

    fn holds(&self, level: Precedence) -> bool {
        self.queued.get(level as usize).is_some_and(|held| held.pdus > 0)
    }

    pub(super) fn longest(&self, level: Precedence) -> u32 {
        self.longest.get(level as usize).map_or(NIL, |longest| longest.flow)
    }

    /// A packet of `octets` came into a flow, which has it in its queue already.
    pub(super) fn came(&mut self, at: u32, flow: &Flow, octets: u32) {
        if let Some(held) = self.queued.get_mut(flow.precedence as usize) {
            held.add(octets);
        }
        self.held.add(octets);
        if flow.wants() {
            self.ready += 1;
        }
        if let Some(longest) = self.longest.get_mut(flow.precedence as usize)
            && (longest.flow == at || flow.pdus >= longest.pdus)
        {
            *longest = Longest { flow: at, pdus: flow.pdus };
        }
    }

    /// A packet of `octets` went out of a flow, which has it no more.
    pub(super) fn went(&mut self, at: u32, flow: &Flow, octets: u32, was_ready: bool) {
        if let Some(held) = self.queued.get_mut(flow.precedence as usize) {
            held.sub(octets);
        }
        self.held.sub(octets);
        if was_ready {
            self.ready -= 1;
        }
        if let Some(longest) = self.longest.get_mut(flow.precedence as usize)
            && longest.flow == at
        {
            longest.pdus = flow.pdus;
        }
    }

    /// A flow goes with all it has.
    pub(super) fn leaves(&mut self, at: u32, flow: &Flow) {
        if let Some(held) = self.queued.get_mut(flow.precedence as usize) {
            held.pdus -= u32::from(flow.pdus);
            held.octets -= u64::from(flow.octets);
        }
        self.held.pdus -= u32::from(flow.pdus);
        self.held.octets -= u64::from(flow.octets);
        if flow.wants() {
            self.ready -= u32::from(flow.pdus);
        }
        if let Some(longest) = self.longest.get_mut(flow.precedence as usize)
            && longest.flow == at
        {
            *longest = Longest { flow: NIL, pdus: 0 };
        }
    }

    /// A flow comes with all it has.
    pub(super) fn enters(&mut self, flow: &Flow) {
        if let Some(held) = self.queued.get_mut(flow.precedence as usize) {
            held.pdus += u32::from(flow.pdus);
            held.octets += u64::from(flow.octets);
        }
        self.held.pdus += u32::from(flow.pdus);
        self.held.octets += u64::from(flow.octets);
        if flow.wants() {
            self.ready += u32::from(flow.pdus);
        }
    }
}
