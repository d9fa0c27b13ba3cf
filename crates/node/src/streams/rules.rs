//! The rule base: which stream a packet belongs to, first match in the order of the rules' numbers.

use super::header::Flow;
use super::rule_index::RuleIndex;
use core::ops::RangeInclusive;
use gannet_proto::flow_rule::{self, Outcome};
use std::collections::BTreeMap;

/// A rule of a node. Interfaces, access points and streams are numbers, and a group is its place in
/// [`Subscriber::groups`](super::Subscriber::groups).
pub type Rule = flow_rule::Rule<u32>;

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// The stream that it belongs to; `None` where it is dropped.
    pub stream: Option<u32>,
    /// The code point that it gets.
    pub mark: Option<u8>,
}

impl Verdict {
    /// Of a packet that no rule knows: best effort, as it came.
    pub const DEFAULT: Self = Self { stream: Some(super::BEST_EFFORT), mark: None };

    /// Of a packet for which a rule holds.
    #[must_use]
    pub const fn of(rule: &Rule) -> Self {
        let stream = match rule.outcome {
            Outcome::Stream(stream) => Some(stream),
            Outcome::BestEffort => Some(super::BEST_EFFORT),
            Outcome::Drop => None,
        };
        Self { stream, mark: rule.mark }
    }
}

/// A rule holds for a packet.
fn holds(rule: &Rule, flow: &Flow) -> bool {
    let port = |range: &Option<RangeInclusive<u16>>, own: Option<u16>| {
        range.as_ref().is_none_or(|range| own.is_some_and(|own| range.contains(&own)))
    };
    let subscriber = flow.subscriber;
    rule.ingress.is_none_or(|ingress| ingress == u32::from(flow.ingress))
        && rule.access_point.is_none_or(|own| subscriber.is_some_and(|of| u32::from(of.access_point) == own))
        && rule.group.is_none_or(|group| subscriber.is_some_and(|of| of.is_in(group)))
        && rule.protocol.is_none_or(|protocol| protocol == flow.protocol)
        && rule.dscp.is_none_or(|dscp| dscp == flow.dscp)
        && rule.source.is_none_or(|prefix| prefix.contains(flow.source))
        && rule.destination.is_none_or(|prefix| prefix.contains(flow.destination))
        && port(&rule.source_ports, flow.ports.map(|(source, _)| source))
        && port(&rule.destination_ports, flow.ports.map(|(_, destination)| destination))
}

/// Rules by their numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleBase {
    rules: BTreeMap<u32, Rule>,
    index: RuleIndex,
}

impl RuleBase {
    /// Puts a rule at its number, in the place of the one that was there.
    pub fn set(&mut self, number: u32, rule: Rule) {
        self.remove(number);
        self.index.insert(number, &rule);
        self.rules.insert(number, rule);
    }

    /// Takes the rule at a number away.
    pub fn remove(&mut self, number: u32) {
        if let Some(rule) = self.rules.remove(&number) {
            self.index.remove(number, &rule);
        }
    }

    /// Keeps only the rules for which `keep` is true, and lets it change them.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&mut Rule) -> bool) {
        self.rules.retain(|_, rule| keep(rule));
        self.index = RuleIndex::default();
        self.rules.iter().for_each(|(number, rule)| self.index.insert(*number, rule));
    }

    /// All, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Rule)> {
        self.rules.iter().map(|(number, rule)| (*number, rule))
    }

    /// The slow path. It asks the rules that the packet's addresses and ports permit, and those that name neither a prefix nor a
    /// single port: O(rules) where all are such.
    #[must_use]
    pub fn verdict(&self, flow: &Flow) -> Verdict {
        let mut found: Option<(u32, &Rule)> = None;
        for list in self.index.lists(flow) {
            let ahead = |number: &&u32| found.is_none_or(|(first, _)| **number < first);
            let rules = list.iter().take_while(ahead).filter_map(|number| self.rules.get_key_value(number));
            let first = rules.map(|(number, rule)| (*number, rule)).find(|(_, rule)| holds(rule, flow));
            found = first.or(found);
        }
        found.map_or(Verdict::DEFAULT, |(_, rule)| Verdict::of(rule))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streams::Subscriber;
    use gannet_proto::flow_rule::Prefix;

    fn flow() -> Flow {
        Flow {
            ingress: 1,
            subscriber: Some(Subscriber { access_point: 3, groups: 0b10 }),
            source: "192.0.2.1".parse().unwrap(),
            destination: "2001:db8::5".parse().unwrap(),
            protocol: 17,
            ports: Some((1000, 53)),
            dscp: 46,
        }
    }

    fn prefix(text: &str, bits: u8) -> Option<Prefix> {
        Some(Prefix { address: text.parse().unwrap(), bits })
    }

    #[test]
    fn each_condition_has_to_hold() {
        let any = Rule::any(Outcome::BestEffort);
        assert!(holds(&any, &flow()));
        let right = [
            Rule { ingress: Some(1), ..any.clone() },
            Rule { access_point: Some(3), ..any.clone() },
            Rule { group: Some(1), ..any.clone() },
            Rule { source: prefix("192.0.2.0", 24), ..any.clone() },
            Rule { source: prefix("0.0.0.0", 0), ..any.clone() },
            Rule { source: prefix("192.0.2.1", 32), ..any.clone() },
            Rule { destination: prefix("2001:db8::", 32), ..any.clone() },
            Rule { destination: prefix("2001:db8::5", 128), ..any.clone() },
            Rule { protocol: Some(17), ..any.clone() },
            Rule { source_ports: Some(1000..=1000), ..any.clone() },
            Rule { destination_ports: Some(50..=60), ..any.clone() },
            Rule { dscp: Some(46), ..any.clone() },
        ];
        let wrong = [
            Rule { ingress: Some(2), ..any.clone() },
            Rule { access_point: Some(0), ..any.clone() },
            Rule { group: Some(0), ..any.clone() },
            Rule { group: Some(32), ..any.clone() },
            Rule { source: prefix("192.0.3.0", 24), ..any.clone() },
            Rule { source: prefix("::", 0), ..any.clone() },
            Rule { destination: prefix("2001:db9::", 32), ..any.clone() },
            Rule { destination: prefix("0.0.0.0", 0), ..any.clone() },
            Rule { protocol: Some(6), ..any.clone() },
            Rule { source_ports: Some(0..=999), ..any.clone() },
            Rule { destination_ports: Some(54..=60), ..any.clone() },
            Rule { dscp: Some(0), ..any.clone() },
        ];
        assert!(right.iter().all(|rule| holds(rule, &flow())), "{right:?}");
        assert!(!wrong.iter().any(|rule| holds(rule, &flow())), "{wrong:?}");
        let without = Flow { ports: None, subscriber: None, ..flow() };
        assert!(!holds(&Rule { source_ports: Some(0..=u16::MAX), ..any.clone() }, &without));
        assert!(!holds(&Rule { access_point: Some(3), ..any.clone() }, &without));
        assert!(!holds(&Rule { group: Some(1), ..any }, &without));
    }

    #[test]
    fn the_first_that_holds_counts() {
        let to = |stream| Verdict { stream: Some(stream), mark: None };
        let mut rules = RuleBase::default();
        assert_eq!(rules.verdict(&flow()), Verdict::DEFAULT);
        rules.set(20, Rule::any(Outcome::Stream(2)));
        rules.set(10, Rule { protocol: Some(17), ..Rule::any(Outcome::Stream(1)) });
        assert_eq!(rules.verdict(&flow()), to(1));
        assert_eq!(rules.verdict(&Flow { protocol: 6, ..flow() }), to(2));
        rules.remove(10);
        assert_eq!(rules.verdict(&flow()), to(2));
        assert_eq!(rules.iter().map(|(number, _)| number).collect::<Vec<_>>(), [20]);
    }
}
