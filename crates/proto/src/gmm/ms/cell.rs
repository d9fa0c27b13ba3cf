//! Where the mobile is: cell changes, paging, and the timers of all procedures.

use super::context::{GmmMsContext, GmmMsState, GmmMsTimer, Service};
use super::{GmmMsAction, GmmMsConfig, PagedBy};
use crate::about::About as _;
use crate::gmm::MmState;
use gannet_machine::drops::Drop;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context};
use gannet_wire::id::{CellId, Tlli};

impl GmmMsContext {
    /// The mobile has selected a cell. Within its routing area that is told by any LLC frame, in READY only; another
    /// routing area is told by a routing area update (03.60 clause 6.9.1).
    pub(super) fn cell_selected(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmMsConfig,
        cell: CellId,
        out: &mut Batch<GmmMsAction>,
    ) {
        let former = self.cell.replace(cell);
        let same_area = former.is_some_and(|former| former.rai == cell.rai);
        // What held in the cell before says nothing about this one.
        let was_barred = former != Some(cell) && core::mem::take(&mut self.barred);
        match self.state {
            GmmMsState::Null => {}
            GmmMsState::Deregistered => self.selected_deregistered(cx, cfg, same_area, out),
            // Clauses 4.7.3.1.5 e and 4.7.5.1.5 e: aborted, and begun again at once.
            GmmMsState::RegisteredInitiated if !same_area => self.start_attach(cx, cfg, out),
            GmmMsState::RoutingAreaUpdatingInitiated if !same_area => self.start_update(cx, cfg, false, out),
            // Clause 4.7.4.1.4 e: the detach begins again after an update.
            GmmMsState::DeregisteredInitiated if !same_area => {
                self.wants_detach = true;
                self.start_update(cx, cfg, false, out);
            }
            // Clause 4.7.5.1.5 f: the network is told the cell before the update is over.
            GmmMsState::RoutingAreaUpdatingInitiated if former != Some(cell) => {
                out.push(GmmMsAction::SendCellUpdate);
                self.frame_sent(cx, out);
            }
            GmmMsState::RegisteredInitiated
            | GmmMsState::RoutingAreaUpdatingInitiated
            | GmmMsState::DeregisteredInitiated => {}
            GmmMsState::Registered if was_barred && self.service == Service::Limited => {
                self.access_granted(cx, cfg, out);
            }
            GmmMsState::Registered => {
                self.selected_registered(cx, cfg, same_area, former != Some(cell), out);
            }
        }
    }

    fn selected_deregistered(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmMsConfig,
        same_area: bool,
        out: &mut Batch<GmmMsAction>,
    ) {
        match self.service {
            Service::NoImsi => {}
            // ATTEMPTING-TO-ATTACH: a new routing area sets the counter back (clause 4.7.3).
            Service::Attempting if same_area => {}
            Service::Normal
            | Service::Limited
            | Service::Attempting
            | Service::AttemptingMm
            | Service::ImsiDetachInitiated
            | Service::NoCell => {
                self.attempts = 0;
                if self.wants_attach {
                    self.start_attach(cx, cfg, out);
                } else if self.service == Service::NoCell {
                    self.service = Service::Normal;
                }
            }
        }
    }

    fn selected_registered(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmMsConfig,
        same_area: bool,
        moved: bool,
        out: &mut Batch<GmmMsAction>,
    ) {
        let Some(cell) = self.cell else { return };
        let was = self.service;
        // ATTEMPTING-TO-UPDATE: T3311 or T3302 goes on until another routing area is entered (clause 4.7.5).
        if was == Service::Attempting && same_area {
            return;
        }
        if self.rai != Some(cell.rai) {
            self.attempts = 0;
            return self.start_update(cx, cfg, false, out);
        }
        // Back where it is registered: an update elsewhere that failed is forgotten, and so is its foreign TLLI. One
        // that failed here is tried again.
        let is_back = match was {
            Service::Normal | Service::AttemptingMm | Service::ImsiDetachInitiated => false,
            Service::Limited | Service::Attempting | Service::NoCell | Service::NoImsi => true,
        };
        if is_back {
            self.service = Service::Normal;
            self.deadlines.clear(GmmMsTimer::Retry);
        }
        if let Some(ptmsi) = self.ptmsi() {
            self.change_tlli(Tlli::local(ptmsi), out);
        }
        let overdue = self.mm == MmState::Standby
            && is_back
            && !self.deadlines.is_set(GmmMsTimer::Periodic)
            && crate::gmm::span(self.t3312).is_some();
        if is_back && self.lacks_non_gprs(cfg) {
            self.start_update(cx, cfg, false, out);
        } else if overdue {
            self.start_update(cx, cfg, true, out);
        } else if is_back && self.wants_imsi_detach {
            self.imsi_detach(cx, cfg, out);
        } else if self.mm == MmState::Ready && moved {
            out.push(GmmMsAction::SendCellUpdate);
            self.frame_sent(cx, out);
        }
    }

    /// Whether access to the cell is barred for the mobile's class (clauses 4.7.3.1.5 a, 4.7.4.1.4 f, 4.7.5.1.5 a). What is
    /// under way has its answer coming; what would have to start waits until access is granted, or for another cell.
    pub(super) fn access(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmMsConfig,
        barred: bool,
        out: &mut Batch<GmmMsAction>,
    ) {
        let was_barred = core::mem::replace(&mut self.barred, barred);
        if was_barred && !barred && self.service == Service::Limited {
            self.access_granted(cx, cfg, out);
        }
    }

    fn access_granted(&mut self, cx: &mut Context<'_>, cfg: &GmmMsConfig, out: &mut Batch<GmmMsAction>) {
        match self.state {
            GmmMsState::Deregistered if self.wants_attach => self.start_attach(cx, cfg, out),
            GmmMsState::Deregistered => self.service = Service::Normal,
            GmmMsState::Registered => {
                let here = self.cell.is_some_and(|cell| Some(cell.rai) == self.rai);
                self.start_update(cx, cfg, here && self.periodic, out);
            }
            // These have been let in.
            GmmMsState::Null
            | GmmMsState::RegisteredInitiated
            | GmmMsState::DeregisteredInitiated
            | GmmMsState::RoutingAreaUpdatingInitiated => {}
        }
    }

    /// The mobile has no cell. What was under way begins again with the next one.
    pub(super) fn cell_lost(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmMsConfig,
        out: &mut Batch<GmmMsAction>,
    ) {
        self.cell = None;
        match self.state {
            GmmMsState::Null => {}
            GmmMsState::Deregistered if self.service == Service::NoImsi => {}
            GmmMsState::Deregistered | GmmMsState::RegisteredInitiated => {
                let wants = self.wants_attach;
                if self.state == GmmMsState::RegisteredInitiated {
                    self.deregister(Service::NoCell, None, out);
                }
                self.deadlines.clear_all();
                self.service = Service::NoCell;
                self.wants_attach = wants;
            }
            GmmMsState::Registered => {
                if self.service == Service::ImsiDetachInitiated {
                    self.imsi_detached(cx, cfg, out);
                }
                self.service = Service::NoCell;
            }
            GmmMsState::RoutingAreaUpdatingInitiated => {
                self.deadlines.clear(GmmMsTimer::Procedure);
                self.state = GmmMsState::Registered;
                self.service = Service::NoCell;
            }
            GmmMsState::DeregisteredInitiated => self.deregister(Service::NoCell, None, out),
        }
    }

    /// The mobile was paged (clause 4.7.9.1).
    pub(super) fn paged(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmMsConfig,
        by: PagedBy,
        out: &mut Batch<GmmMsAction>,
    ) {
        match (self.state, by) {
            // Any LLC frame answers.
            (GmmMsState::Registered, PagedBy::PTmsi) => {
                out.push(GmmMsAction::SendCellUpdate);
                self.frame_sent(cx, out);
            }
            // Clause 4.7.9.1.2: the network has lost the mobile. It attaches again as if it were new.
            (GmmMsState::Registered | GmmMsState::RoutingAreaUpdatingInitiated, PagedBy::Imsi) => {
                cx.log_of(Some(self.imsi), Category::Mm, Level::Notice, format_args!("paged by IMSI"));
                self.forget_identity();
                self.deregister(Service::Normal, None, out);
                self.attempts = 0;
                self.start_attach(cx, cfg, out);
            }
            // The request under way answers already.
            (
                GmmMsState::RegisteredInitiated
                | GmmMsState::DeregisteredInitiated
                | GmmMsState::RoutingAreaUpdatingInitiated,
                _,
            )
            | (GmmMsState::Null | GmmMsState::Deregistered, _) => self.ignored(cx, "paging"),
        }
    }

    /// A timer has expired.
    pub(super) fn timer(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmMsConfig,
        timer: GmmMsTimer,
        out: &mut Batch<GmmMsAction>,
    ) {
        match (timer, self.mm) {
            (GmmMsTimer::Procedure, _) => self.procedure_timer(cx, cfg, out),
            (GmmMsTimer::Retry, _) => self.retry(cx, cfg, out),
            (GmmMsTimer::Ready, MmState::Ready) => self.enter_standby(cx, out),
            (GmmMsTimer::Periodic, MmState::Standby) => match self.state {
                // Without a cell it is made up for when there is one again (clause 4.7.2.2).
                GmmMsState::Registered if self.service == Service::Attempting => {}
                GmmMsState::Registered => self.start_update(cx, cfg, true, out),
                GmmMsState::Null
                | GmmMsState::Deregistered
                | GmmMsState::RegisteredInitiated
                | GmmMsState::DeregisteredInitiated
                | GmmMsState::RoutingAreaUpdatingInitiated => {}
            },
            // RAND and RES are not kept any longer.
            (GmmMsTimer::Challenge, _) => {}
            (GmmMsTimer::MacFailure | GmmMsTimer::SynchFailure, _) => self.not_genuine(cx, cfg, out),
            // Stopped when this state was entered.
            (GmmMsTimer::Ready, MmState::Idle | MmState::Standby)
            | (GmmMsTimer::Periodic, MmState::Idle | MmState::Ready) => {}
        }
    }

    /// T3310, T3321 or T3330 has expired: the request once more, and after the last try the end of the procedure
    /// (clauses 4.7.3.1.5 c, 4.7.4.1.4 a, 4.7.5.1.5 c).
    fn procedure_timer(&mut self, cx: &mut Context<'_>, cfg: &GmmMsConfig, out: &mut Batch<GmmMsAction>) {
        let again = self.tries < cfg.tries;
        if !again {
            cx.drop_of(Drop::GmmNoAnswer, Some(self.imsi));
        }
        match (self.state, self.cell) {
            (GmmMsState::RegisteredInitiated, Some(cell)) if again => {
                self.send_attach_request(cx, cfg, cell.rai, out);
            }
            (GmmMsState::RoutingAreaUpdatingInitiated, Some(cell)) if again => {
                self.send_update_request(cx, cfg, cell.rai, out);
            }
            (GmmMsState::DeregisteredInitiated, Some(_)) if again => self.try_detach(cx, cfg, out),
            (GmmMsState::Registered, Some(_)) if again && self.service == Service::ImsiDetachInitiated => {
                self.try_detach(cx, cfg, out);
            }
            (
                GmmMsState::RegisteredInitiated
                | GmmMsState::RoutingAreaUpdatingInitiated
                | GmmMsState::DeregisteredInitiated
                | GmmMsState::Registered,
                _,
            ) => self.procedure_failed(cx, cfg, out),
            // Stopped when the procedure ended.
            (GmmMsState::Null | GmmMsState::Deregistered, _) => {}
        }
    }

    /// LLC could not deliver the request: as after the last try (clauses 4.7.3.1.5 b, 4.7.4.1.4 b, 4.7.5.1.5 b).
    pub(super) fn lower_layer_failure(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmMsConfig,
        out: &mut Batch<GmmMsAction>,
    ) {
        self.procedure_failed(cx, cfg, out);
    }

    fn procedure_failed(&mut self, cx: &mut Context<'_>, cfg: &GmmMsConfig, out: &mut Batch<GmmMsAction>) {
        match self.state {
            GmmMsState::RegisteredInitiated => self.attach_failed(cx, cfg, out),
            GmmMsState::RoutingAreaUpdatingInitiated => self.update_failed(cx, cfg, out),
            GmmMsState::DeregisteredInitiated => self.detached(cx, cfg, out),
            GmmMsState::Registered if self.service == Service::ImsiDetachInitiated => {
                self.imsi_detached(cx, cfg, out);
            }
            GmmMsState::Null | GmmMsState::Deregistered | GmmMsState::Registered => {}
        }
    }
}
