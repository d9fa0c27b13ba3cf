//! The laboratory's chain at a tiny size: SGSN under test, generator and sink, in namespaces of their own. And how an
//! experiment ends that nobody wants any more.

use crate::common::{GANNET, left_behind, said, signal, wait_for};
use gannet_testkit::{Case, Need, TempDir, find_program};
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

const NEEDS: &[Need] = &[Need::NetAdmin, Need::Program("ethtool"), Need::That(gannet_demux::bpf::missing)];

const OVER_RLC_MAC: &[Need] = &[
    Need::NetAdmin,
    Need::Program("curl"),
    Need::Program("ping"),
    Need::Program("osmo-ggsn"),
    Need::Program("osmo-sgsn"),
];

pub const CASES: &[Case] = &[
    ("lab_account_with_fifo", NEEDS, || chain("gannet-fifo", "account")),
    ("lab_account_with_reuseport", NEEDS, || chain("gannet-reuseport", "account")),
    ("lab_account_with_xdp", NEEDS, || chain("gannet-xdp", "account")),
    ("lab_account_with_fifo_and_gea3", NEEDS, || chain("gannet-fifo", "account-ciphered")),
    ("lab_account_with_xdp_and_gea3", NEEDS, || chain("gannet-xdp", "account-ciphered")),
    ("lab_steps_with_gea3", NEEDS, steps_with_gea3),
    ("lab_churn_with_fifo", NEEDS, || chain("gannet-fifo", "churn")),
    ("lab_churn_with_reuseport", NEEDS, || chain("gannet-reuseport", "churn")),
    ("lab_churn_with_xdp", NEEDS, || chain("gannet-xdp", "churn")),
    ("lab_restart_with_fifo", NEEDS, || chain("gannet-fifo", "restart")),
    ("lab_restart_with_reuseport", NEEDS, || chain("gannet-reuseport", "restart")),
    ("lab_restart_with_xdp", NEEDS, || chain("gannet-xdp", "restart")),
    ("lab_restart_with_store_and_fifo", NEEDS, || chain("gannet-fifo", "restart-with-store")),
    ("lab_restart_with_store_and_reuseport", NEEDS, || chain("gannet-reuseport", "restart-with-store")),
    ("lab_restart_with_store_and_xdp", NEEDS, || chain("gannet-xdp", "restart-with-store")),
    ("lab_restart_with_store_fifo_and_gea3", NEEDS, || chain("gannet-fifo", "restart-ciphered")),
    ("lab_restart_with_store_xdp_and_gea3", NEEDS, || chain("gannet-xdp", "restart-ciphered")),
    ("lab_memory", NEEDS, || chain("gannet-xdp", "memory")),
    ("an_interrupted_experiment_ends_in_order", NEEDS, interrupted),
    ("an_experiment_that_is_interrupted_twice_ends_at_once", NEEDS, interrupted_twice),
    ("busy_processes_end_with_their_experiment", NEEDS, busy_processes_end),
    ("an_interrupted_run_over_rlc_mac_leaves_nothing", OVER_RLC_MAC, interrupted_over_rlc_mac),
    ("an_interrupted_run_of_streams_leaves_nothing", NEEDS, interrupted_streams),
];

/// Nothing comes to the wrong mobile, and everything that was offered is delivered, dropped by name, or lost in a ring: in
/// the steps of `account`; while mobiles come, go, move and change under full load (`churn`); when the SGSN was killed under
/// full load and has been started again (`restart`), after which, with a store, nobody attaches again (`restart-with-store`),
/// nor where all is ciphered (`restart-ciphered`). And `memory`: at most 1 KiB for each mobile.
fn chain(candidate: &str, check: &str) {
    let directory = TempDir::new("gannet-lab-chain");
    let mut command = Command::new(GANNET);
    command.args(["lab", "chain", candidate, "--check", check, "--out"]).arg(directory.path());
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert!(!output.stdout.is_empty());
    assert_eq!(left_behind(pid, directory.path()), Vec::<String>::new());
}

/// What alternated measurements use: a load that this SGSN forwards in any case, ciphered.
fn steps_with_gea3() {
    let directory = TempDir::new("gannet-lab-step");
    let mut command = Command::new(GANNET);
    command.args(["lab", "step", "gannet-xdp", "--gea=3", "--pps=2000", "--users=200", "--seconds=0.2"]);
    command.args(["--steps=2", "--real-time=5", "--out"]).arg(directory.path());
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).matches("delivered").count(), 2, "{text}");
    assert_eq!(left_behind(pid, directory.path()), Vec::<String>::new());
}

/// An experiment with few mobiles, in a process group as a shell gives it one.
struct Experiment {
    child: Child,
    said: BufReader<std::process::ChildStderr>,
}

impl Experiment {
    fn start(name: &str, out: &Path) -> Self {
        let mut command = Command::new(GANNET);
        command.args(["lab", "run", name, "--quick", "--out"]).arg(out);
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        Self { child, said }
    }

    /// Reads what it says up to a line with this in it.
    fn wait_for(&mut self, text: &str) {
        let mut all = String::new();
        while !all.lines().last().is_some_and(|line| line.contains(text)) {
            assert!(self.said.read_line(&mut all).unwrap() > 0, "it has ended: {all}");
        }
    }

    /// What Ctrl-C does: the signal goes to everything in the group.
    fn signal(&self, name: &str) {
        signal(&format!("-{}", self.child.id()), name);
    }

    fn end(&mut self) -> (ExitStatus, String) {
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).unwrap();
        let child = &mut self.child;
        (wait_for("the end of the experiment", || child.try_wait().unwrap()), rest)
    }
}

impl Drop for Experiment {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One SGSN waits for its turn, stopped, and another one has just been loaded: both end, and their namespaces go.
fn interrupted() {
    let directory = TempDir::new("gannet-lab-stop");
    let mut experiment = Experiment::start("ed-overhead", directory.path());
    experiment.wait_for("gannet-fifo: attached");
    let pid = experiment.child.id();
    // Two SGSNs, and two namespaces of each.
    assert!(left_behind(pid, directory.path()).len() >= 6);
    // Twice in a moment, as `timeout` does it, is once.
    experiment.signal("STOP");
    experiment.signal("INT");
    signal(&pid.to_string(), "INT");
    experiment.signal("CONT");
    let (status, rest) = experiment.end();
    assert_eq!(status.code(), Some(1), "{rest}");
    assert!(rest.contains("a second signal ends it at once"), "{rest}");
    assert!(rest.lines().last().is_some_and(|line| line.starts_with("gannet: interrupted: ")), "{rest}");
    assert_eq!(left_behind(pid, directory.path()), Vec::<String>::new());
    assert!(!directory.path().join("ed-overhead.json").exists());
}

/// Six chains of four namespaces each, of our programs and of Osmocom's, and two with Osmocom's BSS where that is installed: all end, and
/// their namespaces go.
fn interrupted_over_rlc_mac() {
    let directory = TempDir::new("gannet-lab-radio");
    let mut experiment = Experiment::start("radio-interop", directory.path());
    let has_bss =
        ["osmo-bsc", "osmo-bts-virtual", "osmo-pcu"].iter().all(|name| find_program(name).is_some());
    let (chains, last) = if has_bss { (8, "chain-7/ms.pcapng") } else { (6, "chain-5/bss.pcapng") };
    let last = directory.path().join("radio-interop").join(last);
    wait_for("the last mobile", || last.exists().then_some(()));
    let pid = experiment.child.id();
    let namespaces = left_behind(pid, directory.path());
    assert_eq!(namespaces.iter().filter(|name| name.starts_with("gannet-demo-")).count(), 4 * chains);
    experiment.signal("INT");
    let (status, rest) = experiment.end();
    assert_eq!(status.code(), Some(1), "{rest}");
    assert!(rest.lines().last().is_some_and(|line| line.contains("interrupted")), "{rest}");
    assert_eq!(left_behind(pid, directory.path()), Vec::<String>::new());
    assert!(!directory.path().join("radio-interop.json").exists());
}

/// The second signal waits for nothing. The SGSNs end with the process that has started them; their namespaces go with the
/// next run.
fn interrupted_twice() {
    let directory = TempDir::new("gannet-lab-stop");
    let mut experiment = Experiment::start("ed-overhead", directory.path());
    experiment.wait_for("gannet-fifo: attached");
    let pid = experiment.child.id();
    // So that both are there when it goes on.
    experiment.signal("STOP");
    experiment.signal("INT");
    experiment.signal("TERM");
    experiment.signal("CONT");
    let (status, rest) = experiment.end();
    assert!([Some(130), Some(143)].contains(&status.code()), "{status}: {rest}");
    let is_namespace = |name: &String| name.starts_with(&format!("gannet-demo-{pid}-"));
    wait_for("the end of the SGSNs", || {
        left_behind(pid, directory.path()).iter().all(is_namespace).then_some(())
    });
    chain("gannet-fifo", "account");
    assert_eq!(left_behind(pid, directory.path()), Vec::<String>::new());
}

/// Three SGSNs, what stands around two of them, and a process that never sleeps.
fn busy_processes_end() {
    let directory = TempDir::new("gannet-lab-busy");
    let mut experiment = Experiment::start("busy-machine", directory.path());
    experiment.wait_for("gannet-xdp, 1 busy process on its core");
    let pid = experiment.child.id();
    wait_for("a busy process", || {
        left_behind(pid, directory.path()).iter().any(|name| name.contains("lab spin")).then_some(())
    });
    experiment.signal("INT");
    let (status, rest) = experiment.end();
    assert_eq!(status.code(), Some(1), "{rest}");
    assert_eq!(left_behind(pid, directory.path()), Vec::<String>::new());
}

/// Sender, line and far end are threads of the experiment, and the router is a process.
fn interrupted_streams() {
    let directory = TempDir::new("gannet-lab-streams");
    let mut experiment = Experiment::start("edge-real", directory.path());
    let pid = experiment.child.id();
    let arm = directory.path().join("edge-real/edge-ef-90.log");
    // The second arm: the first one was sent and has arrived.
    wait_for("the second arm", || arm.exists().then_some(()));
    assert_eq!(left_behind(pid, Path::new("/no/such/directory")).len(), 4, "four namespaces");
    experiment.signal("INT");
    let (status, rest) = experiment.end();
    assert_eq!(status.code(), Some(1), "{rest}");
    assert!(rest.contains("edge-ef-90: "), "{rest}");
    assert_eq!(left_behind(pid, directory.path()), Vec::<String>::new());
    assert!(!directory.path().join("edge-real.json").exists());
}
