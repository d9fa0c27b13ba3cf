//! Frames for the classifiers: built by parts, generated, mutated.

use fastrand::Rng;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub const OWN_V4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 7);
pub const OWN_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 7);
pub const PEER_V4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub const PEER_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);

/// The one's complement sum of RFC 1071 over 16-bit words, complemented.
pub fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0_u32;
    for pair in parts.iter().flat_map(|part| part.chunks(2)) {
        sum += u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap()
}

pub fn ethernet(vlans: &[u16], ethertype: u16, packet: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    for (at, vlan) in vlans.iter().enumerate() {
        let kind: u16 = if at == 0 && vlans.len() > 1 { 0x88a8 } else { 0x8100 };
        frame.extend(kind.to_be_bytes());
        frame.extend(vlan.to_be_bytes());
    }
    frame.extend(ethertype.to_be_bytes());
    frame.extend(packet);
    frame
}

/// An IPv4 packet with options of `option_words` words, and the fragment field as given.
pub fn ipv4(to: Ipv4Addr, protocol: u8, fragment: u16, option_words: u8, payload: &[u8]) -> Vec<u8> {
    let header_len = 20 + usize::from(option_words) * 4;
    let mut packet = vec![0x45 + option_words, 0, 0, 0, 0x12, 0x34, 0, 0, 64, protocol, 0, 0];
    packet[2..4].copy_from_slice(&u16::try_from(header_len + payload.len()).unwrap().to_be_bytes());
    packet[6..8].copy_from_slice(&fragment.to_be_bytes());
    packet.extend(PEER_V4.octets());
    packet.extend(to.octets());
    // No operation, and at last the end of the options.
    packet.resize(header_len, 1);
    if option_words > 0 {
        packet[header_len - 1] = 0;
    }
    let sum = checksum(&[&packet]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.extend(payload);
    packet
}

pub fn ipv6(to: Ipv6Addr, next_header: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend(u16::try_from(payload.len()).unwrap().to_be_bytes());
    packet.extend([next_header, 64]);
    packet.extend(PEER_V6.octets());
    packet.extend(to.octets());
    packet.extend(payload);
    packet
}

/// A UDP datagram with its checksum, 0 where `to` says that there is none.
pub fn udp(to: IpAddr, port: u16, with_checksum: bool, payload: &[u8]) -> Vec<u8> {
    let len = u16::try_from(payload.len() + 8).unwrap().to_be_bytes();
    let mut datagram = vec![0x30, 0x39];
    datagram.extend(port.to_be_bytes());
    datagram.extend(len);
    datagram.extend([0, 0]);
    datagram.extend(payload);
    if with_checksum {
        let addresses = match to {
            IpAddr::V4(to) => [PEER_V4.octets(), to.octets()].concat(),
            IpAddr::V6(to) => [PEER_V6.octets(), to.octets()].concat(),
        };
        let sum = checksum(&[&addresses, &[0, 17, len[0], len[1]], &datagram]);
        // A sum of 0 is sent as ones: 0 says that there is none.
        let sum = if sum == 0 { 0xffff } else { sum };
        datagram[6..8].copy_from_slice(&sum.to_be_bytes());
    }
    datagram
}

/// A message of GTPv1. Any of `sequence`, `npdu_number` and `extensions` makes the header long.
pub fn gtp_v1(
    message: u8,
    teid: u32,
    (sequence, npdu_number): (Option<u16>, Option<u8>),
    extensions: &[(u8, Vec<u8>)],
    t_pdu: &[u8],
) -> Vec<u8> {
    let mut flags = 0x30;
    let mut content = Vec::new();
    if sequence.is_some() || npdu_number.is_some() || !extensions.is_empty() {
        flags |= u8::from(sequence.is_some()) << 1 | u8::from(npdu_number.is_some());
        flags |= u8::from(!extensions.is_empty()) << 2;
        content.extend(sequence.unwrap_or(0).to_be_bytes());
        content.push(npdu_number.unwrap_or(0));
        content.push(extensions.first().map_or(0, |(kind, _)| *kind));
        for (at, (_, octets)) in extensions.iter().enumerate() {
            content.push(u8::try_from((octets.len() + 2) / 4).unwrap());
            content.extend(octets);
            content.push(extensions.get(at + 1).map_or(0, |(kind, _)| *kind));
        }
    }
    content.extend(t_pdu);
    let mut octets = vec![flags, message];
    octets.extend(u16::try_from(content.len()).unwrap().to_be_bytes());
    octets.extend(teid.to_be_bytes());
    octets.extend(content);
    octets
}

/// A message of GTPv0.
pub fn gtp_v0(message: u8, tid: u64, t_pdu: &[u8]) -> Vec<u8> {
    let mut octets = vec![0x1e, message];
    octets.extend(u16::try_from(t_pdu.len()).unwrap().to_be_bytes());
    octets.extend([0, 1, 0, 2, 0xff, 0xff, 0xff, 0xff]);
    octets.extend(tid.to_be_bytes());
    octets.extend(t_pdu);
    octets
}

/// An UL-UNITDATA in an NS-UNITDATA: TLLI, QoS profile, the elements as given, each with its length indicator.
pub fn ul_unitdata(bvci: u16, tlli: u32, elements: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut octets = vec![0, 0];
    octets.extend(bvci.to_be_bytes());
    octets.push(1);
    octets.extend(tlli.to_be_bytes());
    octets.extend([0, 0, 0x20]);
    for (iei, value) in elements {
        octets.push(*iei);
        match u8::try_from(value.len()) {
            Ok(len) if len < 0x80 => octets.push(0x80 | len),
            _ => octets.extend(u16::try_from(value.len()).unwrap().to_be_bytes()),
        }
        octets.extend(value);
    }
    octets
}

/// A cell identifier: 001-01, LAC 1, RAC 1, cell 1.
pub fn cell() -> (u8, Vec<u8>) {
    (0x08, vec![0x00, 0xf1, 0x10, 0, 1, 1, 0, 1])
}

/// The usual frame: IPv4, no tag, no option.
pub fn usual(port: u16, gtp: &[u8]) -> Vec<u8> {
    ethernet(&[], 0x0800, &ipv4(OWN_V4, 17, 0, 0, &udp(OWN_V4.into(), port, true, gtp)))
}

/// A generator of frames of all shapes.
pub struct Generator {
    pub rng: Rng,
    pub teids: Vec<u32>,
    pub tids: Vec<u64>,
    /// Of mobiles; where there are any, the frames are those of Gb.
    pub tllis: Vec<u32>,
}

impl Generator {
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.rng.usize(..from.len())]
    }

    fn one_in(&mut self, n: u32) -> bool {
        self.rng.u32(..n) == 0
    }

    fn octets(&mut self, most: usize) -> Vec<u8> {
        let len = self.rng.usize(..=most);
        let mut octets = vec![0; len];
        self.rng.fill(&mut octets);
        octets
    }

    fn t_pdu(&mut self) -> Vec<u8> {
        let most = if self.one_in(50) { 1700 } else { 80 };
        self.octets(most)
    }

    fn version_1(&mut self) -> Vec<u8> {
        let message = if self.one_in(12) { self.pick(&[1, 2, 26, 31, 254, 16]) } else { 255 };
        let known = self.teids[self.rng.usize(..self.teids.len())];
        let teid = if self.one_in(20) { self.rng.u32(..) } else { known };
        let sequence = self.rng.bool().then(|| self.rng.u16(..));
        let npdu_number = self.one_in(4).then(|| self.rng.u8(..));
        let mut extensions = Vec::new();
        if self.one_in(4) {
            let most = if self.one_in(8) { 11 } else { 3 };
            for _ in 0..=self.rng.usize(..most) {
                let odd = self.one_in(10);
                let kind = if odd { self.rng.u8(1..) } else { self.pick(&[0xc0, 0x40, 0x01, 0x7f]) };
                let units = self.rng.usize(1..=3);
                let mut content = vec![0; units * 4 - 2];
                self.rng.fill(&mut content);
                extensions.push((kind, content));
            }
        }
        let t_pdu = self.t_pdu();
        gtp_v1(message, teid, (sequence, npdu_number), &extensions, &t_pdu)
    }

    fn version_0(&mut self) -> Vec<u8> {
        let message = if self.one_in(12) { self.rng.u8(..) } else { 255 };
        let known = self.tids[self.rng.usize(..self.tids.len())];
        let tid = if self.one_in(8) { self.rng.u64(..) } else { known };
        let t_pdu = self.t_pdu();
        gtp_v0(message, tid, &t_pdu)
    }

    fn ns(&mut self) -> Vec<u8> {
        let known = self.tllis[self.rng.usize(..self.tllis.len())];
        let tlli = if self.one_in(20) { self.rng.u32(..) } else { known };
        let bvci = if self.one_in(20) { self.rng.u16(..3) } else { self.rng.u16(2..5) };
        let mut llc = self.t_pdu();
        if let Some(first) = llc.first_mut() {
            *first = self.pick(&[1, 3, 5, 7, 9, 11, 0x41, 0x43, 2, 8]);
        }
        if let Some(control) = llc.get_mut(1).filter(|_| !self.one_in(4)) {
            // A UI frame.
            *control = 0xc0 | *control & 0x1f;
        }
        let mut elements = vec![cell()];
        let others = if self.one_in(8) { 8 } else { 3 };
        for _ in 0..self.rng.usize(..others) {
            let iei = self.pick(&[0x00, 0x12, 0x32, 0x7f]);
            let value = self.octets(if iei == 0x7f { 140 } else { 4 });
            elements.push((iei, value));
        }
        if !self.one_in(30) {
            elements.push((0x0e, llc));
        }
        let mut octets = ul_unitdata(bvci, tlli, &elements);
        if self.one_in(12) {
            // Another PDU of NS or BSSGP.
            let (at, value) = (self.pick(&[0, 4]), self.rng.u8(..12));
            octets[at] = value;
        }
        octets
    }

    /// A UDP datagram, mostly user data.
    pub fn datagram(&mut self, to: IpAddr) -> Vec<u8> {
        if !self.tllis.is_empty() {
            let port = if self.one_in(30) { 2152 } else { 23000 };
            let mut ns = self.ns();
            if self.one_in(40) {
                ns.truncate(self.rng.usize(..=ns.len()));
            }
            let with_checksum = !self.one_in(10);
            return udp(to, port, with_checksum, &ns);
        }
        let port = if self.one_in(20) { self.pick(&[2123, 53, 3386, 2152]) } else { 2152 };
        let port = if self.one_in(5) { 3386 } else { port };
        let mut gtp = if self.one_in(30) {
            self.octets(40)
        } else if (port == 3386) != self.one_in(40) {
            self.version_0()
        } else {
            self.version_1()
        };
        // A wrong length, a header cut short, octets behind the message.
        if self.one_in(30) && gtp.len() > 3 {
            gtp[3] = gtp[3].wrapping_add(self.rng.u8(..4)).wrapping_sub(2);
        }
        if self.one_in(40) {
            gtp.truncate(self.rng.usize(..=gtp.len().min(24)));
        }
        if self.one_in(20) {
            gtp.extend(self.octets(9));
        }
        let with_checksum = !self.one_in(10);
        let mut datagram = udp(to, port, with_checksum, &gtp);
        if self.one_in(40) {
            let len = self.rng.u16(..).min(if self.rng.bool() { 12 } else { u16::MAX });
            datagram[4..6].copy_from_slice(&len.to_be_bytes());
        }
        datagram
    }

    fn packet(&mut self) -> (u16, Vec<u8>) {
        let stranger = self.one_in(30);
        if self.one_in(4) {
            let to = if stranger { PEER_V6 } else { OWN_V6 };
            let datagram = self.datagram(to.into());
            let next_header = if self.one_in(30) { 43 } else { 17 };
            let mut packet = ipv6(to, next_header, &datagram);
            if self.one_in(40) {
                packet[5] = self.rng.u8(..);
            }
            return (0x86dd, packet);
        }
        let to = if stranger { PEER_V4 } else { OWN_V4 };
        let datagram = self.datagram(to.into());
        let protocol = if self.one_in(40) { 6 } else { 17 };
        let fragment = if self.one_in(40) { self.rng.u16(..) } else { self.pick(&[0, 0x4000]) };
        let options = if self.one_in(5) { self.rng.u8(..=10) } else { 0 };
        let mut packet = ipv4(to, protocol, fragment, options, &datagram);
        if self.one_in(40) {
            // Another total length, with a checksum that fits.
            let len = self.rng.u16(..120).to_be_bytes();
            let header_len = usize::from(packet[0] & 15) * 4;
            packet[2..4].copy_from_slice(&len);
            packet[10..12].fill(0);
            let sum = checksum(&[&packet[..header_len]]);
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        (0x0800, packet)
    }

    /// The next frame, at least an Ethernet header.
    pub fn frame(&mut self) -> Vec<u8> {
        let (ethertype, packet) = self.packet();
        let tags = if self.one_in(6) { self.rng.usize(..4) } else { 0 };
        let vlans: Vec<u16> = (0..tags).map(|_| self.rng.u16(..4096)).collect();
        let ethertype = if self.one_in(60) { self.rng.u16(..) } else { ethertype };
        let mut frame = ethernet(&vlans, ethertype, &packet);
        if self.one_in(10) {
            for _ in 0..=self.rng.usize(..3) {
                let at = self.rng.usize(..frame.len().min(120));
                frame[at] = if self.rng.bool() { frame[at] ^ 1 << self.rng.u8(..8) } else { self.rng.u8(..) };
            }
        }
        if self.one_in(15) {
            frame.truncate(self.rng.usize(14..=frame.len()));
        }
        if self.one_in(15) {
            // Ethernet's padding.
            frame.extend(vec![0; self.rng.usize(..30)]);
        }
        frame
    }
}
