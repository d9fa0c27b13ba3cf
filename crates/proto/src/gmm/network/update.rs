//! Routing area updating within this SGSN (clause 4.7.5): normal, periodic, and combined without an MSC.

use super::context::{Authentication, GmmState, Procedure, Said, Waiting};
use super::{GmmAction, GmmConfig, GmmContext};
use crate::about::About as _;
use crate::gmm::{MmState, TemporaryIdentity, fingerprint};
use gannet_machine::drops::Drop;
use gannet_machine::{Batch, Context};
use gannet_wire::id::{Rai, Tlli};
use gannet_wire::l3::gmm::{RauComplete, RauReject, RauRequest};
use gannet_wire::l3::ie::{DetachTypeMt, ForceToStandby, GmmCause, GprsTimer, IdentityType, UpdateKind};

impl GmmContext {
    /// ROUTING AREA UPDATE REQUEST, state by state (clauses 4.7.5.1.6, 4.7.3.1.6 f and 4.7.4.2.4 e).
    pub(super) fn update_request(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmConfig,
        request: &RauRequest,
        out: &mut Batch<GmmAction>,
    ) {
        let mut octets = Vec::with_capacity(64);
        request.emit(&mut octets);
        octets.extend_from_slice(&self.cell.id.rai.to_octets());
        let print = fingerprint(&octets);
        match (self.rest.gmm, self.rest.procedure, self.rest.waiting) {
            // Case d, the same elements: the ACCEPT once more, T3350 from the start, the count untouched.
            (GmmState::CommonProcedureInitiated, Procedure::Update, Waiting::UpdateComplete)
                if print == self.rest.request =>
            {
                self.again(cx, cfg, Waiting::UpdateComplete);
                self.send_accept(cfg, out);
            }
            // Case e, the same elements: the procedure goes on.
            (GmmState::CommonProcedureInitiated | GmmState::Registered, Procedure::Update, _)
                if print == self.rest.request =>
            {
                self.ignored(cx, "a repeated ROUTING AREA UPDATE REQUEST");
            }
            // Clause 4.7.3.1.6 f: the mobile has the ATTACH ACCEPT, its P-TMSI is valid.
            (GmmState::CommonProcedureInitiated, Procedure::Attach, Waiting::AttachComplete)
            | (GmmState::Deregistered, Procedure::None, Waiting::NewPtmsi)
                if self.uses_new() =>
            {
                self.confirm_new(out);
                self.registered(cx, cfg, out);
                self.start_update(cx, cfg, request, print, out);
            }
            // Not attached, or not yet: there is no context that could be updated.
            (GmmState::Deregistered, _, _)
            | (GmmState::CommonProcedureInitiated, Procedure::Attach | Procedure::Detach, _)
                if self.mm == MmState::Idle || self.rest.procedure == Procedure::Attach =>
            {
                self.refuse_update(cx, GmmCause::ImplicitlyDetached, out);
                self.release(out);
            }
            // Only a detach for non-GPRS services lets the update pass (clause 4.7.4.2.4 e).
            (GmmState::DeregisteredInitiated, _, _) if self.rest.detach != DetachTypeMt::Imsi => {
                self.ignored(cx, "a ROUTING AREA UPDATE REQUEST during detach");
            }
            // Cases d and e with other elements, and a common procedure that gives way (clause 4.7.6.4 e).
            (
                GmmState::Deregistered
                | GmmState::Registered
                | GmmState::CommonProcedureInitiated
                | GmmState::DeregisteredInitiated,
                _,
                _,
            ) => self.start_update(cx, cfg, request, print, out),
        }
    }

    /// The operator has the mobile authenticated; an update that comes meanwhile is progressed together with that
    /// (clause 4.7.7.6, collision with a routing area updating procedure).
    fn is_authenticating(&self) -> bool {
        self.rest.procedure == Procedure::None
            && matches!(self.rest.waiting, Waiting::Authentication | Waiting::AuthService)
    }

    /// Was the TLLI that the mobile used last made from the P-TMSI that it has not confirmed yet?
    pub(super) fn uses_new(&self) -> bool {
        self.rest
            .new
            .is_some_and(|new| self.tlli == Tlli::local(new.ptmsi) || self.tlli == Tlli::foreign(new.ptmsi))
    }

    fn start_update(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmConfig,
        request: &RauRequest,
        print: u32,
        out: &mut Batch<GmmAction>,
    ) {
        if self.uses_new() {
            self.confirm_new(out);
        }
        let authenticates = cfg.authenticate_updates || self.is_authenticating();
        self.rest.procedure = Procedure::Update;
        self.pause(Waiting::Nothing);
        self.rest.request = print;
        self.rest.combined =
            matches!(request.update_type.kind, UpdateKind::Combined | UpdateKind::CombinedWithImsiAttach);
        self.rest.mobile_nsapis = request.pdp_context_status;
        self.rest.cksn = request.cksn;
        self.rest.auth = Authentication::default();
        self.rest.said = Some(Box::new(Said {
            drx: request.drx,
            capability: request.ms_network_capability,
            ready_timer: request.requested_ready_timer,
            radio: request.ms_radio_access_capability.clone(),
        }));
        let signature = request.old_ptmsi_signature;
        let was_here = self.was_in(request.old_rai);
        let claimed = self.rest.current.map(|current| TemporaryIdentity::new(current.ptmsi, signature));
        let named = self
            .rest
            .current
            .is_some_and(|c| self.tlli == Tlli::local(c.ptmsi) || self.tlli == Tlli::foreign(c.ptmsi));
        match (claimed, self.imsi) {
            (Some(claimed), Some(imsi)) if named && was_here && self.knows(cfg, claimed) => {
                if authenticates {
                    self.ask_subscriber(imsi, out);
                } else {
                    self.update_authenticated(cx, cfg, out);
                }
            }
            // The signature is not the one that goes with the P-TMSI, or the P-TMSI is another routing area's: who is it?
            _ => self.ask_identity(cx, cfg, IdentityType::Imsi, out),
        }
    }

    /// The mobile is who it says: compare PDP contexts, take it into its routing area, and accept. A new P-TMSI is
    /// given where the old one was another routing area's, so that its TLLI is local again, and where the mobile
    /// has not taken the last one that it was given (clauses 4.7.5.1.6 c and 4.7.6.4 b).
    pub(super) fn update_authenticated(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmConfig,
        out: &mut Batch<GmmAction>,
    ) {
        self.take_what_was_said(cfg, out);
        self.compare_pdp_contexts(out);
        let local = self.rest.current.is_some_and(|current| self.tlli == Tlli::local(current.ptmsi));
        let moved = self.rest.rai != self.cell.id.rai;
        self.enter_routing_area();
        if cfg.reallocate_always || moved || !local || self.rest.new.is_some() {
            self.ask_ptmsi(out);
        } else {
            // The mobile deletes a signature that the ACCEPT does not assign anew (clause 4.7.5.1.3).
            let signature = cfg.signatures.throw(cx.rng);
            if let Some(current) = &mut self.rest.current {
                *current = TemporaryIdentity::new(current.ptmsi, signature);
            }
            self.send_accept(cfg, out);
            self.registered(cx, cfg, out);
        }
    }

    /// What the request says of the mobile holds now. Before, anybody may have said it who knows the TLLI: that the mobile has no
    /// cipher, or listens to paging at other times.
    fn take_what_was_said(&mut self, cfg: &GmmConfig, out: &mut Batch<GmmAction>) {
        self.suspended = false;
        let Some(said) = self.rest.said.take() else { return };
        let Said { drx, capability, ready_timer, radio } = *said;
        self.drx = drx.unwrap_or(self.drx);
        self.rest.capability = capability.unwrap_or(self.rest.capability);
        if ready_timer.is_some() {
            self.negotiate_ready(cfg, ready_timer);
        }
        out.push(GmmAction::RadioAccessCapability(radio));
    }

    /// The mobile is registered where it was heard. Until it has confirmed a P-TMSI of this routing area, it may name the one
    /// that it comes from.
    pub(super) fn enter_routing_area(&mut self) {
        if self.rest.rai != self.cell.id.rai {
            self.rest.former_rai = self.rest.rai;
            self.rest.rai = self.cell.id.rai;
        }
    }

    /// Is a P-TMSI of this mobile one of that routing area (03.03 clause 2.4 [23.003])?
    pub(super) fn was_in(&self, rai: Rai) -> bool {
        rai == self.rest.rai || rai == self.rest.former_rai
    }

    /// ROUTING AREA UPDATE COMPLETE. How far the mobile has received is known before anything more is sent to it.
    pub(super) fn update_complete(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmConfig,
        complete: RauComplete,
        out: &mut Batch<GmmAction>,
    ) {
        let is_awaited = self.rest.waiting == Waiting::UpdateComplete;
        let numbers = complete.receive_npdu_numbers.filter(|_| is_awaited);
        numbers.into_iter().for_each(|numbers| out.push(GmmAction::NPduNumbers(numbers)));
        self.complete(cx, cfg, Waiting::UpdateComplete, out);
    }

    /// ROUTING AREA UPDATE REJECT to a mobile whose claim does not hold. The context that it claimed stays as it was.
    pub(super) fn refuse_update(
        &mut self,
        cx: &mut Context<'_>,
        cause: GmmCause,
        out: &mut Batch<GmmAction>,
    ) {
        cx.drop_of(Drop::GmmRejected, self.imsi);
        let force_to_standby = ForceToStandby::NotIndicated;
        self.send(RauReject { cause, force_to_standby, t3302: None }.into(), out);
        if let Some(current) = self.rest.current {
            self.tlli = Tlli::local(current.ptmsi);
        }
        self.settle();
    }

    /// T3314 as this mobile was given it.
    #[must_use]
    pub const fn ready_timer(&self) -> GprsTimer {
        self.rest.ready_timer
    }
}
