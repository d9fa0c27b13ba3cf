//! A bearer in virtual time, by the models of the emulator.

use super::super::line::{Conditions, Kind};
use crate::link::medium::{Departure, Medium};
use crate::link::model::Direction;
use gannet_machine::rng::Rng;
use gannet_machine::time::Instant;

/// Octets before an LL-PDU on Ethernet: its header (14), and that of the adaptation protocol.
const BEFORE: usize = 14 + 8;
/// Octets of the shortest frame of Ethernet without FCS.
const SHORTEST: usize = 60;

/// A bearer. Its ends are 0, the mobile's, and 1, the network's.
#[derive(Debug)]
pub struct Line {
    medium: Option<Medium<Vec<u8>>>,
    ways: [Direction<Vec<u8>>; 2],
}

impl Line {
    /// An idle one.
    pub fn new(kind: Kind, conditions: Conditions) -> Self {
        let mut rng = Rng::seeded(conditions.seed);
        let profile = conditions.profile(kind);
        let ways = [rng.fork(), rng.fork()].map(|rng| Direction::new(profile, rng));
        Self { medium: kind.shared().map(Medium::new), ways }
    }

    /// An end sends a packet of IP as it is.
    pub fn send_packet(&mut self, end: usize, now: Instant, octets: usize) {
        self.send_frame(end, now, octets + 14, Vec::new());
    }

    /// The same with its octets.
    pub fn carry_packet(&mut self, end: usize, now: Instant, packet: Vec<u8>) {
        self.send_frame(end, now, packet.len() + 14, packet);
    }

    /// An end sends an LL-PDU.
    pub fn send(&mut self, end: usize, now: Instant, ll_pdu: Vec<u8>) {
        self.send_frame(end, now, ll_pdu.len() + BEFORE, ll_pdu);
    }

    fn send_frame(&mut self, end: usize, now: Instant, octets: usize, carried: Vec<u8>) {
        let octets = u32::try_from(octets.max(SHORTEST)).unwrap_or(u32::MAX);
        match (&mut self.medium, self.ways.get_mut(end)) {
            (Some(medium), _) => medium.enter(end, now, octets, carried),
            (None, Some(way)) => way.enter(now, octets, carried),
            (None, None) => {}
        }
        self.begin(now);
    }

    /// Frames begin to leave.
    fn begin(&mut self, now: Instant) {
        let Some(medium) = &mut self.medium else { return };
        while let Some(Departure { end, at, octets, frame }) = medium.depart(now) {
            if let Some(way) = self.ways.get_mut(end) {
                way.enter(at, octets, frame);
            }
        }
    }

    /// When something happens next.
    pub fn next(&self) -> Option<Instant> {
        let arrivals = self.ways.iter().filter_map(Direction::next_delivery);
        arrivals.chain(self.medium.as_ref().and_then(Medium::next_start)).min()
    }

    /// What has arrived by `now`, and at which end.
    pub fn deliver(&mut self, now: Instant) -> Option<(usize, Vec<u8>)> {
        self.begin(now);
        let mut ways = self.ways.iter_mut().enumerate();
        ways.find_map(|(from, way)| Some((1 - from, way.deliver(now)?.frame)))
    }

    /// What is on the way is lost.
    pub fn cut(&mut self) {
        while self.ways.iter_mut().any(|way| way.deliver(Instant(u64::MAX)).is_some()) {}
    }
}
