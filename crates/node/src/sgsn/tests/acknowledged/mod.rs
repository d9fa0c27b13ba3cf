//! Acknowledged mode and compression, with a phone that has both.

mod handset;
mod links;
mod places;

use super::bench::*;
use crate::sgsn::*;
use gannet_machine::drops::Drop;
use gannet_proto::llc::{Algorithm, Ciphering};
use gannet_proto::sndcp::compression::{Agreed, CompressionConfig, Offer, V42bisLimits};
use gannet_proto::sndcp::{Sndcp, SndcpConfig};
use gannet_proto::user_plane::UserPlaneConfig;
use gannet_wire::id::Sapi;
use gannet_wire::l3::ie::ReliabilityClass;
use handset::Handset;

const SIX: Nsapi = Nsapi(6);

fn compressing() -> UserPlaneConfig {
    let compression =
        CompressionConfig { rfc1144: Offer::Active(15), v42bis: Offer::Active(V42bisLimits::default()) };
    UserPlaneConfig { sndcp: SndcpConfig { compression, ..SndcpConfig::default() }, ..Default::default() }
}

/// Takes what the other end proposes.
fn taking() -> UserPlaneConfig {
    let compression =
        CompressionConfig { rfc1144: Offer::Passive(15), v42bis: Offer::Passive(V42bisLimits::default()) };
    UserPlaneConfig { sndcp: SndcpConfig { compression, ..SndcpConfig::default() }, ..Default::default() }
}

/// A phone with one context in acknowledged mode, whose link is established.
fn handset(seed: u64) -> Handset {
    let mut handset = Handset::new(seed, UserPlaneConfig::default(), |_| ());
    assert_eq!(handset.activate(NSAPI, 2), ReliabilityClass::TWO);
    assert!(is_established(&handset));
    handset
}

fn is_established(handset: &Handset) -> bool {
    let sndcp = handset.bench.mobile(0).sndcp();
    handset.sndcp.is_established(Sapi::DATA3) && sndcp.is_some_and(|sndcp| sndcp.is_established(Sapi::DATA3))
}

#[test]
fn nothing_is_lost_up_or_down() {
    for (seed, loss) in [(1, 0.0), (2, 0.05), (3, 0.3)] {
        let mut handset = handset(seed);
        if seed == 2 {
            handset.cipher(Ciphering::with_kc(Algorithm::Gea3, [7; 8]).unwrap());
        }
        handset.loss = loss;
        handset.give(NSAPI, 0..150);
        handset.run();
        handset.assert_all(NSAPI, 150);
        assert_eq!(handset.bench.around.frames.free(), FRAMES);
        assert_eq!(handset.bench.sgsn.stats().n_pdu_confirmed, 150);
        let unexpected = [Drop::LlcBadFcs, Drop::SndcpGap, Drop::SndcpUnconfirmed, Drop::FlowQueueFull];
        assert_eq!(unexpected.map(|drop| handset.bench.dropped(drop)), [0; 4], "{loss}");
        let repeated = handset.bench.mobile(0).llc.abm(Sapi::DATA3).unwrap().retransmissions();
        assert!(repeated > 0 || loss == 0.0, "a queue may make T201 run out as well");
    }
}

#[test]
fn reliability_class_1_is_granted_as_2_and_3_has_no_link() {
    let mut handset = Handset::new(1, UserPlaneConfig::default(), |_| ());
    assert_eq!(handset.activate(NSAPI, 1), ReliabilityClass::TWO);
    assert!(handset.bench.mobile(0).is_acknowledged(NSAPI));
    let mut bare = Handset::new(1, UserPlaneConfig::default(), |_| ());
    assert_eq!(bare.activate(NSAPI, 3), ReliabilityClass::THREE);
    assert_eq!(bare.bench.mobile(0).sndcp(), None, "it costs nothing");
    let mut limited = Handset::new(1, UserPlaneConfig::default(), |config| {
        config.ceilings.reliability = ReliabilityClass::THREE;
    });
    assert_eq!(limited.activate(NSAPI, 2), ReliabilityClass::THREE);
}

#[test]
fn both_modes_at_once_with_compression() {
    let mut handset = Handset::new(4, taking(), |config| config.user_plane = compressing());
    handset.activate(SIX, 3);
    handset.activate(NSAPI, 2);
    assert!(is_established(&handset));
    let (data, headers) = agreed(&handset);
    assert_eq!((data.len(), headers.len()), (2, 2), "two algorithms, for each mode");
    handset.give(SIX, 0..40);
    handset.give(NSAPI, 0..40);
    handset.run();
    handset.assert_all(SIX, 40);
    handset.assert_all(NSAPI, 40);
    let counted = *handset.bench.mobile(0).sndcp().unwrap().counted();
    assert!(counted.sent > 2 * counted.sent_compressed, "{counted:?}");
    assert!(counted.received > 2 * counted.received_compressed, "{counted:?}");
    assert_eq!(handset.bench.drops(), []);
}

#[test]
fn what_is_not_confirmed_keeps_the_rest_in_its_queue() {
    let mut handset = handset(5);
    handset.is_cut = true;
    handset.to_phone.extend((0..100).map(|number| (NSAPI, vec![5, 0, number, 9])));
    handset.turns(20);
    let sndcp = handset.bench.mobile(0).sndcp().unwrap();
    assert_eq!(sndcp.unconfirmed_of(NSAPI), 64, "as many as may wait");
    let name = handset.bench.sgsn.context_name(handset.bench.slot(0), NSAPI).unwrap();
    let view = handset.bench.sgsn.flow_of(name).unwrap();
    assert!(view.blocked && view.queued.pdus == 12, "{view:?}");
    assert_eq!(handset.bench.drops(), []);
    handset.is_cut = false;
    handset.run();
    let heard: Vec<u8> = handset.heard.iter().map(|(_, n_pdu)| n_pdu[2]).collect();
    assert_eq!(heard, (0..100).collect::<Vec<_>>());
    assert_eq!(handset.bench.drops(), []);
}

#[test]
fn one_acknowledgement_for_each_request_does_not_wait_in_the_queue() {
    let mut handset = handset(7);
    let unconfirmed = |handset: &Handset| handset.bench.mobile(0).sndcp().unwrap().unconfirmed();
    let queued = |handset: &Handset| handset.bench.sgsn.uplink.as_ref().unwrap().queued();
    let answer_to = |handset: &mut Handset, number: u8| {
        handset.to_phone.push_back((NSAPI, vec![5, 0, number, 9]));
        handset.turn();
        handset.wait_for_answer();
        let [answer] = <[Vec<u8>; 1]>::try_from(handset.take_uplink()).unwrap();
        assert_eq!(unconfirmed(handset), 1);
        answer
    };
    let first = answer_to(&mut handset, 0);
    handset.bench.busy = true;
    handset.bench.up(0, &first);
    assert_eq!((unconfirmed(&handset), queued(&handset)), (0, 0));
    handset.bench.up(0, &first);
    assert_eq!(queued(&handset), 1, "nobody had asked for it");
    handset.bench.busy = false;
    handset.bench.collect();

    let second = answer_to(&mut handset, 1);
    handset.bench.busy = true;
    handset.bench.up(0, &first);
    handset.bench.up(0, &second);
    assert_eq!((unconfirmed(&handset), queued(&handset)), (1, 1), "the one before was that for the request");
    handset.bench.busy = false;
    handset.bench.collect();
    assert_eq!((unconfirmed(&handset), queued(&handset)), (0, 0));

    let mut third = answer_to(&mut handset, 2);
    handset.bench.busy = true;
    let fcs = third.last_mut().unwrap();
    *fcs ^= 1;
    handset.bench.up(0, &third);
    assert_eq!(queued(&handset), 0, "it was that for the request");
    handset.bench.up(0, &third);
    assert_eq!(queued(&handset), 1, "though it was damaged");
    let fcs = third.last_mut().unwrap();
    *fcs ^= 1;
    handset.bench.up(0, &third);
    handset.bench.busy = false;
    handset.bench.collect();
    assert_eq!((unconfirmed(&handset), queued(&handset)), (0, 0));

    let fourth = answer_to(&mut handset, 3);
    handset.bench.busy = true;
    handset.bench.unitdata(0, Sapi::DATA3, &[0x45, 0, 0, 0, 1]);
    handset.bench.up(0, &fourth);
    assert_eq!(
        (unconfirmed(&handset), queued(&handset)),
        (1, 2),
        "nothing overtakes what its mobile has sent before"
    );
    handset.bench.busy = false;
    handset.bench.collect();
    assert_eq!((unconfirmed(&handset), queued(&handset)), (0, 0));
}

#[test]
fn a_dead_link_is_told_and_goes_on_when_the_mobile_answers_a_page() {
    let mut handset = handset(6);
    handset.give(NSAPI, 0..30);
    handset.turns(3);
    handset.is_cut = true;
    handset.turns(60 * 50);
    assert!(handset.bench.sgsn.stats().links_lost > 0);
    assert!(handset.bench.dropped(Drop::LlcLinkUnanswered) > 0 && handset.pagings > 0);
    assert!(handset.bench.mobile(0).sndcp().unwrap().unconfirmed() > 0);
    handset.is_cut = false;
    handset.bench.beacon(0);
    handset.run();
    handset.assert_all(NSAPI, 30);
    assert!(is_established(&handset));
}

#[test]
fn the_last_context_takes_the_link_with_it() {
    let mut handset = handset(7);
    handset.activate(SIX, 2);
    handset.give(NSAPI, 0..10);
    handset.run();
    // The link stays as long as any context is in acknowledged mode; N-PDUs of the one that ends go by name.
    for (nsapi, unconfirmed, is_last) in [(SIX, 3_u8, false), (NSAPI, 4, true)] {
        let before = handset.bench.dropped(Drop::SndcpUnconfirmed);
        handset.is_cut = true;
        handset.to_phone.extend((0..unconfirmed).map(|_| (nsapi, vec![nsapi.0; 40])));
        handset.turns(2);
        assert_eq!(handset.bench.mobile(0).sndcp().unwrap().unconfirmed(), usize::from(unconfirmed));
        handset.is_cut = false;
        handset.deactivate(nsapi);
        assert_eq!(handset.bench.dropped(Drop::SndcpUnconfirmed) - before, u64::from(unconfirmed), "by name");
        assert_eq!(is_established(&handset), !is_last);
        let has_link = |llc: &gannet_proto::llc::LlcContext| llc.abm(Sapi::DATA3).is_some();
        assert_eq!(has_link(&handset.bench.mobile(0).llc), !is_last, "at the SGSN");
        assert_eq!(has_link(&handset.bench.phones[0].llc), !is_last, "the mobile was told");
        assert_eq!(handset.bench.mobile(0).sndcp().is_some(), !is_last);
    }
    assert_eq!(handset.bench.sgsn.stats().links_lost, 0, "nobody waits for it");
    assert_eq!(handset.bench.around.frames.free(), FRAMES);
}

#[test]
fn a_mobile_that_is_forgotten_leaves_nothing_and_its_n_pdus_go_by_name() {
    let mut handset = handset(11);
    handset.is_cut = true;
    handset.to_phone.extend((0..4).map(|number| (NSAPI, vec![5, 0, number, 9])));
    handset.turns(2);
    assert_eq!(handset.bench.mobile(0).sndcp().unwrap().unconfirmed(), 4);
    handset.bench.sent.clear();
    let slot = handset.bench.slot(0);
    handset.bench.sgsn.forget_all(&mut handset.bench.around.context());
    handset.bench.collect();
    assert!(handset.bench.sgsn.mobiles.get(slot).is_none());
    assert_eq!(handset.bench.dropped(Drop::SndcpUnconfirmed), 4, "each by name");
    assert_eq!(handset.bench.around.frames.free(), FRAMES);
}

#[test]
fn sabm_where_no_context_wants_it() {
    let configs = [(UserPlaneConfig::default(), false), (compressing(), true)];
    for (config, has_sndcp) in configs {
        let mut handset = Handset::new(8, taking(), |sgsn| sgsn.user_plane = config);
        handset.activate(NSAPI, 3);
        assert_eq!(handset.bench.mobile(0).sndcp().is_some(), has_sndcp);
        handset.with(|plane, cx| plane.activate(cx, (SIX, Sapi::DATA3), true));
        handset.drain();
        handset.turns(10);
        assert_eq!(handset.links_lost, 1, "DM");
        assert_eq!(handset.bench.drops(), [(Drop::LlcAbmRefused, 1)]);
        assert!(handset.bench.mobile(0).llc.abm(Sapi::DATA3).is_none());
    }
}

/// Each in its turn: what cannot be read, an algorithm of either kind that does not exist, and for all NSAPIs, under each number
/// of an entity, dictionaries of 65535 codewords with strings of 250 octets and 256 slots.
fn hostile_xids() -> Vec<Vec<u8>> {
    let mut blocks = vec![
        vec![],
        vec![0, 1, 0, 1, 255],
        vec![1, 7, 0x9f, 0x1f, 4, 0x10, 0xff, 0xff, 3, 2, 7, 0x9f, 0x1f, 4, 0x12, 0xff, 0xff, 255],
    ];
    for entity in 0x80..0xa0 {
        let data = [1, 10, entity, 0, 7, 0x10, 0xff, 0xe0, 3, 0xff, 0xff, 250];
        blocks.push([&data[..], &[2, 7, entity, 0, 4, 0x12, 0xff, 0xe0, 255]].concat());
    }
    blocks
}

/// What has been agreed to of V.42bis and of RFC 1144, each as (P1, P2) or S0 less one.
fn agreed(handset: &Handset) -> (Vec<(u16, u8)>, Vec<u8>) {
    let sndcp = handset.bench.mobile(0).sndcp().unwrap();
    let (mut data, mut headers) = (Vec::new(), Vec::new());
    for (_, agreed, _) in sndcp.compressions(Sapi::DATA3).unwrap().agreed() {
        match agreed {
            Agreed::V42bis { limits, .. } => data.push((limits.p1, limits.p2)),
            Agreed::Rfc1144 { s0_minus_1, .. } => headers.push(s0_minus_1),
        }
    }
    (data, headers)
}

/// The SGSN has answered all that hostile XIDs ask for; gives the most memory that compression took at any time under N-PDUs of
/// which each octet teaches something.
fn after_hostile_xids(handset: &mut Handset) -> usize {
    for block in hostile_xids() {
        let Handset { bench, out, .. } = handset;
        let llc = &mut bench.phones[0].llc;
        llc.layer3_xid_request(&mut bench.air.context(), Sapi::DATA3, block, &mut out.llc);
        handset.drain();
        handset.turns(20);
    }
    let mut rng = gannet_machine::rng::Rng::seeded(1);
    let mut noise = || (0..1200).map(|_| rng.u32().to_be_bytes()[0] | 1).collect::<Vec<u8>>();
    handset.to_phone.extend((0..20).map(|_| (NSAPI, noise())));
    let octets = |handset: &Handset| handset.bench.mobile(0).sndcp().map_or(0, Sndcp::compression_octets);
    (0..200).map(|_| (handset.turn(), octets(handset)).1).max().unwrap_or(0)
}

#[test]
fn a_hostile_xid_changes_nothing_where_compression_is_refused() {
    let mut handset = handset(9);
    assert_eq!((after_hostile_xids(&mut handset), agreed(&handset)), (0, (vec![], vec![])));
    assert_eq!(handset.bench.dropped(Drop::SndcpBadXid), 1, "that whose end is missing");
    assert_eq!(handset.bench.dropped(Drop::SndcpAlgorithmRefused), 66, "each that was proposed, by name");
    assert!(is_established(&handset));
    let noise = core::mem::take(&mut handset.heard);
    assert_eq!(noise.len(), 20);
    handset.give(NSAPI, 0..20);
    handset.run();
    handset.assert_all(NSAPI, 20);
}

#[test]
fn a_hostile_xid_gets_no_more_of_compression_than_the_operator_agrees_to() {
    let mut handset = Handset::new(9, taking(), |sgsn| sgsn.user_plane = compressing());
    handset.activate(NSAPI, 2);
    let most = after_hostile_xids(&mut handset);
    let (data, headers) = agreed(&handset);
    assert_eq!(
        (data, headers),
        (vec![(2048, 20)], vec![15]),
        "one for the NSAPI, and not as the mobile wants it"
    );
    // Each direction: eight octets a codeword, some 250 a slot (docs/conformance-sndcp.md).
    let limit = 2 * (8 * 2048 + 250 * 16);
    assert!((1..=limit).contains(&most), "{most} of {limit}");
    // The next context is served as ever.
    handset.deactivate(NSAPI);
    assert_eq!(handset.bench.mobile(0).sndcp(), None);
    handset.activate(NSAPI, 2);
    handset.heard.clear();
    handset.give(NSAPI, 0..20);
    handset.run();
    handset.assert_all(NSAPI, 20);
}
