//! Experiment `bearer-rtt`: the round trip through GPRS beside that of the bearer alone, by packet size (Aschenbruck et al.,
//! figures 7 and 10).

use super::bed::{Bed, Nodes, Through};
use super::configs::Parameters;
use super::line::{Conditions, Kind, late_us};
use super::probe::{ping, quantile};
use crate::figure::{Curve, Figure, Panel, Style};
use crate::measure::stats::Samples;
use crate::report::{Cell, Options, Report, Size, Verdict, at_most};
use crate::testbed;
use core::sync::atomic::AtomicBool;
use serde_json::json;

/// Octets of ICMP data: those of the paper are the last.
const OCTETS: [u32; 5] = [64, 500, 1000, 1400, 1600];
/// A bearer, parameters, and an interval in s.
type StageOf = (Kind, fn() -> Parameters, &'static str);

/// Bearers with their parameters, and the seconds from one echo request to the next: there is never more than one on its way.
const STAGES: [StageOf; 3] = [
    (Kind::Ethernet, Parameters::standard, "0.002"),
    (Kind::Ethernet, Parameters::fitting, "0.002"),
    (Kind::Wlan, Parameters::fitting, "0.02"),
];
/// The shares of round trips that are told.
const SHARES: [f64; 3] = [0.5, 0.9, 0.99];
const PROGRAMS: [&str; 5] = ["ip", "ethtool", "iperf3", "ping", "chrt"];

/// Rounds, and echo requests of each way and size in a round.
const fn sizes(size: Size) -> (u32, u32) {
    match size {
        Size::Quick => (3, 150),
        Size::Normal => (7, 500),
        Size::Full => (15, 1000),
    }
}

/// Round trips of one way, with one packet size.
#[derive(Debug)]
struct Measured {
    kind: Kind,
    parameters: String,
    through: Through,
    octets: u32,
    /// Quantiles of each round in µs, by [`SHARES`].
    us: [Samples; SHARES.len()],
    /// Those of each round, as multiples of the bearer's own in the same round.
    times: [Samples; SHARES.len()],
}

/// A bed with its nodes.
struct Stage {
    kind: Kind,
    interval: &'static str,
    bed: Bed,
    nodes: Nodes,
    parameters: String,
}

/// Runs it.
///
/// # Errors
/// A sentence for the person: this machine cannot do it, or a program has ended.
pub fn run(options: &Options) -> Result<Report, String> {
    let stop = testbed::begin("bearer-rtt", &PROGRAMS)?;
    let mut stages = Vec::new();
    for (number, (kind, parameters, interval)) in (1..).zip(STAGES) {
        let parameters = parameters();
        let mut bed = Bed::new(&format!("rtt-{number}"), &options.out, &[kind], Conditions::NONE)?;
        let nodes = bed.start_nodes(&parameters, &stop)?;
        stages.push(Stage { kind, interval, bed, nodes, parameters: parameters.name });
    }
    let (rounds, count) = sizes(options.size);
    let mut all = Vec::new();
    for round in 0..rounds {
        for octets in OCTETS {
            for stage in &mut stages {
                if options.progress {
                    let (bearer, parameters) = (stage.kind.short(), &stage.parameters);
                    eprintln!(
                        "bearer-rtt: round {} of {rounds}, {octets} octets, {bearer}, {parameters}",
                        round + 1
                    );
                }
                measure(stage, (octets, count, round), &mut all, &stop)?;
            }
        }
    }
    let mut report = Report::here("bearer-rtt", options);
    report.parameter(
        "nodes",
        "gannet ms, ap, sgsn and ggsn, each a process; they preempt other processes (SCHED_FIFO)",
    );
    report.parameter(
        "rounds",
        format!("{rounds}, of {count} echo requests with each size through each way, in turns"),
    );
    for Stage { kind, mut bed, nodes, parameters, .. } in stages {
        bed.end_nodes(&nodes);
        let late = late_us(&bed.end_line()?);
        report.parameter(
            &format!("{}, {parameters} parameters", kind.name()),
            format!("99 % of the line's frames at most {late:.0} us late"),
        );
    }
    report.cells = all.iter().map(cell).collect();
    report.verdicts = verdicts(&all);
    report.figures = vec![drawing(&all, rounds)];
    report.remarks = vec![table(&all)];
    Ok(report)
}

/// One round of a size through all ways; who is first changes.
fn measure(
    stage: &mut Stage,
    (octets, count, round): (u32, u32, u32),
    all: &mut Vec<Measured>,
    stop: &AtomicBool,
) -> Result<(), String> {
    let mut order = Through::ALL;
    order.rotate_left(round as usize % Through::ALL.len());
    let mut of_round = Vec::new();
    for through in order {
        let trips = ping(stage.bed.phone(), through.host(), octets, (count, stage.interval), stop)
            .map_err(|why| format!("{}, {octets} octets, {}: {why}", stage.parameters, through.name()))?;
        of_round.push((through, SHARES.map(|share| quantile(&trips, share))));
        stage.bed.check()?;
    }
    let plain = of_round.iter().find(|(through, _)| *through == Through::Plain);
    let plain = plain.map_or([f64::NAN; SHARES.len()], |(_, us)| *us);
    for (through, us) in of_round {
        let is_same = |of: &&mut Measured| {
            let is_there = of.kind == stage.kind && of.parameters == stage.parameters;
            is_there && of.through == through && of.octets == octets
        };
        if all.iter_mut().find(is_same).is_none() {
            let parameters = stage.parameters.clone();
            let (kind, us, times) = (stage.kind, Default::default(), Default::default());
            all.push(Measured { kind, parameters, through, octets, us, times });
        }
        let Some(of) = all.iter_mut().find(is_same) else { continue };
        for (((samples, times), us), plain) in of.us.iter_mut().zip(&mut of.times).zip(us).zip(plain) {
            samples.push(us);
            times.push(us / plain);
        }
    }
    Ok(())
}

fn cell(of: &Measured) -> Cell {
    let axis = [
        ("bearer", json!(of.kind.name())),
        ("parameters", json!(of.parameters)),
        ("through", json!(of.through.name())),
        ("octets", json!(of.octets)),
    ];
    let names = ["p50", "p90", "p99"];
    let us = names.iter().zip(&of.us).map(|(name, us)| (format!("round_trip_{name}_us"), us.json()));
    let times =
        names.iter().zip(&of.times).map(|(name, times)| (format!("times_plain_{name}"), times.json()));
    Cell::new(axis, us.chain(times))
}

/// The rows of the largest packets.
fn verdicts(all: &[Measured]) -> Vec<Verdict> {
    let [.., largest] = OCTETS;
    let mut rows = Vec::new();
    for of in all.iter().filter(|of| of.octets == largest && of.through != Through::Plain) {
        let paper = if of.parameters == "standard" { "up to 2.4 times" } else { "less" };
        let [median, _, late] = &of.times;
        let us = of.us[0].median();
        let ours = format!(
            "{:.2} [{:.2}..{:.2}] times, {us:.0} us; 99 %: {:.2} times",
            median.median(),
            median.min(),
            median.max(),
            late.median()
        );
        let (bearer, parameters, mode) = (of.kind.short(), &of.parameters, of.through.name());
        rows.push(Verdict {
            name: format!("round trip, {largest} octets, {bearer}, {parameters} parameters, {mode}"),
            means: "Median round trip through mobile, access point, SGSN and GGSN as four processes, as a multiple of that of the \
                    bearer alone in the same round: median of the rounds [least..most]."
                .to_owned(),
            paper: Some(paper.to_owned()),
            ours,
            goal: "reported".to_owned(),
            holds: at_most(median.median(), f64::INFINITY),
        });
    }
    rows
}

fn table(all: &[Measured]) -> String {
    let mut text = "| bearer | parameters | octets | way | round trip, us: 50 % | 90 % | 99 % | times the plain one's |\n|---|---|---|---|---|---|---|---|\n".to_owned();
    for of in all {
        let [half, most, nearly_all] = &of.us;
        text.push_str(&format!(
            "| {} | {} | {} | {} | {:.0} | {:.0} | {:.0} | {:.2} [{:.2}..{:.2}] |\n",
            of.kind.short(),
            of.parameters,
            of.octets,
            of.through.name(),
            half.median(),
            most.median(),
            nearly_all.median(),
            of.times[0].median(),
            of.times[0].min(),
            of.times[0].max(),
        ));
    }
    text
}

/// A panel for each set of parameters, on equal axes.
fn drawing(all: &[Measured], rounds: u32) -> Figure {
    let panel = |parameters: &str| Panel {
        title: format!("{parameters} parameters"),
        x: "ICMP data, octets".to_owned(),
        y: "round trip, us".to_owned(),
        curves: Through::ALL
            .into_iter()
            .zip(0..)
            .map(|(through, colour)| Curve {
                name: through.name().to_owned(),
                style: Style::Measured,
                colour,
                points: all
                    .iter()
                    .filter(|of| {
                        of.kind == Kind::Ethernet && of.parameters == parameters && of.through == through
                    })
                    .map(|of| of.us[0].point(f64::from(of.octets)))
                    .collect(),
            })
            .collect(),
        ..Panel::default()
    };
    let caption = format!(
        "Median round trips over an emulated Ethernet link of 100 Mbit/s, without GPRS and through mobile, access point, SGSN and GGSN \
         as four processes. Points are medians of {rounds} rounds, bars the lowest and the highest."
    );
    Figure::new("bearer-rtt", &caption, vec![panel("standard"), panel("fitting")])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bearer::configs::Mode;

    #[test]
    fn ratios_are_those_of_the_same_round() {
        let of = |through, values: [f64; 2]| {
            let plain = [100.0, 200.0];
            let samples = |values: &[f64]| values.iter().copied().collect::<Samples>();
            let times: Vec<f64> = values.iter().zip(plain).map(|(us, plain)| us / plain).collect();
            Measured {
                kind: Kind::Ethernet,
                parameters: "fitting".to_owned(),
                through,
                octets: 1600,
                us: [samples(&values), samples(&values), samples(&values)],
                times: [samples(&times), samples(&times), samples(&times)],
            }
        };
        let ack = Through::Gprs(Mode::Acknowledged);
        let all = [of(Through::Plain, [100.0, 200.0]), of(ack, [150.0, 400.0])];
        let rows = verdicts(&all);
        assert_eq!(rows.len(), 1, "what was not measured has no row");
        assert!(rows[0].ours.starts_with("1.75 [1.50..2.00] times, 275 us"), "{}", rows[0].ours);
        assert!(table(&all).contains("| 100 Mbit/s | fitting | 1600 | acknowledged | 275 |"));
        assert_eq!(drawing(&all, 2).panels[1].curves.len(), 2);
    }
}
