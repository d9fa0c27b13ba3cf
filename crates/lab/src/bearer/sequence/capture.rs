//! What tcpdump has written: the classic format of pcap (draft-ietf-opsawg-pcap), with packets of Ethernet or of IP.

use super::numbers::Sequence;
use core::net::Ipv4Addr;
use core::ops::Range;
use gannet_machine::time::Instant;
use gannet_wire::adaptation::{ETHERTYPE, HEADER_LEN, Pdu};

/// Octets of a file's header, of a record's and of an Ethernet frame's.
const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
const ETHERNET: usize = 14;
/// The first word of a file with microseconds, and with nanoseconds.
const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;
/// Kinds of link: frames of Ethernet, and packets of IP.
const LINK_ETHERNET: u32 = 1;
const LINK_IP: u32 = 101;
const TCP: u8 = 6;
/// Where the adaptation protocol has the length of what follows its header.
const LENGTH: Range<usize> = 2..4;

/// A file in memory.
#[derive(Debug)]
pub struct Capture {
    octets: Vec<u8>,
    /// Nanoseconds of what stands beside the seconds.
    fraction_ns: u64,
    link: u32,
}

impl Capture {
    /// Of this machine's byte order.
    ///
    /// # Errors
    /// A sentence: it is no such file.
    pub fn read(octets: Vec<u8>) -> Result<Self, String> {
        let fraction_ns = match word(&octets, 0) {
            Some(MICROSECONDS) => 1000,
            Some(NANOSECONDS) => 1,
            _ => return Err("the capture is no file of pcap".to_owned()),
        };
        let link = word(&octets, FILE_HEADER - 4).ok_or("the capture has no header")?;
        if ![LINK_ETHERNET, LINK_IP].contains(&link) {
            return Err(format!("the capture has packets of kind {link}"));
        }
        Ok(Self { octets, fraction_ns, link })
    }

    /// Each packet with its time, as far as it was kept; one that was cut by the end of the file is left out.
    fn packets(&self) -> impl Iterator<Item = (Instant, &[u8])> {
        let mut at = FILE_HEADER;
        core::iter::from_fn(move || {
            let [seconds, fraction, len] = [0, 4, 8].map(|place| word(&self.octets, at + place));
            let time = u64::from(seconds?) * 1_000_000_000 + u64::from(fraction?) * self.fraction_ns;
            let from = at + RECORD_HEADER;
            let packet = self.octets.get(from..from + len? as usize)?;
            at = from + packet.len();
            Some((Instant(time), packet))
        })
    }

    /// The octets that TCP at this address sends, and their acknowledgements.
    pub fn tcp(&self, sender: Ipv4Addr) -> Sequence {
        let mut sequence = Sequence::of_octets();
        let skipped = if self.link == LINK_ETHERNET { ETHERNET } else { 0 };
        for (at, packet) in self.packets() {
            let Some(segment) = packet.get(skipped..).and_then(Segment::parse) else { continue };
            if segment.from == sender && segment.payload > 0 {
                sequence.sent(at, segment.number.into(), segment.payload);
            } else if segment.to == sender {
                sequence.acknowledged(at, segment.acknowledged.into());
            }
        }
        sequence
    }

    /// The I frames that the station with this Ethernet address sends, and their acknowledgements.
    pub fn llc(&self, sender: [u8; 6]) -> Sequence {
        let mut sequence = Sequence::of_frames();
        for (at, frame) in self.packets() {
            let Some((header, octets)) = frame.split_at_checked(ETHERNET) else { continue };
            let Some(octets) = kept(octets) else { continue };
            let Ok(pdu) = Pdu::parse(&octets) else { continue };
            if header.ends_with(&ETHERTYPE.to_be_bytes()) && pdu.header.segment.is_none() {
                sequence.ll_pdu(at, pdu.payload, header.get(6..12) == Some(&sender[..]));
            }
        }
        sequence
    }
}

/// A PDU of the adaptation protocol whose length is that of what was kept of it.
fn kept(octets: &[u8]) -> Option<Vec<u8>> {
    let mut octets = octets.to_vec();
    let kept = u16::try_from(octets.len().checked_sub(HEADER_LEN)?).ok()?;
    let length = octets.get_mut(LENGTH)?;
    let said = u16::from_be_bytes(length.first_chunk().copied()?);
    length.copy_from_slice(&said.min(kept).to_be_bytes());
    Some(octets)
}

/// Of a packet of TCP over IPv4, what counts here.
struct Segment {
    from: Ipv4Addr,
    to: Ipv4Addr,
    number: u32,
    acknowledged: u32,
    payload: u64,
}

impl Segment {
    fn parse(packet: &[u8]) -> Option<Self> {
        let half = |at: usize| packet.get(at..)?.first_chunk().map(|two| u16::from_be_bytes(*two));
        let long = |at: usize| packet.get(at..)?.first_chunk().map(|four| u32::from_be_bytes(*four));
        let first = *packet.first()?;
        if first >> 4 != 4 || *packet.get(9)? != TCP {
            return None;
        }
        let ip = usize::from(first & 0xf) * 4;
        let tcp = usize::from(*packet.get(ip + 12)? >> 4) * 4;
        let payload = usize::from(half(2)?).checked_sub(ip + tcp)?;
        Some(Self {
            from: long(12)?.into(),
            to: long(16)?.into(),
            number: long(ip + 4)?,
            acknowledged: long(ip + 8)?,
            payload: payload as u64,
        })
    }
}

fn word(octets: &[u8], at: usize) -> Option<u32> {
    octets.get(at..)?.first_chunk().map(|four| u32::from_ne_bytes(*four))
}

#[cfg(test)]
mod tests {
    use super::super::numbers::Event;
    use super::*;

    fn file(link: u32, packets: &[(u32, Vec<u8>)]) -> Vec<u8> {
        let mut file = Vec::new();
        for value in [NANOSECONDS, 0x0004_0002, 0, 0, 262_144, link] {
            file.extend(value.to_ne_bytes());
        }
        for (ns, packet) in packets {
            let len = u32::try_from(packet.len()).unwrap();
            [1, *ns, len, len].iter().for_each(|value| file.extend(value.to_ne_bytes()));
            file.extend(packet);
        }
        file
    }

    fn segment(from: [u8; 4], to: [u8; 4], (number, acknowledged): (u32, u32), payload: u16) -> Vec<u8> {
        let mut packet = vec![0x45, 0];
        packet.extend((40 + payload).to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, TCP, 0, 0]);
        packet.extend(from.into_iter().chain(to));
        packet.extend([0x14, 0x51, 0x14, 0x51]);
        packet.extend(number.to_be_bytes().into_iter().chain(acknowledged.to_be_bytes()));
        packet.extend([0x50, 0x10, 0, 0, 0, 0, 0, 0]);
        // The payload was not kept.
        packet
    }

    #[test]
    fn segments_are_told_from_their_acknowledgements() {
        let (host, mobile) = ([203, 0, 113, 2], [198, 19, 0, 2]);
        let packets = [
            (1, segment(host, mobile, (1000, 1), 1430)),
            (2, segment(mobile, host, (1, 2430), 0)),
            (3, segment(host, mobile, (1000, 1), 1430)),
            (4, segment(host, mobile, (2430, 1), 0)),
            (5, vec![0x60; 40]),
        ];
        let capture = Capture::read(file(LINK_IP, &packets)).unwrap();
        let octets = capture.tcp(host.into());
        let counts = [Event::Sent, Event::Again, Event::Acknowledged].map(|event| octets.count(event));
        assert_eq!((counts, octets.begins()), ([1, 1, 1], Some(Instant(1_000_000_001))));
    }

    #[test]
    fn i_frames_are_read_also_where_their_ends_were_not_kept() {
        use gannet_wire::adaptation::VERSION;
        use gannet_wire::id::Sapi;
        use gannet_wire::llc::{Supervisory, i_header};
        let (network, mobile) = ([2, 0, 0, 0, 2, 0], [2, 0, 0, 0, 1, 0]);
        let llc = |from: [u8; 6], numbers| {
            let mut frame = vec![0xff; 6];
            frame.extend(from);
            frame.extend(ETHERTYPE.to_be_bytes());
            let kind = gannet_wire::adaptation::MessageType::LlPdu.number();
            // 1492 octets, of which 40 were kept.
            frame.extend([VERSION << 5 | kind, 0, 0x05, 0xd4, 0xc0, 0, 0, 1]);
            frame.extend_from_slice(&i_header(true, Sapi::DATA3, false, numbers, &Supervisory::Rr));
            frame.resize(ETHERNET + HEADER_LEN + 40, 0);
            frame
        };
        let frames = [
            (1, llc(network, (7, 0))),
            (2, llc(network, (8, 0))),
            (3, llc(mobile, (0, 8))),
            (4, llc(network, (7, 0))),
        ];
        let sequence = Capture::read(file(LINK_ETHERNET, &frames)).unwrap().llc(network);
        let counts = [Event::Sent, Event::Again, Event::Acknowledged].map(|event| sequence.count(event));
        assert_eq!(counts, [2, 1, 1]);
    }

    #[test]
    fn what_is_no_capture_is_refused_and_a_cut_record_is_left_out() {
        assert!(Capture::read(b"no".to_vec()).is_err());
        assert!(Capture::read(file(113, &[])).unwrap_err().contains("113"));
        let mut cut = file(LINK_ETHERNET, &[(1, vec![0; 60]), (2, vec![0; 60])]);
        cut.truncate(cut.len() - 1);
        assert_eq!(Capture::read(cut).unwrap().packets().count(), 1);
    }
}
