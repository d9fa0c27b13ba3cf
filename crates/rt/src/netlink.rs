//! What the kernel knows of links, addresses, routes and neighbours, asked through rtnetlink (RFC 3549).
//!
//! Questions are few and short, and the kernel answers them within the call that asks, so that no answer is waited for.

use crate::sys;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::time::Duration;
use gannet_machine::time;
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};

/// How often devices that are away are looked for where the kernel does not tell.
pub(crate) const LOOK_EVERY: time::Duration = time::Duration::from_secs(1);

/// A network device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) index: u32,
    pub(crate) name: String,
    /// Its Ethernet address; `None` for devices without.
    pub(crate) address: Option<[u8; 6]>,
    /// Octets of the longest IP packet.
    pub(crate) mtu: usize,
    pub(crate) up: bool,
    /// Its other end is there.
    pub(crate) running: bool,
    /// Receive queues.
    pub(crate) rx_queues: u32,
}

/// What the neighbour table says of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Neighbour {
    /// Nothing that can be used.
    Unknown,
    /// Confirmed not long ago.
    Valid([u8; 6]),
    /// Perhaps out of date: the next packet through the kernel makes it look.
    Stale([u8; 6]),
}

/// A route through a device, to a network or with length 0 to all that have no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceRoute {
    /// The network.
    pub to: IpAddr,
    /// The length of its prefix, in bits.
    pub length: u8,
    /// Of several routes to a network that with the lowest counts. 0 leaves it to the kernel.
    pub metric: u32,
}

const HEADER: usize = 16;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const FLAG_REQUEST: u16 = 1;
const FLAG_ACK: u16 = 4;
const FLAG_DUMP: u16 = 0x300;
/// Of a neighbour: look whether it is still there, as if a packet had gone to it.
const NTF_USE: u8 = 1;
const FLAG_CREATE: u16 = 0x400;
const FLAG_EXCL: u16 = 0x200;
const NUD_STALE: u16 = 0x04;
/// REACHABLE, DELAY, PROBE, NOARP, PERMANENT.
pub(crate) const NUD_VALID: u16 = 0x02 | 0x08 | 0x10 | 0x40 | 0x80;

/// A socket for questions.
#[derive(Debug)]
pub(crate) struct Netlink {
    socket: Socket,
    octets: Vec<u8>,
}

impl Netlink {
    pub(crate) fn open() -> io::Result<Self> {
        Self::with(open(libc::NETLINK_ROUTE)?)
    }

    fn with(socket: Socket) -> io::Result<Self> {
        socket.set_read_timeout(Some(Duration::from_millis(200)))?;
        Ok(Self { socket, octets: vec![0; 32 * 1024] })
    }

    /// Asks, and gives each message of the answer, its type and what follows its header, to `tell`.
    fn ask(&mut self, question: &Question, mut tell: impl FnMut(u16, &[u8])) -> io::Result<()> {
        (&self.socket).write_all(question.octets())?;
        loop {
            let len = (&self.socket).read(&mut self.octets)?;
            let mut rest = self.octets.get(..len).unwrap_or_default();
            if rest.is_empty() {
                return Ok(());
            }
            while let Some((kind, body, more)) = message(rest) {
                rest = more;
                match kind {
                    NLMSG_DONE => return Ok(()),
                    NLMSG_ERROR => {
                        let code = field::<4>(body, 0).map_or(0, i32::from_ne_bytes);
                        return if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(-code)) };
                    }
                    _ => tell(kind, body),
                }
            }
            if !question.is_dump {
                return Ok(());
            }
        }
    }

    /// The device on which an address of ours is.
    pub(crate) fn device_of(&mut self, address: IpAddr) -> io::Result<Option<u32>> {
        let mut found = None;
        let question =
            Question::new(libc::RTM_GETADDR, FLAG_DUMP, &[family_of(address), 0, 0, 0, 0, 0, 0, 0]);
        self.ask(&question, |_, body| {
            let index = field::<4>(body, 4).map(u32::from_ne_bytes);
            for (kind, value) in attributes(body, 8) {
                if matches!(kind, libc::IFA_LOCAL | libc::IFA_ADDRESS) && address_of(value) == Some(address) {
                    // The local address of a point-to-point link comes besides that of its peer.
                    if kind == libc::IFA_LOCAL || found.is_none() {
                        found = index;
                    }
                }
            }
        })?;
        Ok(found)
    }

    /// A device by its index.
    pub(crate) fn link(&mut self, index: u32) -> io::Result<Option<Link>> {
        let mut body = [0; 16];
        body[4..8].copy_from_slice(&index.to_ne_bytes());
        self.link_for(&Question::new(libc::RTM_GETLINK, 0, &body))
    }

    /// A device by its name.
    pub(crate) fn link_named(&mut self, name: &str) -> io::Result<Option<Link>> {
        let question = Question::new(libc::RTM_GETLINK, 0, &[0; 16]);
        self.link_for(&question.with(libc::IFLA_IFNAME, &[name.as_bytes(), &[0]].concat()))
    }

    fn link_for(&mut self, question: &Question) -> io::Result<Option<Link>> {
        let mut found = None;
        let asked = self.ask(question, |kind, body| {
            if kind == libc::RTM_NEWLINK {
                found = link_of(body);
            }
        });
        match asked {
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(None),
            Err(error) => Err(error),
            Ok(()) => Ok(found),
        }
    }

    /// Takes over what may change of a device that stays: its address and its MTU. False, and nothing has changed, where
    /// it is down or not there any more under its number and name. Allocates nothing.
    pub(crate) fn renew(&mut self, link: &mut Link) -> bool {
        let mut body = [0; 16];
        body[4..8].copy_from_slice(&link.index.to_ne_bytes());
        let mut renewed = false;
        let asked = self.ask(&Question::new(libc::RTM_GETLINK, 0, &body), |kind, body| {
            if kind != libc::RTM_NEWLINK {
                return;
            }
            if let Some(news) = link_news(body)
                && (news.index, news.name, news.up) == (link.index, link.name.as_bytes(), true)
            {
                (link.address, link.mtu) = (news.address, news.mtu);
                renewed = true;
            }
        });
        asked.is_ok() && renewed
    }

    /// Through which device a packet to `to` leaves, and to which neighbour; `None` where there is no route.
    pub(crate) fn route(&mut self, to: IpAddr) -> Option<(u32, IpAddr)> {
        let bits = if to.is_ipv4() { 32 } else { 128 };
        let body = [family_of(to), bits, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let question = Question::new(libc::RTM_GETROUTE, 0, &body).with_address(libc::RTA_DST, to);
        let mut found = None;
        let asked = self.ask(&question, |kind, body| {
            // Type 1 is RTN_UNICAST; our own addresses and broadcasts are not for us.
            if kind != libc::RTM_NEWROUTE || body.get(7) != Some(&1) {
                return;
            }
            let (mut device, mut neighbour) = (None, to);
            for (kind, value) in attributes(body, 12) {
                match kind {
                    libc::RTA_OIF => device = field::<4>(value, 0).map(u32::from_ne_bytes),
                    libc::RTA_GATEWAY => neighbour = address_of(value).unwrap_or(to),
                    _ => {}
                }
            }
            found = device.map(|device| (device, neighbour));
        });
        asked.ok().and(found)
    }

    /// Has the kernel look whether the neighbours on a device are still there whose addresses are perhaps out of date: where
    /// packets leave past the kernel it would not.
    pub(crate) fn confirm_neighbours(&mut self, device: u32) {
        for family in [libc::AF_INET, libc::AF_INET6] {
            let mut body = [0; 12];
            body[0] = u8::try_from(family).unwrap_or(0);
            body[4..8].copy_from_slice(&device.to_ne_bytes());
            let mut stale = Vec::new();
            let asked = self.ask(&Question::new(libc::RTM_GETNEIGH, FLAG_DUMP, &body), |kind, body| {
                let is_stale = field::<2>(body, 8).map(u16::from_ne_bytes) == Some(NUD_STALE);
                let is_here = field::<4>(body, 4).map(u32::from_ne_bytes) == Some(device);
                let address = attributes(body, 12).find(|(kind, _)| *kind == libc::NDA_DST);
                let address = address.and_then(|(_, value)| address_of(value));
                stale.extend(address.filter(|_| kind == libc::RTM_NEWNEIGH && is_stale && is_here));
            });
            if asked.is_err() {
                return;
            }
            body[10] = NTF_USE;
            for address in stale {
                let question = Question::new(libc::RTM_NEWNEIGH, FLAG_ACK, &body);
                // One that has just gone needs no confirmation.
                let _ = self.ask(&question.with_address(libc::NDA_DST, address), |_, _| {});
            }
        }
    }

    /// The Ethernet address of a neighbour.
    pub(crate) fn neighbour(&mut self, device: u32, address: IpAddr) -> Neighbour {
        let mut body = [0; 12];
        body[0] = family_of(address);
        body[4..8].copy_from_slice(&device.to_ne_bytes());
        let question = Question::new(libc::RTM_GETNEIGH, 0, &body).with_address(libc::NDA_DST, address);
        let mut found = Neighbour::Unknown;
        let asked = self.ask(&question, |kind, body| {
            let state = field::<2>(body, 8).map_or(0, u16::from_ne_bytes);
            let lladdr = attributes(body, 12).find(|(kind, _)| *kind == libc::NDA_LLADDR);
            let Some(lladdr) = lladdr.and_then(|(_, value)| field::<6>(value, 0)) else { return };
            if kind == libc::RTM_NEWNEIGH {
                found = match state {
                    NUD_STALE => Neighbour::Stale(lladdr),
                    _ if state & NUD_VALID != 0 => Neighbour::Valid(lladdr),
                    _ => Neighbour::Unknown,
                };
            }
        });
        asked.map_or(Neighbour::Unknown, |()| found)
    }
}

impl Netlink {
    /// Adds a route through a device of ours, without a neighbour: what is behind it needs none.
    pub(crate) fn add_route(&mut self, device: &str, route: DeviceRoute) -> io::Result<()> {
        const RT_TABLE_MAIN: u8 = 254;
        const RTPROT_STATIC: u8 = 4;
        const RT_SCOPE_LINK: u8 = 253;
        const RTN_UNICAST: u8 = 1;
        let link = self.link_named(device)?.ok_or_else(|| io::Error::from_raw_os_error(libc::ENODEV))?;
        let scope = if route.to.is_ipv4() { RT_SCOPE_LINK } else { 0 };
        let (family, length) = (family_of(route.to), route.length);
        let body = [family, length, 0, 0, RT_TABLE_MAIN, RTPROT_STATIC, scope, RTN_UNICAST, 0, 0, 0, 0];
        let flags = FLAG_CREATE | FLAG_EXCL | FLAG_ACK;
        let mut question = Question::new(libc::RTM_NEWROUTE, flags, &body);
        if length > 0 {
            question = question.with_address(libc::RTA_DST, route.to);
        }
        if route.metric > 0 {
            question = question.with(libc::RTA_PRIORITY, &route.metric.to_ne_bytes());
        }
        self.ask(&question.with(libc::RTA_OIF, &link.index.to_ne_bytes()), |_, _| ())
    }

    /// Has the kernel find out whether a neighbour is there, and its address, as if it had a packet for it (`NTF_USE`).
    pub(crate) fn use_neighbour(&mut self, device: u32, address: IpAddr) -> io::Result<()> {
        let mut body = [0; 12];
        body[0] = family_of(address);
        body[4..8].copy_from_slice(&device.to_ne_bytes());
        body[10] = libc::NTF_USE;
        let question = Question::new(libc::RTM_NEWNEIGH, FLAG_CREATE | FLAG_ACK, &body);
        self.ask(&question.with_address(libc::NDA_DST, address), |_, _| ())
    }
}

/// A socket that becomes readable when links, addresses, routes or neighbours change.
#[derive(Debug)]
pub(crate) struct Monitor(Socket);

impl Monitor {
    pub(crate) fn open() -> io::Result<Self> {
        let socket = open(libc::NETLINK_ROUTE)?;
        socket.set_nonblocking(true)?;
        sys::bind_netlink(&socket)?;
        let of_ipv4 = [libc::RTNLGRP_IPV4_IFADDR, libc::RTNLGRP_IPV4_ROUTE];
        let of_ipv6 = [libc::RTNLGRP_IPV6_IFADDR, libc::RTNLGRP_IPV6_ROUTE];
        for group in [libc::RTNLGRP_LINK, libc::RTNLGRP_NEIGH].into_iter().chain(of_ipv4).chain(of_ipv6) {
            let group = i32::try_from(group).unwrap_or(0);
            sys::set_socket_option(&socket, libc::SOL_NETLINK, libc::NETLINK_ADD_MEMBERSHIP, group)?;
        }
        Ok(Self(socket))
    }

    /// Reads all that is there, what it was being asked for anew. True where more than neighbours has changed.
    pub(crate) fn clear(&self) -> bool {
        let mut links = false;
        let all = self.read(|kind, _| links |= !matches!(kind, libc::RTM_NEWNEIGH | libc::RTM_DELNEIGH));
        links || !all
    }

    /// Gives each message that is there, its type and what follows its header, to `tell`; false where some were lost, as too much has
    /// changed for the socket's buffer.
    pub(crate) fn read(&self, mut tell: impl FnMut(u16, &[u8])) -> bool {
        let mut octets = [0; 8192];
        let mut all = true;
        loop {
            match (&self.0).read(&mut octets) {
                Ok(0) => return all,
                Ok(len) => {
                    let mut rest = octets.get(..len).unwrap_or_default();
                    while let Some((kind, body, more)) = message(rest) {
                        tell(kind, body);
                        rest = more;
                    }
                }
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => all = false,
                Err(_) => return all,
            }
        }
    }
}

impl AsRawFd for Monitor {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// What the kernel says of devices through generic netlink, in its family "netdev".
#[derive(Debug)]
pub(crate) struct Netdev {
    netlink: Netlink,
    family: u16,
}

/// `nlctrl`: the family that knows the others.
const GENL_ID_CTRL: u16 = 0x10;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
/// `include/uapi/linux/netdev.h`.
const NETDEV_CMD_DEV_GET: u8 = 1;
const NETDEV_A_DEV_IFINDEX: u16 = 1;
const NETDEV_A_DEV_XDP_FEATURES: u16 = 3;
const NETDEV_XDP_ACT_NDO_XMIT: u64 = 4;

impl Netdev {
    /// Fails before Linux 6.3, which has no such family.
    pub(crate) fn open() -> io::Result<Self> {
        let mut netlink = Netlink::with(open(libc::NETLINK_GENERIC)?)?;
        let question = Question::new(GENL_ID_CTRL, 0, &[CTRL_CMD_GETFAMILY, 1, 0, 0]);
        let mut family = None;
        netlink.ask(&question.with(CTRL_ATTR_FAMILY_NAME, b"netdev\0"), |_, body| {
            let id = attributes(body, 4).find(|(kind, _)| *kind == CTRL_ATTR_FAMILY_ID);
            family = id.and_then(|(_, value)| field(value, 0)).map(u16::from_ne_bytes);
        })?;
        let family = family.ok_or(io::ErrorKind::Unsupported)?;
        Ok(Self { netlink, family })
    }

    /// Does a device take frames that a program redirects to it? A veth does while its other end has a program, or GRO.
    pub(crate) fn takes_redirected(&mut self, device: u32) -> io::Result<bool> {
        let question = Question::new(self.family, 0, &[NETDEV_CMD_DEV_GET, 1, 0, 0]);
        let mut features = 0;
        self.netlink.ask(&question.with(NETDEV_A_DEV_IFINDEX, &device.to_ne_bytes()), |_, body| {
            let found = attributes(body, 4).find(|(kind, _)| *kind == NETDEV_A_DEV_XDP_FEATURES);
            features = found.and_then(|(_, value)| field(value, 0)).map_or(0, u64::from_ne_bytes);
        })?;
        Ok(features & NETDEV_XDP_ACT_NDO_XMIT != 0)
    }
}

fn open(protocol: libc::c_int) -> io::Result<Socket> {
    Socket::new(Domain::from(libc::AF_NETLINK), Type::RAW, Some(Protocol::from(protocol)))
}

pub(crate) fn field<const N: usize>(octets: &[u8], at: usize) -> Option<[u8; N]> {
    octets.get(at..)?.first_chunk::<N>().copied()
}

/// The first message: its type, what follows its header, and the messages behind it.
fn message(octets: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let len = usize::try_from(u32::from_ne_bytes(field(octets, 0)?)).ok()?;
    let kind = u16::from_ne_bytes(field(octets, 4)?);
    let body = octets.get(HEADER..len)?;
    Some((kind, body, octets.get(len.next_multiple_of(4)..).unwrap_or_default()))
}

/// The attributes behind the first `at` octets.
pub(crate) fn attributes(octets: &[u8], at: usize) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = octets.get(at..).unwrap_or_default();
    core::iter::from_fn(move || {
        let len = usize::from(u16::from_ne_bytes(field(rest, 0)?));
        let kind = u16::from_ne_bytes(field(rest, 2)?) & 0x3fff;
        let value = rest.get(4..len)?;
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// A request, built without allocation: neighbours are looked up while packets flow.
#[derive(Debug)]
struct Question {
    octets: [u8; 128],
    len: usize,
    is_dump: bool,
}

impl Question {
    fn new(kind: u16, flags: u16, body: &[u8]) -> Self {
        let mut this = Self { octets: [0; 128], len: HEADER, is_dump: flags & FLAG_DUMP != 0 };
        this.octets[4..6].copy_from_slice(&kind.to_ne_bytes());
        this.octets[6..8].copy_from_slice(&(FLAG_REQUEST | flags).to_ne_bytes());
        this.put(body);
        this
    }

    /// Appends octets and fills up to a multiple of four; what does not fit is left out, and the kernel refuses it.
    fn put(&mut self, octets: &[u8]) {
        if let Some(room) = self.octets.get_mut(self.len..self.len + octets.len()) {
            room.copy_from_slice(octets);
            self.len = (self.len + octets.len()).next_multiple_of(4);
        }
        let len = u32::try_from(self.len).unwrap_or(0);
        self.octets[..4].copy_from_slice(&len.to_ne_bytes());
    }

    fn with(mut self, kind: u16, value: &[u8]) -> Self {
        let len = u16::try_from(4 + value.len()).unwrap_or(0);
        let [a, b] = len.to_ne_bytes();
        let [c, d] = kind.to_ne_bytes();
        self.put(&[a, b, c, d]);
        self.put(value);
        self
    }

    fn with_address(self, kind: u16, address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => self.with(kind, &address.octets()),
            IpAddr::V6(address) => self.with(kind, &address.octets()),
        }
    }

    fn octets(&self) -> &[u8] {
        self.octets.get(..self.len).unwrap_or_default()
    }
}

fn family_of(address: IpAddr) -> u8 {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    u8::try_from(family).unwrap_or(0)
}

pub(crate) fn address_of(octets: &[u8]) -> Option<IpAddr> {
    match octets.len() {
        4 => field::<4>(octets, 0).map(|octets| Ipv4Addr::from(octets).into()),
        16 => field::<16>(octets, 0).map(|octets| Ipv6Addr::from(octets).into()),
        _ => None,
    }
}

/// What a message says of a device.
pub(crate) struct LinkNews<'a> {
    pub(crate) index: u32,
    pub(crate) name: &'a [u8],
    pub(crate) address: Option<[u8; 6]>,
    pub(crate) mtu: usize,
    pub(crate) up: bool,
    /// Its other end is there.
    pub(crate) running: bool,
}

pub(crate) fn link_news(body: &[u8]) -> Option<LinkNews<'_>> {
    let index = u32::from_ne_bytes(field(body, 4)?);
    let flags = u32::from_ne_bytes(field(body, 8)?);
    let has = |flag: i32| flags & u32::try_from(flag).unwrap_or(0) != 0;
    let (up, running) = (has(libc::IFF_UP), has(libc::IFF_RUNNING));
    let mut news = LinkNews { index, name: &[], address: None, mtu: 0, up, running };
    for (kind, value) in attributes(body, 16) {
        match kind {
            libc::IFLA_IFNAME => news.name = value.split(|octet| *octet == 0).next().unwrap_or_default(),
            libc::IFLA_ADDRESS if value.len() == 6 => news.address = field(value, 0),
            libc::IFLA_MTU => {
                news.mtu = field(value, 0).and_then(|mtu| u32::from_ne_bytes(mtu).try_into().ok())?;
            }
            _ => {}
        }
    }
    Some(news)
}

fn link_of(body: &[u8]) -> Option<Link> {
    let LinkNews { index, name, address, mtu, up, running } = link_news(body)?;
    let name = String::from_utf8(name.to_vec()).unwrap_or_default();
    let rx_queues = rx_queues(&name);
    Some(Link { index, name, address, mtu, up, running, rx_queues })
}

/// Receive queues that are in use; netlink tells how many there are room for.
fn rx_queues(device: &str) -> u32 {
    let entries = std::fs::read_dir(format!("/sys/class/net/{device}/queues"));
    let entries = entries.into_iter().flatten().flatten();
    let queues = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("rx-")).count();
    u32::try_from(queues).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_device_is_found_by_its_address_and_its_name() {
        let mut netlink = Netlink::open().unwrap();
        let index = netlink.device_of("127.0.0.1".parse().unwrap()).unwrap();
        let link = netlink.link_named("lo").unwrap().unwrap();
        assert_eq!(index, Some(link.index));
        assert_eq!(netlink.link(link.index).unwrap().unwrap(), link);
        assert_eq!((link.name.as_str(), link.address), ("lo", Some([0; 6])));
        assert!(link.mtu >= 16_384 && link.up);
        assert_eq!(netlink.link_named("no-such-dev").unwrap(), None);
        let mut changed = Link { mtu: 1, ..link.clone() };
        assert!(netlink.renew(&mut changed));
        assert_eq!(changed, link);
        assert!(!netlink.renew(&mut Link { name: "no-such-dev".to_owned(), ..link }));
        assert_eq!(netlink.device_of("192.0.2.77".parse().unwrap()).unwrap(), None);
        assert_eq!(netlink.route("127.0.0.1".parse().unwrap()), None, "nothing leaves");
        assert_eq!(netlink.neighbour(link.index, "127.0.0.9".parse().unwrap()), Neighbour::Unknown);
    }

    #[test]
    fn damaged_messages_end_the_reading() {
        assert!(message(&[]).is_none());
        assert!(message(&[200, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).is_none());
        assert_eq!(attributes(&[3, 0, 1, 0], 0).count(), 0);
        let question = Question::new(1, 0, &[]).with(7, b"abcde").with(8, b"");
        let read: Vec<_> = attributes(question.octets(), HEADER).collect();
        assert_eq!(read, [(7, &b"abcde"[..]), (8, &b""[..])]);
    }
}
