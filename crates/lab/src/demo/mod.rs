//! The main job, shown: mobiles attach, activate PDP contexts, ping a host behind the GGSN and download from it.
//!
//! Four network namespaces stand for four machines: the Gb side with its mobiles, the SGSN, the GGSN, and a host.
//! Every node runs as a process of its own with its own configuration file, exactly as a person would start it.
//! SGSN and GGSN may be Gannet's or Osmocom's: nothing else changes.

pub(crate) mod configs;
pub(crate) mod outcome;

use crate::http;
use crate::testbed::{self, Namespace, Process, TestbedError};
use indicatif::{ProgressBar, ProgressStyle};
pub use outcome::Outcome;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Who stands in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// Our own.
    Gannet,
    /// Osmocom's, from Debian.
    Osmocom,
}

/// What the demo is asked for.
#[derive(Debug, Clone)]
pub struct Options {
    /// The program `gannet` itself.
    pub gannet: PathBuf,
    /// Who is the SGSN.
    pub sgsn: Peer,
    /// Who is the GGSN.
    pub ggsn: Peer,
    /// The version of GTP between them, 0 or 1.
    pub gtp_version: u8,
    /// The word of `ingress` in the configuration of our SGSN.
    pub ingress: String,
    /// How many mobiles attach.
    pub mobiles: u32,
    /// Octets of the download.
    pub download_octets: usize,
    /// Cell changes of the first mobile meanwhile, within its routing area.
    pub cell_changes: u32,
    /// Where configurations, logs and the capture go.
    pub out: PathBuf,
    /// Show a progress bar.
    pub progress: bool,
}

pub(crate) const SEED: u64 = 1;
/// From one cell change to the next.
const BETWEEN_CHANGES: Duration = Duration::from_millis(500);

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
    // Processes end before their namespaces go: fields are dropped in this order.
    processes: Vec<Process>,
    ms: Namespace,
    sgsn: Namespace,
    ggsn: Namespace,
    host: Namespace,
}

impl<'a> Stage<'a> {
    fn new(options: &'a Options, stop: Arc<AtomicBool>) -> Result<Self, TestbedError> {
        let bar = if options.progress { ProgressBar::new(8) } else { ProgressBar::hidden() };
        if let Ok(style) = ProgressStyle::with_template("[{bar:30}] {pos}/{len} {msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        let namespace = |label| Namespace::new(label);
        Ok(Self {
            options,
            stop,
            bar,
            processes: Vec::new(),
            ms: namespace("ms")?,
            sgsn: namespace("sgsn")?,
            ggsn: namespace("ggsn")?,
            host: namespace("host")?,
        })
    }

    fn play(mut self) -> Result<Outcome, TestbedError> {
        self.step("network namespaces and links")?;
        self.connect()?;
        self.step("GGSN")?;
        self.start_ggsn()?;
        self.step("SGSN")?;
        self.start_sgsn()?;
        self.step("cells and mobiles")?;
        self.start_bss()?;
        self.step("attach and PDP context activation")?;
        let mut outcome = self.wait_for_mobiles()?;
        self.step("ping")?;
        outcome.ping(&self.ms.output_unless(&self.stop, "ping", &Self::ping_arguments())?)?;
        self.step("download")?;
        self.download(&mut outcome)?;
        self.step("counters")?;
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
        use configs::address as a;
        testbed::join((&self.ms, "gb0", a::GB_BSS_PREFIX), (&self.sgsn, "gb0", a::GB_SGSN_PREFIX))?;
        testbed::join((&self.sgsn, "gn0", a::GN_SGSN_PREFIX), (&self.ggsn, "gn0", a::GN_GGSN_PREFIX))?;
        testbed::join((&self.ggsn, "gi0", a::GI_GGSN_PREFIX), (&self.host, "gi0", a::GI_HOST_PREFIX))?;
        self.host.ip(&["route", "add", a::MOBILES, "via", a::GI_GGSN])?;
        self.ggsn.enable_forwarding()
    }

    fn config(&self, name: &str, text: &str) -> Result<PathBuf, TestbedError> {
        let path = self.options.out.join(name);
        std::fs::write(&path, text)?;
        Ok(path)
    }

    fn start(
        &mut self,
        name: &str,
        namespace: &str,
        program: &Path,
        arguments: &[&str],
    ) -> Result<(), TestbedError> {
        let namespace = match namespace {
            "ms" => &self.ms,
            "sgsn" => &self.sgsn,
            "ggsn" => &self.ggsn,
            _ => &self.host,
        };
        let mut command = namespace.command(program);
        command.args(arguments);
        let process = Process::start(name, &mut command, &self.options.out.join(format!("{name}.log")))?;
        self.processes.push(process);
        Ok(())
    }

    fn start_ggsn(&mut self) -> Result<(), TestbedError> {
        let config = self.config("ggsn.cfg", &configs::ggsn(&self.options.out))?;
        let config = config.to_string_lossy().into_owned();
        let gannet = self.options.gannet.clone();
        match self.options.ggsn {
            Peer::Gannet => self.start("ggsn", "ggsn", &gannet, &["ggsn", "-c", &config])?,
            Peer::Osmocom => self.start("ggsn", "ggsn", Path::new("osmo-ggsn"), &["-c", &config])?,
        }
        let octets = self.options.download_octets.to_string();
        let bind = format!("{}:80", configs::address::GI_HOST);
        let arguments = ["lab", "serve", "--bind", &bind, "--octets", &octets, "--seed", "1"];
        self.start("host", "host", &gannet, &arguments)
    }

    fn start_sgsn(&mut self) -> Result<(), TestbedError> {
        let of_its_own = match self.options.sgsn {
            Peer::Gannet => format!("{} ingress {}\n", configs::LONG_FRAMES, self.options.ingress),
            Peer::Osmocom => String::new(),
        };
        let text = configs::sgsn(&self.options.out, self.options.gtp_version, &of_its_own);
        let config = self.config("sgsn.cfg", &text)?;
        let config = config.to_string_lossy().into_owned();
        let capture = self.options.out.join("sgsn.pcapng").to_string_lossy().into_owned();
        let gannet = self.options.gannet.clone();
        match self.options.sgsn {
            Peer::Gannet => self.start("sgsn", "sgsn", &gannet, &["sgsn", "-c", &config, "--pcap", &capture]),
            Peer::Osmocom => self.start("sgsn", "sgsn", Path::new("osmo-sgsn"), &["-c", &config]),
        }
    }

    fn start_bss(&mut self) -> Result<(), TestbedError> {
        let config =
            self.config("bss.cfg", &configs::bss(self.options.mobiles, self.options.cell_changes > 0))?;
        let config = config.to_string_lossy().into_owned();
        let capture = self.options.out.join("bss.pcapng").to_string_lossy().into_owned();
        let gannet = self.options.gannet.clone();
        self.start("bss", "ms", &gannet, &["bss", "-c", &config, "--pcap", &capture])
    }

    fn vty(&self, namespace: &Namespace, address: &str, command: &str) -> Result<String, TestbedError> {
        let program = self.options.gannet.to_string_lossy().into_owned();
        namespace.output_of(&program, &["vty", address, command])
    }

    fn wait_for_mobiles(&mut self) -> Result<Outcome, TestbedError> {
        let seconds = 60;
        let until = Instant::now() + Duration::from_secs(seconds);
        loop {
            self.check()?;
            let text = self.vty(&self.ms, configs::address::BSS_VTY, "show mobile").unwrap_or_default();
            let outcome = Outcome::of_mobiles(self.options, &text);
            if outcome.active == self.options.mobiles {
                return Ok(outcome);
            }
            self.bar
                .set_message(format!("{} of {} mobiles are active", outcome.active, self.options.mobiles));
            if Instant::now() > until {
                let what =
                    format!("activation of {} mobiles ({} are active)", self.options.mobiles, outcome.active);
                return Err(TestbedError::Late { what, seconds, hint: self.where_to_look() });
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn where_to_look(&self) -> String {
        let mut hint = format!("; logs are in {}", self.options.out.display());
        for process in &self.processes {
            let words = process.last_words();
            if !words.is_empty() {
                hint.push_str(&format!("\n--- {}\n{words}", process.name()));
            }
        }
        hint
    }

    fn ping_arguments() -> [&'static str; 10] {
        [
            "-n",
            "-c",
            "10",
            "-i",
            "0.2",
            "-W",
            "5",
            "-I",
            configs::TUN_OF_FIRST_MOBILE,
            configs::address::GI_HOST,
        ]
    }

    fn download(&mut self, outcome: &mut Outcome) -> Result<(), TestbedError> {
        let file = self.options.out.join("download.bin").to_string_lossy().into_owned();
        let url = format!("http://{}/", configs::address::GI_HOST);
        let format = "%{size_download} %{time_total}";
        let arguments = http::curl_arguments(configs::TUN_OF_FIRST_MOBILE, &file, format, &url);
        let done = AtomicBool::new(false);
        let (printed, changed) = std::thread::scope(|scope| {
            let changes = scope.spawn(|| self.change_cells(&done));
            let printed = self.ms.output_unless(&self.stop, "curl", &arguments);
            done.store(true, Ordering::Relaxed);
            (printed, changes.join())
        });
        let printed = printed?;
        outcome.cell_changes = changed.unwrap_or(Ok(0))?;
        let expected = http::sha256(&http::content(SEED, self.options.download_octets));
        outcome.download(&printed, &http::sha256(&std::fs::read(&file)?), &expected)
    }

    /// The first mobile changes cells until the download is done, as often as was asked for. Gives how often it did.
    fn change_cells(&self, done: &AtomicBool) -> Result<u32, TestbedError> {
        for change in 0..self.options.cell_changes {
            let until = Instant::now() + BETWEEN_CHANGES;
            while Instant::now() < until {
                if done.load(Ordering::Relaxed) {
                    return Ok(change);
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            let command = format!("mobile 1 cell {}", (change + 1) % configs::CELLS);
            self.vty(&self.ms, configs::address::BSS_VTY, &command)?;
        }
        Ok(self.options.cell_changes)
    }

    fn collect(&mut self, outcome: &mut Outcome) -> Result<(), TestbedError> {
        self.check()?;
        match self.options.sgsn {
            Peer::Gannet => {
                let text = self.vty(&self.sgsn, configs::address::SGSN_VTY, "show drops")?;
                outcome.counters("sgsn", &text);
                let text = self.vty(&self.sgsn, configs::address::SGSN_VTY, "show stats")?;
                outcome.packets(&text);
                let text = self.vty(&self.sgsn, configs::address::SGSN_VTY, "show pdp-context all")?;
                outcome.contexts_at_sgsn(&text);
            }
            Peer::Osmocom => {}
        }
        let text = self.vty(&self.ms, configs::address::BSS_VTY, "show drops")?;
        outcome.counters("bss", &text);
        Ok(())
    }
}

/// What Debian's packages do not have here: Osmocom's programs that were asked for and are missing.
#[must_use]
pub fn missing(options: &Options) -> Vec<&'static str> {
    [("osmo-sgsn", options.sgsn), ("osmo-ggsn", options.ggsn)]
        .into_iter()
        .filter(|(name, peer)| *peer == Peer::Osmocom && !testbed::is_installed(name))
        .map(|(name, _)| name)
        .collect()
}
