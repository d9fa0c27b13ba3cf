//! The CCCH of a cell: access bursts are answered, and mobiles in packet idle mode are paged and told of downlink TBFs
//! (04.18 clause 3.5 [44.018]).
//!
//! An answer to an access burst goes in the next block, since its mobile listens to each. A page goes in the next block of its mobile's
//! paging group, and so does an assignment for a mobile in DRX mode (04.18 clauses 3.5.1.1 and 3.5.3.1.2).

use super::downlink::DownState;
use super::resources::{Direction, slots};
use super::{Expected, Pcu};
use crate::rlcmac::ccch::block_ends;
use crate::rlcmac::config::WithoutPdch;
use crate::rlcmac::multiframe::{BlockPeriod, frame_start};
use crate::rlcmac::paging::{Page, combine};
use crate::rlcmac::signal::{Burst, Common};
use gannet_machine::time::Instant;
use gannet_wire::id::Imsi;
use std::collections::VecDeque;

/// Bursts that wait for their answer: more are not worth it, as their mobiles have given up before.
const BURSTS_MAX: usize = 32;
/// Pages that wait for their blocks.
const PAGES_MAX: usize = 256;

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
    /// Of these, those that went in a block of the mobile's paging group, since it listens to no other.
    pub downlink_in_group: u64,
    /// Immediate assignment rejects.
    pub rejects: u64,
    /// Access bursts that got no answer as the cell had no PDCH.
    pub ignored: u64,
    /// Paging requests.
    pub paging_requests: u64,
    /// Pages in them.
    pub pages: u64,
}

/// What waits for a block of the CCCH.
#[derive(Debug, Default)]
pub(super) struct Queue {
    bursts: VecDeque<Burst>,
    downlink: VecDeque<u8>,
    /// Pages, each with its paging group.
    pages: VecDeque<(u64, Page)>,
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

    /// A downlink TBF waits for its assignment.
    pub(super) fn is_waiting(&self, tfi: u8) -> bool {
        self.downlink.contains(&tfi)
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
        !(self.access.bursts.is_empty() && self.access.downlink.is_empty() && self.access.pages.is_empty())
    }

    /// The first frame of the next CCCH block in which something is said; `None` where nothing is to be said.
    #[must_use]
    pub fn next_common_at(&self, now: Instant) -> Option<u64> {
        let next = self.options.paging.layout.block_from(now);
        let in_group = |group: u64| self.options.paging.next_of(group, now);
        let downlink =
            self.access.downlink.iter().map(|tfi| self.bound_to(*tfi, next).map_or(next, in_group));
        let pages = self.access.pages.iter().map(|(group, _)| in_group(*group));
        let bursts = self.access.bursts.front().map(|_| next);
        downlink.chain(pages).chain(bursts).min()
    }

    /// The paging group of the mobile for which a TBF is, where it listens to no other block that begins with this frame or later.
    fn bound_to(&self, tfi: u8, frame: u64) -> Option<u64> {
        let tbf = self.down.get(usize::from(tfi))?.as_ref()?;
        let context = self.contexts.get(&tbf.mobile)?;
        let drx = context.drx.filter(|_| context.awake_until <= frame_start(frame))?;
        Some(self.options.paging.group(&drx.imsi))
    }

    /// Pages a mobile. Its IMSI says when it listens (08.18 clause 10.3.1). False where too many pages wait.
    pub fn page(&mut self, page: Page, imsi: &Imsi) -> bool {
        let has_room = self.access.pages.len() < PAGES_MAX;
        if has_room {
            self.access.pages.push_back((self.options.paging.group(imsi), page));
        }
        has_room
    }

    /// What goes in the CCCH block that begins with this frame: before all else what can go in no other.
    pub fn next_common(&mut self, now: Instant, frame: u64) -> Option<Common> {
        if let Some(message) = self.assignment_in(frame, true) {
            self.access.counts.downlink_in_group += 1;
            return Some(message);
        }
        self.paging_request(frame)
            .or_else(|| self.assignment_in(frame, false))
            .or_else(|| self.next_answer(now, frame))
    }

    /// The next assignment of a downlink TBF in a block: of those that are bound to it, or of those that are bound to none.
    fn assignment_in(&mut self, frame: u64, is_bound: bool) -> Option<Common> {
        let paging = self.options.paging;
        let goes = |tfi: &u8| match self.bound_to(*tfi, frame) {
            Some(group) => is_bound && paging.is_of(group, frame),
            None => !is_bound,
        };
        let going: Vec<u8> = self.access.downlink.iter().copied().filter(goes).collect();
        for tfi in going {
            self.access.downlink.retain(|other| *other != tfi);
            if let Some(message) = self.downlink_assignment(tfi) {
                self.access.counts.downlink += 1;
                return Some(message);
            }
        }
        None
    }

    fn paging_request(&mut self, frame: u64) -> Option<Common> {
        let paging = self.options.paging;
        let here = self.access.pages.iter().filter(|(group, _)| paging.is_of(*group, frame));
        let here: Vec<Page> = here.map(|(_, page)| *page).collect();
        let pages = combine(&here);
        let count = pages.iter().flatten().count();
        if count == 0 {
            return None;
        }
        // The message has the first of them, in whatever order.
        let mut left = count;
        self.access.pages.retain(|(group, _)| {
            let goes = left > 0 && paging.is_of(*group, frame);
            left -= usize::from(goes);
            !goes
        });
        self.access.counts.paging_requests += 1;
        self.access.counts.pages += count as u64;
        Some(Common::Paging(pages))
    }

    fn next_answer(&mut self, now: Instant, frame: u64) -> Option<Common> {
        while let Some(burst) = self.access.bursts.pop_front() {
            if self.options.rach.t3146(self.options.paging.layout, burst.frame) <= now {
                self.access.counts.overrun += 1;
                continue;
            }
            if self.config.without_pdch == WithoutPdch::Ignore && self.is_without_pdch() {
                self.access.counts.ignored += 1;
                continue;
            }
            return Some(self.answer_burst(burst, frame));
        }
        None
    }

    fn downlink_assignment(&mut self, tfi: u8) -> Option<Common> {
        let acknowledged = self.config.acknowledged;
        let tbf = self.down_tbf(tfi).filter(|tbf| tbf.state == DownState::Assigning)?;
        tbf.is_told = true;
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
        // The eight bits of the burst say nothing of its radio priority.
        let tfi = self.make_up(1, self.config.uplink_classes.unsaid, None)?;
        let tbf = self.up_tbf(tfi)?;
        let mut usfs = (0_u8..).zip(&tbf.usfs).filter_map(|(slot, usf)| usf.map(|usf| (slot, usf)));
        let (slot, usf) = usfs.next()?;
        self.access.counts.uplink += 1;
        Some(Common::Uplink { reference, slot, tfi, usf, coding: self.config.uplink_coding })
    }

    /// A block for PACKET RESOURCE REQUEST, the first that is free after the mobile has heard of it.
    fn single_block(&mut self, reference: Burst, frame: u64) -> Option<Common> {
        let load = |slot: &u8| self.resources.load(Direction::Up, *slot);
        let slot = slots(self.usable()).min_by_key(load)?;
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
            Common::SingleBlock { .. } | Common::Reject { .. } | Common::Paging(_) => {}
        }
    }
}
