//! The study's figures, of our runs.

use super::judge::Runs;
use super::measured::{Measured, round};
use super::paper::{
    OUTSTANDING_FIRST_OCTETS, OUTSTANDING_PEAK_OCTETS, RTT_S, TABLE_1, UNDISTURBED_KBIT_PER_S,
};
use super::place::{Buffer, Place, Policy, Sender};
use super::run::Raw;
use crate::figure::{Curve, Figure, Panel, Point, Style};
use crate::radio::as_f64;
use crate::radio::seen::{Seen, Spot};
use gannet_machine::time::{Duration, Instant};

/// How much of a run its figure shows.
const SHOWN: Duration = Duration::from_secs(300);
/// What the detail shows before and after the begin of the preemption.
const DETAIL_BEFORE: Duration = Duration::from_secs(6);
const DETAIL_AFTER: Duration = Duration::from_secs(26);

/// All figures.
#[must_use]
pub fn figures(raws: &[Raw], all: &[Measured]) -> Vec<Figure> {
    let mut figures = vec![table_1(Runs(all))];
    for (period_s, number) in [(3, 2), (15, 3)] {
        figures.extend(run_of(raws, Policy::Flush, period_s).map(|raw| course(raw, period_s, number)));
    }
    figures.extend(run_of(raws, Policy::Flush, 3).map(|raw| detail(raw, "flush")));
    figures.extend(run_of(raws, Policy::Forward, 3).map(|raw| detail(raw, "forward")));
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

/// Table 1 beside ours.
fn table_1(runs: Runs<'_>) -> Figure {
    let of = |value: &dyn Fn(&Measured) -> f64| -> Vec<Curve> {
        let policies = Policy::ALL.into_iter().zip(0..);
        let points = |policy| {
            let at = |row: super::paper::Row| {
                let of = runs.of(policy, row.period_s, Buffer::Window, Sender::Linux242);
                Point::new(as_f64(row.period_s), of.map_or(f64::NAN, |of| round(value(of))))
            };
            TABLE_1.into_iter().map(at).collect()
        };
        policies
            .map(|(policy, colour)| curve(policy.name(), Style::Measured, colour, points(policy)))
            .collect()
    };
    let theirs = |value: fn(&super::paper::Row) -> f64| {
        let points = TABLE_1.iter().map(|row| Point::new(as_f64(row.period_s), round(value(row)))).collect();
        curve("the study (table 1)", Style::Reference, 3, points)
    };
    let left = (0..=15_u32).map(|s| Point::new(f64::from(s), round(60.0 / (60.0 + f64::from(s))))).collect();
    let x = "preemption period (s)";
    let with = |mut curves: Vec<Curve>, more: Vec<Curve>| {
        curves.extend(more);
        curves
    };
    let panels = vec![
        panel(
            "Throughput",
            x,
            "part of that without preemption",
            with(
                of(&|of| runs.share(of)),
                vec![
                    theirs(super::paper::Row::share),
                    curve("time that calls leave", Style::Reference, 4, left),
                ],
            ),
        ),
        panel(
            "Sent again",
            x,
            "% of all segments",
            with(of(&Measured::again_percent), vec![theirs(|row| row.again_percent)]),
        ),
        panel("Mean round trip", x, "s", with(of(&|of| of.rtt_s), vec![theirs(|row| row.rtt_s)])),
    ];
    let caption = format!(
        "A download with linux-2.4.2 while calls take all PDCHs for 3, 6 and 15 s, a minute between two preemptions; the SGSN holds more than \
         the window. One run of each. The study's points are those of its table 1; it had {UNDISTURBED_KBIT_PER_S} kbit/s without preemption."
    );
    Figure::new("preempt", &caption, panels)
}

/// Every so many points, the highest of each group.
fn thinned(points: Vec<Point>, most: usize) -> Vec<Point> {
    let every = points.len().div_ceil(most).max(1);
    points
        .chunks(every)
        .filter_map(|group| group.iter().copied().max_by(|a, b| a.y.total_cmp(&b.y)))
        .collect()
}

/// Figures 2 and 3: sequence numbers, outstanding data and round trips.
fn course(raw: &Raw, period_s: u64, number: u32) -> Figure {
    let trace = &raw.trace;
    let begin = trace.span.start;
    let end = begin + SHOWN;
    let x = |at: Instant| round(at.since(begin).as_secs_f64());
    let (mut new, mut again, mut highest) = (Vec::new(), Vec::new(), 0);
    for seen in trace.data(Spot::Sent).filter(|seen| seen.at < end) {
        let point = Point::new(x(seen.at), as_f64(seen.data.0) / 1000.0);
        if seen.data.0 < highest {
            again.push(point)
        } else {
            new.push(point)
        }
        highest = highest.max(seen.data.1);
    }
    let outstanding = trace.outstanding().into_iter().filter(|(at, _)| *at < end);
    let outstanding = outstanding.map(|(at, octets)| Point::new(x(at), as_f64(octets) / 1000.0)).collect();
    let round_trips = trace.round_trips().into_iter().filter(|(at, _)| *at < end);
    let round_trips = round_trips.map(|(at, rtt)| Point::new(x(at), round(rtt))).collect();
    let level = |y: f64| vec![Point::new(0.0, y), Point::new(SHOWN.as_secs_f64(), y)];
    let time = "time (s)";
    let panels = vec![
        panel(
            "(a) Sequence numbers",
            time,
            "kB",
            vec![
                curve("sent again", Style::Marks, 1, again),
                curve("sent", Style::Marks, 0, thinned(new, 300)),
            ],
        ),
        panel(
            "(b) Outstanding data",
            time,
            "kB",
            vec![
                curve("not acknowledged", Style::Measured, 0, thinned(outstanding, 150)),
                curve(
                    "study: before the first preemption",
                    Style::Reference,
                    1,
                    level(OUTSTANDING_FIRST_OCTETS / 1000.0),
                ),
                curve("study: peaks later", Style::Reference, 3, level(OUTSTANDING_PEAK_OCTETS / 1000.0)),
            ],
        ),
        panel(
            "(c) Round trips",
            time,
            "s",
            vec![
                curve("round trips", Style::Marks, 0, thinned(round_trips, 300)),
                curve("study: from", Style::Reference, 1, level(RTT_S.0)),
                curve("study: to", Style::Reference, 3, level(RTT_S.1)),
            ],
        ),
    ];
    let caption = format!(
        "The first {} s of one run with flush, linux-2.4.2 and preemptions of {period_s} s, seen at the server, as in figure {number} of the study; the \
         SGSN holds more than the window. The study's levels are those of its text.",
        SHOWN.as_secs_f64()
    );
    Figure::new(&format!("preempt-course-{period_s}"), &caption, panels)
}

/// Figure 4: the first preemption at the client.
fn detail(raw: &Raw, policy: &str) -> Figure {
    let trace = &raw.trace;
    let Some(period) = trace.periods.first() else {
        return Figure::new(&format!("preempt-detail-{policy}"), "", Vec::new());
    };
    let from = Instant(period.start.0.saturating_sub(DETAIL_BEFORE.0));
    let shown = from..period.start + DETAIL_AFTER;
    let x = |at: Instant| {
        round(at.since(trace.span.start).as_secs_f64() - shown.start.since(trace.span.start).as_secs_f64())
    };
    let all: Vec<&Seen> = trace.seen.iter().filter(|seen| shown.contains(&seen.at)).collect();
    let base = all.iter().find(|seen| seen.spot == Spot::Answers).map_or(0, |seen| seen.acknowledges);
    let y = |number: u64| as_f64(number.saturating_sub(base)) / 1000.0;
    let (mut came, mut strays, mut acks, mut sacks, mut window) = (vec![], vec![], vec![], vec![], vec![]);
    let mut next = base;
    for seen in &all {
        match seen.spot {
            Spot::Came if seen.data.0 < seen.data.1 => {
                let point = Point::new(x(seen.at), y(seen.data.0));
                if seen.data.0 > next { strays.push(point) } else { came.push(point) }
            }
            Spot::Answers => {
                next = next.max(seen.acknowledges);
                acks.push(Point::new(x(seen.at), y(seen.acknowledges)));
                window.push(Point::new(x(seen.at), y(seen.acknowledges + seen.window)));
                sacks.extend(seen.sack.first().map(|(_, to)| Point::new(x(seen.at), y(*to))));
            }
            Spot::Came | Spot::Sent | Spot::Answered => {}
        }
    }
    let (start, end) = (x(period.start), x(period.end));
    let bound = |at: f64| vec![Point::new(at, 0.0), Point::new(at, y(base + 1000) + 90.0)];
    let panels = vec![panel(
        &format!("{policy}: the first preemption of 3 s"),
        &format!(
            "time (s) since {:.0} s after the begin of the connection",
            shown.start.since(trace.span.start).as_secs_f64()
        ),
        "kB behind the first number",
        vec![
            curve("came in order", Style::Marks, 4, came),
            curve("came out of order", Style::Marks, 1, strays),
            curve("selective acknowledgement, its end", Style::Marks, 2, sacks),
            curve("acknowledged", Style::Measured, 0, thinned(acks, 120)),
            curve("window's end", Style::Second, 5, thinned(window, 60)),
            curve(
                "PDCHs are taken, and are back",
                Style::Reference,
                3,
                [bound(start), bound(end).into_iter().rev().collect()].concat(),
            ),
        ],
    )];
    let caption = format!(
        "One run with {policy} and linux-2.4.2, seen at the client as in figure 4 of the study, where data stop 41 s after the begin; the SGSN holds more \
         than the window."
    );
    Figure::new(&format!("preempt-detail-{policy}"), &caption, panels)
}
