//! Lines with streams, and the rules that say which stream a packet belongs to: what an edge router and a GGSN have in common.

pub(super) mod commands;
pub mod rule;

pub use gannet_proto::flow_rule::{ImsiRange, Outcome};
pub use rule::Rule;

use core::fmt;
use std::collections::BTreeMap;

/// Flows that the fast path remembers where nothing else is said.
pub const FLOWS: u32 = 65_536;
/// What Ethernet adds to an IP packet: header (14), FCS (4), preamble and start (8), gap (12), in octets.
pub const OVERHEAD: u16 = 38;
/// Octets of a pool where nothing else is said.
pub const POOL: u32 = 50_000;
/// The share of the line that the scheduler gives to EF at most, in per cent.
pub const EF_WEIGHT: u8 = 50;

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

/// A line and the streams on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineConfig {
    /// Its rate, in kbit/s; without one packets leave at once.
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

impl Default for LineConfig {
    fn default() -> Self {
        Self {
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
