//! The BSS emulator with its mobiles: its configuration, and what an operator can ask of it.
//!
//! Its cells are those of [`super::cells`], its mobiles those of [`super::fleet`]. The first `count` mobiles have a TUN device,
//! PREFIX`m − 1` for mobile m (from 1).

mod air;
mod commands;

pub use air::{AirConfig, Categories};

pub use super::cells::{Cells, CellsConfig, GbDialect, IpSnsEndpoints, Radio};
pub use super::fleet::{FilterOrder, Fleet, Mobiles, PdpType, QosRequest, TunDevices};

use super::cells::HasCells;
use super::compression::HasCompression;
use super::fleet::HasFleet;
use super::links::HasLinks;
use super::{Common, ConfigText};
use crate::config::Element;
use crate::grammar::{Action, CommandError, Commands, Edit, Grammar, Node, Problem};
use gannet_proto::llc::abm::LinksConfig;
use gannet_proto::sndcp::compression::CompressionConfig;
use gannet_wire::bssgp::ie::RadioCause;
use gannet_wire::id::{Imsi, Nsapi, Nsei};
use gannet_wire::l3::ie::Apn;

/// The BSS emulator, as an element of the VTY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bss;

/// What a BSS emulator is told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BssConfig {
    /// What every element has.
    pub common: Common,
    /// The cells.
    pub gb: CellsConfig,
    /// The mobiles.
    pub fleet: Fleet,
    /// What is seen of the radio, and where it goes.
    pub air: AirConfig,
}

impl HasCells for BssConfig {
    fn cells_mut(&mut self) -> &mut CellsConfig {
        &mut self.gb
    }
}

impl HasFleet for BssConfig {
    fn fleet_mut(&mut self) -> &mut Fleet {
        &mut self.fleet
    }
}

impl HasLinks for BssConfig {
    fn links_mut(&mut self) -> &mut LinksConfig {
        &mut self.fleet.links
    }
}

impl HasCompression for BssConfig {
    fn compression_mut(&mut self) -> &mut CompressionConfig {
        &mut self.fleet.compression
    }
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
    /// `show radio`, `show bts statistics`: a [`crate::view::RadioCell`] for each.
    ShowRadio,
    /// `show tbf all`: a [`crate::view::Tbf`] for each.
    ShowTbfs,
    /// `show ms all`: a [`crate::view::RadioMobile`] for each.
    ShowRadioMobiles,
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
        config.gb.problems(Node::Bss)
    }

    fn remarks(config: &BssConfig) -> Vec<String> {
        air::remark(config).into_iter().collect()
    }
}
