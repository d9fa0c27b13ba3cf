//! Solicitations and advertisements of routers and neighbours: what is written is read, and nothing that comes makes the parser panic.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

use gannet_wire::ndp::{
    NameServers, NeighbourAdvertisement, NeighbourSolicitation, PrefixInformation, RouterAdvertisement,
    RouterSolicitation, is_router_message, solicited_node,
};
use proptest::prelude::*;
use std::net::Ipv6Addr;

fn address() -> impl Strategy<Value = Ipv6Addr> {
    any::<u128>().prop_map(Ipv6Addr::from_bits)
}

fn link_local() -> impl Strategy<Value = Ipv6Addr> {
    any::<u64>().prop_map(|low| Ipv6Addr::from_bits(0xfe80 << 112 | u128::from(low)))
}

prop_compose! {
    fn prefix()(
        prefix in address(),
        length in 0..=128_u8,
        (on_link, autonomous) in any::<(bool, bool)>(),
        (valid_s, preferred_s) in any::<(u32, u32)>(),
    ) -> PrefixInformation {
        PrefixInformation { prefix, length, on_link, autonomous, valid_s, preferred_s }
    }
}

prop_compose! {
    fn name_servers()(
        lifetime_s in any::<u32>(),
        addresses in proptest::collection::vec(address(), 1..5),
    ) -> NameServers {
        NameServers { lifetime_s, addresses }
    }
}

prop_compose! {
    fn advertisement()(
        source in link_local(),
        destination in address(),
        (hop_limit, lifetime_s) in any::<(u8, u16)>(),
        mtu in any::<Option<u32>>(),
        prefixes in proptest::collection::vec(prefix(), 0..5),
        dns in proptest::option::of(name_servers()),
    ) -> RouterAdvertisement {
        RouterAdvertisement { source, destination, hop_limit, lifetime_s, mtu, prefixes, dns }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(told in advertisement(), source in address(), destination in address()) {
        let octets = told.to_vec();
        prop_assert!(is_router_message(&octets));
        prop_assert_eq!(RouterAdvertisement::parse(&octets), Ok(told));
        let asks = RouterSolicitation { source, destination };
        prop_assert_eq!(RouterSolicitation::parse(&asks.to_vec()), Ok(asks));
    }

    #[test]
    fn neighbours_are_read_as_they_were_written(
        source in link_local(),
        target in link_local(),
        (router, solicited, overrides) in any::<(bool, bool, bool)>(),
    ) {
        for (source, destination) in [(source, target), (Ipv6Addr::UNSPECIFIED, solicited_node(target))] {
            let asks = NeighbourSolicitation { source, destination, target };
            prop_assert_eq!(NeighbourSolicitation::parse(&asks.to_vec()), Ok(asks));
        }
        let destination = source;
        let says = NeighbourAdvertisement { source: target, destination, target, router, solicited, overrides };
        prop_assert_eq!(NeighbourAdvertisement::parse(&says.to_vec()), Ok(says));
    }

    #[test]
    fn a_changed_octet_of_the_message_is_noticed(told in advertisement(), at in 8_usize..56, change in 1..=255_u8) {
        let mut octets = told.to_vec();
        octets[at] ^= change;
        prop_assert!(RouterAdvertisement::parse(&octets).is_err());
    }

    #[test]
    fn no_octets_make_it_panic(octets in proptest::collection::vec(any::<u8>(), 0..200), cut in 0_usize..200) {
        let _ = RouterSolicitation::parse(&octets);
        let _ = RouterAdvertisement::parse(&octets);
        let _ = NeighbourSolicitation::parse(&octets);
        let _ = NeighbourAdvertisement::parse(&octets);
        let whole = [&[0x60, 0, 0, 0, 0, 40, 58, 255][..], &octets].concat();
        let _ = is_router_message(&whole[..cut.min(whole.len())]);
        let _ = RouterAdvertisement::parse(&whole[..cut.min(whole.len())]);
    }
}
