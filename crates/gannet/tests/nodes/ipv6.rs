//! PDP contexts of IPv6, and of both versions, through our SGSN with osmo-ggsn and with our GGSN: addresses, and pings from the
//! mobile's device to the GGSN's. The same where GTP itself goes over IPv6.
//!
//! The mobile takes the whole address that it is told. It does not wait for a router advertisement: both GGSNs take any interface
//! identifier under the prefix that they gave.

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
    ("a_context_of_ipv6_where_there_is_no_ipv4", OURS, || with_type(GANNET, "ipv6", "v6", &[V6])),
    ("a_context_of_both_versions_with_our_ggsn", OURS, || with_type(GANNET, "ipv4v6", "v4v6", &[V4, V6])),
    ("gtp_over_ipv6_alone", OURS, || {
        with_gn(&Gn::joined(&IPV6_ALONE, GN_V6[1]), GANNET, "ipv4v6", "v4v6", &[V4, V6]);
    }),
    ("gtp_of_two_stacks_over_ipv6", OURS, || {
        with_gn(&Gn::joined(&BOTH, GN_V6[1]), GANNET, "ipv4v6", "v4v6", &[V4, V6]);
    }),
    ("gtp_of_two_stacks_over_ipv4", OURS, || {
        with_gn(&Gn::joined(&BOTH, GN_V4[1]), GANNET, "ipv4v6", "v4v6", &[V4, V6]);
    }),
];

const OURS: &[Need] = &[Need::NetAdmin, Need::Program("ping"), Need::That(without_ipv6)];

pub fn without_ipv6() -> Option<String> {
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

/// Addresses of SGSN and GGSN on the link between them.
const GN_V4: [&str; 2] = ["192.0.2.5", "192.0.2.6"];
const GN_V6: [&str; 2] = ["fd00:0:0:9::1", "fd00:0:0:9::2"];

/// How SGSN and GGSN are joined.
struct Gn {
    /// The GGSN is in a network namespace of its own.
    is_joined: bool,
    /// The IPv4 addresses of both, of the loopback device where the link has none.
    v4: [&'static str; 2],
    /// Their IPv6 addresses, if they have some.
    v6: Option<[&'static str; 2]>,
    /// Where the SGSN sends its Create.
    remote: &'static str,
}

const LOCAL: [&str; 2] = ["127.0.0.1", "127.0.0.2"];
/// Both nodes have an IPv4 address, which does not reach the other.
const IPV6_ALONE: [[&str; 2]; 2] = [LOCAL, GN_V6];
const BOTH: [[&str; 2]; 2] = [GN_V4, GN_V6];

impl Gn {
    const fn local() -> Self {
        Self { is_joined: false, v4: LOCAL, v6: None, remote: LOCAL[1] }
    }

    const fn joined([v4, v6]: &[[&'static str; 2]; 2], remote: &'static str) -> Self {
        Self { is_joined: true, v4: *v4, v6: Some(*v6), remote }
    }

    /// The namespace of the GGSN, where it is not that of the SGSN.
    fn far(&self, core: &Netns) -> Option<Netns> {
        let far = self.is_joined.then(|| Netns::new("ipv6-far"))?;
        let [near_v6, far_v6] = GN_V6.map(|address| format!("{address}/64"));
        core.join(("gn0", &near_v6), &far, ("gn1", &far_v6));
        if self.v4 == GN_V4 {
            let [near_v4, far_v4] = GN_V4.map(|address| format!("{address}/30"));
            core.ip(&["address", "add", &near_v4, "dev", "gn0"]);
            far.ip(&["address", "add", &far_v4, "dev", "gn1"]);
        }
        Some(far)
    }

    /// The line of a node's IPv6 address.
    fn v6_line(&self, command: &str, which: usize) -> String {
        self.v6.map_or_else(String::new, |v6| format!(" gtp {command} {}\n", v6[which]))
    }
}

/// A mobile asks for this type, has addresses of it, and is answered at each.
fn with_type(ggsn_program: &str, asked: &str, supported: &str, versions: &[Version]) {
    with_gn(&Gn::local(), ggsn_program, asked, supported, versions);
}

/// The same, where SGSN and GGSN are joined so.
fn with_gn(gn: &Gn, ggsn_program: &str, asked: &str, supported: &str, versions: &[Version]) {
    let directory = TempDir::new("gannet-ipv6");
    let (radio, core) = (Netns::new("ipv6-radio"), Netns::new("ipv6-core"));
    radio.join(("gb0", "192.0.2.1/30"), &core, ("gb1", "192.0.2.2/30"));
    let far = gn.far(&core);
    let path = directory.path().display().to_string();
    let end = |address: &str| format!("line vty\n no login\n bind {address}\nctrl\n bind {address}\n");
    // An access point of IPv6 alone has nothing of IPv4.
    let ipv4 = match supported {
        "v6" if ggsn_program == GANNET => "",
        _ => "  ip prefix dynamic 198.51.100.0/24\n  ip ifconfig 198.51.100.1/24\n",
    };
    let ggsn = format!(
        "ggsn ggsn0\n gtp state-dir {path}\n gtp bind-ip {}\n{} apn internet\n  gtpu-mode tun\n  \
         tun-device apn0\n  type-support {supported}\n{ipv4}  ipv6 prefix dynamic fd00:0:0:100::/56\n  \
         ipv6 ifconfig fd00:0:0:100::1/56\n  no shutdown\n default-apn internet\n no shutdown ggsn\n{}",
        gn.v4[1],
        gn.v6_line("bind-ipv6", 1),
        end("127.0.0.2")
    );
    let sgsn = format!(
        "sgsn\n gtp state-dir {path}\n gtp local-ip {}\n{} ggsn 0 remote-ip {}\n \
         ggsn 0 gtp-version 1\n auth-policy accept-all\nns\n bind udp local\n  listen 192.0.2.2 23000\n  \
         accept-ipaccess\nbssgp\n{}",
        gn.v4[0],
        gn.v6_line("local-ipv6", 0),
        gn.remote,
        end("127.0.0.3")
    );
    let bss = format!(
        "bss\n remote-ip 192.0.2.2\n local-ip 192.0.2.1\n apn internet\n pdp-type {asked}\n tun ms count 1\n{}",
        end("127.0.0.1")
    );
    let mut nodes = Vec::new();
    let ggsn_role: &[&str] = if ggsn_program == GANNET { &["ggsn"] } else { &[] };
    let all: [(_, _, _, &[&str], _); 3] = [
        ("ggsn", far.as_ref().unwrap_or(&core), ggsn_program, ggsn_role, ggsn),
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
        for _ in 0..3 {
            // Once something was answered, a ping of several waits for the rest no longer than two round trips.
            let mut ping = radio.command("ping");
            ping.args(["-n", "-c", "1", "-W", "20", "-I", "ms0", host]);
            let printed = said(&ping.output().unwrap());
            assert!(printed.contains(" 0% packet loss"), "{printed}{text}{}", logs());
        }
    }
}
