//! The rule base: which stream a packet belongs to, first match in the order of the rules' numbers.

use super::header::Flow;
use core::net::IpAddr;
use core::ops::RangeInclusive;
use std::collections::BTreeMap;

/// A network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    /// Any address in it.
    pub address: IpAddr,
    /// Its bits, at most 32 or 128; more count as these.
    pub bits: u8,
}

impl Prefix {
    /// An address of the same version of IP is in it.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let bits = u32::from(self.bits);
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let mask = u32::MAX.checked_shl(32_u32.saturating_sub(bits)).unwrap_or(0);
                (own.to_bits() ^ other.to_bits()) & mask == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let mask = u128::MAX.checked_shl(128_u32.saturating_sub(bits)).unwrap_or(0);
                (own.to_bits() ^ other.to_bits()) & mask == 0
            }
            _ => false,
        }
    }
}

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
}

/// A rule. A condition that is absent holds for all; one of ports holds for no packet without ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The interface on which the packet arrived, by its index.
    pub ingress: Option<u16>,
    /// Where it comes from.
    pub source: Option<Prefix>,
    /// Where it goes.
    pub destination: Option<Prefix>,
    /// The protocol behind IP.
    pub protocol: Option<u8>,
    /// Its source port.
    pub source_ports: Option<RangeInclusive<u16>>,
    /// Its destination port.
    pub destination_ports: Option<RangeInclusive<u16>>,
    /// Its code point.
    pub dscp: Option<u8>,
    /// What becomes of the packet.
    pub verdict: Verdict,
}

impl Rule {
    /// A rule that holds for all packets.
    #[must_use]
    pub const fn any(verdict: Verdict) -> Self {
        Self {
            ingress: None,
            source: None,
            destination: None,
            protocol: None,
            source_ports: None,
            destination_ports: None,
            dscp: None,
            verdict,
        }
    }

    /// It holds for a packet.
    #[must_use]
    pub fn matches(&self, flow: &Flow) -> bool {
        let port = |range: &Option<RangeInclusive<u16>>, own: Option<u16>| {
            range.as_ref().is_none_or(|range| own.is_some_and(|own| range.contains(&own)))
        };
        self.ingress.is_none_or(|ingress| ingress == flow.ingress)
            && self.protocol.is_none_or(|protocol| protocol == flow.protocol)
            && self.dscp.is_none_or(|dscp| dscp == flow.dscp)
            && self.source.is_none_or(|prefix| prefix.contains(flow.source))
            && self.destination.is_none_or(|prefix| prefix.contains(flow.destination))
            && port(&self.source_ports, flow.ports.map(|(source, _)| source))
            && port(&self.destination_ports, flow.ports.map(|(_, destination)| destination))
    }
}

/// Rules by their numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleBase(BTreeMap<u32, Rule>);

impl RuleBase {
    /// Puts a rule at its number, in the place of the one that was there.
    pub fn set(&mut self, number: u32, rule: Rule) {
        self.0.insert(number, rule);
    }

    /// Takes the rule at a number away.
    pub fn remove(&mut self, number: u32) {
        self.0.remove(&number);
    }

    /// All, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Rule)> {
        self.0.iter().map(|(number, rule)| (*number, rule))
    }

    /// The slow path: asks each rule, and takes O(rules).
    #[must_use]
    pub fn verdict(&self, flow: &Flow) -> Verdict {
        self.0.values().find(|rule| rule.matches(flow)).map_or(Verdict::DEFAULT, |rule| rule.verdict)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow() -> Flow {
        Flow {
            ingress: 1,
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
        let any = Rule::any(Verdict::DEFAULT);
        assert!(any.matches(&flow()));
        let holds = [
            Rule { ingress: Some(1), ..any.clone() },
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
        let fails = [
            Rule { ingress: Some(2), ..any.clone() },
            Rule { source: prefix("192.0.3.0", 24), ..any.clone() },
            Rule { source: prefix("::", 0), ..any.clone() },
            Rule { destination: prefix("2001:db9::", 32), ..any.clone() },
            Rule { destination: prefix("0.0.0.0", 0), ..any.clone() },
            Rule { protocol: Some(6), ..any.clone() },
            Rule { source_ports: Some(0..=999), ..any.clone() },
            Rule { destination_ports: Some(54..=60), ..any.clone() },
            Rule { dscp: Some(0), ..any.clone() },
        ];
        assert!(holds.iter().all(|rule| rule.matches(&flow())), "{holds:?}");
        assert!(!fails.iter().any(|rule| rule.matches(&flow())), "{fails:?}");
        let without = Flow { ports: None, ..flow() };
        assert!(!Rule { source_ports: Some(0..=u16::MAX), ..any }.matches(&without));
    }

    #[test]
    fn the_first_that_holds_counts() {
        let to = |stream| Verdict { stream: Some(stream), mark: None };
        let mut rules = RuleBase::default();
        assert_eq!(rules.verdict(&flow()), Verdict::DEFAULT);
        rules.set(20, Rule::any(to(2)));
        rules.set(10, Rule { protocol: Some(17), ..Rule::any(to(1)) });
        assert_eq!(rules.verdict(&flow()), to(1));
        assert_eq!(rules.verdict(&Flow { protocol: 6, ..flow() }), to(2));
        rules.remove(10);
        assert_eq!(rules.verdict(&flow()), to(2));
        assert_eq!(rules.iter().map(|(number, _)| number).collect::<Vec<_>>(), [20]);
    }
}
