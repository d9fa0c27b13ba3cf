//! One side of the interface each: [`Network`] is an SGSN's context with a test in the place of node and mobile,
//! [`Mobile`] a mobile with a test in the place of node and network. Time is virtual.

use gannet_machine::drops::Drop;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::Quiet;
use gannet_machine::{Batch, Surroundings};
use gannet_proto::auth::{AuthDecision, AuthQuestion, Challenge};
use gannet_proto::gmm::ms::*;
use gannet_proto::gmm::network::*;
use gannet_proto::gmm::{Cell, TemporaryIdentity};
use gannet_wire::id::{Bvci, CellId, Imei, Imsi, Nsei, PTmsi, Plmn, Rai, Tlli};
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;
use gannet_wire::{DecodeError, DecodeErrorKind};

pub const P1: PTmsi = PTmsi(0xc000_0001);
pub const P2: PTmsi = PTmsi(0xc000_0002);

pub const NOT_INDICATED: ForceToStandby = ForceToStandby::NotIndicated;

/// All causes that a mobile or a network may give (clause 10.5.5.14).
pub const CAUSES: [GmmCause; 28] = [
    GmmCause::ImsiUnknownInHlr,
    GmmCause::IllegalMs,
    GmmCause::ImsiUnknownInVlr,
    GmmCause::ImeiNotAccepted,
    GmmCause::IllegalMe,
    GmmCause::GprsNotAllowed,
    GmmCause::GprsAndNonGprsNotAllowed,
    GmmCause::IdentityUnknown,
    GmmCause::ImplicitlyDetached,
    GmmCause::PlmnNotAllowed,
    GmmCause::LocationAreaNotAllowed,
    GmmCause::RoamingNotAllowed,
    GmmCause::GprsNotAllowedInPlmn,
    GmmCause::NoSuitableCells,
    GmmCause::MscNotReachable,
    GmmCause::NetworkFailure,
    GmmCause::CsDomainNotAvailable,
    GmmCause::MacFailure,
    GmmCause::SynchFailure,
    GmmCause::Congestion,
    GmmCause::SemanticallyIncorrect,
    GmmCause::InvalidMandatoryInformation,
    GmmCause::MessageTypeNonExistent,
    GmmCause::MessageTypeIncompatible,
    GmmCause::IeNonExistent,
    GmmCause::ConditionalIeError,
    GmmCause::MessageIncompatible,
    GmmCause::ProtocolError,
];

pub fn imsi() -> Imsi {
    "001010000000042".parse().unwrap()
}

pub fn another_imsi() -> Imsi {
    "001010000000043".parse().unwrap()
}

pub fn imei() -> Imei {
    "490154203237518".parse().unwrap()
}

pub fn rai(lac: u16, rac: u8) -> Rai {
    Rai { plmn: Plmn::from_octets([0x00, 0xf1, 0x10]), lac, rac }
}

/// A cell of location area 7.
pub fn cell(rac: u8, ci: u16) -> Cell {
    Cell { nsei: Nsei(1), bvci: Bvci(ci), id: CellId { rai: rai(7, rac), ci } }
}

pub fn challenge() -> Challenge {
    Challenge { rand: [7; 16], autn: Some([8; 16]), cksn: 2, algorithm: 3 }
}

/// The name of each message with the second in which it was sent.
pub type Sent = Vec<(u64, &'static str)>;

// ------------------------------------------------------------------------------------------------------ the network

/// A context of the SGSN, and a node that answers at once.
pub struct Network {
    pub around: Surroundings<Quiet>,
    pub cfg: GmmConfig,
    pub context: GmmContext,
    /// The mobile sends with this TLLI, from this cell.
    pub tlli: Tlli,
    pub cell: Cell,
    /// What the service says of a subscriber, of RES, and of a failure.
    pub subscriber: AuthDecision,
    pub verdict: AuthDecision,
    pub remedy: AuthDecision,
    /// What it was asked.
    pub questions: Vec<AuthQuestion>,
    pub actions: Vec<GmmAction>,
    next_ptmsi: u32,
}

impl Network {
    pub fn new() -> Self {
        let tlli = Tlli::random(1);
        Self {
            around: Surroundings::new(1, 0, Quiet::default()),
            cfg: GmmConfig::default(),
            context: GmmContext::new(tlli, cell(1, 2)),
            tlli,
            cell: cell(1, 2),
            subscriber: AuthDecision::Accept,
            verdict: AuthDecision::Accept,
            remedy: AuthDecision::Mismatch,
            questions: Vec::new(),
            actions: Vec::new(),
            next_ptmsi: 0xc000_0001,
        }
    }

    /// ATTACH ACCEPT was sent.
    pub fn accepted() -> Self {
        let mut network = Self::new();
        network.message(attach_by_imsi());
        assert_eq!(network.sent(), ["AttachAccept"]);
        network
    }

    pub fn attached() -> Self {
        let mut network = Self::accepted();
        network.confirm(AttachComplete {});
        assert_eq!(network.context.gmm_state(), GmmState::Registered);
        network.context.set_active_nsapis(PdpContextStatus(1 << 5));
        network
    }

    /// Attached, and STANDBY.
    pub fn standby() -> Self {
        let mut network = Self::attached();
        network.pass(44);
        network
    }

    /// One event and what the node does about it; the actions of this event are kept.
    pub fn event(&mut self, event: GmmEvent) {
        self.actions.clear();
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            let mut out = Batch::default();
            self.context.handle(&mut self.around.context(), &self.cfg, event, &mut out);
            while let Some(action) = out.pop() {
                match action {
                    GmmAction::AllocatePtmsi => {
                        let signature = Some(PTmsiSignature(self.next_ptmsi & 0xffff));
                        let identity = TemporaryIdentity::new(PTmsi(self.next_ptmsi), signature);
                        self.next_ptmsi += 1;
                        events.push(GmmEvent::PtmsiAllocated(Some(identity)));
                    }
                    GmmAction::AskAuth { ticket, question, .. } => {
                        self.questions.push(question);
                        let decision = match question {
                            AuthQuestion::Subscriber(_) | AuthQuestion::Repeat => self.subscriber,
                            AuthQuestion::Answer(_) => self.verdict,
                            AuthQuestion::Failure(_) => self.remedy,
                        };
                        events.push(GmmEvent::AuthAnswer { ticket, decision });
                    }
                    _ => {}
                }
                self.actions.push(action);
            }
        }
    }

    pub fn from(&self) -> Uplink {
        Uplink { tlli: self.tlli, cell: self.cell }
    }

    pub fn message(&mut self, message: impl Into<GmmMessage>) {
        let from = self.from();
        self.event(GmmEvent::Message { message: message.into(), from, ciphered: false });
    }

    /// A message of this type that can't be read.
    pub fn unreadable(&mut self, message_type: u8, kind: DecodeErrorKind) {
        let error = DecodeError::new("MS Network Capability", 2, kind);
        let from = self.from();
        self.event(GmmEvent::DecodeFailed { message_type: Some(message_type), error, from });
    }

    /// The mobile takes the P-TMSI that it was sent, and answers with its new TLLI.
    pub fn confirm(&mut self, message: impl Into<GmmMessage>) {
        self.tlli = Tlli::local(self.context.new_ptmsi().unwrap());
        self.message(message);
    }

    pub fn frame(&mut self) {
        let from = self.from();
        self.event(GmmEvent::LlcFrame(from));
    }

    pub fn order_detach(&mut self, kind: DetachTypeMt, cause: Option<GmmCause>) {
        self.event(GmmEvent::OperatorDetach { kind, cause });
    }

    /// Lets time pass. What was sent meanwhile, and all actions of it are kept.
    pub fn pass(&mut self, secs: u64) -> Sent {
        let start = self.around.now;
        let until = start + Duration::from_secs(secs);
        let (mut actions, mut sent) = (Vec::new(), Sent::new());
        while let Some(next) = self.context.deadlines().next().filter(|next| *next <= until) {
            self.around.now = next;
            let name = self.context.deadlines_mut().pop_due(next).unwrap();
            self.event(GmmEvent::Timer(name));
            sent.extend(self.sent().into_iter().map(|name| (seconds(start, next), name)));
            actions.append(&mut self.actions);
        }
        self.around.now = until;
        self.actions = actions;
        sent
    }

    pub fn messages(&self) -> Vec<&GmmMessage> {
        let sent = self.actions.iter().filter_map(|action| match action {
            GmmAction::Send { message, .. } => Some(message),
            _ => None,
        });
        sent.collect()
    }

    /// The one message that was sent.
    pub fn only(&self) -> GmmMessage {
        match self.messages()[..] {
            [message] => message.clone(),
            _ => panic!("{:?}", self.actions),
        }
    }

    pub fn sent(&self) -> Vec<&'static str> {
        self.messages().iter().map(|message| message.name()).collect()
    }

    pub fn has(&self, action: &GmmAction) -> bool {
        self.actions.contains(action)
    }

    pub fn is_released(&self) -> bool {
        self.has(&GmmAction::Released) && self.context.gmm_state() == GmmState::Deregistered
    }

    pub fn pages(&self) -> usize {
        self.actions.iter().filter(|action| matches!(action, GmmAction::Page { .. })).count()
    }

    pub fn drops(&self, drop: Drop) -> u64 {
        self.around.trace.drops.get(drop)
    }
}

fn seconds(from: Instant, to: Instant) -> u64 {
    (to.0 - from.0) / Duration::from_secs(1).0
}

pub fn attach_request(identity: MobileIdentity) -> AttachRequest {
    AttachRequest::new(identity, rai(7, 1), MsRadioAccessCapability(vec![0x17]))
}

pub fn attach_by_imsi() -> AttachRequest {
    attach_request(MobileIdentity::Imsi(imsi()))
}

/// The same mobile with another IE.
pub fn attach_with_another_element() -> AttachRequest {
    AttachRequest { requested_ready_timer: Some(GprsTimer(3)), ..attach_by_imsi() }
}

/// Of a mobile that has the first P-TMSI that [`Network`] gives, with its signature.
pub fn update_request(kind: UpdateKind) -> RauRequest {
    RauRequest {
        update_type: UpdateType { kind, follow_on: false },
        cksn: Cksn::NO_KEY,
        old_rai: rai(7, 1),
        ms_radio_access_capability: MsRadioAccessCapability(vec![0x17]),
        old_ptmsi_signature: Some(PTmsiSignature(1)),
        requested_ready_timer: None,
        drx: None,
        tmsi_status: None,
        ptmsi: None,
        ms_network_capability: None,
        pdp_context_status: None,
    }
}

/// Of a mobile that has the first P-TMSI that [`Network`] gives, with its signature.
pub fn detach(kind: DetachKindMo, power_off: bool) -> DetachRequestMo {
    DetachRequestMo { ptmsi_signature: Some(PTmsiSignature(1)), ..unsigned_detach(kind, power_off) }
}

/// As before R99.
pub fn unsigned_detach(kind: DetachKindMo, power_off: bool) -> DetachRequestMo {
    DetachRequestMo { detach_type: DetachTypeMo { kind, power_off }, ptmsi: None, ptmsi_signature: None }
}

pub fn identity_response(identity: MobileIdentity) -> IdentityResponse {
    IdentityResponse { identity }
}

// ------------------------------------------------------------------------------------------------------- the mobile

pub struct Mobile {
    pub around: Surroundings<Quiet>,
    pub cfg: GmmMsConfig,
    pub mobile: GmmMsContext,
    pub actions: Vec<GmmMsAction>,
}

impl Mobile {
    pub fn new() -> Self {
        Self {
            around: Surroundings::new(1, 0, Quiet::default()),
            cfg: GmmMsConfig::default(),
            mobile: GmmMsContext::new(imsi(), Some(imei())),
            actions: Vec::new(),
        }
    }

    pub fn attaching() -> Self {
        let mut mobile = Self::new();
        mobile.select(7, 1, 1);
        mobile.event(GmmMsEvent::Attach);
        assert_eq!(mobile.sent(), ["AttachRequest"]);
        mobile
    }

    pub fn attached() -> Self {
        let mut mobile = Self::attaching();
        mobile.message(attach_accept(P1));
        assert_eq!(mobile.stands(), (GmmMsState::Registered, Service::Normal));
        mobile.mobile.active_nsapis = PdpContextStatus(1 << 5);
        mobile
    }

    /// It asks for combined procedures, and has sent its ATTACH REQUEST.
    pub fn attaching_combined() -> Self {
        let mut mobile = Self::new();
        mobile.cfg.combined = true;
        mobile.select(7, 1, 1);
        mobile.event(GmmMsEvent::Attach);
        mobile
    }

    /// Attached for GPRS and non-GPRS services.
    pub fn attached_combined() -> Self {
        let mut mobile = Self::attaching_combined();
        mobile.message(AttachAccept { result: AttachResult::Combined, ..attach_accept(P1) });
        assert_eq!(mobile.mobile.non_gprs(), NonGprs::Attached);
        mobile.mobile.active_nsapis = PdpContextStatus(1 << 5);
        mobile
    }

    /// ROUTING AREA UPDATE REQUEST was sent in another routing area.
    pub fn updating() -> Self {
        let mut mobile = Self::attached();
        mobile.select(7, 2, 3);
        assert_eq!(mobile.sent(), ["RauRequest"]);
        mobile
    }

    pub fn detaching() -> Self {
        let mut mobile = Self::attached();
        mobile.event(GmmMsEvent::Detach { power_off: false });
        assert_eq!(mobile.sent(), ["DetachRequestMo"]);
        mobile
    }

    pub fn event(&mut self, event: GmmMsEvent) {
        self.actions.clear();
        let mut out = Batch::default();
        self.mobile.handle(&mut self.around.context(), &self.cfg, event, &mut out);
        while let Some(action) = out.pop() {
            self.actions.push(action);
        }
    }

    pub fn select(&mut self, lac: u16, rac: u8, ci: u16) {
        self.event(GmmMsEvent::CellSelected(CellId { rai: rai(lac, rac), ci }));
    }

    pub fn message(&mut self, message: impl Into<GmmMessage>) {
        let tlli = self.mobile.tlli();
        self.event(GmmMsEvent::Message { message: message.into(), tlli });
    }

    /// Lets time pass. What was sent meanwhile, and all actions of it are kept.
    pub fn pass(&mut self, secs: u64) -> Sent {
        let start = self.around.now;
        let until = start + Duration::from_secs(secs);
        let (mut actions, mut sent) = (Vec::new(), Sent::new());
        while let Some(next) = self.mobile.deadlines.next().filter(|next| *next <= until) {
            self.around.now = next;
            let name = self.mobile.deadlines.pop_due(next).unwrap();
            self.event(GmmMsEvent::Timer(name));
            sent.extend(self.sent().into_iter().map(|name| (seconds(start, next), name)));
            actions.append(&mut self.actions);
        }
        self.around.now = until;
        self.actions = actions;
        sent
    }

    pub fn messages(&self) -> Vec<(&GmmMessage, Tlli)> {
        let sent = self.actions.iter().filter_map(|action| match action {
            GmmMsAction::Send { message, tlli } => Some((message, *tlli)),
            _ => None,
        });
        sent.collect()
    }

    /// The one message that was sent, and its TLLI.
    pub fn only(&self) -> (GmmMessage, Tlli) {
        match self.messages()[..] {
            [(message, tlli)] => (message.clone(), tlli),
            _ => panic!("{:?}", self.actions),
        }
    }

    pub fn sent(&self) -> Vec<&'static str> {
        self.messages().iter().map(|(message, _)| message.name()).collect()
    }

    pub fn has(&self, action: &GmmMsAction) -> bool {
        self.actions.contains(action)
    }

    pub fn stands(&self) -> (GmmMsState, Service) {
        (self.mobile.state(), self.mobile.service())
    }

    pub fn drops(&self, drop: Drop) -> u64 {
        self.around.trace.drops.get(drop)
    }
}

pub fn attach_accept(ptmsi: PTmsi) -> AttachAccept {
    AttachAccept {
        ptmsi_signature: Some(PTmsiSignature(0x1234)),
        negotiated_ready_timer: Some(GprsTimer(22)),
        allocated_ptmsi: Some(MobileIdentity::PTmsi(ptmsi)),
        ..AttachAccept::new(rai(7, 1), GprsTimer(0x49))
    }
}

pub fn attach_reject(cause: GmmCause) -> AttachReject {
    AttachReject { cause, t3302: None }
}

pub fn update_accept(rai: Rai, ptmsi: Option<PTmsi>) -> RauAccept {
    RauAccept { allocated_ptmsi: ptmsi.map(MobileIdentity::PTmsi), ..RauAccept::new(rai, GprsTimer(0x49)) }
}

pub fn update_reject(cause: GmmCause) -> RauReject {
    RauReject { cause, force_to_standby: NOT_INDICATED, t3302: None }
}

pub fn detach_by_network(detach_type: DetachTypeMt, cause: Option<GmmCause>) -> DetachRequestMt {
    DetachRequestMt { detach_type, force_to_standby: NOT_INDICATED, cause }
}

pub fn detach_accepted() -> DetachAcceptMo {
    DetachAcceptMo { force_to_standby: NOT_INDICATED }
}

pub fn identity_request(identity_type: IdentityType) -> IdentityRequest {
    IdentityRequest { identity_type, force_to_standby: NOT_INDICATED }
}

pub fn reallocation(ptmsi: PTmsi) -> PTmsiReallocationCommand {
    PTmsiReallocationCommand {
        allocated_ptmsi: MobileIdentity::PTmsi(ptmsi),
        rai: rai(7, 1),
        force_to_standby: NOT_INDICATED,
        ptmsi_signature: None,
    }
}

/// A UMTS challenge to the mobile.
pub fn authentication_request(rand: [u8; 16]) -> AuthenticationRequest {
    AuthenticationRequest {
        ciphering: CipheringAlgorithm(0),
        imeisv_request: ImeisvRequest::NotRequested,
        force_to_standby: NOT_INDICATED,
        reference: AcReference(5),
        rand: Some(Rand(rand)),
        cksn: Some(Cksn(2)),
        autn: Some(Autn([8; 16])),
    }
}
