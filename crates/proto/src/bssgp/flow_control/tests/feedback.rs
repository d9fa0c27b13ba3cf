//! Who is told to wait, and when he is told to go on.

use super::*;
use Whose::{Cell as OfCell, Ms as OfMs, Node};

const MARKS: Watermarks = Watermarks {
    ms: Watermark { high: Amount { pdus: 3, octets: 1000 }, low: Amount { pdus: 1, octets: 600 } },
    cell: Watermark { high: Amount { pdus: 5, octets: 2000 }, low: Amount { pdus: 2, octets: 1500 } },
};

fn watched() -> Bench {
    Bench::with(|config| {
        config.data =
            Limits { ms: Limit { pdus: 16, octets: 50_000 }, cell: Limit { pdus: 16, octets: 50_000 } };
        config.active_ms_max = 8;
        config.pdus_max = 64;
        config.feedback = Some(MARKS);
    })
}

impl Bench {
    fn told(&mut self) -> Vec<(Whose, bool)> {
        let mut told: Vec<_> =
            core::iter::from_fn(|| self.control.take_feedback()).map(|f| (f.whose, f.blocked)).collect();
        told.sort_unstable_by_key(|(whose, _)| format!("{whose:?}"));
        told
    }
}

#[test]
fn a_mobile_is_blocked_at_the_high_mark_and_unblocked_at_the_low_one() {
    let mut bench = watched();
    for name in 1..=2 {
        assert!(bench.put(0, BestEffort, name, 300));
        assert_eq!(bench.told(), []);
    }
    assert!(bench.put(0, BestEffort, 3, 300) && bench.put(0, BestEffort, 4, 300));
    assert!(bench.put(0, RealTime, 5, 10) && bench.put(0, Signalling, 6, 10));
    assert_eq!(bench.told(), [(OfMs(0, BestEffort), true)]);
    assert_eq!(bench.drain(), (vec![6, 5, 1], Some(40)));
    assert_eq!(bench.told(), []);
    assert_eq!(bench.at(40).drain().0, [2]);
    assert_eq!(bench.told(), [], "two are left");
    assert_eq!(bench.at(640).drain().0, [3]);
    assert_eq!(bench.told(), [(OfMs(0, BestEffort), false)]);
    assert_eq!(bench.at(5000).drain(), (vec![4], None));
    assert_eq!(bench.told(), []);
    assert!(bench.put(0, RealTime, 7, 600) && bench.put(0, RealTime, 8, 600));
    assert_eq!(bench.told(), [(OfMs(0, RealTime), true)], "by octets");
}

#[test]
fn what_came_and_went_is_not_told() {
    let mut bench = watched();
    for name in 1..=4 {
        assert!(bench.put(0, BestEffort, name, 100));
    }
    assert_eq!(bench.drain().0, [1, 2, 3, 4]);
    assert_eq!(bench.told(), []);
    let mut without = Bench::new();
    for name in 1..=4 {
        assert!(without.put(0, BestEffort, name, 100));
    }
    assert_eq!(without.told(), [], "no watermarks");
}

#[test]
fn a_cell_counts_what_waits_for_itself() {
    let mut bench = watched();
    // Six PDUs that wait for their own mobiles' buckets.
    for ms in 0..2 {
        assert!(bench.control.set_ms(&mut bench.around.context(), 0, ms, bucket(600, 100), Some(100)));
        for name in 0..3 {
            assert!(bench.put(ms, BestEffort, name, 100));
        }
    }
    assert_eq!(bench.drain(), (vec![], Some(1000)));
    assert_eq!(bench.told(), [(OfMs(0, BestEffort), true), (OfMs(1, BestEffort), true)]);
    bench.control.set_open(0, false);
    for (ms, name) in [(2, 10), (2, 11), (3, 12), (3, 13), (4, 14)] {
        assert!(bench.put(ms, BestEffort, name, 100));
    }
    assert_eq!(bench.told(), [(OfCell(0, BestEffort), true)]);
    bench.control.set_open(0, true);
    assert_eq!(bench.drain().0, [10, 12, 14, 11, 13]);
    assert_eq!(bench.told(), [(OfCell(0, BestEffort), false)]);
    // Near its limit a cell is blocked whatever its PDUs wait for.
    for (ms, name) in [(0, 20), (0, 21), (0, 22), (1, 23), (1, 24), (1, 25)] {
        assert!(bench.put(ms, BestEffort, name, 10));
    }
    for (ms, name) in [(5, 30), (6, 31), (7, 32)] {
        assert!(bench.control.set_ms(&mut bench.around.context(), 0, ms, bucket(600, 100), Some(100)));
        assert!(bench.put(ms, BestEffort, name, 10));
    }
    assert_eq!(bench.told(), [(OfCell(0, BestEffort), true)]);
    assert_eq!(bench.control.reset_cell(&mut bench.around.context(), 0).pdus, 15);
    assert_eq!(
        bench.told(),
        [(OfCell(0, BestEffort), false), (OfMs(0, BestEffort), false), (OfMs(1, BestEffort), false)]
    );
}

#[test]
fn real_time_is_not_told_to_wait_for_best_effort() {
    let mut bench = watched();
    bench.control.set_open(0, false);
    for ms in 0..4 {
        assert!(bench.put(ms, BestEffort, ms, 10) && bench.put(ms, BestEffort, ms, 10));
    }
    assert!(bench.put(0, RealTime, 9, 10));
    assert_eq!(bench.told(), [(OfCell(0, BestEffort), true)]);
    for (ms, name) in [(1, 10), (2, 11), (3, 12), (1, 13)] {
        assert!(bench.put(ms, RealTime, name, 10));
    }
    assert_eq!(bench.told(), [(OfCell(0, RealTime), true)]);
}

#[test]
fn nobody_stays_blocked_who_was_flushed_forgotten_or_moved() {
    let mut bench = watched();
    bench.control.set_open(0, false);
    let fill = |bench: &mut Bench, ms| {
        for name in 0..3 {
            assert!(bench.put(ms, BestEffort, name, 100));
        }
    };
    let whose = OfMs(0, BestEffort);
    fill(&mut bench, 0);
    assert_eq!(bench.told(), [(whose, true)]);
    assert_eq!(bench.control.flush(&mut bench.around.context(), 0).pdus, 3);
    assert_eq!(bench.told(), [(whose, false)]);
    fill(&mut bench, 0);
    assert_eq!(bench.told(), [(whose, true)]);
    assert_eq!(bench.control.forget(&mut bench.around.context(), 0).pdus, 3);
    // The name is another mobile's now.
    assert!(bench.put(0, BestEffort, 1, 100));
    assert_eq!(bench.told(), [(whose, false)]);
    fill(&mut bench, 0);
    fill(&mut bench, 1);
    assert_eq!(bench.told(), [(OfCell(0, BestEffort), true), (whose, true), (OfMs(1, BestEffort), true)]);
    assert_eq!(bench.control.move_ms(&mut bench.around.context(), 0, 1).pdus, 4);
    assert_eq!(bench.told(), [], "three still stand in the cell that was left");
    assert_eq!(bench.drain().0, [1, 0, 1, 2]);
    assert_eq!(bench.told(), [(whose, false)]);
    assert_eq!(bench.control.forget(&mut bench.around.context(), 1).pdus, 3);
    assert_eq!(bench.told(), [(OfCell(0, BestEffort), false), (OfMs(1, BestEffort), false)]);
}

#[test]
fn the_fuller_the_table_the_less_is_enough() {
    let mut bench = Bench::with(|config| {
        config.cells_max = 8;
        config.active_ms_max = 64;
        config.ms_max = 64;
        config.pdus_max = 32;
        config.feedback = Some(Watermarks { ms: MARKS.ms, ..Watermarks::default() });
    });
    let put = |bench: &mut Bench, ms: u32| {
        let pdu = bench.pdu(BestEffort, ms, 10);
        assert!(bench.control.enqueue(&mut bench.around.context(), ms % 8, Some(ms), pdu));
    };
    for cell in 0..8 {
        bench.control.set_open(cell, false);
    }
    for ms in 0..16 {
        put(&mut bench, ms);
    }
    assert_eq!(bench.told(), []);
    // More than half: two PDUs are above the low mark.
    put(&mut bench, 16);
    put(&mut bench, 5);
    assert_eq!(bench.told(), [(OfMs(5, BestEffort), true)]);
    put(&mut bench, 17);
    put(&mut bench, 18);
    assert_eq!(bench.told(), []);
    // More than five eighths: one is enough.
    put(&mut bench, 19);
    assert_eq!(bench.told(), [(OfMs(19, BestEffort), true)]);
    for ms in 20..24 {
        put(&mut bench, ms);
    }
    let mut told: Vec<_> = (20..24).map(|ms| (OfMs(ms, BestEffort), true)).collect();
    told.push((Node, true));
    assert_eq!(bench.told(), told, "three quarters: nobody any more");
    for cell in 0..4 {
        bench.control.set_open(cell, true);
    }
    assert_eq!(bench.drain().0.len(), 12);
    let told = bench.told();
    assert!(told.contains(&(Node, false)) && told.contains(&(OfMs(19, BestEffort), false)), "{told:?}");
    for cell in 4..8 {
        bench.control.set_open(cell, true);
    }
    assert_eq!(bench.drain().0.len(), 13);
    assert!(bench.told().contains(&(OfMs(5, BestEffort), false)));
}
