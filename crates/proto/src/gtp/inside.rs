//! The addresses behind a GGSN: those of mobiles. No GSN has one of them. A G-PDU that is sent to one comes back to the node that
//! has sent it, and a datagram that comes from one was written by a mobile.

use super::GtpEntity;
use core::net::IpAddr;
use gannet_machine::drops::Drop;
use gannet_machine::{Context, Peer};

/// Prefixes of either version of IP.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inside {
    /// First and last address of each, in order, none in another.
    ranges: Vec<(u128, u128)>,
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

impl Inside {
    /// These prefixes, each with its length.
    #[must_use]
    pub fn new(prefixes: impl IntoIterator<Item = (IpAddr, u8)>) -> Self {
        let range = |(prefix, length): (IpAddr, u8)| {
            let length = u32::from(length) + if prefix.is_ipv4() { 96 } else { 0 };
            let hosts = u128::MAX.checked_shr(length).unwrap_or(0);
            (bits(prefix) & !hosts, bits(prefix) | hosts)
        };
        let mut ranges: Vec<(u128, u128)> = prefixes.into_iter().map(range).collect();
        // Of two prefixes one is in the other, or they have no address in common.
        ranges.sort_unstable_by_key(|(first, last)| (*first, core::cmp::Reverse(*last)));
        ranges.dedup_by(|next, kept| next.1 <= kept.1);
        Self { ranges }
    }

    /// Is an address in one of them?
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        if self.ranges.is_empty() {
            return false;
        }
        let address = bits(address);
        let next = self.ranges.partition_point(|(first, _)| *first <= address);
        let range = next.checked_sub(1).and_then(|at| self.ranges.get(at));
        range.is_some_and(|(_, last)| address <= *last)
    }
}

impl GtpEntity {
    /// A mobile is no peer of GTP: a datagram of one is counted and not read.
    pub(super) fn is_of_mobile(&self, cx: &mut Context<'_>, peer: Peer) -> bool {
        let is_inside = matches!(peer, Peer::Udp(from) if self.config.inside.contains(from.ip()));
        if is_inside {
            cx.drop(Drop::GtpFromMobile, None);
        }
        is_inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_of_both_versions_contain_their_addresses() {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let prefixes = [("10.0.1.0", 24), ("10.0.0.0", 16), ("2001:db8:1::", 48), ("10.2.0.9", 30)];
        let inside = Inside::new(prefixes.map(|(prefix, length)| (address(prefix), length)));
        for own in ["10.0.0.0", "10.0.1.7", "10.0.255.255", "2001:db8:1:ffff::1", "10.2.0.8", "10.2.0.11"] {
            assert!(inside.contains(address(own)), "{own}");
        }
        for other in ["9.255.255.255", "10.1.0.0", "2001:db8:2::", "10.2.0.7", "10.2.0.12", "::a00:1"] {
            assert!(!inside.contains(address(other)), "{other}");
        }
        assert!(!Inside::default().contains(address("10.0.0.1")));
        assert!(Inside::new([(address("0.0.0.0"), 0)]).contains(address("10.0.0.1")));
    }
}
