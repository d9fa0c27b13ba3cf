//! The common control channels of a cell: when a random access burst and a block of AGCH or PCH go.
//!
//! One CCCH on timeslot 0 (05.02 clause 7 [45.002], table 3). Either it has the channel alone: each TDMA frame has a place for an access
//! burst uplink, and each 51-multiframe has nine blocks downlink. Or it shares the channel with SDCCHs: then 27 frames
//! have such a place, and there are three blocks.

use super::multiframe::{frame_at, frame_start};
use gannet_machine::rng::Rng;
use gannet_machine::time::Instant;

/// Frames of the multiframe of control channels.
pub(super) const MULTIFRAME: u64 = 51;
/// Frames of a block.
const BLOCK_FRAMES: u64 = 4;

/// What the channel of the CCCH carries besides (04.18 clause 10.5.2.11 [44.018], CCCH-CONF).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// Nothing: BCCH and CCCH.
    #[default]
    Uncombined,
    /// Four SDCCHs: BCCH, CCCH and SDCCH/4.
    Combined,
}

/// The frames of the 51-multiframe in which a shared channel has places for access bursts.
const SHARED_RACH: [u64; 27] = [
    4, 5, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 45, 46,
];

impl Layout {
    /// The first frame of each CCCH block in the 51-multiframe.
    #[must_use]
    pub const fn blocks(self) -> &'static [u64] {
        match self {
            Self::Uncombined => &[6, 12, 16, 22, 26, 32, 36, 42, 46],
            Self::Combined => &[6, 12, 16],
        }
    }

    /// The first frame of the first CCCH block that begins at this time or later.
    #[must_use]
    pub fn block_from(self, at: Instant) -> u64 {
        let frame = frame_from(at);
        let (multiframe, within) = (frame / MULTIFRAME, frame % MULTIFRAME);
        let blocks = self.blocks();
        let begins = |multiframe: u64, block: &u64| multiframe * MULTIFRAME + *block;
        match blocks.iter().find(|block| **block >= within) {
            Some(block) => begins(multiframe, block),
            None => blocks.first().map_or(frame, |block| begins(multiframe + 1, block)),
        }
    }

    /// The frame of the `count`-th place for an access burst behind this frame, with 1 for the next.
    #[must_use]
    pub fn rach_after(self, frame: u64, count: u64) -> u64 {
        if self == Self::Uncombined {
            return frame + count;
        }
        let per_multiframe = SHARED_RACH.len() as u64;
        let passed = SHARED_RACH.iter().filter(|place| **place <= frame % MULTIFRAME).count() as u64;
        let number = frame / MULTIFRAME * per_multiframe + passed + count.max(1) - 1;
        let within = SHARED_RACH.iter().zip(0..).find(|(_, at)| *at == number % per_multiframe);
        number / per_multiframe * MULTIFRAME + within.map_or(0, |(place, _)| *place)
    }
}

/// The first frame that begins at this time or later.
#[must_use]
pub fn frame_from(at: Instant) -> u64 {
    let frame = frame_at(at);
    if frame_start(frame) < at { frame + 1 } else { frame }
}

/// When the block that begins with this frame has been received.
#[must_use]
pub const fn block_ends(first: u64) -> Instant {
    frame_start(first + BLOCK_FRAMES)
}

/// What the cell broadcasts of random access (04.18 clause 10.5.2.29 [44.018], RACH Control Parameters). Times are counted in places for
/// access bursts, of which a shared channel has fewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RachControl {
    /// M: bursts that follow the first; 1, 2, 4 or 7.
    pub max_retrans: u8,
    /// T: bursts are spread over so many places; 3 to 12, 14, 16, 20, 25, 32 or 50.
    pub tx_integer: u8,
}

impl Default for RachControl {
    fn default() -> Self {
        Self { max_retrans: 4, tx_integer: 14 }
    }
}

impl RachControl {
    /// S (04.18 clause 3.3.1.1.2, table 3.1).
    #[must_use]
    pub const fn s(self, layout: Layout) -> u64 {
        let (alone, shared) = match self.tx_integer {
            4 | 9 | 16 => (76, 52),
            5 | 10 | 20 => (109, 58),
            6 | 11 | 25 => (163, 86),
            7 | 12 | 32 => (217, 115),
            _ => (55, 41),
        };
        match layout {
            Layout::Uncombined => alone,
            Layout::Combined => shared,
        }
    }

    /// The frame of the first burst of an access that begins at `now` (04.18 clause 3.5.2.1.2).
    #[must_use]
    pub fn first(self, layout: Layout, now: Instant, rng: &mut Rng) -> u64 {
        layout.rach_after(frame_from(now), 1 + rng.below(u64::from(self.tx_integer).max(8)))
    }

    /// The frame of the burst after that in `frame` (04.18 clause 3.5.2.1.2).
    #[must_use]
    pub fn next(self, layout: Layout, frame: u64, rng: &mut Rng) -> u64 {
        layout.rach_after(frame, self.s(layout) + rng.below(u64::from(self.tx_integer).max(1)))
    }

    /// When T3146 ends that the last burst in `frame` has started: T + 2 S places (04.18 clause 11.1.1).
    #[must_use]
    pub fn t3146(self, layout: Layout, frame: u64) -> Instant {
        frame_start(layout.rach_after(frame, u64::from(self.tx_integer) + 2 * self.s(layout)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_multiframe_has_nine_blocks_or_three() {
        for (layout, expected) in [
            (Layout::Uncombined, &[6, 12, 16, 22, 26, 32, 36, 42, 46, 57][..]),
            (Layout::Combined, &[6, 12, 16, 57, 63, 67, 108]),
        ] {
            let mut found = Vec::new();
            let mut at = Instant::ZERO;
            while found.len() < expected.len() {
                let first = layout.block_from(at);
                found.push(first);
                at = Instant(frame_start(first).0 + 1);
            }
            assert_eq!(found, expected);
        }
        assert_eq!(block_ends(6), frame_start(10));
    }

    /// 05.02 clause 7, table 3: RACH of a channel with SDCCH/4 is in B4, B5, B14 to B36, B45 and B46.
    #[test]
    fn a_shared_channel_has_27_places_for_bursts() {
        let mut frame = 3 * MULTIFRAME - 1;
        let mut places = Vec::new();
        for count in 1..=54 {
            let one_by_one = Layout::Combined.rach_after(frame, 1);
            assert_eq!(Layout::Combined.rach_after(3 * MULTIFRAME - 1, count), one_by_one, "{count}");
            assert_eq!(Layout::Uncombined.rach_after(frame, 1), frame + 1);
            places.push(one_by_one - 3 * MULTIFRAME);
            frame = one_by_one;
        }
        let of_one: Vec<u64> = [4, 5].into_iter().chain(14..=36).chain([45, 46]).collect();
        let of_two: Vec<u64> = of_one.iter().chain(&of_one).copied().collect();
        let expected: Vec<u64> = of_two.iter().zip(0..).map(|(at, n)| at + n / 27 * MULTIFRAME).collect();
        assert_eq!(places, expected);
    }

    #[test]
    fn bursts_are_spread_as_the_cell_says() {
        let mut rng = Rng::seeded(1);
        for (tx_integer, alone, shared) in
            [(3, 55, 41), (4, 76, 52), (10, 109, 58), (25, 163, 86), (32, 217, 115), (50, 55, 41)]
        {
            for (layout, s) in [(Layout::Uncombined, alone), (Layout::Combined, shared)] {
                let control = RachControl { max_retrans: 1, tx_integer };
                // Frame 0 has no place on a shared channel, and 100 is B49.
                let (mut first, mut next) = ([u64::MAX, 0], [u64::MAX, 0]);
                for _ in 0..5000 {
                    let a = control.first(layout, Instant::ZERO, &mut rng);
                    let b = control.next(layout, 100, &mut rng);
                    first = [first[0].min(a), first[1].max(a)];
                    next = [next[0].min(b), next[1].max(b)];
                }
                let t = u64::from(tx_integer);
                let place = |frame, count| layout.rach_after(frame, count);
                assert_eq!(first, [place(0, 1), place(0, t.max(8))], "T {t}");
                assert_eq!(next, [place(100, s), place(100, s + t - 1)], "T {t}");
                assert_eq!(control.t3146(layout, 100), frame_start(place(100, t + 2 * s)));
            }
        }
    }
}
