//! The nodes over a radio with RLC/MAC: attach, contexts and N-PDUs both ways.

use crate::world::{Air, MOBILES, World, packet};
use core::net::Ipv4Addr;
use gannet_machine::Peer;
use gannet_node::bss::radio::{Radio, RlcMacConfig, RlcMacRadio};
use gannet_node::ggsn::PORT_TUN;
use gannet_node::ms::{MsCommand, MsEvent};
use gannet_proto::rlcmac::config::NetworkConfig;
use gannet_wire::l3::ie::DrxParameter;
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
fn a_mobile_in_standby_is_paged_in_its_group_and_answers() {
    let mut world = World::over(Air::um(radio()), |mobiles| {
        // DRX with a non-DRX timer of 1 s.
        mobiles.gmm.drx = DrxParameter { split_pg_cycle: 10, non_drx_timer: 1, ..DrxParameter::default() };
    });
    world.pass(20);
    let addresses = world.activate_all();
    assert!(world.exchange(0, addresses[0], 84));
    // T3314 ends: the SGSN knows the routing area and not the cell.
    world.pass(60);
    let host = Ipv4Addr::new(198, 51, 100, 1);
    for (mobile, address) in (0..MOBILES).zip(&addresses).take(3) {
        let down = packet(host, *address, 84);
        world.ggsn.datagram(PORT_TUN, Peer::Slot(0), &down);
        world.pass(4);
        assert_eq!(core::mem::take(&mut world.from_ms), [(mobile, down)]);
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
