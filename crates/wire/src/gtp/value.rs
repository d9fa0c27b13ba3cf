//! What stands in the information elements (29.060 clause 7.7).

use crate::error::DecodeErrorKind;
use crate::gtp::cause::Cause;
use crate::gtp::ie::Value;
use crate::id::{FlowLabel, Imei, Imsi, Nsapi, PTmsi, Plmn, Rai, Teid, Tlli};
use crate::l3::Element;
use crate::l3::ie::{Apn, Octets, QosProfile};
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use serde::{Deserialize, Serialize};

/// The first `N` octets of a value, or why they are not there.
fn array<const N: usize>(octets: &[u8]) -> Result<[u8; N], DecodeErrorKind> {
    octets.first_chunk().copied().ok_or(DecodeErrorKind::BadLength(octets.len()))
}

/// Values of a fixed length, from and to an array.
macro_rules! fixed {
    ($($type:ty: |$octets:ident: $array:ty| $decode:expr, |$value:ident| $encode:expr;)*) => {
        $(impl Value for $type {
            fn decode(octets: &[u8]) -> Result<Self, DecodeErrorKind> {
                let $octets: $array = array(octets)?;
                $decode
            }
            fn encode(&self, out: &mut Vec<u8>) {
                let $value = self;
                out.extend_from_slice(&$encode);
            }
        })*
    };
}

fixed! {
    u8: |o: [u8; 1]| Ok(Self::from_be_bytes(o)), |v| v.to_be_bytes();
    u16: |o: [u8; 2]| Ok(Self::from_be_bytes(o)), |v| v.to_be_bytes();
    u32: |o: [u8; 4]| Ok(Self::from_be_bytes(o)), |v| v.to_be_bytes();
    // One bit behind seven spare ones (29.060 clauses 7.7.6 and 7.7.16).
    bool: |o: [u8; 1]| Ok(o[0] & 1 == 1), |v| [0xfe | u8::from(*v)];
    Teid: |o: [u8; 4]| Ok(Self(u32::from_be_bytes(o))), |v| v.0.to_be_bytes();
    FlowLabel: |o: [u8; 2]| Ok(Self(u16::from_be_bytes(o))), |v| v.0.to_be_bytes();
    Tlli: |o: [u8; 4]| Ok(Self(u32::from_be_bytes(o))), |v| v.0.to_be_bytes();
    PTmsi: |o: [u8; 4]| Ok(Self(u32::from_be_bytes(o))), |v| v.0.to_be_bytes();
    Nsapi: |o: [u8; 1]| Ok(Self(o[0] & 0xf)), |v| [v.0 & 0xf];
    Cause: |o: [u8; 1]| Ok(Self::from_octet(o[0])), |v| [v.octet()];
    Rai: |o: [u8; 6]| Ok(Self::from_octets(o)), |v| v.to_octets();
    Imsi: |o: [u8; 8]| Self::from_tbcd(o).ok_or(DecodeErrorKind::BadValue(u32::from(o[0]))), |v| v.tbcd();
    Imei: |o: [u8; 8]| Self::from_tbcd(o).ok_or(DecodeErrorKind::BadValue(u32::from(o[0]))), |v| v.tbcd();
}

/// How the APN was chosen (29.060 clause 7.7.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SelectionMode {
    /// Provided by MS or network, subscription verified.
    #[default]
    Verified,
    /// Provided by the MS, subscription not verified.
    MsNotVerified,
    /// Provided by the network, subscription not verified; also the value kept for future use.
    NetworkNotVerified,
}

fixed! {
    SelectionMode: |o: [u8; 1]| Ok(match o[0] & 3 {
        0 => Self::Verified,
        1 => Self::MsNotVerified,
        _ => Self::NetworkNotVerified,
    }), |v| [0xfc | *v as u8];
}

/// User plane endpoint of one NSAPI (29.060 clause 7.7.15).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TeidDataII {
    /// Which PDP context.
    pub nsapi: Nsapi,
    /// Its endpoint.
    pub teid: Teid,
}

fixed! {
    TeidDataII: |o: [u8; 5]| {
        let [nsapi, a, b, c, d] = o;
        Ok(Self { nsapi: Nsapi(nsapi & 0xf), teid: Teid(u32::from_be_bytes([a, b, c, d])) })
    }, |v| {
        let [a, b, c, d] = v.teid.0.to_be_bytes();
        [v.nsapi.0 & 0xf, a, b, c, d]
    };
}

/// Which kind of place a User Location Information names (29.060 clause 7.7.51).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserLocationKind {
    /// Cell global identification.
    Cgi,
    /// Service area identity.
    Sai,
    /// Routeing area identity: the code is the RAC, with a filler octet behind it.
    Rai,
}

/// Where the mobile is (29.060 clause 7.7.51).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserLocation {
    /// What the code means.
    pub kind: UserLocationKind,
    /// Country and network.
    pub plmn: Plmn,
    /// Location area code.
    pub lac: u16,
    /// Cell identity, service area code, or RAC.
    pub code: u16,
}

fixed! {
    UserLocation: |o: [u8; 8]| {
        let [kind, p0, p1, p2, l0, l1, c0, c1] = o;
        let (kind, code) = match kind {
            0 => (UserLocationKind::Cgi, u16::from_be_bytes([c0, c1])),
            1 => (UserLocationKind::Sai, u16::from_be_bytes([c0, c1])),
            2 => (UserLocationKind::Rai, u16::from(c0)),
            other => return Err(DecodeErrorKind::BadValue(u32::from(other))),
        };
        let plmn = Plmn::from_octets([p0, p1, p2]);
        Ok(Self { kind, plmn, lac: u16::from_be_bytes([l0, l1]), code })
    }, |v| {
        let [p0, p1, p2] = v.plmn.to_octets();
        let [l0, l1] = v.lac.to_be_bytes();
        let (kind, [c0, c1]) = match v.kind {
            UserLocationKind::Cgi => (0, v.code.to_be_bytes()),
            UserLocationKind::Sai => (1, v.code.to_be_bytes()),
            UserLocationKind::Rai => (2, [v.code.to_be_bytes()[1], 0xff]),
        };
        [kind, p0, p1, p2, l0, l1, c0, c1]
    };
}

/// The mobile's time zone (29.060 clause 7.7.52).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MsTimeZone {
    /// Quarters of an hour, coded as 23.040 has it.
    pub zone: u8,
    /// Hours of daylight saving time, 0 to 2.
    pub daylight_saving: u8,
}

fixed! {
    MsTimeZone: |o: [u8; 2]| Ok(Self { zone: o[0], daylight_saving: o[1] & 3 }), |v| [v.zone, v.daylight_saving & 3];
}

/// Octets that are carried and not looked at: a TFT, the protocol configuration options.
impl Value for Vec<u8> {
    fn decode(octets: &[u8]) -> Result<Self, DecodeErrorKind> {
        Ok(octets.to_vec())
    }
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }
}

/// A GSN's or charging gateway's address: 4 or 16 octets (29.060 clause 7.7.32).
impl Value for IpAddr {
    fn decode(octets: &[u8]) -> Result<Self, DecodeErrorKind> {
        if let Ok(octets) = <[u8; 4]>::try_from(octets) {
            return Ok(Self::V4(Ipv4Addr::from(octets)));
        }
        match <[u8; 16]>::try_from(octets) {
            Ok(octets) => Ok(Self::V6(Ipv6Addr::from(octets))),
            Err(_) => Err(DecodeErrorKind::BadLength(octets.len())),
        }
    }
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::V4(address) => out.extend_from_slice(&address.octets()),
            Self::V6(address) => out.extend_from_slice(&address.octets()),
        }
    }
}

/// Quality of service (29.060 clause 7.7.34): allocation and retention, and the octets of session management's element
/// (04.08 clause 10.5.6.5 [24.008]), kept as they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Qos {
    /// Allocation/retention priority, 1 to 3; 0 where the subscription decides.
    pub allocation_retention: u8,
    /// 3 octets of R97, 11 of R99, up to 20 of later releases; what comes behind is not kept.
    pub value: Octets<20>,
}

impl Qos {
    /// From a profile of session management.
    #[must_use]
    pub fn new(allocation_retention: u8, profile: &QosProfile) -> Self {
        let mut octets = Vec::with_capacity(14);
        profile.emit_value(&mut octets);
        Self { allocation_retention, value: Octets::from_start(&octets) }
    }

    /// The profile.
    #[must_use]
    pub fn profile(&self) -> QosProfile {
        QosProfile::parse_value(self.value.as_slice()).unwrap_or_default()
    }

    /// The same with something concrete in the place of each value that is left to the subscription, reserved or not
    /// defined ([`QosProfile::concrete`]); what later releases put behind the profile of R5 stays as far as it is defined.
    /// The precedence class of R97 stands for an allocation/retention priority that is none (23.107 clause 9.1.2.2).
    #[must_use]
    pub fn concrete(&self) -> Self {
        let profile = self.profile().concrete();
        let mut octets = Vec::with_capacity(20);
        profile.emit_value(&mut octets);
        // Pairs of octets: extensions of the rates for uplink, and of all rates above 256 Mbit/s.
        let extensions = [(14, 16, 0xfa), (16, 20, 0xf6)];
        for (from, to, most) in extensions {
            if let Some(later) = self.value.as_slice().get(from..to) {
                octets.resize(from, 0);
                octets.extend(later.iter().map(|octet| if *octet <= most { *octet } else { 0 }));
            }
        }
        let allocation_retention = match self.allocation_retention {
            priority @ 1..=3 => priority,
            _ => profile.precedence.0,
        };
        Self { allocation_retention, value: Octets::from_start(&octets) }
    }
}

impl Value for Qos {
    fn decode(octets: &[u8]) -> Result<Self, DecodeErrorKind> {
        match octets {
            [allocation_retention, value @ ..] if value.len() >= 3 => {
                Ok(Self { allocation_retention: *allocation_retention, value: Octets::from_start(value) })
            }
            _ => Err(DecodeErrorKind::BadLength(octets.len())),
        }
    }
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.allocation_retention);
        out.extend_from_slice(self.value.as_slice());
    }
}

/// Quality of service of version 0: the three octets of R97 (09.60 clause 7.9.6, 04.08 clause 10.5.6.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QosR97(pub [u8; 3]);

fixed! {
    QosR97: |o: [u8; 3]| Ok(Self(o)), |v| v.0;
}

impl QosR97 {
    /// What version 0 can say of a profile: its first three octets.
    #[must_use]
    pub fn of(qos: &Qos) -> Self {
        Self(qos.value.as_slice().first_chunk().copied().unwrap_or_default())
    }

    /// As version 1 has it, with the precedence class for the allocation/retention priority
    /// (23.107 clause 9.1.2.2).
    #[must_use]
    pub fn to_qos(self) -> Qos {
        let value = Octets::from_start(&self.0);
        let mut qos = Qos { allocation_retention: 0, value };
        qos.allocation_retention = qos.profile().precedence.0;
        qos
    }
}

/// PDP type and address of the mobile (29.060 clause 7.7.27).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndUserAddress {
    /// IPv4; no address asks for a dynamic one.
    Ipv4(Option<Ipv4Addr>),
    /// IPv6; no address asks for a dynamic one.
    Ipv6(Option<Ipv6Addr>),
    /// Both, of a later release.
    Ipv4v6(Option<Ipv4Addr>, Option<Ipv6Addr>),
    /// PPP, which has no address here.
    Ppp,
    /// Anything else.
    Other {
        /// PDP type organisation, 0 to 15.
        organisation: u8,
        /// PDP type number.
        number: u8,
        /// PDP address.
        address: Vec<u8>,
    },
}

const ORGANISATION_ETSI: u8 = 0;
const ORGANISATION_IETF: u8 = 1;
const NUMBER_PPP: u8 = 1;
const NUMBER_IPV4: u8 = 0x21;
const NUMBER_IPV6: u8 = 0x57;
const NUMBER_IPV4V6: u8 = 0x8d;

impl Value for EndUserAddress {
    fn decode(octets: &[u8]) -> Result<Self, DecodeErrorKind> {
        let [organisation, number, address @ ..] = octets else {
            return Err(DecodeErrorKind::BadLength(octets.len()));
        };
        let v4 = |octets: &[u8]| <[u8; 4]>::try_from(octets).ok().map(Ipv4Addr::from);
        let v6 = |octets: &[u8]| <[u8; 16]>::try_from(octets).ok().map(Ipv6Addr::from);
        match (organisation & 0xf, *number, address.len()) {
            (ORGANISATION_ETSI, NUMBER_PPP, 0) => Ok(Self::Ppp),
            (ORGANISATION_IETF, NUMBER_IPV4, 0 | 4) => Ok(Self::Ipv4(v4(address))),
            (ORGANISATION_IETF, NUMBER_IPV6, 0 | 16) => Ok(Self::Ipv6(v6(address))),
            (ORGANISATION_IETF, NUMBER_IPV4V6, 0 | 4 | 16) => Ok(Self::Ipv4v6(v4(address), v6(address))),
            (ORGANISATION_IETF, NUMBER_IPV4V6, 20) => {
                let (first, second) = address.split_at_checked(4).unwrap_or_default();
                Ok(Self::Ipv4v6(v4(first), v6(second)))
            }
            (ORGANISATION_ETSI, NUMBER_PPP, _)
            | (ORGANISATION_IETF, NUMBER_IPV4 | NUMBER_IPV6 | NUMBER_IPV4V6, _) => {
                Err(DecodeErrorKind::BadLength(octets.len()))
            }
            (organisation, number, _) => Ok(Self::Other { organisation, number, address: address.to_vec() }),
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let (organisation, number) = match self {
            Self::Ipv4(_) => (ORGANISATION_IETF, NUMBER_IPV4),
            Self::Ipv6(_) => (ORGANISATION_IETF, NUMBER_IPV6),
            Self::Ipv4v6(..) => (ORGANISATION_IETF, NUMBER_IPV4V6),
            Self::Ppp => (ORGANISATION_ETSI, NUMBER_PPP),
            Self::Other { organisation, number, .. } => (*organisation, *number),
        };
        out.extend([0xf0 | organisation, number]);
        match self {
            Self::Ipv4(v4) => out.extend(v4.iter().flat_map(Ipv4Addr::octets)),
            Self::Ipv6(v6) => out.extend(v6.iter().flat_map(Ipv6Addr::octets)),
            Self::Ipv4v6(v4, v6) => {
                out.extend(v4.iter().flat_map(Ipv4Addr::octets));
                out.extend(v6.iter().flat_map(Ipv6Addr::octets));
            }
            Self::Ppp => {}
            Self::Other { address, .. } => out.extend_from_slice(address),
        }
    }
}

impl Value for Apn {
    /// An element without octets says that the GGSN is to choose.
    fn decode(octets: &[u8]) -> Result<Self, DecodeErrorKind> {
        if octets.is_empty() {
            return Ok(Self::UNNAMED);
        }
        Self::parse_value(octets).map_err(|error| error.kind)
    }
    fn encode(&self, out: &mut Vec<u8>) {
        self.emit_value(out);
    }
}

/// The mobile's telephone number: nature of address and numbering plan, then TBCD (29.060 clause 7.7.33).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Msisdn {
    /// Extension bit, nature of address, numbering plan: 0x91 for an international number.
    pub nature_and_plan: u8,
    /// Two digits an octet, the first in the low half.
    pub tbcd: Octets<8>,
}

impl fmt::Display for Msisdn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.tbcd.as_slice().iter().flat_map(|octet| [octet & 0xf, octet >> 4]);
        digits.take_while(|digit| *digit < 10).try_for_each(|digit| write!(f, "{digit}"))
    }
}

impl Value for Msisdn {
    fn decode(octets: &[u8]) -> Result<Self, DecodeErrorKind> {
        match octets {
            [nature_and_plan, tbcd @ ..] => {
                Ok(Self { nature_and_plan: *nature_and_plan, tbcd: Octets::from_start(tbcd) })
            }
            [] => Err(DecodeErrorKind::BadLength(0)),
        }
    }
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.nature_and_plan);
        out.extend_from_slice(self.tbcd.as_slice());
    }
}

/// What someone added for himself (29.060 clause 7.7.46).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateExtension {
    /// The enterprise number that IANA gave him.
    pub identifier: u16,
    /// His octets.
    pub value: Vec<u8>,
}

impl Value for PrivateExtension {
    fn decode(octets: &[u8]) -> Result<Self, DecodeErrorKind> {
        match octets {
            [high, low, value @ ..] => {
                Ok(Self { identifier: u16::from_be_bytes([*high, *low]), value: value.to_vec() })
            }
            _ => Err(DecodeErrorKind::BadLength(octets.len())),
        }
    }
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.identifier.to_be_bytes());
        out.extend_from_slice(&self.value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quality_of_service_of_r97() {
        // Delay class 4, reliability 3; peak 2, precedence 2; best effort. Then attributes of R99, which go.
        let value = Octets::from_start(&[0x23, 0x22, 0x1f, 0x73, 0x96]);
        let r97 = QosR97::of(&Qos { allocation_retention: 1, value });
        assert_eq!(r97, QosR97([0x23, 0x22, 0x1f]));
        assert_eq!(r97.to_qos(), Qos { allocation_retention: 2, value: Octets::from_start(&r97.0) });
    }

    fn there_and_back<T: Value + PartialEq + fmt::Debug>(octets: &[u8]) -> T {
        let value = T::decode(octets).unwrap();
        let mut again = Vec::new();
        value.encode(&mut again);
        assert_eq!(again, octets);
        value
    }

    #[test]
    fn end_user_addresses() {
        assert_eq!(there_and_back::<EndUserAddress>(&[0xf1, 0x21]), EndUserAddress::Ipv4(None));
        assert_eq!(
            there_and_back::<EndUserAddress>(&[0xf1, 0x21, 172, 16, 222, 1]),
            EndUserAddress::Ipv4(Some(Ipv4Addr::new(172, 16, 222, 1)))
        );
        assert_eq!(there_and_back::<EndUserAddress>(&[0xf0, 0x01]), EndUserAddress::Ppp);
        assert_eq!(there_and_back::<EndUserAddress>(&[0xf1, 0x57]), EndUserAddress::Ipv6(None));
        let mut both = vec![0xf1, 0x8d, 10, 0, 0, 1];
        both.extend([0; 15]);
        both.push(1);
        assert_eq!(
            there_and_back::<EndUserAddress>(&both),
            EndUserAddress::Ipv4v6(Some(Ipv4Addr::new(10, 0, 0, 1)), Some(Ipv6Addr::LOCALHOST))
        );
        there_and_back::<EndUserAddress>(&[0xf0, 0x00, 1, 2]);
        assert_eq!(EndUserAddress::decode(&[0xf1, 0x21, 1]), Err(DecodeErrorKind::BadLength(3)));
    }

    #[test]
    fn access_point_names() {
        assert_eq!(there_and_back::<Apn>(b"\x08internet").as_str(), "internet");
        assert_eq!(Apn::decode(b"\x09internet"), Err(DecodeErrorKind::BadLength(9)));
        assert_eq!(there_and_back::<Apn>(b""), Apn::UNNAMED);
    }

    #[test]
    fn numbers_and_flags() {
        assert_eq!(there_and_back::<Msisdn>(&[0x91, 0x64, 0x07, 0xf2]).to_string(), "46702");
        assert!(there_and_back::<bool>(&[0xff]));
        assert!(!there_and_back::<bool>(&[0xfe]));
        assert_eq!(there_and_back::<SelectionMode>(&[0xfd]), SelectionMode::MsNotVerified);
        assert_eq!(there_and_back::<TeidDataII>(&[5, 0, 0, 1, 2]).teid, Teid(0x102));
        let location = there_and_back::<UserLocation>(&[2, 0x00, 0xf1, 0x10, 0, 1, 27, 0xff]);
        assert_eq!((location.kind, location.lac, location.code), (UserLocationKind::Rai, 1, 27));
        assert_eq!(UserLocation::decode(&[9, 0, 0, 0, 0, 0, 0, 0]), Err(DecodeErrorKind::BadValue(9)));
        assert_eq!(there_and_back::<PrivateExtension>(&[0, 1, 2]).value, [2]);
        assert_eq!(Imsi::decode(&[0xff; 8]), Err(DecodeErrorKind::BadValue(0xff)));
    }

    #[test]
    fn qos_of_all_releases() {
        assert_eq!(Qos::decode(&[1, 2, 3]), Err(DecodeErrorKind::BadLength(3)));
        for len in [4, 12, 15, 17, 21] {
            there_and_back::<Qos>(&vec![7; len]);
        }
        assert_eq!(Qos::decode(&[7; 40]).unwrap().value.len(), 20);
        let qos = Qos::new(2, &QosProfile::BEST_EFFORT);
        assert_eq!((qos.value.len(), qos.profile()), (3, QosProfile::BEST_EFFORT));
    }
}
