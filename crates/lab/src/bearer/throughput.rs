//! Experiment `bearer-throughput`: what one TCP connection carries through GPRS beside the bearer alone (Aschenbruck et al.,
//! figures 8 and 11).

use super::bed::{Bed, Nodes, Through};
use super::configs::Parameters;
use super::line::{Conditions, Kind, late_us};
use super::text;
use crate::measure::stats::Samples;
use crate::report::{Cell, Options, Report, Size, Verdict, at_least};
use crate::testbed;
use crate::way::Way;
use core::sync::atomic::AtomicBool;
use serde_json::json;

const PROGRAMS: [&str; 5] = ["ip", "ethtool", "iperf3", "ping", "timeout"];
/// Bearers, and the part of the plain bearer's goodput that must be left with parameters that fit.
const KINDS: [(Kind, f64); 3] = [(Kind::Ethernet, 0.96), (Kind::Wlan, 0.9), (Kind::Gigabit, 0.7)];
/// Congestion control: the claims are about the first.
const CONGESTION: [&str; 2] = ["cubic", "bbr"];
/// Octets of payload of a full segment through GPRS: a packet of 1482 less IPv4, TCP and time stamps.
const SEGMENT: f64 = 1430.0;

/// Rounds, and seconds that are measured and that are not, before.
const fn sizes(size: Size) -> (u32, (u32, u32)) {
    match size {
        Size::Quick => (1, (2, 1)),
        Size::Normal => (5, (4, 1)),
        Size::Full => (11, (10, 2)),
    }
}

/// Connections of one way, one direction and one congestion control.
#[derive(Debug)]
struct Measured {
    kind: Kind,
    parameters: String,
    through: Through,
    way: Way,
    congestion: &'static str,
    mbps: Samples,
    /// As parts of what the bearer alone carried in the same round.
    part: Samples,
    retransmitted: Samples,
    /// Full segments for each second of processor time of the mobile's process.
    segments_per_cpu_s: Samples,
}

struct Stage {
    kind: Kind,
    bed: Bed,
    nodes: Nodes,
    parameters: String,
}

/// Runs it.
///
/// # Errors
/// A sentence for the person: this machine cannot do it, or a program has ended.
pub fn run(options: &Options) -> Result<Report, String> {
    let stop = testbed::begin("bearer-throughput", &PROGRAMS)?;
    let (rounds, seconds) = sizes(options.size);
    let mut report = Report::here("bearer-throughput", options);
    for (number, (kind, _)) in (1..).zip(KINDS) {
        report.parameter(&format!("bearer {number}"), kind.name());
    }
    report.parameter(
        "nodes",
        "gannet ms, ap, sgsn and ggsn, each a process; they preempt other processes (SCHED_FIFO)",
    );
    report.parameter(
        "rounds",
        format!("{rounds}, ways in turns; {} s of a connection after {} s", seconds.0, seconds.1),
    );
    let mut stages = Vec::new();
    for (number, (kind, _)) in (1..).zip(KINDS) {
        let standard = (kind == Kind::Ethernet).then(Parameters::standard);
        for parameters in standard.into_iter().chain([Parameters::fitting()]) {
            let label = format!("tcp-{number}-{}", parameters.name);
            let mut bed = Bed::new(&label, &options.out, &[kind], Conditions::NONE)?;
            let nodes = bed.start_nodes(&parameters, &stop)?;
            stages.push(Stage { kind, bed, nodes, parameters: parameters.name });
        }
    }
    let mut all = Vec::new();
    for round in 0..rounds {
        for stage in &mut stages {
            let [cubic, bbr] = CONGESTION;
            let has_both = options.size != Size::Quick || stage.kind == Kind::Ethernet;
            for congestion in [Some(cubic), has_both.then_some(bbr)].into_iter().flatten() {
                for way in Way::BOTH {
                    if options.progress {
                        let (bearer, name, way) = (stage.kind.name(), &stage.parameters, way.name());
                        eprintln!(
                            "bearer-throughput: round {} of {rounds}, {bearer}, {name}, {congestion}, {way}",
                            round + 1
                        );
                    }
                    measure(stage, (congestion, way), (round, seconds), &mut all, &stop)?;
                }
            }
        }
    }
    for Stage { kind, mut bed, nodes, parameters } in stages {
        bed.end_nodes(&nodes);
        let accounts = bed.end_line()?;
        if kind.is_emulated() {
            let (late, name) = (late_us(&accounts), format!("{}, {parameters} parameters", kind.name()));
            report.parameter(&name, format!("99 % of the line's frames at most {late:.0} us late"));
        }
    }
    report.cells = all.iter().map(cell).collect();
    report.verdicts = verdicts(&all);
    report.remarks = vec![table(&all)];
    Ok(report)
}

fn measure(
    stage: &mut Stage,
    (congestion, way): (&'static str, Way),
    (round, seconds): (u32, (u32, u32)),
    all: &mut Vec<Measured>,
    stop: &AtomicBool,
) -> Result<(), String> {
    let mut order = Through::ALL;
    order.rotate_left(round as usize % Through::ALL.len());
    let mut of_round = Vec::new();
    for through in order {
        let before = gannet_rig::cpu_time_of(stage.nodes.ms).map_err(text)?;
        let carried = stage.bed.connect(through, (congestion, way), seconds, stop).map_err(|why| {
            format!("{}, {congestion}, {}, {}: {why}", stage.parameters, way.name(), through.name())
        })?;
        let spent = gannet_rig::cpu_time_of(stage.nodes.ms).map_err(text)?.saturating_sub(before);
        of_round.push((through, carried, spent));
        stage.bed.check()?;
    }
    let plain = of_round.iter().find(|(through, ..)| *through == Through::Plain);
    let plain = plain.map_or(f64::NAN, |(_, carried, _)| carried.mbps);
    for (through, carried, spent) in of_round {
        let is_same = |of: &&mut Measured| {
            let is_there = of.kind == stage.kind && of.parameters == stage.parameters;
            is_there && of.through == through && of.way == way && of.congestion == congestion
        };
        if all.iter_mut().find(is_same).is_none() {
            all.push(Measured {
                kind: stage.kind,
                parameters: stage.parameters.clone(),
                through,
                way,
                congestion,
                mbps: Samples::NONE,
                part: Samples::NONE,
                retransmitted: Samples::NONE,
                segments_per_cpu_s: Samples::NONE,
            });
        }
        let Some(of) = all.iter_mut().find(is_same) else { continue };
        of.mbps.push(carried.mbps);
        of.part.push(carried.mbps / plain);
        of.retransmitted.push(carried.retransmitted);
        if through != Through::Plain {
            // The processor time is that of the seconds before as well.
            let (measured, omitted) = seconds;
            let all_octets = carried.octets * f64::from(measured + omitted) / f64::from(measured.max(1));
            of.segments_per_cpu_s.push(all_octets / SEGMENT / spent.as_secs_f64());
        }
    }
    Ok(())
}

fn cell(of: &Measured) -> Cell {
    let axis = [
        ("bearer", json!(of.kind.name())),
        ("parameters", json!(of.parameters)),
        ("through", json!(of.through.name())),
        ("way", json!(of.way.name())),
        ("congestion_control", json!(of.congestion)),
    ];
    let metrics = [
        ("goodput_mbps".to_owned(), of.mbps.json()),
        ("part_of_plain".to_owned(), of.part.json()),
        ("segments_sent_again".to_owned(), of.retransmitted.json()),
        ("ms_segments_per_cpu_s".to_owned(), of.segments_per_cpu_s.json()),
    ];
    Cell::new(axis, metrics)
}

fn verdicts(all: &[Measured]) -> Vec<Verdict> {
    let mut rows = Vec::new();
    let [claimed, _] = CONGESTION;
    for (kind, least) in KINDS {
        let is_meant =
            |of: &&Measured| of.kind == kind && of.congestion == claimed && of.through != Through::Plain;
        for of in all.iter().filter(is_meant) {
            let is_fitting = of.parameters == "fitting";
            let paper = match (kind, is_fitting) {
                (Kind::Ethernet, false) => Some("0.38"),
                (Kind::Ethernet, true) => Some("0.86"),
                (Kind::Wlan, _) => Some("comparable"),
                (Kind::Gigabit, _) => None,
            };
            let (part, mbps) = (&of.part, of.mbps.median());
            let (parameters, mode) = (&of.parameters, of.through.name());
            rows.push(Verdict {
                name: format!("TCP {}, {}, {parameters} parameters, {mode}", of.way.name(), kind.short()),
                means: format!(
                    "Goodput of one connection ({claimed}) through mobile, access point, SGSN and GGSN, as a part of that of the \
                     bearer alone in the same round: median [least..most]."
                ),
                paper: paper.map(str::to_owned),
                ours: format!("{:.3} [{:.3}..{:.3}], {mbps:.1} Mbit/s", part.median(), part.min(), part.max()),
                goal: if is_fitting { format!(">= {least}") } else { "reported".to_owned() },
                holds: at_least(part.median(), if is_fitting { least } else { 0.0 }),
            });
        }
    }
    rows
}

fn table(all: &[Measured]) -> String {
    let mut text = "| bearer | parameters | control | direction | way | goodput, Mbit/s | part of the plain one's | sent again | 1000 segments by CPU-second of the mobile |\n|---|---|---|---|---|---|---|---|---|\n".to_owned();
    for of in all {
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} | {:.1} [{:.1}..{:.1}] | {:.3} | {:.0} | {:.0} |\n",
            of.kind.short(),
            of.parameters,
            of.congestion,
            of.way.name(),
            of.through.name(),
            of.mbps.median(),
            of.mbps.min(),
            of.mbps.max(),
            of.part.median(),
            of.retransmitted.median(),
            of.segments_per_cpu_s.median() / 1000.0,
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bearer::configs::Mode;

    #[test]
    fn a_slow_way_fails_where_its_parameters_fit() {
        let of = |kind, parameters: &str, part: f64| Measured {
            kind,
            parameters: parameters.to_owned(),
            through: Through::Gprs(Mode::Unacknowledged),
            way: Way::Up,
            congestion: "cubic",
            mbps: [part * 94.0].into_iter().collect(),
            part: [part].into_iter().collect(),
            retransmitted: Samples::NONE,
            segments_per_cpu_s: Samples::NONE,
        };
        let ethernet = Kind::Ethernet;
        let all =
            [of(ethernet, "standard", 0.3), of(ethernet, "fitting", 0.95), of(Kind::Wlan, "fitting", 0.95)];
        let holds: Vec<_> = verdicts(&all).iter().map(|row| row.holds).collect();
        assert_eq!(holds, [Some(true), Some(false), Some(true)]);
        assert_eq!(verdicts(&[of(ethernet, "fitting", f64::NAN)])[0].holds, None);
        assert!(table(&[of(ethernet, "fitting", 0.5)]).contains("| 47.0 [47.0..47.0] | 0.500 |"));
    }
}
