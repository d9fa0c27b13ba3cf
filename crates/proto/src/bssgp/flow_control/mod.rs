//! Downlink flow control of the SGSN (08.18 clause 8.2 [48.018]): the bucket of each mobile, then that of its cell.
//!
//! One [`FlowControl`] serves all cells of a node. A PDU goes into the queue of its mobile, signalling apart from
//! data; [`FlowControl::dequeue`] gives the next PDU that conforms to both buckets, or says until when nothing will.
//!
//! * PDUs of one mobile never overtake each other within their class, not even where a small one would conform before
//!   a large one. Signalling goes first in a mobile and in a cell and has limits of its own, but counts in both
//!   buckets as everything does.
//! * Among the mobiles of a cell whose first PDU conforms, and among cells, turns go round.
//! * A PDU whose lifetime has run out never leaves the queue but as a drop, also where nothing else happens: the
//!   instant given by `dequeue` is never later than the end of the lifetime of a PDU that stands first.
//! * Queue nodes, mobiles' buckets and the heap of waiting mobiles are allocated at the start. A mobile costs nothing
//!   while it is idle and its bucket is empty; every operation is O(1) or O(log n) in the mobiles that have a backlog.
//!
//! Lengths are those of LL-PDUs, in octets. PDUs that belong to no mobile we know count in the cell's bucket only.

mod schedule;
mod store;
#[cfg(test)]
mod tests;
mod units;

pub use units::Bucket;

use crate::drops::Drop;
use crate::frame::Frame;
use crate::machine::Context;
use crate::qos::class::{Class, Precedence};
use crate::qos::deadline_heap::DeadlineHeap;
use crate::qos::leaky_bucket::LeakyBucket;
use crate::qos::links::{Links, List, NIL};
use crate::time::{Duration, Instant};
use gannet_wire::id::Imsi;
use store::{Pdus, Queue};

/// How many classes there are.
const CLASSES: usize = Class::ALL.len();

/// What the owner of the flow control ties to a PDU and gets back with it.
pub trait PduMeta: Copy {
    /// Whose PDU it is, for the name of its drop.
    fn whose(&self) -> Option<Imsi>;
}

/// A PDU that comes in or goes out.
#[derive(Debug)]
pub struct Pdu<T> {
    /// How soon it is served.
    pub class: Class,
    /// How late it is dropped.
    pub precedence: Precedence,
    /// When its lifetime ends; `Instant(u64::MAX)` where it never does.
    pub expires: Instant,
    /// What its owner ties to it.
    pub meta: T,
    /// The LL-PDU.
    pub frame: Frame,
}

/// What [`FlowControl::dequeue`] found.
#[derive(Debug)]
pub enum Dequeue<T> {
    /// A PDU that conforms now and has been counted in its buckets.
    Pdu {
        /// Its cell.
        cell: u32,
        /// Its mobile, where it has one.
        ms: Option<u32>,
        /// Since when it was in the queue.
        since: Instant,
        /// Itself.
        pdu: Pdu<T>,
    },
    /// Nothing conforms before this instant unless something changes.
    WaitUntil(Instant),
    /// Nothing is queued, or nothing will ever conform unless something changes.
    Empty,
}

/// What a BSS says of a cell with FLOW-CONTROL-BVC (08.18 clause 10.4.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BvcParameters {
    /// The cell's bucket.
    pub bvc: Bucket,
    /// The bucket of each mobile that has none of its own.
    pub default_ms: Bucket,
}

/// A limit of a queue; what would exceed either number is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// PDUs.
    pub pdus: u32,
    /// Octets.
    pub octets: u64,
}

/// The limits of signalling, or of user data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For each class of each mobile.
    pub ms: Limit,
    /// For each cell with all its mobiles.
    pub cell: Limit,
}

/// How large everything is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Cells are named 0 to `cells_max` − 1.
    pub cells_max: u32,
    /// Mobiles are named 0 to `ms_max` − 1.
    pub ms_max: u32,
    /// Mobiles that may have a backlog or a bucket in use at the same time.
    pub active_ms_max: u32,
    /// PDUs in all queues together. Data leaves an eighth of it to signalling.
    pub pdus_max: u32,
    /// What holds for a cell before its first FLOW-CONTROL-BVC.
    pub initial: BvcParameters,
    /// Th: how long the values of a FLOW-CONTROL-MS hold (08.18 clause 8.2.3).
    pub ms_parameters_lifetime: Duration,
    /// Limits of the queues of user data.
    pub data: Limits,
    /// Limits of the queues of signalling.
    pub signalling: Limits,
}

impl Default for Config {
    fn default() -> Self {
        let default_ms = Bucket { bmax_octets: 20_000, rate_bit_per_s: 160_000 };
        Self {
            cells_max: 256,
            ms_max: 16_384,
            active_ms_max: 4096,
            pdus_max: 16_384,
            initial: BvcParameters {
                bvc: Bucket { bmax_octets: 60_000, rate_bit_per_s: 400_000 },
                default_ms,
            },
            ms_parameters_lifetime: Duration::from_secs(60),
            data: Limits {
                ms: Limit { pdus: 200, octets: 200_000 },
                cell: Limit { pdus: 4000, octets: 4_000_000 },
            },
            signalling: Limits {
                ms: Limit { pdus: 32, octets: 20_000 },
                cell: Limit { pdus: 1000, octets: 500_000 },
            },
        }
    }
}

/// PDUs and octets, of a queue or taken out of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    /// PDUs.
    pub pdus: u32,
    /// Octets of LL-PDUs.
    pub octets: u64,
}

/// What a person wants to know of a bucket and the queue before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// Size and leak rate in force.
    pub bucket: Bucket,
    /// What is in the bucket, in octets.
    pub level_octets: u64,
    /// What is queued, by [`Class`].
    pub queued: [Amount; CLASSES],
}

/// Where a mobile stands in its cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It has no backlog; in the list of idle ones.
    Idle,
    /// Its first PDU conforms to its bucket; in its cell's list of this class.
    Ready(Class),
    /// Its first PDU does not conform yet; in the heap, unless that is for ever.
    Waiting,
}

/// A mobile with a backlog or a bucket in use. The first `cells_max` of them are the cells' PDUs without a mobile.
#[derive(Debug)]
struct Ms {
    name: u32,
    cell: u32,
    /// `None`: no bucket but the cell's.
    bucket: Option<LeakyBucket>,
    /// Until when the bucket's values are those of a FLOW-CONTROL-MS.
    specific_until: Option<Instant>,
    queues: [Queue; CLASSES],
    place: Place,
}

/// A cell.
#[derive(Debug)]
struct Cell {
    bucket: LeakyBucket,
    default_ms: Bucket,
    /// False while its BVC is blocked.
    open: bool,
    /// Mobiles whose first PDU conforms to their bucket, by the class of that PDU.
    ready: [List; CLASSES],
    /// All mobiles that are known here.
    members: List,
    queued: [Amount; CLASSES],
    /// It is in the list of cells that have something to send now.
    sending: bool,
}

/// The downlink flow control of all cells of a node.
#[derive(Debug)]
pub struct FlowControl<T> {
    config: Config,
    pdus: Pdus<T>,
    mobiles: Vec<Ms>,
    free_mobiles: Vec<u32>,
    /// By the mobile's name: where in `mobiles` it is.
    directory: Vec<u32>,
    cells: Vec<Cell>,
    /// Mobiles by index, then cells.
    waiting: DeadlineHeap,
    /// Links of the lists of ready and of idle mobiles.
    turns: Links,
    idle: List,
    /// Links of the cells' lists of members.
    membership: Links,
    /// Links of the list of cells that have something to send now.
    cell_turns: Links,
    sending: List,
}

impl<T: PduMeta> FlowControl<T> {
    /// All queues empty, all cells open with the initial values.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let (cells, active) = (config.cells_max, config.active_ms_max);
        let mobiles_max = (cells + active) as usize;
        let mut control = Self {
            pdus: Pdus::new(config.pdus_max),
            mobiles: (0..cells + active).map(|_| Ms::unused()).collect(),
            free_mobiles: (cells..cells + active).rev().collect(),
            directory: vec![NIL; config.ms_max as usize],
            cells: (0..cells).map(|_| Cell::new(&config.initial)).collect(),
            waiting: DeadlineHeap::new(mobiles_max + cells as usize),
            turns: Links::new(mobiles_max),
            idle: List::default(),
            membership: Links::new(mobiles_max),
            cell_turns: Links::new(cells as usize),
            sending: List::default(),
            config,
        };
        for cell in 0..cells {
            control.join(cell, cell);
        }
        control
    }

    /// Takes a PDU into its queue; false where it was dropped, which is then counted by name.
    pub fn enqueue(&mut self, cx: &mut Context<'_>, cell: u32, ms: Option<u32>, pdu: Pdu<T>) -> bool {
        let result = self.try_enqueue(cx, cell, ms, pdu);
        if let Err((drop, meta)) = result {
            cx.drop(drop, meta.whose());
        }
        result.is_ok()
    }

    fn try_enqueue(
        &mut self,
        cx: &mut Context<'_>,
        cell: u32,
        ms: Option<u32>,
        pdu: Pdu<T>,
    ) -> Result<(), (Drop, T)> {
        let (class, meta, octets) = (pdu.class, pdu.meta, pdu.frame.len() as u64);
        let refuse = |drop: Drop| (drop, meta);
        let at = match ms {
            None if cell < self.config.cells_max => cell,
            None => return Err(refuse(Drop::FlowTableFull)),
            Some(ms) => self.find_or_create(cx.now, cell, ms).ok_or(refuse(Drop::FlowTableFull))?,
        };
        if self.cell_of(at) != Some(cell) {
            self.move_to(cx, at, cell);
        }
        self.settle(cx.now, at);
        if octets > self.longest(at) {
            return Err(refuse(Drop::FlowTooLong));
        }
        let limits = self.limits(class);
        let queue = self.queue(at, class).amount();
        if !limits.ms.holds(queue, octets) && ms.is_some() {
            return Err(refuse(Drop::FlowMsQueueFull));
        }
        if !limits.cell.holds(self.queued_with(cell, class), octets) {
            return Err(refuse(Drop::FlowCellQueueFull));
        }
        let reserved = if class != Class::Signalling { self.config.pdus_max / 8 } else { 0 };
        if self.pdus.free() <= reserved {
            return Err(refuse(Drop::FlowTableFull));
        }
        let first = queue.pdus == 0;
        self.push(cx.now, at, pdu);
        if first {
            self.refresh(cx, at);
        }
        Ok(())
    }

    const fn limits(&self, class: Class) -> Limits {
        match class {
            Class::Signalling => self.config.signalling,
            Class::RealTime | Class::BestEffort => self.config.data,
        }
    }

    /// Deletes the backlog of a mobile (FLUSH-LL with deletion, detach) and says how much that was. Each PDU counts as
    /// a drop.
    pub fn flush(&mut self, cx: &mut Context<'_>, ms: u32) -> Amount {
        let Some(at) = self.find(ms) else { return Amount::default() };
        let flushed = self.empty(cx, at);
        self.refresh(cx, at);
        flushed
    }

    /// Deletes the backlog of a mobile and forgets its bucket, so that its name may go to another.
    pub fn forget(&mut self, cx: &mut Context<'_>, ms: u32) -> Amount {
        let Some(at) = self.find(ms) else { return Amount::default() };
        let flushed = self.empty(cx, at);
        self.refresh(cx, at);
        self.release(at);
        flushed
    }

    /// Moves a mobile with its backlog, in its order, to another cell, where it starts with that cell's default
    /// bucket. What exceeds the limits there is dropped, the youngest first.
    pub fn move_ms(&mut self, cx: &mut Context<'_>, ms: u32, cell: u32) -> Amount {
        let Some(at) = self.find(ms).filter(|_| cell < self.config.cells_max) else {
            return Amount::default();
        };
        if self.cell_of(at) != Some(cell) {
            self.move_to(cx, at, cell);
        }
        Class::ALL.iter().fold(Amount::default(), |sum, class| sum.plus(self.queue(at, *class).amount()))
    }

    /// Takes the values of a FLOW-CONTROL-BVC; `full_percent` is its bucket-full ratio (08.18 clause 8.2.3).
    pub fn set_bvc(
        &mut self,
        cx: &mut Context<'_>,
        cell: u32,
        parameters: BvcParameters,
        full_percent: Option<u8>,
    ) {
        let Some(state) = self.cells.get_mut(cell as usize) else { return };
        let Bucket { bmax_octets, rate_bit_per_s } = parameters.bvc;
        let shrunk = bmax_octets < state.bucket.bmax_octets();
        state.bucket.reconfigure(cx.now, bmax_octets, rate_bit_per_s);
        if let Some(percent) = full_percent {
            state.bucket.set_full_ratio(cx.now, percent);
        }
        let former = core::mem::replace(&mut state.default_ms, parameters.default_ms);
        if shrunk || former != parameters.default_ms {
            self.for_members(cell, |control, at| {
                control.apply_default(cx.now, at, former);
                control.refresh(cx, at);
            });
        }
        self.place_cell(cx.now, cell);
    }

    /// Takes the values of a FLOW-CONTROL-MS, which hold for Th. False where the mobile has a backlog in another cell or
    /// no room for it is left, and then nothing changes.
    pub fn set_ms(
        &mut self,
        cx: &mut Context<'_>,
        cell: u32,
        ms: u32,
        bucket: Bucket,
        full_percent: Option<u8>,
    ) -> bool {
        let Some(at) = self.member(cx, cell, ms) else { return false };
        self.settle(cx.now, at);
        let until = cx.now + self.config.ms_parameters_lifetime;
        if let Some(state) = self.mobiles.get_mut(at as usize)
            && let Some(own) = &mut state.bucket
        {
            own.reconfigure(cx.now, bucket.bmax_octets, bucket.rate_bit_per_s);
            if let Some(percent) = full_percent {
                own.set_full_ratio(cx.now, percent);
            }
            state.specific_until = Some(until);
        }
        self.refresh(cx, at);
        true
    }

    /// Takes `octets` out of the buckets of a mobile and its cell: the BSS has discarded them (08.18 clause 8.3) or
    /// deleted or transferred them (clause 8.1).
    pub fn take_out(&mut self, cx: &mut Context<'_>, cell: u32, ms: Option<u32>, octets: u64) {
        if let Some(state) = self.cells.get_mut(cell as usize) {
            state.bucket.take_out(cx.now, octets);
        }
        if let Some(at) = ms.and_then(|ms| self.find(ms)).filter(|at| self.cell_of(*at) == Some(cell)) {
            self.settle(cx.now, at);
            if let Some(bucket) = self.mobiles.get_mut(at as usize).and_then(|state| state.bucket.as_mut()) {
                bucket.take_out(cx.now, octets);
            }
            self.refresh(cx, at);
        }
        self.place_cell(cx.now, cell);
    }

    /// Puts `octets` into the buckets of a cell and of a mobile in it: the BSS has transferred them there (08.18
    /// clause 8.1).
    pub fn put_in(&mut self, cx: &mut Context<'_>, cell: u32, ms: u32, octets: u64) {
        if let Some(state) = self.cells.get_mut(cell as usize) {
            state.bucket.put_in(cx.now, octets);
        }
        if let Some(at) = self.member(cx, cell, ms) {
            self.settle(cx.now, at);
            if let Some(bucket) = self.mobiles.get_mut(at as usize).and_then(|state| state.bucket.as_mut()) {
                bucket.put_in(cx.now, octets);
            }
            self.refresh(cx, at);
        }
        self.place_cell(cx.now, cell);
    }

    /// Closes a cell whose BVC is blocked, or opens it again. A closed cell keeps its queues; lifetimes go on.
    pub fn set_open(&mut self, cx: &mut Context<'_>, cell: u32, open: bool) {
        if let Some(state) = self.cells.get_mut(cell as usize) {
            state.open = open;
        }
        self.place_cell(cx.now, cell);
    }

    /// A BVC-RESET: deletes all queues of the cell (each PDU a drop), forgets what the BSS said of it, and opens it.
    pub fn reset_cell(&mut self, cx: &mut Context<'_>, cell: u32) -> Amount {
        let mut flushed = Amount::default();
        self.for_members(cell, |control, at| {
            flushed = flushed.plus(control.empty(cx, at));
            control.refresh(cx, at);
            control.release(at);
        });
        let Bucket { bmax_octets, rate_bit_per_s } = self.config.initial.bvc;
        let default_ms = self.config.initial.default_ms;
        if let Some(state) = self.cells.get_mut(cell as usize) {
            state.bucket = LeakyBucket::new(bmax_octets, rate_bit_per_s);
            state.default_ms = default_ms;
            state.open = true;
        }
        self.place_cell(cx.now, cell);
        flushed
    }

    /// A cell as it is now.
    #[must_use]
    pub fn cell_view(&self, now: Instant, cell: u32) -> Option<View> {
        let state = self.cells.get(cell as usize)?;
        Some(View::of(&state.bucket, now, state.queued))
    }

    /// A mobile as it is now; `None` while it is idle with an empty bucket.
    #[must_use]
    pub fn ms_view(&self, now: Instant, ms: u32) -> Option<View> {
        let state = self.mobiles.get(self.find(ms)? as usize)?;
        let queued = Class::ALL
            .map(|class| state.queues.get(class as usize).map_or_else(Amount::default, Queue::amount));
        Some(View::of(state.bucket.as_ref()?, now, queued))
    }

    /// PDUs in all queues.
    #[must_use]
    pub const fn queued_pdus(&self) -> u32 {
        self.config.pdus_max - self.pdus.free()
    }
}

impl Limit {
    fn holds(&self, amount: Amount, octets: u64) -> bool {
        amount.pdus < self.pdus && amount.octets + octets <= self.octets
    }
}

impl Amount {
    const fn plus(self, other: Self) -> Self {
        Self { pdus: self.pdus + other.pdus, octets: self.octets + other.octets }
    }
}

impl View {
    /// What is queued in all classes.
    #[must_use]
    pub fn total_queued(&self) -> Amount {
        self.queued.iter().fold(Amount::default(), |sum, queued| sum.plus(*queued))
    }

    fn of(bucket: &LeakyBucket, now: Instant, queued: [Amount; CLASSES]) -> Self {
        let (bmax_octets, rate_bit_per_s) = (bucket.bmax_octets(), bucket.rate_bit_per_s());
        Self {
            bucket: Bucket { bmax_octets, rate_bit_per_s },
            level_octets: bucket.level_octets(now),
            queued,
        }
    }
}

impl Ms {
    fn unused() -> Self {
        Self {
            name: NIL,
            cell: NIL,
            bucket: None,
            specific_until: None,
            queues: Default::default(),
            place: Place::Idle,
        }
    }
}

impl Cell {
    fn new(initial: &BvcParameters) -> Self {
        Self {
            bucket: LeakyBucket::new(initial.bvc.bmax_octets, initial.bvc.rate_bit_per_s),
            default_ms: initial.default_ms,
            open: true,
            ready: Default::default(),
            members: List::default(),
            queued: Default::default(),
            sending: false,
        }
    }
}
