//! What Debian's package of osmo-sgsn comes with runs as it is: all of it, also what that program itself does not read.

use crate::common::{GANNET, Node, file, said, succeed, wait_for};
use gannet_testkit::netns::Netns;
use gannet_testkit::{Case, Need, TempDir};
use std::path::PathBuf;

/// All of them.
pub const CASES: &[Case] = &[
    ("configurations_of_debian_are_right", &[Need::Program("osmo-sgsn")], are_right),
    ("configurations_of_debian_run", &[Need::Program("osmo-sgsn"), Need::NetAdmin], run),
    ("lines_without_effect_and_several_sockets_run", &[Need::NetAdmin], lines_without_effect),
];

/// Each once more as an administrator has it, and the one that the package installs.
fn all() -> Vec<PathBuf> {
    let examples = std::fs::read_dir("/usr/share/doc/osmo-sgsn/examples").unwrap();
    let examples = examples.map(|entry| entry.unwrap().path());
    let examples = examples.filter(|path| path.extension().is_some_and(|kind| kind == "cfg"));
    let all: Vec<PathBuf> = examples.chain(["/etc/osmocom/osmo-sgsn.cfg".into()]).collect();
    assert!(all.len() >= 4, "{all:?}");
    all
}

fn are_right() {
    for path in all() {
        let said = succeed(&["sgsn", "-c", &path.to_string_lossy(), "--check"]);
        assert!(said.ends_with("OK\n"), "{said}");
    }
}

/// Starts a node with this configuration, asks its VTY, and ends it; what it has said.
fn runs(netns: &Netns, directory: &TempDir, config: &str, binds: &[&str]) -> String {
    let mut command = netns.command(GANNET);
    command.args(["sgsn", "-c", config]);
    let mut node = Node::spawn(directory, "", command, "sgsn");
    let shown = wait_for(&format!("the VTY with {config}"), || {
        let output = netns.command(GANNET).args(["vty", "127.0.0.1:4245", "show ns"]).output().unwrap();
        output.status.success().then(|| said(&output))
    });
    for bind in binds {
        assert!(shown.contains(bind), "{config}: {shown}");
    }
    node.signal("TERM");
    assert_eq!(node.wait().code(), Some(0), "{config}: {}", node.log());
    node.log()
}

fn run() {
    let (netns, directory) = (Netns::new("debian"), TempDir::new("gannet-debian"));
    for path in all() {
        let log = runs(
            &netns,
            &directory,
            &path.to_string_lossy(),
            &["UDP bind: 127.0.0.1:23000 DSCP: 0 Priority: 0, local"],
        );
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.contains("cs7 instance"), log.contains("taken without effect"), "{log}");
    }
}

fn lines_without_effect() {
    let (netns, directory) = (Netns::new("osmo-lines"), TempDir::new("gannet-osmo-lines"));
    netns.ip(&["address", "add", "192.0.2.9/32", "dev", "lo"]);
    let text = "log systemd-journal\n logging level set-all notice\ncpu-sched\ncs7 instance 0\n point-code 0.23.4\n \
                asp asp-a 2905 0 m3ua\n  remote-ip 192.0.2.20\n as as-a m3ua\n  asp asp-a\n  routing-key 3 0.23.4\n\
                sgsn\n gtp local-ip 127.0.0.1\n ggsn 0 remote-ip 127.0.0.2\n ggsn 0 gtp-version 1\n \
                auth-policy accept-all\n cs7-instance-iu 0\n mme test0\n  gtp remote-ip 192.0.2.30\n  gtp ran-info-relay 1 1 7\n\
                ns\n bind udp local\n  listen 127.0.0.1 23000\n  accept-ipaccess\n bind udp other\n  \
                listen 192.0.2.9 23001\n  accept-dynamic-ip-sns\nbssgp\nline vty\n no login\n";
    let config = file(&directory, "sgsn.cfg", text);
    let binds = [
        "UDP bind: 127.0.0.1:23000 DSCP: 0 Priority: 0, local",
        "UDP bind: 192.0.2.9:23001 DSCP: 0 Priority: 0, other",
    ];
    let log = runs(&netns, &directory, &config, &binds);
    for line in [1, 3, 4, 5, 7, 9, 10, 16, 17, 18, 19] {
        assert!(log.contains(&format!("sgsn.cfg:{line}: taken ")), "{line}: {log}");
    }
}
