//! What of the kernel's news changes where packets leave.
//!
//! The kernel says much that changes nothing: that a neighbour has answered again, that a link's counters or wireless state are new.
//! Who forgets all that it knows with each message has little of what it remembers.

use crate::netlink::{Monitor, NUD_VALID, address_of, attributes, field, link_news};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use gannet_machine::EthernetAddress;
use std::collections::{HashMap, HashSet};

/// News of one call; with more of them all is news.
const NEWS_MAX: usize = 32;
/// Neighbours, and addresses, that are remembered. With more all is forgotten, and all is news.
const REMEMBERED_MAX: usize = 65_536;
/// A route that was made for one packet (`RTM_F_CLONED`).
const CLONED: u32 = 0x200;

/// What has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableNews {
    /// Devices or addresses of this machine, or so much that all may have.
    All,
    /// Routes to a network, with the bits of its prefix.
    Routes(IpAddr, u8),
    /// A station that was an answer has another address, or is gone.
    Station(EthernetAddress),
    /// A neighbour that was no answer has become known.
    Found,
}

/// What counts of a device.
#[derive(Debug, PartialEq, Eq)]
struct State {
    name: Box<[u8]>,
    address: Option<[u8; 6]>,
    mtu: usize,
    is_up: bool,
    is_running: bool,
}

/// What the kernel has said, and what was answered.
#[derive(Debug, Default)]
pub(super) struct Seen {
    devices: HashMap<u32, State>,
    /// Device, address, and what else counts of it: flags and the length of its prefix.
    addresses: HashSet<(u32, IpAddr, [u8; 2])>,
    /// Neighbours that were an answer.
    neighbours: HashMap<(u32, IpAddr), EthernetAddress>,
    /// Too much to remember.
    has_overflowed: bool,
}

impl Seen {
    /// A neighbour is the answer to a question.
    pub(super) fn answered(&mut self, device: u32, neighbour: IpAddr, station: EthernetAddress) {
        if self.neighbours.len() >= REMEMBERED_MAX {
            self.neighbours.clear();
            self.has_overflowed = true;
        }
        self.neighbours.insert((device, neighbour), station);
    }

    pub(super) fn news(&mut self, monitor: &Monitor) -> Vec<TableNews> {
        let mut news = Vec::new();
        let all = monitor.read(|kind, body| {
            let of = self.message(kind, body);
            // One of many is as good as all of them.
            if news.len() <= NEWS_MAX {
                news.extend(of.filter(|of| !news.contains(of)));
            }
        });
        if !all || core::mem::take(&mut self.has_overflowed) || news.len() > NEWS_MAX {
            // What was said meanwhile is not known.
            self.devices.clear();
            self.addresses.clear();
            return vec![TableNews::All];
        }
        news
    }

    fn message(&mut self, kind: u16, body: &[u8]) -> Option<TableNews> {
        match kind {
            libc::RTM_NEWLINK => self.link(body),
            libc::RTM_DELLINK => {
                self.devices.remove(&link_news(body)?.index);
                Some(TableNews::All)
            }
            libc::RTM_NEWADDR => self.address(body, true),
            libc::RTM_DELADDR => self.address(body, false),
            libc::RTM_NEWROUTE | libc::RTM_DELROUTE => routes(body),
            libc::RTM_NEWNEIGH => self.neighbour(body, true),
            libc::RTM_DELNEIGH => self.neighbour(body, false),
            _ => None,
        }
    }

    fn link(&mut self, body: &[u8]) -> Option<TableNews> {
        let news = link_news(body)?;
        let state = State {
            name: news.name.into(),
            address: news.address,
            mtu: news.mtu,
            is_up: news.up,
            is_running: news.running,
        };
        if self.devices.get(&news.index) == Some(&state) {
            return None;
        }
        self.devices.insert(news.index, state);
        Some(TableNews::All)
    }

    fn address(&mut self, body: &[u8], is_there: bool) -> Option<TableNews> {
        let index = u32::from_ne_bytes(field(body, 4)?);
        let all =
            || attributes(body, 8).filter(|(kind, _)| matches!(*kind, libc::IFA_LOCAL | libc::IFA_ADDRESS));
        // The local address of a point-to-point link comes besides that of its peer.
        let (_, value) = all().max_by_key(|(kind, _)| *kind == libc::IFA_LOCAL)?;
        let known = (index, address_of(value)?, [*body.get(1)?, *body.get(2)?]);
        if !is_there {
            self.addresses.remove(&known);
            return Some(TableNews::All);
        }
        self.has_overflowed |= self.addresses.len() >= REMEMBERED_MAX;
        self.addresses.insert(known).then_some(TableNews::All)
    }

    fn neighbour(&mut self, body: &[u8], is_there: bool) -> Option<TableNews> {
        let device = u32::from_ne_bytes(field(body, 4)?);
        let is_valid = is_there && u16::from_ne_bytes(field(body, 8)?) & NUD_VALID != 0;
        let attribute =
            |wanted| attributes(body, 12).find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
        // Those of bridges have no such address.
        let address = address_of(attribute(libc::NDA_DST)?)?;
        let station = attribute(libc::NDA_LLADDR).and_then(|value| field(value, 0)).map(EthernetAddress);
        match self.neighbours.get(&(device, address)).copied() {
            Some(answered) if is_valid && station == Some(answered) => None,
            Some(answered) => {
                self.neighbours.remove(&(device, address));
                Some(TableNews::Station(answered))
            }
            None => is_valid.then_some(TableNews::Found),
        }
    }
}

fn routes(body: &[u8]) -> Option<TableNews> {
    let (family, bits) = (*body.first()?, *body.get(1)?);
    if u32::from_ne_bytes(field(body, 8)?) & CLONED != 0 {
        return None;
    }
    let any: IpAddr = match i32::from(family) {
        libc::AF_INET => Ipv4Addr::UNSPECIFIED.into(),
        libc::AF_INET6 => Ipv6Addr::UNSPECIFIED.into(),
        _ => return None,
    };
    let network = attributes(body, 12).find(|(kind, _)| *kind == libc::RTA_DST);
    Some(TableNews::Routes(network.and_then(|(_, value)| address_of(value)).unwrap_or(any), bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let len = u16::try_from(4 + value.len()).unwrap();
        let mut octets = [&len.to_ne_bytes()[..], &kind.to_ne_bytes(), value].concat();
        octets.resize(octets.len().next_multiple_of(4), 0);
        octets
    }

    fn neighbour(host: u8, state: u16, station: u8) -> Vec<u8> {
        let mut body = vec![0; 12];
        body[0] = u8::try_from(libc::AF_INET).unwrap();
        body[4] = 7;
        body[8..10].copy_from_slice(&state.to_ne_bytes());
        body.extend(attribute(libc::NDA_DST, &[192, 0, 2, host]));
        body.extend(attribute(libc::NDA_LLADDR, &[2, 0, 0, 0, 0, station]));
        body
    }

    const REACHABLE: u16 = 2;
    const FAILED: u16 = 0x20;

    #[test]
    fn a_neighbour_that_answers_again_is_no_news() {
        let mut seen = Seen::default();
        let station = EthernetAddress([2, 0, 0, 0, 0, 1]);
        seen.answered(7, [192, 0, 2, 1].into(), station);
        let mut new = |body: &[u8]| seen.message(libc::RTM_NEWNEIGH, body);
        assert_eq!(new(&neighbour(1, REACHABLE, 1)), None);
        assert_eq!(new(&neighbour(2, REACHABLE, 2)), Some(TableNews::Found));
        assert_eq!(new(&neighbour(2, FAILED, 2)), None, "nobody sends there");
        assert_eq!(new(&neighbour(1, REACHABLE, 9)), Some(TableNews::Station(station)));
        assert_eq!(new(&neighbour(1, REACHABLE, 9)), Some(TableNews::Found), "no answer any more");
        seen.answered(7, [192, 0, 2, 1].into(), station);
        assert_eq!(
            seen.message(libc::RTM_DELNEIGH, &neighbour(1, REACHABLE, 1)),
            Some(TableNews::Station(station))
        );
        seen.answered(7, [192, 0, 2, 1].into(), station);
        assert_eq!(
            seen.message(libc::RTM_NEWNEIGH, &neighbour(1, FAILED, 1)),
            Some(TableNews::Station(station))
        );
        assert_eq!(seen.message(libc::RTM_NEWNEIGH, &[1, 2, 3]), None);
    }

    #[test]
    fn a_link_that_says_the_same_again_is_no_news() {
        let link = |flags: i32, mtu: u32| {
            let mut body = vec![0; 16];
            body[4] = 7;
            body[8..12].copy_from_slice(&flags.to_ne_bytes());
            body.extend(attribute(libc::IFLA_IFNAME, b"wan\0"));
            body.extend(attribute(libc::IFLA_MTU, &mtu.to_ne_bytes()));
            body
        };
        let mut seen = Seen::default();
        let up = libc::IFF_UP | libc::IFF_RUNNING;
        for (body, is_news) in [
            (link(up, 1500), true),
            (link(up | libc::IFF_PROMISC, 1500), false),
            (link(up, 1400), true),
            (link(libc::IFF_UP, 1400), true),
            (link(libc::IFF_UP, 1400), false),
        ] {
            assert_eq!(seen.message(libc::RTM_NEWLINK, &body), is_news.then_some(TableNews::All));
        }
        assert_eq!(seen.message(libc::RTM_DELLINK, &link(0, 1400)), Some(TableNews::All));
        assert_eq!(
            seen.message(libc::RTM_NEWLINK, &link(libc::IFF_UP, 1400)),
            Some(TableNews::All),
            "another"
        );
    }

    #[test]
    fn addresses_and_routes_are_news_where_they_change() {
        let address = |bits: u8| {
            let mut body = vec![u8::try_from(libc::AF_INET).unwrap(), bits, 0x80, 0, 7, 0, 0, 0];
            body.extend(attribute(libc::IFA_ADDRESS, &[192, 0, 2, 9]));
            body.extend(attribute(libc::IFA_LOCAL, &[192, 0, 2, 1]));
            body
        };
        let mut seen = Seen::default();
        assert_eq!(seen.message(libc::RTM_NEWADDR, &address(24)), Some(TableNews::All));
        assert_eq!(seen.message(libc::RTM_NEWADDR, &address(24)), None, "its time was renewed");
        assert_eq!(seen.message(libc::RTM_NEWADDR, &address(25)), Some(TableNews::All));
        assert_eq!(seen.message(libc::RTM_DELADDR, &address(25)), Some(TableNews::All));
        let route = |family: i32, bits: u8, flags: u32, to: &[u8]| {
            let mut body = vec![0; 12];
            (body[0], body[1]) = (u8::try_from(family).unwrap(), bits);
            body[8..12].copy_from_slice(&flags.to_ne_bytes());
            if !to.is_empty() {
                body.extend(attribute(libc::RTA_DST, to));
            }
            body
        };
        let mut news = |body: &[u8]| seen.message(libc::RTM_DELROUTE, body);
        let network = IpAddr::from([198, 51, 100, 0]);
        assert_eq!(
            news(&route(libc::AF_INET, 24, 0, &[198, 51, 100, 0])),
            Some(TableNews::Routes(network, 24))
        );
        let all: IpAddr = "::".parse().unwrap();
        assert_eq!(news(&route(libc::AF_INET6, 0, 0, &[])), Some(TableNews::Routes(all, 0)));
        assert_eq!(news(&route(libc::AF_INET, 32, CLONED, &[198, 51, 100, 1])), None);
        assert_eq!(news(&route(libc::AF_MPLS, 20, 0, &[])), None);
    }
}
