//! Experiment `preempt-erlang`: calls that come and go take PDCHs of a cell, one each, from ten mobiles.
//!
//! Nine mobiles have a download each, one has a conversational flow. Calls are offered by an Erlang model (Poisson arrivals, exponential
//! holding times), so that mostly a part of the PDCHs is taken, and at high loads all of them now and then.

use super::measured::round;
use super::place::{CODING, Policy, Sender, preempted};
use super::table;
use super::trace::longest_gap;
use crate::figure::{Curve, Figure, Panel, Point, Style};
use crate::measure::stats::Samples;
use crate::parallel;
use crate::radio::airtime::{Airtime, Snapshot, last_slots, radio};
use crate::radio::packet::ipv4;
use crate::radio::world::{Connection, HOST, Setup, World};
use crate::radio::{as_f64, conserved, verdict};
use crate::report::{Cell, Options, REPORTED, Report, Size, Verdict, greatest, least};
use crate::tcp::config::Config as TcpConfig;
use gannet_machine::time::{Duration, Instant};
use gannet_node::bss::calls::CallPlan;
use gannet_node::bss::radio::Way;
use gannet_node::sgsn::PduLifetimes;
use gannet_wire::l3::ie::{BitRate, QosProfile, QosR99, TrafficClass};
use serde_json::json;

const MOBILES: u32 = 10;
/// The one with a flow of real time.
const SPEAKER: u32 = 0;
/// PDCHs of the cell.
const PDCHS: u32 = 6;
/// The largest offered traffic by the PDCHs, in hundredths.
const LOAD_MAX_PERCENT: u32 = 90;
const HOLDING: Duration = Duration::from_secs(30);
const WARM_UP: Duration = Duration::from_secs(60);
const COOL_DOWN: Duration = Duration::from_secs(300);
const WINDOW_OCTETS: u32 = 8192;
/// For experiments (RFC 3692).
const PROTOCOL: u8 = 253;
/// The flow: 100 octets each 200 ms are 4 kbit/s, guaranteed.
const PACKET_OCTETS: usize = 100;
const EVERY: Duration = Duration::from_millis(200);
const GUARANTEED_KBPS: u32 = 4;

/// A run.
#[derive(Debug, Clone, Copy)]
struct Place {
    policy: Policy,
    load_percent: u32,
    seed: u64,
}

/// What was measured.
#[derive(Debug)]
struct Got {
    place: Place,
    /// Bits a second of each download.
    rates: Vec<f64>,
    /// Segments that the senders sent, and sent again.
    segments: (u64, u64),
    /// Packets of the flow: sent, and their delays in seconds.
    spoken: u64,
    delays_s: Samples,
    silence_s: f64,
    /// Parts of all PDCHs that calls left, and of the time in which they left none, looked at with each packet of the flow.
    left: f64,
    none_left: f64,
    /// How often PDCHs went: some, all; and LL-PDUs that were thrown away.
    counts: (u64, u64, u64),
    airtime: Airtime,
    faults: Vec<String>,
}

/// How long a run takes, the loads in hundredths of the PDCHs, and how many seeds each cell has.
struct Extent {
    span: Duration,
    loads: Vec<u32>,
    repetitions: u64,
}

impl Extent {
    fn of(size: Size) -> Self {
        let (seconds, step, repetitions) = match size {
            Size::Quick => (120, 45, 1),
            Size::Normal => (2400, 15, 5),
            Size::Full => (7200, 15, 10),
        };
        let loads = (0..=LOAD_MAX_PERCENT).step_by(step).collect();
        Self { span: Duration::from_secs(seconds), loads, repetitions }
    }

    fn places(&self, seed: u64) -> Vec<Place> {
        let mut places = Vec::new();
        for policy in Policy::ALL {
            for load_percent in &self.loads {
                let with = |more| Place { policy, load_percent: *load_percent, seed: seed + more };
                places.extend((0..self.repetitions).map(with));
            }
        }
        places
    }
}

fn conversational() -> QosProfile {
    let r99 = QosR99 {
        traffic_class: TrafficClass::CONVERSATIONAL,
        delivery_order: 2,
        erroneous_sdus: 3,
        max_sdu: 150,
        mbr_up: BitRate::from_kbps(64),
        mbr_down: BitRate::from_kbps(64),
        residual_ber: 7,
        sdu_error_ratio: 4,
        transfer_delay: 10,
        handling_priority: 0,
        gbr_up: BitRate::from_kbps(GUARANTEED_KBPS),
        gbr_down: BitRate::from_kbps(GUARANTEED_KBPS),
        signalling: None,
    };
    QosProfile { r99: Some(r99), ..QosProfile::BEST_EFFORT }
}

impl Place {
    fn name(&self) -> String {
        format!("{}, {} % of the PDCHs, seed {}", self.policy.name(), self.load_percent, self.seed)
    }

    fn setup(&self) -> Result<Setup, String> {
        let mut radio = radio(CODING, 3, 1).ok_or("no multislot class has 3 + 1 timeslots")?;
        radio.network.pdchs = last_slots(PDCHS);
        preempted(&mut radio, self.policy);
        let one = Setup::one_cell(radio, MOBILES, 500, self.seed);
        let second = Some(Duration::from_secs(1));
        let lifetimes = PduLifetimes { real_time: second, guaranteed: second, ..one.lifetimes };
        let calls = (self.load_percent > 0).then_some(CallPlan::Erlang {
            seed: self.seed,
            millierlangs: self.load_percent * PDCHS * 10,
            mean_holding: HOLDING,
        });
        let asks_at_zero = self.policy.discards();
        Ok(Setup { lifetimes, qos: vec![conversational()], calls, asks_at_zero, ..one })
    }
}

fn measure(place: Place, span: Duration) -> Result<Got, String> {
    let mut world = World::new(&place.setup()?)?;
    let address = world.address(SPEAKER).ok_or("a mobile has no address")?;
    for mobile in (0..MOBILES).filter(|mobile| *mobile != SPEAKER) {
        world.connect(
            mobile,
            Way::Downlink,
            &TcpConfig { receive_buffer: WINDOW_OCTETS, ..Sender::Linux242.config() },
        );
    }
    world.run_until(world.gprs.now + WARM_UP);
    world.others.clear();
    let (begin, end) = (world.gprs.now, world.gprs.now + span);
    let came = |world: &World| world.connections.iter().map(Connection::came).collect::<Vec<u64>>();
    let (before, came_before, taken_before) =
        (Snapshot::of(&world, MOBILES), came(&world), world.probe.preemptions());
    let (mut spoken, mut delays_s, mut arrivals) = (0, Samples::NONE, vec![begin]);
    let (mut left, mut none_left) = (0, 0);
    while world.gprs.now < end {
        let mut payload = world.gprs.now.0.to_be_bytes().to_vec();
        payload.resize(PACKET_OCTETS - 20, 0);
        world.host_sends(&ipv4(HOST, address, PROTOCOL, &payload));
        spoken += 1;
        left += u64::from(world.probe.pdchs_left());
        none_left += u64::from(world.probe.pdchs_left() == 0);
        world.run_until((world.gprs.now + EVERY).min(end));
        while let Some((at, _, octets)) = world.others.pop_front() {
            let sent = octets.get(20..).and_then(|octets| octets.first_chunk());
            let Some(sent) = sent.map(|octets| Instant(u64::from_be_bytes(*octets))) else { continue };
            delays_s.push(at.since(sent).as_secs_f64());
            arrivals.push(at);
        }
    }
    let airtime = Airtime::between(&before, &Snapshot::of(&world, MOBILES), Way::Downlink, CODING, PDCHS);
    let rate = |(is, was): (u64, u64)| as_f64((is - was) * 8) / span.as_secs_f64();
    let rates = came(&world).into_iter().zip(came_before).map(rate).collect();
    let records = world.connections.iter().map(|of| of.ends[0].record());
    let segments = records.fold((0, 0), |sum, of| (sum.0 + of.segments, sum.1 + of.retransmitted()));
    let taken = world.probe.preemptions();
    let faults = world.close(COOL_DOWN).into_iter().map(|fault| format!("{}: {fault}", place.name()));
    Ok(Got {
        place,
        rates,
        segments,
        spoken,
        delays_s,
        silence_s: longest_gap(arrivals.into_iter().chain([end])),
        left: as_f64(left) / as_f64(spoken * u64::from(PDCHS)),
        none_left: as_f64(none_left) / as_f64(spoken),
        counts: (
            taken.partial - taken_before.partial,
            taken.complete - taken_before.complete,
            taken.discarded - taken_before.discarded,
        ),
        airtime,
        faults: faults.collect(),
    })
}

impl Got {
    fn sum(&self) -> f64 {
        self.rates.iter().sum()
    }

    fn lost_percent(&self) -> f64 {
        100.0 - as_f64(self.delays_s.len() as u64) * 100.0 / as_f64(self.spoken)
    }

    fn again_percent(&self) -> f64 {
        as_f64(self.segments.1) * 100.0 / as_f64(self.segments.0)
    }

    fn cell(&self) -> Cell {
        let Place { policy, load_percent, seed } = self.place;
        let axes =
            [("policy", json!(policy.name())), ("load_percent", json!(load_percent)), ("seed", json!(seed))];
        let metrics = [
            ("tcp_bit_per_s", json!(round(self.sum()))),
            ("tcp_least_bit_per_s", json!(round(least(self.rates.iter().copied())))),
            ("tcp_most_bit_per_s", json!(round(greatest(self.rates.iter().copied())))),
            ("segments", json!(self.segments.0)),
            ("segments_again", json!(self.segments.1)),
            ("flow_sent", json!(self.spoken)),
            ("flow_came", json!(self.delays_s.len())),
            ("flow_delay_median_s", json!(round(self.delays_s.median()))),
            ("flow_delay_p95_s", json!(round(self.delays_s.quantile(0.95)))),
            ("flow_delay_max_s", json!(round(self.delays_s.max()))),
            ("flow_silence_max_s", json!(round(self.silence_s))),
            ("pdchs_left", json!(round(self.left))),
            ("no_pdch_left", json!(round(self.none_left))),
            ("preemptions_partial", json!(self.counts.0)),
            ("preemptions_complete", json!(self.counts.1)),
            ("ll_pdus_flushed", json!(self.counts.2)),
        ];
        let metrics = metrics.map(|(name, value)| (name.to_owned(), value));
        Cell::new(axes, metrics.into_iter().chain(self.airtime.metrics()))
    }
}

/// Runs the experiment.
///
/// # Errors
/// Where a world cannot be set up.
pub fn run(options: &Options) -> Result<Report, String> {
    let extent = Extent::of(options.size);
    let all = parallel::each(&extent.places(options.seed), |place| measure(*place, extent.span));
    let all = all.into_iter().collect::<Result<Vec<Got>, String>>()?;
    let mut report = Report::simulated("preempt-erlang", options);
    report.parameter("seconds of a run", extent.span.as_secs_f64());
    report.parameter("runs of a cell, each with a seed of its own", extent.repetitions);
    report.parameter("cell", format!("CS-2, {PDCHS} PDCHs, {MOBILES} mobiles with 3 + 1 timeslots"));
    report.parameter("mean holding time of a call, s", HOLDING.as_secs_f64());
    report.cells = all.iter().map(Got::cell).collect();
    report.verdicts = verdicts(&all, &extent);
    report.figures = vec![figure(&all, &extent)];
    report.remarks = vec![table::erlang(&report.cells)];
    Ok(report)
}

/// A value of the runs with a policy and a load, one for each seed.
fn of(all: &[Got], policy: Policy, load_percent: u32, value: &dyn Fn(&Got) -> f64) -> Samples {
    let is_it = |got: &&Got| (got.place.policy, got.place.load_percent) == (policy, load_percent);
    all.iter().filter(is_it).map(value).collect()
}

fn verdicts(all: &[Got], extent: &Extent) -> Vec<Verdict> {
    let mut rows = Vec::new();
    let mut reported = |name: String, means: &str, samples: &Samples, digits: usize| {
        let [median, least, most] = [samples.median(), samples.min(), samples.max()];
        rows.push(verdict(
            &name,
            means,
            format!("{median:.digits$} [{least:.digits$}..{most:.digits$}]"),
            REPORTED.to_owned(),
            (!median.is_nan()).then_some(true),
        ));
    };
    for load_percent in extent.loads.iter().copied().filter(|load| *load > 0) {
        let rates = |policy| of(all, policy, load_percent, &Got::sum);
        let (forward, flush) = (rates(Policy::Forward), rates(Policy::Flush));
        let pairs = forward.each().zip(flush.each());
        reported(
            format!("downloads together, forward by flush, {load_percent} % of the PDCHs offered"),
            "Rates of the nine downloads, of runs with the same calls: median, least and greatest of all seeds.",
            &pairs.map(|((_, forward), (_, flush))| forward / flush).collect(),
            3,
        );
        let lost = |policy| of(all, policy, load_percent, &Got::lost_percent);
        reported(
            format!(
                "flow of real time: lost beyond flush, forward, {load_percent} % of the PDCHs offered, points"
            ),
            "Packets that did not come within the second that they may wait, of runs with the same calls.",
            &lost(Policy::Forward).minus(&lost(Policy::Flush)),
            2,
        );
    }
    let faults: Vec<String> = all.iter().flat_map(|got| got.faults.clone()).collect();
    rows.push(conserved(&faults));
    rows
}

/// By load: what the downloads get, what the flow loses, and how long it waits.
fn figure(all: &[Got], extent: &Extent) -> Figure {
    let curves = |value: &dyn Fn(&Got) -> f64| -> Vec<Curve> {
        let points = |policy| {
            let point = |load: &u32| of(all, policy, *load, value).point(f64::from(*load) / 100.0);
            extent.loads.iter().map(point).collect()
        };
        let curve = |(colour, policy): (usize, Policy)| Curve {
            name: policy.name().to_owned(),
            style: Style::Measured,
            colour,
            points: points(policy),
        };
        Policy::ALL.into_iter().enumerate().map(curve).collect()
    };
    let bound = |name: &str, colour, value: &dyn Fn(&Got) -> f64| {
        let point = |load: &u32| of(all, Policy::Forward, *load, value).point(f64::from(*load) / 100.0);
        let points = extent.loads.iter().map(point).map(|point| Point::new(point.x, point.y)).collect();
        Curve { name: name.to_owned(), style: Style::Reference, colour, points }
    };
    let whole = of(all, Policy::Forward, 0, &Got::sum).median();
    let with = |mut curves: Vec<Curve>, more: Curve| {
        curves.push(more);
        curves
    };
    let panel = |title: &str, y: &str, curves| Panel {
        title: title.to_owned(),
        x: "offered calls, Erlang by PDCH".to_owned(),
        y: y.to_owned(),
        curves,
        ..Panel::default()
    };
    let panels = vec![
        panel(
            "Nine downloads together",
            "kbit/s",
            with(
                curves(&|got| got.sum() / 1000.0),
                bound("PDCHs that calls leave", 4, &|got| got.left * whole / 1000.0),
            ),
        ),
        panel(
            "Flow of real time: lost",
            "% of its packets",
            with(curves(&Got::lost_percent), bound("time without a PDCH", 5, &|got| got.none_left * 100.0)),
        ),
        panel("Segments sent again", "% of all segments", curves(&Got::again_percent)),
        panel("Flow of real time: delay at 95 %", "s", curves(&|got| got.delays_s.quantile(0.95))),
    ];
    let caption = format!(
        "Calls by an Erlang model take PDCHs one by one from a cell with {PDCHS} of them and {MOBILES} mobiles; mean holding time {:.0} s. Median of {} \
         runs of {:.0} s, bars from the least to the greatest. A packet of the flow may wait for a second. Dotted: the rate without calls by the \
         part of the PDCHs that calls leave, and the part of the time in which they leave none.",
        HOLDING.as_secs_f64(),
        extent.repetitions,
        extent.span.as_secs_f64()
    );
    Figure::new("preempt-erlang", &caption, panels)
}
