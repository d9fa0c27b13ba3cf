//! `ggsn-cost`: T-PDUs that a GGSN forwards by second of processor time, by `gannet ggsn` at the driver and with TUN
//! devices, and by osmo-ggsn. And what queues of streams cost a T-PDU of the downlink.
//!
//! | file | what |
//! |---|---|
//! | `traffic` | T-PDUs of both ways |
//! | `stage` | a GGSN with its namespaces, and what a load costs it |

mod stage;
mod traffic;

use crate::forwarding::Measured;
use crate::measure::stats::Samples;
use crate::report::{Cell, Options, Report, Size, Verdict, at_least};
use crate::testbed;
use crate::way::Way;
use serde_json::json;
use stage::{Candidate, Forwards, Stage};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use traffic::PAYLOAD;

/// Who is measured. Claims are about the first two beside the third, with as many contexts as osmo-ggsn can have.
const CANDIDATES: [Candidate; 6] = [
    Candidate { name: "gannet-xdp", forwards: Forwards::GannetXdp, contexts: 1000 },
    Candidate { name: "gannet-tun", forwards: Forwards::GannetTun, contexts: 1000 },
    Candidate { name: "osmo-ggsn", forwards: Forwards::Osmo, contexts: 1000 },
    Candidate { name: "gannet-xdp-10000", forwards: Forwards::GannetXdp, contexts: 10_000 },
    Candidate { name: "gannet-tun-10000", forwards: Forwards::GannetTun, contexts: 10_000 },
    Candidate { name: "gannet-tun-queues", forwards: Forwards::GannetTunQueues, contexts: 1000 },
];
const TUN: usize = 1;
const OSMO: usize = 2;
const QUEUES: usize = 5;

/// What is claimed: a candidate's place, and what it is to be as a multiple of osmo-ggsn's.
const CLAIMS: [(usize, f64); 2] = [(0, 3.0), (1, 1.5)];

/// Rates, as parts of what was delivered of a flood. Claims are about the last one.
const RATES: [f64; 3] = [0.25, 0.5, 0.85];
/// The rate of a flood in 1/s: more than the sender can send.
const FLOOD_PPS: f64 = 1e9;
/// The rate at which neighbours and caches are filled, in 1/s.
const WARM_PPS: f64 = 20_000.0;
/// Programs beside the GGSNs.
const PROGRAMS: [&str; 2] = ["taskset", "ethtool"];

/// Rounds, and how long each load lasts.
const fn sizes(size: Size) -> (u32, Duration) {
    match size {
        Size::Quick => (3, Duration::from_millis(500)),
        Size::Normal => (15, Duration::from_secs(1)),
        Size::Full => (31, Duration::from_secs(2)),
    }
}

/// All that was measured of a candidate one way.
#[derive(Debug, Default)]
struct OfWay {
    /// Delivered of a flood, in 1/s.
    flood_pps: f64,
    /// By rate: T-PDUs by second of processor time, T-PDUs delivered a second, and the part lost.
    per_cpu_second: [Samples; RATES.len()],
    pps: [Samples; RATES.len()],
    lost: [Samples; RATES.len()],
    /// Processor time by T-PDU, in ns.
    ns: [Samples; RATES.len()],
}

/// Both ways, in the order of [`Way::BOTH`].
type Both = [OfWay; 2];

/// Runs it.
///
/// # Errors
/// A sentence for the person: this machine cannot do it, or a program has ended.
pub fn run(options: &Options) -> Result<Report, String> {
    let stop = testbed::begin("ggsn-cost", &PROGRAMS)?;
    let (rounds, lasting) = sizes(options.size);
    let mut report = Report::here("ggsn-cost", options);
    let mut stages = Vec::new();
    for (number, candidate) in CANDIDATES.iter().enumerate() {
        if candidate.forwards == Forwards::Osmo && !testbed::is_installed("osmo-ggsn") {
            report.remarks.push("osmo-ggsn is not installed, so nothing stands beside Gannet.".to_owned());
            stages.push(None);
            continue;
        }
        say(options, format_args!("{}: {} PDP contexts", candidate.name, candidate.contexts));
        let stage = Stage::start(candidate, number, &options.out, &stop);
        let stage = stage.map_err(|why| format!("{}: {why}", candidate.name))?;
        report.parameter(candidate.name, format!("{} PDP contexts, {}", candidate.contexts, stage.mode));
        stages.push(Some(stage));
    }
    let mut all: Vec<Both> = CANDIDATES.iter().map(|_| Both::default()).collect();
    for ((candidate, stage), both) in CANDIDATES.iter().zip(&mut stages).zip(&mut all) {
        for (way, of) in Way::BOTH.into_iter().zip(both) {
            let Some(stage) = stage else { continue };
            of.flood_pps = flood(stage, way, lasting, &stop)
                .map_err(|why| format!("{}, {}: {why}", candidate.name, way.name()))?;
            say(
                options,
                format_args!("{}, {}: {:.0} pps of a flood", candidate.name, way.name(), of.flood_pps),
            );
        }
    }
    for round in 0..rounds {
        say(options, format_args!("round {} of {rounds}", round + 1));
        measure_round(round, lasting, (&mut stages, &mut all), &mut report, &stop)?;
    }
    report.parameter("rounds", rounds);
    report.parameter("each load lasts", format!("{} ms", lasting.as_millis()));
    report.parameter("rates", "25, 50 and 85 % of what is delivered of a flood");
    report.parameter("T-PDU", format!("{PAYLOAD} octets of UDP's payload"));
    report.parameter("cores", "the GGSN and what its devices receive on one, sender and sink on the other");
    report.verdicts = verdicts(&all);
    report.remarks.extend([table(&all), added(&all)]);
    Ok(report)
}

fn say(options: &Options, text: core::fmt::Arguments<'_>) {
    if options.progress {
        eprintln!("ggsn-cost: {text}");
    }
}

/// What is delivered a second of more than can be, after everything has been sent slowly once.
fn flood(stage: &mut Stage, way: Way, lasting: Duration, stop: &AtomicBool) -> Result<f64, String> {
    let warm = stage.measure(way, WARM_PPS, Duration::from_secs(1), stop)?;
    if warm.lost() > 0.5 {
        let Measured { offered, delivered, .. } = warm;
        return Err(format!("{delivered} of {offered} T-PDUs have arrived at {WARM_PPS} a second"));
    }
    Ok(stage.measure(way, FLOOD_PPS, lasting, stop)?.pps())
}

/// Each candidate each way at each rate, in turns; who is first changes with each round.
fn measure_round(
    round: u32,
    lasting: Duration,
    (stages, all): (&mut [Option<Stage>], &mut [Both]),
    report: &mut Report,
    stop: &AtomicBool,
) -> Result<(), String> {
    for (of_way, way) in Way::BOTH.into_iter().enumerate() {
        for (of_rate, rate) in RATES.into_iter().enumerate() {
            for place in (0..CANDIDATES.len()).map(|place| (place + round as usize) % CANDIDATES.len()) {
                let stage = stages.get_mut(place).and_then(Option::as_mut);
                let of = all.get_mut(place).and_then(|both| both.get_mut(of_way));
                let (Some(stage), Some(of), Some(candidate)) = (stage, of, CANDIDATES.get(place)) else {
                    continue;
                };
                let measured = stage
                    .measure(way, of.flood_pps * rate, lasting, stop)
                    .map_err(|why| format!("{}, {}: {why}", candidate.name, way.name()))?;
                of.keep(of_rate, &measured);
                report.cells.push(cell(candidate, way, (rate, round), &measured));
            }
        }
    }
    Ok(())
}

impl OfWay {
    fn keep(&mut self, rate: usize, measured: &Measured) {
        for (samples, value) in [
            (&mut self.per_cpu_second, measured.per_cpu_second()),
            (&mut self.pps, measured.pps()),
            (&mut self.lost, measured.lost()),
            (&mut self.ns, measured.ns()),
        ] {
            if let Some(samples) = samples.get_mut(rate) {
                samples.push(value);
            }
        }
    }

    /// At the highest rate.
    const fn high(&self) -> &Samples {
        let [.., high] = &self.per_cpu_second;
        high
    }
}

fn cell(candidate: &Candidate, way: Way, (rate, round): (f64, u32), measured: &Measured) -> Cell {
    let axis = [
        ("ggsn", json!(candidate.name)),
        ("way", json!(way.name())),
        ("rate", json!(rate)),
        ("round", json!(round + 1)),
    ];
    let metrics = [
        ("t_pdus_offered", json!(measured.offered)),
        ("t_pdus_delivered", json!(measured.delivered)),
        ("ggsn_process_cpu_ms", json!(measured.process.as_secs_f64() * 1e3)),
        ("ggsn_receiving_cpu_ms", json!(measured.receiving.as_secs_f64() * 1e3)),
        ("t_pdus_per_cpu_second", json!(measured.per_cpu_second())),
    ];
    Cell::new(axis, metrics.map(|(name, value)| (name.to_owned(), value)))
}

fn verdicts(all: &[Both]) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for (place, least) in CLAIMS {
        for (of_way, way) in Way::BOTH.into_iter().enumerate() {
            let of = |place: usize| all.get(place).and_then(|both| both.get(of_way)).map(OfWay::high);
            let (Some(own), Some(osmo), Some(candidate)) = (of(place), of(OSMO), CANDIDATES.get(place))
            else {
                continue;
            };
            let ratio = own.median() / osmo.median();
            verdicts.push(Verdict {
                name: format!("{}, {}", candidate.name, way.name()),
                means: "Median of the T-PDUs that are delivered by second of processor time at the highest rate, as a \
                        multiple of osmo-ggsn's."
                    .to_owned(),
                paper: None,
                ours: format!("{ratio:.2}: {} beside {}", thousands(own), thousands(osmo)),
                goal: format!("{least:.2} or more"),
                holds: at_least(ratio, least),
            });
        }
    }
    verdicts
}

/// `median [min..max] thousand`.
fn thousands(of: &Samples) -> String {
    let [median, min, max] = [of.median(), of.min(), of.max()].map(|value| value / 1e3);
    format!("{median:.0} [{min:.0}..{max:.0}] thousand")
}

/// For a person: what queues of streams add to a T-PDU with TUN devices, of the same round at the highest rate. On the uplink there are
/// none: what stands there is how far two runs of the same are apart.
fn added(all: &[Both]) -> String {
    let mut text =
        "| what `qos downlink` adds to gannet-tun, of the same round | ns a T-PDU, median [min..max] | of its T-PDU |\n|---|---|---|\n".to_owned();
    for (of_way, way) in Way::BOTH.into_iter().enumerate() {
        let of = |place: usize| all.get(place).and_then(|both| both.get(of_way));
        let (Some(with), Some(without)) = (of(QUEUES), of(TUN)) else { continue };
        let ([.., with], [.., without]) = (&with.ns, &without.ns);
        let ns = with.minus(without);
        if !ns.is_empty() {
            let part = ns.median() / without.median() * 100.0;
            let [median, min, max] = [ns.median(), ns.min(), ns.max()];
            text += &format!("| {} | {median:.0} [{min:.0}..{max:.0}] | {part:.1} % |\n", way.name());
        }
    }
    text
}

/// What was measured, by candidate, way and rate.
fn table(all: &[Both]) -> String {
    let mut text =
        "| GGSN | way | rate | T-PDUs delivered a second | lost | T-PDUs by second of processor time |\n\
                    |---|---|---|---|---|---|\n"
            .to_owned();
    for (candidate, both) in CANDIDATES.iter().zip(all) {
        for (way, of) in Way::BOTH.into_iter().zip(both) {
            for (((rate, per_cpu_second), pps), lost) in
                RATES.into_iter().zip(&of.per_cpu_second).zip(&of.pps).zip(&of.lost)
            {
                if per_cpu_second.is_empty() {
                    continue;
                }
                text += &format!(
                    "| {} | {} | {:.0} % | {} | {:.1} % | {} |\n",
                    candidate.name,
                    way.name(),
                    rate * 100.0,
                    pps.kpps(),
                    lost.median() * 100.0,
                    thousands(per_cpu_second)
                );
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What candidates give by second of processor time at the highest rate, each way; the lower rates give nonsense.
    fn fake(values: [[f64; 2]; 3]) -> Vec<Both> {
        let of = |per_second: f64| {
            let mut of = OfWay::default();
            let lasting = Duration::from_secs(1);
            for (rate, factor) in [(0, 1000.0), (1, 0.001), (2, 1.0), (2, 0.5), (2, 2.0)] {
                let process = Duration::from_secs_f64(10_000.0 / (per_second * factor));
                let receiving = Duration::ZERO;
                of.keep(rate, &Measured { offered: 20_000, delivered: 10_000, lasting, process, receiving });
            }
            of
        };
        values.map(|both| both.map(of)).into()
    }

    fn held(all: &[Both]) -> Vec<Option<bool>> {
        verdicts(all).iter().map(|verdict| verdict.holds).collect()
    }

    #[test]
    fn medians_at_the_highest_rate_decide_each_way() {
        let all = fake([[310e3, 290e3], [140e3, 160e3], [100e3, 100e3]]);
        assert_eq!(held(&all), [Some(true), Some(false), Some(false), Some(true)]);
        let names: Vec<_> = verdicts(&all).into_iter().map(|verdict| verdict.name).collect();
        assert_eq!(names[..2], ["gannet-xdp, uplink", "gannet-xdp, downlink"]);
        assert!(verdicts(&all)[0].ours.starts_with("3.10: 310 [155..620] thousand beside 100 [50..200]"));
    }

    #[test]
    fn what_queues_add_is_of_the_same_round() {
        let mut all = fake([[310e3; 2], [200e3; 2], [100e3; 2]]);
        assert!(added(&all).lines().count() == 2, "{}", added(&all));
        all.extend(fake([[1.0; 2], [1.0; 2], [200e3, 160e3]]));
        // 10,000, 5000 and 2500 ns become 12,500, 6250 and 3125.
        let text = added(&all);
        assert!(text.contains("| uplink | 0 [0..0] | 0.0 % |"), "{text}");
        assert!(text.contains("| downlink | 1250 [625..2500] | 25.0 % |"), "{text}");
    }

    #[test]
    fn what_was_not_measured_is_not_shown() {
        let mut all = fake([[310e3; 2], [160e3; 2], [100e3; 2]]);
        all[OSMO] = Both::default();
        assert_eq!(held(&all), [None; 4]);
        // Nor is there a row of it.
        assert!(table(&all).contains("| gannet-tun | uplink | 85 % |") && !table(&all).contains("osmo"));
        assert!(table(&all).contains("| 50.0 % | 160 [80..320] thousand |"), "{}", table(&all));
    }
}
