//! `scripts/install-packages` beside another process that installs packages, with an `apt-get` and a clock of the test's own.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use gannet_testkit::TempDir;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs the script for the package `absent`, with these bodies of `apt-get`, and nothing that really sleeps or installs.
fn install(directory: &Path, apt_get: &str) -> Output {
    let tool = |name: &str, body: &str| {
        let path = directory.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    };
    tool("dpkg-query", "exit 1");
    tool("id", "echo 0");
    tool("sleep", &format!("echo $1 >>{}", directory.join("slept").display()));
    tool("apt-get", &format!("cd {}\necho \"$@\" >>called\n{apt_get}", directory.display()));
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scripts/install-packages");
    let path = format!("{}:/usr/bin:/bin", directory.display());
    Command::new(script).arg("absent").env("PATH", path).output().unwrap()
}

fn lines(directory: &Path, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(directory.join(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn it_waits_while_another_process_holds_a_lock() {
    for lock in [
        "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7 (apt-get)",
        "E: Unable to lock directory /var/lib/apt/lists/",
        "E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is another process using it?",
    ] {
        let directory = TempDir::new("gannet-apt");
        let body = format!("[ $(wc -l <called) -gt 3 ] || {{ echo '{lock}' >&2; exit 100; }}");
        let output = install(directory.path(), &body);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(lines(directory.path(), "slept"), ["5", "5", "5"], "three times too early");
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(said.matches("another process installs packages").count(), 1, "{said}");
    }
}

#[test]
fn it_does_not_wait_for_ever() {
    let directory = TempDir::new("gannet-apt");
    let output = install(directory.path(), "echo 'E: Could not get lock /var/lib/dpkg/lock' >&2; exit 100");
    assert!(!output.status.success());
    assert!(String::from_utf8(output.stderr).unwrap().contains("Could not get lock"), "the reason is told");
    assert_eq!(
        lines(directory.path(), "slept").len(),
        360,
        "15 minutes for the first call, and for the second"
    );
}

#[test]
fn what_no_waiting_cures_fails_at_once() {
    let directory = TempDir::new("gannet-apt");
    let output = install(
        directory.path(),
        "[ $2 = update ] || { echo 'E: Unable to locate package absent' >&2; exit 100; }",
    );
    assert!(!output.status.success());
    assert!(String::from_utf8(output.stderr).unwrap().contains("Unable to locate package"));
    let called = lines(directory.path(), "called");
    assert_eq!(called.len(), 3, "with old lists, their update, and with new ones: {called:?}");
    assert!(lines(directory.path(), "slept").is_empty());
}
