//! The rules decide as asking one after the other would, and the fast path decides what they would, while rules change and flows put each
//! other out.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::ops::RangeInclusive;
use gannet_node::streams::{BEST_EFFORT, Classifier, Flow, Found, Rule, RuleBase, Subscriber, Verdict};
use gannet_proto::flow_rule::{Outcome, Prefix};
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Debug, Clone)]
enum Step {
    Packet(Flow),
    Set(u32, Rule),
    Remove(u32),
    Replace(Vec<(u32, Rule)>),
    ForgetAll,
}

/// The rules of a node that asks each of them.
type Reference = BTreeMap<u32, Rule>;

/// An address is in a prefix: each of its first bits is the same.
fn is_in(address: IpAddr, prefix: &Prefix) -> bool {
    let octets = |address: IpAddr| match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let bit = |octets: &[u8], at: usize| octets[at / 8] >> (7 - at % 8) & 1;
    let (own, other) = (octets(prefix.address), octets(address));
    own.len() == other.len() && (0..usize::from(prefix.bits)).all(|at| bit(&own, at) == bit(&other, at))
}

fn holds(rule: &Rule, flow: &Flow) -> bool {
    fn is<T: PartialEq>(wanted: Option<T>, own: Option<T>) -> bool {
        wanted.is_none() || wanted == own
    }
    let within = |range: &Option<RangeInclusive<u16>>, port: Option<u16>| match (range, port) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(range), Some(port)) => *range.start() <= port && port <= *range.end(),
    };
    let of = flow.subscriber;
    is(rule.ingress, Some(flow.ingress.into()))
        && is(rule.access_point, of.map(|of| of.access_point.into()))
        && rule.group.is_none_or(|group| of.is_some_and(|of| of.groups & 1 << group != 0))
        && is(rule.protocol, Some(flow.protocol))
        && is(rule.dscp, Some(flow.dscp))
        && rule.source.is_none_or(|prefix| is_in(flow.source, &prefix))
        && rule.destination.is_none_or(|prefix| is_in(flow.destination, &prefix))
        && within(&rule.source_ports, flow.ports.map(|ports| ports.0))
        && within(&rule.destination_ports, flow.ports.map(|ports| ports.1))
}

fn verdict(rules: &Reference, flow: &Flow) -> Verdict {
    let Some(rule) = rules.values().find(|rule| holds(rule, flow)) else { return Verdict::DEFAULT };
    let stream = match rule.outcome {
        Outcome::Stream(stream) => Some(stream),
        Outcome::BestEffort => Some(BEST_EFFORT),
        Outcome::Drop => None,
    };
    Verdict { stream, mark: rule.mark }
}

fn ipv4(host: u32) -> IpAddr {
    Ipv4Addr::from_bits(0xc000_0200 + host).into()
}

fn ipv6(host: u128) -> IpAddr {
    Ipv6Addr::from_bits(0x2001_0db8 << 96 | host).into()
}

/// Few values of each field, so that rules hold and flows come again.
fn flows() -> impl Strategy<Value = Flow> {
    let address = prop_oneof![4 => (0_u32..6).prop_map(ipv4), 1 => (0_u128..3).prop_map(ipv6)];
    let ports = prop::option::of((0_u16..3, 0_u16..3));
    let subscriber = prop::option::of((0_u16..2, 0_u32..4))
        .prop_map(|of| of.map(|(access_point, groups)| Subscriber { access_point, groups }));
    (0_u16..2, subscriber, address.clone(), address, 0_u8..2, ports, 0_u8..2).prop_map(
        |(ingress, subscriber, source, destination, protocol, ports, dscp)| Flow {
            ingress,
            subscriber,
            source,
            destination,
            protocol,
            ports,
            dscp,
        },
    )
}

fn rules() -> impl Strategy<Value = Rule> {
    let short = prop_oneof![8 => 28_u8..=32, 1 => Just(0), 1 => Just(8)];
    let long = prop_oneof![8 => 124_u8..=128, 1 => Just(0), 1 => Just(32)];
    let prefix = prop_oneof![
        4 => (0_u32..6, short).prop_map(|(host, bits)| Prefix { address: ipv4(host), bits }),
        1 => (0_u128..3, long).prop_map(|(host, bits)| Prefix { address: ipv6(host), bits }),
    ];
    let ports = prop::option::weighted(0.3, (0_u16..3, 0_u16..3).prop_map(|(from, to)| from..=to));
    let outcome = prop_oneof![
        6 => (0_u32..4).prop_map(Outcome::Stream),
        1 => Just(Outcome::BestEffort),
        1 => Just(Outcome::Drop),
    ];
    let condition = || prop::option::weighted(0.3, 0_u32..2);
    (
        (condition(), condition(), condition()),
        prop::option::weighted(0.5, prefix.clone()),
        prop::option::weighted(0.5, prefix),
        prop::option::weighted(0.3, 0_u8..2),
        (ports.clone(), ports),
        prop::option::weighted(0.3, 0_u8..2),
        (outcome, prop::option::of(0_u8..64)),
    )
        .prop_map(|(of, source, destination, protocol, ports, dscp, (outcome, mark))| Rule {
            ingress: of.0,
            access_point: of.1,
            group: of.2,
            source,
            destination,
            protocol,
            source_ports: ports.0,
            destination_ports: ports.1,
            dscp,
            outcome,
            mark,
        })
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => flows().prop_map(Step::Packet),
        2 => (0_u32..8, rules()).prop_map(|(number, rule)| Step::Set(number, rule)),
        1 => (0_u32..8).prop_map(Step::Remove),
        1 => prop::collection::vec((0_u32..8, rules()), 0..6).prop_map(Step::Replace),
        1 => Just(Step::ForgetAll),
    ]
}

proptest! {
    #[test]
    fn the_fast_path_decides_as_the_rules_do(
        steps in prop::collection::vec(steps(), 1..300),
        room in 1_usize..40,
        seed in any::<u64>(),
    ) {
        let mut reference = Reference::new();
        let mut classifier = Classifier::new(RuleBase::default(), room, seed);
        let mut packets = 0;
        for step in steps {
            match step {
                Step::Packet(flow) => {
                    packets += 1;
                    let decided = match classifier.find(&flow) {
                        Found::Fast(decided) => decided,
                        Found::Slow(decided) => {
                            classifier.remember(&flow, decided);
                            // What was just remembered is there.
                            prop_assert_eq!(classifier.find(&flow), Found::Fast(decided));
                            packets += 1;
                            decided
                        }
                    };
                    prop_assert_eq!(decided, verdict(&reference, &flow));
                }
                Step::Set(number, rule) => {
                    reference.insert(number, rule.clone());
                    classifier.set_rule(number, Some(rule));
                }
                Step::Remove(number) => {
                    reference.remove(&number);
                    classifier.set_rule(number, None);
                }
                Step::Replace(rules) => {
                    let mut base = RuleBase::default();
                    rules.iter().for_each(|(number, rule)| base.set(*number, rule.clone()));
                    reference = rules.into_iter().collect();
                    classifier.set_rules(base);
                }
                Step::ForgetAll => classifier.forget_all(),
            }
        }
        let paths = classifier.paths();
        prop_assert_eq!(paths.fast + paths.slow, packets);
        let left = classifier.rules().iter().map(|(number, rule)| (number, rule.clone())).collect();
        prop_assert_eq!(reference, left);
    }
}

/// A flow of a host.
fn flow(host: u32) -> Flow {
    Flow {
        ingress: 0,
        subscriber: None,
        source: IpAddr::from(Ipv4Addr::from_bits(host)),
        destination: IpAddr::from(Ipv4Addr::LOCALHOST),
        protocol: 17,
        ports: None,
        dscp: 0,
    }
}

/// Sets have two places, so that a table with room for many more flows than come forgets some of them. With 10,000 in 65,536 places
/// a flow shares its set with two others or more with probability 1 − (1 + λ) · exp(−λ) = 3.8 %, λ = 10,000 / 32,768; these put each other
/// out where all flows come in turn.
#[test]
fn few_flows_of_a_large_table_share_a_set_with_two_others() {
    for (flows, least, most) in [(100, 0.0, 0.0), (1000, 0.0, 0.006), (10_000, 0.03, 0.046)] {
        let mut classifier = Classifier::new(RuleBase::default(), 65_536, 1);
        let mut slow = 0;
        for turn in 0..3 {
            slow = classifier.paths().slow;
            for host in 0..flows {
                if matches!(classifier.find(&flow(host)), Found::Slow(_)) {
                    classifier.remember(&flow(host), turn);
                }
            }
        }
        let part = f64::from(u32::try_from(classifier.paths().slow - slow).unwrap()) / f64::from(flows);
        assert!((least..=most).contains(&part), "{flows} flows: {part}");
    }
}

#[test]
fn a_full_table_puts_the_older_flow_out() {
    // One set of two.
    let mut classifier = Classifier::new(RuleBase::default(), 2, 9);
    (0..3).for_each(|host| classifier.remember(&flow(host), host));
    assert_eq!(classifier.find(&flow(0)), Found::Slow(Verdict::DEFAULT));
    assert_eq!(classifier.find(&flow(1)), Found::Fast(1));
    assert_eq!(classifier.find(&flow(2)), Found::Fast(2));
    assert_eq!(classifier.paths().evicted, 1);
    // What no longer holds puts nobody out.
    classifier.forget_all();
    (3..5).for_each(|host| classifier.remember(&flow(host), host));
    assert_eq!(classifier.paths().evicted, 1);
}
