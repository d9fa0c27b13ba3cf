//! GPRS detach (clause 4.7.4), the mobile's side.

use super::context::{GmmMsContext, GmmMsState, GmmMsTimer, NonGprs, Service};
use super::{GmmMsAction, GmmMsConfig};
use gannet_machine::{Batch, Context};
use gannet_wire::l3::gmm::{DetachAcceptMt, DetachRequestMo, DetachRequestMt};
use gannet_wire::l3::ie::{DetachTypeMo, DetachTypeMt, MobileIdentity};

impl GmmMsContext {
    /// Someone wants the mobile detached, or switches it off (clause 4.7.4.1.1). A running attach or update is
    /// aborted (clause 4.7.3.1.5 f).
    pub(super) fn detach(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmMsConfig,
        power_off: bool,
        out: &mut Batch<GmmMsAction>,
    ) {
        self.wants_attach = false;
        match (self.state, self.cell) {
            (GmmMsState::Null, _) => {}
            // Nobody to be told, or nobody can be told.
            (GmmMsState::Deregistered, _)
            | (
                GmmMsState::RegisteredInitiated
                | GmmMsState::Registered
                | GmmMsState::RoutingAreaUpdatingInitiated
                | GmmMsState::DeregisteredInitiated,
                None,
            ) => self.finish(power_off, out),
            (GmmMsState::DeregisteredInitiated, Some(_)) if power_off => self.finish(true, out),
            // Clause 4.7.4.1.4 f: a local detach, at once.
            (
                GmmMsState::RegisteredInitiated
                | GmmMsState::Registered
                | GmmMsState::RoutingAreaUpdatingInitiated,
                Some(_),
            ) if self.barred => self.finish(power_off, out),
            (GmmMsState::DeregisteredInitiated, Some(_)) => self.ignored(cx, "an order to detach"),
            (
                GmmMsState::RegisteredInitiated
                | GmmMsState::Registered
                | GmmMsState::RoutingAreaUpdatingInitiated,
                Some(_),
            ) => {
                self.deadlines.clear(GmmMsTimer::Retry);
                self.leaves = self.detach_kind();
                if power_off {
                    self.send_detach_request(cx, true, out);
                    self.finish(true, out);
                } else {
                    self.state = GmmMsState::DeregisteredInitiated;
                    self.service = Service::Normal;
                    self.tries = 0;
                    self.try_detach(cx, cfg, out);
                }
            }
        }
    }

    /// DETACH REQUEST, and T3321.
    pub(super) fn try_detach(&mut self, cx: &Context<'_>, cfg: &GmmMsConfig, out: &mut Batch<GmmMsAction>) {
        self.tries += 1;
        self.deadlines.set(GmmMsTimer::Procedure, cx.now + cfg.retry);
        self.send_detach_request(cx, false, out);
    }

    fn send_detach_request(&mut self, cx: &Context<'_>, power_off: bool, out: &mut Batch<GmmMsAction>) {
        let request = DetachRequestMo {
            detach_type: DetachTypeMo { kind: self.leaves, power_off },
            ptmsi: self.identity.map(|identity| MobileIdentity::PTmsi(identity.ptmsi)),
            ptmsi_signature: self.identity.and_then(|identity| identity.signature()),
        };
        self.send(cx, request.into(), out);
    }

    fn finish(&mut self, power_off: bool, out: &mut Batch<GmmMsAction>) {
        let service = self.idle_service();
        self.deregister(service, None, out);
        if power_off {
            self.state = GmmMsState::Null;
            self.forbidden = Vec::new();
            self.attempts = 0;
            self.non_gprs = NonGprs::default();
        }
    }

    /// The sub-state of a mobile that wants nothing.
    fn idle_service(&self) -> Service {
        match (self.service, self.cell) {
            (Service::NoImsi, _) => Service::NoImsi,
            (
                Service::Normal
                | Service::Limited
                | Service::Attempting
                | Service::AttemptingMm
                | Service::ImsiDetachInitiated
                | Service::NoCell,
                cell,
            ) => match cell {
                None => Service::NoCell,
                Some(_) => Service::Normal,
            },
        }
    }

    /// DETACH ACCEPT (clause 4.7.4.1.2).
    pub(super) fn detach_accept(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmMsConfig,
        out: &mut Batch<GmmMsAction>,
    ) {
        match self.state {
            GmmMsState::DeregisteredInitiated => self.detached(cx, cfg, out),
            // Clause 4.7.4.1.3: the mobile stays attached for GPRS.
            GmmMsState::Registered if self.service == Service::ImsiDetachInitiated => {
                self.imsi_detached(cx, cfg, out);
            }
            GmmMsState::Null
            | GmmMsState::Deregistered
            | GmmMsState::RegisteredInitiated
            | GmmMsState::Registered
            | GmmMsState::RoutingAreaUpdatingInitiated => self.unexpected(cx, "DETACH ACCEPT", out),
        }
    }

    /// The detach is over, with an answer or without (clause 4.7.4.1.4 a and b).
    pub(super) fn detached(&mut self, cx: &mut Context<'_>, cfg: &GmmMsConfig, out: &mut Batch<GmmMsAction>) {
        let again = self.wants_attach;
        self.finish(false, out);
        if again {
            self.attempts = 0;
            self.start_attach(cx, cfg, out);
        }
    }

    /// DETACH REQUEST from the network (clause 4.7.4.2.2).
    pub(super) fn detach_request(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmMsConfig,
        request: &DetachRequestMt,
        out: &mut Batch<GmmMsAction>,
    ) {
        match (self.state, request.detach_type) {
            (GmmMsState::Null, _) => self.ignored(cx, "DETACH REQUEST"),
            // Clause 4.7.3.1.5 g: only a detach that forbids an attach ends one.
            (GmmMsState::RegisteredInitiated, DetachTypeMt::ReattachRequired | DetachTypeMt::Imsi) => {
                self.ignored(cx, "DETACH REQUEST")
            }
            // Clause 4.7.5.1.5 g: the update goes on.
            (GmmMsState::RoutingAreaUpdatingInitiated, DetachTypeMt::Imsi) => {
                self.ignored(cx, "DETACH REQUEST")
            }
            (GmmMsState::Registered, DetachTypeMt::Imsi) => {
                self.answer_detach(cx, out);
                self.imsi_detached_by_network(cx, cfg, request.cause, out);
            }
            // The mobile is attached for nothing, or is leaving all that it is attached for.
            (GmmMsState::Deregistered | GmmMsState::DeregisteredInitiated, DetachTypeMt::Imsi) => {
                self.answer_detach(cx, out);
            }
            // A repetition: the DETACH ACCEPT was lost. Clause 4.7.4.1.4 c: both ends detach at once.
            (GmmMsState::Deregistered | GmmMsState::DeregisteredInitiated, _) => self.answer_detach(cx, out),
            (
                GmmMsState::Registered | GmmMsState::RoutingAreaUpdatingInitiated,
                DetachTypeMt::ReattachRequired,
            ) => {
                self.answer_detach(cx, out);
                let again = !self.wants_detach;
                self.deregister(Service::Normal, request.cause, out);
                self.attempts = 0;
                if again {
                    self.start_attach(cx, cfg, out);
                }
            }
            (
                GmmMsState::RegisteredInitiated
                | GmmMsState::Registered
                | GmmMsState::RoutingAreaUpdatingInitiated,
                DetachTypeMt::ReattachNotRequired,
            ) => {
                self.answer_detach(cx, out);
                self.detached_by_network(request.cause, out);
            }
        }
    }

    fn answer_detach(&mut self, cx: &Context<'_>, out: &mut Batch<GmmMsAction>) {
        if self.tlli != gannet_wire::id::Tlli::UNASSIGNED {
            self.send(cx, DetachAcceptMt {}.into(), out);
        }
    }
}
