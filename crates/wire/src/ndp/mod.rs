//! Router solicitation and advertisement of IPv6's neighbour discovery (RFC 4861 clauses 4.1, 4.2 and 4.6.2), by which a GGSN
//! tells a mobile its prefix (23.060 clause 9.2.1.1), the MTU of its link and name servers (RFC 8106 clause 5.1).
//!
//! A message is a whole IP packet, header and all. [`RouterSolicitation::parse`] and [`RouterAdvertisement::parse`] check
//! what RFC 4861 clauses 6.1.1 and 6.1.2 want checked, checksum and hop limit among it; options that are not known are passed over.

mod neighbour;

pub use neighbour::{NeighbourAdvertisement, NeighbourSolicitation, solicited_node};

use crate::cursor::Reader;
use crate::error::{DecodeError, DecodeErrorKind};
use core::net::Ipv6Addr;

/// All nodes of the link.
pub const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
/// All routers of the link.
pub const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);
/// A lifetime without end, in s.
pub const FOREVER_S: u32 = u32::MAX;

const IPV6_HEADER_LEN: usize = 40;
const ICMPV6: u8 = 58;
/// Who stands farther away than the link cannot send this.
const HOP_LIMIT: u8 = 255;
const ROUTER_SOLICITATION: u8 = 133;
const ROUTER_ADVERTISEMENT: u8 = 134;
const SOURCE_LINK_LAYER: u8 = 1;
const PREFIX_INFORMATION: u8 = 3;
const MTU: u8 = 5;
const RECURSIVE_DNS: u8 = 25;
/// Of the option, in units of 8 octets.
const PREFIX_INFORMATION_UNITS: u8 = 4;
const ON_LINK: u8 = 0x80;
const AUTONOMOUS: u8 = 0x40;

/// A host asks for routers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouterSolicitation {
    /// Who asks; unspecified where it has no address yet.
    pub source: Ipv6Addr,
    /// Whom.
    pub destination: Ipv6Addr,
}

/// A prefix, as a router advertises it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrefixInformation {
    /// Its first bits.
    pub prefix: Ipv6Addr,
    /// How many.
    pub length: u8,
    /// Addresses with it are on the link.
    pub on_link: bool,
    /// Addresses may be made of it (RFC 4862).
    pub autonomous: bool,
    /// For how long it is valid, in s; [`FOREVER_S`] for ever.
    pub valid_s: u32,
    /// For how long addresses of it are preferred, in s.
    pub preferred_s: u32,
}

/// A router says what there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouterAdvertisement {
    /// Who says so: a link-local address.
    pub source: Ipv6Addr,
    /// To whom.
    pub destination: Ipv6Addr,
    /// The hop limit that hosts begin with; 0 says nothing of it.
    pub hop_limit: u8,
    /// For how long it is a default router, in s; 0 for not at all.
    pub lifetime_s: u16,
    /// The longest packet of the link, in octets; `None` where it is not told.
    pub mtu: Option<u32>,
    /// The prefixes.
    pub prefixes: Vec<PrefixInformation>,
    /// Name servers.
    pub dns: Option<NameServers>,
}

/// Name servers that a router advertises (RFC 8106 clause 5.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameServers {
    /// For how long they may be asked, in s; [`FOREVER_S`] for ever.
    pub lifetime_s: u32,
    /// Their addresses, at least one.
    pub addresses: Vec<Ipv6Addr>,
}

/// Whether a packet is one of the two, as far as its first octets say.
#[must_use]
pub fn is_router_message(packet: &[u8]) -> bool {
    matches!(packet.first_chunk::<41>(), Some([0x60..=0x6f, _, _, _, _, _, ICMPV6, HOP_LIMIT, .., kind])
        if [ROUTER_SOLICITATION, ROUTER_ADVERTISEMENT].contains(kind))
}

/// The sum of RFC 1071 over pseudo-header and message; 0xffff over a message that has its checksum.
fn sum(source: Ipv6Addr, destination: Ipv6Addr, message: &[u8]) -> u16 {
    let mut sum = u64::from(ICMPV6) + message.len() as u64;
    for octets in [&source.octets()[..], &destination.octets(), message] {
        for pair in octets.chunks(2) {
            let [high, low] = [pair.first(), pair.get(1)].map(|octet| u64::from(octet.copied().unwrap_or(0)));
            sum += high << 8 | low;
        }
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u16::try_from(sum).unwrap_or(u16::MAX)
}

const fn bad(ie: &'static str, at: usize, value: u8) -> DecodeError {
    DecodeError::new(ie, at, DecodeErrorKind::BadValue(value as u32))
}

/// Source, destination, and a reader behind the checksum of a message of this type.
fn open(packet: &[u8], kind: u8) -> Result<(Ipv6Addr, Ipv6Addr, Reader<'_>), DecodeError> {
    let mut r = Reader::new(packet);
    let version = r.u8("version")?;
    if version >> 4 != 6 {
        return Err(bad("version", 0, version));
    }
    let _ = r.take(3, "flow label")?;
    let length = usize::from(r.u16("payload length")?);
    let (next_header, hop_limit) = (r.u8("next header")?, r.u8("hop limit")?);
    if next_header != ICMPV6 {
        return Err(bad("next header", 6, next_header));
    }
    if hop_limit != HOP_LIMIT {
        return Err(bad("hop limit", 7, hop_limit));
    }
    let source = Ipv6Addr::from(r.array::<16>("source")?);
    let destination = Ipv6Addr::from(r.array::<16>("destination")?);
    let message = r.take(length, "message")?;
    let packet = packet.get(..IPV6_HEADER_LEN + length).unwrap_or(packet);
    let mut r = Reader::at(packet, IPV6_HEADER_LEN);
    for (name, wanted) in [("type", kind), ("code", 0)] {
        let at = r.offset();
        let octet = r.u8(name)?;
        if octet != wanted {
            return Err(bad(name, at, octet));
        }
    }
    if sum(source, destination, message) != 0xffff {
        return Err(DecodeError::new("checksum", IPV6_HEADER_LEN + 2, DecodeErrorKind::BadChecksum));
    }
    let _ = r.u16("checksum")?;
    Ok((source, destination, r))
}

/// Type and content of the next option.
fn option<'a>(r: &mut Reader<'a>) -> Result<(u8, Reader<'a>), DecodeError> {
    let at = r.offset();
    let (kind, units) = (r.u8("option")?, r.u8("option length")?);
    let Some(len) = usize::from(units).checked_mul(8).and_then(|len| len.checked_sub(2)) else {
        return Err(DecodeError::new("option", at, DecodeErrorKind::BadLength(0)));
    };
    let content = r.take(len, "option")?;
    Ok((kind, Reader::new(content)))
}

/// Puts the header in front, and the checksum where it belongs.
fn packet(source: Ipv6Addr, destination: Ipv6Addr, mut message: Vec<u8>) -> Vec<u8> {
    let checksum = !sum(source, destination, &message);
    for (place, octet) in message.iter_mut().skip(2).zip(checksum.to_be_bytes()) {
        *place = octet;
    }
    let length = u16::try_from(message.len()).unwrap_or(u16::MAX);
    let [high, low] = length.to_be_bytes();
    let head = [0x60, 0, 0, 0, high, low, ICMPV6, HOP_LIMIT];
    [&head[..], &source.octets(), &destination.octets(), &message].concat()
}

impl RouterSolicitation {
    /// Reads one.
    ///
    /// # Errors
    /// `Truncated`, `BadValue`, `BadChecksum`, or `BadLength` of an option without length; `BadValue` as well where one tells
    /// its link-layer address and has no address.
    pub fn parse(packet: &[u8]) -> Result<Self, DecodeError> {
        let (source, destination, mut r) = open(packet, ROUTER_SOLICITATION)?;
        let _ = r.take(4, "reserved")?;
        while !r.is_empty() {
            let at = r.offset();
            let (kind, _) = option(&mut r)?;
            if kind == SOURCE_LINK_LAYER && source.is_unspecified() {
                return Err(bad("option", at, kind));
            }
        }
        Ok(Self { source, destination })
    }

    /// The packet.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        packet(self.source, self.destination, vec![ROUTER_SOLICITATION, 0, 0, 0, 0, 0, 0, 0])
    }
}

impl RouterAdvertisement {
    /// Reads one.
    ///
    /// # Errors
    /// As [`RouterSolicitation::parse`], and `BadValue` where the source is not link-local or a prefix too long. Of several options
    /// with an MTU or name servers the first counts.
    pub fn parse(packet: &[u8]) -> Result<Self, DecodeError> {
        let (source, destination, mut r) = open(packet, ROUTER_ADVERTISEMENT)?;
        if !source.is_unicast_link_local() {
            return Err(bad("source", 8, source.octets()[0]));
        }
        let (hop_limit, _) = (r.u8("hop limit")?, r.u8("flags")?);
        let lifetime_s = r.u16("router lifetime")?;
        let _ = r.take(8, "reachable time and retransmission timer")?;
        let (mut mtu, mut prefixes, mut dns) = (None, Vec::new(), None);
        while !r.is_empty() {
            let at = r.offset();
            let (kind, mut content) = option(&mut r)?;
            let shifted = |error: DecodeError| error.shifted(at + 2);
            match kind {
                PREFIX_INFORMATION => prefixes.push(PrefixInformation::parse(content).map_err(shifted)?),
                MTU if mtu.is_none() => {
                    let read = content.u16("reserved").and_then(|_| content.u32("MTU"));
                    mtu = Some(read.map_err(shifted)?);
                }
                RECURSIVE_DNS if dns.is_none() => dns = Some(NameServers::parse(content).map_err(shifted)?),
                _ => {}
            }
        }
        Ok(Self { source, destination, hop_limit, lifetime_s, mtu, prefixes, dns })
    }

    /// The packet.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        let mut message = vec![ROUTER_ADVERTISEMENT, 0, 0, 0, self.hop_limit, 0];
        message.extend(self.lifetime_s.to_be_bytes());
        message.extend([0; 8]);
        // Options may stand in any order (RFC 4861 clause 4.6); sgsnemu of Debian 12 hangs at one before the first prefix.
        self.prefixes.iter().for_each(|prefix| prefix.emit(&mut message));
        if let Some(mtu) = self.mtu {
            message.extend([MTU, 1, 0, 0]);
            message.extend(mtu.to_be_bytes());
        }
        self.dns.iter().for_each(|dns| dns.emit(&mut message));
        packet(self.source, self.destination, message)
    }
}

impl NameServers {
    fn parse(mut r: Reader<'_>) -> Result<Self, DecodeError> {
        let _ = r.u16("reserved")?;
        let lifetime_s = r.u32("lifetime")?;
        let mut addresses = vec![Ipv6Addr::from(r.array::<16>("address")?)];
        while !r.is_empty() {
            addresses.push(Ipv6Addr::from(r.array::<16>("address")?));
        }
        Ok(Self { lifetime_s, addresses })
    }

    /// An option has room for 127 addresses; more are left out.
    fn emit(&self, out: &mut Vec<u8>) {
        let addresses = self.addresses.get(..127).unwrap_or(&self.addresses);
        let units = u8::try_from(1 + 2 * addresses.len()).unwrap_or(u8::MAX);
        out.extend([RECURSIVE_DNS, units, 0, 0]);
        out.extend(self.lifetime_s.to_be_bytes());
        addresses.iter().for_each(|address| out.extend(address.octets()));
    }
}

impl PrefixInformation {
    fn parse(mut r: Reader<'_>) -> Result<Self, DecodeError> {
        let length = r.u8("prefix length")?;
        if length > 128 {
            return Err(bad("prefix length", 0, length));
        }
        let flags = r.u8("flags")?;
        let (valid_s, preferred_s) = (r.u32("valid lifetime")?, r.u32("preferred lifetime")?);
        let _ = r.take(4, "reserved")?;
        let prefix = Ipv6Addr::from(r.array::<16>("prefix")?);
        let (on_link, autonomous) = (flags & ON_LINK != 0, flags & AUTONOMOUS != 0);
        Ok(Self { prefix, length, on_link, autonomous, valid_s, preferred_s })
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        out.extend([PREFIX_INFORMATION, PREFIX_INFORMATION_UNITS, self.length]);
        out.push(flag(self.on_link, ON_LINK) | flag(self.autonomous, AUTONOMOUS));
        out.extend(self.valid_s.to_be_bytes());
        out.extend(self.preferred_s.to_be_bytes());
        out.extend([0; 4]);
        out.extend(self.prefix.octets());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// fe80::2 asks all routers; the checksum was reckoned by hand.
    const SOLICITATION: [u8; 48] = [
        0x60, 0, 0, 0, 0, 8, 58, 255, 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0xff, 0x02, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 133, 0, 0x7d, 0x35, 0, 0, 0, 0,
    ];

    fn address(text: &str) -> Ipv6Addr {
        text.parse().unwrap()
    }

    fn advertisement() -> RouterAdvertisement {
        RouterAdvertisement {
            source: address("fe80::1"),
            destination: ALL_NODES,
            hop_limit: 64,
            lifetime_s: 64_800,
            mtu: None,
            dns: None,
            prefixes: vec![PrefixInformation {
                prefix: address("2001:db8:0:12::"),
                length: 64,
                on_link: false,
                autonomous: true,
                valid_s: FOREVER_S,
                preferred_s: FOREVER_S,
            }],
        }
    }

    #[test]
    fn a_solicitation_octet_by_octet() {
        let repr = RouterSolicitation { source: address("fe80::2"), destination: ALL_ROUTERS };
        assert_eq!(repr.to_vec(), SOLICITATION);
        assert_eq!(RouterSolicitation::parse(&SOLICITATION), Ok(repr));
        assert!(is_router_message(&SOLICITATION) && !is_router_message(&SOLICITATION[..40]));
        // What may be wrong, and where.
        for (at, kind) in [
            (0, DecodeErrorKind::BadValue(0x70)),
            (6, DecodeErrorKind::BadValue(59)),
            (7, DecodeErrorKind::BadValue(0)),
            (40, DecodeErrorKind::BadValue(134)),
            (41, DecodeErrorKind::BadValue(1)),
            (42, DecodeErrorKind::BadChecksum),
        ] {
            let mut wrong = SOLICITATION;
            wrong[at] = if at == 0 { 0x70 } else { wrong[at].wrapping_add(1) };
            assert_eq!(RouterSolicitation::parse(&wrong).unwrap_err().kind, kind, "octet {at}");
        }
        assert!(RouterSolicitation::parse(&SOLICITATION[..47]).is_err());
    }

    #[test]
    fn an_advertisement_is_read_as_it_was_written() {
        let octets = advertisement().to_vec();
        assert_eq!(octets.len(), 40 + 16 + 32);
        assert_eq!(&octets[44..48], [64, 0, 0xfd, 0x20]);
        assert_eq!(&octets[56..64], [3, 4, 64, 0x40, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(RouterAdvertisement::parse(&octets), Ok(advertisement()));
        assert!(RouterSolicitation::parse(&octets).is_err());
        let from_afar = RouterAdvertisement { source: address("2001:db8::1"), ..advertisement() };
        let error = RouterAdvertisement::parse(&from_afar.to_vec()).unwrap_err();
        assert_eq!((error.ie, error.kind), ("source", DecodeErrorKind::BadValue(0x20)));
    }

    #[test]
    fn who_has_no_address_tells_no_link_layer_address() {
        let told = [&SOLICITATION[40..42], &[0; 6], &[1, 1, 2, 0, 0, 0, 0, 9]].concat();
        let octets = packet(Ipv6Addr::UNSPECIFIED, ALL_ROUTERS, told.clone());
        let error = RouterSolicitation::parse(&octets).unwrap_err();
        assert_eq!((error.ie, error.offset, error.kind), ("option", 48, DecodeErrorKind::BadValue(1)));
        assert!(RouterSolicitation::parse(&packet(address("fe80::2"), ALL_ROUTERS, told)).is_ok());
    }

    #[test]
    fn an_option_without_length_ends_the_message() {
        let (source, destination) = (address("fe80::2"), ALL_ROUTERS);
        let octets = packet(source, destination, [&SOLICITATION[40..42], &[0; 6], &[1, 0]].concat());
        let error = RouterSolicitation::parse(&octets).unwrap_err();
        assert_eq!((error.offset, error.kind), (48, DecodeErrorKind::BadLength(0)));
        // One that is not known is passed over.
        let octets = packet(
            source,
            destination,
            [&SOLICITATION[40..42], &[0; 6], &[200, 1, 0, 0, 0, 0, 0, 0]].concat(),
        );
        assert_eq!(RouterSolicitation::parse(&octets), Ok(RouterSolicitation { source, destination }));
    }

    #[test]
    fn an_mtu_and_name_servers_stand_behind_the_prefixes() {
        let servers = vec![address("2001:db8::53"), address("2001:db8::54")];
        let dns = Some(NameServers { lifetime_s: 64_800, addresses: servers });
        let told = RouterAdvertisement { mtu: Some(1420), dns, ..advertisement() };
        let octets = told.to_vec();
        assert_eq!(octets.len(), 40 + 16 + 8 + 32 + 8 + 32);
        assert_eq!(octets[56..58], [3, 4]);
        assert_eq!(&octets[88..96], [5, 1, 0, 0, 0, 0, 0x05, 0x8c]);
        assert_eq!(&octets[96..104], [25, 5, 0, 0, 0, 0, 0xfd, 0x20]);
        assert_eq!(RouterAdvertisement::parse(&octets), Ok(told));
        // An option for name servers without any.
        let mut none = octets[..104].to_vec();
        none[97] = 1;
        let message = [&none[40..42], &[0, 0], &none[44..]].concat();
        let error = RouterAdvertisement::parse(&packet(address("fe80::1"), ALL_NODES, message)).unwrap_err();
        assert_eq!(error.ie, "address");
    }
}
