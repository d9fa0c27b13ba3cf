//! `gannet trace export`: tables, plots and frames for other programs.

use super::analyze::read;
use super::{Files, mobile_name};
use clap::Args;
use gannet_analysis::export::pcapng::{self, Fragments, Frames, Source};
use gannet_analysis::export::{csv, plot, xplot};
use gannet_analysis::findings::{Names, Report};
use gannet_analysis::record::{Direction, Record, Seen};
use gannet_analysis::source::Capture;
use gannet_analysis::tcp::report::{ConnectionReport, HalfReport};
use gannet_analysis::view::rows::{Chooser, Who};
use gannet_analysis::{Reading, Settings};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The arguments of `gannet trace export`.
#[derive(Debug, Args)]
#[command(
    after_help = "Written are segments.csv, blocks.csv and findings.csv, and for each direction of each connection that has data what tcptrace calls
its time sequence, outstanding data and round-trip time (.xpl, for xplot and jPlot), and a figure with these and its throughput (.svg).
layers-down.svg and layers-up.svg have what each layer carries over time.

  gannet trace export um.pcapng.gz core.pcapng --mobile 901700000012345 --pcapng one.pcapng"
)]
pub struct ExportArguments {
    #[command(flatten)]
    files: Files,
    /// The directory for tables and plots; made where it is not there
    #[arg(long, value_name = "DIR", required_unless_present = "pcapng")]
    out: Option<PathBuf>,
    /// Draws the plots as PNG too; that needs rsvg-convert (Debian: librsvg2-bin)
    #[arg(long, requires = "out")]
    png: bool,
    /// Writes the frames of one mobile, of all files and on corrected clocks, into this file, which must not be there
    #[arg(long, value_name = "FILE", requires = "mobile")]
    pcapng: Option<PathBuf>,
    /// That mobile: its IMSI, a TLLI of eight hexadecimal digits, or its address
    #[arg(long, value_name = "NAME", requires = "pcapng")]
    mobile: Option<String>,
}

/// Writes the files.
///
/// # Errors
/// A sentence for the person: what cannot be read or written.
pub(super) fn export(arguments: &ExportArguments) -> Result<ExitCode, String> {
    let files = &arguments.files;
    let (_, settings) = files.aligned()?;
    let mut ended = ExitCode::SUCCESS;
    if let Some((path, name)) = arguments.pcapng.as_deref().zip(arguments.mobile.as_deref()) {
        ended = frames(files, settings.clone(), path, name)?;
    }
    match arguments.out.as_deref() {
        Some(out) => tables(files, settings, out, arguments.png),
        None => Ok(ended),
    }
}

/// An error with the path at which it is.
fn at(path: &Path) -> impl Fn(io::Error) -> String + use<> {
    let name = path.display().to_string();
    move |error| format!("{name}: {error}")
}

/// The frames of one mobile as pcapng.
fn frames(files: &Files, settings: Settings, path: &Path, name: &str) -> Result<ExitCode, String> {
    let mut known = files.open(settings.clone())?;
    // Names that are learnt late belong to what went before too.
    known.by_ref().for_each(drop);
    let who = Who::named(name, &known).ok_or_else(|| format!("no mobile is called {name} there"))?;
    let chosen = Frames::of(&mut files.open(settings.clone())?, &mut Chooser::new(who, &known));
    let mut fragments = Fragments::default();
    let mut sources = Vec::new();
    for ((number, file), name) in (0..).zip(files.paths()?).zip(files.names()) {
        let open = || Capture::open(&file).map_err(|damage| files.says(&damage));
        fragments.look(number, &mut open()?, &chosen);
        let ahead_ns = settings.clocks_ahead_ns.get(usize::from(number)).copied().unwrap_or(0);
        sources.push(Source { capture: open()?, name, ahead_ns });
    }
    let mut to = BufWriter::new(File::create_new(path).map_err(at(path))?);
    let written = pcapng::write(&mut to, &mut sources, &chosen, &fragments);
    let written = written.and_then(|written| to.flush().map(|()| written)).map_err(at(path))?;
    gannet_rt::outln!("{}: {written} frames of {}", path.display(), mobile_of(&known, who));
    Ok(files.ended(&known))
}

fn mobile_of(known: &Reading, who: Who) -> String {
    match who {
        Who::All => "all mobiles".to_owned(),
        Who::Mobile(index) => mobile_name(known, index),
    }
}

/// Tables and plots.
fn tables(files: &Files, settings: Settings, out: &Path, png: bool) -> Result<ExitCode, String> {
    let mut reading = files.open(settings)?;
    std::fs::create_dir_all(out).map_err(at(out))?;
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
    let drawn = figures(out, &reading, &report, png)?;
    gannet_rt::outln!(
        "{}: segments.csv, blocks.csv, findings.csv, {plots} plots for xplot and {drawn} figures",
        out.display()
    );
    Ok(files.ended(&reading))
}

/// Draws each direction of each connection with data, and the layers of each direction; how many figures there were.
fn figures(out: &Path, reading: &Reading, report: &Report, png: bool) -> Result<usize, String> {
    let names = Names::of(reading);
    let mut all = Vec::new();
    for (direction, name) in [(Direction::Down, "layers-down"), (Direction::Up, "layers-up")] {
        all.extend(plot::layers(&report.layers, &names, direction, name));
    }
    for it in &report.connections {
        for (half, is_forward) in [(&it.forward, true), (&it.backward, false)] {
            let way = if is_forward { "forward" } else { "backward" };
            let name = format!("connection{}-place{}-{way}", it.connection, it.place);
            let title = format!("{} at {}", names.way(it.connection, is_forward), names.place(it.place));
            all.extend(plot::connection(half, it.first.0, (&name, &title)));
        }
    }
    for figure in &all {
        let path = out.join(format!("{}.svg", figure.name));
        std::fs::write(&path, gannet_figure::svg(figure, "Drawn by gannet trace export."))
            .map_err(at(&path))?;
        if png {
            let drawn = path.with_extension("png");
            let status = Command::new("rsvg-convert").arg("-o").arg(&drawn).arg(&path).status();
            let status = status.map_err(|error| format!("rsvg-convert (Debian: librsvg2-bin): {error}"))?;
            if !status.success() {
                return Err(format!("rsvg-convert does not draw {}: {status}", path.display()));
            }
        }
    }
    Ok(all.len())
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
