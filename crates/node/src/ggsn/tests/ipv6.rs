//! Contexts of IPv6, and of both versions.

use super::*;
use gannet_wire::ndp::{ALL_NODES, ALL_ROUTERS, RouterAdvertisement, RouterSolicitation};

const PREFIX: &str = "2001:db8:0:10::";

/// The access point "internet" has five prefixes of 64 bits, "small" none.
fn net() -> Net {
    let prefix = PREFIX.parse().unwrap();
    Net::new(|config| config.apns[0].v6 = Ranges::dynamic(prefix, 61))
}

pub(super) fn request(n: u16, apn: &str, address: EndUserAddress) -> CreateRequest {
    CreateRequest { end_user_address: Some(address), ..create_request(n, apn) }
}

pub(super) fn v6(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

pub(super) fn packet_v6(source: Ipv6Addr, destination: Ipv6Addr) -> Vec<u8> {
    [&[0x60, 0, 0, 0, 0, 0, 17, 64][..], &source.octets(), &destination.octets()].concat()
}

#[test]
fn a_context_has_a_prefix_of_its_own() {
    let mut net = net();
    let created = net.create(request(1, "internet", EndUserAddress::Ipv6(None))).unwrap();
    let own = v6("2001:db8:0:12::2");
    assert_eq!(created.end_user_address, EndUserAddress::Ipv6(Some(own)));
    let host = v6("2001:db8:ffff::1");
    for source in [own, v6("2001:db8:0:12:aaaa:bbbb:cccc:dddd")] {
        let up = packet_v6(source, host);
        assert_eq!(net.uplink(created.teid_data, &up), [(PORT_TUN, Peer::Slot(0), up.clone())]);
        assert_eq!(net.downlink(Peer::Slot(0), &packet_v6(host, source)).len(), 1);
    }
    // Another's prefix, no one's prefix, and IPv4.
    assert!(net.uplink(created.teid_data, &packet_v6(v6("2001:db8:0:13::2"), host)).is_empty());
    assert!(net.uplink(created.teid_data, &packet(Ipv4Addr::new(10, 0, 0, 2), HOST)).is_empty());
    assert!(net.downlink(Peer::Slot(0), &packet_v6(host, v6("2001:db8:0:13::2"))).is_empty());
    assert_eq!(net.drops(), [(Drop::GgsnSourceAddress, 2), (Drop::GgsnNoContext, 1)]);
    assert_eq!(net.delete(created.teid_control, 5).1, Cause::RequestAccepted);
    net.assert_empty();
}

#[test]
fn both_versions_in_one_context() {
    let mut net = net();
    let both = EndUserAddress::Ipv4v6(None, None);
    let created = net.create(request(1, "internet", both.clone())).unwrap();
    let addresses = EndUserAddress::Ipv4v6(Some(Ipv4Addr::new(10, 0, 0, 2)), Some(v6("2001:db8:0:12::2")));
    assert_eq!(created.end_user_address, addresses);
    assert_eq!(net.downlink(Peer::Slot(0), &packet(HOST, Ipv4Addr::new(10, 0, 0, 2))).len(), 1);
    assert_eq!(net.downlink(Peer::Slot(0), &packet_v6(v6("::1"), v6("2001:db8:0:12::9"))).len(), 1);
    // Where there is no IPv6, the network prefers IPv4, and has nothing for who wants IPv6 alone.
    let created_v4 = net.create(request(2, "small", both.clone())).unwrap();
    assert!(matches!(created_v4.end_user_address, EndUserAddress::Ipv4(Some(_))));
    let refused = net.create(request(3, "small", EndUserAddress::Ipv6(None)));
    assert_eq!(refused, Err(Cause::UnknownPdpAddressOrType));
    // When the prefixes are out, the IPv4 address that was taken already is free again.
    for n in 4..=7 {
        net.create(request(n, "internet", both.clone())).unwrap();
    }
    let used = |net: &Net| net.ggsn.access_points().next().map(|point| point.ipv4_use().0);
    assert_eq!(used(&net), Some(5));
    assert_eq!(net.create(request(8, "internet", both)), Err(Cause::AllDynamicAddressesOccupied));
    assert_eq!(used(&net), Some(5));
}

#[test]
fn static_addresses_of_ipv6() {
    let mut net = net();
    let own = EndUserAddress::Ipv6(Some(v6("2001:db8:0:15::77")));
    let created = net.create(request(1, "internet", own.clone())).unwrap();
    assert_eq!(created.end_user_address, own);
    assert_eq!(net.create(request(2, "internet", own)), Err(Cause::UnknownPdpAddressOrType));
    let outside = EndUserAddress::Ipv6(Some(v6("2001:db9::1")));
    assert_eq!(net.create(request(3, "internet", outside)), Err(Cause::UnknownPdpAddressOrType));
    // No address at all is :: as well.
    let unspecified = EndUserAddress::Ipv6(Some(Ipv6Addr::UNSPECIFIED));
    assert!(net.create(request(4, "internet", unspecified)).is_ok());
}

#[test]
fn a_prefix_of_no_use_is_refused() {
    let prefix = PREFIX.parse().unwrap();
    for prefix_length in [64, 41] {
        let mut config = GgsnConfig::new(GGSN, vec![super::apn("internet", 0, 24)]);
        config.apns[0].v6 = Ranges::dynamic(prefix, prefix_length);
        assert_eq!(Ggsn::new(config).map(|_| ()), Err(GgsnConfigError::Ipv6PrefixLength(0)));
    }
}

pub(super) fn advertised(sent: &[Sent]) -> Vec<RouterAdvertisement> {
    let t_pdu = |(port, _, octets): &Sent| {
        assert_eq!(*port, PORT_GTP_U);
        RouterAdvertisement::parse(&octets[GPdu::parse(octets).unwrap().2]).unwrap()
    };
    sent.iter().map(t_pdu).collect()
}

/// Nobody answers an Echo Request here.
pub(super) fn advertising() -> Net {
    Net::new(|config| {
        config.apns[0].v6 = Ranges::dynamic(PREFIX.parse().unwrap(), 61);
        config.echo_interval = Duration::ZERO;
    })
}

#[test]
fn the_prefix_is_advertised() {
    let mut net = advertising();
    let created = net.create(request(1, "internet", EndUserAddress::Ipv6(None))).unwrap();
    assert!(net.create(request(2, "small", EndUserAddress::Ipv4(None))).is_ok());
    // By itself a second after the context; who has IPv4 is told nothing.
    let first = advertised(&net.run_until(Instant(0) + Duration::from_secs(2)));
    let [told] = first.as_slice() else { panic!("{first:?}") };
    assert_eq!((told.source, told.destination, told.lifetime_s), (v6("fe80::1"), ALL_NODES, 64_800));
    let [prefix] = told.prefixes.as_slice() else { panic!("{told:?}") };
    assert_eq!((prefix.prefix, prefix.length), (v6("2001:db8:0:12::"), 64));
    assert!(prefix.autonomous && !prefix.on_link);
    // To who asks, or to all where it has no address yet.
    for (source, destination) in [(v6("fe80::2"), v6("fe80::2")), (Ipv6Addr::UNSPECIFIED, ALL_NODES)] {
        let asks = RouterSolicitation { source, destination: ALL_ROUTERS }.to_vec();
        let answer = advertised(&net.uplink(created.teid_data, &asks));
        assert_eq!(answer, [RouterAdvertisement { destination, ..told.clone() }]);
        // And not again before its time.
        assert!(net.run_until(net.around.now + Duration::from_millis(2999)).is_empty());
        assert!(net.uplink(created.teid_data, &asks).is_empty());
        net.run_until(net.around.now + Duration::from_millis(1));
    }
    // What else is said on the link stays there.
    assert!(net.uplink(created.teid_data, &packet_v6(v6("fe80::2"), v6("ff02::16"))).is_empty());
    let damaged =
        [&RouterSolicitation { source: v6("fe80::2"), destination: ALL_ROUTERS }.to_vec()[..47], &[1]]
            .concat();
    assert!(net.uplink(created.teid_data, &damaged).is_empty());
    assert_eq!(net.drops(), [(Drop::GgsnLinkLocal, 2), (Drop::GgsnSolicitationLimited, 2)]);
    // Every six hours, and to nobody once the context is gone.
    let later = advertised(&net.run_until(Instant(0) + Duration::from_secs(21_602)));
    assert_eq!(later, first);
    assert_eq!(net.delete(created.teid_control, 5).1, Cause::RequestAccepted);
    assert!(net.run_until(Instant(0) + Duration::from_secs(50_000)).is_empty());
}

#[test]
fn one_mobile_that_comes_and_goes_leaves_no_wake_ups() {
    let mut net = advertising();
    for _ in 0..50 {
        let created = net.create(request(1, "internet", EndUserAddress::Ipv6(None))).unwrap();
        net.run_until(net.around.now + Duration::from_secs(2));
        assert_eq!(net.delete(created.teid_control, 5).1, Cause::RequestAccepted);
    }
    // The next advertisement's, the one of a context that comes, and the one for answers that are kept.
    assert!(net.around.timers.len() <= 3, "{}", net.around.timers.len());
}

#[test]
fn only_what_is_for_the_link_stays_on_it() {
    let mut net = advertising();
    let created = net.create(request(1, "internet", EndUserAddress::Ipv6(None))).unwrap();
    let own = v6("2001:db8:0:12::2");
    for destination in ["fe80::1", "ff01::1", "ff02::16", "ff12::1"] {
        assert!(net.uplink(created.teid_data, &packet_v6(own, v6(destination))).is_empty(), "{destination}");
    }
    for destination in ["2001:db8:ffff::1", "ff05::2", "ff0e::1", "ff3e::1"] {
        let up = packet_v6(own, v6(destination));
        assert_eq!(net.uplink(created.teid_data, &up), [(PORT_TUN, Peer::Slot(0), up.clone())]);
    }
    assert_eq!(net.drops(), [(Drop::GgsnLinkLocal, 4)]);
}
