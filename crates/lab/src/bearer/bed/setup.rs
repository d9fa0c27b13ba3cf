//! What stands in a bed, and the ways through it.

use super::super::configs::{Mode, NETWORK, Set};
use super::super::line::Kind;
use super::others::{HOP_HOST, WIREGUARD_HOST};

/// The nodes of a bed.
#[derive(Debug)]
pub struct Nodes {
    pub(super) before: usize,
    /// Longest packet of the devices of contexts, in octets.
    pub(super) mtu: u16,
    /// The process of the mobile.
    pub ms: u32,
    /// Those of the network.
    pub network: Vec<u32>,
}

impl Nodes {
    /// All processes, that of the mobile first.
    pub fn all(&self) -> impl Iterator<Item = u32> {
        core::iter::once(self.ms).chain(self.network.iter().copied())
    }

    /// What runs in each.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let network: &[&str] = if self.network.len() == 1 { &["core"] } else { &["ggsn", "sgsn", "ap"] };
        core::iter::once("ms").chain(network.iter().copied()).map(str::to_owned)
    }
}

/// In how many processes the nodes run, and how these wait for packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Processes {
    /// Each has its own.
    Four,
    /// `gannet ms`, and `gannet core` with access point, SGSN and GGSN.
    Core,
    /// The same, which poll for a millisecond after each packet before they sleep (`busy-poll adaptive`).
    PollingCore,
}

impl Processes {
    /// Its name in a table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Four => "four processes",
            Self::Core => "ms and core",
            Self::PollingCore => "ms and core, polling",
        }
    }

    /// Whether they poll before they sleep.
    pub const fn poll(self) -> bool {
        matches!(self, Self::PollingCore)
    }
}

/// What stands in a bed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// The line.
    pub kind: Kind,
    /// Parameters of LLC.
    pub set: Set,
    /// Whose processes.
    pub processes: Processes,
}

impl Setup {
    /// For a person.
    pub fn name(self) -> String {
        format!("{}, {} parameters, {}", self.kind.short(), self.set.name(), self.processes.name())
    }
}

/// Where something runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Phone,
    Network,
}

/// A way of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Through {
    /// The bearer alone.
    Plain,
    /// The bearer behind a bare hop at each end.
    Hops,
    /// WireGuard's implementation in user space over UDP on the bearer.
    WireGuard,
    /// A context in this mode.
    Gprs(Mode),
}

impl Through {
    /// The plain one first.
    pub const ALL: [Self; 3] =
        [Self::Plain, Self::Gprs(Mode::Unacknowledged), Self::Gprs(Mode::Acknowledged)];
    /// The same with bare hops.
    pub const WITH_HOPS: [Self; 4] =
        [Self::Plain, Self::Hops, Self::Gprs(Mode::Unacknowledged), Self::Gprs(Mode::Acknowledged)];

    /// Octets of payload of a full segment, where contexts have devices of this MTU: the longest packet less IPv4, TCP and time
    /// stamps.
    pub fn segment(self, mtu: u16) -> f64 {
        let packet = match self {
            Self::Plain => 1500,
            Self::Hops => 1482,
            Self::Gprs(_) => mtu,
            Self::WireGuard => 1420,
        };
        f64::from(packet) - 52.0
    }

    /// Whether it is a context.
    pub const fn is_gprs(self) -> bool {
        matches!(self, Self::Gprs(_))
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Hops => "bare hops",
            Self::WireGuard => "wireguard-go",
            Self::Gprs(mode) => mode.name(),
        }
    }

    /// The far end.
    pub const fn host(self) -> &'static str {
        match self {
            Self::Plain => NETWORK,
            Self::Hops => HOP_HOST,
            Self::WireGuard => WIREGUARD_HOST,
            Self::Gprs(mode) => mode.host(),
        }
    }
}
