//! `tcp-model`: the TCP of virtual time beside the machine's kernel, over the same line with the same dice.
//!
//! The line is the emulator's model in both: for the kernel it runs in real time between network namespaces, for `lab::tcp` in
//! virtual time. The fate of the n-th frame is the same in both as long as both send the same.

mod kernel;
mod scenario;

use crate::figure::{Curve, Figure, Panel, Point, Scale, Style};
use crate::measure::stats::Samples;
use crate::report::{Cell, Options, Report, Size, Verdict, at_most};
use crate::settings::Changed;
use crate::testbed;
use kernel::Bed;
use scenario::{ALL, DELAY, Measured, QUEUE, RATE, Scenario, Way};
use serde_json::json;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// By how much the model may differ from the kernel.
const TOLERANCE: f64 = 0.10;
/// HyStart of the kernel's cubic, which the model has not.
const HYSTART: &str = "/sys/module/tcp_cubic/parameters/hystart";
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
/// Points of a curve.
const POINTS: usize = 120;

const fn runs(size: Size) -> u64 {
    match size {
        Size::Quick => 1,
        Size::Normal => 9,
        Size::Full => 25,
    }
}

/// One run in both worlds.
#[derive(Debug, Clone)]
struct Both {
    way: Way,
    run: u64,
    kernel: Measured,
    model: Measured,
}

/// All runs of one situation, both congestion controls.
#[derive(Debug)]
struct Of {
    scenario: Scenario,
    all: Vec<Both>,
}

/// Runs it.
///
/// # Errors
/// A sentence for the person: this machine cannot do it, or a transfer has failed.
pub fn run(options: &Options) -> Result<Report, String> {
    let available = std::fs::read_to_string(AVAILABLE).map_err(|error| format!("{AVAILABLE}: {error}"))?;
    let has = |way: &Way| available.split_whitespace().any(|name| name == way.name());
    let ways: Vec<Way> = Way::ALL.into_iter().filter(has).collect();
    if ways.is_empty() {
        return Err(format!("tcp-model needs reno or cubic in the kernel; it has {}", available.trim()));
    }
    let stop = testbed::stop_on_signals().map_err(|error| error.to_string())?;
    testbed::remove_leftovers();
    let hystart = Changed::make(Path::new(HYSTART), "0");
    let count = runs(options.size);
    // The situations share nothing, and none of them needs much of the machine.
    let all: Result<Vec<Of>, String> = std::thread::scope(|scope| {
        let each = |(number, scenario): (usize, Scenario)| {
            let (ways, stop) = (&ways, &stop);
            scope.spawn(move || situation(number, scenario, ways, options, stop))
        };
        let handles: Vec<_> = ALL.into_iter().enumerate().map(each).collect();
        let join = |handle: std::thread::ScopedJoinHandle<'_, Result<Of, String>>| {
            handle.join().unwrap_or_else(|_| Err("a situation has failed".to_owned()))
        };
        handles.into_iter().map(join).collect()
    });
    let all = all?;
    let mut report = Report::here("tcp-model", options);
    report.parameter("runs of each situation and congestion control", count);
    report.parameter(
        "line",
        format!("{} kbit/s, {} ms each way, a queue of {QUEUE} full frames", RATE / 1000, DELAY.as_millis()),
    );
    report.parameter("kernel", "SACK, timestamps, F-RTO, RACK; no tail loss probe, no GSO");
    report.parameter("HyStart of cubic", if hystart.is_some() { "off" } else { "as the kernel has it" });
    for of in &all {
        report.cells.extend(of.all.iter().flat_map(|both| cells(&of.scenario, both)));
        for way in &ways {
            report.verdicts.extend(verdicts(of, *way));
        }
    }
    report.figures.push(figure(&all));
    Ok(report)
}

fn situation(
    number: usize,
    scenario: Scenario,
    ways: &[Way],
    options: &Options,
    stop: &AtomicBool,
) -> Result<Of, String> {
    let bed = Bed::new(number)?;
    let mut of = Of { scenario, all: Vec::new() };
    for run in 0..runs(options.size) {
        for way in ways {
            let seed = options.seed.wrapping_add(run);
            let failed = |why: String| format!("{}, {}, run {}: {why}", scenario.name, way.name(), run + 1);
            let kernel = bed.transfer(&scenario, *way, seed, stop).map_err(failed)?;
            let kernel = Measured::new(kernel.arrivals, kernel.retransmitted, kernel.timeouts, kernel.counts);
            let model = Measured::of_model(&scenario.model(*way, seed).map_err(failed)?);
            if options.progress {
                eprintln!(
                    "tcp-model: {}, {}, run {}: kernel {kernel}; model {model}",
                    scenario.name,
                    way.name(),
                    run + 1
                );
            }
            of.all.push(Both { way: *way, run, kernel, model });
        }
    }
    Ok(of)
}

fn cells(scenario: &Scenario, both: &Both) -> [Cell; 2] {
    [("kernel", &both.kernel), ("model", &both.model)].map(|(place, measured)| {
        let axis = [
            ("situation", json!(scenario.name)),
            ("congestion", json!(both.way.name())),
            ("run", json!(both.run + 1)),
            ("tcp", json!(place)),
        ];
        let metrics = [
            ("goodput_kbps", json!(measured.goodput_kbps)),
            ("retransmitted", json!(measured.retransmitted)),
            ("timeouts", json!(measured.timeouts)),
            ("recovery_s", json!(measured.recovery_s)),
            ("line_frames", json!(measured.frames.entered)),
            ("line_lost", json!(measured.frames.lost)),
            ("line_refused", json!(measured.frames.refused)),
        ];
        Cell::new(axis, metrics.map(|(name, value)| (name.to_owned(), value)))
    })
}

/// What is compared: its name, its meaning, and the value of each run.
type Quantity = (&'static str, &'static str, fn(&Measured) -> f64);

const QUANTITIES: [Quantity; 3] = [
    ("goodput", "Octets of the stream by time, of all runs, in kbit/s.", |of| of.goodput_kbps),
    ("retransmissions", "Segments that were sent again, mean of all runs.", |of| {
        #[expect(clippy::cast_precision_loss, reason = "a count")]
        let count = of.retransmitted as f64;
        count
    }),
    (
        "recovery",
        "The longest time of a run in which nothing arrived in order, mean of all runs, in s.",
        |of| of.recovery_s,
    ),
];

fn verdicts(of: &Of, way: Way) -> Vec<Verdict> {
    let runs: Vec<&Both> = of.all.iter().filter(|both| both.way == way).collect();
    let verdict = |(name, means, value): Quantity| {
        let mean = |pick: fn(&Both) -> &Measured| {
            let all: Samples = runs.iter().map(|both| value(pick(both))).collect();
            let sum: f64 = all.each().map(|(_, value)| value).sum();
            // Of none it is not a number.
            #[expect(clippy::cast_precision_loss, reason = "a count")]
            let count = all.len() as f64;
            sum / count
        };
        let (kernel, model) = (mean(|both| &both.kernel), mean(|both| &both.model));
        let ratio = model / kernel;
        let digits = if name == "goodput" { 0 } else { 2 };
        Verdict {
            name: format!("{}, {}: {name}", of.scenario.name, way.name()),
            means: format!("{} Here {}.", means, of.scenario.what),
            paper: None,
            ours: format!("{ratio:.3}: {model:.digits$} beside {kernel:.digits$} of the kernel"),
            goal: format!("within {:.0} %", TOLERANCE * 100.0),
            holds: at_most((ratio - 1.0).abs(), TOLERANCE),
        }
    };
    QUANTITIES.into_iter().map(verdict).collect()
}

/// Octets in order over time in the first run of the first congestion control of each situation.
fn figure(all: &[Of]) -> Figure {
    let panels = all.iter().filter_map(|of| {
        let both = of.all.first()?;
        let curve = |name: &str, style, colour, measured: &Measured| Curve {
            name: name.to_owned(),
            style,
            colour,
            points: thinned(&measured.arrivals),
        };
        Some(Panel {
            title: format!("{}, {}", of.scenario.name, both.way.name()),
            x: "time (s)".to_owned(),
            y: "arrived in order (kB)".to_owned(),
            x_scale: Scale::Linear,
            y_scale: Scale::Linear,
            y_end: None,
            curves: vec![
                curve("kernel", Style::Measured, 0, &both.kernel),
                curve("model", Style::Second, 1, &both.model),
            ],
        })
    });
    Figure::new(
        "tcp-model",
        "Octets that have arrived in order by time in one transfer of each situation: the machine's kernel over the emulated line, \
         and lab::tcp in virtual time over the same line with the same dice.",
        panels.collect(),
    )
}

fn thinned(arrivals: &[(f64, u64)]) -> Vec<Point> {
    let step = arrivals.len().div_ceil(POINTS).max(1);
    let last = arrivals.len().saturating_sub(1);
    let kept = arrivals.iter().enumerate().filter(|(place, _)| place % step == 0 || *place == last);
    #[expect(clippy::cast_precision_loss, reason = "for a figure")]
    let point = |(_, (at, octets)): (usize, &(f64, u64))| Point::new(*at, *octets as f64 / 1000.0);
    kept.map(point).collect()
}

impl core::fmt::Display for Measured {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { goodput_kbps, retransmitted, timeouts, recovery_s, .. } = self;
        write!(
            f,
            "{goodput_kbps:.0} kbit/s, {retransmitted} sent again, {timeouts} timeouts, longest stall {recovery_s:.2} s"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::model::Counts;

    /// A model that is as the kernel passes, one that is a fifth slower does not, and what was not measured is not shown.
    #[test]
    fn a_tenth_decides() {
        let measured =
            |factor: f64| Measured::new(vec![(0.1, 500), (factor, 1_000_000)], 20, 0, Counts::default());
        let of = |kernel: Option<f64>, model: f64| {
            let both = kernel.map(|kernel| Both {
                way: Way::Reno,
                run: 0,
                kernel: measured(kernel),
                model: measured(model),
            });
            let of = Of { scenario: ALL[0], all: both.into_iter().collect() };
            verdicts(&of, Way::Reno).iter().map(|verdict| verdict.holds).collect::<Vec<_>>()
        };
        assert_eq!(of(Some(4.0), 4.1), [Some(true); 3]);
        assert_eq!(of(Some(4.0), 5.0), [Some(false), Some(true), Some(false)]);
        assert_eq!(of(None, 5.0), [None; 3]);
    }

    #[test]
    fn a_curve_keeps_its_ends() {
        let arrivals: Vec<(f64, u64)> = (0..1000_u32).map(|n| (f64::from(n), u64::from(n) * 1000)).collect();
        let points = thinned(&arrivals);
        assert!(points.len() <= POINTS + 1);
        assert_eq!(points.first().map(|point| point.x), Some(0.0));
        assert_eq!(points.last().map(|point| point.y), Some(999.0));
    }
}
