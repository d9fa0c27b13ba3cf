//! Queues of streams at an access point: the component behind a GGSN, both ways.

use super::*;
use crate::streams::{Line, Rule, RuleBase, WayOutConfig};
use gannet_machine::rng::Rng;
use gannet_proto::flow_rule::Outcome;
use gannet_qos::discipline::{Discipline as _, Packet};
use gannet_qos::edge::{
    Accounting, Config, EdgeQueues, Excess, QueueConfig, Service, StreamConfig, StreamView,
};
use gannet_qos::shaped::Shaped;
use gannet_qos::token_bucket::Rate;

/// 2 Mbit/s in octets.
const RATE: u32 = 250_000;
/// What the tests have the line add to an IP packet.
const OVERHEAD: u32 = 20;

/// The streams of figure 6 of the edge QoS study: octets of an IP packet, and kbit/s that are reserved and sent.
const STREAMS: [(u16, u32, u32); 9] = [
    (1000, 150, 150),
    (200, 100, 100),
    (500, 100, 500),
    (500, 200, 500),
    (1000, 150, 150),
    (200, 200, 200),
    (1000, 0, 500),
    (200, 0, 500),
    (500, 0, 500),
];

fn line(pool: u32) -> Line {
    let queue = |octets, weight| QueueConfig {
        buffers: Accounting::Exact { octets },
        rate: RATE,
        weight,
        excess: Excess::Present,
    };
    let queues = Config { streams_max: 16, expedited: queue(10_000, 9), assured: queue(pool, 1) };
    Line { rate: Rate { per_s: RATE, burst: 1 }, overhead: OVERHEAD, queues }
}

/// Streams 1 to 9 with what is reserved for them.
fn reserved() -> Vec<(u32, StreamConfig)> {
    let of = |(_, kbps, _): &(u16, u32, u32)| {
        let service = if *kbps > 0 { Service::Assured } else { Service::BestEffort };
        StreamConfig { service, rate: kbps * 125, burst: 0 }
    };
    (1..).zip(STREAMS.iter().map(of)).collect()
}

fn way(pool: u32) -> WayOutConfig {
    WayOutConfig { name: "internet".to_owned(), line: Some(line(pool)), streams: reserved() }
}

/// Port 5000 + n is of stream n.
fn rules_of_ports() -> RuleBase {
    let mut rules = RuleBase::default();
    for stream in 1..=9_u16 {
        let rule = Rule {
            destination_ports: Some(5000 + stream..=5000 + stream),
            ..Rule::any(Outcome::Stream(stream.into()))
        };
        rules.set(stream.into(), rule);
    }
    rules
}

/// A UDP datagram over IPv4 with so many octets in all.
fn datagram(source: Ipv4Addr, destination: Ipv4Addr, port: u16, octets: u16) -> Vec<u8> {
    crate::streams::header::tests::ipv4(
        source.octets(),
        destination.octets(),
        (1000, port),
        usize::from(octets) - 28,
    )
}

/// When which of [`STREAMS`] sends, from random phases, for so long.
fn arrivals(seed: u64, span: Duration) -> Vec<(Instant, usize)> {
    let mut rng = Rng::seeded(seed);
    let mut all = Vec::new();
    for (stream, (octets, _, kbps)) in STREAMS.iter().enumerate() {
        let gap = u64::from(*octets) * 8_000_000 / u64::from(*kbps);
        let first = rng.below(gap);
        all.extend(
            (0..).map(|n| Instant(first + n * gap)).take_while(|at| at.0 < span.0).map(|at| (at, stream)),
        );
    }
    all.sort_unstable();
    all
}

impl Net {
    /// Inputs that came, wake-ups until `until`, and all that leaves meanwhile.
    fn pass(&mut self, until: Instant) -> Vec<Sent> {
        let mut sent = Vec::new();
        while let Some(at) = self.around.timers.next().filter(|at| *at <= until) {
            self.around.now = self.around.now.max(at);
            while let Some(key) = self.around.timers.pop_due(self.around.now) {
                sent.extend(self.give(Input::Timeout(key)));
            }
        }
        self.around.now = until;
        sent
    }

    fn stream(&self, heading: Heading, stream: u32) -> StreamView {
        self.ggsn.way_out(0, heading).unwrap().stream(stream).unwrap()
    }

    fn waiting(&self, heading: Heading) -> u32 {
        self.ggsn.way_out(0, heading).unwrap().waiting().pdus
    }
}

/// What each stream got of the component alone, in octets.
fn alone(arrivals: &[(Instant, usize)], begin: Instant) -> Vec<u64> {
    let mut queues = EdgeQueues::new(line(50_000).queues).unwrap();
    for (stream, config) in reserved() {
        queues.configure(begin, stream, &config).unwrap();
    }
    let mut shaped = Shaped::new(begin, line(50_000).rate, OVERHEAD, queues);
    let mut got = vec![0; STREAMS.len()];
    let mut now = begin;
    for (at, stream) in arrivals {
        let until = begin + Duration(at.0);
        while let Some(at) = shaped.next_conforming(now).filter(|at| *at <= until) {
            now = at;
            let taken = shaped.take(now).unwrap().packet;
            got[taken.item] += u64::from(taken.octets);
        }
        now = until;
        let octets = u32::from(STREAMS[*stream].0);
        let flow = u32::try_from(*stream).unwrap() + 1;
        shaped.offer(now, Packet { flow, octets, item: *stream }, &mut |_| ());
    }
    got
}

fn figure_6(heading: Heading) {
    let span = Duration::from_secs(20);
    let mut net = Net::new(|config| {
        *config.apns[0].ways.get_mut(heading) = Some(way(50_000));
        config.streams.rules = rules_of_ports();
        config.echo_interval = Duration::ZERO;
    });
    net.around = Surroundings::new(1, 1024, Kept::default());
    let created = net.create(create_request(1, "internet")).unwrap();
    let mobile = address_of(&created);
    let begin = net.around.now;
    let arrivals = arrivals(7, span);
    let mut got = vec![0_u64; STREAMS.len()];
    let mut count = |sent: Vec<Sent>| {
        for (port, _, octets) in sent {
            // A G-PDU with a sequence number has 12 octets before the T-PDU.
            let packet = if port == PORT_TUN { &octets[..] } else { &octets[12..] };
            let stream = usize::from(u16::from_be_bytes([packet[22], packet[23]]) - 5001);
            got[stream] += packet.len() as u64;
        }
    };
    for (at, stream) in &arrivals {
        let sent = net.pass(begin + Duration(at.0));
        count(sent);
        let port = 5001 + u16::try_from(*stream).unwrap();
        let sent = match heading {
            Heading::Downlink => {
                net.downlink(Peer::Slot(0), &datagram(HOST, mobile, port, STREAMS[*stream].0))
            }
            Heading::Uplink => {
                net.uplink(created.teid_data, &datagram(mobile, HOST, port, STREAMS[*stream].0))
            }
        };
        count(sent);
    }
    let expected = alone(&arrivals, begin);
    for ((got, alone), (octets, reserved, _)) in got.iter().zip(&expected).zip(STREAMS) {
        // A packet at the very end.
        assert!(got.abs_diff(*alone) <= u64::from(octets), "{got} {alone} of {octets}");
        assert!(*got * 8 / 20_000 + 1 >= u64::from(reserved) * 99 / 100, "{got} of {reserved}");
    }
    // Best-effort streams of 1000, 200 and 500 octets have the same.
    let mean = got[6..].iter().sum::<u64>() / 3;
    assert!(got[6..].iter().all(|got| got.abs_diff(mean) * 10 < mean), "{got:?}");
    assert!(net.drops().iter().all(|(drop, _)| [Drop::EdgeShareTaken, Drop::EdgeSharedFull].contains(drop)));
}

#[test]
fn towards_the_mobiles_each_stream_gets_what_the_component_gives_it() {
    figure_6(Heading::Downlink);
}

#[test]
fn towards_the_network_each_stream_gets_what_the_component_gives_it() {
    figure_6(Heading::Uplink);
}

/// A GGSN whose line is slow, with two subscribers.
fn slow(heading: Heading) -> (Net, [Created; 2]) {
    let mut net = Net::new(|config| {
        *config.apns[0].ways.get_mut(heading) = Some(way(20_000));
        config.streams.rules = rules_of_ports();
        config.streams.groups = vec![vec![imsi(2).to_string().parse().unwrap()]];
        config.echo_interval = Duration::ZERO;
    });
    let created = [1, 2].map(|n| net.create(create_request(n, "internet")).unwrap());
    (net, created)
}

#[test]
fn what_waits_of_a_context_that_is_gone_is_dropped_by_name() {
    for heading in Heading::ALL {
        let (mut net, [first, second]) = slow(heading);
        let packet = |of: &Created| match heading {
            Heading::Downlink => datagram(HOST, address_of(of), 9, 972),
            Heading::Uplink => datagram(address_of(of), HOST, 9, 972),
        };
        let give = |net: &mut Net, of: &Created| match heading {
            Heading::Downlink => net.downlink(Peer::Slot(0), &packet(of)),
            Heading::Uplink => net.uplink(of.teid_data, &packet(of)),
        };
        assert_eq!(give(&mut net, &first).len(), 1, "the line is free");
        for _ in 0..4 {
            assert!(give(&mut net, &first).is_empty());
        }
        assert!(give(&mut net, &second).is_empty());
        assert_eq!(net.waiting(heading), 5);
        assert_eq!(net.delete(first.teid_control, 5).1, Cause::RequestAccepted);
        // They take nothing of the line's time: 992 octets of the first packet are 3.968 ms.
        let sent = net.pass(net.around.now + Duration::from_millis(4));
        assert_eq!(sent.len(), 1);
        assert_eq!(net.drops(), [(Drop::GgsnContextGone, 4)]);
        assert_eq!(net.waiting(heading), 0);
        let volume = |net: &Net, n| {
            let context = net.ggsn.context(imsi(n), Nsapi(5)).unwrap();
            (context.downlink.t_pdus, context.uplink.t_pdus)
        };
        let expected = if heading == Heading::Downlink { (1, 0) } else { (0, 1) };
        assert_eq!(volume(&net, 2), expected);
    }
}

#[test]
fn a_change_while_packets_wait_loses_none() {
    for heading in Heading::ALL {
        let (mut net, [first, _]) = slow(heading);
        let mut numbers = 0_u16;
        let mut give = |net: &mut Net| {
            numbers += 1;
            match heading {
                Heading::Downlink => {
                    net.downlink(Peer::Slot(0), &datagram(HOST, address_of(&first), 5001, 500 + numbers))
                }
                Heading::Uplink => {
                    net.uplink(first.teid_data, &datagram(address_of(&first), HOST, 5001, 500 + numbers))
                }
            }
        };
        let mut sent = Vec::new();
        let changes: [fn(&mut Option<WayOutConfig>); 6] = [
            |way| way.as_mut().unwrap().streams.retain(|(number, _)| *number != 1),
            |way| *way = Some(super::shaping::way(30_000)),
            |way| way.as_mut().unwrap().line.as_mut().unwrap().rate.per_s = RATE / 2,
            |way| way.as_mut().unwrap().streams[0].1.service = Service::NetworkControl,
            |way| way.as_mut().unwrap().line = None,
            |way| *way = None,
        ];
        for change in changes {
            (0..4).for_each(|_| sent.extend(give(&mut net)));
            let mut config = net.ggsn.config().clone();
            config.apns[0] = net.ggsn.access_points().next().unwrap().config().clone();
            change(config.apns[0].ways.get_mut(heading));
            net.ggsn.reconfigure(&mut net.around.context(), &config);
            sent.extend(net.pass(net.around.now + Duration::from_millis(1)));
        }
        // What changed took nobody's input: the driver asks for output.
        sent.extend(net.uplink(first.teid_data, &datagram(address_of(&first), HOST, 1, 400)));
        sent.extend(net.pass(net.around.now + Duration::from_secs(1)));
        assert_eq!(net.drops(), []);
        let lengths = |(port, _, octets): &Sent| octets.len() - if *port == PORT_TUN { 0 } else { 12 };
        let mut all: Vec<usize> = sent.iter().map(lengths).filter(|octets| *octets > 400).collect();
        all.sort_unstable();
        assert_eq!(all, (501..=524).collect::<Vec<_>>(), "{heading:?}");
        assert!(net.ggsn.way_out(0, heading).is_none());
    }
}

#[test]
fn rules_know_access_points_and_groups_of_subscribers() {
    let (mut net, [first, second]) = slow(Heading::Downlink);
    let mut config = net.ggsn.config().clone();
    let rule = |rule: Rule| {
        let mut rules = RuleBase::default();
        rules.set(5, rule);
        rules
    };
    let mut stream_of = |net: &mut Net, of: &Created, rules: RuleBase| {
        config.streams.rules = rules;
        net.ggsn.reconfigure(&mut net.around.context(), &config);
        let mut sent = net.downlink(Peer::Slot(0), &datagram(HOST, address_of(of), 9, 100));
        sent.extend(net.pass(net.around.now + Duration::from_secs(1)));
        let served = |stream: u32| net.stream(Heading::Downlink, stream).served_pdus;
        (sent.first().map(|(_, _, octets)| octets[13] >> 2), served(1), served(2))
    };
    let to_1 = Rule { mark: Some(46), ..Rule::any(Outcome::Stream(1)) };
    let of_group = || rule(Rule { group: Some(0), ..to_1.clone() });
    assert_eq!(stream_of(&mut net, &first, of_group()), (Some(0), 0, 0));
    assert_eq!(stream_of(&mut net, &second, of_group()), (Some(46), 1, 0));
    let of_apn =
        |access_point| rule(Rule { access_point: Some(access_point), ..Rule::any(Outcome::Stream(2)) });
    assert_eq!(stream_of(&mut net, &first, of_apn(0)), (Some(0), 1, 1));
    assert_eq!(stream_of(&mut net, &first, of_apn(1)), (Some(0), 1, 1));
    let from = |ingress| rule(Rule { ingress: Some(u32::from(ingress)), ..Rule::any(Outcome::Drop) });
    assert_eq!(stream_of(&mut net, &first, from(INGRESS_GN)).0, Some(0));
    assert_eq!(stream_of(&mut net, &first, from(INGRESS_GI)).0, None);
    assert_eq!(net.drops(), [(Drop::EdgeRefused, 1)]);
    assert_eq!(net.ggsn.paths_of_flows().slow, 6);
}

#[test]
fn expedited_packets_pass_and_their_g_pdus_are_numbered_as_they_leave() {
    let (mut net, [first, _]) = slow(Heading::Downlink);
    let mut config = net.ggsn.config().clone();
    let voice = StreamConfig { service: Service::Expedited, rate: RATE / 10, burst: 1500 };
    config.apns[0].ways.downlink.as_mut().unwrap().streams[0].1 = voice;
    net.ggsn.reconfigure(&mut net.around.context(), &config);
    let mut sent = Vec::new();
    for port in [9, 9, 9, 5001] {
        sent.extend(net.downlink(Peer::Slot(0), &datagram(HOST, address_of(&first), port, 500)));
    }
    sent.extend(net.pass(net.around.now + Duration::from_secs(1)));
    let of = |at: usize| -> Vec<u16> {
        sent.iter().map(|(.., octets)| u16::from_be_bytes([octets[at], octets[at + 1]])).collect()
    };
    assert_eq!(of(12 + 22), [9, 5001, 9, 9]);
    let numbers = of(8);
    assert!(numbers.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(1)), "{numbers:?}");
}

#[test]
fn packets_with_queues_are_for_the_node_and_not_for_the_driver() {
    let rules = |downlink, uplink| {
        let mut net = Net::new(|config| {
            config.apns[0].ways.downlink = downlink;
            config.apns[0].ways.uplink = uplink;
        });
        net.ggsn.forward_at_driver(vec![true, true]);
        net.create(create_request(1, "internet")).unwrap();
        net.rules
            .iter()
            .map(|change| match change {
                ForwardChange::Install(rule) => rule.takes_downlink,
                other => panic!("{other:?}"),
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(rules(None, None), [true]);
    assert_eq!(rules(Some(way(20_000)), None), [false]);
    assert_eq!(rules(None, Some(way(20_000))), []);
}

#[test]
fn queues_that_cannot_be_are_refused() {
    let mut config = GgsnConfig::new(GGSN, vec![apn("internet", 0, 24)]);
    let mut wrong = way(20_000);
    wrong.streams[0].1.rate = RATE * 2;
    config.apns[0].ways.downlink = Some(wrong);
    let said = Ggsn::new(config.clone()).unwrap_err().to_string();
    assert!(said.starts_with("qos internet: stream 1: "), "{said}");
    config.apns[0].ways.downlink = None;
    config.streams.groups = vec![Vec::new(); 33];
    assert!(Ggsn::new(config).unwrap_err().to_string().contains("33 groups"));
}
