//! The VTY: telnet sessions that run the commands of [`crate::grammar`].
//!
//! [`session`] is one telnet session without any socket, octets in and octets out; [`server`] owns the sockets and is polled by an event loop; [`client`] asks a VTY, ours
//! or Osmocom's; [`reference`] writes `docs/vty.md`, [`osmocom`] its table of osmo-sgsn's commands.

pub mod client;
pub mod line_editor;
pub mod osmocom;
pub mod reference;
pub mod server;
pub mod session;
pub mod telnet;
mod threads;

pub use server::Server;
pub use session::Session;

pub use crate::metrics::text::Statistics;

use crate::config::Element;
use crate::grammar::{Action, CommandError, Grammar, Node, SessionAction};
use gannet_machine::time::Duration;
use gannet_machine::trace::{Category, Level};
use std::path::{Path, PathBuf};

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
