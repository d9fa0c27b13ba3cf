//! RLC data blocks to LL-PDUs, as somebody sees them who only listens (44.060, clauses 9.1 and 10.4).
//!
//! A TBF is known by cell, direction and TFI. A new one begins where a block has a number that the old TBF cannot have
//! by now, or has other octets than the block of the same number had. Blocks that the capture does not have are passed over
//! once the window has gone beyond them; the LL-PDU that they belong to is counted as lost.

use crate::record::{DataBlock, Direction, Proof, Stamp};
use gannet_wire::rlcmac::block::{BSN_MODULUS, Body};
use std::collections::{BTreeMap, HashMap};

const MODULUS: u32 = BSN_MODULUS as u32;
/// Half of the numbers: the window (clause 9.1.9).
const WINDOW: u32 = MODULUS / 2;
/// Octets of the longest LL-PDU that is believed; N201 is at most 1520.
const LL_PDU_MAX: usize = 1600;
/// TBFs that are followed at a time.
const TBFS_MAX: usize = 4096;
/// A TBF that is silent for so long is over: T3169 and T3195 are 5 s (clause 13.2).
const SILENCE_NS: u64 = 5_000_000_000;

/// Whose TBF: place, cell, direction and TFI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TbfKey {
    /// Place of the reading.
    pub place: u16,
    /// Radio channel.
    pub arfcn: u16,
    /// Up or down.
    pub is_up: bool,
    /// Temporary flow identity.
    pub tfi: u8,
}

/// An LL-PDU that was put together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    /// Its octets.
    pub octets: Vec<u8>,
    /// The mobile, where a block or an assignment told it.
    pub tlli: Option<u32>,
    /// When its first block was seen.
    pub began: Stamp,
    /// The frame of that block.
    pub first: Proof,
    /// Blocks that carried it.
    pub blocks: u16,
}

/// What was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// TBFs.
    pub tbfs: u64,
    /// Blocks that had been seen before with the same number and octets.
    pub again: u64,
    /// Blocks that never came.
    pub missing: u64,
    /// LL-PDUs that began and never ended.
    pub lost: u64,
}

#[derive(Debug)]
struct Held {
    body: Body,
    at: Stamp,
    proof: Proof,
    is_last: bool,
}

#[derive(Debug, Default)]
struct Partial {
    octets: Vec<u8>,
    began: Option<(Stamp, Proof)>,
    blocks: u16,
}

#[derive(Debug)]
struct Tbf {
    /// The number behind the last block of which all before it came, counted from the beginning.
    next: u32,
    highest: u32,
    waiting: BTreeMap<u32, Held>,
    partial: Partial,
    /// The beginning of the LL-PDU that comes now was not seen.
    is_skipping: bool,
    has_ended: bool,
    may_be_new: bool,
    tlli: Option<u32>,
    at: Stamp,
    digests: [Option<u64>; MODULUS as usize],
}

/// TBFs of a reading.
#[derive(Debug, Default)]
pub struct Tbfs {
    all: HashMap<TbfKey, Tbf, foldhash::quality::RandomState>,
    named: HashMap<TbfKey, u32, foldhash::quality::RandomState>,
    counts: Counts,
}

impl Tbfs {
    /// An assignment was seen: the mobile of a TFI is known, and a TBF may begin.
    pub fn assigned(&mut self, key: TbfKey, tlli: Option<u32>) {
        match tlli {
            Some(tlli) => {
                if self.named.len() >= TBFS_MAX {
                    self.named.clear();
                }
                self.named.insert(key, tlli);
            }
            None => drop(self.named.remove(&key)),
        }
        if let Some(tbf) = self.all.get_mut(&key) {
            tbf.may_be_new = true;
        }
    }

    /// The mobile of a TBF, where it is known.
    #[must_use]
    pub fn tlli(&self, key: TbfKey) -> Option<u32> {
        self.all.get(&key).and_then(|tbf| tbf.tlli).or_else(|| self.named.get(&key).copied())
    }

    /// What was counted so far.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Takes a block, and adds the LL-PDUs that are complete with it.
    pub fn take(
        &mut self,
        key: TbfKey,
        block: &DataBlock,
        body: &Body,
        (at, proof): (Stamp, Proof),
        out: &mut Vec<Joined>,
    ) {
        let named = self.named.get(&key).copied();
        let is_new = self.all.get(&key).is_none_or(|tbf| tbf.is_succeeded_by(block, at));
        if is_new {
            self.make_room(at);
            if let Some(old) = self.all.insert(key, Tbf::new(block, at)) {
                self.counts.lost += u64::from(!old.partial.octets.is_empty());
                self.counts.missing += old.gaps();
            }
            self.counts.tbfs += 1;
        }
        let Some(tbf) = self.all.get_mut(&key) else { return };
        tbf.at = at;
        tbf.tlli = block.tlli.or(tbf.tlli).or(named);
        if !tbf.hold(block, body, (at, proof), &mut self.counts) {
            return;
        }
        tbf.deliver(&mut self.counts, out);
    }

    fn make_room(&mut self, at: Stamp) {
        if self.all.len() < TBFS_MAX {
            return;
        }
        let before = self.all.len();
        self.all.retain(|_, tbf| at.0.saturating_sub(tbf.at.0) < SILENCE_NS);
        if self.all.len() == before {
            self.counts.lost += self.all.values().filter(|tbf| !tbf.partial.octets.is_empty()).count() as u64;
            self.all.clear();
        }
    }
}

const fn behind(bsn: u8, from: u32) -> u32 {
    (bsn as u32 + MODULUS - from % MODULUS) % MODULUS
}

impl Tbf {
    fn new(block: &DataBlock, at: Stamp) -> Self {
        // In the middle of a TBF the numbers tell nothing: what comes first is taken for the beginning.
        let begins = u32::from(block.bsn) < WINDOW / 4;
        let next = if begins { 0 } else { u32::from(block.bsn) };
        Self {
            next,
            highest: next,
            waiting: BTreeMap::new(),
            partial: Partial::default(),
            is_skipping: !begins,
            has_ended: false,
            may_be_new: false,
            tlli: None,
            at,
            digests: [None; MODULUS as usize],
        }
    }

    fn has_seen(&self, block: &DataBlock) -> bool {
        self.digests.get(usize::from(block.bsn)).is_some_and(|seen| *seen == Some(block.digest))
    }

    fn is_succeeded_by(&self, block: &DataBlock, at: Stamp) -> bool {
        if self.has_seen(block) {
            return false;
        }
        let ahead = behind(block.bsn, self.next);
        if at.0.saturating_sub(self.at.0) > SILENCE_NS || self.has_ended && ahead != 0 {
            return true;
        }
        let is_in_window = ahead < WINDOW;
        let goes_on = is_in_window || behind(block.bsn, self.highest) < WINDOW;
        !goes_on || self.may_be_new && block.bsn == 0 && ahead != 0
    }

    fn gaps(&self) -> u64 {
        let from_next = u64::from(self.highest.saturating_sub(self.next));
        from_next.saturating_sub(self.waiting.len() as u64)
    }

    /// False where the block is nothing new.
    fn hold(
        &mut self,
        block: &DataBlock,
        body: &Body,
        (at, proof): (Stamp, Proof),
        counts: &mut Counts,
    ) -> bool {
        let ahead = behind(block.bsn, self.next);
        if self.has_seen(block) {
            counts.again += 1;
            return false;
        }
        if ahead >= WINDOW {
            // The window went on without what is missing.
            let beyond = self.highest + behind(block.bsn, self.highest);
            self.pass_over(beyond.saturating_sub(WINDOW - 1), counts);
        }
        let number = self.next + behind(block.bsn, self.next);
        if let Some(digest) = self.digests.get_mut(usize::from(block.bsn)) {
            *digest = Some(block.digest);
        }
        // What had this number one round ago is no copy.
        let other = (usize::from(block.bsn) + WINDOW as usize) % MODULUS as usize;
        if let Some(digest) = self.digests.get_mut(other) {
            *digest = None;
        }
        let is_last = block.countdown == 0;
        self.waiting.insert(number, Held { body: *body, at, proof, is_last });
        self.highest = self.highest.max(number + 1);
        self.has_ended = false;
        true
    }

    fn pass_over(&mut self, to: u32, counts: &mut Counts) {
        let kept = self.waiting.split_off(&to);
        let there = self.waiting.len() as u64;
        counts.missing += u64::from(to.saturating_sub(self.next)).saturating_sub(there);
        counts.lost += u64::from(!self.partial.octets.is_empty());
        self.waiting = kept;
        self.partial = Partial::default();
        self.is_skipping = true;
        self.next = self.next.max(to);
        self.highest = self.highest.max(self.next);
    }

    fn deliver(&mut self, counts: &mut Counts, out: &mut Vec<Joined>) {
        while let Some(held) = self.waiting.remove(&self.next) {
            self.next += 1;
            let Ok(contents) = held.body.contents() else { continue };
            let mut is_first = true;
            for segment in contents.segments() {
                if self.is_skipping {
                    self.is_skipping = !segment.is_last;
                    continue;
                }
                let partial = &mut self.partial;
                partial.began.get_or_insert((held.at, held.proof));
                partial.blocks =
                    partial.blocks.saturating_add(u16::from(is_first || partial.octets.is_empty()));
                is_first = false;
                partial.octets.extend_from_slice(segment.octets);
                if partial.octets.len() > LL_PDU_MAX {
                    counts.lost += 1;
                    self.partial = Partial::default();
                    self.is_skipping = !segment.is_last;
                } else if segment.is_last {
                    self.complete(out);
                }
            }
            if held.is_last {
                // An LL-PDU that fills its last block has no indicator.
                self.complete(out);
                self.has_ended = true;
            }
        }
    }

    fn complete(&mut self, out: &mut Vec<Joined>) {
        let partial = core::mem::take(&mut self.partial);
        if let Some((began, first)) = partial.began.filter(|_| !partial.octets.is_empty()) {
            out.push(Joined {
                octets: partial.octets,
                tlli: self.tlli,
                began,
                first,
                blocks: partial.blocks,
            });
        }
    }
}

impl TbfKey {
    /// The TBF of a block.
    #[must_use]
    pub const fn new(place: u16, arfcn: u16, direction: Direction, tfi: u8) -> Self {
        Self { place, arfcn, is_up: matches!(direction, Direction::Up), tfi }
    }
}
