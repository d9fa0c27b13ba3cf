//! Experiment `bearer-loss`: TCP where the bearer loses frames, by the timer of acknowledged mode and its way of retransmission
//! (Aschenbruck et al., figures 12 to 15).

use super::bed::{Bed, Processes, Through};
use super::configs::{Mode, Parameters};
use super::ideal;
use super::line::{Conditions, Kind};
use super::probe::transfer;
use crate::iperf::Carried;
use crate::measure::stats::Samples;
use crate::report::{Cell, Options, Report, Size, Verdict};
use crate::testbed;
use crate::way::Way;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use gannet_machine::time::Duration;
use serde_json::json;

mod judge;

const PROGRAMS: [&str; 5] = ["ip", "ethtool", "iperf3", "ping", "timeout"];
/// Octets of a transfer: as many as the paper's fastest carried in the half second that it took.
const TRANSFER_OCTETS: u64 = 1_800_000;
/// Where transfers are made: the round trip of the line alone, and loss.
const TRANSFER_AT: (Duration, f64) = (Duration::from_micros(200), 0.05);
/// How often a connection is tried, and how long the other end of iperf3 is left alone after a failure.
const TRIES: u32 = 3;
const AFTER_FAILURE: core::time::Duration = core::time::Duration::from_secs(2);
/// What counts for the claims, and what stands beside it.
const CUBIC: &str = "cubic";
const BBR: &str = "bbr";

/// A setting of acknowledged mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Setting {
    retransmission: &'static str,
    /// As the configuration has it.
    timer: &'static str,
}

impl Setting {
    const fn new(retransmission: &'static str, timer: &'static str) -> Self {
        Self { retransmission, timer }
    }

    fn name(self) -> String {
        let timer = match self.timer {
            "ms 1000" => "1 s",
            "ms 100" => "100 ms",
            "ms 10" => "10 ms",
            other => other,
        };
        format!("{}, {timer}", self.retransmission)
    }

    fn parameters(self) -> Parameters {
        let Parameters { mut llc, mtu, .. } = Parameters::fitting();
        llc.push_str(&format!(
            " llc sapi 3 retransmission {}\n llc sapi 3 timer {}\n",
            self.retransmission, self.timer
        ));
        Parameters { name: self.name(), llc, mtu }
    }
}

/// The default.
const OURS: Setting = Setting::new("selective", "adaptive");
/// That of the paper's best.
const PAPER_BEST: Setting = Setting::new("go-back-n", "ms 10");
const PAPER_WORST: Setting = Setting::new("go-back-n", "ms 1000");
const SETTINGS: [Setting; 8] = [
    OURS,
    PAPER_BEST,
    PAPER_WORST,
    Setting::new("go-back-n", "ms 100"),
    Setting::new("go-back-n", "adaptive"),
    Setting::new("selective", "ms 10"),
    Setting::new("selective", "ms 100"),
    Setting::new("selective", "ms 1000"),
];

/// What is run.
#[derive(Debug, Clone)]
struct Plan {
    rounds: u32,
    settings: &'static [Setting],
    /// Of the default, and of the ways without acknowledged mode, with [`CUBIC`].
    round_trips: Vec<Duration>,
    /// Of these, where [`BBR`] stands beside it.
    with_bbr: Vec<Duration>,
    /// Of these, where the other settings are measured.
    of_others: Vec<Duration>,
    losses: Vec<f64>,
    /// Seconds of a connection that are measured.
    seconds: u32,
    transfers: u32,
}

fn plan(size: Size) -> Plan {
    let us = |values: &[u64]| values.iter().map(|us| Duration::from_micros(*us)).collect();
    let all = |round_trips: Vec<Duration>| (round_trips.clone(), round_trips.clone(), round_trips);
    match size {
        Size::Quick => Plan {
            rounds: 1,
            settings: &SETTINGS[..3],
            round_trips: us(&[200, 8000, 20_000, 100_000]),
            with_bbr: us(&[200, 20_000]),
            of_others: us(&[200]),
            losses: vec![0.0, 0.05],
            seconds: 2,
            transfers: 3,
        },
        Size::Normal => {
            let (round_trips, with_bbr, of_others) = all(us(&[200, 8000, 10_000, 20_000, 100_000]));
            Plan {
                rounds: 3,
                settings: &SETTINGS,
                round_trips,
                with_bbr,
                of_others,
                losses: vec![0.0, 0.01, 0.05, 0.1],
                seconds: 3,
                transfers: 5,
            }
        }
        Size::Full => {
            let (round_trips, with_bbr, of_others) =
                all(us(&[200, 1000, 8000, 10_000, 20_000, 50_000, 100_000]));
            Plan {
                rounds: 5,
                round_trips,
                with_bbr,
                of_others,
                seconds: 5,
                transfers: 7,
                ..plan(Size::Normal)
            }
        }
    }
}

impl Plan {
    /// Where a setting is measured.
    fn round_trips_of(&self, setting: Setting) -> &[Duration] {
        if setting == OURS { &self.round_trips } else { &self.of_others }
    }
}

/// Seconds of a connection that are not measured: TCP and LLC find their windows.
const fn omitted(round_trip: Duration) -> u32 {
    if round_trip.0 > 20_000_000 { 3 } else { 1 }
}

/// Where something was measured.
#[derive(Debug, Clone, PartialEq)]
struct At {
    /// Of acknowledged mode; `None` for the other ways.
    setting: Option<Setting>,
    through: Through,
    congestion: &'static str,
    round_trip: Duration,
    loss: f64,
}

/// What was measured there.
#[derive(Debug)]
struct Measured {
    at: At,
    mbps: Samples,
    /// Segments that TCP sent again, as a part of those that arrived.
    again: Samples,
    transfer_s: Samples,
    /// Connections that have ended before their time.
    failed: u32,
}

#[derive(Debug, Default)]
struct All(Vec<Measured>);

impl All {
    fn of(&mut self, at: &At) -> &mut Measured {
        let place = self.0.iter().position(|of| of.at == *at).unwrap_or_else(|| {
            let none = Samples::NONE;
            self.0.push(Measured {
                at: at.clone(),
                mbps: none.clone(),
                again: none.clone(),
                transfer_s: none,
                failed: 0,
            });
            self.0.len() - 1
        });
        #[expect(clippy::indexing_slicing, reason = "it was found, or has just been added")]
        &mut self.0[place]
    }

    fn get(
        &self,
        (setting, through): (Option<Setting>, Through),
        congestion: &str,
        round_trip: Duration,
        loss: f64,
    ) -> Option<&Measured> {
        self.0.iter().find(|Measured { at, .. }| {
            at.setting == setting
                && at.through == through
                && at.congestion == congestion
                && at.round_trip == round_trip
                && (at.loss - loss).abs() < 1e-9
        })
    }
}

/// Runs it.
///
/// # Errors
/// A sentence for the person: this machine cannot do it, or a program has ended.
pub fn run(options: &Options) -> Result<Report, String> {
    let stop = testbed::begin("bearer-loss", &PROGRAMS)?;
    let plan = plan(options.size);
    let mut all = All::default();
    let mut bed = Bed::new("loss", &options.out, &[Kind::Ethernet], Conditions::NONE)?;
    for round in 0..plan.rounds {
        for setting in plan.settings {
            // No loss while the mobile attaches.
            bed.set_line(Conditions::NONE)?;
            let nodes = bed.start_nodes((&setting.parameters(), Processes::Four), &stop)?;
            for round_trip in plan.round_trips_of(*setting) {
                for loss in &plan.losses {
                    if options.progress {
                        let (ms, name) = (round_trip.as_secs_f64() * 1e3, setting.name());
                        eprintln!(
                            "bearer-loss: round {} of {}, {name}, {ms} ms, loss {loss}",
                            round + 1,
                            plan.rounds
                        );
                    }
                    let conditions = Conditions {
                        round_trip: *round_trip,
                        loss: *loss,
                        seed: options.seed.wrapping_mul(1009).wrapping_add(round.into()),
                    };
                    bed.set_line(conditions)?;
                    measure(&mut bed, *setting, (conditions, &plan, round), &mut all, &stop)?;
                }
            }
            bed.end_nodes(&nodes);
        }
    }
    bed.end_line()?;
    let mut report = Report::here("bearer-loss", options);
    report.parameter("bearer", format!("{}; frames are lost at random each way", Kind::Ethernet.name()));
    report.parameter(
        "nodes",
        "gannet ms, ap, sgsn and ggsn, each a process; k = 255 frames, T200 = 1 s at most",
    );
    report.parameter("direction", "from the network to the mobile");
    report.parameter(
        "rounds",
        format!("{}, ways in turns; {} s of a connection after its start", plan.rounds, plan.seconds),
    );
    report.parameter("transfers", format!("{TRANSFER_OCTETS} octets, {} in a round", plan.transfers));
    report.cells = all.0.iter().map(cell).collect();
    report.verdicts = judge::verdicts(&all, &plan.round_trips);
    report.remarks = vec![judge::table(&all)];
    Ok(report)
}

/// All ways under one setting and its conditions. What has no setting is measured beside the first of them.
fn measure(
    bed: &mut Bed,
    setting: Setting,
    (conditions, plan, round): (Conditions, &Plan, u32),
    all: &mut All,
    stop: &AtomicBool,
) -> Result<(), String> {
    let Conditions { round_trip, loss, .. } = conditions;
    let is_first = setting == OURS;
    let mut order: Vec<Through> = Through::ALL.to_vec();
    order.retain(|through| is_first || *through == Through::Gprs(Mode::Acknowledged));
    let len = order.len();
    order.rotate_left(round as usize % len);
    let has_bbr = is_first && plan.with_bbr.contains(&round_trip);
    let controls: &[&'static str] = if has_bbr { &[CUBIC, BBR] } else { &[CUBIC] };
    for congestion in controls {
        for through in &order {
            let has_setting = *through == Through::Gprs(Mode::Acknowledged);
            let at = At {
                setting: has_setting.then_some(setting),
                through: *through,
                congestion,
                round_trip,
                loss,
            };
            let seconds = (plan.seconds, omitted(round_trip));
            let named =
                |why| format!("{}, {}, {round_trip}, loss {loss}: {why}", through.name(), setting.name());
            let (carried, failed) = persist(bed, *through, (congestion, seconds), stop).map_err(named)?;
            let of = all.of(&at);
            of.failed += failed;
            of.mbps.push(carried.mbps);
            of.again.push(carried.retransmitted * judge::SEGMENT / carried.octets);
            if (round_trip, loss) == TRANSFER_AT && *congestion == CUBIC {
                for _ in 0..plan.transfers {
                    let took = transfer(bed.network(), through.host(), bed.phone(), TRANSFER_OCTETS)
                        .map_err(named)?;
                    all.of(&at).transfer_s.push(took.as_secs_f64());
                }
            }
        }
    }
    Ok(())
}

/// A connection, and how many have failed before it: the connection by which iperf3 speaks to its other end is lost as well.
fn persist(
    bed: &mut Bed,
    through: Through,
    (congestion, seconds): (&str, (u32, u32)),
    stop: &AtomicBool,
) -> Result<(Carried, u32), String> {
    for failed in 0..TRIES {
        let carried = bed.connect(through, (congestion, Way::Down), seconds, stop);
        bed.check()?;
        match carried {
            Ok(carried) => return Ok((carried, failed)),
            Err(why) if stop.load(Relaxed) || failed + 1 == TRIES => return Err(why),
            Err(_) => std::thread::sleep(AFTER_FAILURE),
        }
    }
    Err("it was not tried".to_owned())
}

fn cell(of: &Measured) -> Cell {
    let At { setting, through, congestion, round_trip, loss } = &of.at;
    let axis = [
        ("setting", json!(setting.map(Setting::name))),
        ("through", json!(through.name())),
        ("congestion_control", json!(congestion)),
        ("round_trip_ms", json!(round_trip.as_secs_f64() * 1e3)),
        ("loss", json!(loss)),
    ];
    let mut metrics = vec![
        ("goodput_mbps".to_owned(), of.mbps.json()),
        ("sent_again_per_segment".to_owned(), of.again.json()),
        ("connections_failed".to_owned(), json!(of.failed)),
    ];
    if !of.transfer_s.is_empty() {
        metrics.push(("transfer_s".to_owned(), of.transfer_s.json()));
    }
    Cell::new(axis, metrics)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_beside_the_default_is_measured_where_the_default_is() {
        for size in [Size::Quick, Size::Normal, Size::Full] {
            let plan = plan(size);
            let beside = plan.with_bbr.iter().chain(&plan.of_others);
            assert!(beside.clone().all(|trip| plan.round_trips.contains(trip)), "{plan:?}");
            // What the paper states is of the shortest round trip.
            let (trip, loss) = TRANSFER_AT;
            assert!(plan.settings.iter().all(|of| plan.round_trips_of(*of).contains(&trip)), "{plan:?}");
            assert!(plan.losses.contains(&loss) && plan.losses.contains(&0.0), "{plan:?}");
        }
    }
}
