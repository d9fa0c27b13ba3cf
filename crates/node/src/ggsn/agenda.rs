//! When something is due of which context.

use super::Owner;
use crate::slots::Slot;
use gannet_machine::Context;
use gannet_machine::time::Instant;
use gannet_machine::timers::TimerName as _;
use std::collections::BTreeSet;

/// Instants of contexts, each by its place. The context keeps its own instant, so that it is found here again.
#[derive(Debug)]
pub(super) struct Agenda {
    owner: Owner,
    due: BTreeSet<(Instant, u32)>,
    /// The wake-ups that are on their way. Each of them is earlier than all before it, so that there are few.
    asked: BTreeSet<Instant>,
}

impl Agenda {
    /// An empty one, whose wake-ups have this name.
    pub const fn new(owner: Owner) -> Self {
        Self { owner, due: BTreeSet::new(), asked: BTreeSet::new() }
    }

    fn arm(&mut self, cx: &mut Context<'_>) {
        let Some((next, _)) = self.due.first().copied() else { return };
        if self.asked.first().is_none_or(|asked| next < *asked) {
            cx.timers.wake(self.owner.key(0, 0), next);
            self.asked.insert(next);
        }
    }

    /// Something of a context is due at this time, instead of the `former` one.
    pub fn set(&mut self, cx: &mut Context<'_>, slot: Slot, at: Instant, former: Option<Instant>) {
        self.forget(former, slot);
        self.due.insert((at, slot.index));
        self.arm(cx);
    }

    /// Nothing more is due of a context.
    pub fn forget(&mut self, at: Option<Instant>, slot: Slot) {
        if let Some(at) = at {
            self.due.remove(&(at, slot.index));
        }
    }

    /// A wake-up has come.
    pub fn woken(&mut self, now: Instant) {
        self.asked.retain(|asked| *asked > now);
    }

    /// The place of a context of which something is due now, each once. Where there is none, the next wake-up is asked for.
    pub fn next_due(&mut self, cx: &mut Context<'_>) -> Option<u32> {
        match self.due.first().copied().filter(|(at, _)| *at <= cx.now) {
            Some(due) => {
                self.due.remove(&due);
                Some(due.1)
            }
            None => {
                self.arm(cx);
                None
            }
        }
    }
}
