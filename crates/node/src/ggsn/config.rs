//! How a GGSN and its access points are set up.

use super::marking::CodePoints;
use super::notify::StaticMobile;
use super::{IPV6_PREFIX_LENGTHS, PREFIX_LENGTHS};
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use gannet_machine::time::Duration;
use gannet_proto::gtp::{GtpConfig, ListedPeer, PLACES, SourceCheck, TeidKey, ToldAddresses};
use gannet_wire::l3::ie::Apn;

/// A network: an address of it, and the bits of its prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network<A> {
    /// An address of the network.
    pub address: A,
    /// Bits of its prefix.
    pub length: u8,
}

/// The addresses of one version of IP that an access point has for mobiles. An access point without any of a version does not serve
/// that version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ranges<A> {
    /// Mobiles that ask for no certain address have theirs out of this one.
    pub dynamic: Option<Network<A>>,
    /// Only mobiles that ask for a certain address have one out of this one.
    pub fixed: Option<Network<A>>,
}

impl<A: Copy> Ranges<A> {
    /// No addresses.
    pub const NONE: Self = Self { dynamic: None, fixed: None };

    /// Dynamic addresses out of a network.
    #[must_use]
    pub const fn dynamic(address: A, length: u8) -> Self {
        Self { dynamic: Some(Network { address, length }), fixed: None }
    }

    /// Both networks.
    pub fn all(&self) -> impl Iterator<Item = Network<A>> + use<A> {
        self.dynamic.into_iter().chain(self.fixed)
    }

    /// Whether there is any.
    #[must_use]
    pub const fn is_served(&self) -> bool {
        self.dynamic.is_some() || self.fixed.is_some()
    }
}

/// What becomes of packets from one mobile to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MobileToMobile {
    /// They leave for the network of the access point, which may send them back.
    #[default]
    Network,
    /// Those between mobiles of the same access point are turned round inside the GGSN.
    Inside,
    /// They are dropped.
    Refused,
}

/// What a mobile is told that authenticates itself by PAP (RFC 1334) in its protocol configuration options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pap {
    /// Whatever name and password it gives are right.
    #[default]
    Accepted,
    /// They are wrong: its request is refused with cause 209.
    Refused,
    /// Nothing is said about them.
    Ignored,
}

/// The largest TCP segment that both ends of a connection are told, in octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mss {
    /// Over IPv4.
    pub v4: u16,
    /// Over IPv6.
    pub v6: u16,
}

/// An access point.
#[derive(Debug, Clone)]
pub struct ApnConfig {
    /// Its name.
    pub name: Apn,
    /// The IPv4 addresses of its mobiles; the lengths of their prefixes are in [`PREFIX_LENGTHS`].
    pub v4: Ranges<Ipv4Addr>,
    /// Out of these each context with IPv6 has 64 bits of its own; their lengths are in [`IPV6_PREFIX_LENGTHS`].
    pub v6: Ranges<Ipv6Addr>,
    /// Where it serves both versions, one context may have both.
    pub dual_stack: bool,
    /// A mobile may bring its own address, out of the dynamic addresses.
    pub static_addresses: bool,
    /// G-PDUs to its mobiles carry sequence numbers, where the version of GTP leaves a choice.
    pub sequence_numbers: bool,
    /// IPv4 name servers that mobiles are told.
    pub dns: [Option<Ipv4Addr>; 2],
    /// IPv6 name servers that mobiles are told.
    pub dns_v6: [Option<Ipv6Addr>; 2],
    /// The longest N-PDU that mobiles are told, in octets; 0 tells none.
    pub mtu: u16,
    /// TCP connections are told to use no larger segments.
    pub mss: Option<Mss>,
    /// The GGSN's own address on the links of mobiles with IPv6: link-local.
    pub link_local: Ipv6Addr,
    /// Packets from one mobile to another.
    pub mobile_to_mobile: MobileToMobile,
    /// Contexts of an address that has no traffic for so long end.
    pub idle_timeout: Option<Duration>,
    /// What exceeds the maximum bit rate of a context is dropped.
    pub police: bool,
    /// What mobiles are told about PAP.
    pub pap: Pap,
}

impl ApnConfig {
    /// The GGSN's address on a mobile's link where nothing else is configured: interface identifier 1, which no mobile is told.
    pub const LINK_LOCAL: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
    /// What fits into a GTP packet of 1500 octets with the longest IPv4 header (60), UDP (8) and GTP (12), in octets.
    pub const MTU_OCTETS: u16 = 1420;

    /// An access point without addresses.
    #[must_use]
    pub const fn new(name: Apn) -> Self {
        Self {
            name,
            v4: Ranges::NONE,
            v6: Ranges::NONE,
            dual_stack: true,
            static_addresses: false,
            sequence_numbers: true,
            dns: [None; 2],
            dns_v6: [None; 2],
            mtu: Self::MTU_OCTETS,
            mss: None,
            link_local: Self::LINK_LOCAL,
            mobile_to_mobile: MobileToMobile::Network,
            idle_timeout: None,
            police: false,
            pap: Pap::Accepted,
        }
    }

    /// An access point with dynamic IPv4 addresses.
    #[must_use]
    pub fn with_ipv4(name: Apn, address: Ipv4Addr, length: u8) -> Self {
        Self { v4: Ranges::dynamic(address, length), ..Self::new(name) }
    }
}

/// What becomes of the contexts of an SGSN that has restarted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AfterRestart {
    /// They end here (23.007, restart of an SGSN).
    #[default]
    Forget,
    /// The SGSN is asked to delete each of them.
    Delete,
}

/// How a GGSN is set up.
#[derive(Debug, Clone)]
pub struct GgsnConfig {
    /// Our address for signalling and user traffic.
    pub address: IpAddr,
    /// Our address of the other version of IP, for SGSNs that have that.
    pub second_address: Option<IpAddr>,
    /// The addresses that SGSNs are told in the place of `address`.
    pub told: ToldAddresses,
    /// Code points of G-PDUs to mobiles.
    pub code_points: CodePoints,
    /// From where messages about a tunnel are taken.
    pub source_check: SourceCheck,
    /// SGSNs that are listed. Where there is one, the others may not move or replace its contexts, and have at most half of what
    /// there is together.
    pub peers: Vec<ListedPeer>,
    /// The access points.
    pub apns: Vec<ApnConfig>,
    /// Subscribers who have addresses of their own, at most [`super::STATIC_MOBILES_MAX`].
    pub static_mobiles: Vec<StaticMobile>,
    /// Index of the access point for names that are unknown; none of them, and such requests are refused.
    pub default_apn: Option<u16>,
    /// How often this node was started, modulo 256.
    pub restart_counter: u8,
    /// PDP contexts at most, up to 1048576.
    pub context_limit: u32,
    /// Time between two Echo Requests on a path; zero for none.
    pub echo_interval: Duration,
    /// From the failure of a path to an SGSN until its contexts end; `None` where they stay.
    pub failure_delay: Option<Duration>,
    /// The contexts of an SGSN that has restarted.
    pub after_restart: AfterRestart,
    /// T3-RESPONSE.
    pub t3_response: Duration,
    /// N3-REQUESTS.
    pub n3_requests: u8,
    /// Error Indications and other unasked-for answers a second.
    pub answers_per_second: u32,
    /// With which generation TEIDs begin, so that those of an earlier run are not given out again.
    pub teid_generation: u8,
    /// Between the places of contexts and their TEIDs: thrown at each start, unless contexts of an earlier one are restored.
    pub teid_key: TeidKey,
}

impl GgsnConfig {
    /// The recommended values for a GGSN at `address` with these access points.
    #[must_use]
    pub fn new(address: IpAddr, apns: Vec<ApnConfig>) -> Self {
        Self {
            address,
            second_address: None,
            told: ToldAddresses::default(),
            code_points: CodePoints::default(),
            source_check: SourceCheck::Strict,
            peers: Vec::new(),
            apns,
            static_mobiles: Vec::new(),
            default_apn: None,
            restart_counter: 0,
            context_limit: 65_536,
            echo_interval: Duration::from_secs(60),
            failure_delay: Some(GtpConfig::FAILURE_DELAY),
            after_restart: AfterRestart::Forget,
            t3_response: Duration::from_secs(5),
            n3_requests: 3,
            answers_per_second: 100,
            teid_generation: 0,
            teid_key: TeidKey::default(),
        }
    }
}

/// What is wrong with a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GgsnConfigError {
    /// The prefix of this access point has a length that a pool cannot have.
    PrefixLength(u16),
    /// The IPv6 prefix of this access point has a length out of which no prefixes of 64 bits can be given.
    Ipv6PrefixLength(u16),
    /// The static address of a subscriber cannot be given out, belongs to another one as well, or is one too many.
    StaticAddress(Ipv4Addr),
    /// The address of the GGSN on the links of this access point is not link-local.
    LinkLocal(u16),
    /// Two access points, the second of which is this one, have the same name.
    DuplicateName(u16),
    /// The default access point does not exist.
    DefaultApn(u16),
    /// More contexts than TEIDs can name.
    ContextLimit(u32),
    /// More access points than there can be.
    TooManyApns,
}

impl fmt::Display for GgsnConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PrefixLength(apn) => {
                let (first, last) = (PREFIX_LENGTHS.start(), PREFIX_LENGTHS.end());
                write!(f, "the prefix of access point {apn} must have {first} to {last} bits")
            }
            Self::Ipv6PrefixLength(apn) => {
                let (first, last) = (IPV6_PREFIX_LENGTHS.start(), IPV6_PREFIX_LENGTHS.end());
                write!(f, "the IPv6 prefix of access point {apn} must have {first} to {last} bits")
            }
            Self::LinkLocal(apn) => {
                write!(f, "the link-local address of access point {apn} must begin with fe80::/10")
            }
            Self::StaticAddress(address) => {
                write!(
                    f,
                    "the static address {address} cannot be had: it is not of its access point, or twice"
                )
            }
            Self::DuplicateName(apn) => write!(f, "access point {apn} has the name of another"),
            Self::DefaultApn(apn) => write!(f, "the default access point {apn} does not exist"),
            Self::ContextLimit(limit) => write!(f, "{limit} PDP contexts are more than {PLACES}"),
            Self::TooManyApns => f.write_str("there are more than 65536 access points"),
        }
    }
}

impl core::error::Error for GgsnConfigError {}
