//! Links that nobody establishes, or sends on, by himself.

use super::super::bench::*;
use super::handset::Handset;
use super::{handset, is_established};
use gannet_proto::drops::Drop;
use gannet_proto::frame::Frame;
use gannet_proto::user_plane::UserPlaneConfig;
use gannet_wire::id::Sapi;

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
