//! Experiment `bearer-simulated`: round trips, goodput, loss and a change of bearer in virtual time, with a source on top of LLC that
//! always has something, and one TCP connection on top of SNDCP. The same seed gives the same octets.
//!
//! The machine takes no time here: what is left is what frames, headers, windows and timers do to a bearer.

mod judge;
mod line;
mod packets;
mod path;
mod sequence;
mod tcp;

use super::ideal;
use super::line::{Conditions, Kind};
use crate::report::{Cell, Options, Report, Size};
use gannet_machine::time::{Duration, Instant};
use gannet_proto::llc::abm::{Options as AbmOptions, Retransmission, Timing};
use gannet_wire::sndcp::DATA_FIRST_LEN;
use line::Line;
use path::{MOBILE, NETWORK, Path, Settings};
use serde_json::{Value, json};

const KINDS: [Kind; 2] = [Kind::Ethernet, Kind::Wlan];
/// Octets of ICMP data.
const OCTETS: [usize; 5] = [64, 500, 1000, 1400, 1600];
/// N201-I and N201-U that fit Ethernet, and the standard's N201-U.
const N201_I: u16 = 1485;
const N201_U: usize = 1486;
const STANDARD_N201_U: usize = 500;

/// A set of parameters: those of `configs`, by name.
#[derive(Debug, Clone, Copy)]
struct Set {
    name: &'static str,
    settings: Settings,
    n201_u: usize,
    mtu: usize,
}

const fn options(retransmission: Retransmission, timing: Timing) -> AbmOptions {
    AbmOptions { retransmission, timing, frame_max: 1492, queue_max: 64 }
}

/// Table 9 of 04.64 clause 8.9 [44.064], with one exception: what is longer than the bearer carries is never proposed.
const STANDARD: Set = Set {
    name: "standard",
    settings: Settings {
        options: options(Retransmission::GoBackN, Timing::Fixed),
        k: 16,
        t200_tenths: 50,
        n201_i: N201_I,
    },
    n201_u: STANDARD_N201_U,
    mtu: 1500,
};

const FITTING: Set = Set {
    name: "fitting",
    settings: Settings {
        options: options(Retransmission::Selective, Timing::Adaptive),
        k: 255,
        t200_tenths: 10,
        n201_i: N201_I,
    },
    n201_u: N201_U,
    mtu: 1482,
};

/// The same with the longest packet that SNDCP carries: IP cuts nothing, SNDCP cuts what is longer than a frame.
const WHOLE: Set = Set { name: "fitting, MTU 23712", mtu: 16 * (N201_I as usize - 3), ..FITTING };

/// Ways of retransmission and timers, the default first.
const LOSSY: [(&str, Retransmission, Timing); 8] = [
    ("selective, adaptive", Retransmission::Selective, Timing::Adaptive),
    ("go-back-n, adaptive", Retransmission::GoBackN, Timing::Adaptive),
    ("go-back-n, 10 ms", Retransmission::GoBackN, Timing::Chosen(Duration::from_millis(10))),
    ("go-back-n, 1 s", Retransmission::GoBackN, Timing::Fixed),
    ("selective, 10 ms", Retransmission::Selective, Timing::Chosen(Duration::from_millis(10))),
    ("selective, 1 s", Retransmission::Selective, Timing::Fixed),
    ("go-back-n, 100 ms", Retransmission::GoBackN, Timing::Chosen(Duration::from_millis(100))),
    ("selective, 100 ms", Retransmission::Selective, Timing::Chosen(Duration::from_millis(100))),
];

/// How much is run.
struct Plan {
    lossy: usize,
    round_trips: Vec<Duration>,
    losses: Vec<f64>,
    seeds: u64,
    /// How long the source sends before it counts, and while it does.
    settles: Duration,
    counts: Duration,
    tcp: tcp::Plan,
}

fn plan(size: Size) -> Plan {
    let us = |values: &[u64]| values.iter().map(|us| Duration::from_micros(*us)).collect();
    match size {
        Size::Quick => Plan {
            lossy: 4,
            round_trips: us(&[200, 8000, 100_000]),
            losses: vec![0.0, 0.05],
            seeds: 1,
            settles: Duration::from_millis(500),
            counts: Duration::from_secs(1),
            tcp: tcp::Plan {
                round_trips: us(&[8000, 10_000, 100_000]),
                losses: vec![0.0, 0.05],
                seeds: 1,
                settles: Duration::from_secs(3),
                counts: Duration::from_secs(3),
            },
        },
        Size::Normal => Plan {
            lossy: LOSSY.len(),
            round_trips: us(&[200, 1000, 8000, 10_000, 20_000, 50_000, 100_000]),
            losses: vec![0.0, 0.01, 0.05, 0.1],
            seeds: 3,
            settles: Duration::from_secs(2),
            counts: Duration::from_secs(5),
            tcp: tcp::Plan {
                round_trips: us(&[200, 1000, 8000, 10_000, 20_000, 50_000, 100_000]),
                losses: vec![0.0, 0.01, 0.05, 0.1],
                seeds: 3,
                settles: Duration::from_secs(5),
                counts: Duration::from_secs(10),
            },
        },
        Size::Full => Plan {
            seeds: 10,
            settles: Duration::from_secs(5),
            counts: Duration::from_secs(20),
            tcp: tcp::Plan { seeds: 10, ..plan(Size::Normal).tcp },
            ..plan(Size::Normal)
        },
    }
}

/// Runs it.
///
/// # Errors
/// What must not happen: a unit that is lost, doubled or out of order.
pub fn run(options: &Options) -> Result<Report, String> {
    let plan = plan(options.size);
    let mut report = Report::simulated("bearer-simulated", options);
    report.parameter("bearers", KINDS.map(Kind::name).join("; "));
    report.parameter("source", format!("units of {N201_I} octets from the network; it always has one"));
    report.parameter(
        "measured",
        format!(
            "{:.1} s after {:.1} s, with {} seeds",
            plan.counts.as_secs_f64(),
            plan.settles.as_secs_f64(),
            plan.seeds
        ),
    );
    let trips = round_trips()?;
    let carried = throughput(&plan, options.seed)?;
    let answered = answered(&plan, options.seed)?;
    let lossy = loss(&plan, options.seed)?;
    let downloads = tcp::downloads(&plan.tcp, options.seed)?;
    let changes = changes(options.seed)?;
    let numbers = sequence::numbers(options.seed)?;
    report.verdicts = judge::verdicts((&carried, &answered), &lossy, &changes);
    report.verdicts.extend(judge::of_tcp(&downloads));
    report.remarks =
        vec![judge::table_of_trips(&trips), judge::table_of_loss(&lossy), judge::table_of_tcp(&downloads)];
    report.figures = vec![judge::drawing(&lossy), sequence::drawing(&numbers)];
    report.cells = trips.iter().map(Trip::cell).collect();
    report.cells.extend(carried.iter().map(Carried::cell));
    report.cells.extend(answered.iter().map(Answered::cell));
    report.cells.extend(lossy.iter().map(Lossy::cell));
    report.cells.extend(downloads.iter().map(tcp::Download::cell));
    report.cells.extend(changes.iter().map(Changed::cell));
    report.cells.extend(numbers.iter().map(sequence::Numbers::cell));
    Ok(report)
}

fn cell<const N: usize>(what: &str, axis: [(&'static str, Value); N], metrics: Vec<(&str, Value)>) -> Cell {
    let axis = axis.into_iter().chain([("measured", json!(what))]);
    Cell::new(axis, metrics.into_iter().map(|(name, value)| (name.to_owned(), value)))
}

/// To a whole microsecond, so that a file of points is short.
fn us(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round()
}

/// Rounded to a thousandth.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// A round trip.
#[derive(Debug)]
struct Trip {
    kind: Kind,
    parameters: &'static str,
    through: &'static str,
    octets: usize,
    frames: usize,
    took: Duration,
    plain: Duration,
}

impl Trip {
    fn times(&self) -> f64 {
        self.took.as_secs_f64() / self.plain.as_secs_f64()
    }

    fn cell(&self) -> Cell {
        let axis = [
            ("bearer", json!(self.kind.name())),
            ("parameters", json!(self.parameters)),
            ("through", json!(self.through)),
            ("octets", json!(self.octets)),
        ];
        let metrics = vec![
            ("round_trip_us", json!(us(self.took))),
            ("frames_each_way", json!(self.frames)),
            ("times_plain", json!(rounded(self.times()))),
        ];
        cell("round trip", axis, metrics)
    }
}

fn round_trips() -> Result<Vec<Trip>, String> {
    let mut all = Vec::new();
    for kind in KINDS {
        for octets in OCTETS {
            let frames = packets::fragments(octets, 1500);
            let plain = packets::exchange(kind, &frames, Line::send_packet);
            for set in [STANDARD, FITTING, WHOLE] {
                let packets = packets::fragments(octets, set.mtu);
                let ui = packets::ui_frames(&packets, set.n201_u);
                let took = packets::exchange(kind, &ui, |line, end, now, octets| {
                    line.send(end, now, vec![0; octets])
                });
                let units = packets::units(&packets, usize::from(N201_I));
                let acknowledged = round_trip(kind, set.settings, &units)?;
                let trip = |through, frames, took| Trip {
                    kind,
                    parameters: set.name,
                    through,
                    octets,
                    frames,
                    took,
                    plain,
                };
                all.push(trip("plain", frames.len(), plain));
                all.push(trip("unacknowledged", ui.len(), took));
                all.push(trip("acknowledged", units.len(), acknowledged));
            }
        }
    }
    Ok(all)
}

/// The round trip of units in acknowledged mode, once some have gone before.
fn round_trip(kind: Kind, settings: Settings, units: &[usize]) -> Result<Duration, String> {
    let mut path = Path::new(Line::new(kind, Conditions::NONE), settings, 1)?;
    let mut took = Duration::ZERO;
    for _ in 0..5 {
        path.run_until(path.now() + Duration::from_secs(2))?;
        took = path.carry(MOBILE, units)? + path.carry(NETWORK, units)?;
    }
    Ok(took)
}

/// What a source on one bearer with one set carried.
#[derive(Debug)]
struct Carried {
    kind: Kind,
    parameters: &'static str,
    mbps: f64,
    /// What full packets of 1500 octets would carry there, one after the other.
    plain_mbps: f64,
}

impl Carried {
    fn cell(&self) -> Cell {
        let axis = [("bearer", json!(self.kind.name())), ("parameters", json!(self.parameters))];
        let metrics = vec![
            ("goodput_mbps", json!(rounded(self.mbps))),
            ("plain_mbps", json!(rounded(self.plain_mbps))),
            ("part_of_plain", json!(rounded(self.mbps / self.plain_mbps))),
        ];
        cell("throughput", axis, metrics)
    }
}

fn throughput(plan: &Plan, seed: u64) -> Result<Vec<Carried>, String> {
    let mut all = Vec::new();
    for kind in KINDS {
        for set in [STANDARD, FITTING] {
            let conditions = Conditions { seed, ..Conditions::NONE };
            let (mbps, _) = goodput(kind, conditions, set.settings, plan)?;
            let plain_mbps = packets::plain_mbps(kind);
            all.push(Carried { kind, parameters: set.name, mbps, plain_mbps });
        }
    }
    Ok(all)
}

/// What a source carried where the other end answers each second unit.
#[derive(Debug)]
struct Answered {
    kind: Kind,
    /// From the mobile.
    is_up: bool,
    mbps: f64,
    /// What full packets of 1500 octets carry there with the same answers.
    plain_mbps: f64,
    /// Frames of both directions for each unit of the source.
    frames: f64,
}

impl Answered {
    const fn way(&self) -> &'static str {
        if self.is_up { "uplink" } else { "downlink" }
    }

    fn cell(&self) -> Cell {
        let axis = [("bearer", json!(self.kind.name())), ("direction", json!(self.way()))];
        let metrics = vec![
            ("goodput_mbps", json!(rounded(self.mbps))),
            ("plain_mbps", json!(rounded(self.plain_mbps))),
            ("part_of_plain", json!(rounded(self.mbps / self.plain_mbps))),
            ("frames_per_unit", json!(rounded(self.frames))),
        ];
        cell("throughput with answers", axis, metrics)
    }
}

/// Units of the source from an end, and an answer to each second: what TCP does, without its window.
fn answered(plan: &Plan, seed: u64) -> Result<Vec<Answered>, String> {
    let mut all = Vec::new();
    for kind in KINDS {
        for end in [MOBILE, NETWORK] {
            let conditions = Conditions { seed, ..Conditions::NONE };
            let mut path = Path::new(Line::new(kind, conditions), FITTING.settings, seed)?;
            path.answers(1 - end, packets::ANSWER + DATA_FIRST_LEN);
            path.has_always(end, N201_I.into())?;
            path.run_until(path.now() + plan.settles)?;
            let (from, before) = (path.arrivals.len(), path.frames());
            path.run_until(path.now() + plan.counts)?;
            #[expect(clippy::cast_precision_loss, reason = "frames of some seconds")]
            let (units, frames) = ((path.arrivals.len() - from) as f64, (path.frames() - before) as f64);
            all.push(Answered {
                kind,
                is_up: end == MOBILE,
                mbps: units * packets::PAYLOAD * 8.0 / 1e6 / plan.counts.as_secs_f64(),
                plain_mbps: packets::plain_answered_mbps(kind, end, packets::ANSWER),
                frames: frames / units.max(1.0),
            });
        }
    }
    Ok(all)
}

/// Payload of TCP in the units that arrived, in Mbit/s, and units sent again by unit.
fn goodput(
    kind: Kind,
    conditions: Conditions,
    settings: Settings,
    plan: &Plan,
) -> Result<(f64, f64), String> {
    let mut path = Path::new(Line::new(kind, conditions), settings, conditions.seed)?;
    path.has_always(NETWORK, N201_I.into())?;
    path.run_until(path.now() + plan.settles)?;
    let (from, before) = (path.arrivals.len(), path.repeated());
    path.run_until(path.now() + plan.counts)?;
    #[expect(clippy::cast_precision_loss, reason = "units of some seconds")]
    let units = (path.arrivals.len() - from) as f64;
    let again = f64::from(path.repeated().saturating_sub(before)) / units.max(1.0);
    Ok((units * packets::PAYLOAD * 8.0 / 1e6 / plan.counts.as_secs_f64(), again))
}

/// What a source carried where frames are lost: means of all seeds.
#[derive(Debug)]
struct Lossy {
    setting: &'static str,
    round_trip: Duration,
    loss: f64,
    mbps: f64,
    again: f64,
    ideal_mbps: f64,
}

impl Lossy {
    fn cell(&self) -> Cell {
        let ms = self.round_trip.as_secs_f64() * 1e3;
        let axis =
            [("setting", json!(self.setting)), ("round_trip_ms", json!(ms)), ("loss", json!(self.loss))];
        let metrics = vec![
            ("goodput_mbps", json!(rounded(self.mbps))),
            ("ideal_mbps", json!(rounded(self.ideal_mbps))),
            ("sent_again_per_unit", json!(rounded(self.again))),
        ];
        cell("loss", axis, metrics)
    }
}

fn loss(plan: &Plan, seed: u64) -> Result<Vec<Lossy>, String> {
    let mut all = Vec::new();
    for round_trip in &plan.round_trips {
        for loss in &plan.losses {
            let ideal_mbps = ideal_mbps(*round_trip, *loss, seed);
            for (setting, retransmission, timing) in LOSSY.iter().take(plan.lossy) {
                let settings = Settings { options: options(*retransmission, *timing), ..FITTING.settings };
                let (mut mbps, mut again) = (0.0, 0.0);
                for number in 0..plan.seeds {
                    let seed = seed.wrapping_mul(1_000_003).wrapping_add(number);
                    let conditions = Conditions { round_trip: *round_trip, loss: *loss, seed };
                    let (got, repeated) = goodput(Kind::Ethernet, conditions, settings, plan)
                        .map_err(|why| format!("{setting}, {round_trip}, loss {loss}: {why}"))?;
                    (mbps, again) = (mbps + got, again + repeated);
                }
                #[expect(clippy::cast_precision_loss, reason = "some seeds")]
                let seeds = plan.seeds as f64;
                let (mbps, again) = (mbps / seeds, again / seeds);
                all.push(Lossy { setting, round_trip: *round_trip, loss: *loss, mbps, again, ideal_mbps });
            }
        }
    }
    Ok(all)
}

/// What an ideal selective repeat carries of payload.
fn ideal_mbps(round_trip: Duration, loss: f64, seed: u64) -> f64 {
    let frame_s = packets::OF_LINE * 8.0 / 100e6;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some hundred frames")]
    let frames = (round_trip.as_secs_f64() / frame_s) as u64;
    ideal::selective_repeat(FITTING.settings.k.into(), frames, loss, seed) * 100.0 * packets::PAYLOAD
        / packets::OF_LINE
}

/// What came of a change of bearer.
#[derive(Debug)]
struct Changed {
    /// What was on its way over the first was lost.
    cut: bool,
    /// Round trips of the first and the second.
    round_trips: [Duration; 2],
    longest_pause: Duration,
    again: u32,
    establishments: u32,
}

impl Changed {
    fn name(&self) -> &'static str {
        if self.cut { "the bearer is pulled out" } else { "both bearers are there" }
    }

    fn cell(&self) -> Cell {
        let [from, to] = self.round_trips.map(|trip| trip.as_secs_f64() * 1e3);
        let axis = [
            ("change", json!(self.name())),
            ("round_trip_ms_before", json!(from)),
            ("round_trip_ms_after", json!(to)),
        ];
        let metrics = vec![
            ("longest_pause_us", json!(us(self.longest_pause))),
            ("units_sent_again", json!(self.again)),
            ("establishments", json!(self.establishments)),
        ];
        cell("change", axis, metrics)
    }
}

/// From one bearer of Ethernet to another, with the same and with another round trip.
fn changes(seed: u64) -> Result<Vec<Changed>, String> {
    let trips = [200, 8000].map(Duration::from_micros);
    let mut all = Vec::new();
    for cut in [false, true] {
        for from in trips {
            for to in trips {
                let line = |round_trip| Line::new(Kind::Ethernet, Conditions { round_trip, loss: 0.0, seed });
                let mut path = Path::new(line(from), FITTING.settings, seed)?;
                path.has_always(NETWORK, N201_I.into())?;
                path.run_until(path.now() + Duration::from_secs(1))?;
                let (at, again) = (path.now(), path.repeated());
                path.change(line(to), cut);
                path.run_until(at + Duration::from_secs(2))?;
                let pause = longest_pause(&path.arrivals, at, path.now());
                let again = path.repeated().saturating_sub(again);
                let establishments = path.establishments;
                all.push(Changed {
                    cut,
                    round_trips: [from, to],
                    longest_pause: pause,
                    again,
                    establishments,
                });
            }
        }
    }
    Ok(all)
}

/// The longest time without an arrival between these moments.
fn longest_pause(arrivals: &[Instant], from: Instant, until: Instant) -> Duration {
    let within = arrivals.iter().copied().filter(|at| *at > from && *at <= until);
    let (longest, last) =
        within.fold((Duration::ZERO, from), |(longest, last), at| (longest.max(at.since(last)), at));
    longest.max(until.since(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_frame_takes_what_the_line_says() {
        // 1000 octets of data, 28 of headers, 14 and 24 of Ethernet, there and back at 100 Mbit/s.
        let plain = packets::exchange(Kind::Ethernet, &packets::fragments(1000, 1500), Line::send_packet);
        assert_eq!(plain, Duration(2 * (1000 + 28 + 14 + 24) * 80));
        // SNDCP has 3 octets there, LLC 7, the adaptation protocol 8.
        let took = round_trip(Kind::Ethernet, FITTING.settings, &[1028 + 3]).unwrap();
        let more = took.0 - plain.0;
        assert!((2 * 18 * 80..2 * 18 * 80 + 2 * 84 * 80).contains(&more), "{more}");
    }

    #[test]
    fn a_change_loses_nothing_and_a_cut_is_repaired() {
        for changed in changes(3).unwrap() {
            // What is lost, doubled or out of order is an error of the path.
            assert_eq!(changed.establishments, 1, "{changed:?}");
            assert!(changed.longest_pause < Duration::from_millis(200), "{changed:?}");
            assert!(!changed.cut || changed.again > 0, "{changed:?}");
        }
    }
}
