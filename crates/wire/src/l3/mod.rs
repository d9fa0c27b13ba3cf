//! Layer 3 between mobile and SGSN: GPRS mobility management and session management, 04.08 clauses 8 to 11 (24.008),
//! with the general format of 04.07 (24.007) clause 11.
//!
//! A message is read by [`L3Message::parse`], which needs to know the direction, since one message type may have
//! two forms (Detach Request), and a type that is not defined in a direction counts as unknown there (clause 8.4).
//!
//! # Errors and what is answered (clause 8)
//!
//! | what | here | answer |
//! |---|---|---|
//! | too short for a message type (8.2) | `Truncated` about [`MESSAGE_TYPE`] | none, the message is ignored |
//! | unknown protocol discriminator (8.1) | `UnknownProtocol` | none |
//! | transaction identifier whose extension is not used rightly (8.3.2) | `BadValue` about [`TRANSACTION_IDENTIFIER`] | none |
//! | unknown message type (8.4) | `UnknownMessage` | STATUS with cause 97 |
//! | mandatory element missing or incorrect (8.5) | any other kind | STATUS with cause 96, or the procedure's own reject |
//! | unknown element, comprehension required (8.5) | `BadValue` about [`COMPREHENSION_REQUIRED`] | the same |
//! | the same in ATTACH, DETACH and ROUTING AREA UPDATE REQUEST of a mobile | ends the message | none: the message counts up to there |
//! | unknown element otherwise (8.6.1), out of sequence (8.6.2), repeated (8.6.3) | ignored | none |
//! | optional element that is incorrect (8.7.1) | taken as absent | none |
//! | conditional element (8.7.2) | `Conditional` | STATUS with cause 100 |
//!
//! The cause is a function of the error: [`gmm::cause`] and [`sm::cause`]. [`Header::parse`] reads what the answer
//! needs even where the rest of the message cannot be read.

mod codec;
pub mod gmm;
pub mod ie;
pub mod sm;
#[cfg(test)]
mod tests;

pub use codec::{Element, HalfElement};
pub use gmm::GmmMessage;
pub use sm::SmMessage;

use crate::Reader;
use crate::error::{DecodeError, DecodeErrorKind};

/// Name of the message type octet in errors.
pub const MESSAGE_TYPE: &str = "Message Type";
/// Name of the transaction identifier in errors.
pub const TRANSACTION_IDENTIFIER: &str = "Transaction Identifier";
/// Name of an unknown element that must be understood, in errors.
pub const COMPREHENSION_REQUIRED: &str = "Unknown element, comprehension required";

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the mobile to the network.
    Uplink,
    /// From the network to the mobile.
    Downlink,
}

/// Protocol discriminator of GPRS mobility management (04.07 clause 11.2.3.1.1).
pub const PD_GMM: u8 = 0x08;
/// Protocol discriminator of GPRS session management.
pub const PD_SM: u8 = 0x0a;

/// What stands in front of the elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header {
    /// Mobility management: skip indicator and message type. A message with a skip indicator other than 0 is to be
    /// ignored (04.07 clause 11.2.3.1.2).
    Gmm {
        /// Bits 5 to 8 of the first octet.
        skip: u8,
        /// The second octet.
        message_type: u8,
    },
    /// Session management: transaction identifier and message type.
    Sm {
        /// 0 to 6 without, 7 to 127 with the extension octet (04.07 clause 11.2.3.1.3).
        ti: u8,
        /// False in a message that comes from the side which allocated the transaction identifier.
        ti_flag: bool,
        /// The octet behind the identifier.
        message_type: u8,
    },
}

impl Header {
    /// Reads it, and leaves `r` in front of the first element.
    ///
    /// # Errors
    /// `Truncated`, `UnknownProtocol`, or `BadValue` about the transaction identifier: all three mean that the
    /// message is to be ignored.
    pub fn parse(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let at = r.offset();
        let first = r.u8(MESSAGE_TYPE)?;
        match first & 0x0f {
            PD_GMM => Ok(Self::Gmm { skip: first >> 4, message_type: r.u8(MESSAGE_TYPE)? }),
            PD_SM => {
                let ti_flag = first & 0x80 != 0;
                let ti = match first >> 4 & 7 {
                    7 => match r.u8(MESSAGE_TYPE)? {
                        // A value that needs no extension is taken for what it says. With bit 8 at 0 the message is to be
                        // ignored (clause 8.3.2).
                        extended @ 0x80..=0xff => extended & 0x7f,
                        wrong => {
                            let kind = DecodeErrorKind::BadValue(u32::from(wrong));
                            return Err(DecodeError::new(TRANSACTION_IDENTIFIER, at + 1, kind));
                        }
                    },
                    short => short,
                };
                Ok(Self::Sm { ti, ti_flag, message_type: r.u8(MESSAGE_TYPE)? })
            }
            other => {
                Err(DecodeError::new("Protocol Discriminator", at, DecodeErrorKind::UnknownProtocol(other)))
            }
        }
    }
}

/// A DETACH REQUEST of a mobile whose P-TMSI signature comes without its length, as in ATTACH REQUEST, instead of with it
/// (clause 9.4.5.2): the same as it should be. Three octets behind the identifier can be nothing else.
fn short_signature(direction: Direction, octets: &[u8]) -> Option<Vec<u8>> {
    const P_TMSI_SIGNATURE: u8 = 0x19;
    let (front, signature) = octets.split_at_checked(octets.len().checked_sub(3)?)?;
    match (direction, front) {
        (Direction::Uplink, [PD_GMM, 0x05, _, P_TMSI_SIGNATURE])
        | (Direction::Uplink, [PD_GMM, 0x05, _, 0x18, 0x05, _, _, _, _, _, P_TMSI_SIGNATURE]) => {
            Some([front, &[3], signature].concat())
        }
        _ => None,
    }
}

/// A layer 3 message of SAPI 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum L3Message {
    /// Mobility management.
    Gmm(GmmMessage),
    /// Session management.
    Sm {
        /// Transaction identifier, 0 to 127.
        ti: u8,
        /// False in a message that comes from the side which allocated `ti`, true in one that goes to it.
        ti_flag: bool,
        /// The message.
        message: SmMessage,
    },
}

impl L3Message {
    /// Reads a whole message.
    ///
    /// # Errors
    /// See the module's table.
    pub fn parse(direction: Direction, octets: &[u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(octets);
        match Header::parse(&mut r)? {
            Header::Gmm { skip: 0, message_type } => match short_signature(direction, octets) {
                Some(octets) => {
                    let mut r = Reader::new(&octets);
                    Header::parse(&mut r)?;
                    GmmMessage::parse(direction, message_type, r).map(Self::Gmm)
                }
                None => GmmMessage::parse(direction, message_type, r).map(Self::Gmm),
            },
            Header::Gmm { skip, .. } => Err(DecodeError::new(
                "Skip Indicator",
                0,
                DecodeErrorKind::UnknownProtocol(skip << 4 | PD_GMM),
            )),
            Header::Sm { ti, ti_flag, message_type } => {
                SmMessage::parse(direction, message_type, r).map(|message| Self::Sm { ti, ti_flag, message })
            }
        }
    }

    /// Appends the whole message.
    pub fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::Gmm(message) => {
                out.push(PD_GMM);
                message.emit(out);
            }
            Self::Sm { ti, ti_flag, message } => {
                let flag = u8::from(*ti_flag) << 7;
                match ti & 0x7f {
                    short @ 0..=6 => out.push(flag | short << 4 | PD_SM),
                    extended => out.extend([flag | 0x70 | PD_SM, 0x80 | extended]),
                }
                message.emit(out);
            }
        }
    }

    /// The message as octets.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64);
        self.emit(&mut out);
        out
    }

    /// The message's name, for logs.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Gmm(message) => message.name(),
            Self::Sm { message, .. } => message.name(),
        }
    }
}

impl From<GmmMessage> for L3Message {
    fn from(message: GmmMessage) -> Self {
        Self::Gmm(message)
    }
}
