//! Experiment `edge-buffsize`: figure 7 of the paper, what each stream gets by the value of `BUFF_SIZE`.

use super::link::Arrivals;
use super::scenario::{BUFFERS, EXCESS_KBPS, Rule, STREAMS, Setup};
use super::sets::{Sets, percent, plan_text, verdict};
use crate::figure::{Curve, Figure, Panel, Point, Style};
use crate::report::{Options, Report, Verdict, at_least, at_most, least};
use serde_json::json;

/// The paper's values, in octets.
const SIZES: [u32; 6] = [200, 400, 500, 600, 800, 1000];

/// What was measured.
struct All {
    /// By [`SIZES`], with the paper's rule.
    paper: Vec<(u32, Sets)>,
    ours: Sets,
}

impl All {
    fn at(&self, size: u32) -> Option<&Sets> {
        self.paper.iter().find(|(of, _)| *of == size).map(|(_, sets)| sets)
    }

    fn got(&self, size: u32, name: &str) -> f64 {
        self.at(size).map_or(f64::NAN, |sets| sets.got(name).mean)
    }

    fn kept(&self, size: u32, name: &str) -> f64 {
        self.at(size).map_or(f64::NAN, |sets| sets.kept(name).mean)
    }
}

/// Runs the experiment.
///
/// # Errors
/// Where a set-up is refused.
pub fn run(options: &Options) -> Result<Report, String> {
    let mut paper = Vec::new();
    for size in SIZES {
        if options.progress {
            eprintln!("BUFF_SIZE of {size} octets");
        }
        let setup = Setup::all_assured(Rule::paper(size), BUFFERS);
        paper.push((size, Sets::run(&setup, options, Arrivals::Periodic)?));
    }
    let ours = Sets::run(&Setup::all_assured(Rule::OURS, BUFFERS), options, Arrivals::Periodic)?;
    let all = All { paper, ours };
    let mut report = Report::simulated("edge-buffsize", options);
    report
        .parameter("streams", "figure 6(a): A1 to A6 are AF, B1 to B3 best effort; all arrive periodically");
    report.parameter(
        "assumed",
        format!("{BUFFERS} packet buffers; streams in excess send {EXCESS_KBPS} kbit/s each"),
    );
    report.parameter("random sets of phases", plan_text(options.size, Arrivals::Periodic));
    for (size, sets) in &all.paper {
        report.cells.extend(sets.cells(&[("rule", json!("paper")), ("buff_size", json!(size))]));
    }
    report.cells.extend(all.ours.cells(&[("rule", json!("ours")), ("buff_size", json!(null))]));
    report.verdicts = verdicts(&all);
    report.figures = vec![drawing(&all, options)];
    report.remarks = vec![table(&all)];
    Ok(report)
}

fn table(all: &All) -> String {
    let mut text = "| stream | 200 | 400 | 500 | 600 | 800 | 1000 | ours, byte-exact |\n|---|---|---|---|---|---|---|---|\n".to_owned();
    for stream in &STREAMS {
        let row: Vec<String> =
            SIZES.iter().map(|size| format!("{:.0}", all.got(*size, stream.name))).collect();
        text +=
            &format!("| {} | {} | {:.0} |\n", stream.name, row.join(" | "), all.ours.got(stream.name).mean);
    }
    text
}

fn verdicts(all: &All) -> Vec<Verdict> {
    let over = |names: &[&str], sizes: &[u32]| {
        least(names.iter().flat_map(|name| sizes.iter().map(|size| all.kept(*size, name))))
    };
    let [small, large] = [&SIZES[..1], &SIZES[1..]].map(|sizes| over(&["A1", "A5"], sizes));
    let (b1_first, b1_last) = (all.got(200, "B1"), all.got(1000, "B1"));
    let medium = |name, size| all.got(size, name);
    let falls = least(["A3", "A4"].map(|name| medium(name, 500) - medium(name, 1000)));
    let rises = least(["A3", "A4", "B3"].map(|name| medium(name, 400) - medium(name, 200)));
    let apart = least([500, 600, 800, 1000].map(|size| all.kept(size, "A2") - all.kept(size, "A6")));
    let b2 = all.got(500, "B2");
    let rows = [
        verdict(
            "A1 and A5 (1000 octets), whoever keeps least of the reservation",
            "Streams of long packets are conformant whatever BUFF_SIZE is: their packets never count more than they are. With 200 \
             octets the whole pool is that of 20 of their packets.",
            "little sensitivity",
            format!("{} from 400 octets on, {} with 200", percent(large), percent(small)),
            ">= 99.5 %, >= 95 %",
            at_least((large - 0.995).min(small - 0.95), 0.0),
        ),
        verdict(
            "B1 (1000 octets) gains with BUFF_SIZE",
            "The shared buffers grow with BUFF_SIZE, and a stream of long packets pays nothing for it.",
            "a substantial improvement",
            format!("{b1_first:.0} to {b1_last:.0} kbit/s"),
            "gains",
            at_least(b1_last - b1_first, f64::MIN_POSITIVE),
        ),
        verdict(
            "A3, A4 and B3 (500 octets), 200 to 400, whoever gains least",
            "Larger shared buffers let more of the excess through.",
            "an increase",
            format!("{rises:+.1} kbit/s"),
            "> 0",
            at_least(rises, f64::MIN_POSITIVE),
        ),
        verdict(
            "A3 and A4 (500 octets), 500 to 1000, whoever loses least",
            "Above 500 octets their packets count more than they are.",
            "a slight decrease",
            format!("{:+.1} kbit/s", -falls),
            "< 0",
            at_least(falls, f64::MIN_POSITIVE),
        ),
        verdict(
            "A6 is penalised more than A2 (200 octets each)",
            "Of two streams of short packets, the one with twice the reservation needs more shared buffers to keep it: the least \
             distance of the parts of their reservations that they keep, at 500 octets and above.",
            "A2 sees a smaller degradation",
            format!("{:.1} points", apart * 100.0),
            "> 0",
            at_least(apart, f64::MIN_POSITIVE),
        ),
        verdict(
            "B2 (200 octets) at BUFF_SIZE 500",
            "Each of its packets counts two and a half times what it is.",
            "about 100 kbit/s",
            format!("{b2:.0} kbit/s"),
            "85 to 115 kbit/s",
            (!b2.is_nan()).then_some((85.0..=115.0).contains(&b2)),
        ),
    ];
    rows.into_iter().chain(byte_exact(&all.ours)).collect()
}

/// What octets that are counted as they are change.
fn byte_exact(ours: &Sets) -> [Verdict; 2] {
    let (worst, kept) = ours.worst_kept(&[]);
    let (_, apart) = ours.best_effort();
    [
        verdict(
            "byte-exact, whoever keeps least of the reservation",
            "With octets counted as they are, the size of a stream's packets is no matter.",
            "",
            format!("{} ({worst})", percent(kept)),
            ">= 99.5 %",
            at_least(kept, 0.995),
        ),
        verdict(
            "byte-exact, best-effort streams from their mean",
            "Streams of 200, 500 and 1000 octets get the same of what is left.",
            "",
            percent(apart),
            "<= 3 %",
            at_most(apart, 0.03),
        ),
    ]
}

fn drawing(all: &All, options: &Options) -> Figure {
    let panel = |title: &str, octets: u32| {
        let streams = STREAMS.iter().filter(|stream| stream.octets == octets).zip(0..);
        let mut curves: Vec<Curve> = streams
            .map(|(stream, colour)| Curve {
                name: stream.name.to_owned(),
                style: Style::Measured,
                colour,
                points: all
                    .paper
                    .iter()
                    .map(|(size, sets)| sets.got(stream.name).point(f64::from(*size)))
                    .collect(),
            })
            .collect();
        let exact = STREAMS.iter().filter(|stream| stream.octets == octets && !stream.is_reserved());
        curves.extend(exact.map(|stream| Curve {
            name: format!("{}, byte-exact, ours", stream.name),
            style: Style::Reference,
            colour: 2,
            points: [200.0, 1000.0].map(|x| Point::new(x, all.ours.got(stream.name).mean)).into(),
        }));
        Panel {
            title: title.to_owned(),
            x: "BUFF_SIZE, octets".to_owned(),
            y: "got, kbit/s".to_owned(),
            curves,
            ..Panel::default()
        }
    };
    let panels = vec![
        panel("Packets of 1000 octets", 1000),
        panel("Packets of 500 octets", 500),
        panel("Packets of 200 octets", 200),
    ];
    let caption = format!(
        "Figure 7 of the paper: what each stream of figure 6(a) gets of a line of 2 Mbit/s with {BUFFERS} packet buffers, by BUFF_SIZE, \
         with the paper's rule; dotted, the best-effort stream of that size byte-exact with ours. A1 and A5 reserve 150 kbit/s, A2 \
         and A3 100, A4 and A6 200; A3, A4 and B1 to B3 send {EXCESS_KBPS}. Mean of {} with random phases; bars from the lowest to \
         the highest.",
        plan_text(options.size, Arrivals::Periodic)
    );
    Figure::new("edge-buffsize", &caption, panels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Size;

    #[test]
    fn what_the_paper_says_of_buff_size_holds() {
        let options = Options {
            size: Size::Quick,
            seed: 2,
            out: std::path::PathBuf::new(),
            progress: false,
            against: None,
        };
        let report = run(&options).unwrap();
        assert!(report.holds(), "{}\n{}", report.table(), report.remarks[0]);
        crate::figure::check::of_report(&report);
    }
}
