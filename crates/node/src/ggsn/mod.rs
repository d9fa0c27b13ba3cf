//! The GGSN in its simplest form: GTPv1 and GTPv0 towards SGSNs as each of them speaks, a TUN device for each access point, addresses from a pool.
//!
//! A Create PDP Context Request gives a mobile an address and a tunnel. Uplink, a G-PDU finds its context by TEID, the
//! T-PDU must have the context's address as its source, and goes to the TUN device of the access point. Downlink, a
//! packet from the TUN device finds its context by destination address, among several with that address by their traffic
//! flow templates, and goes to the SGSN as a G-PDU. Contexts go by
//! Delete PDP Context of either side, when their SGSN restarts or is lost, or when it says that it does not know one.
//!
//! A mobile with IPv6 has its prefix from router advertisements (`advertise`). A subscriber may have an address of his own: where
//! something comes for it and it has no context, the SGSN is asked to have it activated (`notify`).
//!
//! The ports: [`PORT_GTP_C`], [`PORT_GTP_U`] and [`PORT_GTP_V0`] with UDP peers, [`PORT_TUN`] with `Peer::Slot` of the access point's index
//! in the configuration (a packet from `Peer::Link` is looked for at all access points).

mod addresses;
mod advertise;
mod bundle;
mod classifier;
mod context;
mod control;
mod cues;
mod notify;
mod pco;
mod peers;
mod pool;
mod reconfigure;
mod replace;
mod rules;
#[cfg(test)]
mod tests;
mod update;
mod user;

pub use addresses::{Addresses, IPV6_PREFIX_LENGTHS, PrefixPool};
pub use context::{PdpContext, Volume};
pub use notify::{NOTIFICATION_INTERVAL, NOTIFICATIONS_MAX, STATIC_MOBILES_MAX, StaticMobile};
pub use pool::{AddressPool, PREFIX_LENGTHS};

use crate::slots::Slot;
use advertise::Advertising;
use context::Contexts;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use gannet_machine::time::Duration;
use gannet_machine::timers::{TimerKey, TimerName as _};
use gannet_machine::{Batch, Context, Input, Machine, Output, Peer, Port};
use gannet_proto::forwarding::ForwardChange;
use gannet_proto::gtp::{
    GtpConfig, GtpEntity, GtpOutput, Inside, ListedPeer, PLACES, Paths, Role, SecondAddress, SourceCheck,
    TeidKey,
};
use gannet_wire::gtp::Cause;
use gannet_wire::id::{Imsi, Nsapi};
use gannet_wire::l3::ie::Apn;
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
    }
}

/// An access point.
#[derive(Debug, Clone)]
pub struct ApnConfig {
    /// Its name.
    pub name: Apn,
    /// The network of its mobiles.
    pub prefix: Ipv4Addr,
    /// Bits of the network's prefix, one of [`PREFIX_LENGTHS`].
    pub prefix_length: u8,
    /// A mobile may bring its own address, out of the prefix.
    pub static_addresses: bool,
    /// G-PDUs to its mobiles carry sequence numbers, where the version of GTP leaves a choice.
    pub sequence_numbers: bool,
    /// Name servers that mobiles are told.
    pub dns: [Option<Ipv4Addr>; 2],
}

/// The IPv6 prefixes of an access point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv6Config {
    /// Index of the access point.
    pub apn: u16,
    /// Out of this one each context has 64 bits of its own.
    pub prefix: Ipv6Addr,
    /// Its bits, one of [`IPV6_PREFIX_LENGTHS`].
    pub prefix_length: u8,
}

/// How a GGSN is set up.
#[derive(Debug, Clone)]
pub struct GgsnConfig {
    /// Our address for signalling and user traffic.
    pub address: IpAddr,
    /// Our address of the other version of IP, for SGSNs that have that.
    pub second_address: Option<IpAddr>,
    /// From where messages about a tunnel are taken.
    pub source_check: SourceCheck,
    /// SGSNs that are listed. Where there is one, the others may not move or replace its contexts, and have at most half of what
    /// there is together.
    pub peers: Vec<ListedPeer>,
    /// The access points.
    pub apns: Vec<ApnConfig>,
    /// Which of them have IPv6, too.
    pub ipv6: Vec<Ipv6Config>,
    /// Subscribers who have addresses of their own, at most [`STATIC_MOBILES_MAX`].
    pub static_mobiles: Vec<StaticMobile>,
    /// Index of the access point for names that are unknown; none of them, and such requests are refused.
    pub default_apn: Option<u16>,
    /// How often this node was started, modulo 256.
    pub restart_counter: u8,
    /// PDP contexts at most, up to 1048576.
    pub context_limit: u32,
    /// Time between two Echo Requests on a path; zero for none.
    pub echo_interval: Duration,
    /// From the failure of a path to an SGSN until its contexts end; `None` where they stay.
    pub failure_delay: Option<Duration>,
    /// T3-RESPONSE.
    pub t3_response: Duration,
    /// N3-REQUESTS.
    pub n3_requests: u8,
    /// Error Indications and other unasked-for answers a second.
    pub answers_per_second: u32,
    /// Between the places of contexts and their TEIDs: thrown at each start.
    pub teid_key: TeidKey,
}

impl GgsnConfig {
    /// The recommended values for a GGSN at `address` with these access points.
    #[must_use]
    pub fn new(address: IpAddr, apns: Vec<ApnConfig>) -> Self {
        Self {
            address,
            second_address: None,
            source_check: SourceCheck::Strict,
            peers: Vec::new(),
            apns,
            ipv6: Vec::new(),
            static_mobiles: Vec::new(),
            default_apn: None,
            restart_counter: 0,
            context_limit: 65_536,
            echo_interval: Duration::from_secs(60),
            failure_delay: Some(GtpConfig::FAILURE_DELAY),
            t3_response: Duration::from_secs(5),
            n3_requests: 3,
            answers_per_second: 100,
            teid_key: TeidKey::default(),
        }
    }
}

/// What is wrong with a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GgsnConfigError {
    /// The prefix of this access point has a length that a pool cannot have.
    PrefixLength(u16),
    /// The IPv6 prefix of this access point has a length out of which no prefixes of 64 bits can be given.
    Ipv6PrefixLength(u16),
    /// The static address of a subscriber cannot be given out, belongs to another one as well, or is one too many.
    StaticAddress(Ipv4Addr),
    /// Two access points, the second of which is this one, have the same name.
    DuplicateName(u16),
    /// The default access point does not exist.
    DefaultApn(u16),
    /// More contexts than TEIDs can name.
    ContextLimit(u32),
    /// More access points than there can be.
    TooManyApns,
}

impl fmt::Display for GgsnConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PrefixLength(apn) => {
                let (first, last) = (PREFIX_LENGTHS.start(), PREFIX_LENGTHS.end());
                write!(f, "the prefix of access point {apn} must have {first} to {last} bits")
            }
            Self::Ipv6PrefixLength(apn) => {
                let (first, last) = (IPV6_PREFIX_LENGTHS.start(), IPV6_PREFIX_LENGTHS.end());
                write!(f, "the IPv6 prefix of access point {apn} must have {first} to {last} bits")
            }
            Self::StaticAddress(address) => {
                write!(
                    f,
                    "the static address {address} cannot be had: it is not of its access point, or twice"
                )
            }
            Self::DuplicateName(apn) => write!(f, "access point {apn} has the name of another"),
            Self::DefaultApn(apn) => write!(f, "the default access point {apn} does not exist"),
            Self::ContextLimit(limit) => write!(f, "{limit} PDP contexts are more than {PLACES}"),
            Self::TooManyApns => f.write_str("there are more than 65536 access points"),
        }
    }
}

impl core::error::Error for GgsnConfigError {}

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

/// How many of each version of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Unlisted {
    v4: u32,
    v6: u32,
}

/// An access point at work.
#[derive(Debug)]
struct AccessPoint {
    config: ApnConfig,
    pool: AddressPool,
    ipv6: Option<PrefixPool>,
    /// It has no contexts, and gets none.
    closed: bool,
    /// Addresses that contexts of SGSNs have that are not listed, while others are.
    unlisted: Unlisted,
}

/// A GGSN.
#[derive(Debug)]
pub struct Ggsn {
    config: GgsnConfig,
    gtp: GtpEntity,
    access_points: Vec<AccessPoint>,
    contexts: Contexts,
    advertising: Advertising,
    static_mobiles: StaticMobiles,
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
            let pool = AddressPool::new(apn.prefix, apn.prefix_length)
                .ok_or(GgsnConfigError::PrefixLength(index))?;
            let ipv6 = match config.ipv6.iter().find(|ipv6| ipv6.apn == index) {
                Some(of) => {
                    let pool = PrefixPool::new(of.prefix, of.prefix_length);
                    Some(pool.ok_or(GgsnConfigError::Ipv6PrefixLength(index))?)
                }
                None => None,
            };
            access_points.push(AccessPoint {
                config: apn.clone(),
                pool,
                ipv6,
                closed: false,
                unlisted: Unlisted::default(),
            });
        }
        let mut static_mobiles = StaticMobiles::default();
        for mobile in &config.static_mobiles {
            let point = access_points.get_mut(usize::from(mobile.apn));
            let is_free = point.is_some_and(|point| point.pool.claim(mobile.address).is_ok());
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
        let of_v4 = config.apns.iter().map(|apn| (IpAddr::from(apn.prefix), apn.prefix_length));
        let of_v6 = config.ipv6.iter().map(|ipv6| (IpAddr::from(ipv6.prefix), ipv6.prefix_length));
        let gtp = GtpConfig {
            second,
            source_check: config.source_check,
            peers: config.peers.clone(),
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
            access_points,
            contexts: Contexts::with_limit(limit, config.teid_key),
            advertising: Advertising::default(),
            static_mobiles,
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

    /// The access points with the addresses they have in use.
    pub fn access_points(&self) -> impl Iterator<Item = (&ApnConfig, &AddressPool)> {
        self.access_points.iter().map(|point| (&point.config, &point.pool))
    }

    /// The SGSNs that have contexts here.
    #[must_use]
    pub const fn paths(&self) -> &Paths {
        self.gtp.paths()
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
                Input::Timeout(key) if Owner::of(key) == Some(Owner::Advertise) => self.wake_advertising(cx),
                Input::Timeout(key) => self.gtp.wake(cx, key, &mut self.gtp_outputs),
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
