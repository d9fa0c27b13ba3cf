//! What an operator may choose about an SGSN.

use super::GB;
use super::admission::AdmissionConfig;
use super::flows::{Ingress, QueueConfig};
use super::quality::Ceilings;
use super::subscribers::SubscriberConfig;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use gannet_machine::Port;
use gannet_machine::time::Duration;
use gannet_proto::bssgp::flow_control;
use gannet_proto::gmm::network::GmmConfig;
use gannet_proto::gtp::{ListedPeer, PLACES, SourceCheck, TeidKey, Version};
use gannet_proto::llc::LlcRole;
use gannet_proto::ns::sns::LocalEndpoint;
use gannet_proto::sm::network::SmConfig;
use gannet_proto::user_plane::{UNCONFIRMED_OCTETS_MAX, UserPlaneConfig};
use gannet_qos::class::CellClass;
use gannet_wire::id::{Nsei, Nsvci};
use gannet_wire::l3::ie::SmCause;

/// A GGSN that the SGSN knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GgsnPeer {
    /// Its number in the configuration.
    pub number: u32,
    /// Its address.
    pub address: IpAddr,
    /// Which version of GTP is spoken with it.
    pub version: Version,
}

/// Which GGSN serves an access point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApnRoute {
    /// Network identifier without operator identifier; `*` for every other.
    pub apn: String,
    /// For subscribers whose IMSI begins with these digits; empty for all.
    pub imsi_prefix: String,
    /// Index in [`SgsnConfig::ggsns`].
    pub ggsn: usize,
}

/// Everything about one SGSN.
#[derive(Debug, Clone)]
pub struct SgsnConfig {
    /// Mobiles in the table, attached or attaching.
    pub mobiles_max: usize,
    /// PDP contexts of all mobiles together, at most 2^24; `None` for twice the mobiles.
    pub contexts_max: Option<usize>,
    /// Cells (PTP BVCs).
    pub cells_max: u32,
    /// Our address on Gn, for both planes.
    pub gtp_address: IpAddr,
    /// Our address on Gn of the other version of IP, for GGSNs that have that.
    pub gtp_second_address: Option<IpAddr>,
    /// From where messages about a tunnel are taken.
    pub source_check: SourceCheck,
    /// GGSNs' addresses that may speak for any tunnel.
    pub gtp_peers: Vec<IpAddr>,
    /// How often this node was started, modulo 256 (29.060 clause 11.2).
    pub restart_counter: u8,
    /// With which generation the TEIDs of new contexts begin. A node that goes on with the contexts of an earlier run has
    /// another one than that run: a context that run has made last and not kept is not to be taken for a new one.
    pub teid_generation: u8,
    /// Between the names of contexts and their TEIDs: thrown at the first start, and kept with what is kept of mobiles.
    pub teid_key: TeidKey,
    /// Time between two Echo Requests on a path to a GGSN; zero for none.
    pub echo_interval: Duration,
    /// The same of single GGSNs, by their address.
    pub echo_intervals: Vec<(IpAddr, Duration)>,
    /// From the failure of a path to a GGSN until its contexts end; `None` where they stay.
    pub failure_delay: Option<Duration>,
    /// T3-RESPONSE of GTP.
    pub t3_response: Duration,
    /// N3-REQUESTS of GTP.
    pub n3_requests: u8,
    /// The GGSNs.
    pub ggsns: Vec<GgsnPeer>,
    /// Access points; where there is none, every APN goes to the first GGSN.
    pub apns: Vec<ApnRoute>,
    /// Timers and options of mobility management.
    pub gmm: GmmConfig,
    /// Timers of session management.
    pub sm: SmConfig,
    /// With which cause the contexts of a GGSN that has restarted end at the mobiles.
    pub ggsn_restart_cause: SmCause,
    /// Timers of the network service.
    pub ns: NsTimers,
    /// Network service entities and NS-VCs at most.
    pub nses_max: usize,
    /// NS-VCs that are known before the BSS speaks: the SGSN resets them.
    pub nsvcs: Vec<NsvcConfig>,
    /// Ports of NS at which an NS-VC is made for a BSS that introduces itself with NS-RESET.
    pub open: Vec<Port>,
    /// The IP sub-network service.
    pub ip_sns: IpSns,
    /// Who may be served, and how mobiles prove who they are.
    pub subscribers: SubscriberConfig,
    /// Limits and initial values of the downlink flow control.
    pub flow: flow_control::Config,
    /// N201-U that is proposed to a mobile for user data; `None` leaves the default of 500 octets.
    pub n201_u: Option<u16>,
    /// Acknowledged mode and compression.
    pub user_plane: UserPlaneConfig,
    /// Octets of N-PDUs of all mobiles that may wait for their confirmation in acknowledged mode. LLC has a second copy of what
    /// is on its way.
    pub unconfirmed_octets_max: usize,
    /// Lifetime of an LL-PDU in the downlink queue and at the BSS.
    pub pdu_lifetime: PduLifetimes,
    /// Which rates may be guaranteed.
    pub admission: AdmissionConfig,
    /// What becomes of what waits for a mobile that changes cells.
    pub cell_change: CellChange,
    /// N-PDUs held for mobiles that are paged, in all.
    pub held_max: u32,
    /// N-PDUs held for one mobile.
    pub held_per_mobile_max: u32,
    /// How long an N-PDU is held.
    pub held_lifetime: Duration,
    /// Uplink N-PDUs that wait for more segments.
    pub reassembly_max: usize,
    /// How long they wait.
    pub reassembly_timeout: Duration,
    /// How N-PDUs from Gn come in.
    pub ingress: Ingress,
    /// The queues of the queued ingress.
    pub queue: QueueConfig,
    /// What is granted of the quality of service that a mobile asks for.
    pub ceilings: Ceilings,
    /// What is dropped of an N-PDU flow above its peak throughput; `None` polices nobody.
    pub policing: Option<Policing>,
    /// Answers a second to mobiles that are not known.
    pub stranger_answers_per_second: u32,
    /// From one OVERLOAD to the next, where mobiles that are not known are more than are answered or have a place; `None`
    /// tells the BSSs nothing.
    pub overload_interval: Option<Duration>,
}

/// What becomes of what waits for a mobile in the cell that it has left, within its routing area (08.18 clause 8.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LeftBehind {
    /// FLUSH-LL has the BSS move its LL-PDUs to the new cell, and what waits here goes after them.
    #[default]
    Move,
    /// FLUSH-LL has the BSS delete its LL-PDUs; what waits here goes to the new cell.
    Delete,
    /// FLUSH-LL has the BSS delete its LL-PDUs, and what waits here is discarded too. N-PDUs in acknowledged mode that LLC has sent come
    /// again.
    Discard,
}

/// What becomes of what waits for a mobile that changes cells (08.18 clauses 7.3 and 8.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellChange {
    /// What becomes of what waits for it.
    pub left_behind: LeftBehind,
    /// A fault for the laboratory: FLUSH-LL names the new cell in place of the old one, and so deletes what has just gone there.
    pub flushes_new_cell: bool,
    /// How long FLUSH-LL-ACK is waited for.
    pub flush_timeout: Duration,
    /// How long a mobile that was ordered to another cell is waited for before it counts as lost.
    pub reselection_timeout: Duration,
}

impl Default for CellChange {
    fn default() -> Self {
        let (flush_timeout, reselection_timeout) = (Duration::from_secs(2), Duration::from_secs(5));
        let left_behind = LeftBehind::Move;
        Self { left_behind, flushes_new_cell: false, flush_timeout, reselection_timeout }
    }
}

/// How long LL-PDUs live, in the downlink queue and at the BSS together (08.18 clause 11.3.25), by class; `None` for ever. At
/// most 655.34 s each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PduLifetimes {
    /// Real time, which is of no use to anybody when it comes late.
    pub real_time: Option<Duration>,
    /// What has a guaranteed rate: whoever plays it has some seconds of it in store.
    pub guaranteed: Option<Duration>,
    /// Best effort, and signalling.
    pub other: Option<Duration>,
}

impl PduLifetimes {
    /// One for all.
    #[must_use]
    pub const fn all(lifetime: Option<Duration>) -> Self {
        Self { real_time: lifetime, guaranteed: lifetime, other: lifetime }
    }

    /// That of a class.
    #[must_use]
    #[inline]
    pub const fn of(&self, class: CellClass) -> Option<Duration> {
        match class {
            CellClass::RealTime => self.real_time,
            CellClass::Guaranteed => self.guaranteed,
            CellClass::Signalling | CellClass::BestEffort => self.other,
        }
    }
}

impl Default for PduLifetimes {
    fn default() -> Self {
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        Self { real_time: seconds(1), guaranteed: seconds(4), other: seconds(10) }
    }
}

/// How flows are held to their peak throughput.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policing {
    /// What passes at once after a pause, as a time at the flow's rate.
    pub burst: Duration,
}

impl Default for Policing {
    fn default() -> Self {
        Self { burst: Duration::from_millis(1000) }
    }
}

/// An NS-VC that was configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NsvcConfig {
    /// Its NSE.
    pub nsei: Nsei,
    /// Its number; `None` for one that is never reset or blocked.
    pub nsvci: Option<Nsvci>,
    /// At which of our ports of NS.
    pub port: Port,
    /// The BSS's endpoint.
    pub peer: SocketAddr,
    /// Its shares of signalling and of data, of one without number.
    pub weights: (u8, u8),
}

impl fmt::Display for NsvcConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nsvci {
            Some(nsvci) => write!(f, "NSEI {} NSVCI {nsvci}", self.nsei),
            None => write!(f, "NSEI {}, endpoint {}", self.nsei, self.peer),
        }
    }
}

/// What an SGSN does of the IP sub-network service (48.016 clause 6.2).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IpSns {
    /// The endpoints of NSEs that introduce themselves, with their weights.
    pub endpoints: Vec<LocalEndpoint>,
    /// Ports at which an NSE becomes known whose BSS introduces itself with SNS-SIZE.
    pub open: Vec<Port>,
    /// NSEs that are to speak IP-SNS, each with its endpoints.
    pub nses: Vec<(Nsei, Vec<LocalEndpoint>)>,
}

/// Timers of 08.16 clause 10 [48.016].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NsTimers {
    /// Tns-block.
    pub block: Duration,
    /// Tns-reset.
    pub reset: Duration,
    /// Tns-test.
    pub test: Duration,
    /// Tns-alive.
    pub alive: Duration,
    /// NS-BLOCK-RETRIES and NS-UNBLOCK-RETRIES.
    pub block_retries: u8,
    /// NS-RESET-RETRIES.
    pub reset_retries: u8,
    /// NS-ALIVE-RETRIES.
    pub alive_retries: u8,
    /// Tsns-prov (48.016 clause 6.2).
    pub sns_prov: Duration,
    /// SNS-CONFIG-RETRIES.
    pub sns_config_retries: u8,
    /// SNS-ADD-RETRIES, SNS-DELETE-RETRIES and SNS-CHANGEWEIGHT-RETRIES.
    pub sns_procedures_retries: u8,
}

impl Default for NsTimers {
    fn default() -> Self {
        let three = Duration::from_secs(3);
        Self {
            block: three,
            reset: three,
            test: Duration::from_secs(30),
            alive: three,
            block_retries: 3,
            reset_retries: 3,
            alive_retries: 10,
            sns_prov: three,
            sns_config_retries: 3,
            sns_procedures_retries: 3,
        }
    }
}

impl SgsnConfig {
    pub(super) fn listed_peers(&self) -> Vec<ListedPeer> {
        self.gtp_peers.iter().map(|address| ListedPeer { address: *address, contexts_max: None }).collect()
    }

    /// Octets of a context that may wait for confirmation whatever the others have, where `contexts` have something that waits.
    ///
    /// It is an equal part of half of the node's octets L, divided by H. Where contexts come one after another, each takes its
    /// share and confirms nothing, the i-th has L / 2 / i / H, or M, its own limit, where that is less. All N contexts together then
    /// have L / 2 / H · (1 + ln (2 N M / L) + ln H), so that the half is enough where H is at least what stands in brackets.
    pub(super) fn unconfirmed_share(&self, contexts: usize) -> usize {
        let half = self.unconfirmed_octets_max / 2;
        let all = self.contexts_limit().saturating_mul(self.user_plane.most(LlcRole::Sgsn).octets_max);
        // H in tenths, which for a ratio of 2^k is at least the solution.
        let tenths = match all.div_ceil(half.max(1)).max(1).next_power_of_two().trailing_zeros() as usize {
            0 => 10,
            k => 20 + 9 * k,
        };
        half.saturating_mul(10) / tenths / contexts.max(1)
    }

    /// Places in the table of PDP contexts.
    #[must_use]
    pub fn contexts_limit(&self) -> usize {
        self.contexts_max.unwrap_or(self.mobiles_max.saturating_mul(2)).clamp(1, PLACES as usize)
    }
}

impl Default for SgsnConfig {
    fn default() -> Self {
        Self {
            mobiles_max: 16_384,
            contexts_max: None,
            cells_max: 256,
            gtp_address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            gtp_second_address: None,
            source_check: SourceCheck::Strict,
            gtp_peers: Vec::new(),
            restart_counter: 0,
            teid_generation: 0,
            teid_key: TeidKey::default(),
            echo_interval: Duration::from_secs(60),
            echo_intervals: Vec::new(),
            failure_delay: Some(gannet_proto::gtp::GtpConfig::FAILURE_DELAY),
            t3_response: Duration::from_secs(5),
            n3_requests: 3,
            ggsns: Vec::new(),
            apns: Vec::new(),
            gmm: GmmConfig::default(),
            sm: SmConfig::default(),
            ggsn_restart_cause: SmCause::ReactivationRequired,
            ns: NsTimers::default(),
            nses_max: 256,
            nsvcs: Vec::new(),
            open: vec![GB],
            ip_sns: IpSns::default(),
            subscribers: SubscriberConfig::default(),
            flow: flow_control::Config::default(),
            n201_u: Some(1520),
            user_plane: UserPlaneConfig::default(),
            unconfirmed_octets_max: UNCONFIRMED_OCTETS_MAX as usize,
            pdu_lifetime: PduLifetimes::default(),
            admission: AdmissionConfig::default(),
            cell_change: CellChange::default(),
            held_max: 4096,
            held_per_mobile_max: 20,
            held_lifetime: Duration::from_secs(30),
            reassembly_max: 1024,
            reassembly_timeout: Duration::from_secs(10),
            ingress: Ingress::Queued,
            queue: QueueConfig::default(),
            ceilings: Ceilings::default(),
            policing: Some(Policing::default()),
            stranger_answers_per_second: 100,
            overload_interval: None,
        }
    }
}
