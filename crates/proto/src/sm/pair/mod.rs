//! A mobile and an SGSN with a GGSN behind it, in virtual time, over a link that loses, doubles and delays.

mod cases;

use super::ms::{
    Change, SmMsAction, SmMsConfig, SmMsContexts, SmMsEvent, SmMsState, Wanted, WantedSecondary,
};
use super::network::{
    Selected, Selection, SmAction, SmConfig, SmContexts, SmCreated, SmEvent, SmNetwork, SmState,
};
use gannet_machine::drops::Drop;
use gannet_machine::fabric::Path;
use gannet_machine::fabric::link::LinkProfile;
use gannet_machine::fabric::queue::EventQueue;
use gannet_machine::rng::Rng;
use gannet_machine::time::Duration;
use gannet_machine::trace::Quiet;
use gannet_machine::{Batch, Surroundings};
use gannet_wire::Reader;
use gannet_wire::gtp::Cause;
use gannet_wire::id::{Nsapi, Sapi};
use gannet_wire::l3::ie::{
    Component, DelayClass, FilterDirection, PacketFilter, PdpAddress, ProtocolConfiguration, QosProfile,
    QosR99, SmCause, TftOperation, TftRepr, TrafficFlowTemplate,
};
use gannet_wire::l3::sm::*;
use gannet_wire::l3::{Direction, Header, L3Message};

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

    fn grant(&mut self, _: u16, _: Nsapi, wish: &QosProfile) -> Result<QosProfile, SmCause> {
        Ok(*wish)
    }
}

/// What the GGSN says to a request for a tunnel.
#[derive(Clone, Copy, PartialEq)]
enum Ggsn {
    Accepts,
    Refuses(Cause),
    IsSilent,
}

/// Each message has a delay of its own.
fn air(loss: f64, duplication: f64) -> LinkProfile {
    let (delay, reorder_delay) = (Duration::from_millis(100), Duration::from_millis(400));
    LinkProfile { delay, reorder_delay, reordering: 1.0, loss, duplication, ..LinkProfile::default() }
}

struct Pair {
    world: Surroundings<Quiet>,
    ms: SmMsContexts,
    sgsn: SmContexts,
    cfg: SmConfig,
    ms_cfg: SmMsConfig,
    up: Path<Vec<u8>>,
    down: Path<Vec<u8>>,
    dice: Rng,
    from_ggsn: EventQueue<SmEvent>,
    ggsn: Ggsn,
    /// The address that the GGSN gives, and the cause of its acceptance.
    gives: (PdpAddress, Cause),
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
            ms_cfg: SmMsConfig::default(),
            up: Path::new(air(loss, doubling)),
            down: Path::new(air(loss, doubling)),
            dice: Rng::seeded(seed),
            from_ggsn: EventQueue::default(),
            ggsn: Ggsn::Accepts,
            gives: (ADDRESS, Cause::RequestAccepted),
            tunnels: Vec::new(),
            at_sgsn: Vec::new(),
            at_ms: Vec::new(),
        }
    }

    fn drops(&self, drop: Drop) -> u64 {
        self.world.trace.drops.get(drop)
    }

    fn set_air(&mut self, loss: f64, doubling: f64) {
        (self.up.link.profile, self.down.link.profile) = (air(loss, doubling), air(loss, doubling));
    }

    fn later(&mut self, millis: u64, event: SmEvent) {
        self.from_ggsn.push(self.world.now + Duration::from_millis(millis), event);
    }

    fn over_the_air(&mut self, message: &L3Message, uplink: bool) {
        let path = if uplink { &mut self.up } else { &mut self.down };
        path.carry(self.world.now, &mut self.dice, message.to_vec());
    }

    fn sgsn(&mut self, event: SmEvent) {
        let mut out = Batch::default();
        let mut network = SmNetwork {
            cfg: &self.cfg,
            selection: &mut Subscriptions,
            whose: None,
            requested: None,
            wrong_flag_said: &mut false,
        };
        self.sgsn.handle(&mut self.world.context(), &mut network, event, &mut out);
        while let Some(action) = out.pop() {
            match &action {
                SmAction::Send { ti, ti_flag, message } => {
                    let message = L3Message::Sm { ti: *ti, ti_flag: *ti_flag, message: message.clone() };
                    self.over_the_air(&message, false);
                }
                SmAction::CreateTunnel { nsapi, qos, .. } => self.create(*nsapi, *qos),
                SmAction::UpdateTunnel { nsapi, qos, .. } => self.update(*nsapi, *qos),
                SmAction::DeleteTunnel { nsapi, tear_down } => {
                    self.supersede(*nsapi);
                    let sharers: Vec<Nsapi> = self.sgsn.sharers(*nsapi).filter(|_| *tear_down).collect();
                    self.tunnels.retain(|tunnel| tunnel != nsapi && !sharers.contains(tunnel));
                    self.later(20, SmEvent::Deleted { nsapi: *nsapi });
                }
                SmAction::Active { .. }
                | SmAction::Modified { .. }
                | SmAction::NotModified { .. }
                | SmAction::Released { .. } => {}
            }
            if matches!(action, SmAction::Released { .. }) {
                let SmAction::Released { nsapi, .. } = action else { unreachable!() };
                self.supersede(nsapi);
                // Those that are released with another went at the GGSN with that.
                self.tunnels.retain(|tunnel| *tunnel != nsapi);
            }
            self.at_sgsn.push(action);
        }
    }

    /// Answers of the GGSN to older questions are swallowed, as the node does it.
    fn supersede(&mut self, of: Nsapi) {
        self.from_ggsn.retain(|event| match event {
            SmEvent::Created { nsapi, .. }
            | SmEvent::CreateRejected { nsapi, .. }
            | SmEvent::CreateFailed { nsapi }
            | SmEvent::Updated { nsapi, .. }
            | SmEvent::UpdateRejected { nsapi, .. }
            | SmEvent::UpdateFailed { nsapi }
            | SmEvent::Deleted { nsapi } => *nsapi != of,
            _ => true,
        });
    }

    fn create(&mut self, nsapi: Nsapi, asked: QosProfile) {
        self.supersede(nsapi);
        let event = match self.ggsn {
            Ggsn::Accepts => {
                self.tunnels.retain(|tunnel| *tunnel != nsapi);
                self.tunnels.push(nsapi);
                let (address, cause) = self.gives;
                let created = SmCreated {
                    qos: QosProfile { delay: DelayClass::THREE, ..asked },
                    address: Some(address),
                    cause,
                    pco: Some(ProtocolConfiguration(vec![0x80, 1])),
                };
                SmEvent::Created { nsapi, created }
            }
            Ggsn::Refuses(cause) => SmEvent::CreateRejected { nsapi, cause, pco: None },
            Ggsn::IsSilent => return self.later(20_000, SmEvent::CreateFailed { nsapi }),
        };
        self.later(20, event);
    }

    fn update(&mut self, nsapi: Nsapi, asked: QosProfile) {
        self.supersede(nsapi);
        let event = match self.ggsn {
            Ggsn::Accepts => SmEvent::Updated { nsapi, qos: asked },
            Ggsn::Refuses(cause) => SmEvent::UpdateRejected { nsapi, cause },
            Ggsn::IsSilent => return self.later(20_000, SmEvent::UpdateFailed { nsapi }),
        };
        self.later(20, event);
    }

    fn ms(&mut self, event: SmMsEvent) {
        let mut out = Batch::default();
        self.ms.handle(&mut self.world.context(), &self.ms_cfg, None, event, &mut out);
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
            let arrivals = [self.up.next(), self.down.next(), self.from_ggsn.next()];
            let deadlines = [self.sgsn.deadline(now), self.ms.deadline(now)].into_iter().chain(arrivals);
            let Some(next) = deadlines.flatten().min().filter(|next| *next <= end) else {
                self.world.now = end;
                return;
            };
            self.world.now = next.max(now);
            if self.sgsn.deadline(self.world.now).is_some_and(|at| at <= self.world.now) {
                self.sgsn(SmEvent::Timer);
            } else if self.ms.deadline(self.world.now).is_some_and(|at| at <= self.world.now) {
                self.ms(SmMsEvent::Timer);
            } else if let Some(octets) = self.up.arrived(self.world.now) {
                self.octets_at_sgsn(&octets);
            } else if let Some(octets) = self.down.arrived(self.world.now) {
                self.octets_at_ms(&octets);
            } else if let Some(event) = self.from_ggsn.pop_due(self.world.now) {
                self.sgsn(event);
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
