//! What a command is given, and what comes of it.

use super::Node;
use super::log_view::LogCommand;
use core::str::FromStr;

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
    Log(LogCommand),
}
