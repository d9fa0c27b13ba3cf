//! Which commands of osmo-sgsn and osmo-ggsn are there, and why each other one is not.
//!
//! `osmo-sgsn.commands` has what `osmo-sgsn --vty-ref-xml` of Debian 12 (1.9.0) prints, `NODE: PATTERN` a line, without Iu;
//! `osmo-ggsn.commands` what `osmo-ggsn --vty-ref-xml` prints (1.9.0, too).
//! A command is there where every line that its pattern permits is a command of ours in the node of the same name. What is
//! refused or has no effect says so in the grammar; what is no command at all has its reason in [`ABSENT`].

use crate::config::Element;
use crate::grammar::pattern::{self, Atom, Token};
use crate::grammar::{Action, Grammar, Node};
use crate::{Ggsn, Sgsn};
use core::fmt::Write as _;
use std::collections::BTreeMap;

/// A command of one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theirs {
    /// The node, as its prompt names it.
    pub node: String,
    /// The pattern.
    pub pattern: String,
}

/// What became of it here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is there.
    There,
    /// Some of its alternatives are there, and others not for this reason.
    Partly(&'static str),
    /// It is taken without effect, for this reason.
    Ignored(&'static str),
    /// It is refused, for this reason.
    Refused(&'static str),
    /// It is no command here, for this reason.
    Absent(&'static str),
    /// Nobody has said.
    Unknown,
}

/// What is no command here: (node or `*`, how the pattern begins, why).
const ABSENT: &[(&str, &str, &str)] = &[
    (
        "*",
        "show vty-attributes",
        "a change holds at once, or the answer says from when on; 'list with-flags' marks changes.",
    ),
    ("*", "logging set-log-mask", "'logging level CATEGORY LEVEL' says the same in more than one step."),
    ("*", "logging filter nse", "lines are chosen by category and level."),
    ("*", "logging filter nsvc", "lines are chosen by category and level."),
    ("*", "logging filter bvc", "lines are chosen by category and level."),
    ("*", "show alarms", "there is no 'log alarms': a session shows the log, and 'log file' keeps it."),
    (
        "*",
        "show talloc-context",
        "memory is not talloc's; 'show sgsn' has the sizes of tables, 'show store' that of the store.",
    ),
    ("enable", "shutdown", "SIGTERM ends the node in order, and 'sh' stays short for 'show'."),
    ("view", "bssgp bvc", "it changes something, so it stands in the enable node."),
];

/// What is no command of our GGSN, beside [`ABSENT`].
const ABSENT_GGSN: &[(&str, &str, &str)] = &[];

/// The commands of osmo-sgsn's list.
pub fn commands() -> impl Iterator<Item = Theirs> {
    listed(include_str!("osmo-sgsn.commands"))
}

/// The commands of osmo-ggsn's list.
pub fn ggsn_commands() -> impl Iterator<Item = Theirs> {
    listed(include_str!("osmo-ggsn.commands"))
}

fn listed(text: &'static str) -> impl Iterator<Item = Theirs> {
    text.lines().filter_map(|line| {
        let (node, pattern) = line.split_once(": ")?;
        Some(Theirs { node: node.to_owned(), pattern: pattern.to_owned() })
    })
}

/// The commands in the answer to `--vty-ref-xml`, without those of Iu.
#[must_use]
pub fn of_xml(xml: &str) -> Vec<Theirs> {
    let attribute = |tag: &str, name: &str| {
        let (_, rest) = tag.split_once(&format!("{name}='"))?;
        rest.split_once('\'').map(|(value, _)| unescaped(value))
    };
    let mut node = String::new();
    let mut all = Vec::new();
    for tag in xml.split('<') {
        if tag.starts_with("node ") {
            node = attribute(tag, "id").unwrap_or_default();
        } else if tag.starts_with("command ")
            && let Some(pattern) = attribute(tag, "id")
        {
            all.push(Theirs { node: node.clone(), pattern });
        }
    }
    all.retain(|theirs| !theirs.is_iu());
    all
}

fn unescaped(text: &str) -> String {
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&apos;", "'"), ("&quot;", "\""), ("&amp;", "&")];
    entities.into_iter().fold(text.to_owned(), |text, (entity, is)| text.replace(entity, is))
}

impl Theirs {
    /// Whether it belongs to the Iu interface: SS7, RANAP, UEA.
    #[must_use]
    pub fn is_iu(&self) -> bool {
        self.node.starts_with("config-cs7")
            || self.pattern.contains("cs7")
            || ["asn1 ", "iu ", "encryption uea "].iter().any(|head| self.pattern.starts_with(head))
    }

    /// Our nodes in which it should be: one, or for what Osmocom has in all nodes the root of the configuration.
    fn nodes(&self) -> Vec<Node> {
        match self.node.as_str() {
            "_common_cmds_" => vec![Node::Enable, Node::Config, Node::Line],
            name => Node::ALL.iter().copied().filter(|node| node.name() == name).collect(),
        }
    }

    /// What became of it.
    #[must_use]
    pub fn fate<E: Element>(&self, grammar: &Grammar<E>) -> Fate {
        let nodes = self.nodes();
        let samples = samples(&self.pattern);
        let of_lines = nodes.iter().flat_map(|node| samples.iter().map(|line| fate_of(grammar, *node, line)));
        let fates: Vec<Fate> = of_lines.collect();
        if fates.is_empty() || fates.contains(&Fate::Unknown) {
            let own = if E::NAME == Ggsn::NAME { ABSENT_GGSN } else { &[] };
            let reason = self.reason_in(own).or_else(|| self.reason_in(ABSENT));
            return reason.map_or(Fate::Unknown, Fate::Absent);
        }
        let is_there = |fate: &Fate| *fate == Fate::There;
        match fates.iter().copied().find(|fate| !is_there(fate)) {
            None => Fate::There,
            Some(Fate::Ignored(why) | Fate::Refused(why)) if fates.iter().any(is_there) => Fate::Partly(why),
            Some(fate) => fate,
        }
    }

    fn reason_in(&self, reasons: &[(&str, &str, &'static str)]) -> Option<&'static str> {
        let is_it = |(node, head, _): &&(&str, &str, &'static str)| {
            (*node == "*" || *node == self.node) && self.pattern.starts_with(head)
        };
        reasons.iter().find(is_it).map(|(_, _, why)| *why)
    }
}

fn fate_of<E: Element>(grammar: &Grammar<E>, node: Node, line: &[String]) -> Fate {
    let words: Vec<&str> = line.iter().map(String::as_str).collect();
    let Ok((command, _)) = grammar.find(node, &words) else { return Fate::Unknown };
    match command.action() {
        Action::Ignore(why) => Fate::Ignored(why),
        Action::Refuse(why) => Fate::Refused(why),
        Action::Session(_)
        | Action::Set(_)
        | Action::Enter(..)
        | Action::Show(_)
        | Action::Statistics(_)
        | Action::Operate(_) => Fate::There,
    }
}

/// Lines that a pattern permits: each alternative of each place once, with all optional words and with none.
#[must_use]
pub fn samples(pattern: &str) -> Vec<Vec<String>> {
    // Osmocom has blanks within some alternatives.
    let pattern = pattern.replace(" | ", "|").replace("|)", ")");
    let tokens = pattern::parse(&pattern);
    let line = |varied: usize, atom: usize, optional: bool| -> Vec<String> {
        let wanted = tokens.iter().enumerate().filter(|(_, token)| optional || !token.optional);
        let word = |(place, token): (usize, &Token)| {
            token.atoms.get(if place == varied { atom } else { 0 }).map(sample)
        };
        wanted.filter_map(word).collect()
    };
    let each = tokens
        .iter()
        .enumerate()
        .flat_map(|(place, token)| (0..token.atoms.len()).map(move |atom| (place, atom)));
    let mut all: Vec<_> = each.map(|(place, atom)| line(place, atom, true)).collect();
    all.push(line(usize::MAX, 0, false));
    all.dedup();
    all
}

/// A word that fits.
fn sample(atom: &Atom) -> String {
    match atom {
        Atom::Word(word) => word.clone(),
        Atom::Range(low, _) => low.to_string(),
        Atom::Ipv4 => "192.0.2.1".to_owned(),
        Atom::Ipv6 => "2001:db8::1".to_owned(),
        Atom::Ipv4Prefix => "192.0.2.0/24".to_owned(),
        Atom::Ipv6Prefix => "2001:db8::/56".to_owned(),
        Atom::Name(name) => match name.as_str() {
            "IMSI" | "IMSIPRE" => "001010000000001".to_owned(),
            "TNNNN" => "T3312".to_owned(),
            "FRACTION" => "1/10".to_owned(),
            "ADDR" | "HOSTNAME" => "192.0.2.1".to_owned(),
            "HEX" => "00112233445566778899aabbccddeeff".to_owned(),
            other => other.to_lowercase(),
        },
        Atom::Rest(_) => "the rest".to_owned(),
    }
}

const HEAD: &str = "
## osmo-sgsn's commands

What `osmo-sgsn --vty-ref-xml` of Debian 12 (1.9.0) lists outside Iu, node by node, and what became of it here. Nodes
have osmo-sgsn's names. Beyond that list, `reset sgsn state` is there, which osmo-sgsn hides.

Its prompt begins with `OsmoSGSN` whatever `hostname` says. Here it begins with what `hostname` says, without it with
`GannetSGSN`, `GannetGGSN` or `GannetBSS`: a script that waits for `OsmoSGSN>` needs the line `hostname OsmoSGSN`.

### What `show` answers

Each line of osmo-sgsn has its labels and its order here. More may follow at the end of a line and between lines.
These differ:

| command | difference |
|---|---|
| `show mm-context`, `show pdp-context` | no `User Data` lines: charging counts user data, and for each context only where it is on |
| `show mm-context`, `show ns … stats`, `show bssgp stats`, `show stats` | `(-/s -/m -/h -/d)` where no rate is taken: all but the groups of the node as a whole |
| `show stats` | no groups of single subscribers and of SIGTRAN. Our own lines, `NAME VALUE`, follow |
| `show subscriber cache` | no authentication vectors, since keys are in them; no `Flags`, no `Use count` |
| `show ns` | of IP-SNS the state in one line, without the names of state machines in memory |
| `show ns binds stats` | no `NS Bind Statistics`, which `show stats` has |
| `show bssgp stats` | no `FC-BVC` of a signalling BVC, which has no bucket (08.18 clause 8.2) |
| `show llc` | no `CKSN`, `Age`, `mD` and `mU`. `State` is that of the link in acknowledged mode. SAPIs 2 and 8 are not served |
| `show sndcp` | no `Defrag` |
| `show timer` | sentences of our own; no X timers |
| `show ns stats`, `show ggsn`, `show subscriber all` and their like | of our own |
";

const HEAD_GGSN: &str = "
## osmo-ggsn's commands

What `osmo-ggsn --vty-ref-xml` of Debian 12 (1.9.0) lists, node by node, and what became of it here. `mtu`, which later versions
have, is there, too. Its prompt begins with `OsmoGGSN` whatever `hostname` says, as osmo-sgsn's does.

Each line that `show pdp-context`, `show ggsn` and `show sgsn` of osmo-ggsn print has its labels and its order here. More may follow at the
end of a line and between lines. These differ:

| command | difference |
|---|---|
| `type-support v4` and a mobile that asks for both versions | it gets IPv4 with cause 129 (new PDP type due to network preference); osmo-ggsn refuses it with cause 220 |
| `type-support v4` and `type-support v6` without `v4v6` | a mobile that asks for both gets IPv4 with cause 130 (single address bearer only) |
| `ip prefix static`, `ipv6 prefix static` | mobiles that ask for an address of it have it; osmo-ggsn says that they are not supported |
| `gtpu-mode kernel-gtp` | the same path serves both modes; a remark at the start says so |
| `ip dns`, `ipv6 dns` and IPCP | what a mobile asks for without knowing it is answered by Configure-Nak (RFC 1877), not by Configure-Ack with other values |
| `show ggsn` | the access points have their devices and pools |
";

/// The tables of all of them, for `docs/vty.md`.
#[must_use]
pub fn table() -> String {
    let mut text = HEAD.to_owned();
    table_of(&mut text, &Grammar::<Sgsn>::new(), commands());
    text.push_str(HEAD_GGSN);
    table_of(&mut text, &Grammar::<Ggsn>::new(), ggsn_commands());
    text
}

fn table_of<E: Element>(text: &mut String, grammar: &Grammar<E>, commands: impl Iterator<Item = Theirs>) {
    let mut there: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut others: Vec<(String, String, Fate)> = Vec::new();
    for theirs in commands {
        match theirs.fate(grammar) {
            Fate::There => there.entry(theirs.node).or_default().push(theirs.pattern),
            fate => others.push((theirs.node, theirs.pattern, fate)),
        }
    }
    let count: usize = there.values().map(Vec::len).sum();
    let _ = write!(text, "\n### There: {count}\n\n");
    for (node, patterns) in there {
        let patterns: Vec<String> =
            patterns.iter().map(|pattern| format!("`{}`", shortened(pattern))).collect();
        let _ = writeln!(text, "- **{node}**: {}", patterns.join(", "));
    }
    let _ = write!(text, "\n### Not there: {}\n\n| node | command | |\n|---|---|---|\n", others.len());
    for (node, pattern, fate) in others {
        let what = match fate {
            Fate::Partly(why) => format!("in part: {why}"),
            Fate::Ignored(why) => format!("taken without effect: {why}"),
            Fate::Refused(why) => format!("refused: {why}"),
            Fate::Absent(why) => format!("no command: {why}"),
            Fate::There | Fate::Unknown => "nobody has said why".to_owned(),
        };
        let _ = writeln!(text, "| {node} | `{}` | {what} |", shortened(&pattern).replace('|', "\\|"));
    }
}

/// A long list of alternatives is not worth its place.
fn shortened(pattern: &str) -> String {
    let long = |word: &&str| word.len() > 100;
    pattern.split(' ').map(|word| if long(&word) { "(…)" } else { word }).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_a_pattern_permits() {
        let words = |line: &Vec<String>| line.join(" ");
        let all: Vec<String> = samples("a (b|<3-9>) [NAME] .REST").iter().map(words).collect();
        assert_eq!(all, ["a b name the rest", "a 3 name the rest", "a b name the rest", "a b the rest"]);
        assert_eq!(
            samples("password (8|) WORD").iter().map(words).collect::<Vec<_>>(),
            ["password 8 word"; 1]
        );
    }

    #[test]
    fn commands_of_xml() {
        let xml = "<node id='config'><name>x</name><command id='a &lt;0-9&gt;'><param name='a' doc='b' /></command>\
                   <command id='cs7 instance &lt;0-15&gt;'/></node><node id='view'><command id='b'>";
        let of = |node: &str, pattern: &str| Theirs { node: node.to_owned(), pattern: pattern.to_owned() };
        assert_eq!(of_xml(xml), [of("config", "a <0-9>"), of("view", "b")]);
    }

    #[test]
    fn who_is_neither_here_nor_excused_is_found() {
        let grammar = Grammar::<Sgsn>::new();
        let fate = |node: &str, pattern: &str| {
            Theirs { node: node.to_owned(), pattern: pattern.to_owned() }.fate(&grammar)
        };
        assert_eq!(fate("view", "show sgsn"), Fate::There);
        assert_eq!(fate("view", "show nothing"), Fate::Unknown);
        assert_eq!(fate("view", "show sgsn (now|then)"), Fate::Unknown);
        assert_eq!(fate("config-elsewhere", "show sgsn"), Fate::Unknown);
        assert!(matches!(fate("config-sgsn", "ggsn dynamic"), Fate::Refused(_)));
        assert!(matches!(fate("config-ns", "bind (fr|udp) ID"), Fate::Partly(_)));
        assert_eq!(fate("config-ns-nse", "nsvc udp BIND A.B.C.D <1-65535>"), Fate::There);
        assert!(matches!(fate("view", "show alarms"), Fate::Absent(_)));
        let ggsn = Grammar::<Ggsn>::new();
        let fate = |node: &str, pattern: &str| {
            Theirs { node: node.to_owned(), pattern: pattern.to_owned() }.fate(&ggsn)
        };
        assert_eq!(fate("config-ggsn-apn", "no (ip|ipv6) dns <0-1>"), Fate::There);
        assert_eq!(fate("config-ggsn-apn", "ipv6 prefix (static|dynamic) X:X::X:X/M"), Fate::There);
        assert_eq!(fate("config-ggsn", "gtp user-ip A.B.C.D"), Fate::There);
    }
}
