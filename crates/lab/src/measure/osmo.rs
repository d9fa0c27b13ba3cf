//! osmo-sgsn as a candidate: where it runs, within which limits, and why not elsewhere.
//!
//! It looks for mobiles and contexts in lists, one after the other, so that ten thousand of them measure the lists; it holds
//! thirty LL-PDUs for each cell; it has no counters of its drops. So it gets a chain of its own with few mobiles, each of
//! which may have much.

use super::bench::{Bench, Sizes};
use super::{Candidate, Setup};

/// Mobiles and cells.
const SIZE: (u32, u32) = (100, 20);
/// What each mobile negotiates: together some 50,000 packets/s of 378 octets, about what it forwards.
const KBPS: u32 = 1_600;

/// What it can bear.
#[must_use]
pub fn setup(bench: &Bench<'_>) -> Setup {
    let mut setup = bench.setup(KBPS);
    (setup.users, setup.cells, setup.ms_rate) = (setup.users.min(SIZE.0), SIZE.1, 1.3);
    setup
}

/// Packets/s at which a search for its saturation begins.
pub const GUESS_PPS: f64 = 20_000.0;

/// Does something for it alone; in a quick run, which no bound of its own has to pass, once.
///
/// # Errors
/// Those of the action.
pub fn alone<R>(
    bench: &mut Bench<'_>,
    action: impl FnOnce(&mut Bench<'_>, &Setup) -> Result<R, String>,
) -> Result<R, String> {
    let sizes = bench.sizes;
    bench.sizes = Sizes { repetitions: if sizes.quick { 1 } else { sizes.repetitions }, ..sizes };
    let setup = setup(bench);
    if bench.lab.missing(Candidate::Osmo).is_none() {
        let (users, cells, kbps) = (setup.users, setup.cells, setup.kbps);
        bench
            .remarks
            .push(format!("osmo-sgsn: {users} mobiles of {kbps} kbit/s in {cells} cells, without policing"));
    }
    let result = action(bench, &setup);
    bench.sizes = sizes;
    result
}

/// It has no part in an experiment, for this reason.
pub fn absent(bench: &mut Bench<'_>, why: &str) {
    bench.remarks.push(format!("osmo-sgsn has no part in this: {why}"));
}
