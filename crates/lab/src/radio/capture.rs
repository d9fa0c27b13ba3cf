//! Captures of a world: what crosses its interfaces, in virtual time, as the nodes' own captures have it.
//!
//! A [`Tape`] takes what crosses some [`Point`]s of a [`World`](super::world::World) and writes it through the project's own writer,
//! into a file or into memory. A world may have several tapes: one at a host alone, another with everything.
//!
//! | point | what it has | as |
//! |---|---|---|
//! | Um | each block and access burst as an antenna has it, and what became of it | GSMTAP over UDP |
//! | Abis | each block that the PCU hands over or has from the base transceiver station | GSMTAP over UDP |
//! | Gb, Gn | datagrams where the SGSN sends and receives them | NS and GTP over UDP |
//! | Gi | packets of the host behind the GGSN | raw IP |
//! | mobile | packets of the hosts in the mobiles, an interface for each | raw IP |
//!
//! Time zero of a world is [`EPOCH_NS`]. Nothing is lost: a tape waits for its writer.

use core::net::{Ipv4Addr, SocketAddr};
use gannet_analysis::findings::{Analysis, Names, Report};
use gannet_analysis::record::{Record, Seen};
use gannet_analysis::source::{Capture, Octets};
use gannet_analysis::{Reading, Settings};
use gannet_machine::Peer;
use gannet_machine::time::Instant;
use gannet_node::{ggsn, ms};
use gannet_proto::rlcmac::tap::{Fate, Interface, Sighting};
use gannet_sim::gprs::{Crossing, Node, sgsn_end};
use gannet_trace::pcapng::{Beside, Direction, InterfaceId, LinkType, Packet, Recorder};
use gannet_wire::gsmtap::UDP_PORT;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Cursor, Write};
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

/// Time zero of a world, in nanoseconds since the beginning of 1970: the beginning of 2002, UTC.
pub const EPOCH_NS: u64 = 1_009_843_200_000_000_000;
/// In a capture a block comes from this UDP port, plus the number of its cell.
const FIRST_CELL: u16 = 10_000;
/// Octets that may wait for the writer.
const LIMIT: usize = 16 << 20;
/// Octets after which a tape waits until all are written.
const UNWRITTEN_MAX: usize = 2 << 20;

/// Where a tape records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Point {
    /// Between mobile and base transceiver station.
    Um,
    /// Between base transceiver station and PCU.
    Abis,
    /// Between BSS and SGSN, at the SGSN.
    Gb,
    /// Between SGSN and GGSN, at the SGSN.
    Gn,
    /// Behind the GGSN, at the host there.
    Gi,
    /// The hosts in the mobiles.
    Mobile,
}

impl Point {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Um, Self::Abis, Self::Gb, Self::Gn, Self::Gi, Self::Mobile];

    const fn name(self) -> &'static str {
        match self {
            Self::Um => "Um",
            Self::Abis => "Abis",
            Self::Gb => "Gb",
            Self::Gn => "Gn",
            Self::Gi => "Gi",
            Self::Mobile => "mobile",
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::Um => "blocks and access bursts as an antenna has them, as GSMTAP over UDP",
            Self::Abis => "blocks between PCU and base transceiver station, as GSMTAP over UDP",
            Self::Gb => "NS over UDP; the headers of IP and UDP are made",
            Self::Gn => "GTP over UDP; the headers of IP and UDP are made",
            Self::Gi | Self::Mobile => "packets of a TUN device",
        }
    }
}

/// A file in memory.
#[derive(Debug, Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    fn take(&self) -> Vec<u8> {
        core::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Memory {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(octets);
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
struct Inner {
    points: Vec<Point>,
    recorder: Recorder,
    memory: Memory,
    interfaces: BTreeMap<(Point, u32), InterfaceId>,
    unwritten: usize,
    /// Blocks that a tap could not keep.
    missed: u64,
    failure: Option<io::Error>,
}

/// Records what crosses some points of a world. Clones are the same tape.
#[derive(Debug, Clone)]
pub struct Tape(Rc<RefCell<Inner>>);

impl Tape {
    /// Into memory.
    ///
    /// # Errors
    /// Where the thread of the writer cannot be made.
    pub fn to_memory(points: &[Point]) -> Result<Self, String> {
        let memory = Memory::default();
        let recorder = Recorder::into_writer(Box::new(memory.clone()), LIMIT);
        recorder
            .map(|recorder| Self::new(points, recorder, memory))
            .map_err(|error| format!("capture: {error}"))
    }

    /// Into a file, which an existing one gives way to.
    ///
    /// # Errors
    /// Where the file or the thread of its writer cannot be made.
    pub fn to_file(path: &Path, points: &[Point]) -> Result<Self, String> {
        let recorder = Recorder::with_limit(path, LIMIT);
        recorder
            .map(|recorder| Self::new(points, recorder, Memory::default()))
            .map_err(|error| format!("{}: {error}", path.display()))
    }

    fn new(points: &[Point], recorder: Recorder, memory: Memory) -> Self {
        Self(Rc::new(RefCell::new(Inner {
            points: points.to_vec(),
            recorder,
            memory,
            interfaces: BTreeMap::new(),
            unwritten: 0,
            missed: 0,
            failure: None,
        })))
    }

    /// It records there.
    #[must_use]
    pub fn has(&self, point: Point) -> bool {
        self.0.borrow().points.contains(&point)
    }

    /// Takes what was seen on the air of a cell.
    pub(crate) fn sighting(&self, cell: u32, sighting: &Sighting) {
        let point = match sighting.interface {
            Interface::Um => Point::Um,
            Interface::Abis => Point::Abis,
        };
        let direction = if sighting.kind.is_uplink() { Direction::In } else { Direction::Out };
        let port = FIRST_CELL.saturating_add(u16::try_from(cell).unwrap_or(u16::MAX));
        let end = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let comment = if sighting.fate == Fate::Handed { String::new() } else { sighting.fate.to_string() };
        let datagram = sighting.datagram();
        let packet = Packet::Udp((end(port), end(UDP_PORT)), &datagram);
        self.0.borrow_mut().record((point, 0), (sighting.at, direction), packet, &comment);
    }

    /// Blocks that a tap could not keep.
    pub(crate) fn missed(&self, blocks: u64) {
        self.0.borrow_mut().missed += blocks;
    }

    /// Takes a datagram at a port of a node.
    pub(crate) fn crossing(&self, crossing: &Crossing<'_>) {
        let Crossing { at, node, is_sent, port, peer, octets } = *crossing;
        let direction = if is_sent { Direction::Out } else { Direction::In };
        let mut inner = self.0.borrow_mut();
        match (node, peer) {
            (Node::Sgsn, Peer::Udp(far)) => {
                let Some(near) = sgsn_end(port) else { return };
                let point = if port == gannet_node::sgsn::GB { Point::Gb } else { Point::Gn };
                let ends = if is_sent { (near, far) } else { (far, near) };
                inner.record((point, 0), (at, direction), Packet::Udp(ends, octets), "");
            }
            (Node::Ggsn, _) if port == ggsn::PORT_TUN => {
                inner.record((Point::Gi, 0), (at, direction), Packet::Ip(octets), "");
            }
            (Node::Ms, Peer::Slot(mobile)) if port == ms::TUN => {
                inner.record((Point::Mobile, mobile), (at, direction), Packet::Ip(octets), "");
            }
            _ => {}
        }
    }

    /// Takes an N-PDU that came to a mobile's host.
    pub(crate) fn came(&self, at: Instant, mobile: u32, octets: &[u8]) {
        let mut inner = self.0.borrow_mut();
        inner.record((Point::Mobile, mobile), (at, Direction::Out), Packet::Ip(octets), "");
    }

    /// Writes all out. Gives the octets of a tape in memory, and nothing of one in a file. From then on it takes nothing.
    ///
    /// # Errors
    /// What is missing, or why it could not be written.
    pub fn finish(&self) -> Result<Vec<u8>, String> {
        let mut inner = self.0.borrow_mut();
        inner.points.clear();
        let flushed = inner.recorder.flush();
        let failure = inner.failure.take().or(flushed.err());
        if let Some(error) = failure {
            return Err(format!("capture {}: {error}", inner.recorder.name()));
        }
        match (inner.recorder.lost(), inner.missed) {
            (0, 0) => Ok(inner.memory.take()),
            (lost, missed) => Err(format!("{lost} records and {missed} blocks are missing in a capture")),
        }
    }
}

impl Inner {
    fn record(
        &mut self,
        (point, number): (Point, u32),
        (at, direction): (Instant, Direction),
        packet: Packet<'_>,
        comment: &str,
    ) {
        if !self.points.contains(&point) {
            return;
        }
        let interface = match self.interfaces.get(&(point, number)) {
            Some(interface) => *interface,
            None => {
                let name = match point {
                    Point::Mobile => format!("mobile {}", u64::from(number) + 1),
                    _ => point.name().to_owned(),
                };
                let interface = self.recorder.add_interface(&name, LinkType::Raw, point.description(), "");
                self.interfaces.insert((point, number), interface);
                interface
            }
        };
        let beside = Beside { comments: [comment, ""], ..Beside::whole(EPOCH_NS + at.0, direction) };
        self.recorder.packet(interface, packet, &beside);
        self.unwritten += packet.payload().len();
        if self.unwritten > UNWRITTEN_MAX {
            self.unwritten = 0;
            if let Err(error) = self.recorder.flush() {
                self.failure.get_or_insert(error);
            }
        }
    }
}

/// Time in a capture as time of its world.
#[must_use]
pub const fn instant(at_ns: u64) -> Instant {
    Instant(at_ns.saturating_sub(EPOCH_NS))
}

/// A capture in memory, as the analyser reads it.
///
/// # Errors
/// Where it is no capture.
pub fn reading(capture: Vec<u8>) -> Result<Reading, String> {
    let octets = Octets::new(Box::new(Cursor::new(capture)), false);
    let capture =
        Capture::from_octets(Path::new("world.pcapng"), octets).map_err(|damage| damage.to_string())?;
    Ok(Reading::new(vec![capture], Settings::default()))
}

/// What the analyser says of a capture in memory, with the records that `see` is shown besides.
///
/// # Errors
/// Where it is no capture, or is damaged.
pub fn analyze(
    capture: Vec<u8>,
    mut analysis: Analysis,
    mut see: impl FnMut(&Seen<Record>, &Reading),
) -> Result<Report, String> {
    let mut reading = reading(capture)?;
    while let Some(seen) = reading.next() {
        see(&seen, &reading);
        analysis.take(&seen);
    }
    match reading.damages().first() {
        Some(damage) => Err(damage.to_string()),
        None => Ok(analysis.finish(&Names::of(&reading))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::airtime::radio;
    use super::super::rtt::ping;
    use super::super::tcp;
    use super::super::world::{Setup, World};
    use super::*;
    use gannet_analysis::record::{Direction as Ways, Kind};
    use gannet_machine::time::Duration;
    use gannet_node::bss::radio::Way;
    use gannet_wire::rlcmac::coding::CodingScheme;

    /// What the analyser reads of a capture is what the world knows of itself.
    #[test]
    fn a_capture_says_what_happened() {
        let tapes = [&Point::ALL[..], &[Point::Gi]].map(|points| Tape::to_memory(points).unwrap());
        let radio = radio(CodingScheme::Cs2, 3, 1).unwrap();
        let mut world = World::recorded(&Setup::one_cell(radio, 1, 500, 3), &tapes).unwrap();
        let round_trips: Vec<u64> = (0..5)
            .map(|number| {
                world.run_until(world.gprs.now + Duration::from_millis(1170));
                ping(&mut world, number).unwrap().0
            })
            .collect();
        world.connect(0, Way::Downlink, &tcp(16_384));
        world.run_until(world.gprs.now + Duration::from_secs(30));
        let came = world.connections[0].came();
        assert_eq!(world.close(Duration::from_secs(70)), Vec::<String>::new());
        let (blocks, bursts) = (world.probe.blocks(0), world.probe.mobile(0).bursts);
        let arrived = [Way::Downlink, Way::Uplink].map(|way| world.probe.ledger(way).arrived);
        let [all, host] = tapes.each_ref().map(|tape| tape.finish().unwrap());

        let (mut ll_pdus, mut last) = ([0, 0], Instant(0));
        let report = analyze(all, Analysis::default(), |seen, reading| {
            let place = &reading.places()[usize::from(seen.place)];
            last = last.max(instant(seen.at.0));
            if let (Record::Llc(pdu), true) = (&seen.what, place.name.as_deref() == Some("Um")) {
                ll_pdus[usize::from(pdu.direction == Ways::Up)] += 1;
            }
            assert!(!matches!(seen.what, Record::Unreadable(_)), "{seen:?}");
        })
        .unwrap();
        assert_eq!(ll_pdus, arrived, "LL-PDUs put together from blocks");
        assert!(last <= world.gprs.now && last.0 > 0);
        let (um, abis) = (&report.radio.cells[0], &report.radio.cells[1]);
        assert_eq!((um.down.new, um.down.again), (abis.down.new, abis.down.again));
        assert_eq!(um.down.new + um.down.again, blocks.data.iter().sum::<u64>());
        assert_eq!(um.accesses, bursts);
        assert_eq!((um.down.unreadable, um.up.unreadable), (0, 0));
        let row = report.pings.iter().find(|row| row.round_trips.seen() == 5 && row.requests == 5);
        let of_mobile = report
            .pings
            .iter()
            .map(|row| row.round_trips.points().iter().map(|one| one.rtt_ns).collect::<Vec<_>>());
        assert!(row.is_some() && of_mobile.clone().any(|row| row == round_trips), "{round_trips:?}");
        let mut places = Vec::new();
        let report = analyze(host, Analysis::default(), |_, reading| {
            places = reading.places().iter().map(|place| place.kind).collect();
        })
        .unwrap();
        assert_eq!((places.as_slice(), report.connections.len()), (&[Kind::Ip][..], 1));
        let acknowledged = report.connections[0].forward.acknowledged_octets;
        assert!(acknowledged > 0 && acknowledged.abs_diff(came) < 70_000, "{acknowledged} of {came}");
    }

    #[test]
    fn what_a_tape_cannot_keep_is_an_error() {
        let tape = Tape::to_memory(&[Point::Um]).unwrap();
        tape.missed(3);
        assert_eq!(tape.finish().unwrap_err(), "0 records and 3 blocks are missing in a capture");
        let error = Tape::to_file(Path::new("/nowhere/world.pcapng"), &Point::ALL).unwrap_err();
        assert!(error.starts_with("/nowhere/world.pcapng: "), "{error}");
    }
}
