//! Cells of a BSS, their radio, and Gb: for every element that has cells.
//!
//! Cells, NSEs and NS-VCs are numbered from a base, so that a few lines describe thousands:
//!
//! | what | its number |
//! |---|---|
//! | cell n (from 0) | cell identity `ci-base + n`, BVCI `bvci-base + n`, routing area `rac + n / cells-per-routing-area` |
//! | NSE k (from 0), of cells k·`cells-per-nse` and on | NSEI `nsei-base + k`, NSVCI `nsvci-base + k`, UDP port `local-port + k`; with IP-SNS e ports for each NSE, `local-port + k·e` and on |

mod commands;
mod pcu;
mod sharing;

pub(crate) use commands::{groups, install, write};
pub use pcu::{ControlAck, Pcu};
pub use sharing::{CallsBy, PreemptionPolicy, SCRIPT_MAX, ScriptedCalls, Sharing};

use crate::config::Element;
use crate::grammar::{Action, CommandError, Edit, Grammar, Node, Problem};
use core::net::Ipv4Addr;
use gannet_wire::id::Plmn;
use gannet_wire::rlcmac::coding::CodingScheme;

/// Cells, and how they reach their SGSN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellsConfig {
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
}

/// The configuration of an element that has cells.
pub(crate) trait HasCells {
    /// All about them.
    fn cells_mut(&mut self) -> &mut CellsConfig;
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

impl CellsConfig {
    /// UDP ports of one NSE.
    #[must_use]
    pub const fn ports_per_nse(&self) -> u16 {
        match self.dialect {
            GbDialect::Classic => 1,
            GbDialect::IpSns => self.ip_sns.count + self.ip_sns.spare,
        }
    }

    /// Numbers that do not suffice.
    pub(crate) fn problems(&self, node: Node) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut say = |text| problems.push(Problem::contradiction(node, text));
        let cells = &self.cells;
        let last = cells.count.saturating_sub(1);
        let nses = last / cells.per_nse.max(1);
        let areas = last / cells.per_routing_area.max(1);
        for (what, base, more) in [
            ("bvci-base", cells.bvci_base, last),
            ("ci-base", cells.ci_base, last),
            ("nsei-base", cells.nsei_base, nses),
            ("nsvci-base", cells.nsvci_base, nses),
            ("local-port", self.local_port, (nses + 1).saturating_mul(self.ports_per_nse()) - 1),
        ] {
            if base.checked_add(more).is_none() {
                say(format!("'{what} {base}' leaves no numbers for {} cells", cells.count));
            }
        }
        if self.radio.sharing.calls.is_some() && self.radio.rlcmac.is_none() {
            say("'radio rlcmac calls' takes timeslots: add 'radio rlcmac slots N cs N'".to_owned());
        }
        if let Some(um) = self.radio.um {
            if self.radio.rlcmac.is_none() {
                say("'radio um virtual' is the air of RLC/MAC: add 'radio rlcmac slots N cs N'".to_owned());
            }
            if um.arfcn.saturating_add(last) > ARFCN_MAX {
                say(format!("'arfcn {}' leaves no carriers for {} cells", um.arfcn, cells.count));
            }
            um.groups.problem().into_iter().for_each(|text| say(text.to_owned()));
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
    /// RLC/MAC in place of the rates, the delay and the loss.
    pub rlcmac: Option<RlcMac>,
    /// What its PCUs do.
    pub pcu: Pcu,
    /// Calls that share its PDCHs.
    pub sharing: Sharing,
    /// An air for mobiles that are elsewhere.
    pub um: Option<VirtualUm>,
}

/// Multicast groups that carry an air, by UDP port 4729.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UmGroups {
    /// To the mobiles.
    pub downlink: Ipv4Addr,
    /// From the mobiles.
    pub uplink: Ipv4Addr,
}

impl Default for UmGroups {
    fn default() -> Self {
        Self { downlink: Ipv4Addr::new(239, 193, 23, 1), uplink: Ipv4Addr::new(239, 193, 23, 2) }
    }
}

impl UmGroups {
    /// What is wrong with them.
    #[must_use]
    pub fn problem(&self) -> Option<&'static str> {
        if !self.downlink.is_multicast() || !self.uplink.is_multicast() {
            Some("the groups of the air are multicast addresses: 224.0.0.0 to 239.255.255.255")
        } else if self.downlink == self.uplink {
            Some("the air has two groups, downlink and uplink")
        } else {
            None
        }
    }
}

/// A virtual Um.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VirtualUm {
    /// The carrier of the first cell; each cell has the next one.
    pub arfcn: u16,
    /// How it is carried.
    pub groups: UmGroups,
}

/// The last carrier.
const ARFCN_MAX: u16 = 1023;

/// A radio with RLC/MAC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RlcMac {
    /// PDCHs of a cell: its last timeslots.
    pub slots: u8,
    /// How data blocks are coded, both ways.
    pub coding: CodingScheme,
    /// Mean C/I in dB; `None` where nothing is lost.
    pub c_over_i_db: Option<u8>,
}

impl RlcMac {
    /// What the PDCHs carry of RLC data fields, in octets per second.
    #[must_use]
    pub fn octets_per_s(&self, slots: u8) -> u32 {
        let each = u32::try_from(self.coding.bits_per_second() / 8).unwrap_or(u32::MAX);
        each * u32::from(slots.min(self.slots))
    }
}

impl Default for CellsConfig {
    fn default() -> Self {
        Self {
            remote_ip: Ipv4Addr::LOCALHOST,
            remote_port: 23_000,
            local_ip: Ipv4Addr::LOCALHOST,
            local_port: 22_000,
            dialect: GbDialect::Classic,
            ip_sns: IpSnsEndpoints::default(),
            cells: Cells::default(),
            radio: Radio::default(),
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
            rlcmac: None,
            pcu: Pcu::default(),
            sharing: Sharing::default(),
            um: None,
        }
    }
}

/// Adds a command that changes the configuration.
fn set<E: Element<Config: HasCells>>(
    grammar: &mut Grammar<E>,
    node: Node,
    pattern: &'static str,
    help: &str,
    set: fn(&mut Edit<'_, E::Config>) -> Result<(), CommandError>,
) {
    grammar.add(&[node], pattern, help, Action::<E>::Set(set));
}
