//! What the user and the clock want.

use super::{Change, SmMsAction, SmMsContext, SmMsState, Step, Wanted, WantedSecondary};
use crate::sm::{CONTEXTS, nsapi_of, place};
use gannet_machine::drops::Drop;
use gannet_wire::id::Nsapi;
use gannet_wire::l3::ie::{RadioPriority, SmCause};
use gannet_wire::l3::sm::{DeactivateRequest, ModifyRequestMo};

impl Step<'_, '_> {
    /// Clause 6.1.3.1.1.
    pub(super) fn activate(&mut self, nsapi: Nsapi, wanted: Wanted) {
        let context = SmMsContext::new(self.free_ti(), wanted);
        self.begin(nsapi, context);
    }

    /// Clause 6.1.3.2.1.
    pub(super) fn activate_secondary(&mut self, nsapi: Nsapi, wanted: WantedSecondary) {
        let linked = self.contexts.get(wanted.linked).filter(|linked| linked.is_active());
        match linked.map(|linked| SmMsContext::secondary(self.free_ti(), linked, wanted)) {
            Some(context) => self.begin(nsapi, context),
            None => self.drop(Drop::SmUnexpected),
        }
    }

    /// The lowest identifier that is free; there are more of them than contexts.
    fn free_ti(&self) -> u8 {
        let free = |ti: &u8| self.contexts.iter().all(|(_, context)| context.ti != *ti);
        (0..127).find(free).unwrap_or(0)
    }

    fn begin(&mut self, nsapi: Nsapi, mut context: SmMsContext) {
        let Some(place) = place(nsapi).filter(|_| self.contexts.get(nsapi).is_none()) else {
            return self.drop(Drop::SmUnexpected);
        };
        context.retry.start(self.cx.now, self.cfg.t3380);
        let request = context.request(nsapi);
        if let Some(slot) = self.contexts.slots.get_mut(place) {
            *slot = Some(context);
        }
        self.send(nsapi, request);
    }

    /// All contexts of the address end together (clause 6.1.3.4.1).
    pub(super) fn tear_down(&mut self, nsapi: Nsapi, cause: SmCause) {
        if let Some(context) = self.contexts.get_mut(nsapi) {
            context.tear_down = true;
        }
        self.deactivate(nsapi, cause);
    }

    pub(super) fn deactivate(&mut self, nsapi: Nsapi, cause: SmCause) {
        match self.contexts.get(nsapi).map(SmMsContext::state) {
            // Clause 6.1.3.4.1. An activation under way is given up the same way: the network may have accepted it.
            Some(SmMsState::ActivePending | SmMsState::Active | SmMsState::ModifyPending) => {
                let (now, span) = (self.cx.now, self.cfg.t3390);
                if let Some(context) = self.contexts.get_mut(nsapi) {
                    context.state = SmMsState::InactivePending(cause);
                    context.retry.start(now, span);
                }
                self.send_deactivate(nsapi, cause);
            }
            // It is under way already.
            Some(SmMsState::InactivePending(_)) => {}
            None => self.drop(Drop::SmUnexpected),
        }
    }

    pub(super) fn send_deactivate(&mut self, nsapi: Nsapi, cause: SmCause) {
        let tear_down = self.contexts.get(nsapi).and_then(SmMsContext::tear_down);
        self.send(nsapi, DeactivateRequest { cause, tear_down });
    }

    pub(super) fn modify(&mut self, nsapi: Nsapi, change: Change) {
        let (now, span) = (self.cx.now, self.cfg.t3381);
        match self.contexts.get_mut(nsapi) {
            // Clause 6.1.3.3.2.
            Some(context) if context.state == SmMsState::Active => {
                context.state = SmMsState::ModifyPending;
                context.change = change;
                context.retry.start(now, span);
                self.send_modify(nsapi);
            }
            Some(_) | None => self.drop(Drop::SmUnexpected),
        }
    }

    fn send_modify(&mut self, nsapi: Nsapi) {
        if let Some(Change { qos, tft }) = self.contexts.get(nsapi).map(|context| context.change.clone()) {
            self.send(nsapi, ModifyRequestMo { sapi: None, qos, tft });
        }
    }

    pub(super) fn timer(&mut self) {
        for nsapi in (0..CONTEXTS).map(nsapi_of) {
            self.expired(nsapi);
        }
    }

    fn expired(&mut self, nsapi: Nsapi) {
        let now = self.cx.now;
        let (t3380, t3381, t3390, tries) = (self.cfg.t3380, self.cfg.t3381, self.cfg.t3390, self.cfg.tries);
        let Some(context) = self.contexts.get_mut(nsapi).filter(|context| context.retry.is_due(now)) else {
            return;
        };
        match context.state {
            // T3380, clause 6.1.3.1.5 a (mobile): four times again, then the context is given up.
            SmMsState::ActivePending => {
                if context.retry.again(now, t3380, tries) {
                    let request = context.request(nsapi);
                    self.send(nsapi, request);
                } else {
                    self.drop(Drop::SmNoAnswer);
                    self.fail(nsapi, None);
                }
            }
            // T3381, clause 6.1.3.3.3 a (mobile): four times again, then the context goes on as it was.
            SmMsState::ModifyPending => {
                if context.retry.again(now, t3381, tries) {
                    self.send_modify(nsapi);
                } else {
                    self.drop(Drop::SmNoAnswer);
                    self.modified(nsapi, None);
                }
            }
            // T3390, clause 6.1.3.4.3 a (mobile): four times again, then the context is erased.
            SmMsState::InactivePending(cause) => {
                if context.retry.again(now, t3390, tries) {
                    self.send_deactivate(nsapi, cause);
                } else {
                    self.drop(Drop::SmNoAnswer);
                    self.deactivated(nsapi, cause);
                }
            }
            // No timer runs.
            SmMsState::Active => {}
        }
    }

    /// The modification has ended; what the context holds now is what counts.
    pub(super) fn modified(&mut self, nsapi: Nsapi, radio_priority: Option<RadioPriority>) {
        if let Some(context) = self.contexts.get_mut(nsapi) {
            context.state = SmMsState::Active;
            context.retry.stop();
            context.change = Change::default();
            let (qos, sapi) = (context.wanted.qos, context.wanted.sapi);
            self.out.push(SmMsAction::Modified { nsapi, qos, sapi, radio_priority });
        }
    }

    /// The deactivation has ended, and with the tear down indicator for all contexts of the address.
    pub(super) fn deactivated(&mut self, nsapi: Nsapi, cause: SmCause) {
        if self.contexts.get(nsapi).is_some_and(|context| context.tear_down) {
            self.release_sharers(nsapi, cause);
        }
        self.release(nsapi, cause);
    }

    /// The other contexts of an address end without a word.
    pub(super) fn release_sharers(&mut self, nsapi: Nsapi, cause: SmCause) {
        let others: Vec<Nsapi> = self.contexts.sharers(nsapi).collect();
        for other in others {
            self.release(other, cause);
        }
    }
}
