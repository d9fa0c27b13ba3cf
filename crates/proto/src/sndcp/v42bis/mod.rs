//! Data compression after ITU-T Recommendation V.42bis (04.65 clause 6.6.2 [44.065]).
//!
//! Encoder and decoder keep the same dictionary of strings, a tree in which each node is one octet longer than its parent,
//! and add to it by the same rule: each string that was matched, with the octet behind it. In compressed mode a string goes
//! as its codeword of 9 bits or more; in transparent mode the octets go as they are, and the dictionary learns all the same.
//! Which mode is better the encoder decides, by what the octets would have taken in the other one.
//!
//! Every N-PDU ends with a flush, so that it is whole when it arrives (C-FLUSH). In acknowledged mode the dictionary goes on
//! from N-PDU to N-PDU, and begins anew when the link does ([`Compressor::init`], C-INIT). In unacknowledged mode, where
//! N-PDUs get lost, each one begins with C-INIT and stands alone: [`Compressor::compress_alone`].
//!
//! A dictionary has at most P1 entries of 8 octets and takes no more memory than it has used; an octet costs at most a walk
//! along the 256 children of a node. Nothing here panics, whatever arrives: what is no possible output of an encoder is an
//! [`Error`], after which the decoder refuses all that comes (C-ERROR) until it is initialized.

mod compress;
mod decompress;
mod dictionary;
mod mode;
mod strings;

pub use compress::{Compressor, compressed_max};
pub use decompress::Decompressor;

use core::fmt;

/// Control codewords, in compressed mode (V.42bis clause 5.3).
mod control {
    /// Enter transparent mode.
    pub(super) const ETM: u16 = 0;
    /// What follows begins at the next octet.
    pub(super) const FLUSH: u16 = 1;
    /// Codewords are one bit longer from here on.
    pub(super) const STEPUP: u16 = 2;
}

/// Command codes behind an escape character, in transparent mode (V.42bis clause 5.4).
mod command {
    /// Enter compressed mode.
    pub(super) const ECM: u8 = 0;
    /// The escape character is an octet of the data.
    pub(super) const EID: u8 = 1;
    /// The dictionary begins anew.
    pub(super) const RESET: u8 = 2;
}

/// What the escape character grows by each time that it occurs in the data (V.42bis clause 9.2).
const ESCAPE_STEP: u8 = 51;

/// Bits of a codeword after C-INIT: C2 begins with N3 + 1.
const CODEWORD_BITS: u32 = 9;

/// P1 and P2 of one direction, as they were negotiated (04.65 clause 6.6.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    codewords: u16,
    string: u8,
}

impl Parameters {
    /// P1 of 2048 and P2 of 20.
    pub const DEFAULT: Self = Self { codewords: 2048, string: 20 };

    /// `None` where `codewords` (P1) is below 512, or `string` (P2) is not 6 to 250 octets.
    #[must_use]
    pub const fn new(codewords: u16, string: u8) -> Option<Self> {
        if codewords >= 512 && 6 <= string && string <= 250 { Some(Self { codewords, string }) } else { None }
    }

    /// P1, the number of codewords: N2.
    #[must_use]
    pub const fn codewords(self) -> u16 {
        self.codewords
    }

    /// P2, the octets of the longest string: N7.
    #[must_use]
    pub const fn string(self) -> u8 {
        self.string
    }

    /// N1: bits of the longest codeword.
    const fn codeword_bits_max(self) -> u32 {
        u16::BITS - (self.codewords - 1).leading_zeros()
    }
}

/// P0: which directions are compressed, seen from the end that asked for the entity (04.65 clause 6.6.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Directions {
    /// What the end sends that asked.
    pub from_initiator: bool,
    /// What the other end sends.
    pub from_responder: bool,
}

impl Directions {
    /// Both.
    pub const BOTH: Self = Self { from_initiator: true, from_responder: true };

    /// Of the value of P0, 0 to 3.
    #[must_use]
    pub const fn parse(p0: u8) -> Self {
        Self { from_initiator: p0 & 1 != 0, from_responder: p0 & 2 != 0 }
    }

    /// The value of P0.
    #[must_use]
    pub const fn emit(self) -> u8 {
        self.from_initiator as u8 | (self.from_responder as u8) << 1
    }
}

/// Why octets can't be compressed or restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Error {
    /// The room for the result is too small for some N-PDU of this length. Nothing has changed.
    NoRoom,
    /// The N-PDU would be longer than there is room for.
    TooLong,
    /// A command code that is reserved.
    ReservedCommand(u8),
    /// STEPUP, where codewords are as long as they may be.
    CodewordTooLong,
    /// A codeword that stands for no string.
    EmptyCodeword(u16),
    /// The N-PDU ends within a codeword or behind an escape character.
    Truncated,
    /// An N-PDU before this one was refused: the dictionaries differ until both ends are initialized.
    OutOfStep,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRoom => f.write_str("no room for the result"),
            Self::TooLong => f.write_str("the N-PDU is too long"),
            Self::ReservedCommand(code) => write!(f, "command code {code} is reserved"),
            Self::CodewordTooLong => f.write_str("codewords cannot become longer"),
            Self::EmptyCodeword(codeword) => write!(f, "codeword {codeword} stands for no string"),
            Self::Truncated => f.write_str("the N-PDU ends early"),
            Self::OutOfStep => f.write_str("the dictionaries differ since an earlier error"),
        }
    }
}

impl core::error::Error for Error {}

/// Octets that are no exported state of this compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadImage;

impl fmt::Display for BadImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a state of V.42bis")
    }
}

impl core::error::Error for BadImage {}

#[cfg(test)]
mod tests;
