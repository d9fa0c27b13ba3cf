//! Blocks of AGCH and PCH that packet access needs: 23 octets, a pseudo length first and rest octets last (04.08 clauses
//! 9.1.18 to 9.1.24 and 10.5.2 [44.018]).

mod assignment;
mod paging;

pub use assignment::{
    HoppingChannel, IaRestOctets, ImmediateAssignment, ImmediateAssignmentExtended,
    ImmediateAssignmentReject, ImmediateDownlink, ImmediateDownlinkTbf, ImmediateSingleBlock,
    ImmediateUplinkTbf, IndirectChannel, PacketChannel, PacketChannelFrequencies, RejectedRequest,
    RequestReference, Resource, SecondAssignment,
};
pub use paging::{
    ChannelsNeeded, Notification, P1RestOctets, P2RestOctets, P3RestOctets, PagedMobile, PagingRequest1,
    PagingRequest2, PagingRequest3, PagingRest,
};

use super::csn::{BitReader, BitWriter};
use crate::cursor::Reader;
use crate::error::{DecodeError, DecodeErrorKind};

/// Octets of a block.
pub const BLOCK_LEN: usize = 23;
/// A block.
pub type CcchOctets = [u8; BLOCK_LEN];

/// Protocol discriminator of radio resource management, skip indicator 0 (24.007).
const RADIO_RESOURCES: u8 = 0x06;
/// The bits of the pseudo length that are no length (clause 10.5.2.19).
const PSEUDO: u8 = 0x01;

/// A message of AGCH or PCH.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CcchMessage {
    /// Clause 9.1.18.
    ImmediateAssignment(ImmediateAssignment),
    /// Clause 9.1.19.
    ImmediateAssignmentExtended(ImmediateAssignmentExtended),
    /// Clause 9.1.20.
    ImmediateAssignmentReject(ImmediateAssignmentReject),
    /// Clause 9.1.22.
    PagingRequest1(PagingRequest1),
    /// Clause 9.1.23.
    PagingRequest2(PagingRequest2),
    /// Clause 9.1.24.
    PagingRequest3(PagingRequest3),
}

/// A message in its two parts: octets that the pseudo length counts, and rest octets.
trait Parts: Sized {
    /// Reads the octets behind the message type, and the rest octets.
    fn read(body: &mut Reader<'_>, rest: &mut BitReader<'_>) -> Result<Self, DecodeError>;
    /// Appends the octets behind the message type.
    fn write_body(&self, body: &mut Vec<u8>);
    /// Writes the rest octets.
    fn write_rest(&self, rest: &mut BitWriter<'_>);
}

macro_rules! messages {
    ($($value:literal => $variant:ident($content:ty), $text:literal;)*) => {
        impl CcchMessage {
            /// Message type (clause 10.4).
            #[must_use]
            pub const fn message_type(&self) -> u8 {
                match self { $(Self::$variant(_) => $value,)* }
            }

            /// Its name in the specification.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $text,)* }
            }

            fn read(
                message_type: u8,
                body: &mut Reader<'_>,
                rest: &mut BitReader<'_>,
            ) -> Result<Self, DecodeError> {
                match message_type {
                    $($value => Ok(Self::$variant(Parts::read(body, rest)?)),)*
                    other => Err(DecodeError::new("message type", 2, DecodeErrorKind::UnknownMessage(other))),
                }
            }

            /// Writes the block. None where the message does not fit.
            #[must_use]
            pub fn emit(&self) -> Option<CcchOctets> {
                match self { $(Self::$variant(content) => assemble($value, content),)* }
            }
        }
        $(impl From<$content> for CcchMessage {
            fn from(content: $content) -> Self {
                Self::$variant(content)
            }
        })*
    };
}
messages! {
    0x3f => ImmediateAssignment(ImmediateAssignment), "Immediate Assignment";
    0x39 => ImmediateAssignmentExtended(ImmediateAssignmentExtended), "Immediate Assignment Extended";
    0x3a => ImmediateAssignmentReject(ImmediateAssignmentReject), "Immediate Assignment Reject";
    0x21 => PagingRequest1(PagingRequest1), "Paging Request Type 1";
    0x22 => PagingRequest2(PagingRequest2), "Paging Request Type 2";
    0x24 => PagingRequest3(PagingRequest3), "Paging Request Type 3";
}

impl CcchMessage {
    /// Reads a block.
    ///
    /// # Errors
    /// `UnknownProtocol` and `UnknownMessage` for what is not one of these, `BadLength` about the pseudo length,
    /// `Truncated` and `BadValue` about an element.
    pub fn parse(block: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(block);
        let pseudo = reader.u8("L2 Pseudo Length")?;
        let len = usize::from(pseudo >> 2);
        if pseudo & 0x03 != PSEUDO || len < 2 || len >= block.len() {
            return Err(DecodeError::new("L2 Pseudo Length", 0, DecodeErrorKind::BadLength(len)));
        }
        let (counted, rest) = block.split_at(1 + len);
        let mut body = Reader::at(counted, 1);
        let discriminator = body.u8("protocol discriminator")?;
        if discriminator != RADIO_RESOURCES {
            let kind = DecodeErrorKind::UnknownProtocol(discriminator);
            return Err(DecodeError::new("protocol discriminator", 1, kind));
        }
        let message_type = body.u8("message type")?;
        let mut bits = BitReader::new(rest);
        // Elements that are not known stand behind the known ones, and are skipped by the pseudo length.
        Self::read(message_type, &mut body, &mut bits)
    }
}

fn assemble<P: Parts>(message_type: u8, content: &P) -> Option<CcchOctets> {
    let mut body = vec![RADIO_RESOURCES, message_type];
    content.write_body(&mut body);
    let mut block = [0; BLOCK_LEN];
    let (pseudo, room) = block.split_first_mut()?;
    *pseudo = u8::try_from(body.len()).ok()? << 2 | PSEUDO;
    let (counted, rest) = room.split_at_mut_checked(body.len())?;
    counted.copy_from_slice(&body);
    let mut bits = BitWriter::new(rest);
    content.write_rest(&mut bits);
    bits.fits().then_some(block)
}
