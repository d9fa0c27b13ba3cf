//! `ed-flood`: packets for nobody, a quarter of what the machine could drop at all, beside good traffic at half load.

use crate::figure::{Curve, Panel, Scale, Style};
use crate::measure::account::{GroupCount, Step};
use crate::measure::bench::{Axis, Bench};
use crate::measure::loads::KBPS;
use crate::measure::saturation::cap;
use crate::measure::stats::Samples;
use crate::measure::{Candidate, osmo};
use crate::report::{at_least, at_most, greatest, least};
use serde_json::json;

/// Parts of the bare drop rate.
const FLOODS: [f64; 4] = [0.0, 0.05, 0.1, 0.25];
/// Good load, as a part of S0.
const LOAD: f64 = 0.5;
/// What good traffic keeps.
const KEPT: f64 = 0.99;
/// Its 99th percentile stays below, in µs.
const P99_US: f64 = 1000.0;

#[derive(Debug, Clone, Default)]
struct Kept {
    share: Samples,
    p99: Samples,
}

impl Kept {
    /// The worst of the groups; of whom nothing was delivered has no delay.
    fn note(&mut self, step: &Step) {
        let p99 = |group: &GroupCount| if group.delay.count > 0 { group.delay.p99_us } else { f64::NAN };
        self.share.push(least(step.groups.iter().map(|group| step.share(group))));
        self.p99.push(greatest(step.groups.iter().map(p99)));
    }
}

/// Measures.
///
/// # Errors
/// A sentence for the person.
pub fn experiment(bench: &mut Bench<'_>) -> Result<(), String> {
    osmo::absent(bench, "a flood that is sized by what a driver drops leaves it nothing to be compared by");
    let setup = bench.setup(KBPS);
    let drop_pps = bench.drop_rate(&setup)?.median();
    let mut runners = bench.start(&[Candidate::Xdp, Candidate::Fifo, Candidate::Reuseport], &setup)?;
    let found = bench.saturations(&mut runners, &setup, 0.0, &|_| 350_000.0, cap(drop_pps, 0.0))?;
    let mut kept = vec![vec![Kept::default(); FLOODS.len()]; runners.len()];
    for repetition in 0..bench.sizes.repetitions {
        for (at, part) in FLOODS.iter().copied().enumerate() {
            for ((runner, found), kept) in runners.iter_mut().zip(&found).zip(&mut kept) {
                let mut offer = bench.mix(&setup, LOAD * found.pps.median(), 0.0);
                offer.unknown_pps = part * drop_pps;
                let axis: Axis = vec![
                    ("candidate", json!(runner.candidate.name())),
                    ("what", json!("flood of unknown TEIDs")),
                    ("flood_part", json!(part)),
                    ("repetition", json!(repetition)),
                ];
                let step = bench.turn(runner, |bench, chain| bench.step(chain, &axis, &offer))?;
                if let Some(kept) = kept.get_mut(at) {
                    kept.note(&step);
                }
            }
        }
    }
    let worst = |candidate| {
        let at = runners.iter().position(|runner| runner.candidate == candidate);
        at.and_then(|at| kept.get(at)?.last().cloned()).unwrap_or_default()
    };
    let (xdp, fifo) = (worst(Candidate::Xdp), worst(Candidate::Fifo));
    bench.claim(
        "good traffic at half load under a flood of unknown TEIDs, a quarter of the bare drop rate",
        "What good users get of what they are entitled to beside the largest flood: who gets least.",
        None,
        format!(
            "keeps {:.2} % (gannet-fifo {:.1} %)",
            xdp.share.median() * 100.0,
            fifo.share.median() * 100.0
        ),
        "at least 99 %".to_owned(),
        at_least(xdp.share.median(), KEPT),
    );
    bench.claim(
        "its 99th percentile of delay",
        "The delay of good traffic beside the same flood, from the generator at Gn to the sink at Gb.",
        None,
        format!("{:.0} µs (gannet-fifo {:.0} µs)", xdp.p99.median(), fifo.p99.median()),
        "at most 1 ms".to_owned(),
        at_most(xdp.p99.median(), P99_US),
    );
    let candidates: Vec<Candidate> = runners.iter().map(|runner| runner.candidate).collect();
    drop(runners);
    draw(bench, &candidates, &kept);
    Ok(())
}

fn draw(bench: &mut Bench<'_>, candidates: &[Candidate], kept: &[Vec<Kept>]) {
    let panel = |title: &str, y: &str, y_scale, get: &dyn Fn(&Kept) -> Samples| Panel {
        title: title.to_owned(),
        x: "flood, % of what the machine can drop".to_owned(),
        y: y.to_owned(),
        y_scale,
        curves: candidates
            .iter()
            .zip(kept)
            .map(|(candidate, kept)| Curve {
                name: candidate.name().to_owned(),
                style: Style::Measured,
                colour: candidate.colour(),
                points: FLOODS.iter().zip(kept).map(|(part, kept)| get(kept).point(part * 100.0)).collect(),
            })
            .collect(),
        ..Panel::default()
    };
    let panels = vec![
        panel(
            "Good traffic at half load that is delivered",
            "delivered, % of what is due",
            Scale::Linear,
            &|kept| kept.share.over(0.01),
        ),
        panel("Its delay", "99th percentile, µs", Scale::Logarithmic, &|kept| kept.p99.clone()),
    ];
    for (candidate, kept) in candidates.iter().zip(kept) {
        for (part, kept) in FLOODS.iter().zip(kept) {
            bench.cell(
                vec![
                    ("candidate", json!(candidate.name())),
                    ("what", json!("median under a flood")),
                    ("flood_part", json!(part)),
                ],
                vec![("share".to_owned(), kept.share.json()), ("p99_us".to_owned(), kept.p99.json())],
            );
        }
    }
    let caption = format!(
        "Good traffic at half of saturation beside a flood of packets with unknown TEIDs. {}",
        bench.repeated(false)
    );
    bench.figure("ed-flood", &caption, panels);
}
