//! `gannet trace analyze`: what connections, pings and blocks of captures say.

use super::{Files, clocks_json, print_json};
use clap::Args;
use gannet_analysis::Reading;
use gannet_analysis::findings::{Analysis, Names, Report};
use gannet_analysis::join::clocks::Ahead;
use gannet_analysis::join::connections::Connection;
use gannet_analysis::reading::Place;
use gannet_analysis::record::{Record, Seen};
use gannet_analysis::view::kind;
use serde_json::{Value, json};
use std::io;
use std::process::ExitCode;

/// The arguments of `gannet trace analyze`.
#[derive(Debug, Args)]
pub struct AnalyzeArguments {
    #[command(flatten)]
    files: Files,
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
        print_json(&report_json(files, &clocks, &reading, &report)?);
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

/// The report, and what its numbers of files, places and connections stand for.
fn report_json(files: &Files, clocks: &[Ahead], reading: &Reading, report: &Report) -> Result<Value, String> {
    let place = |place: &Place| json!({"file": place.file + 1, "interface": place.interface, "name": place.name, "kind": kind(place.kind)});
    let ends = |ends: &Connection| json!({"opener": ends.opener, "other": ends.other});
    let Value::Object(mut value) = serde_json::to_value(report).map_err(|error| error.to_string())? else {
        return Err("a report is no object".to_owned());
    };
    for (name, what) in [
        ("files", json!(files.names())),
        ("clocks", clocks_json(clocks)),
        ("places", reading.places().iter().map(place).collect()),
        ("ends", reading.connections().iter().map(ends).collect()),
        ("damages", json!(files.damages(reading))),
    ] {
        value.insert(name.to_owned(), what);
    }
    Ok(Value::Object(value))
}

/// Reads to the end, and shows each record to `see` before it is analysed.
pub(super) fn read(
    reading: &mut Reading,
    mut see: impl FnMut(&Seen<Record>) -> io::Result<()>,
) -> io::Result<Report> {
    let mut analysis = Analysis::default();
    for seen in reading.by_ref() {
        see(&seen)?;
        analysis.take(&seen);
    }
    Ok(analysis.finish(&Names::of(reading)))
}
