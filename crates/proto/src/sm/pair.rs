//! A mobile and an SGSN with a GGSN behind it, in virtual time, over a link that loses, doubles and delays.

use super::ms::{SmMsAction, SmMsConfig, SmMsContexts, SmMsEvent, SmMsState, Wanted};
use super::network::{Selected, Selection, SmAction, SmConfig, SmContexts, SmEvent, SmNetwork, SmState};
use crate::drops::Drop;
use crate::machine::{Batch, Surroundings};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::trace::Quiet;
use gannet_wire::Reader;
use gannet_wire::gtp::Cause;
use gannet_wire::id::{Nsapi, Sapi};
use gannet_wire::l3::ie::{
    DelayClass, LinkedTi, PdpAddress, ProtocolConfiguration, QosProfile, QosR99, SmCause,
};
use gannet_wire::l3::sm::*;
use gannet_wire::l3::{Direction, Header, L3Message};
use std::collections::BTreeMap;

const ADDRESS: PdpAddress = PdpAddress::Ipv4(core::net::Ipv4Addr::new(10, 0, 0, 7));
const N5: Nsapi = Nsapi(5);
const N6: Nsapi = Nsapi(6);

/// Everybody may have the access points "internet" (index 3) and "static" (index 4).
struct Subscriptions;

impl Selection for Subscriptions {
    fn select(&mut self, request: &ActivateRequest) -> Result<Selected, SmCause> {
        let qos = QosProfile { r99: request.qos.r99, ..QosProfile::BEST_EFFORT };
        match request.apn.as_ref().map(|apn| apn.as_str()) {
            None | Some("internet") => Ok(Selected { apn: 3, qos, address: request.address }),
            Some("static") => Ok(Selected { apn: 4, qos, address: ADDRESS }),
            Some("forbidden") => Err(SmCause::ServiceOptionNotSubscribed),
            Some(_) => Err(SmCause::MissingOrUnknownApn),
        }
    }
}

/// What the GGSN says to a request for a tunnel.
#[derive(Clone, Copy, PartialEq)]
enum Ggsn {
    Accepts,
    Refuses(Cause),
    IsSilent,
}

enum Arrival {
    AtSgsn(Vec<u8>),
    AtMs(Vec<u8>),
    FromGgsn(SmEvent),
}

struct Pair {
    world: Surroundings<Quiet>,
    ms: SmMsContexts,
    sgsn: SmContexts,
    cfg: SmConfig,
    queue: BTreeMap<(Instant, u64), Arrival>,
    sequence: u64,
    dice: Rng,
    loss: f64,
    doubling: f64,
    ggsn: Ggsn,
    /// Tunnels that the GGSN has.
    tunnels: Vec<Nsapi>,
    /// What the node and the user saw.
    at_sgsn: Vec<SmAction>,
    at_ms: Vec<SmMsAction>,
}

impl Pair {
    fn new(seed: u64, loss: f64, doubling: f64) -> Self {
        Self {
            world: Surroundings::new(seed, 0, Quiet::default()),
            ms: SmMsContexts::default(),
            sgsn: SmContexts::default(),
            cfg: SmConfig::default(),
            queue: BTreeMap::new(),
            sequence: 0,
            dice: Rng::seeded(seed),
            loss,
            doubling,
            ggsn: Ggsn::Accepts,
            tunnels: Vec::new(),
            at_sgsn: Vec::new(),
            at_ms: Vec::new(),
        }
    }

    fn drops(&self, drop: Drop) -> u64 {
        self.world.trace.drops.get(drop)
    }

    fn later(&mut self, millis: u64, arrival: Arrival) {
        self.sequence += 1;
        self.queue.insert((self.world.now + Duration::from_millis(millis), self.sequence), arrival);
    }

    fn over_the_air(&mut self, message: &L3Message, uplink: bool) {
        let copies = if self.dice.chance(self.doubling) { 2 } else { 1 };
        for _ in 0..copies {
            let delay = 100 + self.dice.below(400);
            if !self.dice.chance(self.loss) {
                let octets = message.to_vec();
                self.later(delay, if uplink { Arrival::AtSgsn(octets) } else { Arrival::AtMs(octets) });
            }
        }
    }

    fn sgsn(&mut self, event: SmEvent) {
        let mut out = Batch::default();
        let mut network = SmNetwork { cfg: &self.cfg, selection: &mut Subscriptions, whose: None };
        self.sgsn.handle(&mut self.world.context(), &mut network, event, &mut out);
        while let Some(action) = out.pop() {
            match &action {
                SmAction::Send { ti, ti_flag, message } => {
                    let message = L3Message::Sm { ti: *ti, ti_flag: *ti_flag, message: message.clone() };
                    self.over_the_air(&message, false);
                }
                SmAction::CreateTunnel { nsapi, qos, .. } => self.create(*nsapi, *qos),
                SmAction::DeleteTunnel { nsapi } => {
                    self.supersede(*nsapi);
                    self.tunnels.retain(|tunnel| tunnel != nsapi);
                    self.later(20, Arrival::FromGgsn(SmEvent::Deleted { nsapi: *nsapi }));
                }
                SmAction::Active { .. } | SmAction::Modified { .. } | SmAction::Released { .. } => {}
            }
            if matches!(action, SmAction::Released { .. }) {
                let SmAction::Released { nsapi, .. } = action else { unreachable!() };
                self.supersede(nsapi);
            }
            self.at_sgsn.push(action);
        }
    }

    /// Answers of the GGSN to older questions are swallowed, as the node does it.
    fn supersede(&mut self, of: Nsapi) {
        self.queue.retain(|_, arrival| match arrival {
            Arrival::FromGgsn(
                SmEvent::Created { nsapi, .. }
                | SmEvent::CreateRejected { nsapi, .. }
                | SmEvent::CreateFailed { nsapi }
                | SmEvent::Deleted { nsapi },
            ) => *nsapi != of,
            _ => true,
        });
    }

    fn create(&mut self, nsapi: Nsapi, asked: QosProfile) {
        self.supersede(nsapi);
        let event = match self.ggsn {
            Ggsn::Accepts => {
                self.tunnels.retain(|tunnel| *tunnel != nsapi);
                self.tunnels.push(nsapi);
                SmEvent::Created {
                    nsapi,
                    qos: QosProfile { delay: DelayClass::THREE, ..asked },
                    address: Some(ADDRESS),
                    pco: Some(ProtocolConfiguration(vec![0x80, 1])),
                }
            }
            Ggsn::Refuses(cause) => SmEvent::CreateRejected { nsapi, cause, pco: None },
            Ggsn::IsSilent => return self.later(20_000, Arrival::FromGgsn(SmEvent::CreateFailed { nsapi })),
        };
        self.later(20, Arrival::FromGgsn(event));
    }

    fn ms(&mut self, event: SmMsEvent) {
        let mut out = Batch::default();
        self.ms.handle(&mut self.world.context(), &SmMsConfig::default(), None, event, &mut out);
        while let Some(action) = out.pop() {
            if let SmMsAction::Send { ti, ti_flag, message } = &action {
                let message = L3Message::Sm { ti: *ti, ti_flag: *ti_flag, message: message.clone() };
                self.over_the_air(&message, true);
            }
            self.at_ms.push(action);
        }
    }

    fn octets_at_sgsn(&mut self, octets: &[u8]) {
        match L3Message::parse(Direction::Uplink, octets) {
            Ok(L3Message::Sm { ti, ti_flag, message }) => {
                self.sgsn(SmEvent::Message { ti, ti_flag, message })
            }
            Ok(L3Message::Gmm(_)) => unreachable!(),
            Err(error) => {
                let Ok(Header::Sm { ti, ti_flag, message_type }) = Header::parse(&mut Reader::new(octets))
                else {
                    return;
                };
                self.sgsn(SmEvent::DecodeFailed { ti, ti_flag, message_type, error });
            }
        }
    }

    fn octets_at_ms(&mut self, octets: &[u8]) {
        match L3Message::parse(Direction::Downlink, octets) {
            Ok(L3Message::Sm { ti, ti_flag, message }) => {
                self.ms(SmMsEvent::Message { ti, ti_flag, message })
            }
            Ok(L3Message::Gmm(_)) => unreachable!(),
            Err(error) => {
                let Ok(Header::Sm { ti, ti_flag, message_type }) = Header::parse(&mut Reader::new(octets))
                else {
                    return;
                };
                self.ms(SmMsEvent::DecodeFailed { ti, ti_flag, message_type, error });
            }
        }
    }

    /// Runs for `seconds`.
    fn run(&mut self, seconds: u64) {
        let end = self.world.now + Duration::from_secs(seconds);
        loop {
            let now = self.world.now;
            let arrival = self.queue.keys().next().map(|(at, _)| *at);
            let deadlines = [arrival, self.sgsn.deadline(now), self.ms.deadline(now)];
            let Some(next) = deadlines.into_iter().flatten().min().filter(|next| *next <= end) else {
                self.world.now = end;
                return;
            };
            self.world.now = next.max(now);
            if self.sgsn.deadline(self.world.now).is_some_and(|at| at <= self.world.now) {
                self.sgsn(SmEvent::Timer);
            } else if self.ms.deadline(self.world.now).is_some_and(|at| at <= self.world.now) {
                self.ms(SmMsEvent::Timer);
            } else if let Some((_, arrival)) = self.queue.pop_first() {
                match arrival {
                    Arrival::AtSgsn(octets) => self.octets_at_sgsn(&octets),
                    Arrival::AtMs(octets) => self.octets_at_ms(&octets),
                    Arrival::FromGgsn(event) => self.sgsn(event),
                }
            }
        }
    }

    fn activate(&mut self, nsapi: Nsapi, apn: &str, address: PdpAddress) {
        let wanted = Wanted {
            sapi: Sapi::DATA3,
            qos: QosProfile { r99: Some(QosR99::default()), ..QosProfile::default() },
            address,
            apn: Some(apn.parse().unwrap()),
            pco: Some(ProtocolConfiguration(vec![0x80])),
        };
        self.ms(SmMsEvent::Activate { nsapi, wanted });
    }

    fn active() -> Self {
        let mut pair = Self::new(1, 0.0, 0.0);
        pair.activate(N5, "internet", PdpAddress::Ipv4Dynamic);
        pair.run(10);
        assert_eq!(pair.states(), (Some(SmMsState::Active), Some(SmState::Active)));
        pair
    }

    fn states(&self) -> (Option<SmMsState>, Option<SmState>) {
        (self.ms.get(N5).map(|c| c.state()), self.sgsn.get(N5).map(|c| c.state()))
    }

    /// What the SGSN sent last.
    fn last_sent(&self) -> Option<(u8, bool, SmMessage)> {
        self.at_sgsn.iter().rev().find_map(|action| match action {
            SmAction::Send { ti, ti_flag, message } => Some((*ti, *ti_flag, message.clone())),
            _ => None,
        })
    }

    fn uplink(&mut self, ti: u8, ti_flag: bool, message: impl Into<SmMessage>) {
        self.sgsn(SmEvent::Message { ti, ti_flag, message: message.into() });
    }

    fn downlink(&mut self, ti: u8, ti_flag: bool, message: impl Into<SmMessage>) {
        self.ms(SmMsEvent::Message { ti, ti_flag, message: message.into() });
    }
}

fn request(nsapi: Nsapi, address: PdpAddress) -> ActivateRequest {
    ActivateRequest { nsapi, sapi: Sapi(0), qos: QosProfile::default(), address, apn: None, pco: None }
}

#[test]
fn a_context_comes_and_goes() {
    let mut pair = Pair::active();
    let ms = pair.ms.get(N5).unwrap();
    assert_eq!((ms.address(), ms.qos().delay), (ADDRESS, DelayClass::THREE));
    assert_eq!(ms.qos(), pair.sgsn.get(N5).unwrap().qos());
    assert_eq!(pair.sgsn.get(N5).unwrap().ti(), (0, true));
    assert!(pair.at_ms.iter().any(|action| matches!(action,
        SmMsAction::Active { nsapi: N5, address: ADDRESS, pco: Some(pco), .. } if pco.0 == [0x80, 1])));
    assert_eq!(pair.sgsn.status().0, 1 << 5);
    pair.ms(SmMsEvent::Deactivate { nsapi: N5, cause: SmCause::RegularDeactivation });
    pair.run(10);
    assert_eq!(pair.states(), (None, None));
    assert!(pair.tunnels.is_empty());
    assert_eq!(pair.world.trace.drops.total(), 0);
}

#[test]
fn the_network_deactivates() {
    for tunnel_gone in [false, true] {
        let mut pair = Pair::active();
        pair.sgsn(SmEvent::Deactivate { nsapi: N5, cause: SmCause::ReactivationRequired, tunnel_gone });
        assert_eq!(pair.tunnels.is_empty(), !tunnel_gone);
        pair.run(10);
        assert_eq!(pair.states(), (None, None));
        assert!(
            pair.at_ms.contains(&SmMsAction::Released { nsapi: N5, cause: SmCause::ReactivationRequired })
        );
        assert_eq!(pair.world.trace.drops.total(), 0);
    }
}

#[test]
fn both_deactivate_at_once() {
    let mut pair = Pair::active();
    pair.sgsn(SmEvent::Deactivate { nsapi: N5, cause: SmCause::NetworkFailure, tunnel_gone: false });
    pair.ms(SmMsEvent::Deactivate { nsapi: N5, cause: SmCause::RegularDeactivation });
    pair.run(20);
    assert_eq!(pair.states(), (None, None));
    assert!(pair.tunnels.is_empty());
}

#[test]
fn every_refusal_has_its_cause() {
    let failed = |apn: &str, address, ggsn| {
        let mut pair = Pair::new(1, 0.0, 0.0);
        pair.ggsn = ggsn;
        pair.activate(N5, apn, address);
        pair.run(40);
        assert_eq!(pair.states(), (None, None));
        assert_eq!(pair.drops(Drop::SmRejected), 1);
        let Some(SmMsAction::Failed { nsapi: N5, cause: Some(cause) }) = pair.at_ms.last() else { panic!() };
        cause.code()
    };
    let dynamic = PdpAddress::Ipv4Dynamic;
    assert_eq!(failed("nowhere", dynamic, Ggsn::Accepts), 27);
    assert_eq!(failed("forbidden", dynamic, Ggsn::Accepts), 33);
    assert_eq!(failed("internet", PdpAddress::Ppp, Ggsn::Accepts), 28);
    assert_eq!(failed("internet", PdpAddress::Empty, Ggsn::Accepts), 28);
    assert_eq!(failed("internet", dynamic, Ggsn::Refuses(Cause::AllDynamicAddressesOccupied)), 26);
    assert_eq!(failed("internet", dynamic, Ggsn::Refuses(Cause::UserAuthenticationFailed)), 29);
    assert_eq!(failed("internet", dynamic, Ggsn::IsSilent), 38);
}

#[test]
fn unknown_ietf_types_are_ipv4_and_ipv6_can_be_switched_off() {
    let mut pair = Pair::new(1, 1.0, 0.0);
    pair.uplink(0, false, request(N5, PdpAddress::Other { organisation: 1, number: 0x8d }));
    assert!(matches!(
        pair.at_sgsn[..],
        [SmAction::CreateTunnel { nsapi: N5, apn: 3, address: PdpAddress::Ipv4Dynamic, .. }]
    ));
    // The mobile of R97 gets a profile of R97, and a SAPI although it named none.
    pair.run(1);
    let Some((0, true, SmMessage::ActivateAccept(accept))) = pair.last_sent() else { panic!() };
    assert_eq!((accept.qos.r99, accept.sapi, accept.address), (None, Sapi::DATA3, Some(ADDRESS)));
    pair.cfg.ipv6 = false;
    pair.uplink(1, false, request(N6, PdpAddress::Ipv6Dynamic));
    assert!(matches!(pair.last_sent(), Some((1, true, SmMessage::ActivateReject(reject)))
        if reject.cause == SmCause::UnknownPdpAddressOrType));
}

#[test]
fn a_request_again_while_pending_is_ignored_and_later_replaces() {
    // The mobile is this test itself.
    let mut pair = Pair::new(1, 1.0, 0.0);
    pair.uplink(0, false, request(N5, PdpAddress::Ipv4Dynamic));
    pair.uplink(0, false, request(N5, PdpAddress::Ipv4Dynamic));
    assert_eq!((pair.at_sgsn.len(), pair.drops(Drop::SmRepeated)), (1, 1));
    pair.run(1);
    assert_eq!(pair.states().1, Some(SmState::Active));
    // Clause 8.3.2 d: the same identifier; 6.1.3.1.5 c: the same NSAPI under another identifier.
    for (ti, count) in [(0, 1), (3, 2)] {
        pair.at_sgsn.clear();
        pair.uplink(ti, false, request(N5, PdpAddress::Ipv4Dynamic));
        assert!(matches!(
            pair.at_sgsn[..],
            [
                SmAction::DeleteTunnel { nsapi: N5 },
                SmAction::Released { nsapi: N5, .. },
                SmAction::CreateTunnel { nsapi: N5, .. },
            ]
        ));
        pair.run(1);
        assert_eq!((pair.tunnels.len(), pair.drops(Drop::SmReplaced)), (1, count));
    }
    // The same identifier for another NSAPI, and then the same static address in yet another.
    pair.uplink(3, false, request(N6, PdpAddress::Ipv4Dynamic));
    pair.run(1);
    assert!(pair.sgsn.get(N5).is_none());
    pair.uplink(4, false, request(N5, ADDRESS));
    assert!(pair.sgsn.get(N6).is_none());
    assert_eq!(pair.drops(Drop::SmReplaced), 4);
}

#[test]
fn unknown_identifiers() {
    let mut pair = Pair::active();
    pair.loss = 1.0;
    for message in [
        SmMessage::from(DeactivateRequest { cause: SmCause::RegularDeactivation, tear_down: None }),
        DeactivateAccept {}.into(),
        ModifyAcceptMo {}.into(),
        ModifyRequestMo { sapi: None, qos: None, tft: None }.into(),
        RequestActivationReject { cause: SmCause::InsufficientResources }.into(),
    ] {
        for (ti, ti_flag) in [(5, false), (100, false), (0, true)] {
            pair.uplink(ti, ti_flag, message.clone());
            let answer = SmStatus { cause: SmCause::InvalidTi }.into();
            assert_eq!(pair.last_sent(), Some((ti, !ti_flag, answer)), "{message:?}");
        }
    }
    assert_eq!(pair.drops(Drop::SmUnknownTi), 15);
    // A status is not answered, a request whose flag says that the network chose the identifier is ignored.
    let before = pair.at_sgsn.len();
    pair.uplink(5, false, SmStatus { cause: SmCause::InvalidTi });
    pair.uplink(5, true, request(N6, PdpAddress::Ipv4Dynamic));
    assert_eq!(pair.at_sgsn.len(), before);
    assert_eq!((pair.drops(Drop::SmStatusReceived), pair.drops(Drop::SmIgnored)), (1, 1));
    // Unless the operator wants it taken; then the answer's flag is 0.
    pair.cfg.accept_ti_flag = true;
    pair.uplink(5, true, request(N6, PdpAddress::Ipv4Dynamic));
    pair.run(1);
    assert!(matches!(pair.last_sent(), Some((5, false, SmMessage::ActivateAccept(_)))));
    assert_eq!((pair.sgsn.by_ti(5, true), pair.sgsn.by_ti(5, false)), (Some(N6), None));
}

#[test]
fn messages_that_cannot_be_read() {
    let mut pair = Pair::active();
    for (octets, ti, answer) in [
        // An Activate Request and a Modify Request without their mandatory part; a type that is not defined.
        (
            &[0x1a, 0x41, 5][..],
            1,
            SmMessage::from(ActivateReject { cause: SmCause::InvalidMandatoryInformation, pco: None }),
        ),
        (&[0x1a, 0x4d, 5], 1, ActivateSecondaryReject { cause: SmCause::InvalidMandatoryInformation }.into()),
        (&[0x0a, 0x4a, 0x01, 0x00], 0, ModifyReject { cause: SmCause::InvalidMandatoryInformation }.into()),
        (&[0x0a, 0x45], 0, SmStatus { cause: SmCause::InvalidMandatoryInformation }.into()),
        (&[0x0a, 0x5f], 0, SmStatus { cause: SmCause::MessageTypeNonExistent }.into()),
        (&[0x0a, 0x42], 0, SmStatus { cause: SmCause::MessageTypeNonExistent }.into()),
    ] {
        pair.octets_at_sgsn(octets);
        assert_eq!(pair.last_sent(), Some((ti, true, answer)));
    }
    let sent = pair.at_sgsn.len();
    pair.octets_at_sgsn(&[0x0a, 0x55]);
    pair.octets_at_sgsn(&[0x7a, 0x01, 0x41]);
    assert_eq!((pair.at_sgsn.len(), pair.drops(Drop::SmMalformed)), (sent, 7));
    assert_eq!(pair.states().1, Some(SmState::Active));
    // A Deactivate Request without its cause is carried out (clause 8.5.3 b), at both ends.
    pair.octets_at_sgsn(&[0x0a, 0x46]);
    pair.run(1);
    assert_eq!(pair.states().1, None);
    pair.octets_at_ms(&[0x8a, 0x46]);
    assert_eq!(pair.states().0, None);
}

#[test]
fn modification_and_secondary_contexts_are_refused() {
    let mut pair = Pair::active();
    let held = pair.ms.get(N5).unwrap().qos();
    pair.ms(SmMsEvent::Modify { nsapi: N5, qos: QosProfile::BEST_EFFORT });
    assert_eq!(pair.states().0, Some(SmMsState::ModifyPending));
    pair.run(10);
    assert_eq!(pair.at_ms.last(), Some(&SmMsAction::Modified { nsapi: N5, qos: held, sapi: Sapi::DATA3 }));
    let reject = ModifyReject { cause: SmCause::ServiceOptionNotSupported }.into();
    assert_eq!(pair.last_sent(), Some((0, true, reject)));
    for (linked, cause) in [(0, SmCause::ServiceOptionNotSupported), (4, SmCause::UnknownPdpContext)] {
        let secondary = ActivateSecondaryRequest {
            nsapi: N6,
            sapi: Sapi::DATA5,
            qos: QosProfile::default(),
            linked_ti: LinkedTi { ti: linked, ti_flag: false },
            tft: None,
        };
        pair.uplink(1, false, secondary);
        assert_eq!(pair.last_sent(), Some((1, true, ActivateSecondaryReject { cause }.into())));
    }
}

#[test]
fn the_network_modifies() {
    let mut pair = Pair::active();
    let qos = QosProfile { delay: DelayClass::ONE, r99: None, ..QosProfile::BEST_EFFORT };
    pair.sgsn(SmEvent::Modify { nsapi: N5, qos });
    // Collision: the network goes first (clause 6.1.3.3.3 b).
    pair.ms(SmMsEvent::Modify { nsapi: N5, qos: QosProfile::BEST_EFFORT });
    pair.run(20);
    assert_eq!(pair.states(), (Some(SmMsState::Active), Some(SmState::Active)));
    assert_eq!((pair.ms.get(N5).unwrap().qos(), pair.sgsn.get(N5).unwrap().qos()), (qos, qos));
    assert!(pair.at_sgsn.contains(&SmAction::Modified { nsapi: N5, qos }));
    // Without an answer the context is deactivated after T3386 has expired five times, then T3395.
    pair.loss = 1.0;
    pair.sgsn(SmEvent::Modify { nsapi: N5, qos });
    pair.run(100);
    assert_eq!((pair.states().1, pair.drops(Drop::SmNoAnswer)), (None, 2));
    assert!(pair.tunnels.is_empty());
}

#[test]
fn nobody_answers() {
    let mut pair = Pair::new(1, 1.0, 0.0);
    pair.activate(N5, "internet", PdpAddress::Ipv4Dynamic);
    pair.run(149);
    assert_eq!(pair.states().0, Some(SmMsState::ActivePending));
    pair.run(10);
    let sent = pair.at_ms.iter().filter(|action| matches!(action, SmMsAction::Send { .. })).count();
    assert_eq!((sent, pair.at_ms.last()), (5, Some(&SmMsAction::Failed { nsapi: N5, cause: None })));

    let mut pair = Pair::active();
    pair.loss = 1.0;
    pair.at_ms.clear();
    pair.at_sgsn.clear();
    pair.ms(SmMsEvent::Deactivate { nsapi: N5, cause: SmCause::RegularDeactivation });
    pair.sgsn(SmEvent::Deactivate { nsapi: N5, cause: SmCause::NetworkFailure, tunnel_gone: false });
    pair.run(39);
    assert!(pair.states().0.is_some() && pair.states().1.is_some());
    pair.run(5);
    assert_eq!(pair.states(), (None, None));
    let sent = |count: usize| count == 5;
    assert!(sent(pair.at_ms.iter().filter(|action| matches!(action, SmMsAction::Send { .. })).count()));
    assert!(sent(pair.at_sgsn.iter().filter(|action| matches!(action, SmAction::Send { .. })).count()));
    assert_eq!(pair.drops(Drop::SmNoAnswer), 2);
}

#[test]
fn the_mobile_refuses_what_it_cannot_do() {
    let mut pair = Pair::new(1, 0.0, 0.0);
    let offer = RequestActivation { address: ADDRESS, apn: None };
    let last = |pair: &Pair| match pair.at_ms.last() {
        Some(SmMsAction::Send { ti, ti_flag, message }) => Some((*ti, *ti_flag, message.clone())),
        _ => None,
    };
    let reject = |cause| Some((2, true, SmMessage::from(RequestActivationReject { cause })));
    pair.downlink(2, false, offer.clone());
    assert_eq!(last(&pair), reject(SmCause::FeatureNotSupported));
    pair.downlink(2, true, offer.clone());
    assert_eq!(pair.drops(Drop::SmIgnored), 1);
    pair.activate(N5, "internet", PdpAddress::Ipv4Dynamic);
    pair.downlink(2, false, offer.clone());
    assert_eq!(last(&pair), reject(SmCause::InsufficientResources));
    pair.activate(N6, "internet", ADDRESS);
    pair.downlink(2, false, offer);
    assert_eq!(pair.drops(Drop::SmIgnored), 2);
    assert_eq!(pair.ms.get(N6).unwrap().ti(), 1);
    // Clause 8.3.2 b, and 8.4.
    pair.downlink(9, true, DeactivateAccept {});
    assert_eq!(last(&pair), Some((9, false, SmStatus { cause: SmCause::InvalidTi }.into())));
    pair.downlink(0, true, DeactivateAccept {});
    assert_eq!(last(&pair), Some((0, false, SmStatus { cause: SmCause::MessageTypeIncompatible }.into())));
    pair.downlink(0, true, SmStatus { cause: SmCause::InvalidTi });
    assert_eq!(pair.at_ms.last(), Some(&SmMsAction::Failed { nsapi: N5, cause: Some(SmCause::InvalidTi) }));
}

#[test]
fn the_users_change_their_minds() {
    // The mobile gives up before the network has answered.
    let mut pair = Pair::new(1, 0.0, 0.0);
    pair.activate(N5, "internet", PdpAddress::Ipv4Dynamic);
    pair.ms(SmMsEvent::Deactivate { nsapi: N5, cause: SmCause::RegularDeactivation });
    pair.run(60);
    assert_eq!(pair.states(), (None, None));
    assert!(pair.tunnels.is_empty());
    // The operator does.
    pair.ggsn = Ggsn::IsSilent;
    pair.activate(N5, "internet", PdpAddress::Ipv4Dynamic);
    pair.run(1);
    pair.sgsn(SmEvent::Deactivate {
        nsapi: N5,
        cause: SmCause::OperatorDeterminedBarring,
        tunnel_gone: false,
    });
    pair.run(5);
    assert_eq!(pair.states(), (None, None));
    let failed = SmMsAction::Failed { nsapi: N5, cause: Some(SmCause::OperatorDeterminedBarring) };
    assert_eq!(pair.at_ms.last(), Some(&failed));
    // Late answers of the GGSN find nothing.
    pair.sgsn(SmEvent::Deleted { nsapi: N5 });
    pair.sgsn(SmEvent::CreateFailed { nsapi: N5 });
    assert!(pair.drops(Drop::SmUnexpected) >= 2);
    // A detach forgets everything at both ends.
    let mut pair = Pair::active();
    pair.sgsn(SmEvent::Forget { nsapi: N5, cause: SmCause::RegularDeactivation });
    pair.ms(SmMsEvent::Forget { nsapi: N5, cause: SmCause::RegularDeactivation });
    assert!(pair.sgsn.is_empty() && pair.ms.is_empty() && pair.tunnels.is_empty());
}

#[test]
fn whatever_the_link_does_both_ends_agree() {
    for seed in 0..60 {
        let mut pair = Pair::new(seed, 0.2, 0.2);
        for round in 0..6 {
            for nsapi in [N5, N6, Nsapi(15)] {
                if pair.ms.get(nsapi).is_none() {
                    pair.activate(nsapi, "internet", PdpAddress::Ipv4Dynamic);
                }
            }
            pair.run(300);
            let by_network = round % 2 == 0;
            for nsapi in [N5, N6] {
                if by_network && pair.sgsn.get(nsapi).is_some() {
                    let cause = SmCause::NetworkFailure;
                    pair.sgsn(SmEvent::Deactivate { nsapi, cause, tunnel_gone: false });
                } else if pair.ms.get(nsapi).is_some() {
                    pair.ms(SmMsEvent::Deactivate { nsapi, cause: SmCause::RegularDeactivation });
                }
            }
            pair.run(300);
            assert!(pair.queue.is_empty());
            // With one message in five lost, an exchange that is tried five times may still fail at one end; then the
            // other end finds out with the next message. Tunnels always follow the SGSN.
            let mut held: Vec<Nsapi> = pair.sgsn.iter().map(|(nsapi, _)| nsapi).collect();
            held.sort_unstable();
            let mut tunnels = pair.tunnels.clone();
            tunnels.sort_unstable();
            assert_eq!(held, tunnels, "seed {seed}");
            let settled = pair.ms.iter().all(|(_, context)| context.state() == SmMsState::Active)
                && pair.sgsn.iter().all(|(_, context)| context.state() == SmState::Active);
            assert!(settled, "seed {seed}");
        }
        // On a good link everything ends.
        (pair.loss, pair.doubling) = (0.0, 0.0);
        for nsapi in [N5, N6, Nsapi(15)] {
            if pair.ms.get(nsapi).is_some() {
                pair.ms(SmMsEvent::Deactivate { nsapi, cause: SmCause::RegularDeactivation });
            }
        }
        pair.run(60);
        for nsapi in [N5, N6, Nsapi(15)] {
            if pair.sgsn.get(nsapi).is_some() {
                pair.sgsn(SmEvent::Deactivate { nsapi, cause: SmCause::NetworkFailure, tunnel_gone: false });
            }
        }
        pair.run(60);
        assert!(pair.ms.is_empty() && pair.sgsn.is_empty() && pair.tunnels.is_empty(), "seed {seed}");
    }
}

#[test]
fn the_contexts_of_a_mobile_keep_to_their_budget() {
    assert_eq!(size_of::<SmContexts>(), 11 * 40);
}
