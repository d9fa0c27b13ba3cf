//! GPRS attach (clause 4.7.3), and the steps from a known subscriber to an accepted one that the routing area update
//! shares with it.

use super::context::{Authentication, GmmState, Orders, Procedure, Waiting};
use super::{GmmAction, GmmConfig, GmmContext};
use crate::about::About as _;
use crate::gmm::{MmState, TemporaryIdentity, fingerprint};
use gannet_machine::drops::Drop;
use gannet_machine::trace::Level;
use gannet_machine::{Batch, Context};
use gannet_wire::id::Imsi;
use gannet_wire::l3::gmm::{AttachReject, AttachRequest, RauReject};
use gannet_wire::l3::ie::{AttachKind, DetachTypeMt, ForceToStandby, GmmCause, IdentityType, MobileIdentity};

impl GmmContext {
    /// ATTACH REQUEST, state by state (clauses 4.7.3.1.6 and 4.7.4.2.4).
    pub(super) fn attach_request(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmConfig,
        request: &AttachRequest,
        out: &mut Batch<GmmAction>,
    ) {
        let mut octets = Vec::with_capacity(64);
        request.emit(&mut octets);
        octets.extend_from_slice(&self.cell.id.rai.to_octets());
        let print = fingerprint(&octets);
        match (self.rest.gmm, self.rest.procedure, self.rest.waiting) {
            // Case d.1, the same elements: ATTACH ACCEPT once more, T3350 from the start, the count untouched.
            (GmmState::CommonProcedureInitiated, Procedure::Attach, Waiting::AttachComplete)
                if print == self.rest.request =>
            {
                self.again(cx, cfg, Waiting::AttachComplete);
                self.send_accept(cfg, out);
            }
            // Case d.2, the same elements: the procedure goes on.
            (GmmState::CommonProcedureInitiated | GmmState::Deregistered, Procedure::Attach, _)
                if print == self.rest.request && self.rest.waiting != Waiting::NewPtmsi =>
            {
                self.ignored(cx, "a repeated ATTACH REQUEST");
            }
            // A detach that forbids the next attach is not overtaken by one (clause 4.7.4.2.4 d).
            (GmmState::DeregisteredInitiated, _, _)
                if self.rest.detach == DetachTypeMt::ReattachNotRequired =>
            {
                self.ignored(cx, "an ATTACH REQUEST during detach");
            }
            // Case d with other elements: the attach in progress is aborted, the new one goes on. Case e, a mobile
            // that is attached already: its contexts are deleted first. Any other common procedure of such a mobile
            // ends with it.
            (
                GmmState::Deregistered
                | GmmState::CommonProcedureInitiated
                | GmmState::Registered
                | GmmState::DeregisteredInitiated,
                _,
                _,
            ) => self.start_attach(cx, cfg, request, print, out),
        }
    }

    fn start_attach(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmConfig,
        request: &AttachRequest,
        print: u32,
        out: &mut Batch<GmmAction>,
    ) {
        self.rest.deadlines.clear_all();
        self.delete_pdp_contexts(out);
        self.set_mm(MmState::Idle, out);
        self.suspended = false;
        self.rest.mobile_nsapis = None;
        self.rest.combined = request.attach_type.kind == AttachKind::Combined;
        self.rest.request = print;
        self.rest.orders = Orders::default();
        self.rest.procedure = Procedure::Attach;
        self.pause(Waiting::Nothing);
        self.drx = request.drx;
        self.rest.capability = request.ms_network_capability;
        self.rest.said = None;
        self.rest.cksn = request.cksn;
        let named = matches!(request.identity, MobileIdentity::Imsi(_));
        self.rest.auth = Authentication { named, ..Authentication::default() };
        self.negotiate_ready(cfg, request.requested_ready_timer);
        out.push(GmmAction::RadioAccessCapability(request.ms_radio_access_capability.clone()));
        match (request.identity, self.imsi) {
            (MobileIdentity::Imsi(imsi), _) => self.identified(cx, imsi, out),
            (identity, Some(imsi)) if self.is_claimed_by(cfg, request) => {
                if self.new_ptmsi().is_some_and(|new| identity == MobileIdentity::PTmsi(new)) {
                    self.confirm_new(out);
                }
                self.identified(cx, imsi, out);
            }
            // A P-TMSI that is not known here, or of another routing area or signature (clause 4.7.3.1.2).
            (
                MobileIdentity::PTmsi(_)
                | MobileIdentity::None
                | MobileIdentity::Imei(_)
                | MobileIdentity::Imeisv(_),
                _,
            ) => self.ask_identity(cx, cfg, IdentityType::Imsi, out),
        }
    }

    /// Does this request name the mobile rightly: a P-TMSI that is valid in its routing area, with its signature?
    ///
    /// The node finds a context by the P-TMSI of an ATTACH REQUEST and asks this first. Where the answer is no, the
    /// request is another mobile's that has the same P-TMSI from elsewhere, and gets a context of its own.
    #[must_use]
    pub fn is_claimed_by(&self, cfg: &GmmConfig, request: &AttachRequest) -> bool {
        match request.identity {
            MobileIdentity::PTmsi(ptmsi) => {
                self.was_in(request.old_rai)
                    && self.knows(cfg, TemporaryIdentity::new(ptmsi, request.old_ptmsi_signature))
            }
            MobileIdentity::Imsi(imsi) => self.imsi == Some(imsi),
            MobileIdentity::None | MobileIdentity::Imei(_) | MobileIdentity::Imeisv(_) => false,
        }
    }

    /// Is this one of the mobile's two valid P-TMSIs (clause 4.7.1.5), with its signature where it has one?
    pub(super) fn knows(&self, cfg: &GmmConfig, claimed: TemporaryIdentity) -> bool {
        [self.rest.current, self.rest.new].into_iter().flatten().any(|valid| {
            valid.ptmsi == claimed.ptmsi && cfg.signatures.accept(valid.signature(), claimed.signature())
        })
    }

    /// The subscriber is known: on to the authentication service.
    pub(super) fn identified(&mut self, cx: &mut Context<'_>, imsi: Imsi, out: &mut Batch<GmmAction>) {
        self.say(cx, Level::Debug, format_args!("IMSI {imsi} asks to be served"));
        if self.imsi != Some(imsi) {
            // What was given to another subscriber is not this one's.
            self.rest.imei = None;
            self.discard_new(out);
            if let Some(former) = self.rest.current.take() {
                out.push(GmmAction::FreePtmsi(former.ptmsi));
            }
            self.imsi = Some(imsi);
        }
        out.push(GmmAction::IdentityIsKnown { imsi });
        self.ask_subscriber(imsi, out);
    }

    /// The mobile may be served: its IMEI where that is asked for, then a P-TMSI, then the ACCEPT.
    pub(super) fn authenticated(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmConfig,
        out: &mut Batch<GmmAction>,
    ) {
        match self.rest.procedure {
            Procedure::Attach if cfg.ask_imei && self.rest.imei.is_none() => {
                self.ask_identity(cx, cfg, IdentityType::Imei, out);
            }
            Procedure::Attach => self.ask_ptmsi(out),
            Procedure::Update => self.update_authenticated(cx, cfg, out),
            Procedure::Detach if self.rest.auth.answered => self.mobile_leaves(false, out),
            // Nobody has challenged it: it says at least who it is.
            Procedure::Detach => self.ask_identity(cx, cfg, IdentityType::Imsi, out),
            Procedure::None => self.settle(),
        }
    }

    /// Asks the node for a P-TMSI.
    pub(super) fn ask_ptmsi(&mut self, out: &mut Batch<GmmAction>) {
        self.pause(Waiting::Ptmsi);
        out.push(GmmAction::AllocatePtmsi);
    }

    /// ATTACH REJECT (clause 4.7.3.1.4) or ROUTING AREA UPDATE REJECT (clause 4.7.5.1.4). The context ends with it.
    pub(super) fn reject(&mut self, cx: &mut Context<'_>, cause: GmmCause, out: &mut Batch<GmmAction>) {
        cx.drop_of(Drop::GmmRejected, self.imsi);
        let what = match self.rest.procedure {
            Procedure::Attach => "ATTACH REJECT",
            Procedure::Update => "ROUTING AREA UPDATE REJECT",
            Procedure::Detach => "the detach is given up",
            Procedure::None => "the context ends",
        };
        self.say(cx, Level::Notice, format_args!("{what}: {cause}"));
        if let Some(imsi) = self.imsi {
            cx.trace.explained(crate::about::owner(imsi), format_args!("{what}: {cause}"));
        }
        match self.rest.procedure {
            Procedure::Attach => self.send(AttachReject { cause, t3302: None }.into(), out),
            Procedure::Update => {
                let force_to_standby = ForceToStandby::NotIndicated;
                self.send(RauReject { cause, force_to_standby, t3302: None }.into(), out);
            }
            // A mobile that leaves repeats its request, and gets an answer as a stranger.
            Procedure::None | Procedure::Detach => {}
        }
        self.release(out);
    }

    /// The mobile is attached, or still is: GMM-REGISTERED, and READY.
    pub(super) fn registered(&mut self, cx: &mut Context<'_>, cfg: &GmmConfig, out: &mut Batch<GmmAction>) {
        let attach = self.rest.procedure == Procedure::Attach || self.rest.waiting == Waiting::NewPtmsi;
        let update = self.rest.procedure == Procedure::Update && !attach;
        self.rest.deadlines.clear(super::GmmTimer::ImplicitDetach);
        self.enter_ready(cx, cfg, out);
        self.settle();
        if attach {
            self.inform_once_attached(cfg);
            out.push(GmmAction::Registered);
        }
        if update {
            out.push(GmmAction::Updated);
        }
    }
}
