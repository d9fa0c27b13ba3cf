//! A capture for whoever watches a node: programs on this machine that may open a socket of the file system.
//!
//! Each watcher gets a capture of its own, from the moment at which it connects. One that does not take its octets in time misses packets,
//! and the others do not.

use super::block;
use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Octets that may wait for one watcher.
const WAITING_MAX: usize = 4 << 20;
/// Watchers at the same time.
const WATCHERS_MAX: usize = 8;
/// A watcher that takes nothing for so long is let go.
const PATIENCE: Duration = Duration::from_secs(10);

/// What waits for one watcher.
#[derive(Debug, Default)]
struct Waiting {
    octets: Vec<u8>,
    is_over: bool,
}

#[derive(Debug, Default)]
struct Watcher {
    waiting: Mutex<Waiting>,
    work: Condvar,
}

#[derive(Debug, Default)]
struct Shared {
    /// Section and interfaces so far.
    preamble: Vec<u8>,
    watchers: Vec<Arc<Watcher>>,
}

/// The socket, and those who watch. Octets that are written to it are whole blocks.
#[derive(Debug)]
pub(super) struct Watchers {
    path: PathBuf,
    shared: Arc<Mutex<Shared>>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watchers {
    /// Makes the socket, which its owner and its group may open. A socket that nobody listens to any more gives way.
    pub(super) fn listen(path: &Path) -> io::Result<Self> {
        if fs::symlink_metadata(path).is_ok_and(|there| there.file_type().is_socket())
            && UnixStream::connect(path).is_err()
        {
            fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, Permissions::from_mode(0o660))?;
        let shared = Arc::new(Mutex::new(Shared::default()));
        let its = Arc::downgrade(&shared);
        std::thread::Builder::new().name("watchers".to_owned()).spawn(move || {
            for stream in listener.incoming() {
                let Some(shared) = its.upgrade() else { break };
                let Ok(stream) = stream else { continue };
                admit(&mut lock(&shared), stream);
            }
        })?;
        Ok(Self { path: path.to_owned(), shared })
    }
}

/// One more watcher, with a thread that gives it what waits.
fn admit(shared: &mut Shared, stream: UnixStream) {
    shared.watchers.retain(|watcher| !lock(&watcher.waiting).is_over);
    if shared.watchers.len() == WATCHERS_MAX {
        return;
    }
    let watcher = Arc::new(Watcher::default());
    lock(&watcher.waiting).octets.clone_from(&shared.preamble);
    let its = Arc::clone(&watcher);
    let spawned = std::thread::Builder::new().name("watcher".to_owned()).spawn(move || {
        let _ = stream.set_write_timeout(Some(PATIENCE));
        serve(&its, stream);
        lock(&its.waiting).is_over = true;
    });
    if spawned.is_ok() {
        shared.watchers.push(watcher);
    }
}

fn serve(watcher: &Watcher, mut stream: UnixStream) {
    let mut taken = Vec::new();
    loop {
        let mut waiting = lock(&watcher.waiting);
        while waiting.octets.is_empty() {
            if waiting.is_over {
                return;
            }
            waiting = watcher.work.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        core::mem::swap(&mut taken, &mut waiting.octets);
        drop(waiting);
        if stream.write_all(&taken).is_err() {
            return;
        }
        taken.clear();
    }
}

impl Write for Watchers {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let mut shared = lock(&self.shared);
        let before = shared.preamble.len();
        let mut run = 0;
        while let Some((kind, len, _)) = octets.get(run..).and_then(block::first) {
            let Some(block) = octets.get(run..run + len).filter(|block| !block.is_empty()) else { break };
            if matches!(kind, block::SECTION | block::INTERFACE) {
                shared.preamble.extend_from_slice(block);
            }
            run += len;
        }
        let described = shared.preamble.get(before..).unwrap_or_default().to_vec();
        for watcher in &shared.watchers {
            let mut waiting = lock(&watcher.waiting);
            if waiting.is_over {
                continue;
            }
            if waiting.octets.len() + octets.len() <= WAITING_MAX {
                waiting.octets.extend_from_slice(octets);
            } else {
                // Packets may be missing; what numbers interfaces may not.
                waiting.octets.extend_from_slice(&described);
            }
            drop(waiting);
            watcher.work.notify_one();
        }
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Watchers {
    fn drop(&mut self) {
        for watcher in &lock(&self.shared).watchers {
            lock(&watcher.waiting).is_over = true;
            watcher.work.notify_one();
        }
        // Where it cannot be removed, the next node of this configuration does.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use crate::pcapng::{Direction, LinkType, Reader, Recorder, Section};
    use gannet_testkit::TempDir;
    use std::fs::{self, Permissions};
    use std::io::{Cursor, Read as _};
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::time::{Duration, Instant};

    const PATIENCE: Duration = Duration::from_secs(60);

    fn payloads(octets: Vec<u8>) -> Vec<Vec<u8>> {
        let records = Reader::new(Cursor::new(octets)).expect("a capture");
        records.map_while(Result::ok).map(|record| record.packet).collect()
    }

    fn watch(path: &std::path::Path) -> UnixStream {
        let begun = Instant::now();
        loop {
            match UnixStream::connect(path) {
                Ok(stream) => {
                    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
                    return stream;
                }
                Err(error) => assert!(begun.elapsed() < PATIENCE, "{error}"),
            }
        }
    }

    #[test]
    fn each_watcher_has_a_capture_from_when_it_came() {
        let directory = TempDir::new("gannet-watchers");
        let path = directory.path().join("node.trace");
        let mut recorder = Recorder::to_socket(&path, &Section::default()).expect("a socket");
        assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o660);
        let one = recorder.add_interface("Gi", LinkType::Raw, "", "");
        recorder.ip(one, 1, Direction::In, b"before anybody watches");
        recorder.flush().expect("flushed");
        let mut early = watch(&path);
        // It is admitted by another thread: until then nothing is for it.
        let mut head = [0; 28];
        early.read_exact(&mut head).expect("the section");
        let two = recorder.add_interface("Gn", LinkType::Raw, "", "");
        recorder.ip(two, 2, Direction::Out, b"seen by one");
        recorder.flush().expect("flushed");
        let mut late = watch(&path);
        let mut section = [0; 28];
        late.read_exact(&mut section).expect("the section");
        recorder.ip(one, 3, Direction::In, b"seen by both");
        recorder.flush().expect("flushed");
        drop(recorder);
        assert!(!path.exists(), "the socket goes with its capture");
        let rest = |mut stream: UnixStream, head: [u8; 28]| {
            let mut octets = head.to_vec();
            stream.read_to_end(&mut octets).expect("all of it");
            payloads(octets)
        };
        assert_eq!(rest(early, head), [b"seen by one".to_vec(), b"seen by both".to_vec()]);
        assert_eq!(rest(late, section), [b"seen by both".to_vec()]);
    }

    #[test]
    fn one_who_does_not_read_makes_nobody_wait() {
        let directory = TempDir::new("gannet-watchers");
        let path = directory.path().join("node.trace");
        let mut recorder = Recorder::to_socket(&path, &Section::default()).expect("a socket");
        let one = recorder.add_interface("Gi", LinkType::Raw, "", "");
        recorder.flush().expect("flushed");
        let mut sleeper = watch(&path);
        let mut head = [0; 28];
        sleeper.read_exact(&mut head).expect("it is admitted");
        for at in 0..20_000 {
            recorder.ip(one, at, Direction::In, &[7; 1400]);
            if at % 500 == 0 {
                recorder.flush().expect("nobody waits for it");
            }
        }
        recorder.flush().expect("flushed");
        assert_eq!(recorder.lost(), 0, "what a watcher misses is no loss of the capture");
    }

    #[test]
    fn a_socket_that_nobody_listens_to_gives_way_and_others_do_not() {
        let directory = TempDir::new("gannet-watchers");
        let path = directory.path().join("node.trace");
        drop(UnixListener::bind(&path).expect("a socket"));
        let first = Recorder::to_socket(&path, &Section::default()).expect("the old one gives way");
        let error = Recorder::to_socket(&path, &Section::default()).expect_err("another one listens");
        assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
        drop(first);
        fs::write(&path, "a file of somebody").expect("a file");
        assert!(Recorder::to_socket(&path, &Section::default()).is_err());
        assert_eq!(fs::read_to_string(&path).expect("it stays"), "a file of somebody");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("its owner's");
    }
}
