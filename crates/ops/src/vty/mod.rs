//! The VTY: commands in Osmocom's style, and the telnet sessions that run them.
//!
//! [`grammar`] knows the commands and finds the one that a line means; [`session`] is one telnet session without any
//! socket, octets in and octets out; [`server`] owns the sockets and is polled by an event loop; [`client`] asks a VTY, ours
//! or Osmocom's; [`reference`] writes `docs/vty.md`, [`osmocom`] its table of osmo-sgsn's commands.

pub mod client;
pub(crate) mod common;
pub mod grammar;
pub mod line_editor;
pub mod log_view;
pub mod osmocom;
mod pattern;
pub mod reference;
pub mod secrets;
pub mod server;
pub mod session;
pub mod telnet;
mod threads;

pub use common::HELP;
pub use grammar::{Action, Candidate, Command, Grammar, NoMatch, Node};
pub use log_view::{LogView, TargetStyle};
pub use pattern::ipv4_prefix;
pub use server::Server;
pub use session::Session;

pub use crate::metrics::text::Statistics;

use crate::config::{Common, ConfigText};
use core::fmt;
use core::str::FromStr;
use gannet_machine::time::Duration;
use gannet_machine::trace::{Category, Level};
use std::path::{Path, PathBuf};

/// A kind of network element, as an operator sees it.
pub trait Element: Sized + 'static {
    /// Its configuration: plain data that the commands of the configuration nodes fill.
    type Config: Clone + Default + PartialEq + fmt::Debug;
    /// What an operator can ask of the running node.
    type Operation: Clone + PartialEq + fmt::Debug;

    /// `sgsn`, `bss` or `ggsn`.
    const NAME: &'static str;
    /// Where its VTY listens unless configured otherwise.
    const VTY_PORT: u16;
    /// Where its control interface listens unless configured otherwise.
    const CTRL_PORT: u16;
    /// Where its page of metrics is unless configured otherwise.
    const METRICS_PORT: u16 = Self::VTY_PORT + 5000;

    /// The part of the configuration that every element has.
    fn common(config: &Self::Config) -> &Common;
    /// The same, to be changed.
    fn common_mut(config: &mut Self::Config) -> &mut Common;
    /// Adds the element's own commands.
    fn install(grammar: &mut Grammar<Self>);
    /// Writes the element's own part of a configuration in the form in which it is read.
    fn write(config: &Self::Config, text: &mut ConfigText);
    /// What a configuration lacks or contradicts as a whole: asked when a file has been read, before one is written, and at each
    /// change in a session.
    fn problems(config: &Self::Config) -> Vec<Problem> {
        let _ = config;
        Vec::new()
    }
    /// What the author of a configuration should know that can be served as it is: sentences without a stop.
    fn remarks(config: &Self::Config) -> Vec<String> {
        let _ = config;
        Vec::new()
    }
}

/// What is wrong with a configuration whose lines are right one by one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The node of the line that is to be added or changed, where it is one node's matter.
    pub node: Option<Node>,
    /// Whether more lines make it right. In a session these may follow; a contradiction is refused there.
    pub is_incomplete: bool,
    /// The sentence, without a stop. It names the command to say.
    pub text: String,
}

impl Problem {
    /// Something is still to be said.
    pub fn incomplete(node: Node, text: impl Into<String>) -> Self {
        Self { node: Some(node), is_incomplete: true, text: text.into() }
    }

    /// Something is named that is not there, or two lines contradict each other.
    pub fn contradiction(node: Node, text: impl Into<String>) -> Self {
        Self { node: Some(node), is_incomplete: false, text: text.into() }
    }

    /// Something that cannot be done as configured.
    pub fn impossible(text: impl Into<String>) -> Self {
        Self { node: None, is_incomplete: false, text: text.into() }
    }
}

/// A running node, as the VTY sees it. The program implements this.
pub trait Operator<E: Element> {
    /// The configuration in force.
    fn config(&self) -> &E::Config;

    /// Takes a changed configuration. What cannot change while the node runs is either refused, or kept for the next
    /// start and said so in `out`.
    ///
    /// # Errors
    /// Why it stays as it was; the session shows this.
    fn reconfigure(&mut self, new: E::Config, out: &mut String) -> Result<(), CommandError>;

    /// Shows or changes what the node has counted; every element has these.
    ///
    /// # Errors
    /// Why it cannot be done; the session shows this.
    fn statistics(&mut self, asked: Statistics, out: &mut String) -> Result<(), CommandError>;

    /// Does what an operator asked for and writes the answer, lines ended by `\n`.
    ///
    /// # Errors
    /// Why it cannot be done; the session shows this.
    fn execute(&mut self, operation: &E::Operation, out: &mut String) -> Result<(), CommandError>;

    /// How long it runs.
    fn uptime(&self) -> Duration;

    /// Writes a line into the log.
    fn say(&mut self, category: Category, level: Level, text: &str);

    /// Why a node would not start with a configuration, beside what [`Element::problems`] says of it.
    ///
    /// # Errors
    /// A sentence for each reason, one a line.
    fn would_start(&self, config: &E::Config) -> Result<(), CommandError> {
        let _ = config;
        Ok(())
    }

    /// The file that `write file` writes.
    fn config_file(&self) -> Option<&Path> {
        None
    }

    /// Writes a configuration to a file and returns its path, and that of the file in which the former content is kept, where
    /// there was another one.
    ///
    /// # Errors
    /// Where there is no file to write to, or it cannot be written.
    fn save(&mut self, path: Option<&Path>, text: &str) -> Result<(PathBuf, Option<PathBuf>), CommandError> {
        let path = path.or_else(|| self.config_file()).map(Path::to_path_buf);
        let path =
            path.ok_or_else(|| CommandError("There is no configuration file to write to.".to_owned()))?;
        let kept = crate::config::save_and_keep(&path, text)
            .map_err(|error| CommandError(format!("Can't write {}: {error}.", path.display())))?;
        Ok((path, kept))
    }
}

/// Why a command was not done: a sentence for the operator. The session puts `% ` in front.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CommandError(pub String);

impl CommandError {
    /// From any text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

/// What the words of a line had in the places of a pattern that are not fixed words, in their order. Every such place
/// has its number, whether it was filled or not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Args(Vec<Option<String>>);

impl Args {
    pub(crate) const fn new(values: Vec<Option<String>>) -> Self {
        Self(values)
    }

    /// The word in a place, where there is one.
    #[must_use]
    pub fn get(&self, place: usize) -> Option<&str> {
        self.0.get(place)?.as_deref()
    }

    /// The word in a place; empty where there is none.
    #[must_use]
    pub fn text(&self, place: usize) -> &str {
        self.get(place).unwrap_or_default()
    }

    /// The value in a place.
    ///
    /// # Errors
    /// Where it is missing or of another kind.
    pub fn value<T: FromStr>(&self, place: usize) -> Result<T, CommandError> {
        let text = self.text(place);
        text.parse().map_err(|_| CommandError(format!("'{text}' is not of the right kind.")))
    }

    /// The value in a place that may be empty.
    ///
    /// # Errors
    /// Where it is of another kind.
    pub fn optional<T: FromStr>(&self, place: usize) -> Result<Option<T>, CommandError> {
        self.get(place).map(|_| self.value(place)).transpose()
    }
}

/// A change of the configuration: what, by which arguments, within which objects.
#[derive(Debug)]
pub struct Edit<'a, C> {
    /// The configuration to change.
    pub config: &'a mut C,
    /// The arguments of the command.
    pub args: &'a Args,
    /// The names of the objects one is within, from the outermost in.
    pub path: &'a [String],
    /// What the operator should know besides.
    pub warnings: &'a mut Vec<String>,
}

impl<C> Edit<'_, C> {
    /// The name of the innermost object.
    #[must_use]
    pub fn here(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }

    /// Adds a warning.
    pub fn warn(&mut self, text: impl Into<String>) {
        self.warnings.push(text.into());
    }
}

/// What concerns the session alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionAction {
    /// `enable`
    Enable,
    /// `disable`
    Disable,
    /// `configure terminal`
    Configure,
    /// `exit`: one node up; out of the VTY at the top.
    Exit,
    /// `quit`: the same by another name.
    Quit,
    /// `end`: to the enable node.
    End,
    /// `list`
    List,
    /// `help`
    Help,
    /// `who`
    Who,
    /// `show version`
    Version,
    /// `show history`
    History,
    /// `show pid`
    Pid,
    /// `show uptime`
    Uptime,
    /// `show online-help`
    OnlineHelp,
    /// `show cpu-sched threads`.
    Threads,
    /// `show startup-config`
    StartupConfig,
    /// `logp CATEGORY LEVEL .LOGMESSAGE`
    Say,
    /// `show running-config` and `write terminal`
    RunningConfig,
    /// `write file [PATH]`
    WriteFile,
    /// `write file force [PATH]`: also what will not load.
    WriteForced,
    /// `terminal length <0-512>`
    Length,
    /// `terminal no length`
    NoLength,
    /// `do .LINE`
    Do,
    /// `logging …`
    Log(log_view::LogCommand),
}

/// Runs one line in the enable node, without a session: for `gannet … --command`, scripts and tests.
///
/// # Errors
/// Where the line is no command that a node can do, or the node cannot do it.
pub fn run<E: Element>(
    grammar: &Grammar<E>,
    operator: &mut dyn Operator<E>,
    line: &str,
    out: &mut String,
) -> Result<(), CommandError> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (command, args) =
        grammar.find(Node::Enable, &words).map_err(|error| CommandError(error.to_string()))?;
    match command.action() {
        Action::Operate(parse) => operator.execute(&parse(&args)?, out),
        Action::Statistics(parse) => operator.statistics(parse(&args)?, out),
        Action::Show(show) => show(operator.config(), &args, out),
        Action::Session(SessionAction::RunningConfig) => {
            out.push_str(&crate::config::write::<E>(operator.config()));
            Ok(())
        }
        _ => Err(CommandError("It needs a session.".to_owned())),
    }
}
