//! The nodes as a whole: the SGSN's sizes, its GGSNs, the GGSN's access points.

use super::{Or, Seconds};
use core::fmt;
use core::net::{IpAddr, SocketAddr};
use gannet_machine::time::Instant;

/// How full a table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    /// What it holds: `mobiles`, `PDP contexts`, …
    pub name: &'static str,
    /// Entries now.
    pub used: u64,
    /// Entries at most.
    pub limit: u64,
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {}: {} of {}", self.name, self.used, self.limit)
    }
}

/// `show sgsn`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SgsnSummary {
    /// The HLR that is asked, and whether the link to it is up.
    pub hlr: Option<(SocketAddr, bool)>,
    /// The address of GTP.
    pub gtp_address: IpAddr,
    /// The restart counter of GTP.
    pub restart_counter: u8,
    /// How long it runs.
    pub uptime: Instant,
    /// How full its tables are.
    pub tables: Vec<Table>,
}

impl fmt::Display for SgsnSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((at, is_up)) = self.hlr {
            let not = if is_up { "" } else { "not " };
            writeln!(f, "  Remote authorization: {not}connected to {at} via GSUP")?;
        }
        writeln!(f, "  GSN: signalling {0}, user traffic {0}", self.gtp_address)?;
        writeln!(f, "SGSN: GTP at {}, restart counter {}", self.gtp_address, self.restart_counter)?;
        writeln!(f, "  running for {}", Seconds(self.uptime))?;
        self.tables.iter().try_for_each(|table| table.fmt(f))
    }
}

/// `show store`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    /// The file.
    pub path: String,
    /// Mobiles that were taken in from it at the start, and those that could not be.
    pub restored: (u64, u64),
    /// Changes that the node has not given out yet.
    pub waiting: u64,
    /// How the writing goes.
    pub status: crate::store::Status,
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, restored: (restored, refused), waiting, status } = self;
        let ms = |span: &core::time::Duration| span.as_millis();
        writeln!(f, "Store {path}: {} entries", status.entries)?;
        writeln!(f, "  at the start: {restored} mobiles restored, {refused} not")?;
        writeln!(
            f,
            "  written: {} changes in {} batches, {} failures",
            status.changes, status.batches, status.failures
        )?;
        writeln!(
            f,
            "  lag: {waiting} changes wait, {} ms (at most {} ms); the last batch took {} ms",
            ms(&status.lag),
            ms(&status.lag_max),
            ms(&status.last)
        )?;
        status.error.as_ref().map_or(Ok(()), |error| writeln!(f, "  cannot be written: {error}"))
    }
}

/// One entry of the SGSN's `show ggsn`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GgsnPeer {
    /// Its number in the configuration.
    pub number: u8,
    /// Its address.
    pub address: IpAddr,
    /// Its version of GTP.
    pub gtp_version: u8,
    /// `up`, `down`, `unknown`.
    pub path: &'static str,
    /// Its restart counter, where it said one.
    pub restart_counter: Option<u8>,
    /// PDP contexts through it.
    pub pdp_contexts: u64,
}

impl fmt::Display for GgsnPeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, address, gtp_version, path, pdp_contexts, .. } = self;
        writeln!(
            f,
            "GGSN {number}: {address}, path {path}, restart counter {}, {pdp_contexts} PDP contexts, GTPv{gtp_version}",
            Or(&self.restart_counter)
        )
    }
}
