//! Settings of the kernel that are changed while something is measured, and put back when that is over.
//!
//! What was there before is written down first (in `/run/gannet-lab`), so that whoever starts next puts it back where a
//! laboratory was killed: [`put_back_leftovers`].

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::path::{Path, PathBuf};

/// Where former values are written down.
const NOTES: &str = "/run/gannet-lab";

/// A setting that has another value as long as this lives.
#[derive(Debug)]
pub struct Changed {
    path: PathBuf,
    before: String,
    note: PathBuf,
}

impl Changed {
    /// Changes it; `None` where the kernel does not have it or refuses.
    #[must_use]
    pub fn make(path: &Path, value: &str) -> Option<Self> {
        let before = std::fs::read_to_string(path).ok()?;
        Self::make_from(path, before.trim(), value, Path::new(NOTES))
    }

    /// The same of one that has to be put back in other words than it is read in.
    #[must_use]
    pub fn make_worded(path: &Path, before: &str, value: &str) -> Option<Self> {
        Self::make_from(path, before, value, Path::new(NOTES))
    }

    fn make_from(path: &Path, before: &str, value: &str, notes: &Path) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
        let this = Self { path: path.to_owned(), before: before.to_owned(), note: notes.join(name) };
        // Where nothing can be written down it is changed all the same: only a SIGKILL would leave it so.
        let _ = std::fs::create_dir_all(notes);
        let _ = std::fs::write(&this.note, format!("{}\n{before}\n", path.display()));
        let is_changed = std::fs::write(path, value).is_ok();
        is_changed.then_some(this)
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        // There is nobody left to tell.
        let _ = std::fs::write(&self.path, &self.before);
        let _ = std::fs::remove_file(&self.note);
    }
}

/// Does a process of this program have this number? One that was killed and not yet waited for has no command line.
pub(crate) fn is_ours(pid: u32) -> bool {
    let name = std::env::args_os().next().map(PathBuf::from);
    let name = name.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let command = String::from_utf8_lossy(&command).into_owned();
    let program = command.split('\0').next().and_then(|path| Path::new(path).file_name()?.to_str());
    // Also one that was installed under another name.
    program.is_some_and(|program| program.starts_with("gannet") || name.as_deref() == Some(program))
}

/// Puts back what laboratories have changed that are no longer there.
pub fn put_back_leftovers() {
    put_back_from(Path::new(NOTES));
}

fn put_back_from(notes: &Path) {
    let Ok(entries) = std::fs::read_dir(notes) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.split('-').next().and_then(|pid| pid.parse().ok());
        if pid.is_none_or(is_ours) {
            continue;
        }
        let note = std::fs::read_to_string(entry.path()).unwrap_or_default();
        if let Some((path, before)) = note.trim_end().split_once('\n') {
            // What is no longer there needs no value.
            let _ = std::fs::write(path, before);
        }
        let _ = std::fs::remove_file(entry.path());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;
    use gannet_testkit::TempDir;

    #[test]
    fn what_was_there_comes_back_also_after_a_kill() {
        let directory = TempDir::new("settings");
        let (file, notes) = (directory.path().join("value"), directory.path().join("notes"));
        let read = || std::fs::read_to_string(&file).unwrap();
        let count = || std::fs::read_dir(&notes).unwrap().count();
        std::fs::write(&file, "950000").unwrap();
        let changed = Changed::make_from(&file, "950000", "-1", &notes).unwrap();
        assert_eq!((read().as_str(), count()), ("-1", 1));
        put_back_from(&notes);
        assert_eq!((read().as_str(), count()), ("-1", 1), "who changed it is still there");
        drop(changed);
        assert_eq!((read().as_str(), count()), ("950000", 0));
        // No process has the number 0.
        std::fs::write(&file, "-1").unwrap();
        std::fs::write(notes.join("0-7"), format!("{}\n950000\n", file.display())).unwrap();
        std::fs::write(notes.join("something else"), "").unwrap();
        put_back_from(&notes);
        assert_eq!((read().as_str(), count()), ("950000", 1));
        assert!(Changed::make(Path::new("/proc/there/is/no/such/file"), "1").is_none());
    }
}
