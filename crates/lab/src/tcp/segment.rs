//! A TCP segment in an IPv4 packet, as octets (RFC 791, RFC 9293 clause 3.1).
//!
//! Options are those of a transfer: maximum segment size (RFC 9293 clause 3.7.1), window scale and timestamps (RFC 7323), selective
//! acknowledgements (RFC 2018). Others are skipped. Both checksums are written, and checked when a packet is read.

use core::net::{Ipv4Addr, SocketAddrV4};
use thiserror::Error;

/// Octets of an IPv4 header without options.
pub const IP_HEADER: usize = 20;
/// Octets of a TCP header without options.
pub const TCP_HEADER: usize = 20;
/// Octets that timestamps take in each segment, with their padding (RFC 7323 appendix A).
pub const TIMESTAMPS_LEN: u16 = 12;
const TCP: u8 = 6;
const TTL: u8 = 64;
const DONT_FRAGMENT: u16 = 0x4000;

const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const MSS: u8 = 2;
const SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// Why octets are no segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SegmentError {
    /// It ends before its headers or its own length do.
    #[error("the packet ends before its headers or the length that it has in them")]
    Short,
    /// Not IPv4 with TCP, or a fragment.
    #[error("the packet is no whole TCP segment over IPv4")]
    Foreign,
    /// Octets were damaged.
    #[error("the checksum of {0} is wrong")]
    Checksum(&'static str),
    /// An option is cut or has a wrong length.
    #[error("TCP option {0} has a wrong length")]
    Option(u8),
}

/// The flags of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data comes.
    pub const FIN: Self = Self(0x01);
    /// Sequence numbers are synchronised.
    pub const SYN: Self = Self(0x02);
    /// The connection ends at once.
    pub const RST: Self = Self(0x04);
    /// Data is given to the application.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement number is valid.
    pub const ACK: Self = Self(0x10);

    /// True where all of `others` are set.
    #[must_use]
    pub const fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// These and those.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }
}

/// The options of a segment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// The largest payload that its sender takes, in octets, without options.
    pub mss: Option<u16>,
    /// The shift of windows that follow.
    pub scale: Option<u8>,
    /// Selective acknowledgements may be sent.
    pub sack_permitted: bool,
    /// The sender's clock, and the other's that it echoes.
    pub timestamps: Option<(u32, u32)>,
    /// What has arrived behind a hole: from, and up to without it. At most four.
    pub sack: Vec<(u32, u32)>,
}

impl Options {
    /// In the order and with the padding that RFC 7323 appendix A recommends; a multiple of four octets.
    fn to_octets(&self) -> Vec<u8> {
        let mut octets = Vec::new();
        if let Some(mss) = self.mss {
            octets.extend([MSS, 4]);
            octets.extend(mss.to_be_bytes());
        }
        if let Some((value, echo)) = self.timestamps {
            // On a SYN the permission stands in the place of the padding.
            octets.extend(if self.sack_permitted {
                [SACK_PERMITTED, 2, TIMESTAMPS, 10]
            } else {
                [NO_OPERATION, NO_OPERATION, TIMESTAMPS, 10]
            });
            octets.extend(value.to_be_bytes());
            octets.extend(echo.to_be_bytes());
        } else if self.sack_permitted {
            octets.extend([NO_OPERATION, NO_OPERATION, SACK_PERMITTED, 2]);
        }
        if let Some(scale) = self.scale {
            octets.extend([NO_OPERATION, SCALE, 3, scale]);
        }
        if !self.sack.is_empty() {
            let len = u8::try_from(2 + 8 * self.sack.len()).unwrap_or(u8::MAX);
            octets.extend([NO_OPERATION, NO_OPERATION, SACK, len]);
            for (from, to) in &self.sack {
                octets.extend(from.to_be_bytes());
                octets.extend(to.to_be_bytes());
            }
        }
        octets
    }

    fn parse(mut octets: &[u8]) -> Result<Self, SegmentError> {
        let mut options = Self::default();
        loop {
            let (kind, len) = match *octets {
                [] | [END, ..] => return Ok(options),
                [NO_OPERATION, ..] => {
                    octets = octets.get(1..).unwrap_or_default();
                    continue;
                }
                [kind] => return Err(SegmentError::Option(kind)),
                [kind, len, ..] => (kind, usize::from(len)),
            };
            let wrong = SegmentError::Option(kind);
            let value = octets.get(2..len).ok_or(wrong)?;
            match (kind, value) {
                (MSS, [high, low]) => options.mss = Some(u16::from_be_bytes([*high, *low])),
                // A shift above 14 is taken as 14 (RFC 7323 clause 2.3).
                (SCALE, [shift]) => options.scale = Some((*shift).min(14)),
                (SACK_PERMITTED, []) => options.sack_permitted = true,
                (TIMESTAMPS, value) => options.timestamps = Some(pair(value).ok_or(wrong)?),
                (SACK, value) if value.len().is_multiple_of(8) => {
                    options.sack = value.chunks_exact(8).filter_map(pair).collect();
                }
                (MSS | SCALE | SACK_PERMITTED | SACK, _) => return Err(wrong),
                _ => {}
            }
            octets = octets.get(len..).unwrap_or_default();
        }
    }
}

/// Two numbers of 32 bits.
fn pair(octets: &[u8]) -> Option<(u32, u32)> {
    let [a, b, c, d, e, f, g, h] = *octets else { return None };
    Some((u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])))
}

/// One segment with its addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Who sends it.
    pub source: SocketAddrV4,
    /// To whom.
    pub destination: SocketAddrV4,
    /// Number of its first octet, or of its SYN.
    pub sequence: u32,
    /// The next number that its sender expects, where [`Flags::ACK`] is set.
    pub acknowledgement: u32,
    /// Its flags.
    pub flags: Flags,
    /// The window as it stands in the header, without its shift.
    pub window: u16,
    /// Its options.
    pub options: Options,
    /// Its data.
    pub payload: Vec<u8>,
}

impl Segment {
    /// The IP packet. `identification` is that of the IPv4 header; the packet must not be fragmented.
    #[must_use]
    pub fn to_packet(&self, identification: u16) -> Vec<u8> {
        let options = self.options.to_octets();
        let header = TCP_HEADER + options.len();
        let length = u16::try_from(IP_HEADER + header + self.payload.len()).unwrap_or(u16::MAX);
        let mut packet = vec![0x45, 0];
        for word in [length, identification, DONT_FRAGMENT] {
            packet.extend(word.to_be_bytes());
        }
        packet.extend([TTL, TCP, 0, 0]);
        packet.extend(self.source.ip().octets());
        packet.extend(self.destination.ip().octets());
        let sum = checksum(0, &packet);
        put(&mut packet, 10, sum);
        packet.extend(self.source.port().to_be_bytes());
        packet.extend(self.destination.port().to_be_bytes());
        packet.extend(self.sequence.to_be_bytes());
        packet.extend(self.acknowledgement.to_be_bytes());
        packet.extend([u8::try_from(header / 4).unwrap_or(15) << 4, self.flags.0]);
        packet.extend(self.window.to_be_bytes());
        packet.extend([0; 4]);
        packet.extend(options);
        packet.extend(&self.payload);
        let segment = packet.get(IP_HEADER..).unwrap_or_default();
        let sum = checksum(pseudo_header(*self.source.ip(), *self.destination.ip(), segment.len()), segment);
        put(&mut packet, IP_HEADER + 16, sum);
        packet
    }

    /// From an IP packet.
    ///
    /// # Errors
    /// Where it is no whole and undamaged TCP segment over IPv4.
    pub fn parse(packet: &[u8]) -> Result<Self, SegmentError> {
        let ip = packet.first_chunk::<IP_HEADER>().ok_or(SegmentError::Short)?;
        let [first, _, l0, l1, _, _, f0, f1, _, protocol, _, _, s0, s1, s2, s3, d0, d1, d2, d3] = *ip;
        let header = usize::from(first & 15) * 4;
        let fragment = u16::from_be_bytes([f0, f1]) & !DONT_FRAGMENT;
        if first >> 4 != 4 || header < IP_HEADER || protocol != TCP || fragment != 0 {
            return Err(SegmentError::Foreign);
        }
        let length = usize::from(u16::from_be_bytes([l0, l1]));
        let (ip, segment) =
            packet.get(..length).and_then(|p| p.split_at_checked(header)).ok_or(SegmentError::Short)?;
        if checksum(0, ip) != 0 {
            return Err(SegmentError::Checksum("IPv4"));
        }
        let (source, destination) = (Ipv4Addr::new(s0, s1, s2, s3), Ipv4Addr::new(d0, d1, d2, d3));
        let tcp = segment.first_chunk::<TCP_HEADER>().ok_or(SegmentError::Short)?;
        if checksum(pseudo_header(source, destination, segment.len()), segment) != 0 {
            return Err(SegmentError::Checksum("TCP"));
        }
        let [p0, p1, q0, q1, a, b, c, d, e, f, g, h, offset, flags, w0, w1, ..] = *tcp;
        let data = usize::from(offset >> 4) * 4;
        let options = segment.get(TCP_HEADER..data).ok_or(SegmentError::Short)?;
        Ok(Self {
            source: SocketAddrV4::new(source, u16::from_be_bytes([p0, p1])),
            destination: SocketAddrV4::new(destination, u16::from_be_bytes([q0, q1])),
            sequence: u32::from_be_bytes([a, b, c, d]),
            acknowledgement: u32::from_be_bytes([e, f, g, h]),
            flags: Flags(flags),
            window: u16::from_be_bytes([w0, w1]),
            options: Options::parse(options)?,
            payload: segment.get(data..).unwrap_or_default().to_vec(),
        })
    }
}

fn put(packet: &mut [u8], at: usize, sum: u16) {
    if let Some(field) = packet.get_mut(at..at + 2) {
        field.copy_from_slice(&sum.to_be_bytes());
    }
}

/// The sum of the pseudo-header (RFC 9293 clause 3.1).
fn pseudo_header(source: Ipv4Addr, destination: Ipv4Addr, len: usize) -> u32 {
    let halves = |address: Ipv4Addr| (u32::from(address) >> 16) + (u32::from(address) & 0xffff);
    halves(source) + halves(destination) + u32::from(TCP) + u32::try_from(len).unwrap_or(0)
}

/// The checksum of octets in front of whose sum something else stands (RFC 1071); 0 for octets that contain their checksum.
fn checksum(start: u32, octets: &[u8]) -> u16 {
    let mut sum = start;
    for pair in octets.chunks(2) {
        let octet = |at: usize| pair.get(at).copied().unwrap_or(0);
        sum += u32::from(u16::from_be_bytes([octet(0), octet(1)]));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn segment() -> Segment {
        Segment {
            source: "192.0.2.1:80".parse().unwrap(),
            destination: "192.0.2.2:40000".parse().unwrap(),
            sequence: 0xffff_fff0,
            acknowledgement: 7,
            flags: Flags::ACK.and(Flags::PSH),
            window: 502,
            options: Options {
                timestamps: Some((10, 20)),
                sack: vec![(100, 200), (300, 400), (500, 600)],
                ..Options::default()
            },
            payload: b"odd".to_vec(),
        }
    }

    #[test]
    fn what_was_written_is_read() {
        let syn = Options {
            mss: Some(1460),
            scale: Some(7),
            sack_permitted: true,
            timestamps: Some((1, 0)),
            sack: Vec::new(),
        };
        let plain = Options { timestamps: None, scale: None, ..syn.clone() };
        for options in [Options::default(), syn, plain, segment().options] {
            let segment = Segment { options, ..segment() };
            assert_eq!(Segment::parse(&segment.to_packet(5)).unwrap(), segment);
        }
    }

    #[test]
    fn damage_is_seen_and_cut_packets_are_refused() {
        let packet = segment().to_packet(5);
        for at in 0..packet.len() {
            let mut damaged = packet.clone();
            damaged[at] ^= 0x10;
            assert!(Segment::parse(&damaged).is_err(), "octet {at}");
            assert!(Segment::parse(&packet[..at]).is_err(), "cut at {at}");
        }
        // What Ethernet has added behind it is no part of it.
        let padded = [packet, vec![0; 9]].concat();
        assert_eq!(Segment::parse(&padded).unwrap(), segment());
    }

    #[test]
    fn options_with_a_wrong_length_are_refused() {
        for octets in
            [&[MSS, 3, 1][..], &[TIMESTAMPS, 9, 0, 0, 0, 0, 0, 0, 0], &[SACK, 6, 1, 2, 3, 4], &[99, 1], &[99]]
        {
            assert_eq!(Options::parse(octets), Err(SegmentError::Option(octets[0])));
        }
        // An unknown one is skipped, and nothing is read behind the end.
        let octets = [99, 3, 1, SCALE, 3, 200, END, MSS];
        assert_eq!(Options::parse(&octets).unwrap(), Options { scale: Some(14), ..Options::default() });
    }
}
