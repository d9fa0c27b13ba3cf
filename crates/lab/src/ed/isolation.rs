//! `ed-isolation`: what good and bad users get of their allocated bandwidth (thesis, section 7.3.2, figures 7.5 to 7.8).
//!
//! The thesis's 160 users are 0.8 of the saturation that is possible with the exceeding traffic, its 256 users 1.2 times
//! that. Candidates that serve in order of arrival keep the good load at 0.8 and 1.2 times their own S0, as the thesis
//! kept its users.
//!
//! Above saturation with nine tenths exceeding, three million packets a second would have to be offered, more than the
//! generator's core makes. What it did not offer says nothing, and is left out; with work that stands for a cipher it offers
//! everything.

use super::thesis;
use crate::figure::{Curve, Panel, Point, Style};
use crate::measure::account::Step;
use crate::measure::bench::{Again, Axis, Bench, Runner};
use crate::measure::loads::{GUESS_CIPHERED_PPS, KBPS, KBPS_WITH_WORK, WORK_NS};
use crate::measure::saturation::{Found, ROUGH, cap, s_f};
use crate::measure::shares::{SHARE_END, SHARED, Shares, curves, note};
use crate::measure::{Candidate, Setup, osmo};
use crate::report::{at_least, greatest, least};
use serde_json::json;

const FRACTIONS: [f64; 5] = [0.0, 0.33, 0.5, 0.75, 0.9];
/// Those of a candidate that no bound names, in a quick run.
const FRACTIONS_QUICK: [f64; 3] = [0.0, 0.5, 0.9];
/// Loads, as multiples of what could be delivered whole.
const TIMES: [f64; 2] = [0.8, 1.2];
/// The same with work.
const TIMES_WITH_WORK: [f64; 1] = [1.2];
/// Above saturation queues fill before a window begins, in s; with work everybody has less than half as many packets a second.
const QUEUES_S: f64 = 0.25;
const QUEUES_WITH_WORK_S: f64 = 0.75;
/// The window above saturation, in s, at least: whoever has a backlog is served once in each round, of which a short window
/// holds but a few.
const ROUNDS_S: f64 = 0.6;
/// How often more is offered where nobody had to share: the machine is faster than when saturation was found.
const MORE: u32 = 1;
const FASTER: f64 = 1.15;
/// What a good user gets below saturation.
const SHARE: f64 = 0.995;
/// By how much good and bad may differ above it.
const APART: f64 = 0.02;
/// One candidate at one load: its shares by fraction.
#[derive(Debug, Clone)]
struct Scenario {
    candidate: Candidate,
    times: f64,
    setup: Setup,
    points: Vec<(f64, Shares)>,
}

/// Measures.
///
/// # Errors
/// A sentence for the person.
pub fn experiment(bench: &mut Bench<'_>) -> Result<(), String> {
    let drop_pps = bench.drop_rate(&bench.setup(KBPS))?.median();
    // The others are only shown.
    bench.brief = Some(1);
    // Both kinds of policing, without work and with, and osmo-sgsn.
    bench.pace.plan(bench.sizes.repetitions * if bench.gea.is_none() { 4 } else { 2 } + 1);
    let mut drawn = Vec::new();
    for policing in [true, false] {
        let mut setup = bench.setup(KBPS);
        setup.policing = policing;
        if !policing {
            setup.leave_to_flow_control();
        }
        // A quick run shows the others once.
        let candidates: &[Candidate] = match (bench.sizes.quick, policing) {
            (true, false) => &[Candidate::Xdp],
            _ => &[Candidate::Xdp, Candidate::Fifo, Candidate::Reuseport],
        };
        let mut scenarios = configuration(bench, candidates, (&setup, drop_pps, &FRACTIONS), &TIMES)?;
        (setup.work_ns, setup.kbps) = (WORK_NS, KBPS_WITH_WORK);
        if bench.sizes.quick {
            // Queues that are not full yet are no share, and at 1.2 times saturation they fill for six times as long.
            setup.buffer_ms /= 2;
        }
        if bench.gea.is_none() {
            let open = still_open(bench, &scenarios);
            let here = (&setup, drop_pps, open.as_slice());
            scenarios.extend(configuration(bench, &[Candidate::Xdp], here, &TIMES_WITH_WORK)?);
        }
        judge(bench, &setup, &scenarios);
        write_medians(bench, &scenarios);
        drawn.push((policing, scenarios));
    }
    let scenarios = osmo::alone(bench, |bench, setup| {
        let fractions: &[f64] = if bench.sizes.quick { &FRACTIONS_QUICK } else { &FRACTIONS };
        let scenarios = configuration(bench, &[Candidate::Osmo], (setup, drop_pps, fractions), &TIMES)?;
        // Nothing has to hold of it.
        write_medians(bench, &scenarios);
        Ok(scenarios)
    })?;
    if let Some((_, first)) = drawn.first_mut() {
        first.extend(scenarios);
    }
    for (policing, scenarios) in &drawn {
        draw(bench, *policing, scenarios);
    }
    Ok(())
}

/// The fractions that have to be measured with work: in a quick run half of all, which is the thesis's, and those of which
/// nothing could be said without.
fn still_open(bench: &Bench<'_>, scenarios: &[Scenario]) -> Vec<f64> {
    let above = scenarios.iter().find(|s| s.candidate == Candidate::Xdp && s.times > 1.0);
    let is_said = |f: f64| {
        let shares = above.and_then(|s| s.points.iter().find(|(other, _)| (other - f).abs() < 1e-9));
        shares.is_some_and(|(_, shares)| shares.says_enough(bench.sizes.repetitions))
    };
    let wanted = |f: &f64| !bench.sizes.quick || (*f - 0.5).abs() < 1e-9 || !is_said(*f);
    FRACTIONS.into_iter().filter(wanted).collect()
}

fn configuration(
    bench: &mut Bench<'_>,
    candidates: &[Candidate],
    (setup, drop_pps, fractions): (&Setup, f64, &[f64]),
    times: &[f64],
) -> Result<Vec<Scenario>, String> {
    let is_osmo = candidates == [Candidate::Osmo];
    let guess = match setup.work_ns {
        0 if setup.gea.is_some() && !is_osmo => GUESS_CIPHERED_PPS,
        0 if is_osmo => osmo::GUESS_PPS,
        0 => 350_000.0,
        _ => 95_000.0,
    };
    let mut runners = bench.start(candidates, setup)?;
    if !setup.policing {
        for runner in &mut runners {
            bench.turn(runner, |_, chain| chain.lower(&setup.who_exceeds()))?;
        }
    }
    let sizes = bench.sizes;
    let mut scenarios = Vec::new();
    for runner in &mut runners {
        let points: Vec<(f64, Shares)> = fractions
            .iter()
            .filter(|f| {
                !bench.has_enough(runner.candidate, bench.sizes.repetitions) || FRACTIONS_QUICK.contains(f)
            })
            .map(|f| (*f, Shares::default()))
            .collect();
        let candidate = runner.candidate;
        let scenario =
            |times: &f64| Scenario { candidate, times: *times, setup: setup.clone(), points: points.clone() };
        scenarios.push((Found::default(), times.iter().map(scenario).collect::<Vec<_>>()));
    }
    for repetition in 0..bench.sizes.repetitions {
        for (runner, (found, own)) in runners.iter_mut().zip(&mut scenarios) {
            if bench.has_enough(runner.candidate, repetition) {
                continue;
            }
            // The machine changes by the minute: what is whole is asked anew.
            let bracket = found.bracket(guess, ROUGH, cap(drop_pps, 0.0));
            bench.search(runner, (setup, 0.0, repetition), bracket, found)?;
            let queues_s = if setup.has_work() { QUEUES_WITH_WORK_S } else { QUEUES_S };
            for scenario in own {
                if scenario.times > 1.0 {
                    bench.sizes.warm_up_s = sizes.warm_up_s.max(queues_s);
                    bench.sizes.window_s = sizes.window_s.max(ROUNDS_S);
                }
                repeat(bench, (runner, found), setup, (repetition, drop_pps), scenario)?;
                bench.sizes = sizes;
            }
        }
        bench.pace.done(1);
    }
    for (runner, (found, _)) in runners.iter().zip(&scenarios) {
        bench.lab.say(&format!("{}: saturation {}", runner.candidate, found.pps.kpps()));
    }
    Ok(scenarios.into_iter().flat_map(|(_, own)| own).collect())
}

/// One repetition of a scenario at all its fractions.
fn repeat(
    bench: &mut Bench<'_>,
    (runner, found): (&mut Runner, &Found),
    setup: &Setup,
    (repetition, drop_pps): (u32, f64),
    scenario: &mut Scenario,
) -> Result<(), String> {
    let s0 = found.pps.last();
    let is_above = scenario.times > 1.0;
    for (f, shares) in &mut scenario.points {
        if bench.sizes.quick && is_above && shares.is_silent(bench.sizes.repetitions) {
            // The generator does not offer what it would take.
            continue;
        }
        let own = if runner.candidate == Candidate::Xdp { s_f(s0, drop_pps, *f) } else { s0 };
        let most = cap(drop_pps, *f);
        let mut load = (scenario.times * own).min(most);
        // Whoever has too little to share shares it equally; and of the others nothing has to hold.
        let has_to_hold = runner.candidate == Candidate::Xdp && !is_above;
        let again = if has_to_hold { Again::Missed(SHARE) } else { Again::Nothing };
        let mut step = one(bench, runner, setup, (scenario.times, *f, repetition), (load, again))?;
        let is_idle = |step: &Step| is_above && step.shortfall().is_none() && step.least_share() >= SHARED;
        for _ in 0..MORE {
            if load < most && is_idle(&step) {
                load = (load * FASTER).min(most);
                step = one(bench, runner, setup, (scenario.times, *f, repetition), (load, again))?;
            }
        }
        note(shares, &step);
    }
    Ok(())
}

fn one(
    bench: &mut Bench<'_>,
    runner: &mut Runner,
    setup: &Setup,
    (times, f, repetition): (f64, f64, u32),
    (load, again): (f64, Again<'_>),
) -> Result<Step, String> {
    let axis: Axis = vec![
        ("candidate", json!(runner.candidate.name())),
        ("what", json!("shares")),
        ("times_saturation", json!(times)),
        ("exceeding_percent", json!((f * 100.0).round())),
        ("policing", json!(setup.polices(runner.candidate))),
        ("work_ns", setup.work_json()),
        ("buffer_ms", json!(setup.buffer_ms)),
        ("repetition", json!(repetition)),
    ];
    let offer = bench.mix(setup, load, f);
    bench.turn(runner, |bench, chain| bench.step_again(chain, &axis, &offer, again))
}

fn judge(bench: &mut Bench<'_>, setup: &Setup, scenarios: &[Scenario]) {
    let with = |candidate, times: f64, work: bool| {
        scenarios.iter().find(move |s| {
            s.candidate == candidate && (s.times - times).abs() < 1e-9 && (s.setup.work_ns > 0) == work
        })
    };
    let points = |candidate, times| {
        with(candidate, times, false).map(|scenario| scenario.points.as_slice()).unwrap_or_default()
    };
    let policing = setup.policing_of(Candidate::Xdp);
    let worst = least(points(Candidate::Xdp, 0.8).iter().map(|(_, shares)| shares.good.median()));
    let half = points(Candidate::Fifo, 0.8).iter().find(|(f, _)| (*f - 0.5).abs() < 1e-9);
    let fifo = half.map_or(f64::NAN, |(_, shares)| shares.good.median());
    bench.claim(
        &format!("good users' share, good load 0.8·S_f, 0 to 90 % exceeding, {policing}"),
        "What good users get of the bandwidth allocated to them below saturation, at the fraction of exceeding traffic where it is \
         least.",
        Some("50 % / 100 % at 50 % exceeding"),
        match fifo.is_finite() {
            true => format!("at least {:.2} % (gannet-fifo {:.0} % at 50 %)", worst * 100.0, fifo * 100.0),
            false => format!("at least {:.2} %", worst * 100.0),
        },
        "at least 99.5 %".to_owned(),
        at_least(worst, SHARE),
    );
    let fifo = points(Candidate::Fifo, 1.2).last().map(|(_, shares)| shares);
    let beside = fifo.map_or_else(String::new, |s| {
        let (good, bad) = (s.good.median() * 100.0, s.bad.median() * 100.0);
        format!(" (gannet-fifo at 90 %: good {good:.0} %, bad {bad:.0} %)")
    });
    let above: Vec<&Scenario> =
        [false, true].into_iter().filter_map(|work| with(Candidate::Xdp, 1.2, work)).collect();
    judge_apart(bench, policing, &above, &beside);
}

/// The medians of each scenario, for the JSON.
fn write_medians(bench: &mut Bench<'_>, scenarios: &[Scenario]) {
    for scenario in scenarios {
        for (f, shares) in &scenario.points {
            bench.cell(
                vec![
                    ("candidate", json!(scenario.candidate.name())),
                    ("what", json!("median shares")),
                    ("times_saturation", json!(scenario.times)),
                    ("exceeding_percent", json!((f * 100.0).round())),
                    ("policing", json!(scenario.setup.polices(scenario.candidate))),
                    ("work_ns", scenario.setup.work_json()),
                ],
                vec![
                    ("good_share".to_owned(), shares.good.json()),
                    ("bad_share".to_owned(), shares.bad.json()),
                    ("good_read".to_owned(), shares.good_read.json()),
                    ("bad_read".to_owned(), shares.bad_read.json()),
                ],
            );
        }
    }
}

/// By how much good and bad differ above saturation: each fraction has to be said something of, with or without work. Of
/// fractions that nothing was said of, the row shows nothing, unless others are too far apart.
fn judge_apart(bench: &mut Bench<'_>, policing: &str, above: &[&Scenario], beside: &str) {
    let (mut ours, mut all, mut said_of) = (Vec::new(), Vec::new(), Vec::<f64>::new());
    for scenario in above {
        let (said, silent): (Vec<_>, Vec<_>) =
            scenario.points.iter().partition(|(_, shares)| shares.says_enough(bench.sizes.repetitions));
        let percents = |points: &[&(f64, Shares)]| {
            let all: Vec<String> = points.iter().map(|(f, _)| format!("{:.0}", f * 100.0)).collect();
            all.join(", ")
        };
        let work = scenario.setup.work();
        let most = greatest(said.iter().map(|(_, shares)| shares.apart.median().abs()));
        if !said.is_empty() {
            ours.push(format!(
                "{work} at most {:.2} % apart at {} % exceeding",
                most * 100.0,
                percents(&said)
            ));
            all.push(most);
        }
        if !silent.is_empty() {
            let percents = percents(&silent);
            ours.push(format!(
                "{work} at {percents} % nobody had to share, or the generator could not offer it"
            ));
        }
        said_of.extend(said.iter().map(|(f, _)| *f));
    }
    let is_complete = FRACTIONS.iter().all(|f| said_of.iter().any(|other| (other - f).abs() < 1e-9));
    let worst = greatest(all);
    bench.claim(
        &format!("shares at 1.2 times saturation, {policing}"),
        "By how much the shares of good and bad users differ where there is not enough for all: equal profiles get equal shares.",
        Some("bad far above good / equal"),
        format!("{}{beside}", ours.join("; ")),
        "within 2 % at each fraction".to_owned(),
        if worst > APART { Some(false) } else { is_complete.then_some(true) },
    );
}

fn draw(bench: &mut Bench<'_>, policing: bool, scenarios: &[Scenario]) {
    for (times, letter, users) in [(0.8, "a", 0), (1.2, "b", 1)] {
        let users = thesis::USERS.get(users).copied().unwrap_or_default();
        let here = scenarios.iter().filter(|s| (s.times - times).abs() < 1e-9);
        let panels = here.filter(|s| s.candidate != Candidate::Reuseport).map(|s| panel(s, times));
        let beside = if times < 1.0 {
            let points =
                "two shares of good users, at 0 and at 50 % exceeding, of the SGSN and of the ED-SGSN";
            format!(" {} It had {users} users.", thesis::read_off(points, "7.3.2"))
        } else {
            format!(" The thesis had {users} users; its text states no numbers for them.")
        };
        let caption = format!(
            "Shares of good and bad users by fraction of exceeding traffic; the good load is {times} times saturation. \
             gannet-reuseport is in the JSON and not drawn. {} Shares above {SHARE_END:.0} % stand as numbers.{beside}",
            bench.repeated(true)
        );
        let off = if policing { "" } else { "-no-policing" };
        bench.figure(&format!("ed-isolation-{letter}{off}"), &caption, panels.collect());
    }
}

/// What was done is in the title: who, by how much work on each packet, and what held excess back.
fn panel(scenario: &Scenario, times: f64) -> Panel {
    let (setup, candidate) = (&scenario.setup, scenario.candidate);
    let work = if setup.has_work() { format!(", {}", setup.work()) } else { String::new() };
    let mut curves = curves(&scenario.points);
    if times < 1.0 {
        let (name, colour, points) = match candidate {
            Candidate::Xdp => ("thesis: good users of the ED-SGSN", 4, thesis::GOOD_SHARE_ED),
            _ => ("thesis: good users of the SGSN", 6, thesis::GOOD_SHARE_SGSN),
        };
        curves.push(Curve {
            name: format!("{name} (two points from the text)"),
            style: Style::Reference,
            colour,
            points: points.iter().map(|(f, share)| Point::new(*f, *share)).collect(),
        });
    }
    Panel {
        title: format!("{candidate}, {}{work}", setup.policing_of(candidate)),
        x: "exceeding traffic, % of all".to_owned(),
        y: "% of the allocated bandwidth".to_owned(),
        y_end: Some(SHARE_END),
        curves,
        ..Panel::default()
    }
}
