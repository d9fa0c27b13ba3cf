//! Code points of G-PDUs, and of the rules of a driver, by the traffic class of their contexts.

use super::addresses::update_request;
use super::ipv6::{request, v6};
use super::*;

const POINTS: CodePoints = CodePoints { conversational: 46, streaming: 34, interactive: 18, background: 8 };

/// R97 with delay class 4, which is background, and R99 with the conversational class.
fn profiles() -> [Qos; 2] {
    let r99 = [0x23, 0x12, 0x1f, 0x33, 0x96, 0x40, 0x48, 0x74, 0x83, 0x40, 0x48];
    [&[0x23, 0x12, 0x1f][..], &r99]
        .map(|octets| Qos { allocation_retention: 2, value: Octets::from_start(octets) })
}

fn take(net: &mut Net) -> Vec<u8> {
    core::mem::take(&mut net.code_points)
}

#[test]
fn a_g_pdu_has_the_code_point_of_its_class() {
    let mut net = Net::new(|config| config.code_points = POINTS);
    let created = [1, 2].map(|n| {
        let qos = profiles()[usize::from(n) - 1];
        net.create(CreateRequest { qos, ..create_request(n, "internet") }).unwrap()
    });
    assert_eq!(take(&mut net), [0, 0], "signalling has none");
    for (created, dscp) in created.iter().zip([8, 46]) {
        net.downlink(Peer::Slot(0), &packet(HOST, address_of(created)));
        assert_eq!(take(&mut net), [dscp]);
        net.uplink(created.teid_data, &packet(address_of(created), HOST));
        assert_eq!(take(&mut net), [0], "the network has the mobile's own");
    }
    // What the SGSN changes.
    let update = UpdateRequest { qos: Some(profiles()[1]), ..update_request(1) };
    net.control(SGSN, created[0].teid_control, update);
    take(&mut net);
    net.downlink(Peer::Slot(0), &packet(HOST, address_of(&created[0])));
    assert_eq!(take(&mut net), [46]);
    // What an operator changes, while it runs.
    let config = GgsnConfig { code_points: CodePoints::default(), ..net.ggsn.config().clone() };
    net.ggsn.reconfigure(&mut net.around.context(), &config);
    net.downlink(Peer::Slot(0), &packet(HOST, address_of(&created[0])));
    assert_eq!(take(&mut net), [0]);
}

#[test]
fn what_the_ggsn_says_itself_has_it_too() {
    let mut net = Net::new(|config| {
        config.code_points = POINTS;
        config.apns[0].v6 = Ranges::dynamic(v6("2001:db8::"), 56);
    });
    net.create(request(1, "internet", EndUserAddress::Ipv6(None))).unwrap();
    take(&mut net);
    // The router advertisement.
    let sent = net.run_until(net.around.now + Duration::from_secs(1));
    assert!(matches!(sent.as_slice(), [(PORT_GTP_U, ..)]), "{sent:?}");
    assert_eq!(take(&mut net), [8]);
}

#[test]
fn the_driver_is_told_the_code_point_and_each_change() {
    let mut net = Net::new(|config| config.code_points = POINTS);
    net.ggsn.forward_at_driver(vec![true, true]);
    let said = |net: &mut Net| {
        let rules = core::mem::take(&mut net.rules);
        let dscp = |rule| match rule {
            ForwardChange::Install(rule) => rule.dscp,
            ForwardChange::Remove(_) => panic!("a rule is gone"),
        };
        rules.into_iter().map(dscp).collect::<Vec<_>>()
    };
    let of_r99 = CreateRequest { qos: profiles()[1], ..create_request(1, "internet") };
    net.create(of_r99).unwrap();
    assert_eq!(said(&mut net), [46]);
    let config =
        GgsnConfig { code_points: CodePoints { conversational: 40, ..POINTS }, ..net.ggsn.config().clone() };
    net.ggsn.reconfigure(&mut net.around.context(), &config);
    net.create(create_request(2, "unknown")).unwrap_err();
    assert_eq!(said(&mut net), [40]);
}
