//! One run of `gannet load`: everybody attaches, traffic goes in steps, everybody detaches.

pub mod offered;
mod place;
mod route;
mod sockets;
mod table;

pub use route::device_towards;
pub use table::{in_place, live, summary};

use super::config::Proposal;
use super::plan::{Group as Member, Groups, Ramp, Sizes};
use super::traffic::{
    CellSpec, FlowSpec, Group, GroupResult, Pacing, Samples, Side, Spacing, StepResult, Traffic,
    TrafficConfig,
};
use super::{Load, LoadConfig, LoadError, Order, Outcome, Phase, Progress, Stats, User};
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use gannet_machine::rng::Rng;
use gannet_proto::user_plane::needs_acknowledged_mode;
use gannet_wire::l3::ie::ReliabilityClass;
use offered::{Asked, Counters};
use serde::Serialize;
use std::time::Duration;

/// Which way traffic goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ways {
    /// From the GGSN to the mobiles.
    Downlink,
    /// From the mobiles to the GGSN.
    Uplink,
    /// Both, each at the full rate.
    Both,
}

/// What makes the traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generator {
    /// Frames at the driver where the machine permits that, else sockets.
    Auto,
    /// Frames at the driver.
    Driver,
    /// Sockets.
    Sockets,
}

/// What a run is to do.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Both sides of the SGSN.
    pub config: LoadConfig,
    /// The SGSN's address on Gn.
    pub sgsn_gn: Ipv4Addr,
    /// N-PDUs a second of each user in each direction.
    pub rate_pps: f64,
    /// Their sizes; each user has one of them.
    pub sizes: Sizes,
    /// Which way.
    pub ways: Ways,
    /// How they are spaced.
    pub spacing: Spacing,
    /// When they leave.
    pub pacing: Pacing,
    /// What makes it.
    pub generator: Generator,
    /// Who is what.
    pub groups: Groups,
    /// What misbehaving users send, as a multiple of their rate.
    pub excess: f64,
    /// The steps.
    pub ramp: Ramp,
    /// How long each lasts.
    pub duration: Duration,
    /// Whether everybody detaches at the end.
    pub detach: bool,
    /// How much is read at the driver of what comes ciphered.
    pub samples: Samples,
    /// What the users ask for: class 1 and 2 are acknowledged mode.
    pub reliability: ReliabilityClass,
    /// When so many I frames have come behind the one that asked, an acknowledgement is sent at the driver.
    pub answer_after: u8,
    /// The SGSN's VTY, which names what the SGSN drops; `None` asks nobody.
    pub sgsn_vty: Option<SocketAddr>,
}

impl RunOptions {
    /// What does not fit together, in a sentence.
    ///
    /// # Errors
    /// That sentence.
    pub fn check(&self) -> Result<(), String> {
        self.config.check()?;
        let is_acknowledged = needs_acknowledged_mode(self.reliability);
        Proposal::check(self.config.kd, is_acknowledged, self.answer_after)?;
        if !is_acknowledged {
            return Ok(());
        }
        if self.ways != Ways::Downlink {
            return Err("--direction: in acknowledged mode (--reliability-class 1 and 2) N-PDUs are made for the downlink alone".to_owned());
        }
        if self.config.security.is_some() {
            return Err("--gea: in acknowledged mode (--reliability-class 1 and 2) nothing is ciphered here"
                .to_owned());
        }
        Ok(())
    }
}

/// What has come to pass in the last second of a step.
#[derive(Debug)]
pub struct Second<'a> {
    /// The step, from 0.
    pub step: usize,
    /// Steps in all.
    pub steps: u32,
    /// Its multiple of the users' rate.
    pub factor: f64,
    /// How long it has run.
    pub elapsed: Duration,
    /// How long it will run.
    pub duration: Duration,
    /// How long it is since `before`.
    pub span: Duration,
    /// Of that, how long the generator was away.
    pub away: Duration,
    /// What the rates of all users ask for.
    pub asked: &'a Asked,
    /// Since the step's beginning.
    pub now: &'a [GroupResult],
    /// The same a second ago.
    pub before: &'a [GroupResult],
}

/// Who is told of a run.
pub trait Watcher {
    /// Users attach or detach.
    fn progress(&mut self, what: &str, progress: Progress);
    /// A second of traffic is over.
    fn second(&mut self, second: &Second<'_>);
}

/// What a run has come to.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Users that were asked for.
    pub users: u32,
    /// Users with an active PDP context.
    pub active: u32,
    /// Attaches with activation a second.
    pub activated_per_second: f64,
    /// What made the traffic, in words.
    pub generator: String,
    /// Each step: its multiple of the users' rate, and its result.
    pub steps: Vec<(f64, StepResult)>,
    /// Where a step did not offer what was asked, in a sentence each.
    pub warnings: Vec<String>,
    /// Counters of the control plane.
    pub stats: Stats,
    /// Somebody pressed Ctrl-C.
    pub interrupted: bool,
}

impl Report {
    /// True where every step offered what was asked.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.warnings.is_empty()
    }

    fn add(&mut self, factor: f64, mut result: StepResult, asked: &Asked) {
        self.warnings.extend(asked.enter(factor, &mut result));
        self.steps.push((factor, result));
    }

    /// Everything, as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

/// Runs it in the network namespace of the calling thread.
///
/// # Errors
/// A sentence for the person.
pub fn run(options: &RunOptions, stop: &AtomicBool, watcher: &mut dyn Watcher) -> Result<Report, String> {
    options.check()?;
    place::check(&options.config)?;
    let sentence = |error: LoadError| error.to_string();
    let going = || !stop.load(Relaxed);
    let mut load = Load::connect(options.config.clone(), &going).map_err(sentence)?;
    let users = 0..options.config.users;
    let profile = profile_of(options);
    let order = |load: &mut Load,
                 order,
                 profile: Option<&dyn Fn(u32) -> super::Profile>,
                 what: &str,
                 w: &mut dyn Watcher| {
        load.order(users.clone(), order, profile, &mut |progress| {
            w.progress(what, progress);
            going() || order == Order::Detach
        })
    };
    let mut report = Report {
        users: options.config.users,
        active: 0,
        activated_per_second: 0.0,
        generator: String::new(),
        steps: Vec::new(),
        warnings: Vec::new(),
        stats: Stats::default(),
        interrupted: false,
    };
    match order(&mut load, Order::Activate, Some(&profile), "attach and activate", watcher) {
        Ok(outcome) => report.activated_per_second = Outcome::per_second(&outcome),
        Err(LoadError::Interrupted) => {}
        Err(error) => return Err(sentence(error)),
    }
    report.active = u32::try_from(active(&mut load).count()).unwrap_or(u32::MAX);
    if !stop.load(Relaxed) {
        traffic(options, &mut load, stop, watcher, &mut report)?;
    }
    report.interrupted = stop.load(Relaxed);
    if options.detach {
        order(&mut load, Order::Detach, None, "detach", watcher).map_err(sentence)?;
    }
    report.stats = load.stats();
    Ok(report)
}

fn active(load: &mut Load) -> impl Iterator<Item = User> + use<> {
    load.users().into_iter().filter(|user| user.phase == Phase::Active)
}

/// The size of each user's N-PDUs, drawn with the run's seed.
fn sizes_of(options: &RunOptions) -> Vec<u16> {
    let sizes = &options.sizes.0;
    let weights: u64 = sizes.iter().map(|(_, weight)| u64::from(*weight)).sum();
    let mut rng = Rng::seeded(options.config.seed ^ 0x512e);
    let draw = |_| {
        let mut left = rng.below(weights.max(1));
        let drawn = sizes.iter().find(|(_, weight)| {
            let here = left < u64::from(*weight);
            left = left.saturating_sub(u64::from(*weight));
            here
        });
        drawn.map_or(super::plan::SIZE_MIN, |(size, _)| *size)
    };
    (0..options.config.users).map(draw).collect()
}

/// Each user asks for what it will send within its rate.
fn profile_of(options: &RunOptions) -> impl Fn(u32) -> super::Profile + use<> {
    let (sizes, groups, rate) = (sizes_of(options), options.groups.clone(), options.rate_pps);
    let reliability = options.reliability;
    move |user| {
        let size = sizes.get(user as usize).copied().unwrap_or(super::plan::SIZE_MIN);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "saturates, and is positive"
        )]
        let octets_per_s = (f64::from(size) * rate).ceil() as u32;
        groups.profile(user, octets_per_s).reliability(reliability)
    }
}

fn group_of(member: Member) -> Group {
    match member {
        Member::Good => Group::GOOD,
        Member::Misbehaving => Group::BAD,
        Member::RealTime => Group::REAL_TIME,
        Member::HighPrecedence => Group::HIGH,
    }
}

fn flows_of(options: &RunOptions, users: impl Iterator<Item = User>) -> Vec<(u32, FlowSpec)> {
    let sizes = sizes_of(options);
    let mut flows = Vec::new();
    for user in users {
        let member = options.groups.of(user.index);
        let down = FlowSpec {
            excess: if member == Member::Misbehaving { options.excess } else { 1.0 },
            size: sizes.get(user.index as usize).copied().unwrap_or(super::plan::SIZE_MIN),
            group: group_of(member),
            spacing: options.spacing,
            sapi: super::mobile::SAPI.0,
            nsapi: super::mobile::NSAPI.0,
            cipher: user.cipher,
            each: member == Member::RealTime,
            received: user.received,
            ..FlowSpec::down(user.sgsn_data.0, user.tlli.0, user.cell, user.address, options.rate_pps)
        };
        let up = down.up(user.ggsn.0);
        match options.ways {
            Ways::Downlink => flows.push((user.index, down)),
            Ways::Uplink => flows.push((user.index, up)),
            Ways::Both => flows.extend([(user.index, down), (user.index, up)]),
        }
    }
    flows
}

fn side(local: IpAddr, peer: IpAddr) -> Result<Side, String> {
    let (IpAddr::V4(local), IpAddr::V4(peer)) = (local, peer) else {
        return Err(format!("{local} to {peer}: traffic is made for IPv4 links only"));
    };
    let device = device_towards(peer).map_err(|error| format!("{error} ({})", place::here()))?;
    Ok(Side { device, local, peer, peer_mac: None })
}

/// What generator and sink have to know of an emulator's cells.
#[must_use]
pub fn cells_of(config: &LoadConfig) -> Vec<CellSpec> {
    let cell = |cell| CellSpec {
        bvci: config.bvc_of(cell).1.0,
        port: config.gb_endpoint(config.nse_of(cell)).port(),
        identifier: config.cell_id(cell).to_octets(),
    };
    (0..config.cells).map(cell).collect()
}

/// What generator and sink have to know of an emulator's users, all of them active.
///
/// # Errors
/// Where the SGSN is not on links of ours.
pub fn traffic_config(
    options: &RunOptions,
    users: impl Iterator<Item = User>,
) -> Result<TrafficConfig, String> {
    let config = &options.config;
    let gn = side(config.ggsn_local, IpAddr::V4(options.sgsn_gn))?;
    let gb = side(config.gb_local.ip(), config.sgsn_gb.ip())?;
    let mut traffic = TrafficConfig::new(gn, gb);
    traffic.gb_port = config.gb_local.port();
    traffic.sgsn_gb_port = config.sgsn_gb.port();
    traffic.nses = config.nses;
    traffic.seed = config.seed;
    traffic.pacing = options.pacing;
    traffic.cells = cells_of(config);
    traffic.set_samples(options.samples);
    traffic.answer_after = options.answer_after;
    let mut shortest = u16::MAX;
    let flows = flows_of(options, users.inspect(|user| shortest = shortest.min(user.n201_u)));
    traffic.flows = flows.into_iter().map(|(_, flow)| flow).collect();
    let room = usize::from(shortest).saturating_sub(gannet_wire::sndcp::UNITDATA_FIRST_LEN);
    let is_acknowledged = needs_acknowledged_mode(options.reliability);
    // The I frames' N201-I has room for each.
    traffic.segmented = !is_acknowledged && usize::from(options.sizes.largest()) > room;
    Ok(traffic)
}

fn traffic(
    options: &RunOptions,
    load: &mut Load,
    stop: &AtomicBool,
    watcher: &mut dyn Watcher,
    report: &mut Report,
) -> Result<(), String> {
    let users: Vec<User> = active(load).collect();
    if users.is_empty() {
        return Err("no user has a PDP context: nothing can be sent".to_owned());
    }
    let made = match options.generator {
        Generator::Sockets => Err("as asked".to_owned()),
        Generator::Auto | Generator::Driver => traffic_config(options, users.iter().copied())
            .and_then(|config| Traffic::new(config).map_err(|error| error.to_string())),
    };
    let mut traffic = match made {
        Ok(traffic) => traffic,
        Err(error) if options.generator == Generator::Driver => return Err(error),
        Err(why) => {
            report.generator = format!("sockets, sendmmsg and recvmmsg ({why})");
            let sockets = sockets::Sockets::new(load, flows_of(options, users.into_iter()));
            for step in options.ramp.factors().enumerate().take_while(|_| !stop.load(Relaxed)) {
                let before = Counters::read(load, options.sgsn_vty)?;
                let result = sockets.run(options, load, step, stop, watcher);
                let mut result = result.map_err(|error| error.to_string())?;
                let after = Counters::read(load, options.sgsn_vty)?;
                result.losses = offered::losses(&result, false, &before, &after);
                report.add(step.1, result, sockets.asked());
            }
            load.set_tap(None);
            return Ok(());
        }
    };
    report.generator = if traffic.receives_here() {
        "live XDP frames; this core receives what the SGSN sends".to_owned()
    } else {
        "live XDP frames; the SGSN's core pays for what this side receives".to_owned()
    };
    let asked = Asked::of(traffic.config().flows.iter());
    for step in options.ramp.factors().enumerate().take_while(|_| !stop.load(Relaxed)) {
        let before = Counters::read(load, options.sgsn_vty)?;
        let mut result = step_at_driver(options, (load, &mut traffic), step, &asked, stop, watcher)?;
        let after = Counters::read(load, options.sgsn_vty)?;
        result.losses = offered::losses(&result, true, &before, &after);
        report.add(step.1, result, &asked);
    }
    Ok(())
}

/// One step of the generator at the driver, with the control plane's turns and what the watcher hears each second.
fn step_at_driver(
    options: &RunOptions,
    (load, traffic): (&mut Load, &mut Traffic),
    (step, factor): (usize, f64),
    asked: &Asked,
    stop: &AtomicBool,
    watcher: &mut dyn Watcher,
) -> Result<StepResult, String> {
    traffic.set_factor(factor);
    let mut before = Vec::new();
    let (mut said, mut away_before) = (Duration::ZERO, Duration::ZERO);
    let mut failed = None;
    let result = traffic.run(options.duration, &mut |traffic, elapsed| {
        if let Err(error) = load.poll_once() {
            failed.get_or_insert(error);
        }
        if stop.load(Relaxed) || failed.is_some() {
            traffic.stop();
        }
        if elapsed.saturating_sub(said) >= Duration::from_secs(1) && elapsed <= options.duration {
            let (now, away) = (traffic.so_far(), traffic.paused());
            watcher.second(&Second {
                step,
                steps: options.ramp.steps,
                factor,
                elapsed,
                duration: options.duration,
                span: elapsed.saturating_sub(said),
                away: away.saturating_sub(away_before),
                asked,
                now: &now,
                before: &before,
            });
            (before, said, away_before) = (now, elapsed, away);
        }
    });
    match failed {
        Some(error) => Err(error.to_string()),
        None => result.map_err(|error| error.to_string()),
    }
}
