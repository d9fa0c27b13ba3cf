//! How a GSN speaks GTP.

use super::inside::Inside;
use super::trust::{ListedPeer, Role, SourceCheck};
use core::net::{IpAddr, Ipv4Addr};
use gannet_machine::Port;
use gannet_machine::time::Duration;

/// A node's address in the other version of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecondAddress {
    /// The address, for both planes.
    pub address: IpAddr,
    /// The ports for GTP-C and GTP-U there. GTPv0 has no IPv6.
    pub ports: [Port; 2],
}

/// IPv4 addresses that peers are told in the place of a node's own: those by which they reach it where addresses are translated on
/// the way. `None` for its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ToldAddresses {
    /// For signalling.
    pub control: Option<Ipv4Addr>,
    /// For G-PDUs.
    pub user: Option<Ipv4Addr>,
}

/// The addresses of one plane that a message names (29.060 clause 7.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told {
    /// In the version of IP of the peer.
    pub first: IpAddr,
    /// In the other version, where this node has one.
    pub alternative: Option<IpAddr>,
}

/// How a GSN speaks GTP.
#[derive(Debug, Clone)]
pub struct GtpConfig {
    /// Which requests it serves.
    pub role: Role,
    /// The node's port for GTP-C.
    pub control_port: Port,
    /// The node's port for GTP-U.
    pub user_port: Port,
    /// The node's port for GTPv0.
    pub v0_port: Port,
    /// Our address for signalling.
    pub control_address: IpAddr,
    /// Our address for user traffic.
    pub user_address: IpAddr,
    /// Our address of the other version of IP, for peers that have that.
    pub second: Option<SecondAddress>,
    /// What peers are told in their place.
    pub told: ToldAddresses,
    /// From where messages about a tunnel are taken.
    pub source_check: SourceCheck,
    /// The peers that the operator lists.
    pub peers: Vec<ListedPeer>,
    /// The addresses of the mobiles behind this node: no peer has one of them.
    pub inside: Inside,
    /// How often this node was started, modulo 256 (29.060 clause 11.2).
    pub restart_counter: u8,
    /// T3-RESPONSE: how long a response is waited for.
    pub t3_response: Duration,
    /// N3-REQUESTS: how often a request is sent.
    pub n3_requests: u8,
    /// Time between two Echo Requests on a path; zero for none. 29.060 clause 7.2.1 wants at least 60 s.
    pub echo_interval: Duration,
    /// The same of single peers; the others have the one above.
    pub echo_intervals: Vec<(IpAddr, Duration)>,
    /// From the failure of a path until its contexts end; `None` where they stay.
    pub failure_delay: Option<Duration>,
    /// Peers at most.
    pub path_limit: u16,
    /// Our requests that may wait for a response, at most 32768.
    pub request_limit: usize,
    /// Answers that are kept for repeated requests.
    pub response_limit: usize,
    /// Error Indications and other unasked-for answers a second; ten times as many at once.
    pub answers_per_second: u32,
    /// G-PDUs carry sequence numbers.
    pub sequence_numbers: bool,
    /// [`TimerKey::owner`](gannet_machine::timers::TimerKey::owner) of this entity's wake-ups.
    pub timer_owner: u8,
}

/// What of a [`GtpConfig`] is about time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// [`GtpConfig::t3_response`].
    pub t3_response: Duration,
    /// [`GtpConfig::n3_requests`].
    pub n3_requests: u8,
    /// [`GtpConfig::echo_interval`].
    pub echo_interval: Duration,
    /// [`GtpConfig::echo_intervals`].
    pub echo_intervals: Vec<(IpAddr, Duration)>,
}

impl GtpConfig {
    /// [`GtpConfig::failure_delay`] by default: no outage costs a context in which one test of two is answered, which are a
    /// minute apart.
    pub const FAILURE_DELAY: Duration = Duration::from_secs(60);

    /// Between two Echo Requests to a peer; zero for none.
    pub(super) fn echo_interval_of(&self, address: IpAddr) -> Duration {
        let own = self.echo_intervals.iter().find(|(peer, _)| *peer == address);
        own.map_or(self.echo_interval, |(_, interval)| *interval)
    }

    /// The recommended values, with one address for both planes. The ports are those of GTP-C, GTP-U and GTPv0.
    #[must_use]
    pub fn new(
        role: Role,
        [control_port, user_port, v0_port]: [Port; 3],
        address: IpAddr,
        timer_owner: u8,
    ) -> Self {
        Self {
            role,
            control_port,
            user_port,
            v0_port,
            control_address: address,
            user_address: address,
            second: None,
            told: ToldAddresses::default(),
            source_check: SourceCheck::Strict,
            peers: Vec::new(),
            inside: Inside::default(),
            restart_counter: 0,
            t3_response: Duration::from_secs(5),
            n3_requests: 3,
            echo_interval: Duration::from_secs(60),
            echo_intervals: Vec::new(),
            failure_delay: Some(Self::FAILURE_DELAY),
            path_limit: 1024,
            request_limit: 1 << 14,
            response_limit: 1 << 14,
            answers_per_second: 100,
            sequence_numbers: true,
            timer_owner,
        }
    }
}
