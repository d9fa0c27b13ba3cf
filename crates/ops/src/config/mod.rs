//! Configuration files: read by the grammar of the VTY, written in the form in which they are read.
//!
//! A line belongs to the node that the nearest line above with less indentation opened. Deeper levels may be indented
//! by any number of blanks; written files have one for each level. Lines that begin with `!` or `#` are comments.
//!
//! The first line that is not understood ends the reading: the error names file, line and the nearest known command,
//! and nothing is started.

pub mod bss;
pub mod common;
mod cursor;
pub mod ggsn;
pub mod ns;
pub mod sgsn;
pub mod stats;
mod suggest;
mod text;

pub use common::{Common, Listen, LogKind, LogTarget};
pub use stats::{StatsConfig, StatsdReporter};
pub use text::ConfigText;

use crate::vty::Element;
use core::fmt;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

pub(crate) use cursor::{Cursor, Outcome, change};
pub(crate) use suggest::nearest;

/// A configuration that was read, and what its author should know.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded<C> {
    /// The configuration.
    pub config: C,
    /// Lines that were taken without effect, in their order.
    pub warnings: Vec<Warning>,
}

/// A line that was taken, with a reservation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The file as it was named.
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    /// The reservation.
    pub text: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.text)
    }
}

/// Why a configuration was not taken.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{file}: {source}")]
    Io {
        /// The file as it was named.
        file: String,
        /// What the operating system says.
        source: io::Error,
    },
    /// A line is wrong.
    #[error("{file}:{line}: {problem}")]
    Line {
        /// The file as it was named.
        file: String,
        /// Counted from 1.
        line: usize,
        /// What is wrong, and what may have been meant.
        problem: String,
    },
    /// Each line is right and something is missing.
    #[error("{file}: {problem}")]
    Whole {
        /// The file as it was named.
        file: String,
        /// What is missing.
        problem: String,
    },
}

/// Reads a file.
///
/// # Errors
/// Where it cannot be read, at the first line that is not understood, and where something is missing.
pub fn load<E: Element>(path: &Path) -> Result<Loaded<E::Config>, ConfigError> {
    let file = path.display().to_string();
    let octets = fs::read(path).map_err(|source| ConfigError::Io { file: file.clone(), source })?;
    read::<E>(&file, &String::from_utf8_lossy(&octets))
}

/// Reads the text of a file; `file` is its name in errors and warnings.
///
/// # Errors
/// At the first line that is not understood, and where something is missing.
pub fn read<E: Element>(file: &str, content: &str) -> Result<Loaded<E::Config>, ConfigError> {
    let loaded = text::read::<E>(file, content)?;
    E::check(&loaded.config)
        .map_err(|error| ConfigError::Whole { file: file.to_owned(), problem: error.to_string() })?;
    Ok(loaded)
}

/// Writes a configuration in the form in which it is read.
#[must_use]
pub fn write<E: Element>(config: &E::Config) -> String {
    let mut text = ConfigText::default();
    text.comment();
    E::common(config).write_before(&mut text);
    E::write(config, &mut text);
    E::common(config).write_behind(&mut text);
    text.into_string()
}

/// Writes a file so that a reader finds either the old one or the new one, whole: into a file beside it, which then
/// takes its name.
///
/// # Errors
/// What the operating system says; the old file is then as it was.
pub fn save(path: &Path, content: &str) -> io::Result<()> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let mut name = OsString::from(".");
    name.push(path.file_name().ok_or_else(|| io::Error::other("it names no file"))?);
    name.push(".new");
    let beside = path.with_file_name(name);
    let written = write_synced(&beside, &path, content).and_then(|()| fs::rename(&beside, &path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

fn write_synced(beside: &Path, old: &Path, content: &str) -> io::Result<()> {
    let mut file = fs::File::create(beside)?;
    if let Ok(metadata) = fs::metadata(old) {
        file.set_permissions(metadata.permissions())?;
    }
    file.write_all(content.as_bytes())?;
    file.sync_all()
}
