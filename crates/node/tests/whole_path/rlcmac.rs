//! The nodes over a radio with RLC/MAC: attach, contexts and N-PDUs both ways.

use crate::world::{Air, MOBILES, World};
use gannet_node::bss::radio::{Radio, RlcMacConfig, RlcMacRadio};
use gannet_node::ms::{MsCommand, MsEvent};
use gannet_proto::rlcmac::config::NetworkConfig;
use gannet_wire::rlcmac::coding::CodingScheme;

/// Timeslots 4 to 7.
const PDCHS: u8 = 0b1111_0000;

fn radio() -> Option<Box<dyn Radio>> {
    let network = NetworkConfig::new(PDCHS, CodingScheme::Cs2);
    Some(Box::new(RlcMacRadio::new(RlcMacConfig::new(network), [50_000; 3], MOBILES)))
}

#[test]
fn mobiles_attach_and_their_packets_pass() {
    let mut world = World::over(Air::um(radio()), |_| ());
    world.pass(20);
    let addresses = world.activate_all();
    for (mobile, address) in (0..MOBILES).zip(&addresses) {
        assert!(world.exchange(mobile, *address, 84), "mobile {mobile}");
        assert!(world.exchange(mobile, *address, 1500), "mobile {mobile}");
    }
    world.assert_no_drops();
}

#[test]
fn a_mobile_that_reselects_or_is_suspended_goes_on() {
    let mut world = World::over(Air::um(radio()), |_| ());
    world.pass(20);
    let addresses = world.activate_all();
    world.order(MsCommand::ChangeCell { mobile: 0, cell: 2 });
    world.pass(5);
    assert!(world.events.iter().any(|event| matches!(event, MsEvent::Updated { mobile: 0, .. })));
    assert!(world.exchange(0, addresses[0], 1400), "another cell");
    world.order(MsCommand::Suspend { mobile: 1 });
    world.pass(3);
    world.order(MsCommand::Resume { mobile: 1 });
    world.pass(3);
    assert!(world.exchange(1, addresses[1], 1400), "suspended and resumed");
    world.assert_no_drops();
}
