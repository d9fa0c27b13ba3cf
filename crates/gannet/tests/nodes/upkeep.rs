//! What an operator does to a running node, and what must not end it.

use crate::common::{Node, file, own_address, wait_for};
use gannet_testkit::{Case, TempDir};

/// All of them.
pub const CASES: &[Case] = &[("no_signal_but_four_ends_a_node", &[], no_signal_but_four_ends_a_node)];

/// An SGSN at a loopback address of the test's own, with `more` lines under `sgsn`.
pub fn sgsn_at(address: &str, more: &str) -> String {
    format!(
        "sgsn\n gtp local-ip {address}\n ggsn 0 remote-ip 127.0.0.2\n max-mobiles 100\n{more}\
         ns\n bind udp local\n  listen {address} 23000\n  accept-ipaccess\nbssgp\n\
         line vty\n no login\n bind {address} 4245\n"
    )
}

/// It runs.
fn start(directory: &TempDir, address: &str, more: &str) -> Node {
    let config = file(directory, "sgsn.cfg", &sgsn_at(address, more));
    Node::start(directory, &format!("{address}:4245"), &["sgsn", "-c", &config])
}

/// Signals 1 to 64 that a process can take and that end it by default, but for TERM, INT, QUIT and KILL. Faults are among them:
/// here they are sent, and nothing is wrong with the node.
fn no_signal_but_four_ends_a_node() {
    const NAMES: &[&str] = &[
        "ALRM", "PIPE", "VTALRM", "PROF", "IO", "PWR", "XCPU", "XFSZ", "TRAP", "SYS", "ABRT", "SEGV", "SEGV",
        "BUS", "BUS", "ILL", "FPE", "34", "35", "64", "HUP",
    ];
    let at = own_address(92);
    let directory = TempDir::new("gannet-signals");
    let mut node = start(&directory, &at, "");
    for (count, name) in (1..).zip(["USR1", "USR2"]) {
        node.signal(name);
        wait_for("the state in the log", || {
            (node.log().matches("resident at the most").count() == count).then_some(())
        });
    }
    let log = node.log();
    let lines = [
        "counters of the SGSN that are above 0:",
        "frames_total",
        "mobiles: 0 of 100",
        "frames: ",
        "resident: ",
    ];
    for line in lines {
        assert!(log.contains(line), "{line}: {log}");
    }
    for name in NAMES {
        node.signal(name);
        let pid = node.vty("show pid");
        assert_eq!(pid.trim(), node.pid().to_string(), "SIG{name}");
    }
    node.signal("QUIT");
    assert!(!node.wait().success());
}
