//! Experiment `trace-buffer`: the buffer of the bottleneck, as the analyser estimates it from captures.
//!
//! One bulk transfer whose window is larger than any buffer. Downlink the SGSN holds N-PDUs and the BSC LL-PDUs; uplink the mobile holds
//! LL-PDUs. What finds no room is lost, and the data outstanding at the first loss tell of the buffer.
//!
//! From the host's capture alone the analyser's estimate stands as it is. With a capture of Gb the N-PDUs between Gi and Gb are counted, and
//! the BSC's part is the bucket that it told last (FLOW-CONTROL-BVC or FLOW-CONTROL-MS).

use super::{Read, read};
use crate::figure::{Curve, Figure, Panel, Point, Style};
use crate::parallel;
use crate::radio::airtime::radio;
use crate::radio::capture::{Point as Spot, Tape};
use crate::radio::world::{Setup, World};
use crate::radio::{as_f64, conserved, verdict};
use crate::report::{Cell, Options, REPORTED, Report, Size, Verdict, at_most};
use crate::tcp::config::Config as TcpConfig;
use gannet_analysis::findings::Finding;
use gannet_analysis::record::{BssgpWhat, Direction, Record};
use gannet_analysis::tcp::report::{BufferEstimate, Kind};
use gannet_machine::time::{Duration, Instant};
use gannet_node::bss::radio::Way;
use gannet_wire::rlcmac::coding::CodingScheme;
use serde_json::json;
use std::collections::BTreeSet;
use std::fmt::Write as _;

const N_PDU_OCTETS: f64 = 1500.0;
const COOL_DOWN: Duration = Duration::from_secs(120);
const TCP_PROTOCOL: u8 = 6;

/// What the buffers hold.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Place {
    name: &'static str,
    way: Way,
    /// N-PDUs in the SGSN; downlink.
    sgsn_n_pdus: u32,
    /// Octets in the mobile; uplink.
    mobile_octets: usize,
    tcp: TcpConfig,
}

fn places() -> Vec<Place> {
    let down =
        |name, sgsn_n_pdus, tcp| Place { name, way: Way::Downlink, sgsn_n_pdus, mobile_octets: 0, tcp };
    let up = |name, mobile_octets, tcp| Place { name, way: Way::Uplink, sgsn_n_pdus: 0, mobile_octets, tcp };
    let (then, today) = (TcpConfig::tracing_2002(), TcpConfig::linux_6_reno());
    let mut all = Vec::new();
    for tcp in [then, today] {
        // With 4.5 kB of the BSC.
        all.push(down("50 kB", 30, tcp));
        all.push(down("10 kB", 4, tcp));
        all.push(up("30 kB", 30_000, tcp));
        all.push(up("3 kB", 3_050, tcp));
    }
    all
}

const fn span(size: Size) -> Duration {
    Duration::from_secs(match size {
        Size::Quick => 240,
        Size::Normal => 600,
        Size::Full => 1800,
    })
}

/// What Gb says, besides the host.
#[derive(Debug, Default)]
struct AtGb {
    /// Identifications of N-PDUs as they came to Gi, with the bucket that the BSC had told.
    came: Vec<(u16, u64)>,
    /// Those that came to Gb, with how many had come to Gi by then.
    left: Vec<(u16, usize)>,
    bucket_octets: u64,
}

impl AtGb {
    /// `is_counted`: what the BSC tells of its buckets before the transfer counts too.
    fn take(&mut self, what: &Record, place: &str, is_counted: bool) {
        match what {
            Record::Bssgp(pdu) => {
                let told = match pdu.what {
                    BssgpWhat::FlowControlMs { bmax_octets, .. }
                    | BssgpWhat::FlowControlBvc { bmax_octets, .. } => bmax_octets,
                    _ => return,
                };
                self.bucket_octets = told;
            }
            Record::Packet(packet) if is_counted => {
                let Some(ip) = packet.ip.filter(|ip| ip.protocol == TCP_PROTOCOL) else { return };
                match (place, packet.direction) {
                    ("Gi", Some(Direction::Down)) => self.came.push((ip.identification, self.bucket_octets)),
                    ("Gb", Some(Direction::Down)) => self.left.push((ip.identification, self.came.len())),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// N-PDUs at the SGSN when the first one came that never left it, and the BSC's bucket then.
    fn at_first_loss(&self) -> Option<(usize, u64)> {
        let all: BTreeSet<u16> = self.left.iter().map(|(id, _)| *id).collect();
        let place = self.came.iter().position(|(id, _)| !all.contains(id))?;
        let (_, bucket) = self.came.get(place)?;
        let had_left = self.left.iter().filter(|(_, came)| *came <= place).count();
        Some((place.saturating_sub(had_left), *bucket))
    }
}

#[derive(Debug)]
struct Measured {
    place: Place,
    /// Octets of IP that the buffers hold: as configured, with the bucket that the BSC told.
    configured_octets: f64,
    estimate: Option<BufferEstimate>,
    /// With a capture of Gb: N-PDUs at the SGSN, and the BSC's bucket in octets.
    with_gb: Option<(usize, u64)>,
    rate_bit_per_s: f64,
    timeouts: u64,
    fast: u64,
    /// The tool says that timeouts repair losses again and again.
    repeated: Option<Finding>,
    faults: Vec<String>,
}

fn measure(place: &Place, options: &Options) -> Result<Measured, String> {
    let (down, up) = if place.way == Way::Downlink { (3, 1) } else { (2, 2) };
    let radio = radio(CodingScheme::Cs2, down, up).ok_or("no multislot class has these timeslots")?;
    let mut setup = Setup::one_cell(radio, 1, 1520, options.seed);
    let (host, points): (&str, &[Spot]) = match place.way {
        Way::Downlink => {
            setup.sgsn_n_pdus = Some(place.sgsn_n_pdus);
            ("Gi", &[Spot::Gi])
        }
        Way::Uplink => {
            setup.mobile_octets = Some(place.mobile_octets);
            ("mobile 1", &[Spot::Mobile])
        }
    };
    let tapes = [Tape::to_memory(points)?, Tape::to_memory(&[Spot::Gi, Spot::Gb])?];
    let mut world = World::recorded(&setup, &tapes)?;
    let begins = world.gprs.now;
    world.connect(0, place.way, &place.tcp);
    world.run_until(begins + span(options.size));
    let ends = world.gprs.now;
    let faults = world.close(COOL_DOWN);
    let [alone, with_gb] = tapes;
    let Read { report, places } = read(alone.finish()?, (begins, ends), |_, _, _| {})?;
    let alone = Read { report, places };
    let half = alone.forward(host).ok_or("the capture has no connection")?;
    let estimate = half.buffer().copied();
    let mut at_gb = AtGb::default();
    read(with_gb.finish()?, (Instant::ZERO, ends), |at, seen, place| {
        at_gb.take(&seen.what, place, at >= begins);
    })?;
    let with_gb = at_gb.at_first_loss().filter(|_| place.way == Way::Downlink);
    let configured_octets = match place.way {
        Way::Downlink => {
            let bucket = with_gb.map_or(at_gb.bucket_octets, |(_, bucket)| bucket);
            // One more waits for its bucket.
            N_PDU_OCTETS * f64::from(place.sgsn_n_pdus + 1) + as_f64(bucket)
        }
        Way::Uplink => as_f64(place.mobile_octets as u64),
    };
    let repeated = alone.report.findings.iter().find(|of| of.kind == "tcp-repeated-timeouts").cloned();
    Ok(Measured {
        place: *place,
        configured_octets,
        estimate,
        with_gb,
        rate_bit_per_s: half.mean_rate().unwrap_or(f64::NAN) * 8.0,
        timeouts: half.count(Kind::Timeout).1,
        fast: half.count(Kind::Fast).1,
        repeated,
        faults,
    })
}

impl Measured {
    /// The estimate from the host alone less what is configured, in segments.
    fn error(&self) -> f64 {
        self.estimate.map_or(f64::NAN, |of| (as_f64(of.ip_octets) - self.configured_octets) / N_PDU_OCTETS)
    }

    fn with_gb_octets(&self) -> f64 {
        self.with_gb
            .map_or(f64::NAN, |(n_pdus, bucket)| as_f64(n_pdus as u64) * N_PDU_OCTETS + as_f64(bucket))
    }

    fn error_with_gb(&self) -> f64 {
        (self.with_gb_octets() - self.configured_octets) / N_PDU_OCTETS
    }

    const fn way_name(&self) -> &'static str {
        match self.place.way {
            Way::Downlink => "down",
            Way::Uplink => "up",
        }
    }

    fn cell(&self) -> Cell {
        let estimate = |of: fn(&BufferEstimate) -> f64| json!(self.estimate.as_ref().map(of));
        let number = |value: f64| if value.is_finite() { json!(value) } else { json!(null) };
        Cell::new(
            [
                ("buffer", json!(self.place.name)),
                ("direction", json!(self.way_name())),
                ("tcp", json!(self.place.tcp.name)),
            ],
            [
                ("configured_octets".to_owned(), json!(self.configured_octets)),
                ("estimate_octets".to_owned(), estimate(|of| as_f64(of.ip_octets))),
                ("outstanding_octets".to_owned(), estimate(|of| as_f64(of.outstanding_octets))),
                ("idle_rtt_ms".to_owned(), estimate(|of| as_f64(of.idle_rtt_ns) / 1e6)),
                ("delay_ms".to_owned(), estimate(|of| as_f64(of.delay_ns) / 1e6)),
                ("error_segments".to_owned(), number(self.error())),
                ("with_gb_octets".to_owned(), number(self.with_gb_octets())),
                ("error_with_gb_segments".to_owned(), number(self.error_with_gb())),
                ("rate_bit_per_s".to_owned(), json!(self.rate_bit_per_s)),
                ("timeouts".to_owned(), json!(self.timeouts)),
                ("fast_recoveries".to_owned(), json!(self.fast)),
                ("named_by_the_tool".to_owned(), json!(self.repeated.is_some())),
            ],
        )
    }
}

/// Runs the experiment.
///
/// # Errors
/// Where a world cannot be set up, or its capture cannot be read.
pub fn run(options: &Options) -> Result<Report, String> {
    let all = parallel::each(&places(), |place| {
        if options.progress {
            eprintln!("{}, {}", place.name, place.tcp.name);
        }
        measure(place, options)
    });
    let all = all.into_iter().collect::<Result<Vec<_>, String>>()?;
    let mut report = Report::simulated("trace-buffer", options);
    report.parameter("transfer", format!("{:.0} s, MTU 1500, N201-U 1520", span(options.size).as_secs_f64()));
    report
        .parameter("TCP", "tracing-2002 with a window of 200 kB, and linux-6-reno without a tail loss probe");
    report.parameter("radio", "CS-2, 3 + 1 timeslots downlink and 2 + 2 uplink, no losses on the air");
    report.parameter("read from", "a capture of the sending host alone, and captures of Gi and Gb");
    report.cells = all.iter().map(Measured::cell).collect();
    report.verdicts = verdicts(&all);
    report.figures = vec![drawing(&all)];
    report.remarks = vec![table(&all)];
    let named = all.iter().filter_map(|of| of.repeated.as_ref());
    report.remarks.extend(named.map(|finding| format!("{}: {}", finding.kind, finding.text)));
    Ok(report)
}

fn table(all: &[Measured]) -> String {
    let mut text = "| buffer | TCP | configured, octets | estimate, octets | off by, segments | with Gb, octets | off by, segments | drains in, s | \
                    TCP, kbit/s | timeouts | fast recoveries |\n"
        .to_owned();
    text.push_str("|---|---|---|---|---|---|---|---|---|---|---|\n");
    let number = |value: f64, digits: usize| {
        if value.is_finite() { format!("{value:.digits$}") } else { "–".to_owned() }
    };
    for of in all {
        let estimate = |of_it: fn(&BufferEstimate) -> f64| of.estimate.as_ref().map_or(f64::NAN, of_it);
        let _ = writeln!(
            text,
            "| {} {} | {} | {:.0} | {} | {} | {} | {} | {} | {:.1} | {} | {} |",
            of.place.name,
            of.way_name(),
            of.place.tcp.name,
            of.configured_octets,
            number(estimate(|of| as_f64(of.ip_octets)), 0),
            number(of.error(), 1),
            number(of.with_gb_octets(), 0),
            number(of.error_with_gb(), 1),
            number(estimate(|of| as_f64(of.delay_ns) / 1e9), 1),
            of.rate_bit_per_s / 1e3,
            of.timeouts,
            of.fast
        );
    }
    text
}

fn verdicts(all: &[Measured]) -> Vec<Verdict> {
    let then = TcpConfig::tracing_2002().name;
    let of_then = |of: &&Measured| of.place.tcp.name == then;
    let mut rows = Vec::new();
    for of in all.iter().filter(of_then).filter(|of| of.place.mobile_octets != 3_050) {
        let mut row = verdict(
            &format!("{} {}, from the host's capture alone", of.place.name, of.way_name()),
            "What the analyser says of the first loss, in octets of IP, less what is configured.",
            format!("{:+.1} segments at {:.0} octets configured", of.error(), of.configured_octets),
            "within 3 segments".to_owned(),
            at_most(of.error().abs(), 3.0),
        );
        if of.place.name == "50 kB" {
            row.paper = Some("50 kB measured".to_owned());
        }
        rows.push(row);
        if of.place.way == Way::Downlink {
            rows.push(verdict(
                &format!("{} {}, with that of Gb", of.place.name, of.way_name()),
                "N-PDUs that had come to Gi and not to Gb when the lost one came, and the bucket that the BSC told.",
                format!("{:+.1} segments", of.error_with_gb()),
                "within 1 segment".to_owned(),
                at_most(of.error_with_gb().abs(), 1.0),
            ));
        }
    }
    let find = |name: &str, tcp: &str| {
        all.iter().find(|of| (of.place.way, of.place.name, of.place.tcp.name) == (Way::Uplink, name, tcp))
    };
    for tcp in [then, TcpConfig::linux_6_reno().name] {
        let (Some(small), Some(large)) = (find("3 kB", tcp), find("30 kB", tcp)) else { continue };
        let part = small.rate_bit_per_s / large.rate_bit_per_s;
        let ours = format!(
            "{part:.2}; {} timeouts and {} fast recoveries; the tool {} repeated timeouts",
            small.timeouts,
            small.fast,
            if small.repeated.is_some() { "names" } else { "does not name" }
        );
        let holds = (0.2..=0.5).contains(&part) && small.repeated.is_some() && large.repeated.is_none();
        let mut row = verdict(
            &format!("an uplink buffer of 3 kB, {tcp}"),
            "Rate by that with 30 kB; timeouts are named by the analyser with the small buffer alone.",
            ours,
            if tcp == then { "0.2 to 0.5, named".to_owned() } else { REPORTED.to_owned() },
            Some(holds || tcp != then),
        );
        row.paper = Some("a third, by repeated timeouts".to_owned());
        rows.push(row);
    }
    rows.push(conserved(&all.iter().flat_map(|of| of.faults.clone()).collect::<Vec<_>>()));
    rows
}

/// Estimate over what is configured.
fn drawing(all: &[Measured]) -> Figure {
    let points = |tcp: &str, of_it: &dyn Fn(&Measured) -> f64| -> Vec<Point> {
        let mut points: Vec<Point> = all
            .iter()
            .filter(|of| of.place.tcp.name == tcp)
            .map(|of| Point::new(of.configured_octets / 1e3, of_it(of) / 1e3))
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        points
    };
    let alone = |of: &Measured| of.estimate.map_or(f64::NAN, |of| as_f64(of.ip_octets));
    let (then, today) = (TcpConfig::tracing_2002().name, TcpConfig::linux_6_reno().name);
    let curve = |name: &str, style, colour, points| Curve { name: name.to_owned(), style, colour, points };
    let panel = Panel {
        title: "Buffer of the bottleneck".to_owned(),
        x: "configured, kB".to_owned(),
        y: "estimated, kB".to_owned(),
        curves: vec![
            curve("host alone, tracing-2002", Style::Marks, 0, points(then, &alone)),
            curve("host alone, linux-6-reno", Style::Marks, 1, points(today, &alone)),
            curve("with Gb, tracing-2002", Style::Marks, 2, points(then, &Measured::with_gb_octets)),
            curve("as configured", Style::Reference, 3, points(then, &|of| of.configured_octets)),
        ],
        ..Panel::default()
    };
    let caption = "What the analyser says of the buffer at the first loss of a bulk transfer, in octets of IP, by what is configured: two \
                   buffers uplink and two downlink. One run of each.";
    Figure::new("trace-buffer", caption, vec![panel])
}
