//! Links that nobody establishes, or sends on, by himself.

use super::super::bench::*;
use super::handset::Handset;
use super::{SIX, handset, is_established};
use crate::sgsn::flows::Ingress;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_proto::llc::abm::{LinkConfig, Shared, Windows};
use gannet_proto::sndcp::N_PDU_MAX;
use gannet_proto::user_plane::UserPlaneConfig;
use gannet_wire::gtp::Cause;
use gannet_wire::id::{Nsapi, Sapi};
use gannet_wire::l3::ie::{QosProfile, ReliabilityClass};
use gannet_wire::l3::sm::ActivateRequest;

/// Ten seconds.
const A_WHILE: usize = 500;

#[test]
fn a_mobile_whose_link_never_came_is_not_waited_for_any_longer_where_n_pdus_wait() {
    let mut handset = Handset::new(31, UserPlaneConfig::default(), |_| ());
    handset.insists = false;
    handset.begin(NSAPI, 2);
    handset.is_cut = true;
    handset.turns(3 * A_WHILE);
    assert!(handset.links_lost == 1 && !is_established(&handset), "its SABMs are lost");
    handset.is_cut = false;
    handset.to_phone.extend((0..100).map(|number| (NSAPI, vec![5, 0, number, 9])));
    handset.run();
    assert_eq!(handset.heard.len(), 100);
    assert!(is_established(&handset));
}

#[test]
fn a_link_that_the_mobile_released_under_n_pdus_is_established_again() {
    let mut handset = handset(32);
    handset.insists = false;
    handset.is_cut = true;
    handset.to_phone.extend((0..100).map(|number| (NSAPI, vec![5, 0, number, 9])));
    handset.turns(10);
    assert_eq!(handset.bench.mobile(0).sndcp().unwrap().unconfirmed_of(NSAPI), 64, "as many as may wait");
    handset.is_cut = false;
    handset.with(|plane, cx| plane.llc.release_request(cx, Sapi::DATA3, false, &mut plane.out.llc));
    handset.drain();
    handset.turns(2);
    assert_eq!(handset.bench.sgsn.stats().links_lost, 1);
    handset.run();
    let heard: Vec<u8> = handset.heard.iter().map(|(_, n_pdu)| n_pdu[2]).collect();
    assert_eq!(heard, (0..100).collect::<Vec<_>>());
}

#[test]
fn an_n_pdu_that_finds_no_frames_is_tried_again() {
    let mut handset = handset(33);
    let frames = &handset.bench.around.frames;
    let hoard: Vec<Frame> = (3..frames.free()).map(|_| frames.alloc().unwrap()).collect();
    handset.bench.downlink(0, NSAPI, &[5, 0, 0, 9]);
    assert_eq!(handset.bench.mobile(0).sndcp().unwrap().unconfirmed_of(NSAPI), 1);
    drop(hoard);
    handset.turns(A_WHILE);
    assert_eq!(handset.heard, [(NSAPI, vec![5, 0, 0, 9])]);
}

/// A phone with two contexts in acknowledged mode, whose SGSN lets so many octets wait for confirmation.
fn with_two_contexts(seed: u64, most: usize, ingress: Ingress) -> Handset {
    let mut handset = Handset::new(seed, UserPlaneConfig::default(), |sgsn| {
        (sgsn.unconfirmed_octets_max, sgsn.ingress) = (most, ingress);
    });
    for nsapi in [NSAPI, SIX] {
        handset.activate(nsapi, 2);
    }
    handset.is_cut = true;
    handset
}

/// Do N-PDUs of so many octets of a context wait in its queue, and nothing of it is served?
fn keeps(handset: &Handset, nsapi: Nsapi, pdus: u32) -> bool {
    let name = handset.bench.sgsn.context_name(handset.bench.slot(0), nsapi).unwrap();
    let view = handset.bench.sgsn.flow_of(name).unwrap();
    (view.blocked, view.queued.pdus) == (true, pdus)
}

#[test]
fn what_waits_for_confirmation_is_bounded_for_the_whole_node() {
    let mut handset = with_two_contexts(35, 2000, Ingress::Queued);
    for nsapi in [NSAPI, SIX] {
        handset.bench.downlink(0, nsapi, &[nsapi.0; 1200]);
    }
    assert_eq!(handset.bench.sgsn.unconfirmed().octets, 1200);
    assert!(keeps(&handset, SIX, 1), "it has nothing that waits for confirmation, but there is no room");
    handset.to_phone.extend((0..60).flat_map(|number| [(NSAPI, vec![5, number]), (SIX, vec![6, number])]));
    handset.turns(20);
    assert_eq!(handset.bench.sgsn.unconfirmed().octets, 1200);
    handset.is_cut = false;
    handset.run();
    let of = |nsapi: Nsapi| handset.heard.iter().filter(move |(of, _)| *of == nsapi);
    assert_eq!([NSAPI, SIX].map(|nsapi| of(nsapi).count()), [61, 61]);
    assert_eq!(handset.bench.drops(), [], "what found no room has waited for it");
    assert_eq!(handset.bench.sgsn.unconfirmed().octets, 0);
    assert!(!handset.bench.sgsn.leftovers().iter().any(|(table, _)| table.contains("confirmation")));
}

#[test]
fn without_queues_what_the_node_has_no_room_for_is_dropped_by_name() {
    let mut handset = with_two_contexts(40, 2000, Ingress::Fifo);
    for nsapi in [NSAPI, SIX] {
        handset.bench.downlink(0, nsapi, &[nsapi.0; 1200]);
    }
    assert_eq!(handset.bench.sgsn.unconfirmed().octets, 1200);
    assert_eq!(handset.bench.drops(), [(Drop::SgsnUnconfirmedFull, 1)]);
}

#[test]
fn an_n_pdu_whose_share_has_shrunk_since_it_was_queued_waits() {
    let mut handset = with_two_contexts(41, 60_000, Ingress::Queued);
    handset.bench.downlink(0, NSAPI, &[5; 1000]);
    let alone = handset.bench.sgsn.config.unconfirmed_share(1).max((30_000 - 1000) / 16);
    let shared = handset.bench.sgsn.config.unconfirmed_share(2).max((30_000 - 1100) / 16);
    assert!(alone > 1000 + N_PDU_MAX && shared < 1000 + 1400, "{alone} {shared}");
    // Both were served when they were queued; of one the share is halved by the other before its turn has come.
    handset.bench.in_one_turn(|bench| {
        bench.downlink(0, SIX, &[6; 100]);
        bench.downlink(0, NSAPI, &[5; 1400]);
    });
    assert_eq!(handset.bench.sgsn.unconfirmed().octets, 1100);
    assert!(keeps(&handset, NSAPI, 1));
    handset.is_cut = false;
    handset.run();
    let heard: Vec<usize> = handset.heard.iter().map(|(_, n_pdu)| n_pdu.len()).collect();
    assert_eq!((heard, handset.bench.drops()), (vec![1000, 100, 1400], vec![]));
}

/// Attaches these phones in another cell than the first, with these contexts in acknowledged mode of which they confirm nothing.
fn activate_in_acknowledged_mode(bench: &mut Bench, contexts: impl Iterator<Item = (usize, Nsapi)>) {
    let mut attached = None;
    for (phone, nsapi) in contexts {
        if attached.replace(phone) != Some(phone) {
            bench.phones[phone].cell = 1;
            bench.attach(phone);
        }
        let wish = QosProfile { reliability: ReliabilityClass::TWO, ..QosProfile::BEST_EFFORT };
        bench.sm(phone, nsapi.0 - 5, ActivateRequest { qos: wish, ..activate_request(nsapi) });
        let (from, sequence, request) = bench.next_create();
        bench.create_answer(from, sequence, &request, Cause::RequestAccepted);
        bench.sent.clear();
    }
}

#[test]
fn a_mobile_that_confirms_is_not_kept_waiting_by_many_that_do_not() {
    const MOST: usize = 64 * 1024;
    let mut handset = Handset::new(42, UserPlaneConfig::default(), |sgsn| {
        sgsn.unconfirmed_octets_max = MOST;
        (sgsn.mobiles_max, sgsn.contexts_max) = (6, Some(64));
    });
    handset.activate(NSAPI, 2);
    let others = || (1..6).flat_map(|phone| (5..=11).map(move |nsapi| (phone, Nsapi(nsapi))));
    let bench = &mut handset.bench;
    activate_in_acknowledged_mode(bench, others());
    // One after another takes all that it gets, and none says a word.
    for (phone, nsapi) in others() {
        let name = bench.sgsn.context_name(bench.slot(phone), nsapi).unwrap();
        while !bench.sgsn.flow_of(name).unwrap().blocked {
            bench.downlink(phone, nsapi, &[7; 1000]);
        }
        bench.sent.clear();
    }
    let held = bench.sgsn.unconfirmed();
    assert!(held.contexts == 35 && held.n_pdus > 35, "some have more than their first: {held:?}");
    assert!(held.octets + 3 * 1200 < MOST, "something is left: {held:?}");
    let before = bench.dropped(Drop::SgsnUnconfirmedFull);
    handset.to_phone.extend((0..60).map(|number| (NSAPI, vec![number; 1200])));
    for _ in 0..400 {
        handset.turn();
    }
    let heard: Vec<u8> = handset.heard.iter().map(|(_, n_pdu)| n_pdu[0]).collect();
    assert_eq!(heard, (0..60).collect::<Vec<_>>());
    assert_eq!((before, handset.bench.dropped(Drop::SgsnUnconfirmedFull)), (0, 0));
}

/// One context has all the room there is, and 28 of four other mobiles wait for it.
fn with_many_that_wait_for_room() -> Bench {
    let mut bench = Bench::new(|config| {
        config.unconfirmed_octets_max = 2000;
        (config.mobiles_max, config.contexts_max) = (6, Some(64));
    });
    activate_in_acknowledged_mode(&mut bench, [(1, NSAPI)].into_iter());
    bench.downlink(1, NSAPI, &[7; 1200]);
    let waiting = || (2..6).flat_map(|phone| (5..=11).map(move |nsapi| (phone, Nsapi(nsapi))));
    activate_in_acknowledged_mode(&mut bench, waiting());
    for (phone, nsapi) in waiting() {
        bench.downlink(phone, nsapi, &[7; 1200]);
    }
    assert_eq!(bench.sgsn.unconfirmed().contexts, 1);
    bench
}

#[test]
fn all_that_wait_for_room_go_on_when_it_is_there_though_nothing_more_is_confirmed() {
    let mut bench = with_many_that_wait_for_room();
    // There is room for all at once, which is more than are looked at in one turn.
    bench.sgsn.config.unconfirmed_octets_max = 256 * 1024;
    bench.in_one_turn(|bench| bench.sgsn.unblock_starved());
    let held = bench.sgsn.unconfirmed();
    assert_eq!((held.contexts, held.n_pdus), (29, 29));
    assert_eq!((bench.sgsn.stats().n_pdu_confirmed, bench.drops()), (0, vec![]));
}

#[test]
fn those_that_are_gone_take_no_room_from_those_that_wait_behind_them() {
    let mut bench = with_many_that_wait_for_room();
    for phone in 2..5 {
        bench.sgsn.export(&mut bench.around.context(), imsi(phone)).unwrap();
    }
    // For nine, and 21 that are gone come before the seven that are left.
    bench.sgsn.config.unconfirmed_octets_max = 1200 + 9 * 1520;
    bench.in_one_turn(|bench| bench.sgsn.unblock_starved());
    let held = bench.sgsn.unconfirmed();
    assert_eq!((held.contexts, held.n_pdus), (8, 8));
}

#[test]
fn a_mobile_that_is_forgotten_gives_its_octets_back() {
    let mut handset = handset(36);
    handset.is_cut = true;
    handset.to_phone.extend((0..4).map(|_| (NSAPI, vec![5; 100])));
    handset.turns(2);
    assert_eq!(handset.bench.sgsn.unconfirmed().octets, 400);
    let context = &mut handset.bench.around.context();
    let octets = handset.bench.sgsn.export(context, imsi(0)).unwrap();
    assert_eq!(handset.bench.sgsn.unconfirmed().octets, 0);
    handset.bench.sgsn.import(context, &octets).unwrap();
    assert_eq!(handset.bench.sgsn.unconfirmed().octets, 400, "they go with it");
    handset.bench.sgsn.forget_all(context);
    assert_eq!(handset.bench.sgsn.unconfirmed().octets, 0);
}

#[test]
fn a_link_without_n_pdus_stays_released_when_others_of_its_mobile_go_on() {
    let mut handset = handset(37);
    handset.insists = false;
    handset.sapi = Sapi::DATA9;
    handset.activate(SIX, 2);
    let is_there = |handset: &Handset| handset.bench.mobile(0).llc.abm(Sapi::DATA9).is_some();
    assert!(is_there(&handset));
    handset.with(|plane, cx| plane.llc.release_request(cx, Sapi::DATA9, false, &mut plane.out.llc));
    handset.drain();
    handset.turns(5);
    assert!(!is_there(&handset));
    // The other link is lost, and goes on when the mobile is READY again.
    handset.is_cut = true;
    handset.to_phone.extend((0..3).map(|number| (NSAPI, vec![5, 0, number, 9])));
    handset.turns(60 * 50);
    assert!(handset.bench.sgsn.stats().links_lost > 1 && !is_there(&handset));
    handset.is_cut = false;
    handset.bench.beacon(0);
    handset.run();
    assert!(handset.heard.len() == 3 && !is_there(&handset));
    handset.to_phone.push_back((SIX, vec![6]));
    handset.run();
    assert!(handset.heard.len() == 4 && is_there(&handset), "the next N-PDU has it established");
}

#[test]
fn a_gap_is_told_with_its_mobile() {
    let mut handset = handset(38);
    // The phone was restarted, and passes over numbers.
    handset.with(|plane, cx| plane.sndcp.restore(cx, None));
    handset.to_gn.extend((0..3).map(|number| (NSAPI, vec![5, 0, number, 9])));
    handset.run();
    let told = &handset.bench.around.trace;
    assert_eq!((told.drops.get(Drop::SndcpGap), told.nameless.get(Drop::SndcpGap)), (1, 0));
    assert_eq!(handset.at_ggsn.len(), 3);
}

#[test]
fn a_link_has_what_the_operators_of_both_ends_agree_to() {
    let chosen = |k, m, shared| {
        let mut config = UserPlaneConfig::default();
        *config.links.of_mut(Sapi::DATA9).unwrap() = LinkConfig { k, m, shared, ..LinkConfig::default() };
        config
    };
    let shared = Shared { n201_i: Some(1000), t200_tenths: Some(300), n200: Some(5) };
    let of_phone = chosen(Some((40, 30)), None, shared);
    let shared = Shared { n201_i: Some(600), ..Shared::default() };
    let of_sgsn = chosen(Some((20, 50)), Some((0, 100)), shared);
    let mut handset = Handset::new(39, of_phone, |config| config.user_plane = of_sgsn);
    handset.sapi = Sapi::DATA9;
    handset.activate(SIX, 2);
    // k 20 down and 30 up; of m, which the phone has not chosen, 40 frames of 95 units down.
    let llc = &handset.bench.mobile(0).llc;
    let at_sgsn = Windows { iov_i: 0, m_sent: 3800, m_received: 100, k_sent: 20, k_received: 30 };
    assert_eq!(*llc.abm(Sapi::DATA9).unwrap().windows(), at_sgsn);
    let at_phone = Windows { iov_i: 0, m_sent: 100, m_received: 3800, k_sent: 30, k_received: 20 };
    assert_eq!(*handset.bench.phones[0].llc.abm(Sapi::DATA9).unwrap().windows(), at_phone);
    for llc in [llc, &handset.bench.phones[0].llc] {
        assert_eq!((llc.n201_i(Sapi::DATA9), llc.t200_n200(Sapi::DATA9)), (600, (300, 5)));
        assert_eq!((llc.n201_i(Sapi::DATA3), llc.t200_n200(Sapi::DATA3)), (1503, (50, 3)), "another SAPI");
    }
    handset.loss = 0.05;
    handset.give(SIX, 0..60);
    handset.run();
    handset.assert_all(SIX, 60);
}

#[test]
fn an_n_pdu_of_a_context_without_tunnel_is_dropped_by_name() {
    let mut handset = handset(34);
    let slot = handset.bench.slot(0);
    let n_pdu = gannet_proto::sndcp::NPdu::plain(NSAPI, handset.bench.around.frames.copy_of(&[1]).unwrap());
    let sgsn = &mut handset.bench.sgsn;
    let tunnel = sgsn.mobiles.get_mut(slot).unwrap().bearer_mut(NSAPI).unwrap().tunnel.take();
    sgsn.n_pdu_uplink(&mut handset.bench.around.context(), slot, n_pdu);
    assert_eq!(handset.bench.dropped(Drop::SgsnNoContext), 1);
    let sgsn = &mut handset.bench.sgsn;
    sgsn.mobiles.get_mut(slot).unwrap().bearer_mut(NSAPI).unwrap().tunnel = tunnel;
}
