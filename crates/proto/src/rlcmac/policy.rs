//! What the network does about lost blocks: when it asks, when it answers, and what it sends again unasked (44.060 clauses 9.1.3 and 9.3.2).
//!
//! The clauses leave all of it to the network. [`Policy::STUDIED`] is what the tracing study (Gurtov et al.) found at a base station
//! controller of its time, [`Policy::SPARING`] what the study asks for.
//!
//! | | studied | sparing |
//! |---|---|---|
//! | poll of a mobile | each tenth block | each twelfth block, after a loss each eighth, after a poll that failed the next |
//! | uplink acknowledgement | each tenth block | at once where a block is missing, else each 32nd |
//! | a report lacks a copy that was on its way | the block goes again | the block waits for the next report |
//! | nothing else to send | blocks go again in turn, with the data of others | each once by report, while no other has data |

use super::rlc::{Age, Unasked};

/// Blocks that nobody has reported, while a downlink TBF has nothing else to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idle {
    /// They go in their turn, also while other TBFs have data.
    InTurn,
    /// They go while no other TBF has data. One that is to carry a poll goes in its turn.
    Spare,
    /// The same, each once until a report has come that could tell of the copy.
    SpareOnce,
    /// They go to carry a poll, where none is unanswered.
    ToPoll,
}

impl Idle {
    /// For the sender of a TBF, of which a poll is unanswered or not.
    pub(super) const fn unasked(self, is_polled: bool) -> Unasked {
        match self {
            Self::SpareOnce if is_polled => Unasked::Once,
            Self::ToPoll if is_polled => Unasked::Never,
            Self::InTurn | Self::Spare | Self::SpareOnce | Self::ToPoll => Unasked::Always,
        }
    }
}

/// When PACKET UPLINK ACK/NACK goes, besides the first one, the final one, and those for a window that is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UplinkAcks {
    /// After so many blocks, and for each block behind one that said that nothing follows.
    Every,
    /// At once where a block is missing, and otherwise after so many blocks. Not again before the mobile could send what the last one
    /// lacked.
    OnGap,
}

/// What the network does about lost blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Downlink data blocks from one poll of a mobile to the next.
    pub poll_every: u16,
    /// The same after a report that lacks blocks.
    pub poll_after_loss: u16,
    /// Polls of a TBF that may be unanswered at a time, 1 to 4. With one, a mobile is also polled where the window is full or nothing
    /// waits.
    pub polls_max: u8,
    /// A poll goes with the next block after one that failed, and with the last new block also where one poll more is unanswered: later a
    /// block would have to go again for that.
    pub polls_anew: bool,
    /// What is made of the age of a PACKET DOWNLINK ACK/NACK.
    pub age: Age,
    /// Blocks that nobody has reported.
    pub idle: Idle,
    /// Nothing is sent again in the block period in which the mobile reports: that report could not tell of the copy.
    pub spares_reports: bool,
    /// When PACKET UPLINK ACK/NACK goes.
    pub uplink_acks: UplinkAcks,
    /// Uplink data blocks from one PACKET UPLINK ACK/NACK to the next.
    pub ack_every: u16,
}

impl Policy {
    /// What a cell does unless it is told otherwise.
    pub const USUAL: Self = Self {
        poll_every: 10,
        poll_after_loss: 10,
        polls_max: 1,
        polls_anew: false,
        age: Age::Spares,
        idle: Idle::Spare,
        spares_reports: false,
        uplink_acks: UplinkAcks::Every,
        ack_every: 10,
    };
    /// That of the tracing study.
    pub const STUDIED: Self = Self { polls_max: 4, age: Age::Ignored, idle: Idle::InTurn, ..Self::USUAL };
    /// No block is sent twice within a round trip of RLC, and none unasked while another mobile has data.
    pub const SPARING: Self = Self {
        poll_every: 12,
        poll_after_loss: 8,
        polls_max: 3,
        polls_anew: true,
        age: Age::SparesAndFinds,
        idle: Idle::SpareOnce,
        spares_reports: true,
        uplink_acks: UplinkAcks::OnGap,
        ack_every: 32,
    };
}
