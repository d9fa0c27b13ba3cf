//! When blocks are on the air: the 52-multiframe of a PDCH, 05.02 (45.002) clause 6.3.2 and table 6.
//!
//! A TDMA frame lasts 60/13 ms (05.10 [45.010] clause 5.1). Of 52 frames, 48 carry the blocks B0 to B11, four frames each; frames 12 and 38 are for
//! PTCCH and frames 25 and 51 are idle. So 12 blocks pass in 240 ms, on every PDCH of a cell at the same time, and
//! nothing needs to tick: [`BlockPeriod`] is a number from which frame and time follow, and back.

use gannet_machine::time::{Duration, Instant};

/// Frames of a hyperframe: frame numbers are below this (05.02 clause 4.3.3).
pub const HYPERFRAME: u32 = 2048 * 26 * 51;
/// Frames of a multiframe of a PDCH.
pub const MULTIFRAME: u32 = 52;
/// Blocks of a multiframe of a PDCH.
pub const BLOCKS: u32 = 12;
/// The frames in which each block begins.
const FIRST_FRAMES: [u8; BLOCKS as usize] = [0, 4, 8, 13, 17, 21, 26, 30, 34, 39, 43, 47];
/// Nanoseconds of 13 frames, which is the smallest whole number of them.
const THIRTEEN_FRAMES_NS: u64 = 60_000_000;

/// When the TDMA frame begins that is the `frame`-th since the run began.
#[must_use]
pub const fn frame_start(frame: u64) -> Instant {
    let ns = frame / 13 * THIRTEEN_FRAMES_NS + frame % 13 * THIRTEEN_FRAMES_NS / 13;
    Instant(ns)
}

/// Which TDMA frame is on the air, counted since the run began.
#[must_use]
pub const fn frame_at(now: Instant) -> u64 {
    let whole = now.0 / THIRTEEN_FRAMES_NS;
    let ns = now.0 % THIRTEEN_FRAMES_NS;
    // The start of a frame is rounded down to whole nanoseconds, so the division is rounded up again.
    whole * 13 + (ns * 13 + 12) / THIRTEEN_FRAMES_NS
}

/// What a frame of the multiframe is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameUse {
    /// Burst 0 to 3 of a block.
    Block {
        /// B0 to B11.
        block: u8,
        /// Its burst.
        burst: u8,
    },
    /// PTCCH: timing advance.
    Ptcch,
    /// Idle: the mobile measures.
    Idle,
}

impl FrameUse {
    /// Of a frame number.
    #[must_use]
    pub const fn of(frame: u32) -> Self {
        let frame = frame % MULTIFRAME;
        let (quarter, place) = (frame / 13, frame % 13);
        match (place, quarter) {
            (12, 0 | 2) => Self::Ptcch,
            (12, _) => Self::Idle,
            _ => Self::Block { block: low_octet(quarter * 3 + place / 4), burst: low_octet(place % 4) },
        }
    }
}

/// A block period, counted since the run began with B0 of frame number 0. It does not wrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BlockPeriod(pub u64);

impl BlockPeriod {
    /// The first period that begins at `now` or later.
    #[must_use]
    pub fn at_or_after(now: Instant) -> Self {
        let before = Self::at_or_before(now);
        if before.start() < now { Self(before.0 + 1) } else { before }
    }

    /// The last period that began at `now` or earlier. Its block may be over: a PTCCH or idle frame lies behind every third.
    #[must_use]
    pub fn at_or_before(now: Instant) -> Self {
        let frame = frame_at(now);
        let place = low_word(frame % u64::from(MULTIFRAME));
        let behind = match FrameUse::of(place) {
            FrameUse::Block { block, .. } => u64::from(block),
            FrameUse::Ptcch | FrameUse::Idle => u64::from(place / 13 * 3 + 2),
        };
        Self(frame / u64::from(MULTIFRAME) * u64::from(BLOCKS) + behind)
    }

    /// B0 to B11.
    #[must_use]
    pub const fn block(self) -> u8 {
        low_octet(low_word(self.0 % BLOCKS as u64))
    }

    /// Its first TDMA frame, counted since the run began.
    #[must_use]
    pub fn first_frame(self) -> u64 {
        let first = FIRST_FRAMES.get(usize::from(self.block())).copied().unwrap_or_default();
        self.0 / u64::from(BLOCKS) * u64::from(MULTIFRAME) + u64::from(first)
    }

    /// Its frame number, FN: that of its first frame.
    #[must_use]
    pub fn frame_number(self) -> u32 {
        low_word(self.first_frame() % u64::from(HYPERFRAME))
    }

    /// When its first frame begins.
    #[must_use]
    pub fn start(self) -> Instant {
        frame_start(self.first_frame())
    }

    /// When its fourth frame has ended: then a receiver has the block.
    #[must_use]
    pub fn end(self) -> Instant {
        frame_start(self.first_frame() + 4)
    }

    /// The period `blocks` later.
    #[must_use]
    pub const fn after(self, blocks: u64) -> Self {
        Self(self.0.saturating_add(blocks))
    }

    /// The uplink period that a poll in this downlink period reserves (04.60 [44.060] clause 10.4.5): the block of frame N + 13, N + 17 or
    /// 18, N + 21 or 22, or N + 26. These are 3 to 6 blocks later. Of `rrbp` two bits count.
    #[must_use]
    pub const fn reserved(self, rrbp: u8) -> Self {
        self.after(3 + (rrbp & 3) as u64)
    }

    /// The RRBP that reserves `uplink` by a poll in this period; `None` where none does.
    #[must_use]
    pub fn rrbp_for(self, uplink: Self) -> Option<u8> {
        (0..4).find(|rrbp| self.reserved(*rrbp) == uplink)
    }

    /// The period whose blocks are on the air in frame `frame_number`, the one closest behind `self`; `None` for a frame without blocks.
    #[must_use]
    pub fn next_with_frame(self, frame_number: u32) -> Option<Self> {
        let FrameUse::Block { burst, .. } = FrameUse::of(frame_number) else { return None };
        let first = (frame_number % HYPERFRAME) - u32::from(burst);
        let ahead = (first + HYPERFRAME - self.frame_number()) % HYPERFRAME;
        Some(Self::at_or_before(frame_start(self.first_frame() + u64::from(ahead))))
    }
}

const fn low_word(value: u64) -> u32 {
    (value & 0xffff_ffff) as u32
}

const fn low_octet(value: u32) -> u8 {
    (value & 0xff) as u8
}

/// Time that so many block periods take on the average: 20 ms each.
#[must_use]
pub const fn blocks_last(blocks: u64) -> Duration {
    Duration::from_millis(blocks.saturating_mul(20))
}

/// A starting time as messages say it: 04.08 (44.018) clause 10.5.2.38. It names a frame within 42432 frames, about 196 s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartingTime {
    /// T1': (FN div 1326) mod 32.
    pub t1: u8,
    /// T2: FN mod 26.
    pub t2: u8,
    /// T3: FN mod 51.
    pub t3: u8,
}

impl StartingTime {
    /// Frames after which starting times repeat.
    pub const CYCLE: u32 = 32 * 26 * 51;

    /// Of a frame number.
    #[must_use]
    pub const fn of(frame_number: u32) -> Self {
        Self {
            t1: (frame_number / 1326 % 32) as u8,
            t2: (frame_number % 26) as u8,
            t3: (frame_number % 51) as u8,
        }
    }

    /// The frame number that is meant, seen from frame `now`: within 31623 frames ahead it is still to come, otherwise it is over
    /// and the number is that of the past (04.08 clause 10.5.2.38). `None` where a field has no such value.
    #[must_use]
    pub fn resolve(self, now: u32) -> Option<u32> {
        const AHEAD: u32 = 31_623;
        if self.t1 >= 32 || self.t2 >= 26 || self.t3 >= 51 {
            return None;
        }
        let (t2, t3) = (u32::from(self.t2), u32::from(self.t3));
        // FN mod 1326 by the remainder theorem, as the clause has it: 51 ((T3 - T2) mod 26) + T3.
        let low = 51 * ((t3 + 26 - t2) % 26) + t3;
        let in_cycle = u32::from(self.t1) * 1326 + low;
        let now = now % HYPERFRAME;
        let ahead = (in_cycle + Self::CYCLE - now % Self::CYCLE) % Self::CYCLE;
        let back = if ahead > AHEAD { Self::CYCLE } else { 0 };
        Some((now + ahead + HYPERFRAME - back) % HYPERFRAME)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_multiframe_has_12_blocks_in_240_ms() {
        let uses: Vec<FrameUse> = (0..MULTIFRAME).map(FrameUse::of).collect();
        let mut expected = Vec::new();
        for block in 0..12 {
            expected.extend((0..4).map(|burst| FrameUse::Block { block, burst }));
            match block {
                2 | 8 => expected.push(FrameUse::Ptcch),
                5 | 11 => expected.push(FrameUse::Idle),
                _ => {}
            }
        }
        assert_eq!(uses, expected);
        for multiframe in [0, 1, 1000, 52_223, 52_224, 15_000_000] {
            let first = BlockPeriod(12 * multiframe);
            assert_eq!(first.start(), Instant(240_000_000 * multiframe));
            assert_eq!(first.frame_number(), u32::try_from(multiframe % 52_224 * 52).unwrap());
            for block in 0..12 {
                let period = first.after(u64::from(block));
                let is_first = FrameUse::Block { block, burst: 0 };
                assert_eq!((FrameUse::of(period.frame_number()), period.block()), (is_first, block));
            }
        }
        assert_eq!(BlockPeriod(3).start(), Instant(60_000_000));
        assert_eq!(BlockPeriod(1).start(), Instant(18_461_538));
        assert_eq!(BlockPeriod(0).end(), BlockPeriod(1).start());
        assert_eq!(blocks_last(12), Duration::from_millis(240));
    }

    #[test]
    fn time_and_frames_agree() {
        for frame in (0..2_000).chain(700_000_000_000..700_000_000_100) {
            let start = frame_start(frame);
            assert_eq!(frame_at(start), frame);
            assert_eq!(frame_at(Instant(start.0 + 4_615_383)), frame);
            if frame > 0 {
                assert_eq!(frame_at(Instant(start.0 - 1)), frame - 1);
            }
        }
    }

    #[test]
    fn periods_are_found_by_time() {
        for number in 0..100 {
            let period = BlockPeriod(number);
            let (start, next) = (period.start(), period.after(1));
            assert_eq!(BlockPeriod::at_or_after(start), period);
            assert_eq!(BlockPeriod::at_or_before(start), period);
            for later in [Instant(start.0 + 1), period.end(), Instant(next.start().0 - 1)] {
                assert_eq!(BlockPeriod::at_or_after(later), next, "{later}");
                let before = if later == next.start() { next } else { period };
                assert_eq!(BlockPeriod::at_or_before(later), before, "{later}");
            }
        }
    }

    #[test]
    fn polls_reserve_the_frames_of_the_table() {
        for number in 0..1000 {
            let period = BlockPeriod(HYPERFRAME as u64 / 52 * 12 - 500 + number);
            for (rrbp, frames) in [(0, 13..=13), (1, 17..=18), (2, 21..=22), (3, 26..=26)] {
                let reserved = period.reserved(rrbp);
                assert!(frames.contains(&(reserved.first_frame() - period.first_frame())));
                assert_eq!(period.rrbp_for(reserved), Some(rrbp));
            }
            assert_eq!(period.rrbp_for(period.after(2)), None);
            assert_eq!(period.rrbp_for(period.after(7)), None);
        }
    }

    #[test]
    fn frame_numbers_name_the_next_period_with_them() {
        let now = BlockPeriod(u64::from(HYPERFRAME / 52 * 12) - 7);
        for ahead in 0..3000 {
            let period = now.after(ahead);
            for burst in 0..4 {
                assert_eq!(now.next_with_frame((period.frame_number() + burst) % HYPERFRAME), Some(period));
            }
        }
        for frame in [12, 25, 38, 51] {
            assert_eq!(now.next_with_frame(frame), None);
        }
    }

    #[test]
    fn starting_times_are_resolved_near_now() {
        for now in [0, 5, 42_431, 42_432, 1_000_000, HYPERFRAME - 1] {
            for ahead in [0, 1, 2, 50, 1326, 20_000, 31_623] {
                let frame = (now + ahead) % HYPERFRAME;
                assert_eq!(StartingTime::of(frame).resolve(now), Some(frame));
            }
            for behind in [1, 2, 1326, 10_808] {
                let frame = (now + HYPERFRAME - behind) % HYPERFRAME;
                assert_eq!(StartingTime::of(frame).resolve(now), Some(frame));
            }
        }
        for (t1, t2, t3) in [(32, 0, 0), (0, 26, 0), (0, 0, 51)] {
            assert_eq!(StartingTime { t1, t2, t3 }.resolve(0), None);
        }
    }
}
