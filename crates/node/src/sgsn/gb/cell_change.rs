//! A mobile between two cells, or out of reach (08.18 clauses 7.3 and 8.1 [48.018]).
//!
//! When a mobile is heard in another cell, FLUSH-LL tells the BSS what becomes of the LL-PDUs that it still has for it. Within
//! a routing area they go to the new cell where the BSS can take them there: within one NSE, or between two that have both
//! said that they can (inter-NSE re-routing). What waits here goes after them, so that nothing is overtaken: the user data of the
//! mobile wait until the BSS has answered, or for [`CellChange::flush_timeout`]. FLUSH-LL takes the NS-VC of the mobile's
//! LL-PDUs, for the same reason.
//!
//! RADIO-STATUS has the user data of a mobile wait too: until it is heard, or in STANDBY until it has answered a page, and
//! not for ever.

use super::super::Sgsn;
use super::super::config::{CellChange, LeftBehind};
use super::super::directory::BvcAddress;
use crate::sgsn::owner::Owner;
use crate::slots::Slot;
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::time::Instant;
use gannet_machine::trace::{Category, Level};
use gannet_proto::about::About as _;
use gannet_proto::bssgp::bvc::FEATURE_INR;
use gannet_proto::gmm::network::GmmEvent;
use gannet_proto::gmm::{Cell, MmState};
use gannet_wire::bssgp::Message;
use gannet_wire::bssgp::ie::{FlushAction, RadioCause};
use gannet_wire::bssgp::signalling::{FlushLlAck, MobileRef};
use gannet_wire::id::{Bvci, Nsei, PTmsi};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// FLUSH-LLs of one mobile that may wait for their answers: who changes cells faster waits for the last ones only.
const FLUSHES_MAX: usize = 8;

/// A FLUSH-LL that waits for its answer.
#[derive(Debug, Clone, Copy)]
struct Flush {
    /// Who answers.
    nsei: Nsei,
    /// The cell that the mobile has left.
    cell: u32,
    /// Where what waits there is to go, if it is to go anywhere.
    to: Option<(Nsei, Bvci)>,
}

/// Those of one mobile, in their order.
#[derive(Debug)]
struct Flushes {
    asked: VecDeque<Flush>,
    due: Instant,
}

/// Why nothing is sent to a mobile, and until when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Silence {
    /// The BSS has ordered it to another cell.
    Reselecting(Instant),
    /// The radio has lost it.
    ContactLost(Instant),
}

impl Silence {
    const fn due(self) -> Instant {
        match self {
            Self::Reselecting(due) | Self::ContactLost(due) => due,
        }
    }
}

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Wait {
    Flush,
    Silence,
}

/// All mobiles that are between cells or out of reach.
#[derive(Debug, Default)]
pub(super) struct CellChanges {
    flushes: BTreeMap<Slot, Flushes>,
    silent: BTreeMap<Slot, Silence>,
    due: BTreeSet<(Instant, Slot, Wait)>,
}

impl CellChanges {
    /// Mobiles whose former cells have not all answered.
    pub(super) fn flushing(&self) -> usize {
        self.flushes.len()
    }

    /// Mobiles to which nothing is sent.
    pub(super) fn silent(&self) -> usize {
        self.silent.len()
    }

    /// FLUSH-LL goes out. The oldest gives way where there are too many; true where one did.
    fn ask(&mut self, slot: Slot, flush: Flush, due: Instant) -> bool {
        let flushes = self.flushes.entry(slot).or_insert_with(|| Flushes { asked: VecDeque::new(), due });
        self.due.remove(&(flushes.due, slot, Wait::Flush));
        flushes.due = due;
        self.due.insert((due, slot, Wait::Flush));
        let full = flushes.asked.len() >= FLUSHES_MAX;
        if full {
            flushes.asked.pop_front();
        }
        flushes.asked.push_back(flush);
        full
    }

    /// The oldest FLUSH-LL of a mobile to this NSE is answered.
    fn answered(&mut self, slot: Slot, nsei: Nsei) -> Option<Flush> {
        let flushes = self.flushes.get_mut(&slot)?;
        let at = flushes.asked.iter().position(|flush| flush.nsei == nsei)?;
        let flush = flushes.asked.remove(at);
        if flushes.asked.is_empty() {
            self.end_flushes(slot);
        }
        flush
    }

    /// No answer is waited for any more. Gives how many were.
    fn end_flushes(&mut self, slot: Slot) -> usize {
        let Some(flushes) = self.flushes.remove(&slot) else { return 0 };
        self.due.remove(&(flushes.due, slot, Wait::Flush));
        flushes.asked.len()
    }

    fn silence(&mut self, slot: Slot, silence: Silence) {
        self.end_silence(slot);
        self.silent.insert(slot, silence);
        self.due.insert((silence.due(), slot, Wait::Silence));
    }

    fn end_silence(&mut self, slot: Slot) -> Option<Silence> {
        let silence = self.silent.remove(&slot)?;
        self.due.remove(&(silence.due(), slot, Wait::Silence));
        Some(silence)
    }

    /// Has a mobile left this cell, whose BSS has not answered FLUSH-LL yet?
    pub(super) fn has_left(&self, slot: Slot, cell: u32) -> bool {
        self.flushes.get(&slot).is_some_and(|flushes| flushes.asked.iter().any(|flush| flush.cell == cell))
    }

    /// Does anything keep the user data of a mobile waiting?
    fn holds(&self, slot: Slot) -> bool {
        let moves = |flushes: &Flushes| flushes.asked.iter().any(|flush| flush.to.is_some());
        self.silent.contains_key(&slot) || self.flushes.get(&slot).is_some_and(moves)
    }

    /// A mobile is gone.
    pub(super) fn forget(&mut self, slot: Slot) {
        self.end_flushes(slot);
        self.end_silence(slot);
    }

    fn pop_due(&mut self, now: Instant) -> Option<(Slot, Wait)> {
        let first = self.due.first().copied().filter(|(due, ..)| *due <= now)?;
        self.due.remove(&first);
        Some((first.1, first.2))
    }
}

impl Sgsn {
    /// A mobile was heard in another cell (08.18 clause 8.1): what waits for it here moves with it within a routing area,
    /// and goes where it leaves it. The BSS is told to do the same.
    pub(in super::super) fn cell_changed(&mut self, cx: &mut Context<'_>, slot: Slot, old: Cell, new: Cell) {
        let Some(mobile) = self.mobiles.get(slot) else { return };
        let (tlli, imsi) = (mobile.llc.tlli().unwrap_or(mobile.gmm.tlli()), mobile.imsi());
        let CellChange { left_behind, flushes_new_cell, flush_timeout, .. } = self.config.cell_change;
        let discards = left_behind == LeftBehind::Discard;
        let to = self.gb.bvcs.find(new.nsei, new.bvci);
        match to.filter(|_| old.id.rai == new.id.rai && !discards) {
            Some(cell) => self.gb.flow.move_ms(cx, slot.index, cell),
            None => self.gb.flow.flush(cx, slot.index),
        };
        self.flows_moved(slot);
        if discards {
            self.discard_flows(cx, slot);
        }
        self.claims_moved(cx, slot);
        let (new_bvci, new_nsei) = match self.way(old, new) {
            Some((bvci, nsei)) => (Some(bvci), nsei),
            None => (None, None),
        };
        if let Some(cell) = self.gb.bvcs.find(old.nsei, old.bvci) {
            let to = new_bvci.map(|bvci| (new_nsei.unwrap_or(old.nsei), bvci));
            let flush = Flush { nsei: old.nsei, cell, to };
            let due = cx.now + flush_timeout;
            if self.gb.changes.ask(slot, flush, due) {
                cx.drop_of(Drop::SgsnFlushUnanswered, imsi);
            }
            self.follow_changes(cx, slot);
        }
        self.stats.flushes += 1;
        let (nsei, message) = if flushes_new_cell {
            self.stats.flushes_misdirected += 1;
            (new.nsei, Message::FlushLl { tlli, old_bvci: new.bvci, new_bvci: None, new_nsei: None })
        } else {
            (old.nsei, Message::FlushLl { tlli, old_bvci: old.bvci, new_bvci, new_nsei })
        };
        self.send_bssgp_with(cx, BvcAddress { nsei, bvci: Bvci::SIGNALLING }, slot.index, &message);
    }

    /// Where the BSS can take LL-PDUs from one cell to another: the new BVCI, and the NSEI where that is another.
    fn way(&self, old: Cell, new: Cell) -> Option<(Bvci, Option<Nsei>)> {
        let CellChange { left_behind, flushes_new_cell, .. } = self.config.cell_change;
        let moves = left_behind == LeftBehind::Move && !flushes_new_cell;
        let allowed = moves && old.id.rai == new.id.rai && self.gb.bvcs.find(new.nsei, new.bvci).is_some();
        let reroutes = |nsei| self.gb.bvcs.features(nsei) & FEATURE_INR != 0;
        match old.nsei == new.nsei {
            _ if !allowed => None,
            true => Some((new.bvci, None)),
            false => (reroutes(old.nsei) && reroutes(new.nsei)).then_some((new.bvci, Some(new.nsei))),
        }
    }

    /// FLUSH-LL-ACK: what the BSS has deleted or moved is out of the old cell's bucket, and what it has moved in the new
    /// one's (08.18 clause 8.1). What waited here goes after it.
    pub(super) fn flush_ll_ack(&mut self, cx: &mut Context<'_>, nsei: Nsei, ack: &FlushLlAck) {
        let slot = self.slot_of_local(ack.tlli);
        let flush = slot.and_then(|slot| Some((slot, self.gb.changes.answered(slot, nsei)?)));
        let Some((slot, flush)) = flush else {
            cx.drop_of(Drop::SgsnFlushUnexpected, slot.and_then(|slot| self.imsi_of(slot)));
            return;
        };
        let octets = u64::from(ack.octets);
        self.gb.flow.take_out(cx, flush.cell, None, octets);
        let said = ack.new_bvci.map(|bvci| (ack.new_nsei.unwrap_or(nsei), bvci));
        if said.is_some() && said != flush.to {
            // Nothing is in a cell to which it was not to go.
            cx.drop_of(Drop::SgsnFlushUnexpected, self.imsi_of(slot));
            if let Some(name) = self.mobiles.get(slot).map(|mobile| mobile.gmm.name()) {
                let text =
                    format_args!("{name}: FLUSH-LL-ACK of NSEI {nsei} names another cell than FLUSH-LL did");
                cx.log(Category::Bssgp, Level::Notice, text);
            }
        }
        let to = said.filter(|said| Some(*said) == flush.to);
        let to = to.and_then(|(nsei, bvci)| self.gb.bvcs.find(nsei, bvci));
        match (ack.action, to) {
            (FlushAction::Transferred | FlushAction::PartiallyTransferred, Some(cell)) => {
                self.stats.octets_moved += octets;
                self.gb.flow.put_in(cx, cell, slot.index, octets);
            }
            (FlushAction::Transferred | FlushAction::PartiallyTransferred, None)
            | (FlushAction::Deleted | FlushAction::Unknown(_), _) => {
                self.stats.octets_deleted += octets;
                if octets > 0 {
                    cx.drop_of(Drop::SgsnDeletedByBss, self.imsi_of(slot));
                }
            }
        }
        self.follow_changes(cx, slot);
    }

    /// RADIO-STATUS (08.18 clause 7.3), from the cell in which the mobile was heard last: an older one says nothing.
    pub(super) fn radio_status(
        &mut self,
        cx: &mut Context<'_>,
        bvc: BvcAddress,
        mobile: MobileRef,
        cause: RadioCause,
    ) {
        let found = match mobile {
            MobileRef::Tlli(tlli) => self.directory.by_tlli(bvc, tlli),
            MobileRef::Tmsi(tmsi) => self.directory.by_ptmsi(PTmsi(tmsi)),
            MobileRef::Imsi(imsi) => self.directory.by_imsi(imsi),
        };
        let here = found.and_then(|slot| Some((slot, self.mobiles.get(slot)?)));
        let Some((slot, state)) = here.filter(|(_, state)| state.bvc() == bvc) else {
            let what = format_args!("RADIO-STATUS ({})", cause.with_number());
            return self.not_its_mobile(cx, bvc, what, found);
        };
        cx.drop_of(Drop::SgsnRadioStatus, state.imsi());
        let name = state.gmm.name();
        cx.log(
            Category::Bssgp,
            Level::Info,
            format_args!("{name}: RADIO-STATUS of the BSS: {}", cause.with_number()),
        );
        if state.gmm.mm_state() != MmState::Ready {
            return;
        }
        match cause {
            RadioCause::ContactLost | RadioCause::LinkQualityInsufficient => {
                self.radio_contact_lost(cx, slot);
            }
            RadioCause::CellReselectionOrdered => {
                let until = cx.now + self.config.cell_change.reselection_timeout;
                self.gb.changes.silence(slot, Silence::Reselecting(until));
                self.follow_changes(cx, slot);
            }
            // Of later releases: the mobile is served where it is.
            RadioCause::CellReselectionPrepare
            | RadioCause::CellReselectionFailure
            | RadioCause::Unknown(_) => {}
        }
    }

    /// The mobile is in STANDBY from now on, and paged at once where something waits for it.
    fn radio_contact_lost(&mut self, cx: &mut Context<'_>, slot: Slot) {
        self.gmm(cx, slot, GmmEvent::RadioContactLost);
        let until = cx.now + self.config.held_lifetime;
        self.gb.changes.silence(slot, Silence::ContactLost(until));
        self.follow_changes(cx, slot);
        let waiting =
            self.gb.flow.ms_view(cx.now, slot.index).is_some_and(|view| view.total_queued().pdus > 0);
        if waiting || self.has_waiting(slot) {
            self.gmm(cx, slot, GmmEvent::DownlinkData);
        }
    }

    /// An intact LL-PDU of a mobile: it can be reached.
    pub(in super::super) fn heard_again(&mut self, cx: &mut Context<'_>, slot: Slot) {
        if !self.gb.changes.silent.is_empty() && self.gb.changes.end_silence(slot).is_some() {
            self.follow_changes(cx, slot);
        }
    }

    /// Brings flow control in line with what is known of a mobile's cells, and asks to be woken.
    fn follow_changes(&mut self, cx: &mut Context<'_>, slot: Slot) {
        let Some(mobile) = self.mobiles.get(slot) else { return };
        let bvc = mobile.bvc();
        let holds = self.gb.changes.holds(slot);
        if let Some(cell) = self.gb.bvcs.find(bvc.nsei, bvc.bvci) {
            self.gb.flow.hold(cx, cell, slot.index, holds);
        }
        self.wake_for_changes(cx);
    }

    fn wake_for_changes(&self, cx: &mut Context<'_>) {
        if let Some((due, ..)) = self.gb.changes.due.first() {
            cx.timers.wake(Owner::CellChange.of_node(), *due);
        }
    }

    /// Answers that did not come, and mobiles that were not heard.
    pub(in super::super) fn expire_changes(&mut self, cx: &mut Context<'_>) {
        while let Some((slot, wait)) = self.gb.changes.pop_due(cx.now) {
            match wait {
                Wait::Flush => {
                    let unanswered = self.gb.changes.end_flushes(slot);
                    (0..unanswered).for_each(|_| cx.drop_of(Drop::SgsnFlushUnanswered, self.imsi_of(slot)));
                }
                Wait::Silence => self.silence_ends(cx, slot),
            }
            self.follow_changes(cx, slot);
        }
        self.wake_for_changes(cx);
    }

    fn silence_ends(&mut self, cx: &mut Context<'_>, slot: Slot) {
        match self.gb.changes.end_silence(slot) {
            Some(Silence::Reselecting(_)) => self.radio_contact_lost(cx, slot),
            // No page was answered: what waits has nowhere to go.
            Some(Silence::ContactLost(_)) => {
                self.gb.flow.flush(cx, slot.index);
            }
            None => {}
        }
    }
}
