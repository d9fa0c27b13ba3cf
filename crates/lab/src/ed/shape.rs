//! What the load of a chain is to be: its cells and mobiles, the profile of each, leak rates, and a flow for each context.

use super::bed::{Bed, GB_LOAD, GB_PORT, GB_SGSN, GN_LOAD, GN_SGSN};
use crate::load::run::cells_of;
use crate::load::traffic::{FlowSpec, Group, Samples, Side, Traffic, TrafficConfig};
use crate::load::{Load, LoadConfig, Order, Outcome, Profile, Security, imsi};
use crate::measure::Setup;
use core::net::{Ipv4Addr, SocketAddr};
use gannet_proto::bssgp::flow_control::{Bucket, BvcParameters};
use gannet_wire::id::Tlli;
use gannet_wire::l3::ie::{PrecedenceClass, ReliabilityClass};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// How often a mobile is told to attach, in all.
const ROUNDS: u8 = 3;
/// Flows whose TEIDs no context has.
pub(super) const STRANGERS: u32 = 1000;
/// Their group.
pub(super) const STRANGE: Group = Group(7);
/// UDP port of the first NSE.
pub(super) const GB_LOAD_PORT: u16 = 22_000;
/// TCP port of the load's HLR.
pub const HLR_PORT: u16 = gannet_wire::gsup::PORT;
/// Of so few users the sink reads all that comes ciphered.
const FEW: u32 = 256;
/// Octets around an N-PDU that flow control counts: SNDCP, LLC header and FCS.
pub const AROUND: u16 = 10;
/// Frames of the generator's longest batch where delays are measured.
const LONGEST_WITH_REAL_TIME: u32 = 48;
/// The same on the way up: a datagram on Gb costs the SGSN more before it is known whose it is, and what it has not fetched
/// meanwhile has to find room beside a batch among the 256 places of the device.
const LONGEST_UPLINK: u32 = 64;
/// From one look of the sink to the next where delays are measured, at any load.
const LOOKS_WITH_REAL_TIME: Duration = Duration::from_micros(45);
/// After a step: at most so long, and until nothing has come for so long.
const DRAIN: (Duration, Duration) = (Duration::from_secs(3), Duration::from_millis(20));

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Attaches users and activates a context for each, with the profile that the setup has for it.
pub(super) fn attach(
    load: &mut Load,
    setup: &Setup,
    users: Range<u32>,
    stop: &AtomicBool,
) -> Result<Outcome, String> {
    let profile = |user| profile(setup, user);
    load.order(users, Order::Activate, Some(&profile), &mut |_| !stop.load(Relaxed)).map_err(text)
}

/// What a user asks for.
pub(super) fn profile(setup: &Setup, user: u32) -> Profile {
    let rate = setup.kbps.saturating_mul(125);
    match () {
        () if user < setup.real_time => Profile::real_time(rate),
        () if user < setup.acknowledged => Profile::best_effort(rate).reliability(ReliabilityClass::TWO),
        () if setup.is_high(user) => Profile::best_effort(rate).precedence(PrecedenceClass::HIGH),
        () => Profile::best_effort(rate),
    }
}

/// Who never got through, and why.
pub(super) fn refused(load: &mut Load, outcome: &Outcome) -> String {
    let stats = load.stats();
    let why = match stats.rejected {
        0 => "the SGSN did not answer them".to_owned(),
        _ => {
            format!("the SGSN rejected {} times, last with cause {}", stats.rejected, stats.last_reject_cause)
        }
    };
    let who = load.users().into_iter().find(|user| user.failed).map_or(0, |user| user.index);
    format!(
        "{} of {} mobiles are not active, the first with IMSI {}, each after {ROUNDS} rounds: {why}",
        outcome.failed,
        outcome.users,
        imsi(who)
    )
}

/// A leak rate that lets `pps` N-PDUs a second through, and the buffering of the setup in the bucket: with less of it chance
/// alone takes one packet in a hundred from who is offered just that rate.
pub(super) fn bucket(setup: &Setup, pps: f64) -> Bucket {
    let bits = pps * f64::from(setup.octets + AROUND) * 8.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to what R99 can say"
    )]
    let rate_bit_per_s = (bits / 100.0).ceil().clamp(1.0, 65_535.0) as u64 * 100;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to what R99 can say"
    )]
    let bmax_octets =
        (bits / 800.0 * f64::from(setup.buffer_ms) / 1000.0).ceil().clamp(40.0, 65_535.0) as u64 * 100;
    Bucket { bmax_octets, rate_bit_per_s }
}

pub(super) fn load_config(setup: &Setup) -> Result<LoadConfig, String> {
    let parse =
        |ip: &str, port: u16| format!("{ip}:{port}").parse().map_err(|error| format!("{ip}: {error}"));
    let ggsn = GN_LOAD.parse().map_err(|error| format!("{GN_LOAD}: {error}"))?;
    let mut config = LoadConfig::new(parse(GB_LOAD, GB_LOAD_PORT)?, parse(GB_SGSN, GB_PORT)?, ggsn);
    (config.users, config.cells) = (setup.users, setup.cells);
    // A message that a full socket lost is soon sent again.
    (config.retry, config.tries, config.rounds) = (gannet_machine::time::Duration::from_secs(1), 10, ROUNDS);
    let most = Bucket { bmax_octets: 6_553_500, rate_bit_per_s: 6_553_500 };
    config.security = setup.gea.map(|gea| Security::new(gea, SocketAddr::new(ggsn, HLR_PORT))).transpose()?;
    config.kd = setup.kd;
    config.flow = BvcParameters { bvc: most, default_ms: bucket(setup, setup.pps_each() * setup.ms_rate) };
    Ok(config)
}

pub(super) fn start_traffic(bed: &Bed, setup: &Setup, mut flows: Vec<FlowSpec>) -> Result<Traffic, String> {
    let side = |device: &str, local: &str, peer: &str| -> Result<Side, String> {
        let address = |text: &str| text.parse::<Ipv4Addr>().map_err(|error| format!("{text}: {error}"));
        Ok(Side { device: device.to_owned(), local: address(local)?, peer: address(peer)?, peer_mac: None })
    };
    let mut config = TrafficConfig::new(side("gn1", GN_LOAD, GN_SGSN)?, side("gb1", GB_LOAD, GB_SGSN)?);
    if setup.real_time > 0 {
        // What a packet waits for the end of its batch, and for a look of the sink, is no delay of the SGSN's, and should not
        // grow with the load.
        config.longest_batch = LONGEST_WITH_REAL_TIME;
        config.sink_interval = Some(LOOKS_WITH_REAL_TIME);
    }
    if setup.uplink {
        config.longest_batch = LONGEST_UPLINK;
    }
    if setup.users <= FEW {
        config.set_samples(Samples { read_every: 1, whole_every: 1 });
    }
    config.cells = cells_of(&load_config(setup)?);
    for stranger in 0..STRANGERS {
        let teid = 0xeef0_0000 | stranger;
        let mut flow = FlowSpec::down(teid, Tlli(0xdead_0000 | stranger).0, 0, Ipv4Addr::UNSPECIFIED, 0.0);
        (flow.size, flow.group) = (setup.octets, STRANGE);
        flows.push(flow);
    }
    config.flows = flows;
    config.drain = DRAIN;
    bed.at_load(|| Traffic::new(config)).map_err(text)?.map_err(text)
}
