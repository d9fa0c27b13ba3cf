//! Reassembly in unacknowledged mode (04.65 clause 6.7 [44.065]).
//!
//! One table for all mobiles of a node. An N-PDU in one segment never enters it. Segments that come in order are
//! appended to the first one's frame at once; those that come early are held until the gap before them is filled. The
//! limit of the table, its expiry and its eviction are one: entries stand in the order of their beginning, and the
//! oldest goes when it is too old or when there is no room.

use super::N_PDU_MAX;
use crate::about::About as _;
use foldhash::fast::FixedState;
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::timers::{Deadlines, TimerKey, Timers};
use gannet_wire::id::{Imsi, Nsapi};
use gannet_wire::sndcp::{Compression, SEGMENTS_MAX, UNITDATA_MODULUS};
use std::collections::HashMap;

/// An N-PDU number this far behind the present one is late, not new.
const LATE: u16 = 32;

/// Whose segments belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReassemblyKey {
    /// The mobile's slot.
    pub slot: u32,
    /// The PDP context.
    pub nsapi: Nsapi,
}

/// Where a segment belongs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    pub(super) number: u16,
    pub(super) segment: u8,
    pub(super) more: bool,
    /// What the first segment, and no other, says.
    pub(super) compression: Option<Compression>,
}

/// An N-PDU whose segments are joined.
#[derive(Debug)]
pub(super) struct Whole {
    pub(super) frame: Frame,
    pub(super) compression: Compression,
}

/// One N-PDU that is not whole yet.
#[derive(Debug)]
struct Entry {
    key: ReassemblyKey,
    whose: Option<Imsi>,
    deadline: Instant,
    number: u16,
    /// How many segments are in `front`.
    joined: u8,
    /// The number of the last segment, once it has come.
    last: Option<u8>,
    front: Option<Frame>,
    compression: Compression,
    early: [Option<Frame>; SEGMENTS_MAX],
    older: Option<u32>,
    newer: Option<u32>,
}

gannet_machine::timer_names! {
    /// Our own: 04.65 clause 6.7 leaves it to each end how long segments wait for others.
    enum ReassemblyTimer {
        Oldest = "the oldest N-PDU that is not whole",
    }
}

/// N-PDUs that wait for more of their segments.
#[derive(Debug)]
pub struct Reassembler {
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    index: HashMap<ReassemblyKey, u32, FixedState>,
    oldest: Option<u32>,
    newest: Option<u32>,
    timeout: Duration,
    deadlines: Deadlines<ReassemblyTimer>,
}

impl Reassembler {
    /// What comes from now on has so long to become whole.
    pub const fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    /// Room for `limit` N-PDUs at a time, allocated now; each has `timeout` to become whole.
    #[must_use]
    pub fn new(limit: usize, timeout: Duration) -> Self {
        let limit = u32::try_from(limit).unwrap_or(u32::MAX).max(1);
        Self {
            entries: (0..limit).map(|_| None).collect(),
            free: (0..limit).rev().collect(),
            // Twice the room: a table that is never more than half full need not grow to get rid of its tombstones.
            index: HashMap::with_capacity_and_hasher(limit as usize * 2, FixedState::with_seed(0)),
            oldest: None,
            newest: None,
            timeout,
            deadlines: Deadlines::default(),
        }
    }

    /// N-PDUs that wait now.
    #[must_use]
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// True where none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Asks for the wake-up that leads to [`Reassembler::wake`]. To be called after every [`super::receive`].
    pub fn arm(&mut self, key: TimerKey, timers: &mut Timers) {
        match self.oldest.and_then(|at| self.entry(at)).map(|entry| entry.deadline) {
            Some(deadline) => self.deadlines.set(ReassemblyTimer::Oldest, deadline),
            None => self.deadlines.clear(ReassemblyTimer::Oldest),
        }
        self.deadlines.arm(key, timers);
    }

    /// Gives up what is too old.
    pub fn wake(&mut self, cx: &mut Context<'_>) {
        self.deadlines.woken(cx.now);
        while let Some(at) = self.oldest {
            if self.entry(at).is_some_and(|entry| entry.deadline > cx.now) {
                break;
            }
            self.give_up(cx, at, Drop::SndcpTimeout);
        }
    }

    /// The PDP context ends: what waits for it is dropped.
    pub fn forget(&mut self, cx: &mut Context<'_>, key: ReassemblyKey) {
        if let Some(at) = self.index.get(&key).copied() {
            self.give_up(cx, at, Drop::SndcpIncomplete);
        }
    }

    /// The mobile goes: what waits for any of its PDP contexts is dropped.
    pub fn forget_mobile(&mut self, cx: &mut Context<'_>, slot: u32) {
        for nsapi in 5..16 {
            self.forget(cx, ReassemblyKey { slot, nsapi: Nsapi(nsapi) });
        }
    }

    /// Takes one segment; gives the N-PDU when it is whole. An error is the name under which this segment, or with
    /// it the N-PDU, is dropped.
    pub(super) fn segment(
        &mut self,
        cx: &mut Context<'_>,
        key: ReassemblyKey,
        whose: Option<Imsi>,
        segment: Segment,
        frame: Frame,
    ) -> Result<Option<Whole>, Drop> {
        let present = if self.index.is_empty() { None } else { self.index.get(&key).copied() };
        let present = match present.and_then(|at| Some((at, self.entry(at)?.number))) {
            Some((at, number)) if number != segment.number => {
                let behind = number.wrapping_sub(segment.number) % UNITDATA_MODULUS;
                if behind <= LATE {
                    return self.late(segment, frame);
                }
                self.give_up(cx, at, Drop::SndcpIncomplete);
                None
            }
            same => same.map(|(at, _)| at),
        };
        let at = match present {
            Some(at) => at,
            None if segment.segment == 0 && !segment.more => return whole(segment, frame).map(Some),
            None => self.begin(cx, key, whose, segment.number)?,
        };
        self.join(at, segment, frame)
    }

    /// A segment of an N-PDU before the present one: only one that is whole in itself is of use.
    fn late(&self, segment: Segment, frame: Frame) -> Result<Option<Whole>, Drop> {
        if segment.segment == 0 && !segment.more {
            whole(segment, frame).map(Some)
        } else {
            Err(Drop::SndcpLate)
        }
    }

    fn join(&mut self, at: u32, segment: Segment, frame: Frame) -> Result<Option<Whole>, Drop> {
        let Some(entry) = self.entry_mut(at) else { return Err(Drop::SndcpIncomplete) };
        match entry.take(segment, frame) {
            Ok(false) => Ok(None),
            Ok(true) => Ok(self.remove(at).and_then(|entry| {
                let compression = entry.compression;
                entry.front.map(|frame| Whole { frame, compression })
            })),
            Err(Drop::SndcpDuplicate) => Err(Drop::SndcpDuplicate),
            Err(drop) => {
                self.remove(at);
                Err(drop)
            }
        }
    }

    fn entry(&self, at: u32) -> Option<&Entry> {
        self.entries.get(at as usize)?.as_ref()
    }

    fn entry_mut(&mut self, at: u32) -> Option<&mut Entry> {
        self.entries.get_mut(at as usize)?.as_mut()
    }

    fn begin(
        &mut self,
        cx: &mut Context<'_>,
        key: ReassemblyKey,
        whose: Option<Imsi>,
        number: u16,
    ) -> Result<u32, Drop> {
        if self.free.is_empty()
            && let Some(oldest) = self.oldest
        {
            self.give_up(cx, oldest, Drop::SndcpTableFull);
        }
        let at = self.free.pop().ok_or(Drop::SndcpTableFull)?;
        let entry = Entry {
            key,
            whose,
            deadline: cx.now + self.timeout,
            number,
            joined: 0,
            last: None,
            front: None,
            compression: Compression::NONE,
            early: [const { None }; SEGMENTS_MAX],
            older: self.newest,
            newer: None,
        };
        if let Some(place) = self.entries.get_mut(at as usize) {
            *place = Some(entry);
        }
        match self.newest.and_then(|newest| self.entry_mut(newest)) {
            Some(before) => before.newer = Some(at),
            None => self.oldest = Some(at),
        }
        self.newest = Some(at);
        self.index.insert(key, at);
        Ok(at)
    }

    fn give_up(&mut self, cx: &mut Context<'_>, at: u32, drop: Drop) {
        if let Some(entry) = self.remove(at) {
            cx.drop_of(drop, entry.whose);
        }
    }

    fn remove(&mut self, at: u32) -> Option<Entry> {
        let entry = self.entries.get_mut(at as usize)?.take()?;
        match entry.older.and_then(|older| self.entry_mut(older)) {
            Some(older) => older.newer = entry.newer,
            None => self.oldest = entry.newer,
        }
        match entry.newer.and_then(|newer| self.entry_mut(newer)) {
            Some(newer) => newer.older = entry.older,
            None => self.newest = entry.older,
        }
        self.index.remove(&entry.key);
        self.free.push(at);
        Some(entry)
    }
}

/// An N-PDU in one segment.
fn whole(segment: Segment, frame: Frame) -> Result<Whole, Drop> {
    let compression = segment.compression.unwrap_or_default();
    if frame.len() > N_PDU_MAX { Err(Drop::SndcpTooLong) } else { Ok(Whole { frame, compression }) }
}

impl Entry {
    /// Takes a segment; true when the N-PDU is whole. After an error other than `SndcpDuplicate` it never will be.
    fn take(&mut self, segment: Segment, frame: Frame) -> Result<bool, Drop> {
        let n = segment.segment;
        let place = self.early.get_mut(usize::from(n)).ok_or(Drop::SndcpMalformed)?;
        if n < self.joined || place.is_some() {
            return Err(Drop::SndcpDuplicate);
        }
        *place = Some(frame);
        self.compression = segment.compression.unwrap_or(self.compression);
        if !segment.more {
            if self.last.is_some() {
                return Err(Drop::SndcpMalformed);
            }
            self.last = Some(n);
        }
        let end = self.last.map_or(SEGMENTS_MAX, |last| usize::from(last) + 1);
        if self.early.iter().skip(end).any(Option::is_some) || usize::from(self.joined) > end {
            return Err(Drop::SndcpMalformed);
        }
        while let Some(next) = self.early.get_mut(usize::from(self.joined)).and_then(Option::take) {
            self.append(next)?;
            self.joined += 1;
        }
        Ok(self.last.is_some_and(|last| self.joined == last + 1))
    }

    fn append(&mut self, next: Frame) -> Result<(), Drop> {
        let Some(front) = &mut self.front else {
            self.front = Some(next);
            return Ok(());
        };
        if front.len() + next.len() > N_PDU_MAX {
            return Err(Drop::SndcpTooLong);
        }
        front.append(&next).then_some(()).ok_or(Drop::SndcpNoRoom)
    }
}

#[cfg(test)]
mod tests;
