//! Mobiles in acknowledged mode against our own SGSN.

use super::*;
use crate::load::config::Proposal;
use gannet_proto::llc::abm::{LinkConfig, State};
use gannet_wire::id::Sapi;
use gannet_wire::l3::ie::ReliabilityClass;
use gannet_wire::llc::xid::{self, Parameter};

fn acknowledged(_: u32) -> Profile {
    slow(0).reliability(ReliabilityClass::TWO)
}

fn n_pdu(user: u32, number: u32) -> Vec<u8> {
    (0..90_u32).flat_map(|n| (n * 7 + number * 1000 + user).to_be_bytes()).collect()
}

impl World {
    /// N-PDUs that wait for a mobile's confirmation.
    fn unconfirmed(&self) -> usize {
        self.sgsn.machine.unconfirmed().n_pdus
    }

    /// What a mobile sends to the SGSN's SABM with P.
    fn answer_to_sabm(&mut self, user: u32, parameters: &[Parameter]) -> Vec<u8> {
        let mut ll_pdu = vec![0x43, 0xf7];
        xid::emit(parameters, &mut ll_pdu);
        ll_pdu.extend(gannet_wire::fcs24::fcs24(&ll_pdu));
        let (frame, now) = (self.frames.copy_of(&ll_pdu).unwrap(), self.now);
        let mut sent = Vec::new();
        let hear = |emulator: &mut Emulator, cx: &mut Context<'_>| emulator.ll_pdu(cx, user, frame);
        self.load.act(now, hear, |emission| sent.push(emission), |_| {});
        let [Emission { frame, .. }] = sent.as_slice() else { panic!("{sent:?}") };
        frame.to_vec()
    }
}

#[test]
fn each_n_pdu_comes_in_an_i_frame_and_is_confirmed() {
    let mut world = World::new(|load, _| (load.users, load.cells) = (20, 10));
    world.order(0..10, Order::Activate, Some(&acknowledged));
    world.order(10..20, Order::Activate, Some(&slow));
    assert_eq!((world.phases(Phase::Active), world.stats().established), (20, 10));
    assert_eq!(world.sgsn.machine.unconfirmed().links, 10);
    let received = |world: &World, user| world.load.machine.user(user).unwrap().received;
    assert_eq!((received(&world, 3), received(&world, 13)), (Some(0), None));
    world.load.machine.tells_data = true;
    // Over the wrap of N(S).
    for number in 0..600 {
        for user in [3, 13] {
            world.g_pdu(user, &n_pdu(user, number));
            assert_eq!(world.downlink(), [(user, n_pdu(user, number))]);
        }
        // Where 32 have arrived in a row only each eighth is asked about.
        let unasked = if number < 32 { 0 } else { (number as usize + 1) % 8 };
        assert_eq!(world.unconfirmed(), unasked);
    }
    let stats = world.stats();
    assert_eq!((stats.i_frames, stats.acknowledgements, stats.repeated), (600, 32 + 568 / 8, 0), "{stats:?}");
    assert_eq!(world.sgsn.machine.stats().n_pdu_confirmed, 600);
    assert_eq!(received(&world, 3), Some(600 - 512));
    world.order(0..20, Order::Detach, None);
    world.run(Duration::from_secs(60));
    assert_eq!((world.phases(Phase::Detached), world.sgsn.machine.unconfirmed().links), (20, 0));
    assert_eq!(world.sgsn.trace.drops.get(Drop::LlcLinkUnanswered), 0, "DISC was answered");
    assert_eq!(world.frames.free(), FRAMES, "every frame is back");
}

#[test]
fn a_proposed_window_counts_as_far_as_the_sgsn_agrees() {
    let chosen = |k| LinkConfig { k, ..LinkConfig::default() };
    for (kd, configured, agreed) in [
        (None, Some((64, 16)), 16),
        (Some(64), None, 16),
        (Some(64), Some((40, 16)), 40),
        (Some(64), Some((255, 16)), 64),
        (Some(3), Some((255, 16)), 3),
    ] {
        let mut world = World::new(|load, sgsn| {
            (load.users, load.cells, load.kd) = (10, 10, kd.map(|frames| Proposal { frames, users: 4 }));
            *sgsn.user_plane.links.of_mut(Sapi::DATA3).unwrap() = chosen(configured);
        });
        world.order(0..10, Order::Activate, Some(&acknowledged));
        assert_eq!((world.phases(Phase::Active), world.stats().established), (10, 10));
        for (_, mobile) in world.sgsn.machine.mobiles() {
            let is_one = (0..4).any(|user| mobile.imsi() == Some(imsi(user)));
            let sent = mobile.llc.abm(mobile::SAPI).map(|abm| abm.windows().k_sent);
            assert_eq!(sent, Some(if is_one { agreed } else { 16 }), "{kd:?} of {configured:?}");
        }
        let is_lowered = kd.is_some_and(|kd| kd != agreed);
        let Stats { windows_proposed, windows_lowered, .. } = world.stats();
        assert_eq!(windows_proposed, if kd.is_some() { 4 } else { 0 });
        assert_eq!(windows_lowered, if is_lowered { 4 } else { 0 }, "{kd:?} of {configured:?}");
    }
}

#[test]
fn what_ua_leaves_out_it_agrees_to() {
    let mut world = World::new(|load, _| {
        (load.users, load.cells, load.kd) = (10, 10, Some(Proposal { frames: 64, users: 4 }));
    });
    let mut hear = |user, answer: &[Parameter]| {
        let mut octets = Vec::new();
        xid::emit(answer, &mut octets);
        world.act(|emulator, _| emulator.hear_window(user, &octets));
        (world.stats().windows_proposed, world.stats().windows_lowered)
    };
    assert_eq!(hear(0, &[]), (1, 0));
    assert_eq!(hear(1, &[Parameter::N201U(500), Parameter::KD(64)]), (2, 0));
    assert_eq!(hear(2, &[Parameter::N201U(500), Parameter::KD(63)]), (3, 1));
    assert_eq!(hear(4, &[Parameter::KD(16)]), (3, 1), "who has proposed nothing");
    let malformed = world.stats().malformed;
    world.act(|emulator, _| emulator.hear_window(3, &[0x17]));
    assert_eq!((world.stats().malformed, world.stats().windows_proposed), (malformed + 1, 3));
}

#[test]
fn a_mobile_agrees_to_no_more_than_its_own_window() {
    for (kd, agreed) in [(None, 16), (Some(40), 40), (Some(255), 64)] {
        let mut world =
            World::new(|load, _| (load.users, load.cells, load.kd) = (1, 1, kd.map(Proposal::by_all)));
        world.order(0..1, Order::Activate, Some(&acknowledged));
        // UA with F, a response.
        let mut ua = vec![0x43, 0xf6];
        Parameter::KD(agreed).emit(&mut ua);
        let heard = world.answer_to_sabm(0, &[Parameter::KD(64)]);
        assert!(heard.windows(ua.len()).any(|octets| octets == ua), "{heard:02x?}, which is {ua:02x?}");
    }
}

#[test]
fn a_window_that_makes_no_sense_is_refused() {
    let check = |kd, is_acknowledged, answer_after| {
        Proposal::check(Some(Proposal::by_all(kd)), is_acknowledged, answer_after)
    };
    for is_acknowledged in [false, true] {
        assert_eq!(Proposal::check(None, is_acknowledged, 14), Ok(()));
    }
    for (kd, answer_after) in [(1, 0), (16, 14)] {
        assert_eq!(check(kd, true, answer_after), Ok(()), "{kd}");
    }
    for (kd, is_acknowledged, answer_after, why) in [
        (64, false, 0, "reliability class 1 or 2"),
        (0, true, 0, "between 1 and 255"),
        (15, true, 14, "14 I frames behind"),
    ] {
        let refused = check(kd, is_acknowledged, answer_after).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn what_a_bad_link_loses_comes_again_in_its_order() {
    let mut world = World::new(|load, sgsn| {
        (load.users, load.cells, load.tries, sgsn.n3_requests) = (10, 10, 12, 12);
    });
    world.loss = 0.1;
    world.order(0..10, Order::Activate, Some(&acknowledged));
    world.loss = 0.0;
    assert_eq!((world.phases(Phase::Active), world.stats().failed), (10, 0), "{:?}", world.stats());
    world.run(Duration::from_secs(60));
    world.load.machine.tells_data = true;
    let mut got = vec![Vec::new(); 10];
    world.loss = 0.1;
    for number in 0..100 {
        for user in 0..10 {
            world.g_pdu(user, &n_pdu(user, number));
        }
        // A mobile that keeps nothing behind a gap is sent it frame by frame, each when T201 has asked: slow enough that no queue
        // is full.
        world.run(Duration::from_secs(10));
        for (user, n_pdu) in world.downlink() {
            got[user as usize].push(n_pdu);
        }
    }
    world.loss = 0.0;
    world.run(Duration::from_secs(120));
    for (user, n_pdu) in world.downlink() {
        got[user as usize].push(n_pdu);
    }
    assert_eq!(world.unconfirmed(), 0);
    for (user, got) in (0..10).zip(got) {
        let expected: Vec<Vec<u8>> = (0..100).map(|number| n_pdu(user, number)).collect();
        // The world loses nothing on Gn from the GGSN, which the test is.
        let missing: Vec<usize> = (0..100).filter(|n| !got.contains(&expected[*n])).collect();
        let drops: Vec<_> = world.sgsn.trace.drops.raised().collect();
        assert!(got == expected, "user {user}: {missing:?} of {} N-PDUs; {drops:?}", got.len());
    }
    let Stats { i_frames, n_pdus_repeated, acknowledgements, .. } = world.stats();
    assert!(i_frames == 1000 + n_pdus_repeated && acknowledgements > 0);
}

#[test]
fn the_sgsn_may_establish_the_link_anew_and_who_is_in_unacknowledged_mode_refuses() {
    let mut world = World::new(|load, _| (load.users, load.cells) = (2, 2));
    world.order(0..1, Order::Activate, Some(&acknowledged));
    world.order(1..2, Order::Activate, Some(&slow));
    world.load.machine.tells_data = true;
    world.g_pdu(0, &n_pdu(0, 0));
    assert_eq!(world.downlink().len(), 1);
    // Nothing reaches the mobile for longer than a link may stand: the SGSN's SABM comes when it does again.
    world.loss = 1.0;
    world.g_pdu(0, &n_pdu(0, 1));
    world.run(Duration::from_secs(25));
    world.loss = 0.0;
    world.run(Duration::from_secs(25));
    assert_eq!(world.stats().established, 2, "{:?}", world.stats());
    assert_eq!(world.downlink(), [(0, n_pdu(0, 1))]);
    assert_eq!((world.unconfirmed(), world.load.machine.user(0).unwrap().received), (0, Some(1)));
    let (_, mobile) = world.sgsn.machine.mobile_of(imsi(0)).unwrap();
    assert_eq!(mobile.llc.abm(mobile::SAPI).map(|abm| abm.state()), Some(State::Abm));
    // SABM for a mobile without.
    let frame = world.answer_to_sabm(1, &[]);
    // DM with F, a response.
    assert_eq!(frame[frame.len() - 5..frame.len() - 3], [0x43, 0xf1]);
}
