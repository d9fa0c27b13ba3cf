//! Mobiles, BSS, SGSN and GGSN in virtual time: the main job, with nothing between them but octets.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod adaptation;
mod air;
mod attacks;
mod bearer_change;
mod crowd;
mod radio_bearer;
mod rlcmac;
mod world;

use core::net::{Ipv4Addr, Ipv6Addr};
use gannet_machine::{Input, Peer};
use gannet_node::ggsn::{GgsnCommand, PORT_TUN};
use gannet_node::ms::{self, MsCommand, MsEvent};
use gannet_proto::gmm::ms::NonGprs;
use gannet_proto::sm::ms::{Change, WantedSecondary};
use gannet_wire::id::{Nsapi, Sapi};
use gannet_wire::l3::ie::{
    Component, DelayClass, FilterDirection, GmmCause, PacketFilter, PdpAddress, QosProfile, TftOperation,
    TftRepr, TrafficFlowTemplate,
};
use gannet_wire::ndp::RouterAdvertisement;
use world::{FRAMES, MOBILES, World, packet};

#[test]
fn ten_mobiles_attach_and_their_packets_pass() {
    let mut world = World::new();
    let addresses = world.activate_all();
    let shown: Vec<String> = world.ms.machine.views().map(|view| view.to_string()).collect();
    assert_eq!(shown.iter().filter(|view| view.contains("pdp-active")).count(), 10, "{shown:#?}");
    for (mobile, address) in (0..MOBILES).zip(&addresses) {
        assert!(world.exchange(mobile, *address, 84), "mobile {mobile}");
        assert!(world.exchange(mobile, *address, 1500), "mobile {mobile}");
    }
    world.assert_no_drops();
}

#[test]
fn packets_find_a_mobile_that_moved_or_sleeps() {
    let mut world = World::new();
    let addresses = world.activate_all();
    let mobile = 0;
    world.order(MsCommand::ChangeCell { mobile, cell: 1 });
    world.pass(2);
    assert!(world.exchange(mobile, addresses[0], 1400), "another cell");
    world.order(MsCommand::ChangeCell { mobile, cell: 2 });
    world.pass(5);
    assert!(world.events.iter().any(|event| matches!(event, MsEvent::Updated { mobile: 0, .. })));
    assert!(world.exchange(mobile, addresses[0], 1400), "another routing area");
    world.pass(60);
    assert_eq!(world.ms.machine.view(mobile).unwrap().mm, "standby");
    let down = packet(Ipv4Addr::new(198, 51, 100, 1), addresses[0], 100);
    world.ggsn.datagram(PORT_TUN, Peer::Slot(0), &down);
    world.pass(5);
    assert_eq!(core::mem::take(&mut world.from_ms), [(mobile, down)], "paged");
    assert_eq!(world.ms.machine.stats().pagings, 1);
    world.assert_no_drops();
}

/// Attach, update, IMSI detach and detach of mobiles that ask for non-GPRS services, where there is no MSC.
#[test]
fn combined_procedures_are_for_gprs_only() {
    let mut world = World::with(|mobiles| mobiles.gmm.combined = true);
    let addresses = world.activate_all();
    let mobile = 0;
    let refused = |world: &mut World| {
        let told = world.events.drain(..).filter_map(|event| match event {
            MsEvent::NonGprs { mobile: 0, standing, cause } => Some((standing, cause)),
            _ => None,
        });
        told.collect::<Vec<_>>()
    };
    let unreachable = (NonGprs::Wanted, Some(GmmCause::MscNotReachable));
    let view = world.ms.machine.view(mobile).unwrap();
    assert_eq!((view.service, view.non_gprs), ("attempting-to-update-mm", Some("not-imsi-attached")));
    assert!(world.exchange(mobile, addresses[0], 1400));
    world.order(MsCommand::ChangeCell { mobile, cell: 2 });
    world.pass(5);
    assert_eq!(refused(&mut world), [unreachable], "in another routing area");
    world.pass(20);
    assert_eq!(refused(&mut world), [unreachable], "T3311");
    world.order(MsCommand::ImsiDetach { mobile });
    world.pass(30);
    assert_eq!(refused(&mut world), [(NonGprs::Detached, None)]);
    assert!(world.exchange(mobile, addresses[0], 1400), "GPRS goes on");
    world.order(MsCommand::Detach { mobile, power_off: false });
    world.pass(5);
    assert_eq!(world.ms.machine.view(mobile).unwrap().gmm, "gmm-deregistered");
    world.assert_no_drops();
}

/// An operation that creates a template with one filter.
fn template(component: Component) -> Option<TrafficFlowTemplate> {
    let filter = PacketFilter {
        identifier: 0,
        direction: FilterDirection::Unsaid,
        precedence: 1,
        components: vec![component],
    };
    Some(TftRepr::new(TftOperation::Create(vec![filter])).to_element())
}

impl World {
    /// How many T-PDUs the GGSN and how many N-PDUs the mobile had in this context of mobile 0.
    fn downlink_of(&self, nsapi: u8) -> u64 {
        let imsi = "001010000000001".parse().unwrap();
        self.ggsn.machine.context(imsi, Nsapi(nsapi)).map_or(0, |context| context.downlink.t_pdus)
    }

    fn uplink_of(&self, nsapi: u8) -> u64 {
        let imsi = "001010000000001".parse().unwrap();
        self.ggsn.machine.context(imsi, Nsapi(nsapi)).map_or(0, |context| context.uplink.t_pdus)
    }
}

#[test]
fn a_secondary_context_takes_the_packets_of_its_template() {
    let mut world = World::new();
    let address = world.activate_all()[0];
    let (mobile, first, second) = (0, Nsapi(5), Nsapi(6));
    let qos = QosProfile { delay: DelayClass::TWO, ..QosProfile::BEST_EFFORT };
    // The test's packets are of UDP.
    let tft = template(Component::Protocol(17));
    let wanted = WantedSecondary { linked: first, sapi: Sapi::DATA5, qos, tft };
    world.order(MsCommand::ActivateSecondary { mobile, nsapi: second, wanted });
    world.pass(5);
    assert!(world.exchange(mobile, address, 500));
    assert_eq!((world.downlink_of(5), world.downlink_of(6)), (0, 1));
    assert_eq!((world.uplink_of(5), world.uplink_of(6)), (0, 1));
    // Other packets belong to it now: those of UDP go through the first one.
    let change = Change { qos: None, tft: template(Component::Protocol(6)) };
    world.order(MsCommand::Modify { mobile, nsapi: second, change });
    world.pass(5);
    assert!(world.exchange(mobile, address, 500));
    assert_eq!((world.downlink_of(5), world.downlink_of(6)), (1, 1));
    assert_eq!((world.uplink_of(5), world.uplink_of(6)), (1, 1));
    world.assert_no_drops();
    // Both end in one procedure, at all three.
    world.order(MsCommand::TearDown { mobile, nsapi: first });
    world.pass(5);
    assert_eq!(world.ggsn.machine.context_count(), MOBILES as usize - 1);
    assert!(world.ms.machine.view(mobile).unwrap().contexts.is_empty());
    world.assert_no_drops();
}

/// An IPv6 packet of UDP.
fn packet_v6(source: Ipv6Addr, destination: Ipv6Addr, octets: usize) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend(u16::try_from(octets).unwrap().to_be_bytes());
    packet.extend([17, 64]);
    packet.extend(source.octets());
    packet.extend(destination.octets());
    packet.extend((0..=255).cycle().take(octets));
    packet
}

#[test]
fn contexts_of_ipv6_and_of_both_versions() {
    let mut world = World::new();
    let (host, nsapi): (Ipv6Addr, _) = ("2001:db8:ffff::1".parse().unwrap(), Nsapi(5));
    for (mobile, wanted) in [(0, PdpAddress::Ipv6Dynamic), (1, PdpAddress::Ipv4v6Dynamic)] {
        world.order(MsCommand::Activate { mobile, nsapi, apn: None, qos: None, address: Some(wanted) });
        world.pass(5);
        let activated = world.events.drain(..).find_map(|event| match event {
            MsEvent::Activated { address, .. } => Some(address),
            _ => None,
        });
        let (v4, v6) = match activated {
            Some(PdpAddress::Ipv6(v6)) if wanted == PdpAddress::Ipv6Dynamic => (None, v6),
            Some(PdpAddress::Ipv4v6(v4, v6)) if wanted == PdpAddress::Ipv4v6Dynamic => (Some(v4), v6),
            other => panic!("{other:?}"),
        };
        // What else has come down by now is what the GGSN says of the prefix.
        let told = core::mem::take(&mut world.from_ms);
        assert!(
            !told.is_empty()
                && told
                    .iter()
                    .all(|(to, packet)| { *to == mobile && RouterAdvertisement::parse(packet).is_ok() })
        );
        // The mobile may choose its interface identifier itself.
        for own in [v6, Ipv6Addr::from_bits(v6.to_bits() ^ 0xabcd)] {
            let up = packet_v6(own, host, 1200);
            world.ms.datagram(ms::TUN, Peer::Slot(mobile), &up);
            world.pass(2);
            assert_eq!(core::mem::take(&mut world.from_ggsn), [up]);
            let down = packet_v6(host, own, 1200);
            world.ggsn.datagram(PORT_TUN, Peer::Slot(0), &down);
            world.pass(2);
            assert_eq!(core::mem::take(&mut world.from_ms), [(mobile, down)]);
        }
        if let Some(v4) = v4 {
            assert!(world.exchange(mobile, v4, 500));
        }
    }
    world.assert_no_drops();
}

#[test]
fn the_ggsn_ends_one_of_two_contexts() {
    let mut world = World::new();
    let address = world.activate_all()[0];
    let (mobile, tft) = (0, template(Component::Protocol(17)));
    let qos = QosProfile::BEST_EFFORT;
    let wanted = WantedSecondary { linked: Nsapi(5), sapi: Sapi::DATA5, qos, tft };
    world.order(MsCommand::ActivateSecondary { mobile, nsapi: Nsapi(6), wanted });
    world.pass(5);
    let imsi = "001010000000001".parse().unwrap();
    world.ggsn.inputs.push(Input::Command(GgsnCommand::Delete { imsi, nsapi: Nsapi(5) }));
    world.pass(5);
    let left: Vec<u8> =
        world.ms.machine.view(mobile).unwrap().contexts.iter().map(|view| view.nsapi.0).collect();
    assert_eq!(left, [6]);
    assert!(world.exchange(mobile, address, 500), "what is left has the address");
    world.assert_no_drops();
}

#[test]
fn everything_ends_when_the_mobiles_are_switched_off() {
    let mut world = World::new();
    world.activate_all();
    world.ggsn.inputs.push(Input::Command(GgsnCommand::Delete {
        imsi: "001010000000003".parse().unwrap(),
        nsapi: Nsapi(5),
    }));
    world.pass(2);
    assert!(matches!(world.events.pop_front(), Some(MsEvent::Deactivated { mobile: 2, .. })));
    for mobile in 0..MOBILES {
        world.order(MsCommand::Detach { mobile, power_off: true });
    }
    world.pass(5);
    let gone = world.events.iter().filter(|event| matches!(event, MsEvent::Detached { .. })).count();
    assert_eq!(gone, 10);
    for frames in [&world.ms.around.frames, &world.bss.around.frames, &world.sgsn.around.frames] {
        assert_eq!(frames.free(), FRAMES);
    }
    assert_eq!(world.ggsn.around.frames.free(), FRAMES);
    world.assert_no_drops();
}
