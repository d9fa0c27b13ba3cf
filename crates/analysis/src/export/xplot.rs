//! Plots as xplot and jPlot read them: the format of tcptrace's `.xpl` files, with its marks and colours.
//!
//! Segments are arrows, those sent again red with an `R`, acknowledgements a green stair, selective ones purple.

use crate::record::Stamp;
use crate::tcp::report::{HalfReport, Mark, RoundTrip};
use std::io::{self, Write};

/// Time of a plot: seconds and microseconds since 1970.
fn time(at: Stamp) -> String {
    format!("{}.{:06}", at.0 / 1_000_000_000, at.0 % 1_000_000_000 / 1_000)
}

/// A title in one line.
fn head(to: &mut dyn Write, (y_kind, title): (&str, &str), labels: (&str, &str)) -> io::Result<()> {
    let title = title.replace(['\n', '\r'], " ");
    writeln!(to, "timeval {y_kind}\ntitle\n{title}\nxlabel\n{}\nylabel\n{}", labels.0, labels.1)
}

/// Numbers of the stream over time: what tcptrace calls the time sequence graph.
///
/// # Errors
/// Those of the writer.
pub fn time_sequence(to: &mut dyn Write, half: &HalfReport, title: &str) -> io::Result<()> {
    head(to, ("unsigned", title), ("time", "sequence number"))?;
    let mut acknowledged: Option<(Stamp, u64)> = None;
    for (at, mark) in half.marks.points() {
        let now = time(*at);
        match mark {
            Mark::Sent(start, end) => {
                writeln!(
                    to,
                    "white\ndarrow {now} {start}\nuarrow {now} {end}\nline {now} {start} {now} {end}"
                )?;
            }
            Mark::Again(start, end) => {
                writeln!(
                    to,
                    "red\ndarrow {now} {start}\nuarrow {now} {end}\nline {now} {start} {now} {end}"
                )?;
                writeln!(to, "atext {now} {end}\nR")?;
            }
            Mark::Filled(start, end) => {
                writeln!(
                    to,
                    "pink\ndarrow {now} {start}\nuarrow {now} {end}\nline {now} {start} {now} {end}"
                )?;
                writeln!(to, "atext {now} {end}\nO")?;
            }
            Mark::Acknowledged(number) => {
                if let Some((from, last)) = acknowledged {
                    writeln!(
                        to,
                        "green\nline {} {last} {now} {last}\nline {now} {last} {now} {number}",
                        time(from)
                    )?;
                }
                acknowledged = Some((*at, *number));
            }
            Mark::Selective(left, right) => writeln!(to, "purple\nline {now} {left} {now} {right}")?,
        }
    }
    writeln!(to, "go")
}

/// Outstanding data over time.
///
/// # Errors
/// Those of the writer.
pub fn outstanding(to: &mut dyn Write, half: &HalfReport, title: &str) -> io::Result<()> {
    head(to, ("unsigned", title), ("time", "outstanding data, octets"))?;
    writeln!(to, "red")?;
    for pair in half.outstanding.points().windows(2) {
        let [one, next] = pair else { continue };
        writeln!(to, "line {} {} {} {}", time(one.at), one.octets, time(next.at), next.octets)?;
    }
    writeln!(to, "go")
}

/// Round trips over time, in milliseconds.
///
/// # Errors
/// Those of the writer.
pub fn round_trips(to: &mut dyn Write, samples: &[RoundTrip], title: &str) -> io::Result<()> {
    head(to, ("unsigned", title), ("time", "round trip, ms"))?;
    writeln!(to, "red")?;
    for sample in samples {
        writeln!(to, "dot {} {}", time(sample.at), sample.rtt_ns / 1_000_000)?;
    }
    writeln!(to, "go")
}
