//! A sender and a receiver with a channel between them that delays, and loses blocks and reports.

use gannet_machine::rng::Rng;
use gannet_proto::rlcmac::rlc::{Ending, Mode, Receiver, Report, Sender, Sent};
use gannet_wire::rlcmac::coding::{CodingScheme, HEADER_LEN};
use std::collections::VecDeque;

/// How a run goes.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    pub seed: u64,
    pub mode: Mode,
    /// Of 100 blocks.
    pub blocks_lost: u64,
    /// Of 100 reports.
    pub reports_lost: u64,
    /// LL-PDUs.
    pub pdus: usize,
    /// A report is made every so many blocks.
    pub report_every: u64,
    /// Block periods until a block or a report is there.
    pub delay: u64,
    /// The sender knows when a report was made.
    pub knows_time: bool,
    pub ending: Ending,
}

/// Everything that is on its way, with the period in which it arrives.
pub struct World {
    pub run: Run,
    pub rng: Rng,
    pub sender: Sender<Vec<u8>>,
    pub receiver: Receiver,
    blocks: VecDeque<(u64, Sent, u64)>,
    reports: VecDeque<(u64, Report, u64)>,
    now: u64,
    serial_there: u64,
    pub pushed: Vec<Vec<u8>>,
    /// LL-PDUs with the number of blocks that are missing in each.
    pub delivered: Vec<(Vec<u8>, u32)>,
    pub done: Vec<Vec<u8>>,
    pub lost: u64,
    pub field_octets: u64,
    pub air_octets: u64,
}

impl World {
    pub fn new(run: Run) -> Self {
        Self {
            run,
            rng: Rng::seeded(run.seed),
            sender: Sender::new(run.mode, CodingScheme::Cs1),
            receiver: Receiver::new(run.mode),
            blocks: VecDeque::new(),
            reports: VecDeque::new(),
            now: 0,
            serial_there: 0,
            pushed: Vec::new(),
            delivered: Vec::new(),
            done: Vec::new(),
            lost: 0,
            field_octets: 0,
            air_octets: 0,
        }
    }

    /// One block period.
    pub fn step(&mut self) {
        self.now += 1;
        self.offer();
        if let Some(sent) = self.sender.next_block(self.ending()) {
            self.send(sent);
        }
        while self.blocks.front().is_some_and(|(due, ..)| *due <= self.now) {
            let (_, sent, serial) = self.blocks.pop_front().unwrap();
            self.serial_there = serial;
            let delivered = &mut self.delivered;
            let received = self.receiver.receive(sent.bsn, sent.is_final, &sent.body, |pdu| {
                delivered.push((pdu.octets.to_vec(), pdu.missing));
            });
            received.unwrap();
        }
        if self.now.is_multiple_of(self.run.report_every) && self.rng.below(100) >= self.run.reports_lost {
            self.reports.push_back((self.now + self.run.delay, self.receiver.report(), self.serial_there));
        }
        while self.reports.front().is_some_and(|(due, ..)| *due <= self.now) {
            let (_, report, serial) = self.reports.pop_front().unwrap();
            let sent_before = self.run.knows_time.then_some(serial);
            // A report that was overtaken by the end of the TBF is stale.
            let _ = self.sender.acknowledge(&report, sent_before);
        }
        self.done.extend(std::iter::from_fn(|| self.sender.pop_done()));
        self.check();
    }

    /// LL-PDUs come in crowds; all of them are there before a countdown can begin.
    fn offer(&mut self) {
        let is_late = self.run.ending != Ending::Open && self.sender.waiting_octets() < 2000;
        while self.pushed.len() < self.run.pdus && (is_late || self.rng.below(4) == 0) {
            let longest = if self.rng.below(3) == 0 { 1520 } else { 60 };
            let octets = 1 + self.rng.below(longest) as usize;
            let number = self.pushed.len();
            let pdu: Vec<u8> = (0..octets).map(|at| (number * 31 + at * 7) as u8).collect();
            self.sender.push(pdu.clone()).unwrap();
            self.pushed.push(pdu);
        }
        if self.rng.below(50) == 0 {
            self.sender.set_scheme(CodingScheme::of_command(self.rng.u32() as u8));
        }
    }

    fn ending(&self) -> Ending {
        if self.pushed.len() < self.run.pdus { Ending::Open } else { self.run.ending }
    }

    fn send(&mut self, sent: Sent) {
        self.air_octets += (HEADER_LEN + sent.body.scheme().data_octets()) as u64;
        if sent.kind == gannet_proto::rlcmac::rlc::Kind::New {
            self.field_octets += sent.body.scheme().data_octets() as u64;
        }
        if self.rng.below(100) < self.run.blocks_lost {
            self.lost += 1;
        } else {
            self.blocks.push_back((self.now + self.run.delay, sent, self.sender.serial()));
        }
    }

    /// What holds at any time.
    fn check(&self) {
        let counts = self.sender.counts();
        let there = self.receiver.counts();
        assert_eq!(counts.sent(), self.lost + self.blocks.len() as u64 + there.arrived());
        assert_eq!((there.outside, there.malformed), (0, 0));
        let octets =
            counts.ll_pdu_octets + counts.indicator_octets + counts.tlli_octets + counts.filler_octets;
        assert_eq!((octets, counts.air_octets()), (self.field_octets, self.air_octets));
        assert_eq!(self.done, self.pushed[..self.done.len()]);
        if self.run.mode == Mode::Acknowledged {
            assert_eq!(counts.new, counts.acknowledged + self.sender.unacknowledged() as u64);
            assert!(self.sender.outstanding() <= 64);
            assert_eq!(there.too_long, 0);
            assert!(self.done.len() <= self.delivered.len());
            let whole: Vec<_> =
                self.pushed[..self.delivered.len()].iter().map(|pdu| (pdu.clone(), 0)).collect();
            assert_eq!(self.delivered, whole);
        }
    }
}
