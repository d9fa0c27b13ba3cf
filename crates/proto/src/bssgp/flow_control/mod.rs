//! Downlink flow control of the SGSN (08.18 clause 8.2 [48.018]): the bucket of each mobile, then that of its cell.
//!
//! One [`FlowControl`] serves all cells of a node. [`FlowControl::offer`] gives a PDU back at once where nothing stands
//! before it and both buckets have room; else it goes into a queue of its mobile, one for each class.
//! [`FlowControl::dequeue`] gives the next PDU that conforms to both buckets, or says until when nothing will.
//!
//! * PDUs of one mobile never overtake each other within their class, not even where a small one would conform before
//!   a large one. In a mobile and in a cell signalling goes first, then real time, then what is guaranteed, then best
//!   effort; real time keeps to a part of the cell while others wait ([`RealTimeShare`]), and what is guaranteed to the rate
//!   of its mobile ([`FlowControl::set_guarantee`]), beyond which it has its turn among best effort. Signalling has limits of
//!   its own, but counts in both buckets as everything does.
//! * Among the mobiles of a cell whose first PDU conforms, and among cells, turns go round.
//! * Where a cell or the node is full, a PDU pushes out one of lower precedence in the same cell, or one of best effort
//!   where it is of real time or guaranteed: the youngest of the lowest. The youngest has cost the least of its lifetime so far, and is
//!   rarely the first of its mobile, so that nobody's turn changes. Signalling is never pushed out, and precedence helps
//!   nobody against the limit of his own queue.
//! * A PDU whose lifetime has run out never leaves the queue but as a drop, also where nothing else happens: the
//!   instant given by `dequeue` is never later than the end of the lifetime of a PDU that stands first.
//! * Its owner learns from [`FlowControl::take_feedback`] which mobiles and cells have enough for now, and no longer.
//! * The tables of queue nodes and mobiles and the heap of waiting mobiles are allocated at the start, and touched as
//!   they are needed. A mobile costs four octets while it is idle and its bucket is empty; every operation is O(1) or
//!   O(log n) in the mobiles that have a backlog.
//!
//! Lengths are those of LL-PDUs, in octets. PDUs that belong to no mobile we know count in the cell's bucket only.

mod config;
mod directory;
mod feedback;
mod guarantee;
mod rest;
mod schedule;
mod state;
mod store;
#[cfg(test)]
mod tests;
mod units;

pub use config::{Config, Limit, Limits, RealTimeShare, WaitQuantum, Watermark, Watermarks};
pub use feedback::{Feedback, Whose};
pub use units::Bucket;

use crate::about::About as _;
use directory::Directory;
use feedback::Untold;
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::time::Instant;
use gannet_qos::class::{CellClass, Precedence};
use gannet_qos::deadline_heap::DeadlineHeap;
use gannet_qos::leaky_bucket::LeakyBucket;
use gannet_qos::links::{Links, List};
use gannet_wire::id::Imsi;
use guarantee::Guarantees;
use state::{Cell, Ms, Place};
use store::Pdus;

/// The largest table of PDUs.
const PDUS_MAX: u32 = 1 << 21;
/// How many classes there are.
const CLASSES: usize = CellClass::ALL.len();

/// What the owner of the flow control ties to a PDU and gets back with it.
pub trait PduMeta: Copy {
    /// Whose PDU it is, for the name of its drop.
    fn whose(&self) -> Option<Imsi>;
}

/// A PDU that comes in or goes out.
#[derive(Debug)]
pub struct Pdu<T> {
    /// How soon it is served.
    pub class: CellClass,
    /// How late it is dropped.
    pub precedence: Precedence,
    /// It stands before those of its mobile and class that are not ahead.
    pub is_ahead: bool,
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
    /// What is queued, by [`CellClass`].
    pub queued: [Amount; CLASSES],
}

/// What became of a PDU that was offered.
#[derive(Debug)]
pub enum Offered<T> {
    /// It conforms, nothing stands before it, and it has been counted in its buckets: it is to be sent now.
    Passes(Pdu<T>),
    /// It is in its queue.
    Queued,
    /// It was dropped, by name.
    Dropped,
}

/// The downlink flow control of all cells of a node.
#[derive(Debug)]
pub struct FlowControl<T> {
    config: Config,
    pdus: Pdus<T>,
    mobiles: Vec<Ms>,
    free_mobiles: Vec<u32>,
    directory: Directory,
    cells: Vec<Cell>,
    /// Mobiles by index, then cells.
    waiting: DeadlineHeap,
    /// Links of the lists of ready mobiles.
    turns: Links,
    /// Links of the cells' lists of members.
    membership: Links,
    /// Links of the list of cells that may have something to send now.
    cell_turns: Links,
    sending: List,
    untold: Untold,
    guarantees: Guarantees,
    /// The mobile that is looked at next for one whose place may go to another.
    hand: u32,
    /// How many places go round.
    round: u32,
}

impl<T: PduMeta> FlowControl<T> {
    /// All queues empty, all cells open with the initial values.
    #[must_use]
    pub fn new(mut config: Config) -> Self {
        config.pdus_max = config.pdus_max.min(PDUS_MAX);
        config.active_ms_max = config.active_ms_max.min(directory::MAX - config.cells_max);
        let (cells, active) = (config.cells_max, config.active_ms_max);
        let mobiles_max = (cells + active) as usize;
        let mut control = Self {
            pdus: Pdus::new(config.pdus_max),
            mobiles: Vec::with_capacity(mobiles_max),
            free_mobiles: Vec::with_capacity(active as usize),
            directory: Directory::new(config.ms_max),
            cells: (0..cells).map(|_| Cell::new(&config.initial, &config.real_time)).collect(),
            waiting: DeadlineHeap::new(mobiles_max + cells as usize),
            turns: Links::with_capacity(mobiles_max),
            membership: Links::with_capacity(mobiles_max),
            cell_turns: Links::new(cells as usize),
            sending: List::default(),
            untold: Untold::new(config.ms_max, cells),
            guarantees: Guarantees::default(),
            hand: cells,
            round: 0,
            config,
        };
        for cell in 0..cells {
            control.add_mobile();
            control.join(cell, cell);
        }
        control
    }

    /// How it is set up.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Takes over new limits, shares and initial values; the sizes of tables stay. A cell that has had the initial values,
    /// since its BSS has said nothing, has the new ones.
    pub fn reconfigure(&mut self, cx: &mut Context<'_>, new: Config) {
        let former = self.config.clone();
        let Config {
            initial,
            data,
            signalling,
            real_time,
            wait_quantum,
            rest_quantum,
            asks_at_zero,
            feedback,
            ..
        } = new;
        // Whether anybody listens is decided when the node is made.
        let feedback = former.feedback.and(feedback.or(former.feedback));
        self.config = Config {
            initial,
            data,
            signalling,
            real_time,
            wait_quantum,
            rest_quantum,
            asks_at_zero,
            feedback,
            ..former.clone()
        };
        for cell in 0..self.config.cells_max {
            let Some(state) = self.cells.get(cell as usize) else { continue };
            let (bmax_octets, rate_bit_per_s) = (state.bucket.bmax_octets(), state.bucket.rate_bit_per_s());
            let now =
                BvcParameters { bvc: Bucket { bmax_octets, rate_bit_per_s }, default_ms: state.default_ms };
            let next = if now == former.initial { initial } else { now };
            if next != now || former.real_time != real_time {
                self.set_bvc(cx, cell, next, None);
            }
        }
    }

    /// Gives a PDU back, counted in its buckets, where nothing of its mobile is queued, no other of its cell could go
    /// now, and it conforms; else does as [`FlowControl::enqueue`].
    pub fn offer(&mut self, cx: &mut Context<'_>, (cell, ms): (u32, Option<u32>), pdu: Pdu<T>) -> Offered<T> {
        // Whose turn has come while nobody looked stands before this one.
        self.wake_due(cx);
        if ms.is_some_and(|ms| self.passes(cx.now, (cell, ms), &pdu)) {
            return Offered::Passes(pdu);
        }
        if self.enqueue(cx, cell, ms, pdu) { Offered::Queued } else { Offered::Dropped }
    }

    #[inline]
    fn passes(&mut self, now: Instant, (cell, name): (u32, u32), pdu: &Pdu<T>) -> bool {
        let octets = pdu.frame.len() as u64;
        let Some(at) = self.find_or_create(now, cell, name) else { return false };
        let Some(ms) = self.mobiles.get_mut(at as usize) else { return false };
        let Some(state) = self.cells.get_mut(cell as usize) else { return false };
        let first = ms.place == Place::Idle && ms.cell == cell && state.open && state.is_quiet();
        let usual = ms.specific_until > now && pdu.expires > now && !ms.held;
        if !(first && usual && state.bucket.conforms(now, octets) && ms.bucket.admit(now, octets)) {
            return false;
        }
        state.count(now, pdu.class, octets);
        match pdu.class {
            CellClass::BestEffort
                if !(ms.bucket.conforms(now, octets) && state.bucket.conforms(now, octets)) =>
            {
                self.rest(now, (cell, at), octets);
            }
            CellClass::RealTime if state.rests => self.end_rest_of_cell(cell),
            CellClass::Guaranteed => self.guaranteed_passes(now, cell, name, octets),
            CellClass::Signalling | CellClass::RealTime | CellClass::BestEffort => {}
        }
        true
    }

    /// Takes a PDU into its queue; false where it was dropped, which is then counted by name.
    pub fn enqueue(&mut self, cx: &mut Context<'_>, cell: u32, ms: Option<u32>, pdu: Pdu<T>) -> bool {
        let result = self.try_enqueue(cx, cell, ms, pdu);
        if let Err((drop, meta)) = result {
            cx.drop_of(drop, meta.whose());
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
        let queue = self.queue(at, class).amount();
        if ms.is_some() && !self.config.limits(class).ms.holds(queue, octets) {
            return Err(refuse(Drop::FlowMsQueueFull));
        }
        self.make_room(cx, cell, &pdu).map_err(refuse)?;
        if self.push(cx.now, at, pdu) {
            self.place(cx.now, at);
            self.stir(cell);
        }
        if self.config.asks_at_zero
            && let Some(ms) = ms
        {
            self.ask(cx, ms);
        }
        Ok(())
    }

    /// Something has come for a mobile. Where its R is 0 and [`Config::asks_at_zero`] says so, the first PDU of its queue goes: a BSS that
    /// has said R = 0 and does not say when that is over learns that there is something to send.
    pub fn ask(&mut self, cx: &mut Context<'_>, ms: u32) {
        let Some(at) = self.find(ms).filter(|_| self.config.asks_at_zero) else { return };
        let Some(state) = self.mobiles.get_mut(at as usize) else { return };
        let is_closed = state.bucket.rate_bit_per_s() == 0 && state.specific_until > cx.now;
        if is_closed && state.head_class().is_some() {
            state.asks = true;
            self.refresh(cx, at);
        }
    }

    /// How many PDUs of a mobile and a class are ahead of its others there.
    #[must_use]
    pub fn ahead(&self, ms: u32, class: CellClass) -> u32 {
        self.find(ms).map_or(0, |at| self.ahead_of(at, class).0)
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
        self.guarantees.set(cx.now, ms, None);
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
        CellClass::ALL.iter().fold(Amount::default(), |sum, class| sum.plus(self.queue(at, *class).amount()))
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
        let real_time = self.config.real_time.of(parameters.bvc);
        state.real_time.reconfigure(cx.now, real_time.bmax_octets, real_time.rate_bit_per_s);
        let former = core::mem::replace(&mut state.default_ms, parameters.default_ms);
        if shrunk || former != parameters.default_ms {
            self.for_members(cell, |control, at| {
                control.apply_default(cx.now, at, former);
                control.refresh(cx, at);
            });
        }
        self.end_rest_of_cell(cell);
        self.stir(cell);
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
        if let Some(state) = self.mobiles.get_mut(at as usize) {
            state.bucket.reconfigure(cx.now, bucket.bmax_octets, bucket.rate_bit_per_s);
            if let Some(percent) = full_percent {
                state.bucket.set_full_ratio(cx.now, percent);
            }
            state.specific_until = until;
            state.asks = false;
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
            if let Some(state) = self.mobiles.get_mut(at as usize) {
                state.bucket.take_out(cx.now, octets);
            }
            self.refresh(cx, at);
        }
        self.end_rest_of_cell(cell);
        self.stir(cell);
    }

    /// Puts `octets` into the buckets of a cell and of a mobile in it: the BSS has transferred them there (08.18
    /// clause 8.1).
    pub fn put_in(&mut self, cx: &mut Context<'_>, cell: u32, ms: u32, octets: u64) {
        if let Some(state) = self.cells.get_mut(cell as usize) {
            state.bucket.put_in(cx.now, octets);
        }
        if let Some(at) = self.member(cx, cell, ms) {
            self.settle(cx.now, at);
            if let Some(state) = self.mobiles.get_mut(at as usize) {
                state.bucket.put_in(cx.now, octets);
            }
            self.refresh(cx, at);
        }
        self.stir(cell);
    }

    /// Has the user data of a mobile wait from now on, or lets them go again: while it is between two cells, or out of
    /// reach. Signalling goes; limits and lifetimes hold as ever. False where no room for the mobile is left.
    pub fn hold(&mut self, cx: &mut Context<'_>, cell: u32, ms: u32, on: bool) -> bool {
        let found = if on { self.find_or_create(cx.now, cell, ms) } else { self.find(ms) };
        let Some(at) = found else { return !on };
        if let Some(state) = self.mobiles.get_mut(at as usize) {
            state.held = on;
        }
        self.refresh(cx, at);
        true
    }

    /// Do the user data of a mobile wait?
    #[must_use]
    pub fn is_held(&self, ms: u32) -> bool {
        self.find(ms).and_then(|at| self.mobiles.get(at as usize)).is_some_and(|state| state.held)
    }

    /// Closes a cell whose BVC is blocked, or opens it again. A closed cell keeps its queues; lifetimes go on.
    pub fn set_open(&mut self, cell: u32, open: bool) {
        if let Some(state) = self.cells.get_mut(cell as usize) {
            state.open = open;
        }
        self.stir(cell);
    }

    /// A BVC-RESET: deletes all queues of the cell (each PDU a drop), forgets what the BSS said of it, and opens it.
    pub fn reset_cell(&mut self, cx: &mut Context<'_>, cell: u32) -> Amount {
        let mut flushed = Amount::default();
        self.for_members(cell, |control, at| {
            flushed = flushed.plus(control.empty(cx, at));
            control.refresh(cx, at);
            control.release(at);
        });
        let BvcParameters { bvc, default_ms } = self.config.initial;
        if let Some(state) = self.cells.get_mut(cell as usize) {
            state.bucket = bvc.empty();
            state.real_time = self.config.real_time.of(bvc).empty();
            state.default_ms = default_ms;
            state.open = true;
        }
        self.end_rest_of_cell(cell);
        self.stir(cell);
        flushed
    }

    /// A cell as it is now.
    #[must_use]
    pub fn cell_view(&self, now: Instant, cell: u32) -> Option<View> {
        let state = self.cells.get(cell as usize)?;
        Some(View::of(&state.bucket, now, state.queued.0))
    }

    /// A mobile as it is now; `None` while it is idle with an empty bucket.
    #[must_use]
    pub fn ms_view(&self, now: Instant, ms: u32) -> Option<View> {
        let state = self.mobiles.get(self.find(ms)? as usize)?;
        Some(View::of(&state.bucket, now, state.queues.0.map(|queue| queue.amount())))
    }

    /// Size and leak rate of a mobile's bucket; `None` while it is idle with an empty one.
    #[must_use]
    pub fn ms_bucket(&self, ms: u32) -> Option<Bucket> {
        let bucket = &self.mobiles.get(self.find(ms)? as usize)?.bucket;
        Some(Bucket { bmax_octets: bucket.bmax_octets(), rate_bit_per_s: bucket.rate_bit_per_s() })
    }

    /// PDUs in all queues.
    #[must_use]
    pub const fn queued_pdus(&self) -> u32 {
        self.config.pdus_max - self.pdus.free()
    }
}

impl Amount {
    const fn plus(self, other: Self) -> Self {
        Self { pdus: self.pdus + other.pdus, octets: self.octets + other.octets }
    }

    const fn minus(self, other: Self) -> Self {
        Self { pdus: self.pdus.saturating_sub(other.pdus), octets: self.octets.saturating_sub(other.octets) }
    }
}

impl View {
    /// What is queued in all classes.
    #[must_use]
    pub fn total_queued(&self) -> Amount {
        self.queued.iter().fold(Amount::default(), |sum, queued| sum.plus(*queued))
    }

    fn of(bucket: &LeakyBucket, now: Instant, queued: [Amount; CLASSES]) -> Self {
        Self {
            bucket: Bucket { bmax_octets: bucket.bmax_octets(), rate_bit_per_s: bucket.rate_bit_per_s() },
            level_octets: bucket.level_octets(now),
            queued,
        }
    }
}
