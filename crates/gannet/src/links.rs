//! Links of the adaptation protocol in a loop: for mobiles and for access points.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use gannet_machine::time::Instant;
use gannet_machine::{Machine, Port};
use gannet_ops::config::bearers::{Link, NamedKey};
use gannet_proto::adaptation::SharedKey;
use gannet_proto::auth::key::Key128;
use gannet_rt::{Access, DeviceState, EventLoop, KernelTables, MachineId, Service, UdpConfig};
use gannet_wire::adaptation::ETHERTYPE;
use gannet_wire::gsmtap::UDP_PORT;
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
        Link::Radio(_) => MTU - UDP_OVER_IPV4,
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
        Link::Radio(groups) => attach_um(node, (machine, port), groups.downlink)
            .map_err(|error| format!("bearer {link}: {error}")),
    }
}

/// The UDP address of a group that carries an air.
pub fn um_address(group: Ipv4Addr) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(group), UDP_PORT)
}

/// Joins a port of a machine to the group in which it hears the air.
///
/// # Errors
/// A sentence: what the machine does not permit.
pub fn attach_um<M>(
    node: &mut EventLoop,
    (machine, port): (MachineId<M>, Port),
    group: Ipv4Addr,
) -> Result<(), String> {
    let config = UdpConfig::new(um_address(group)).record_as("Um");
    let bound = node.bind_udp(machine, port, &config);
    bound.map(drop).map_err(|error| {
        format!("group {group}: {} (is there a route to 224.0.0.0/4?)", crate::node::in_use(&error))
    })
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

/// What has become of the device of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkNews {
    /// It is there and its other end too, or not.
    Up(bool),
    /// Octets of the longest payload that it carries.
    Mtu(u16),
}

/// The device of a link, and the state that the machine was told.
struct Watched {
    link: u16,
    name: String,
    is_up: bool,
    mtu: u16,
}

impl Watched {
    /// What is new of it; nothing is said of the MTU of a device that is not there.
    fn compare(&mut self, state: Option<DeviceState>) -> impl Iterator<Item = LinkNews> + use<> {
        let is_up = state.is_some_and(|state| state.is_running);
        let mtu = state.map_or(self.mtu, |state| state.mtu);
        let news = [
            (self.mtu != mtu).then_some(LinkNews::Mtu(mtu)),
            (self.is_up != is_up).then_some(LinkNews::Up(is_up)),
        ];
        (self.is_up, self.mtu) = (is_up, mtu);
        news.into_iter().flatten()
    }
}

/// How the machine is told of a link.
type Tell<M> = fn(u16, LinkNews) -> <M as Machine>::Command;

/// Looks after the devices of Ethernet links: one that was away is used again, and the machine is told what has changed.
pub struct Watch<M: Machine> {
    machine: MachineId<M>,
    kernel: KernelTables,
    devices: Vec<Watched>,
    tell: Tell<M>,
    has_news: bool,
}

impl<M: Machine + 'static> Watch<M> {
    /// Puts one into a loop, where there is anything to look after. `tell` makes a command of what has changed of a link, by
    /// its place in `links`. The machine has them up at the beginning, with their MTU.
    ///
    /// # Errors
    /// A sentence.
    pub fn start(
        node: &mut EventLoop,
        machine: MachineId<M>,
        links: &[Link],
        tell: Tell<M>,
    ) -> Result<(), String> {
        let ethernet = links.iter().zip(0..).filter_map(|(link, number)| match link {
            Link::Ethernet(name) => {
                Some(Watched { link: number, name: name.clone(), is_up: true, mtu: mtu(link) })
            }
            Link::Udp(_) | Link::Radio(_) => None,
        });
        let devices: Vec<Watched> = ethernet.collect();
        if devices.is_empty() {
            return Ok(());
        }
        let describe = |error: io::Error| format!("rtnetlink: {error}");
        let kernel = KernelTables::open().map_err(describe)?;
        // What was before the start counts as news.
        let watch = Self { machine, kernel, devices, tell, has_news: true };
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
        let kernel = &mut self.kernel;
        let states: Vec<Option<DeviceState>> =
            self.devices.iter().map(|device| kernel.device(&device.name)).collect();
        access.outside(self.machine).renew_packets(|name| {
            let place = self.devices.iter().position(|own| own.name == name)?;
            states.get(place)?.map(|state| state.device)
        });
        for (device, state) in self.devices.iter_mut().zip(states) {
            for news in device.compare(state) {
                access.command(self.machine, (self.tell)(device.link, news));
            }
        }
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
    fn what_has_changed_of_a_device_is_told_once() {
        let mut device = Watched { link: 0, name: "x".to_owned(), is_up: true, mtu: 1500 };
        let mut news = |state: Option<(u16, bool)>| {
            let state = state.map(|(mtu, is_running)| DeviceState { device: 7, mtu, is_running });
            device.compare(state).collect::<Vec<_>>()
        };
        assert_eq!(news(Some((1500, true))), []);
        assert_eq!(news(Some((1500, false))), [LinkNews::Up(false)], "a cable is pulled");
        assert_eq!(news(None), [], "the device goes as well");
        assert_eq!(news(Some((900, true))), [LinkNews::Mtu(900), LinkNews::Up(true)]);
        assert_eq!(news(Some((900, true))), []);
    }

    #[test]
    fn datagrams_have_their_headers_beside_them() {
        assert_eq!(mtu(&Link::Udp("192.0.2.1:1".parse().unwrap())), 1472);
        assert_eq!(mtu(&Link::Udp("[2001:db8::1]:1".parse().unwrap())), 1452);
        assert_eq!(mtu(&Link::Ethernet("no-such-device".to_owned())), 1500);
    }
}
