//! The file of charging records: lines of comma-separated values, in the columns of osmo-sgsn.
//!
//! A thread writes, so that nothing waits for a disk. The file is opened for each batch, so that it can be moved away at any
//! time, and an empty one begins with [`HEADER`]. What cannot be written is tried again each second; what waits meanwhile is
//! bounded, and what is lost beyond that is counted.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// The first line of a file: what stands in the columns. Those from the duration on are there for PDP contexts only.
pub const HEADER: &str = "timestamp,imsi,imei,msisdn,cell_id,lac,hlr,event,pdp_duration,ggsn_addr,sgsn_addr,apni,\
                          eua_addr,vol_in,vol_out,charging_id";

/// Records that may wait for the disk, some 8 MiB.
const WAITING_MAX: usize = 1 << 16;
/// Octets that are written in one go.
const BATCH_OCTETS: usize = 1 << 16;
/// How long it waits until it tries again.
const AGAIN: Duration = Duration::from_secs(1);

/// How the writing goes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// Records that are in the file.
    pub written: u64,
    /// Records that are on their way to it.
    pub waiting: u64,
    /// Records that found no room to wait.
    pub lost: u64,
    /// Why the last attempt failed, where it did.
    pub error: Option<String>,
}

#[derive(Debug, Default)]
struct Shared {
    written: AtomicU64,
    taken: AtomicU64,
    error: Mutex<Option<String>>,
}

/// What the loop has of the thread. Where it goes, what waits is still written, once.
#[derive(Debug)]
pub struct Writer {
    to: Option<SyncSender<String>>,
    shared: Arc<Shared>,
    lost: u64,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// A thread that appends to a file.
    ///
    /// # Errors
    /// Where the file cannot be opened, with its name; nothing was started then.
    pub fn start(path: &Path) -> io::Result<Self> {
        Self::with_room(path, WAITING_MAX)
    }

    fn with_room(path: &Path, room: usize) -> io::Result<Self> {
        open(path)?;
        let (to, records) = sync_channel(room);
        let shared = Arc::new(Shared::default());
        let (told, path) = (Arc::clone(&shared), path.to_owned());
        let thread = std::thread::Builder::new()
            .name("gannet-cdr".to_owned())
            .spawn(move || run(&path, &records, &told))?;
        Ok(Self { to: Some(to), shared, lost: 0, thread: Some(thread) })
    }

    /// Gives a record to the thread, without the end of its line.
    pub fn write(&mut self, record: String) {
        let Some(to) = &self.to else { return };
        if to.try_send(record).is_ok() {
            self.shared.taken.fetch_add(1, Ordering::Relaxed);
        } else {
            self.lost += 1;
        }
    }

    /// How it goes.
    #[must_use]
    pub fn status(&self) -> Status {
        let written = self.shared.written.load(Ordering::Relaxed);
        let taken = self.shared.taken.load(Ordering::Relaxed);
        // What is inside is a sentence, whoever has panicked over it.
        let error = self.shared.error.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Status { written, waiting: taken.saturating_sub(written), lost: self.lost, error }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.to = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Opens the file at its end.
fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().append(true).create(true).open(path);
    file.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

fn run(path: &Path, records: &Receiver<String>, shared: &Shared) {
    let (mut batch, mut count) = (String::new(), 0);
    let mut is_over = false;
    while !is_over || count > 0 {
        // Whoever had an error before does not ask for more at once.
        if count == 0 {
            match records.recv() {
                Ok(record) => put(&record, &mut batch, &mut count),
                Err(_) => break,
            }
        }
        while batch.len() < BATCH_OCTETS {
            let Ok(record) = records.try_recv() else { break };
            put(&record, &mut batch, &mut count);
        }
        let result = append(path, &batch);
        *shared.error.lock().unwrap_or_else(PoisonError::into_inner) =
            result.as_ref().err().map(ToString::to_string);
        match result {
            Ok(()) => {
                shared.written.fetch_add(count, Ordering::Relaxed);
                batch.clear();
                count = 0;
            }
            Err(_) if is_over => break,
            Err(_) => is_over = wait(records, &mut batch, &mut count),
        }
    }
}

fn put(record: &str, batch: &mut String, count: &mut u64) {
    batch.push_str(record);
    batch.push('\n');
    *count += 1;
}

/// Waits until it is worth another attempt; true where nobody is left who would give records.
fn wait(records: &Receiver<String>, batch: &mut String, count: &mut u64) -> bool {
    if batch.len() >= BATCH_OCTETS {
        std::thread::sleep(AGAIN);
        return false;
    }
    match records.recv_timeout(AGAIN) {
        Ok(record) => {
            put(&record, batch, count);
            std::thread::sleep(AGAIN);
            false
        }
        Err(RecvTimeoutError::Timeout) => false,
        Err(RecvTimeoutError::Disconnected) => true,
    }
}

/// All of a batch or nothing: where a part of it was written that is taken back.
fn append(path: &Path, batch: &str) -> io::Result<()> {
    let mut file = open(path)?;
    let before = file.metadata()?.len();
    let mut text = if before == 0 { format!("{HEADER}\n") } else { String::new() };
    text.push_str(batch);
    file.write_all(text.as_bytes()).inspect_err(|_| {
        let _ = file.set_len(before);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_testkit::TempDir;
    use std::time::Instant;

    fn until(what: impl Fn() -> bool) {
        let end = Instant::now() + Duration::from_secs(60);
        while !what() {
            assert!(Instant::now() < end, "it takes too long");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn records_are_appended_and_a_file_that_was_moved_away_begins_anew() {
        let directory = TempDir::new("gannet-cdr-append");
        let path = directory.path().join("a.csv");
        let mut writer = Writer::start(&path).unwrap();
        writer.write("one".to_owned());
        until(|| writer.status().written == 1);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{HEADER}\none\n"));
        std::fs::rename(&path, directory.path().join("b.csv")).unwrap();
        writer.write("two".to_owned());
        writer.write("three".to_owned());
        drop(writer);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{HEADER}\ntwo\nthree\n"));
        let mut writer = Writer::start(&path).unwrap();
        writer.write("four".to_owned());
        drop(writer);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{HEADER}\ntwo\nthree\nfour\n"));
    }

    #[test]
    fn what_cannot_be_written_waits_within_bounds_and_is_written_later() {
        let directory = TempDir::new("gannet-cdr-again");
        let place = directory.path().join("there");
        std::fs::create_dir(&place).unwrap();
        let path = place.join("a.csv");
        let mut writer = Writer::with_room(&path, 4).unwrap();
        std::fs::remove_dir_all(&place).unwrap();
        (0..100).for_each(|number| writer.write(number.to_string()));
        let status = writer.status();
        assert!(status.lost > 0 && status.waiting > 0 && status.written == 0, "{status:?}");
        until(|| writer.status().error.is_some_and(|error| error.contains("a.csv")));
        std::fs::create_dir(&place).unwrap();
        until(|| writer.status().waiting == 0);
        let status = writer.status();
        assert_eq!((status.written + status.lost, status.error), (100, None));
        let written = std::fs::read_to_string(&path).unwrap();
        assert!(written.starts_with(&format!("{HEADER}\n0\n1\n")), "{written}");
        assert_eq!(written.lines().count() as u64, 1 + status.written);
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_named() {
        let directory = TempDir::new("gannet-cdr-none");
        let error = Writer::start(&directory.path().join("no/where.csv")).unwrap_err();
        assert!(error.to_string().contains("no/where.csv"), "{error}");
    }
}
