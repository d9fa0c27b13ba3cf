//! The edge router: its configuration, and what an operator can ask of it.

mod commands;
mod user_plane;

pub use user_plane::UserPlane;

use super::streams::{FLOWS, LineConfig, Outcome, Rule};
use super::{Common, ConfigText};
use crate::config::Element;
use crate::grammar::{Commands, Grammar, Node, Problem};
use std::collections::BTreeMap;

/// The edge router, as an element of the VTY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EdgeRouter;

/// What a process is told: its interfaces and rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeConfig {
    /// What every element has.
    pub common: Common,
    /// How packets come and leave.
    pub user_plane: UserPlane,
    /// Flows that the fast path remembers.
    pub flows: u32,
    /// The interfaces, in their order in the file.
    pub interfaces: Vec<InterfaceConfig>,
    /// The rules by their numbers.
    pub rules: BTreeMap<u32, Rule>,
}

impl Default for EdgeConfig {
    fn default() -> Self {
        Self {
            common: Common::default(),
            user_plane: UserPlane::default(),
            flows: FLOWS,
            interfaces: Vec::new(),
            rules: BTreeMap::new(),
        }
    }
}

/// One interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfaceConfig {
    /// Its name in the system.
    pub name: String,
    /// The line behind it.
    pub line: LineConfig,
}

/// What an operator asks of an edge router.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EdgeOperation {
    /// `show edge`: what was forwarded, and how the classifier found it.
    ShowEdge,
    /// `show streams`: each stream at each interface.
    ShowStreams,
    /// `show rules`: the rules in force.
    ShowRules,
    /// `show user-plane`: how packets come and leave.
    ShowUserPlane,
    /// `show drops`: a [`crate::view::DropCount`] for each.
    ShowDrops,
}

impl Commands for EdgeRouter {
    type Config = EdgeConfig;
    type Operation = EdgeOperation;
}

impl Element for EdgeRouter {
    const NAME: &'static str = "edge";
    const VTY_PORT: u16 = 4297;
    const CTRL_PORT: u16 = 4298;

    fn common(config: &EdgeConfig) -> &Common {
        &config.common
    }

    fn common_mut(config: &mut EdgeConfig) -> &mut Common {
        &mut config.common
    }

    fn install(grammar: &mut Grammar<Self>) {
        commands::install(grammar);
    }

    fn write(config: &EdgeConfig, text: &mut ConfigText) {
        commands::write(config, text);
    }

    fn problems(config: &EdgeConfig) -> Vec<Problem> {
        let mut problems = Vec::new();
        if config.interfaces.len() < 2 {
            let text = "an edge router has two interfaces or more: add 'interface NAME' under 'edge'";
            problems.push(Problem::incomplete(Node::Edge, text));
        }
        for (number, rule) in &config.rules {
            let is_there = |name: &String| config.interfaces.iter().any(|interface| interface.name == *name);
            if let Some(name) = rule.ingress.as_ref().filter(|name| !is_there(name)) {
                let text =
                    format!("rule {number}: the interface {name} is not there: add 'interface {name}'");
                problems.push(Problem::contradiction(Node::Edge, text));
            }
            if let Outcome::Stream(stream) = &rule.outcome
                && !config.interfaces.iter().any(|interface| interface.line.streams.contains_key(stream))
            {
                let text = format!(
                    "rule {number}: no interface has the stream {stream}: add 'stream {stream} af rate KBPS' under one"
                );
                problems.push(Problem::incomplete(Node::EdgeInterface, text));
            }
        }
        problems
    }
}
