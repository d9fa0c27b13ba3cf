//! What follows from ATTACH ACCEPT (clause 4.7.3.1.3) and ROUTING AREA UPDATE ACCEPT (clause 4.7.5.1.3).

use super::context::{GmmMsContext, GmmMsState, GmmMsTimer, Service};
use super::{GmmMsAction, GmmMsConfig};
use crate::gmm::{MmState, TemporaryIdentity, without};
use gannet_machine::{Batch, Context};
use gannet_wire::id::{PTmsi, Tlli};
use gannet_wire::l3::gmm::{AttachAccept, AttachComplete, RauAccept, RauComplete};
use gannet_wire::l3::ie::{
    AttachResult, ForceToStandby, GprsTimer, MobileIdentity, PTmsiSignature, UpdateResult,
};

impl GmmMsContext {
    /// ATTACH ACCEPT.
    pub(super) fn attach_accept(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmMsConfig,
        accept: &AttachAccept,
        out: &mut Batch<GmmMsAction>,
    ) {
        match self.state {
            GmmMsState::RegisteredInitiated => {}
            // The network has not got the ATTACH COMPLETE, or began again with a repeated ATTACH REQUEST; the latter
            // shows in another P-TMSI, and it has deleted the PDP contexts then (clause 4.7.3.1.6 e).
            GmmMsState::Registered => {
                let ptmsi = assigned(accept.allocated_ptmsi.as_ref(), None).map(|(ptmsi, _)| ptmsi);
                if ptmsi.is_some() && ptmsi != self.ptmsi() {
                    self.delete_pdp_contexts(self.active_nsapis, out);
                }
            }
            GmmMsState::Null
            | GmmMsState::Deregistered
            | GmmMsState::DeregisteredInitiated
            | GmmMsState::RoutingAreaUpdatingInitiated => return self.unexpected(cx, "ATTACH ACCEPT", out),
        }
        let (attached, counter) = (self.state == GmmMsState::RegisteredInitiated, self.attempts);
        self.rai = Some(accept.rai);
        self.accepted(accept.periodic_ra_update_timer, accept.negotiated_ready_timer, accept.t3302);
        let completes = assigned(accept.allocated_ptmsi.as_ref(), accept.ptmsi_signature);
        if let Some((ptmsi, signature)) = completes {
            self.take_identity(ptmsi, signature);
            self.change_tlli(Tlli::local(ptmsi), out);
        } else if let Some(identity) = &mut self.identity {
            *identity = TemporaryIdentity::new(identity.ptmsi, accept.ptmsi_signature);
            let local = Tlli::local(identity.ptmsi);
            self.change_tlli(local, out);
        }
        self.enter_ready(cx, out);
        let both = accept.result == AttachResult::Combined;
        if completes.is_some() | self.takes_tmsi(both, accept.ms_identity.as_ref()) {
            self.send(cx, AttachComplete {}.into(), out);
        }
        self.obey_standby(cx, accept.force_to_standby, out);
        if attached {
            out.push(GmmMsAction::Registered);
            let attempts = self.non_gprs_result(both, accept.gmm_cause, counter, out);
            self.try_non_gprs_later(cx, cfg, attempts);
            // It is the routing area updating attempt counter from now on.
            self.attempts = 0;
        }
        self.after_accept(cx, cfg, out);
    }

    /// ROUTING AREA UPDATE ACCEPT.
    pub(super) fn update_accept(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmMsConfig,
        accept: &RauAccept,
        out: &mut Batch<GmmMsAction>,
    ) {
        let completes = assigned(accept.allocated_ptmsi.as_ref(), accept.ptmsi_signature);
        match self.state {
            GmmMsState::RoutingAreaUpdatingInitiated => {}
            // The network has not got the ROUTING AREA UPDATE COMPLETE.
            GmmMsState::Registered if completes.is_some() => {}
            // A second answer to a request that was sent twice.
            GmmMsState::Registered => return self.ignored(cx, "a repeated ROUTING AREA UPDATE ACCEPT"),
            GmmMsState::Null
            | GmmMsState::Deregistered
            | GmmMsState::RegisteredInitiated
            | GmmMsState::DeregisteredInitiated => {
                return self.unexpected(cx, "ROUTING AREA UPDATE ACCEPT", out);
            }
        }
        let (updated, counter) = (self.state == GmmMsState::RoutingAreaUpdatingInitiated, self.attempts);
        self.rai = Some(accept.rai);
        // RAND and RES are not needed any more (clause 4.7.7.2).
        self.deadlines.clear(GmmMsTimer::Challenge);
        self.accepted(accept.periodic_ra_update_timer, accept.negotiated_ready_timer, accept.t3302);
        if let Some(network) = accept.pdp_context_status {
            self.delete_pdp_contexts(without(self.active_nsapis, network), out);
        }
        if let Some((ptmsi, signature)) = completes {
            self.take_identity(ptmsi, signature);
        } else if let Some(identity) = &mut self.identity {
            *identity = TemporaryIdentity::new(identity.ptmsi, accept.ptmsi_signature);
        }
        if let Some(identity) = self.identity {
            self.change_tlli(Tlli::local(identity.ptmsi), out);
        }
        self.enter_ready(cx, out);
        let both = accept.result == UpdateResult::Combined;
        let numbers = accept.receive_npdu_numbers.as_ref();
        if completes.is_some() | numbers.is_some() | self.takes_tmsi(both, accept.ms_identity.as_ref()) {
            self.send(cx, RauComplete { receive_npdu_numbers: None }.into(), out);
        }
        if let Some(numbers) = numbers {
            out.push(GmmMsAction::NPduNumbers(numbers.clone()));
        }
        self.obey_standby(cx, accept.force_to_standby, out);
        out.push(GmmMsAction::Updated);
        if updated {
            let attempts = self.non_gprs_result(both, accept.gmm_cause, counter, out);
            self.try_non_gprs_later(cx, cfg, attempts);
        }
        self.after_accept(cx, cfg, out);
    }

    fn accepted(&mut self, t3312: GprsTimer, t3314: Option<GprsTimer>, t3302: Option<GprsTimer>) {
        match (self.state, self.service) {
            // A repeated ACCEPT, while the mobile does something else.
            (GmmMsState::Registered, Service::AttemptingMm | Service::ImsiDetachInitiated) => {}
            (
                GmmMsState::Null
                | GmmMsState::Deregistered
                | GmmMsState::RegisteredInitiated
                | GmmMsState::Registered
                | GmmMsState::DeregisteredInitiated
                | GmmMsState::RoutingAreaUpdatingInitiated,
                _,
            ) => {
                self.deadlines.clear(GmmMsTimer::Procedure);
                self.deadlines.clear(GmmMsTimer::Retry);
                self.service = Service::Normal;
                self.attempts = 0;
            }
        }
        self.state = GmmMsState::Registered;
        if let Some(rai) = self.rai {
            self.forbidden.retain(|place| !place.includes(rai));
        }
        self.wants_attach = false;
        self.t3312 = t3312;
        if let Some(t3314) = t3314 {
            self.t3314 = t3314;
        }
        if let Some(t3302) = t3302 {
            self.t3302 = t3302;
        }
    }

    fn obey_standby(&mut self, cx: &Context<'_>, force: ForceToStandby, out: &mut Batch<GmmMsAction>) {
        if force == ForceToStandby::Indicated && self.mm == MmState::Ready {
            self.enter_standby(cx, out);
        }
    }

    /// What had to wait for the procedure: a detach, a cell in another routing area, or a change of mind about non-GPRS
    /// services.
    fn after_accept(&mut self, cx: &mut Context<'_>, cfg: &GmmMsConfig, out: &mut Batch<GmmMsAction>) {
        if core::mem::take(&mut self.wants_detach) {
            self.detach(cx, cfg, false, out);
        } else if self.cell.is_some_and(|cell| Some(cell.rai) != self.rai) {
            self.start_update(cx, cfg, false, out);
        } else if self.wants_imsi_detach {
            self.imsi_detach(cx, cfg, out);
        } else if self.lacks_non_gprs(cfg) && !self.asks_both {
            self.start_update(cx, cfg, false, out);
        }
    }
}

/// The P-TMSI of an ACCEPT. The element may hold any identity; only a P-TMSI means anything here.
fn assigned(
    element: Option<&MobileIdentity>,
    signature: Option<PTmsiSignature>,
) -> Option<(PTmsi, Option<PTmsiSignature>)> {
    match element {
        Some(MobileIdentity::PTmsi(ptmsi)) => Some((*ptmsi, signature)),
        Some(
            MobileIdentity::None
            | MobileIdentity::Imsi(_)
            | MobileIdentity::Imei(_)
            | MobileIdentity::Imeisv(_),
        )
        | None => None,
    }
}
