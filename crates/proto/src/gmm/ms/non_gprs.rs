//! The mobile's non-GPRS services: what combined procedures ask for besides, and what becomes of it (clauses 4.7.3.2,
//! 4.7.4.1.3 and 4.7.5.2).
//!
//! Circuit-switched services themselves are no part of this mobile; a TMSI that it is given it only remembers having.

use super::context::{GmmMsContext, GmmMsState, GmmMsTimer, NonGprs, Service};
use super::{GmmMsAction, GmmMsConfig};
use gannet_machine::{Batch, Context};
use gannet_wire::l3::ie::{DetachKindMo, GmmCause, MobileIdentity, TmsiStatus, UpdateKind};

impl GmmMsContext {
    /// How the mobile stands with non-GPRS services; of interest where it asks for combined procedures.
    #[must_use]
    pub const fn non_gprs(&self) -> NonGprs {
        self.non_gprs
    }

    /// Is the next attach or update into another routing area a combined one?
    pub(super) const fn wants_both(&self, cfg: &GmmMsConfig) -> bool {
        match self.non_gprs {
            NonGprs::Wanted | NonGprs::Attached => cfg.combined,
            NonGprs::Detached | NonGprs::Refused => false,
        }
    }

    /// The mobile wants non-GPRS services and does not have them.
    pub(super) fn lacks_non_gprs(&self, cfg: &GmmMsConfig) -> bool {
        cfg.combined && self.non_gprs == NonGprs::Wanted
    }

    /// Is the update that begins a combined one? A periodic one is so only to make up for the IMSI attach.
    pub(super) fn updates_both(&self, cfg: &GmmMsConfig) -> bool {
        self.wants_both(cfg) && !(self.periodic && self.non_gprs == NonGprs::Attached)
    }

    /// The update type of the update in progress (clause 4.7.5.2.1).
    pub(super) fn update_kind(&self) -> UpdateKind {
        match (self.asks_both, self.non_gprs, self.periodic) {
            (true, NonGprs::Attached, _) => UpdateKind::Combined,
            (true, NonGprs::Wanted | NonGprs::Detached | NonGprs::Refused, _) => {
                UpdateKind::CombinedWithImsiAttach
            }
            (false, _, true) => UpdateKind::Periodic,
            (false, _, false) => UpdateKind::Ra,
        }
    }

    /// The TMSI status of a combined request: said where there is no TMSI (clauses 4.7.3.2.1 and 4.7.5.2.1).
    pub(super) fn tmsi_status(&self) -> Option<TmsiStatus> {
        (self.asks_both && !self.has_tmsi).then_some(TmsiStatus::NotAvailable)
    }

    /// What an ACCEPT for both services says about the TMSI; true for a new one, which is to be completed (clauses
    /// 4.7.3.2.3.1 and 4.7.5.2.3.1).
    pub(super) fn takes_tmsi(&mut self, both: bool, identity: Option<&MobileIdentity>) -> bool {
        match identity {
            Some(MobileIdentity::PTmsi(_)) if both && self.asks_both => {
                self.has_tmsi = true;
                true
            }
            Some(MobileIdentity::Imsi(_)) if both && self.asks_both => {
                self.has_tmsi = false;
                false
            }
            Some(
                MobileIdentity::None
                | MobileIdentity::Imsi(_)
                | MobileIdentity::Imei(_)
                | MobileIdentity::Imeisv(_)
                | MobileIdentity::PTmsi(_),
            )
            | None => false,
        }
    }

    /// What an ACCEPT means to non-GPRS services. Where it was for GPRS only and may be for both later, the attempt
    /// counter of `attempts` goes up: it is the result (clauses 4.7.3.2.3.2 and 4.7.5.2.3.2; without a known cause 4.7.3.2.5
    /// and 4.7.5.2.5).
    pub(super) fn non_gprs_result(
        &mut self,
        both: bool,
        cause: Option<GmmCause>,
        attempts: u8,
        out: &mut Batch<GmmMsAction>,
    ) -> Option<u8> {
        if !self.asks_both {
            return None;
        }
        let refused = matches!(cause, Some(GmmCause::ImsiUnknownInHlr | GmmCause::CsDomainNotAvailable));
        let standing = match (both, refused) {
            (true, _) => NonGprs::Attached,
            (false, true) => NonGprs::Refused,
            (false, false) => NonGprs::Wanted,
        };
        // Cause 2: TMSI and location area are deleted.
        self.has_tmsi &= both || cause != Some(GmmCause::ImsiUnknownInHlr);
        self.stand(standing, cause.filter(|_| !both), out);
        (standing == NonGprs::Wanted).then_some(attempts.saturating_add(1))
    }

    /// GMM-REGISTERED.ATTEMPTING-TO-UPDATE-MM: the next combined update, with IMSI attach, after T3311, or after T3302 when
    /// the counter is at its end.
    pub(super) fn try_non_gprs_later(&mut self, cx: &Context<'_>, cfg: &GmmMsConfig, attempts: Option<u8>) {
        let Some(attempts) = attempts else { return };
        self.service = Service::AttemptingMm;
        self.periodic = false;
        self.attempts = attempts;
        self.retry_later(cx, cfg);
    }

    fn stand(&mut self, standing: NonGprs, cause: Option<GmmCause>, out: &mut Batch<GmmMsAction>) {
        self.non_gprs = standing;
        out.push(GmmMsAction::NonGprs { standing, cause });
    }

    /// Someone wants the mobile attached: for non-GPRS services too.
    pub(super) fn want_non_gprs(&mut self) {
        if self.non_gprs == NonGprs::Detached {
            self.non_gprs = NonGprs::Wanted;
        }
    }

    /// The mobile is attached no more. The network does not keep it for non-GPRS services alone: there is no MM
    /// connection here in which they could be asked for.
    pub(super) fn leave_non_gprs(&mut self, out: &mut Batch<GmmMsAction>) {
        let detaches = self.state == GmmMsState::Registered && self.service == Service::ImsiDetachInitiated;
        let again = core::mem::take(&mut self.wants_imsi_attach);
        let ordered = core::mem::take(&mut self.wants_imsi_detach) || (detaches && !again);
        let standing = match self.non_gprs {
            NonGprs::Wanted | NonGprs::Attached if ordered => NonGprs::Detached,
            NonGprs::Wanted | NonGprs::Attached => NonGprs::Wanted,
            NonGprs::Detached => NonGprs::Detached,
            NonGprs::Refused => NonGprs::Refused,
        };
        if standing != self.non_gprs {
            self.stand(standing, None, out);
        }
    }

    /// The detach of a mobile that leaves is from all that it is attached for (clause 4.7.4.1). One that is still asking for
    /// both may have been accepted for both.
    pub(super) const fn detach_kind(&self) -> DetachKindMo {
        match (self.non_gprs, self.state) {
            (NonGprs::Attached, _) => DetachKindMo::Combined,
            (NonGprs::Wanted, GmmMsState::RegisteredInitiated | GmmMsState::RoutingAreaUpdatingInitiated)
                if self.asks_both =>
            {
                DetachKindMo::Combined
            }
            (NonGprs::Wanted | NonGprs::Detached | NonGprs::Refused, _) => DetachKindMo::Gprs,
        }
    }

    /// The user wants no non-GPRS services any more (clause 4.7.4.1.1).
    pub(super) fn imsi_detach(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmMsConfig,
        out: &mut Batch<GmmMsAction>,
    ) {
        if !self.wants_both(cfg) {
            self.wants_imsi_detach = false;
            return self.ignored(cx, "an order to detach from non-GPRS services");
        }
        match (self.state, self.service, self.non_gprs) {
            (GmmMsState::RegisteredInitiated | GmmMsState::RoutingAreaUpdatingInitiated, _, _) => {
                self.wants_imsi_detach = true;
            }
            (GmmMsState::Registered, Service::ImsiDetachInitiated, _) if self.wants_imsi_attach => {
                self.wants_imsi_attach = false;
            }
            (GmmMsState::Registered, Service::ImsiDetachInitiated, _)
            | (GmmMsState::DeregisteredInitiated, _, _) => {
                self.ignored(cx, "an order to detach from non-GPRS services");
            }
            // An update goes first.
            (GmmMsState::Registered, Service::Normal | Service::Attempting, NonGprs::Attached)
                if self.deadlines.is_set(GmmMsTimer::Retry) =>
            {
                self.wants_imsi_detach = true;
            }
            (GmmMsState::Registered, Service::Normal, NonGprs::Attached) if !self.barred => {
                self.wants_imsi_detach = false;
                self.service = Service::ImsiDetachInitiated;
                self.leaves = DetachKindMo::Imsi;
                self.tries = 0;
                self.try_detach(cx, cfg, out);
            }
            // Nobody to be told, or nobody can be told (clause 4.7.4.1.4 f).
            (GmmMsState::Null | GmmMsState::Deregistered | GmmMsState::Registered, _, _) => {
                self.imsi_detached(cx, cfg, out);
            }
        }
    }

    /// The IMSI detach is over, with an answer or without (clauses 4.7.4.1.3, 4.7.4.1.4 a and b). An order that came
    /// meanwhile is next.
    pub(super) fn imsi_detached(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmMsConfig,
        out: &mut Batch<GmmMsAction>,
    ) {
        let again = self.wants_imsi_attach;
        self.end_non_gprs();
        self.stand(NonGprs::Detached, None, out);
        if again {
            self.imsi_attach(cx, cfg, out);
        }
    }

    /// An update begins. Clause 4.7.4.1.4 e: an IMSI detach begins again after it. Where it is not wanted any more it may
    /// have been carried out nevertheless, so that the update is one with IMSI attach.
    pub(super) fn put_imsi_detach_off(&mut self, out: &mut Batch<GmmMsAction>) {
        if self.service != Service::ImsiDetachInitiated {
            return;
        }
        if core::mem::take(&mut self.wants_imsi_attach) {
            self.stand(NonGprs::Wanted, None, out);
        } else {
            self.wants_imsi_detach = true;
        }
    }

    /// Nothing is asked of the network any more.
    fn end_non_gprs(&mut self) {
        self.wants_imsi_detach = false;
        self.wants_imsi_attach = false;
        match self.service {
            Service::ImsiDetachInitiated => {
                self.deadlines.clear(GmmMsTimer::Procedure);
                self.service = Service::Normal;
            }
            Service::AttemptingMm => {
                self.deadlines.clear(GmmMsTimer::Retry);
                self.attempts = 0;
                self.service = Service::Normal;
            }
            Service::Normal | Service::Limited | Service::Attempting | Service::NoCell | Service::NoImsi => {}
        }
    }

    /// The user wants non-GPRS services again: a combined update with IMSI attach (clause 4.7.5.2.1), or with the next attach.
    pub(super) fn imsi_attach(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmMsConfig,
        out: &mut Batch<GmmMsAction>,
    ) {
        match (self.non_gprs, self.state) {
            (NonGprs::Wanted | NonGprs::Attached, _) if self.wants_imsi_detach => {
                self.wants_imsi_detach = false;
            }
            // When the detach is over.
            (NonGprs::Attached, GmmMsState::Registered) if self.service == Service::ImsiDetachInitiated => {
                self.wants_imsi_attach = true;
            }
            (NonGprs::Detached, GmmMsState::Registered) if cfg.combined => {
                self.non_gprs = NonGprs::Wanted;
                self.attempts = 0;
                self.start_update(cx, cfg, false, out);
            }
            (
                NonGprs::Detached,
                GmmMsState::Null
                | GmmMsState::Deregistered
                | GmmMsState::RegisteredInitiated
                | GmmMsState::DeregisteredInitiated
                | GmmMsState::RoutingAreaUpdatingInitiated,
            ) if cfg.combined => self.non_gprs = NonGprs::Wanted,
            (NonGprs::Wanted | NonGprs::Attached | NonGprs::Detached | NonGprs::Refused, _) => {
                self.ignored(cx, "an order to attach for non-GPRS services");
            }
        }
    }

    /// The network has detached the mobile from non-GPRS services (clause 4.7.4.2.2): it asks for them again, in a combined
    /// update with IMSI attach, unless the network does not know it there.
    pub(super) fn imsi_detached_by_network(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmMsConfig,
        cause: Option<GmmCause>,
        out: &mut Batch<GmmMsAction>,
    ) {
        let is_unknown = cause == Some(GmmCause::ImsiUnknownInHlr);
        match (self.non_gprs, self.service) {
            (NonGprs::Wanted | NonGprs::Attached, _) if cfg.combined && is_unknown => {
                self.end_non_gprs();
                self.has_tmsi = false;
                self.stand(NonGprs::Refused, cause, out);
            }
            (NonGprs::Attached, Service::ImsiDetachInitiated) => self.imsi_detached(cx, cfg, out),
            (NonGprs::Attached, _) => {
                self.stand(NonGprs::Wanted, cause, out);
                self.attempts = 0;
                self.start_update(cx, cfg, false, out);
            }
            // The mobile has nothing to lose there.
            (NonGprs::Wanted | NonGprs::Detached | NonGprs::Refused, _) => {}
        }
    }
}
