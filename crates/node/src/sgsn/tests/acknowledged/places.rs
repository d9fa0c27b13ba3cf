//! The link of a mobile that changes its cell, its node, or is suspended.

use super::*;
use crate::kept::Change;
use crate::sgsn::tests::places::{accept_of, move_to_other_area};
use gannet_machine::time::Duration;
use gannet_wire::bssgp::Message;
use gannet_wire::l3::L3Message;
use gannet_wire::l3::gmm::RauComplete;
use gannet_wire::l3::ie::{ReceiveNpduNumbers, UpdateKind};

#[test]
fn a_cell_change_in_the_middle_loses_nothing() {
    // Within the routing area, to another BSS, and out of the routing area.
    for to in 1..=2 {
        let mut handset = handset(u64::try_from(to).unwrap());
        handset.loss = 0.05;
        handset.give(NSAPI, 0..80);
        handset.turns(8);
        assert!(handset.heard.len() < 80 && handset.at_ggsn.len() < 80);
        handset.bench.phones[0].cell = to;
        handset.run();
        handset.assert_all(NSAPI, 80);
        assert_eq!(handset.bench.mobile(0).gmm.cell(), cell(to));
        assert_eq!(handset.bench.sgsn.stats().flushes, 1);
        assert_eq!((handset.bench.sgsn.stats().links_lost, handset.links_lost), (0, 0), "the link goes on");
        handset.bench.phones[0].cell = 0;
        handset.give(NSAPI, 80..100);
        handset.run();
        handset.assert_all(NSAPI, 100);
    }
}

#[test]
fn a_mobile_moves_to_another_place_with_what_is_not_confirmed() {
    let mut handset = handset(21);
    let mut moves = 0;
    handset.loss = 0.1;
    handset.give(NSAPI, 0..300);
    while handset.heard.len() < 300 {
        let queued = handset.bench.sgsn.flows().unwrap().queues().queued().pdus;
        // What is in the queues stays behind, by name.
        if queued == 0 {
            let context = &mut handset.bench.around.context();
            let octets = handset.bench.sgsn.export(context, imsi(0)).unwrap();
            handset.bench.sgsn.import(context, &octets).unwrap();
            handset.bench.collect();
            moves += 1;
        }
        handset.turn();
    }
    handset.run();
    handset.assert_all(NSAPI, 300);
    assert!(moves > 5, "{moves}");
    assert_eq!(handset.bench.dropped(Drop::SndcpUnconfirmed), 0);
}

#[test]
fn after_a_restart_the_link_is_established_anew_and_no_number_used_twice() {
    let mut handset = handset(22);
    handset.bench.sgsn.keep_changes();
    let slot = handset.bench.slot(0);
    handset.bench.sgsn.mark_for_store(slot);
    handset.give(NSAPI, 0..40);
    handset.run();
    let mut kept = Vec::new();
    handset.bench.sgsn.take_changes(9, |change| match change {
        Change::Put { octets, .. } => kept = octets.to_vec(),
        Change::Delete { .. } => panic!("nobody has gone"),
    });
    // More than was kept.
    handset.give(NSAPI, 40..50);
    handset.run();
    let context = &mut handset.bench.around.context();
    handset.bench.sgsn.export(context, imsi(0)).unwrap();
    handset.bench.sgsn.restore(context, imsi(0), &kept).unwrap();
    handset.bench.collect();
    handset.give(NSAPI, 50..90);
    handset.bench.beacon(0);
    handset.run();
    handset.assert_all(NSAPI, 90);
    assert!(is_established(&handset));
}

#[test]
fn in_standby_the_link_stands_still_and_the_mobile_is_paged() {
    let mut handset = handset(23);
    handset.bench.pass(Duration::from_secs(50));
    handset.bench.air.now = handset.bench.around.now;
    let before = handset.downs;
    handset.to_phone.extend((0..3).map(|number| (NSAPI, vec![5, 0, number, 9])));
    handset.run();
    assert!(handset.pagings > 0 && handset.downs > before);
    assert_eq!(handset.heard.len(), 3);
    assert_eq!(handset.bench.sgsn.stats().links_lost, 0);
}

#[test]
fn a_link_that_stood_while_its_mobile_was_out_of_reach_goes_on_when_it_returns() {
    let mut handset = handset(29);
    handset.bench.pass(Duration::from_secs(40));
    handset.bench.air.now = handset.bench.around.now;
    handset.is_cut = true;
    handset.to_phone.extend((0..3).map(|number| (NSAPI, vec![5, 0, number, 9])));
    handset.turns(10);
    assert_eq!(handset.bench.mobile(0).sndcp().unwrap().unconfirmed_of(NSAPI), 3, "LLC has them");
    // Much longer than it takes to find a link dead, and most of it in STANDBY.
    handset.bench.pass(Duration::from_secs(60));
    handset.bench.air.now = handset.bench.around.now;
    assert!(handset.bench.mobile(0).is_out_of_reach());
    let before = handset.bench.sgsn.stats().n_pdu_confirmed;
    handset.is_cut = false;
    // By what comes up nothing is confirmed, and each of it arrives.
    handset.to_gn.extend((0..3).map(|number| (NSAPI, vec![5, 0, number, 7])));
    handset.run();
    assert_eq!((handset.heard.len(), handset.at_ggsn.len()), (3, 3));
    assert_eq!(handset.bench.drops(), [(Drop::GmmPagingFailed, 1)], "nothing is established anew");
    assert_eq!(handset.bench.sgsn.stats().n_pdu_confirmed - before, 3);
    let (_, acknowledged, received) = handset.bench.mobile(0).llc.abm(Sapi::DATA3).unwrap().variables();
    assert_eq!((acknowledged, received), (3, 3), "it is the same link");
}

#[test]
fn a_link_has_all_its_time_when_its_mobile_returns() {
    let mut handset = handset(30);
    handset.bench.pass(Duration::from_secs(40));
    handset.bench.air.now = handset.bench.around.now;
    handset.is_cut = true;
    handset.to_phone.push_back((NSAPI, vec![5, 0, 1, 9]));
    handset.turns(10);
    handset.bench.pass(Duration::from_secs(60));
    handset.bench.air.now = handset.bench.around.now;
    // It is heard, but hears nothing: N200 times T200 from then on the link is found dead.
    handset.bench.beacon(0);
    handset.turns(14 * 50);
    assert_eq!(handset.bench.dropped(Drop::LlcLinkUnanswered), 0);
    handset.turns(2 * 50);
    assert_eq!(handset.bench.dropped(Drop::LlcLinkUnanswered), 1);
}

#[test]
fn a_routing_area_update_in_the_middle_loses_nothing() {
    let mut handset = handset(24);
    handset.give(NSAPI, 0..80);
    handset.turns(8);
    assert!(handset.heard.len() < 80);
    update_accepted(&mut handset);
    handset.bench.gmm(0, RauComplete { receive_npdu_numbers: None });
    handset.run();
    handset.assert_all(NSAPI, 80);
    assert_eq!(handset.bench.mobile(0).gmm.cell(), cell(3));
    assert_eq!((handset.bench.sgsn.stats().links_lost, handset.links_lost), (0, 0), "the link goes on");
}

/// The phone has moved, and has the ROUTING AREA UPDATE ACCEPT.
fn update_accepted(handset: &mut Handset) {
    move_to_other_area(&mut handset.bench, UpdateKind::Ra);
    handset.turns(2);
    let Some(L3Message::Gmm(message)) = handset.layer3.pop_front() else { panic!("no answer") };
    let accept = accept_of(message);
    handset.bench.take_ptmsi(0, accept.allocated_ptmsi, accept.ptmsi_signature);
}

#[test]
fn what_the_mobile_says_in_a_routing_area_update_that_it_has_is_not_sent_again() {
    // The link goes on, or the mobile establishes it anew.
    for (seed, is_anew) in [(26, false), (27, true)] {
        let mut handset = handset(seed);
        handset.give(NSAPI, 0..80);
        handset.turns(8);
        handset.is_unheard = true;
        handset.turns(20);
        update_accepted(&mut handset);
        let numbers: Vec<_> = handset.sndcp.receive_numbers().collect();
        let has = u64::try_from(handset.heard.len()).unwrap();
        assert_eq!(numbers, [(NSAPI, u8::try_from(has).unwrap())]);
        let before = handset.bench.sgsn.stats().n_pdu_confirmed;
        assert!(before + 10 < has && has < 80, "{before}, {has}");
        handset.bench.gmm(0, RauComplete { receive_npdu_numbers: Some(ReceiveNpduNumbers(numbers)) });
        assert_eq!(handset.bench.sgsn.stats().n_pdu_confirmed, has);
        handset.is_unheard = false;
        if is_anew {
            handset.with(|plane, cx| {
                plane.tell(cx, Sapi::DATA3, |sndcp, _, setting, out| {
                    sndcp.establish_anew(setting, Sapi::DATA3, out);
                });
            });
            handset.drain();
        }
        handset.run();
        handset.assert_all(NSAPI, 80);
        assert_eq!(handset.bench.sgsn.stats().n_pdu_confirmed, 80);
        assert_eq!(handset.bench.air.trace.drops.get(Drop::SndcpRepeated), 0, "none comes a second time");
        assert_eq!(handset.bench.dropped(Drop::SndcpUnexpected), 0);
        assert!(is_established(&handset));
    }
}

#[test]
fn what_a_routing_area_update_has_confirmed_makes_room_when_llc_has_let_it_go() {
    let mut handset =
        Handset::new(43, UserPlaneConfig::default(), |sgsn| sgsn.unconfirmed_octets_max = 16_000);
    handset.activate(NSAPI, 2);
    handset.is_unheard = true;
    handset.to_phone.extend((0..12).map(|number| (NSAPI, vec![number; 1200])));
    handset.turns(20);
    let heard = handset.heard.len();
    let name = handset.bench.sgsn.context_name(handset.bench.slot(0), NSAPI).unwrap();
    let view = handset.bench.sgsn.flow_of(name).unwrap();
    assert!(0 < heard && heard < 12 && view.blocked, "{heard}: its share is used up, and the rest waits");
    update_accepted(&mut handset);
    // All that LLC waits for.
    let numbers: Vec<_> = handset.sndcp.receive_numbers().collect();
    handset.bench.gmm(0, RauComplete { receive_npdu_numbers: Some(ReceiveNpduNumbers(numbers)) });
    handset.is_unheard = false;
    handset.run();
    let heard: Vec<u8> = handset.heard.iter().map(|(_, n_pdu)| n_pdu[0]).collect();
    assert_eq!((heard, handset.bench.sgsn.unconfirmed().octets), ((0..12).collect(), 0));
}

#[test]
fn numbers_in_a_routing_area_update_that_mean_nothing_change_nothing() {
    let mut handset = handset(28);
    handset.give(NSAPI, 0..20);
    handset.turns(4);
    update_accepted(&mut handset);
    let numbers = vec![(SIX, 3), (NSAPI, 200)];
    handset.bench.gmm(0, RauComplete { receive_npdu_numbers: Some(ReceiveNpduNumbers(numbers)) });
    let dropped = [Drop::SndcpUnexpected, Drop::SndcpBadSequence].map(|drop| handset.bench.dropped(drop));
    assert_eq!(dropped, [1, 1]);
    handset.run();
    handset.assert_all(NSAPI, 20);
}

#[test]
fn while_the_mobile_is_suspended_its_link_stands_still() {
    let mut handset = handset(25);
    handset.give(NSAPI, 0..40);
    handset.turns(4);
    let (tlli, rai) = (handset.bench.phones[0].tlli, rai(1));
    handset.bench.signal(&Message::Suspend { tlli, rai });
    let reference = handset.bench.sent.iter().find_map(|sent| match sent {
        Sent::Bssgp(_, _, Message::SuspendAck { reference, .. }) => Some(*reference),
        _ => None,
    });
    handset.is_cut = true;
    handset.turns(2);
    let before = handset.downs;
    // Longer than it takes to find a link dead.
    handset.bench.pass(Duration::from_secs(30));
    handset.turns(1);
    assert_eq!((handset.downs, handset.bench.sgsn.stats().links_lost), (before, 0));
    handset.is_cut = false;
    handset.bench.signal(&Message::Resume { tlli, rai, reference: reference.unwrap() });
    handset.run();
    handset.assert_all(NSAPI, 40);
}
