//! The study's figures, of our runs.

use super::judge::Runs;
use super::measured::{Measured, round};
use super::paper::{
    OUTSTANDING_FIRST_OCTETS, OUTSTANDING_PEAK_OCTETS, RTT_S, Row, TABLE_1, UNDISTURBED_KBIT_PER_S,
};
use super::place::{Buffer, Place, Policy, Sender};
use super::run::Raw;
use crate::figure::{Curve, Figure, Panel, Point, Style};
use crate::radio::as_f64;
use crate::radio::seen::{Seen, Spot};
use gannet_machine::time::{Duration, Instant};

/// How much of a run its figure shows.
const SHOWN: Duration = Duration::from_secs(300);
/// What the detail shows before the begin of the preemption, and after its end.
const DETAIL_BEFORE: Duration = Duration::from_secs(6);
const DETAIL_AFTER: Duration = Duration::from_secs(27);
/// Points of a curve at most.
const POINTS_MAX: usize = 240;
/// Colours of the policies, in their order, and of what the study says.
const STUDY: usize = 6;
const BOUND: usize = 4;

/// All figures.
#[must_use]
pub fn figures(raws: &[Raw], all: &[Measured]) -> Vec<Figure> {
    let mut figures = vec![table_1(Runs(all))];
    for (period_s, number) in [(3, 2), (15, 3)] {
        let of = |policy| run_of(raws, policy, period_s);
        let (Some(flush), Some(forward)) = (of(Policy::Flush), of(Policy::Forward)) else { continue };
        figures.push(course(flush, forward, period_s, number));
        figures.push(detail([flush, forward], period_s));
    }
    figures
}

/// A figure shows this run.
#[must_use]
pub fn needs(place: Place) -> bool {
    (place.buffer, place.sender) == (Buffer::Window, Sender::Linux242)
}

fn run_of(raws: &[Raw], policy: Policy, period_s: u64) -> Option<&Raw> {
    raws.iter().find(|raw| needs(raw.place) && raw.place.preemption == Some((policy, period_s)))
}

fn curve(name: &str, style: Style, colour: usize, points: Vec<Point>) -> Curve {
    Curve { name: name.to_owned(), style, colour, points }
}

fn panel(title: &str, x: &str, y: &str, curves: Vec<Curve>) -> Panel {
    Panel { title: title.to_owned(), x: x.to_owned(), y: y.to_owned(), curves, ..Panel::default() }
}

/// Table 1 beside ours, for both buffers.
fn table_1(runs: Runs<'_>) -> Figure {
    let of = |buffer: Buffer, value: &dyn Fn(&Measured) -> f64| -> Vec<Curve> {
        let points = |policy| {
            let at = |row: Row| {
                let of = runs.of(policy, row.period_s, buffer, Sender::Linux242);
                Point::new(as_f64(row.period_s), of.map_or(f64::NAN, |of| round(value(of))))
            };
            TABLE_1.into_iter().map(at).collect()
        };
        let policies = Policy::ALL.into_iter().enumerate();
        policies
            .map(|(colour, policy)| curve(policy.name(), Style::Measured, colour, points(policy)))
            .collect()
    };
    let theirs = |value: fn(&Row) -> f64| {
        let points = TABLE_1.iter().map(|row| Point::new(as_f64(row.period_s), round(value(row)))).collect();
        curve("the study (table 1)", Style::Reference, STUDY, points)
    };
    let left = |row: &Row| round(60.0 / (60.0 + as_f64(row.period_s)));
    let left = TABLE_1.iter().map(|row| Point::new(as_f64(row.period_s), left(row))).collect();
    let left = curve("time that calls leave", Style::Reference, BOUND, left);
    let quantity = |title: &str, y: &str, value: &dyn Fn(&Measured) -> f64, more: &[Curve]| {
        let of_buffer = |buffer: Buffer| {
            let curves = [of(buffer, value), more.to_vec()].concat();
            panel(&format!("{title}, {}", buffer.name()), "preemption period (s)", y, curves)
        };
        Buffer::ALL.map(of_buffer)
    };
    let panels = [
        quantity(
            "Throughput",
            "part of that without preemption",
            &|of| runs.share(of),
            &[theirs(Row::share), left],
        ),
        quantity(
            "Sent again",
            "% of all segments",
            &Measured::again_percent,
            &[theirs(|row| row.again_percent)],
        ),
        quantity("Mean round trip", "s", &|of| of.rtt_s, &[theirs(|row| row.rtt_s)]),
    ];
    let caption = format!(
        "A download with linux-2.4.2 while calls take all PDCHs for 3, 6 and 15 s, a minute between two preemptions, by what becomes of the base \
         station's queue. One run of each. The study's points are those of its table 1, by the {UNDISTURBED_KBIT_PER_S} kbit/s that it had without \
         preemption; it says of its queues that the outstanding data settle at 16 KB."
    );
    Figure::new("preempt", &caption, panels.concat())
}

/// Every so many points, the highest of each group.
fn thinned(points: Vec<Point>, most: usize) -> Vec<Point> {
    let every = points.len().div_ceil(most).max(1);
    points
        .chunks(every)
        .filter_map(|group| group.iter().copied().max_by(|a, b| a.y.total_cmp(&b.y)))
        .collect()
}

/// Seconds since the begin of a run.
fn since(raw: &Raw, at: Instant) -> f64 {
    round(at.since(raw.trace.span.start).as_secs_f64())
}

/// Segments as the server sent them, for the first time and again: time and number in kB.
fn sequence(raw: &Raw) -> [Vec<Point>; 2] {
    let end = raw.trace.span.start + SHOWN;
    let (mut new, mut again, mut highest) = (Vec::new(), Vec::new(), 0);
    for seen in raw.trace.data(Spot::Sent).take_while(|seen| seen.at < end) {
        let point = Point::new(since(raw, seen.at), as_f64(seen.data.0) / 1000.0);
        if seen.data.0 < highest {
            again.push(point)
        } else {
            new.push(point)
        }
        highest = highest.max(seen.data.1);
    }
    [thinned(new, POINTS_MAX), again]
}

/// The begin of a series, each value with its time.
fn first_of(raw: &Raw, series: Vec<(Instant, f64)>) -> Vec<Point> {
    let end = raw.trace.span.start + SHOWN;
    let shown = series.into_iter().take_while(|(at, _)| *at < end);
    thinned(shown.map(|(at, value)| Point::new(since(raw, at), round(value))).collect(), POINTS_MAX)
}

/// Figures 2 and 3: sequence numbers, outstanding data and round trips.
fn course(flush: &Raw, forward: &Raw, period_s: u64, number: u32) -> Figure {
    let outstanding = |raw: &Raw| {
        let all = raw.trace.outstanding().into_iter();
        first_of(raw, all.map(|(at, octets)| (at, as_f64(octets) / 1000.0)).collect())
    };
    let round_trips = |raw: &Raw| first_of(raw, raw.trace.round_trips());
    let level = |y: f64| vec![Point::new(0.0, y), Point::new(SHOWN.as_secs_f64(), y)];
    let [new, again] = sequence(flush);
    let (time, policies) = ("time (s)", [Policy::Flush, Policy::Forward].map(Policy::name));
    let panels = vec![
        panel(
            "(a) Sequence numbers, flush",
            time,
            "kB",
            vec![curve("sent again", Style::Marks, 1, again), curve("sent", Style::Marks, 0, new)],
        ),
        panel(
            "(b) Outstanding data",
            time,
            "kB that are not acknowledged",
            vec![
                curve(policies[0], Style::Measured, 0, outstanding(flush)),
                curve(policies[1], Style::Second, 3, outstanding(forward)),
                curve("study: at first", Style::Reference, STUDY, level(OUTSTANDING_FIRST_OCTETS / 1000.0)),
                curve("study: peaks later", Style::Reference, BOUND, level(OUTSTANDING_PEAK_OCTETS / 1000.0)),
            ],
        ),
        panel(
            "(c) Round trips",
            time,
            "s",
            vec![
                curve(policies[0], Style::Marks, 0, round_trips(flush)),
                curve(policies[1], Style::Marks, 3, round_trips(forward)),
                curve("study: least", Style::Reference, STUDY, level(RTT_S.0)),
                curve("study: greatest", Style::Reference, BOUND, level(RTT_S.1)),
            ],
        ),
    ];
    let caption = format!(
        "The first {} s of a run with flush and of one with forward, linux-2.4.2 and preemptions of {period_s} s, seen at the server, as in figure {number} \
         of the study; the SGSN holds more than the window. The study's levels are those of its text.",
        SHOWN.as_secs_f64()
    );
    Figure::new(&format!("preempt-course-{period_s}"), &caption, panels)
}

/// Figure 4: the first preemption at the client, with flush and with forward.
fn detail(raws: [&Raw; 2], period_s: u64) -> Figure {
    let panels = raws.into_iter().filter_map(detail_of).collect();
    let caption = format!(
        "The first preemption of {period_s} s, seen at the client as in figure 4 of the study, where data stop 41 s after the begin as well: a run with \
         flush and one with forward, linux-2.4.2; the SGSN holds more than the window."
    );
    Figure::new(&format!("preempt-detail-{period_s}"), &caption, panels)
}

fn detail_of(raw: &Raw) -> Option<Panel> {
    let trace = &raw.trace;
    let period = trace.periods.first()?;
    let shown = Instant(period.start.0.saturating_sub(DETAIL_BEFORE.0))..period.end + DETAIL_AFTER;
    let all: Vec<&Seen> = trace.seen.iter().filter(|seen| shown.contains(&seen.at)).collect();
    let base = all.iter().find(|seen| seen.spot == Spot::Answers).map_or(0, |seen| seen.acknowledges);
    let y = |number: u64| as_f64(number.saturating_sub(base)) / 1000.0;
    let since = |at: Instant| round(at.since(shown.start).as_secs_f64());
    let (mut came, mut strays, mut acks, mut sacks, mut window) = (vec![], vec![], vec![], vec![], vec![]);
    let mut next = base;
    for seen in &all {
        let x = since(seen.at);
        match seen.spot {
            Spot::Came if seen.data.0 < seen.data.1 => {
                let point = Point::new(x, y(seen.data.0));
                if seen.data.0 > next { strays.push(point) } else { came.push(point) }
            }
            Spot::Answers => {
                next = next.max(seen.acknowledges);
                acks.push(Point::new(x, y(seen.acknowledges)));
                window.push(Point::new(x, y(seen.acknowledges + seen.window)));
                sacks.extend(seen.sack.first().map(|(_, to)| Point::new(x, y(*to))));
            }
            Spot::Came | Spot::Sent | Spot::Answered => {}
        }
    }
    // Up and down again, so that the time between is a box.
    let high = window.iter().map(|point| point.y).fold(0.0, f64::max);
    let [start, end] = [period.start, period.end].map(since);
    let taken = [(start, 0.0), (start, high), (end, high), (end, 0.0)];
    let curves = vec![
        curve("came in order", Style::Marks, 4, came),
        curve("came out of order", Style::Marks, 1, strays),
        curve("selective acknowledgement, its end", Style::Marks, 2, sacks),
        curve("acknowledged", Style::Measured, 0, thinned(acks, POINTS_MAX / 2)),
        curve("end of the window", Style::Second, 5, thinned(window, POINTS_MAX / 4)),
        curve("calls have all PDCHs", Style::Reference, STUDY, taken.map(|(x, y)| Point::new(x, y)).to_vec()),
    ];
    let title = raw.place.policy_name();
    let x = format!("time from {:.0} s after the begin on (s)", self::since(raw, shown.start));
    Some(panel(title, &x, "kB behind the first acknowledgement shown", curves))
}
