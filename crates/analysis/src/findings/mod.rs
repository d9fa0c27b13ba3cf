//! What an analysis says in plain words: each finding has its numbers and the frames that prove it.

mod layers;
mod mobility;
mod procedures;
mod radio;
#[cfg(test)]
mod tests;
mod transport;

use crate::layers::{Layers, LayersReport};
use crate::mobility::Mobility;
use crate::pings::{Pings, Row};
use crate::procedures::Procedures;
use crate::radio::Radio;
use crate::radio::report::RadioReport;
use crate::reading::Reading;
use crate::record::{Kind, Proof, Record, Seen};
use crate::series::{real, seconds};
use crate::tcp::Tcp;
use crate::tcp::between::{Between, Way};
use crate::tcp::report::ConnectionReport;
use serde::Serialize;
use std::fmt::{self, Write as _};

/// Frames that a finding names at most; the report of its layer has the others.
const PROOFS_MAX: usize = 8;

/// One thing that the records say.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Its kind, such as `tcp-buffer`: the same for the same kind of thing in any capture.
    pub kind: &'static str,
    /// Where: the connection, the TBF's cell, the place.
    pub of: String,
    /// In plain words.
    pub text: String,
    /// Its numbers: name with unit, and value.
    pub numbers: Vec<(&'static str, f64)>,
    /// Frames that prove it, some of them.
    pub proofs: Vec<Proof>,
}

impl Finding {
    fn new(kind: &'static str, of: &str, text: String) -> Self {
        Self { kind, of: of.to_owned(), text, numbers: Vec::new(), proofs: Vec::new() }
    }

    fn number(mut self, name: &'static str, value: f64) -> Self {
        self.numbers.push((name, value));
        self
    }

    fn proved_by(mut self, proofs: impl IntoIterator<Item = Proof>) -> Self {
        self.proofs.extend(proofs.into_iter().take(PROOFS_MAX));
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.kind, self.of, self.text)?;
        for (place, proof) in self.proofs.iter().enumerate() {
            let before = if place == 0 { " [frames " } else { ", " };
            write!(f, "{before}{}:{}", proof.file + 1, proof.frame)?;
        }
        if self.proofs.is_empty() { Ok(()) } else { f.write_str("]") }
    }
}

/// How connections and places are called.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// Both ends of each connection: the one that opened it first.
    pub connections: Vec<(String, String)>,
    /// Each place.
    pub places: Vec<String>,
    /// For each index of a mobile the one that it stands for, and that mobile's name.
    pub mobiles: Vec<(u32, String)>,
    /// What was ciphered, and compressed.
    pub hidden: (crate::cipher::Counts, crate::compression::Counts),
}

impl Names {
    /// Those of a reading.
    #[must_use]
    pub fn of(reading: &Reading) -> Self {
        let ends = reading.connections().iter();
        let place = |place: &crate::reading::Place| {
            let name = place.name.clone().unwrap_or_else(|| format!("interface {}", place.interface));
            let kind = match place.kind {
                Kind::Radio => "radio",
                Kind::Gb => "Gb",
                Kind::Gn => "Gn",
                Kind::Ip => "IP",
            };
            format!("{kind} (file {}, {name})", place.file + 1)
        };
        Self {
            connections: ends.map(|ends| (ends.opener.to_string(), ends.other.to_string())).collect(),
            places: reading.places().iter().map(place).collect(),
            mobiles: reading.mobiles().names().collect(),
            hidden: (reading.counts().cipher, reading.counts().compression),
        }
    }

    /// The mobile that an index stands for.
    fn one(&self, mobile: u32) -> u32 {
        let known = usize::try_from(mobile).ok().and_then(|index| self.mobiles.get(index));
        known.map_or(mobile, |(one, _)| *one)
    }

    fn mobile(&self, mobile: Option<u32>) -> String {
        let index = mobile.and_then(|mobile| usize::try_from(mobile).ok());
        let known = index.and_then(|index| self.mobiles.get(index));
        known.map_or_else(|| "unknown mobile".to_owned(), |(_, name)| name.clone())
    }

    /// What a place is called.
    #[must_use]
    pub fn place(&self, place: u16) -> String {
        self.places.get(usize::from(place)).cloned().unwrap_or_else(|| format!("place {place}"))
    }

    /// What a direction of a connection is called.
    #[must_use]
    pub fn way(&self, connection: u32, is_forward: bool) -> String {
        let ends = usize::try_from(connection).ok().and_then(|index| self.connections.get(index));
        match ends {
            Some((opener, other)) if is_forward => format!("{opener} → {other}"),
            Some((opener, other)) => format!("{other} → {opener}"),
            None => format!("connection {connection}, {}", if is_forward { "forward" } else { "backward" }),
        }
    }
}

/// What is known of a reading.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Findings, by layer.
    pub findings: Vec<Finding>,
    /// Connections of TCP.
    pub connections: Vec<ConnectionReport>,
    /// Ways between places.
    pub ways: Vec<Way>,
    /// Pings.
    pub pings: Vec<Row>,
    /// The radio.
    pub radio: RadioReport,
    /// What each layer carried.
    pub layers: LayersReport,
    /// Procedures.
    pub procedures: crate::procedures::report::Report,
    /// Changes of cell.
    pub mobility: crate::mobility::Report,
    /// What was ciphered.
    pub cipher: crate::cipher::Counts,
    /// What was compressed.
    pub compression: crate::compression::Counts,
}

impl Report {
    /// The findings as text, a line each.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for finding in &self.findings {
            let _ = writeln!(text, "{finding}");
        }
        text
    }
}

/// Takes records, and says what they say.
#[derive(Debug, Default)]
pub struct Analysis {
    tcp: Tcp,
    between: Between,
    radio: Radio,
    pings: Pings,
    layers: Layers,
    procedures: Procedures,
    mobility: Mobility,
}

impl Analysis {
    /// With these limits.
    #[must_use]
    pub fn new(tcp: crate::tcp::Settings, radio: crate::radio::Settings) -> Self {
        Self { tcp: Tcp::new(tcp), radio: Radio::new(radio), ..Self::default() }
    }

    /// Takes a record; they come in the order of time.
    pub fn take(&mut self, seen: &Seen<Record>) {
        self.layers.take(seen);
        self.procedures.take(seen);
        self.mobility.take(seen);
        match &seen.what {
            Record::Tcp(segment) => {
                self.radio.take_segment(&at_place(seen, segment));
                let seen = at_place(seen, segment.clone());
                self.tcp.take(&seen);
                self.between.take(&seen);
            }
            Record::Radio(block) => self.radio.take(&at_place(seen, block.clone())),
            Record::Packet(packet) => {
                self.pings.take(&at_place(seen, packet));
                self.radio.take_packet(&at_place(seen, packet));
            }
            _ => {}
        }
    }

    /// What is known at the end.
    #[must_use]
    pub fn finish(self, names: &Names) -> Report {
        let left_out = self.tcp.left_out();
        let (connections, ways, radio, pings) =
            (self.tcp.finish(), self.between.finish(), self.radio.finish(), self.pings.finish());
        let mut findings = Vec::new();
        for connection in &connections {
            transport::of_connection(connection, names, &mut findings);
        }
        transport::of_ways(&ways, names, &mut findings);
        if left_out > 0 {
            let text =
                format!("{left_out} segments belong to connections beyond the limit and were not looked at");
            findings.push(Finding::new("tcp-left-out", "TCP", text).number("segments", real(left_out)));
        }
        of_pings(&pings, names, &mut findings);
        radio::of_radio(&radio, names, &mut findings);
        let layers = self.layers.finish();
        layers::of_layers(&layers, names, &mut findings);
        let procedures = self.procedures.finish();
        let mobility = self.mobility.finish(&connections, |mobile| names.one(mobile));
        procedures::of_procedures(&procedures, names, &mut findings);
        mobility::of_mobility(&mobility, names, &mut findings);
        let (cipher, compression) = names.hidden;
        procedures::of_hidden(cipher, compression, &mut findings);
        Report {
            findings,
            connections,
            ways,
            pings,
            radio,
            layers,
            procedures,
            mobility,
            cipher,
            compression,
        }
    }
}

const fn at_place<T>(seen: &Seen<Record>, what: T) -> Seen<T> {
    Seen { at: seen.at, proof: seen.proof, place: seen.place, what }
}

/// Reads to the end and says what is known.
#[must_use]
pub fn analyze(reading: &mut Reading) -> Report {
    let mut analysis = Analysis::default();
    for record in reading.by_ref() {
        analysis.take(&record);
    }
    analysis.finish(&Names::of(reading))
}

fn of_pings(rows: &[Row], names: &Names, findings: &mut Vec<Finding>) {
    for row in rows {
        let of = format!("pings {} at {}", row.identifier, names.place(row.place));
        let answers = row.round_trips.seen();
        let (Some(least), Some(median), Some(most)) =
            (row.quantile(0.0), row.quantile(0.5), row.quantile(1.0))
        else {
            let text = format!("none of {} was answered", row.requests);
            findings.push(
                Finding::new("ping-rtt", &of, text)
                    .number("requests", real(row.requests))
                    .proved_by([row.first]),
            );
            continue;
        };
        let swing = row.oscillation();
        let swings = match swing {
            Some((by, part)) => {
                format!(
                    "; each second one takes {} longer ({:.0} % of neighbours agree)",
                    ms(by),
                    part * 100.0
                )
            }
            None => "; odd and even ones do not differ".to_owned(),
        };
        let text = format!(
            "{answers} of {} answered, {} to {}, median {}{swings}",
            row.requests,
            ms(least),
            ms(most),
            ms(median)
        );
        let proofs = row.round_trips.points().iter().take(2).flat_map(|one| [one.sent, one.answered]);
        findings.push(
            Finding::new("ping-rtt", &of, text)
                .number("requests", real(row.requests))
                .number("answers", real(answers))
                .number("least_s", seconds(least))
                .number("median_s", seconds(median))
                .number("most_s", seconds(most))
                .number("swing_s", swing.map_or(0.0, |(by, _)| seconds(by)))
                .proved_by(proofs),
        );
    }
}

/// Nanoseconds as milliseconds, below ten of them with two places, or as seconds from ten on.
fn ms(ns: u64) -> String {
    if ns >= 10_000_000_000 {
        format!("{:.1} s", seconds(ns))
    } else if (1..10_000_000).contains(&ns) {
        format!("{:.2} ms", seconds(ns) * 1e3)
    } else {
        format!("{:.0} ms", seconds(ns) * 1e3)
    }
}

/// Octets by the second as kbit/s.
fn kbit(octets_per_s: f64) -> String {
    format!("{:.1} kbit/s", octets_per_s * 8.0 / 1e3)
}

/// A part of a whole in percent.
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { real(part) * 100.0 / real(whole) }
}
