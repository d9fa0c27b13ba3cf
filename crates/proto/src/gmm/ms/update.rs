//! Routing area updating (clause 4.7.5.1), the mobile's side: into a new routing area, and periodic.

use super::context::{GmmMsContext, GmmMsState, GmmMsTimer, NonGprs, Service};
use super::{GmmMsAction, GmmMsConfig};
use crate::gmm::span;
use gannet_machine::{Batch, Context};
use gannet_wire::id::{Rai, Tlli};
use gannet_wire::l3::gmm::RauRequest;
use gannet_wire::l3::ie::UpdateType;

impl GmmMsContext {
    /// One attempt to update (clause 4.7.5.1.1), or the wish for one where there is no cell to make it in.
    pub(super) fn start_update(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmMsConfig,
        periodic: bool,
        out: &mut Batch<GmmMsAction>,
    ) {
        self.put_imsi_detach_off(out);
        for timer in [GmmMsTimer::Procedure, GmmMsTimer::Retry, GmmMsTimer::Periodic] {
            self.deadlines.clear(timer);
        }
        self.state = GmmMsState::Registered;
        let Some(cell) = self.cell else {
            self.service = Service::NoCell;
            return;
        };
        if self.is_shut_out(cell.rai) {
            self.service = Service::Limited;
            self.periodic = periodic;
            return;
        }
        if let Some(identity) = self.identity {
            let here = self.rai == Some(cell.rai);
            let tlli = if here { Tlli::local(identity.ptmsi) } else { Tlli::foreign(identity.ptmsi) };
            self.change_tlli(tlli, out);
        }
        self.periodic = periodic;
        self.state = GmmMsState::RoutingAreaUpdatingInitiated;
        self.service = Service::Normal;
        self.tries = 0;
        self.asks_both = self.updates_both(cfg);
        self.send_update_request(cx, cfg, cell.rai, out);
    }

    /// ROUTING AREA UPDATE REQUEST, and T3330.
    pub(super) fn send_update_request(
        &mut self,
        cx: &Context<'_>,
        cfg: &GmmMsConfig,
        here: Rai,
        out: &mut Batch<GmmMsAction>,
    ) {
        self.tries += 1;
        self.deadlines.set(GmmMsTimer::Procedure, cx.now + cfg.retry);
        let request = RauRequest {
            update_type: UpdateType { kind: self.update_kind(), follow_on: false },
            cksn: self.cksn,
            old_rai: self.rai.unwrap_or(here),
            ms_radio_access_capability: cfg.radio_access_capability.clone(),
            old_ptmsi_signature: self.identity.and_then(|identity| identity.signature()),
            requested_ready_timer: cfg.requested_ready_timer,
            drx: None,
            tmsi_status: self.tmsi_status(),
            ptmsi: None,
            ms_network_capability: None,
            pdp_context_status: Some(self.active_nsapis),
        };
        self.send(cx, request.into(), out);
    }

    /// The update has failed otherwise than by a reject that says what follows (clause 4.7.5.1.5): T3311 until the
    /// next attempt, after the fifth attempt T3302.
    pub(super) fn update_failed(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmMsConfig,
        out: &mut Batch<GmmMsAction>,
    ) {
        self.deadlines.clear(GmmMsTimer::Procedure);
        if self.wants_detach {
            return self.detached(cx, cfg, out);
        }
        self.state = GmmMsState::Registered;
        self.attempts = self.attempts.saturating_add(1);
        // Where the network has it the mobile goes on being served until the last attempt.
        let here = self.cell.is_some_and(|cell| Some(cell.rai) == self.rai);
        self.service =
            if here && self.attempts < cfg.attempts { Service::Normal } else { Service::Attempting };
        self.retry_later(cx, cfg);
        // An IMSI detach waits for the next attempt where there is one, and the network has to be told.
        let waits = self.non_gprs == NonGprs::Attached && self.deadlines.is_set(GmmMsTimer::Retry);
        if self.wants_imsi_detach && !waits {
            self.imsi_detached(cx, cfg, out);
        }
    }

    /// T3311, or T3302 after the last of the attempts. A T3302 that is deactivated leaves it to the next change of
    /// routing area.
    pub(super) fn retry_later(&mut self, cx: &Context<'_>, cfg: &GmmMsConfig) {
        let wait = if self.attempts < cfg.attempts { Some(cfg.t3311) } else { span(self.t3302) };
        if let Some(wait) = wait {
            self.deadlines.set(GmmMsTimer::Retry, cx.now + wait);
        }
    }

    /// T3311 or T3302 has expired: the next attempt.
    pub(super) fn retry(&mut self, cx: &mut Context<'_>, cfg: &GmmMsConfig, out: &mut Batch<GmmMsAction>) {
        if self.attempts >= cfg.attempts {
            self.attempts = 0;
        }
        match self.state {
            GmmMsState::Deregistered => self.start_attach(cx, cfg, out),
            GmmMsState::Registered => self.start_update(cx, cfg, self.periodic, out),
            // Stopped when the procedure began.
            GmmMsState::Null
            | GmmMsState::RegisteredInitiated
            | GmmMsState::DeregisteredInitiated
            | GmmMsState::RoutingAreaUpdatingInitiated => {}
        }
    }
}
