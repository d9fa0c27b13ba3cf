//! RFC 1144 against the reference code of its appendix: both compressors octet for octet, both decompressors on the same arrivals.
//!
//! One thing is done otherwise on purpose. The special cases of the change mask say nothing of URG, and only a segment without URG
//! goes as one; but the RFC's decompressor leaves URG set behind a segment that had it. Our decompressor clears it, and our compressor
//! sends such a segment uncompressed, for those who have the RFC's code.

use crate::tcp::{self, URG};
use fastrand::Rng;
use gannet_machine::frame::FramePool;
use gannet_proto::sndcp::N_PDU_MAX;
use gannet_proto::sndcp::rfc1144::{Compressor, Decompressor, Error, PacketType};
use gannet_testkit::slcompress::{Reference, Type};

/// S0 as it may be negotiated, and the connections that share these slots.
const SLOTS: [(u16, u16); 6] = [(3, 2), (3, 9), (16, 16), (16, 40), (100, 120), (256, 300)];
const PACKETS: usize = 1000;

fn as_reference(packet_type: PacketType) -> Type {
    match packet_type {
        PacketType::Ip => Type::Ip,
        PacketType::UncompressedTcp => Type::UncompressedTcp,
        PacketType::CompressedTcp => Type::CompressedTcp,
    }
}

fn as_own(packet_type: Type) -> PacketType {
    match packet_type {
        Type::Ip => PacketType::Ip,
        Type::UncompressedTcp => PacketType::UncompressedTcp,
        Type::CompressedTcp => PacketType::CompressedTcp,
        Type::Error => panic!("a compressor knows no errors"),
    }
}

fn last_slot(slots: u16) -> u8 {
    u8::try_from(slots - 1).unwrap()
}

fn compress(own: &mut Compressor, packet: &[u8]) -> (PacketType, Vec<u8>) {
    let mut frame = FramePool::new(1).copy_of(packet).unwrap();
    (own.compress(&mut frame), frame.to_vec())
}

/// Both decompressors on one arrival.
struct Receivers {
    own: Decompressor,
    reference: Reference,
}

impl Receivers {
    fn new(slots: u16) -> Self {
        Self { own: Decompressor::new(last_slot(slots)), reference: Reference::start(slots).unwrap() }
    }

    fn reset(&mut self) {
        self.own.reset();
        self.reference.reset();
    }

    fn lost(&mut self) {
        self.own.lost();
        assert_eq!(self.reference.uncompress(Type::Error, &[]), None);
    }

    fn receive(
        &mut self,
        packet_type: PacketType,
        octets: &[u8],
    ) -> (Result<Vec<u8>, Error>, Option<Vec<u8>>) {
        if packet_type == PacketType::Ip {
            return (Ok(octets.to_vec()), Some(octets.to_vec()));
        }
        let mut frame = FramePool::new(1).copy_of(octets).unwrap();
        let own = self.own.decompress(packet_type, &mut frame).map(|()| frame.to_vec());
        let reference = self.reference.uncompress(as_reference(packet_type), octets);
        (own, without_forgotten_urgent(packet_type, octets, reference))
    }
}

/// Where a packet has the flags of TCP.
fn flags_at(packet: &[u8]) -> usize {
    usize::from(packet[0] & 0xf) * 4 + 13
}

fn flags(packet: &[u8]) -> u8 {
    packet[flags_at(packet)]
}

/// What the reference restores, without the URG that it leaves set in the special cases: all four bits, or all but A.
fn without_forgotten_urgent(went: PacketType, octets: &[u8], restored: Option<Vec<u8>>) -> Option<Vec<u8>> {
    let special = went == PacketType::CompressedTcp && matches!(octets[0] & 0x0f, 0x0b | 0x0f);
    restored.map(|mut packet| {
        let at = flags_at(&packet);
        if special {
            packet[at] &= !URG;
        }
        packet
    })
}

fn connection(packet: &[u8]) -> Vec<u8> {
    let ip_len = usize::from(packet[0] & 0xf) * 4;
    [&packet[12..20], &packet[ip_len..ip_len + 4]].concat()
}

/// Is this where we go uncompressed and the RFC's code would leave URG set?
fn forgets_urgent(last: Option<&Vec<u8>>, packet: &[u8]) -> bool {
    last.is_some_and(|last| flags(last) & URG != 0 && flags(packet) & URG == 0)
}

/// Packets that the compressors remember: of the last one of its connection.
struct Sent(Vec<(Vec<u8>, Vec<u8>)>);

impl Sent {
    fn last(&mut self, packet: &[u8], went: PacketType) -> Option<Vec<u8>> {
        if went == PacketType::Ip {
            return None;
        }
        let name = connection(packet);
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, last)) => Some(core::mem::replace(last, packet.to_vec())),
            None => {
                self.0.push((name, packet.to_vec()));
                None
            }
        }
    }
}

/// What either compressor makes of a packet is the same, octet for octet.
pub fn are_compressed_as_the_reference_does() {
    for (seed, (slots, connections)) in (0..).zip(SLOTS) {
        let mut rng = Rng::with_seed(seed);
        let mut own = Compressor::new(last_slot(slots));
        let mut reference = Reference::start(slots).unwrap();
        let mut sent = Sent(Vec::new());
        let (mut compressed, mut differ) = (0, 0);
        for (at, packet) in tcp::mixture(&mut rng, connections, PACKETS).iter().enumerate() {
            let (went, octets) = compress(&mut own, packet);
            let (expected, expected_octets) = reference.compress(false, packet);
            let last = sent.last(packet, went);
            if as_reference(went) == expected {
                assert!(octets == expected_octets, "{slots} slots, packet {at}");
            } else {
                assert!(
                    forgets_urgent(last.as_ref(), packet),
                    "{slots} slots, packet {at}: {went:?} {expected:?}"
                );
                assert_eq!((went, expected), (PacketType::UncompressedTcp, Type::CompressedTcp));
                differ += 1;
            }
            compressed += usize::from(went == PacketType::CompressedTcp);
        }
        assert!(
            compressed > PACKETS / 20 && differ < compressed / 10,
            "{slots} slots: {compressed}, {differ}"
        );
    }
}

/// What we compress the reference restores.
pub fn are_restored_by_the_reference() {
    for (seed, (slots, connections)) in (100..).zip(SLOTS) {
        let mut rng = Rng::with_seed(seed);
        let mut own = Compressor::new(last_slot(slots));
        let mut others = Receivers::new(slots);
        for (at, packet) in tcp::mixture(&mut rng, connections, PACKETS).into_iter().enumerate() {
            let (went, octets) = compress(&mut own, &packet);
            let (own, reference) = others.receive(went, &octets);
            assert_eq!(reference.as_ref(), Some(&packet), "{slots} slots, packet {at}");
            assert_eq!(own, Ok(packet), "{slots} slots, packet {at}");
        }
    }
}

/// What the reference compresses, with and without numbers of connections, we restore.
pub fn of_the_reference_are_restored() {
    for (seed, (slots, connections)) in (200..).zip(SLOTS) {
        for may_leave_out in [false, true] {
            let mut rng = Rng::with_seed(seed);
            let mut compressor = Reference::start(slots).unwrap();
            let mut others = Receivers::new(slots);
            for (at, packet) in tcp::mixture(&mut rng, connections, PACKETS).into_iter().enumerate() {
                let (went, octets) = compressor.compress(may_leave_out, &packet);
                let (own, reference) = others.receive(as_own(went), &octets);
                assert_eq!(reference.as_ref(), Some(&packet), "{slots} slots, packet {at}");
                assert_eq!(own, Ok(packet), "{slots} slots, packet {at}");
            }
        }
    }
}

/// Losses, which SNDCP notices or not: right or wrong, both restore the same, and refuse the same.
pub fn are_restored_as_the_reference_does_after_losses() {
    let mut tossed = [0; 2];
    for (seed, (slots, connections)) in (300..).zip(SLOTS) {
        for may_leave_out in [false, true] {
            let mut rng = Rng::with_seed(seed);
            let mut compressor = Reference::start(slots).unwrap();
            let mut others = Receivers::new(slots);
            let (mut wrong, mut known) = (0, vec![false; usize::from(slots)]);
            for (at, packet) in tcp::mixture(&mut rng, connections, PACKETS).into_iter().enumerate() {
                let (went, octets) = compressor.compress(may_leave_out, &packet);
                if rng.u8(..10) < 2 {
                    if rng.bool() {
                        others.lost();
                    }
                    continue;
                }
                let names = went == Type::CompressedTcp && octets[0] & 0x40 != 0;
                if names && !known[usize::from(octets[1])] {
                    // The reference makes up a header where it knows none.
                    let mut frame = FramePool::new(1).copy_of(&octets).unwrap();
                    let refused = others.own.decompress(as_own(went), &mut frame);
                    assert_eq!(refused, Err(Error::SlotEmpty(octets[1])));
                    others.lost();
                    continue;
                }
                if went == Type::UncompressedTcp {
                    known[usize::from(octets[9])] = true;
                }
                let (own, reference) = others.receive(as_own(went), &octets);
                assert_eq!(own.as_ref().ok(), reference.as_ref(), "{slots} slots, packet {at}");
                match own {
                    Ok(restored) => wrong += usize::from(restored != packet),
                    Err(error) => {
                        assert_eq!(error, Error::Tossed);
                        tossed[usize::from(may_leave_out)] += 1;
                    }
                }
            }
            assert!(wrong > 10, "{slots} slots: {wrong}");
        }
    }
    assert!(tossed[0] == 0 && tossed[1] > 10, "{tossed:?}");
}

/// Damage that got past the FCS: what we restore the reference restores to the same, and what it tosses we refuse.
pub fn with_damage_are_restored_as_the_reference_does() {
    for (seed, (slots, connections)) in (400..).zip(SLOTS) {
        let mut rng = Rng::with_seed(seed);
        let mut own = Compressor::new(last_slot(slots));
        let mut others = Receivers::new(slots);
        let (mut damaged, mut refused) = (0, 0);
        for (at, packet) in tcp::mixture(&mut rng, connections, PACKETS).into_iter().enumerate() {
            let (went, mut octets) = compress(&mut own, &packet);
            if rng.u8(..8) == 0 {
                let place = rng.usize(..octets.len().min(48));
                octets[place] ^= 1 << rng.u8(..8);
                octets.truncate(octets.len() - rng.usize(..3));
                damaged += 1;
            }
            let (restored, reference) = others.receive(went, &octets);
            match restored {
                Ok(restored) => {
                    assert!(restored.len() <= N_PDU_MAX);
                    assert_eq!(Some(restored), reference, "{slots} slots, packet {at}: {octets:02x?}");
                }
                // The reference has changed a slot meanwhile, or has made up a header: both begin again.
                Err(_) => {
                    refused += 1;
                    own.reset();
                    others.reset();
                }
            }
            if reference.is_none() {
                assert!(went != PacketType::Ip, "{slots} slots, packet {at}");
            }
        }
        assert!(damaged > 60 && refused > 5 && refused < damaged, "{slots} slots: {damaged}, {refused}");
    }
}
