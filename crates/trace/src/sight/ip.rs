//! IP packets: ends, and the end of the headers.

use crate::pcapng::udp_of;
use core::net::{IpAddr, SocketAddr};
use core::ops::Range;

const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;
const V6_LEN: usize = 40;

/// Source and destination.
pub(super) fn ends(packet: &[u8]) -> Option<(IpAddr, IpAddr)> {
    fn array<const N: usize>(packet: &[u8], at: usize) -> Option<[u8; N]> {
        packet.get(at..)?.first_chunk().copied()
    }
    match packet.first()? >> 4 {
        4 => Some((array::<4>(packet, 12)?.into(), array::<4>(packet, 16)?.into())),
        6 => Some((array::<16>(packet, 8)?.into(), array::<16>(packet, 24)?.into())),
        _ => None,
    }
}

/// The ends of a UDP datagram, and where its payload stands.
pub(super) fn datagram(packet: &[u8]) -> Option<((SocketAddr, SocketAddr), Range<usize>)> {
    let udp = udp_of(packet)?;
    let start = headers(packet);
    Some(((udp.source, udp.destination), start..start + udp.payload.len()))
}

/// Octets up to the end of the header of TCP, UDP or ICMP, or of IP where it is another protocol or a later fragment. Of what is no
/// IP packet all.
pub(super) fn headers(packet: &[u8]) -> usize {
    let len = match packet.first().map(|first| first >> 4) {
        Some(4) => {
            let len = usize::from(packet.first().map_or(0, |first| first & 0xf)) * 4;
            let offset = packet.get(6..8).map_or(0, |field| {
                field.iter().fold(0, |offset, octet| offset << 8 | u16::from(*octet)) & 0x1fff
            });
            let protocol = packet.get(9).copied().filter(|_| offset == 0);
            len + transport(protocol, packet.get(len..).unwrap_or_default())
        }
        Some(6) => V6_LEN + transport(packet.get(6).copied(), packet.get(V6_LEN..).unwrap_or_default()),
        _ => packet.len(),
    };
    len.min(packet.len())
}

fn transport(protocol: Option<u8>, header: &[u8]) -> usize {
    match protocol {
        Some(TCP) => header.get(12).map_or(20, |offset| usize::from(offset >> 4) * 4),
        Some(UDP | ICMP | ICMPV6) => 8,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_end_where_data_begin() {
        let mut packet = vec![0x45, 0, 0, 100, 0, 0, 0x40, 0, 64, TCP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        packet.resize(100, 0);
        packet[32] = 0x80;
        assert_eq!(headers(&packet), 20 + 32);
        assert_eq!(headers(&packet[..25]), 25);
        let ends_of = |packet: &[u8]| ends(packet).map(|(a, b)| (a.to_string(), b.to_string()));
        assert_eq!(ends_of(&packet), Some(("10.0.0.1".into(), "10.0.0.2".into())));
        packet[7] = 1;
        assert_eq!(headers(&packet), 20, "a later fragment");
        packet[9] = UDP;
        packet[7] = 0;
        assert_eq!(headers(&packet), 28);
        packet[0] = 0x60;
        packet[6] = UDP;
        assert_eq!(headers(&packet), 48);
        packet[0] = 0x10;
        assert_eq!((headers(&packet), ends(&packet)), (100, None));
        assert_eq!(headers(&[]), 0);
    }
}
