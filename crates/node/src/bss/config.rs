//! What a BSS is told.

use super::Owner;
use super::calls::CallPlan;
use super::radio::{RadioConfig, RlcMacConfig, VirtualUmConfig};
use core::fmt;
use core::net::SocketAddr;
use gannet_machine::Port;
use gannet_machine::time::Duration;
use gannet_machine::timers::TimerName as _;
use gannet_proto::bssgp::bvc::{self, Role};
use gannet_proto::bssgp::flow_control::{Bucket, BvcParameters};
use gannet_proto::ns::sns::SnsSetup;
use gannet_proto::ns::{NsConfig, NsError, NsRole};
use gannet_wire::id::{Bvci, CellId, Nsei, Nsvci};
use std::collections::BTreeSet;

/// The port of an NS endpoint, counted from 0: a UDP socket of its own for each address that the SGSN should see.
#[must_use]
pub const fn gb_port(endpoint: u16) -> Port {
    Port(endpoint.saturating_add(1))
}

/// One NS-VC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VcConfig {
    /// Its NSE.
    pub nsei: Nsei,
    /// Its number.
    pub nsvci: Nsvci,
    /// The endpoint on our side: [`gb_port`].
    pub port: Port,
    /// The SGSN's endpoint.
    pub peer: SocketAddr,
}

/// One cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellConfig {
    /// Its NSE.
    pub nsei: Nsei,
    /// Its BVC, 2 or above.
    pub bvci: Bvci,
    /// Its name.
    pub id: CellId,
    /// To the mobiles.
    pub downlink: RadioConfig,
    /// From the mobiles.
    pub uplink: RadioConfig,
    /// What FLOW-CONTROL-BVC says, where the radio does not measure what it drains.
    pub flow: BvcParameters,
}

impl CellConfig {
    /// A cell whose radio carries 1 Mbit/s each way, 20 ms long. Its real queue is a quarter larger than what the SGSN
    /// is told, since PDUs that were sent in their time may come close together.
    #[must_use]
    pub const fn new(nsei: Nsei, bvci: Bvci, id: CellId) -> Self {
        Self::with_rate(nsei, bvci, id, 1_000_000)
    }

    /// The same with another rate in both directions, in bit/s; queues hold half a second of it.
    #[must_use]
    pub const fn with_rate(nsei: Nsei, bvci: Bvci, id: CellId, rate_bit_per_s: u64) -> Self {
        let told = rate_bit_per_s / 16;
        let bmax_octets = if told < 6400 { 6400 } else { told };
        let bucket = Bucket { bmax_octets, rate_bit_per_s };
        let radio = RadioConfig {
            rate_bit_per_s,
            queue_octets: bmax_octets + bmax_octets / 4,
            delay: Duration::from_millis(20),
        };
        let flow = BvcParameters { bvc: bucket, default_ms: bucket };
        Self { nsei, bvci, id, downlink: radio, uplink: radio, flow }
    }
}

/// A whole BSS.
#[derive(Debug, Clone)]
pub struct Config {
    /// Timers and limits of NS.
    pub ns: NsConfig,
    /// The NS-VCs of all NSEs that reset and block them.
    pub vcs: Vec<VcConfig>,
    /// The NSEs that speak IP-SNS in place of that.
    pub ip_sns: Vec<SnsSetup>,
    /// Timers and limits of the BVC procedures.
    pub bvc: bvc::Config,
    /// The cells; their index is their number on Um.
    pub cells: Vec<CellConfig>,
    /// T: from one FLOW-CONTROL-BVC of a cell to the next (08.18 clause 8.2.3).
    pub flow_control_interval: Duration,
    /// How long LL-PDUs wait in a bucket of a radio whose drain is measured: Bmax is what is drained in that time.
    pub bucket_time: Duration,
    /// LL-PDUs of user data that live no longer are of real time ([`Urgency::of`](super::radio::Urgency::of)). The SGSN's defaults are 1 s for
    /// real time, 4 s for what has a guaranteed rate, and 10 s for the rest.
    pub real_time_lifetime: Duration,
    /// How long LL-PDUs wait for a mobile that has left their cell, until the SGSN says what becomes of them.
    pub away_lifetime: Duration,
    /// How long an OVERLOAD of the SGSN holds for the cells of its NSE (48.018 clause 10.4).
    pub overload_hold: Duration,
    /// Slots on Um.
    pub mobiles_max: u32,
    /// LL-PDUs in all queues of one direction.
    pub pdus_max: u32,
    /// Of a hundred LL-PDUs, how many the emulated radio loses in each direction.
    pub loss_percent: u8,
    /// The cells have a radio with RLC/MAC in place of the emulated one.
    pub rlcmac: Option<RlcMacConfig>,
    /// The same with mobiles that are elsewhere; then `rlcmac` does not count.
    pub virtual_um: Option<VirtualUmConfig>,
    /// Calls that share the PDCHs of each cell, and go before GPRS. They need a radio with RLC/MAC.
    pub calls: Option<CallPlan>,
}

impl Config {
    /// Defaults for these NS-VCs and cells.
    #[must_use]
    pub fn new(vcs: Vec<VcConfig>, cells: Vec<CellConfig>) -> Self {
        let cell_count = u32::try_from(cells.len()).unwrap_or(u32::MAX).max(1);
        let ns = NsConfig::new(NsRole::Bss, Owner::Ns.number());
        let bvc = bvc::Config { bvcs_max: cell_count, nses_max: cell_count, ..bvc::Config::new(Role::Bss) };
        Self {
            ns,
            vcs,
            ip_sns: Vec::new(),
            bvc,
            cells,
            flow_control_interval: Duration::from_secs(10),
            bucket_time: Duration::from_secs(1),
            real_time_lifetime: Duration::from_secs(4),
            away_lifetime: Duration::from_secs(5),
            overload_hold: Duration::from_secs(10),
            mobiles_max: 1024,
            pdus_max: 4096,
            loss_percent: 0,
            rlcmac: None,
            calls: None,
            virtual_um: None,
        }
    }
}

impl Config {
    /// What NS would refuse, before it is asked.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let identities: BTreeSet<_> = self.vcs.iter().map(|vc| (vc.nsei, vc.nsvci)).collect();
        let addresses: BTreeSet<_> = self.vcs.iter().map(|vc| (vc.port, vc.peer)).collect();
        let ip_sns = self.ip_sns.iter().map(|setup| setup.nsei);
        let nses: BTreeSet<_> = self.vcs.iter().map(|vc| vc.nsei).chain(ip_sns.clone()).collect();
        let dialects: BTreeSet<_> = self.vcs.iter().map(|vc| vc.nsei).collect();
        if ip_sns.clone().any(|nsei| dialects.contains(&nsei)) {
            return Err(ConfigError::Ns(NsError::IdentityTaken));
        }
        if identities.len() < self.vcs.len() {
            return Err(ConfigError::Ns(NsError::IdentityTaken));
        }
        if addresses.len() < self.vcs.len() {
            return Err(ConfigError::Ns(NsError::AddressTaken));
        }
        if self.vcs.len() > self.ns.vc_max || nses.len() > self.ns.nse_max {
            return Err(ConfigError::Ns(NsError::TableFull));
        }
        Ok(())
    }
}

/// Why a configuration is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigError {
    /// An NS-VC could not be made.
    Ns(NsError),
    /// A cell or its BVC is there twice, its BVCI is below 2, or there are too many.
    Cell(CellId),
    /// Calls take timeslots, and the radio has none.
    Calls,
    /// The timers of RLC/MAC are such as a cell cannot broadcast.
    CellOptions,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ns(error) => write!(f, "{error}"),
            Self::Calls => f.write_str("calls take timeslots: only a radio with RLC/MAC has any"),
            Self::CellOptions => f.write_str("a cell cannot broadcast these timers of RLC/MAC"),
            Self::Cell(cell) => write!(f, "cell {cell}: its name or BVC is taken or out of range"),
        }
    }
}

impl core::error::Error for ConfigError {}
