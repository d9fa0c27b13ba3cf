//! User data of mobiles that the SGSN does not know, empty answers to pages, and short messages.

use super::bench::*;
use super::uplink::sn_pdu;
use crate::sgsn::*;
use gannet_machine::drops::Drop;
use gannet_proto::gmm::MmState;
use gannet_wire::bssgp::Message;
use gannet_wire::id::{Bvci, Nsei, PTmsi, Sapi};
use gannet_wire::l3::gmm::GmmMessage;
use gannet_wire::l3::ie::MobileIdentity;

const GONE: Tlli = Tlli(0xc123_4567);

/// DETACH REQUESTs that tell a mobile to attach again: with which TLLI, in which cell.
fn told(bench: &mut Bench) -> Vec<(Tlli, (Nsei, Bvci))> {
    let mut all = Vec::new();
    while let Some(sent) = bench.sent.pop_front() {
        let Sent::Down(down) = sent else { panic!("{sent:?}") };
        // DETACH REQUEST, re-attach required, with cause 10.
        if down.ll_pdu[3..].starts_with(&[0x08, 0x05, 0x01, 0x25, 0x0a]) {
            assert_eq!(down.ll_pdu[0] & 0x0f, 1, "SAPI 1");
            all.push((down.header.tlli, down.cell));
        }
    }
    all
}

/// Phone 1 takes itself for attached, with a TLLI that nobody has, in cell `n`.
fn goes_on(bench: &mut Bench, sapi: Sapi, tlli: Tlli, n: usize) {
    bench.phones[1].cell = n;
    bench.phones[1].power_cycle(tlli);
    bench.unitdata(1, sapi, &sn_pdu(NSAPI, 0, false, 0, b"up"));
}

#[test]
fn one_detach_request_tells_it_to_attach_again() {
    for sapi in [3, 5, 9, 11].map(Sapi) {
        let mut bench = Bench::attached(false);
        goes_on(&mut bench, sapi, GONE, 2);
        assert_eq!(told(&mut bench), [(GONE, (Nsei(2), Bvci(2)))]);
        assert_eq!(bench.drops(), [(Drop::LlcUnassigned, 1), (Drop::SgsnUnknownTlli, 1)]);
        for _ in 0..20 {
            goes_on(&mut bench, sapi, GONE, 2);
        }
        assert_eq!(told(&mut bench), []);
        assert_eq!(bench.dropped(Drop::SgsnStrangerUnanswered), 20);
        bench.pass_secs(10);
        goes_on(&mut bench, sapi, GONE, 2);
        assert_eq!(told(&mut bench).len(), 1, "the first one may be lost");
    }
}

#[test]
fn short_messages_and_damaged_frames_have_no_answer() {
    let mut bench = Bench::attached(false);
    goes_on(&mut bench, Sapi::SMS, GONE, 0);
    let mut ll_pdu = bench.ll_pdu(1, Sapi::DATA3, &sn_pdu(NSAPI, 0, false, 0, b"up"));
    ll_pdu[5] ^= 1;
    bench.up(1, &ll_pdu);
    assert_eq!(told(&mut bench), []);
    assert_eq!(bench.dropped(Drop::SgsnUnknownTlli), 2);
}

/// A ciphered frame cannot be read, and its mobile is told all the same; whether it listens is its own affair.
#[test]
fn a_mobile_that_ciphers_is_told_in_the_clear() {
    let mut bench = Bench::attached(false);
    bench.phones[1].power_cycle(GONE);
    let mut ll_pdu = bench.ll_pdu(1, Sapi::DATA3, &sn_pdu(NSAPI, 0, false, 0, b"up"));
    // E, and an FCS that nobody can check.
    ll_pdu[2] |= 2;
    bench.up(1, &ll_pdu);
    assert_eq!(told(&mut bench).len(), 1);
}

#[test]
fn never_while_somebody_has_the_tlli() {
    let mut bench = Bench::attached(false);
    // Phone 0 attaches with a random TLLI in cell 0, and the same is heard in other cells.
    bench.detach(0, true);
    let random = Tlli::random(5);
    bench.phones[0].power_cycle(random);
    bench.gmm(0, attach_request(MobileIdentity::Imsi(imsi(0))));
    bench.sent.clear();
    for n in 1..4 {
        goes_on(&mut bench, Sapi::DATA3, random, n);
    }
    assert_eq!(told(&mut bench), []);
    // One attaches with the foreign TLLI of a P-TMSI, and its local TLLI is heard.
    let ptmsi = PTmsi(GONE.0);
    bench.phones[2].power_cycle(Tlli::foreign(ptmsi));
    bench.gmm(2, attach_request(MobileIdentity::PTmsi(ptmsi)));
    bench.sent.clear();
    goes_on(&mut bench, Sapi::DATA3, GONE, 0);
    goes_on(&mut bench, Sapi::DATA3, GONE, 3);
    assert_eq!(told(&mut bench), []);
    // Who has given up attaching is unknown again.
    bench.pass_secs(31);
    bench.sent.clear();
    goes_on(&mut bench, Sapi::DATA3, GONE, 0);
    assert_eq!(told(&mut bench).len(), 1);
    // The foreign TLLI of who is attached, elsewhere.
    let mut bench = Bench::attached(false);
    let known = bench.phones[0].ptmsi.unwrap();
    goes_on(&mut bench, Sapi::DATA3, Tlli::foreign(known), 2);
    assert_eq!(told(&mut bench), []);
    assert_eq!(bench.dropped(Drop::SgsnStrangerUnanswered), 1);
}

#[test]
fn no_more_than_so_many_in_a_cell_and_in_the_node() {
    let mut bench = Bench::new(|config| config.stranger_answers_per_second = 8);
    let tlli = |number: u32| Tlli(0xc100_0000 | number);
    for number in 0..100 {
        goes_on(&mut bench, Sapi::DATA3, tlli(number), 0);
    }
    assert_eq!(told(&mut bench).len(), 10, "in one cell");
    for number in 100..200 {
        goes_on(&mut bench, Sapi::DATA3, tlli(number), 1);
    }
    assert_eq!(told(&mut bench).len(), 6, "16 at once in the node");
    bench.pass_secs(1);
    for number in 200..300 {
        goes_on(&mut bench, Sapi::DATA3, tlli(number), 2);
    }
    assert_eq!(told(&mut bench).len(), 8);
    assert_eq!(bench.dropped(Drop::SgsnStrangerUnanswered), 300 - 24);
    bench.assert_empty();
}

/// Phones answer a page by an empty UI frame on SAPI 1.
#[test]
fn an_empty_frame_answers_a_page() {
    let mut bench = Bench::attached(true);
    bench.pass_secs(45);
    assert_eq!(bench.mobile(0).gmm.mm_state(), MmState::Standby);
    bench.downlink(0, NSAPI, b"down");
    assert!(matches!(bench.next_bssgp(), Message::PagingPs(_)));
    bench.sent.clear();
    bench.unitdata(0, Sapi::GMM, &[]);
    assert!(bench.hear(0).1.ends_with(b"down"));
    assert_eq!(bench.mobile(0).gmm.mm_state(), MmState::Ready);
    assert_eq!(bench.drops(), []);
}

#[test]
fn short_messages_have_their_own_name() {
    let mut bench = Bench::attached(true);
    bench.unitdata(0, Sapi::SMS, &[0x09, 0x01, 0x03, 0, 1, 2]);
    assert!(bench.is_silent());
    assert_eq!(bench.drops(), [(Drop::SgsnSmsNotServed, 1)]);
}

/// User data of unknown mobiles take no answer from a phone whose attach or update has to be answered.
#[test]
fn user_data_of_strangers_leave_the_answers_to_their_signalling_alone() {
    let mut bench = Bench::new(|config| config.stranger_answers_per_second = 8);
    for number in 0..100 {
        let cell = if number % 2 == 0 { 0 } else { 1 };
        goes_on(&mut bench, Sapi::DATA3, Tlli(0xc100_0000 | number), cell);
    }
    assert_eq!(told(&mut bench).len(), 16);
    bench.phones[2].power_cycle(GONE);
    bench.unitdata(2, Sapi::GMM, &[0x08, 0x08]);
    bench.next_down();
    assert!(matches!(bench.hear_gmm(2), GmmMessage::RauReject(_)));
}
