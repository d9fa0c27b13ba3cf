//! Experiment `edge-delay`: table I of the paper, the delay of A2 and A5 in the AF queue and in the EF queue, by the weight of EF; and a
//! stream that sends twenty times what is reserved for it.

use super::link::{Arrivals, as_f64};
use super::scenario::{BUFFERS, EXCESS_KBPS, LINK_KBPS, Rule, STREAMS, Setup, place};
use super::sets::{Sets, Spread, percent, plan, plan_text, verdict};
use crate::figure::{Curve, Figure, Panel, Point, Scale, Style};
use crate::report::{Options, Report, Verdict, at_least, at_most, greatest, least};
use serde_json::json;

/// What A2 and A5 reserve together, in kbit/s: the paper's weight of the EF queue, as far as it says.
const RESERVED_KBPS: u32 = 250;
/// Weights of the EF queue, in kbit/s of the line's.
const WEIGHTS: [u32; 5] = [RESERVED_KBPS, 500, 1000, 1400, 1800];
/// The streams that are moved.
const MOVED: [&str; 2] = ["A2", "A5"];
/// The streams of which one sends twenty times its reservation, one of each length.
const GREEDY: [&str; 3] = ["A1", "A3", "A6"];
/// The burst allowance where arrivals are random.
const BURST: u32 = 2;
/// The weight of EF that is ours.
const OURS: u32 = 1800;

/// What a short independent simulation found beforehand: A2 and A5, mean and 99th percentile in ms, all in AF and by the weight of EF.
const BEFOREHAND: [(Option<u32>, [[f64; 2]; 2]); 4] = [
    (None, [[175.0, 179.0], [175.0, 179.0]]),
    (Some(RESERVED_KBPS), [[23.0, 38.0], [37.0, 40.0]]),
    (Some(1000), [[2.1, 6.1], [8.0, 11.0]]),
    (Some(1800), [[1.6, 4.1], [4.9, 7.8]]),
];

/// The bound of ours, in ms: the packet itself, the longest one, which is on the line already, and one more of the EF queue.
fn bound_ms(name: &str) -> f64 {
    let own = STREAMS.get(place(name)).map_or(f64::NAN, |stream| f64::from(stream.octets));
    let longest = greatest(STREAMS.iter().map(|stream| f64::from(stream.octets)));
    (own + 2.0 * longest) * 8.0 / f64::from(LINK_KBPS)
}

/// Streams that send too much, one at a time, beside the same without them.
struct Greedy {
    arrivals: Arrivals,
    before: Sets,
    after: Vec<(&'static str, Sets)>,
    assured_ms_max: f64,
}

impl Greedy {
    fn run(options: &Options, arrivals: Arrivals) -> Result<Self, String> {
        let mut setup = Setup::with_expedited(Rule::OURS, BUFFERS, OURS);
        if arrivals == Arrivals::Poisson {
            setup = setup.with_burst(BURST);
        }
        let before = Sets::run(&setup, options, arrivals)?;
        let mut after = Vec::new();
        for name in GREEDY {
            if options.progress {
                eprintln!("{name} at 20 times its reservation, {}", arrivals.name());
            }
            let mut greedy = setup.clone();
            let reserved = STREAMS.get(place(name)).map_or(0, |stream| stream.reserved_kbps);
            if let Some(kbps) = greedy.offered_kbps.get_mut(place(name)) {
                *kbps = 20 * reserved;
            }
            after.push((name, Sets::run(&greedy, options, arrivals)?));
        }
        Ok(Self { arrivals, before, after, assured_ms_max: setup.assured_ms_max() })
    }

    /// The greedy stream with which a value is greatest, and that.
    fn worst(&self, of: impl Fn(&'static str, &Sets) -> f64) -> (&'static str, f64) {
        let values = self.after.iter().map(|(name, sets)| (*name, of(name, sets)));
        values.reduce(|a, b| if a.1 >= b.1 || a.1.is_nan() { a } else { b }).unwrap_or(("", f64::NAN))
    }
}

struct All {
    assured: Sets,
    paper: Sets,
    /// By [`WEIGHTS`].
    expedited: Vec<(u32, Sets)>,
    greedy: Vec<Greedy>,
}

impl All {
    fn run(options: &Options) -> Result<Self, String> {
        let periodic = |setup: &Setup| Sets::run(setup, options, Arrivals::Periodic);
        let mut expedited = Vec::new();
        for weight in WEIGHTS {
            if options.progress {
                eprintln!("EF with {weight} of {LINK_KBPS} kbit/s");
            }
            expedited.push((weight, periodic(&Setup::with_expedited(Rule::OURS, BUFFERS, weight))?));
        }
        let greedy = Arrivals::ALL.map(|arrivals| Greedy::run(options, arrivals));
        let greedy = greedy.into_iter().collect::<Result<_, _>>()?;
        Ok(Self {
            assured: periodic(&Setup::all_assured(Rule::OURS, BUFFERS))?,
            paper: periodic(&Setup::all_assured(Rule::paper(super::scenario::BUFFER_OCTETS), BUFFERS))?,
            expedited,
            greedy,
        })
    }

    /// All in AF, or with a weight of EF.
    fn at(&self, weight: Option<u32>) -> Option<&Sets> {
        let Some(weight) = weight else { return Some(&self.assured) };
        self.expedited.iter().find(|(of, _)| *of == weight).map(|(_, sets)| sets)
    }

    fn delay(&self, weight: Option<u32>, name: &str) -> [Spread; 2] {
        self.at(weight).map_or([Spread::NOTHING; 2], |sets| sets.delay(name))
    }
}

/// Runs the experiment.
///
/// # Errors
/// Where a set-up is refused.
pub fn run(options: &Options) -> Result<Report, String> {
    let all = All::run(options)?;
    let mut report = Report::simulated("edge-delay", options);
    report.parameter("streams", "figure 6(b): as 6(a), but A2 and A5 use the EF queue");
    report.parameter("assumed", format!("streams in excess send {EXCESS_KBPS} kbit/s each; the {BUFFERS} buffers are divided as the rates are"));
    report.parameter("delay", "from arrival until the last bit is on the line; byte-exact, our rule");
    for arrivals in Arrivals::ALL {
        report.parameter(arrivals.name(), plan_text(options.size, arrivals));
    }
    let named = |name: &'static str, weight: Option<u32>| {
        [("arrangement", json!(name)), ("ef_weight_kbps", json!(weight))]
    };
    report.cells.extend(all.assured.cells(&named("all in AF", None)));
    report.cells.extend(all.paper.cells(&named("all in AF, paper's accounting", None)));
    for (weight, sets) in &all.expedited {
        report.cells.extend(sets.cells(&named("EF", Some(*weight))));
    }
    for greedy in &all.greedy {
        let axis = |greedy_one: Option<&str>| {
            vec![
                ("arrangement", json!("EF")),
                ("ef_weight_kbps", json!(OURS)),
                ("arrivals", json!(greedy.arrivals.name())),
                ("greedy", json!(greedy_one)),
            ]
        };
        report.cells.extend(greedy.before.cells(&axis(None)));
        for (name, sets) in &greedy.after {
            report.cells.extend(sets.cells(&axis(Some(name))));
        }
    }
    report.verdicts = verdicts(&all);
    for greedy in &all.greedy {
        report.verdicts.extend(isolation(greedy, options));
    }
    report.figures = vec![drawing(&all, options)];
    report.remarks = vec![table(&all)];
    Ok(report)
}

fn table(all: &All) -> String {
    let text = |[mean, high]: [Spread; 2]| format!("{:.1} ({:.1})", mean.mean, high.mean);
    let mut page =
        "| delay, ms, mean (99 %) | A2 | A5 | beforehand: A2 | A5 |\n|---|---|---|---|---|\n".to_owned();
    let mut row = |name: &str, weight: Option<u32>, delays: [[Spread; 2]; 2]| {
        let beforehand = BEFOREHAND.iter().find(|(of, _)| *of == weight && !name.contains("paper"));
        let [a2, a5] = delays.map(text);
        let [b2, b5] = beforehand.map_or([const { String::new() }; 2], |(_, of)| {
            of.map(|[mean, high]| format!("{mean} ({high})"))
        });
        page += &format!("| {name} | {a2} | {a5} | {b2} | {b5} |\n");
    };
    row("all in AF, paper's accounting", None, MOVED.map(|name| all.paper.delay(name)));
    row("all in AF", None, MOVED.map(|name| all.delay(None, name)));
    for weight in WEIGHTS {
        let name = format!("EF, weight {} of the line", f64::from(weight) / f64::from(LINK_KBPS));
        row(&name, Some(weight), MOVED.map(|name| all.delay(Some(weight), name)));
    }
    page
}

fn verdicts(all: &All) -> Vec<Verdict> {
    let in_af = MOVED.map(|name| all.delay(None, name)[0].mean);
    let in_ef = MOVED.map(|name| all.delay(Some(RESERVED_KBPS), name)[0].mean);
    let ratio = least(in_af.iter().zip(in_ef).map(|(af, ef)| af / ef));
    let [a2, a5] = in_af;
    let known = !(a2 + a5).is_nan();
    let mut rows = vec![
        verdict(
            "A2 and A5 in the AF queue, mean delay",
            "What the queue of all streams holds, over the rate of the line.",
            "180, 169 ms end to end",
            format!("{a2:.0}, {a5:.0} ms"),
            "160 to 190 ms",
            known.then(|| in_af.iter().all(|delay| (160.0..=190.0).contains(delay))),
        ),
        verdict(
            "EF with the weight of its reservation, times lower",
            "The whole delay of A2 and A5 in the AF queue by that in the EF queue, the less of the two.",
            "a factor of more than 3 (44, 49 ms end to end)",
            format!("{ratio:.1} ({:.0}, {:.0} ms)", in_ef[0], in_ef[1]),
            ">= 3",
            at_least(ratio, 3.0),
        ),
    ];
    let over = greatest(MOVED.map(|name| all.delay(Some(OURS), name)[1].most - bound_ms(name)));
    let [a2, a5] = MOVED.map(|name| all.delay(Some(OURS), name)[1].most);
    rows.push(verdict(
        &format!("EF with {} of the line, 99 % in the slowest run", f64::from(OURS) / f64::from(LINK_KBPS)),
        "In no run is the 99th percentile longer than the packet itself, the longest packet, and one more of the EF queue take on the \
         line.",
        "",
        format!("{a2:.1}, {a5:.1} ms"),
        &format!("<= {:.1}, {:.1} ms", bound_ms("A2"), bound_ms("A5")),
        at_most(over, 0.0),
    ));
    let without = |sets: &Sets| (sets.worst_kept(&[]), sets.best_effort().0);
    let best = all.at(Some(OURS)).map(without);
    let ((name, kept), best_effort) = best.unwrap_or((("", f64::NAN), f64::NAN));
    let moves = (best_effort / all.assured.best_effort().0 - 1.0).abs();
    rows.push(verdict(
        "rates with 0.9 of the line for EF",
        "EF takes what it sends and no more, whatever its weight: reserved streams keep their own, and best effort its mean.",
        "",
        format!("{} ({name}), best effort moves by {}", percent(kept), percent(moves)),
        ">= 99.5 %, <= 1 %",
        (!(kept + moves).is_nan()).then_some(kept >= 0.995 && moves <= 0.01),
    ));
    rows.push(beforehand(all));
    rows
}

/// The values of another simulation, and what the runs here let expect.
fn beforehand(all: &All) -> Verdict {
    let mut within = 0;
    let mut outside = Vec::new();
    for (weight, of) in BEFOREHAND {
        for (name, values) in MOVED.iter().zip(of) {
            for (found, value) in all.delay(weight, name).into_iter().zip(values) {
                // Those values have two digits, and three from 100 on.
                if found.expects(value, if value < 20.0 { 0.1 } else { 1.0 }) {
                    within += 1;
                } else {
                    outside.push(format!("{name} {value}: {:.1} ± {:.1}", found.mean, found.deviation));
                }
            }
        }
    }
    let named = if outside.is_empty() { String::new() } else { format!(" ({})", outside.join("; ")) };
    verdict(
        "delays as simulated beforehand",
        "An independent simulation with one set of phases found means and 99th percentiles of A2 and A5 in four arrangements: so many \
         of them are within three standard deviations of the runs here.",
        "",
        format!("{within} of 16{named}"),
        "16",
        Some(within == 16),
    )
}

/// What others notice of a stream at twenty times its reservation: each row says with which of them it is worst.
fn isolation(of: &Greedy, options: &Options) -> Vec<Verdict> {
    let is_poisson = of.arrivals == Arrivals::Poisson;
    let with = if is_poisson { format!(", σ of {BURST} packets") } else { String::new() };
    let named = |what: &str| format!("one stream at 20 times, {}{with}: {what}", of.arrivals.name());
    // What a policer takes from a stream that sends its very rate at random is no matter of others.
    let policed: &[&str] = if is_poisson { &MOVED } else { &[] };
    let (name, lost) = of.worst(|name, sets| {
        let without: Vec<&str> = policed.iter().copied().chain([name]).collect();
        1.0 - sets.worst_kept(&without).1
    });
    let mut rows = vec![verdict(
        &named("whoever else keeps least"),
        "A stream that sends twenty times what is reserved for it takes nothing that is reserved for others.",
        "",
        format!("{} (beside {name})", percent(1.0 - lost)),
        ">= 99.5 %",
        at_least(1.0 - lost, 0.995),
    )];
    rows.extend(expedited(of, &named));
    let (sets, plan) = plan(options.size, of.arrivals);
    let is_long = !is_poisson || as_f64(sets * plan.span.0) >= 3.6e12;
    let (name, apart) = of.worst(|_, sets| sets.best_effort().1);
    rows.push(verdict(
        &named("best-effort streams from their mean"),
        "Streams of 200, 500 and 1000 octets get the same of what is left for them.",
        "",
        format!("{} (beside {name})", percent(apart)),
        "<= 3 %",
        at_most(apart, 0.03).filter(|_| is_long),
    ));
    if !is_poisson {
        let from_mean = |name: &str, sets: &Sets| (sets.excess(name).mean / sets.best_effort().0 - 1.0).abs();
        let (name, most) = of.worst(|greedy, sets| {
            greatest(["A3", "A4"].iter().filter(|name| **name != greedy).map(|name| from_mean(name, sets)))
        });
        rows.push(verdict(
            &named("excess of the others of A3 and A4 from that"),
            "A reserved stream that sends in excess as before gets as much of the rest as best effort does.",
            "",
            format!("{} (beside {name})", percent(most)),
            "<= 15 %",
            at_most(most, 0.15),
        ));
        let (name, most) = of.worst(from_mean);
        rows.push(verdict(
            &named("its own excess from that"),
            "The stream that sends most fills its share as soon as a packet leaves, and the streams of 500 kbit/s do not: it gets more \
             than they do.",
            "",
            format!("{} ({name})", percent(most)),
            "<= 15 %",
            at_most(most, 0.15),
        ));
    }
    let (name, slowest) =
        of.worst(|_, sets| greatest(["A1", "A3", "A4", "A6"].map(|name| sets.delay(name)[1].most)));
    rows.push(verdict(
        &named("AF's 99 % in the slowest run"),
        "No packet of the AF queue waits longer than its pool takes at the rate that EF leaves to it.",
        "",
        format!("{slowest:.0} ms (beside {name})"),
        &format!("<= {:.0} ms", of.assured_ms_max),
        at_most(slowest, of.assured_ms_max),
    ));
    rows
}

/// What the EF queue notices.
fn expedited(of: &Greedy, named: &dyn Fn(&str) -> String) -> [Verdict; 2] {
    let high = |sets: &Sets, name| sets.delay(name)[1].mean;
    // Beyond 1 % of what it was.
    let moved = |sets: &Sets, name| {
        let was = high(&of.before, name);
        (high(sets, name) - was).abs() - (was * 0.01 - 0.1).max(0.0)
    };
    let (name, most) = of.worst(|_, sets| greatest(MOVED.map(|name| moved(sets, name))));
    let of_each: Vec<String> = of
        .after
        .iter()
        .map(|(name, sets)| {
            let [a2, a5] = MOVED.map(|name| high(sets, name) - high(&of.before, name));
            format!("{name} {a2:+.2}, {a5:+.2}")
        })
        .collect();
    let moves = verdict(
        &named("EF's 99 % of A2 and A5 moves"),
        "The EF queue notices the lengths of the packets that it meets on the line: those of the stream that sends more are met more \
         often.",
        "",
        format!("{} ms (most beside {name})", of_each.join("; ")),
        "<= 1 % or 0.1 ms",
        at_most(most, 0.1),
    );
    let (name, over) = of.worst(|_, sets| greatest(MOVED.map(|name| high(sets, name) - bound_ms(name))));
    let bound = verdict(
        &named("EF's 99 % below its bound, by"),
        "The packet, the longest one and one more of EF bound it, whoever sends what.",
        "",
        format!("{:.1} ms (least beside {name})", -over),
        ">= 0 ms",
        at_most(over, 0.0),
    );
    [moves, bound]
}

fn drawing(all: &All, options: &Options) -> Figure {
    let panel = |(name, colour): (&str, usize)| {
        let curve = |label: &str, style, which: usize| Curve {
            name: label.to_owned(),
            style,
            colour,
            points: all
                .expedited
                .iter()
                .filter_map(|(weight, sets)| {
                    Some(sets.delay(name).get(which)?.point(f64::from(*weight) / f64::from(LINK_KBPS)))
                })
                .collect(),
        };
        let level = |label: &str, colour, y: f64| Curve {
            name: label.to_owned(),
            style: Style::Reference,
            colour,
            points: [0.125, 0.9].map(|x| Point::new(x, y)).into(),
        };
        let octets = STREAMS.get(place(name)).map_or(0, |stream| stream.octets);
        Panel {
            title: format!("{name}, packets of {octets} octets"),
            x: "weight of EF, part of the line".to_owned(),
            y: "delay, ms".to_owned(),
            y_scale: Scale::Logarithmic,
            curves: vec![
                curve("mean", Style::Measured, 0),
                curve("99 %", Style::Second, 1),
                level("in AF, mean", 2, all.delay(None, name)[0].mean),
                level("bound of 99 %", 3, bound_ms(name)),
            ],
            ..Panel::default()
        }
    };
    let caption = format!(
        "Table I of the paper by the weight of EF: the delay of A2 and A5 in the EF queue of a line of 2 Mbit/s, in the AF queue, and the \
         bound of ours: the packet, the longest one and one more of EF on the line. At 0.125, EF has the weight of its reservations, as in the \
         paper. Periodic arrivals, byte-exact, our rule. Mean of {}; bars from the lowest to the highest.",
        plan_text(options.size, Arrivals::Periodic)
    );
    Figure::new("edge-delay", &caption, [("A2", 0), ("A5", 1)].map(panel).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Size;

    #[test]
    fn expedited_forwarding_is_short_and_nobody_notices_the_greedy() {
        let options = Options {
            size: Size::Quick,
            seed: 2,
            out: std::path::PathBuf::new(),
            progress: false,
            against: None,
        };
        let report = run(&options).unwrap();
        let kept = |verdict: &Verdict| match verdict.holds {
            Some(holds) => holds,
            // A quick run is too short for the tolerances of an hour.
            None => verdict.name.contains("Poisson"),
        };
        let broken: Vec<&str> = report
            .verdicts
            .iter()
            .filter(|verdict| !kept(verdict))
            .map(|verdict| verdict.name.as_str())
            .collect();
        // What this rule of sharing cannot do: see the page of results.
        let known = ["EF's 99 % of A2 and A5 moves", "its own excess from that"];
        assert!(
            broken.iter().all(|name| known.iter().any(|known| name.ends_with(known))),
            "{broken:?}\n{}\n{}",
            report.table(),
            report.remarks[0]
        );
        crate::figure::check::of_report(&report);
    }
}
