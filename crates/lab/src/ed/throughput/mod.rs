//! `ed-throughput`: how much exceeding traffic takes from the good (thesis, section 7.3.1, figures 7.2 to 7.4), and what
//! one core forwards.

mod bounds;
mod burst;
mod lengths;
mod one_core;

use super::thesis;
use crate::figure::{Curve, Panel, Point, Style};
use crate::measure::account::Step;
use crate::measure::bench::{Again, Axis, Bench, Runner};
use crate::measure::loads::{GUESS_CIPHERED_PPS, KBPS, KBPS_WITH_WORK, WORK_NS};
use crate::measure::saturation::{COARSE, FINE, Found, ROUGH, cap, s_f, without_bare_work};
use crate::measure::search::{Bracket, WHOLE};
use crate::measure::stats::Samples;
use crate::measure::{Candidate, Chain, Lower, Offer, Setup};
use crate::report::{at_least, at_most};
use bounds::{AtBound, FALL_WITH_WORK, try_bounds};
use one_core::{Bares, Core, Limits};
use serde_json::json;

/// Fractions of exceeding traffic.
const FRACTIONS: [f64; 4] = [0.33, 0.5, 0.75, 0.9];
/// The same where a packet costs what GEA3 costs: only those that a bound names.
const FRACTIONS_WITH_WORK: [f64; 2] = [0.5, 0.9];
/// Where the search with exceeding traffic begins, of the best possible.
const ABOVE_BOUND: f64 = 0.98;
/// Packets/s where the first search of all begins, and seconds that a nanosecond of work costs there.
const GUESS_PPS: f64 = 450_000.0;
const WITH_WORK: f64 = 1.05e-9;

/// What comes after all configurations takes as long as so many repetitions of one, and so does FLOW-CONTROL-BVC.
const AFTER_ALL: u32 = 3;
const BY_CELL: u32 = 2;

/// One panel: what each candidate's saturation was at each fraction of exceeding traffic.
struct Curves {
    setup: Setup,
    /// Where the search for S0 of gannet-xdp begins, in packets/s, and in what steps.
    guess: (f64, f64),
    limits: Limits,
    /// Those that are compared with bare loops, with the work of these.
    with_work: Vec<(Candidate, Found)>,
    at_bound: Vec<AtBound>,
    by_candidate: Vec<(Candidate, Vec<(f64, Found)>)>,
}

impl Curves {
    fn of(&self, candidate: Candidate) -> &[(f64, Found)] {
        let found = self.by_candidate.iter().find(|(other, _)| *other == candidate);
        found.map_or(&[], |(_, points)| points)
    }

    fn samples(&self, candidate: Candidate, f: f64) -> Samples {
        let found = self.of(candidate).iter().find(|(other, _)| (*other - f).abs() < 1e-9);
        found.map(|(_, found)| found.pps.clone()).unwrap_or_default()
    }

    fn at(&self, candidate: Candidate, f: f64) -> f64 {
        self.samples(candidate, f).median()
    }

    fn name(&self) -> String {
        let work = self.setup.work();
        let policing =
            if self.setup.policing { "policing on" } else { "policing off: FLOW-CONTROL-MS alone" };
        format!("{work}, {policing}")
    }
}

/// Measures.
///
/// # Errors
/// A sentence for the person.
pub fn experiment(bench: &mut Bench<'_>) -> Result<(), String> {
    let mut panels = Vec::new();
    let mut bares = Bares::start(bench, &bench.setup(KBPS))?;
    let (rows, first_pps) = match bench.gea {
        None => (vec![(0, KBPS), (WORK_NS, KBPS_WITH_WORK)], GUESS_PPS),
        Some(_) => (vec![(0, KBPS)], GUESS_CIPHERED_PPS),
    };
    // The bare loops are measured beside the first configuration, and other lengths and osmo-sgsn after all.
    bench.pace.plan(
        bench.sizes.repetitions * (2 * u32::try_from(rows.len()).unwrap_or(1) + 1) + AFTER_ALL + BY_CELL,
    );
    for (work_ns, kbps) in rows {
        for policing in [true, false] {
            let mut setup = bench.setup(kbps);
            (setup.work_ns, setup.policing) = (work_ns, policing);
            if !policing {
                // Until the BSS lowers it for half of the users.
                setup.leave_to_flow_control();
            }
            // Whoever was measured last, without policing or without work, is the best guess.
            let last = panels.last().map(|last: &Curves| (last.setup.work_ns, last.at(Candidate::Xdp, 0.0)));
            let guess = last.map_or((first_pps, COARSE), |(before_ns, pps)| {
                let guess_pps = 1.0 / (1.0 / pps + f64::from(work_ns - before_ns) * WITH_WORK);
                (guess_pps, if work_ns == before_ns { FINE } else { COARSE })
            });
            if !panels.is_empty() {
                bares.change(bench, &setup)?;
            }
            panels.push(configuration(bench, setup, guess, &mut bares)?);
        }
    }
    judge_saturation(bench, &panels);
    let Some(plain) = panels.first().filter(|first| !first.setup.has_work()) else {
        draw(bench, &panels);
        return Ok(());
    };
    one_core::judge(bench, &plain.limits, &plain.with_work, &|candidate| plain.samples(candidate, 0.0));
    let (drop_pps, s0) = (plain.limits.drop.median(), plain.at(Candidate::Xdp, 0.0));
    lengths::measure(bench, drop_pps, s0)?;
    burst::measure(bench, s0, &without_bare_work(&plain.limits.xsk_with_work))?;
    draw(bench, &panels);
    Ok(())
}

/// A quick run searches where a bound or the figure needs it: without exceeding traffic, and with half of it; of xdp the
/// figure has what it delivered at its bounds.
fn is_wanted(bench: &Bench<'_>, setup: &Setup, candidate: Candidate, f: f64, repetition: u32) -> bool {
    if !bench.sizes.quick {
        return true;
    }
    let half = (f - 0.5).abs() < 1e-9;
    if candidate == Candidate::Xdp {
        return f == 0.0;
    }
    // With work the good packets at nine tenths say it, and that it is honest what a packet costs.
    setup.policing && !setup.has_work() && (f == 0.0 || half) && repetition == 0
}

fn configuration(
    bench: &mut Bench<'_>,
    setup: Setup,
    guess: (f64, f64),
    bares: &mut Bares,
) -> Result<Curves, String> {
    let candidates: &[Candidate] = match (bench.sizes.quick, setup.has_work(), setup.policing) {
        (true, false, false) => &[Candidate::Xdp],
        (true, ..) => &[Candidate::Xdp, Candidate::Fifo],
        _ => &[Candidate::Xdp, Candidate::Fifo, Candidate::Reuseport],
    };
    let mut runners = bench.start(candidates, &setup)?;
    if !setup.policing {
        for runner in &mut runners {
            bench.turn(runner, |_, chain| chain.lower(&setup.who_exceeds()))?;
        }
    }
    let with_work: &[f64] = &FRACTIONS_WITH_WORK;
    let fractions = if setup.has_work() { with_work } else { &FRACTIONS };
    let empty: Vec<(f64, Found)> =
        core::iter::once(&0.0).chain(fractions).map(|f| (*f, Found::default())).collect();
    let by_candidate = runners.iter().map(|runner| (runner.candidate, empty.clone())).collect();
    let at_bound = fractions.iter().copied().map(AtBound::new).collect();
    let (limits, with_work) = (Limits::default(), Vec::new());
    let mut curves = Curves { setup, guess, limits, with_work, at_bound, by_candidate };
    let mut core = Core::start(bench, &curves.setup)?;
    for repetition in 0..bench.sizes.repetitions {
        bares.measure(bench, repetition, &mut curves.limits)?;
        core.measure(bench, (repetition, curves.limits.drop.at(repetition)))?;
        for at in 0..empty.len() {
            for (runner, (_, points)) in runners.iter_mut().zip(&mut curves.by_candidate) {
                let drop_pps = curves.limits.drop.at(repetition);
                let here = (&curves.setup, curves.guess);
                point(bench, here, (repetition, drop_pps), runner, (at, points))?;
            }
            // Bounds are those of xdp: nobody else's numbers stand in their rows.
            let found = curves.of(Candidate::Xdp).first().filter(|_| at == 0).map(|(_, found)| found.clone());
            let xdp = runners.iter_mut().find(|runner| runner.candidate == Candidate::Xdp);
            if let (Some(runner), Some(mut found)) = (xdp, found) {
                let at = (&curves.setup, repetition, curves.limits.drop.at(repetition));
                let bounds = &mut curves.at_bound;
                try_bounds(bench, runner, at, &mut found, bounds, &mut |_, _| Ok(()))?;
            }
        }
        bench.pace.done(if core.is_measured() { 2 } else { 1 });
    }
    curves.with_work = core.found;
    for (candidate, points) in &curves.by_candidate {
        for (f, found) in points.iter().filter(|(_, found)| !found.pps.is_empty()) {
            let line = format!("{candidate}: saturation at {:.0} % {}", f * 100.0, found.pps.kpps());
            bench.lab.say(&line);
        }
    }
    if curves.setup.has_work() {
        good_packets(bench, &mut runners, &curves)?;
    } else if !curves.setup.policing {
        lowered_cells(bench, &mut runners, &curves)?;
        bench.pace.done(BY_CELL);
    }
    Ok(curves)
}

/// One more search at one fraction. Where S0 of the same repetition is known, it begins just above the bound.
fn point(
    bench: &mut Bench<'_>,
    (setup, (guess_pps, stride)): (&Setup, (f64, f64)),
    (repetition, drop_pps): (u32, f64),
    runner: &mut Runner,
    (at, points): (usize, &mut [(f64, Found)]),
) -> Result<(), String> {
    let candidate = runner.candidate;
    let s0 = points.first().map(|(_, found)| found.pps.clone()).unwrap_or_default();
    let Some((f, found)) = points.get_mut(at) else { return Ok(()) };
    if !is_wanted(bench, setup, candidate, *f, repetition) {
        return Ok(());
    }
    let most = cap(drop_pps, *f);
    let bracket = if *f > 0.0 {
        // In order of arrival, what exceeds costs nearly as much as what is good.
        let d = if candidate == Candidate::Xdp { drop_pps } else { s0.at(repetition) * 1.5 };
        Bracket::new(ABOVE_BOUND * s_f(s0.at(repetition), d, *f), ROUGH, ROUGH + 0.001, most)
    } else {
        let is_xdp = candidate == Candidate::Xdp;
        if is_xdp && found.pps.is_empty() {
            Bracket::new(guess_pps, stride, FINE + 0.001, most)
        } else {
            let (guess, resolution) = if is_xdp { (guess_pps, FINE) } else { (guess_pps * 0.6, ROUGH) };
            found.bracket(guess, resolution, most)
        }
    };
    bench.search(runner, (setup, *f, repetition), bracket, found)
}

/// At 90 % exceeding traffic and the load that xdp has to deliver: its good packets as they were at the bound, and those of `fifo`.
fn good_packets(bench: &mut Bench<'_>, runners: &mut [Runner], curves: &Curves) -> Result<(), String> {
    let Some(bound) = curves.at_bound.last() else { return Ok(()) };
    // The good are half of those who are entitled to something.
    let each = bound.shares.each().zip(bound.loads.each());
    let xdp: Samples = each.map(|((_, share), (_, load))| share * load / 2.0).collect();
    let mut fifo = Samples::default();
    let runner = runners.iter_mut().find(|runner| runner.candidate == Candidate::Fifo);
    // Without a load that xdp had to deliver there is nothing to offer.
    let mut runner = runner.filter(|_| !bound.loads.is_empty());
    for repetition in 0..bench.sizes.repetitions {
        let Some(runner) = runner.as_mut() else { break };
        let axis: Axis = vec![
            ("candidate", json!(Candidate::Fifo.name())),
            ("what", json!("good packets at 90 %")),
            ("policing", json!(curves.setup.policing)),
            ("repetition", json!(repetition)),
        ];
        let offer = bench.mix(&curves.setup, bound.loads.median(), 0.9);
        let step =
            bench.turn(runner, |bench, chain| bench.step_again(chain, &axis, &offer, Again::Nothing))?;
        fifo.push(good_pps(&step));
    }
    let ratio = xdp.median() / fifo.median();
    let (least, goal) = match curves.setup.gea {
        None => (5.0, "at least 5 times"),
        Some(_) => (1.0, "more; 5 times is asked for where a packet costs 7.5 µs"),
    };
    bench.claim(
        &format!("good packets at 90 % exceeding, {}", curves.name()),
        "Packets of good users that arrive where nine of ten packets exceed, with early demultiplexing and with one socket.",
        None,
        format!(
            "{ratio:.1} times gannet-fifo's ({:.1} / {:.1} kpps)",
            xdp.median() / 1e3,
            fifo.median() / 1e3
        ),
        goal.to_owned(),
        at_least(ratio, least),
    );
    Ok(())
}

fn good_pps(step: &Step) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts of a step stay far below 2^52")]
    let delivered = step.group("good").map_or(0, |group| group.delivered) as f64;
    delivered / step.window_s
}

/// The excess arises since FLOW-CONTROL-BVC lowers R of every second cell, in which the bad users are.
fn lowered_cells(bench: &mut Bench<'_>, runners: &mut [Runner], curves: &Curves) -> Result<(), String> {
    let mut runner = runners.iter_mut().find(|runner| runner.candidate == Candidate::Xdp);
    let found = curves.of(Candidate::Xdp).first().map(|(_, found)| found.clone());
    let (mut found, cells) = (found.unwrap_or_default(), curves.setup.cells);
    let (mut bounds, mut lowered) = ([AtBound::new(0.5)], None);
    let mut lower = |chain: &mut dyn Chain, offer: &Offer| {
        let load = Some(offer.due_pps());
        if lowered == load {
            return Ok(());
        }
        lowered = load;
        chain.raise()?;
        chain.lower(&rates_of_bad_cells(offer, cells))
    };
    for repetition in 0..bench.sizes.repetitions {
        let Some(runner) = runner.as_mut() else { break };
        let at = (&curves.setup, repetition, curves.limits.drop.median());
        try_bounds(bench, runner, at, &mut found, &mut bounds, &mut lower)?;
    }
    let [AtBound { shares, loads, .. }] = bounds;
    let whole = shares.each().filter(|(_, share)| *share >= WHOLE).count();
    bench.claim(
        "0.97·S_f at 50 % exceeding, no work, policing off: FLOW-CONTROL-BVC alone",
        "What is delivered of nearly all that this machine allows where excess arises since the BSS has lowered the rate of half of \
         the cells.",
        None,
        format!(
            "{:.2} % of {:.0} kpps delivered, whole in {whole} of {}",
            shares.median() * 100.0,
            loads.median() / 1e3,
            shares.len()
        ),
        "at least 99.5 %".to_owned(),
        at_least(shares.median(), WHOLE),
    );
    Ok(())
}

/// For each cell of bad users what these are entitled to, and a hair more.
fn rates_of_bad_cells(offer: &Offer, cells: u32) -> Lower {
    let mut rates = std::collections::BTreeMap::<u32, f64>::new();
    for group in offer.groups.iter().filter(|group| group.name == "bad") {
        for user in group.members.iter() {
            *rates.entry(user % cells).or_default() += group.due_pps_each * 1.005;
        }
    }
    Lower::Cells(rates.into_iter().collect())
}

fn judge_saturation(bench: &mut Bench<'_>, panels: &[Curves]) {
    for curves in panels {
        let s0 = curves.at(Candidate::Xdp, 0.0);
        for AtBound { f, shares, loads, .. } in &curves.at_bound {
            let paper = ((*f - 0.5).abs() < 1e-9).then(|| {
                let [sgsn, ed] = thesis::FALL_AT_HALF;
                format!("falls {sgsn:.0} % / {ed:.0} %")
            });
            let control = curves.limits.control.iter().find(|(other, _)| (other - f).abs() < 1e-9);
            let whole = |shares: &Samples| shares.each().filter(|(_, share)| *share >= WHOLE).count();
            let control = control.map_or_else(String::new, |(_, shares)| {
                let (share, count) = (shares.median() * 100.0, shares.len());
                format!(
                    "; the bare loop {share:.2} %, whole in {} of {count}, each tried once",
                    whole(shares)
                )
            });
            let fifo = (1.0 - curves.at(Candidate::Fifo, *f) / curves.at(Candidate::Fifo, 0.0)) * 100.0;
            let fifo = if fifo.is_finite() { format!("; fifo falls {fifo:.0} %") } else { String::new() };
            bench.claim(
                &format!("0.97·S_f delivered at {:.0} % exceeding, {}", f * 100.0, curves.name()),
                "What good and bad users get of what they are entitled to, where 97 % of the best that this machine allows is offered.",
                paper.as_deref(),
                format!(
                    "{:.2} % [{:.2}..{:.2}] of {:.0} kpps, whole in {} of {}{control}{fifo}",
                    shares.median() * 100.0,
                    shares.min() * 100.0,
                    shares.max() * 100.0,
                    loads.median() / 1e3,
                    whole(shares),
                    shares.len(),
                ),
                format!("at least 99.5 % (S0 is {:.0} kpps)", s0 / 1000.0),
                at_least(shares.median(), WHOLE),
            );
        }
        // Asked for where a packet costs 7.5 µs; where it costs less, what is dropped costs more than that beside it.
        if curves.setup.work_ns != 0 {
            let half = curves.at_bound.iter().find(|bound| (bound.f - 0.5).abs() < 1e-9);
            let fall = half.map_or(f64::NAN, |bound| bound.fall().median()) * 100.0;
            let [sgsn, ed] = thesis::FALL_AT_HALF;
            bench.claim(
                &format!("fall at 50 % exceeding, {}", curves.name()),
                "By how much saturation falls when half of all traffic exceeds, where a packet costs as much as a cipher.",
                Some(&format!("{sgsn:.0} % / {ed:.0} %")),
                format!("at most {fall:.1} %"),
                "at most 5 %".to_owned(),
                at_most(fall, 100.0 * FALL_WITH_WORK + 0.1),
            );
        }
    }
}

fn draw(bench: &mut Bench<'_>, panels: &[Curves]) {
    write_medians(bench, panels);
    let all: Vec<Panel> = panels.iter().map(panel).collect();
    let caption = |bench: &Bench<'_>, how: &str| {
        format!(
            "Saturation with exceeding traffic{how}, each as a part of its own without, and what gannet-xdp delivered of good traffic \
             where 0.97 of S_f was offered. {} {}",
            bench.repeated(false),
            thesis::read_off("two saturations each, without exceeding traffic and with 50 %", "7.3.1")
        )
    };
    if bench.gea.is_some() {
        let caption = caption(bench, " where each packet is ciphered");
        bench.figure("ed-throughput", &caption, all.into_iter().chain([thesis_panel()]).collect());
        return;
    }
    let (plain, worked) = all.split_at(all.len().min(2));
    let with_thesis = |panels: &[Panel]| panels.iter().cloned().chain([thesis_panel()]).collect();
    let text = caption(bench, "");
    bench.figure("ed-throughput", &text, with_thesis(plain));
    let text = caption(bench, " where each packet costs 7.5 µs of work, as much as GEA3");
    bench.figure("ed-throughput-work", &text, with_thesis(worked));
}

fn write_medians(bench: &mut Bench<'_>, panels: &[Curves]) {
    for curves in panels {
        for (candidate, points) in &curves.by_candidate {
            for (f, found) in points.iter().filter(|(_, found)| !found.pps.is_empty()) {
                bench.cell(
                    vec![
                        ("candidate", json!(candidate.name())),
                        ("what", json!("median saturation")),
                        ("exceeding_percent", json!((f * 100.0).round())),
                        ("policing", json!(curves.setup.policing)),
                        ("work_ns", curves.setup.work_json()),
                    ],
                    vec![("pps".to_owned(), found.pps.json()), ("capped".to_owned(), json!(found.capped))],
                );
            }
        }
    }
}

/// One configuration: each candidate, what was delivered at the bounds, and the best possible. What 1 is stands in the table.
fn panel(curves: &Curves) -> Panel {
    let mut lines = Vec::new();
    for (candidate, points) in &curves.by_candidate {
        let s0 = curves.at(*candidate, 0.0);
        lines.push(Curve {
            name: candidate.name().to_owned(),
            style: Style::Measured,
            colour: candidate.colour(),
            points: points
                .iter()
                .filter(|(_, found)| !found.pps.is_empty())
                .map(|(f, found)| found.pps.over(s0).point(f * 100.0))
                .collect(),
        });
    }
    let (s0, drop_pps) = (curves.at(Candidate::Xdp, 0.0), curves.limits.drop.median());
    lines.push(Curve {
        name: "gannet-xdp: delivered of 0.97·S_f".to_owned(),
        style: Style::Second,
        colour: 5,
        points: curves
            .at_bound
            .iter()
            .map(|AtBound { f, shares, loads, .. }| shares.over(s0 / loads.median()).point(f * 100.0))
            .collect(),
    });
    let best = [0.0, 0.2, 0.33, 0.5, 0.6, 0.75, 0.85, 0.9];
    lines.push(Curve {
        name: "S_f: the best possible on this machine".to_owned(),
        style: Style::Reference,
        colour: 4,
        points: best.iter().map(|f| Point::new(f * 100.0, s_f(s0, drop_pps, *f) / s0)).collect(),
    });
    axes(&curves.name(), lines)
}

fn axes(title: &str, curves: Vec<Curve>) -> Panel {
    Panel {
        title: title.to_owned(),
        x: "exceeding traffic, % of all".to_owned(),
        y: "saturation, 1 = own without exceeding traffic".to_owned(),
        curves,
        ..Panel::default()
    }
}

fn thesis_panel() -> Panel {
    let curve = |name: &str, candidate: Candidate, points: &[(f64, f64)]| {
        let base = points.first().map_or(f64::NAN, |(_, pps)| *pps);
        Curve {
            name: format!("thesis: {name}, 1 = {base:.0} packets/s (two points from the text)"),
            style: Style::Reference,
            colour: candidate.colour(),
            points: points.iter().map(|(f, pps)| Point::new(*f, pps / base)).collect(),
        }
    };
    let curves = vec![
        curve("SGSN", Candidate::Fifo, &thesis::SATURATION_SGSN),
        curve("ED-SGSN", Candidate::Xdp, &thesis::SATURATION_ED),
    ];
    axes("Thesis, figures 7.2 and 7.4", curves)
}
