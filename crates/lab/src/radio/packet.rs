//! IPv4 packets of the hosts.

use core::net::Ipv4Addr;

/// The one's complement sum of a header or a message (RFC 1071).
pub fn checksum(octets: &[u8]) -> [u8; 2] {
    let pair = |pair: &[u8]| match *pair {
        [high, low] => u32::from(u16::from_be_bytes([high, low])),
        [high] => u32::from(high) << 8,
        _ => 0,
    };
    let sum: u32 = octets.chunks(2).map(pair).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    (!u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap_or(u16::MAX)).to_be_bytes()
}

/// Writes two octets at a place.
pub fn put(octets: &mut [u8], at: usize, value: [u8; 2]) {
    if let Some(place) = octets.get_mut(at..at + 2) {
        place.copy_from_slice(&value);
    }
}

/// A packet with this payload.
#[must_use]
pub fn ipv4(from: Ipv4Addr, to: Ipv4Addr, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend(u16::try_from(20 + payload.len()).unwrap_or(u16::MAX).to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, protocol, 0, 0]);
    packet.extend(from.octets());
    packet.extend(to.octets());
    let sum = checksum(&packet);
    put(&mut packet, 10, sum);
    packet.extend(payload);
    packet
}
