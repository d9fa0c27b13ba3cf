//! A lightly loaded SGSN under a processor that others use as well: preempted, stolen, of changing speed, beside storms of garbage,
//! of signalling, and long pages. It loses nothing for a reason of its own, and a second later what an N-PDU costs is what it is at
//! a node that nobody has disturbed. Under more than it can do it bounds what waits, all the same.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "these are tests")]

mod node;

use gannet_machine::rng::Rng;
use gannet_machine::time::{Duration, Instant};
use gannet_sim::processor::Disturbance;
use node::{Costs, MOBILES, Node, What};
use std::ops::Range;

/// Schedules of an ordinary test, shared by its parts. `GANNET_PROCESSOR_SEEDS` names another number.
const SCHEDULES: u64 = 1000;
const PARTS: u64 = 5;

fn schedules(part: u64) -> Range<u64> {
    let named = std::env::var("GANNET_PROCESSOR_SEEDS").ok();
    let all = named.map_or(SCHEDULES, |named| named.parse().expect("a number of seeds"));
    all * part / PARTS..all * (part + 1) / PARTS
}

/// Each in turn, at random distances.
fn comes(
    node: &Node,
    (span, per_s): (Duration, f64),
    dice: &mut Rng,
    mut what: impl FnMut(&mut Rng) -> What,
) -> Vec<(Instant, What)> {
    let (mut at, end, mut all) = (node.now(), node.now() + span, Vec::new());
    loop {
        let gap = -(1.0 - dice.unit()).ln() / per_s * 1e9;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "less than an hour")]
        let gap = gap.min(1e12) as u64;
        at += Duration(gap);
        if at >= end {
            return all;
        }
        all.push((at, what(dice)));
    }
}

fn n_pdu(dice: &mut Rng) -> What {
    // What they cost differs by a few hundredths.
    let octets = [40, 100, 200, 300][usize::try_from(dice.below(4)).unwrap()];
    What::NPdu(u32::try_from(dice.below(MOBILES.into())).unwrap(), octets)
}

/// What an hour of trouble is made of.
#[derive(Debug)]
struct Schedule {
    disturbances: Vec<Disturbance>,
    span: Duration,
    /// Of the time that the processor has: N-PDUs, and storms.
    load: f64,
    garbage: f64,
    signalling: f64,
    pages: bool,
}

impl Schedule {
    fn new(dice: &mut Rng) -> Self {
        let disturbances = Disturbance::ALL.into_iter().filter(|_| dice.chance(0.6)).collect();
        let storm = |dice: &mut Rng| if dice.chance(0.35) { 0.02 + 0.2 * dice.unit() } else { 0.0 };
        Self {
            disturbances,
            span: Duration::from_millis(300 + dice.below(900)),
            load: 0.45 * dice.unit(),
            garbage: storm(dice),
            signalling: storm(dice),
            pages: dice.chance(0.2),
        }
    }
}

/// No more N-PDUs are simulated than so many in a second, and no more of a storm.
const PER_S_MAX: f64 = 2200.0;
const STORM_PER_S_MAX: f64 = 2000.0;

/// Disturbs one of two nodes that have the same traffic, and compares them a second later.
fn survives(seed: u64, disturbed: &mut Node, control: &mut Node) {
    let mut dice = Rng::seeded(seed);
    let costs = Costs::times([1, 10, 30, 100, 300][usize::try_from(seed % 5).unwrap()]);
    let schedule = Schedule::new(&mut dice);
    // Both begin at the same time.
    let from = disturbed.now().max(control.now()) + Duration::from_millis(1);
    for node in [&mut *disturbed, &mut *control] {
        node.costs = costs;
        node.run_until(from);
        node.processor.idle(from);
    }
    let part = disturbed.processor.disturb(&schedule.disturbances, schedule.span, &mut dice);
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let per_s = |load: f64, what: What| load * part * 1e9 / costs.of(what) as f64;
    let rate = per_s(schedule.load, What::NPdu(0, 0)).clamp(40.0, PER_S_MAX);
    let settling = Duration::from_secs(1);
    let traffic = comes(disturbed, (Duration(schedule.span.0 + settling.0), rate), &mut dice, n_pdu);
    control.pending.extend(traffic.iter().copied());
    let mut all = traffic;
    let garbage = per_s(schedule.garbage, What::Garbage(0)).min(STORM_PER_S_MAX);
    all.extend(comes(disturbed, (schedule.span, garbage), &mut dice, |dice| What::Garbage(dice.u64())));
    let signalling = per_s(schedule.signalling, What::Signalling(true)).min(STORM_PER_S_MAX);
    all.extend(comes(disturbed, (schedule.span, signalling), &mut dice, |dice| {
        What::Signalling(dice.chance(0.5))
    }));
    if schedule.pages {
        let us = |dice: &mut Rng| What::Page(u32::try_from(100 + dice.below(2000)).unwrap());
        all.extend(comes(disturbed, (schedule.span, 100.0 * part), &mut dice, us));
    }
    all.sort_unstable_by_key(|(at, _)| *at);
    disturbed.pending.extend(all);
    let end = from + schedule.span + settling;
    for node in [&mut *disturbed, &mut *control] {
        node.run_until(end);
    }
    let lost = [&*disturbed, &*control].map(Node::lost_by_the_node);
    let drops: Vec<_> = disturbed.around.trace.drops.raised().collect();
    assert_eq!(lost, [0, 0], "seed {seed}: {schedule:?}, {part} of {costs:?}, {drops:?}");
    assert_eq!(
        (disturbed.blocks, control.blocks),
        (0, 0),
        "seed {seed}: nobody is to be dropped at the driver"
    );
    let [found, right] = [&*disturbed, &*control].map(Node::estimate);
    assert!(
        found.abs_diff(right) * 5 <= right,
        "seed {seed}: {found} ns instead of {right}: {schedule:?}, {part} of {costs:?}"
    );
}

fn all_survive(part: u64) {
    let costs = Costs::times(1);
    let (mut disturbed, mut control) = (Node::new(costs), Node::new(costs));
    for seed in schedules(part) {
        survives(seed, &mut disturbed, &mut control);
    }
}

macro_rules! parts {
    ($($name:ident = $part:literal),*) => {$(
        #[test]
        fn $name() {
            all_survive($part);
        }
    )*};
}

parts!(
    hostile_schedules_of_part_0 = 0,
    hostile_schedules_of_part_1 = 1,
    hostile_schedules_of_part_2 = 2,
    hostile_schedules_of_part_3 = 3,
    hostile_schedules_of_part_4 = 4
);

/// A storm, in the midst of which mobiles have 400 N-PDUs/s, in bursts of more than are served at once.
fn a_storm_is_no_packets_cost(per_s: f64, what: impl Fn(&mut Rng) -> What) {
    let costs = Costs::times(3);
    let (mut node, mut dice) = (Node::new(costs), Rng::seeded(4));
    let second = Duration::from_secs(1);
    let bursts = |node: &Node, dice: &mut Rng| {
        let bursts = comes(node, (second, 20.0), dice, n_pdu);
        bursts.into_iter().flat_map(|burst| [burst; 20]).collect::<Vec<_>>()
    };
    let traffic = bursts(&node, &mut dice);
    node.pending.extend(traffic);
    node.run_until(node.now() + second);
    let before = node.estimate();
    let mut all = bursts(&node, &mut dice);
    all.extend(comes(&node, (second, per_s), &mut dice, what));
    all.sort_unstable_by_key(|(at, _)| *at);
    node.pending.extend(all);
    for _ in 0..10 {
        node.run_until(node.now() + Duration::from_millis(100));
        let during = node.estimate();
        assert!(during.abs_diff(before) * 5 <= before, "{during} ns instead of {before}");
    }
    assert_eq!((node.lost_by_the_node(), node.blocks), (0, 0));
}

/// 0.4 of its time.
#[test]
fn garbage_of_a_known_bss_is_no_packets_cost() {
    a_storm_is_no_packets_cost(30_000.0, |dice| What::Garbage(dice.u64()));
}

#[test]
fn signalling_is_no_packets_cost() {
    a_storm_is_no_packets_cost(30_000.0, |dice| What::Signalling(dice.chance(0.5)));
}

#[test]
fn pages_for_an_operator_are_no_packets_cost() {
    a_storm_is_no_packets_cost(400.0, |dice| What::Page(u32::try_from(500 + dice.below(1000)).unwrap()));
}

#[test]
fn what_is_more_than_a_disturbed_processor_can_do_does_not_wait_for_long() {
    for seed in 0..6 {
        let costs = Costs::times(20);
        let (mut node, mut dice) = (Node::new(costs), Rng::seeded(seed));
        let goes_on = |node: &mut Node, span: Duration, per_s: f64, dice: &mut Rng| {
            let traffic = comes(node, (span, per_s), dice, n_pdu);
            node.pending.extend(traffic);
            node.now() + span
        };
        let second = Duration::from_secs(1);
        let end = goes_on(&mut node, second, 300.0, &mut dice);
        node.run_until(end);
        assert_eq!(node.lost_by_the_node(), 0);
        // Twice as much comes as it can do, for 0.6 s of its work. In the second half of that it has got down to what may wait.
        // Where others have the processor for a tenth of a second what has come meanwhile waits as well, as far as the ring has it.
        let (some, room): (&[Disturbance], u32) = match seed % 3 {
            0 => (&[], 600),
            1 => (&[Disturbance::Frequency], 600),
            _ => (&[Disturbance::Preemption, Disturbance::Frequency], 2000),
        };
        let mut known = node.processor.clone();
        let part = known.disturb(some, Duration::from_secs(6), &mut dice.clone());
        node.processor = known;
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let rate = 2.0 * part * 1e9 / costs.of_many() as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some seconds")]
        let span = Duration((0.6e9 / part) as u64);
        let end = goes_on(&mut node, span, rate, &mut dice);
        let begin = node.now();
        let mut most = 0;
        while node.now() < end {
            node.run_until(node.now() + Duration::from_millis(1));
            if node.now() > begin + Duration(span.0 / 2) {
                most = most.max(node.sgsn.flows().unwrap().queues().ready());
            }
        }
        // What it does in 10 ms, or what there is room for in any case; their own limits are some 10,000.
        assert!(most <= room, "seed {seed}: {most} wait, {part}");
        let lost = node.lost_by_the_node();
        assert!(lost > 1000, "seed {seed}: {lost}");
        // It ends, and all is as before.
        node.pending.clear();
        node.run_until(node.now() + Duration::from_millis(100));
        let end = goes_on(&mut node, second, 300.0, &mut dice);
        node.run_until(end);
        assert_eq!(node.lost_by_the_node(), lost, "seed {seed}");
    }
}
