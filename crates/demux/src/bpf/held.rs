//! Which of the kernel's programs and maps a process holds, and which of these are still there when it is gone.

use std::collections::BTreeSet;
use std::io;

/// Programs and maps by their identifiers, which the kernel gives in turn and not soon again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Held {
    /// Programs, attached or not.
    pub programs: BTreeSet<u32>,
    /// Maps.
    pub maps: BTreeSet<u32>,
}

impl Held {
    /// What the open descriptors of a process say. Reading another process needs the right to trace it.
    ///
    /// # Errors
    /// Where there is no such process, or it may not be looked at.
    pub fn by(pid: u32) -> io::Result<Self> {
        let mut held = Self::default();
        for entry in std::fs::read_dir(format!("/proc/{pid}/fdinfo"))? {
            // A descriptor may be closed meanwhile.
            let Ok(text) = std::fs::read_to_string(entry?.path()) else { continue };
            held.programs.extend(number(&text, "prog_id:"));
            held.maps.extend(number(&text, "map_id:"));
        }
        Ok(held)
    }

    /// Those that still exist.
    #[must_use]
    pub fn left(&self) -> Self {
        let programs = aya::programs::loaded_programs().filter_map(Result::ok).map(|program| program.id());
        let maps = aya::maps::loaded_maps().filter_map(Result::ok).map(|map| map.id());
        Self {
            programs: programs.filter(|id| self.programs.contains(id)).collect(),
            maps: maps.filter(|id| self.maps.contains(id)).collect(),
        }
    }

    /// None of either.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.programs.is_empty() && self.maps.is_empty()
    }
}

fn number(text: &str, name: &str) -> Option<u32> {
    text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_say_what_they_are() {
        assert_eq!(number("pos:\t0\nflags:\t02000002\nmap_type:\t2\nmap_id:\t17\n", "map_id:"), Some(17));
        assert_eq!(number("pos:\t0\n", "map_id:"), None);
    }

    #[test]
    fn a_process_without_programs_holds_none() {
        assert!(Held::by(std::process::id()).is_ok_and(|held| held.is_empty() && held.left().is_empty()));
        assert!(Held::by(u32::MAX).is_err());
    }
}
