//! Numbers of TDMA frames, which begin anew each hyperframe (45.002, 4.3.3).

use crate::record::{RadioBlock, Stamp};

const HYPERFRAME: u32 = 2048 * 26 * 51;
/// Thirteen frames last so many nanoseconds.
const THIRTEEN_NS: u64 = 60_000_000;

/// Frames from an earlier one to a later one; none where that is the later one.
pub(super) const fn since(later: u32, earlier: u32) -> u32 {
    let ahead = (later % HYPERFRAME + HYPERFRAME - earlier % HYPERFRAME) % HYPERFRAME;
    if ahead > HYPERFRAME / 2 { 0 } else { ahead }
}

/// The frame so many later.
pub(super) const fn after(frame: u32, frames: u32) -> u32 {
    (frame % HYPERFRAME + frames) % HYPERFRAME
}

/// The frame in which a block was sent. Where a capture has none, its time is counted in frames.
pub(super) fn of(block: &RadioBlock, at: Stamp, has_numbers: bool) -> u32 {
    if has_numbers {
        return block.frame_number;
    }
    let frames = at.0 / THIRTEEN_NS * 13 + at.0 % THIRTEEN_NS * 13 / THIRTEEN_NS;
    u32::try_from(frames % u64::from(HYPERFRAME)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap() {
        assert_eq!((since(3, HYPERFRAME - 2), since(HYPERFRAME - 2, 3), since(17, 4)), (5, 0, 13));
        assert_eq!((after(HYPERFRAME - 1, 13), after(4, 13)), (12, 17));
    }
}
