//! Downlink TBFs (44.060 clauses 7.2, 8.1.2 and 9.3).
//!
//! ```text
//!             assignment is sent            nothing waits             complete
//!  Assigning ───────────────────► Flowing ──────────────► Finishing ──────────► Released
//!                                  │   ▲ ▼ delayed release  │  (T3191)           (T3193)
//!                          N3105   └───────── Silent ◄──────┘
//!                                             (T3195)
//! ```

use super::fair::{Account, Class};
use super::polls::Polls;
use super::resources::{Direction, permits, slots};
use super::{Control, Loss, MARGIN, Pcu};
use crate::rlcmac::custody::{Carried, Custody, Delivered, LlPdu};
use crate::rlcmac::multiframe::BlockPeriod;
use crate::rlcmac::multislot::MultislotClass;
use crate::rlcmac::policy::Policy;
use crate::rlcmac::rlc::{Ending, Kind, Mode, Report, Sender, SenderCounts, Sent};
use crate::rlcmac::signal::To;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::timers::Deadlines;
use gannet_wire::l3::ie::RadioPriority;

gannet_machine::timer_names! {
    /// Timers of a downlink TBF in the network (44.060 clause 13.2).
    pub(super) enum DownTimer {
        /// The final block is sent: the acknowledgement is awaited.
        T3191 = "T3191",
        /// It is acknowledged: the mobile still listens.
        T3193 = "T3193",
        /// The mobile does not answer: its TFI is not used until it has given up.
        T3195 = "T3195",
        /// Delayed release (44.060 clause 9.3.1a): the TBF has been without data for long enough.
        Release = "delayed release",
    }
}

/// T3193 is so much more than T3192 (44.060 clause 13.2): an answer takes a block to come.
const T3193_MORE: Duration = Duration::from_millis(100);

/// Where a downlink TBF is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DownState {
    /// Its assignment has not been sent, or is not acknowledged.
    Assigning,
    /// Its assignment was sent on the CCCH, and the mobile is to say that it has heard it.
    Confirming,
    /// Data blocks go.
    Flowing,
    /// The final block was sent.
    Finishing,
    /// Everything is acknowledged.
    Released,
    /// The mobile is told that it ends.
    Leaving,
    /// The mobile does not answer.
    Silent,
    /// Calls have taken its PDCHs. Its TFI is not used until a mobile that has not heard of it has given up.
    Lost,
}

/// A downlink TBF.
#[derive(Debug)]
pub(super) struct DownTbf {
    pub(super) mobile: u32,
    pub(super) state: DownState,
    /// The timeslots that the mobile listens to.
    pub(super) slots: u8,
    /// Those that it is to listen to.
    pub(super) wanted: u8,
    sender: Sender<Carried>,
    custody: Custody,
    pub(super) account: Account,
    pub(super) deadlines: Deadlines<DownTimer>,
    n3105: u8,
    /// The mobile may know of it: an assignment was sent.
    pub(super) is_told: bool,
    pub(super) polls: Polls,
    /// It is released late and has nothing to send: when a poll was due last.
    idle: Option<Instant>,
    /// Delayed release is over: the TBF ends with what it has.
    is_closing: bool,
}

impl DownTbf {
    pub(super) fn deliver(&mut self, octets: &[u8]) -> Option<Delivered> {
        self.custody.deliver(octets)
    }

    pub(super) fn pop_confirmed(&mut self) -> Option<LlPdu> {
        self.custody.pop_confirmed()
    }

    pub(super) const fn waiting_octets(&self) -> u64 {
        self.sender.waiting_octets() as u64
    }

    /// Octets of LL-PDUs that are in blocks.
    pub(super) const fn carried_octets(&self) -> u64 {
        self.sender.counts().ll_pdu_octets
    }

    pub(super) const fn is_active(&self) -> bool {
        matches!(self.state, DownState::Flowing | DownState::Finishing)
    }

    /// What it cost so far.
    pub(super) const fn rlc_counts(&self) -> &SenderCounts {
        self.sender.counts()
    }

    /// Why it would send a block in a period.
    pub(super) fn need(&mut self, policy: &Policy, period: u64) -> Option<Kind> {
        self.sender.set_unasked(policy.idle.unasked(self.polls.is_polled()));
        self.sender.set_held(policy.spares_reports && self.polls.reports_in(period));
        if self.is_active() { self.sender.peek() } else { None }
    }

    /// A poll is due with the block that goes now.
    pub(super) fn wants_poll(&self, policy: &Policy, sent: &Sent) -> bool {
        let is_end = self.sender.is_stalled() || self.sender.waiting_octets() == 0;
        self.polls.is_due(policy, sent.kind == Kind::New, sent.is_final, is_end)
    }

    /// It has nothing to send, and is released late.
    pub(super) const fn is_idle(&self) -> bool {
        self.idle.is_some()
    }

    /// Its next block.
    pub(super) fn next_block(&mut self, ends: bool) -> Option<Sent> {
        let sent = self.sender.next_block(if ends { Ending::WithQueue } else { Ending::Open })?;
        self.polls.block_sent();
        while let Some(carried) = self.sender.pop_done() {
            self.custody.done(carried);
        }
        Some(sent)
    }

    /// Takes the LL-PDUs of which nothing was sent.
    pub(super) fn take_unsent(&mut self, mut out: impl FnMut(LlPdu)) {
        let custody = &mut self.custody;
        self.sender.take_unsent(
            |_| true,
            |carried| {
                if let Some(pdu) = custody.give_back(carried) {
                    out(pdu);
                }
            },
        );
    }

    /// It is released: none of its timers counts, and nothing of it is sent.
    pub(super) fn leave(&mut self) {
        (self.state, self.n3105) = (DownState::Leaving, 0);
        self.deadlines.clear_all();
    }

    /// Where it waits for its assignment on the CCCH, none was sent before.
    pub(super) const fn is_untold(&self) -> bool {
        self.n3105 == 0
    }

    /// The mobile has not answered; true where it is given up.
    pub(super) const fn has_missed(&mut self, most: u8) -> bool {
        self.n3105 += 1;
        self.n3105 >= most
    }

    /// The mobile makes its report now.
    pub(super) const fn report_is_made(&mut self, period: u64) {
        self.polls.report_is_made(self.sender.serial(), period);
    }
}

impl Pcu {
    /// What waits for a mobile gets a TBF, where it has none that takes it.
    pub(super) fn serve_mobile(&mut self, mobile: u32) {
        let Some(context) = self.contexts.get(&mobile).filter(|context| !context.queue.is_empty()) else {
            return;
        };
        let class = context.next_class();
        let Some(old) = context.down else {
            let up = self.up_of(mobile);
            return self.assign_down(mobile, class, up.map(|(tfi, slot)| (To::UplinkTfi(tfi), slot)));
        };
        let Some(tbf) = self.down.get_mut(usize::from(old)).and_then(Option::as_mut) else { return };
        match tbf.state {
            DownState::Flowing => {
                self.down_time.resume(&mut tbf.account);
                (tbf.idle, tbf.is_closing) = (None, false);
                tbf.deadlines.clear(DownTimer::Release);
            }
            DownState::Released => {
                let slot = slots(tbf.slots).next();
                self.assign_down(mobile, class, slot.map(|slot| (To::DownlinkTfi(old), slot)));
            }
            DownState::Assigning
            | DownState::Confirming
            | DownState::Finishing
            | DownState::Leaving
            | DownState::Silent
            | DownState::Lost => {}
        }
    }

    /// There is no TFI, or no timeslot beside its uplink TBF: the mobile waits until a TBF ends.
    fn starve(&mut self, mobile: u32) {
        if !self.starving.contains(&mobile) {
            self.starving.push_back(mobile);
        }
    }

    /// A TBF has ended: who waited for that is served.
    pub(super) fn feed_starving(&mut self) {
        for _ in 0..self.starving.len() {
            if let Some(mobile) = self.starving.pop_front() {
                self.serve_mobile(mobile);
            }
        }
    }

    /// The best timeslots for a mobile's downlink TBF, beside those of its uplink TBF.
    fn down_slots(&self, mobile: u32) -> u8 {
        self.down_slots_by(mobile, |_| 0)
    }

    pub(super) fn down_slots_by(&self, mobile: u32, cost: impl Fn(u8) -> u32) -> u8 {
        let class = self.class_of(mobile);
        let up = self.up_of(mobile).and_then(|(tfi, _)| self.up.get(usize::from(tfi))?.as_ref());
        let up = up.map_or(0, |tbf| tbf.slots());
        let (pdchs, wanted) = (self.usable(), self.config.downlink_slots);
        self.resources.choose(Direction::Down, pdchs, wanted, |set| permits(class, set, up), cost)
    }

    /// The multislot class of a mobile, as it has said it or as all have it.
    pub(super) fn class_of(&self, mobile: u32) -> MultislotClass {
        let said = self.contexts.get(&mobile).and_then(|context| context.multislot);
        said.unwrap_or(self.config.multislot_class)
    }

    /// The uplink TBF of a mobile is over: its downlink TBF may have more timeslots. While that is being said, blocks go where the
    /// mobile listens before and after.
    pub(super) fn widen_down(&mut self, mobile: u32) {
        self.widen_down_to(mobile, self.down_slots(mobile));
    }

    pub(super) fn widen_down_to(&mut self, mobile: u32, set: u8) {
        let Some(tfi) = self.contexts.get(&mobile).and_then(|context| context.down) else { return };
        let Some(tbf) = self.down.get_mut(usize::from(tfi)).and_then(Option::as_mut) else { return };
        let common = tbf.slots & set;
        let is_wider = set.count_ones() > tbf.wanted.count_ones() && tbf.slots == tbf.wanted;
        if tbf.state != DownState::Flowing || !is_wider || common == 0 {
            return;
        }
        let Some(slot) = slots(common).next() else { return };
        let before = core::mem::replace(&mut tbf.wanted, set);
        tbf.slots = common;
        self.resources.count(Direction::Down, before, false);
        self.resources.count(Direction::Down, set, true);
        self.say(slot, Control::DownlinkAssignment { to: To::DownlinkTfi(tfi), tfi, is_new: false });
    }

    /// A new downlink TBF: on the PACCH of a TBF that the mobile has, or on the CCCH.
    fn assign_down(&mut self, mobile: u32, class: Class, pacch: Option<(To, u8)>) {
        let set = self.down_slots(mobile);
        let load = |slot: &u8| self.resources.load(Direction::Down, *slot);
        let Some(first) = slots(set).min_by_key(load) else { return self.starve(mobile) };
        let Some(tfi) = self.resources.take_tfi(Direction::Down) else { return self.starve(mobile) };
        let mode = if self.config.acknowledged { Mode::Acknowledged } else { Mode::Unacknowledged };
        self.resources.count(Direction::Down, set, true);
        let tbf = DownTbf {
            mobile,
            state: DownState::Assigning,
            slots: if pacch.is_some() { set } else { 1 << first },
            wanted: set,
            sender: Sender::new(mode, self.config.downlink_coding),
            custody: Custody::apart(self.config.is_apart),
            account: self.down_time.open(class),
            deadlines: Deadlines::default(),
            n3105: 0,
            is_told: false,
            polls: Polls::default(),
            idle: None,
            is_closing: false,
        };
        if let Some(place) = self.down.get_mut(usize::from(tfi)) {
            *place = Some(Box::new(tbf));
        }
        if let Some(context) = self.contexts.get_mut(&mobile) {
            context.down = Some(tfi);
        }
        match pacch {
            Some((to, slot)) => self.say(slot, Control::DownlinkAssignment { to, tfi, is_new: true }),
            None => self.access.assign(tfi),
        }
    }

    pub(super) fn down_tbf(&mut self, tfi: u8) -> Option<&mut DownTbf> {
        self.down.get_mut(usize::from(tfi))?.as_deref_mut()
    }

    /// The assignment on the CCCH has been sent: the mobile hears one timeslot, and is told of the others there.
    pub(super) fn assigned_on_ccch(&mut self, tfi: u8) {
        let confirms = self.config.confirm_assignment;
        let Some(tbf) = self.down_tbf(tfi).filter(|tbf| tbf.state == DownState::Assigning) else { return };
        tbf.state = if confirms { DownState::Confirming } else { DownState::Flowing };
        let Some(slot) = slots(tbf.slots).next() else { return };
        if tbf.wanted != tbf.slots {
            self.say(slot, Control::DownlinkAssignment { to: To::DownlinkTfi(tfi), tfi, is_new: false });
        } else if confirms {
            self.say(slot, Control::Polling { tfi });
        }
    }

    /// An assignment on the PACCH was answered, or was not.
    pub(super) fn assignment_answered(&mut self, now: Instant, slot: u8, tfi: u8, came: bool) {
        let n3105_max = self.config.n3105_max;
        let Some(tbf) = self.down_tbf(tfi) else { return };
        if came {
            (tbf.slots, tbf.n3105) = (tbf.wanted, 0);
            let mobile = tbf.mobile;
            if matches!(tbf.state, DownState::Assigning | DownState::Confirming) {
                tbf.state = DownState::Flowing;
                self.forget_released(mobile, tfi);
            }
            return;
        }
        tbf.n3105 += 1;
        if tbf.state == DownState::Released {
            return;
        }
        let (is_lost, mobile, is_new) =
            (tbf.n3105 >= n3105_max, tbf.mobile, tbf.state == DownState::Assigning);
        if is_lost {
            return self.silent(now, tfi);
        }
        if tbf.state == DownState::Confirming {
            // It may not have heard of the TBF at all: it is told again, and then polled again.
            tbf.state = DownState::Assigning;
            return self.retry_on_ccch(tfi);
        }
        let to = match (is_new, self.released_of(mobile)) {
            (false, _) => Some(To::DownlinkTfi(tfi)),
            (true, Some(former)) => Some(To::DownlinkTfi(former)),
            (true, None) => self.up_of(mobile).map(|(up, _)| To::UplinkTfi(up)),
        };
        match to {
            Some(to) => self.say(slot, Control::DownlinkAssignment { to, tfi, is_new }),
            // The mobile has left that PACCH: it listens to the CCCH.
            None => self.retry_on_ccch(tfi),
        }
    }

    pub(super) fn retry_on_ccch(&mut self, tfi: u8) {
        let Some(tbf) = self.down_tbf(tfi) else { return };
        let Some(first) = slots(tbf.wanted).next() else { return };
        tbf.slots = 1 << first;
        self.access.assign(tfi);
    }

    /// The TFI under which a mobile's former TBF is released.
    fn released_of(&self, mobile: u32) -> Option<u8> {
        let is_it = |tfi: &u8| {
            let tbf = self.down.get(usize::from(*tfi)).and_then(Option::as_ref);
            tbf.is_some_and(|tbf| tbf.mobile == mobile && tbf.state == DownState::Released)
        };
        self.resources.tfis(Direction::Down).find(is_it)
    }

    /// The mobile has gone over to its new TBF: the former is over.
    fn forget_released(&mut self, mobile: u32, new: u8) {
        if let Some(old) = self.released_of(mobile).filter(|old| *old != new) {
            self.free_down(old);
        }
    }

    /// LL-PDUs enter a TBF when it has nothing else to send: until then their lifetime is looked at.
    pub(super) fn feed_down(&mut self, now: Instant, tfi: u8) {
        let Some(tbf) = self.down.get_mut(usize::from(tfi)).and_then(Option::as_mut) else { return };
        let Some(context) = self.contexts.get_mut(&tbf.mobile) else { return };
        let block = self.config.downlink_coding.data_octets();
        while tbf.state == DownState::Flowing
            && tbf.sender.waiting_octets() < block
            && let class = context.next_class()
            && let Some(pdu) = context.queue.pop_front()
        {
            tbf.account.set_class(class);
            self.waiting.0 -= 1;
            self.waiting.1 -= pdu.frame.len() as u64;
            if pdu.expires <= now {
                self.lost.push_back((pdu, Loss::Lifetime));
            } else if let Err(carried) = tbf.sender.push(tbf.custody.take(pdu)) {
                let refused = tbf.custody.give_back(carried);
                self.lost.extend(refused.map(|pdu| (pdu, Loss::Air)));
            }
        }
    }

    /// The TBF is to end with what it has: nothing else waits for its mobile, and it is not released late.
    pub(super) fn ends_with_queue(&self, tfi: u8) -> bool {
        let Some(tbf) = self.down.get(usize::from(tfi)).and_then(Option::as_ref) else { return false };
        let waits = self.contexts.get(&tbf.mobile).is_some_and(|context| !context.queue.is_empty());
        !waits && (self.config.delayed_release == Duration::ZERO || tbf.is_closing)
    }

    /// The final block has been made: T3191 runs from here on, and anew when more of the TBF has come.
    pub(super) fn final_is_sent(&mut self, now: Instant, tfi: u8) {
        let t3191 = self.config.t3191;
        if let Some(tbf) = self.down_tbf(tfi)
            && tbf.state != DownState::Finishing
        {
            tbf.state = DownState::Finishing;
            tbf.deadlines.set(DownTimer::T3191, now + t3191 + MARGIN);
        }
    }

    /// PACKET DOWNLINK ACK/NACK.
    pub(super) fn reported(
        &mut self,
        now: Instant,
        slot: u8,
        tfi: u8,
        report: &Report,
        wants_uplink: Option<RadioPriority>,
    ) {
        let t3193 = self.options.t3192 + T3193_MORE;
        let (age, t3191) = (self.config.policy.age, self.config.t3191);
        // In unacknowledged mode nobody knows more than that the mobile answers.
        let mut has_brought = !self.config.acknowledged;
        let Some(tbf) = self.down_tbf(tfi) else { return };
        // A report that is none of this window changes nothing.
        let acknowledged = tbf.sender.acknowledge_made_at(report, tbf.polls.serial(), age);
        tbf.polls.reported(acknowledged.is_ok_and(|what| what.nacked > 0));
        if tbf.state == DownState::Finishing && acknowledged.is_ok_and(|what| what.acknowledged > 0) {
            tbf.deadlines.set(DownTimer::T3191, now + t3191 + MARGIN);
        }
        while let Some(carried) = tbf.sender.pop_done() {
            tbf.custody.done(carried);
            has_brought = true;
        }
        let mobile = tbf.mobile;
        if tbf.state == DownState::Released {
            tbf.deadlines.set(DownTimer::T3193, now + t3193);
        }
        let is_over = tbf.state == DownState::Finishing && (report.is_final || tbf.sender.is_complete());
        if is_over {
            tbf.state = DownState::Released;
            tbf.deadlines.clear(DownTimer::T3191);
            tbf.deadlines.set(DownTimer::T3193, now + t3193);
            let lost: Vec<_> = tbf.custody.lost().collect();
            self.lost.extend(lost.into_iter().map(|pdu| (pdu, Loss::Air)));
        }
        if report.is_final {
            self.transfers_until(mobile, now + self.options.t3192);
        }
        let tlli = self.contexts.get_mut(&mobile).and_then(|context| {
            context.failures = if has_brought { 0 } else { context.failures };
            context.drain.answers();
            context.tllis.first().copied().flatten()
        });
        if let Some((priority, tlli)) = wants_uplink.zip(tlli) {
            self.grant_uplink(slot, To::DownlinkTfi(tfi), tlli, priority);
        }
        if is_over {
            self.serve_mobile(mobile);
        }
    }

    /// A poll was answered, or was not (N3105).
    pub(super) fn polled(&mut self, now: Instant, tfi: u8, came: bool) {
        let n3105_max = self.config.n3105_max;
        let Some(tbf) = self.down_tbf(tfi) else { return };
        tbf.polls.passed(came);
        tbf.n3105 = if came { 0 } else { tbf.n3105 + 1 };
        if tbf.n3105 >= n3105_max {
            self.silent(now, tfi);
        }
    }

    /// The mobile does not answer: nothing is sent to it until it has given up the TBF (T3195).
    fn silent(&mut self, now: Instant, tfi: u8) {
        let t3195 = self.config.t3195;
        if let Some(tbf) = self.down_tbf(tfi) {
            let mobile = tbf.mobile;
            tbf.state = DownState::Silent;
            tbf.deadlines.clear_all();
            tbf.deadlines.set(DownTimer::T3195, now + t3195 + MARGIN);
            if let Some(context) = self.contexts.get_mut(&mobile) {
                context.drain.is_silent(BlockPeriod::at_or_before(now).0);
            }
        }
        self.take_back(tfi);
    }

    /// What a TBF carries and has not delivered waits again, before all else of its mobile.
    pub(super) fn take_back(&mut self, tfi: u8) {
        self.take_back_those(tfi, true);
    }

    /// The same. Those of which something was sent are given up, with `false`.
    pub(super) fn take_back_those(&mut self, tfi: u8, keeps_begun: bool) {
        let mode = if self.config.acknowledged { Mode::Acknowledged } else { Mode::Unacknowledged };
        let fresh = Sender::new(mode, self.config.downlink_coding);
        let Some(tbf) = self.down.get_mut(usize::from(tfi)).and_then(Option::as_mut) else { return };
        let (mobile, mut unsent) = (tbf.mobile, Vec::new());
        if !keeps_begun {
            tbf.take_unsent(|pdu| unsent.push(pdu));
        }
        let sender = core::mem::replace(&mut tbf.sender, fresh);
        self.ended.sender += *sender.counts();
        let custody = &mut tbf.custody;
        let begun: Vec<_> =
            sender.into_remaining().filter_map(|carried| custody.give_back(carried)).collect();
        self.lost.extend(custody.lost().map(|pdu| (pdu, Loss::Air)));
        let kept = if keeps_begun {
            begun
        } else {
            begun.into_iter().for_each(|pdu| self.discard(pdu));
            unsent
        };
        let Some(context) = self.contexts.get_mut(&mobile) else { return };
        for pdu in kept.into_iter().rev() {
            self.waiting.0 += 1;
            self.waiting.1 += pdu.frame.len() as u64;
            context.queue.push_front(pdu);
        }
    }

    pub(super) fn wake_down(&mut self, now: Instant, tfi: u8) {
        while let Some(tbf) = self.down_tbf(tfi) {
            let Some(timer) = tbf.deadlines.pop_due(now) else { return };
            let (mobile, is_lost) = (tbf.mobile, tbf.state == DownState::Lost);
            match timer {
                DownTimer::T3195 if is_lost => self.free_down(tfi),
                DownTimer::T3193 => {
                    self.free_down(tfi);
                    self.serve_mobile(mobile);
                }
                // Blocks were sent until now, and the mobile listens on for as long as T3190 takes.
                DownTimer::T3191 => self.silent(now, tfi),
                DownTimer::T3195 => {
                    self.free_down(tfi);
                    self.seek_again(mobile);
                }
                DownTimer::Release => self.release_late(tfi),
            }
        }
    }

    /// The mobile was not reached: it is sought again, but not for ever.
    fn seek_again(&mut self, mobile: u32) {
        let most = self.config.assignments_max;
        let Some(context) = self.contexts.get_mut(&mobile) else { return };
        context.failures += 1;
        if context.failures >= most {
            context.failures = 0;
            for pdu in context.queue.drain(..) {
                self.waiting.0 -= 1;
                self.waiting.1 -= pdu.frame.len() as u64;
                self.lost.push_back((pdu, Loss::Contact));
            }
        }
        self.serve_mobile(mobile);
    }

    /// A TBF that is empty has been so for long enough: a last block says so.
    fn release_late(&mut self, tfi: u8) {
        let Some(tbf) = self.down_tbf(tfi) else { return };
        (tbf.idle, tbf.is_closing) = (None, true);
        // It is empty: it cannot refuse one.
        let _ = tbf.sender.push(Carried::DUMMY);
    }

    /// A TBF without data, which is released late, is kept alive: the mobile is sent something now and then, and polled with it (44.060 clause 9.3.1a).
    pub(super) fn keep_alive(&mut self, now: Instant, tfi: u8) {
        let (every, late) = (self.config.idle_poll, self.config.delayed_release);
        let Some(tbf) = self.down_tbf(tfi) else { return };
        let is_empty = tbf.state == DownState::Flowing && tbf.sender.has_nothing();
        if is_empty && tbf.idle.is_none() && !tbf.is_closing {
            if late == Duration::ZERO {
                // What it was made for has been taken out, or was too old.
                return self.release_late(tfi);
            }
            tbf.idle = Some(now);
            tbf.deadlines.set(DownTimer::Release, now + late);
        }
        if tbf.idle.is_some_and(|since| now.since(since) >= every) && !tbf.polls.is_polled() {
            tbf.idle = Some(now);
            let _ = tbf.sender.push(Carried::DUMMY);
        }
    }

    /// A mobile listens to none of its downlink TBFs: what they carried goes by a new one.
    pub(super) fn restart_down(&mut self, mobile: u32) {
        while let Some(tfi) = self.down_of(mobile) {
            self.take_back(tfi);
            self.free_down(tfi);
        }
        self.serve_mobile(mobile);
    }

    /// The timeslots on which a mobile listens for its downlink TBF, or will.
    pub(super) fn down_set_of(&self, mobile: u32) -> u8 {
        let tfi = self.contexts.get(&mobile).and_then(|context| context.down);
        let tbf = tfi.and_then(|tfi| self.down.get(usize::from(tfi))?.as_ref());
        tbf.map_or(0, |tbf| tbf.wanted)
    }

    /// A downlink TBF of a mobile, in whatever state.
    pub(super) fn down_of(&self, mobile: u32) -> Option<u8> {
        let is_its = |tfi: &u8| {
            self.down.get(usize::from(*tfi)).and_then(Option::as_ref).is_some_and(|tbf| tbf.mobile == mobile)
        };
        self.resources.tfis(Direction::Down).find(is_its)
    }

    /// A TBF is over: its TFI may be another's.
    pub(super) fn free_down(&mut self, tfi: u8) {
        let Some(mut tbf) = self.down.get_mut(usize::from(tfi)).and_then(Option::take) else { return };
        self.ended.sender += *tbf.rlc_counts();
        self.confirmed.extend(core::iter::from_fn(|| tbf.custody.pop_confirmed()));
        self.access.forget_down(tfi);
        for stranded in self.forget_down(tfi) {
            self.retry_on_ccch(stranded);
        }
        self.resources.give_tfi(Direction::Down, tfi);
        self.resources.count(Direction::Down, tbf.wanted, false);
        if let Some(context) = self.contexts.get_mut(&tbf.mobile)
            && context.down == Some(tfi)
        {
            context.down = None;
        }
        self.feed_starving();
    }
}
