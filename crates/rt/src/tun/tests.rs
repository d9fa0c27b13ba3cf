//! Cutting and joining without a device. The packets and their checksums are made here, octet by octet.

use super::cut::{ACK, CWR, Cutter, FIN, PSH, complete};
use super::header::{HEADER, OffloadHeader, Segments};
use super::join::{HEADERS_MAX, Joiner, Joins, MEMBERS_MAX, PACKETS_MAX};
use fastrand::Rng;

const ALL: Joins = Joins { tcp: true, udp: true };

/// The checksum of RFC 1071, as simply as can be.
fn plain_checksum(octets: &[u8], pseudo: &[u8]) -> u16 {
    let words = |octets: &[u8]| -> u64 {
        octets.chunks(2).map(|pair| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0))).sum()
    };
    let mut sum = words(octets) + words(pseudo);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap()
}

/// A packet of a flow.
#[derive(Debug, Clone)]
struct Made {
    is_ipv4: bool,
    is_tcp: bool,
    flow: u8,
    number: u16,
    sequence: u32,
    acknowledgement: u32,
    window: u16,
    flags: u8,
    options: Vec<u8>,
    /// Octets between the IP header and TCP or UDP: options of IPv4, one extension header of IPv6.
    between: Vec<u8>,
    hop_limit: u8,
    payload: Vec<u8>,
}

impl Made {
    fn tcp(is_ipv4: bool, sequence: u32, number: u16, payload: usize) -> Self {
        Self {
            is_ipv4,
            is_tcp: true,
            flow: 1,
            number,
            sequence,
            acknowledgement: 77,
            window: 500,
            flags: ACK,
            options: vec![1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2],
            between: Vec::new(),
            hop_limit: 64,
            payload: (0..payload).map(|at| u8::try_from(at % 253).unwrap()).collect(),
        }
    }

    fn udp(is_ipv4: bool, number: u16, payload: usize) -> Self {
        Self { is_tcp: false, options: Vec::new(), ..Self::tcp(is_ipv4, 0, number, payload) }
    }

    fn octets(&self) -> Vec<u8> {
        let mut transport = vec![0x12, self.flow, 0x00, 0x50];
        let at = if self.is_tcp {
            transport.extend(self.sequence.to_be_bytes());
            transport.extend(self.acknowledgement.to_be_bytes());
            transport.push(u8::try_from((20 + self.options.len()) * 4).unwrap());
            transport.push(self.flags);
            transport.extend(self.window.to_be_bytes());
            transport.extend([0; 4]);
            transport.extend(&self.options);
            16
        } else {
            transport.extend(u16::try_from(8 + self.payload.len()).unwrap().to_be_bytes());
            transport.extend([0; 2]);
            6
        };
        transport.extend(&self.payload);
        let protocol = if self.is_tcp { 6 } else { 17 };
        let len = u16::try_from(transport.len()).unwrap().to_be_bytes();
        let addresses = if self.is_ipv4 {
            vec![10, 0, 0, 1, 10, 0, 1, self.flow]
        } else {
            let mut both = vec![0x20; 32];
            both[31] = self.flow;
            both
        };
        let mut pseudo = addresses.clone();
        pseudo.extend([0, protocol, len[0], len[1]]);
        let sum = plain_checksum(&transport, &pseudo);
        let sum = if sum == 0 && !self.is_tcp { 0xffff } else { sum };
        transport[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        let behind = transport.len() + self.between.len();
        let mut packet = if self.is_ipv4 {
            let [len0, len1] = u16::try_from(20 + behind).unwrap().to_be_bytes();
            let [number0, number1] = self.number.to_be_bytes();
            let words = 0x40 | u8::try_from(5 + self.between.len() / 4).unwrap();
            vec![words, 0, len0, len1, number0, number1, 0x40, 0, self.hop_limit, protocol, 0, 0]
        } else {
            let [len0, len1] = u16::try_from(behind).unwrap().to_be_bytes();
            let next = if self.between.is_empty() { protocol } else { 0 };
            vec![0x60, 0, 0, 0, len0, len1, next, self.hop_limit]
        };
        packet.extend(&addresses);
        packet.extend(&self.between);
        if self.is_ipv4 {
            let sum = plain_checksum(&packet, &[]);
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
        } else if !self.between.is_empty() {
            packet[40] = protocol;
        }
        packet.extend(transport);
        packet
    }
}

/// What a device would be given for these packets: each packet with how many it stands for.
fn leave(packets: &[Vec<u8>], joins: Joins) -> Vec<(Vec<u8>, Vec<usize>)> {
    let mut joiner = Joiner::new();
    joiner.sort(packets, joins);
    let mut left = Vec::new();
    while let Some(group) = joiner.group(left.len()) {
        let members: Vec<usize> = joiner.members(group).collect();
        assert_eq!(members.len(), usize::from(group.count));
        let mut octets = vec![0; HEADER];
        if let [number] = members[..] {
            octets.extend(&packets[number]);
        } else {
            let mut room = [0; HEADERS_MAX];
            let (len, headers_len) = joiner.headers(group, packets, &mut room).unwrap();
            octets = room[..len].to_vec();
            members.iter().for_each(|number| octets.extend(&packets[*number][headers_len..]));
        }
        left.push((octets, members));
    }
    left
}

/// What the kernel would make of that again.
fn come(octets: &[u8]) -> Vec<Vec<u8>> {
    let header = OffloadHeader::parse(octets.first_chunk().unwrap()).unwrap();
    let mut packet = octets[HEADER..].to_vec();
    if header.segments == Segments::None {
        assert!(complete(&header, &mut packet));
        return vec![packet];
    }
    let mut cutter = Cutter::new(&header, &packet).unwrap();
    let (mut all, left, mut room) = (Vec::new(), cutter.left(), vec![0xaa; 70_000]);
    while let Some(len) = cutter.cut(&mut room) {
        all.push(room[..len].to_vec());
    }
    assert_eq!((all.len(), cutter.left()), (left, 0));
    all
}

/// Sizes of the groups that these packets leave in; each group is cut into the same packets again.
fn groups(packets: &[Vec<u8>]) -> Vec<usize> {
    let left = leave(packets, ALL);
    for (octets, members) in &left {
        let expected: Vec<Vec<u8>> = members.iter().map(|number| packets[*number].clone()).collect();
        assert_eq!(come(octets), expected);
    }
    left.iter().map(|(_, members)| members.len()).collect()
}

/// `count` packets of a flow in order.
fn run(is_ipv4: bool, is_tcp: bool, count: u16, payload: u16) -> Vec<Made> {
    let made = |place: u16| {
        let number = 0xfff0_u16.wrapping_add(place);
        let sequence = 0xffff_f000_u32.wrapping_add(u32::from(place) * u32::from(payload));
        match is_tcp {
            true => Made::tcp(is_ipv4, sequence, number, payload.into()),
            false => Made::udp(is_ipv4, number, payload.into()),
        }
    };
    (0..count).map(made).collect()
}

fn octets(made: &[Made]) -> Vec<Vec<u8>> {
    made.iter().map(Made::octets).collect()
}

#[test]
fn packets_in_order_leave_as_one_and_are_cut_into_the_same() {
    for (is_ipv4, is_tcp) in [(true, true), (true, false), (false, true), (false, false)] {
        for payload in [1, 2, 533, 1448] {
            let mut made = run(is_ipv4, is_tcp, 40, payload);
            assert_eq!(groups(&octets(&made)), [40], "{is_ipv4} {is_tcp} {payload}");
            // A shorter one ends it.
            made[10].payload.pop();
            let expected: &[usize] = match (payload, is_tcp) {
                (1, _) => &[10, 1, 29],
                // What follows it is not in order.
                _ => &[11, 29],
            };
            assert_eq!(groups(&octets(&made)), expected, "{is_ipv4} {is_tcp} {payload}");
        }
        let long = run(is_ipv4, is_tcp, 200, 100);
        assert_eq!(groups(&octets(&long)), [MEMBERS_MAX, MEMBERS_MAX, MEMBERS_MAX, 200 - 3 * MEMBERS_MAX]);
        let wide = groups(&octets(&run(is_ipv4, is_tcp, 64, 1448)));
        assert_eq!((wide.len(), wide.iter().sum::<usize>()), (2, 64));
        assert_eq!(wide[0], 45);
    }
}

#[test]
fn protocols_that_a_device_does_not_know_go_alone() {
    for (joins, is_tcp) in [(Joins { tcp: true, udp: false }, false), (Joins { tcp: false, udp: true }, true)]
    {
        let packets = octets(&run(true, is_tcp, 5, 100));
        assert!(leave(&packets, joins).iter().all(|(_, members)| members.len() == 1));
        let packets = octets(&run(true, !is_tcp, 5, 100));
        assert_eq!(leave(&packets, joins).len(), 1);
    }
}

#[test]
fn the_push_of_the_last_is_kept_and_ends_the_group() {
    let mut made = run(true, true, 6, 100);
    made[3].flags |= PSH;
    assert_eq!(groups(&octets(&made)), [4, 2]);
    made[0].flags |= PSH;
    assert_eq!(groups(&octets(&made)), [1, 3, 2]);
}

/// Changes one of three packets, each in a way that the joined packet could not say.
#[test]
fn what_the_others_do_not_share_goes_alone() {
    type Change = (&'static str, fn(&mut Made));
    let both: [Change; 3] = [
        ("hop limit", |made| made.hop_limit = 3),
        ("options of IP", |made| made.between = vec![if made.is_ipv4 { 1 } else { 0 }, 0, 1, 4, 0, 0, 0, 0]),
        ("no payload", |made| made.payload.clear()),
    ];
    let tcp: [Change; 9] = [
        ("window", |made| made.window = 9),
        ("acknowledgement", |made| made.acknowledgement += 1),
        ("sequence", |made| made.sequence += 1),
        ("FIN", |made| made.flags |= FIN),
        ("URG", |made| made.flags |= 0x20),
        ("ECE", |made| made.flags |= 0x40),
        ("CWR", |made| made.flags |= CWR),
        ("no ACK", |made| made.flags = 0),
        ("options", |made| made.options[7] += 1),
    ];
    for is_ipv4 in [true, false] {
        for (what, change) in both {
            for is_tcp in [true, false] {
                let mut made = run(is_ipv4, is_tcp, 3, 100);
                change(&mut made[1]);
                assert_eq!(groups(&octets(&made)), [1, 1, 1], "{what}, {is_ipv4} {is_tcp}");
            }
        }
        for (what, change) in tcp {
            let mut made = run(is_ipv4, true, 3, 100);
            change(&mut made[1]);
            assert_eq!(groups(&octets(&made)), [1, 1, 1], "{what}, {is_ipv4}");
        }
        for is_tcp in [true, false] {
            // Octets of the packet: identification, checksum of IP, fragments, and of TCP or UDP.
            let at = if is_ipv4 { 20 } else { 40 };
            let mut places = vec![at + if is_tcp { 16 } else { 6 }, at + 30];
            places.extend(if is_ipv4 { &[1, 2, 4, 6, 7, 10][..] } else { &[1, 3, 4][..] });
            for place in places {
                let mut packets = octets(&run(is_ipv4, is_tcp, 3, 100));
                packets[1][place] ^= 0x21;
                assert_eq!(groups(&packets), [1, 1, 1], "octet {place}, {is_ipv4} {is_tcp}");
            }
        }
    }
    let mut packets = octets(&run(true, false, 3, 100));
    packets[1][26..28].fill(0);
    assert_eq!(groups(&packets), [1, 1, 1], "a datagram without checksum");
}

#[test]
fn wrong_checksums_stay_wrong() {
    let mut packets = octets(&run(true, true, 4, 100));
    packets[0][60] ^= 1;
    assert_eq!(groups(&packets), [1, 3]);
    packets[3][60] ^= 1;
    assert_eq!(groups(&packets), [1, 2, 1]);
}

/// Flows that come mixed are sorted apart; a fragment may be of any flow, so that none goes on before it.
#[test]
fn flows_are_told_apart_and_fragments_hold_all_of_them_back() {
    let mut mixed = Vec::new();
    for (first, second) in run(true, true, 8, 90).into_iter().zip(run(true, true, 8, 90)) {
        mixed.extend([first.octets(), Made { flow: 2, ..second }.octets()]);
    }
    assert_eq!(groups(&mixed), [8, 8]);
    let mut fragment = Made::udp(true, 9, 64).octets();
    fragment[6] = 0x20;
    mixed.insert(6, fragment.clone());
    assert_eq!(groups(&mixed), [3, 3, 1, 5, 5]);
    // Another protocol is another flow.
    mixed[6][6] = 0;
    mixed[6][9] = 1;
    assert_eq!(groups(&mixed), [8, 8, 1]);
}

/// More flows than places in a row of the table: none of them is lost or overtaken.
#[test]
fn a_crowd_of_flows_is_kept_in_order() {
    let mut rng = Rng::with_seed(7);
    for _ in 0..50 {
        let packets: Vec<Vec<u8>> = (0..PACKETS_MAX)
            .map(|place| {
                let flow = rng.u8(..);
                Made { flow, ..Made::udp(true, u16::try_from(place).unwrap(), 40) }.octets()
            })
            .collect();
        let left = leave(&packets, ALL);
        let mut numbers: Vec<usize> = left.iter().flat_map(|(_, members)| members.clone()).collect();
        for flow in 0..=u8::MAX {
            let own: Vec<usize> =
                numbers.iter().copied().filter(|number| packets[*number][19] == flow).collect();
            assert!(own.is_sorted(), "{flow}");
        }
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..PACKETS_MAX));
    }
}

/// Packets of some flows, with all that may be wrong with one; the flow is what the order is kept of.
fn random_packets(rng: &mut Rng) -> Vec<(Option<u8>, Vec<u8>)> {
    let mut flows: Vec<Made> = (0..4)
        .map(|flow| {
            let (is_ipv4, payload) = (rng.bool(), rng.usize(1..1449));
            let made = match rng.bool() {
                true => Made::tcp(is_ipv4, rng.u32(..), rng.u16(..), payload),
                false => Made::udp(is_ipv4, rng.u16(..), payload),
            };
            Made { flow, ..made }
        })
        .collect();
    let count = rng.usize(0..=PACKETS_MAX);
    let mut packets = Vec::new();
    for _ in 0..count {
        let flow = rng.u8(0..4);
        let next = &mut flows[usize::from(flow)];
        let mut made = next.clone();
        if rng.u8(..) < 10 {
            match rng.u8(0..6) {
                0 => made.flags |= 1 << rng.u8(0..8),
                1 => made.payload.truncate(rng.usize(0..1448)),
                2 => made.window ^= 1,
                3 => made.hop_limit ^= 1,
                4 => made.between = vec![0, 0, 1, 4, 0, 0, 0, 0],
                _ => made.number ^= 0x40,
            }
        }
        let octets = u32::try_from(made.payload.len()).unwrap();
        (next.sequence, next.number) = (next.sequence.wrapping_add(octets), next.number.wrapping_add(1));
        if rng.u8(..) < 12 {
            next.window ^= 3;
        }
        let mut packet = made.octets();
        let sound = packet.clone();
        if rng.u8(..) < 6 {
            let at = rng.usize(..packet.len());
            packet[at] ^= 1 << rng.u8(0..8);
        }
        if rng.u8(..) < 3 {
            packet.truncate(rng.usize(..packet.len()));
        }
        // With other octets it may be of any other flow.
        packets.push(((packet == sound).then_some(flow), packet));
    }
    packets
}

#[test]
fn whatever_leaves_comes_again_as_it_was_and_in_order() {
    let mut rng = Rng::with_seed(29_060);
    let (mut joined, mut all) = (0, 0);
    for _ in 0..300 {
        let (flows, packets): (Vec<Option<u8>>, Vec<Vec<u8>>) = random_packets(&mut rng).into_iter().unzip();
        let left = leave(&packets, ALL);
        let mut again = Vec::new();
        for (octets, members) in &left {
            let parts = come(octets);
            assert_eq!(parts.len(), members.len());
            again.extend(members.iter().copied().zip(parts));
        }
        assert_eq!(again.len(), packets.len());
        for flow in 0..4 {
            let mut order =
                again.iter().map(|(number, _)| *number).filter(|number| flows[*number] == Some(flow));
            assert!(order.by_ref().is_sorted());
        }
        let mut numbers: Vec<usize> = again.iter().map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..packets.len()));
        assert!(again.iter().all(|(number, octets)| *octets == packets[*number]));
        joined += left.iter().filter(|(_, members)| members.len() > 1).count();
        all += left.len();
    }
    assert!(joined > all / 20, "{joined} of {all} were joined");
}

/// A super-packet of the kernel: the flags of its ends, identifications and sequence numbers past their largest.
#[test]
fn a_super_packet_is_cut_by_the_rules_of_tcp() {
    for is_ipv4 in [true, false] {
        let whole = Made { flags: ACK | PSH | FIN | CWR, ..Made::tcp(is_ipv4, 0xffff_fe00, 0xffff, 1000) };
        let mut packet = whole.octets();
        let transport = if is_ipv4 { 20 } else { 40 };
        let at = transport + 16;
        // The sum of the pseudo header, as the kernel leaves it.
        let len = u16::try_from(packet.len() - transport).unwrap().to_be_bytes();
        let addresses = if is_ipv4 { &packet[12..20] } else { &packet[8..40] };
        let pseudo = [addresses, &[0, 6], &len].concat();
        let sum = !plain_checksum(&pseudo, &[]);
        packet[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        let header = OffloadHeader {
            needs_checksum: true,
            segments: if is_ipv4 { Segments::Tcp4 } else { Segments::Tcp6 },
            header_len: 0,
            segment_len: 400,
            checksum_start: u16::try_from(transport).unwrap(),
            checksum_offset: 16,
        };
        let parts = come(&[&header.octets()[..], &packet].concat());
        let expected: Vec<Vec<u8>> = [(0..400, ACK | CWR), (400..800, ACK), (800..1000, ACK | PSH | FIN)]
            .into_iter()
            .zip([0xffff, 0, 1])
            .map(|((range, flags), number)| {
                let sequence = whole.sequence.wrapping_add(u32::try_from(range.start).unwrap());
                let payload = whole.payload[range].to_vec();
                Made { flags, sequence, number, payload, ..whole.clone() }.octets()
            })
            .collect();
        assert_eq!(parts, expected);
        // As one packet whose checksum only is missing.
        let single = OffloadHeader { segments: Segments::None, ..header };
        assert_eq!(come(&[&single.octets()[..], &packet].concat()), [whole.octets()]);
    }
}

#[test]
fn a_header_that_does_not_fit_is_refused() {
    let packets = octets(&run(true, true, 4, 100));
    let (octets, _) = leave(&packets, ALL).remove(0);
    let good = OffloadHeader::parse(octets.first_chunk().unwrap()).unwrap();
    let packet = &octets[HEADER..];
    assert!(Cutter::new(&good, packet).is_some());
    for bad in [
        OffloadHeader { needs_checksum: false, ..good },
        OffloadHeader { segment_len: 0, ..good },
        OffloadHeader { checksum_start: 24, ..good },
        OffloadHeader { checksum_offset: 6, ..good },
        OffloadHeader { segments: Segments::Tcp6, ..good },
        OffloadHeader { segments: Segments::Udp, ..good },
        OffloadHeader { segments: Segments::None, ..good },
    ] {
        assert!(Cutter::new(&bad, packet).is_none(), "{bad:?}");
    }
    assert!(Cutter::new(&good, &packet[..52]).is_none(), "headers alone");
    assert!(Cutter::new(&good, &[]).is_none());
    let far = OffloadHeader { segments: Segments::None, checksum_start: 65_535, ..good };
    assert!(!complete(&far, &mut packet.to_vec()));
    assert!(Cutter::new(&good, packet).unwrap().cut(&mut [0; 151]).is_none(), "no room");
}

#[test]
fn garbage_is_neither_cut_nor_joined_nor_a_panic() {
    let mut rng = Rng::with_seed(768);
    let mut room = vec![0; 70_000];
    let mut cut = 0;
    for _ in 0..20_000 {
        let packets = octets(&run(rng.bool(), rng.bool(), 3, rng.u16(1..300)));
        let (mut octets, _) = leave(&packets, ALL).remove(0);
        for _ in 0..rng.usize(0..3) {
            let at = rng.usize(..octets.len().min(80));
            octets[at] = rng.u8(..);
        }
        octets.truncate(rng.usize(..=octets.len()));
        let header = octets.first_chunk().and_then(OffloadHeader::parse);
        let Some(header) = header else { continue };
        let mut packet = octets[HEADER..].to_vec();
        let _ = complete(&header, &mut packet);
        if let Some(mut cutter) = Cutter::new(&header, &octets[HEADER..]) {
            let left = cutter.left();
            let lens: Vec<usize> = core::iter::from_fn(|| cutter.cut(&mut room)).collect();
            assert_eq!(lens.len(), left);
            cut += 1;
        }
        let garbage: Vec<Vec<u8>> = (0..8)
            .map(|_| {
                let len = rng.usize(..80);
                core::iter::repeat_with(|| rng.u8(..)).take(len).collect()
            })
            .chain([packet])
            .collect();
        assert_eq!(leave(&garbage, ALL).iter().map(|(_, members)| members.len()).sum::<usize>(), 9);
    }
    assert!(cut > 1000);
}
