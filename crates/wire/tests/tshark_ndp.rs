//! Solicitations and advertisements of routers and neighbours against Wireshark, field by field.

use gannet_testkit::Need;
use gannet_testkit::tshark::Capture;
use gannet_wire::ndp::{
    ALL_NODES, ALL_ROUTERS, FOREVER_S, NameServers, NeighbourAdvertisement, NeighbourSolicitation,
    PrefixInformation, RouterAdvertisement, RouterSolicitation,
};
use std::net::Ipv6Addr;
use std::process::ExitCode;

const ROUTER: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
const HOST: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2);

fn packets() {
    let mut capture = Capture::new();
    capture.add_packet(&RouterSolicitation { source: HOST, destination: ALL_ROUTERS }.to_vec());
    let prefix = PrefixInformation {
        prefix: Ipv6Addr::new(0x2001, 0xdb8, 0, 0x12, 0, 0, 0, 0),
        length: 64,
        on_link: false,
        autonomous: true,
        valid_s: FOREVER_S,
        preferred_s: 3600,
    };
    let (hop_limit, lifetime_s, prefixes) = (64, 64_800, vec![prefix]);
    let servers = ["2001:db8::53", "2001:db8::54"].map(|server| server.parse().expect("an address"));
    let dns = Some(NameServers { lifetime_s: 64_800, addresses: servers.to_vec() });
    let (source, destination, mtu) = (ROUTER, ALL_NODES, Some(1420));
    let told = RouterAdvertisement { source, destination, hop_limit, lifetime_s, mtu, prefixes, dns };
    capture.add_packet(&told.to_vec());
    // "1" of the checksum's status is good.
    let fields = [
        "_ws.malformed",
        "icmpv6.type",
        "icmpv6.checksum.status",
        "ipv6.src",
        "ipv6.dst",
        "icmpv6.nd.ra.cur_hop_limit",
        "icmpv6.nd.ra.router_lifetime",
        "icmpv6.opt.prefix",
        "icmpv6.opt.prefix.length",
        "icmpv6.opt.prefix.flag.l",
        "icmpv6.opt.prefix.flag.a",
        "icmpv6.opt.prefix.valid_lifetime",
        "icmpv6.opt.prefix.preferred_lifetime",
        "icmpv6.opt.mtu",
        "icmpv6.opt.rdnss.lifetime",
        "icmpv6.opt.rdnss",
    ];
    let rows = capture.dissect(&[], &fields);
    let forever = FOREVER_S.to_string();
    let advertised = ["64", "64800", "2001:db8:0:12::", "64", "0", "1", &forever, "3600"];
    let told = ["1420", "64800", "2001:db8::53,2001:db8::54"];
    let head = |kind, source, destination| ["", kind, "1", source, destination];
    let wanted = [
        [&head("133", "fe80::2", "ff02::2")[..], &[""; 11]].concat(),
        [&head("134", "fe80::1", "ff02::1")[..], &advertised, &told].concat(),
    ];
    assert_eq!(rows, wanted);
}

fn neighbours() {
    let mut capture = Capture::new();
    let asks = NeighbourSolicitation { source: HOST, destination: ROUTER, target: ROUTER };
    capture.add_packet(&asks.to_vec());
    let (router, solicited, overrides) = (true, true, false);
    let (source, destination, target) = (ROUTER, HOST, ROUTER);
    let says = NeighbourAdvertisement { source, destination, target, router, solicited, overrides };
    capture.add_packet(&says.to_vec());
    let fields = [
        "_ws.malformed",
        "icmpv6.type",
        "icmpv6.checksum.status",
        "ipv6.src",
        "ipv6.dst",
        "icmpv6.nd.ns.target_address",
        "icmpv6.nd.na.target_address",
        "icmpv6.nd.na.flag.r",
        "icmpv6.nd.na.flag.s",
        "icmpv6.nd.na.flag.o",
    ];
    let wanted = [
        ["", "135", "1", "fe80::2", "fe80::1", "fe80::1", "", "", "", ""],
        ["", "136", "1", "fe80::1", "fe80::2", "", "fe80::1", "1", "1", "0"],
    ];
    assert_eq!(capture.dissect(&[], &fields), wanted);
}

fn main() -> ExitCode {
    gannet_testkit::main(&[
        ("router_messages", &[Need::Tshark], packets),
        ("neighbour_messages", &[Need::Tshark], neighbours),
    ])
}
