//! Either side alone, with the other one and the clock played by the test.

use gannet_machine::drops::Drop;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::Quiet;
use gannet_machine::{Batch, Surroundings};
use gannet_proto::sm::ms::{SmMsAction, SmMsConfig, SmMsContexts, SmMsEvent, Wanted, WantedSecondary};
use gannet_proto::sm::network::{
    Selected, Selection, SmAction, SmConfig, SmContexts, SmCreated, SmEvent, SmNetwork, SmRequested, SmState,
};
use gannet_wire::Reader;
use gannet_wire::gtp::Cause;
use gannet_wire::id::{Nsapi, Sapi};
use gannet_wire::l3::ie::*;
use gannet_wire::l3::sm::*;
use gannet_wire::l3::{Direction, Header, L3Message};

pub const N5: Nsapi = Nsapi(5);
pub const N6: Nsapi = Nsapi(6);
pub const N7: Nsapi = Nsapi(7);
pub const ADDRESS: PdpAddress = PdpAddress::Ipv4(core::net::Ipv4Addr::new(10, 0, 0, 7));

/// A profile that is told from others by its delay class.
pub fn qos(delay: DelayClass) -> QosProfile {
    QosProfile { delay, r99: None, ..QosProfile::BEST_EFFORT }
}

/// An operation that creates a template with one filter.
pub fn tft(precedence: u8) -> TrafficFlowTemplate {
    TftRepr::new(TftOperation::Create(vec![filter(0, precedence)])).to_element()
}

pub fn filter(identifier: u8, precedence: u8) -> PacketFilter {
    let components = vec![Component::Protocol(17)];
    PacketFilter { identifier, direction: FilterDirection::Unsaid, precedence, components }
}

pub fn change(operation: TftOperation) -> TrafficFlowTemplate {
    TftRepr::new(operation).to_element()
}

/// Whether each time lies `seconds` behind the one before it, within the timers' grain.
pub fn are_spaced(times: &[Instant], seconds: u64) -> bool {
    let grain = Duration::from_millis(150);
    times.windows(2).all(|two| {
        let gap = two[1].since(two[0]);
        gap >= Duration::from_secs(seconds) && gap < Duration::from_secs(seconds) + grain
    })
}

/// "barred" is an access point that nobody may have; of the quality of service all is granted but delay class 1.
struct Subscription;

impl Selection for Subscription {
    fn select(&mut self, request: &ActivateRequest) -> Result<Selected, SmCause> {
        match request.apn.as_ref().map(|apn| apn.as_str()) {
            Some("unknown") => Err(SmCause::MissingOrUnknownApn),
            Some("barred") => Err(SmCause::OperatorDeterminedBarring),
            Some("others") => Err(SmCause::ServiceOptionNotSubscribed),
            _ => Ok(Selected { apn: 0, qos: request.qos, address: request.address }),
        }
    }

    fn grant(&mut self, _: u16, _: Nsapi, wish: &QosProfile) -> Result<QosProfile, SmCause> {
        if wish.delay == DelayClass::ONE { Err(SmCause::InsufficientResources) } else { Ok(*wish) }
    }
}

/// The network under test. What it does is kept with its time.
pub struct Network {
    pub world: Surroundings<Quiet>,
    pub contexts: SmContexts,
    pub cfg: SmConfig,
    pub requested: Option<SmRequested>,
    pub wrong_flag_said: bool,
    pub done: Vec<(Instant, SmAction)>,
}

impl Network {
    pub fn new() -> Self {
        Self {
            world: Surroundings::new(1, 0, Quiet::default()),
            contexts: SmContexts::default(),
            cfg: SmConfig::default(),
            requested: None,
            wrong_flag_said: false,
            done: Vec::new(),
        }
    }

    /// With an active context in NSAPI 5, under identifier 0.
    pub fn active() -> Self {
        let mut network = Self::new();
        network.hears(0, request(N5));
        network.created(N5);
        network.done.clear();
        network
    }

    /// And with a secondary one in NSAPI 6, under identifier 1, whose template has precedence 1.
    pub fn with_secondary() -> Self {
        let mut network = Self::active();
        network.hears(1, secondary(N6, 0, Some(tft(1))));
        network.created(N6);
        network.done.clear();
        network
    }

    pub fn event(&mut self, event: SmEvent) {
        let mut out = Batch::default();
        let mut around = SmNetwork {
            cfg: &self.cfg,
            selection: &mut Subscription,
            whose: None,
            requested: self.requested.as_ref(),
            wrong_flag_said: &mut self.wrong_flag_said,
        };
        self.contexts.handle(&mut self.world.context(), &mut around, event, &mut out);
        while let Some(action) = out.pop() {
            self.done.push((self.world.now, action));
        }
    }

    /// A message from the mobile about a transaction that the mobile began.
    pub fn hears(&mut self, ti: u8, message: impl Into<SmMessage>) {
        self.event(SmEvent::Message { ti, ti_flag: false, message: message.into() });
    }

    /// A message with flag 1.
    pub fn hears_flagged(&mut self, ti: u8, message: impl Into<SmMessage>) {
        self.event(SmEvent::Message { ti, ti_flag: true, message: message.into() });
    }

    /// The last message, which went to a mobile that sets the flag.
    pub fn said_flagged(&self) -> (u8, SmMessage) {
        let (_, ti, ti_flag, message) = self.sent().pop().expect("nothing was sent");
        assert!(!ti_flag);
        (ti, message)
    }

    pub fn hears_octets(&mut self, octets: &[u8]) {
        match L3Message::parse(Direction::Uplink, octets) {
            Ok(L3Message::Sm { ti, ti_flag, message }) => {
                self.event(SmEvent::Message { ti, ti_flag, message })
            }
            Ok(L3Message::Gmm(_)) => panic!("{octets:02x?}"),
            Err(error) => {
                let Ok(Header::Sm { ti, ti_flag, message_type }) = Header::parse(&mut Reader::new(octets))
                else {
                    return;
                };
                self.event(SmEvent::DecodeFailed { ti, ti_flag, message_type, error });
            }
        }
    }

    pub fn created(&mut self, nsapi: Nsapi) {
        let qos = self.contexts.get(nsapi).unwrap().qos();
        let created = SmCreated { qos, address: Some(ADDRESS), cause: Cause::RequestAccepted, pco: None };
        self.event(SmEvent::Created { nsapi, created });
    }

    pub fn run(&mut self, seconds: u64) {
        let end = self.world.now + Duration::from_secs(seconds);
        while let Some(at) = self.contexts.deadline(self.world.now).filter(|at| *at <= end) {
            self.world.now = at.max(self.world.now);
            self.event(SmEvent::Timer);
        }
        self.world.now = end;
    }

    pub fn state(&self, nsapi: Nsapi) -> Option<SmState> {
        self.contexts.get(nsapi).map(|context| context.state())
    }

    /// Messages that were sent, with their times.
    pub fn sent(&self) -> Vec<(Instant, u8, bool, SmMessage)> {
        let message = |(at, action): &(Instant, SmAction)| match action {
            SmAction::Send { ti, ti_flag, message } => Some((*at, *ti, *ti_flag, message.clone())),
            _ => None,
        };
        self.done.iter().filter_map(message).collect()
    }

    /// The last message, which went to a mobile that began the transaction.
    pub fn said(&self) -> (u8, SmMessage) {
        let (_, ti, ti_flag, message) = self.sent().pop().expect("nothing was sent");
        assert!(ti_flag);
        (ti, message)
    }

    pub fn has_done(&self, wanted: &SmAction) -> bool {
        self.done.iter().any(|(_, action)| action == wanted)
    }

    pub fn drops(&self, drop: Drop) -> u64 {
        self.world.trace.drops.get(drop)
    }

    pub fn tunnels_deleted(&self) -> Vec<(Nsapi, bool)> {
        let deleted = |(_, action): &(Instant, SmAction)| match action {
            SmAction::DeleteTunnel { nsapi, tear_down } => Some((*nsapi, *tear_down)),
            _ => None,
        };
        self.done.iter().filter_map(deleted).collect()
    }
}

pub fn request(nsapi: Nsapi) -> ActivateRequest {
    ActivateRequest {
        nsapi,
        sapi: Sapi::DATA3,
        qos: qos(DelayClass::BEST_EFFORT),
        address: PdpAddress::Ipv4Dynamic,
        apn: "internet".parse().ok(),
        pco: None,
    }
}

pub fn secondary(nsapi: Nsapi, linked: u8, tft: Option<TrafficFlowTemplate>) -> ActivateSecondaryRequest {
    let linked_ti = LinkedTi { ti: linked, ti_flag: false };
    ActivateSecondaryRequest { nsapi, sapi: Sapi::DATA5, qos: qos(DelayClass::THREE), linked_ti, tft }
}

pub fn deactivate(tear_down: bool) -> DeactivateRequest {
    let tear_down = tear_down.then_some(TearDownIndicator::AllOfAddress);
    DeactivateRequest { cause: SmCause::RegularDeactivation, tear_down }
}

/// The mobile under test. What it does is kept with its time.
pub struct Mobile {
    pub world: Surroundings<Quiet>,
    pub contexts: SmMsContexts,
    pub cfg: SmMsConfig,
    pub done: Vec<(Instant, SmMsAction)>,
}

impl Mobile {
    pub fn new() -> Self {
        Self {
            world: Surroundings::new(1, 0, Quiet::default()),
            contexts: SmMsContexts::default(),
            cfg: SmMsConfig::default(),
            done: Vec::new(),
        }
    }

    /// Asks for a context in NSAPI 5, which has identifier 0.
    pub fn activating() -> Self {
        let mut mobile = Self::new();
        mobile.event(SmMsEvent::Activate { nsapi: N5, wanted: wanted() });
        mobile
    }

    pub fn active() -> Self {
        let mut mobile = Self::activating();
        mobile.hears(0, accept());
        mobile.done.clear();
        mobile
    }

    /// And with a secondary one in NSAPI 6, under identifier 1.
    pub fn with_secondary() -> Self {
        let mut mobile = Self::active();
        mobile.event(SmMsEvent::ActivateSecondary { nsapi: N6, wanted: wanted_secondary() });
        mobile.hears(1, accept_secondary());
        mobile.done.clear();
        mobile
    }

    pub fn event(&mut self, event: SmMsEvent) {
        let mut out = Batch::default();
        self.contexts.handle(&mut self.world.context(), &self.cfg, None, event, &mut out);
        while let Some(action) = out.pop() {
            self.done.push((self.world.now, action));
        }
    }

    /// A message from the network about a transaction that the mobile began.
    pub fn hears(&mut self, ti: u8, message: impl Into<SmMessage>) {
        self.event(SmMsEvent::Message { ti, ti_flag: true, message: message.into() });
    }

    pub fn hears_octets(&mut self, octets: &[u8]) {
        match L3Message::parse(Direction::Downlink, octets) {
            Ok(L3Message::Sm { ti, ti_flag, message }) => {
                self.event(SmMsEvent::Message { ti, ti_flag, message });
            }
            Ok(L3Message::Gmm(_)) => panic!("{octets:02x?}"),
            Err(error) => {
                let Ok(Header::Sm { ti, ti_flag, message_type }) = Header::parse(&mut Reader::new(octets))
                else {
                    return;
                };
                self.event(SmMsEvent::DecodeFailed { ti, ti_flag, message_type, error });
            }
        }
    }

    pub fn run(&mut self, seconds: u64) {
        let end = self.world.now + Duration::from_secs(seconds);
        while let Some(at) = self.contexts.deadline(self.world.now).filter(|at| *at <= end) {
            self.world.now = at.max(self.world.now);
            self.event(SmMsEvent::Timer);
        }
        self.world.now = end;
    }

    pub fn state(&self, nsapi: Nsapi) -> Option<gannet_proto::sm::ms::SmMsState> {
        self.contexts.get(nsapi).map(|context| context.state())
    }

    pub fn sent(&self) -> Vec<(Instant, u8, bool, SmMessage)> {
        let message = |(at, action): &(Instant, SmMsAction)| match action {
            SmMsAction::Send { ti, ti_flag, message } => Some((*at, *ti, *ti_flag, message.clone())),
            _ => None,
        };
        self.done.iter().filter_map(message).collect()
    }

    /// The last message, about a transaction that the mobile began.
    pub fn said(&self) -> (u8, SmMessage) {
        let (_, ti, ti_flag, message) = self.sent().pop().expect("nothing was sent");
        assert!(!ti_flag);
        (ti, message)
    }

    pub fn has_done(&self, wanted: &SmMsAction) -> bool {
        self.done.iter().any(|(_, action)| action == wanted)
    }

    pub fn drops(&self, drop: Drop) -> u64 {
        self.world.trace.drops.get(drop)
    }
}

pub fn wanted() -> Wanted {
    let ActivateRequest { sapi, qos, address, apn, pco, .. } = request(N5);
    Wanted { sapi, qos, address, apn, pco }
}

pub fn wanted_secondary() -> WantedSecondary {
    WantedSecondary { linked: N5, sapi: Sapi::DATA5, qos: qos(DelayClass::THREE), tft: Some(tft(1)) }
}

pub fn accept() -> ActivateAccept {
    ActivateAccept {
        sapi: Sapi::DATA3,
        qos: qos(DelayClass::BEST_EFFORT),
        radio_priority: RadioPriority::Four,
        address: Some(ADDRESS),
        pco: None,
        packet_flow_identifier: None,
        cause: None,
    }
}

pub fn accept_secondary() -> ActivateSecondaryAccept {
    ActivateSecondaryAccept {
        sapi: Sapi::DATA5,
        qos: qos(DelayClass::THREE),
        radio_priority: RadioPriority::Three,
        packet_flow_identifier: None,
    }
}
