//! How long a best-effort mobile waits so that several PDUs go at once.

use super::*;

fn waits(delay_max_ms: u64) -> Bench {
    let mut bench = Bench::with(|config| {
        config.initial = BvcParameters { bvc: bucket(50_000, 50_000), default_ms: bucket(8000, 1000) };
        config.data =
            Limits { ms: Limit { pdus: 16, octets: 50_000 }, cell: Limit { pdus: 16, octets: 50_000 } };
        config.wait_quantum = WaitQuantum { bmax_divisor: 8, delay_max: Duration::from_millis(delay_max_ms) };
    });
    assert!(bench.control.set_ms(&mut bench.around.context(), 0, 0, bucket(8000, 1000), Some(100)));
    bench
}

#[test]
fn best_effort_waits_for_an_eighth_of_its_bucket_or_for_all_that_it_has() {
    let mut bench = waits(10_000);
    for name in 1..=5 {
        assert!(bench.put(0, BestEffort, name, 400));
    }
    // The first was judged when it was alone, and each further wait is for 1,000 octets.
    assert_eq!(bench.drain(), (vec![], Some(400)));
    assert_eq!(bench.at(400).drain(), (vec![1], Some(1400)));
    assert_eq!(bench.at(1399).drain(), (vec![], Some(1400)));
    assert_eq!(bench.at(1400).drain(), (vec![2, 3], Some(2000)), "only two are left, of 800 octets");
    assert_eq!(bench.at(2000).drain(), (vec![4, 5], None));
}

#[test]
fn nobody_waits_longer_than_he_may() {
    let mut bench = waits(50);
    for name in 1..=3 {
        assert!(bench.put(0, BestEffort, name, 400));
    }
    assert_eq!(bench.at(400).drain(), (vec![1], Some(850)));
    assert_eq!(bench.at(850).drain(), (vec![2], Some(1200)), "one PDU waits for itself alone");
    assert_eq!(bench.at(1200).drain(), (vec![3], None));
}

#[test]
fn real_time_and_a_lifetime_do_not_wait() {
    let mut bench = waits(10_000);
    for name in 1..=3 {
        assert!(bench.put(0, RealTime, name, 400));
    }
    assert_eq!(bench.drain(), (vec![], Some(400)));
    assert_eq!(bench.at(400).drain(), (vec![1], Some(800)));
    assert_eq!(bench.at(1200).drain(), (vec![2, 3], None));
    assert!(bench.put_living(0, BestEffort, 4, 400, 1700));
    for name in 5..=7 {
        assert!(bench.put(0, BestEffort, name, 400));
    }
    assert_eq!(bench.drain(), (vec![], Some(1600)));
    assert!(bench.put_living(0, BestEffort, 8, 10, 5000) && bench.put(0, Signalling, 9, 10));
    assert_eq!(bench.drain(), (vec![], Some(1210)), "signalling is sent when it conforms");
    assert_eq!(bench.at(1210).drain(), (vec![9], Some(1610)), "4 would be dead at 2,210");
    assert_eq!(bench.at(1610).drain(), (vec![4], Some(2610)));
}
