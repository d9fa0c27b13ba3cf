//! Polls of one downlink TBF: which are unanswered.
//!
//! A poll names the block of its answer (RRBP: 44.060, 10.4.5). A poll whose block has passed without a report has failed.

use super::frames;
use std::collections::VecDeque;

/// Frames from a poll to the first frame of its answer, by RRBP; where the clause has two numbers, the lower one.
const ANSWER_FRAMES: [u32; 4] = [13, 17, 21, 26];
/// Frames of a block. From the next one on the answer cannot come.
const BLOCK_FRAMES: u32 = 4;
/// Polls that are remembered.
const POLLS_MAX: usize = 16;

/// Of one TBF.
#[derive(Debug, Default)]
pub(super) struct Polls {
    /// The frame of each answer that is due.
    due: VecDeque<u32>,
    since: u64,
}

impl Polls {
    /// Counts a data block. Gives how many there were from the poll before to this one, where it polls.
    pub(super) fn block(&mut self, frame: u32, rrbp: Option<u8>) -> Option<u64> {
        self.since += 1;
        let answer = ANSWER_FRAMES.get(usize::from(rrbp?))?;
        if self.due.len() < POLLS_MAX {
            self.due.push_back(frames::after(frame, *answer));
        }
        Some(core::mem::take(&mut self.since))
    }

    /// Gives how many polls have failed by a frame.
    pub(super) fn expire(&mut self, frame: u32) -> u64 {
        let mut failed = 0;
        while self.due.front().is_some_and(|due| frames::since(frame, *due) >= BLOCK_FRAMES) {
            self.due.pop_front();
            failed += 1;
        }
        failed
    }

    /// A report came, after [`Polls::expire`]: the earliest poll that is due about now is answered.
    pub(super) fn answered(&mut self, frame: u32) {
        if self.due.front().is_some_and(|due| frames::since(*due, frame) < 2 * BLOCK_FRAMES) {
            self.due.pop_front();
        }
    }

    /// Polls whose answer has not come.
    pub(super) fn unanswered(&self) -> u64 {
        self.due.len() as u64
    }
}
