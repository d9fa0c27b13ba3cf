//! Both ends together: a rule of an RFC each, and properties over paths that lose, double and reorder.

mod properties;
mod rules;

use super::config::Config;
use super::path::{Outcome, Path, Transfer, transfer};
use crate::link::model::{Loss, Profile};
use gannet_machine::time::Duration;

/// 1 Mbit/s and 50 ms each way.
fn profile() -> Profile {
    Profile { rate: Some(1_000_000), delay: Duration::from_millis(50), ..Profile::default() }
}

fn run(config: Config, there: Profile, octets: u64) -> Outcome {
    let transfer_of = Transfer { config, profiles: [there, profile()], octets, seed: 5, keeps_points: true };
    transfer(&transfer_of).unwrap_or_else(|error| panic!("{}: {error}", config.name))
}

fn path_of(config: &Config) -> Path {
    Path::new([config, config], [profile(); 2], 5, [u32::MAX - 20, 7])
}

/// The same, with random losses.
fn lossy(share: f64) -> Profile {
    Profile { loss: Loss::Random(share), ..profile() }
}
