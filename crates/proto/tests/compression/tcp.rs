//! TCP segments over IPv4, made one from the other as connections make them, and as they should not.

use fastrand::Rng;

pub const FIN: u8 = 0x01;
pub const SYN: u8 = 0x02;
pub const PSH: u8 = 0x08;
pub const ACK: u8 = 0x10;
pub const URG: u8 = 0x20;

const IP_LEN: usize = 20;
const TCP_LEN: usize = 20;

#[derive(Debug, Clone)]
pub struct Segment {
    pub source: ([u8; 4], u16),
    pub destination: ([u8; 4], u16),
    pub tos: u8,
    pub ttl: u8,
    pub identification: u16,
    pub sequence: u32,
    pub acknowledgement: u32,
    pub flags: u8,
    pub window: u16,
    pub urgent: u16,
    pub ip_options: Vec<u8>,
    pub tcp_options: Vec<u8>,
    pub data: Vec<u8>,
}

/// One's complement sum, as RFC 791 and RFC 793 have it.
pub fn checksum(parts: &[&[u8]]) -> u16 {
    let octets = parts.concat();
    let mut sum: u32 = octets
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)])))
        .sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn pseudo_header(packet: &[u8], len: usize) -> Vec<u8> {
    [&packet[12..20], &[0, 6], &(len as u16).to_be_bytes()].concat()
}

/// Would the receiver take the segment in this packet? Its checksum is right.
pub fn is_right(packet: &[u8]) -> bool {
    let ip_len = usize::from(packet[0] & 0xf) * 4;
    let tcp = &packet[ip_len..];
    checksum(&[&packet[..ip_len]]) == 0 && checksum(&[&pseudo_header(packet, tcp.len()), tcp]) == 0
}

impl Segment {
    pub fn new(connection: u16) -> Self {
        Self {
            source: ([10, 0, 0, 1], 1024 + connection),
            destination: ([192, 0, 2, 7], 80),
            tos: 0,
            ttl: 64,
            identification: 100,
            sequence: 0x0102_0304,
            acknowledgement: 0x5060_7080,
            flags: ACK,
            window: 8760,
            urgent: 0,
            ip_options: Vec::new(),
            tcp_options: Vec::new(),
            data: Vec::new(),
        }
    }

    pub fn emit(&self) -> Vec<u8> {
        let (ip_len, tcp_len) = (IP_LEN + self.ip_options.len(), TCP_LEN + self.tcp_options.len());
        let total = (ip_len + tcp_len + self.data.len()) as u16;
        let mut ip = vec![0x40 | (ip_len / 4) as u8, self.tos];
        ip.extend(total.to_be_bytes());
        ip.extend(self.identification.to_be_bytes());
        ip.extend([0x40, 0, self.ttl, 6, 0, 0]);
        ip.extend(self.source.0);
        ip.extend(self.destination.0);
        ip.extend(&self.ip_options);
        let sum = checksum(&[&ip]).to_be_bytes();
        ip[10..12].copy_from_slice(&sum);
        let mut tcp = self.source.1.to_be_bytes().to_vec();
        tcp.extend(self.destination.1.to_be_bytes());
        tcp.extend(self.sequence.to_be_bytes());
        tcp.extend(self.acknowledgement.to_be_bytes());
        tcp.extend([((tcp_len / 4) << 4) as u8, self.flags]);
        tcp.extend(self.window.to_be_bytes());
        tcp.extend([0, 0]);
        tcp.extend(self.urgent.to_be_bytes());
        tcp.extend(&self.tcp_options);
        tcp.extend(&self.data);
        let sum = checksum(&[&pseudo_header(&ip, tcp.len()), &tcp]).to_be_bytes();
        tcp[16..18].copy_from_slice(&sum);
        [ip, tcp].concat()
    }

    /// The next segment of a download: all that was sent is behind it.
    pub fn follow(&mut self, octets: usize) {
        self.sequence = self.sequence.wrapping_add(self.data.len() as u32);
        self.identification = self.identification.wrapping_add(1);
        self.data = (0..octets).map(|at| (at as u8) ^ self.identification as u8).collect();
    }

    /// Something that happens to connections, now and then something that should not.
    pub fn step(&mut self, rng: &mut Rng) {
        let before = self.data.len() as u32;
        let len = [0, 1, 7, 40][rng.usize(..4)];
        self.follow(len);
        match rng.u8(..16) {
            0..3 => {}
            3 | 4 => self.acknowledgement = self.acknowledgement.wrapping_add(rng.u32(1..3000)),
            5 => self.window = rng.u16(..),
            6 => self.flags ^= PSH,
            7 => {
                self.flags |= URG;
                self.urgent = rng.u16(..300);
            }
            8 => {
                self.flags &= !URG;
                self.urgent = rng.u16(..2);
            }
            // Echo: both numbers grow by what the last segment had.
            9 => self.acknowledgement = self.acknowledgement.wrapping_add(before),
            10 => self.sequence = rng.u32(..),
            11 => self.tcp_options = [1, 1, 8, 10].into_iter().chain((0..8).map(|_| rng.u8(..4))).collect(),
            12 => self.tcp_options.clear(),
            13 => self.identification = self.identification.wrapping_add(rng.u16(..400)),
            14 => self.ip_options = if rng.bool() { vec![7, 7, 4, 10, 0, 0, 1, 0] } else { Vec::new() },
            _ => self.ttl ^= 1,
        }
    }
}

/// Packets of some connections, mixed.
pub fn mixture(rng: &mut Rng, connections: u16, packets: usize) -> Vec<Vec<u8>> {
    let mut segments: Vec<Segment> = (0..connections).map(Segment::new).collect();
    let mut mixture = Vec::new();
    while mixture.len() < packets {
        let segment = &mut segments[rng.usize(..usize::from(connections))];
        let before = segment.clone();
        segment.step(rng);
        mixture.push(segment.emit());
        match rng.u8(..12) {
            // A retransmission: the same once more, or the one before.
            0 => mixture.push(segment.emit()),
            1 => {
                mixture.push(before.emit());
                *segment = before;
            }
            2 => mixture.push(Segment { flags: segment.flags | FIN, ..segment.clone() }.emit()),
            3 => mixture.push(Segment { flags: SYN, ..segment.clone() }.emit()),
            _ => {}
        }
    }
    mixture
}
