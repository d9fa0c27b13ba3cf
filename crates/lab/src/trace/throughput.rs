//! Experiment `trace-throughput`: figures 5 and 6 of the tracing study, read from captures.
//!
//! One bulk transfer of one terminal at a time with CS-2. The rate is that of the stream at its receiver's interface. What the blocks were
//! spent on is read from those on Um, in the same span.

use super::read;
use crate::figure::{Curve, Figure, Panel, Point, Style};
use crate::parallel;
use crate::radio::airtime::{BLOCKS_PER_S, last_slots, on_air};
use crate::radio::capture::{Point as Spot, Tape};
use crate::radio::world::{Setup, World};
use crate::radio::{as_f64, conserved, verdict};
use crate::report::{Cell, Options, Report, Size, Verdict, at_least, greatest, least};
use crate::tcp::config::Config as TcpConfig;
use gannet_analysis::radio::report::Use;
use gannet_analysis::record::Record;
use gannet_machine::time::{Duration, Instant};
use gannet_node::bss::radio::{RlcMacConfig, Way};
use gannet_proto::rlcmac::config::NetworkConfig;
use gannet_proto::rlcmac::multislot::MultislotClass;
use gannet_wire::rlcmac::coding::CodingScheme;
use serde_json::json;
use std::fmt::Write as _;

const CODING: CodingScheme = CodingScheme::Cs2;
/// Until the window is full.
const WARM_UP: Duration = Duration::from_secs(30);
const COOL_DOWN: Duration = Duration::from_secs(70);
/// Of the receiver: more than the path holds.
const WINDOW_OCTETS: u32 = 16_384;
/// IP and TCP with timestamps.
const HEADERS: u16 = 52;
/// What TCP must get of what headers and control blocks leave.
const LEAST: f64 = 0.97;
/// By how much the gain of a larger MTU may miss what headers and control blocks explain.
const EXPLAINED: f64 = 0.01;
const N201_U: [u16; 2] = [500, 1520];
const MTU: [u16; 3] = [576, 1480, 1500];

/// A terminal of the study.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Terminal {
    name: &'static str,
    class: u8,
    down: u8,
    up: u8,
    /// The highest rates that the study names, in kbit/s; none where it only draws them.
    paper: (Option<f64>, Option<f64>),
}

const fn terminal(name: &'static str, class: u8, down: u8, up: u8) -> Terminal {
    Terminal { name, class, down, up, paper: (None, None) }
}

const TERMINALS: [Terminal; 4] = [
    terminal("T39m", 4, 3, 1),
    terminal("R520m", 4, 3, 1),
    Terminal { paper: (None, Some(21.0)), ..terminal("N8310", 6, 3, 2) },
    Terminal { paper: (Some(43.0), None), ..terminal("T280", 8, 4, 1) },
];
const UP_2: usize = 2;
const DOWN_4: usize = 3;

/// Where a run is on the axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    terminal: usize,
    way: Way,
    mtu: u16,
    n201_u: u16,
}

/// One repetition.
#[derive(Debug, Clone, Copy)]
struct Run {
    rate_bit_per_s: f64,
    spent: Use,
    /// Parts of all blocks of the timeslots.
    control: f64,
    again: f64,
}

/// What was measured at a place.
#[derive(Debug)]
struct Measured {
    place: Place,
    runs: Vec<Run>,
    faults: Vec<String>,
}

/// Repetitions, and how long each is.
const fn amount(size: Size) -> (u64, Duration) {
    match size {
        Size::Quick => (2, Duration::from_secs(120)),
        Size::Normal => (10, Duration::from_secs(120)),
        Size::Full => (40, Duration::from_secs(120)),
    }
}

impl Place {
    fn terminal(&self) -> Terminal {
        TERMINALS.get(self.terminal).copied().unwrap_or(terminal("", 1, 1, 1))
    }

    const fn way_name(&self) -> &'static str {
        match self.way {
            Way::Downlink => "down",
            Way::Uplink => "up",
        }
    }

    /// Timeslots of the transfer.
    fn slots(&self) -> u8 {
        let Terminal { down, up, .. } = self.terminal();
        if self.way == Way::Downlink { down } else { up }
    }

    fn radio(&self) -> Result<RlcMacConfig, String> {
        let Terminal { class, down, up, .. } = self.terminal();
        let multislot_class = MultislotClass::new(class).ok_or("no such multislot class")?;
        let network = NetworkConfig {
            downlink_slots: down,
            uplink_slots: up,
            // One phase gives one timeslot.
            force_two_phase: up > 1,
            multislot_class,
            ..NetworkConfig::new(last_slots(u32::from(down.max(up))), CODING)
        };
        let mut radio = RlcMacConfig::new(network);
        radio.mobile.multislot_class = class;
        Ok(radio)
    }

    /// Bits of the stream by the second that the payload of the timeslots carries.
    fn ceiling(&self) -> f64 {
        let payload = as_f64(CODING.bits_per_second() * u64::from(self.slots()));
        let air = on_air(self.mtu.into(), self.n201_u.into());
        payload * f64::from(self.mtu - HEADERS) / as_f64(air as u64)
    }

    fn all(size: Size) -> Vec<Self> {
        let mut all = Vec::new();
        for way in [Way::Downlink, Way::Uplink] {
            for terminal in 0..TERMINALS.len() {
                for (mtu, n201_u) in MTU.into_iter().flat_map(|mtu| N201_U.map(|n201_u| (mtu, n201_u))) {
                    let has_most = terminal == if way == Way::Downlink { DOWN_4 } else { UP_2 };
                    if has_most || size != Size::Quick || (mtu, n201_u) == (1480, 500) {
                        all.push(Self { terminal, way, mtu, n201_u });
                    }
                }
            }
        }
        all
    }
}

/// Segments with data at the receiver. What came with the first one belongs to the time before.
#[derive(Debug, Default)]
struct Arrivals {
    first: Option<Instant>,
    last: Option<Instant>,
    octets_since: u64,
}

impl Arrivals {
    fn take(&mut self, at: Instant, what: &Record, is_receiver: bool) {
        let Record::Tcp(segment) = what else { return };
        if !is_receiver || segment.length == 0 {
            return;
        }
        if self.first.is_some() {
            self.octets_since += u64::from(segment.length);
            self.last = Some(at);
        } else {
            self.first = Some(at);
        }
    }

    /// Bits of the stream by the second.
    fn rate(&self) -> Option<f64> {
        let lasted = self.last?.since(self.first?).as_secs_f64();
        (lasted > 0.0).then(|| as_f64(self.octets_since) * 8.0 / lasted)
    }
}

fn run_once(place: Place, seed: u64, span: Duration) -> Result<(Run, Vec<String>), String> {
    let receiver = if place.way == Way::Downlink { "mobile 1" } else { "Gi" };
    let tape = Tape::to_memory(&[Spot::Um, Spot::Gi, Spot::Mobile])?;
    let setup = Setup::one_cell(place.radio()?, 1, place.n201_u, seed);
    let mut world = World::recorded(&setup, core::slice::from_ref(&tape))?;
    let tcp = TcpConfig { mss: place.mtu - 40, receive_buffer: WINDOW_OCTETS, ..TcpConfig::linux_2_4_2() };
    world.connect(0, place.way, &tcp);
    world.run_until(world.gprs.now + WARM_UP);
    let from = world.gprs.now;
    world.run_until(from + span);
    let until = world.gprs.now;
    let mut faults = world.close(COOL_DOWN);
    let mut arrivals = Arrivals::default();
    let read = read(tape.finish()?, (from, until), |at, seen, place| {
        arrivals.take(at, &seen.what, place == receiver)
    })?;
    let half = read.forward(receiver).ok_or("the capture has no connection")?;
    if !half.retransmissions.is_empty() {
        faults.push(format!("{} segments were sent again", half.retransmissions.len()));
    }
    let cell = read.report.radio.cells.first().ok_or("the capture has no blocks")?;
    let spent = if place.way == Way::Downlink { cell.down } else { cell.up };
    let blocks = BLOCKS_PER_S * span.as_secs_f64() * f64::from(place.slots());
    let run = Run {
        rate_bit_per_s: arrivals.rate().ok_or("the capture has no segments")?,
        spent,
        control: as_f64(spent.signalling()) / blocks,
        again: as_f64(spent.again) / blocks,
    };
    Ok((run, faults))
}

impl Measured {
    fn mean(&self, of: impl Fn(&Run) -> f64) -> f64 {
        self.runs.iter().map(of).sum::<f64>() / as_f64(self.runs.len() as u64)
    }

    fn rate(&self) -> f64 {
        self.mean(|run| run.rate_bit_per_s)
    }

    /// What headers and control blocks leave, in bits of the stream by the second.
    fn left(&self) -> f64 {
        self.place.ceiling() * (1.0 - self.mean(|run| run.control))
    }

    fn of_left(&self) -> f64 {
        self.rate() / self.left()
    }

    fn spread(&self) -> (f64, f64) {
        let rates = || self.runs.iter().map(|run| run.rate_bit_per_s);
        (least(rates()), greatest(rates()))
    }

    fn cell(&self) -> Cell {
        let (Place { mtu, n201_u, .. }, Terminal { name, class, .. }) = (self.place, self.place.terminal());
        let (low, high) = self.spread();
        let spent = |of: fn(&Use) -> u64| json!(self.runs.iter().map(|run| of(&run.spent)).sum::<u64>());
        Cell::new(
            [
                ("terminal", json!(name)),
                ("multislot_class", json!(class)),
                ("direction", json!(self.place.way_name())),
                ("slots", json!(self.place.slots())),
                ("mtu", json!(mtu)),
                ("n201_u", json!(n201_u)),
            ],
            [
                ("rate_bit_per_s".to_owned(), json!(self.rate())),
                ("rate_least_bit_per_s".to_owned(), json!(low)),
                ("rate_most_bit_per_s".to_owned(), json!(high)),
                ("repetitions".to_owned(), json!(self.runs.len())),
                ("ceiling_bit_per_s".to_owned(), json!(self.place.ceiling())),
                ("control_part".to_owned(), json!(self.mean(|run| run.control))),
                ("again_part".to_owned(), json!(self.mean(|run| run.again))),
                ("of_ceiling_less_control".to_owned(), json!(self.of_left())),
                ("blocks_new".to_owned(), spent(|of| of.new)),
                ("blocks_again".to_owned(), spent(|of| of.again)),
                ("blocks_reports".to_owned(), spent(|of| of.reports)),
                ("blocks_assignments".to_owned(), spent(|of| of.assignments)),
                ("blocks_other_control".to_owned(), spent(|of| of.control)),
                ("blocks_dummy".to_owned(), spent(|of| of.dummy)),
            ],
        )
    }
}

/// Runs the experiment.
///
/// # Errors
/// Where a world cannot be set up, or its capture cannot be read.
pub fn run(options: &Options) -> Result<Report, String> {
    let (repetitions, span) = amount(options.size);
    let places = Place::all(options.size);
    let all = parallel::each(&places, |place| {
        if options.progress {
            let name = place.terminal().name;
            eprintln!("{name} {}, MTU {}, N201-U {}", place.way_name(), place.mtu, place.n201_u);
        }
        let mut measured = Measured { place: *place, runs: Vec::new(), faults: Vec::new() };
        for repetition in 0..repetitions {
            let (run, faults) = run_once(*place, options.seed + 1000 * repetition, span)?;
            measured.runs.push(run);
            measured.faults.extend(faults);
        }
        Ok(measured)
    });
    let all = all.into_iter().collect::<Result<Vec<_>, String>>()?;
    let mut report = Report::simulated("trace-throughput", options);
    report.parameter("TCP", format!("linux-2.4.2 with a window of {WINDOW_OCTETS} octets"));
    report.parameter("radio", "CS-2, no losses on the air, one terminal");
    let lasted = span.as_secs_f64();
    report.parameter(
        "measured",
        format!("{repetitions} times {lasted:.0} s, after {:.0} s", WARM_UP.as_secs_f64()),
    );
    report.parameter("read from", "captures of Um and of the receiving host, by the analyser");
    report.cells = all.iter().map(Measured::cell).collect();
    report.verdicts = verdicts(&all);
    report.figures = vec![drawing(&all)];
    report.remarks = vec![table(&all)];
    Ok(report)
}

fn table(all: &[Measured]) -> String {
    let mut text = "| terminal | slots | MTU | N201-U | TCP, kbit/s | least..most | ceiling | control, % | again, % | of ceiling less control |\n"
        .to_owned();
    text.push_str("|---|---|---|---|---|---|---|---|---|---|\n");
    for of in all {
        let (Place { mtu, n201_u, .. }, (low, high)) = (of.place, of.spread());
        let _ = writeln!(
            text,
            "| {} | {} {} | {mtu} | {n201_u} | {:.2} | {:.2}..{:.2} | {:.2} | {:.1} | {:.1} | {:.3} |",
            of.place.terminal().name,
            of.place.slots(),
            of.place.way_name(),
            of.rate() / 1e3,
            low / 1e3,
            high / 1e3,
            of.place.ceiling() / 1e3,
            of.mean(|run| run.control) * 100.0,
            of.mean(|run| run.again) * 100.0,
            of.of_left()
        );
    }
    text
}

fn verdicts(all: &[Measured]) -> Vec<Verdict> {
    let most = |way: Way| if way == Way::Downlink { DOWN_4 } else { UP_2 };
    let find = |way, mtu, n201_u| {
        let place = Place { terminal: most(way), way, mtu, n201_u };
        all.iter().find(|of| of.place == place)
    };
    let mut rows = Vec::new();
    for (way, name, paper) in [
        (Way::Downlink, "downlink, 4 timeslots", "43 kbit/s at most"),
        (Way::Uplink, "uplink, 2 timeslots", "21 kbit/s at most"),
    ] {
        let of: Vec<_> =
            all.iter().filter(|of| (of.place.way, of.place.terminal) == (way, most(way))).collect();
        let ratio = least(of.iter().map(|of| of.of_left()));
        let (low, high) = (least(of.iter().map(|of| of.rate())), greatest(of.iter().map(|of| of.rate())));
        let mut row = verdict(
            name,
            "Rate of TCP by the payload of CS-2 less headers and less the blocks spent on control, at the MTU and N201-U where that is \
             lowest.",
            format!("{ratio:.3}; {:.1} to {:.1} kbit/s by MTU and N201-U", low / 1e3, high / 1e3),
            format!(">= {LEAST}"),
            at_least(ratio, LEAST),
        );
        row.paper = Some(paper.to_owned());
        rows.push(row);
    }
    for (way, n201_u) in [Way::Downlink, Way::Uplink].into_iter().flat_map(|way| N201_U.map(|n| (way, n))) {
        let (Some(small), Some(large)) = (find(way, 576, n201_u), find(way, 1480, n201_u)) else { continue };
        let gain = large.rate() / small.rate() - 1.0;
        let explained = large.left() / small.left() - 1.0;
        let headers = large.place.ceiling() / small.place.ceiling() - 1.0;
        let mut row = verdict(
            &format!("MTU 1480 over 576, {}, N201-U {n201_u}", large.place.way_name()),
            "Gain of TCP, beside what the headers of all layers give and what these and the control blocks give together.",
            format!(
                "{:+.1} %; headers give {:+.1} %, with control blocks {:+.1} %",
                gain * 100.0,
                headers * 100.0,
                explained * 100.0
            ),
            "above 0, explained within 1 %".to_owned(),
            Some(gain > 0.0 && (gain - explained).abs() < EXPLAINED),
        );
        row.paper = Some("+1 %".to_owned());
        rows.push(row);
    }
    for way in [Way::Downlink, Way::Uplink] {
        let (Some(less), Some(more)) = (find(way, 1480, 500), find(way, 1500, 500)) else { continue };
        let gain = more.rate() / less.rate() - 1.0;
        let mut row = verdict(
            &format!("MTU 1500 over 1480, {}, N201-U 500", less.place.way_name()),
            "An N-PDU of 1500 octets needs a fourth LL-PDU.",
            format!("{:+.2} %", gain * 100.0),
            "below 0".to_owned(),
            Some(gain < 0.0),
        );
        row.paper = Some("slightly lower".to_owned());
        rows.push(row);
    }
    rows.push(conserved(&all.iter().flat_map(|of| of.faults.clone()).collect::<Vec<_>>()));
    rows
}

/// By terminal with an MTU of 1480 and N201-U of 500, as the study draws it.
fn drawing(all: &[Measured]) -> Figure {
    let panel = |way: Way, title: &str| {
        let here: Vec<_> = all
            .iter()
            .filter(|of| (of.place.way, of.place.mtu, of.place.n201_u) == (way, 1480, 500))
            .zip(1_u8..)
            .collect();
        let at = |value: &dyn Fn(&Measured) -> Option<f64>| -> Vec<Point> {
            let point = |(of, x): &(&Measured, u8)| Some(Point::new(f64::from(*x), value(of)? / 1e3));
            here.iter().filter_map(point).collect()
        };
        let paper = |of: &Measured| {
            let (down, up) = of.place.terminal().paper;
            Some(if way == Way::Downlink { down } else { up }? * 1e3)
        };
        let measured = here.iter().map(|(of, x)| {
            let (low, high) = of.spread();
            Point { x: f64::from(*x), y: of.rate() / 1e3, spread: (low / 1e3, high / 1e3) }
        });
        let payload = |of: &Measured| Some(as_f64(CODING.bits_per_second() * u64::from(of.place.slots())));
        let curve =
            |name: &str, style, colour, points| Curve { name: name.to_owned(), style, colour, points };
        let curves = vec![
            curve("TCP", Style::Measured, 0, measured.collect()),
            curve("payload less headers", Style::Second, 1, at(&|of| Some(of.place.ceiling()))),
            curve("payload of CS-2", Style::Second, 2, at(&payload)),
            curve("highest of the study, from its text", Style::Reference, 3, at(&paper)),
        ];
        Panel {
            title: title.to_owned(),
            x: "terminal: 1 T39m, 2 R520m, 3 N8310, 4 T280".to_owned(),
            y: "kbit/s".to_owned(),
            curves,
            ..Panel::default()
        }
    };
    let panels = vec![panel(Way::Downlink, "Downlink"), panel(Way::Uplink, "Uplink")];
    let caption = "Bulk TCP by terminal, read from captures of the receiving host: mean, and least and most of the repetitions. CS-2, \
                   MTU 1480, N201-U 500, no losses on the air. The terminals have 3 + 1 (T39m, R520m), 3 + 2 (N8310) and 4 + 1 (T280) \
                   timeslots.";
    Figure::new("trace-throughput", caption, panels)
}
