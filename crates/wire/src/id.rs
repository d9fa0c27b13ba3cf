//! The identifiers of GPRS, each a type of its own so that one is never taken for another.

use core::fmt;
use core::num::NonZeroU64;
use serde::{Deserialize, Serialize};

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident($inner:ty), $fmt:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
        pub struct $name(pub $inner);
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, $fmt, self.0)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "(", $fmt, ")"), self.0)
            }
        }
    };
}

number_id!(/// Network service entity identifier (08.16 clause 4.3).
    Nsei(u16), "{}");
number_id!(/// Network service virtual connection identifier (08.16 clause 4.2).
    Nsvci(u16), "{}");
number_id!(/// BSSGP virtual connection identifier (08.18 clause 5.4.1). 0 is signalling, 1 point-to-multipoint.
    Bvci(u16), "{}");
number_id!(/// Tunnel endpoint identifier of GTPv1 (29.060 clause 6).
    Teid(u32), "{:08x}");
number_id!(/// Flow label of GTPv0 (09.60 clause 6).
    FlowLabel(u16), "{:04x}");
number_id!(/// Packet temporary mobile subscriber identity (03.03 clause 2.4 [23.003]).
    PTmsi(u32), "{:08x}");
number_id!(/// Temporary logical link identifier (03.03 clause 2.6 [23.003]).
    Tlli(u32), "{:08x}");
number_id!(/// Network service access point identifier, 5 to 15 (04.65 clause 5.1 [44.065]).
    Nsapi(u8), "{}");
number_id!(/// LLC service access point identifier (04.64 clause 6.2.3 [44.064]).
    Sapi(u8), "{}");

impl Bvci {
    /// The signalling BVC of an NSE.
    pub const SIGNALLING: Self = Self(0);
    /// The point-to-multipoint BVC.
    pub const PTM: Self = Self(1);
}

impl Sapi {
    /// GPRS mobility management and session management.
    pub const GMM: Self = Self(1);
    /// Tunnelling of messages 2.
    pub const TOM2: Self = Self(2);
    /// User data 3.
    pub const DATA3: Self = Self(3);
    /// User data 5.
    pub const DATA5: Self = Self(5);
    /// Short message service.
    pub const SMS: Self = Self(7);
    /// Tunnelling of messages 8.
    pub const TOM8: Self = Self(8);
    /// User data 9.
    pub const DATA9: Self = Self(9);
    /// User data 11.
    pub const DATA11: Self = Self(11);
}

/// Which of the five kinds of TLLI a value is (03.03 clause 2.6 [23.003]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlliKind {
    /// Derived from a P-TMSI that is valid in this routing area: top bits 11.
    Local,
    /// Derived from a P-TMSI of another routing area: top bits 10.
    Foreign,
    /// Chosen by the mobile: top bits 01111.
    Random,
    /// Assigned by the SGSN for anonymous access: top bits 01110.
    Auxiliary,
    /// Anything else.
    Reserved,
}

impl Tlli {
    /// "No TLLI": all ones, which releases an assignment (04.64 clause 7.2.1.1 [44.064]).
    pub const UNASSIGNED: Self = Self(0xffff_ffff);

    /// The kind of this TLLI.
    #[must_use]
    pub const fn kind(self) -> TlliKind {
        match self.0 >> 27 {
            0b11000..=0b11111 => TlliKind::Local,
            0b10000..=0b10111 => TlliKind::Foreign,
            0b01111 => TlliKind::Random,
            0b01110 => TlliKind::Auxiliary,
            _ => TlliKind::Reserved,
        }
    }

    /// The local TLLI of a P-TMSI.
    #[must_use]
    pub const fn local(ptmsi: PTmsi) -> Self {
        Self(ptmsi.0 | 0xc000_0000)
    }

    /// The foreign TLLI of a P-TMSI.
    #[must_use]
    pub const fn foreign(ptmsi: PTmsi) -> Self {
        Self(0x8000_0000 | (ptmsi.0 & 0x3fff_ffff))
    }

    /// A random TLLI from 27 random bits.
    #[must_use]
    pub const fn random(bits: u32) -> Self {
        Self(0x7800_0000 | (bits & 0x07ff_ffff))
    }
}

/// International mobile subscriber identity: up to 15 decimal digits (03.03 clause 2.2 [23.003]).
///
/// Held as TBCD, first digit in the low half of the first octet, unused halves 1111: the octets of GTP's IMSI
/// element and of the TID.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "[u8; 8]", into = "[u8; 8]")]
pub struct Imsi(Digits);

/// International mobile equipment identity (and software version): up to 16 decimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "[u8; 8]", into = "[u8; 8]")]
pub struct Imei(Digits);

/// TBCD octets in one word, inverted: since there is a digit it is not zero, and an identity that may be missing takes no
/// more room. What goes through many hands with each packet is one load and one store.
type Digits = NonZeroU64;

macro_rules! digits_id {
    ($name:ident, $max:literal) => {
        impl $name {
            /// From TBCD octets; `None` where a digit is not decimal, a filler stands before a digit, or nothing is left.
            #[must_use]
            pub fn from_tbcd(octets: [u8; 8]) -> Option<Self> {
                let mut ended = false;
                let mut count = 0;
                for octet in octets {
                    for digit in [octet & 0xf, octet >> 4] {
                        match digit {
                            0..=9 if !ended => count += 1,
                            0xf => ended = true,
                            _ => return None,
                        }
                    }
                }
                if !(1..=$max).contains(&count) {
                    return None;
                }
                NonZeroU64::new(!u64::from_be_bytes(octets)).map(Self)
            }

            /// The TBCD octets.
            #[must_use]
            #[inline]
            pub const fn tbcd(&self) -> [u8; 8] {
                (!self.0.get()).to_be_bytes()
            }

            /// From digits 0 to 9 in their order; `None` where there are none, too many, or one is not decimal.
            #[must_use]
            pub fn from_digits(digits: impl IntoIterator<Item = u8>) -> Option<Self> {
                let mut octets = [0xff_u8; 8];
                let mut count = 0_usize;
                for digit in digits {
                    if digit > 9 || count >= $max {
                        return None;
                    }
                    let octet = octets.get_mut(count / 2)?;
                    *octet = if count % 2 == 0 { 0xf0 | digit } else { (*octet & 0x0f) | (digit << 4) };
                    count += 1;
                }
                Self::from_tbcd(octets)
            }

            /// The digits, 0 to 9, in their order.
            pub fn digits(&self) -> impl Iterator<Item = u8> + '_ {
                let octets = self.tbcd().into_iter();
                octets.flat_map(|octet| [octet & 0xf, octet >> 4]).take_while(|digit| *digit < 10)
            }
        }
        impl TryFrom<[u8; 8]> for $name {
            type Error = &'static str;
            fn try_from(octets: [u8; 8]) -> Result<Self, Self::Error> {
                Self::from_tbcd(octets).ok_or(concat!("no digits of an ", stringify!($name)))
            }
        }
        impl From<$name> for [u8; 8] {
            fn from(of: $name) -> Self {
                of.tbcd()
            }
        }
        impl Ord for $name {
            fn cmp(&self, other: &Self) -> core::cmp::Ordering {
                self.tbcd().cmp(&other.tbcd())
            }
        }
        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }
        impl core::str::FromStr for $name {
            type Err = crate::DecodeError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::from_digits(text.bytes().map(|c| c.wrapping_sub(b'0'))).ok_or(crate::DecodeError::new(
                    stringify!($name),
                    0,
                    crate::DecodeErrorKind::BadLength(text.len()),
                ))
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.digits().try_for_each(|digit| write!(f, "{digit}"))
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }
    };
}

impl From<Imsi> for NonZeroU64 {
    /// A number that is the identity's alone, for tables that know no identities.
    #[inline]
    fn from(imsi: Imsi) -> Self {
        imsi.0
    }
}

impl TryFrom<NonZeroU64> for Imsi {
    type Error = NonZeroU64;

    /// The identity of a number; the number itself where it is of none.
    fn try_from(number: NonZeroU64) -> Result<Self, NonZeroU64> {
        Self::from_tbcd((!number.get()).to_be_bytes()).ok_or(number)
    }
}

digits_id!(Imsi, 15);
digits_id!(Imei, 16);

/// Tunnel identifier of GTPv0: IMSI and NSAPI (09.60 clause 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Tid {
    /// The subscriber.
    pub imsi: Imsi,
    /// The context's NSAPI.
    pub nsapi: Nsapi,
}

impl Tid {
    /// The eight octets on the wire, and a key for a table: the IMSI's TBCD with the NSAPI in the last half.
    #[must_use]
    pub fn to_u64(self) -> u64 {
        let mut octets = self.imsi.tbcd();
        octets[7] = (octets[7] & 0x0f) | (self.nsapi.0 << 4);
        u64::from_be_bytes(octets)
    }

    /// From the eight octets on the wire; `None` where they begin with no IMSI.
    #[must_use]
    pub fn from_u64(octets: u64) -> Option<Self> {
        let mut imsi = octets.to_be_bytes();
        let nsapi = Nsapi(imsi[7] >> 4);
        imsi[7] |= 0xf0;
        Some(Self { imsi: Imsi::from_tbcd(imsi)?, nsapi })
    }
}

/// Mobile country code and mobile network code (03.03 clause 2.2 [23.003]).
///
/// Held as the three octets of a location area identification (04.08 clause 10.5.1.3 [24.008]): whatever halves a peer
/// sends are kept as they are, and what to do with a strange PLMN is the procedure's decision.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Plmn([u8; 3]);

impl Plmn {
    /// From numbers below 1000; `012` with three digits is not `12` with two.
    #[must_use]
    pub fn new(mcc: u16, mnc: u16, mnc_three_digits: bool) -> Self {
        let digit = |value: u16, weight: u16| u8::try_from(value / weight % 10).unwrap_or(0);
        let (m1, m2, m3) = (digit(mcc, 100), digit(mcc, 10), digit(mcc, 1));
        let (n1, n2, n3) = if mnc_three_digits {
            (digit(mnc, 100), digit(mnc, 10), digit(mnc, 1))
        } else {
            (digit(mnc, 10), digit(mnc, 1), 0xf)
        };
        Self([m2 << 4 | m1, n3 << 4 | m3, n2 << 4 | n1])
    }

    /// From the three octets of a location area identification.
    #[must_use]
    pub const fn from_octets(octets: [u8; 3]) -> Self {
        Self(octets)
    }

    /// The three octets of a location area identification.
    #[must_use]
    pub const fn to_octets(self) -> [u8; 3] {
        self.0
    }
}

impl fmt::Display for Plmn {
    /// `001-01`; a half that is no decimal digit shows as its hexadecimal one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c] = self.0;
        write!(f, "{:x}{:x}{:x}-{:x}{:x}", a & 0xf, a >> 4, b & 0xf, c & 0xf, c >> 4)?;
        if b >> 4 == 0xf { Ok(()) } else { write!(f, "{:x}", b >> 4) }
    }
}

impl fmt::Debug for Plmn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plmn({self})")
    }
}

/// Routing area identification: PLMN, location area code, routing area code (03.03 clause 4.2 [23.003]).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Rai {
    /// Country and network.
    pub plmn: Plmn,
    /// Location area code.
    pub lac: u16,
    /// Routing area code.
    pub rac: u8,
}

impl Rai {
    /// Octets of the value part on every interface.
    pub const LEN: usize = 6;

    /// From the six octets that 04.08, 08.18 and 29.060 share.
    #[must_use]
    pub fn from_octets([a, b, c, l1, l2, rac]: [u8; 6]) -> Self {
        Self { plmn: Plmn::from_octets([a, b, c]), lac: u16::from_be_bytes([l1, l2]), rac }
    }

    /// The six octets.
    #[must_use]
    pub fn to_octets(self) -> [u8; 6] {
        let [a, b, c] = self.plmn.to_octets();
        let [l1, l2] = self.lac.to_be_bytes();
        [a, b, c, l1, l2, self.rac]
    }
}

impl fmt::Display for Rai {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.plmn, self.lac, self.rac)
    }
}

impl fmt::Debug for Rai {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rai({self})")
    }
}

/// A cell: routing area and cell identity, the eight octets of BSSGP's Cell Identifier (08.18 clause 11.3.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct CellId {
    /// Routing area.
    pub rai: Rai,
    /// Cell identity within it.
    pub ci: u16,
}

impl CellId {
    /// Octets of the value part.
    pub const LEN: usize = 8;

    /// From the eight octets.
    #[must_use]
    pub fn from_octets([a, b, c, d, e, f, c1, c2]: [u8; 8]) -> Self {
        Self { rai: Rai::from_octets([a, b, c, d, e, f]), ci: u16::from_be_bytes([c1, c2]) }
    }

    /// The eight octets.
    #[must_use]
    pub fn to_octets(self) -> [u8; 8] {
        let [a, b, c, d, e, f] = self.rai.to_octets();
        let [c1, c2] = self.ci.to_be_bytes();
        [a, b, c, d, e, f, c1, c2]
    }
}

impl fmt::Display for CellId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.rai, self.ci)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imsi_keeps_its_digits() {
        let imsi: Imsi = "001010000000042".parse().unwrap();
        assert_eq!(imsi.to_string(), "001010000000042");
        assert_eq!(imsi.tbcd(), [0x00, 0x01, 0x01, 0x00, 0x00, 0x00, 0x40, 0xf2]);
        assert!("".parse::<Imsi>().is_err());
        assert!("12a".parse::<Imsi>().is_err());
        assert!("0123456789012345".parse::<Imsi>().is_err());
        assert_eq!(Imsi::from_tbcd([0xf1, 0x32, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), None);
    }

    #[test]
    fn tid_holds_the_nsapi_in_its_last_half() {
        let tid = Tid { imsi: "240010123456789".parse().unwrap(), nsapi: Nsapi(5) };
        assert_eq!(tid.to_u64().to_be_bytes(), [0x42, 0x00, 0x01, 0x21, 0x43, 0x65, 0x87, 0x59]);
        assert_eq!(Tid::from_u64(tid.to_u64()), Some(tid));
        let short = Tid { imsi: "24001".parse().unwrap(), nsapi: Nsapi(15) };
        assert_eq!(short.to_u64(), 0x4200_f1ff_ffff_ffff);
        assert_eq!(Tid::from_u64(short.to_u64()), Some(short));
        assert_eq!(Tid::from_u64(u64::MAX), None);
        assert_eq!(Tid::from_u64(0x4200_01a1_4365_8759), None);
    }

    #[test]
    fn plmn_of_two_and_three_digits() {
        for (octets, text) in
            [([0x00, 0xf1, 0x10], "001-01"), ([0x13, 0x00, 0x14], "310-410"), ([0x13, 0x20, 0x10], "310-012")]
        {
            let plmn = Plmn::from_octets(octets);
            assert_eq!((plmn.to_string().as_str(), plmn.to_octets()), (text, octets));
        }
        assert_eq!(Plmn::new(1, 1, false), Plmn::from_octets([0x00, 0xf1, 0x10]));
        assert_eq!(Plmn::new(310, 12, true), Plmn::from_octets([0x13, 0x20, 0x10]));
        assert_eq!(Plmn::from_octets([0xba, 0xfc, 0xed]).to_string(), "abc-de");
    }

    #[test]
    fn tlli_kinds() {
        let ptmsi = PTmsi(0xdead_beef);
        assert_eq!(Tlli::local(ptmsi).kind(), TlliKind::Local);
        assert_eq!(Tlli::foreign(ptmsi), Tlli(0x9ead_beef));
        assert_eq!(Tlli::foreign(ptmsi).kind(), TlliKind::Foreign);
        assert_eq!(Tlli(0x8000_0000).kind(), TlliKind::Foreign);
        assert_eq!(Tlli::random(u32::MAX).kind(), TlliKind::Random);
        assert_eq!(Tlli(0x7000_0000).kind(), TlliKind::Auxiliary);
        assert_eq!(Tlli(0).kind(), TlliKind::Reserved);
    }
}
