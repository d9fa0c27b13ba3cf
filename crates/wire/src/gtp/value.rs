//! What stands in the information elements (29.060 clause 7.7).

use crate::error::DecodeErrorKind;
use crate::gtp::cause::Cause;
use crate::gtp::ie::Value;
use crate::id::{Imei, Imsi, Nsapi, PTmsi, Plmn, Rai, Teid, Tlli};
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::ops::Deref;
use core::str::FromStr;

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

/// At most `N` octets, held in place.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Octets<const N: usize> {
    len: u8,
    octets: [u8; N],
}

impl<const N: usize> Octets<N> {
    /// A copy of `octets`; `None` where there are more than `N`.
    #[must_use]
    pub fn new(octets: &[u8]) -> Option<Self> {
        let mut copy = [0; N];
        copy.get_mut(..octets.len())?.copy_from_slice(octets);
        Some(Self { len: u8::try_from(octets.len()).ok()?, octets: copy })
    }

    /// A copy of the first `N` of `octets`.
    #[must_use]
    pub fn first_of(octets: &[u8]) -> Self {
        let room = N.min(usize::from(u8::MAX)).min(octets.len());
        octets.get(..room).and_then(Self::new).unwrap_or(Self { len: 0, octets: [0; N] })
    }
}

impl<const N: usize> Deref for Octets<N> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.octets.get(..usize::from(self.len)).unwrap_or_default()
    }
}

impl<const N: usize> fmt::Debug for Octets<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

/// Quality of service (29.060 clause 7.7.34): allocation and retention, and the value of the element of the same name
/// in session management (04.08 clause 10.5.6.5 [24.008]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QosProfile {
    /// Allocation/retention priority, 1 to 3; 0 where the subscription decides.
    pub allocation_retention: u8,
    /// 3 octets of R97, 11 of R99, up to 20 of later releases; what comes behind is not kept.
    pub value: Octets<20>,
}

impl Value for QosProfile {
    fn decode(octets: &[u8]) -> Result<Self, DecodeErrorKind> {
        match octets {
            [allocation_retention, value @ ..] if value.len() >= 3 => {
                Ok(Self { allocation_retention: *allocation_retention, value: Octets::first_of(value) })
            }
            _ => Err(DecodeErrorKind::BadLength(octets.len())),
        }
    }
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.allocation_retention);
        out.extend_from_slice(&self.value);
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

/// Access point name: labels of 1 to 63 octets, each behind its length, 100 octets in all (03.03 clause 9.1 [23.003]).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Apn(Vec<u8>);

impl Apn {
    /// From the octets on the wire; `None` where the lengths contradict.
    #[must_use]
    pub fn from_octets(octets: &[u8]) -> Option<Self> {
        let mut rest = octets;
        while let [len, behind @ ..] = rest {
            rest = (1..=63).contains(len).then(|| behind.get(usize::from(*len)..)).flatten()?;
        }
        (1..=100).contains(&octets.len()).then(|| Self(octets.to_vec()))
    }

    /// The octets on the wire.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.0
    }

    /// The labels in their order.
    pub fn labels(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.0.as_slice();
        core::iter::from_fn(move || {
            let (len, behind) = rest.split_first()?;
            let (label, next) = behind.split_at_checked(usize::from(*len))?;
            rest = next;
            Some(label)
        })
    }

    /// The labels of the network identifier: all but an operator identifier `mncNNN.mccNNN.gprs` at the end.
    fn network_identifier(&self) -> impl Iterator<Item = &[u8]> {
        let labels: Vec<&[u8]> = self.labels().collect();
        let starts = |label: &[u8], with: &[u8]| label.get(..3).is_some_and(|l| l.eq_ignore_ascii_case(with));
        let keep = match labels.as_slice() {
            [network @ .., mnc, mcc, gprs]
                if !network.is_empty()
                    && gprs.eq_ignore_ascii_case(b"gprs")
                    && starts(mnc, b"mnc")
                    && starts(mcc, b"mcc") =>
            {
                network.len()
            }
            all => all.len(),
        };
        labels.into_iter().take(keep)
    }

    /// Do both name the same network, whatever the case of their letters and the operator?
    #[must_use]
    pub fn same_network(&self, other: &Self) -> bool {
        let (mut ours, mut theirs) = (self.network_identifier(), other.network_identifier());
        loop {
            match (ours.next(), theirs.next()) {
                (None, None) => return true,
                (Some(a), Some(b)) if a.eq_ignore_ascii_case(b) => {}
                _ => return false,
            }
        }
    }
}

impl FromStr for Apn {
    type Err = crate::DecodeError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = crate::DecodeError::new("Access Point Name", 0, DecodeErrorKind::BadLength(text.len()));
        let mut octets = Vec::with_capacity(text.len() + 1);
        for label in text.split('.') {
            octets.push(u8::try_from(label.len()).map_err(|_| error)?);
            octets.extend_from_slice(label.as_bytes());
        }
        Self::from_octets(&octets).ok_or(error)
    }
}

impl fmt::Display for Apn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, label) in self.labels().enumerate() {
            write!(f, "{}{}", if at > 0 { "." } else { "" }, label.escape_ascii())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Apn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Apn({self})")
    }
}

impl Value for Apn {
    fn decode(octets: &[u8]) -> Result<Self, DecodeErrorKind> {
        Self::from_octets(octets).ok_or(DecodeErrorKind::BadLength(octets.len()))
    }
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }
}

/// The mobile's telephone number: nature of address and numbering plan, then TBCD (29.060 clause 7.7.33).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Msisdn {
    /// Extension bit, nature of address, numbering plan: 0x91 for an international number.
    pub nature_and_plan: u8,
    /// Two digits an octet, the first in the low half.
    pub tbcd: Octets<8>,
}

impl fmt::Display for Msisdn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.tbcd.iter().flat_map(|octet| [octet & 0xf, octet >> 4]);
        digits.take_while(|digit| *digit < 10).try_for_each(|digit| write!(f, "{digit}"))
    }
}

impl Value for Msisdn {
    fn decode(octets: &[u8]) -> Result<Self, DecodeErrorKind> {
        match octets {
            [nature_and_plan, tbcd @ ..] => {
                Ok(Self { nature_and_plan: *nature_and_plan, tbcd: Octets::first_of(tbcd) })
            }
            [] => Err(DecodeErrorKind::BadLength(0)),
        }
    }
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.nature_and_plan);
        out.extend_from_slice(&self.tbcd);
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
        let apn = there_and_back::<Apn>(b"\x08internet");
        assert_eq!(apn.to_string(), "internet");
        assert_eq!("Internet.mnc001.mcc001.gprs".parse::<Apn>().unwrap().octets().len(), 28);
        assert!(apn.same_network(&"INTERNET.mnc001.MCC001.gprs".parse().unwrap()));
        assert!(!apn.same_network(&"internet.example".parse().unwrap()));
        assert!(!apn.same_network(&"mms".parse().unwrap()));
        for octets in [&b""[..], b"\0", b"\x09internet", b"\x40a", b"\x01a\x05b"] {
            assert_eq!(Apn::from_octets(octets), None);
        }
        assert!("".parse::<Apn>().is_err());
        assert!("a".repeat(64).parse::<Apn>().is_err());
        assert!(vec!["abc"; 26].join(".").parse::<Apn>().is_err());
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
        assert_eq!(QosProfile::decode(&[1, 2, 3]), Err(DecodeErrorKind::BadLength(3)));
        for len in [4, 12, 15, 17, 21] {
            there_and_back::<QosProfile>(&vec![7; len]);
        }
        assert_eq!(QosProfile::decode(&[7; 40]).unwrap().value.len(), 20);
    }
}
