//! Access point name (clause 10.5.6.1, format of 03.03 clause 9 [23.003]).

use crate::error::{DecodeError, DecodeErrorKind};
use crate::l3::codec::{Element, bad_length, bad_value, length_octet};
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Serialize};

/// Access point name: labels of letters, digits, hyphens and underscores, at most 100 octets when encoded. Two names
/// that differ in case only are the same name.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Apn(String);

impl Apn {
    /// Octets of the longest encoded name.
    pub const MAX: usize = 100;

    /// No name: the GGSN is to choose. On Gn an element without octets; no mobile can say it.
    pub const UNNAMED: Self = Self(String::new());

    /// True for [`Apn::UNNAMED`].
    #[must_use]
    pub const fn is_unnamed(&self) -> bool {
        self.0.is_empty()
    }

    /// The name with dots between its labels, in the case in which it came.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name without its operator identifier, `mncNNN.mccNNN.gprs`, where it has one (03.03 clause 9.1 [23.003]).
    #[must_use]
    pub fn network_identifier(&self) -> &str {
        self.split().0
    }

    /// The operator identifier, where the name has one.
    #[must_use]
    pub fn operator_identifier(&self) -> Option<&str> {
        self.split().1
    }

    /// Do two names mean the same access point? Their network identifiers are the same, in whichever case, and so are the
    /// operator identifiers where both have one: a name without is completed by the network (23.060 annex A).
    #[must_use]
    pub fn means(&self, other: &Self) -> bool {
        let ((network, operator), (other_network, other_operator)) = (self.split(), other.split());
        network.eq_ignore_ascii_case(other_network)
            && operator
                .zip(other_operator)
                .is_none_or(|(operator, other_operator)| operator.eq_ignore_ascii_case(other_operator))
    }

    fn split(&self) -> (&str, Option<&str>) {
        let mut labels = self.0.rsplitn(4, '.');
        let code = |label: Option<&str>, start: &str| {
            label.and_then(|label| label.split_at_checked(3)).is_some_and(|(begin, digits)| {
                begin.eq_ignore_ascii_case(start)
                    && matches!(digits.len(), 2 | 3)
                    && digits.bytes().all(|octet| octet.is_ascii_digit())
            })
        };
        let (gprs, mcc, mnc) = (labels.next(), labels.next(), labels.next());
        let is_operator = gprs.is_some_and(|label| label.eq_ignore_ascii_case("gprs"))
            && code(mcc, "mcc")
            && code(mnc, "mnc");
        match labels.next() {
            Some(network) if is_operator => (network, self.0.get(network.len() + 1..)),
            Some(_) | None => (&self.0, None),
        }
    }
}

const fn allowed(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || octet == b'-' || octet == b'_'
}

impl FromStr for Apn {
    type Err = DecodeError;

    fn from_str(text: &str) -> Result<Self, DecodeError> {
        if text.is_empty() || text.len() >= Self::MAX {
            return Err(bad_length::<Self>(text.as_bytes()));
        }
        let mut offset = 0;
        for label in text.split('.') {
            if label.is_empty() || label.len() > 63 {
                let kind = DecodeErrorKind::BadLength(label.len());
                return Err(DecodeError::new(Self::NAME, offset, kind));
            }
            if let Some(wrong) = label.bytes().find(|octet| !allowed(*octet)) {
                return Err(bad_value::<Self>(offset, wrong));
            }
            offset += label.len() + 1;
        }
        Ok(Self(text.to_owned()))
    }
}

impl Element for Apn {
    const NAME: &'static str = "Access Point Name";

    fn parse_value(octets: &[u8]) -> Result<Self, DecodeError> {
        let mut text = String::with_capacity(octets.len());
        let mut rest = octets;
        while let Some((length, tail)) = rest.split_first() {
            let Some((label, tail)) = tail.split_at_checked(usize::from(*length)) else {
                return Err(bad_length::<Self>(octets));
            };
            if !text.is_empty() {
                text.push('.');
            }
            // What is not ASCII becomes characters that `from_str` refuses.
            text.extend(label.iter().map(|octet| char::from(if *octet == b'.' { b' ' } else { *octet })));
            rest = tail;
        }
        text.parse()
    }

    fn emit_value(&self, out: &mut Vec<u8>) {
        for label in self.0.split('.').filter(|label| !label.is_empty()) {
            out.push(length_octet(label.len()));
            out.extend(label.bytes());
        }
    }
}

impl PartialEq for Apn {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl Eq for Apn {}

impl fmt::Display for Apn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Apn {
    type Error = DecodeError;
    fn try_from(text: String) -> Result<Self, DecodeError> {
        if text.is_empty() { Ok(Self::UNNAMED) } else { text.parse() }
    }
}

impl From<Apn> for String {
    fn from(apn: Apn) -> Self {
        apn.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_dots() {
        let apn: Apn = "internet.mnc001.mcc001.gprs".parse().unwrap();
        let mut out = Vec::new();
        apn.emit_value(&mut out);
        assert_eq!(out, b"\x08internet\x06mnc001\x06mcc001\x04gprs");
        assert_eq!(Apn::parse_value(&out).unwrap().as_str(), apn.as_str());
        assert_eq!(apn, "INTERNET.mnc001.MCC001.gprs".parse().unwrap());
    }

    #[test]
    fn the_operator_identifier_is_not_the_network_s() {
        let apn = |text: &str| text.parse::<Apn>().unwrap();
        for (name, network, operator) in [
            ("six.mnc001.mcc001.gprs", "six", Some("mnc001.mcc001.gprs")),
            ("a.b.MNC01.MCC001.GPRS", "a.b", Some("MNC01.MCC001.GPRS")),
            ("mnc001.mcc001.gprs", "mnc001.mcc001.gprs", None),
            ("six.mncabc.mcc001.gprs", "six.mncabc.mcc001.gprs", None),
            ("six.mnc001.mcc001.gprsx", "six.mnc001.mcc001.gprsx", None),
            ("six", "six", None),
        ] {
            assert_eq!(apn(name).network_identifier(), network);
            assert_eq!(apn(name).operator_identifier(), operator);
        }
        let means = |one: &str, other: &str| apn(one).means(&apn(other)) && apn(other).means(&apn(one));
        assert!(means("six", "SIX.mnc001.mcc001.gprs") && means("Six", "siX"));
        assert!(means("six.mnc001.mcc001.gprs", "six.MNC001.mcc001.gprs"));
        assert!(!means("six.mnc001.mcc001.gprs", "six.mnc002.mcc001.gprs"), "another operator's");
        assert!(!means("six", "six.example") && !means("six", "seven.mnc001.mcc001.gprs"));
    }

    #[test]
    fn no_name_is_none_of_a_mobile() {
        let mut out = Vec::new();
        Apn::UNNAMED.emit_value(&mut out);
        assert!(out.is_empty() && Apn::parse_value(&out).is_err() && "".parse::<Apn>().is_err());
        assert!(Apn::UNNAMED.is_unnamed() && Apn::try_from(String::from(Apn::UNNAMED)) == Ok(Apn::UNNAMED));
        let named: Apn = "internet".parse().unwrap();
        assert!(!named.is_unnamed() && !named.means(&Apn::UNNAMED) && !Apn::UNNAMED.means(&named));
    }

    #[test]
    fn what_is_no_name() {
        for text in ["", ".", "a.", ".a", "a b", "a..b", "\u{e9}", &"a".repeat(64), &["abc"; 26].join(".")] {
            assert!(text.parse::<Apn>().is_err(), "{text}");
        }
        for octets in [&b""[..], b"\x00", b"\x05abc", b"\x03a.b", b"\x01\xe9", b"\x02ab\x00"] {
            assert!(Apn::parse_value(octets).is_err(), "{octets:?}");
        }
        assert!(["abc"; 25].join(".").parse::<Apn>().is_ok());
    }
}
