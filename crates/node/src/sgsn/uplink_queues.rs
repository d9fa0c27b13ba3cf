//! User data from Gb waits in a queue for each mobile, as N-PDUs from Gn wait in one for each PDP context, so that a mobile
//! that sends more than its share takes nothing from others.
//!
//! Signalling does not wait: LL-PDUs of GMM, SM and SMS, and LLC's own frames, are worked at when they arrive, ahead of
//! all user data that is queued. The LL-PDUs of one mobile's user data keep their order, and those of acknowledged mode are
//! among them, but for the acknowledgement that was asked for of a mobile of which nothing else waits.
//!
//! A driver knows mobiles by the names of the [`directory`](super::directory): a rule comes and goes with each, and says
//! what all PDP contexts of the mobile together have bought. A mobile is blocked there while its queue is full.

use super::arriving::Arrived;
use super::flows::QueueConfig;
use super::gb::TOGETHER;
use super::quality::{N_PDU_OCTETS_MAX, Treatment};
use super::{Sgsn, SgsnConfig};
use crate::slots::Slot;
use core::net::SocketAddr;
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::prefetch::Prefetch;
use gannet_machine::time::Duration;
use gannet_proto::about::About as _;
use gannet_proto::classifier::{Block, Key, Rule, RuleChange};
use gannet_proto::gmm::Cell;
use gannet_proto::gmm::network::Uplink;
use gannet_proto::llc::Kind;
use gannet_qos::class::{CellClass, Precedence};
use gannet_qos::discipline::{Discipline as _, Dropped, Packet};
use gannet_qos::flow_queues::{self, CellConfig, DropNames, FlowQueues, FlowView, Limit};
use gannet_wire::id::{Imsi, Nsei, Sapi};
use std::collections::BTreeMap;

/// LL-PDUs of one batch.
const BATCH: usize = 16;
/// How much of its rate a mobile may have waiting: nothing but processing is waited for, since Gn takes what comes. What a
/// storm fills before it is blocked has to pass the driver's rings, so it is short.
const BUFFER: Duration = Duration::from_millis(100);
/// A mobile's backlog of best effort is at most what is left for all, divided by this.
const ROOM_PART: u32 = 4;
/// What a mobile without PDP context may send: the lowest peak throughput class. None of it has anywhere to go.
const RATE_MIN: u32 = 1000;

/// An LL-PDU in its mobile's queue.
#[derive(Debug)]
struct Waiting {
    /// Who sent it, as known when it came.
    slot: Slot,
    /// From where.
    from: Uplink,
    /// The queues' cell of that.
    cell: u32,
    kind: Kind,
    frame: Frame,
}

/// The queues, by the index of a mobile's slot, and what a driver was told of them.
#[derive(Debug)]
pub struct UplinkQueues {
    queues: FlowQueues<Waiting>,
    /// By the index of a mobile's slot: a driver drops its user data.
    blocked: Vec<bool>,
    /// What the last arrival has pushed out.
    dropped: Vec<Dropped<Waiting>>,
    cells_max: u32,
    /// The addresses that were told, and what the network service's number was then.
    peers: (BTreeMap<SocketAddr, Nsei>, u64),
}

impl UplinkQueues {
    /// All queues, with their memory.
    #[must_use]
    pub fn new(config: &SgsnConfig) -> Self {
        let QueueConfig { uplink_pdus_max: pdus_max, cost, .. } = config.queue;
        Self {
            queues: FlowQueues::new(flow_queues::Config {
                flows_max: u32::try_from(config.mobiles_max).unwrap_or(u32::MAX),
                // One more for mobiles whose cell is not known.
                cells_max: config.cells_max + 1,
                nodes_max: pdus_max,
                room_part: ROOM_PART,
                cell: CellConfig { limit: Limit { pdus: pdus_max, octets: u32::MAX }, real_time: None },
                // Nothing but the processor is waited for: they are short by themselves.
                behind: Duration(u64::MAX),
                node_real_time: config.queue.node_real_time,
                cost,
                octets_max: N_PDU_OCTETS_MAX,
                names: DropNames::UPLINK,
                ..flow_queues::Config::default()
            }),
            blocked: vec![false; config.mobiles_max],
            dropped: Vec::with_capacity(16),
            cells_max: config.cells_max,
            peers: (BTreeMap::new(), 0),
        }
    }

    /// LL-PDUs that wait.
    #[must_use]
    pub const fn queued(&self) -> u32 {
        self.queues.queued().pdus
    }

    /// A mobile's queue; `None` until it has sent user data.
    #[must_use]
    pub fn view(&self, slot: Slot) -> Option<FlowView> {
        self.queues.view(slot.index)
    }

    /// Asks for a mobile's queue.
    pub(super) fn prefetch(&self, slot: Slot, prefetch: Prefetch) {
        self.queues.prefetch(slot.index, prefetch);
    }

    /// Whether a driver was told to drop a mobile's user data.
    #[must_use]
    pub fn is_blocked(&self, slot: Slot) -> bool {
        self.blocked.get(slot.index as usize).copied().unwrap_or(false)
    }

    /// True where that is news.
    fn set_blocked(&mut self, slot: Slot, on: bool) -> bool {
        let place = self.blocked.get_mut(slot.index as usize);
        place.is_some_and(|blocked| core::mem::replace(blocked, on) != on)
    }

    /// What made a mobile's queue full is served for the most part.
    fn has_room_again(&self, slot: Slot) -> bool {
        self.view(slot).is_none_or(|view| !view.above)
    }
}

impl Sgsn {
    /// Puts user data of a mobile into its queue; gives back what does not wait.
    pub(super) fn enqueue_uplink(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        from: Uplink,
        (frame, kind): (Frame, Kind),
    ) -> Option<Frame> {
        let waits = match kind {
            Kind::Supervisory(sapi) => !self.passes_as_answer(slot, sapi),
            kind => kind.is_user_data(),
        };
        // What does not wait shows where the mobile is, too, and overtakes what does.
        if !self.uplink.as_ref().is_some_and(|uplink| waits || uplink.view(slot).is_some()) {
            return Some(frame);
        }
        let cell = self.uplink_heard_in(slot, &from.cell);
        if !waits {
            return Some(frame);
        }
        let Some(uplink) = &mut self.uplink else { return Some(frame) };
        let octets = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        let mut dropped = core::mem::take(&mut uplink.dropped);
        let item = Waiting { slot, from, cell, kind, frame };
        let packet = Packet { flow: slot.index, octets, item };
        let offered = uplink.queues.offer(cx.now, packet, &mut |gone| dropped.push(gone));
        if offered.crossed_high {
            self.uplink_full(slot);
        }
        for gone in dropped.drain(..) {
            let from = gone.packet.item.slot;
            cx.drop_of(gone.reason, self.imsi_of(from));
            if gone.packet.flow != slot.index {
                self.uplink_served(from);
            }
        }
        if let Some(uplink) = &mut self.uplink {
            uplink.dropped = dropped;
        }
        None
    }

    /// An acknowledgement that was asked for does not wait where nothing else of its mobile does: it gives memory back, and what it
    /// confirms would be sent again while it waits. There is one for each request, which this uses up, so that nobody gets ahead with more.
    fn passes_as_answer(&mut self, slot: Slot, sapi: Sapi) -> bool {
        let view = self.uplink.as_ref().and_then(|uplink| uplink.view(slot));
        view.is_none_or(|view| view.queued.pdus == 0)
            && self.mobiles.get_mut(slot).is_some_and(|mobile| mobile.llc.take_answer_due(sapi))
    }

    /// A mobile's queue is that of the cell where it is heard. It gets one with its first user data.
    fn uplink_heard_in(&mut self, slot: Slot, cell: &Cell) -> u32 {
        let cell = self.gb.bvcs.find(cell.nsei, cell.bvci);
        let Some(uplink) = &mut self.uplink else { return u32::MAX };
        let cell = cell.filter(|cell| *cell < uplink.cells_max).unwrap_or(uplink.cells_max);
        match uplink.view(slot) {
            Some(view) if view.cell == cell => {}
            Some(_) => {
                uplink.queues.move_cell(slot.index, cell);
            }
            None => self.configure_uplink(slot, cell),
        }
        cell
    }

    fn configure_uplink(&mut self, slot: Slot, cell: u32) {
        let config = super::flows::flow_config(&self.uplink_treatment(slot), cell, BUFFER);
        if let Some(uplink) = &mut self.uplink {
            uplink.queues.configure(slot.index, &config);
        }
    }

    /// The best of what a mobile's PDP contexts have bought, and the sum of their rates.
    fn uplink_treatment(&self, slot: Slot) -> Treatment {
        let none = Treatment {
            class: CellClass::BestEffort,
            precedence: Precedence::Low,
            rate_octets_per_s: 0,
            is_limited: true,
            guaranteed_octets_per_s: 0,
        };
        let Some(mobile) = self.mobiles.get(slot) else { return none };
        let active = mobile.bearers().filter(|(_, bearer)| bearer.tunnel.is_some());
        active.fold(none, |best, (nsapi, bearer)| {
            let Some(context) = mobile.sm().get(nsapi) else { return best };
            let its = Treatment::of_uplink(&context.qos(), bearer.allocation_retention);
            Treatment {
                class: best.class.min(its.class),
                precedence: best.precedence.min(its.precedence),
                rate_octets_per_s: best.rate_octets_per_s.saturating_add(its.rate_octets_per_s),
                ..best
            }
        })
    }

    /// What a mobile has bought has changed.
    pub(super) fn uplink_changed(&mut self, slot: Slot) {
        let Some(uplink) = &self.uplink else { return };
        if let Some(view) = uplink.view(slot) {
            self.configure_uplink(slot, view.cell);
        }
        if let Some(key) = self.uplink_key(slot) {
            self.uplink_named(key, slot);
        }
    }

    /// A mobile is gone, and with it what it has sent and nobody has looked at.
    pub(super) fn uplink_gone(&mut self, cx: &mut Context<'_>, slot: Slot, whose: Option<Imsi>) {
        let Some(uplink) = &mut self.uplink else { return };
        uplink.set_blocked(slot, false);
        if uplink.view(slot).is_some() {
            uplink.queues.remove(slot.index, |_, _| cx.drop_of(Drop::UplinkQueueMobileGone, whose));
        }
    }

    // ---------------------------------------------------------------------------------------- what a driver knows

    /// A driver knows a mobile by this name from now on, or knows something else of it.
    pub(super) fn uplink_named(&mut self, key: Key, slot: Slot) {
        let Some(uplink) = &self.uplink else { return };
        let is_blocked = uplink.is_blocked(slot);
        let treatment = self.uplink_treatment(slot);
        let policed = Treatment { rate_octets_per_s: treatment.rate_octets_per_s.max(RATE_MIN), ..treatment };
        self.classify(RuleChange::Install(Rule {
            key,
            name: slot.index,
            class: treatment.class.class(),
            precedence: treatment.precedence,
            policer: self.config.policing.map(|policing| policed.policer(policing.burst)),
            source: None,
        }));
        if is_blocked {
            self.classify(RuleChange::Block(Key::Name(slot.index), Block::QueueFull));
        }
    }

    /// And not by this one any more.
    pub(super) fn uplink_unnamed(&mut self, key: Key) {
        if self.uplink.is_some() {
            self.classify(RuleChange::Remove(key));
        }
    }

    fn uplink_full(&mut self, slot: Slot) {
        if self.uplink.as_mut().is_some_and(|uplink| uplink.set_blocked(slot, true))
            && self.uplink_key(slot).is_some()
        {
            self.classify(RuleChange::Block(Key::Name(slot.index), Block::QueueFull));
        }
    }

    /// Something has left a mobile's queue.
    fn uplink_served(&mut self, slot: Slot) {
        let Some(uplink) = &mut self.uplink else { return };
        if uplink.is_blocked(slot) && uplink.has_room_again(slot) {
            uplink.set_blocked(slot, false);
            if self.uplink_key(slot).is_some() {
                self.classify(RuleChange::Unblock(Key::Name(slot.index), Block::QueueFull));
            }
        }
    }

    /// Tells a driver which NSEs send from where, as far as that is news.
    pub(super) fn tell_peers(&mut self) {
        let changes = self.gb.ns.address_changes();
        let Some(uplink) = self.uplink.as_mut().filter(|uplink| uplink.peers.1 != changes) else { return };
        let now: BTreeMap<SocketAddr, Nsei> = self.gb.ns.vcs().map(|vc| (vc.peer(), vc.nsei())).collect();
        let (former, _) = core::mem::replace(&mut uplink.peers, (now.clone(), changes));
        for address in former.keys().filter(|address| !now.contains_key(address)) {
            self.classify(RuleChange::Peer { address: *address, nsei: None });
        }
        for (address, nsei) in now.into_iter().filter(|(address, nsei)| former.get(address) != Some(nsei)) {
            self.classify(RuleChange::Peer { address, nsei: Some(nsei) });
        }
    }

    // --------------------------------------------------------------------------------------------------- service

    /// True where user data waits.
    pub(super) fn has_uplink_work(&self) -> bool {
        self.uplink.as_ref().is_some_and(|uplink| uplink.queues.has_work())
    }

    /// One batch of user data through the stack, towards the GGSNs. True where there was some.
    pub(super) fn serve_uplink(&mut self, cx: &mut Context<'_>) -> bool {
        if self.uplink.is_none() {
            return false;
        }
        // As many as are deciphered at once, where they are, and nobody is in a hurry.
        let in_a_hurry = self.flows.as_ref().is_some_and(|flows| flows.is_in_a_hurry(cx.now));
        let batch = if self.arriving.take_deciphered() && !in_a_hurry { TOGETHER } else { BATCH };
        let (mut together, mut alone) = (0, 0);
        // What goes alone is deciphered alone, and takes as long as ever.
        while together + alone < batch
            && alone < BATCH
            && let Some(served) = self.uplink.as_mut().and_then(|uplink| uplink.queues.take(cx.now))
        {
            let Waiting { slot, from, cell, kind, frame } = served.packet.item;
            if let Some(flows) = &mut self.flows {
                flows.serves(served.packet.octets);
            }
            self.uplink_served(slot);
            if self.batch_for_deciphering(cx, Arrived::new(slot, (from, Some(cell)), (frame, kind))) {
                together += 1;
            } else {
                alone += 1;
            }
        }
        self.flush_decipher_batch(cx);
        together + alone > 0
    }

    /// From where an LL-PDU is that has waited in the queues of `cell`. Where its mobile was heard in another one since, where it
    /// was says nothing any more.
    pub(super) fn uplink_from(&self, slot: Slot, from: Uplink, cell: u32) -> Uplink {
        let heard_in = self.uplink.as_ref().and_then(|uplink| uplink.view(slot)).map(|view| view.cell);
        match self.mobiles.get(slot) {
            Some(mobile) if heard_in != Some(cell) => Uplink { cell: mobile.gmm.cell(), ..from },
            Some(_) | None => from,
        }
    }
}
