//! What packet filters look at in an IP packet.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The fields of an IP packet that filters can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketFields {
    /// Who sent it.
    pub source: IpAddr,
    /// Protocol number, of IPv6 the last next header.
    pub protocol: u8,
    /// Source and destination port, where it is the first fragment of a protocol that has ports.
    pub ports: Option<(u16, u16)>,
    /// Security parameter index, where it is protected.
    pub spi: Option<u32>,
    /// Type of service, or traffic class.
    pub type_of_service: u8,
    /// Flow label, of IPv6.
    pub flow_label: Option<u32>,
}

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const ESP: u8 = 50;
const AH: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;
/// Extension headers that are passed over at most.
const EXTENSIONS_MAX: usize = 8;

impl PacketFields {
    /// Of a downlink packet; `None` where it is none of IP.
    #[must_use]
    pub fn of(packet: &[u8]) -> Option<Self> {
        match packet.first()? >> 4 {
            4 => Self::of_v4(packet),
            6 => Self::of_v6(packet),
            _ => None,
        }
    }

    /// Of an uplink packet, as its answer would be seen: the far end is the source.
    #[must_use]
    pub fn of_uplink(packet: &[u8]) -> Option<Self> {
        let fields = Self::of(packet)?;
        let source = match fields.source {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::from(*packet.get(16..)?.first_chunk::<4>()?)),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from(*packet.get(24..)?.first_chunk::<16>()?)),
        };
        let ports = fields.ports.map(|(source, destination)| (destination, source));
        Some(Self { source, ports, ..fields })
    }

    fn of_v4(packet: &[u8]) -> Option<Self> {
        let [head, type_of_service, _, _, _, _, f0, f1, _, protocol, _, _, a, b, c, d, ..] =
            *packet.first_chunk::<20>()?;
        let offset = u16::from_be_bytes([f0, f1]) & 0x1fff;
        let behind = packet.get(usize::from(head & 0x0f) * 4..).filter(|_| offset == 0);
        Some(Self {
            source: IpAddr::V4(Ipv4Addr::new(a, b, c, d)),
            protocol,
            ports: behind.and_then(|behind| ports(protocol, behind)),
            spi: behind.and_then(|behind| spi(protocol, behind)),
            type_of_service,
            flow_label: None,
        })
    }

    fn of_v6(packet: &[u8]) -> Option<Self> {
        let [head, second, third, fourth, ..] = *packet.first_chunk::<40>()?;
        let source = Ipv6Addr::from(*packet.get(8..)?.first_chunk::<16>()?);
        let (protocol, behind) = last_header(packet.get(6).copied()?, packet.get(40..)?);
        Some(Self {
            source: IpAddr::V6(source),
            protocol,
            ports: behind.and_then(|behind| ports(protocol, behind)),
            spi: behind.and_then(|behind| spi(protocol, behind)),
            type_of_service: head << 4 | second >> 4,
            flow_label: Some(u32::from_be_bytes([0, second & 0x0f, third, fourth])),
        })
    }
}

/// The header behind the extension headers, and what stands there; nothing where it is not in this fragment.
fn last_header(first: u8, behind: &[u8]) -> (u8, Option<&[u8]>) {
    let (mut kind, mut rest) = (first, behind);
    for _ in 0..EXTENSIONS_MAX {
        let next = match (kind, rest) {
            (HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS, [next, length, ..]) => {
                rest.get((usize::from(*length) + 1) * 8..).map(|rest| (*next, rest))
            }
            (FRAGMENT, [next, _, high, low, ..]) if u16::from_be_bytes([*high, *low]) & 0xfff8 == 0 => {
                rest.get(8..).map(|rest| (*next, rest))
            }
            (FRAGMENT, [next, ..]) => return (*next, None),
            (HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS | FRAGMENT, _) => None,
            _ => return (kind, Some(rest)),
        };
        match next {
            Some(next) => (kind, rest) = next,
            None => return (kind, None),
        }
    }
    (kind, None)
}

/// Ports of TCP, UDP, DCCP, SCTP and UDP-Lite stand first.
fn ports(protocol: u8, behind: &[u8]) -> Option<(u16, u16)> {
    match (protocol, behind) {
        (6 | 17 | 33 | 132 | 136, [s0, s1, d0, d1, ..]) => {
            Some((u16::from_be_bytes([*s0, *s1]), u16::from_be_bytes([*d0, *d1])))
        }
        _ => None,
    }
}

fn spi(protocol: u8, behind: &[u8]) -> Option<u32> {
    match (protocol, behind) {
        (ESP, [a, b, c, d, ..]) | (AH, [_, _, _, _, a, b, c, d, ..]) => {
            Some(u32::from_be_bytes([*a, *b, *c, *d]))
        }
        _ => None,
    }
}
