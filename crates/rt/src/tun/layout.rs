//! Where the headers of an IP packet with TCP or UDP stand, and its checksums.

use crate::inet::{checksum, fold, sum_of};

/// TCP's or UDP's number (RFC 9293 and 768).
pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;

/// Octets of the headers' fixed parts.
const IPV4: usize = 20;
const IPV6: usize = 40;
const TCP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;

/// Extension headers of IPv6 that may stand in front of TCP or UDP (RFC 8200 clause 4): hop-by-hop options, routing,
/// destination options.
const EXTENSIONS: [u8; 3] = [0, 43, 60];
/// The fragment header.
const FRAGMENT: u8 = 44;
/// So many extension headers are looked at.
const EXTENSIONS_MAX: usize = 8;

/// Big-endian fields at fixed places.
pub(super) fn u16_at(octets: &[u8], at: usize) -> u16 {
    octets.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |field| u16::from_be_bytes(*field))
}
pub(super) fn u32_at(octets: &[u8], at: usize) -> u32 {
    octets.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |field| u32::from_be_bytes(*field))
}
pub(super) fn put_u16(octets: &mut [u8], at: usize, value: u16) {
    if let Some(field) = octets.get_mut(at..at + 2) {
        field.copy_from_slice(&value.to_be_bytes());
    }
}
pub(super) fn put_u32(octets: &mut [u8], at: usize, value: u32) {
    if let Some(field) = octets.get_mut(at..at + 4) {
        field.copy_from_slice(&value.to_be_bytes());
    }
}

/// The headers of a packet with a whole TCP or UDP header. Its length fields are not looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) is_ipv4: bool,
    pub(super) is_tcp: bool,
    /// Where the header of TCP or UDP begins, in octets.
    pub(super) transport: usize,
    /// Where the payload begins.
    pub(super) payload: usize,
    /// Without options of IPv4 and extension headers of IPv6.
    pub(super) is_plain: bool,
}

/// What an IP packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// It has a whole TCP or UDP header.
    Transport(Layout),
    /// It carries another protocol.
    Other,
    /// It may be a part of any flow: a fragment, something cut short, nothing of IP.
    Unclear,
}

impl Layout {
    /// Looks at the headers of a packet.
    pub(super) fn of(packet: &[u8]) -> Found {
        let Some(first) = packet.first() else { return Found::Unclear };
        match first >> 4 {
            4 => Self::of_ipv4(packet, usize::from(first & 15) * 4),
            6 => Self::of_ipv6(packet),
            _ => Found::Unclear,
        }
    }

    fn of_ipv4(packet: &[u8], header_len: usize) -> Found {
        // The flag "more fragments" or an offset.
        if header_len < IPV4 || packet.len() < header_len || u16_at(packet, 6) & 0x3fff != 0 {
            return Found::Unclear;
        }
        let protocol = packet.get(9).copied().unwrap_or(0);
        Self::behind(packet, true, protocol, header_len, header_len == IPV4)
    }

    fn of_ipv6(packet: &[u8]) -> Found {
        let Some(mut next) = packet.get(6).copied().filter(|_| packet.len() >= IPV6) else {
            return Found::Unclear;
        };
        let mut at = IPV6;
        for _ in 0..EXTENSIONS_MAX {
            if !EXTENSIONS.contains(&next) {
                break;
            }
            let Some([following, units]) = packet.get(at..).and_then(|rest| rest.first_chunk()) else {
                return Found::Unclear;
            };
            next = *following;
            at += 8 + 8 * usize::from(*units);
        }
        if next == FRAGMENT || EXTENSIONS.contains(&next) || at > packet.len() {
            return Found::Unclear;
        }
        Self::behind(packet, false, next, at, at == IPV6)
    }

    fn behind(packet: &[u8], is_ipv4: bool, protocol: u8, transport: usize, is_plain: bool) -> Found {
        let is_tcp = match protocol {
            TCP => true,
            UDP => false,
            _ => return Found::Other,
        };
        let len = match packet.get(transport + 12) {
            Some(offset) if is_tcp => usize::from(offset >> 4) * 4,
            None if is_tcp => return Found::Unclear,
            _ => UDP_HEADER,
        };
        let payload = transport + len;
        if is_tcp && len < TCP_HEADER || payload > packet.len() {
            return Found::Unclear;
        }
        Found::Transport(Self { is_ipv4, is_tcp, transport, payload, is_plain })
    }

    /// Where the checksum of TCP or UDP stands behind the beginning of its header.
    pub(super) const fn checksum_offset(self) -> usize {
        if self.is_tcp { 16 } else { 6 }
    }

    /// Both addresses, one behind the other.
    pub(super) fn addresses(self, packet: &[u8]) -> &[u8] {
        let range = if self.is_ipv4 { 12..20 } else { 8..40 };
        packet.get(range).unwrap_or_default()
    }

    /// Sum of the pseudo header for a TCP segment or UDP datagram of `len` octets, for a packet without a routing header
    /// (RFC 9293 clause 3.1, RFC 8200 clause 8.1).
    pub(super) fn pseudo_sum(self, packet: &[u8], len: usize) -> u32 {
        let protocol = if self.is_tcp { TCP } else { UDP };
        let len = u32::try_from(len).unwrap_or(0);
        sum_of(self.addresses(packet)) + u32::from(protocol) + (len & 0xffff) + (len >> 16)
    }

    /// Is the whole packet as its length fields and checksums say? A UDP datagram without checksum is not.
    pub(super) fn is_sound(self, packet: &[u8]) -> bool {
        let transport_len = packet.len().saturating_sub(self.transport);
        let len = if self.is_ipv4 { packet.len() } else { packet.len().saturating_sub(IPV6) };
        if usize::from(u16_at(packet, if self.is_ipv4 { 2 } else { 4 })) != len {
            return false;
        }
        if !self.is_tcp && usize::from(u16_at(packet, self.transport + 4)) != transport_len {
            return false;
        }
        let header = packet.get(..self.transport).unwrap_or_default();
        if self.is_ipv4 && !is_right(sum_of(header), u16_at(packet, 10)) {
            return false;
        }
        let at = self.transport + self.checksum_offset();
        let sum =
            self.pseudo_sum(packet, transport_len) + sum_of(packet.get(self.transport..).unwrap_or_default());
        // The same octets come out where the checksum is taken again, so each has to be the one that is taken.
        let field = u16_at(packet, at);
        if self.is_tcp { is_right(sum, field) } else { field != 0 && fold(sum) == 0xffff }
    }

    /// Sets the length fields of a packet, and the checksum of an IPv4 header.
    pub(super) fn put_lengths(self, packet: &mut [u8], len: usize) {
        let field = |len: usize| u16::try_from(len).unwrap_or(u16::MAX);
        if self.is_ipv4 {
            put_u16(packet, 2, field(len));
            put_u16(packet, 10, 0);
            let sum = checksum(sum_of(packet.get(..self.transport).unwrap_or_default()));
            put_u16(packet, 10, sum);
        } else {
            put_u16(packet, 4, field(len.saturating_sub(IPV6)));
        }
        if !self.is_tcp {
            put_u16(packet, self.transport + 4, field(len.saturating_sub(self.transport)));
        }
    }
}

/// True where the sum over octets that hold this checksum is right, and the checksum is the one of two that is zero where
/// both 0 and all ones would be right.
fn is_right(sum: u32, checksum: u16) -> bool {
    fold(sum) == 0xffff && checksum != 0xffff
}
