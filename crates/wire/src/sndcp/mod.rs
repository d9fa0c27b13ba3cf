//! Subnetwork dependent convergence protocol: 04.65 (44.065).
//!
//! [`Header`] is the header of an SN-PDU (clause 7.2), one to four octets; what follows is a segment of an N-PDU.

pub mod algorithms;
pub mod xid;

use crate::cursor::Reader;
use crate::error::DecodeError;
use crate::id::Nsapi;
use core::ops::Deref;

/// Octets of the longest header: the first segment in an SN-UNITDATA PDU.
pub const HEADER_LEN_MAX: usize = 4;
/// Octets of the header of an SN-UNITDATA PDU with the first segment.
pub const UNITDATA_FIRST_LEN: usize = 4;
/// Octets of the header of an SN-UNITDATA PDU with a later segment.
pub const UNITDATA_NEXT_LEN: usize = 3;
/// Octets of the header of an SN-DATA PDU with the first segment.
pub const DATA_FIRST_LEN: usize = 3;
/// Octets of the header of an SN-DATA PDU with a later segment.
pub const DATA_NEXT_LEN: usize = 1;
/// N-PDU numbers in SN-UNITDATA PDUs count modulo this.
pub const UNITDATA_MODULUS: u16 = 4096;
/// Segments of one N-PDU in SN-UNITDATA PDUs, at most: the segment number has four bits.
pub const SEGMENTS_MAX: usize = 16;

const F: u8 = 0x40;
const T: u8 = 0x20;
const M: u8 = 0x10;

/// Header of an SN-PDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Whose N-PDU this is, 0 to 15.
    pub nsapi: Nsapi,
    /// M: more segments follow.
    pub more: bool,
    /// What the T bit chooses.
    pub pdu: Pdu,
}

/// SN-DATA or SN-UNITDATA, with the fields that only the first segment has (F = 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pdu {
    /// Acknowledged mode.
    Data {
        /// With the first segment: compression, and the N-PDU number of eight bits.
        first: Option<(Compression, u8)>,
    },
    /// Unacknowledged mode.
    Unitdata {
        /// With the first segment: compression.
        first: Option<Compression>,
        /// Segment number, 0 to 15.
        segment: u8,
        /// N-PDU number, 0 to 4095.
        number: u16,
    },
}

/// DCOMP and PCOMP of the N-PDU; 0 is no compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Compression {
    /// Data compression, 0 to 15.
    pub dcomp: u8,
    /// Protocol control information compression, 0 to 15.
    pub pcomp: u8,
}

impl Compression {
    /// Neither.
    pub const NONE: Self = Self { dcomp: 0, pcomp: 0 };

    const fn from_octet(octet: u8) -> Self {
        Self { dcomp: octet >> 4, pcomp: octet & 0xf }
    }

    const fn octet(self) -> u8 {
        self.dcomp << 4 | (self.pcomp & 0xf)
    }
}

/// The octets of an emitted header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderOctets {
    octets: [u8; HEADER_LEN_MAX],
    len: usize,
}

impl Deref for HeaderOctets {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.octets.get(..self.len).unwrap_or_default()
    }
}

impl Header {
    /// Reads the header of the SN-PDU `pdu`; the segment starts at the second value, in octets. The spare bit X
    /// counts for nothing.
    ///
    /// # Errors
    /// `Truncated` where the header does not fit.
    pub fn parse(pdu: &[u8]) -> Result<(Self, usize), DecodeError> {
        let mut r = Reader::new(pdu);
        let first_octet = r.u8("SN-PDU header")?;
        let is_first = first_octet & F != 0;
        let compression =
            if is_first { Some(Compression::from_octet(r.u8("DCOMP and PCOMP")?)) } else { None };
        let pdu = if first_octet & T == 0 {
            let first = match compression {
                Some(compression) => Some((compression, r.u8("N-PDU number")?)),
                None => None,
            };
            Pdu::Data { first }
        } else {
            let [high, low] = r.array("segment and N-PDU number")?;
            let number = u16::from_be_bytes([high & 0xf, low]);
            Pdu::Unitdata { first: compression, segment: high >> 4, number }
        };
        let header = Self { nsapi: Nsapi(first_octet & 0xf), more: first_octet & M != 0, pdu };
        Ok((header, r.offset()))
    }

    /// The octets of this header. Of each field the bits that fit count.
    #[must_use]
    pub fn emit(&self) -> HeaderOctets {
        let base = (self.nsapi.0 & 0xf) | if self.more { M } else { 0 };
        let (octets, len) = match self.pdu {
            Pdu::Data { first: None } => ([base, 0, 0, 0], 1),
            Pdu::Data { first: Some((compression, number)) } => {
                let [base, compression, number] = data_header(self.nsapi, self.more, (compression, number));
                ([base, compression, number, 0], DATA_FIRST_LEN)
            }
            Pdu::Unitdata { first, segment, number } => {
                let [high, low] = (u16::from(segment & 0xf) << 12 | (number & 0xfff)).to_be_bytes();
                match first {
                    Some(compression) => ([base | T | F, compression.octet(), high, low], UNITDATA_FIRST_LEN),
                    None => ([base | T, high, low, 0], UNITDATA_NEXT_LEN),
                }
            }
        };
        HeaderOctets { octets, len }
    }
}

/// The header of the first SN-DATA PDU of an N-PDU, as [`Header::emit`] has it.
#[must_use]
#[inline]
pub fn data_header(
    nsapi: Nsapi,
    more: bool,
    (compression, number): (Compression, u8),
) -> [u8; DATA_FIRST_LEN] {
    [(nsapi.0 & 0xf) | if more { M } else { 0 } | F, compression.octet(), number]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_of_a_real_core() {
        for (octets, more, first, segment) in [
            (&[0x76, 0x00, 0x00, 0x12][..], true, Some(Compression::NONE), 0),
            (&[0x36, 0x10, 0x12], true, None, 1),
            (&[0x26, 0x30, 0x12], false, None, 3),
        ] {
            let mut pdu = octets.to_vec();
            pdu.extend([0x45, 0x00]);
            let (header, start) = Header::parse(&pdu).unwrap();
            let expected = Pdu::Unitdata { first, segment, number: 0x12 };
            assert_eq!(header, Header { nsapi: Nsapi(6), more, pdu: expected });
            assert_eq!(start, octets.len());
            assert_eq!(&*header.emit(), octets);
        }
    }

    #[test]
    fn acknowledged_pdus() {
        let first = Pdu::Data { first: Some((Compression { dcomp: 1, pcomp: 2 }, 200)) };
        let header = Header { nsapi: Nsapi(5), more: true, pdu: first };
        assert_eq!(&*header.emit(), &[0x55, 0x12, 200]);
        let next = Header { nsapi: Nsapi(5), more: false, pdu: Pdu::Data { first: None } };
        assert_eq!(&*next.emit(), &[0x05]);
    }

    #[test]
    fn short_headers_are_truncated() {
        for octets in [&[][..], &[0x65], &[0x65, 0], &[0x65, 0, 0], &[0x25, 0], &[0x45, 0]] {
            assert!(Header::parse(octets).is_err(), "{octets:02x?}");
        }
    }
}
