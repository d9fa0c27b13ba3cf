//! GPRS attach (clause 4.7.3.1), the mobile's side.

use super::context::{GmmMsContext, GmmMsState, GmmMsTimer, Service};
use super::{GmmMsAction, GmmMsConfig};
use gannet_machine::{Batch, Context};
use gannet_wire::id::{Rai, Tlli};
use gannet_wire::l3::gmm::AttachRequest;
use gannet_wire::l3::ie::{AttachKind, AttachType, MobileIdentity};

impl GmmMsContext {
    /// Someone wants the mobile attached.
    pub(super) fn attach(&mut self, cx: &mut Context<'_>, cfg: &GmmMsConfig, out: &mut Batch<GmmMsAction>) {
        match (self.state, self.service) {
            // Clause 4.2.4.1.6: without a valid card there is no attach until the mobile was switched off.
            (GmmMsState::Deregistered, Service::NoImsi) => self.ignored(cx, "an order to attach"),
            (GmmMsState::Null, _)
            | (
                GmmMsState::Deregistered,
                Service::Normal
                | Service::Limited
                | Service::Attempting
                | Service::AttemptingMm
                | Service::ImsiDetachInitiated
                | Service::NoCell,
            ) => {
                self.attempts = 0;
                self.want_non_gprs();
                self.start_attach(cx, cfg, out);
            }
            // When the detach is over.
            (GmmMsState::DeregisteredInitiated, _) => self.wants_attach = true,
            (
                GmmMsState::RegisteredInitiated
                | GmmMsState::Registered
                | GmmMsState::RoutingAreaUpdatingInitiated,
                _,
            ) => self.ignored(cx, "an order to attach"),
        }
    }

    /// One attach attempt (clause 4.7.3.1.1), or the wish for one where there is no cell to make it in.
    pub(super) fn start_attach(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmMsConfig,
        out: &mut Batch<GmmMsAction>,
    ) {
        self.deadlines.clear_all();
        self.wants_attach = true;
        self.state = GmmMsState::Deregistered;
        let Some(cell) = self.cell else {
            self.service = Service::NoCell;
            return;
        };
        if self.is_shut_out(cell.rai) {
            self.service = Service::Limited;
            return;
        }
        self.end_tllis(out);
        let tlli = match self.identity {
            Some(identity) => Tlli::foreign(identity.ptmsi),
            None => Tlli::random(cx.rng.u32()),
        };
        self.change_tlli(tlli, out);
        self.state = GmmMsState::RegisteredInitiated;
        self.service = Service::Normal;
        self.tries = 0;
        self.asks_both = self.wants_both(cfg);
        self.send_attach_request(cx, cfg, cell.rai, out);
    }

    /// ATTACH REQUEST, and T3310.
    pub(super) fn send_attach_request(
        &mut self,
        cx: &Context<'_>,
        cfg: &GmmMsConfig,
        here: Rai,
        out: &mut Batch<GmmMsAction>,
    ) {
        self.tries += 1;
        self.deadlines.set(GmmMsTimer::Procedure, cx.now + cfg.retry);
        let request = AttachRequest {
            ms_network_capability: cfg.network_capability,
            attach_type: AttachType {
                kind: if self.asks_both { AttachKind::Combined } else { AttachKind::Gprs },
                follow_on: false,
            },
            cksn: self.cksn,
            drx: cfg.drx,
            identity: match self.identity {
                Some(identity) => MobileIdentity::PTmsi(identity.ptmsi),
                None => MobileIdentity::Imsi(self.imsi),
            },
            old_rai: self.rai.unwrap_or(deleted(here)),
            ms_radio_access_capability: cfg.radio_access_capability.clone(),
            old_ptmsi_signature: self.identity.and_then(|identity| identity.signature()),
            requested_ready_timer: cfg.requested_ready_timer,
            tmsi_status: self.tmsi_status(),
        };
        self.send(cx, request.into(), out);
    }

    /// The attach has failed otherwise than by a reject that says what follows (clause 4.7.3.1.5): T3311 until the
    /// next attempt, after the fifth attempt T3302.
    pub(super) fn attach_failed(
        &mut self,
        cx: &Context<'_>,
        cfg: &GmmMsConfig,
        out: &mut Batch<GmmMsAction>,
    ) {
        self.deregister(Service::Attempting, None, out);
        self.wants_attach = true;
        self.attempts = self.attempts.saturating_add(1);
        if self.attempts >= cfg.attempts {
            self.forget_identity();
        }
        self.retry_later(cx, cfg);
    }
}

/// The RAI of a mobile that has none (clause 10.5.5.15; a deleted LAI has the LAC FFFE).
fn deleted(here: Rai) -> Rai {
    Rai { plmn: here.plmn, lac: 0xfffe, rac: 0xff }
}
