//! What is served next.

use super::flow::{Flow, LIMITED, LINKED};
use super::{FlowQueues, Turn};
use gannet_machine::time::Instant;

/// Flows that return from a blocked cell at each call, and real-time flows beyond the node's limit that are put into
/// the round of best effort at each call.
const AT_EACH_CALL: usize = 4;
/// Flows that may not go of which one call asks at most.
const REFUSED_MAX: usize = 16;

/// A packet that is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served<T> {
    /// Its flow.
    pub flow: u32,
    /// Itself.
    pub item: T,
    /// Its octets.
    pub octets: u32,
    /// Since when it was queued.
    pub since: Instant,
    /// In which round.
    pub turn: Turn,
    /// By this its flow has come down to its low watermark, and to half of its share of the room.
    pub crossed_low: bool,
}

/// Whose packet is next.
#[derive(Debug, Clone, Copy)]
struct Choice {
    flow: u32,
    /// The ring in whose turn it is; `None` for a token of its cell.
    ring: Option<Turn>,
    /// The round in which it counts.
    turn: Turn,
}

impl<T> FlowQueues<T> {
    /// Takes out the packet that is next; `None` where nothing is queued, or all of it is blocked. There is nothing to
    /// wait for but arrivals and unblocking: what no limit of real time lets go ahead goes as best effort.
    pub fn dequeue(&mut self, now: Instant) -> Option<Served<T>> {
        self.dequeue_where(now, |_, _| true)
    }

    /// The same of what `may` go, as asked of each flow that has its turn with the octets of its first packet. One that may not is
    /// blocked, and its packet stays where it is. Where many in a row may not, `None` comes before all of them were asked about, and
    /// [`FlowQueues::has_work`] says that there is more.
    pub fn dequeue_where(
        &mut self,
        now: Instant,
        mut may: impl FnMut(u32, u32) -> bool,
    ) -> Option<Served<T>> {
        let mut refused = 0;
        let Choice { flow: at, ring, turn } = loop {
            let choice = self.choose(now)?;
            let flow = self.flows.get(choice.flow as usize)?;
            let (cell, octets) = (flow.cell, self.nodes.first_octets(flow)?);
            if may(choice.flow, octets) {
                break choice;
            }
            self.block(choice.flow);
            if choice.ring.is_none() {
                self.await_token(cell, now);
            }
            refused += 1;
            if refused == REFUSED_MAX {
                return None;
            }
        };
        let share = self.share();
        let flow = self.flows.get_mut(at as usize)?;
        let taken = self.nodes.pop_front(flow)?;
        flow.served += 1;
        let crossed_low = flow.falls(share);
        let cost = self.cost.of(taken.octets);
        self.queued.sub(taken.octets);
        self.behind.serves(now, cost);
        self.ready -= 1;
        if self.ready == 0 {
            self.behind.pause();
        }
        let cell = self.cells.get_mut(flow.cell as usize)?;
        cell.went(at, flow, taken.octets, true);
        if turn == Turn::RealTime {
            if let Some(bucket) = &mut cell.real_time {
                bucket.take(now, taken.octets);
            }
            if let Some(bucket) = &mut self.node_real_time {
                bucket.take(now, cost);
            }
        }
        if let Some(count) = self.totals.served.get_mut(turn as usize) {
            *count += 1;
        }
        match ring {
            Some(ring) => {
                let ring_of = self.rings.get_mut(ring as usize)?;
                flow.deficit_ns = flow.deficit_ns.saturating_sub(cost.cast_signed());
                if flow.pdus == 0 {
                    flow.leave(ring);
                    ring_of.pop();
                } else if flow.deficit_ns <= 0 {
                    ring_of.pop();
                    if ring == Turn::Fresh {
                        flow.leave(ring);
                        self.note(at, Turn::BestEffort);
                    } else {
                        ring_of.push(at);
                    }
                }
            }
            None => self.limit(at, now),
        }
        Some(Served {
            flow: at,
            item: taken.item,
            octets: taken.octets,
            since: taken.since,
            turn,
            crossed_low,
        })
    }

    /// Whose packet is next.
    fn choose(&mut self, now: Instant) -> Option<Choice> {
        while self.ready > 0 {
            if self.returning {
                self.bring_back();
            }
            if let Some(flow) = self.turn(Turn::Signalling, now) {
                return Some(Choice { flow, ring: Some(Turn::Signalling), turn: Turn::Signalling });
            }
            let mut beyond = false;
            if !self.limited.is_empty() || self.has_turns(Turn::RealTime) {
                beyond = self.node_real_time.is_some_and(|bucket| !bucket.conforms(now));
                if beyond {
                    self.spill();
                } else if let Some(flow) = self.token(now) {
                    return Some(Choice { flow, ring: None, turn: Turn::RealTime });
                } else if let Some(flow) = self.turn(Turn::RealTime, now) {
                    return Some(Choice { flow, ring: Some(Turn::RealTime), turn: Turn::RealTime });
                }
            }
            for turn in [Turn::Lifted, Turn::Fresh, Turn::BestEffort] {
                if let Some(flow) = self.turn(turn, now) {
                    return Some(Choice { flow, ring: Some(turn), turn });
                }
            }
            // Beyond the node's limit, but there is nothing else: as best effort, which takes no tokens.
            if beyond && let Some(flow) = self.turn(Turn::RealTime, now) {
                return Some(Choice { flow, ring: Some(Turn::RealTime), turn: Turn::BestEffort });
            }
            if !self.returning {
                return None;
            }
        }
        None
    }

    #[inline]
    fn has_turns(&self, turn: Turn) -> bool {
        self.rings.get(turn as usize).is_some_and(|ring| ring.len() > 0)
    }

    /// Notes the turn of a flow that has something to be served, where that is not noted yet. Only who had nothing waiting
    /// (`was_empty`) may be fresh: who comes back to a backlog goes to its end, as everybody does who has one.
    pub(super) fn list(&mut self, at: u32, was_empty: bool) {
        let Some(flow) = self.flows.get_mut(at as usize).filter(|flow| flow.wants()) else { return };
        let blocked = self.cells.get(flow.cell as usize).is_some_and(|cell| cell.blocked);
        if flow.is(LINKED) {
            // Parked or returning: it comes back with its cell. Limited: it has its turn as best effort besides.
            if flow.is(LIMITED) && !blocked {
                self.note(at, Turn::BestEffort);
            }
            return;
        }
        if blocked {
            flow.marks |= LINKED;
            self.turns.push_back(Self::parked_of(flow.cell), at);
            return;
        }
        let home = flow.home();
        if home == Turn::BestEffort {
            self.list_best_effort(at, was_empty);
            return;
        }
        let noted = flow.is_in(home);
        self.note(at, home);
        if noted && home == Turn::RealTime {
            // Its place may be one that was spilled before.
            self.note(at, Turn::BestEffort);
        }
    }

    /// Best effort that is in neither ring: where it had nothing waiting it is fresh with what it has left of its quantum, or
    /// with a new one where all others have had theirs since it got that.
    fn list_best_effort(&mut self, at: u32, was_empty: bool) {
        let (head, places) = self.round();
        let quantum = self.quantum_ns.get(Turn::Fresh as usize).copied().unwrap_or(1);
        let Some(flow) = self.flows.get_mut(at as usize) else { return };
        if flow.is_in(Turn::Fresh) || flow.is_in(Turn::BestEffort) {
            return;
        }
        if !was_empty {
            flow.deficit_ns = flow.deficit_ns.min(0);
            flow.since = head;
        } else if flow.is_due(head, places) {
            flow.visit_in_turn(quantum, head, places);
        }
        let fresh = flow.deficit_ns > 0;
        self.note(at, if fresh { Turn::Fresh } else { Turn::BestEffort });
    }

    /// The first place of the round of best effort, and how many there are.
    #[inline]
    pub(super) fn round(&self) -> (u32, u32) {
        self.rings.get(Turn::BestEffort as usize).map_or((0, 0), |ring| (ring.head(), ring.len()))
    }

    /// Puts a flow into a ring, unless it is there.
    fn note(&mut self, at: u32, turn: Turn) {
        if let Some(flow) = self.flows.get_mut(at as usize).filter(|flow| !flow.is_in(turn))
            && let Some(ring) = self.rings.get_mut(turn as usize)
        {
            flow.mark_in(turn, true);
            ring.push(at);
        }
    }

    /// Lets a few flows of cells that were blocked take their turns again.
    fn bring_back(&mut self) {
        for _ in 0..AT_EACH_CALL {
            let Some(at) = self.turns.first(self.returning_chain()) else {
                self.returning = false;
                return;
            };
            self.turns.unlink(at);
            if let Some(flow) = self.flows.get_mut(at as usize) {
                flow.marks &= !(LINKED | LIMITED);
            }
            self.list(at, false);
        }
    }

    /// Lets a few flows of the real-time ring take part in best effort besides, while the node's limit keeps them.
    fn spill(&mut self) {
        let [_, ring, ..] = &self.rings;
        let (head, len) = (ring.head(), ring.len());
        if self.spilled.wrapping_sub(head) > len {
            self.spilled = head;
        }
        for _ in 0..AT_EACH_CALL {
            let Some(at) = self.rings.get(Turn::RealTime as usize).and_then(|ring| ring.get(self.spilled))
            else {
                return;
            };
            self.spilled = self.spilled.wrapping_add(1);
            if self.flows.get(at as usize).is_some_and(Flow::wants) {
                self.note(at, Turn::BestEffort);
            }
        }
    }

    /// The flow that gets a token of its cell, which had reached its limit of real time.
    fn token(&mut self, now: Instant) -> Option<u32> {
        while let Some(cell) = self.limited.pop_due(now) {
            if self.cells.get(cell as usize).is_none_or(|state| state.blocked) {
                continue;
            }
            let Some(at) = self.turns.first(Self::limited_of(cell)) else { continue };
            let flow = self.flows.get_mut(at as usize)?;
            if flow.wants() {
                return Some(at);
            }
            self.turns.unlink(at);
            flow.marks &= !(LINKED | LIMITED);
            self.await_token(cell, now);
        }
        None
    }

    /// Puts a flow behind those of its cell that wait for its tokens, and into the round of best effort; one without
    /// a backlog in neither.
    fn limit(&mut self, at: u32, now: Instant) {
        let Some(flow) = self.flows.get_mut(at as usize) else { return };
        if flow.is(LINKED) {
            self.turns.unlink(at);
        }
        let (cell, wants) = (flow.cell, flow.wants());
        flow.mark(LINKED | LIMITED, wants);
        if wants {
            self.turns.push_back(Self::limited_of(cell), at);
            self.note(at, Turn::BestEffort);
        }
        self.await_token(cell, now);
    }

    /// Notes when the cell's next token comes, where a flow waits for it.
    fn await_token(&mut self, cell: u32, now: Instant) {
        let next = self.cells.get(cell as usize).and_then(|state| match &state.real_time {
            Some(bucket) => bucket.next_conforming(now),
            None => Some(now),
        });
        match next.filter(|_| self.turns.first(Self::limited_of(cell)).is_some()) {
            Some(at) => self.limited.set(cell, at),
            None => self.limited.remove(cell),
        }
    }

    /// The first flow of a round that has something to be served in it, its quantum given.
    #[inline]
    fn turn(&mut self, turn: Turn, now: Instant) -> Option<u32> {
        loop {
            let (head, places) = self.round();
            let ring = self.rings.get_mut(turn as usize)?;
            let at = ring.front()?;
            let flow = self.flows.get_mut(at as usize)?;
            let cell = self.cells.get(flow.cell as usize);
            let blocked = cell.is_some_and(|cell| cell.blocked);
            let limited = turn == Turn::RealTime
                && cell.and_then(|cell| cell.real_time.as_ref()).is_some_and(|bucket| {
                    !bucket.conforms(now) || self.turns.first(Self::limited_of(flow.cell)).is_some()
                });
            // It is not lifted any more, or has another class now.
            let elsewhere = match turn {
                Turn::Fresh => flow.home() != Turn::BestEffort,
                Turn::BestEffort => false,
                other => flow.home() != other,
            };
            if flow.wants() && !blocked && !limited && !elsewhere {
                // Who is fresh has got its quantum already.
                if !ring.open && turn != Turn::Fresh {
                    let quantum = self.quantum_ns.get(turn as usize).copied().unwrap_or(1);
                    if turn == Turn::BestEffort {
                        flow.visit_in_turn(quantum, head, places);
                    } else {
                        flow.visit(quantum);
                    }
                }
                ring.open = true;
                return Some(at);
            }
            ring.pop();
            flow.leave(turn);
            if limited && flow.wants() && !blocked && !elsewhere {
                self.limit(at, now);
            } else {
                self.list(at, false);
            }
        }
    }
}
