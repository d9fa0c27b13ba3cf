//! One harness for every discipline: what is offered is taken, dropped by name or waits; a flow keeps its order; a blocked flow is
//! not served; and `next_conforming` is the very instant.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may panic")]

use gannet_machine::time::{Duration, Instant};
use gannet_qos::class::{Class, Precedence};
use gannet_qos::discipline::{Blocking, Discipline, Packet, Waiting};
use gannet_qos::edge::{Accounting, Config, EdgeQueues, Excess, QueueConfig, Service, StreamConfig};
use gannet_qos::flow_queues::{self, CellConfig, FlowConfig, FlowQueues, Limit};
use gannet_qos::shaped::Shaped;
use gannet_qos::succession::Succession;
use gannet_qos::token_bucket::Rate;
use proptest::prelude::*;
use std::collections::VecDeque;

const FLOWS: u32 = 6;
/// A name that no flow has.
const NOBODY: u32 = FLOWS;

#[derive(Debug, Clone)]
enum Step {
    Offer {
        flow: u32,
        octets: u32,
    },
    Take {
        packets: u32,
    },
    Advance {
        us: u64,
    },
    /// To the next conforming instant.
    Await,
    Block {
        flow: u32,
        blocked: bool,
    },
    /// Something of the discipline's own that loses nothing.
    Change {
        flow: u32,
        to: u32,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let octets = prop_oneof![Just(40_u32), Just(200), Just(500), Just(1000), 1..=1500_u32];
    prop_oneof![
        20 => (0..=NOBODY, octets).prop_map(|(flow, octets)| Step::Offer { flow, octets }),
        10 => (1_u32..4).prop_map(|packets| Step::Take { packets }),
        4 => (1_u64..20_000).prop_map(|us| Step::Advance { us }),
        4 => Just(Step::Await),
        3 => (0..=NOBODY, any::<bool>()).prop_map(|(flow, blocked)| Step::Block { flow, blocked }),
        3 => (0..FLOWS, any::<u32>()).prop_map(|(flow, to)| Step::Change { flow, to }),
    ]
}

/// A packet by its name, its octets, and since when it waits.
type Waits = (u32, u32, Instant);

struct World<D> {
    discipline: D,
    now: Instant,
    next: u32,
    queues: Vec<VecDeque<Waits>>,
    blocked: Vec<bool>,
    offered: u32,
    taken: u32,
    dropped: u32,
}

impl<D: Discipline<u32> + Blocking> World<D> {
    fn new(discipline: D) -> Self {
        let queues = (0..=NOBODY).map(|_| VecDeque::new()).collect();
        let blocked = vec![false; NOBODY as usize + 1];
        Self { discipline, now: Instant(5), next: 0, queues, blocked, offered: 0, taken: 0, dropped: 0 }
    }

    fn offer(&mut self, flow: u32, octets: u32) {
        let item = self.next;
        self.next += 1;
        self.offered += 1;
        let mut gone = Vec::new();
        let packet = Packet { flow, octets, item };
        let offered = self.discipline.offer(self.now, packet, &mut |dropped| gone.push(dropped));
        let refused = gone.iter().any(|gone| gone.packet.item == item);
        assert_eq!(offered.accepted, !refused, "what is not accepted is handed back");
        assert!(flow < FLOWS || refused, "nobody's packet has nowhere to wait");
        self.queues[flow as usize].push_back((item, octets, self.now));
        for gone in gone {
            let of = &mut self.queues[gone.packet.flow as usize];
            let at = of
                .iter()
                .position(|(item, octets, _)| (*item, *octets) == (gone.packet.item, gone.packet.octets));
            of.remove(at.expect("it was offered, and is lost once"));
            assert!(!gone.reason.name().is_empty());
            self.dropped += 1;
        }
    }

    fn take(&mut self) -> bool {
        let next = self.discipline.next_conforming(self.now);
        let Some(taken) = self.discipline.take(self.now) else {
            assert!(next.is_none_or(|next| next > self.now), "it said that something may go");
            let may = (0..).zip(&self.queues).any(|(flow, queue)| !queue.is_empty() && !self.blocked[flow]);
            assert_eq!(next.is_some(), may, "it comes to everything that is not blocked");
            return false;
        };
        assert_eq!(next, Some(self.now), "it said so");
        let flow = taken.packet.flow as usize;
        assert!(!self.blocked[flow], "a blocked flow is not served");
        let first = self.queues[flow].pop_front();
        assert_eq!(
            first,
            Some((taken.packet.item, taken.packet.octets, taken.since)),
            "a flow keeps its order"
        );
        self.taken += 1;
        true
    }

    /// Waits for the instant that the discipline names, and tries a nanosecond before it.
    fn wait(&mut self) {
        let Some(next) = self.discipline.next_conforming(self.now) else { return };
        if next > self.now {
            self.now = Instant(next.0 - 1);
            assert!(!self.take(), "nothing conforms before that");
        }
        self.now = next;
        assert!(self.take(), "something conforms then");
    }

    fn block(&mut self, flow: u32, blocked: bool) {
        if blocked {
            self.discipline.block(flow);
        } else {
            self.discipline.unblock(flow);
        }
        self.blocked[flow as usize] = blocked;
    }

    fn check(&self) {
        let all = || self.queues.iter().flatten();
        let octets = all().map(|(_, octets, _)| u64::from(*octets)).sum();
        let pdus = u32::try_from(all().count()).unwrap();
        assert_eq!(self.discipline.waiting(), Waiting { pdus, octets });
        assert_eq!(self.offered, self.taken + self.dropped + pdus);
    }

    /// Whatever happened, all that waits comes out when nothing is blocked.
    fn drain(&mut self) {
        for flow in 0..=NOBODY {
            self.block(flow, false);
        }
        while self.discipline.next_conforming(self.now).is_some() {
            self.wait();
            self.check();
        }
        assert_eq!(self.discipline.waiting(), Waiting::default());
    }
}

/// Runs the steps. `change` does to a flow what only this discipline can, and says whether the flow is blocked by that.
fn run<D: Discipline<u32> + Blocking>(
    discipline: D,
    steps: Vec<Step>,
    mut change: impl FnMut(&mut D, Instant, u32, u32) -> Option<bool>,
) {
    let mut world = World::new(discipline);
    for step in steps {
        match step {
            Step::Offer { flow, octets } => world.offer(flow, octets),
            Step::Take { packets } => (0..packets).for_each(|_| {
                world.take();
            }),
            Step::Advance { us } => world.now += Duration::from_micros(us),
            Step::Await => world.wait(),
            Step::Block { flow, blocked } => world.block(flow, blocked),
            Step::Change { flow, to } => {
                if let Some(blocked) = change(&mut world.discipline, world.now, flow, to) {
                    world.blocked[flow as usize] = blocked;
                }
            }
        }
        world.check();
    }
    world.drain();
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 1..150)
}

// ---- the input queues of a node

fn flow_config(of: u32) -> FlowConfig {
    FlowConfig {
        class: Class::ALL[of as usize % 3],
        precedence: Precedence::ALL[(of / 3) as usize % 3],
        weight: u16::try_from(1 + of / 9 % 3).unwrap(),
        cell: of / 27 % 2,
        limit: Limit { pdus: 8, octets: 6000 },
        high: Limit { pdus: 6, octets: 4000 },
        low: Limit { pdus: 2, octets: 1500 },
    }
}

fn flow_queues() -> FlowQueues<u32> {
    let limit = Limit { pdus: 14, octets: 9000 };
    let mut queues = FlowQueues::new(flow_queues::Config {
        flows_max: FLOWS,
        cells_max: 2,
        nodes_max: 24,
        cell: CellConfig { limit, real_time: Some(Rate { per_s: 400_000, burst: 1500 }) },
        node_real_time: Some(Rate { per_s: 500_000_000, burst: 20_000 }),
        ..flow_queues::Config::default()
    });
    for flow in 0..FLOWS {
        assert!(queues.configure(flow, &flow_config(flow * 5)));
    }
    queues
}

fn change_flow(queues: &mut FlowQueues<u32>, _: Instant, flow: u32, to: u32) -> Option<bool> {
    if to.is_multiple_of(2) {
        queues.move_cell(flow, to / 2 % 2)
    } else {
        queues.configure(flow, &flow_config(to / 2))
    };
    None
}

// ---- the queues of an edge router

fn stream_config(of: u32) -> StreamConfig {
    use Service::{Assured, BestEffort, Expedited, NetworkControl};
    StreamConfig {
        service: [Expedited, Assured, NetworkControl, BestEffort][of as usize % 4],
        rate: of / 4 % 3 * 20_000,
        burst: of / 12 % 3 * 1000,
    }
}

fn edge_queues(buffers: Accounting, excess: Excess) -> EdgeQueues<u32> {
    let queue = |weight| QueueConfig { buffers, rate: 200_000, weight, excess };
    let config = Config { streams_max: FLOWS, expedited: queue(3), assured: queue(7) };
    let mut queues = EdgeQueues::new(config).unwrap();
    for stream in 0..FLOWS {
        queues.configure(Instant(5), stream, &stream_config(stream * 5)).unwrap();
    }
    queues
}

fn change_stream(queues: &mut EdgeQueues<u32>, now: Instant, stream: u32, to: u32) -> Option<bool> {
    if to.is_multiple_of(4) {
        // What it has waiting is served; whoever comes under its name next is not blocked. Where there is no room for that, or it still
        // moves, one that needs none comes.
        queues.remove(stream);
        let without = |service| StreamConfig { service, rate: 0, burst: 0 };
        let next = [stream_config(to / 4), without(Service::BestEffort), without(Service::Expedited)];
        assert!(next.iter().any(|config| queues.configure(now, stream, config).is_ok()));
        return Some(false);
    }
    // Refused while it moves, or without room: then nothing has changed.
    let before = queues.view(stream);
    if queues.configure(now, stream, &stream_config(to / 4)).is_err() {
        assert_eq!(queues.view(stream), before);
    }
    None
}

/// The queues of an edge router behind those that were there before, as a way out has them.
type Edges = Succession<u32, EdgeQueues<u32>>;

/// Other queues take the place of these, or a stream changes in them.
fn change_succession(both: &mut Edges, now: Instant, stream: u32, to: u32) -> Option<bool> {
    if to.is_multiple_of(3) {
        let kinds = [(EXACT, Excess::Present), (BUFF_SIZE, Excess::Resulting)];
        let (buffers, excess) = kinds[(to / 3) as usize % 2];
        both.succeed(now, |former| {
            let mut fresh = edge_queues(buffers, excess);
            fresh.count_on(former);
            fresh
        });
        return None;
    }
    if to.is_multiple_of(4) {
        // It is removed, and what it has waiting is served.
        both.unblock(stream);
    }
    change_stream(both.inner_mut(), now, stream, to)
}

/// Every packet is counted once, in whichever queues it was.
fn totals_agree(both: &Edges) {
    let totals = both.inner().totals();
    let within = u64::from(both.inner().waiting().pdus);
    assert_eq!(totals.offered, totals.served + totals.drops.total() + within);
}

const EXACT: Accounting = Accounting::Exact { octets: 12_000 };
const BUFF_SIZE: Accounting = Accounting::BuffSize { buffers: 20, octets: 500 };
/// 400 kbit/s.
const RATE: Rate = Rate { per_s: 50_000, burst: 1 };

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_input_queues_of_a_node(steps in steps()) {
        run(flow_queues(), steps, change_flow);
    }

    #[test]
    fn an_edge_router_byte_exact(steps in steps()) {
        run(edge_queues(EXACT, Excess::Present), steps, change_stream);
    }

    #[test]
    fn an_edge_router_as_the_paper_has_it(steps in steps()) {
        run(edge_queues(BUFF_SIZE, Excess::Resulting), steps, change_stream);
    }

    #[test]
    fn an_edge_router_in_front_of_a_slow_line(steps in steps()) {
        let shaped = Shaped::new(Instant(5), RATE, 24, edge_queues(EXACT, Excess::Present));
        run(shaped, steps, |shaped, now, stream, to| change_stream(shaped.inner_mut(), now, stream, to));
    }

    #[test]
    fn queues_that_succeed_each_other(steps in steps()) {
        run(Succession::new(edge_queues(EXACT, Excess::Present)), steps, |both, now, stream, to| {
            let blocked = change_succession(both, now, stream, to);
            totals_agree(both);
            blocked
        });
    }

    #[test]
    fn queues_that_succeed_each_other_in_front_of_a_slow_line(steps in steps()) {
        let both = Succession::new(edge_queues(EXACT, Excess::Present));
        let shaped = Shaped::new(Instant(5), RATE, 24, both);
        run(shaped, steps, |shaped, now, stream, to| {
            change_succession(shaped.inner_mut(), now, stream, to)
        });
    }

    #[test]
    fn the_input_queues_in_front_of_a_slow_line(steps in steps()) {
        let shaped = Shaped::new(Instant(5), RATE, 0, flow_queues());
        run(shaped, steps, |shaped, now, flow, to| change_flow(shaped.inner_mut(), now, flow, to));
    }
}

/// A line carries its rate, with what it adds to each packet.
#[test]
fn a_shaped_line_carries_its_rate() {
    let mut shaped = Shaped::new(Instant::ZERO, RATE, 24, edge_queues(EXACT, Excess::Present));
    let (mut now, mut octets) = (Instant::ZERO, 0);
    for item in 0..1000 {
        shaped.offer(now, Packet { flow: 1, octets: 476, item }, &mut |gone| panic!("{gone:?}"));
        now = shaped.next_conforming(now).unwrap();
        octets += shaped.take(now).unwrap().packet.octets + 24;
    }
    // The first of 1,000 packets has not waited for one before it.
    let took = Duration(u64::from(octets - 500) * 1_000_000_000 / u64::from(RATE.per_s));
    assert!(now.since(Instant::ZERO).0.abs_diff(took.0) <= 20_000, "{now}, not {took}");
}
