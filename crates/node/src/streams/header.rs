//! What of an IP packet says whose it is, and what a router changes in it (RFC 1812 clause 5.3, RFC 8200 clause 3).
//!
//! A fragment has no ports here, the first of a datagram included: so all fragments of a datagram are of one stream.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;
const MORE_FRAGMENTS: u16 = 0x2000;
const DONT_FRAGMENT: u16 = 0x4000;
const OFFSET: u16 = 0x1fff;
const PROTOCOL_FRAGMENT: u8 = 44;
/// TCP, UDP, DCCP, SCTP and UDP-Lite: the ports are the first four octets.
const WITH_PORTS: [u8; 5] = [6, 17, 33, 132, 136];
/// Extension headers that are stepped over; a packet with more has no ports.
const EXTENSIONS_MAX: usize = 8;
/// Hop-by-hop options, routing header, destination options.
const EXTENSIONS: [u8; 3] = [0, 43, 60];

/// Whose packet it is, where a node knows subscribers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Subscriber {
    /// His access point, by its index.
    pub access_point: u16,
    /// The groups that he is in: bit n is set for group n.
    pub groups: u32,
}

impl Subscriber {
    /// Groups at most.
    pub const GROUPS_MAX: u32 = u32::BITS;

    /// He is in this group.
    #[must_use]
    pub fn is_in(self, group: u32) -> bool {
        self.groups.checked_shr(group).is_some_and(|groups| groups & 1 == 1)
    }
}

/// The fields by which packets are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Flow {
    /// The interface on which it arrived, by its index.
    pub ingress: u16,
    /// Whose it is; `None` at a node without subscribers.
    pub subscriber: Option<Subscriber>,
    /// From whom.
    pub source: IpAddr,
    /// To whom.
    pub destination: IpAddr,
    /// The protocol behind the IP header, in IPv6 behind the extension headers.
    pub protocol: u8,
    /// Source and destination port; `None` for protocols without, and for fragments.
    pub ports: Option<(u16, u16)>,
    /// The code point of its DS field (RFC 2474).
    pub dscp: u8,
}

/// A packet whose header was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) flow: Flow,
    /// Octets of the whole packet.
    pub(crate) len: usize,
    /// TTL or hop limit.
    pub(crate) hop_limit: u8,
    /// A router may fragment it.
    pub(crate) may_fragment: bool,
}

fn u16_at(packet: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*packet.get(at..)?.first_chunk()?))
}

/// Reads the header; `None` where this is no whole IP packet with a right checksum.
pub(crate) fn read(ingress: u16, packet: &[u8]) -> Option<Header> {
    match packet.first()? >> 4 {
        4 => read_ipv4(ingress, packet),
        6 => read_ipv6(ingress, packet),
        _ => None,
    }
}

/// Octets of the header of an IPv4 packet.
fn ipv4_header_len(packet: &[u8]) -> Option<usize> {
    Some(usize::from(packet.first()? & 15) * 4).filter(|len| *len >= IPV4_HEADER)
}

fn read_ipv4(ingress: u16, packet: &[u8]) -> Option<Header> {
    let header_len = ipv4_header_len(packet)?;
    let len = usize::from(u16_at(packet, 2)?);
    if len < header_len || len > packet.len() || sum(packet.get(..header_len)?) != 0xffff {
        return None;
    }
    let address = |at: usize| Some(Ipv4Addr::from(*packet.get(at..)?.first_chunk::<4>()?));
    let fragment = u16_at(packet, 6)?;
    let protocol = *packet.get(9)?;
    let is_whole = fragment & (MORE_FRAGMENTS | OFFSET) == 0;
    let ports = if is_whole { ports(protocol, packet.get(header_len..len)?) } else { None };
    Some(Header {
        flow: Flow {
            ingress,
            subscriber: None,
            source: address(12)?.into(),
            destination: address(16)?.into(),
            protocol,
            ports,
            dscp: packet.get(1)? >> 2,
        },
        len,
        hop_limit: *packet.get(8)?,
        may_fragment: fragment & DONT_FRAGMENT == 0,
    })
}

fn read_ipv6(ingress: u16, packet: &[u8]) -> Option<Header> {
    let len = IPV6_HEADER + usize::from(u16_at(packet, 4)?);
    if len > packet.len() {
        return None;
    }
    let address = |at: usize| Some(Ipv6Addr::from(*packet.get(at..)?.first_chunk::<16>()?));
    let (protocol, ports) = behind_extensions(*packet.get(6)?, packet.get(IPV6_HEADER..len)?);
    let dscp = (u16_at(packet, 0)? >> 6).to_be_bytes()[1] & 0x3f;
    Some(Header {
        flow: Flow {
            ingress,
            subscriber: None,
            source: address(8)?.into(),
            destination: address(24)?.into(),
            protocol,
            ports,
            dscp,
        },
        len,
        hop_limit: *packet.get(7)?,
        may_fragment: false,
    })
}

/// The protocol behind the extension headers and its ports; that of a header that cannot be read is the last that could.
fn behind_extensions(first: u8, mut rest: &[u8]) -> (u8, Option<(u16, u16)>) {
    let mut protocol = first;
    for _ in 0..EXTENSIONS_MAX {
        if protocol == PROTOCOL_FRAGMENT {
            return (rest.first().copied().unwrap_or(protocol), None);
        }
        if !EXTENSIONS.contains(&protocol) {
            return (protocol, ports(protocol, rest));
        }
        let (Some(next), Some(len)) = (rest.first(), rest.get(1)) else { return (protocol, None) };
        let Some(behind) = rest.get((usize::from(*len) + 1) * 8..) else { return (protocol, None) };
        (protocol, rest) = (*next, behind);
    }
    (protocol, None)
}

fn ports(protocol: u8, payload: &[u8]) -> Option<(u16, u16)> {
    WITH_PORTS.contains(&protocol).then_some(())?;
    Some((u16_at(payload, 0)?, u16_at(payload, 2)?))
}

/// The sum in ones' complement of RFC 1071.
fn sum(octets: &[u8]) -> u16 {
    let pairs = octets.chunks(2).map(|pair| {
        let high = pair.first().copied().unwrap_or(0);
        u32::from(u16::from_be_bytes([high, pair.get(1).copied().unwrap_or(0)]))
    });
    let mut sum: u32 = pairs.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u16::try_from(sum).unwrap_or(u16::MAX)
}

/// Changes a packet that [`read`] has read as a router does: one hop less, and the code point where it is marked.
pub(crate) fn forward(packet: &mut [u8], mark: Option<u8>) {
    let hop_limit = if is_ipv4(packet) { 8 } else { 7 };
    if let Some(limit) = packet.get_mut(hop_limit) {
        *limit = limit.saturating_sub(1);
    }
    match mark {
        Some(dscp) => set_dscp(packet, dscp),
        None => set_checksum(packet),
    }
}

fn is_ipv4(packet: &[u8]) -> bool {
    packet.first().is_some_and(|first| first >> 4 == 4)
}

/// Gives a packet that [`read`] has read another code point, and the checksum for it. The two bits of ECN stay.
pub(crate) fn set_dscp(packet: &mut [u8], dscp: u8) {
    if !is_ipv4(packet) {
        if let Some([first, second, ..]) = packet.get_mut(..2) {
            *first = *first & 0xf0 | dscp >> 2;
            *second = dscp << 6 | *second & 0x3f;
        }
        return;
    }
    if let Some(field) = packet.get_mut(1) {
        *field = dscp << 2 | *field & 3;
    }
    set_checksum(packet);
}

/// Makes the checksum of an IPv4 header right; IPv6 has none.
fn set_checksum(packet: &mut [u8]) {
    let Some(len) = ipv4_header_len(packet).filter(|_| is_ipv4(packet)) else { return };
    let Some(header) = packet.get_mut(..len) else { return };
    if let Some(field) = header.get_mut(10..12) {
        field.fill(0);
    }
    let checksum = !sum(header);
    if let Some(field) = header.get_mut(10..12) {
        field.copy_from_slice(&checksum.to_be_bytes());
    }
}

/// Fragments an IPv4 packet that [`read`] has read (RFC 791 clause 3.2): `take` gets header and payload of each. False where no
/// payload fits into `mtu` octets, or `take` has said that it takes no more.
pub(crate) fn fragment(packet: &[u8], mtu: usize, mut take: impl FnMut(&[u8], &[u8]) -> bool) -> bool {
    let Some(header_len) = ipv4_header_len(packet) else { return false };
    let (Some(header), Some(payload)) = (packet.get(..header_len), packet.get(header_len..)) else {
        return false;
    };
    let part = mtu.saturating_sub(header_len) / 8 * 8;
    let Some(old) = u16_at(packet, 6).filter(|_| part > 0) else { return false };
    let mut room = [0; 60];
    let Some(own) = room.get_mut(..header_len) else { return false };
    own.copy_from_slice(header);
    let mut at = 0;
    while let Some(piece) = payload.get(at..(at + part).min(payload.len())).filter(|piece| !piece.is_empty())
    {
        let Ok(offset) = u16::try_from(usize::from(old & OFFSET) + at / 8) else { return false };
        let is_last = at + piece.len() == payload.len();
        let more = if is_last { old & MORE_FRAGMENTS } else { MORE_FRAGMENTS };
        put(own, 2, u16::try_from(header_len + piece.len()).unwrap_or(u16::MAX));
        put(own, 6, more | offset);
        set_checksum(own);
        if !take(own, piece) {
            return false;
        }
        if at == 0 {
            only_copied_options(own.get_mut(IPV4_HEADER..).unwrap_or_default());
        }
        at += piece.len();
    }
    true
}

fn put(header: &mut [u8], at: usize, value: u16) {
    if let Some(field) = header.get_mut(at..at + 2) {
        field.copy_from_slice(&value.to_be_bytes());
    }
}

/// Options that belong to the first fragment alone become "no operation" (RFC 791 clause 3.1: the flag "copied").
fn only_copied_options(mut options: &mut [u8]) {
    const NO_OPERATION: u8 = 1;
    const COPIED: u8 = 0x80;
    while let Some(kind) = options.first().copied().filter(|kind| *kind != 0) {
        let len =
            if kind == NO_OPERATION { 1 } else { options.get(1).map_or(1, |len| usize::from(*len).max(1)) };
        let Some((option, rest)) = options.split_at_mut_checked(len) else { return };
        if kind & COPIED == 0 {
            option.fill(NO_OPERATION);
        }
        options = rest;
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A UDP datagram over IPv4 with so many octets of payload and a right checksum.
    pub(crate) fn ipv4(source: [u8; 4], destination: [u8; 4], ports: (u16, u16), payload: usize) -> Vec<u8> {
        let len = u16::try_from(28 + payload).unwrap();
        let mut packet = vec![0x45, 0, 0, 0, 0x12, 0x34, 0, 0, 64, 17, 0, 0];
        packet.extend(source);
        packet.extend(destination);
        packet.extend(
            [ports.0.to_be_bytes(), ports.1.to_be_bytes(), (len - 20).to_be_bytes(), [0, 0]].concat(),
        );
        packet.extend((0..payload).map(|at| u8::try_from(at % 251).unwrap()));
        put(&mut packet, 2, len);
        set_checksum(&mut packet);
        packet
    }

    /// The same over IPv6, from 2001:db8::1 to 2001:db8:1::2.
    pub(crate) fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x60, 0, 0, 0, 0, 0, next, 64];
        packet.extend("2001:db8::1".parse::<Ipv6Addr>().unwrap().octets());
        packet.extend("2001:db8:1::2".parse::<Ipv6Addr>().unwrap().octets());
        packet.extend(payload);
        put(&mut packet, 4, u16::try_from(payload.len()).unwrap());
        packet
    }

    const A: [u8; 4] = [192, 0, 2, 1];
    const B: [u8; 4] = [198, 51, 100, 2];

    #[test]
    fn a_flow_is_read_from_ipv4() {
        let mut packet = ipv4(A, B, (1000, 53), 10);
        packet[1] = 46 << 2 | 1;
        set_checksum(&mut packet);
        // Padding of Ethernet is no part of it.
        packet.extend([0; 8]);
        let header = read(3, &packet).unwrap();
        let flow = Flow {
            ingress: 3,
            subscriber: None,
            source: Ipv4Addr::from(A).into(),
            destination: Ipv4Addr::from(B).into(),
            protocol: 17,
            ports: Some((1000, 53)),
            dscp: 46,
        };
        assert_eq!(header, Header { flow, len: 38, hop_limit: 64, may_fragment: true });
        packet[10] ^= 1;
        assert_eq!(read(3, &packet), None, "a wrong checksum");
        for len in 0..38 {
            assert_eq!(read(3, &ipv4(A, B, (1, 2), 10)[..len]), None);
        }
    }

    #[test]
    fn a_flow_is_read_from_ipv6_behind_extension_headers() {
        let udp = [3, 232, 0, 53, 0, 8, 0, 0];
        let mut packet = ipv6(17, &udp);
        (packet[0], packet[1]) = (0x6b, 0x92);
        let header = read(0, &packet).unwrap();
        assert_eq!((header.flow.protocol, header.flow.ports, header.flow.dscp), (17, Some((1000, 53)), 46));
        assert!(!header.may_fragment);
        let options = [[60, 0, 0, 0, 0, 0, 0, 0], [17, 0, 0, 0, 0, 0, 0, 0], udp].concat();
        assert_eq!(read(0, &ipv6(0, &options)).unwrap().flow.ports, Some((1000, 53)));
        let fragment = [[17, 0, 0, 1, 0, 0, 0, 9], udp].concat();
        let flow = read(0, &ipv6(44, &fragment)).unwrap().flow;
        assert_eq!((flow.protocol, flow.ports), (17, None));
        // An extension header that is longer than the packet.
        assert_eq!(read(0, &ipv6(0, &[17, 9, 0, 0, 0, 0, 0, 0])).unwrap().flow.ports, None);
    }

    #[test]
    fn a_fragment_has_no_ports() {
        for field in [MORE_FRAGMENTS, 1] {
            let mut packet = ipv4(A, B, (1000, 53), 10);
            put(&mut packet, 6, field);
            set_checksum(&mut packet);
            assert_eq!(read(0, &packet).unwrap().flow.ports, None);
        }
    }

    #[test]
    fn forwarding_takes_a_hop_and_marks() {
        let mut packet = ipv4(A, B, (1, 2), 3);
        packet[1] = 2;
        set_checksum(&mut packet);
        forward(&mut packet, Some(46));
        let header = read(0, &packet).unwrap();
        assert_eq!((header.hop_limit, header.flow.dscp, packet[1] & 3), (63, 46, 2));
        let mut packet = ipv6(17, &[0; 8]);
        (packet[0], packet[1]) = (0x60, 0x3f);
        forward(&mut packet, Some(46));
        assert_eq!((packet[0], packet[1]), (0x6b, 0xbf));
        forward(&mut packet, None);
        assert_eq!(read(0, &packet).unwrap().flow.dscp, 46);
        assert_eq!(packet[7], 62);
    }

    #[test]
    fn fragments_make_up_the_packet() {
        let mut packet = ipv4(A, B, (1000, 53), 3000);
        // Record route, which the first fragment alone has, and a router alert, which all have.
        packet.splice(20..20, [7, 4, 4, 0, 0x94, 4, 0, 0]);
        packet[0] = 0x47;
        put(&mut packet, 2, 3036);
        set_checksum(&mut packet);
        let (mut whole, mut count) = (Vec::new(), 0);
        assert!(fragment(&packet, 1500, |header, payload| {
            let piece = [header, payload].concat();
            assert!(piece.len() <= 1500);
            assert!(read(0, &piece).is_some(), "a right checksum");
            let field = u16_at(header, 6).unwrap();
            assert_eq!(usize::from(field & OFFSET) * 8, whole.len());
            assert_eq!(field & MORE_FRAGMENTS != 0, whole.len() + payload.len() < 3008);
            let route: &[u8] = if count == 0 { &[7, 4, 4, 0] } else { &[1, 1, 1, 1] };
            assert_eq!((&header[20..24], &header[24..]), (route, &[0x94, 4, 0, 0][..]));
            whole.extend_from_slice(payload);
            count += 1;
            true
        }));
        assert_eq!((count, &whole[..]), (3, &packet[28..]));
        assert!(!fragment(&packet, 35, |_, _| true), "no payload fits");
        assert!(!fragment(&packet, 1500, |_, _| false));
    }
}
