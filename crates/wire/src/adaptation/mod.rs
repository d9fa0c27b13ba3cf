//! The adaptation protocol: what carries LL-PDUs of GPRS over Ethernet, wireless LAN and UDP, between a mobile and an access
//! point. `docs/bearer-adaptation.md` has its octets; the tables there and the dissector for Wireshark are made from
//! [`TABLE`].
//!
//! A PDU is a header of eight octets, for a segment four more, the payload, and with authentication a trailer:
//!
//! ```text
//! octet 0      version (3 bits), type (5 bits)
//! octet 1      flags: segment, authenticated; the rest is zero, ignored on receipt
//! octets 2-3   length: octets behind the header, without the trailer and without padding
//! octets 4-7   TLLI; 0 where the type has none
//! octets 8-    segment extension (4), payload, trailer (28)
//! ```
//!
//! [`Pdu::parse`] is strict in what the length covers, and does not look at what stands behind: Ethernet pads short frames.
//! Nothing here allocates.

mod element;
mod message;

pub use element::{BeaconFlags, Element, Form, Identity, Level, Load, NetworkMode, ReleaseCause};
pub use message::{
    ApName, Beacon, FieldLayout, Hello, LinkReport, Message, MessageLayout, MessageType, PagingCs, PagingPs,
    Probe, ProbeAnswer, Reachable, Release, Resume, Suspend, SuspendAck, TABLE, Tail, Way, Welcome, tag,
};

use crate::cursor::Reader;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::id::Tlli;

/// The version that this module reads and writes.
pub const VERSION: u8 = 1;
/// The EtherType: local experimental 1 (IEEE 802 clause 9.2.4).
pub const ETHERTYPE: u16 = 0x88b5;
/// The UDP port of an access point where the configuration says no other: the number of the EtherType.
pub const UDP_PORT: u16 = 34_997;

/// Octets of the header.
pub const HEADER_LEN: usize = 8;
/// Octets of the segment extension.
pub const SEGMENT_LEN: usize = 4;
/// Octets of the trailer: session or key, packet number, MAC.
pub const TRAILER_LEN: usize = 4 + 8 + MAC_LEN;
/// Octets of a message authentication code: the first of HMAC-SHA-256.
pub const MAC_LEN: usize = 16;
/// Octets of a random number of the handshake.
pub const RANDOM_LEN: usize = 16;
/// Segments of one LL-PDU at most.
pub const SEGMENTS_MAX: usize = 16;
/// Octets of the longest beacon, its header and trailer included. A solicit has as many, so that nobody gets a longer answer
/// than its question by giving the address of another.
pub const BEACON_LEN_MAX: usize = HEADER_LEN + Beacon::LEN + 2 + message::NAME_MAX + TRAILER_LEN;
/// Octets that hold any message but an LL-PDU.
pub const MESSAGE_LEN_MAX: usize = 128;
const _: () = assert!(BEACON_LEN_MAX <= MESSAGE_LEN_MAX && HEADER_LEN + Welcome::LEN <= MESSAGE_LEN_MAX);

/// The flag of a segment extension.
pub const FLAG_SEGMENT: u8 = 0x80;
/// The flag of a trailer.
pub const FLAG_AUTHENTICATED: u8 = 0x40;

/// Octets of the longest LL-PDU that goes in one piece over a bearer whose payload has `mtu` octets. 0 where none does.
#[must_use]
pub const fn ll_pdu_max(mtu: usize, authenticated: bool) -> usize {
    mtu.saturating_sub(HEADER_LEN + if authenticated { TRAILER_LEN } else { 0 })
}

/// N201-U that fits an LL-PDU of so many octets: less the address, the control field of UI and the FCS (04.64 clause 6.2
/// [44.064]).
#[must_use]
pub const fn n201_u(ll_pdu_max: usize) -> usize {
    ll_pdu_max.saturating_sub(1 + 2 + 3)
}

/// N201-I that fits: less the address, the control field of an I frame without a bitmap, and the FCS. A bitmap of SACK takes
/// up to 32 octets more (04.64 clause 6.3.5.1 [44.064]).
#[must_use]
pub const fn n201_i(ll_pdu_max: usize) -> usize {
    ll_pdu_max.saturating_sub(1 + 3 + 3)
}

/// Where a piece of an LL-PDU belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// The LL-PDU, by a number of its sender's own.
    pub datagram: u16,
    /// Which piece, 0 to [`SEGMENTS_MAX`] − 1.
    pub number: u8,
    /// No more pieces follow.
    pub is_last: bool,
}

impl Segment {
    const LAST: u8 = 0x80;

    fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let datagram = r.u16("segment: datagram")?;
        let at = r.offset();
        let (number, _) = (r.u8("segment: number")?, r.u8("segment: spare")?);
        let segment = Self { datagram, number: number & !Self::LAST, is_last: number & Self::LAST != 0 };
        if usize::from(segment.number) < SEGMENTS_MAX {
            Ok(segment)
        } else {
            let kind = DecodeErrorKind::BadValue(u32::from(segment.number));
            Err(DecodeError::new("segment: number", at, kind))
        }
    }

    const fn octets(self) -> [u8; SEGMENT_LEN] {
        let [high, low] = self.datagram.to_be_bytes();
        [high, low, self.number | if self.is_last { Self::LAST } else { 0 }, 0]
    }
}

/// What stands in front of the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The type.
    pub kind: MessageType,
    /// A trailer follows the payload.
    pub is_authenticated: bool,
    /// The mobile; 0 where the type has none.
    pub tlli: Tlli,
    /// Where the payload belongs, if it is a piece of an LL-PDU.
    pub segment: Option<Segment>,
}

impl Header {
    /// The header of a message without trailer.
    #[must_use]
    pub const fn new(kind: MessageType, tlli: Tlli) -> Self {
        Self { kind, is_authenticated: false, tlli, segment: None }
    }

    /// Octets of the header with its extension.
    #[must_use]
    #[inline]
    pub const fn buffer_len(&self) -> usize {
        HEADER_LEN + if self.segment.is_some() { SEGMENT_LEN } else { 0 }
    }

    /// Writes the header in front of a payload of so many octets into `room`, whose length is [`Header::buffer_len`]. False
    /// where that is another length, or the payload is too long for the length field.
    #[must_use]
    #[inline]
    pub fn emit(&self, payload_octets: usize, room: &mut [u8]) -> bool {
        let extension = self.buffer_len() - HEADER_LEN;
        let Ok(length) = u16::try_from(payload_octets + extension) else { return false };
        let Some((header, rest)) = room.split_first_chunk_mut::<HEADER_LEN>() else { return false };
        if rest.len() != extension {
            return false;
        }
        let mut flags = 0;
        if let Some(segment) = self.segment {
            flags |= FLAG_SEGMENT;
            rest.copy_from_slice(&segment.octets());
        }
        if self.is_authenticated {
            flags |= FLAG_AUTHENTICATED;
        }
        let ([l0, l1], [t0, t1, t2, t3]) = (length.to_be_bytes(), self.tlli.0.to_be_bytes());
        *header = [VERSION << 5 | self.kind.number(), flags, l0, l1, t0, t1, t2, t3];
        true
    }
}

/// What stands behind an authenticated payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trailer {
    /// The session; of a beacon the key of the network.
    pub session: u32,
    /// The number of the PDU, by its sender and session.
    pub packet: u64,
    /// The MAC over everything before it.
    pub mac: [u8; MAC_LEN],
}

impl Trailer {
    /// Octets of what the MAC covers.
    pub const SIGNED: usize = TRAILER_LEN - MAC_LEN;

    /// The octets that the MAC covers.
    #[must_use]
    pub fn signed_octets(session: u32, packet: u64) -> [u8; Self::SIGNED] {
        let mut octets = [0; Self::SIGNED];
        let (first, rest) = octets.split_at_mut(4);
        first.copy_from_slice(&session.to_be_bytes());
        rest.copy_from_slice(&packet.to_be_bytes());
        octets
    }
}

/// A PDU, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pdu<'a> {
    /// Its header.
    pub header: Header,
    /// What stands behind the header and its extension.
    pub payload: &'a [u8],
    /// What authenticates it.
    pub trailer: Option<Trailer>,
    /// The octets that its MAC covers: all of it but the MAC.
    pub signed: &'a [u8],
}

impl<'a> Pdu<'a> {
    /// Takes a datagram, or the payload of an Ethernet frame, apart.
    ///
    /// # Errors
    /// `UnknownProtocol` with another version; `UnknownMessage`; `Truncated` where the length or the trailer exceeds the
    /// octets; `BadValue` with flags that the type cannot have, or a segment beyond the last; `BadLength` of an LL-PDU
    /// without octets.
    pub fn parse(octets: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(octets);
        let first = r.u8("version")?;
        if first >> 5 != VERSION {
            return Err(DecodeError::new("version", 0, DecodeErrorKind::UnknownProtocol(first >> 5)));
        }
        let number = first & 0x1f;
        let kind = MessageType::from_number(number);
        let kind = kind.ok_or(DecodeError::new("type", 0, DecodeErrorKind::UnknownMessage(number)))?;
        let flags = r.u8("flags")?;
        let length = usize::from(r.u16("length")?);
        let tlli = Tlli(r.u32("TLLI")?);
        let (is_segment, is_authenticated) = (flags & FLAG_SEGMENT != 0, flags & FLAG_AUTHENTICATED != 0);
        if is_segment && kind != MessageType::LlPdu || is_authenticated && kind.is_of_handshake() {
            return Err(DecodeError::new("flags", 1, DecodeErrorKind::BadValue(flags.into())));
        }
        r.take(length, "payload")?;
        let end = r.offset();
        let trailer = is_authenticated.then(|| read_trailer(&mut r)).transpose()?;
        let signed = octets.get(..end + if is_authenticated { Trailer::SIGNED } else { 0 });
        let mut inner = Reader::at(octets.get(..end).unwrap_or_default(), HEADER_LEN);
        let segment = is_segment.then(|| Segment::read(&mut inner)).transpose()?;
        let at = inner.offset();
        let payload = inner.rest();
        if kind == MessageType::LlPdu && payload.is_empty() {
            return Err(DecodeError::new("LL-PDU", at, DecodeErrorKind::BadLength(0)));
        }
        let header = Header { kind, is_authenticated, tlli, segment };
        Ok(Self { header, payload, trailer, signed: signed.unwrap_or_default() })
    }

    /// The message in the payload.
    ///
    /// # Errors
    /// As the elements of the message say; `BadLength` where octets are left behind the last one. Offsets count from the
    /// beginning of the PDU.
    pub fn message(&self) -> Result<Message<'a>, DecodeError> {
        let before = self.header.buffer_len();
        Message::parse(self.header.kind, self.payload).map_err(|error| error.shifted(before))
    }
}

fn read_trailer(r: &mut Reader<'_>) -> Result<Trailer, DecodeError> {
    let session = r.u32("trailer: session")?;
    let packet = u64::from_be_bytes(r.array("trailer: packet number")?);
    Ok(Trailer { session, packet, mac: r.array("trailer: MAC")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A segment of an LL-PDU, authenticated, with two octets of padding.
    const SEGMENT: &[u8] = b"\x21\xc0\x00\x07\xc0\x00\x00\x05\x12\x34\x82\x00\x41\xc0\x01\
        \x00\x00\x00\x09\x00\x00\x00\x00\x00\x00\x00\x0b0123456789abcdef\x00\x00";

    #[test]
    fn a_pdu_is_taken_apart_and_put_together() {
        let pdu = Pdu::parse(SEGMENT).unwrap();
        let segment = Segment { datagram: 0x1234, number: 2, is_last: true };
        let header = Header {
            kind: MessageType::LlPdu,
            is_authenticated: true,
            tlli: Tlli(0xc000_0005),
            segment: Some(segment),
        };
        assert_eq!((pdu.header, pdu.payload), (header, &b"\x41\xc0\x01"[..]));
        let trailer = Trailer { session: 9, packet: 11, mac: *b"0123456789abcdef" };
        assert_eq!((pdu.trailer, pdu.signed), (Some(trailer), &SEGMENT[..27]));
        let mut room = [0; HEADER_LEN + SEGMENT_LEN];
        assert!(header.emit(3, &mut room));
        let signed = Trailer::signed_octets(9, 11);
        let again = [&room[..], pdu.payload, &signed, &trailer.mac].concat();
        assert_eq!(again, SEGMENT[..SEGMENT.len() - 2]);
    }

    #[test]
    fn errors_say_where() {
        let told = |octets: &[u8]| Pdu::parse(octets).unwrap_err().to_string();
        assert_eq!(told(&[]), "version at octet 0: needs 1 octets, has 0");
        assert_eq!(told(&[0x41]), "version at octet 0: unknown protocol or version 0x02");
        assert_eq!(told(&[0x3f]), "type at octet 0: unknown message type 0x1f");
        assert_eq!(told(&SEGMENT[..14]), "payload at octet 8: needs 7 octets, has 6");
        assert_eq!(told(&SEGMENT[..40]), "trailer: MAC at octet 27: needs 16 octets, has 13");
        let changed = |at: usize, octet: u8| {
            let mut octets = SEGMENT.to_vec();
            octets[at] = octet;
            told(&octets)
        };
        assert_eq!(changed(10, 0x10), "segment: number at octet 10: undefined value 0x10");
        assert_eq!(changed(3, 4), "LL-PDU at octet 12: impossible length 0");
        assert_eq!(changed(3, 2), "segment: number at octet 10: needs 1 octets, has 0");
        assert_eq!(changed(0, 0x23), "flags at octet 1: undefined value 0xc0");
    }

    #[test]
    fn a_header_has_its_own_room() {
        let mut header = Header::new(MessageType::LlPdu, Tlli(1));
        assert!(header.emit(0xffff, &mut [0; 8]) && !header.emit(0x1_0000, &mut [0; 8]));
        assert!(!header.emit(1, &mut [0; 7]) && !header.emit(1, &mut [0; 12]));
        header.segment = Some(Segment { datagram: 0, number: 0, is_last: false });
        assert!(header.emit(1, &mut [0; 12]) && !header.emit(0xffff, &mut [0; 12]));
    }

    /// The paper's figures for Ethernet.
    #[test]
    fn what_fits_ethernet() {
        let plain = ll_pdu_max(1500, false);
        assert_eq!((plain, n201_u(plain), n201_i(plain)), (1492, 1486, 1485));
        let sealed = ll_pdu_max(1500, true);
        assert_eq!((sealed, n201_u(sealed), n201_i(sealed)), (1464, 1458, 1457));
        assert_eq!(n201_i(ll_pdu_max(20, true)), 0);
    }
}
