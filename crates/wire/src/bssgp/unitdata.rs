//! DL-UNITDATA and UL-UNITDATA: the headers in front of an LL-PDU, without allocation (08.18 clauses 10.2.1, 10.2.2).
//!
//! `parse` gives the header and the range of the LL-PDU in the PDU; `emit` writes the header, up to and with the
//! length of the LL-PDU, into exactly `buffer_len(llc_len)` octets that stand in front of it.

use super::PduType;
use super::ie::{ImsiValue, PduLifetime, QosProfile, iei};
use crate::cursor::Reader;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::id::{CellId, Imsi, Tlli};
use crate::tlv::{self, Element, Elements};
use core::ops::Range;

/// Octets of PDU type, TLLI and QoS profile.
const FIXED_LEN: usize = 8;
/// Octets of the longest header without the borrowed elements, for those who reserve headroom.
pub const HEADER_LEN_MAX: usize = 64;

/// The largest number of spare octets in the Alignment Octets element.
const ALIGNMENT_MAX: u8 = 3;

/// What both directions have in common in front of their elements.
fn parse_fixed<'a>(
    pdu: &'a [u8],
    expected: PduType,
) -> Result<(Tlli, QosProfile, Elements<'a>), DecodeError> {
    let mut r = Reader::new(pdu);
    let pdu_type = r.u8("PDU type")?;
    if pdu_type != expected.octet() {
        return Err(DecodeError::new("PDU type", 0, DecodeErrorKind::UnknownMessage(pdu_type)));
    }
    let tlli = Tlli(r.u32("TLLI (current)")?);
    let qos = QosProfile::from_octets(r.array("QoS Profile")?);
    Ok((tlli, qos, Elements::new(pdu, FIXED_LEN)))
}

/// The elements of a UNITDATA PDU in one pass: calls `optional` for each before the LL-PDU and after it.
///
/// What follows the first LL-PDU is looked at too: order does not matter (08.16 clause 8).
fn walk<'a>(ies: &Elements<'a>, mut element: impl FnMut(Element<'a>)) -> Result<Range<usize>, DecodeError> {
    let mut llc_pdu = None;
    for item in ies.iter() {
        match item {
            Ok(Element { iei: iei::LLC_PDU, value, at }) => {
                llc_pdu.get_or_insert(at..at + value.len());
            }
            Ok(other) => element(other),
            Err((iei::LLC_PDU, error)) if llc_pdu.is_none() => {
                return Err(DecodeError { ie: "LLC-PDU", ..error });
            }
            // The cell identifier is mandatory uplink: its absence is noticed by the caller.
            Err(_) => {}
        }
    }
    llc_pdu.ok_or(DecodeError::missing("LLC-PDU"))
}

/// Keeps the first value of a repeated element.
fn first<T>(slot: &mut Option<T>, value: Option<T>) {
    if slot.is_none() {
        *slot = value;
    }
}

fn array<const N: usize>(value: &[u8]) -> Option<[u8; N]> {
    value.first_chunk().copied()
}

/// The number of spare octets of an Alignment Octets element.
fn alignment_of(value: &[u8]) -> Option<u8> {
    u8::try_from(value.len()).ok().filter(|count| *count <= ALIGNMENT_MAX)
}

/// Header of a DL-UNITDATA PDU (clause 10.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DlUnitdata<'a> {
    /// Whose LL-PDU it is.
    pub tlli: Tlli,
    /// How to treat it.
    pub qos: QosProfile,
    /// How long it may wait in the BSS.
    pub lifetime: PduLifetime,
    /// What the mobile's radio can do; the value part of 04.08 clause 10.5.5.12a.
    pub ms_ra_capability: Option<&'a [u8]>,
    /// Allocation and retention priority; the octet of 08.08 clause 3.2.2.18.
    pub priority: Option<u8>,
    /// When the mobile listens; the octets of 04.08 clause 10.5.5.6.
    pub drx: Option<u16>,
    /// Whose LL-PDU it is, for the paging group.
    pub imsi: Option<Imsi>,
    /// The TLLI under which the BSS may still know the mobile.
    pub old_tlli: Option<Tlli>,
    /// Packet flow identifier, seven bits.
    pub pfi: Option<u8>,
    /// Localised service areas of the mobile.
    pub lsa_information: Option<&'a [u8]>,
    /// Whether the mobile should be handed over to UTRAN.
    pub service_utran_cco: Option<u8>,
    /// Spare octets of the Alignment Octets element, 0 to 3; `None` without that element.
    pub alignment: Option<u8>,
}

impl<'a> DlUnitdata<'a> {
    /// A header with only what is mandatory.
    #[must_use]
    pub const fn new(tlli: Tlli, qos: QosProfile, lifetime: PduLifetime) -> Self {
        Self {
            tlli,
            qos,
            lifetime,
            ms_ra_capability: None,
            priority: None,
            drx: None,
            imsi: None,
            old_tlli: None,
            pfi: None,
            lsa_information: None,
            service_utran_cco: None,
            alignment: None,
        }
    }

    /// The same without the borrowed elements, so that the PDU can be changed while the header is still of use.
    #[must_use]
    pub fn detached(self) -> DlUnitdata<'static> {
        DlUnitdata { ms_ra_capability: None, lsa_information: None, ..self }
    }

    /// Reads the header, and where in `pdu` the LL-PDU is.
    ///
    /// # Errors
    /// `Truncated` or `Missing` about TLLI, QoS profile, PDU lifetime and LL-PDU.
    pub fn parse(pdu: &'a [u8]) -> Result<(Self, Range<usize>), DecodeError> {
        let (tlli, qos, ies) = parse_fixed(pdu, PduType::DlUnitdata)?;
        let mut lifetime = None;
        let mut header = Self::new(tlli, qos, PduLifetime::INFINITE);
        let llc_pdu = walk(&ies, |Element { iei, value, at }| match iei {
            iei::PDU_LIFETIME => first(&mut lifetime, Some((array(value), at, value.len()))),
            iei::MS_RA_CAPABILITY => first(&mut header.ms_ra_capability, Some(value)),
            iei::PRIORITY => first(&mut header.priority, value.first().copied()),
            iei::DRX_PARAMETERS => first(&mut header.drx, array(value).map(u16::from_be_bytes)),
            iei::IMSI => first(&mut header.imsi, ImsiValue::read(value)),
            iei::TLLI => {
                first(&mut header.old_tlli, array(value).map(|octets| Tlli(u32::from_be_bytes(octets))))
            }
            iei::PACKET_FLOW_IDENTIFIER => first(&mut header.pfi, value.first().map(|octet| octet & 0x7f)),
            iei::LSA_INFORMATION => first(&mut header.lsa_information, Some(value)),
            iei::SERVICE_UTRAN_CCO => first(&mut header.service_utran_cco, value.first().copied()),
            iei::ALIGNMENT => first(&mut header.alignment, alignment_of(value)),
            _ => {}
        })?;
        header.lifetime = match lifetime {
            Some((Some(octets), ..)) => PduLifetime(u16::from_be_bytes(octets)),
            Some((None, at, len)) => {
                return Err(DecodeError::new("PDU Lifetime", at, DecodeErrorKind::BadLength(len)));
            }
            None => return Err(DecodeError::missing("PDU Lifetime")),
        };
        Ok((header, llc_pdu))
    }

    /// Octets of the header in front of an LL-PDU of `llc_len` octets.
    #[must_use]
    pub fn buffer_len(&self, llc_len: usize) -> usize {
        let element = |len: usize| tlv::header_len(len) + len;
        let borrowed = |value: Option<&[u8]>| value.map_or(0, |value| element(value.len()));
        FIXED_LEN
            + element(2)
            + borrowed(self.ms_ra_capability)
            + self.priority.map_or(0, |_| element(1))
            + self.drx.map_or(0, |_| element(2))
            + self.imsi.map_or(0, |imsi| element(ImsiValue::of(&imsi).octets().len()))
            + self.old_tlli.map_or(0, |_| element(4))
            + self.pfi.map_or(0, |_| element(1))
            + borrowed(self.lsa_information)
            + self.service_utran_cco.map_or(0, |_| element(1))
            + self.alignment.map_or(0, |count| element(usize::from(count.min(ALIGNMENT_MAX))))
            + tlv::header_len(llc_len)
    }

    /// Writes the header into `room`, which has [`DlUnitdata::buffer_len`] octets and stands in front of the LL-PDU.
    /// False where the length is another; `room` then has undefined content.
    #[must_use]
    pub fn emit(&self, llc_len: usize, room: &mut [u8]) -> bool {
        let mut w = Writer::new(room, PduType::DlUnitdata, self.tlli, self.qos);
        w.element(iei::PDU_LIFETIME, &self.lifetime.0.to_be_bytes());
        w.optional(iei::MS_RA_CAPABILITY, self.ms_ra_capability);
        w.optional(iei::PRIORITY, self.priority.map(|octet| [octet]));
        w.optional(iei::DRX_PARAMETERS, self.drx.map(u16::to_be_bytes));
        if let Some(imsi) = &self.imsi {
            w.element(iei::IMSI, ImsiValue::of(imsi).octets());
        }
        w.optional(iei::TLLI, self.old_tlli.map(|tlli| tlli.0.to_be_bytes()));
        w.optional(iei::PACKET_FLOW_IDENTIFIER, self.pfi.map(|octet| [octet & 0x7f]));
        w.optional(iei::LSA_INFORMATION, self.lsa_information);
        w.optional(iei::SERVICE_UTRAN_CCO, self.service_utran_cco.map(|octet| [octet]));
        w.finish(self.alignment, llc_len)
    }
}

/// Header of an UL-UNITDATA PDU (clause 10.2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UlUnitdata<'a> {
    /// Whose LL-PDU it is.
    pub tlli: Tlli,
    /// How it came over the radio.
    pub qos: QosProfile,
    /// Where it came from.
    pub cell: CellId,
    /// Packet flow identifier, seven bits.
    pub pfi: Option<u8>,
    /// Localised service areas of the cell.
    pub lsa_identifiers: Option<&'a [u8]>,
    /// Spare octets of the Alignment Octets element, 0 to 3; `None` without that element.
    pub alignment: Option<u8>,
}

impl<'a> UlUnitdata<'a> {
    /// The TLLI that stands where a UL-UNITDATA PDU has it, without a look at the rest: good enough for a guess.
    #[inline]
    #[must_use]
    pub fn glance(pdu: &[u8]) -> Option<Tlli> {
        let (pdu_type, rest) = pdu.split_first()?;
        let tlli = rest.first_chunk().filter(|_| *pdu_type == PduType::UlUnitdata.octet())?;
        Some(Tlli(u32::from_be_bytes(*tlli)))
    }

    /// A header with only what is mandatory, and with the LL-PDU aligned to 32 bits.
    #[must_use]
    pub const fn new(tlli: Tlli, qos: QosProfile, cell: CellId) -> Self {
        // 8 fixed octets, 10 of the cell identifier, 2 of the empty alignment: the LL-PDU's element starts at 20.
        Self { tlli, qos, cell, pfi: None, lsa_identifiers: None, alignment: Some(0) }
    }

    /// The same without the borrowed element, so that the PDU can be changed while the header is still of use.
    #[must_use]
    pub fn detached(self) -> UlUnitdata<'static> {
        UlUnitdata { lsa_identifiers: None, ..self }
    }

    /// Reads the header, and where in `pdu` the LL-PDU is.
    ///
    /// # Errors
    /// `Truncated` or `Missing` about TLLI, QoS profile, cell identifier and LL-PDU.
    pub fn parse(pdu: &'a [u8]) -> Result<(Self, Range<usize>), DecodeError> {
        let (tlli, qos, ies) = parse_fixed(pdu, PduType::UlUnitdata)?;
        let mut cell = None;
        let (mut pfi, mut lsa_identifiers, mut alignment) = (None, None, None);
        let llc_pdu = walk(&ies, |Element { iei, value, at }| match iei {
            iei::CELL_IDENTIFIER => first(&mut cell, Some((array(value), at, value.len()))),
            iei::PACKET_FLOW_IDENTIFIER => first(&mut pfi, value.first().map(|octet| octet & 0x7f)),
            iei::LSA_IDENTIFIER_LIST => first(&mut lsa_identifiers, Some(value)),
            iei::ALIGNMENT => first(&mut alignment, alignment_of(value)),
            _ => {}
        })?;
        let cell = match cell {
            Some((Some(octets), ..)) => CellId::from_octets(octets),
            Some((None, at, len)) => {
                return Err(DecodeError::new("Cell Identifier", at, DecodeErrorKind::BadLength(len)));
            }
            None => return Err(DecodeError::missing("Cell Identifier")),
        };
        Ok((Self { tlli, qos, cell, pfi, lsa_identifiers, alignment }, llc_pdu))
    }

    /// Octets of the header in front of an LL-PDU of `llc_len` octets.
    #[must_use]
    pub fn buffer_len(&self, llc_len: usize) -> usize {
        let element = |len: usize| tlv::header_len(len) + len;
        FIXED_LEN
            + element(CellId::LEN)
            + self.pfi.map_or(0, |_| element(1))
            + self.lsa_identifiers.map_or(0, |value| element(value.len()))
            + self.alignment.map_or(0, |count| element(usize::from(count.min(ALIGNMENT_MAX))))
            + tlv::header_len(llc_len)
    }

    /// Writes the header into `room`, which has [`UlUnitdata::buffer_len`] octets and stands in front of the LL-PDU.
    /// False where the length is another; `room` then has undefined content.
    #[must_use]
    pub fn emit(&self, llc_len: usize, room: &mut [u8]) -> bool {
        let mut w = Writer::new(room, PduType::UlUnitdata, self.tlli, self.qos);
        w.element(iei::CELL_IDENTIFIER, &self.cell.to_octets());
        w.optional(iei::PACKET_FLOW_IDENTIFIER, self.pfi.map(|octet| [octet & 0x7f]));
        w.optional(iei::LSA_IDENTIFIER_LIST, self.lsa_identifiers);
        w.finish(self.alignment, llc_len)
    }
}

/// Writes into a slice from left to right; remembers whether everything fitted.
struct Writer<'r> {
    room: &'r mut [u8],
    at: usize,
    fits: bool,
}

impl<'r> Writer<'r> {
    fn new(room: &'r mut [u8], pdu_type: PduType, tlli: Tlli, qos: QosProfile) -> Self {
        let mut writer = Self { room, at: 0, fits: true };
        writer.put(&[pdu_type.octet()]);
        writer.put(&tlli.0.to_be_bytes());
        writer.put(&qos.to_octets());
        writer
    }

    fn put(&mut self, octets: &[u8]) {
        match self.room.get_mut(self.at..self.at + octets.len()) {
            Some(room) => room.copy_from_slice(octets),
            None => self.fits = false,
        }
        self.at += octets.len();
    }

    /// Identifier and length indicator.
    fn tag(&mut self, iei: u8, len: usize) {
        let [high, low] = u16::try_from(len).unwrap_or(u16::MAX).to_be_bytes();
        match tlv::header_len(len) {
            2 => self.put(&[iei, 0x80 | low]),
            _ => {
                self.fits &= len <= tlv::VALUE_MAX;
                self.put(&[iei, high, low]);
            }
        }
    }

    fn element(&mut self, iei: u8, value: &[u8]) {
        self.tag(iei, value.len());
        self.put(value);
    }

    fn optional(&mut self, iei: u8, value: Option<impl AsRef<[u8]>>) {
        if let Some(value) = value {
            self.element(iei, value.as_ref());
        }
    }

    /// Alignment, the identifier and the length of the LL-PDU; true where exactly the room was filled.
    fn finish(mut self, alignment: Option<u8>, llc_len: usize) -> bool {
        if let Some(count) = alignment {
            let spare = [0; ALIGNMENT_MAX as usize];
            self.element(iei::ALIGNMENT, spare.get(..usize::from(count)).unwrap_or(&spare));
        }
        self.tag(iei::LLC_PDU, llc_len);
        self.fits && self.at == self.room.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bssgp::cause;
    use crate::bssgp::ie::{Cause, Precedence};

    const UPLINK: [u8; 41] = [
        0x01, 0xd1, 0x99, 0x21, 0x73, 0x00, 0x00, 0x04, 0x08, 0x88, 0x00, 0xf1, 0x10, 0x00, 0x01, 0x00, 0x1b,
        0x39, 0x00, 0x80, 0x0e, 0x00, 0x08, 0x01, 0xc0, 0x11, 0x08, 0x03, 0xea, 0x67, 0x11, 0x28, 0x81, 0x05,
        0x0e, 0x81, 0x00, 0x77, 0x00, 0x01, 0xff,
    ];
    const DOWNLINK: [u8; 34] = [
        0x00, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x20, 0x16, 0x82, 0x03, 0xe8, 0x0a, 0x82, 0x0a, 0x00, 0x0d,
        0x88, 0x09, 0x10, 0x10, 0x00, 0x00, 0x00, 0x00, 0x10, 0x0e, 0x86, 0x41, 0xc0, 0x09, 0x08, 0x12, 0x10,
    ];

    #[test]
    fn a_real_uplink_pdu() {
        // The first 31 octets are from a real core; the rest is out of order, repeated or unknown.
        let (header, llc_pdu) = UlUnitdata::parse(&UPLINK[..31]).unwrap();
        let glances = [&UPLINK[..5], &UPLINK[..4], &DOWNLINK].map(UlUnitdata::glance);
        assert_eq!(glances, [Some(header.tlli), None, None]);
        assert_eq!(header.tlli, Tlli(0xd199_2173));
        assert_eq!(header.qos, QosProfile { precedence: Precedence::UNKNOWN, ..QosProfile::default() });
        assert_eq!(header.cell.to_string(), "001-01-1-0-6969");
        assert_eq!((header.pfi, header.alignment), (None, Some(0)));
        assert_eq!(llc_pdu, 23..31);
        let (with_pfi, same) = UlUnitdata::parse(&UPLINK).unwrap();
        assert_eq!((with_pfi, same), (UlUnitdata { pfi: Some(5), ..header }, llc_pdu));
        assert_eq!(header, UlUnitdata::new(header.tlli, header.qos, header.cell));
        let mut room = vec![0; header.buffer_len(8)];
        assert!(header.emit(8, &mut room));
        assert_eq!(room, [&UPLINK[..20], &[0x0e, 0x88]].concat());
        assert!(!header.emit(8, &mut room[1..]));
        assert!(!header.emit(200, &mut room));
    }

    #[test]
    fn a_real_downlink_pdu() {
        let (header, llc_pdu) = DlUnitdata::parse(&DOWNLINK).unwrap();
        assert_eq!(header.lifetime, PduLifetime(1000));
        assert_eq!(header.drx, Some(0x0a00));
        assert_eq!(header.imsi, "001010000000001".parse().ok());
        assert_eq!(llc_pdu, 28..34);
        let mut room = vec![0; header.buffer_len(6)];
        assert!(header.emit(6, &mut room));
        assert_eq!(room, DOWNLINK[..28]);
        assert!(room.len() <= HEADER_LEN_MAX);
    }

    #[test]
    fn errors_of_mandatory_elements() {
        let uplink = |octets: &[u8]| cause(&UlUnitdata::parse(octets).unwrap_err());
        let downlink = |octets: &[u8]| cause(&DlUnitdata::parse(octets).unwrap_err());
        assert_eq!(uplink(&UPLINK[..7]), Cause::InvalidMandatoryInformation);
        assert_eq!(uplink(&UPLINK[..20]), Cause::MissingMandatoryIe);
        assert_eq!(uplink(&UPLINK[..30]), Cause::InvalidMandatoryInformation);
        let no_cell = [&UPLINK[..8], &UPLINK[20..31]].concat();
        assert_eq!(UlUnitdata::parse(&no_cell), Err(DecodeError::missing("Cell Identifier")));
        let no_lifetime = [&DOWNLINK[..8], &DOWNLINK[12..]].concat();
        assert_eq!(downlink(&no_lifetime), Cause::MissingMandatoryIe);
        let short_lifetime = [&DOWNLINK[..8], &[0x16, 0x81, 0x03], &DOWNLINK[12..]].concat();
        assert_eq!(downlink(&short_lifetime), Cause::InvalidMandatoryInformation);
        assert_eq!(downlink(&UPLINK), Cause::ProtocolError);
    }
}
