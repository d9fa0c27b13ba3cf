//! The BSS emulator brings NS up by IP-SNS, against our SGSN and against Osmocom's.

use crate::common::{GANNET, Node, file, said, wait_for};
use gannet_testkit::netns::Netns;
use gannet_testkit::{Case, Need, TempDir};

/// All of them.
pub const CASES: &[Case] = &[
    ("ip_sns_between_our_bss_and_our_sgsn", &[Need::NetAdmin], between_our_bss_and_our_sgsn),
    (
        "ip_sns_between_our_bss_and_osmo_sgsn",
        &[Need::NetAdmin, Need::Program("osmo-sgsn")],
        between_our_bss_and_osmo_sgsn,
    ),
];

const SGSN: &str = "127.0.0.1:4245";
const BSS: &str = "127.0.0.1:4290";

/// An SGSN and our BSS on the loopback addresses of one network namespace; ended before it.
struct Gb {
    nodes: Vec<(&'static str, Node)>,
    netns: Netns,
    directory: TempDir,
}

impl Gb {
    fn new(label: &str) -> Self {
        let directory = TempDir::new("gannet-ip-sns");
        let state = directory.path().display();
        let sgsn = format!(
            "sgsn\n gtp state-dir {state}\n gtp local-ip 127.0.0.1\n ggsn 0 remote-ip 127.0.0.2\n \
             ggsn 0 gtp-version 1\n auth-policy accept-all\nns\n bind udp local\n  listen 127.0.0.1 23000\n  \
             accept-dynamic-ip-sns\nbssgp\nline vty\n no login\n"
        );
        let bss = "bss\n remote-ip 127.0.0.1\n local-ip 127.0.0.3\n cells 2\n cells-per-nse 1\n mobiles 2\n \
                   gb-dialect ip-sns\n ip-sns endpoints 2\n ip-sns spare-endpoints 1\n radio delay 5\n \
                   no activate-on-attach\nline vty\n no login\n";
        file(&directory, "sgsn.cfg", &sgsn);
        file(&directory, "bss.cfg", bss);
        Self { nodes: Vec::new(), netns: Netns::new(label), directory }
    }

    fn start(&mut self, name: &'static str, address: &str, program: &[&str]) {
        let config = self.directory.path().join(format!("{name}.cfg"));
        let (first, rest) = program.split_first().unwrap();
        let mut command = self.netns.command(first);
        command.args(rest).args(["-c", &config.to_string_lossy()]);
        self.nodes.push((name, Node::spawn(&self.directory, "", command, name)));
        wait_for("the answer of the VTY", || self.ask(address, "show ns"));
    }

    fn stop(&mut self, name: &str) {
        self.nodes.retain(|(other, _)| *other != name);
    }

    fn ask(&self, address: &str, command: &str) -> Option<String> {
        let output = self.netns.command(GANNET).args(["vty", address, command]).output().unwrap();
        output.status.success().then(|| said(&output))
    }

    /// Waits until an answer has `text`, `count` times.
    fn until(&self, address: &str, command: &str, text: &str, count: usize) -> String {
        wait_for(&format!("{count} times '{text}' in {command}"), || {
            let answer = self.ask(address, command)?;
            (answer.matches(text).count() == count).then_some(answer)
        })
    }

    fn do_at_bss(&self, command: &str) {
        assert!(self.ask(BSS, command).is_some(), "{command} was refused");
    }
}

fn between_our_bss_and_our_sgsn() {
    let mut gb = Gb::new("ip-sns");
    gb.start("sgsn", SGSN, &[GANNET, "sgsn"]);
    gb.start("bss", BSS, &[GANNET, "bss"]);
    // Two NSEs with two endpoints each.
    for (node, command) in [(SGSN, "show ns entities"), (BSS, "show ns")] {
        let shown = gb.until(node, command, "UNBLOCKED", 4);
        assert_eq!(shown.matches("State: 'CONFIGURED'").count(), 2, "{shown}");
        assert!(shown.contains("Signalling Weight: 1, Data Weight: 1"), "{shown}");
    }
    gb.until(BSS, "show cells", "UNBLOCKED", 2);
    gb.until(SGSN, "show mm-context all", "GMM-REGISTERED", 2);
    // Endpoints come, change and go.
    gb.do_at_bss("ns nsei 101 endpoint 3 add");
    gb.until(SGSN, "show ns nsei 101", "UNBLOCKED", 3);
    gb.do_at_bss("ns nsei 101 endpoint 3 weights 5 6");
    gb.until(SGSN, "show ns nsei 101", "127.0.0.3:22002, Signalling Weight: 5, Data Weight: 6", 1);
    gb.do_at_bss("ns nsei 101 endpoint 1 delete");
    gb.until(SGSN, "show ns nsei 101", "UNBLOCKED", 2);
    assert!(gb.ask(BSS, "ns nsei 101 endpoint 4 add").is_none(), "there are three");
    assert!(gb.ask(BSS, "ns nsei 99 endpoint 1 add").is_none(), "there is no such NSE");
    gb.until(SGSN, "show mm-context all", "GMM-REGISTERED", 2);
    // Both restart.
    gb.stop("bss");
    gb.start("bss", BSS, &[GANNET, "bss"]);
    gb.until(SGSN, "show ns entities", "UNBLOCKED", 4);
    gb.until(BSS, "show cells", "UNBLOCKED", 2);
    gb.stop("sgsn");
    gb.start("sgsn", SGSN, &[GANNET, "sgsn"]);
    gb.do_at_bss("ns reset");
    gb.until(SGSN, "show ns entities", "UNBLOCKED", 4);
    gb.until(BSS, "show cells", "UNBLOCKED", 2);
}

fn between_our_bss_and_osmo_sgsn() {
    let mut gb = Gb::new("ip-sns-osmo");
    gb.start("sgsn", SGSN, &["osmo-sgsn"]);
    gb.start("bss", BSS, &[GANNET, "bss"]);
    gb.until(BSS, "show ns", "UNBLOCKED", 4);
    gb.until(BSS, "show cells", "UNBLOCKED", 2);
    gb.until(BSS, "show mobile", "attached", 2);
    gb.do_at_bss("ns nsei 102 endpoint 2 weights 3 4");
    gb.stop("bss");
    gb.start("bss", BSS, &[GANNET, "bss"]);
    gb.until(BSS, "show cells", "UNBLOCKED", 2);
    gb.until(BSS, "show mobile", "attached", 2);
    gb.stop("sgsn");
    gb.start("sgsn", SGSN, &["osmo-sgsn"]);
    gb.do_at_bss("ns reset");
    gb.until(BSS, "show cells", "UNBLOCKED", 2);
}
