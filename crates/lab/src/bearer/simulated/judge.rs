//! What it comes to.

use super::super::line::Kind;
use super::tcp::{Download, Through};
use super::{Answered, Carried, Changed, FITTING, LOSSY, Lossy, Trip};
use crate::figure::{Curve, Figure, Panel, Point, Scale, Style};
use crate::report::{Verdict, at_least, at_most, greatest, least};
use gannet_machine::time::Duration;

/// The parts of the plain bearer that must be left.
const LEAST: [(Kind, f64); 2] = [(Kind::Ethernet, 0.96), (Kind::Wlan, 0.9)];
const LOSS: f64 = 0.05;
/// Up to here the window lets the line be filled also where frames are lost.
const SHORT: Duration = Duration::from_millis(8);
const LEAST_KEPT: f64 = 0.85;
const LEAST_OF_IDEAL: f64 = 0.8;
/// What TCP may send again up to [`SHORT`], as a part of the segments.
const AGAIN_MOST: f64 = 0.001;
const PAUSE_MOST_MS: f64 = 200.0;

fn row(name: String, means: &str, ours: String, (goal, holds): (String, Option<bool>)) -> Verdict {
    Verdict { name, means: means.to_owned(), paper: None, ours, goal, holds }
}

/// The claims of the parameters that fit.
pub(super) fn verdicts(
    (carried, answered): (&[Carried], &[Answered]),
    lossy: &[Lossy],
    changes: &[Changed],
) -> Vec<Verdict> {
    let mut rows = of_goodput(carried, answered);
    let [(ours, ..), ..] = LOSSY;
    let of = |round_trip, loss: f64| {
        lossy
            .iter()
            .find(|of| of.setting == ours && of.round_trip == round_trip && (of.loss - loss).abs() < 1e-9)
    };
    let mut trips: Vec<Duration> = lossy.iter().map(|of| of.round_trip).collect();
    trips.dedup();
    for trip in trips {
        let (Some(with), Some(without)) = (of(trip, LOSS), of(trip, 0.0)) else { continue };
        let ms = trip.as_secs_f64() * 1e3;
        let name = format!("{ours}, at 5 % loss, {ms} ms");
        let (part, means, goal) = if trip <= SHORT {
            (with.mbps / without.mbps, "Goodput at 5 % loss, as a part of that without loss.", LEAST_KEPT)
        } else {
            let means = "Goodput at 5 % loss, as a part of what an ideal selective repeat with the same window carries.";
            (with.mbps / with.ideal_mbps, means, LEAST_OF_IDEAL)
        };
        rows.push(row(
            name,
            means,
            format!("{part:.3}: {:.1} Mbit/s", with.mbps),
            (format!(">= {goal}"), at_least(part, goal)),
        ));
    }
    for cut in [false, true] {
        let of: Vec<&Changed> = changes.iter().filter(|changed| changed.cut == cut).collect();
        let pause = greatest(of.iter().map(|changed| changed.longest_pause.as_secs_f64() * 1e3));
        let name = of.first().map_or("", |changed| changed.name());
        rows.push(row(
            format!("longest pause of a change, {name}"),
            "The longest time without a unit from a change of bearer on, whatever the round trips of both; no unit is lost or comes twice.",
            format!("{pause:.0} ms"),
            ("< 200 ms".to_owned(), at_most(pause, PAUSE_MOST_MS)),
        ));
    }
    let worst = least(lossy.iter().filter(|of| of.setting == ours).map(|of| {
        let best = greatest(
            lossy
                .iter()
                .filter(|other| other.round_trip == of.round_trip && (other.loss - of.loss).abs() < 1e-9)
                .map(|other| other.mbps),
        );
        of.mbps / best
    }));
    rows.push(row(
        format!("{ours}, beside the best of all ways"),
        "Goodput of the default, as a part of that of the best way of retransmission and timer, where that is least.",
        format!("{worst:.3}"),
        (">= 0.97".to_owned(), at_least(worst, 0.97)),
    ));
    rows
}

/// The same without loss.
fn of_goodput(carried: &[Carried], answered: &[Answered]) -> Vec<Verdict> {
    let mut rows = Vec::new();
    for (kind, goal) in LEAST {
        let Some(of) = carried.iter().find(|of| of.kind == kind && of.parameters == FITTING.name) else {
            continue;
        };
        let part = of.mbps / of.plain_mbps;
        rows.push(row(
            format!("acknowledged mode on {}", kind.name()),
            "Payload of full segments in acknowledged mode, as a part of that of full packets on the plain bearer, one after the other.",
            format!("{part:.3}: {:.1} of {:.1} Mbit/s", of.mbps, of.plain_mbps),
            (format!(">= {goal}"), at_least(part, goal)),
        ));
    }
    for of in answered {
        let goal = LEAST.iter().find(|(kind, _)| *kind == of.kind).map_or(0.0, |(_, goal)| *goal);
        let part = of.mbps / of.plain_mbps;
        rows.push(row(
            format!("the same with answers on {}, {}", of.kind.name(), of.way()),
            "Payload where the other end answers each second unit with 52 octets, as a part of that of the plain bearer with the same answers.",
            format!("{part:.3}: {:.2} of {:.2} Mbit/s, {:.2} frames a unit", of.mbps, of.plain_mbps, of.frames),
            (format!(">= {goal}"), at_least(part, goal)),
        ));
    }
    rows
}

/// The claims of one connection where frames are lost.
pub(super) fn of_tcp(downloads: &[Download]) -> Vec<Verdict> {
    let of = |through, round_trip, loss: f64| {
        downloads
            .iter()
            .find(|of| of.through == through && of.round_trip == round_trip && (of.loss - loss).abs() < 1e-9)
    };
    let mut rows = Vec::new();
    for with in
        downloads.iter().filter(|of| of.through == Through::Acknowledged && (of.loss - LOSS).abs() < 1e-9)
    {
        let trip = with.round_trip;
        let (Some(without), Some(plain)) = (of(with.through, trip, 0.0), of(Through::Plain, trip, LOSS))
        else {
            continue;
        };
        let ms = trip.as_secs_f64() * 1e3;
        let (part, means, goal) = if trip <= SHORT {
            (
                with.mbps / without.mbps,
                "Goodput of one connection (cubic without HyStart) at 5 % loss, as a part of that without loss.",
                LEAST_KEPT,
            )
        } else {
            let means = "Goodput of one connection (cubic without HyStart) at 5 % loss, as a part of what an ideal selective repeat with the same window carries.";
            (with.mbps / with.ideal_mbps, means, LEAST_OF_IDEAL)
        };
        let ours = format!("{part:.3}: {:.1} Mbit/s", with.mbps);
        rows.push(row(
            format!("TCP at 5 % loss, {ms} ms"),
            means,
            ours,
            (format!(">= {goal}"), at_least(part, goal)),
        ));
        if trip <= SHORT {
            rows.push(row(
                format!("TCP retransmissions at 5 % loss, {ms} ms"),
                "Segments that TCP sent again, as a part of all.",
                format!("{:.3} %", with.again * 100.0),
                ("<= 0.1 %".to_owned(), at_most(with.again, AGAIN_MOST)),
            ));
        }
        rows.push(row(
            format!("TCP beside the plain bearer at 5 % loss, {ms} ms"),
            "Goodput of one connection at 5 % loss in acknowledged mode, as a multiple of that of the bearer alone.",
            format!("{:.1} times: {:.1} beside {:.1} Mbit/s", with.mbps / plain.mbps, with.mbps, plain.mbps),
            ("> 1".to_owned(), Some(with.mbps > plain.mbps)),
        ));
    }
    rows
}

/// The same of connections.
pub(super) fn table_of_tcp(downloads: &[Download]) -> String {
    let mut text = "| way | round trip, ms | loss | goodput, Mbit/s | ideal, Mbit/s | TCP sent again | refused before SNDCP | packets that wait there |\n|---|---|---|---|---|---|---|---|\n".to_owned();
    for of in downloads {
        text.push_str(&format!(
            "| {} | {} | {:.0} % | {:.1} | {:.1} | {:.3} % | {:.3} % | {:.0} |\n",
            of.through.name(),
            of.round_trip.as_secs_f64() * 1e3,
            of.loss * 100.0,
            of.mbps,
            of.ideal_mbps,
            of.again * 100.0,
            of.refused * 100.0,
            of.waiting,
        ));
    }
    text
}

/// For a person, and for `docs/lab/bearer.md`.
pub(super) fn table_of_trips(trips: &[Trip]) -> String {
    let mut text = "| bearer | parameters | octets | way | frames | round trip, us | times the plain one's |\n|---|---|---|---|---|---|---|\n".to_owned();
    for trip in trips {
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} | {:.0} | {:.2} |\n",
            trip.kind.name(),
            trip.parameters,
            trip.octets,
            trip.through,
            trip.frames,
            trip.took.as_secs_f64() * 1e6,
            trip.times(),
        ));
    }
    text
}

/// The same.
pub(super) fn table_of_loss(lossy: &[Lossy]) -> String {
    let mut text =
        "| setting | round trip, ms | loss | goodput, Mbit/s | ideal, Mbit/s | sent again |\n|---|---|---|---|---|---|\n".to_owned();
    for of in lossy {
        text.push_str(&format!(
            "| {} | {} | {:.0} % | {:.1} | {:.1} | {:.1} % |\n",
            of.setting,
            of.round_trip.as_secs_f64() * 1e3,
            of.loss * 100.0,
            of.mbps,
            of.ideal_mbps,
            of.again * 100.0,
        ));
    }
    text
}

/// Goodput by round trip at 5 % loss.
pub(super) fn drawing(lossy: &[Lossy]) -> Figure {
    let points = |of: &dyn Fn(&Lossy) -> f64, setting: &str| -> Vec<Point> {
        let meant = lossy.iter().filter(|of| of.setting == setting && (of.loss - LOSS).abs() < 1e-9);
        meant.map(|lossy| Point::new(lossy.round_trip.as_secs_f64() * 1e3, of(lossy))).collect()
    };
    let [(ours, ..), ..] = LOSSY;
    let ideal = Curve {
        name: "ideal".to_owned(),
        style: Style::Reference,
        colour: 5,
        points: points(&|of| of.ideal_mbps, ours),
    };
    let curve = |((name, ..), colour): (&(&str, _, _), usize)| Curve {
        name: (*name).to_owned(),
        style: Style::Measured,
        colour,
        points: points(&|of| of.mbps, name),
    };
    let curves = LOSSY.iter().take(4).zip(0..).map(curve).chain([ideal]).collect();
    let panel = Panel {
        title: "5 % loss each way".to_owned(),
        x: "round trip of the line, ms".to_owned(),
        y: "goodput, Mbit/s".to_owned(),
        x_scale: Scale::Logarithmic,
        curves,
        ..Panel::default()
    };
    let caption = "Acknowledged mode over Ethernet of 100 Mbit/s in virtual time, with a window of 255 frames and units of 1485 octets. \
                   The ideal knows of each loss a round trip after the frame has left, and its acknowledgements cost nothing.";
    Figure::new("bearer-simulated", caption, vec![panel])
}
