//! Experiments of the tracing study: everything that they report is read from captures of virtual worlds by the analyser.
//!
//! | experiment | question |
//! |---|---|
//! | [`throughput`] | TCP by terminal, MTU and N201-U, beside the payload less headers and control blocks |
//! | [`rtt`] | a ping of 32 octets as a sum, by how TBFs end; which settings make each second one longer |
//! | [`tbf`] | what RLC does under TCP: TBFs of acknowledgements, blocks sent again without need (figure 7) |
//! | [`buffer`] | the size of the bottleneck's buffer, from the host's capture alone and with that of Gb |

pub mod buffer;
pub mod rtt;
pub mod tbf;
pub mod throughput;

use crate::radio::capture::{instant, reading};
use gannet_analysis::findings::{Analysis, Names, Report};
use gannet_analysis::record::{Record, Seen};
use gannet_analysis::tcp::report::HalfReport;
use gannet_machine::time::Instant;

/// What the analyser says of a capture.
#[derive(Debug)]
pub(crate) struct Read {
    /// Its report.
    pub report: Report,
    /// The names of places.
    pub places: Vec<String>,
}

impl Read {
    /// What the place of this name saw of the first connection, from the end that opened it to the other.
    pub fn forward(&self, place: &str) -> Option<&HalfReport> {
        let is_there = |of: u16| self.places.get(usize::from(of)).is_some_and(|name| name == place);
        self.report.connections.iter().find(|of| is_there(of.place)).map(|of| &of.forward)
    }
}

/// Has the analyser read a capture in memory from one time until another. `see` is shown each record there, with the name of its place.
///
/// # Errors
/// Where the capture is damaged, or something in it cannot be read.
pub(crate) fn read(
    capture: Vec<u8>,
    (from, until): (Instant, Instant),
    mut see: impl FnMut(Instant, &Seen<Record>, &str),
) -> Result<Read, String> {
    let (mut reading, mut analysis) = (reading(capture)?, Analysis::default());
    let mut unreadable = 0_u64;
    while let Some(seen) = reading.next() {
        let at = instant(seen.at.0);
        unreadable += u64::from(matches!(seen.what, Record::Unreadable(_)));
        if at < from || at >= until {
            continue;
        }
        let place = reading.places().get(usize::from(seen.place)).and_then(|place| place.name.as_deref());
        see(at, &seen, place.unwrap_or_default());
        analysis.take(&seen);
    }
    match (reading.damages().first(), unreadable) {
        (Some(damage), _) => Err(damage.to_string()),
        (None, 1..) => Err(format!("{unreadable} records of a capture cannot be read")),
        (None, 0) => {
            let places = reading.places().iter().map(|place| place.name.clone().unwrap_or_default());
            let places = places.collect();
            Ok(Read { report: analysis.finish(&Names::of(&reading)), places })
        }
    }
}
