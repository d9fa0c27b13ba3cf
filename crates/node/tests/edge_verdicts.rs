//! The fast path decides what the slow path would, while rules change and flows put each other out.

#![allow(clippy::unwrap_used, reason = "test code fails by panicking")]

use core::net::{IpAddr, Ipv4Addr};
use gannet_node::streams::{Classifier, Flow, Found, Rule, RuleBase, Subscriber, Verdict};
use gannet_proto::flow_rule::{Outcome, Prefix};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Step {
    Packet(Flow),
    Set(u32, Rule),
    Remove(u32),
    Replace(Vec<(u32, Rule)>),
    ForgetAll,
}

/// Few values of each field, so that rules hold and flows come again.
fn flows() -> impl Strategy<Value = Flow> {
    let address = (0_u32..6).prop_map(|host| IpAddr::from(Ipv4Addr::from_bits(0xc000_0200 + host)));
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
    let prefix = (0_u32..6, 28_u8..=32).prop_map(|(host, bits)| Prefix {
        address: IpAddr::from(Ipv4Addr::from_bits(0xc000_0200 + host)),
        bits,
    });
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
        let mut reference = RuleBase::default();
        let mut classifier = Classifier::new(RuleBase::default(), room, seed);
        let mut packets = 0;
        for step in steps {
            match step {
                Step::Packet(flow) => {
                    packets += 1;
                    let verdict = match classifier.find(&flow) {
                        Found::Fast(verdict) => verdict,
                        Found::Slow(verdict) => {
                            classifier.remember(&flow, verdict);
                            // What was just remembered is there.
                            prop_assert_eq!(classifier.find(&flow), Found::Fast(verdict));
                            packets += 1;
                            verdict
                        }
                    };
                    prop_assert_eq!(verdict, reference.verdict(&flow));
                }
                Step::Set(number, rule) => {
                    reference.set(number, rule.clone());
                    classifier.set_rule(number, Some(rule));
                }
                Step::Remove(number) => {
                    reference.remove(number);
                    classifier.set_rule(number, None);
                }
                Step::Replace(rules) => {
                    reference = RuleBase::default();
                    rules.iter().for_each(|(number, rule)| reference.set(*number, rule.clone()));
                    classifier.set_rules(reference.clone());
                }
                Step::ForgetAll => classifier.forget_all(),
            }
        }
        let paths = classifier.paths();
        prop_assert_eq!(paths.fast + paths.slow, packets);
    }
}

#[test]
fn a_full_table_puts_the_older_flow_out() {
    let flow = |host: u32| Flow {
        ingress: 0,
        subscriber: None,
        source: IpAddr::from(Ipv4Addr::from_bits(host)),
        destination: IpAddr::from(Ipv4Addr::LOCALHOST),
        protocol: 17,
        ports: None,
        dscp: 0,
    };
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
