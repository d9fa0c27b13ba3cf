//! `ed-delay`: the delay of real-time mobiles as the load grows (thesis, section 7.4, figure 7.9).
//!
//! A few real-time mobiles at a fixed rate; all the rest is best effort, exponentially spaced, none of it exceeding. Delay
//! is from the generator at Gn to the driver of the sink at Gb.
//!
//! Where the generator cannot offer twice saturation without work, since its core is full before, the same is shown with a little
//! work as well.

use super::thesis;
use crate::figure::{Curve, Panel, Point, Scale, Style};
use crate::measure::account::{Delay, Step};
use crate::measure::bench::{Again, Axis, BRIEF, Bench, Runner};
use crate::measure::conditions::Conditions;
use crate::measure::loads::{GUESS_CIPHERED_PPS, KBPS};
use crate::measure::saturation::{at_offered, cap, really_offered, with_bare_work};
use crate::measure::stats::Samples;
use crate::measure::{Bare, Candidate, Chain, Offer, Setup, osmo};
use crate::report::at_most;
use serde_json::json;

/// Loads as multiples of each candidate's own S0.
const TIMES: [f64; 5] = [0.0, 0.5, 1.0, 1.5, 2.0];
/// Real-time mobiles: one would give too few samples in a short window.
const REAL_TIME: u32 = 20;
/// The window at least, in s: a 99th percentile of fewer than some hundred packets is chance.
const WINDOW_S: f64 = 0.4;
/// By how much the mean may grow from idle, in µs.
const GROWTH_US: f64 = 50.0;
/// By how much the 99th percentile may be above that of the bare loop, in µs.
const ABOVE_BARE_US: f64 = 30.0;

#[derive(Debug, Clone, Default)]
struct Delays {
    mean: Samples,
    p50: Samples,
    p99: Samples,
    delivered: Samples,
    /// What was offered indeed, as a multiple of saturation.
    times: Samples,
    /// Repetitions in which nothing came, so that there was no delay to measure.
    silent: usize,
}

impl Delays {
    fn push(&mut self, delay: Delay, share: f64) {
        self.delivered.push(share);
        if delay.count == 0 {
            self.silent += 1;
            return;
        }
        // Repetition by repetition they are compared with others': each has its place.
        self.mean.push(delay.mean_us);
        self.p50.push(delay.p50_us);
        self.p99.push(delay.p99_us);
    }
}

/// One candidate, or the bare loop: its delays by load.
struct Line {
    name: String,
    candidate: Option<Candidate>,
    /// Saturation, in packets/s.
    s0: f64,
    points: Vec<(f64, Delays)>,
}

impl Line {
    fn new(name: &str, candidate: Option<Candidate>) -> Self {
        let points = TIMES.iter().map(|times| (*times, Delays::default())).collect();
        Self { name: name.to_owned(), candidate, s0: f64::NAN, points }
    }

    fn push(&mut self, at: usize, step: &Step) {
        let group = step.group("real time").cloned().unwrap_or_default();
        if let Some((_, delays)) = self.points.get_mut(at) {
            delays.push(group.delay, step.share(&group));
            delays.times.push(step.offered_pps() / self.s0);
        }
    }

    /// What was measured at a load; nothing where a repetition is silent, since then they no longer stand in their places.
    fn at(&self, times: f64) -> Delays {
        let found = self.points.iter().find(|(other, _)| (*other - times).abs() < 1e-9);
        let found = found.filter(|(_, delays)| delays.silent == 0);
        found.map(|(_, delays)| delays.clone()).unwrap_or_default()
    }
}

/// Measures.
///
/// # Errors
/// A sentence for the person.
pub fn experiment(bench: &mut Bench<'_>) -> Result<(), String> {
    bench.brief = Some(BRIEF);
    let drop_pps = bench.drop_rate(&bench.setup(KBPS))?.median();
    let setup = Setup { real_time: REAL_TIME, ..bench.setup(KBPS) };
    let (mut lines, bare) = beside_bare(bench, (&setup, drop_pps))?;
    let osmo = osmo::alone(bench, |bench, setup| {
        let setup = Setup { real_time: REAL_TIME, ..setup.clone() };
        measure(bench, &[Candidate::Osmo], (&setup, drop_pps), None)
    })?;
    let mut panels = Vec::new();
    let all_offered = judge(bench, &setup, &lines, &bare);
    lines.extend(osmo);
    lines.push(bare);
    panels.extend(own_panels(bench, &setup, &lines));
    if !all_offered && setup.gea.is_none() {
        let setup = with_bare_work(&setup);
        let (mut lines, bare) = beside_bare(bench, (&setup, drop_pps))?;
        judge(bench, &setup, &lines, &bare);
        lines.push(bare);
        panels.extend(own_panels(bench, &setup, &lines));
    }
    panels.push(thesis_panel());
    let caption = format!(
        "Delay of {REAL_TIME} real-time mobiles, from Gn to Gb, by load of best effort, which is a multiple of each one's own \
         saturation (the bare loop's: of that of gannet-xdp). {} {} 425 µs of the ED-SGSN are reckoned from +285 µs or 67 %.",
        bench.repeated(true),
        thesis::read_off("two means each, idle and at 1600 packets/s, which is 1 on this axis", "7.4.3")
    );
    bench.figure("ed-delay", &caption, panels);
    Ok(())
}

/// Delays of Gannet's back ends, and of the bare loop under what xdp gets.
fn beside_bare(bench: &mut Bench<'_>, (setup, drop_pps): (&Setup, f64)) -> Result<(Vec<Line>, Line), String> {
    let candidates = [Candidate::Xdp, Candidate::Fifo, Candidate::Reuseport];
    let mut bare = Line::new("bare loop with two rings", None);
    let mut chain = bench.lab.bare(Bare::TwoRings, setup)?;
    chain.pause()?;
    let lines = measure(bench, &candidates, (setup, drop_pps), Some((chain.as_mut(), &mut bare)))?;
    Ok((lines, bare))
}

/// Delays of candidates whose chains have the same setup, and of the bare loop under what xdp gets.
fn measure(
    bench: &mut Bench<'_>,
    candidates: &[Candidate],
    (setup, drop_pps): (&Setup, f64),
    mut bare: Option<(&mut dyn Chain, &mut Line)>,
) -> Result<Vec<Line>, String> {
    let mut runners = bench.start(candidates, setup)?;
    let guess = |candidate| match (candidate, setup.gea) {
        (Candidate::Osmo, _) => osmo::GUESS_PPS,
        (_, Some(_)) => GUESS_CIPHERED_PPS,
        (_, None) => 350_000.0,
    };
    let found = bench.saturations(&mut runners, setup, 0.0, &guess, cap(drop_pps, 0.0))?;
    let s0: Vec<f64> = found.iter().map(|found| found.pps.median()).collect();
    let mut lines: Vec<Line> =
        runners.iter().map(|runner| Line::new(runner.candidate.name(), Some(runner.candidate))).collect();
    lines.iter_mut().zip(&s0).for_each(|(line, s0)| line.s0 = *s0);
    // The bare loop gets what xdp gets.
    let xdp = lines.iter().find(|line| line.candidate == Some(Candidate::Xdp));
    if let (Some((_, line)), Some(xdp)) = (&mut bare, xdp) {
        line.s0 = xdp.s0;
    }
    for repetition in 0..bench.sizes.repetitions {
        for (at, times) in TIMES.iter().copied().enumerate() {
            for ((runner, s0), line) in runners.iter_mut().zip(&s0).zip(&mut lines) {
                if bench.has_enough(runner.candidate, repetition) {
                    continue;
                }
                let offer = offer(bench, setup, times, (times * s0).min(cap(drop_pps, 0.0)));
                let conditions = one(bench, runner, (at, times, repetition), (setup, &offer), line)?;
                // The same traffic without a stack, at once, and under the same conditions.
                if let Some((chain, line)) = bare.as_mut().filter(|_| runner.candidate == Candidate::Xdp) {
                    chain.resume()?;
                    let axis = axis("bare two-rings", setup, times, repetition);
                    let offer = Offer { is_probe: true, ..offer.clone() };
                    let step = bench.step_again(*chain, &axis, &offer, Again::Unlike(&conditions))?;
                    chain.pause()?;
                    line.push(at, &step);
                }
            }
        }
    }
    Ok(lines)
}

/// One step of a candidate, and the conditions under which it was made.
fn one(
    bench: &mut Bench<'_>,
    runner: &mut Runner,
    (at, times, repetition): (usize, f64, u32),
    (setup, offer): (&Setup, &Offer),
    line: &mut Line,
) -> Result<Conditions, String> {
    let axis = axis(runner.candidate.name(), setup, times, repetition);
    // The others are only shown.
    let is_xdp = runner.candidate == Candidate::Xdp;
    let again = if is_xdp { Again::Disturbed } else { Again::Nothing };
    let offer = Offer { is_patient: is_xdp, ..offer.clone() };
    let step = bench.turn(runner, |bench, chain| bench.step_again(chain, &axis, &offer, again))?;
    line.push(at, &step);
    Ok(Conditions::of(&step))
}

fn axis(name: &str, setup: &Setup, times: f64, repetition: u32) -> Axis {
    vec![
        ("candidate", json!(name)),
        ("what", json!("delay of real time")),
        ("times_saturation", json!(times)),
        ("work_ns", setup.work_json()),
        ("repetition", json!(repetition)),
    ]
}

/// Real time and as much besides as the load leaves. Above saturation everybody's queue is full when the window begins.
fn offer(bench: &Bench<'_>, setup: &Setup, times: f64, load: f64) -> Offer {
    let mut offer = bench.mix(setup, load, 0.0);
    offer.window_s = offer.window_s.max(WINDOW_S);
    if times > 1.0 {
        offer.warm_up_s += f64::from(setup.buffer_ms) / 1e3 * times / (times - 1.0);
    }
    offer
}

/// Says whether each bound holds; true where all loads could be offered, or nobody was there to be offered them. Where a load could not be, its rows show nothing, unless
/// less load is too much already.
fn judge(bench: &mut Bench<'_>, setup: &Setup, lines: &[Line], bare: &Line) -> bool {
    let line = |candidate| lines.iter().find(|line| line.candidate == Some(candidate));
    let (mut all_offered, work) = (true, setup.work());
    let growth = |line: Option<&Line>, times| {
        line.map_or(f64::NAN, |line| line.at(times).mean.minus(&line.at(0.0).mean).median())
    };
    let at = |times| line(Candidate::Xdp).map(|line| line.at(times)).unwrap_or_default();
    for times in [1.0, 2.0] {
        let own = growth(line(Candidate::Xdp), times);
        let fifo = growth(line(Candidate::Fifo), times);
        let paper = (times == 1.0).then_some("idle to 1600 packets/s: +4 ms / +285 µs");
        let (is_offered, offered) = really_offered(at(times).times.median(), times);
        all_offered &= is_offered;
        bench.claim(
            &format!("real-time delay, mean, idle to {times:.1} times saturation, {work}"),
            "By how much the mean delay of real-time mobiles grows when best effort loads the SGSN so much.",
            paper,
            format!(
                "+{own:.0} µs {offered} (gannet-fifo +{fifo:.0} µs, the bare two-ring loop {:+.0} µs)",
                growth(Some(bare), times)
            ),
            format!("at most +{GROWTH_US:.0} µs"),
            at_most(own, GROWTH_US).filter(|holds| is_offered || !holds),
        );
    }
    for times in [0.0, 1.0, 2.0] {
        // Each repetition was made together with its own of the bare loop.
        let (own, loop_) = (at(times), bare.at(times));
        let above = own.p99.minus(&loop_.p99);
        let is_offered = |delays: &Delays| times == 0.0 || really_offered(delays.times.median(), times).0;
        let (own_offered, loop_offered) = (is_offered(&own), is_offered(&loop_));
        let offered = match (own_offered, loop_offered) {
            (true, true) => String::new(),
            (true, false) => format!("; the loop was offered {:.2} times", loop_.times.median()),
            (false, _) => {
                format!("; offered {:.2} times, the loop {:.2}", own.times.median(), loop_.times.median())
            }
        };
        bench.claim(
            &format!("real-time delay, 99th percentile, at {times:.1} times saturation, {work}"),
            "What 99 % of real time stay below, less the same of a bare loop with two rings and no protocol stack under the same \
             traffic: what the SGSN adds to the machine's own delay.",
            None,
            format!(
                "{:+.0} µs [{:+.0}..{:+.0}] above the bare two-ring loop in the same repetition ({:.0} / {:.0}){offered}",
                above.median(),
                above.min(),
                above.max(),
                own.p99.median(),
                loop_.p99.median()
            ),
            format!("at most +{ABOVE_BARE_US:.0} µs"),
            at_most(above.median(), ABOVE_BARE_US).filter(|_| own_offered && loop_offered),
        );
    }
    all_offered || line(Candidate::Xdp).is_none()
}

/// Mean and 99th percentile side by side.
fn own_panels(bench: &mut Bench<'_>, setup: &Setup, lines: &[Line]) -> [Panel; 2] {
    for line in lines {
        for (times, delays) in &line.points {
            bench.cell(
                vec![
                    ("candidate", json!(line.name)),
                    ("what", json!("median delay of real time")),
                    ("times_saturation", json!(times)),
                    ("work_ns", setup.work_json()),
                ],
                vec![
                    ("mean_us".to_owned(), delays.mean.json()),
                    ("p50_us".to_owned(), delays.p50.json()),
                    ("p99_us".to_owned(), delays.p99.json()),
                    ("delivered_share".to_owned(), delays.delivered.json()),
                    ("times_offered".to_owned(), delays.times.json()),
                ],
            );
        }
    }
    let panel = |what: &str, style, get: &dyn Fn(&Delays) -> &Samples| {
        let curve = |line: &Line| Curve {
            name: format!("{}, {what}", line.name),
            style,
            colour: line.candidate.map_or(4, Candidate::colour),
            points: at_offered(line.points.iter().map(|(_, delays)| (&delays.times, get(delays)))),
        };
        axes(&format!("This machine, {}: {what}", setup.work()), lines.iter().map(curve).collect())
    };
    [
        panel("mean", Style::Measured, &|delays| &delays.mean),
        panel("99th percentile", Style::Second, &|delays| &delays.p99),
    ]
}

fn axes(title: &str, curves: Vec<Curve>) -> Panel {
    Panel {
        title: title.to_owned(),
        x: "load, 1 = own saturation".to_owned(),
        y: "delay of real time, µs".to_owned(),
        y_scale: Scale::Logarithmic,
        curves,
        ..Panel::default()
    }
}

/// What the thesis says of figure 7.9.
fn thesis_panel() -> Panel {
    let thesis = |name: &str, candidate: Candidate, points: &[(f64, f64)]| Curve {
        name: format!("thesis: {name}, mean (two points from the text)"),
        style: Style::Reference,
        colour: candidate.colour(),
        points: points.iter().map(|(times, us)| Point::new(*times, *us)).collect(),
    };
    let theirs = vec![
        thesis("SGSN", Candidate::Fifo, &thesis::DELAY_SGSN_US),
        thesis("ED-SGSN", Candidate::Xdp, &thesis::DELAY_ED_US),
    ];
    axes("Thesis, 1 = 1600 packets/s: mean", theirs)
}
