//! Experiment `preempt-erlang`: calls that come and go take PDCHs of a cell, one each, from ten mobiles.
//!
//! Nine mobiles have a download each, one has a conversational flow. Calls are offered by an Erlang model (Poisson arrivals, exponential
//! holding times), so that mostly a part of the PDCHs is taken, and at high loads all of them now and then.

use super::measured::round;
use super::place::{CODING, Policy, Sender, preempted};
use super::trace::longest_gap;
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
use std::fmt::Write as _;

const MOBILES: u32 = 10;
/// The one with a flow of real time.
const SPEAKER: u32 = 0;
/// PDCHs of the cell.
const PDCHS: u32 = 6;
/// Offered traffic by the PDCHs, in hundredths.
const LOADS: [u32; 4] = [0, 30, 60, 90];
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
    /// How often PDCHs went: some, all; and LL-PDUs that were thrown away.
    counts: (u64, u64, u64),
    airtime: Airtime,
    faults: Vec<String>,
}

const fn span(size: Size) -> Duration {
    Duration::from_secs(match size {
        Size::Quick => 240,
        Size::Normal => 2400,
        Size::Full => 7200,
    })
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
        format!("{}, {} % of the PDCHs", self.policy.name(), self.load_percent)
    }

    fn setup(&self, seed: u64) -> Result<Setup, String> {
        let mut radio = radio(CODING, 3, 1).ok_or("no multislot class has 3 + 1 timeslots")?;
        radio.network.pdchs = last_slots(PDCHS);
        preempted(&mut radio, self.policy);
        let one = Setup::one_cell(radio, MOBILES, 500, seed);
        let second = Some(Duration::from_secs(1));
        let lifetimes = PduLifetimes { real_time: second, guaranteed: second, ..one.lifetimes };
        let calls = (self.load_percent > 0).then_some(CallPlan::Erlang {
            seed,
            millierlangs: self.load_percent * PDCHS * 10,
            mean_holding: HOLDING,
        });
        let asks_at_zero = self.policy == Policy::Flush;
        Ok(Setup { lifetimes, qos: vec![conversational()], calls, asks_at_zero, ..one })
    }
}

fn measure(place: Place, span: Duration, seed: u64) -> Result<Got, String> {
    let mut world = World::new(&place.setup(seed)?)?;
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
    while world.gprs.now < end {
        let mut payload = world.gprs.now.0.to_be_bytes().to_vec();
        payload.resize(PACKET_OCTETS - 20, 0);
        world.host_sends(&ipv4(HOST, address, PROTOCOL, &payload));
        spoken += 1;
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
        let axes =
            [("policy", json!(self.place.policy.name())), ("load_percent", json!(self.place.load_percent))];
        let metrics = [
            ("tcp_bit_per_s", json!(round(self.sum()))),
            ("tcp_least_bit_per_s", json!(round(least(self.rates.iter().copied())))),
            ("tcp_most_bit_per_s", json!(round(greatest(self.rates.iter().copied())))),
            ("segments", json!(self.segments.0)),
            ("segments_again", json!(self.segments.1)),
            ("flow_sent", json!(self.spoken)),
            ("flow_came", json!(self.delays_s.len())),
            ("flow_delay_median_s", json!(round(self.delays_s.median()))),
            ("flow_delay_max_s", json!(round(self.delays_s.max()))),
            ("flow_silence_max_s", json!(round(self.silence_s))),
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
    let with = |policy| LOADS.map(|load_percent| Place { policy, load_percent });
    let places: Vec<Place> = Policy::ALL.into_iter().flat_map(with).collect();
    let all = parallel::each(&places, |place| measure(*place, span(options.size), options.seed));
    let all = all.into_iter().collect::<Result<Vec<Got>, String>>()?;
    let mut report = Report::simulated("preempt-erlang", options);
    report.parameter("seconds of a run", span(options.size).as_secs_f64());
    report.parameter("cell", format!("CS-2, {PDCHS} PDCHs, {MOBILES} mobiles with 3 + 1 timeslots"));
    report.parameter("mean holding time of a call, s", HOLDING.as_secs_f64());
    report.cells = all.iter().map(Got::cell).collect();
    report.verdicts = verdicts(&all);
    report.remarks = vec![table(&all)];
    Ok(report)
}

fn verdicts(all: &[Got]) -> Vec<Verdict> {
    let mut rows = Vec::new();
    for load_percent in LOADS.into_iter().filter(|load| *load > 0) {
        let of = |policy| {
            let got =
                all.iter().find(|got| got.place.policy == policy && got.place.load_percent == load_percent);
            got.map_or(f64::NAN, Got::sum)
        };
        let ratio = of(Policy::Forward) / of(Policy::Flush);
        rows.push(verdict(
            &format!("downloads together, forward by flush, {load_percent} % of the PDCHs offered"),
            "Rates of the nine downloads.",
            format!("{ratio:.3}"),
            REPORTED.to_owned(),
            (!ratio.is_nan()).then_some(true),
        ));
    }
    let faults: Vec<String> = all.iter().flat_map(|got| got.faults.clone()).collect();
    rows.push(conserved(&faults));
    rows
}

fn table(all: &[Got]) -> String {
    let mut text = "| policy | load, % of PDCHs | some taken | all taken | downloads, kbit/s | of one, least..most | again, % | flow lost, % | flow delay median, ms | longest silence, s |\n|---|---|---|---|---|---|---|---|---|---|\n".to_owned();
    for got in all {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {:.2} | {:.2}..{:.2} | {:.2} | {:.1} | {:.0} | {:.2} |",
            got.place.policy.name(),
            got.place.load_percent,
            got.counts.0,
            got.counts.1,
            got.sum() / 1000.0,
            least(got.rates.iter().copied()) / 1000.0,
            greatest(got.rates.iter().copied()) / 1000.0,
            got.again_percent(),
            got.lost_percent(),
            got.delays_s.median() * 1000.0,
            got.silence_s,
        );
    }
    text
}
