//! Blocks of RLC/MAC, as they pass one place: TBFs, what was sent again and why, stalls, reports, and what the blocks of a cell were
//! spent on.
//!
//! | a block that comes again is | when |
//! |---|---|
//! | needed | a report since its last copy says that it has not arrived, and was made when it could have |
//! | premature | no report since its last copy tells of it: there was nothing else to send |
//! | to poll | the same, and it polls the mobile, of which no poll is unanswered: nothing but a data block can poll (44.060, 9.3.2.5) |
//! | repeated | the reports since its last copy that lack it were all made before that copy could arrive; or, in uplink, it is the second copy after two reports |
//! | after it was acknowledged | a report had said that it has arrived |
//!
//! A report can tell of a block whose four frames are over when its own begin ([`Settings::lag_frames`]). It tells of the blocks before its
//! starting number by its bitmap, and that none from that number on has arrived (44.060, 9.1.8).
//! A capture at the network has the downlink as it was sent and the uplink as it arrived.

mod acks;
mod flow;
mod frames;
mod polls;
pub mod report;
#[cfg(test)]
mod tests;

use crate::record::{
    AckNack, Assignment, BlockContents, DataBlock, Direction, Packet, Proof, RadioBlock, Seen, Stamp,
    TcpSegment,
};
use flow::{Flow, Was};
use report::{Again, CellReport, End, RadioReport, Tbf, Use};
use std::collections::{BTreeMap, VecDeque};

/// A TBF of which nothing was heard for so long has ended (T3169, T3195: 44.060, clause 13).
const SILENT_NS: u64 = 5_000_000_000;
/// Another TBF counts as having data when it sent new data within this time: ten block periods.
const BESIDE_NS: u64 = 200_000_000;
/// A downlink TBF has nothing new when it sent nothing new for two block periods.
const NOTHING_NEW_NS: u64 = 40_000_000;
/// Access bursts that wait for an assignment.
const ACCESSES_MAX: usize = 64;

/// Premature copies of which it is not known whether they took another's place.
const DOUBTS_MAX: usize = 4096;

/// Limits of what is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Points of each TBF's series.
    pub points_max: usize,
    /// Blocks sent again that are kept for each TBF; more are counted.
    pub sent_again_max: usize,
    /// TBFs that are kept; more are counted.
    pub tbfs_max: usize,
    /// Frames from the first of a block to the first of a report that can tell of it: those of the block at least.
    pub lag_frames: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self { points_max: 512, sent_again_max: 256, tbfs_max: 20_000, lag_frames: 4 }
    }
}

/// Place, channel number, direction, TFI.
type Key = (u16, u16, Direction, u8);

/// When and where a block was seen.
#[derive(Debug, Clone, Copy)]
struct Here {
    at: Stamp,
    proof: Proof,
    /// Its first TDMA frame.
    frame: u32,
}

/// A cell at one place.
#[derive(Debug)]
struct Cell {
    report: CellReport,
    accesses: VecDeque<(Stamp, Proof)>,
    /// Requests for an uplink TBF in reports on these downlink TBFs.
    requests: VecDeque<(u8, Stamp, Proof)>,
}

/// All blocks of a reading.
#[derive(Debug, Default)]
pub struct Radio {
    settings: Settings,
    cells: BTreeMap<(u16, u16), Cell>,
    flows: BTreeMap<Key, Flow>,
    done: Vec<Tbf>,
    besides: u64,
    has_frame_numbers: bool,
    acks: acks::Acks,
    /// Premature copies that took the place of another TBF's data, if that goes on: the other's key, their own, and their frame.
    doubts: Vec<(Key, Key, Proof)>,
}

impl Radio {
    /// Without any.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings, ..Self::default() }
    }

    /// Takes a block. Those of one place come in the order of time.
    pub fn take(&mut self, seen: &Seen<RadioBlock>) {
        let (block, here) = (&seen.what, (seen.at, seen.proof));
        self.has_frame_numbers |= block.frame_number != 0;
        let cell = self.cell((seen.place, block.arfcn), here);
        cell.report.spans.1 = here;
        let spent = match block.direction {
            Direction::Down => &mut cell.report.down,
            Direction::Up => &mut cell.report.up,
        };
        match &block.contents {
            BlockContents::Data(data) => self.data(seen, data),
            BlockContents::AckNack(report) => {
                spent.reports += 1;
                self.report(seen, report);
            }
            BlockContents::Assignment(assignment) => {
                if assignment.is_common {
                    cell.report.common_assignments += 1;
                } else {
                    spent.assignments += 1;
                }
                self.assignment(seen, assignment);
            }
            BlockContents::Control { .. } => spent.control += 1,
            BlockContents::Dummy => {
                spent.dummy += 1;
                self.dummy(seen);
            }
            BlockContents::Access => {
                cell.report.accesses += 1;
                if cell.accesses.len() < ACCESSES_MAX {
                    cell.accesses.push_back(here);
                }
            }
            BlockContents::Unreadable => spent.unreadable += 1,
        }
    }

    fn cell(&mut self, (place, arfcn): (u16, u16), here: (Stamp, Proof)) -> &mut Cell {
        self.cells.entry((place, arfcn)).or_insert_with(|| Cell {
            report: CellReport {
                place,
                arfcn,
                down: Use::default(),
                up: Use::default(),
                accesses: 0,
                common_assignments: 0,
                spans: (here, here),
            },
            accesses: VecDeque::new(),
            requests: VecDeque::new(),
        })
    }

    fn here(&self, seen: &Seen<RadioBlock>) -> Here {
        let frame = frames::of(&seen.what, seen.at, self.has_frame_numbers);
        Here { at: seen.at, proof: seen.proof, frame }
    }

    /// The TBF of a key, which begins where there is none.
    fn flow(&mut self, key: Key, here: Here) -> &mut Flow {
        let (place, arfcn, direction, tfi) = key;
        let new = || Flow::new(&self.settings, (place, arfcn), (direction, tfi), here);
        self.flows.entry(key).or_insert_with(new)
    }

    fn data(&mut self, seen: &Seen<RadioBlock>, data: &DataBlock) {
        let (block, here) = (&seen.what, self.here(seen));
        let key = (seen.place, block.arfcn, block.direction, data.tfi);
        self.end_if_silent(key, seen.at);
        let is_over = |flow: &mut Flow| flow.tbf.end == End::Released && !flow.knows(data);
        if self.flows.get_mut(&key).is_some_and(is_over) {
            self.end(key, End::Released);
        }
        let mut was = self.flow(key, here).data((data, block.timeslot), here);
        if was == Was::Foreign {
            self.end(key, End::Replaced);
            was = self.flow(key, here).data((data, block.timeslot), here);
        }
        match was {
            Was::New => self.settle(key, !data.ends_before),
            Was::Again(Again::Premature) => {
                if let Some(other) = self.beside(key, block.timeslot, seen.at)
                    && self.doubts.len() < DOUBTS_MAX
                {
                    self.doubts.push((other, key, seen.proof));
                }
            }
            Was::Again(_) | Was::Foreign => {}
        }
        let Some(cell) = self.cells.get_mut(&(seen.place, block.arfcn)) else { return };
        let spent = match block.direction {
            Direction::Down => &mut cell.report.down,
            Direction::Up => &mut cell.report.up,
        };
        if matches!(was, Was::Again(_)) {
            spent.again += 1;
        } else {
            spent.new += 1;
            spent.user_octets += u64::from(data.user_octets);
            spent.field_octets += data.scheme.map_or(0, |scheme| scheme.data_octets() as u64);
        }
    }

    /// Another TBF of the cell and direction that shares the timeslot, has just sent new data, and is within an LL-PDU.
    fn beside(&self, key: Key, timeslot: u8, at: Stamp) -> Option<Key> {
        let (place, arfcn, direction, tfi) = key;
        let all = (place, arfcn, direction, 0)..=(place, arfcn, direction, u8::MAX);
        let has_data = |key: &Key, flow: &Flow| {
            let is_fresh = |(last, _): (Stamp, Proof)| at.0.saturating_sub(last.0) <= BESIDE_NS;
            let shares = flow.used >> (timeslot % 8) & 1 == 1;
            let is_open = flow.tbf.end == End::Open && flow.tbf.last_new.is_some_and(is_fresh);
            key.3 != tfi && shares && is_open && flow.may_have_data()
        };
        self.flows.range(all).find(|(key, flow)| has_data(key, flow)).map(|(key, _)| *key)
    }

    /// A TBF sends a new block. Where its LL-PDU goes on with that, premature copies since its last one took its place.
    fn settle(&mut self, other: Key, goes_on: bool) {
        let flows = &mut self.flows;
        self.doubts.retain(|(whose, own, proof)| {
            if goes_on
                && *whose == other
                && let Some(flow) = flows.get_mut(own)
            {
                flow.was_beside_others(*proof);
            }
            *whose != other
        });
    }

    fn report(&mut self, seen: &Seen<RadioBlock>, report: &AckNack) {
        let key = (seen.place, seen.what.arfcn, report.of, report.tfi);
        self.end_if_silent(key, seen.at);
        let here = self.here(seen);
        if report.asks
            && let Some(cell) = self.cells.get_mut(&(key.0, key.1))
            && cell.requests.len() < ACCESSES_MAX
        {
            cell.requests.push_back((report.tfi, seen.at, seen.proof));
        }
        let Some(flow) = self.flows.get_mut(&key).filter(|flow| flow.tbf.end == End::Open) else { return };
        flow.report(report, here);
        if report.is_final {
            flow.tbf.end = End::Released;
        }
    }

    fn assignment(&mut self, seen: &Seen<RadioBlock>, assignment: &Assignment) {
        let here = self.here(seen);
        let cell = (seen.place, seen.what.arfcn);
        let asked = match (assignment.of, assignment.through) {
            (Direction::Up, _) if assignment.is_common => self.asked(cell, seen.at),
            (Direction::Up, Some((Direction::Down, by))) => self.requested(cell, by, seen.at),
            _ => None,
        };
        let Some(tfi) = assignment.tfi else { return };
        let speaks = assignment.through.and_then(|(of, by)| self.flows.get(&(cell.0, cell.1, of, by)));
        let tlli = assignment.tlli.or(speaks.and_then(|flow| flow.tbf.tlli));
        let key = (cell.0, cell.1, assignment.of, tfi);
        self.end_if_silent(key, seen.at);
        let is_another = self.flows.get(&key).is_some_and(|flow| {
            let tbf = &flow.tbf;
            let other_mobile =
                matches!((tbf.tlli, assignment.tlli), (Some(one), Some(other)) if one != other);
            let is_elsewhere = assignment.is_common
                || assignment.of == Direction::Down
                    && assignment.through.is_some_and(|by| by != (Direction::Down, tfi));
            tbf.end != End::Open || other_mobile || is_elsewhere && tbf.first_data.is_some()
        });
        if is_another {
            self.end(key, End::Replaced);
        }
        let flow = self.flow(key, here);
        flow.used = 0;
        let tbf = &mut flow.tbf;
        tbf.asked = tbf.asked.or(asked);
        tbf.assigned.get_or_insert((here.at, here.proof));
        tbf.tlli = tbf.tlli.or(tlli);
        tbf.last = (here.at, here.proof);
        if assignment.timeslots != 0 {
            tbf.timeslots = assignment.timeslots;
        }
    }

    /// The first access burst since the assignment before; older ones had no answer.
    fn asked(&mut self, cell: (u16, u16), at: Stamp) -> Option<(Stamp, Proof)> {
        let accesses = &mut self.cells.get_mut(&cell)?.accesses;
        accesses.retain(|(then, _)| at.0.saturating_sub(then.0) <= SILENT_NS);
        let first = accesses.front().copied();
        accesses.clear();
        first
    }

    /// The first request in a report on this downlink TBF since the last assignment through it.
    fn requested(&mut self, cell: (u16, u16), by: u8, at: Stamp) -> Option<(Stamp, Proof)> {
        let requests = &mut self.cells.get_mut(&cell)?.requests;
        requests.retain(|(_, then, _)| at.0.saturating_sub(then.0) <= SILENT_NS);
        let first = requests.iter().find(|(tfi, ..)| *tfi == by).map(|(_, at, proof)| (*at, *proof));
        requests.retain(|(tfi, ..)| *tfi != by);
        first
    }

    /// A packet that was put together on the radio, or seen elsewhere: that is none of the radio's.
    pub fn take_packet(&mut self, seen: &Seen<&Packet>) {
        self.acks.packet(seen);
        if seen.what.direction == Some(Direction::Up)
            && let Some(flow) = flow_of(&mut self.flows, seen.place, seen.what.first)
        {
            flow.tbf.packets += 1;
        }
    }

    /// The segment in the packet that was taken last.
    pub fn take_segment(&mut self, seen: &Seen<&TcpSegment>) {
        if let Some(ack) = self.acks.segment(seen)
            && let Some(flow) = flow_of(&mut self.flows, seen.place, ack.began.1)
        {
            flow.tbf.acks.push(ack);
        }
    }

    fn dummy(&mut self, seen: &Seen<RadioBlock>) {
        let (place, arfcn, direction) = (seen.place, seen.what.arfcn, seen.what.direction);
        let all = (place, arfcn, direction, 0)..=(place, arfcn, direction, u8::MAX);
        for (_, flow) in self.flows.range_mut(all) {
            let tbf = &mut flow.tbf;
            let is_here = tbf.end == End::Open && tbf.timeslots >> (seen.what.timeslot % 8) & 1 == 1;
            let has_nothing = |(last, _): (Stamp, Proof)| seen.at.0.saturating_sub(last.0) > NOTHING_NEW_NS;
            if is_here && tbf.last_new.is_some_and(has_nothing) {
                tbf.dummies += 1;
            }
        }
    }

    fn end_if_silent(&mut self, key: Key, at: Stamp) {
        if self.flows.get(&key).is_some_and(|flow| at.0.saturating_sub(flow.tbf.last.0.0) > SILENT_NS) {
            self.end(key, End::Silent);
        }
    }

    /// A TBF has ended: so, if it was not released before.
    fn end(&mut self, key: Key, end: End) {
        self.doubts.retain(|(other, own, _)| *other != key && *own != key);
        let Some(flow) = self.flows.remove(&key) else { return };
        let end = if flow.tbf.end == End::Released { End::Released } else { end };
        if self.done.len() < self.settings.tbfs_max {
            self.done.push(flow.finish(end));
        } else {
            self.besides += 1;
        }
    }

    /// What is known of everything.
    #[must_use]
    pub fn finish(mut self) -> RadioReport {
        let latest = |key: &Key| self.cells.get(&(key.0, key.1)).map(|cell| cell.report.spans.1.0);
        let open: Vec<(Key, Option<Stamp>)> = self.flows.keys().map(|key| (*key, latest(key))).collect();
        for (key, at) in open {
            self.end_if_silent(key, at.unwrap_or_default());
            self.end(key, End::Open);
        }
        RadioReport {
            cells: self.cells.into_values().map(|cell| cell.report).collect(),
            tbfs: self.done,
            tbfs_besides: self.besides,
        }
    }
}

/// The uplink TBF at a place one of whose blocks was first seen in this frame of the capture.
fn flow_of(flows: &mut BTreeMap<Key, Flow>, place: u16, first: Proof) -> Option<&mut Flow> {
    let all = (place, 0, Direction::Up, 0)..=(place, u16::MAX, Direction::Up, u8::MAX);
    flows
        .range_mut(all)
        .map(|(_, flow)| flow)
        .find(|flow| flow.tbf.direction == Direction::Up && flow.began_in(first))
}
