//! The CCCH of a cell: access bursts are answered, and mobiles in packet idle mode are told of downlink TBFs
//! (04.18 clause 3.5 [44.018]).

use super::downlink::DownState;
use super::resources::{Direction, slots};
use super::{Expected, Pcu};
use crate::rlcmac::ccch::block_ends;
use crate::rlcmac::multiframe::BlockPeriod;
use crate::rlcmac::signal::{Burst, Common};
use gannet_machine::time::Instant;
use std::collections::VecDeque;

/// Bursts that wait for their answer: more are not worth it, as their mobiles have given up before.
const BURSTS_MAX: usize = 32;

/// What happened on the CCCH.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AccessCounts {
    /// Access bursts that came.
    pub bursts: u64,
    /// Of these, those that are none for packet access.
    pub foreign: u64,
    /// Of these, those that were too many or waited for too long.
    pub overrun: u64,
    /// Immediate assignments of uplink TBFs.
    pub uplink: u64,
    /// Immediate assignments of single blocks.
    pub single_blocks: u64,
    /// Immediate assignments of downlink TBFs.
    pub downlink: u64,
    /// Immediate assignment rejects.
    pub rejects: u64,
}

/// What waits for a block of the CCCH.
#[derive(Debug, Default)]
pub(super) struct Queue {
    bursts: VecDeque<Burst>,
    downlink: VecDeque<u8>,
    counts: AccessCounts,
}

impl Queue {
    pub(super) const fn counts(&self) -> &AccessCounts {
        &self.counts
    }

    pub(super) fn burst(&mut self, burst: Burst) {
        self.counts.bursts += 1;
        if !burst.is_one_phase() && !burst.is_single_block() {
            self.counts.foreign += 1;
        } else if self.bursts.len() >= BURSTS_MAX {
            self.counts.overrun += 1;
        } else {
            self.bursts.push_back(burst);
        }
    }

    /// A downlink TBF is to be assigned.
    pub(super) fn assign(&mut self, tfi: u8) {
        if !self.downlink.contains(&tfi) {
            self.downlink.push_back(tfi);
        }
    }

    /// A downlink TBF is over.
    pub(super) fn forget_down(&mut self, tfi: u8) {
        self.downlink.retain(|other| *other != tfi);
    }
}

impl Pcu {
    /// Something is to be said on the CCCH.
    #[must_use]
    pub fn has_common(&self) -> bool {
        !self.access.bursts.is_empty() || !self.access.downlink.is_empty()
    }

    /// What goes in the CCCH block that begins with this frame.
    pub fn next_common(&mut self, now: Instant, frame: u64) -> Option<Common> {
        while let Some(tfi) = self.access.downlink.pop_front() {
            if let Some(message) = self.downlink_assignment(tfi) {
                self.access.counts.downlink += 1;
                return Some(message);
            }
        }
        while let Some(burst) = self.access.bursts.pop_front() {
            if self.options.rach.t3146(burst.frame) <= now {
                self.access.counts.overrun += 1;
                continue;
            }
            return Some(self.answer_burst(burst, frame));
        }
        None
    }

    fn downlink_assignment(&mut self, tfi: u8) -> Option<Common> {
        let acknowledged = self.config.acknowledged;
        let tbf = self.down_tbf(tfi).filter(|tbf| tbf.state == DownState::Assigning)?;
        let (mobile, slot) = (tbf.mobile, slots(tbf.slots).next()?);
        let [tlli, _] = self.contexts.get(&mobile)?.tllis;
        Some(Common::Downlink { tlli: tlli?, slot, tfi, acknowledged })
    }

    fn answer_burst(&mut self, reference: Burst, frame: u64) -> Common {
        let is_one_phase = reference.is_one_phase() && !self.config.force_two_phase;
        let answer =
            if is_one_phase { self.one_phase(reference) } else { self.single_block(reference, frame) };
        answer.unwrap_or_else(|| {
            self.access.counts.rejects += 1;
            Common::Reject { reference, wait: self.config.reject_wait }
        })
    }

    fn one_phase(&mut self, reference: Burst) -> Option<Common> {
        let tfi = self.make_up(1, None)?;
        let tbf = self.up_tbf(tfi)?;
        let mut usfs = (0_u8..).zip(&tbf.usfs).filter_map(|(slot, usf)| usf.map(|usf| (slot, usf)));
        let (slot, usf) = usfs.next()?;
        self.access.counts.uplink += 1;
        Some(Common::Uplink { reference, slot, tfi, usf, coding: self.config.uplink_coding })
    }

    /// A block for PACKET RESOURCE REQUEST, the first that is free after the mobile has heard of it.
    fn single_block(&mut self, reference: Burst, frame: u64) -> Option<Common> {
        let load = |slot: &u8| self.resources.load(Direction::Up, *slot);
        let slot = slots(self.config.pdchs).min_by_key(load)?;
        let first = BlockPeriod::at_or_after(block_ends(frame)).0 + 1;
        let at = (first..first + 50).find(|at| !self.is_reserved(slot, *at))?;
        self.expect(slot, at, Expected::Request);
        self.access.counts.single_blocks += 1;
        Some(Common::SingleBlock { reference, slot, frame: BlockPeriod(at).first_frame() })
    }

    /// The block with this message has gone.
    pub fn common_sent(&mut self, message: &Common) {
        match *message {
            Common::Uplink { tfi, .. } => self.assigned_up(tfi),
            Common::Downlink { tfi, .. } => self.assigned_on_ccch(tfi),
            Common::SingleBlock { .. } | Common::Reject { .. } => {}
        }
    }
}
