//! What changes about contexts, for the rules of a driver: noted where it happens, looked at behind the input.

use crate::slots::Slot;
use gannet_machine::time::Instant;
use gannet_proto::forwarding::Forwarded;
use gannet_proto::gtp::ContextName;
use std::collections::VecDeque;

/// A context whose rule may have to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cue {
    /// It is new, or something about it is.
    Changed(Slot),
    /// It is gone; what was taken over of the driver's counters is said with it.
    Gone(ContextName, Forwarded),
}

/// What a driver that forwards for a context has said of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct AtDriver {
    /// What of its counters is in those of the context.
    pub seen: Forwarded,
    /// When something had been forwarded that had not been before.
    pub active_at: Option<Instant>,
}

/// Contexts whose rules may have to change, in order.
#[derive(Debug, Default)]
pub(super) struct Cues {
    /// No driver forwards anything while this is not set.
    is_on: bool,
    cues: VecDeque<Cue>,
}

impl Cues {
    /// From now on changes are noted.
    pub fn begin(&mut self) {
        self.is_on = true;
    }

    pub fn next(&mut self) -> Option<Cue> {
        self.cues.pop_front()
    }

    pub fn changed(&mut self, slot: Slot) {
        let cue = Cue::Changed(slot);
        if self.is_on && self.cues.back() != Some(&cue) {
            self.cues.push_back(cue);
        }
    }

    /// A context that had a rule where `at_driver` is set.
    pub fn gone(&mut self, slot: Slot, at_driver: Option<AtDriver>) {
        let ruled = at_driver.filter(|_| self.is_on);
        self.cues.extend(ruled.map(|at_driver| Cue::Gone(name_of(slot), at_driver.seen)));
    }
}

/// What a driver calls the context at a place.
pub(super) fn name_of(slot: Slot) -> ContextName {
    ContextName::new(ContextName::generation_of(slot.generation), slot.index)
}
