//! One TBF as it passes: its numbers, its reports, and why its blocks come again.

use super::polls::Polls;
use super::report::{Again, BlockMark, Counts, End, SentAgain, Stall, Tbf};
use super::{Here, Settings, frames};
use crate::record::{AckNack, DataBlock, Direction, Proof};
use crate::series::{Series, real};
use std::collections::VecDeque;

/// Numbers of blocks are modulo this (44.060, 9.3).
const NUMBERS: u64 = 128;
/// The window of GPRS (44.060, 9.1.9).
const WINDOW: u64 = 64;

/// Frames of a block.
const BLOCK_FRAMES: u32 = 4;

/// What is known of one number.
#[derive(Debug, Clone, Copy, Default)]
struct Block {
    digest: u64,
    /// Copies that were seen: 0 where later blocks came first.
    copies: u32,
    last: Option<Here>,
    /// The frame of the first.
    first: Option<Proof>,
    /// Whether a report said that it has arrived.
    has_arrived: bool,
    /// The last report that told of it since its last copy, and the one before.
    told: Option<Told>,
    told_before: Option<Told>,
    /// Reports that said that it has not arrived, and the last of them.
    denials: u32,
    denied_by: Option<Proof>,
    is_late: bool,
}

impl Block {
    const fn tell(&mut self, told: Told) {
        (self.told, self.told_before) = (Some(told), self.told);
    }

    /// What the sender of a copy had heard of it: a report whose last frame had not come is none.
    fn heard(&self, here: Here) -> Option<Told> {
        let is_heard = |told: &Told| frames::since(here.frame, told.by.frame) >= BLOCK_FRAMES;
        self.told.filter(is_heard).or(self.told_before.filter(is_heard))
    }

    /// A report lacks it. `is_before` says that it stands before the starting number. From that number on a block has not arrived
    /// either, where it could have when the report was made.
    fn deny(&mut self, here: Here, lag_frames: u32, is_before: bool) {
        let could_have = |last: Here| frames::since(here.frame, last.frame) >= lag_frames;
        let is_in_time = self.copies == 0 || self.last.is_some_and(could_have);
        if is_in_time || is_before && self.told.is_none_or(|told| !told.is_in_time) {
            self.tell(Told { by: here, has_arrived: false, is_in_time });
        }
        if is_before {
            self.denials += 1;
            self.denied_by = Some(here.proof);
        }
    }
}

/// What a report says of a block.
#[derive(Debug, Clone, Copy)]
struct Told {
    by: Here,
    /// It has arrived.
    has_arrived: bool,
    /// The last copy could have arrived when the report was made.
    is_in_time: bool,
}

/// One TBF.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) tbf: Tbf,
    /// Blocks from `first` on.
    blocks: VecDeque<Block>,
    /// The number of the first of them.
    first: u64,
    /// Nothing from here on was sent.
    pub(super) next: u64,
    /// Everything below has arrived.
    acknowledged: u64,
    is_begun: bool,
    since_report: u64,
    pub(super) polls: Polls,
    /// What its last new block begins goes on in the next one.
    is_inside: bool,
    /// Timeslots in which its blocks were since the last assignment.
    pub(super) used: u8,
    lag_frames: u32,
    pub(super) has_final_block: bool,
    most_again: usize,
    slot_rate_sum: f64,
}

/// What a data block was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Was {
    New,
    Again(Again),
    /// It belongs to another TBF: the same number has other octets.
    Foreign,
}

impl Flow {
    pub(super) fn new(
        settings: &Settings,
        (place, arfcn): (u16, u16),
        (direction, tfi): (Direction, u8),
        here: Here,
    ) -> Self {
        let tbf = Tbf {
            place,
            arfcn,
            direction,
            tfi,
            tlli: None,
            timeslots: 0,
            asked: None,
            assigned: None,
            first_data: None,
            last_new: None,
            last: (here.at, here.proof),
            end: End::Open,
            blocks: 0,
            user_octets: 0,
            line_rate: 0.0,
            again: Counts::default(),
            sent_again: Vec::new(),
            late: 0,
            reports: 0,
            report_intervals: Series::new(settings.points_max),
            poll_intervals: Series::new(settings.points_max),
            polls_or_stalls: 0,
            polls_unanswered: 0,
            stalls: Vec::new(),
            round_trip_ns: None,
            dummies: 0,
            fillers: 0,
            first_filler: None,
            packets: 0,
            acks: Series::new(settings.points_max),
            marks: Series::new(settings.points_max),
        };
        Self {
            tbf,
            blocks: VecDeque::new(),
            first: 0,
            next: 0,
            acknowledged: 0,
            is_begun: false,
            since_report: 0,
            polls: Polls::default(),
            is_inside: false,
            used: 0,
            lag_frames: settings.lag_frames,
            has_final_block: false,
            most_again: settings.sent_again_max,
            slot_rate_sum: 0.0,
        }
    }

    /// The number nearest to the window whose lower seven bits these are. Counting begins at 128.
    fn number(&self, bsn: u8) -> u64 {
        let ahead = (u64::from(bsn) + NUMBERS - self.next % NUMBERS) % NUMBERS;
        let number = self.next + ahead;
        if ahead >= WINDOW { number.saturating_sub(NUMBERS) } else { number }
    }

    fn get(&mut self, number: u64) -> Option<&mut Block> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.blocks.get_mut(index)
    }

    /// Whether this block was seen.
    pub(super) fn knows(&mut self, block: &DataBlock) -> bool {
        let number = self.number(block.bsn);
        self.get(number).is_some_and(|known| known.copies > 0 && known.digest == block.digest)
    }

    /// It may have more to send: an LL-PDU of which a part was sent, and a window that is not full.
    pub(super) const fn may_have_data(&self) -> bool {
        self.is_inside && self.next - self.acknowledged < WINDOW
    }

    /// Whether one of its blocks was first seen in this frame of the capture.
    pub(super) fn began_in(&self, proof: Proof) -> bool {
        self.blocks.iter().any(|block| block.first == Some(proof))
    }

    /// A data block.
    pub(super) fn data(&mut self, (block, timeslot): (&DataBlock, u8), here: Here) -> Was {
        if !self.is_begun {
            self.is_begun = true;
            // A capture that begins within a TBF begins at any number.
            self.next = NUMBERS + u64::from(block.bsn);
            self.first = self.next;
            self.acknowledged = self.next;
        }
        let number = self.number(block.bsn);
        let known = self.get(number).filter(|known| known.copies > 0).map(|known| known.digest);
        if known.is_some_and(|digest| digest != block.digest) {
            return Was::Foreign;
        }
        self.tbf.last = (here.at, here.proof);
        self.tbf.first_data.get_or_insert((here.at, here.proof));
        self.tbf.tlli = self.tbf.tlli.or(block.tlli);
        self.tbf.polls_unanswered += self.polls.expire(here.frame);
        let is_to_poll = self.polls.unanswered() == 0 && block.rrbp.is_some();
        self.tbf.polls_or_stalls += u64::from(block.polls_or_stalls);
        if let Some(blocks) = self.polls.block(here.frame, block.rrbp) {
            self.tbf.poll_intervals.push(blocks);
        }
        self.since_report += 1;
        self.used |= 1 << (timeslot % 8);
        self.has_final_block |= block.countdown == 0;
        if known.is_some() {
            return Was::Again(self.again(number, here, is_to_poll));
        }
        self.is_inside = block.goes_on;
        self.new_block(number, (block, timeslot), here);
        Was::New
    }

    fn new_block(&mut self, number: u64, (block, timeslot): (&DataBlock, u8), here: Here) {
        self.tbf.blocks += 1;
        if block.is_filler {
            self.tbf.fillers += 1;
            self.tbf.first_filler.get_or_insert((here.at, here.proof));
        }
        self.tbf.user_octets += u64::from(block.user_octets);
        self.tbf.last_new = Some((here.at, here.proof));
        self.tbf.timeslots |= 1 << (timeslot % 8);
        self.slot_rate_sum += block.scheme.map_or(0.0, |scheme| real(scheme.bits_per_second()));
        let new = Block {
            digest: block.digest,
            copies: 1,
            last: Some(here),
            first: Some(here.proof),
            ..Block::default()
        };
        if number < self.next {
            // Lost copies from before the first block of the capture stand below.
            while self.first > number {
                self.blocks.push_front(Block::default());
                self.first -= 1;
            }
            self.tbf.late += 1;
            if let Some(known) = self.get(number) {
                let Block { denials, denied_by, has_arrived, .. } = *known;
                *known = Block { is_late: true, denials, denied_by, has_arrived, ..new };
            }
            self.tbf.marks.push((here.at, number, BlockMark::Late));
            return;
        }
        while self.first + (self.blocks.len() as u64) < number {
            self.blocks.push_back(Block::default());
        }
        self.blocks.push_back(new);
        self.next = number + 1;
        while self.blocks.len() as u64 > NUMBERS {
            self.blocks.pop_front();
            self.first += 1;
        }
        // What left the window has arrived, though the report that says so was not seen.
        self.acknowledged = self.acknowledged.max(self.next.saturating_sub(WINDOW));
        let mark = if block.is_filler { BlockMark::Filler } else { BlockMark::New };
        self.tbf.marks.push((here.at, number, mark));
        if self.next - self.acknowledged >= WINDOW {
            self.tbf.stalls.push(Stall { from: (here.at, here.proof), until: None });
        }
    }

    fn again(&mut self, number: u64, here: Here, is_to_poll: bool) -> Again {
        let direction = self.tbf.direction;
        let Some(block) = self.get(number) else { return Again::Premature };
        let Some(before) = block.last else { return Again::Premature };
        let told = block.heard(here);
        // Uplink copies that the radio loses are not in the capture: two reports before the first one that came brought two.
        let is_second_of_two = direction == Direction::Up && block.is_late && block.denials > block.copies;
        let why = match told {
            _ if is_second_of_two => Again::Repeated,
            Some(told) if told.has_arrived => Again::Acknowledged,
            Some(told) if told.is_in_time => Again::Needed,
            Some(_) => Again::Repeated,
            None if is_to_poll => Again::Polling,
            None => Again::Premature,
        };
        let asked_by = block.denied_by.filter(|_| is_second_of_two);
        block.copies += 1;
        block.last = Some(here);
        // What the sender hears while it sends the copy was said before that could arrive.
        let unheard = block.told.filter(|told| frames::since(here.frame, told.by.frame) < BLOCK_FRAMES);
        block.told = unheard.map(|told| Told { is_in_time: told.has_arrived, ..told });
        block.told = block.told.or(told.filter(|told| told.has_arrived));
        block.told_before = None;
        let bsn = u8::try_from(number % NUMBERS).unwrap_or(0);
        let report = told.map(|told| told.by.proof).or(asked_by);
        let again = SentAgain {
            at: here.at,
            proof: here.proof,
            before: before.proof,
            report,
            bsn,
            why,
            is_beside_others: false,
        };
        self.tbf.again.add(why);
        if self.tbf.sent_again.len() < self.most_again {
            self.tbf.sent_again.push(again);
        }
        self.tbf.marks.push((here.at, number, BlockMark::Again(why)));
        why
    }

    /// The premature copy in this frame of the capture took the place of another TBF's data.
    pub(super) fn was_beside_others(&mut self, proof: Proof) {
        self.tbf.again.premature_beside_others += 1;
        if let Some(again) = self.tbf.sent_again.iter_mut().rev().find(|again| again.proof == proof) {
            again.is_beside_others = true;
        }
    }

    /// A report on it. Gives the shortest time that a block took until it was reported.
    pub(super) fn report(&mut self, report: &AckNack, here: Here) -> Option<u64> {
        self.tbf.last = (here.at, here.proof);
        self.tbf.reports += 1;
        self.tbf.report_intervals.push(self.since_report);
        self.since_report = 0;
        self.tbf.polls_unanswered += self.polls.expire(here.frame);
        self.polls.answered(here.frame);
        if !self.is_begun {
            return None;
        }
        // The starting number is the receiver's next one: at most the sender's.
        let behind = (self.next % NUMBERS + NUMBERS - u64::from(report.ssn) % NUMBERS) % NUMBERS;
        let start = self.next.checked_sub(behind).filter(|_| behind <= WINDOW)?;
        let mut shortest = None;
        for number in start.saturating_sub(WINDOW)..self.next {
            let back = start.checked_sub(1 + number);
            let has_arrived = report.is_final || back.is_some_and(|back| report.received >> back & 1 == 1);
            let lag_frames = self.lag_frames;
            let Some(block) = self.get(number).filter(|block| !block.has_arrived) else { continue };
            if has_arrived {
                block.has_arrived = true;
                block.tell(Told { by: here, has_arrived: true, is_in_time: true });
                if let Some(last) = block.last.filter(|_| block.copies == 1) {
                    let took = here.at.0.saturating_sub(last.at.0);
                    shortest = Some(shortest.map_or(took, |least: u64| least.min(took)));
                }
            } else {
                block.deny(here, lag_frames, back.is_some());
            }
        }
        self.advance(report, start, here);
        self.tbf.round_trip_ns = match (self.tbf.round_trip_ns, shortest) {
            (Some(known), Some(new)) => Some(known.min(new)),
            (known, new) => known.or(new),
        };
        self.tbf.marks.push((here.at, self.acknowledged, BlockMark::Report));
        shortest
    }

    /// Lets the window pass what has arrived.
    fn advance(&mut self, report: &AckNack, start: u64, here: Here) {
        let was = self.acknowledged;
        let end = if report.is_final { self.next } else { start };
        while self.acknowledged < end && self.has_arrived(self.acknowledged, report, start) {
            self.acknowledged += 1;
        }
        if self.acknowledged > was
            && let Some(stall) = self.tbf.stalls.last_mut().filter(|stall| stall.until.is_none())
        {
            stall.until = Some((here.at, here.proof));
        }
    }

    fn has_arrived(&mut self, number: u64, report: &AckNack, start: u64) -> bool {
        let is_said = |back: u64| back >= WINDOW || report.received >> back & 1 == 1;
        report.is_final
            || start.checked_sub(1 + number).is_some_and(is_said)
            || self.get(number).is_some_and(|block| block.has_arrived)
    }

    /// The timeslots' and schemes' rate, when all is known.
    pub(super) fn finish(mut self, end: End) -> Tbf {
        self.tbf.end = end;
        let slots = f64::from(self.tbf.timeslots.count_ones());
        if self.tbf.blocks > 0 {
            self.tbf.line_rate = self.slot_rate_sum / real(self.tbf.blocks) * slots;
        }
        if end != End::Open {
            self.tbf.polls_unanswered += self.polls.unanswered();
        }
        self.tbf
    }
}
