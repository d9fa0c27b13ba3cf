//! The headers of a UDP datagram over IPv4 and Ethernet, written in front of it where this process sends the whole frame.
//!
//! The UDP checksum is always there: RFC 768 lets IPv4 do without, but then nothing would protect what happens to the
//! octets between here and the peer, and 400 octets that the cache holds cost some 20 ns.

use crate::inet::{checksum, sum_of};
use core::net::{Ipv4Addr, SocketAddr};
use gannet_machine::frame::Frame;

/// Octets of an Ethernet header without tags.
pub(crate) const ETHERNET: usize = 14;
/// Octets of an IPv4 header without options.
pub(crate) const IPV4: usize = 20;
/// Octets of a UDP header.
pub(crate) const UDP: usize = 8;
/// Octets of all three.
pub(crate) const HEADERS: usize = ETHERNET + IPV4 + UDP;

const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
const PROTOCOL_UDP: u8 = 17;
const TTL: u8 = 64;

/// All that is the same for each datagram between two endpoints, ready to be copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Headers {
    octets: [u8; HEADERS],
    /// Sum of the words of the IP header, its length left out.
    ip_sum: u32,
    /// Sum of the words of the UDP pseudo header and the ports, the lengths left out.
    udp_sum: u32,
}

/// One end of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) ethernet: [u8; 6],
    pub(crate) ip: Ipv4Addr,
    pub(crate) port: u16,
}

impl Headers {
    /// Headers of datagrams with this differentiated services code point. They may not be fragmented: whoever sends has
    /// checked the MTU.
    pub(crate) fn new(from: End, to: End, dscp: u8) -> Self {
        let mut ethernet = [0; ETHERNET];
        ethernet[..6].copy_from_slice(&to.ethernet);
        ethernet[6..12].copy_from_slice(&from.ethernet);
        ethernet[12..].copy_from_slice(&ETHERTYPE_IPV4);
        let mut ip = [0; IPV4];
        ip[..2].copy_from_slice(&[0x45, dscp << 2]);
        // Don't fragment.
        ip[6] = 0x40;
        ip[8..10].copy_from_slice(&[TTL, PROTOCOL_UDP]);
        ip[12..16].copy_from_slice(&from.ip.octets());
        ip[16..].copy_from_slice(&to.ip.octets());
        let mut udp = [0; UDP];
        udp[..2].copy_from_slice(&from.port.to_be_bytes());
        udp[2..4].copy_from_slice(&to.port.to_be_bytes());
        let mut octets = [0; HEADERS];
        octets[..ETHERNET].copy_from_slice(&ethernet);
        octets[ETHERNET..ETHERNET + IPV4].copy_from_slice(&ip);
        octets[ETHERNET + IPV4..].copy_from_slice(&udp);
        let ip_sum = sum_of(&ip);
        let udp_sum = sum_of(&ip[12..]) + u32::from(PROTOCOL_UDP) + sum_of(&udp);
        Self { octets, ip_sum, udp_sum }
    }

    /// Puts the headers in front of a payload; false, and nothing changed, where there is no room for them.
    #[must_use]
    pub(crate) fn put(&self, frame: &mut Frame) -> bool {
        let Ok(udp_len) = u16::try_from(frame.len() + UDP) else { return false };
        let Some(ip_len) = udp_len.checked_add(20) else { return false };
        let payload_sum = sum_of(frame);
        let tos = frame.dscp() << 2;
        let Some(room) = frame.push(HEADERS) else { return false };
        room.copy_from_slice(&self.octets);
        let mut set = |at: usize, value: u16| {
            if let Some(field) = room.get_mut(at..at + 2) {
                field.copy_from_slice(&value.to_be_bytes());
            }
        };
        let mut ip_sum = self.ip_sum + u32::from(ip_len);
        if tos != 0 {
            // The sum has the version in the same word, which stays.
            ip_sum = ip_sum - u32::from(self.octets[ETHERNET + 1]) + u32::from(tos);
            set(ETHERNET, u16::from_be_bytes([self.octets[ETHERNET], tos]));
        }
        set(ETHERNET + 2, ip_len);
        set(ETHERNET + 10, checksum(ip_sum));
        set(ETHERNET + IPV4 + 4, udp_len);
        let sum = checksum(self.udp_sum + 2 * u32::from(udp_len) + payload_sum);
        // 0 would mean that there is none.
        set(ETHERNET + IPV4 + 6, if sum == 0 { 0xffff } else { sum });
        true
    }
}

/// The IP packet in an Ethernet frame, behind up to two VLAN tags; `None` where there is none.
pub(crate) fn ip_packet(ethernet: &[u8]) -> Option<&[u8]> {
    let mut at = 12;
    for _ in 0..3 {
        let ethertype = u16::from_be_bytes(ethernet.get(at..)?.first_chunk().copied()?);
        match ethertype {
            0x0800 | 0x86dd => return ethernet.get(at + 2..),
            0x8100 | 0x88a8 => at += 4,
            _ => return None,
        }
    }
    None
}

/// The sender of the UDP datagram in an IP packet without extension headers; `None` where it is too short.
pub(crate) fn udp_source(packet: &[u8]) -> Option<SocketAddr> {
    let port = |at: usize| packet.get(at..)?.first_chunk().map(|port| u16::from_be_bytes(*port));
    let first = packet.first()?;
    if first >> 4 == 4 {
        let address = packet.get(12..)?.first_chunk::<4>()?;
        return Some(SocketAddr::from((*address, port(usize::from(first & 15) * 4)?)));
    }
    let address = packet.get(8..)?.first_chunk::<16>()?;
    Some(SocketAddr::from((*address, port(40)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_machine::frame::FramePool;

    fn headers() -> Headers {
        let end = |last: u8, port| End {
            ethernet: [2, 0, 0, 0, 0, last],
            ip: Ipv4Addr::new(192, 0, 2, last),
            port,
        };
        Headers::new(end(1, 23000), end(2, 40001), 46)
    }

    /// The sum of a header or datagram over its checksum is all ones.
    fn is_whole(sum: u32) -> bool {
        checksum(sum) == 0
    }

    #[test]
    fn lengths_and_checksums_are_right_for_even_and_odd_payloads() {
        let pool = FramePool::new(1);
        for len in [0, 1, 2, 399, 400, 1472] {
            let payload: Vec<u8> = (0..len).map(|n| u8::try_from(n % 251).unwrap()).collect();
            let mut frame = pool.copy_of(&payload).unwrap();
            assert!(headers().put(&mut frame));
            assert_eq!(frame.len(), HEADERS + len);
            assert_eq!(frame[..14], [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
            let ip = ip_packet(&frame).unwrap();
            assert_eq!(ip.len(), usize::from(u16::from_be_bytes([ip[2], ip[3]])));
            assert_eq!((ip[1] >> 2, ip[9]), (46, 17));
            assert!(is_whole(sum_of(&ip[..20])));
            let udp = &ip[20..];
            let pseudo = sum_of(&ip[12..20]) + 17 + u32::try_from(udp.len()).unwrap();
            assert!(is_whole(pseudo + sum_of(udp)));
            assert_eq!(udp[..4], [0x59, 0xd8, 0x9c, 0x41]);
            assert_eq!(&udp[8..], payload);
            assert_eq!(udp_source(ip), Some("192.0.2.1:23000".parse().unwrap()));
        }
    }

    #[test]
    fn a_frame_may_have_a_code_point_of_its_own() {
        let pool = FramePool::new(1);
        for dscp in [10, 63] {
            let mut frame = pool.copy_of(b"abc").unwrap();
            frame.set_dscp(dscp);
            assert!(headers().put(&mut frame));
            let ip = ip_packet(&frame).unwrap();
            assert_eq!((ip[0], ip[1] >> 2), (0x45, dscp));
            assert!(is_whole(sum_of(&ip[..20])));
        }
    }

    #[test]
    fn a_checksum_of_zero_is_sent_as_all_ones() {
        let pool = FramePool::new(1);
        let mut frame = pool.copy_of(&[0, 0]).unwrap();
        assert!(headers().put(&mut frame));
        let sum = [frame[40], frame[41]];
        // The payload that makes the checksum 0 is the checksum itself.
        drop(frame);
        let mut frame = pool.copy_of(&sum).unwrap();
        assert!(headers().put(&mut frame));
        assert_eq!(frame[40..42], [0xff, 0xff]);
    }

    #[test]
    fn without_room_nothing_changes() {
        let pool = FramePool::new(1);
        let mut frame = pool.copy_of(b"abc").unwrap();
        assert!(frame.push(240).is_some());
        assert!(!headers().put(&mut frame));
        assert_eq!(frame.len(), 243);
    }

    #[test]
    fn an_ip_packet_is_found_behind_tags() {
        let mut frame = [0; 30];
        frame[12..14].copy_from_slice(&[0x81, 0]);
        frame[16..18].copy_from_slice(&[8, 0]);
        assert_eq!(ip_packet(&frame).map(<[u8]>::len), Some(12));
        frame[16] = 9;
        assert!(ip_packet(&frame).is_none());
        assert!(ip_packet(&frame[..13]).is_none());
        let mut ipv6 = [0; 42];
        (ipv6[0], ipv6[23], ipv6[41]) = (0x60, 1, 9);
        assert_eq!(udp_source(&ipv6), Some("[::1]:9".parse().unwrap()));
        assert_eq!(udp_source(&ipv6[..41]), None);
    }
}
