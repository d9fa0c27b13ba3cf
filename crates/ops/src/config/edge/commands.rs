//! The commands of the edge router, and how its configuration is written.

use super::{
    Accounting, EF_WEIGHT, EdgeConfig, EdgeOperation, EdgeRouter, FLOWS, InterfaceConfig, OVERHEAD, POOL,
    Rule, Service, Sharing, StreamConfig,
};
use crate::config::ConfigText;
use crate::grammar::common::OPERATING;
use crate::grammar::{Action, Args, CommandError, Edit, Grammar, Node};

type EdgeEdit<'a> = Edit<'a, EdgeConfig>;

/// Writes the node `edge`.
pub(super) fn write(config: &EdgeConfig, text: &mut ConfigText) {
    if *config == (EdgeConfig { common: config.common.clone(), ..EdgeConfig::default() }) {
        return;
    }
    text.node(format_args!("edge"), |text| {
        super::user_plane::write(config, text);
        if config.flows != FLOWS {
            text.line(format_args!("flows {}", config.flows));
        }
        for interface in &config.interfaces {
            write_interface(interface, text);
        }
        for (number, rule) in &config.rules {
            text.line(format_args!("rule {number} {rule}"));
        }
    });
}

fn write_interface(interface: &InterfaceConfig, text: &mut ConfigText) {
    text.node(format_args!("interface {}", interface.name), |text| {
        if let Some(rate) = interface.rate_kbps {
            text.line(format_args!("rate {rate}"));
        }
        if interface.overhead != OVERHEAD {
            text.line(format_args!("overhead {}", interface.overhead));
        }
        for (word, octets) in ["ef", "af"].into_iter().zip(interface.pools) {
            if octets != POOL {
                text.line(format_args!("pool {word} {octets}"));
            }
        }
        if interface.ef_weight != EF_WEIGHT {
            text.line(format_args!("ef-weight {}", interface.ef_weight));
        }
        if let Accounting::BuffSize(octets) = interface.accounting {
            text.line(format_args!("accounting buff-size {octets}"));
        }
        if interface.sharing == Sharing::Resulting {
            text.line(format_args!("sharing resulting"));
        }
        for (name, stream) in &interface.streams {
            text.line(format_args!("stream {name} {stream}"));
        }
    });
}

fn here<'e>(edit: &'e mut EdgeEdit<'_>) -> Result<&'e mut InterfaceConfig, CommandError> {
    let name = edit.here().to_owned();
    let interface = edit.config.interfaces.iter_mut().find(|interface| interface.name == name);
    interface.ok_or_else(|| CommandError(format!("interface {name} is gone.")))
}

/// All commands.
pub(super) fn install(grammar: &mut Grammar<EdgeRouter>) {
    super::user_plane::install(grammar);
    install_router(grammar);
    install_rules(grammar);
    install_line(grammar);
    install_pools(grammar);
    install_streams(grammar);
    install_show(grammar);
}

fn install_router(grammar: &mut Grammar<EdgeRouter>) {
    let enter = Action::<EdgeRouter>::Enter(Node::Edge, |_| Ok("edge".to_owned()));
    grammar.add(&[Node::Config], "edge", "The edge router", enter);
    grammar.add(
        &[Node::Edge],
        "flows <2-16777216>",
        "Flows that the fast path remembers\nTheir number",
        Action::<EdgeRouter>::Set(|edit| {
            edit.config.flows = edit.args.value(0)?;
            Ok(())
        }),
    );
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
                edit.config.interfaces.push(InterfaceConfig::new(name));
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

fn install_rules(grammar: &mut Grammar<EdgeRouter>) {
    grammar.add(
        &[Node::Edge],
        "rule <1-1000000> .WORDS",
        "A rule: the first that holds, in the order of their numbers, says what becomes of a packet\nIts number\n\
         Conditions: in INTERFACE, from PREFIX, to PREFIX, protocol (tcp|udp|icmp|icmpv6|<0-255>), source-port P[-P], destination-port P[-P], dscp <0-63>; then stream NAME, best-effort or drop; mark <0-63> sets the code point",
        Action::<EdgeRouter>::Set(|edit| {
            let rule: Rule =
                edit.args.text(1).parse().map_err(|error: String| CommandError(format!("{error}.")))?;
            edit.config.rules.insert(edit.args.value(0)?, rule);
            Ok(())
        }),
    );
    grammar.add(
        &[Node::Edge],
        "no rule <1-1000000>",
        "Take back\nA rule\nIts number",
        Action::<EdgeRouter>::Set(|edit| {
            let number = edit.args.value(0)?;
            edit.config.rules.remove(&number);
            Ok(())
        }),
    );
}

fn install_line(grammar: &mut Grammar<EdgeRouter>) {
    let interface = &[Node::EdgeInterface];
    grammar.add(
        interface,
        "rate <1-10000000>",
        "The rate of the line behind it, by which packets leave\nIn kbit/s",
        Action::<EdgeRouter>::Set(|edit| {
            let rate = edit.args.value(0)?;
            here(edit).map(|interface| interface.rate_kbps = Some(rate))
        }),
    );
    grammar.add(
        interface,
        "no rate",
        "Take back\nThe rate of the line: packets leave at once",
        Action::<EdgeRouter>::Set(|edit| here(edit).map(|interface| interface.rate_kbps = None)),
    );
    grammar.add(
        interface,
        "overhead <0-1000>",
        "What the line adds to each IP packet\nIn octets; 38 is that of Ethernet",
        Action::<EdgeRouter>::Set(|edit| {
            let octets = edit.args.value(0)?;
            here(edit).map(|interface| interface.overhead = octets)
        }),
    );
    grammar.add(
        interface,
        "ef-weight <1-99>",
        "The share of the line that EF may have before others\nIn per cent",
        Action::<EdgeRouter>::Set(|edit| {
            let weight = edit.args.value(0)?;
            here(edit).map(|interface| interface.ef_weight = weight)
        }),
    );
}

fn install_pools(grammar: &mut Grammar<EdgeRouter>) {
    let interface = &[Node::EdgeInterface];
    grammar.add(
        interface,
        "pool (ef|af) <1500-1000000000>",
        "The buffers of a queue\nThe queue of EF\nThe queue of AF, network control and best effort\nIn octets",
        Action::<EdgeRouter>::Set(|edit| {
            let place = usize::from(edit.args.text(0) == "af");
            let octets = edit.args.value(1)?;
            let pool = here(edit)?.pools.get_mut(place).ok_or_else(|| CommandError::new("no such queue."))?;
            *pool = octets;
            Ok(())
        }),
    );
    grammar.add(
        interface,
        "accounting exact",
        "How pools are counted\nA packet counts its octets",
        Action::<EdgeRouter>::Set(|edit| {
            here(edit).map(|interface| interface.accounting = Accounting::Exact)
        }),
    );
    grammar.add(
        interface,
        "accounting buff-size <20-9000>",
        "How pools are counted\nA packet counts at least a whole buffer\nOctets of a buffer",
        Action::<EdgeRouter>::Set(|edit| {
            let octets = edit.args.value(0)?;
            here(edit).map(|interface| interface.accounting = Accounting::BuffSize(octets))
        }),
    );
    grammar.add(
        interface,
        "sharing (present|resulting)",
        "Which packet that exceeds its stream's allocation is taken\n\
         One of a stream that occupies no more of the shared buffers than are free\n\
         One with which its stream occupies no more of them than are free then",
        Action::<EdgeRouter>::Set(|edit| {
            let is_present = edit.args.text(0) == "present";
            let sharing = if is_present { Sharing::Present } else { Sharing::Resulting };
            here(edit).map(|interface| interface.sharing = sharing)
        }),
    );
}

fn install_streams(grammar: &mut Grammar<EdgeRouter>) {
    let interface = &[Node::EdgeInterface];
    let words = "A stream, to which rules name it\nIts name\nExpedited forwarding: a short delay, policed to its rate\n\
                 Assured forwarding: its rate, and a share of what is left\nNetwork control: in the queue of AF, with its rate\n\
                 Best effort, with its rate as a floor\nWhat is reserved for it\nIn kbit/s";
    let set = |edit: &mut EdgeEdit<'_>| {
        let name = edit.args.text(0).to_owned();
        let service =
            Service::of_word(edit.args.text(1)).ok_or_else(|| CommandError::new("no such service."))?;
        let (rate_kbps, burst) = (edit.args.value(2)?, edit.args.optional(3)?.unwrap_or(0));
        here(edit)?.streams.insert(name, StreamConfig { service, rate_kbps, burst });
        Ok(())
    };
    let pattern = "stream NAME (ef|af|control|be) rate <0-10000000>";
    grammar.add(interface, pattern, words, Action::<EdgeRouter>::Set(set));
    grammar.add(
        interface,
        "stream NAME (ef|af|control|be) rate <0-10000000> burst <0-100000000>",
        &format!("{words}\nAllocated besides, for bursts\nIn octets"),
        Action::<EdgeRouter>::Set(set),
    );
    grammar.add(
        interface,
        "no stream NAME",
        "Take back\nA stream\nIts name",
        Action::<EdgeRouter>::Set(|edit| {
            let name = edit.args.text(0).to_owned();
            here(edit)?.streams.remove(&name);
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
