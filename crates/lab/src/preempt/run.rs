//! One run: a download while calls take all PDCHs now and then.

use super::place::{CODING, Place, SLOTS};
use super::trace::Trace;
use crate::measure::stats::Samples;
use crate::radio::airtime::{Airtime, Snapshot};
use crate::radio::packet::ipv4;
use crate::radio::probe::Mark;
use crate::radio::world::{HOST, Setup, World};
use crate::tcp::config::Config as TcpConfig;
use gannet_machine::time::{Duration, Instant};
use gannet_node::bss;
use gannet_node::bss::radio::Way;
use gannet_sim::gprs::Node;
use std::collections::BTreeMap;

/// For experiments (RFC 3692).
pub const PROTOCOL: u8 = 253;
/// Pings of which the set-up of a TBF is measured, and from one to the next: each finds the mobile in packet idle mode.
const SETUPS: u32 = 15;
const SETUP_EVERY: Duration = Duration::from_millis(7_310);
/// For what is on its way at the end: a window, and its lifetime.
pub const COOL_DOWN: Duration = Duration::from_secs(200);

/// What a run leaves behind.
#[derive(Debug, Clone)]
pub struct Raw {
    /// Where it stands.
    pub place: Place,
    /// What was seen.
    pub trace: Trace,
    /// From an LL-PDU for a mobile in packet idle mode to its first block, in seconds.
    pub setups_s: Samples,
    /// Downlink, over the whole run.
    pub airtime: Airtime,
    /// Of the sender's timer: expiries, and those that were found not to be a loss.
    pub timeouts: u64,
    /// See there.
    pub spurious_timeouts: u64,
    /// Fast recoveries.
    pub recoveries: u64,
    /// Expiries of timers of the mobile's RLC/MAC.
    pub mobile_expiries: u64,
    /// LL-PDUs that the mobile gave up.
    pub given_up: u64,
    /// Of all nodes, drops by name.
    pub drops: BTreeMap<&'static str, u64>,
    /// What does not add up.
    pub faults: Vec<String>,
}

/// From an LL-PDU for a mobile in packet idle mode to its first block.
///
/// # Errors
/// Where the mobile has no address.
pub fn measure_setups(world: &mut World) -> Result<Samples, String> {
    let address = world.address(0).ok_or("the mobile has no address")?;
    world.probe.watch(0);
    world.probe.keep_blocks(0);
    for _ in 0..SETUPS {
        world.run_until(world.gprs.now + SETUP_EVERY);
        world.host_sends(&ipv4(HOST, address, PROTOCOL, &[0; 12]));
    }
    world.run_until(world.gprs.now + SETUP_EVERY);
    world.others.clear();
    let (marks, blocks) = (world.probe.take_marks(), world.probe.take_blocks());
    let mut setups = Samples::NONE;
    for (asked, _) in marks.iter().filter(|(_, mark)| *mark == Mark::Requested(Way::Downlink)) {
        let before = blocks.iter().take_while(|(at, _)| at <= asked).last().map_or(0, |(_, of)| of.sent);
        let first = blocks.iter().find(|(at, of)| at > asked && of.sent > before);
        if let Some((at, _)) = first {
            setups.push(at.since(*asked).as_secs_f64());
        }
    }
    Ok(setups)
}

/// Runs until a time, while calls take the PDCHs in these periods.
pub fn run_with_calls(world: &mut World, trace: &Trace, until: Instant) {
    for period in &trace.periods {
        if period.start >= until {
            break;
        }
        world.run_until(period.start);
        hold_channels(world, u8::MAX);
        world.run_until(period.end);
        hold_channels(world, 0);
    }
    world.run_until(until);
}

/// Calls have these timeslots of the cell from now on.
pub fn hold_channels(world: &mut World, timeslots: u8) {
    world.gprs.order_bss(bss::Command::HoldChannels { cell: 0, timeslots });
}

/// Drops of all nodes by name.
pub(super) fn drops(world: &World) -> BTreeMap<&'static str, u64> {
    let mut all = BTreeMap::new();
    for (drop, count) in Node::ALL.iter().flat_map(|node| world.gprs.drops(*node).raised()) {
        *all.entry(drop.name()).or_default() += count;
    }
    all
}

/// Runs it.
///
/// # Errors
/// Where the world cannot be set up.
pub fn run(place: Place, span: Duration, seed: u64) -> Result<Raw, String> {
    run_in(place, &place.setup(seed)?, &place.sender.config(), span)
}

/// Runs it in this world, with this TCP at both ends.
///
/// # Errors
/// Where the world cannot be set up.
pub fn run_in(place: Place, setup: &Setup, config: &TcpConfig, span: Duration) -> Result<Raw, String> {
    let mut world = World::new(setup)?;
    let setups_s = measure_setups(&mut world)?;
    let begin = world.gprs.now;
    let mut trace =
        Trace { span: begin..begin + span, periods: place.script(begin, span), ..Trace::default() };
    world.seen = Some(Vec::new());
    let before = Snapshot::of(&world, 1);
    let expiries = world.probe.mobile(0).expiries;
    world.connect(0, Way::Downlink, config);
    if let Some(connection) = world.connections.first_mut() {
        connection.ends[0].keep_points();
    }
    run_with_calls(&mut world, &trace, begin + span);
    let airtime = Airtime::between(&before, &Snapshot::of(&world, 1), Way::Downlink, CODING, SLOTS);
    let record = world.connections.first().map(|connection| connection.ends[0].record().clone());
    let record = record.unwrap_or_default();
    trace.seen = world.seen.take().unwrap_or_default();
    trace.points = record.sequence;
    trace.marks = world.probe.take_marks();
    trace.blocks = world.probe.take_blocks();
    let (mobile, drops) = (world.probe.mobile(0), drops(&world));
    let faults = world.close(COOL_DOWN).into_iter().map(|fault| format!("{}: {fault}", place.name()));
    Ok(Raw {
        place,
        setups_s,
        airtime,
        timeouts: record.timeouts,
        spurious_timeouts: record.spurious_timeouts,
        recoveries: record.recoveries,
        mobile_expiries: mobile.expiries - expiries,
        given_up: mobile.given_up,
        drops,
        trace,
        faults: faults.collect(),
    })
}
