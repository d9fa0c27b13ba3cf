//! RLC/MAC control blocks: MAC header, optional octets, one message in the rest of 23 octets (04.60 clause 10.3
//! [44.060]). They are coded with CS-1.

use super::coding::CONTROL_BLOCK;
use super::csn::{BitReader, BitWriter, Csn, sequence};
use super::downlink::DownlinkMessage;
use super::element::GlobalTfi;
use super::uplink::UplinkMessage;
use super::value::{BlockPower, Rrbp, Rti, Tfi, Usf};
use crate::error::{DecodeError, DecodeErrorKind};

/// A control block as it is sent.
pub type ControlOctets = [u8; CONTROL_BLOCK];

/// MAC header and optional octets of a downlink control block (clause 10.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DownlinkControlHeader {
    /// Whose the next uplink block is.
    pub usf: Usf,
    /// A poll (S/P bit), and the uplink block that is reserved for the answer.
    pub poll: Option<Rrbp>,
    /// The optional octets: a message in segments, or a block to one TBF.
    pub optional: Option<OptionalOctets>,
}

/// The optional octets (clause 10.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OptionalOctets {
    /// Reduced block sequence number: the second segment.
    pub is_second: bool,
    /// The segments of one message have the same.
    pub rti: Rti,
    /// The last segment.
    pub is_final: bool,
    /// To which TBF, where the second octet is there.
    pub address: Option<ControlAddress>,
}

/// Power reduction and TBF of a control block (clause 10.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ControlAddress {
    /// Power reduction.
    pub power: BlockPower,
    /// The TBF.
    pub tfi: GlobalTfi,
}

impl Csn for ControlAddress {
    const NAME: &'static str = "PR, TFI and D";

    fn read(bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let (power, tfi) = (BlockPower::read(bits)?, Tfi::read(bits)?);
        let is_downlink = bits.flag("D")?;
        Ok(Self { power, tfi: if is_downlink { GlobalTfi::Downlink(tfi) } else { GlobalTfi::Uplink(tfi) } })
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        self.power.write(bits);
        self.tfi.tfi().write(bits);
        bits.flag(matches!(self.tfi, GlobalTfi::Downlink(_)));
    }
}

// The address control bit stands before the second octet, as an option does.
sequence!(OptionalOctets, "RBSN, RTI, FS and AC": is_second, rti, is_final, address);

/// Payload types (clause 10.4.7).
const CONTROL: u64 = 1;
const CONTROL_WITH_OPTIONAL: u64 = 2;

impl DownlinkControlHeader {
    /// A header that polls nobody and has no optional octets.
    #[must_use]
    pub const fn new(usf: Usf) -> Self {
        Self { usf, poll: None, optional: None }
    }

    /// Reads the header; the message starts at the second value, in octets.
    ///
    /// # Errors
    /// `BadValue` about another payload type, `Truncated`.
    pub fn parse(block: &[u8]) -> Result<(Self, usize), DecodeError> {
        let mut bits = BitReader::new(block);
        let payload = bits.take(2, "Payload Type")?;
        let rrbp = Rrbp::read(&mut bits)?;
        let poll = bits.flag("S/P")?.then_some(rrbp);
        let usf = Usf::read(&mut bits)?;
        let optional = match payload {
            CONTROL => None,
            CONTROL_WITH_OPTIONAL => Some(OptionalOctets::read(&mut bits)?),
            other => return Err(bad_payload(other)),
        };
        let len = 1 + optional.map_or(0, |octets| 1 + usize::from(octets.address.is_some()));
        Ok((Self { usf, poll, optional }, len))
    }

    /// True where the block has a part of a message.
    #[must_use]
    pub const fn is_segment(&self) -> bool {
        match self.optional {
            Some(octets) => octets.is_second || !octets.is_final,
            None => false,
        }
    }

    /// Writes the header and says how many octets it has.
    fn emit(&self, block: &mut ControlOctets) -> usize {
        let mut bits = BitWriter::new(block);
        bits.put(if self.optional.is_some() { CONTROL_WITH_OPTIONAL } else { CONTROL }, 2);
        self.poll.unwrap_or(Rrbp::N13).write(&mut bits);
        bits.flag(self.poll.is_some());
        self.usf.write(&mut bits);
        let Some(octets) = self.optional else { return 1 };
        octets.write(&mut bits);
        2 + usize::from(octets.address.is_some())
    }
}

fn bad_payload(payload: u64) -> DecodeError {
    let kind = DecodeErrorKind::BadValue(u32::try_from(payload).unwrap_or_default());
    DecodeError::new("Payload Type", 0, kind)
}

/// A downlink control block with a whole message.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DownlinkControlBlock {
    /// MAC header and optional octets.
    pub header: DownlinkControlHeader,
    /// The message.
    pub message: DownlinkMessage,
}

impl DownlinkControlBlock {
    /// Reads a block.
    ///
    /// # Errors
    /// What the header's and the message's `parse` say, with the offset from the start of the block. `Conditional`
    /// about a segment, which is no whole message: [`Self::parse_segments`] reads two.
    pub fn parse(block: &[u8]) -> Result<Self, DecodeError> {
        let (header, start) = DownlinkControlHeader::parse(block)?;
        if header.is_segment() {
            return Err(DecodeError::new("FS", 1, DecodeErrorKind::Conditional));
        }
        let content = block.get(start..).unwrap_or_default();
        let message = DownlinkMessage::parse(content).map_err(|error| error.shifted(start))?;
        Ok(Self { header, message })
    }

    /// Writes the block. None where the message does not fit.
    #[must_use]
    pub fn emit(&self) -> Option<ControlOctets> {
        let mut block = [0; CONTROL_BLOCK];
        let start = self.header.emit(&mut block);
        block.get_mut(start..).is_some_and(|room| self.message.emit(room)).then_some(block)
    }
}

/// Segments of one message (clause 9.1.11a).
impl DownlinkControlBlock {
    /// Reads a message from both of its blocks.
    ///
    /// # Errors
    /// `OutOfSequence` where they are no first and last segment of one message, and what the `parse` of headers and
    /// message say. An offset within the message is from its start.
    pub fn parse_segments(first: &[u8], second: &[u8]) -> Result<DownlinkMessage, DecodeError> {
        let (one, one_at) = DownlinkControlHeader::parse(first)?;
        let (two, two_at) = DownlinkControlHeader::parse(second)?;
        match (one.optional, two.optional) {
            (Some(a), Some(b))
                if a.rti == b.rti && !a.is_second && b.is_second && !a.is_final && b.is_final => {}
            _ => return Err(DecodeError::new("RTI", 1, DecodeErrorKind::OutOfSequence)),
        }
        let content =
            [(first, one_at), (second, two_at)].map(|(block, at)| block.get(at..).unwrap_or_default());
        DownlinkMessage::parse(&content.concat())
    }

    /// Writes a message in two blocks, the first of which has `header` in its MAC header. The second is for the same TBF
    /// and polls as `header` does; the first polls nobody. None where two blocks do not hold it.
    #[must_use]
    pub fn emit_segments(
        header: DownlinkControlHeader,
        rti: Rti,
        message: &DownlinkMessage,
    ) -> Option<[ControlOctets; 2]> {
        let address = header.optional.and_then(|octets| octets.address);
        let optional = |is_second| OptionalOctets { is_second, rti, is_final: is_second, address };
        let one = DownlinkControlHeader { poll: None, optional: Some(optional(false)), ..header };
        let two = DownlinkControlHeader { optional: Some(optional(true)), ..header };
        let mut blocks = [[0; CONTROL_BLOCK]; 2];
        let [first, second] = &mut blocks;
        let (one_at, two_at) = (one.emit(first), two.emit(second));
        let (first, second) = (first.get_mut(one_at..)?, second.get_mut(two_at..)?);
        let mut content = [0; 2 * CONTROL_BLOCK];
        let content = content.get_mut(..first.len() + second.len())?;
        if !message.emit(content) {
            return None;
        }
        let (head, tail) = content.split_at(first.len());
        first.copy_from_slice(head);
        second.copy_from_slice(tail);
        Some(blocks)
    }
}

/// An uplink control block (clause 10.3.2).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UplinkControlBlock {
    /// The access burst was sent more than once (R bit).
    pub is_retry: bool,
    /// The message.
    pub message: UplinkMessage,
}

impl UplinkControlBlock {
    /// Reads a block.
    ///
    /// # Errors
    /// `BadValue` about another payload type, `Truncated`, and what [`UplinkMessage::parse`] says, with the offset from
    /// the start of the block.
    pub fn parse(block: &[u8]) -> Result<Self, DecodeError> {
        let mut bits = BitReader::new(block);
        let payload = bits.take(2, "Payload Type")?;
        bits.take(5, "spare")?;
        let is_retry = bits.flag("R")?;
        if payload != CONTROL {
            return Err(bad_payload(payload));
        }
        let content = block.get(1..).unwrap_or_default();
        let message = UplinkMessage::parse(content).map_err(|error| error.shifted(1))?;
        Ok(Self { is_retry, message })
    }

    /// Writes the block. None where the message does not fit.
    #[must_use]
    pub fn emit(&self) -> Option<ControlOctets> {
        let mut block = [0; CONTROL_BLOCK];
        let (header, content) = block.split_first_mut()?;
        *header = 0x40 | u8::from(self.is_retry);
        self.message.emit(content).then_some(block)
    }
}
