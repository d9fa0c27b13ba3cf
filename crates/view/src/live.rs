//! The last minutes of a node that runs, by the socket on which it lets others watch: `trace socket PATH`.

use crate::index::Index;
use gannet_analysis::source::{Capture, Octets};
use gannet_analysis::{Reading, Settings};
use std::collections::VecDeque;
use std::io::{self, Cursor, Read as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Octets of the last packets that are kept.
const KEPT_MAX: usize = 24 << 20;
/// Packets of them: an index of so many is made in a fraction of a second.
const PACKETS_MAX: usize = 60_000;
/// The longest block that a node writes.
const BLOCK_MAX: usize = 1 << 20;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;

/// What came, as blocks of pcapng.
#[derive(Debug, Default)]
struct Kept {
    /// Section and interfaces.
    preamble: Vec<u8>,
    blocks: VecDeque<Vec<u8>>,
    octets: usize,
    /// Blocks so far.
    came: u64,
    /// Why nothing more comes.
    ended: Option<String>,
}

/// A node that is watched.
#[derive(Debug, Clone)]
pub struct Watched {
    path: PathBuf,
    kept: Arc<Mutex<Kept>>,
}

impl Watched {
    /// Connects to a node's socket and keeps what comes, in a thread of its own.
    ///
    /// # Errors
    /// Where there is no such socket, or this user may not open it.
    pub fn connect(path: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(path)?;
        let kept = Arc::new(Mutex::new(Kept::default()));
        let its = Arc::clone(&kept);
        std::thread::Builder::new().name("live".to_owned()).spawn(move || {
            let ended = match keep(stream, &its) {
                Ok(()) => "the node has ended its stream".to_owned(),
                Err(error) => error.to_string(),
            };
            its.lock().unwrap_or_else(PoisonError::into_inner).ended = Some(ended);
        })?;
        Ok(Self { path: path.to_owned(), kept })
    }

    /// How many blocks came so far, and why no more come.
    #[must_use]
    pub fn state(&self) -> (u64, Option<String>) {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        (kept.came, kept.ended.clone())
    }

    /// An index of what is kept, with times that count from `start`.
    ///
    /// # Errors
    /// Where a temporary file cannot be written.
    pub fn index(&self, start: Option<u64>) -> io::Result<Index> {
        let octets = {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            let mut octets = kept.preamble.clone();
            kept.blocks.iter().for_each(|block| octets.extend_from_slice(block));
            octets
        };
        let source = Octets::new(Box::new(Cursor::new(octets)), false);
        let captures = Capture::from_octets(&self.path, source).into_iter().collect();
        let mut reading = Reading::new(captures, Settings::default());
        Index::since(&mut reading, vec![self.path.display().to_string()], start)
    }
}

/// Takes block after block.
fn keep(mut stream: UnixStream, kept: &Mutex<Kept>) -> io::Result<()> {
    loop {
        let mut head = [0; 8];
        match stream.read_exact(&mut head) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            other => other?,
        }
        let [kind, len] = [0, 4].map(|at| {
            let word = head.get(at..at + 4).and_then(|word| word.try_into().ok()).unwrap_or_default();
            u32::from_le_bytes(word)
        });
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        if !(12..=BLOCK_MAX).contains(&len) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "what comes is no pcapng"));
        }
        let mut block = head.to_vec();
        block.resize(len, 0);
        stream.read_exact(block.get_mut(8..).unwrap_or_default())?;
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.came += 1;
        if matches!(kind, SECTION | INTERFACE) {
            kept.preamble.extend_from_slice(&block);
            continue;
        }
        kept.octets += len;
        kept.blocks.push_back(block);
        while kept.octets > KEPT_MAX || kept.blocks.len() > PACKETS_MAX {
            let Some(oldest) = kept.blocks.pop_front() else { break };
            kept.octets -= oldest.len();
        }
    }
}
