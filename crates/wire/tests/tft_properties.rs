//! Traffic flow templates: every one survives emission and parsing, operations keep the books, and no octets make the
//! parsers panic.

#![allow(clippy::unwrap_used, reason = "test code fails by panicking")]

use gannet_wire::l3::ie::{
    Component, FilterDirection, PacketFields, PacketFilter, Tft, TftOperation, TftParameter, TftRepr,
    TrafficFlowTemplate,
};
use proptest::collection::vec;
use proptest::prelude::*;

fn component() -> impl Strategy<Value = Component> {
    let v4 = || any::<u32>().prop_map(Into::into);
    let v6 = || any::<u128>().prop_map(Into::into);
    prop_oneof![
        (v4(), v4()).prop_map(|(address, mask)| Component::Ipv4Source { address, mask }),
        (v6(), v6()).prop_map(|(address, mask)| Component::Ipv6Source { address, mask }),
        (v6(), any::<u8>()).prop_map(|(address, length)| Component::Ipv6SourcePrefix { address, length }),
        any::<u8>().prop_map(Component::Protocol),
        any::<u16>().prop_map(Component::DestinationPort),
        any::<(u16, u16)>().prop_map(|(from, to)| Component::DestinationPorts(from, to)),
        any::<u16>().prop_map(Component::SourcePort),
        any::<(u16, u16)>().prop_map(|(from, to)| Component::SourcePorts(from, to)),
        any::<u32>().prop_map(Component::SecurityParameterIndex),
        any::<(u8, u8)>().prop_map(|(value, mask)| Component::TypeOfService { value, mask }),
        (0_u32..1 << 20).prop_map(Component::FlowLabel),
    ]
}

fn filter() -> impl Strategy<Value = PacketFilter> {
    let direction = prop_oneof![
        Just(FilterDirection::Unsaid),
        Just(FilterDirection::Downlink),
        Just(FilterDirection::Uplink),
        Just(FilterDirection::Both),
    ];
    (0_u8..16, direction, any::<u8>(), vec(component(), 1..5)).prop_map(
        |(identifier, direction, precedence, components)| PacketFilter {
            identifier,
            direction,
            precedence,
            components,
        },
    )
}

fn operation() -> impl Strategy<Value = TftOperation> {
    prop_oneof![
        3 => vec(filter(), 1..6).prop_map(TftOperation::Create),
        1 => Just(TftOperation::Delete),
        2 => vec(filter(), 1..6).prop_map(TftOperation::Add),
        2 => vec(filter(), 1..6).prop_map(TftOperation::Replace),
        2 => vec(0_u8..16, 1..6).prop_map(TftOperation::DeleteFilters),
        1 => Just(TftOperation::Nothing),
    ]
}

fn repr() -> impl Strategy<Value = TftRepr> {
    let parameter = (any::<u8>(), vec(any::<u8>(), 0..9))
        .prop_map(|(identifier, content)| TftParameter { identifier, content });
    (operation(), vec(parameter, 0..3)).prop_map(|(operation, parameters)| TftRepr { operation, parameters })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn there_and_back(repr in repr()) {
        prop_assert_eq!(TftRepr::parse(&repr.to_element().0), Ok(repr));
    }

    #[test]
    fn any_octets(octets in vec(any::<u8>(), 0..80), head in 0_u8..=255, packet in vec(any::<u8>(), 0..80)) {
        let octets = [&[head][..], &octets].concat();
        if let Ok(repr) = TrafficFlowTemplate(octets).read()
            && let Some(fields) = PacketFields::of(&packet)
        {
            let _ = repr.filters().iter().any(|filter| filter.matches(&fields));
        }
        let _ = PacketFields::of_uplink(&packet);
    }

    #[test]
    fn a_template_has_each_identifier_and_precedence_once(operations in vec(operation(), 0..12)) {
        let mut held: Option<Tft> = None;
        for operation in operations {
            let change = TftRepr::new(operation);
            match Tft::apply(held.as_ref(), &change) {
                Ok(next) => held = next,
                Err(error) => prop_assert!((41..=45).contains(&error.fault.cause().code())),
            }
            let Some(tft) = &held else { continue };
            prop_assert!(!tft.filters().is_empty() && tft.filters().len() <= 15);
            let ordered = tft.filters().windows(2).all(|two| match two {
                [one, other] => one.precedence < other.precedence,
                _ => false,
            });
            prop_assert!(ordered);
            let mut identifiers: Vec<u8> = tft.filters().iter().map(|filter| filter.identifier).collect();
            identifiers.sort_unstable();
            identifiers.dedup();
            prop_assert_eq!(identifiers.len(), tft.filters().len());
        }
    }
}
