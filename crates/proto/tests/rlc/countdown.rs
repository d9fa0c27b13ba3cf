//! The countdown value against the formula of clause 9.3.1, with the number of blocks counted afterwards.

use gannet_proto::rlcmac::rlc::{Ending, Kind, Mode, Report, Sender};
use gannet_wire::id::Tlli;
use gannet_wire::rlcmac::coding::CodingScheme;
use proptest::prelude::*;

proptest! {
    #[test]
    fn values_are_those_of_the_formula(
        lengths in prop::collection::vec(1..400_usize, 1..12),
        (cv_max, slots) in (0..16_u8, 1..9_u8),
        command in 0..4_u8,
        tlli in prop::option::of(any::<u32>().prop_map(Tlli)),
    ) {
        let mut sender = Sender::new(Mode::Acknowledged, CodingScheme::of_command(command));
        sender.set_tlli(tlli);
        for length in &lengths {
            sender.push(vec![9; *length]).unwrap();
        }
        let ending = Ending::Countdown { cv_max, slots };
        let mut values = Vec::new();
        let mut is_closed = false;
        while sender.peek() == Some(Kind::New) {
            let sent = sender.next_block(ending).unwrap();
            values.push(sent.countdown);
            is_closed |= sent.countdown < 15;
            prop_assert_eq!(sent.is_final, sent.countdown == 0);
            prop_assert_eq!(sender.is_closed(), is_closed);
            prop_assert_eq!(sender.push(vec![1]).is_err(), is_closed);
            if !is_closed {
                // It was taken: out with it again, so that the number of blocks stays.
                sender.take_unsent(|pdu| pdu.len() == 1 && pdu[0] == 1, drop);
            }
            let ssn = sender.v_s();
            sender.acknowledge(&Report { ssn, bitmap: u64::MAX, is_final: false }, None).unwrap();
        }
        let total = values.len();
        for (number, value) in values.into_iter().enumerate() {
            let x = (total - number - 1).div_ceil(usize::from(slots));
            let expected = if x <= usize::from(cv_max) { x } else { 15 };
            prop_assert_eq!(usize::from(value), expected, "block {} of {}", number, total);
        }
    }
}

#[test]
fn a_block_that_is_sent_again_counts_from_its_own_place() {
    let mut sender = Sender::new(Mode::Acknowledged, CodingScheme::Cs1);
    sender.push(vec![0; 70]).unwrap();
    let ending = Ending::Countdown { cv_max: 15, slots: 1 };
    let values: Vec<u8> = (0..4).map(|_| sender.next_block(ending).unwrap().countdown).collect();
    assert_eq!(values, [3, 2, 1, 0]);
    sender.acknowledge(&Report { ssn: 4, bitmap: 0b0101, is_final: false }, None).unwrap();
    let again: Vec<_> = (0..2).map(|_| sender.next_block(ending).unwrap()).collect();
    let told: Vec<_> =
        again.iter().map(|sent| (sent.bsn, sent.kind, sent.countdown, sent.is_final)).collect();
    assert_eq!(told, [(0, Kind::Needed, 3, false), (2, Kind::Needed, 1, false)]);
    // Round robin begins behind nothing: the oldest first.
    let next = sender.next_block(ending).unwrap();
    assert_eq!((next.bsn, next.kind), (0, Kind::PrematureIdle));
    assert!(sender.acknowledge(&Report { is_final: true, ..Report::default() }, None).is_ok());
    assert!(sender.is_complete() && sender.peek().is_none());
    assert_eq!(sender.pop_done().map(|pdu| pdu.len()), Some(70));
}

#[test]
fn no_countdown_while_the_tbf_stays_open() {
    let mut sender = Sender::new(Mode::Acknowledged, CodingScheme::Cs2);
    sender.push(vec![0; 5]).unwrap();
    let sent = sender.next_block(Ending::Open).unwrap();
    assert_eq!((sent.countdown, sent.is_final, sender.is_closed()), (15, false, false));
    assert_eq!(sent.body.contents().unwrap().filler, 30 - 1 - 5);
    sender.push(vec![0; 5]).unwrap();
    let sent = sender.next_block(Ending::WithQueue).unwrap();
    assert_eq!((sent.countdown, sent.is_final, sender.is_closed()), (15, true, true));
}
