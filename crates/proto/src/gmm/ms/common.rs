//! The common procedures of the mobile: identification (clause 4.7.8), authentication (clause 4.7.7), P-TMSI
//! reallocation (clause 4.7.6).

use super::GmmMsAction;
use super::context::{GmmMsContext, GmmMsState, Service};
use crate::drops::Drop;
use crate::machine::{Batch, Context};
use gannet_wire::id::Tlli;
use gannet_wire::l3::gmm::{
    AuthenticationFailure, AuthenticationRequest, AuthenticationResponse, IdentityRequest, IdentityResponse,
    PTmsiReallocationCommand, PTmsiReallocationComplete,
};
use gannet_wire::l3::ie::{AcReference, AuthParameterResponse, GmmCause, IdentityType, MobileIdentity};

impl GmmMsContext {
    /// IDENTITY REQUEST (clause 4.7.8.2): answered whenever there is a link. What the mobile does not have it says so.
    pub(super) fn identity_request(
        &mut self,
        cx: &mut Context<'_>,
        request: &IdentityRequest,
        out: &mut Batch<GmmMsAction>,
    ) {
        match self.state {
            GmmMsState::RegisteredInitiated
            | GmmMsState::Registered
            | GmmMsState::DeregisteredInitiated
            | GmmMsState::RoutingAreaUpdatingInitiated => {}
            GmmMsState::Null | GmmMsState::Deregistered => {
                return self.unexpected(cx, "IDENTITY REQUEST", out);
            }
        }
        let identity = match request.identity_type {
            IdentityType::Imsi => MobileIdentity::Imsi(self.imsi),
            IdentityType::Imei => self.imei.map_or(MobileIdentity::None, MobileIdentity::Imei),
            IdentityType::Imeisv => MobileIdentity::None,
            IdentityType::Tmsi => self.ptmsi().map_or(MobileIdentity::None, MobileIdentity::PTmsi),
        };
        self.send(cx, IdentityResponse { identity }.into(), out);
    }

    /// AUTHENTICATION AND CIPHERING REQUEST (clause 4.7.7.2): the card answers a challenge; without a challenge the
    /// request only sets the cipher.
    pub(super) fn authentication(
        &mut self,
        cx: &mut Context<'_>,
        request: &AuthenticationRequest,
        out: &mut Batch<GmmMsAction>,
    ) {
        match self.state {
            GmmMsState::RegisteredInitiated
            | GmmMsState::Registered
            | GmmMsState::DeregisteredInitiated
            | GmmMsState::RoutingAreaUpdatingInitiated => {}
            GmmMsState::Null | GmmMsState::Deregistered => {
                return self.unexpected(cx, "AUTHENTICATION AND CIPHERING REQUEST", out);
            }
        }
        self.reference = request.reference.0;
        match request.rand {
            Some(rand) => out.push(GmmMsAction::AskSim { rand: rand.0 }),
            None => self.authentication_response(cx, None, out),
        }
    }

    /// The card has answered. Without an answer the mobile can't go on: GSM authentication unacceptable
    /// (clause 4.7.7.6 g).
    pub(super) fn sim_answer(
        &mut self,
        cx: &mut Context<'_>,
        sres: Option<[u8; 4]>,
        out: &mut Batch<GmmMsAction>,
    ) {
        if self.tlli == Tlli::UNASSIGNED {
            return self.ignored(cx, "the card's answer");
        }
        match sres {
            Some(sres) => self.authentication_response(cx, Some(sres), out),
            None => {
                let cause = GmmCause::GsmAuthenticationUnacceptable;
                self.send(cx, AuthenticationFailure { cause, auts: None }.into(), out);
            }
        }
    }

    fn authentication_response(
        &mut self,
        cx: &Context<'_>,
        sres: Option<[u8; 4]>,
        out: &mut Batch<GmmMsAction>,
    ) {
        let response = AuthenticationResponse {
            reference: AcReference(self.reference),
            response: sres.map(AuthParameterResponse),
            imeisv: None,
            extended_response: None,
        };
        self.send(cx, response.into(), out);
    }

    /// AUTHENTICATION AND CIPHERING REJECT (clause 4.7.7.5): the card is invalid until the mobile is switched off.
    pub(super) fn authentication_reject(&mut self, cx: &mut Context<'_>, out: &mut Batch<GmmMsAction>) {
        match self.state {
            GmmMsState::RegisteredInitiated
            | GmmMsState::Registered
            | GmmMsState::DeregisteredInitiated
            | GmmMsState::RoutingAreaUpdatingInitiated => {
                cx.drop(Drop::GmmAuthenticationFailed, Some(self.imsi));
                self.forget_identity();
                self.wants_attach = false;
                self.deregister(Service::NoImsi, None, out);
            }
            GmmMsState::Null | GmmMsState::Deregistered => {
                self.unexpected(cx, "AUTHENTICATION AND CIPHERING REJECT", out);
            }
        }
    }

    /// P-TMSI REALLOCATION COMMAND (clause 4.7.6.2). It gives way to a request of the mobile that is under way
    /// (clause 4.7.6.4 b and c).
    pub(super) fn reallocation(
        &mut self,
        cx: &mut Context<'_>,
        command: &PTmsiReallocationCommand,
        out: &mut Batch<GmmMsAction>,
    ) {
        match (self.state, command.allocated_ptmsi) {
            (GmmMsState::Registered, MobileIdentity::PTmsi(ptmsi)) => {
                self.take_identity(ptmsi, command.ptmsi_signature);
                self.rai = Some(command.rai);
                self.change_tlli(Tlli::local(ptmsi), out);
                self.send(cx, PTmsiReallocationComplete {}.into(), out);
            }
            (GmmMsState::Registered, _) => {
                cx.drop(Drop::GmmUnexpected, Some(self.imsi));
                self.status(cx, GmmCause::SemanticallyIncorrect, out);
            }
            (
                GmmMsState::RegisteredInitiated
                | GmmMsState::DeregisteredInitiated
                | GmmMsState::RoutingAreaUpdatingInitiated,
                _,
            ) => self.ignored(cx, "P-TMSI REALLOCATION COMMAND"),
            (GmmMsState::Null | GmmMsState::Deregistered, _) => {
                self.unexpected(cx, "P-TMSI REALLOCATION COMMAND", out);
            }
        }
    }
}
