//! Many runs of one set-up: periodic streams lock to each other's phases, so that only the mean over random phases counts.

use super::link::{Arrivals, Measured, Plan, as_f64, measure};
use super::scenario::{LINK_KBPS, STREAMS, Setup, place};
use crate::figure::Point;
use crate::report::{Cell, Options, Size, Verdict, greatest, least};
use gannet_machine::time::Duration;
use serde_json::{Value, json};

/// Runs of a set-up, and the length of each. Poisson at the normal size is an hour in all.
pub const fn plan(size: Size, arrivals: Arrivals) -> (u64, Plan) {
    let (sets, span_s) = match (size, arrivals) {
        (Size::Quick, Arrivals::Periodic) => (20, 10),
        (Size::Quick, Arrivals::Poisson) => (20, 15),
        (Size::Normal, Arrivals::Periodic) => (20, 60),
        (Size::Normal, Arrivals::Poisson) => (20, 180),
        (Size::Full, Arrivals::Periodic) => (100, 60),
        (Size::Full, Arrivals::Poisson) => (100, 180),
    };
    (sets, Plan { warm_up: Duration::from_secs(4), span: Duration::from_secs(span_s) })
}

/// For the parameters of a report.
pub fn plan_text(size: Size, arrivals: Arrivals) -> String {
    let (sets, plan) = plan(size, arrivals);
    format!("{sets} runs of {} s", plan.span.0 / 1_000_000_000)
}

/// A quantity over all runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Their mean.
    pub mean: f64,
    /// The lowest run.
    pub least: f64,
    /// The highest run.
    pub most: f64,
    /// Standard deviation of the runs.
    pub deviation: f64,
}

impl Spread {
    /// Nothing was measured.
    pub const NOTHING: Self = Self { mean: f64::NAN, least: f64::NAN, most: f64::NAN, deviation: f64::NAN };

    fn of(values: &[f64]) -> Self {
        let count = as_f64(values.len() as u64);
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let (least, most) = (least(values.iter().copied()), greatest(values.iter().copied()));
        Self { mean, least, most, deviation: (squares / (count - 1.0)).sqrt() }
    }

    /// With its bar.
    pub const fn point(self, x: f64) -> Point {
        Point { x, y: self.mean, spread: (self.least, self.most) }
    }

    /// A run that another simulation made, given to so much, is one that these runs let expect: within three standard deviations.
    pub fn expects(self, value: f64, digit: f64) -> bool {
        (value - self.mean).abs() <= 3.0 * self.deviation + digit / 2.0
    }
}

/// What one run left.
#[derive(Debug)]
struct Run {
    got_kbps: Vec<f64>,
    kept: Vec<f64>,
    delays_ms: Vec<[f64; 2]>,
}

impl Run {
    fn of(measured: &Measured) -> Self {
        Self {
            got_kbps: measured.got_kbps(),
            kept: (0..STREAMS.len()).map(|place| measured.kept(place)).collect(),
            delays_ms: (0..STREAMS.len()).map(|place| measured.delay_ms(place)).collect(),
        }
    }
}

/// All runs of one set-up.
#[derive(Debug)]
pub struct Sets(Vec<Run>);

impl Sets {
    /// Runs them.
    ///
    /// # Errors
    /// Where the set-up is refused.
    pub fn run(setup: &Setup, options: &Options, arrivals: Arrivals) -> Result<Self, String> {
        let (sets, plan) = plan(options.size, arrivals);
        let one = |set: u64| -> Result<Run, String> {
            // The same phases in each set-up, so that these differ by nothing else.
            let seed = options.seed.wrapping_mul(1_000_003).wrapping_add(set);
            measure(setup, LINK_KBPS, (arrivals, plan), seed).map(|measured| Run::of(&measured))
        };
        (0..sets).map(one).collect::<Result<_, _>>().map(Self)
    }

    /// Those that were measured otherwise; none, where nothing was.
    pub fn of(runs: &[Measured]) -> Self {
        Self(runs.iter().map(Run::of).collect())
    }

    fn over(&self, of: impl Fn(&Run) -> Option<f64>) -> Spread {
        let values: Vec<f64> = self.0.iter().map(|run| of(run).unwrap_or(f64::NAN)).collect();
        Spread::of(&values)
    }

    /// What a stream got, in kbit/s.
    pub fn got(&self, name: &str) -> Spread {
        self.over(|run| run.got_kbps.get(place(name)).copied())
    }

    /// The same beyond its reservation.
    pub fn excess(&self, name: &str) -> Spread {
        let reserved = STREAMS.get(place(name)).map_or(f64::NAN, |stream| f64::from(stream.reserved_kbps));
        self.over(|run| run.got_kbps.get(place(name)).map(|got| got - reserved))
    }

    /// The part of min(offered, reserved) that a stream got.
    pub fn kept(&self, name: &str) -> Spread {
        self.over(|run| run.kept.get(place(name)).copied())
    }

    /// Mean and 99th percentile of a stream's delay, in ms.
    pub fn delay(&self, name: &str) -> [Spread; 2] {
        [0, 1].map(|which: usize| {
            self.over(|run| run.delays_ms.get(place(name)).and_then(|delay| delay.get(which)).copied())
        })
    }

    /// The reserved stream that keeps the least of its own, and how much; without those that are named.
    pub fn worst_kept(&self, without: &[&str]) -> (&'static str, f64) {
        let reserved =
            STREAMS.iter().filter(|stream| stream.is_reserved() && !without.contains(&stream.name));
        reserved
            .map(|stream| (stream.name, self.kept(stream.name).mean))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .unwrap_or(("", f64::NAN))
    }

    /// The mean excess of the best-effort streams, and the largest distance of one of them from it, as a part of it.
    pub fn best_effort(&self) -> (f64, f64) {
        let means = ["B1", "B2", "B3"].map(|name| self.got(name).mean);
        let mean = means.iter().sum::<f64>() / 3.0;
        (mean, greatest(means.iter().map(|of| (of / mean - 1.0).abs())))
    }

    /// The largest distance of a reserved stream's excess from that mean, as a part of it.
    pub fn reserved_excess(&self) -> f64 {
        let (mean, _) = self.best_effort();
        greatest(["A3", "A4"].iter().map(|name| (self.excess(name).mean / mean - 1.0).abs()))
    }

    /// A point for each stream.
    pub fn cells(&self, axis: &[(&'static str, Value)]) -> Vec<Cell> {
        let rounded = |value: f64| json!((value * 1e4).round() / 1e4);
        STREAMS
            .iter()
            .map(|stream| {
                let axis = axis.iter().cloned().chain([("stream", json!(stream.name))]);
                let got = self.got(stream.name);
                let mut metrics = vec![
                    ("got_kbps".to_owned(), rounded(got.mean)),
                    ("got_least_kbps".to_owned(), rounded(got.least)),
                    ("got_most_kbps".to_owned(), rounded(got.most)),
                ];
                if stream.is_reserved() {
                    metrics.push((
                        "kept_of_min_of_offered_and_reserved".to_owned(),
                        rounded(self.kept(stream.name).mean),
                    ));
                }
                let [mean, high] = self.delay(stream.name);
                metrics.push(("delay_mean_ms".to_owned(), rounded(mean.mean)));
                metrics.push(("delay_p99_ms".to_owned(), rounded(high.mean)));
                Cell::new(axis, metrics)
            })
            .collect()
    }
}

/// A row of a report's table.
pub fn verdict(
    name: &str,
    means: &str,
    paper: &str,
    ours: String,
    goal: &str,
    holds: Option<bool>,
) -> Verdict {
    let [name, means, goal] = [name, means, goal].map(str::to_owned);
    Verdict { name, means, paper: (!paper.is_empty()).then(|| paper.to_owned()), ours, goal, holds }
}

/// For a person.
pub fn percent(part: f64) -> String {
    format!("{:.2} %", part * 100.0)
}
