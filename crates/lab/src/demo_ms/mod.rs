//! The mobile station, shown: a Linux machine reaches the GGSN through an access point, pings and downloads, and changes its
//! bearer three times during the download.
//!
//! Two network namespaces stand for two machines, the phone and the network, joined by an Ethernet link and an IP network.
//! Every node runs as a process of its own with its own configuration file.

mod configs;
mod download;
mod outcome;

use crate::demo::{self, Peer};
use crate::http;
use crate::ms_control;
use crate::testbed::{self, Namespace, Process, TestbedError};
pub use download::Lasted;
use download::{Downloaded, Events};
use indicatif::{ProgressBar, ProgressStyle};
pub use outcome::Outcome;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What the demo is asked for.
#[derive(Debug, Clone)]
pub struct Options {
    /// The program `gannet` itself.
    pub gannet: PathBuf,
    /// Who is the SGSN.
    pub sgsn: Peer,
    /// Who is the GGSN.
    pub ggsn: Peer,
    /// Octets of the download.
    pub download_octets: usize,
    /// Where configurations, logs and the capture go.
    pub out: PathBuf,
    /// Show a progress bar.
    pub progress: bool,
}

/// How a change of bearer is brought about.
#[derive(Debug, Clone, Copy)]
enum Act {
    /// `gannet ms ctl prefer` with these words.
    Prefer(&'static str),
    /// The Ethernet link goes down at the far end.
    PullCable,
}

/// A change of bearer, and the cell in which the mobile is afterwards.
#[derive(Debug, Clone, Copy)]
struct Change {
    name: &'static str,
    act: Act,
    cell: u64,
}

/// At a quarter, a half and three quarters of the download.
const CHANGES: [Change; 3] = [
    Change { name: "to UDP by order", act: Act::Prefer(configs::UDP), cell: 1 },
    Change { name: "to Ethernet by order", act: Act::Prefer("configured"), cell: 0 },
    Change { name: "to UDP, cable pulled", act: Act::PullCable, cell: 1 },
];

/// How long anything may take, in seconds.
const PATIENCE_S: u64 = 60;

/// Runs the demo and takes everything down again.
///
/// # Errors
/// What did not work, with the last words of the node concerned.
pub fn run(options: &Options) -> Result<Outcome, TestbedError> {
    let stop = testbed::stop_on_signals()?;
    std::fs::create_dir_all(&options.out)?;
    testbed::remove_leftovers();
    Stage::new(options, stop)?.play()
}

struct Stage<'a> {
    options: &'a Options,
    stop: Arc<AtomicBool>,
    bar: ProgressBar,
    /// Until when the change under way must be over.
    until: Instant,
    // Processes end before their namespaces go: fields are dropped in this order.
    processes: Vec<Process>,
    phone: Namespace,
    core: Namespace,
}

impl<'a> Stage<'a> {
    fn new(options: &'a Options, stop: Arc<AtomicBool>) -> Result<Self, TestbedError> {
        let bar = if options.progress { ProgressBar::new(8) } else { ProgressBar::hidden() };
        if let Ok(style) = ProgressStyle::with_template("[{bar:30}] {pos}/{len} {msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        let (phone, core) = (Namespace::new("phone")?, Namespace::new("core")?);
        Ok(Self { options, stop, bar, until: Instant::now(), processes: Vec::new(), phone, core })
    }

    fn play(mut self) -> Result<Outcome, TestbedError> {
        self.step("network namespaces and links")?;
        self.connect()?;
        self.step("GGSN")?;
        self.start_ggsn()?;
        self.step("SGSN")?;
        self.start_sgsn()?;
        self.step("access point")?;
        let config = self.config("ap.cfg", &configs::access_point(self.options.sgsn))?;
        self.start_own("ap", &config, "core")?;
        self.step("mobile station")?;
        let config = self.config("ms.cfg", &configs::mobile_station(&self.socket(), self.options.sgsn))?;
        self.start_own("ms", &config, "phone")?;
        self.step("attach and PDP context activation")?;
        let address = self.wait_for_address()?;
        self.step("ping")?;
        let arguments = ["-n", "-c", "10", "-i", "0.2", "-W", "5", "-I", configs::DEVICE, configs::HOST];
        let pinged = self.phone.output_unless(&self.stop, "ping", &arguments)?;
        let mut outcome = Outcome::new(self.options, &address, &pinged)?;
        self.step("download, with three changes of bearer")?;
        let downloaded = self.download()?;
        let expected = http::sha256(&http::content(demo::SEED, self.options.download_octets));
        let (_, address) = self.cell_and_address();
        let counters = ["/proc/net/snmp", "/proc/net/netstat"];
        outcome.tcp(&self.core.output_of("cat", &counters)?, &self.phone.output_of("cat", &counters)?);
        outcome.download(downloaded, &expected, address.unwrap_or_else(|| "none".to_owned()));
        self.collect(&mut outcome)?;
        self.bar.finish_and_clear();
        for process in self.processes.iter_mut().rev() {
            process.stop();
        }
        Ok(outcome)
    }

    fn step(&mut self, what: &str) -> Result<(), TestbedError> {
        self.bar.inc(1);
        self.bar.set_message(what.to_owned());
        if !self.options.progress {
            eprintln!("demo: {what}");
        }
        self.check()
    }

    fn check(&mut self) -> Result<(), TestbedError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(TestbedError::Interrupted);
        }
        self.processes.iter_mut().try_for_each(Process::check)
    }

    fn connect(&self) -> Result<(), TestbedError> {
        let (core, ethernet, lan) = (self.core.name(), configs::ETHERNET, configs::LAN);
        for device in [ethernet, lan] {
            let add = ["link", "add", device, "type", "veth", "peer", "name", device, "netns", core];
            self.phone.ip(&add)?;
            for namespace in [&self.phone, &self.core] {
                namespace.ip(&["link", "set", device, "up"])?;
            }
        }
        self.phone.output_of("sh", &["-c", configs::RECEIVE_BUFFERS])?;
        self.phone.ip(&["address", "add", configs::LAN_PHONE, "dev", lan])?;
        self.core.ip(&["address", "add", configs::LAN_NETWORK, "dev", lan])?;
        configs::OF_CORE
            .iter()
            .try_for_each(|address| self.core.ip(&["address", "add", &format!("{address}/32"), "dev", "lo"]))
    }

    fn socket(&self) -> PathBuf {
        self.options.out.join("ms.sock")
    }

    fn config(&self, name: &str, text: &str) -> Result<String, TestbedError> {
        let path = self.options.out.join(name);
        std::fs::write(&path, text)?;
        Ok(path.to_string_lossy().into_owned())
    }

    fn start(
        &mut self,
        name: &str,
        namespace: &str,
        program: &Path,
        arguments: &[&str],
    ) -> Result<(), TestbedError> {
        let namespace = if namespace == "phone" { &self.phone } else { &self.core };
        let mut command = namespace.command(program);
        command.args(arguments);
        let process = Process::start(name, &mut command, &self.options.out.join(format!("{name}.log")))?;
        self.processes.push(process);
        Ok(())
    }

    /// A node of ours, with a capture.
    fn start_own(&mut self, role: &str, config: &str, namespace: &str) -> Result<(), TestbedError> {
        let capture = self.options.out.join(format!("{role}.pcapng")).to_string_lossy().into_owned();
        let gannet = self.options.gannet.clone();
        self.start(role, namespace, &gannet, &[role, "-c", config, "--pcap", &capture])
    }

    fn start_ggsn(&mut self) -> Result<(), TestbedError> {
        let config = self.config("ggsn.cfg", &demo::configs::ggsn(&self.options.out))?;
        match self.options.ggsn {
            Peer::Gannet => self.start_own("ggsn", &config, "core"),
            Peer::Osmocom => self.start("ggsn", "core", Path::new("osmo-ggsn"), &["-c", &config]),
        }
    }

    fn start_sgsn(&mut self) -> Result<(), TestbedError> {
        let of_its_own = match self.options.sgsn {
            Peer::Gannet => demo::configs::LONG_FRAMES,
            Peer::Osmocom => "",
        };
        let text = demo::configs::sgsn(&self.options.out, 1, of_its_own);
        let config = self.config("sgsn.cfg", &text)?;
        match self.options.sgsn {
            Peer::Gannet => self.start_own("sgsn", &config, "core"),
            Peer::Osmocom => self.start("sgsn", "core", Path::new("osmo-sgsn"), &["-c", &config]),
        }
    }

    /// The state of the mobile, as `gannet ms ctl --json status` has it; `None` while there is none.
    fn status(&self) -> Option<serde_json::Value> {
        let within = Duration::from_secs(PATIENCE_S);
        let answer = ms_control::ask(&self.socket(), "json 1 status", within).ok()?;
        serde_json::from_str(&answer).ok()
    }

    /// The cell, and the address of the device where it is up.
    fn cell_and_address(&self) -> (Option<u64>, Option<String>) {
        let status = self.status().unwrap_or_default();
        let cell = status.pointer("/0/cell").and_then(serde_json::Value::as_u64);
        let address = status.pointer("/0/devices/0/ipv4").and_then(serde_json::Value::as_str);
        (cell, address.map(str::to_owned))
    }

    /// The address, once the mobile is in the cell of its first choice.
    fn wait_for_address(&mut self) -> Result<String, TestbedError> {
        let until = Instant::now() + Duration::from_secs(PATIENCE_S);
        loop {
            self.check()?;
            if let (Some(0), Some(address)) = self.cell_and_address() {
                return Ok(address);
            }
            self.in_time(until, "activation of the PDP context")?;
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn in_time(&self, until: Instant, what: &str) -> Result<(), TestbedError> {
        if Instant::now() < until {
            return Ok(());
        }
        let mut hint = format!("; logs are in {}", self.options.out.display());
        for process in &self.processes {
            hint.push_str(&format!("\n--- {}\n{}", process.name(), process.last_words()));
        }
        Err(TestbedError::Late { what: what.to_owned(), seconds: PATIENCE_S, hint })
    }

    fn download(&mut self) -> Result<Downloaded, TestbedError> {
        let octets = self.options.download_octets as u64;
        let bind = format!("{}:80", configs::HOST);
        let of_server = ["lab", "serve", "--bind", &bind, "--octets", &octets.to_string(), "--seed", "1"];
        let gannet = self.options.gannet.clone();
        self.start("host", "core", &gannet, &of_server)?;
        if self.options.sgsn == Peer::Osmocom {
            // osmo-sgsn sends to the old cell until user data comes from the new one, and a download alone may stand still.
            let arguments = ["-n", "-q", "-i", "0.2", "-I", configs::DEVICE, configs::HOST];
            self.start("pings", "phone", Path::new("ping"), &arguments)?;
        }
        let url = format!("http://{}/", configs::HOST);
        let mut curl = self.phone.command(Path::new("curl"));
        curl.args(http::curl_arguments(configs::DEVICE, "-", "", &url));
        // The server may still be on its way.
        curl.args(["--retry", "20", "--retry-connrefused", "--retry-delay", "1"]);
        let places = [octets / 4, octets / 2, octets / 4 * 3];
        let stop = Arc::clone(&self.stop);
        download::download(&mut curl, &places, self, &stop)
    }

    fn vty(&self, namespace: &Namespace, address: &str) -> Result<String, TestbedError> {
        let program = self.options.gannet.to_string_lossy().into_owned();
        namespace.output_of(&program, &["vty", address, "show drops"])
    }

    fn collect(&mut self, outcome: &mut Outcome) -> Result<(), TestbedError> {
        self.check()?;
        if self.options.sgsn == Peer::Gannet {
            outcome.drops("sgsn", &self.vty(&self.core, demo::configs::address::SGSN_VTY)?);
        }
        outcome.drops("ap", &self.vty(&self.core, configs::AP_VTY)?);
        outcome.drops("ms", &self.vty(&self.phone, configs::MS_VTY)?);
        Ok(())
    }
}

impl Events for Stage<'_> {
    fn begin(&mut self, event: usize) -> Result<(), TestbedError> {
        let Some(change) = CHANGES.get(event) else { return Ok(()) };
        self.bar.set_message(format!("download: {}", change.name));
        self.until = Instant::now() + Duration::from_secs(PATIENCE_S);
        match change.act {
            Act::PullCable => self.core.ip(&["link", "set", configs::ETHERNET, "down"]),
            Act::Prefer(words) => {
                let (program, socket) = (self.options.gannet.to_string_lossy(), self.socket());
                let socket = socket.to_string_lossy();
                let mut arguments = vec!["ms", "ctl", "--socket", &socket, "prefer"];
                arguments.extend(words.split(' '));
                self.phone.output_of(&program, &arguments).map(drop)
            }
        }
    }

    fn is_over(&mut self, event: usize) -> Result<bool, TestbedError> {
        self.check()?;
        let Some(change) = CHANGES.get(event) else { return Ok(true) };
        if self.cell_and_address().0 == Some(change.cell) {
            return Ok(true);
        }
        self.in_time(self.until, change.name).map(|()| false)
    }
}
