//! The common control channels of a cell: when a random access burst and a block of AGCH or PCH go.
//!
//! One uncombined CCCH on timeslot 0 (05.02 clause 7 [45.002], table 3): each TDMA frame has a place for an access burst uplink,
//! and each 51-multiframe has nine blocks downlink.

use super::multiframe::{frame_at, frame_start};
use gannet_machine::rng::Rng;
use gannet_machine::time::Instant;

/// Frames of the multiframe of control channels.
pub(super) const MULTIFRAME: u64 = 51;
/// The first frame of each CCCH block in the multiframe.
pub(super) const BLOCKS: [u64; 9] = [6, 12, 16, 22, 26, 32, 36, 42, 46];
/// Frames of a block.
const BLOCK_FRAMES: u64 = 4;

/// The first frame that begins at this time or later.
#[must_use]
pub fn frame_from(at: Instant) -> u64 {
    let frame = frame_at(at);
    if frame_start(frame) < at { frame + 1 } else { frame }
}

/// The first frame of the first CCCH block that begins at this time or later.
#[must_use]
pub fn block_from(at: Instant) -> u64 {
    let frame = frame_from(at);
    let (multiframe, within) = (frame / MULTIFRAME, frame % MULTIFRAME);
    let first = BLOCKS.iter().copied().find(|first| *first >= within);
    first.map_or((multiframe + 1) * MULTIFRAME + 6, |first| multiframe * MULTIFRAME + first)
}

/// When the block that begins with this frame has been received.
#[must_use]
pub const fn block_ends(first: u64) -> Instant {
    frame_start(first + BLOCK_FRAMES)
}

/// What the cell broadcasts of random access (04.18 clause 10.5.2.29 [44.018], RACH Control Parameters).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RachControl {
    /// M: bursts that follow the first; 1, 2, 4 or 7.
    pub max_retrans: u8,
    /// T: bursts are spread over so many frames; 3 to 12, 14, 16, 20, 25, 32 or 50.
    pub tx_integer: u8,
}

impl Default for RachControl {
    fn default() -> Self {
        Self { max_retrans: 4, tx_integer: 14 }
    }
}

impl RachControl {
    /// S (04.18 clause 3.3.1.1.2, table 3.1), for a CCCH that shares its channel with no SDCCH.
    #[must_use]
    pub const fn s(self) -> u64 {
        match self.tx_integer {
            4 | 9 | 16 => 76,
            5 | 10 | 20 => 109,
            6 | 11 | 25 => 163,
            7 | 12 | 32 => 217,
            _ => 55,
        }
    }

    /// The frame of the first burst of an access that begins at `now` (04.18 clause 3.5.2.1.2).
    #[must_use]
    pub fn first(self, now: Instant, rng: &mut Rng) -> u64 {
        frame_from(now) + 1 + rng.below(u64::from(self.tx_integer).max(8))
    }

    /// The frame of the burst after that in `frame` (04.18 clause 3.5.2.1.2).
    #[must_use]
    pub fn next(self, frame: u64, rng: &mut Rng) -> u64 {
        frame + self.s() + rng.below(u64::from(self.tx_integer).max(1))
    }

    /// When T3146 ends that the last burst in `frame` has started: T + 2 S frames (04.18 clause 11.1.1).
    #[must_use]
    pub const fn t3146(self, frame: u64) -> Instant {
        frame_start(frame + self.tx_integer as u64 + 2 * self.s())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_multiframe_has_nine_blocks() {
        let mut found = Vec::new();
        let mut at = Instant::ZERO;
        while found.len() < 10 {
            let first = block_from(at);
            found.push(first);
            at = Instant(frame_start(first).0 + 1);
        }
        assert_eq!(found, [6, 12, 16, 22, 26, 32, 36, 42, 46, 57]);
        assert_eq!(block_ends(6), frame_start(10));
    }

    #[test]
    fn bursts_are_spread_as_the_cell_says() {
        let mut rng = Rng::seeded(1);
        for (tx_integer, s) in [(3, 55), (4, 76), (10, 109), (25, 163), (32, 217), (50, 55)] {
            let control = RachControl { max_retrans: 1, tx_integer };
            let (mut first, mut next) = ([u64::MAX, 0], [u64::MAX, 0]);
            for _ in 0..5000 {
                let (a, b) = (control.first(Instant::ZERO, &mut rng), control.next(100, &mut rng));
                first = [first[0].min(a), first[1].max(a)];
                next = [next[0].min(b), next[1].max(b)];
            }
            let t = u64::from(tx_integer);
            assert_eq!((first, next), ([1, t.max(8)], [100 + s, 100 + s + t - 1]), "T {t}");
            assert_eq!(control.t3146(100), frame_start(100 + t + 2 * s));
        }
    }
}
