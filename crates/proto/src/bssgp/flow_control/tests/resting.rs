//! Who has used up his bucket is told to wait before anything of his is queued.

use super::*;
use Whose::{Cell as OfCell, Ms as OfMs};

/// A bucket of a mobile takes 800 octets and leaks 100 a second, a cell's ten times that.
fn watched() -> Bench {
    Bench::with(|config| {
        config.initial = BvcParameters { bvc: bucket(8000, 1000), default_ms: bucket(800, 100) };
        config.wait_quantum = WaitQuantum { bmax_divisor: 4, delay_max: Duration::from_secs(60) };
        config.rest_quantum = config.wait_quantum;
        config.feedback = Some(Watermarks::default());
        config.active_ms_max = 8;
        config.pdus_max = 64;
    })
}

impl Bench {
    /// True where a PDU of so many octets passes.
    fn passes(&mut self, ms: u32, class: CellClass, octets: usize) -> bool {
        let pdu = self.pdu(class, 0, octets);
        let offered = self.control.offer(&mut self.around.context(), (0, Some(ms)), pdu);
        matches!(offered, Offered::Passes(_))
    }

    fn told_of(&mut self) -> Vec<(Whose, bool)> {
        core::iter::from_fn(|| self.control.take_feedback()).map(|f| (f.whose, f.blocked)).collect()
    }
}

#[test]
fn who_has_used_up_his_bucket_rests_until_there_is_room_for_a_part_of_it() {
    let mut bench = watched();
    for _ in 0..7 {
        assert!(bench.passes(0, BestEffort, 100));
    }
    assert_eq!(bench.told_of(), []);
    assert!(bench.passes(0, BestEffort, 100));
    assert_eq!(bench.told_of(), [(OfMs(0, BestEffort), true)], "not one more would pass");
    assert_eq!(bench.drain(), (vec![], Some(2000)), "a quarter is 200 octets");
    assert_eq!((bench.at(1999).drain().0, bench.told_of()), (vec![], vec![]));
    assert_eq!(bench.at(2000).drain(), (vec![], None));
    assert_eq!(bench.told_of(), [(OfMs(0, BestEffort), false)]);
    assert!(bench.passes(0, BestEffort, 100) && bench.passes(0, BestEffort, 100));
    assert_eq!(bench.told_of(), [(OfMs(0, BestEffort), true)]);
    assert_eq!(bench.control.queued_pdus(), 0);
}

#[test]
fn what_is_offered_to_one_who_rests_waits_no_longer_than_its_own_bucket_wants() {
    let mut bench = watched();
    assert!(bench.passes(0, BestEffort, 700));
    assert_eq!(bench.told_of(), [(OfMs(0, BestEffort), true)], "as long again would not pass");
    // An owner who does not listen offers more.
    assert!(bench.passes(0, BestEffort, 100));
    assert!(!bench.passes(0, BestEffort, 100));
    assert_eq!(bench.told_of(), [(OfMs(0, BestEffort), false)]);
    assert_eq!(bench.drain(), (vec![], Some(1000)));
    assert_eq!(bench.at(1000).drain(), (vec![0], None));
}

#[test]
fn who_rests_and_has_something_queued_waits_for_that() {
    let mut bench = watched();
    assert!(bench.passes(0, BestEffort, 800));
    assert_eq!(bench.told_of(), [(OfMs(0, BestEffort), true)]);
    assert!(!bench.passes(0, RealTime, 100));
    assert_eq!(bench.told_of(), [(OfMs(0, BestEffort), false)], "it is in a queue that has its own marks");
    assert_eq!(bench.drain(), (vec![], Some(1000)));
    assert_eq!(bench.at(1000).drain(), (vec![0], None));
}

#[test]
fn what_else_passes_makes_the_rest_longer() {
    let mut bench = watched();
    assert!(bench.passes(0, BestEffort, 600));
    assert_eq!(bench.told_of(), [(OfMs(0, BestEffort), true)]);
    assert_eq!(bench.drain(), (vec![], Some(4000)));
    assert!(bench.passes(0, RealTime, 200));
    assert_eq!((bench.at(4000).drain(), bench.told_of()), ((vec![], Some(6000)), vec![]));
    assert_eq!(bench.at(6000).drain(), (vec![], None));
    assert_eq!(bench.told_of(), [(OfMs(0, BestEffort), false)]);
}

#[test]
fn nobody_rests_who_was_given_room_or_is_gone() {
    let mut bench = watched();
    for ms in 0..4 {
        assert!(bench.passes(ms, BestEffort, 800));
    }
    assert_eq!(bench.told_of().len(), 4);
    let cx = &mut bench.around.context();
    assert!(bench.control.set_ms(cx, 0, 0, bucket(8000, 100), None));
    bench.control.take_out(cx, 0, Some(1), 800);
    bench.control.forget(cx, 2);
    bench.control.move_ms(cx, 3, 1);
    assert!(bench.told_of().into_iter().all(|(_, blocked)| !blocked));
    assert_eq!(bench.drain(), (vec![], None));
    for ms in 0..3 {
        assert!(bench.passes(ms, BestEffort, 800));
    }
}

#[test]
fn a_cell_rests_as_a_mobile_does_unless_real_time_goes_out_there() {
    let mut bench = watched();
    for ms in 0..8 {
        assert!(bench.control.set_ms(&mut bench.around.context(), 0, ms, bucket(8000, 8000), None));
    }
    for ms in 0..8 {
        assert!(bench.passes(ms, BestEffort, 1000));
    }
    assert_eq!(bench.told_of(), [(OfCell(0, BestEffort), true)]);
    assert_eq!(bench.drain(), (vec![], Some(2000)));
    assert!(bench.put(0, Signalling, 1, 100));
    assert_eq!(bench.drain(), (vec![], Some(100)));
    assert_eq!(bench.told_of(), [(OfCell(0, BestEffort), false)], "something stands in its queue");
    assert_eq!(bench.at(2000).drain(), (vec![1], None));
    assert!(bench.passes(0, BestEffort, 1000));
    assert_eq!(bench.told_of(), [(OfCell(0, BestEffort), true)]);
    assert!(bench.passes(0, RealTime, 900));
    assert_eq!(bench.told_of(), [(OfCell(0, BestEffort), false)], "real time is watched beside it");
    assert_eq!(bench.drain(), (vec![], None));
    assert!(!bench.passes(0, BestEffort, 1000));
    assert_eq!(bench.told_of(), []);
}

#[test]
fn a_cell_that_rests_goes_on_with_new_values() {
    let mut bench = watched();
    for ms in 0..8 {
        assert!(bench.control.set_ms(&mut bench.around.context(), 0, ms, bucket(8000, 8000), None));
        assert!(bench.passes(ms, BestEffort, 1000));
    }
    assert_eq!(bench.told_of(), [(OfCell(0, BestEffort), true)]);
    let parameters = BvcParameters { bvc: bucket(80_000, 1000), default_ms: bucket(800, 100) };
    bench.control.set_bvc(&mut bench.around.context(), 0, parameters, None);
    assert_eq!((bench.told_of(), bench.drain()), (vec![(OfCell(0, BestEffort), false)], (vec![], None)));
}
