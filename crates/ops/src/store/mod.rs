//! Where a node keeps what is to outlive a restart: for each subscriber the octets that the node makes of its mobile.
//!
//! - [`Store`]: what a place to keep things has to do. It takes batches, so that one on a machine of its own, which a pool of
//!   SGSNs shares, costs one round trip for many subscribers.
//! - [`Embedded`]: a file beside the node, by `redb`.
//! - [`Writer`]: a thread that writes behind its back, so that no event loop ever waits for a disk.
//!
//! The store knows nothing of what is in the octets. What is damaged or nobody's is named ([`Entry`]) and passed over; a
//! store that cannot be used at all is a [`StoreError`].

mod embedded;
#[cfg(test)]
mod tests;
mod writer;

pub use embedded::Embedded;
pub use writer::{Status, Writer};

use core::fmt;
use core::ops::Range;
use gannet_wire::id::Imsi;
use std::io;
use std::path::PathBuf;

/// Changes that go together. Of one subscriber a later one takes the place of those before it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Batch {
    octets: Vec<u8>,
    changes: Vec<(Imsi, Option<Range<usize>>)>,
    network: Option<Vec<u8>>,
}

impl Batch {
    /// Keep these octets of a subscriber.
    pub fn put(&mut self, imsi: Imsi, octets: &[u8]) {
        let from = self.octets.len();
        self.octets.extend_from_slice(octets);
        self.changes.push((imsi, Some(from..self.octets.len())));
    }

    /// Keep nothing of a subscriber.
    pub fn delete(&mut self, imsi: Imsi) {
        self.changes.push((imsi, None));
    }

    /// Keep these octets of what was learned of the network.
    pub fn put_network(&mut self, octets: Vec<u8>) {
        self.network = Some(octets);
    }

    /// What was learned of the network, where it has changed.
    #[must_use]
    pub fn network(&self) -> Option<&[u8]> {
        self.network.as_deref()
    }

    /// The changes in their order; `None` where nothing is kept.
    pub fn iter(&self) -> impl Iterator<Item = (Imsi, Option<&[u8]>)> {
        self.changes
            .iter()
            .map(|(imsi, range)| (*imsi, range.clone().and_then(|range| self.octets.get(range))))
    }

    /// How many changes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.changes.len() + usize::from(self.network.is_some())
    }

    /// True where there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Empties it; its memory stays.
    pub fn clear(&mut self) {
        self.octets.clear();
        self.changes.clear();
        self.network = None;
    }
}

/// What a store remembers of the node that it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Owner {
    /// How often a node was started with it.
    pub starts: u64,
    /// The restart counter of GTP under which its contexts are known to the GGSNs (29.060 clause 11.2).
    pub restart_counter: u8,
    /// The secret of the key under which its contexts have their TEIDs; 0 where none was kept.
    pub teid_secret: u128,
}

/// What is found under one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry<'a> {
    /// Octets of a subscriber.
    Of(Imsi, &'a [u8]),
    /// The name is no IMSI: somebody else has put this here.
    Foreign(&'a [u8]),
}

/// A place where things are kept.
pub trait Store: Send {
    /// Does all of a batch or nothing. When it returns, the batch outlives the process and the machine's power.
    ///
    /// # Errors
    /// Why nothing was done; the same batch may be tried again.
    fn write(&mut self, batch: &Batch) -> Result<(), StoreError>;

    /// Shows every entry.
    ///
    /// # Errors
    /// What kept it from going on; what was shown until then is good.
    fn all(&mut self, each: &mut dyn FnMut(Entry<'_>)) -> Result<(), StoreError>;

    /// How many entries there are.
    ///
    /// # Errors
    /// What kept it from being found out.
    fn len(&mut self) -> Result<u64, StoreError>;

    /// True where there is none.
    ///
    /// # Errors
    /// As [`Store::len`].
    fn is_empty(&mut self) -> Result<bool, StoreError> {
        self.len().map(|entries| entries == 0)
    }

    /// Forgets all entries.
    ///
    /// # Errors
    /// Why they are all still there.
    fn clear(&mut self) -> Result<(), StoreError>;

    /// What was learned of the network, where something was kept.
    ///
    /// # Errors
    /// What kept it from being read.
    fn network(&mut self) -> Result<Option<Vec<u8>>, StoreError>;

    /// Whose it is; the default where nobody has used it yet.
    ///
    /// # Errors
    /// What kept it from being read.
    fn owner(&mut self) -> Result<Owner, StoreError>;

    /// Says whose it is from now on.
    ///
    /// # Errors
    /// Why it is as it was.
    fn set_owner(&mut self, owner: Owner) -> Result<(), StoreError>;

    /// Keeps octets of one subscriber.
    ///
    /// # Errors
    /// As [`Store::write`].
    fn put(&mut self, imsi: Imsi, octets: &[u8]) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.put(imsi, octets);
        self.write(&batch)
    }

    /// Keeps nothing of one subscriber.
    ///
    /// # Errors
    /// As [`Store::write`].
    fn delete(&mut self, imsi: Imsi) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.delete(imsi);
        self.write(&batch)
    }
}

/// Why a store cannot be used, or could not do what it was asked.
#[derive(Debug)]
pub struct StoreError {
    /// Which store.
    pub path: PathBuf,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with a store.
#[derive(Debug)]
pub enum Problem {
    /// Another process has it.
    InUse,
    /// It cannot be opened or written.
    Io(io::Error),
    /// The file is something else.
    NoStore,
    /// It was made by another version: of the store, or of what is kept in it.
    OtherVersion {
        /// What stands there.
        found: String,
        /// What this version reads.
        ours: String,
    },
    /// Its own structure is damaged.
    Damaged(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "store {}: ", self.path.display())?;
        match &self.problem {
            Problem::InUse => f.write_str("another node has it; each needs one of its own"),
            Problem::Io(error) => write!(f, "{error}"),
            Problem::NoStore => f.write_str("this file is something else, and stays as it is"),
            Problem::OtherVersion { found, ours } => write!(
                f,
                "another version has written it ({found}, and this one reads {ours}); move it away to begin anew"
            ),
            Problem::Damaged(what) => write!(f, "it is damaged ({what}); move it away to begin anew"),
        }
    }
}

impl core::error::Error for StoreError {}
