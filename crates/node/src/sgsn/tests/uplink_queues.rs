//! A storm from one mobile, and what the others and signalling notice of it.

use super::bench::*;
use super::flows::profile;
use crate::sgsn::directory::BvcAddress;
use crate::sgsn::*;
use gannet_machine::drops::Drop;
use gannet_proto::classifier::{Block, Key};
use gannet_qos::class::Class;
use gannet_wire::id::{PTmsi, Sapi, Teid};
use gannet_wire::l3::ie::MobileIdentity;
use gannet_wire::sndcp::{Compression, Header, Pdu};

/// An SN-PDU with an N-PDU that says whose it is and which.
pub fn sn_pdu(phone: usize, number: u16) -> Vec<u8> {
    let first = Some(Compression::NONE);
    let header = Header { nsapi: NSAPI, more: false, pdu: Pdu::Unitdata { first, segment: 0, number } };
    [&*header.emit(), &[u8::try_from(phone).unwrap(), u8::try_from(number).unwrap()]].concat()
}

fn n_pdu(bench: &mut Bench, phone: usize, number: u16) {
    bench.unitdata(phone, Sapi::DATA3, &sn_pdu(phone, number));
}

fn switch_off(bench: &mut Bench, phone: usize) {
    bench.detach(phone, true);
}

/// Two phones in one cell, each with a context.
fn two(change: impl FnOnce(&mut SgsnConfig)) -> Bench {
    let mut bench = Bench::new(change);
    for phone in [0, 1] {
        bench.attach(phone);
        bench.activate(phone, NSAPI);
    }
    bench.sent.clear();
    bench
}

/// Who sent the next N-PDUs that went to the GGSN, and their numbers.
pub fn to_the_ggsn(bench: &mut Bench, count: usize) -> Vec<(u8, u8)> {
    (0..count)
        .map(|_| {
            let (_, _, t_pdu) = bench.next_user();
            (t_pdu[0], t_pdu[1])
        })
        .collect()
}

#[test]
fn a_storm_takes_its_own_turns_only() {
    let mut bench = two(|_| {});
    bench.busy = true;
    (0..40).for_each(|number| n_pdu(&mut bench, 0, number));
    (0..4).for_each(|number| n_pdu(&mut bench, 1, number));
    bench.busy = false;
    bench.collect();
    let order = to_the_ggsn(&mut bench, 44);
    let place = |wanted| order.iter().position(|sent| *sent == wanted).unwrap();
    assert!(place((1, 3)) < 30, "one turn of the storm, then the other: {order:?}");
    for phone in [0, 1] {
        let numbers: Vec<u8> =
            order.iter().filter(|(from, _)| *from == phone).map(|(_, number)| *number).collect();
        assert!(numbers.is_sorted(), "{numbers:?}");
    }
    assert_eq!((bench.drops(), bench.around.frames.free()), (vec![], FRAMES));
}

#[test]
fn who_sends_little_finds_room_whatever_the_others_do() {
    let mut bench = Bench::new(|config| config.queue.uplink_pdus_max = 64);
    for phone in 0..4 {
        bench.attach(phone);
        bench.activate(phone, NSAPI);
    }
    bench.sent.clear();
    bench.busy = true;
    for number in 0..60 {
        (1..4).for_each(|phone| n_pdu(&mut bench, phone, number));
    }
    let before = bench.dropped(Drop::UplinkQueueNodeFull);
    (0..2).for_each(|number| n_pdu(&mut bench, 0, number));
    assert_eq!(bench.dropped(Drop::UplinkQueueNodeFull), before, "the storm's own loss");
    bench.busy = false;
    bench.collect();
    let arrived = to_the_ggsn(&mut bench, (182 - before).try_into().unwrap());
    assert!(bench.is_silent());
    assert_eq!(arrived.iter().filter(|(from, _)| *from == 0).count(), 2);
    // Nobody of the others took more than a quarter of what was left.
    for phone in 1..4 {
        let its = arrived.iter().filter(|(from, _)| *from == phone).count();
        assert!((8..=13).contains(&its), "{its}");
    }
    assert_eq!(bench.around.frames.free(), FRAMES);
}

#[test]
fn what_finds_no_room_is_not_taken_for_downlink() {
    // More than a mobile's queue holds, whatever room there is.
    let mut bench = two(|_| {});
    bench.busy = true;
    (0..110).for_each(|number| n_pdu(&mut bench, 0, number));
    assert_eq!(bench.drops(), [(Drop::UplinkQueueFull, 10)]);
    bench.busy = false;
    bench.collect();
    to_the_ggsn(&mut bench, 100);

    // One of high precedence may fill all room, and others give way.
    let mut bench = Bench::new(|config| config.queue.uplink_pdus_max = 8);
    bench.attach(0);
    bench.activate_with(0, NSAPI, profile(4, 9, 1));
    bench.attach(1);
    bench.activate_with(1, NSAPI, profile(4, 9, 2));
    bench.sent.clear();
    bench.busy = true;
    n_pdu(&mut bench, 1, 0);
    (0..10).for_each(|number| n_pdu(&mut bench, 0, number));
    n_pdu(&mut bench, 1, 1);
    assert_eq!(bench.drops(), [(Drop::UplinkQueueCellFull, 3), (Drop::UplinkQueuePushedOut, 1)]);
    bench.busy = false;
    bench.collect();
    assert_eq!(to_the_ggsn(&mut bench, 8), (0..8).map(|number| (0, number)).collect::<Vec<_>>());
    assert!(bench.is_silent());
    assert_eq!(bench.around.frames.free(), FRAMES);
}

#[test]
fn a_driver_drops_a_flood_until_half_of_it_is_served() {
    let mut bench = two(|_| {});
    let key = |bench: &Bench, phone: usize| Key::LocalTlli(bench.phones[phone].tlli);
    let is_blocked = |bench: &Bench, phone| {
        bench.rules.owner(key(bench, phone)).unwrap().blocked.contains(&Block::QueueFull)
    };
    bench.busy = true;
    // Seven eighths of 100 LL-PDUs are the high watermark at the largest rate.
    (0..88).for_each(|number| n_pdu(&mut bench, 1, number));
    n_pdu(&mut bench, 0, 7);
    let mut outputs = Batch::default();
    let mut turns = 0;
    let mut blocked = Vec::new();
    while bench.sgsn.has_work() {
        bench.sgsn.poll_output(&mut bench.around.context(), &mut outputs);
        bench.take_outputs(&mut outputs);
        turns += 1;
        blocked.push((is_blocked(&bench, 0), is_blocked(&bench, 1)));
    }
    // 16 in each turn, and one in which nothing is left to send: after 38 of the flood it is down to the low watermark.
    assert_eq!(turns, 7);
    assert_eq!(blocked.iter().filter(|both| **both == (false, true)).count(), 2);
    assert!(blocked.iter().all(|(good, _)| !good) && blocked[2..].iter().all(|(_, bad)| !bad));
    assert_eq!(bench.drops(), []);
    let arrived = to_the_ggsn(&mut bench, 89);
    assert_eq!(arrived.iter().position(|sent| *sent == (0, 7)).map(|place| place < 32), Some(true));
    let numbers = arrived.iter().filter(|(from, _)| *from == 1).map(|(_, number)| *number);
    assert!(numbers.eq(0..88));
    bench.busy = false;
    bench.collect();
    // A new name of a mobile whose queue is full is blocked, too.
    bench.busy = true;
    (0..88).for_each(|number| n_pdu(&mut bench, 1, number));
    let slot = bench.slot(1);
    bench.sgsn.name_ptmsi(PTmsi(0xc123_4567), slot);
    bench.sgsn.poll_output(&mut bench.around.context(), &mut outputs);
    bench.take_outputs(&mut outputs);
    let other = bench.rules.owner(Key::LocalTlli(Tlli(0xc123_4567))).unwrap();
    assert_eq!((other.keys, other.blocked.len()), (2, 1));
    bench.sgsn.forget_ptmsi(PTmsi(0xc123_4567), slot);
    // It goes while it is blocked, and the next one in its slot is not.
    bench.busy = false;
    switch_off(&mut bench, 1);
    assert!(bench.sgsn.mobile_of(imsi(1)).is_none());
    bench.sent.clear();
    bench.phones[2].power_cycle(Tlli::random(77));
    bench.attach(2);
    assert!(!is_blocked(&bench, 2));
}

#[test]
fn a_rule_says_what_the_contexts_have_bought_together() {
    let mut bench = Bench::attached(false);
    let key = Key::LocalTlli(bench.phones[0].tlli);
    let rate = |bench: &Bench| bench.rules.owner(key).unwrap().rule.policer.unwrap().rate_octets_per_s;
    let rule = bench.rules.owner(key).unwrap().rule;
    assert_eq!((rule.name, rule.class, rate(&bench)), (bench.slot(0).index, Class::BestEffort, 1000));
    bench.activate(0, NSAPI);
    let one = rate(&bench);
    bench.activate(0, Nsapi(6));
    assert_eq!(rate(&bench), 2 * one);
    bench.order(SgsnCommand::Deactivate { imsi: imsi(0), nsapi: NSAPI });
    bench.delete_answer(NSAPI);
    assert_eq!(rate(&bench), one, "as soon as the tunnel is gone");
    let without = SgsnConfig { policing: None, ..bench.sgsn.config().clone() };
    bench.sgsn.reconfigure(&mut bench.around.context(), without);
    bench.collect();
    assert_eq!(bench.rules.owner(key).unwrap().rule.policer, None);
}

#[test]
fn a_driver_knows_each_name_for_as_long_as_it_holds() {
    let mut bench = Bench::new(|_| {});
    let names = |bench: &Bench| bench.rules.keys().map(|(key, _)| key).collect::<Vec<_>>();
    let first = BvcAddress { nsei: cell(0).nsei, bvci: cell(0).bvci };
    let random = bench.phones[0].tlli;
    bench.gmm(0, attach_request(MobileIdentity::Imsi(imsi(0))));
    assert_eq!(names(&bench).len(), 2, "the TLLI with which it came, and the one that it is given");
    assert!(names(&bench).contains(&first.key(random)));
    bench.accept_attach(0);
    let local = Key::LocalTlli(bench.phones[0].tlli);
    assert_eq!(names(&bench), [local]);
    // A local TLLI that is not ours is the mobile's own choice.
    let others = Tlli(0xc000_0bad);
    bench.phones[2].uses(others);
    bench.gmm(2, attach_request(MobileIdentity::Imsi(imsi(2))));
    assert!(names(&bench).contains(&first.key(others)));
    bench.accept_attach(2);
    assert_eq!(names(&bench).len(), 2);
    for phone in [0, 2] {
        switch_off(&mut bench, phone);
    }
    bench.sent.clear();
    bench.assert_empty();
}

#[test]
fn signalling_goes_ahead_of_all_user_data() {
    let mut bench = two(|_| {});
    bench.busy = true;
    (0..30).for_each(|number| n_pdu(&mut bench, 0, number));
    bench.detach(1, false);
    bench.busy = false;
    bench.collect();
    // The request of the GGSN to take the context down is out before the first N-PDU.
    let first = bench.next();
    assert!(matches!(first, Sent::Control(..)), "{first:?}");
}

#[test]
fn what_a_mobile_has_sent_goes_with_it() {
    let mut bench = two(|_| {});
    bench.busy = true;
    (0..5).for_each(|number| n_pdu(&mut bench, 0, number));
    let slot = bench.slot(0);
    let imsi = bench.mobile(0).imsi().unwrap();
    let octets = bench.sgsn.export(&mut bench.around.context(), imsi).unwrap();
    assert_eq!(bench.drops(), [(Drop::UplinkQueueMobileGone, 5)]);
    let back = bench.sgsn.import(&mut bench.around.context(), &octets).unwrap();
    assert_eq!(back, slot);
    n_pdu(&mut bench, 0, 9);
    bench.busy = false;
    bench.collect();
    let (_, header, t_pdu) = bench.next_user();
    assert_eq!((header.teid, t_pdu[..].to_vec()), (Teid(GGSN_USER + u32::from(NSAPI.0)), vec![0, 9]));
    assert_eq!(bench.around.frames.free(), FRAMES);
}
