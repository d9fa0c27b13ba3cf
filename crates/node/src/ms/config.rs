//! What a user may choose about a fleet of mobiles.

use super::travel::TravelConfig;
use gannet_machine::time::Duration;
use gannet_proto::auth::cards::Cards;
use gannet_proto::gmm::ms::GmmMsConfig;
use gannet_proto::sm::ms::SmMsConfig;
use gannet_proto::sndcp::SndcpConfig;
use gannet_proto::user_plane::{UNCONFIRMED_OCTETS_MAX, UserPlaneConfig};
use gannet_wire::gtp::pco::{self, PcoOption, emit as emit_pco, identifier};
use gannet_wire::id::{CellId, Imei, Imsi, Nsapi, Sapi};
use gannet_wire::l3::ie::{
    Apn, MsNetworkCapability, Octets, PdpAddress, ProtocolConfiguration, QosProfile, ReliabilityClass,
};

/// Where N-PDUs go that came for a mobile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NPduDelivery {
    /// Out of the port [`super::TUN`].
    #[default]
    Tun,
    /// Out of the port [`super::TUN`], to the device of the context: [`super::devices`].
    Devices,
    /// To the outside as [`super::MsEvent::NPdu`], for a simulator.
    Event,
}

/// What all mobiles ask for when nothing else is said in the order to activate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PdpRequest {
    /// Its NSAPI, 5 to 15.
    pub nsapi: Nsapi,
    /// The LLC SAPI that is asked for: 3, 5, 9 or 11.
    pub sapi: Sapi,
    /// Where to; `None` leaves it to the subscription.
    pub apn: Option<Apn>,
    /// Quality of service; the default says "subscribed" in every field.
    pub qos: QosProfile,
    /// Kind of address.
    pub address: PdpAddress,
    /// Options for the external network.
    pub pco: Option<ProtocolConfiguration>,
}

/// Everything about one fleet.
#[derive(Debug, Clone)]
pub struct MsConfig {
    /// How many mobiles there are.
    pub mobiles: u32,
    /// The first mobile's IMSI; the n-th has this number plus n.
    pub imsi: Imsi,
    /// The first mobile's IMEI, spare digit last; the n-th has its number without the spare digit plus n.
    pub imei: Option<Imei>,
    /// Their cards; see [`MsConfig::insert`].
    pub cards: Cards,
    /// The cells, in the order of their index at the BSS: what a mobile reads from their broadcast channels.
    pub cells: Vec<CellId>,
    /// The cell in which each mobile begins, as an index into `cells`. Mobiles beyond the end are spread over all
    /// cells in turn.
    pub first_cells: Vec<u16>,
    /// A mobile has no cell before its bearer says that a link is there: `first_cells` do not count.
    pub bearer_selects: bool,
    /// What mobiles measure on their way, and how they change cells by it; `None` leaves each where it is told to be.
    pub travel: Option<TravelConfig>,
    /// Capabilities, DRX and timers of mobility management.
    pub gmm: GmmMsConfig,
    /// Timers of session management.
    pub sm: SmMsConfig,
    /// What is asked for by default.
    pub pdp: PdpRequest,
    /// N201-U that a mobile proposes when a context becomes active, 140 to 1520 octets; `None` leaves it to the
    /// network to propose another than the default of 500 octets.
    pub n201_u: Option<u16>,
    /// Compression, and what may wait for the network's confirmation in acknowledged mode.
    pub user_plane: UserPlaneConfig,
    /// Octets of N-PDUs of all mobiles that may wait for confirmation.
    pub unconfirmed_octets_max: usize,
    /// Where downlink N-PDUs go.
    pub delivery: NPduDelivery,
    /// Downlink N-PDUs that wait for more segments, of all mobiles.
    pub reassembly_max: usize,
    /// How long they wait: longer than the longest PDU lifetime, 63 s, for which a base station may hold the rest.
    pub reassembly_timeout: Duration,
    /// Outputs that wait for the driver, beyond which memory must grow.
    pub outputs_max: usize,
}

impl MsConfig {
    /// One mobile per IMSI from `imsi` on, in these cells, asking for what a phone asks for.
    #[must_use]
    pub fn new(mobiles: u32, imsi: Imsi, cells: Vec<CellId>) -> Self {
        Self {
            mobiles,
            imsi,
            imei: "350000000000000".parse().ok(),
            cards: Cards::None,
            cells,
            first_cells: Vec::new(),
            bearer_selects: false,
            travel: None,
            gmm: GmmMsConfig { network_capability: network_capability(), ..GmmMsConfig::default() },
            sm: SmMsConfig::default(),
            pdp: PdpRequest::default(),
            n201_u: None,
            user_plane: UserPlaneConfig {
                sndcp: SndcpConfig { limits: super::links::LIMITS, ..SndcpConfig::default() },
                ..UserPlaneConfig::default()
            },
            unconfirmed_octets_max: UNCONFIRMED_OCTETS_MAX as usize,
            delivery: NPduDelivery::Tun,
            reassembly_max: 1024,
            reassembly_timeout: Duration::from_secs(64),
            outputs_max: 1024,
        }
    }

    /// Gives the mobiles these cards, and the ciphers for which such a card has keys.
    pub fn insert(&mut self, cards: Cards) {
        self.gmm.network_capability = self.gmm.network_capability.with_geas(cards.geas());
        self.cards = cards;
    }

    /// The cell in which a mobile begins, if it has one by itself.
    #[must_use]
    pub fn first_cell(&self, mobile: u32) -> Option<u16> {
        let spread = || {
            let cells = u32::try_from(self.cells.len()).ok().filter(|cells| *cells > 0)?;
            u16::try_from(mobile % cells).ok()
        };
        let first = self.first_cells.get(mobile as usize).copied().or_else(spread);
        first.filter(|_| !self.bearer_selects)
    }

    /// Protected UI frames but for reliability class 5, whose errors the application can bear (03.60 clause 15.2.3
    /// [23.107]).
    #[must_use]
    pub fn protects(qos: &QosProfile) -> bool {
        qos.reliability != ReliabilityClass::FIVE
    }
}

/// That of a phone of R99.
fn network_capability() -> MsNetworkCapability {
    MsNetworkCapability(Octets::from_start(&[0x17, 0x01, 0x00, 0x00])).with_geas(Cards::None.geas())
}

impl Default for PdpRequest {
    fn default() -> Self {
        Self {
            nsapi: Nsapi(5),
            sapi: Sapi::DATA3,
            apn: "internet".parse().ok(),
            qos: QosProfile::default(),
            address: PdpAddress::Ipv4Dynamic,
            pco: Some(ask_for_name_servers()),
        }
    }
}

/// What a phone asks the external network: name servers, in PPP's manner (IPCP, RFC 1877) and in that of the container
/// (04.08 clause 10.5.6.3 [24.008]).
#[must_use]
pub fn ask_for_name_servers() -> ProtocolConfiguration {
    const CONFIGURE_REQUEST: u8 = 1;
    const PRIMARY_DNS: u8 = 129;
    const SECONDARY_DNS: u8 = 131;
    let mut ipcp = vec![CONFIGURE_REQUEST, 0, 0, 16];
    for server in [PRIMARY_DNS, SECONDARY_DNS] {
        ipcp.extend([server, 6, 0, 0, 0, 0]);
    }
    ProtocolConfiguration(emit_pco(&[
        PcoOption { identifier: identifier::IPCP, content: ipcp },
        PcoOption { identifier: identifier::DNS_SERVER_IPV4, content: Vec::new() },
    ]))
}

/// The name servers among the options of an external network, first choice first.
#[must_use]
pub fn name_servers(options: &ProtocolConfiguration) -> Vec<core::net::Ipv4Addr> {
    let mut servers = Vec::new();
    for option in pco::parse(&options.0).unwrap_or_default() {
        match option.identifier {
            pco::identifier::DNS_SERVER_IPV4 => servers.extend(ipv4(&option.content)),
            // RFC 1877: Configure-Ack or -Nak with the options 129 and 131.
            pco::identifier::IPCP => {
                let mut rest = option.content.get(4..).unwrap_or_default();
                while let [kind, length, ..] = rest {
                    let Some((value, tail)) = rest.split_at_checked(usize::from(*length).max(2)) else {
                        break;
                    };
                    if matches!(kind, 129 | 131) {
                        servers.extend(value.get(2..).and_then(ipv4));
                    }
                    rest = tail;
                }
            }
            _ => {}
        }
    }
    servers.retain(|server| !server.is_unspecified());
    let mut seen = Vec::new();
    servers.retain(|server| {
        let fresh = !seen.contains(server);
        seen.push(*server);
        fresh
    });
    servers
}

fn ipv4(octets: &[u8]) -> Option<core::net::Ipv4Addr> {
    <[u8; 4]>::try_from(octets).ok().map(core::net::Ipv4Addr::from)
}
