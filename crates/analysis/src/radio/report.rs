//! What is said of blocks of RLC/MAC: numbers, and the frames that prove them.

use crate::record::{Direction, Proof, Stamp};
use crate::series::{Series, quantile, real, seconds};
use serde::Serialize;

/// Why a data block was sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Again {
    /// A report said that it had not arrived.
    Needed,
    /// No report had asked for it since it was sent last.
    Premature,
    /// A report asked for it, but was made before the copy sent last could arrive.
    Repeated,
    /// A report had said that it has arrived.
    Acknowledged,
    /// No report had asked for it since it was sent last; it polls a mobile of which no poll is unanswered.
    Polling,
}

impl Again {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Needed, Self::Premature, Self::Repeated, Self::Acknowledged, Self::Polling];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Needed => "needed",
            Self::Premature => "premature",
            Self::Repeated => "repeated",
            Self::Acknowledged => "after it was acknowledged",
            Self::Polling => "to poll",
        }
    }
}

/// A data block that was sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SentAgain {
    /// When.
    pub at: Stamp,
    /// Its frame.
    pub proof: Proof,
    /// The frame of the copy before it.
    pub before: Proof,
    /// The report that asked for it, or that acknowledged it.
    pub report: Option<Proof>,
    /// Its number, modulo 128.
    pub bsn: u8,
    /// Why.
    pub why: Again,
    /// It is premature, and took the place of another TBF that shares a timeslot and was within an LL-PDU, as its next block shows.
    pub is_beside_others: bool,
}

/// How many blocks were sent again for each reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// [`Again::Needed`].
    pub needed: u64,
    /// [`Again::Premature`].
    pub premature: u64,
    /// [`Again::Repeated`].
    pub repeated: u64,
    /// [`Again::Acknowledged`].
    pub acknowledged: u64,
    /// [`Again::Polling`].
    pub polling: u64,
    /// Premature ones while another TBF had new data.
    pub premature_beside_others: u64,
}

impl Counts {
    pub(super) const fn add(&mut self, why: Again) {
        match why {
            Again::Needed => self.needed += 1,
            Again::Premature => self.premature += 1,
            Again::Repeated => self.repeated += 1,
            Again::Acknowledged => self.acknowledged += 1,
            Again::Polling => self.polling += 1,
        }
    }

    /// All of them.
    #[must_use]
    pub const fn all(&self) -> u64 {
        self.needed + self.premature + self.repeated + self.acknowledged + self.polling
    }

    /// Those for this reason.
    #[must_use]
    pub const fn of(&self, why: Again) -> u64 {
        match why {
            Again::Needed => self.needed,
            Again::Premature => self.premature,
            Again::Repeated => self.repeated,
            Again::Acknowledged => self.acknowledged,
            Again::Polling => self.polling,
        }
    }
}

/// How a TBF ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The final report: all has arrived.
    Released,
    /// Another TBF took its identity.
    Replaced,
    /// Nothing was heard of it for five seconds (T3169, T3195: 44.060, clause 13).
    Silent,
    /// The capture ended before it.
    Open,
}

/// The window was full: only what had been sent before could be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Stall {
    /// When the last block fitted, and its frame.
    pub from: (Stamp, Proof),
    /// The report that moved the window, if any.
    pub until: Option<(Stamp, Proof)>,
}

/// A point of the diagram of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockMark {
    /// A data block for the first time.
    New,
    /// The same, with nothing but a dummy command of LLC in it.
    Filler,
    /// Again.
    Again(Again),
    /// A block that is new here while later ones have come: copies before were lost on the radio.
    Late,
    /// A report, at the number below which all has arrived.
    Report,
}

/// An acknowledgement of TCP without data that came uplink.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TcpAck {
    /// When its last block had come.
    pub at: Stamp,
    /// The frame of that.
    pub proof: Proof,
    /// Its first block.
    pub began: (Stamp, Proof),
    /// The newest downlink segment that it acknowledges: its first block, and the frame of that.
    pub sent: Option<(Stamp, Proof)>,
    /// The last block of that segment.
    pub answers: Option<(Stamp, Proof)>,
}

impl TcpAck {
    /// From the last block of the segment to the first of the acknowledgement, in nanoseconds: the mobile, and the wait for a TBF.
    #[must_use]
    pub fn waited_ns(&self) -> Option<u64> {
        self.answers.map(|(whole, _)| self.began.0.0.saturating_sub(whole.0))
    }

    /// From the first block of the segment to the last of the acknowledgement, in nanoseconds: the radio's part of the round trip.
    #[must_use]
    pub fn round_trip_ns(&self) -> Option<u64> {
        self.sent.map(|(sent, _)| self.at.0.saturating_sub(sent.0))
    }
}

/// One temporary block flow.
#[derive(Debug, Clone, Serialize)]
pub struct Tbf {
    /// The place.
    pub place: u16,
    /// The cell's channel number.
    pub arfcn: u16,
    /// Which way.
    pub direction: Direction,
    /// Its identity.
    pub tfi: u8,
    /// The mobile, where the capture says it.
    pub tlli: Option<u32>,
    /// Bit n stands for timeslot n: those that were assigned; else those in which its blocks were.
    pub timeslots: u8,
    /// The report that asked for it, where it was assigned through that report's TBF; else the access burst that may have: the first one of
    /// its cell since the assignment before.
    pub asked: Option<(Stamp, Proof)>,
    /// Its assignment.
    pub assigned: Option<(Stamp, Proof)>,
    /// Its first data block.
    pub first_data: Option<(Stamp, Proof)>,
    /// Its last new data block.
    pub last_new: Option<(Stamp, Proof)>,
    /// Its last block or report.
    pub last: (Stamp, Proof),
    /// How it ended.
    pub end: End,
    /// Data blocks that were new.
    pub blocks: u64,
    /// Octets of LL-PDUs in them.
    pub user_octets: u64,
    /// The bits by the second that its schemes and timeslots carry, as the mean over its new blocks.
    pub line_rate: f64,
    /// Data blocks that were sent again.
    pub again: Counts,
    /// The first of them.
    pub sent_again: Vec<SentAgain>,
    /// Blocks that were new while later ones had come before: the radio lost copies that the capture does not have.
    pub late: u64,
    /// Reports.
    pub reports: u64,
    /// Data blocks between two reports.
    pub report_intervals: Series<u64>,
    /// Data blocks from one poll to the next; downlink.
    pub poll_intervals: Series<u64>,
    /// Downlink: blocks that ask for a report. Uplink: blocks whose mobile says that its window is full.
    pub polls_or_stalls: u64,
    /// Polls in whose block no report came.
    pub polls_unanswered: u64,
    /// Times when the window was full.
    pub stalls: Vec<Stall>,
    /// The shortest time from a block to the report that says that it has arrived, in nanoseconds.
    pub round_trip_ns: Option<u64>,
    /// Dummy blocks in its timeslots while it was there and had nothing new.
    pub dummies: u64,
    /// New data blocks with nothing but a dummy command of LLC.
    pub fillers: u64,
    /// The first of these.
    pub first_filler: Option<(Stamp, Proof)>,
    /// Packets that were put together of its blocks; uplink.
    pub packets: u64,
    /// Acknowledgements of TCP among them.
    pub acks: Series<TcpAck>,
    /// For the diagram: time, number without its wrap, what.
    pub marks: Series<(Stamp, u64, BlockMark)>,
}

impl Tbf {
    /// From the request, or else the assignment, to the first data block, in nanoseconds.
    #[must_use]
    pub fn set_up_ns(&self) -> Option<u64> {
        let (from, _) = self.asked.or(self.assigned)?;
        self.first_data.map(|(at, _)| at.0.saturating_sub(from.0))
    }

    /// From the first data block to the last block or report, in nanoseconds.
    #[must_use]
    pub fn lasted_ns(&self) -> u64 {
        self.first_data.map_or(0, |(from, _)| self.last.0.0.saturating_sub(from.0))
    }

    /// From the last new data block to the end, in nanoseconds: how long it was held without data.
    #[must_use]
    pub fn held_ns(&self) -> u64 {
        self.last_new.map_or(0, |(from, _)| self.last.0.0.saturating_sub(from.0))
    }

    /// Bits of LL-PDUs by the second, from the first data block to the last new one: `n` blocks stand at the ends of `n − 1` intervals.
    /// `None` where there is one block.
    #[must_use]
    pub fn user_rate(&self) -> Option<f64> {
        let lasted = self.last_new?.0.0.saturating_sub(self.first_data?.0.0);
        let part = real(self.blocks.saturating_sub(1)) / real(self.blocks.max(1));
        (lasted > 0).then(|| real(self.user_octets) * part * 8.0 / seconds(lasted))
    }

    /// Nanoseconds in which the window was full. A stall that nothing ended lasts to the last block.
    #[must_use]
    pub fn stalled_ns(&self) -> u64 {
        let length =
            |stall: &Stall| stall.until.map_or(self.last.0, |(at, _)| at).0.saturating_sub(stall.from.0.0);
        self.stalls.iter().map(length).sum()
    }

    /// It carried acknowledgements of TCP and no other packet.
    #[must_use]
    pub const fn is_of_acks(&self) -> bool {
        self.acks.seen() > 0 && self.acks.seen() == self.packets
    }

    /// The median of the data blocks between two reports.
    #[must_use]
    pub fn report_interval(&self) -> Option<u64> {
        quantile(&mut self.report_intervals.points().to_vec(), 0.5)
    }
}

/// What blocks of one direction of a cell were spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Use {
    /// New data.
    pub new: u64,
    /// Data again.
    pub again: u64,
    /// Reports.
    pub reports: u64,
    /// Assignments on a PDCH.
    pub assignments: u64,
    /// Other control messages.
    pub control: u64,
    /// Nothing.
    pub dummy: u64,
    /// What cannot be read.
    pub unreadable: u64,
    /// Octets of LL-PDUs in new data.
    pub user_octets: u64,
    /// Octets of RLC data fields in new data whose scheme is known.
    pub field_octets: u64,
}

impl Use {
    /// Blocks, all of them.
    #[must_use]
    pub const fn all(&self) -> u64 {
        self.new + self.again + self.reports + self.assignments + self.control + self.dummy + self.unreadable
    }

    /// Blocks that carry signalling.
    #[must_use]
    pub const fn signalling(&self) -> u64 {
        self.reports + self.assignments + self.control
    }
}

/// A cell, as one place saw it.
#[derive(Debug, Clone, Serialize)]
pub struct CellReport {
    /// The place.
    pub place: u16,
    /// Its channel number.
    pub arfcn: u16,
    /// Downlink blocks.
    pub down: Use,
    /// Uplink blocks.
    pub up: Use,
    /// Access bursts.
    pub accesses: u64,
    /// Assignments on the common control channel.
    pub common_assignments: u64,
    /// The first and the last block.
    pub spans: ((Stamp, Proof), (Stamp, Proof)),
}

/// All that is known of the radio.
#[derive(Debug, Clone, Serialize)]
pub struct RadioReport {
    /// Its cells.
    pub cells: Vec<CellReport>,
    /// Its TBFs, in the order of their ends.
    pub tbfs: Vec<Tbf>,
    /// More TBFs, which are counted only.
    pub tbfs_besides: u64,
}
