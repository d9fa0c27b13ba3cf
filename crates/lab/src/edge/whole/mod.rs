//! Whole forwarders beside each other: what each spends on a packet of the same load, in turns.

mod sender;
mod stage;

pub use stage::{By, Candidate, Forwards, PAYLOAD};

use crate::forwarding::Measured;
use crate::measure::stats::Samples;
use crate::report::{Cell, Options, Report, Size, least};
use crate::testbed;
use crate::testbed::is_installed;
use serde_json::json;
use stage::Stage;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The load, as a part of what the slowest of all delivers of a flood.
const PART: f64 = 0.8;
/// The rate of a flood in 1/s: more than the sender can send.
const FLOOD_PPS: f64 = 1e9;
/// What it takes.
const PROGRAMS: [&str; 3] = ["ip", "taskset", "ethtool"];

/// What a forwarder spends.
#[derive(Debug)]
pub struct Spent {
    /// Which.
    pub candidate: Candidate,
    /// Delivered of a flood, in 1/s.
    pub flood_pps: f64,
    /// Processor time by packet, in ns, by round.
    pub ns: Samples,
    /// Packets delivered by second of processor time, by round.
    pub per_cpu_second: Samples,
    /// The part lost, by round.
    pub lost: Samples,
    /// Of the packets of `gannet edge`, the part for which the rules were asked.
    pub slow: f64,
}

impl Spent {
    /// Nothing yet.
    #[must_use]
    pub fn none(candidate: Candidate) -> Self {
        let [ns, per_cpu_second, lost] = [(); 3].map(|()| Samples::NONE);
        Self { candidate, flood_pps: f64::NAN, ns, per_cpu_second, lost, slow: f64::NAN }
    }

    /// One more load.
    pub fn keep(&mut self, measured: &Measured) {
        self.ns.push(measured.ns());
        self.per_cpu_second.push(measured.per_cpu_second());
        self.lost.push(measured.lost());
    }
}

/// Rounds, and how long each load lasts.
const fn sizes(size: Size) -> (u32, Duration) {
    match size {
        Size::Quick => (3, Duration::from_millis(400)),
        Size::Normal => (11, Duration::from_secs(1)),
        Size::Full => (31, Duration::from_secs(2)),
    }
}

fn say(options: &Options, text: core::fmt::Arguments<'_>) {
    if options.progress {
        eprintln!("{text}");
    }
}

/// Measures all in turns. One that this machine cannot start has nothing, and a remark.
///
/// # Errors
/// A sentence for the person: what is missing, or what has ended.
pub fn measure(
    candidates: &[Candidate],
    options: &Options,
    report: &mut Report,
) -> Result<Vec<Spent>, String> {
    let mut all: Vec<Spent> = candidates.iter().copied().map(Spent::none).collect();
    let missing: Vec<&str> = PROGRAMS.into_iter().filter(|program| !is_installed(program)).collect();
    if !missing.is_empty() {
        report
            .remarks
            .push(format!("Whole forwarders were not measured: that takes {}.", missing.join(", ")));
        return Ok(all);
    }
    if let Some(why) = gannet_demux::bpf::missing() {
        report
            .remarks
            .push(format!("Whole forwarders were not measured: their packets are counted by XDP. {why}"));
        return Ok(all);
    }
    let stop = testbed::stop_on_signals().map_err(|error| error.to_string())?;
    testbed::remove_leftovers();
    let (rounds, lasting) = sizes(options.size);
    let mut stages = Vec::new();
    for (number, spent) in all.iter_mut().enumerate() {
        let name = spent.candidate.name;
        let mut stage = match Stage::start(&spent.candidate, number, &options.out, &stop) {
            Ok(stage) => stage,
            Err(why) if spent.candidate.forwards.may_be_missing() => {
                report.remarks.push(format!("{name} was not measured: {why}"));
                stages.push(None);
                continue;
            }
            Err(why) => return Err(format!("{name}: {why}")),
        };
        let flood = stage.measure(FLOOD_PPS, lasting, &stop).map_err(|why| format!("{name}: {why}"))?;
        spent.flood_pps = flood.pps();
        say(options, format_args!("{name}: {:.0} pps of a flood", spent.flood_pps));
        stages.push(Some(stage));
    }
    let pps = PART * least(all.iter().map(|spent| spent.flood_pps).filter(|pps| pps.is_finite()));
    report.parameter("packets", format!("{PAYLOAD} octets of UDP's payload in bursts of 128, {pps:.0} a second: 80 % of what the slowest delivers of a flood"));
    report.parameter("rounds", format!("{rounds}, each load lasts {} ms", lasting.as_millis()));
    report.parameter(
        "cores",
        "what forwards and what its devices receive on one, sender and sink on the other",
    );
    let before = classified(&stages)?;
    for round in 0..rounds {
        say(options, format_args!("round {} of {rounds}", round + 1));
        one_round(round, (pps, lasting), (&mut stages, &mut all), &stop)?;
    }
    for ((spent, before), after) in all.iter_mut().zip(before).zip(classified(&stages)?) {
        if let (Some([fast_before, slow_before]), Some([fast, slow])) = (before, after) {
            let (fast, slow) = (fast - fast_before, slow - slow_before);
            spent.slow = slow as f64 / (fast + slow) as f64;
        }
    }
    report.cells.extend(all.iter().filter(|spent| !spent.ns.is_empty()).map(cell));
    Ok(all)
}

fn classified(stages: &[Option<Stage>]) -> Result<Vec<Option<[u64; 2]>>, String> {
    stages.iter().map(|stage| stage.as_ref().map_or(Ok(None), Stage::classified)).collect()
}

/// Each once; who is first changes with each round.
fn one_round(
    round: u32,
    (pps, lasting): (f64, Duration),
    (stages, all): (&mut [Option<Stage>], &mut [Spent]),
    stop: &AtomicBool,
) -> Result<(), String> {
    let count = stages.len();
    for place in (0..count).map(|place| (place + round as usize) % count) {
        let stage = stages.get_mut(place).and_then(Option::as_mut);
        if let (Some(stage), Some(spent)) = (stage, all.get_mut(place)) {
            let measured = stage.measure(pps, lasting, stop);
            spent.keep(&measured.map_err(|why| format!("{}: {why}", spent.candidate.name))?);
        }
    }
    Ok(())
}

fn cell(spent: &Spent) -> Cell {
    let axis =
        [("forwarder", json!(spent.candidate.name)), ("destinations", json!(spent.candidate.destinations))];
    let metrics = [
        ("packet_ns", spent.ns.json()),
        ("packets_per_cpu_second", spent.per_cpu_second.json()),
        ("part_lost", spent.lost.json()),
        ("part_by_the_rules", json!(spent.slow)),
        ("flood_delivered_pps", json!(spent.flood_pps)),
    ];
    Cell::new(axis, metrics.map(|(name, value)| (name.to_owned(), value)))
}

/// For a person.
#[must_use]
pub fn table(all: &[Spent]) -> String {
    let mut text = "| forwarder | ns a packet, median [min..max] | thousand packets by second of processor time | lost | by the rules \
                    | of a flood |\n|---|---|---|---|---|---|\n"
        .to_owned();
    for spent in all.iter().filter(|spent| !spent.ns.is_empty()) {
        let slow =
            if spent.slow.is_nan() { "–".to_owned() } else { format!("{:.1} %", spent.slow * 100.0) };
        text += &format!(
            "| {} | {:.0} [{:.0}..{:.0}] | {:.0} | {:.2} % | {slow} | {:.0} kpps |\n",
            spent.candidate.name,
            spent.ns.median(),
            spent.ns.min(),
            spent.ns.max(),
            spent.per_cpu_second.median() / 1e3,
            spent.lost.median() * 100.0,
            spent.flood_pps / 1e3,
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_has_no_row() {
        let kernel = Candidate { name: "kernel", forwards: Forwards::Kernel { htb: false }, destinations: 9 };
        let mut all = [
            Spent::none(kernel),
            Spent::none(Candidate { name: "driver", forwards: Forwards::Driver, ..kernel }),
        ];
        let lasting = Duration::from_secs(1);
        let (process, receiving) = (Duration::ZERO, Duration::from_millis(10));
        all[0].keep(&Measured { offered: 20_000, delivered: 10_000, lasting, process, receiving });
        let text = table(&all);
        assert!(text.contains("| kernel | 1000 [1000..1000] | 1000 | 50.00 % | – |"), "{text}");
        assert!(!text.contains("driver"), "{text}");
    }
}
