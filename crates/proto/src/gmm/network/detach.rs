//! GPRS detach (clause 4.7.4): by the mobile, by the network, and implicitly.

use super::context::{Authentication, GmmState, Orders, Procedure, Waiting};
use super::{GmmAction, GmmConfig, GmmContext, Uplink};
use crate::about::About as _;
use crate::gmm::{MmState, TemporaryIdentity};
use gannet_machine::drops::Drop;
use gannet_machine::trace::Level;
use gannet_machine::{Batch, Context};
use gannet_wire::id::Imsi;
use gannet_wire::l3::gmm::{DetachAcceptMo, DetachRequestMo, DetachRequestMt};
use gannet_wire::l3::ie::{
    Cksn, DetachKindMo, DetachTypeMt, ForceToStandby, GmmCause, IdentityType, PTmsiSignature,
};

impl GmmContext {
    /// DETACH REQUEST from the mobile (clause 4.7.4.1). It overtakes whatever runs (clauses 4.7.3.1.6 g, 4.7.6.4 d),
    /// also a detach by the network (clause 4.7.4.2.4 c); only what the mobile was just asked is completed first
    /// (clauses 4.7.7.6 e and 4.7.8.4 e). There is no answer when the mobile is switched off.
    ///
    /// A request is genuine where it came ciphered, or has the signature that goes with the P-TMSI and comes from an NSE in
    /// which the mobile is. Otherwise the mobile has to show who it is (03.60 clause 6.6.1), by authentication, and by its
    /// IMSI where nobody authenticates it. One that is switched off can't: its request is not obeyed
    /// ([`Self::is_doubted_power_off`]), and paging or the implicit detach ends its context.
    pub(super) fn detach_request(
        &mut self,
        cx: &mut Context<'_>,
        request: &DetachRequestMo,
        genuine: bool,
        out: &mut Batch<GmmAction>,
    ) {
        let detach = request.detach_type;
        let of = match detach.kind {
            DetachKindMo::Gprs => "GPRS",
            DetachKindMo::Imsi => "IMSI",
            DetachKindMo::Combined => "combined GPRS and IMSI",
        };
        let off = if detach.power_off { ", power off" } else { "" };
        self.say(cx, Level::Info, format_args!("DETACH REQUEST from the mobile ({of} detach{off})"));
        match (detach.kind, detach.power_off, self.imsi) {
            // There is no MSC that would have to know.
            (DetachKindMo::Imsi, true, _) => {}
            (DetachKindMo::Imsi, false, _) => self.accept_detach(out),
            (DetachKindMo::Gprs | DetachKindMo::Combined, false, _) if self.awaits_proof() => {
                self.rest.procedure = Procedure::Detach;
            }
            (DetachKindMo::Gprs | DetachKindMo::Combined, false, Some(imsi)) if !genuine => {
                self.rest.procedure = Procedure::Detach;
                self.rest.auth = Authentication::default();
                // That the mobile had a key when it attached proves nothing now.
                self.rest.cksn = Cksn::NO_KEY;
                self.ask_subscriber(imsi, out);
            }
            (DetachKindMo::Gprs | DetachKindMo::Combined, power_off, _) => self.mobile_leaves(power_off, out),
        }
    }

    /// Identification or authentication runs, whose answer the mobile sends even while it detaches (clause 4.7.4.1.4 d).
    fn awaits_proof(&self) -> bool {
        match self.rest.waiting {
            Waiting::IdentityImsi | Waiting::IdentityImei | Waiting::Authentication => true,
            Waiting::AuthService => self.rest.auth.answered,
            Waiting::Nothing
            | Waiting::Ptmsi
            | Waiting::AttachComplete
            | Waiting::UpdateComplete
            | Waiting::ReallocationComplete
            | Waiting::DetachAccept
            | Waiting::NewPtmsi => false,
        }
    }

    /// Does the signature of a DETACH REQUEST go with one of the valid P-TMSIs? A mobile that has confirmed none has
    /// nothing to prove. Before R99 the message has no signature: such a mobile is authenticated before it leaves, and
    /// cannot say that it is switched off.
    pub(super) fn is_its_own(&self, cfg: &GmmConfig, signature: Option<PTmsiSignature>) -> bool {
        let mut valid =
            [self.rest.current, self.rest.new].into_iter().flatten().map(TemporaryIdentity::signature);
        self.rest.current.is_none() || valid.any(|valid| cfg.signatures.accept(valid, signature))
    }

    /// Does this come from another NSE than the one in which the mobile is?
    pub(super) fn is_elsewhere(&self, from: Uplink) -> bool {
        self.cell.nsei != from.cell.nsei
    }

    /// A mobile that is switched off can show nothing more: without the signature, or from an NSE in which the mobile is
    /// not, somebody else may say that it is.
    pub(super) fn is_doubted_power_off(
        &self,
        cfg: &GmmConfig,
        request: &DetachRequestMo,
        from: Uplink,
    ) -> bool {
        let ends_gprs = match request.detach_type.kind {
            DetachKindMo::Gprs | DetachKindMo::Combined => true,
            DetachKindMo::Imsi => false,
        };
        request.detach_type.power_off
            && ends_gprs
            && (self.is_elsewhere(from) || !self.is_its_own(cfg, request.ptmsi_signature))
    }

    /// Such a DETACH REQUEST is counted and named in the log. It ends what the mobile has only asked for, which a mobile that
    /// is on asks for again (T3380), and nothing that it has. The mobile is asked who it is where it was heard last, or paged
    /// and authenticated: one that is on answers. Without an answer nothing changes.
    pub(super) fn doubted_power_off(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmConfig,
        from: Uplink,
        out: &mut Batch<GmmAction>,
    ) {
        out.push(GmmAction::GiveUpActivations);
        cx.drop_of(Drop::GmmDetachDoubted, self.imsi);
        let (there, here) = (from.cell.nsei, self.cell.nsei);
        let why = format_args!(
            "power-off DETACH REQUEST from NSEI {there} is not obeyed: its P-TMSI signature is missing or wrong, or \
             the mobile is elsewhere (NSEI {here})"
        );
        self.say(cx, Level::Notice, why);
        match (self.rest.gmm, self.mm) {
            (GmmState::Registered, MmState::Ready) if !self.suspended && !self.is_busy() => {
                self.rest.auth = Authentication::default();
                self.ask_identity(cx, cfg, IdentityType::Imsi, out);
            }
            (GmmState::Registered, MmState::Standby) => self.order(cx, cfg, Orders::AUTHENTICATE, out),
            (
                GmmState::Deregistered
                | GmmState::CommonProcedureInitiated
                | GmmState::Registered
                | GmmState::DeregisteredInitiated,
                MmState::Idle | MmState::Standby | MmState::Ready,
            ) => {}
        }
    }

    /// The mobile is gone.
    pub(super) fn mobile_leaves(&mut self, power_off: bool, out: &mut Batch<GmmAction>) {
        if !power_off {
            self.accept_detach(out);
        }
        self.release(out);
    }

    /// Who wants to leave, and was asked for its IMSI before, has told it.
    pub(super) fn leaving_mobile_is(&mut self, cx: &mut Context<'_>, imsi: Imsi, out: &mut Batch<GmmAction>) {
        match self.imsi {
            Some(known) if known != imsi => {
                self.accept_detach(out);
                self.another_used_the_name(cx);
            }
            // It has failed to show who it is.
            Some(_) if self.rest.auth.doubted => self.authentication_rejected(cx, out),
            Some(_) | None => self.mobile_leaves(false, out),
        }
    }

    /// A mobile that was asked who it is, for nothing that it wants, is another one than ours: it has to attach.
    pub(super) fn another_has_our_ptmsi(&mut self, cx: &mut Context<'_>, out: &mut Batch<GmmAction>) {
        let force_to_standby = ForceToStandby::NotIndicated;
        let cause = Some(GmmCause::IdentityUnknown);
        self.send(
            DetachRequestMt { detach_type: DetachTypeMt::ReattachRequired, force_to_standby, cause }.into(),
            out,
        );
        self.another_used_the_name(cx);
    }

    /// The mobile of this context stays what it was.
    fn another_used_the_name(&mut self, cx: &mut Context<'_>) {
        cx.drop_of(Drop::GmmAuthenticationFailed, self.imsi);
        self.settle();
    }

    fn accept_detach(&self, out: &mut Batch<GmmAction>) {
        let force_to_standby = ForceToStandby::NotIndicated;
        self.send(DetachAcceptMo { force_to_standby }.into(), out);
    }

    /// DETACH REQUEST to the mobile (clause 4.7.4.2.1).
    pub(super) fn operator_detach(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmConfig,
        kind: DetachTypeMt,
        cause: Option<GmmCause>,
        out: &mut Batch<GmmAction>,
    ) {
        match (self.rest.gmm, self.mm) {
            // Not attached yet: the attach is refused instead.
            (GmmState::Deregistered | GmmState::CommonProcedureInitiated, MmState::Idle) => {
                self.reject(cx, cause.unwrap_or(GmmCause::NetworkFailure), out);
            }
            (GmmState::DeregisteredInitiated, _) => self.ignored(cx, "a second order to detach"),
            (
                GmmState::Deregistered | GmmState::CommonProcedureInitiated | GmmState::Registered,
                MmState::Idle | MmState::Standby | MmState::Ready,
            ) => {
                self.settle();
                self.rest.detach = kind;
                self.rest.detach_cause = cause;
                if kind != DetachTypeMt::Imsi {
                    self.delete_pdp_contexts(out);
                }
                self.wait(cx, cfg, Waiting::DetachAccept);
                self.send_to_ready(cx, cfg, out);
            }
        }
    }

    /// A message that the network starts reaches a mobile in READY only: in STANDBY it is paged, and gets the message
    /// when it answers.
    pub(super) fn send_to_ready(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmConfig,
        out: &mut Batch<GmmAction>,
    ) {
        if self.mm == MmState::Ready {
            self.send_detach(out);
        } else {
            self.downlink_data(cx, cfg, out);
        }
    }

    /// The message itself.
    pub(super) fn send_detach(&self, out: &mut Batch<GmmAction>) {
        let force_to_standby = ForceToStandby::NotIndicated;
        self.send(
            DetachRequestMt {
                detach_type: self.rest.detach,
                force_to_standby,
                cause: self.rest.detach_cause,
            }
            .into(),
            out,
        );
    }

    /// DETACH ACCEPT (clause 4.7.4.2.3).
    pub(super) fn detach_accept(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmConfig,
        out: &mut Batch<GmmAction>,
    ) {
        match self.rest.gmm {
            GmmState::DeregisteredInitiated => self.detached(cx, cfg, out),
            GmmState::Deregistered | GmmState::CommonProcedureInitiated | GmmState::Registered => {
                self.unexpected(cx, "DETACH ACCEPT", out);
            }
        }
    }

    /// The detach by the network is over, with an answer or without (clause 4.7.4.2.4 a).
    pub(super) fn detached(&mut self, cx: &mut Context<'_>, cfg: &GmmConfig, out: &mut Batch<GmmAction>) {
        match self.rest.detach {
            DetachTypeMt::ReattachRequired | DetachTypeMt::ReattachNotRequired => self.release(out),
            DetachTypeMt::Imsi if self.mm == MmState::Ready => self.registered(cx, cfg, out),
            DetachTypeMt::Imsi => self.settle(),
        }
    }

    /// Implicit detach (03.60 clause 6.6.1): the mobile was not heard for too long, and is not told.
    pub(super) fn implicit_detach(&mut self, cx: &mut Context<'_>, out: &mut Batch<GmmAction>) {
        cx.drop_of(Drop::GmmImplicitDetach, self.imsi);
        self.say(cx, Level::Notice, format_args!("implicit detach: the mobile was not heard for too long"));
        self.release(out);
    }
}
