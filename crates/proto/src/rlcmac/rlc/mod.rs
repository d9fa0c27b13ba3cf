//! The RLC sublayer of one TBF: 04.60 (44.060) clause 9.
//!
//! A [`Sender`] cuts LL-PDUs into blocks and keeps those that may have to be sent again. A [`Receiver`] makes LL-PDUs of
//! blocks and a [`Report`] of what came. Neither has timers, knows TFIs or writes headers: MAC does.
//! A new TBF begins with a new pair: BSN 0, an empty window.
//!
//! # Conservation
//!
//! Nothing is lost without a name. Of each pair and the channel between them holds, in blocks:
//!
//! * sent = new + sent again ([`SenderCounts::sent`]).
//! * sent = lost on the channel + accepted + duplicates + refused ([`ReceiverCounts::arrived`]).
//! * new = acknowledged + not acknowledged yet ([`Sender::unacknowledged`], acknowledged mode).
//! * new = accepted + missing (unacknowledged mode, when the final block has come).
//!
//! and in octets of data fields: LL-PDUs + length indicators + TLLIs + filler = the fields of the new blocks.

mod counts;
mod cut;
mod receiver;
mod sender;

pub use counts::{ReceiverCounts, RlcCounts, SenderCounts};
pub use receiver::{LlPduOctets, Received, Receiver, Refused};
pub use sender::{Acknowledged, Ending, Sender, Sent, StaleReport};

use gannet_machine::frame::Frame;

/// Blocks that may be outstanding in acknowledged mode: k, or WS (clause 9.1.9).
pub const WINDOW: u8 = 64;
/// BSNs count modulo this: SNS (clause 9.1).
pub const SNS: u8 = gannet_wire::rlcmac::block::BSN_MODULUS;
/// Octets of the longest LL-PDU: N201 of 1520 behind an address octet and 36 of control field, and the FCS (04.64 clauses
/// 6.2 and 8.9.8).
pub const LL_PDU_MAX: usize = 1520 + 1 + 36 + 3;

/// Whether lost blocks are sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Until the receiver has reported them (clause 9.3.2).
    Acknowledged,
    /// Never (clause 9.3.3).
    Unacknowledged,
}

/// What a receiver has: the Ack/Nack Description (clauses 9.1.8 and 12.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Report {
    /// SSN: the BSN behind the newest block that came, V(R).
    pub ssn: u8,
    /// RBB: bit `n`, the least significant bit being bit 0, is 1 where the block with BSN `ssn` - 1 - `n` came. The most
    /// significant bit is sent first.
    pub bitmap: u64,
    /// The TBF is complete: neither of the others counts.
    pub is_final: bool,
}

/// Why a block is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// For the first time.
    New,
    /// A report said that it is missing (NACKED), for the first time.
    Needed,
    /// A report said that it is missing, and it was sent again for such a report before. It was lost twice, or the
    /// report was made before the first of them arrived.
    Repeated,
    /// Nobody has reported it (PENDING-ACK), but the window is stalled: no new block may be sent.
    PrematureStalled,
    /// Nobody has reported it, and there is no new block to send.
    PrematureIdle,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::New, Self::Needed, Self::Repeated, Self::PrematureStalled, Self::PrematureIdle];
}

/// What reports say of a block that is sent again, since its copy before was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Evidence {
    /// A report that was made when that copy had been sent lacks it: it has not arrived.
    Asked,
    /// Reports lack it, but all were made before that copy could arrive.
    Early,
    /// No report lacks it, as far as is known when reports were made.
    None,
}

/// What a sender makes of the age of a report ([`Sender::acknowledge_made_at`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Age {
    /// Nothing: each block that it lacks is NACKED (clause 9.1.3).
    Ignored,
    /// A block that was sent later is not NACKED.
    Spares,
    /// The same, and blocks from SSN on that were sent before are NACKED: the report was made when they should have been there.
    SparesAndFinds,
}

/// Which blocks that nobody has reported are sent again while there is nothing else to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unasked {
    /// All, from the oldest on and round again (clause 9.1.3).
    #[default]
    Always,
    /// Each once, until a report has come that could tell of the copy.
    Once,
    /// None.
    Never,
}

/// What a [`Sender`] carries: an LL-PDU, with whatever its owner wants to know about it.
pub trait LlPdu {
    /// Its octets, at least one; as long as it waits they stay the same.
    fn octets(&self) -> &[u8];
}

impl LlPdu for Vec<u8> {
    fn octets(&self) -> &[u8] {
        self
    }
}

impl LlPdu for Frame {
    fn octets(&self) -> &[u8] {
        self
    }
}

/// A block's number as it stands in its header.
const fn modulo(number: u32) -> u8 {
    let [low, ..] = number.to_le_bytes();
    low % SNS
}
