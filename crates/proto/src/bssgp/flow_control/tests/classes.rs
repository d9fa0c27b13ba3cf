//! Who goes first, and who gives way.

use super::*;
use Precedence::{High, Low, Normal};

/// Everything that the buckets and limits of [`config`] refuse fits.
fn wide(config: &mut Config) {
    config.initial = BvcParameters { bvc: bucket(10_000, 1000), default_ms: bucket(20_000, 100_000) };
    config.data = Limits { ms: Limit { pdus: 16, octets: 50_000 }, cell: Limit { pdus: 16, octets: 50_000 } };
    config.real_time = RealTimeShare { percent: 50, burst: Duration::from_millis(2048) };
}

#[test]
fn a_mobile_and_a_cell_serve_signalling_then_real_time_then_best_effort() {
    let mut bench = Bench::new();
    for (ms, class, name) in [
        (0, BestEffort, 1),
        (1, BestEffort, 2),
        (0, RealTime, 3),
        (0, RealTime, 4),
        (1, Signalling, 5),
        (0, Signalling, 6),
        (0, Signalling, 7),
    ] {
        assert!(bench.put(ms, class, name, 10));
    }
    assert_eq!(bench.drain(), (vec![5, 6, 7, 3, 4, 2, 1], None));
}

/// What is ahead goes before the others of its mobile, in its order; of other mobiles it takes no turn.
#[test]
fn what_is_ahead_goes_before_the_others_of_its_mobile() {
    let mut bench = Bench::with(wide);
    let ahead = |bench: &mut Bench, ms: u32, name: u32| {
        let pdu = Pdu { is_ahead: true, ..bench.pdu(BestEffort, name, 10) };
        assert!(bench.control.enqueue(&mut bench.around.context(), 0, Some(ms), pdu));
    };
    for name in 1..=3 {
        assert!(bench.put(0, BestEffort, name, 10) && bench.put(1, BestEffort, 10 + name, 10));
    }
    assert_eq!(bench.control.ahead(0, BestEffort), 0);
    ahead(&mut bench, 0, 4);
    ahead(&mut bench, 0, 5);
    assert!(bench.put(0, BestEffort, 6, 10) && bench.put(0, RealTime, 7, 10));
    assert_eq!((bench.control.ahead(0, BestEffort), bench.control.ahead(1, BestEffort)), (2, 0));
    assert_eq!(bench.drain().0, [7, 11, 4, 12, 5, 13, 1, 2, 3, 6]);
    assert_eq!(bench.control.ahead(0, BestEffort), 0);
}

/// A mobile that waits until a long PDU conforms is looked at anew when a shorter one comes to stand before it.
#[test]
fn what_is_ahead_does_not_wait_until_those_behind_it_conform() {
    let mut bench = Bench::with(|config| {
        wide(config);
        config.initial.default_ms = bucket(1000, 1000);
        config.wait_quantum.delay_max = Duration::ZERO;
    });
    for name in 1..=2 {
        assert!(bench.put(0, BestEffort, name, 1000));
    }
    assert_eq!(bench.drain(), (vec![1], Some(1000)), "125 octets in a second are 1000 bit/s");
    let pdu = Pdu { is_ahead: true, ..bench.at(100).pdu(BestEffort, 3, 10) };
    assert!(bench.control.enqueue(&mut bench.around.context(), 0, Some(0), pdu));
    assert_eq!(bench.drain().0, [3]);
}

#[test]
fn real_time_goes_first_within_its_share_and_beyond_it_where_nobody_else_would() {
    let mut bench = Bench::with(wide);
    for name in 1..=5 {
        assert!(bench.put(0, RealTime, name, 1000) && bench.put(1, BestEffort, 10 + name, 1000));
    }
    // 2,048 octets of real time at once, and all of it behind the best effort.
    assert_eq!(bench.drain(), (vec![1, 2, 11, 12, 13, 14, 15, 3, 4, 5], None));
    // The cell is full. The share has room for 1,000 octets again when it has leaked 952 at 500 octets/s.
    assert!(bench.put(0, RealTime, 6, 1000) && bench.put(1, BestEffort, 16, 1000));
    assert_eq!(bench.drain(), (vec![], Some(1000)));
    assert!(bench.at(1000).put(1, BestEffort, 17, 1000));
    assert_eq!(bench.drain(), (vec![16], Some(2000)));
    assert_eq!(bench.at(2000).drain(), (vec![6], Some(3000)));
    assert_eq!(bench.at(3000).drain(), (vec![17], None));
}

#[test]
fn the_share_of_real_time_follows_the_cell_and_may_be_the_whole() {
    let share = RealTimeShare { percent: 30, burst: Duration::from_millis(100) };
    assert_eq!(share.of(bucket(10_000, 100_050)), bucket(10_005, 30_015));
    assert_eq!(share.of(bucket(10_000, 1000)).bmax_octets, 2048, "at least a PDU");
    let mut bench = Bench::with(|config| {
        wide(config);
        config.real_time.percent = 100;
    });
    for name in 1..=4 {
        assert!(bench.put(0, RealTime, name, 1000) && bench.put(1, BestEffort, 10 + name, 1000));
    }
    assert_eq!(bench.drain().0, [1, 2, 3, 4, 11, 12, 13, 14]);
    let mut bench = Bench::with(wide);
    let faster = BvcParameters { bvc: bucket(10_000, 4000), default_ms: bucket(20_000, 100_000) };
    bench.control.set_bvc(&mut bench.around.context(), 0, faster, None);
    for name in 1..=5 {
        assert!(bench.put(0, RealTime, name, 1000) && bench.put(1, BestEffort, 10 + name, 1000));
    }
    assert_eq!(bench.drain().0, [1, 2, 3, 4, 5, 11, 12, 13, 14, 15], "the burst is four times as long");
}

#[test]
fn precedence_pushes_out_the_youngest_of_the_lowest() {
    let mut bench = Bench::new();
    bench.control.set_open(0, false);
    assert!(bench.put_of(Low, 0, BestEffort, 1, 10) && bench.put_of(Low, 0, BestEffort, 2, 10));
    assert!(bench.put_of(Normal, 1, BestEffort, 3, 10) && bench.put_of(Normal, 1, BestEffort, 4, 10));
    assert!(bench.put_of(Normal, 2, RealTime, 5, 10) && bench.put_of(Low, 2, RealTime, 6, 10));
    assert!(bench.put(0, Signalling, 20, 10), "signalling has limits of its own");
    assert!(!bench.put_of(Low, 1, BestEffort, 7, 10), "nobody is lower");
    assert!(bench.put_of(High, 2, BestEffort, 8, 10), "2 goes");
    assert!(bench.put_of(Normal, 0, RealTime, 9, 10), "1 goes");
    assert!(bench.put_of(Normal, 1, BestEffort, 10, 10), "6 goes, of real time but of low precedence");
    assert!(bench.put_of(Normal, 0, RealTime, 11, 10), "10 goes, of best effort");
    assert!(!bench.put_of(Normal, 1, BestEffort, 12, 10));
    assert_eq!((bench.drops(Drop::FlowPushedOut), bench.drops(Drop::FlowCellQueueFull)), (4, 2));
    bench.control.set_open(0, true);
    assert_eq!(bench.drain(), (vec![20, 5, 9, 11, 3, 8, 4], None));
}

#[test]
fn precedence_does_not_help_against_the_limit_of_ones_own_queue() {
    let mut bench = Bench::new();
    bench.control.set_open(0, false);
    assert!(bench.put_of(Low, 1, BestEffort, 9, 10));
    for name in 0..4 {
        assert!(bench.put_of(High, 0, BestEffort, name, 10));
    }
    assert!(!bench.put_of(High, 0, BestEffort, 4, 10));
    assert_eq!((bench.drops(Drop::FlowMsQueueFull), bench.drops(Drop::FlowPushedOut)), (1, 0));
    assert!(bench.put_of(Normal, 0, RealTime, 5, 10), "another class has a queue of its own");
}

#[test]
fn a_full_node_pushes_out_in_the_same_cell_only() {
    let mut bench = Bench::with(|config| {
        config.pdus_max = 8;
        config.active_ms_max = 8;
    });
    for cell in 0..2 {
        bench.control.set_open(cell, false);
    }
    for name in 0..7 {
        let pdu = Pdu { precedence: Low, ..bench.pdu(BestEffort, name, 10) };
        let cell = u32::from(name > 4);
        assert!(bench.control.enqueue(&mut bench.around.context(), cell, Some(name), pdu));
    }
    assert!(!bench.put_of(Low, 0, BestEffort, 7, 10));
    assert!(bench.put_of(High, 0, BestEffort, 8, 10), "4 goes, though 6 is younger");
    assert!(bench.put(0, Signalling, 9, 10), "has the last eighth");
    assert!(bench.put(1, Signalling, 10, 10), "3 goes");
    assert_eq!((bench.drops(Drop::FlowTableFull), bench.drops(Drop::FlowPushedOut)), (1, 2));
    for cell in 0..2 {
        bench.control.set_open(cell, true);
    }
    let (mut out, _) = bench.drain();
    out.sort_unstable();
    assert_eq!(out, [0, 1, 2, 5, 6, 8, 9, 10]);
}

#[test]
fn who_was_pushed_out_waits_for_nothing() {
    let mut bench = Bench::with(|config| config.data.cell.pdus = 1);
    assert!(bench.put_of(Low, 0, BestEffort, 1, 600));
    assert_eq!(bench.drain(), (vec![1], None));
    assert!(bench.put_of(Low, 0, BestEffort, 2, 600));
    assert_eq!(bench.drain(), (vec![], Some(1200)));
    assert!(bench.put_of(High, 1, BestEffort, 3, 10));
    assert_eq!((bench.drain(), bench.drops(Drop::FlowPushedOut)), ((vec![3], None), 1));
    assert!(bench.put_of(Low, 0, BestEffort, 4, 600));
    assert_eq!(bench.drain(), (vec![], Some(1200)));
}

#[test]
fn what_passes_does_not_wait() {
    let mut bench = Bench::new();
    let offer = |bench: &mut Bench, ms: u32, class, name, octets| {
        let pdu = bench.pdu(class, name, octets);
        bench.control.offer(&mut bench.around.context(), (0, Some(ms)), pdu)
    };
    let passes = |offered| matches!(offered, Offered::Passes(_));
    for ms in 0..2 {
        assert!(passes(offer(&mut bench, ms, BestEffort, ms, 100)));
    }
    assert!(
        passes(offer(&mut bench, 0, BestEffort, 2, 400)) && passes(offer(&mut bench, 0, RealTime, 3, 100))
    );
    assert_eq!(bench.control.ms_view(Instant(0), 0).unwrap().level_octets, 600);
    assert_eq!(bench.control.cell_view(Instant(0), 0).unwrap().level_octets, 700);
    assert!(matches!(offer(&mut bench, 0, BestEffort, 4, 100), Offered::Queued), "its bucket is full");
    assert!(matches!(offer(&mut bench, 0, BestEffort, 5, 1), Offered::Queued), "4 stands before it");
    assert!(matches!(offer(&mut bench, 0, BestEffort, 6, 601), Offered::Dropped));
    assert!(bench.put(2, BestEffort, 7, 100));
    assert!(matches!(offer(&mut bench, 1, BestEffort, 8, 100), Offered::Queued), "7 stands before it");
    assert_eq!(bench.drain(), (vec![7, 8], Some(200)));
    // 4 and 5 conform now, but nobody has looked.
    bench.at(300);
    assert!(matches!(offer(&mut bench, 1, BestEffort, 9, 10), Offered::Queued), "4 stands before it");
    assert_eq!(bench.drain(), (vec![4, 9, 5], None));
    bench.control.set_open(0, false);
    assert!(matches!(offer(&mut bench, 1, BestEffort, 10, 10), Offered::Queued));
}

#[test]
fn what_is_guaranteed_goes_ahead_of_best_effort_up_to_its_rate() {
    let mut bench = Bench::with(wide);
    bench.control.set_guarantee(&mut bench.around.context(), 0, Some(500));
    assert_eq!((bench.control.guarantee(0), bench.control.guarantee(1)), (Some(500), None));
    for name in 1..=4 {
        assert!(bench.put(1, BestEffort, 10 + name, 1000) && bench.put(0, Guaranteed, name, 1010));
    }
    // 3,040 octets of N-PDUs at once; what exceeds them takes turns with best effort, and keeps its order.
    assert_eq!(bench.drain(), (vec![1, 2, 3, 4, 11, 12, 13, 14], None));
    // The cell has room for 1,960 octets more, and the guarantee for 1,000 after 1.92 s: then 7 is before 22, whose turn it was.
    for (ms, class, name, octets) in [
        (1, BestEffort, 15, 500),
        (2, BestEffort, 21, 500),
        (0, Guaranteed, 5, 1010),
        (0, Guaranteed, 6, 1010),
        (0, Guaranteed, 7, 1010),
        (1, BestEffort, 16, 500),
        (1, BestEffort, 17, 500),
        (2, BestEffort, 22, 500),
    ] {
        assert!(bench.put(ms, class, name, octets));
    }
    for (at, out, until) in [
        (0, vec![5, 15], Some(50)),
        (50, vec![21], Some(1060)),
        (1060, vec![6], Some(1560)),
        (1560, vec![16], Some(1920)),
        (1920, vec![], Some(2570)),
        (2570, vec![7], Some(3070)),
        (3070, vec![22], Some(3570)),
        (3570, vec![17], None),
    ] {
        assert_eq!(bench.at(at).drain(), (out, until), "at {at} ms");
    }
}

#[test]
fn a_guarantee_is_kept_for_ever_and_its_excess_shares_with_best_effort() {
    let mut bench = Bench::with(|config| {
        wide(config);
        config.active_ms_max = 4;
    });
    bench.control.set_guarantee(&mut bench.around.context(), 0, Some(300));
    let mut sent = [0_u64; 4];
    let mut now = 0;
    while now < 600_000 {
        for ms in 0..4_u32 {
            let class = if ms == 0 { Guaranteed } else { BestEffort };
            while bench.control.ms_view(Instant(0), ms).is_none_or(|view| view.total_queued().pdus < 3) {
                assert!(bench.put(ms, class, ms, 110));
            }
        }
        let (names, wait) = bench.at(now).drain();
        names.into_iter().for_each(|name| sent[name as usize] += 110);
        now = wait.unwrap_or(now);
    }
    // Of 1,000 octets/s 330 are guaranteed, headers included, and a quarter of the rest.
    let rates = sent.map(|octets| octets / 600);
    assert!(
        (485..=520).contains(&rates[0]) && rates[1..].iter().all(|rate| (160..=180).contains(rate)),
        "{rates:?}"
    );
}

#[test]
fn real_time_beyond_its_share_gives_way_to_what_is_guaranteed_also() {
    let mut bench = Bench::with(wide);
    bench.control.set_guarantee(&mut bench.around.context(), 1, Some(500));
    for name in 1..=3 {
        assert!(bench.put(0, RealTime, name, 1000) && bench.put(1, Guaranteed, 10 + name, 1000));
    }
    assert!(bench.put(2, BestEffort, 21, 1000));
    assert_eq!(bench.drain(), (vec![1, 2, 11, 12, 13, 21, 3], None));
}

#[test]
fn without_a_guarantee_the_class_is_best_effort() {
    let mut bench = Bench::with(wide);
    for name in 1..=2 {
        assert!(bench.put(1, BestEffort, 10 + name, 100) && bench.put(0, Guaranteed, name, 100));
    }
    assert_eq!(bench.drain(), (vec![11, 1, 12, 2], None));
    bench.control.set_guarantee(&mut bench.around.context(), 0, Some(500));
    bench.control.forget(&mut bench.around.context(), 0);
    assert_eq!(bench.control.guarantee(0), None, "the name is another's now");
}

#[test]
fn a_guarantee_that_ends_or_comes_while_pdus_wait_counts_at_once() {
    let mut bench = Bench::with(wide);
    bench.control.set_open(0, false);
    assert!(bench.put(1, BestEffort, 11, 100) && bench.put(0, Guaranteed, 1, 100));
    bench.control.set_guarantee(&mut bench.around.context(), 0, Some(500));
    bench.control.set_open(0, true);
    assert_eq!(bench.drain().0, [1, 11]);
    bench.control.set_open(0, false);
    assert!(bench.put(1, BestEffort, 12, 100) && bench.put(0, Guaranteed, 2, 100));
    bench.control.set_guarantee(&mut bench.around.context(), 0, None);
    bench.control.set_open(0, true);
    assert_eq!(bench.drain().0, [12, 2]);
}
