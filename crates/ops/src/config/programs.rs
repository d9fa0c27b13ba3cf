//! Files that are not for this program: configurations of another one, and what is no text at all.

use super::{ConfigError, Node};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Sections at the root of a file, and whose they are.
const SECTIONS: &[(&str, &str)] = &[
    ("sgsn", "gannet sgsn"),
    ("ns", "gannet sgsn"),
    ("bssgp", "gannet sgsn"),
    ("ggsn", "gannet ggsn"),
    ("bss", "gannet bss"),
    ("pcu", "osmo-pcu"),
    ("hlr", "osmo-hlr"),
    ("network", "osmo-bsc"),
    ("msc", "osmo-msc"),
    ("bts", "osmo-bts"),
    ("phy", "osmo-bts"),
    ("mgcp", "osmo-mgw"),
    ("gbproxy", "osmo-gbproxy"),
];

/// The program whose section a line at the root opens, where it is not that of this element.
pub(super) fn of_section(words: &[&str], own: &str) -> Option<&'static str> {
    let word = words.first()?;
    let (_, program) = SECTIONS.iter().find(|(section, _)| section == word)?;
    (program.strip_prefix("gannet ") != Some(own)).then_some(*program)
}

/// Whether a node is in the configuration of every program.
pub(super) fn has_every_program(node: Node) -> bool {
    matches!(node, Node::Log | Node::Line | Node::Ctrl | Node::Metrics | Node::Stats | Node::Cs7)
}

/// Octets of the longest configuration: one with a line for each of a hundred thousand subscribers has a tenth of it.
const FILE_MAX: u64 = 64 << 20;

/// What a file says.
///
/// # Errors
/// It cannot be read, is too long, or is no text.
pub(super) fn text_of(path: &Path) -> Result<String, ConfigError> {
    let file = path.display().to_string();
    let failed = |source: io::Error| ConfigError::Io { file: file.clone(), source };
    let mut octets = Vec::new();
    File::open(path).and_then(|file| file.take(FILE_MAX + 1).read_to_end(&mut octets)).map_err(failed)?;
    if let Some((line, octet)) = no_text(&octets) {
        let problem = format!("this is not a text file: octet 0x{octet:02x} in it");
        return Err(ConfigError::Line { file, line, problem, instead: Vec::new() });
    }
    if octets.len() as u64 > FILE_MAX {
        return Err(ConfigError::Whole { file, problem: format!("longer than {} MiB", FILE_MAX >> 20) });
    }
    let text = String::from_utf8_lossy(&octets);
    // Editors of other systems begin files so.
    Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())
}

/// The first octet that no text has, and its line. Letters of any encoding that has those of ASCII are text.
fn no_text(octets: &[u8]) -> Option<(usize, u8)> {
    let is_text = |octet: u8| octet >= b' ' && octet != 0x7f || matches!(octet, b'\t' | b'\n' | b'\r' | 0x0c);
    let place = octets.iter().position(|octet| !is_text(*octet))?;
    let (before, rest) = octets.split_at(place);
    Some((1 + before.iter().filter(|octet| **octet == b'\n').count(), *rest.first()?))
}
