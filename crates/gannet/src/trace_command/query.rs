//! `gannet trace query`: SQL over records, segments, blocks, TBFs and findings.

use super::Files;
use clap::Args;
use gannet_analysis::query::{Cell, Database, Limits, QueryError, schema};
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Rows that are held back to give the columns of a table their widths.
const ROWS_MEASURED: usize = 10_000;

/// The arguments of `gannet trace query`.
#[derive(Debug, Args)]
#[command(
    after_help = "A statement reads: SELECT, WITH or VALUES. --schema prints the tables and what each column says.

  gannet trace query core.pcapng \"SELECT layer, count(*), sum(octets) FROM records GROUP BY layer\""
)]
pub struct QueryArguments {
    #[command(flatten)]
    files: Files,
    /// One statement of SQL
    #[arg(required = true, value_name = "SQL")]
    sql: Option<String>,
    /// Prints the tables and their columns, and reads nothing
    #[arg(long, exclusive = true)]
    schema: bool,
    /// Keeps the tables in this file, which must not be there, for sqlite3 and other programs
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,
    /// Rows at most
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    rows: u64,
    /// Seconds at most that the statement may take
    #[arg(long, value_name = "S", default_value_t = 60)]
    seconds: u64,
    /// Prints comma-separated values
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

/// Reads the captures into tables and prints the answer.
///
/// # Errors
/// A sentence for the person.
pub(super) fn query(arguments: &QueryArguments) -> Result<ExitCode, String> {
    if arguments.schema {
        gannet_rt::outln!("{}", schema::text().trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let files = &arguments.files;
    let sql = arguments.sql.as_deref().unwrap_or_default();
    let (_, settings) = files.aligned()?;
    let mut reading = files.open(settings)?;
    let mut database = Database::create(arguments.db.as_deref()).map_err(|error| error.to_string())?;
    database.fill(&mut reading).map_err(|error| error.to_string())?;
    let limits = Limits { rows: arguments.rows, time: Duration::from_secs(arguments.seconds) };
    let form = if files.json {
        Form::Json
    } else if arguments.csv {
        Form::Csv
    } else {
        Form::Table
    };
    print(&mut database, sql, limits, form).map_err(|error| error.to_string())?;
    // What is damaged goes beside the rows: they may be read by a program.
    for damage in files.damages(&reading) {
        let _ = writeln!(io::stderr(), "gannet: {damage}. What is before counts.");
    }
    Ok(if reading.damages().is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Table,
    Csv,
    Json,
}

/// Prints rows as they come.
struct Printer {
    form: Form,
    columns: Vec<String>,
    /// Of a table: rows whose widths are not known yet.
    held: Vec<Vec<String>>,
    widths: Vec<usize>,
    rows: u64,
}

fn print(database: &mut Database, sql: &str, limits: Limits, form: Form) -> Result<(), QueryError> {
    let printer =
        RefCell::new(Printer { form, columns: Vec::new(), held: Vec::new(), widths: Vec::new(), rows: 0 });
    let answer = database.ask(
        sql,
        limits,
        &mut |columns| {
            printer.borrow_mut().head(columns);
            Ok(())
        },
        &mut |cells| {
            printer.borrow_mut().row(cells);
            Ok(())
        },
    )?;
    printer.into_inner().end();
    if answer.has_more {
        let _ =
            writeln!(io::stderr(), "gannet: there are more than {} rows; --rows allows more", limits.rows);
    }
    Ok(())
}

impl Printer {
    fn head(&mut self, columns: &[&str]) {
        self.columns = columns.iter().map(|column| (*column).to_owned()).collect();
        match self.form {
            Form::Table => self.held.push(self.columns.clone()),
            Form::Csv => gannet_rt::outln!(
                "{}",
                self.columns.iter().map(|it| quoted(it)).collect::<Vec<_>>().join(",")
            ),
            Form::Json => {}
        }
    }

    fn row(&mut self, cells: &[Cell]) {
        self.rows += 1;
        match self.form {
            Form::Table => {
                let row = cells.iter().map(text).collect();
                if self.widths.is_empty() {
                    self.held.push(row);
                    if self.held.len() > ROWS_MEASURED {
                        self.measure();
                    }
                } else {
                    self.line(&row);
                }
            }
            Form::Csv => {
                let row: Vec<String> = cells.iter().map(|cell| quoted(&text(cell))).collect();
                gannet_rt::outln!("{}", row.join(","));
            }
            Form::Json => {
                let pairs = self.columns.iter().cloned().zip(cells.iter().map(value));
                let row = Value::Object(pairs.collect::<Map<_, _>>());
                let before = if self.rows == 1 { "[" } else { "," };
                gannet_rt::outln!("{before}{row}");
            }
        }
    }

    fn measure(&mut self) {
        let held = core::mem::take(&mut self.held);
        self.widths = vec![0; self.columns.len()];
        for row in &held {
            for (width, cell) in self.widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        held.iter().for_each(|row| self.line(row));
    }

    fn line(&self, row: &[String]) {
        let cells: Vec<String> =
            row.iter().zip(&self.widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        gannet_rt::outln!("{}", cells.join("  ").trim_end());
    }

    fn end(mut self) {
        match self.form {
            Form::Table => self.measure(),
            Form::Csv => {}
            Form::Json if self.rows == 0 => gannet_rt::outln!("[]"),
            Form::Json => gannet_rt::outln!("]"),
        }
    }
}

/// A value for people and CSV; none is empty.
fn text(cell: &Cell) -> String {
    match cell {
        Cell::Null => String::new(),
        Cell::Whole(number) => number.to_string(),
        Cell::Real(number) => number.to_string(),
        Cell::Text(text) => text.clone(),
    }
}

fn value(cell: &Cell) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Whole(number) => Value::from(*number),
        Cell::Real(number) => Value::from(*number),
        Cell::Text(text) => Value::from(text.as_str()),
    }
}

/// As RFC 4180 has it.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
