//! Messages from the network, by the state of their context.

use super::{SmMsAction, SmMsContext, SmMsState, Step, Wanted};
use crate::sm::{CONTEXTS, nsapi_of};
use gannet_machine::drops::Drop;
use gannet_wire::DecodeError;
use gannet_wire::id::{Nsapi, Sapi};
use gannet_wire::l3::ie::{QosProfile, SmCause, TearDownIndicator};
use gannet_wire::l3::sm::{
    self, ActivateAccept, ActivateSecondaryAccept, DeactivateAccept, DeactivateRequest, ModifyAcceptMo,
    ModifyAcceptMt, ModifyRequestMt, RequestActivation, RequestActivationReject, SmMessage, SmStatus,
};

/// Message types whose mandatory part has an answer of its own (clause 8.5.3, types of clause 10.4).
const REQUEST_ACTIVATION: u8 = 0x44;
const DEACTIVATE_REQUEST: u8 = 0x46;
const SM_STATUS: u8 = 0x55;

impl Step<'_, '_> {
    pub(super) fn message(&mut self, ti: u8, ti_flag: bool, message: SmMessage) {
        let known = self.contexts.by_ti(ti, ti_flag != self.cfg.sets_flag);
        match (message, known) {
            (SmMessage::RequestActivation(request), _) => self.request_activation(ti, ti_flag, &request),
            (SmMessage::SmStatus(status), Some(nsapi)) => self.status(nsapi, status.cause),
            // Clause 8.3.2 b leaves SM STATUS out.
            (SmMessage::SmStatus(_), None) => self.drop(Drop::SmStatusReceived),
            (SmMessage::ActivateAccept(accept), Some(nsapi)) => self.activate_accept(nsapi, accept),
            (SmMessage::ActivateReject(reject), Some(nsapi)) => self.activate_reject(nsapi, reject.cause),
            (SmMessage::DeactivateRequest(request), Some(nsapi)) => self.deactivate_request(nsapi, &request),
            (SmMessage::DeactivateAccept(_), Some(nsapi)) => self.deactivate_accept(nsapi),
            (SmMessage::ModifyRequestMt(request), Some(nsapi)) => self.modify_request(nsapi, &request),
            (SmMessage::ModifyAcceptMt(accept), Some(nsapi)) => self.modify_accept(nsapi, &accept),
            (SmMessage::ModifyReject(_), Some(nsapi)) => self.modify_reject(nsapi),
            (SmMessage::ActivateSecondaryAccept(accept), Some(nsapi)) => {
                self.secondary_accept(nsapi, &accept)
            }
            (SmMessage::ActivateSecondaryReject(reject), Some(nsapi)) => {
                self.secondary_reject(nsapi, reject.cause)
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

    fn is_secondary(&self, nsapi: Nsapi) -> bool {
        self.contexts.get(nsapi).is_some_and(SmMsContext::is_secondary)
    }

    /// The network wants a context (clause 6.1.3.1.2); a mobile that does not follow rejects (clause 6.1.3.1.4).
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
        if self.cfg.follows_requests && !is_activating && self.follow(request) {
            return;
        }
        let lacks_room = is_activating || self.cfg.follows_requests;
        let cause = if lacks_room { SmCause::InsufficientResources } else { SmCause::FeatureNotSupported };
        self.drop(Drop::SmRejected);
        self.answer(ti, ti_flag, RequestActivationReject { cause });
    }

    /// Activates what the network asks for, in the first NSAPI that is free; false where there is none.
    fn follow(&mut self, request: &RequestActivation) -> bool {
        // Clause 6.1.3.1.5 d: a context that the mobile has with this address and access point, and those linked to it,
        // end without a word.
        let is_meant = |context: &SmMsContext| {
            let wanted = &context.wanted;
            wanted.address == request.address && (request.apn.is_none() || wanted.apn == request.apn)
        };
        let old: Vec<Nsapi> =
            self.contexts.iter().filter(|(_, context)| is_meant(context)).map(|(nsapi, _)| nsapi).collect();
        for nsapi in old {
            self.release(nsapi, SmCause::ReactivationRequired);
        }
        let mut places = (0..CONTEXTS).map(nsapi_of);
        let Some(nsapi) = places.find(|nsapi| self.contexts.get(*nsapi).is_none()) else { return false };
        let wanted = Wanted {
            sapi: Sapi::DATA3,
            qos: QosProfile::default(),
            address: request.address,
            apn: request.apn.clone(),
            pco: None,
        };
        self.out.push(SmMsAction::Requested { nsapi, wanted: wanted.clone() });
        self.activate(nsapi, wanted);
        true
    }

    fn secondary_accept(&mut self, nsapi: Nsapi, accept: &ActivateSecondaryAccept) {
        match self.contexts.get_mut(nsapi) {
            // Clause 6.1.3.2.1.
            Some(context) if context.is_secondary() && context.state == SmMsState::ActivePending => {
                context.state = SmMsState::Active;
                context.retry.stop();
                context.apply_tft();
                context.wanted.sapi = accept.sapi;
                context.wanted.qos = accept.qos;
                let address = context.wanted.address;
                // Clause 8.7.2: there must be a SAPI.
                if accept.sapi == Sapi(0) {
                    return self.deactivate(nsapi, SmCause::ConditionalIeError);
                }
                self.out.push(SmMsAction::Active {
                    nsapi,
                    sapi: accept.sapi,
                    qos: accept.qos,
                    address,
                    radio_priority: accept.radio_priority,
                    pco: None,
                    cause: None,
                });
            }
            Some(_) => self.accepted_late(nsapi),
            None => {}
        }
    }

    /// The network accepts what the mobile has given up meanwhile, or never asked for.
    fn accepted_late(&mut self, nsapi: Nsapi) {
        match self.state(nsapi) {
            // It is told again, since it may have had the mobile's request before it had the context.
            Some(SmMsState::InactivePending(cause)) => {
                self.drop(Drop::SmIgnored);
                self.send_deactivate(nsapi, cause);
            }
            Some(SmMsState::ActivePending | SmMsState::Active | SmMsState::ModifyPending) => {
                self.unexpected(nsapi);
            }
            None => {}
        }
    }

    fn secondary_reject(&mut self, nsapi: Nsapi, cause: SmCause) {
        if self.is_secondary(nsapi) {
            self.rejected(nsapi, cause);
        } else {
            self.unexpected(nsapi);
        }
    }

    fn activate_accept(&mut self, nsapi: Nsapi, accept: ActivateAccept) {
        let Some(context) = self.contexts.get_mut(nsapi) else { return };
        match context.state {
            // Clause 6.1.3.1.1.
            SmMsState::ActivePending if !context.is_secondary() => {
                context.state = SmMsState::Active;
                context.retry.stop();
                context.wanted.sapi = accept.sapi;
                context.wanted.qos = accept.qos;
                let asked = context.wanted.address;
                context.wanted.address = accept.address.unwrap_or(asked);
                let address = context.wanted.address;
                // Elsewhere it says nothing.
                let cause = accept.cause.filter(|_| asked.is_dual() && !address.is_dual());
                // Clause 8.7.2: the address is there where the mobile did not say one.
                if address.is_dynamic() || accept.sapi == Sapi(0) {
                    return self.deactivate(nsapi, SmCause::ConditionalIeError);
                }
                self.out.push(SmMsAction::Active {
                    nsapi,
                    sapi: accept.sapi,
                    qos: accept.qos,
                    address,
                    radio_priority: accept.radio_priority,
                    pco: accept.pco,
                    cause,
                });
            }
            SmMsState::ActivePending
            | SmMsState::InactivePending(_)
            | SmMsState::Active
            | SmMsState::ModifyPending => self.accepted_late(nsapi),
        }
    }

    fn activate_reject(&mut self, nsapi: Nsapi, cause: SmCause) {
        if self.is_secondary(nsapi) {
            self.unexpected(nsapi);
        } else {
            self.rejected(nsapi, cause);
        }
    }

    fn rejected(&mut self, nsapi: Nsapi, cause: SmCause) {
        match self.state(nsapi) {
            // Clauses 6.1.3.1.3 and 6.1.3.2.2.
            Some(SmMsState::ActivePending) => self.fail(nsapi, Some(cause)),
            // There is nothing left to deactivate.
            Some(SmMsState::InactivePending(_)) => self.release(nsapi, cause),
            Some(SmMsState::Active | SmMsState::ModifyPending) => self.unexpected(nsapi),
            None => {}
        }
    }

    fn deactivate_request(&mut self, nsapi: Nsapi, request: &DeactivateRequest) {
        let cause = request.cause;
        // Clause 6.1.3.4.2, and 6.1.3.4.3 b for the collision with the mobile's own request: in every state the mobile
        // accepts, and stops what runs.
        self.send(nsapi, DeactivateAccept {});
        if request.tear_down == Some(TearDownIndicator::AllOfAddress) {
            self.release_sharers(nsapi, cause);
        }
        self.end_one(nsapi, cause);
    }

    /// A context ends by the network's word. Where it was to take the others of its address along, these are still to go: the
    /// network may have had nothing of that yet, so it is told with the next of them.
    fn end_one(&mut self, nsapi: Nsapi, cause: SmCause) {
        let own = match self.contexts.get(nsapi) {
            Some(context) if context.tear_down => match context.state {
                SmMsState::InactivePending(own) => Some(own),
                SmMsState::ActivePending | SmMsState::Active | SmMsState::ModifyPending => None,
            },
            Some(_) | None => None,
        };
        let is_asked = |other: &Nsapi| matches!(self.state(*other), Some(SmMsState::InactivePending(_)));
        let sharers: Vec<Nsapi> = self.contexts.sharers(nsapi).collect();
        let next = sharers.iter().find(|other| !is_asked(other)).or(sharers.first()).copied();
        self.release(nsapi, cause);
        if let (Some(own), Some(next)) = (own, next) {
            self.tear_down(next, own);
        }
    }

    fn deactivate_accept(&mut self, nsapi: Nsapi) {
        match self.state(nsapi) {
            // Clause 6.1.3.4.1.
            Some(SmMsState::InactivePending(cause)) => self.deactivated(nsapi, cause),
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
                self.modified(nsapi, Some(request.radio_priority));
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
                    context.apply_tft();
                    let asked = context.change.qos.unwrap_or(context.wanted.qos);
                    context.wanted.qos = accept.qos.unwrap_or(asked);
                    context.wanted.sapi = accept.sapi.unwrap_or(context.wanted.sapi);
                }
                self.modified(nsapi, accept.radio_priority);
            }
            Some(SmMsState::InactivePending(_)) => self.drop(Drop::SmIgnored),
            Some(SmMsState::ActivePending | SmMsState::Active) => self.unexpected(nsapi),
            None => {}
        }
    }

    fn modify_reject(&mut self, nsapi: Nsapi) {
        match self.state(nsapi) {
            // Clause 6.1.3.3.2: the context goes on as it was.
            Some(SmMsState::ModifyPending) => self.modified(nsapi, None),
            Some(SmMsState::InactivePending(_)) => self.drop(Drop::SmIgnored),
            Some(SmMsState::ActivePending | SmMsState::Active) => self.unexpected(nsapi),
            None => {}
        }
    }

    /// Clause 6.1.3.6: cause 81 ends procedure and context, 97 ends the procedure, others change nothing.
    fn status(&mut self, nsapi: Nsapi, cause: SmCause) {
        self.drop(Drop::SmStatusReceived);
        match (cause, self.state(nsapi)) {
            (SmCause::InvalidTi, Some(_)) => self.end_one(nsapi, cause),
            (SmCause::MessageTypeNonExistent, Some(SmMsState::ActivePending)) => {
                self.fail(nsapi, Some(cause))
            }
            (SmCause::MessageTypeNonExistent, Some(SmMsState::ModifyPending)) => self.modified(nsapi, None),
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
