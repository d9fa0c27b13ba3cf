//! What goes in a block: control before data, data by class and weight, and a USF with each.

use super::resources::Direction;
use super::uplink::UpState;
use super::{Control, Expected, Pcu, dummy};
use crate::rlcmac::block::{DownBlock, UpBlock};
use crate::rlcmac::fates::Came;
use crate::rlcmac::multiframe::BlockPeriod;
use crate::rlcmac::policy::Idle;
use crate::rlcmac::rlc::{Evidence, Kind};
use crate::rlcmac::signal::{Down, To, Up};
use core::ops::AddAssign;
use gannet_machine::time::Instant;
use gannet_wire::rlcmac::block::{DownlinkHeader, USF_NOBODY};

/// Blocks of a cell's PDCHs, for what they were used. Blocks in which a cell had nothing to say are not counted: all others of
/// the time are these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockCounts {
    /// Downlink data blocks by [`Kind`], in the order of [`Kind::ALL`].
    pub data: [u64; 5],
    /// Of these, data blocks of TBFs that carried nothing but the dummy LL-PDU of delayed release.
    pub polls: u64,
    /// Downlink control blocks with something to say.
    pub control: u64,
    /// Downlink dummy control blocks, sent for their USF.
    pub dummy: u64,
    /// PACKET TBF RELEASEs that the network had to say.
    pub releases: u64,
    /// Uplink data blocks that came.
    pub uplink_data: u64,
    /// Of these, those of a TBF, by what its receiver made of them.
    pub up: Came,
    /// Of these, those of no TBF, or of the loser of a contention.
    pub uplink_nobodys: u64,
    /// Uplink control blocks that came.
    pub uplink_control: u64,
    /// Uplink dummy control blocks that came.
    pub uplink_dummy: u64,
    /// Uplink blocks that were reserved, and in which nothing could be read.
    pub uplink_nothing: u64,
    /// Downlink data blocks that polled their mobile.
    pub asked: u64,
    /// Downlink data blocks that were sent again unasked, to poll a mobile of which no poll was unanswered.
    pub to_poll: u64,
    /// Downlink data blocks that were sent again unasked for another reason while another TBF had data for the timeslot.
    pub unasked_beside: u64,
}

impl BlockCounts {
    pub(super) const fn count_uplink(&mut self, is_expected: bool, block: Option<&UpBlock>) {
        match block {
            Some(UpBlock::Data { .. }) => self.uplink_data += 1,
            Some(UpBlock::Control(Up::Dummy { .. })) => self.uplink_dummy += 1,
            Some(UpBlock::Control(_) | UpBlock::ControlAckBursts(_)) => self.uplink_control += 1,
            None => self.uplink_nothing += is_expected as u64,
        }
    }

    /// Downlink blocks that were sent.
    #[must_use]
    pub fn downlink(&self) -> u64 {
        self.data.iter().sum::<u64>() + self.control + self.dummy
    }
}

impl AddAssign for BlockCounts {
    fn add_assign(&mut self, other: Self) {
        for (sum, more) in self.data.iter_mut().zip(other.data) {
            *sum += more;
        }
        self.polls += other.polls;
        self.control += other.control;
        self.dummy += other.dummy;
        self.releases += other.releases;
        self.uplink_data += other.uplink_data;
        self.up.new += other.up.new;
        self.up.again += other.up.again;
        self.up.refused += other.up.refused;
        self.uplink_nobodys += other.uplink_nobodys;
        self.uplink_control += other.uplink_control;
        self.uplink_dummy += other.uplink_dummy;
        self.uplink_nothing += other.uplink_nothing;
        self.asked += other.asked;
        self.to_poll += other.to_poll;
        self.unasked_beside += other.unasked_beside;
    }
}

impl Pcu {
    /// A block period begins: to be called before its blocks are asked for.
    pub fn begin(&mut self, now: Instant, period: u64) {
        self.wake(now);
        self.give_way(now, period);
        self.give_up_pdchs();
        self.measure_drain(period);
        for slot in 0..8_usize {
            let Some(expected) = self.expected.get(slot) else { return };
            let report = expected.iter().find_map(|(at, what)| match what {
                Expected::Report(tfi) if *at == period => Some(*tfi),
                _ => None,
            });
            if let Some(tbf) = report.and_then(|tfi| self.down_tbf(tfi)) {
                tbf.report_is_made(period);
            }
        }
    }

    /// What goes downlink on a PDCH in a block period; `None` where there is nothing to say.
    pub fn downlink(&mut self, now: Instant, slot: u8, period: u64) -> Option<DownBlock> {
        if let Some(block) = self.pdch_release(slot, period) {
            self.counts.control += 1;
            return Some(block);
        }
        let usf = self.next_usf(now, slot, period + 1);
        if let Some(block) = self.control_block(slot, period, usf) {
            self.counts.control += 1;
            self.drains.control();
            return Some(block);
        }
        if let Some(block) = self.data_block(now, slot, period, usf) {
            return Some(block);
        }
        (usf != USF_NOBODY).then(|| {
            self.counts.dummy += 1;
            dummy(usf)
        })
    }

    /// Who sends uplink in the next period.
    fn next_usf(&mut self, now: Instant, slot: u8, at: u64) -> u8 {
        if self.is_reserved(slot, at) {
            return USF_NOBODY;
        }
        let candidates = self.resources.tfis(Direction::Up).filter_map(|tfi| {
            let tbf = self.up.get(usize::from(tfi))?.as_ref()?;
            tbf.usf_on(slot, now).map(|usf| (tbf.account.rank(), tfi, usf))
        });
        let Some((_, tfi, usf)) = candidates.min() else { return USF_NOBODY };
        if let Some(tbf) = self.up.get_mut(usize::from(tfi)).and_then(Option::as_mut) {
            self.up_time.charge(&mut tbf.account);
        }
        self.expect(slot, at, Expected::Usf(tfi));
        usf
    }

    fn control_block(&mut self, slot: u8, period: u64, usf: u8) -> Option<DownBlock> {
        loop {
            let control = self.control.get_mut(usize::from(slot))?.pop_front()?;
            let wants_answer = match control {
                Control::DownlinkAssignment { tfi, .. } => Some(Expected::Assigned(tfi)),
                Control::UplinkAckNack { tfi } => {
                    let is_final = self.up_tbf(tfi).is_some_and(|tbf| tbf.state == UpState::Finishing);
                    is_final.then_some(Expected::Final(tfi))
                }
                Control::Polling { tfi } => Some(Expected::Assigned(tfi)),
                Control::TbfRelease { direction, tfi } => Some(Expected::Released(direction, tfi)),
                Control::UplinkAssignment { .. } | Control::AccessReject { .. } => None,
            };
            let rrbp = match wants_answer {
                Some(what) => match self.poll(slot, period, what) {
                    Some(rrbp) => Some(rrbp),
                    None => {
                        // All blocks in which it could be answered are taken: the next time.
                        self.control.get_mut(usize::from(slot))?.push_front(control);
                        return None;
                    }
                },
                None => None,
            };
            if let Some(message) = self.message(control, period) {
                return Some(DownBlock::Control { usf, rrbp, message });
            }
            if let Some(rrbp) = rrbp {
                self.unexpect(slot, BlockPeriod(period).reserved(rrbp).0);
            }
        }
    }

    /// The message, as things are now; `None` where nobody needs it any more.
    fn message(&mut self, control: Control, period: u64) -> Option<Down> {
        let acknowledged = self.config.acknowledged;
        let coding = self.config.uplink_coding;
        match control {
            Control::DownlinkAssignment { to, tfi, is_new } => {
                let tbf = self.down_tbf(tfi)?;
                tbf.is_told = true;
                Some(Down::DownlinkAssignment { to, tfi, slots: tbf.wanted, acknowledged, is_new })
            }
            Control::UplinkAssignment { to, tfi } => {
                let usfs = self.up_tbf(tfi)?.usfs;
                self.assigned_up(tfi);
                Some(Down::UplinkAssignment { to, tfi, usfs, coding })
            }
            Control::UplinkAckNack { tfi } => {
                let tbf = self.up_tbf(tfi).filter(|tbf| tbf.is_active())?;
                let (report, contention) = (tbf.report(period), tbf.tlli);
                Some(Down::UplinkAckNack { tfi, coding, report, contention })
            }
            Control::AccessReject { to } => Some(Down::AccessReject { to, wait: self.config.reject_wait }),
            Control::Polling { tfi } => {
                self.down_tbf(tfi)?;
                Some(Down::Polling { to: To::DownlinkTfi(tfi), answer: self.options.control_ack })
            }
            Control::TbfRelease { direction, tfi } => {
                let to = match direction {
                    Direction::Down => To::DownlinkTfi(tfi),
                    Direction::Up => To::UplinkTfi(tfi),
                };
                Some(Down::TbfRelease { to, is_both: false })
            }
        }
    }

    fn data_block(&mut self, now: Instant, slot: u8, period: u64, usf: u8) -> Option<DownBlock> {
        let policy = self.config.policy;
        let can_poll = self.free_rrbp(slot, period).is_some();
        let (mut best, mut with_data) = (None, 0);
        for tfi in self.resources.tfis(Direction::Down) {
            let Some(tbf) = self.down_tbf(tfi) else { continue };
            if tbf.slots >> slot & 1 == 0 || !tbf.is_active() {
                continue;
            }
            self.feed_down(now, tfi);
            self.keep_alive(now, tfi);
            let Some(tbf) = self.down_tbf(tfi) else { continue };
            let Some(kind) = tbf.need(&policy, period) else { continue };
            let is_unasked = matches!(kind, Kind::PrematureStalled | Kind::PrematureIdle);
            with_data += u32::from(!is_unasked);
            // One that is to be polled goes by its class: nothing else brings the report that it waits for.
            let is_to_poll = !tbf.polls.is_polled() && (can_poll || policy.idle != Idle::SpareOnce);
            let is_spare = is_unasked && policy.idle != Idle::InTurn && !is_to_poll;
            let rank = (is_spare, tbf.account.rank());
            if best.is_none_or(|(least, _)| rank < least) {
                best = Some((rank, tfi));
            }
        }
        let (_, tfi) = best?;
        self.data_block_of(now, tfi, (slot, period, usf), with_data > 0)
    }

    fn data_block_of(
        &mut self,
        now: Instant,
        tfi: u8,
        (slot, period, usf): (u8, u64, u8),
        has_data: bool,
    ) -> Option<DownBlock> {
        let policy = self.config.policy;
        let ends = self.ends_with_queue(tfi);
        let tbf = self.down.get_mut(usize::from(tfi))?.as_mut()?;
        let carried = tbf.carried_octets();
        let sent = tbf.next_block(ends)?;
        self.drains.data(tbf.mobile, sent.kind, tbf.carried_octets() - carried);
        self.down_time.charge(&mut tbf.account);
        let (wants_poll, is_polled) = (tbf.wants_poll(&policy, &sent), tbf.polls.is_polled());
        if let Some(count) = self.counts.data.get_mut(sent.kind as usize) {
            *count += 1;
        }
        self.counts.polls += u64::from(tbf.is_idle());
        if sent.is_final {
            self.final_is_sent(now, tfi);
        }
        let rrbp = if wants_poll { self.poll(slot, period, Expected::Report(tfi)) } else { None };
        if rrbp.is_some()
            && let Some(tbf) = self.down_tbf(tfi)
        {
            tbf.polls.sent();
            self.counts.asked += 1;
        }
        let is_unasked = sent.kind != Kind::New && sent.evidence == Evidence::None;
        let is_to_poll = is_unasked && rrbp.is_some() && !is_polled;
        self.counts.to_poll += u64::from(is_to_poll);
        self.counts.unasked_beside += u64::from(is_unasked && !is_to_poll && has_data);
        let header =
            DownlinkHeader { usf, rrbp, power_reduction: 0, tfi, is_final: sent.is_final, bsn: sent.bsn };
        Some(DownBlock::Data { header, body: sent.body })
    }

    fn free_rrbp(&self, slot: u8, period: u64) -> Option<u8> {
        (0..4).find(|rrbp| !self.is_reserved(slot, BlockPeriod(period).reserved(*rrbp).0))
    }

    /// Reserves a block for an answer to what is sent in this period; gives its RRBP.
    fn poll(&mut self, slot: u8, period: u64, what: Expected) -> Option<u8> {
        let rrbp = self.free_rrbp(slot, period)?;
        self.expect(slot, BlockPeriod(period).reserved(rrbp).0, what);
        Some(rrbp)
    }

    pub(super) fn expect(&mut self, slot: u8, at: u64, what: Expected) {
        if let Some(expected) = self.expected.get_mut(usize::from(slot)) {
            expected.push_back((at, what));
        }
    }

    fn unexpect(&mut self, slot: u8, at: u64) {
        if let Some(expected) = self.expected.get_mut(usize::from(slot)) {
            expected.retain(|(when, _)| *when != at);
        }
    }

    pub(super) fn is_reserved(&self, slot: u8, at: u64) -> bool {
        let expected = self.expected.get(usize::from(slot));
        expected.is_some_and(|expected| expected.iter().any(|(when, _)| *when == at))
    }

    /// Something is to be said on a PACCH.
    pub(super) fn say(&mut self, slot: u8, control: Control) {
        if let Some(waiting) = self.control.get_mut(usize::from(slot)) {
            waiting.push_back(control);
        }
    }

    /// The assignments of an uplink TBF that wait are not said.
    pub(super) fn forget_assignments_of(&mut self, tfi: u8) {
        for waiting in &mut self.control {
            waiting.retain(
                |control| !matches!(control, Control::UplinkAssignment { tfi: its, .. } if *its == tfi),
            );
        }
    }

    /// An uplink TBF is over: nothing is said to it or by its name any more. Gives the downlink TBFs that were to be assigned there.
    pub(super) fn forget_up(&mut self, tfi: u8) -> Vec<u8> {
        let up = Direction::Up;
        self.forget(|what| match what {
            Expected::Usf(its) | Expected::Final(its) => its == tfi,
            Expected::Released(direction, its) => (direction, its) == (up, tfi),
            Expected::Report(_) | Expected::Assigned(_) | Expected::Request | Expected::Nobody => false,
        });
        let mut stranded = Vec::new();
        for waiting in &mut self.control {
            waiting.retain(|control| match *control {
                Control::DownlinkAssignment { to: To::UplinkTfi(its), tfi: down, .. } if its == tfi => {
                    stranded.push(down);
                    false
                }
                Control::UplinkAssignment { tfi: its, .. }
                | Control::UplinkAckNack { tfi: its }
                | Control::TbfRelease { direction: Direction::Up, tfi: its } => its != tfi,
                Control::DownlinkAssignment { .. }
                | Control::AccessReject { .. }
                | Control::Polling { .. }
                | Control::TbfRelease { direction: Direction::Down, .. } => true,
            });
        }
        stranded
    }

    /// The same of a downlink TBF.
    pub(super) fn forget_down(&mut self, tfi: u8) -> Vec<u8> {
        let down = Direction::Down;
        self.forget(|what| match what {
            Expected::Report(its) | Expected::Assigned(its) => its == tfi,
            Expected::Released(direction, its) => (direction, its) == (down, tfi),
            Expected::Usf(_) | Expected::Final(_) | Expected::Request | Expected::Nobody => false,
        });
        let mut stranded = Vec::new();
        for waiting in &mut self.control {
            waiting.retain(|control| match *control {
                Control::DownlinkAssignment { to, tfi: down, .. } => {
                    let is_there = to == To::DownlinkTfi(tfi) && down != tfi;
                    if is_there {
                        stranded.push(down);
                    }
                    !is_there && down != tfi
                }
                Control::UplinkAssignment { to, .. } | Control::AccessReject { to } => {
                    to != To::DownlinkTfi(tfi)
                }
                Control::Polling { tfi: its }
                | Control::TbfRelease { direction: Direction::Down, tfi: its } => its != tfi,
                Control::UplinkAckNack { .. } | Control::TbfRelease { direction: Direction::Up, .. } => true,
            });
        }
        stranded
    }

    /// What is still sent in a block that was reserved for a TBF counts for no other.
    fn forget(&mut self, is_its: impl Fn(Expected) -> bool) {
        for (_, what) in self.expected.iter_mut().flatten() {
            if is_its(*what) {
                *what = Expected::Nobody;
            }
        }
    }
}
