//! Lines of text into a file, by a thread of its own.
//!
//! [`LineWriter::write`] never waits for the disk. What finds the buffer full is lost, and a line `lost N`, N in octets, stands
//! in its place. A file that takes nothing ends the recording: lines behind a hole are of no use.

use crate::pcapng::private;
use core::fmt;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Octets that may wait for the disk.
const LIMIT: usize = 16 << 20;
/// How long lines may be gathered before they are written.
const GATHER: Duration = Duration::from_millis(50);

/// Writes lines. Dropping it writes what is left and closes the file.
pub struct LineWriter {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Default)]
struct State {
    text: String,
    /// Octets that were lost, in all and since something was taken.
    lost: u64,
    lost_here: u64,
    failure: Option<String>,
    closing: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How it goes, for who has given the writer away.
#[derive(Clone)]
pub struct LineStatus(Arc<Shared>);

impl LineStatus {
    /// Octets that are missing in the file.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.0.lock().lost
    }

    /// Why the file takes nothing any more.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.0.lock().failure.clone()
    }
}

impl LineWriter {
    /// A new file, which its owner alone may read; an existing one is overwritten, as [`crate::pcapng::Recorder::create`] does.
    ///
    /// # Errors
    /// Where the file or the thread cannot be made.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = private(path)?;
        let shared = Arc::new(Shared::default());
        let its = Arc::clone(&shared);
        let thread =
            std::thread::Builder::new().name("lines".to_owned()).spawn(move || write_out(&its, file))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// How it goes.
    #[must_use]
    pub fn status(&self) -> LineStatus {
        LineStatus(Arc::clone(&self.shared))
    }

    /// Takes whole lines, all of them or none.
    pub fn write(&mut self, text: &str) {
        let mut state = self.shared.lock();
        if state.failure.is_some() || state.text.len() + text.len() > LIMIT {
            state.lost += text.len() as u64;
            state.lost_here += text.len() as u64;
            return;
        }
        let wake = state.text.is_empty();
        let missing = core::mem::take(&mut state.lost_here);
        if missing > 0 {
            state.text.push_str(&format!("lost {missing}\n"));
        }
        state.text.push_str(text);
        drop(state);
        if wake {
            self.shared.work.notify_one();
        }
    }
}

impl Drop for LineWriter {
    fn drop(&mut self) {
        self.shared.lock().closing = true;
        self.shared.work.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for LineWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LineWriter({} octets lost)", self.shared.lock().lost)
    }
}

impl fmt::Debug for LineStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LineStatus({} octets lost)", self.lost())
    }
}

fn write_out(shared: &Shared, mut file: File) {
    let mut state = shared.lock();
    loop {
        let idle = |state: &mut State| state.text.is_empty() && !state.closing;
        state = shared.work.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner);
        let gathering = |state: &mut State| !state.closing;
        let waited = shared.work.wait_timeout_while(state, GATHER, gathering);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
        let mut text = core::mem::take(&mut state.text);
        let closing = state.closing;
        if closing && state.lost_here > 0 {
            text.push_str(&format!("lost {}\n", state.lost_here));
        }
        drop(state);
        let result = file.write_all(text.as_bytes());
        state = shared.lock();
        if let Err(error) = result {
            state.lost += (text.len() + state.text.len()) as u64;
            state.text.clear();
            state.failure.get_or_insert(error.to_string());
        }
        if closing {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_testkit::TempDir;

    #[test]
    fn lines_arrive_in_order_and_what_is_too_much_is_said() {
        let directory = TempDir::new("gannet-lines");
        let path = directory.path().join("lines.txt");
        let mut lines = LineWriter::create(&path).unwrap();
        let status = lines.status();
        lines.write("first\n");
        // More than fits whatever the thread has written meanwhile.
        lines.write(&"x".repeat(LIMIT + 1));
        lines.write("last\n");
        drop(lines);
        let lost = LIMIT + 1;
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("first\nlost {lost}\nlast\n"));
        assert_eq!((status.lost(), status.failure()), (lost as u64, None));
    }

    #[test]
    fn a_full_disk_ends_it_and_makes_nobody_wait() {
        let mut lines = LineWriter::create(Path::new("/dev/full")).unwrap();
        let status = lines.status();
        lines.write("first\n");
        drop(lines);
        assert_eq!(status.lost(), 6);
        assert!(status.failure().is_some());
    }
}
