//! The state of one mobile in the SGSN, and the steps that every procedure shares.

use super::{GmmAction, GmmConfig};
use crate::about::About as _;
use crate::auth::AuthTicket;
use crate::gmm::{Cell, MmState, NSAPIS, T3314_DEFAULT, TemporaryIdentity};
use core::fmt;
use gannet_machine::drops::Drop;
use gannet_machine::prefetch::Prefetch;
use gannet_machine::timers::Deadlines;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context};
use gannet_wire::id::{Imei, Imsi, PTmsi, Rai, Tlli};
use gannet_wire::l3::gmm::{GmmMessage, GmmStatus};
use gannet_wire::l3::ie::{
    Cksn, DetachTypeMt, DrxParameter, GmmCause, GprsTimer, MsNetworkCapability, MsRadioAccessCapability,
    PdpContextStatus,
};
use serde::{Deserialize, Serialize};

/// The GMM states of the network (clause 4.1.3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GmmState {
    /// No GMM context is established.
    Deregistered,
    /// A common procedure runs, and an answer of the mobile is awaited.
    CommonProcedureInitiated,
    /// The GMM context is established. Sub-state SUSPENDED is told by [`GmmContext::is_suspended`].
    Registered,
    /// The network asked the mobile to detach.
    DeregisteredInitiated,
}

impl fmt::Display for GmmState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Deregistered => "GMM-DEREGISTERED",
            Self::CommonProcedureInitiated => "GMM-COMMON-PROCEDURE-INITIATED",
            Self::Registered => "GMM-REGISTERED",
            Self::DeregisteredInitiated => "GMM-DEREGISTERED-INITIATED",
        })
    }
}

/// A mobile in a line of the log: its IMSI where it is known, and the TLLI that it used last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name {
    imsi: Option<Imsi>,
    tlli: Tlli,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(imsi) = self.imsi {
            write!(f, "IMSI {imsi}, ")?;
        }
        write!(f, "TLLI {}", self.tlli)
    }
}

gannet_machine::timer_names! {
    /// The timers of one mobile in the SGSN (clause 11.2.2).
    pub enum GmmTimer {
        /// T3314: READY becomes STANDBY.
        Ready = "T3314",
        /// T3322, T3350, T3360 or T3370: one procedure runs at a time, and each of these repeats its message.
        Procedure = "T3322, T3350, T3360 or T3370",
        /// T3313: repeats PAGING.
        Paging = "T3313",
        /// The mobile reachable timer.
        MobileReachable = "the mobile reachable timer",
        /// The implicit detach timer, which follows it (03.60 clause 6.6.1).
        ImplicitDetach = "the implicit detach timer",
    }
}

/// A set of orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Orders(u8);

impl Orders {
    pub const AUTHENTICATE: Self = Self(1);
    pub const REALLOCATE: Self = Self(2);
    pub const INFORM: Self = Self(4);
    /// [`Orders::AUTHENTICATE`] is being obeyed: the mobile is challenged, whatever key it says that it has.
    pub(super) const CHALLENGE: Self = Self(8);

    /// Is there any that is not being obeyed?
    pub const fn any(self) -> bool {
        self.0 & (Self::AUTHENTICATE.0 | Self::REALLOCATE.0 | Self::INFORM.0) != 0
    }

    /// Must the mobile be challenged in any case?
    pub const fn want_a_challenge(self) -> bool {
        self.0 & Self::CHALLENGE.0 != 0
    }

    /// Nothing of it is obeyed any longer.
    pub const fn obeyed(&mut self) {
        self.0 &= !Self::CHALLENGE.0;
    }

    pub(super) const fn insert(&mut self, order: Self) {
        self.0 |= order.0;
    }

    /// Takes one out; false where it is not there.
    pub(super) const fn take(&mut self, order: Self) -> bool {
        let is_there = self.0 & order.0 != 0;
        self.0 &= !order.0;
        is_there
    }
}

/// The specific procedure that runs (clause 4.7.1.2: one at a time).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Procedure {
    None,
    Attach,
    Update,
    /// DETACH REQUEST of the mobile, answered when what it was asked before is answered (clauses 4.7.7.6 e and
    /// 4.7.8.4 e), or when it has shown who it is (03.60 clause 6.6.1).
    Detach,
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Waiting {
    Nothing,
    /// The authentication service; no timer.
    AuthService,
    /// The node's choice of a P-TMSI; no timer.
    Ptmsi,
    /// T3370.
    IdentityImsi,
    /// T3370.
    IdentityImei,
    /// T3360.
    Authentication,
    /// T3350.
    AttachComplete,
    /// T3350.
    UpdateComplete,
    /// T3350.
    ReallocationComplete,
    /// T3322.
    DetachAccept,
    /// ATTACH ACCEPT was sent as often as it may be, and no ATTACH COMPLETE came. Both P-TMSIs stay valid
    /// (clause 4.7.3.1.6 c); the first use of the new one shows that the mobile has taken it.
    NewPtmsi,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Nothing => "nothing is waited for",
            Self::AuthService => "the authentication service is waited for",
            Self::Ptmsi => "a P-TMSI is waited for",
            Self::IdentityImsi => "the IMSI in IDENTITY RESPONSE is waited for (T3370)",
            Self::IdentityImei => "the IMEI in IDENTITY RESPONSE is waited for (T3370)",
            Self::Authentication => "AUTHENTICATION AND CIPHERING RESPONSE is waited for (T3360)",
            Self::AttachComplete => "ATTACH COMPLETE is waited for (T3350)",
            Self::UpdateComplete => "ROUTING AREA UPDATE COMPLETE is waited for (T3350)",
            Self::ReallocationComplete => "P-TMSI REALLOCATION COMPLETE is waited for (T3350)",
            Self::DetachAccept => "DETACH ACCEPT is waited for (T3322)",
            Self::NewPtmsi => "the first use of the new P-TMSI is waited for",
        })
    }
}

/// What the authentication of the procedure in progress has come to (clause 4.7.7). Each remedy is tried once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Authentication {
    /// The mobile has told its IMSI: its P-TMSI is no reason why it should fail.
    pub named: bool,
    /// The IMSI is asked for since the mobile failed.
    pub doubted: bool,
    /// AUTS went to the service.
    pub resynchronised: bool,
    /// The mobile did not accept a challenge without AUTN.
    pub wanted_autn: bool,
    /// What was sent sets the cipher and is no challenge.
    pub cipher_only: bool,
    /// The service compares RES.
    pub answered: bool,
}

/// What a ROUTING AREA UPDATE REQUEST says of the mobile, where it says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    pub drx: Option<DrxParameter>,
    pub capability: Option<MsNetworkCapability>,
    pub ready_timer: Option<GprsTimer>,
    pub radio: MsRadioAccessCapability,
}

/// One mobile. Plain data; addressed and woken by the node.
///
/// What goes with each LL-PDU is here, and what only signalling needs in memory of its own: of many mobiles the former lies in few
/// pages then, which is what a packet of one among a million costs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GmmContext {
    pub(super) imsi: Option<Imsi>,
    /// The TLLI that the mobile used last: messages to it go there.
    pub(super) tlli: Tlli,
    pub(super) drx: DrxParameter,
    pub(super) mm: MmState,
    /// Sub-state SUSPENDED.
    pub(super) suspended: bool,
    pub(super) cell: Cell,
    pub(super) rest: Box<Rest>,
}

/// What only signalling needs of a mobile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Rest {
    pub(super) gmm: GmmState,
    pub(super) procedure: Procedure,
    pub(super) waiting: Waiting,
    /// Times that the message guarded by [`GmmTimer::Procedure`] was sent.
    pub(super) tries: u8,
    pub(super) paging_tries: u8,
    pub(super) detach: DetachTypeMt,
    pub(super) detach_cause: Option<GmmCause>,
    /// The mobile asked for a combined procedure, which an MSC would be needed for.
    pub(super) combined: bool,
    /// The paging proceed flag of 03.60 clause 6.1.2: cleared when the mobile reachable timer has run out.
    pub(super) reachable: bool,
    pub(super) imei: Option<Imei>,
    pub(super) capability: MsNetworkCapability,
    /// What holds once the update that runs is accepted. An update that a restart interrupts begins anew.
    #[serde(skip)]
    pub(super) said: Option<Box<Said>>,
    /// T3314 as negotiated.
    pub(super) ready_timer: GprsTimer,
    /// What the operator wants done as soon as the mobile is heard and nothing else runs.
    pub(super) orders: Orders,
    /// The routing area in which the mobile is registered, and in which it is paged.
    pub(super) rai: Rai,
    /// The one before, until the mobile has confirmed its P-TMSI of this one; else the same.
    pub(super) former_rai: Rai,
    /// The PDP contexts that are not PDP-INACTIVE here. See [`GmmContext::set_active_nsapis`].
    pub(super) active_nsapis: PdpContextStatus,
    /// The PDP context status that the mobile sent; it gets ours in return.
    pub(super) mobile_nsapis: Option<PdpContextStatus>,
    /// The P-TMSI that the mobile has confirmed.
    pub(super) current: Option<TemporaryIdentity>,
    /// The P-TMSI that was sent to it and is not yet confirmed.
    pub(super) new: Option<TemporaryIdentity>,
    /// The TLLI that ends when the new one is confirmed; [`Tlli::UNASSIGNED`] where none does.
    pub(super) old_tlli: Tlli,
    /// See [`crate::gmm::fingerprint`].
    pub(super) request: u32,
    /// The key that the mobile says it has.
    pub(super) cksn: Cksn,
    pub(super) auth: Authentication,
    /// The number of the last question to the authentication service.
    pub(super) ticket: AuthTicket,
    pub(super) deadlines: Deadlines<GmmTimer>,
}

impl Rest {
    /// Of a mobile that nothing is known of yet, in the routing area from which it was heard.
    fn new(rai: Rai) -> Self {
        Self {
            deadlines: Deadlines::default(),
            active_nsapis: PdpContextStatus::default(),
            imei: None,
            current: None,
            new: None,
            old_tlli: Tlli::UNASSIGNED,
            rai,
            former_rai: rai,
            request: 0,
            cksn: Cksn::NO_KEY,
            auth: Authentication::default(),
            ticket: AuthTicket::default(),
            gmm: GmmState::Deregistered,
            procedure: Procedure::None,
            waiting: Waiting::Nothing,
            tries: 0,
            paging_tries: 0,
            detach: DetachTypeMt::ReattachNotRequired,
            detach_cause: None,
            combined: false,
            mobile_nsapis: None,
            orders: Orders::default(),
            reachable: true,
            ready_timer: T3314_DEFAULT,
            capability: MsNetworkCapability::default(),
            said: None,
        }
    }
}

impl GmmContext {
    /// Octets that each context takes beside its own.
    pub const ELSEWHERE: usize = size_of::<Rest>();

    /// Asks for what an LL-PDU of the mobile touches beside the context itself, which is here by now.
    pub fn prefetch_heard(&self, prefetch: Prefetch) {
        prefetch.value(&*self.rest);
    }

    /// The context of a mobile that nothing is known of yet.
    #[must_use]
    pub fn new(tlli: Tlli, cell: Cell) -> Self {
        Self {
            imsi: None,
            tlli,
            drx: DrxParameter::default(),
            mm: MmState::Idle,
            suspended: false,
            cell,
            rest: Box::new(Rest::new(cell.id.rai)),
        }
    }

    /// The PDP contexts that are not PDP-INACTIVE here.
    #[must_use]
    pub fn active_nsapis(&self) -> PdpContextStatus {
        self.rest.active_nsapis
    }

    /// These are not PDP-INACTIVE here any more or from now on: the node keeps this up to date.
    pub fn set_active_nsapis(&mut self, active: PdpContextStatus) {
        self.rest.active_nsapis = active;
    }

    /// When each [`GmmTimer`] runs out.
    #[must_use]
    pub fn deadlines(&self) -> &Deadlines<GmmTimer> {
        &self.rest.deadlines
    }

    /// The same; the node calls [`Deadlines::arm`] after each event.
    pub fn deadlines_mut(&mut self) -> &mut Deadlines<GmmTimer> {
        &mut self.rest.deadlines
    }

    /// The subscriber, once known.
    #[must_use]
    pub const fn imsi(&self) -> Option<Imsi> {
        self.imsi
    }
    /// The equipment, where it was asked for and told.
    #[must_use]
    pub const fn imei(&self) -> Option<Imei> {
        self.rest.imei
    }
    /// The P-TMSI that the mobile has confirmed.
    #[must_use]
    pub fn ptmsi(&self) -> Option<PTmsi> {
        self.rest.current.map(|identity| identity.ptmsi)
    }
    /// The P-TMSI that the mobile has not confirmed yet.
    #[must_use]
    pub fn new_ptmsi(&self) -> Option<PTmsi> {
        self.rest.new.map(|identity| identity.ptmsi)
    }
    /// The TLLI by which the mobile is addressed now.
    #[must_use]
    pub const fn tlli(&self) -> Tlli {
        self.tlli
    }
    /// Where it was heard last.
    #[must_use]
    pub const fn cell(&self) -> Cell {
        self.cell
    }
    /// Where it is registered.
    #[must_use]
    pub const fn routing_area(&self) -> Rai {
        self.rest.rai
    }
    /// IDLE, STANDBY or READY.
    #[must_use]
    pub const fn mm_state(&self) -> MmState {
        self.mm
    }
    /// The GMM state.
    #[must_use]
    pub const fn gmm_state(&self) -> GmmState {
        self.rest.gmm
    }
    /// In sub-state SUSPENDED nothing is sent to the mobile but answers.
    #[must_use]
    pub const fn is_suspended(&self) -> bool {
        self.suspended
    }
    /// MS network capability, as the mobile sent it.
    #[must_use]
    pub const fn network_capability(&self) -> MsNetworkCapability {
        self.rest.capability
    }
    /// DRX parameter, as the mobile sent it.
    #[must_use]
    pub const fn drx(&self) -> DrxParameter {
        self.drx
    }

    /// A line of the log about this mobile.
    pub(super) fn say(&self, cx: &mut Context<'_>, level: Level, what: fmt::Arguments<'_>) {
        cx.log(Category::Mm, level, format_args!("{}: {what}", self.name()));
    }

    /// The mobile as a line of the log names it.
    #[must_use]
    pub const fn name(&self) -> Name {
        Name { imsi: self.imsi, tlli: self.tlli }
    }

    /// Sends to the TLLI that the mobile used last.
    pub(super) fn send(&self, message: GmmMessage, out: &mut Batch<GmmAction>) {
        out.push(GmmAction::Send { message, tlli: self.tlli });
    }

    /// GMM STATUS (clause 4.7.10).
    pub(super) fn status(&self, cause: GmmCause, out: &mut Batch<GmmAction>) {
        self.send(GmmMessage::GmmStatus(GmmStatus { cause }), out);
    }

    /// A message that its state does not expect: counted, answered with GMM STATUS, otherwise ignored (clause 8.4).
    pub(super) fn unexpected(&self, cx: &mut Context<'_>, what: &str, out: &mut Batch<GmmAction>) {
        cx.drop_of(Drop::GmmUnexpected, self.imsi);
        let (state, waiting) = (self.rest.gmm, self.rest.waiting);
        self.say(cx, Level::Info, format_args!("{what} does not fit the state {state}, {waiting}"));
        self.status(GmmCause::MessageTypeIncompatible, out);
    }

    /// A message that was lost against another one: counted, and not answered, as the clause has it.
    pub(super) fn ignored(&self, cx: &mut Context<'_>, what: &str) {
        cx.drop_of(Drop::GmmIgnored, self.imsi);
        self.say(cx, Level::Info, format_args!("{what} is ignored, {}", self.rest.waiting));
    }

    /// Enters the state that goes with waiting for an answer of the mobile, with the first of several tries.
    pub(super) fn wait(&mut self, cx: &Context<'_>, cfg: &GmmConfig, waiting: Waiting) {
        self.rest.tries = 1;
        self.again(cx, cfg, waiting);
    }

    /// The same without counting from one.
    pub(super) fn again(&mut self, cx: &Context<'_>, cfg: &GmmConfig, waiting: Waiting) {
        self.pause(waiting);
        let span = match waiting {
            Waiting::IdentityImsi | Waiting::IdentityImei => cfg.t3370,
            Waiting::Authentication => cfg.t3360,
            Waiting::AttachComplete | Waiting::UpdateComplete | Waiting::ReallocationComplete => cfg.t3350,
            Waiting::DetachAccept => cfg.t3322,
            // The node answers at its own time, or nobody is waited for.
            Waiting::Nothing | Waiting::AuthService | Waiting::Ptmsi | Waiting::NewPtmsi => return,
        };
        self.rest.deadlines.set(GmmTimer::Procedure, cx.now + span);
    }

    /// A procedure is under way: an answer of the mobile or of the node is awaited.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.rest.waiting != Waiting::Nothing
    }

    /// Waits for the node, or for nothing; the GMM state follows.
    pub(super) fn pause(&mut self, waiting: Waiting) {
        self.rest.waiting = waiting;
        self.rest.deadlines.clear(GmmTimer::Procedure);
        self.rest.gmm = match (waiting, self.rest.procedure) {
            (
                Waiting::IdentityImsi
                | Waiting::IdentityImei
                | Waiting::Authentication
                | Waiting::AttachComplete
                | Waiting::UpdateComplete
                | Waiting::ReallocationComplete,
                _,
            ) => GmmState::CommonProcedureInitiated,
            (Waiting::DetachAccept, _) => GmmState::DeregisteredInitiated,
            (Waiting::NewPtmsi, _) | (Waiting::AuthService | Waiting::Ptmsi, Procedure::Attach) => {
                GmmState::Deregistered
            }
            (
                Waiting::AuthService | Waiting::Ptmsi,
                Procedure::None | Procedure::Update | Procedure::Detach,
            )
            | (Waiting::Nothing, _) => {
                if self.mm == MmState::Idle {
                    GmmState::Deregistered
                } else {
                    GmmState::Registered
                }
            }
        };
    }

    /// The procedure is over and the mobile is where it was before: attached or not.
    pub(super) fn settle(&mut self) {
        self.rest.procedure = Procedure::None;
        self.rest.said = None;
        self.rest.orders.obeyed();
        self.pause(Waiting::Nothing);
    }

    /// The context is over.
    pub(super) fn release(&mut self, out: &mut Batch<GmmAction>) {
        self.rest.deadlines.clear_all();
        self.set_mm(MmState::Idle, out);
        self.settle();
        self.delete_pdp_contexts(out);
        out.push(GmmAction::Released);
    }

    /// Deletes what PDP contexts there are.
    pub(super) fn delete_pdp_contexts(&mut self, out: &mut Batch<GmmAction>) {
        if self.rest.active_nsapis.0 & NSAPIS != 0 {
            out.push(GmmAction::DeletePdpContexts(self.rest.active_nsapis));
            self.rest.active_nsapis = PdpContextStatus::default();
        }
    }

    /// The mobile has taken its new P-TMSI: the old one and the old TLLI end (clause 4.7.1.5).
    pub(super) fn confirm_new(&mut self, out: &mut Batch<GmmAction>) {
        if let Some(new) = self.rest.new.take() {
            self.rest.former_rai = self.rest.rai;
            let former = self.rest.current.replace(new);
            if self.rest.old_tlli != Tlli::UNASSIGNED && self.rest.old_tlli != self.tlli {
                out.push(GmmAction::UnassignTlli { old: self.rest.old_tlli });
            }
            self.rest.old_tlli = Tlli::UNASSIGNED;
            if let Some(former) = former.filter(|former| former.ptmsi != new.ptmsi) {
                out.push(GmmAction::FreePtmsi(former.ptmsi));
            }
        }
    }

    /// A new P-TMSI that another one replaces before the mobile has confirmed it.
    pub(super) fn discard_new(&mut self, out: &mut Batch<GmmAction>) {
        if let Some(new) = self.rest.new.take() {
            out.push(GmmAction::UnassignTlli { old: Tlli::local(new.ptmsi) });
            out.push(GmmAction::FreePtmsi(new.ptmsi));
        }
    }
}
