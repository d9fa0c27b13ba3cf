//! The GGSN: GTPv1 and GTPv0 towards SGSNs as each of them speaks, a TUN device for each access point, addresses from a pool.
//!
//! A Create PDP Context Request gives a mobile an address and a tunnel. Uplink, a G-PDU finds its context by TEID, the
//! T-PDU must have the context's address as its source, and goes to the TUN device of the access point. Downlink, a
//! packet from the TUN device finds its context by destination address, among several with that address by their traffic
//! flow templates, and goes to the SGSN as a G-PDU. Contexts go by
//! Delete PDP Context of either side, when their SGSN restarts or is lost, or when it says that it does not know one.
//!
//! A mobile with IPv6 has its prefix from router advertisements (`advertise`), and an answer to what it asks on its link
//! (`neighbours`). A subscriber may have an address of his own: where something comes for it and it has no context, the SGSN is asked
//! to have it activated (`notify`). Each access point says what becomes of packets between mobiles (`inside`), holds the maximum bit
//! rate (`police`) and ends contexts without traffic (`idle`), where it is told to.
//!
//! The ports: [`PORT_GTP_C`], [`PORT_GTP_U`] and [`PORT_GTP_V0`] with UDP peers, [`PORT_TUN`] with `Peer::Slot` of the access point's index
//! in the configuration (a packet from `Peer::Link` is looked for at all access points).

mod access_point;
mod addresses;
mod advertise;
mod agenda;
mod bundle;
mod classifier;
mod config;
mod context;
mod control;
mod cues;
pub mod durable;
mod idle;
mod inside;
mod marking;
mod neighbours;
mod notify;
mod pco;
mod peers;
mod police;
mod pool;
mod reconfigure;
mod replace;
mod rules;
#[cfg(test)]
mod tests;
mod update;
mod user;

pub use access_point::{AccessPoint, ApnCounters};
pub use addresses::{Addresses, IPV6_PREFIX_LENGTHS};
pub use config::{
    AfterRestart, ApnConfig, GgsnConfig, GgsnConfigError, MobileToMobile, Mss, Network, Pap, Ranges,
};
pub use context::{PdpContext, Volume};
pub use marking::CodePoints;
pub use notify::{NOTIFICATION_INTERVAL, NOTIFICATIONS_MAX, STATIC_MOBILES_MAX, StaticMobile};
pub use pool::PREFIX_LENGTHS;

use crate::kept::Marks;
use crate::slots::Slot;
use agenda::Agenda;
use context::Contexts;
use core::fmt;
use core::net::IpAddr;
use gannet_machine::timers::{TimerKey, TimerName as _};
use gannet_machine::{Batch, Context, Input, Machine, Output, Peer, Port};
use gannet_proto::forwarding::ForwardChange;
use gannet_proto::gtp::{GtpConfig, GtpEntity, GtpOutput, Inside, PLACES, Paths, Role, SecondAddress};
use gannet_wire::gtp::Cause;
use gannet_wire::id::{Imsi, Nsapi};
use notify::StaticMobiles;
use rules::Rules;

/// Signalling with SGSNs, UDP 2123.
pub const PORT_GTP_C: Port = Port(0);
/// G-PDUs, UDP 2152.
pub const PORT_GTP_U: Port = Port(1);
/// The networks behind us: a TUN device for each access point.
pub const PORT_TUN: Port = Port(2);

/// Signalling and G-PDUs of GTPv0, UDP 3386.
pub const PORT_GTP_V0: Port = Port(3);
/// Signalling with SGSNs of the other version of IP, UDP 2123.
pub const PORT_GTP_C_SECOND: Port = Port(4);
/// G-PDUs of the other version of IP, UDP 2152.
pub const PORT_GTP_U_SECOND: Port = Port(5);

gannet_machine::timer_names! {
    /// Who wants to be woken.
    enum Owner {
        /// T3-RESPONSE and echo.
        Gtp = "GTP",
        /// Contexts whose mobiles are told their prefix.
        Advertise = "router advertisements",
        /// Contexts that may have been without traffic for too long.
        Idle = "contexts without traffic",
    }
}

/// Orders that the node takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GgsnCommand {
    /// Ask the SGSN to delete a context.
    Delete {
        /// The subscriber.
        imsi: Imsi,
        /// Which of his contexts.
        nsapi: Nsapi,
    },
    /// Ask the SGSNs to delete all contexts.
    DeleteAll,
}

/// Why a context went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeleteReason {
    /// The SGSN asked for it.
    Sgsn,
    /// We asked for it.
    Command,
    /// The same subscriber created the same context anew (29.060 clause 7.3.1).
    Replaced,
    /// The SGSN has restarted.
    PeerRestarted,
    /// The SGSN does not answer.
    PathFailed,
    /// The SGSN does not know its endpoint.
    ErrorIndication,
    /// It had no traffic for as long as its access point permits.
    Idle,
}

impl fmt::Display for DeleteReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sgsn => "the SGSN has deleted it",
            Self::Command => "an operator has deleted it",
            Self::Replaced => "its subscriber has created it anew",
            Self::PeerRestarted => "the SGSN has restarted",
            Self::PathFailed => "the SGSN does not answer",
            Self::ErrorIndication => "the SGSN does not know it (Error Indication)",
            Self::Idle => "it had no traffic for too long",
        })
    }
}

/// Events that the node tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GgsnEvent {
    /// A context was created.
    Created {
        /// The subscriber.
        imsi: Imsi,
        /// Which of his contexts.
        nsapi: Nsapi,
        /// The access point.
        apn: u16,
        /// The mobile's addresses.
        address: Addresses,
    },
    /// A context went.
    Deleted {
        /// The subscriber.
        imsi: Imsi,
        /// Which of his contexts.
        nsapi: Nsapi,
        /// The addresses that it had.
        address: Addresses,
        /// Why.
        reason: DeleteReason,
    },
    /// A request was refused.
    Refused {
        /// The subscriber, where he is known.
        imsi: Option<Imsi>,
        /// Why.
        cause: Cause,
    },
}

/// What the node has done since it was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GgsnCounters {
    /// Contexts created.
    pub created: u64,
    /// Contexts updated.
    pub updated: u64,
    /// Contexts deleted, for whatever reason.
    pub deleted: u64,
    /// Requests refused.
    pub refused: u64,
    /// SGSNs asked to have a mobile activate the context of a static address.
    pub notified: u64,
    /// From mobiles.
    pub uplink: Volume,
    /// To mobiles.
    pub downlink: Volume,
}

/// A GGSN.
#[derive(Debug)]
pub struct Ggsn {
    config: GgsnConfig,
    gtp: GtpEntity,
    access_points: Vec<AccessPoint>,
    contexts: Contexts,
    advertising: Agenda,
    idle: Agenda,
    /// Some access point has its mobiles reach no other.
    some_refuse: bool,
    static_mobiles: StaticMobiles,
    /// What is to be kept for the time after a restart, where somebody keeps it.
    marks: Option<Marks>,
    next_charging_id: u32,
    counters: GgsnCounters,
    gtp_outputs: Batch<GtpOutput>,
    outputs: Batch<Output<GgsnEvent, ForwardChange>>,
    rules: Rules,
}

impl Ggsn {
    /// A GGSN without contexts.
    ///
    /// # Errors
    /// See [`GgsnConfigError`].
    pub fn new(config: GgsnConfig) -> Result<Self, GgsnConfigError> {
        if config.context_limit > PLACES {
            return Err(GgsnConfigError::ContextLimit(config.context_limit));
        }
        let mut access_points: Vec<AccessPoint> = Vec::with_capacity(config.apns.len());
        for apn in &config.apns {
            let index = u16::try_from(access_points.len()).map_err(|_| GgsnConfigError::TooManyApns)?;
            if access_points.iter().any(|other| other.config.name == apn.name) {
                return Err(GgsnConfigError::DuplicateName(index));
            }
            access_points.push(AccessPoint::new(apn, index)?);
        }
        let mut static_mobiles = StaticMobiles::default();
        for mobile in &config.static_mobiles {
            let point = access_points.get_mut(usize::from(mobile.apn));
            let is_free = point.is_some_and(|point| point.v4.claim(mobile.address).is_ok());
            if !is_free {
                return Err(GgsnConfigError::StaticAddress(mobile.address));
            }
            static_mobiles.add(*mobile)?;
        }
        if let Some(default) = config.default_apn.filter(|index| usize::from(*index) >= access_points.len()) {
            return Err(GgsnConfigError::DefaultApn(default));
        }
        let limit = usize::try_from(config.context_limit).unwrap_or(0);
        let second = config
            .second_address
            .map(|address| SecondAddress { address, ports: [PORT_GTP_C_SECOND, PORT_GTP_U_SECOND] });
        let ports = [PORT_GTP_C, PORT_GTP_U, PORT_GTP_V0];
        let of_v4 = config.apns.iter().flat_map(|apn| apn.v4.all());
        let of_v6 = config.apns.iter().flat_map(|apn| apn.v6.all());
        let of_v4 = of_v4.map(|network| (IpAddr::from(network.address), network.length));
        let of_v6 = of_v6.map(|network| (IpAddr::from(network.address), network.length));
        let gtp = GtpConfig {
            second,
            source_check: config.source_check,
            peers: config.peers.clone(),
            told: config.told,
            inside: Inside::new(of_v4.chain(of_v6)),
            restart_counter: config.restart_counter,
            echo_interval: config.echo_interval,
            failure_delay: config.failure_delay,
            t3_response: config.t3_response,
            n3_requests: config.n3_requests,
            answers_per_second: config.answers_per_second,
            ..GtpConfig::new(Role::Ggsn, ports, config.address, Owner::Gtp.number())
        };
        Ok(Self {
            gtp: GtpEntity::new(gtp),
            some_refuse: some_refuse(&access_points),
            access_points,
            contexts: Contexts::with_limit(limit, config.teid_generation, config.teid_key),
            advertising: Agenda::new(Owner::Advertise),
            idle: Agenda::new(Owner::Idle),
            static_mobiles,
            marks: None,
            next_charging_id: 1,
            counters: GgsnCounters::default(),
            gtp_outputs: Batch::with_capacity(64),
            outputs: Batch::with_capacity(256),
            rules: Rules::default(),
            config,
        })
    }

    /// How it is set up.
    #[must_use]
    pub const fn config(&self) -> &GgsnConfig {
        &self.config
    }

    /// All contexts in the order of their places.
    pub fn contexts(&self) -> impl Iterator<Item = &PdpContext> {
        self.contexts.iter().map(|(_, context)| context)
    }

    /// How many contexts there are.
    #[must_use]
    pub fn context_count(&self) -> usize {
        self.contexts.len()
    }

    /// The context of a subscriber.
    #[must_use]
    pub fn context(&self, imsi: Imsi, nsapi: Nsapi) -> Option<&PdpContext> {
        self.contexts.get(self.contexts.by_tid(gannet_wire::id::Tid { imsi, nsapi })?)
    }

    /// The access points, in the order of the configuration.
    pub fn access_points(&self) -> impl Iterator<Item = &AccessPoint> {
        self.access_points.iter()
    }

    /// The SGSNs that have contexts here.
    #[must_use]
    pub const fn paths(&self) -> &Paths {
        self.gtp.paths()
    }

    /// Our address towards a peer.
    #[must_use]
    pub fn own_address(&self, peer: Option<IpAddr>) -> IpAddr {
        peer.map_or(self.config.address, |peer| self.gtp.own_address(peer))
    }

    /// Our requests that wait for a response.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.gtp.outstanding()
    }

    /// Requests of SGSNs whose answers are kept in case they come again.
    #[must_use]
    pub fn answers(&self) -> usize {
        self.gtp.answers()
    }

    /// What it has done.
    #[must_use]
    pub const fn counters(&self) -> &GgsnCounters {
        &self.counters
    }

    fn event(&mut self, event: GgsnEvent) {
        self.outputs.push(Output::Event(event));
    }
}

fn some_refuse(access_points: &[AccessPoint]) -> bool {
    access_points.iter().any(|point| point.config.mobile_to_mobile == MobileToMobile::Refused)
}

impl Machine for Ggsn {
    type Command = GgsnCommand;
    type Event = GgsnEvent;
    type Rule = ForwardChange;

    fn handle_input(&mut self, cx: &mut Context<'_>, inputs: &mut Batch<Input<GgsnCommand>>) {
        while let Some(input) = inputs.pop() {
            match input {
                Input::Datagram { port: PORT_GTP_U | PORT_GTP_U_SECOND, peer, frame } => {
                    self.uplink(cx, peer, frame)
                }
                Input::Datagram { port: PORT_GTP_V0, peer, frame } => self.uplink_v0(cx, peer, frame),
                Input::Datagram { port: PORT_TUN, peer, frame } => self.downlink(cx, peer, frame),
                Input::Datagram { peer, frame, .. } => {
                    self.gtp.receive_control(cx, peer, &frame, &mut self.gtp_outputs);
                }
                Input::Classified { .. } | Input::Stream { .. } => {}
                Input::Timeout(key) => match Owner::of(key) {
                    Some(Owner::Advertise) => self.wake_advertising(cx),
                    Some(Owner::Idle) => self.wake_idle(cx),
                    Some(Owner::Gtp) | None => self.gtp.wake(cx, key, &mut self.gtp_outputs),
                },
                Input::Command(GgsnCommand::Delete { imsi, nsapi }) => {
                    let slot = self.contexts.by_tid(gannet_wire::id::Tid { imsi, nsapi });
                    slot.into_iter().for_each(|slot| self.ask_to_delete(cx, slot));
                }
                Input::Command(GgsnCommand::DeleteAll) => {
                    let slots: Vec<Slot> = self.contexts.iter().map(|(slot, _)| slot).collect();
                    slots.into_iter().for_each(|slot| self.ask_to_delete(cx, slot));
                }
            }
            self.drain_gtp(cx);
            self.follow_rules();
        }
    }

    fn timer_name(&self, key: TimerKey) -> &'static str {
        Owner::of(key).map_or("a timer of nobody", Owner::name)
    }

    fn poll_output(&mut self, _: &mut Context<'_>, outputs: &mut Batch<Output<GgsnEvent, ForwardChange>>) {
        outputs.append(&mut self.outputs);
    }
}

impl Ggsn {
    /// What GTP said meanwhile.
    fn drain_gtp(&mut self, cx: &mut Context<'_>) {
        while let Some(output) = self.gtp_outputs.pop() {
            self.gtp_output(cx, output);
        }
    }

    /// A datagram for the network of an access point.
    fn transmit_to_network(&mut self, apn: u16, frame: gannet_machine::frame::Frame) {
        self.outputs.push(Output::Transmit { port: PORT_TUN, peer: Peer::Slot(u32::from(apn)), frame });
    }
}
