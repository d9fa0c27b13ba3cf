//! The user side of `bpf/exchange.h`: what arrives at Gn comes in slots of a map, and the pages that it came in leave
//! through Gb with the frames that this process has finished.
//!
//! Every queue is an array of places that are empty or not; who finds a place as it needs it may use it, and shows by
//! changing it that it is done. So the octets of a slot belong to one side at a time:
//!
//! ```text
//! free ──refill──► fill ──► program ──► ring of its class ──────────receive──► free
//!                              └──────► left ──decide──► decided ──receive──► free
//! put ──► out ──► program, when the next packet arrives ──► Gb
//!          └──────────► take_back, where none arrives
//! ```
#![expect(unsafe_code, reason = "octets that are shared with the kernel's program")]

use crate::bpf::{MappedArray, Object, Shared};
use crate::deciding::{Deciding, Decision, Left};
use crate::device::Received;
use crate::layout::{ARRIVING_MAX, ByRing, FRAME_MAX, METADATA_LEN, RINGS, Ring};
use crate::rules::Error;
use crate::xsk::Statistics;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};
use gannet_machine::frame::{FRAME_SIZE, StaticBuffer};
use gannet_machine::prefetch::Prefetch;
use std::collections::VecDeque;

/// Entries of the ring of a class at the most.
const RING_MAX: u32 = 4096;
const RING: usize = RING_MAX as usize;
const ARRIVING: usize = ARRIVING_MAX as usize;
/// Frames that may wait for a page: the first slots are theirs.
const OUT_MAX: u32 = 512;
const OUT: usize = OUT_MAX as usize;
/// Octets of a slot.
const ROOM: usize = 1848;
/// The rings, and behind them the queue of what the program leaves to us.
const QUEUES: usize = RINGS as usize + 1;
const LEFT: usize = RINGS as usize;
/// So much of that is asked for before the first of it is decided.
const AT_ONCE: u32 = 32;
/// States of a slot that are no length.
const EMPTY: u64 = 0;
const BUSY: u64 = 1 << 16;
const TAKEN: u64 = 1 << 17;

/// Slots in all, where so many are for what arrives.
pub(crate) const fn slots(arriving: u32) -> u32 {
    OUT_MAX + if arriving < ARRIVING_MAX { arriving } else { ARRIVING_MAX }
}

#[derive(Debug)]
#[repr(C)]
struct Slot {
    state: AtomicU64,
    octets: [AtomicU8; ROOM],
}

#[derive(Debug)]
#[repr(C)]
struct State {
    gn: AtomicU32,
    gb: AtomicU32,
    leaves: AtomicU32,
    cpu: AtomicU32,
    fill_next: AtomicU32,
    out_next: AtomicU32,
    ring_next: [AtomicU32; QUEUES],
    ring_len: [AtomicU32; QUEUES],
    refused: AtomicU32,
    unused: AtomicU32,
    ring_full: [AtomicU64; QUEUES],
    fill_empty: AtomicU64,
    carried: AtomicU64,
    fill: [AtomicU64; ARRIVING],
    ring: [[AtomicU64; RING]; QUEUES],
}

// SAFETY: `repr(C)`, atomic integers alone, each at a multiple of its size with nothing between them.
unsafe impl Shared for Slot {}
// SAFETY: as above.
unsafe impl Shared for State {}

const _: () =
    assert!(size_of::<Slot>() == 8 + ROOM && ROOM.is_multiple_of(8) && ROOM >= METADATA_LEN + FRAME_MAX);

impl Slot {
    /// Copies out of the slot as much as there is room for.
    fn read(&self, to: &mut [u8]) {
        let Some(octets) = self.octets.get(..to.len()) else { return };
        // SAFETY: as many octets as `to` has, of atomics that may be read through a plain pointer while the slot is this
        // side's: the queues say so.
        unsafe { core::ptr::copy_nonoverlapping(octets.as_ptr().cast(), to.as_mut_ptr(), to.len()) };
    }

    /// Copies into the slot.
    fn write(&self, from: &[u8]) {
        let Some(octets) = self.octets.get(..from.len()) else { return };
        let to = octets.as_ptr().cast::<u8>().cast_mut();
        // SAFETY: as above; atomics may be written through a shared reference.
        unsafe { core::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
    }
}

/// Pages of what arrives, exchanged for frames that leave.
#[derive(Debug)]
pub struct Exchange {
    slots: MappedArray<Slot>,
    states: MappedArray<State>,
    /// Slots that neither side uses; those used last are used first.
    free: Vec<u64>,
    /// Those that the program has, empty or in a ring.
    filled: usize,
    /// How many empty ones it is to have.
    empty: usize,
    fill_at: usize,
    ring_at: ByRing<u32>,
    /// Who decides what the program leaves, how far that is done, what it came to for each ring, and what was too much there.
    deciding: Option<Deciding>,
    left_at: u32,
    decided: ByRing<VecDeque<u64>>,
    overflown: ByRing<u64>,
    /// The oldest frame that may wait for a page, and where the next one goes.
    out_from: usize,
    out_at: usize,
}

impl Exchange {
    /// With rings of these lengths, and so many empty slots.
    pub(crate) fn new(
        object: &Object,
        rings: ByRing<u32>,
        empty: u32,
        deciding: Option<Deciding>,
    ) -> Result<Self, Error> {
        let slots = object.mapped_array("slots")?;
        let last = slots.len() as u64;
        let mut this = Self {
            slots,
            states: object.mapped_array("exchanges")?,
            // They are numbered from 1.
            free: (OUT as u64 + 1..=last).rev().collect(),
            filled: 0,
            empty: (empty as usize).min(ARRIVING),
            fill_at: 0,
            ring_at: [0; RINGS as usize],
            deciding,
            left_at: 0,
            decided: Default::default(),
            overflown: Default::default(),
            out_from: 0,
            out_at: 0,
        };
        for (ring, len) in Ring::ALL.into_iter().zip(rings) {
            this.set_length(ring, len);
        }
        if let Some(len) = this.state().and_then(|state| state.ring_len.get(LEFT)) {
            len.store(RING_MAX, Relaxed);
        }
        // What is for no context, of which the kernel gets a sample where the program decides.
        this.set_length(Ring::Signalling, RING_MAX);
        this.refill();
        Ok(this)
    }

    fn state(&self) -> Option<&State> {
        self.states.get(0)
    }

    // ------------------------------------------------------------------ beginning and end

    /// From now on pages of what arrives at `gn` leave through `gb`, which must take redirected frames.
    pub fn open(&self, gn: u32, gb: u32) {
        if let Some(state) = self.state() {
            state.gb.store(gb, Relaxed);
            state.gn.store(gn, Release);
        }
    }

    /// What arrives goes to the sockets again, and nothing leaves in its pages.
    pub fn close(&self) {
        if let Some(state) = self.state() {
            state.gn.store(0, Relaxed);
            state.gb.store(0, Release);
        }
    }

    /// Do pages leave? No longer, once the device has refused one.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.state().is_some_and(|state| state.gb.load(Relaxed) != 0)
    }

    // ------------------------------------------------------------------ arriving

    /// From now on so many packets may wait in a ring; what is more is lost. At least one, and at most as many as there is
    /// room for.
    pub fn set_length(&self, ring: Ring, len: u32) {
        if let Some(to) = self.state().and_then(|state| state.ring_len.get(ring as usize)) {
            to.store(len.clamp(1, RING_MAX), Relaxed);
        }
    }

    /// Packets that wait in a ring, as far as that is decided.
    #[must_use]
    pub fn waiting(&self, ring: Ring) -> u32 {
        let taken = self.ring_at.get(ring as usize).copied().unwrap_or(0);
        let decided = self.decided.get(ring as usize).map_or(0, VecDeque::len);
        self.came(ring as usize).wrapping_sub(taken) + u32::try_from(decided).unwrap_or(u32::MAX)
    }

    /// Packets of which the program has left it to us to decide, and of which nothing is decided yet.
    #[must_use]
    pub fn left(&self) -> u32 {
        self.came(LEFT).wrapping_sub(self.left_at)
    }

    /// How many came to a queue so far.
    fn came(&self, queue: usize) -> u32 {
        let came = self.state().and_then(|state| state.ring_next.get(queue));
        came.map_or(0, |came| came.load(Relaxed))
    }

    /// From now on the program leaves packets of GTPv1 to us; false where it may not, since it runs on several CPUs at a time.
    /// Once and for ever, so that none overtakes another: what waits in a ring came before what is decided.
    pub fn leave(&self) -> bool {
        let leaves = self.state().map(|state| &state.leaves).filter(|_| self.deciding.is_some());
        leaves.into_iter().for_each(|leaves| leaves.store(1, Relaxed));
        leaves.is_some()
    }

    /// Does the program leave packets of GTPv1 to us?
    #[must_use]
    pub fn is_left(&self) -> bool {
        self.state().is_some_and(|state| state.leaves.load(Relaxed) != 0)
    }

    /// Decides all that the program has left.
    pub fn decide(&mut self, prefetch: Prefetch) {
        loop {
            let count = self.expect_left(prefetch);
            let Some(now_ns) = self.deciding.as_ref().filter(|_| count > 0).map(Deciding::now_ns) else {
                return;
            };
            (0..count).for_each(|_| self.decide_next(now_ns));
        }
    }

    /// Asks for the contexts of some of what was left, and says of how many.
    fn expect_left(&self, prefetch: Prefetch) -> u32 {
        let Some(deciding) = &self.deciding else { return 0 };
        let mut count = 0;
        while count < AT_ONCE
            && let Some(number) = self.place_of_left(count).map(|place| place.load(Acquire))
            && number != 0
        {
            if let Some(left) = self.what_is_left(number) {
                deciding.expect(left.name, prefetch);
            }
            count += 1;
        }
        count
    }

    /// Decides one packet, which goes to its ring or makes its slot free.
    fn decide_next(&mut self, now_ns: u64) {
        let Some(place) = self.place_of_left(0) else { return };
        let number = place.load(Relaxed);
        place.store(0, Release);
        self.left_at = self.left_at.wrapping_add(1);
        let decision = self.what_is_left(number).zip(self.deciding.as_ref());
        let metadata = decision.and_then(|(left, deciding)| match deciding.decide(&left, now_ns) {
            Decision::Ring(metadata) => Some(metadata),
            Decision::Whole => Some(left.whole()),
            Decision::Dropped => None,
        });
        let Some(metadata) = metadata.filter(|metadata| self.takes(metadata.ring)) else {
            self.free.push(number);
            self.filled = self.filled.saturating_sub(1);
            return;
        };
        if let Some(slot) = self.slot(number) {
            slot.write(&metadata.to_octets());
        }
        if let Some(ring) = self.decided.get_mut(metadata.ring as usize) {
            ring.push_back(number);
        }
    }

    /// Has a ring room for one more packet? That it had none is counted.
    fn takes(&mut self, ring: Ring) -> bool {
        let len = self.state().and_then(|state| state.ring_len.get(ring as usize));
        let len = len.map_or(0, |len| len.load(Relaxed));
        let takes = self.decided.get(ring as usize).is_some_and(|decided| decided.len() < len as usize);
        if let Some(count) = self.overflown.get_mut(ring as usize) {
            *count += u64::from(!takes);
        }
        takes
    }

    fn place_of_left(&self, behind: u32) -> Option<&AtomicU64> {
        self.state()?.ring.get(LEFT)?.get(self.left_at.wrapping_add(behind) as usize % RING)
    }

    fn what_is_left(&self, number: u64) -> Option<Left> {
        let mut octets = [0; METADATA_LEN];
        self.slot(number)?.read(&mut octets);
        Some(Left::of(&octets))
    }

    fn slot(&self, number: u64) -> Option<&Slot> {
        self.slots.get(usize::try_from(number.checked_sub(1)?).ok()?)
    }

    /// Takes up to `max` packets of a ring, each into the buffer that `buffer` gives it, until that has none.
    pub fn receive(
        &mut self,
        ring: Ring,
        max: usize,
        mut buffer: impl FnMut() -> Option<StaticBuffer>,
        mut take: impl FnMut(Received),
    ) -> usize {
        let mut count = 0;
        while count < max {
            // What waits in the ring came before anything was left to us.
            let in_ring = self.first_in(ring);
            let decided = || self.decided.get(ring as usize)?.front().copied();
            let Some(number) = in_ring.or_else(decided) else { break };
            let Some(buffer) = buffer() else { break };
            if let Some(slot) = self.slot(number) {
                let len = usize::try_from(slot.state.load(Relaxed)).map_or(0, |len| len.min(FRAME_MAX));
                let start = FRAME_SIZE - FRAME_MAX;
                if let Some(to) = buffer.get_mut(start - METADATA_LEN..start + len) {
                    slot.read(to);
                }
                take(Received { buffer, start, end: start + len });
            }
            match in_ring {
                Some(_) => self.pass(ring),
                None => {
                    self.decided.get_mut(ring as usize).and_then(VecDeque::pop_front);
                }
            }
            count += 1;
            self.free.push(number);
        }
        self.filled = self.filled.saturating_sub(count);
        count
    }

    /// The slot of the first packet in a ring of the program.
    fn first_in(&self, ring: Ring) -> Option<u64> {
        let at = *self.ring_at.get(ring as usize)? as usize % RING;
        let number = self.state()?.ring.get(ring as usize)?.get(at)?.load(Acquire);
        (number != 0).then_some(number)
    }

    /// It has been taken.
    fn pass(&mut self, ring: Ring) {
        let Some(at) = self.ring_at.get_mut(ring as usize) else { return };
        let queue = self.states.get(0).and_then(|state| state.ring.get(ring as usize));
        if let Some(place) = queue.and_then(|queue| queue.get(*at as usize % RING)) {
            place.store(0, Release);
        }
        *at = at.wrapping_add(1);
    }

    /// Gives empty slots to the program, until it has as many as it is to have beside those that wait in rings.
    pub fn refill(&mut self) {
        let waiting = Ring::ALL.into_iter().map(|ring| self.waiting(ring)).sum::<u32>() + self.left();
        let Some(state) = self.states.get(0) else { return };
        while self.filled < self.empty + waiting as usize {
            let Some(place) = state.fill.get(self.fill_at % ARRIVING) else { return };
            if place.load(Acquire) != 0 {
                return;
            }
            let Some(number) = self.free.pop() else { return };
            place.store(number, Release);
            self.fill_at += 1;
            self.filled += 1;
        }
    }

    // ------------------------------------------------------------------ leaving

    /// Is there room for one more frame that waits for a page?
    #[must_use]
    pub fn has_room(&mut self) -> bool {
        let is_full = self.out_at - self.oldest() >= OUT;
        !is_full && self.state_of(self.out_at) == Some(EMPTY)
    }

    /// Puts an Ethernet frame behind the others that wait for a page; false where there is no room for it.
    #[must_use]
    pub fn put(&mut self, frame: &[u8]) -> bool {
        if frame.is_empty() || frame.len() > FRAME_MAX || !self.has_room() {
            return false;
        }
        let Some(slot) = self.slots.get(self.out_at % OUT) else { return false };
        slot.write(frame);
        slot.state.store(frame.len() as u64, Release);
        self.out_at += 1;
        true
    }

    /// True where no frame waits for a page.
    #[must_use]
    pub fn is_clear(&mut self) -> bool {
        self.oldest() == self.out_at
    }

    /// The oldest frame that still waits, or where the next one goes.
    fn oldest(&mut self) -> usize {
        while self.out_from < self.out_at && matches!(self.state_of(self.out_from), Some(EMPTY | TAKEN)) {
            self.out_from += 1;
        }
        self.out_from
    }

    fn state_of(&self, position: usize) -> Option<u64> {
        self.slots.get(position % OUT).map(|slot| slot.state.load(Acquire))
    }

    /// Where the next frame will stand among all that were put.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.out_at
    }

    /// Takes back those of the frames before a position for which no page has come, in their order, each into the buffer that
    /// `buffer` gives it, from its first octet on; `take` gets their lengths too. Those stay for which there is no buffer.
    pub fn take_back(
        &mut self,
        before: usize,
        mut buffer: impl FnMut() -> Option<StaticBuffer>,
        mut take: impl FnMut(StaticBuffer, usize),
    ) {
        while self.out_from < before.min(self.out_at) {
            let Some(slot) = self.slots.get(self.out_from % OUT) else { return };
            let state = slot.state.load(Acquire);
            // The program has come as far as this at the least, or will; what it has in its hands leaves.
            if state != EMPTY && state != TAKEN && state != BUSY {
                let Some(to) = buffer() else { return };
                if slot.state.compare_exchange(state, BUSY, AcqRel, Relaxed).is_ok() {
                    let len = usize::try_from(state).map_or(0, |len| len.min(FRAME_MAX));
                    if let Some(to) = to.get_mut(..len) {
                        slot.read(to);
                    }
                    slot.state.store(TAKEN, Release);
                    take(to, len);
                } else {
                    take(to, 0);
                }
            }
            self.out_from += 1;
        }
    }

    // ------------------------------------------------------------------ watching

    /// Frames that left in pages of what arrived.
    #[must_use]
    pub fn carried(&self) -> u64 {
        self.state().map_or(0, |state| state.carried.load(Relaxed))
    }

    /// Of these, those that the device refused.
    #[must_use]
    pub fn refused(&self) -> u32 {
        self.state().map_or(0, |state| state.refused.load(Relaxed))
    }

    /// What a ring has lost, as a socket's statistics would say it; the lack of empty slots, and what was lost before anybody knew its
    /// ring, stand with the last one.
    #[must_use]
    pub fn statistics(&self, ring: Ring) -> Statistics {
        let Some(state) = self.state() else { return Statistics::default() };
        let full = |queue: usize| state.ring_full.get(queue).map_or(0, |full| full.load(Relaxed));
        let (lacked, left) =
            if ring == Ring::BestEffort { (state.fill_empty.load(Relaxed), full(LEFT)) } else { (0, 0) };
        let overflown = self.overflown.get(ring as usize).copied().unwrap_or(0);
        Statistics {
            rx_ring_full: full(ring as usize) + left + overflown,
            rx_fill_ring_empty: lacked,
            ..Statistics::default()
        }
    }
}
