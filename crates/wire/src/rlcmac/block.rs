//! RLC data blocks of GPRS, downlink and uplink: 04.60 (44.060) clauses 10.2.1, 10.2.2 and 10.4.
//!
//! A block is a header of three octets, the RLC data field and spare bits ([`CodingScheme`]). The header says something
//! else in each transmission: USF and RRBP downlink, countdown value and stall indicator uplink. The data field and its
//! E bit are a [`Body`], which stays the same for as long as the block is retransmitted.
//!
//! The data field begins with the length indicators, one octet for each LL-PDU that ends in it, then uplink the TLLI
//! while contention is not resolved, then LL-PDUs, then filler.
//!
//! # Panic contract
//!
//! No octets make anything here panic. [`Body::contents`] checks what it reads.

use crate::error::{DecodeError, DecodeErrorKind};
use crate::id::Tlli;
use crate::rlcmac::coding::{BLOCK_MAX, CodingScheme, DATA_MAX, HEADER_LEN};
use core::fmt;
use core::ops::Deref;

/// The octet that fills what no LL-PDU uses (clause 10.4.16, 04.60 clause 11 for control blocks).
pub const FILLER: u8 = 0x2b;
/// Octets of a TLLI.
pub const TLLI_LEN: usize = 4;
/// BSNs count modulo this: SNS (clause 9.1).
pub const BSN_MODULUS: u8 = 128;
/// TFIs are below this.
pub const TFI_END: u8 = 32;
/// A USF that no mobile has where no PCCCH is on the channel (clause 10.4.1): nobody sends.
pub const USF_NOBODY: u8 = 7;
/// The countdown value that announces nothing (clause 9.3.1).
pub const CV_MANY: u8 = 15;

/// What kind of block its MAC header announces (clause 10.4.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// An RLC data block.
    Data,
    /// A control block without optional octets of a header.
    Control,
    /// Downlink, a control block with optional octets of a header. Uplink, reserved.
    ControlWithHeader,
    /// Reserved.
    Reserved,
}

impl Payload {
    /// What the MAC header announces, the first octet of a block. `None` for a block without octets.
    #[must_use]
    pub fn of(block: &[u8]) -> Option<Self> {
        Some(match block.first()? >> 6 {
            0 => Self::Data,
            1 => Self::Control,
            2 => Self::ControlWithHeader,
            _ => Self::Reserved,
        })
    }
}

/// Header of a downlink RLC data block. Of each field the bits that fit count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DownlinkHeader {
    /// Who sends in the next uplink block of this channel, three bits.
    pub usf: u8,
    /// A poll: the RRBP, two bits, where S/P is set.
    pub rrbp: Option<u8>,
    /// PR: power reduction, two bits (clause 10.4.10a).
    pub power_reduction: u8,
    /// Whose block this is, five bits.
    pub tfi: u8,
    /// FBI: this is the last block of the TBF.
    pub is_final: bool,
    /// Block sequence number, seven bits.
    pub bsn: u8,
}

/// Header of an uplink RLC data block. Of each field the bits that fit count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UplinkHeader {
    /// CV: how many blocks are left, four bits; [`CV_MANY`] says nothing.
    pub countdown: u8,
    /// SI: the window of the mobile is stalled.
    pub is_stalled: bool,
    /// R: the mobile sent its request for this TBF more than once.
    pub is_retry: bool,
    /// Whose block this is, five bits.
    pub tfi: u8,
    /// Block sequence number, seven bits.
    pub bsn: u8,
}

/// The RLC data field of a block with its E bit: what is the same in every transmission.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Body {
    scheme: CodingScheme,
    has_indicators: bool,
    has_tlli: bool,
    has_pfi: bool,
    octets: [u8; DATA_MAX],
}

/// The octets of a block, as a PCU gives them to a BTS and as GSMTAP has them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct BlockOctets {
    octets: [u8; BLOCK_MAX],
    len: usize,
}

/// What a [`Body`] holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contents<'a> {
    /// The TLLI, where the block has one.
    pub tlli: Option<Tlli>,
    /// PFI, where the block has one: whose packet flow it is, seven bits.
    pub packet_flow: Option<u8>,
    indicators: &'a [u8],
    data: &'a [u8],
    /// Octets behind the last LL-PDU that belong to none.
    pub filler: usize,
}

/// A piece of an LL-PDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Its octets; none where only the end of an LL-PDU was told.
    pub octets: &'a [u8],
    /// The LL-PDU ends with it.
    pub is_last: bool,
}

const E: u8 = 1;
const M: u8 = 2;

impl DownlinkHeader {
    /// Reads a downlink RLC data block in the octets that its scheme has for it. Spare bits count for nothing.
    ///
    /// # Errors
    /// `BadLength` where no scheme has such blocks, `BadValue` where it is no data block.
    pub fn parse(block: &[u8]) -> Result<(Self, Body), DecodeError> {
        let ([mac, tfi, bsn], scheme, data) = split(block)?;
        let header = Self {
            usf: mac & 7,
            rrbp: (mac & 8 != 0).then_some(mac >> 4 & 3),
            power_reduction: tfi >> 6,
            tfi: tfi >> 1 & 0x1f,
            is_final: tfi & 1 != 0,
            bsn: bsn >> 1,
        };
        Ok((header, Body::read(scheme, bsn & E == 0, (false, false), data)))
    }

    /// The block that this header and `body` are.
    #[must_use]
    pub fn emit(&self, body: &Body) -> BlockOctets {
        let poll = self.rrbp.map_or(0, |rrbp| (rrbp & 3) << 4 | 8);
        let tfi = self.power_reduction << 6 | (self.tfi & 0x1f) << 1 | u8::from(self.is_final);
        body.behind([poll | self.usf & 7, tfi, self.bsn << 1])
    }
}

impl UplinkHeader {
    /// Reads an uplink RLC data block in the octets that its scheme has for it. Spare bits count for nothing.
    ///
    /// # Errors
    /// `BadLength` where no scheme has such blocks, `BadValue` where it is no data block.
    pub fn parse(block: &[u8]) -> Result<(Self, Body), DecodeError> {
        let ([mac, tfi, bsn], scheme, data) = split(block)?;
        let header = Self {
            countdown: mac >> 2 & 0xf,
            is_stalled: mac & 2 != 0,
            is_retry: mac & 1 != 0,
            tfi: tfi >> 1 & 0x1f,
            bsn: bsn >> 1,
        };
        Ok((header, Body::read(scheme, bsn & E == 0, (tfi & 1 != 0, tfi & 0x40 != 0), data)))
    }

    /// The block that this header and `body` are.
    #[must_use]
    pub fn emit(&self, body: &Body) -> BlockOctets {
        let mac = (self.countdown & 0xf) << 2 | u8::from(self.is_stalled) << 1 | u8::from(self.is_retry);
        let tfi = u8::from(body.has_pfi) << 6 | (self.tfi & 0x1f) << 1 | u8::from(body.has_tlli);
        body.behind([mac, tfi, self.bsn << 1])
    }
}

fn split(block: &[u8]) -> Result<([u8; HEADER_LEN], CodingScheme, &[u8]), DecodeError> {
    const NAME: &str = "RLC data block";
    let bad = DecodeError::new(NAME, 0, DecodeErrorKind::BadLength(block.len()));
    let scheme = CodingScheme::of_block(block.len()).ok_or(bad)?;
    let (header, data) = block.split_first_chunk::<HEADER_LEN>().ok_or(bad)?;
    let data = data.get(..scheme.data_octets()).ok_or(bad)?;
    match Payload::of(block) {
        Some(Payload::Data) => Ok((*header, scheme, data)),
        _ => {
            let [mac, ..] = *header;
            Err(DecodeError::new("payload type", 0, DecodeErrorKind::BadValue(u32::from(mac >> 6))))
        }
    }
}

impl Body {
    fn read(
        scheme: CodingScheme,
        has_indicators: bool,
        (has_tlli, has_pfi): (bool, bool),
        data: &[u8],
    ) -> Self {
        let mut octets = [FILLER; DATA_MAX];
        for (to, from) in octets.iter_mut().zip(data) {
            *to = *from;
        }
        Self { scheme, has_indicators, has_tlli, has_pfi, octets }
    }

    /// Puts a data field together.
    ///
    /// `lengths` are the length indicators in their order, 0 to 63; `more` is the M bit of the last of them: behind the
    /// last LL-PDU that ends here another one begins. `pieces` are the octets of the LL-PDUs in their order; what they do
    /// not fill is filler. `None` where it does not fit into the field of `scheme`.
    #[must_use]
    pub fn compose<'a>(
        scheme: CodingScheme,
        tlli: Option<Tlli>,
        (lengths, more): (&[u8], bool),
        pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> Option<Self> {
        let mut octets = [FILLER; DATA_MAX];
        let mut rest = octets.get_mut(..scheme.data_octets())?;
        for (n, length) in lengths.iter().enumerate() {
            let is_last = n + 1 == lengths.len();
            let flags = if !is_last || more { M } else { 0 } | if is_last { E } else { 0 };
            put(&mut rest, &[length << 2 | flags])?;
        }
        if let Some(tlli) = tlli {
            put(&mut rest, &tlli.0.to_be_bytes())?;
        }
        for piece in pieces {
            put(&mut rest, piece)?;
        }
        let has_indicators = !lengths.is_empty();
        Some(Self { scheme, has_indicators, has_tlli: tlli.is_some(), has_pfi: false, octets })
    }

    /// How it is coded. A block that is retransmitted keeps its scheme: GPRS does not cut it anew.
    #[must_use]
    pub const fn scheme(&self) -> CodingScheme {
        self.scheme
    }

    /// TI: a TLLI stands in it.
    #[must_use]
    pub const fn has_tlli(&self) -> bool {
        self.has_tlli
    }

    /// The RLC data field, as long as its scheme says.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        self.octets.get(..self.scheme.data_octets()).unwrap_or_default()
    }

    /// What is in it.
    ///
    /// # Errors
    /// `BadValue` where M and E are both 0, or another indicator follows a length of 0; `BadLength` where an LL-PDU would end
    /// behind the block; `Truncated` where a TLLI does not fit. Then all but the MAC header of the block is to be ignored.
    pub fn contents(&self) -> Result<Contents<'_>, DecodeError> {
        const NAME: &str = "length indicator";
        let field = self.octets();
        let mut count = 0;
        let mut used = 0;
        let mut more = true;
        let mut has_next = self.has_indicators;
        while has_next {
            let at = HEADER_LEN + count;
            let short = DecodeErrorKind::Truncated { needed: 1, have: 0 };
            let octet = *field.get(count).ok_or(DecodeError::new(NAME, at, short))?;
            let length = usize::from(octet >> 2);
            has_next = octet & E == 0;
            more = octet & M != 0 || length == 0;
            if has_next && (octet & M == 0 || length == 0) {
                return Err(DecodeError::new(NAME, at, DecodeErrorKind::BadValue(u32::from(octet))));
            }
            count += 1;
            used += length;
        }
        let (indicators, rest) = field.split_at_checked(count).unwrap_or_default();
        let mut data = rest;
        let at = HEADER_LEN + count;
        let short = DecodeErrorKind::Truncated { needed: TLLI_LEN, have: rest.len() };
        let tlli = if self.has_tlli {
            let (tlli, behind) = data.split_first_chunk().ok_or(DecodeError::new("TLLI", at, short))?;
            data = behind;
            Some(Tlli(u32::from_be_bytes(*tlli)))
        } else {
            None
        };
        let packet_flow = if self.has_pfi {
            let short = DecodeErrorKind::Truncated { needed: 1, have: 0 };
            let (octet, behind) = data.split_first().ok_or(DecodeError::new("PFI", at, short))?;
            data = behind;
            Some(octet >> 1)
        } else {
            None
        };
        let left = data.len().checked_sub(used);
        let left = left.ok_or(DecodeError::new(NAME, HEADER_LEN, DecodeErrorKind::BadLength(used)))?;
        Ok(Contents { tlli, packet_flow, indicators, data, filler: if more { 0 } else { left } })
    }

    fn behind(&self, header: [u8; HEADER_LEN]) -> BlockOctets {
        let [mac, tfi, bsn] = header;
        let bsn = bsn | if self.has_indicators { 0 } else { E };
        let mut octets = [0; BLOCK_MAX];
        for (to, from) in octets.iter_mut().zip([mac, tfi, bsn].iter().chain(self.octets())) {
            *to = *from;
        }
        BlockOctets { octets, len: self.scheme.block_octets() }
    }
}

fn put(rest: &mut &mut [u8], octets: &[u8]) -> Option<()> {
    let (to, behind) = core::mem::take(rest).split_at_mut_checked(octets.len())?;
    to.copy_from_slice(octets);
    *rest = behind;
    Some(())
}

impl<'a> Contents<'a> {
    /// The pieces of LL-PDUs in their order.
    ///
    /// The last one has [`Segment::is_last`] false also where the LL-PDU fills the last block of its TBF exactly: that no
    /// indicator stands there is known to who knows that the block is the last (clause 10.4.14).
    pub fn segments(&self) -> impl Iterator<Item = Segment<'a>> + use<'a> {
        let (data, filler) = (self.data, self.filler);
        let used = data.len().saturating_sub(filler);
        let mut rest = data.get(..used).unwrap_or_default();
        let mut indicators = self.indicators.iter();
        core::iter::from_fn(move || {
            let length = indicators.next().map_or(0, |octet| usize::from(octet >> 2));
            if length > 0 {
                let (octets, behind) = rest.split_at_checked(length)?;
                rest = behind;
                return Some(Segment { octets, is_last: true });
            }
            let octets = core::mem::take(&mut rest);
            (!octets.is_empty()).then_some(Segment { octets, is_last: false })
        })
    }
}

impl Deref for BlockOctets {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.octets.get(..self.len).unwrap_or_default()
    }
}

impl fmt::Debug for BlockOctets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlockOctets({:02x?})", &**self)
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = (self.has_indicators, self.has_tlli, self.has_pfi);
        write!(f, "Body({} {flags:?} {:02x?})", self.scheme, self.octets())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(scheme: CodingScheme, has_indicators: bool, has_tlli: bool, start: &[u8]) -> Body {
        Body::read(scheme, has_indicators, (has_tlli, false), start)
    }

    fn pieces(body: &Body) -> Vec<(Vec<u8>, bool)> {
        let contents = body.contents().unwrap();
        contents.segments().map(|segment| (segment.octets.to_vec(), segment.is_last)).collect()
    }

    #[test]
    fn an_indicator_of_0_says_that_the_end_is_in_the_next_block() {
        let mut octets = vec![9 << 2 | M, E];
        octets.extend(1..19);
        let body = field(CodingScheme::Cs1, true, false, &octets);
        assert_eq!(pieces(&body), [((1..10).collect(), true), ((10..19).collect(), false)]);
        let alone = field(CodingScheme::Cs1, true, false, &octets[1..]);
        let contents = alone.contents().unwrap();
        assert_eq!((contents.filler, contents.segments().count()), (0, 1));
    }

    #[test]
    fn indicators_that_contradict_are_refused() {
        for (octets, has_tlli, ie, kind) in [
            (&[4 << 2][..], false, "length indicator", DecodeErrorKind::BadValue(0x10)),
            (&[M, E], false, "length indicator", DecodeErrorKind::BadValue(2)),
            (&[20 << 2 | E], false, "length indicator", DecodeErrorKind::BadLength(20)),
            (&[16 << 2 | E], true, "length indicator", DecodeErrorKind::BadLength(16)),
            (&[1 << 2 | M; 20], false, "length indicator", DecodeErrorKind::Truncated { needed: 1, have: 0 }),
        ] {
            let error = field(CodingScheme::Cs1, true, has_tlli, octets).contents().unwrap_err();
            assert_eq!((error.ie, error.kind), (ie, kind), "{octets:02x?}");
        }
        let mut octets = [1 << 2 | M; 20];
        octets[16] = 1 << 2 | E;
        let error = field(CodingScheme::Cs1, true, true, &octets).contents().unwrap_err();
        assert_eq!((error.ie, error.offset), ("TLLI", 20));
    }

    #[test]
    fn a_packet_flow_identifier_is_read_over() {
        let mut block = [0; 23];
        block[1] = 0x40 | 3 << 1 | 1;
        block[2] = 0;
        block[3..12].copy_from_slice(&[2 << 2 | E, 0xc0, 0, 0, 1, 5 << 1 | 1, 0xaa, 0xbb, FILLER]);
        let (header, body) = UplinkHeader::parse(&block).unwrap();
        let contents = body.contents().unwrap();
        assert_eq!((header.tfi, contents.tlli, contents.packet_flow), (3, Some(Tlli(0xc000_0001)), Some(5)));
        assert_eq!(pieces(&body), [(vec![0xaa, 0xbb], true)]);
        assert_eq!(&*header.emit(&body), block);
    }
}
