//! The file of charging records: lines of comma-separated values, in the columns of osmo-sgsn.
//!
//! A thread writes, so that nothing waits for a disk. The file is opened for each batch, so that it can be moved away at any
//! time, and an empty one begins with [`HEADER`]. What cannot be written is tried again each second; what waits meanwhile is
//! bounded, and what is lost beyond that is counted. A disk that never answers holds the thread, and nobody else: whoever
//! gives a file up does not wait for it.

use core::convert::Infallible;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Thread;
use std::time::Instant;

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
    /// Records that found no room to wait, or that still waited when the file was given up and could not be written.
    pub lost: u64,
    /// Why the last attempt failed, where it did.
    pub error: Option<String>,
}

#[derive(Debug, Default)]
struct Shared {
    written: AtomicU64,
    taken: AtomicU64,
    /// Nobody gives records any more.
    is_closed: AtomicBool,
    error: Mutex<Option<String>>,
}

/// What the loop has of the thread. Where it goes it is closed, and the thread goes on by itself.
#[derive(Debug)]
pub struct Writer {
    to: Option<SyncSender<String>>,
    shared: Arc<Shared>,
    lost: u64,
    thread: Thread,
    /// The thread has the other end as long as it runs.
    ended: Receiver<Infallible>,
}

impl Writer {
    /// A thread that appends to a file.
    ///
    /// # Errors
    /// Where the file cannot be opened or is none, with its name; nothing was started then.
    pub fn start(path: &Path) -> io::Result<Self> {
        Self::with_room(path, WAITING_MAX)
    }

    /// The same where the file cannot be opened now: it is tried again each second.
    ///
    /// # Errors
    /// Where there is no thread to be had.
    pub fn start_failing(path: &Path) -> io::Result<Self> {
        Self::unopened(path, WAITING_MAX)
    }

    fn with_room(path: &Path, room: usize) -> io::Result<Self> {
        open(path)?;
        Self::unopened(path, room)
    }

    fn unopened(path: &Path, room: usize) -> io::Result<Self> {
        let (to, records) = sync_channel(room);
        let shared = Arc::new(Shared::default());
        let (told, path) = (Arc::clone(&shared), path.to_owned());
        let (running, ended) = sync_channel(0);
        let thread = std::thread::Builder::new().name("gannet-cdr".to_owned()).spawn(move || {
            let _running: SyncSender<Infallible> = running;
            run(&path, &records, &told);
        })?;
        Ok(Self { to: Some(to), shared, lost: 0, thread: thread.thread().clone(), ended })
    }

    /// Gives a record to the thread, without the end of its line.
    pub fn write(&mut self, record: String) {
        if self.to.as_ref().is_some_and(|to| to.try_send(record).is_ok()) {
            self.shared.taken.fetch_add(1, Ordering::Relaxed);
        } else {
            self.lost += 1;
        }
    }

    /// No more records come: what waits is written once, as far as that goes, and the thread ends. Does not wait for it.
    pub fn close(&mut self) {
        self.to = None;
        self.shared.is_closed.store(true, Ordering::Release);
        self.thread.unpark();
    }

    /// The thread has ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.ended.try_recv() == Err(TryRecvError::Disconnected)
    }

    /// Waits for the end of the thread of a writer that is closed, and no longer than this; true where it has ended.
    #[must_use]
    pub fn wait(&self, patience: Duration) -> bool {
        self.ended.recv_timeout(patience) == Err(RecvTimeoutError::Disconnected)
    }

    /// How it goes.
    #[must_use]
    pub fn status(&self) -> Status {
        // Asked first: what the thread has written it has written before it ended.
        let is_over = self.is_over();
        let written = self.shared.written.load(Ordering::Relaxed);
        let taken = self.shared.taken.load(Ordering::Relaxed);
        // What is inside is a sentence, whoever has panicked over it.
        let error = self.shared.error.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let left = taken.saturating_sub(written);
        let (waiting, given_up) = if is_over { (0, left) } else { (left, 0) };
        Status { written, waiting, lost: self.lost + given_up, error }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.close();
    }
}

/// Opens the file at its end. What is there and is no file is left alone: the opening of a pipe waits for who reads it.
fn open(path: &Path) -> io::Result<File> {
    if std::fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return Err(named(path, &io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")));
    }
    OpenOptions::new().append(true).create(true).open(path).map_err(|error| named(path, &error))
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn run(path: &Path, records: &Receiver<String>, shared: &Shared) {
    let (mut batch, mut count) = (String::new(), 0);
    loop {
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
        // Asked before the attempt: there is one after the end.
        let is_last = shared.is_closed.load(Ordering::Acquire);
        let result = append(path, &batch);
        *shared.error.lock().unwrap_or_else(PoisonError::into_inner) =
            result.as_ref().err().map(ToString::to_string);
        match result {
            Ok(()) => {
                shared.written.fetch_add(count, Ordering::Relaxed);
                batch.clear();
                count = 0;
            }
            Err(_) if is_last => break,
            Err(_) => wait(shared),
        }
    }
}

fn put(record: &str, batch: &mut String, count: &mut u64) {
    batch.push_str(record);
    batch.push('\n');
    *count += 1;
}

/// Waits until it is worth another attempt: for a while, or until there will be no other.
fn wait(shared: &Shared) {
    let until = Instant::now() + AGAIN;
    while !shared.is_closed.load(Ordering::Acquire) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        std::thread::park_timeout(left);
    }
}

/// All of a batch or nothing: where a part of it was written that is taken back.
fn append(path: &Path, batch: &str) -> io::Result<()> {
    let mut file = open(path)?;
    let before = file.metadata().map_err(|error| named(path, &error))?.len();
    let mut text = if before == 0 { format!("{HEADER}\n") } else { String::new() };
    text.push_str(batch);
    file.write_all(text.as_bytes()).map_err(|error| {
        let _ = file.set_len(before);
        named(path, &error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_testkit::TempDir;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn end(mut writer: Writer) -> Status {
        writer.close();
        assert!(writer.wait(PATIENCE), "it does not end");
        writer.status()
    }

    fn until(what: impl Fn() -> bool) {
        let end = Instant::now() + PATIENCE;
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
        end(writer);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{HEADER}\ntwo\nthree\n"));
        let mut writer = Writer::start(&path).unwrap();
        writer.write("four".to_owned());
        end(writer);
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

    /// More than one batch waits, so that the thread asks for none of it while it cannot write.
    fn many_that_wait(directory: &TempDir) -> (Writer, std::path::PathBuf) {
        let place = directory.path().join("there");
        std::fs::create_dir(&place).unwrap();
        let mut writer = Writer::start(&place.join("a.csv")).unwrap();
        std::fs::remove_dir_all(&place).unwrap();
        (0..2000).for_each(|_| writer.write("0".repeat(127)));
        until(|| writer.status().error.is_some());
        (writer, place)
    }

    #[test]
    fn a_writer_that_is_given_up_while_nothing_can_be_written_ends_and_counts_what_is_lost() {
        let directory = TempDir::new("gannet-cdr-given-up");
        let (writer, _) = many_that_wait(&directory);
        assert!(!writer.is_over() && writer.status().waiting == 2000);
        let status = end(writer);
        assert_eq!((status.written, status.waiting, status.lost), (0, 0, 2000));
        assert!(status.error.is_some());
    }

    #[test]
    fn a_writer_that_is_given_up_writes_all_that_waits_where_it_can() {
        let directory = TempDir::new("gannet-cdr-given-up-in-time");
        let (writer, place) = many_that_wait(&directory);
        std::fs::create_dir(&place).unwrap();
        assert_eq!(end(writer), Status { written: 2000, ..Status::default() });
        assert_eq!(std::fs::read_to_string(place.join("a.csv")).unwrap().lines().count(), 2001);
    }

    #[test]
    fn what_is_no_file_is_not_opened() {
        let directory = TempDir::new("gannet-cdr-pipe");
        let pipe = directory.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for path in [pipe.as_path(), Path::new("/dev/null")] {
            let error = Writer::start(path).unwrap_err().to_string();
            assert_eq!(error, format!("{}: not a regular file", path.display()));
        }
    }

    #[test]
    fn a_file_that_cannot_be_opened_at_the_start_is_written_later() {
        let directory = TempDir::new("gannet-cdr-failing");
        let place = directory.path().join("there");
        let mut writer = Writer::start_failing(&place.join("a.csv")).unwrap();
        writer.write("one".to_owned());
        until(|| writer.status().error.is_some());
        std::fs::create_dir(&place).unwrap();
        until(|| writer.status().written == 1);
        assert_eq!(end(writer).error, None);
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_named() {
        let directory = TempDir::new("gannet-cdr-none");
        let error = Writer::start(&directory.path().join("no/where.csv")).unwrap_err();
        assert!(error.to_string().contains("no/where.csv"), "{error}");
    }
}
