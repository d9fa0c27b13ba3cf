//! PDCHs that circuit-switched calls take, and return.
//!
//! ```text
//!                 the next period begins            the period after
//!  calls ask ──────────────────────────► announced ──────────────────► held ──► calls end: returned at once
//! ```
//!
//! A PDCH that is announced carries PACKET PDCH RELEASE (44.060 clause 8.2) for one period, without a USF. Where no mobile can listen it is
//! held at once. A TBF that has other PDCHs goes on there: its mobile has removed those that are gone from its own list. A TBF without
//! breaks. A mobile that has not heard the message listens on until T3190 or T3180 ends, so that neither its TFI nor its USF is used until then.
//!
//! While calls have all PDCHs, [`Preempted`] says what becomes of the LL-PDUs. The CCCH stays.

use super::downlink::{DownState, DownTimer};
use super::resources::{Direction, slots};
use super::uplink::{UpState, UpTimer};
use super::{Control, Loss, MARGIN, Pcu};
use crate::rlcmac::block::DownBlock;
use crate::rlcmac::config::{HOLD_MAX, Preempted};
use crate::rlcmac::custody::LlPdu;
use crate::rlcmac::multiframe::BlockPeriod;
use crate::rlcmac::signal::{Down, To};
use gannet_machine::time::{Duration, Instant};
use gannet_wire::rlcmac::block::USF_NOBODY;

/// What calls have done to a cell, each counted since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PreemptionCounts {
    /// PDCHs went, and some were left.
    pub partial: u64,
    /// The last PDCHs went.
    pub complete: u64,
    /// PDCHs returned.
    pub returns: u64,
    /// Downlink TBFs that broke.
    pub broken_down: u64,
    /// Uplink TBFs that broke.
    pub broken_up: u64,
    /// LL-PDUs downlink that were discarded.
    pub discarded: u64,
}

/// PDCHs that calls have or take.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// Timeslots that calls use or are about to.
    wanted: u8,
    /// Those of them that are no PDCHs any more.
    held: u8,
    /// Those of which mobiles are told in this period.
    announced: Option<(u64, u8)>,
    is_without: bool,
    /// What waits is discarded then.
    held_until: Option<Instant>,
    /// What waits and what comes is discarded.
    discards: bool,
    counts: PreemptionCounts,
}

impl Taken {
    pub(super) const fn held(&self) -> u8 {
        self.held
    }

    pub(super) const fn held_until(&self) -> Option<Instant> {
        self.held_until
    }
}

impl Pcu {
    /// Calls use these timeslots from now on, and no others; bit 0 is timeslot 0. What they have left is there at once.
    pub fn hold_channels(&mut self, now: Instant, timeslots: u8) {
        let returned = self.calls.held & !timeslots & self.config.pdchs;
        self.calls.wanted = timeslots;
        self.calls.held &= timeslots;
        let going = self.going();
        if going != 0 && !self.has_listeners() {
            self.calls.held |= going;
            self.pdchs_went(now);
        }
        if returned != 0 {
            self.calls.counts.returns += 1;
            self.pdchs_returned(now);
        }
    }

    /// PDCHs that GPRS has, and that calls do not take.
    #[must_use]
    pub const fn usable(&self) -> u8 {
        self.config.pdchs & !(self.calls.wanted | self.calls.held)
    }

    /// Timeslots among its PDCHs that calls have.
    #[must_use]
    pub const fn held_channels(&self) -> u8 {
        self.config.pdchs & self.calls.held
    }

    /// Calls have all PDCHs.
    #[must_use]
    pub const fn is_without_pdch(&self) -> bool {
        self.config.pdchs & !self.calls.held == 0
    }

    /// LL-PDUs are discarded as calls have all PDCHs.
    #[must_use]
    pub const fn discards(&self) -> bool {
        self.calls.discards
    }

    /// What calls have done.
    #[must_use]
    pub const fn preemption_counts(&self) -> PreemptionCounts {
        self.calls.counts
    }

    /// The PDCHs by which a drain is reckoned: without any, what it would be with all.
    pub(super) const fn drained_by(&self) -> u8 {
        if self.usable() == 0 { self.config.pdchs } else { self.usable() }
    }

    /// PDCHs that calls take and do not have yet.
    const fn going(&self) -> u8 {
        self.calls.wanted & self.pdchs()
    }

    /// The next period must be begun so that calls get what they want.
    pub(super) const fn is_giving_way(&self) -> bool {
        self.going() != 0 || self.calls.announced.is_some()
    }

    /// A mobile may listen to a PDCH, or send in one.
    fn has_listeners(&self) -> bool {
        self.tbfs() != (0, 0)
            || self.calls.announced.is_some()
            || self.expected.iter().any(|expected| !expected.is_empty())
    }

    /// A period begins: what was announced in the one before is gone, and what goes is announced.
    pub(super) fn give_way(&mut self, now: Instant, period: u64) {
        if let Some((_, set)) = self.calls.announced.take_if(|(at, _)| *at < period) {
            let gone = set & self.calls.wanted;
            self.calls.held |= gone;
            self.lose(now, set);
            if gone != 0 {
                self.pdchs_went(now);
            }
        }
        let going = self.going();
        if going != 0 && self.calls.announced.is_none() {
            self.calls.announced = Some((period, going));
        }
    }

    /// PACKET PDCH RELEASE, where it goes on a PDCH in a period.
    pub(super) fn pdch_release(&self, slot: u8, period: u64) -> Option<DownBlock> {
        let (_, set) = self.calls.announced.filter(|(at, set)| *at == period && set >> slot & 1 == 1)?;
        let message = Down::PdchRelease { available: self.pdchs() & !set };
        Some(DownBlock::Control { usf: USF_NOBODY, rrbp: None, message })
    }

    /// Mobiles listen to these timeslots no longer: TBFs leave them or break, and what was to be said and heard there is not.
    fn lose(&mut self, now: Instant, set: u8) {
        for tfi in self.resources.tfis(Direction::Down) {
            self.lose_down(now, tfi, set);
        }
        for tfi in self.resources.tfis(Direction::Up) {
            self.lose_up(now, tfi, set);
        }
        for slot in slots(set) {
            let place = usize::from(slot);
            let unsaid = self.control.get_mut(place).map(core::mem::take).unwrap_or_default();
            let unheard = self.expected.get_mut(place).map(core::mem::take).unwrap_or_default();
            unsaid.into_iter().for_each(|control| self.say_elsewhere(control));
            unheard.into_iter().for_each(|(at, what)| self.answered(now, (slot, at), what, None));
            // What this had to be said again there goes elsewhere, too.
            let again = self.control.get_mut(place).map(core::mem::take).unwrap_or_default();
            again.into_iter().for_each(|control| self.say_elsewhere(control));
        }
    }

    fn lose_down(&mut self, now: Instant, tfi: u8, set: u8) {
        let Some(tbf) = self.down_tbf(tfi) else { return };
        if (tbf.slots | tbf.wanted) & set == 0 {
            return;
        }
        let (slots, wanted, before) = (tbf.slots & !set, tbf.wanted & !set, tbf.wanted);
        // One that is told on the CCCH is there on one timeslot first.
        let goes_on = match tbf.state {
            DownState::Flowing | DownState::Finishing | DownState::Released | DownState::Confirming => true,
            DownState::Assigning => tbf.is_told,
            DownState::Leaving | DownState::Silent | DownState::Lost => false,
        };
        if goes_on && slots != 0 {
            (tbf.slots, tbf.wanted) = (slots, wanted);
            self.resources.count(Direction::Down, before, false);
            self.resources.count(Direction::Down, wanted, true);
        } else if tbf.state == DownState::Silent {
            // Its timer runs.
            (tbf.slots, tbf.wanted) = (0, 0);
            self.resources.count(Direction::Down, before, false);
        } else if tbf.state != DownState::Lost {
            self.break_down(now, tfi);
        }
    }

    /// A downlink TBF is over. What it carried goes by another, or not.
    fn break_down(&mut self, now: Instant, tfi: u8) {
        let t3195 = self.config.t3195;
        let discards = self.is_without_pdch()
            && matches!(self.config.preempted, Preempted::Hold | Preempted::HoldFor(_));
        self.take_back_those(tfi, !discards);
        let Some(tbf) = self.down_tbf(tfi) else { return };
        let mobile = tbf.mobile;
        if tbf.is_told {
            let wanted = tbf.wanted;
            tbf.leave();
            (tbf.state, tbf.slots, tbf.wanted) = (DownState::Lost, 0, 0);
            tbf.deadlines.set(DownTimer::T3195, now + t3195 + MARGIN);
            self.calls.counts.broken_down += 1;
            self.resources.count(Direction::Down, wanted, false);
            self.access.forget_down(tfi);
            for stranded in self.forget_down(tfi) {
                self.retry_on_ccch(stranded);
            }
            if let Some(context) = self.contexts.get_mut(&mobile)
                && context.down == Some(tfi)
            {
                context.down = None;
            }
            self.transfers_until(mobile, now);
        } else {
            self.free_down(tfi);
        }
        self.serve_mobile(mobile);
    }

    fn lose_up(&mut self, now: Instant, tfi: u8, set: u8) {
        let t3169 = self.config.t3169;
        let Some(tbf) = self.up_tbf(tfi) else { return };
        let gone = tbf.slots() & set;
        if gone == 0 || tbf.state == UpState::Silent {
            return;
        }
        let goes_on = matches!(tbf.state, UpState::Flowing | UpState::Finishing);
        if goes_on && tbf.slots() != gone {
            for slot in slots(gone) {
                let place = usize::from(slot);
                if let (Some(usf), Some(lost)) = (tbf.usfs.get_mut(place), tbf.lost_usfs.get_mut(place)) {
                    *lost = usf.take();
                }
            }
            return self.resources.count(Direction::Up, gone, false);
        }
        // One that is assigned on the PACCH waits there; on the CCCH the assignment is on the air.
        if tbf.state == UpState::Assigning && tbf.tlli.is_some() {
            return self.free_up(tfi);
        }
        tbf.leave();
        tbf.state = UpState::Silent;
        tbf.deadlines.set(UpTimer::T3169, now + t3169 + MARGIN);
        self.calls.counts.broken_up += 1;
        for stranded in self.forget_up(tfi) {
            self.retry_on_ccch(stranded);
        }
    }

    /// A timeslot on which a mobile can be spoken to.
    fn pacch_of(&mut self, to: To) -> Option<u8> {
        match to {
            To::DownlinkTfi(tfi) => {
                let tbf = self.down_tbf(tfi)?;
                let listens = !matches!(tbf.state, DownState::Silent | DownState::Lost | DownState::Leaving);
                listens.then_some(tbf.slots).and_then(|set| slots(set).next())
            }
            To::UplinkTfi(tfi) => self.up_tbf(tfi).filter(|tbf| tbf.is_active()).and_then(|tbf| tbf.slot()),
            To::Tlli(_) => None,
        }
    }

    /// What was to be said on a PDCH that is gone.
    fn say_elsewhere(&mut self, control: Control) {
        match control {
            Control::DownlinkAssignment { to, tfi, .. } => {
                let waits = self.down_tbf(tfi).is_some_and(|tbf| {
                    matches!(tbf.state, DownState::Assigning | DownState::Confirming | DownState::Flowing)
                });
                match self.pacch_of(to) {
                    Some(slot) if waits => self.say(slot, control),
                    None if waits => self.retry_on_ccch(tfi),
                    Some(_) | None => {}
                }
            }
            Control::UplinkAssignment { to, tfi } => match self.pacch_of(to) {
                Some(slot) => self.say(slot, control),
                None if self.up_tbf(tfi).is_some_and(|tbf| tbf.state == UpState::Assigning) => {
                    self.free_up(tfi);
                }
                None => {}
            },
            Control::UplinkAckNack { tfi } => {
                if let Some(slot) = self.pacch_of(To::UplinkTfi(tfi)) {
                    self.say(slot, control);
                }
            }
            Control::Polling { tfi } => {
                if let Some(slot) = self.pacch_of(To::DownlinkTfi(tfi)) {
                    self.say(slot, control);
                }
            }
            // Its mobile has left, and asks again.
            Control::AccessReject { .. } | Control::TbfRelease { .. } => {}
        }
    }

    /// PDCHs are gone.
    fn pdchs_went(&mut self, now: Instant) {
        self.drains_change(now);
        if !self.is_without_pdch() {
            self.calls.counts.partial += 1;
            return;
        }
        if core::mem::replace(&mut self.calls.is_without, true) {
            return;
        }
        self.calls.counts.complete += 1;
        match self.config.preempted {
            Preempted::Flush => self.discard_all(),
            Preempted::HoldFor(span) if span == Duration::ZERO => self.discard_all(),
            Preempted::HoldFor(span) => self.calls.held_until = Some(now + span.min(HOLD_MAX)),
            Preempted::Hold | Preempted::Forward => {}
        }
    }

    /// PDCHs are there again: what waits gets its TBFs.
    fn pdchs_returned(&mut self, now: Instant) {
        self.drains_change(now);
        self.look_at_pdchs();
        self.feed_starving();
        for tfi in self.resources.tfis(Direction::Down) {
            if let Some(mobile) = self.mobile_of(tfi) {
                self.widen_down_again(mobile);
            }
        }
    }

    /// The downlink TBF of a mobile may have more timeslots, around those that it has.
    fn widen_down_again(&mut self, mobile: u32) {
        let tfi = self.contexts.get(&mobile).and_then(|context| context.down);
        let tbf = tfi.and_then(|tfi| self.down.get(usize::from(tfi))?.as_ref());
        let Some((slots, wanted)) = tbf.map(|tbf| (tbf.slots, tbf.wanted)) else { return };
        self.resources.count(Direction::Down, wanted, false);
        let set = self.down_slots_by(mobile, |set| u32::from(set & slots == 0));
        self.resources.count(Direction::Down, wanted, true);
        self.widen_down_to(mobile, set);
    }

    /// Where the cell has a PDCH, nothing is discarded any more.
    pub(super) const fn look_at_pdchs(&mut self) {
        if !self.is_without_pdch() {
            self.calls.is_without = false;
            self.calls.discards = false;
            self.calls.held_until = None;
        }
    }

    fn drains_change(&mut self, now: Instant) {
        let (usable, all) = (self.usable(), self.config.pdchs);
        let period = BlockPeriod::at_or_before(now).0;
        if usable != 0 {
            self.contexts.values_mut().for_each(|context| context.drain.channels_are(period, usable == all));
        }
    }

    /// What is held has been held for long enough.
    pub(super) fn hold_ends(&mut self, now: Instant) {
        if self.calls.held_until.take_if(|until| *until <= now).is_some() {
            self.discard_all();
        }
    }

    /// All that waits is given up, and what comes.
    fn discard_all(&mut self) {
        self.calls.discards = true;
        let mut all = Vec::new();
        self.take_waiting(None, |pdu| all.push(pdu));
        self.starving.clear();
        all.into_iter().for_each(|pdu| self.discard(pdu));
    }

    /// An LL-PDU is given up as calls have all PDCHs.
    pub(super) fn discard(&mut self, pdu: LlPdu) {
        self.calls.counts.discarded += 1;
        self.lost.push_back((pdu, Loss::Preempted));
    }
}
