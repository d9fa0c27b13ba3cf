//! The thread that writes.
//!
//! Batches go to it and come back empty, so there are never more of them than at the start: while all are on their way nobody
//! makes another, and what changes meanwhile waits with the node, the newest state of each mobile alone.

use super::{Batch, Store, StoreError};
use core::time::Duration;
use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

/// How long it waits until it tries a batch again that could not be written.
const AGAIN: Duration = Duration::from_secs(1);

/// How the writing goes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// Entries in the store.
    pub entries: u64,
    /// Changes that were written since the start.
    pub changes: u64,
    /// Batches that were written.
    pub batches: u64,
    /// Attempts that failed.
    pub failures: u64,
    /// Why the last attempt failed, where it did.
    pub error: Option<String>,
    /// How long the last batch took.
    pub last: Duration,
    /// Since when the oldest batch that is not written yet is under way.
    pub lag: Duration,
    /// The longest that any batch was under way.
    pub lag_max: Duration,
}

#[derive(Debug, Default)]
struct Shared {
    status: Status,
    /// When the batches that are under way were given to the thread.
    under_way: VecDeque<Instant>,
}

/// What the loop has of the thread.
#[derive(Debug)]
pub struct Writer {
    to: Option<Sender<Batch>>,
    back: Receiver<Batch>,
    spare: Vec<Batch>,
    shared: Arc<Mutex<Shared>>,
    thread: Option<JoinHandle<()>>,
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    // What is inside is numbers: a thread that has panicked has left them as good as any.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Writer {
    /// A thread for `store`, with so many batches.
    ///
    /// # Errors
    /// Where the operating system gives no thread, or the store cannot say how much is in it.
    pub fn start(mut store: Box<dyn Store>, batches: usize) -> io::Result<Self> {
        let entries = store.len().map_err(io::Error::other)?;
        let shared = Arc::new(Mutex::new(Shared::default()));
        lock(&shared).status.entries = entries;
        let ((to, work), (done, back)) = (channel(), channel());
        let told = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("gannet-store".to_owned())
            .spawn(move || run(store.as_mut(), &work, &done, &told))?;
        let spare = vec![Batch::default(); batches.max(1)];
        Ok(Self { to: Some(to), back, spare, shared, thread: Some(thread) })
    }

    /// An empty batch; `None` while all are under way.
    pub fn spare(&mut self) -> Option<Batch> {
        self.spare.extend(self.back.try_iter());
        self.spare.pop()
    }

    /// Gives a batch to the thread. An empty one is a spare one again.
    pub fn write(&mut self, batch: Batch) {
        if batch.is_empty() {
            self.spare.push(batch);
        } else if let Some(to) = &self.to {
            lock(&self.shared).under_way.push_back(Instant::now());
            // It ends only after this end of the channel.
            let _ = to.send(batch);
        }
    }

    /// True where all that was given to the thread is written.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        lock(&self.shared).under_way.is_empty()
    }

    /// How it goes.
    #[must_use]
    pub fn status(&self) -> Status {
        let shared = lock(&self.shared);
        let lag = shared.under_way.front().map_or(Duration::ZERO, Instant::elapsed);
        Status { lag, lag_max: shared.status.lag_max.max(lag), ..shared.status.clone() }
    }
}

/// The end: what was given to the thread is tried once more at the most.
impl Drop for Writer {
    fn drop(&mut self) {
        self.to = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(store: &mut dyn Store, work: &Receiver<Batch>, done: &Sender<Batch>, shared: &Mutex<Shared>) {
    // While a batch cannot be written, those behind it wait here.
    let mut later = VecDeque::new();
    while let Some(mut batch) = later.pop_front().or_else(|| work.recv().ok()) {
        let mut is_end = false;
        loop {
            let begin = Instant::now();
            match store.write(&batch) {
                Ok(()) => {
                    let entries = store.len().ok();
                    written(&mut lock(shared), entries, batch.len(), begin);
                    break;
                }
                Err(error) => failed(&error, &mut lock(shared)),
            }
            if is_end {
                break;
            }
            match work.recv_timeout(AGAIN) {
                Ok(next) => later.push_back(next),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => is_end = true,
            }
        }
        batch.clear();
        let _ = done.send(batch);
    }
}

fn written(shared: &mut Shared, entries: Option<u64>, changes: usize, begin: Instant) {
    let status = &mut shared.status;
    status.entries = entries.unwrap_or(status.entries);
    status.changes += changes as u64;
    status.batches += 1;
    status.error = None;
    status.last = begin.elapsed();
    if let Some(since) = shared.under_way.pop_front() {
        status.lag_max = status.lag_max.max(since.elapsed());
    }
}

fn failed(error: &StoreError, shared: &mut Shared) {
    shared.status.failures += 1;
    shared.status.error = Some(error.to_string());
}
