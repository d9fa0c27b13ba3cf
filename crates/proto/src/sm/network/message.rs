//! Messages from the mobile, by the state of their context.

use super::{SmAction, SmContext, SmState, Step};
use gannet_machine::drops::Drop;
use gannet_wire::id::Nsapi;
use gannet_wire::l3::ie::{SmCause, TearDownIndicator};
use gannet_wire::l3::sm::{DeactivateAccept, DeactivateRequest, SmMessage, SmStatus};

impl Step<'_, '_, '_> {
    pub(super) fn message(&mut self, ti: u8, ti_flag: bool, message: SmMessage) {
        let known = self.contexts.by_ti(ti, ti_flag);
        match (message, known) {
            (SmMessage::ActivateRequest(request), _) => self.activate(ti, ti_flag, request),
            (SmMessage::ActivateSecondaryRequest(request), _) => {
                self.activate_secondary(ti, ti_flag, request)
            }
            (SmMessage::SmStatus(status), Some(nsapi)) => self.status(nsapi, status.cause),
            // Clause 8.3.2 a leaves SM STATUS out: two sides that don't know a context would answer each other for ever.
            (SmMessage::SmStatus(_), None) => self.drop(Drop::SmStatusReceived),
            (SmMessage::DeactivateRequest(request), Some(nsapi)) => self.deactivate_request(nsapi, &request),
            (SmMessage::DeactivateAccept(_), Some(nsapi)) => self.deactivate_accept(nsapi),
            (SmMessage::ModifyRequestMo(request), Some(nsapi)) => self.modify_request(nsapi, request),
            (SmMessage::ModifyAcceptMo(_), Some(nsapi)) => self.modify_accept(nsapi),
            // Only a context that the network requested could be rejected by the mobile, and there is none.
            (SmMessage::RequestActivationReject(_), Some(_)) => self.drop(Drop::SmUnexpected),
            (
                SmMessage::DeactivateRequest(_)
                | SmMessage::DeactivateAccept(_)
                | SmMessage::ModifyRequestMo(_)
                | SmMessage::ModifyAcceptMo(_)
                | SmMessage::RequestActivationReject(_),
                None,
            ) => self.unknown_ti(ti, ti_flag),
            // Messages of the network: the codec gives none of them for an uplink message (clause 8.4).
            (
                SmMessage::ActivateAccept(_)
                | SmMessage::ActivateReject(_)
                | SmMessage::RequestActivation(_)
                | SmMessage::ModifyRequestMt(_)
                | SmMessage::ModifyAcceptMt(_)
                | SmMessage::ModifyReject(_)
                | SmMessage::ActivateSecondaryAccept(_)
                | SmMessage::ActivateSecondaryReject(_),
                _,
            ) => self.drop(Drop::SmUnexpected),
        }
    }

    /// Clause 8.3.2 a.
    pub(super) fn unknown_ti(&mut self, ti: u8, ti_flag: bool) {
        self.drop(Drop::SmUnknownTi);
        self.answer(ti, ti_flag, SmStatus { cause: SmCause::InvalidTi });
    }

    pub(super) fn state(&self, nsapi: Nsapi) -> Option<SmState> {
        self.contexts.get(nsapi).map(SmContext::state)
    }

    pub(super) fn set_state(&mut self, nsapi: Nsapi, state: SmState) {
        if let Some(context) = self.contexts.get_mut(nsapi) {
            context.state = state;
            context.retry.stop();
        }
    }

    fn deactivate_request(&mut self, nsapi: Nsapi, request: &DeactivateRequest) {
        match self.state(nsapi) {
            // Clause 6.1.3.4.1. The answer waits for the GGSN (23.060 clause 9.2.4.1).
            Some(SmState::ActivePending | SmState::Active | SmState::ModifyPending | SmState::Updating) => {
                self.log(format_args!("NSAPI {nsapi}: the mobile deactivates, {}", request.cause));
                self.set_state(nsapi, SmState::Releasing);
                let all = request.tear_down == Some(TearDownIndicator::AllOfAddress);
                self.delete_tunnel(nsapi, all);
                if all {
                    self.release_sharers(nsapi, request.cause);
                }
            }
            // Clause 6.1.3.4.3 b, collision: each side accepts and stops its timer. The tunnel is gone already, not so those
            // of others of the address that the mobile means as well.
            Some(SmState::InactivePending(_)) => {
                self.send(nsapi, DeactivateAccept {});
                if request.tear_down == Some(TearDownIndicator::AllOfAddress) {
                    let has_tunnel =
                        |other: &Nsapi| self.contexts.get(*other).is_some_and(SmContext::has_tunnel);
                    let other = self.contexts.sharers(nsapi).find(has_tunnel);
                    if let Some(other) = other {
                        self.delete_tunnel(other, true);
                    }
                    self.release_sharers(nsapi, request.cause);
                }
                self.release(nsapi, request.cause);
            }
            // T3390 expired in the mobile (clause 6.1.3.4.3 a); the answer is on its way.
            Some(SmState::Releasing) => self.drop(Drop::SmRepeated),
            None => {}
        }
    }

    fn deactivate_accept(&mut self, nsapi: Nsapi) {
        match self.state(nsapi) {
            // Clause 6.1.3.4.2.
            Some(SmState::InactivePending(cause)) => self.release(nsapi, cause),
            // Clause 8.4: what does not fit the state is the network's own choice.
            Some(
                SmState::ActivePending
                | SmState::Active
                | SmState::ModifyPending
                | SmState::Updating
                | SmState::Releasing,
            ) => self.drop(Drop::SmUnexpected),
            None => {}
        }
    }

    fn modify_accept(&mut self, nsapi: Nsapi) {
        match self.state(nsapi) {
            // Clause 6.1.3.3.1.
            Some(SmState::ModifyPending) => {
                self.set_state(nsapi, SmState::Active);
                if let Some(qos) = self.contexts.offer(nsapi) {
                    self.contexts.set_offer(nsapi, None);
                    if let Some(context) = self.contexts.get_mut(nsapi) {
                        context.qos = qos.pack();
                    }
                    self.out.push(SmAction::Modified { nsapi, qos });
                }
            }
            // Clause 8.4.
            Some(
                SmState::ActivePending
                | SmState::Active
                | SmState::Updating
                | SmState::InactivePending(_)
                | SmState::Releasing,
            ) => self.drop(Drop::SmUnexpected),
            None => {}
        }
    }

    /// Clause 6.1.3.6: cause 81 ends procedure and context, 97 ends the procedure, others change nothing.
    fn status(&mut self, nsapi: Nsapi, cause: SmCause) {
        self.drop(Drop::SmStatusReceived);
        match (cause, self.state(nsapi)) {
            (SmCause::InvalidTi, Some(_)) => self.forget(nsapi, cause),
            (SmCause::MessageTypeNonExistent, Some(SmState::ModifyPending)) => {
                self.set_state(nsapi, SmState::Active);
                self.contexts.set_offer(nsapi, None);
                self.out.push(SmAction::NotModified { nsapi });
            }
            (SmCause::MessageTypeNonExistent, Some(SmState::InactivePending(_))) => {
                self.release(nsapi, cause)
            }
            (_, _) => {}
        }
    }
}
