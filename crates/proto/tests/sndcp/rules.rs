//! When what compression has learned ends, and what it may take at most, whatever a peer does.

use crate::harness::{BARE, End, SAPI, SURE};
use crate::names::{drops, give, mobile};
use crate::tcp::{segment, text};
use gannet_machine::drops::Drop;
use gannet_machine::frame::FramePool;
use gannet_proto::llc::LlcRole;
use gannet_proto::sndcp::compression::{CompressionConfig, Offer, V42bisLimits};
use gannet_proto::sndcp::rfc1144::{self, PacketType};
use gannet_proto::sndcp::{N_PDU_MAX, NPdu, SndcpConfig, SndcpOutput, v42bis};
use gannet_wire::id::Nsapi;
use gannet_wire::sndcp::Compression;

/// A packet of a TCP connection, compressed.
fn headers(peer: &mut rfc1144::Compressor, number: u16) -> (u8, Vec<u8>) {
    let packet = segment(number, u32::from(number) * 10, 1, &[7; 10]);
    let mut frame = FramePool::new(1).copy_of(&packet).unwrap();
    let pcomp = match peer.compress(&mut frame) {
        PacketType::Ip => 0,
        PacketType::UncompressedTcp => 1,
        PacketType::CompressedTcp => 2,
    };
    (pcomp, frame.to_vec())
}

/// The same without the number of the connection, as other compressors than ours send it.
fn nameless((pcomp, mut octets): (u8, Vec<u8>)) -> (u8, Vec<u8>) {
    assert_eq!((pcomp, octets[0] & 0x40), (2, 0x40));
    octets[0] &= !0x40;
    octets.remove(1);
    (pcomp, octets)
}

/// An N-PDU of unacknowledged mode.
fn bare(ms: &mut End, number: u16, (pcomp, octets): (u8, Vec<u8>)) -> bool {
    let frame = ms.around.frames.copy_of(&octets).unwrap();
    let n_pdu = NPdu { compression: Compression { dcomp: 0, pcomp }, number, ..NPdu::plain(BARE, frame) };
    ms.sndcp.restore_unitdata(&mut ms.around.context(), None, n_pdu).is_some()
}

/// An N-PDU of acknowledged mode.
fn sure(ms: &mut End, number: u8, (pcomp, octets): (u8, Vec<u8>)) -> Vec<SndcpOutput> {
    give(ms, &[&[0x45, pcomp, number][..], &octets].concat())
}

#[test]
fn after_a_restart_what_is_sent_builds_on_nothing() {
    let mut ms = mobile();
    let pcomp = |ms: &mut End, number: u16| {
        let packet = segment(number, u32::from(number) * 10, 1, &[7; 10]);
        let mut frame = ms.around.frames.copy_of(&packet).unwrap();
        ms.sndcp.compress_unitdata(BARE, &mut frame).pcomp
    };
    assert_eq!([0, 1, 2].map(|number| pcomp(&mut ms, number)), [1, 2, 2]);
    ms.sndcp.restore(&mut ms.around.context(), None);
    assert_eq!([3, 4].map(|number| pcomp(&mut ms, number)), [1, 2], "the whole header first");
}

#[test]
fn a_lost_n_pdu_is_told_to_the_decompressor_of_headers() {
    let (mut ms, mut peer) = (mobile(), rfc1144::Compressor::new(3));
    let sent: Vec<_> = (0..6).map(|number| headers(&mut peer, number)).collect();
    assert!(bare(&mut ms, 0, sent[0].clone()) && bare(&mut ms, 1, nameless(sent[1].clone())));
    // The next one is lost. That behind it may be of any connection.
    assert!(!bare(&mut ms, 3, nameless(sent[3].clone())));
    assert_eq!(drops(&ms), [(Drop::SndcpBadCompression, 1)]);
    assert!(!bare(&mut ms, 4, nameless(sent[4].clone())), "until one names its connection");
    assert!(bare(&mut ms, 5, sent[5].clone()));
    // It is not told to those of acknowledged mode, which lose nothing.
    let mut peer = rfc1144::Compressor::new(3);
    let first = headers(&mut peer, 0);
    assert!(matches!(*sure(&mut ms, 0, first), [SndcpOutput::NPdu(_)]));
    let second = nameless(headers(&mut peer, 1));
    assert!(bare(&mut ms, 9, (0, vec![1])));
    assert!(matches!(*sure(&mut ms, 1, second), [SndcpOutput::NPdu(_)]));
}

#[test]
fn an_establishment_forgets_what_acknowledged_mode_has_learned() {
    let mut ms = mobile();
    let (mut peer, mut peer_bare) = (rfc1144::Compressor::new(3), rfc1144::Compressor::new(3));
    assert!(matches!(*sure(&mut ms, 0, headers(&mut peer, 0)), [SndcpOutput::NPdu(_)]));
    assert!(bare(&mut ms, 0, headers(&mut peer_bare, 0)));
    let agreed: Vec<_> = ms.sndcp.compressions(SAPI).unwrap().agreed().collect();
    ms.tell(|sndcp, cx, setting, out| sndcp.establish_indication(cx, setting, (SAPI, None), out));
    while ms.out.sndcp.pop().is_some() {}
    assert!(bare(&mut ms, 1, headers(&mut peer_bare, 1)), "unacknowledged mode goes on");
    assert_eq!(ms.sndcp.compressions(SAPI).unwrap().agreed().collect::<Vec<_>>(), agreed);
    assert!(matches!(*sure(&mut ms, 1, headers(&mut peer, 1)), [SndcpOutput::Establish { .. }]));
    assert_eq!(drops(&ms), [(Drop::SndcpBadCompression, 1)]);
}

#[test]
fn a_reset_ends_all_agreements() {
    let mut ms = mobile();
    let mut peer = rfc1144::Compressor::new(3);
    assert!(bare(&mut ms, 0, headers(&mut peer, 0)));
    assert!(ms.sndcp.compression_octets() > 0);
    ms.sndcp.reset_indication();
    assert!(ms.sndcp.compressions(SAPI).unwrap().is_empty());
    assert_eq!(ms.sndcp.compression_octets(), 0);
    assert!(!bare(&mut ms, 0, headers(&mut peer, 1)));
    assert_eq!(drops(&ms), [(Drop::SndcpCompressed, 1)]);
}

/// An agreement of the peer's that differs in a parameter begins anew; one that differs in NSAPIs alone goes on.
#[test]
fn a_changed_parameter_resets_its_entity() {
    for (s0_minus_1, goes_on) in [(3, true), (2, false)] {
        let (mut ms, mut peer) = (mobile(), rfc1144::Compressor::new(2));
        assert!(bare(&mut ms, 0, headers(&mut peer, 0)));
        ms.tell(|sndcp, cx, setting, _| {
            sndcp.xid_indication(cx, setting, SAPI, &[2, 5, 1, 3, 0, 0x40, s0_minus_1]).unwrap();
        });
        assert_eq!(bare(&mut ms, 1, headers(&mut peer, 1)), goes_on);
    }
}

/// In acknowledged mode one dictionary serves all NSAPIs of its entity, in the order in which their N-PDUs go.
#[test]
fn nsapis_share_what_their_entity_has_learned() {
    let mut ms = mobile();
    ms.tell(|sndcp, cx, setting, out| {
        sndcp.activate(cx, setting, (Nsapi(7), SAPI), true, out);
        sndcp.xid_indication(cx, setting, SAPI, &[1, 4, 0, 2, 0, 0xa0]).unwrap();
    });
    while ms.out.sndcp.pop().is_some() {}
    let mut peer = v42bis::Compressor::new(v42bis::Parameters::DEFAULT);
    for number in 0..6 {
        for nsapi in [SURE, Nsapi(7)] {
            let n_pdu = text(1000);
            let mut out = [0; v42bis::compressed_max(N_PDU_MAX)];
            let len = peer.compress(&n_pdu, &mut out).unwrap();
            assert!(number < 3 || len < 500, "{number}: {len}");
            let outputs = give(&mut ms, &[&[0x40 | nsapi.0, 0x10, number][..], &out[..len]].concat());
            let [SndcpOutput::NPdu(found)] = &outputs[..] else { panic!("{outputs:?}") };
            assert_eq!((found.nsapi, &found.frame[..]), (nsapi, &n_pdu[..]));
        }
    }
}

/// What is little on the path and much behind it ends at the longest N-PDU.
#[test]
fn a_bomb_ends_at_the_longest_n_pdu() {
    let parameters = v42bis::Parameters::new(2048, 20).unwrap();
    let n_pdu = vec![b'a'; 12_000];
    let mut out = vec![0; v42bis::compressed_max(n_pdu.len())];
    let len = v42bis::Compressor::new(parameters).compress(&n_pdu, &mut out).unwrap();
    assert!(len < N_PDU_MAX, "{len}");
    let mut ms = mobile();
    let outputs = give(&mut ms, &[&[0x45, 0x10, 0][..], &out[..len]].concat());
    assert!(matches!(*outputs, [SndcpOutput::Establish { .. }]), "{outputs:?}");
    let frame = ms.around.frames.copy_of(&out[..len]).unwrap();
    let n_pdu = NPdu { compression: Compression { dcomp: 1, pcomp: 0 }, ..NPdu::plain(BARE, frame) };
    assert!(ms.sndcp.restore_unitdata(&mut ms.around.context(), None, n_pdu).is_none());
    assert_eq!(drops(&ms), [(Drop::SndcpBadCompression, 2)]);
    // Headers make an N-PDU longer, too.
    let mut peer = rfc1144::Compressor::new(3);
    assert!(bare(&mut ms, 1, headers(&mut peer, 0)));
    let (pcomp, octets) = headers(&mut peer, 1);
    assert!(!bare(&mut ms, 2, (pcomp, [&octets[..], &vec![0; N_PDU_MAX - 20]].concat())));
    assert_eq!(ms.drops(Drop::SndcpBadCompression), 3);
}

const CODEWORDS: usize = 600;
const SLOTS: usize = 4;

/// A peer that asks for the most, for every NSAPI, and teaches all that it can.
#[test]
fn memory_is_what_this_end_has_agreed_to() {
    let limits = V42bisLimits { p1: u16::try_from(CODEWORDS).unwrap(), p2: 250, p0: 3 };
    let last_slot = u8::try_from(SLOTS - 1).unwrap();
    let compression =
        CompressionConfig { rfc1144: Offer::Passive(last_slot), v42bis: Offer::Passive(limits) };
    let mut sgsn = End::new(LlcRole::Sgsn, SndcpConfig { compression, ..SndcpConfig::default() });
    let nsapis: Vec<Nsapi> = (5..16).map(Nsapi).collect();
    sgsn.tell(|sndcp, cx, setting, out| {
        for (number, nsapi) in (0..).zip(&nsapis) {
            sndcp.activate(cx, setting, (*nsapi, SAPI), false, out);
            let [high, low] = (1_u16 << nsapi.0).to_be_bytes();
            let mut block = vec![1, 10, 0x80 | number, 0, 7, 0x10, high, low, 3, 0xff, 0xff, 250];
            block.extend([2, 7, 0x80 | number, 0, 4, 0x12, high, low, 255]);
            sndcp.xid_indication(cx, setting, SAPI, &block).unwrap();
        }
    });
    let agreed = sgsn.sndcp.compressions(SAPI).unwrap().agreed().count();
    assert_eq!((agreed, sgsn.drops(Drop::SndcpEntityRefused)), (8, 14), "entities of a SAPI are few");
    let mut rng = fastrand::Rng::with_seed(1);
    for n in 0..60_u16 {
        for nsapi in &nsapis {
            // Without 0, which is the escape character: nearly each octet teaches a string.
            let noise: Vec<u8> = (0..1200).map(|_| rng.u8(1..)).collect();
            let mut frame = sgsn.around.frames.copy_of(&noise).unwrap();
            sgsn.sndcp.compress_unitdata(*nsapi, &mut frame);
            let mut packet = segment(n, 1, 1, &noise[..10]);
            packet[20..22].copy_from_slice(&n.to_be_bytes());
            let mut headers = sgsn.around.frames.copy_of(&packet).unwrap();
            sgsn.sndcp.compress_unitdata(*nsapi, &mut headers);
            packet[9] = u8::try_from(n % 256).unwrap();
            for (compression, octets) in
                [(Compression { dcomp: 1, pcomp: 0 }, &noise), (Compression { dcomp: 0, pcomp: 1 }, &packet)]
            {
                let frame = sgsn.around.frames.copy_of(octets).unwrap();
                let n_pdu = NPdu { compression, ..NPdu::plain(*nsapi, frame) };
                let _ = sgsn.sndcp.restore_unitdata(&mut sgsn.around.context(), None, n_pdu);
            }
        }
    }
    let octets = sgsn.sndcp.compression_octets();
    let of_nsapi = 2 * (8 * CODEWORDS + 200 * SLOTS);
    assert!(octets <= 4 * of_nsapi, "{octets} of {}", 4 * of_nsapi);
    assert!(octets > 2 * of_nsapi, "and the dictionaries are full: {octets}");
}
