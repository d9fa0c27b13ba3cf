//! The main job, shown: mobiles attach, activate PDP contexts, ping a host behind the GGSN and download from it.
//!
//! Four network namespaces stand for four machines: the Gb side with its mobiles, the SGSN, the GGSN, and a host.
//! Every node runs as a process of its own with its own configuration file, exactly as a person would start it.
//! SGSN and GGSN may be Gannet's or Osmocom's: nothing else changes.

pub(crate) mod chain;
pub(crate) mod configs;
pub(crate) mod outcome;
pub(crate) mod stage;

use crate::http;
use crate::testbed::{self, TestbedError};
use chain::Chain;
pub use outcome::Outcome;
use stage::{PATIENCE, Stage};
use std::path::PathBuf;
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

impl Peer {
    /// Its name, where that of Osmocom is given.
    #[must_use]
    pub const fn name(self, osmocom: &'static str) -> &'static str {
        match self {
            Self::Gannet => "gannet",
            Self::Osmocom => osmocom,
        }
    }
}

/// The radio of the cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Radio {
    /// A rate and a delay.
    Emulated,
    /// RLC/MAC: rate and round trips are those of GPRS.
    RlcMac,
}

impl Radio {
    /// Octets of a download that takes half a minute.
    #[must_use]
    pub const fn download_octets(self) -> usize {
        match self {
            Self::Emulated => 1 << 20,
            Self::RlcMac => 1 << 17,
        }
    }

    /// Seconds from one ping to the next, for `ping`: with RLC/MAC one is answered before the next one goes.
    const fn between_pings(self) -> &'static str {
        match self {
            Self::Emulated => "0.2",
            Self::RlcMac => "1",
        }
    }
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
    /// The radio of the cells.
    pub radio: Radio,
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
    let mut stage = Stage::begin(&options.gannet, &options.out, options.progress)?;
    stage.step("network namespaces and links")?;
    Demo { options, chain: Chain::new(stage, "")? }.play()
}

struct Demo<'a> {
    options: &'a Options,
    chain: Chain,
}

impl Demo<'_> {
    fn play(mut self) -> Result<Outcome, TestbedError> {
        let options = self.options;
        self.chain.stage.step("GGSN")?;
        self.chain.start_ggsn(options.ggsn, options.download_octets)?;
        self.chain.stage.step("SGSN")?;
        let of_its_own = format!("{} ingress {}\n", configs::LONG_FRAMES, options.ingress);
        self.chain.start_sgsn(options.sgsn, options.gtp_version, &of_its_own)?;
        self.chain.stage.step("cells and mobiles")?;
        let bss = configs::bss(options.mobiles, options.cell_changes > 0, configs::radio(options.radio));
        self.chain.start_bss(&bss)?;
        self.chain.stage.step("attach and PDP context activation")?;
        let mut outcome = self.wait_for_mobiles()?;
        self.chain.stage.step("ping")?;
        outcome.ping(&self.chain.ping(10, 56, options.radio.between_pings())?)?;
        self.chain.stage.step("download")?;
        self.download(&mut outcome)?;
        self.chain.stage.step("counters")?;
        self.collect(&mut outcome)?;
        self.chain.stage.end();
        Ok(outcome)
    }

    fn wait_for_mobiles(&mut self) -> Result<Outcome, TestbedError> {
        let until = Instant::now() + PATIENCE;
        let mobiles = self.options.mobiles;
        loop {
            self.chain.stage.check()?;
            let active = self.chain.active();
            if active == mobiles {
                return Ok(Outcome::new(self.options, active));
            }
            self.chain.stage.say(format!("{active} of {mobiles} mobiles are active"));
            self.chain
                .stage
                .in_time(until, &format!("activation of {mobiles} mobiles ({active} are active)"))?;
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn download(&self, outcome: &mut Outcome) -> Result<(), TestbedError> {
        let (chain, path) = (&self.chain, self.chain.stage.file("download.bin"));
        let (file, url) = (path.to_string_lossy(), format!("http://{}/", configs::address::GI_HOST));
        let format = "%{size_download} %{time_total}";
        let arguments = http::curl_arguments(configs::TUN_OF_FIRST_MOBILE, &file, format, &url);
        let done = AtomicBool::new(false);
        let (printed, changed) = std::thread::scope(|scope| {
            let changes = scope.spawn(|| self.change_cells(&done));
            let printed = chain.stage.output_of(&chain.ms, "curl", &arguments);
            done.store(true, Ordering::Relaxed);
            (printed, changes.join())
        });
        let printed = printed?;
        outcome.cell_changes = changed.unwrap_or(Ok(0))?;
        let expected = http::sha256(&http::content(SEED, self.options.download_octets));
        outcome.download(&printed, &http::sha256(&std::fs::read(&path)?), &expected)
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
            self.chain.of_bss(&format!("mobile 1 cell {}", (change + 1) % configs::CELLS))?;
        }
        Ok(self.options.cell_changes)
    }

    fn collect(&mut self, outcome: &mut Outcome) -> Result<(), TestbedError> {
        self.chain.stage.check()?;
        if self.options.sgsn == Peer::Gannet {
            outcome.counters("sgsn", &self.chain.of_sgsn("show drops")?);
            outcome.packets(&self.chain.of_sgsn("show stats")?);
            outcome.contexts_at_sgsn(&self.chain.of_sgsn("show pdp-context all")?);
        }
        outcome.counters("bss", &self.chain.of_bss("show drops")?);
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
