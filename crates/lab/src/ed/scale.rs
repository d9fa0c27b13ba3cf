//! `ed-scale`: the same traffic over a thousand and over a million contexts, and what a mobile costs in memory.

use crate::figure::{Curve, Panel, Point, Scale, Style};
use crate::measure::bench::{Axis, Bench, everybody};
use crate::measure::loads::KBPS;
use crate::measure::saturation::{Found, cap, with_bare_work, without_bare_work};
use crate::measure::stats::Samples;
use crate::measure::{Bare, Candidate, Chain, Setup, osmo};
use crate::report::{at_least, at_most};
use serde_json::json;

/// Contexts, of which each has traffic.
const CONTEXTS: [u32; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// Throughput at the most against that at the fewest.
const KEPT: f64 = 0.8;
/// How near the two sides of a search come.
const RESOLUTION: f64 = 1.02;
/// Octets of memory for a mobile with one context.
const OCTETS: f64 = 1024.0;

struct Level {
    contexts: u32,
    found: Found,
    /// Resident memory before the first mobile attached, and after the last.
    resident: (u64, u64),
}

/// A bare AF_XDP loop over so many contexts, half of which it serves: what of the fall is the driver's own table, the
/// generator's and the machine's.
struct BareLevel {
    chain: Box<dyn Chain>,
    setup: Setup,
    found: Found,
}

impl BareLevel {
    fn start(bench: &mut Bench<'_>, contexts: u32) -> Result<Self, String> {
        let mut setup = with_bare_work(&bench.setup(KBPS));
        setup.users = contexts;
        let mut chain = bench.lab.bare(Bare::Xsk, &setup)?;
        chain.pause()?;
        Ok(Self { chain, setup, found: Found::default() })
    }

    fn measure(&mut self, bench: &mut Bench<'_>, at: (u32, f64)) -> Result<(), String> {
        self.chain.resume()?;
        bench.bare_once((Bare::Xsk, self.chain.as_mut()), &self.setup, at, &mut self.found)?;
        self.chain.pause()
    }
}

/// What is left of a throughput, in each repetition.
fn kept(few: &Samples, many: &Samples) -> Samples {
    (0..).zip(many.each()).map(|(repetition, (_, many))| many / few.at(repetition)).collect()
}

/// Measures.
///
/// # Errors
/// A sentence for the person.
pub fn experiment(bench: &mut Bench<'_>) -> Result<(), String> {
    osmo::absent(bench, "it looks for each mobile in a list, one after the other");
    let drop_pps = bench.drop_rate(&bench.setup(KBPS))?.median();
    let most = bench.sizes.users.saturating_mul(100);
    let contexts = CONTEXTS.iter().copied().filter(|n| *n <= most && (!bench.sizes.quick || *n != 10_000));
    let mut levels: Vec<Level> = Vec::new();
    let mut runners = Vec::new();
    for contexts in contexts.collect::<Vec<_>>() {
        // What a mobile negotiates does not matter here: none reaches it.
        let mut setup = bench.setup(KBPS * 10);
        setup.users = contexts;
        let mut started = bench.start(&[Candidate::Xdp], &setup)?;
        let Some(mut runner) = started.pop() else { continue };
        let resident = bench.turn(&mut runner, |_, chain| chain.resident_octets())?;
        bench.lab.say(&format!(
            "{contexts} contexts: {} MiB resident, {} before",
            resident.1 >> 20,
            resident.0 >> 20
        ));
        levels.push(Level { contexts, found: Found::default(), resident });
        runners.push((runner, setup));
    }
    let ends = [levels.first(), levels.last()].into_iter().flatten().map(|level| level.contexts);
    let ends: Vec<u32> = ends.collect();
    let mut bares =
        ends.into_iter().map(|contexts| BareLevel::start(bench, contexts)).collect::<Result<Vec<_>, _>>()?;
    for repetition in 0..bench.sizes.repetitions {
        for bare in &mut bares {
            bare.measure(bench, (repetition, cap(drop_pps, 0.0)))?;
        }
        for ((runner, setup), level) in runners.iter_mut().zip(&mut levels) {
            let axis: Axis = vec![
                ("candidate", json!(Candidate::Xdp.name())),
                ("what", json!("saturation")),
                ("contexts", json!(level.contexts)),
                ("repetition", json!(repetition)),
            ];
            let bracket = level.found.bracket(350_000.0, RESOLUTION, cap(drop_pps, 0.0));
            let make = |bench: &Bench<'_>, load: f64| bench.offer(setup, vec![everybody(setup, load)]);
            let saturation =
                bench.turn(runner, |bench, chain| bench.saturation(chain, &axis, bracket, &make))?;
            level.found.add(&saturation);
        }
    }
    drop(runners);
    judge(bench, &levels, &bares);
    draw(bench, &levels);
    Ok(())
}

/// Octets of memory for each mobile; not a number where memory was not measured.
#[expect(clippy::cast_precision_loss, reason = "octets of memory stay far below 2^52")]
fn octets_each(level: &Level) -> f64 {
    let (before, after) = level.resident;
    if before > 0 && after > before { (after - before) as f64 / f64::from(level.contexts) } else { f64::NAN }
}

fn judge(bench: &mut Bench<'_>, levels: &[Level], bares: &[BareLevel]) {
    let (few, many) = match levels {
        [few, .., many] => (Some(few), Some(many)),
        // One level is compared with nothing.
        _ => (None, None),
    };
    let pps = |level: Option<&Level>| level.map(|level| level.found.pps.clone()).unwrap_or_default();
    let contexts = |level: Option<&Level>, otherwise: u32| level.map_or(otherwise, |level| level.contexts);
    let part = kept(&pps(few), &pps(many)).median();
    let bare = match bares {
        [few, .., many] => {
            let [few, many] = [&few.found, &many.found].map(without_bare_work);
            let part = kept(&few, &many).median() * 100.0;
            format!("; the bare loop {part:.0} % ({} / {})", many.kpps(), few.kpps())
        }
        _ => String::new(),
    };
    let [least, .., most] = CONTEXTS;
    bench.claim(
        &format!("throughput at {} contexts against that at {}", contexts(many, most), contexts(few, least)),
        "What is left of the throughput of one core when its packets are for many more mobiles, whose state no cache holds.",
        None,
        format!("{:.0} % ({} / {}){bare}", part * 100.0, pps(many).kpps(), pps(few).kpps()),
        "at least 80 %".to_owned(),
        at_least(part, KEPT),
    );
    // Within one process: frames, which are there from the start, are for packets, not for mobiles.
    let (before, after) = many.map(|level| level.resident).unwrap_or_default();
    let octets = many.map_or(f64::NAN, octets_each);
    bench.claim(
        "resident memory for each attached mobile with one context",
        "How much the SGSN's resident memory grows from the first attach to the last, for each mobile.",
        None,
        format!("{octets:.0} octets (from {} to {} MiB)", before >> 20, after >> 20),
        "at most 1 KiB".to_owned(),
        at_most(octets, OCTETS),
    );
}

#[expect(clippy::cast_precision_loss, reason = "octets of memory stay far below 2^52")]
fn draw(bench: &mut Bench<'_>, levels: &[Level]) {
    for level in levels {
        bench.cell(
            vec![("what", json!("median saturation")), ("contexts", json!(level.contexts))],
            vec![
                ("pps".to_owned(), level.found.pps.json()),
                ("resident_before_octets".to_owned(), json!(level.resident.0)),
                ("resident_octets".to_owned(), json!(level.resident.1)),
            ],
        );
    }
    let panel = |title: &str, y: &str, y_scale, points: Vec<Point>| Panel {
        title: title.to_owned(),
        x: "contexts".to_owned(),
        y: y.to_owned(),
        x_scale: Scale::Logarithmic,
        y_scale,
        curves: vec![Curve {
            name: Candidate::Xdp.name().to_owned(),
            style: Style::Measured,
            colour: Candidate::Xdp.colour(),
            points,
        }],
        ..Panel::default()
    };
    let throughput =
        levels.iter().map(|level| level.found.pps.over(1000.0).point(f64::from(level.contexts))).collect();
    let memory = levels
        .iter()
        .map(|level| Point::new(f64::from(level.contexts), level.resident.1 as f64 / f64::from(1 << 20)));
    let panels = vec![
        panel("Saturation", "1000 packets/s", Scale::Linear, throughput),
        panel("Resident memory, everybody attached", "MiB", Scale::Logarithmic, memory.collect()),
    ];
    let caption = format!(
        "One core with more and more contexts, of which each has traffic. Saturation: {} Memory was read once for each number of contexts.",
        bench.repeated(false)
    );
    bench.figure("ed-scale", &caption, panels);
}
