//! What is no download: short requests, a meter, and an interactive flow beside the download in a context of its own.

use super::measured::round;
use super::place::{Buffer, Policy, Sender, script, setup};
use super::run::{COOL_DOWN, PROTOCOL, drops, hold_channels};
use super::trace::longest_gap;
use crate::measure::stats::Samples;
use crate::radio::packet::ipv4;
use crate::radio::world::{HOST, World};
use crate::radio::{as_f64, profile};
use crate::report::{Cell, Verdict, at_most, greatest};
use core::net::Ipv4Addr;
use gannet_machine::time::{Duration, Instant};
use gannet_node::bss::radio::Way;
use gannet_wire::l3::ie::{PrecedenceClass, TrafficClass};
use serde_json::json;
use std::collections::BTreeMap;

/// How often the host looks whether something is to be answered.
const LOOK: Duration = Duration::from_millis(20);
/// What the interactive flow's silence may be beyond the period.
const BEYOND_S: f64 = 1.0;
/// Octets of an IPv4 header.
const IP_HEADER: usize = 20;

/// What is carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// Ten a minute: 100 octets up, 1400 octets down. Nothing is sent again.
    Requests,
    /// A report of 200 octets each 20 s, up.
    Meter,
    /// 100 octets down each 250 ms in a context of its own, beside a download.
    Interactive,
}

impl Workload {
    /// All.
    pub const ALL: [Self; 3] = [Self::Requests, Self::Meter, Self::Interactive];

    /// For the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requests => "short requests",
            Self::Meter => "meter",
            Self::Interactive => "interactive beside a download",
        }
    }

    /// From one packet to the next. Neither a period nor the minute between is a multiple of it, so that all phases occur.
    const fn interval(self) -> Duration {
        Duration::from_millis(match self {
            Self::Requests => 6_037,
            Self::Meter => 20_011,
            Self::Interactive => 250,
        })
    }

    /// Octets of its packets, and of their answers.
    const fn octets(self) -> (usize, Option<usize>) {
        match self {
            Self::Requests => (100, Some(1400)),
            Self::Meter => (200, None),
            Self::Interactive => (100, None),
        }
    }
}

/// A run of it.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// What is carried.
    pub workload: Workload,
    /// What becomes of the queue.
    pub policy: Policy,
    /// Of the preemption, in seconds.
    pub period_s: u64,
}

impl Case {
    /// All runs.
    #[must_use]
    pub fn all(periods: &[u64]) -> Vec<Self> {
        let mut all = Vec::new();
        for workload in Workload::ALL {
            for policy in [Policy::Flush, Policy::Forward] {
                all.extend(periods.iter().map(|period_s| Self { workload, policy, period_s: *period_s }));
            }
        }
        all
    }
}

/// What was measured.
#[derive(Debug, Clone)]
pub struct Got {
    /// Where.
    pub case: Case,
    /// Sent.
    pub sent: u64,
    /// Sent, and come (or answered).
    pub came: u64,
    /// From the sending to the arrival (or to the answer's), in seconds.
    pub delays_s: Samples,
    /// The longest time in which nothing came, in seconds.
    pub silence_s: f64,
    /// Bits a second of the download beside it.
    pub bulk_bit_per_s: f64,
    /// Of all nodes, drops by name.
    pub drops: BTreeMap<&'static str, u64>,
    /// What does not add up.
    pub faults: Vec<String>,
}

/// Packets that are on their way, and what has come of them.
struct Flow {
    case: Case,
    address: Ipv4Addr,
    next: Instant,
    number: u64,
    on_way: BTreeMap<u64, Instant>,
    delays_s: Samples,
    arrivals: Vec<Instant>,
}

impl Flow {
    /// Its packets come and are answered; a new one leaves where it is time.
    fn turn(&mut self, world: &mut World, until: Instant) {
        let (octets, answer) = self.case.workload.octets();
        let packet = |from: Ipv4Addr, to: Ipv4Addr, number: u64, octets: usize| {
            let mut payload = number.to_be_bytes().to_vec();
            payload.resize(octets - IP_HEADER, 0);
            ipv4(from, to, PROTOCOL, &payload)
        };
        while let Some((at, mobile, packet_octets)) = world.others.pop_front() {
            let number = packet_octets.get(IP_HEADER..).and_then(|octets| octets.first_chunk());
            let Some(number) = number.map(|octets| u64::from_be_bytes(*octets)) else { continue };
            match answer.filter(|_| mobile.is_none()) {
                Some(octets) => world.host_sends(&packet(HOST, self.address, number, octets)),
                None => {
                    if let Some(sent) = self.on_way.remove(&number) {
                        self.delays_s.push(at.since(sent).as_secs_f64());
                        self.arrivals.push(at);
                    }
                }
            }
        }
        let now = world.gprs.now;
        if self.next <= now && now < until {
            self.next += self.case.workload.interval();
            self.on_way.insert(self.number, now);
            match self.case.workload {
                Workload::Interactive => world.host_sends(&packet(HOST, self.address, self.number, octets)),
                Workload::Requests | Workload::Meter => {
                    world.mobile_sends(0, &packet(self.address, HOST, self.number, octets));
                }
            }
            self.number += 1;
        }
    }
}

/// Runs it.
///
/// # Errors
/// Where the world cannot be set up.
pub fn run(case: Case, span: Duration, seed: u64) -> Result<Got, String> {
    let mut world = World::new(&setup(Some(case.policy), Buffer::Window, 1, seed)?)?;
    let address = match case.workload {
        Workload::Interactive => {
            // The base station knows of a context its precedence, and no traffic class.
            world.activate_second(0, profile(TrafficClass::INTERACTIVE, 0, PrecedenceClass::HIGH))
        }
        Workload::Requests | Workload::Meter => world.address(0),
    };
    let address = address.ok_or("a context did not become active")?;
    let (begin, end) = (world.gprs.now, world.gprs.now + span);
    if case.workload == Workload::Interactive {
        world.connect(0, Way::Downlink, &Sender::Linux242.config());
    }
    let mut periods = script(begin, span, case.period_s).into_iter();
    let mut period = periods.next();
    let mut holds = false;
    let mut flow = Flow {
        case,
        address,
        next: begin,
        number: 0,
        on_way: BTreeMap::new(),
        delays_s: Samples::NONE,
        arrivals: vec![begin],
    };
    while world.gprs.now < end {
        let now = world.gprs.now;
        let change = period.as_ref().map_or(end, |period| if holds { period.end } else { period.start });
        if change <= now && period.is_some() {
            holds = !holds;
            hold_channels(&mut world, if holds { u8::MAX } else { 0 });
            if !holds {
                period = periods.next();
            }
            continue;
        }
        flow.turn(&mut world, end);
        world.run_until((now + LOOK).min(change).min(end));
    }
    let bulk: u64 = world.connections.iter().map(crate::radio::world::Connection::came).sum();
    // What is on its way may still come.
    for _ in 0..(120 * 50) {
        world.run_until(world.gprs.now + LOOK);
        flow.turn(&mut world, end);
    }
    let drops = drops(&world);
    let name = format!("{}, {}, {} s", case.workload.name(), case.policy.name(), case.period_s);
    let faults = world.close(COOL_DOWN).into_iter().map(|fault| format!("{name}: {fault}")).collect();
    let in_run = flow.arrivals.iter().copied().filter(|at| *at <= end);
    Ok(Got {
        case,
        sent: flow.number,
        came: flow.delays_s.len() as u64,
        silence_s: longest_gap(in_run.chain([end])),
        delays_s: flow.delays_s,
        bulk_bit_per_s: as_f64(bulk * 8) / span.as_secs_f64(),
        drops,
        faults,
    })
}

impl Got {
    /// For the JSON.
    #[must_use]
    pub fn cell(&self) -> Cell {
        let Case { workload, policy, period_s } = self.case;
        let axes = [
            ("workload", json!(workload.name())),
            ("policy", json!(policy.name())),
            ("period_s", json!(period_s)),
        ];
        let metrics = [
            ("sent", json!(self.sent)),
            ("came", json!(self.came)),
            ("delay_median_s", json!(round(self.delays_s.median()))),
            ("delay_max_s", json!(round(self.delays_s.max()))),
            ("silence_max_s", json!(round(self.silence_s))),
            ("bulk_bit_per_s", json!(round(self.bulk_bit_per_s))),
            ("drops", json!(self.drops)),
        ];
        Cell::new(axes, metrics.map(|(name, value)| (name.to_owned(), value)))
    }
}

/// What must hold of the interactive flow.
#[must_use]
pub fn verdicts(all: &[Got]) -> Vec<Verdict> {
    let of = all
        .iter()
        .filter(|got| (got.case.workload, got.case.policy) == (Workload::Interactive, Policy::Forward));
    let beyond = |got: &Got| got.silence_s - as_f64(got.case.period_s);
    let worst = greatest(of.map(beyond));
    vec![Verdict {
        name: "forward: interactive flow beside a download, longest silence beyond the period, s".to_owned(),
        means: "In a context of its own, at the period where it is longest. A packet of 100 octets is sent each 250 ms.".to_owned(),
        paper: None,
        ours: format!("{worst:.2}"),
        goal: format!("<= {BEYOND_S}"),
        holds: at_most(worst, BEYOND_S),
    }]
}
