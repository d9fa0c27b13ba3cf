//! Flow control of one node: queues and buckets here, the rest in modules of its own.

mod classes;
mod feedback;
mod holding;
mod model;
mod resting;
mod rounds;
mod waiting;

use super::*;
use gannet_machine::Surroundings;
use gannet_machine::time::Duration;
use gannet_machine::trace::Quiet;

impl PduMeta for u32 {
    fn whose(&self) -> Option<Imsi> {
        None
    }
}

struct Bench {
    around: Surroundings<Quiet>,
    control: FlowControl<u32>,
}

fn bucket(bmax_octets: u64, rate_octet_per_s: u64) -> Bucket {
    Bucket { bmax_octets, rate_bit_per_s: rate_octet_per_s * 8 }
}

fn config() -> Config {
    Config {
        cells_max: 2,
        ms_max: 8,
        active_ms_max: 3,
        pdus_max: 16,
        initial: BvcParameters { bvc: bucket(1000, 1000), default_ms: bucket(600, 500) },
        ms_parameters_lifetime: Duration::from_secs(5),
        data: Limits { ms: Limit { pdus: 4, octets: 1500 }, cell: Limit { pdus: 6, octets: 2000 } },
        signalling: Limits { ms: Limit { pdus: 2, octets: 200 }, cell: Limit { pdus: 3, octets: 300 } },
        ..Config::default()
    }
}

impl Bench {
    fn new() -> Self {
        Self::with(|_| {})
    }
    fn with(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = config();
        change(&mut config);
        Self { around: Surroundings::new(1, 64, Quiet::default()), control: FlowControl::new(config) }
    }
    fn pdu(&mut self, class: CellClass, name: u32, octets: usize) -> Pdu<u32> {
        let mut frame = self.around.frames.alloc().unwrap();
        assert!(frame.set_len(octets));
        let expires = Instant(u64::MAX);
        Pdu { class, precedence: Precedence::Normal, is_ahead: false, expires, meta: name, frame }
    }
    fn put_living(
        &mut self,
        ms: impl Into<Option<u32>>,
        class: CellClass,
        name: u32,
        octets: usize,
        expires_ms: u64,
    ) -> bool {
        let expires = Instant(expires_ms.saturating_mul(1_000_000));
        let pdu = Pdu { expires, ..self.pdu(class, name, octets) };
        self.control.enqueue(&mut self.around.context(), 0, ms.into(), pdu)
    }
    fn put(&mut self, ms: impl Into<Option<u32>>, class: CellClass, name: u32, octets: usize) -> bool {
        self.put_living(ms, class, name, octets, u64::MAX)
    }
    /// Into the queue of a mobile with this precedence.
    fn put_of(
        &mut self,
        precedence: Precedence,
        ms: u32,
        class: CellClass,
        name: u32,
        octets: usize,
    ) -> bool {
        let pdu = Pdu { precedence, ..self.pdu(class, name, octets) };
        self.control.enqueue(&mut self.around.context(), 0, Some(ms), pdu)
    }
    fn at(&mut self, ms: u64) -> &mut Self {
        self.around.now = Instant(ms * 1_000_000);
        self
    }
    /// The names of everything that goes out now, and until when, in milliseconds, nothing more will.
    fn drain(&mut self) -> (Vec<u32>, Option<u64>) {
        let mut names = Vec::new();
        loop {
            match self.control.dequeue(&mut self.around.context()) {
                Dequeue::Pdu { pdu, .. } => names.push(pdu.meta),
                Dequeue::WaitUntil(at) => return (names, Some(at.0.div_ceil(1_000_000))),
                Dequeue::Empty => return (names, None),
            }
        }
    }
    fn drops(&self, drop: Drop) -> u64 {
        self.around.trace.drops.get(drop)
    }
}

use CellClass::{BestEffort, Guaranteed, RealTime, Signalling};

#[test]
fn a_small_pdu_does_not_overtake_a_large_one() {
    let mut bench = Bench::new();
    for (name, octets) in [(1, 500), (2, 300), (3, 10)] {
        assert!(bench.put(0, BestEffort, name, octets));
    }
    assert_eq!(bench.drain(), (vec![1], Some(400)));
    assert_eq!(bench.at(399).drain(), (vec![], Some(400)));
    assert_eq!(bench.at(400).drain(), (vec![2], Some(420)));
    assert_eq!(bench.at(420).drain(), (vec![3], None));
    assert_eq!(bench.around.frames.free(), 64);
}

#[test]
fn signalling_goes_first_and_counts_in_both_buckets() {
    let mut bench = Bench::new();
    assert!(
        bench.put(0, BestEffort, 1, 600)
            && bench.put(0, BestEffort, 2, 100)
            && bench.put(1, BestEffort, 3, 350)
    );
    assert!(bench.put(0, Signalling, 4, 100));
    // The mobile's bucket takes the signalling PDU and then has no room for 600 octets; the cell goes on.
    assert_eq!(bench.drain(), (vec![4, 3], Some(200)));
    assert_eq!(bench.control.cell_view(Instant(0), 0).unwrap().level_octets, 450);
    assert_eq!(bench.control.ms_view(Instant(0), 0).unwrap().level_octets, 100);
    assert!(bench.put(None, Signalling, 5, 50));
    assert_eq!(bench.drain(), (vec![5], Some(200)));
    assert_eq!(bench.at(200).drain(), (vec![1], Some(400)));
}

#[test]
fn mobiles_of_a_cell_take_turns() {
    let mut bench = Bench::new();
    for (ms, name) in [(0, 1), (0, 2), (0, 3), (1, 4), (1, 5), (2, 6)] {
        assert!(bench.put(ms, BestEffort, name, 100));
    }
    assert_eq!(bench.drain(), (vec![1, 4, 6, 2, 5, 3], None));
}

#[test]
fn full_queues_drop_by_name_and_leave_room_to_signalling() {
    let mut bench = Bench::new();
    assert!(!bench.put(0, BestEffort, 0, 601));
    assert_eq!(bench.drops(Drop::FlowTooLong), 1);
    for name in 0..4 {
        assert!(bench.put(0, BestEffort, name, 300));
    }
    assert!(!bench.put(0, BestEffort, 9, 10));
    assert_eq!(bench.drops(Drop::FlowMsQueueFull), 1);
    assert!(bench.put(1, BestEffort, 4, 500) && bench.put(2, BestEffort, 5, 100));
    assert!(!bench.put(1, BestEffort, 9, 500) && !bench.put(2, BestEffort, 9, 300));
    assert_eq!(bench.drops(Drop::FlowCellQueueFull), 2);
    assert!(bench.put(0, Signalling, 6, 10));
    assert!(!bench.put(3, Signalling, 9, 10), "no place for a fourth mobile");
    assert_eq!(bench.drops(Drop::FlowTableFull), 1);
}

#[test]
fn an_idle_mobile_gives_its_place_away_once_its_bucket_is_empty() {
    let mut bench = Bench::new();
    for ms in 0..3 {
        assert!(bench.put(ms, BestEffort, ms, 100));
    }
    assert_eq!(bench.drain(), (vec![0, 1, 2], None));
    assert!(!bench.put(3, BestEffort, 3, 100));
    assert!(bench.at(300).put(3, BestEffort, 3, 100) && bench.put(4, BestEffort, 4, 100));
    assert_eq!(bench.drain(), (vec![3, 4], None));
    let known = (0..5).filter(|ms| bench.control.ms_view(Instant(0), *ms).is_some()).count();
    assert_eq!(known, 3);
}

#[test]
fn a_lifetime_ends_in_the_queue_and_wakes_the_node() {
    let mut bench = Bench::new();
    assert!(
        bench.put(0, BestEffort, 1, 600)
            && bench.put_living(0, BestEffort, 2, 600, 100)
            && bench.put(0, BestEffort, 3, 50)
    );
    assert_eq!(bench.drain(), (vec![1], Some(100)));
    assert_eq!(bench.at(100).drain(), (vec![3], None));
    assert_eq!(bench.drops(Drop::FlowLifetime), 1);
    // A closed cell, and one with R = 0, keep nothing beyond its lifetime either.
    bench.control.set_open(0, false);
    assert!(bench.put_living(1, BestEffort, 4, 10, 200));
    assert_eq!(bench.drain(), (vec![], Some(200)));
    assert_eq!(bench.at(200).drain(), (vec![], None));
    bench.control.set_open(0, true);
    let still = BvcParameters { bvc: bucket(1000, 0), default_ms: bucket(600, 0) };
    bench.control.set_bvc(&mut bench.around.context(), 0, still, None);
    assert!(bench.put_living(1, BestEffort, 5, 10, 300) && bench.put(None, BestEffort, 6, 10));
    assert_eq!(bench.drain(), (vec![], Some(300)));
    assert_eq!(bench.at(300).drain(), (vec![], None));
    assert_eq!(bench.drops(Drop::FlowLifetime), 3);
    bench.control.set_bvc(&mut bench.around.context(), 0, config().initial, None);
    assert_eq!(bench.drain(), (vec![6], None));
}

#[test]
fn values_of_a_mobile_hold_for_th() {
    let mut bench = Bench::new();
    assert!(bench.control.set_ms(&mut bench.around.context(), 1, 0, bucket(600, 10), None));
    assert!(bench.control.set_ms(&mut bench.around.context(), 0, 0, bucket(600, 10), Some(100)));
    assert!(bench.put(0, BestEffort, 1, 600));
    assert!(!bench.control.set_ms(&mut bench.around.context(), 1, 0, bucket(600, 20), None));
    // 5 s at 10 octets/s leave 550; 550 octets at 500 octets/s take 1.1 s.
    assert_eq!(bench.drain(), (vec![], Some(5000)));
    assert_eq!(bench.at(5000).drain(), (vec![], Some(6100)));
    assert_eq!(bench.at(6100).drain(), (vec![1], None));
    assert!(bench.put(0, BestEffort, 2, 300));
    bench.control.take_out(&mut bench.around.context(), 0, Some(0), 300);
    assert_eq!(bench.drain(), (vec![2], None));
    bench.control.put_in(&mut bench.around.context(), 0, 0, 100);
    assert_eq!(bench.control.ms_view(Instant(6_100_000_000), 0).unwrap().level_octets, 700);
}

#[test]
fn new_defaults_reach_a_waiting_mobile() {
    let mut bench = Bench::new();
    assert!(bench.put(0, BestEffort, 1, 600) && bench.put(0, BestEffort, 2, 400));
    assert_eq!(bench.drain(), (vec![1], Some(800)));
    let faster = BvcParameters { bvc: bucket(1000, 1000), default_ms: bucket(600, 4000) };
    bench.control.set_bvc(&mut bench.around.context(), 0, faster, Some(10));
    assert_eq!(bench.drain(), (vec![], Some(100)));
    let smaller = BvcParameters { bvc: bucket(300, 1000), default_ms: bucket(600, 4000) };
    bench.control.set_bvc(&mut bench.around.context(), 0, smaller, None);
    assert_eq!((bench.drain(), bench.drops(Drop::FlowTooLong)), ((vec![], None), 1));
}

#[test]
fn flush_deletes_and_move_keeps_the_order() {
    let mut bench = Bench::new();
    for (name, octets) in [(1, 600), (2, 200), (3, 20)] {
        assert!(bench.put(0, BestEffort, name, octets));
    }
    assert!(bench.put(1, BestEffort, 4, 600) && bench.put(1, Signalling, 5, 60));
    assert_eq!(bench.drain().0, [5, 1]);
    assert_eq!(bench.control.flush(&mut bench.around.context(), 1), Amount { pdus: 1, octets: 600 });
    assert_eq!(bench.drops(Drop::FlowFlushed), 1);
    assert_eq!(bench.control.move_ms(&mut bench.around.context(), 0, 1), Amount { pdus: 2, octets: 220 });
    assert_eq!(bench.drain(), (vec![2, 3], None));
    assert_eq!(bench.control.cell_view(Instant(0), 1).unwrap().level_octets, 220);
    assert!(bench.put(0, BestEffort, 6, 300), "back in cell 0");
    assert_eq!(bench.control.forget(&mut bench.around.context(), 0), Amount { pdus: 1, octets: 300 });
    assert!(bench.put(1, BestEffort, 7, 100) && bench.put(None, BestEffort, 8, 100));
    assert_eq!(bench.control.reset_cell(&mut bench.around.context(), 0), Amount { pdus: 2, octets: 200 });
    assert_eq!((bench.drain(), bench.control.queued_pdus()), ((vec![], None), 0));
}

#[test]
fn a_move_respects_the_limits_of_the_new_cell() {
    let mut bench = Bench::new();
    for name in 1..=4 {
        assert!(bench.put(0, BestEffort, name, 300));
    }
    bench.control.move_ms(&mut bench.around.context(), 0, 1);
    for name in 5..=7 {
        assert!(bench.put(1, BestEffort, name, 300));
    }
    assert_eq!(bench.control.move_ms(&mut bench.around.context(), 1, 1).pdus, 2);
    assert_eq!(bench.drops(Drop::FlowCellQueueFull), 1);
}

#[test]
fn with_r_of_0_a_mobile_waits_and_what_comes_may_have_its_first_pdu_go() {
    for asks_at_zero in [false, true] {
        let mut bench = Bench::with(|config| config.asks_at_zero = asks_at_zero);
        let closed = Bucket { rate_bit_per_s: 0, ..bucket(1000, 1000) };
        assert!(bench.control.set_ms(&mut bench.around.context(), 0, 1, closed, None));
        for name in 1..=3 {
            assert!(bench.put(1, BestEffort, name, 20));
        }
        // Those that came asked together: one has gone.
        let first = if asks_at_zero { vec![1] } else { vec![] };
        assert_eq!(bench.drain().0, first);
        assert_eq!(bench.at(900).drain().0, [], "nothing goes by itself");
        bench.control.ask(&mut bench.around.context(), 1);
        assert_eq!(bench.drain().0, if asks_at_zero { vec![2] } else { vec![] });
        // R is known again: all the rest goes at once, and in its order.
        assert!(bench.control.set_ms(&mut bench.around.context(), 0, 1, bucket(1000, 1000), None));
        let rest: Vec<u32> = (if asks_at_zero { 3 } else { 1 }..=3).collect();
        assert_eq!(bench.drain().0, rest);
    }
}

#[test]
fn a_cell_with_r_of_0_waits_and_goes_on_at_once() {
    let mut bench = Bench::new();
    let flow = |rate: u64| BvcParameters {
        bvc: Bucket { rate_bit_per_s: rate, ..bucket(1000, 1000) },
        default_ms: bucket(1000, 1000),
    };
    bench.control.set_bvc(&mut bench.around.context(), 0, flow(0), None);
    for name in 1..=3 {
        assert!(bench.put(name, BestEffort, name, 20));
    }
    assert_eq!(bench.drain().0, []);
    assert_eq!(bench.at(60_000).drain().0, []);
    bench.control.set_bvc(&mut bench.around.context(), 0, flow(8000), None);
    assert_eq!(bench.drain().0, [1, 2, 3]);
}
