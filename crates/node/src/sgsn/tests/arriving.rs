//! User data of phones that cipher: deciphered side by side, and given to the GGSN in the order in which it came.

use super::bench::*;
use super::leaving::three_phones;
use super::uplink_queues::{sn_pdu, to_the_ggsn};
use crate::sgsn::gb::TOGETHER;
use crate::sgsn::*;
use gannet_wire::id::Sapi;
use gannet_wire::l3::L3Message;

/// A unit of a phone, ciphered where the phone has a cipher.
fn ciphered(bench: &mut Bench, phone: usize, sapi: Sapi, octets: &[u8]) {
    let mut frame = bench.air.frames.copy_of(octets).unwrap();
    bench.phones[phone].llc.unitdata_request(sapi, true, true, &mut frame).unwrap();
    bench.up(phone, &frame);
}

/// An N-PDU.
fn send(bench: &mut Bench, phone: usize, number: u16) {
    ciphered(bench, phone, Sapi::DATA3, &sn_pdu(phone, number));
}

fn switch_off(bench: &mut Bench, phone: usize) {
    let detach = bench.detach_request(phone, true);
    ciphered(bench, phone, Sapi::GMM, &L3Message::Gmm(detach.into()).to_vec());
}

/// Whose the n-th is: phone 1 has real time, phone 2 no cipher.
const WHOSE: [usize; 5] = [0, 1, 0, 2, 1];

#[test]
fn what_comes_together_arrives_in_the_order_of_its_phone() {
    for ingress in [Ingress::Fifo, Ingress::Queued] {
        let mut bench = three_phones(ingress);
        let count = u16::try_from(TOGETHER * 3 / 2).unwrap();
        let sent: Vec<(usize, u16)> = WHOSE.into_iter().cycle().zip(0..count).collect();
        bench.in_one_turn(|bench| sent.iter().for_each(|(phone, number)| send(bench, *phone, *number)));
        let arrived = to_the_ggsn(&mut bench, sent.len());
        assert!(bench.is_silent());
        for phone in 0..3 {
            let due: Vec<u16> = sent.iter().filter(|(whose, _)| *whose == phone).map(|(_, n)| *n).collect();
            let whose =
                |(whose, number): &(u8, u8)| (usize::from(*whose) == phone).then_some((*number).into());
            assert_eq!(arrived.iter().filter_map(whose).collect::<Vec<u16>>(), due, "{phone}, {ingress:?}");
        }
        assert_eq!((bench.drops(), bench.around.frames.free()), (vec![], FRAMES));
    }
}

#[test]
fn real_time_goes_on_at_once_and_what_is_in_the_clear_keeps_its_place() {
    let mut bench = three_phones(Ingress::Fifo);
    bench.in_one_turn(|bench| {
        for (number, phone) in (0..).zip([2, 0, 0, 1, 2, 0, 1]) {
            send(bench, phone, number);
        }
    });
    let whose: Vec<u8> = to_the_ggsn(&mut bench, 7).into_iter().map(|(phone, _)| phone).collect();
    assert_eq!(whose, [2, 1, 1, 0, 0, 2, 0]);
    assert!(bench.sgsn.arriving.take_deciphered());
    send(&mut bench, 1, 7);
    assert!(!bench.sgsn.arriving.take_deciphered(), "real time waits for no call of the cipher");
}

#[test]
fn a_slice_is_longer_only_for_what_is_deciphered_together() {
    let mut bench = three_phones(Ingress::Queued);
    let queued = |bench: &Bench| bench.sgsn.uplink.as_ref().unwrap().queued();
    let mut outputs = Batch::default();
    bench.busy = true;
    // Best effort, real time, and what is in the clear.
    for (phone, slice) in [(0, 32), (1, 16), (2, 16)] {
        send(&mut bench, 0, 0);
        bench.sgsn.poll_output(&mut bench.around.context(), &mut outputs);
        assert_eq!(queued(&bench), 0);
        (1..=40).for_each(|number| send(&mut bench, phone, number));
        bench.sgsn.poll_output(&mut bench.around.context(), &mut outputs);
        assert_eq!(40 - queued(&bench), slice, "{phone}");
        while bench.sgsn.has_work() {
            bench.sgsn.poll_output(&mut bench.around.context(), &mut outputs);
        }
    }
    bench.take_outputs(&mut outputs);
    assert_eq!(to_the_ggsn(&mut bench, 123).len(), 123);
    assert_eq!((bench.drops(), bench.around.frames.free()), (vec![], FRAMES));
}

#[test]
fn signalling_and_everything_else_finds_done_what_came_before_it() {
    let mut bench = three_phones(Ingress::Fifo);
    bench.in_one_turn(|bench| {
        (0..3).for_each(|number| send(bench, 0, number));
        switch_off(bench, 0);
        send(bench, 0, 3);
    });
    assert_eq!(to_the_ggsn(&mut bench, 3), [(0, 0), (0, 1), (0, 2)]);
    assert!(bench.sgsn.mobile_of(imsi(0)).is_none());
    // An order of the operator.
    let mut bench = three_phones(Ingress::Fifo);
    bench.in_one_turn(|bench| {
        send(bench, 0, 0);
        bench.order(SgsnCommand::Deactivate { imsi: imsi(0), nsapi: NSAPI });
        send(bench, 0, 1);
    });
    assert_eq!(to_the_ggsn(&mut bench, 1), [(0, 0)]);
}

#[test]
fn a_mobile_is_where_it_was_heard_last() {
    for ingress in [Ingress::Fifo, Ingress::Queued] {
        let mut bench = three_phones(ingress);
        bench.in_one_turn(|bench| {
            (0..2).for_each(|number| send(bench, 0, number));
            bench.phones[0].cell = 1;
            (2..4).for_each(|number| send(bench, 0, number));
        });
        assert_eq!(bench.mobile(0).gmm.cell(), cell(1), "{ingress:?}");
        bench.sent.retain(|sent| matches!(sent, Sent::User(..)));
        assert_eq!(to_the_ggsn(&mut bench, 4), [(0, 0), (0, 1), (0, 2), (0, 3)]);
    }
}
