//! The MM state (03.60 clause 6.1 [23.060]): READY, STANDBY and IDLE, cell updates, paging, and reachability.

use super::context::{GmmTimer, Orders, Waiting};
use super::{GmmAction, GmmConfig, GmmContext, Uplink};
use crate::about::About as _;
use crate::gmm::{Cell, MmState, span};
use gannet_machine::drops::Drop;
use gannet_machine::trace::Level;
use gannet_machine::{Batch, Context};
use gannet_wire::id::{PTmsi, Tlli};

impl GmmContext {
    /// Any LLC frame of the mobile: it is in this cell, it is reached by this TLLI, and it is READY
    /// (clause 4.7.2.1; cell update of 03.60 clause 6.9.1.1; answer to paging of clause 4.7.9.1.1).
    pub(super) fn heard(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmConfig,
        from: Uplink,
        out: &mut Batch<GmmAction>,
    ) {
        self.tlli = from.tlli;
        let old = core::mem::replace(&mut self.cell, from.cell);
        if self.mm == MmState::Idle {
            if self.rest.waiting == Waiting::NewPtmsi && self.uses_new_locally() {
                self.confirm_new(out);
                self.registered(cx, cfg, out);
            }
            return;
        }
        if address(old) != address(from.cell) {
            out.push(GmmAction::CellChanged { old, new: from.cell });
        }
        if self.rest.waiting == Waiting::Nothing && self.uses_new_locally() {
            self.confirm_new(out);
        }
        let was_ready = self.mm == MmState::Ready;
        self.enter_ready(cx, cfg, out);
        if !was_ready && self.rest.waiting == Waiting::DetachAccept {
            self.send_detach(out);
        }
    }

    fn uses_new_locally(&self) -> bool {
        self.rest.new.is_some_and(|new| self.tlli == Tlli::local(new.ptmsi))
    }

    /// READY, with T3314 from its beginning; nothing watches over reachability meanwhile.
    pub(super) fn enter_ready(&mut self, cx: &Context<'_>, cfg: &GmmConfig, out: &mut Batch<GmmAction>) {
        self.rest.reachable = true;
        for timer in [GmmTimer::Paging, GmmTimer::MobileReachable, GmmTimer::ImplicitDetach] {
            self.rest.deadlines.clear(timer);
        }
        self.set_mm(MmState::Ready, out);
        match span(self.rest.ready_timer) {
            Some(span) if span.0 == 0 => self.enter_standby(cx, cfg, out),
            Some(span) => self.rest.deadlines.set(GmmTimer::Ready, cx.now + span),
            None => self.rest.deadlines.clear(GmmTimer::Ready),
        }
    }

    fn enter_standby(&mut self, cx: &Context<'_>, cfg: &GmmConfig, out: &mut Batch<GmmAction>) {
        self.rest.deadlines.clear(GmmTimer::Ready);
        self.set_mm(MmState::Standby, out);
        if let Some(span) = span(cfg.t3312) {
            self.rest.deadlines.set(GmmTimer::MobileReachable, cx.now + span + cfg.reachable_margin);
        }
    }

    /// The radio has lost the mobile: it is found again by paging, when something is there for it.
    pub(super) fn radio_contact_lost(
        &mut self,
        cx: &Context<'_>,
        cfg: &GmmConfig,
        out: &mut Batch<GmmAction>,
    ) {
        match self.mm {
            MmState::Ready => self.enter_standby(cx, cfg, out),
            MmState::Idle | MmState::Standby => {}
        }
    }

    /// Goes on after a restart of the node, whose clock begins anew.
    ///
    /// What the mobile has sent since it was kept is not known, so it counts as one in STANDBY, which it enters now: whatever
    /// it sends makes it READY, what comes for it has it paged, and it is reachable for as long as after its last frame. What
    /// it was asked is asked again; where nobody but the node itself was asked, the mobile is, and it repeats its request.
    pub fn restore(&mut self, cx: &Context<'_>, cfg: &GmmConfig) {
        self.rest.deadlines.clear_all();
        self.rest.paging_tries = 0;
        if self.mm != MmState::Idle {
            self.rest.reachable = true;
            self.enter_standby(cx, cfg, &mut Batch::default());
        }
        match self.rest.waiting {
            Waiting::AuthService | Waiting::Ptmsi => self.settle(),
            Waiting::NewPtmsi => {
                self.rest.deadlines.set(GmmTimer::ImplicitDetach, cx.now + cfg.implicit_detach);
            }
            waiting @ (Waiting::Nothing
            | Waiting::IdentityImsi
            | Waiting::IdentityImei
            | Waiting::Authentication
            | Waiting::AttachComplete
            | Waiting::UpdateComplete
            | Waiting::ReallocationComplete
            | Waiting::DetachAccept) => self.again(cx, cfg, waiting),
        }
    }

    pub(super) fn set_mm(&mut self, mm: MmState, out: &mut Batch<GmmAction>) {
        if self.mm != mm {
            self.mm = mm;
            out.push(GmmAction::MmStateChanged(mm));
        }
    }

    /// A timer has expired.
    pub(super) fn timer(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmConfig,
        timer: GmmTimer,
        out: &mut Batch<GmmAction>,
    ) {
        match (timer, self.mm) {
            (GmmTimer::Procedure, _) => self.procedure_timer(cx, cfg, out),
            (GmmTimer::Ready, MmState::Ready) => self.enter_standby(cx, cfg, out),
            (GmmTimer::Paging, MmState::Standby) => self.page_again(cx, cfg, out),
            // 03.60 clause 6.1.2: the paging proceed flag is cleared.
            (GmmTimer::MobileReachable, MmState::Standby) => {
                self.rest.reachable = false;
                self.rest.deadlines.set(GmmTimer::ImplicitDetach, cx.now + cfg.implicit_detach);
            }
            // Also the end of an attach whose ATTACH COMPLETE never came.
            (GmmTimer::ImplicitDetach, MmState::Standby | MmState::Idle) => self.implicit_detach(cx, out),
            // Stopped when this state was entered.
            (GmmTimer::Ready, MmState::Idle | MmState::Standby)
            | (GmmTimer::Paging | GmmTimer::MobileReachable, MmState::Idle | MmState::Ready)
            | (GmmTimer::ImplicitDetach, MmState::Ready) => {}
        }
    }

    /// Something is to be sent to the mobile. In STANDBY it is paged first (clause 4.7.9.1.1).
    pub(super) fn downlink_data(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmConfig,
        out: &mut Batch<GmmAction>,
    ) {
        match self.mm {
            MmState::Idle => {
                cx.drop_of(Drop::GmmNotAttached, self.imsi);
                out.push(GmmAction::PagingFailed);
            }
            MmState::Standby if !self.rest.reachable => {
                cx.drop_of(Drop::GmmUnreachable, self.imsi);
                self.rest.orders = Orders::default();
                out.push(GmmAction::PagingFailed);
            }
            // Suspended: what is held waits for RESUME or a routing area update. Paged already: it waits for T3313.
            MmState::Standby if self.suspended || self.rest.deadlines.is_set(GmmTimer::Paging) => {}
            MmState::Standby => {
                self.rest.paging_tries = 0;
                self.page(cx, cfg, out);
            }
            MmState::Ready => {}
        }
    }

    fn page(&mut self, cx: &Context<'_>, cfg: &GmmConfig, out: &mut Batch<GmmAction>) {
        let Some(imsi) = self.imsi else { return };
        self.rest.paging_tries += 1;
        self.rest.deadlines.set(GmmTimer::Paging, cx.now + cfg.t3313);
        let ptmsi = self.paged_by(cfg);
        out.push(GmmAction::Page { imsi, ptmsi, rai: self.rest.rai, drx: self.drx });
    }

    /// The P-TMSI of this paging. Where two are valid, the old one has the first half of the tries and the new one the
    /// rest (clause 4.7.6.4 b).
    fn paged_by(&self, cfg: &GmmConfig) -> Option<PTmsi> {
        let is_late = self.rest.paging_tries > cfg.paging_tries.div_ceil(2);
        self.new_ptmsi().filter(|_| is_late).or_else(|| self.ptmsi())
    }

    /// T3313 has expired (clause 4.7.9.1.1: the network may page again).
    fn page_again(&mut self, cx: &mut Context<'_>, cfg: &GmmConfig, out: &mut Batch<GmmAction>) {
        if self.rest.paging_tries < cfg.paging_tries {
            self.page(cx, cfg, out);
        } else {
            cx.drop_of(Drop::GmmPagingFailed, self.imsi);
            self.rest.orders = Orders::default();
            let tries = self.rest.paging_tries;
            self.say(cx, Level::Notice, format_args!("no answer to {tries} pagings"));
            out.push(GmmAction::PagingFailed);
        }
    }
}

const fn address(cell: Cell) -> (u16, u16) {
    (cell.nsei.0, cell.bvci.0)
}
