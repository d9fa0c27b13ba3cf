//! `ed-precedence`: whether mobiles of high precedence lose anything when too much comes (thesis, section 7.5, figure
//! 7.10).
//!
//! One mobile of seven has high precedence, in every cell; all offer the same. The thesis had one of five, which at five times
//! saturation would be all that can be forwarded.
//!
//! Where the generator cannot offer so many times saturation without work, since its core is full before, the same is shown with
//! a little work as well.

use super::thesis;
use crate::figure::{Curve, Panel, Point, Style};
use crate::measure::bench::{Again, Axis, BRIEF, Bench, Runner};
use crate::measure::conditions::Conditions;
use crate::measure::loads::{GUESS_CIPHERED_PPS, KBPS, KBPS_WITH_WORK, WORK_NS};
use crate::measure::saturation::{BARE_WORK_NS, FINE, Found, at_offered, cap, really_offered};
use crate::measure::stats::Samples;
use crate::measure::{Candidate, Group, Members, Offer, Onset, Setup, Spacing, osmo};
use serde_json::json;

/// One of so many has high precedence: at five times saturation they are less than what can be forwarded still.
const EVERY: u32 = 7;
const TIMES: [f64; 4] = [0.75, 1.0, 1.5, 2.0];
const TIMES_WITH_WORK: [f64; 4] = [1.0, 1.5, 2.0, 5.0];

/// The mobiles begin one after the other within this part of the time before the window.
const BEGIN: f64 = 0.8;

/// How often S0 is searched anew at one load.
const SEARCHES: u32 = 2;

/// What was lost at one load.
#[derive(Debug, Clone, Default)]
struct Losses {
    high_percent: Samples,
    normal_percent: Samples,
    /// What was offered indeed, as a multiple of saturation: the generator receives as well, and may be full before.
    times: Samples,
    /// High-precedence packets that were lost after the driver's ring, in all repetitions.
    high: u64,
    /// Offered of those.
    of: u64,
}

struct Line {
    candidate: Candidate,
    points: Vec<(f64, Losses)>,
}

/// Measures.
///
/// # Errors
/// A sentence for the person.
pub fn experiment(bench: &mut Bench<'_>) -> Result<(), String> {
    // The others are only shown.
    bench.brief = Some(BRIEF);
    let drop_pps = bench.drop_rate(&bench.setup(KBPS))?.median();
    osmo::absent(bench, "its queues know no precedence, so that nothing can be compared");
    let mut panels = Vec::new();
    let rows = match bench.gea {
        None => {
            vec![(0, KBPS, TIMES), (BARE_WORK_NS, KBPS, TIMES), (WORK_NS, KBPS_WITH_WORK, TIMES_WITH_WORK)]
        }
        Some(_) => vec![(0, KBPS, TIMES_WITH_WORK)],
    };
    let mut all_offered = false;
    for (work_ns, kbps, loads) in rows {
        if work_ns == BARE_WORK_NS && all_offered {
            continue;
        }
        let mut setup = bench.setup(kbps);
        (setup.work_ns, setup.high_every) = (work_ns, EVERY);
        let lines = configuration(bench, &setup, &loads, drop_pps)?;
        all_offered = judge(bench, &setup, &lines);
        panels.extend(own_panels(bench, &setup, &lines));
    }
    let caption = format!(
        "Packets dropped by precedence and load, which is a multiple of each one's own saturation. {} {}",
        bench.repeated(false),
        thesis::read_off(
            "three drop rates each, below 1600 packets/s, which is 1 on this axis, there, and at 2900",
            "7.5.2"
        )
    );
    bench.figure("ed-precedence", &caption, panels);
    Ok(())
}

fn configuration(
    bench: &mut Bench<'_>,
    setup: &Setup,
    loads: &[f64],
    drop_pps: f64,
) -> Result<Vec<Line>, String> {
    let mut runners = bench.start(&[Candidate::Xdp, Candidate::Fifo, Candidate::Reuseport], setup)?;
    let guess = match (setup.gea, setup.work_ns) {
        (Some(_), _) => GUESS_CIPHERED_PPS,
        (None, 0) => 350_000.0,
        (None, _) => 95_000.0,
    };
    let mut found = bench.saturations(&mut runners, setup, 0.0, &|_| guess, cap(drop_pps, 0.0))?;
    let mut lines: Vec<Line> = runners
        .iter()
        .map(|runner| Line {
            candidate: runner.candidate,
            points: loads.iter().map(|times| (*times, Losses::default())).collect(),
        })
        .collect();
    for repetition in 0..bench.sizes.repetitions {
        for (at, times) in loads.iter().copied().enumerate() {
            for ((runner, found), line) in runners.iter_mut().zip(&mut found).zip(&mut lines) {
                if bench.has_enough(runner.candidate, repetition) {
                    continue;
                }
                if let Some((_, losses)) = line.points.get_mut(at) {
                    one(bench, (runner, found), setup, (times, repetition, drop_pps), losses)?;
                }
            }
        }
    }
    Ok(lines)
}

/// All users of high precedence and as many of the others as the load takes, each at what it has negotiated.
fn offer(bench: &Bench<'_>, setup: &Setup, load: f64) -> Offer {
    let mut offer = bench.mix(setup, load, 0.0);
    let users: u32 = offer.groups.iter().map(|group| group.members.count).sum();
    let count = (users / EVERY).max(1);
    let each = load / f64::from(count * EVERY);
    let group = |first| Group {
        name: if first == 0 { "high" } else { "normal" },
        members: Members { first, stride: EVERY, count },
        pps_each: each,
        due_pps_each: each,
        // Who is policed keeps to what it has negotiated, packet by packet.
        spacing: if setup.policing { Spacing::Fixed } else { Spacing::Exponential },
        begins_s: 0.0,
        // All queues at once, empty still, are more than what twice saturation is afterwards.
        within_s: bench.sizes.warm_up_s * BEGIN,
        onset: Onset::Even,
    };
    offer.groups = (0..EVERY).map(group).collect();
    offer
}

/// Offers so many times S0. Where something was lost and conditions were worse than those under which S0 was found, it may
/// have been more times what it is now: then S0 is searched anew.
#[expect(clippy::cast_precision_loss, reason = "counts of a step stay far below 2^52")]
fn one(
    bench: &mut Bench<'_>,
    (runner, found): (&mut Runner, &mut Found),
    setup: &Setup,
    (times, repetition, drop_pps): (f64, u32, f64),
    losses: &mut Losses,
) -> Result<(), String> {
    let axis: Axis = vec![
        ("candidate", json!(runner.candidate.name())),
        ("what", json!("drops of high precedence")),
        ("times_saturation", json!(times)),
        ("work_ns", setup.work_json()),
        ("repetition", json!(repetition)),
    ];
    // Who loses nothing has not been disturbed, and of the others nothing has to hold.
    let is_xdp = runner.candidate == Candidate::Xdp;
    let again = if is_xdp { Again::Lost("high") } else { Again::Nothing };
    let most = cap(drop_pps, 0.0);
    let mut s0 = found.pps.median();
    let mut left = SEARCHES;
    let step = loop {
        let offer = offer(bench, setup, (times * s0).min(most));
        let step = bench.turn(runner, |bench, chain| bench.step_again(chain, &axis, &offer, again))?;
        let is_worse = found.conditions.is_some_and(|at| Conditions::of(&step).beside(&at).worse);
        if !(is_xdp && left > 0 && is_worse && step.lost_of("high") > 0) {
            break step;
        }
        left -= 1;
        let bracket = found.bracket(s0, FINE, most);
        bench.search(runner, (setup, 0.0, repetition), bracket, found)?;
        s0 = found.pps.last();
    };
    let sum = |name: &str| {
        let groups = step.groups.iter().filter(|group| group.name == name);
        groups.fold((0, 0), |(o, d), group| (o + group.offered_all, d + group.delivered_all))
    };
    let ((high, got), (normal, normal_got)) = (sum("high"), sum("normal"));
    let percent = |offered: u64, got: u64| 100.0 * offered.saturating_sub(got) as f64 / offered.max(1) as f64;
    losses.high_percent.push(percent(high, got));
    losses.normal_percent.push(percent(normal, normal_got));
    losses.times.push(step.offered_pps() / s0);
    losses.high += step.lost_of("high");
    losses.of += high;
    Ok(())
}

/// Says what became of each load; true where all of them could be offered, or nobody was there. What was lost at less load than was to be offered is lost;
/// where nothing was, such a row shows nothing.
fn judge(bench: &mut Bench<'_>, setup: &Setup, lines: &[Line]) -> bool {
    let work = setup.work();
    let of = |candidate| lines.iter().find(move |line| line.candidate == candidate);
    let loads: &[f64] =
        if setup.work_ns == BARE_WORK_NS || !setup.has_work() { &TIMES } else { &TIMES_WITH_WORK };
    let at = |candidate, times: f64| {
        let points = of(candidate).map(|line| line.points.as_slice()).unwrap_or_default();
        let found = points.iter().find(|(other, _)| (*other - times).abs() < 1e-9);
        found.map(|(_, losses)| losses.clone()).unwrap_or_default()
    };
    let mut all_offered = true;
    for times in loads.iter().copied().filter(|times| *times >= 1.0) {
        let (losses, fifo) = (at(Candidate::Xdp, times), at(Candidate::Fifo, times).high_percent.median());
        let (is_offered, offered) = really_offered(losses.times.median(), times);
        all_offered &= is_offered;
        let is_measured = losses.of > 0 && is_offered;
        bench.claim(
            &format!("high-precedence drops at {times} times saturation, {work}"),
            "Packets of high precedence that were lost after the driver's ring where so many times more comes than can be forwarded.",
            ((times - 2.0).abs() < 1e-9).then_some("45 % / 0 at 1.8 times"),
            format!("{} of {} {offered} (gannet-fifo {fifo:.0} %)", losses.high, losses.of),
            "0 after the driver's ring".to_owned(),
            if losses.high > 0 { Some(false) } else { is_measured.then_some(true) },
        );
    }
    all_offered || of(Candidate::Xdp).is_none()
}

/// High precedence, beside the thesis, and all others.
fn own_panels(bench: &mut Bench<'_>, setup: &Setup, lines: &[Line]) -> [Panel; 2] {
    for line in lines {
        for (times, losses) in &line.points {
            bench.cell(
                vec![
                    ("candidate", json!(line.candidate.name())),
                    ("what", json!("median drops of high precedence")),
                    ("times_saturation", json!(times)),
                    ("work_ns", setup.work_json()),
                ],
                vec![
                    ("high_percent".to_owned(), losses.high_percent.json()),
                    ("normal_percent".to_owned(), losses.normal_percent.json()),
                    ("times_offered".to_owned(), losses.times.json()),
                    ("high_lost".to_owned(), json!(losses.high)),
                    ("high_offered".to_owned(), json!(losses.of)),
                ],
            );
        }
    }
    let curves = |get: &dyn Fn(&Losses) -> &Samples| -> Vec<Curve> {
        let curve = |line: &Line| Curve {
            name: line.candidate.name().to_owned(),
            style: Style::Measured,
            colour: line.candidate.colour(),
            points: at_offered(line.points.iter().map(|(_, losses)| (&losses.times, get(losses)))),
        };
        lines.iter().map(curve).collect()
    };
    let thesis = [
        ("SGSN", Candidate::Fifo, thesis::HIGH_DROPS_SGSN),
        ("ED-SGSN", Candidate::Xdp, thesis::HIGH_DROPS_ED),
    ]
    .map(|(name, candidate, points)| Curve {
        name: format!("thesis: {name} (three points from the text)"),
        style: Style::Reference,
        colour: candidate.colour(),
        points: points.iter().map(|(times, percent)| Point::new(*times, *percent)).collect(),
    });
    let panel = |what: &str, curves| Panel {
        title: format!("{what}, {}", setup.work()),
        x: "load, 1 = own saturation".to_owned(),
        y: "dropped, %".to_owned(),
        curves,
        ..Panel::default()
    };
    let mut high = curves(&|losses| &losses.high_percent);
    high.extend(thesis);
    [panel("High precedence", high), panel("Normal precedence", curves(&|losses| &losses.normal_percent))]
}
