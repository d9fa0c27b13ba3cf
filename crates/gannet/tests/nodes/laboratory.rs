//! The laboratory's chain at a tiny size: SGSN under test, generator and sink, in namespaces of their own.

use crate::common::GANNET;
use gannet_testkit::{Case, Need, TempDir};
use std::process::{Command, Stdio};

pub const CASES: &[Case] = &[
    ("lab_chain_with_fifo", &[Need::NetAdmin, Need::Program("ethtool")], fifo),
    ("lab_chain_with_xdp", &[Need::NetAdmin, Need::Program("ethtool")], xdp),
];

fn fifo() {
    chain("gannet-fifo");
}

fn xdp() {
    chain("gannet-xdp");
}

/// Nothing comes to the wrong mobile, and everything that was offered is delivered, dropped by name, or lost in a ring.
fn chain(candidate: &str) {
    let directory = TempDir::new("gannet-lab-chain");
    let out = directory.path().to_string_lossy().into_owned();
    let output =
        Command::new(GANNET).args(["lab", "chain", candidate, "--out", &out]).stdin(Stdio::null()).output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.lines().count(), 3, "{said}");
}
