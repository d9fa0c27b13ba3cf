//! Figure 7: blocks of RLC over time with their kinds, uplink TBFs, and the TCP acknowledgements in them.

use super::counted::UP;
use super::{Does, Measured};
use crate::figure::{Curve, Figure, Panel, Point, Style};
use crate::radio::capture::instant;
use gannet_analysis::radio::report::{Again, BlockMark, Tbf};
use gannet_analysis::record::Stamp;
use gannet_machine::time::Instant;

/// Seconds of a run that are drawn.
const DRAWN_S: f64 = 8.0;

/// Seconds since the connection began.
fn after(at: Stamp, began: Instant) -> f64 {
    let at = instant(at.0);
    at.since(began).as_secs_f64() - if at < began { f64::INFINITY } else { 0.0 }
}

fn is_drawn(x: f64) -> bool {
    (0.0..=DRAWN_S).contains(&x)
}

fn curve(name: &str, colour: usize, points: Vec<Point>) -> Curve {
    Curve { name: name.to_owned(), style: Style::Marks, colour, points }
}

/// Downlink blocks: their number, counted over all TBFs.
fn downlink(of: &Measured, title: &str) -> Panel {
    let mut kinds: [Vec<Point>; 5] = Default::default();
    let mut tbfs: Vec<&Tbf> = of.tbfs.iter().filter(|tbf| tbf.direction != UP).collect();
    tbfs.sort_by_key(|tbf| tbf.first_data);
    let mut base: Option<f64> = None;
    for tbf in tbfs {
        let lowest = tbf.marks.points().iter().map(|(_, number, _)| *number).min().unwrap_or(0);
        let mut highest = base.unwrap_or(0.0);
        for (at, number, mark) in tbf.marks.points() {
            let x = after(*at, of.began);
            if !is_drawn(x) {
                continue;
            }
            let y = base.unwrap_or(0.0) + crate::radio::as_f64(number.saturating_sub(lowest));
            highest = highest.max(y + 1.0);
            let place = match mark {
                BlockMark::New | BlockMark::Late => 0,
                BlockMark::Filler => 1,
                BlockMark::Again(Again::Needed | Again::Polling) => 2,
                BlockMark::Again(Again::Premature) => 3,
                BlockMark::Again(Again::Repeated | Again::Acknowledged) => 4,
                BlockMark::Report => continue,
            };
            if let Some(points) = kinds.get_mut(place) {
                points.push(Point::new(x, y));
            }
        }
        base = Some(highest);
    }
    let names = ["new", "dummy", "needed", "premature", "repeated"];
    let mut curves: Vec<Curve> = names
        .into_iter()
        .zip(0..)
        .zip(kinds)
        .map(|((name, colour), points)| curve(name, colour, points))
        .collect();
    // What is rare is on top.
    curves.reverse();
    Panel {
        title: title.to_owned(),
        x: "time, s".to_owned(),
        y: "downlink block".to_owned(),
        curves,
        ..Panel::default()
    }
}

/// Uplink TBFs, each in a row of its own.
fn uplink(of: &Measured, title: &str) -> Panel {
    let mut tbfs: Vec<&Tbf> = of.tbfs.iter().filter(|tbf| tbf.direction == UP).collect();
    tbfs.sort_by_key(|tbf| tbf.first_data);
    let mut kinds: [Vec<Point>; 4] = Default::default();
    let mut row = 0.0;
    for tbf in tbfs {
        let first = tbf.first_data.map(|(at, _)| at);
        if !first.is_some_and(|at| is_drawn(after(at, of.began))) {
            continue;
        }
        row += 1.0;
        let acks = tbf.acks.points().iter().map(|ack| ack.at);
        let all = [tbf.asked.map(|(at, _)| at), first, Some(tbf.last.0)];
        let [asked, first, last] = all;
        let mut add = |place: usize, at: Stamp| {
            let x = after(at, of.began);
            if let (true, Some(points)) = (is_drawn(x), kinds.get_mut(place)) {
                points.push(Point::new(x, row));
            }
        };
        asked.into_iter().for_each(|at| add(0, at));
        first.into_iter().for_each(|at| add(1, at));
        acks.for_each(|at| add(2, at));
        last.into_iter().for_each(|at| add(3, at));
    }
    let names = ["asked for", "first block", "TCP acknowledgement", "end"];
    let curves = names
        .into_iter()
        .zip(0..)
        .zip(kinds)
        .map(|((name, colour), points)| curve(name, colour, points))
        .collect();
    Panel {
        title: title.to_owned(),
        x: "time, s".to_owned(),
        y: "uplink TBF".to_owned(),
        curves,
        ..Panel::default()
    }
}

/// The first seconds of the first scene.
pub fn drawing(all: &[Measured]) -> Figure {
    let mut panels = Vec::new();
    for does in Does::ALL {
        if let Some(of) = all.iter().find(|of| of.scene.name == "waiting" && of.does == does) {
            panels.push(downlink(of, &format!("Downlink, {}", does.name())));
            panels.push(uplink(of, &format!("Uplink TBFs, {}", does.name())));
        }
    }
    let caption = "The first seconds of a download whose sender waits for each acknowledgement, as the analyser reads them from a capture: \
                   downlink blocks of RLC by number and kind, and uplink TBFs with the TCP acknowledgements in them. Above with the studied \
                   policy, below with the sparing one. One run of each.";
    Figure::new("trace-tbf", caption, panels)
}
