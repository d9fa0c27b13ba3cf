//! Network namespaces, links and processes of a real-time run, all removed when it ends, also by Ctrl-C.
//!
//! Names carry the process number, so that two runs do not meet, and so that what a killed run left behind can be
//! told from what a living one uses.
//!
//! Ctrl-C sets a flag ([`stop_on_signals`]); whoever runs something looks at it, gives up, and takes down what it has
//! made. A second one ends this process at once: the programs that it has started end with it, and the next run removes the
//! namespaces.

use crate::settings::{is_ours, put_back_leftovers};
use gannet_rig::ProcessSignal;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Why a testbed could not be made or a command in it failed.
#[derive(Debug, Error)]
pub enum TestbedError {
    /// A program could not be started.
    #[error("{program} cannot be started: {source}")]
    Start {
        /// Its name.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// A command failed.
    #[error("{command}: {message}")]
    Failed {
        /// As typed.
        command: String,
        /// What it said.
        message: String,
    },
    /// Something did not happen in time.
    #[error("{what} did not happen within {seconds} s{hint}")]
    Late {
        /// What was waited for.
        what: String,
        /// For how long.
        seconds: u64,
        /// Where to look.
        hint: String,
    },
    /// The person pressed Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// A file could not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The same signal again within this time is the same wish: `timeout` sends it to the process and to its group.
const SAME_WISH: Duration = Duration::from_millis(300);

/// Is a program of Debian's packages there?
#[must_use]
pub fn is_installed(name: &str) -> bool {
    ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/bin", "/sbin"]
        .iter()
        .any(|directory| Path::new(directory).join(name).exists())
}

/// What each experiment in real time begins with: its programs are there, signals end it in order, and nothing of a killed run is left.
///
/// # Errors
/// A sentence: which programs are missing, or what the operating system refuses.
pub fn begin(experiment: &str, programs: &[&str]) -> Result<Arc<AtomicBool>, String> {
    let missing: Vec<&str> = programs.iter().copied().filter(|program| !is_installed(program)).collect();
    if !missing.is_empty() {
        return Err(format!("{experiment} needs {}: install Debian's packages", missing.join(", ")));
    }
    let stop = stop_on_signals().map_err(|error| error.to_string())?;
    remove_leftovers();
    Ok(stop)
}

/// A flag that SIGINT and SIGTERM set from now on; a second one ends the process at once, with the status that a shell has
/// for a program that a signal has ended.
///
/// # Errors
/// Where the operating system refuses.
pub fn stop_on_signals() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stop);
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let mut first: Option<(i32, Instant)> = None;
        for signal in &mut signals {
            match first {
                None => {
                    first = Some((signal, Instant::now()));
                    told.store(true, Relaxed);
                    eprintln!("gannet: ending in order; a second signal ends it at once");
                }
                Some((before, at)) if before == signal && at.elapsed() < SAME_WISH => {}
                Some(_) => signal_hook::low_level::exit(128 + signal),
            }
        }
    })?;
    Ok(stop)
}

/// Not that of the tests' namespaces, which have their own way to be removed.
const PREFIX: &str = "gannet-demo-";

/// A command that ends with us, and that Ctrl-C does not reach.
pub(crate) fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    gannet_rig::end_with_parent(&mut command);
    command.stdin(Stdio::null());
    command
}

fn ip(arguments: &[&str]) -> Result<(), TestbedError> {
    let output = command("ip").args(arguments).output();
    let output = output.map_err(|source| TestbedError::Start { program: "ip".to_owned(), source })?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(TestbedError::Failed { command: format!("ip {}", arguments.join(" ")), message })
}

/// A command that will run inside the namespace of this name.
#[must_use]
pub fn command_in(namespace: &str, program: &Path) -> Command {
    let mut command = command("ip");
    command.args(["netns", "exec", namespace]).arg(program);
    command
}

/// A network namespace, removed with this value.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// A new namespace whose loopback is up. `label` tells it from the others of this run.
    ///
    /// # Errors
    /// Where the right to make one is missing.
    pub fn new(label: &str) -> Result<Self, TestbedError> {
        let namespace = Self { name: format!("{PREFIX}{}-{label}", std::process::id()) };
        ip(&["netns", "add", &namespace.name])?;
        ip(&["-n", &namespace.name, "link", "set", "lo", "up"])?;
        Ok(namespace)
    }

    /// Its name for `ip netns`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `ip` inside it.
    ///
    /// # Errors
    /// What `ip` said.
    pub fn ip(&self, arguments: &[&str]) -> Result<(), TestbedError> {
        let all: Vec<&str> = ["-n", self.name.as_str()].iter().chain(arguments).copied().collect();
        ip(&all)
    }

    /// A command that will run inside it.
    #[must_use]
    pub fn command(&self, program: &Path) -> Command {
        command_in(&self.name, program)
    }

    /// Runs a program inside it to its end.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn run(&self, program: &str, arguments: &[&str]) -> Result<Output, TestbedError> {
        let output = self.command(Path::new(program)).args(arguments).output();
        output.map_err(|source| TestbedError::Start { program: program.to_owned(), source })
    }

    /// The same, and its standard output; a failure of the program is an error.
    ///
    /// # Errors
    /// What the program said.
    pub fn output_of(&self, program: &str, arguments: &[&str]) -> Result<String, TestbedError> {
        standard_output(self.run(program, arguments)?, program, arguments)
    }

    /// The same for a program that may take long: it is ended when `stop` is set.
    ///
    /// # Errors
    /// What the program said, or [`TestbedError::Interrupted`].
    pub fn output_unless(
        &self,
        stop: &AtomicBool,
        program: &str,
        arguments: &[&str],
    ) -> Result<String, TestbedError> {
        let mut command = self.command(Path::new(program));
        let output = run_unless(stop, command.args(arguments), program)?;
        standard_output(output, program, arguments)
    }

    /// Makes it forward packets between its links.
    ///
    /// # Errors
    /// Where the setting cannot be written.
    pub fn enable_forwarding(&self) -> Result<(), TestbedError> {
        self.output_of("sh", &["-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"]).map(drop)
    }
}

/// Runs a program to its end, or until `stop` is set, which ends it. Both of its outputs are read meanwhile, so that it may say
/// as much as it likes.
///
/// # Errors
/// Where it cannot be started, or [`TestbedError::Interrupted`].
pub fn run_unless(stop: &AtomicBool, command: &mut Command, program: &str) -> Result<Output, TestbedError> {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|source| TestbedError::Start { program: program.to_owned(), source })?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        let (stdout, stderr) = (scope.spawn(|| read_all(stdout)), scope.spawn(|| read_all(stderr)));
        let status = wait_unless(stop, &mut child)?;
        let [stdout, stderr] = [stdout, stderr].map(|reader| match reader.join() {
            Ok(read) => read,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        Ok(Output { status, stdout: stdout?, stderr: stderr? })
    })
}

fn wait_unless(stop: &AtomicBool, child: &mut Child) -> Result<ExitStatus, TestbedError> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if stop.load(Relaxed) {
            child.kill()?;
            child.wait()?;
            return Err(TestbedError::Interrupted);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn read_all(pipe: Option<impl Read>) -> io::Result<Vec<u8>> {
    let mut octets = Vec::new();
    pipe.map_or(Ok(0), |mut pipe| pipe.read_to_end(&mut octets))?;
    Ok(octets)
}

fn standard_output(output: Output, program: &str, arguments: &[&str]) -> Result<String, TestbedError> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = [output.stdout, output.stderr].concat();
    let message = String::from_utf8_lossy(&said).trim().to_owned();
    Err(TestbedError::Failed { command: format!("{program} {}", arguments.join(" ")), message })
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = ip(&["netns", "del", &self.name]);
    }
}

/// Joins two namespaces by a veth pair with an address at each end (`A.B.C.D/LEN`).
///
/// # Errors
/// What `ip` said.
pub fn join(
    (left, left_name, left_address): (&Namespace, &str, &str),
    (right, right_name, right_address): (&Namespace, &str, &str),
) -> Result<(), TestbedError> {
    let add = ["link", "add", left_name, "type", "veth", "peer", "name", right_name, "netns", right.name()];
    left.ip(&add)?;
    for (namespace, name, address) in [(left, left_name, left_address), (right, right_name, right_address)] {
        // Room for full-size N-PDUs inside GTP and inside SNDCP, LLC, BSSGP and NS, without fragments.
        namespace.ip(&["link", "set", name, "mtu", "2000", "up"])?;
        namespace.ip(&["addr", "add", address, "dev", name])?;
    }
    Ok(())
}

/// Makes a directory without what an earlier run has left there: a node would restore its state.
///
/// # Errors
/// That of the file system.
pub fn empty_directory(directory: &Path) -> io::Result<PathBuf> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    std::fs::create_dir_all(directory)?;
    directory.canonicalize()
}

/// Ends what runs whose process is gone have left behind: the programs in their namespaces, the namespaces, and settings of the
/// kernel.
pub fn remove_leftovers() {
    put_back_leftovers();
    let Ok(entries) = std::fs::read_dir("/run/netns") else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if pid.is_some_and(|pid| !is_ours(pid)) {
            let pids = command("ip").args(["netns", "pids", &name]).output();
            let pids = pids.map(|output| output.stdout).unwrap_or_default();
            let pids = String::from_utf8_lossy(&pids);
            for pid in pids.split_whitespace().filter_map(|pid| pid.parse().ok()) {
                signal(ProcessSignal::Kill, pid);
            }
            let _ = ip(&["netns", "del", &name]);
        }
    }
}

/// Tells a process, where it is still there.
pub(crate) fn signal(signal: ProcessSignal, pid: u32) {
    // One that has ended needs no telling.
    let _ = gannet_rig::send_signal(pid, signal);
}

/// Octets of a process that are in memory.
///
/// # Errors
/// A sentence: there is no such process.
pub fn resident_octets(pid: u32) -> Result<u64, String> {
    let path = format!("/proc/{pid}/status");
    let status = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.map(|kib| kib * 1024).ok_or_else(|| format!("{path}: no VmRSS"))
}

/// A program that runs beside us and ends with this value: SIGTERM first, SIGKILL after three seconds.
#[derive(Debug)]
pub struct Process {
    child: Child,
    name: String,
    log: PathBuf,
}

impl Process {
    /// Starts it; both of its outputs go to `log`.
    ///
    /// # Errors
    /// Where it cannot be started or the log cannot be written.
    pub fn start(name: &str, command: &mut Command, log: &Path) -> Result<Self, TestbedError> {
        let file = File::create(log)?;
        let child = command.stdout(file.try_clone()?).stderr(file).spawn();
        let child = child.map_err(|source| TestbedError::Start { program: name.to_owned(), source })?;
        Ok(Self { child, name: name.to_owned(), log: log.to_path_buf() })
    }

    /// The name it was started under.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its process number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it is still there.
    ///
    /// # Errors
    /// With the end of its log, where it has ended.
    pub fn check(&mut self) -> Result<(), TestbedError> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => Err(TestbedError::Failed {
                command: self.name.clone(),
                message: format!("ended with {status}; its last words:\n{}", self.last_words()),
            }),
        }
    }

    /// The last lines of its log.
    #[must_use]
    pub fn last_words(&self) -> String {
        let text = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let mut lines: Vec<&str> = text.lines().rev().take(12).collect();
        lines.reverse();
        lines.join("\n")
    }

    /// Ends it at once, by SIGKILL, and waits until it is gone.
    ///
    /// # Errors
    /// Where the operating system refuses.
    pub fn kill(&mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(drop)
    }

    /// Tells it.
    pub fn signal(&self, what: ProcessSignal) {
        signal(what, self.child.id());
    }

    /// Asks it to end and waits. One that was stopped goes on, so that it can.
    pub fn stop(&mut self) {
        for each in [ProcessSignal::Terminate, ProcessSignal::Continue] {
            signal(each, self.child.id());
        }
        let until = Instant::now() + Duration::from_secs(3);
        while Instant::now() < until {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_may_say_much_and_is_ended_by_the_flag() {
        let say = "head -c 300000 /dev/zero; head -c 200000 /dev/zero >&2";
        let said = run_unless(&AtomicBool::new(false), command("sh").args(["-c", say]), "sh").unwrap();
        assert_eq!((said.stdout.len(), said.stderr.len()), (300_000, 200_000));
        // Nobody waits for a day.
        let ended = run_unless(&AtomicBool::new(true), command("sleep").arg("86400"), "sleep");
        assert!(matches!(ended, Err(TestbedError::Interrupted)), "{ended:?}");
    }
}
