//! The G-PDU: a T-PDU behind a GTPv1 header (29.060 clauses 6 and 9.3). The hot path of the Gn interface.
//!
//! Nothing here allocates. A driver takes [`GPdu::payload`] out of its frame on receipt and puts
//! [`GPdu::buffer_len`] octets in front of a T-PDU to send it.

use crate::error::{DecodeError, DecodeErrorKind};
use crate::gtp::header::{Extensions, Header, Repr, message_type};
use crate::id::Teid;
use core::ops::Range;

/// The header of a G-PDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GPdu {
    /// The receiver's endpoint.
    pub teid: Teid,
    /// Sequence number, where the header has one.
    pub sequence: Option<u16>,
    /// N-PDU number, where the header has one (29.060 clause 9.3.1.2: for the inter-SGSN handover of acknowledged mode).
    pub npdu_number: Option<u8>,
}

impl GPdu {
    /// Reads a G-PDU: its header, what the extension headers said, and where the T-PDU lies.
    ///
    /// # Errors
    /// Those of [`Header::parse`]; `UnknownMessage` where the message is no G-PDU.
    pub fn parse(octets: &[u8]) -> Result<(Self, Extensions, Range<usize>), DecodeError> {
        let header = Header::parse(octets)?;
        if header.message != message_type::G_PDU {
            let kind = DecodeErrorKind::UnknownMessage(header.message);
            return Err(DecodeError::new("Message Type", 1, kind));
        }
        Ok((Self::of(&header), header.extensions, header.payload_range()))
    }

    /// The same from a header that was read already.
    #[must_use]
    pub const fn of(header: &Header) -> Self {
        Self { teid: header.teid, sequence: header.sequence, npdu_number: header.npdu_number }
    }

    const fn repr(&self) -> Repr {
        Repr {
            message: message_type::G_PDU,
            teid: self.teid,
            sequence: self.sequence,
            npdu_number: self.npdu_number,
        }
    }

    /// Octets of the header: 8, or 12 with a sequence or N-PDU number.
    #[must_use]
    pub const fn buffer_len(&self) -> usize {
        self.repr().buffer_len()
    }

    /// Writes the header of a T-PDU of `t_pdu_len` octets into the front of `room`; false, with nothing written,
    /// where there is too little room or the length does not fit its field.
    #[must_use]
    pub fn emit(&self, t_pdu_len: usize, room: &mut [u8]) -> bool {
        self.repr().emit(t_pdu_len, room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first octets of a G-PDU of a real phone's ping, cut after 20 octets of the T-PDU, with the length adapted.
    const PING: [u8; 32] = [
        0x32, 0xff, 0x00, 0x18, 0x00, 0x00, 0x00, 0x01, 0x00, 0x01, 0x00, 0x00, // header
        0x45, 0x00, 0x00, 0x54, 0xed, 0x51, 0x40, 0x00, 0x40, 0x01, 0x01, 0x44, // IPv4
        0xac, 0x10, 0xde, 0x01, 0xc0, 0x00, 0x02, 0x01,
    ];

    #[test]
    fn taken_apart_and_put_together() {
        let (g_pdu, extensions, range) = GPdu::parse(&PING).unwrap();
        assert_eq!(g_pdu, GPdu { teid: Teid(1), sequence: Some(1), npdu_number: None });
        assert_eq!((extensions, range.clone()), (Extensions::default(), 12..32));
        let mut again = PING;
        again[..12].fill(0);
        assert!(g_pdu.emit(range.len(), &mut again));
        assert_eq!(again, PING);
    }

    #[test]
    fn a_signalling_message_is_no_g_pdu() {
        let kind = GPdu::parse(&[0x30, 26, 0, 0, 0, 0, 0, 0]).unwrap_err().kind;
        assert_eq!(kind, DecodeErrorKind::UnknownMessage(26));
    }
}
