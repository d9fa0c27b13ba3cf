//! The index that is shown, and who may ask for it.

use crate::index::Index;
use crate::live::Watched;
use axum::extract::FromRef;
use std::fs::File;
use std::io::{self, Read as _};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often what came is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// A page that holds the index asks at least as often.
const HELD: Duration = Duration::from_secs(5);

/// What is shown at present.
#[derive(Debug)]
struct Present {
    index: Arc<Index>,
    /// Grows with each new index.
    generation: u64,
    ended: Option<String>,
    held: Option<Instant>,
}

/// What all answers share.
#[derive(Debug)]
pub struct Shared {
    present: Mutex<Present>,
    is_live: bool,
    /// Whoever asks knows it.
    token: String,
    address: SocketAddr,
}

/// The index, as one answer has it.
#[derive(Debug, Clone)]
pub(crate) struct Shown(Arc<Index>);

impl FromRef<Arc<Shared>> for Shown {
    fn from_ref(shared: &Arc<Shared>) -> Self {
        Self(Arc::clone(&shared.lock().index))
    }
}

impl core::ops::Deref for Shown {
    type Target = Index;

    fn deref(&self) -> &Index {
        &self.0
    }
}

/// What a page that follows a node is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulse {
    /// The number of the index.
    pub generation: u64,
    /// Why nothing more comes.
    pub ended: Option<String>,
}

impl Shared {
    /// Shows an index; with a node, what that sends from now on.
    ///
    /// # Errors
    /// Where the system gives no random number, or no thread.
    pub(crate) fn new(index: Index, watched: Option<Watched>, address: SocketAddr) -> io::Result<Arc<Self>> {
        let present = Present { index: Arc::new(index), generation: 1, ended: None, held: None };
        let is_live = watched.is_some();
        let shared = Arc::new(Self { present: Mutex::new(present), is_live, token: random()?, address });
        if let Some(watched) = watched {
            let its = Arc::downgrade(&shared);
            std::thread::Builder::new().name("index".to_owned()).spawn(move || {
                let (mut seen, mut start) = (0, None);
                while let Some(shared) = its.upgrade() {
                    shared.follow(&watched, &mut seen, &mut start);
                    drop(shared);
                    std::thread::sleep(LOOK);
                }
            })?;
        }
        Ok(shared)
    }

    fn lock(&self) -> MutexGuard<'_, Present> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads anew what a node has sent, unless a page holds what it shows.
    fn follow(&self, watched: &Watched, seen: &mut u64, start: &mut Option<u64>) {
        let (came, ended) = watched.state();
        let is_held = self.lock().held.is_some_and(|at| at.elapsed() < HELD);
        if is_held || came == *seen && ended == self.lock().ended {
            return;
        }
        *seen = came;
        let index = watched.index(*start);
        let mut present = self.lock();
        present.ended = ended;
        match index {
            Ok(index) => {
                if !index.is_empty() {
                    start.get_or_insert(index.start);
                }
                present.index = Arc::new(index);
                present.generation += 1;
            }
            Err(error) => present.ended = Some(error.to_string()),
        }
    }

    /// Says what is new; a page may ask that it stays as it is.
    pub(crate) fn pulse(&self, hold: bool) -> Pulse {
        let mut present = self.lock();
        present.held = hold.then(Instant::now);
        Pulse { generation: present.generation, ended: present.ended.clone() }
    }

    /// It follows a node.
    pub(crate) const fn is_live(&self) -> bool {
        self.is_live
    }

    /// What whoever asks has to know.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Where it is served.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

fn random() -> io::Result<String> {
    let mut octets = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut octets)?;
    Ok(octets.iter().map(|octet| format!("{octet:02x}")).collect())
}
