//! Experiment `abm`: what acknowledged mode of LLC carries at round trips of 1 to 700 ms, without loss and with 5 % of it.
//!
//! In virtual time: the same seed gives the same octets. A file goes from the SGSN's LLC to a mobile's in units of 500 octets,
//! over a path of 20,000 octets/s that loses frames of both directions at random. The goodput is its octets by the time from when
//! the link is established to the confirmation of the last unit, so that beginning and end count. Selective and go-back-N
//! retransmission stand side by side, each with T201 from the measured round trips and with T201 as long as T200. Go-back-N
//! has the shortest window that fills the longest path: a longer one only has more sent again at each loss. A second table shows that.

mod path;

use crate::figure::{Curve, Figure, Panel, Point, Scale, Style};
use crate::measure::stats::Samples;
use crate::report::{Cell, Options, Report, Size, Verdict, at_least, at_most, greatest, least};
use gannet_machine::time::Duration;
use gannet_proto::llc::abm::{Options as AbmOptions, Retransmission, Timing};
use path::{Conditions, OCTETS_PER_S, Outcome, UNIT_OCTETS, transfer};
use serde_json::json;
use std::fmt::Write as _;

const ROUND_TRIPS_MS: [u64; 4] = [1, 10, 100, 700];
const LOSSES: [f64; 2] = [0.0, 0.05];
/// Of the goodput without loss, what 5 % of it must leave.
const LEAST_KEPT: f64 = 0.9;
/// T200 and N200 of SAPI 3 (04.64 clause 8.9, table 9).
const T200_S: f64 = 5.0;
const N200: f64 = 3.0;

/// k with selective retransmission, and with go-back-N.
const K_SELECTIVE: u8 = 255;
const K_GO_BACK: u8 = 64;

/// How frames are sent again, and when, and how many may be on their way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mode {
    name: &'static str,
    retransmission: Retransmission,
    timing: Timing,
    k: u8,
}

const fn selective(name: &'static str, timing: Timing) -> Mode {
    Mode { name, retransmission: Retransmission::Selective, timing, k: K_SELECTIVE }
}

const fn go_back_n(name: &'static str, timing: Timing, k: u8) -> Mode {
    Mode { name, retransmission: Retransmission::GoBackN, timing, k }
}

/// The one that is the default, and the others.
const MODES: [Mode; 4] = [
    selective("SACK, adaptive T201", Timing::Adaptive),
    selective("SACK, fixed T201", Timing::Fixed),
    go_back_n("go-back-N, adaptive T201", Timing::Adaptive, K_GO_BACK),
    go_back_n("go-back-N, fixed T201", Timing::Fixed, K_GO_BACK),
];

/// Go-back-N with a shorter and with the longest window.
const WINDOWS: [Mode; 2] = [
    go_back_n("go-back-N, adaptive T201, k = 32", Timing::Adaptive, 32),
    go_back_n("go-back-N, adaptive T201, k = 255", Timing::Adaptive, 255),
];

/// Units of a transfer, and how many seeds.
const fn plan(size: Size) -> (u32, u64) {
    match size {
        Size::Quick => (6000, 3),
        Size::Normal => (6000, 15),
        Size::Full => (20_000, 30),
    }
}

/// What was measured of one mode at one round trip and one loss.
#[derive(Debug)]
struct Measured {
    mode: Mode,
    round_trip_ms: u64,
    loss: f64,
    /// Octets/s.
    goodput: Samples,
    /// I frames that were sent more than once, as a part of the units.
    again: Samples,
    /// S frames of the mobile for each unit.
    acknowledgements: Samples,
    longest_stall_s: Samples,
    /// Establishments after the first, and how often the link was given up.
    anew: u32,
    given_up: u32,
}

fn measure(
    mode: Mode,
    round_trip_ms: u64,
    loss: f64,
    (units, seeds): (u32, u64),
    seed: u64,
) -> Result<Measured, String> {
    let options =
        AbmOptions { retransmission: mode.retransmission, timing: mode.timing, ..AbmOptions::default() };
    let mut measured = Measured::new(mode, round_trip_ms, loss);
    let round_trip = Duration::from_millis(round_trip_ms);
    let seeds = (0..seeds).map(|repetition| seed.wrapping_mul(1_000_003).wrapping_add(repetition));
    // A thread for each: they share nothing, and what they say is taken in the order of the seeds.
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let begin = |seed| {
            let conditions = Conditions { options, k: mode.k, round_trip, loss, units, seed };
            (seed, scope.spawn(move || transfer(&conditions)))
        };
        let begun: Vec<_> = seeds.map(begin).collect();
        begun.into_iter().map(|(seed, thread)| (seed, thread.join())).collect()
    });
    for (seed, outcome) in outcomes {
        let outcome = outcome.unwrap_or_else(|_| Err("it panicked".to_owned()));
        let named = |e| format!("{}, {round_trip_ms} ms, seed {seed}: {e}", mode.name);
        measured.add(units, &outcome.map_err(named)?);
    }
    Ok(measured)
}

impl Measured {
    /// Nothing yet.
    const fn new(mode: Mode, round_trip_ms: u64, loss: f64) -> Self {
        Self {
            mode,
            round_trip_ms,
            loss,
            goodput: Samples::NONE,
            again: Samples::NONE,
            acknowledgements: Samples::NONE,
            longest_stall_s: Samples::NONE,
            anew: 0,
            given_up: 0,
        }
    }

    fn add(&mut self, units: u32, outcome: &Outcome) {
        let count = f64::from(units);
        self.goodput.push(count * as_f64(UNIT_OCTETS as u64) / outcome.took.as_secs_f64());
        self.again.push(as_f64(outcome.i_frames) / count - 1.0);
        self.acknowledgements.push(as_f64(outcome.acknowledgements) / count);
        self.longest_stall_s.push(outcome.longest_stall.as_secs_f64());
        self.anew += outcome.establishments - 1;
        self.given_up += outcome.given_up;
    }

    fn cell(&self) -> Cell {
        Cell::new(
            [
                ("mode", json!(self.mode.name)),
                ("round_trip_ms", json!(self.round_trip_ms)),
                ("loss", json!(self.loss)),
            ],
            [
                ("goodput_octets_per_s".to_owned(), self.goodput.json()),
                ("sent_again_per_unit".to_owned(), self.again.json()),
                ("s_frames_back_per_unit".to_owned(), self.acknowledgements.json()),
                ("longest_stall_s".to_owned(), self.longest_stall_s.json()),
                ("established_anew".to_owned(), json!(self.anew)),
                ("given_up".to_owned(), json!(self.given_up)),
            ],
        )
    }
}

#[expect(clippy::cast_precision_loss, reason = "octets and frames of one file")]
const fn as_f64(value: u64) -> f64 {
    value as f64
}

/// Runs the experiment.
///
/// # Errors
/// Where a unit was lost, doubled or out of order.
pub fn run(options: &Options) -> Result<Report, String> {
    let started = std::time::Instant::now();
    let all = measure_all(&MODES, options)?;
    let windows = measure_all(&WINDOWS, options)?;
    let (units, seeds) = plan(options.size);
    let mut report = Report::simulated("abm", options);
    report.parameter("path", format!("{OCTETS_PER_S} octets/s"));
    report.parameter("file", format!("{units} units of {UNIT_OCTETS} octets"));
    report.parameter("repetitions", format!("{seeds} of each point, each with dice of its own"));
    report.parameter("window k", format!("{K_SELECTIVE} frames, with go-back-N {K_GO_BACK}"));
    report.cells = all.iter().chain(&windows).map(Measured::cell).collect();
    report.verdicts = verdicts(&all);
    report.figures = vec![drawing(&all, seeds)];
    report.remarks = vec![
        table(&all, &MODES),
        table(&windows, &WINDOWS),
        format!("{:.1} s of wall-clock time", started.elapsed().as_secs_f64()),
    ];
    Ok(report)
}

/// Each mode at each round trip and loss.
fn measure_all(modes: &[Mode], options: &Options) -> Result<Vec<Measured>, String> {
    let mut all = Vec::new();
    for mode in modes {
        if options.progress {
            eprintln!("{}", mode.name);
        }
        for round_trip_ms in ROUND_TRIPS_MS {
            for loss in LOSSES {
                all.push(measure(*mode, round_trip_ms, loss, plan(options.size), options.seed)?);
            }
        }
    }
    Ok(all)
}

/// Those of one mode with and without loss, by round trip.
fn pairs(all: &[Measured], mode: Mode) -> impl Iterator<Item = (&Measured, &Measured)> {
    let of =
        move |loss: f64| all.iter().filter(move |of| of.mode == mode && of.loss.to_bits() == loss.to_bits());
    let [free, lossy] = LOSSES;
    of(free).zip(of(lossy))
}

/// What loss leaves of the goodput.
fn kept(free: &Measured, lossy: &Measured) -> Samples {
    lossy.goodput.over(free.goodput.median())
}

/// For a person, and for `docs/lab/acknowledged.md`.
fn table(all: &[Measured], modes: &[Mode]) -> String {
    let mut text = "| mode | round trip | goodput, octets/s | at 5 % loss | of it kept [least..most] | sent again | S frames back | longest stall |\n|---|---|---|---|---|---|---|---|\n".to_owned();
    for mode in modes {
        for (free, lossy) in pairs(all, *mode) {
            let kept = kept(free, lossy);
            let _ = writeln!(
                text,
                "| {} | {} ms | {:.0} | {:.0} | {:.3} [{:.3}..{:.3}] | {:.1} % | {:.2} | {:.1} s |",
                mode.name,
                free.round_trip_ms,
                free.goodput.median(),
                lossy.goodput.median(),
                kept.median(),
                kept.min(),
                kept.max(),
                lossy.again.median() * 100.0,
                lossy.acknowledgements.median(),
                lossy.longest_stall_s.max(),
            );
        }
    }
    text
}

fn verdicts(all: &[Measured]) -> Vec<Verdict> {
    let mut rows = Vec::new();
    let mut row = |name: String, means: &str, ours: String, goal: &str, holds: Option<bool>| {
        let (means, goal) = (means.to_owned(), goal.to_owned());
        rows.push(Verdict { name, means, paper: None, ours, goal, holds });
    };
    let [ours, others @ ..] = MODES;
    let [_, _, adaptive, fixed] = MODES;
    for (free, lossy) in pairs(all, ours) {
        let kept = kept(free, lossy);
        row(
            format!("{}: goodput kept at 5 % loss, {} ms", ours.name, free.round_trip_ms),
            "Median of the goodput at 5 % loss, by the median without loss, at this round trip [least..most].",
            format!("{:.3} [{:.3}..{:.3}]", kept.median(), kept.min(), kept.max()),
            ">= 0.9",
            at_least(kept.median(), LEAST_KEPT),
        );
    }
    for (loss, is_lossy) in ["without loss", "at 5 % loss"].into_iter().zip([false, true]) {
        let medians = |mode| {
            pairs(all, mode).map(move |(free, lossy)| if is_lossy { lossy } else { free }.goodput.median())
        };
        let least_of = |mode, others: &[Mode]| {
            let ratios = others.iter().flat_map(|other| medians(mode).zip(medians(*other)));
            least(ratios.map(|(ours, theirs)| ours / theirs))
        };
        for (name, least) in [
            (format!("{}: to the best of the others, {loss}", ours.name), least_of(ours, &others)),
            (format!("{}: to fixed T201, {loss}", adaptive.name), least_of(adaptive, &[fixed])),
        ] {
            let means = "Goodput by that of the other way, at the round trip where it is lowest: never worse by more than 3 %.";
            row(name, means, format!("{least:.3}"), ">= 0.97", at_least(least, 0.97));
        }
    }
    // N200 counts repetitions: with a fixed T201 the first transmission has its T200 besides.
    for (timing, name, times, goal) in [
        (Timing::Adaptive, "adaptive", N200, "<= N200 x T200, 15 s"),
        (Timing::Fixed, "fixed", N200 + 1.0, "<= (N200 + 1) x T200, 20 s"),
    ] {
        let of_timing = all.iter().filter(|of| of.mode.timing == timing);
        let stalled = greatest(of_timing.map(|of| of.longest_stall_s.max()));
        row(
            format!("longest time that V(A) stood, {name} T201"),
            "The longest pause in which no frame was acknowledged, of all transfers: no longer than LLC tries.",
            format!("{stalled:.1} s"),
            goal,
            at_most(stalled, T200_S * times),
        );
    }
    let anew: u32 = all.iter().map(|of| of.anew + of.given_up).sum();
    row(
        "links that were established anew".to_owned(),
        "No link is given up, and none is established a second time, at any loss and round trip.",
        anew.to_string(),
        "0",
        (!all.is_empty() && all.iter().all(|of| !of.goodput.is_empty())).then_some(anew == 0),
    );
    rows
}

/// Goodput without loss and with it, on equal axes, and what it takes.
fn drawing(all: &[Measured], seeds: u64) -> Figure {
    let curves = |of: &dyn Fn((&Measured, &Measured)) -> Point| -> Vec<Curve> {
        let curve = |(mode, colour): (Mode, usize)| Curve {
            name: mode.name.to_owned(),
            style: Style::Measured,
            colour,
            points: pairs(all, mode).map(of).collect(),
        };
        MODES.into_iter().zip(0..).map(curve).collect()
    };
    let panel = |title: &str, y: &str, y_scale, curves| Panel {
        title: title.to_owned(),
        x: "round trip, ms".to_owned(),
        y: y.to_owned(),
        x_scale: Scale::Logarithmic,
        y_scale,
        curves,
        ..Panel::default()
    };
    let goodput = |of: &Measured| of.goodput.over(1000.0).point(as_f64(of.round_trip_ms));
    let again = |of: &Measured| of.again.point(as_f64(of.round_trip_ms));
    let y = "goodput, 1000 octets/s";
    let panels = vec![
        panel("What arrives without loss", y, Scale::Linear, curves(&|(free, _)| goodput(free))),
        panel("What arrives at 5 % loss", y, Scale::Linear, curves(&|(_, lossy)| goodput(lossy))),
        panel(
            "What it takes at 5 % loss",
            "I frames sent again for each unit",
            Scale::Logarithmic,
            curves(&|(_, lossy)| again(lossy)),
        ),
    ];
    let caption = format!(
        "Acknowledged mode over a path of {OCTETS_PER_S} octets/s with a window of {K_SELECTIVE} frames ({K_GO_BACK} with go-back-N). \
         Points are medians of {seeds} transfers, bars the lowest and the highest."
    );
    Figure::new("abm", &caption, panels)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of each mode so many units for so many seeds, at one round trip.
    fn few(plan: (u32, u64), seed: u64) -> Vec<Measured> {
        let at = |mode| LOSSES.map(|loss| measure(mode, 100, loss, plan, seed).unwrap());
        MODES.into_iter().flat_map(at).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let json = |seed| {
            let cells: Vec<Cell> = few((1500, 2), seed).iter().map(Measured::cell).collect();
            serde_json::to_string(&cells).unwrap()
        };
        assert_eq!(json(7), json(7));
        assert_ne!(json(7), json(8));
    }

    #[test]
    fn what_is_lost_is_sent_again_and_what_is_claimed_holds() {
        // As long as in any run: the goodput of a short file is that of its end.
        let all = few(plan(Size::Quick), 1);
        for mode in MODES {
            let (free, lossy) = pairs(&all, mode).next().unwrap();
            let again = lossy.again.median();
            // T201 is too short for the first window until a queue of it has been measured.
            assert!(free.again.max() < 0.005 && free.given_up == 0, "{} {:?}", mode.name, free.again);
            match mode.retransmission {
                Retransmission::Selective => assert!((0.03..0.09).contains(&again), "{} {again}", mode.name),
                Retransmission::GoBackN => assert!(again > 0.2, "{} {again}", mode.name),
            }
        }
        let text = table(&all, &MODES);
        assert_eq!(text.lines().count(), 2 + MODES.len(), "{text}");
        let figure = drawing(&all, 3);
        crate::figure::check::legible(&crate::figure::svg(&figure, "")).unwrap();
        assert!(figure.panels.iter().all(|panel| panel.curves.len() == MODES.len()));
        let verdicts = verdicts(&all);
        assert_eq!(verdicts.len(), 8, "one of goodput for this round trip: {verdicts:?}");
        verdicts.iter().for_each(|row| assert_eq!(row.holds, Some(true), "{row:?}"));
    }

    #[test]
    fn what_was_not_measured_is_not_shown() {
        let [free, lossy] = LOSSES.map(|loss| Measured::new(MODES[0], 100, loss));
        for all in [vec![], vec![free, lossy]] {
            for verdict in verdicts(&all) {
                assert_eq!(verdict.holds, None, "{}", verdict.name);
            }
        }
    }
}
