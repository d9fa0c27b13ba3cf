//! The BSS emulator with its mobiles: its configuration, and what an operator can ask of it.
//!
//! Cells, NSEs, NS-VCs and mobiles are numbered from a base, so that a few lines describe thousands:
//!
//! | what | its number |
//! |---|---|
//! | cell n (from 0) | cell identity `ci-base + n`, BVCI `bvci-base + n`, routing area `rac + n / cells-per-routing-area` |
//! | NSE k (from 0), of cells k·`cells-per-nse` and on | NSEI `nsei-base + k`, NSVCI `nsvci-base + k`, UDP port `local-port + k`; with IP-SNS e ports for each NSE, `local-port + k·e` and on |
//! | mobile m (from 1) | IMSI `imsi-base + m − 1`, IMEI `imei-base + m − 1`, Ki or K of its card plus m − 1, TUN device PREFIX`m − 1` for the first `count` |

mod cards;
mod commands;

use super::compression::HasCompression;
use super::links::HasLinks;
use super::{Common, ConfigText};
use crate::config::Element;
use crate::grammar::{Action, CommandError, Commands, Edit, Grammar, Node, Problem};
use core::net::Ipv4Addr;
use gannet_proto::auth::cards::Cards;
use gannet_proto::llc::abm::LinksConfig;
use gannet_proto::sndcp::compression::CompressionConfig;
use gannet_wire::bssgp::ie::RadioCause;
use gannet_wire::id::{Imei, Imsi, Nsapi, Nsei, Plmn};
use gannet_wire::l3::ie::{Apn, Component};

/// The BSS emulator, as an element of the VTY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bss;

/// What a BSS emulator is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BssConfig {
    /// What every element has.
    pub common: Common,
    /// The SGSN's address.
    pub remote_ip: Ipv4Addr,
    /// The SGSN's UDP port of NS.
    pub remote_port: u16,
    /// Our address.
    pub local_ip: Ipv4Addr,
    /// The UDP port of the first NSE.
    pub local_port: u16,
    /// How NS-VCs come to be.
    pub dialect: GbDialect,
    /// The IP endpoints of each NSE, with IP-SNS.
    pub ip_sns: IpSnsEndpoints,
    /// The cells.
    pub cells: Cells,
    /// What the radio of one cell carries.
    pub radio: Radio,
    /// The mobiles.
    pub mobiles: Mobiles,
    /// The QoS that mobiles ask for.
    pub qos: QosRequest,
    /// The compression that they ask for and take.
    pub compression: CompressionConfig,
    /// What is proposed of the links of acknowledged mode, and agreed to.
    pub links: LinksConfig,
}

impl HasLinks for BssConfig {
    fn links_mut(&mut self) -> &mut LinksConfig {
        &mut self.links
    }
}

impl HasCompression for BssConfig {
    fn compression_mut(&mut self) -> &mut CompressionConfig {
        &mut self.compression
    }
}

/// How NS-VCs come to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GbDialect {
    /// One for each NSE, which is reset and unblocked as ip.access has it.
    Classic,
    /// One for each pair of IP endpoints that IP-SNS tells of (48.016 clause 6.2).
    IpSns,
}

/// IP endpoints of one NSE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IpSnsEndpoints {
    /// How many there are at the start.
    pub count: u16,
    /// How many more can be added.
    pub spare: u16,
}

impl Default for IpSnsEndpoints {
    fn default() -> Self {
        Self { count: 1, spare: 0 }
    }
}

impl BssConfig {
    /// UDP ports of one NSE.
    #[must_use]
    pub const fn ports_per_nse(&self) -> u16 {
        match self.dialect {
            GbDialect::Classic => 1,
            GbDialect::IpSns => self.ip_sns.count + self.ip_sns.spare,
        }
    }
}

/// How many cells there are, and how they are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cells {
    /// How many.
    pub count: u16,
    /// How many one NSE serves.
    pub per_nse: u16,
    /// How many are in one routing area.
    pub per_routing_area: u16,
    /// Mobile country code.
    pub mcc: u16,
    /// Mobile network code.
    pub mnc: u16,
    /// The network code has three digits: `012` is not `12`.
    pub mnc_three_digits: bool,
    /// Location area code.
    pub lac: u16,
    /// Routing area code of the first cells.
    pub rac: u8,
    /// Cell identity of the first cell.
    pub ci_base: u16,
    /// BVCI of the first cell.
    pub bvci_base: u16,
    /// NSEI of the first NSE.
    pub nsei_base: u16,
    /// NSVCI of the first NSE.
    pub nsvci_base: u16,
}

/// What the radio of one cell carries, and what the BSS tells the SGSN about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Radio {
    /// Octets per second to the mobiles of a cell, together.
    pub downlink_octets_per_s: u32,
    /// Octets per second from them.
    pub uplink_octets_per_s: u32,
    /// One way, in ms.
    pub delay_ms: u16,
    /// LL-PDUs that are lost, of a hundred.
    pub loss_percent: u8,
    /// Bmax of the cell in FLOW-CONTROL-BVC, in octets.
    pub cell_bmax_octets: u32,
    /// Bmax of a mobile, in octets.
    pub ms_bmax_octets: u32,
    /// R of a mobile, in octets per second.
    pub ms_rate_octets_per_s: u32,
    /// Between two FLOW-CONTROL-BVC of a cell, in s.
    pub flow_control_interval_s: u16,
}

/// How many mobiles there are, and how they are numbered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mobiles {
    /// How many.
    pub count: u32,
    /// IMSI of the first.
    pub imsi_base: Imsi,
    /// IMEI of the first.
    pub imei_base: Imei,
    /// Their cards; the key of the first, with the others counted from there.
    pub cards: Cards,
    /// Their ciphers, bit n for GEA/n; `None` for those for which their cards have keys.
    pub geas: Option<u8>,
    /// They ask for combined procedures (04.08 clause 4.7 [24.008]).
    pub combined: bool,
    /// They activate what the network requests (04.08 clause 6.1.3.1.2 [24.008]).
    pub follows_requests: bool,
    /// They set the transaction identifier flag in transactions of their own, as some phones do.
    pub sets_flag: bool,
    /// The access point that they ask for; empty where they name none.
    pub apn: String,
    /// What type of address they ask for there.
    pub pdp_type: PdpType,
    /// TUN devices for the first of them.
    pub tun: Option<TunDevices>,
    /// How many attach in one second; `None` attaches none until an operator says so.
    pub attach_per_s: Option<u32>,
    /// They activate a PDP context once they have attached.
    pub activate: bool,
}

/// TUN devices, each for one mobile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TunDevices {
    /// The devices are called PREFIX0, PREFIX1, …
    pub prefix: String,
    /// How many.
    pub count: u32,
}

/// The QoS classes of R97 that mobiles ask for (04.08 clause 10.5.6.5 [24.008]); 0 is the subscribed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QosRequest {
    /// Precedence class, 1 to 3.
    pub precedence: u8,
    /// Delay class, 1 to 4.
    pub delay: u8,
    /// Reliability class, 1 to 5.
    pub reliability: u8,
    /// Peak throughput class, 1 to 9.
    pub peak: u8,
    /// Mean throughput class, 1 to 18 or 31 for best effort.
    pub mean: u8,
}

impl Default for BssConfig {
    fn default() -> Self {
        Self {
            common: Common::default(),
            remote_ip: Ipv4Addr::LOCALHOST,
            remote_port: 23_000,
            local_ip: Ipv4Addr::LOCALHOST,
            local_port: 22_000,
            dialect: GbDialect::Classic,
            ip_sns: IpSnsEndpoints::default(),
            cells: Cells::default(),
            radio: Radio::default(),
            mobiles: Mobiles::default(),
            qos: QosRequest::default(),
            compression: CompressionConfig::default(),
            links: LinksConfig::default(),
        }
    }
}

impl Cells {
    /// Country and network.
    #[must_use]
    pub fn plmn(&self) -> Plmn {
        Plmn::new(self.mcc, self.mnc, self.mnc_three_digits)
    }
}

impl Default for Cells {
    fn default() -> Self {
        Self {
            count: 1,
            per_nse: 16,
            per_routing_area: 16,
            mcc: 1,
            mnc: 1,
            mnc_three_digits: false,
            lac: 1,
            rac: 0,
            ci_base: 1,
            bvci_base: 2,
            nsei_base: 101,
            nsvci_base: 101,
        }
    }
}

impl Default for Radio {
    fn default() -> Self {
        Self {
            downlink_octets_per_s: 100_000,
            uplink_octets_per_s: 100_000,
            delay_ms: 20,
            loss_percent: 0,
            cell_bmax_octets: 50_000,
            ms_bmax_octets: 20_000,
            ms_rate_octets_per_s: 50_000,
            flow_control_interval_s: 10,
        }
    }
}

impl Default for Mobiles {
    fn default() -> Self {
        Self {
            count: 1,
            imsi_base: Imsi::from_digits([0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]).expect("15 digits"),
            imei_base: Imei::from_digits([3, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]).expect("14 digits"),
            cards: Cards::None,
            geas: None,
            combined: false,
            follows_requests: false,
            sets_flag: false,
            apn: "internet".to_owned(),
            pdp_type: PdpType::Ipv4,
            tun: None,
            attach_per_s: Some(10),
            activate: true,
        }
    }
}

/// The type of address that mobiles ask for (04.08 clause 10.5.6.4 [24.008]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PdpType {
    /// IPv4.
    #[default]
    Ipv4,
    /// IPv6.
    Ipv6,
    /// Both in one context.
    Ipv4v6,
}

/// The one packet filter of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilterOrder {
    /// The filter with the lowest one is tried first.
    pub precedence: u8,
    /// What a downlink packet must have.
    pub component: Component,
}

/// What an operator asks of a BSS emulator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BssOperation {
    /// `show mobile [N]`: a [`crate::view::Mobile`] for each.
    ShowMobiles(Option<u32>),
    /// `show cells`: a [`crate::view::Cell`] for each.
    ShowCells,
    /// `show ns [stats]`: as in the SGSN.
    ShowNs {
        /// With counters.
        stats: bool,
    },
    /// `show bssgp [stats]`: as in the SGSN.
    ShowBssgp {
        /// With counters.
        stats: bool,
    },
    /// `show drops`: a [`crate::view::DropCount`] for each.
    ShowDrops,
    /// `show why imsi IMSI`: the last [`crate::view::Why`]s of a mobile.
    ShowWhy(Imsi),
    /// `mobile N attach`
    Attach(u32),
    /// `mobile N detach`
    Detach(u32),
    /// `mobile N imsi-attach`: for non-GPRS services, again.
    ImsiAttach(u32),
    /// `mobile N imsi-detach`: from non-GPRS services alone.
    ImsiDetach(u32),
    /// `mobile N activate`
    Activate(u32),
    /// `mobile N activate nsapi NSAPI apn NAME`
    ActivateAt {
        /// Which mobile, from 1.
        mobile: u32,
        /// The context's NSAPI.
        nsapi: Nsapi,
        /// Its access point.
        apn: Apn,
    },
    /// `mobile N deactivate [NSAPI]`
    Deactivate {
        /// Which mobile, from 1.
        mobile: u32,
        /// Which of its contexts; all where none is named.
        nsapi: Option<Nsapi>,
    },
    /// `mobile N secondary NSAPI beside NSAPI precedence …`: a context with the address of another, for the packets of one
    /// filter.
    Secondary {
        /// Which mobile, from 1.
        mobile: u32,
        /// Its NSAPI.
        nsapi: Nsapi,
        /// That of the other.
        linked: Nsapi,
        /// Which packets belong to it.
        filter: FilterOrder,
    },
    /// `mobile N modify NSAPI precedence …`: other packets belong to a context.
    ModifyFilter {
        /// Which mobile, from 1.
        mobile: u32,
        /// Which of its contexts.
        nsapi: Nsapi,
        /// Which packets belong to it.
        filter: FilterOrder,
    },
    /// `mobile N modify NSAPI delay-class N`: another quality of service.
    ModifyDelay {
        /// Which mobile, from 1.
        mobile: u32,
        /// Which of its contexts.
        nsapi: Nsapi,
        /// 1 to 4.
        delay_class: u8,
    },
    /// `mobile N tear-down NSAPI`: all contexts with the address of this one end together.
    TearDown {
        /// Which mobile, from 1.
        mobile: u32,
        /// One of its contexts.
        nsapi: Nsapi,
    },
    /// `mobile N cell M`: it reselects.
    Reselect {
        /// Which mobile, from 1.
        mobile: u32,
        /// The new cell, from 0.
        cell: u16,
    },
    /// `mobile N radio-status …`: the SGSN is told what is the matter with it on the radio interface.
    RadioStatus {
        /// Which mobile, from 1.
        mobile: u32,
        /// What.
        cause: RadioCause,
    },
    /// `ns reset`: all NS-VCs are reset; with IP-SNS everything begins anew.
    ResetNs,
    /// `ns nsei N endpoint E …`
    ChangeEndpoint {
        /// Which NSE.
        nsei: Nsei,
        /// Which of its endpoints, from 1.
        endpoint: u16,
        /// What happens.
        change: EndpointChange,
    },
    /// `cell M reset`: its BVC is reset.
    ResetCell(u16),
}

/// What happens to an IP endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointChange {
    /// It comes.
    Add,
    /// It goes.
    Delete,
    /// It has other weights.
    Weights {
        /// For signalling.
        signalling: u8,
        /// For data.
        data: u8,
    },
}

/// Adds a command that changes the configuration.
fn set(
    grammar: &mut Grammar<Bss>,
    pattern: &'static str,
    help: &str,
    set: fn(&mut Edit<'_, BssConfig>) -> Result<(), CommandError>,
) {
    grammar.add(&[Node::Bss], pattern, help, Action::<Bss>::Set(set));
}

impl Commands for Bss {
    type Config = BssConfig;
    type Operation = BssOperation;
}

impl Element for Bss {
    const NAME: &'static str = "bss";
    const VTY_PORT: u16 = 4290;
    const CTRL_PORT: u16 = 4291;

    fn common(config: &BssConfig) -> &Common {
        &config.common
    }

    fn common_mut(config: &mut BssConfig) -> &mut Common {
        &mut config.common
    }

    fn install(grammar: &mut Grammar<Self>) {
        commands::install(grammar);
    }

    fn write(config: &BssConfig, text: &mut ConfigText) {
        commands::write(config, text);
    }

    fn problems(config: &BssConfig) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut say = |text| problems.push(Problem::contradiction(Node::Bss, text));
        let cells = &config.cells;
        let last = cells.count.saturating_sub(1);
        let nses = last / cells.per_nse.max(1);
        let areas = last / cells.per_routing_area.max(1);
        for (what, base, more) in [
            ("bvci-base", cells.bvci_base, last),
            ("ci-base", cells.ci_base, last),
            ("nsei-base", cells.nsei_base, nses),
            ("nsvci-base", cells.nsvci_base, nses),
            ("local-port", config.local_port, (nses + 1).saturating_mul(config.ports_per_nse()) - 1),
        ] {
            if base.checked_add(more).is_none() {
                say(format!("'{what} {base}' leaves no numbers for {} cells", cells.count));
            }
        }
        if u16::from(cells.rac) + areas > 255 {
            say(format!(
                "{} cells with {} in a routing area need more than 256 routing areas",
                cells.count, cells.per_routing_area
            ));
        }
        problems
    }
}
