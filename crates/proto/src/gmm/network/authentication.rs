//! Authentication and ciphering (clause 4.7.7), between the mobile and the authentication service.
//!
//! A mobile that can't be authenticated, and that was known by its P-TMSI only, is asked for its IMSI first: the P-TMSI
//! may be another one's (clauses 4.7.7.5 and 4.7.7.6 f). One that is out of step gets another challenge once
//! (clause 4.7.7.6 g). After that it is rejected.

use super::context::{Authentication, Procedure, Waiting};
use super::{GmmAction, GmmConfig, GmmContext};
use crate::about::About as _;
use crate::auth::{AuthDecision, AuthFailure, AuthQuestion, AuthTicket, Challenge, Claim, Res};
use gannet_machine::drops::Drop;
use gannet_machine::trace::Level;
use gannet_machine::{Batch, Context};
use gannet_wire::id::Imsi;
use gannet_wire::l3::gmm::{
    AuthenticationFailure, AuthenticationReject, AuthenticationRequest, AuthenticationResponse,
};
use gannet_wire::l3::ie::{
    AcReference, Autn, CipheringAlgorithm, Cksn, DetachTypeMt, ForceToStandby, GmmCause, IdentityType,
    ImeisvRequest, Rand,
};

impl GmmContext {
    /// The subscriber is known: may it be served?
    pub(super) fn ask_subscriber(&mut self, imsi: Imsi, out: &mut Batch<GmmAction>) {
        let said = self.rest.said.as_ref().filter(|_| self.rest.procedure == Procedure::Update);
        let said = said.and_then(|said| said.capability);
        let capability = said.unwrap_or(self.rest.capability);
        let claim = Claim {
            cksn: (self.rest.cksn != Cksn::NO_KEY && !self.rest.orders.want_a_challenge())
                .then_some(self.rest.cksn.0),
            umts: capability.revision_r99(),
            capability,
        };
        self.ask_auth(imsi, AuthQuestion::Subscriber(claim), out);
    }

    fn ask_auth(&mut self, imsi: Imsi, question: AuthQuestion, out: &mut Batch<GmmAction>) {
        self.pause(Waiting::AuthService);
        self.rest.ticket = AuthTicket(self.rest.ticket.0.wrapping_add(1));
        out.push(GmmAction::AskAuth { imsi, question, ticket: self.rest.ticket });
    }

    /// The authentication service has answered.
    pub(super) fn auth_answer(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmConfig,
        ticket: AuthTicket,
        decision: AuthDecision,
        out: &mut Batch<GmmAction>,
    ) {
        if ticket != self.rest.ticket {
            return self.ignored(cx, "an answer of the authentication service to an earlier question");
        }
        match (self.rest.waiting, decision) {
            (_, AuthDecision::Pending) => {}
            (Waiting::AuthService, AuthDecision::Accept) => {
                if self.rest.auth.answered {
                    out.push(GmmAction::Authenticated);
                }
                self.authenticated(cx, cfg, out);
            }
            // Nothing of the mobile waits for a rejection. A service that fails says nothing about the mobile, which stays
            // what it is; one that refuses it ends it (clause 4.7.4.2.1).
            (Waiting::AuthService, AuthDecision::Reject(GmmCause::NetworkFailure))
                if self.rest.procedure == Procedure::None =>
            {
                let why = GmmCause::NetworkFailure;
                self.say(cx, Level::Notice, format_args!("the mobile is not authenticated anew: {why}"));
                self.settle();
            }
            (Waiting::AuthService, AuthDecision::Reject(cause)) if self.rest.procedure == Procedure::None => {
                self.operator_detach(cx, cfg, DetachTypeMt::ReattachNotRequired, Some(cause), out);
            }
            (Waiting::AuthService, AuthDecision::Reject(cause)) => self.reject(cx, cause, out),
            (Waiting::AuthService, AuthDecision::Mismatch) => self.not_authentic(cx, cfg, out),
            (Waiting::AuthService | Waiting::Authentication, AuthDecision::Challenge(challenge)) => {
                self.challenge(cx, cfg, &challenge, out);
            }
            (Waiting::AuthService | Waiting::Authentication, AuthDecision::SetCipher { algorithm }) => {
                self.set_cipher(cx, cfg, algorithm, out);
            }
            // The mobile answered, began anew or detached while the service was busy: its answer comes too late.
            (
                Waiting::Nothing
                | Waiting::Ptmsi
                | Waiting::IdentityImsi
                | Waiting::IdentityImei
                | Waiting::Authentication
                | Waiting::AttachComplete
                | Waiting::UpdateComplete
                | Waiting::ReallocationComplete
                | Waiting::DetachAccept
                | Waiting::NewPtmsi,
                AuthDecision::Accept
                | AuthDecision::Reject(_)
                | AuthDecision::Mismatch
                | AuthDecision::Challenge(_)
                | AuthDecision::SetCipher { .. },
            ) => self.ignored(cx, "an answer of the authentication service"),
        }
    }

    /// AUTHENTICATION AND CIPHERING REQUEST with a challenge (clause 4.7.7.1). The service keeps it, and is asked for it
    /// again when T3360 expires.
    fn challenge(
        &mut self,
        cx: &Context<'_>,
        cfg: &GmmConfig,
        challenge: &Challenge,
        out: &mut Batch<GmmAction>,
    ) {
        let request = AuthenticationRequest {
            rand: Some(Rand(challenge.rand)),
            cksn: Some(Cksn(challenge.cksn)),
            autn: challenge.autn.map(Autn),
            ..self.plain_request(challenge.algorithm)
        };
        (self.rest.auth.cipher_only, self.rest.auth.answered) = (false, false);
        self.send_request(cx, cfg, request, out);
    }

    /// The same without: mobile and network have the key, and the mobile is to use it (clause 4.7.7.1).
    fn set_cipher(&mut self, cx: &Context<'_>, cfg: &GmmConfig, algorithm: u8, out: &mut Batch<GmmAction>) {
        (self.rest.auth.cipher_only, self.rest.auth.answered) = (true, false);
        let request = self.plain_request(algorithm);
        self.send_request(cx, cfg, request, out);
    }

    fn plain_request(&self, algorithm: u8) -> AuthenticationRequest {
        AuthenticationRequest {
            ciphering: CipheringAlgorithm(algorithm),
            imeisv_request: ImeisvRequest::NotRequested,
            force_to_standby: ForceToStandby::NotIndicated,
            reference: self.reference(),
            rand: None,
            cksn: None,
            autn: None,
        }
    }

    /// The A&C reference number, by which a response shows to which request it belongs (clause 10.5.5.19).
    const fn reference(&self) -> AcReference {
        AcReference(self.rest.ticket.0 & 0x0f)
    }

    fn send_request(
        &mut self,
        cx: &Context<'_>,
        cfg: &GmmConfig,
        request: AuthenticationRequest,
        out: &mut Batch<GmmAction>,
    ) {
        match self.rest.waiting {
            Waiting::Authentication => self.again(cx, cfg, Waiting::Authentication),
            _ => self.wait(cx, cfg, Waiting::Authentication),
        }
        self.send(request.into(), out);
    }

    /// AUTHENTICATION AND CIPHERING RESPONSE (clause 4.7.7.3): T3360 stops, the service compares.
    pub(super) fn authentication_response(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmConfig,
        response: &AuthenticationResponse,
        out: &mut Batch<GmmAction>,
    ) {
        match (self.rest.waiting, self.imsi) {
            (Waiting::Authentication, Some(_)) if response.reference != self.reference() => {
                self.ignored(cx, "a response to an earlier AUTHENTICATION AND CIPHERING REQUEST");
            }
            (Waiting::Authentication, Some(_)) if self.rest.auth.cipher_only => {
                out.push(GmmAction::Authenticated);
                self.authenticated(cx, cfg, out);
            }
            (Waiting::Authentication, Some(imsi)) => {
                self.rest.auth.answered = true;
                self.ask_auth(imsi, AuthQuestion::Answer(res(response)), out);
            }
            (Waiting::Authentication, None)
            | (
                Waiting::Nothing
                | Waiting::AuthService
                | Waiting::Ptmsi
                | Waiting::IdentityImsi
                | Waiting::IdentityImei
                | Waiting::AttachComplete
                | Waiting::UpdateComplete
                | Waiting::ReallocationComplete
                | Waiting::DetachAccept
                | Waiting::NewPtmsi,
                _,
            ) => self.unexpected(cx, "AUTHENTICATION AND CIPHERING RESPONSE", out),
        }
    }

    /// AUTHENTICATION AND CIPHERING FAILURE (clause 4.7.7.6 f and g).
    pub(super) fn authentication_failure(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmConfig,
        failure: &AuthenticationFailure,
        out: &mut Batch<GmmAction>,
    ) {
        let (Waiting::Authentication, Some(imsi)) = (self.rest.waiting, self.imsi) else {
            return self.unexpected(cx, "AUTHENTICATION AND CIPHERING FAILURE", out);
        };
        let why = failure.cause;
        self.say(
            cx,
            Level::Notice,
            format_args!("AUTHENTICATION AND CIPHERING FAILURE from the mobile: {why}"),
        );
        match (failure.cause, failure.auts) {
            // Case g. A second one in a row ends it.
            (GmmCause::SynchFailure, Some(_)) if self.rest.auth.resynchronised => {
                self.authentication_rejected(cx, out);
            }
            (GmmCause::SynchFailure, Some(auts)) => {
                self.rest.auth.resynchronised = true;
                self.ask_auth(imsi, AuthQuestion::Failure(AuthFailure::Synch(auts.0)), out);
            }
            // AUTS must be there (clause 9.4.10a.1): it is not an answer, and T3360 goes on.
            (GmmCause::SynchFailure, None) => {
                cx.drop_of(Drop::GmmMalformed, self.imsi);
                self.status(GmmCause::ConditionalIeError, out);
            }
            // Case f: first whether it is who it seems to be.
            (GmmCause::MacFailure, _) if !self.rest.auth.named => self.not_authentic(cx, cfg, out),
            (GmmCause::MacFailure, _) => {
                self.ask_auth(imsi, AuthQuestion::Failure(AuthFailure::MacFailure), out);
            }
            (GmmCause::GsmAuthenticationUnacceptable, _) if !self.rest.auth.wanted_autn => {
                self.rest.auth.wanted_autn = true;
                self.ask_auth(imsi, AuthQuestion::Failure(AuthFailure::GsmUnacceptable), out);
            }
            // What it is does not matter: it does not answer.
            _ => self.not_authentic(cx, cfg, out),
        }
    }

    /// The mobile is not who it seems to be (clause 4.7.7.5): where only its P-TMSI speaks for that, it is asked for its
    /// IMSI.
    fn not_authentic(&mut self, cx: &mut Context<'_>, cfg: &GmmConfig, out: &mut Batch<GmmAction>) {
        if self.rest.auth.named {
            return self.authentication_rejected(cx, out);
        }
        self.rest.auth = Authentication { doubted: true, ..Authentication::default() };
        self.ask_identity(cx, cfg, IdentityType::Imsi, out);
    }

    /// AUTHENTICATION AND CIPHERING REJECT (clause 4.7.7.5), and the end of the context.
    pub(super) fn authentication_rejected(&mut self, cx: &mut Context<'_>, out: &mut Batch<GmmAction>) {
        cx.drop_of(Drop::GmmAuthenticationFailed, self.imsi);
        self.send(AuthenticationReject {}.into(), out);
        self.release(out);
    }
}

/// RES in its two elements, or SRES in the first. Where there is none, nothing: that can't be right (clause 9.4.10.1).
fn res(response: &AuthenticationResponse) -> Res {
    let first = response.response.as_ref().map_or(&[][..], |first| &first.0);
    let more = response.extended_response.as_ref().map_or(&[][..], |more| more.0.as_slice());
    let octets: Vec<u8> = first.iter().chain(more).copied().collect();
    Res::from_start(&octets)
}
