//! A buffer that the event loop fills and a thread that empties it.

use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long records may be gathered before they are written.
const GATHER: Duration = Duration::from_millis(50);
/// How soon an output is tried again that took nothing.
const AGAIN: Duration = Duration::from_secs(1);
/// Octets that are written at once where there are so many. A loop that shares its core with the thread is away for as long as that takes, some
/// 0.1 ms, and a ring of 256 packets bears it.
const PIECE: usize = 128 << 10;

/// Takes records and never waits. Two buffers of limited size change places: one is filled while the other is written.
pub(crate) struct Pipe {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    limit: usize,
    recorded: u64,
    lost: u64,
}

struct Shared {
    state: Mutex<State>,
    /// Octets for which the thread waits no longer.
    piece: usize,
    /// The output takes nothing at present; see [`State::failed`].
    is_failing: AtomicBool,
    /// Tells the thread that there is something to do.
    work: Condvar,
    /// Tells a caller of `flush` that it is done.
    flushed: Condvar,
}

struct State {
    octets: Vec<u8>,
    /// Records that the output does not have yet.
    unwritten: u64,
    flushes_asked: u64,
    flushes_done: u64,
    closing: bool,
    /// Why the output has taken nothing the last time.
    failed: Option<io::Error>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pipe {
    /// With so many octets that may wait for the output.
    pub(crate) fn new(output: Box<dyn Write + Send>, limit: usize) -> io::Result<Self> {
        let state = State {
            octets: Vec::with_capacity(limit),
            unwritten: 0,
            flushes_asked: 0,
            flushes_done: 0,
            closing: false,
            failed: None,
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            piece: PIECE.min(limit / 2),
            is_failing: AtomicBool::new(false),
            work: Condvar::new(),
            flushed: Condvar::new(),
        });
        let its = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("recorder".to_owned())
            .spawn(move || write_out(&its, output, Vec::with_capacity(limit)))?;
        Ok(Self { shared, thread: Some(thread), limit, recorded: 0, lost: 0 })
    }

    /// Takes a record that needs at most `room` octets, or counts it as lost where there is too little. Nothing is allocated.
    pub(crate) fn put(&mut self, room: usize, record: impl FnOnce(&mut Vec<u8>)) -> bool {
        let mut state = self.shared.lock();
        let waiting = state.octets.len();
        if waiting + room > self.limit {
            self.lost += 1;
            return false;
        }
        record(&mut state.octets);
        self.recorded += 1;
        state.unwritten += 1;
        let piece = self.shared.piece;
        let wake = waiting == 0 || (waiting < piece && state.octets.len() >= piece);
        drop(state);
        if wake {
            self.shared.work.notify_one();
        }
        true
    }

    /// Takes what no record can do without, whether there is room or not.
    pub(crate) fn put_anyway(&self, head: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.shared.lock();
        // Whoever writes next finds something waiting, and leaves the thread asleep.
        let wake = state.octets.is_empty();
        head(&mut state.octets);
        drop(state);
        if wake {
            self.shared.work.notify_one();
        }
    }

    /// Waits until everything so far was handed to the operating system.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let mut state = self.shared.lock();
        state.flushes_asked += 1;
        let mine = state.flushes_asked;
        self.shared.work.notify_one();
        while state.flushes_done < mine {
            state = self.shared.flushed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        match &state.failed {
            Some(error) => Err(io::Error::new(error.kind(), error.to_string())),
            None => Ok(()),
        }
    }

    pub(crate) const fn recorded(&self) -> u64 {
        self.recorded
    }

    pub(crate) const fn lost(&self) -> u64 {
        self.lost
    }

    pub(crate) fn unwritten(&self) -> u64 {
        self.shared.lock().unwritten
    }

    pub(crate) fn failure(&self) -> Option<String> {
        if !self.shared.is_failing.load(Relaxed) {
            return None;
        }
        self.shared.lock().failed.as_ref().map(ToString::to_string)
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.shared.lock().closing = true;
        self.shared.work.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The thread: takes the filled buffer, leaves the empty one, and writes without holding the lock. What the output does not take
/// is offered again, from the octet on at which it stopped, so that its blocks stay whole.
fn write_out(shared: &Shared, mut output: Box<dyn Write + Send>, mut taken: Vec<u8>) {
    let (mut written, mut records) = (0, 0);
    let mut state = shared.lock();
    loop {
        let is_new = written == taken.len();
        if is_new {
            state = await_work(shared, state);
            taken.clear();
            written = 0;
            core::mem::swap(&mut state.octets, &mut taken);
            records = state.unwritten;
        } else {
            let idle = |state: &mut State| !state.closing && state.flushes_asked == state.flushes_done;
            let waited = shared.work.wait_timeout_while(state, AGAIN, idle);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let (asked, last) = (state.flushes_asked, state.closing);
        drop(state);
        let result = write_some(&mut *output, &taken, &mut written);
        state = shared.lock();
        let failed = result.is_err();
        if !failed {
            state.unwritten -= core::mem::take(&mut records);
        }
        state.failed = result.err();
        shared.is_failing.store(failed, Relaxed);
        // What was offered again may have more behind it.
        if is_new || failed {
            state.flushes_done = asked;
            shared.flushed.notify_all();
        }
        if last && (failed || state.octets.is_empty()) {
            return;
        }
    }
}

/// Waits for records, gathers some, and returns at once for who waits or wants to end.
fn await_work<'s>(shared: &'s Shared, mut state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
    let is_urgent = |state: &State| state.closing || state.flushes_asked != state.flushes_done;
    while state.octets.is_empty() && !is_urgent(&state) {
        state = shared.work.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    // What has come while the last was written may be enough: nobody says so again.
    if !is_urgent(&state) && state.octets.len() < shared.piece {
        (state, _) = shared.work.wait_timeout(state, GATHER).unwrap_or_else(PoisonError::into_inner);
    }
    state
}

/// Writes what is not written yet.
fn write_some(output: &mut dyn Write, octets: &[u8], written: &mut usize) -> io::Result<()> {
    while let Some(rest) = octets.get(*written..).filter(|rest| !rest.is_empty()) {
        match output.write(rest) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => *written += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    // An output that takes whole records alone has the rest of one now.
    output.flush()
}
