//! Short and long N-PDUs beside those of 378 octets: what one core forwards of each.

use crate::ed::peers::bssgp_octets;
use crate::measure::bench::Bench;
use crate::measure::loads::KBPS;
use crate::measure::saturation::cap;
use crate::measure::{Candidate, Setup};
use serde_json::json;

/// Octets of an N-PDU, and where the search begins, as a part of what was found with 378.
const OCTETS: [(u16, f64); 2] = [(100, 1.0), (1400, 0.75)];
/// Octets of NS-UNITDATA's header, and of UDP's and IPv4's below it.
const BELOW: u16 = 4 + 8 + 20;

/// As many packets/s of each mobile as with 378 octets, and cells that leave room for them.
fn setup(bench: &Bench<'_>, octets: u16) -> Setup {
    let mut setup = bench.setup(u32::from(octets) * KBPS / 378);
    (setup.octets, setup.cells) = (octets, setup.cells * 3);
    setup
}

/// Saturation without exceeding traffic, for each length; no bound is set for it. `drop_pps` is the bare drop rate, `s0` what
/// `gannet-xdp` did with 378 octets.
///
/// # Errors
/// The chain's.
pub fn measure(bench: &mut Bench<'_>, drop_pps: f64, s0: f64) -> Result<(), String> {
    let sizes = bench.sizes;
    let candidates: &[Candidate] = if sizes.quick {
        bench.sizes.repetitions = 1;
        &[Candidate::Xdp]
    } else {
        &[Candidate::Xdp, Candidate::Fifo, Candidate::Reuseport]
    };
    for (octets, part) in OCTETS {
        let setup = setup(bench, octets);
        let mut runners = bench.start(candidates, &setup)?;
        let guess = part * if s0.is_finite() && s0 > 0.0 { s0 } else { 350_000.0 };
        let found = bench.saturations(&mut runners, &setup, 0.0, &|_| guess, cap(drop_pps, 0.0))?;
        let mut said = Vec::new();
        for (runner, found) in runners.iter().zip(&found) {
            said.push(format!("{} {}", runner.candidate, found.pps.kpps()));
            bench.cell(
                vec![
                    ("candidate", json!(runner.candidate.name())),
                    ("what", json!("median saturation")),
                    ("octets", json!(octets)),
                    ("bssgp_octets", json!(bssgp_octets(&setup))),
                    ("gb_octets", json!(bssgp_octets(&setup) + BELOW)),
                ],
                vec![("pps".to_owned(), found.pps.json()), ("capped".to_owned(), json!(found.capped))],
            );
        }
        // No bound is set, so that nothing is claimed.
        bench.remarks.push(format!(
            "saturation with N-PDUs of {octets} octets, {} on Gb: {}",
            bssgp_octets(&setup) + BELOW,
            said.join(", ")
        ));
    }
    let here = bench.setup(KBPS);
    let on_gb = bssgp_octets(&here) + BELOW;
    bench.remarks.push(format!(
        "N-PDUs of {} octets unless another length is named: BSSGP PDUs of {}, IPv4 packets of {on_gb} on Gb",
        here.octets,
        bssgp_octets(&here)
    ));
    bench.sizes = sizes;
    Ok(())
}
