//! Which versions of IP an access point serves, and out of which addresses.

use super::ipv6::{request, v6};
use super::*;

/// The access point "internet" with these addresses.
fn with(v4: Ranges<Ipv4Addr>, v6: Ranges<Ipv6Addr>, dual_stack: bool) -> Net {
    Net::new(|config| {
        config.apns[0] = ApnConfig { v4, v6, dual_stack, ..config.apns[0].clone() };
    })
}

fn v4_range() -> Ranges<Ipv4Addr> {
    Ranges::dynamic([10, 0, 0, 0].into(), 24)
}

fn v6_range() -> Ranges<Ipv6Addr> {
    Ranges::dynamic(v6("2001:db8:0:10::"), 56)
}

/// The cause of the answer, and which versions were given.
fn asked(net: &mut Net, n: u16, address: EndUserAddress) -> (u8, bool, bool) {
    let (_, message) = net.control(SGSN, Teid(0), request(n, "internet", address));
    let Message::CreateResponse(response) = message else { panic!("{message:?}") };
    let (v4, v6) = match response.end_user_address {
        Some(EndUserAddress::Ipv4(v4)) => (v4.is_some(), false),
        Some(EndUserAddress::Ipv6(v6)) => (false, v6.is_some()),
        Some(EndUserAddress::Ipv4v6(v4, v6)) => (v4.is_some(), v6.is_some()),
        _ => (false, false),
    };
    (response.cause.octet(), v4, v6)
}

#[test]
fn each_type_at_each_kind_of_access_point() {
    let all = || {
        [EndUserAddress::Ipv4(None), EndUserAddress::Ipv6(None), EndUserAddress::Ipv4v6(None, None)]
            .into_iter()
            .zip(1..)
    };
    let answers = |mut net: Net| -> Vec<(u8, bool, bool)> {
        all().map(|(address, n)| asked(&mut net, n, address)).collect()
    };
    let (refused, v4, both) = ((220, false, false), (128, true, false), (128, true, true));
    let v6 = (128, false, true);
    assert_eq!(answers(with(v4_range(), Ranges::NONE, true)), [v4, refused, (129, true, false)]);
    assert_eq!(answers(with(Ranges::NONE, v6_range(), true)), [refused, v6, (129, false, true)]);
    assert_eq!(answers(with(v4_range(), v6_range(), true)), [v4, v6, both]);
    // Both, and no context with both of them.
    assert_eq!(answers(with(v4_range(), v6_range(), false)), [v4, v6, (130, true, false)]);
    assert_eq!(answers(with(Ranges::NONE, Ranges::NONE, true)), [refused; 3]);
}

#[test]
fn an_access_point_of_ipv6_alone_serves_a_mobile() {
    let mut net = with(Ranges::NONE, v6_range(), true);
    let created = net.create(request(1, "internet", EndUserAddress::Ipv6(None))).unwrap();
    assert_eq!(created.end_user_address, EndUserAddress::Ipv6(Some(v6("2001:db8:0:2::2"))));
    assert_eq!(
        net.ggsn.access_points().next().map(|point| (point.ipv4_use(), point.ipv6_use().0)),
        Some(((0, 0), 1))
    );
    assert_eq!(net.delete(created.teid_control, 5).1, Cause::RequestAccepted);
    net.assert_empty();
}

#[test]
fn addresses_for_those_who_ask_for_them() {
    let fixed = Some(Network { address: [10, 0, 9, 0].into(), length: 29 });
    let mut net = with(Ranges { fixed, ..v4_range() }, Ranges::NONE, true);
    net.ggsn.access_points[0].config.static_addresses = false;
    let ask = |net: &mut Net, n: u16, address: [u8; 4]| {
        net.create(request(n, "internet", EndUserAddress::Ipv4(Some(address.into()))))
    };
    let created = ask(&mut net, 1, [10, 0, 9, 3]).unwrap();
    assert_eq!(address_of(&created), Ipv4Addr::new(10, 0, 9, 3));
    assert_eq!(net.downlink(Peer::Slot(0), &packet(HOST, [10, 0, 9, 3].into())).len(), 1);
    // Another's; one that is nobody's to ask for; one of no network.
    for address in [[10, 0, 9, 3], [10, 0, 0, 7], [10, 1, 0, 1]] {
        assert_eq!(ask(&mut net, 2, address).unwrap_err(), Cause::UnknownPdpAddressOrType, "{address:?}");
    }
    // Who asks for none has a dynamic one.
    let dynamic = net.create(create_request(3, "internet")).unwrap();
    assert_eq!(address_of(&dynamic), Ipv4Addr::new(10, 0, 0, 2));
    // The same of IPv6, without dynamic ones.
    let fixed = Some(Network { address: v6("2001:db8:9::"), length: 60 });
    let mut net = with(Ranges::NONE, Ranges { dynamic: None, fixed }, true);
    let own = EndUserAddress::Ipv6(Some(v6("2001:db8:9:3::7")));
    assert_eq!(net.create(request(1, "internet", own.clone())).unwrap().end_user_address, own);
    let dynamic = net.create(request(2, "internet", EndUserAddress::Ipv6(None)));
    assert_eq!(dynamic, Err(Cause::AllDynamicAddressesOccupied));
}

#[test]
fn occupied_addresses_end_when_one_returns() {
    let mut net = Net::new(|_| ());
    // Of "small" there is one.
    let first = net.create(create_request(1, "small")).unwrap();
    for n in 2..5 {
        assert_eq!(net.create(create_request(n, "small")), Err(Cause::AllDynamicAddressesOccupied));
    }
    assert_eq!(net.ggsn.access_points().nth(1).map(|point| point.counters().refused), Some(3));
    assert_eq!(net.delete(first.teid_control, 5).1, Cause::RequestAccepted);
    let second = net.create(create_request(2, "small")).unwrap();
    assert_eq!(address_of(&second), address_of(&first));
}
