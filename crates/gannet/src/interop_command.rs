//! `gannet interop`.

use crate::numbers::whole;
use clap::Args;
use gannet_lab::demo::Peer;
use gannet_lab::interop::{self, ALL, Line, Options, Verdict};
use std::path::PathBuf;
use std::process::ExitCode;

/// What is to be tried with whom.
#[derive(Debug, Args)]
pub struct InteropArguments {
    /// Who is the SGSN
    #[arg(long, default_value = "both", value_parser = ["gannet", "osmo-sgsn", "both"])]
    sgsn: String,
    /// This scenario; may be given several times, and all run without it
    #[arg(long)]
    only: Vec<String>,
    /// How long Osmocom's BSS stays at our SGSN; 0 ends each phase at once
    #[arg(long, default_value_t = 10, value_parser = whole(0..=10_080_u32))]
    minutes: u32,
    /// How many scenarios run beside each other
    #[arg(long, default_value_t = 3, value_parser = whole(1..=32_u8))]
    jobs: u8,
    /// Where configurations, logs and captures go
    #[arg(long, default_value = "out/interop")]
    out: PathBuf,
    /// Only say which scenarios there are
    #[arg(long)]
    list: bool,
}

/// Runs them: a line for each, and a failure where one has failed.
///
/// # Errors
/// A sentence for the person.
pub fn run(arguments: &InteropArguments) -> Result<ExitCode, String> {
    if arguments.list {
        ALL.iter().for_each(|scenario| gannet_rt::outln!("{:<18} {}", scenario.name, scenario.description));
        return Ok(ExitCode::SUCCESS);
    }
    let sgsns = match arguments.sgsn.as_str() {
        "gannet" => vec![Peer::Gannet],
        "osmo-sgsn" => vec![Peer::Osmocom],
        _ => vec![Peer::Osmocom, Peer::Gannet],
    };
    let options = Options {
        gannet: std::env::current_exe().map_err(|error| error.to_string())?,
        sgsns,
        only: arguments.only.clone(),
        minutes: arguments.minutes,
        jobs: arguments.jobs.into(),
        out: arguments.out.clone(),
    };
    gannet_rt::outln!("{}", interop::versions());
    let lines =
        interop::run(&options, &|line| gannet_rt::outln!("{line}")).map_err(|error| error.to_string())?;
    gannet_rt::outln!("{}", summary(&lines));
    gannet_rt::outln!("configurations, logs and captures are in {}", options.out.display());
    let failed = lines.iter().any(|line| matches!(line.verdict, Verdict::Failed(_)));
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn summary(lines: &[Line]) -> String {
    let mut counts = [0_u32; 4];
    for line in lines {
        let [ok, differ, failed, skipped] = &mut counts;
        match line.verdict {
            Verdict::Ok(_) => *ok += 1,
            Verdict::Differs(..) => *differ += 1,
            Verdict::Failed(_) => *failed += 1,
            Verdict::Skipped(_) => *skipped += 1,
        }
    }
    let [ok, differ, failed, skipped] = counts;
    format!("{ok} ok, {differ} differ as interop/README.md says, {failed} failed, {skipped} skipped")
}
