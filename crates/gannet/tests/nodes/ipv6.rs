//! PDP contexts of IPv6, and of both versions, through our SGSN with osmo-ggsn and with our GGSN: addresses, and pings from the
//! mobile's device to the GGSN's.
//!
//! The mobile takes the whole address that it is told. It does not wait for a router advertisement: our GGSN sends none, and
//! osmo-ggsn takes any interface identifier under the prefix that it gave.

use crate::common::{GANNET, Node, file, said, wait_for};
use gannet_testkit::netns::Netns;
use gannet_testkit::{Case, Need, TempDir};

const NEEDS: &[Need] =
    &[Need::NetAdmin, Need::Program("ping"), Need::That(without_ipv6), Need::Program("osmo-ggsn")];

/// All of them.
pub const CASES: &[Case] = &[
    ("a_context_of_ipv6_with_osmo_ggsn", NEEDS, || with_type("osmo-ggsn", "ipv6", "v6", &[V6])),
    ("a_context_of_both_versions_with_osmo_ggsn", NEEDS, || {
        with_type("osmo-ggsn", "ipv4v6", "v4v6", &[V4, V6]);
    }),
    ("a_context_of_ipv6_with_our_ggsn", OURS, || with_type(GANNET, "ipv6", "v4v6", &[V6])),
    ("a_context_of_both_versions_with_our_ggsn", OURS, || with_type(GANNET, "ipv4v6", "v4v6", &[V4, V6])),
];

const OURS: &[Need] = &[Need::NetAdmin, Need::Program("ping"), Need::That(without_ipv6)];

fn without_ipv6() -> Option<String> {
    let is_there = std::path::Path::new("/proc/net/if_inet6").exists();
    (!is_there).then(|| "the kernel has no IPv6".to_owned())
}

/// Of one version: how addresses out of the pool begin, and the GGSN's end of its device.
struct Version {
    pool: &'static str,
    host: &'static str,
}

const V4: Version = Version { pool: "198.51.100.", host: "198.51.100.1" };
const V6: Version = Version { pool: "fd00:0:0:1", host: "fd00:0:0:100::1" };

const BSS_VTY: &str = "127.0.0.1:4290";

/// A mobile asks for this type, has addresses of it, and is answered at each.
fn with_type(ggsn_program: &str, asked: &str, supported: &str, versions: &[Version]) {
    let directory = TempDir::new("gannet-ipv6");
    let (radio, core) = (Netns::new("ipv6-radio"), Netns::new("ipv6-core"));
    radio.join(("gb0", "192.0.2.1/30"), &core, ("gb1", "192.0.2.2/30"));
    let path = directory.path().display().to_string();
    let end = |address: &str| format!("line vty\n no login\n bind {address}\nctrl\n bind {address}\n");
    let ggsn = format!(
        "ggsn ggsn0\n gtp state-dir {path}\n gtp bind-ip 127.0.0.2\n apn internet\n  gtpu-mode tun\n  \
         tun-device apn0\n  type-support {supported}\n  ip prefix dynamic 198.51.100.0/24\n  \
         ip ifconfig 198.51.100.1/24\n  ipv6 prefix dynamic fd00:0:0:100::/56\n  \
         ipv6 ifconfig fd00:0:0:100::1/56\n  no shutdown\n default-apn internet\n no shutdown ggsn\n{}",
        end("127.0.0.2")
    );
    let sgsn = format!(
        "sgsn\n gtp state-dir {path}\n gtp local-ip 127.0.0.1\n ggsn 0 remote-ip 127.0.0.2\n \
         ggsn 0 gtp-version 1\n auth-policy accept-all\nns\n bind udp local\n  listen 192.0.2.2 23000\n  \
         accept-ipaccess\nbssgp\n{}",
        end("127.0.0.3")
    );
    let bss = format!(
        "bss\n remote-ip 192.0.2.2\n local-ip 192.0.2.1\n apn internet\n pdp-type {asked}\n tun ms count 1\n{}",
        end("127.0.0.1")
    );
    let mut nodes = Vec::new();
    let ggsn_role: &[&str] = if ggsn_program == GANNET { &["ggsn"] } else { &[] };
    let all: [(_, _, _, &[&str], _); 3] = [
        ("ggsn", &core, ggsn_program, ggsn_role, ggsn),
        ("sgsn", &core, GANNET, &["sgsn"], sgsn),
        ("bss", &radio, GANNET, &["bss"], bss),
    ];
    for (name, netns, program, role, text) in all {
        let config = file(&directory, &format!("{name}.cfg"), &text);
        let mut command = netns.command(program);
        command.args(role).args(["-c", &config]).current_dir(directory.path());
        nodes.push((name, Node::spawn(&directory, "", command, name)));
    }
    let show = || {
        let output = radio.command(GANNET).args(["vty", BSS_VTY, "show mobile 1"]).output().unwrap();
        let text = said(&output);
        (output.status.success() && text.contains("pdp-active")).then_some(text)
    };
    let text = wait_for("the context", show);
    let logs =
        || -> String { nodes.iter().map(|(name, node)| format!("== {name}\n{}", node.log())).collect() };
    for Version { pool, host } in versions {
        assert!(text.contains(pool), "{text}{}", logs());
        // Of IPv6 the kernel takes no destination for one of the link.
        radio.ip(&["route", "add", host, "dev", "ms0"]);
        let mut ping = radio.command("ping");
        ping.args(["-n", "-c", "3", "-i", "0.2", "-W", "10", "-I", "ms0", host]);
        let printed = said(&ping.output().unwrap());
        assert!(printed.contains(" 0% packet loss"), "{printed}{text}{}", logs());
    }
}
