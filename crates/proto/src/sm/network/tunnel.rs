//! What the GGSN, the operator and the clock want: deactivation and modification by the network (clauses 6.1.3.4.2 and
//! 6.1.3.3.1).

use super::activate::negotiated;
use super::context::{Mark, radio_priority};
use super::{SmAction, SmContext, SmState, Step};
use crate::sm::CONTEXTS;
use crate::sm::nsapi_of;
use gannet_machine::drops::Drop;
use gannet_wire::id::Nsapi;
use gannet_wire::l3::ie::{QosProfile, SmCause};
use gannet_wire::l3::sm::{DeactivateAccept, DeactivateRequest, ModifyRequestMt};

impl Step<'_, '_, '_> {
    pub(super) fn deleted(&mut self, nsapi: Nsapi) {
        match self.contexts.get(nsapi).map(SmContext::state) {
            // 23.060 clause 9.2.4.1: now the mobile gets its answer (clause 6.1.3.4.1).
            Some(SmState::Releasing) => {
                self.send(nsapi, DeactivateAccept {});
                self.release(nsapi, SmCause::RegularDeactivation);
            }
            // The mobile's answer is still awaited.
            Some(SmState::InactivePending(_)) => {}
            // An answer to a question that nobody asks any more.
            Some(SmState::ActivePending | SmState::Active | SmState::ModifyPending | SmState::Updating)
            | None => {
                self.drop(Drop::SmUnexpected);
            }
        }
    }

    /// The contexts of an address end together (clause 6.1.3.4.2): the mobile is told of one of them, with the tear down
    /// indicator.
    pub(super) fn tear_down(&mut self, nsapi: Nsapi, cause: SmCause, tunnel_gone: bool) {
        if let Some(context) = self.contexts.get_mut(nsapi) {
            context.mark(Mark::TearDown, true);
        }
        self.deactivate(nsapi, cause, tunnel_gone);
        self.release_sharers(nsapi, cause);
    }

    pub(super) fn deactivate(&mut self, nsapi: Nsapi, cause: SmCause, tunnel_gone: bool) {
        let state = self.contexts.get(nsapi).map(SmContext::state);
        match state {
            // The mobile has no context yet: its request is rejected (clauses 6.1.3.1.3 and 6.1.3.2.2).
            Some(SmState::ActivePending) => {
                self.reject_pending(nsapi, cause);
                if !tunnel_gone {
                    self.delete_tunnel(nsapi, false);
                }
                self.release(nsapi, cause);
            }
            // Clause 6.1.3.4.2.
            Some(SmState::Active | SmState::ModifyPending | SmState::Updating) => {
                // 23.060 clauses 9.2.4.2 and 9.2.4.3: the last context of an address takes the address down.
                let all = self.contexts.get(nsapi).is_some_and(|context| context.has(Mark::TearDown))
                    || self.is_last_of_address(nsapi);
                if !tunnel_gone {
                    self.delete_tunnel(nsapi, all);
                }
                let (now, span) = (self.cx.now, self.network.cfg.t3395);
                if let Some(context) = self.contexts.get_mut(nsapi) {
                    context.state = SmState::InactivePending(cause);
                    context.mark(Mark::TearDown, all);
                    context.retry.start(now, span);
                }
                self.send_deactivate(nsapi, cause);
                self.log(format_args!("NSAPI {nsapi}: the network deactivates, {cause}"));
            }
            // It is under way already. Where the mobile's request waits for the GGSN, which has nothing left, it gets
            // its accept.
            Some(SmState::Releasing) if tunnel_gone => self.deleted(nsapi),
            Some(SmState::Releasing | SmState::InactivePending(_)) => {}
            None => self.drop(Drop::SmUnexpected),
        }
    }

    fn reject_pending(&mut self, nsapi: Nsapi, cause: SmCause) {
        if let Some(((ti, ti_flag), secondary)) =
            self.contexts.get(nsapi).map(|context| (context.ti(), context.is_secondary()))
        {
            self.reject(ti, !ti_flag, secondary, (cause, None));
        }
    }

    fn send_deactivate(&mut self, nsapi: Nsapi, cause: SmCause) {
        let tear_down = self.contexts.get(nsapi).and_then(SmContext::tear_down);
        self.send(nsapi, DeactivateRequest { cause, tear_down });
    }

    /// Takes a tunnel down; those of the same address with it where `all` is set, or where it is the last of them
    /// (29.060 clause 7.3.5).
    pub(super) fn delete_tunnel(&mut self, nsapi: Nsapi, all: bool) {
        let tear_down = all || self.is_last_of_address(nsapi);
        self.out.push(SmAction::DeleteTunnel { nsapi, tear_down });
    }

    /// True where no other context of its address has a tunnel.
    fn is_last_of_address(&self, nsapi: Nsapi) -> bool {
        let has_tunnel = |other| self.contexts.get(other).is_some_and(SmContext::has_tunnel);
        !self.contexts.sharers(nsapi).any(has_tunnel)
    }

    /// The other contexts of an address are PDP-INACTIVE at once on both sides; their tunnels went with that of `nsapi`.
    pub(super) fn release_sharers(&mut self, nsapi: Nsapi, cause: SmCause) {
        let others: Vec<Nsapi> = self.contexts.sharers(nsapi).collect();
        for other in others {
            if self.state(other) == Some(SmState::ActivePending) {
                self.reject_pending(other, cause);
            }
            self.release(other, cause);
        }
    }

    pub(super) fn modify(&mut self, nsapi: Nsapi, qos: QosProfile) {
        let (now, span) = (self.cx.now, self.network.cfg.t3386);
        let Some(context) = self.contexts.get_mut(nsapi) else { return self.drop(Drop::SmUnexpected) };
        let qos = negotiated(&qos, &context.qos());
        match context.state {
            // The mobile may not have the answer to its own modification yet.
            SmState::Active if context.retry.is_running() => self.contexts.set_offer(nsapi, Some(qos)),
            // Clause 6.1.3.3.1. A newer profile takes the place of one that was not accepted yet.
            SmState::Active | SmState::ModifyPending => {
                context.state = SmState::ModifyPending;
                context.retry.start(now, span);
                // Until the mobile has accepted, what it has holds.
                self.contexts.set_offer(nsapi, Some(qos));
                // From now on the mobile's former request is one of its own time.
                self.contexts.set_taken(nsapi, None);
                self.send_modify(nsapi);
            }
            // The GGSN has, or will have, what the mobile asked for. A mobile that met with our request now would give its
            // own up (clause 6.1.3.3.3 b) and not know what becomes of its template: it gets its answer first.
            SmState::Updating => self.contexts.set_offer(nsapi, Some(qos)),
            SmState::ActivePending | SmState::InactivePending(_) | SmState::Releasing => {
                self.drop(Drop::SmUnexpected);
            }
        }
    }

    /// What has waited for the answer to the mobile's own modification.
    pub(super) fn modify_after_update(&mut self, nsapi: Nsapi) {
        if let Some(qos) = self.contexts.offer(nsapi) {
            self.modify(nsapi, qos);
        }
    }

    fn send_modify(&mut self, nsapi: Nsapi) {
        if let (Some(context), Some(qos)) = (self.contexts.get(nsapi).copied(), self.contexts.offer(nsapi)) {
            let request = ModifyRequestMt {
                radio_priority: radio_priority(&qos),
                sapi: context.sapi(),
                qos,
                address: None,
                packet_flow_identifier: None,
            };
            self.send(nsapi, request);
        }
    }

    pub(super) fn timer(&mut self) {
        for nsapi in (0..CONTEXTS).map(nsapi_of) {
            self.expired(nsapi);
        }
    }

    fn expired(&mut self, nsapi: Nsapi) {
        let (now, tries) = (self.cx.now, self.network.cfg.tries);
        let (t3386, t3395) = (self.network.cfg.t3386, self.network.cfg.t3395);
        let Some(context) = self.contexts.get_mut(nsapi).filter(|context| context.retry.is_due(now)) else {
            return;
        };
        let span = if context.state == SmState::ModifyPending { t3386 } else { t3395 };
        let again = context.retry.again(now, span, tries);
        match (context.state, again) {
            // T3395, clause 6.1.3.4.3 a (network side): four times again, then the context is erased.
            (SmState::InactivePending(cause), true) => {
                self.send_deactivate(nsapi, cause);
            }
            (SmState::InactivePending(cause), false) => {
                self.drop(Drop::SmNoAnswer);
                self.release(nsapi, cause);
            }
            // T3386, clause 6.1.3.3.3 a (network side): four times again, then the network may deactivate.
            (SmState::ModifyPending, true) => self.send_modify(nsapi),
            (SmState::ModifyPending, false) => {
                self.drop(Drop::SmNoAnswer);
                self.deactivate(nsapi, SmCause::NetworkFailure, false);
            }
            // The mobile has its answer: now it is asked.
            (SmState::Active, _) => {
                self.set_state(nsapi, SmState::Active);
                self.modify_after_update(nsapi);
            }
            // No timer runs in these states.
            (SmState::ActivePending | SmState::Updating | SmState::Releasing, _) => {}
        }
    }
}
