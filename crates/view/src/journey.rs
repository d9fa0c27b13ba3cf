//! The way of one packet down and up through the layers, from any row that carries a part of it.

use crate::index::{Index, Row};
use crate::lane::Lane;
use serde::Serialize;

/// How long before and after a packet it is looked for at other places.
const WINDOW_NS: u64 = 60_000_000_000;
/// Blocks of a packet that are named.
const PARTS_MAX: usize = 400;
/// Lanes of IP packets.
const PACKETS: [Lane; 3] = [Lane::NPdu, Lane::GPdu, Lane::Ip];

/// A stop on the way.
#[derive(Debug, Clone, Serialize)]
pub struct Stop {
    /// The lane.
    pub lane: Lane,
    /// The row's number in it.
    pub row: usize,
    /// The place.
    pub place: String,
    /// When its first part was seen, since the start of the captures.
    pub began: u64,
    /// When it was complete.
    pub at: u64,
    /// File, from 1, and frame.
    pub proof: (u16, u64),
    /// The frame of its first part.
    pub first: u64,
    /// What it says.
    pub text: String,
    /// Nanoseconds from its first part to its last.
    pub within_ns: u64,
    /// Nanoseconds since the packet was complete at the stop before.
    pub after_ns: Option<i64>,
}

/// The way of a packet.
#[derive(Debug, Clone, Serialize)]
pub struct Way {
    /// The row that was asked about.
    pub row: Stop,
    /// Where its packet was seen, in the order of time. Empty where it carries none.
    pub stops: Vec<Stop>,
    /// Rows of the radio, of LLC and SNDCP that carried it: lane and number.
    pub parts: Vec<(Lane, usize)>,
}

fn stop(index: &Index, lane: Lane, number: usize, row: &Row) -> Stop {
    let since = |at: u64| at.saturating_sub(index.start);
    let place = index.place_names.get(usize::from(row.place)).cloned().unwrap_or_default();
    Stop {
        lane,
        row: number,
        place,
        began: since(row.began),
        at: since(row.at),
        proof: (row.proof.file + 1, row.proof.frame),
        first: row.first,
        text: index.texts.get(row.text).unwrap_or_else(|error| error.to_string()),
        within_ns: row.at - row.began,
        after_ns: None,
    }
}

/// The way of the packet that a row carries, whole or in part. `None` where there is no such row.
#[must_use]
pub fn way(index: &Index, lane: Lane, number: usize) -> Option<Way> {
    let row = index.lane(lane).get(number)?;
    let asked = stop(index, lane, number, row);
    let Some((found_lane, found)) = packet(index, lane, row) else {
        return Some(Way { row: asked, stops: Vec::new(), parts: Vec::new() });
    };
    let Some(packet) = index.lane(found_lane).get(found) else {
        return Some(Way { row: asked, stops: Vec::new(), parts: Vec::new() });
    };
    let mut stops = Vec::new();
    let mut parts = Vec::new();
    for lane in PACKETS {
        for (number, row) in within(index, lane, packet.at.saturating_sub(WINDOW_NS), packet.at + WINDOW_NS) {
            let is_it = lane == found_lane && number == found;
            if is_it || packet.digest != 0 && row.digest == packet.digest {
                stops.push(stop(index, lane, number, row));
                if lane == Lane::NPdu {
                    carriers(index, row, &mut parts);
                }
            }
        }
    }
    stops.sort_by_key(|stop| (stop.at, stop.began));
    let mut last: Option<u64> = None;
    for stop in &mut stops {
        stop.after_ns = last.map(|last| stop.at.wrapping_sub(last).cast_signed());
        last = Some(stop.at);
    }
    parts.truncate(PARTS_MAX);
    Some(Way { row: asked, stops, parts })
}

fn within(index: &Index, lane: Lane, from: u64, until: u64) -> impl Iterator<Item = (usize, &Row)> {
    let rows = index.lanes.get(lane.index());
    let (first, rows) = rows.map_or((0, &[][..]), |rows| rows.within(from, until));
    rows.iter().enumerate().map(move |(number, row)| (first + number, row))
}

/// The packet that a row carries.
fn packet(index: &Index, lane: Lane, row: &Row) -> Option<(Lane, usize)> {
    match lane {
        Lane::Ip | Lane::GPdu | Lane::NPdu | Lane::Tcp => PACKETS.into_iter().find_map(|lane| {
            let mut same = within(index, lane, row.at, row.at + 1);
            same.find(|(_, other)| other.proof == row.proof).map(|(number, _)| (lane, number))
        }),
        Lane::Sndcp | Lane::Llc | Lane::RadioDown | Lane::RadioUp | Lane::Bssgp => {
            // The N-PDU at the same place that was under way then; its parts lie between its first frame and its last.
            let mut around = within(index, Lane::NPdu, row.at, row.at + WINDOW_NS);
            let fits = |other: &Row| {
                let is_same_way = row.way == 2 || other.way == row.way;
                let is_same_mobile = row.mobile == crate::index::NOBODY || other.mobile == row.mobile;
                other.place == row.place
                    && other.began <= row.at
                    && other.first <= row.proof.frame
                    && is_same_way
                    && is_same_mobile
            };
            around.find(|(_, other)| fits(other)).map(|(number, _)| (Lane::NPdu, number))
        }
        Lane::Gtp | Lane::Layer3 | Lane::Unreadable => None,
    }
}

/// Rows below an N-PDU at its place, from its first part to its last.
fn carriers(index: &Index, n_pdu: &Row, parts: &mut Vec<(Lane, usize)>) {
    for lane in [Lane::Sndcp, Lane::Llc, Lane::Bssgp, Lane::RadioDown, Lane::RadioUp] {
        for (number, row) in within(index, lane, n_pdu.began, n_pdu.at + 1) {
            let is_same_way = row.way == 2 || row.way == n_pdu.way;
            let is_same_mobile = row.mobile == crate::index::NOBODY || row.mobile == n_pdu.mobile;
            if row.place == n_pdu.place && is_same_way && is_same_mobile {
                parts.push((lane, number));
            }
        }
    }
}
