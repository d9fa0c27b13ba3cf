//! Carries out what the state machine of an NS-VC decides: PDUs, timers, indications.

use super::claims;
use super::sending::transmit;
use super::sns;
use super::vc::{Action, Block, Event, NsTimer, Reset, Test, Use, VcIndex, VcOrigin, VcState, step, step_ip};
use super::{DEATH, FORGET_AFTER, NsEntity, NsOutput, NsRole, NsStatus, STATUS_ANSWERS_PER_S};
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_machine::timers::{TimerKey, TimerName as _};
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context};
use gannet_wire::id::Nsvci;
use gannet_wire::ns::{Cause, Pdu, Status};

impl NsEntity {
    /// A wake-up with this entity's `owner`.
    pub fn wake(&mut self, cx: &mut Context<'_>, key: TimerKey, out: &mut Batch<NsOutput>) {
        if key.slot == claims::SLOT {
            return self.wake_claims(cx, out);
        }
        if let Some(number) = sns::of_slot(key.slot) {
            return self.wake_sns(cx, number, key.generation, out);
        }
        let index = VcIndex(key.slot);
        let Some(vc) = self.table.get_mut(index).filter(|vc| vc.generation == key.generation) else { return };
        vc.deadlines.woken(cx.now);
        while let Some(name) = self.table.get_mut(index).and_then(|vc| vc.deadlines.pop_due(cx.now)) {
            self.expired(cx, index, name, out);
        }
        self.arm(cx, index);
    }

    /// The timer that a wake-up with this entity's `owner` is for.
    #[must_use]
    pub fn timer_name(&self, key: TimerKey) -> Option<&'static str> {
        match sns::of_slot(key.slot) {
            _ if key.slot == claims::SLOT => Some("the proof of a new address"),
            Some(number) => self.sns_timer_name(number, key.generation),
            None => self.table.get(VcIndex(key.slot))?.deadlines.next_name().map(|due| due.name()),
        }
    }

    fn expired(&mut self, cx: &mut Context<'_>, index: VcIndex, timer: NsTimer, out: &mut Batch<NsOutput>) {
        let role = self.config.role;
        let Some(vc) = self.table.get_mut(index) else { return };
        let event = match timer {
            NsTimer::TnsReset => {
                vc.counters.resets_unanswered += 1;
                let last = role == NsRole::Sgsn && vc.repeated >= self.config.reset_retries;
                if last { Event::Reset(Reset::Exhausted) } else { Event::Reset(Reset::Timeout) }
            }
            NsTimer::TnsBlock => {
                let retries = match vc.state {
                    VcState::Blocking => self.config.block_retries,
                    _ => self.config.unblock_retries,
                };
                if vc.repeated >= retries {
                    Event::Block(Block::Exhausted)
                } else {
                    Event::Block(Block::Timeout)
                }
            }
            NsTimer::TnsTest => {
                vc.alive_repeated = 0;
                return self.test(cx, index, out);
            }
            NsTimer::TnsAlive => {
                vc.counters.alive_unanswered += 1;
                if vc.alive_repeated < self.config.alive_retries {
                    vc.alive_repeated += 1;
                    self.table.set_doubtful(index, true);
                    return self.test(cx, index, out);
                }
                vc.counters.deaths += u64::from(vc.state != VcState::Dead);
                Event::Test(Test::Failed)
            }
            NsTimer::Forget => return self.remove_vc(cx, index, out),
        };
        if matches!(event, Event::Reset(Reset::Timeout) | Event::Block(Block::Timeout)) {
            vc.repeated = vc.repeated.saturating_add(1);
        }
        self.apply(cx, index, event, None, out);
    }

    /// Sends NS-ALIVE and starts Tns-alive (clause 7.4).
    pub(super) fn test(&mut self, cx: &mut Context<'_>, index: VcIndex, out: &mut Batch<NsOutput>) {
        let deadline = cx.now + self.config.tns_alive;
        if let Some(vc) = self.table.get_mut(index) {
            vc.deadlines.set(NsTimer::TnsAlive, deadline);
        }
        self.send(cx, index, &Pdu::Alive, out);
    }

    /// Gives `event` to an NS-VC. `received` is the PDU that made it, and the NS-VC where it came, which is not always
    /// the one that it is about.
    pub(super) fn apply(
        &mut self,
        cx: &mut Context<'_>,
        index: VcIndex,
        event: Event,
        received: Option<(VcIndex, &[u8])>,
        out: &mut Batch<NsOutput>,
    ) {
        let Some(vc) = self.table.get_mut(index) else { return };
        let (before, origin, nsei) = (vc.state, vc.origin, vc.nsei);
        let (after, actions) = match vc.nsvci {
            Some(_) => step(self.config.role, before, event),
            None => step_ip(before, event),
        };
        if after != before {
            vc.state = after;
            vc.since = cx.now;
            vc.repeated = 0;
            let is_blocked = matches!(after, VcState::Blocked | VcState::BlockedLocally);
            vc.counters.blocked += u64::from(is_blocked);
            vc.counters.unblocked += u64::from(after == VcState::Unblocked);
            let name = vc.name();
            vc.is_recalled = false;
            cx.log(Category::Ns, Level::Notice, format_args!("{name}: {before} -> {after}, {event}"));
            if after != VcState::Unblocked {
                self.set_unblocked(index, false, out);
            }
        }
        if event == Event::Test(Test::Failed)
            && let Some(vc) = self.table.get_mut(index)
        {
            vc.reset_cause = DEATH;
            vc.is_recalled = false;
        }
        self.run_state_timer(cx, index, before);
        for action in actions {
            self.act(cx, index, *action, received, out);
        }
        if after != before && after == VcState::Unblocked {
            // After the answer: until the peer has NS-UNBLOCK-ACK, the NS-VC is blocked there (clause 7.2).
            self.set_unblocked(index, true, out);
        }
        let blocked_by_a_person = self.table.get(index).is_some_and(|vc| vc.oam_blocked);
        if blocked_by_a_person && event != Event::Block(Block::Oam) {
            // Clause 7.2: a reset leaves it blocked, but the peer must be told again.
            self.apply(cx, index, Event::Block(Block::Oam), None, out);
        }
        self.arm(cx, index);
        let failed = matches!(event, Event::Test(Test::Failed) | Event::Use(Use::StatusUnknown));
        if origin == VcOrigin::Sns && (failed || after != before) {
            self.sns_vc_changed(cx, nsei, out);
        }
    }

    /// Tns-reset and Tns-block run in their states and in no other; a dead NS-VC may be forgotten.
    fn run_state_timer(&mut self, cx: &Context<'_>, index: VcIndex, before: VcState) {
        let (tns_reset, tns_block) = (self.config.tns_reset, self.config.tns_block);
        let Some(vc) = self.table.get_mut(index) else { return };
        let timer: Option<(NsTimer, Duration)> = match vc.state {
            VcState::Resetting => Some((NsTimer::TnsReset, tns_reset)),
            VcState::Unblocking | VcState::Blocking => Some((NsTimer::TnsBlock, tns_block)),
            VcState::Dead => (vc.origin == VcOrigin::Announced).then_some((NsTimer::Forget, FORGET_AFTER)),
            VcState::Blocked | VcState::Unblocked | VcState::BlockedLocally => None,
        };
        if vc.state != before {
            for name in [NsTimer::TnsReset, NsTimer::TnsBlock, NsTimer::Forget] {
                vc.deadlines.clear(name);
            }
        }
        if let Some((name, span)) = timer
            && !vc.deadlines.is_set(name)
        {
            vc.deadlines.set(name, cx.now + span);
        }
    }

    fn act(
        &mut self,
        cx: &mut Context<'_>,
        index: VcIndex,
        action: Action,
        received: Option<(VcIndex, &[u8])>,
        out: &mut Batch<NsOutput>,
    ) {
        let (tns_test, tns_alive) = (self.config.tns_test, self.config.tns_alive);
        let Some(vc) = self.table.get_mut(index) else { return };
        // No action that names an NS-VCI is for an NS-VC that has none.
        let (nsei, nsvci) = (vc.nsei, vc.nsvci.unwrap_or(Nsvci(0)));
        let answer_on = received.map_or(index, |(answer_on, _)| answer_on);
        match action {
            Action::Reset => {
                let cause = vc.reset_cause;
                self.send(cx, index, &Pdu::Reset { cause, nsvci, nsei }, out);
            }
            Action::ResetAck => self.send(cx, index, &Pdu::ResetAck { nsvci, nsei }, out),
            Action::Block => self.send(cx, index, &Pdu::Block { cause: Cause::OamIntervention, nsvci }, out),
            Action::BlockAck => self.send(cx, answer_on, &Pdu::BlockAck { nsvci }, out),
            Action::Unblock => self.send(cx, index, &Pdu::Unblock, out),
            Action::UnblockAck => self.send(cx, index, &Pdu::UnblockAck, out),
            Action::AliveAck => self.send(cx, index, &Pdu::AliveAck, out),
            Action::StartTest | Action::TestPassed => {
                if let Some(due) = vc.deadlines.get(NsTimer::TnsAlive)
                    && matches!(action, Action::TestPassed)
                {
                    // It was sent Tns-alive before that.
                    vc.counters.alive_delay = Duration(tns_alive.0.saturating_sub(due.since(cx.now).0));
                }
                vc.alive_repeated = 0;
                vc.deadlines.clear(NsTimer::TnsAlive);
                vc.deadlines.set(NsTimer::TnsTest, cx.now + tns_test);
                self.table.set_doubtful(index, false);
            }
            Action::TestAgain => {
                vc.alive_repeated = 0;
                vc.deadlines.clear(NsTimer::TnsAlive);
                vc.deadlines.set(NsTimer::TnsTest, cx.now + tns_alive);
            }
            Action::StopTest => {
                vc.deadlines.clear(NsTimer::TnsAlive);
                vc.deadlines.clear(NsTimer::TnsTest);
            }
            Action::TellReset => {
                vc.counters.resets += 1;
                vc.reset_cause = Cause::OamIntervention;
                out.push(NsOutput::Status { nsei, status: NsStatus::VcReset(nsvci) });
            }
            Action::StatusBlocked => {
                cx.drop(Drop::NsBlocked, None);
                let status = Status { nsvci: Some(nsvci), ..Status::of(Cause::NsVcBlocked) };
                self.send_status(cx, answer_on, status, out);
            }
            Action::Unexpected => cx.drop(Drop::NsUnexpected, None),
            Action::StatusUnexpected => {
                cx.drop(Drop::NsUnexpected, None);
                let pdu = received.map(|(_, pdu)| pdu).unwrap_or_default();
                self.send_status(cx, answer_on, Status::about_pdu(Cause::PduNotCompatible, pdu), out);
            }
        }
    }

    /// Sends an NS-STATUS to the peer of an NS-VC, if it did not get too many already.
    pub(super) fn send_status(
        &mut self,
        cx: &mut Context<'_>,
        index: VcIndex,
        status: Status,
        out: &mut Batch<NsOutput>,
    ) {
        if self.to_peers.take(cx.now, STATUS_ANSWERS_PER_S) {
            self.send(cx, index, &Pdu::Status(status), out);
        }
    }

    /// Sends a PDU over an NS-VC.
    pub(super) fn send(
        &mut self,
        cx: &mut Context<'_>,
        index: VcIndex,
        pdu: &Pdu,
        out: &mut Batch<NsOutput>,
    ) {
        let Some(vc) = self.table.get_mut(index) else { return };
        if let Some(sent) = transmit(cx, vc.port, vc.peer, pdu, out) {
            vc.counters.pdus_out += 1;
            vc.counters.octets_out += sent;
        }
    }

    pub(super) fn arm(&mut self, cx: &mut Context<'_>, index: VcIndex) {
        let Some(generation) = self.table.get(index).map(|vc| vc.generation) else { return };
        let key = self.timer_key(index, generation);
        if let Some(vc) = self.table.get_mut(index) {
            vc.deadlines.arm(key, cx.timers);
        }
    }
}
