//! Links of the adaptation protocol in a loop: for mobiles and for access points.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use gannet_machine::time::Instant;
use gannet_machine::{Machine, Port};
use gannet_ops::config::bearers::{Link, NamedKey};
use gannet_proto::adaptation::SharedKey;
use gannet_proto::auth::key::Key128;
use gannet_rt::{Access, EventLoop, KernelTables, MachineId, Service, UdpConfig};
use gannet_wire::adaptation::ETHERTYPE;
use mio::Interest;
use std::io;

/// Octets of the longest packet, where the system does not say.
const MTU: u16 = 1500;
/// Headers of IP and UDP.
const UDP_OVER_IPV4: u16 = 20 + 8;
const UDP_OVER_IPV6: u16 = 40 + 8;
/// Datagrams that wait while the kernel takes none: short, as what comes later waits behind them.
const WAITING_MAX: usize = 128;

/// Which end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The mobiles', which go to the access point's address.
    Mobiles,
    /// The access point's, which has that address.
    AccessPoint,
}

/// Octets of the longest payload that a link carries.
pub fn mtu(link: &Link) -> u16 {
    match link {
        Link::Ethernet(device) => {
            let text = std::fs::read_to_string(format!("/sys/class/net/{device}/mtu"));
            text.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(MTU)
        }
        Link::Udp(SocketAddr::V4(_)) => MTU - UDP_OVER_IPV4,
        Link::Udp(SocketAddr::V6(_)) => MTU - UDP_OVER_IPV6,
    }
}

/// Joins a link to a port of a machine.
///
/// # Errors
/// A sentence: what the machine does not permit.
pub fn attach<M>(
    node: &mut EventLoop,
    (machine, port): (MachineId<M>, Port),
    link: &Link,
    end: End,
) -> Result<(), String> {
    match link {
        Link::Ethernet(device) => {
            let attached = node.attach_ether_type(machine, port, device, ETHERTYPE);
            attached.map_err(|error| format!("bearer {link}: {error} (that needs root or CAP_NET_RAW)"))
        }
        Link::Udp(address) => {
            let any = match address {
                SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
                SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
            };
            let bind = match end {
                End::Mobiles => SocketAddr::new(any, 0),
                End::AccessPoint => *address,
            };
            let config = UdpConfig { send_queue_max: WAITING_MAX, ..UdpConfig::new(bind) };
            let bound = node.bind_udp(machine, port, &config.record_as("bearer"));
            bound.map(drop).map_err(|error| format!("bearer {link}: {}", crate::node::in_use(&error)))
        }
    }
}

/// The keys of mobiles, counted from the first.
pub fn keys(first: Option<NamedKey>, count: u32) -> Vec<SharedKey> {
    let nth = |first: NamedKey, number: u32| {
        let key = u128::from_be_bytes(first.key.0).wrapping_add(number.into());
        SharedKey { id: first.id.wrapping_add(number), key: Key128(key.to_be_bytes()) }
    };
    first.map_or_else(Vec::new, |first| (0..count).map(|number| nth(first, number)).collect())
}

/// A key as the protocol has it.
pub fn key(named: Option<NamedKey>) -> Option<SharedKey> {
    named.map(|NamedKey { id, key }| SharedKey { id, key })
}

/// Octets of the operating system that nobody can tell.
///
/// # Errors
/// A sentence: there is no randomness.
pub fn secret() -> Result<Key128, String> {
    let half = || gannet_rt::seed().map(u128::from).map_err(|error| format!("/dev/urandom: {error}"));
    Ok(Key128((half()? << 64 | half()?).to_be_bytes()))
}

/// Looks after the devices of Ethernet links: one that was away is used again.
pub struct Watch<M> {
    machine: MachineId<M>,
    kernel: KernelTables,
    names: Vec<String>,
    has_news: bool,
}

impl<M: Machine + 'static> Watch<M> {
    /// Puts one into a loop, where there is anything to look after.
    ///
    /// # Errors
    /// A sentence.
    pub fn start(node: &mut EventLoop, machine: MachineId<M>, links: &[Link]) -> Result<(), String> {
        let ethernet = links.iter().filter_map(|link| match link {
            Link::Ethernet(device) => Some(device.clone()),
            Link::Udp(_) => None,
        });
        let names: Vec<String> = ethernet.collect();
        if names.is_empty() {
            return Ok(());
        }
        let describe = |error: io::Error| format!("rtnetlink: {error}");
        let kernel = KernelTables::open().map_err(describe)?;
        // What was before the start counts as news.
        let watch = Self { machine, kernel, names, has_news: true };
        node.add_service(Box::new(watch)).map_err(describe)
    }
}

impl<M: Machine + 'static> Service for Watch<M> {
    fn start(&mut self, access: &mut Access<'_>) -> io::Result<()> {
        access.register(&mut self.kernel, 0, Interest::READABLE)
    }

    fn ready(&mut self, _number: u32, _readable: bool, _writable: bool, _access: &mut Access<'_>) {
        self.has_news = true;
    }

    fn round(&mut self, access: &mut Access<'_>) {
        if !core::mem::take(&mut self.has_news) {
            return;
        }
        // Whatever it was: the devices are looked at.
        let _ = self.kernel.news();
        let numbers: Vec<Option<u32>> = self.names.iter().map(|name| self.kernel.device(name)).collect();
        access.outside(self.machine).renew_packets(|name| {
            let place = self.names.iter().position(|own| own == name)?;
            *numbers.get(place)?
        });
    }

    fn next_wake(&self) -> Option<Instant> {
        self.has_news.then_some(Instant::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_counted_from_the_first() {
        let first = NamedKey { id: 7, key: Key128([0xff; 16]) };
        let keys = keys(Some(first), 2);
        assert_eq!(keys.iter().map(|key| key.id).collect::<Vec<_>>(), [7, 8]);
        assert_eq!(keys[1].key, Key128([0; 16]));
        assert!(super::keys(None, 2).is_empty());
    }

    #[test]
    fn datagrams_have_their_headers_beside_them() {
        assert_eq!(mtu(&Link::Udp("192.0.2.1:1".parse().unwrap())), 1472);
        assert_eq!(mtu(&Link::Udp("[2001:db8::1]:1".parse().unwrap())), 1452);
        assert_eq!(mtu(&Link::Ethernet("no-such-device".to_owned())), 1500);
    }
}
