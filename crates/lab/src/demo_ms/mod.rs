//! The mobile station, shown: a Linux machine reaches the GGSN through an access point, pings and downloads, and changes its
//! bearer three times during the download.
//!
//! Two network namespaces stand for two machines, the phone and the network, joined by an Ethernet link and an IP network.
//! Every node runs as a process of its own with its own configuration file.

mod configs;
mod download;
mod outcome;

use crate::demo::stage::{PATIENCE, Stage};
use crate::demo::{self, Peer};
use crate::http;
use crate::ms_control;
use crate::testbed::{Namespace, TestbedError};
pub use download::Lasted;
use download::{Downloaded, Events};
pub use outcome::Outcome;
use std::path::{Path, PathBuf};
use std::sync::Arc;
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

/// Runs the demo and takes everything down again.
///
/// # Errors
/// What did not work, with the last words of the node concerned.
pub fn run(options: &Options) -> Result<Outcome, TestbedError> {
    let mut stage = Stage::begin(&options.gannet, &options.out, options.progress)?;
    stage.step("network namespaces and links")?;
    let (phone, core) = (Namespace::new("phone")?, Namespace::new("core")?);
    Demo { options, until: Instant::now(), stage, phone, core }.play()
}

struct Demo<'a> {
    options: &'a Options,
    /// Until when the change under way must be over.
    until: Instant,
    // Processes end before their namespaces go: fields are dropped in this order.
    stage: Stage,
    phone: Namespace,
    core: Namespace,
}

impl Demo<'_> {
    fn play(mut self) -> Result<Outcome, TestbedError> {
        let options = self.options;
        self.connect()?;
        self.stage.step("GGSN")?;
        self.stage.start_ggsn(options.ggsn, &self.core)?;
        self.stage.step("SGSN")?;
        self.stage.start_sgsn(options.sgsn, &self.core, 1, demo::configs::LONG_FRAMES)?;
        self.stage.step("access point")?;
        let config = self.stage.config("ap.cfg", &configs::access_point(options.sgsn))?;
        self.stage.start_own("ap", &self.core, &config)?;
        self.stage.step("mobile station")?;
        let config = self.stage.config("ms.cfg", &configs::mobile_station(&self.socket(), options.sgsn))?;
        self.stage.start_own("ms", &self.phone, &config)?;
        self.stage.step("attach and PDP context activation")?;
        let address = self.wait_for_address()?;
        self.stage.step("ping")?;
        let arguments = ["-n", "-c", "10", "-i", "0.2", "-W", "5", "-I", configs::DEVICE, configs::HOST];
        let pinged = self.stage.output_of(&self.phone, "ping", &arguments)?;
        let mut outcome = Outcome::new(options, &address, &pinged)?;
        self.stage.step("download, with three changes of bearer")?;
        let downloaded = self.download()?;
        let expected = http::sha256(&http::content(demo::SEED, options.download_octets));
        let (_, address) = self.cell_and_address();
        let counters = ["/proc/net/snmp", "/proc/net/netstat"];
        outcome.tcp(&self.core.output_of("cat", &counters)?, &self.phone.output_of("cat", &counters)?);
        outcome.download(downloaded, &expected, address.unwrap_or_else(|| "none".to_owned()));
        self.collect(&mut outcome)?;
        self.stage.end();
        Ok(outcome)
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
        self.stage.file("ms.sock")
    }

    /// The state of the mobile, as `gannet ms ctl --json status` has it; `None` while there is none.
    fn status(&self) -> Option<serde_json::Value> {
        let answer = ms_control::ask(&self.socket(), "json 1 status", PATIENCE).ok()?;
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
        let until = Instant::now() + PATIENCE;
        loop {
            self.stage.check()?;
            if let (Some(0), Some(address)) = self.cell_and_address() {
                return Ok(address);
            }
            self.stage.in_time(until, "activation of the PDP context")?;
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn download(&mut self) -> Result<Downloaded, TestbedError> {
        let octets = self.options.download_octets as u64;
        self.stage.start_host(&self.core, configs::HOST, self.options.download_octets)?;
        if self.options.sgsn == Peer::Osmocom {
            // osmo-sgsn sends to the old cell until user data comes from the new one, and a download alone may stand still.
            let arguments = ["-n", "-q", "-i", "0.2", "-I", configs::DEVICE, configs::HOST];
            self.stage.start("pings", &self.phone, Path::new("ping"), &arguments)?;
        }
        let url = format!("http://{}/", configs::HOST);
        let mut curl = self.phone.command(Path::new("curl"));
        curl.args(http::curl_arguments(configs::DEVICE, "-", "", &url));
        // The server may still be on its way.
        curl.args(["--retry", "20", "--retry-connrefused", "--retry-delay", "1"]);
        let places = [octets / 4, octets / 2, octets / 4 * 3];
        let stop = Arc::clone(self.stage.stop());
        download::download(&mut curl, &places, self, &stop)
    }

    fn collect(&mut self, outcome: &mut Outcome) -> Result<(), TestbedError> {
        self.stage.check()?;
        let drops = |namespace: &Namespace, address| self.stage.vty(namespace, address, "show drops");
        if self.options.sgsn == Peer::Gannet {
            outcome.drops("sgsn", &drops(&self.core, demo::configs::address::SGSN_VTY)?);
        }
        outcome.drops("ap", &drops(&self.core, configs::AP_VTY)?);
        outcome.drops("ms", &drops(&self.phone, configs::MS_VTY)?);
        Ok(())
    }
}

impl Events for Demo<'_> {
    fn begin(&mut self, event: usize) -> Result<(), TestbedError> {
        let Some(change) = CHANGES.get(event) else { return Ok(()) };
        self.stage.say(format!("download: {}", change.name));
        self.until = Instant::now() + PATIENCE;
        match change.act {
            Act::PullCable => self.core.ip(&["link", "set", configs::ETHERNET, "down"]),
            Act::Prefer(words) => {
                let (program, socket) = (self.stage.gannet().to_string_lossy(), self.socket());
                let socket = socket.to_string_lossy();
                let mut arguments = vec!["ms", "ctl", "--socket", &socket, "prefer"];
                arguments.extend(words.split(' '));
                self.phone.output_of(&program, &arguments).map(drop)
            }
        }
    }

    fn is_over(&mut self, event: usize) -> Result<bool, TestbedError> {
        self.stage.check()?;
        let Some(change) = CHANGES.get(event) else { return Ok(true) };
        if self.cell_and_address().0 == Some(change.cell) {
            return Ok(true);
        }
        self.stage.in_time(self.until, change.name).map(|()| false)
    }
}
