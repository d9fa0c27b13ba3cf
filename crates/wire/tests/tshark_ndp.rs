//! Router solicitations and advertisements against Wireshark, field by field.

use gannet_testkit::Need;
use gannet_testkit::tshark::Capture;
use gannet_wire::ndp::{
    ALL_NODES, ALL_ROUTERS, FOREVER_S, PrefixInformation, RouterAdvertisement, RouterSolicitation,
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
    let told =
        RouterAdvertisement { source: ROUTER, destination: ALL_NODES, hop_limit, lifetime_s, prefixes };
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
    ];
    let rows = capture.dissect(&[], &fields);
    let forever = FOREVER_S.to_string();
    let advertised = ["64", "64800", "2001:db8:0:12::", "64", "0", "1", &forever, "3600"];
    let head = |kind, source, destination| ["", kind, "1", source, destination];
    let wanted = [
        [&head("133", "fe80::2", "ff02::2")[..], &[""; 8]].concat(),
        [&head("134", "fe80::1", "ff02::1")[..], &advertised].concat(),
    ];
    assert_eq!(rows, wanted);
}

fn main() -> ExitCode {
    gannet_testkit::main(&[("router_messages", &[Need::Tshark], packets)])
}
