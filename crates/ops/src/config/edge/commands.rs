//! The commands of the edge router, and how its configuration is written.

use super::{EdgeConfig, EdgeOperation, EdgeRouter, InterfaceConfig};
use crate::config::streams::commands::{self, HasLine, HasRules, Rules};
use crate::config::streams::{FLOWS, LineConfig, Rule};
use crate::config::{ConfigText, busy_poll};
use crate::grammar::common::OPERATING;
use crate::grammar::{Action, Args, CommandError, Edit, Grammar, Node};

type EdgeEdit<'a> = Edit<'a, EdgeConfig>;

/// Writes the node `edge`.
pub(super) fn write(config: &EdgeConfig, text: &mut ConfigText) {
    let is_empty = *config == (EdgeConfig { common: config.common.clone(), ..EdgeConfig::default() });
    if is_empty && config.common.busy_poll.is_none() {
        return;
    }
    text.node(format_args!("edge"), |text| {
        super::user_plane::write(config, text);
        busy_poll::write(config.common.busy_poll, text);
        if config.flows != FLOWS {
            text.line(format_args!("flows {}", config.flows));
        }
        for interface in &config.interfaces {
            text.node(format_args!("interface {}", interface.name), |text| {
                commands::write_line(&interface.line, text);
            });
        }
        commands::write_rules(&config.rules, text);
    });
}

impl HasLine for EdgeConfig {
    fn line<'e>(edit: &'e mut EdgeEdit<'_>) -> Result<&'e mut LineConfig, CommandError> {
        let name = edit.here().to_owned();
        let interface = edit.config.interfaces.iter_mut().find(|interface| interface.name == name);
        interface
            .map(|interface| &mut interface.line)
            .ok_or_else(|| CommandError(format!("interface {name} is gone.")))
    }
}

impl HasRules for EdgeConfig {
    fn rules<'e>(edit: &'e mut EdgeEdit<'_>) -> Result<Rules<'e>, CommandError> {
        Ok(Rules { flows: &mut edit.config.flows, rules: &mut edit.config.rules })
    }

    fn check(rule: &Rule) -> Result<(), CommandError> {
        let of_ggsn = [("apn", &rule.access_point), ("group", &rule.group)];
        match of_ggsn.into_iter().find(|(_, name)| name.is_some()) {
            Some((word, _)) => Err(CommandError(format!(
                "'{word}' is a condition of a GGSN: an edge router knows no subscriber of a packet."
            ))),
            None => Ok(()),
        }
    }
}

/// All commands.
pub(super) fn install(grammar: &mut Grammar<EdgeRouter>) {
    super::user_plane::install(grammar);
    busy_poll::install(grammar, Node::Edge);
    install_router(grammar);
    commands::install_rules(grammar, Node::Edge, "in INTERFACE");
    commands::install_line(grammar, Node::EdgeInterface);
    install_show(grammar);
}

fn install_router(grammar: &mut Grammar<EdgeRouter>) {
    let enter = Action::<EdgeRouter>::Enter(Node::Edge, |_| Ok("edge".to_owned()));
    grammar.add(&[Node::Config], "edge", "The edge router", enter);
    grammar.add(
        &[Node::Edge],
        "interface NAME",
        "An interface between which packets are forwarded\nIts name in the system",
        Action::<EdgeRouter>::Enter(Node::EdgeInterface, |edit| {
            let name = edit.args.text(0);
            // The kernel's names have 15 octets at most.
            if name.len() > 15 {
                return Err(CommandError(format!(
                    "'{name}' is no name of an interface: it has more than 15 octets."
                )));
            }
            if !edit.config.interfaces.iter().any(|interface| interface.name == name) {
                let (name, line) = (name.to_owned(), LineConfig::default());
                edit.config.interfaces.push(InterfaceConfig { name, line });
            }
            Ok(name.to_owned())
        }),
    );
    grammar.add(
        &[Node::Edge],
        "no interface NAME",
        "Take back\nAn interface\nIts name",
        Action::<EdgeRouter>::Set(|edit| {
            let name = edit.args.text(0);
            edit.config.interfaces.retain(|interface| interface.name != name);
            Ok(())
        }),
    );
}

fn install_show(grammar: &mut Grammar<EdgeRouter>) {
    type Parse = fn(&Args) -> Result<EdgeOperation, CommandError>;
    let commands: [(&'static str, &str, Parse); 5] = [
        ("show edge", "What was forwarded, and how it was classified", |_| Ok(EdgeOperation::ShowEdge)),
        ("show streams", "The streams of each interface", |_| Ok(EdgeOperation::ShowStreams)),
        ("show rules", "The rules in force", |_| Ok(EdgeOperation::ShowRules)),
        ("show user-plane", "How packets come and leave, and what the driver did with them", |_| {
            Ok(EdgeOperation::ShowUserPlane)
        }),
        ("show drops", "What was dropped, by name", |_| Ok(EdgeOperation::ShowDrops)),
    ];
    for (pattern, help, parse) in commands {
        let help = format!("Show what is there\n{help}");
        grammar.add(OPERATING, pattern, &help, Action::<EdgeRouter>::Operate(parse));
    }
}
