//! One direction of a connection at one place: its segments here, and the other end's answers in `answer.rs`.

use super::Settings;
use super::flight::{Flight, Sending};
use super::number::{FAR, begin, is_older, unwrap};
use super::recovery::{Again, Recovery};
use super::report::{Full, HalfReport, Mark, Outstanding, Retransmission, Segment, Silence, Spurious};
use super::round_trip::{Clock, Estimator, Value};
use crate::record::{Proof, Seen, Stamp, TcpSegment};
use crate::series::{Series, Sums, real, seconds, whole};
use std::collections::{BTreeMap, VecDeque};

pub(super) const FIN: u8 = 0x01;
pub(super) const SYN: u8 = 0x02;
pub(super) const RST: u8 = 0x04;
pub(super) const ACK: u8 = 0x10;
/// Holes that are followed.
const HOLES_MAX: usize = 4_096;
/// Losses that are kept for the estimate of the buffer.
const FULLS_MAX: usize = 256;
/// The shortest time that a segment sent again needs behind those that overtook it, where nothing is known of the round trip.
const REORDERING_NS: u64 = 3_000_000;
/// The shortest time that is given to a sender for its reaction.
const REACTION_NS: u64 = 20_000_000;

/// Octets that did not come, while those behind them did.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hole {
    pub(super) end: u64,
    at: Stamp,
    /// Of the segment that shows it.
    tsval: Option<u32>,
    full: Option<Full>,
}

/// A segment that was sent again and is not acknowledged.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pending {
    /// Its place in the report; beyond its end where the report is full.
    pub(super) index: usize,
    pub(super) start: u64,
    pub(super) at: Stamp,
    pub(super) tsval: Option<u32>,
}

/// The segment with data before.
#[derive(Debug, Clone, Copy)]
struct Last {
    at: Stamp,
    proof: Proof,
    end: u64,
    echoed: Option<Value>,
}

/// One direction at one place.
#[derive(Debug, Clone)]
pub(super) struct Half {
    pub(super) settings: Settings,
    pub(super) flight: Flight,
    is_begun: bool,
    /// The number of the SYN.
    pub(super) origin: u64,
    pub(super) fin: Option<u64>,
    pub(super) clock: Clock,
    pub(super) estimator: Estimator,
    pub(super) recovery: Recovery,
    pub(super) holes: BTreeMap<u64, Hole>,
    pub(super) pending: VecDeque<Pending>,
    pub(super) advances: VecDeque<(Stamp, u64)>,
    /// Since when the other end's answer is waited for.
    pub(super) waits_from: Option<(Stamp, Proof)>,
    /// What must be acknowledged until the last outage is over, and what was sent again before it began.
    pub(super) goal: Option<u64>,
    pub(super) again_since_answer: u64,
    fulls: Vec<Full>,
    last: Option<Last>,
    /// The maximum segment size of the receiver's SYN, and both ends' window scales.
    pub(super) mss: Option<u16>,
    pub(super) scales: (Option<u8>, Option<u8>),
    pub(super) window: u64,
    pub(super) report: HalfReport,
}

impl Half {
    pub(super) fn new(settings: Settings) -> Self {
        let report = HalfReport {
            segments: 0,
            data_segments: 0,
            octets: 0,
            acknowledged_octets: 0,
            data: None,
            throughput: Sums::new(settings.interval_ns, settings.points_max),
            passed: Sums::new(settings.interval_ns, settings.points_max),
            segment: Segment::default(),
            round_trips: Series::new(settings.points_max),
            idle_rtt: None,
            echoes: Series::new(settings.points_max),
            idle_echo: None,
            outstanding: Series::new(settings.points_max),
            outstanding_max: None,
            retransmissions: Vec::new(),
            retransmissions_besides: 0,
            reordered_octets: 0,
            unseen_octets: 0,
            buffers: Vec::new(),
            outages: Vec::new(),
            silence: None,
            keepalives: 0,
            closed_windows: 0,
            window_max: 0,
            strange: 0,
            marks: Series::new(settings.points_max),
        };
        Self {
            settings,
            flight: Flight::default(),
            is_begun: false,
            origin: 0,
            fin: None,
            clock: Clock::default(),
            estimator: Estimator::default(),
            recovery: Recovery::default(),
            holes: BTreeMap::new(),
            pending: VecDeque::new(),
            advances: VecDeque::new(),
            waits_from: None,
            goal: None,
            again_since_answer: 0,
            fulls: Vec::new(),
            last: None,
            mss: None,
            scales: (None, None),
            window: 0,
            report,
        }
    }

    /// The number on the wire without its wrap; `None` where it is of no window. The first one begins.
    pub(super) fn number(&mut self, raw: u32, is_syn: bool) -> Option<u64> {
        if !self.is_begun {
            let first = begin(raw);
            self.is_begun = true;
            self.origin = if is_syn { first } else { first - 1 };
            self.flight.una = first;
            self.flight.next = first;
            return Some(first);
        }
        let number = unwrap(self.flight.next, raw);
        if number.abs_diff(self.flight.next) > FAR {
            self.report.strange += 1;
            return None;
        }
        Some(number)
    }

    /// Counted from the SYN.
    pub(super) const fn counted(&self, number: u64) -> u64 {
        number.saturating_sub(self.origin)
    }

    /// The smallest round trip so far, or nothing.
    pub(super) fn idle_ns(&self) -> u64 {
        self.report.idle_rtt.map_or(0, |idle| idle.rtt_ns)
    }

    /// A segment of this direction. `echoed` is what the other end had acknowledged when it was sent; `round_ns` is the round trip
    /// between both ends, as far as it is known.
    pub(super) fn sent(&mut self, seen: &Seen<TcpSegment>, echoed: Option<Value>, round_ns: u64) {
        let segment = &seen.what;
        self.report.segments += 1;
        let is_syn = segment.flags & SYN != 0;
        let phantoms = u64::from(is_syn) + u64::from(segment.flags & FIN != 0);
        let length = u64::from(segment.length) + phantoms;
        if is_syn {
            self.scales.0 = segment.scale;
        }
        if length == 0 {
            return;
        }
        let Some(start) = self.number(segment.sequence, is_syn) else { return };
        let end = start + length;
        if length == 1 && phantoms == 0 && end == self.flight.next && self.flight.outstanding() == 0 {
            self.report.keepalives += 1;
            return;
        }
        if segment.flags & FIN != 0 {
            self.fin = Some(end - 1);
        }
        if segment.length > 0 {
            self.note_data(seen);
        }
        let sending =
            Sending { at: seen.at, proof: seen.proof, tsval: segment.timestamps.map(|(value, _)| value) };
        let next = self.flight.next;
        if self.flight.outstanding() == 0 {
            self.waits_from = Some((seen.at, seen.proof));
            self.recovery.started(seen.at);
        }
        if start < next {
            self.old_octets((start, end.min(next)), sending, round_ns);
        }
        if start > next {
            self.hole((next, start), sending, round_ns);
        }
        if end > next {
            self.flight.send(start.max(next), end, sending);
            self.mark(seen.at, |half| Mark::Sent(half.counted(start.max(next)), half.counted(end)));
        }
        if segment.length > 0 {
            self.last = Some(Last { at: seen.at, proof: seen.proof, end, echoed });
        }
        self.note_outstanding(seen.at, seen.proof);
    }

    fn note_data(&mut self, seen: &Seen<TcpSegment>) {
        let (here, octets) = ((seen.at, seen.proof), u64::from(seen.what.length));
        let report = &mut self.report;
        report.data_segments += 1;
        report.octets += octets;
        report.passed.add(seen.at, octets);
        let (first, last) = report.data.unwrap_or((here, here));
        let silence = Silence {
            length_ns: seen.at.0.saturating_sub(last.0.0),
            between: (last.1, seen.proof),
            is_waiting: self.flight.outstanding() > 0,
        };
        if silence.length_ns > report.silence.map_or(0, |longest| longest.length_ns) {
            report.silence = Some(silence);
        }
        report.data = Some((first, here));
        // What a host hands to its network card may be several segments at once.
        let most = self.mss.map_or(u64::MAX, u64::from);
        let headers = u64::from(seen.what.ip_octets).saturating_sub(octets);
        if octets <= most && octets > report.segment.octets {
            report.segment = Segment { octets, header_octets: headers };
        } else if report.segment.octets == 0 {
            report.segment = Segment { octets: most.min(octets), header_octets: headers };
        }
    }

    pub(super) fn note_outstanding(&mut self, at: Stamp, proof: Proof) {
        let now = Outstanding { at, octets: self.flight.outstanding(), proof };
        self.report.outstanding.push(now);
        if self.report.outstanding_max.is_none_or(|most| now.octets > most.octets) {
            self.report.outstanding_max = Some(now);
        }
    }

    pub(super) fn mark(&mut self, at: Stamp, mark: impl FnOnce(&Self) -> Mark) {
        let mark = mark(self);
        self.report.marks.push((at, mark));
    }

    /// Octets that were jumped over.
    fn hole(&mut self, (start, end): (u64, u64), sending: Sending, round_ns: u64) {
        if self.holes.len() >= HOLES_MAX {
            self.holes.pop_first();
        }
        let full = if self.holes.is_empty() { self.full_at_receiver(start, round_ns) } else { None };
        self.holes.insert(start, Hole { end, at: sending.at, tsval: sending.tsval, full });
    }

    /// What the segment before a hole says: when it was sent its sender had the acknowledgement whose timestamp it echoes.
    fn full_at_receiver(&self, start: u64, round_ns: u64) -> Option<Full> {
        let last = self.last.filter(|last| last.end == start)?;
        let echoed = last.echoed?;
        let outstanding = start.checked_sub(echoed.acknowledged).filter(|octets| *octets < FAR)?;
        Some(Full {
            at: last.at,
            lost: last.proof,
            replaced: last.proof,
            is_before: false,
            outstanding,
            full_rtt_ns: last.at.0.saturating_sub(echoed.last.0),
            left: self.left_after(start, echoed.last, round_ns),
            retransmission: usize::MAX,
        })
    }

    /// Octets below the highest one that was seen.
    fn old_octets(&mut self, (start, end): (u64, u64), sending: Sending, round_ns: u64) {
        let overlaps =
            |(from, hole): (&u64, &Hole)| (*from < end && hole.end > start).then_some((*from, *hole));
        let holes: Vec<(u64, Hole)> =
            self.holes.range(..end).rev().map_while(overlaps).take(HOLES_MAX).collect();
        let mut filled = 0;
        let mut first = None;
        for (from, hole) in holes {
            self.holes.remove(&from);
            if from < start {
                self.holes.insert(from, Hole { end: start, ..hole });
            }
            if hole.end > end {
                self.holes.insert(end, hole);
            }
            filled += hole.end.min(end) - from.max(start);
            first = Some(hole);
        }
        let Some(hole) = first.filter(|_| filled > 0) else {
            self.again((start, end), sending, None);
            return;
        };
        let is_again = match (sending.tsval, hole.tsval) {
            (Some(value), Some(other)) if value != other => is_older(other, value),
            _ => sending.at.0.saturating_sub(hole.at.0) >= REORDERING_NS.max(round_ns / 2),
        };
        if is_again || filled < end - start {
            self.again((start, end), sending, Some(hole));
            return;
        }
        self.report.reordered_octets += filled;
        self.flight.send(start, end, sending);
        self.mark(sending.at, |half| Mark::Filled(half.counted(start), half.counted(end)));
    }

    /// Octets that were sent before: here, or where a hole is.
    fn again(&mut self, (start, end): (u64, u64), sending: Sending, hole: Option<Hole>) {
        let before = if end <= self.flight.una { None } else { self.flight.send_again(start, end, sending) };
        let again = Again {
            at: sending.at,
            start,
            end,
            una: self.flight.una,
            next: self.flight.next,
            copies_before: before.map_or(1, |before| before.copies),
            last_sent: before.map_or(Stamp(0), |before| before.last.at),
            sacked_above: self.flight.sacked.octets_from(end),
            segment_octets: self.report.segment.octets.max(1),
            timeout_ns: self.estimator.timeout_ns(),
            reaction_ns: REACTION_NS.max(self.idle_ns() / 2),
        };
        let (kind, begins) = self.recovery.judge(&again);
        let index = self.report.retransmissions.len();
        let is_known = end <= self.flight.una;
        let retransmission = Retransmission {
            at: sending.at,
            proof: sending.proof,
            start: self.counted(start),
            end: self.counted(end),
            kind,
            begins,
            before: before.map(|before| (before.last.at, before.last.proof)),
            spurious: is_known.then_some(Spurious::Acknowledged),
        };
        self.again_since_answer += 1;
        if let Some(hole) = hole {
            if before.is_none() && !is_known {
                self.flight.send(start, end, sending);
                // It is no sample of the round trip.
                self.flight.send_again(start, end, sending);
            }
            self.full(hole.full.map(|full| Full { replaced: sending.proof, retransmission: index, ..full }));
            self.mark(sending.at, |half| Mark::Filled(half.counted(start), half.counted(end)));
        } else {
            self.mark(sending.at, |half| Mark::Again(half.counted(start), half.counted(end)));
        }
        if let Some(before) = before.filter(|sent| sent.copies == 1 && begins && start == self.flight.una) {
            let reached = self.advances.back().map_or(before.first.at, |(at, _)| *at);
            self.full(Some(Full {
                at: before.first.at,
                lost: before.first.proof,
                replaced: sending.proof,
                is_before: true,
                outstanding: start - before.una_then.min(start),
                full_rtt_ns: reached.0.saturating_sub(before.first.at.0),
                left: self.left_after(start, before.first.at, self.idle_ns()),
                retransmission: index,
            }));
        }
        if index < self.settings.retransmissions_max {
            self.report.retransmissions.push(retransmission);
        } else {
            self.report.retransmissions_besides += 1;
        }
        if !is_known && self.pending.len() < self.settings.retransmissions_max {
            self.pending.push_back(Pending { index, start, at: sending.at, tsval: sending.tsval });
        }
    }

    fn full(&mut self, full: Option<Full>) {
        if self.fulls.len() < FULLS_MAX {
            self.fulls.extend(full);
        }
    }

    /// Octets below `start` that were not acknowledged one idle round trip after a time. Between two acknowledgements they are taken
    /// to arrive evenly.
    fn left_after(&self, start: u64, from: Stamp, idle_ns: u64) -> Option<u64> {
        let until = from.0.saturating_add(idle_ns);
        let next = self.advances.partition_point(|(at, _)| at.0 <= until);
        let (then, una) = *self.advances.get(next.checked_sub(1)?).filter(|_| idle_ns > 0)?;
        let since = self.advances.get(next).map_or(0.0, |(at, later)| {
            let part = seconds(until.saturating_sub(then.0)) / seconds(at.0.saturating_sub(then.0)).max(1e-9);
            real(later.saturating_sub(una)) * part.clamp(0.0, 1.0)
        });
        Some(start.saturating_sub(una + whole(since)))
    }

    /// Ends: what losses say of the buffer is counted with the smallest round trip of the whole connection. `other_idle_ns` is that of
    /// the other direction.
    pub(super) fn finish(mut self, other_idle_ns: Option<u64>) -> HalfReport {
        let own = self.report.idle_rtt.map(|idle| idle.rtt_ns);
        for full in &self.fulls {
            let is_needless = self
                .report
                .retransmissions
                .get(full.retransmission)
                .is_none_or(|again| again.spurious.is_some());
            let idle_ns = if full.is_before { own } else { other_idle_ns };
            let estimate = idle_ns.and_then(|idle_ns| full.estimate(idle_ns, self.report.segment));
            if !is_needless {
                self.report.buffers.extend(estimate);
            }
        }
        self.report
    }
}
