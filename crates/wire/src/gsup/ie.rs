//! Information elements: identifier, length of one octet, value; and how a message's elements are taken apart.
//!
//! An element that may be absent and cannot be read counts as absent, and is named; so is one of a list.

use crate::cursor::Reader;
use crate::error::{DecodeError, DecodeErrorKind};

macro_rules! elements {
    ($($name:ident = $iei:literal, $text:literal;)*) => {
        $(#[doc = concat!($text, ".")] pub const $name: u8 = $iei;)*

        /// The element's name in Osmocom's manuals.
        #[must_use]
        pub const fn name(iei: u8) -> &'static str {
            match iei { $($name => $text,)* _ => "unknown element" }
        }
    };
}

elements! {
    IMSI = 0x01, "IMSI";
    CAUSE = 0x02, "Cause";
    AUTH_TUPLE = 0x03, "Auth Tuple";
    PDP_INFO_COMPLETE = 0x04, "PDP Info Complete";
    PDP_INFO = 0x05, "PDP Info";
    CANCEL_TYPE = 0x06, "Cancel Type";
    FREEZE_P_TMSI = 0x07, "Freeze P-TMSI";
    MSISDN = 0x08, "MSISDN";
    HLR_NUMBER = 0x09, "HLR Number";
    MESSAGE_CLASS = 0x0a, "Message Class";
    PDP_CONTEXT_ID = 0x10, "PDP Context ID";
    PDP_ADDRESS = 0x11, "PDP Address";
    APN = 0x12, "Access Point Name";
    QOS = 0x13, "Quality of Service";
    CHARGING_CHARACTERISTICS = 0x14, "PDP-Charging Characteristics";
    RAND = 0x20, "RAND";
    SRES = 0x21, "SRES";
    KC = 0x22, "Kc";
    IK = 0x23, "IK";
    CK = 0x24, "CK";
    AUTN = 0x25, "AUTN";
    AUTS = 0x26, "AUTS";
    RES = 0x27, "RES";
    CN_DOMAIN = 0x28, "CN Domain";
    CURRENT_RAT_TYPE = 0x2a, "Current RAT Type";
    SOURCE_NAME = 0x60, "Source Name";
    DESTINATION_NAME = 0x61, "Destination Name";
}

/// What stands in an element. Each implements `decode`, or `decode_naming` where it has elements itself.
pub trait Value: Sized {
    /// Reads the value part of the element `name`. Offsets of errors count from its start.
    ///
    /// # Errors
    /// `BadLength`, `BadValue`, and for elements within elements what is wrong with those.
    fn decode(octets: &[u8], name: &'static str) -> Result<Self, DecodeError> {
        Self::decode_naming(octets, name, &mut Vec::new())
    }

    /// The same for an element that has elements itself; those of them that count as absent are added to `skipped`.
    ///
    /// # Errors
    /// As [`Value::decode`].
    fn decode_naming(
        octets: &[u8],
        name: &'static str,
        _skipped: &mut Vec<DecodeError>,
    ) -> Result<Self, DecodeError> {
        Self::decode(octets, name)
    }

    /// Appends the value part.
    fn encode(&self, out: &mut Vec<u8>);
}

/// A length that the element `name` cannot have.
pub(super) const fn bad_length(octets: &[u8], name: &'static str) -> DecodeError {
    DecodeError::new(name, 0, DecodeErrorKind::BadLength(octets.len()))
}

/// One element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element<'a> {
    /// Its identifier.
    pub iei: u8,
    /// Its value part.
    pub value: &'a [u8],
    /// Octets from the start of the message to its value part.
    pub at: usize,
}

impl Element<'_> {
    fn decode<T: Value>(&self, skipped: &mut Vec<DecodeError>) -> Result<T, DecodeError> {
        let before = skipped.len();
        let value = T::decode_naming(self.value, name(self.iei), skipped);
        for inner in skipped.iter_mut().skip(before) {
            *inner = inner.shifted(self.at);
        }
        value.map_err(|error| error.shifted(self.at))
    }
}

/// The elements of one message, or of one element that has elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elements<'a> {
    list: Vec<Element<'a>>,
    /// Those that were there, could not be read, and count as absent.
    pub skipped: Vec<DecodeError>,
}

impl<'a> Elements<'a> {
    /// Takes `octets` apart from octet `start` on.
    ///
    /// # Errors
    /// `Truncated` where an element reaches beyond the end.
    pub fn parse(octets: &'a [u8], start: usize) -> Result<Self, DecodeError> {
        let mut r = Reader::at(octets, start);
        let mut list = Vec::new();
        while !r.is_empty() {
            let iei = r.u8("IEI")?;
            let name = name(iei);
            let len = usize::from(r.u8(name)?);
            let at = r.offset();
            list.push(Element { iei, value: r.take(len, name)?, at });
        }
        Ok(Self { list, skipped: Vec::new() })
    }

    fn all(&self, iei: u8) -> impl Iterator<Item = &Element<'a>> {
        self.list.iter().filter(move |element| element.iei == iei)
    }

    /// A mandatory element; of a repeated one the first counts.
    ///
    /// # Errors
    /// `Missing`, or what is wrong with its value.
    pub fn mandatory<T: Value>(&mut self, iei: u8) -> Result<T, DecodeError> {
        let element = self.list.iter().find(|element| element.iei == iei);
        element.ok_or(DecodeError::missing(name(iei)))?.decode(&mut self.skipped)
    }

    /// An element that may be absent; one that cannot be read is.
    #[must_use]
    pub fn optional<T: Value>(&mut self, iei: u8) -> Option<T> {
        let element = self.list.iter().find(|element| element.iei == iei)?;
        element.decode(&mut self.skipped).map_err(|error| self.skipped.push(error)).ok()
    }

    /// All elements with an identifier that can be read.
    #[must_use]
    pub fn list<T: Value>(&mut self, iei: u8) -> Vec<T> {
        let Self { list, skipped } = self;
        let mut values = Vec::new();
        for element in list.iter().filter(|element| element.iei == iei) {
            match element.decode(skipped) {
                Ok(value) => values.push(value),
                Err(error) => skipped.push(error),
            }
        }
        values
    }

    /// All elements with an identifier, each of which must be readable.
    ///
    /// # Errors
    /// What is wrong with the value of one.
    pub fn whole<T: Value>(&mut self, iei: u8) -> Result<Vec<T>, DecodeError> {
        let Self { list, skipped } = self;
        let elements = list.iter().filter(|element| element.iei == iei);
        elements.map(|element| element.decode(skipped)).collect()
    }

    /// An element as it is.
    pub(super) fn raw(&self, iei: u8) -> Option<&Element<'a>> {
        self.all(iei).next()
    }

    /// An element that says all by being there.
    #[must_use]
    pub fn flag(&self, iei: u8) -> bool {
        self.all(iei).next().is_some()
    }
}

/// Appends one element. A value beyond 255 octets, which no type of this module has but a name that is too long, is cut.
pub fn emit<T: Value>(iei: u8, value: &T, out: &mut Vec<u8>) {
    out.extend([iei, 0]);
    let start = out.len();
    value.encode(out);
    out.truncate(start + usize::from(u8::MAX));
    let len = u8::try_from(out.len() - start).unwrap_or(u8::MAX);
    if let Some(octet) = out.get_mut(start - 1) {
        *octet = len;
    }
}

/// Appends an element without a value where `set`.
pub fn emit_flag(iei: u8, set: bool, out: &mut Vec<u8>) {
    if set {
        out.extend([iei, 0]);
    }
}

impl Value for u8 {
    fn decode(octets: &[u8], name: &'static str) -> Result<Self, DecodeError> {
        <[u8; 1]>::decode(octets, name).map(u8::from_be_bytes)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }
}

impl Value for u16 {
    fn decode(octets: &[u8], name: &'static str) -> Result<Self, DecodeError> {
        <[u8; 2]>::decode(octets, name).map(u16::from_be_bytes)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.to_be_bytes());
    }
}

impl<const N: usize> Value for [u8; N] {
    fn decode(octets: &[u8], name: &'static str) -> Result<Self, DecodeError> {
        octets.try_into().map_err(|_| bad_length(octets, name))
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self);
    }
}

impl Value for Vec<u8> {
    fn decode(octets: &[u8], _: &'static str) -> Result<Self, DecodeError> {
        Ok(octets.to_vec())
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self);
    }
}
