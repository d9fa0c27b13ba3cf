//! One GGSN, its SGSN and its host, each in a network namespace of its own.

use super::contexts::{self, Tunnel};
use super::traffic::{Sink, Source, Way, inside};
use crate::demo::configs::address;
use crate::testbed::{self, Namespace, Process};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The core of the GGSN and of all that its devices receive, and that of sender and sink.
const GGSN_CORE: &str = "0";
const OUTER_CORE: &str = "1";
/// The mobiles' addresses: a network for measurements (RFC 2544).
const MOBILES: &str = "198.18.0.0/16";
const FIRST_OF_MOBILES: &str = "198.18.0.1/16";
/// Where nothing more arrives for so long, what was sent has arrived or is lost.
const QUIET: Duration = Duration::from_millis(50);
const QUIET_WITHIN: Duration = Duration::from_secs(5);
/// What comes before the devices in the log of a GGSN that forwards at the driver.
const AT_THE_DRIVER: &str = "user data is forwarded at the driver: ";

/// What forwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forwards {
    /// `gannet ggsn` with `user-plane xdp`.
    GannetXdp,
    /// `gannet ggsn` with `user-plane tun`.
    GannetTun,
    /// osmo-ggsn, with a TUN device.
    Osmo,
}

/// A GGSN that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// For a person, and for the names of its namespaces.
    pub name: &'static str,
    /// What forwards.
    pub forwards: Forwards,
    /// Its PDP contexts.
    pub contexts: u32,
}

impl Candidate {
    /// Its configuration. Echo Requests would come to nobody: the SGSN's ports are open only when it sends.
    fn config(&self, state: &Path, gi: &str) -> String {
        let (log, user_plane, interface) = match self.forwards {
            Forwards::GannetXdp => (true, " user-plane xdp\n".to_owned(), format!("  gi-interface {gi}\n")),
            Forwards::GannetTun => (true, " user-plane tun\n".to_owned(), String::new()),
            Forwards::Osmo => (false, String::new(), String::new()),
        };
        let log = if log { "log stderr\n logging level set-all notice\n" } else { "" };
        format!(
            "{log}ggsn ggsn0\n gtp state-dir {}\n gtp bind-ip {}\n no echo-interval\n{user_plane} apn internet\n  \
             gtpu-mode tun\n  tun-device apn0\n{interface}  type-support v4\n  ip prefix dynamic {MOBILES}\n  \
             ip ifconfig {FIRST_OF_MOBILES}\n  no shutdown\n default-apn internet\n no shutdown ggsn\nline vty\n no login\n",
            state.display(),
            address::GN_GGSN,
        )
    }
}

/// What one load came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// T-PDUs sent.
    pub offered: u64,
    /// T-PDUs that have arrived at the other end.
    pub delivered: u64,
    /// How long they were sent.
    pub lasting: Duration,
    /// Processor time of the GGSN's process, and of the threads that receive for its devices.
    pub process: Duration,
    /// See `process`.
    pub receiving: Duration,
}

impl Measured {
    /// T-PDUs delivered by second of processor time; not a number where nothing was delivered or no time was spent.
    #[must_use]
    pub fn per_cpu_second(&self) -> f64 {
        let spent = (self.process + self.receiving).as_secs_f64();
        if self.delivered == 0 || spent <= 0.0 { f64::NAN } else { self.delivered as f64 / spent }
    }

    /// T-PDUs delivered a second.
    #[must_use]
    pub fn pps(&self) -> f64 {
        self.delivered as f64 / self.lasting.as_secs_f64()
    }

    /// The part that was lost, 0 to 1.
    #[must_use]
    pub fn lost(&self) -> f64 {
        1.0 - self.delivered as f64 / self.offered as f64
    }
}

fn text(error: impl core::fmt::Display) -> String {
    error.to_string()
}

/// One GGSN and what stands around it.
#[derive(Debug)]
pub struct Stage {
    /// What forwards, as its log says it.
    pub mode: String,
    tunnels: Vec<Tunnel>,
    /// The kernel's threads that receive for the GGSN's devices.
    receivers: Vec<u32>,
    sinks: Vec<Sink>,
    // Processes end before their namespaces go: fields are dropped in this order.
    process: Process,
    sgsn: Namespace,
    _ggsn: Namespace,
    host: Namespace,
}

impl Stage {
    /// Starts it and creates the contexts. `number` tells its devices from those of the other stages.
    ///
    /// # Errors
    /// A sentence for the person.
    pub fn start(
        candidate: &Candidate,
        number: usize,
        out: &Path,
        stop: &AtomicBool,
    ) -> Result<Self, String> {
        let directory = empty(&out.join(format!("ggsn-cost-{}", candidate.name)))?;
        let namespace = |part: &str| Namespace::new(&format!("cost-{number}-{part}")).map_err(text);
        let (sgsn, ggsn, host) = (namespace("sgsn")?, namespace("ggsn")?, namespace("host")?);
        // The kernel's threads have the devices' names, so no other run may have the same.
        let device = |part: char| format!("{part}{number}{:x}", std::process::id());
        let (gn, gi, gn_peer, gi_peer) = (device('n'), device('i'), device('s'), device('h'));
        testbed::join((&sgsn, &gn_peer, address::GN_SGSN_PREFIX), (&ggsn, &gn, address::GN_GGSN_PREFIX))
            .map_err(text)?;
        testbed::join((&ggsn, &gi, address::GI_GGSN_PREFIX), (&host, &gi_peer, address::GI_HOST_PREFIX))
            .map_err(text)?;
        host.ip(&["route", "add", MOBILES, "via", address::GI_GGSN]).map_err(text)?;
        ggsn.enable_forwarding().map_err(text)?;
        let mut receivers = Vec::new();
        for (namespace, device, core) in [
            (&ggsn, &gn, GGSN_CORE),
            (&ggsn, &gi, GGSN_CORE),
            (&sgsn, &gn_peer, OUTER_CORE),
            (&host, &gi_peer, OUTER_CORE),
        ] {
            let thread = receive_by_thread(namespace, device, core)?;
            receivers.extend((core == GGSN_CORE).then_some(thread));
        }
        let sinks = [(&host, &gi_peer, Way::Up), (&sgsn, &gn_peer, Way::Down)]
            .map(|(namespace, device, way)| inside(namespace.name(), || Sink::attach(device, way)));
        let sinks = sinks.into_iter().collect::<Result<_, _>>()?;
        let process = start_ggsn(candidate, &ggsn, &directory, &gi)?;
        let log = directory.join("ggsn.log");
        let created = inside(sgsn.name(), || contexts::create(candidate.contexts, stop));
        let mut stage = Self {
            mode: String::new(),
            tunnels: Vec::new(),
            receivers,
            sinks,
            process,
            sgsn,
            _ggsn: ggsn,
            host,
        };
        // What has ended says more than what has no answer.
        stage.process.check().map_err(text)?;
        stage.tunnels = created?;
        stage.mode = mode(candidate, &std::fs::read_to_string(log).map_err(text)?)?;
        Ok(stage)
    }

    /// Sends one way at a rate for a time, waits until all has arrived, and says what came of it.
    ///
    /// # Errors
    /// A sentence: what has ended, or that the person has interrupted it.
    pub fn measure(
        &mut self,
        way: Way,
        pps: f64,
        lasting: Duration,
        stop: &AtomicBool,
    ) -> Result<Measured, String> {
        let source = Source::new(way, &self.tunnels)?;
        let (from, sink) = match way {
            Way::Up => (self.sgsn.name(), self.sinks.first()),
            Way::Down => (self.host.name(), self.sinks.get(1)),
        };
        let sink = sink.ok_or("no sink")?;
        let (count, process, receiving) = (sink.count()?, self.of_process()?, self.of_receivers()?);
        let offered = inside(from, || source.send(pps, lasting, stop))?;
        let arrived = when_quiet(sink, stop)?;
        let measured = Measured {
            offered,
            delivered: arrived.saturating_sub(count),
            lasting,
            process: self.of_process()?.saturating_sub(process),
            receiving: self.of_receivers()?.saturating_sub(receiving),
        };
        self.process.check().map_err(text)?;
        Ok(measured)
    }

    fn of_process(&self) -> Result<Duration, String> {
        gannet_rig::cpu_time_of(self.process.pid()).map_err(text)
    }

    fn of_receivers(&self) -> Result<Duration, String> {
        self.receivers.iter().map(|thread| gannet_rig::cpu_time_of(*thread).map_err(text)).sum()
    }
}

/// The count of a sink that does not change any more.
fn when_quiet(sink: &Sink, stop: &AtomicBool) -> Result<u64, String> {
    let until = Instant::now() + QUIET_WITHIN;
    let mut count = sink.count()?;
    while Instant::now() < until && !stop.load(Relaxed) {
        std::thread::sleep(QUIET);
        let now = sink.count()?;
        if now == count {
            return Ok(now);
        }
        count = now;
    }
    Err("T-PDUs arrive although none is sent, or the run was interrupted".to_owned())
}

/// A directory without what an earlier run has left: a GGSN would restore its contexts.
fn empty(directory: &Path) -> Result<PathBuf, String> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(text(error)),
        _ => {}
    }
    std::fs::create_dir_all(directory).map_err(text)?;
    directory.canonicalize().map_err(text)
}

fn start_ggsn(
    candidate: &Candidate,
    namespace: &Namespace,
    directory: &Path,
    gi: &str,
) -> Result<Process, String> {
    let config = directory.join("ggsn.cfg");
    std::fs::write(&config, candidate.config(directory, gi)).map_err(text)?;
    let mut command = namespace.command(Path::new("taskset"));
    command.args(["-c", GGSN_CORE]);
    if candidate.forwards == Forwards::Osmo {
        command.arg("osmo-ggsn");
    } else {
        command.arg(std::env::current_exe().map_err(text)?).arg("ggsn");
    }
    command.arg("-c").arg(config).current_dir(directory);
    Process::start(candidate.name, &mut command, &directory.join("ggsn.log")).map_err(text)
}

/// What forwards, for a person; by its log, a GGSN that was to forward at the driver does.
fn mode(candidate: &Candidate, log: &str) -> Result<String, String> {
    if candidate.forwards != Forwards::GannetXdp {
        return Ok("TUN device".to_owned());
    }
    let devices = log.lines().find_map(|line| line.split_once(AT_THE_DRIVER));
    let (_, devices) = devices.ok_or("gannet ggsn does not say that it forwards at the driver")?;
    let modes =
        ["native", "generic"].into_iter().filter(|mode| devices.contains(&format!(" in {mode} mode")));
    Ok(format!("XDP, {} mode", modes.collect::<Vec<_>>().join(" and ")))
}

/// Has a thread of the kernel receive for a veth device, on one core, and says which. Else the core that sends would
/// also receive, in the time of whoever has sent. The sender finishes its checksums, as a network card would.
fn receive_by_thread(namespace: &Namespace, device: &str, core: &str) -> Result<u32, String> {
    namespace.output_of("ethtool", &["-K", device, "gro", "on", "tx", "off"]).map_err(text)?;
    let threaded = format!("echo 1 > /sys/class/net/{device}/threaded");
    namespace.output_of("sh", &["-c", &threaded]).map_err(text)?;
    let thread = kernel_thread(device)?;
    namespace.output_of("taskset", &["-p", "-c", core, &thread.to_string()]).map_err(text)?;
    Ok(thread)
}

/// The thread that receives for a device: its name has the device's.
fn kernel_thread(device: &str) -> Result<u32, String> {
    let prefix = format!("napi/{device}-");
    let processes = std::fs::read_dir("/proc").map_err(text)?.flatten();
    let found = processes.filter_map(|entry| {
        let name = std::fs::read_to_string(entry.path().join("comm")).ok()?;
        name.starts_with(&prefix).then(|| entry.file_name().to_str()?.parse().ok())?
    });
    match found.collect::<Vec<u32>>().as_slice() {
        [thread] => Ok(*thread),
        all => Err(format!("{} threads receive for {device} where one was to", all.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const XDP: Candidate = Candidate { name: "xdp", forwards: Forwards::GannetXdp, contexts: 1 };

    #[test]
    fn the_cost_is_that_of_process_and_receivers() {
        let (process, receiving) = (Duration::from_millis(150), Duration::from_millis(50));
        let lasting = Duration::from_secs(2);
        let measured = Measured { offered: 1000, delivered: 800, lasting, process, receiving };
        assert_eq!((measured.per_cpu_second(), measured.pps()), (4000.0, 400.0));
        assert!((measured.lost() - 0.2).abs() < 1e-9);
        assert!(Measured { delivered: 0, ..measured }.per_cpu_second().is_nan());
    }

    #[test]
    fn the_log_says_what_forwards() {
        let log = "ggsn g: user data is forwarded at the driver: n1 in native mode, i1 in generic mode\n";
        assert_eq!(mode(&XDP, log).unwrap(), "XDP, native and generic mode");
        assert!(mode(&XDP, "ggsn g: user data goes by the TUN devices\n").is_err());
        let tun = Candidate { forwards: Forwards::GannetTun, ..XDP };
        assert_eq!(mode(&tun, "").unwrap(), "TUN device");
    }

    #[test]
    fn only_gannet_has_lines_of_its_own() {
        let lines = |forwards| Candidate { forwards, ..XDP }.config(Path::new("/s"), "i0");
        let osmo = lines(Forwards::Osmo);
        assert!(!osmo.contains("user-plane") && !osmo.contains("gi-interface"));
        assert!(lines(Forwards::GannetXdp).contains("\n  gi-interface i0\n"));
        assert!(lines(Forwards::GannetTun).contains("\n user-plane tun\n"));
    }
}
