//! Rules by the most telling field of each, so that a packet asks those alone which that field permits.
//!
//! A rule is listed under its destination prefix, its source prefix, its destination port or its source port: the one of these that
//! leaves the fewest packets. An address of IPv4 tells by its bits, one of IPv6 by half of them, and a single port as much as 16 bits.
//! Rules without any of these are listed together. A packet asks one list for each *kind* of key that there is: for each length of
//! prefix of either version of IP, and for each port.

use super::header::Flow;
use core::net::IpAddr;
use core::ops::RangeInclusive;
use foldhash::fast::FixedState;
use gannet_proto::flow_rule::{Prefix, Rule};
use std::collections::{BTreeMap, HashMap};

/// What a single port tells, in bits.
const PORT_BITS: u8 = 16;

/// A field by which rules are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Destination { is_ipv4: bool, bits: u8 },
    Source { is_ipv4: bool, bits: u8 },
    DestinationPort,
    SourcePort,
    Rest,
}

/// A field with its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Destination(Prefix),
    Source(Prefix),
    DestinationPort(u16),
    SourcePort(u16),
    Rest,
}

/// The numbers of the rules, by their keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct RuleIndex {
    /// Numbers in their order.
    lists: HashMap<Key, Vec<u32>, FixedState>,
    /// How many rules have a key of each kind.
    kinds: BTreeMap<Kind, usize>,
}

/// The bits that a prefix tells.
const fn told(prefix: &Prefix) -> u8 {
    if prefix.address.is_ipv4() { prefix.bits } else { prefix.bits / 2 }
}

fn single(range: Option<&RangeInclusive<u16>>) -> Option<u16> {
    range.filter(|range| range.start() == range.end()).map(|range| *range.start())
}

impl Key {
    fn of<N>(rule: &Rule<N>) -> Self {
        let prefix = |prefix: Option<Prefix>, key: fn(Prefix) -> Self| {
            let network = prefix.map(|prefix| prefix.network());
            network.map(|network| (told(&network), key(network)))
        };
        let port = |range: Option<&RangeInclusive<u16>>, key: fn(u16) -> Self| {
            single(range).map(|port| (PORT_BITS, key(port)))
        };
        let all = [
            port(rule.source_ports.as_ref(), Self::SourcePort),
            port(rule.destination_ports.as_ref(), Self::DestinationPort),
            prefix(rule.source, Self::Source),
            prefix(rule.destination, Self::Destination),
        ];
        let most = all.into_iter().flatten().filter(|(told, _)| *told > 0).max_by_key(|(told, _)| *told);
        most.map_or(Self::Rest, |(_, key)| key)
    }

    const fn kind(self) -> Kind {
        match self {
            Self::Destination(Prefix { address, bits }) => {
                Kind::Destination { is_ipv4: address.is_ipv4(), bits }
            }
            Self::Source(Prefix { address, bits }) => Kind::Source { is_ipv4: address.is_ipv4(), bits },
            Self::DestinationPort(_) => Kind::DestinationPort,
            Self::SourcePort(_) => Kind::SourcePort,
            Self::Rest => Kind::Rest,
        }
    }
}

impl Kind {
    /// The key of this kind under which rules for a packet are listed; `None` where none of them holds for it.
    fn key(self, flow: &Flow) -> Option<Key> {
        let network = |address: IpAddr, is_ipv4: bool, bits| {
            (address.is_ipv4() == is_ipv4).then(|| Prefix { address, bits }.network())
        };
        match self {
            Self::Destination { is_ipv4, bits } => {
                network(flow.destination, is_ipv4, bits).map(Key::Destination)
            }
            Self::Source { is_ipv4, bits } => network(flow.source, is_ipv4, bits).map(Key::Source),
            Self::DestinationPort => flow.ports.map(|(_, port)| Key::DestinationPort(port)),
            Self::SourcePort => flow.ports.map(|(port, _)| Key::SourcePort(port)),
            Self::Rest => Some(Key::Rest),
        }
    }
}

impl RuleIndex {
    /// Lists a rule whose number is free.
    pub(super) fn insert<N>(&mut self, number: u32, rule: &Rule<N>) {
        let key = Key::of(rule);
        let list = self.lists.entry(key).or_default();
        if let Err(at) = list.binary_search(&number) {
            list.insert(at, number);
            *self.kinds.entry(key.kind()).or_default() += 1;
        }
    }

    /// Takes the rule that was listed with this number away.
    pub(super) fn remove<N>(&mut self, number: u32, rule: &Rule<N>) {
        let key = Key::of(rule);
        let Some(list) = self.lists.get_mut(&key) else { return };
        let Ok(at) = list.binary_search(&number) else { return };
        list.remove(at);
        if list.is_empty() {
            self.lists.remove(&key);
        }
        if let Some(count) = self.kinds.get_mut(&key.kind()) {
            *count -= 1;
            if *count == 0 {
                self.kinds.remove(&key.kind());
            }
        }
    }

    /// Lists that have, together, each rule that may hold for a packet. The numbers of each are in their order.
    pub(super) fn lists(&self, flow: &Flow) -> impl Iterator<Item = &[u32]> {
        let keys = self.kinds.keys().filter_map(|kind| kind.key(flow));
        keys.filter_map(|key| self.lists.get(&key).map(Vec::as_slice))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_proto::flow_rule::Outcome;

    fn prefix(text: &str) -> Option<Prefix> {
        Some(text.parse().unwrap())
    }

    fn any() -> Rule<u32> {
        Rule::any(Outcome::BestEffort)
    }

    #[test]
    fn the_field_that_tells_most_is_the_key() {
        let of = |text: &str| prefix(text).unwrap();
        for (rule, key) in [
            (any(), Key::Rest),
            (Rule { destination: prefix("0.0.0.0/0"), ..any() }, Key::Rest),
            (Rule { source_ports: Some(0..=9), protocol: Some(17), ..any() }, Key::Rest),
            (
                Rule { destination: prefix("192.0.2.9/24"), source: prefix("192.0.2.0/24"), ..any() },
                Key::Destination(of("192.0.2.0/24")),
            ),
            (
                Rule { destination: prefix("10.0.0.0/8"), source_ports: Some(53..=53), ..any() },
                Key::SourcePort(53),
            ),
            (
                Rule { destination: prefix("2001:db8::/32"), source: prefix("192.0.2.1/32"), ..any() },
                Key::Source(of("192.0.2.1/32")),
            ),
            (
                Rule { source_ports: Some(1..=1), destination_ports: Some(2..=2), ..any() },
                Key::DestinationPort(2),
            ),
            (
                Rule { destination: prefix("2001:db8::/32"), destination_ports: Some(2..=2), ..any() },
                Key::Destination(of("2001:db8::/32")),
            ),
        ] {
            assert_eq!(Key::of(&rule), key, "{rule:?}");
        }
    }

    /// What the index is for: a packet asks few of many rules.
    #[test]
    fn a_packet_asks_the_rules_of_its_own_destination() {
        let mut index = RuleIndex::default();
        let host = |number: u32| IpAddr::from((0xc612_0000 + number).to_be_bytes());
        let rule = |number| Rule { destination: Some(Prefix { address: host(number), bits: 32 }), ..any() };
        (0..10_000).for_each(|number| index.insert(number, &rule(number)));
        index.insert(20_000, &any());
        let flow = |destination| Flow {
            ingress: 0,
            subscriber: None,
            source: host(0),
            destination,
            protocol: 17,
            ports: Some((1, 2)),
            dscp: 0,
        };
        let lists = |index: &RuleIndex, number| index.lists(&flow(host(number))).flatten().copied().collect();
        let asked: Vec<u32> = lists(&index, 7777);
        assert_eq!(asked, [7777, 20_000]);
        (0..10_000).for_each(|number| index.remove(number, &rule(number)));
        index.remove(20_000, &any());
        assert_eq!(index, RuleIndex::default(), "nothing of them is left");
    }
}
