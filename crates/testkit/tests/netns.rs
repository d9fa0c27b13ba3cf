//! Namespaces are what they say, and nothing of them is left.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use gannet_testkit::netns::Netns;
use gannet_testkit::{Need, find_program};
use std::process::ExitCode;

fn main() -> ExitCode {
    gannet_testkit::main(&[
        ("two_namespaces_reach_each_other", &[Need::NetAdmin, Need::Program("ping")], reach),
        ("a_panic_leaves_nothing", &[Need::NetAdmin], panic_leaves_nothing),
        ("a_killed_test_is_cleaned_up_after", &[Need::NetAdmin], left_behind),
    ])
}

fn exists(name: &str) -> bool {
    std::path::Path::new("/var/run/netns").join(name).exists()
}

fn reach() {
    let (left, right) = (Netns::new("left"), Netns::new("right"));
    left.join(("veth0", "192.0.2.1/30"), &right, ("veth0", "192.0.2.2/30"));
    right.ip(&["address", "add", "198.51.100.1/32", "dev", "lo"]);
    left.route("198.51.100.0/24", "192.0.2.2");
    let printed = left.run("ping", &["-n", "-c", "1", "-W", "5", "198.51.100.1"]);
    assert!(printed.contains("1 received"), "{printed}");
}

fn panic_leaves_nothing() {
    let mut name = String::new();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let namespace = Netns::new("panic");
        namespace.name().clone_into(&mut name);
        let mut sleeping = namespace.spawn("sh", &["-c", "echo ready; sleep 1000"]);
        sleeping.wait_for_line("ready");
        assert!(exists(&name));
        // A panic without a message in the output.
        std::panic::resume_unwind(Box::new(()));
    }));
    assert!(result.is_err());
    assert!(!exists(&name));
}

fn left_behind() {
    // No process has this number: it is above the largest that Linux gives.
    let name = "gannet-99999999-0-dead";
    let made =
        find_program("ip").map(|ip| std::process::Command::new(ip).args(["netns", "add", name]).status());
    assert!(made.unwrap().unwrap().success());
    let _fresh = Netns::new("fresh");
    assert!(!exists(name));
}
