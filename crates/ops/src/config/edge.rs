//! The edge router: its configuration, and what an operator can ask of it.

mod commands;
mod rule;
mod user_plane;

pub use rule::{Network, Outcome, Rule};
pub use user_plane::UserPlane;

use super::{Common, ConfigText};
use crate::config::Element;
use crate::grammar::{Commands, Grammar, Node, Problem};
use core::fmt;
use std::collections::BTreeMap;

/// The edge router, as an element of the VTY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EdgeRouter;

/// Flows that the fast path remembers where nothing else is said.
pub const FLOWS: u32 = 65_536;
/// What Ethernet adds to an IP packet: header (14), FCS (4), preamble and start (8), gap (12), in octets.
pub const OVERHEAD: u16 = 38;
/// Octets of a pool where nothing else is said.
pub const POOL: u32 = 50_000;
/// The share of the line that the scheduler gives to EF at most, in per cent.
pub const EF_WEIGHT: u8 = 50;

/// What a process is told: its interfaces and rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeConfig {
    /// What every element has.
    pub common: Common,
    /// How packets come and leave.
    pub user_plane: UserPlane,
    /// Flows that the fast path remembers.
    pub flows: u32,
    /// The interfaces, in their order in the file.
    pub interfaces: Vec<InterfaceConfig>,
    /// The rules by their numbers.
    pub rules: BTreeMap<u32, Rule>,
}

impl Default for EdgeConfig {
    fn default() -> Self {
        Self {
            common: Common::default(),
            user_plane: UserPlane::default(),
            flows: FLOWS,
            interfaces: Vec::new(),
            rules: BTreeMap::new(),
        }
    }
}

/// How a pool is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accounting {
    /// Byte-exact.
    Exact,
    /// Each packet counts at least so many octets.
    BuffSize(u16),
}

/// Which rule the shared buffers have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// What a stream occupies with the packet may not exceed what is free then.
    Resulting,
    /// What a stream occupies already may not exceed what is free.
    Present,
}

/// One interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfaceConfig {
    /// Its name in the system.
    pub name: String,
    /// The rate of the line behind it, in kbit/s; without one packets leave at once.
    pub rate_kbps: Option<u32>,
    /// Octets that the line adds to each IP packet.
    pub overhead: u16,
    /// Octets of the pools of EF and of AF and best effort.
    pub pools: [u32; 2],
    /// The share of EF in the scheduler, in per cent.
    pub ef_weight: u8,
    /// How the pools are counted.
    pub accounting: Accounting,
    /// The rule of the shared buffers.
    pub sharing: Sharing,
    /// Its streams by their names.
    pub streams: BTreeMap<String, StreamConfig>,
}

impl InterfaceConfig {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            rate_kbps: None,
            overhead: OVERHEAD,
            pools: [POOL; 2],
            ef_weight: EF_WEIGHT,
            accounting: Accounting::Exact,
            sharing: Sharing::Present,
            streams: BTreeMap::new(),
        }
    }
}

/// The service of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// `ef`
    Expedited,
    /// `af`
    Assured,
    /// `control`
    NetworkControl,
    /// `be`
    BestEffort,
}

impl Service {
    const ALL: [Self; 4] = [Self::Expedited, Self::Assured, Self::NetworkControl, Self::BestEffort];

    /// The word of the configuration.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Expedited => "ef",
            Self::Assured => "af",
            Self::NetworkControl => "control",
            Self::BestEffort => "be",
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|service| service.word() == word)
    }
}

/// A stream at an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamConfig {
    /// Its service.
    pub service: Service,
    /// What is reserved for it, in kbit/s.
    pub rate_kbps: u32,
    /// Octets of its allocation for bursts.
    pub burst: u32,
}

impl fmt::Display for StreamConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rate {}", self.service.word(), self.rate_kbps)?;
        if self.burst > 0 { write!(f, " burst {}", self.burst) } else { Ok(()) }
    }
}

/// What an operator asks of an edge router.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EdgeOperation {
    /// `show edge`: what was forwarded, and how the classifier found it.
    ShowEdge,
    /// `show streams`: each stream at each interface.
    ShowStreams,
    /// `show rules`: the rules in force.
    ShowRules,
    /// `show user-plane`: how packets come and leave.
    ShowUserPlane,
    /// `show drops`: a [`crate::view::DropCount`] for each.
    ShowDrops,
}

impl Commands for EdgeRouter {
    type Config = EdgeConfig;
    type Operation = EdgeOperation;
}

impl Element for EdgeRouter {
    const NAME: &'static str = "edge";
    const VTY_PORT: u16 = 4291;
    const CTRL_PORT: u16 = 4292;

    fn common(config: &EdgeConfig) -> &Common {
        &config.common
    }

    fn common_mut(config: &mut EdgeConfig) -> &mut Common {
        &mut config.common
    }

    fn install(grammar: &mut Grammar<Self>) {
        commands::install(grammar);
    }

    fn write(config: &EdgeConfig, text: &mut ConfigText) {
        commands::write(config, text);
    }

    fn problems(config: &EdgeConfig) -> Vec<Problem> {
        let mut problems = Vec::new();
        if config.interfaces.len() < 2 {
            let text = "an edge router has two interfaces or more: add 'interface NAME' under 'edge'";
            problems.push(Problem::incomplete(Node::Edge, text));
        }
        for (number, rule) in &config.rules {
            let is_there = |name: &String| config.interfaces.iter().any(|interface| interface.name == *name);
            if let Some(name) = rule.ingress.as_ref().filter(|name| !is_there(name)) {
                let text =
                    format!("rule {number}: the interface {name} is not there: add 'interface {name}'");
                problems.push(Problem::contradiction(Node::Edge, text));
            }
            if let Outcome::Stream(stream) = &rule.outcome
                && !config.interfaces.iter().any(|interface| interface.streams.contains_key(stream))
            {
                let text = format!(
                    "rule {number}: no interface has the stream {stream}: add 'stream {stream} af rate KBPS' under one"
                );
                problems.push(Problem::incomplete(Node::EdgeInterface, text));
            }
        }
        problems
    }
}
