//! Sender and receiver do what the models do, whatever comes.

use crate::model::{ReceiveModel, SendModel};
use gannet_machine::rng::Rng;
use gannet_proto::rlcmac::rlc::{Ending, Mode, Receiver, Report, Sender};
use gannet_wire::rlcmac::block::Body;
use gannet_wire::rlcmac::coding::CodingScheme;
use proptest::prelude::*;

/// A report that a receiver could make of this window, or any other.
fn any_report(rng: &mut Rng, sender: &Sender<Vec<u8>>) -> Report {
    let outstanding = sender.outstanding() as u64;
    let ssn = match rng.below(10) {
        0 => rng.below(128) as u8,
        _ => ((u64::from(sender.v_a()) + rng.below(outstanding + 1)) % 128) as u8,
    };
    Report { ssn, bitmap: rng.u64() | rng.u64() | rng.u64(), is_final: false }
}

proptest! {
    #[test]
    fn the_sender_is_the_model(seed in any::<u64>(), steps in 1..1000_u32, new_percent in 10..100_u64) {
        let mut rng = Rng::seeded(seed);
        let mut sender = Sender::new(Mode::Acknowledged, CodingScheme::Cs1);
        let mut model = SendModel::new();
        for _ in 0..steps {
            match rng.below(12) {
                0 if rng.below(100) < new_percent => {
                    sender.push(vec![1; 1 + rng.below(600) as usize]).unwrap();
                }
                1 => {
                    let report = any_report(&mut rng, &sender);
                    prop_assert_eq!(sender.acknowledge(&report, None).is_ok(), model.report(&report));
                }
                _ => {
                    let peeked = sender.peek();
                    let sent = sender.next_block(Ending::Open).map(|sent| (sent.bsn, sent.kind));
                    let has_new = sent.is_some_and(|(_, kind)| kind == gannet_proto::rlcmac::rlc::Kind::New)
                        || sender.waiting_octets() > 0;
                    prop_assert_eq!(peeked, sent.map(|(_, kind)| kind));
                    prop_assert_eq!(sent, model.next(has_new));
                }
            }
            prop_assert_eq!(sender.is_stalled(), model.is_stalled());
            prop_assert_eq!(sender.unacknowledged(), model.unacknowledged());
        }
    }

    #[test]
    fn the_receiver_is_the_model(seed in any::<u64>(), steps in 1..500_u32) {
        let mut rng = Rng::seeded(seed);
        let body = Body::compose(CodingScheme::Cs1, None, (&[3], false), [&[7_u8, 8, 9][..]]).unwrap();
        let mut receiver = Receiver::new(Mode::Acknowledged);
        let mut model = ReceiveModel::new();
        let mut delivered = 0;
        for _ in 0..steps {
            // Any block of the window of a sender, whose V(A) is at most V(Q).
            let number = (u64::from(model.v_q()) + rng.below(64)).saturating_sub(rng.below(20)) as u32;
            let is_new = receiver.receive((number % 128) as u8, false, &body, |_| delivered += 1).unwrap().is_new;
            let before = model.report();
            let knew = model.v_r() > number && number < model.v_q();
            model.receive(number);
            prop_assert!(!(knew && is_new));
            prop_assert_eq!(is_new, model.report() != before);
            prop_assert_eq!(receiver.report(), model.report());
            prop_assert_eq!(u32::from(receiver.v_q()), model.v_q() % 128);
            prop_assert_eq!(delivered, model.v_q());
        }
        prop_assert_eq!(receiver.counts().arrived(), u64::from(steps));
    }
}
