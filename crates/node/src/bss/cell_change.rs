//! A mobile changes cells (08.18 clause 8.1): what waits for it, on both ways, until the SGSN knows.
//!
//! LL-PDUs for a mobile that has left wait where they are, those that were on the air among them: it has acknowledged
//! none of them. What the mobile had to send goes out in its new cell.

use super::detained::is_user_data;
use super::radio::{Amount, Claim, Pending, Way};
use super::{Bss, Owner};
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::timers::TimerName as _;
use gannet_wire::bssgp::ie::{FlushAction, RadioCause};
use gannet_wire::bssgp::signalling::{FlushLlAck, MobileRef, Status};
use gannet_wire::bssgp::{Cause, Message};
use gannet_wire::id::{Bvci, Nsei, Tlli};

/// FLUSH-LL as it came.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flush {
    pub(super) nsei: Nsei,
    pub(super) tlli: Tlli,
    pub(super) old_bvci: Bvci,
    pub(super) new_bvci: Option<Bvci>,
    pub(super) new_nsei: Option<Nsei>,
}

impl Bss {
    /// A mobile was heard in a cell that is new to it.
    pub(super) fn mobile_came(
        &mut self,
        cx: &mut Context<'_>,
        mobile: u32,
        cell: u32,
        (left, forgotten): (Option<u32>, Option<u32>),
    ) {
        if let Some(forgotten) = forgotten {
            self.give_up(cx, mobile, forgotten);
        }
        if let Some(left) = left {
            let (mut down, mut up) = (Vec::new(), Vec::new());
            self.radio.leave(cx.now, left, mobile, &mut |way, pdu| match way {
                Way::Downlink => down.push(pdu),
                Way::Uplink => up.push(pdu),
            });
            down.into_iter().for_each(|pdu| self.wait_for(cx, left, pdu));
            let area = |cell: u32| self.cells.get(cell as usize).map(|of| of.config.id.rai);
            let is_elsewhere = area(left) != area(cell);
            for pdu in up {
                if is_elsewhere && is_user_data(&pdu) {
                    self.detained.push(cx.now, self.config.away_lifetime, pdu);
                } else if self.radio.request(cx.now, cell, Way::Uplink, pdu, Claim::Moved).is_err() {
                    cx.drop(Drop::BssOverrun, None);
                }
            }
            self.arm_cell(cx, left);
        }
        // It is back where something still waits for it.
        for pdu in self.away.take(mobile, cell) {
            self.transmit_moved(cx, cell, pdu);
        }
        self.arm_cell(cx, cell);
    }

    /// A mobile has left the air of its cell, on its way to another. The cell does not know of it: on a radio with RLC/MAC it goes on
    /// with what it has for the mobile, in vain. On another radio the LL-PDUs wait.
    pub(super) fn tuned_away(&mut self, cx: &mut Context<'_>, mobile: u32, cell: u32) {
        let is_of_radio = self.radio.tune_away(cx.now, mobile, true);
        self.tuned_away.insert(mobile, is_of_radio);
        if !is_of_radio {
            let mut waiting = Vec::new();
            self.radio.take_waiting(cx.now, cell, Way::Downlink, Some(mobile), &mut |pdu| waiting.push(pdu));
            waiting.into_iter().for_each(|pdu| self.wait_for(cx, cell, pdu));
        }
        self.arm_cell(cx, cell);
    }

    /// A mobile that was on its way is heard.
    pub(super) fn tuned_in(&mut self, cx: &mut Context<'_>, mobile: u32, cell: u32) {
        match self.tuned_away.remove(&mobile) {
            None => return,
            Some(true) => {
                self.radio.tune_away(cx.now, mobile, false);
            }
            Some(false) => {}
        }
        for pdu in self.away.take(mobile, cell) {
            self.transmit_moved(cx, cell, pdu);
        }
        self.arm_cell(cx, cell);
    }

    /// Whether LL-PDUs for a mobile go to the radio of a cell, and not to those that wait for it.
    pub(super) fn is_on_air(&self, mobile: u32, cell: u32) -> bool {
        self.mobiles.cell_of(mobile) == Some(cell) && self.tuned_away.get(&mobile) != Some(&false)
    }

    /// An LL-PDU for a mobile that is elsewhere.
    pub(super) fn wait_for(&mut self, cx: &mut Context<'_>, cell: u32, pdu: Pending) {
        let octets_max = self.cells.get(cell as usize).map_or(0, |cell| cell.config.downlink.queue_octets);
        if let Err(pdu) = self.away.push(cx.now, cell, octets_max, pdu) {
            cx.drop(Drop::BssOverrun, None);
            self.discarded(cx, cell, pdu.tlli, pdu.frame.len() as u64);
        }
        self.arm_away(cx);
    }

    fn transmit_moved(&mut self, cx: &mut Context<'_>, cell: u32, pdu: Pending) {
        if pdu.expires <= cx.now {
            cx.drop(Drop::BssLifetime, None);
            return self.discarded(cx, cell, pdu.tlli, pdu.frame.len() as u64);
        }
        if let Err(pdu) = self.radio.request(cx.now, cell, Way::Downlink, pdu, Claim::Moved) {
            cx.drop(Drop::BssOverrun, None);
            self.discarded(cx, cell, pdu.tlli, pdu.frame.len() as u64);
        }
    }

    fn arm_away(&self, cx: &mut Context<'_>) {
        if let Some(due) = self.away.next_due() {
            cx.timers.wake(Owner::Away.key(0, 0), due);
        }
    }

    /// Mobiles that have been away for too long: the SGSN is told that the radio has lost them (08.18 clauses 7.3 and 8.3).
    pub(super) fn expire_away(&mut self, cx: &mut Context<'_>) {
        while let Some((mobile, cell)) = self.away.overdue(cx.now) {
            self.give_up(cx, mobile, cell);
        }
        self.arm_away(cx);
    }

    /// What waits for a mobile in a cell that it has left goes nowhere.
    fn give_up(&mut self, cx: &mut Context<'_>, mobile: u32, cell: u32) {
        let lost = self.away.take(mobile, cell);
        let Some(tlli) = lost.back().map(|pdu| pdu.tlli) else { return };
        for pdu in lost {
            cx.drop(Drop::BssContactLost, None);
            self.discarded(cx, cell, pdu.tlli, pdu.frame.len() as u64);
        }
        let message = Message::RadioStatus { mobile: MobileRef::Tlli(tlli), cause: RadioCause::ContactLost };
        self.send_ptp(cx, cell, &message);
    }

    /// RADIO-STATUS about a mobile, from its cell (08.18 clause 7.3).
    pub(super) fn radio_status(&mut self, cx: &mut Context<'_>, mobile: u32, cause: RadioCause) {
        if let (Some(cell), Some(tlli)) = (self.mobiles.cell_of(mobile), self.mobiles.tlli_of(mobile)) {
            self.send_ptp(cx, cell, &Message::RadioStatus { mobile: MobileRef::Tlli(tlli), cause });
        }
    }

    /// 08.18 clause 8.1: what waits for a mobile in a cell is deleted, or goes to another cell, be it of another NSE.
    pub(super) fn flush(&mut self, cx: &mut Context<'_>, flush: Flush) {
        let Some(old) = self.bvcs.find(flush.nsei, flush.old_bvci) else {
            cx.drop(Drop::BssgpUnknownBvc, None);
            let status = Status { cause: Cause::BvciUnknown, bvci: Some(flush.old_bvci), pdu: None };
            return self.send(cx, flush.nsei, Bvci::SIGNALLING, &Message::Status(status));
        };
        let new_nsei = flush.new_nsei.unwrap_or(flush.nsei);
        let new = flush.new_bvci.and_then(|bvci| self.bvcs.find(new_nsei, bvci));
        let new = new.filter(|new| self.bvcs.is_unblocked(*new));
        let mut waiting = Vec::new();
        if let Some(mobile) = self.mobiles.find(old, flush.tlli) {
            waiting.extend(self.away.take(mobile, old));
            let mut keep = |pdu| waiting.push(pdu);
            self.radio.take_waiting(cx.now, old, Way::Downlink, Some(mobile), &mut keep);
            self.mobiles.forget_former(mobile, old);
            // What was heard in two NSEs may have come to the SGSN in another order: it sends to where the mobile was before.
            if let Some(forgotten) = new.and_then(|new| self.mobiles.add_former(mobile, new)) {
                self.give_up(cx, mobile, forgotten);
            }
        }
        let mut done = Amount::default();
        for pdu in waiting {
            let octets = pdu.frame.len() as u64;
            if self.flush_one(cx, new, pdu) {
                done.add(octets);
            }
        }
        let action = if new.is_some() { FlushAction::Transferred } else { FlushAction::Deleted };
        let ack = FlushLlAck {
            tlli: flush.tlli,
            action,
            new_bvci: flush.new_bvci.filter(|_| new.is_some()),
            octets: u32::try_from(done.octets).unwrap_or(u32::MAX),
            new_nsei: flush.new_nsei.filter(|_| new.is_some()),
        };
        self.send(cx, flush.nsei, Bvci::SIGNALLING, &Message::FlushLlAck(ack));
        self.arm_cell(cx, old);
        if let Some(new) = new {
            self.arm_cell(cx, new);
        }
        self.arm_away(cx);
    }

    /// Moves an LL-PDU, or deletes it. False where there was no room for it, of which the SGSN is told as of any other that
    /// it would count.
    fn flush_one(&mut self, cx: &mut Context<'_>, new: Option<u32>, pdu: Pending) -> bool {
        let Some(new) = new else {
            cx.drop(Drop::BssFlushed, None);
            return true;
        };
        let moved = if self.mobiles.cell_of(pdu.mobile) == Some(new) {
            self.radio.request(cx.now, new, Way::Downlink, pdu, Claim::Moved)
        } else {
            self.away.push(cx.now, new, u64::MAX, pdu)
        };
        if moved.is_err() {
            cx.drop(Drop::BssOverrun, None);
        }
        moved.is_ok()
    }
}
