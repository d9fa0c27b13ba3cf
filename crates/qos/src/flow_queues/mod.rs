//! The input queues of the SGSN: one FIFO per PDP context, and who is served next.
//!
//! What is scarce before the protocol stack is processing, so that is what is shared out: the cost of a packet is
//! counted in nanoseconds ([`Cost`]), and a flow that sends more than its share fills its own queue and no other.
//!
//! **Rounds.** Rounds, one ahead of the other ([`Turn`]): signalling; real time; flows of high precedence that are
//! lifted; flows that had nothing waiting; all other user data. A flow of high precedence is lifted when its backlog comes above its *low* watermark,
//! until it is down to half of that: at the high one a driver is told to drop, and it shall not come to that while
//! others could wait instead. A flow that had nothing waiting is served ahead of those that have as far as its quantum goes,
//! once while all others go round: who sends less than its share does not wait behind the backlog of those who send more,
//! and what is served is what has just come, which is still in the cache. Within a round turns
//! go round: a flow at its turn is served until its quantum is used up, and what the last packet cost too much is
//! taken off its next turn (surplus round robin, which never looks at a packet before it serves it). The quantum is
//! the cost of the longest packet times the flow's weight, so every turn serves at least one and every operation is O(1),
//! however many flows there are. A flow of best effort keeps some quanta that it did not need, or that it missed while it
//! had nothing waiting: so shares are equal although but a few packets of each flow wait, however unevenly they come.
//!
//! **Limit of real time.** A token bucket for each cell, in octets, and one for the node, in nanoseconds of cost.
//! Nothing waits for tokens: real time beyond them takes part in the round of best effort, and is served ahead of
//! nothing. A flow keeps its place in both rounds meanwhile, so its packets stay in their order and it takes up new
//! tokens as soon as they come. In a limited cell its flows get the tokens in turn, packet by packet.
//!
//! **Room.** Each flow, each cell and all together have a limit. A packet whose own queue is full is dropped. Where the
//! cell or the node is full, a packet of lower precedence *in the same cell* gives way, from the lowest level that is
//! there: the youngest packet of the flow that has the longest backlog at that level, as far as arrivals have shown
//! it. The longest, since who fills the buffer pays for it; the youngest, since that is the one which would have been
//! dropped had the other come first. Without one, the packet that arrives is dropped, as is one of a flow that is
//! blocked.
//!
//! However many flows have a backlog, and however long their limits let it be, some room is left to everybody else: a flow of
//! best effort gets no more than a part of what is left, say a sixteenth ([`Config::room_part`]), so that with n of them each
//! has 1 / (16 + n) of all. What is dropped here has been processed in vain: a driver is told of a flow that has come to its
//! high watermark, or has its part.
//!
//! Limits are as long as radio is slow; what waits for the *processor* is another matter. After some milliseconds it is out of
//! the caches, and costs up to three times as much: a node that is once behind would stay so. So where more comes than is served
//! ([`behind`]) room also ends where what could be served at once would take longer than [`Config::behind`], but for a few packets
//! of each flow; and where very many flows have but a packet each, no
//! further one joins them ([`Config::crowd`]); sooner where there are more flows than could wait, each of which comes once in a
//! while ([`variety`]). A burst, or what has come while the processor was somebody else's, has all the room that there is.
//!
//! **Blocking.** A blocked flow is served in no round and keeps its queue. A cell is blocked and unblocked in O(1)
//! whatever it holds: its flows are parked as their turns come, and return a few at each call.
//!
//! **Memory.** Everything is allocated at the start: 96 octets for a flow, one line of the cache of them hot, and for a
//! packet that is a frame another line. [`FlowQueues::look_ahead`] asks for those of the next turns while others are
//! served, and [`FlowQueues::prefetch`] for those of what arrives: with a million flows each would be waited for by itself.
//! Amortised: a flow that has been blocked or drained since its turn was noted costs one step when it is met.

mod admit;
mod ahead;
mod behind;
mod cell;
mod chains;
mod discipline;
mod expire;
mod flow;
mod nodes;
mod ring;
mod serve;
#[cfg(test)]
mod tests;
mod variety;

pub use admit::{DropNames, Dropped, Enqueued};
pub use ahead::Coming;
pub use cell::{CellConfig, CellView};
pub use serve::Served;

use super::class::{Class, Precedence};
use super::deadline_heap::DeadlineHeap;
use super::token_bucket::{Rate, TokenBucket};
use behind::Behind;
use cell::Cell;
use chains::Chains;
use flow::{ABOVE, BLOCKED, EXISTS, Flow, LIMITED, LINKED, MEMBER, NIL, Share};
use gannet_machine::drops::{Drop, DropCounters};
use gannet_machine::time::{Duration, Instant};
use nodes::Nodes;
use ring::Ring;
use variety::Variety;

/// The rounds in the order of service, and in which one a packet was served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Turn {
    /// Signalling.
    Signalling = 0,
    /// Real time within its limits.
    RealTime = 1,
    /// High precedence with a backlog, lifted ahead of the others.
    Lifted = 2,
    /// Best effort of a flow that had nothing waiting, within the quantum of a round.
    Fresh = 3,
    /// Everything else, and real time beyond its limits.
    BestEffort = 4,
}

impl Turn {
    /// All rounds in the order of service.
    pub const ALL: [Self; 5] =
        [Self::Signalling, Self::RealTime, Self::Lifted, Self::Fresh, Self::BestEffort];
}

/// A limit or a watermark: packets and octets, either of which counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Packets. A flow counts up to 65,535.
    pub pdus: u32,
    /// Octets.
    pub octets: u32,
}

impl Limit {
    /// No limit, or a watermark that is never reached.
    pub const NONE: Self = Self { pdus: u32::MAX, octets: u32::MAX };
}

/// What a packet costs the node. Measured, and changed while running as the measure changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Each packet, in ns.
    pub per_pdu_ns: u32,
    /// Each 1024 octets, in ns.
    pub per_1024_octets_ns: u32,
}

impl Cost {
    /// Of a packet of `octets`, in ns; at least 1.
    #[must_use]
    pub fn of(&self, octets: u32) -> u32 {
        let by_octets = u64::from(octets) * u64::from(self.per_1024_octets_ns) / 1024;
        let ns = u64::from(self.per_pdu_ns) + by_octets;
        // Half the range, so that a sum of two fits.
        u32::try_from(ns.clamp(1, COST_MAX_NS)).unwrap_or(u32::MAX)
    }
}

/// No cost and no quantum is above it, so that the sum of two fits an i32.
const COST_MAX_NS: u64 = (i32::MAX / 2) as u64;
/// Of [`Config::crowd`], where each comes once in a while.
const PART_OF_CROWD: u32 = 16;

/// How large everything is, and what holds at the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Flows are named 0 to `flows_max` − 1.
    pub flows_max: u32,
    /// Cells are named 0 to `cells_max` − 1.
    pub cells_max: u32,
    /// Packets in all queues together.
    pub nodes_max: u32,
    /// What of the room that is left in all queues together a flow of best effort may fill: one in so many; 0: all of it.
    /// High precedence, which pushes others out, has no such limit.
    pub room_part: u32,
    /// So many packets it may have in any case: few, since with thousands of flows a packet more of each is megabytes of
    /// them, which are out of the caches before their turn. Of those who send a fifth more than their share, and those who
    /// send twice as much, the latter get 1 % more with three.
    pub room_least: u32,
    /// How far the processor may be behind, where more comes than it serves: no more room is left than for what it does in so long.
    pub behind: Duration,
    /// More comes than it serves where it has worked for so long and there was always more to do. Longer than what comes
    /// while something else has the processor takes it, as long as it has time.
    pub behind_after: Duration,
    /// There is room for so many packets in any case. A sixteenth of them is what one flow of 300 packets/s has sent after 100 ms.
    pub behind_least: u32,
    /// With so many flows of best effort waiting, one that has nothing waiting has to come again; and with a sixteenth of that
    /// where all of these are fresh and more come than could wait, so that each comes once in a while: of them nobody is
    /// treated more equally for waiting, and what waits goes cold.
    pub crowd: u32,
    /// What holds for a cell until [`FlowQueues::set_cell`].
    pub cell: CellConfig,
    /// What of the node's time real time may take ahead of others, in ns of cost per second; `None`: all.
    pub node_real_time: Option<Rate>,
    /// What packets cost until [`FlowQueues::set_cost`].
    pub cost: Cost,
    /// The longest packet, in octets: the quantum is in multiples of its cost.
    pub octets_max: u32,
    /// The quantum of signalling and real time at weight 1, in longest packets. Small, for delay.
    pub visit_real_time: u32,
    /// The quantum of best effort at weight 1, in longest packets: no more than a flow may have waiting, or it would not need
    /// it.
    pub visit_best_effort: u32,
    /// Under which names packets are dropped.
    pub names: DropNames,
}

impl Config {
    const DEFAULT: Self = Self {
        flows_max: 16_384,
        cells_max: 512,
        nodes_max: 65_536,
        room_part: 16,
        room_least: 3,
        behind: Duration::from_millis(10),
        behind_after: Duration::from_millis(100),
        behind_least: 512,
        crowd: 16_384,
        cell: CellConfig { limit: Limit { pdus: 8192, octets: 8_000_000 }, real_time: None },
        node_real_time: Some(Rate { per_s: 800_000_000, burst: 10_000_000 }),
        cost: Cost { per_pdu_ns: 800, per_1024_octets_ns: 200 },
        octets_max: 1520,
        visit_real_time: 1,
        visit_best_effort: 1,
        names: DropNames::DOWNLINK,
    };

    /// The default without estimates: only the limits of flows, cells and the node refuse a packet. Neither the room
    /// that is left nor a processor that is behind nor a crowd of flows makes a queue shorter.
    pub const WITHOUT_ESTIMATES: Self = Self {
        room_part: 0,
        room_least: 2,
        behind: Duration(u64::MAX),
        behind_after: Duration::ZERO,
        behind_least: 0,
        crowd: u32::MAX,
        ..Self::DEFAULT
    };
}

impl Default for Config {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What a flow may claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowConfig {
    /// Its round.
    pub class: Class,
    /// Who gives way to whom when a cell or the node is full, and whether it is lifted.
    pub precedence: Precedence,
    /// Its share, relative to that of other flows. At least 1 is taken.
    pub weight: u16,
    /// Where its mobile is.
    pub cell: u32,
    /// Its queue.
    pub limit: Limit,
    /// The backlog from which [`Enqueued::crossed_high`] is told, where [`Config::room_part`] does not have it told before.
    pub high: Limit,
    /// The backlog at which [`Served::crossed_low`] is told, both packets and octets; below `high`. One of high
    /// precedence is lifted above it.
    pub low: Limit,
}

/// Packets and octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    /// Packets.
    pub pdus: u32,
    /// Octets.
    pub octets: u64,
}

impl Amount {
    fn add(&mut self, octets: u32) {
        self.pdus += 1;
        self.octets += u64::from(octets);
    }

    fn sub(&mut self, octets: u32) {
        self.pdus = self.pdus.saturating_sub(1);
        self.octets = self.octets.saturating_sub(u64::from(octets));
    }
}

/// What became of all packets. What was offered is the sum of the others and of what is queued.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Totals {
    /// Given to [`FlowQueues::enqueue`].
    pub offered: u64,
    /// Served, by [`Turn`].
    pub served: [u64; 5],
    /// Given back by [`FlowQueues::remove`].
    pub drained: u64,
    /// Dropped, by name.
    pub drops: DropCounters,
}

/// What a person wants to know of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowView {
    /// Its cell.
    pub cell: u32,
    /// Its class.
    pub class: Class,
    /// Its precedence.
    pub precedence: Precedence,
    /// Its weight.
    pub weight: u16,
    /// What waits.
    pub queued: Amount,
    /// It is not served.
    pub blocked: bool,
    /// It has not come down to its low watermark since it was above the high one.
    pub above: bool,
    /// It is served ahead of other best effort.
    pub lifted: bool,
    /// Packets served since it was configured.
    pub served: u64,
    /// Packets dropped since then.
    pub dropped: u32,
}

/// The input queues of all flows of a node.
#[derive(Debug)]
pub struct FlowQueues<T> {
    flows: Vec<Flow>,
    cells: Vec<Cell>,
    nodes: Nodes<T>,
    /// By [`Turn`].
    rings: [Ring; 5],
    /// Flows that are parked, limited or returning; see [`FlowQueues::parked`] and its like.
    turns: Chains,
    /// Flows by cell and precedence that may have a backlog.
    members: Chains,
    /// Limited cells, by the instant of their next token.
    limited: DeadlineHeap,
    node_real_time: Option<TokenBucket>,
    /// Up to where the flows of the real-time ring were also put into the ring of best effort.
    spilled: u32,
    /// There may be flows that return.
    returning: bool,
    cost: Cost,
    variety: Variety,
    config: Config,
    /// By [`Turn`], in ns at weight 1.
    quantum_ns: [u32; 5],
    /// Packets of flows that are not blocked, in cells that are not.
    ready: u32,
    behind: Behind,
    queued: Amount,
    totals: Totals,
}

impl<T> FlowQueues<T> {
    /// All flows absent, all cells open.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let (flows, cells) = (config.flows_max, config.cells_max);
        let mut queues = Self {
            flows: vec![Flow::NONE; flows as usize],
            cells: (0..cells).map(|_| Cell::new(Instant::ZERO, config.cell)).collect(),
            nodes: Nodes::new(config.nodes_max),
            rings: [(); 5].map(|()| Ring::new(flows)),
            turns: Chains::new(flows, cells.saturating_mul(2).saturating_add(1)),
            members: Chains::new(flows, cells.saturating_mul(3)),
            limited: DeadlineHeap::new(cells as usize),
            node_real_time: config.node_real_time.map(|rate| TokenBucket::new(Instant::ZERO, rate)),
            spilled: 0,
            returning: false,
            cost: config.cost,
            quantum_ns: [1; 5],
            ready: 0,
            behind: Behind::new(&config),
            queued: Amount::default(),
            totals: Totals::default(),
            variety: Variety::new(config.crowd),
            config,
        };
        queues.set_cost(queues.cost);
        queues
    }

    /// What a flow of best effort may have waiting now.
    fn share(&self) -> Share {
        let ahead = self.behind.room().saturating_sub(self.ready) as usize;
        Share::of(self.nodes.free().min(ahead), self.config.room_part, self.config.room_least)
    }

    /// Would the next flow of best effort that has nothing waiting soon find no room, of very many that come once in a while?
    /// Then it is the same to all of them which packet is lost, and the earlier that is, the cheaper.
    #[must_use]
    pub fn has_enough(&self) -> bool {
        self.behind.is_working()
            && self.variety.is_great()
            && self.waiting(Turn::Fresh) >= self.config.crowd / PART_OF_CROWD * 3 / 4
    }

    fn waiting(&self, turn: Turn) -> u32 {
        self.rings.get(turn as usize).map_or(0, Ring::len)
    }

    /// Do so many flows of best effort wait that even a packet of each is out of the caches before its turn?
    fn has_a_crowd(&self) -> bool {
        let fresh = self.waiting(Turn::Fresh);
        self.behind.is_working()
            && (fresh + self.waiting(Turn::BestEffort) >= self.config.crowd
                || (self.variety.is_great() && fresh >= self.config.crowd / PART_OF_CROWD))
    }

    /// A new cost of packets, from now on.
    pub fn set_cost(&mut self, cost: Cost) {
        self.cost = cost;
        let longest = u64::from(cost.of(self.config.octets_max));
        let of = |visit: u32| {
            u32::try_from((longest * u64::from(visit.max(1))).min(COST_MAX_NS)).unwrap_or(u32::MAX)
        };
        let (short, long) = (of(self.config.visit_real_time), of(self.config.visit_best_effort));
        self.quantum_ns = [short, short, long, long, long];
    }

    /// A new limit of the node's real time.
    pub fn set_node_real_time(&mut self, now: Instant, rate: Option<Rate>) {
        self.node_real_time = rate.map(|rate| TokenBucket::new(now, rate));
    }

    /// A new configuration of a cell. What it holds beyond a lower limit stays.
    pub fn set_cell(&mut self, now: Instant, cell: u32, config: CellConfig) {
        let Some(state) = self.cells.get_mut(cell as usize) else { return };
        state.configure(now, config);
        // The next token comes at another instant now.
        self.limited.remove(cell);
        if self.turns.first(Self::limited_of(cell)).is_some() {
            self.limited.set(cell, now);
        }
    }

    /// Sets up a flow, or gives it other values; what it has queued stays. False where there is no such flow or cell.
    pub fn configure(&mut self, flow: u32, config: &FlowConfig) -> bool {
        if flow >= self.config.flows_max || config.cell >= self.config.cells_max {
            return false;
        }
        self.leave_cell(flow);
        if let Some(state) = self.flows.get_mut(flow as usize) {
            state.set(config);
            state.mark(EXISTS, true);
        }
        self.enter_cell(flow, config.cell);
        true
    }

    /// Takes a flow away and gives what it had queued to `drained`, oldest first, with its octets.
    pub fn remove(&mut self, flow: u32, mut drained: impl FnMut(T, u32)) {
        self.leave_cell(flow);
        let Some(state) = self.flows.get_mut(flow as usize) else { return };
        while let Some(taken) = self.nodes.pop_front(state) {
            self.queued.sub(taken.octets);
            self.totals.drained += 1;
            drained(taken.item, taken.octets);
        }
        state.clear();
    }

    /// Moves a flow with its backlog to another cell, also beyond that cell's limit. False where there is no such flow
    /// or cell.
    pub fn move_cell(&mut self, flow: u32, cell: u32) -> bool {
        let exists = self.flows.get(flow as usize).is_some_and(|state| state.is(EXISTS));
        if !exists || cell >= self.config.cells_max {
            return false;
        }
        self.leave_cell(flow);
        self.enter_cell(flow, cell);
        true
    }

    /// Takes the flow out of all that its cell knows of it.
    fn leave_cell(&mut self, at: u32) {
        let Some(flow) = self.flows.get_mut(at as usize).filter(|flow| flow.is(EXISTS)) else { return };
        if flow.is(MEMBER) {
            self.members.unlink(at);
        }
        if flow.is(LINKED) {
            self.turns.unlink(at);
        }
        flow.marks &= !(MEMBER | LINKED | LIMITED);
        let mut ready = 0;
        if let Some(cell) = self.cells.get_mut(flow.cell as usize) {
            cell.leaves(at, flow);
            if flow.wants() && !cell.blocked {
                ready = u32::from(flow.pdus);
            }
        }
        flow.cell = NIL;
        self.fewer_ready(ready);
    }

    /// Makes the flow known to a cell, with its backlog.
    fn enter_cell(&mut self, at: u32, cell: u32) {
        let Some(flow) = self.flows.get_mut(at as usize) else { return };
        flow.cell = cell;
        if let Some(state) = self.cells.get_mut(cell as usize) {
            state.enters(flow);
            if flow.wants() && !state.blocked {
                self.ready += u32::from(flow.pdus);
            }
        }
        if flow.pdus > 0 {
            flow.marks |= MEMBER;
            self.members.push_front(Self::members_of(cell, flow.precedence), at);
        }
        self.list(at, false);
    }

    /// Serves nothing of this flow until it is unblocked.
    pub fn block(&mut self, flow: u32) {
        self.set_blocked(flow, true);
    }

    /// Serves it again, with no more than its turn: what it has missed meanwhile was not kept from it by others.
    pub fn unblock(&mut self, flow: u32) {
        self.set_blocked(flow, false);
        self.list(flow, false);
    }

    fn set_blocked(&mut self, at: u32, blocked: bool) {
        let (head, _) = self.round();
        let Some(flow) = self.flows.get_mut(at as usize) else { return };
        if !flow.is(EXISTS) || flow.is(BLOCKED) == blocked {
            return;
        }
        flow.mark(BLOCKED, blocked);
        if !blocked {
            flow.forget_what_it_missed(head);
        }
        let Some(cell) = self.cells.get_mut(flow.cell as usize) else { return };
        let pdus = u32::from(flow.pdus);
        cell.ready = if blocked { cell.ready - pdus } else { cell.ready + pdus };
        match (cell.blocked, blocked) {
            (true, _) => {}
            (false, true) => self.fewer_ready(pdus),
            (false, false) => self.ready += pdus,
        }
    }

    /// So many packets can be served no more, or were served.
    fn fewer_ready(&mut self, pdus: u32) {
        self.ready -= pdus;
        if self.ready == 0 {
            self.behind.pause();
        }
    }

    /// Serves nothing of any flow in this cell until it is unblocked.
    pub fn block_cell(&mut self, cell: u32) {
        let Some(state) = self.cells.get_mut(cell as usize).filter(|state| !state.blocked) else { return };
        state.blocked = true;
        let ready = state.ready;
        self.fewer_ready(ready);
        self.limited.remove(cell);
    }

    /// Serves them again. Those that were met while it was blocked return to their rounds a few at each
    /// [`FlowQueues::dequeue`].
    pub fn unblock_cell(&mut self, cell: u32) {
        let Some(state) = self.cells.get_mut(cell as usize).filter(|state| state.blocked) else { return };
        state.blocked = false;
        self.ready += state.ready;
        self.turns.append(self.returning_chain(), Self::parked_of(cell));
        self.turns.append(self.returning_chain(), Self::limited_of(cell));
        self.returning = true;
    }

    /// True where [`FlowQueues::dequeue`] has something to give.
    #[must_use]
    pub const fn has_work(&self) -> bool {
        self.ready > 0
    }

    /// How many packets could be served now.
    #[must_use]
    pub const fn ready(&self) -> u32 {
        self.ready
    }

    /// What waits in all queues.
    #[must_use]
    pub const fn queued(&self) -> Amount {
        self.queued
    }

    /// What became of all packets so far.
    #[must_use]
    pub const fn totals(&self) -> &Totals {
        &self.totals
    }

    /// A flow; `None` where it is not configured.
    #[must_use]
    pub fn view(&self, flow: u32) -> Option<FlowView> {
        let flow = self.flows.get(flow as usize).filter(|flow| flow.is(EXISTS))?;
        Some(FlowView {
            cell: flow.cell,
            class: flow.class,
            precedence: flow.precedence,
            weight: flow.weight,
            queued: Amount { pdus: flow.pdus.into(), octets: flow.octets.into() },
            blocked: flow.is(BLOCKED),
            above: flow.is(ABOVE),
            lifted: flow.home() == Turn::Lifted,
            served: flow.served,
            dropped: flow.dropped,
        })
    }

    /// A cell; `None` where there is none of this name.
    #[must_use]
    pub fn cell(&self, cell: u32) -> Option<CellView> {
        self.cells.get(cell as usize).map(Cell::view)
    }

    // ---- names of chains

    /// The members of a cell at a level of precedence.
    const fn members_of(cell: u32, precedence: Precedence) -> u32 {
        cell * 3 + precedence as u32
    }

    /// The flows of a blocked cell whose turn has come meanwhile.
    const fn parked_of(cell: u32) -> u32 {
        cell * 2
    }

    /// The real-time flows of a cell that wait for its tokens.
    const fn limited_of(cell: u32) -> u32 {
        cell * 2 + 1
    }

    /// The flows that come back from a blocked cell.
    const fn returning_chain(&self) -> u32 {
        self.config.cells_max * 2
    }

    fn count_drop(&mut self, flow: u32, reason: Drop) {
        self.totals.drops.add(reason);
        if let Some(flow) = self.flows.get_mut(flow as usize) {
            flow.dropped = flow.dropped.saturating_add(1);
        }
    }
}
