//! The commands of an element, in Osmocom's style: which stand in which node, what they do, and how a line finds its command.
//!
//! A line is held against all commands of a node word by word, as the VTYs of Quagga and Osmocom do it: of the commands
//! that are left after a word, those stay in which it fits best (the fixed word itself, then a beginning of one, then a
//! number or address, then any word). A word that begins two different fixed words is ambiguous.

pub(crate) mod common;
pub mod log_view;
mod mistake;
pub(crate) mod pattern;
pub mod secrets;
mod terms;

pub use common::HELP;
pub use pattern::{ipv4_prefix, ipv6_prefix};
pub use terms::{Args, CommandError, Edit, Problem, SessionAction};

use crate::metrics::text::Statistics;
use core::fmt;
use pattern::{Atom, Fit, Token};
use std::borrow::Cow;
use std::collections::BTreeMap;

macro_rules! nodes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal;)*) => {
        /// Where one stands in the tree of commands.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Node { $($(#[$doc])* $variant,)* }

        impl Node {
            /// All nodes, from the root down.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its name, which is what the prompt shows in parentheses.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

nodes! {
    /// Looking on.
    View = "view";
    /// Operating.
    Enable = "enable";
    /// Configuring; the root of a configuration file.
    Config = "config";
    /// One target of the log.
    Log = "config-log";
    /// The VTY itself.
    Line = "config-line";
    /// The control interface.
    Ctrl = "config-ctrl";
    /// The page of metrics.
    Metrics = "config-metrics";
    /// A reporter of statistics.
    Stats = "config-stats";
    /// An SS7 instance, which Osmocom's files may have.
    Cs7 = "config-cs7";
    /// Threads, which Osmocom's files may arrange.
    CpuSched = "config-cpu-sched";
    /// What a file of Osmocom's may have and this element has not: all its lines are taken without effect.
    Ignored = "config-ignored";
    /// The SGSN.
    Sgsn = "config-sgsn";
    /// An MME, which osmo-sgsn's files may have.
    Mme = "config-sgsn-mme";
    /// The network service.
    Ns = "config-ns";
    /// One bind of the network service.
    NsBind = "config-ns-bind";
    /// One configured NSE.
    NsNse = "config-ns-nse";
    /// BSSGP and its flow control.
    Bssgp = "config-bssgp";
    /// The BSS emulator.
    Bss = "config-bss";
    /// An access point.
    Ap = "config-ap";
    /// Mobiles of this machine.
    Ms = "config-ms";
    /// Their own cells.
    MsCells = "config-ms-cells";
    /// One context of them.
    MsContext = "config-ms-context";
    /// The GGSN.
    Ggsn = "config-ggsn";
    /// One access point of the GGSN.
    Apn = "config-ggsn-apn";
    /// The queues of one way of an access point.
    ApnQos = "config-ggsn-apn-qos";
    /// One group of subscribers.
    SubscriberGroup = "config-ggsn-subscriber-group";
    /// The edge router.
    Edge = "config-edge";
    /// One interface of the edge router.
    EdgeInterface = "config-edge-interface";
}

impl Node {
    /// Whether it stands in a configuration.
    #[must_use]
    pub fn is_config(self) -> bool {
        self >= Self::Config
    }

    /// The lines of a configuration that lead into it, with an example of each name.
    const fn way(self) -> &'static [&'static str] {
        match self {
            Self::View | Self::Enable | Self::Config => &[],
            Self::Log => &["log stderr"],
            Self::Line => &["line vty"],
            Self::Ctrl => &["ctrl"],
            Self::Metrics => &["metrics"],
            Self::Stats => &["stats reporter statsd x"],
            Self::Cs7 => &["cs7 instance 0"],
            Self::CpuSched => &["cpu-sched"],
            Self::Ignored => &["cs7 instance 0", "as a m3ua"],
            Self::Sgsn => &["sgsn"],
            Self::Mme => &["sgsn", "mme m"],
            Self::Ns => &["ns"],
            Self::NsBind => &["ns", "bind udp local"],
            Self::NsNse => &["ns", "nse 7"],
            Self::Bssgp => &["bssgp"],
            Self::Bss => &["bss"],
            Self::Ap => &["ap"],
            Self::Ms => &["ms"],
            Self::MsCells => &["ms", "cells"],
            Self::MsContext => &["ms", "context a"],
            Self::Ggsn => &["ggsn a"],
            Self::Apn => &["ggsn a", "apn b"],
            Self::ApnQos => &["ggsn a", "apn b", "qos downlink"],
            Self::SubscriberGroup => &["ggsn a", "subscriber-group g"],
            Self::Edge => &["edge"],
            Self::EdgeInterface => &["edge", "interface a"],
        }
    }

    /// A line in this node, behind those that lead into it.
    #[must_use]
    pub fn with_line(self, line: &str) -> String {
        let lines = self.way().iter().copied().chain([line]).enumerate();
        lines.map(|(depth, line)| format!("{}{line}\n", " ".repeat(depth))).collect()
    }
}

/// What the commands of an element are about.
pub trait Commands: Sized + 'static {
    /// Its configuration: plain data that the commands of the configuration nodes fill.
    type Config: Clone + Default + PartialEq + fmt::Debug;
    /// What an operator can ask of the running node.
    type Operation: Clone + PartialEq + fmt::Debug;
}

/// What a command does.
pub enum Action<E: Commands> {
    /// Something of the session itself.
    Session(SessionAction),
    /// Changes the configuration.
    Set(fn(&mut Edit<'_, E::Config>) -> Result<(), CommandError>),
    /// Changes the configuration and goes into a node; what is returned names the object of that node.
    Enter(Node, fn(&mut Edit<'_, E::Config>) -> Result<String, CommandError>),
    /// Shows something of the configuration.
    Show(fn(&E::Config, &Args, &mut String) -> Result<(), CommandError>),
    /// Is about what the node has counted.
    Statistics(fn(&Args) -> Result<Statistics, CommandError>),
    /// Is for the node to do.
    Operate(fn(&Args) -> Result<E::Operation, CommandError>),
    /// Osmocom has it and this element takes it without effect, for the reason given.
    Ignore(&'static str),
    /// Osmocom has it and this element refuses it, for the reason given.
    Refuse(&'static str),
}

impl<E: Commands> Clone for Action<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E: Commands> Copy for Action<E> {}

impl<E: Commands> fmt::Debug for Action<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session(action) => write!(f, "Session({action:?})"),
            Self::Set(_) => f.write_str("Set"),
            Self::Enter(node, _) => write!(f, "Enter({node:?})"),
            Self::Show(_) => f.write_str("Show"),
            Self::Statistics(_) => f.write_str("Statistics"),
            Self::Operate(_) => f.write_str("Operate"),
            Self::Ignore(why) => write!(f, "Ignore({why})"),
            Self::Refuse(why) => write!(f, "Refuse({why})"),
        }
    }
}

/// One command: its pattern, a help text for each alternative of each word, and what it does.
#[derive(Debug)]
pub struct Command<E: Commands> {
    pattern: Cow<'static, str>,
    tokens: Vec<Token>,
    help: Vec<String>,
    action: Action<E>,
}

impl<E: Commands> Command<E> {
    /// The pattern, as `list` shows it.
    #[must_use]
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// What it does.
    #[must_use]
    pub const fn action(&self) -> &Action<E> {
        &self.action
    }

    /// Each alternative of each word with its help.
    pub fn words(&self) -> impl Iterator<Item = (String, &str)> + '_ {
        let atoms = self.tokens.iter().flat_map(|token| token.atoms.iter().map(Atom::text));
        atoms.zip(self.help.iter().map(String::as_str))
    }

    /// How many help texts it has: as many as [`Command::words`].
    #[must_use]
    pub const fn help_count(&self) -> usize {
        self.help.len()
    }

    /// Each place of the pattern, for a search of the nearest.
    pub(crate) fn shape(&self) -> Vec<Shape<'_>> {
        self.tokens.iter().map(Shape::of).collect()
    }

    fn help_of(&self, token: usize, atom: usize) -> &str {
        let before: usize = self.tokens.iter().take(token).map(|token| token.atoms.len()).sum();
        self.help.get(before + atom).map_or("", String::as_str)
    }
}

/// One place of a pattern: its fixed words, and whether it may be empty.
#[derive(Debug)]
pub(crate) struct Shape<'c> {
    pub(crate) fixed: Vec<&'c str>,
    pub(crate) optional: bool,
    token: &'c Token,
}

impl<'c> Shape<'c> {
    fn of(token: &'c Token) -> Self {
        let fixed = token.atoms.iter().filter_map(|atom| match atom {
            Atom::Word(word) => Some(word.as_str()),
            _ => None,
        });
        Self { fixed: fixed.collect(), optional: token.optional, token }
    }

    /// Whether `word` fits as it stands; a beginning of a fixed word does not.
    pub(crate) fn fits(&self, word: &str) -> bool {
        self.token.atoms.iter().any(|atom| atom.fit(word).is_some_and(|fit| fit != Fit::Prefix))
    }
}

/// Why a line is no command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoMatch {
    /// No command of the node begins so.
    Unknown,
    /// Several do.
    Ambiguous,
    /// Words are missing.
    Incomplete,
}

impl fmt::Display for NoMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "Unknown command.",
            Self::Ambiguous => "Ambiguous command.",
            Self::Incomplete => "Command incomplete.",
        })
    }
}

/// A command that a part of the line fits.
#[derive(Debug, Clone)]
struct Partial {
    command: usize,
    /// The next word of the pattern.
    next: usize,
    args: Vec<Option<String>>,
    /// The word at `next` takes the rest of the line and has begun.
    in_rest: bool,
}

/// All commands of an element.
#[derive(Debug)]
pub struct Grammar<E: Commands> {
    nodes: BTreeMap<Node, Vec<Command<E>>>,
}

impl<E: Commands> Grammar<E> {
    /// One without commands.
    pub(crate) const fn empty() -> Self {
        Self { nodes: BTreeMap::new() }
    }

    /// Adds a command. `help` has a line for each alternative of each word.
    pub fn add(
        &mut self,
        nodes: &[Node],
        pattern: impl Into<Cow<'static, str>>,
        help: &str,
        action: Action<E>,
    ) {
        let pattern = pattern.into();
        for node in nodes {
            let command = Command {
                tokens: pattern::parse(&pattern),
                pattern: pattern.clone(),
                help: help.lines().map(str::to_owned).collect(),
                action,
            };
            self.nodes.entry(*node).or_default().push(command);
        }
    }

    /// The nodes that have commands.
    pub fn nodes(&self) -> impl Iterator<Item = Node> + '_ {
        self.nodes.keys().copied()
    }

    /// The commands of a node, in the order in which `list` shows them.
    #[must_use]
    pub fn commands(&self, node: Node) -> &[Command<E>] {
        self.nodes.get(&node).map_or(&[], Vec::as_slice)
    }

    /// The command that `words` are, with its arguments.
    ///
    /// # Errors
    /// Where they are none, several, or not yet all.
    pub fn find(&self, node: Node, words: &[&str]) -> Result<(&Command<E>, Args), NoMatch> {
        let commands = self.commands(node);
        let partials = partials(commands, words)?;
        let complete = partials.into_iter().find_map(|mut partial| {
            let command = commands.get(partial.command)?;
            let missing = command.tokens.get(partial.next + usize::from(partial.in_rest)..)?;
            if missing.iter().any(|token| !token.optional) {
                return None;
            }
            partial.args.extend(missing.iter().map(|_| None));
            Some((command, Args::new(partial.args)))
        });
        complete.ok_or(NoMatch::Incomplete)
    }

    /// What may stand in the place of the last word, with its help; `<cr>` where the line may end.
    ///
    /// # Errors
    /// Where the words before it begin no command, or several.
    pub fn candidates(&self, node: Node, words: &[&str]) -> Result<Vec<Candidate>, NoMatch> {
        let (part, before) = words.split_last().map_or(("", words), |(part, before)| (*part, before));
        let commands = self.commands(node);
        let mut found: Vec<Candidate> = Vec::new();
        let mut may_end = false;
        for partial in partials(commands, before)? {
            let Some(command) = commands.get(partial.command) else { continue };
            let ends = next_candidates(command, partial.next, part, &mut found);
            may_end |= !before.is_empty() && (ends || partial.in_rest);
        }
        if may_end && part.is_empty() {
            found.push(Candidate { word: "<cr>".to_owned(), help: String::new(), fixed: false });
        }
        Ok(found)
    }
}

/// A word that may come next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The word, or the placeholder of the pattern.
    pub word: String,
    /// What it means.
    pub help: String,
    /// A word to type as it stands, not a placeholder.
    pub fixed: bool,
}

/// Adds what may come at `next`; true where the command may end here.
fn next_candidates<E: Commands>(
    command: &Command<E>,
    next: usize,
    part: &str,
    found: &mut Vec<Candidate>,
) -> bool {
    for (index, token) in command.tokens.iter().enumerate().skip(next) {
        for (number, atom) in token.atoms.iter().enumerate().filter(|(_, atom)| atom.could_begin(part)) {
            let word = atom.text();
            if !found.iter().any(|candidate| candidate.word == word) {
                let help = command.help_of(index, number).to_owned();
                found.push(Candidate { word, help, fixed: matches!(atom, Atom::Word(_)) });
            }
        }
        if !token.optional {
            return false;
        }
    }
    true
}

/// The commands that all of `words` fit as their beginning.
fn partials<E: Commands>(commands: &[Command<E>], words: &[&str]) -> Result<Vec<Partial>, NoMatch> {
    let mut partials: Vec<Partial> = (0..commands.len())
        .map(|command| Partial { command, next: 0, args: Vec::new(), in_rest: false })
        .collect();
    for (place, word) in words.iter().enumerate() {
        let mut fitting: Vec<(Fit, String, Partial)> = Vec::new();
        for partial in &partials {
            if let Some(command) = commands.get(partial.command) {
                advance(command, partial, word, &mut fitting);
            }
        }
        let best = fitting.iter().map(|(fit, ..)| *fit).min().ok_or(NoMatch::Unknown)?;
        fitting.retain(|(fit, ..)| *fit == best);
        let mut meant = fitting.iter().map(|(_, meant, _)| meant);
        let first = meant.next();
        if best == Fit::Prefix && meant.any(|other| Some(other) != first) {
            return Err(NoMatch::Ambiguous);
        }
        partials = fitting.into_iter().map(|(.., partial)| partial).collect();
        // `no gtp local-ip` is no abbreviation of `no gtp local-ipv6`, since there is a `gtp local-ip`.
        if best == Fit::Prefix && words.first() == Some(&"no") && is_exact(commands, words.get(1..=place)) {
            return Err(NoMatch::Unknown);
        }
    }
    Ok(partials)
}

/// Whether the last of these words is a fixed word of a command as it stands.
fn is_exact<E: Commands>(commands: &[Command<E>], words: Option<&[&str]>) -> bool {
    let Some((last, before)) = words.and_then(<[&str]>::split_last) else { return false };
    let fits = |partial: &Partial| {
        let mut fitting = Vec::new();
        if let Some(command) = commands.get(partial.command) {
            advance(command, partial, last, &mut fitting);
        }
        fitting.iter().any(|(fit, ..)| *fit == Fit::Exact)
    };
    partials(commands, before).is_ok_and(|partials| partials.iter().any(fits))
}

/// Adds every way in which `word` continues `partial`.
fn advance<E: Commands>(
    command: &Command<E>,
    partial: &Partial,
    word: &str,
    fitting: &mut Vec<(Fit, String, Partial)>,
) {
    let mut args = partial.args.clone();
    for (index, token) in command.tokens.iter().enumerate().skip(partial.next) {
        for atom in &token.atoms {
            let Some(fit) = atom.fit(word) else { continue };
            let meant = if let Atom::Word(own) = atom { own.clone() } else { word.to_owned() };
            let mut args = args.clone();
            let in_rest = token.is_rest();
            match args.last_mut() {
                Some(Some(text)) if partial.in_rest => {
                    text.push(' ');
                    text.push_str(word);
                }
                _ if token.captures() => args.push(Some(meant.clone())),
                _ => {}
            }
            let next = if in_rest { index } else { index + 1 };
            fitting.push((fit, meant, Partial { command: partial.command, next, args, in_rest }));
        }
        if !token.optional {
            return;
        }
        args.push(None);
    }
}
