//! What the programs of a GGSN are told and what they tell, whether they are the kernel's or the model.

use super::layout::{COUNTS, FORWARD_DROPS, POOLS_MAX, count};
use crate::layout::{OWN_MAX, PLACE_MASK};
use crate::rules::Error;
use gannet_machine::drops::Drop;
use gannet_proto::gtp::TeidKey;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How the programs of a GGSN are set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayConfig {
    /// Where G-PDUs come and from where they go.
    pub user: Ipv4Addr,
    /// All addresses at which the node speaks GTP, at most eight of each version: no mobile reaches them past the node.
    pub addresses: Vec<IpAddr>,
    /// Networks out of which mobiles have their addresses, with the lengths of their prefixes, at most eight of each version and
    /// at most 64 bits of IPv6: what claims to come from there the kernel judges.
    pub pools: Vec<(IpAddr, u8)>,
    /// Places of PDP contexts, 1 to 2^24.
    pub contexts: u32,
    /// Networks that mobiles reach; each has a number from 0 on.
    pub networks: u16,
    /// Between TEIDs and the names of contexts.
    pub teid_key: TeidKey,
}

impl GatewayConfig {
    /// Says what is wrong with it.
    ///
    /// # Errors
    /// [`Error::Config`].
    pub fn check(&self) -> Result<(), Error> {
        let v4 = |address: &IpAddr| address.is_ipv4();
        let own = self.addresses.iter().filter(|address| v4(address)).count();
        if own > OWN_MAX || self.addresses.len() - own > OWN_MAX {
            return Err(Error::Config("more than eight addresses of one version"));
        }
        let pools = self.pools.iter().filter(|(address, _)| v4(address)).count();
        if pools > POOLS_MAX || self.pools.len() - pools > POOLS_MAX {
            return Err(Error::Config("more than eight pools of one version"));
        }
        if self.pools.iter().any(|(address, length)| *length > if v4(address) { 32 } else { 64 }) {
            return Err(Error::Config("a pool's prefix is too long"));
        }
        if self.contexts == 0 || self.contexts > PLACE_MASK + 1 {
            return Err(Error::Config("the number of contexts is not 1 to 2^24"));
        }
        Ok(())
    }
}

/// The interfaces of a network as the kernel has them now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Network {
    /// Index of the interface that leads there; 0 while there is none.
    pub device: u32,
    /// Index of the TUN device: routes and rights of the mobiles are those of what comes from it.
    pub tun: u32,
    /// Octets of the longest IP packet that the TUN device takes.
    pub mtu: u32,
    /// Whether the kernel forwards IPv4 from the interface.
    pub forwards_v4: bool,
    /// And IPv6.
    pub forwards_v6: bool,
}

/// Why a packet was left to the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Left {
    /// No context has this TEID or address, or the driver does not forward for it.
    Context,
    /// It came from another sender than the context's SGSN.
    Sender,
    /// Options, fragments, extension headers, a wrong header checksum, the last hop, or what cannot be read.
    Shape,
    /// The kernel or the node has to judge its addresses.
    Address,
    /// No route through the interface of its network, no neighbour, or too long for the way.
    Route,
    /// Its context's packets go to a ring.
    Ring,
}

impl Left {
    /// All reasons in the order of their counters.
    pub const ALL: [Self; 6] =
        [Self::Context, Self::Sender, Self::Shape, Self::Address, Self::Route, Self::Ring];

    /// Its counter's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Context => "left_context",
            Self::Sender => "left_sender",
            Self::Shape => "left_shape",
            Self::Address => "left_address",
            Self::Route => "left_route",
            Self::Ring => "left_ring",
        }
    }

    /// What a person reads.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Context => "no context of this TEID or address is forwarded at the driver",
            Self::Sender => "the G-PDU is not from the SGSN of its context",
            Self::Shape => "options, a fragment, an extension header, a wrong checksum or the last hop",
            Self::Address => "its addresses have to be judged",
            Self::Route => "no route through the interface, no neighbour, or longer than the way takes",
            Self::Ring => "the packets of its context go to a ring",
        }
    }
}

/// What was counted since the programs were loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GatewayTotals(pub(crate) [u64; COUNTS]);

impl GatewayTotals {
    fn at(&self, index: usize) -> u64 {
        self.0.get(index).copied().unwrap_or(0)
    }

    pub(crate) fn add(&mut self, index: usize, by: u64) {
        if let Some(counter) = self.0.get_mut(index) {
            *counter += by;
        }
    }

    /// Every drop of the programs with its count, 0 among them.
    pub fn drops(&self) -> impl Iterator<Item = (Drop, u64)> + '_ {
        FORWARD_DROPS.iter().copied().zip(self.0)
    }

    /// N-PDUs that went from Gn to Gi, and their octets.
    #[must_use]
    pub fn uplink(&self) -> (u64, u64) {
        (self.at(count::UPLINK), self.at(count::UPLINK + 1))
    }

    /// N-PDUs that went from Gi to Gn, and their octets.
    #[must_use]
    pub fn downlink(&self) -> (u64, u64) {
        (self.at(count::DOWNLINK), self.at(count::DOWNLINK + 1))
    }

    /// Packets that were left to the node, by reason.
    pub fn left(&self) -> impl Iterator<Item = (Left, u64)> + '_ {
        Left::ALL.into_iter().zip(count::LEFT..).map(|(why, index)| (why, self.at(index)))
    }
}

/// The first 64 bits of an IPv6 address as the programs read them out of a packet.
pub(crate) fn prefix_on_the_wire(address: Ipv6Addr) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = address.octets();
    u64::from_ne_bytes([a, b, c, d, e, f, g, h])
}

/// An IPv4 address as the programs read it out of a packet.
pub(crate) const fn v4_on_the_wire(address: Ipv4Addr) -> u32 {
    u32::from_ne_bytes(address.octets())
}

/// Network and mask of a pool as the programs compare them with what they read.
pub(crate) fn pool_on_the_wire((address, length): (IpAddr, u8)) -> (u64, u64) {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(length.min(32))).unwrap_or(0);
            let mask = u32::from_ne_bytes(mask.to_be_bytes());
            (u64::from(v4_on_the_wire(address) & mask), mask.into())
        }
        IpAddr::V6(address) => {
            let mask = u64::MAX.checked_shl(64 - u32::from(length.min(64))).unwrap_or(0);
            let mask = u64::from_ne_bytes(mask.to_be_bytes());
            (prefix_on_the_wire(address) & mask, mask)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contradiction_is_said() {
        let config = GatewayConfig {
            user: Ipv4Addr::new(192, 0, 2, 7),
            addresses: vec![Ipv4Addr::new(192, 0, 2, 7).into()],
            pools: vec![(Ipv4Addr::new(10, 0, 0, 0).into(), 8), (Ipv6Addr::LOCALHOST.into(), 64)],
            contexts: 1,
            networks: 1,
            teid_key: TeidKey::TRANSPARENT,
        };
        assert!(config.check().is_ok());
        assert!(GatewayConfig { contexts: 0, ..config.clone() }.check().is_err());
        let pools = vec![(Ipv6Addr::LOCALHOST.into(), 65)];
        assert!(GatewayConfig { pools, ..config.clone() }.check().is_err());
        let pools = (0..9).map(|net| (Ipv4Addr::new(10, net, 0, 0).into(), 16)).collect();
        assert!(GatewayConfig { pools, ..config.clone() }.check().is_err());
        let addresses = (0..9).map(|last| Ipv4Addr::new(192, 0, 2, last).into()).collect();
        assert!(GatewayConfig { addresses, ..config }.check().is_err());
    }

    #[test]
    fn a_pool_is_compared_octet_by_octet() {
        let (network, mask) = pool_on_the_wire((Ipv4Addr::new(10, 1, 2, 3).into(), 20));
        let octets = |value: u64| u32::try_from(value).unwrap().to_ne_bytes();
        assert_eq!((octets(network), octets(mask)), ([10, 1, 0, 0], [255, 255, 240, 0]));
        let (network, mask) = pool_on_the_wire(("2001:db8:1:2ff::9".parse().unwrap(), 56));
        let wanted = [0x20, 0x01, 0x0d, 0xb8, 0, 1, 2, 0];
        assert_eq!(
            (network.to_ne_bytes(), mask.to_ne_bytes()),
            (wanted, [255, 255, 255, 255, 255, 255, 255, 0])
        );
        assert_eq!(pool_on_the_wire((Ipv4Addr::UNSPECIFIED.into(), 0)), (0, 0));
    }
}
