//! The commands of lines and rules, at whatever node of a configuration they stand, and how these are written.

use super::{Accounting, EF_WEIGHT, LineConfig, OVERHEAD, POOL, Rule, Service, Sharing, StreamConfig, rule};
use crate::config::ConfigText;
use crate::grammar::{Action, CommandError, Commands, Edit, Grammar, Node};
use std::collections::BTreeMap;

/// A configuration with lines.
pub trait HasLine: Sized {
    /// The line that the command that is carried out concerns.
    ///
    /// # Errors
    /// Where it is gone.
    fn line<'e>(edit: &'e mut Edit<'_, Self>) -> Result<&'e mut LineConfig, CommandError>;
}

/// What a place of the configuration has for rules.
pub struct Rules<'e> {
    /// Flows that the fast path remembers.
    pub flows: &'e mut u32,
    /// The rules by their numbers.
    pub rules: &'e mut BTreeMap<u32, Rule>,
}

/// A configuration with rules.
pub trait HasRules: Sized {
    /// The rules that the command that is carried out concerns.
    ///
    /// # Errors
    /// Where their place is gone.
    fn rules<'e>(edit: &'e mut Edit<'_, Self>) -> Result<Rules<'e>, CommandError>;

    /// Such a rule can hold here.
    ///
    /// # Errors
    /// Why it cannot.
    fn check(rule: &Rule) -> Result<(), CommandError>;
}

/// Writes rules.
pub fn write_rules(rules: &BTreeMap<u32, Rule>, text: &mut ConfigText) {
    for (number, rule) in rules {
        text.line(format_args!("rule {number} {}", rule::Text(rule)));
    }
}

/// Writes what a line has.
pub fn write_line(line: &LineConfig, text: &mut ConfigText) {
    if let Some(rate) = line.rate_kbps {
        text.line(format_args!("rate {rate}"));
    }
    if line.overhead != OVERHEAD {
        text.line(format_args!("overhead {}", line.overhead));
    }
    for (word, octets) in ["ef", "af"].into_iter().zip(line.pools) {
        if octets != POOL {
            text.line(format_args!("pool {word} {octets}"));
        }
    }
    if line.ef_weight != EF_WEIGHT {
        text.line(format_args!("ef-weight {}", line.ef_weight));
    }
    if let Accounting::BuffSize(octets) = line.accounting {
        text.line(format_args!("accounting buff-size {octets}"));
    }
    if line.sharing == Sharing::Resulting {
        text.line(format_args!("sharing resulting"));
    }
    for (name, stream) in &line.streams {
        text.line(format_args!("stream {name} {stream}"));
    }
}

/// The commands of rules. `here` has the conditions that hold for packets of this node alone.
pub fn install_rules<E: Commands>(grammar: &mut Grammar<E>, node: Node, here: &str)
where
    E::Config: HasRules,
{
    grammar.add(
        &[node],
        "flows <2-16777216>",
        "Flows that the fast path remembers\nTheir number",
        Action::<E>::Set(|edit| {
            let flows = edit.args.value(0)?;
            E::Config::rules(edit).map(|rules| *rules.flows = flows)
        }),
    );
    let help = format!(
        "A rule: the first that holds, in the order of their numbers, says what becomes of a packet\nIts number\n\
         Conditions: {here}, from PREFIX, to PREFIX, protocol (tcp|udp|icmp|icmpv6|<0-255>), source-port P[-P], destination-port P[-P], \
         dscp <0-63>; then stream NAME, best-effort or drop; mark <0-63> sets the code point"
    );
    grammar.add(
        &[node],
        "rule <1-1000000> .WORDS",
        &help,
        Action::<E>::Set(|edit| {
            let rule = rule::parse(edit.args.text(1)).map_err(|error| CommandError(format!("{error}.")))?;
            E::Config::check(&rule)?;
            let number = edit.args.value(0)?;
            E::Config::rules(edit)?.rules.insert(number, rule);
            Ok(())
        }),
    );
    grammar.add(
        &[node],
        "no rule <1-1000000>",
        "Take back\nA rule\nIts number",
        Action::<E>::Set(|edit| {
            let number: u32 = edit.args.value(0)?;
            E::Config::rules(edit)?.rules.remove(&number);
            Ok(())
        }),
    );
}

/// The commands of a line.
pub fn install_line<E: Commands>(grammar: &mut Grammar<E>, node: Node)
where
    E::Config: HasLine,
{
    install_rate(grammar, node);
    install_pools(grammar, node);
    install_streams(grammar, node);
}

fn install_rate<E: Commands>(grammar: &mut Grammar<E>, node: Node)
where
    E::Config: HasLine,
{
    let line = &[node];
    grammar.add(
        line,
        "rate <1-10000000>",
        "The rate of the line behind it, by which packets leave\nIn kbit/s",
        Action::<E>::Set(|edit| {
            let rate = edit.args.value(0)?;
            E::Config::line(edit).map(|line| line.rate_kbps = Some(rate))
        }),
    );
    grammar.add(
        line,
        "no rate",
        "Take back\nThe rate of the line: packets leave at once",
        Action::<E>::Set(|edit| E::Config::line(edit).map(|line| line.rate_kbps = None)),
    );
    grammar.add(
        line,
        "overhead <0-1000>",
        "What the line adds to each IP packet\nIn octets; 38 is that of Ethernet",
        Action::<E>::Set(|edit| {
            let octets = edit.args.value(0)?;
            E::Config::line(edit).map(|line| line.overhead = octets)
        }),
    );
    grammar.add(
        line,
        "ef-weight <1-99>",
        "The share of the line that EF may have before others\nIn per cent",
        Action::<E>::Set(|edit| {
            let weight = edit.args.value(0)?;
            E::Config::line(edit).map(|line| line.ef_weight = weight)
        }),
    );
}

fn install_pools<E: Commands>(grammar: &mut Grammar<E>, node: Node)
where
    E::Config: HasLine,
{
    let line = &[node];
    grammar.add(
        line,
        "pool (ef|af) <1500-1000000000>",
        "The buffers of a queue\nThe queue of EF\nThe queue of AF, network control and best effort\nIn octets",
        Action::<E>::Set(|edit| {
            let place = usize::from(edit.args.text(0) == "af");
            let octets = edit.args.value(1)?;
            let pool = E::Config::line(edit)?.pools.get_mut(place).ok_or_else(|| CommandError::new("no such queue."))?;
            *pool = octets;
            Ok(())
        }),
    );
    grammar.add(
        line,
        "accounting exact",
        "How pools are counted\nA packet counts its octets",
        Action::<E>::Set(|edit| E::Config::line(edit).map(|line| line.accounting = Accounting::Exact)),
    );
    grammar.add(
        line,
        "accounting buff-size <20-9000>",
        "How pools are counted\nA packet counts at least a whole buffer\nOctets of a buffer",
        Action::<E>::Set(|edit| {
            let octets = edit.args.value(0)?;
            E::Config::line(edit).map(|line| line.accounting = Accounting::BuffSize(octets))
        }),
    );
    grammar.add(
        line,
        "sharing (present|resulting)",
        "Which packet that exceeds its stream's allocation is taken\n\
         One of a stream that occupies no more of the shared buffers than are free\n\
         One with which its stream occupies no more of them than are free then",
        Action::<E>::Set(|edit| {
            let is_present = edit.args.text(0) == "present";
            let sharing = if is_present { Sharing::Present } else { Sharing::Resulting };
            E::Config::line(edit).map(|line| line.sharing = sharing)
        }),
    );
}

fn install_streams<E: Commands>(grammar: &mut Grammar<E>, node: Node)
where
    E::Config: HasLine,
{
    let line = &[node];
    let words = "A stream, to which rules name it\nIts name\nExpedited forwarding: a short delay, policed to its rate\n\
                 Assured forwarding: its rate, and a share of what is left\nNetwork control: in the queue of AF, with its rate\n\
                 Best effort, with its rate as a floor\nWhat is reserved for it\nIn kbit/s";
    let set = |edit: &mut Edit<'_, E::Config>| {
        let name = edit.args.text(0).to_owned();
        let service =
            Service::of_word(edit.args.text(1)).ok_or_else(|| CommandError::new("no such service."))?;
        let (rate_kbps, burst) = (edit.args.value(2)?, edit.args.optional(3)?.unwrap_or(0));
        E::Config::line(edit)?.streams.insert(name, StreamConfig { service, rate_kbps, burst });
        Ok(())
    };
    let pattern = "stream NAME (ef|af|control|be) rate <0-10000000>";
    grammar.add(line, pattern, words, Action::<E>::Set(set));
    grammar.add(
        line,
        "stream NAME (ef|af|control|be) rate <0-10000000> burst <0-100000000>",
        &format!("{words}\nAllocated besides, for bursts\nIn octets"),
        Action::<E>::Set(set),
    );
    grammar.add(
        line,
        "no stream NAME",
        "Take back\nA stream\nIts name",
        Action::<E>::Set(|edit| {
            let name = edit.args.text(0).to_owned();
            E::Config::line(edit)?.streams.remove(&name);
            Ok(())
        }),
    );
}
