//! The way of one packet: where it was seen, when, and how long each layer had it.

use super::words::ip_words;
use crate::reading::Reading;
use crate::record::{Carrier, Direction, IpSummary, Packet, Proof, Record, Seen, SnPdu, Stamp};
use gannet_wire::sndcp::Pdu;
use std::collections::VecDeque;

/// How long before and after the packet it is looked for at other places.
const WINDOW_NS: u64 = 60_000_000_000;
/// Packets that are remembered.
const REMEMBERED: usize = 200_000;

/// The packet at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// The place.
    pub place: u16,
    /// When its first part was seen there.
    pub began: Stamp,
    /// The frame of that.
    pub first: Proof,
    /// When it was complete.
    pub at: Stamp,
    /// The frame of that.
    pub proof: Proof,
    /// What carried it.
    pub carrier: Carrier,
}

/// The way of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Journey {
    /// Its headers.
    pub ip: Option<IpSummary>,
    /// Its octets.
    pub octets: u32,
    /// Up or down.
    pub direction: Option<Direction>,
    /// The mobile.
    pub mobile: Option<u32>,
    /// Where it was seen, in the order of time.
    pub sightings: Vec<Sighting>,
}

impl Journey {
    /// The packet in words.
    #[must_use]
    pub fn words(&self) -> String {
        let what = self.ip.as_ref().map_or_else(|| "packet".to_owned(), ip_words);
        format!("{what}, {} octets", self.octets)
    }
}

/// A segment of the wanted packet, where the wanted frame has no more of it.
type Part = (u16, Direction, Option<u32>, u8, u16);

/// Finds the way of the packet that a frame carries, whole or in part. None where the frame carries none.
#[must_use]
pub fn find(reading: &mut Reading, wanted: Proof) -> Option<Journey> {
    let mut before: VecDeque<Seen<Packet>> = VecDeque::new();
    let mut found: Option<Seen<Packet>> = None;
    let mut part: Option<Part> = None;
    for seen in reading.by_ref() {
        if let Some(found) = &found
            && seen.at.0.saturating_sub(found.at.0) > WINDOW_NS
        {
            break;
        }
        match seen.what {
            Record::Segment(segment) if seen.proof == wanted => part = part_of(seen.place, &segment),
            Record::Packet(packet) => {
                let is_it = seen.proof == wanted
                    || packet.first == wanted
                    || part.is_some() && part == part_of_packet(seen.place, &packet);
                let seen = Seen { at: seen.at, proof: seen.proof, place: seen.place, what: packet };
                if is_it && found.is_none() {
                    found = Some(seen.clone());
                }
                while before.len() == REMEMBERED
                    || before
                        .front()
                        .is_some_and(|old| found.is_none() && seen.at.0.saturating_sub(old.at.0) > WINDOW_NS)
                {
                    before.pop_front();
                }
                let is_same = found.as_ref().is_none_or(|found| found.what.digest == seen.what.digest);
                if is_same {
                    before.push_back(seen);
                }
            }
            _ => {}
        }
    }
    let found = found?;
    let same = |other: &&Seen<Packet>| {
        found.what.digest.is_some() && other.what.digest == found.what.digest || other.proof == found.proof
    };
    let mut sightings: Vec<_> = before.iter().filter(same).map(sighting).collect();
    sightings.sort_by_key(|sighting| (sighting.at, sighting.began));
    let direction = before.iter().filter(same).find_map(|seen| seen.what.direction);
    let mobile = before.iter().filter(same).find_map(|seen| seen.what.mobile);
    let Packet { ip, octets, .. } = found.what;
    Some(Journey { ip, octets, direction, mobile, sightings })
}

fn sighting(seen: &Seen<Packet>) -> Sighting {
    Sighting {
        place: seen.place,
        began: seen.what.began,
        first: seen.what.first,
        at: seen.at,
        proof: seen.proof,
        carrier: seen.what.carrier,
    }
}

fn part_of(place: u16, segment: &SnPdu) -> Option<Part> {
    let Pdu::Unitdata { number, .. } = segment.header.pdu else { return None };
    Some((place, segment.direction, segment.mobile, segment.header.nsapi.0, number))
}

fn part_of_packet(place: u16, packet: &Packet) -> Option<Part> {
    let Carrier::Segments { nsapi, number, .. } = packet.carrier else { return None };
    Some((place, packet.direction?, packet.mobile, nsapi, number))
}
