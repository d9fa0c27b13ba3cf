//! `ed-uplink`: what the uplink of good users gets beside that of bad ones. The thesis left it as future work, so that there
//! is no figure of its own beside these.
//!
//! The good load is half of what could be served at best beside the exceeding traffic (for candidates that serve in order
//! of arrival: half of their own S0), reckoned with the cost of a drop on Gn. Dropping on Gb costs a little more, since a
//! mobile is found there by hash and not by place.

use crate::figure::Panel;
use crate::measure::bench::{Axis, Bench, Runner};
use crate::measure::loads::KBPS;
use crate::measure::saturation::{cap, s_f};
use crate::measure::shares::{SHARE_END, Shares, curves, note};
use crate::measure::{Candidate, Setup};
use crate::report::{at_least, least};
use serde_json::json;

const FRACTIONS: [f64; 5] = [0.0, 0.33, 0.5, 0.75, 0.9];
/// The good load, as a part of saturation.
const LOAD: f64 = 0.5;
/// What a good user gets of it.
const SHARE: f64 = 0.995;

/// One candidate's shares by fraction of exceeding traffic.
struct Scenario {
    candidate: Candidate,
    points: Vec<(f64, Shares)>,
}

/// Measures.
///
/// # Errors
/// A sentence for the person.
pub fn experiment(bench: &mut Bench<'_>) -> Result<(), String> {
    let drop_pps = bench.drop_rate(&bench.setup(KBPS))?.median();
    for policing in [true, false] {
        let setup = Setup { uplink: true, policing, ..bench.setup(KBPS) };
        let scenarios = configuration(bench, &setup, drop_pps)?;
        judge(bench, &setup, &scenarios);
        draw(bench, &setup, &scenarios);
    }
    Ok(())
}

fn configuration(bench: &mut Bench<'_>, setup: &Setup, drop_pps: f64) -> Result<Vec<Scenario>, String> {
    let mut runners = bench.start(&[Candidate::Xdp, Candidate::Fifo], setup)?;
    let found = bench.saturations(&mut runners, setup, 0.0, &|_| 250_000.0, cap(drop_pps, 0.0))?;
    let mut scenarios: Vec<Scenario> = runners
        .iter()
        .map(|runner| Scenario {
            candidate: runner.candidate,
            points: FRACTIONS.iter().map(|f| (*f, Shares::default())).collect(),
        })
        .collect();
    for repetition in 0..bench.sizes.repetitions {
        for (at, f) in FRACTIONS.iter().copied().enumerate() {
            for ((runner, found), scenario) in runners.iter_mut().zip(&found).zip(&mut scenarios) {
                let s0 = found.pps.median();
                let own = if runner.candidate == Candidate::Xdp { s_f(s0, drop_pps, f) } else { s0 };
                let load = (LOAD * own).min(cap(drop_pps, f));
                if let Some((_, shares)) = scenario.points.get_mut(at) {
                    one(bench, runner, setup, (f, repetition, load), shares)?;
                }
            }
        }
    }
    Ok(scenarios)
}

fn one(
    bench: &mut Bench<'_>,
    runner: &mut Runner,
    setup: &Setup,
    (f, repetition, load): (f64, u32, f64),
    shares: &mut Shares,
) -> Result<(), String> {
    let axis: Axis = vec![
        ("candidate", json!(runner.candidate.name())),
        ("what", json!("uplink shares")),
        ("exceeding_percent", json!((f * 100.0).round())),
        ("policing", json!(setup.policing)),
        ("repetition", json!(repetition)),
    ];
    let offer = bench.mix(setup, load, f);
    let step = bench.turn(runner, |bench, chain| bench.step(chain, &axis, &offer))?;
    note(shares, &step);
    Ok(())
}

fn judge(bench: &mut Bench<'_>, setup: &Setup, scenarios: &[Scenario]) {
    let how = setup.policing_of(Candidate::Xdp);
    let least = |candidate| {
        let points = scenarios.iter().filter(|scenario| scenario.candidate == candidate);
        least(points.flat_map(|scenario| &scenario.points).map(|(_, shares)| shares.good.median()))
    };
    let (xdp, fifo) = (least(Candidate::Xdp), least(Candidate::Fifo));
    bench.claim(
        &format!("good users' share of uplink, good load 0.5·S_f, 0 to 90 % exceeding, {how}"),
        "What good users get of what they send within their rate, at the fraction of exceeding uplink where it is least.",
        None,
        format!("at least {:.2} % (gannet-fifo {:.0} %)", xdp * 100.0, fifo * 100.0),
        "at least 99.5 %".to_owned(),
        at_least(xdp, SHARE),
    );
}

fn draw(bench: &mut Bench<'_>, setup: &Setup, scenarios: &[Scenario]) {
    for scenario in scenarios {
        for (f, shares) in &scenario.points {
            bench.cell(
                vec![
                    ("candidate", json!(scenario.candidate.name())),
                    ("what", json!("median uplink shares")),
                    ("exceeding_percent", json!((f * 100.0).round())),
                    ("policing", json!(setup.polices(scenario.candidate))),
                ],
                vec![
                    ("good_share".to_owned(), shares.good.json()),
                    ("bad_share".to_owned(), shares.bad.json()),
                ],
            );
        }
    }
    let panels = scenarios.iter().map(|scenario| Panel {
        title: format!("{}, {}", scenario.candidate, setup.policing_of(scenario.candidate)),
        x: "exceeding traffic, % of all".to_owned(),
        y: "% of the allocated bandwidth".to_owned(),
        y_end: Some(SHARE_END),
        curves: curves(&scenario.points),
        ..Panel::default()
    });
    let off = if setup.policing { "" } else { "-no-policing" };
    let caption = format!(
        "Uplink of good and bad users; the good load is {LOAD} times saturation. {} Shares above {SHARE_END:.0} % stand as numbers.",
        bench.repeated(false)
    );
    bench.figure(&format!("ed-uplink{off}"), &caption, panels.collect());
}
