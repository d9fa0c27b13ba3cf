//! `gannet demo-ms`.

use crate::lab_command::peer;
use crate::numbers::whole;
use clap::Args;
use gannet_lab::demo::Peer;
use gannet_lab::demo_ms::{self, Options};
use gannet_lab::testbed;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;

/// What the demo of the mobile station can be asked.
#[derive(Debug, Args)]
pub struct DemoMsArguments {
    /// Who is the SGSN: gannet or osmo-sgsn
    #[arg(long, default_value = "gannet")]
    sgsn: String,
    /// Who is the GGSN: osmo-ggsn or gannet
    #[arg(long, default_value = "osmo-ggsn")]
    ggsn: String,
    /// Octets of the download
    #[arg(long, default_value_t = 8 << 20, value_parser = whole(1 << 19..=1_usize << 30))]
    octets: usize,
    /// Where configurations, logs and captures go
    #[arg(long, default_value = "out/demo-ms")]
    out: PathBuf,
}

/// Runs it.
///
/// # Errors
/// A sentence for the person.
pub fn run(arguments: &DemoMsArguments) -> Result<ExitCode, String> {
    let mut options = Options {
        gannet: std::env::current_exe().map_err(|error| error.to_string())?,
        sgsn: peer(&arguments.sgsn, "osmo-sgsn")?,
        ggsn: peer(&arguments.ggsn, "osmo-ggsn")?,
        download_octets: arguments.octets,
        out: arguments.out.clone(),
        progress: std::io::stderr().is_terminal(),
    };
    let is_missing = |asked, name| asked == Peer::Osmocom && !testbed::is_installed(name);
    if is_missing(options.sgsn, "osmo-sgsn") {
        return Err("osmo-sgsn was asked for and is not installed".to_owned());
    }
    if is_missing(options.ggsn, "osmo-ggsn") {
        gannet_rt::outln!("NOTE: osmo-ggsn is not installed; this run uses gannet ggsn instead");
        options.ggsn = Peer::Gannet;
    }
    let outcome = demo_ms::run(&options).map_err(|error| error.to_string())?;
    gannet_rt::out!("{}", outcome.table());
    gannet_rt::outln!("configurations, logs and captures are in {}", options.out.display());
    Ok(if outcome.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
