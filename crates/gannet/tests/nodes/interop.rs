//! The scenarios of `gannet interop` in their short form: our mobile and BSS at Osmocom's SGSN and at ours, and Osmocom's BSS
//! at our SGSN.

use crate::common::{GANNET, left_behind, said};
use gannet_lab::demo::Peer;
use gannet_lab::interop;
use gannet_testkit::{Case, Need, TempDir};
use std::process::{Command, Stdio};

/// All of them.
pub const CASES: &[Case] = &[
    (
        "interop_of_our_mobile_with_our_sgsn",
        &[Need::NetAdmin, Need::That(|| missing(Peer::Gannet, AT_OURS))],
        || scenarios("gannet", AT_OURS),
    ),
    (
        "interop_of_our_mobile_with_osmo_sgsn",
        &[Need::NetAdmin, Need::That(|| missing(Peer::Osmocom, AT_OSMOCOMS))],
        || scenarios("osmo-sgsn", AT_OSMOCOMS),
    ),
    (
        "interop_of_osmo_bss_in_ip_access_style",
        &[Need::NetAdmin, Need::That(|| missing(Peer::Gannet, IP_ACCESS))],
        || scenarios("gannet", IP_ACCESS),
    ),
    (
        "interop_of_osmo_bss_by_ip_sns",
        &[Need::NetAdmin, Need::That(|| missing(Peer::Gannet, IP_SNS))],
        || scenarios("gannet", IP_SNS),
    ),
    ("interop_refuses_unknown_scenarios", &[], unknown_scenarios),
];

const IP_ACCESS: &[&str] = &["osmo-pcu-ip-access"];
const IP_SNS: &[&str] = &["osmo-pcu-ip-sns"];
/// With our SGSN: all but those that take long or that other tests have.
const AT_OURS: &[&str] = &[
    "attach-2g",
    "attach-3g",
    "gea1",
    "gea2",
    "gea4",
    "wrong-key",
    "hlr-no-gprs",
    "rau",
    "contexts",
    "detach",
    "ggsn-restart",
    "ipv6",
    "paging",
];
/// With osmo-sgsn: what says most about our mobile.
const AT_OSMOCOMS: &[&str] = &["attach-2g", "gea3", "gea4", "wrong-key", "contexts", "ggsn-reject", "ipv6"];

fn missing(sgsn: Peer, names: &[&str]) -> Option<String> {
    let programs = interop::missing(names, sgsn);
    (!programs.is_empty()).then(|| format!("not installed: {}", programs.join(", ")))
}

fn command(sgsn: &str, names: &[&str]) -> Command {
    let mut command = Command::new(GANNET);
    command.args(["interop", "--sgsn", sgsn, "--minutes", "0", "--jobs", "4"]);
    command.args(names.iter().flat_map(|name| ["--only", name]));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Each ends as it should, or as `interop/README.md` says, and nothing stays.
fn scenarios(sgsn: &str, names: &[&str]) {
    let directory = TempDir::new("gannet-interop");
    let child = command(sgsn, names).arg("--out").arg(directory.path()).spawn().unwrap();
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    let printed = said(&output);
    assert!(output.status.success(), "{printed}");
    for name in names {
        let line = printed.lines().find(|line| line.split_whitespace().next() == Some(name));
        let result = line.and_then(|line| line.split_whitespace().nth(2));
        assert!(matches!(result, Some("ok" | "differs")), "{name}: {printed}");
    }
    assert_eq!(left_behind(pid, directory.path()), Vec::<String>::new());
}

fn unknown_scenarios() {
    let output = command("both", &["attach-5g"]).output().unwrap();
    let text = said(&output);
    assert!(!output.status.success() && text.contains("attach-5g") && text.contains("attach-2g"), "{text}");
}
