//! Downlink flow control against a BSS that only knows the clause (08.18 clause 8.2).

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may panic")]

use gannet_machine::Surroundings;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::Quiet;
use gannet_proto::bssgp::flow_control::{
    Bucket, BvcParameters, Config, Dequeue, FlowControl, Limit, Limits, Pdu, PduMeta,
};
use gannet_qos::class::{CellClass, Precedence};
use gannet_qos::leaky_bucket::LeakyBucket;
use gannet_wire::id::Imsi;
use proptest::prelude::*;

/// The clause, word for word, in units of bits · 10⁻⁹.
#[derive(Debug, Clone, Copy)]
struct Clause {
    b: i128,
    tp: i128,
    bmax: i128,
    r: i128,
}

impl Clause {
    fn new(bucket: Bucket) -> Self {
        let (bmax, r) = Self::values(bucket);
        Self { b: 0, tp: 0, bmax, r }
    }
    fn values(bucket: Bucket) -> (i128, i128) {
        (i128::from(bucket.bmax_octets) * 8_000_000_000, i128::from(bucket.rate_bit_per_s))
    }
    /// What the BSS tells from now on.
    fn update(&mut self, now: Instant, bucket: Bucket) {
        self.b = (self.b - self.r * (i128::from(now.0) - self.tp)).max(0);
        self.tp = i128::from(now.0);
        (self.bmax, self.r) = Self::values(bucket);
    }
    fn star(&self, now: Instant, octets: usize) -> i128 {
        let l = octets as i128 * 8_000_000_000;
        (self.b + l - self.r * (i128::from(now.0) - self.tp)).max(l)
    }
    fn conforms(&self, now: Instant, octets: usize) -> bool {
        self.r > 0 && self.star(now, octets) <= self.bmax
    }
    fn pass(&mut self, now: Instant, octets: usize) {
        self.b = self.star(now, octets);
        self.tp = i128::from(now.0);
    }
}

#[derive(Debug, Clone, Copy)]
struct Tag {
    ms: u32,
    sequence: u32,
}

impl PduMeta for Tag {
    fn whose(&self) -> Option<Imsi> {
        None
    }
}

#[derive(Debug, Clone)]
enum Step {
    Enqueue { ms: u32, signalling: bool, octets: usize, life_ms: u64 },
    Advance { ns: u64 },
    SleepUntilTold,
    Bvc { cell: u32, bvc: Bucket, default_ms: Bucket },
    Flush { ms: u32 },
    Move { ms: u32 },
}

const MOBILES: u32 = 5;
const CELLS: u32 = 2;

fn bucket() -> impl Strategy<Value = Bucket> {
    (200_u64..2000, 0_u64..40_000).prop_map(|(bmax_octets, rate)| Bucket {
        bmax_octets,
        rate_bit_per_s: if rate < 2000 { 0 } else { rate },
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..MOBILES, prop::bool::weighted(0.2), 1_usize..700, 1_u64..3000).prop_map(
            |(ms, signalling, octets, life_ms)| Step::Enqueue { ms, signalling, octets, life_ms }
        ),
        2 => (1_u64..400_000_000).prop_map(|ns| Step::Advance { ns }),
        3 => Just(Step::SleepUntilTold),
        1 => (0..CELLS, bucket(), bucket())
            .prop_map(|(cell, bvc, default_ms)| Step::Bvc { cell, bvc, default_ms }),
        1 => (0..MOBILES).prop_map(|ms| Step::Flush { ms }),
        1 => (0..MOBILES).prop_map(|ms| Step::Move { ms }),
    ]
}

fn config() -> Config {
    let small = Bucket { bmax_octets: 900, rate_bit_per_s: 7001 };
    let initial =
        BvcParameters { bvc: Bucket { bmax_octets: 1500, rate_bit_per_s: 19_999 }, default_ms: small };
    let limits = Limits { ms: Limit { pdus: 6, octets: 2500 }, cell: Limit { pdus: 12, octets: 5000 } };
    Config {
        cells_max: CELLS,
        ms_max: MOBILES,
        active_ms_max: MOBILES,
        pdus_max: 20,
        initial,
        ms_parameters_lifetime: Duration::from_secs(2),
        data: limits,
        signalling: limits,
        ..Config::default()
    }
}

/// The naive side: buckets by the clause, and what each mobile has been given and has got.
struct Model {
    cells: Vec<Clause>,
    mobiles: Vec<Clause>,
    cell_of: Vec<u32>,
    defaults: Vec<Bucket>,
    last: Vec<[u32; CellClass::ALL.len()]>,
    offered: u64,
    delivered: u64,
}

impl Model {
    fn new() -> Self {
        let initial = config().initial;
        Self {
            cells: vec![Clause::new(initial.bvc); CELLS as usize],
            mobiles: vec![Clause::new(initial.default_ms); MOBILES as usize],
            cell_of: vec![0; MOBILES as usize],
            defaults: vec![initial.default_ms; CELLS as usize],
            last: vec![[0; CellClass::ALL.len()]; MOBILES as usize],
            offered: 0,
            delivered: 0,
        }
    }
    fn delivered(&mut self, now: Instant, cell: u32, pdu: &Pdu<Tag>) {
        let (ms, octets) = (pdu.meta.ms as usize, pdu.frame.len());
        assert_eq!(self.cell_of[ms], cell);
        assert!(pdu.expires > now, "delivered after its lifetime");
        assert!(self.mobiles[ms].conforms(now, octets), "above the mobile's bucket");
        assert!(self.cells[cell as usize].conforms(now, octets), "above the cell's bucket");
        self.mobiles[ms].pass(now, octets);
        self.cells[cell as usize].pass(now, octets);
        let last = &mut self.last[ms][pdu.class as usize];
        assert!(pdu.meta.sequence > *last, "overtaken within its class");
        *last = pdu.meta.sequence;
        self.delivered += 1;
    }
}

struct World {
    around: Surroundings<Quiet>,
    control: FlowControl<Tag>,
    model: Model,
    told: Option<Instant>,
}

impl World {
    fn drain(&mut self) {
        loop {
            match self.control.dequeue(&mut self.around.context()) {
                Dequeue::Pdu { cell, pdu, ms, .. } => {
                    assert_eq!(ms, Some(pdu.meta.ms));
                    self.model.delivered(self.around.now, cell, &pdu);
                }
                Dequeue::WaitUntil(at) => {
                    assert!(at > self.around.now, "asked to wait for the past");
                    self.told = Some(at);
                    return;
                }
                Dequeue::Empty => {
                    self.told = None;
                    return;
                }
            }
        }
    }

    fn apply(&mut self, step: &Step) {
        let now = self.around.now;
        match *step {
            Step::Enqueue { ms, signalling, octets, life_ms } => {
                let mut frame = self.around.frames.alloc().unwrap();
                assert!(frame.set_len(octets));
                self.model.offered += 1;
                let sequence = u32::try_from(self.model.offered).unwrap();
                let class = if signalling { CellClass::Signalling } else { CellClass::BestEffort };
                let expires = now + Duration::from_millis(life_ms);
                let pdu = Pdu {
                    class,
                    precedence: Precedence::Normal,
                    is_ahead: false,
                    expires,
                    meta: Tag { ms, sequence },
                    frame,
                };
                let cell = self.model.cell_of[ms as usize];
                self.control.enqueue(&mut self.around.context(), cell, Some(ms), pdu);
            }
            Step::Advance { ns } => self.around.now = Instant(now.0 + ns),
            Step::SleepUntilTold => {
                if let Some(told) = self.told {
                    // Not one nanosecond before.
                    self.around.now = Instant(told.0 - 1).max(now);
                    let before = self.model.delivered;
                    self.drain();
                    assert_eq!(self.model.delivered, before, "something conformed before the instant told");
                    self.around.now = told;
                }
            }
            Step::Bvc { cell, bvc, default_ms } => {
                let parameters = BvcParameters { bvc, default_ms };
                self.control.set_bvc(&mut self.around.context(), cell, parameters, None);
                self.model.cells[cell as usize].update(now, bvc);
                self.model.defaults[cell as usize] = default_ms;
                for ms in 0..MOBILES as usize {
                    if self.model.cell_of[ms] == cell {
                        self.model.mobiles[ms].update(now, default_ms);
                    }
                }
            }
            Step::Flush { ms } => {
                self.control.flush(&mut self.around.context(), ms);
            }
            Step::Move { ms } => {
                let cell = 1 - self.model.cell_of[ms as usize];
                self.control.move_ms(&mut self.around.context(), ms, cell);
                self.model.cell_of[ms as usize] = cell;
                let mut fresh = Clause::new(self.model.defaults[cell as usize]);
                fresh.tp = i128::from(now.0);
                self.model.mobiles[ms as usize] = fresh;
            }
        }
        self.drain();
        let dropped = self.around.trace.drops.total();
        let queued = u64::from(self.control.queued_pdus());
        assert_eq!(self.model.offered, self.model.delivered + dropped + queued);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn the_next_conforming_instant_is_exact(
        pdus in prop::collection::vec((0_u64..3_000_000_000, 1_u64..1600), 1..60),
        bmax in 100_u64..5000,
        rate in 1_u64..100_000,
    ) {
        let mut ours = LeakyBucket::new(bmax, rate);
        let mut clause = Clause::new(Bucket { bmax_octets: bmax, rate_bit_per_s: rate });
        let mut now = Instant::ZERO;
        for (gap_ns, octets) in pdus {
            now += Duration(gap_ns);
            let length = usize::try_from(octets).unwrap();
            let Some(at) = ours.next_conforming(now, octets) else {
                prop_assert!(octets > bmax);
                continue;
            };
            if at > now {
                prop_assert!(!clause.conforms(now, length));
                prop_assert!(!clause.conforms(Instant(at.0 - 1), length));
                prop_assert!(!ours.admit(Instant(at.0 - 1), octets));
            }
            prop_assert!(clause.conforms(at, length));
            prop_assert!(ours.admit(at, octets));
            clause.pass(at, length);
            now = at;
        }
    }

    #[test]
    fn a_bss_never_sees_more_than_its_buckets_hold(steps in prop::collection::vec(step(), 1..120)) {
        let mut world = World {
            around: Surroundings::new(1, 64, Quiet::default()),
            control: FlowControl::new(config()),
            model: Model::new(),
            told: None,
        };
        for step in &steps {
            world.apply(step);
        }
        // Left alone, everything goes out or ends its lifetime.
        while let Some(told) = world.told {
            world.around.now = told;
            world.drain();
        }
        prop_assert_eq!(world.control.queued_pdus(), 0);
        prop_assert_eq!(world.around.frames.free(), 64);
    }
}
