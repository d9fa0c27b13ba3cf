use super::*;
use crate::sndcp::N_PDU_MAX;
use gannet_machine::frame::{Frame, FramePool};

/// Five octets of data in a segment of a connection, its identification 1.
const FIRST: [u8; 45] = [
    0x45, 0, 0, 45, 0, 1, 0x40, 0, 64, 6, 0x26, 0xc8, 10, 0, 0, 1, 10, 0, 0, 2, // IP
    0x04, 0, 0, 80, 0, 0, 0, 10, 0, 0, 0, 20, 0x50, 0x10, 0x20, 0, 0x12, 0x34, 0, 0, // TCP
    b'h', b'e', b'l', b'l', b'o',
];

/// The next segment of the same connection: these octets are others.
fn next(changes: &[(usize, u8)]) -> [u8; 45] {
    let mut packet = FIRST;
    for (at, octet) in changes {
        packet[*at] = *octet;
    }
    packet[10..12].fill(0);
    let (words, _) = packet[..20].as_chunks::<2>();
    let sum: u32 = words.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum();
    let sum = !u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap();
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

fn frame(octets: &[u8]) -> Frame {
    FramePool::new(1).copy_of(octets).unwrap()
}

fn compress(compressor: &mut Compressor, packet: &[u8]) -> (PacketType, Vec<u8>) {
    let mut frame = frame(packet);
    let packet_type = compressor.compress(&mut frame);
    (packet_type, frame.to_vec())
}

fn decompress(own: &mut Decompressor, packet_type: PacketType, octets: &[u8]) -> Result<Vec<u8>, Error> {
    let mut frame = frame(octets);
    own.decompress(packet_type, &mut frame).map(|()| frame.to_vec())
}

#[test]
fn the_first_packet_is_right() {
    assert_eq!(FIRST, next(&[]));
}

#[test]
fn pcomp_values_tell_the_types_apart() {
    let all = [PacketType::Ip, PacketType::UncompressedTcp, PacketType::CompressedTcp];
    assert_eq!(all.map(|packet_type| packet_type.pcomp([3, 7])), [0, 3, 7]);
    assert_eq!([0, 3, 7].map(|value| PacketType::of(value, [3, 7])), all.map(Some));
    assert_eq!(PacketType::of(4, [3, 7]), None);
}

/// A packet after the first one: what is different, and its octets as they are sent.
type Vector = (&'static [(usize, u8)], &'static [u8]);

#[test]
fn octet_vectors() {
    let vectors: [Vector; 9] = [
        // All data behind it: SPECIAL_D.
        (&[(5, 2), (27, 15)], &[0x4f, 0, 0x12, 0x34]),
        // Echo: SPECIAL_I, with PSH.
        (&[(5, 2), (27, 15), (31, 25), (33, 0x18)], &[0x5b, 0, 0x12, 0x34]),
        // Other deltas, and an identification that jumps.
        (&[(5, 9), (27, 12), (31, 21)], &[0x6c, 0, 0x12, 0x34, 1, 2, 8]),
        // The window shrinks by one: three octets.
        (&[(5, 2), (34, 0x1f), (35, 0xff)], &[0x42, 0, 0x12, 0x34, 0, 0xff, 0xff]),
        // A delta of 256 does not fit in an octet.
        (&[(5, 2), (30, 1)], &[0x44, 0, 0x12, 0x34, 0, 1, 0]),
        // URG with an urgent pointer of 0; an identification that stands still.
        (&[(27, 15), (33, 0x30)], &[0x69, 0, 0x12, 0x34, 0, 0, 0, 5, 0, 0, 0]),
        // Nothing new in a packet with data: a retransmission, which goes whole.
        (&[(5, 2)], &[]),
        // What would look like the two special cases.
        (&[(5, 2), (27, 15), (35, 1), (33, 0x30), (39, 7)], &[]),
        // A congestion mark can't be told.
        (&[(5, 2), (27, 15), (33, 0x50)], &[]),
    ];
    for (changes, header) in vectors {
        let (mut compressor, mut decompressor) = (Compressor::new(15), Decompressor::new(15));
        let first = compress(&mut compressor, &FIRST);
        let mut with_slot = FIRST;
        with_slot[9] = 0;
        assert_eq!(first, (PacketType::UncompressedTcp, with_slot.to_vec()));
        assert_eq!(decompress(&mut decompressor, first.0, &first.1), Ok(FIRST.to_vec()));
        let packet = next(changes);
        let (packet_type, octets) = compress(&mut compressor, &packet);
        if header.is_empty() {
            assert_eq!(packet_type, PacketType::UncompressedTcp, "{changes:?}");
        } else {
            assert_eq!(
                (packet_type, &octets[..]),
                (PacketType::CompressedTcp, &[header, b"hello"].concat()[..])
            );
        }
        assert_eq!(decompress(&mut decompressor, packet_type, &octets), Ok(packet.to_vec()), "{changes:?}");
    }
}

#[test]
fn nothing_stays_urgent() {
    let (mut compressor, mut decompressor) = (Compressor::new(15), Decompressor::new(15));
    // An urgent pointer of 0 is the same without URG; the last packet is a special case but for that.
    for (changes, expected) in [
        (&[(33, 0x30)][..], PacketType::UncompressedTcp),
        (&[(5, 2), (27, 15)], PacketType::UncompressedTcp),
        (&[(5, 3), (27, 20)], PacketType::CompressedTcp),
    ] {
        let packet = next(changes);
        let (packet_type, octets) = compress(&mut compressor, &packet);
        assert_eq!(packet_type, expected);
        assert_eq!(decompress(&mut decompressor, packet_type, &octets), Ok(packet.to_vec()));
    }
    // An end that compresses it all the same means that it is not urgent.
    decompress(&mut decompressor, PacketType::UncompressedTcp, &next(&[(9, 0), (33, 0x30)])).unwrap();
    let special = [0x4f, 0, 0x12, 0x34, b'h', b'e', b'l', b'l', b'o'];
    let restored = decompress(&mut decompressor, PacketType::CompressedTcp, &special);
    assert_eq!(restored, Ok(next(&[(5, 2), (27, 15)]).to_vec()));
}

#[test]
fn what_cannot_be_restored_goes_as_it_is() {
    let mut wrong_checksum = FIRST;
    wrong_checksum[11] ^= 1;
    let longer = [&FIRST[..], &[0]].concat();
    let others: [&[u8]; 10] = [
        &[],
        &FIRST[..39],
        &next(&[(0, 0x65)]),
        &next(&[(9, 17)]),
        &next(&[(6, 0x20)]),
        &next(&[(7, 1)]),
        &next(&[(33, 0x12)]),
        &next(&[(33, 0x00)]),
        &wrong_checksum,
        &longer,
    ];
    let mut compressor = Compressor::new(15);
    for packet in others {
        assert_eq!(compress(&mut compressor, packet), (PacketType::Ip, packet.to_vec()));
    }
    assert_eq!(compressor, Compressor::new(15), "no slot was taken");
    let mut decompressor = Decompressor::new(15);
    assert_eq!(decompress(&mut decompressor, PacketType::Ip, b"any"), Ok(b"any".to_vec()));
}

#[test]
fn slots_go_round_by_last_use() {
    let slot = |compressor: &mut Compressor, port: u8| {
        let (packet_type, octets) = compress(compressor, &next(&[(21, port)]));
        assert_eq!(packet_type, PacketType::UncompressedTcp);
        octets[9]
    };
    let mut compressor = Compressor::new(2);
    assert_eq!([1, 2, 3].map(|port| slot(&mut compressor, port)), [0, 1, 2]);
    assert_eq!(slot(&mut compressor, 1), 0, "known, and now the last used");
    assert_eq!([4, 5, 2].map(|port| slot(&mut compressor, port)), [1, 2, 0]);
    let mut one = Compressor::new(0);
    assert_eq!([1, 2, 1].map(|port| slot(&mut one, port)), [0, 0, 0]);
    let mut all = Compressor::new(255);
    assert_eq!((0..=255).map(|port| slot(&mut all, port)).collect::<Vec<_>>(), (0..=255).collect::<Vec<_>>());
}

#[test]
fn errors_have_names_and_change_no_slot() {
    let mut own = Decompressor::new(15);
    let with_slot = |slot| next(&[(9, slot)]);
    assert_eq!(decompress(&mut own, PacketType::CompressedTcp, &[]), Err(Error::Truncated));
    assert_eq!(decompress(&mut own, PacketType::CompressedTcp, &[0, 1, 2, 3]), Err(Error::Tossed));
    assert_eq!(decompress(&mut own, PacketType::CompressedTcp, &[0x4f, 3, 1, 2]), Err(Error::SlotEmpty(3)));
    assert_eq!(
        decompress(&mut own, PacketType::CompressedTcp, &[0x4f, 16, 1, 2]),
        Err(Error::SlotOutOfRange(16))
    );
    assert_eq!(
        decompress(&mut own, PacketType::UncompressedTcp, &with_slot(16)),
        Err(Error::SlotOutOfRange(16))
    );
    assert_eq!(decompress(&mut own, PacketType::UncompressedTcp, &FIRST[..39]), Err(Error::NotTcp));
    assert_eq!(decompress(&mut own, PacketType::UncompressedTcp, &next(&[(3, 39)])), Err(Error::NotTcp));
    assert_eq!(own, Decompressor::new(15));
    decompress(&mut own, PacketType::UncompressedTcp, &with_slot(3)).unwrap();
    let mut known = own.clone();
    known.lost();
    let too_long = [&[0x4f, 3, 1, 2][..], &[0; N_PDU_MAX - 39]].concat();
    assert_eq!(decompress(&mut own, PacketType::CompressedTcp, &too_long), Err(Error::TooLong));
    for len in 1..19 {
        let octets = &[0x6d, 3, 1, 2, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1][..len.min(15)];
        assert_eq!(decompress(&mut own, PacketType::CompressedTcp, octets), Err(Error::Truncated), "{len}");
    }
    let mut full = frame(&[0x4f, 3, 1, 2]);
    let free = full.headroom() - 35;
    assert!(full.push(free).is_some() && full.narrow(0, 4));
    full.copy_from_slice(&[0x4f, 3, 1, 2]);
    assert_eq!(own.decompress(PacketType::CompressedTcp, &mut full), Err(Error::NoRoom));
    assert_eq!(own, known);
}

#[test]
fn a_packet_without_slot_is_of_the_last_one_until_an_error() {
    let mut own = Decompressor::new(15);
    decompress(&mut own, PacketType::UncompressedTcp, &next(&[(9, 3)])).unwrap();
    let implicit: &[u8] = &[0x0f, 0x12, 0x34, b'h', b'e', b'l', b'l', b'o'];
    assert_eq!(
        decompress(&mut own, PacketType::CompressedTcp, implicit),
        Ok(next(&[(5, 2), (27, 15)]).to_vec())
    );
    own.lost();
    assert_eq!(decompress(&mut own, PacketType::CompressedTcp, implicit), Err(Error::Tossed));
    let explicit = [&[0x4f, 3][..], &implicit[1..]].concat();
    assert_eq!(
        decompress(&mut own, PacketType::CompressedTcp, &explicit),
        Ok(next(&[(5, 3), (27, 20)]).to_vec())
    );
    assert!(decompress(&mut own, PacketType::CompressedTcp, implicit).is_ok());
    own.reset();
    assert_eq!(own, Decompressor::new(15));
}

#[test]
fn states_travel_as_octets() {
    let (mut compressor, mut decompressor) = (Compressor::new(7), Decompressor::new(7));
    for packet in [next(&[(21, 1)]), next(&[(21, 2)]), next(&[(21, 1), (5, 2), (27, 15)])] {
        let (packet_type, octets) = compress(&mut compressor, &packet);
        decompress(&mut decompressor, packet_type, &octets).unwrap();
    }
    let image = postcard::to_stdvec(&(compressor.clone(), decompressor.clone())).unwrap();
    let arrived: (Compressor, Decompressor) = postcard::from_bytes(&image).unwrap();
    assert_eq!(arrived, (compressor.clone(), decompressor.clone()));
    for cut in 0..image.len() {
        assert!(postcard::from_bytes::<(Compressor, Decompressor)>(&image[..cut]).is_err(), "{cut}");
    }
    let octets = Vec::from(compressor);
    for (at, octet) in [(0, 0), (1, 9), (2, 0x25)] {
        let mut changed = octets.clone();
        changed[at] = octet;
        assert_eq!(Compressor::try_from(changed), Err(BadImage), "octet {at}");
    }
    let octets = Vec::from(decompressor);
    for (at, octet) in [(0, 0), (2, 8), (3, 9)] {
        let mut changed = octets.clone();
        changed[at] = octet;
        assert_eq!(Decompressor::try_from(changed), Err(BadImage), "octet {at}");
    }
}
