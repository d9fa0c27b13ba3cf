//! Drives through cells during a transfer, in virtual time: how long the outages are, and what is lost.
//!
//! | module | what |
//! |---|---|
//! | [`drive`] | signals: a straight road along a row of cells, and a city that a seed makes |
//! | [`course`] | what one drive was like, in terms that a capture has too |
//! | [`parts`] | what an outage is made of, each part with its source |
//! | [`reselect`] | experiment `trace-reselect` |
//!
//! [`run`] takes one mobile along a signal, with TCP between it and the host behind the GGSN.

pub mod course;
pub mod drive;
pub mod parts;
pub mod reselect;
#[cfg(test)]
mod tests;

use crate::radio::airtime::radio;
use crate::radio::probe::Mark;
use crate::radio::seen::{Seen, Spot};
use crate::radio::world::{Connection, Setup, Stage, World};
use crate::tcp::config::Config as TcpConfig;
use course::{Change, Course, Transmission};
use gannet_machine::drops::Drop;
use gannet_machine::time::{Duration, Instant};
use gannet_node::bss::radio::Way;
use gannet_node::ms::travel::TravelConfig;
use gannet_node::sgsn::CellChange;
use gannet_sim::gprs::Node;
use gannet_wire::l3::ie::QosProfile;
use gannet_wire::rlcmac::coding::CodingScheme;

/// From the end of a run until nothing is under way.
const DRAIN: Duration = Duration::from_secs(180);

/// What one drive is.
#[derive(Debug, Clone)]
pub struct Drive {
    /// Cells, what the mobile receives, and how it changes cells.
    pub travel: TravelConfig,
    /// What the SGSN does with what waits.
    pub change: CellChange,
    /// Both hosts.
    pub tcp: TcpConfig,
    /// Which way the data go.
    pub way: Way,
    /// What the mobile asks for; `None` for what is subscribed.
    pub qos: Option<QosProfile>,
    /// Timeslots of the mobile, downlink and uplink.
    pub slots: (u32, u32),
    /// How long the transfer lasts.
    pub span: Duration,
    /// The dice.
    pub seed: u64,
}

/// What a drive came to.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// What happened, in terms that a capture has too.
    pub course: Course,
    /// Octets of the stream that came.
    pub octets: u64,
    /// Timeouts of the sender.
    pub timeouts: u64,
    /// Octets that BSSs have moved, and deleted, at FLUSH-LL.
    pub flushed: (u64, u64),
    /// What was dropped anywhere, by name.
    pub drops: Vec<(Node, Drop, u64)>,
    /// What does not add up.
    pub faults: Vec<String>,
}

/// Takes a mobile along its signal during a transfer.
///
/// # Errors
/// A sentence, where a node refuses its configuration or no context becomes active.
pub fn run(drive: Drive) -> Result<Outcome, String> {
    let (down, up) = drive.slots;
    let radio = radio(CodingScheme::Cs2, down, up).ok_or("no multislot class has so many timeslots")?;
    let cells = u16::try_from(drive.travel.broadcasts.len()).unwrap_or(u16::MAX);
    let setup = Setup {
        cells,
        travel: Some(drive.travel),
        cell_change: Some(drive.change),
        qos: drive.qos.into_iter().collect(),
        ..Setup::one_cell(radio, 1, 1520, drive.seed)
    };
    let mut world = World::new(&setup)?;
    world.seen = Some(Vec::new());
    world.stages.clear();
    world.probe.watch(0);
    let begin = world.gprs.now;
    world.connect(0, drive.way, &drive.tcp);
    world.run_until(begin + drive.span);
    let connection = world.connections.first();
    let octets = connection.map_or(0, Connection::came);
    let timeouts = connection.map_or(0, |of| of.ends[0].record().timeouts);
    let end = world.gprs.now;
    let seen = world.seen.take().unwrap_or_default();
    let changes = changes(&world.stages, &world.probe.take_marks(), end);
    let faults = world.close(DRAIN);
    let stats = world.gprs.sgsn.machine.stats();
    let drops = Node::ALL.into_iter().flat_map(|node| {
        let raised: Vec<_> = world.gprs.drops(node).raised().collect();
        raised.into_iter().map(move |(drop, count)| (node, drop, count))
    });
    Ok(Outcome {
        course: Course { begin, end, changes, transmissions: transmissions(&seen) },
        octets,
        timeouts,
        flushed: (stats.octets_moved, stats.octets_deleted),
        drops: drops.collect(),
        faults,
    })
}

/// Reselections that were over by the end.
fn changes(stages: &[(Instant, Stage)], marks: &[(Instant, Mark)], end: Instant) -> Vec<Change> {
    let mut changes = Vec::new();
    let arrived = |mark: &Mark| matches!(mark, Mark::Arrived(_));
    for (place, (left, stage)) in stages.iter().enumerate() {
        if *stage != Stage::Leaves {
            continue;
        }
        let next = stages.iter().skip(place + 1).take_while(|(_, stage)| *stage != Stage::Leaves);
        let (mut camps, mut updated) = (None, None);
        for (at, stage) in next {
            match stage {
                Stage::Camps => camps = Some(*at),
                Stage::Updated => updated = Some(*at),
                Stage::Leaves => {}
            }
        }
        let Some(camps) = camps else { continue };
        let before = marks.iter().rev().find(|(at, mark)| at <= left && arrived(mark));
        let is_first = |(at, mark): &&(Instant, Mark)| *at >= camps && *mark == Mark::Arrived(Way::Uplink);
        let first = marks.iter().find(is_first).map(|(at, _)| *at);
        let Some(usable) = updated.or(first).filter(|at| *at <= end) else { continue };
        let silent = before.map_or(*left, |(at, _)| *at);
        changes.push(Change { silent, left: *left, camps, usable, has_update: updated.is_some() });
    }
    changes
}

/// Each segment with data that the sender sent, and when it came.
fn transmissions(seen: &[Seen]) -> Vec<Transmission> {
    let data = |spot: Spot| seen.iter().filter(move |of| of.spot == spot && of.data.1 > of.data.0);
    let mut came: std::collections::BTreeMap<u16, std::collections::VecDeque<Instant>> =
        std::collections::BTreeMap::new();
    data(Spot::Came).for_each(|of| came.entry(of.id).or_default().push_back(of.at));
    data(Spot::Sent)
        .map(|of| {
            // Identifications begin anew after 65,536 transmissions, long after a segment has come or is lost.
            let times = came.get_mut(&of.id);
            let times = times.filter(|times| times.front().is_some_and(|at| at.since(of.at) < UNDER_WAY));
            let came = times.and_then(std::collections::VecDeque::pop_front);
            Transmission { sent: of.at, came, data: of.data }
        })
        .collect()
}

/// A segment that has not come for so long does not come: more than a window and the longest outage take.
pub(crate) const UNDER_WAY: Duration = Duration::from_secs(180);
