//! Cutting and putting together without a channel: every length, every scheme.

use gannet_proto::rlcmac::rlc::{Ending, LL_PDU_MAX, Mode, Received, Receiver, Refused, Sender};
use gannet_wire::id::Tlli;
use gannet_wire::rlcmac::block::{Body, FILLER};
use gannet_wire::rlcmac::coding::CodingScheme;
use proptest::prelude::*;

fn pattern(octets: usize, number: usize) -> Vec<u8> {
    (0..octets).map(|at| (at * 5 + number * 11) as u8).collect()
}

/// All blocks of the LL-PDUs, and what a receiver makes of them.
fn through(mode: Mode, scheme: CodingScheme, ending: Ending, pdus: &[Vec<u8>]) -> (usize, Vec<Vec<u8>>) {
    let mut sender = Sender::new(mode, scheme);
    let mut receiver = Receiver::new(mode);
    let mut delivered = Vec::new();
    for pdu in pdus {
        sender.push(pdu.clone()).unwrap();
    }
    let mut blocks = 0;
    while sender.waiting_octets() > 0 {
        let sent = sender.next_block(ending).unwrap();
        let take = |pdu: gannet_proto::rlcmac::rlc::LlPduOctets<'_>| delivered.push(pdu.octets.to_vec());
        receiver.receive(sent.bsn, sent.is_final, &sent.body, take).unwrap();
        sender.acknowledge(&receiver.report(), None).unwrap();
        blocks += 1;
    }
    assert_eq!(receiver.is_complete(), ending != Ending::Open);
    (blocks, delivered)
}

#[test]
fn one_of_every_length() {
    for scheme in CodingScheme::ALL {
        let field = scheme.data_octets();
        for octets in 1..=LL_PDU_MAX {
            let pdus = [pattern(octets, 0)];
            let (blocks, delivered) = through(Mode::Acknowledged, scheme, Ending::WithQueue, &pdus);
            assert_eq!(delivered, pdus);
            // The last block has an indicator unless it is full.
            let expected = if octets % field == 0 { octets / field } else { (octets + 1).div_ceil(field) };
            assert_eq!(blocks, expected, "{octets} octets with {scheme}");
        }
    }
}

proptest! {
    #[test]
    fn several(
        lengths in prop::collection::vec(1..70_usize, 1..30), command in 0..4_u8, mode in any::<bool>(), open in any::<bool>(),
    ) {
        let pdus: Vec<_> = lengths.iter().enumerate().map(|(n, octets)| pattern(*octets, n)).collect();
        let scheme = CodingScheme::of_command(command);
        let mode = if mode { Mode::Acknowledged } else { Mode::Unacknowledged };
        let ending = if open { Ending::Open } else { Ending::WithQueue };
        let (_, delivered) = through(mode, scheme, ending, &pdus);
        prop_assert_eq!(delivered, pdus);
    }
}

#[test]
fn the_tlli_takes_room_in_the_blocks_that_are_cut_while_it_is_set() {
    let mut sender = Sender::new(Mode::Acknowledged, CodingScheme::Cs1);
    sender.set_tlli(Some(Tlli(0xc000_0007)));
    sender.push(pattern(40, 0)).unwrap();
    let first = sender.next_block(Ending::WithQueue).unwrap();
    sender.set_tlli(None);
    let second = sender.next_block(Ending::WithQueue).unwrap();
    let third = sender.next_block(Ending::WithQueue).unwrap();
    let (counts, report) =
        (*sender.counts(), gannet_proto::rlcmac::rlc::Report { ssn: 3, bitmap: 0b011, is_final: false });
    assert_eq!(
        (counts.ll_pdu_octets, counts.tlli_octets, counts.indicator_octets, counts.filler_octets),
        (40, 4, 1, 15)
    );
    let mut receiver = Receiver::new(Mode::Acknowledged);
    let tllis = [first, second, third]
        .map(|sent| receiver.receive(sent.bsn, sent.is_final, &sent.body, |_| ()).unwrap().tlli);
    assert_eq!(tllis, [Some(Tlli(0xc000_0007)), None, None]);
    // Sent again, it is the block that it was.
    sender.acknowledge(&report, None).unwrap();
    assert_eq!(sender.next_block(Ending::WithQueue).unwrap().body, first.body);
}

#[test]
fn a_block_keeps_its_scheme() {
    let mut sender = Sender::new(Mode::Acknowledged, CodingScheme::Cs4);
    sender.push(pattern(200, 0)).unwrap();
    let schemes = |sender: &mut Sender<Vec<u8>>| sender.next_block(Ending::WithQueue).unwrap().body.scheme();
    assert_eq!(schemes(&mut sender), CodingScheme::Cs4);
    sender.set_scheme(CodingScheme::Cs1);
    assert_eq!(schemes(&mut sender), CodingScheme::Cs1);
    let report = gannet_proto::rlcmac::rlc::Report { ssn: 2, bitmap: 0, is_final: false };
    sender.acknowledge(&report, None).unwrap();
    assert_eq!([schemes(&mut sender), schemes(&mut sender)], [CodingScheme::Cs4, CodingScheme::Cs1]);
}

#[test]
fn what_waits_untouched_can_be_taken_out() {
    let mut sender = Sender::new(Mode::Acknowledged, CodingScheme::Cs1);
    for number in 0..5 {
        sender.push(pattern(30, number)).unwrap();
    }
    assert_eq!(sender.push(Vec::new()), Err(Vec::new()));
    // The first is cut to its end, the second has begun.
    for _ in 0..2 {
        sender.next_block(Ending::WithQueue).unwrap();
    }
    let mut taken = Vec::new();
    sender.take_unsent(|pdu| *pdu != pattern(30, 3), |pdu| taken.push(pdu));
    assert_eq!(taken, [pattern(30, 2), pattern(30, 4)]);
    let rest: Vec<_> = sender.clone().into_remaining().collect();
    assert_eq!(rest, [pattern(30, 0), pattern(30, 1), pattern(30, 3)]);
    while sender.waiting_octets() > 0 {
        sender.next_block(Ending::WithQueue).unwrap();
    }
    sender.take_unsent(|_| true, |_| panic!("nothing waits"));
    assert_eq!(sender.into_remaining().count(), 3);
}

#[test]
fn blocks_that_cannot_be_are_refused_and_change_nothing() {
    let body = |start: u8| Body::compose(CodingScheme::Cs1, None, (&[1], false), [&[start][..]]).unwrap();
    let mut receiver = Receiver::new(Mode::Acknowledged);
    let refused = |receiver: &mut Receiver, bsn, is_final| {
        let before = receiver.report();
        let result = receiver.receive(bsn, is_final, &body(0), |_| panic!("nothing is whole"));
        assert_eq!(receiver.report(), before);
        matches!(result, Err(Refused::Outside { .. }))
    };
    assert!(refused(&mut receiver, 64, false) && refused(&mut receiver, 127, false));
    let new = Received { is_new: true, tlli: None };
    assert_eq!(receiver.receive(0, false, &body(0), |_| ()), Ok(new));
    assert_eq!(receiver.receive(3, true, &body(3), |_| ()), Ok(new));
    // Behind the final block there is none, and none before a block that came is final.
    assert!(refused(&mut receiver, 4, false) && refused(&mut receiver, 2, true));
    assert_eq!(receiver.receive(0, false, &body(0), |_| ()), Ok(Received { is_new: false, tlli: None }));
    assert_eq!((receiver.holes(), receiver.v_q(), receiver.v_r()), (2, 1, 4));
    let counts = receiver.counts();
    assert_eq!((counts.accepted, counts.duplicates, counts.outside), (2, 1, 4));

    let wrong = Body::compose(CodingScheme::Cs1, None, (&[20], false), []).unwrap();
    assert!(matches!(receiver.receive(1, false, &wrong, |_| ()), Err(Refused::Malformed(_))));
    assert_eq!((receiver.counts().malformed, receiver.holes()), (1, 2));
}

#[test]
fn an_ll_pdu_that_does_not_end_is_thrown_away() {
    let endless = Body::compose(CodingScheme::Cs4, None, (&[], false), [&[FILLER; 50][..]]).unwrap();
    let last = Body::compose(CodingScheme::Cs4, None, (&[7, 5], false), [&[1; 12][..]]).unwrap();
    let mut receiver = Receiver::new(Mode::Acknowledged);
    let mut delivered = Vec::new();
    for bsn in 0..100 {
        receiver.receive(bsn, false, &endless, |_| panic!("it does not end")).unwrap();
    }
    assert!(receiver.unfinished_octets() <= LL_PDU_MAX);
    receiver.receive(100, true, &last, |pdu| delivered.push(pdu.octets.len())).unwrap();
    assert_eq!((delivered, receiver.counts().too_long), (vec![5], 1));
}

#[test]
fn zeros_stand_for_what_is_missing() {
    let mut sender = Sender::new(Mode::Unacknowledged, CodingScheme::Cs1);
    let mut receiver = Receiver::new(Mode::Unacknowledged);
    let mut delivered = Vec::new();
    for number in 0..3 {
        sender.push(vec![number + 1; 50]).unwrap();
    }
    let mut number = 0;
    while sender.waiting_octets() > 0 {
        let sent = sender.next_block(Ending::WithQueue).unwrap();
        if number != 1 {
            let take = |pdu: gannet_proto::rlcmac::rlc::LlPduOctets<'_>| {
                delivered.push((pdu.octets.to_vec(), pdu.missing))
            };
            receiver.receive(sent.bsn, sent.is_final, &sent.body, take).unwrap();
        }
        number += 1;
    }
    let damaged = [[1; 20], [0; 20]].concat().into_iter().chain([1; 10]).collect();
    assert_eq!(delivered, [(damaged, 1), (vec![2; 50], 0), (vec![3; 50], 0)]);
    assert_eq!((receiver.counts().missing, receiver.counts().damaged), (1, 1));
    // The final block is all that is sent again, until a report says that it has come.
    let again = sender.next_block(Ending::WithQueue).unwrap();
    assert!(again.is_final && !sender.is_complete());
    assert!(!receiver.receive(again.bsn, true, &again.body, |_| ()).unwrap().is_new);
    sender.acknowledge(&receiver.report(), None).unwrap();
    assert!(sender.is_complete() && sender.next_block(Ending::WithQueue).is_none());
}
