//! The addresses of a context, and the IPv6 prefixes that an access point gives out.

use super::pool::{AddressPool, ClaimError, Pool};
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use gannet_wire::gtp::EndUserAddress;

/// What a context has: an IPv4 address, an IPv6 address whose first 64 bits are its own, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Addresses {
    /// IPv4.
    pub v4: Option<Ipv4Addr>,
    /// IPv6: the mobile may use every address with its prefix of 64 bits (23.060 clause 9.2.1.1).
    pub v6: Option<Ipv6Addr>,
}

const fn prefix_of(address: Ipv6Addr) -> u128 {
    address.to_bits() >> 64
}

impl Addresses {
    /// Whether this is an address of the context's own.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => self.v4 == Some(address),
            IpAddr::V6(address) => self.v6.is_some_and(|own| prefix_of(own) == prefix_of(address)),
        }
    }

    /// One of them, that of IPv4 first.
    #[must_use]
    pub fn first(&self) -> Option<IpAddr> {
        self.v4.map(IpAddr::V4).or(self.v6.map(IpAddr::V6))
    }

    /// The prefix of 64 bits of IPv6.
    #[must_use]
    pub fn prefix(&self) -> Option<Ipv6Addr> {
        self.v6.map(|own| Ipv6Addr::from_bits(own.to_bits() & !u128::from(u64::MAX)))
    }

    /// As the mobile is told.
    #[must_use]
    pub const fn end_user_address(&self) -> EndUserAddress {
        match (self.v4, self.v6) {
            (v4, None) => EndUserAddress::Ipv4(v4),
            (None, v6) => EndUserAddress::Ipv6(v6),
            (v4, v6) => EndUserAddress::Ipv4v6(v4, v6),
        }
    }
}

impl From<Ipv4Addr> for Addresses {
    fn from(address: Ipv4Addr) -> Self {
        Self { v4: Some(address), v6: None }
    }
}

impl fmt::Display for Addresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.v4, self.v6) {
            (Some(v4), Some(v6)) => write!(f, "{v4} and {v6}"),
            (Some(v4), None) => v4.fmt(f),
            (None, Some(v6)) => v6.fmt(f),
            (None, None) => f.write_str("none"),
        }
    }
}

/// Lengths of a prefix out of which an access point can give prefixes of 64 bits.
pub const IPV6_PREFIX_LENGTHS: core::ops::RangeInclusive<u8> = 42..=62;

/// Interface identifier of the address that a mobile is told; the gateway's is 1.
const INTERFACE_IDENTIFIER: u128 = 2;

/// The prefixes of 64 bits of an IPv6 prefix. They are numbered, and the numbers given out as an IPv4 pool does it: not the
/// first two, which are the network's and the gateway's, nor the last.
#[derive(Debug)]
pub struct PrefixPool {
    /// The first of the prefixes, its 64 bits.
    base: u128,
    numbers: AddressPool,
}

impl PrefixPool {
    /// The pool of a prefix; `None` where its length is not one of [`IPV6_PREFIX_LENGTHS`].
    #[must_use]
    pub fn new(prefix: Ipv6Addr, length: u8) -> Option<Self> {
        if !IPV6_PREFIX_LENGTHS.contains(&length) {
            return None;
        }
        let mask = u128::MAX << (64 - length);
        let numbers = AddressPool::new(Ipv4Addr::UNSPECIFIED, length - 32)?;
        Some(Self { base: prefix_of(prefix) & mask, numbers })
    }

    fn address(&self, number: Ipv4Addr) -> Ipv6Addr {
        let prefix = self.base | u128::from(number.to_bits());
        Ipv6Addr::from_bits(prefix << 64 | INTERFACE_IDENTIFIER)
    }

    fn number(&self, address: Ipv6Addr) -> Option<Ipv4Addr> {
        let number = prefix_of(address).checked_sub(self.base)?;
        u32::try_from(number).ok().map(Ipv4Addr::from_bits)
    }
}

impl Pool for PrefixPool {
    type Address = Ipv6Addr;

    fn take(&mut self) -> Option<Ipv6Addr> {
        self.numbers.take().map(|number| self.address(number))
    }

    fn claim(&mut self, address: Ipv6Addr) -> Result<(), ClaimError> {
        self.numbers.claim(self.number(address).ok_or(ClaimError::Outside)?)
    }

    fn assign(&mut self, address: Ipv6Addr, owner: u32) {
        if let Some(number) = self.number(address) {
            self.numbers.assign(number, owner);
        }
    }

    fn release(&mut self, address: Ipv6Addr) {
        if let Some(number) = self.number(address) {
            self.numbers.release(number);
        }
    }

    fn owner(&self, address: Ipv6Addr) -> Option<u32> {
        self.numbers.owner(self.number(address)?)
    }

    fn used(&self) -> u32 {
        self.numbers.used()
    }

    fn capacity(&self) -> u32 {
        self.numbers.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_given_out_once() {
        let address = |text: &str| text.parse::<Ipv6Addr>().unwrap();
        let mut pool = PrefixPool::new(address("2001:db8:0:17::"), 61).unwrap();
        let taken: Vec<Ipv6Addr> = core::iter::from_fn(|| pool.take()).collect();
        let wanted = ["12", "13", "14", "15", "16"].map(|n| address(&format!("2001:db8:0:{n}::2")));
        assert_eq!((taken, pool.used()), (wanted.to_vec(), 5));
        pool.assign(wanted[1], 7);
        assert_eq!(pool.owner(address("2001:db8:0:13:aaaa::1")), Some(7));
        assert_eq!(pool.owner(address("2001:db8:0:9::1")), None);
        pool.release(wanted[1]);
        assert_eq!((pool.claim(wanted[1]), pool.claim(wanted[1])), (Ok(()), Err(ClaimError::Occupied)));
        assert_eq!(pool.claim(address("2001:db9::1")), Err(ClaimError::Outside));
        assert!(PrefixPool::new(address("2001:db8::"), 64).is_none());
    }

    #[test]
    fn a_context_has_all_addresses_of_its_prefix() {
        let own = Addresses { v4: None, v6: "2001:db8:0:1::2".parse().ok() };
        assert!(own.contains("2001:db8:0:1:ffff::".parse().unwrap()));
        assert!(!own.contains("2001:db8:0:2::2".parse().unwrap()) && !own.contains([0, 0, 0, 0].into()));
    }
}
