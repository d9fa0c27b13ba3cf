//! The GTPv1 header with its extension headers (29.060 clause 6).
//!
//! ```text
//!  version (3) PT (1) spare (1) E S PN | message type | length (2) | TEID (4)
//!  [ sequence number (2) | N-PDU number | next extension header type ]      where any of E, S, PN is set
//!  [ length in units of 4 octets | content | next extension header type ]*  where E is set
//! ```
//!
//! [`Header`] is plain: it was parsed from octets whole, so that its accessors cannot fail, and it holds where the
//! payload lies, not the payload.

use crate::cursor::Reader;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::id::Teid;
use core::ops::Range;

/// Octets of the header with no optional field.
pub const LEN_SHORT: usize = 8;
/// Octets of the header with the optional fields and no extension header.
pub const LEN_LONG: usize = 12;

/// Version 1 and protocol type GTP, no flag.
const VERSION_1: u8 = 0x30;
/// Version and protocol type.
const VERSION_MASK: u8 = 0xf0;
const FLAG_E: u8 = 4;
const FLAG_S: u8 = 2;
const FLAG_PN: u8 = 1;

/// Message types (29.060 clause 7.1).
pub mod message_type {
    /// Echo Request.
    pub const ECHO_REQUEST: u8 = 1;
    /// Echo Response.
    pub const ECHO_RESPONSE: u8 = 2;
    /// Version Not Supported.
    pub const VERSION_NOT_SUPPORTED: u8 = 3;
    /// Create PDP Context Request.
    pub const CREATE_REQUEST: u8 = 16;
    /// Create PDP Context Response.
    pub const CREATE_RESPONSE: u8 = 17;
    /// Update PDP Context Request.
    pub const UPDATE_REQUEST: u8 = 18;
    /// Update PDP Context Response.
    pub const UPDATE_RESPONSE: u8 = 19;
    /// Delete PDP Context Request.
    pub const DELETE_REQUEST: u8 = 20;
    /// Delete PDP Context Response.
    pub const DELETE_RESPONSE: u8 = 21;
    /// Error Indication.
    pub const ERROR_INDICATION: u8 = 26;
    /// PDU Notification Request.
    pub const PDU_NOTIFICATION_REQUEST: u8 = 27;
    /// PDU Notification Response.
    pub const PDU_NOTIFICATION_RESPONSE: u8 = 28;
    /// PDU Notification Reject Request.
    pub const PDU_NOTIFICATION_REJECT_REQUEST: u8 = 29;
    /// PDU Notification Reject Response.
    pub const PDU_NOTIFICATION_REJECT_RESPONSE: u8 = 30;
    /// Supported Extension Headers Notification.
    pub const SUPPORTED_EXTENSION_HEADERS: u8 = 31;
    /// G-PDU: a T-PDU with its header.
    pub const G_PDU: u8 = 255;
}

/// Types of extension headers (29.060 clause 6, figure 3).
pub mod extension_type {
    /// No more extension headers.
    pub const NONE: u8 = 0;
    /// PDCP PDU number: the sequence number of a PDU that was not acknowledged before a relocation.
    pub const PDCP_PDU_NUMBER: u8 = 0xc0;
    /// Those that this implementation comprehends, as its Supported Extension Headers Notification lists them.
    pub const SUPPORTED: &[u8] = &[PDCP_PDU_NUMBER];
}

/// What the extension headers of one message said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extensions {
    /// How many there were.
    pub count: u8,
    /// The content of the PDCP PDU number header.
    pub pdcp_pdu_number: Option<u16>,
    /// The first type that is not known here although its bit 8 asks an endpoint to comprehend it: the message must
    /// not be processed (29.060 clause 6).
    pub not_comprehended: Option<u8>,
}

/// The header of one message, and where its payload lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Message type, one of [`message_type`].
    pub message: u8,
    /// The receiver's endpoint; 0 where it is not known yet.
    pub teid: Teid,
    /// Sequence number, where the S flag is set.
    pub sequence: Option<u16>,
    /// N-PDU number, where the PN flag is set.
    pub npdu_number: Option<u8>,
    /// What the extension headers said.
    pub extensions: Extensions,
    payload_start: usize,
    payload_end: usize,
}

impl Header {
    /// The endpoint that stands where version 1 has it, without a look at the rest: good enough for a guess.
    #[inline]
    #[must_use]
    pub fn glance(octets: &[u8]) -> Option<Teid> {
        octets.get(4..)?.first_chunk().map(|octets| Teid(u32::from_be_bytes(*octets)))
    }

    /// Reads the header at the front of a datagram. Octets behind the length that the header states are no part of
    /// the message.
    ///
    /// # Errors
    /// `UnknownProtocol` with the first octet for another version or GTP'; `Truncated` where the header, its
    /// extension headers or the stated length reach beyond the datagram; `BadLength` for an extension header of
    /// length 0.
    pub fn parse(octets: &[u8]) -> Result<Self, DecodeError> {
        let &[flags, message, length_high, length_low, t0, t1, t2, t3, ref rest @ ..] = octets else {
            return Err(too_short(octets));
        };
        if flags & VERSION_MASK != VERSION_1 {
            return Err(DecodeError::new("Version", 0, DecodeErrorKind::UnknownProtocol(flags)));
        }
        let length = usize::from(u16::from_be_bytes([length_high, length_low]));
        if length > rest.len() {
            let kind = DecodeErrorKind::Truncated { needed: length, have: rest.len() };
            return Err(DecodeError::new("Length", 2, kind));
        }
        let mut header = Self {
            message,
            teid: Teid(u32::from_be_bytes([t0, t1, t2, t3])),
            sequence: None,
            npdu_number: None,
            extensions: Extensions::default(),
            payload_start: LEN_SHORT,
            payload_end: LEN_SHORT + length,
        };
        if flags & (FLAG_E | FLAG_S | FLAG_PN) != 0 {
            header.parse_options(flags, octets)?;
        }
        Ok(header)
    }

    fn parse_options(&mut self, flags: u8, octets: &[u8]) -> Result<(), DecodeError> {
        let octets = octets.get(..self.payload_end).unwrap_or_default();
        let mut r = Reader::at(octets, LEN_SHORT);
        let [s0, s1, npdu_number, next] = r.array("Sequence Number")?;
        self.sequence = (flags & FLAG_S != 0).then_some(u16::from_be_bytes([s0, s1]));
        self.npdu_number = (flags & FLAG_PN != 0).then_some(npdu_number);
        if flags & FLAG_E != 0 {
            self.parse_extensions(next, &mut r)?;
        }
        self.payload_start = r.offset();
        Ok(())
    }

    fn parse_extensions(&mut self, mut next: u8, r: &mut Reader<'_>) -> Result<(), DecodeError> {
        const IE: &str = "Extension Header";
        while next != extension_type::NONE {
            let kind = next;
            let units = usize::from(r.u8(IE)?);
            let Some(content_len) = (units * 4).checked_sub(2) else {
                return Err(r.error(IE, DecodeErrorKind::BadLength(0)));
            };
            let content = r.take(content_len, IE)?;
            next = r.u8(IE)?;
            self.extensions.count = self.extensions.count.saturating_add(1);
            match (kind, content) {
                (extension_type::PDCP_PDU_NUMBER, [high, low, ..]) => {
                    self.extensions.pdcp_pdu_number = Some(u16::from_be_bytes([*high, *low]));
                }
                // Bit 8 of the type: an endpoint has to comprehend it.
                (_, _) if kind & 0x80 != 0 => {
                    self.extensions.not_comprehended = self.extensions.not_comprehended.or(Some(kind));
                }
                (_, _) => {}
            }
        }
        Ok(())
    }

    /// Where the payload lies in the datagram: the elements of a signalling message, or the T-PDU.
    #[must_use]
    pub const fn payload_range(&self) -> Range<usize> {
        self.payload_start..self.payload_end
    }

    /// The payload, from the datagram that the header was read from.
    #[must_use]
    pub fn payload<'a>(&self, octets: &'a [u8]) -> &'a [u8] {
        octets.get(self.payload_range()).unwrap_or_default()
    }
}

/// The version decides even where the rest of the header is missing.
fn too_short(octets: &[u8]) -> DecodeError {
    match octets.first() {
        Some(flags) if flags & VERSION_MASK != VERSION_1 => {
            DecodeError::new("Version", 0, DecodeErrorKind::UnknownProtocol(*flags))
        }
        _ => {
            let kind = DecodeErrorKind::Truncated { needed: LEN_SHORT, have: octets.len() };
            DecodeError::new("GTP header", 0, kind)
        }
    }
}

/// What a header without extension headers says, to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repr {
    /// Message type, one of [`message_type`].
    pub message: u8,
    /// The receiver's endpoint.
    pub teid: Teid,
    /// Sequence number; signalling always has one (29.060 clause 8.2).
    pub sequence: Option<u16>,
    /// N-PDU number.
    pub npdu_number: Option<u8>,
}

/// An extension header to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtensionHeader<'a> {
    /// Its type, not 0.
    pub kind: u8,
    /// Its content: 4n - 2 octets.
    pub content: &'a [u8],
}

impl Repr {
    /// Octets that [`Repr::emit`] writes: 8 or 12.
    #[must_use]
    pub const fn buffer_len(&self) -> usize {
        if self.sequence.is_some() || self.npdu_number.is_some() { LEN_LONG } else { LEN_SHORT }
    }

    fn flags(&self) -> u8 {
        let mut flags = VERSION_1;
        if self.sequence.is_some() {
            flags |= FLAG_S;
        }
        if self.npdu_number.is_some() {
            flags |= FLAG_PN;
        }
        flags
    }

    /// The header in front of `payload_len` octets, as twelve octets of which the first [`Repr::buffer_len`] count.
    /// `None` where the length field cannot hold the sum.
    #[must_use]
    fn octets(&self, flags: u8, following: usize, next: u8) -> Option<[u8; LEN_LONG]> {
        let [l0, l1] = u16::try_from(following).ok()?.to_be_bytes();
        let [t0, t1, t2, t3] = self.teid.0.to_be_bytes();
        let [s0, s1] = self.sequence.unwrap_or(0).to_be_bytes();
        let npdu_number = self.npdu_number.unwrap_or(0);
        Some([flags, self.message, l0, l1, t0, t1, t2, t3, s0, s1, npdu_number, next])
    }

    /// Writes the header of a message with `payload_len` octets behind it into the front of `room`; false, with
    /// nothing written, where there is too little room or the length does not fit its field.
    #[must_use]
    pub fn emit(&self, payload_len: usize, room: &mut [u8]) -> bool {
        let len = self.buffer_len();
        let following = payload_len.saturating_add(len - LEN_SHORT);
        let Some(octets) = self.octets(self.flags(), following, extension_type::NONE) else { return false };
        match (room.get_mut(..len), octets.get(..len)) {
            (Some(room), Some(octets)) => {
                room.copy_from_slice(octets);
                true
            }
            _ => false,
        }
    }

    /// Appends a message with extension headers; false, with nothing written, where a length does not fit its field
    /// or an extension header's content is not 4n - 2 octets.
    #[must_use]
    pub fn emit_extended(
        &self,
        extensions: &[ExtensionHeader<'_>],
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> bool {
        let mut chain = Vec::new();
        for (at, extension) in extensions.iter().enumerate() {
            let len = extension.content.len() + 2;
            let Ok(units) = u8::try_from(len / 4) else { return false };
            if len % 4 != 0 || extension.kind == extension_type::NONE {
                return false;
            }
            chain.push(units);
            chain.extend_from_slice(extension.content);
            chain.push(extensions.get(at + 1).map_or(extension_type::NONE, |next| next.kind));
        }
        let first = extensions.first().map_or(extension_type::NONE, |extension| extension.kind);
        let following = LEN_LONG - LEN_SHORT + chain.len() + payload.len();
        let Some(octets) = self.octets(self.flags() | FLAG_E, following, first) else { return false };
        out.extend_from_slice(&octets);
        out.extend_from_slice(&chain);
        out.extend_from_slice(payload);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPR: Repr =
        Repr { message: message_type::G_PDU, teid: Teid(0x1234_5678), sequence: None, npdu_number: None };

    #[test]
    fn short_and_long() {
        let mut room = [0xaa; 12];
        assert!(REPR.emit(4, &mut room));
        assert_eq!(room, [0x30, 255, 0, 4, 0x12, 0x34, 0x56, 0x78, 0xaa, 0xaa, 0xaa, 0xaa]);
        let repr = Repr { sequence: Some(0x0102), npdu_number: Some(9), ..REPR };
        assert!(repr.emit(0, &mut room));
        assert_eq!(room, [0x33, 255, 0, 4, 0x12, 0x34, 0x56, 0x78, 1, 2, 9, 0]);
        let header = Header::parse(&room).unwrap();
        assert_eq!((header.sequence, header.npdu_number), (Some(0x0102), Some(9)));
        assert_eq!(header.payload_range(), 12..12);
        assert_eq!((Header::glance(&room), Header::glance(&room[..7])), (Some(header.teid), None));
        assert!(!repr.emit(0xfffc, &mut room));
        assert!(!repr.emit(0, &mut room[..11]));
    }

    #[test]
    fn octets_behind_the_length_are_not_payload() {
        let octets = [0x30, 255, 0, 1, 0, 0, 0, 1, 0x45, 0xff];
        assert_eq!(Header::parse(&octets).unwrap().payload(&octets), &[0x45]);
    }

    #[test]
    fn the_chain_of_extension_headers() {
        let mut octets = Vec::new();
        let chain = [
            ExtensionHeader { kind: 0xc0, content: &[0x01, 0x02] },
            ExtensionHeader { kind: 0x41, content: &[1, 2, 3, 4, 5, 6] },
            ExtensionHeader { kind: 0x81, content: &[0, 0] },
            ExtensionHeader { kind: 0x82, content: &[0, 0] },
        ];
        assert!(REPR.emit_extended(&chain, b"T-PDU", &mut octets));
        let header = Header::parse(&octets).unwrap();
        assert_eq!(header.payload(&octets), b"T-PDU");
        assert_eq!(
            header.extensions,
            Extensions { count: 4, pdcp_pdu_number: Some(0x0102), not_comprehended: Some(0x81) }
        );
        assert_eq!(header.sequence, None);
        assert!(!REPR.emit_extended(&[ExtensionHeader { kind: 1, content: &[0] }], &[], &mut octets));
    }

    #[test]
    fn what_is_refused() {
        let kind = |octets: &[u8]| Header::parse(octets).unwrap_err().kind;
        assert_eq!(kind(&[]), DecodeErrorKind::Truncated { needed: 8, have: 0 });
        assert_eq!(kind(&[0x30, 255, 0, 0, 0, 0, 0]), DecodeErrorKind::Truncated { needed: 8, have: 7 });
        assert_eq!(kind(&[0x1e]), DecodeErrorKind::UnknownProtocol(0x1e));
        assert_eq!(kind(&[0x20, 1, 0, 0, 0, 0, 0, 0]), DecodeErrorKind::UnknownProtocol(0x20));
        assert_eq!(kind(&[0x48, 1, 0, 0, 0, 0, 0, 0]), DecodeErrorKind::UnknownProtocol(0x48));
        assert_eq!(kind(&[0x30, 255, 0, 1, 0, 0, 0, 0]), DecodeErrorKind::Truncated { needed: 1, have: 0 });
        assert_eq!(
            kind(&[0x32, 1, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0]),
            DecodeErrorKind::Truncated { needed: 4, have: 0 }
        );
        let empty_extension = [0x34, 255, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0xc0, 0];
        assert_eq!(kind(&empty_extension), DecodeErrorKind::BadLength(0));
        let cut_extension = [0x34, 255, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0xc0, 1, 0, 0];
        assert_eq!(kind(&cut_extension), DecodeErrorKind::Truncated { needed: 1, have: 0 });
    }
}
