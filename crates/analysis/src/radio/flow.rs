//! One TBF as it passes: its numbers, its reports, and why its blocks come again.

use super::Settings;
use super::report::{Again, BlockMark, Counts, End, SentAgain, Stall, Tbf};
use crate::record::{AckNack, DataBlock, Direction, Proof, Stamp};
use crate::series::{Series, real};
use std::collections::VecDeque;

/// Numbers of blocks are modulo this (44.060, 9.3).
const NUMBERS: u64 = 128;
/// The window of GPRS (44.060, 9.1.9).
const WINDOW: u64 = 64;
/// A report within this time after a poll is its answer; RRBP names 13 to 26 frames of 4.6 ms, and way and queue come on top.
const ANSWER_NS: u64 = 200_000_000;

/// What is known of one number.
#[derive(Debug, Clone, Copy, Default)]
struct Block {
    digest: u64,
    /// Copies that were seen: 0 where later blocks came first.
    copies: u32,
    last: Option<(Stamp, Proof)>,
    /// Whether a report said that it has arrived.
    has_arrived: bool,
    /// The last report that told of it, and how many denied it.
    report: Option<(Stamp, Proof)>,
    denials: u32,
    is_late: bool,
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
    polled: Option<Stamp>,
    pub(super) has_final_block: bool,
    most_again: usize,
    slot_rate_sum: f64,
}

/// What a data block was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Was {
    New,
    Again,
    /// It belongs to another TBF: the same number has other octets.
    Foreign,
}

impl Flow {
    pub(super) fn new(
        settings: &Settings,
        (place, arfcn): (u16, u16),
        (direction, tfi): (Direction, u8),
        here: (Stamp, Proof),
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
            last: here,
            end: End::Open,
            blocks: 0,
            user_octets: 0,
            line_rate: 0.0,
            again: Counts::default(),
            sent_again: Vec::new(),
            late: 0,
            reports: 0,
            report_intervals: Series::new(settings.points_max),
            polls_or_stalls: 0,
            polls_unanswered: 0,
            stalls: Vec::new(),
            round_trip_ns: None,
            dummies: 0,
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
            polled: None,
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

    /// A data block. `round_ns` is the round trip of RLC, as far as it is known.
    pub(super) fn data(
        &mut self,
        (block, timeslot): (&DataBlock, u8),
        here: (Stamp, Proof),
        (round_ns, is_beside_others): (u64, bool),
    ) -> Was {
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
        self.tbf.last = here;
        self.tbf.first_data.get_or_insert(here);
        self.tbf.tlli = self.tbf.tlli.or(block.tlli);
        self.polls(block, here.0);
        self.since_report += 1;
        self.has_final_block |= block.countdown == 0;
        if known.is_some() {
            self.again(number, here, (round_ns, is_beside_others));
            return Was::Again;
        }
        self.new_block(number, (block, timeslot), here);
        Was::New
    }

    fn polls(&mut self, block: &DataBlock, at: Stamp) {
        if !block.polls_or_stalls {
            return;
        }
        self.tbf.polls_or_stalls += 1;
        if self.tbf.direction == Direction::Down {
            self.tbf.polls_unanswered += u64::from(self.polled.is_some());
            self.polled = Some(at);
        }
    }

    fn new_block(&mut self, number: u64, (block, timeslot): (&DataBlock, u8), here: (Stamp, Proof)) {
        self.tbf.blocks += 1;
        self.tbf.user_octets += u64::from(block.user_octets);
        self.tbf.last_new = Some(here);
        self.tbf.timeslots |= 1 << (timeslot % 8);
        self.slot_rate_sum += block.scheme.map_or(0.0, |scheme| real(scheme.bits_per_second()));
        if number < self.next {
            // Lost copies from before the first block of the capture stand below.
            while self.first > number {
                self.blocks.push_front(Block::default());
                self.first -= 1;
            }
            self.tbf.late += 1;
            if let Some(known) = self.get(number) {
                *known = Block { digest: block.digest, copies: 1, last: Some(here), is_late: true, ..*known };
            }
            self.tbf.marks.push((here.0, number, BlockMark::Late));
            return;
        }
        while self.first + (self.blocks.len() as u64) < number {
            self.blocks.push_back(Block::default());
        }
        self.blocks.push_back(Block {
            digest: block.digest,
            copies: 1,
            last: Some(here),
            ..Block::default()
        });
        self.next = number + 1;
        while self.blocks.len() as u64 > NUMBERS {
            self.blocks.pop_front();
            self.first += 1;
        }
        // What left the window has arrived, though the report that says so was not seen.
        self.acknowledged = self.acknowledged.max(self.next.saturating_sub(WINDOW));
        self.tbf.marks.push((here.0, number, BlockMark::New));
        if self.next - self.acknowledged >= WINDOW {
            self.tbf.stalls.push(Stall { from: here, until: None });
        }
    }

    fn again(&mut self, number: u64, here: (Stamp, Proof), (round_ns, is_beside_others): (u64, bool)) {
        let direction = self.tbf.direction;
        let Some(block) = self.get(number) else { return };
        let Some(before) = block.last else { return };
        let since_copy = block.report.filter(|(at, _)| *at >= before.0);
        // Uplink copies that the radio loses are not in the capture: two reports before the first one that came brought two.
        let is_second_of_two = direction == Direction::Up && block.is_late && block.denials > block.copies;
        let (why, report) = match since_copy {
            _ if is_second_of_two => (Again::Repeated, block.report),
            _ if block.has_arrived => (Again::Acknowledged, block.report),
            // The report was made before the copy that it should tell of could arrive.
            Some((at, _)) if block.copies > 1 && at.0 - before.0.0 < round_ns => {
                (Again::Repeated, since_copy)
            }
            Some(_) => (Again::Needed, since_copy),
            None => (Again::Premature, None),
        };
        block.copies += 1;
        block.last = Some(here);
        let bsn = u8::try_from(number % NUMBERS).unwrap_or(0);
        let report = report.map(|(_, proof)| proof);
        let again =
            SentAgain { at: here.0, proof: here.1, before: before.1, report, bsn, why, is_beside_others };
        self.tbf.again.add(why, is_beside_others);
        if self.tbf.sent_again.len() < self.most_again {
            self.tbf.sent_again.push(again);
        }
        self.tbf.marks.push((here.0, number, BlockMark::Again(why)));
    }

    /// A report on it. Gives the shortest time that a block took until it was reported.
    pub(super) fn report(&mut self, report: &AckNack, here: (Stamp, Proof)) -> Option<u64> {
        self.tbf.last = here;
        self.tbf.reports += 1;
        self.tbf.report_intervals.push(self.since_report);
        self.since_report = 0;
        if let Some(polled) = self.polled.take() {
            self.tbf.polls_unanswered += u64::from(here.0.0.saturating_sub(polled.0) > ANSWER_NS);
        }
        if !self.is_begun {
            return None;
        }
        // The starting number is the receiver's next one: at most the sender's.
        let behind = (self.next % NUMBERS + NUMBERS - u64::from(report.ssn) % NUMBERS) % NUMBERS;
        let start = self.next.checked_sub(behind).filter(|_| behind <= WINDOW)?;
        let mut shortest = None;
        for back in 0..WINDOW {
            let Some(number) = start.checked_sub(1 + back) else { break };
            let has_arrived = report.is_final || report.received >> back & 1 == 1;
            let Some(block) = self.get(number).filter(|block| !block.has_arrived) else { continue };
            block.report = Some(here);
            if has_arrived {
                block.has_arrived = true;
                if let Some(last) = block.last.filter(|_| block.copies == 1) {
                    let took = here.0.0.saturating_sub(last.0.0);
                    shortest = Some(shortest.map_or(took, |least: u64| least.min(took)));
                }
            } else {
                block.denials += 1;
            }
        }
        let was = self.acknowledged;
        while self.acknowledged < start && self.has_arrived(self.acknowledged, report, start) {
            self.acknowledged += 1;
        }
        if self.acknowledged > was
            && let Some(stall) = self.tbf.stalls.last_mut().filter(|stall| stall.until.is_none())
        {
            stall.until = Some(here);
        }
        self.tbf.round_trip_ns = match (self.tbf.round_trip_ns, shortest) {
            (Some(known), Some(new)) => Some(known.min(new)),
            (known, new) => known.or(new),
        };
        self.tbf.marks.push((here.0, self.acknowledged, BlockMark::Report));
        shortest
    }

    fn has_arrived(&mut self, number: u64, report: &AckNack, start: u64) -> bool {
        let back = start - 1 - number;
        let is_said = report.is_final || back >= WINDOW || report.received >> back & 1 == 1;
        is_said || self.get(number).is_some_and(|block| block.has_arrived)
    }

    /// The timeslots' and schemes' rate, when all is known.
    pub(super) fn finish(mut self, end: End) -> Tbf {
        self.tbf.end = end;
        let slots = f64::from(self.tbf.timeslots.count_ones());
        if self.tbf.blocks > 0 {
            self.tbf.line_rate = self.slot_rate_sum / real(self.tbf.blocks) * slots;
        }
        if self.polled.is_some() && end != End::Open {
            self.tbf.polls_unanswered += 1;
        }
        self.tbf
    }
}
