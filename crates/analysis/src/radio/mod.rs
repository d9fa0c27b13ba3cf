//! Blocks of RLC/MAC, as they pass one place: TBFs, what was sent again and why, stalls, reports, and what the blocks of a cell were
//! spent on.
//!
//! | a block that comes again is | when |
//! |---|---|
//! | needed | a report since its last copy says that it has not arrived |
//! | premature | no report since its last copy tells of it: there was nothing else to send |
//! | repeated | the report since its last copy came sooner than a round trip of RLC after that copy, which was itself a second one; or, in uplink, it is the second copy after two reports |
//! | after it was acknowledged | a report had said that it has arrived |
//!
//! The round trip of RLC is the shortest time from a block to a report that says that it has arrived, so far in the cell and direction.
//! A capture at the network has the downlink as it was sent and the uplink as it arrived.

mod flow;
pub mod report;
#[cfg(test)]
mod tests;

use crate::record::{
    AckNack, Assignment, BlockContents, DataBlock, Direction, Proof, RadioBlock, Seen, Stamp,
};
use flow::{Flow, Was};
use report::{CellReport, End, RadioReport, Tbf, Use};
use std::collections::{BTreeMap, VecDeque};

/// A TBF of which nothing was heard for so long has ended (T3169, T3195: 44.060, clause 13).
const SILENT_NS: u64 = 5_000_000_000;
/// Another TBF counts as having data when it sent new data within this time: ten block periods.
const BESIDE_NS: u64 = 200_000_000;
/// A downlink TBF has nothing new when it sent nothing new for two block periods.
const NOTHING_NEW_NS: u64 = 40_000_000;
/// Access bursts that wait for an assignment.
const ACCESSES_MAX: usize = 64;

/// Limits of what is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Points of each TBF's series.
    pub points_max: usize,
    /// Blocks sent again that are kept for each TBF; more are counted.
    pub sent_again_max: usize,
    /// TBFs that are kept; more are counted.
    pub tbfs_max: usize,
    /// The round trip of RLC, in nanoseconds, before one was seen.
    pub round_trip_ns: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { points_max: 512, sent_again_max: 256, tbfs_max: 20_000, round_trip_ns: 100_000_000 }
    }
}

/// Place, channel number, direction, TFI.
type Key = (u16, u16, Direction, u8);

/// A cell at one place.
#[derive(Debug)]
struct Cell {
    report: CellReport,
    accesses: VecDeque<(Stamp, Proof)>,
    /// The shortest round trips: downlink, uplink.
    round_ns: [Option<u64>; 2],
}

/// All blocks of a reading.
#[derive(Debug, Default)]
pub struct Radio {
    settings: Settings,
    cells: BTreeMap<(u16, u16), Cell>,
    flows: BTreeMap<Key, Flow>,
    done: Vec<Tbf>,
    besides: u64,
}

impl Radio {
    /// Without any.
    #[must_use]
    pub const fn new(settings: Settings) -> Self {
        Self { settings, cells: BTreeMap::new(), flows: BTreeMap::new(), done: Vec::new(), besides: 0 }
    }

    /// Takes a block. Those of one place come in the order of time.
    pub fn take(&mut self, seen: &Seen<RadioBlock>) {
        let (block, here) = (&seen.what, (seen.at, seen.proof));
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
            round_ns: [None; 2],
        })
    }

    /// The TBF of a key, which begins where there is none.
    fn flow(&mut self, key: Key, here: (Stamp, Proof)) -> &mut Flow {
        let (place, arfcn, direction, tfi) = key;
        let new = || Flow::new(&self.settings, (place, arfcn), (direction, tfi), here);
        self.flows.entry(key).or_insert_with(new)
    }

    fn data(&mut self, seen: &Seen<RadioBlock>, data: &DataBlock) {
        let (block, here) = (&seen.what, (seen.at, seen.proof));
        let key = (seen.place, block.arfcn, block.direction, data.tfi);
        self.end_if_silent(key, seen.at);
        let is_over = |flow: &mut Flow| flow.tbf.end == End::Released && !flow.knows(data);
        if self.flows.get_mut(&key).is_some_and(is_over) {
            self.end(key, End::Released);
        }
        let round_ns = self.round_ns(key);
        let is_beside_others = self.is_beside_others(key, block.timeslot, seen.at);
        let mut was = self.flow(key, here).data((data, block.timeslot), here, (round_ns, is_beside_others));
        if was == Was::Foreign {
            self.end(key, End::Replaced);
            was = self.flow(key, here).data((data, block.timeslot), here, (round_ns, is_beside_others));
        }
        let Some(cell) = self.cells.get_mut(&(seen.place, block.arfcn)) else { return };
        let spent = match block.direction {
            Direction::Down => &mut cell.report.down,
            Direction::Up => &mut cell.report.up,
        };
        if was == Was::Again {
            spent.again += 1;
        } else {
            spent.new += 1;
            spent.user_octets += u64::from(data.user_octets);
            spent.field_octets += data.scheme.map_or(0, |scheme| scheme.data_octets() as u64);
        }
    }

    /// The shortest round trip of RLC in a cell and direction so far.
    fn round_ns(&self, (place, arfcn, direction, _): Key) -> u64 {
        let known = self.cells.get(&(place, arfcn)).and_then(|cell| match direction {
            Direction::Down => cell.round_ns[0],
            Direction::Up => cell.round_ns[1],
        });
        known.unwrap_or(self.settings.round_trip_ns)
    }

    /// Whether another TBF of the cell and direction that shares the timeslot has just sent new data.
    fn is_beside_others(&self, key: Key, timeslot: u8, at: Stamp) -> bool {
        let (place, arfcn, direction, tfi) = key;
        let all = (place, arfcn, direction, 0)..=(place, arfcn, direction, u8::MAX);
        self.flows.range(all).any(|((.., other), flow)| {
            let is_fresh = |(last, _): (Stamp, Proof)| at.0.saturating_sub(last.0) <= BESIDE_NS;
            let shares = flow.tbf.timeslots >> (timeslot % 8) & 1 == 1;
            *other != tfi && shares && flow.tbf.end == End::Open && flow.tbf.last_new.is_some_and(is_fresh)
        })
    }

    fn report(&mut self, seen: &Seen<RadioBlock>, report: &AckNack) {
        let key = (seen.place, seen.what.arfcn, report.of, report.tfi);
        self.end_if_silent(key, seen.at);
        let Some(flow) = self.flows.get_mut(&key).filter(|flow| flow.tbf.end == End::Open) else { return };
        let shortest = flow.report(report, (seen.at, seen.proof));
        if report.is_final {
            flow.tbf.end = End::Released;
        }
        if let (Some(new), Some(cell)) = (shortest, self.cells.get_mut(&(key.0, key.1))) {
            let [down, up] = &mut cell.round_ns;
            let known = if report.of == Direction::Down { down } else { up };
            *known = Some(known.map_or(new, |known| known.min(new)));
        }
    }

    fn assignment(&mut self, seen: &Seen<RadioBlock>, assignment: &Assignment) {
        let here = (seen.at, seen.proof);
        let asked = (assignment.is_common && assignment.of == Direction::Up)
            .then(|| self.asked((seen.place, seen.what.arfcn), seen.at))
            .flatten();
        let Some(tfi) = assignment.tfi else { return };
        let key = (seen.place, seen.what.arfcn, assignment.of, tfi);
        self.end_if_silent(key, seen.at);
        let is_another = self.flows.get(&key).is_some_and(|flow| {
            let tbf = &flow.tbf;
            let other_mobile =
                matches!((tbf.tlli, assignment.tlli), (Some(one), Some(other)) if one != other);
            tbf.end != End::Open || other_mobile || assignment.is_common && tbf.first_data.is_some()
        });
        if is_another {
            self.end(key, End::Replaced);
        }
        let tbf = &mut self.flow(key, here).tbf;
        tbf.asked = tbf.asked.or(asked);
        tbf.assigned.get_or_insert(here);
        tbf.tlli = tbf.tlli.or(assignment.tlli);
        tbf.last = here;
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
