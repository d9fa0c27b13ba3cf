//! Connections of TCP, as tcptrace draws them: octets over time, acknowledgements, and what was sent again.

use crate::lane::Kind;
use gannet_analysis::record::{Proof, Record, Seen, Stamp, TcpSegment};
use serde::Serialize;
use std::collections::HashMap;

/// Segments of a window that are drawn one by one.
pub const EXACT_MAX: usize = 6000;
/// Blocks of selective acknowledgement that a segment keeps.
const SACKS: usize = 3;

/// A segment of a stream. Octets are counted from the first one that was seen of its direction.
#[derive(Debug, Clone, Copy)]
struct Point {
    at: u64,
    proof: Proof,
    is_forward: bool,
    kind: Kind,
    length: u32,
    window: u32,
    start: u64,
    acknowledges: Option<u64>,
    sacks: [(u64, u64); SACKS],
}

/// Numbers of one direction without their wrap.
#[derive(Debug, Clone, Copy, Default)]
struct Numbers {
    base: Option<u32>,
    last: u64,
}

impl Numbers {
    /// Octets since the first one. What lies before it counts as 0.
    fn count(&mut self, number: u32) -> u64 {
        let base = *self.base.get_or_insert(number);
        let low = u64::from(number.wrapping_sub(base));
        let near = self.last & !0xffff_ffff | low;
        let options = [near.wrapping_sub(1 << 32), near, near + (1 << 32)];
        let best =
            options.into_iter().filter(|option| *option < 1 << 62).min_by_key(|it| it.abs_diff(self.last));
        let best = best.unwrap_or(near);
        if best.saturating_sub(1 << 31) > self.last && self.last < 1 << 31 {
            return 0;
        }
        self.last = self.last.max(best);
        best
    }
}

#[derive(Debug, Default)]
struct Stream {
    points: Vec<Point>,
    /// Of the opener's octets, and of the other's.
    numbers: [Numbers; 2],
    scales: [Option<u8>; 2],
}

/// All connections, each at each place where it was seen.
#[derive(Debug, Default)]
pub struct Streams {
    by_place: HashMap<(u32, u16), Stream>,
}

/// A window of a connection.
#[derive(Debug, Clone, Serialize)]
pub struct Window {
    /// All segments are there; else only those that stand out, and bounds of the others.
    pub is_exact: bool,
    /// Segments with data: time, first octet, octet behind, kind, file, frame.
    pub sent: Vec<(u64, u64, u64, Kind, u16, u64)>,
    /// Acknowledgements: time, octet below which all has arrived, octet up to which may be sent.
    pub acknowledged: Vec<(u64, u64, u64)>,
    /// Selective acknowledgements: time, from, to.
    pub selective: Vec<(u64, u64, u64)>,
}

impl Window {
    /// Counts all times from `start`.
    pub fn since(&mut self, start: u64) {
        let times = self.sent.iter_mut().map(|it| &mut it.0);
        let times = times.chain(self.acknowledged.iter_mut().map(|it| &mut it.0));
        for at in times.chain(self.selective.iter_mut().map(|it| &mut it.0)) {
            *at = at.saturating_sub(start);
        }
    }
}

impl Streams {
    /// Takes a segment.
    pub fn take(&mut self, seen: &Seen<Record>, segment: &TcpSegment) {
        const ACK: u8 = 16;
        const SYN: u8 = 2;
        let stream = self.by_place.entry((segment.connection, seen.place)).or_default();
        let [forward, backward] = &mut stream.numbers;
        let (own, other) = if segment.is_forward { (forward, backward) } else { (backward, forward) };
        let start = own.count(segment.sequence);
        let has_ack = segment.flags & ACK != 0;
        let acknowledges = has_ack.then(|| other.count(segment.acknowledgement));
        let mut sacks = [(0, 0); SACKS];
        for (slot, (from, to)) in sacks.iter_mut().zip(&segment.sack) {
            *slot = (other.count(*from), other.count(*to));
        }
        let way = usize::from(!segment.is_forward);
        let is_syn = segment.flags & SYN != 0;
        if is_syn && let Some(scale) = stream.scales.get_mut(way) {
            *scale = segment.scale;
        }
        let both = stream.scales.iter().all(Option::is_some);
        let scale = stream.scales.get(way).copied().flatten().filter(|_| both && !is_syn).unwrap_or(0);
        stream.points.push(Point {
            at: seen.at.0,
            proof: seen.proof,
            is_forward: segment.is_forward,
            kind: Kind::of(&seen.what),
            length: segment.length,
            window: u32::from(segment.window) << scale.min(14),
            start,
            acknowledges,
            sacks,
        });
    }

    pub(crate) fn sort(&mut self) {
        for stream in self.by_place.values_mut() {
            stream.points.sort_by_key(|point| point.at);
        }
    }

    pub(crate) fn mark(&mut self, connection: u32, at: Stamp, proof: Proof, kind: Kind) {
        for (_, stream) in self.by_place.iter_mut().filter(|((of, _), _)| *of == connection) {
            let start = stream.points.partition_point(|point| point.at < at.0);
            let same = stream.points.iter_mut().skip(start).take_while(|point| point.at == at.0);
            for point in same.filter(|point| point.proof == proof) {
                point.kind = kind;
            }
        }
    }

    /// What the data of one direction did within a window of time, where there are `columns` to draw it.
    #[must_use]
    pub fn window(
        &self,
        (connection, place): (u32, u16),
        is_forward: bool,
        (from, until): (u64, u64),
        columns: u64,
    ) -> Option<Window> {
        let points = &self.by_place.get(&(connection, place))?.points;
        let start = points.partition_point(|point| point.at < from);
        let end = points.partition_point(|point| point.at < until).max(start);
        let points = points.get(start..end)?;
        let is_exact = points.len() <= EXACT_MAX;
        let mut window =
            Window { is_exact, sent: Vec::new(), acknowledged: Vec::new(), selective: Vec::new() };
        let width = (until.saturating_sub(from) / columns.max(1)).max(1);
        let mut column = (u64::MAX, u64::MAX);
        for point in points {
            let this = (point.at - from) / width;
            if point.is_forward == is_forward && point.length > 0 {
                let is_plain = point.kind == Kind::Data;
                if is_exact || !is_plain || column.0 != this {
                    let (file, frame) = (point.proof.file, point.proof.frame);
                    let end = point.start + u64::from(point.length);
                    window.sent.push((point.at, point.start, end, point.kind, file, frame));
                } else if let Some(last) = window.sent.last_mut().filter(|last| last.3 == Kind::Data) {
                    last.2 = last.2.max(point.start + u64::from(point.length));
                }
                column.0 = this;
            }
            if point.is_forward != is_forward
                && let Some(number) = point.acknowledges
                && (is_exact || column.1 != this)
            {
                column.1 = this;
                window.acknowledged.push((point.at, number, number + u64::from(point.window)));
                let sacks = point.sacks.iter().filter(|(_, to)| *to > 0);
                window.selective.extend(sacks.map(|(from, to)| (point.at, *from, *to)));
            }
        }
        Some(window)
    }
}
