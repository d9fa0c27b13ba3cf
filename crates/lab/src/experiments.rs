//! The experiments by name.

use crate::report::{Options, Report};

/// One experiment.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it shows, in a line.
    pub description: &'static str,
    /// Runs it.
    pub run: fn(&Options) -> Result<Report, String>,
}

/// All of them.
pub const ALL: &[Experiment] = &[Experiment {
    name: "world",
    description: "1,000 mobiles in 100 cells for a simulated hour with 5 % loss on Gb: everything adds up",
    run: crate::world::run,
}];
