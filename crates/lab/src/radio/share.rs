//! Experiment `radio-share`: ten mobiles of four classes in one cell that cannot carry what they are sent.
//!
//! Two conversational and two streaming contexts get packets at their guaranteed rate. Three interactive and three background ones
//! have a TCP connection each, which takes whatever it gets. Interactive contexts have precedence class 2, background ones 3. The SGSN
//! schedules by class up to the leak rates that the base station measures, and the PCU gives blocks to TBFs by class and weight. Who
//! has the backlog decides who shares it out: that is the SGSN with short buckets, and the PCU with long ones.

use super::airtime::{Airtime, HEADS, Snapshot, radio};
use super::packet::ipv4;
use super::world::{HOST, Setup, World};
use super::{as_f64, conserved, profile, tcp, verdict};
use crate::measure::stats::Samples;
use crate::report::{Cell, Options, Report, Size, Verdict, at_least, at_most, greatest, least};
use gannet_machine::time::{Duration, Instant};
use gannet_node::bss::radio::Way;
use gannet_node::sgsn::PduLifetimes;
use gannet_wire::l3::ie::{PrecedenceClass, QosProfile, TrafficClass};
use gannet_wire::rlcmac::coding::CodingScheme;
use serde_json::json;
use std::fmt::Write as _;

/// For experiments (RFC 3692).
const PROTOCOL: u8 = 253;
const CODING: CodingScheme = CodingScheme::Cs2;
const WARM_UP: Duration = Duration::from_secs(60);
const COOL_DOWN: Duration = Duration::from_secs(120);
const WINDOW_OCTETS: u32 = 8192;
/// PDU lifetimes of real time, and of what has a guaranteed rate: the defaults. The base station takes both for real time.
const REAL_TIME: Duration = Duration::from_secs(1);
const GUARANTEED: Duration = Duration::from_secs(4);
/// Bucket times, in seconds.
const BUCKETS_S: [u64; 2] = [1, 5];

/// One of four.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Class {
    name: &'static str,
    traffic: TrafficClass,
    /// 0 for none: then it has a TCP connection.
    guaranteed_kbps: u32,
    /// Octets of its packets, where it has no TCP.
    packet_octets: usize,
    precedence: PrecedenceClass,
    mobiles: u32,
}

const CLASSES: [Class; 4] = [
    Class {
        name: "conversational",
        traffic: TrafficClass::CONVERSATIONAL,
        guaranteed_kbps: 4,
        packet_octets: 100,
        precedence: PrecedenceClass::NORMAL,
        mobiles: 2,
    },
    Class {
        name: "streaming",
        traffic: TrafficClass::STREAMING,
        guaranteed_kbps: 6,
        packet_octets: 490,
        precedence: PrecedenceClass::NORMAL,
        mobiles: 2,
    },
    Class {
        name: "interactive",
        traffic: TrafficClass::INTERACTIVE,
        guaranteed_kbps: 0,
        packet_octets: 0,
        precedence: PrecedenceClass::NORMAL,
        mobiles: 3,
    },
    Class {
        name: "background",
        traffic: TrafficClass::BACKGROUND,
        guaranteed_kbps: 0,
        packet_octets: 0,
        precedence: PrecedenceClass::LOW,
        mobiles: 3,
    },
];

impl Class {
    fn profile(&self) -> QosProfile {
        profile(self.traffic, self.guaranteed_kbps, self.precedence)
    }

    /// From one packet to the next.
    fn interval(&self) -> Option<Duration> {
        let bits = as_f64(self.packet_octets as u64 * 8);
        let ns = bits * 1e6 / f64::from(self.guaranteed_kbps);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some seconds")]
        let interval = Duration(ns as u64);
        (self.guaranteed_kbps > 0).then_some(interval)
    }
}

/// The class of each mobile.
fn members() -> Vec<Class> {
    CLASSES.iter().flat_map(|class| (0..class.mobiles).map(|_| *class)).collect()
}

/// A mobile and what it got.
#[derive(Debug)]
struct Member {
    class: Class,
    next: Option<Instant>,
    sent: u64,
    octets: u64,
    /// In milliseconds.
    delays: Samples,
}

const fn span(size: Size) -> Duration {
    Duration::from_secs(match size {
        Size::Quick => 60,
        Size::Normal => 600,
        Size::Full => 3600,
    })
}

struct Share {
    world: World,
    members: Vec<Member>,
    window: core::ops::Range<Instant>,
}

impl Share {
    fn new(options: &Options, bucket_s: u64) -> Result<Self, String> {
        let classes = members();
        let mobiles = u32::try_from(classes.len()).unwrap_or(u32::MAX);
        let mut radio = radio(CODING, 3, 1).ok_or("no multislot class has 3 + 1 timeslots")?;
        radio.network.pdchs = super::airtime::last_slots(4);
        let qos = classes.iter().map(Class::profile).collect();
        let one = Setup::one_cell(radio, mobiles, 500, options.seed);
        let lifetimes =
            PduLifetimes { real_time: Some(REAL_TIME), guaranteed: Some(GUARANTEED), ..one.lifetimes };
        let bucket_time = Duration::from_secs(bucket_s);
        let world = World::new(&Setup { lifetimes, qos, bucket_time, ..one })?;
        let begin = world.gprs.now + WARM_UP;
        let member = |class: Class| Member {
            class,
            next: class.interval().map(|interval| world.gprs.now + interval),
            sent: 0,
            octets: 0,
            delays: Samples::NONE,
        };
        let members = classes.into_iter().map(member).collect();
        Ok(Self { world, members, window: begin..begin + span(options.size) })
    }

    /// Sends until the end of the window.
    fn run(&mut self) -> Airtime {
        for (mobile, member) in (0..).zip(&self.members) {
            if member.next.is_none() {
                self.world.connect(mobile, Way::Downlink, &tcp(WINDOW_OCTETS));
            }
        }
        self.until(self.window.start);
        let mobiles = u32::try_from(self.members.len()).unwrap_or(u32::MAX);
        let before = Snapshot::of(&self.world, mobiles);
        let came_before = self.came();
        self.until(self.window.end);
        let after = Snapshot::of(&self.world, mobiles);
        let came = self.came();
        let tcp = self.members.iter_mut().filter(|member| member.class.guaranteed_kbps == 0);
        for (member, (before, after)) in tcp.zip(came_before.iter().zip(&came)) {
            member.octets = after - before;
        }
        Airtime::between(&before, &after, Way::Downlink, CODING, 4)
    }

    fn came(&self) -> Vec<u64> {
        self.world.connections.iter().map(super::world::Connection::came).collect()
    }

    fn until(&mut self, end: Instant) {
        loop {
            let next = self.members.iter().filter_map(|member| member.next).min();
            let Some(next) = next.filter(|next| *next < end) else { break };
            self.world.run_until(next);
            self.take();
            self.send();
        }
        self.world.run_until(end);
        self.take();
    }

    fn send(&mut self) {
        let now = self.world.gprs.now;
        for (mobile, member) in (0..).zip(&mut self.members) {
            let Some(interval) = member.class.interval() else { continue };
            if member.next.is_none_or(|next| next > now) {
                continue;
            }
            member.next = Some(now + interval);
            let Some(address) = self.world.address(mobile) else { continue };
            let mut payload = now.0.to_be_bytes().to_vec();
            payload.resize(member.class.packet_octets - 20, 0);
            member.sent += u64::from(self.window.contains(&now));
            self.world.host_sends(&ipv4(HOST, address, PROTOCOL, &payload));
        }
    }

    fn take(&mut self) {
        while let Some((at, mobile, octets)) = self.world.others.pop_front() {
            let member = mobile.and_then(|mobile| self.members.get_mut(mobile as usize));
            let sent = octets.get(20..).and_then(|octets| octets.first_chunk());
            let sent = sent.map(|octets| Instant(u64::from_be_bytes(*octets)));
            let (Some(member), Some(sent)) = (member, sent) else { continue };
            if self.window.contains(&at) {
                member.octets += octets.len() as u64;
            }
            if self.window.contains(&sent) {
                member.delays.push(as_f64(at.since(sent).0) / 1e6);
            }
        }
    }
}

/// Rates of a class in kbit/s.
fn rates(members: &[Member], class: &Class, span_s: f64) -> Vec<f64> {
    let of = members.iter().filter(|member| member.class == *class);
    of.map(|member| as_f64(member.octets) * 8.0 / span_s / 1000.0).collect()
}

/// What was measured with one bucket time.
#[derive(Debug)]
struct Measured {
    bucket_s: u64,
    members: Vec<Member>,
    airtime: Airtime,
    faults: Vec<String>,
}

fn measure(options: &Options, bucket_s: u64) -> Result<Measured, String> {
    let mut share = Share::new(options, bucket_s)?;
    let airtime = share.run();
    // What was sent last may still come.
    share.world.run_until(share.world.gprs.now + COOL_DOWN);
    share.take();
    let faults = share.world.close(COOL_DOWN);
    Ok(Measured { bucket_s, members: share.members, airtime, faults })
}

/// Runs the experiment.
///
/// # Errors
/// Where the world cannot be set up.
pub fn run(options: &Options) -> Result<Report, String> {
    let all = BUCKETS_S.map(|bucket_s| measure(options, bucket_s));
    let all = all.into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut report = Report::simulated("radio-share", options);
    report.parameter(
        "cell",
        format!("4 PDCHs, {CODING}, TBFs of 3 + 1 timeslots; R measured; weights by precedence 4, 2 and 1"),
    );
    report.parameter("TCP", format!("linux-2.4.2 with a window of {WINDOW_OCTETS} octets, downlink"));
    let span = span(options.size).as_secs_f64();
    report.parameter("measured", format!("{span:.0} s after {:.0} s", WARM_UP.as_secs_f64()));
    for of in &all {
        let bucket = ("bucket_s", json!(of.bucket_s));
        for (mobile, member) in (0_u32..).zip(&of.members) {
            let rate = as_f64(member.octets) * 8.0 / of.airtime.span_s;
            report.cells.push(Cell::new(
                [bucket.clone(), ("mobile", json!(mobile)), ("class", json!(member.class.name))],
                [
                    ("rate_bit_per_s".to_owned(), json!(rate)),
                    ("guaranteed_kbps".to_owned(), json!(member.class.guaranteed_kbps)),
                    ("sent".to_owned(), json!(member.sent)),
                    ("came".to_owned(), json!(member.delays.len())),
                    ("delay_median_ms".to_owned(), json!(member.delays.median())),
                    ("delay_max_ms".to_owned(), json!(member.delays.max())),
                ],
            ));
        }
        report.cells.push(Cell::new([bucket, ("mobile", json!("cell"))], of.airtime.metrics()));
    }
    report.verdicts = verdicts(&all);
    report.remarks = vec![table(&all)];
    Ok(report)
}

fn table(all: &[Measured]) -> String {
    let mut text = "| bucket, s | class | mobiles | kbit/s each, least..most | guaranteed | packets lost | delay median, ms | longest, ms |\n|---|---|---|---|---|---|---|---|\n".to_owned();
    for (Measured { bucket_s, members, airtime, .. }, class) in
        all.iter().flat_map(|of| CLASSES.iter().map(move |class| (of, class)))
    {
        let rates = rates(members, class, airtime.span_s);
        let of: Vec<_> = members.iter().filter(|member| member.class == *class).collect();
        let lost: u64 = of.iter().map(|member| member.sent - member.delays.len() as u64).sum();
        let median = greatest(of.iter().map(|member| member.delays.median()));
        let most = greatest(of.iter().map(|member| member.delays.max()));
        let delay = |ms: f64| if ms.is_finite() { format!("{ms:.0}") } else { "–".to_owned() };
        let _ = writeln!(
            text,
            "| {bucket_s} | {} | {} | {:.2}..{:.2} | {} | {lost} | {} | {} |",
            class.name,
            class.mobiles,
            least(rates.iter().copied()),
            greatest(rates.iter().copied()),
            class.guaranteed_kbps,
            delay(median),
            delay(most),
        );
    }
    let _ = write!(text, "\n| bucket, s | {HEADS} |\n|{}\n", "---|".repeat(9));
    for of in all {
        let _ = writeln!(text, "| {} | {} |", of.bucket_s, of.airtime.row());
    }
    text
}

fn verdicts(all: &[Measured]) -> Vec<Verdict> {
    let mut rows = Vec::new();
    for of in all {
        verdicts_of(of, &mut rows);
    }
    if let Some(long) = all.last() {
        let lowest = |name: &str| {
            let class = CLASSES.iter().find(|class| class.name == name);
            class.map_or(f64::NAN, |class| least(rates(&long.members, class, long.airtime.span_s)))
        };
        let ratio = lowest("interactive") / lowest("background");
        rows.push(verdict(
            &format!("interactive by background, buckets of {} s", long.bucket_s),
            "Rates of TCP of the mobile that gets least of each class. Their weights in the PCU are 2 and 1.",
            format!("{ratio:.2}"),
            ">= 1.1".to_owned(),
            at_least(ratio, 1.1),
        ));
    }
    let faults: Vec<String> = all.iter().flat_map(|of| of.faults.clone()).collect();
    rows.push(conserved(&faults));
    rows
}

fn verdicts_of(of: &Measured, rows: &mut Vec<Verdict>) {
    let (members, span_s) = (&of.members, of.airtime.span_s);
    let about = |class: &Class| format!("{}, buckets of {} s", class.name, of.bucket_s);
    for class in CLASSES.iter().filter(|class| class.guaranteed_kbps > 0) {
        let least = least(rates(members, class, span_s)) / f64::from(class.guaranteed_kbps);
        rows.push(verdict(
            &format!("{}: rate by what is guaranteed", about(class)),
            "Of the mobile of the class that gets least.",
            format!("{least:.3}"),
            ">= 0.97".to_owned(),
            at_least(least, 0.97),
        ));
    }
    for class in CLASSES.iter().filter(|class| class.guaranteed_kbps == 0) {
        let rates = rates(members, class, span_s);
        let ratio = greatest(rates.iter().copied()) / least(rates.iter().copied());
        rows.push(verdict(
            &format!("{}: the most by the least", about(class)),
            "Rates of TCP of the mobiles of one class, which ask for the same.",
            format!("{ratio:.2}"),
            "<= 1.25".to_owned(),
            at_most(ratio, 1.25),
        ));
    }
}
