//! The SGSN: its configuration in osmo-sgsn's words, and what an operator can ask of it.

pub mod access;
mod charging;
mod commands;
mod mobility;
mod ns;
mod operations;
mod osmocom;
mod service;
mod sessions;
mod updates;

pub use access::{Access, Policy};
pub use charging::Charging;
pub use mobility::Mobility;
pub use operations::{LocationAnswer, NsSelection, NsvcChange, SgsnOperation, Update, Whom};
pub use service::{Admission, Ceilings, GbOutput, Ingress, Service};
pub use sessions::Sessions;

use super::compression::HasCompression;
use super::gtp::{Gn, HasGn};
use super::links::HasLinks;
use super::ns::NsConfig;
use super::{BusyPoll, Common, ConfigText};
use crate::config::Element;
use crate::grammar::{CommandError, Commands, Edit, Grammar, Node, Problem};
use core::fmt;
use core::net::{IpAddr, Ipv4Addr};
use gannet_proto::llc::abm::LinksConfig;
use gannet_proto::sndcp::compression::CompressionConfig;
use gannet_proto::user_plane::UNCONFIRMED_OCTETS_MAX;
use std::collections::BTreeMap;

/// The SGSN, as an element of the VTY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sgsn;

/// What an SGSN is told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SgsnConfig {
    /// What every element has.
    pub common: Common,
    /// Where the restart counter of GTP is kept.
    pub gtp_state_dir: Option<String>,
    /// The file in which mobiles are kept for the time after a restart; `None` keeps nothing.
    pub store: Option<String>,
    /// The address of GTP, control and user plane.
    pub gtp_local_ip: Option<Ipv4Addr>,
    /// Its IPv6 address, and which GGSNs are believed.
    pub gn: Gn,
    /// Retransmission of GTP requests.
    pub gtp_retry: GtpRetry,
    /// GGSNs by their number.
    pub ggsns: BTreeMap<u8, GgsnPeer>,
    /// Which GGSN an access point belongs to.
    pub apns: Vec<ApnRoute>,
    /// Who may attach.
    pub access: Access,
    /// What mobility management does beside its timers.
    pub mobility: Mobility,
    /// What session management does beside its timers.
    pub sessions: Sessions,
    /// Where charging records go.
    pub charging: Charging,
    /// Timers of mobility and session management.
    pub timers: GmmTimers,
    /// Sizes of tables.
    pub limits: Limits,
    /// How user data comes in and is served.
    pub service: Service,
    /// LLC and SNDCP.
    pub llc: LlcConfig,
    /// Compression by SNDCP.
    pub compression: CompressionConfig,
    /// What is proposed of the links of acknowledged mode, and agreed to.
    pub links: LinksConfig,
    /// The network service.
    pub ns: NsConfig,
    /// Flow control and queues.
    pub bssgp: BssgpConfig,
}

impl HasLinks for SgsnConfig {
    fn links_mut(&mut self) -> &mut LinksConfig {
        &mut self.links
    }
}

impl HasCompression for SgsnConfig {
    fn compression_mut(&mut self) -> &mut CompressionConfig {
        &mut self.compression
    }
}

impl HasGn for SgsnConfig {
    fn gn<'e>(edit: &'e mut Edit<'_, Self>) -> Result<&'e mut Gn, CommandError> {
        Ok(&mut edit.config.gn)
    }
}

/// One GGSN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GgsnPeer {
    /// Its address.
    pub remote_ip: Option<IpAddr>,
    /// Its version of GTP.
    pub gtp_version: GtpVersion,
    /// Between two Echo Requests, in s; `None` sends none.
    pub echo_interval_s: Option<u16>,
}

impl Default for GgsnPeer {
    fn default() -> Self {
        Self {
            remote_ip: None,
            gtp_version: GtpVersion::default(),
            echo_interval_s: Some(super::gtp::ECHO_INTERVAL_S),
        }
    }
}

/// A version of GTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GtpVersion {
    /// 0, of 09.60.
    V0,
    /// 1, of 29.060.
    #[default]
    V1,
}

impl GtpVersion {
    /// Its number.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }
}

/// Which GGSN an access point name leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApnRoute {
    /// The name; `*` is any.
    pub apn: String,
    /// Only for mobiles whose IMSI begins so.
    pub imsi_prefix: Option<String>,
    /// The GGSN's number.
    pub ggsn: u8,
}

/// How GTP requests are repeated (29.060 clause 7.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GtpRetry {
    /// T3-RESPONSE in s.
    pub t3_response_s: u8,
    /// N3-REQUESTS.
    pub n3_requests: u8,
}

impl Default for GtpRetry {
    fn default() -> Self {
        Self { t3_response_s: 3, n3_requests: 5 }
    }
}

/// How large tables may grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Mobiles with a context.
    pub mobiles: u32,
    /// Cells: BVCs of all BSSs together.
    pub cells: u32,
    /// PDP contexts of all mobiles; `None` for twice the mobiles.
    pub contexts: Option<u32>,
    /// N-PDUs that are held for one mobile while it is paged or suspended.
    pub held_n_pdus: u16,
    /// Octets of N-PDUs of all mobiles that wait for their confirmation in acknowledged mode.
    pub unconfirmed_octets: u32,
}

impl Default for Limits {
    fn default() -> Self {
        let unconfirmed_octets = UNCONFIRMED_OCTETS_MAX;
        Self { mobiles: 1 << 16, cells: 1 << 12, contexts: None, held_n_pdus: 32, unconfirmed_octets }
    }
}

/// LLC and SNDCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LlcConfig {
    /// N201-U of the user SAPIs that is asked for in XID negotiation, in octets (04.64 clause 8.9.8).
    pub n201_u: u16,
    /// How long a segment waits for the rest of its N-PDU, in s (04.65 clause 6.7).
    pub reassembly_s: u8,
}

impl Default for LlcConfig {
    fn default() -> Self {
        Self { n201_u: 500, reassembly_s: 10 }
    }
}

/// Flow control and queues of BSSGP (08.18 clause 8.2 [48.018]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BssgpConfig {
    /// What holds for a cell until its first FLOW-CONTROL-BVC.
    pub bvc: Bucket,
    /// What holds for a mobile until the BSS says otherwise.
    pub ms: Bucket,
    /// PDUs that wait for one mobile at most.
    pub queue_ms_pdus: u16,
    /// PDUs that wait for one cell at most.
    pub queue_cell_pdus: u16,
    /// PDU lifetime in centiseconds; `None` is infinite (08.18 clause 11.3.25).
    pub pdu_lifetime_cs: Option<u16>,
    /// That of real time and of guaranteed rates, where it is shorter.
    pub pdu_lifetime_by_class_cs: [Option<u16>; 2],
    /// PDUs of one mobile at which its flows wait at the input, and at which they go on.
    pub watermark_ms: Watermark,
    /// The same of what waits for the bucket of a cell.
    pub watermark_cell: Watermark,
    /// What real time may take of a cell while best effort waits, in percent.
    pub real_time_percent: u8,
    /// How long best effort may wait to be sent together, in ms.
    pub send_delay_ms: u16,
    /// What becomes of what waits for a mobile that changes cells.
    pub cell_change: CellChange,
    /// From one OVERLOAD to the next, in s; `None` tells the BSSs nothing.
    pub overload_interval_s: Option<u16>,
}

/// What becomes of what waits for a mobile that changes cells within a routing area (08.18 clause 8.1 [48.018]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftBehind {
    /// The BSS moves its LL-PDUs to the new cell, and what waits at the SGSN goes after them.
    Move,
    /// The BSS deletes its LL-PDUs.
    Delete,
    /// The BSS deletes its LL-PDUs, and the SGSN discards what waits.
    Discard,
}

impl LeftBehind {
    /// All, with their words.
    pub const WORDS: [(Self, &str); 3] =
        [(Self::Move, "move"), (Self::Delete, "delete"), (Self::Discard, "discard")];
}

/// What becomes of what waits for a mobile that changes cells (08.18 clauses 7.3 and 8.1 [48.018]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellChange {
    /// What becomes of it within a routing area.
    pub left_behind: LeftBehind,
    /// How long FLUSH-LL-ACK is waited for, in ms.
    pub flush_timeout_ms: u16,
    /// How long a mobile that was ordered to another cell is waited for, in seconds.
    pub reselection_timeout_s: u16,
}

impl Default for CellChange {
    fn default() -> Self {
        Self { left_behind: LeftBehind::Move, flush_timeout_ms: 2000, reselection_timeout_s: 5 }
    }
}

/// A high and a low watermark, in PDUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watermark {
    /// Full from here on.
    pub high: u16,
    /// No longer full from here down.
    pub low: u16,
}

/// A leaky bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// Bmax in octets.
    pub bmax_octets: u32,
    /// R in octets per second.
    pub rate_octets_per_s: u32,
}

impl Default for BssgpConfig {
    fn default() -> Self {
        Self {
            bvc: Bucket { bmax_octets: 40_000, rate_octets_per_s: 20_000 },
            ms: Bucket { bmax_octets: 20_000, rate_octets_per_s: 10_000 },
            queue_ms_pdus: 128,
            queue_cell_pdus: 1024,
            pdu_lifetime_cs: Some(1000),
            pdu_lifetime_by_class_cs: [Some(100), Some(400)],
            watermark_ms: Watermark { high: 8, low: 2 },
            watermark_cell: Watermark { high: 64, low: 16 },
            real_time_percent: 80,
            send_delay_ms: 50,
            cell_change: CellChange::default(),
            overload_interval_s: None,
        }
    }
}

/// Timers of mobility and session management in s (04.08 clause 11.2.2 [24.008]), with Osmocom's defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GmmTimers([u32; GmmTimer::ALL.len()]);

macro_rules! gmm_timers {
    ($($name:ident = $number:literal, $default:literal, $help:literal;)*) => {
        /// A timer that can be configured.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum GmmTimer { $(#[doc = $help] $name,)* }

        impl GmmTimer {
            /// All, by number.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// `T3312` is 3312.
            #[must_use]
            pub const fn number(self) -> u16 {
                match self { $(Self::$name => $number,)* }
            }

            /// Its default in s.
            #[must_use]
            pub const fn default_s(self) -> u32 {
                match self { $(Self::$name => $default,)* }
            }

            /// What it times.
            #[must_use]
            pub const fn help(self) -> &'static str {
                match self { $(Self::$name => $help,)* }
            }
        }
    };
}

gmm_timers! {
    T3312 = 3312, 600, "periodic routing area update";
    T3313 = 3313, 30, "answer to paging";
    T3314 = 3314, 44, "READY";
    T3316 = 3316, 44, "AA-READY, of anonymous access";
    T3322 = 3322, 6, "answer to Detach Request";
    T3350 = 3350, 6, "completion of attach, routing area update and P-TMSI reallocation";
    T3360 = 3360, 6, "answer to authentication and ciphering";
    T3370 = 3370, 6, "answer to Identity Request";
    T3385 = 3385, 8, "answer to Request PDP Context Activation";
    T3386 = 3386, 8, "answer to Modify PDP Context Request";
    T3395 = 3395, 8, "answer to Deactivate PDP Context Request";
    T3397 = 3397, 8, "answer to Deactivate AA PDP Context Request";
}

impl GmmTimer {
    /// By its name: `T3350`, `t3350` or `3350`.
    ///
    /// # Errors
    /// Where there is no such timer.
    pub fn named(name: &str) -> Result<Self, CommandError> {
        let digits = name.strip_prefix(['T', 't']).unwrap_or(name);
        let found = Self::ALL.iter().find(|timer| timer.number().to_string() == digits);
        found
            .copied()
            .ok_or_else(|| CommandError(format!("there is no timer '{name}'; 'show timer' lists them.")))
    }
}

impl fmt::Display for GmmTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "T{}", self.number())
    }
}

impl Default for GmmTimers {
    fn default() -> Self {
        let mut timers = Self([0; GmmTimer::ALL.len()]);
        for timer in GmmTimer::ALL {
            timers.set(*timer, timer.default_s());
        }
        timers
    }
}

impl GmmTimers {
    /// The value in s.
    #[must_use]
    pub fn get_s(&self, timer: GmmTimer) -> u32 {
        self.0.get(timer as usize).copied().unwrap_or_else(|| timer.default_s())
    }

    /// Changes the value.
    pub fn set(&mut self, timer: GmmTimer, seconds: u32) {
        if let Some(slot) = self.0.get_mut(timer as usize) {
            *slot = seconds;
        }
    }
}

impl Commands for Sgsn {
    type Config = SgsnConfig;
    type Operation = SgsnOperation;
}

impl Element for Sgsn {
    const NAME: &'static str = "sgsn";
    const VTY_PORT: u16 = 4245;
    const CTRL_PORT: u16 = 4251;
    const BUSY_POLL: BusyPoll = BusyPoll::Adaptive;

    fn common(config: &SgsnConfig) -> &Common {
        &config.common
    }

    fn common_mut(config: &mut SgsnConfig) -> &mut Common {
        &mut config.common
    }

    fn install(grammar: &mut Grammar<Self>) {
        commands::install(grammar);
        ns::install(grammar);
        operations::install(grammar);
        updates::install(grammar);
    }

    fn write(config: &SgsnConfig, text: &mut ConfigText) {
        commands::write(config, text);
        config.ns.write(text);
        commands::write_bssgp(&config.bssgp, text);
    }

    fn problems(config: &SgsnConfig) -> Vec<Problem> {
        let mut problems = Vec::new();
        if config.gtp_local_ip.is_none() {
            let text = "the SGSN has no address: add 'gtp local-ip A.B.C.D' under 'sgsn'";
            problems.push(Problem::incomplete(Node::Sgsn, text));
        }
        for (number, _) in config.ggsns.iter().filter(|(_, ggsn)| ggsn.remote_ip.is_none()) {
            let text = format!("GGSN {number} has no address: add 'ggsn {number} remote-ip A.B.C.D'");
            problems.push(Problem::incomplete(Node::Sgsn, text));
        }
        let of_ipv6 = config.ggsns.iter().filter(|(_, ggsn)| ggsn.remote_ip.is_some_and(|it| it.is_ipv6()));
        for (number, ggsn) in of_ipv6 {
            if config.gn.ipv6.is_none() {
                let text = format!(
                    "GGSN {number} has an IPv6 address, and the SGSN none: add 'gtp local-ipv6 X:X::X:X'"
                );
                problems.push(Problem::incomplete(Node::Sgsn, text));
            }
            if ggsn.gtp_version == GtpVersion::V0 {
                let text = format!(
                    "GGSN {number} has an IPv6 address, which GTPv0 does not use: say 'ggsn {number} gtp-version 1'"
                );
                problems.push(Problem::contradiction(Node::Sgsn, text));
            }
        }
        let leads_nowhere = |route: &&ApnRoute| !config.ggsns.contains_key(&route.ggsn);
        for ApnRoute { apn, ggsn, .. } in config.apns.iter().filter(leads_nowhere) {
            let text = format!(
                "APN {apn} leads to GGSN {ggsn}, which is not there: add 'ggsn {ggsn} remote-ip A.B.C.D'"
            );
            problems.push(Problem::contradiction(Node::Sgsn, text));
        }
        access::problems(&config.access, &mut problems);
        config.ns.problems(&mut problems);
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_by_name() {
        assert_eq!(GmmTimer::named("t3350").unwrap(), GmmTimer::T3350);
        assert_eq!(GmmTimer::named("3312").unwrap(), GmmTimer::T3312);
        assert!(GmmTimer::named("T9999").is_err());
        assert_eq!(GmmTimers::default().get_s(GmmTimer::T3314), 44);
    }
}
