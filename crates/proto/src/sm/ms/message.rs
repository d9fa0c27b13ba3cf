//! Messages from the network, by the state of their context.

use super::{SmMsAction, SmMsContext, SmMsState, Step};
use crate::drops::Drop;
use gannet_wire::DecodeError;
use gannet_wire::id::{Nsapi, Sapi};
use gannet_wire::l3::ie::{PdpAddress, SmCause};
use gannet_wire::l3::sm::{
    self, ActivateAccept, DeactivateAccept, DeactivateRequest, ModifyAcceptMo, ModifyAcceptMt,
    ModifyRequestMt, RequestActivation, RequestActivationReject, SmMessage, SmStatus,
};

/// Message types whose mandatory part has an answer of its own (clause 8.5.3, types of clause 10.4).
const REQUEST_ACTIVATION: u8 = 0x44;
const DEACTIVATE_REQUEST: u8 = 0x46;
const SM_STATUS: u8 = 0x55;

impl Step<'_, '_> {
    pub(super) fn message(&mut self, ti: u8, ti_flag: bool, message: SmMessage) {
        let known = self.contexts.by_ti(ti, ti_flag);
        match (message, known) {
            (SmMessage::RequestActivation(request), _) => self.request_activation(ti, ti_flag, &request),
            (SmMessage::SmStatus(status), Some(nsapi)) => self.status(nsapi, status.cause),
            // Clause 8.3.2 b leaves SM STATUS out.
            (SmMessage::SmStatus(_), None) => self.drop(Drop::SmStatusReceived),
            (SmMessage::ActivateAccept(accept), Some(nsapi)) => self.activate_accept(nsapi, accept),
            (SmMessage::ActivateReject(reject), Some(nsapi)) => self.activate_reject(nsapi, reject.cause),
            (SmMessage::DeactivateRequest(request), Some(nsapi)) => {
                self.deactivate_request(nsapi, request.cause)
            }
            (SmMessage::DeactivateAccept(_), Some(nsapi)) => self.deactivate_accept(nsapi),
            (SmMessage::ModifyRequestMt(request), Some(nsapi)) => self.modify_request(nsapi, &request),
            (SmMessage::ModifyAcceptMt(accept), Some(nsapi)) => self.modify_accept(nsapi, &accept),
            (SmMessage::ModifyReject(_), Some(nsapi)) => self.modify_reject(nsapi),
            // No secondary context was asked for.
            (SmMessage::ActivateSecondaryAccept(_) | SmMessage::ActivateSecondaryReject(_), Some(nsapi)) => {
                self.unexpected(nsapi);
            }
            // Clause 8.3.2 b.
            (
                SmMessage::ActivateAccept(_)
                | SmMessage::ActivateReject(_)
                | SmMessage::DeactivateRequest(_)
                | SmMessage::DeactivateAccept(_)
                | SmMessage::ModifyRequestMt(_)
                | SmMessage::ModifyAcceptMt(_)
                | SmMessage::ModifyReject(_)
                | SmMessage::ActivateSecondaryAccept(_)
                | SmMessage::ActivateSecondaryReject(_),
                None,
            ) => {
                self.drop(Drop::SmUnknownTi);
                self.answer(ti, ti_flag, SmStatus { cause: SmCause::InvalidTi });
            }
            // Messages of the mobile: the codec gives none of them for a downlink message (clause 8.4).
            (
                SmMessage::ActivateRequest(_)
                | SmMessage::ActivateSecondaryRequest(_)
                | SmMessage::RequestActivationReject(_)
                | SmMessage::ModifyRequestMo(_)
                | SmMessage::ModifyAcceptMo(_),
                _,
            ) => self.drop(Drop::SmUnexpected),
        }
    }

    /// Clause 8.4: a message that does not fit the state is answered with cause 98.
    fn unexpected(&mut self, nsapi: Nsapi) {
        self.drop(Drop::SmUnexpected);
        self.send(nsapi, SmStatus { cause: SmCause::MessageTypeIncompatible });
    }

    fn state(&self, nsapi: Nsapi) -> Option<SmMsState> {
        self.contexts.get(nsapi).map(SmMsContext::state)
    }

    /// Activation requested by the network is not supported (clause 6.1.3.1.4).
    fn request_activation(&mut self, ti: u8, ti_flag: bool, request: &RequestActivation) {
        // Clause 8.3.2: the network allocates this identifier, so its flag is 0.
        if ti_flag {
            return self.drop(Drop::SmIgnored);
        }
        let activating = |context: &SmMsContext| context.state == SmMsState::ActivePending;
        let is_activating = self.contexts.iter().any(|(_, context)| activating(context));
        let is_same = self
            .contexts
            .iter()
            .any(|(_, context)| activating(context) && context.address() == request.address);
        // Clause 6.1.3.1.5 b, collision: with the same static address the mobile waits for the network's answer to its
        // own request; where it can't compare it rejects for want of resources.
        if is_same {
            return self.drop(Drop::SmIgnored);
        }
        let cause = if is_activating { SmCause::InsufficientResources } else { SmCause::FeatureNotSupported };
        self.drop(Drop::SmRejected);
        self.answer(ti, ti_flag, RequestActivationReject { cause });
    }

    fn activate_accept(&mut self, nsapi: Nsapi, accept: ActivateAccept) {
        let Some(context) = self.contexts.get_mut(nsapi) else { return };
        match context.state {
            // Clause 6.1.3.1.1.
            SmMsState::ActivePending => {
                context.state = SmMsState::Active;
                context.retry.stop();
                context.wanted.sapi = accept.sapi;
                context.wanted.qos = accept.qos;
                context.wanted.address = accept.address.unwrap_or(context.wanted.address);
                let address = context.wanted.address;
                // Clause 8.7.2: the address is there where the mobile did not say one.
                if matches!(address, PdpAddress::Ipv4Dynamic | PdpAddress::Ipv6Dynamic)
                    || accept.sapi == Sapi(0)
                {
                    return self.deactivate(nsapi, SmCause::ConditionalIeError);
                }
                self.out.push(SmMsAction::Active {
                    nsapi,
                    sapi: accept.sapi,
                    qos: accept.qos,
                    address,
                    radio_priority: accept.radio_priority,
                    pco: accept.pco,
                });
            }
            // The network accepts what the mobile has given up meanwhile. It is told again, since it may have had the
            // mobile's request before it had the context.
            SmMsState::InactivePending(cause) => {
                self.drop(Drop::SmIgnored);
                self.send(nsapi, DeactivateRequest { cause, tear_down: None });
            }
            SmMsState::Active | SmMsState::ModifyPending => self.unexpected(nsapi),
        }
    }

    fn activate_reject(&mut self, nsapi: Nsapi, cause: SmCause) {
        match self.state(nsapi) {
            // Clause 6.1.3.1.3.
            Some(SmMsState::ActivePending) => self.fail(nsapi, Some(cause)),
            // There is nothing left to deactivate.
            Some(SmMsState::InactivePending(_)) => self.release(nsapi, cause),
            Some(SmMsState::Active | SmMsState::ModifyPending) => self.unexpected(nsapi),
            None => {}
        }
    }

    fn deactivate_request(&mut self, nsapi: Nsapi, cause: SmCause) {
        // Clause 6.1.3.4.2, and 6.1.3.4.3 b for the collision with the mobile's own request: in every state the mobile
        // accepts, and stops what runs.
        self.send(nsapi, DeactivateAccept {});
        self.release(nsapi, cause);
    }

    fn deactivate_accept(&mut self, nsapi: Nsapi) {
        match self.state(nsapi) {
            // Clause 6.1.3.4.1.
            Some(SmMsState::InactivePending(cause)) => self.release(nsapi, cause),
            Some(SmMsState::ActivePending | SmMsState::Active | SmMsState::ModifyPending) => {
                self.unexpected(nsapi)
            }
            None => {}
        }
    }

    fn modify_request(&mut self, nsapi: Nsapi, request: &ModifyRequestMt) {
        match self.state(nsapi) {
            // Clause 6.1.3.3.1; and 6.1.3.3.3 b, collision: the mobile gives up its own modification.
            Some(SmMsState::Active | SmMsState::ModifyPending) => {
                if let Some(context) = self.contexts.get_mut(nsapi) {
                    context.wanted.qos = request.qos;
                    context.wanted.sapi = request.sapi;
                    context.wanted.address = request.address.unwrap_or(context.wanted.address);
                }
                self.send(nsapi, ModifyAcceptMo {});
                self.modified(nsapi);
            }
            // The mobile's own deactivation goes on (clause 6.1.3.3.3 c).
            Some(SmMsState::InactivePending(_)) => self.drop(Drop::SmIgnored),
            Some(SmMsState::ActivePending) => self.unexpected(nsapi),
            None => {}
        }
    }

    fn modify_accept(&mut self, nsapi: Nsapi, accept: &ModifyAcceptMt) {
        match self.state(nsapi) {
            // Clause 6.1.3.3.2.
            Some(SmMsState::ModifyPending) => {
                if let Some(context) = self.contexts.get_mut(nsapi) {
                    context.wanted.qos = accept.qos.unwrap_or(context.next_qos);
                    context.wanted.sapi = accept.sapi.unwrap_or(context.wanted.sapi);
                }
                self.modified(nsapi);
            }
            Some(SmMsState::InactivePending(_)) => self.drop(Drop::SmIgnored),
            Some(SmMsState::ActivePending | SmMsState::Active) => self.unexpected(nsapi),
            None => {}
        }
    }

    fn modify_reject(&mut self, nsapi: Nsapi) {
        match self.state(nsapi) {
            // Clause 6.1.3.3.2: the context goes on as it was.
            Some(SmMsState::ModifyPending) => self.modified(nsapi),
            Some(SmMsState::InactivePending(_)) => self.drop(Drop::SmIgnored),
            Some(SmMsState::ActivePending | SmMsState::Active) => self.unexpected(nsapi),
            None => {}
        }
    }

    /// Clause 6.1.3.6: cause 81 ends procedure and context, 97 ends the procedure, others change nothing.
    fn status(&mut self, nsapi: Nsapi, cause: SmCause) {
        self.drop(Drop::SmStatusReceived);
        match (cause, self.state(nsapi)) {
            (SmCause::InvalidTi, Some(_)) => self.release(nsapi, cause),
            (SmCause::MessageTypeNonExistent, Some(SmMsState::ActivePending)) => {
                self.fail(nsapi, Some(cause))
            }
            (SmCause::MessageTypeNonExistent, Some(SmMsState::ModifyPending)) => self.modified(nsapi),
            (SmCause::MessageTypeNonExistent, Some(SmMsState::InactivePending(_))) => {
                self.release(nsapi, cause)
            }
            (_, _) => {}
        }
    }

    pub(super) fn decode_failed(&mut self, ti: u8, ti_flag: bool, message_type: u8, error: &DecodeError) {
        self.drop(Drop::SmMalformed);
        let Some(cause) = sm::cause(error) else { return };
        match (message_type, cause) {
            // Clause 8.5.3 b: it is carried out all the same.
            (DEACTIVATE_REQUEST, SmCause::InvalidMandatoryInformation) => {
                let request = DeactivateRequest { cause, tear_down: None };
                self.message(ti, ti_flag, SmMessage::DeactivateRequest(request));
            }
            // Clause 8.5.3 a.
            (REQUEST_ACTIVATION, SmCause::InvalidMandatoryInformation) => {
                self.answer(ti, ti_flag, RequestActivationReject { cause });
            }
            // A status is never answered with a status.
            (SM_STATUS, _) => {}
            // Clauses 8.4 and 8.5.3 c.
            _ => self.answer(ti, ti_flag, SmStatus { cause }),
        }
    }
}
