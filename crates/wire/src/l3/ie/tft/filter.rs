//! One packet filter: a precedence, and what a packet must have.

use super::packet::PacketFields;
use super::{TftError, TftFault};
use crate::Reader;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use serde::{Deserialize, Serialize};

/// Which way a filter counts: a mobile of R99 leaves it open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum FilterDirection {
    /// Not said, as before Rel-7: downlink.
    #[default]
    Unsaid,
    /// Downlink only.
    Downlink,
    /// Uplink only.
    Uplink,
    /// Both.
    Both,
}

impl FilterDirection {
    const fn from_bits(octet: u8) -> Self {
        match octet >> 4 & 3 {
            0 => Self::Unsaid,
            1 => Self::Downlink,
            2 => Self::Uplink,
            _ => Self::Both,
        }
    }
}

/// What a packet must have. The *source* is that of a downlink packet, the far end; the *destination* is the mobile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Component {
    /// IPv4 source address, with the bits that count.
    Ipv4Source {
        /// The address.
        address: Ipv4Addr,
        /// The bits that count.
        mask: Ipv4Addr,
    },
    /// IPv6 source address, with the bits that count.
    Ipv6Source {
        /// The address.
        address: Ipv6Addr,
        /// The bits that count.
        mask: Ipv6Addr,
    },
    /// IPv6 source address, with the number of bits that count (Rel-11).
    Ipv6SourcePrefix {
        /// The address.
        address: Ipv6Addr,
        /// How many of its bits count, up to 128.
        length: u8,
    },
    /// Protocol number, or the last next header.
    Protocol(u8),
    /// Destination port.
    DestinationPort(u16),
    /// Destination ports, from and to.
    DestinationPorts(u16, u16),
    /// Source port.
    SourcePort(u16),
    /// Source ports, from and to.
    SourcePorts(u16, u16),
    /// Security parameter index of IPsec.
    SecurityParameterIndex(u32),
    /// Type of service, or traffic class.
    TypeOfService {
        /// The octet.
        value: u8,
        /// Its bits that count.
        mask: u8,
    },
    /// Flow label of IPv6, 20 bits.
    FlowLabel(u32),
}

/// Which part of a packet a component looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Source,
    Protocol,
    DestinationPort,
    SourcePort,
    SecurityParameterIndex,
    TypeOfService,
    FlowLabel,
}

const fn filter_syntax(what: &'static str) -> TftError {
    TftError::new(TftFault::FilterSyntax, what)
}

const fn no_packet(what: &'static str) -> TftError {
    TftError::new(TftFault::FilterSemantics, what)
}

impl Component {
    fn parse(r: &mut Reader<'_>) -> Result<Self, TftError> {
        let short = |_| filter_syntax("a component ends behind its filter");
        let v4 = |r: &mut Reader<'_>| r.array::<4>("").map(Ipv4Addr::from).map_err(short);
        let v6 = |r: &mut Reader<'_>| r.array::<16>("").map(Ipv6Addr::from).map_err(short);
        let port = |r: &mut Reader<'_>| r.u16("").map_err(short);
        let octet = |r: &mut Reader<'_>| r.u8("").map_err(short);
        Ok(match octet(r)? {
            0x10 => Self::Ipv4Source { address: v4(r)?, mask: v4(r)? },
            0x20 => Self::Ipv6Source { address: v6(r)?, mask: v6(r)? },
            0x21 => Self::Ipv6SourcePrefix { address: v6(r)?, length: octet(r)? },
            0x30 => Self::Protocol(octet(r)?),
            0x40 => Self::DestinationPort(port(r)?),
            0x41 => Self::DestinationPorts(port(r)?, port(r)?),
            0x50 => Self::SourcePort(port(r)?),
            0x51 => Self::SourcePorts(port(r)?, port(r)?),
            0x60 => Self::SecurityParameterIndex(r.u32("").map_err(short)?),
            0x70 => Self::TypeOfService { value: octet(r)?, mask: octet(r)? },
            0x80 => Self::FlowLabel(r.u24("").map_err(short)? & 0xf_ffff),
            _ => return Err(filter_syntax("the type of a component is reserved")),
        })
    }

    fn emit(self, out: &mut Vec<u8>) {
        let mut ports = |kind: u8, of: &[u16]| {
            out.push(kind);
            out.extend(of.iter().flat_map(|port| port.to_be_bytes()));
        };
        match self {
            Self::DestinationPort(port) => ports(0x40, &[port]),
            Self::DestinationPorts(from, to) => ports(0x41, &[from, to]),
            Self::SourcePort(port) => ports(0x50, &[port]),
            Self::SourcePorts(from, to) => ports(0x51, &[from, to]),
            Self::Ipv4Source { address, mask } => {
                out.push(0x10);
                out.extend(address.octets());
                out.extend(mask.octets());
            }
            Self::Ipv6Source { address, mask } => {
                out.push(0x20);
                out.extend(address.octets());
                out.extend(mask.octets());
            }
            Self::Ipv6SourcePrefix { address, length } => {
                out.push(0x21);
                out.extend(address.octets());
                out.push(length);
            }
            Self::Protocol(protocol) => out.extend([0x30, protocol]),
            Self::SecurityParameterIndex(spi) => {
                out.push(0x60);
                out.extend(spi.to_be_bytes());
            }
            Self::TypeOfService { value, mask } => out.extend([0x70, value, mask]),
            Self::FlowLabel(label) => {
                let [_, a, b, c] = label.to_be_bytes();
                out.extend([0x80, a & 0x0f, b, c]);
            }
        }
    }

    const fn part(self) -> Part {
        match self {
            Self::Ipv4Source { .. } | Self::Ipv6Source { .. } | Self::Ipv6SourcePrefix { .. } => Part::Source,
            Self::Protocol(_) => Part::Protocol,
            Self::DestinationPort(_) | Self::DestinationPorts(..) => Part::DestinationPort,
            Self::SourcePort(_) | Self::SourcePorts(..) => Part::SourcePort,
            Self::SecurityParameterIndex(_) => Part::SecurityParameterIndex,
            Self::TypeOfService { .. } => Part::TypeOfService,
            Self::FlowLabel(_) => Part::FlowLabel,
        }
    }

    fn matches(self, packet: &PacketFields) -> bool {
        let (source, destination) = packet.ports.unzip();
        let within = |port: Option<u16>, from, to| port.is_some_and(|port| (from..=to).contains(&port));
        match (self, packet.source) {
            (Self::Ipv4Source { address, mask }, IpAddr::V4(source)) => source & mask == address & mask,
            (Self::Ipv6Source { address, mask }, IpAddr::V6(source)) => source & mask == address & mask,
            (Self::Ipv6SourcePrefix { address, length }, IpAddr::V6(source)) => {
                let mask = u128::MAX.checked_shl(128_u32.saturating_sub(length.into())).unwrap_or(0);
                (source.to_bits() ^ address.to_bits()) & mask == 0
            }
            (Self::Ipv4Source { .. }, IpAddr::V6(_))
            | (Self::Ipv6Source { .. } | Self::Ipv6SourcePrefix { .. }, IpAddr::V4(_)) => false,
            (Self::Protocol(protocol), _) => packet.protocol == protocol,
            (Self::DestinationPort(port), _) => destination == Some(port),
            (Self::DestinationPorts(from, to), _) => within(destination, from, to),
            (Self::SourcePort(port), _) => source == Some(port),
            (Self::SourcePorts(from, to), _) => within(source, from, to),
            (Self::SecurityParameterIndex(spi), _) => packet.spi == Some(spi),
            (Self::TypeOfService { value, mask }, _) => packet.type_of_service & mask == value & mask,
            (Self::FlowLabel(label), _) => packet.flow_label == Some(label),
        }
    }
}

/// A packet filter.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PacketFilter {
    /// 0 to 7 in R99, 0 to 15 later; distinct within a template.
    pub identifier: u8,
    /// Which way it counts.
    pub direction: FilterDirection,
    /// The filter with the lowest one is tried first; distinct among all templates of an address.
    pub precedence: u8,
    /// What a packet must have, all of it.
    pub components: Vec<Component>,
}

impl PacketFilter {
    /// Reads one; `None` where it ends behind its list.
    pub(super) fn parse(r: &mut Reader<'_>) -> Option<Result<Self, TftError>> {
        let [head, precedence, length] = r.array("").ok()?;
        let mut content = Reader::new(r.take(usize::from(length), "").ok()?);
        let mut components = Vec::new();
        while !content.is_empty() {
            match Component::parse(&mut content) {
                Ok(component) => components.push(component),
                Err(error) => return Some(Err(error)),
            }
        }
        if components.is_empty() {
            return Some(Err(filter_syntax("a filter has no components")));
        }
        let direction = FilterDirection::from_bits(head);
        Some(Ok(Self { identifier: head & 0x0f, direction, precedence, components }))
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.extend([(self.direction as u8) << 4 | self.identifier & 0x0f, self.precedence]);
        let at = out.len();
        out.push(0);
        self.components.iter().for_each(|component| component.emit(out));
        let length = u8::try_from(out.len() - at - 1).unwrap_or(u8::MAX);
        if let Some(octet) = out.get_mut(at) {
            *octet = length;
        }
    }

    /// Looks for components that exclude each other (23.060 clause 15.3.2): no packet would ever fit.
    pub(super) fn check(&self) -> Result<(), TftError> {
        let has = |part| self.components.iter().any(|component| component.part() == part);
        for (place, component) in self.components.iter().enumerate() {
            if self.components.iter().skip(place + 1).any(|other| other.part() == component.part()) {
                return Err(no_packet("two components look at the same part of a packet"));
            }
            match component {
                Component::DestinationPorts(from, to) | Component::SourcePorts(from, to) if from > to => {
                    return Err(no_packet("a range of ports ends before it begins"));
                }
                Component::Ipv6SourcePrefix { length: 129.., .. } => {
                    return Err(no_packet("a prefix is longer than an address"));
                }
                Component::Ipv4Source { .. } if has(Part::FlowLabel) => {
                    return Err(no_packet("IPv4 has no flow label"));
                }
                _ => {}
            }
        }
        let has_ports = has(Part::DestinationPort) || has(Part::SourcePort);
        if has_ports && has(Part::SecurityParameterIndex) {
            return Err(no_packet("what IPsec protects shows no ports"));
        }
        let others = [Part::Protocol, Part::SecurityParameterIndex];
        if has(Part::FlowLabel) && (has_ports || others.into_iter().any(has)) {
            return Err(no_packet("a flow label stands beside what it stands for"));
        }
        Ok(())
    }

    /// True where a downlink packet has all that it wants.
    #[must_use]
    pub fn matches(&self, packet: &PacketFields) -> bool {
        self.direction != FilterDirection::Uplink
            && self.components.iter().all(|component| component.matches(packet))
    }
}

/// In the words of `tc` for its flower filters: `src_ip 192.0.2.0/24`, `ip_proto udp`, `dst_port 5000-5010`.
impl fmt::Display for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Ipv4Source { address, mask } => {
                write!(f, "src_ip {address}")?;
                let bits = u32::from(mask);
                write_mask(f, bits.leading_ones(), bits.count_ones(), mask)
            }
            Self::Ipv6Source { address, mask } => {
                write!(f, "src_ip {address}")?;
                let bits = u128::from(mask);
                write_mask(f, bits.leading_ones(), bits.count_ones(), mask)
            }
            Self::Ipv6SourcePrefix { address, length } => write!(f, "src_ip {address}/{length}"),
            Self::Protocol(protocol) => match protocol_name(protocol) {
                Some(name) => write!(f, "ip_proto {name}"),
                None => write!(f, "ip_proto {protocol}"),
            },
            Self::DestinationPort(port) => write!(f, "dst_port {port}"),
            Self::DestinationPorts(from, to) => write!(f, "dst_port {from}-{to}"),
            Self::SourcePort(port) => write!(f, "src_port {port}"),
            Self::SourcePorts(from, to) => write!(f, "src_port {from}-{to}"),
            Self::SecurityParameterIndex(spi) => write!(f, "spi {spi:#010x}"),
            Self::TypeOfService { value, mask } => write!(f, "ip_tos {value:#04x}/{mask:#04x}"),
            Self::FlowLabel(label) => write!(f, "flow_label {label:#07x}"),
        }
    }
}

/// A mask as the length of a prefix, where it is one.
fn write_mask(f: &mut fmt::Formatter<'_>, leading: u32, all: u32, mask: impl fmt::Display) -> fmt::Result {
    if leading == all { write!(f, "/{leading}") } else { write!(f, "/{mask}") }
}

/// Those protocols that have names there.
const fn protocol_name(protocol: u8) -> Option<&'static str> {
    Some(match protocol {
        1 => "icmp",
        6 => "tcp",
        17 => "udp",
        58 => "icmpv6",
        132 => "sctp",
        _ => return None,
    })
}

impl fmt::Display for FilterDirection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unsaid => "",
            Self::Downlink => " downlink",
            Self::Uplink => " uplink",
            Self::Both => " both ways",
        })
    }
}

/// `filter 1 precedence 7: src_ip 192.0.2.0/24 ip_proto udp`, with the direction where it was said.
impl fmt::Display for PacketFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { identifier, direction, precedence, components } = self;
        write!(f, "filter {identifier} precedence {precedence}{direction}:")?;
        components.iter().try_for_each(|component| write!(f, " {component}"))
    }
}
