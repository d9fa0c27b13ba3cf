//! Compression of TCP/IP headers (RFC 1144; 04.65 clause 6.5.2 [44.065]).
//!
//! Both ends remember the last header of each of up to S0 connections, each in a slot. A packet of a connection whose
//! header changed as one expects goes as [`PacketType::CompressedTcp`]: what changed, in 4 to 19 octets. One that says
//! which slot its connection has from now on goes as [`PacketType::UncompressedTcp`], with the slot in place of the IP
//! protocol. All else goes as it is, [`PacketType::Ip`]. SNDCP tells the three apart by PCOMP.
//!
//! Segments get lost here without anybody being told, so the compressor names the slot in each compressed packet: it never
//! leaves the connection number out. The decompressor takes packets without one as well, and after an error tosses these until
//! the next packet that names its slot.
//!
//! Nothing here panics, whatever arrives: what could not be restored is refused by an [`Error`], and changes no slot.

mod compress;
mod decompress;
mod header;

pub use compress::Compressor;
pub use decompress::Decompressor;

use core::fmt;

/// The change mask that begins a compressed packet (RFC 1144 section 3.2.2).
mod mask {
    /// A connection number follows.
    pub(super) const C: u8 = 0x40;
    /// The IP identification grew by another number than one.
    pub(super) const I: u8 = 0x20;
    /// PSH.
    pub(super) const P: u8 = 0x10;
    /// Sequence number.
    pub(super) const S: u8 = 0x08;
    /// Acknowledgement.
    pub(super) const A: u8 = 0x04;
    /// Window.
    pub(super) const W: u8 = 0x02;
    /// Urgent pointer.
    pub(super) const U: u8 = 0x01;
    /// The four that say what follows, or one of the two special cases.
    pub(super) const SPECIALS: u8 = S | A | W | U;
    /// Echoed terminal traffic: sequence number and acknowledgement grew by the data of the last packet.
    pub(super) const SPECIAL_I: u8 = S | W | U;
    /// Data transfer: the sequence number grew by the data of the last packet.
    pub(super) const SPECIAL_D: u8 = S | A | W | U;
}

/// Octets of the longest compressed header: mask, connection number, checksum and five deltas.
const COMPRESSED_MAX: usize = 19;

/// How an N-PDU goes (04.65 clause 6.5.2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketType {
    /// As it is: PCOMP 0.
    Ip,
    /// With the slot in place of the IP protocol: PCOMP1.
    UncompressedTcp,
    /// Compressed: PCOMP2.
    CompressedTcp,
}

impl PacketType {
    /// The PCOMP value of this type, where `pcomp` are PCOMP1 and PCOMP2 of the entity.
    #[must_use]
    pub const fn pcomp(self, pcomp: [u8; 2]) -> u8 {
        let [uncompressed, compressed] = pcomp;
        match self {
            Self::Ip => 0,
            Self::UncompressedTcp => uncompressed,
            Self::CompressedTcp => compressed,
        }
    }

    /// The type that `value` means, where `pcomp` are PCOMP1 and PCOMP2 of the entity. `None` where it is not one of the
    /// entity's.
    #[must_use]
    pub const fn of(value: u8, pcomp: [u8; 2]) -> Option<Self> {
        let [uncompressed, compressed] = pcomp;
        if value == 0 {
            Some(Self::Ip)
        } else if value == uncompressed {
            Some(Self::UncompressedTcp)
        } else if value == compressed {
            Some(Self::CompressedTcp)
        } else {
            None
        }
    }
}

/// Why an N-PDU could not be restored. It is lost; TCP sends its octets again, which makes the compressor send a packet
/// that is not compressed (RFC 1144 section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Error {
    /// A compressed header ends before its fields do.
    Truncated,
    /// An uncompressed packet is not TCP over IPv4, or its lengths contradict each other.
    NotTcp,
    /// No such slot was negotiated.
    SlotOutOfRange(u8),
    /// Nothing is known about the connection in this slot.
    SlotEmpty(u8),
    /// The packet names no slot, and it is not known which one the last packet had.
    Tossed,
    /// The N-PDU would be longer than any may be.
    TooLong,
    /// The frame has no room for the header.
    NoRoom,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the compressed header ends early"),
            Self::NotTcp => f.write_str("the uncompressed packet is not TCP over IPv4"),
            Self::SlotOutOfRange(slot) => write!(f, "slot {slot} was not negotiated"),
            Self::SlotEmpty(slot) => write!(f, "slot {slot} has no connection"),
            Self::Tossed => f.write_str("no slot is named after an error"),
            Self::TooLong => f.write_str("the N-PDU is too long"),
            Self::NoRoom => f.write_str("no room for the header"),
        }
    }
}

impl core::error::Error for Error {}

/// Octets that are no exported state of this compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadImage;

impl fmt::Display for BadImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a state of RFC 1144's compression")
    }
}

impl core::error::Error for BadImage {}

#[cfg(test)]
mod tests;
