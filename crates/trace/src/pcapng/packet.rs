//! The IP, UDP and TCP headers around recorded octets: the socket gave us the payload only, Wireshark wants it all.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
const TCP_HEADER: usize = 20;
/// Octets of a stream in one packet, at most.
pub(super) const SEGMENT_MAX: usize = 32_768;
const HOP_LIMIT: u8 = 64;

/// A UDP datagram inside an IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Udp<'a> {
    /// From where.
    pub source: SocketAddr,
    /// To where.
    pub destination: SocketAddr,
    /// Its octets.
    pub payload: &'a [u8],
}

/// Octets of the headers of IP and UDP or TCP, at the most.
pub(super) const IP_HEADERS_MAX: usize = 40 + TCP_HEADER;

/// Puts the IP packet with this UDP datagram behind `out`, with the first `kept` octets of its payload. Addresses of two families
/// become IPv6, the IPv4 one as IPv4-mapped. A payload that is cut has no checksum over IPv4, as nobody could compare it.
pub(super) fn write_udp(out: &mut Vec<u8>, ends: (SocketAddr, SocketAddr), payload: &[u8], kept: usize) {
    let udp_len = 8 + payload.len();
    let (pseudo, needs_checksum) = write_ip(out, ends, (PROTOCOL_UDP, udp_len));
    let (source, destination) = ends;
    let udp_at = out.len();
    out.extend_from_slice(&source.port().to_be_bytes());
    out.extend_from_slice(&destination.port().to_be_bytes());
    out.extend_from_slice(&length(udp_len));
    out.extend_from_slice(&[0, 0]);
    if kept >= payload.len() || needs_checksum {
        let header = sum(out.get(udp_at..).unwrap_or_default(), pseudo);
        let sum = match !fold(sum(payload, header)) {
            0 => 0xffff,
            sum => sum,
        };
        put(out, udp_at + 6, sum);
    }
    out.extend_from_slice(payload.get(..kept).unwrap_or(payload));
}

/// What TCP's header says of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// The number of its first octet.
    pub sequence: u32,
    /// The number of the octet that is expected of the other side.
    pub acknowledgement: u32,
    /// The flags of the header's fourteenth octet (RFC 9293).
    pub flags: u8,
}

impl Segment {
    /// No more comes.
    pub const FIN: u8 = 0x01;
    /// A connection begins.
    pub const SYN: u8 = 0x02;
    /// The octets are for the application at once.
    pub const PSH: u8 = 0x08;
    /// The acknowledgement is one.
    pub const ACK: u8 = 0x10;
}

/// Puts the IP packet with this TCP segment behind `out`.
pub(super) fn write_tcp(out: &mut Vec<u8>, ends: (SocketAddr, SocketAddr), segment: Segment, payload: &[u8]) {
    let (pseudo, _) = write_ip(out, ends, (PROTOCOL_TCP, TCP_HEADER + payload.len()));
    let tcp_at = out.len();
    out.extend_from_slice(&ends.0.port().to_be_bytes());
    out.extend_from_slice(&ends.1.port().to_be_bytes());
    out.extend_from_slice(&segment.sequence.to_be_bytes());
    out.extend_from_slice(&segment.acknowledgement.to_be_bytes());
    // Five words of header, flags, the largest window, checksum to come, nothing urgent.
    out.extend_from_slice(&[0x50, segment.flags, 0xff, 0xff, 0, 0, 0, 0]);
    out.extend_from_slice(payload);
    let checksum = !fold(sum(out.get(tcp_at..).unwrap_or_default(), pseudo));
    put(out, tcp_at + 16, checksum);
}

/// Puts an IP header behind `out`, for a payload of this protocol and length; gives the sum of the pseudo header, and whether UDP must
/// have a checksum (RFC 8200 clause 8.1).
fn write_ip(out: &mut Vec<u8>, ends: (SocketAddr, SocketAddr), payload: (u8, usize)) -> (u32, bool) {
    match (ends.0.ip().to_canonical(), ends.1.ip().to_canonical()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            (write_ipv4(out, source, destination, payload), false)
        }
        (source, destination) => (write_ipv6(out, to_v6(source), to_v6(destination), payload), true),
    }
}

fn to_v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    }
}

/// Appends the header and returns the sum of the pseudo header.
fn write_ipv4(
    packet: &mut Vec<u8>,
    source: Ipv4Addr,
    destination: Ipv4Addr,
    (protocol, len): (u8, usize),
) -> u32 {
    let start = packet.len();
    packet.extend_from_slice(&[0x45, 0]);
    packet.extend_from_slice(&length(20 + len));
    // Identification 0 and "don't fragment", time to live, protocol, checksum to come.
    packet.extend_from_slice(&[0, 0, 0x40, 0, HOP_LIMIT, protocol, 0, 0]);
    packet.extend_from_slice(&source.octets());
    packet.extend_from_slice(&destination.octets());
    let checksum = !fold(sum(packet.get(start..).unwrap_or_default(), 0));
    put(packet, start + 10, checksum);
    let addresses = sum(&destination.octets(), sum(&source.octets(), 0));
    addresses + u32::from(protocol) + u32::from(u16::from_be_bytes(length(len)))
}

fn write_ipv6(
    packet: &mut Vec<u8>,
    source: Ipv6Addr,
    destination: Ipv6Addr,
    (protocol, len): (u8, usize),
) -> u32 {
    packet.extend_from_slice(&[0x60, 0, 0, 0]);
    packet.extend_from_slice(&length(len));
    packet.extend_from_slice(&[protocol, HOP_LIMIT]);
    packet.extend_from_slice(&source.octets());
    packet.extend_from_slice(&destination.octets());
    let addresses = sum(&destination.octets(), sum(&source.octets(), 0));
    addresses + u32::from(protocol) + u32::from(u16::from_be_bytes(length(len)))
}

/// A length field; a datagram that UDP cannot carry shows the largest value.
fn length(octets: usize) -> [u8; 2] {
    u16::try_from(octets).unwrap_or(u16::MAX).to_be_bytes()
}

fn put(packet: &mut [u8], at: usize, value: u16) {
    if let Some(field) = packet.get_mut(at..at + 2) {
        field.copy_from_slice(&value.to_be_bytes());
    }
}

/// The Internet checksum's sum, not yet folded; an odd last octet counts as the high half of a word.
fn sum(octets: &[u8], start: u32) -> u32 {
    let (pairs, rest) = octets.as_chunks::<2>();
    let sum = pairs.iter().fold(start, |sum, pair| sum.wrapping_add(u32::from(u16::from_be_bytes(*pair))));
    rest.first().map_or(sum, |last| sum.wrapping_add(u32::from(*last) << 8))
}

fn fold(mut sum: u32) -> u16 {
    loop {
        match u16::try_from(sum) {
            Ok(folded) => return folded,
            Err(_) => sum = (sum & 0xffff) + (sum >> 16),
        }
    }
}

/// The UDP datagram in an IP packet; `None` where it has none, is a fragment, or is cut short.
#[must_use]
pub fn udp_of(packet: &[u8]) -> Option<Udp<'_>> {
    let (source, destination, udp): (IpAddr, IpAddr, &[u8]) = match packet.first()? >> 4 {
        4 => {
            let header_len = usize::from(packet.first()? & 0xf) * 4;
            let fragment = u16::from_be_bytes(array(packet, 6)?) & 0x3fff;
            if header_len < 20 || *packet.get(9)? != PROTOCOL_UDP || fragment != 0 {
                return None;
            }
            let source = Ipv4Addr::from(array::<4>(packet, 12)?);
            (source.into(), Ipv4Addr::from(array::<4>(packet, 16)?).into(), packet.get(header_len..)?)
        }
        6 if *packet.get(6)? == PROTOCOL_UDP => {
            let source = Ipv6Addr::from(array::<16>(packet, 8)?);
            (source.into(), Ipv6Addr::from(array::<16>(packet, 24)?).into(), packet.get(40..)?)
        }
        _ => return None,
    };
    let port = |at| array(udp, at).map(u16::from_be_bytes);
    Some(Udp {
        source: SocketAddr::new(source, port(0)?),
        destination: SocketAddr::new(destination, port(2)?),
        payload: udp.get(8..usize::from(port(4)?))?,
    })
}

fn array<const N: usize>(octets: &[u8], at: usize) -> Option<[u8; N]> {
    octets.get(at..at + N)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_is_found_again_in_its_packet() {
        let mut packet = Vec::new();
        for (source, destination) in [
            ("192.0.2.1:23000", "192.0.2.2:23001"),
            ("[2001:db8::1]:2123", "[2001:db8::2]:2152"),
            ("[::ffff:192.0.2.1]:1", "192.0.2.2:2"),
        ] {
            let (source, destination) = (source.parse::<SocketAddr>().unwrap(), destination.parse().unwrap());
            packet.clear();
            write_udp(&mut packet, (source, destination), b"odd", 3);
            let udp = udp_of(&packet).unwrap();
            assert_eq!(udp.source.ip(), source.ip().to_canonical());
            assert_eq!((udp.source.port(), udp.destination), (source.port(), destination));
            assert_eq!(udp.payload, b"odd");
            for len in 0..packet.len() {
                assert_eq!(udp_of(&packet[..len]), None);
            }
        }
    }

    #[test]
    fn the_sum_of_a_whole_header_with_its_checksum_is_all_ones() {
        let mut packet = Vec::new();
        let ends = ("10.0.0.1:1".parse().unwrap(), "10.0.0.2:2".parse().unwrap());
        write_udp(&mut packet, ends, &[0xff; 9], 9);
        assert_eq!(fold(sum(&packet[..20], 0)), 0xffff);
        write_udp(&mut packet, ends, &[0xff; 9], 4);
        assert_eq!((packet.len(), &packet[37..57]), (37 + 32, &packet[..20]), "what is cut says its length");
        assert_eq!(packet[37 + 26..37 + 28], [0, 0], "no checksum");
    }
}
