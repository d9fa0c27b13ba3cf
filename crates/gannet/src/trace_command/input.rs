//! Standard input as a capture: files are read more than once, so what comes by a pipe is kept in a file without a name.

use std::cell::OnceCell;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// How standard input is called on the command line.
const NAME: &str = "-";
/// The same as a path, where it is a file.
const ITSELF: &str = "/dev/stdin";

/// What was read of standard input.
#[derive(Debug, Default)]
pub struct Input {
    kept: OnceCell<(PathBuf, Option<File>)>,
}

impl Input {
    /// The paths that are opened for these names: `-` is standard input.
    ///
    /// # Errors
    /// A sentence for the person: `-` is there twice, or what comes cannot be kept.
    pub fn paths(&self, names: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
        let is_input = |name: &&PathBuf| name.as_path() == Path::new(NAME);
        match names.iter().filter(is_input).count() {
            0 => return Ok(names.to_vec()),
            1 => {}
            _ => return Err("standard input (-) can be read once only".to_owned()),
        }
        if self.kept.get().is_none() {
            let kept = keep().map_err(|error| format!("standard input cannot be read: {error}"))?;
            let _ = self.kept.set(kept);
        }
        let path = self.kept.get().map(|(path, _)| path.clone()).unwrap_or_default();
        Ok(names.iter().map(|name| if is_input(&name) { path.clone() } else { name.clone() }).collect())
    }

    /// A path in words: standard input by its name, others as they are.
    pub fn word(&self, path: &Path) -> String {
        let is_input = path == Path::new(NAME) || self.kept.get().is_some_and(|(kept, _)| kept == path);
        if is_input { "standard input".to_owned() } else { path.display().to_string() }
    }
}

/// Standard input as a path, and the file that must stay open for it.
fn keep() -> io::Result<(PathBuf, Option<File>)> {
    let mut input = File::open(ITSELF)?;
    if input.metadata()?.is_file() {
        return Ok((PathBuf::from(ITSELF), None));
    }
    let name = std::env::temp_dir().join(format!("gannet-trace-{}", std::process::id()));
    // A capture has names of subscribers: nobody else may open it.
    let mut kept = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&name)?;
    fs::remove_file(&name)?;
    io::copy(&mut input, &mut kept)?;
    Ok((PathBuf::from(format!("/proc/self/fd/{}", kept.as_raw_fd())), Some(kept)))
}
