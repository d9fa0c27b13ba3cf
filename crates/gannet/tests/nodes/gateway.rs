//! A GGSN between Gn and Gi, by each back end of the user plane: mobiles among each other, packets under a strange address, a kill
//! with a store, interfaces that vanish and return, and a second GGSN on the machine.

use crate::common::{GANNET, Node, said, wait_for};
use crate::osmocom::TUN;
use crate::user_plane::{Bed, HOST, HOST_V6, XDP, a_spoofed_source_is_dropped, join_gn};
use gannet_testkit::netns::Netns;
use gannet_testkit::{Case, Need};

/// All of them.
pub const CASES: &[Case] = &[
    ("mobiles_reach_each_other_as_configured_by_tun_devices", NEEDS, || among_mobiles(TUN)),
    ("mobiles_reach_each_other_as_configured_by_the_driver", AT_DRIVER, || among_mobiles(XDP)),
    ("a_strange_source_at_the_tun_device_is_dropped", NEEDS, a_strange_source),
    ("a_killed_gateway_with_a_store_goes_on_by_tun_devices", NEEDS, || killed(TUN)),
    ("a_killed_gateway_with_a_store_goes_on_by_the_driver", AT_DRIVER, || killed(XDP)),
    ("gn_vanishes_and_returns_with_tun_devices", NEEDS, || gn_returns(TUN)),
    ("gn_vanishes_and_returns_with_the_driver", AT_DRIVER, || gn_returns(XDP)),
    ("a_gateway_outlives_its_deleted_tun_device", NEEDS, a_deleted_device),
    ("two_gateways_leave_nothing_behind", NEEDS, two_gateways),
];

const NEEDS: &[Need] = &[Need::NetAdmin, Need::Program("ping"), Need::Program("ethtool")];
const AT_DRIVER: &[Need] = &[
    Need::NetAdmin,
    Need::Program("ping"),
    Need::Program("ethtool"),
    Need::That(gannet_demux::bpf::missing),
];

/// Sets how packets from one mobile to another are treated.
fn set_client_to_client(bed: &Bed, how: &str) {
    let line = format!("client-to-client {how}");
    let lines = ["configure terminal", "ggsn ggsn0", "apn internet", &line];
    let mut command = bed.gateway.command(GANNET);
    command.args(["vty", "127.0.0.2:4260"]).args(lines.iter().flat_map(|line| ["-c", line]));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
}

/// How often a drop has happened.
fn dropped(bed: &Bed, name: &str) -> u64 {
    let stats = bed.ggsn("show stats");
    stats.lines().find_map(|line| line.trim().strip_prefix(name)?.trim().parse().ok()).unwrap_or_default()
}

/// By the kernel, inside, not at all, and by the kernel again, while the contexts stay.
fn among_mobiles(lines: [&str; 2]) {
    let mut bed = Bed::new("generic");
    bed.start_ggsn(lines);
    bed.start_sgsn(GANNET);
    bed.start_mobiles("ipv4v6", 2);
    // The second mobile's device stands in a namespace of its own; otherwise the kernel would turn packets round before it.
    let second = Netns::new("up-second");
    let address = |version: &str, begin: &str| -> String {
        let shown = bed.radio.run("ip", &[version, "-o", "address", "show", "dev", "ms1", "scope", "global"]);
        let address = shown.split_whitespace().find(|word| word.starts_with(begin));
        address.unwrap_or_else(|| panic!("{shown}")).split('/').next().unwrap().to_owned()
    };
    let there = [("-4", "198.51.100.", "32"), ("-6", "fd00:", "128")];
    let theirs = there.map(|(version, begin, length)| (version, address(version, begin), length));
    bed.radio.ip(&["link", "set", "ms1", "netns", second.name()]);
    second.ip(&["link", "set", "ms1", "up"]);
    for (version, address, length) in &theirs {
        second.ip(&["address", "add", &format!("{address}/{length}"), "dev", "ms1", "nodad"]);
        second.ip(&[version, "route", "add", "default", "dev", "ms1"]);
        bed.radio.ip(&["route", "add", address, "dev", "ms0"]);
    }
    for how in ["network", "inside", "refuse", "network"] {
        set_client_to_client(&bed, how);
        for (_, address, _) in &theirs {
            if how != "refuse" {
                bed.ping(&bed.radio, &["-c", "3", "-I", "ms0", address]);
                continue;
            }
            let before = dropped(&bed, "ggsn_to_mobile");
            let mut ping = bed.radio.command("ping");
            ping.args(["-n", "-c", "3", "-i", "0.2", "-W", "1", "-I", "ms0", address]);
            let printed = said(&ping.output().unwrap());
            assert!(printed.contains(" 0 received"), "{printed}");
            wait_for("the drops", || (dropped(&bed, "ggsn_to_mobile") >= before + 3).then_some(()));
        }
        // Whatever is set, the host behind Gi answers.
        bed.ping(&bed.radio, &["-c", "2", "-I", "ms0", HOST]);
    }
}

fn a_strange_source() {
    let mut bed = Bed::new("generic");
    bed.start_ggsn(TUN);
    bed.start_mobile();
    bed.ping(&bed.radio, &["-c", "3", "-I", "ms0", HOST]);
    a_spoofed_source_is_dropped(&bed, "ggsn_source_address");
    bed.ping(&bed.radio, &["-c", "3", "-I", "ms0", HOST]);
}

/// After `kill -9` nothing is left of it, and once it is started again the mobile goes on under its addresses.
fn killed(lines: [&str; 2]) {
    let mut bed = Bed::new("generic");
    let with_store = format!("{} store {}/contexts\n", lines[0], bed.directory.path().display());
    bed.start_ggsn([&with_store, lines[1]]);
    bed.start_mobile();
    let pings = |bed: &Bed| {
        for host in [HOST, HOST_V6] {
            bed.ping(&bed.radio, &["-c", "3", "-I", "ms0", host]);
        }
        for is_v6 in [false, true] {
            bed.ping(&bed.host, &["-c", "3", &bed.mobile(is_v6).to_string()]);
        }
    };
    pings(&bed);
    let addresses = [bed.mobile(false), bed.mobile(true)];
    wait_for("the store", || bed.ggsn("show store").contains("0 changes wait").then_some(()));
    bed.nodes[0].signal("KILL");
    bed.nodes[0].wait();
    let left = || bed.gateway.run("ip", &["-details", "link"]);
    wait_for("the end of devices and programs", || {
        let left = left();
        (!left.contains("prog/xdp") && !left.contains("apn2")).then_some(())
    });
    bed.start_ggsn([&with_store, lines[1]]);
    let again: Node = bed.nodes.pop().unwrap();
    bed.nodes[0] = again;
    assert!(bed.ggsn("show store").contains("1 mobiles restored, 0 not"), "{}", bed.ggsn("show store"));
    pings(&bed);
    assert_eq!([bed.mobile(false), bed.mobile(true)], addresses);
    if lines == XDP {
        let before = (bed.forwarded("uplink"), bed.forwarded("downlink"));
        pings(&bed);
        let after = (bed.forwarded("uplink"), bed.forwarded("downlink"));
        assert!(after.0 >= before.0 + 12 && after.1 >= before.1 + 12, "{}", bed.ggsn("show user-plane"));
    }
}

/// Gn goes and returns; with TUN devices that of the access point goes down and up as well.
fn gn_returns(lines: [&str; 2]) {
    let mut bed = Bed::new("generic");
    bed.start_ggsn(lines);
    bed.start_mobile();
    bed.ping(&bed.radio, &["-c", "3", "-I", "ms0", HOST]);
    bed.gateway.ip(&["link", "del", "gn1"]);
    if lines == XDP {
        wait_for("that it is away", || bed.ggsn("show user-plane").contains("gn1 is away").then_some(()));
    }
    join_gn(&bed.core, &bed.gateway);
    if lines == XDP {
        let is_back = || bed.ggsn("show user-plane").contains("gn1 in generic mode").then_some(());
        wait_for("that it is back", is_back);
    } else {
        bed.gateway.ip(&["link", "set", "apn2", "down"]);
        bed.gateway.ip(&["link", "set", "apn2", "up"]);
    }
    bed.ping(&bed.radio, &["-c", "3", "-I", "ms0", HOST]);
    let mobile = bed.mobile(false).to_string();
    bed.ping(&bed.host, &["-c", "3", &mobile]);
    let shown = bed.ggsn("show pdp-context all");
    assert_eq!(shown.matches("NSAPI:").count(), 1, "the context has stayed: {shown}");
}

/// A device that somebody deletes is made again as it was, and the context goes on. Where it cannot be made, user data is dropped by
/// name and signalling goes on, until it can.
fn a_deleted_device() {
    let mut bed = Bed::new("generic");
    bed.start_ggsn(TUN);
    bed.start_mobile();
    bed.ping(&bed.radio, &["-c", "3", "-I", "ms0", HOST]);
    let is_there = |bed: &Bed| {
        let shown =
            said(&bed.gateway.command("ip").args(["address", "show", "dev", "apn2"]).output().unwrap());
        (shown.contains("198.51.100.1/24") && shown.contains("UP")).then_some(())
    };
    is_there(&bed).unwrap();
    // Another device has its name, so that it cannot be made.
    bed.gateway.ip(&["link", "del", "apn2"]);
    bed.gateway.ip(&["link", "add", "apn2", "type", "veth", "peer", "name", "apn2p"]);
    wait_for("the error", || bed.nodes[0].log().contains("TUN device apn2: ").then_some(()));
    let mut ping = bed.radio.command("ping");
    let printed = said(&ping.args(["-n", "-c", "1", "-W", "1", "-I", "ms0", HOST]).output().unwrap());
    assert!(printed.contains(" 0 received"), "{printed}");
    wait_for("the drop", || (dropped(&bed, "rt_send_failed") >= 1).then_some(()));
    bed.gateway.ip(&["link", "del", "apn2"]);
    wait_for("the device", || is_there(&bed));
    wait_for("the line about it", || {
        bed.nodes[0].log().contains("apn2 had been deleted and is there again").then_some(())
    });
    bed.ping(&bed.radio, &["-c", "3", "-I", "ms0", HOST]);
    let mobile = bed.mobile(false).to_string();
    bed.ping(&bed.host, &["-c", "3", &mobile]);
    let contexts = bed.ggsn("show pdp-context all").matches("NSAPI:").count();
    assert_eq!(contexts, 1, "the context has stayed");
    bed.nodes[0].signal("TERM");
    assert_eq!(bed.nodes[0].wait().code(), Some(0), "{}", bed.nodes[0].log());
}

/// A second one that wants the address, the device or the store of the first is refused with a sentence, and harms nothing. With
/// its own they run side by side. Neither leaves a device.
fn two_gateways() {
    let mut bed = Bed::new("generic");
    let store = format!(" user-plane tun\n store {}/contexts\n", bed.directory.path().display());
    bed.start_ggsn([&store, ""]);
    bed.start_mobile();
    bed.gateway.ip(&["address", "add", "192.0.2.10/32", "dev", "gn1"]);
    let own = bed.ggsn_config(4, "192.0.2.10", TUN);
    for (config, why) in [
        (bed.ggsn_config(3, "192.0.2.6", TUN), "192.0.2.6:2123"),
        (std::fs::read_to_string(&own).unwrap().replace("apn4", "apn2"), "apn2"),
        (bed.ggsn_config(5, "192.0.2.10", [&store, ""]), "contexts"),
    ] {
        let path = if config.contains('\n') {
            crate::common::file(&bed.directory, "same.cfg", &config)
        } else {
            config
        };
        let output = bed.gateway.command(GANNET).args(["ggsn", "-c", &path]).output().unwrap();
        let text = said(&output);
        assert!(!output.status.success() && text.contains(why), "{why}: {text}");
        bed.ping(&bed.radio, &["-c", "2", "-I", "ms0", HOST]);
    }
    let own = bed.ggsn_config(4, "192.0.2.10", TUN);
    bed.start("gateway", "ggsn", &own);
    let ask = || bed.gateway.command(GANNET).args(["vty", "127.0.0.4:4260", "show ggsn"]).output().unwrap();
    wait_for("the VTY of the second", || ask().status.success().then_some(()));
    let links = || bed.gateway.run("ip", &["-o", "link"]);
    assert!(links().contains("apn2") && links().contains("apn4"), "{}", links());
    bed.ping(&bed.radio, &["-c", "2", "-I", "ms0", HOST]);
    bed.nodes[3].signal("KILL");
    wait_for("the end of the second's device", || (!links().contains("apn4")).then_some(()));
    bed.ping(&bed.radio, &["-c", "2", "-I", "ms0", HOST]);
    bed.nodes[0].signal("TERM");
    bed.nodes[0].wait();
    assert!(!links().contains("apn"), "{}", links());
    let routes = bed.gateway.run("ip", &["route"]) + &bed.gateway.run("ip", &["-6", "route"]);
    assert!(!routes.contains("198.51.100.") && !routes.contains("fd00:0:0:200"), "{routes}");
}
