//! GTPv0 of R97 and R98 (09.60): the header of 20 octets, and the G-PDU behind it.
//!
//! ```text
//!  version (3) PT (1) spare (3) SNN (1) | message type | length (2) | sequence number (2) | flow label (2)
//!  SNDCP N-PDULLC number (1) | spare (3) | TID (8)
//! ```
//!
//! A tunnel is named by its TID on both ends, IMSI and NSAPI; the flow label tells the flows of a GSN apart. Control and
//! user plane share one port. Messages and elements are in [`message`] and [`ie`]; what stands in an element, and the
//! causes, are those of version 1, as far as version 0 has them.

pub mod ie;
pub mod message;

pub use message::{Message, emit_datagram};

use crate::error::{DecodeError, DecodeErrorKind};
use crate::gtp::header::message_type;
use crate::id::{FlowLabel, Tid};
use core::ops::Range;

/// Octets of the header.
pub const LEN: usize = 20;

/// Version 0, protocol type GTP, spare bits set.
const VERSION_0: u8 = 0x1e;
/// Version and protocol type.
const VERSION_MASK: u8 = 0xf0;
const VERSION_GTP_0: u8 = 0x10;
const FLAG_SNN: u8 = 1;

/// The header of one message.
///
/// It was read from octets whole, so that its accessors cannot fail; where the payload lies [`Header::parse`] says beside
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Message type, one of [`message_type`].
    pub message: u8,
    /// Sequence number: of signalling that of the request, of G-PDUs that of the T-PDU in its tunnel.
    pub sequence: u16,
    /// The receiver's flow; 0 where there is none.
    pub flow: FlowLabel,
    /// SNDCP N-PDULLC number, where the SNN flag is set: for the inter-SGSN routeing area update of acknowledged mode.
    pub llc_number: Option<u8>,
    /// The octets of the TID as they came; 0 where there is no tunnel. See [`Header::tid`].
    pub tid_octets: u64,
}

impl Header {
    /// Of a message that concerns a path and no tunnel.
    #[must_use]
    pub const fn of_path(message: u8, sequence: u16) -> Self {
        Self { message, sequence, flow: FlowLabel(0), llc_number: None, tid_octets: 0 }
    }

    /// Of a message that concerns a tunnel.
    #[must_use]
    pub fn of_tunnel(message: u8, sequence: u16, tid: Tid, flow: FlowLabel) -> Self {
        Self { flow, tid_octets: tid.to_u64(), ..Self::of_path(message, sequence) }
    }

    /// The tunnel; `None` where the octets are no IMSI and NSAPI.
    #[must_use]
    pub fn tid(&self) -> Option<Tid> {
        Tid::from_u64(self.tid_octets)
    }

    /// Reads the header at the front of a datagram, and where the payload lies: the elements of a signalling message, or
    /// the T-PDU. Octets behind the length that the header states are no part of the message.
    ///
    /// # Errors
    /// `UnknownProtocol` with the first octet for another version or GTP'; `Truncated` where the header or the stated
    /// length reaches beyond the datagram.
    pub fn parse(octets: &[u8]) -> Result<(Self, Range<usize>), DecodeError> {
        if let Some(flags) = octets.first().filter(|flags| **flags & VERSION_MASK != VERSION_GTP_0) {
            return Err(DecodeError::new("Version", 0, DecodeErrorKind::UnknownProtocol(*flags)));
        }
        let Some((header, rest)) = octets.split_first_chunk::<LEN>() else {
            let kind = DecodeErrorKind::Truncated { needed: LEN, have: octets.len() };
            return Err(DecodeError::new("GTP header", 0, kind));
        };
        let &[flags, message, l0, l1, s0, s1, f0, f1, number, _, _, _, t0, t1, t2, t3, t4, t5, t6, t7] =
            header;
        let length = usize::from(u16::from_be_bytes([l0, l1]));
        if length > rest.len() {
            let kind = DecodeErrorKind::Truncated { needed: length, have: rest.len() };
            return Err(DecodeError::new("Length", 2, kind));
        }
        let header = Self {
            message,
            sequence: u16::from_be_bytes([s0, s1]),
            flow: FlowLabel(u16::from_be_bytes([f0, f1])),
            llc_number: (flags & FLAG_SNN != 0).then_some(number),
            tid_octets: u64::from_be_bytes([t0, t1, t2, t3, t4, t5, t6, t7]),
        };
        Ok((header, LEN..LEN + length))
    }

    /// Writes the header of a message with `payload_len` octets behind it into the front of `room`; false, with nothing
    /// written, where there is too little room or the length does not fit its field.
    #[must_use]
    pub fn emit(&self, payload_len: usize, room: &mut [u8]) -> bool {
        let (Ok(length), Some(room)) = (u16::try_from(payload_len), room.first_chunk_mut::<LEN>()) else {
            return false;
        };
        let [l0, l1] = length.to_be_bytes();
        let [s0, s1] = self.sequence.to_be_bytes();
        let [f0, f1] = self.flow.0.to_be_bytes();
        let [t0, t1, t2, t3, t4, t5, t6, t7] = self.tid_octets.to_be_bytes();
        let flags = VERSION_0 | u8::from(self.llc_number.is_some());
        let number = self.llc_number.unwrap_or(0xff);
        *room = [
            flags,
            self.message,
            l0,
            l1,
            s0,
            s1,
            f0,
            f1,
            number,
            0xff,
            0xff,
            0xff,
            t0,
            t1,
            t2,
            t3,
            t4,
            t5,
            t6,
            t7,
        ];
        true
    }
}

/// The header of a T-PDU through a tunnel.
#[must_use]
pub fn g_pdu(tid: Tid, flow: FlowLabel, sequence: u16) -> Header {
    Header::of_tunnel(message_type::G_PDU, sequence, tid, flow)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Nsapi;

    /// A G-PDU with four octets of T-PDU, and one octet more that is no part of it.
    const G_PDU: [u8; 25] = [
        0x1e, 0xff, 0x00, 0x04, 0x12, 0x34, 0x00, 0x2a, 0xff, 0xff, 0xff, 0xff, // up to the TID
        0x42, 0x00, 0x01, 0x21, 0x43, 0x65, 0x87, 0x59, // TID
        0x45, 0x00, 0x00, 0x1c, 0x99,
    ];

    #[test]
    fn taken_apart_and_put_together() {
        let (header, range) = Header::parse(&G_PDU).unwrap();
        let tid = Tid { imsi: "240010123456789".parse().unwrap(), nsapi: Nsapi(5) };
        assert_eq!((header, range), (g_pdu(tid, FlowLabel(0x2a), 0x1234), 20..24));
        assert_eq!(header.tid(), Some(tid));
        let mut again = G_PDU;
        again[..LEN].fill(0);
        assert!(header.emit(4, &mut again));
        assert_eq!(again, G_PDU);
        let numbered = Header { llc_number: Some(7), ..header };
        assert!(numbered.emit(4, &mut again));
        assert_eq!((again[0], again[8]), (0x1f, 7));
        assert_eq!(Header::parse(&again).unwrap().0, numbered);
    }

    #[test]
    fn what_is_no_header() {
        let kind = |octets: &[u8]| Header::parse(octets).unwrap_err().kind;
        assert_eq!(kind(&[]), DecodeErrorKind::Truncated { needed: LEN, have: 0 });
        assert_eq!(kind(&G_PDU[..19]), DecodeErrorKind::Truncated { needed: LEN, have: 19 });
        assert_eq!(kind(&G_PDU[..23]), DecodeErrorKind::Truncated { needed: 4, have: 3 });
        // Version 1, and GTP' of version 0.
        assert_eq!(kind(&[0x32, 1]), DecodeErrorKind::UnknownProtocol(0x32));
        assert_eq!(kind(&[0x0f, 1]), DecodeErrorKind::UnknownProtocol(0x0f));
        let header = Header::of_path(1, 2);
        assert!(!header.emit(0, &mut [0; 19]));
        assert!(!header.emit(0x1_0000, &mut [0; 20]));
        assert!(header.emit(0xffff, &mut [0; 20]));
    }
}
