//! What a TBF cost, in blocks and octets.

use super::{Evidence, Kind};
use core::ops::AddAssign;
use gannet_wire::rlcmac::coding::HEADER_LEN;

/// Of a [`super::Sender`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SenderCounts {
    /// Blocks sent for the first time.
    pub new: u64,
    /// Blocks sent again: [`Kind::Needed`].
    pub needed: u64,
    /// Blocks sent again: [`Kind::Repeated`].
    pub repeated: u64,
    /// Blocks sent again: [`Kind::PrematureStalled`].
    pub premature_stalled: u64,
    /// Blocks sent again: [`Kind::PrematureIdle`].
    pub premature_idle: u64,
    /// Blocks that were acknowledged, each once.
    pub acknowledged: u64,
    /// Octets of LL-PDUs in new blocks.
    pub ll_pdu_octets: u64,
    /// Octets of length indicators in new blocks.
    pub indicator_octets: u64,
    /// Octets of TLLIs in new blocks.
    pub tlli_octets: u64,
    /// Octets of filler in new blocks.
    pub filler_octets: u64,
    /// Octets of data fields that were sent again.
    pub again_octets: u64,
    /// Reports that were not understood: their SSN is outside the window.
    pub stale_reports: u64,
    /// Of the blocks sent again: a report that could tell of the copy before lacked it ([`super::Evidence::Asked`]).
    pub asked: u64,
    /// Of the blocks sent again: only a report that was made before the copy before could arrive lacked it
    /// ([`super::Evidence::Early`]).
    pub early: u64,
    /// Of the blocks sent again: no report lacked the copy before ([`super::Evidence::None`]).
    pub unasked: u64,
    /// Times that the window became full.
    pub stalls: u64,
}

impl SenderCounts {
    /// Blocks that were sent, each time counted.
    #[must_use]
    pub const fn sent(&self) -> u64 {
        self.new + self.sent_again()
    }

    /// Blocks that were sent again.
    #[must_use]
    pub const fn sent_again(&self) -> u64 {
        self.needed + self.repeated + self.premature_stalled + self.premature_idle
    }

    /// Octets of MAC and RLC headers of all blocks that were sent.
    #[must_use]
    pub const fn header_octets(&self) -> u64 {
        self.sent() * HEADER_LEN as u64
    }

    /// Octets of headers and data fields of all blocks that were sent: everything but spare bits.
    #[must_use]
    pub const fn air_octets(&self) -> u64 {
        let new = self.ll_pdu_octets + self.indicator_octets + self.tlli_octets + self.filler_octets;
        self.header_octets() + new + self.again_octets
    }

    /// Blocks of one kind.
    #[must_use]
    pub const fn of(&self, kind: Kind) -> u64 {
        match kind {
            Kind::New => self.new,
            Kind::Needed => self.needed,
            Kind::Repeated => self.repeated,
            Kind::PrematureStalled => self.premature_stalled,
            Kind::PrematureIdle => self.premature_idle,
        }
    }

    pub(super) const fn count(&mut self, kind: Kind) {
        match kind {
            Kind::New => self.new += 1,
            Kind::Needed => self.needed += 1,
            Kind::Repeated => self.repeated += 1,
            Kind::PrematureStalled => self.premature_stalled += 1,
            Kind::PrematureIdle => self.premature_idle += 1,
        }
    }

    pub(super) const fn count_again(&mut self, evidence: Evidence) {
        match evidence {
            Evidence::Asked => self.asked += 1,
            Evidence::Early => self.early += 1,
            Evidence::None => self.unasked += 1,
        }
    }
}

impl AddAssign for SenderCounts {
    fn add_assign(&mut self, other: Self) {
        self.new += other.new;
        self.needed += other.needed;
        self.repeated += other.repeated;
        self.premature_stalled += other.premature_stalled;
        self.premature_idle += other.premature_idle;
        self.acknowledged += other.acknowledged;
        self.ll_pdu_octets += other.ll_pdu_octets;
        self.indicator_octets += other.indicator_octets;
        self.tlli_octets += other.tlli_octets;
        self.filler_octets += other.filler_octets;
        self.again_octets += other.again_octets;
        self.stale_reports += other.stale_reports;
        self.asked += other.asked;
        self.early += other.early;
        self.unasked += other.unasked;
        self.stalls += other.stalls;
    }
}

/// Of a [`super::Receiver`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReceiverCounts {
    /// Blocks that came for the first time.
    pub accepted: u64,
    /// Blocks that had come before.
    pub duplicates: u64,
    /// Blocks whose BSN is none that can come now.
    pub outside: u64,
    /// Blocks whose length indicators contradict their length.
    pub malformed: u64,
    /// Blocks that never came, in unacknowledged mode.
    pub missing: u64,
    /// LL-PDUs given to the layer above.
    pub ll_pdus: u64,
    /// Their octets.
    pub ll_pdu_octets: u64,
    /// LL-PDUs among them with zeros in the place of blocks that never came.
    pub damaged: u64,
    /// LL-PDUs thrown away since they were longer than [`super::LL_PDU_MAX`].
    pub too_long: u64,
}

impl ReceiverCounts {
    /// Blocks that arrived, whatever became of them.
    #[must_use]
    pub const fn arrived(&self) -> u64 {
        self.accepted + self.duplicates + self.outside + self.malformed
    }
}

impl AddAssign for ReceiverCounts {
    fn add_assign(&mut self, other: Self) {
        self.accepted += other.accepted;
        self.duplicates += other.duplicates;
        self.outside += other.outside;
        self.malformed += other.malformed;
        self.missing += other.missing;
        self.ll_pdus += other.ll_pdus;
        self.ll_pdu_octets += other.ll_pdu_octets;
        self.damaged += other.damaged;
        self.too_long += other.too_long;
    }
}

/// RLC of one side: what it sent, and what it received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RlcCounts {
    /// Of its senders.
    pub sender: SenderCounts,
    /// Of its receivers.
    pub receiver: ReceiverCounts,
}

impl AddAssign for RlcCounts {
    fn add_assign(&mut self, other: Self) {
        self.sender += other.sender;
        self.receiver += other.receiver;
    }
}
