//! Uplink TBFs (44.060 clauses 7.1, 8.1.1 and 9.3): who may send, what came, and whose it is.

use super::fair::{Account, Class};
use super::resources::{Direction, most_down, permits, slots};
use super::{Control, MARGIN, Pcu};
use crate::rlcmac::block::UpBlock;
use crate::rlcmac::multislot::MultislotClass;
use crate::rlcmac::policy::UplinkAcks;
use crate::rlcmac::rlc::{Mode, Receiver, ReceiverCounts, Report};
use crate::rlcmac::signal::{To, Up, Usfs};
use gannet_machine::time::{Duration, Instant};
use gannet_machine::timers::Deadlines;
use gannet_wire::id::Tlli;
use gannet_wire::l3::ie::RadioPriority;
use gannet_wire::rlcmac::block::{Body, UplinkHeader};

gannet_machine::timer_names! {
    /// Timers of an uplink TBF in the network (44.060 clause 13.2).
    pub(super) enum UpTimer {
        /// The mobile does not answer: its USF and TFI are not used until it has given up.
        T3169 = "T3169",
        /// Extended uplink TBF mode: the TBF has been without data for long enough.
        Extended = "extended uplink",
    }
}

/// Where an uplink TBF is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UpState {
    /// Its assignment has not been sent.
    Assigning,
    /// The mobile may send.
    Flowing,
    /// Everything has come: the final acknowledgement is to be answered.
    Finishing,
    /// The mobile is told that it ends.
    Leaving,
    /// The mobile does not answer.
    Silent,
}

/// An uplink TBF.
#[derive(Debug)]
pub(super) struct UpTbf {
    pub(super) state: UpState,
    pub(super) usfs: Usfs,
    /// USFs on PDCHs that calls have taken: a mobile that has not heard of it still obeys them.
    pub(super) lost_usfs: Usfs,
    /// Whose it is; nobody's until contention is resolved.
    pub(super) tlli: Option<Tlli>,
    receiver: Receiver,
    pub(super) account: Account,
    pub(super) deadlines: Deadlines<UpTimer>,
    n3101: u8,
    n3103: u8,
    since_ack: u16,
    /// A PACKET UPLINK ACK/NACK waits for its block.
    ack_waits: bool,
    /// The block period of the last one, and the blocks that it lacked and that the mobile could not send again yet.
    lacking: (u64, usize),
    /// The mobile had nothing to send: it is asked again from then on.
    rests_until: Instant,
    /// The mobile announced that nothing follows.
    is_counted_down: bool,
}

impl UpTbf {
    pub(super) const fn is_active(&self) -> bool {
        matches!(self.state, UpState::Flowing | UpState::Finishing)
    }

    /// What it cost so far.
    pub(super) const fn rlc_counts(&self) -> &ReceiverCounts {
        self.receiver.counts()
    }

    /// The USF on a timeslot, where the mobile is to send there now.
    pub(super) fn usf_on(&self, slot: u8, now: Instant) -> Option<u8> {
        let may = self.state == UpState::Flowing && self.rests_until <= now;
        self.usfs.get(usize::from(slot)).copied().flatten().filter(|_| may)
    }

    /// What PACKET UPLINK ACK/NACK says in this block period, and whether it is the final one.
    pub(super) fn report(&mut self, period: u64) -> Report {
        self.ack_waits = false;
        self.since_ack = 0;
        self.lacking = (period, self.receiver.holes());
        Report { is_final: self.state == UpState::Finishing, ..self.receiver.report() }
    }

    /// The mobile could send in a block period: first what the last acknowledgement lacked, where that had been said before.
    const fn could_send(&mut self, period: u64) {
        let (said, lacking) = self.lacking;
        if period > said {
            self.lacking = (said, lacking.saturating_sub(1));
        }
    }

    /// An acknowledgement is due with what came last, or with nothing in its place.
    fn is_ack_due(&self, (acks, every): (UplinkAcks, u16), is_first: bool, waits: bool) -> bool {
        let is_regular = is_first || self.since_ack >= every || waits;
        match acks {
            UplinkAcks::Every => is_regular || self.is_counted_down,
            UplinkAcks::OnGap => self.lacking.1 == 0 && (is_regular || self.receiver.holes() > 0),
        }
    }

    /// It is released: none of its timers counts, and nothing is asked of its mobile but an answer.
    pub(super) fn leave(&mut self) {
        (self.state, self.n3103) = (UpState::Leaving, 0);
        self.deadlines.clear_all();
    }

    /// The mobile has not answered; true where it is given up.
    pub(super) const fn has_missed(&mut self, most: u8) -> bool {
        self.n3103 += 1;
        self.n3103 >= most
    }

    /// Its timeslots.
    pub(super) fn slots(&self) -> u8 {
        let slots = (0_u8..).zip(&self.usfs).filter(|(_, usf)| usf.is_some());
        slots.fold(0, |set, (slot, _)| set | 1 << slot)
    }

    pub(super) fn slot(&self) -> Option<u8> {
        (0_u8..).zip(&self.usfs).find(|(_, usf)| usf.is_some()).map(|(slot, _)| slot)
    }
}

impl Pcu {
    pub(super) fn up_tbf(&mut self, tfi: u8) -> Option<&mut UpTbf> {
        self.up.get_mut(usize::from(tfi))?.as_deref_mut()
    }

    /// The uplink TBF of a mobile, by whose PACCH it can be spoken to, and a timeslot of that. The mobile hears what follows the
    /// final acknowledgement until it has answered that.
    pub(super) fn up_of(&self, mobile: u32) -> Option<(u8, u8)> {
        let is_its = |tlli: Tlli| self.by_tlli.get(&tlli) == Some(&mobile);
        self.resources.tfis(Direction::Up).find_map(|tfi| {
            let tbf = self.up.get(usize::from(tfi))?.as_ref()?;
            let speaks =
                !matches!(tbf.state, UpState::Silent | UpState::Leaving) && tbf.tlli.is_some_and(is_its);
            speaks.then(|| tbf.slot()).flatten().map(|slot| (tfi, slot))
        })
    }

    /// Makes an uplink TBF of a class; `None` where the cell has no room for it. A mobile that is known gets what goes beside its downlink TBF.
    pub(super) fn make_up(&mut self, wanted: u8, class: Class, tlli: Option<Tlli>) -> Option<u8> {
        let per_pdch = self.config.tbfs_per_pdch_max;
        let pdchs = self.usable();
        let free = slots(pdchs).filter(|slot| self.resources.has_usf(*slot, per_pdch));
        let free = free.fold(0, |set, slot| set | 1 << slot);
        let mobile = tlli.and_then(|tlli| self.by_tlli.get(&tlli)).copied();
        let limits = mobile.map_or(self.config.multislot_class, |mobile| self.class_of(mobile));
        let down = mobile.map_or(0, |mobile| self.down_set_of(mobile));
        // Without a downlink TBF, such that most timeslots can follow downlink.
        let narrow = |up| u32::from(u8::MAX) - most_down(limits, pdchs, up);
        let set = self.resources.choose(Direction::Up, free, wanted, |up| permits(limits, down, up), narrow);
        if set == 0 {
            return None;
        }
        let tfi = self.resources.take_tfi(Direction::Up)?;
        let mut usfs = [None; 8];
        for slot in slots(set) {
            if let Some(place) = usfs.get_mut(usize::from(slot)) {
                *place = self.resources.take_usf(slot, per_pdch);
            }
        }
        self.resources.count(Direction::Up, set, true);
        let tbf = UpTbf {
            state: UpState::Assigning,
            usfs,
            lost_usfs: [None; 8],
            tlli,
            receiver: Receiver::new(Mode::Acknowledged),
            account: self.up_time.open(class),
            deadlines: Deadlines::default(),
            n3101: 0,
            n3103: 0,
            since_ack: 0,
            ack_waits: false,
            lacking: (0, 0),
            rests_until: Instant::ZERO,
            is_counted_down: false,
        };
        *self.up.get_mut(usize::from(tfi))? = Some(Box::new(tbf));
        Some(tfi)
    }

    /// A mobile asks for an uplink TBF with a PACKET RESOURCE REQUEST (44.060 clause 7.1.3).
    pub(super) fn asked_for_uplink(
        &mut self,
        slot: u8,
        tlli: Tlli,
        multislot_class: u8,
        priority: RadioPriority,
    ) {
        let mobile = self.by_tlli.get(&tlli).copied();
        if let Some(context) = mobile.and_then(|mobile| self.contexts.get_mut(&mobile)) {
            context.multislot = MultislotClass::new(multislot_class);
        }
        self.grant_uplink(slot, To::Tlli(tlli), tlli, priority);
        self.has_accessed(tlli);
    }

    /// Gives an uplink TBF to a mobile that listens to a timeslot, or refuses it. A mobile that asks again has not heard the first
    /// assignment when it asks; it may hear that in the same block period. So the second names the same TBF.
    pub(super) fn grant_uplink(&mut self, slot: u8, to: To, tlli: Tlli, priority: RadioPriority) {
        let class = self.config.uplink_classes.of(priority);
        if let Some(tfi) = self.up_unused_of(tlli) {
            self.forget_assignments_of(tfi);
            if let Some(tbf) = self.up_tbf(tfi) {
                tbf.n3101 = 0;
                tbf.account.set_class(class);
            }
            return self.say(slot, Control::UplinkAssignment { to, tfi });
        }
        self.drop_up_of(tlli);
        let wanted = self.config.uplink_slots;
        match self.make_up(wanted, class, Some(tlli)) {
            Some(tfi) => self.say(slot, Control::UplinkAssignment { to, tfi }),
            None => self.say(slot, Control::AccessReject { to }),
        }
    }

    /// The uplink TBF of a mobile in which nothing has come, where it may have that still.
    fn up_unused_of(&self, tlli: Tlli) -> Option<u8> {
        let mobile = self.by_tlli.get(&tlli).copied();
        let class = mobile.map_or(self.config.multislot_class, |mobile| self.class_of(mobile));
        let down = mobile.map_or(0, |mobile| self.down_set_of(mobile));
        self.resources.tfis(Direction::Up).find(|tfi| {
            let tbf = self.up.get(usize::from(*tfi)).and_then(Option::as_ref);
            tbf.is_some_and(|tbf| {
                let is_open = matches!(tbf.state, UpState::Assigning | UpState::Flowing);
                let is_unused = tbf.receiver.counts().arrived() == 0;
                tbf.tlli == Some(tlli) && is_open && is_unused && permits(class, down, tbf.slots())
            })
        })
    }

    /// A mobile that asks for a TBF has none: what is left of its last one is over.
    fn drop_up_of(&mut self, tlli: Tlli) {
        let is_its = |tfi: &u8| {
            let tbf = self.up.get(usize::from(*tfi)).and_then(Option::as_ref);
            tbf.is_some_and(|tbf| tbf.tlli == Some(tlli))
        };
        if let Some(tfi) = self.resources.tfis(Direction::Up).find(is_its) {
            self.free_up(tfi);
        }
    }

    /// The assignment has been sent: the mobile may send.
    pub(super) fn assigned_up(&mut self, tfi: u8) {
        if let Some(tbf) = self.up_tbf(tfi)
            && tbf.state == UpState::Assigning
        {
            tbf.state = UpState::Flowing;
        }
    }

    /// The block that a USF gave a mobile was used, or was not (N3101).
    pub(super) fn used(&mut self, now: Instant, (slot, period): (u8, u64), tfi: u8, block: Option<&UpBlock>) {
        let (n3101_max, t3169, rest) = (self.config.n3101_max, self.config.t3169, self.config.idle_poll);
        let extended = self.options.extended_uplink;
        let acks = (self.config.policy.uplink_acks, self.config.policy.ack_every);
        let Some(tbf) = self.up_tbf(tfi) else { return };
        tbf.could_send(period);
        tbf.n3101 = if block.is_some() { 0 } else { tbf.n3101 + 1 };
        if tbf.n3101 >= n3101_max {
            tbf.state = UpState::Silent;
            tbf.deadlines.clear_all();
            tbf.deadlines.set(UpTimer::T3169, now + t3169 + MARGIN);
        } else if matches!(block, Some(UpBlock::Control(Up::Dummy { .. }))) && extended != Duration::ZERO {
            tbf.rests_until = now + rest;
            if !tbf.deadlines.is_set(UpTimer::Extended) {
                tbf.deadlines.set(UpTimer::Extended, now + extended);
            }
        } else if acks.0 == UplinkAcks::OnGap && !matches!(block, Some(UpBlock::Data { .. })) {
            // A mobile that says that it has nothing waits to hear what has come.
            let waits = matches!(block, Some(UpBlock::Control(Up::Dummy { .. })));
            let is_begun = tbf.receiver.counts().arrived() > 0 && tbf.state == UpState::Flowing;
            if is_begun && !tbf.ack_waits && tbf.is_ack_due(acks, false, waits) {
                tbf.ack_waits = true;
                self.say(slot, Control::UplinkAckNack { tfi });
            }
        }
    }

    /// An RLC data block.
    pub(super) fn data(
        &mut self,
        slot: u8,
        header: &UplinkHeader,
        body: &Body,
        mut deliver: impl FnMut(Tlli, &[u8]),
    ) {
        let acks = (self.config.policy.uplink_acks, self.config.policy.ack_every);
        let tbf = self.up.get_mut(usize::from(header.tfi)).and_then(Option::as_mut);
        let (Some(tbf), Ok(contents)) = (tbf, body.contents()) else {
            self.counts.uplink_nobodys += 1;
            return;
        };
        let is_another = contents.tlli.is_some_and(|tlli| tbf.tlli.is_some_and(|mine| mine != tlli));
        if is_another || tbf.tlli.is_none() && contents.tlli.is_none() {
            // The loser of a contention, before it knows (44.060 clause 7.1.2.3).
            self.counts.uplink_nobodys += 1;
            return;
        }
        let is_first = tbf.tlli.is_none();
        let Some(tlli) = tbf.tlli.or(contents.tlli) else { return };
        tbf.tlli = Some(tlli);
        tbf.deadlines.clear(UpTimer::Extended);
        let is_final = header.countdown == 0;
        tbf.is_counted_down |= is_final;
        // What is refused is counted, and is as if it had not come.
        let came = tbf.receiver.receive(header.bsn, is_final, body, |pdu| deliver(tlli, pdu.octets));
        self.counts.up.count(&came);
        tbf.since_ack = tbf.since_ack.saturating_add(1);
        let is_over = tbf.receiver.is_complete() && tbf.state == UpState::Flowing;
        let is_due = tbf.is_ack_due(acks, is_first, header.is_stalled);
        let says = is_over || is_due && !tbf.ack_waits && tbf.state == UpState::Flowing;
        if is_over {
            tbf.state = UpState::Finishing;
        }
        if says {
            tbf.ack_waits = true;
            self.say(slot, Control::UplinkAckNack { tfi: header.tfi });
        }
        if is_first {
            self.drop_others_of(tlli, header.tfi);
            self.has_accessed(tlli);
        }
    }

    /// A mobile that comes by the CCCH listens to no downlink TBF: what it has of one is over, and begins anew where it is now.
    fn has_accessed(&mut self, tlli: Tlli) {
        if let Some(mobile) = self.by_tlli.get(&tlli).copied() {
            self.restart_down(mobile);
        }
    }

    /// A mobile that has a new TBF has left its former.
    fn drop_others_of(&mut self, tlli: Tlli, new: u8) {
        let is_other = |tfi: &u8| {
            let tbf = self.up.get(usize::from(*tfi)).and_then(Option::as_ref);
            *tfi != new && tbf.is_some_and(|tbf| tbf.tlli == Some(tlli))
        };
        if let Some(tfi) = self.resources.tfis(Direction::Up).find(is_other) {
            self.free_up(tfi);
        }
    }

    /// The final acknowledgement was answered, or was not (N3103).
    pub(super) fn final_answered(&mut self, now: Instant, tfi: u8, came: bool) {
        let (n3103_max, t3169) = (self.config.n3103_max, self.config.t3169);
        let Some(tbf) = self.up_tbf(tfi) else { return };
        if came {
            let mobile = tbf.tlli.and_then(|tlli| self.by_tlli.get(&tlli).copied());
            if let Some(mobile) = mobile {
                self.transfers_until(mobile, now);
            }
            return self.free_up(tfi);
        }
        tbf.n3103 += 1;
        let Some(slot) = tbf.slot() else { return };
        if tbf.n3103 >= n3103_max {
            tbf.state = UpState::Silent;
            tbf.deadlines.set(UpTimer::T3169, now + t3169 + MARGIN);
        } else {
            self.say(slot, Control::UplinkAckNack { tfi });
        }
    }

    pub(super) fn wake_up(&mut self, now: Instant, tfi: u8) {
        while let Some(tbf) = self.up_tbf(tfi) {
            let Some(timer) = tbf.deadlines.pop_due(now) else { return };
            match timer {
                UpTimer::T3169 => self.free_up(tfi),
                UpTimer::Extended => {
                    tbf.state = UpState::Finishing;
                    if let Some(slot) = tbf.slot() {
                        self.say(slot, Control::UplinkAckNack { tfi });
                    }
                }
            }
        }
    }

    /// A TBF is over: its TFI and USFs may be another's.
    pub(super) fn free_up(&mut self, tfi: u8) {
        let Some(tbf) = self.up.get_mut(usize::from(tfi)).and_then(Option::take) else { return };
        let mut set = 0;
        self.ended.receiver += *tbf.rlc_counts();
        for (slot, usf) in (0_u8..).zip(&tbf.usfs) {
            if let Some(usf) = usf {
                self.resources.give_usf(slot, *usf);
                set |= 1 << slot;
            }
        }
        for (slot, usf) in (0_u8..).zip(&tbf.lost_usfs) {
            usf.iter().for_each(|usf| self.resources.give_usf(slot, *usf));
        }
        self.resources.give_tfi(Direction::Up, tfi);
        self.resources.count(Direction::Up, set, false);
        for stranded in self.forget_up(tfi) {
            self.retry_on_ccch(stranded);
        }
        if let Some(mobile) = tbf.tlli.and_then(|tlli| self.by_tlli.get(&tlli)).copied() {
            self.widen_down(mobile);
        }
        self.feed_starving();
    }
}
