//! Figures of what is known: the time sequence of a connection as tcptrace draws it, with outstanding data, round trips and throughput,
//! and what the layers carry over time.

use crate::findings::Names;
use crate::layers::{Layer, LayersReport};
use crate::record::{Direction, Stamp};
use crate::series::{real, seconds};
use crate::tcp::report::{HalfReport, Mark};
use gannet_figure::{Curve, Figure, Panel, Point, Style};

/// The shapes of marks, by their numbers in the palette.
const CROSS: usize = 1;
const PLUS: usize = 2;
const BOX: usize = 3;
const STROKE: usize = 6;
/// Intervals of a figure at most: of more several become one.
const INTERVALS_MAX: usize = 200;

fn curve(name: &str, style: Style, colour: usize, points: Vec<Point>) -> Curve {
    Curve { name: name.to_owned(), style, colour, points }
}

fn panel(title: &str, y: &str, curves: Vec<Curve>) -> Panel {
    // A curve without points would have a name and nothing to it.
    let curves = curves.into_iter().filter(|curve| !curve.points.is_empty()).collect();
    Panel {
        title: title.to_owned(),
        x: "time since the first segment, s".to_owned(),
        y: y.to_owned(),
        curves,
        ..Panel::default()
    }
}

/// Steps: each value holds until the next.
fn stairs(points: impl Iterator<Item = (f64, f64)>) -> Vec<Point> {
    let mut all: Vec<Point> = Vec::new();
    for (x, y) in points {
        if let Some(last) = all.last().copied()
            && last.x < x
        {
            all.push(Point::new(x, last.y));
        }
        all.push(Point::new(x, y));
    }
    all
}

/// A direction of a connection as one place saw it, with times since `start`. None without data.
#[must_use]
pub fn connection(half: &HalfReport, start: Stamp, (name, title): (&str, &str)) -> Option<Figure> {
    half.data?;
    let x = |at: Stamp| at.seconds_since(start);
    let marks = half.marks.points();
    let of = |pick: &dyn Fn(&Mark) -> Option<u64>| -> Vec<Point> {
        marks.iter().filter_map(|(at, mark)| Some(Point::new(x(*at), real(pick(mark)?)))).collect()
    };
    let sent = of(&|mark| if let Mark::Sent(_, end) = mark { Some(*end) } else { None });
    let again = of(&|mark| if let Mark::Again(_, end) = mark { Some(*end) } else { None });
    let filled = of(&|mark| if let Mark::Filled(_, end) = mark { Some(*end) } else { None });
    let selective = of(&|mark| if let Mark::Selective(_, right) = mark { Some(*right) } else { None });
    let acknowledged = marks.iter().filter_map(|(at, mark)| match mark {
        Mark::Acknowledged(number) => Some((x(*at), real(*number))),
        _ => None,
    });
    let sequence = panel(
        title,
        "octets of the stream since its SYN",
        vec![
            curve("sent again", Style::Marks, CROSS, again),
            curve("selectively acknowledged", Style::Marks, BOX, selective),
            curve("fills a hole", Style::Marks, PLUS, filled),
            curve("sent", Style::Marks, STROKE, sent),
            curve("acknowledged", Style::Measured, 0, stairs(acknowledged)),
        ],
    );
    let outstanding = half.outstanding.points().iter().map(|point| (x(point.at), real(point.octets)));
    let outstanding = panel(
        "Outstanding data",
        "octets",
        vec![curve("outstanding", Style::Measured, 0, stairs(outstanding))],
    );
    let trips = half.round_trips.points().iter();
    let trips = trips.map(|trip| Point::new(x(trip.at), seconds(trip.rtt_ns) * 1e3)).collect();
    let trips = panel("Round trips", "ms", vec![curve("segment sent once", Style::Marks, STROKE, trips)]);
    let rate = |sums: &crate::series::Sums| -> Vec<Point> {
        sums.rates(start).map(|(at, octets)| Point::new(at, octets * 8.0 / 1e3)).collect()
    };
    let rates = panel(
        "Throughput",
        "kbit/s",
        vec![
            curve("acknowledged", Style::Measured, 0, rate(&half.throughput)),
            curve("passed, with copies", Style::Second, 7, rate(&half.passed)),
        ],
    );
    let caption = "Each mark of the upper left panel is the end of a segment or of a selectively acknowledged range; the line is what the \
                   receiver has acknowledged. Round trips are those of segments that were sent once. Throughput is of octets of the stream.";
    let panels = [sequence, outstanding, trips, rates].into_iter().filter(|panel| !panel.curves.is_empty());
    Some(Figure::new(name, caption, panels.collect()))
}

/// What the layers of a direction carry over time, a panel for each place. None where nothing is known of it.
#[must_use]
pub fn layers(report: &LayersReport, names: &Names, direction: Direction, name: &str) -> Option<Figure> {
    let longest = report.intervals.iter().map(Vec::len).max()?;
    let join = longest.div_ceil(INTERVALS_MAX).max(1);
    let width_s = seconds(report.interval_ns) * real(join as u64);
    let mut panels: Vec<(u16, Panel)> = Vec::new();
    for (row, octets) in
        report.rows.iter().zip(&report.intervals).filter(|(row, _)| row.direction == direction)
    {
        let points = octets.chunks(join).zip(0_u32..).map(|(part, number)| {
            let octets: u64 = part.iter().sum();
            Point::new((f64::from(number) + 0.5) * width_s, real(octets) * 8.0 / 1e3 / width_s)
        });
        let colour = match row.layer {
            Layer::Rlc => 0,
            Layer::Llc => 1,
            Layer::Sndcp => 2,
            Layer::Ip => 3,
            Layer::Tcp => 6,
        };
        let curve = curve(row.layer.name(), Style::Measured, colour, points.collect());
        match panels.iter_mut().find(|(place, _)| *place == row.place) {
            Some((_, panel)) => panel.curves.push(curve),
            None => {
                let mut panel = panel(&names.place(row.place), "kbit/s", vec![curve]);
                "time since the first unit, s".clone_into(&mut panel.x);
                panels.push((row.place, panel));
            }
        }
    }
    let way = if direction == Direction::Up { "Uplink" } else { "Downlink" };
    let caption = format!(
        "{way}: what each layer carries, in intervals of {width_s:.0} s. RLC: octets of LL-PDUs in data blocks, those sent again too; LLC: \
         information; SNDCP: octets of N-PDUs; IP: whole packets; TCP: octets of streams for the first time."
    );
    let panels: Vec<Panel> = panels.into_iter().map(|(_, panel)| panel).collect();
    (!panels.is_empty()).then(|| Figure::new(name, &caption, panels))
}
