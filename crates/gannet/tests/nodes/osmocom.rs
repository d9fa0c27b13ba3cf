//! Osmocom's SGSNs at our GGSN, by each back end of the user plane: sgsnemu with a device of its own, and osmo-sgsn with our BSS
//! and its mobile. Each type of PDP context that they know is activated, pinged through both ways, has megabytes of TCP, and ends.
//!
//! sgsnemu 1.9.0 knows IPv4 and IPv6 alone, no type of both.

use crate::common::{said, wait_for};
use crate::user_plane::{Bed, HOST, HOST_V6, XDP, echo};
use gannet_testkit::{Case, Need};
use std::net::IpAddr;

/// All of them.
pub const CASES: &[Case] = &[
    ("sgsnemu_by_ipv4_and_tun_devices", EMULATOR, || sgsnemu("v4", TUN)),
    ("sgsnemu_by_ipv4_and_the_driver", EMULATOR_AT_DRIVER, || sgsnemu("v4", XDP)),
    ("sgsnemu_by_ipv6_and_tun_devices", EMULATOR, || sgsnemu("v6", TUN)),
    ("sgsnemu_by_ipv6_and_the_driver", EMULATOR_AT_DRIVER, || sgsnemu("v6", XDP)),
    ("a_restarted_sgsn_is_forgotten_with_tun_devices", EMULATOR, || a_restarted_sgsn("forget", TUN)),
    ("a_restarted_sgsn_is_forgotten_at_the_driver", EMULATOR_AT_DRIVER, || a_restarted_sgsn("forget", XDP)),
    ("a_restarted_sgsn_keeps_its_new_context_with_tun_devices", EMULATOR, || a_restarted_sgsn("delete", TUN)),
    ("a_restarted_sgsn_keeps_its_new_context_at_the_driver", EMULATOR_AT_DRIVER, || {
        a_restarted_sgsn("delete", XDP);
    }),
    ("osmo_sgsn_by_ipv4_and_tun_devices", OSMO, || osmo_sgsn("ipv4", TUN)),
    ("osmo_sgsn_by_ipv4_and_the_driver", OSMO_AT_DRIVER, || osmo_sgsn("ipv4", XDP)),
    ("osmo_sgsn_by_ipv6_and_tun_devices", OSMO, || osmo_sgsn("ipv6", TUN)),
    ("osmo_sgsn_by_ipv6_and_the_driver", OSMO_AT_DRIVER, || osmo_sgsn("ipv6", XDP)),
    ("osmo_sgsn_by_both_versions_and_tun_devices", OSMO, || osmo_sgsn("ipv4v6", TUN)),
    ("osmo_sgsn_by_both_versions_and_the_driver", OSMO_AT_DRIVER, || osmo_sgsn("ipv4v6", XDP)),
];

const EMULATOR: &[Need] =
    &[Need::NetAdmin, Need::Program("ping"), Need::Program("ethtool"), Need::Program("sgsnemu")];
const EMULATOR_AT_DRIVER: &[Need] = &[
    Need::NetAdmin,
    Need::Program("ping"),
    Need::Program("ethtool"),
    Need::Program("sgsnemu"),
    Need::That(gannet_demux::bpf::missing),
];
const OSMO: &[Need] =
    &[Need::NetAdmin, Need::Program("ping"), Need::Program("ethtool"), Need::Program("osmo-sgsn")];
const OSMO_AT_DRIVER: &[Need] = &[
    Need::NetAdmin,
    Need::Program("ping"),
    Need::Program("ethtool"),
    Need::Program("osmo-sgsn"),
    Need::That(gannet_demux::bpf::missing),
];

/// Lines for a GGSN that has TUN devices alone.
pub const TUN: [&str; 2] = [" user-plane tun\n", ""];

const MEBIBYTE: usize = 1 << 20;

/// Starts sgsnemu with one mobile, whose device is in the namespace of the radio, and waits for its address.
fn start_emulator(bed: &mut Bed, version: &str, imsi: &str) {
    let radio = bed.radio.name().to_owned();
    let arguments = [
        ["--createif", "--tun-device", "ms0", "--netns", &radio, "--pdp-type", version].as_slice(),
        &["-l", "192.0.2.5", "-r", "192.0.2.6", "--statedir", ".", "--pidfile", "./pid", "--imsi", imsi],
    ]
    .concat();
    bed.spawn("sgsnemu", &arguments);
    let scope = if version == "v6" { "inet6 fd00:" } else { "inet 198.51.100." };
    wait_for("the mobile's address", || {
        let output = bed.radio.command("ip").args(["address", "show", "dev", "ms0"]).output().unwrap();
        said(&output).contains(scope).then_some(())
    });
    bed.route_to_hosts(version);
}

fn sgsnemu(version: &str, lines: [&str; 2]) {
    let mut bed = Bed::new("generic");
    bed.start_ggsn(lines);
    start_emulator(&mut bed, version, "240011234567890");
    serves(&bed, version, lines, 4 * MEBIBYTE);
    bed.nodes[1].signal("TERM");
    ends(&bed);
}

/// An SGSN is killed and comes back with the next restart counter: the context of before ends, and the address of the former mobile is
/// nobody's. sgsnemu counts its TEIDs anew: asked to delete the former context it would delete the new one.
fn a_restarted_sgsn(how: &str, lines: [&str; 2]) {
    let mut bed = Bed::new("generic");
    let of_ggsn = format!("{} sgsn-restart {how}\n", lines[0]);
    bed.start_ggsn([&of_ggsn, lines[1]]);
    start_emulator(&mut bed, "v4", "240011234567890");
    bed.ping(&bed.radio, &["-c", "3", "-I", "ms0", HOST]);
    let former = bed.mobile(false);
    bed.nodes[1].signal("KILL");
    bed.nodes[1].wait();
    start_emulator(&mut bed, "v4", "240011234567891");
    wait_for("the end of the former context", || {
        let shown = bed.ggsn("show pdp-context all");
        (shown.matches("NSAPI:").count() == 1 && shown.contains("240011234567891")).then_some(())
    });
    assert_ne!(bed.mobile(false), former);
    bed.ping(&bed.radio, &["-c", "3", "-I", "ms0", HOST]);
    bed.ping(&bed.host, &["-c", "3", &bed.mobile(false).to_string()]);
    let mut ping = bed.host.command("ping");
    let printed = said(&ping.args(["-n", "-c", "1", "-W", "1", &former.to_string()]).output().unwrap());
    assert!(printed.contains(" 0 received"), "{printed}");
    let stats = bed.ggsn("show stats");
    for line in ["created 2", "deleted 1", "pdp_contexts 1"] {
        assert!(stats.contains(line), "{line}: {stats}");
    }
}

/// One mobile of our BSS at osmo-sgsn.
fn osmo_sgsn(pdp_type: &str, lines: [&str; 2]) {
    let mut bed = Bed::new("generic");
    bed.start_ggsn(lines);
    bed.start_sgsn("osmo-sgsn");
    bed.start_mobiles(pdp_type, 1);
    serves(&bed, pdp_type, lines, MEBIBYTE / 2);
    let detached = bed.try_bss("mobile 1 detach");
    assert!(detached.is_some(), "{}", bed.nodes[2].log());
    ends(&bed);
}

fn is_of_pool(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.octets().starts_with(&[198, 51, 100]),
        IpAddr::V6(v6) => v6.to_bits() >> 72 == 0x00fd_0000_0000_0002,
    }
}

/// By each version of IP, pings and TCP arrive, from a mobile that has an address of the pool, the way that is configured.
fn serves(bed: &Bed, pdp_type: &str, lines: [&str; 2], octets: usize) {
    let versions = [(HOST, false), (HOST_V6, true)];
    let asked = |is_v6: bool| pdp_type.contains(if is_v6 { "v6" } else { "v4" });
    for (host, is_v6) in versions.into_iter().filter(|(_, is_v6)| asked(*is_v6)) {
        bed.ping(&bed.radio, &["-c", "3", "-I", "ms0", host]);
        let mobile = bed.mobile(is_v6);
        assert!(is_of_pool(mobile), "{mobile}");
        bed.ping(&bed.host, &["-c", "3", &mobile.to_string()]);
        let before = (lines == XDP).then(|| (bed.forwarded("uplink"), bed.forwarded("downlink")));
        echo(bed, host.parse().unwrap(), octets);
        if let Some((uplink, downlink)) = before {
            let more = (bed.forwarded("uplink") - uplink, bed.forwarded("downlink") - downlink);
            let segments = octets as u64 / 1500;
            assert!(more.0 > segments && more.1 > segments, "{more:?}: {}", bed.ggsn("show user-plane"));
        }
    }
    let (v4, v6) = (asked(false), asked(true));
    let shown = bed.ggsn("show pdp-context all");
    assert_eq!(shown.matches("NSAPI:").count(), 1, "{shown}");
    assert_eq!(shown.contains("End-User Address (IPv4): 198.51.100."), v4, "{shown}");
    assert_eq!(shown.contains("End-User Address (IPv6): fd00:0:0:2"), v6, "{shown}");
}

/// The SGSN deletes its context, and the addresses return to the pools.
fn ends(bed: &Bed) {
    wait_for("the end of the context", || {
        (!bed.ggsn("show pdp-context all").contains("NSAPI")).then_some(())
    });
    let shown = bed.ggsn("show ggsn");
    assert!(shown.contains("0 of 253 addresses in use, 0 of 253 prefixes in use"), "{shown}");
    let (stats, log) = (bed.ggsn("show stats"), bed.nodes[0].log());
    for line in ["created 1", "deleted 1", "pdp_contexts 0"] {
        assert!(stats.contains(line), "{line}: {stats}{log}");
    }
}
