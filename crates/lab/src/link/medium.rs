//! One medium for both directions, as wireless LAN has it: one frame at a time leaves, whoever sends it.
//!
//! | | |
//! |---|---|
//! | transmission | a constant for each frame, and (octets + overhead) · 8 / rate |
//! | who is next | the end that has not sent last, where frames of both wait: each has the same chance in the long run (IEEE 802.11-1999 clause 9.2), and here they take turns |
//! | drop-tail | as in [`super::model`], for each end on its own |
//!
//! Nobody collides. Delay, jitter and loss come behind the departure, as in [`super::model`].

use gannet_machine::time::{Duration, Instant};
use std::collections::VecDeque;

/// A slot, SIFS, and PLCP preamble and header in their long form, in µs (IEEE 802.11b-1999 clause 18.3.3).
const SLOT_US: u64 = 20;
const SIFS_US: u64 = 10;
const PLCP_US: u64 = 192;
/// The least contention window in slots (the same): a station waits half of it in the mean.
const CW_MIN: u64 = 31;
/// An acknowledgement has 14 octets, at 2 Mbit/s behind its PLCP header (clauses 7.2.1.3 and 9.6).
const ACK_US: u64 = PLCP_US + 14 * 8 / 2;

/// What a frame of 802.11b takes besides its octets: DIFS, the mean back-off, PLCP preamble and header, SIFS and acknowledgement.
pub const WLAN_PER_FRAME: Duration =
    Duration((SIFS_US + 2 * SLOT_US + PLCP_US + SIFS_US + ACK_US) * 1000 + CW_MIN * SLOT_US * 1000 / 2);

/// Octets of a frame of 802.11 beside those of a frame of Ethernet without FCS: header (24), LLC and SNAP (8) and FCS (4), less
/// the header of Ethernet (14).
pub const WLAN_OVERHEAD: u32 = 24 + 8 + 4 - 14;

/// What it is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shared {
    /// Bits a second.
    pub rate: u64,
    /// Octets that each frame takes besides its own.
    pub overhead: u32,
    /// Time that each frame takes besides its octets.
    pub per_frame: Duration,
    /// Octets that may wait at each end.
    pub limit: Option<u64>,
}

/// The frames of one end that wait.
#[derive(Debug)]
struct Waiting<T> {
    frames: VecDeque<(Instant, u32, T)>,
    octets: u64,
    refused: u64,
}

/// A frame that leaves.
#[derive(Debug, PartialEq, Eq)]
pub struct Departure<T> {
    /// Which end sends it.
    pub end: usize,
    /// When all of it has left.
    pub at: Instant,
    /// Its octets.
    pub octets: u32,
    /// The frame.
    pub frame: T,
}

/// The medium with the frames `T` that wait for it.
#[derive(Debug)]
pub struct Medium<T> {
    shared: Shared,
    ends: [Waiting<T>; 2],
    free_at: Instant,
    /// What the last division by the rate has left, in bits · ns / s.
    remainder: u64,
    /// Who has sent last.
    last: usize,
}

impl<T> Medium<T> {
    /// An idle one.
    #[must_use]
    pub fn new(shared: Shared) -> Self {
        let none = || Waiting { frames: VecDeque::new(), octets: 0, refused: 0 };
        Self { shared, ends: [none(), none()], free_at: Instant::ZERO, remainder: 0, last: 1 }
    }

    /// A frame of `octets` octets comes at `at`. Frames of an end come in the order of their times.
    pub fn enter(&mut self, end: usize, at: Instant, octets: u32, frame: T) {
        let Some(waiting) = self.ends.get_mut(end) else { return };
        if self.shared.limit.is_some_and(|limit| waiting.octets + u64::from(octets) > limit) {
            waiting.refused += 1;
            return;
        }
        waiting.octets += u64::from(octets);
        waiting.frames.push_back((at, octets, frame));
    }

    /// When the next frame begins to leave.
    #[must_use]
    pub fn next_start(&self) -> Option<Instant> {
        let heads = self.ends.iter().filter_map(|waiting| waiting.frames.front().map(|(at, ..)| *at));
        heads.min().map(|at| at.max(self.free_at))
    }

    /// Takes the next frame that has begun to leave by `now`.
    pub fn depart(&mut self, now: Instant) -> Option<Departure<T>> {
        let start = self.next_start().filter(|start| *start <= now)?;
        let waits = |end: usize| {
            self.ends.get(end).and_then(|waiting| waiting.frames.front()).is_some_and(|(at, ..)| *at <= start)
        };
        let end = if waits(1 - self.last) { 1 - self.last } else { self.last };
        let waiting = self.ends.get_mut(end)?;
        let (_, octets, frame) = waiting.frames.pop_front()?;
        waiting.octets -= u64::from(octets);
        self.last = end;
        let bits = (u64::from(octets) + u64::from(self.shared.overhead)) * 8;
        let dividend = bits * 1_000_000_000 + self.remainder;
        self.remainder = dividend % self.shared.rate;
        self.free_at = start + self.shared.per_frame + Duration(dividend / self.shared.rate);
        Some(Departure { end, at: self.free_at, octets, frame })
    }

    /// Frames of an end that were refused, and that wait.
    #[must_use]
    pub fn counts(&self, end: usize) -> (u64, u64) {
        self.ends.get(end).map_or((0, 0), |waiting| (waiting.refused, waiting.frames.len() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Instant = Instant(1_000_000_000);
    const SHARED: Shared =
        Shared { rate: 8_000_000, overhead: 0, per_frame: Duration::from_micros(500), limit: Some(3000) };

    fn drain(medium: &mut Medium<u32>) -> Vec<(usize, u64, u32)> {
        let mut next = || medium.depart(Instant(u64::MAX));
        core::iter::from_fn(|| next().map(|of| (of.end, of.at.since(START).0 / 1000, of.frame))).collect()
    }

    #[test]
    fn a_frame_of_802_11b_takes_what_the_standard_adds_up_to() {
        // 50 DIFS, 310 back-off, 192 PLCP, 10 SIFS, 248 acknowledgement.
        assert_eq!(WLAN_PER_FRAME, Duration::from_micros(810));
    }

    #[test]
    fn both_ends_take_turns_and_one_frame_leaves_at_a_time() {
        let mut medium = Medium::new(SHARED);
        // A thousand octets take 1 ms and the constant.
        for frame in 0..3 {
            medium.enter(0, START, 1000, frame);
        }
        medium.enter(1, START + Duration::from_micros(100), 1000, 10);
        medium.enter(1, START + Duration::from_micros(100), 1000, 11);
        assert_eq!(medium.next_start(), Some(START));
        assert_eq!(medium.depart(Instant(START.0 - 1)), None);
        let all = drain(&mut medium);
        assert_eq!(all, [(0, 1500, 0), (1, 3000, 10), (0, 4500, 1), (1, 6000, 11), (0, 7500, 2)]);
    }

    #[test]
    fn a_frame_that_comes_later_does_not_leave_earlier() {
        let mut medium = Medium::new(SHARED);
        medium.enter(0, START, 1000, 1);
        medium.enter(0, START, 1000, 2);
        // It comes when the first has left, and the second has just begun.
        medium.enter(1, START + Duration::from_micros(1501), 1000, 3);
        assert_eq!(drain(&mut medium), [(0, 1500, 1), (0, 3000, 2), (1, 4500, 3)]);
    }

    #[test]
    fn each_end_has_room_of_its_own() {
        let mut medium = Medium::new(SHARED);
        for frame in 0..5 {
            medium.enter(0, START, 1000, frame);
        }
        medium.enter(1, START, 1000, 9);
        assert_eq!((medium.counts(0), medium.counts(1)), ((2, 3), (0, 1)));
        assert_eq!(drain(&mut medium).len(), 4);
    }
}
