//! Authentication and ciphering (clause 4.7.7), the mobile's side.
//!
//! A failure of the network's proof stops the timer of the procedure in progress and gives the network T3318 or T3320 to
//! mend it. When that runs out, or with the third failure in a row, the network is not genuine: its cell is barred, and
//! the procedure goes on where it stood (clauses 4.7.7.6 f and g, 4.7.7.6.1).

use super::context::{GmmMsContext, GmmMsState, GmmMsTimer, Service};
use super::{GmmMsAction, GmmMsConfig};
use crate::about::About as _;
use crate::auth::{CardAnswer, Res};
use gannet_machine::drops::Drop;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context};
use gannet_wire::l3::gmm::{AuthenticationFailure, AuthenticationRequest, AuthenticationResponse};
use gannet_wire::l3::ie::{
    AcReference, AuthParameterResponse, Auts, Cksn, ExtendedResponse, GmmCause, ImeisvRequest,
    MobileIdentity, Octets,
};

/// Failures in a row that a genuine network does not cause (clause 4.7.7.6 f).
const FAILURES_MAX: u8 = 3;

impl GmmMsContext {
    /// AUTHENTICATION AND CIPHERING REQUEST (clause 4.7.7.2): the card answers a challenge; without a challenge the
    /// request only sets the cipher.
    pub(super) fn authentication(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmMsConfig,
        request: &AuthenticationRequest,
        out: &mut Batch<GmmMsAction>,
    ) {
        match self.state {
            GmmMsState::RegisteredInitiated
            | GmmMsState::Registered
            | GmmMsState::DeregisteredInitiated
            | GmmMsState::RoutingAreaUpdatingInitiated => {}
            GmmMsState::Null | GmmMsState::Deregistered => {
                return self.unexpected(cx, "AUTHENTICATION AND CIPHERING REQUEST", out);
            }
        }
        match request.rand {
            Some(rand) => self.challenged(cx, cfg, request, rand.0, out),
            // There is no key to cipher with.
            None if self.cksn == Cksn::NO_KEY && request.ciphering.0 != 0 => {
                self.unexpected(cx, "an order to cipher", out);
            }
            None => {
                self.asked(request);
                self.respond(cx, None, out);
            }
        }
    }

    /// What the response will need of its request.
    const fn asked(&mut self, request: &AuthenticationRequest) {
        self.auth.reference = request.reference.0;
        self.auth.algorithm = request.ciphering.0;
        self.auth.imeisv = matches!(request.imeisv_request, ImeisvRequest::Requested);
    }

    /// A challenge. The last one once more, as after a lost response, is answered without the card, which would take it
    /// for a replay.
    fn challenged(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmMsConfig,
        request: &AuthenticationRequest,
        rand: [u8; 16],
        out: &mut Batch<GmmMsAction>,
    ) {
        let kept = self.deadlines.is_set(GmmMsTimer::Challenge) && self.auth.rand == rand;
        self.asked(request);
        self.auth.cksn = request.cksn.unwrap_or(Cksn::NO_KEY).0;
        if kept && request.autn.is_some() {
            let res = self.auth.res;
            return self.authenticated(cx, cfg, &res, out);
        }
        self.auth.rand = rand;
        self.auth.asked = true;
        out.push(GmmMsAction::AskSim { rand, autn: request.autn.map(|autn| autn.0) });
    }

    /// The card has answered.
    pub(super) fn sim_answer(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmMsConfig,
        answer: CardAnswer,
        out: &mut Batch<GmmMsAction>,
    ) {
        let asked = core::mem::take(&mut self.auth.asked);
        match (self.state, answer) {
            // The mobile was detached meanwhile.
            (GmmMsState::Null | GmmMsState::Deregistered, _) => self.ignored(cx, "the card's answer"),
            _ if !asked => self.ignored(cx, "an answer of the card that nobody asked for"),
            (_, CardAnswer::Sres(sres)) => {
                self.deadlines.clear(GmmMsTimer::Challenge);
                self.authenticated(cx, cfg, &Res::from_start(&sres), out);
            }
            (_, CardAnswer::Res(res)) => {
                self.auth.res = res;
                self.deadlines.set(GmmMsTimer::Challenge, cx.now + cfg.t3316);
                self.authenticated(cx, cfg, &res, out);
            }
            (_, CardAnswer::SynchFailure(auts)) => {
                self.failed(cx, cfg, GmmCause::SynchFailure, Some(Auts(auts)), out);
            }
            (_, CardAnswer::MacFailure) => self.failed(cx, cfg, GmmCause::MacFailure, None, out),
            (_, CardAnswer::Unable) => {
                self.failed(cx, cfg, GmmCause::GsmAuthenticationUnacceptable, None, out);
            }
        }
    }

    /// The card accepts the network: a new key, and what was stopped by a failure goes on.
    fn authenticated(
        &mut self,
        cx: &Context<'_>,
        cfg: &GmmMsConfig,
        res: &Res,
        out: &mut Batch<GmmMsAction>,
    ) {
        self.cksn = Cksn(self.auth.cksn);
        self.end_failures(cx, cfg);
        self.respond(cx, Some(res), out);
    }

    /// AUTHENTICATION AND CIPHERING RESPONSE. It goes out with the cipher that was in use until now.
    fn respond(&mut self, cx: &Context<'_>, res: Option<&Res>, out: &mut Batch<GmmMsAction>) {
        let more = res.and_then(|res| res.as_slice().get(4..)).filter(|more| !more.is_empty());
        let response = AuthenticationResponse {
            reference: AcReference(self.auth.reference),
            response: res.map(|res| AuthParameterResponse(core::array::from_fn(|n| res.octet(n)))),
            imeisv: self.imeisv().filter(|_| self.auth.imeisv).map(MobileIdentity::Imeisv),
            extended_response: more.map(|more| ExtendedResponse(Octets::from_start(more))),
        };
        self.send(cx, response.into(), out);
        out.push(GmmMsAction::Authenticated { algorithm: self.auth.algorithm });
    }

    /// AUTHENTICATION AND CIPHERING FAILURE (clause 4.7.7.6 f and g): T3318 or T3320 starts, T3310, T3321 or T3330 stops.
    fn failed(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmMsConfig,
        cause: GmmCause,
        auts: Option<Auts>,
        out: &mut Batch<GmmMsAction>,
    ) {
        let line = format_args!("the network's challenge is not accepted: {cause}");
        cx.log_of(Some(self.imsi), Category::Mm, Level::Notice, line);
        let in_a_row = [GmmMsTimer::MacFailure, GmmMsTimer::SynchFailure]
            .iter()
            .any(|timer| self.deadlines.is_set(*timer));
        self.auth.failures = if in_a_row { self.auth.failures + 1 } else { 1 };
        self.send(cx, AuthenticationFailure { cause, auts }.into(), out);
        if self.auth.failures >= FAILURES_MAX {
            return self.not_genuine(cx, cfg, out);
        }
        self.auth.stopped |= self.deadlines.is_set(GmmMsTimer::Procedure);
        self.clear_failure_timers();
        self.deadlines.clear(GmmMsTimer::Procedure);
        let (timer, span) = match cause {
            GmmCause::SynchFailure => (GmmMsTimer::SynchFailure, cfg.t3320),
            _ => (GmmMsTimer::MacFailure, cfg.t3318),
        };
        self.deadlines.set(timer, cx.now + span);
    }

    /// T3318 or T3320 has expired, or the network has failed too often (clause 4.7.7.6.1).
    pub(super) fn not_genuine(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmMsConfig,
        out: &mut Batch<GmmMsAction>,
    ) {
        cx.drop_of(Drop::GmmNotGenuine, Some(self.imsi));
        self.end_failures(cx, cfg);
        if let Some(cell) = self.cell {
            out.push(GmmMsAction::BarCell(cell));
        }
    }

    /// T3318 and T3320 stop; T3310, T3321 or T3330 starts where one of them was stopped.
    fn end_failures(&mut self, cx: &Context<'_>, cfg: &GmmMsConfig) {
        self.clear_failure_timers();
        self.auth.failures = 0;
        let stopped = core::mem::take(&mut self.auth.stopped);
        match self.state {
            GmmMsState::RegisteredInitiated
            | GmmMsState::DeregisteredInitiated
            | GmmMsState::RoutingAreaUpdatingInitiated
                if stopped =>
            {
                self.deadlines.set(GmmMsTimer::Procedure, cx.now + cfg.retry);
            }
            // That of an IMSI detach.
            GmmMsState::Registered if stopped && self.service == Service::ImsiDetachInitiated => {
                self.deadlines.set(GmmMsTimer::Procedure, cx.now + cfg.retry);
            }
            GmmMsState::Null
            | GmmMsState::Deregistered
            | GmmMsState::RegisteredInitiated
            | GmmMsState::Registered
            | GmmMsState::DeregisteredInitiated
            | GmmMsState::RoutingAreaUpdatingInitiated => {}
        }
    }

    fn clear_failure_timers(&mut self) {
        self.deadlines.clear(GmmMsTimer::MacFailure);
        self.deadlines.clear(GmmMsTimer::SynchFailure);
    }

    /// AUTHENTICATION AND CIPHERING REJECT (clause 4.7.7.5): the card is invalid until the mobile is switched off.
    pub(super) fn authentication_reject(&mut self, cx: &mut Context<'_>, out: &mut Batch<GmmMsAction>) {
        match self.state {
            GmmMsState::RegisteredInitiated
            | GmmMsState::Registered
            | GmmMsState::DeregisteredInitiated
            | GmmMsState::RoutingAreaUpdatingInitiated => {
                cx.drop_of(Drop::GmmAuthenticationFailed, Some(self.imsi));
                self.forget_identity();
                self.has_tmsi = false;
                self.wants_attach = false;
                self.deregister(Service::NoImsi, None, out);
            }
            GmmMsState::Null | GmmMsState::Deregistered => {
                self.unexpected(cx, "AUTHENTICATION AND CIPHERING REJECT", out);
            }
        }
    }
}
