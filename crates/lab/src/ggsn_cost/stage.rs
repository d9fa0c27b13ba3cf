//! One GGSN, its SGSN and its host, each in a network namespace of its own.

use super::traffic::{counted, load};
use crate::contexts::{self, Gn, Tunnel};
use crate::demo::configs::address;
use crate::forwarding::{FORWARDER_CORE, Measured, OUTER_CORE, Sink, Spenders, inside, receive_by_thread};
use crate::testbed::{self, Namespace, Process};
use crate::way::Way;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The mobiles' addresses: a network for measurements (RFC 2544).
const MOBILES: &str = "198.18.0.0/16";
const FIRST_OF_MOBILES: &str = "198.18.0.1/16";
/// What comes before the devices in the log of a GGSN that forwards at the driver.
const AT_THE_DRIVER: &str = "user data is forwarded at the driver: ";

/// Streams of a GGSN with queues.
const STREAMS: u32 = 9;
/// Queues of a line that is faster than any load, with what Gn adds to a T-PDU.
const QUEUES: &str =
    "  qos downlink\n   rate 10000000\n   overhead 78\n   pool ef 1000000\n   pool af 1000000\n";

/// What forwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forwards {
    /// `gannet ggsn` with `user-plane xdp`.
    GannetXdp,
    /// `gannet ggsn` with `user-plane tun`.
    GannetTun,
    /// The same with `qos downlink`: queues of streams that are never full.
    GannetTunQueues,
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
        let nothing = String::new;
        let (of_ggsn, of_apn) = match self.forwards {
            Forwards::GannetXdp => (" user-plane xdp\n".to_owned(), format!("  gi-interface {gi}\n")),
            Forwards::GannetTun => (" user-plane tun\n".to_owned(), nothing()),
            Forwards::GannetTunQueues => {
                let (rules, queues) = queues(self.contexts);
                (format!(" user-plane tun\n{rules}"), queues)
            }
            Forwards::Osmo => (nothing(), nothing()),
        };
        let is_ours = self.forwards != Forwards::Osmo;
        let log = if is_ours { "log stderr\n logging level set-all notice\n" } else { "" };
        format!(
            "{log}ggsn ggsn0\n gtp state-dir {}\n gtp bind-ip {}\n no echo-interval\n{of_ggsn} apn internet\n  \
             gtpu-mode tun\n  tun-device apn0\n{of_apn}  type-support v4\n  ip prefix dynamic {MOBILES}\n  \
             ip ifconfig {FIRST_OF_MOBILES}\n  no shutdown\n default-apn internet\n no shutdown ggsn\nline vty\n no login\n",
            state.display(),
            address::GN_GGSN,
        )
    }
}

/// Rules and downlink queues of nine streams with the services of figure 6 of the edge QoS study, each of a ninth of the subscribers.
/// Nothing is reserved or queued that the load comes near.
fn queues(contexts: u32) -> (String, String) {
    let (mut rules, mut queues) = (String::new(), QUEUES.to_owned());
    for stream in 0..STREAMS {
        let [first, last] = [stream, stream + 1].map(|part| contexts * part / STREAMS);
        let last = contexts::imsi(last.saturating_sub(1).max(first));
        rules += &format!(" subscriber-group g{stream}\n  imsi {}-{last}\n", contexts::imsi(first));
        rules += &format!(" rule {} in gi group g{stream} stream s{stream}\n", stream + 1);
        let service = match stream {
            0 | 1 => "ef rate 400000 burst 100000",
            2..=5 => "af rate 400000",
            _ => "be rate 0",
        };
        queues += &format!("   stream s{stream} {service}\n");
    }
    (rules, queues)
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
    spenders: Spenders,
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
        let directory =
            testbed::empty_directory(&out.join(format!("ggsn-cost-{}", candidate.name))).map_err(text)?;
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
            (&ggsn, &gn, FORWARDER_CORE),
            (&ggsn, &gi, FORWARDER_CORE),
            (&sgsn, &gn_peer, OUTER_CORE),
            (&host, &gi_peer, OUTER_CORE),
        ] {
            let thread = receive_by_thread(namespace, device, core)?;
            receivers.extend((core == FORWARDER_CORE).then_some(thread));
        }
        let sinks = [(&host, &gi_peer, Way::Up), (&sgsn, &gn_peer, Way::Down)]
            .map(|(namespace, device, way)| inside(namespace.name(), || Sink::attach(device, counted(way))));
        let sinks = sinks.into_iter().collect::<Result<_, _>>()?;
        let process = start_ggsn(candidate, &ggsn, &directory, &gi)?;
        let log = directory.join("ggsn.log");
        let [at_sgsn, at_ggsn] = [address::GN_SGSN, address::GN_GGSN].map(|of| of.parse().map_err(text));
        let gn = Gn { sgsn: at_sgsn?, ggsn: at_ggsn? };
        let created = inside(sgsn.name(), || contexts::create(candidate.contexts, gn, stop));
        let mut stage = Self {
            mode: String::new(),
            tunnels: Vec::new(),
            spenders: Spenders { receivers },
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
        let load = load(way, &self.tunnels)?;
        let (from, sink) = match way {
            Way::Up => (self.sgsn.name(), self.sinks.first()),
            Way::Down => (self.host.name(), self.sinks.get(1)),
        };
        let sink = sink.ok_or("no sink")?;
        let send = || load.send(pps, lasting, stop);
        self.spenders.measure(Some(&mut self.process), (from, sink), (lasting, send), stop)
    }
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
    command.args(["-c", FORWARDER_CORE]);
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

#[cfg(test)]
mod tests {
    use super::*;

    const XDP: Candidate = Candidate { name: "xdp", forwards: Forwards::GannetXdp, contexts: 1 };

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
        let tun = lines(Forwards::GannetTun);
        assert!(tun.contains("\n user-plane tun\n") && !tun.contains("qos"));
    }

    #[test]
    fn each_subscriber_is_in_one_group_and_each_group_has_a_stream() {
        let candidate = Candidate { forwards: Forwards::GannetTunQueues, contexts: 1000, ..XDP };
        let config = candidate.config(Path::new("/s"), "i0");
        assert!(
            config.contains("\n user-plane tun\n subscriber-group g0\n  imsi 001010000000000-"),
            "{config}"
        );
        let ranges: Vec<gannet_proto::flow_rule::ImsiRange> = config
            .lines()
            .filter_map(|line| line.strip_prefix("  imsi "))
            .map(|range| range.parse().unwrap())
            .collect();
        for number in 0..1000 {
            let imsi = contexts::imsi(number).parse().unwrap();
            assert_eq!(ranges.iter().filter(|range| range.contains(imsi)).count(), 1, "{number}");
        }
        for stream in 0..9 {
            assert!(config.contains(&format!(" in gi group g{stream} stream s{stream}\n")), "{config}");
            assert_eq!(config.matches(&format!("\n   stream s{stream} ")).count(), 1);
        }
    }
}
