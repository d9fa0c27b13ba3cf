//! Mobility management: what GMM asks of the mobile is done here; cells, paging and suspension.

use super::directory::Names;
use super::mobile::{Mobile, Suspension};
use super::{Failure, Ms, MsEvent, Owner, Procedure};
use gannet_machine::drops::Drop;
use gannet_machine::timers::TimerName as _;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context};
use gannet_proto::about::About as _;
use gannet_proto::bearer::{PagedIdentity, Request};
use gannet_proto::gmm::MmState;
use gannet_proto::gmm::ms::{GmmMsAction, GmmMsEvent, GmmMsState, PagedBy};
use gannet_proto::llc::Ciphering;
use gannet_proto::user_plane::Outputs;
use gannet_wire::id::Tlli;
use gannet_wire::l3::L3Message;
use gannet_wire::l3::gmm::GmmMessage;
use gannet_wire::l3::ie::GmmCause;

impl Ms {
    /// Gives an event to a mobile's GMM and does what follows.
    pub(super) fn gmm(&mut self, cx: &mut Context<'_>, index: u32, event: GmmMsEvent) {
        let Some(mobile) = self.mobiles.get_mut(index as usize) else { return };
        let rejected = rejection(mobile, &event);
        let mut actions = Batch::default();
        mobile.gmm.active_nsapis = mobile.sm.status();
        mobile.gmm.handle(cx, &self.config.gmm, event, &mut actions);
        self.gmm_actions(cx, index, &mut actions);
        if let Some((procedure, cause)) = rejected {
            self.tell(MsEvent::Rejected { mobile: index, procedure, cause: Failure::Gmm(cause) });
        }
    }

    /// A deadline of a mobile's GMM may be due.
    pub(super) fn wake_gmm(&mut self, cx: &mut Context<'_>, index: u32) {
        let Some(mobile) = self.mobiles.get_mut(index as usize) else { return };
        let before = mobile.gmm.state();
        let mut actions = Batch::default();
        mobile.gmm.active_nsapis = mobile.sm.status();
        mobile.gmm.expire(cx, &self.config.gmm, &mut actions);
        let after = mobile.gmm.state();
        self.gmm_actions(cx, index, &mut actions);
        let procedure = match before {
            GmmMsState::RegisteredInitiated => Procedure::Attach,
            GmmMsState::RoutingAreaUpdatingInitiated => Procedure::RoutingAreaUpdate,
            GmmMsState::Null
            | GmmMsState::Deregistered
            | GmmMsState::Registered
            | GmmMsState::DeregisteredInitiated => return,
        };
        if before != after {
            self.tell(MsEvent::Rejected { mobile: index, procedure, cause: Failure::NoAnswer });
        }
    }

    /// An LLC frame was sent that GMM did not ask for. The frequent case, a mobile that is READY, leaves no action and
    /// allocates nothing.
    pub(super) fn frame_sent(&mut self, cx: &mut Context<'_>, index: u32) {
        let Some(mobile) = self.mobiles.get_mut(index as usize) else { return };
        let mut actions = core::mem::take(&mut self.gmm_scratch);
        mobile.gmm.handle(cx, &self.config.gmm, GmmMsEvent::LlcFrameSent, &mut actions);
        self.gmm_actions(cx, index, &mut actions);
        self.gmm_scratch = actions;
    }

    fn gmm_actions(&mut self, cx: &mut Context<'_>, index: u32, actions: &mut Batch<GmmMsAction>) {
        if !actions.is_empty() {
            while let Some(action) = actions.pop() {
                self.gmm_action(cx, index, action, actions);
            }
            self.rename(index);
            // Contexts that wait for the end of a procedure (04.08 clause 4.7.1).
            self.activate_ordered(cx, index);
            self.release_held(cx, index);
        }
        self.tell_room(index);
        if let Some(mobile) = self.mobiles.get_mut(index as usize) {
            mobile.gmm.deadlines.arm(Owner::Gmm.key(index, 0), cx.timers);
        }
    }

    fn gmm_action(
        &mut self,
        cx: &mut Context<'_>,
        index: u32,
        action: GmmMsAction,
        actions: &mut Batch<GmmMsAction>,
    ) {
        match action {
            GmmMsAction::Send { mut message, tlli } => {
                if let GmmMessage::RauComplete(complete) = &mut message {
                    complete.receive_npdu_numbers = self.receive_numbers(index);
                }
                self.send_l3(cx, index, tlli, &L3Message::Gmm(message));
            }
            GmmMsAction::AssignTlli { new, old } => {
                if let Some(mobile) = self.mobiles.get_mut(index as usize) {
                    mobile.llc.assign(Some(new), old, mobile.llc.ciphering());
                }
                self.camp_on(cx, index);
            }
            GmmMsAction::UnassignTlli { old } => self.unassign_tlli(index, old),
            GmmMsAction::SendCellUpdate => self.cell_update(cx, index),
            GmmMsAction::AskSim { rand, autn } => {
                let answer = self.ask_sim(index, &rand, autn.as_ref()).map(GmmMsEvent::SimAnswer);
                if let (Some(mobile), Some(answer)) = (self.mobiles.get_mut(index as usize), answer) {
                    mobile.gmm.handle(cx, &self.config.gmm, answer, actions);
                }
            }
            GmmMsAction::Authenticated { algorithm } => self.set_cipher(cx, index, algorithm),
            // Who selects the cells decides what follows; GMM has counted it.
            GmmMsAction::BarCell(cell) => {
                let whose = self.imsi_of(index);
                cx.log_of(whose, Category::Mm, Level::Notice, format_args!("cell {} is barred", cell.ci));
            }
            GmmMsAction::Registered => self.registered(index),
            GmmMsAction::Deregistered { cause } => self.deregistered(index, cause),
            GmmMsAction::Updated => {
                let rai = self.mobiles.get(index as usize).and_then(|mobile| mobile.gmm.routing_area());
                if let Some(rai) = rai {
                    self.tell(MsEvent::Updated { mobile: index, rai });
                }
                self.try_links(cx, index);
            }
            GmmMsAction::NPduNumbers(numbers) => self.n_pdu_numbers(cx, index, &numbers),
            GmmMsAction::NonGprs { standing, cause } => {
                self.tell(MsEvent::NonGprs { mobile: index, standing, cause });
            }
            GmmMsAction::MmStateChanged(state) => self.mm_state_changed(cx, index, state),
            GmmMsAction::DeletePdpContexts(contexts) => self.forget_contexts(cx, index, contexts),
        }
    }

    fn mm_state_changed(&self, cx: &mut Context<'_>, index: u32, state: MmState) {
        if let Some(imsi) = self.imsi_of(index) {
            cx.log(Category::Mm, Level::Debug, format_args!("IMSI {imsi}: MM state {state}"));
        }
    }

    fn registered(&mut self, index: u32) {
        let Some(mobile) = self.mobiles.get_mut(index as usize) else { return };
        mobile.tells_detached = true;
        let ptmsi = mobile.gmm.ptmsi();
        self.stats.attached += 1;
        self.tell(MsEvent::Attached { mobile: index, ptmsi });
    }

    fn deregistered(&mut self, index: u32, cause: Option<GmmCause>) {
        let Some(mobile) = self.mobiles.get_mut(index as usize) else { return };
        if core::mem::take(&mut mobile.tells_detached) {
            self.tell(MsEvent::Detached { mobile: index, cause });
        }
    }

    fn unassign_tlli(&mut self, index: u32, old: Tlli) {
        let Some(mobile) = self.mobiles.get_mut(index as usize) else { return };
        if mobile.llc.tlli_old() == Some(old) {
            let current = mobile.llc.tlli();
            mobile.llc.assign(current, None, mobile.llc.ciphering());
        } else if mobile.llc.tlli() == Some(old) {
            // 04.64 clause 8.3.3: everything ends.
            mobile.llc.assign(None, Some(old), Ciphering::NONE);
        }
    }

    /// An LLC frame without content, which tells the network where the mobile is.
    fn cell_update(&mut self, cx: &mut Context<'_>, index: u32) {
        if !self.needs_cell_update(index) {
            return;
        }
        let Some(mobile) = self.mobiles.get(index as usize) else { return };
        let mut out = Outputs::default();
        mobile.llc.trigger_request(cx, &mut out.llc);
        self.layers_outputs(cx, index, Tlli::UNASSIGNED, &mut out);
        self.cell_update_sent(cx, index);
    }

    /// Keeps the directory up to date with a mobile's names.
    fn rename(&mut self, index: u32) {
        let Some(mobile) = self.mobiles.get_mut(index as usize) else { return };
        let names = names_of(mobile);
        let old = core::mem::replace(&mut mobile.names, names);
        self.directory.rename(index, old, names);
    }

    /// The mobile selects a cell: it tells the network that it is there, and GMM.
    pub(super) fn select_cell(&mut self, cx: &mut Context<'_>, index: u32, cell: u16) {
        let id = self.config.cells.get(usize::from(cell)).copied();
        let (Some(mobile), Some(id)) = (self.mobiles.get_mut(index as usize), id) else {
            return self.refuse(cx, index, format_args!("there is no cell {cell}"));
        };
        mobile.former_cell = mobile.cell.replace(cell);
        self.camp_on(cx, index);
        self.comes_to(cx, index, cell);
        self.gmm(cx, index, GmmMsEvent::CellSelected(id));
        self.rename(index);
    }

    /// Its bearer's link is there: the mobile is in that cell.
    pub(super) fn link_up(&mut self, cx: &mut Context<'_>, index: u32, cell: u16) {
        let is_there = self.mobiles.get(index as usize).is_some_and(|mobile| mobile.cell == Some(cell));
        if !is_there {
            self.select_cell(cx, index, cell);
        }
    }

    /// The mobile has no cell any more.
    pub(super) fn lose_cell(&mut self, cx: &mut Context<'_>, index: u32) {
        let Some(mobile) = self.mobiles.get_mut(index as usize) else {
            return self.refuse(cx, index, format_args!("it is to lose its cell"));
        };
        (mobile.cell, mobile.former_cell) = (None, None);
        self.gmm(cx, index, GmmMsEvent::CellLost);
        self.rename(index);
    }

    /// Tells the bearer that the mobile is in its cell and by which TLLI it can be reached.
    fn camp_on(&mut self, cx: &mut Context<'_>, index: u32) {
        let Some(mobile) = self.mobiles.get(index as usize) else { return };
        let tlli = mobile.llc.tlli().unwrap_or(Tlli::UNASSIGNED);
        self.request(cx, index, tlli, Request::Reachable);
    }

    /// The mobile is in its first cell where it has none yet.
    pub(super) fn switch_on(&mut self, cx: &mut Context<'_>, index: u32) {
        let has_cell = self.mobiles.get(index as usize).is_some_and(|mobile| mobile.cell.is_some());
        if has_cell {
            return;
        }
        let found = self.set_out(cx, index);
        let first = self.config.first_cell(index).filter(|_| !self.finds_its_cell(index));
        if let Some(cell) = found.or(first) {
            self.select_cell(cx, index, cell);
        }
    }

    /// The mobile has heard its name.
    pub(super) fn paged(&mut self, cx: &mut Context<'_>, index: u32, identity: PagedIdentity) {
        self.stats.pagings += 1;
        let by = match identity {
            PagedIdentity::PTmsi(_) => PagedBy::PTmsi,
            PagedIdentity::Imsi(_) => PagedBy::Imsi,
        };
        self.gmm(cx, index, GmmMsEvent::Paged(by));
    }

    /// The mobile begins something circuit-switched: GPRS SUSPENSION REQUEST (03.60 clause 16.2.1.1.1).
    pub(super) fn suspend(&mut self, cx: &mut Context<'_>, index: u32) {
        let Some(mobile) = self.mobiles.get_mut(index as usize) else { return };
        let Some((rai, tlli)) = mobile.gmm.routing_area().zip(mobile.llc.tlli()) else {
            return self.refuse(cx, index, format_args!("nothing is to be suspended, it is not attached"));
        };
        if mobile.suspension == Suspension::None {
            mobile.suspension = Suspension::Asked;
            self.request(cx, index, tlli, Request::Suspend(rai));
            self.tell_room(index);
        }
    }

    pub(super) fn suspend_ack(&mut self, cx: &mut Context<'_>, index: Option<u32>, reference: u8) {
        match index.and_then(|index| self.mobiles.get_mut(index as usize)) {
            Some(mobile) if mobile.suspension != Suspension::None => {
                mobile.suspension = Suspension::Acknowledged(reference);
            }
            _ => cx.drop(Drop::MsNotSuspended, None),
        }
    }

    /// That is over. The BSS resumes GPRS where it knows of the suspension; otherwise any LLC frame does (clause
    /// 16.2.1.1.2).
    pub(super) fn resume(&mut self, cx: &mut Context<'_>, index: u32) {
        let Some(mobile) = self.mobiles.get_mut(index as usize) else { return };
        let (rai, tlli) = (mobile.gmm.routing_area(), mobile.llc.tlli());
        match (core::mem::take(&mut mobile.suspension), rai, tlli) {
            (Suspension::Acknowledged(reference), Some(rai), Some(tlli)) => {
                self.request(cx, index, tlli, Request::Resume { rai, reference });
            }
            (Suspension::Acknowledged(_) | Suspension::Asked, _, Some(_)) => self.cell_update(cx, index),
            (Suspension::None, _, _) | (_, _, None) => {
                self.refuse(cx, index, format_args!("GPRS is not suspended"));
            }
        }
        self.try_links(cx, index);
    }
}

fn names_of(mobile: &Mobile) -> Names {
    let in_cell = |tlli: Option<Tlli>| mobile.cell.zip(tlli);
    Names {
        ptmsi: mobile.gmm.routing_area().zip(mobile.gmm.ptmsi()),
        tllis: [in_cell(mobile.llc.tlli()), in_cell(mobile.llc.tlli_old())],
    }
}

/// The procedure that a message ends with a reject.
fn rejection(mobile: &Mobile, event: &GmmMsEvent) -> Option<(Procedure, GmmCause)> {
    let GmmMsEvent::Message { message, tlli: _ } = event else { return None };
    match (message, mobile.gmm.state()) {
        (GmmMessage::AttachReject(reject), GmmMsState::RegisteredInitiated) => {
            Some((Procedure::Attach, reject.cause))
        }
        (GmmMessage::RauReject(reject), GmmMsState::RoutingAreaUpdatingInitiated) => {
            Some((Procedure::RoutingAreaUpdate, reject.cause))
        }
        _ => None,
    }
}
