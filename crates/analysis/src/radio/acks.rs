//! Acknowledgements of TCP that a mobile sends, and the segments that they answer, as both cross the radio.

use super::report::TcpAck;
use crate::record::{Direction, Packet, Proof, Seen, Stamp, TcpSegment};
use std::collections::{BTreeMap, VecDeque};

/// Segments of a way that wait for their acknowledgement.
const SEGMENTS_MAX: usize = 256;
/// Ways of connections that are followed.
const WAYS_MAX: usize = 4096;

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;

/// A packet whose segment comes next.
#[derive(Debug, Clone, Copy)]
struct Carrier {
    place: u16,
    proof: Proof,
    direction: Option<Direction>,
    began: (Stamp, Proof),
}

/// A downlink segment with data: the number behind it, and when its first block and its last block were seen.
#[derive(Debug, Clone, Copy)]
struct Segment {
    end: u32,
    began: (Stamp, Proof),
    whole: (Stamp, Proof),
}

/// Of all connections.
#[derive(Debug, Default)]
pub(super) struct Acks {
    last: Option<Carrier>,
    /// By place, connection and way.
    segments: BTreeMap<(u16, u32, bool), VecDeque<Segment>>,
}

impl Acks {
    pub(super) fn packet(&mut self, seen: &Seen<&Packet>) {
        let Packet { direction, began, first, .. } = *seen.what;
        let (place, proof) = (seen.place, seen.proof);
        self.last = Some(Carrier { place, proof, direction, began: (began, first) });
    }

    /// Takes the segment of the packet before. Gives it where it goes uplink and acknowledges without data.
    pub(super) fn segment(&mut self, seen: &Seen<&TcpSegment>) -> Option<TcpAck> {
        let carrier = self.last.filter(|last| (last.place, last.proof) == (seen.place, seen.proof))?;
        let segment = seen.what;
        if carrier.direction == Some(Direction::Down) {
            self.keep(seen, carrier.began);
        }
        let is_ack = segment.flags & (FIN | SYN | RST | ACK) == ACK && segment.length == 0;
        if carrier.direction != Some(Direction::Up) || !is_ack {
            return None;
        }
        let way = (seen.place, segment.connection, !segment.is_forward);
        let waiting = self.segments.get_mut(&way);
        let answers = waiting.and_then(|waiting| {
            let is_behind = |end: u32| segment.acknowledgement.wrapping_sub(end) < 1 << 31;
            let mut newest = None;
            while let Some(first) = waiting.front().copied().filter(|first| is_behind(first.end)) {
                waiting.pop_front();
                newest = Some(first);
            }
            newest
        });
        Some(TcpAck {
            at: seen.at,
            proof: seen.proof,
            began: carrier.began,
            sent: answers.map(|segment| segment.began),
            answers: answers.map(|segment| segment.whole),
        })
    }

    fn keep(&mut self, seen: &Seen<&TcpSegment>, began: (Stamp, Proof)) {
        let segment = seen.what;
        let way = (seen.place, segment.connection, segment.is_forward);
        if segment.length == 0 || self.segments.len() >= WAYS_MAX && !self.segments.contains_key(&way) {
            return;
        }
        let waiting = self.segments.entry(way).or_default();
        if waiting.len() >= SEGMENTS_MAX {
            waiting.pop_front();
        }
        let end = segment.sequence.wrapping_add(segment.length);
        waiting.push_back(Segment { end, began, whole: (seen.at, seen.proof) });
    }
}
