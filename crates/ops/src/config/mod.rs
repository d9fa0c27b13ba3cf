//! Configuration files: read by the grammar of the VTY, written in the form in which they are read.
//!
//! A line belongs to the node that the nearest line above with less indentation opened. Deeper levels may be indented
//! by any number of blanks; written files have one for each level. Lines that begin with `!` or `#` are comments.
//!
//! All lines are read, also behind one that is not understood: each error names file, line and the nearest known command, and
//! nothing is started. Lines within a line that is not understood are not looked at.

pub mod ap;
pub mod bearers;
pub mod bss;
mod busy_poll;
pub mod cells;
pub mod common;
mod compression;
mod cursor;
pub mod edge;
mod element;
mod errors;
pub mod fleet;
pub mod ggsn;
pub mod gtp;
mod instead;
mod links;
pub mod ms;
pub mod ns;
mod programs;
pub mod sgsn;
pub mod stats;
pub mod streams;
mod suggest;
mod text;
pub mod trace;

pub use busy_poll::BusyPoll;
pub use common::{Common, ExecTimeout, Listen, LogKind, LogTarget};
pub use element::Element;
pub use errors::{ConfigError, ConfigErrors};
pub use stats::{ReporterKind, StatsConfig, StatsReporter};
pub use text::ConfigText;

use crate::grammar::{Node, Problem};
use core::fmt;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

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

/// Reads a file.
///
/// # Errors
/// Where it cannot be read, for each line that is not understood, and for all that is missing.
pub fn load<E: Element>(path: &Path) -> Result<Loaded<E::Config>, ConfigErrors> {
    load_and_check::<E>(path, |_| Vec::new())
}

/// Reads a file, and asks `more` besides what is wrong with the configuration as a whole.
///
/// # Errors
/// As [`load`].
pub fn load_and_check<E: Element>(
    path: &Path,
    more: impl Fn(&E::Config) -> Vec<Problem>,
) -> Result<Loaded<E::Config>, ConfigErrors> {
    let file = path.display().to_string();
    text::read::<E>(&file, &programs::text_of(path)?, &more)
}

/// Reads the text of a file; `file` is its name in errors and warnings.
///
/// # Errors
/// For each line that is not understood, and for all that is missing.
pub fn read<E: Element>(file: &str, content: &str) -> Result<Loaded<E::Config>, ConfigErrors> {
    text::read::<E>(file, content, &|_| Vec::new())
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
    replace(&path, content, || Ok(()))
}

/// The same, with what was there before kept under the file's name and `.sav`, whose path is returned. A file that has this
/// content already is left as it is, and so is what was kept before.
///
/// # Errors
/// What the operating system says; both files are then as they were, or the former content stands in both.
pub fn save_and_keep(path: &Path, content: &str) -> io::Result<Option<PathBuf>> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    match fs::read(&path) {
        Ok(octets) if octets == content.as_bytes() => return Ok(None),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return replace(&path, content, || Ok(())).map(|()| None);
        }
        Err(error) => return Err(error),
    }
    let mut kept = path.clone().into_os_string();
    kept.push(".sav");
    let kept = PathBuf::from(kept);
    replace(&path, content, || keep(&path, &kept))?;
    Ok(Some(kept))
}

/// Gives the present file a second name, whatever had that name before.
fn keep(path: &Path, kept: &Path) -> io::Result<()> {
    let beside = beside(kept)?;
    let _ = fs::remove_file(&beside);
    // Not every file system has links.
    if fs::hard_link(path, &beside).is_err() {
        fs::copy(path, &beside)?;
    }
    fs::rename(&beside, kept).inspect_err(|_| {
        let _ = fs::remove_file(&beside);
    })
}

/// The name that a file has until it is whole.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let mut name = OsString::from(".");
    name.push(path.file_name().ok_or_else(|| io::Error::other("it names no file"))?);
    name.push(".new");
    Ok(path.with_file_name(name))
}

/// Writes the new content beside the file, and gives it the file's name once `before` has succeeded.
fn replace(path: &Path, content: &str, before: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let beside = beside(path)?;
    let written =
        write_synced(&beside, path, content).and_then(|()| before()).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

fn write_synced(beside: &Path, old: &Path, content: &str) -> io::Result<()> {
    // A configuration may have keys in it: until it has the rights of the old file, its owner alone may read it.
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(beside)?;
    if let Ok(metadata) = fs::metadata(old) {
        file.set_permissions(metadata.permissions())?;
    }
    file.write_all(content.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::{Action, Grammar};
    use crate::vty::osmocom::samples;
    use crate::{AccessPoint, Bss, EdgeRouter, Ggsn, MobileStation, Sgsn};

    /// Every line that a command permits, alone behind a configuration that is whole: what it has done is written, and read
    /// again as the same. Gives how many lines were taken, and those that were refused.
    fn each_line_is_kept<E: Element>(base: &str) -> (usize, Vec<String>) {
        let grammar = Grammar::<E>::new();
        let (mut taken, mut refused, mut lost) = (0, Vec::new(), Vec::new());
        for node in Node::ALL.iter().copied().filter(|node| node.is_config()) {
            for command in grammar.commands(node) {
                if !matches!(command.action(), Action::Set(_) | Action::Enter(..)) {
                    continue;
                }
                for line in samples(command.pattern()).into_iter().map(|words| words.join(" ")) {
                    let text = format!("{base}{}", node.with_line(&line));
                    let Ok(first) = read::<E>("first", &text) else {
                        refused.push(line);
                        continue;
                    };
                    let written = write::<E>(&first.config);
                    match read::<E>("again", &written) {
                        Ok(again) if again.config == first.config => taken += 1,
                        Ok(_) => lost.push(line),
                        Err(error) => lost.push(format!("{line}: {error}")),
                    }
                }
            }
        }
        assert!(lost.is_empty(), "{}: {lost:#?}", E::NAME);
        (taken, refused)
    }

    #[test]
    fn what_is_configured_is_written_and_read_again() {
        let sgsn = "sgsn\n gtp local-ip 127.0.0.1\n ggsn 0 remote-ip 127.0.0.2\nns\n bind udp local\n  listen 127.0.0.1 23000\n\
                    log stderr\nstats reporter statsd x\nmetrics\nctrl\n";
        let (taken, refused) = each_line_is_kept::<Sgsn>(sgsn);
        // What contradicts the rest, as taking back what is not there, or a policy without its HLR.
        assert!(taken > 250 && refused.len() < 40, "{taken} taken, {}: {refused:#?}", refused.len());
        let (taken, refused) = each_line_is_kept::<Bss>("bss\n remote-ip 192.0.2.1\n local-ip 192.0.2.2\n");
        assert!(taken > 150 && refused.len() < 40, "{taken} taken, {}: {refused:#?}", refused.len());
        let ggsn = "ggsn a\n gtp bind-ip 127.0.0.2\n apn b\n  tun-device t\n  ip prefix dynamic 192.0.2.0/24\n  no shutdown\n no shutdown ggsn\n";
        let (taken, refused) = each_line_is_kept::<Ggsn>(ggsn);
        assert!(taken > 130 && refused.len() < 40, "{taken} taken, {}: {refused:#?}", refused.len());
        let ms = "ms\n cells\n  remote-ip 192.0.2.1\n context a\n context b\n  beside a\n  filter precedence 1 protocol 17\n";
        let (taken, refused) = each_line_is_kept::<MobileStation>(ms);
        assert!(taken > 150 && refused.len() < 40, "{taken} taken, {}: {refused:#?}", refused.len());
        let ap = "ap\n bearer ethernet eth7\n bearer key id 1 key 00112233445566778899aabbccddeeff\n";
        let (taken, refused) = each_line_is_kept::<AccessPoint>(ap);
        assert!(taken > 100 && refused.len() < 40, "{taken} taken, {}: {refused:#?}", refused.len());
        let edge = "edge\n interface a\n interface b\n";
        let (taken, refused) = each_line_is_kept::<EdgeRouter>(edge);
        assert!(taken > 130 && refused.len() < 40, "{taken} taken, {}: {refused:#?}", refused.len());
    }
}
