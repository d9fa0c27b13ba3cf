//! The router with two interfaces, a host behind each.

use super::*;
use crate::streams::header::tests::{ipv4, ipv6};
use crate::streams::{BEST_EFFORT, Line, Rule};
use gannet_machine::Surroundings;
use gannet_machine::drops::DropCounters;
use gannet_machine::time::Duration;
use gannet_machine::trace::{Category, Level, Owner as Whose, TraceSink};
use gannet_proto::flow_rule::Outcome;
use gannet_proto::flow_rule::Prefix;
use gannet_qos::edge::{Accounting, Config, Excess, QueueConfig, Service, StreamConfig};
use gannet_qos::token_bucket::Rate;

/// Counts drops.
#[derive(Default)]
struct Sink(DropCounters);

impl TraceSink for Sink {
    fn enabled(&self, _: Category, _: Level) -> bool {
        false
    }
    fn line(&mut self, _: Category, _: Level, _: core::fmt::Arguments<'_>) {}
    fn dropped(&mut self, drop: Drop, _: Option<Whose>) {
        self.0.add(drop);
    }
}

const SOURCE: [u8; 4] = [192, 0, 2, 1];
const HOST: [u8; 4] = [198, 51, 100, 2];
const STATION: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 7]);
const GOLD: u32 = 1;
const VOICE: u32 = 2;

struct World {
    around: Surroundings<Sink>,
    edge: Edge,
    /// Interface, station and octets of what left, in order.
    sent: Vec<(u16, EthernetAddress, Vec<u8>)>,
    asked: Vec<IpAddr>,
}

/// 2 Mbit/s in octets.
const RATE: u32 = 250_000;

fn line() -> Line {
    let queue = |octets, weight| QueueConfig {
        buffers: Accounting::Exact { octets },
        rate: RATE,
        weight,
        excess: Excess::Present,
    };
    let queues = Config { streams_max: 8, expedited: queue(10_000, 9), assured: queue(20_000, 1) };
    Line { rate: Rate { per_s: RATE, burst: 1 }, overhead: 38, queues }
}

fn wan(line: Option<Line>) -> WayOutConfig {
    let gold = StreamConfig { service: Service::Assured, rate: RATE / 2, burst: 0 };
    let voice = StreamConfig { service: Service::Expedited, rate: RATE / 10, burst: 1500 };
    WayOutConfig { name: "wan".to_owned(), line, streams: vec![(GOLD, gold), (VOICE, voice)] }
}

impl World {
    fn new(rules: RuleBase, line: Option<Line>) -> Self {
        let lan = WayOutConfig { name: "lan".to_owned(), line: None, streams: Vec::new() };
        let config = EdgeConfig { interfaces: vec![lan, wan(line)], rules, flows: 64, seed: 5 };
        let mut around = Surroundings::new(1, 64, Sink::default());
        around.now = Instant(1_000_000_000);
        let edge = Edge::new(around.now, config).unwrap();
        Self { around, edge, sent: Vec::new(), asked: Vec::new() }
    }

    fn input(&mut self, input: Input<EdgeCommand>) {
        let mut inputs = Batch::default();
        inputs.push(input);
        self.edge.handle_input(&mut self.around.context(), &mut inputs);
        self.poll();
    }

    fn poll(&mut self) {
        let mut outputs = Batch::default();
        loop {
            self.edge.poll_output(&mut self.around.context(), &mut outputs);
            while let Some(output) = outputs.pop() {
                match output {
                    Output::Transmit { port: Port(at), peer: Peer::Ethernet(to), frame } => {
                        self.sent.push((at, to, frame.to_vec()));
                    }
                    Output::Event(EdgeEvent::Resolve(destination)) => self.asked.push(destination),
                    other => panic!("{other:?}"),
                }
            }
            if !self.edge.has_work() {
                return;
            }
        }
    }

    fn packet(&mut self, packet: &[u8]) {
        let frame = self.around.frames.copy_of(packet).unwrap();
        let peer = Peer::Ethernet(EthernetAddress([2; 6]));
        self.input(Input::Datagram { port: Port(0), peer, frame });
    }

    fn hop(&mut self, hop: Hop) {
        self.input(Input::Command(EdgeCommand::Hop { destination: HOST.into(), hop }));
    }

    /// The host is known from the start.
    fn with_host(rules: RuleBase, line: Option<Line>) -> Self {
        let mut world = Self::new(rules, line);
        world.hop(at_wan(1500));
        world
    }

    fn sleep(&mut self, time: Duration) {
        let until = self.around.now + time;
        while let Some(at) = self.around.timers.next().filter(|at| *at <= until) {
            self.around.now = self.around.now.max(at);
            while let Some(key) = self.around.timers.pop_due(self.around.now) {
                self.input(Input::Timeout(key));
            }
        }
        self.around.now = until;
        self.poll();
    }

    fn drops(&self, drop: Drop) -> u64 {
        self.around.trace.0.get(drop)
    }
}

fn at_wan(mtu: u16) -> Hop {
    Hop::Station { interface: 1, station: STATION, mtu }
}

fn to_host(port: u16, payload: usize) -> Vec<u8> {
    ipv4(SOURCE, HOST, (1000, port), payload)
}

fn rule(port: u16, stream: Option<u32>, mark: Option<u8>) -> Rule {
    let outcome = stream.map_or(Outcome::Drop, Outcome::Stream);
    Rule { destination_ports: Some(port..=port), mark, ..Rule::any(outcome) }
}

#[test]
fn the_first_packets_wait_for_the_next_hop() {
    let mut world = World::new(RuleBase::default(), None);
    (1..=3).for_each(|port| world.packet(&to_host(port, 10)));
    assert_eq!((world.asked.as_slice(), world.sent.len()), ([IpAddr::from(HOST)].as_slice(), 0));
    world.hop(at_wan(1500));
    let ports: Vec<u8> = world.sent.iter().map(|(_, _, packet)| packet[23]).collect();
    assert_eq!(ports, [1, 2, 3], "in their order");
    let (interface, station, packet) = &world.sent[0];
    let mut expected = to_host(1, 10);
    header::forward(&mut expected, None);
    assert_eq!((*interface, *station, packet), (1, STATION, &expected));
    world.packet(&to_host(4, 10));
    assert_eq!((world.asked.len(), world.sent.len()), (1, 4));
}

#[test]
fn what_has_not_changed_stays_remembered() {
    let mut world = World::with_host(RuleBase::default(), None);
    let other: IpAddr = "192.0.2.77".parse().unwrap();
    let elsewhere = EthernetAddress([2, 0, 0, 0, 0, 8]);
    let hop = Hop::Station { interface: 0, station: elsewhere, mtu: 1500 };
    world.input(Input::Command(EdgeCommand::Hop { destination: other, hop }));
    let both = |world: &mut World| {
        world.packet(&to_host(1, 10));
        world.packet(&ipv4(SOURCE, [192, 0, 2, 77], (1000, 1), 10));
        core::mem::take(&mut world.asked)
    };
    assert!(both(&mut world).is_empty());
    let prefix = |address: [u8; 4], bits| Changed::Within(Prefix { address: address.into(), bits });
    let host = IpAddr::from(HOST);
    for (changed, asked) in [
        (Changed::Found, vec![]),
        (prefix([203, 0, 113, 0], 24), vec![]),
        (prefix(HOST, 32), vec![host]),
        (prefix([192, 0, 2, 0], 24), vec![other]),
        (prefix([0; 4], 0), vec![host, other]),
        (Changed::Station(STATION), vec![host]),
        (Changed::Station(EthernetAddress([2; 6])), vec![]),
        (Changed::All, vec![host, other]),
    ] {
        let fast = world.edge.paths().fast;
        world.input(Input::Command(EdgeCommand::TablesChanged(changed)));
        assert_eq!(both(&mut world), asked, "{changed:?}");
        if asked.is_empty() {
            assert_eq!(world.edge.paths().fast, fast + 2, "{changed:?}");
        }
        world.hop(at_wan(1500));
        world.input(Input::Command(EdgeCommand::Hop { destination: other, hop }));
        assert!(both(&mut world).is_empty());
    }
    assert_eq!(world.sent.len(), 2 + 8 * 4, "none waits for an answer");
}

#[test]
fn packets_leave_as_before_until_the_answer_comes() {
    let mut world = World::with_host(RuleBase::default(), None);
    let routes = Changed::Within(Prefix { address: HOST.into(), bits: 24 });
    world.input(Input::Command(EdgeCommand::TablesChanged(routes)));
    (1..=20).for_each(|port| world.packet(&to_host(port, 10)));
    assert_eq!((world.asked.len(), world.sent.len()), (1, 20), "asked for once, none waits");
    world.hop(at_wan(1500));
    world.input(Input::Command(EdgeCommand::TablesChanged(routes)));
    world.packet(&to_host(1, 10));
    // The station is gone: the next packets wait for another.
    world.input(Input::Command(EdgeCommand::Unresolved(HOST.into())));
    world.packet(&to_host(1, 10));
    assert_eq!((world.asked.len(), world.sent.len()), (3, 21));
    world.hop(at_wan(1500));
    assert_eq!(world.sent.len(), 22);
}

#[test]
fn who_waits_is_asked_for_again_with_each_news() {
    let mut world = World::new(RuleBase::default(), None);
    world.packet(&to_host(1, 10));
    world.input(Input::Command(EdgeCommand::TablesChanged(Changed::Found)));
    assert_eq!(world.asked, [IpAddr::from(HOST); 2]);
}

#[test]
fn what_waits_too_long_or_too_many_is_dropped_by_name() {
    let mut world = World::new(RuleBase::default(), None);
    // Before the answer as many as come at once; then the first few, until the station is found.
    (0..10).for_each(|port| world.packet(&to_host(port, 10)));
    assert_eq!(world.drops(Drop::EdgeHeldFull), 0);
    world.input(Input::Command(EdgeCommand::Unresolved(HOST.into())));
    assert_eq!(world.drops(Drop::EdgeHeldFull), 2);
    world.packet(&to_host(1, 10));
    assert_eq!(world.drops(Drop::EdgeHeldFull), 3);
    world.sleep(Duration::from_millis(2999));
    assert_eq!(world.drops(Drop::EdgeNoNeighbour), 0);
    world.sleep(Duration::from_millis(1));
    assert_eq!(world.drops(Drop::EdgeNoNeighbour), 8);
    // The next one asks again.
    world.packet(&to_host(1, 10));
    assert_eq!(world.asked.len(), 2);
    assert_eq!(world.around.frames.free(), 63);
}

#[test]
fn the_kernel_has_what_a_router_answers() {
    let mut world = World::with_host(RuleBase::default(), None);
    let mut last_hop = to_host(1, 10);
    last_hop[8] = 2;
    header::forward(&mut last_hop, None);
    world.packet(&last_hop);
    world.packet(&ipv4([127, 0, 0, 1], HOST, (1, 2), 10));
    let mut unfragmented = to_host(1, 1473);
    unfragmented[8] = 65;
    unfragmented[6] = 0x40;
    header::forward(&mut unfragmented, None);
    world.packet(&unfragmented);
    assert_eq!((world.edge.counts().left_to_kernel, world.sent.len()), (3, 0));
    world.input(Input::Command(EdgeCommand::TablesChanged(Changed::All)));
    world.hop(Hop::Kernel);
    world.packet(&to_host(1, 10));
    assert_eq!((world.edge.counts().left_to_kernel, world.sent.len()), (4, 0));
}

#[test]
fn a_long_packet_is_fragmented_where_that_is_allowed() {
    let mut world = World::new(RuleBase::default(), None);
    world.packet(&to_host(1, 1400));
    world.hop(at_wan(700));
    let lengths: Vec<usize> = world.sent.iter().map(|(_, _, packet)| packet.len()).collect();
    // 1408 octets behind the header, in parts of 680.
    assert_eq!(lengths, [700, 700, 68]);
    assert!(
        world.sent.iter().all(|(_, _, packet)| header::read(0, packet).is_some_and(|of| of.hop_limit == 63))
    );
    assert_eq!(world.edge.counts().fragmented, 1);
    // No octet of payload fits.
    world.input(Input::Command(EdgeCommand::TablesChanged(Changed::All)));
    world.hop(at_wan(27));
    world.packet(&to_host(1, 1400));
    assert_eq!((world.drops(Drop::EdgeNotFragmented), world.sent.len()), (1, 3));
}

#[test]
fn what_is_no_packet_and_what_is_refused_is_dropped_by_name() {
    let mut rules = RuleBase::default();
    rules.set(10, rule(9, None, None));
    let mut world = World::with_host(rules, None);
    let mut damaged = to_host(1, 10);
    damaged[16] ^= 1;
    world.packet(&damaged);
    world.packet(&[0x20; 40]);
    assert_eq!(world.drops(Drop::EdgeMalformed), 2);
    world.packet(&to_host(9, 10));
    world.packet(&to_host(9, 20));
    assert_eq!((world.drops(Drop::EdgeRefused), world.sent.len()), (2, 0));
    assert_eq!((world.edge.paths().fast, world.edge.paths().slow), (1, 1));
}

#[test]
fn a_packet_is_marked_by_its_rule_and_rules_change() {
    let mut rules = RuleBase::default();
    rules.set(10, rule(9, Some(GOLD), Some(10)));
    let mut world = World::with_host(rules, Some(line()));
    let dscp = |world: &World| world.sent.last().unwrap().2[1] >> 2;
    let one = |world: &mut World| {
        world.packet(&to_host(9, 10));
        world.sleep(Duration::from_secs(1));
    };
    one(&mut world);
    assert_eq!(dscp(&world), 10);
    let mut rules = RuleBase::default();
    rules.set(10, rule(9, Some(VOICE), Some(46)));
    world.edge.set_rules(rules);
    one(&mut world);
    assert_eq!(dscp(&world), 46);
    let served = |world: &World, stream| world.edge.interfaces()[1].stream(stream).unwrap().served_pdus;
    assert_eq!((served(&world, GOLD), served(&world, VOICE), served(&world, BEST_EFFORT)), (1, 1, 0));
    world.edge.set_rules(RuleBase::default());
    one(&mut world);
    assert_eq!((dscp(&world), served(&world, BEST_EFFORT)), (0, 1));
    // A stream that goes leaves its packets to best effort.
    let mut rules = RuleBase::default();
    rules.set(10, rule(9, Some(GOLD), None));
    world.edge.set_rules(rules);
    let mut without = wan(Some(line()));
    without.streams.retain(|(number, _)| *number != GOLD);
    world.edge.reconfigure(world.around.now, 1, &without).unwrap();
    one(&mut world);
    assert_eq!(served(&world, BEST_EFFORT), 2);
    assert_eq!(world.sent.len(), 4);
}

#[test]
fn a_line_sends_at_its_rate_and_voice_first() {
    let mut rules = RuleBase::default();
    rules.set(10, rule(9, Some(VOICE), None));
    let mut world = World::with_host(rules, Some(line()));
    // 1000 + 38 octets take 4.152 ms.
    (0..5).for_each(|_| world.packet(&to_host(1, 972)));
    world.packet(&to_host(9, 172));
    assert_eq!(world.sent.len(), 1, "the line is busy with it");
    world.sleep(Duration::from_micros(4147));
    assert_eq!(world.sent.len(), 1);
    // The bucket has one octet of burst.
    world.sleep(Duration::from_micros(5));
    assert_eq!((world.sent.len(), world.sent[1].2.len()), (2, 200));
    // 238 octets: 0.952 ms, and then the others.
    world.sleep(Duration::from_micros(952));
    assert_eq!(world.sent.len(), 3);
    world.sleep(Duration::from_micros(4152 * 3));
    assert_eq!(world.sent.len(), 6);
    assert_eq!(world.edge.interfaces()[1].waiting().pdus, 0);
    assert_eq!(world.around.frames.free(), 64);
}

#[test]
fn what_waits_is_sent_when_the_rate_rises() {
    let slow = Line { rate: Rate { per_s: 1, burst: 1 }, ..line() };
    let mut world = World::with_host(RuleBase::default(), Some(slow));
    (0..3).for_each(|_| world.packet(&to_host(1, 972)));
    assert_eq!(world.sent.len(), 1);
    let now = world.around.now;
    let fast = Line { rate: Rate { per_s: 1_000_000_000, burst: 10_000 }, ..line() };
    world.edge.reconfigure(now, 1, &wan(Some(fast))).unwrap();
    world.poll();
    world.sleep(Duration::from_millis(1));
    assert_eq!(world.sent.len(), 3);
}

#[test]
fn ipv6_is_forwarded_too() {
    let mut world = World::new(RuleBase::default(), None);
    world.packet(&ipv6(17, &[3, 232, 0, 9, 0, 8, 0, 0]));
    let destination: IpAddr = "2001:db8:1::2".parse().unwrap();
    assert_eq!(world.asked, [destination]);
    world.input(Input::Command(EdgeCommand::Hop { destination, hop: at_wan(1280) }));
    assert_eq!((world.sent.len(), world.sent[0].2[7]), (1, 63));
    // Too long, and nobody but its source may fragment it.
    world.packet(&ipv6(17, &[0; 1241]));
    assert_eq!((world.sent.len(), world.edge.counts().left_to_kernel), (1, 1));
}

#[test]
fn an_interface_whose_streams_do_not_fit_is_refused() {
    let greedy = StreamConfig { service: Service::Assured, rate: RATE * 2, burst: 0 };
    let interface =
        WayOutConfig { name: "wan".to_owned(), line: Some(line()), streams: vec![(GOLD, greedy)] };
    let config = EdgeConfig { interfaces: vec![interface], rules: RuleBase::default(), flows: 8, seed: 1 };
    let (at, error) = Edge::new(Instant::ZERO, config).unwrap_err();
    assert_eq!(at, 0);
    assert!(error.to_string().starts_with("stream 1: "), "{error}");
}

#[test]
fn another_pool_and_no_line_at_all_lose_nothing() {
    let slow = |octets| {
        let mut slow = Line { rate: Rate { per_s: 1, burst: 1 }, ..line() };
        slow.queues.assured.buffers = Accounting::Exact { octets };
        Some(slow)
    };
    let mut world = World::with_host(RuleBase::default(), slow(20_000));
    (0..7).for_each(|_| world.packet(&to_host(1, 972)));
    assert_eq!((world.sent.len(), world.edge.interfaces()[1].waiting().pdus), (1, 6));
    // Smaller than what waits.
    world.edge.reconfigure(world.around.now, 1, &wan(slow(5000))).unwrap();
    assert_eq!(world.edge.interfaces()[1].waiting().pdus, 6);
    world.packet(&to_host(2, 972));
    // What does not fit leaves all as it is.
    assert!(world.edge.reconfigure(world.around.now, 1, &wan(slow(0))).is_err());
    assert_eq!(world.edge.interfaces()[1].waiting().pdus, 7);
    world.edge.reconfigure(world.around.now, 1, &wan(None)).unwrap();
    world.poll();
    let ports: Vec<u8> = world.sent.iter().map(|(_, _, packet)| packet[23]).collect();
    assert_eq!(ports, [1, 1, 1, 1, 1, 1, 1, 2]);
    assert_eq!(world.around.frames.free(), 64);
}

#[test]
fn streams_that_change_places_have_room() {
    let mut world = World::with_host(RuleBase::default(), Some(line()));
    let with = |gold: u32, other: u32| {
        let stream = |rate| StreamConfig { service: Service::Assured, rate: RATE / 10 * rate, burst: 0 };
        WayOutConfig { streams: vec![(GOLD, stream(gold)), (3, stream(other))], ..wan(Some(line())) }
    };
    let rates = |world: &World| {
        [GOLD, 3].map(|number| world.edge.interfaces()[1].stream(number).unwrap().config.rate / (RATE / 10))
    };
    for (gold, other) in [(9, 1), (1, 9), (8, 2)] {
        world.edge.reconfigure(world.around.now, 1, &with(gold, other)).unwrap();
        assert_eq!(rates(&world), [gold, other]);
    }
    assert!(world.edge.reconfigure(world.around.now, 1, &with(9, 2)).is_err());
    assert_eq!(rates(&world), [8, 2]);
}
