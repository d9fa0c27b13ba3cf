//! `gannet trace` as a person runs it: on captures of others, on damaged ones, and beside tshark.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

mod commands;
mod export;
mod page;
mod recompute;

use gannet_testkit::TempDir;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Output, Stdio};

fn main() -> ExitCode {
    gannet_testkit::main(&[commands::CASES, export::CASES, page::CASES, recompute::CASES].concat())
}

/// Where the captures are that all tests read.
fn captures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../analysis/tests/captures")
}

fn capture(name: &str) -> String {
    captures().join(name).to_str().unwrap().to_owned()
}

const CORE: &str = "real-phone-core.pcapng.gz";
const UM: &str = "real-phone-um.pcapng.gz";
const SPIKE: &str = "spike-sender.pcap";

/// Runs `gannet trace`.
fn trace(arguments: &[&str]) -> Output {
    trace_with(arguments, &[])
}

/// The same with octets on standard input, by a pipe.
fn trace_with(arguments: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gannet"));
    command.arg("trace").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // It may end before it has read all.
    let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    output
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// What it prints where it succeeds.
fn succeed(arguments: &[&str]) -> String {
    let output = trace(arguments);
    assert!(output.status.success(), "gannet trace {}: {}", arguments.join(" "), stderr(&output));
    assert_eq!(stderr(&output), "", "{}", arguments.join(" "));
    stdout(&output)
}

/// What it says on standard error, in one line, where it fails and prints nothing.
fn refused(arguments: &[&str]) -> String {
    let output = trace(arguments);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "gannet trace {}: {said}", arguments.join(" "));
    assert_eq!((stdout(&output).as_str(), said.trim_end().lines().count()), ("", 1), "{said}");
    said.trim_end().to_owned()
}

/// A file in a directory.
fn file(directory: &TempDir, name: &str, octets: &[u8]) -> String {
    let path = directory.path().join(name);
    std::fs::write(&path, octets).unwrap();
    path.to_str().unwrap().to_owned()
}
