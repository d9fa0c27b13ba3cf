//! One TCP connection from the network to the mobile, over SNDCP and LLC in acknowledged mode or over the bearer alone, in virtual
//! time: cubic of [`crate::tcp`], which has no HyStart.

use super::super::line::{Conditions, Kind};
use super::line::Line;
use super::path::{MOBILE, NETWORK, Settings};
use super::{FITTING, cell, ideal_mbps, rounded};
use crate::report::Cell;
use crate::tcp::Endpoint;
use crate::tcp::config::Config;
use core::net::{Ipv4Addr, SocketAddrV4};
use gannet_machine::Surroundings;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::timers::TimerKey;
use gannet_machine::trace::Quiet;
use gannet_proto::llc::abm::Shared;
use gannet_proto::llc::{Ciphering, LlcContext, LlcOutput, LlcRole};
use gannet_proto::sndcp::Sndcp;
use gannet_proto::user_plane::{Output, Outputs, UserPlane, UserPlaneConfig};
use gannet_wire::id::{Nsapi, Sapi, Tlli};
use serde_json::json;
use std::collections::VecDeque;

const SAPI: Sapi = Sapi::DATA3;
const NSAPI: Nsapi = Nsapi(5);
const LLC: TimerKey = TimerKey { owner: 0, slot: 1, generation: 0 };
/// More than both windows and what waits for them need.
const FRAMES: usize = 2048;
/// Octets of TCP and its options in a packet of 1482 octets, and of 1500 where nothing is around it.
const MSS: u16 = 1482 - 40;
const MSS_PLAIN: u16 = 1500 - 40;
/// Octets that wait before SNDCP: what the SGSN has for a context of the highest peak throughput class in a second (24.008 clause
/// 10.5.6.5).
const QUEUE_OCTETS: usize = 256_000;
/// Octets for which receiver and sender have room, as Linux has at most by itself.
const BUFFER: u32 = 6 << 20;
/// A link or connection that is not there after this has failed.
const BEGINS_WITHIN: Duration = Duration::from_secs(60);
const DAMAGED: &str = "what arrives is no segment of TCP";
static WRITTEN_AT_ONCE: [u8; 65_536] = [0x5a; 65_536];

/// What carried the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Through {
    /// Packets in frames of the bearer.
    Plain,
    /// I frames.
    Acknowledged,
}

impl Through {
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Acknowledged => "acknowledged",
        }
    }
}

/// What a connection came to while it was looked at.
#[derive(Debug, Clone, Copy, Default)]
pub struct Came {
    /// Octets of the stream.
    pub octets: u64,
    /// Segments that TCP sent, and of these those that it sent again.
    pub segments: u64,
    /// The same.
    pub again: u64,
    /// Packets for which the queue before SNDCP had no room.
    pub refused: u64,
    /// The mean of what waited in that, in packets, as each packet saw it.
    pub waiting: f64,
    /// I frames that were sent again.
    pub repeated: u32,
}

/// What is run.
#[derive(Debug)]
pub struct Plan {
    /// Of the line.
    pub round_trips: Vec<Duration>,
    /// Each way.
    pub losses: Vec<f64>,
    /// Connections of each.
    pub seeds: u64,
    /// How long a connection lasts before it is looked at, and then.
    pub settles: Duration,
    /// The same.
    pub counts: Duration,
}

/// Connections through one way: means of all seeds.
#[derive(Debug)]
pub struct Download {
    /// The way.
    pub through: Through,
    /// Of the line.
    pub round_trip: Duration,
    /// Each way.
    pub loss: f64,
    /// Goodput.
    pub mbps: f64,
    /// Segments that TCP sent again, as a part of all.
    pub again: f64,
    /// Packets for which the queue before SNDCP had no room, as a part of all.
    pub refused: f64,
    /// Packets that waited there, as the mean of what each saw.
    pub waiting: f64,
    /// What an ideal selective repeat would carry.
    pub ideal_mbps: f64,
}

impl Download {
    /// The point.
    pub fn cell(&self) -> Cell {
        let ms = self.round_trip.as_secs_f64() * 1e3;
        let axis = [
            ("through", json!(self.through.name())),
            ("round_trip_ms", json!(ms)),
            ("loss", json!(self.loss)),
        ];
        let metrics = vec![
            ("goodput_mbps", json!(rounded(self.mbps))),
            ("ideal_mbps", json!(rounded(self.ideal_mbps))),
            ("tcp_sent_again", json!((self.again * 1e5).round() / 1e5)),
            ("queue_refused", json!((self.refused * 1e5).round() / 1e5)),
            ("queue_packets", json!(self.waiting.round())),
        ];
        cell("TCP", axis, metrics)
    }
}

/// Runs it.
///
/// # Errors
/// What must not happen.
pub fn downloads(plan: &Plan, seed: u64) -> Result<Vec<Download>, String> {
    let mut all = Vec::new();
    for round_trip in &plan.round_trips {
        for loss in &plan.losses {
            for through in [Through::Plain, Through::Acknowledged] {
                all.push(download(plan, through, Conditions { round_trip: *round_trip, loss: *loss, seed })?);
            }
        }
    }
    Ok(all)
}

#[expect(clippy::cast_precision_loss, reason = "octets and segments of some seconds")]
fn download(plan: &Plan, through: Through, conditions: Conditions) -> Result<Download, String> {
    let Conditions { round_trip, loss, seed } = conditions;
    let ideal_mbps = ideal_mbps(round_trip, loss, seed);
    let (mut sum, mut waiting) = (Came::default(), 0.0);
    for number in 0..plan.seeds {
        let seed = seed.wrapping_mul(1_000_003).wrapping_add(number);
        let conditions = Conditions { seed, ..conditions };
        let came = Connection::new(through, conditions, FITTING.settings).and_then(|mut connection| {
            connection.run(plan.settles)?;
            connection.run(plan.counts)
        });
        let came =
            came.map_err(|why| format!("TCP, {}, {round_trip}, loss {loss}: {why}", through.name()))?;
        sum.octets += came.octets;
        sum.segments += came.segments;
        sum.again += came.again;
        sum.refused += came.refused;
        waiting += came.waiting / plan.seeds as f64;
    }
    let segments = sum.segments.max(1) as f64;
    Ok(Download {
        through,
        round_trip,
        loss,
        mbps: sum.octets as f64 * 8.0 / 1e6 / plan.counts.as_secs_f64() / plan.seeds as f64,
        again: sum.again as f64 / segments,
        refused: sum.refused as f64 / segments,
        waiting,
        ideal_mbps,
    })
}

/// An end: TCP, a queue, SNDCP and LLC.
struct Host {
    tcp: Endpoint,
    queue: VecDeque<Vec<u8>>,
    queued: usize,
    around: Surroundings<Quiet>,
    llc: LlcContext,
    sndcp: Sndcp,
    config: UserPlaneConfig,
    out: Outputs,
    came: Came,
}

impl Host {
    fn new(role: LlcRole, settings: Settings, tcp: Endpoint, seed: u64) -> Self {
        let mut llc = LlcContext::new(role);
        llc.assign(Some(Tlli(0xc000_0001)), None, Ciphering::NONE);
        let mut config = UserPlaneConfig { options: settings.options, ..UserPlaneConfig::default() };
        if let Some(link) = config.links.of_mut(SAPI) {
            link.k = Some((settings.k, settings.k));
            link.shared = Shared {
                n201_i: Some(settings.n201_i),
                t200_tenths: Some(settings.t200_tenths),
                ..Shared::default()
            };
        }
        Self {
            tcp,
            queue: VecDeque::new(),
            queued: 0,
            around: Surroundings::new(seed, FRAMES, Quiet::default()),
            llc,
            sndcp: Sndcp::new(role),
            config,
            out: Outputs::default(),
            came: Came::default(),
        }
    }

    fn with<T>(&mut self, act: impl FnOnce(&mut UserPlane<'_>, &mut gannet_machine::Context<'_>) -> T) -> T {
        let Self { llc, sndcp, config, out, around, .. } = self;
        let mut plane = UserPlane { llc, sndcp, config, n201_i_max: None, whose: None, out };
        act(&mut plane, &mut around.context())
    }

    /// A packet of TCP waits for the bearer, or is refused.
    fn enqueue(&mut self, packet: Vec<u8>) {
        if self.queued + packet.len() > QUEUE_OCTETS {
            self.came.refused += 1;
            return;
        }
        #[expect(clippy::cast_precision_loss, reason = "some hundred packets")]
        let waiting = self.queue.len() as f64;
        self.came.waiting += waiting;
        self.queued += packet.len();
        self.queue.push_back(packet);
    }

    /// Gives SNDCP what it has room for.
    fn hand_on(&mut self) -> Result<(), String> {
        while !self.queue.is_empty()
            && self.sndcp.has_room(&self.config.sndcp.limits, &self.llc, NSAPI)
            && let Some(packet) = self.queue.pop_front()
        {
            self.queued -= packet.len();
            let frame = self.around.frames.copy_of(&packet).ok_or("no frame is free")?;
            self.with(|plane, cx| plane.data_request(cx, NSAPI, frame))
                .map_err(|drop| format!("SNDCP has room and drops: {}", drop.sentence()))?;
        }
        Ok(())
    }
}

/// Both ends and what is between them.
pub struct Connection {
    through: Through,
    line: Line,
    hosts: [Host; 2],
    now: Instant,
}

impl Connection {
    /// A connection that is open.
    ///
    /// # Errors
    /// A sentence: link or connection were not established.
    pub fn new(through: Through, conditions: Conditions, settings: Settings) -> Result<Self, String> {
        let mss = if through == Through::Plain { MSS_PLAIN } else { MSS };
        let tcp = Config { mss, receive_buffer: BUFFER, send_buffer: BUFFER, ..Config::linux_6_cubic() };
        let near = SocketAddrV4::new(Ipv4Addr::new(198, 18, 1, 1), 40_000);
        let far = SocketAddrV4::new(Ipv4Addr::new(198, 18, 1, 2), 5201);
        let seed = conditions.seed;
        let mut of = Self {
            through,
            line: Line::new(Kind::Ethernet, conditions),
            hosts: [
                Host::new(LlcRole::Ms, settings, Endpoint::listen(&tcp, near, far, 7), seed),
                Host::new(LlcRole::Sgsn, settings, Endpoint::connect(&tcp, far, near, 9), seed ^ 1),
            ],
            now: Instant::ZERO,
        };
        if through == Through::Acknowledged {
            let [mobile, network] = &mut of.hosts;
            network.with(|plane, cx| plane.activate(cx, (NSAPI, SAPI), true));
            mobile.with(|plane, cx| plane.activate(cx, (NSAPI, SAPI), true));
        }
        of.settle()?;
        let until = Instant::ZERO + BEGINS_WITHIN;
        while of.hosts.iter().any(|host| host.tcp.state() != crate::tcp::State::Established) {
            of.step()?;
            if of.now > until {
                return Err("no connection came about".to_owned());
            }
        }
        Ok(of)
    }

    /// Goes on for so long. What came of it.
    ///
    /// # Errors
    /// What must not happen.
    pub fn run(&mut self, time: Duration) -> Result<Came, String> {
        let (until, before) = (self.now + time, self.so_far());
        while self.next().is_some_and(|next| next <= until) {
            self.step()?;
        }
        self.now = until;
        let now = self.so_far();
        #[expect(clippy::cast_precision_loss, reason = "segments of some seconds")]
        let packets = (now.segments - before.segments).max(1) as f64;
        Ok(Came {
            octets: now.octets - before.octets,
            segments: now.segments - before.segments,
            again: now.again - before.again,
            refused: now.refused - before.refused,
            waiting: (now.waiting - before.waiting) / packets,
            repeated: now.repeated.wrapping_sub(before.repeated),
        })
    }

    fn so_far(&self) -> Came {
        let [mobile, network] = &self.hosts;
        let record = network.tcp.record();
        Came {
            octets: mobile.tcp.arrived(),
            segments: record.segments,
            again: record.retransmitted(),
            repeated: network.llc.abm(SAPI).map_or(0, |abm| abm.retransmissions()),
            ..network.came
        }
    }

    fn next(&self) -> Option<Instant> {
        let of_host = |host: &Host| [host.tcp.next_wake(), host.around.timers.next()];
        self.hosts.iter().flat_map(of_host).flatten().chain(self.line.next()).min()
    }

    fn step(&mut self) -> Result<(), String> {
        self.now = self.next().ok_or("nothing happens any more")?.max(self.now);
        for host in &mut self.hosts {
            host.around.now = self.now;
            host.tcp.wake(self.now);
            while host.around.timers.pop_due(self.now).is_some() {
                host.llc.wake(&mut host.around.context(), None, &mut host.out.llc);
                host.llc.arm(LLC, &mut host.around.timers);
            }
        }
        while let Some((end, octets)) = self.line.deliver(self.now) {
            let Some(host) = self.hosts.get_mut(end) else { continue };
            match self.through {
                Through::Plain => host.tcp.receive(&octets, self.now).map_err(|_| DAMAGED.to_owned())?,
                Through::Acknowledged => {
                    let frame = host.around.frames.copy_of(&octets).ok_or("no frame is free")?;
                    host.llc.receive(&mut host.around.context(), None, frame, &mut host.out.llc);
                }
            }
            self.settle()?;
        }
        self.settle()
    }

    /// Carries out what both ends want, until they want no more.
    fn settle(&mut self) -> Result<(), String> {
        let mut went = true;
        while went {
            went = false;
            for end in [MOBILE, NETWORK] {
                went |= self.settle_end(end)?;
            }
        }
        Ok(())
    }

    fn settle_end(&mut self, end: usize) -> Result<bool, String> {
        let Self { through, line, hosts, now } = self;
        let Some(host) = hosts.get_mut(end) else { return Ok(false) };
        let mut went = false;
        if end == NETWORK {
            while host.tcp.write(&WRITTEN_AT_ONCE) == WRITTEN_AT_ONCE.len() {}
        }
        host.tcp.read();
        while let Some(packet) = host.tcp.poll_transmit(*now) {
            went = true;
            match through {
                Through::Plain => line.carry_packet(end, *now, packet),
                Through::Acknowledged => host.enqueue(packet),
            }
        }
        host.hand_on()?;
        while let Some(output) = host.with(|plane, cx| plane.poll(cx)) {
            went = true;
            match output {
                Output::Llc(LlcOutput::Transmit { frame, .. }) => line.send(end, *now, frame.to_vec()),
                Output::NPdu(n_pdu) => {
                    host.tcp.receive(&n_pdu.frame, *now).map_err(|_| DAMAGED.to_owned())?;
                }
                Output::Llc(LlcOutput::Reset) | Output::Confirmed { .. } | Output::Room => {}
                other @ (Output::Llc(_) | Output::Status { .. }) => {
                    return Err(format!("a link says {other:?}"));
                }
            }
        }
        host.llc.arm(LLC, &mut host.around.timers);
        Ok(went)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever is lost, what the mobile has read is a stream without gaps, and acknowledged mode carries more of it.
    #[test]
    fn a_connection_goes_on_where_frames_are_lost() {
        let conditions = Conditions { round_trip: Duration::from_millis(10), loss: 0.05, seed: 1 };
        let came = [Through::Plain, Through::Acknowledged].map(|through| {
            let mut connection = Connection::new(through, conditions, FITTING.settings).unwrap();
            connection.run(Duration::from_millis(300)).unwrap()
        });
        let [plain, acknowledged] = came;
        assert!(plain.octets > 0 && acknowledged.octets > plain.octets, "{came:?}");
        assert!(plain.again > 0 && acknowledged.repeated > 0, "{came:?}");
    }
}
