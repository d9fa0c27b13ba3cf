//! What the user and the clock want.

use super::{SmMsAction, SmMsContext, SmMsState, Step, Wanted};
use crate::drops::Drop;
use crate::sm::{CONTEXTS, nsapi_of, place};
use gannet_wire::id::Nsapi;
use gannet_wire::l3::ie::{QosProfile, SmCause};
use gannet_wire::l3::sm::{DeactivateRequest, ModifyRequestMo};

impl Step<'_, '_> {
    /// Clause 6.1.3.1.1.
    pub(super) fn activate(&mut self, nsapi: Nsapi, wanted: Wanted) {
        let Some(place) = place(nsapi).filter(|_| self.contexts.get(nsapi).is_none()) else {
            return self.drop(Drop::SmUnexpected);
        };
        // The lowest identifier that is free; there are more of them than contexts.
        let free = |ti: &u8| self.contexts.iter().all(|(_, context)| context.ti != *ti);
        let mut context = SmMsContext::new((0..127).find(free).unwrap_or(0), wanted);
        context.retry.start(self.cx.now, self.cfg.t3380);
        let request = context.request(nsapi);
        if let Some(slot) = self.contexts.slots.get_mut(place) {
            *slot = Some(context);
        }
        self.send(nsapi, request);
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
                self.send(nsapi, DeactivateRequest { cause, tear_down: None });
            }
            // It is under way already.
            Some(SmMsState::InactivePending(_)) => {}
            None => self.drop(Drop::SmUnexpected),
        }
    }

    pub(super) fn modify(&mut self, nsapi: Nsapi, qos: QosProfile) {
        let (now, span) = (self.cx.now, self.cfg.t3381);
        match self.contexts.get_mut(nsapi) {
            // Clause 6.1.3.3.2.
            Some(context) if context.state == SmMsState::Active => {
                context.state = SmMsState::ModifyPending;
                context.next_qos = qos;
                context.retry.start(now, span);
                self.send_modify(nsapi);
            }
            Some(_) | None => self.drop(Drop::SmUnexpected),
        }
    }

    fn send_modify(&mut self, nsapi: Nsapi) {
        let qos = self.contexts.get(nsapi).map(|context| context.next_qos);
        self.send(nsapi, ModifyRequestMo { sapi: None, qos, tft: None });
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
                    self.modified(nsapi);
                }
            }
            // T3390, clause 6.1.3.4.3 a (mobile): four times again, then the context is erased.
            SmMsState::InactivePending(cause) => {
                if context.retry.again(now, t3390, tries) {
                    self.send(nsapi, DeactivateRequest { cause, tear_down: None });
                } else {
                    self.drop(Drop::SmNoAnswer);
                    self.release(nsapi, cause);
                }
            }
            // No timer runs.
            SmMsState::Active => {}
        }
    }

    /// The modification has ended; what the context holds now is what counts.
    pub(super) fn modified(&mut self, nsapi: Nsapi) {
        if let Some(context) = self.contexts.get_mut(nsapi) {
            context.state = SmMsState::Active;
            context.retry.stop();
            let (qos, sapi) = (context.wanted.qos, context.wanted.sapi);
            self.out.push(SmMsAction::Modified { nsapi, qos, sapi });
        }
    }
}
