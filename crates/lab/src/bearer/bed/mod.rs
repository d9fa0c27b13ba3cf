//! Where an experiment runs: a mobile's host, a line, and the network behind it, each in a network namespace of its own.
//!
//! ```text
//! phone: un0, ack0 ─ gannet ms ─ eth0 ── near [line] far ── eth0 ─ gannet ap ─ gannet sgsn ─ gannet ggsn ─ apn0 :network
//!             hop0 ─ bare hop ── eth0 ── near [line] far ── eth0 ─ bare hop ─ hop0
//! ```
//!
//! Without GPRS the same packets go from `eth0` to `eth0`. All ways are there at once, so that runs of them alternate.

mod ask;
mod others;
mod setup;

use super::configs::{self, BEARERS, GGSN_DEVICE, Mode, NETWORK, PHONE, Parameters, Waiting};
use super::line::{self, Conditions, ENDS, Emulated, Kind};
use super::text;
use crate::iperf::{self, Carried};
use crate::link::Account;
use crate::testbed::{self, Namespace, Process};
use crate::way::Way;
pub use ask::SentAgain;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use setup::Place;
pub use setup::{Nodes, Processes, Setup, Through};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long attach and activation may take, and of each of many mobiles besides.
const READY_WITHIN: Duration = Duration::from_secs(30);
const READY_EACH: Duration = Duration::from_millis(500);
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
    waiting: Waiting,
    /// The processes at the mobile's end of ways without GPRS.
    near: Vec<(Through, u32)>,
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
            waiting: Waiting::AtTheBearer,
            near: Vec::new(),
        };
        bed.prepare().map_err(text)?;
        for (number, line) in (0..).zip(&bed.lines) {
            bed.join(number, line).map_err(text)?;
        }
        bed.set_line(conditions)?;
        let iperf3 = bed.start("iperf3", Place::Network, Path::new("iperf3"), &["-s", "-J"])?;
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
                for words in line::token_bucket(line.kind, device) {
                    let words: Vec<&str> = words.iter().map(String::as_str).collect();
                    namespace.output_of("tc", &words)?;
                }
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

    /// Pulls the cable of this bearer out at both ends, or plugs it in again.
    ///
    /// # Errors
    /// What the machine does not permit.
    pub fn plug(&self, device: &str, is_in: bool) -> Result<(), String> {
        let state = if is_in { "up" } else { "down" };
        let line = self.lines.iter().find(|line| line.device == device && line.kind.is_emulated());
        let middle = &line.ok_or_else(|| format!("{device} has no cable that can be pulled out"))?.middle;
        ENDS.iter().try_for_each(|end| middle.ip(&["link", "set", end, state]).map_err(text))
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

    fn config_file(&self, role: &str, config: &str) -> Result<String, String> {
        let file = self.directory.join(format!("{role}.cfg"));
        std::fs::write(&file, config).map_err(text)?;
        Ok(file.to_string_lossy().into_owned())
    }

    /// A process of ours with these words behind the program's name.
    fn start_own(&mut self, name: &'static str, place: Place, words: &[&str]) -> Result<u32, String> {
        let program = std::env::current_exe().map_err(text)?;
        let process = self.start(name, place, &program, words)?;
        let pid = process.pid();
        self.processes.push(process);
        Ok(pid)
    }

    /// GGSN, SGSN and access point. The processes, that of the access point last.
    fn start_network(&mut self, parameters: &Parameters, processes: Processes) -> Result<Vec<u32>, String> {
        let state = self.directory.clone();
        let files = [
            ("ggsn", self.config_file("ggsn", &configs::ggsn(&state))?),
            (
                "sgsn",
                self.config_file(
                    "sgsn",
                    &configs::sgsn(&state, parameters, (processes.poll(), self.waiting)),
                )?,
            ),
            ("ap", self.config_file("ap", &configs::access_point(&self.bearers(), self.waiting))?),
        ];
        let [(_, ggsn), (_, sgsn), (_, ap)] = &files;
        match processes {
            Processes::Four => {
                let each = files
                    .iter()
                    .map(|(role, file)| self.start_own(role, Place::Network, &[role, "-c", file]));
                each.collect()
            }
            Processes::Core | Processes::PollingCore => {
                let words = ["core", "--sgsn", sgsn, "--ggsn", ggsn, "--ap", ap];
                Ok(vec![self.start_own("core", Place::Network, &words)?])
            }
        }
    }

    /// What is for a mobile waits there, of nodes that start from here on.
    pub const fn wait_at(&mut self, waiting: Waiting) {
        self.waiting = waiting;
    }

    /// Starts the four nodes and waits until both contexts answer.
    ///
    /// # Errors
    /// With the last words of a node that has ended.
    pub fn start_nodes(
        &mut self,
        (parameters, processes): (&Parameters, Processes),
        stop: &AtomicBool,
    ) -> Result<Nodes, String> {
        let before = self.processes.len();
        let network = self.start_network(parameters, processes)?;
        let socket = self.directory.join(SOCKET);
        let config = configs::mobile_station(&socket, &self.bearers(), (parameters, 1), processes.poll());
        let config = self.config_file("ms", &config)?;
        let ms = self.start_own("ms", Place::Phone, &["ms", "-c", &config])?;
        for mode in Mode::BOTH {
            let what = format!("{} context", mode.name());
            self.wait_for((&what, READY_WITHIN), stop, |bed| {
                let devices = bed.phone.output_of("ip", &["-brief", "-4", "address"]).map_err(text)?;
                Ok(devices.lines().any(|line| line.starts_with(mode.device()) && line.contains('/')))
            })?;
            self.wait_for((&what, READY_WITHIN), stop, |bed| {
                let ping = ["-n", "-c", "1", "-W", "1", mode.host()];
                Ok(bed.phone.run("ping", &ping).map_err(text)?.status.success())
            })?;
        }
        let mtu = parameters.mtu.to_string();
        self.network.ip(&["link", "set", GGSN_DEVICE, "mtu", &mtu]).map_err(text)?;
        self.go_first(before)?;
        Ok(Nodes { before, mtu: parameters.mtu, ms, network })
    }

    /// Starts the four nodes with so many mobiles in one process, and waits until all contexts have devices: name and address of each.
    ///
    /// # Errors
    /// With the last words of a node that has ended.
    pub fn start_crowd(
        &mut self,
        (parameters, mobiles): (&Parameters, u32),
        stop: &AtomicBool,
    ) -> Result<(Nodes, Vec<(String, String)>), String> {
        let before = self.processes.len();
        let network = self.start_network(parameters, Processes::Four)?;
        let socket = self.directory.join(SOCKET);
        let config = configs::mobile_station(&socket, &self.bearers(), (parameters, mobiles), false);
        let config = self.config_file("ms", &config)?;
        let ms = self.start_own("ms", Place::Phone, &["ms", "-c", &config])?;
        let wanted = mobiles as usize * Mode::BOTH.len();
        let within = READY_WITHIN + READY_EACH * mobiles;
        self.wait_for((&format!("{wanted}th context"), within), stop, |bed| {
            Ok(bed.devices()?.len() >= wanted)
        })?;
        self.go_first(before)?;
        Ok((Nodes { before, mtu: parameters.mtu, ms, network }, self.devices()?))
    }

    /// The devices of contexts that have an address, and that.
    fn devices(&self) -> Result<Vec<(String, String)>, String> {
        let said = self.phone.output_of("ip", &["-brief", "-4", "address"]).map_err(text)?;
        let of_line = |line: &str| {
            let mut words = line.split_whitespace();
            let device =
                words.next().filter(|name| Mode::BOTH.iter().any(|mode| name.starts_with(mode.prefix())))?;
            let (address, _) = words.nth(1)?.split_once('/')?;
            Some((device.to_owned(), address.to_owned()))
        };
        Ok(said.lines().filter_map(of_line).collect())
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

    /// One connection from the mobile's namespace. Where iperf3 loses the connection over which it controls the other, nothing was
    /// measured: it is made once more, and told.
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
        let once = || Carried::read(&self.phone.output_unless(stop, "timeout", &arguments).map_err(text)?);
        once().or_else(|why| {
            if !iperf::lost_control(&why) {
                return Err(why);
            }
            eprintln!("{why}; once more");
            once()
        })
    }

    /// One connection, and the full segments that it has carried for each second of processor time of the process at the mobile's
    /// end; not a number where there is no process.
    ///
    /// # Errors
    /// What iperf3 says, or the last words of what has ended.
    pub fn connect_timed(
        &mut self,
        nodes: &Nodes,
        through: Through,
        connection: (&str, Way),
        (seconds, omitted): (u32, u32),
        stop: &AtomicBool,
    ) -> Result<(Carried, f64), String> {
        let near = self.near.iter().find(|(other, _)| *other == through).map(|(_, pid)| *pid);
        let process = near.or_else(|| through.is_gprs().then_some(nodes.ms));
        let spent = || process.map_or(Ok(Duration::ZERO), |pid| gannet_rig::cpu_time_of(pid).map_err(text));
        let before = spent()?;
        let carried = self.connect(through, connection, (seconds, omitted), stop)?;
        let spent = spent()?.saturating_sub(before).as_secs_f64();
        self.check()?;
        // The processor time is that of the seconds before as well.
        let octets = carried.octets * f64::from(seconds + omitted) / f64::from(seconds.max(1));
        let segments = octets / through.segment(nodes.mtu);
        Ok((carried, if spent > 0.0 { segments / spent } else { f64::NAN }))
    }

    /// The nodes go before what else the machine does, as a kernel's stack would.
    fn go_first(&self, before: usize) -> Result<(), String> {
        if !self.is_preempting() {
            return Ok(());
        }
        let mut own = self.processes.iter().skip(before);
        own.try_for_each(|process| gannet_rig::set_preempting(Some(process.pid()), RANK).map_err(text))
    }

    fn wait_for(
        &mut self,
        (what, within): (&str, Duration),
        stop: &AtomicBool,
        is_there: impl Fn(&Self) -> Result<bool, String>,
    ) -> Result<(), String> {
        let until = Instant::now() + within;
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
                let within = within.as_secs();
                return Err(format!("no {what} within {within} s\n{}", words.join("\n")));
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

    /// The mobile's namespace.
    pub const fn phone(&self) -> &Namespace {
        &self.phone
    }

    /// The network's.
    pub const fn network(&self) -> &Namespace {
        &self.network
    }
}
