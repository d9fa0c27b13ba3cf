//! LL-PDUs arrive once, in order and whole, over any channel; blocks and octets are conserved.

use crate::world::{Run, World};
use gannet_proto::rlcmac::rlc::{Ending, Mode};
use proptest::prelude::*;

fn ending() -> impl Strategy<Value = Ending> {
    prop_oneof![
        Just(Ending::WithQueue),
        (0..16_u8, 1..9_u8).prop_map(|(cv_max, slots)| Ending::Countdown { cv_max, slots }),
    ]
}

prop_compose! {
    fn run(mode: Mode)(
        seed in any::<u64>(), blocks_lost in 0..60_u64, reports_lost in 0..60_u64, pdus in 1..40_usize,
        report_every in 1..70_u64, delay in 0..30_u64, knows_time in any::<bool>(), ending in ending(),
    ) -> Run {
        Run { seed, mode, blocks_lost, reports_lost, pdus, report_every, delay, knows_time, ending }
    }
}

/// Periods after which a run is given up: a block is lost at most 60 times of 100.
const LONG_ENOUGH: u32 = 400_000;

fn complete(run: Run) -> World {
    let mut world = World::new(run);
    for _ in 0..LONG_ENOUGH {
        world.step();
        if world.sender.is_complete() {
            return world;
        }
    }
    panic!("{run:?} does not end: {:?} {:?}", world.sender.counts(), world.receiver.counts());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn acknowledged_mode_loses_nothing(run in run(Mode::Acknowledged)) {
        let world = complete(run);
        prop_assert!(world.receiver.is_complete() && world.sender.is_closed());
        prop_assert_eq!(&world.done, &world.pushed);
        prop_assert_eq!(world.delivered.len(), world.pushed.len());
        let octets: usize = world.pushed.iter().map(Vec::len).sum();
        prop_assert_eq!(world.sender.counts().ll_pdu_octets, octets as u64);
        prop_assert_eq!(world.receiver.counts().ll_pdu_octets, octets as u64);
        prop_assert_eq!(world.receiver.counts().accepted, world.sender.counts().new);
        prop_assert_eq!(world.receiver.unfinished_octets(), 0);
    }

    #[test]
    fn who_knows_when_a_report_was_made_sends_only_what_is_lost(run in run(Mode::Acknowledged)) {
        let world = complete(Run { knows_time: true, ..run });
        let counts = world.sender.counts();
        prop_assert!(world.receiver.counts().duplicates <= counts.premature_stalled + counts.premature_idle);
        prop_assert!(counts.needed + counts.repeated <= world.lost);
    }

    #[test]
    fn a_tbf_that_breaks_gives_back_what_has_not_arrived(run in run(Mode::Acknowledged), steps in 0..800_u32) {
        let mut world = World::new(run);
        for _ in 0..steps {
            world.step();
        }
        let done = world.done.len();
        let back: Vec<Vec<u8>> = world.sender.into_remaining().collect();
        prop_assert_eq!(back, &world.pushed[done..]);
        prop_assert!(world.delivered.len() >= done);
    }

    #[test]
    fn unacknowledged_mode_fills_what_is_missing(run in run(Mode::Unacknowledged)) {
        let run = Run { blocks_lost: run.blocks_lost / 2, ..run };
        let world = complete(run);
        let counts = world.receiver.counts();
        prop_assert_eq!(&world.done, &world.pushed);
        prop_assert_eq!(world.sender.counts().new, counts.accepted + counts.missing);
        let is_whole = world.delivered.iter().all(|(_, missing)| *missing == 0) && counts.too_long == 0;
        prop_assert_eq!(counts.missing == 0, is_whole);
        // What is said to be whole was sent so, in this order.
        let mut sent = world.pushed.iter();
        for (pdu, _) in world.delivered.iter().filter(|(_, missing)| *missing == 0) {
            prop_assert!(sent.any(|one| one == pdu));
        }
    }
}

#[test]
fn kinds_of_retransmission_are_told_apart() {
    let run = Run {
        seed: 1,
        mode: Mode::Acknowledged,
        blocks_lost: 30,
        reports_lost: 0,
        pdus: 20,
        report_every: 10,
        delay: 15,
        knows_time: false,
        ending: Ending::WithQueue,
    };
    let naive = *complete(run).sender.counts();
    let knowing = *complete(Run { knows_time: true, ..run }).sender.counts();
    // Reports that come before the retransmission has arrived make the sender repeat it.
    assert!(naive.repeated > 2 * knowing.repeated, "{naive:?} {knowing:?}");
    assert!(knowing.needed > 0 && knowing.premature_idle > 0);
    let rare = *complete(Run { report_every: 64, reports_lost: 50, ..run }).sender.counts();
    assert!(rare.premature_stalled > 0, "{rare:?}");
}
