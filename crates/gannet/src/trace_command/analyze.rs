//! `gannet trace analyze` and `export`: what connections and blocks of captures say, for people and for other programs.

use super::{Files, print_json};
use clap::Args;
use gannet_analysis::Reading;
use gannet_analysis::export::{csv, xplot};
use gannet_analysis::findings::{Analysis, Names, Report};
use gannet_analysis::record::{Record, Seen};
use gannet_analysis::tcp::report::{ConnectionReport, HalfReport};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The arguments of `gannet trace analyze`.
#[derive(Debug, Args)]
pub struct AnalyzeArguments {
    #[command(flatten)]
    files: Files,
}

/// The arguments of `gannet trace export`.
#[derive(Debug, Args)]
#[command(
    after_help = "Written are segments.csv, blocks.csv and findings.csv, and for each direction of each connection that has data what tcptrace calls
its time sequence, outstanding data and round-trip time (.xpl, for xplot and jPlot)."
)]
pub struct ExportArguments {
    #[command(flatten)]
    files: Files,
    /// The directory for what is written; made where it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// Prints the findings.
///
/// # Errors
/// A sentence for the person.
pub(super) fn analyze(arguments: &AnalyzeArguments) -> Result<ExitCode, String> {
    let files = &arguments.files;
    let (clocks, settings) = files.aligned()?;
    let mut reading = files.open(settings)?;
    let report = read(&mut reading, |_| Ok(())).map_err(|error| error.to_string())?;
    if files.json {
        let value = serde_json::to_value(&report).map_err(|error| error.to_string())?;
        print_json(&value);
        return Ok(files.ended(&reading));
    }
    files.print_clocks(&clocks);
    let table = report.procedures.table(|place| super::place_name(&reading, place));
    if !table.is_empty() {
        gannet_rt::outln!("{table}");
    }
    for finding in &report.findings {
        gannet_rt::outln!("{finding}");
    }
    if report.findings.is_empty() {
        gannet_rt::outln!("Nothing to say: neither TCP, pings, procedures nor blocks of a radio are in it.");
    }
    Ok(files.ended(&reading))
}

/// Writes the files.
///
/// # Errors
/// A sentence for the person: what cannot be read or written.
pub(super) fn export(arguments: &ExportArguments) -> Result<ExitCode, String> {
    let (files, out) = (&arguments.files, arguments.out.as_path());
    let at = |path: &Path| {
        let name = path.display().to_string();
        move |error: io::Error| format!("{name}: {error}")
    };
    std::fs::create_dir_all(out).map_err(at(out))?;
    let (_, settings) = files.aligned()?;
    let mut reading = files.open(settings)?;
    let table = |name: &str, columns: &str| -> Result<(PathBuf, BufWriter<File>), String> {
        let path = out.join(name);
        let mut file = BufWriter::new(File::create(&path).map_err(at(&path))?);
        writeln!(file, "{columns}").map_err(at(&path))?;
        Ok((path, file))
    };
    let (path, mut segments) = table("segments.csv", csv::SEGMENT_COLUMNS)?;
    let (_, mut blocks) = table("blocks.csv", csv::BLOCK_COLUMNS)?;
    let report = read(&mut reading, |seen| match &seen.what {
        Record::Tcp(segment) => csv::segments(&mut segments, &of(seen, segment.clone())),
        Record::Radio(block) => csv::blocks(&mut blocks, &of(seen, block.clone())),
        _ => Ok(()),
    });
    let report = report.and_then(|report| segments.flush().and_then(|()| blocks.flush()).map(|()| report));
    let report = report.map_err(at(&path))?;
    let (path, mut findings) = table("findings.csv", csv::FINDING_COLUMNS)?;
    let written = report.findings.iter().try_for_each(|finding| csv::findings(&mut findings, finding));
    written.and_then(|()| findings.flush()).map_err(at(&path))?;
    let mut plots = 0;
    for connection in &report.connections {
        plots += plot(out, &reading, connection).map_err(at(out))?;
    }
    gannet_rt::outln!("{}: segments.csv, blocks.csv, findings.csv and {plots} plots", out.display());
    Ok(files.ended(&reading))
}

/// Reads to the end, and shows each record to `see` before it is analysed.
fn read(reading: &mut Reading, mut see: impl FnMut(&Seen<Record>) -> io::Result<()>) -> io::Result<Report> {
    let mut analysis = Analysis::default();
    for seen in reading.by_ref() {
        see(&seen)?;
        analysis.take(&seen);
    }
    Ok(analysis.finish(&Names::of(reading)))
}

const fn of<T>(seen: &Seen<Record>, what: T) -> Seen<T> {
    Seen { at: seen.at, proof: seen.proof, place: seen.place, what }
}

/// The plots of both directions of a connection at a place; how many there were.
fn plot(out: &Path, reading: &Reading, report: &ConnectionReport) -> io::Result<usize> {
    let ends = usize::try_from(report.connection).ok().and_then(|index| reading.connections().get(index));
    let mut plots = 0;
    let halves = [("forward", &report.forward), ("backward", &report.backward)];
    for (way, half) in halves.into_iter().filter(|(_, half)| half.data_segments > 0) {
        let title = ends.map_or_else(String::new, |ends| format!("{} – {}, {way}", ends.opener, ends.other));
        let name = |what: &str| {
            out.join(format!("connection{}-place{}-{way}-{what}.xpl", report.connection, report.place))
        };
        let write = |what: &str, draw: &dyn Fn(&mut dyn Write, &HalfReport) -> io::Result<()>| {
            let mut file = BufWriter::new(File::create(name(what))?);
            draw(&mut file, half).and_then(|()| file.flush())
        };
        write("sequence", &|to, half| xplot::time_sequence(to, half, &title))?;
        write("outstanding", &|to, half| xplot::outstanding(to, half, &title))?;
        write("rtt", &|to, half| xplot::round_trips(to, half.round_trips.points(), &title))?;
        plots += 3;
    }
    Ok(plots)
}
