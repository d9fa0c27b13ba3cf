//! Packet data protocol address (clause 10.5.6.4).

use crate::error::DecodeError;
use crate::l3::codec::{Element, bad_length};
use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};
use serde::{Deserialize, Serialize};

/// Type of a PDP context and its address, if that is known: 21 octets of plain data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PdpAddress {
    /// IPv4, the network gives the address.
    Ipv4Dynamic,
    /// IPv4 with its address.
    Ipv4(Ipv4Addr),
    /// IPv6, the network gives the address.
    Ipv6Dynamic,
    /// IPv6 with its address.
    Ipv6(Ipv6Addr),
    /// Both in one context, of a later release; the network gives the addresses.
    Ipv4v6Dynamic,
    /// Both in one context, with their addresses.
    Ipv4v6(Ipv4Addr, Ipv6Addr),
    /// PPP.
    Ppp,
    /// The "empty" type: whatever the subscription says.
    Empty,
    /// A type that is not known here, its address left out.
    Other {
        /// PDP type organisation, 4 bits.
        organisation: u8,
        /// PDP type number.
        number: u8,
    },
}

/// PDP type organisation: ETSI.
const ETSI: u8 = 0;
/// PDP type organisation: IETF.
const IETF: u8 = 1;
/// PDP type organisation: empty.
const EMPTY: u8 = 15;

impl PdpAddress {
    /// PDP type organisation (4 bits) and number, as GTP's End User Address has them too (29.060 clause 7.7.27).
    #[must_use]
    pub const fn pdp_type(&self) -> (u8, u8) {
        match self {
            Self::Ipv4Dynamic | Self::Ipv4(_) => (IETF, 0x21),
            Self::Ipv6Dynamic | Self::Ipv6(_) => (IETF, 0x57),
            Self::Ipv4v6Dynamic | Self::Ipv4v6(..) => (IETF, 0x8d),
            Self::Ppp => (ETSI, 1),
            Self::Empty => (EMPTY, 0),
            Self::Other { organisation, number } => (*organisation, *number),
        }
    }

    /// From type organisation, number and address octets, which may be none. Too many address octets are ignored.
    ///
    /// `None` where an address of a known type is too short.
    #[must_use]
    pub fn from_parts(organisation: u8, number: u8, address: &[u8]) -> Option<Self> {
        Some(match (organisation & 0x0f, number) {
            (IETF, 0x21) if address.is_empty() => Self::Ipv4Dynamic,
            (IETF, 0x21) => Self::Ipv4(Ipv4Addr::from(*address.first_chunk::<4>()?)),
            (IETF, 0x57) if address.is_empty() => Self::Ipv6Dynamic,
            (IETF, 0x57) => Self::Ipv6(Ipv6Addr::from(*address.first_chunk::<16>()?)),
            (IETF, 0x8d) if address.is_empty() => Self::Ipv4v6Dynamic,
            (IETF, 0x8d) => {
                let (v4, v6) = address.split_first_chunk::<4>()?;
                Self::Ipv4v6(Ipv4Addr::from(*v4), Ipv6Addr::from(*v6.first_chunk::<16>()?))
            }
            (ETSI, 1) => Self::Ppp,
            (EMPTY, 0) => Self::Empty,
            (organisation, number) => Self::Other { organisation, number },
        })
    }

    /// Appends the address octets alone.
    pub fn emit_address(&self, out: &mut Vec<u8>) {
        let (v4, v6) = self.addresses();
        out.extend(v4.iter().flat_map(Ipv4Addr::octets));
        out.extend(v6.iter().flat_map(Ipv6Addr::octets));
    }

    /// The addresses that stand in it.
    #[must_use]
    pub const fn addresses(&self) -> (Option<Ipv4Addr>, Option<Ipv6Addr>) {
        match *self {
            Self::Ipv4(v4) => (Some(v4), None),
            Self::Ipv6(v6) => (None, Some(v6)),
            Self::Ipv4v6(v4, v6) => (Some(v4), Some(v6)),
            Self::Ipv4Dynamic
            | Self::Ipv6Dynamic
            | Self::Ipv4v6Dynamic
            | Self::Ppp
            | Self::Empty
            | Self::Other { .. } => (None, None),
        }
    }

    /// True where the mobile leaves the address to the network: it names none, or the unspecified one, 0.0.0.0 or `::`.
    #[must_use]
    pub const fn is_dynamic(&self) -> bool {
        match self.left_open() {
            Self::Ipv4Dynamic | Self::Ipv6Dynamic | Self::Ipv4v6Dynamic => true,
            Self::Ipv4(_) | Self::Ipv6(_) | Self::Ipv4v6(..) => false,
            Self::Ppp | Self::Empty | Self::Other { .. } => false,
        }
    }

    /// The same with no address in the place of the unspecified one, which modems send that were told `0.0.0.0`.
    #[must_use]
    pub const fn left_open(self) -> Self {
        match self {
            Self::Ipv4(v4) if v4.is_unspecified() => Self::Ipv4Dynamic,
            Self::Ipv6(v6) if v6.is_unspecified() => Self::Ipv6Dynamic,
            Self::Ipv4v6(v4, v6) if v4.is_unspecified() && v6.is_unspecified() => Self::Ipv4v6Dynamic,
            other => other,
        }
    }

    /// True for both versions of IP in one context.
    #[must_use]
    pub const fn is_dual(&self) -> bool {
        matches!(self, Self::Ipv4v6Dynamic | Self::Ipv4v6(..))
    }
}

impl Element for PdpAddress {
    const NAME: &'static str = "Packet Data Protocol Address";

    fn parse_value(octets: &[u8]) -> Result<Self, DecodeError> {
        match octets {
            [organisation, number, address @ ..] => {
                Self::from_parts(*organisation, *number, address).ok_or(bad_length::<Self>(octets))
            }
            _ => Err(bad_length::<Self>(octets)),
        }
    }

    fn emit_value(&self, out: &mut Vec<u8>) {
        let (organisation, number) = self.pdp_type();
        out.extend([organisation & 0x0f, number]);
        self.emit_address(out);
    }
}

impl fmt::Display for PdpAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ipv4Dynamic => f.write_str("IPv4 dynamic"),
            Self::Ipv4(address) => write!(f, "{address}"),
            Self::Ipv6Dynamic => f.write_str("IPv6 dynamic"),
            Self::Ipv6(address) => write!(f, "{address}"),
            Self::Ipv4v6Dynamic => f.write_str("IPv4v6 dynamic"),
            Self::Ipv4v6(v4, v6) => write!(f, "{v4} and {v6}"),
            Self::Ppp => f.write_str("PPP"),
            Self::Empty => f.write_str("empty"),
            Self::Other { organisation, number } => write!(f, "type {organisation}/{number:#04x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_small() {
        assert_eq!(size_of::<PdpAddress>(), 21);
    }

    #[test]
    fn addresses() {
        assert_eq!(PdpAddress::parse_value(&[1, 0x21]), Ok(PdpAddress::Ipv4Dynamic));
        let fixed = PdpAddress::Ipv4(Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!(PdpAddress::parse_value(&[0xf1, 0x21, 10, 0, 0, 1]), Ok(fixed));
        assert!(PdpAddress::parse_value(&[1, 0x21, 10, 0, 0]).is_err());
        assert!(PdpAddress::parse_value(&[1]).is_err());
        assert_eq!(
            PdpAddress::parse_value(&[1, 0x99, 1, 2, 3]),
            Ok(PdpAddress::Other { organisation: 1, number: 0x99 })
        );
        assert_eq!(PdpAddress::parse_value(&[1, 0x8d]), Ok(PdpAddress::Ipv4v6Dynamic));
        assert!(PdpAddress::parse_value(&[1, 0x8d, 10, 0, 0, 1]).is_err());
        let open = |octets: &[u8]| PdpAddress::parse_value(octets).unwrap();
        assert_eq!(open(&[1, 0x21, 0, 0, 0, 0]).left_open(), PdpAddress::Ipv4Dynamic);
        assert!(open(&[1, 0x21, 0, 0, 0, 0]).is_dynamic() && !open(&[1, 0x21, 10, 0, 0, 1]).is_dynamic());
        let both = [&[1, 0x8d][..], &[0; 20]].concat();
        assert_eq!(open(&both).left_open(), PdpAddress::Ipv4v6Dynamic);
        let both = PdpAddress::Ipv4v6(Ipv4Addr::new(10, 0, 0, 1), Ipv6Addr::LOCALHOST);
        let mut octets = Vec::new();
        both.emit_value(&mut octets);
        assert_eq!((octets.len(), PdpAddress::parse_value(&octets)), (22, Ok(both)));
    }
}
