//! The input queues against a model that knows only what a packet's owner may claim.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::cast_possible_truncation, reason = "small numbers")]

use gannet_machine::drops::Drop;
use gannet_machine::time::Instant;
use gannet_qos::class::{Class, Precedence};
use gannet_qos::flow_queues::{
    CellConfig, Config, Cost, Dropped, FlowConfig, FlowQueues, Limit, Served, Turn,
};
use gannet_qos::token_bucket::{Rate, TokenBucket};
use proptest::prelude::*;
use std::collections::VecDeque;

const FLOWS: u32 = 7;
const CELLS: u32 = 2;
const CELL: Limit = Limit { pdus: 14, octets: 9000 };
const NODES: u32 = 20;
/// Real time in cell 0, in octets, and of the node, in ns.
const RATE: Rate = Rate { per_s: 400_000, burst: 1500 };
const NODE_RATE: Rate = Rate { per_s: 500_000_000, burst: 20_000 };
const COST: Cost = Cost { per_pdu_ns: 1000, per_1024_octets_ns: 500 };
const LONGEST: u32 = 1520;

#[derive(Debug, Clone)]
enum Step {
    Enqueue { flow: u32, octets: u32 },
    Dequeue { packets: u32 },
    Advance { us: u64 },
    Block { flow: u32, blocked: bool },
    BlockCell { cell: u32, blocked: bool },
    Move { flow: u32, cell: u32 },
    Configure { flow: u32, config: FlowConfig },
    Remove { flow: u32 },
    Expire { flow: u32, us: u64 },
    Cost { per_pdu_ns: u32 },
}

fn config() -> impl Strategy<Value = FlowConfig> {
    let limit = (1_u32..9, 500_u32..6000).prop_map(|(pdus, octets)| Limit { pdus, octets });
    let classes =
        prop::sample::select(vec![Class::Signalling, Class::RealTime, Class::BestEffort, Class::BestEffort]);
    (classes, prop::sample::select(Precedence::ALL.to_vec()), 1_u16..4, 0..CELLS, limit, 0_u32..4).prop_map(
        |(class, precedence, weight, cell, limit, low)| FlowConfig {
            class,
            precedence,
            weight,
            cell,
            limit,
            high: Limit { pdus: low + 2, octets: 3000 },
            low: Limit { pdus: low, octets: 1500 },
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let octets = prop_oneof![Just(100_u32), Just(378), Just(1400), 1..=LONGEST];
    prop_oneof![
        20 => (0..FLOWS, octets).prop_map(|(flow, octets)| Step::Enqueue { flow, octets }),
        12 => (1_u32..4).prop_map(|packets| Step::Dequeue { packets }),
        3 => (1_u64..5000).prop_map(|us| Step::Advance { us }),
        2 => (0..FLOWS, any::<bool>()).prop_map(|(flow, blocked)| Step::Block { flow, blocked }),
        2 => (0..CELLS, any::<bool>()).prop_map(|(cell, blocked)| Step::BlockCell { cell, blocked }),
        1 => (0..FLOWS, 0..CELLS).prop_map(|(flow, cell)| Step::Move { flow, cell }),
        1 => (0..FLOWS, config()).prop_map(|(flow, config)| Step::Configure { flow, config }),
        1 => (0..FLOWS).prop_map(|flow| Step::Remove { flow }),
        1 => (0..FLOWS, 0_u64..3000).prop_map(|(flow, us)| Step::Expire { flow, us }),
        1 => (1_u32..5000).prop_map(|per_pdu_ns| Step::Cost { per_pdu_ns }),
    ]
}

#[derive(Debug, Default)]
struct Flow {
    config: Option<FlowConfig>,
    /// Names, octets, and since when.
    queue: VecDeque<(u32, u32, Instant)>,
    blocked: bool,
    above: bool,
    lifted: bool,
}

impl Flow {
    fn octets(&self) -> u32 {
        self.queue.iter().map(|(_, octets, _)| octets).sum()
    }
    fn pdus(&self) -> u32 {
        self.queue.len() as u32
    }
    fn low(&self) -> (u32, u32) {
        let low = self.config.unwrap().low;
        (low.pdus, low.octets)
    }
    fn rises(&mut self) -> bool {
        let high = self.config.unwrap().high;
        let crossed = !self.above && (self.pdus() >= high.pdus || self.octets() >= high.octets);
        self.above |= crossed;
        let (pdus, octets) = self.low();
        let high = self.config.unwrap().precedence == Precedence::High;
        self.lifted |= high && (self.pdus() > pdus || self.octets() > octets);
        crossed
    }
    fn falls(&mut self) -> bool {
        let low = self.config.unwrap().low;
        let crossed = self.above && self.pdus() <= low.pdus && self.octets() <= low.octets;
        self.above &= !crossed;
        self.lifted &= self.pdus() > low.pdus / 2 || self.octets() > low.octets / 2;
        crossed
    }
}

/// The model, and the queues themselves.
struct World {
    queues: FlowQueues<u32>,
    flows: Vec<Flow>,
    cell_blocked: [bool; CELLS as usize],
    now: Instant,
    next: u32,
    /// Calls until flows of an unblocked cell have all returned.
    settling: u32,
    /// Octets of real time served ahead in cell 0, which limits it.
    ahead: u64,
    limit: TokenBucket,
    node_limit: Option<TokenBucket>,
    cost: Cost,
    drops: u64,
}

impl World {
    fn new(flows: &[FlowConfig], node_limited: bool) -> Self {
        let mut queues = FlowQueues::new(Config {
            flows_max: FLOWS,
            cells_max: CELLS,
            nodes_max: NODES,
            cell: CellConfig { limit: CELL, real_time: None },
            node_real_time: node_limited.then_some(NODE_RATE),
            cost: COST,
            octets_max: LONGEST,
            visit_best_effort: 2,
            ..Config::WITHOUT_ESTIMATES
        });
        queues.set_cell(Instant::ZERO, 0, CellConfig { limit: CELL, real_time: Some(RATE) });
        let flows = (0..).zip(flows).map(|(name, config)| {
            assert!(queues.configure(name, config));
            Flow { config: Some(*config), ..Flow::default() }
        });
        let flows = flows.collect();
        Self {
            queues,
            flows,
            cell_blocked: [false; CELLS as usize],
            now: Instant::ZERO,
            next: 0,
            settling: 0,
            ahead: 0,
            limit: TokenBucket::new(Instant::ZERO, RATE),
            node_limit: node_limited.then(|| TokenBucket::new(Instant::ZERO, NODE_RATE)),
            cost: COST,
            drops: 0,
        }
    }

    fn of_cell(&self, cell: u32) -> impl Iterator<Item = &Flow> {
        self.flows.iter().filter(move |flow| flow.config.is_some_and(|config| config.cell == cell))
    }

    fn wants(&self, flow: &Flow) -> bool {
        flow.config.is_some_and(|config| !self.cell_blocked[config.cell as usize])
            && !flow.blocked
            && !flow.queue.is_empty()
    }

    fn enqueue(&mut self, name: u32, octets: u32) {
        let item = self.next;
        self.next += 1;
        let mut dropped = Vec::new();
        let enqueued = self.queues.enqueue(self.now, name, octets, item, &mut |gone| dropped.push(gone));
        self.drops += dropped.len() as u64;
        let Some(config) = self.flows[name as usize].config else {
            assert_eq!(dropped[0].reason, Drop::FlowQueueFull);
            return;
        };
        let full = {
            let flow = &self.flows[name as usize];
            flow.pdus() >= config.limit.pdus || flow.octets() + octets > config.limit.octets
        };
        for gone in dropped.iter().filter(|gone| gone.item != item) {
            self.pushed_out(gone, &config);
        }
        let held = |world: &Self, below: bool| {
            let level = |flow: &&Flow| !below || flow.config.unwrap().precedence > config.precedence;
            let of: Vec<&Flow> = world.of_cell(config.cell).filter(level).collect();
            (of.iter().map(|flow| flow.pdus()).sum::<u32>(), of.iter().map(|flow| flow.octets()).sum::<u32>())
        };
        let (pdus, all) = held(self, false);
        let nodes: u32 = self.flows.iter().map(Flow::pdus).sum();
        let no_room = pdus >= CELL.pdus || all + octets > CELL.octets;
        match dropped.iter().find(|gone| gone.item == item).map(|gone| gone.reason) {
            None => {
                assert!(enqueued.accepted && !full && !no_room && nodes < NODES);
                let flow = &mut self.flows[name as usize];
                flow.queue.push_back((item, octets, self.now));
                assert_eq!(flow.rises(), enqueued.crossed_high);
            }
            Some(reason) => {
                assert!(!enqueued.accepted && !enqueued.crossed_high && dropped.len() == 1);
                // Nothing of lower precedence in the cell would have made room.
                let (lower, lower_octets) = held(self, true);
                let in_vain =
                    lower == 0 || pdus - lower >= CELL.pdus || all - lower_octets + octets > CELL.octets;
                let in_vain = in_vain || self.flows[name as usize].blocked;
                match reason {
                    Drop::FlowQueueFull => assert!(full),
                    Drop::FlowQueueCellFull => assert!(no_room && in_vain && !full),
                    Drop::FlowQueueNodeFull => assert!(nodes == NODES && in_vain && !full && !no_room),
                    other => panic!("{other:?}"),
                }
            }
        }
    }

    fn pushed_out(&mut self, gone: &Dropped<u32>, by: &FlowConfig) {
        assert_eq!(gone.reason, Drop::FlowQueuePushedOut);
        let victim = self.flows[gone.flow as usize].config.unwrap();
        assert!(victim.cell == by.cell && victim.precedence > by.precedence);
        let lowest = self.of_cell(by.cell).filter(|flow| !flow.queue.is_empty());
        assert_eq!(lowest.map(|flow| flow.config.unwrap().precedence).max(), Some(victim.precedence));
        let flow = &mut self.flows[gone.flow as usize];
        let youngest = flow.queue.pop_back().map(|(item, octets, _)| (item, octets));
        assert_eq!(youngest, Some((gone.item, gone.octets)));
        assert_eq!(flow.falls(), gone.crossed_low);
    }

    fn dequeue(&mut self) {
        let work = self.flows.iter().any(|flow| self.wants(flow));
        assert_eq!(self.queues.has_work(), work);
        let Some(served) = self.queues.dequeue(self.now) else {
            assert!(!work, "something could be served");
            return;
        };
        let flow = &self.flows[served.flow as usize];
        assert!(self.wants(flow), "neither it nor its cell is blocked");
        self.check_order(&served);
        let config = flow.config.unwrap();
        if let Some(bucket) = self.node_limit.as_mut().filter(|_| served.turn == Turn::RealTime) {
            bucket.take(self.now, self.cost.of(served.octets));
        }
        if served.turn == Turn::RealTime && config.cell == 0 {
            self.limit.take(self.now, served.octets);
            self.ahead += u64::from(served.octets);
            let granted = u64::from(RATE.per_s) * self.now.0 / 1_000_000_000;
            assert!(self.ahead <= granted + u64::from(RATE.burst + LONGEST));
        }
        let flow = &mut self.flows[served.flow as usize];
        assert_eq!(flow.queue.pop_front(), Some((served.item, served.octets, served.since)), "the oldest");
        assert_eq!(flow.falls(), served.crossed_low);
        self.settling = self.settling.saturating_sub(1);
    }

    /// Nothing that is to be served ahead of it waits.
    fn check_order(&self, served: &Served<u32>) {
        let config = self.flows[served.flow as usize].config.unwrap();
        let lifted = |flow: &Flow| {
            let config = flow.config.unwrap();
            config.class == Class::BestEffort && config.precedence == Precedence::High && flow.lifted
        };
        match served.turn {
            Turn::Signalling => assert_eq!(config.class, Class::Signalling),
            Turn::RealTime => assert_eq!(config.class, Class::RealTime),
            Turn::Lifted => assert!(lifted(&self.flows[served.flow as usize])),
            Turn::Fresh => assert_eq!(config.class, Class::BestEffort),
            Turn::BestEffort => assert_ne!(config.class, Class::Signalling),
        }
        if self.settling > 0 {
            return;
        }
        for other in self.flows.iter().filter(|other| self.wants(other)) {
            if other.config.unwrap().class == Class::Signalling {
                assert_eq!(served.turn, Turn::Signalling);
            } else if lifted(other) {
                assert!(served.turn <= Turn::Lifted);
            } else if other.config.unwrap().class == Class::RealTime {
                let in_cell = other.config.unwrap().cell != 0 || self.limit.conforms(self.now);
                let in_node = self.node_limit.is_none_or(|bucket| bucket.conforms(self.now));
                assert!(!in_cell || !in_node || served.turn <= Turn::RealTime);
            }
        }
    }

    fn apply(&mut self, step: &Step) {
        match *step {
            Step::Enqueue { flow, octets } => self.enqueue(flow, octets),
            Step::Dequeue { packets } => (0..packets).for_each(|_| self.dequeue()),
            Step::Advance { us } => self.now = Instant(self.now.0 + us * 1000),
            Step::Block { flow, blocked } => {
                let state = &mut self.flows[flow as usize];
                state.blocked = blocked && state.config.is_some();
                if blocked { self.queues.block(flow) } else { self.queues.unblock(flow) }
            }
            Step::BlockCell { cell, blocked } => {
                if self.cell_blocked[cell as usize] && !blocked {
                    self.settling = FLOWS;
                }
                self.cell_blocked[cell as usize] = blocked;
                if blocked { self.queues.block_cell(cell) } else { self.queues.unblock_cell(cell) }
            }
            Step::Move { flow, cell } => {
                let config = &mut self.flows[flow as usize].config;
                assert_eq!(self.queues.move_cell(flow, cell), config.is_some());
                if let Some(config) = config {
                    config.cell = cell;
                }
            }
            Step::Configure { flow, config } => {
                assert!(self.queues.configure(flow, &config));
                self.flows[flow as usize].config = Some(config);
            }
            Step::Remove { flow } => {
                let mut drained = Vec::new();
                self.queues.remove(flow, |item, octets| drained.push((item, octets)));
                let queue = core::mem::take(&mut self.flows[flow as usize]).queue;
                assert_eq!(
                    drained,
                    queue.iter().map(|(item, octets, _)| (*item, *octets)).collect::<Vec<_>>()
                );
            }
            Step::Expire { flow, us } => {
                let before = Instant(self.now.0.saturating_sub(us * 1000));
                let mut gone = Vec::new();
                let crossed_low = self.queues.expire(flow, before, |item, octets| gone.push((item, octets)));
                let state = &mut self.flows[flow as usize];
                let mut crossed = false;
                for expected in gone {
                    let (item, octets, since) = state.queue.pop_front().unwrap();
                    assert!((item, octets) == expected && since < before);
                    crossed |= state.falls();
                }
                assert!(state.queue.front().is_none_or(|(.., since)| *since >= before));
                assert_eq!(crossed, crossed_low);
            }
            Step::Cost { per_pdu_ns } => {
                self.cost.per_pdu_ns = per_pdu_ns;
                self.queues.set_cost(self.cost);
            }
        }
        self.check_counts();
    }

    fn check_counts(&self) {
        let queued = self.queues.queued();
        assert_eq!(queued.pdus, self.flows.iter().map(Flow::pdus).sum::<u32>());
        assert_eq!(queued.octets, self.flows.iter().map(|flow| u64::from(flow.octets())).sum::<u64>());
        let ready: u32 = self.flows.iter().filter(|flow| self.wants(flow)).map(Flow::pdus).sum();
        assert_eq!(self.queues.ready(), ready);
        let totals = self.queues.totals();
        assert_eq!((totals.offered, totals.drops.total()), (u64::from(self.next), self.drops));
        let accounted = totals.served.iter().sum::<u64>() + totals.drained + self.drops;
        assert_eq!(totals.offered, accounted + u64::from(queued.pdus));
        for cell in 0..CELLS {
            let of = self.queues.cell(cell).unwrap().queued;
            for level in Precedence::ALL {
                let of_level = |flow: &&Flow| flow.config.unwrap().precedence == level;
                let pdus: u32 = self.of_cell(cell).filter(of_level).map(Flow::pdus).sum();
                assert_eq!(of[level as usize].pdus, pdus);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    /// No packet is lost or doubled or overtakes another of its flow, no drop and no turn is without its reason, and
    /// nothing waits that could be served.
    #[test]
    fn every_packet_is_accounted_for(
        flows in prop::collection::vec(config(), FLOWS as usize),
        node_limited in any::<bool>(),
        steps in prop::collection::vec(step(), 1..160),
    ) {
        let mut world = World::new(&flows, node_limited);
        for step in &steps {
            world.apply(step);
        }
        for cell in 0..CELLS {
            world.apply(&Step::BlockCell { cell, blocked: false });
        }
        for flow in 0..FLOWS {
            world.apply(&Step::Block { flow, blocked: false });
        }
        while world.queues.has_work() {
            world.dequeue();
        }
        prop_assert_eq!(world.queues.queued().pdus, 0);
    }

    /// Flows that always have a backlog share the node's time by their weights, whatever the sizes of their packets.
    #[test]
    fn shares_are_those_of_the_weights(
        flows in prop::collection::vec((1_u16..6, prop::sample::select(vec![100_u32, 378, 1400])), 2..12),
        per_pdu_ns in 0_u32..8000,
    ) {
        let cost = Cost { per_pdu_ns, per_1024_octets_ns: 900 };
        let mut queues = FlowQueues::new(Config {
            flows_max: 16,
            nodes_max: 64,
            cell: CellConfig { limit: Limit::NONE, real_time: None },
            cost,
            ..Config::WITHOUT_ESTIMATES
        });
        let limit = Limit { pdus: 3, octets: 100_000 };
        for (name, (weight, _)) in (0..).zip(&flows) {
            queues.configure(name, &FlowConfig {
                class: Class::BestEffort, precedence: Precedence::Normal, weight: *weight, cell: 0, limit,
                high: Limit::NONE, low: Limit::NONE,
            });
        }
        let mut used = vec![0_u64; flows.len()];
        let offer = |queues: &mut FlowQueues<()>, name: u32| {
            queues.enqueue(Instant::ZERO, name, flows[name as usize].1, (), &mut |_| panic!("full"));
        };
        for name in 0..flows.len() as u32 {
            (0..3).for_each(|_| offer(&mut queues, name));
        }
        let mut all = 0;
        let weights: u64 = flows.iter().map(|(weight, _)| u64::from(*weight)).sum();
        let round = weights * u64::from(cost.of(1520)) * u64::from(Config::default().visit_best_effort);
        while all < 100 * round {
            let served = queues.dequeue(Instant::ZERO).unwrap();
            used[served.flow as usize] += u64::from(cost.of(served.octets));
            all += u64::from(cost.of(served.octets));
            offer(&mut queues, served.flow);
        }
        for ((weight, _), used) in flows.iter().zip(&used) {
            let due = all * u64::from(*weight) / weights;
            prop_assert!(used.abs_diff(due) * 50 <= due, "{used} of {due}: {flows:?}");
        }
    }
}
