//! The link of a mobile that changes its cell, its node, or is suspended.

use super::*;
use crate::sgsn::durable::Change;
use gannet_proto::time::Duration;

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
    handset.give(NSAPI, 0..100);
    while handset.heard.len() < 100 {
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
    handset.assert_all(NSAPI, 100);
    assert!(moves > 5, "{moves}");
    assert_eq!(handset.bench.dropped(Drop::SndcpUnconfirmed), 0);
}

#[test]
fn after_a_restart_the_link_is_established_anew_and_no_number_used_twice() {
    let mut handset = handset(22);
    handset.bench.sgsn.keep_changes();
    let slot = handset.bench.slot(0);
    handset.bench.sgsn.changed(slot);
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
