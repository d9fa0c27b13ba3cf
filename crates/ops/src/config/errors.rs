//! Why a configuration was not taken: every reason, each with its line.

use core::fmt;
use std::io;

/// Errors of one configuration that are shown at the most.
const SHOWN_MAX: usize = 100;

/// One reason.
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
    #[error("{file}:{line}: {}{}", said(problem, instead), Instead(instead))]
    Line {
        /// The file as it was named.
        file: String,
        /// Counted from 1.
        line: usize,
        /// What is wrong, and what may have been meant.
        problem: String,
        /// The lines that say here what Osmocom's line says there.
        instead: Vec<String>,
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

/// A sentence that goes on has no stop.
fn said<'p>(problem: &'p str, instead: &[String]) -> &'p str {
    if instead.is_empty() { problem } else { problem.trim_end_matches('.') }
}

struct Instead<'a>(&'a [String]);

impl fmt::Display for Instead<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.is_empty() {
            f.write_str("; write instead:")?;
        }
        self.0.iter().try_for_each(|line| write!(f, "\n    {line}"))
    }
}

/// Why a configuration was not taken: at least one reason, in the order of the lines.
#[derive(Debug)]
pub struct ConfigErrors(pub(super) Vec<ConfigError>);

impl ConfigErrors {
    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[ConfigError] {
        &self.0
    }
}

impl From<ConfigError> for ConfigErrors {
    fn from(error: ConfigError) -> Self {
        Self(vec![error])
    }
}

/// One after the other, each on lines of its own.
impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, error) in self.0.iter().take(SHOWN_MAX).enumerate() {
            write!(f, "{}{error}", if place > 0 { "\n" } else { "" })?;
        }
        match self.0.len() {
            0..=1 => Ok(()),
            all @ ..=SHOWN_MAX => write!(f, "\n{all} errors"),
            all => write!(f, "\n{all} errors, of which the first {SHOWN_MAX} are shown"),
        }
    }
}

impl std::error::Error for ConfigErrors {}
