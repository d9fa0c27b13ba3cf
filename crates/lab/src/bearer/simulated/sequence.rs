//! Sequence numbers of LLC over time where frames are lost, by the way of retransmission.

use super::super::sequence::numbers::{Event, Sequence};
use super::{
    Conditions, FITTING, Kind, LOSSY, Line, N201_I, NETWORK, Path, Settings, cell, options, rounded,
};
use crate::figure::{Figure, Panel};
use crate::report::Cell;
use gannet_machine::time::{Duration, Instant};
use serde_json::json;

/// The line alone, without its loss.
const ROUND_TRIP: Duration = Duration::from_millis(8);
const LOSS: f64 = 0.05;
/// What is drawn, and when that begins: shortly before a repetition.
const SHOWN: Duration = Duration::from_millis(60);
const BEFORE: Duration = Duration::from_millis(5);
const SETTLES_IN: Duration = Duration::from_millis(500);
/// How many of [`LOSSY`] are shown.
const SETTINGS: usize = 2;

/// The numbers of one setting.
#[derive(Debug)]
pub(super) struct Numbers {
    setting: &'static str,
    sequence: Sequence,
}

impl Numbers {
    /// What was sent until the end of what is drawn.
    pub(super) fn cell(&self) -> Cell {
        let count = |event| json!(self.sequence.count(event));
        let metrics = vec![
            ("sent", count(Event::Sent)),
            ("sent_again", count(Event::Again)),
            ("part_sent_again", json!(rounded(self.sequence.part_again()))),
        ];
        cell("sequence", [("setting", json!(self.setting))], metrics)
    }

    fn panel(&self) -> Panel {
        self.sequence.panel(self.setting, ("N(S), frames", 1.0), (self.begins(), SHOWN))
    }

    fn begins(&self) -> Instant {
        let settled = Instant::ZERO + SETTLES_IN;
        let at = self.sequence.first_again(settled).unwrap_or(settled);
        Instant(at.0.saturating_sub(BEFORE.0))
    }
}

/// Selective retransmission and go-back-N on the same line.
///
/// # Errors
/// What must not happen: a unit that is lost, doubled or out of order.
pub(super) fn numbers(seed: u64) -> Result<Vec<Numbers>, String> {
    let mut all = Vec::new();
    for (setting, retransmission, timing) in LOSSY.iter().take(SETTINGS) {
        let settings = Settings { options: options(*retransmission, *timing), ..FITTING.settings };
        let conditions = Conditions { round_trip: ROUND_TRIP, loss: LOSS, seed };
        let mut path = Path::new(Line::new(Kind::Ethernet, conditions), settings, seed)?;
        path.has_always(NETWORK, N201_I.into())?;
        path.run_until(Instant::ZERO + SETTLES_IN + SETTLES_IN)?;
        all.push(Numbers { setting, sequence: path.numbers });
    }
    Ok(all)
}

/// Both side by side.
pub(super) fn drawing(all: &[Numbers]) -> Figure {
    let caption = format!(
        "I frames of the network over Ethernet of 100 Mbit/s in virtual time, with a window of 255 frames, a round trip of {} ms and {:.0} % loss \
         each way. Time begins {} ms before a repetition, {} s and more after the start.",
        ROUND_TRIP.as_secs_f64() * 1e3,
        LOSS * 100.0,
        BEFORE.as_secs_f64() * 1e3,
        SETTLES_IN.as_secs_f64(),
    );
    Figure::new("bearer-sequence-simulated", &caption, all.iter().map(Numbers::panel).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_back_n_sends_again_what_had_arrived() {
        let all = numbers(1).unwrap();
        let [selective, go_back] = all.as_slice() else { panic!("two settings") };
        let (part, more) = (selective.sequence.part_again(), go_back.sequence.part_again());
        // Each frame is lost with 5 %, also one that is sent again.
        assert!((0.04..0.06).contains(&part), "{part}");
        assert!(more > 2.0 * part, "{more} beside {part}");
        let panels = drawing(&all).panels;
        assert!(panels.iter().all(|panel| panel.curves.len() == 3), "each event is there");
    }
}
