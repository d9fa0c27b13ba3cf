//! The common procedures: identification (clause 4.7.8), P-TMSI reallocation (clause 4.7.6), and what all procedures do
//! when an answer does not come. Authentication (clause 4.7.7) stands by itself.

use super::context::{Authentication, GmmState, GmmTimer, Procedure, Waiting};
use super::{GmmAction, GmmConfig, GmmContext};
use crate::about::About as _;
use crate::auth::AuthQuestion;
use crate::gmm::{MmState, TemporaryIdentity};
use gannet_machine::drops::Drop;
use gannet_machine::trace::Level;
use gannet_machine::{Batch, Context};
use gannet_wire::DecodeError;
use gannet_wire::id::Tlli;
use gannet_wire::l3::gmm::{
    self, AttachReject, IdentityRequest, IdentityResponse, PTmsiReallocationCommand, RauReject,
};
use gannet_wire::l3::ie::{ForceToStandby, GmmCause, IdentityType, MobileIdentity};

impl GmmContext {
    /// IDENTITY REQUEST (clause 4.7.8.1).
    pub(super) fn ask_identity(
        &mut self,
        cx: &Context<'_>,
        cfg: &GmmConfig,
        identity_type: IdentityType,
        out: &mut Batch<GmmAction>,
    ) {
        let waiting =
            if identity_type == IdentityType::Imsi { Waiting::IdentityImsi } else { Waiting::IdentityImei };
        self.wait(cx, cfg, waiting);
        self.send_identity_request(identity_type, out);
    }

    fn send_identity_request(&self, identity_type: IdentityType, out: &mut Batch<GmmAction>) {
        let force_to_standby = ForceToStandby::NotIndicated;
        self.send(IdentityRequest { identity_type, force_to_standby }.into(), out);
    }

    /// IDENTITY RESPONSE (clause 4.7.8.3). An identity that was not asked for is not an answer: T3370 goes on.
    pub(super) fn identity_response(
        &mut self,
        cx: &mut Context<'_>,
        response: &IdentityResponse,
        out: &mut Batch<GmmAction>,
    ) {
        match (self.rest.waiting, &response.identity) {
            // Clause 4.7.8.4 e: who has asked to leave meanwhile leaves now.
            (Waiting::IdentityImsi, MobileIdentity::Imsi(imsi))
                if self.rest.procedure == Procedure::Detach =>
            {
                self.leaving_mobile_is(cx, *imsi, out);
            }
            (Waiting::IdentityImei, _) if self.rest.procedure == Procedure::Detach => {
                self.mobile_leaves(false, out);
            }
            (Waiting::IdentityImsi, MobileIdentity::Imsi(imsi)) => match (self.rest.procedure, self.imsi) {
                // The P-TMSI of the update is not this mobile's, whose context stays as it was.
                (Procedure::Update, Some(known)) if known != *imsi => {
                    self.refuse_update(cx, GmmCause::IdentityUnknown, out);
                }
                // Nor is that of a mobile that was asked for the operator's sake.
                (Procedure::None, Some(known)) if known != *imsi => self.another_has_our_ptmsi(cx, out),
                // The P-TMSI was not to blame for the authentication that failed (clauses 4.7.7.5 and 4.7.7.6 f).
                (_, Some(known)) if known == *imsi && self.rest.auth.doubted => {
                    self.authentication_rejected(cx, out);
                }
                (Procedure::Attach | Procedure::Update | Procedure::None | Procedure::Detach, _) => {
                    self.rest.auth = Authentication { named: true, ..Authentication::default() };
                    self.identified(cx, *imsi, out);
                }
            },
            (Waiting::IdentityImei, MobileIdentity::Imei(imei) | MobileIdentity::Imeisv(imei)) => {
                self.rest.imei = Some(*imei);
                self.ask_ptmsi(out);
            }
            // A mobile without IMEI says "no identity" (clause 10.5.1.4): it is served all the same.
            (Waiting::IdentityImei, _) => self.ask_ptmsi(out),
            (Waiting::IdentityImsi, _) => {
                cx.drop_of(Drop::GmmUnexpected, self.imsi);
                self.status(GmmCause::SemanticallyIncorrect, out);
            }
            (
                Waiting::Nothing
                | Waiting::AuthService
                | Waiting::Ptmsi
                | Waiting::Authentication
                | Waiting::AttachComplete
                | Waiting::UpdateComplete
                | Waiting::ReallocationComplete
                | Waiting::DetachAccept
                | Waiting::NewPtmsi,
                _,
            ) => self.unexpected(cx, "IDENTITY RESPONSE", out),
        }
    }

    /// The node has chosen a P-TMSI, or has none left.
    pub(super) fn ptmsi_allocated(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmConfig,
        identity: Option<TemporaryIdentity>,
        out: &mut Batch<GmmAction>,
    ) {
        match (self.rest.waiting, identity) {
            (Waiting::Ptmsi, Some(identity)) => {
                self.discard_new(out);
                self.rest.new = Some(identity);
                self.rest.old_tlli = self.tlli;
                self.enter_routing_area();
                out.push(GmmAction::AssignTlli { new: Tlli::local(identity.ptmsi), old: self.tlli });
                let waiting = match self.rest.procedure {
                    Procedure::Attach => Waiting::AttachComplete,
                    Procedure::Update => Waiting::UpdateComplete,
                    Procedure::None | Procedure::Detach => Waiting::ReallocationComplete,
                };
                self.wait(cx, cfg, waiting);
                self.send_accept(cfg, out);
            }
            (Waiting::Ptmsi, None) => match self.rest.procedure {
                Procedure::Attach | Procedure::Update => self.reject(cx, GmmCause::NetworkFailure, out),
                Procedure::None | Procedure::Detach => self.settle(),
            },
            // The mobile began anew meanwhile: the number is not needed.
            (
                Waiting::Nothing
                | Waiting::AuthService
                | Waiting::IdentityImsi
                | Waiting::IdentityImei
                | Waiting::Authentication
                | Waiting::AttachComplete
                | Waiting::UpdateComplete
                | Waiting::ReallocationComplete
                | Waiting::DetachAccept
                | Waiting::NewPtmsi,
                identity,
            ) => {
                if let Some(identity) = identity {
                    out.push(GmmAction::FreePtmsi(identity.ptmsi));
                }
            }
        }
    }

    /// P-TMSI REALLOCATION COMMAND (clause 4.7.6.1).
    pub(super) fn send_reallocation(&self, new: TemporaryIdentity, out: &mut Batch<GmmAction>) {
        let command = PTmsiReallocationCommand {
            allocated_ptmsi: MobileIdentity::PTmsi(new.ptmsi),
            rai: self.rest.rai,
            force_to_standby: ForceToStandby::NotIndicated,
            ptmsi_signature: new.signature(),
        };
        self.send(command.into(), out);
    }

    /// ATTACH COMPLETE, ROUTING AREA UPDATE COMPLETE or P-TMSI REALLOCATION COMPLETE: T3350 stops, the new P-TMSI is
    /// the mobile's.
    pub(super) fn complete(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmConfig,
        expected: Waiting,
        out: &mut Batch<GmmAction>,
    ) {
        if self.rest.waiting == expected {
            self.confirm_new(out);
            if let Some(current) = self.rest.current {
                self.tlli = Tlli::local(current.ptmsi);
            }
            self.registered(cx, cfg, out);
        } else {
            self.unexpected(cx, "a COMPLETE", out);
        }
    }

    /// T3322, T3350, T3360 or T3370 has expired: the message once more, or the end of the procedure.
    pub(super) fn procedure_timer(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmConfig,
        out: &mut Batch<GmmAction>,
    ) {
        if self.rest.tries >= cfg.tries {
            cx.drop_of(Drop::GmmNoAnswer, self.imsi);
            let (tries, waiting) = (self.rest.tries, self.rest.waiting);
            self.say(cx, Level::Notice, format_args!("no answer after {tries} tries: {waiting}"));
            return self.given_up(cx, cfg, out);
        }
        self.rest.tries += 1;
        match self.rest.waiting {
            Waiting::IdentityImsi => {
                self.again(cx, cfg, self.rest.waiting);
                self.send_identity_request(IdentityType::Imsi, out);
            }
            Waiting::IdentityImei => {
                self.again(cx, cfg, self.rest.waiting);
                self.send_identity_request(IdentityType::Imei, out);
            }
            Waiting::Authentication => {
                self.again(cx, cfg, self.rest.waiting);
                if let Some(imsi) = self.imsi {
                    // The number stays what it was: it is the same question.
                    let (question, ticket) = (AuthQuestion::Repeat, self.rest.ticket);
                    out.push(GmmAction::AskAuth { imsi, question, ticket });
                }
            }
            Waiting::AttachComplete | Waiting::UpdateComplete | Waiting::ReallocationComplete => {
                self.again(cx, cfg, self.rest.waiting);
                self.send_accept(cfg, out);
            }
            Waiting::DetachAccept => {
                self.again(cx, cfg, self.rest.waiting);
                self.send_to_ready(cx, cfg, out);
            }
            // These run no timer.
            Waiting::Nothing | Waiting::AuthService | Waiting::Ptmsi | Waiting::NewPtmsi => {}
        }
    }

    /// The fifth expiry. A mobile that asked to attach or to update its routing area, and did not answer a question before its
    /// ACCEPT, is told that nothing comes of it: with cause 9 where it did not say who it is (T3370), with cause 17 where it was
    /// challenged (T3360). The clauses abort the procedure and leave the mobile to its own timer.
    fn given_up(&mut self, cx: &mut Context<'_>, cfg: &GmmConfig, out: &mut Batch<GmmAction>) {
        let cause = match self.rest.waiting {
            Waiting::IdentityImsi | Waiting::IdentityImei => GmmCause::IdentityUnknown,
            Waiting::Authentication => GmmCause::NetworkFailure,
            Waiting::Nothing
            | Waiting::AuthService
            | Waiting::Ptmsi
            | Waiting::AttachComplete
            | Waiting::UpdateComplete
            | Waiting::ReallocationComplete
            | Waiting::DetachAccept
            | Waiting::NewPtmsi => return self.abort(cx, cfg, out),
        };
        match self.rest.procedure {
            Procedure::Attach => self.reject(cx, cause, out),
            // The mobile whose P-TMSI was claimed stays what it was.
            Procedure::Update => self.refuse_update(cx, cause, out),
            Procedure::None | Procedure::Detach => self.abort(cx, cfg, out),
        }
    }

    /// The end of a procedure without an answer, or a failure below: clauses 4.7.3.1.6 a and c, 4.7.5.1.6 a and c,
    /// 4.7.6.4 a and b, 4.7.7.6 a and b, 4.7.8.4 a and b, 4.7.4.2.4 a and b.
    pub(super) fn abort(&mut self, cx: &mut Context<'_>, cfg: &GmmConfig, out: &mut Batch<GmmAction>) {
        match (self.rest.waiting, self.rest.procedure) {
            // Both P-TMSIs stay valid until the mobile shows which one it has, or nothing more is heard of it.
            (Waiting::AttachComplete, _) => {
                self.rest.procedure = Procedure::None;
                self.pause(Waiting::NewPtmsi);
                self.rest.deadlines.set(GmmTimer::ImplicitDetach, cx.now + cfg.implicit_detach);
            }
            (Waiting::IdentityImsi | Waiting::IdentityImei | Waiting::Authentication, Procedure::Attach)
            | (Waiting::AuthService | Waiting::Ptmsi, Procedure::Attach) => self.release(out),
            // It wanted to leave before it was attached.
            (_, Procedure::Detach) if self.mm == MmState::Idle => self.release(out),
            // The mobile stays registered, with both P-TMSIs where there are two.
            (
                Waiting::UpdateComplete
                | Waiting::ReallocationComplete
                | Waiting::IdentityImsi
                | Waiting::IdentityImei
                | Waiting::Authentication
                | Waiting::AuthService
                | Waiting::Ptmsi,
                _,
            ) => self.settle(),
            (Waiting::DetachAccept, _) => self.detached(cx, cfg, out),
            (Waiting::Nothing | Waiting::NewPtmsi, _) => {}
        }
    }

    /// LLC could not deliver (clause 4.7.1.1). The message is not sent again.
    pub(super) fn lower_layer_failure(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmConfig,
        out: &mut Batch<GmmAction>,
    ) {
        match self.rest.gmm {
            GmmState::CommonProcedureInitiated | GmmState::DeregisteredInitiated => self.abort(cx, cfg, out),
            // Nothing was waiting for the mobile.
            GmmState::Deregistered | GmmState::Registered => {}
        }
    }

    /// A message that could not be read (clause 8). A request of the mobile that starts a procedure is rejected with
    /// the cause (clauses 4.7.3.1.6 b and 4.7.5.1.6 b), anything else answered with GMM STATUS.
    pub(super) fn decode_failed(
        &mut self,
        cx: &mut Context<'_>,
        message_type: Option<u8>,
        error: &DecodeError,
        out: &mut Batch<GmmAction>,
    ) {
        cx.drop_of(Drop::GmmMalformed, self.imsi);
        match message_type {
            Some(number) => {
                self.say(cx, Level::Notice, format_args!("GMM message of type {number:#04x}: {error}"))
            }
            None => self.say(cx, Level::Notice, format_args!("GMM message without a type: {error}")),
        }
        let Some(cause) = gmm::cause(error) else { return };
        let force_to_standby = ForceToStandby::NotIndicated;
        match (message_type, self.rest.gmm, self.rest.waiting) {
            (Some(super::stranger::ATTACH_REQUEST), GmmState::Deregistered, Waiting::Nothing) => {
                self.rest.procedure = Procedure::Attach;
                self.reject(cx, cause, out);
            }
            // A context that exists does not end with a request that can't be read.
            (Some(super::stranger::ATTACH_REQUEST), _, _) => {
                cx.drop_of(Drop::GmmRejected, self.imsi);
                self.send(AttachReject { cause, t3302: None }.into(), out);
            }
            (Some(super::stranger::RAU_REQUEST), GmmState::Registered, Waiting::Nothing) => {
                self.refuse_update(cx, cause, out);
            }
            (Some(super::stranger::RAU_REQUEST), _, _) => {
                cx.drop_of(Drop::GmmRejected, self.imsi);
                self.send(RauReject { cause, force_to_standby, t3302: None }.into(), out);
            }
            (Some(_) | None, _, _) => self.status(cause, out),
        }
    }
}
