//! Network namespaces for tests, with unique names, removed also when a test fails.
//!
//! A namespace that was left behind by a test program that was killed is removed by the next one: the name holds the
//! number of the process that made it.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Why this machine cannot make network namespaces; `None` where it can.
#[must_use]
pub fn missing() -> Option<String> {
    static ANSWER: OnceLock<Option<String>> = OnceLock::new();
    ANSWER.get_or_init(probe).clone()
}

fn probe() -> Option<String> {
    if crate::find_program("ip").is_none() {
        return Some("ip is not installed".to_owned());
    }
    let name = format!("{PREFIX}{}-probe", std::process::id());
    if !ip_succeeds(&["netns", "add", &name]) {
        return Some("no right to make network namespaces (needs root or CAP_NET_ADMIN)".to_owned());
    }
    ip_succeeds(&["netns", "del", &name]);
    (!std::path::Path::new("/dev/net/tun").exists()).then(|| "no /dev/net/tun".to_owned())
}

fn ip_succeeds(arguments: &[&str]) -> bool {
    let ip = crate::find_program("ip").unwrap_or_else(|| "ip".into());
    Command::new(ip).args(arguments).output().is_ok_and(|output| output.status.success())
}

const PREFIX: &str = "gannet-";

/// A network namespace. Dropping it ends the processes that still run in it, and removes it with all its devices.
#[derive(Debug)]
pub struct Netns(String);

impl Netns {
    /// A new namespace whose loopback device is up. `label` is part of its name, for people.
    ///
    /// # Panics
    /// Where it cannot be made; a test says [`crate::Need::NetAdmin`] so that this does not happen.
    #[must_use]
    pub fn new(label: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        remove_left_behind();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let this = Self(format!("{PREFIX}{}-{number}-{label}", std::process::id()));
        let _ = crate::run("ip", &["netns", "add", &this.0]);
        this.ip(&["link", "set", "lo", "up"]);
        this
    }

    /// Its name, as `ip netns` knows it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }

    /// `ip ARGUMENTS` in the namespace.
    ///
    /// # Panics
    /// Where it fails.
    pub fn ip(&self, arguments: &[&str]) {
        let mut all = vec!["-n", self.0.as_str()];
        all.extend(arguments);
        let _ = crate::run("ip", &all);
    }

    /// Joins this namespace to another one with a pair of Ethernet devices, both up. An end is the device's name and
    /// its address with the length of the prefix (`192.0.2.1/24`).
    ///
    /// # Panics
    /// Where that cannot be done.
    pub fn join(&self, (device, address): (&str, &str), to: &Self, (its_device, its_address): (&str, &str)) {
        self.ip(&["link", "add", device, "type", "veth", "peer", "name", its_device, "netns", to.name()]);
        for (at, device, address) in [(self, device, address), (to, its_device, its_address)] {
            at.ip(&["address", "add", address, "dev", device, "nodad"]);
            at.ip(&["link", "set", device, "up"]);
        }
    }

    /// Adds a route to `prefix` (or `default`) through the router `via`.
    ///
    /// # Panics
    /// Where that cannot be done.
    pub fn route(&self, prefix: &str, via: &str) {
        self.ip(&["route", "add", prefix, "via", via]);
    }

    /// A program that is to run in the namespace.
    #[must_use]
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(crate::find_program("ip").unwrap_or_else(|| "ip".into()));
        command.args(["netns", "exec", &self.0, program]).stdin(Stdio::null());
        command
    }

    /// Runs a program in the namespace to its end and returns what it printed.
    ///
    /// # Panics
    /// Where it cannot be started or fails.
    #[must_use]
    pub fn run(&self, program: &str, arguments: &[&str]) -> String {
        let mut all = vec!["netns", "exec", self.0.as_str(), program];
        all.extend(arguments);
        crate::run("ip", &all)
    }

    /// Starts a program in the namespace.
    ///
    /// # Panics
    /// Where it cannot be started.
    #[must_use]
    pub fn spawn(&self, program: &str, arguments: &[&str]) -> Background {
        let mut command = self.command(program);
        command.args(arguments);
        Background::start(command)
    }
}

impl Drop for Netns {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

/// Ends what runs in a namespace of ours and removes it. Failures are of no use to anybody here.
fn remove(name: &str) {
    let ip = crate::find_program("ip").unwrap_or_else(|| "ip".into());
    if let Ok(output) = Command::new(ip).args(["netns", "pids", name]).output() {
        for pid in String::from_utf8_lossy(&output.stdout).split_whitespace() {
            send_signal("KILL", pid);
        }
    }
    ip_succeeds(&["netns", "del", name]);
}

fn remove_left_behind() {
    let Ok(entries) = std::fs::read_dir("/var/run/netns") else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(pid) = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next()) else { continue };
        let is_pid = !pid.is_empty() && pid.bytes().all(|c| c.is_ascii_digit());
        if is_pid && !std::path::Path::new("/proc").join(pid).exists() {
            remove(&name);
        }
    }
}

fn send_signal(signal: &str, pid: &str) {
    // The shell's own `kill`: the program is in a package that a small system does not have.
    let _ =
        Command::new("sh").args(["-c", "kill -s \"$0\" \"$1\"", signal, pid]).stderr(Stdio::null()).status();
}

/// A program that runs beside the test, killed when dropped.
#[derive(Debug)]
pub struct Background {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Background {
    /// Starts a program whose standard output is to be read; its standard error goes to the test's.
    ///
    /// # Panics
    /// Where it cannot be started.
    #[must_use]
    pub fn start(mut command: Command) -> Self {
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = child.unwrap_or_else(|error| panic!("{command:?} cannot be started: {error}"));
        let output = child.stdout.take().map(BufReader::new);
        Self { child, output: output.unwrap_or_else(|| panic!("no pipe")) }
    }

    /// Reads its output up to a line that contains `text`, and returns that line.
    ///
    /// # Panics
    /// Where the output ends before.
    pub fn wait_for_line(&mut self, text: &str) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            let read = self.output.read_line(&mut line);
            assert!(read.is_ok_and(|octets| octets > 0), "the program ended without a line with {text:?}");
            if line.contains(text) {
                return line.trim_end().to_owned();
            }
        }
    }

    /// Its process number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal, by name without `SIG`. A program started by `ip netns exec` is that process itself.
    pub fn signal(&self, name: &str) {
        send_signal(name, &self.child.id().to_string());
    }

    /// Stops it with SIGSTOP, and waits until it stands still: what others do from now on it finds when it goes on with
    /// SIGCONT.
    pub fn stand_still(&self) {
        self.signal("STOP");
        let stat = format!("/proc/{}/stat", self.child.id());
        // The state follows the name, which stands in brackets.
        while std::fs::read_to_string(&stat)
            .is_ok_and(|stat| stat.rsplit(')').next().is_some_and(|rest| !rest.starts_with(" T")))
        {
            std::thread::yield_now();
        }
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// Where the operating system has no answer.
    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap_or_else(|error| panic!("{error}"))
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
