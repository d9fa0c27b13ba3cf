//! What mobiles with IPv6 are told and ask on their links.

use super::ipv6::{advertised, advertising, packet_v6, request, v6};
use super::*;
use gannet_wire::ndp::{NeighbourAdvertisement, NeighbourSolicitation, solicited_node};

const ROUTER: &str = "fe80::1";

fn asked(net: &mut Net, teid: Teid, source: Ipv6Addr, destination: Ipv6Addr, target: Ipv6Addr) -> Vec<Sent> {
    net.uplink(teid, &NeighbourSolicitation { source, destination, target }.to_vec())
}

#[test]
fn a_router_that_is_asked_for_is_there() {
    let mut net = advertising();
    let created = net.create(request(1, "internet", EndUserAddress::Ipv6(None))).unwrap();
    let (teid, router, own) = (created.teid_data, v6(ROUTER), v6("2001:db8:0:12:aaaa::7"));
    for (source, destination) in
        [(v6("fe80::2"), router), (v6("fe80::2"), solicited_node(router)), (own, router)]
    {
        let sent = asked(&mut net, teid, source, destination, router);
        let [(PORT_GTP_U, _, octets)] = sent.as_slice() else { panic!("{sent:?}") };
        let says = NeighbourAdvertisement::parse(&octets[GPdu::parse(octets).unwrap().2]).unwrap();
        assert_eq!((says.source, says.destination, says.target), (router, source, router));
        assert!(says.router && says.solicited);
    }
    assert_eq!(net.drops(), []);
    // A mobile makes sure that an address is free; it asks for another; one that is not its own asks; a damaged one.
    let nobody = Ipv6Addr::UNSPECIFIED;
    assert!(asked(&mut net, teid, nobody, solicited_node(v6("fe80::2")), v6("fe80::2")).is_empty());
    assert!(asked(&mut net, teid, nobody, solicited_node(router), router).is_empty());
    assert!(asked(&mut net, teid, v6("fe80::2"), v6("fe80::9"), v6("fe80::9")).is_empty());
    assert!(asked(&mut net, teid, v6("2001:db8:0:13::1"), router, router).is_empty());
    let mut damaged = NeighbourSolicitation { source: own, destination: router, target: router }.to_vec();
    damaged[50] ^= 1;
    assert!(net.uplink(teid, &damaged).is_empty());
    assert_eq!(net.drops(), [(Drop::GgsnLinkLocal, 5)]);
}

#[test]
fn the_mtu_and_name_servers_are_advertised() {
    let servers = ["2001:db8::53", "2001:db8::54"].map(|server| Some(v6(server)));
    let told = |mtu: u16, dns_v6: [Option<Ipv6Addr>; 2]| {
        let mut net = advertising();
        let config = &mut net.ggsn.access_points[0].config;
        (config.mtu, config.dns_v6, config.link_local) = (mtu, dns_v6, v6("fe80::77"));
        net.create(request(1, "internet", EndUserAddress::Ipv6(None))).unwrap();
        let mut told = advertised(&net.run_until(Instant(0) + Duration::from_secs(2)));
        assert_eq!(told.len(), 1);
        told.remove(0)
    };
    let all = told(1400, servers);
    assert_eq!((all.source, all.mtu), (v6("fe80::77"), Some(1400)));
    let dns = all.dns.unwrap();
    assert_eq!((dns.lifetime_s, dns.addresses), (64_800, servers.into_iter().flatten().collect()));
    // Less than a link of IPv6 may have is not told.
    let (small, none) = (told(1279, [None; 2]), told(0, [None; 2]));
    assert_eq!((small.mtu, small.dns, none.mtu), (None, None, None));
    // The link-local address of a GGSN is one.
    let mut config = GgsnConfig::new(GGSN, vec![apn("internet", 0, 24)]);
    config.apns[0].link_local = v6("2001:db8::1");
    assert_eq!(Ggsn::new(config).map(|_| ()), Err(GgsnConfigError::LinkLocal(0)));
}

#[test]
fn the_source_on_the_link_is_no_way_round_the_filter() {
    let mut net = advertising();
    let created = net.create(request(1, "internet", EndUserAddress::Ipv6(None))).unwrap();
    // A global destination behind a link-local source does not leave.
    assert!(net.uplink(created.teid_data, &packet_v6(v6("fe80::2"), v6("2001:db8:ffff::1"))).is_empty());
    assert_eq!(net.drops(), [(Drop::GgsnLinkLocal, 1)]);
}
