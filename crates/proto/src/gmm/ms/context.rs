//! The state of one mobile, and the steps that every procedure shares.

use super::GmmMsAction;
use crate::about::About as _;
use crate::auth::Res;
use crate::gmm::{MmState, NSAPIS, T3302_DEFAULT, T3312_DEFAULT, T3314_DEFAULT, TemporaryIdentity, span};
use gannet_machine::drops::Drop;
use gannet_machine::timers::Deadlines;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context};
use gannet_wire::id::{CellId, Imei, Imsi, PTmsi, Plmn, Rai, Tlli};
use gannet_wire::l3::gmm::{GmmMessage, GmmStatus};
use gannet_wire::l3::ie::{Cksn, DetachKindMo, GmmCause, GprsTimer, PTmsiSignature, PdpContextStatus};
use serde::{Deserialize, Serialize};

/// The GMM states of the mobile (clause 4.1.3.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GmmMsState {
    /// Switched off.
    Null,
    /// No GMM context.
    Deregistered,
    /// ATTACH REQUEST was sent; T3310 runs.
    RegisteredInitiated,
    /// Attached.
    Registered,
    /// DETACH REQUEST was sent; T3321 runs.
    DeregisteredInitiated,
    /// ROUTING AREA UPDATE REQUEST was sent; T3330 runs.
    RoutingAreaUpdatingInitiated,
}

impl core::fmt::Display for GmmMsState {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Null => "GMM-NULL",
            Self::Deregistered => "GMM-DEREGISTERED",
            Self::RegisteredInitiated => "GMM-REGISTERED-INITIATED",
            Self::Registered => "GMM-REGISTERED",
            Self::DeregisteredInitiated => "GMM-DEREGISTERED-INITIATED",
            Self::RoutingAreaUpdatingInitiated => "GMM-ROUTING-AREA-UPDATING-INITIATED",
        })
    }
}

/// The sub-state of GMM-DEREGISTERED and GMM-REGISTERED (clauses 4.1.3.1.2 and 4.1.3.1.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Service {
    /// NORMAL-SERVICE.
    Normal,
    /// LIMITED-SERVICE: the place is forbidden, or access to the cell barred.
    Limited,
    /// ATTEMPTING-TO-ATTACH or ATTEMPTING-TO-UPDATE: T3311 or T3302 runs.
    Attempting,
    /// ATTEMPTING-TO-UPDATE-MM: attached for GPRS only, until the next combined update; T3311 or T3302 runs.
    AttemptingMm,
    /// IMSI-DETACH-INITIATED: a DETACH REQUEST for non-GPRS services was sent; T3321 runs.
    ImsiDetachInitiated,
    /// NO-CELL-AVAILABLE.
    NoCell,
    /// NO-IMSI: the card is invalid for GPRS until the mobile is switched off.
    NoImsi,
}

/// How a mobile that asks for combined procedures stands with non-GPRS services.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum NonGprs {
    /// The next procedure asks for them.
    #[default]
    Wanted,
    /// IMSI attached.
    Attached,
    /// IMSI detached by its user.
    Detached,
    /// The network has none for it (causes 2 and 18), and is not asked until the mobile was switched off.
    Refused,
}

impl core::fmt::Display for NonGprs {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Wanted => "wanted",
            Self::Attached => "attached",
            Self::Detached => "detached",
            Self::Refused => "refused",
        })
    }
}

gannet_machine::timer_names! {
    /// The timers of one mobile (clause 11.2.2).
    pub enum GmmMsTimer {
        /// T3310, T3321 or T3330: one procedure runs at a time.
        Procedure = "T3310, T3321 or T3330",
        /// T3311 or T3302.
        Retry = "T3311 or T3302",
        /// T3312: the periodic routing area update.
        Periodic = "T3312",
        /// T3314: READY becomes STANDBY.
        Ready = "T3314",
        /// T3316: RAND and RES of the last UMTS challenge are kept (clause 4.7.7.2).
        Challenge = "T3316",
        /// T3318: after MAC failure and GSM authentication unacceptable (clause 4.7.7.6 f).
        MacFailure = "T3318",
        /// T3320: after synch failure (clause 4.7.7.6 g).
        SynchFailure = "T3320",
    }
}

/// Where the mobile was told not to be: one entry of the lists of clause 4.7.3, which hold ten or more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Forbidden {
    Plmn(Plmn),
    LocationArea(Plmn, u16),
}

impl Forbidden {
    /// Entries that are kept; the oldest gives way.
    pub const MAX: usize = 10;

    pub fn includes(self, rai: Rai) -> bool {
        match self {
            Self::Plmn(plmn) => plmn == rai.plmn,
            Self::LocationArea(plmn, lac) => (plmn, lac) == (rai.plmn, rai.lac),
        }
    }
}

/// The authentication in progress (clause 4.7.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Authentication {
    /// RAND of the last challenge.
    pub rand: [u8; 16],
    /// What the card answered to it; valid while T3316 runs.
    pub res: Res,
    /// The card is busy with it.
    pub asked: bool,
    /// The A&C reference number of the last request.
    pub reference: u8,
    /// CKSN of the last challenge.
    pub cksn: u8,
    /// The cipher of the last request.
    pub algorithm: u8,
    /// The last request asks for the IMEISV.
    pub imeisv: bool,
    /// Failures one after the other, each while T3318 or T3320 of the one before ran.
    pub failures: u8,
    /// T3310, T3321 or T3330 was stopped by a failure.
    pub stopped: bool,
}

/// One mobile. Plain data; addressed and woken by its node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GmmMsContext {
    /// The timers; the node calls [`Deadlines::arm`] after each event.
    pub deadlines: Deadlines<GmmMsTimer>,
    /// The PDP contexts that are not PDP-INACTIVE here. The node keeps this up to date.
    pub active_nsapis: PdpContextStatus,
    pub(super) imsi: Imsi,
    pub(super) imei: Option<Imei>,
    pub(super) identity: Option<TemporaryIdentity>,
    /// The routing area in which `identity` was given, and in which the mobile is registered.
    pub(super) rai: Option<Rai>,
    pub(super) cell: Option<CellId>,
    pub(super) forbidden: Vec<Forbidden>,
    /// [`Tlli::UNASSIGNED`] where there is none.
    pub(super) tlli: Tlli,
    /// The TLLI to which the network may still send; [`Tlli::UNASSIGNED`] where there is none.
    pub(super) old_tlli: Tlli,
    pub(super) state: GmmMsState,
    pub(super) service: Service,
    pub(super) mm: MmState,
    /// Times that the request guarded by [`GmmMsTimer::Procedure`] was sent.
    pub(super) tries: u8,
    /// The attach attempt counter, or the routing area updating attempt counter.
    pub(super) attempts: u8,
    pub(super) t3302: GprsTimer,
    pub(super) t3312: GprsTimer,
    pub(super) t3314: GprsTimer,
    /// The number of the key that mobile and network have.
    pub(super) cksn: Cksn,
    pub(super) auth: Authentication,
    /// Attach as soon as that can be done.
    pub(super) wants_attach: bool,
    /// Detach as soon as the routing area update is over (clause 4.7.4.1.4).
    pub(super) wants_detach: bool,
    /// The running update is a periodic one.
    pub(super) periodic: bool,
    /// Access to the cell is barred for the mobile's class.
    pub(super) barred: bool,
    pub(super) non_gprs: NonGprs,
    /// The procedure in progress, or the last one, is a combined attach or update.
    pub(super) asks_both: bool,
    /// What the detach in progress is from.
    pub(super) leaves: DetachKindMo,
    /// Detach from non-GPRS services as soon as the procedure in progress is over.
    pub(super) wants_imsi_detach: bool,
    /// Attach for them again as soon as the IMSI detach in progress is over.
    pub(super) wants_imsi_attach: bool,
    /// The mobile has a TMSI.
    pub(super) has_tmsi: bool,
}

impl GmmMsContext {
    /// A mobile that is switched off, with this card in this equipment.
    #[must_use]
    pub fn new(imsi: Imsi, imei: Option<Imei>) -> Self {
        Self {
            deadlines: Deadlines::default(),
            active_nsapis: PdpContextStatus::default(),
            imsi,
            imei,
            identity: None,
            rai: None,
            cell: None,
            forbidden: Vec::new(),
            tlli: Tlli::UNASSIGNED,
            old_tlli: Tlli::UNASSIGNED,
            state: GmmMsState::Null,
            service: Service::NoCell,
            mm: MmState::Idle,
            tries: 0,
            attempts: 0,
            t3302: T3302_DEFAULT,
            t3312: T3312_DEFAULT,
            t3314: T3314_DEFAULT,
            cksn: Cksn::NO_KEY,
            auth: Authentication::default(),
            wants_attach: false,
            wants_detach: false,
            periodic: false,
            barred: false,
            non_gprs: NonGprs::default(),
            asks_both: false,
            leaves: DetachKindMo::Gprs,
            wants_imsi_detach: false,
            wants_imsi_attach: false,
            has_tmsi: false,
        }
    }

    /// The subscriber.
    #[must_use]
    pub const fn imsi(&self) -> Imsi {
        self.imsi
    }
    /// IMEI without spare digit, and the software version number (03.03 clause 6.2.2 [23.003]).
    pub(super) fn imeisv(&self) -> Option<Imei> {
        const SOFTWARE_VERSION: [u8; 2] = [0, 1];
        let imei = self.imei?;
        Imei::from_digits(imei.digits().take(14).chain(SOFTWARE_VERSION))
    }
    /// The P-TMSI that the network gave it.
    #[must_use]
    pub fn ptmsi(&self) -> Option<PTmsi> {
        self.identity.map(|identity| identity.ptmsi)
    }
    /// The routing area in which it is registered.
    #[must_use]
    pub const fn routing_area(&self) -> Option<Rai> {
        self.rai
    }
    /// The TLLI to send with; [`Tlli::UNASSIGNED`] where it has none.
    #[must_use]
    pub const fn tlli(&self) -> Tlli {
        self.tlli
    }
    /// The GMM state.
    #[must_use]
    pub const fn state(&self) -> GmmMsState {
        self.state
    }
    /// The sub-state.
    #[must_use]
    pub const fn service(&self) -> Service {
        self.service
    }
    /// IDLE, STANDBY or READY.
    #[must_use]
    pub const fn mm_state(&self) -> MmState {
        self.mm
    }

    /// Sends with the current TLLI. It is an LLC frame like any other: READY begins anew.
    pub(super) fn send(&mut self, cx: &Context<'_>, message: GmmMessage, out: &mut Batch<GmmMsAction>) {
        out.push(GmmMsAction::Send { message, tlli: self.tlli });
        self.frame_sent(cx, out);
    }

    /// GMM STATUS (clause 4.7.10), where there is a link to send it on.
    pub(super) fn status(&mut self, cx: &Context<'_>, cause: GmmCause, out: &mut Batch<GmmMsAction>) {
        if self.tlli != Tlli::UNASSIGNED {
            self.send(cx, GmmStatus { cause }.into(), out);
        }
    }

    /// A message that its state does not expect: counted, answered with GMM STATUS, otherwise ignored (clause 8.4).
    pub(super) fn unexpected(&mut self, cx: &mut Context<'_>, what: &str, out: &mut Batch<GmmMsAction>) {
        cx.drop_of(Drop::GmmUnexpected, Some(self.imsi));
        cx.log(Category::Mm, Level::Info, format_args!("IMSI {}: {what} in state {}", self.imsi, self.state));
        self.status(cx, GmmCause::MessageTypeIncompatible, out);
    }

    /// A message or an order that was lost against a procedure in progress, as the clause has it.
    pub(super) fn ignored(&self, cx: &mut Context<'_>, what: &str) {
        cx.drop_of(Drop::GmmIgnored, Some(self.imsi));
        cx.log(
            Category::Mm,
            Level::Info,
            format_args!("IMSI {}: {what} ignored in state {}", self.imsi, self.state),
        );
    }

    /// Any LLC frame was sent: READY, and T3314 from its beginning (clause 4.7.2.1).
    pub(super) fn frame_sent(&mut self, cx: &Context<'_>, out: &mut Batch<GmmMsAction>) {
        if self.mm != MmState::Idle {
            self.enter_ready(cx, out);
        }
    }

    /// READY. A T3314 of 0 means that the mobile goes on to STANDBY at once.
    pub(super) fn enter_ready(&mut self, cx: &Context<'_>, out: &mut Batch<GmmMsAction>) {
        self.deadlines.clear(GmmMsTimer::Periodic);
        self.set_mm(MmState::Ready, out);
        match span(self.t3314) {
            Some(span) if span.0 == 0 => self.enter_standby(cx, out),
            Some(span) => self.deadlines.set(GmmMsTimer::Ready, cx.now + span),
            None => self.deadlines.clear(GmmMsTimer::Ready),
        }
    }

    /// STANDBY: T3312 starts (clause 4.7.2.2).
    pub(super) fn enter_standby(&mut self, cx: &Context<'_>, out: &mut Batch<GmmMsAction>) {
        self.deadlines.clear(GmmMsTimer::Ready);
        self.set_mm(MmState::Standby, out);
        if let Some(span) = span(self.t3312) {
            self.deadlines.set(GmmMsTimer::Periodic, cx.now + span);
        }
    }

    fn set_mm(&mut self, mm: MmState, out: &mut Batch<GmmMsAction>) {
        if self.mm != mm {
            self.mm = mm;
            out.push(GmmMsAction::MmStateChanged(mm));
        }
    }

    /// Changes to another TLLI; frames to the one before are still accepted.
    pub(super) fn change_tlli(&mut self, new: Tlli, out: &mut Batch<GmmMsAction>) {
        if new == self.tlli {
            return;
        }
        if new != self.old_tlli {
            self.end_old_tlli(out);
        }
        let old = (self.tlli != Tlli::UNASSIGNED).then_some(self.tlli);
        self.old_tlli = self.tlli;
        self.tlli = new;
        out.push(GmmMsAction::AssignTlli { new, old });
    }

    fn end_old_tlli(&mut self, out: &mut Batch<GmmMsAction>) {
        if self.old_tlli != Tlli::UNASSIGNED {
            out.push(GmmMsAction::UnassignTlli { old: self.old_tlli });
            self.old_tlli = Tlli::UNASSIGNED;
        }
    }

    /// A message came: with the current TLLI, the network knows it, and the old one ends.
    pub(super) fn heard(&mut self, tlli: Tlli, out: &mut Batch<GmmMsAction>) {
        if tlli == self.tlli && self.state == GmmMsState::Registered {
            self.end_old_tlli(out);
        }
    }

    /// No GMM context any more: IDLE, no timer, no TLLI, no PDP context.
    pub(super) fn deregister(
        &mut self,
        service: Service,
        cause: Option<GmmCause>,
        out: &mut Batch<GmmMsAction>,
    ) {
        self.deadlines.clear_all();
        self.set_mm(MmState::Idle, out);
        self.leave_non_gprs(out);
        self.state = GmmMsState::Deregistered;
        self.service = service;
        self.wants_detach = false;
        self.delete_pdp_contexts(self.active_nsapis, out);
        self.end_tllis(out);
        out.push(GmmMsAction::Deregistered { cause });
    }

    pub(super) fn end_tllis(&mut self, out: &mut Batch<GmmMsAction>) {
        self.end_old_tlli(out);
        if self.tlli != Tlli::UNASSIGNED {
            out.push(GmmMsAction::UnassignTlli { old: self.tlli });
            self.tlli = Tlli::UNASSIGNED;
        }
    }

    pub(super) fn delete_pdp_contexts(&mut self, which: PdpContextStatus, out: &mut Batch<GmmMsAction>) {
        if which.0 & NSAPIS != 0 {
            out.push(GmmMsAction::DeletePdpContexts(which));
            self.active_nsapis = PdpContextStatus(self.active_nsapis.0 & !which.0);
        }
    }

    /// The number of the key that the mobile has, where it has one.
    #[must_use]
    pub fn key_number(&self) -> Option<u8> {
        (self.cksn != Cksn::NO_KEY).then_some(self.cksn.0)
    }

    /// Deletes P-TMSI, P-TMSI signature, RAI and ciphering key sequence number.
    pub(super) fn forget_identity(&mut self) {
        self.cksn = Cksn::NO_KEY;
        self.identity = None;
        self.rai = None;
    }

    /// Takes what an ACCEPT or a P-TMSI REALLOCATION COMMAND assigns. A signature that is not assigned anew ends.
    pub(super) fn take_identity(&mut self, ptmsi: PTmsi, signature: Option<PTmsiSignature>) {
        self.identity = Some(TemporaryIdentity::new(ptmsi, signature));
    }
}
