//! Experiment `qos-cell`: contexts of every class side by side in one cell, which is offered half to twice its leak rate.
//!
//! In virtual time, so that the radio is the only bottleneck and the same seed gives the same octets. Two real-time contexts
//! (conversational) send what was guaranteed to them, whatever the load. Four with a guaranteed rate (streaming) and six of best
//! effort share the rest of the load equally, so that from the middle of the axis on the former send more than is guaranteed to
//! them. One more mobile asks for a guaranteed rate that the cell has no room for. What each class got, and how long its N-PDUs
//! were on their way, stands against what was negotiated.

mod setup;
mod traffic;

use crate::figure::{Curve, Figure, Panel, Point, Scale, Style};
use crate::report::{Cell, Options, Report, Size, Verdict, at_least, at_most, greatest, least};
use gannet_machine::time::Duration;
use serde_json::json;
use setup::{LEAK_OCTETS_PER_S, MEMBERS, Member, Service};
use traffic::Measured;

/// What is offered, as a part of the leak rate, and how long each is measured.
fn plan(size: Size) -> (&'static [f64], Duration) {
    const ALL: &[f64] = &[0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0];
    match size {
        Size::Quick => (&[0.5, 1.0, 2.0], Duration::from_secs(60)),
        Size::Normal => (ALL, Duration::from_secs(300)),
        Size::Full => (ALL, Duration::from_secs(1800)),
    }
}

/// What was measured at one load.
#[derive(Debug)]
struct AtLoad {
    load: f64,
    members: Vec<Measured>,
    span_s: f64,
    /// Activations that got a lower class.
    lowered: u64,
}

/// What one class got.
#[derive(Debug, Clone, Copy)]
struct OfClass {
    offered: f64,
    delivered: f64,
    guaranteed: f64,
    lost: u64,
    delay_median_ms: f64,
    delay_p99_ms: f64,
}

impl AtLoad {
    fn of(&self, service: Service) -> impl Iterator<Item = (&Member, &Measured)> {
        MEMBERS.iter().zip(&self.members).filter(move |(member, _)| member.service == service)
    }

    /// In parts of the leak rate.
    fn class(&self, service: Service) -> OfClass {
        let part = |octets: u64| as_f64(octets) / self.span_s / as_f64(LEAK_OCTETS_PER_S);
        let sum = |of: fn(&Measured) -> u64| self.of(service).map(|(_, measured)| of(measured)).sum::<u64>();
        let guaranteed = self.of(service).map(|(member, _)| member.guaranteed_on_air()).sum::<u64>();
        let mut delays: Vec<u64> =
            self.of(service).flat_map(|(_, measured)| measured.delays_ns.iter().copied()).collect();
        delays.sort_unstable();
        OfClass {
            offered: part(sum(|measured| measured.offered_octets)),
            delivered: part(sum(|measured| measured.delivered_octets)),
            guaranteed: as_f64(guaranteed) / as_f64(LEAK_OCTETS_PER_S),
            lost: sum(Measured::lost),
            delay_median_ms: quantile_ms(&delays, 0.5),
            delay_p99_ms: quantile_ms(&delays, 0.99),
        }
    }

    /// What each member of a class got, in octets/s on the air.
    fn rates(&self, service: Service) -> Vec<f64> {
        self.of(service).map(|(_, measured)| as_f64(measured.delivered_octets) / self.span_s).collect()
    }
}

#[expect(clippy::cast_precision_loss, reason = "octets of some minutes")]
const fn as_f64(value: u64) -> f64 {
    value as f64
}

fn quantile_ms(sorted_ns: &[u64], part: f64) -> f64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
    let at = (as_f64(sorted_ns.len() as u64) * part) as usize;
    let last = sorted_ns.len().saturating_sub(1);
    sorted_ns.get(at.min(last)).map_or(f64::NAN, |ns| as_f64(*ns) / 1e6)
}

/// Runs the experiment.
///
/// # Errors
/// Where a network could not be set up.
pub fn run(options: &Options) -> Result<Report, String> {
    let started = std::time::Instant::now();
    let (loads, span) = plan(options.size);
    let mut all = Vec::new();
    for load in loads {
        if options.progress {
            eprintln!("offered {load} times the leak rate");
        }
        all.push(traffic::measure(*load, span, options.seed)?);
    }
    let mut report = Report::simulated("qos-cell", options);
    report.parameter("leak rate R of the cell", format!("{LEAK_OCTETS_PER_S} octets/s"));
    report.parameter(
        "mobiles",
        format!("{} that send, one context each, and one that asks for too much", MEMBERS.len()),
    );
    let named: Vec<String> = loads.iter().map(ToString::to_string).collect();
    report.parameter("loads, as parts of R", named.join(", "));
    report.parameter("simulated time at each load", format!("{} s", span.0 / 1_000_000_000));
    report.cells = all.iter().flat_map(|at| Service::ALL.map(|service| cell(at, service))).collect();
    report.verdicts = verdicts(&all);
    report.figures = vec![drawing(&all, span)];
    report.remarks =
        vec![table(&all), format!("{:.1} s of wall-clock time", started.elapsed().as_secs_f64())];
    Ok(report)
}

fn cell(at: &AtLoad, service: Service) -> Cell {
    let of = at.class(service);
    let rounded = |value: f64| json!((value * 1e4).round() / 1e4);
    Cell::new(
        [("load", json!(at.load)), ("class", json!(service.name()))],
        [
            ("offered_of_leak_rate".to_owned(), rounded(of.offered)),
            ("delivered_of_leak_rate".to_owned(), rounded(of.delivered)),
            ("guaranteed_of_leak_rate".to_owned(), rounded(of.guaranteed)),
            ("n_pdus_lost".to_owned(), json!(of.lost)),
            ("delay_median_ms".to_owned(), rounded(of.delay_median_ms)),
            ("delay_p99_ms".to_owned(), rounded(of.delay_p99_ms)),
        ],
    )
}

/// For a person, and for `docs/lab/qos-cell.md`.
fn table(all: &[AtLoad]) -> String {
    let mut text = "| load | class | offered | delivered | guaranteed | delay median, 99 % (ms) |\n|---|---|---|---|---|---|\n".to_owned();
    for at in all {
        for service in Service::ALL {
            let of = at.class(service);
            text += &format!(
                "| {} | {} | {:.3} | {:.3} | {:.3} | {:.0}, {:.0} |\n",
                at.load,
                service.name(),
                of.offered,
                of.delivered,
                of.guaranteed,
                of.delay_median_ms,
                of.delay_p99_ms
            );
        }
    }
    text
}

/// Of what was guaranteed or, where that was less, offered, whoever got least.
fn kept(at: &AtLoad) -> f64 {
    least(at.of(Service::Guaranteed).map(|(member, measured)| {
        let due = as_f64(member.guaranteed_on_air()).min(as_f64(measured.offered_octets) / at.span_s);
        as_f64(measured.delivered_octets) / at.span_s / due
    }))
}

fn verdict(name: &str, means: &str, ours: String, goal: &str, holds: Option<bool>) -> Verdict {
    let [name, means, goal] = [name, means, goal].map(str::to_owned);
    Verdict { name, means, paper: None, ours, goal, holds }
}

fn verdicts(all: &[AtLoad]) -> Vec<Verdict> {
    let mut rows = Vec::new();
    let mut row = |name, means, ours, goal, holds| rows.push(verdict(name, means, ours, goal, holds));
    let real_time: Vec<OfClass> = all.iter().map(|at| at.class(Service::RealTime)).collect();
    let lost: u64 = real_time.iter().map(|of| of.lost).sum();
    let is_offered = !real_time.is_empty() && real_time.iter().all(|of| of.offered > 0.0);
    row(
        "N-PDUs of real time lost",
        "Real time sends what is guaranteed to it: at no load does it lose anything.",
        lost.to_string(),
        "0",
        is_offered.then_some(lost == 0),
    );
    let slowest = greatest(real_time.iter().map(|of| of.delay_p99_ms));
    row(
        "99 % of real time, slowest",
        "The 99th percentile of real time's delay from the Internet to the mobile, at the load where it is longest.",
        format!("{slowest:.0} ms"),
        "<= 400 ms",
        at_most(slowest, 400.0),
    );
    let kept = least(all.iter().map(kept));
    row(
        "of a guaranteed rate, whoever got least",
        "What a mobile with a guaranteed rate got of it, or of what it sent where that was less: the worst mobile at the worst load.",
        format!("{kept:.3}"),
        ">= 0.99",
        at_least(kept, 0.99),
    );
    let total =
        |at: &AtLoad| Service::ALL.into_iter().map(|service| at.class(service).delivered).sum::<f64>();
    let used = least(all.iter().filter(|at| at.load > 1.2).map(total));
    row(
        "of the leak rate that was used, overloaded",
        "What all classes got together where more than 1.2 times the leak rate was offered: the cell is never left idle.",
        format!("{used:.3}"),
        ">= 0.98",
        at_least(used, 0.98),
    );
    let lowered: Vec<u64> = all.iter().map(|at| at.lowered).collect();
    row(
        "activations without room for their guarantee, lowered",
        "The mobile that asks for more than the cell has left gets a class without a guarantee, at each load.",
        format!(
            "{} to {} at each load",
            lowered.iter().min().unwrap_or(&0),
            lowered.iter().max().unwrap_or(&0)
        ),
        "1",
        (!lowered.is_empty()).then(|| lowered.iter().all(|lowered| *lowered == 1)),
    );
    rows.extend(shared(all.last()));
    rows
}

/// How best effort and what exceeds a guarantee share at the highest load.
fn shared(last: Option<&AtLoad>) -> [Verdict; 2] {
    let rates = |service| last.map(|last| last.rates(service)).unwrap_or_default();
    let best_effort = rates(Service::BestEffort);
    let fair = least(best_effort.iter().copied()) / greatest(best_effort.iter().copied());
    let is_offered = last.is_some_and(|last| last.class(Service::BestEffort).offered > 0.0);
    let fair = verdict(
        "best effort, least to most, at the end",
        "At the highest load mobiles of best effort get the same: the one with least by the one with most.",
        format!("{fair:.3}"),
        ">= 0.9",
        is_offered.then_some(fair >= 0.9),
    );
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / as_f64(values.len() as u64);
    let guaranteed = MEMBERS.iter().filter(|member| member.service == Service::Guaranteed);
    let guaranteed = as_f64(guaranteed.map(Member::guaranteed_on_air).max().unwrap_or(0));
    let beyond = (mean(rates(Service::Guaranteed)) - guaranteed) / mean(best_effort);
    let beyond = verdict(
        "what exceeds a guarantee, to best effort, at the end",
        "Beyond its guarantee a mobile has its turn beside best effort, and no better place.",
        format!("{beyond:.3}"),
        "0.85 to 1.15",
        is_offered.then(|| (0.85..=1.15).contains(&beyond)),
    );
    [fair, beyond]
}

fn drawing(all: &[AtLoad], span: Duration) -> Figure {
    let points = |of: &dyn Fn(&AtLoad) -> f64| all.iter().map(|at| Point::new(at.load, of(at))).collect();
    let curve = |name: String, style, colour, points| Curve { name, style, colour, points };
    let mut throughput = Vec::new();
    let mut delay = Vec::new();
    for (service, colour) in Service::ALL.into_iter().zip(0..) {
        let name = service.name();
        throughput.push(curve(
            name.to_owned(),
            Style::Measured,
            colour,
            points(&|at| at.class(service).delivered),
        ));
        if service != Service::BestEffort {
            throughput.push(curve(
                format!("{name}: guaranteed"),
                Style::Reference,
                colour,
                points(&|at| at.class(service).guaranteed),
            ));
        }
        delay.push(curve(
            format!("{name}, 99 %"),
            Style::Measured,
            colour,
            points(&|at| at.class(service).delay_p99_ms),
        ));
        delay.push(curve(
            format!("{name}, median"),
            Style::Second,
            colour,
            points(&|at| at.class(service).delay_median_ms),
        ));
    }
    throughput.push(curve(
        "best effort: offered".to_owned(),
        Style::Reference,
        2,
        points(&|at| at.class(Service::BestEffort).offered),
    ));
    let x = "offered by all, as a part of the cell's leak rate".to_owned();
    let panels = [
        Panel {
            title: "What each class got".to_owned(),
            x: x.clone(),
            y: "delivered, as a part of the leak rate".to_owned(),
            curves: throughput,
            ..Panel::default()
        },
        Panel {
            title: "How long it was on its way".to_owned(),
            x,
            y: "delay from the Internet to the mobile, ms".to_owned(),
            y_scale: Scale::Logarithmic,
            curves: delay,
            ..Panel::default()
        },
    ];
    let caption = format!(
        "Twelve mobiles in a cell of {LEAK_OCTETS_PER_S} octets/s: two of real time, four with a guaranteed rate, six of best effort. \
         Left, what each class got, what was guaranteed to it and what best effort offered; right, the median and the 99th percentile \
         of its delay. One run of {} simulated seconds at each load, no bars.",
        span.0 / 1_000_000_000
    );
    Figure::new("qos-cell", &caption, panels.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quick(seed: u64) -> Report {
        let options = Options {
            size: Size::Quick,
            seed,
            out: std::path::PathBuf::new(),
            progress: false,
            against: None,
        };
        run(&options).unwrap()
    }

    #[test]
    fn everybody_gets_what_was_negotiated_whatever_the_seed() {
        for seed in 1..=3 {
            let report = quick(seed);
            assert!(report.holds(), "seed {seed}\n{}\n{}", report.table(), report.remarks[0]);
            crate::figure::check::of_report(&report);
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let json = |seed| serde_json::to_string(&quick(seed)).unwrap();
        assert_eq!(json(7), json(7));
        assert_ne!(json(7), json(8));
    }

    #[test]
    fn what_was_not_measured_is_not_shown() {
        for verdict in verdicts(&[]) {
            assert_eq!(verdict.holds, None, "{}", verdict.name);
        }
        // Nobody has sent anything.
        let members = MEMBERS.iter().map(|_| Measured::default()).collect();
        for verdict in verdicts(&[AtLoad { load: 1.0, members, span_s: 60.0, lowered: 1 }]) {
            let counts = verdict.name.starts_with("activations");
            assert_eq!(verdict.holds, counts.then_some(true), "{}", verdict.name);
        }
    }
}
