//! Who has enough for now: the owner is told once when a queue reaches its high watermark, and once when it is down at
//! its low one, without looking at all of them.

use super::state::ByClass;
use super::{CellClass, FlowControl, PduMeta, Place};

/// A class of user data of a mobile or of a cell, or all user data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Whose {
    /// A mobile, by its name.
    Ms(u32, CellClass),
    /// A cell, with all its mobiles.
    Cell(u32, CellClass),
    /// All user data of all cells: the table of PDUs is nearly full.
    Node,
}

/// What the owner is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feedback {
    /// Of whom.
    pub whose: Whose,
    /// True: what is offered now waits behind enough others. False: it is welcome again.
    pub blocked: bool,
}

/// What the owner is still to be told, each of them once.
#[derive(Debug)]
pub(super) struct Untold {
    list: Vec<Whose>,
    node_full: bool,
    node_told: bool,
    node_listed: bool,
}

impl Untold {
    /// Room for all, which costs nothing before it is used.
    pub(super) fn new(names: u32, cells: u32) -> Self {
        let capacity = (names as usize + cells as usize) * CellClass::DATA.len() + 1;
        Self { list: Vec::with_capacity(capacity), node_full: false, node_told: false, node_listed: false }
    }
}

impl<T: PduMeta> FlowControl<T> {
    /// Takes the next mobile or cell of which the owner was told something else before. What is told of one is in turns
    /// that it is blocked and that it is not, and of nobody that he is not before that he is. To be called until there
    /// is no more.
    pub fn take_feedback(&mut self) -> Option<Feedback> {
        while let Some(whose) = self.untold.list.pop() {
            let (blocked, news) = match whose {
                Whose::Ms(name, class) => {
                    let place = self.find(name).and_then(|at| self.mobiles.get(at as usize));
                    let blocked = place.is_some_and(|ms| ms.full[class]);
                    (blocked, self.directory.tell(name, class, blocked))
                }
                Whose::Cell(cell, class) => {
                    let Some(state) = self.cells.get_mut(cell as usize) else { continue };
                    state.listed[class] = false;
                    let blocked = state.full[class];
                    (blocked, core::mem::replace(&mut state.told[class], blocked) != blocked)
                }
                Whose::Node => {
                    self.untold.node_listed = false;
                    let blocked = self.untold.node_full;
                    (blocked, core::mem::replace(&mut self.untold.node_told, blocked) != blocked)
                }
            };
            if news {
                return Some(Feedback { whose, blocked });
            }
        }
        None
    }

    /// A queue of a mobile has grown. Mostly nothing is near any mark.
    #[inline]
    pub(super) fn grown(&mut self, at: u32, class: CellClass) {
        let Some(marks) = &self.config.feedback else { return };
        let Some(ms) = self.mobiles.get(at as usize) else { return };
        let Some(cell) = self.cells.get(ms.cell as usize) else { return };
        let (queue, standing, limit) =
            (ms.queues[class].amount(), cell.standing[class], &self.config.data.cell);
        let plenty = self.pdus.free() >= self.config.pdus_max / 2;
        let apart = !marks.ms.is_full(queue, false)
            && !marks.cell.is_full(standing, false)
            && !limit.is_near(cell.limited(class), 1);
        if !(plenty && apart) {
            self.mark(at, class);
        }
    }

    /// A queue of a mobile has become shorter. Mostly nobody was told to wait for that.
    #[inline]
    pub(super) fn shrunk(&mut self, at: u32, class: CellClass) {
        let Some(ms) = self.mobiles.get(at as usize) else { return };
        let cell = self.cells.get(ms.cell as usize).is_some_and(|cell| cell.full != ByClass::default());
        if ms.full[class] || cell || self.untold.node_full {
            self.mark(at, class);
        }
    }

    fn mark(&mut self, at: u32, class: CellClass) {
        if self.config.feedback.is_some() && class != CellClass::Signalling {
            self.mark_ms(at, class);
            if let Some(cell) = self.cell_of(at) {
                self.mark_cell(cell);
            }
            self.mark_node();
        }
    }

    pub(super) fn mark_ms(&mut self, at: u32, class: CellClass) {
        let Some(marks) = self.config.feedback.filter(|_| self.is_mobile(at)) else { return };
        let (free, eighth) = (self.pdus.free(), self.config.pdus_max / 8);
        let Some(ms) = self.mobiles.get_mut(at as usize) else { return };
        let (amount, was) = (ms.queues[class].amount(), ms.full[class]);
        // The fuller the table of PDUs, the less is enough: so it never fills for the many who wait for their own
        // buckets, and the others go on.
        let rests = class == CellClass::BestEffort && ms.rests_for != 0;
        let full = if rests {
            true
        } else if free < eighth * 3 {
            amount.pdus > 0
        } else {
            marks.ms.is_full(amount, was || free < eighth * 4)
        };
        if full != was {
            ms.full[class] = full;
            let name = ms.name;
            self.tell_ms(name, class);
        }
    }

    /// Notes that something of a mobile is to be told.
    pub(super) fn tell_ms(&mut self, name: u32, class: CellClass) {
        if self.directory.list(name, class) {
            self.untold.list.push(Whose::Ms(name, class));
        }
    }

    pub(super) fn mark_cell(&mut self, cell: u32) {
        let (Some(marks), Some(state)) = (self.config.feedback, self.cells.get_mut(cell as usize)) else {
            return;
        };
        for class in CellClass::DATA {
            let was = state.full[class];
            let rests = class == CellClass::BestEffort && state.rests;
            if !was && !rests && state.queued[class].pdus == 0 {
                continue;
            }
            // Real time pushes the others out where the limit is reached, and what is guaranteed best effort.
            let limited = match class {
                CellClass::Signalling | CellClass::RealTime => state.queued[CellClass::RealTime],
                CellClass::Guaranteed => {
                    state.queued[CellClass::RealTime].plus(state.queued[CellClass::Guaranteed])
                }
                CellClass::BestEffort => state.limited(class),
            };
            let near = self.config.data.cell.is_near(limited, if was { 2 } else { 1 });
            let full = rests || near || marks.cell.is_full(state.standing[class], was);
            if full != was {
                state.full[class] = full;
                if !core::mem::replace(&mut state.listed[class], true) {
                    self.untold.list.push(Whose::Cell(cell, class));
                }
            }
        }
    }

    fn mark_node(&mut self) {
        let (free, eighth) = (self.pdus.free(), self.config.pdus_max / 8);
        let was = self.untold.node_full;
        // The last eighth is for signalling.
        let full = if was { free < eighth * 3 } else { free < eighth * 2 };
        if full != was {
            self.untold.node_full = full;
            if !core::mem::replace(&mut self.untold.node_listed, true) {
                self.untold.list.push(Whose::Node);
            }
        }
    }

    /// What a mobile has queued waits for its cell's bucket only, or no longer does.
    pub(super) fn stand(&mut self, at: u32, stands: bool) {
        let Some(ms) = self.mobiles.get(at as usize) else { return };
        let Some(cell) = self.cells.get_mut(ms.cell as usize) else { return };
        for class in CellClass::DATA {
            let (sum, amount) = (&mut cell.standing[class], ms.queues[class].amount());
            *sum = if stands { sum.plus(amount) } else { sum.minus(amount) };
        }
        let Some(marks) = &self.config.feedback else { return };
        let reached = |class| marks.cell.is_full(cell.standing[class], false);
        let changed =
            if stands { CellClass::DATA.into_iter().any(reached) } else { cell.full != ByClass::default() };
        if changed {
            let cell = ms.cell;
            self.mark_cell(cell);
        }
    }

    /// True where what a mobile has queued counts among what stands in its cell.
    pub(super) fn stands(&self, at: u32) -> bool {
        self.mobiles.get(at as usize).is_some_and(|ms| matches!(ms.place, Place::Ready(_)))
    }
}
