//! Experiment `bearer-cpu`: what a full segment costs the process at the mobile's end, beside a bare hop and beside wireguard-go.
//!
//! wireguard-go is the implementation of WireGuard in user space: a program that people keep, with a TUN device on one side and
//! packets on a link on the other, as `gannet ms`.

use super::bed::{Bed, Processes, Setup, Through};
use super::configs::{Mode, Set};
use super::line::{Conditions, Kind};
use crate::measure::stats::Samples;
use crate::report::{Cell, Options, REPORTED, Report, Size, Verdict, at_least};
use crate::testbed;
use crate::way::Way;
use serde_json::json;

const PROGRAMS: [&str; 6] = ["ip", "ethtool", "iperf3", "ping", "timeout", "wireguard-go"];
const CONGESTION: &str = "cubic";
/// Where packets come one by one, and where they come as fast as user space takes them.
const SETUPS: [Setup; 2] = [
    Setup { kind: Kind::Ethernet, set: Set::Fitting, processes: Processes::Core },
    Setup { kind: Kind::Gigabit, set: Set::Fitting, processes: Processes::Core },
];
const WAYS: [Through; 4] = [
    Through::Hops,
    Through::WireGuard,
    Through::Gprs(Mode::Unacknowledged),
    Through::Gprs(Mode::Acknowledged),
];

/// Rounds, and seconds that are measured and that are not, before.
const fn sizes(size: Size) -> (u32, (u32, u32)) {
    match size {
        Size::Quick => (1, (2, 1)),
        Size::Normal => (7, (4, 1)),
        Size::Full => (15, (10, 1)),
    }
}

#[derive(Debug)]
struct Measured {
    setup: Setup,
    through: Through,
    way: Way,
    mbps: Samples,
    segments_per_cpu_s: Samples,
    /// As multiples of that of wireguard-go in the same round.
    times_peer: Samples,
}

/// Runs it.
///
/// # Errors
/// A sentence for the person: this machine cannot do it, or a program has ended.
pub fn run(options: &Options) -> Result<Report, String> {
    let stop = testbed::begin("bearer-cpu", &PROGRAMS)?;
    let (rounds, seconds) = sizes(options.size);
    let mut stages = Vec::new();
    for (number, setup) in (1..).zip(SETUPS) {
        let mut bed = Bed::new(&format!("cpu-{number}"), &options.out, &[setup.kind], Conditions::NONE)?;
        bed.start_hops(setup.processes)?;
        bed.start_wireguard()?;
        let nodes = bed.start_nodes((&setup.set.parameters(), setup.processes), &stop)?;
        stages.push((setup, bed, nodes));
    }
    let mut all = Vec::new();
    for round in 0..rounds {
        for (setup, bed, nodes) in &mut stages {
            for way in Way::BOTH {
                if options.progress {
                    let (name, way) = (setup.name(), way.name());
                    eprintln!("bearer-cpu: round {} of {rounds}, {name}, {way}", round + 1);
                }
                let run = |through| {
                    bed.connect_timed(nodes, through, (CONGESTION, way), seconds, &stop)
                        .map(|(carried, per_s)| (carried.mbps, per_s))
                        .map_err(|why| format!("{}, {}, {}: {why}", setup.name(), way.name(), through.name()))
                };
                measure((*setup, way, round), run, &mut all)?;
            }
        }
    }
    for (_, mut bed, nodes) in stages {
        bed.end_nodes(&nodes);
        bed.end_line()?;
    }
    let mut report = Report::here("bearer-cpu", options);
    report.parameter(
        "nodes",
        "gannet ms and gannet core; at 100 Mbit/s they and the bare hops preempt other processes",
    );
    report.parameter("congestion control", CONGESTION);
    report.parameter(
        "rounds",
        format!("{rounds}, ways in turns; {} s of a connection after {} s", seconds.0, seconds.1),
    );
    report.parameter(
        "segments",
        "of the longest packet: 1482 octets through hops and GPRS, 1420 through wireguard-go, which ciphers them",
    );
    report.cells = all.iter().map(cell).collect();
    report.verdicts = all.iter().filter(|of| of.through != Through::WireGuard).map(verdict).collect();
    report.remarks = vec![table(&all)];
    Ok(report)
}

/// One round of all ways; who is first changes. `run` gives Mbit/s, and segments for each second of processor time.
fn measure(
    (setup, way, round): (Setup, Way, u32),
    mut run: impl FnMut(Through) -> Result<(f64, f64), String>,
    all: &mut Vec<Measured>,
) -> Result<(), String> {
    let mut order = WAYS;
    order.rotate_left(round as usize % WAYS.len());
    let mut of_round = Vec::new();
    for through in order {
        of_round.push((through, run(through)?));
    }
    let peer = of_round.iter().find(|(through, _)| *through == Through::WireGuard);
    let peer = peer.map_or(f64::NAN, |(_, (_, per_s))| *per_s);
    of_round.sort_by_key(|(through, _)| WAYS.iter().position(|other| other == through));
    for (through, (mbps, per_s)) in of_round {
        let is_same = |of: &&mut Measured| of.setup == setup && of.through == through && of.way == way;
        if all.iter_mut().find(is_same).is_none() {
            let (mbps, segments_per_cpu_s, times_peer) = Default::default();
            all.push(Measured { setup, through, way, mbps, segments_per_cpu_s, times_peer });
        }
        let Some(of) = all.iter_mut().find(is_same) else { continue };
        of.mbps.push(mbps);
        of.segments_per_cpu_s.push(per_s);
        of.times_peer.push(per_s / peer);
    }
    Ok(())
}

fn cell(of: &Measured) -> Cell {
    let axis = [
        ("bearer", json!(of.setup.kind.name())),
        ("through", json!(of.through.name())),
        ("way", json!(of.way.name())),
    ];
    let metrics = [
        ("goodput_mbps".to_owned(), of.mbps.json()),
        ("segments_per_cpu_s".to_owned(), of.segments_per_cpu_s.json()),
        ("times_wireguard_go".to_owned(), of.times_peer.json()),
    ];
    Cell::new(axis, metrics)
}

fn verdict(of: &Measured) -> Verdict {
    let [per_s, times] = [&of.segments_per_cpu_s, &of.times_peer];
    Verdict {
        name: format!("segments by CPU-second, {}, {}, {}", of.way.name(), of.setup.kind.short(), of.through.name()),
        means: "Full segments of one TCP connection for each second of processor time of the process at the mobile's end, and the same \
                as a multiple of that of wireguard-go in the same round: medians of the rounds [least..most]."
            .to_owned(),
        paper: None,
        ours: format!(
            "{:.0} thousand; {:.2} [{:.2}..{:.2}] times",
            per_s.median() / 1000.0,
            times.median(),
            times.min(),
            times.max()
        ),
        goal: REPORTED.to_owned(),
        holds: at_least(per_s.median(), 0.0),
    }
}

fn table(all: &[Measured]) -> String {
    let mut text = "| bearer | direction | way | goodput, Mbit/s | 1000 segments by CPU-second at the mobile's end | times wireguard-go's |\n|---|---|---|---|---|---|\n".to_owned();
    for of in all {
        let [mbps, per_s, times] = [&of.mbps, &of.segments_per_cpu_s, &of.times_peer];
        text.push_str(&format!(
            "| {} | {} | {} | {:.1} [{:.1}..{:.1}] | {:.0} [{:.0}..{:.0}] | {:.2} [{:.2}..{:.2}] |\n",
            of.setup.kind.short(),
            of.way.name(),
            of.through.name(),
            mbps.median(),
            mbps.min(),
            mbps.max(),
            per_s.median() / 1000.0,
            per_s.min() / 1000.0,
            per_s.max() / 1000.0,
            times.median(),
            times.min(),
            times.max(),
        ));
    }
    text.replace("NaN", "–")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_take_turns_and_stand_beside_the_peer_of_their_round() {
        let [setup, _] = SETUPS;
        let mut all = Vec::new();
        let mut asked = Vec::new();
        for round in 0..2 {
            let run = |through: Through| {
                asked.push(through);
                let per_s =
                    if through == Through::WireGuard { 100_000.0 } else { 50_000.0 * f64::from(round + 1) };
                Ok((90.0, per_s))
            };
            measure((setup, Way::Up, round), run, &mut all).unwrap();
        }
        assert_eq!((asked[0], asked[4], asked.len()), (WAYS[0], WAYS[1], 8));
        assert_eq!(all.iter().map(|of| of.through).collect::<Vec<_>>(), WAYS);
        assert_eq!((all[0].times_peer.min(), all[0].times_peer.max()), (0.5, 1.0));
        assert_eq!(verdict(&all[2]).ours, "75 thousand; 0.75 [0.50..1.00] times");
        assert!(
            table(&all).contains(
                "| uplink | wireguard-go | 90.0 [90.0..90.0] | 100 [100..100] | 1.00 [1.00..1.00] |"
            )
        );
    }
}
