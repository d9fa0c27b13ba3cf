//! Network service control: 08.16 clause 7 (48.016), over UDP.
//!
//! [`NsEntity`] is one value for a whole node, in the role of the SGSN or of a BSS. It keeps NSEs with their NS-VCs,
//! each with its state machine (reset, block, unblock, test: `vc`), and shares the load among the unblocked ones by
//! the load sharing parameter (`load_sharing`). An SGSN may take NS-VCs that nobody configured from the NS-RESET that
//! announces them, as ip.access-style BSSs expect it; a BSS resets, unblocks and tests what is configured. Beside these
//! an NSE may speak IP-SNS (`sns`, 48.016 clause 6.2): then its NS-VCs follow from the IP endpoints of both sides.
//!
//! Limits: [`NsConfig::vc_max`] and [`NsConfig::nse_max`]. A full table gives up the NS-VC that has been dead for
//! longest among those that nobody configured; one of those is forgotten anyway [`FORGET_AFTER`] its death.
//! Who names what a live peer has waits for the test of that peer (`claims`).
//! NS-STATUS goes to strangers at most [`STRANGER_ANSWERS_PER_S`] times a second, and never answers NS-STATUS.
//!
//! NS-UNITDATA allocates nothing, in either direction.

mod claims;
mod learned;
pub mod load_sharing;
mod procedures;
mod receive;
mod sending;
pub mod sns;
mod table;
mod vc;

pub use claims::{CLAIMS_MAX, HOLD_OFF, LOOPBACK, PROVED};
pub use learned::Learned;
pub use table::Nse;
pub use vc::{NsVc, VcCounters, VcIndex, VcOrigin, VcState};

use crate::allowance::Allowance;
use claims::{Claim, Refusal};
use core::fmt;
use core::net::SocketAddr;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::time::Duration;
use gannet_machine::timers::TimerKey;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context, Port};
use gannet_wire::id::{Bvci, Nsei, Nsvci};
use gannet_wire::ns::{Cause, Unitdata};
use load_sharing::Traffic;
use sns::{Sns, SnsConfig, SnsTable};
use std::collections::VecDeque;
use table::{NewVc, Table};
use vc::{Block, Event, Reset};

/// After this time a dead NS-VC that nobody configured is forgotten.
pub const FORGET_AFTER: Duration = Duration::from_secs(300);
/// NS-STATUS PDUs per second to addresses that have no NS-VC.
pub const STRANGER_ANSWERS_PER_S: u32 = 10;
/// NS-STATUS PDUs per second to all NS-VCs.
pub const STATUS_ANSWERS_PER_S: u32 = 100;

/// Which side of Gb this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NsRole {
    /// Waits for the BSS to reset and unblock.
    Sgsn,
    /// Resets, unblocks, and does so again when an NS-VC dies.
    Bss,
}

/// How an entity behaves. Names and defaults of timers and counters: 08.16 clause 11 [48.016].
#[derive(Debug, Clone)]
pub struct NsConfig {
    /// Which side.
    pub role: NsRole,
    /// `TimerKey::owner` of this entity's timers.
    pub timer_owner: u8,
    /// Tns-block: for the answer to NS-BLOCK and NS-UNBLOCK.
    pub tns_block: Duration,
    /// Tns-reset: for the answer to NS-RESET.
    pub tns_reset: Duration,
    /// Tns-test: from one test to the next.
    pub tns_test: Duration,
    /// Tns-alive: for the answer to NS-ALIVE.
    pub tns_alive: Duration,
    /// NS-BLOCK-RETRIES.
    pub block_retries: u8,
    /// NS-UNBLOCK-RETRIES.
    pub unblock_retries: u8,
    /// NS-ALIVE-RETRIES.
    pub alive_retries: u8,
    /// NS-RESET-RETRIES of an SGSN. A BSS goes on until it is answered.
    pub reset_retries: u8,
    /// NSEs at most.
    pub nse_max: usize,
    /// NS-VCs at most.
    pub vc_max: usize,
    /// Ports at which NS-RESET from an unknown address makes an NS-VC.
    pub open: Vec<Port>,
    /// The IP sub-network service.
    pub sns: SnsConfig,
}

impl NsConfig {
    /// The defaults of 08.16 clause 11 [48.016] and of Osmocom.
    #[must_use]
    pub const fn new(role: NsRole, timer_owner: u8) -> Self {
        Self {
            role,
            timer_owner,
            tns_block: Duration::from_secs(3),
            tns_reset: Duration::from_secs(3),
            tns_test: Duration::from_secs(30),
            tns_alive: Duration::from_secs(3),
            block_retries: 3,
            unblock_retries: 3,
            alive_retries: 10,
            reset_retries: 3,
            nse_max: 1024,
            vc_max: 4096,
            open: Vec::new(),
            sns: SnsConfig::new(),
        }
    }
}

/// Why an NS-VC or an IP endpoint could not be configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NsError {
    /// [`NsConfig::vc_max`] or [`NsConfig::nse_max`] is reached.
    TableFull,
    /// Another NS-VC has this NSEI and NS-VCI.
    IdentityTaken,
    /// Another NS-VC has this address.
    AddressTaken,
    /// The NSE does not speak IP-SNS, or has no such endpoint.
    NoSuchEndpoint,
    /// The endpoints together would carry no signalling or no data.
    Weights,
}

impl fmt::Display for NsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TableFull => "the table of NS-VCs is full",
            Self::IdentityTaken => "another NS-VC has this NSEI and NS-VCI",
            Self::AddressTaken => "another NS-VC has this address",
            Self::NoSuchEndpoint => "the NSE has no such IP endpoint",
            Self::Weights => {
                "the weights of all endpoints together must not be 0, for signalling nor for data"
            }
        })
    }
}

impl core::error::Error for NsError {}

/// NS-STATUS-Indication (08.16 clause 5.3 [48.016]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NsStatus {
    /// The first NS-VC of the NSE was unblocked.
    NseAvailable,
    /// The last NS-VC of the NSE was blocked or died.
    NseUnavailable,
    /// The number of unblocked NS-VCs changed; it is neither the first nor the last.
    TransferCapacity {
        /// How many are unblocked now.
        unblocked: usize,
    },
    /// An NS-VC of the NSE was reset.
    VcReset(Nsvci),
}

impl core::fmt::Display for NsStatus {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NseAvailable => f.write_str("the network service is available"),
            Self::NseUnavailable => {
                f.write_str("the network service is not available, no NS-VC is unblocked")
            }
            Self::TransferCapacity { unblocked } => write!(f, "{unblocked} NS-VCs are unblocked"),
            Self::VcReset(nsvci) => write!(f, "NSVCI {nsvci} was reset"),
        }
    }
}

/// What an entity gives to its node.
#[derive(Debug)]
pub enum NsOutput {
    /// Send an NS PDU.
    Transmit {
        /// Through which endpoint.
        port: Port,
        /// To whom.
        peer: SocketAddr,
        /// The PDU.
        frame: Frame,
    },
    /// NS-UNITDATA-Indication.
    Unitdata {
        /// From which entity.
        nsei: Nsei,
        /// For which BVC.
        bvci: Bvci,
        /// The NS SDU alone.
        frame: Frame,
    },
    /// NS-STATUS-Indication.
    Status {
        /// About which entity.
        nsei: Nsei,
        /// What happened.
        status: NsStatus,
    },
}

/// The network service of a node.
#[derive(Debug)]
pub struct NsEntity {
    config: NsConfig,
    table: Table,
    sns: SnsTable,
    claims: Vec<Claim>,
    refusals: VecDeque<Refusal>,
    to_strangers: Allowance,
    to_peers: Allowance,
}

impl NsEntity {
    /// An entity without NS-VCs.
    #[must_use]
    pub fn new(config: NsConfig) -> Self {
        let table = Table::new(config.vc_max, config.nse_max);
        let (sns, to_strangers, to_peers) = (SnsTable::default(), Allowance::default(), Allowance::default());
        let (claims, refusals) = (Vec::new(), VecDeque::new());
        Self { config, table, sns, claims, refusals, to_strangers, to_peers }
    }

    /// Its configuration.
    #[must_use]
    pub const fn config(&self) -> &NsConfig {
        &self.config
    }

    /// Changes the configuration; what runs already goes on with its present deadlines. The limits stay as they were.
    pub fn reconfigure(&mut self, config: NsConfig) {
        self.config = NsConfig { vc_max: self.config.vc_max, nse_max: self.config.nse_max, ..config };
    }

    /// Adds an NS-VC by configuration. It is dead until [`NsEntity::start`] (BSS) or the peer's NS-RESET (SGSN).
    ///
    /// # Errors
    /// [`NsError`]: a limit, or another NS-VC has the identifiers or the address.
    pub fn add_static_vc(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        nsvci: Nsvci,
        port: Port,
        peer: SocketAddr,
    ) -> Result<VcIndex, NsError> {
        if self.table.named(nsei, nsvci).is_some() || self.sns(nsei).is_some() {
            return Err(NsError::IdentityTaken);
        }
        if self.table.at(port, peer).is_some() {
            return Err(NsError::AddressTaken);
        }
        let new = NewVc::named(nsei, nsvci, (port, peer), VcOrigin::Configured);
        self.table.insert(new, cx.now).ok_or(NsError::TableFull)
    }

    /// Adds an NS-VC without NS-VCI by configuration: it is never reset or blocked, and is dead until its first test has
    /// passed (48.016 clause 6.2, static configuration). One that is there gets these weights.
    ///
    /// # Errors
    /// [`NsError`]: a limit, another NS-VC has the address, or the NSE has NS-VCs of another kind.
    pub fn add_static_endpoint(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        (port, peer): (Port, SocketAddr),
        (signalling_weight, data_weight): (u8, u8),
        out: &mut Batch<NsOutput>,
    ) -> Result<VcIndex, NsError> {
        let origin = VcOrigin::Configured;
        if let Some(index) = self.table.at(port, peer) {
            let is_it = |vc: &NsVc| (vc.nsei, vc.nsvci, vc.origin) == (nsei, None, origin);
            if !self.table.get(index).is_some_and(is_it) {
                return Err(NsError::AddressTaken);
            }
            self.table.set_weights(index, signalling_weight, data_weight);
            return Ok(index);
        }
        let of_nse = self.vcs_of(nsei);
        let mut of_nse = of_nse.iter().filter_map(|index| self.table.get(*index));
        if self.sns(nsei).is_some() || of_nse.any(|vc| vc.nsvci.is_some()) {
            return Err(NsError::IdentityTaken);
        }
        let new = NewVc { nsei, nsvci: None, port, peer, origin, signalling_weight, data_weight };
        let index = self.table.insert(new, cx.now).ok_or(NsError::TableFull)?;
        self.begin_tests(cx, &[index], out);
        Ok(index)
    }

    /// Takes an NS-VC out, configured or not.
    pub fn remove_vc(&mut self, cx: &mut Context<'_>, index: VcIndex, out: &mut Batch<NsOutput>) {
        let Some(name) = self.table.get(index).map(NsVc::name) else { return };
        self.set_unblocked(index, false, out);
        self.table.remove(index);
        cx.log(Category::Ns, Level::Notice, format_args!("{name}: removed"));
    }

    /// Begins: a BSS resets every NS-VC and sends its SNS-SIZEs; an SGSN waits for that.
    pub fn start(&mut self, cx: &mut Context<'_>, out: &mut Batch<NsOutput>) {
        match self.config.role {
            NsRole::Bss => self.reset_all(cx, out),
            NsRole::Sgsn => {}
        }
    }

    /// Resets every NS-VC (clause 7.3). What speaks IP-SNS starts anew, if it is the BSS.
    pub fn reset_all(&mut self, cx: &mut Context<'_>, out: &mut Batch<NsOutput>) {
        let all: Vec<VcIndex> = self.table.vcs().map(|vc| vc.index).collect();
        for index in all {
            self.reset(cx, index, out);
        }
        if self.config.role == NsRole::Bss {
            let nses: Vec<Nsei> = self.sns_nses().map(Sns::nsei).collect();
            nses.into_iter().for_each(|nsei| self.start_sns(cx, nsei, out));
        }
    }

    /// Resets an NS-VC (clause 7.3).
    pub fn reset(&mut self, cx: &mut Context<'_>, index: VcIndex, out: &mut Batch<NsOutput>) {
        self.apply(cx, index, Event::Reset(Reset::Oam), None, out);
    }

    /// Blocks an NS-VC from here (clause 7.2); it stays blocked over resets.
    pub fn block(&mut self, cx: &mut Context<'_>, index: VcIndex, out: &mut Batch<NsOutput>) {
        if let Some(vc) = self.table.get_mut(index) {
            vc.oam_blocked = true;
        }
        self.apply(cx, index, Event::Block(Block::Oam), None, out);
    }

    /// Unblocks an NS-VC from here (clause 7.2).
    pub fn unblock(&mut self, cx: &mut Context<'_>, index: VcIndex, out: &mut Batch<NsOutput>) {
        if let Some(vc) = self.table.get_mut(index) {
            vc.oam_blocked = false;
        }
        self.apply(cx, index, Event::Block(Block::OamUnblock), None, out);
    }

    /// NS-UNITDATA-Request: sends the NS SDU `frame` for `bvci` to `nsei`. NS SDUs with the same `lsp` (load sharing
    /// parameter: derived from the TLLI or IMSI; any number for the signalling BVC) stay in order.
    pub fn unitdata_request(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        bvci: Bvci,
        lsp: u32,
        mut frame: Frame,
        out: &mut Batch<NsOutput>,
    ) {
        let traffic = if bvci == Bvci::SIGNALLING { Traffic::Signalling } else { Traffic::Data };
        let picked = self.table.nse(nsei).and_then(|nse| load_sharing::pick(&nse.unblocked, traffic, lsp));
        let Some(vc) = picked.and_then(|index| self.table.get_mut(index)) else {
            cx.drop(Drop::NsNoVc, None);
            return;
        };
        if !frame.prepend(&Unitdata::of(bvci).emit()) {
            cx.drop(Drop::NsNoHeadroom, None);
            return;
        }
        vc.counters.pdus_out += 1;
        vc.counters.octets_out += octets(&frame);
        out.push(NsOutput::Transmit { port: vc.port, peer: vc.peer, frame });
    }

    /// True where an NS-VC of `nsei` is unblocked.
    #[must_use]
    pub fn is_available(&self, nsei: Nsei) -> bool {
        self.table.nse(nsei).is_some_and(|nse| !nse.unblocked.is_empty())
    }

    /// All NSEs, by NSEI.
    pub fn nses(&self) -> impl Iterator<Item = &Nse> {
        self.table.nses()
    }

    /// All NS-VCs, by number.
    pub fn vcs(&self) -> impl Iterator<Item = &NsVc> {
        self.table.vcs()
    }

    /// A number that is another one whenever an NS-VC has come or gone, or has another far end: what was taken of
    /// [`NsEntity::vcs`] about addresses holds as long as this stays the same.
    #[must_use]
    pub const fn address_changes(&self) -> u64 {
        self.table.changes()
    }

    /// One NS-VC.
    #[must_use]
    pub fn vc(&self, index: VcIndex) -> Option<&NsVc> {
        self.table.get(index)
    }

    /// The NS-VC with these identifiers.
    #[must_use]
    pub fn find(&self, nsei: Nsei, nsvci: Nsvci) -> Option<VcIndex> {
        self.table.named(nsei, nsvci)
    }

    const fn timer_key(&self, index: VcIndex, generation: u16) -> TimerKey {
        TimerKey { owner: self.config.timer_owner, slot: index.0, generation }
    }

    /// Writes down whether an NS-VC carries NS-UNITDATA, and tells the NS user what that changes for the NSE.
    fn set_unblocked(&mut self, index: VcIndex, on: bool, out: &mut Batch<NsOutput>) {
        let Some(nsei) = self.table.get(index).map(|vc| vc.nsei) else { return };
        let status = match self.table.set_unblocked(index, on) {
            (before, after) if before == after => return,
            (0, _) => NsStatus::NseAvailable,
            (_, 0) => NsStatus::NseUnavailable,
            (_, unblocked) => NsStatus::TransferCapacity { unblocked },
        };
        out.push(NsOutput::Status { nsei, status });
    }
}

/// The length of a PDU, for the counters.
fn octets(pdu: &[u8]) -> u64 {
    u64::try_from(pdu.len()).unwrap_or(u64::MAX)
}

/// The cause of an NS-RESET that follows the death of an NS-VC.
const DEATH: Cause = Cause::TransitNetworkFailure;

#[cfg(test)]
mod tests;
