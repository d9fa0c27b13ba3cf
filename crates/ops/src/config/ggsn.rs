//! The GGSN in its simplest form: its configuration in osmo-ggsn's words, and what an operator can ask of it.

mod commands;
mod shared;
mod user_plane;

pub use user_plane::UserPlane;

use super::gtp::Gn;
use super::{Common, ConfigText};
use crate::config::Element;
use crate::grammar::{Commands, Grammar, Node, Problem};
use core::net::{Ipv4Addr, Ipv6Addr};
use gannet_wire::id::{Imsi, Nsapi};

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
    /// The address of GTP, control and user plane.
    pub gtp_bind_ip: Option<Ipv4Addr>,
    /// Its IPv6 address, and which SGSNs are believed.
    pub gn: Gn,
    /// Between two Echo Requests, in s; `None` sends none.
    pub echo_interval_s: Option<u16>,
    /// Its access points, in their order in the file.
    pub apns: Vec<ApnConfig>,
    /// What forwards the packets of its mobiles.
    pub user_plane: UserPlane,
    /// The access point of those who ask for an unknown one.
    pub default_apn: Option<String>,
    /// It serves.
    pub running: bool,
}

/// One access point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApnConfig {
    /// Its name.
    pub name: String,
    /// What an operator says about it.
    pub description: Option<String>,
    /// The TUN device.
    pub tun_device: Option<String>,
    /// The network interface by which the network behind it is reached; the driver forwards through it.
    pub gi_interface: Option<String>,
    /// The addresses of mobiles.
    pub prefix: Option<Prefix>,
    /// The address of the device itself, with the network's length.
    pub ifconfig: Option<Prefix>,
    /// Mobiles may have IPv6, too: `type-support v4v6`.
    pub has_ipv6: bool,
    /// Out of this one each mobile has a prefix of 64 bits.
    pub ipv6_prefix: Option<Ipv6Prefix>,
    /// The IPv6 address of the device.
    pub ipv6_ifconfig: Option<Ipv6Prefix>,
    /// Subscribers who have addresses of their own, in the order of these.
    pub static_mobiles: Vec<StaticMobile>,
    /// DNS servers for the mobiles (protocol configuration options, 24.008 clause 10.5.6.3).
    pub dns: [Option<Ipv4Addr>; 2],
    /// G-PDUs have sequence numbers.
    pub g_pdu_sequence_numbers: bool,
    /// It serves.
    pub running: bool,
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
        const EXPECTED: &str = "an IPv6 address and a length, X:X::X:X/M, are expected";
        let (address, length) = text.split_once('/').ok_or(EXPECTED)?;
        let length = length.parse().ok().filter(|length| *length <= 128).ok_or(EXPECTED)?;
        Ok(Self { address: address.parse().map_err(|_| EXPECTED)?, length })
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
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            description: None,
            gtp_state_dir: None,
            gtp_bind_ip: None,
            gn: Gn::default(),
            echo_interval_s: Some(super::gtp::ECHO_INTERVAL_S),
            apns: Vec::new(),
            user_plane: UserPlane::default(),
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
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            description: None,
            tun_device: None,
            gi_interface: None,
            prefix: None,
            ifconfig: None,
            has_ipv6: false,
            ipv6_prefix: None,
            ipv6_ifconfig: None,
            static_mobiles: Vec::new(),
            dns: [None; 2],
            g_pdu_sequence_numbers: true,
            running: true,
        }
    }
}

/// What an operator asks of a GGSN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GgsnOperation {
    /// `show ggsn [NAME]`: [`crate::view::GgsnSummary`].
    ShowGgsn,
    /// `show user-plane`: what forwards, and what it has done.
    ShowUserPlane,
    /// `show pdp-context …`: a [`crate::view::PdpContext`] for each.
    ShowPdpContexts {
        /// Only of this access point.
        apn: Option<String>,
        /// Only of this mobile.
        imsi: Option<Imsi>,
        /// Only the one with this address.
        address: Option<Ipv4Addr>,
    },
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
        for ggsn in &config.ggsns {
            commands::write(ggsn, text);
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
        shared::problems(config, &mut problems);
        problems
    }

    fn remarks(config: &GgsnConfig) -> Vec<String> {
        shared::gsns_in_pools(config)
    }
}
