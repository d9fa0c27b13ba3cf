//! From an Ethernet frame to the G-PDU in it, in the order in which the program looks.

use crate::layout::{EXTENSIONS_MAX, FRAME_MAX};
use crate::rules::Config;
use gannet_machine::drops::Drop;
use gannet_wire::gtp::header::{extension_type, message_type};
use gannet_wire::id::Teid;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV4};

const ETHERNET_LEN: usize = 14;
const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
/// IEEE 802.1Q and 802.1ad.
const ETHERTYPES_VLAN: [u16; 2] = [0x8100, 0x88a8];
const VLAN_TAGS_MAX: usize = 2;
const PROTOCOL_UDP: u8 = 17;
const UDP_LEN: usize = 8;
const GTP_V1_PORT: u16 = 2152;
const GTP_V0_PORT: u16 = 3386;

/// How a G-PDU names its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// GTPv1.
    Teid(Teid),
    /// GTPv0: [`gannet_wire::id::Tid::to_u64`] of it, whether or not the octets are a valid one.
    Tid(u64),
}

/// A G-PDU in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GPdu {
    /// Whose it is.
    pub owner: Owner,
    /// Where the T-PDU begins in the frame.
    pub at: u16,
    /// Octets of the T-PDU.
    pub len: u16,
}

/// What a frame holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parsed {
    /// Nothing for us.
    NotOurs,
    /// A message that the node has to see: no user data, or more than the program understands.
    ForTheNode,
    /// Something for us that cannot be read.
    Bad(Drop),
    /// User data.
    GPdu(GPdu),
}

/// A UDP datagram for one of our addresses, in a frame.
pub(super) struct Datagram<'a> {
    /// Where the UDP header begins in the frame.
    at: usize,
    /// From the UDP header to the end of the frame; never less than a UDP header.
    octets: &'a [u8],
    /// Octets that the IP header leaves for UDP.
    ip_payload_len: usize,
    /// Source and destination address as they stand in the header.
    addresses: &'a [u8],
    is_v6: bool,
    header_is_right: bool,
}

/// Finds a G-PDU.
#[must_use]
pub fn parse(frame: &[u8], config: &Config) -> Parsed {
    let Some(udp) = datagram(frame, config) else { return Parsed::NotOurs };
    let Some(read) = reader_of_port(udp.octets) else { return Parsed::NotOurs };
    match udp.payload(config) {
        Err(why) => Parsed::Bad(why),
        Ok(payload) => behind(udp.payload_at(), read(payload)),
    }
}

/// The UDP datagram in a frame, where it is a whole one for one of our addresses.
pub(super) fn datagram<'a>(frame: &'a [u8], config: &Config) -> Option<Datagram<'a>> {
    if frame.len() > FRAME_MAX {
        return None;
    }
    let (at, is_v6) = ip_packet(frame)?;
    if is_v6 { parse_ipv6(frame, at, config) } else { parse_ipv4(frame, at, config) }
}

/// From where a datagram comes over IPv4, as an entry of the program's table has it; else 0.
pub(super) fn source_v4(frame: &[u8], config: &Config) -> u32 {
    let source = datagram(frame, config).and_then(|udp| udp.source_v4());
    source.map_or(0, |source| u32::from_ne_bytes(source.ip().octets()))
}

/// Finds a G-PDU in a UDP datagram, from its header on, that a socket of the node's received.
#[must_use]
pub fn parse_datagram(udp: &[u8]) -> Parsed {
    let read = reader_of_port(udp).unwrap_or(parse_v1);
    behind(UDP_LEN, read(udp.get(UDP_LEN..).unwrap_or_default()))
}

/// What reads the datagrams of a port.
fn reader_of_port(udp: &[u8]) -> Option<fn(&[u8]) -> Parsed> {
    match be16(udp, 2)? {
        GTP_V1_PORT => Some(parse_v1),
        GTP_V0_PORT => Some(parse_v0),
        _ => None,
    }
}

/// The same, with `before` octets in front.
fn behind(before: usize, parsed: Parsed) -> Parsed {
    match (parsed, u16::try_from(before)) {
        (Parsed::GPdu(pdu), Ok(before)) => Parsed::GPdu(GPdu { at: before.saturating_add(pdu.at), ..pdu }),
        (other, _) => other,
    }
}

pub(super) fn be16(octets: &[u8], at: usize) -> Option<u16> {
    octets.get(at..)?.first_chunk().copied().map(u16::from_be_bytes)
}

/// Where the IP header begins, behind at most two VLAN tags, and whether it is of version 6.
fn ip_packet(frame: &[u8]) -> Option<(usize, bool)> {
    let mut at = ETHERNET_LEN;
    let mut ethertype = be16(frame, at - 2)?;
    for _ in 0..VLAN_TAGS_MAX {
        if ETHERTYPES_VLAN.contains(&ethertype) {
            at += 4;
            ethertype = be16(frame, at - 2)?;
        }
    }
    match ethertype {
        ETHERTYPE_IPV4 => Some((at, false)),
        ETHERTYPE_IPV6 => Some((at, true)),
        _ => None,
    }
}

fn is_ours(address: IpAddr, config: &Config) -> bool {
    config.addresses.is_empty() || config.addresses.contains(&address)
}

/// IPv4 (RFC 791), with options; fragments are left to the kernel.
fn parse_ipv4<'a>(frame: &'a [u8], at: usize, config: &Config) -> Option<Datagram<'a>> {
    let ip = frame.get(at..)?;
    let fixed = ip.first_chunk::<20>()?;
    let header_len = usize::from(fixed[0] & 15) * 4;
    let header = ip.get(..header_len).filter(|header| header.len() >= 20)?;
    let destination = Ipv4Addr::from(u32::from_be_bytes([fixed[16], fixed[17], fixed[18], fixed[19]]));
    let is_fragment = u16::from_be_bytes([fixed[6], fixed[7]]) & 0x3fff != 0;
    let total_len = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
    if fixed[0] >> 4 != 4 || fixed[9] != PROTOCOL_UDP || is_fragment || !is_ours(destination.into(), config) {
        return None;
    }
    let udp = Datagram {
        at: at + header_len,
        octets: ip.get(header_len..)?,
        ip_payload_len: total_len.checked_sub(header_len)?,
        addresses: header.get(12..20)?,
        is_v6: false,
        header_is_right: internet_sum(&[header]) == 0xffff,
    };
    udp.has_header().then_some(udp)
}

/// IPv6 (RFC 8200) with UDP right behind its header.
fn parse_ipv6<'a>(frame: &'a [u8], at: usize, config: &Config) -> Option<Datagram<'a>> {
    let ip = frame.get(at..)?;
    let header = ip.first_chunk::<40>()?;
    let destination: [u8; 16] = *header.last_chunk()?;
    if header[0] >> 4 != 6
        || header[6] != PROTOCOL_UDP
        || !is_ours(Ipv6Addr::from(destination).into(), config)
    {
        return None;
    }
    let udp = Datagram {
        at: at + header.len(),
        octets: ip.get(header.len()..)?,
        ip_payload_len: usize::from(u16::from_be_bytes([header[4], header[5]])),
        addresses: header.get(8..40)?,
        is_v6: true,
        header_is_right: true,
    };
    udp.has_header().then_some(udp)
}

impl<'a> Datagram<'a> {
    /// Without a whole UDP header nobody knows whose port it is for.
    const fn has_header(&self) -> bool {
        self.octets.len() >= UDP_LEN && self.ip_payload_len >= UDP_LEN
    }

    /// The port that it is for.
    pub(super) fn port(&self) -> Option<u16> {
        be16(self.octets, 2)
    }

    /// From whom it comes, over IPv4.
    pub(super) fn source_v4(&self) -> Option<SocketAddrV4> {
        let octets: [u8; 4] = self.addresses.first_chunk().copied()?;
        (!self.is_v6).then_some(SocketAddrV4::new(Ipv4Addr::from(octets), be16(self.octets, 0)?))
    }

    /// Where in the frame its payload begins.
    pub(super) const fn payload_at(&self) -> usize {
        self.at + UDP_LEN
    }

    /// What UDP (RFC 768) carries, once the port is known to be ours.
    pub(super) fn payload(&self, config: &Config) -> Result<&'a [u8], Drop> {
        if !self.header_is_right {
            return Err(Drop::DemuxBadIpChecksum);
        }
        let len = usize::from(be16(self.octets, 4).unwrap_or(0));
        if len > self.ip_payload_len || self.ip_payload_len > self.octets.len() {
            return Err(Drop::DemuxMalformed);
        }
        let udp = self.octets.get(..len).unwrap_or_default();
        let payload = udp.get(UDP_LEN..).ok_or(Drop::DemuxMalformed)?;
        if config.verify_udp_checksum && !self.checksum_is_right(udp) {
            return Err(Drop::DemuxBadUdpChecksum);
        }
        Ok(payload)
    }

    fn checksum_is_right(&self, udp: &[u8]) -> bool {
        if be16(udp, 6) == Some(0) {
            // Without checksum: a right of IPv4 alone (RFC 8200 clause 8.1).
            return !self.is_v6;
        }
        let [l0, l1] = u16::try_from(udp.len()).unwrap_or(0).to_be_bytes();
        internet_sum(&[self.addresses, &[0, PROTOCOL_UDP, l0, l1], udp]) == 0xffff
    }
}

/// The sum of RFC 1071, without its last complement: 0xffff over something with a right checksum in it. All parts but
/// the last have an even number of octets.
pub(super) fn internet_sum(parts: &[&[u8]]) -> u16 {
    let pairs = parts.iter().flat_map(|part| part.chunks(2));
    let words = pairs.map(|pair| match *pair {
        [high, low] => u32::from(u16::from_be_bytes([high, low])),
        [high] => u32::from(high) << 8,
        _ => 0,
    });
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u16::try_from(sum).unwrap_or(0)
}

/// GTPv1 (29.060 clause 6), from its header on.
fn parse_v1(gtp: &[u8]) -> Parsed {
    const BAD: Parsed = Parsed::Bad(Drop::DemuxMalformed);
    let Some(flags) = gtp.first() else { return BAD };
    if flags & 0xf0 != 0x30 {
        return Parsed::ForTheNode;
    }
    let &[_, message, l0, l1, t0, t1, t2, t3, ref rest @ ..] = gtp else { return BAD };
    if message != message_type::G_PDU {
        return Parsed::ForTheNode;
    }
    let len = usize::from(u16::from_be_bytes([l0, l1]));
    let Some(content) = rest.get(..len) else { return BAD };
    let mut t_pdu = content;
    if flags & 7 != 0 {
        let [_, _, _, next, behind @ ..] = content else { return BAD };
        t_pdu = behind;
        if flags & 4 != 0 {
            match skip_extensions(*next, behind) {
                Ok(behind) => t_pdu = behind,
                Err(other) => return other,
            }
        }
    }
    found(Owner::Teid(Teid(u32::from_be_bytes([t0, t1, t2, t3]))), gtp.len() - rest.len() + len, t_pdu)
}

/// What stands behind the chain of extension headers.
fn skip_extensions(first: u8, chain: &[u8]) -> Result<&[u8], Parsed> {
    const BAD: Parsed = Parsed::Bad(Drop::DemuxMalformed);
    let (mut next, mut rest) = (first, chain);
    for _ in 0..EXTENSIONS_MAX {
        if next == extension_type::NONE {
            break;
        }
        // Bit 8: an endpoint that does not comprehend it must say so.
        if next & 0x80 != 0 && !extension_type::SUPPORTED.contains(&next) {
            return Err(Parsed::ForTheNode);
        }
        let len = usize::from(*rest.first().ok_or(BAD)?) * 4;
        let (extension, behind) = rest.split_at_checked(len).ok_or(BAD)?;
        next = *extension.last().ok_or(BAD)?;
        rest = behind;
    }
    if next == extension_type::NONE { Ok(rest) } else { Err(Parsed::ForTheNode) }
}

/// GTPv0 (09.60 clause 6), from its header on: 20 octets, of which the last eight are the TID.
fn parse_v0(gtp: &[u8]) -> Parsed {
    const BAD: Parsed = Parsed::Bad(Drop::DemuxMalformed);
    let Some(flags) = gtp.first() else { return BAD };
    if flags & 0xf0 != 0x10 {
        return Parsed::ForTheNode;
    }
    let Some((header, rest)) = gtp.split_first_chunk::<20>() else { return BAD };
    if header[1] != message_type::G_PDU {
        return Parsed::ForTheNode;
    }
    let len = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let (Some(t_pdu), Some(tid)) = (rest.get(..len), header.last_chunk()) else { return BAD };
    found(Owner::Tid(u64::from_be_bytes(*tid)), header.len() + len, t_pdu)
}

/// A T-PDU that ends `end` octets behind the start of the GTP header.
fn found(owner: Owner, end: usize, t_pdu: &[u8]) -> Parsed {
    match (u16::try_from(end - t_pdu.len()), u16::try_from(t_pdu.len())) {
        (Ok(at), Ok(len)) => Parsed::GPdu(GPdu { owner, at, len }),
        _ => Parsed::Bad(Drop::DemuxMalformed),
    }
}
