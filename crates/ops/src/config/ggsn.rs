//! The GGSN: its configuration in osmo-ggsn's words, and what an operator can ask of it.

mod access_point;
mod addresses;
mod commands;
mod edit;
mod marking;
mod qos;
mod shared;
mod user_plane;
mod write;

pub use marking::CodePoints;
pub use qos::{Heading, Ways};
pub use user_plane::UserPlane;

use super::gtp::Gn;
use super::streams::{FLOWS, ImsiRange, Rule};
use super::{Common, ConfigText};
use crate::config::Element;
use crate::grammar::{Commands, Grammar, Node, Problem};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use gannet_wire::id::{Imsi, Nsapi};
use std::collections::BTreeMap;

/// The GGSN, as an element of the VTY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ggsn;

/// What a process is told: the GGSNs in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GgsnConfig {
    /// What every element has.
    pub common: Common,
    /// The GGSNs, in their order in the file.
    pub ggsns: Vec<GgsnInstance>,
}

/// One GGSN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GgsnInstance {
    /// Its name.
    pub name: String,
    /// What an operator says about it.
    pub description: Option<String>,
    /// Where the restart counter of GTP is kept.
    pub gtp_state_dir: Option<String>,
    /// Where contexts are kept for the time after a restart.
    pub store: Option<String>,
    /// The address of GTP, control and user plane.
    pub gtp_bind_ip: Option<Ipv4Addr>,
    /// What SGSNs are told in the place of that address, for signalling.
    pub control_ip: Option<Ipv4Addr>,
    /// The same for G-PDUs.
    pub user_ip: Option<Ipv4Addr>,
    /// Code points of G-PDUs to mobiles.
    pub code_points: CodePoints,
    /// Its IPv6 address, and which SGSNs are believed.
    pub gn: Gn,
    /// Between two Echo Requests, in s; `None` sends none.
    pub echo_interval_s: Option<u16>,
    /// PDP contexts at most.
    pub pdp_contexts_max: u32,
    /// An SGSN that has restarted is asked to delete each of its contexts.
    pub tells_restarted: bool,
    /// Its access points, in their order in the file.
    pub apns: Vec<ApnConfig>,
    /// What forwards the packets of its mobiles.
    pub user_plane: UserPlane,
    /// Groups of subscribers by their names.
    pub groups: BTreeMap<String, Vec<ImsiRange>>,
    /// Flows that the fast path remembers.
    pub flows: u32,
    /// Which streams packets belong to, by the numbers of the rules.
    pub rules: BTreeMap<u32, Rule>,
    /// The access point of those who ask for an unknown one.
    pub default_apn: Option<String>,
    /// It serves.
    pub running: bool,
}

/// Which types of PDP contexts an access point serves (`type-support`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Types {
    /// Contexts with IPv4.
    pub v4: bool,
    /// Contexts with IPv6.
    pub v6: bool,
    /// Contexts with both, and so each of them alone.
    pub v4v6: bool,
}

impl Types {
    /// Where nothing is said: IPv4.
    const fn effective(self) -> Self {
        match self {
            Self { v4: false, v6: false, v4v6: false } => Self { v4: true, ..self },
            said => said,
        }
    }

    /// Whether it has mobiles with IPv4.
    #[must_use]
    pub const fn has_v4(self) -> bool {
        let of = self.effective();
        of.v4 || of.v4v6
    }

    /// Whether it has mobiles with IPv6.
    #[must_use]
    pub const fn has_v6(self) -> bool {
        self.v6 || self.v4v6
    }
}

/// What becomes of packets from one mobile to another (`client-to-client`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientToClient {
    /// They leave by the device, and the kernel decides.
    #[default]
    Network,
    /// They are turned round inside.
    Inside,
    /// They are dropped.
    Refuse,
}

/// What a mobile is told that authenticates itself by PAP (`pap`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pap {
    /// It is welcome.
    #[default]
    Accept,
    /// Its context is refused.
    Refuse,
    /// Nothing.
    Ignore,
}

/// The largest TCP segment (`mss-clamp`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MssClamp {
    /// So many octets.
    Octets(u16),
    /// What the MTU has room for.
    Mtu,
}

impl ClientToClient {
    /// The words of the configuration.
    pub(super) const WORDS: [(Self, &'static str); 3] =
        [(Self::Network, "network"), (Self::Inside, "inside"), (Self::Refuse, "refuse")];
}

impl Pap {
    /// The words of the configuration.
    pub(super) const WORDS: [(Self, &'static str); 3] =
        [(Self::Accept, "accept"), (Self::Refuse, "refuse"), (Self::Ignore, "ignore")];
}

/// One access point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApnConfig {
    /// Its name.
    pub name: String,
    /// What an operator says about it.
    pub description: Option<String>,
    /// `gtpu-mode kernel-gtp`: taken, and served as `tun` is.
    pub asks_kernel_gtp: bool,
    /// The TUN device.
    pub tun_device: Option<String>,
    /// The network interface by which the network behind it is reached; the driver forwards through it.
    pub gi_interface: Option<String>,
    /// Programs that are run when the device is up, and when it goes.
    pub scripts: Scripts,
    /// Which types of contexts it serves.
    pub types: Types,
    /// The longest N-PDU that mobiles are told, in octets; `None` for the default, 0 for none.
    pub mtu: Option<u16>,
    /// The device has that MTU, too.
    pub applies_mtu: bool,
    /// TCP connections are told to use no larger segments.
    pub mss_clamp: Option<MssClamp>,
    /// The addresses of mobiles that ask for none.
    pub prefix: Option<Prefix>,
    /// The addresses of mobiles that ask for a certain one.
    pub static_prefix: Option<Prefix>,
    /// The address of the device itself, with the network's length.
    pub ifconfig: Option<Prefix>,
    /// Out of this one each mobile has a prefix of 64 bits.
    pub ipv6_prefix: Option<Ipv6Prefix>,
    /// The same for mobiles that ask for a certain one.
    pub ipv6_static_prefix: Option<Ipv6Prefix>,
    /// The IPv6 address of the device.
    pub ipv6_ifconfig: Option<Ipv6Prefix>,
    /// The GGSN's own address on the links of mobiles, and of the device.
    pub ipv6_link_local: Option<Ipv6Prefix>,
    /// Subscribers who have addresses of their own, in the order of these.
    pub static_mobiles: Vec<StaticMobile>,
    /// IPv4 name servers for the mobiles (protocol configuration options, 24.008 clause 10.5.6.3).
    pub dns: [Option<Ipv4Addr>; 2],
    /// IPv6 name servers for the mobiles (the same, and router advertisements).
    pub ipv6_dns: [Option<Ipv6Addr>; 2],
    /// G-PDUs have sequence numbers.
    pub g_pdu_sequence_numbers: bool,
    /// Packets from one mobile to another.
    pub client_to_client: ClientToClient,
    /// Contexts without traffic end after so many s.
    pub idle_timeout_s: Option<u32>,
    /// What exceeds the maximum bit rate of a context is dropped.
    pub polices_mbr: bool,
    /// What mobiles are told about PAP.
    pub pap: Pap,
    /// Queues of streams.
    pub ways: Ways,
    /// It serves.
    pub running: bool,
}

/// Programs that are run with device, address and netmask.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scripts {
    /// When the device is up.
    pub up: Option<String>,
    /// When it goes.
    pub down: Option<String>,
}

/// A subscriber who has an address of his own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StaticMobile {
    /// His address.
    pub address: Ipv4Addr,
    /// He.
    pub imsi: Imsi,
    /// The SGSN that is asked for him where something comes for the address and it has no context.
    pub sgsn: Ipv4Addr,
}

/// An IPv6 address and the length of its network's prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv6Prefix {
    /// The address, host part included.
    pub address: Ipv6Addr,
    /// 0 to 128.
    pub length: u8,
}

impl core::fmt::Display for Ipv6Prefix {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

impl core::str::FromStr for Ipv6Prefix {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = crate::grammar::ipv6_prefix(text);
        let (address, length) = found.ok_or("an IPv6 address and a length, X:X::X:X/M, are expected")?;
        Ok(Self { address, length })
    }
}

/// An address and the length of its network's prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    /// The address, host part included.
    pub address: Ipv4Addr,
    /// 0 to 32.
    pub length: u8,
}

impl core::fmt::Display for Prefix {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

impl GgsnInstance {
    /// PDP contexts of a GGSN where nothing else is said.
    pub const PDP_CONTEXTS_MAX: u32 = 65_536;

    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            description: None,
            gtp_state_dir: None,
            store: None,
            gtp_bind_ip: None,
            control_ip: None,
            user_ip: None,
            code_points: CodePoints::default(),
            gn: Gn::default(),
            echo_interval_s: Some(super::gtp::ECHO_INTERVAL_S),
            pdp_contexts_max: Self::PDP_CONTEXTS_MAX,
            tells_restarted: false,
            apns: Vec::new(),
            user_plane: UserPlane::default(),
            groups: BTreeMap::new(),
            flows: FLOWS,
            rules: BTreeMap::new(),
            default_apn: None,
            running: true,
        }
    }

    /// The access point for a name that a mobile asked for: the one of that name, or the default.
    #[must_use]
    pub fn apn(&self, name: &str) -> Option<&ApnConfig> {
        let named = |name: &str| self.apns.iter().find(|apn| apn.name.eq_ignore_ascii_case(name));
        named(name).or_else(|| named(self.default_apn.as_deref()?))
    }
}

impl ApnConfig {
    /// The MTU that mobiles are told where nothing else is said: what fits into a GTP packet of 1500 octets with the longest IPv4 header
    /// (60), UDP (8) and GTP (12).
    pub const MTU_OCTETS: u16 = 1420;

    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            description: None,
            asks_kernel_gtp: false,
            tun_device: None,
            gi_interface: None,
            scripts: Scripts::default(),
            types: Types::default(),
            mtu: None,
            applies_mtu: false,
            mss_clamp: None,
            prefix: None,
            static_prefix: None,
            ifconfig: None,
            ipv6_prefix: None,
            ipv6_static_prefix: None,
            ipv6_ifconfig: None,
            ipv6_link_local: None,
            static_mobiles: Vec::new(),
            dns: [None; 2],
            ipv6_dns: [None; 2],
            g_pdu_sequence_numbers: true,
            client_to_client: ClientToClient::default(),
            idle_timeout_s: None,
            polices_mbr: false,
            pap: Pap::default(),
            ways: Ways::default(),
            running: true,
        }
    }

    /// The MTU that mobiles are told, in octets; 0 for none.
    #[must_use]
    pub fn mtu_octets(&self) -> u16 {
        self.mtu.unwrap_or(Self::MTU_OCTETS)
    }

    /// The IPv4 pools that it serves out of, with the word of the configuration for each.
    pub fn pools(&self) -> impl Iterator<Item = (&'static str, Prefix)> {
        let both = [("dynamic", self.prefix), ("static", self.static_prefix)];
        let is_served = self.types.has_v4();
        both.into_iter().filter_map(move |(word, pool)| Some((word, pool.filter(|_| is_served)?)))
    }

    /// The same of IPv6.
    pub fn ipv6_pools(&self) -> impl Iterator<Item = (&'static str, Ipv6Prefix)> {
        let both = [("dynamic", self.ipv6_prefix), ("static", self.ipv6_static_prefix)];
        let is_served = self.types.has_v6();
        both.into_iter().filter_map(move |(word, pool)| Some((word, pool.filter(|_| is_served)?)))
    }
}

/// What an operator asks of a GGSN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GgsnOperation {
    /// `show user-plane`: what forwards, and what it has done.
    ShowUserPlane,
    /// `show ggsn [NAME]`: [`crate::view::GgsnSummary`].
    ShowGgsn(Option<String>),
    /// `show apn [NAME]`: [`crate::view::GgsnApn`].
    ShowApn(Option<String>),
    /// `show sgsn` of a GGSN and `show echo [ggsn NAME]`: [`crate::view::GgsnSgsn`].
    ShowSgsns(Option<String>),
    /// `show pdp-context …`: a [`crate::view::GgsnContext`] for each.
    ShowPdpContexts {
        /// Only of this GGSN.
        ggsn: Option<String>,
        /// Only of this access point.
        apn: Option<String>,
        /// Only of this mobile.
        imsi: Option<Imsi>,
        /// Only with this NSAPI.
        nsapi: Option<Nsapi>,
        /// Only the one with this address.
        address: Option<IpAddr>,
    },
    /// `show qos [NAME]`: the queues of access points, or of this one.
    ShowQos(Option<String>),
    /// `show streams [NAME]`: each stream of access points, or of this one.
    ShowStreams(Option<String>),
    /// `show rules`: the rules in force.
    ShowRules,
    /// `show store`: [`crate::view::Store`].
    ShowStore,
    /// `show drops`: a [`crate::view::DropCount`] for each.
    ShowDrops,
    /// `show why imsi IMSI`: the last [`crate::view::Why`]s of a mobile.
    ShowWhy(Imsi),
    /// `pdp-context deactivate imsi IMSI nsapi N`
    DeactivatePdp {
        /// Whose.
        imsi: Imsi,
        /// Which.
        nsapi: Nsapi,
    },
}

impl Commands for Ggsn {
    type Config = GgsnConfig;
    type Operation = GgsnOperation;
}

impl Element for Ggsn {
    const NAME: &'static str = "ggsn";
    const VTY_PORT: u16 = 4260;
    const CTRL_PORT: u16 = 4257;

    fn common(config: &GgsnConfig) -> &Common {
        &config.common
    }

    fn common_mut(config: &mut GgsnConfig) -> &mut Common {
        &mut config.common
    }

    fn install(grammar: &mut Grammar<Self>) {
        commands::install(grammar);
    }

    fn write(config: &GgsnConfig, text: &mut ConfigText) {
        // All GGSNs are one process: the first one has its word.
        let mut busy_poll = config.common.busy_poll;
        for ggsn in &config.ggsns {
            write::ggsn((ggsn, busy_poll.take()), text);
        }
    }

    fn problems(config: &GgsnConfig) -> Vec<Problem> {
        let mut problems = Vec::new();
        for ggsn in &config.ggsns {
            let name = &ggsn.name;
            if ggsn.gtp_bind_ip.is_none() {
                let text = format!("ggsn {name} has no address: add 'gtp bind-ip A.B.C.D'");
                problems.push(Problem::incomplete(Node::Ggsn, text));
            }
            if let Some(default) = &ggsn.default_apn
                && !ggsn.apns.iter().any(|apn| apn.name == *default)
            {
                let text =
                    format!("ggsn {name}: the default APN {default} is not there: add 'apn {default}'");
                problems.push(Problem::contradiction(Node::Ggsn, text));
            }
        }
        config.ggsns.iter().for_each(|ggsn| qos::problems(ggsn, &mut problems));
        shared::problems(config, &mut problems);
        problems
    }

    fn remarks(config: &GgsnConfig) -> Vec<String> {
        shared::gsns_in_pools(config)
    }
}
