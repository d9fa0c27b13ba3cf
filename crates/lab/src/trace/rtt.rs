//! Experiment `trace-rtt`: pings of 32 octets as a sum, read from captures; and which settings make each second ping longer.
//!
//! Each part is the time between two records of the capture: the request at the mobile's host, the access burst, the assignment, the first
//! and the last block, and so on back to the host. The parts of a ping add up to what its host measures.

use super::read;
use crate::figure::{Curve, Figure, Panel, Point, Style};
use crate::parallel;
use crate::radio::airtime::radio;
use crate::radio::capture::{Point as Spot, Tape};
use crate::radio::rtt::ping;
use crate::radio::world::{Setup, World};
use crate::radio::{as_f64, conserved, verdict};
use crate::report::{Cell, Options, REPORTED, Report, Size, Verdict, at_least};
use gannet_analysis::record::{BlockContents, Direction, Packet, Record};
use gannet_machine::rng::Rng;
use gannet_machine::time::{Duration, Instant};
use gannet_node::bss::radio::RlcMacConfig;
use gannet_wire::rlcmac::coding::CodingScheme;
use serde_json::json;
use std::fmt::Write as _;

/// What the study calls typical.
const TYPICAL_MS: f64 = 700.0;
/// What an oscillation has at least.
const SWING_MS: f64 = 60.0;
/// What the study saw.
const STUDY_MS: f64 = 100.0;
const HELD: Duration = Duration::from_secs(2);
const INTERVAL: Duration = Duration::from_secs(1);
/// Pings must not keep step with the multiframe where their sum is looked at.
const JITTER_NS: u64 = 240_000_000;
const COOL_DOWN: Duration = Duration::from_secs(20);
const ICMP: u8 = 1;
const REQUEST: u8 = 8;
const REPLY: u8 = 0;
const MOBILE: &str = "mobile 1";

/// How TBFs end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Release {
    name: &'static str,
    downlink: Duration,
    uplink: Duration,
    /// How often the network asks a mobile whose TBFs have nothing to send.
    idle_poll: Duration,
}

const fn release(name: &'static str, downlink: Duration, uplink: Duration, idle_poll_ms: u64) -> Release {
    Release { name, downlink, uplink, idle_poll: Duration::from_millis(idle_poll_ms) }
}

const RELEASES: [Release; 4] = [
    release("immediate", Duration::ZERO, Duration::ZERO, 200),
    release("delayed downlink", HELD, Duration::ZERO, 200),
    release("extended", HELD, HELD, 200),
    release("extended, asked each 20 ms", HELD, HELD, 20),
];

const PARTS: [&str; 8] = [
    "wait for the access burst",
    "uplink assignment",
    "wait for the first uplink block",
    "more uplink blocks",
    "core network and host",
    "downlink assignment",
    "wait for the first downlink block",
    "more downlink blocks",
];

impl Release {
    fn set(&self, radio: &mut RlcMacConfig) {
        radio.network.delayed_release = self.downlink;
        radio.options.extended_uplink = self.uplink;
        radio.network.idle_poll = self.idle_poll;
    }
}

/// When a ping was seen where.
#[derive(Debug, Clone, Copy, Default)]
struct Sightings {
    sent: Option<Instant>,
    /// First block and last block uplink.
    up: Option<(Instant, Instant)>,
    at_gb: Option<Instant>,
    /// First block and last block downlink.
    down: Option<(Instant, Instant)>,
    came: Option<Instant>,
}

/// What was on the air besides: access bursts, and assignments by direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Signal {
    Burst,
    Assigned(Direction),
}

/// What a capture says of its pings.
#[derive(Debug, Default)]
struct Pings {
    by_number: Vec<Sightings>,
    signals: Vec<(Instant, Signal)>,
}

impl Pings {
    fn take(&mut self, at: Instant, what: &Record, place: &str) {
        match what {
            Record::Radio(block) if place == "Um" => match &block.contents {
                BlockContents::Access => self.signals.push((at, Signal::Burst)),
                BlockContents::Assignment(of) => self.signals.push((at, Signal::Assigned(of.of))),
                _ => {}
            },
            Record::Packet(packet) => self.packet(at, packet, place),
            _ => {}
        }
    }

    fn packet(&mut self, at: Instant, packet: &Packet, place: &str) {
        let Some(ip) = packet.ip.filter(|ip| ip.protocol == ICMP) else { return };
        let (Some((_, number)), Some(kind)) = (ip.ports, ip.icmp_type) else { return };
        let number = usize::from(number);
        if self.by_number.len() <= number {
            self.by_number.resize(number + 1, Sightings::default());
        }
        let Some(of) = self.by_number.get_mut(number) else { return };
        let blocks = (crate::radio::capture::instant(packet.began.0), at);
        match (place, kind) {
            (MOBILE, REQUEST) => of.sent = Some(at),
            ("Um", REQUEST) => of.up = Some(blocks),
            ("Gb", REPLY) => of.at_gb = Some(at),
            ("Um", REPLY) => of.down = Some(blocks),
            (MOBILE, REPLY) => of.came = Some(at),
            _ => {}
        }
    }

    /// The last such signal in a span; its beginning where there is none: a TBF is there already.
    fn signal(&self, wanted: Signal, (from, until): (Instant, Instant)) -> Instant {
        let is_it = |(at, signal): &&(Instant, Signal)| *signal == wanted && *at >= from && *at <= until;
        self.signals.iter().rev().find(is_it).map_or(from, |(at, _)| *at)
    }

    /// The parts of a ping in nanoseconds, and all of it.
    fn parts(&self, of: &Sightings) -> Option<([u64; 8], u64)> {
        let (sent, came) = (of.sent?, of.came?);
        let ((up_first, up_last), (down_first, down_last)) = (of.up?, of.down?);
        let gb = of.at_gb?;
        let burst = self.signal(Signal::Burst, (sent, up_first));
        let up_assigned = self.signal(Signal::Assigned(Direction::Up), (burst, up_first));
        let down_assigned = self.signal(Signal::Assigned(Direction::Down), (gb, down_first));
        let times = [sent, burst, up_assigned, up_first, up_last, gb, down_assigned, down_first, down_last];
        let mut parts = [0; 8];
        for (part, pair) in parts.iter_mut().zip(times.windows(2)) {
            let [from, to] = pair else { continue };
            *part = to.0.checked_sub(from.0)?;
        }
        // The mobile's host has the packet when its last block has come.
        (down_last == came).then_some((parts, came.since(sent).0))
    }
}

/// Pings of one setting.
#[derive(Debug)]
struct Measured {
    release: Release,
    /// Each ping: all of it, and its parts, in milliseconds.
    pings: Vec<(f64, [f64; 8])>,
    faults: Vec<String>,
}

fn ms(ns: u64) -> f64 {
    as_f64(ns) / 1e6
}

fn measure(release: Release, count: u16, seed: u64) -> Result<Measured, String> {
    let mut radio = radio(CodingScheme::Cs2, 3, 1).ok_or("no multislot class has 3 + 1 timeslots")?;
    release.set(&mut radio);
    let tape = Tape::to_memory(&[Spot::Um, Spot::Gb, Spot::Mobile])?;
    let mut world = World::recorded(&Setup::one_cell(radio, 1, 500, seed), core::slice::from_ref(&tape))?;
    let mut rng = Rng::seeded(seed ^ 0x7ace);
    let begins = world.gprs.now;
    let mut measured_by_host = Vec::new();
    for number in 0..count {
        world.run_until(world.gprs.now + INTERVAL + Duration(rng.below(JITTER_NS)));
        measured_by_host.push(ping(&mut world, number).map(|rtt| rtt.0));
    }
    let ends = world.gprs.now + Duration(1);
    let mut measured = Measured { release, pings: Vec::new(), faults: world.close(COOL_DOWN) };
    let mut pings = Pings::default();
    read(tape.finish()?, (begins, ends), |at, seen, place| pings.take(at, &seen.what, place))?;
    for (number, rtt) in (0_usize..).zip(measured_by_host) {
        let of = pings.by_number.get(number).copied().unwrap_or_default();
        match (pings.parts(&of), rtt) {
            (Some((parts, all)), Some(rtt)) if all == rtt && parts.iter().sum::<u64>() == all => {
                measured.pings.push((ms(all), parts.map(ms)));
            }
            (parts, rtt) => {
                measured.faults.push(format!("ping {number} is {rtt:?} ns, and its parts are {parts:?}"));
            }
        }
    }
    Ok(measured)
}

impl Measured {
    fn mean(&self, of: impl Fn(&(f64, [f64; 8])) -> f64) -> f64 {
        self.pings.iter().map(of).sum::<f64>() / as_f64(self.pings.len() as u64)
    }

    fn total(&self) -> f64 {
        self.mean(|(all, _)| *all)
    }

    fn part(&self, part: usize) -> f64 {
        self.mean(|(_, parts)| parts.get(part).copied().unwrap_or_default())
    }

    fn least_and_most(&self) -> (f64, f64) {
        let all = || self.pings.iter().map(|(all, _)| *all);
        (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max))
    }

    fn cell(&self) -> Cell {
        let (least, most) = self.least_and_most();
        let mut metrics = vec![
            ("rtt_mean_ms".to_owned(), json!(self.total())),
            ("rtt_least_ms".to_owned(), json!(least)),
            ("rtt_most_ms".to_owned(), json!(most)),
            ("pings".to_owned(), json!(self.pings.len())),
        ];
        for (name, part) in PARTS.iter().zip(0..) {
            metrics.push((format!("{}_ms", name.replace(' ', "_")), json!(self.part(part))));
        }
        Cell::new([("release", json!(self.release.name))], metrics)
    }
}

/// A point of the grid in which an oscillation is searched.
#[derive(Debug, Clone, Copy)]
struct GridPlace {
    release: Release,
    t3192: Duration,
    drx_timer_max: Duration,
    multiframes: u8,
    interval: Duration,
}

/// What was found there: median, and by how much each second ping is longer.
#[derive(Debug, Clone, Copy)]
struct Swing {
    place: GridPlace,
    median_ms: f64,
    swing_ms: Option<f64>,
    answered: u64,
}

const fn grid_pings(size: Size) -> u16 {
    match size {
        Size::Quick => 16,
        Size::Normal | Size::Full => 60,
    }
}

fn grid(size: Size) -> Vec<GridPlace> {
    let ms = Duration::from_millis;
    let is_quick = size == Size::Quick;
    let t3192: &[u64] = if is_quick { &[80, 500, 1500] } else { &[0, 80, 200, 500, 1000, 1500] };
    let drx: &[u64] = if is_quick { &[0, 1000, 4000] } else { &[0, 1000, 2000, 4000] };
    let multiframes: &[u8] = if is_quick { &[2, 5, 9] } else { &[2, 3, 4, 5, 6, 7, 8, 9] };
    let intervals: &[u64] = if is_quick { &[1000, 2000] } else { &[500, 1000, 2000, 5000] };
    let mut all = Vec::new();
    for release in RELEASES.into_iter().take(3) {
        for t3192 in t3192 {
            for drx in drx {
                for multiframes in multiframes {
                    all.extend(intervals.iter().map(|interval| GridPlace {
                        release,
                        t3192: ms(*t3192),
                        drx_timer_max: ms(*drx),
                        multiframes: *multiframes,
                        interval: ms(*interval),
                    }));
                }
            }
        }
    }
    all
}

/// Pings at an exact interval, as a program sends them.
fn swing(place: GridPlace, count: u16, seed: u64) -> Result<(Swing, Vec<String>), String> {
    let mut radio = radio(CodingScheme::Cs2, 3, 1).ok_or("no multislot class has 3 + 1 timeslots")?;
    place.release.set(&mut radio);
    radio.options.t3192 = place.t3192;
    radio.options.drx_timer_max = place.drx_timer_max;
    radio.options.paging.multiframes = place.multiframes;
    let tape = Tape::to_memory(&[Spot::Mobile])?;
    let mut world = World::recorded(&Setup::one_cell(radio, 1, 500, seed), core::slice::from_ref(&tape))?;
    let begins = world.gprs.now;
    let mut due = begins;
    for number in 0..count {
        due += place.interval;
        world.run_until(due.max(world.gprs.now));
        let _ = ping(&mut world, number);
    }
    let ends = world.gprs.now + Duration(1);
    let faults = world.close(COOL_DOWN);
    let read = read(tape.finish()?, (begins, ends), |_, _, _| {})?;
    let row = read.report.pings.first().ok_or("the capture has no pings")?;
    let swing = Swing {
        place,
        median_ms: row.quantile(0.5).map_or(f64::NAN, ms),
        swing_ms: row.oscillation().map(|(ns, _)| ms(ns)),
        answered: row.round_trips.seen(),
    };
    Ok((swing, faults))
}

impl Swing {
    fn cell(&self) -> Cell {
        let GridPlace { release, t3192, drx_timer_max, multiframes, interval } = self.place;
        Cell::new(
            [
                ("release", json!(release.name)),
                ("t3192_ms", json!(t3192.0 / 1_000_000)),
                ("drx_timer_max_ms", json!(drx_timer_max.0 / 1_000_000)),
                ("bs_pa_mfrms", json!(multiframes)),
                ("interval_ms", json!(interval.0 / 1_000_000)),
            ],
            [
                ("rtt_median_ms".to_owned(), json!(self.median_ms)),
                ("odd_even_ms".to_owned(), json!(self.swing_ms)),
                ("answered".to_owned(), json!(self.answered)),
            ],
        )
    }

    fn words(&self) -> String {
        let GridPlace { release, t3192, drx_timer_max, multiframes, interval } = self.place;
        let ms = |of: Duration| of.0 / 1_000_000;
        format!(
            "{} release, T3192 {} ms, DRX_TIMER_MAX {} ms, BS_PA_MFRMS {multiframes}, a ping each {} ms: {:.0} ms at a median of {:.0} ms",
            release.name,
            ms(t3192),
            ms(drx_timer_max),
            ms(interval),
            self.swing_ms.unwrap_or(0.0),
            self.median_ms
        )
    }
}

/// Runs the experiment.
///
/// # Errors
/// Where a world cannot be set up, or its capture cannot be read.
pub fn run(options: &Options) -> Result<Report, String> {
    let count = match options.size {
        Size::Quick => 60,
        Size::Normal => 300,
        Size::Full => 1000,
    };
    let sums = parallel::each(&RELEASES, |release| measure(*release, count, options.seed));
    let sums = sums.into_iter().collect::<Result<Vec<_>, String>>()?;
    let places = grid(options.size);
    if options.progress {
        eprintln!("{} settings", places.len());
    }
    let swings = parallel::each(&places, |place| swing(*place, grid_pings(options.size), options.seed));
    let swings = swings.into_iter().collect::<Result<Vec<_>, String>>()?;
    let mut faults: Vec<String> = sums.iter().flat_map(|of| of.faults.clone()).collect();
    faults.extend(swings.iter().flat_map(|(_, faults)| faults.clone()));
    let swings: Vec<Swing> = swings.into_iter().map(|(swing, _)| swing).collect();
    let mut report = Report::simulated("trace-rtt", options);
    report.parameter(
        "pings",
        format!("{count} for each sum, 32 octets of data, 1 s to 1.24 s after the answer before"),
    );
    report.parameter(
        "grid",
        format!(
            "{} settings of release, T3192, DRX_TIMER_MAX, BS_PA_MFRMS and interval; {} pings each",
            places.len(),
            grid_pings(options.size)
        ),
    );
    report.parameter("radio", "CS-2, 3 + 1 timeslots, no losses on the air");
    report.parameter("read from", "captures of Um, Gb and the mobile's host, by the analyser");
    report.cells = sums.iter().map(Measured::cell).chain(swings.iter().map(Swing::cell)).collect();
    report.verdicts = verdicts(&sums, &swings, &faults);
    report.figures = vec![drawing(&sums)];
    report.remarks = vec![table(&sums), swing_table(&swings)];
    Ok(report)
}

fn table(all: &[Measured]) -> String {
    let mut text = format!("| release | RTT mean, ms | least..most | {} |\n|---|---|---|", PARTS.join(" | "));
    text.push_str(&"---|".repeat(PARTS.len()));
    text.push('\n');
    for of in all {
        let (least, most) = of.least_and_most();
        let parts: Vec<String> = (0..PARTS.len()).map(|part| format!("{:.0}", of.part(part))).collect();
        let _ = writeln!(
            text,
            "| {} | {:.0} | {least:.0}..{most:.0} | {} |",
            of.release.name,
            of.total(),
            parts.join(" | ")
        );
    }
    text
}

/// By how far a swing is from what the study saw.
fn from_study(of: &Swing) -> f64 {
    of.swing_ms.map_or(f64::INFINITY, |ms| (ms - STUDY_MS).abs())
}

/// Those that swing by enough, the one nearest to the study first.
fn swinging(swings: &[Swing]) -> Vec<&Swing> {
    let mut found: Vec<&Swing> =
        swings.iter().filter(|of| of.swing_ms.is_some_and(|ms| ms >= SWING_MS)).collect();
    found.sort_by(|a, b| from_study(a).total_cmp(&from_study(b)));
    found
}

fn swing_table(swings: &[Swing]) -> String {
    let mut text =
        "Settings in which each second ping is longer by 60 ms or more, the ten nearest to 100 ms:\n\n"
            .to_owned();
    for of in swinging(swings).into_iter().take(10) {
        let _ = writeln!(text, "* {}", of.words());
    }
    text
}

fn verdicts(sums: &[Measured], swings: &[Swing], faults: &[String]) -> Vec<Verdict> {
    let total = |at: usize| sums.get(at).map_or(f64::NAN, Measured::total);
    let mut rtt = verdict(
        "RTT with immediate release",
        "Mean of a ping of 32 octets. What is missing to 700 ms is time of vendors' equipment, of which this network has none: the line to \
         the terminal and the terminal itself, the lines of Abis, the processors of BSC, SGSN, GGSN and firewall.",
        format!("{:.0} ms; {:.0} ms are missing to {TYPICAL_MS:.0} ms", total(0), TYPICAL_MS - total(0)),
        REPORTED.to_owned(),
        Some(true),
    );
    rtt.paper = Some("500 to 1100 ms, typically 700 ms".to_owned());
    let mut extended = verdict(
        "extended TBF release",
        "Mean round trip with immediate release, where each ping has its TBFs set up, less that with TBFs that stay.",
        format!(
            "−{:.0} ms where the network asks each 20 ms, −{:.0} ms where it asks each 200 ms",
            total(0) - total(3),
            total(0) - total(2)
        ),
        ">= 100 ms".to_owned(),
        at_least(total(0) - total(3), 100.0),
    );
    extended.paper = Some("more than −100 ms".to_owned());
    let found = swinging(swings);
    let first = found.first().map_or_else(
        || format!("none of {} settings", swings.len()),
        |of| format!("{} of {} settings; {}", found.len(), swings.len(), of.words()),
    );
    let mut swing = verdict(
        "oscillation of at least 60 ms",
        "Each second ping is longer: the settings of the grid in which medians at odd and even places differ by so much, and nine of ten \
         neighbours agree.",
        first,
        REPORTED.to_owned(),
        Some(true),
    );
    swing.paper = Some("every second ping + 100 ms".to_owned());
    let answered = swings.iter().filter(|of| of.median_ms.is_finite()).count();
    let parts = verdict(
        "parts add up",
        "Parts of each ping, read from the capture, are together what the pinging host measured, to the nanosecond.",
        format!(
            "{} pings; {answered} of {} settings were read",
            sums.iter().map(|of| of.pings.len()).sum::<usize>(),
            swings.len()
        ),
        "all".to_owned(),
        Some(faults.is_empty() && answered == swings.len() && sums.iter().all(|of| !of.pings.is_empty())),
    );
    vec![rtt, extended, swing, parts, conserved(faults)]
}

fn drawing(all: &[Measured]) -> Figure {
    let curve = |(part, name): (usize, &&str)| Curve {
        name: (*name).to_owned(),
        style: Style::Bars,
        colour: part,
        points: all
            .iter()
            .zip(1_u8..)
            .map(|(of, x)| {
                let below: f64 = (0..part).map(|part| of.part(part)).sum();
                let above = below + of.part(part);
                Point { x: f64::from(x), y: above, spread: (below, above) }
            })
            .collect(),
    };
    let half = |name: &str, range: core::ops::Range<usize>| Panel {
        title: name.to_owned(),
        x: "row of the table".to_owned(),
        y: "mean, ms".to_owned(),
        curves: PARTS.iter().enumerate().filter(|(part, _)| range.contains(part)).map(curve).collect(),
        ..Panel::default()
    };
    let panels =
        vec![half("Until the answer is at Gb", 0..5), half("From Gb to the mobile, above the former", 5..8)];
    let caption = "Parts of the round trip of a ping of 32 octets, each the mean of the time between two records of the capture. CS-2, \
                   3 + 1 timeslots, N201-U 500, nothing else in the cell. 1 immediate release, 2 downlink TBFs stay for 2 s, 3 uplink TBFs too, \
                   4 and the network asks each 20 ms.";
    Figure::new("trace-rtt", caption, panels)
}
