//! `gannet trace`: what captures of any network say.

mod analyze;
mod export;
mod input;
mod query;
mod view;

use clap::{Args, Subcommand};
use gannet_analysis::cipher::Key;
use gannet_analysis::join::clocks::Ahead;
use gannet_analysis::record::{Carrier, Direction, Proof, Record, Seen, Stamp};
use gannet_analysis::source::Damage;
use gannet_analysis::view::contents::Contents;
use gannet_analysis::view::journey::{self, Journey, Sighting};
use gannet_analysis::view::rows::{Chooser, Who};
use gannet_analysis::view::{kind, mobile, words};
use gannet_analysis::{Reading, Settings, clocks_of};
use serde_json::{Value, json};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

/// What to do with captures.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// What is in captures: places, layers, mobiles, and what they cannot tell
    Info(InfoArguments),
    /// The way of one packet through the layers, with its delay in each
    Journey(JourneyArguments),
    /// A row for each record of all layers, in the order of time
    Timeline(TimelineArguments),
    /// What connections, pings and blocks of the radio say, each with the frames that prove it
    Analyze(analyze::AnalyzeArguments),
    /// Segments, blocks and findings as CSV, and plots of connections for xplot
    Export(export::ExportArguments),
    /// A question in SQL over records, segments, blocks, TBFs and findings
    Query(query::QueryArguments),
    /// A page that shows the layers on one time axis, served to this machine alone
    View(view::ViewArguments),
}

/// Which captures, and how they are read.
#[derive(Debug, Args)]
pub struct Files {
    /// Captures: pcap or pcapng, also packed by gzip or zstd; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// A UDP port of NS, besides 23000 and what is known as NS by its contents; may be repeated
    #[arg(long = "ns-port", value_name = "PORT")]
    ns_ports: Vec<u16>,
    /// A key that opens ciphered LL-PDUs: Kc of 16 hexadecimal digits, for GEA4 of 32; of one mobile with its IMSI in front. May be repeated
    #[arg(long = "kc", value_name = "[IMSI=]HEX")]
    keys: Vec<Key>,
    /// Takes the times of several files as they are stamped. Otherwise the offsets of their clocks are taken away where packets in both files tell them
    #[arg(long)]
    as_stamped: bool,
    /// Prints JSON
    #[arg(long)]
    json: bool,
    #[arg(skip)]
    input: input::Input,
}

/// The arguments of `gannet trace info`.
#[derive(Debug, Args)]
pub struct InfoArguments {
    #[command(flatten)]
    files: Files,
}

/// The arguments of `gannet trace journey`.
#[derive(Debug, Args)]
#[command(
    after_help = "A delay between two files holds as far as their clocks do: the uncertainty stands above the table.

  gannet trace journey um.pcapng.gz core.pcapng --packet 2:41"
)]
pub struct JourneyArguments {
    #[command(flatten)]
    files: Files,
    /// A frame that carries the packet or a part of it: its number, as Wireshark counts; of several files with the file's number in front, from 1, as 2:41
    #[arg(long, value_name = "[FILE:]FRAME", value_parser = proof)]
    packet: Proof,
}

/// The arguments of `gannet trace timeline`.
#[derive(Debug, Args)]
pub struct TimelineArguments {
    #[command(flatten)]
    files: Files,
    /// Shows one mobile alone: its IMSI, a TLLI of eight hexadecimal digits, or its address
    #[arg(long, value_name = "NAME")]
    mobile: Option<String>,
}

/// Runs one of them.
///
/// # Errors
/// A sentence for the person.
pub fn run(command: &TraceCommand) -> Result<ExitCode, String> {
    match command {
        TraceCommand::Info(arguments) => info(&arguments.files),
        TraceCommand::Journey(arguments) => way(arguments),
        TraceCommand::Timeline(arguments) => timeline(arguments),
        TraceCommand::Analyze(arguments) => analyze::analyze(arguments),
        TraceCommand::Export(arguments) => export::export(arguments),
        TraceCommand::Query(arguments) => query::query(arguments),
        TraceCommand::View(arguments) => view::view(arguments),
    }
}

fn proof(text: &str) -> Result<Proof, String> {
    let (file, frame) = text.split_once(':').unwrap_or(("1", text));
    let file: Option<u16> = file.parse().ok().filter(|file| *file > 0);
    let frame: Option<u64> = frame.parse().ok().filter(|frame| *frame > 0);
    match file.zip(frame) {
        Some((file, frame)) => Ok(Proof { file: file - 1, frame }),
        None => Err("FRAME or FILE:FRAME, both counted from 1, as 41 or 2:41".to_owned()),
    }
}

impl Files {
    fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        settings.ns_ports.extend(&self.ns_ports);
        settings.keys.clone_from(&self.keys);
        settings
    }

    /// Offsets of clocks, and the settings that take away those which are larger than their uncertainty.
    fn aligned(&self) -> Result<(Vec<Ahead>, Settings), String> {
        let mut settings = self.settings();
        if self.files.len() < 2 || self.as_stamped {
            return Ok((Vec::new(), settings));
        }
        let paths = self.paths()?;
        let clocks = clocks_of(&paths, settings.clone()).map_err(|damage| self.says(&damage))?;
        settings.clocks_ahead_ns = vec![0; self.files.len()];
        for ahead in clocks.iter().filter(|it| it.ahead_ns.unsigned_abs() > it.uncertainty_ns) {
            if let Some(slot) = settings.clocks_ahead_ns.get_mut(usize::from(ahead.file)) {
                *slot = ahead.ahead_ns;
            }
        }
        Ok((clocks, settings))
    }

    fn paths(&self) -> Result<Vec<PathBuf>, String> {
        self.input.paths(&self.files)
    }

    fn open(&self, settings: Settings) -> Result<Reading, String> {
        let paths = self.paths()?;
        Reading::open(&paths, settings).map_err(|damage| self.says(&damage))
    }

    /// Says what is damaged, beside JSON on standard error; that is a failure.
    fn ended(&self, reading: &Reading) -> ExitCode {
        for damage in reading.damages() {
            let text = format!("{}. What is before counts.", self.says(damage));
            if self.json {
                let _ = writeln!(io::stderr(), "gannet: {text}");
            } else {
                gannet_rt::outln!("{text}");
            }
        }
        if reading.damages().is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// What is damaged, with the file as the person named it.
    fn says(&self, damage: &Damage) -> String {
        if (damage.frame, damage.octet) == (0, 0) {
            return format!("{}: {}", self.input.word(&damage.path), damage.what);
        }
        Damage { path: PathBuf::from(self.input.word(&damage.path)), ..damage.clone() }.to_string()
    }

    fn name(&self, file: u16) -> String {
        self.files.get(usize::from(file)).map_or_else(String::new, |path| self.input.word(path))
    }

    fn names(&self) -> Vec<String> {
        self.files.iter().map(|path| self.input.word(path)).collect()
    }

    fn damages(&self, reading: &Reading) -> Vec<String> {
        reading.damages().iter().map(|damage| self.says(damage)).collect()
    }

    fn print_clocks(&self, clocks: &[Ahead]) {
        for ahead in clocks {
            let is_applied = ahead.ahead_ns.unsigned_abs() > ahead.uncertainty_ns;
            let what = if is_applied { "taken away" } else { "less than its uncertainty, so left" };
            gannet_rt::outln!(
                "Clock of {}: {} ms ahead of {}, within {} ms, from {} and {} packets each way; {what}.",
                self.name(ahead.file),
                ms(ahead.ahead_ns),
                self.name(ahead.of),
                ms(ahead.uncertainty_ns.cast_signed()),
                ahead.packets.0,
                ahead.packets.1
            );
        }
    }
}

/// Milliseconds with three places.
#[expect(clippy::cast_precision_loss, reason = "for the eye")]
fn ms(ns: i64) -> String {
    format!("{:.3}", ns as f64 / 1e6)
}

fn clocks_json(clocks: &[Ahead]) -> Value {
    let one = |it: &Ahead| {
        json!({"file": it.file + 1, "of": it.of + 1, "ahead_ns": it.ahead_ns, "uncertainty_ns": it.uncertainty_ns,
            "packets": [it.packets.0, it.packets.1]})
    };
    clocks.iter().map(one).collect()
}

fn place_name(reading: &Reading, place: u16) -> String {
    let Some(place) = reading.places().get(usize::from(place)) else { return String::new() };
    let name = place.name.as_deref().unwrap_or("");
    format!("{}:{} {name}", place.file + 1, kind(place.kind)).trim_end().to_owned()
}

fn mobile_name(reading: &Reading, index: u32) -> String {
    let index = reading.mobiles().canonical(index);
    let found = reading.mobiles().all().find(|(other, _)| *other == index);
    found.map_or_else(String::new, |(_, found)| mobile(found))
}

fn info(files: &Files) -> Result<ExitCode, String> {
    let (clocks, settings) = files.aligned()?;
    let mut reading = files.open(settings)?;
    let contents = Contents::of(&mut reading);
    let unknowns = contents.unknowns(&reading);
    if files.json {
        print_json(&info_json(files, (&reading, &contents), &clocks, &unknowns));
    } else {
        print_info(files, &reading, &contents, &clocks, &unknowns);
    }
    Ok(files.ended(&reading))
}

fn print_json(value: &Value) {
    gannet_rt::outln!("{value:#}");
}

fn seconds_between(first: Option<Stamp>, last: Option<Stamp>) -> f64 {
    first.zip(last).map_or(0.0, |(first, last)| last.seconds_since(first))
}

fn print_info(files: &Files, reading: &Reading, contents: &Contents, clocks: &[Ahead], unknowns: &[String]) {
    for (number, path) in (1..).zip(&files.files) {
        gannet_rt::outln!("File {number}: {}", files.input.word(path));
    }
    files.print_clocks(clocks);
    let seconds = seconds_between(contents.first, contents.last);
    gannet_rt::outln!("{} frames in {seconds:.3} s\n", contents.counts.frames);
    gannet_rt::outln!("{:<24} {:<8} {:>10}", "place", "layer", "records");
    for ((place, layer), count) in &contents.layers {
        gannet_rt::outln!("{:<24} {layer:<8} {count:>10}", place_name(reading, *place));
    }
    let [right, wrong, ciphered, cut] = contents.fcs;
    gannet_rt::outln!(
        "\nLL-PDUs: FCS right {right}, wrong {wrong}; ciphered {ciphered}; cut by the capture {cut}"
    );
    let rlc = contents.counts.rlc;
    if rlc.tbfs > 0 {
        gannet_rt::outln!(
            "RLC: {} TBFs, {} data blocks sent again with the same octets",
            rlc.tbfs,
            rlc.again
        );
    }
    gannet_rt::outln!("TCP: {} connections", reading.connections().len());
    gannet_rt::outln!("\nMobiles");
    for (index, it) in reading.mobiles().all() {
        let tllis: Vec<_> = it.tllis.iter().map(|tlli| format!("{tlli:08x}")).collect();
        let addresses: Vec<_> = it.addresses.iter().map(ToString::to_string).collect();
        let count = contents.mobiles.get(&index).copied().unwrap_or(0);
        gannet_rt::outln!(
            "  {}: {count} records; TLLI {}; address {}",
            mobile(it),
            listed(&tllis),
            listed(&addresses)
        );
    }
    gannet_rt::outln!("\nWhat these captures cannot tell");
    if unknowns.is_empty() {
        gannet_rt::outln!("  Nothing is missing that would be seen.");
    }
    for unknown in unknowns {
        gannet_rt::outln!("  {unknown}");
    }
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "unknown".to_owned() } else { names.join(" ") }
}

fn info_json(
    files: &Files,
    (reading, contents): (&Reading, &Contents),
    clocks: &[Ahead],
    unknowns: &[String],
) -> Value {
    let layers: Vec<_> = contents
        .layers
        .iter()
        .map(|((place, layer), count)| json!({"place": place_name(reading, *place), "layer": layer, "records": count}))
        .collect();
    let mobiles: Vec<_> = reading
        .mobiles()
        .all()
        .map(|(index, it)| {
            let tllis: Vec<_> = it.tllis.iter().map(|tlli| format!("{tlli:08x}")).collect();
            let tunnels: Vec<_> =
                it.tunnels.iter().map(|(at, teid)| json!({"at": at.to_string(), "teid": teid})).collect();
            let records = contents.mobiles.get(&index).copied().unwrap_or(0);
            json!({"name": mobile(it), "imsi": it.imsi.map(|imsi| imsi.to_string()), "tllis": tllis,
                "addresses": it.addresses, "tunnels": tunnels, "records": records})
        })
        .collect();
    let [right, wrong, ciphered, cut] = contents.fcs;
    let rlc = contents.counts.rlc;
    json!({
        "files": files.names(),
        "frames": contents.counts.frames,
        "seconds": seconds_between(contents.first, contents.last),
        "clocks": clocks_json(clocks),
        "layers": layers,
        "ll_pdus": {"right": right, "wrong": wrong, "ciphered": ciphered, "cut": cut},
        "rlc": {"tbfs": rlc.tbfs, "again": rlc.again, "missing": rlc.missing, "lost": rlc.lost},
        "connections": reading.connections().len(),
        "mobiles": mobiles,
        "unknown": unknowns,
        "damages": files.damages(reading),
    })
}

fn way(arguments: &JourneyArguments) -> Result<ExitCode, String> {
    let files = &arguments.files;
    let wanted = arguments.packet;
    if usize::from(wanted.file) >= files.files.len() {
        return Err(format!("there is no file {}", wanted.file + 1));
    }
    let (clocks, settings) = files.aligned()?;
    let mut reading = files.open(settings)?;
    let Some(journey) = journey::find(&mut reading, wanted) else {
        files.ended(&reading);
        let name = files.name(wanted.file);
        return Err(format!("frame {} of {name} carries no IP packet, nor a part of one", wanted.frame));
    };
    if files.json {
        print_json(&journey_json(&reading, &journey, &clocks));
    } else {
        print_journey(files, &reading, &journey, &clocks);
    }
    Ok(ExitCode::SUCCESS)
}

fn carried(carrier: Carrier) -> String {
    match carrier {
        Carrier::Segments { number, count, .. } => format!("N-PDU {number} in {count} SN-PDUs"),
        Carrier::GPdu { teid, .. } => format!("G-PDU of TEID {teid:08x}"),
        Carrier::Plain => "IP".to_owned(),
    }
}

fn direction(direction: Option<Direction>) -> &'static str {
    match direction {
        Some(Direction::Up) => "uplink",
        Some(Direction::Down) => "downlink",
        None => "direction unknown",
    }
}

fn between(later: Stamp, earlier: Stamp) -> i64 {
    later.0.wrapping_sub(earlier.0).cast_signed()
}

fn print_journey(files: &Files, reading: &Reading, journey: &Journey, clocks: &[Ahead]) {
    files.print_clocks(clocks);
    let whose = journey.mobile.map_or_else(|| "mobile unknown".to_owned(), |it| mobile_name(reading, it));
    gannet_rt::outln!("{}, {}, {whose}\n", journey.words(), direction(journey.direction));
    gannet_rt::outln!(
        "{:<20} {:>9} {:>9} {:>12} {:>12} {:>12}  as",
        "place",
        "from",
        "to frame",
        "at ms",
        "within ms",
        "after ms"
    );
    let mut last: Option<&Sighting> = None;
    let start = journey.sightings.iter().map(|it| it.began).min().unwrap_or_default();
    for it in &journey.sightings {
        let after = last.map_or_else(|| "-".to_owned(), |last| ms(between(it.at, last.at)));
        gannet_rt::outln!(
            "{:<20} {:>9} {:>9} {:>12} {:>12} {after:>12}  {}",
            place_name(reading, it.place),
            it.first.frame,
            it.proof.frame,
            ms(between(it.at, start)),
            ms(between(it.at, it.began)),
            carried(it.carrier)
        );
        last = Some(it);
    }
    gannet_rt::outln!(
        "\nat: complete there, since its first octet anywhere. within: from its first part to its last. after: since it was \
         complete at the place before."
    );
}

fn journey_json(reading: &Reading, journey: &Journey, clocks: &[Ahead]) -> Value {
    let one = |it: &Sighting| {
        json!({"place": place_name(reading, it.place), "file": it.proof.file + 1, "first_frame": it.first.frame,
            "frame": it.proof.frame, "began_ns": it.began.0, "at_ns": it.at.0,
            "within_ns": between(it.at, it.began), "as": carried(it.carrier)})
    };
    json!({
        "packet": journey.words(),
        "octets": journey.octets,
        "direction": direction(journey.direction),
        "mobile": journey.mobile.map(|it| mobile_name(reading, it)),
        "clocks": clocks_json(clocks),
        "sightings": journey.sightings.iter().map(one).collect::<Vec<_>>(),
    })
}

fn timeline(arguments: &TimelineArguments) -> Result<ExitCode, String> {
    let files = &arguments.files;
    let (clocks, settings) = files.aligned()?;
    let mut known = files.open(settings.clone())?;
    // Names that are learnt late belong to what went before too.
    known.by_ref().for_each(drop);
    let who = match &arguments.mobile {
        None => Who::All,
        Some(name) => Who::named(name, &known).ok_or_else(|| format!("no mobile is called {name} there"))?,
    };
    let reading = files.open(settings)?;
    let mut chooser = Chooser::new(who, &known);
    if !files.json {
        files.print_clocks(&clocks);
    }
    let mut start = None;
    for seen in reading {
        let start = *start.get_or_insert(seen.at);
        if chooser.takes(&seen) {
            print_row(files, &known, &seen, start);
        }
    }
    Ok(files.ended(&known))
}

fn print_row(files: &Files, known: &Reading, seen: &Seen<Record>, start: Stamp) {
    let place = place_name(known, seen.place);
    let (layer, text) = (seen.what.layer(), words(&seen.what));
    let whose = seen.what.mobile().map(|index| mobile_name(known, index));
    if files.json {
        let row = json!({"at_ns": seen.at.0, "file": seen.proof.file + 1, "frame": seen.proof.frame, "place": place,
            "layer": layer, "mobile": whose, "what": text});
        gannet_rt::outln!("{row}");
    } else {
        let at = format!("{:.6}", seen.at.seconds_since(start));
        let frame = seen.proof.frame;
        gannet_rt::outln!("{at:>12} {place:<14} {frame:>8} {layer:<8} {text}");
    }
}
