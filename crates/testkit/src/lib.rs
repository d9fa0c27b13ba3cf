//! Helpers of the tests: tshark, network namespaces, captures, and a test runner that counts what a machine
//! cannot do as skipped.
//!
//! A test that needs something which not every machine has (tshark, root, TUN, a peer from Debian) stands in a file
//! with `harness = false`, whose `main` calls [`main`]. Where the need is not met, the test is listed as ignored with
//! the reason in its name: never as passed.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

pub mod helper;
pub mod netns;
pub mod osmogsm;
pub mod slcompress;
pub mod spandsp;
pub mod tshark;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Something that a test needs from the machine.
#[derive(Debug, Clone, Copy)]
pub enum Need {
    /// Wireshark's dissectors.
    Tshark,
    /// Root with the right to make network namespaces and TUN devices.
    NetAdmin,
    /// A program in the search path, by its name.
    Program(&'static str),
    /// Anything else: the function says why the machine cannot do it, or `None` where it can.
    That(fn() -> Option<String>),
}

impl Need {
    /// Why this machine cannot do it; `None` where it can.
    #[must_use]
    pub fn missing(self) -> Option<String> {
        match self {
            Self::Tshark => find_program("tshark").is_none().then(|| "tshark is not installed".to_owned()),
            Self::Program(name) => find_program(name).is_none().then(|| format!("{name} is not installed")),
            Self::NetAdmin => netns::missing(),
            Self::That(missing) => missing(),
        }
    }
}

/// The path of a program, as a shell would find it; the system directories count too.
#[must_use]
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin", "/usr/bin"].map(PathBuf::from))
        .map(|directory| directory.join(name))
        .find(|candidate| candidate.is_file())
}

/// One test: its name, what it needs, and its body, which panics to fail.
pub type Case = (&'static str, &'static [Need], fn());

/// Runs the cases as `cargo test` expects it of a test program: filters, `--list`, parallel, exit code.
///
/// A case whose needs are not met counts as ignored, and its reason is printed.
#[must_use]
pub fn main(cases: &[Case]) -> ExitCode {
    let arguments = libtest_mimic::Arguments::from_args();
    let trials = cases
        .iter()
        .map(|(name, needs, body)| {
            let body = *body;
            let missing: Vec<String> = needs.iter().filter_map(|need| need.missing()).collect();
            let trial = libtest_mimic::Trial::test(*name, move || {
                body();
                Ok(())
            });
            if missing.is_empty() {
                trial
            } else {
                let reason = missing.join(", ");
                eprintln!("SKIPPED {name}: {reason}");
                trial.with_ignored_flag(true).with_kind(format!("skipped: {reason}"))
            }
        })
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Runs a program to its end and returns what it printed.
///
/// # Panics
/// Where it cannot be started or fails: the message holds its standard error.
#[must_use]
pub fn run(program: &str, arguments: &[&str]) -> String {
    let path = find_program(program).unwrap_or_else(|| PathBuf::from(program));
    let output = Command::new(path).args(arguments).stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{program} cannot be started: {error}"));
    assert!(
        output.status.success(),
        "{program} {} failed: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A directory of its own for one test, removed when dropped.
#[derive(Debug)]
pub struct TempDir(PathBuf);

impl TempDir {
    /// A new empty directory whose name starts with `label`.
    ///
    /// # Panics
    /// Where the system's temporary directory cannot be written.
    #[must_use]
    pub fn new(label: &str) -> Self {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("{label}-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self(path)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
