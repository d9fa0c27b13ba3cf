//! What follows from ATTACH REJECT (clause 4.7.3.1.4), ROUTING AREA UPDATE REJECT (clause 4.7.5.1.4) and the cause of a
//! DETACH REQUEST (clause 4.7.4.2.2).

use super::context::{Forbidden, GmmMsContext, GmmMsState, GmmMsTimer, Service};
use super::{GmmMsAction, GmmMsConfig};
use crate::about::About as _;
use crate::gmm::Consequence;
use gannet_machine::drops::Drop;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context};
use gannet_wire::id::Rai;
use gannet_wire::l3::ie::{GmmCause, GprsTimer};

impl GmmMsContext {
    /// ATTACH REJECT.
    pub(super) fn attach_reject(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmMsConfig,
        cause: GmmCause,
        t3302: Option<GprsTimer>,
        out: &mut Batch<GmmMsAction>,
    ) {
        match self.state {
            GmmMsState::RegisteredInitiated => {
                self.rejected(cx, cause, t3302);
                match Consequence::of(cause) {
                    Consequence::MuchLater => {
                        self.attempts = cfg.attempts;
                        self.attach_failed(cx, cfg, out);
                    }
                    // Causes 9 and 10 have no meaning of their own here (clause 4.7.3.1.5 d).
                    Consequence::Later | Consequence::AttachByImsi | Consequence::AttachAgain => {
                        self.attach_failed(cx, cfg, out);
                    }
                    consequence @ (Consequence::NoService
                    | Consequence::OtherPlmn
                    | Consequence::OtherLocationArea) => self.leave(consequence, cause, out),
                }
            }
            GmmMsState::Null
            | GmmMsState::Deregistered
            | GmmMsState::Registered
            | GmmMsState::DeregisteredInitiated
            | GmmMsState::RoutingAreaUpdatingInitiated => self.unexpected(cx, "ATTACH REJECT", out),
        }
    }

    /// ROUTING AREA UPDATE REJECT.
    pub(super) fn update_reject(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmMsConfig,
        cause: GmmCause,
        t3302: Option<GprsTimer>,
        out: &mut Batch<GmmMsAction>,
    ) {
        match self.state {
            GmmMsState::RoutingAreaUpdatingInitiated => {}
            GmmMsState::Null
            | GmmMsState::Deregistered
            | GmmMsState::RegisteredInitiated
            | GmmMsState::Registered
            | GmmMsState::DeregisteredInitiated => {
                return self.unexpected(cx, "ROUTING AREA UPDATE REJECT", out);
            }
        }
        self.rejected(cx, cause, t3302);
        match (Consequence::of(cause), cause) {
            (Consequence::Later, _) => self.update_failed(cx, cfg, out),
            (Consequence::MuchLater, _) => {
                self.attempts = cfg.attempts;
                self.update_failed(cx, cfg, out);
            }
            // Causes 13 and 15 leave the mobile registered where it was.
            (Consequence::OtherLocationArea, GmmCause::RoamingNotAllowed | GmmCause::NoSuitableCells)
                if !self.wants_detach =>
            {
                self.forbid(Consequence::OtherLocationArea);
                self.deadlines.clear(GmmMsTimer::Procedure);
                self.state = GmmMsState::Registered;
                self.service = Service::Limited;
                self.attempts = 0;
            }
            (consequence @ (Consequence::AttachByImsi | Consequence::AttachAgain), _) => {
                if consequence == Consequence::AttachByImsi {
                    self.forget_identity();
                }
                let again = !self.wants_detach;
                self.deregister(Service::Normal, Some(cause), out);
                self.attempts = 0;
                if again {
                    self.start_attach(cx, cfg, out);
                }
            }
            (
                consequence @ (Consequence::NoService
                | Consequence::OtherPlmn
                | Consequence::OtherLocationArea),
                _,
            ) => self.leave(consequence, cause, out),
        }
    }

    /// A detach by the network that is not to be followed by an attach (clause 4.7.4.2.2).
    pub(super) fn detached_by_network(&mut self, cause: Option<GmmCause>, out: &mut Batch<GmmMsAction>) {
        match cause.map(|cause| (Consequence::of(cause), cause)) {
            Some((
                consequence @ (Consequence::NoService
                | Consequence::OtherPlmn
                | Consequence::OtherLocationArea),
                cause,
            )) => self.leave(consequence, cause, out),
            Some((
                Consequence::AttachByImsi
                | Consequence::AttachAgain
                | Consequence::Later
                | Consequence::MuchLater,
                _,
            ))
            | None => {
                self.wants_attach = false;
                self.deregister(Service::Normal, cause, out);
            }
        }
    }

    /// The mobile is not served here: no P-TMSI, no RAI, no context.
    fn leave(&mut self, consequence: Consequence, cause: GmmCause, out: &mut Batch<GmmMsAction>) {
        self.forbid(consequence);
        self.forget_identity();
        self.has_tmsi &= !deletes_tmsi(cause);
        self.attempts = 0;
        self.wants_attach = consequence != Consequence::NoService && !self.wants_detach;
        let service = if consequence == Consequence::NoService { Service::NoImsi } else { Service::Limited };
        self.deregister(service, Some(cause), out);
    }

    fn rejected(&mut self, cx: &mut Context<'_>, cause: GmmCause, t3302: Option<GprsTimer>) {
        cx.drop_of(Drop::GmmRejected, Some(self.imsi));
        // What a person is told of it is the node's: which procedure has failed, and why.
        let line = format_args!("rejected in {}: {cause}", self.state);
        cx.log_of(Some(self.imsi), Category::Mm, Level::Debug, line);
        if let Some(t3302) = t3302 {
            self.t3302 = t3302;
        }
    }

    fn forbid(&mut self, consequence: Consequence) {
        let Some(rai) = self.cell.map(|cell| cell.rai) else { return };
        let place = match consequence {
            Consequence::OtherPlmn => Forbidden::Plmn(rai.plmn),
            Consequence::OtherLocationArea => Forbidden::LocationArea(rai.plmn, rai.lac),
            Consequence::NoService
            | Consequence::AttachByImsi
            | Consequence::AttachAgain
            | Consequence::Later
            | Consequence::MuchLater => return,
        };
        self.forbidden.retain(|known| *known != place);
        if self.forbidden.len() >= Forbidden::MAX {
            self.forbidden.remove(0);
        }
        self.forbidden.push(place);
    }

    /// Was the mobile told not to be here?
    pub(super) fn is_forbidden(&self, rai: Rai) -> bool {
        self.forbidden.iter().any(|place| place.includes(rai))
    }

    /// Nothing may be sent here: the place is forbidden, or access is barred (clauses 4.7.3.1.5 a and 4.7.5.1.5 a).
    pub(super) fn is_shut_out(&self, rai: Rai) -> bool {
        self.barred || self.is_forbidden(rai)
    }
}

/// Whether the TMSI goes with the P-TMSI (clauses 4.7.3.2.4, 4.7.4.2.2 and 4.7.5.2.4). With causes 7 and 14 the mobile only
/// loses GPRS.
const fn deletes_tmsi(cause: GmmCause) -> bool {
    matches!(
        cause,
        GmmCause::IllegalMs
            | GmmCause::IllegalMe
            | GmmCause::GprsAndNonGprsNotAllowed
            | GmmCause::PlmnNotAllowed
            | GmmCause::LocationAreaNotAllowed
            | GmmCause::RoamingNotAllowed
            | GmmCause::NoSuitableCells
    )
}
