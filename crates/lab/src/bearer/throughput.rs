//! Experiment `bearer-throughput`: what one TCP connection carries through GPRS beside the bearer alone (Aschenbruck et al.,
//! figures 8 and 11).

use super::bed::{Bed, Nodes, Processes, Setup, Through};
use super::configs::Set;
use super::line::{Conditions, Kind, late_us};
use crate::measure::stats::Samples;
use crate::report::{Cell, Options, REPORTED, Report, Size, Verdict, at_least};
use crate::testbed;
use crate::way::Way;
use core::sync::atomic::AtomicBool;
use serde_json::json;

const PROGRAMS: [&str; 5] = ["ip", "ethtool", "iperf3", "ping", "timeout"];

const fn setup(kind: Kind, set: Set, processes: Processes) -> Setup {
    Setup { kind, set, processes }
}

/// What stands in each bed, and the part of the plain bearer's goodput that must be left there, where that is claimed.
const SETUPS: [(Setup, Option<f64>); 7] = [
    (setup(Kind::Ethernet, Set::Standard, Processes::Four), None),
    (setup(Kind::Ethernet, Set::Fitting, Processes::Four), Some(0.96)),
    (setup(Kind::Ethernet, Set::Fitting, Processes::Core), Some(0.96)),
    (setup(Kind::Ethernet, Set::CutBySndcp, Processes::Core), None),
    (setup(Kind::Wlan, Set::Fitting, Processes::Four), Some(0.9)),
    (setup(Kind::Gigabit, Set::Fitting, Processes::Four), Some(0.7)),
    (setup(Kind::Gigabit, Set::Fitting, Processes::Core), Some(0.9)),
];
/// Congestion control: the claims are about the first.
const CONGESTION: [&str; 2] = ["cubic", "bbr"];

/// Rounds, and seconds that are measured and that are not, before.
const fn sizes(size: Size) -> (u32, (u32, u32)) {
    match size {
        Size::Quick => (1, (2, 1)),
        Size::Normal => (5, (4, 1)),
        Size::Full => (11, (10, 2)),
    }
}

/// The ways that are measured: where user space is the bound, the bare hops stand beside them.
const fn ways(kind: Kind) -> &'static [Through] {
    match kind {
        Kind::Ethernet | Kind::Wlan | Kind::Metered => &Through::ALL,
        Kind::Gigabit => &Through::WITH_HOPS,
    }
}

/// Connections of one way, one direction and one congestion control.
#[derive(Debug)]
struct Measured {
    setup: Setup,
    through: Through,
    way: Way,
    congestion: &'static str,
    mbps: Samples,
    /// As parts of what the bearer alone carried in the same round.
    part: Samples,
    retransmitted: Samples,
    /// Full segments for each second of processor time of the mobile's process, or of the hop in its place.
    segments_per_cpu_s: Samples,
}

struct Stage {
    setup: Setup,
    bed: Bed,
    nodes: Nodes,
}

/// Runs it.
///
/// # Errors
/// A sentence for the person: this machine cannot do it, or a program has ended.
pub fn run(options: &Options) -> Result<Report, String> {
    let stop = testbed::begin("bearer-throughput", &PROGRAMS)?;
    let (rounds, seconds) = sizes(options.size);
    let mut report = Report::here("bearer-throughput", options);
    report.parameter(
        "nodes",
        "gannet ms, ap, sgsn and ggsn; they preempt other processes (SCHED_FIFO), but not at 1 Gbit/s",
    );
    report.parameter(
        "rounds",
        format!("{rounds}, ways in turns; {} s of a connection after {} s", seconds.0, seconds.1),
    );
    let mut stages = Vec::new();
    for (number, (setup, _)) in (1..).zip(SETUPS) {
        let mut bed = Bed::new(&format!("tcp-{number}"), &options.out, &[setup.kind], Conditions::NONE)?;
        if ways(setup.kind).contains(&Through::Hops) {
            bed.start_hops(setup.processes)?;
        }
        let nodes = bed.start_nodes((&setup.set.parameters(), setup.processes), &stop)?;
        stages.push(Stage { setup, bed, nodes });
    }
    let mut all = Vec::new();
    for round in 0..rounds {
        for stage in &mut stages {
            let [cubic, bbr] = CONGESTION;
            let has_both = options.size != Size::Quick || stage.setup.kind == Kind::Ethernet;
            for congestion in [Some(cubic), has_both.then_some(bbr)].into_iter().flatten() {
                for way in Way::BOTH {
                    if options.progress {
                        let (name, way) = (stage.setup.name(), way.name());
                        eprintln!(
                            "bearer-throughput: round {} of {rounds}, {name}, {congestion}, {way}",
                            round + 1
                        );
                    }
                    measure(stage, (congestion, way), (round, seconds), &mut all, &stop)?;
                }
            }
        }
    }
    for Stage { setup, mut bed, nodes } in stages {
        bed.end_nodes(&nodes);
        let accounts = bed.end_line()?;
        if setup.kind.is_emulated() {
            let late = late_us(&accounts);
            report.parameter(&setup.name(), format!("99 % of the line's frames at most {late:.0} us late"));
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
    let setup = stage.setup;
    let ways = ways(setup.kind);
    let mut order = ways.to_vec();
    order.rotate_left(round as usize % ways.len());
    let mut of_round = Vec::new();
    for through in order {
        let (carried, spent) =
            stage.bed.connect_timed(&stage.nodes, through, (congestion, way), seconds, stop).map_err(
                |why| format!("{}, {congestion}, {}, {}: {why}", setup.name(), way.name(), through.name()),
            )?;
        of_round.push((through, carried, spent));
    }
    let plain = of_round.iter().find(|(through, ..)| *through == Through::Plain);
    let plain = plain.map_or(f64::NAN, |(_, carried, _)| carried.mbps);
    of_round.sort_by_key(|(through, ..)| ways.iter().position(|other| other == through));
    for (through, carried, spent) in of_round {
        let is_same = |of: &&mut Measured| {
            of.setup == setup && of.through == through && of.way == way && of.congestion == congestion
        };
        if all.iter_mut().find(is_same).is_none() {
            let (mbps, part, retransmitted, segments_per_cpu_s) = Default::default();
            all.push(Measured {
                setup,
                through,
                way,
                congestion,
                mbps,
                part,
                retransmitted,
                segments_per_cpu_s,
            });
        }
        let Some(of) = all.iter_mut().find(is_same) else { continue };
        of.mbps.push(carried.mbps);
        of.part.push(carried.mbps / plain);
        of.retransmitted.push(carried.retransmitted);
        of.segments_per_cpu_s.push(spent);
    }
    Ok(())
}

fn cell(of: &Measured) -> Cell {
    let Setup { kind, set, processes } = of.setup;
    let axis = [
        ("bearer", json!(kind.name())),
        ("parameters", json!(set.name())),
        ("processes", json!(processes.name())),
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
    for (setup, least) in SETUPS {
        let is_meant =
            |of: &&Measured| of.setup == setup && of.congestion == claimed && of.through != Through::Plain;
        for of in all.iter().filter(is_meant) {
            let paper = match (setup.kind, setup.set) {
                (Kind::Ethernet, Set::Standard) => Some("0.38"),
                (Kind::Ethernet, Set::Fitting | Set::CutBySndcp) => Some("0.86"),
                (Kind::Wlan, _) => Some("comparable"),
                (Kind::Gigabit | Kind::Metered, _) => None,
            };
            let least = least.filter(|_| of.through.is_gprs());
            let (part, mbps) = (&of.part, of.mbps.median());
            rows.push(Verdict {
                name: format!("TCP {}, {}, {}", of.way.name(), setup.name(), of.through.name()),
                means: format!(
                    "Goodput of one connection ({claimed}) through two bare hops, or through mobile, access point, SGSN and GGSN, \
                     as a part of that of the bearer alone in the same round: median [least..most]."
                ),
                paper: paper.map(str::to_owned),
                ours: format!("{:.3} [{:.3}..{:.3}], {mbps:.1} Mbit/s", part.median(), part.min(), part.max()),
                goal: least.map_or_else(|| REPORTED.to_owned(), |least| format!(">= {least}")),
                holds: at_least(part.median(), least.unwrap_or(0.0)),
            });
        }
    }
    rows
}

fn table(all: &[Measured]) -> String {
    let mut text = "| bearer | parameters | nodes | control | direction | way | goodput, Mbit/s | part of the plain one's | sent again | 1000 segments by CPU-second of the mobile |\n|---|---|---|---|---|---|---|---|---|---|\n".to_owned();
    for of in all {
        let Setup { kind, set, processes } = of.setup;
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} | {:.1} [{:.1}..{:.1}] | {:.3} [{:.3}..{:.3}] | {:.0} | {:.0} |\n",
            kind.short(),
            set.name(),
            processes.name(),
            of.congestion,
            of.way.name(),
            of.through.name(),
            of.mbps.median(),
            of.mbps.min(),
            of.mbps.max(),
            of.part.median(),
            of.part.min(),
            of.part.max(),
            of.retransmitted.median(),
            of.segments_per_cpu_s.median() / 1000.0,
        ));
    }
    text.replace("NaN", "–")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bearer::configs::Mode;

    #[test]
    fn a_slow_way_fails_where_its_parameters_fit() {
        let of = |setup, through, part: f64| Measured {
            setup,
            through,
            way: Way::Up,
            congestion: "cubic",
            mbps: [part * 94.0].into_iter().collect(),
            part: [part].into_iter().collect(),
            retransmitted: Samples::NONE,
            segments_per_cpu_s: Samples::NONE,
        };
        let all: Vec<Measured> = SETUPS
            .into_iter()
            .flat_map(|(setup, _)| {
                let gprs = Through::Gprs(Mode::Unacknowledged);
                [of(setup, Through::Hops, 0.1), of(setup, gprs, 0.89)]
            })
            .collect();
        let holds: Vec<_> = verdicts(&all).iter().filter_map(|row| row.holds).collect();
        // 0.96 twice, 0.9, 0.7 and 0.9 are claimed, and of hops and of packets that SNDCP cuts nothing is.
        let of_gprs = [true, false, false, true, false, true, false];
        assert_eq!(holds, of_gprs.map(|holds| [true, holds]).as_flattened());
        let [_, (fitting, _), ..] = SETUPS;
        let unmeasured = [of(fitting, Through::Gprs(Mode::Acknowledged), f64::NAN)];
        assert_eq!(verdicts(&unmeasured)[0].holds, None);
        let row = "| cubic | uplink | bare hops | 47.0 [47.0..47.0] | 0.500 [0.500..0.500] | – | – |";
        assert!(table(&[of(fitting, Through::Hops, 0.5)]).contains(row));
    }
}
