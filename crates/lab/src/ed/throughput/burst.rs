//! gannet-xdp and osmo-sgsn under a burst of the same size.

use crate::measure::bench::{Axis, Bench};
use crate::measure::loads::KBPS as KBPS_OF_XDP;
use crate::measure::osmo::setup;
use crate::measure::stats::Samples;
use crate::measure::{Candidate, Setup};
use crate::report::at_least;
use serde_json::json;

/// Packets of the burst in which osmo-sgsn is compared.
const BURST: f64 = 24_000.0;
/// Of saturation, how fast the burst comes towards gannet-xdp: faster than it is taken, since time in which it finds nothing
/// would count as busy too.
const OF_S0: f64 = 1.25;
/// Packets/s of that burst towards osmo-sgsn: what it takes without filling its socket or its queues of 30 PDUs a cell.
const OSMO_PPS: f64 = 40_000.0;

/// Packets for each second that the core was busy, of gannet-xdp and osmo-sgsn, in bursts of the same size.
///
/// osmo-sgsn sleeps between packets, so that its busy time is known from the kernel; gannet-xdp polls, so that all of the
/// time in which the burst comes counts as busy, and what it has delivered by the end of that time counts as done. `bare` is what a loop without any protocol
/// forwards: no SGSN on this machine could do more.
///
/// # Errors
/// Where a chain does not start or fails.
pub(super) fn measure(bench: &mut Bench<'_>, s0: f64, bare: &Samples) -> Result<(), String> {
    let its = setup(bench);
    let own = Setup { users: bench.sizes.users.min(1000), kbps: KBPS_OF_XDP * 10, ..its.clone() };
    let setups = [(Candidate::Xdp, own), (Candidate::Osmo, its)];
    let mut runners = Vec::new();
    for (candidate, setup) in &setups {
        runners.extend(bench.start(&[*candidate], setup)?);
    }
    // Where one is missing there is nothing to compare, and the row shows nothing.
    let repetitions = if runners.len() < 2 { 0 } else { bench.sizes.repetitions };
    let (mut rates, mut sustained) = ([Samples::default(), Samples::default()], Samples::default());
    for repetition in 0..repetitions {
        for ((runner, rates), (candidate, setup)) in runners.iter_mut().zip(&mut rates).zip(&setups) {
            let is_osmo = *candidate == Candidate::Osmo;
            let pps = if is_osmo { OSMO_PPS } else { OF_S0 * s0 };
            let axis = |what: &str| -> Axis {
                vec![
                    ("candidate", json!(candidate.name())),
                    ("what", json!(what)),
                    ("repetition", json!(repetition)),
                ]
            };
            let mut offer = bench.mix(setup, pps, 0.0);
            (offer.warm_up_s, offer.window_s) = (0.0, BURST / pps);
            let step = bench.turn(runner, |bench, chain| bench.step(chain, &axis("burst"), &offer))?;
            let busy_s = if is_osmo { step.core.busy_s } else { step.window_s };
            rates.push(step.delivered_pps() * step.window_s / busy_s);
            if is_osmo {
                let offer = bench.mix(setup, pps, 0.0);
                let step =
                    bench.turn(runner, |bench, chain| bench.step(chain, &axis("sustained"), &offer))?;
                sustained.push(step.delivered_pps() * step.window_s / step.core.busy_s);
            }
        }
    }
    let [xdp, osmo] = rates;
    let ratio = xdp.median() / osmo.median();
    bench.claim(
        "packets for each CPU-second in a burst of the same size",
        "How many packets a second of the core's time is worth, beside osmo-sgsn in the same place; both get a burst that they can take.",
        None,
        format!(
            "{ratio:.1} times osmo-sgsn's ({} / {}; osmo-sgsn sustained {}); the bare AF_XDP loop {:.1} times",
            xdp.kpps(),
            osmo.kpps(),
            sustained.kpps(),
            bare.median() / osmo.median()
        ),
        "at least 6 times".to_owned(),
        at_least(ratio, 6.0),
    );
    Ok(())
}
