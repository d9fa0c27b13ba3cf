//! Experiment `radio-rtt`: a ping of 32 octets as a sum of what it waits for, by how TBFs end.
//!
//! Each part is the time between two events that were seen: the LL-PDU enters the radio, the access burst goes, the TBF is assigned,
//! the LL-PDU has arrived. Where the mobile has a TBF already, access and assignment take nothing. The parts of a ping add up to the
//! round trip that its host measures, and a run in which they do not is at fault.

use super::airtime::radio;
use super::packet::{checksum, ipv4, put};
use super::probe::Mark;
use super::world::{HOST, Setup, World};
use super::{conserved, verdict};
use crate::figure::{Curve, Figure, Panel, Point, Style};
use crate::measure::stats::Samples;
use crate::report::{Cell, Options, Report, Size, Verdict, at_least, at_most};
use core::net::Ipv4Addr;
use gannet_machine::rng::Rng;
use gannet_machine::time::{Duration, Instant};
use gannet_node::bss::radio::{RlcMacConfig, Way};
use gannet_wire::rlcmac::coding::CodingScheme;
use serde_json::json;
use std::fmt::Write as _;

/// Octets of data in an echo request, as Windows sends them.
const DATA_OCTETS: usize = 32;
/// From one ping to the next, and up to so much more at random: pings must not keep step with the multiframe.
const INTERVAL: Duration = Duration::from_secs(1);
const JITTER_NS: u64 = 240_000_000;
const ICMP: u8 = 1;
/// A ping that takes longer is lost.
const LONGEST: Duration = Duration::from_secs(20);
const SCHEMES: [CodingScheme; 3] = [CodingScheme::Cs1, CodingScheme::Cs2, CodingScheme::Cs4];

/// How TBFs begin and end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mode {
    name: &'static str,
    two_phase: bool,
    delayed: Duration,
    extended: Duration,
    /// How often the network asks a mobile whose TBFs have nothing to send.
    idle_poll: Duration,
}

const LATE: Duration = Duration::from_secs(2);
const USUAL: Duration = Duration::from_millis(200);
const OFTEN: Duration = Duration::from_millis(60);

const fn mode(name: &'static str, delayed: Duration, extended: Duration, idle_poll: Duration) -> Mode {
    Mode { name, two_phase: false, delayed, extended, idle_poll }
}

const MODES: [Mode; 5] = [
    Mode { two_phase: true, ..mode("immediate, two phases", Duration::ZERO, Duration::ZERO, USUAL) },
    mode("immediate", Duration::ZERO, Duration::ZERO, USUAL),
    mode("delayed", LATE, Duration::ZERO, USUAL),
    mode("delayed, extended uplink", LATE, LATE, USUAL),
    mode("the same, asked each 60 ms", LATE, LATE, OFTEN),
];

const PARTS: [&str; 6] = [
    "wait for the access burst",
    "uplink assignment",
    "uplink blocks",
    "network",
    "downlink assignment",
    "downlink blocks",
];

/// Mean round trip, and the means of its parts by name, in ms.
pub(crate) type Parts = (f64, [(&'static str, f64); 6]);

/// What was measured of a mode and a coding scheme. Times are in milliseconds.
#[derive(Debug)]
struct Measured {
    mode: Mode,
    coding: CodingScheme,
    total: Samples,
    parts: [Samples; 6],
    lost: u32,
    faults: Vec<String>,
}

const fn pings(size: Size) -> u16 {
    match size {
        Size::Quick => 60,
        Size::Normal => 600,
        Size::Full => 6000,
    }
}

impl Mode {
    fn radio(&self, coding: CodingScheme) -> Option<RlcMacConfig> {
        let mut radio = radio(coding, 3, 1)?;
        radio.network.force_two_phase = self.two_phase;
        radio.network.delayed_release = self.delayed;
        radio.options.extended_uplink = self.extended;
        radio.network.idle_poll = self.idle_poll;
        Some(radio)
    }
}

/// An echo request, or with `is_reply` its answer (RFC 792).
fn echo(from: Ipv4Addr, to: Ipv4Addr, number: u16, is_reply: bool) -> Vec<u8> {
    let mut icmp = vec![if is_reply { 0 } else { 8 }, 0, 0, 0, 0, 1];
    icmp.extend(number.to_be_bytes());
    icmp.extend((0..DATA_OCTETS).map(|at| b'a' + u8::try_from(at % 23).unwrap_or(0)));
    let sum = checksum(&icmp);
    put(&mut icmp, 2, sum);
    ipv4(from, to, ICMP, &icmp)
}

/// The marks of one ping as its parts in nanoseconds; `None` where one is missing.
fn parts(marks: &[(Instant, Mark)], sent: Instant, came: Instant) -> Option<[u64; 6]> {
    let first = |wanted: Mark, from: Instant, until: Instant| {
        let of = |(at, mark): &&(Instant, Mark)| *mark == wanted && *at >= from && *at <= until;
        marks.iter().find(of).map(|(at, _)| *at)
    };
    let up_asked = first(Mark::Requested(Way::Uplink), sent, came)?;
    let up_came = first(Mark::Arrived(Way::Uplink), up_asked, came)?;
    let down_asked = first(Mark::Requested(Way::Downlink), up_came, came)?;
    let down_came = first(Mark::Arrived(Way::Downlink), down_asked, came)?;
    let burst = first(Mark::Burst, up_asked, up_came).unwrap_or(up_asked);
    let up_assigned = first(Mark::Assigned(Way::Uplink), burst, up_came).unwrap_or(burst);
    let down_assigned = first(Mark::Assigned(Way::Downlink), down_asked, down_came).unwrap_or(down_asked);
    let times = [up_asked, burst, up_assigned, up_came, down_asked, down_assigned, down_came];
    let mut parts = [0; 6];
    for (part, pair) in parts.iter_mut().zip(times.windows(2)) {
        let [from, to] = pair else { continue };
        *part = to.since(*from).0;
    }
    Some(parts)
}

fn measure(mode: Mode, coding: CodingScheme, options: &Options) -> Result<Measured, String> {
    let radio = mode.radio(coding).ok_or("no multislot class has 3 + 1 timeslots")?;
    measure_with(radio, mode, coding, (pings(options.size), options.seed))
}

/// The parts of round trips over a radio with this coding for so many timeslots of each direction. Its TBFs
/// stay without data for so long, and their mobiles are polled so often.
///
/// # Errors
/// Where no multislot class has these timeslots, or where a ping is lost or does not add up.
pub(crate) fn parts_of(
    coding: CodingScheme,
    (down, up): (u32, u32),
    (delayed, idle_poll): (Duration, Duration),
    options: &Options,
) -> Result<Parts, String> {
    let mode = mode("as asked", delayed, Duration::ZERO, idle_poll);
    let mut radio = radio(coding, down, up).ok_or("no multislot class has these timeslots")?;
    (radio.network.delayed_release, radio.network.idle_poll) = (delayed, idle_poll);
    let measured = measure_with(radio, mode, coding, (pings(options.size), options.seed))?;
    match (measured.faults.first(), measured.lost) {
        (Some(fault), _) => Err(fault.clone()),
        (None, 1..) => Err(format!("{} pings are lost", measured.lost)),
        (None, 0) => {
            let means = measured.parts.each_ref().map(mean);
            let mut parts = PARTS.map(|name| (name, 0.0));
            parts.iter_mut().zip(means).for_each(|(part, mean)| part.1 = mean);
            Ok((mean(&measured.total), parts))
        }
    }
}

fn measure_with(
    radio: RlcMacConfig,
    mode: Mode,
    coding: CodingScheme,
    (pings, seed): (u16, u64),
) -> Result<Measured, String> {
    let mut world = World::new(&Setup::one_cell(radio, 1, 500, seed))?;
    let address = world.address(0).ok_or("the mobile has no address")?;
    let mut measured = Measured {
        mode,
        coding,
        total: Samples::NONE,
        parts: [const { Samples::NONE }; 6],
        lost: 0,
        faults: Vec::new(),
    };
    let mut rng = Rng::seeded(seed ^ 0x9149);
    world.probe.watch(0);
    for number in 0..pings {
        world.run_until(world.gprs.now + INTERVAL + Duration(rng.below(JITTER_NS)));
        drop(world.probe.take_marks());
        let sent = world.gprs.now;
        world.mobile_sends(0, &echo(address, HOST, number, false));
        let Some(came) = answer(&mut world, address, number) else {
            measured.lost += 1;
            continue;
        };
        measured.add(&world.probe.take_marks(), sent, came, number);
    }
    measured.faults.extend(world.close(Duration::from_secs(20)));
    Ok(measured)
}

/// Pings the host from the first mobile and waits for the answer: how long it took. `None` where none comes in 20 s.
pub fn ping(world: &mut World, number: u16) -> Option<Duration> {
    let address = world.address(0)?;
    let sent = world.gprs.now;
    world.mobile_sends(0, &echo(address, HOST, number, false));
    answer(world, address, number).map(|came| came.since(sent))
}

/// Answers the echo request at the host and waits for the answer at the mobile.
fn answer(world: &mut World, address: Ipv4Addr, number: u16) -> Option<Instant> {
    let end = world.gprs.now + LONGEST;
    let (request, reply) = (echo(address, HOST, number, false), echo(HOST, address, number, true));
    while world.gprs.now < end {
        let step = world.gprs.next().map_or(end, |next| next.max(world.gprs.now).min(end));
        world.run_until(step);
        while let Some((at, mobile, octets)) = world.others.pop_front() {
            if mobile.is_none() && octets == request {
                world.host_sends(&reply);
            } else if mobile.is_some() && octets == reply {
                return Some(at);
            }
        }
    }
    None
}

impl Measured {
    fn add(&mut self, marks: &[(Instant, Mark)], sent: Instant, came: Instant, number: u16) {
        let total = came.since(sent);
        let ms = |ns: u64| super::as_f64(ns) / 1e6;
        match parts(marks, sent, came) {
            Some(parts) if parts.iter().sum::<u64>() == total.0 => {
                self.total.push(ms(total.0));
                for (samples, part) in self.parts.iter_mut().zip(parts) {
                    samples.push(ms(part));
                }
            }
            Some(parts) => self.faults.push(format!(
                "the parts of ping {number} are {} ns, and it took {} ns",
                parts.iter().sum::<u64>(),
                total.0
            )),
            None => self.faults.push(format!("ping {number} has no such parts")),
        }
    }

    fn cell(&self) -> Cell {
        let mut metrics =
            vec![("rtt_ms".to_owned(), summary(&self.total)), ("lost".to_owned(), json!(self.lost))];
        for (name, samples) in PARTS.iter().zip(&self.parts) {
            metrics.push((format!("{}_ms", name.replace(' ', "_")), summary(samples)));
        }
        Cell::new([("mode", json!(self.mode.name)), ("coding", json!(self.coding.to_string()))], metrics)
    }
}

fn summary(samples: &Samples) -> serde_json::Value {
    json!({ "mean": mean(samples), "median": samples.median(), "min": samples.min(), "max": samples.max() })
}

fn mean(samples: &Samples) -> f64 {
    let sum: f64 = samples.each().map(|(_, value)| value).sum();
    sum / super::as_f64(samples.len() as u64)
}

/// Runs the experiment.
///
/// # Errors
/// Where a world cannot be set up.
pub fn run(options: &Options) -> Result<Report, String> {
    let mut all = Vec::new();
    for coding in SCHEMES {
        for mode in MODES {
            if options.progress {
                eprintln!("{coding}, {}", mode.name);
            }
            all.push(measure(mode, coding, options)?);
        }
    }
    let mut report = Report::simulated("radio-rtt", options);
    report.parameter(
        "pings",
        format!("{} of each, {DATA_OCTETS} octets of data, one at a time", pings(options.size)),
    );
    report.parameter("interval", "1 s to 1.24 s after the answer to the last one");
    report.parameter("delayed release, extended uplink", format!("{:.0} s where on", LATE.as_secs_f64()));
    report.parameter("timeslots", "3 downlink, 1 uplink");
    report.cells = all.iter().map(Measured::cell).collect();
    report.verdicts = verdicts(&all);
    report.figures = vec![drawing(&all)];
    report.remarks = vec![table(&all)];
    Ok(report)
}

fn table(all: &[Measured]) -> String {
    let mut text = format!(
        "| scheme | TBFs | RTT mean, ms | least..most | {} |\n|---|---|---|---|{}\n",
        PARTS.join(" | "),
        "---|".repeat(PARTS.len())
    );
    for of in all {
        let parts = of.parts.each_ref().map(|part| format!("{:.0}", mean(part)));
        let (least, most) = (of.total.min(), of.total.max());
        let _ = writeln!(
            text,
            "| {} | {} | {:.0} | {least:.0}..{most:.0} | {} |",
            of.coding,
            of.mode.name,
            mean(&of.total),
            parts.join(" | ")
        );
    }
    text
}

fn verdicts(all: &[Measured]) -> Vec<Verdict> {
    let total = |mode: usize, coding| {
        let of = all.iter().find(|of| of.coding == coding && MODES.get(mode) == Some(&of.mode));
        of.map_or(f64::NAN, |of| mean(&of.total))
    };
    let mut rows = Vec::new();
    let savings = [(1, 2, 0.0), (1, 3, 0.0), (1, 4, 50.0)];
    for (coding, (from, to, goal)) in SCHEMES.into_iter().flat_map(|coding| savings.map(|of| (coding, of))) {
        let name = MODES.get(to).map_or("", |mode| mode.name);
        let gain = total(from, coding) - total(to, coding);
        rows.push(verdict(
            &format!("{coding}: saved by TBFs that stay: {name}"),
            "Mean round trip with immediate release less that of this mode.",
            format!("{gain:.0} ms"),
            format!(">= {goal:.0} ms"),
            at_least(gain, goal),
        ));
    }
    let lost: u32 = all.iter().map(|of| of.lost).sum();
    rows.push(verdict(
        "pings lost",
        "Pings without an answer in 20 s, of all.",
        lost.to_string(),
        "0".to_owned(),
        at_most(f64::from(lost), 0.0),
    ));
    let faults: Vec<String> = all.iter().flat_map(|of| of.faults.clone()).collect();
    rows.push(verdict(
        "parts add up to the round trip",
        "Of each ping, the named parts are together what the pinging mobile measured, to the nanosecond.",
        if faults.is_empty() { "all".to_owned() } else { format!("not {}", faults.len()) },
        "all".to_owned(),
        Some(faults.is_empty()),
    ));
    rows.push(conserved(&faults));
    rows
}

/// The means of the parts on each other, by mode, with CS-2.
fn drawing(all: &[Measured]) -> Figure {
    let of_scheme: Vec<_> = all.iter().filter(|of| of.coding == CodingScheme::Cs2).collect();
    let curve = |(part, name): (usize, &&str)| Curve {
        name: (*name).to_owned(),
        style: Style::Bars,
        colour: part,
        points: of_scheme
            .iter()
            .zip(1_u8..)
            .map(|(of, mode)| {
                let below: f64 = of.parts.iter().take(part).map(mean).sum();
                let above = below + of.parts.get(part).map_or(0.0, mean);
                Point { x: f64::from(mode), y: above, spread: (below, above) }
            })
            .collect(),
    };
    let panel = Panel {
        title: "Parts of a ping's round trip with CS-2".to_owned(),
        x: "row of the table".to_owned(),
        y: "mean, ms".to_owned(),
        curves: PARTS.iter().enumerate().map(curve).collect(),
        ..Panel::default()
    };
    let caption = "Means of the parts of the round trip of a ping of 32 octets, by how TBFs begin and end: \
                   1 immediate release with access in two phases, 2 immediate, 3 delayed, 4 delayed with extended uplink, 5 the same \
                   and asked each 60 ms. 3 + 1 timeslots, N201-U 500.";
    Figure::new("radio-rtt", caption, vec![panel])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_is_an_ipv4_packet_with_sums() {
        let packet = echo(Ipv4Addr::new(10, 0, 0, 2), HOST, 7, false);
        assert_eq!(packet.len(), 60);
        assert_eq!((checksum(&packet[..20]), checksum(&packet[20..])), ([0, 0], [0, 0]));
        assert_ne!(echo(HOST, HOST, 7, true), echo(HOST, HOST, 7, false));
    }

    #[test]
    fn parts_are_between_the_marks_and_a_tbf_that_is_there_costs_nothing() {
        let at = |ms: u64| Instant(ms * 1_000_000);
        let mut marks = vec![
            (at(10), Mark::Requested(Way::Uplink)),
            (at(30), Mark::Burst),
            (at(90), Mark::Assigned(Way::Uplink)),
            (at(150), Mark::Arrived(Way::Uplink)),
            (at(154), Mark::Requested(Way::Downlink)),
            (at(220), Mark::Assigned(Way::Downlink)),
            (at(300), Mark::Arrived(Way::Downlink)),
        ];
        let ms = |parts: [u64; 6]| parts.map(|part| part / 1_000_000);
        assert_eq!(parts(&marks, at(10), at(300)).map(ms), Some([20, 60, 60, 4, 66, 80]));
        marks.retain(|(_, mark)| !matches!(mark, Mark::Burst | Mark::Assigned(_)));
        assert_eq!(parts(&marks, at(10), at(300)).map(ms), Some([0, 0, 140, 4, 0, 146]));
        marks.pop();
        assert_eq!(parts(&marks, at(10), at(300)), None);
    }
}
