//! Experiment `trace-reselect`: what cell reselections do to TCP, with an SGSN that discards what waits and with ours that has it moved.
//!
//! A mobile drives along a row of cells, so that it changes cells each 40 to 70 s as in the drive of the tracing study. [`parts`] says
//! what its silence is made of.

use super::course::Effect;
use super::drive::{cells, road, sites_m};
use super::parts::{self, Span};
use super::{Drive, Outcome, run as drive};
use crate::figure::{Curve, Figure, Panel, Point, Style};
use crate::parallel;
use crate::radio::{as_f64, conserved};
use crate::report::{Cell, Options, REPORTED, Report, Size, Verdict, at_least, at_most, greatest, least};
use crate::tcp::config::Config as TcpConfig;
use gannet_machine::time::{Duration, Instant};
use gannet_node::bss::radio::Way;
use gannet_node::ms::travel::TravelConfig;
use gannet_node::sgsn::{CellChange, LeftBehind};
use gannet_wire::l3::ie::{QosProfile, ReliabilityClass};
use serde_json::json;
use std::fmt::Write as _;

/// The mobile stands while its context becomes active, and a while of its transfer.
const STANDS_S: u32 = 60;
const METRES_PER_S: f64 = 11.0;
/// Octets of the receiver's window downlink: eleven segments and a part.
const WINDOW_OCTETS: u32 = 16_384;
/// The same uplink: six segments.
const UPLINK_WINDOW_OCTETS: u32 = 8760;

/// What network and mobile do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Network {
    /// The study's: the SGSN discards what waits.
    Study,
    /// Ours, with the study's mobile: FLUSH-LL moves what waits.
    Ours,
    /// The same, and the mobile has the system information of the new cell before it leaves.
    Assisted,
}

impl Network {
    const fn name(self) -> &'static str {
        match self {
            Self::Study => "study",
            Self::Ours => "ours",
            Self::Assisted => "assisted",
        }
    }

    const fn acquisition(self) -> Span {
        match self {
            Self::Study | Self::Ours => {
                parts::sum(parts::SYNCHRONISATION, parts::sum(parts::SYSTEM_INFORMATION, parts::MOBILE))
            }
            Self::Assisted => parts::SYNCHRONISATION,
        }
    }
}

/// One kind of drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    way: Way,
    /// Each cell is of another routing area than that before it.
    updates: bool,
    network: Network,
    is_present: bool,
    is_acknowledged: bool,
}

impl Place {
    fn all() -> Vec<Self> {
        let mut all = Vec::new();
        let mut add = |way, network, is_present, is_acknowledged| {
            for updates in [false, true] {
                all.push(Self { way, updates, network, is_present, is_acknowledged });
            }
        };
        for is_present in [false, true] {
            add(Way::Downlink, Network::Study, is_present, false);
            add(Way::Downlink, Network::Ours, is_present, false);
        }
        add(Way::Downlink, Network::Assisted, false, false);
        add(Way::Downlink, Network::Ours, false, true);
        add(Way::Uplink, Network::Study, false, false);
        add(Way::Uplink, Network::Ours, true, false);
        all
    }

    const fn tcp(self) -> TcpConfig {
        let base = if self.is_present { TcpConfig::linux_6_cubic() } else { TcpConfig::linux_2_4_2() };
        let receive_buffer = match self.way {
            Way::Downlink => WINDOW_OCTETS,
            Way::Uplink => UPLINK_WINDOW_OCTETS,
        };
        TcpConfig { receive_buffer, ..base }
    }

    /// Those of two of the study's terminals: four timeslots downlink, or two uplink.
    const fn slots(self) -> (u32, u32) {
        match self.way {
            Way::Downlink => (4, 1),
            Way::Uplink => (2, 2),
        }
    }

    const fn way_name(self) -> &'static str {
        match self.way {
            Way::Downlink => "downlink",
            Way::Uplink => "uplink",
        }
    }

    const fn area_name(self) -> &'static str {
        if self.updates { "update" } else { "inside" }
    }

    const fn llc_name(self) -> &'static str {
        if self.is_acknowledged { "acknowledged" } else { "unacknowledged" }
    }
}

/// What a place came to.
#[derive(Debug)]
struct Measured {
    place: Place,
    runs: Vec<(Outcome, Vec<Effect>)>,
    span: Duration,
}

impl Measured {
    fn effects(&self) -> impl Iterator<Item = &Effect> {
        self.runs.iter().flat_map(|(_, effects)| effects)
    }

    fn seconds(&self, of: impl Fn(&Effect) -> Option<Duration>) -> Vec<f64> {
        let mut all: Vec<f64> = self.effects().filter_map(of).map(|span| span.as_secs_f64()).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    fn outages_s(&self) -> Vec<f64> {
        self.seconds(|of| Some(of.outage))
    }

    fn recoveries_s(&self) -> Vec<f64> {
        self.seconds(|of| of.recovery)
    }

    fn spikes_s(&self) -> Vec<f64> {
        self.seconds(|of| Some(of.spike))
    }

    fn lost(&self) -> Vec<f64> {
        let mut all: Vec<f64> = self.effects().map(|of| as_f64(of.lost)).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    /// Changes after which the sender sent what came anyhow, though nothing was lost.
    fn spurious(&self) -> u64 {
        self.effects().filter(|of| of.lost == 0 && of.twice > 0).count() as u64
    }

    fn kbit_per_s(&self) -> f64 {
        let octets: u64 = self.runs.iter().map(|(of, _)| of.octets).sum();
        as_f64(octets * 8) / 1000.0 / (self.span.as_secs_f64() * as_f64(self.runs.len() as u64))
    }

    fn timeouts(&self) -> u64 {
        self.runs.iter().map(|(of, _)| of.timeouts).sum()
    }

    fn cell(&self) -> Cell {
        let place = self.place;
        let spread = |name: &str, all: &[f64]| {
            let values = [("median", median(all)), ("least", least_of(all)), ("most", greatest_of(all))];
            values.map(|(which, value)| (format!("{name}_{which}"), json!(round(value))))
        };
        let mut metrics = vec![
            ("changes".to_owned(), json!(self.effects().count())),
            ("lost".to_owned(), json!(self.lost().iter().sum::<f64>())),
            ("spurious".to_owned(), json!(self.spurious())),
            ("unrecovered".to_owned(), json!(self.effects().filter(|of| of.recovery.is_none()).count())),
            ("timeouts".to_owned(), json!(self.timeouts())),
            ("kbit_per_s".to_owned(), json!(round(self.kbit_per_s()))),
        ];
        metrics.extend(spread("outage_s", &self.outages_s()));
        metrics.extend(spread("recovery_s", &self.recoveries_s()));
        metrics.extend(spread("spike_s", &self.spikes_s()));
        metrics.extend(spread("lost_each", &self.lost()));
        Cell::new(
            [
                ("way", json!(place.way_name())),
                ("area", json!(place.area_name())),
                ("network", json!(place.network.name())),
                ("tcp", json!(place.tcp().name)),
                ("llc", json!(place.llc_name())),
            ],
            metrics,
        )
    }
}

fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

fn median(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

fn least_of(all: &[f64]) -> f64 {
    if all.is_empty() { f64::NAN } else { least(all.iter().copied()) }
}

fn greatest_of(all: &[f64]) -> f64 {
    if all.is_empty() { f64::NAN } else { greatest(all.iter().copied()) }
}

/// Cells of the row, and how often each drive is made.
const fn plan(size: Size) -> (u16, u64) {
    match size {
        Size::Quick => (6, 1),
        Size::Normal => (11, 3),
        Size::Full => (11, 10),
    }
}

fn measure(place: Place, (count, repetitions): (u16, u64), seed: u64) -> Result<Measured, String> {
    let mut runs = Vec::new();
    let mut longest = Duration::ZERO;
    for repetition in 0..repetitions {
        let seed = seed.wrapping_mul(100).wrapping_add(repetition);
        let sites = sites_m(seed, count, METRES_PER_S);
        let signal = road(&sites, METRES_PER_S, STANDS_S);
        let span = signal.end() + Duration::from_secs(60);
        longest = longest.max(span);
        let racs: Vec<u8> = (0..count).map(|cell| u8::from(place.updates && cell % 2 == 1)).collect();
        let travel = TravelConfig {
            acquisition: place.network.acquisition(),
            area_delay: parts::LOCATION_UPDATE,
            ..TravelConfig::new(cells(&racs), vec![signal])
        };
        let left_behind =
            if place.network == Network::Study { LeftBehind::Discard } else { LeftBehind::Move };
        let qos = place
            .is_acknowledged
            .then(|| QosProfile { reliability: ReliabilityClass::TWO, ..QosProfile::default() });
        let change = CellChange { left_behind, ..CellChange::default() };
        let (tcp, way, slots) = (place.tcp(), place.way, place.slots());
        let outcome = drive(Drive { travel, change, tcp, way, qos, slots, span, seed })?;
        let effects = outcome.course.effects();
        runs.push((outcome, effects));
    }
    Ok(Measured { place, runs, span: longest })
}

/// Runs the experiment.
///
/// # Errors
/// Where a world cannot be set up.
pub fn run(options: &Options) -> Result<Report, String> {
    let plan = plan(options.size);
    let measured = parallel::each(&Place::all(), |place| measure(*place, plan, options.seed));
    let all = measured.into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut report = Report::simulated("trace-reselect", options);
    report.parameter(
        "drive",
        format!("{} cells in a row, {METRES_PER_S} m/s, a change each 40 to 70 s", plan.0),
    );
    report.parameter("drives", format!("{} of each kind", plan.1));
    let hosts = format!("windows {WINDOW_OCTETS} octets downlink, {UPLINK_WINDOW_OCTETS} uplink, MSS 1460");
    report.parameter("hosts", hosts);
    report.parameter("radio", "CS-2, N201-U 1520, 4 + 1 timeslots downlink, 2 + 2 uplink");
    for (name, [least, most]) in [
        ("synchronisation", parts::SYNCHRONISATION),
        ("system information", parts::SYSTEM_INFORMATION),
        ("the mobile's own time", parts::MOBILE),
        ("location update", parts::LOCATION_UPDATE),
    ] {
        report.parameter(name, format!("{} to {} ms", least.as_millis(), most.as_millis()));
    }
    report.cells = all.iter().map(Measured::cell).collect();
    report.verdicts = verdicts(&All(&all));
    report.figures = vec![course_figure(&All(&all)), sums_figure(&All(&all))];
    report.remarks = vec![table(&all)];
    Ok(report)
}

fn table(all: &[Measured]) -> String {
    let mut text = "| data | area | network | TCP | LLC | changes | outage, s | lost each | recovery, s | longest way, s | spurious | kbit/s |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n".to_owned();
    for of in all {
        let range = |all: Vec<f64>, digits: usize| {
            let [low, middle, high] = [least_of(&all), median(&all), greatest_of(&all)];
            format!("{middle:.digits$} ({low:.digits$} to {high:.digits$})").replace("NaN", "–")
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.1} |",
            of.place.way_name(),
            of.place.area_name(),
            of.place.network.name(),
            of.place.tcp().name,
            of.place.llc_name(),
            of.effects().count(),
            range(of.outages_s(), 1),
            range(of.lost(), 0),
            range(of.recoveries_s(), 1),
            range(of.spikes_s(), 1),
            of.spurious(),
            of.kbit_per_s(),
        );
    }
    text
}

struct All<'a>(&'a [Measured]);

impl All<'_> {
    fn find(&self, way: Way, updates: bool, network: Network, is_acknowledged: bool) -> Option<&Measured> {
        self.0.iter().find(|of| {
            let place = of.place;
            (place.way, place.updates, place.network, place.is_acknowledged)
                == (way, updates, network, is_acknowledged)
        })
    }

    fn down(&self, updates: bool, network: Network) -> Option<&Measured> {
        self.find(Way::Downlink, updates, network, false)
    }
}

/// What both kinds of areas gave together, sorted.
fn both(all: &All<'_>, way: Way, network: Network, which: fn(&Measured) -> Vec<f64>) -> Vec<f64> {
    let kinds = [false, true].into_iter().filter_map(|updates| all.find(way, updates, network, false));
    let mut values: Vec<f64> = kinds.flat_map(which).collect();
    values.sort_by(f64::total_cmp);
    values
}

fn within(value: f64, least: f64, most: f64) -> Option<bool> {
    Some(at_least(value, least)? && at_most(value, most)?)
}

fn row(
    name: &str,
    means: &str,
    paper: Option<&str>,
    ours: String,
    goal: &str,
    holds: Option<bool>,
) -> Verdict {
    let (name, means, goal) = (name.to_owned(), means.to_owned(), goal.to_owned());
    Verdict { name, means, paper: paper.map(str::to_owned), ours, goal, holds }
}

fn verdicts(all: &All<'_>) -> Vec<Verdict> {
    let mut rows = outage_rows(all);
    rows.extend(downlink_rows(all));
    rows.extend(uplink_rows(all));
    let faults = all.0.iter().flat_map(|of| of.runs.iter().flat_map(|(of, _)| of.faults.clone()));
    rows.push(conserved(&faults.collect::<Vec<String>>()));
    rows
}

fn values(of: Option<&Measured>, which: fn(&Measured) -> Vec<f64>) -> Vec<f64> {
    of.map(which).unwrap_or_default()
}

fn outage_rows(all: &All<'_>) -> Vec<Verdict> {
    let means = "From the last LL-PDU in the old cell until user data may go in the new one.";
    let study = |updates, name, paper: &str, low, high| {
        let middle = median(&values(all.down(updates, Network::Study), Measured::outages_s));
        let goal = format!("the median within {paper}");
        row(name, means, Some(paper), format!("{middle:.1} s"), &goal, within(middle, low, high))
    };
    let assisted = |updates, name, most| {
        let longest = greatest_of(&values(all.down(updates, Network::Assisted), Measured::outages_s));
        let goal = format!("all under {most} s");
        row(name, means, None, format!("{longest:.2} s"), &goal, at_most(longest, most))
    };
    vec![
        study(false, "outage at a cell update, study", "2 to 4 s", 2.0, 4.0),
        study(true, "outage with an update, study", "4 to 5 s", 4.0, 5.0),
        assisted(false, "outage at a cell update, assisted", 1.0),
        assisted(true, "outage with an update, assisted", 3.0),
    ]
}

fn downlink_rows(all: &All<'_>) -> Vec<Verdict> {
    let lost = "Segments downlink that did not come, by change of cells.";
    let none = |name, of: Option<&Measured>, goal, most_allowed| {
        let most = greatest_of(&values(of, Measured::lost));
        row(name, lost, None, format!("{most:.0} at most"), goal, at_most(most, most_allowed))
    };
    let middle_lost = median(&values(all.down(false, Network::Study), Measured::lost));
    let recovery = "From the end of the outage until the receiver has what was lost; where nothing was, until it has more.";
    let middle = median(&both(all, Way::Downlink, Network::Study, Measured::recoveries_s));
    let most = greatest_of(&values(all.down(false, Network::Ours), Measured::recoveries_s));
    let acknowledged = all.find(Way::Downlink, true, Network::Ours, true);
    vec![
        row(
            "segments lost, study",
            lost,
            Some("about 10"),
            format!("{middle_lost:.0}"),
            "the median within 7 to 13",
            within(middle_lost, 7.0, 13.0),
        ),
        none("segments lost inside a routing area, ours", all.down(false, Network::Ours), "0", 0.0),
        none("segments lost across, acknowledged mode, ours", acknowledged, "0", 0.0),
        none(
            "segments lost across, unacknowledged mode, ours",
            all.down(true, Network::Ours),
            REPORTED,
            f64::MAX,
        ),
        row(
            "recovery with and without an update, study",
            recovery,
            Some("5 to 10 s"),
            format!("{middle:.1} s"),
            "the median within 5 to 10 s",
            within(middle, 5.0, 10.0),
        ),
        row(
            "recovery inside a routing area, ours",
            recovery,
            None,
            format!("{most:.2} s at most"),
            "under 1 s",
            at_most(most, 1.0),
        ),
    ]
}

fn uplink_rows(all: &All<'_>) -> Vec<Verdict> {
    let most = greatest_of(&both(all, Way::Uplink, Network::Study, Measured::lost));
    let shortest = least_of(&both(all, Way::Uplink, Network::Study, Measured::spikes_s));
    let spurious: f64 = both(all, Way::Uplink, Network::Study, |of| vec![as_f64(of.spurious())]).iter().sum();
    vec![
        row(
            "segments lost uplink",
            "Segments uplink that did not come, by change of cells.",
            Some("0 or 1"),
            format!("{most:.0} at most"),
            "at most 1",
            at_most(most, 1.0),
        ),
        row(
            "delay spike uplink",
            "The longest way of a segment over each change of cells; the shortest of these.",
            Some("a delay spike"),
            format!("{shortest:.1} s"),
            "at least 2 s",
            at_least(shortest, 2.0),
        ),
        row(
            "spurious timeouts uplink",
            "Changes of cells after which segments were sent again though nothing was lost.",
            Some("can happen"),
            format!("{spurious:.0}"),
            "at least 1",
            at_least(spurious, 1.0),
        ),
    ]
}

fn panel(title: &str, x: &str, y: &str, curves: Vec<Curve>) -> Panel {
    Panel { title: title.to_owned(), x: x.to_owned(), y: y.to_owned(), curves, ..Panel::default() }
}

fn curve(name: &str, style: Style, colour: usize, points: Vec<Point>) -> Curve {
    Curve { name: name.to_owned(), style, colour, points }
}

/// Figure 8: a change of cells in a download.
fn course_figure(all: &All<'_>) -> Figure {
    let shown = |network: Network, title: &str| {
        let (outcome, effects) = all.down(false, network)?.runs.first()?;
        let change = effects.first()?.change;
        let from = Instant(change.left.0.saturating_sub(Duration::from_secs(6).0));
        let until = change.usable + Duration::from_secs(18);
        let x = |at: Instant| round(at.since(from).as_secs_f64());
        let base =
            outcome.course.in_order().iter().rev().find(|(at, _)| *at <= from).map_or(0, |(_, next)| *next);
        let y = |octet: u64| round(as_f64(octet.saturating_sub(base)) / 1000.0);
        let (mut came, mut lost, mut again, mut highest) = (vec![], vec![], vec![], 0);
        for of in &outcome.course.transmissions {
            let is_shown = of.sent >= from && of.sent <= until;
            let is_again = of.data.0 < highest;
            highest = highest.max(of.data.1);
            match of.came {
                None if is_shown => lost.push(Point::new(x(of.sent), y(of.data.0))),
                Some(at) if is_shown && is_again => again.push(Point::new(x(at), y(of.data.0))),
                Some(at) if is_shown && at <= until => came.push(Point::new(x(at), y(of.data.0))),
                _ => {}
            }
        }
        let low = y(highest_at(outcome, change.silent));
        let outage = vec![Point::new(x(change.silent), low), Point::new(x(change.usable), low)];
        Some(panel(
            title,
            "time (s)",
            "stream (kB)",
            vec![
                curve("lost, when sent", Style::Marks, 1, lost),
                curve("sent again, when it came", Style::Marks, 3, again),
                curve("came", Style::Marks, 0, came),
                curve("outage", Style::Measured, 2, outage),
            ],
        ))
    };
    let panels = [
        shown(Network::Study, "(a) The SGSN discards what waits"),
        shown(Network::Ours, "(b) FLUSH-LL moves what waits"),
    ];
    let caption = "A download with linux-2.4.2 over a change of cells inside a routing area, seen at both hosts; the first of one drive each, as in \
                   figure 8 of the study. In its text the break at LLC is about 5 s, and TCP takes 5 to 10 s more.";
    Figure::new("trace-reselect", caption, panels.into_iter().flatten().collect())
}

fn highest_at(outcome: &Outcome, at: Instant) -> u64 {
    outcome.course.in_order().iter().rev().find(|(when, _)| *when <= at).map_or(0, |(_, next)| *next)
}

/// Outages and recoveries beside the study's ranges.
fn sums_figure(all: &All<'_>) -> Figure {
    let of = |updates: bool, which: fn(&Measured) -> Vec<f64>| -> Curve {
        let point = |(place, network): (u32, Network)| {
            let all = all.down(updates, network).map(which).unwrap_or_default();
            let spread = (round(least_of(&all)), round(greatest_of(&all)));
            // Beside each other, not on each other.
            let place = f64::from(place) + if updates { 0.06 } else { -0.06 };
            Point { x: place, y: round(median(&all)), spread }
        };
        let points = (1..).zip([Network::Study, Network::Ours, Network::Assisted]).map(point).collect();
        let name = if updates { "with an update" } else { "inside a routing area" };
        curve(name, Style::Measured, usize::from(updates), points)
    };
    let study = |name: &str, colour, x, low, high| {
        let point = Point { x, y: f64::midpoint(low, high), spread: (low, high) };
        curve(name, Style::Reference, colour, vec![point])
    };
    let x = "1 study, 2 ours, 3 assisted";
    let with = |which: fn(&Measured) -> Vec<f64>, mut more: Vec<Curve>| {
        let mut curves = vec![of(false, which), of(true, which)];
        curves.append(&mut more);
        curves
    };
    let outages = vec![
        study("the study's text: inside", 3, 0.85, 2.0, 4.0),
        study("the study's text: with an update", 4, 1.2, 4.0, 5.0),
    ];
    let panels = vec![
        panel("Outage", x, "s", with(Measured::outages_s, outages)),
        panel(
            "Recovery behind it",
            x,
            "s",
            with(Measured::recoveries_s, vec![study("the study's text", 3, 0.85, 5.0, 10.0)]),
        ),
        panel(
            "Segments lost",
            x,
            "segments by change",
            with(Measured::lost, vec![study("the study's text", 3, 0.85, 10.0, 10.0)]),
        ),
    ];
    let caption = "Downloads with linux-2.4.2 in unacknowledged mode: medians over all changes of cells, and bars from the least to the most. \
                   The study's ranges are those of its text.";
    Figure::new("trace-reselect-sums", caption, panels)
}
