//! The codecs of SNDCP: what one end compresses the other restores, whatever it is, and whatever else arrives is refused by
//! name; after a loss both find together again as their clauses say. The figures that compression is there for.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking"
)]

#[path = "compression/tcp.rs"]
mod tcp;
#[path = "compression/text.rs"]
mod text;

use fastrand::Rng;
use gannet_machine::frame::{Frame, FramePool};
use gannet_proto::sndcp::rfc1144::{self, PacketType};
use gannet_proto::sndcp::{N_PDU_MAX, v42bis};
use gannet_testkit::helper::unhex;
use proptest::prelude::*;
use tcp::Segment;

fn frame(octets: &[u8]) -> Frame {
    FramePool::new(1).copy_of(octets).unwrap()
}

fn compress(own: &mut rfc1144::Compressor, packet: &[u8]) -> (PacketType, Vec<u8>) {
    let mut frame = frame(packet);
    let packet_type = own.compress(&mut frame);
    (packet_type, frame.to_vec())
}

fn decompress(
    own: &mut rfc1144::Decompressor,
    sent: &(PacketType, Vec<u8>),
) -> Result<Vec<u8>, rfc1144::Error> {
    let mut frame = frame(&sent.1);
    own.decompress(sent.0, &mut frame).map(|()| frame.to_vec())
}

fn deflate(own: &mut v42bis::Compressor, n_pdu: &[u8]) -> Vec<u8> {
    let mut out = vec![0; v42bis::compressed_max(n_pdu.len())];
    let len = own.compress(n_pdu, &mut out).unwrap();
    out.truncate(len);
    out
}

fn inflate(own: &mut v42bis::Decompressor, n_pdu: &[u8]) -> Result<Vec<u8>, v42bis::Error> {
    let mut out = vec![0; N_PDU_MAX];
    let len = own.decompress(n_pdu, &mut out)?;
    out.truncate(len);
    Ok(out)
}

fn parameters() -> impl Strategy<Value = v42bis::Parameters> {
    let codewords = prop_oneof![Just(512), Just(2048), Just(u16::MAX), 512..=u16::MAX];
    let string = prop_oneof![Just(6), Just(20), Just(250), 6_u8..=250];
    (codewords, string).prop_map(|(codewords, string)| v42bis::Parameters::new(codewords, string).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn headers_come_back(seed: u64, connections in 1_u16..40, last_slot in prop_oneof![Just(0), Just(15), any::<u8>()]) {
        let mut rng = Rng::with_seed(seed);
        let mut own = rfc1144::Compressor::new(last_slot);
        let mut other = rfc1144::Decompressor::new(last_slot);
        let (mut compressed, mut moved) = (0, rng.usize(..200));
        for packet in tcp::mixture(&mut rng, connections, 200) {
            let sent = compress(&mut own, &packet);
            prop_assert!(sent.1.len() <= packet.len());
            compressed += usize::from(sent.0 == PacketType::CompressedTcp);
            prop_assert_eq!(decompress(&mut other, &sent), Ok(packet));
            moved = moved.wrapping_sub(1);
            if moved == 0 {
                own = Vec::from(own).try_into().unwrap();
                other = Vec::from(other).try_into().unwrap();
            }
        }
        prop_assert!(compressed > 20 || connections > u16::from(last_slot) + 1, "{}", compressed);
    }

    #[test]
    fn no_octets_are_too_strange_for_headers(
        packets in prop::collection::vec((0_u8..3, prop::collection::vec(any::<u8>(), 0..100)), 0..30),
    ) {
        let mut own = rfc1144::Compressor::new(15);
        let mut other = rfc1144::Decompressor::new(15);
        let mut last = Segment::new(1);
        for (kind, octets) in packets {
            last.follow(3);
            let known = compress(&mut own, &last.emit());
            prop_assert!(decompress(&mut other, &known).is_ok(), "what is strange changes no other slot");
            prop_assert_eq!(compress(&mut rfc1144::Compressor::new(15), &octets).1.len(), octets.len());
            let packet_type = PacketType::of(kind, [1, 2]).unwrap();
            if let Ok(restored) = decompress(&mut other, &(packet_type, octets)) {
                prop_assert!(restored.len() <= N_PDU_MAX);
            }
        }
    }

    #[test]
    fn data_comes_back(seed: u64, parameters in parameters(), lens in prop::collection::vec(1_usize..=N_PDU_MAX, 1..40)) {
        let mut rng = Rng::with_seed(seed);
        let mut own = v42bis::Compressor::new(parameters);
        let mut other = v42bis::Decompressor::new(parameters);
        for len in lens {
            let n_pdu = text::any(&mut rng, len);
            let sent = deflate(&mut own, &n_pdu);
            prop_assert!(sent.len() <= n_pdu.len() * 3 / 2 + 64);
            prop_assert!(inflate(&mut other, &sent) == Ok(n_pdu));
            if rng.u8(..8) == 0 {
                own = Vec::from(own).try_into().unwrap();
                other = Vec::from(other).try_into().unwrap();
            }
        }
    }

    #[test]
    fn data_comes_back_alone(seed: u64, parameters in parameters(), lens in prop::collection::vec(1_usize..=N_PDU_MAX, 1..20)) {
        let mut rng = Rng::with_seed(seed);
        let mut own = v42bis::Compressor::new(parameters);
        let mut other = v42bis::Decompressor::new(parameters);
        for len in lens {
            let n_pdu = text::any(&mut rng, len);
            let (mut out, mut restored) = (vec![0; v42bis::compressed_max(len)], vec![0; N_PDU_MAX]);
            let Some(sent) = own.compress_alone(&n_pdu, &mut out).unwrap() else { continue };
            prop_assert!(sent < n_pdu.len());
            // Every other one is lost.
            if rng.bool() {
                let len = other.decompress_alone(&out[..sent], &mut restored).unwrap();
                prop_assert!(restored[..len] == n_pdu);
            }
        }
    }

    #[test]
    fn no_octets_are_too_strange_for_data(
        parameters in parameters(),
        begins_compressed: bool,
        n_pdus in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..20),
    ) {
        let mut own = v42bis::Decompressor::new(parameters);
        for mut n_pdu in n_pdus {
            if begins_compressed {
                n_pdu.splice(..0, [0, 0]);
            }
            if inflate(&mut own, &n_pdu).is_err() {
                prop_assert_eq!(inflate(&mut own, &n_pdu), Err(v42bis::Error::OutOfStep));
                let image = Vec::from(own.clone());
                prop_assert!(v42bis::Decompressor::try_from(image).is_ok(), "and its state is sound");
                own.init();
            }
        }
        prop_assert!(Vec::from(own).len() <= 20 + 3 * usize::from(parameters.codewords()));
    }

    #[test]
    fn damage_is_over_with_the_next_beginning(seed: u64, parameters in parameters()) {
        let mut rng = Rng::with_seed(seed);
        let mut own = v42bis::Compressor::new(parameters);
        let mut other = v42bis::Decompressor::new(parameters);
        for _ in 0..20 {
            let n_pdu = text::any(&mut rng, 400);
            let mut sent = deflate(&mut own, &n_pdu);
            if rng.bool() {
                let at = rng.usize(..sent.len());
                sent[at] ^= 1 << rng.u8(..8);
            } else {
                sent.truncate(rng.usize(..sent.len()));
            }
            let _ = inflate(&mut other, &sent);
        }
        own.init();
        other.init();
        let n_pdu = text::any(&mut rng, 1000);
        prop_assert!(inflate(&mut other, &deflate(&mut own, &n_pdu)) == Ok(n_pdu));
    }
}

/// Octet for octet what the reference implementation makes, and back; with and without connection numbers.
#[test]
fn headers_as_the_reference_has_them() {
    let mut own = rfc1144::Compressor::new(15);
    let mut others = [rfc1144::Decompressor::new(15), rfc1144::Decompressor::new(15)];
    let mut count = 0;
    for line in include_str!("compression/rfc1144.txt").lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(' ').collect();
        let (packet, sent) = match fields.as_slice() {
            [packet, "i"] => {
                (unhex(packet), [(PacketType::Ip, unhex(packet)), (PacketType::Ip, unhex(packet))])
            }
            [packet, "u", slot] => {
                let octets = unhex(&[&packet[..18], *slot, &packet[20..]].concat());
                let sent = (PacketType::UncompressedTcp, octets);
                (unhex(packet), [sent.clone(), sent])
            }
            [packet, "c", headers @ ..] => {
                let packet = unhex(packet);
                let ip_len = usize::from(packet[0] & 0xf) * 4;
                let data = &packet[ip_len + usize::from(packet[ip_len + 12] >> 4) * 4..];
                let sent = |header| (PacketType::CompressedTcp, [&unhex(header)[..], data].concat());
                (packet.clone(), [sent(headers[0]), sent(headers[1])])
            }
            _ => {
                own.reset();
                others.iter_mut().for_each(rfc1144::Decompressor::reset);
                continue;
            }
        };
        assert_eq!(compress(&mut own, &packet), sent[0], "{line}");
        for (other, sent) in others.iter_mut().zip(&sent) {
            assert_eq!(decompress(other, sent), Ok(packet.clone()), "{line}");
        }
        count += 1;
    }
    assert_eq!(count, 360);
}

/// What gets lost makes later packets wrong in ways that TCP's checksum shows; what TCP then sends again puts it right.
#[test]
fn headers_after_losses() {
    let mut wrong_packets = 0;
    for seed in 0..200 {
        let mut rng = Rng::with_seed(seed);
        let mut own = rfc1144::Compressor::new(15);
        let mut other = rfc1144::Decompressor::new(15);
        let mut segment = Segment::new(1);
        for _ in 0..100 {
            segment.follow(rng.usize(..600));
            segment.acknowledgement = segment.acknowledgement.wrapping_add(rng.u32(..2));
            let packet = segment.emit();
            let sent = compress(&mut own, &packet);
            if rng.u8(..10) < 3 {
                other.lost();
                continue;
            }
            match decompress(&mut other, &sent) {
                Ok(restored) if restored == packet => {}
                Ok(restored) => {
                    assert!(!tcp::is_right(&restored), "seed {seed}");
                    wrong_packets += 1;
                }
                Err(error) => assert_eq!(error, rfc1144::Error::SlotEmpty(0)),
            }
        }
        // The last one again.
        for _ in 0..2 {
            let packet = segment.emit();
            let sent = compress(&mut own, &packet);
            assert_eq!(sent.0, PacketType::UncompressedTcp);
            assert_eq!(decompress(&mut other, &sent), Ok(packet));
        }
        segment.follow(100);
        let sent = compress(&mut own, &segment.emit());
        assert_eq!((sent.0, decompress(&mut other, &sent)), (PacketType::CompressedTcp, Ok(segment.emit())));
    }
    assert!(wrong_packets > 1000, "{wrong_packets}");
}

/// A download as TCP does it: data one way, an acknowledgement of each second segment the other way, and a loss now and then.
#[test]
fn headers_of_a_download_take_seven_octets() {
    let mut rng = Rng::with_seed(1);
    let (mut data, mut acknowledgement) = (Segment::new(1), Segment::new(1));
    (acknowledgement.source, acknowledgement.destination) = (data.destination, data.source);
    let (mut down, mut up) = (rfc1144::Compressor::new(15), rfc1144::Compressor::new(15));
    let (mut headers, mut packets) = (0, 0);
    for turn in 0..10_000 {
        data.follow(1460);
        if turn % 100 == 99 {
            // A retransmission goes back by a segment.
            data.sequence = data.sequence.wrapping_sub(1460);
        }
        headers += compress(&mut down, &data.emit()).1.len() - 1460;
        packets += 1;
        if turn % 2 == 1 {
            acknowledgement.follow(0);
            acknowledgement.acknowledgement = acknowledgement.acknowledgement.wrapping_add(2920);
            acknowledgement.window = 60_000 - rng.u16(..2) * 1460;
            headers += compress(&mut up, &acknowledgement.emit()).1.len();
            packets += 1;
        }
    }
    let average = f64::from(headers as u32) / f64::from(packets);
    assert!(average <= 7.0, "{average}");
}

/// Octets of a file behind each other in N-PDUs, and what they take.
fn ratio(parameters: v42bis::Parameters, file: &[u8]) -> f64 {
    let mut own = v42bis::Compressor::new(parameters);
    let sent: usize = text::n_pdus(file).map(|n_pdu| deflate(&mut own, n_pdu).len()).sum();
    f64::from(file.len() as u32) / f64::from(sent as u32)
}

#[test]
fn english_text_takes_half() {
    let file = text::ENGLISH.as_bytes();
    let found = ratio(v42bis::Parameters::new(4096, 20).unwrap(), file);
    assert!(found >= 2.0, "{found}");
    let with_defaults = ratio(v42bis::Parameters::DEFAULT, file);
    assert!(with_defaults >= 1.8, "{with_defaults}");
}

#[test]
fn compressed_data_grows_by_less_than_one_percent() {
    for parameters in [(512, 6), (2048, 20), (u16::MAX, 250)] {
        let parameters = v42bis::Parameters::new(parameters.0, parameters.1).unwrap();
        for seed in 0..5 {
            let noise = text::noise(&mut Rng::with_seed(seed), 200_000);
            let growth = 1.0 / ratio(parameters, &noise);
            assert!(growth <= 1.01, "{parameters:?}: {growth}");
        }
    }
    // A text between two such files.
    let noise = text::noise(&mut Rng::with_seed(9), 100_000);
    let file = [&noise, text::ENGLISH.as_bytes(), &noise].concat();
    let growth = 1.0 / ratio(v42bis::Parameters::DEFAULT, &file);
    assert!(growth < 0.96, "{growth}");
}
