//! Datagrams that leave as whole Ethernet frames through an AF_XDP socket: which of them may, and with what headers.
//!
//! A peer's next hop and its Ethernet address are the kernel's to find: a datagram for a peer that is not known goes
//! through the kernel, which asks for the neighbour, and so does every datagram that AF_XDP cannot send: longer than the
//! MTU, to IPv6, or while the device is away. Of a neighbour whose entry has gone stale one datagram a second takes the
//! detour through the kernel, which makes it look again.

use crate::ether::{End, Headers, IPV4, UDP};
use crate::netlink::{Link, Neighbour, Netlink};
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use gannet_machine::time::{Duration, Instant};
use std::collections::HashMap;

/// Peers whose way is remembered; datagrams for more go through the kernel.
const PEERS_MAX: usize = 4096;
/// When a neighbour is looked up again that was there, and one that was not.
const AGAIN: Duration = Duration::from_secs(1);
const AGAIN_MISSING: Duration = Duration::from_millis(20);

/// Which way a datagram goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way<'a> {
    /// Through the socket.
    Kernel,
    /// As a frame with these headers.
    Frame(&'a Headers),
}

#[derive(Debug)]
struct Known {
    headers: Option<Headers>,
    look_at: Instant,
    /// The next datagram takes the way through the kernel.
    detour: bool,
}

/// The output of one UDP socket through one device.
#[derive(Debug)]
pub(crate) struct Output {
    /// The device's place in the table of devices.
    pub(crate) device: usize,
    from: Ipv4Addr,
    port: u16,
    dscp: u8,
    peers: Vec<Known>,
    places: HashMap<SocketAddr, usize, foldhash::fast::RandomState>,
    /// The peer of the last datagram, and its place.
    last: Option<(SocketAddr, usize)>,
    /// Datagrams that went each way.
    pub(crate) by_frame: u64,
    pub(crate) by_kernel: u64,
}

impl Output {
    pub(crate) fn new(device: usize, from: Ipv4Addr, port: u16, dscp: u8) -> Self {
        Self {
            device,
            from,
            port,
            dscp,
            peers: Vec::new(),
            places: HashMap::default(),
            last: None,
            by_frame: 0,
            by_kernel: 0,
        }
    }

    /// The way of a datagram of `len` octets. Looking up costs a few microseconds for each peer and second.
    pub(crate) fn way(
        &mut self,
        to: &SocketAddr,
        len: usize,
        link: &Link,
        netlink: &mut Netlink,
        now: Instant,
    ) -> Way<'_> {
        let Some(place) = self.place_of(to) else { return Way::Kernel };
        let Some(known) = self.peers.get_mut(place) else { return Way::Kernel };
        if now >= known.look_at {
            known.look_up((self.from, self.port, self.dscp), *to, link, netlink);
            known.look_at = now + if known.headers.is_some() { AGAIN } else { AGAIN_MISSING };
        }
        if core::mem::take(&mut known.detour) || len + IPV4 + UDP > link.mtu {
            return Way::Kernel;
        }
        known.headers.as_ref().map_or(Way::Kernel, Way::Frame)
    }

    fn place_of(&mut self, to: &SocketAddr) -> Option<usize> {
        if let Some((last, place)) = &self.last
            && last == to
        {
            return Some(*place);
        }
        let place = match self.places.get(to) {
            Some(place) => *place,
            None if self.peers.len() < PEERS_MAX && to.is_ipv4() => {
                self.peers.push(Known { headers: None, look_at: Instant::ZERO, detour: false });
                self.places.insert(*to, self.peers.len() - 1);
                self.peers.len() - 1
            }
            None => return None,
        };
        self.last = Some((*to, place));
        Some(place)
    }

    /// Something has changed in the kernel's tables: everything is looked up again.
    pub(crate) fn look_again(&mut self) {
        self.peers.iter_mut().for_each(|known| known.look_at = Instant::ZERO);
    }

    /// Peers with a known Ethernet address.
    pub(crate) fn resolved(&self) -> usize {
        self.peers.iter().filter(|known| known.headers.is_some()).count()
    }
}

impl Known {
    fn look_up(
        &mut self,
        (from, port, dscp): (Ipv4Addr, u16, u8),
        to: SocketAddr,
        link: &Link,
        netlink: &mut Netlink,
    ) {
        self.headers = None;
        let (IpAddr::V4(ip), Some(ours)) = (to.ip(), link.address) else { return };
        // A peer that is reached through another device is the kernel's.
        let Some((_, hop)) = netlink.route(to.ip()).filter(|(device, _)| *device == link.index) else {
            return;
        };
        let (ethernet, stale) = match netlink.neighbour(link.index, hop) {
            Neighbour::Valid(address) => (address, false),
            Neighbour::Stale(address) => (address, true),
            Neighbour::Unknown => return,
        };
        self.detour = stale;
        let from = End { ethernet: ours, ip: from, port };
        self.headers = Some(Headers::new(from, End { ethernet, ip, port: to.port() }, dscp));
    }
}
