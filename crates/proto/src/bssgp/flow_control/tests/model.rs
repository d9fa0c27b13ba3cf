//! Anything in any order, against a BSS that only knows the clause and an owner who keeps a list of his PDUs.

use super::super::state::Rank;
use super::*;
use gannet_machine::trace::{Category, Level, Owner, TraceSink};
use proptest::prelude::*;
use std::collections::BTreeMap;

const MOBILES: u32 = 6;
const CELLS: u32 = 2;

/// The clause, word for word, in units of bits · 10⁻⁹ (08.18 clause 8.2).
#[derive(Debug, Clone, Copy)]
struct Clause {
    b: i128,
    tp: i128,
    bmax: i128,
    r: i128,
}

impl Clause {
    fn new(now: Instant, bucket: Bucket) -> Self {
        Self { b: 0, tp: now.0.into(), bmax: 0, r: 0 }.with(now, bucket)
    }
    fn with(self, now: Instant, bucket: Bucket) -> Self {
        let now = i128::from(now.0);
        Self {
            b: (self.b - self.r * (now - self.tp)).max(0),
            tp: now,
            bmax: i128::from(bucket.bmax_octets) * 8_000_000_000,
            r: i128::from(bucket.rate_bit_per_s),
        }
    }
    /// Takes a PDU; false where it does not conform.
    fn pass(&mut self, now: Instant, octets: usize) -> bool {
        let (l, now) = (octets as i128 * 8_000_000_000, i128::from(now.0));
        let star = (self.b + l - self.r * (now - self.tp)).max(l);
        if self.r == 0 || star > self.bmax {
            return false;
        }
        (self.b, self.tp) = (star, now);
        true
    }
}

#[derive(Debug, Clone, Copy)]
struct Owned {
    ms: u32,
    cell: u32,
    class: CellClass,
    precedence: Precedence,
}

impl Owned {
    fn rank(&self) -> Rank {
        Rank::of(self.class, self.precedence)
    }
}

/// What a PDU is called: its number, which its subscriber's identity repeats for the sink of drops.
#[derive(Debug, Clone, Copy)]
struct Tag(u32);

impl PduMeta for Tag {
    fn whose(&self) -> Option<Imsi> {
        Imsi::from_digits((0..9).rev().map(|place| u8::try_from(self.0 / 10_u32.pow(place) % 10).unwrap()))
    }
}

/// Remembers the drops.
#[derive(Debug, Default)]
struct Drops(Vec<(Drop, u32)>);

impl TraceSink for Drops {
    fn enabled(&self, _: Category, _: Level) -> bool {
        false
    }
    fn line(&mut self, _: Category, _: Level, _: core::fmt::Arguments<'_>) {}
    fn dropped(&mut self, drop: Drop, whose: Option<Owner>) {
        self.0.push((drop, crate::about::subscriber(whose.unwrap()).unwrap().to_string().parse().unwrap()));
    }
}

#[derive(Debug, Clone)]
enum Step {
    Put { offer: bool, ms: u32, class: CellClass, precedence: Precedence, octets: usize, life_ms: u64 },
    Advance { ns: u64 },
    SleepUntilTold,
    Drain,
    Bvc { cell: u32, bvc: Bucket, default_ms: Bucket },
    Specific { ms: u32, bucket: Bucket },
    Open { cell: u32, open: bool },
    Reset { cell: u32 },
    Flush { ms: u32 },
    Forget { ms: u32 },
    Guarantee { ms: u32, octets_per_s: Option<u64> },
    Move { ms: u32 },
    TakeFeedback,
}

fn any_bucket() -> impl Strategy<Value = Bucket> {
    (200_u64..4000, 0_u64..80_000).prop_map(|(bmax_octets, rate)| Bucket {
        bmax_octets,
        rate_bit_per_s: if rate < 2000 { 0 } else { rate },
    })
}

fn put() -> impl Strategy<Value = Step> {
    let class = prop::sample::select(
        &[Signalling, RealTime, RealTime, Guaranteed, Guaranteed, BestEffort, BestEffort, BestEffort][..],
    );
    let precedence = prop::sample::select(&Precedence::ALL[..]);
    (any::<bool>(), 0..MOBILES, class, precedence, 1_usize..700, 1_u64..3000).prop_map(
        |(offer, ms, class, precedence, octets, life_ms)| Step::Put {
            offer,
            ms,
            class,
            precedence,
            octets,
            life_ms,
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        16 => put(),
        3 => (1_u64..400_000_000).prop_map(|ns| Step::Advance { ns }),
        3 => Just(Step::SleepUntilTold),
        4 => Just(Step::Drain),
        1 => (0..CELLS, any_bucket(), any_bucket())
            .prop_map(|(cell, bvc, default_ms)| Step::Bvc { cell, bvc, default_ms }),
        1 => (0..MOBILES, any_bucket()).prop_map(|(ms, bucket)| Step::Specific { ms, bucket }),
        1 => (0..CELLS, any::<bool>()).prop_map(|(cell, open)| Step::Open { cell, open }),
        1 => (0..CELLS).prop_map(|cell| Step::Reset { cell }),
        1 => (0..MOBILES).prop_map(|ms| Step::Flush { ms }),
        1 => (0..MOBILES).prop_map(|ms| Step::Forget { ms }),
        1 => (0..MOBILES, proptest::option::of(1_u64..2000))
            .prop_map(|(ms, octets_per_s)| Step::Guarantee { ms, octets_per_s }),
        1 => (0..MOBILES).prop_map(|ms| Step::Move { ms }),
        4 => Just(Step::TakeFeedback),
    ]
}

fn small() -> Config {
    let amount = |pdus, octets| Amount { pdus, octets };
    let cell = Limit { pdus: 12, octets: 4000 };
    Config {
        cells_max: CELLS,
        ms_max: MOBILES,
        active_ms_max: MOBILES,
        pdus_max: 24,
        initial: BvcParameters { bvc: bucket(1500, 2500), default_ms: bucket(900, 875) },
        // Longer than any run: the model need not know when it ends.
        ms_parameters_lifetime: Duration::from_secs(1_000_000),
        data: Limits { ms: Limit { pdus: 6, octets: 2500 }, cell },
        signalling: Limits { ms: Limit { pdus: 6, octets: 2500 }, cell },
        feedback: Some(Watermarks {
            ms: Watermark { high: amount(3, 1200), low: amount(1, 500) },
            cell: Watermark { high: amount(5, 2000), low: amount(2, 1000) },
        }),
        ..Config::default()
    }
}

struct World {
    around: Surroundings<Drops>,
    control: FlowControl<Tag>,
    told: Option<Instant>,
    cells: Vec<Clause>,
    defaults: Vec<Bucket>,
    mobiles: Vec<Clause>,
    cell_of: Vec<u32>,
    open: Vec<bool>,
    queued: BTreeMap<u32, Owned>,
    last: BTreeMap<(u32, CellClass), u32>,
    blocked: BTreeMap<String, bool>,
    offered: u32,
    sent: usize,
    dropped: usize,
}

impl World {
    fn new() -> Self {
        let initial = small().initial;
        Self {
            around: Surroundings::new(1, 64, Drops::default()),
            control: FlowControl::new(small()),
            told: None,
            cells: vec![Clause::new(Instant(0), initial.bvc); CELLS as usize],
            defaults: vec![initial.default_ms; CELLS as usize],
            mobiles: vec![Clause::new(Instant(0), initial.default_ms); MOBILES as usize],
            cell_of: vec![0; MOBILES as usize],
            open: vec![true; CELLS as usize],
            queued: BTreeMap::new(),
            last: BTreeMap::new(),
            blocked: BTreeMap::new(),
            offered: 0,
            sent: 0,
            dropped: 0,
        }
    }

    fn sent(&mut self, cell: u32, pdu: &Pdu<Tag>) {
        let (now, octets) = (self.around.now, pdu.frame.len());
        self.drops();
        let owned = self.queued.remove(&pdu.meta.0).unwrap();
        assert_eq!((owned.cell, self.open[cell as usize]), (cell, true));
        assert!(pdu.expires > now, "sent after its lifetime");
        assert!(self.mobiles[owned.ms as usize].pass(now, octets), "above the mobile's bucket");
        assert!(self.cells[cell as usize].pass(now, octets), "above the cell's bucket");
        let last = self.last.insert((owned.ms, owned.class), pdu.meta.0);
        assert!(last < Some(pdu.meta.0), "overtaken within its class");
        self.sent += 1;
    }

    /// Nobody is dropped for want of room while someone of lower rank is in the same cell.
    fn drops(&mut self) {
        for (drop, tag) in std::mem::take(&mut self.around.trace.0) {
            let gone = self.queued.remove(&tag).unwrap();
            let lacks_room =
                matches!(drop, Drop::FlowPushedOut | Drop::FlowCellQueueFull | Drop::FlowTableFull);
            if lacks_room && gone.class != Signalling {
                let lower = self.queued.values().find(|o| o.cell == gone.cell && o.rank() < gone.rank());
                assert!(lower.is_none(), "{gone:?} was dropped ({drop:?}) before {lower:?}");
            }
            assert!(drop != Drop::FlowPushedOut || gone.class != Signalling);
            self.dropped += 1;
        }
    }

    fn drain(&mut self) {
        loop {
            match self.control.dequeue(&mut self.around.context()) {
                Dequeue::Pdu { cell, pdu, .. } => self.sent(cell, &pdu),
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

    fn put(&mut self, offer: bool, owned: Owned, octets: usize, life_ms: u64) {
        let mut frame = self.around.frames.alloc().unwrap();
        assert!(frame.set_len(octets));
        self.offered += 1;
        self.queued.insert(self.offered, owned);
        let expires = self.around.now + Duration::from_millis(life_ms);
        let Owned { ms, cell, class, precedence } = owned;
        let pdu = Pdu { class, precedence, is_ahead: false, expires, meta: Tag(self.offered), frame };
        let cx = &mut self.around.context();
        if !offer {
            self.control.enqueue(cx, cell, Some(ms), pdu);
        } else if let Offered::Passes(pdu) = self.control.offer(cx, (cell, Some(ms)), pdu) {
            self.sent(cell, &pdu);
        }
    }

    fn take_feedback(&mut self) {
        while let Some(Feedback { whose, blocked }) = self.control.take_feedback() {
            let former = self.blocked.insert(format!("{whose:?}"), blocked);
            assert_eq!(former.unwrap_or(false), !blocked, "{whose:?} was told twice");
        }
    }

    fn apply(&mut self, step: &Step) {
        let now = self.around.now;
        let World { around, control, .. } = self;
        let cx = &mut around.context();
        match *step {
            Step::Put { offer, ms, class, precedence, octets, life_ms } => {
                let cell = self.cell_of[ms as usize];
                self.put(offer, Owned { ms, cell, class, precedence }, octets, life_ms);
            }
            Step::Advance { ns } => self.around.now = Instant(now.0 + ns),
            Step::SleepUntilTold => {
                self.drain();
                if let Some(told) = self.told {
                    // Not one nanosecond before.
                    self.around.now = Instant(told.0 - 1).max(now);
                    let before = self.sent;
                    self.drain();
                    assert_eq!(self.sent, before, "something was sent before the instant told");
                    self.around.now = told;
                }
            }
            Step::Drain => self.drain(),
            Step::Bvc { cell, bvc, default_ms } => {
                control.set_bvc(cx, cell, BvcParameters { bvc, default_ms }, None);
                self.defaults[cell as usize] = default_ms;
                self.cells[cell as usize] = self.cells[cell as usize].with(now, bvc);
                for ms in (0..MOBILES).filter(|ms| self.cell_of[*ms as usize] == cell) {
                    let own = control
                        .find(ms)
                        .is_some_and(|at| control.mobiles[at as usize].specific_until < state::NEVER);
                    if !own {
                        self.mobiles[ms as usize] = self.mobiles[ms as usize].with(now, default_ms);
                    }
                }
            }
            Step::Specific { ms, bucket } => {
                assert!(control.set_ms(cx, self.cell_of[ms as usize], ms, bucket, None));
                self.mobiles[ms as usize] = self.mobiles[ms as usize].with(now, bucket);
            }
            Step::Open { cell, open } => {
                control.set_open(cell, open);
                self.open[cell as usize] = open;
            }
            Step::Reset { cell } => {
                control.reset_cell(cx, cell);
                let initial = small().initial;
                self.open[cell as usize] = true;
                self.defaults[cell as usize] = initial.default_ms;
                self.cells[cell as usize] = Clause::new(now, initial.bvc);
                for ms in (0..MOBILES as usize).filter(|ms| self.cell_of[*ms] == cell) {
                    self.mobiles[ms] = Clause::new(now, initial.default_ms);
                }
            }
            Step::Flush { ms } => {
                control.flush(cx, ms);
            }
            Step::Forget { ms } => {
                control.forget(cx, ms);
                let default_ms = self.defaults[self.cell_of[ms as usize] as usize];
                self.mobiles[ms as usize] = Clause::new(now, default_ms);
            }
            Step::Move { ms } => {
                let cell = 1 - self.cell_of[ms as usize];
                for owned in self.queued.values_mut().filter(|owned| owned.ms == ms) {
                    owned.cell = cell;
                }
                control.move_ms(cx, ms, cell);
                self.cell_of[ms as usize] = cell;
                self.mobiles[ms as usize] = Clause::new(now, self.defaults[cell as usize]);
            }
            Step::Guarantee { ms, octets_per_s } => control.set_guarantee(cx, ms, octets_per_s),
            Step::TakeFeedback => self.take_feedback(),
        }
        self.drops();
        assert_eq!(self.offered as usize, self.sent + self.dropped + self.queued.len());
        assert_eq!(self.control.queued_pdus() as usize, self.queued.len());
        self.control.check();
    }
}

impl FlowControl<Tag> {
    /// Counts everything anew.
    fn check(&self) {
        for (index, cell) in (0..).zip(&self.cells) {
            let here: Vec<_> = (0..).zip(&self.mobiles).filter(|(_, ms)| ms.cell == index).collect();
            assert_eq!(here.len(), cell.members.len() as usize);
            let sum = |class: CellClass, standing: bool| {
                let counted = here.iter().filter(|(_, ms)| !standing || matches!(ms.place, Place::Ready(_)));
                counted.fold(Amount::default(), |sum, (_, ms)| sum.plus(ms.queues[class].amount()))
            };
            for class in CellClass::ALL {
                assert_eq!(cell.queued[class], sum(class, false));
                let ready = here.iter().filter(|(_, ms)| ms.place == Place::Ready(class)).count();
                assert_eq!(cell.ready[class].len() as usize, ready);
            }
            let data = CellClass::DATA.map(|class| {
                assert_eq!(cell.standing[class], sum(class, true));
                cell.queued[class].pdus
            });
            let ranked: u32 = cell.ranks.iter().map(List::len).sum();
            assert_eq!(ranked, data.into_iter().sum::<u32>());
            let mut idle = here.iter().filter(|(_, ms)| ms.head_class().is_none());
            let full = |ms: &Ms| ms.full.0 == [false, false, false, ms.rests_for != 0];
            assert!(idle.all(|(_, ms)| ms.place == Place::Idle && full(ms)));
            assert!(here.iter().all(|(_, ms)| ms.rests_for == 0 || ms.head_class().is_none()));
            let exceeds =
                |ms: &Ms| (ms.place, ms.head_class()) == (Place::Ready(BestEffort), Some(Guaranteed));
            assert!(here.iter().all(|(_, ms)| !ms.exceeds || exceeds(ms)));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(384))]

    #[test]
    fn all_is_accounted_for_and_conforms(steps in prop::collection::vec(step(), 1..160)) {
        let mut world = World::new();
        for step in &steps {
            world.apply(step);
        }
        // Left alone, everything is sent or ends its lifetime, and nobody is told to wait any more.
        world.drain();
        while let Some(told) = world.told {
            world.around.now = told;
            world.drain();
        }
        world.drops();
        world.control.check();
        prop_assert_eq!(world.queued.len(), 0);
        prop_assert_eq!(world.around.frames.free(), 64);
        world.take_feedback();
        prop_assert!(world.blocked.values().all(|blocked| !blocked), "{:?}", world.blocked);
    }
}
