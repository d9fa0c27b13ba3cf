//! One chain of this experiment: one mobile and a BSS with RLC/MAC, an SGSN, a GGSN, and a host.

use super::air;
use super::kind::{Air, Kind};
use crate::demo::chain::Chain;
use crate::demo::stage::{PATIENCE, Stage};
use crate::demo::{SEED, configs};
use crate::http;
use crate::report::Options;
use crate::testbed::{self, TestbedError};
use gannet_machine::rng::Rng;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// The congestion control of both ends, by their routes: a namespace's own may only be one that the machine allows to everybody.
pub(super) const CONGESTION: &str = "cubic";
/// Longer than any TBF stays, at the network too: 2 s for the end of a TCP connection, 2 s without data, 0.3 s to the last poll, T3192 (1.5 s
/// behind osmo-bsc), and 0.1 s more at osmo-pcu. An access of the mobile before that finds its old TBF there: osmo-pcu then gives
/// another timeslot uplink, and three downlink.
const IDLE: Duration = Duration::from_secs(8);
/// From an answer to the next ping, and up to so much more at random: pings must keep step neither with the multiframe nor with the
/// polls.
pub(super) const BETWEEN_PINGS: Duration = Duration::from_secs(1);
pub(super) const JITTER: Duration = Duration::from_millis(270);

fn text(error: impl core::fmt::Display) -> String {
    error.to_string()
}

/// How much is done in one round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Amounts {
    pub(super) rounds: u32,
    /// Pings of each size.
    pub(super) pings: u32,
    /// Octets of a download and of an upload.
    pub(super) down_octets: usize,
    pub(super) up_octets: usize,
}

/// What one round has given: times in ms, rates in kbit/s.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// Of a ping of 56 octets while no TBF is there.
    pub(super) first_ms: f64,
    /// Of those after it.
    pub(super) pings_ms: Vec<f64>,
    /// The same with 32 octets.
    pub(super) short_pings_ms: Vec<f64>,
    /// Pings that nobody answered.
    pub(super) lost: u32,
    pub(super) down_kbps: f64,
    pub(super) up_kbps: f64,
}

/// A chain whose mobile has an active context.
pub(super) struct Bed {
    chain: Chain,
    air: Air,
    amounts: Amounts,
    dice: Rng,
}

impl Bed {
    pub(super) fn start(
        Kind { setting, air, cores }: Kind,
        number: usize,
        amounts: Amounts,
        options: &Options,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, String> {
        let directory = options.out.join("radio-interop").join(format!("chain-{number}"));
        let directory = testbed::empty_directory(&directory).map_err(text)?;
        let gannet = std::env::current_exe().map_err(text)?;
        let stage = Stage::new(&gannet, &directory, Arc::clone(stop)).map_err(text)?;
        let mut chain = Chain::new(stage, &format!("{number}-")).map_err(text)?;
        let (mobiles, ggsn) = (configs::address::MOBILES, configs::address::GI_GGSN);
        let route = ["route", "replace", mobiles, "via", ggsn, "congctl", CONGESTION];
        chain.host.ip(&route).map_err(text)?;
        chain.start_ggsn(cores.1, amounts.down_octets).map_err(text)?;
        // N201-U is 500 octets everywhere.
        chain.start_sgsn(cores.0, 1, "").map_err(text)?;
        air::start(air, &mut chain, setting).map_err(text)?;
        let upload = http::content(SEED, amounts.up_octets);
        std::fs::write(chain.stage.file("upload.bin"), upload).map_err(text)?;
        Ok(Self { chain, air, amounts, dice: Rng::seeded(options.seed ^ number as u64) })
    }

    pub(super) fn wait(&mut self) -> Result<(), String> {
        let until = Instant::now() + PATIENCE;
        while air::active(self.air, &self.chain) != 1 {
            self.chain.stage.check().map_err(text)?;
            self.chain.stage.in_time(until, "activation of a PDP context").map_err(text)?;
            std::thread::sleep(Duration::from_millis(100));
        }
        let (host, device) = (configs::address::GI_HOST, configs::TUN_OF_FIRST_MOBILE);
        self.chain.ms.ip(&["route", "add", host, "dev", device, "congctl", CONGESTION]).map_err(text)
    }

    pub(super) fn round(&mut self) -> Result<Round, String> {
        let mut round = Round::default();
        self.rest(IDLE)?;
        let first = self.ping(56)?;
        round.first_ms = first.unwrap_or(f64::NAN);
        round.lost = u32::from(first.is_none());
        let jitter_ns = u64::try_from(JITTER.as_nanos()).unwrap_or(u64::MAX);
        for _ in 0..self.amounts.pings {
            for (octets, times) in [(56, &mut round.pings_ms), (32, &mut round.short_pings_ms)] {
                let jitter = Duration::from_nanos(self.dice.below(jitter_ns));
                self.rest(BETWEEN_PINGS + jitter)?;
                let answered = self.ping(octets)?;
                round.lost += u32::from(answered.is_none());
                times.extend(answered);
            }
        }
        self.rest(IDLE)?;
        round.down_kbps = self.download()?;
        self.rest(IDLE)?;
        round.up_kbps = self.upload()?;
        Ok(round)
    }

    fn rest(&mut self, time: Duration) -> Result<(), String> {
        let until = Instant::now() + time;
        loop {
            self.chain.stage.check().map_err(text)?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(Duration::from_millis(100)));
        }
    }

    /// One ping; `None` where no answer comes.
    fn ping(&self, octets: u32) -> Result<Option<f64>, String> {
        match self.chain.ping(1, octets, "1") {
            Ok(said) => Ok(time_ms(&said)),
            Err(TestbedError::Failed { message, .. }) if message.contains(" 0 received") => Ok(None),
            Err(error) => Err(text(error)),
        }
    }

    fn download(&self) -> Result<f64, String> {
        let path = self.chain.stage.file("download.bin");
        let format = "%{size_download} %{time_starttransfer} %{time_total}";
        let rate = self.transfer(&path, format, &[])?;
        let expected = http::content(SEED, self.amounts.down_octets);
        is_whole(&std::fs::read(&path).map_err(text)?, &expected, "download").map(|()| rate)
    }

    fn upload(&self) -> Result<f64, String> {
        let path = self.chain.stage.file("answer");
        let file = self.chain.stage.file("upload.bin").to_string_lossy().into_owned();
        let format = "%{size_upload} %{time_pretransfer} %{time_total}";
        let rate = self.transfer(&path, format, &["-T", &file, "-H", "Expect:"])?;
        let expected = format!("{}\n", http::sha256(&http::content(SEED, self.amounts.up_octets)));
        is_whole(&std::fs::read(&path).map_err(text)?, expected.as_bytes(), "upload").map(|()| rate)
    }

    /// Runs curl, which writes what comes to a file, and gives the rate of what it prints by the format.
    fn transfer(&self, to: &Path, format: &str, more: &[&str]) -> Result<f64, String> {
        let (to, url) = (to.to_string_lossy(), format!("http://{}/", configs::address::GI_HOST));
        let arguments = http::curl_arguments(configs::TUN_OF_FIRST_MOBILE, &to, format, &url);
        let said = self.chain.stage.output_of(&self.chain.ms, "curl", &[&arguments, more].concat());
        let said = said.map_err(text)?;
        kbps(&said).ok_or_else(|| format!("curl printed '{said}'"))
    }
}

/// The round trip in ms, from what `ping` printed.
pub(super) fn time_ms(said: &str) -> Option<f64> {
    said.split_once(" time=")?.1.split(' ').next()?.parse().ok()
}

/// From octets, and the times in s at which they begin and end.
pub(super) fn kbps(said: &str) -> Option<f64> {
    let numbers: Vec<f64> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match numbers.as_slice() {
        [octets, from, to] if to > from && *octets > 0.0 => Some(octets * 8.0 / 1000.0 / (to - from)),
        _ => None,
    }
}

fn is_whole(came: &[u8], expected: &[u8], what: &str) -> Result<(), String> {
    if came == expected { Ok(()) } else { Err(format!("the {what} is not what was sent")) }
}
