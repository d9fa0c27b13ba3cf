//! Questions in SQL over records, segments, blocks, TBFs and findings.
//!
//! [`Database::fill`] reads captures into tables, [`Database::ask`] runs one statement that may only read. [`schema`] has the tables.
//! Without a name the tables are kept in memory and, beyond [`CACHE_KIB`], in a file without a name that SQLite removes.

mod load;
pub mod schema;
#[cfg(test)]
mod tests;

use crate::findings::Report;
use crate::reading::Reading;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// KiB of tables that are kept in memory.
pub const CACHE_KIB: u32 = 256 * 1024;
/// Instructions of SQLite between two looks at the clock.
const INSTRUCTIONS: i32 = 10_000;

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// There is a file of this name.
    #[error("{} is there: remove it or give another name", .0.display())]
    Exists(PathBuf),
    /// The tables cannot be written.
    #[error("the tables cannot be written: {0}")]
    Tables(rusqlite::Error),
    /// The statement does more than read.
    #[error("a question may read the tables and nothing else: SELECT, WITH or VALUES")]
    Forbidden,
    /// It is no statement, or more than one.
    #[error("{0}")]
    Statement(rusqlite::Error),
    /// It takes too long.
    #[error("no answer within {} s; --seconds allows more", .0.as_secs())]
    TooLong(Duration),
    /// Whoever takes the rows fails.
    #[error("the rows cannot be written: {0}")]
    Output(#[from] std::io::Error),
}

/// What an answer may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Rows.
    pub rows: u64,
    /// Time.
    pub time: Duration,
}

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// None.
    Null,
    /// A whole number.
    Whole(i64),
    /// Another number.
    Real(f64),
    /// Text; octets as hexadecimal digits.
    Text(String),
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Rows that were given.
    pub rows: u64,
    /// There were more, beyond [`Limits::rows`].
    pub has_more: bool,
}

/// Tables of captures.
#[derive(Debug)]
pub struct Database {
    connection: Connection,
}

impl Database {
    /// Without rows; kept in `path`, which must not be there, or until it is dropped.
    ///
    /// # Errors
    /// `Exists`, or `Tables` where the file cannot be made.
    pub fn create(path: Option<&Path>) -> Result<Self, QueryError> {
        if let Some(path) = path.filter(|path| path.symlink_metadata().is_ok()) {
            return Err(QueryError::Exists(path.to_owned()));
        }
        // A name that begins otherwise than a path would be taken for one.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let open = || -> rusqlite::Result<Connection> {
            let connection = Connection::open_with_flags(path.unwrap_or(Path::new("")), flags)?;
            // Whoever is interrupted reads the captures again.
            connection.execute_batch(&format!(
                "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -{CACHE_KIB}; PRAGMA locking_mode = EXCLUSIVE"
            ))?;
            for table in schema::TABLES {
                connection.execute_batch(&schema::create(table))?;
            }
            Ok(connection)
        };
        open().map(|connection| Self { connection }).map_err(QueryError::Tables)
    }

    /// Reads captures to their end into the tables.
    ///
    /// # Errors
    /// `Tables` where there is no room for them.
    pub fn fill(&self, reading: &mut Reading) -> Result<Report, QueryError> {
        load::fill(&self.connection, reading).map_err(QueryError::Tables)
    }

    /// Runs one statement that reads: `head` takes the names of its columns, `row` each row.
    ///
    /// # Errors
    /// `Forbidden`, `Statement`, `TooLong`, and `Output` of `head` and `row`.
    pub fn ask(
        &mut self,
        sql: &str,
        limits: Limits,
        head: &mut dyn FnMut(&[&str]) -> std::io::Result<()>,
        row: &mut dyn FnMut(&[Cell]) -> std::io::Result<()>,
    ) -> Result<Answer, QueryError> {
        let started = Instant::now();
        let is_late = move || started.elapsed() > limits.time;
        self.connection.authorizer(Some(may)).map_err(QueryError::Statement)?;
        self.connection.progress_handler(INSTRUCTIONS, Some(is_late)).map_err(QueryError::Statement)?;
        let error = |error: rusqlite::Error| match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => QueryError::TooLong(limits.time),
            Some(ErrorCode::AuthorizationForStatementDenied) => QueryError::Forbidden,
            _ => QueryError::Statement(error),
        };
        let mut statement = self.connection.prepare(sql).map_err(error)?;
        if !statement.readonly() {
            return Err(QueryError::Forbidden);
        }
        head(&statement.column_names().collect::<Vec<_>>())?;
        let count = statement.column_count();
        let mut rows = statement.query([]).map_err(error)?;
        let mut answer = Answer { rows: 0, has_more: false };
        let mut cells = Vec::with_capacity(count);
        while let Some(found) = rows.next().map_err(error)? {
            if answer.rows == limits.rows {
                answer.has_more = true;
                break;
            }
            cells.clear();
            for column in 0..count {
                cells.push(cell(found.get_ref(column).map_err(error)?));
            }
            row(&cells)?;
            answer.rows += 1;
        }
        Ok(answer)
    }
}

/// Reading, and nothing else: no PRAGMA, ATTACH, extension or temporary table either.
fn may(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => Authorization::Allow,
        AuthAction::Function { function_name } if !function_name.eq_ignore_ascii_case("load_extension") => {
            Authorization::Allow
        }
        _ => Authorization::Deny,
    }
}

fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(value) => Cell::Whole(value),
        ValueRef::Real(value) => Cell::Real(value),
        ValueRef::Text(text) => Cell::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(octets) => Cell::Text(octets.iter().map(|octet| format!("{octet:02x}")).collect()),
    }
}
