//! Experiments on this machine.

use super::real::RealLab;
use crate::measure::bench::{Bench, Sizes};
use crate::report::{Options, Report};
use std::sync::atomic::Ordering::Relaxed;

/// Runs an experiment on this machine, with the program itself as the SGSN under test.
///
/// # Errors
/// A sentence for the person.
pub fn run(
    name: &str,
    options: &Options,
    experiment: fn(&mut Bench<'_>) -> Result<(), String>,
) -> Result<Report, String> {
    run_ciphered(name, options, None, experiment)
}

/// The same with GEA of this number in place of the work that stands for it.
///
/// # Errors
/// As of [`run`].
pub fn run_ciphered(
    name: &str,
    options: &Options,
    gea: Option<u8>,
    experiment: fn(&mut Bench<'_>) -> Result<(), String>,
) -> Result<Report, String> {
    let gannet = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut lab = RealLab::new(gannet, &options.out.join(name))?;
    lab.go_first()?;
    let stop = lab.stop();
    let mut bench = Bench::new(&mut lab, Sizes::of(options.size), options.seed);
    bench.gea = gea;
    bench.against.clone_from(&options.against);
    experiment(&mut bench).map_err(|why| match stop.load(Relaxed) {
        true => {
            "interrupted: the SGSNs have ended, their namespaces are gone, and nothing was written".to_owned()
        }
        false => why,
    })?;
    Ok(bench.report(name, options))
}
