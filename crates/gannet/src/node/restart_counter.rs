//! How often a GSN was started: kept in a file, so that its peers see a restart (29.060 clause 11.2).
//!
//! Each node has a file of its own in `gtp state-dir`, by its kind and its address on Gn: `gsn_restart.sgsn.192.0.2.1`, a decimal
//! number. So a directory that an SGSN and a GGSN share has a counter for each. Where that file is not there yet, the node goes on
//! from `gsn_restart`, which is the file of Osmocom's GSNs.
//!
//! What a peer has seen last is unknown where the file cannot be read or written. Any value may be that one, and the peer would then
//! keep contexts that are gone. The counter is then taken from the clock: it differs from the last one in 255 of 256 cases, and a
//! constant would not differ from itself at the next start.

use core::net::IpAddr;
use std::io;
use std::path::{Path, PathBuf};

/// Whose counter it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whose {
    /// `sgsn` or `ggsn`.
    pub node: &'static str,
    /// Its address on Gn.
    pub address: IpAddr,
}

impl Whose {
    fn file(self, directory: &Path) -> PathBuf {
        directory.join(format!("gsn_restart.{}.{}", self.node, self.address))
    }
}

/// The counter of this start, modulo 256; the file then has that of the next one.
///
/// # Errors
/// Where the file cannot be read or written, with the counter to use all the same, which follows from the time of day.
pub fn next(directory: &Path, whose: Whose, now_s: u64) -> Result<u8, (u8, String)> {
    let path = whose.file(directory);
    let old = directory.join("gsn_restart");
    let stored = match read(&path) {
        Ok(None) => read(&old).map(Option::unwrap_or_default).map_err(|why| (&old, why)),
        Ok(Some(stored)) => Ok(stored),
        Err(why) => Err((&path, why)),
    };
    // A counter that is written over a file that cannot be read goes on from the clock's value.
    let (stored, unread) = match stored {
        Ok(stored) => (stored, None),
        Err((path, why)) => (now_s % 256, Some(format!("{}: {why}", path.display()))),
    };
    let unwritten = gannet_ops::config::save(&path, &format!("{}\n", stored.wrapping_add(1)))
        .map_err(|error| format!("{}: {error}", path.display()))
        .err();
    let Some(why) = unread.or(unwritten) else { return Ok(of(stored)) };
    let last = stored.checked_sub(1).map(of);
    let clock = of(now_s);
    // The last value is known where the file can be read.
    let counter = if last == Some(clock) { clock.wrapping_add(1) } else { clock };
    Err((counter, why))
}

/// The counter of the last start; `None` where none is known.
pub fn last(directory: &Path, whose: Whose) -> Option<u8> {
    let next = read(&whose.file(directory)).ok()??;
    next.checked_sub(1).map(of)
}

/// Modulo 256.
fn of(count: u64) -> u8 {
    u8::try_from(count % 256).unwrap_or(0)
}

/// What stands in a file; `None` where there is none.
fn read(path: &Path) -> Result<Option<u64>, String> {
    match std::fs::read(path) {
        Ok(octets) => {
            let text = String::from_utf8_lossy(&octets);
            let number = text.trim().parse().map_err(|_| "there is no number in it".to_owned());
            number.map(Some)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_testkit::TempDir;

    const SGSN: Whose = Whose { node: "sgsn", address: IpAddr::V4(core::net::Ipv4Addr::new(192, 0, 2, 1)) };
    const GGSN: Whose = Whose { node: "ggsn", ..SGSN };
    const NOW_S: u64 = 1000;

    #[test]
    fn it_goes_on_from_start_to_start() {
        let directory = TempDir::new("gannet-restart");
        let (next, last) = (|| next(directory.path(), SGSN, NOW_S), || last(directory.path(), SGSN));
        assert_eq!(last(), None);
        assert_eq!((next(), last()), (Ok(0), Some(0)));
        assert_eq!((next(), last()), (Ok(1), Some(1)));
        std::fs::write(directory.path().join("gsn_restart.sgsn.192.0.2.1"), "255\n").unwrap();
        assert_eq!((next(), next()), (Ok(255), Ok(0)));
        assert_eq!(last(), Some(0));
    }

    /// In one directory, as the examples have it.
    #[test]
    fn nodes_do_not_count_for_each_other() {
        let directory = TempDir::new("gannet-restart");
        let next = |whose| next(directory.path(), whose, NOW_S);
        let elsewhere = Whose { address: "2001:db8::1".parse().unwrap(), ..SGSN };
        assert_eq!([next(SGSN), next(GGSN), next(elsewhere), next(GGSN)], [Ok(0), Ok(0), Ok(0), Ok(1)]);
        assert_eq!(
            [SGSN, GGSN, elsewhere].map(|whose| last(directory.path(), whose)),
            [Some(0), Some(1), Some(0)]
        );
    }

    /// Who has shared a file goes on above what all that shared it have said.
    #[test]
    fn the_former_file_is_gone_on_from() {
        let directory = TempDir::new("gannet-restart");
        std::fs::write(directory.path().join("gsn_restart"), "7\n").unwrap();
        assert_eq!(last(directory.path(), SGSN), None, "whose it was is not known");
        assert_eq!(next(directory.path(), SGSN, NOW_S), Ok(7));
        assert_eq!(next(directory.path(), GGSN, NOW_S), Ok(7));
        assert_eq!((next(directory.path(), SGSN, NOW_S), last(directory.path(), GGSN)), (Ok(8), Some(7)));
    }

    #[test]
    fn what_cannot_be_read_or_written_is_said_and_is_no_constant() {
        let directory = TempDir::new("gannet-restart");
        let path = directory.path().join("gsn_restart.sgsn.192.0.2.1");
        for rubbish in ["rubbish", "", "-1", "\u{0}\u{0}"] {
            std::fs::write(&path, rubbish).unwrap();
            let (counter, why) = next(directory.path(), SGSN, NOW_S).unwrap_err();
            assert_eq!(counter, of(NOW_S));
            assert!(why.contains("gsn_restart.sgsn.192.0.2.1: there is no number in it"), "{why}");
            // From then on it counts again.
            assert_eq!(
                (last(directory.path(), SGSN), next(directory.path(), SGSN, 0)),
                (Some(of(NOW_S)), Ok(of(NOW_S + 1)))
            );
        }
        // Two starts at different times do not look the same where nothing can be written.
        let missing = directory.path().join("missing");
        let counter = |now_s| next(&missing, SGSN, now_s).unwrap_err().0;
        assert_eq!((counter(NOW_S), counter(NOW_S + 5)), (of(NOW_S), of(NOW_S + 5)));
        assert!(next(&missing, SGSN, NOW_S).unwrap_err().1.contains("missing"));
        // Read and not written: it is at least not the last one. A directory stands where the new file is written first.
        let beside = directory.path().join(".gsn_restart.sgsn.192.0.2.1.new");
        std::fs::create_dir(beside).unwrap();
        std::fs::write(&path, format!("{}\n", NOW_S + 1)).unwrap();
        let (counter, _) = next(directory.path(), SGSN, NOW_S).unwrap_err();
        assert_eq!(counter, of(NOW_S + 1));
    }
}
