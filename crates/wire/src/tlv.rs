//! The element structure that NS and BSSGP share: identifier, length indicator, value (08.16 clause 10.1 [48.016],
//! 08.18 clause 11.1 [48.018]).
//!
//! The length indicator has an extension bit: set, one octet with a length of 7 bits; clear, two octets with one of
//! 15 bits. Errors follow 08.16 clause 8: unknown elements are skipped, their order does not matter, of repeated
//! ones the first counts, a longer value than defined is no error, and a faulty optional element counts as absent.

use crate::cursor::Reader;
use crate::error::{DecodeError, DecodeErrorKind};

/// The longest value of the one-octet length indicator.
const SHORT_MAX: usize = 0x7f;
/// The longest value of all.
pub const VALUE_MAX: usize = 0x7fff;

/// Octets of identifier and length indicator in front of a value of `len` octets.
#[must_use]
pub const fn header_len(len: usize) -> usize {
    if len <= SHORT_MAX { 2 } else { 3 }
}

/// Appends an element; the length indicator is as short as it can be. A value beyond [`VALUE_MAX`] is cut.
pub fn put(out: &mut Vec<u8>, iei: u8, value: &[u8]) {
    let value = value.get(..VALUE_MAX.min(value.len())).unwrap_or_default();
    out.push(iei);
    match u8::try_from(value.len()) {
        Ok(len) if value.len() <= SHORT_MAX => out.push(0x80 | len),
        Ok(_) | Err(_) => out.extend(u16::try_from(value.len()).unwrap_or_default().to_be_bytes()),
    }
    out.extend(value);
}

/// One element as it stands in a PDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element<'a> {
    /// Identifier.
    pub iei: u8,
    /// Value part.
    pub value: &'a [u8],
    /// Octets from the start of the PDU to the value part.
    pub at: usize,
}

/// The elements of a PDU from some octet on.
#[derive(Debug, Clone, Copy)]
pub struct Elements<'a> {
    pdu: &'a [u8],
    start: usize,
}

impl<'a> Elements<'a> {
    /// The elements of `pdu` from octet `start` on.
    #[must_use]
    pub const fn new(pdu: &'a [u8], start: usize) -> Self {
        Self { pdu, start }
    }

    /// One after the other, to the end or to the first that does not fit: then its identifier and the error.
    pub fn iter(&self) -> impl Iterator<Item = Result<Element<'a>, (u8, DecodeError)>> + use<'a> {
        let mut r = Reader::at(self.pdu, self.start);
        let mut ended = false;
        core::iter::from_fn(move || {
            let iei = if ended { None } else { r.u8("IEI").ok() }?;
            let element = read(&mut r, iei).map_err(|error| (iei, error));
            ended = element.is_err();
            Some(element)
        })
    }

    /// The `nth` element (from 0) with this identifier.
    ///
    /// # Errors
    /// `Truncated` where it does not fit.
    pub fn find(&self, iei: u8, nth: usize, name: &'static str) -> Result<Option<Element<'a>>, DecodeError> {
        let named = |element: &Result<Element<'_>, (u8, DecodeError)>| match element {
            Ok(element) => element.iei == iei,
            Err((other, _)) => *other == iei,
        };
        let found = self.iter().filter(named).nth(nth).transpose();
        found.map_err(|(_, error)| DecodeError { ie: name, ..error })
    }

    /// The value of a mandatory element.
    ///
    /// # Errors
    /// `Missing`, or `Truncated` where it does not fit.
    pub fn mandatory(&self, iei: u8, name: &'static str) -> Result<Element<'a>, DecodeError> {
        self.find(iei, 0, name)?.ok_or(DecodeError::missing(name))
    }

    /// The first `N` octets of a mandatory element.
    ///
    /// # Errors
    /// `Missing`, `Truncated`, and `BadLength` where the value is shorter.
    pub fn mandatory_array<const N: usize>(
        &self,
        iei: u8,
        name: &'static str,
    ) -> Result<[u8; N], DecodeError> {
        let element = self.mandatory(iei, name)?;
        let kind = DecodeErrorKind::BadLength(element.value.len());
        element.value.first_chunk().copied().ok_or(DecodeError::new(name, element.at, kind))
    }

    /// A mandatory element of one octet.
    ///
    /// # Errors
    /// As [`Elements::mandatory_array`].
    pub fn mandatory_u8(&self, iei: u8, name: &'static str) -> Result<u8, DecodeError> {
        self.mandatory_array(iei, name).map(u8::from_be_bytes)
    }

    /// A mandatory element of two octets.
    ///
    /// # Errors
    /// As [`Elements::mandatory_array`].
    pub fn mandatory_u16(&self, iei: u8, name: &'static str) -> Result<u16, DecodeError> {
        self.mandatory_array(iei, name).map(u16::from_be_bytes)
    }

    /// The value of an optional element; a faulty one counts as absent.
    #[must_use]
    pub fn optional(&self, iei: u8) -> Option<&'a [u8]> {
        self.find(iei, 0, "optional IE").ok().flatten().map(|element| element.value)
    }

    /// The first `N` octets of the `nth` optional element with this identifier.
    #[must_use]
    pub fn optional_array<const N: usize>(&self, iei: u8, nth: usize) -> Option<[u8; N]> {
        self.find(iei, nth, "optional IE").ok().flatten()?.value.first_chunk().copied()
    }

    /// An optional element of one octet.
    #[must_use]
    pub fn optional_u8(&self, iei: u8) -> Option<u8> {
        self.optional_array(iei, 0).map(u8::from_be_bytes)
    }

    /// An optional element of two octets.
    #[must_use]
    pub fn optional_u16(&self, iei: u8) -> Option<u16> {
        self.optional_array(iei, 0).map(u16::from_be_bytes)
    }
}

/// Length indicator and value of the element `iei`.
pub(crate) fn read<'a>(r: &mut Reader<'a>, iei: u8) -> Result<Element<'a>, DecodeError> {
    let first = r.u8("length indicator")?;
    let len = if first & 0x80 == 0 {
        usize::from(u16::from_be_bytes([first, r.u8("length indicator")?]))
    } else {
        usize::from(first & 0x7f)
    };
    let at = r.offset();
    Ok(Element { iei, value: r.take(len, "value")?, at })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_length_indicators() {
        for len in [0, 1, 127, 128, 1500, VALUE_MAX] {
            let value = vec![0x5a; len];
            let mut pdu = vec![0xff];
            put(&mut pdu, 0x0e, &value);
            assert_eq!(pdu.len(), 1 + header_len(len) + len);
            let element = Elements::new(&pdu, 1).mandatory(0x0e, "LLC-PDU").unwrap();
            assert_eq!((element.value, element.at), (&value[..], 1 + header_len(len)));
        }
        // Fifteen bits also where seven would do.
        assert_eq!(Elements::new(&[0x0e, 0x00, 0x01, 0xab], 0).optional(0x0e), Some(&[0xab][..]));
    }

    #[test]
    fn a_faulty_element_is_an_error_only_for_those_who_need_it() {
        let ies = Elements::new(&[0x01, 0x81, 0x07, 0x02, 0x85, 0x00], 0);
        assert_eq!(ies.optional_u8(0x01), Some(7));
        assert_eq!(ies.optional(0x02), None);
        assert!(matches!(
            ies.mandatory(0x02, "two"),
            Err(DecodeError {
                ie: "two",
                offset: 5,
                kind: DecodeErrorKind::Truncated { needed: 5, have: 1 }
            })
        ));
        assert_eq!(ies.mandatory(0x03, "three"), Err(DecodeError::missing("three")));
        assert_eq!(ies.optional_u16(0x01), None);
    }
}
