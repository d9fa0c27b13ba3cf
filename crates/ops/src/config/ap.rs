//! An access point: an ordinary BSS on Gb whose cells are links of the adaptation protocol.
//!
//! Link n of [`super::bearers`] is cell n of [`super::cells`], both from 0.

use super::bearers::{self, BearersConfig, HasBearers};
use super::cells::{self, CellsConfig, HasCells};
use super::{Common, ConfigText, busy_poll};
use crate::config::Element;
use crate::grammar::common::OPERATING;
use crate::grammar::{Action, Args, CommandError, Commands, Edit, Grammar, Node, Problem};

/// An access point, as an element of the VTY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessPoint;

/// Mobiles at a time, where nothing else is said.
const MOBILES: u32 = 1000;

/// What an access point is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApConfig {
    /// What every element has.
    pub common: Common,
    /// The cells.
    pub gb: CellsConfig,
    /// The links, and keys of mobiles.
    pub bearers: BearersConfig,
    /// Mobiles at a time, and keys of mobiles.
    pub mobiles: u32,
    /// Mobiles without authentication are refused.
    pub demands_authentication: bool,
}

impl Default for ApConfig {
    fn default() -> Self {
        Self {
            common: Common::default(),
            gb: CellsConfig::default(),
            bearers: BearersConfig::default(),
            mobiles: MOBILES,
            demands_authentication: false,
        }
    }
}

/// What an operator asks of an access point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApOperation {
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
    /// `ns reset`: all NS-VCs are reset.
    ResetNs,
}

impl HasCells for ApConfig {
    fn cells_mut(&mut self) -> &mut CellsConfig {
        &mut self.gb
    }
}

impl HasBearers for ApConfig {
    fn bearers_mut(&mut self) -> &mut BearersConfig {
        &mut self.bearers
    }
}

impl Commands for AccessPoint {
    type Config = ApConfig;
    type Operation = ApOperation;
}

impl Element for AccessPoint {
    const NAME: &'static str = "ap";
    const VTY_PORT: u16 = 4295;
    const CTRL_PORT: u16 = 4296;

    fn common(config: &ApConfig) -> &Common {
        &config.common
    }

    fn common_mut(config: &mut ApConfig) -> &mut Common {
        &mut config.common
    }

    fn install(grammar: &mut Grammar<Self>) {
        let enter = Action::<Self>::Enter(Node::Ap, |_| Ok(String::new()));
        grammar.add(&[Node::Config], "ap", "An access point", enter);
        cells::install(grammar, Node::Ap);
        bearers::install(grammar, Node::Ap);
        busy_poll::install(grammar, Node::Ap);
        install_mobiles(grammar);
        install_operations(grammar);
    }

    fn write(config: &ApConfig, text: &mut ConfigText) {
        text.node(format_args!("ap"), |text| {
            cells::write(&config.gb, text);
            bearers::write(&config.bearers, text);
            busy_poll::write(config.common.busy_poll, text);
            text.line(format_args!("mobiles {}", config.mobiles));
            if config.demands_authentication {
                text.line(format_args!("bearer authentication"));
            }
        });
    }

    fn problems(config: &ApConfig) -> Vec<Problem> {
        let mut problems = config.gb.problems(Node::Ap);
        let (links, cells) = (config.bearers.links.len(), usize::from(config.gb.cells.count));
        if links == 0 {
            let text = "an access point has a link or more: add 'bearer ethernet DEVICE' under 'ap'";
            problems.push(Problem::incomplete(Node::Ap, text));
        } else if links != cells {
            let text = format!(
                "each link is a cell, and there are {links} links and {cells} cells: add 'cells {links}'"
            );
            problems.push(Problem::incomplete(Node::Ap, text));
        }
        if config.demands_authentication && config.bearers.key.is_none() {
            let text = "'bearer authentication' lets nobody in without keys: add 'bearer key id N key HEX'";
            problems.push(Problem::incomplete(Node::Ap, text));
        }
        problems
    }
}

fn install_mobiles(grammar: &mut Grammar<AccessPoint>) {
    let mut set =
        |pattern: &'static str, help: &str, set: fn(&mut Edit<'_, ApConfig>) -> Result<(), CommandError>| {
            grammar.add(&[Node::Ap], pattern, help, Action::<AccessPoint>::Set(set));
        };
    set("mobiles <1-100000>", "Mobiles at a time, and keys of mobiles\nHow many", |edit| {
        edit.config.mobiles = edit.args.value(0)?;
        Ok(())
    });
    let help = "Links by which mobiles and access points reach each other\nMobiles without authentication are refused";
    set("bearer authentication", help, |edit| {
        edit.config.demands_authentication = true;
        Ok(())
    });
    set("no bearer authentication", &format!("Take back\n{help}"), |edit| {
        edit.config.demands_authentication = false;
        Ok(())
    });
}

fn install_operations(grammar: &mut Grammar<AccessPoint>) {
    use ApOperation::{ResetNs, ShowBssgp, ShowCells, ShowDrops, ShowNs};
    type Parsed = Result<ApOperation, CommandError>;
    let mut show = |pattern: &'static str, help: &str, parse: fn(&Args) -> Parsed| {
        let help = format!("Show the state of the node\n{help}");
        grammar.add(OPERATING, pattern, &help, Action::<AccessPoint>::Operate(parse));
    };
    show("show cells", "Cells: identities, state, flow control", |_| Ok(ShowCells));
    show("show ns [stats]", "The network service: NSEs and NS-VCs\nWith counters", |args| {
        Ok(ShowNs { stats: args.get(0).is_some() })
    });
    show("show bssgp [stats]", "BVCs: state, flow control, queues\nWith counters", |args| {
        Ok(ShowBssgp { stats: args.get(0).is_some() })
    });
    show("show drops", "What was dropped or refused, by name", |_| Ok(ShowDrops));
    let reset = Action::<AccessPoint>::Operate(|_| Ok(ResetNs));
    grammar.add(&[Node::Enable], "ns reset", "The network service\nReset every NS-VC", reset);
}
