//! Procedures of GMM, SM and GTP: when each began and ended, how, and the records that prove it.
//!
//! A request and its answer belong together by the mobile's TLLI at one place, in SM also by the transaction, in GTP by the
//! sequence number. A request that comes again before the one who asks gives up is a repetition. What is seen at two places is
//! two procedures, each with its own times.

mod kinds;
pub mod report;

pub use kinds::{Cause, Kind};

use crate::join::aliases::Aliases;
use crate::record::{BssgpPdu, BssgpWhat, Direction, GtpMessage, Layer3, Proof, Record, Seen, Stamp};
use gannet_wire::l3::{L3Message, SmMessage};
use kinds::Step;
use report::{Outcome, Procedure, Report};
use std::collections::HashMap;

/// Procedures that are under way.
const OPEN_MAX: usize = 65_536;
/// Procedures that are remembered when they are over.
const OVER_MAX: usize = 100_000;
/// Frames of repetitions that a procedure names.
const PROOFS_MAX: usize = 8;
/// A request that comes later than so many of its timers after the one before is a new procedure.
const TIMERS: u64 = 2;

const SECOND_NS: u64 = 1_000_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Whose {
    Tlli(u32),
    Mobile(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    place: u16,
    whose: Whose,
    /// The kind that an answer names.
    kind: Kind,
    /// Transaction of SM, sequence number of GTP.
    transaction: u32,
}

#[derive(Debug)]
struct Open {
    procedure: Procedure,
    last: Stamp,
}

/// Takes records, and follows the procedures in them.
#[derive(Debug, Default)]
pub struct Procedures {
    aliases: Aliases,
    open: HashMap<Key, Open, foldhash::quality::RandomState>,
    /// What ended last: index into those that are over.
    ended: HashMap<Key, usize, foldhash::quality::RandomState>,
    over: Vec<Procedure>,
    pagings: usize,
    left_out: u64,
    swept: Stamp,
    now: Stamp,
}

impl Procedures {
    /// Takes a record; they come in the order of time.
    pub fn take(&mut self, seen: &Seen<Record>) {
        self.now = self.now.max(seen.at);
        match &seen.what {
            Record::Layer3(layer3) => self.layer3(seen, layer3),
            Record::Gtp(message) => self.gtp(seen, message),
            Record::Bssgp(pdu) => self.bssgp(seen, pdu),
            _ => {}
        }
    }

    fn layer3(&mut self, seen: &Seen<Record>, layer3: &Layer3) {
        let is_up = layer3.direction == Direction::Up;
        let whose = match (layer3.tlli, layer3.mobile) {
            (Some(tlli), _) => Whose::Tlli(self.aliases.of(seen.place, tlli)),
            (None, Some(mobile)) => Whose::Mobile(mobile),
            (None, None) => return,
        };
        if let Some(tlli) = layer3.tlli {
            self.aliases.learn(seen.place, tlli, &layer3.message);
        }
        let Some(step) = kinds::step(is_up, &layer3.message) else { return };
        let transaction = match &*layer3.message {
            L3Message::Gmm(_) => 0,
            // What the network asks for is answered under whatever transaction.
            L3Message::Sm {
                message: SmMessage::RequestActivation(_) | SmMessage::RequestActivationReject(_),
                ..
            } => 0,
            L3Message::Sm { ti, ti_flag, .. } => u32::from(*ti) << 1 | u32::from(is_up != *ti_flag),
        };
        if step == Step::Begins(Kind::Activation) {
            let asked = Key { place: seen.place, whose, kind: Kind::NetworkActivation, transaction: 0 };
            if self.open.contains_key(&asked) {
                self.answer(asked, seen, Outcome::Accepted);
            }
        }
        self.step((seen.place, whose, transaction), step, seen, layer3.mobile);
    }

    fn gtp(&mut self, seen: &Seen<Record>, message: &GtpMessage) {
        let Some(step) = kinds::of_gtp(message.name, message.cause) else { return };
        let whose = Whose::Mobile(message.mobile.unwrap_or(u32::MAX));
        let transaction = message.sequence.map_or(u32::MAX, u32::from);
        self.step((seen.place, whose, transaction), step, seen, message.mobile);
    }

    fn bssgp(&mut self, seen: &Seen<Record>, pdu: &BssgpPdu) {
        let Some(mobile) = pdu.mobile else { return };
        let whose = Whose::Mobile(mobile);
        match pdu.what {
            BssgpWhat::Paging { .. } => {
                self.step((seen.place, whose, 0), Step::Begins(Kind::Paging), seen, Some(mobile));
            }
            BssgpWhat::Unitdata { direction: Direction::Up, .. } if self.pagings > 0 => {
                self.step((seen.place, whose, 0), Step::Accepted(Kind::Paging), seen, Some(mobile));
            }
            _ => {}
        }
    }

    fn step(
        &mut self,
        (place, whose, transaction): (u16, Whose, u32),
        step: Step,
        seen: &Seen<Record>,
        mobile: Option<u32>,
    ) {
        let key = |kind| Key { place, whose, kind, transaction };
        match step {
            Step::Begins(kind) => self.begin(key(answered_as(kind)), kind, seen, mobile),
            Step::BeginsAlone(kind) => {
                self.begin(key(kind), kind, seen, mobile);
                self.end(key(kind), Outcome::NoAnswerWanted);
            }
            Step::Accepted(kind) => self.answer(key(kind), seen, Outcome::Accepted),
            Step::Rejected(kind, cause) => self.answer(key(kind), seen, Outcome::Rejected(cause)),
            Step::RejectedAfterwards(kind, cause) => {
                if self.open.contains_key(&key(kind)) {
                    self.answer(key(kind), seen, Outcome::Rejected(cause));
                } else if let Some(over) = self.last_of(&key(kind)) {
                    over.outcome = Outcome::Rejected(cause);
                    over.answered = Some((seen.at, seen.proof));
                }
            }
            Step::Completed(kind) => {
                if let Some(over) = self.last_of(&key(kind)).filter(|over| over.completed.is_none()) {
                    over.completed = Some((seen.at, seen.proof));
                }
            }
        }
    }

    fn last_of(&mut self, key: &Key) -> Option<&mut Procedure> {
        self.over.get_mut(*self.ended.get(key)?)
    }

    fn begin(&mut self, key: Key, kind: Kind, seen: &Seen<Record>, mobile: Option<u32>) {
        if let Some(open) = self.open.get_mut(&key) {
            let since = seen.at.0.saturating_sub(open.last.0);
            if open.procedure.kind == kind && since <= TIMERS * kind.timer_s() * SECOND_NS {
                open.last = seen.at;
                open.procedure.repeats += 1;
                list(&mut open.procedure.repeated, seen.proof);
                return;
            }
            self.end(key, Outcome::Unanswered);
        }
        if self.open.len() >= OPEN_MAX {
            self.sweep();
        }
        if self.open.len() >= OPEN_MAX {
            self.left_out += 1;
            return;
        }
        self.pagings += usize::from(kind == Kind::Paging);
        let procedure = Procedure {
            kind,
            place: seen.place,
            mobile,
            began: (seen.at, seen.proof),
            answered: None,
            completed: None,
            repeats: 0,
            repeated: Vec::new(),
            answers_again: 0,
            outcome: Outcome::UnderWay,
        };
        self.open.insert(key, Open { procedure, last: seen.at });
    }

    fn answer(&mut self, key: Key, seen: &Seen<Record>, outcome: Outcome) {
        if let Some(open) = self.open.get_mut(&key) {
            open.procedure.answered = Some((seen.at, seen.proof));
            self.end(key, outcome);
        } else if key.kind != Kind::Paging
            && let Some(over) = self.last_of(&key)
        {
            over.answers_again += 1;
        }
    }

    fn end(&mut self, key: Key, outcome: Outcome) {
        let Some(Open { mut procedure, .. }) = self.open.remove(&key) else { return };
        self.pagings -= usize::from(procedure.kind == Kind::Paging);
        procedure.outcome = outcome;
        if self.over.len() >= OVER_MAX {
            self.left_out += 1;
            self.ended.remove(&key);
            return;
        }
        if self.ended.len() >= OPEN_MAX {
            self.ended.clear();
        }
        self.ended.insert(key, self.over.len());
        self.over.push(procedure);
    }

    /// Ends what nobody will answer any more, at most once a second.
    fn sweep(&mut self) {
        if self.now.0.saturating_sub(self.swept.0) < SECOND_NS {
            return;
        }
        self.swept = self.now;
        let is_late = |open: &Open| {
            self.now.0.saturating_sub(open.last.0) > TIMERS * open.procedure.kind.timer_s() * SECOND_NS
        };
        let late: Vec<Key> =
            self.open.iter().filter(|(_, open)| is_late(open)).map(|(key, _)| *key).collect();
        for key in late {
            self.end(key, Outcome::Unanswered);
        }
    }

    /// What is known at the end. What waits for less than its timer is under way.
    #[must_use]
    pub fn finish(mut self) -> Report {
        let open: Vec<(Key, Outcome)> = self
            .open
            .iter()
            .map(|(key, open)| {
                let waited = self.now.0.saturating_sub(open.last.0);
                let is_late = waited >= open.procedure.kind.timer_s() * SECOND_NS;
                (*key, if is_late { Outcome::Unanswered } else { Outcome::UnderWay })
            })
            .collect();
        for (key, outcome) in open {
            self.end(key, outcome);
        }
        self.over.sort_by_key(|procedure| (procedure.began, procedure.kind));
        Report::new(self.over, self.left_out)
    }
}

/// The kind that the answer names.
const fn answered_as(kind: Kind) -> Kind {
    match kind {
        Kind::PeriodicUpdate => Kind::Update,
        other => other,
    }
}

fn list(proofs: &mut Vec<Proof>, proof: Proof) {
    if proofs.len() < PROOFS_MAX {
        proofs.push(proof);
    }
}
