//! Where blocks go: one file, files in turn, or whatever takes octets.

use super::block;
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The rights of those who are neither the file's owner nor of its group.
const OF_OTHERS: u32 = 0o007;
/// Files have numbers of five digits.
const NUMBERS: u32 = 100_000;

/// Opens an empty file of our own that nobody but its owner and its group may read: GSUP has the keys of subscribers in it. What
/// is no regular file stays as it is.
pub(crate) fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(path)?;
    let there = file.metadata()?;
    if !there.is_file() {
        return Ok(file);
    }
    if Some(there.uid()) != effective_user() {
        fs::remove_file(path)?;
        return options.create_new(true).open(path);
    }
    let mode = there.permissions().mode();
    if mode & OF_OTHERS != 0 {
        file.set_permissions(Permissions::from_mode(mode & !OF_OTHERS))?;
    }
    file.set_len(0)?;
    Ok(file)
}

/// As the kernel shows it: a process with capabilities of its file does not own its own directory in `/proc`.
fn effective_user() -> Option<u32> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users.split_whitespace().nth(1)?.parse().ok()
}

/// How files follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ring {
    /// Octets of one file, at the most: 10^6 for each MB. A file has one packet in any case.
    pub size: Option<u64>,
    /// Seconds between the first and the last packet of one file, at the most.
    pub seconds: Option<u64>,
    /// Files that are kept: the oldest goes before a new one is begun.
    pub files: usize,
}

/// Files in turn. Each is a capture of its own: it begins with the section and the interfaces of those before.
///
/// Their names are those of dumpcap, which Wireshark knows as one set: `x.pcapng` becomes `x_00001_20261128050000.pcapng`, with the
/// time (UTC) of the first packet. Files of such names that are there already, from a run before, count as the oldest of the ring.
#[derive(Debug)]
pub(super) struct Files {
    base: PathBuf,
    ring: Ring,
    file: Option<File>,
    /// Files of the ring, from the oldest on.
    names: VecDeque<PathBuf>,
    number: u32,
    /// Section and interfaces so far.
    preamble: Vec<u8>,
    /// Octets of it that the file has.
    lead: usize,
    /// Octets of the file, and those of blocks that it has begun to take.
    written: u64,
    owed: usize,
    /// The time of the file's first packet.
    began_ns: Option<u64>,
}

impl Files {
    /// Begins the first file.
    pub(super) fn create(base: &Path, ring: Ring, now_ns: u64) -> io::Result<Self> {
        if base.file_name().is_none() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "no name of a file"));
        }
        let names = former(base)?;
        let number = names.back().and_then(|path| number_of(base, path)).map_or(0, |(_, number)| number);
        let mut files = Self {
            base: base.to_owned(),
            ring,
            file: None,
            names,
            number,
            preamble: Vec::new(),
            lead: 0,
            written: 0,
            owed: 0,
            began_ns: None,
        };
        files.begin(now_ns)?;
        Ok(files)
    }

    /// The next file; the oldest goes before, as its room may be needed.
    fn begin(&mut self, at_ns: u64) -> io::Result<()> {
        self.file = None;
        while self.names.len() >= self.ring.files.max(1) {
            let Some(oldest) = self.names.pop_front() else { break };
            match fs::remove_file(&oldest) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    self.names.push_front(oldest);
                    return Err(error);
                }
                _ => {}
            }
        }
        let number = (self.number + 1) % NUMBERS;
        let path = named(&self.base, number, at_ns);
        self.file = Some(private(&path)?);
        self.names.push_back(path);
        (self.number, self.lead, self.written, self.began_ns) = (number, 0, 0, None);
        Ok(())
    }

    /// A packet of this length and time belongs into the next file.
    fn is_full(&self, ahead: usize, len: usize, at_ns: u64) -> bool {
        let Some(began_ns) = self.began_ns else { return false };
        let octets = self.written + (ahead + len) as u64;
        let size = self.ring.size.is_some_and(|size| octets > size);
        let limit_ns = self.ring.seconds.map(|seconds| seconds.saturating_mul(1_000_000_000));
        size || limit_ns.is_some_and(|limit| at_ns.saturating_sub(began_ns) >= limit)
    }

    /// How many of these octets, which begin with a block, go into the present file: whole blocks. None of them where a new file
    /// has to be begun, for a packet of that time.
    fn share(&mut self, octets: &[u8]) -> Result<usize, u64> {
        let mut run = 0;
        while let Some((kind, len, time)) = octets.get(run..).and_then(block::first) {
            match (kind, time) {
                (block::SECTION | block::INTERFACE, _) => {
                    self.preamble.extend_from_slice(octets.get(run..run + len).unwrap_or_default());
                    // This file has it where it stands.
                    self.lead = self.preamble.len();
                }
                (_, Some(at_ns)) if self.is_full(run, len, at_ns) => {
                    return if run == 0 { Err(at_ns) } else { Ok(run) };
                }
                (_, Some(at_ns)) => {
                    self.began_ns.get_or_insert(at_ns);
                }
                _ => {}
            }
            run += len;
        }
        Ok(run.min(octets.len()))
    }

    fn lead_in(&mut self) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        while let Some(rest) = self.preamble.get(self.lead..).filter(|rest| !rest.is_empty()) {
            let count = some(file.write(rest))?;
            self.lead += count;
            self.written += count as u64;
        }
        Ok(())
    }
}

/// Nothing taken is an error too.
fn some(result: io::Result<usize>) -> io::Result<usize> {
    match result {
        Ok(0) => Err(ErrorKind::WriteZero.into()),
        other => other,
    }
}

impl Write for Files {
    /// Takes whole blocks, possibly a part of the last: that goes on where it stopped. `octets` go on where the last count ended.
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        if self.owed == 0 {
            loop {
                if self.file.is_some() {
                    self.lead_in()?;
                }
                match self.share(octets) {
                    Ok(run) => break self.owed = run,
                    Err(at_ns) => self.begin(at_ns)?,
                }
            }
        }
        let Some(file) = &mut self.file else { return Err(ErrorKind::NotFound.into()) };
        let count = some(file.write(octets.get(..self.owed).unwrap_or(octets)))?;
        self.owed -= count;
        self.written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

/// The name of a file of a ring.
fn named(base: &Path, number: u32, at_ns: u64) -> PathBuf {
    let stem = base.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut name = format!("{stem}_{number:05}_{}", digits_of(at_ns / 1_000_000_000));
    if let Some(extension) = base.extension() {
        name.push('.');
        name.push_str(&extension.to_string_lossy());
    }
    base.with_file_name(name)
}

/// Time and number in the name of a file of this ring.
fn number_of(base: &Path, path: &Path) -> Option<(u64, u32)> {
    if path.extension() != base.extension() {
        return None;
    }
    let stem = path.file_stem().map(OsStr::to_string_lossy)?;
    let rest = stem.strip_prefix(&*base.file_stem()?.to_string_lossy())?.strip_prefix('_')?;
    let (number, time) = rest.split_once('_')?;
    let is_name =
        number.len() == 5 && time.len() == 14 && rest.bytes().filter(u8::is_ascii_digit).count() == 19;
    if is_name { Some((time.parse().ok()?, number.parse().ok()?)) } else { None }
}

/// Files of a ring of this name that are there, from the oldest on.
fn former(base: &Path) -> io::Result<VecDeque<PathBuf>> {
    let directory = base.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = base.with_file_name(entry?.file_name());
        if let Some(key) = number_of(base, &path) {
            found.push((key, path));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// Date and time of day (UTC) as fourteen digits, from seconds since the beginning of 1970.
fn digits_of(unix_s: u64) -> String {
    let (days, second) = (unix_s / 86_400, unix_s % 86_400);
    // Days since the first of March of the year 0, in eras of 400 years.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let of_era = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * of_era + of_era / 4 - of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}{month:02}{day:02}{:02}{:02}{:02}", second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_dumpcap() {
        let base = Path::new("/var/trace/sgsn.pcapng");
        let path = named(base, 7, 1_700_000_000_123_456_789);
        assert_eq!(path, Path::new("/var/trace/sgsn_00007_20231114221320.pcapng"));
        assert_eq!(number_of(base, &path), Some((20_231_114_221_320, 7)));
        for other in ["sgsn.pcapng", "sgsn_7_20231114221320.pcapng", "sgsn_00007_20231114221320.txt"] {
            assert_eq!(number_of(base, &base.with_file_name(other)), None, "{other}");
        }
        assert_eq!(number_of(base, &base.with_file_name("sgsn_0000x_20231114221320.pcapng")), None);
    }

    #[test]
    fn days_are_counted_over_leap_years() {
        assert_eq!(digits_of(0), "19700101000000");
        assert_eq!(digits_of(951_782_399), "20000228235959");
        assert_eq!(digits_of(951_782_400), "20000229000000");
        assert_eq!(digits_of(4_107_542_399), "21000228235959");
        assert_eq!(digits_of(4_107_542_400), "21000301000000");
    }
}
