//! Experiment `bearer-sequence`: sequence numbers of TCP and of LLC over time, side by side, where the bearer loses frames.
//!
//! A download goes through acknowledged mode, and another one over the plain bearer. What TCP sends is captured at the GGSN's device,
//! and what LLC sends at the access point's, before the line loses any of it.

mod capture;
pub mod numbers;

use super::bed::{Bed, Processes, Through};
use super::configs::{BEARERS, GGSN_DEVICE, Mode, Parameters};
use super::line::{Conditions, Kind};
use super::probe::{CONGESTION, Download};
use super::text;
use crate::figure::Figure;
use crate::report::{Cell, Options, REPORTED, Report, Size, Verdict, at_most};
use crate::testbed;
use capture::Capture;
use core::net::Ipv4Addr;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use gannet_machine::time::{Duration, Instant};
use gannet_wire::adaptation::ETHERTYPE;
use numbers::{Event, Sequence};
use serde_json::json;

const PROGRAMS: [&str; 5] = ["ip", "ethtool", "iperf3", "ping", "tcpdump"];
const CONDITIONS: Conditions = Conditions { round_trip: Duration::from_micros(200), loss: 0.05, seed: 1 };
/// What is drawn: so long from shortly before the first repetition on, once TCP has found its window.
const SHOWN: Duration = Duration::from_millis(40);
/// The plain bearer carries so little that less would be empty.
const SHOWN_OF_PLAIN: Duration = Duration::from_secs(1);
const BEFORE: Duration = Duration::from_millis(5);
const SETTLES_IN: Duration = Duration::from_secs(1);
/// Octets and frames of one step of an axis.
const THOUSAND: f64 = 1000.0;

const fn seconds(size: Size) -> u64 {
    match size {
        Size::Quick => 3,
        Size::Normal => 10,
        Size::Full => 30,
    }
}

/// Runs it.
///
/// # Errors
/// A sentence for the person: this machine cannot do it, or a program has ended.
pub fn run(options: &Options) -> Result<Report, String> {
    let stop = testbed::begin("bearer-sequence", &PROGRAMS)?;
    let mut bed = Bed::new("sequence", &options.out, &[Kind::Ethernet], Conditions::NONE)?;
    let nodes = bed.start_nodes((&Parameters::fitting(), Processes::Four), &stop)?;
    // Each segment is a packet of its own also where TCP is captured.
    let cut = ["-K", GGSN_DEVICE, "tso", "off", "gso", "off", "gro", "off"];
    bed.network().output_of("ethtool", &cut).map_err(text)?;
    bed.set_line(Conditions { seed: options.seed, ..CONDITIONS })?;
    let lasting = core::time::Duration::from_secs(seconds(options.size));
    let [device, _] = BEARERS;
    let adaptation = format!("ether proto {ETHERTYPE}");
    let acknowledged = Through::Gprs(Mode::Acknowledged);
    let plain = download(&mut bed, Through::Plain, [(device, "tcp")], (lasting, &stop))?;
    let filters = [(GGSN_DEVICE, "tcp"), (device, adaptation.as_str())];
    let both = download(&mut bed, acknowledged, filters, (lasting, &stop))?;
    let ([plain], [tcp, llc]) = (plain, both);
    let plain = plain.tcp(address(Through::Plain)?);
    let (tcp, llc) = (tcp.tcp(address(acknowledged)?), llc.llc(bed.far_station()?));
    bed.end_nodes(&nodes);
    bed.end_line()?;
    let mut report = Report::here("bearer-sequence", options);
    report.parameter(
        "bearer",
        format!(
            "{}; round trip of {} ms, {:.0} % of the frames are lost each way",
            Kind::Ethernet.name(),
            CONDITIONS.round_trip.as_secs_f64() * 1e3,
            CONDITIONS.loss * 100.0
        ),
    );
    report.parameter("congestion control", CONGESTION);
    report.parameter("downloads", format!("one each way, {} s", lasting.as_secs()));
    let all =
        [("TCP, plain bearer", &plain), ("TCP, acknowledged mode", &tcp), ("LLC, acknowledged mode", &llc)];
    report.cells = all.map(|(name, sequence)| cell(name, sequence)).to_vec();
    report.verdicts = all.map(|(name, sequence)| verdict(name, sequence)).to_vec();
    report.figures = vec![drawing(&plain, &tcp, &llc)];
    Ok(report)
}

fn address(through: Through) -> Result<Ipv4Addr, String> {
    through.host().parse().map_err(text)
}

/// A download from the network, and what was captured meanwhile at devices there, each with its filter.
fn download<const N: usize>(
    bed: &mut Bed,
    through: Through,
    devices: [(&str, &str); N],
    (lasting, stop): (core::time::Duration, &AtomicBool),
) -> Result<[Capture; N], String> {
    let mut captures = Vec::new();
    for (device, filter) in devices {
        captures.push(bed.start_capture(device, filter)?);
    }
    let mut running = Download::start(bed.network(), through.host(), bed.phone(), None)?;
    let until = std::time::Instant::now() + lasting;
    while std::time::Instant::now() < until && !stop.load(Relaxed) {
        std::thread::sleep(core::time::Duration::from_millis(50));
        bed.check()?;
    }
    running.end()?;
    let read = captures.into_iter().map(|(mut process, file)| {
        process.stop();
        Capture::read(std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?)
    });
    let read: Vec<Capture> = read.collect::<Result<_, String>>()?;
    if stop.load(Relaxed) {
        return Err("interrupted".to_owned());
    }
    read.try_into().map_err(|_| "a capture is missing".to_owned())
}

fn cell(name: &str, sequence: &Sequence) -> Cell {
    let count = |name: &str, event| (name.to_owned(), json!(sequence.count(event)));
    let metrics = [
        count("sent", Event::Sent),
        count("sent_again", Event::Again),
        count("acknowledgements", Event::Acknowledged),
    ];
    Cell::new([("numbers", json!(name))], metrics)
}

fn verdict(name: &str, sequence: &Sequence) -> Verdict {
    let part = sequence.part_again();
    Verdict {
        name: format!("sent again, {name}"),
        means: "Of the segments or I frames that the network sent, those whose numbers it had sent before."
            .to_owned(),
        paper: None,
        ours: format!(
            "{:.3} % of {}",
            part * 100.0,
            sequence.count(Event::Sent) + sequence.count(Event::Again)
        ),
        goal: REPORTED.to_owned(),
        holds: at_most(part, 1.0),
    }
}

/// From when on a sequence is drawn.
fn begins(sequence: &Sequence) -> Instant {
    let settled = sequence.begins().unwrap_or(Instant::ZERO) + Duration(SETTLES_IN.0);
    let at = sequence.first_again(settled).unwrap_or(settled);
    Instant(at.0.saturating_sub(BEFORE.0))
}

/// TCP and LLC of the same time side by side, and TCP of the plain bearer below.
fn drawing(plain: &Sequence, tcp: &Sequence, llc: &Sequence) -> Figure {
    let from = begins(llc);
    let (octets, frames) = (("sequence number, 1000 octets", THOUSAND), ("N(S), frames", 1.0));
    let panels = vec![
        tcp.panel("TCP, acknowledged mode", octets, (from, SHOWN)),
        llc.panel("LLC below it, at the same time", frames, (from, SHOWN)),
        plain.panel("TCP, plain bearer, for longer", octets, (begins(plain), SHOWN_OF_PLAIN)),
    ];
    let caption = format!(
        "Downloads by TCP ({CONGESTION}) over an emulated Ethernet link of 100 Mbit/s with a round trip of {} ms that loses {:.0} % of its \
         frames each way. Captured where the network sends. Time begins {} ms before a repetition, {} s and more after the start.",
        CONDITIONS.round_trip.as_secs_f64() * 1e3,
        CONDITIONS.loss * 100.0,
        BEFORE.as_secs_f64() * 1e3,
        SETTLES_IN.as_secs_f64(),
    );
    Figure::new("bearer-sequence", &caption, panels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_begins_before_a_repetition_and_is_legible() {
        let sequence = |again_ms: u64| {
            let mut sequence = Sequence::of_octets();
            for ms in 0..3000_u64 {
                sequence.sent(Instant::ZERO + Duration::from_millis(ms), ms * 1430, 1430);
                sequence.acknowledged(Instant::ZERO + Duration::from_millis(ms), ms * 1430);
            }
            sequence.sent(Instant::ZERO + Duration::from_millis(again_ms), 2000 * 1430, 1430);
            sequence
        };
        assert_eq!(begins(&sequence(2990)), Instant::ZERO + Duration::from_millis(2985));
        let report = Report {
            figures: vec![drawing(&sequence(2990), &sequence(2980), &sequence(2970))],
            ..Report::simulated(
                "bearer-sequence",
                &crate::report::Options {
                    size: Size::Quick,
                    seed: 1,
                    out: std::path::PathBuf::new(),
                    progress: false,
                    against: None,
                },
            )
        };
        crate::figure::check::of_report(&report);
        assert_eq!(verdict("TCP", &sequence(2990)).ours, "0.033 % of 3001");
    }
}
