//! Where an experiment runs: a mobile's host, a line, and the network behind it, each in a network namespace of its own.
//!
//! ```text
//! phone: un0, ack0 ─ gannet ms ─ eth0 ── near [line] far ── eth0 ─ gannet ap ─ gannet sgsn ─ gannet ggsn ─ apn0 :network
//! ```
//!
//! Without GPRS the same packets go from `eth0` to `eth0`. Both ways are there at once, so that runs of both alternate.

use super::configs::{self, BEARERS, GGSN_DEVICE, Mode, NETWORK, PHONE, Parameters};
use super::line::{self, Conditions, ENDS, Emulated, Kind};
use super::text;
use crate::iperf::{self, Carried};
use crate::link::Account;
use crate::testbed::{self, Namespace, Process};
use crate::way::Way;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long attach and activation may take.
const READY_WITHIN: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The nodes' rank among threads that preempt others: below the line and the probes.
const RANK: u8 = 2;
/// A connection that lasts so many seconds longer than it should has failed.
const STANDS_S: u32 = 20;
/// Ethernet addresses of both ends, before the number of the line: nobody asks for them, as a question may be lost.
const MACS: [&str; 2] = ["02:00:00:00:01:0", "02:00:00:00:02:0"];
/// What a device may not do: a frame is a frame of the line, and its checksum is in it.
const OFF: [&str; 10] = ["tso", "off", "gso", "off", "gro", "off", "tx", "off", "tx-udp-segmentation", "off"];
/// The socket of `gannet ms ctl`.
const SOCKET: &str = "ms.sock";

/// A line, and where it is emulated.
#[derive(Debug)]
struct Line {
    emulated: Option<Emulated>,
    middle: Namespace,
    kind: Kind,
    device: &'static str,
}

/// The namespaces with their nodes.
#[derive(Debug)]
pub struct Bed {
    // What runs ends before the namespaces go: fields are dropped in this order.
    processes: Vec<Process>,
    lines: Vec<Line>,
    phone: Namespace,
    network: Namespace,
    directory: PathBuf,
}

impl Bed {
    /// Makes the namespaces, with a line of each kind between them and iperf3 at the far end. The plain way is the first.
    ///
    /// # Errors
    /// What the machine does not permit.
    pub fn new(label: &str, out: &Path, kinds: &[Kind], conditions: Conditions) -> Result<Self, String> {
        let directory = testbed::empty_directory(&out.join(format!("bearer-{label}"))).map_err(text)?;
        let namespace = |part: &str| Namespace::new(&format!("{label}-{part}")).map_err(text);
        let line = |(device, kind): (&&'static str, &Kind)| {
            let middle = namespace(&format!("line-{device}"))?;
            Ok(Line { emulated: None, middle, kind: *kind, device })
        };
        let mut bed = Self {
            processes: Vec::new(),
            lines: BEARERS.iter().zip(kinds).map(line).collect::<Result<_, String>>()?,
            phone: namespace("ms")?,
            network: namespace("net")?,
            directory,
        };
        bed.prepare().map_err(text)?;
        for (number, line) in (0..).zip(&bed.lines) {
            bed.join(number, line).map_err(text)?;
        }
        bed.set_line(conditions)?;
        let iperf3 = bed.start("iperf3", Place::Network, Path::new("iperf3"), &["-s"])?;
        bed.processes.push(iperf3);
        Ok(bed)
    }

    /// What holds of the namespaces as wholes.
    fn prepare(&self) -> Result<(), testbed::TestbedError> {
        // Nobody but the probes sends: no IPv6.
        let quiet = "test ! -e /proc/sys/net/ipv6 || echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6";
        let middles = self.lines.iter().map(|line| &line.middle);
        for each in [&self.phone, &self.network].into_iter().chain(middles) {
            each.output_of("sh", &["-c", quiet])?;
        }
        Mode::BOTH.iter().try_for_each(|mode| {
            self.network.ip(&["address", "add", &format!("{}/32", mode.host()), "dev", "lo"])
        })
    }

    /// Joins both namespaces by a line; by the first they have addresses.
    fn join(&self, number: usize, line: &Line) -> Result<(), testbed::TestbedError> {
        let [own, far] = MACS.map(|mac| format!("{mac}{number}"));
        let device = line.device;
        if !line.kind.is_emulated() {
            let pair = ["link", "add", device, "address", &own, "type", "veth", "peer", "name", device];
            self.phone.ip(&[&pair[..], &["address", &far, "netns", self.network.name()]].concat())?;
        }
        let ends = [(&self.phone, PHONE, &own, ENDS[0]), (&self.network, NETWORK, &far, ENDS[1])];
        for (namespace, address, mac, end) in ends {
            if line.kind.is_emulated() {
                let pair = ["link", "add", device, "address", mac, "type", "veth", "peer", "name", end];
                namespace.ip(&[&pair[..], &["netns", line.middle.name()]].concat())?;
                line.middle.ip(&["link", "set", end, "up"])?;
            } else {
                let words = line::token_bucket(device);
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                namespace.output_of("tc", &words)?;
            }
            namespace.output_of("ethtool", &[&["-K", device][..], &OFF].concat())?;
            namespace.ip(&["link", "set", device, "up"])?;
            if number == 0 {
                namespace.ip(&["address", "add", &format!("{address}/24"), "dev", device])?;
            }
        }
        if number > 0 {
            return Ok(());
        }
        self.phone.ip(&["neighbour", "add", NETWORK, "lladdr", &far, "dev", device])?;
        self.network.ip(&["neighbour", "add", PHONE, "lladdr", &own, "dev", device])
    }

    const fn at(&self, place: Place) -> &Namespace {
        match place {
            Place::Phone => &self.phone,
            Place::Network => &self.network,
        }
    }

    /// Lines like this in place of those that are there, whose accounts it gives.
    ///
    /// # Errors
    /// A sentence: that of a line before, or what the machine does not permit.
    pub fn set_line(&mut self, conditions: Conditions) -> Result<Vec<Account>, String> {
        let before = self.end_line()?;
        for line in self.lines.iter_mut().filter(|line| line.kind.is_emulated()) {
            line.emulated = Some(Emulated::start(&line.middle, line.kind, conditions)?);
        }
        Ok(before)
    }

    /// Ends the lines, and gives what they did.
    ///
    /// # Errors
    /// A sentence: what one could not do.
    pub fn end_line(&mut self) -> Result<Vec<Account>, String> {
        self.lines.iter_mut().filter_map(|line| line.emulated.take()).map(Emulated::end).collect()
    }

    /// The devices of the bearers, at both ends.
    fn bearers(&self) -> Vec<&'static str> {
        self.lines.iter().map(|line| line.device).collect()
    }

    fn start(&self, name: &str, place: Place, program: &Path, arguments: &[&str]) -> Result<Process, String> {
        let mut command = self.at(place).command(program);
        command.args(arguments).current_dir(&self.directory);
        Process::start(name, &mut command, &self.directory.join(format!("{name}.log"))).map_err(text)
    }

    /// A node of ours with its configuration.
    fn start_node(&mut self, role: &'static str, place: Place, config: &str) -> Result<u32, String> {
        let file = self.directory.join(format!("{role}.cfg"));
        std::fs::write(&file, config).map_err(text)?;
        let program = std::env::current_exe().map_err(text)?;
        let file = file.to_string_lossy();
        let process = self.start(role, place, &program, &[role, "-c", &file])?;
        let pid = process.pid();
        self.processes.push(process);
        Ok(pid)
    }

    /// Starts the four nodes and waits until both contexts answer.
    ///
    /// # Errors
    /// With the last words of a node that has ended.
    pub fn start_nodes(&mut self, parameters: &Parameters, stop: &AtomicBool) -> Result<Nodes, String> {
        let state = self.directory.clone();
        let before = self.processes.len();
        self.start_node("ggsn", Place::Network, &configs::ggsn(&state))?;
        self.start_node("sgsn", Place::Network, &configs::sgsn(&state, parameters))?;
        self.start_node("ap", Place::Network, &configs::access_point(&self.bearers()))?;
        let socket = self.directory.join(SOCKET);
        let config = configs::mobile_station(&socket, &self.bearers(), parameters);
        let ms = self.start_node("ms", Place::Phone, &config)?;
        for mode in Mode::BOTH {
            self.wait(stop, mode.name(), |bed| {
                let devices = bed.phone.output_of("ip", &["-brief", "-4", "address"]).map_err(text)?;
                Ok(devices.lines().any(|line| line.starts_with(mode.device()) && line.contains('/')))
            })?;
            self.wait(stop, mode.name(), |bed| {
                let ping = ["-n", "-c", "1", "-W", "1", mode.host()];
                Ok(bed.phone.run("ping", &ping).map_err(text)?.status.success())
            })?;
        }
        let mtu = parameters.mtu.to_string();
        self.network.ip(&["link", "set", GGSN_DEVICE, "mtu", &mtu]).map_err(text)?;
        self.go_first(before)?;
        Ok(Nodes { before, ms })
    }

    /// Ends the nodes, the mobile first.
    pub fn end_nodes(&mut self, nodes: &Nodes) {
        while self.processes.len() > nodes.before {
            if let Some(mut process) = self.processes.pop() {
                process.stop();
            }
        }
    }

    /// Whether nodes go before what else the machine does. Where a second's packets take all of a core that would leave nothing for the
    /// ends of connections.
    fn is_preempting(&self) -> bool {
        self.lines.iter().all(|line| line.kind.is_emulated())
    }

    /// One connection from the mobile's namespace.
    ///
    /// # Errors
    /// What iperf3 says.
    pub fn connect(
        &self,
        through: Through,
        (congestion, way): (&str, Way),
        (seconds, omitted): (u32, u32),
        stop: &AtomicBool,
    ) -> Result<Carried, String> {
        let of_client = iperf::arguments(through.host(), congestion, way, seconds, omitted);
        let longest = (seconds + omitted + STANDS_S).to_string();
        let mut arguments = vec![longest.as_str(), "iperf3"];
        arguments.extend(of_client.iter().map(String::as_str));
        Carried::read(&self.phone.output_unless(stop, "timeout", &arguments).map_err(text)?)
    }

    /// The nodes go before what else the machine does, as a kernel's stack would.
    fn go_first(&self, before: usize) -> Result<(), String> {
        if !self.is_preempting() {
            return Ok(());
        }
        let mut own = self.processes.iter().skip(before);
        own.try_for_each(|process| gannet_rig::set_preempting(Some(process.pid()), RANK).map_err(text))
    }

    fn wait(
        &mut self,
        stop: &AtomicBool,
        what: &str,
        is_there: impl Fn(&Self) -> Result<bool, String>,
    ) -> Result<(), String> {
        let until = Instant::now() + READY_WITHIN;
        while !is_there(self)? {
            self.check()?;
            if stop.load(Relaxed) {
                return Err("interrupted".to_owned());
            }
            if Instant::now() > until {
                let words: Vec<String> = self
                    .processes
                    .iter()
                    .map(|process| format!("--- {}\n{}", process.name(), process.last_words()))
                    .collect();
                let within = READY_WITHIN.as_secs();
                return Err(format!("no {what} context within {within} s\n{}", words.join("\n")));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// Whether everything still runs.
    ///
    /// # Errors
    /// With the last words of what has ended.
    pub fn check(&mut self) -> Result<(), String> {
        self.processes.iter_mut().try_for_each(Process::check).map_err(text)
    }

    /// The cell of the mobile, by its place among the bearers.
    ///
    /// # Errors
    /// What `gannet ms ctl` says.
    pub fn cell_of_mobile(&self) -> Result<Option<u64>, String> {
        let program = std::env::current_exe().map_err(text)?;
        let socket = self.directory.join(SOCKET);
        let (program, socket) = (program.to_string_lossy(), socket.to_string_lossy());
        let arguments = ["ms", "ctl", "--socket", &socket, "--json", "status"];
        let said = self.phone.output_of(&program, &arguments).map_err(text)?;
        let status: serde_json::Value = serde_json::from_str(&said).map_err(text)?;
        Ok(status.pointer("/0/cell").and_then(serde_json::Value::as_u64))
    }

    /// Segments that TCP in the network's namespace has sent again so far.
    ///
    /// # Errors
    /// The kernel does not count them.
    pub fn segments_sent_again(&self) -> Result<f64, String> {
        let said = self.network.output_of("cat", &["/proc/net/snmp"]).map_err(text)?;
        sent_again(&said).ok_or_else(|| "/proc/net/snmp has no RetransSegs".to_owned())
    }

    /// The mobile's namespace.
    pub const fn phone(&self) -> &Namespace {
        &self.phone
    }

    /// The network's.
    pub const fn network(&self) -> &Namespace {
        &self.network
    }
}

/// The nodes of a bed.
#[derive(Debug)]
pub struct Nodes {
    before: usize,
    /// The process of the mobile.
    pub ms: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Phone,
    Network,
}

/// A way of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Through {
    /// The bearer alone.
    Plain,
    /// A context in this mode.
    Gprs(Mode),
}

impl Through {
    /// The plain one first.
    pub const ALL: [Self; 3] =
        [Self::Plain, Self::Gprs(Mode::Unacknowledged), Self::Gprs(Mode::Acknowledged)];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Gprs(mode) => mode.name(),
        }
    }

    /// The far end.
    pub const fn host(self) -> &'static str {
        match self {
            Self::Plain => NETWORK,
            Self::Gprs(mode) => mode.host(),
        }
    }
}

/// RetransSegs of the lines about TCP, of which the first names what stands in the second.
fn sent_again(snmp: &str) -> Option<f64> {
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let place = lines.next()?.split(' ').position(|name| name == "RetransSegs")?;
    lines.next()?.split(' ').nth(place)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tcp_sent_again_is_found_by_its_name() {
        let snmp = "Ip: Forwarding InReceives\nIp: 1 7\nTcp: RtoAlgorithm OutSegs RetransSegs InErrs\nTcp: 1 500 42 0\n";
        assert_eq!(sent_again(snmp), Some(42.0));
        assert_eq!(sent_again("Tcp: RtoAlgorithm\nTcp: 1\n"), None);
    }
}
