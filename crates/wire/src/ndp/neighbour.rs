//! Neighbour solicitation and advertisement (RFC 4861 clauses 4.3 and 4.4): a mobile makes sure that its router is still there
//! (clause 7.3), or that nobody else has its address (RFC 4862 clause 5.4).

use super::{bad, open, option, packet};
use crate::error::DecodeError;
use core::net::Ipv6Addr;

const NEIGHBOUR_SOLICITATION: u8 = 135;
const NEIGHBOUR_ADVERTISEMENT: u8 = 136;
const SOURCE_LINK_LAYER: u8 = 1;
const ROUTER: u8 = 0x80;
const SOLICITED: u8 = 0x40;
const OVERRIDE: u8 = 0x20;

/// Who has an address?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeighbourSolicitation {
    /// Who asks; unspecified where it makes sure that nobody has the address.
    pub source: Ipv6Addr,
    /// Whom: the target itself, or the multicast address of those that may have it.
    pub destination: Ipv6Addr,
    /// The address.
    pub target: Ipv6Addr,
}

/// I have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeighbourAdvertisement {
    /// Who has it.
    pub source: Ipv6Addr,
    /// Who has asked.
    pub destination: Ipv6Addr,
    /// The address.
    pub target: Ipv6Addr,
    /// It is a router.
    pub router: bool,
    /// It was asked.
    pub solicited: bool,
    /// What was known of it is to be forgotten.
    pub overrides: bool,
}

/// The multicast address under which an address is asked for (RFC 4291 clause 2.7.1).
#[must_use]
pub fn solicited_node(address: Ipv6Addr) -> Ipv6Addr {
    let [.., first, second, third] = address.octets();
    Ipv6Addr::from([0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, first, second, third])
}

impl NeighbourSolicitation {
    /// Reads one, and checks what RFC 4861 clause 7.1.1 wants checked.
    ///
    /// # Errors
    /// `Truncated`, `BadValue`, `BadChecksum`, or `BadLength` of an option without length.
    pub fn parse(packet: &[u8]) -> Result<Self, DecodeError> {
        let (source, destination, mut r) = open(packet, NEIGHBOUR_SOLICITATION)?;
        let _ = r.take(4, "reserved")?;
        let at = r.offset();
        let target = Ipv6Addr::from(r.array::<16>("target")?);
        if target.is_multicast() {
            return Err(bad("target", at, 0xff));
        }
        if source.is_unspecified() && destination != solicited_node(target) {
            return Err(bad("destination", 24, destination.octets()[0]));
        }
        while !r.is_empty() {
            let at = r.offset();
            let (kind, _) = option(&mut r)?;
            if kind == SOURCE_LINK_LAYER && source.is_unspecified() {
                return Err(bad("option", at, kind));
            }
        }
        Ok(Self { source, destination, target })
    }

    /// The packet. A link without link-layer addresses has no option.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        let message = [&[NEIGHBOUR_SOLICITATION, 0, 0, 0, 0, 0, 0, 0][..], &self.target.octets()].concat();
        packet(self.source, self.destination, message)
    }
}

impl NeighbourAdvertisement {
    /// Reads one, and checks what RFC 4861 clause 7.1.2 wants checked.
    ///
    /// # Errors
    /// As [`NeighbourSolicitation::parse`].
    pub fn parse(packet: &[u8]) -> Result<Self, DecodeError> {
        let (source, destination, mut r) = open(packet, NEIGHBOUR_ADVERTISEMENT)?;
        let at = r.offset();
        let flags = r.u8("flags")?;
        let _ = r.take(3, "reserved")?;
        let target = Ipv6Addr::from(r.array::<16>("target")?);
        let (router, solicited, overrides) =
            (flags & ROUTER != 0, flags & SOLICITED != 0, flags & OVERRIDE != 0);
        if solicited && destination.is_multicast() {
            return Err(bad("flags", at, flags));
        }
        while !r.is_empty() {
            option(&mut r)?;
        }
        Ok(Self { source, destination, target, router, solicited, overrides })
    }

    /// The packet. A link without link-layer addresses has no option.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        let flags =
            flag(self.router, ROUTER) | flag(self.solicited, SOLICITED) | flag(self.overrides, OVERRIDE);
        let message =
            [&[NEIGHBOUR_ADVERTISEMENT, 0, 0, 0, flags, 0, 0, 0][..], &self.target.octets()].concat();
        packet(self.source, self.destination, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::DecodeErrorKind;

    fn address(text: &str) -> Ipv6Addr {
        text.parse().unwrap()
    }

    #[test]
    fn asked_and_answered() {
        let (mobile, router) = (address("fe80::2"), address("fe80::1"));
        let asks = NeighbourSolicitation { source: mobile, destination: router, target: router };
        let octets = asks.to_vec();
        assert_eq!((octets.len(), &octets[40..42], &octets[48..]), (64, &[135, 0][..], &router.octets()[..]));
        assert_eq!(NeighbourSolicitation::parse(&octets), Ok(asks));
        let says = NeighbourAdvertisement {
            source: router,
            destination: mobile,
            target: router,
            router: true,
            solicited: true,
            overrides: false,
        };
        let octets = says.to_vec();
        assert_eq!((&octets[40..42], octets[44]), (&[136, 0][..], 0xc0));
        assert_eq!(NeighbourAdvertisement::parse(&octets), Ok(says));
        assert!(NeighbourSolicitation::parse(&octets).is_err());
    }

    #[test]
    fn what_is_not_right_is_said() {
        let router = address("fe80::1");
        assert_eq!(solicited_node(router), address("ff02::1:ff00:1"));
        let nobody = Ipv6Addr::UNSPECIFIED;
        // Who has no address asks the multicast address alone.
        let to = |destination| NeighbourSolicitation { source: nobody, destination, target: router };
        let error = NeighbourSolicitation::parse(&to(router).to_vec()).unwrap_err();
        assert_eq!((error.ie, error.kind), ("destination", DecodeErrorKind::BadValue(0xfe)));
        assert!(NeighbourSolicitation::parse(&to(solicited_node(router)).to_vec()).is_ok());
        let many = NeighbourSolicitation { source: router, destination: router, target: address("ff02::1") };
        assert_eq!(NeighbourSolicitation::parse(&many.to_vec()).unwrap_err().ie, "target");
        let told = NeighbourAdvertisement {
            source: router,
            destination: address("ff02::1"),
            target: router,
            router: true,
            solicited: true,
            overrides: true,
        };
        assert_eq!(NeighbourAdvertisement::parse(&told.to_vec()).unwrap_err().ie, "flags");
        let mut cut = to(solicited_node(router)).to_vec();
        cut.truncate(60);
        assert!(NeighbourSolicitation::parse(&cut).is_err());
    }
}
