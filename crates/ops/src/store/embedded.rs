//! A store in one file.
//!
//! | table | key | value |
//! |---|---|---|
//! | `store` | `format`, `layout`, `starts`, `restart counter` | a number |
//! | `network` | `gb` | what was learned of BSSs, octets of the node's own |
//! | `mobiles` | the IMSI, eight octets as TBCD (29.060 clause 7.7.2) | octets of the node's own |

use super::{Batch, Entry, Owner, Problem, Store, StoreError};
use core::fmt;
use core::time::Duration;
use gannet_wire::id::Imsi;
use redb::{Database, DatabaseError, ReadableDatabase as _, ReadableTable as _, ReadableTableMetadata as _};
use redb::{StorageError, TableDefinition, TableError};
use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

const STORE: TableDefinition<'_, &str, u64> = TableDefinition::new("store");
const NETWORK: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("network");
const MOBILES: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("mobiles");

/// The number of the tables above.
const FORMAT: u64 = 1;
/// Octets of the file that are held in memory; the kernel holds the rest.
const CACHE_OCTETS: usize = 32 << 20;
/// So many changes are done at once, and then whoever else wants this processor has it: where it is the event loop's own,
/// packets would wait for all of them.
const AT_ONCE: usize = 8;
/// How long it is left to others.
const PAUSE: Duration = Duration::from_micros(20);

/// A file that is open for one node.
pub struct Embedded {
    path: PathBuf,
    /// None after an error: the library wants the file closed and opened again then.
    database: Option<Database>,
}

/// Keys stand in a new file: its owner alone may read it. Where that cannot be, opening says why; a file that is there keeps
/// its rights.
fn make_private(path: &Path) {
    let _ = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Embedded({})", self.path.display())
    }
}

impl Embedded {
    /// Opens a file, or makes it. `layout` is the number of the layout of what is kept in it.
    ///
    /// # Errors
    /// Where it is another process's, cannot be written, is something else, or is of another version; it is then as it was.
    pub fn open(path: &Path, layout: u8) -> Result<Self, StoreError> {
        let mut store = Self { path: path.to_path_buf(), database: None };
        make_private(path);
        store.reopen()?;
        store.check(layout)?;
        Ok(store)
    }

    fn reopen(&mut self) -> Result<(), StoreError> {
        let open = || redb::Builder::new().set_cache_size(CACHE_OCTETS).create(&self.path);
        let opened = guarded(open).and_then(|opened| opened.map_err(of_database));
        self.database = Some(opened.map_err(|problem| self.error(problem))?);
        Ok(())
    }

    /// What the library has to say at the end of a file whose structure is damaged was said before.
    fn close(&mut self) {
        let database = self.database.take();
        let _ = guarded(|| drop(database));
    }

    /// Compares what stands there with what this version reads, and writes it where it is new.
    fn check(&self, layout: u8) -> Result<(), StoreError> {
        let wanted = [("format", FORMAT), ("layout", u64::from(layout))];
        let found = self.numbers(wanted.map(|(name, _)| name))?;
        for ((name, ours), found) in wanted.into_iter().zip(found) {
            if let Some(found) = found.filter(|found| *found != ours) {
                let text = |number: u64| format!("{name} {number}");
                return Err(self.error(Problem::OtherVersion { found: text(found), ours: text(ours) }));
            }
        }
        // Also shows whether it can be written.
        self.set_numbers(&wanted)
    }

    fn numbers<const N: usize>(&self, names: [&str; N]) -> Result<[Option<u64>; N], StoreError> {
        self.attempt(|database| {
            let transaction = database.begin_read()?;
            let table = match transaction.open_table(STORE) {
                Ok(table) => table,
                Err(TableError::TableDoesNotExist(_)) => return Ok([None; N]),
                Err(error) => return Err(error.into()),
            };
            let mut numbers = [None; N];
            for (number, name) in numbers.iter_mut().zip(names) {
                *number = table.get(name)?.map(|value| value.value());
            }
            Ok(numbers)
        })
    }

    fn set_numbers(&self, numbers: &[(&str, u64)]) -> Result<(), StoreError> {
        self.attempt(|database| {
            let transaction = database.begin_write()?;
            {
                let mut table = transaction.open_table(STORE)?;
                for (name, number) in numbers {
                    table.insert(*name, *number)?;
                }
                transaction.open_table(MOBILES)?;
            }
            Ok(transaction.commit()?)
        })
    }

    /// Does something with the database. Where its structure is damaged the library may panic: that, too, is an error.
    fn attempt<R>(&self, action: impl FnOnce(&Database) -> Result<R, redb::Error>) -> Result<R, StoreError> {
        let Some(database) = &self.database else {
            return Err(self.error(of_error(redb::Error::PreviousIo)));
        };
        let result = guarded(|| action(database)).and_then(|result| result.map_err(of_error));
        result.map_err(|problem| self.error(problem))
    }

    fn error(&self, problem: Problem) -> StoreError {
        StoreError { path: self.path.clone(), problem }
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.close();
    }
}

/// The numbers of an [`Owner`].
const OWNER: [&str; 4] = ["starts", "restart counter", "TEID secret, high half", "TEID secret, low half"];

impl Store for Embedded {
    fn write(&mut self, batch: &Batch) -> Result<(), StoreError> {
        if self.database.is_none() {
            self.reopen()?;
        }
        let result = self.attempt(|database| write(database, batch));
        if result.is_err() {
            self.close();
        }
        result
    }

    fn all(&mut self, each: &mut dyn FnMut(Entry<'_>)) -> Result<(), StoreError> {
        self.attempt(|database| {
            let table = database.begin_read()?.open_table(MOBILES)?;
            for entry in table.iter()? {
                let (name, octets) = entry?;
                let imsi = <[u8; 8]>::try_from(name.value()).ok().and_then(Imsi::from_tbcd);
                each(imsi.map_or(Entry::Foreign(name.value()), |imsi| Entry::Of(imsi, octets.value())));
            }
            Ok(())
        })
    }

    fn len(&mut self) -> Result<u64, StoreError> {
        self.attempt(|database| Ok(database.begin_read()?.open_table(MOBILES)?.len()?))
    }

    fn clear(&mut self) -> Result<(), StoreError> {
        self.attempt(|database| {
            let transaction = database.begin_write()?;
            transaction.delete_table(MOBILES)?;
            transaction.open_table(MOBILES)?;
            Ok(transaction.commit()?)
        })
    }

    fn network(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        self.attempt(|database| {
            let table = match database.begin_read()?.open_table(NETWORK) {
                Ok(table) => table,
                Err(TableError::TableDoesNotExist(_)) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            Ok(table.get("gb")?.map(|octets| octets.value().to_vec()))
        })
    }

    fn owner(&mut self) -> Result<Owner, StoreError> {
        let [starts, counter, high, low] = self.numbers(OWNER)?;
        let restart_counter = counter.and_then(|counter| u8::try_from(counter).ok()).unwrap_or(0);
        let teid_secret = u128::from(high.unwrap_or(0)) << 64 | u128::from(low.unwrap_or(0));
        Ok(Owner { starts: starts.unwrap_or(0), restart_counter, teid_secret })
    }

    fn set_owner(&mut self, owner: Owner) -> Result<(), StoreError> {
        let [high, low] = [owner.teid_secret >> 64, owner.teid_secret & u128::from(u64::MAX)];
        let [high, low] = [high, low].map(|half| u64::try_from(half).unwrap_or(0));
        let [starts, counter, first, second] = OWNER;
        let counter = (counter, owner.restart_counter.into());
        self.set_numbers(&[(starts, owner.starts), counter, (first, high), (second, low)])
    }
}

fn write(database: &Database, batch: &Batch) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    if let Some(octets) = batch.network() {
        transaction.open_table(NETWORK)?.insert("gb", octets)?;
    }
    {
        let mut table = transaction.open_table(MOBILES)?;
        for (done, (imsi, octets)) in batch.iter().enumerate() {
            match octets {
                Some(octets) => drop(table.insert(&imsi.tbcd()[..], octets)?),
                None => drop(table.remove(&imsi.tbcd()[..])?),
            }
            if done % AT_ONCE == AT_ONCE - 1 {
                std::thread::sleep(PAUSE);
            }
        }
    }
    Ok(transaction.commit()?)
}

fn guarded<R>(action: impl FnOnce() -> R) -> Result<R, Problem> {
    catch_unwind(AssertUnwindSafe(action)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Problem::Damaged(text.unwrap_or_else(|| "it cannot be read".to_owned()))
    })
}

fn of_database(error: DatabaseError) -> Problem {
    match error {
        DatabaseError::Storage(StorageError::Io(error)) if error.kind() == io::ErrorKind::InvalidData => {
            Problem::NoStore
        }
        other => of_error(other.into()),
    }
}

fn of_error(error: redb::Error) -> Problem {
    match error {
        redb::Error::DatabaseAlreadyOpen => Problem::InUse,
        redb::Error::Io(error) => Problem::Io(error),
        redb::Error::UpgradeRequired(format) => {
            Problem::OtherVersion { found: format!("file format {format}"), ours: "a later one".to_owned() }
        }
        other => Problem::Damaged(other.to_string()),
    }
}
