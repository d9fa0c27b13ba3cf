//! The elements of BSSGP (08.18 clause 11.3).

use crate::error::{DecodeError, DecodeErrorKind};
use crate::id::{Bvci, Imsi, Plmn, Rai};
use crate::octet_enum::octet_enum;
use crate::tlv::{self, Elements};
use core::fmt;

/// Element identifiers (clause 11.3, table 11.1).
pub mod iei {
    /// Alignment octets (clause 11.3.1).
    pub const ALIGNMENT: u8 = 0x00;
    /// `Bmax` default MS (clause 11.3.2).
    pub const BMAX_DEFAULT_MS: u8 = 0x01;
    /// BSS area indication (clause 11.3.3).
    pub const BSS_AREA: u8 = 0x02;
    /// Bucket leak rate (clause 11.3.4).
    pub const BUCKET_LEAK_RATE: u8 = 0x03;
    /// BVCI (clause 11.3.6).
    pub const BVCI: u8 = 0x04;
    /// BVC bucket size (clause 11.3.5).
    pub const BVC_BUCKET_SIZE: u8 = 0x05;
    /// BVC measurement (clause 11.3.7).
    pub const BVC_MEASUREMENT: u8 = 0x06;
    /// Cause (clause 11.3.8).
    pub const CAUSE: u8 = 0x07;
    /// Cell identifier (clause 11.3.9).
    pub const CELL_IDENTIFIER: u8 = 0x08;
    /// Channel needed (clause 11.3.10).
    pub const CHANNEL_NEEDED: u8 = 0x09;
    /// DRX parameters (clause 11.3.11).
    pub const DRX_PARAMETERS: u8 = 0x0a;
    /// eMLPP priority (clause 11.3.12).
    pub const EMLPP_PRIORITY: u8 = 0x0b;
    /// Flush action (clause 11.3.13).
    pub const FLUSH_ACTION: u8 = 0x0c;
    /// IMSI (clause 11.3.14).
    pub const IMSI: u8 = 0x0d;
    /// LL-PDU (clause 11.3.15).
    pub const LLC_PDU: u8 = 0x0e;
    /// LLC frames discarded (clause 11.3.16).
    pub const LLC_FRAMES_DISCARDED: u8 = 0x0f;
    /// Location area (clause 11.3.17).
    pub const LOCATION_AREA: u8 = 0x10;
    /// MS bucket size (clause 11.3.21).
    pub const MS_BUCKET_SIZE: u8 = 0x12;
    /// MS radio access capability (clause 11.3.22).
    pub const MS_RA_CAPABILITY: u8 = 0x13;
    /// PDU in error (clause 11.3.24).
    pub const PDU_IN_ERROR: u8 = 0x15;
    /// PDU lifetime (clause 11.3.25).
    pub const PDU_LIFETIME: u8 = 0x16;
    /// Priority (clause 11.3.27).
    pub const PRIORITY: u8 = 0x17;
    /// QoS profile (clause 11.3.28).
    pub const QOS_PROFILE: u8 = 0x18;
    /// Radio cause (clause 11.3.29).
    pub const RADIO_CAUSE: u8 = 0x19;
    /// RA-Cap-UPD-Cause (clause 11.3.30).
    pub const RA_CAP_UPD_CAUSE: u8 = 0x1a;
    /// Routeing area (clause 11.3.31).
    pub const ROUTEING_AREA: u8 = 0x1b;
    /// `R_default_MS` (clause 11.3.32).
    pub const R_DEFAULT_MS: u8 = 0x1c;
    /// Suspend reference number (clause 11.3.33).
    pub const SUSPEND_REFERENCE: u8 = 0x1d;
    /// Tag (clause 11.3.34).
    pub const TAG: u8 = 0x1e;
    /// TLLI (clause 11.3.35).
    pub const TLLI: u8 = 0x1f;
    /// TMSI (clause 11.3.36).
    pub const TMSI: u8 = 0x20;
    /// Number of octets affected (clause 11.3.41).
    pub const OCTETS_AFFECTED: u8 = 0x25;
    /// LSA identifier list (clause 11.3.18).
    pub const LSA_IDENTIFIER_LIST: u8 = 0x26;
    /// LSA information (clause 11.3.19).
    pub const LSA_INFORMATION: u8 = 0x27;
    /// Packet flow identifier (clause 11.3.42).
    pub const PACKET_FLOW_IDENTIFIER: u8 = 0x28;
    /// Aggregate BSS QoS profile (clause 11.3.43).
    pub const ABQP: u8 = 0x3a;
    /// Feature bitmap (clause 11.3.45).
    pub const FEATURE_BITMAP: u8 = 0x3b;
    /// Bucket full ratio (clause 11.3.46).
    pub const BUCKET_FULL_RATIO: u8 = 0x3c;
    /// Service UTRAN CCO (clause 11.3.47).
    pub const SERVICE_UTRAN_CCO: u8 = 0x3d;
    /// NSEI (48.018 clause 11.3.48).
    pub const NSEI: u8 = 0x3e;
    /// Flow control granularity (48.018 clause 11.3.102).
    pub const FLOW_CONTROL_GRANULARITY: u8 = 0x7e;
    /// PLMN identity (48.018 clause 11.3).
    pub const PLMN_IDENTITY: u8 = 0x8e;
    /// Priority class indicator (48.018 clause 11.3).
    pub const PRIORITY_CLASS: u8 = 0x8f;
}

octet_enum! {
    /// Cause (clause 11.3.8).
    Cause {
        /// Too much to do.
        ProcessorOverload = 0x00, "processor overload";
        /// Hardware.
        EquipmentFailure = 0x01, "equipment failure";
        /// The network service lost its sub-network.
        TransitNetworkServiceFailure = 0x02, "transit network service failure";
        /// The network service works again.
        TransmissionCapacityModified = 0x03, "network service transmission capacity modified from zero kbps to greater than zero kbps";
        /// No such mobile.
        UnknownMs = 0x04, "unknown MS";
        /// No such BVC.
        BvciUnknown = 0x05, "BVCI unknown";
        /// The cell is congested.
        CellTrafficCongestion = 0x06, "cell traffic congestion";
        /// The SGSN is congested.
        SgsnCongestion = 0x07, "SGSN congestion";
        /// A person did it.
        OamIntervention = 0x08, "O&M intervention";
        /// The BVC is blocked.
        BvciBlocked = 0x09, "BVCI blocked";
        /// No packet flow context could be made.
        PfcCreateFailure = 0x0a, "PFC create failure";
        /// The packet flow context gave way to another.
        PfcPreempted = 0x0b, "PFC preempted";
        /// The QoS profile can no longer be kept.
        AbqpNoMoreSupported = 0x0c, "ABQP no more supported";
        /// The content contradicts the receiver's resources.
        SemanticallyIncorrectPdu = 0x20, "semantically incorrect PDU";
        /// A mandatory element is wrong.
        InvalidMandatoryInformation = 0x21, "invalid mandatory information";
        /// A mandatory element is not there.
        MissingMandatoryIe = 0x22, "missing mandatory IE";
        /// A conditional element is not there.
        MissingConditionalIe = 0x23, "missing conditional IE";
        /// A conditional element too many.
        UnexpectedConditionalIe = 0x24, "unexpected conditional IE";
        /// A conditional element is wrong.
        ConditionalIeError = 0x25, "conditional IE error";
        /// The PDU does not fit the state.
        PduNotCompatible = 0x26, "PDU not compatible with the protocol state";
        /// Anything else, an unknown PDU type among it.
        ProtocolError = 0x27, "protocol error - unspecified";
        /// The feature was not negotiated.
        PduNotCompatibleWithFeatures = 0x28, "PDU not compatible with the feature set";
    }
}

octet_enum! {
    /// Radio cause (clause 11.3.29).
    RadioCause {
        /// The mobile is gone.
        ContactLost = 0x00, "radio contact lost with the MS";
        /// The link is too bad.
        LinkQualityInsufficient = 0x01, "radio link quality insufficient to continue communication";
        /// The network ordered another cell.
        CellReselectionOrdered = 0x02, "cell-reselection ordered";
        /// The mobile prepares a cell change.
        CellReselectionPrepare = 0x03, "cell reselection prepare";
        /// The cell change failed.
        CellReselectionFailure = 0x04, "cell reselection failure";
    }
}

octet_enum! {
    /// RA-Cap-UPD-Cause (clause 11.3.30).
    RaCapUpdCause {
        /// The capability stands in the PDU.
        Ok = 0x00, "OK, RA capability IE present";
        /// No such mobile.
        TlliUnknown = 0x01, "TLLI unknown in SGSN";
        /// The SGSN has none.
        NotAvailable = 0x02, "no RA capabilities or IMSI available for this MS";
    }
}

octet_enum! {
    /// Flush action (clause 11.3.13).
    FlushAction {
        /// The LL-PDUs were deleted.
        Deleted = 0x00, "LLC-PDU(s) deleted";
        /// The LL-PDUs went to the new cell.
        Transferred = 0x01, "LLC-PDU(s) transferred";
        /// Some of them went to the new cell (later releases).
        PartiallyTransferred = 0x02, "LLC-PDU(s) partially transferred";
    }
}

/// How urgent an LL-PDU is within its cell, three bits (precedence of clause 11.3.28). Uplink it is the radio
/// priority: 0 to 3 are radio priority 1 to 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Precedence(pub u8);

impl Precedence {
    /// Downlink: high priority.
    pub const HIGH: Self = Self(0);
    /// Downlink: normal priority.
    pub const NORMAL: Self = Self(1);
    /// Downlink: low priority.
    pub const LOW: Self = Self(2);
    /// Uplink: the radio priority is not known.
    pub const UNKNOWN: Self = Self(4);
}

/// Priority class indicator (48.018 clause 11.3): which mobiles the SGSN wants to hear less of. R97 and R99 know neither
/// it nor such mobiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PriorityClass(pub u8);

impl PriorityClass {
    /// Those that are configured for low access priority.
    pub const LOW_ACCESS_PRIORITY: Self = Self(0x01);

    /// Are those among them that are configured for low access priority?
    #[must_use]
    pub const fn has_low_access_priority(self) -> bool {
        self.0 & Self::LOW_ACCESS_PRIORITY.0 != 0
    }
}

/// QoS profile of one LL-PDU, three octets (clause 11.3.28).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QosProfile {
    /// Peak bit rate in units of [`QosProfile::unit_bits_per_s`]; 0 is best effort.
    pub peak_bit_rate: u16,
    /// Peak bit rate granularity, 0 to 3: units of 100, 1,000, 10,000 or 100,000 bit/s. R99 has 0 only.
    pub granularity: u8,
    /// C/R: the LL-PDU does *not* hold an acknowledgement or SACK.
    pub not_ack: bool,
    /// T: the LL-PDU holds data; clear, it holds signalling.
    pub data: bool,
    /// A: the radio interface uses no RLC/MAC acknowledgement (UNITDATA).
    pub rlc_unacknowledged: bool,
    /// How urgent.
    pub precedence: Precedence,
}

impl QosProfile {
    /// Octets of the value part.
    pub const LEN: usize = 3;

    /// Reads the three octets; none is wrong.
    #[must_use]
    pub const fn from_octets([high, low, last]: [u8; 3]) -> Self {
        Self {
            peak_bit_rate: u16::from_be_bytes([high, low]),
            granularity: last >> 6,
            not_ack: last & 0x20 != 0,
            data: last & 0x10 != 0,
            rlc_unacknowledged: last & 0x08 != 0,
            precedence: Precedence(last & 0b111),
        }
    }

    /// The three octets.
    #[must_use]
    pub const fn to_octets(self) -> [u8; 3] {
        let [high, low] = self.peak_bit_rate.to_be_bytes();
        let flags =
            ((self.not_ack as u8) << 5) | ((self.data as u8) << 4) | ((self.rlc_unacknowledged as u8) << 3);
        [high, low, ((self.granularity & 3) << 6) | flags | (self.precedence.0 & 0b111)]
    }

    /// Bits per second of one unit of the peak bit rate.
    #[must_use]
    pub const fn unit_bits_per_s(self) -> u64 {
        100 * 10_u64.pow((self.granularity & 3) as u32)
    }

    /// The peak bit rate in bit/s; `None` is best effort.
    #[must_use]
    pub fn peak_bits_per_s(self) -> Option<u64> {
        (self.peak_bit_rate != 0).then_some(u64::from(self.peak_bit_rate) * self.unit_bits_per_s())
    }
}

/// PDU lifetime: how long an LL-PDU may wait in the BSS, in hundredths of a second (clause 11.3.25).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PduLifetime(pub u16);

impl PduLifetime {
    /// For ever.
    pub const INFINITE: Self = Self(0xffff);

    /// In nanoseconds; `None` is for ever.
    #[must_use]
    pub const fn nanos(self) -> Option<u64> {
        if self.0 == 0xffff { None } else { Some(self.0 as u64 * 10_000_000) }
    }
}

/// The unit of bucket sizes and leak rates (Flow Control Granularity, 48.018 clause 11.3.102): 100, 1,000, 10,000 or
/// 100,000 octets, or bit/s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Granularity(pub u8);

impl Granularity {
    /// The unit where the element is absent: 100 octets, 100 bit/s.
    pub const R99: Self = Self(0);

    /// The finest granularity in which `largest` (octets or bit/s) fits 16 bits.
    #[must_use]
    pub fn for_largest(largest: u64) -> Self {
        let fits = |g: &u8| largest.div_ceil(Self(*g).unit()) <= u64::from(u16::MAX);
        Self((0..=3).find(fits).unwrap_or(3))
    }

    /// Octets, or bit/s, of one unit.
    #[must_use]
    pub const fn unit(self) -> u64 {
        100 * 10_u64.pow((self.0 & 3) as u32)
    }

    /// A field's value in octets, or bit/s.
    #[must_use]
    pub fn scale(self, field: u16) -> u64 {
        u64::from(field) * self.unit()
    }

    /// The field for `value` octets, or bit/s: rounded down, the largest where it does not fit.
    #[must_use]
    pub fn field(self, value: u64) -> u16 {
        u16::try_from(value / self.unit()).unwrap_or(u16::MAX)
    }
}

/// Location area identification (clause 11.3.17).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lai {
    /// Country and network.
    pub plmn: Plmn,
    /// Location area code.
    pub lac: u16,
}

impl Lai {
    /// From the five octets.
    #[must_use]
    pub fn from_octets([a, b, c, l1, l2]: [u8; 5]) -> Self {
        Self { plmn: Plmn::from_octets([a, b, c]), lac: u16::from_be_bytes([l1, l2]) }
    }

    /// The five octets.
    #[must_use]
    pub fn to_octets(self) -> [u8; 5] {
        let [a, b, c] = self.plmn.to_octets();
        let [l1, l2] = self.lac.to_be_bytes();
        [a, b, c, l1, l2]
    }
}

/// Where to page: exactly one of four elements (clauses 10.3.1 and 10.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PagingArea {
    /// One cell.
    Bvc(Bvci),
    /// A location area.
    LocationArea(Lai),
    /// A routing area.
    RoutingArea(Rai),
    /// All cells of the BSS; the octet means nothing.
    BssArea(u8),
}

impl PagingArea {
    pub(super) fn parse(ies: &Elements<'_>) -> Result<Self, DecodeError> {
        const NAME: &str = "paging area";
        let mut present = [iei::BVCI, iei::LOCATION_AREA, iei::ROUTEING_AREA, iei::BSS_AREA]
            .into_iter()
            .filter(|iei| !matches!(ies.find(*iei, 0, NAME), Ok(None)));
        let Some(which) = present.next() else {
            return Err(DecodeError::new(NAME, 0, DecodeErrorKind::Conditional));
        };
        if present.next().is_some() {
            return Err(DecodeError::new(NAME, 0, DecodeErrorKind::OutOfSequence));
        }
        Ok(match which {
            iei::BVCI => Self::Bvc(Bvci(ies.mandatory_u16(iei::BVCI, "BVCI")?)),
            iei::LOCATION_AREA => {
                Self::LocationArea(Lai::from_octets(ies.mandatory_array(which, "Location Area")?))
            }
            iei::ROUTEING_AREA => {
                Self::RoutingArea(Rai::from_octets(ies.mandatory_array(which, "Routeing Area")?))
            }
            _ => Self::BssArea(ies.mandatory_u8(iei::BSS_AREA, "BSS Area Indication")?),
        })
    }

    pub(super) fn put(self, out: &mut Vec<u8>) {
        match self {
            Self::Bvc(bvci) => tlv::put(out, iei::BVCI, &bvci.0.to_be_bytes()),
            Self::LocationArea(lai) => tlv::put(out, iei::LOCATION_AREA, &lai.to_octets()),
            Self::RoutingArea(rai) => tlv::put(out, iei::ROUTEING_AREA, &rai.to_octets()),
            Self::BssArea(octet) => tlv::put(out, iei::BSS_AREA, &[octet]),
        }
    }
}

impl fmt::Display for PagingArea {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bvc(bvci) => write!(f, "BVC {bvci}"),
            Self::LocationArea(lai) => write!(f, "location area {}-{}", lai.plmn, lai.lac),
            Self::RoutingArea(rai) => write!(f, "routing area {rai}"),
            Self::BssArea(_) => f.write_str("all cells of the BSS"),
        }
    }
}

/// An IMSI in the coding of 04.08 clause 10.5.1.4 [24.008]: type 001, odd-even mark, first digit in the first octet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImsiValue {
    octets: [u8; 8],
    len: usize,
}

impl ImsiValue {
    /// Reads the value part; `None` where it is not an IMSI.
    #[must_use]
    pub fn read(value: &[u8]) -> Option<Imsi> {
        let (first, rest) = value.split_first()?;
        if first & 0b111 != 1 || rest.len() > 7 {
            return None;
        }
        let odd = first & 0b1000 != 0;
        let count = rest.len() * 2 + usize::from(odd);
        let digits = core::iter::once(first >> 4).chain(rest.iter().flat_map(|o| [o & 0xf, o >> 4]));
        Imsi::from_digits(digits.take(count))
    }

    /// The value part of `imsi`.
    #[must_use]
    pub fn of(imsi: &Imsi) -> Self {
        // TBCD, moved up by half an octet, with the type of identity and whether the count is odd in the place.
        let digits = u64::from_le_bytes(imsi.tbcd());
        let count = 16 - digits.leading_ones() / 4;
        let octets = (digits << 4 | u64::from(count % 2) << 3 | 1).to_le_bytes();
        Self { octets, len: count as usize / 2 + 1 }
    }

    /// The octets.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        self.octets.get(..self.len).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imsi_of_odd_and_even_length() {
        for (digits, octets) in [
            ("001010000000001", &[0x09, 0x10, 0x10, 0x00, 0x00, 0x00, 0x00, 0x10][..]),
            ("12345678901234", &[0x11, 0x32, 0x54, 0x76, 0x98, 0x10, 0x32, 0xf4]),
            ("123456", &[0x11, 0x32, 0x54, 0xf6]),
        ] {
            let imsi: Imsi = digits.parse().unwrap();
            assert_eq!(ImsiValue::of(&imsi).octets(), octets);
            assert_eq!(ImsiValue::read(octets), Some(imsi));
        }
        for wrong in [&[][..], &[0x01], &[0xf4, 0x00], &[0x19, 0xa2], &[0x19; 9]] {
            assert_eq!(ImsiValue::read(wrong), None, "{wrong:02x?}");
        }
    }

    #[test]
    fn qos_profile_bits() {
        let profile = QosProfile::from_octets([0x00, 0x64, 0b0111_1010]);
        assert_eq!(profile.peak_bits_per_s(), Some(100_000));
        assert!(profile.not_ack && profile.data && profile.rlc_unacknowledged);
        assert_eq!(profile.precedence, Precedence::LOW);
        assert_eq!(profile.to_octets(), [0x00, 0x64, 0b0111_1010]);
        assert_eq!(QosProfile::from_octets([0, 0, 4]).peak_bits_per_s(), None);
    }

    #[test]
    fn granularity_is_as_fine_as_it_can_be() {
        assert_eq!(Granularity::for_largest(0), Granularity::R99);
        assert_eq!(Granularity::for_largest(6_553_500), Granularity::R99);
        assert_eq!(Granularity::for_largest(6_553_501), Granularity(1));
        assert_eq!(Granularity::for_largest(u64::MAX), Granularity(3));
        assert_eq!(Granularity(1).field(1_999), 1);
        assert_eq!(Granularity(2).scale(7), 70_000);
        assert_eq!(PduLifetime(1000).nanos(), Some(10_000_000_000));
    }
}
