//! A file in TCP segments, and what a receiver takes of them.

use gannet_machine::rng::Rng;

const MSS: usize = 1000;

/// Text of common words.
pub fn text(octets: usize) -> Vec<u8> {
    const WORDS: [&str; 24] = [
        "the",
        "of",
        "and",
        "to",
        "network",
        "mobile",
        "packet",
        "radio",
        "which",
        "is",
        "sent",
        "when",
        "link",
        "established",
        "again",
        "each",
        "entity",
        "compression",
        "numbers",
        "it",
        "that",
        "service",
        "in",
        "acknowledged",
    ];
    let mut rng = Rng::seeded(3);
    let mut text = Vec::new();
    while text.len() < octets {
        text.extend(WORDS[usize::try_from(rng.below(24)).unwrap()].bytes());
        text.push(if rng.chance(0.1) { b'\n' } else { b' ' });
    }
    text.truncate(octets);
    text
}

fn sum(octets: &[u8]) -> u32 {
    octets.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum()
}

fn folded(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap()
}

/// A whole IPv4 packet with a TCP segment, both checksums right.
pub fn segment(id: u16, sequence: u32, acknowledgement: u32, payload: &[u8]) -> Vec<u8> {
    let total = u16::try_from(40 + payload.len()).unwrap().to_be_bytes();
    let mut packet = vec![0x45, 0, total[0], total[1]];
    packet.extend(id.to_be_bytes());
    packet.extend([0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    let checksum = folded(sum(&packet)).to_be_bytes();
    packet[10..12].copy_from_slice(&checksum);
    packet.extend([0x1f, 0x90, 0x80, 0x01]);
    packet.extend(sequence.to_be_bytes());
    packet.extend(acknowledgement.to_be_bytes());
    packet.extend([0x50, 0x10, 0x20, 0, 0, 0, 0, 0]);
    packet.extend(payload);
    let checksum = folded(tcp_sum(&packet)).to_be_bytes();
    packet[36..38].copy_from_slice(&checksum);
    packet
}

fn tcp_sum(packet: &[u8]) -> u32 {
    sum(&packet[12..20]) + 6 + u32::try_from(packet.len() - 20).unwrap() + sum(&packet[20..])
}

/// A file on its way.
pub struct File {
    content: Vec<u8>,
    arrived: Vec<bool>,
    id: u16,
}

impl File {
    pub fn new(octets: usize) -> Self {
        let content = text(octets);
        let arrived = vec![false; content.len().div_ceil(MSS)];
        Self { content, arrived, id: 0 }
    }

    pub fn is_whole(&self) -> bool {
        self.arrived.iter().all(|arrived| *arrived)
    }

    /// The segments that have not arrived, as a sender would send them.
    pub fn missing(&mut self) -> Vec<Vec<u8>> {
        let missing: Vec<usize> = (0..self.arrived.len()).filter(|n| !self.arrived[*n]).collect();
        missing
            .into_iter()
            .map(|n| {
                self.id = self.id.wrapping_add(1);
                let payload = &self.content[n * MSS..self.content.len().min((n + 1) * MSS)];
                segment(self.id, u32::try_from(n * MSS).unwrap(), 1, payload)
            })
            .collect()
    }

    /// A packet has come: TCP takes it where its checksum is right, and it is then as it was sent.
    pub fn arrive(&mut self, packet: &[u8]) {
        if packet.len() < 40 || folded(tcp_sum(packet)) != 0 {
            return;
        }
        let sequence = usize::try_from(u32::from_be_bytes(packet[24..28].try_into().unwrap())).unwrap();
        let sent = &self.content[sequence..self.content.len().min(sequence + MSS)];
        assert_eq!(&packet[40..], sent);
        self.arrived[sequence / MSS] = true;
    }
}
