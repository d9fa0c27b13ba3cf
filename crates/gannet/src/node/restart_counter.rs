//! How often a GSN was started: kept in a file, so that its peers see a restart (29.060 clause 11.2).
//!
//! The file is `gsn_restart` in `gtp state-dir`, a decimal number, as Osmocom's GSNs keep it.

use std::io;
use std::path::Path;

/// The counter of this start, modulo 256; the file then has that of the next one.
///
/// # Errors
/// Where the file cannot be read or written: the peers will not see the restart.
pub fn next(directory: &Path) -> Result<u8, String> {
    let path = directory.join("gsn_restart");
    let say = |error: io::Error| format!("{}: {error}; the restart counter of GTP stays 0", path.display());
    let stored = match std::fs::read_to_string(&path) {
        Ok(text) => text.trim().parse::<u64>().unwrap_or(0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(say(error)),
    };
    gannet_ops::config::save(&path, &format!("{}\n", stored.wrapping_add(1))).map_err(say)?;
    Ok(u8::try_from(stored % 256).unwrap_or(0))
}

/// The counter of the last start; `None` where none is known.
pub fn last(directory: &Path) -> Option<u8> {
    let text = std::fs::read_to_string(directory.join("gsn_restart")).ok()?;
    let next = text.trim().parse::<u64>().ok()?;
    u8::try_from(next.checked_sub(1)? % 256).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_from_start_to_start() {
        let directory = gannet_testkit::TempDir::new("gannet-restart");
        assert_eq!(last(directory.path()), None);
        assert_eq!((next(directory.path()), last(directory.path())), (Ok(0), Some(0)));
        assert_eq!((next(directory.path()), last(directory.path())), (Ok(1), Some(1)));
        std::fs::write(directory.path().join("gsn_restart"), "255\n").unwrap();
        assert_eq!((next(directory.path()), next(directory.path())), (Ok(255), Ok(0)));
        assert_eq!(last(directory.path()), Some(0));
        std::fs::write(directory.path().join("gsn_restart"), "rubbish").unwrap();
        assert_eq!(next(directory.path()), Ok(0));
        assert!(next(&directory.path().join("missing")).unwrap_err().contains("gsn_restart"));
    }
}
