//! What stands in the elements.

use super::ie::{self, Element, Elements, Value, bad_length};
use crate::error::{DecodeError, DecodeErrorKind};
use crate::gtp::value::{Msisdn, Qos};
use crate::id::Imsi;
use crate::l3::Element as _;
use crate::l3::ie::{Apn, GmmCause, Octets, PdpAddress};
use core::fmt;
use serde::{Deserialize, Serialize};

/// Current RAT Type: GERAN, on A or Gb.
pub const RAT_TYPE_GERAN: u8 = 1;

/// An enumeration of one octet, of which no other values are defined.
macro_rules! octet_value {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $value:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The octet.
            #[must_use]
            pub const fn octet(self) -> u8 {
                match self { $(Self::$variant => $value,)* }
            }
        }

        impl Value for $name {
            fn decode(octets: &[u8], name: &'static str) -> Result<Self, DecodeError> {
                match u8::decode(octets, name)? {
                    $($value => Ok(Self::$variant),)*
                    other => Err(DecodeError::new(name, 0, DecodeErrorKind::BadValue(u32::from(other)))),
                }
            }

            fn encode(&self, out: &mut Vec<u8>) {
                out.push(self.octet());
            }
        }
    };
}

octet_value! {
    /// Which core network a message is about. Absent it means packet switched.
    CnDomain {
        /// Packet switched.
        PacketSwitched = 1,
        /// Circuit switched.
        CircuitSwitched = 2,
    }
}

octet_value! {
    /// Why a location is cancelled.
    CancelType {
        /// The subscriber is with another SGSN now.
        Update = 0,
        /// The subscription was withdrawn.
        Withdraw = 1,
    }
}

octet_value! {
    /// Which kind of procedure a message belongs to.
    MessageClass {
        /// All that an SGSN does.
        SubscriberManagement = 1,
        /// Short messages.
        Sms = 2,
        /// Supplementary services.
        Ussd = 3,
        /// Between MSCs.
        InterMsc = 4,
    }
}

impl Value for GmmCause {
    fn decode(octets: &[u8], name: &'static str) -> Result<Self, DecodeError> {
        u8::decode(octets, name).map(Self::from_code)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.code());
    }
}

/// The digits alone, in as many octets as they need (04.08 clause 10.5.4.7 [24.008], octets 4 and behind).
impl Value for Imsi {
    fn decode(octets: &[u8], name: &'static str) -> Result<Self, DecodeError> {
        let mut tbcd = [0xff; 8];
        let Some(room) = tbcd.get_mut(..octets.len()) else { return Err(bad_length(octets, name)) };
        room.copy_from_slice(octets);
        let first = u32::from(octets.first().copied().unwrap_or(0xff));
        Self::from_tbcd(tbcd).ok_or(DecodeError::new(name, 0, DecodeErrorKind::BadValue(first)))
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.tbcd().into_iter().take_while(|octet| *octet != 0xff));
    }
}

/// A telephone number: a subscriber's or an HLR's.
///
/// Osmocom's manuals have an ISDN-AddressString (09.02 clause 17.7.8 [29.002]), whose first octet says what kind of number
/// it is and has bit 8 set; osmo-hlr sends the number of octets instead, as a Called Party BCD Number without its octet 3.
/// Both are read, and each is written as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct IsdnAddress {
    /// Bit 8, nature of address, numbering plan (0x91 for an international number); `None` where it was not said.
    pub nature_and_plan: Option<u8>,
    /// Two digits an octet, the first in the low half.
    pub tbcd: Octets<8>,
}

impl IsdnAddress {
    /// What bit 8 tells apart: the first octet of an ISDN-AddressString, and a length.
    const EXTENSION: u8 = 0x80;
    /// International number, ISDN numbering plan.
    const INTERNATIONAL: u8 = 0x91;
}

/// For the GGSN (29.060 clause 7.7.33): a number of which nobody said what kind it is counts as international.
impl From<IsdnAddress> for Msisdn {
    fn from(address: IsdnAddress) -> Self {
        let nature_and_plan = address.nature_and_plan.unwrap_or(IsdnAddress::INTERNATIONAL);
        Self { nature_and_plan, tbcd: address.tbcd }
    }
}

impl fmt::Display for IsdnAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Msisdn::from(*self).fmt(f)
    }
}

impl Value for IsdnAddress {
    fn decode(octets: &[u8], name: &'static str) -> Result<Self, DecodeError> {
        let [first, tbcd @ ..] = octets else { return Err(bad_length(octets, name)) };
        let nature_and_plan = (*first & Self::EXTENSION != 0).then_some(*first);
        let is_length = usize::from(*first) == tbcd.len();
        if tbcd.len() > 8 || (nature_and_plan.is_none() && !is_length) {
            return Err(bad_length(octets, name));
        }
        Ok(Self { nature_and_plan, tbcd: Octets::from_start(tbcd) })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let len = u8::try_from(self.tbcd.len()).unwrap_or(0);
        out.push(self.nature_and_plan.map_or(len, |octet| octet | Self::EXTENSION));
        out.extend(self.tbcd.as_slice());
    }
}

/// What GSM authentication needs (03.20 clause 3 [43.020]). Its octets are not printed.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Triplet {
    /// The response expected.
    pub sres: [u8; 4],
    /// The ciphering key.
    pub kc: [u8; 8],
}

/// What UMTS authentication needs besides (33.102 clause 6.3). Its octets are not printed.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quintuplet {
    /// The integrity key.
    pub ik: [u8; 16],
    /// The ciphering key.
    pub ck: [u8; 16],
    /// The network's proof.
    pub autn: [u8; 16],
    /// The response expected, 4 to 16 octets.
    pub res: Octets<16>,
}

impl fmt::Debug for Triplet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Triplet(..)")
    }
}

impl fmt::Debug for Quintuplet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Quintuplet(..)")
    }
}

/// An authentication vector: for GSM, for UMTS, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthTuple {
    /// The challenge.
    pub rand: [u8; 16],
    /// Where the subscriber can be asked as one of GSM.
    pub triplet: Option<Triplet>,
    /// Where it has a USIM.
    pub quintuplet: Option<Quintuplet>,
}

/// `Conditional`: of what belongs together a part is missing.
const fn part_missing(name: &'static str) -> DecodeError {
    DecodeError::new(name, 0, DecodeErrorKind::Conditional)
}

impl Value for Octets<16> {
    fn decode(octets: &[u8], name: &'static str) -> Result<Self, DecodeError> {
        if !(4..=16).contains(&octets.len()) {
            return Err(bad_length(octets, name));
        }
        Ok(Self::from_start(octets))
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.as_slice());
    }
}

/// A tuple serves by what is whole in it. One with a part of a quintuplet does not serve at all: its triplet alone would ask
/// less of the network than the HLR meant. A triplet of which half is missing follows from the quintuplet.
impl Value for AuthTuple {
    fn decode_naming(
        octets: &[u8],
        name: &'static str,
        skipped: &mut Vec<DecodeError>,
    ) -> Result<Self, DecodeError> {
        let mut elements = Elements::parse(octets, 0)?;
        let [ik, ck, autn] = [ie::IK, ie::CK, ie::AUTN].map(|iei| elements.optional(iei));
        let res = elements.optional(ie::RES);
        let is_umts = [ie::IK, ie::CK, ie::AUTN, ie::RES].into_iter().any(|iei| elements.flag(iei));
        let quintuplet = match (ik, ck, autn, res) {
            (Some(ik), Some(ck), Some(autn), Some(res)) => Some(Quintuplet { ik, ck, autn, res }),
            (Some(_) | None, _, _, _) if is_umts => {
                skipped.append(&mut elements.skipped);
                return Err(part_missing(name));
            }
            (Some(_) | None, _, _, _) => None,
        };
        let triplet = match (elements.optional(ie::SRES), elements.optional(ie::KC)) {
            (Some(sres), Some(kc)) => Some(Triplet { sres, kc }),
            (Some(_) | None, _) => None,
        };
        let rand = elements.mandatory(ie::RAND);
        skipped.append(&mut elements.skipped);
        if triplet.is_none() && quintuplet.is_none() {
            return Err(part_missing(name));
        }
        Ok(Self { rand: rand?, triplet, quintuplet })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        ie::emit(ie::RAND, &self.rand, out);
        if let Some(triplet) = &self.triplet {
            ie::emit(ie::SRES, &triplet.sres, out);
            ie::emit(ie::KC, &triplet.kc, out);
        }
        if let Some(quintuplet) = &self.quintuplet {
            ie::emit(ie::IK, &quintuplet.ik, out);
            ie::emit(ie::CK, &quintuplet.ck, out);
            ie::emit(ie::AUTN, &quintuplet.autn, out);
            ie::emit(ie::RES, &quintuplet.res, out);
        }
    }
}

/// Which access points a subscriber may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SubscribedApn {
    /// The wildcard `*`: all (03.60 annex A.1 [23.060]).
    Any,
    /// This one.
    Name(Apn),
    /// A name that could not be read: none. It is not as if nothing had been said, which allows all.
    Unreadable,
}

impl SubscribedApn {
    const WILDCARD: &'static [u8] = &[1, b'*'];

    /// Labels with their lengths (03.03 clause 9 [23.003]), or the plain characters, as some HLRs send them.
    fn read(octets: &[u8]) -> Result<Self, DecodeError> {
        if octets == Self::WILDCARD || octets == b"*" {
            return Ok(Self::Any);
        }
        let plain = || str::from_utf8(octets).ok()?.parse().ok();
        Apn::parse_value(octets).or_else(|error| plain().ok_or(error)).map(Self::Name)
    }
}

impl fmt::Display for SubscribedApn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Name(apn) => apn.fmt(f),
            Self::Unreadable => f.write_str("unreadable"),
        }
    }
}

impl Value for SubscribedApn {
    fn decode_naming(
        octets: &[u8],
        _: &'static str,
        skipped: &mut Vec<DecodeError>,
    ) -> Result<Self, DecodeError> {
        Ok(Self::read(octets).unwrap_or_else(|error| {
            skipped.push(error);
            Self::Unreadable
        }))
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Any => out.extend(Self::WILDCARD),
            Self::Name(apn) => apn.emit_value(out),
            Self::Unreadable => {}
        }
    }
}

/// Of the first octet the high half is spare, and comes as 0 or 1111.
impl Value for PdpAddress {
    fn decode(octets: &[u8], _: &'static str) -> Result<Self, DecodeError> {
        Self::parse_value(octets)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let (organisation, number) = self.pdp_type();
        out.extend([0xf0 | organisation, number]);
        self.emit_address(out);
    }
}

/// Three octets are the profile of R97 alone; longer ones have the allocation/retention priority first.
impl Value for Qos {
    fn decode(octets: &[u8], name: &'static str) -> Result<Self, DecodeError> {
        match octets {
            [_, _, _] => Ok(Self { allocation_retention: 0, value: Octets::from_start(octets) }),
            _ => crate::gtp::ie::Value::decode(octets).map_err(|kind| DecodeError::new(name, 0, kind)),
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match (self.allocation_retention, self.value.as_slice()) {
            (0, value @ [_, _, _]) => out.extend(value),
            _ => crate::gtp::ie::Value::encode(self, out),
        }
    }
}

/// What a subscriber has subscribed to for one PDP context (03.60 table 5 [23.060 clause 13.1]).
///
/// An element without a value counts as absent. Of an address that cannot be read its type stays, and the mobile gets a
/// dynamic one; of a quality of service that cannot be read the least is left ([`PdpInfo::LEAST_QOS`]). A piece that has a
/// number and cannot be read besides allows nothing, so that what was known under that number does not stay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PdpInfo {
    /// The number of this piece of the subscription.
    pub context_id: u8,
    /// PDP type, and the address where it is static.
    pub address: Option<PdpAddress>,
    /// The access point.
    pub apn: Option<SubscribedApn>,
    /// Quality of service.
    pub qos: Option<Qos>,
    /// Charging characteristics.
    pub charging: Option<u16>,
}

impl PdpInfo {
    /// Delay class 4, reliability class 3, peak throughput class 1, precedence class 3, mean throughput best effort
    /// (04.08 clause 10.5.6.5).
    pub const LEAST_QOS: [u8; 3] = [0x23, 0x13, 0x1f];

    /// A piece that allows nothing, in the place of what stood under its number.
    const fn void(context_id: u8) -> Self {
        let apn = Some(SubscribedApn::Unreadable);
        Self { context_id, address: None, apn, qos: None, charging: None }
    }

    /// The same of a piece that cannot be taken apart, where its number stands first.
    fn void_by(
        error: DecodeError,
        octets: &[u8],
        skipped: &mut Vec<DecodeError>,
    ) -> Result<Self, DecodeError> {
        let [ie::PDP_CONTEXT_ID, 1, context_id, ..] = octets else { return Err(error) };
        skipped.push(error);
        Ok(Self::void(*context_id))
    }

    fn read_address(
        element: &Element<'_>,
        skipped: &mut Vec<DecodeError>,
    ) -> Result<PdpAddress, DecodeError> {
        let decoded = PdpAddress::decode(element.value, ie::name(element.iei));
        decoded.or_else(|error| {
            let error = error.shifted(element.at);
            let of_type = element.value.get(..2).ok_or(error)?;
            let dynamic = PdpAddress::decode(of_type, ie::name(element.iei)).map_err(|_| error)?;
            skipped.push(error);
            Ok(dynamic)
        })
    }

    fn read_qos(element: &Element<'_>, skipped: &mut Vec<DecodeError>) -> Qos {
        Qos::decode(element.value, ie::name(element.iei)).unwrap_or_else(|error| {
            skipped.push(error.shifted(element.at));
            Qos { allocation_retention: 0, value: Octets::from_start(&Self::LEAST_QOS) }
        })
    }
}

impl Value for PdpInfo {
    fn decode_naming(
        octets: &[u8],
        _: &'static str,
        skipped: &mut Vec<DecodeError>,
    ) -> Result<Self, DecodeError> {
        let mut elements = match Elements::parse(octets, 0) {
            Ok(elements) => elements,
            Err(error) => return Self::void_by(error, octets, skipped),
        };
        let context_id = elements.mandatory(ie::PDP_CONTEXT_ID)?;
        let mut said = |iei| {
            let element = *elements.raw(iei)?;
            if element.value.is_empty() {
                skipped.push(bad_length(&[], ie::name(iei)).shifted(element.at));
                return None;
            }
            Some(element)
        };
        let (address, qos, charging) =
            (said(ie::PDP_ADDRESS), said(ie::QOS), said(ie::CHARGING_CHARACTERISTICS));
        let address = match address.map(|element| Self::read_address(&element, skipped)).transpose() {
            Ok(address) => address,
            Err(error) => {
                skipped.push(error);
                return Ok(Self::void(context_id));
            }
        };
        let qos = qos.map(|element| Self::read_qos(&element, skipped));
        let charging = charging.and_then(|_| elements.optional(ie::CHARGING_CHARACTERISTICS));
        let apn = elements.optional(ie::APN);
        skipped.append(&mut elements.skipped);
        Ok(Self { context_id, address, apn, qos, charging })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        ie::emit(ie::PDP_CONTEXT_ID, &self.context_id, out);
        if let Some(address) = &self.address {
            ie::emit(ie::PDP_ADDRESS, address, out);
        }
        if let Some(apn) = &self.apn {
            ie::emit(ie::APN, apn, out);
        }
        if let Some(qos) = &self.qos {
            ie::emit(ie::QOS, qos, out);
        }
        if let Some(charging) = &self.charging {
            ie::emit(ie::CHARGING_CHARACTERISTICS, charging, out);
        }
    }
}
