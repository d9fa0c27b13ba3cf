//! Queues of streams at access points, rules for them, and groups of subscribers that rules name.

use super::edit::{GgsnEdit, apn_here, ggsn_here, set};
use super::{ApnConfig, GgsnConfig, GgsnInstance};
use crate::Ggsn;
use crate::config::ConfigText;
use crate::config::streams::commands::{self, HasLine, HasRules, Rules};
use crate::config::streams::{FLOWS, ImsiRange, LineConfig, Outcome, Rule};
use crate::grammar::{Action, CommandError, Grammar, Node, Problem};

/// Groups of subscribers of a GGSN at most.
const GROUPS_MAX: usize = 32;
/// The interfaces of rules.
const INTERFACES: [&str; 2] = ["gn", "gi"];

/// Where a way of an access point leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heading {
    /// To the mobiles, on Gn.
    Downlink,
    /// To the network, on Gi.
    Uplink,
}

impl Heading {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Downlink, Self::Uplink];

    /// The word of the configuration.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Downlink => "downlink",
            Self::Uplink => "uplink",
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|heading| heading.word() == word)
    }
}

/// The lines of an access point. A way without one has neither queues nor rules.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ways {
    /// Towards the mobiles.
    pub downlink: Option<LineConfig>,
    /// Towards the network.
    pub uplink: Option<LineConfig>,
}

impl Ways {
    /// The line of a heading.
    #[must_use]
    pub const fn get(&self, heading: Heading) -> Option<&LineConfig> {
        match heading {
            Heading::Downlink => self.downlink.as_ref(),
            Heading::Uplink => self.uplink.as_ref(),
        }
    }

    const fn get_mut(&mut self, heading: Heading) -> &mut Option<LineConfig> {
        match heading {
            Heading::Downlink => &mut self.downlink,
            Heading::Uplink => &mut self.uplink,
        }
    }

    /// Those that are there.
    pub fn all(&self) -> impl Iterator<Item = (Heading, &LineConfig)> {
        Heading::ALL.into_iter().filter_map(|heading| Some((heading, self.get(heading)?)))
    }
}

impl HasLine for GgsnConfig {
    fn line<'e>(edit: &'e mut GgsnEdit<'_>) -> Result<&'e mut LineConfig, CommandError> {
        let apn = edit.path.get(1).cloned().unwrap_or_default();
        let heading = Heading::of_word(edit.here());
        let ggsn = ggsn_here(edit)?;
        let point = ggsn.apns.iter_mut().find(|of| of.name == apn);
        let line = point.zip(heading).and_then(|(point, heading)| point.ways.get_mut(heading).as_mut());
        line.ok_or_else(|| CommandError(format!("the queues of apn {apn} are gone.")))
    }
}

impl HasRules for GgsnConfig {
    fn rules<'e>(edit: &'e mut GgsnEdit<'_>) -> Result<Rules<'e>, CommandError> {
        ggsn_here(edit).map(|ggsn| Rules { flows: &mut ggsn.flows, rules: &mut ggsn.rules })
    }

    fn check(rule: &Rule) -> Result<(), CommandError> {
        match rule.ingress.as_deref().filter(|name| !INTERFACES.contains(name)) {
            Some(name) => Err(CommandError(format!(
                "'in {name}': a packet comes by gn, of a mobile, or by gi, of the network."
            ))),
            None => Ok(()),
        }
    }
}

/// All commands.
pub(super) fn install(grammar: &mut Grammar<Ggsn>) {
    let help = "Queues of streams, by the words of the edge router\nTowards the mobiles, on Gn\nTowards the network, on Gi";
    let enter = Action::<Ggsn>::Enter(Node::ApnQos, |edit| {
        let word = edit.args.text(0).to_owned();
        let heading = Heading::of_word(&word).ok_or_else(|| CommandError::new("no such way."))?;
        apn_here(edit)?.ways.get_mut(heading).get_or_insert_default();
        Ok(word)
    });
    grammar.add(&[Node::Apn], "qos (downlink|uplink)", help, enter);
    set(grammar, "no qos (downlink|uplink)", &format!("Take back\n{help}"), |edit| {
        let heading = Heading::of_word(edit.args.text(0));
        let heading = heading.ok_or_else(|| CommandError::new("no such way."))?;
        apn_here(edit).map(|apn| *apn.ways.get_mut(heading) = None)
    });
    commands::install_line(grammar, Node::ApnQos);
    commands::install_rules(grammar, Node::Ggsn, "in (gn|gi), apn NAME, group NAME");
    install_groups(grammar);
}

fn install_groups(grammar: &mut Grammar<Ggsn>) {
    let help = "A group of subscribers, for rules\nIts name";
    let enter = Action::<Ggsn>::Enter(Node::SubscriberGroup, |edit| {
        let name = edit.args.text(0).to_owned();
        let groups = &mut ggsn_here(edit)?.groups;
        if groups.len() >= GROUPS_MAX && !groups.contains_key(&name) {
            return Err(CommandError(format!("a GGSN has {GROUPS_MAX} groups of subscribers at most.")));
        }
        groups.entry(name.clone()).or_default();
        Ok(name)
    });
    grammar.add(&[Node::Ggsn], "subscriber-group NAME", help, enter);
    grammar.add(
        &[Node::Ggsn],
        "no subscriber-group NAME",
        &format!("Take back\n{help}"),
        Action::<Ggsn>::Set(|edit| {
            let name = edit.args.text(0).to_owned();
            ggsn_here(edit).map(|ggsn| drop(ggsn.groups.remove(&name)))
        }),
    );
    let help = "Subscribers by the beginning of their IMSIs\nDigits, or two beginnings of the same length with '-' between them";
    grammar.add(
        &[Node::SubscriberGroup],
        "imsi RANGE",
        help,
        Action::<Ggsn>::Set(|edit| {
            let range = range(edit)?;
            let group = group_here(edit)?;
            if !group.contains(&range) {
                group.push(range);
            }
            Ok(())
        }),
    );
    grammar.add(
        &[Node::SubscriberGroup],
        "no imsi RANGE",
        &format!("Take back\n{help}"),
        Action::<Ggsn>::Set(|edit| {
            let range = range(edit)?;
            group_here(edit).map(|group| group.retain(|own| *own != range))
        }),
    );
}

fn range(edit: &GgsnEdit<'_>) -> Result<ImsiRange, CommandError> {
    edit.args.text(0).parse().map_err(|error: String| CommandError(format!("{error}.")))
}

fn group_here<'e>(edit: &'e mut GgsnEdit<'_>) -> Result<&'e mut Vec<ImsiRange>, CommandError> {
    let name = edit.here().to_owned();
    let group = ggsn_here(edit)?.groups.get_mut(&name);
    group.ok_or_else(|| CommandError(format!("subscriber-group {name} is gone.")))
}

/// Writes groups and rules.
pub(super) fn write(ggsn: &GgsnInstance, text: &mut ConfigText) {
    for (name, ranges) in &ggsn.groups {
        text.node(format_args!("subscriber-group {name}"), |text| {
            ranges.iter().for_each(|range| text.line(format_args!("imsi {range}")));
        });
    }
    if ggsn.flows != FLOWS {
        text.line(format_args!("flows {}", ggsn.flows));
    }
    commands::write_rules(&ggsn.rules, text);
}

/// Writes the queues of an access point.
pub(super) fn write_ways(apn: &ApnConfig, text: &mut ConfigText) {
    for (heading, line) in apn.ways.all() {
        text.node(format_args!("qos {}", heading.word()), |text| commands::write_line(line, text));
    }
}

/// Names in rules that nothing has.
pub(super) fn problems(ggsn: &GgsnInstance, problems: &mut Vec<Problem>) {
    let whose = &ggsn.name;
    for (number, rule) in &ggsn.rules {
        if let Some(name) = rule.access_point.as_ref()
            && !ggsn.apns.iter().any(|apn| apn.name == *name)
        {
            let text = format!("ggsn {whose}, rule {number}: the APN {name} is not there: add 'apn {name}'");
            problems.push(Problem::contradiction(Node::Ggsn, text));
        }
        if let Some(name) = rule.group.as_ref().filter(|name| !ggsn.groups.contains_key(*name)) {
            let text = format!(
                "ggsn {whose}, rule {number}: the group {name} is not there: add 'subscriber-group {name}'"
            );
            problems.push(Problem::contradiction(Node::Ggsn, text));
        }
        let mut lines = ggsn.apns.iter().flat_map(|apn| apn.ways.all());
        if let Outcome::Stream(name) = &rule.outcome
            && !lines.any(|(_, line)| line.streams.contains_key(name))
        {
            let text = format!(
                "ggsn {whose}, rule {number}: no access point has the stream {name}: add 'stream {name} af rate KBPS' under a 'qos'"
            );
            problems.push(Problem::incomplete(Node::ApnQos, text));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{EdgeRouter, Ggsn, config};

    const FILE: &str = "ggsn x\n gtp bind-ip 127.0.0.2\n subscriber-group gold\n  imsi 26201\n  imsi 001010000000001-001010000000009\n \
                        rule 10 in gi apn a group gold protocol udp stream voice mark 46\n rule 20 drop\n apn a\n  tun-device tun0\n  \
                        ip prefix dynamic 10.1.0.0/16\n  qos downlink\n   rate 2000\n   pool af 60000\n   stream voice ef rate 100 burst 3000\n  \
                        qos uplink\n  no shutdown\n no shutdown ggsn\n";

    fn said(from: &str, to: &str) -> String {
        let text = FILE.replace(from, to);
        assert_ne!(text, FILE);
        config::read::<Ggsn>("x", &text).map_or_else(|errors| errors.to_string(), |_| String::new())
    }

    #[test]
    fn queues_groups_and_rules_are_written_as_they_are_read() {
        let read = config::read::<Ggsn>("x", FILE).unwrap().config;
        let ways = &read.ggsns[0].apns[0].ways;
        assert_eq!(ways.downlink.as_ref().unwrap().pools, [50_000, 60_000]);
        assert_eq!(ways.uplink, Some(crate::config::streams::LineConfig::default()));
        let text = config::write::<Ggsn>(&read);
        assert_eq!(config::read::<Ggsn>("x", &text).unwrap().config, read, "{text}");
        for line in FILE.lines().filter(|line| !line.contains("shutdown")) {
            assert!(text.lines().any(|own| own.trim() == line.trim()), "{line}: {text}");
        }
    }

    #[test]
    fn names_that_are_not_there_are_told() {
        assert!(said("apn a group", "apn b group").contains("rule 10: the APN b is not there"));
        assert!(said("group gold p", "group silver p").contains("rule 10: the group silver is not there"));
        assert!(
            said("stream voice mark", "stream other mark").contains("no access point has the stream other")
        );
        assert!(said("in gi", "in wan").contains("a packet comes by gn"));
        assert!(said("imsi 26201", "imsi 2620x").contains("no beginning of an IMSI"));
    }

    #[test]
    fn an_edge_router_knows_no_subscribers() {
        for condition in ["apn a", "group gold"] {
            let text = format!("edge\n interface a\n interface b\n rule 10 {condition} drop\n");
            let said = config::read::<EdgeRouter>("x", &text).unwrap_err().to_string();
            assert!(said.contains("is a condition of a GGSN"), "{said}");
        }
    }
}
