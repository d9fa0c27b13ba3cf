//! What is seen of the air.

use super::*;
use crate::bss::radio::RlcMacConfig;
use gannet_proto::rlcmac::config::NetworkConfig;
use gannet_proto::rlcmac::tap::{Interface, Kind, Scope, Tap};
use gannet_wire::rlcmac::coding::CodingScheme;

/// All that was seen, taken as the events say.
fn seen(world: &mut World) -> Vec<(u32, Interface, Kind, u16)> {
    let mut all = Vec::new();
    for event in core::mem::take(&mut world.events) {
        let Event::Seen(cell) = event else { continue };
        while let Some(sighting) = world.bss.tap_mut(cell).and_then(Tap::pop) {
            all.push((cell, sighting.interface, sighting.kind, sighting.arfcn));
        }
    }
    all
}

#[test]
fn the_air_is_seen_while_it_is_looked_at() {
    let network = NetworkConfig::new(0b1000_0000, CodingScheme::Cs1);
    let mut world = World::with(|config| config.rlcmac = Some(RlcMacConfig::new(network)));
    world.mobile_sends(5, UmKind::CampOn, 1, A, &[]);
    let exchange = |world: &mut World, until: u64| {
        // One after the other: a mobile with a downlink TBF needs no access.
        world.mobile_sends(5, UmKind::LlPdu, 1, A, &[0x43, 0, 0, 0, 0]);
        world.run_until(until - 2500);
        world.downlink(3, A, 20, 0xffff);
        world.run_until(until);
        seen(world)
    };
    assert_eq!(exchange(&mut world, 5000), [], "nobody looks");
    world.command(Command::Observe(Some(Scope::Both)));
    let both = exchange(&mut world, 10_000);
    for kind in [Kind::Rach, Kind::Agch, Kind::UplinkData, Kind::DownlinkData, Kind::DownlinkControl] {
        for interface in [Interface::Abis, Interface::Um] {
            // The second cell has the second carrier.
            assert!(both.contains(&(1, interface, kind, 2)), "{kind:?} on {}", interface.name());
        }
    }
    assert!(both.iter().all(|(cell, ..)| *cell == 1));
    world.command(Command::Observe(Some(Scope::Abis)));
    let abis = exchange(&mut world, 15_000);
    assert!(!abis.is_empty() && abis.iter().all(|(_, interface, ..)| *interface == Interface::Abis));
    world.command(Command::Observe(None));
    assert_eq!(exchange(&mut world, 20_000), []);
    assert_eq!((world.um.len(), world.unitdata.len()), (4, 4), "who looks changes nothing");
}

#[test]
fn an_emulated_radio_has_no_air() {
    let mut world = World::new();
    world.command(Command::Observe(Some(Scope::Both)));
    world.mobile_sends(5, UmKind::CampOn, 0, A, &[]);
    world.mobile_sends(5, UmKind::LlPdu, 0, A, &[0x43, 0, 0, 0, 0]);
    world.run_until(1000);
    assert_eq!(seen(&mut world), []);
    assert!(world.bss.rlcmac().is_none() && world.unitdata.len() == 1);
}
