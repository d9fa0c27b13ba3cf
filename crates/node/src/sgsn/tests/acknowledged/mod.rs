//! Acknowledged mode and compression, with a phone that has both.

mod handset;
mod links;
mod places;

use super::bench::*;
use crate::sgsn::*;
use gannet_proto::drops::Drop;
use gannet_proto::llc::{Algorithm, Ciphering};
use gannet_proto::sndcp::SndcpConfig;
use gannet_proto::sndcp::compression::{CompressionConfig, Offer, V42bisLimits};
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
    let agreed = |handset: &Handset| {
        let sndcp = handset.bench.mobile(0).sndcp().unwrap();
        sndcp.compressions(Sapi::DATA3).unwrap().agreed().count()
    };
    assert_eq!(agreed(&handset), 4, "two algorithms, for each mode");
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
    let teid = handset.bench.sgsn.teid(handset.bench.slot(0), NSAPI).unwrap();
    let view = handset.bench.sgsn.flow_of(teid).unwrap();
    assert!(view.blocked && view.queued.pdus == 12, "{view:?}");
    assert_eq!(handset.bench.drops(), []);
    handset.is_cut = false;
    handset.run();
    let heard: Vec<u8> = handset.heard.iter().map(|(_, n_pdu)| n_pdu[2]).collect();
    assert_eq!(heard, (0..100).collect::<Vec<_>>());
    assert_eq!(handset.bench.drops(), []);
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
    handset.is_cut = true;
    handset.to_phone.extend((0..4).map(|number| (NSAPI, vec![5, 0, number, 9])));
    handset.turns(2);
    assert_eq!(handset.bench.mobile(0).sndcp().unwrap().unconfirmed(), 4);
    handset.bench.order(SgsnCommand::Detach { imsi: imsi(0), reattach: false });
    handset.bench.sent.clear();
    handset.bench.order(SgsnCommand::Deactivate { imsi: imsi(0), nsapi: NSAPI });
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

#[test]
fn a_hostile_xid_changes_nothing() {
    let hostile: [&[u8]; 4] = [
        &[],
        &[0, 1, 0, 1, 255],
        // An entity of all NSAPIs with 256 slots, and one with a dictionary of 65535 codewords.
        &[1, 6, 0x9f, 0x1f, 3, 0x10, 0xff, 0xff],
        &[2, 9, 0x9e, 0x1f, 6, 0x12, 0xff, 0xff, 3, 0xff, 0xff, 250],
    ];
    for (config, is_refused) in [(UserPlaneConfig::default(), true), (compressing(), false)] {
        let mut handset = Handset::new(9, taking(), |sgsn| sgsn.user_plane = config);
        handset.activate(NSAPI, 2);
        assert!(is_established(&handset));
        for block in hostile {
            let air = &mut handset.bench.air;
            handset.bench.phones[0].llc.layer3_xid_request(
                &mut air.context(),
                Sapi::DATA3,
                block.to_vec(),
                &mut handset.out.llc,
            );
            handset.drain();
            handset.turns(20);
        }
        let slot = handset.bench.slot(0);
        assert!(handset.bench.sgsn.copy_out(slot).unwrap().len() < 2048, "it takes no memory");
        assert!(is_established(&handset));
        if is_refused {
            assert!(handset.bench.dropped(Drop::SndcpBadXid) > 0);
            assert!(handset.bench.dropped(Drop::SndcpAlgorithmRefused) > 0);
            handset.give(NSAPI, 0..20);
            handset.run();
            handset.assert_all(NSAPI, 20);
        }
    }
}
