//! What the runs come to.

use super::ideal::selective_repeat;
use super::{
    All, At, CUBIC, Kind, Measured, Mode, OURS, PAPER_BEST, PAPER_WORST, Setting, TRANSFER_AT, Through,
    Verdict,
};
use crate::report::{REPORTED, at_least, at_most};
use gannet_machine::time::Duration;

/// Octets of payload of a full segment: a packet of 1482 octets less IPv4, TCP and time stamps.
pub(super) const SEGMENT: f64 = 1430.0;
/// Octets of the line that such a segment takes: packet, SNDCP, LLC, adaptation, and what Ethernet adds.
const OF_LINE: f64 = 1482.0 + 3.0 + 7.0 + 8.0 + 14.0 + 24.0;
const WINDOW: u64 = 255;
/// Up to here the window lets the line be filled also where frames are lost.
const SHORT: Duration = Duration::from_millis(8);
/// What loss must leave of what acknowledged mode carries there, and of the ideal beyond.
const LEAST_KEPT: f64 = 0.85;
const LEAST_OF_IDEAL: f64 = 0.8;
/// What TCP may send again there, as a part of the segments.
const AGAIN_MOST: f64 = 0.001;
const LOSS: f64 = 0.05;

const ACKNOWLEDGED: Through = Through::Gprs(Mode::Acknowledged);

/// What an ideal selective repeat would carry at this round trip of the line, in Mbit/s.
fn ideal_mbps(round_trip: Duration) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "bits a second of a line")]
    let rate = Kind::Ethernet.rate() as f64;
    let frame_s = OF_LINE * 8.0 / rate;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some hundred frames")]
    let frames = (round_trip.as_secs_f64() / frame_s) as u64;
    selective_repeat(WINDOW, frames, LOSS, 1) * rate / 1e6 * SEGMENT / OF_LINE
}

fn spread(of: &Measured) -> String {
    format!("{:.1} [{:.1}..{:.1}] Mbit/s", of.mbps.median(), of.mbps.min(), of.mbps.max())
}

fn row(
    name: String,
    means: &str,
    paper: Option<&str>,
    ours: String,
    (goal, holds): (&str, Option<bool>),
) -> Verdict {
    let (means, paper, goal) = (means.to_owned(), paper.map(str::to_owned), goal.to_owned());
    Verdict { name, means, paper, ours, goal, holds }
}

fn is_measured(value: f64) -> Option<bool> {
    at_least(value, f64::NEG_INFINITY)
}

/// The claims.
pub(super) fn verdicts(all: &All, round_trips: &[Duration]) -> Vec<Verdict> {
    let mut rows = of_the_paper(all);
    for round_trip in round_trips {
        let ours = (Some(OURS), ACKNOWLEDGED);
        let (lossy, free) = (all.get(ours, CUBIC, *round_trip, LOSS), all.get(ours, CUBIC, *round_trip, 0.0));
        let plain = all.get((None, Through::Plain), CUBIC, *round_trip, LOSS);
        let (Some(lossy), Some(free), Some(plain)) = (lossy, free, plain) else { continue };
        let ms = round_trip.as_secs_f64() * 1e3;
        let (got, of_plain) = (lossy.mbps.median(), plain.mbps.median());
        if *round_trip <= SHORT {
            let kept = got / free.mbps.median();
            rows.push(row(
                format!("acknowledged mode at 5 % loss, {ms} ms"),
                "Goodput of one connection (cubic) at 5 % loss, as a part of what acknowledged mode carries without loss.",
                None,
                format!("{kept:.2}: {}", spread(lossy)),
                (">= 0.85", at_least(kept, LEAST_KEPT)),
            ));
            let again = lossy.again.median();
            rows.push(row(
                format!("TCP retransmissions at 5 % loss, {ms} ms"),
                "Segments that TCP sent again after its start, as a part of all, in acknowledged mode.",
                Some("none after start"),
                format!("{:.3} %", again * 100.0),
                ("<= 0.1 %", at_most(again, AGAIN_MOST)),
            ));
        } else {
            let of_ideal = got / ideal_mbps(*round_trip);
            rows.push(row(
                format!("acknowledged mode at 5 % loss, {ms} ms"),
                "Goodput of one connection (cubic) at 5 % loss, as a part of what an ideal selective repeat with a window of 255 frames would carry.",
                None,
                format!("{of_ideal:.2}: {}", spread(lossy)),
                (">= 0.8 of the ideal", at_least(of_ideal, LEAST_OF_IDEAL)),
            ));
        }
        rows.push(row(
            format!("beside the plain bearer at 5 % loss, {ms} ms"),
            "Goodput of one connection (cubic) at 5 % loss in acknowledged mode, as a multiple of that of the bearer alone.",
            None,
            format!("{:.1} times: {got:.1} beside {}", got / of_plain, spread(plain)),
            ("> 1", (!(got / of_plain).is_nan()).then_some(got > of_plain)),
        ));
    }
    rows
}

/// A way by its name, setting and context; the goodput and the time of a transfer that the paper states.
type OfThePaper = (&'static str, Option<Setting>, Through, Option<&'static str>, Option<&'static str>);

/// What stands in the paper's figures 12 to 15.
fn of_the_paper(all: &All) -> Vec<Verdict> {
    let (round_trip, loss) = TRANSFER_AT;
    let ways: [OfThePaper; 5] = [
        ("plain bearer", None, Through::Plain, Some("14 Mbit/s"), None),
        ("unacknowledged", None, Through::Gprs(Mode::Unacknowledged), Some("14 Mbit/s"), Some("2 s")),
        ("go-back-N, 1 s", Some(PAPER_WORST), ACKNOWLEDGED, None, None),
        ("go-back-N, 10 ms", Some(PAPER_BEST), ACKNOWLEDGED, Some("30 Mbit/s"), Some("< 0.5 s")),
        ("selective, adaptive", Some(OURS), ACKNOWLEDGED, None, None),
    ];
    let mut rows = Vec::new();
    for (name, setting, through, goodput, took) in ways {
        let Some(of) = all.get((setting, through), CUBIC, round_trip, loss) else { continue };
        rows.push(row(
            format!("TCP at 5 % loss, {name}"),
            "Goodput of one connection (cubic) at 5 % loss and the shortest round trip: median [least..most].",
            goodput,
            spread(of),
            (REPORTED, is_measured(of.mbps.median())),
        ));
        let s = &of.transfer_s;
        rows.push(row(
            format!("a transfer at 5 % loss, {name}"),
            "Time of a transfer of 1,800,000 octets at 5 % loss, its connection's beginning included.",
            took,
            format!("{:.2} [{:.2}..{:.2}] s", s.median(), s.min(), s.max()),
            (REPORTED, is_measured(s.median())),
        ));
    }
    rows
}

/// For a person, and for `docs/lab/bearer.md`.
pub(super) fn table(all: &All) -> String {
    let mut text = "| way | control | round trip, ms | loss | goodput, Mbit/s | TCP sent again | transfer, s |\n|---|---|---|---|---|---|---|\n".to_owned();
    for Measured { at, mbps, again, transfer_s, .. } in &all.0 {
        let At { setting, through, congestion, round_trip, loss } = at;
        let way = setting.map_or_else(|| through.name().to_owned(), Setting::name);
        let transfer =
            if transfer_s.is_empty() { String::new() } else { format!("{:.2}", transfer_s.median()) };
        text.push_str(&format!(
            "| {way} | {congestion} | {} | {:.0} % | {:.1} [{:.1}..{:.1}] | {:.3} % | {transfer} |\n",
            round_trip.as_secs_f64() * 1e3,
            loss * 100.0,
            mbps.median(),
            mbps.min(),
            mbps.max(),
            again.median() * 100.0,
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bearer::loss::All;

    #[test]
    fn what_is_claimed_is_told_from_what_is_not() {
        let mut all = All::default();
        let round_trips = [Duration::from_micros(200), Duration::from_millis(100)];
        let mut add = |setting, through, round_trip, loss, mbps, again| {
            let of = all.of(&At { setting, through, congestion: CUBIC, round_trip, loss });
            of.mbps.push(mbps);
            of.again.push(again);
        };
        for (round_trip, ideal) in [(round_trips[0], 93.0), (round_trips[1], ideal_mbps(round_trips[1]))] {
            add(Some(OURS), ACKNOWLEDGED, round_trip, 0.0, 93.0, 0.0);
            add(Some(OURS), ACKNOWLEDGED, round_trip, LOSS, ideal * 0.84, 0.002);
            add(None, Through::Plain, round_trip, LOSS, 14.0, 0.05);
        }
        let rows = verdicts(&all, &round_trips);
        let of = |name: &str| rows.iter().find(|row| row.name == name).unwrap().holds;
        assert_eq!(of("acknowledged mode at 5 % loss, 0.2 ms"), Some(false), "0.84 of 0.85");
        assert_eq!(of("TCP retransmissions at 5 % loss, 0.2 ms"), Some(false), "0.2 %");
        assert_eq!(of("acknowledged mode at 5 % loss, 100 ms"), Some(true), "0.84 of 0.8");
        assert_eq!(of("beside the plain bearer at 5 % loss, 100 ms"), Some(false));
        assert_eq!(of("beside the plain bearer at 5 % loss, 0.2 ms"), Some(true));
        assert_eq!(of("a transfer at 5 % loss, plain bearer"), None, "not measured");
    }

    #[test]
    fn the_ideal_is_bound_by_window_and_loss() {
        // .14 of what the line carries of payload.
        let mbps = ideal_mbps(Duration::from_millis(100));
        assert!((mbps / (100.0 * SEGMENT / OF_LINE) - 0.14).abs() < 0.02, "{mbps}");
    }
}
