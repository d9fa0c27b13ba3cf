//! The queued ingress: every N-PDU for a mobile waits in the queue of its PDP context until the scheduler takes it, so
//! that work is shared out by quality of service and not by order of arrival.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | the flow of a context comes, changes and goes, and with it the rule by which a driver knows it |
//! | `arrival` | an N-PDU goes into its queue |
//! | `service` | the scheduler's batch goes into the protocol stack |
//! | `pace` | what an N-PDU costs, by what turns of the driver took |
//! | `blocking` | flows that are not served: of mobiles that must be paged first, and by feedback of flow control |
//! | `starved` | flows that wait for room for their first N-PDU in acknowledged mode |
//! | `leaking` | flows that a driver without time holds to their leak rate |
//!
//! A flow's number is the place of its context in the table of contexts, the low part of its TEID. Flows of real time, of
//! guaranteed rates and of best effort of one radio cell are in three cells of the queues, since flow control tells of each
//! class by itself. What is guaranteed is real time here, up to the sum of what is guaranteed in its cell.

mod arrival;
mod blocking;
mod leaking;
mod pace;
mod service;
mod starved;

pub(super) use arrival::Expected;

use super::contexts::{ContextRef, Contexts};
use super::quality::{N_PDU_OCTETS_MAX, Treatment};
use super::{Sgsn, SgsnConfig};
use crate::slots::Slot;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::{Context, Output};
use gannet_proto::about::About as _;
use gannet_proto::classifier::{Block, Key, Rule, RuleChange};
use gannet_proto::gtp::{ContextName, Version};
use gannet_qos::class::{CellClass, Precedence};
use gannet_qos::flow_queues::{self, CellConfig, Cost, Dropped, FlowConfig, FlowQueues, Limit};
use gannet_qos::token_bucket::Rate;
use gannet_wire::id::{Imsi, Nsapi, Tid};
use leaking::Leaking;
use starved::Starved;
use std::collections::VecDeque;

pub use pace::Pace;

/// How N-PDUs from Gn come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ingress {
    /// In the order of their arrival, each processed at once: the plain SGSN.
    Fifo,
    /// Through one queue for each PDP context and a scheduler.
    Queued,
}

/// What an operator may choose about the queues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueConfig {
    /// N-PDUs in all queues together.
    pub pdus_max: u32,
    /// LL-PDUs of user data from mobiles in all queues together.
    pub uplink_pdus_max: u32,
    /// N-PDUs that wait for each class of one cell.
    pub cell_pdus_max: u32,
    /// How much of its rate a context may have waiting, as a time.
    pub buffer: Duration,
    /// What real time may take ahead of others in a cell, in octets/s; `None` for all.
    pub cell_real_time: Option<Rate>,
    /// What real time may take ahead of others of the node's processing, in ns/s; `None` for all.
    pub node_real_time: Option<Rate>,
    /// What an N-PDU costs until that is measured.
    pub cost: Cost,
}

impl Default for QueueConfig {
    fn default() -> Self {
        let defaults = flow_queues::Config::default();
        Self {
            pdus_max: 65_536,
            uplink_pdus_max: 8192,
            cell_pdus_max: 16_384,
            buffer: Duration::from_millis(1000),
            cell_real_time: None,
            node_real_time: defaults.node_real_time,
            cost: defaults.cost,
        }
    }
}

/// The least that a queue holds, in N-PDUs of full size.
const QUEUE_N_PDUS_MIN: u32 = 4;
/// N-PDUs are counted as at least so many octets each, since each takes a frame whatever its length.
const OCTETS_PER_PLACE: u32 = 256;
/// The rate that has weight 1. Slower flows have it too, since each turn serves an N-PDU at least.
const RATE_OF_WEIGHT_1: u32 = 32_000;
/// Cells of the queues for each radio cell.
const CELLS_OF_A_CELL: u32 = 3;
/// Which of them is that of guaranteed rates.
const GUARANTEED: u32 = 2;
/// No flow has a larger share of the processor than so many slow ones: its turns would keep others waiting.
const WEIGHT_MAX: u16 = 8;

/// The queues and what is known of why some are not served.
#[derive(Debug)]
pub struct Flows {
    queues: FlowQueues<Frame>,
    /// By the index of a mobile's slot: why its flows are not served.
    marks: Vec<u8>,
    /// N-PDUs in the queues of mobiles that cannot be reached now.
    held: u32,
    /// Flow control has no room for anybody.
    node_full: bool,
    /// Nor has the driver.
    driver_full: bool,
    /// The driver has hardly any time left.
    short_of_time: bool,
    /// Mobiles of which something is held, and when to look for what is too old.
    expiries: VecDeque<(Instant, Slot)>,
    /// Mobiles that the driver holds to their leak rates.
    leaking: Leaking,
    /// Those that are blocked since the node has no room for what waits for confirmation, and have nothing of that themselves.
    starved: Starved,
    /// What the last arrival has pushed out.
    dropped: Vec<Dropped<Frame>>,
    pace: Pace,
    /// Whose links were asked for in the last two turns, with the octets of the N-PDU: what is found through these is next.
    soon: [Option<(Slot, usize)>; 2],
    /// Up to when batches are short, since real time has arrived lately.
    hurry_until: Instant,
    cells_max: u32,
    cell_pdus_max: u32,
}

impl Flows {
    /// All queues, with their memory.
    #[must_use]
    pub fn new(config: &SgsnConfig) -> Self {
        let queue = &config.queue;
        // Three cells of the queues for each radio cell, and three more for mobiles whose cell is not known.
        let cells_max = config.cells_max;
        let flows_max = u32::try_from(config.contexts_limit()).unwrap_or(u32::MAX);
        let cell = Limit { pdus: queue.cell_pdus_max, octets: u32::MAX };
        Self {
            queues: FlowQueues::new(flow_queues::Config {
                flows_max,
                cells_max: (cells_max + 1) * CELLS_OF_A_CELL,
                nodes_max: queue.pdus_max,
                cell: CellConfig { limit: cell, real_time: queue.cell_real_time },
                node_real_time: queue.node_real_time,
                cost: queue.cost,
                octets_max: N_PDU_OCTETS_MAX,
                ..flow_queues::Config::default()
            }),
            marks: vec![0; config.mobiles_max],
            held: 0,
            node_full: false,
            driver_full: false,
            short_of_time: false,
            expiries: VecDeque::with_capacity(config.held_max as usize),
            leaking: Leaking::new(config.mobiles_max),
            starved: Starved::new(flows_max),
            dropped: Vec::with_capacity(16),
            pace: Pace::new(queue.cost),
            soon: [None; 2],
            hurry_until: Instant::ZERO,
            cells_max,
            cell_pdus_max: queue.cell_pdus_max,
        }
    }

    /// The queues, to be looked at.
    #[must_use]
    pub const fn queues(&self) -> &FlowQueues<Frame> {
        &self.queues
    }

    /// N-PDUs that wait for mobiles that are paged or suspended.
    #[must_use]
    pub const fn held(&self) -> u32 {
        self.held
    }

    /// The driver has no room for what is served, or has it again.
    pub(super) const fn hold_back(&mut self, on: bool) {
        self.driver_full = on;
    }

    /// The driver has hardly any time left, or has some again.
    pub(super) const fn set_short_of_time(&mut self, on: bool) {
        self.short_of_time = on;
    }

    /// True where something waits, and there is room for it downstream.
    const fn may_serve(&self) -> bool {
        self.queues.has_work() && !self.node_full && !self.driver_full
    }

    /// Do so many flows wait for the processor that no other should join them? Not where they wait for room downstream.
    pub(super) fn have_enough(&self) -> bool {
        self.may_serve() && self.queues.has_enough()
    }

    /// Has real time arrived lately?
    #[must_use]
    pub fn is_in_a_hurry(&self, now: Instant) -> bool {
        now < self.hurry_until
    }

    /// What an N-PDU costs, as measured.
    #[must_use]
    pub const fn pace(&self) -> &Pace {
        &self.pace
    }

    /// A packet of `octets`, in either direction, was taken out of its queue.
    pub(super) fn serves(&mut self, octets: u32) {
        self.pace.served(octets);
    }

    /// The queues' cell of a class in a radio cell.
    const fn cell_of(&self, cell: Option<u32>, class: CellClass) -> u32 {
        let cell = match cell {
            Some(cell) if cell < self.cells_max => cell,
            Some(_) | None => self.cells_max,
        };
        let which = match class {
            CellClass::Signalling | CellClass::BestEffort => 0,
            CellClass::RealTime => 1,
            CellClass::Guaranteed => GUARANTEED,
        };
        cell * CELLS_OF_A_CELL + which
    }

    /// The radio cell of a cell of the queues.
    const fn radio_cell_of(cell: u32) -> u32 {
        cell / CELLS_OF_A_CELL
    }

    /// Something waits in the queue of a context.
    pub(super) fn has_queued(&self, name: ContextName) -> bool {
        self.queues.backlog(flow_of(name)).pdus > 0
    }

    /// What is guaranteed in a cell has changed: so much goes ahead of best effort there, in octets/s.
    pub(super) fn set_guaranteed(&mut self, now: Instant, cell: u32, octets_per_s: u64) {
        let per_s = u32::try_from(octets_per_s).unwrap_or(u32::MAX);
        let burst = (per_s / 4).max(QUEUE_N_PDUS_MIN * N_PDU_OCTETS_MAX);
        let real_time = Some(Rate { per_s, burst });
        let limit = Limit { pdus: self.cell_pdus_max, octets: u32::MAX };
        let cell = self.cell_of(Some(cell), CellClass::Guaranteed);
        self.queues.set_cell(now, cell, CellConfig { limit, real_time });
    }

    fn mark(&self, slot: Slot) -> u8 {
        self.marks.get(slot.index as usize).copied().unwrap_or(0)
    }

    fn set_mark(&mut self, slot: Slot, mark: u8, on: bool) {
        if let Some(marks) = self.marks.get_mut(slot.index as usize) {
            *marks = if on { *marks | mark } else { *marks & !mark };
        }
    }
}

/// The number of a context's flow.
const fn flow_of(name: ContextName) -> u32 {
    name.place()
}

/// What a flow may have waiting, and what it may claim, of this treatment.
pub(super) fn flow_config(treatment: &Treatment, cell: u32, buffer: Duration) -> FlowConfig {
    let octets = treatment.octets_in(buffer).max(QUEUE_N_PDUS_MIN * N_PDU_OCTETS_MAX);
    let pdus = (octets / OCTETS_PER_PLACE).max(QUEUE_N_PDUS_MIN);
    let weight = (treatment.rate_octets_per_s / RATE_OF_WEIGHT_1).clamp(1, WEIGHT_MAX.into());
    // Of high precedence a flow is lifted above the low one: while there is still room for what comes meanwhile.
    let low = if treatment.precedence == Precedence::High { 8 } else { 2 };
    FlowConfig {
        class: treatment.class.class(),
        precedence: treatment.precedence,
        weight: u16::try_from(weight).unwrap_or(WEIGHT_MAX),
        cell,
        limit: Limit { pdus, octets },
        // Some room above it, for what is already on its way when a driver is told to send no more.
        high: Limit { pdus: pdus - pdus / 8, octets: octets - octets / 8 },
        low: Limit { pdus: pdus / low, octets: octets / low },
    }
}

/// How a driver knows the G-PDUs of a context of this subscriber: by our TEID, or in version 0 by the TID.
fn key_of(contexts: &Contexts, name: ContextName, whose: Option<Imsi>) -> Key {
    match (contexts.find(name), whose) {
        (Some(ContextRef { nsapi, version: Version::V0, .. }), Some(imsi)) => Key::Tid(Tid { imsi, nsapi }),
        (_, _) => Key::Teid(contexts.teid(name)),
    }
}

impl Sgsn {
    /// The same for whoever has it.
    fn driver_key(&self, name: ContextName) -> Key {
        let whose = self.contexts.find(name).and_then(|context| self.imsi_of(context.mobile));
        key_of(&self.contexts, name, whose)
    }

    pub(super) fn classify(&mut self, change: RuleChange) {
        self.out.push(Output::Classify(change));
    }

    /// A context has become active, or its quality of service has changed: its flow and its rule follow.
    pub(super) fn flow_changed(&mut self, slot: Slot, nsapi: Nsapi) {
        let (Some(flows), Some(mobile)) = (&mut self.flows, self.mobiles.get(slot)) else { return };
        let (Some(bearer), Some(context)) = (mobile.bearer(nsapi), mobile.sm().get(nsapi)) else { return };
        if bearer.tunnel.is_none() {
            return;
        }
        let treatment = Treatment::of(&context.qos(), bearer.allocation_retention);
        let bvc = mobile.bvc();
        let cell = flows.cell_of(self.gb.bvcs.find(bvc.nsei, bvc.bvci), treatment.class);
        let config = flow_config(&treatment, cell, self.config.queue.buffer);
        flows.queues.configure(flow_of(bearer.name), &config);
        self.set_blocked(slot, nsapi);
        self.install_rule(slot, nsapi);
        self.uplink_changed(slot);
    }

    /// Tells the driver all that it has to know of an active context.
    fn install_rule(&mut self, slot: Slot, nsapi: Nsapi) {
        let (Some(flows), Some(mobile)) = (&self.flows, self.mobiles.get(slot)) else { return };
        let (Some(bearer), Some(context)) = (mobile.bearer(nsapi), mobile.sm().get(nsapi)) else { return };
        let name = bearer.name;
        let key = key_of(&self.contexts, name, mobile.imsi());
        let treatment = Treatment::of(&context.qos(), bearer.allocation_retention);
        let above = flows.queues.view(flow_of(name)).is_some_and(|view| view.above);
        let dropped = flows.is_dropped(slot, treatment.class);
        let bought = self.config.policing.map(|policing| treatment.policer(policing.burst));
        let leak = self.leak_policer(slot, treatment.class);
        self.classify(RuleChange::Install(Rule {
            key,
            name: name.0,
            class: treatment.class.class(),
            precedence: treatment.precedence,
            policer: bought.into_iter().chain(leak).min_by_key(|policer| policer.rate_octets_per_s),
            source: bearer.tunnel.as_ref().and_then(|tunnel| self.gtp.user_source(tunnel)),
        }));
        if above {
            self.classify(RuleChange::Block(key, Block::QueueFull));
        }
        if dropped {
            self.classify(RuleChange::Block(key, Block::FlowControl));
        }
    }

    /// A context has no tunnel any more: what waits for it goes nowhere, and its rule goes.
    pub(super) fn flow_gone(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        name: ContextName,
        whose: Option<Imsi>,
    ) {
        let Some(flows) = &mut self.flows else { return };
        if flows.queues.view(flow_of(name)).is_none() {
            return;
        }
        let mut gone = 0;
        flows.queues.remove(flow_of(name), |_, _| {
            gone += 1;
            cx.drop_of(Drop::FlowQueueContextGone, whose);
        });
        if flows.mark(slot) & blocking::UNREACHABLE != 0 {
            flows.held -= gone;
        }
        self.classify(RuleChange::Remove(key_of(&self.contexts, name, whose)));
        self.uplink_changed(slot);
    }

    /// All flows of a mobile are in another cell now, with what waits in them. True where that cell is known.
    pub(super) fn flows_moved(&mut self, slot: Slot) -> bool {
        let (Some(flows), Some(mobile)) = (&mut self.flows, self.mobiles.get(slot)) else { return false };
        let bvc = mobile.bvc();
        let cell = self.gb.bvcs.find(bvc.nsei, bvc.bvci);
        for (_, bearer) in mobile.bearers() {
            flows.queues.move_cell(flow_of(bearer.name), flows.cell_of(cell, bearer.class));
        }
        cell.is_some()
    }

    /// What waits in the flows of a mobile goes nowhere.
    pub(super) fn discard_flows(&mut self, cx: &mut Context<'_>, slot: Slot) {
        let (Some(flows), Some(mobile)) = (&mut self.flows, self.mobiles.get(slot)) else { return };
        let whose = mobile.imsi();
        let mut gone = 0;
        for (_, bearer) in mobile.bearers() {
            let crossed_low = flows.queues.expire(flow_of(bearer.name), Instant(u64::MAX), |_, _| {
                gone += 1;
                cx.drop_of(Drop::SgsnLeftBehind, whose);
            });
            if crossed_low {
                let key = key_of(&self.contexts, bearer.name, whose);
                self.out.push(Output::Classify(RuleChange::Unblock(key, Block::QueueFull)));
            }
        }
        if flows.mark(slot) & blocking::UNREACHABLE != 0 {
            flows.held -= gone;
        }
    }

    /// Takes over new values of what can change at any time.
    pub(super) fn reconfigure_flows(&mut self, now: Instant) {
        let Some(flows) = &mut self.flows else { return };
        let queue = &self.config.queue;
        flows.queues.set_node_real_time(now, queue.node_real_time);
        flows.cell_pdus_max = queue.cell_pdus_max;
        let limit = Limit { pdus: queue.cell_pdus_max, octets: u32::MAX };
        let cells = 0..(flows.cells_max + 1) * CELLS_OF_A_CELL;
        for cell in cells.filter(|cell| cell % CELLS_OF_A_CELL != GUARANTEED) {
            flows.queues.set_cell(now, cell, CellConfig { limit, real_time: queue.cell_real_time });
        }
        for cell in 0..flows.cells_max {
            flows.set_guaranteed(now, cell, self.admission.guaranteed(cell));
        }
        let active: Vec<(Slot, Nsapi)> = self
            .mobiles
            .iter()
            .flat_map(|(slot, mobile)| mobile.bearers().map(move |(nsapi, _)| (slot, nsapi)))
            .collect();
        active.into_iter().for_each(|(slot, nsapi)| self.flow_changed(slot, nsapi));
    }

    /// Whose flow this is.
    fn context_of_flow(&self, flow: u32) -> Option<(ContextName, ContextRef)> {
        self.contexts.at(flow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_wire::l3::ie::{PeakThroughput, QosProfile};

    #[test]
    fn a_queue_holds_a_time_of_its_rate_and_some_n_pdus_at_least() {
        let of = |class| {
            let profile = QosProfile { peak: PeakThroughput(class), ..QosProfile::BEST_EFFORT };
            flow_config(&Treatment::of(&profile, 0), 0, Duration::from_millis(1000))
        };
        let slow = of(1);
        assert_eq!((slow.limit, slow.weight), (Limit { pdus: 23, octets: 6080 }, 1));
        let fast = of(9);
        assert_eq!((fast.limit, fast.weight), (Limit { pdus: 1000, octets: 256_000 }, 8));
        assert_eq!(fast.high, Limit { pdus: 875, octets: 224_000 });
        assert_eq!(fast.low, Limit { pdus: 500, octets: 128_000 });
        assert_eq!([6, 7, 8].map(|class| of(class).weight), [1, 2, 4]);
    }
}
