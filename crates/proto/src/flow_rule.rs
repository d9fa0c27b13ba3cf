//! A rule that says which stream a packet belongs to, by the fields of its header and by its subscriber.
//!
//! A configuration has rules whose interfaces, access points, groups and streams are names. A node has the same rules with numbers:
//! [`Rule::numbered`] makes one of the other.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::ops::RangeInclusive;
use core::str::FromStr;
use gannet_wire::id::Imsi;

/// A network of either version of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Prefix {
    /// Any address in it.
    pub address: IpAddr,
    /// Its bits, at most 32 or 128; more count as these.
    pub bits: u8,
}

impl Prefix {
    /// An address of the same version of IP is in it.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => (own.to_bits() ^ other.to_bits()) & self.ipv4_mask() == 0,
            (IpAddr::V6(own), IpAddr::V6(other)) => (own.to_bits() ^ other.to_bits()) & self.ipv6_mask() == 0,
            _ => false,
        }
    }

    /// The same network by its first address, and with as many bits as count: equal for any two that have the same addresses.
    #[must_use]
    pub fn network(&self) -> Self {
        let (address, most) = match self.address {
            IpAddr::V4(own) => (Ipv4Addr::from_bits(own.to_bits() & self.ipv4_mask()).into(), 32),
            IpAddr::V6(own) => (Ipv6Addr::from_bits(own.to_bits() & self.ipv6_mask()).into(), 128),
        };
        Self { address, bits: self.bits.min(most) }
    }

    fn ipv4_mask(&self) -> u32 {
        u32::MAX.checked_shl(32_u32.saturating_sub(self.bits.into())).unwrap_or(0)
    }

    fn ipv6_mask(&self) -> u128 {
        u128::MAX.checked_shl(128_u32.saturating_sub(self.bits.into())).unwrap_or(0)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

impl FromStr for Prefix {
    type Err = String;

    /// An address alone is a network of its own.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is no network: A.B.C.D/M or X:X::X:X/M is expected");
        let (address, bits) = text.split_once('/').unwrap_or((text, ""));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = if bits.is_empty() { Ok(most) } else { bits.parse() };
        let bits = bits.ok().filter(|bits| *bits <= most).ok_or_else(wrong)?;
        Ok(Self { address, bits })
    }
}

/// Subscribers by the first digits of their IMSIs: those whose digits are a number between two others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImsiRange {
    digits: u8,
    first: u64,
    last: u64,
}

impl ImsiRange {
    /// Is he one of them? An IMSI with fewer digits is not.
    #[must_use]
    pub fn contains(&self, imsi: Imsi) -> bool {
        let (mut count, mut number) = (0, 0);
        for digit in imsi.digits().take(self.digits.into()) {
            (count, number) = (count + 1, number * 10 + u64::from(digit));
        }
        count == self.digits && (self.first..=self.last).contains(&number)
    }
}

impl fmt::Display for ImsiRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = usize::from(self.digits);
        write!(f, "{:0digits$}", self.first)?;
        if self.last == self.first { Ok(()) } else { write!(f, "-{:0digits$}", self.last) }
    }
}

impl FromStr for ImsiRange {
    type Err = String;

    /// `26201` or `262011-262019`: 1 to 15 digits.
    fn from_str(text: &str) -> Result<Self, String> {
        const DIGITS_MAX: usize = 15;
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let is_right =
            |of: &str| (1..=DIGITS_MAX).contains(&of.len()) && of.bytes().all(|digit| digit.is_ascii_digit());
        let digits = u8::try_from(first.len()).ok().filter(|_| is_right(first) && is_right(last));
        let numbers = first.parse().ok().zip(last.parse().ok()).filter(|_| first.len() == last.len());
        match (digits, numbers) {
            (Some(digits), Some((first, last))) if first <= last => Ok(Self { digits, first, last }),
            _ => Err(format!(
                "'{text}' is no beginning of an IMSI of up to {DIGITS_MAX} digits, and no two of the same length with the lower first"
            )),
        }
    }
}

/// What a rule does with a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome<N> {
    /// It belongs to this stream.
    Stream(N),
    /// It is best effort.
    BestEffort,
    /// It is dropped.
    Drop,
}

/// What a name of a rule is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// An interface.
    Interface,
    /// An access point.
    AccessPoint,
    /// A group of subscribers.
    Group,
    /// A stream.
    Stream,
}

/// A rule. A condition that is absent holds for all; one of ports holds for no packet without ports, and one of subscribers for no
/// packet without one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule<N> {
    /// The interface on which the packet arrived.
    pub ingress: Option<N>,
    /// The access point of its subscriber.
    pub access_point: Option<N>,
    /// A group that its subscriber is in.
    pub group: Option<N>,
    /// Where it comes from.
    pub source: Option<Prefix>,
    /// Where it goes.
    pub destination: Option<Prefix>,
    /// The protocol behind IP.
    pub protocol: Option<u8>,
    /// Its source port.
    pub source_ports: Option<RangeInclusive<u16>>,
    /// Its destination port.
    pub destination_ports: Option<RangeInclusive<u16>>,
    /// Its code point.
    pub dscp: Option<u8>,
    /// What becomes of the packet.
    pub outcome: Outcome<N>,
    /// The code point that it gets.
    pub mark: Option<u8>,
}

impl<N> Rule<N> {
    /// A rule that holds for all packets.
    #[must_use]
    pub const fn any(outcome: Outcome<N>) -> Self {
        Self {
            ingress: None,
            access_point: None,
            group: None,
            source: None,
            destination: None,
            protocol: None,
            source_ports: None,
            destination_ports: None,
            dscp: None,
            outcome,
            mark: None,
        }
    }

    /// The same rule with what `number` gives for each of its names.
    ///
    /// # Errors
    /// The first that `number` gives.
    pub fn numbered<M, E>(&self, mut number: impl FnMut(Named, &N) -> Result<M, E>) -> Result<Rule<M>, E> {
        let mut of = |what, name: &Option<N>| name.as_ref().map(|name| number(what, name)).transpose();
        Ok(Rule {
            ingress: of(Named::Interface, &self.ingress)?,
            access_point: of(Named::AccessPoint, &self.access_point)?,
            group: of(Named::Group, &self.group)?,
            source: self.source,
            destination: self.destination,
            protocol: self.protocol,
            source_ports: self.source_ports.clone(),
            destination_ports: self.destination_ports.clone(),
            dscp: self.dscp,
            outcome: match &self.outcome {
                Outcome::Stream(name) => Outcome::Stream(number(Named::Stream, name)?),
                Outcome::BestEffort => Outcome::BestEffort,
                Outcome::Drop => Outcome::Drop,
            },
            mark: self.mark,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_its_first_address() {
        for (text, network) in [
            ("192.0.2.77/24", "192.0.2.0/24"),
            ("192.0.2.77", "192.0.2.77/32"),
            ("192.0.2.77/0", "0.0.0.0/0"),
            ("2001:db8::77/64", "2001:db8::/64"),
            ("2001:db8::77/0", "::/0"),
        ] {
            assert_eq!(text.parse::<Prefix>().unwrap().network().to_string(), network);
        }
        let more = |address: &str| Prefix { address: address.parse().unwrap(), bits: 200 }.network().bits;
        assert_eq!([more("192.0.2.77"), more("2001:db8::77")], [32, 128]);
    }

    #[test]
    fn subscribers_by_their_first_digits() {
        let holds =
            |range: &str, imsi: &str| range.parse::<ImsiRange>().unwrap().contains(imsi.parse().unwrap());
        assert!(holds("00101", "001010000000001"));
        assert!(!holds("00101", "001020000000001"));
        assert!(!holds("00101", "1010000000001"), "zeros count");
        assert!(holds("001010000000001-001010000000099", "001010000000099"));
        assert!(!holds("001010000000001-001010000000099", "001010000000100"));
        assert!(holds("262011-262019", "26201500"));
        assert!(!holds("262011-262019", "26201"), "too short");
        for text in ["00101", "0-9", "001010000000001-001010000000099"] {
            assert_eq!(text.parse::<ImsiRange>().unwrap().to_string(), text);
        }
        for wrong in ["", "x", "+1", "1-", "-1", "2-1", "1-22", "0010100000000011"] {
            assert!(wrong.parse::<ImsiRange>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_rule_is_numbered_or_says_which_name_is_wrong() {
        let rule =
            Rule { group: Some("gold"), dscp: Some(3), mark: Some(4), ..Rule::any(Outcome::Stream("voice")) };
        let numbers = |what: Named, name: &&str| match what {
            Named::Group => Ok(1),
            Named::Stream => Ok(2),
            Named::Interface | Named::AccessPoint => Err(format!("{name}?")),
        };
        let numbered = Rule { group: Some(1), dscp: Some(3), mark: Some(4), ..Rule::any(Outcome::Stream(2)) };
        assert_eq!(rule.numbered(numbers), Ok(numbered));
        let wrong = Rule { access_point: Some("x"), ..Rule::any(Outcome::Drop) };
        assert_eq!(wrong.numbered(numbers), Err("x?".to_owned()));
    }
}
