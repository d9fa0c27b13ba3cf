//! Clause 9.1 of 04.60 (44.060) word by word: arrays of 128 elements, sets, and loops over all of them.

use gannet_proto::rlcmac::rlc::{Kind, Report};
use std::collections::BTreeSet;

const SNS: u32 = 128;
const K: u32 = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Element {
    Invalid,
    Pending,
    Nacked,
    Acked,
}

/// The sending side: V(S), V(A), V(B).
pub struct SendModel {
    v_s: u32,
    v_a: u32,
    v_b: [Element; SNS as usize],
    needed: [bool; SNS as usize],
    last_unasked: Option<u32>,
}

impl SendModel {
    pub fn new() -> Self {
        let v_b = [Element::Invalid; SNS as usize];
        Self { v_s: 0, v_a: 0, v_b, needed: [false; SNS as usize], last_unasked: None }
    }

    /// BSNs from V(A) to V(S) - 1.
    fn window(&self) -> Vec<u32> {
        let mut bsn = self.v_a;
        let mut window = Vec::new();
        while bsn != self.v_s {
            window.push(bsn);
            bsn = (bsn + 1) % SNS;
        }
        window
    }

    pub fn is_stalled(&self) -> bool {
        self.v_s == (self.v_a + K) % SNS
    }

    pub fn unacknowledged(&self) -> usize {
        self.window().iter().filter(|bsn| self.v_b[**bsn as usize] != Element::Acked).count()
    }

    /// What is sent next, and that it is sent.
    pub fn next(&mut self, has_new: bool) -> Option<(u8, Kind)> {
        let window = self.window();
        if let Some(bsn) = window.iter().find(|bsn| self.v_b[**bsn as usize] == Element::Nacked) {
            let was_needed = std::mem::replace(&mut self.needed[*bsn as usize], true);
            self.v_b[*bsn as usize] = Element::Pending;
            return Some((*bsn as u8, if was_needed { Kind::Repeated } else { Kind::Needed }));
        }
        if has_new && !self.is_stalled() {
            let bsn = self.v_s;
            self.v_b[bsn as usize] = Element::Pending;
            self.needed[bsn as usize] = false;
            self.v_s = (self.v_s + 1) % SNS;
            self.last_unasked = None;
            return Some((bsn as u8, Kind::New));
        }
        // Round and round, behind the one that was sent unasked before.
        let start = self.last_unasked.and_then(|last| window.iter().position(|bsn| *bsn == last));
        let start = start.map_or(0, |place| place + 1);
        let turned = window[start..].iter().chain(&window[..start]);
        let mut pending = turned.filter(|bsn| self.v_b[**bsn as usize] == Element::Pending);
        let bsn = *pending.next()?;
        self.last_unasked = Some(bsn);
        Some((bsn as u8, if self.is_stalled() { Kind::PrematureStalled } else { Kind::PrematureIdle }))
    }

    /// False where the SSN is none of V(A) to V(S).
    pub fn report(&mut self, report: &Report) -> bool {
        let mut known = self.window();
        if report.is_final {
            for bsn in known {
                self.v_b[bsn as usize] = Element::Invalid;
            }
            self.v_a = self.v_s;
            return true;
        }
        known.push(self.v_s);
        if !known.contains(&u32::from(report.ssn)) {
            return false;
        }
        for bsn in self.window() {
            if bsn == u32::from(report.ssn) {
                break;
            }
            let back = (u32::from(report.ssn) + SNS - bsn) % SNS;
            let element = &mut self.v_b[bsn as usize];
            if report.bitmap >> (back - 1) & 1 == 1 {
                *element = Element::Acked;
            } else if *element != Element::Acked {
                *element = Element::Nacked;
            }
        }
        while self.v_a != self.v_s && self.v_b[self.v_a as usize] == Element::Acked {
            self.v_b[self.v_a as usize] = Element::Invalid;
            self.v_a = (self.v_a + 1) % SNS;
        }
        true
    }
}

/// The receiving side: everything that ever came.
pub struct ReceiveModel {
    came: BTreeSet<u32>,
}

impl ReceiveModel {
    pub fn new() -> Self {
        Self { came: BTreeSet::new() }
    }

    pub fn receive(&mut self, number: u32) {
        self.came.insert(number);
    }

    pub fn v_r(&self) -> u32 {
        self.came.last().map_or(0, |last| last + 1)
    }

    pub fn v_q(&self) -> u32 {
        (0..).find(|number| !self.came.contains(number)).unwrap()
    }

    pub fn report(&self) -> Report {
        let v_r = self.v_r();
        let mut bitmap = 0;
        for back in 1..=K.min(v_r) {
            if self.came.contains(&(v_r - back)) {
                bitmap |= 1 << (back - 1);
            }
        }
        Report { ssn: (v_r % SNS) as u8, bitmap, is_final: false }
    }
}
