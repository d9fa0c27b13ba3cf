//! What became of blocks: counters of a receiver and of the air, which [`conservation`](super::conservation) compares.

use super::rlc::{Received, Refused};

/// Data blocks that came, by what their receiver made of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Came {
    /// For the first time.
    pub new: u64,
    /// They had come before.
    pub again: u64,
    /// They were none of the window, or not well formed.
    pub refused: u64,
}

impl Came {
    /// One came.
    pub const fn count(&mut self, what: &Result<Received, Refused>) {
        match what {
            Ok(received) if received.is_new => self.new += 1,
            Ok(_) => self.again += 1,
            Err(_) => self.refused += 1,
        }
    }

    /// All of them.
    #[must_use]
    pub const fn all(&self) -> u64 {
        self.new + self.again + self.refused
    }
}

/// Data blocks that did not come to their receiver, by why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Missed {
    /// The channel lost them.
    pub lost: u64,
    /// Downlink: their mobile did not listen.
    pub unheard: u64,
    /// Downlink: they came to a mobile that they were not for.
    pub strays: u64,
    /// Uplink: several sent, and they were not heard.
    pub collided: u64,
    /// Uplink: their mobile left the cell while it sent, or their timeslot was no PDCH any more.
    pub left: u64,
}

/// What happened in the PDCHs of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OnAir {
    /// Blocks downlink: a block period has one in each PDCH.
    pub places_down: u64,
    /// The same uplink.
    pub places_up: u64,
    /// Blocks downlink in which the cell was silent.
    pub silent_down: u64,
    /// Blocks uplink in which nobody sent.
    pub silent_up: u64,
    /// Blocks uplink in which several sent, and none was heard.
    pub jammed_up: u64,
    /// Data blocks downlink.
    pub down: Missed,
    /// Data blocks uplink.
    pub up: Missed,
}
