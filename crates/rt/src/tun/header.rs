//! The header in front of each packet of a device with offloads (`IFF_VNET_HDR`): `struct virtio_net_hdr` of
//! `linux/virtio_net.h`, ten octets in the machine's order.

/// Octets of the header (`TUNSETVNETHDRSZ`).
pub(crate) const HEADER: usize = 10;

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`: the checksum's field has the sum of the pseudo header.
const NEEDS_CHECKSUM: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_ECN`: one of the segments has CWR, which the packet says too.
const GSO_ECN: u8 = 0x80;

/// What a super-packet is cut into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Segments {
    /// It is one packet.
    None,
    /// TCP over IPv4 (`VIRTIO_NET_HDR_GSO_TCPV4`).
    Tcp4,
    /// TCP over IPv6 (`VIRTIO_NET_HDR_GSO_TCPV6`).
    Tcp6,
    /// UDP over either (`VIRTIO_NET_HDR_GSO_UDP_L4`).
    Udp,
}

impl Segments {
    const fn of(gso_type: u8) -> Option<Self> {
        Some(match gso_type & !GSO_ECN {
            0 => Self::None,
            1 => Self::Tcp4,
            4 => Self::Tcp6,
            5 => Self::Udp,
            // Among them 3, datagrams to be fragmented, which is not asked for.
            _ => return None,
        })
    }

    const fn gso_type(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Tcp4 => 1,
            Self::Tcp6 => 4,
            Self::Udp => 5,
        }
    }
}

/// The header's content. A checksum that is to be completed covers all from `checksum_start` on and stands
/// `checksum_offset` octets behind that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OffloadHeader {
    pub(crate) needs_checksum: bool,
    pub(crate) segments: Segments,
    /// Octets of all headers of the packet. The kernel's value is a hint.
    pub(crate) header_len: u16,
    /// Octets of payload of each segment but the last.
    pub(crate) segment_len: u16,
    pub(crate) checksum_start: u16,
    pub(crate) checksum_offset: u16,
}

impl OffloadHeader {
    /// `None` for segments of another kind.
    pub(crate) const fn parse(octets: &[u8; HEADER]) -> Option<Self> {
        let [flags, gso_type, h0, h1, s0, s1, c0, c1, o0, o1] = *octets;
        let Some(segments) = Segments::of(gso_type) else { return None };
        Some(Self {
            needs_checksum: flags & NEEDS_CHECKSUM != 0,
            segments,
            header_len: u16::from_ne_bytes([h0, h1]),
            segment_len: u16::from_ne_bytes([s0, s1]),
            checksum_start: u16::from_ne_bytes([c0, c1]),
            checksum_offset: u16::from_ne_bytes([o0, o1]),
        })
    }

    pub(crate) const fn octets(&self) -> [u8; HEADER] {
        let flags = if self.needs_checksum { NEEDS_CHECKSUM } else { 0 };
        let [h0, h1] = self.header_len.to_ne_bytes();
        let [s0, s1] = self.segment_len.to_ne_bytes();
        let [c0, c1] = self.checksum_start.to_ne_bytes();
        let [o0, o1] = self.checksum_offset.to_ne_bytes();
        [flags, self.segments.gso_type(), h0, h1, s0, s1, c0, c1, o0, o1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_is_written() {
        for gso_type in 0..=u8::MAX {
            let octets = [1, gso_type, 52, 0, 0xa8, 5, 20, 0, 16, 0];
            let known = matches!(gso_type & 0x7f, 0 | 1 | 4 | 5);
            let parsed = OffloadHeader::parse(&octets);
            assert_eq!(parsed.is_some(), known, "{gso_type}");
            let Some(header) = parsed else { continue };
            assert_eq!(header.octets()[2..], octets[2..]);
            assert_eq!(header.octets()[1], gso_type & 0x7f);
            assert!(header.needs_checksum);
        }
        assert!(!OffloadHeader::parse(&[0; HEADER]).unwrap().needs_checksum);
        assert_eq!(OffloadHeader::parse(&[0; HEADER]).unwrap().octets(), [0; HEADER]);
    }
}
