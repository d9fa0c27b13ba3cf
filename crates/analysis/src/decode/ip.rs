//! IP packets, whole or cut short by the capture, and the datagrams of UDP in them.

use crate::record::IpSummary;
use core::hash::{BuildHasher as _, Hasher as _};
use core::net::IpAddr;
use etherparse::{LaxIpSlice, UdpSlice};

/// Protocol numbers.
pub mod protocol {
    /// ICMP.
    pub const ICMP: u8 = 1;
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
    /// ICMPv6.
    pub const ICMP_V6: u8 = 58;
}

/// Octets behind the IP header that a packet's digest counts: captures of headers have them.
pub const DIGESTED: usize = 40;
/// Answers and questions of an echo.
const ECHO: [u8; 4] = [0, 8, 128, 129];

/// An IP packet.
#[derive(Debug, Clone, Copy)]
pub struct Ip<'a> {
    /// Its headers.
    pub summary: IpSummary,
    /// Octets that it has by its own length.
    pub octets: u32,
    /// Octets of its headers.
    pub header_octets: u32,
    /// What the capture has behind its headers.
    pub payload: &'a [u8],
    /// The capture has less than the packet.
    pub is_cut: bool,
    /// Where this piece of a fragmented packet belongs, in octets, and whether more follow.
    pub fragment: Option<(u16, bool)>,
    /// Identification of the fragments of one packet.
    pub fragment_id: u32,
}

/// Reads the packet at the front of `octets`. None where that is no IP.
#[must_use]
pub fn parse(octets: &[u8]) -> Option<Ip<'_>> {
    let (slice, _) = LaxIpSlice::from_slice(octets).ok()?;
    let (length, identification) = match octets.first()? >> 4 {
        4 => (u32::from(word(octets, 2)?), word(octets, 4)?),
        _ => (40 + u32::from(word(octets, 4)?), 0),
    };
    let payload = match &slice {
        LaxIpSlice::Ipv4(v4) => v4.payload().clone(),
        LaxIpSlice::Ipv6(v6) => v6.payload().clone(),
    };
    let (fragment, fragment_id) = fragment(octets, &slice);
    let is_first = !matches!(fragment, Some((1.., _)));
    let number = payload.ip_number.0;
    let body = payload.payload;
    let ports = match number {
        protocol::TCP | protocol::UDP if is_first => word(body, 0).zip(word(body, 2)),
        protocol::ICMP | protocol::ICMP_V6
            if is_first && body.first().is_some_and(|it| ECHO.contains(it)) =>
        {
            word(body, 4).zip(word(body, 6))
        }
        _ => None,
    };
    let icmp_type = match number {
        protocol::ICMP | protocol::ICMP_V6 if is_first => body.first().copied(),
        _ => None,
    };
    let summary = IpSummary {
        source: slice.source_addr(),
        destination: slice.destination_addr(),
        protocol: number,
        identification,
        ports,
        icmp_type,
        is_fragment: fragment.is_some(),
    };
    let start = body.as_ptr().addr().saturating_sub(octets.as_ptr().addr());
    let header_octets = u32::try_from(start).ok()?;
    Some(Ip {
        summary,
        octets: length,
        header_octets,
        payload: body,
        is_cut: payload.incomplete,
        fragment,
        fragment_id,
    })
}

fn word(octets: &[u8], at: usize) -> Option<u16> {
    octets.get(at..)?.first_chunk().map(|octets| u16::from_be_bytes(*octets))
}

fn fragment(octets: &[u8], slice: &LaxIpSlice<'_>) -> (Option<(u16, bool)>, u32) {
    if !slice.is_fragmenting_payload() {
        return (None, 0);
    }
    match slice {
        LaxIpSlice::Ipv4(v4) => {
            let header = v4.header();
            let offset = header.fragments_offset().value().saturating_mul(8);
            (Some((offset, header.more_fragments())), u32::from(header.identification()))
        }
        // The fragment header is the one that says so; it stands in front of the payload.
        LaxIpSlice::Ipv6(v6) => {
            let headers = octets.get(40..).unwrap_or_default();
            let mut next = octets.get(6).copied().unwrap_or_default();
            let mut rest = headers;
            for _ in 0..8 {
                if next == 44 {
                    let place = word(rest, 2).unwrap_or_default();
                    let id = rest.get(4..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default();
                    return (Some((place & !7, place & 1 != 0)), u32::from_be_bytes(id));
                }
                let len = 8 + 8 * usize::from(rest.get(1).copied().unwrap_or_default());
                next = rest.first().copied().unwrap_or_default();
                rest = rest.get(len..).unwrap_or_default();
            }
            let _ = v6;
            (Some((0, false)), 0)
        }
    }
}

impl Ip<'_> {
    /// By what the packet is known at another place: headers less what a router changes, and the octets behind them. None
    /// where the capture has too few.
    #[must_use]
    pub fn digest(&self) -> Option<u64> {
        let has = self.payload.len().min(DIGESTED);
        if self.is_cut && has < DIGESTED {
            return None;
        }
        let mut hasher = foldhash::quality::FixedState::with_seed(1).build_hasher();
        for address in [self.summary.source, self.summary.destination] {
            match address {
                IpAddr::V4(v4) => hasher.write_u32(v4.to_bits()),
                IpAddr::V6(v6) => hasher.write_u128(v6.to_bits()),
            }
        }
        hasher.write_u32(self.octets);
        hasher.write_u16(self.summary.identification);
        hasher.write_u8(self.summary.protocol);
        hasher.write_u16(self.fragment.map_or(0, |(offset, _)| offset));
        hasher.write(self.payload.get(..has).unwrap_or_default());
        Some(hasher.finish())
    }

    /// Source port, destination port and contents, where this is a datagram of UDP that is no fragment.
    #[must_use]
    pub fn udp(&self) -> Option<(u16, u16, &[u8])> {
        if self.summary.protocol != protocol::UDP || self.fragment.is_some() {
            return None;
        }
        udp(self.payload)
    }
}

/// Source port, destination port and contents of a datagram of UDP, cut short or not.
#[must_use]
pub fn udp(payload: &[u8]) -> Option<(u16, u16, &[u8])> {
    let slice = UdpSlice::from_slice_lax(payload).ok()?;
    Some((slice.source_port(), slice.destination_port(), slice.payload()))
}

/// A digest of octets, the same in every run.
#[must_use]
pub fn digest(octets: &[u8]) -> u64 {
    let mut hasher = foldhash::quality::FixedState::with_seed(2).build_hasher();
    hasher.write(octets);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(ttl: u8, id: u16) -> Vec<u8> {
        let builder = etherparse::PacketBuilder::ip(etherparse::IpHeaders::Ipv4(
            etherparse::Ipv4Header {
                identification: id,
                ..etherparse::Ipv4Header::new(0, ttl, etherparse::IpNumber::UDP, [10, 0, 0, 1], [10, 0, 0, 2])
                    .unwrap()
            },
            etherparse::Ipv4Extensions::default(),
        ))
        .udp(1000, 53);
        let mut octets = Vec::new();
        builder.write(&mut octets, &[7; 100]).unwrap();
        octets
    }

    #[test]
    fn a_packet_is_known_behind_a_router_and_cut_short() {
        let one = packet(64, 5);
        let two = packet(63, 5);
        let whole = parse(&one).unwrap();
        assert_eq!(whole.summary.ports, Some((1000, 53)));
        assert_eq!(whole.octets, 128);
        assert_eq!(whole.udp().unwrap().2, [7; 100]);
        assert_eq!(whole.digest(), parse(&two).unwrap().digest());
        assert_ne!(whole.digest(), parse(&packet(64, 6)).unwrap().digest());
        let cut = parse(&two[..60]).unwrap();
        assert!(cut.is_cut);
        assert_eq!(cut.digest(), whole.digest());
        assert_eq!(parse(&two[..59]).unwrap().digest(), None);
        assert!(parse(&two[..19]).is_none());
        assert!(parse(&[0x25; 40]).is_none());
    }

    #[test]
    fn fragments_say_where_they_belong() {
        let mut octets = packet(64, 5);
        octets[6] = 0x20;
        octets[7] = 3;
        let ip = parse(&octets).unwrap();
        assert_eq!((ip.fragment, ip.fragment_id), (Some((24, true)), 5));
        assert_eq!(ip.summary.ports, None);
        assert!(ip.udp().is_none());
        let mut v6 = vec![0x60, 0, 0, 0, 0, 16, 44, 64];
        v6.extend([0xfd; 32]);
        v6.extend([17, 0, 0, 9, 0, 0, 0, 77]);
        v6.extend([0; 8]);
        let ip = parse(&v6).unwrap();
        assert_eq!((ip.fragment, ip.fragment_id), (Some((8, true)), 77));
    }
}
