//! Experiment `edge-buffers`: figures 8 and 9 of the paper, what each stream gets by the number of packet buffers, where packets come
//! periodically and where they come by a Poisson process; and what a burst allowance is worth and costs.

use super::link::Arrivals;
use super::scenario::{BUFFER_OCTETS, BUFFERS, EXCESS_KBPS, FAIR_KBPS, Rule, STREAMS, Setup};
use super::sets::{Sets, percent, plan, plan_text, verdict};
use crate::figure::{Curve, Figure, Panel, Point, Style};
use crate::report::{Options, Report, Verdict, at_least, at_most, least};
use serde_json::json;

/// Packet buffers.
const AXIS: [u32; 5] = [50, 75, 100, 125, 150];
/// Burst allowances, in packets of the stream.
const BURSTS: [u32; 5] = [0, 1, 2, 4, 8];
const RULES: [Rule; 2] = [Rule::paper(BUFFER_OCTETS), Rule::OURS];
/// The streams that send in excess.
const IN_EXCESS: [&str; 5] = ["A3", "A4", "B1", "B2", "B3"];

/// What a short independent simulation found beforehand for [`IN_EXCESS`], in kbit/s beyond the reservation, byte-exact with
/// [`BUFFERS`] buffers and one set of phases.
const BEFOREHAND: [(&str, Rule, Arrivals, [f64; 5]); 3] = [
    (
        "the paper's rule, periodic",
        Rule::PAPER_EXACT,
        Arrivals::Periodic,
        [218.0, 232.0, 181.0, 242.0, 227.0],
    ),
    ("ours, periodic", Rule::OURS, Arrivals::Periodic, [215.0, 229.0, 219.0, 214.0, 223.0]),
    ("ours, Poisson", Rule::OURS, Arrivals::Poisson, [219.0, 197.0, 226.0, 231.0, 229.0]),
];

/// Where on the axes a set-up is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    rule: Rule,
    arrivals: Arrivals,
    buffers: u32,
    burst: u32,
}

struct All(Vec<(Place, Sets)>);

impl All {
    fn run(options: &Options) -> Result<Self, String> {
        let at = |rule, arrivals, buffers, burst| Place { rule, arrivals, buffers, burst };
        let mut places = Vec::new();
        for arrivals in Arrivals::ALL {
            places.extend(RULES.iter().flat_map(|rule| AXIS.map(|buffers| at(*rule, arrivals, buffers, 0))));
            places.push(at(Rule::PAPER_EXACT, arrivals, BUFFERS, 0));
        }
        places.extend(BURSTS.iter().skip(1).map(|burst| at(Rule::OURS, Arrivals::Poisson, BUFFERS, *burst)));
        let mut all = Vec::new();
        for place in places {
            if options.progress {
                eprintln!(
                    "{}, {}, {} buffers, σ of {} packets",
                    place.rule.name,
                    place.arrivals.name(),
                    place.buffers,
                    place.burst
                );
            }
            let mut setup = Setup::all_assured(place.rule, place.buffers);
            if place.burst > 0 {
                setup = setup.with_burst(place.burst);
            }
            all.push((place, Sets::run(&setup, options, place.arrivals)?));
        }
        Ok(Self(all))
    }

    fn at(&self, rule: Rule, arrivals: Arrivals, buffers: u32, burst: u32) -> Option<&Sets> {
        let place = Place { rule, arrivals, buffers, burst };
        self.0.iter().find(|(of, _)| *of == place).map(|(_, sets)| sets)
    }

    /// Ours at the usual number of buffers.
    fn ours(&self, arrivals: Arrivals, burst: u32) -> Option<&Sets> {
        self.at(Rule::OURS, arrivals, BUFFERS, burst)
    }
}

/// Runs the experiment.
///
/// # Errors
/// Where a set-up is refused.
pub fn run(options: &Options) -> Result<Report, String> {
    let all = All::run(options)?;
    let mut report = Report::simulated("edge-buffers", options);
    report.parameter("streams", "figure 6(a): A1 to A6 are AF, B1 to B3 best effort");
    report.parameter("assumed", format!("streams in excess send {EXCESS_KBPS} kbit/s each"));
    report.parameter(
        "paper's accounting",
        format!("BUFF_SIZE {BUFFER_OCTETS}; byte-exact, a buffer is worth as much"),
    );
    for arrivals in Arrivals::ALL {
        report.parameter(arrivals.name(), plan_text(options.size, arrivals));
    }
    for (place, sets) in &all.0 {
        report.cells.extend(sets.cells(&[
            ("rule", json!(place.rule.name)),
            ("arrivals", json!(place.arrivals.name())),
            ("buffers", json!(place.buffers)),
            ("burst_packets", json!(place.burst)),
        ]));
    }
    report.verdicts = verdicts(&all, options);
    report.figures = vec![
        drawing(&all, Arrivals::Periodic, options),
        drawing(&all, Arrivals::Poisson, options),
        bursts(&all, options),
    ];
    report.remarks = vec![tables(&all)];
    Ok(report)
}

fn tables(all: &All) -> String {
    let mut text =
        "| excess got, kbit/s (fair: 220) | A3 | A4 | B1 | B2 | B3 |\n|---|---|---|---|---|---|\n".to_owned();
    let mut row = |name: &str, values: Vec<String>| text += &format!("| {name} | {} |\n", values.join(" | "));
    for (name, rule, arrivals, beforehand) in BEFOREHAND {
        row(&format!("{name}, beforehand"), beforehand.map(|value| format!("{value:.0}")).into());
        if let Some(sets) = all.at(rule, arrivals, BUFFERS, 0) {
            let values = IN_EXCESS.map(|name| sets.excess(name));
            row(name, values.map(|of| format!("{:.0} ({:.0} to {:.0})", of.mean, of.least, of.most)).into());
        }
    }
    text += "\n| σ, packets | A1 | A2 | A3 | A4 | A5 | A6 | excess A3 | A4 | B1 | B2 | B3 | AF delay, ms, mean (99 %) |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
    for burst in BURSTS {
        let Some(sets) = all.ours(Arrivals::Poisson, burst) else { continue };
        let reserved = STREAMS.iter().filter(|stream| stream.is_reserved());
        let kept: Vec<String> =
            reserved.map(|stream| format!("{:.2}", sets.kept(stream.name).mean * 100.0)).collect();
        let excess = IN_EXCESS.map(|name| format!("{:.0}", sets.excess(name).mean));
        let [mean, high] = sets.delay("A1");
        text += &format!(
            "| {burst} | {} | {} | {:.0} ({:.0}) |\n",
            kept.join(" | "),
            excess.join(" | "),
            mean.mean,
            high.mean
        );
    }
    text
}

/// All that the runs of a Poisson process are to last for the tolerances of an hour.
fn is_an_hour(options: &Options) -> bool {
    let (sets, plan) = plan(options.size, Arrivals::Poisson);
    sets * plan.span.0 >= 3_600_000_000_000
}

fn verdicts(all: &All, options: &Options) -> Vec<Verdict> {
    let mut rows = reserved(all);
    for arrivals in Arrivals::ALL {
        let known = arrivals == Arrivals::Periodic || is_an_hour(options);
        let ours = all.ours(arrivals, 0);
        let (mean, apart) = ours.map_or((f64::NAN, f64::NAN), Sets::best_effort);
        rows.push(verdict(
            &format!("ours, {}, best-effort streams from their mean", arrivals.name()),
            "Streams of 200, 500 and 1000 octets that send in excess get the same.",
            "reasonably close to 220 kbit/s",
            format!("{} of {mean:.1} kbit/s", percent(apart)),
            "<= 3 %",
            at_most(apart, 0.03).filter(|_| known),
        ));
        let apart = ours.map_or(f64::NAN, Sets::reserved_excess);
        rows.push(verdict(
            &format!("ours, {}, excess of A3 and A4 from that", arrivals.name()),
            "A reserved stream that sends in excess gets as much of the rest as best effort does.",
            "about 220 kbit/s",
            percent(apart),
            "<= 15 %",
            at_most(apart, 0.15).filter(|_| known),
        ));
    }
    let apart =
        |rule| all.at(rule, Arrivals::Periodic, BUFFERS, 0).map_or(f64::NAN, |sets| sets.best_effort().1);
    let (paper, ours) = (apart(Rule::PAPER_EXACT), apart(Rule::OURS));
    rows.push(verdict(
        "paper's rule, byte-exact, best-effort streams from their mean",
        "The paper's rule takes the length of a packet into account twice, so that streams of long packets get less.",
        "",
        percent(paper),
        "more than ours",
        at_least(paper - ours, f64::MIN_POSITIVE),
    ));
    for (name, rule, arrivals, beforehand) in BEFOREHAND {
        let Some(sets) = all.at(rule, arrivals, BUFFERS, 0) else { continue };
        let within = IN_EXCESS
            .iter()
            .zip(beforehand)
            .filter(|(name, value)| sets.excess(name).expects(*value, 1.0))
            .count();
        rows.push(verdict(
            &format!("excess as simulated beforehand: {name}"),
            "An independent simulation with one set of phases found a value for each of the five streams in excess: so many of them are \
             within three standard deviations of the runs here.",
            "",
            format!("{within} of 5"),
            "5",
            Some(within == 5),
        ));
    }
    rows
}

/// What is reserved.
fn reserved(all: &All) -> Vec<Verdict> {
    let worst =
        |arrivals, burst| all.ours(arrivals, burst).map_or(("", f64::NAN), |sets| sets.worst_kept(&[]));
    let periodic = AXIS
        .iter()
        .filter_map(|buffers| {
            Some((buffers, all.at(Rule::OURS, Arrivals::Periodic, *buffers, 0)?.worst_kept(&[])))
        })
        .min_by(|a, b| a.1.1.total_cmp(&b.1.1));
    let (buffers, (name, kept)) = periodic.unwrap_or((&0, ("", f64::NAN)));
    let paper = |name: &str, arrivals, buffers| {
        all.at(RULES[0], arrivals, buffers, 0).map_or(f64::NAN, |sets| sets.kept(name).mean)
    };
    let others = least(["A1", "A2", "A3", "A4", "A5"].map(|name| paper(name, Arrivals::Periodic, BUFFERS)));
    let a6 = paper("A6", Arrivals::Periodic, BUFFERS);
    let mean = |buffers| {
        let names = ["A2", "A3", "A4", "A6"];
        names.iter().map(|name| paper(name, Arrivals::Poisson, buffers)).sum::<f64>() / 4.0
    };
    let (enough, priced) = burst_that_is_enough(all);
    let (bare_name, bare) = worst(Arrivals::Poisson, 0);
    vec![
        verdict(
            "ours, periodic, whoever keeps least of min(offered, reserved)",
            "At every number of buffers and for every packet size, a reserved stream gets what is reserved for it.",
            "at or near the reservation",
            format!("{} ({name}, {buffers} buffers)", percent(kept)),
            ">= 99.5 %",
            at_least(kept, 0.995),
        ),
        verdict(
            "paper's accounting, periodic, A6 and the others",
            "A6 is penalised for its short packets: at the usual number of buffers it keeps less than any other reserved stream.",
            "A6 close to its reservation, the others at or above theirs",
            format!("{}, least of the others {}", percent(a6), percent(others)),
            "A6 least",
            at_least(others - a6, f64::MIN_POSITIVE),
        ),
        verdict(
            "paper's accounting, Poisson, streams of 200 and 500 octets, 50 to 150 buffers",
            "With random arrivals a larger pool keeps more of the reservations: the mean of A2, A3, A4 and A6.",
            "some benefit",
            format!("{} to {}", percent(mean(50)), percent(mean(150))),
            "rises",
            at_least(mean(150) - mean(50), f64::MIN_POSITIVE),
        ),
        verdict(
            "ours, Poisson, whoever keeps least, with a burst allowance",
            &format!(
                "The smallest allowance of those tried with which every reserved stream keeps its own, and its price in the AF queue's \
                 mean delay. Without one the least is {} ({bare_name}).",
                percent(bare)
            ),
            "",
            priced,
            ">= 99.5 % with at most 8 packets",
            (!bare.is_nan()).then_some(enough),
        ),
    ]
}

/// Whether one of the burst allowances is enough for every reserved stream, and the smallest that is, with its price.
fn burst_that_is_enough(all: &All) -> (bool, String) {
    let worst =
        |burst| all.ours(Arrivals::Poisson, burst).map_or(("", f64::NAN), |sets| sets.worst_kept(&[]));
    let delay = |burst| all.ours(Arrivals::Poisson, burst).map_or(f64::NAN, |sets| sets.delay("A1")[0].mean);
    let Some(burst) = BURSTS.iter().copied().find(|burst| worst(*burst).1 >= 0.995) else {
        let (name, kept) = worst(8);
        return (false, format!("{} with 8 packets ({name})", percent(kept)));
    };
    let (name, kept) = worst(burst);
    let packets = if burst == 1 { "packet" } else { "packets" };
    let price = format!("delay {:.0} to {:.0} ms", delay(0), delay(burst));
    (true, format!("{} with {burst} {packets} ({name}); {price}", percent(kept)))
}

/// Figure 8 or 9.
fn drawing(all: &All, arrivals: Arrivals, options: &Options) -> Figure {
    let panel = |octets: u32| {
        let mut curves = Vec::new();
        for (rule, style) in RULES.iter().zip([Style::Measured, Style::Second]) {
            let streams = STREAMS.iter().filter(|stream| stream.octets == octets).zip(0..);
            curves.extend(streams.map(|(stream, colour)| {
                Curve {
                    name: format!("{}, {}", stream.name, rule.name),
                    style,
                    colour,
                    points: AXIS
                        .iter()
                        .filter_map(|buffers| {
                            let sets = all.at(*rule, arrivals, *buffers, 0)?;
                            Some(sets.got(stream.name).point(f64::from(*buffers)))
                        })
                        .collect(),
                }
            }));
        }
        Panel {
            title: format!("Packets of {octets} octets"),
            x: "packet buffers".to_owned(),
            y: "got, kbit/s".to_owned(),
            curves,
            ..Panel::default()
        }
    };
    let (number, name) = match arrivals {
        Arrivals::Periodic => (8, "edge-buffers-periodic"),
        Arrivals::Poisson => (9, "edge-buffers-poisson"),
    };
    let caption = format!(
        "Figure {number} of the paper: what each stream of figure 6(a) gets of a line of 2 Mbit/s by the number of packet buffers, with \
         {} arrivals; solid, the paper's accounting (BUFF_SIZE {BUFFER_OCTETS}) and rule, dashed, ours. A1 and A5 reserve 150 kbit/s, \
         A2 and A3 100, A4 and A6 200; A3, A4 and B1 to B3 send {EXCESS_KBPS}, and share alike at {FAIR_KBPS:.0} beyond what is \
         reserved. Mean of {}; bars from the lowest to the highest.",
        arrivals.name(),
        plan_text(options.size, arrivals)
    );
    Figure::new(name, &caption, [1000, 500, 200].map(panel).into())
}

/// What a burst allowance is worth, and costs.
fn bursts(all: &All, options: &Options) -> Figure {
    let of = |value: &dyn Fn(&Sets) -> Point| {
        BURSTS.iter().filter_map(|burst| all.ours(Arrivals::Poisson, *burst).map(value)).collect::<Vec<_>>()
    };
    let at = |points: Vec<Point>| {
        BURSTS.iter().zip(points).map(|(burst, point)| Point { x: f64::from(*burst), ..point }).collect()
    };
    let conformant =
        STREAMS.iter().filter(|stream| stream.is_reserved() && !IN_EXCESS.contains(&stream.name));
    let lost = conformant.zip(0..).map(|(stream, colour)| Curve {
        name: stream.name.to_owned(),
        style: Style::Measured,
        colour,
        points: at(of(&|sets| Point::new(0.0, (1.0 - sets.kept(stream.name).mean) * 100.0))),
    });
    let lost = lost.collect();
    let delay = [("mean", 0, Style::Measured), ("99 %", 1, Style::Second)];
    let delay = delay.map(|(name, which, style)| Curve {
        name: name.to_owned(),
        style,
        colour: 0,
        points: at(of(&|sets| {
            sets.delay("A1").get(which).map_or(Point::new(0.0, f64::NAN), |of| of.point(0.0))
        })),
    });
    let x = "burst allowance, packets of the stream".to_owned();
    let panels = vec![
        Panel {
            title: "What conformant streams lose".to_owned(),
            x: x.clone(),
            y: "% of min(offered, reserved)".to_owned(),
            curves: lost,
            ..Panel::default()
        },
        Panel {
            title: "What it costs: delay of A1".to_owned(),
            x,
            y: "delay, ms".to_owned(),
            curves: delay.into(),
            ..Panel::default()
        },
    ];
    let caption = format!(
        "Poisson arrivals, ours, {BUFFERS} buffers: what each stream that sends no more than is reserved for it loses of that, and the \
         delay in the AF queue, by a burst allowance σ for each. The pool grows with σ, so that the shared buffers stay as they are. Mean of {}; bars \
         from the lowest to the highest.",
        plan_text(options.size, Arrivals::Poisson)
    );
    Figure::new("edge-burst", &caption, panels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Size;

    #[test]
    fn what_is_reserved_is_kept_and_the_rest_is_shared() {
        let options = Options {
            size: Size::Quick,
            seed: 2,
            out: std::path::PathBuf::new(),
            progress: false,
            against: None,
        };
        let report = run(&options).unwrap();
        // A quick run is too short for the tolerances of an hour, and says so.
        let short = |verdict: &&Verdict| verdict.holds.is_none() && verdict.name.contains("ours, Poisson");
        assert_eq!(report.verdicts.iter().filter(short).count(), 2);
        assert!(
            report.verdicts.iter().all(|verdict| verdict.holds == Some(true) || short(&verdict)),
            "{}\n{}",
            report.table(),
            report.remarks[0]
        );
        crate::figure::check::of_report(&report);
    }
}
