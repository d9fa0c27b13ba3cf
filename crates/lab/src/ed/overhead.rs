//! `ed-overhead`: what early demultiplexing costs a packet when nothing else happens (thesis, section 7.2).
//!
//! One mobile, packets at a fixed distance, nobody else. The traversal is from the generator at Gn to the driver of the
//! sink at Gb; both links are in it, the same for every candidate.

use super::thesis;
use crate::figure::{Curve, Panel, Point, Style};
use crate::measure::bench::{Axis, Bench, Runner};
use crate::measure::stats::Samples;
use crate::measure::{ALL, Candidate, Group, Members, Onset, Spacing};
use crate::report::at_most;
use serde_json::json;

/// Packets/s of the one mobile: far from any limit, and enough for a mean.
const PPS: f64 = 1000.0;
/// So much does the driver's own program cost at most, in µs.
const GOAL_US: f64 = 1.0;

/// Measures.
///
/// # Errors
/// A sentence for the person.
pub fn experiment(bench: &mut Bench<'_>) -> Result<(), String> {
    // One mobile that may have five times what it gets, so that flow control does not delay it.
    let mut setup = bench.setup(16_000);
    (setup.users, setup.cells, setup.ms_rate) = (10.min(setup.users), 2, 5.0);
    let mut runners = bench.start(&ALL, &setup)?;
    let mut means = vec![Samples::default(); runners.len()];
    let mut p99s = means.clone();
    for repetition in 0..bench.sizes.repetitions {
        for (n, runner) in runners.iter_mut().enumerate() {
            let group = Group {
                name: "one",
                members: Members { first: 0, stride: 1, count: 1 },
                pps_each: PPS,
                due_pps_each: PPS,
                spacing: Spacing::Fixed,
                begins_s: 0.0,
                within_s: 0.0,
                onset: Onset::Even,
            };
            let mut offer = bench.offer(&setup, vec![group]);
            offer.window_s *= 2.0;
            let axis: Axis =
                vec![("candidate", json!(runner.candidate.name())), ("repetition", json!(repetition))];
            let step = bench.turn(runner, |bench, chain| bench.step(chain, &axis, &offer))?;
            // Of what never came there is no delay.
            let Some(delay) = step.group("one").map(|group| group.delay).filter(|delay| delay.count > 0)
            else {
                continue;
            };
            if let (Some(mean), Some(p99)) = (means.get_mut(n), p99s.get_mut(n)) {
                mean.push(delay.mean_us);
                p99.push(delay.p99_us);
            }
        }
    }
    judge(bench, &runners, &means, &p99s);
    Ok(())
}

fn judge(bench: &mut Bench<'_>, runners: &[Runner], means: &[Samples], p99s: &[Samples]) {
    let of = |candidate| {
        let at = runners.iter().position(|runner| runner.candidate == candidate);
        at.and_then(|at| means.get(at)).cloned().unwrap_or_default()
    };
    let (xdp, fifo) = (of(Candidate::Xdp), of(Candidate::Fifo));
    let above = xdp.median() - fifo.median();
    let allowed = GOAL_US.max(xdp.half_spread()).max(fifo.half_spread());
    let [sgsn, ed] = thesis::TRAVERSAL_US;
    bench.claim(
        "stack traversal without load, gannet-xdp above gannet-fifo",
        "Mean time of a packet from Gn to Gb with early demultiplexing, less that with one socket: what the driver's program costs.",
        Some(&format!("{:.1} / {:.1} µs", sgsn.0, ed.0)),
        format!("{above:+.1} µs ({:.1} / {:.1})", fifo.median(), xdp.median()),
        format!("at most {allowed:.1} µs: 1 µs or the spread"),
        at_most(above, allowed),
    );
    let mut curves = [Vec::new(), Vec::new()];
    for ((runner, mean), p99) in runners.iter().zip(means).zip(p99s) {
        bench.cell(
            vec![("candidate", json!(runner.candidate.name())), ("what", json!("median"))],
            vec![("traversal_us".to_owned(), mean.json()), ("traversal_p99_us".to_owned(), p99.json())],
        );
        for (curves, samples) in curves.iter_mut().zip([mean, p99]) {
            curves.push(Curve {
                name: runner.candidate.name().to_owned(),
                style: Style::Measured,
                colour: runner.candidate.colour(),
                points: samples.each().map(|(n, value)| Point::new(n, value)).collect(),
            });
        }
    }
    let panel = |title: &str, curves| Panel {
        title: title.to_owned(),
        x: "repetition".to_owned(),
        y: "traversal, µs".to_owned(),
        curves,
        ..Panel::default()
    };
    let paper = |name: &str, colour, tests: [f64; 3]| Curve {
        name: name.to_owned(),
        style: Style::Reference,
        colour,
        points: tests.iter().zip(1_u8..).map(|(us, n)| Point::new(f64::from(n), *us)).collect(),
    };
    let [sgsn, ed] = thesis::TRAVERSAL_TESTS_US;
    let theirs = Panel {
        y: "traversal on a Pentium 166, µs".to_owned(),
        ..panel(
            "Thesis, table 7.1, mean",
            vec![
                paper("thesis: SGSN (3 tests)", Candidate::Fifo.colour(), sgsn),
                paper("thesis: ED-SGSN (3 tests)", Candidate::Xdp.colour(), ed),
            ],
        )
    };
    let [mean, p99] = curves;
    let caption = format!(
        "Traversal of one mobile's packets from Gn to Gb, {PPS:.0} packets/s, nothing else under way; each point is one repetition, and \
         there are no bars. {}",
        thesis::read_off("the three tests of table 7.1", "7.2")
    );
    let panels = vec![panel("This machine, mean", mean), panel("This machine, 99th percentile", p99), theirs];
    bench.figure("ed-overhead", &caption, panels);
}
