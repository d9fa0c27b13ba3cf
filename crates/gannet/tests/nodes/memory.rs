//! What nodes of small configurations take of the machine's memory.

use crate::common::{GANNET, Node, file, wait_for};
use gannet_testkit::netns::Netns;
use gannet_testkit::{Case, Need, TempDir};

/// All of them.
pub const CASES: &[Case] = &[
    ("a_node_for_few_mobiles_is_small", &[Need::NetAdmin, Need::Program("ethtool")], few_mobiles),
    ("a_hundred_sgsns_run_on_one_machine", &[Need::NetAdmin], a_hundred),
];

/// What a small node may have resident beside its program, in KiB: 64 MiB with that.
const RESIDENT_KIB_MAX: u64 = 50 << 10;

/// Starts a node in a namespace, and waits until its VTY answers.
fn start(netns: &Netns, name: &str, kind: &str, vty: &str, config: &str) -> (Node, TempDir) {
    let directory = TempDir::new("gannet-memory");
    let path = file(&directory, &format!("{name}.cfg"), config);
    let mut command = netns.command(GANNET);
    command.args([kind, "-c", &path]);
    (Node::spawn(&directory, vty, command, name), directory)
}

fn answers(netns: &Netns, vty: &str) -> Option<()> {
    let output = netns.command(GANNET).args(["vty", vty, "show version"]).output().unwrap();
    output.status.success().then_some(())
}

/// What a node has of its own. Its program's text is locked in memory too: 14 MiB of the optimised one, which all nodes share, and
/// more of one with debug assertions.
fn resident_kib(node: &Node) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", node.pid())).unwrap();
    let kib = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    };
    kib("RssAnon:") + kib("RssShmem:")
}

fn sgsn(gn: &str, gb: &str, more: &str) -> String {
    format!(
        "sgsn\n gtp local-ip {gn}\n ggsn 0 remote-ip 192.0.2.6\n auth-policy accept-all\n{more}ns\n bind udp local\n  \
         listen {gb} 23000\n  accept-ipaccess\nline vty\n no login\n"
    )
}

const BSS: &str = "bss\n remote-ip 127.0.0.1\n remote-port 23000\n local-ip 127.0.0.1\n local-port 22000\n cells 2\n \
                   mcc 001\n mnc 01\n lac 1\n mobiles 10\n imsi-base 001010000000001\n apn internet\n no tun\n";
const GGSN: &str = "ggsn ggsn0\n gtp bind-ip 127.0.0.1\n apn internet\n  gtpu-mode tun\n  tun-device apn0\n  \
                    type-support v4\n  ip prefix dynamic 172.16.222.0/24\n  ip ifconfig 172.16.222.1/24\n  no shutdown\n \
                    no shutdown ggsn\n";

/// Each kind of node, and an SGSN with each way in that the machine permits.
fn few_mobiles() {
    let (netns, peer) = (Netns::new("small"), Netns::new("small-peer"));
    peer.join(("gb1", "192.0.2.1/30"), &netns, ("gb0", "192.0.2.2/30"));
    peer.join(("gn1", "192.0.2.6/30"), &netns, ("gn0", "192.0.2.5/30"));
    for (end, devices) in [(&peer, ["gb1", "gn1"]), (&netns, ["gb0", "gn0"])] {
        for device in devices {
            let _ = end.run("ethtool", &["-K", device, "gro", "on"]);
        }
    }
    let log_of = |what: &str, kind, vty, config: &str| {
        let (node, _directory) = start(&netns, kind, kind, vty, config);
        wait_for("the answer of the VTY", || answers(&netns, vty));
        let (log, resident) = (node.log(), resident_kib(&node));
        assert!(resident < RESIDENT_KIB_MAX, "{what} has {resident} KiB resident\n{log}");
        log
    };
    let comes_in_by = |way: &str, more: &str| {
        let lines = format!(" max-mobiles 100\n ingress {way}\n{more}");
        let log = log_of(&lines, "sgsn", "127.0.0.1:4245", &sgsn("192.0.2.5", "192.0.2.2", &lines));
        let by = log.split("G-PDUs come in by ").nth(1).and_then(|rest| rest.split_whitespace().next());
        by.unwrap_or_else(|| panic!("{log}")).to_owned()
    };
    assert_eq!(comes_in_by("fifo", ""), "fifo");
    let best = comes_in_by("auto", "");
    if best != "fifo" {
        assert_eq!(comes_in_by("reuseport", ""), "reuseport");
    }
    if best == "xdp" {
        assert_eq!(comes_in_by("xdp", ""), "xdp");
        assert_eq!(comes_in_by("xdp", " busy-poll always\n"), "xdp", "with pages that are exchanged");
    }
    log_of("a BSS", "bss", "127.0.0.1:4290", BSS);
    log_of("a GGSN", "ggsn", "127.0.0.1:4260", GGSN);
}

/// As a laboratory has them for as many networks, each in a namespace of its own.
fn a_hundred() {
    let config = sgsn("127.0.0.1", "127.0.0.1", " max-mobiles 10\n");
    let vty = "127.0.0.1:4245";
    let all: Vec<_> = (0..100)
        .map(|number| {
            let netns = Netns::new(&format!("hundred{number}"));
            let node = start(&netns, "sgsn", "sgsn", vty, &config);
            (node, netns)
        })
        .collect();
    for ((node, _), netns) in &all {
        wait_for("the answer of the VTY", || answers(netns, vty));
        let resident = resident_kib(node);
        assert!(resident < RESIDENT_KIB_MAX, "{resident} KiB are resident");
    }
}
