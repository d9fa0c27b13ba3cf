//! Experiment `edge-scale`: what a packet costs `gannet edge` with 10 to 10,000 rules and streams, by the fast path and where the rules
//! are asked for each packet.

use super::cost::component_ns;
use super::sets::{percent, verdict};
use super::whole::{self, By, Candidate, Forwards, Spent};
use crate::report::{Options, Report, Verdict, at_least, at_most};

/// With the fast path that it has by itself.
const FAST: Forwards = Forwards::Edge { queues: true, flows: None, by: By::Sockets };
/// With a fast path of two flows, so that the rules are asked for nearly each packet.
const SLOW: Forwards = Forwards::Edge { queues: true, flows: Some(2), by: By::Sockets };

const fn candidate(name: &'static str, forwards: Forwards, destinations: u32) -> Candidate {
    Candidate { name, forwards, destinations }
}

const FEW: Candidate = candidate("fast-10", FAST, 10);
const MANY: Candidate = candidate("fast-10000", FAST, 10_000);
const SLOW_FEW: Candidate = candidate("slow-10", SLOW, 10);
const SLOW_MANY: Candidate = candidate("slow-1000", SLOW, 1000);
const CANDIDATES: [Candidate; 6] =
    [FEW, candidate("fast-100", FAST, 100), candidate("fast-1000", FAST, 1000), MANY, SLOW_FEW, SLOW_MANY];

/// Runs it.
///
/// # Errors
/// A sentence for the person.
pub fn run(options: &Options) -> Result<Report, String> {
    let mut report = Report::here("edge-scale", options);
    report.parameter(
        "rules",
        "one for each destination, by its address; as many flows; streams as many, but 4,000 at most",
    );
    report.parameter("slow path", "a fast path of two flows");
    report.parameter("gannet edge", "user-plane socket");
    let component = component_ns(options)?;
    report.parameter("the component alone", format!("{component:.1} ns a packet with 9 streams"));
    let all = whole::measure(&CANDIDATES, options, &mut report)?;
    report.verdicts = verdicts(&all, component);
    report.remarks.push(whole::table(&all));
    Ok(report)
}

fn verdicts(all: &[Spent], component: f64) -> Vec<Verdict> {
    let of = |wanted: &Candidate| all.iter().find(|spent| spent.candidate == *wanted);
    let ns = |wanted| of(wanted).map_or(f64::NAN, |spent| spent.ns.median());
    let rate = ns(&FEW) / ns(&MANY);
    let mut rows = vec![verdict(
        "packets by second of processor time with 10,000 rules, as a part of those with 10",
        "The fast path remembers what the rules have said, so that their number is no matter.",
        "",
        format!("{rate:.2} ({:.0} and {:.0} ns a packet)", ns(&MANY), ns(&FEW)),
        ">= 0.8",
        at_least(rate, 0.8),
    )];
    for (named, paper, goal, wanted) in [
        ("fast path, 10 rules", "15 %", 0.15, &FEW),
        ("slow path, 10 rules", "5 %", 0.05, &SLOW_FEW),
        ("slow path, 1,000 rules", "5 %", 0.05, &SLOW_MANY),
    ] {
        let share = component / ns(wanted);
        // A share of a path that packets did not take says nothing.
        let slow = of(wanted).map_or(f64::NAN, |spent| spent.slow);
        let took = if wanted.forwards == SLOW { slow >= 0.5 } else { slow <= 0.01 };
        rows.push(verdict(
            &format!("the component's share of the {named}"),
            "What the QoS component alone takes, of all that a packet costs the router and what receives for it.",
            paper,
            format!("{} of {:.0} ns; {} by the rules", percent(share), ns(wanted), percent(slow)),
            &format!("<= {:.0} %", goal * 100.0),
            at_most(share, goal).filter(|_| took),
        ));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(candidate: Candidate, ns: f64, slow: f64) -> Spent {
        let mut spent = Spent::none(candidate);
        spent.ns.push(ns);
        spent.slow = slow;
        spent
    }

    fn held(all: &[Spent]) -> Vec<Option<bool>> {
        verdicts(all, 20.0).iter().map(|verdict| verdict.holds).collect()
    }

    #[test]
    fn shares_are_of_the_path_that_was_taken() {
        let all = |many, slow| {
            [
                spent(FEW, 2000.0, 0.0),
                spent(MANY, many, 0.0),
                spent(SLOW_FEW, 2500.0, slow),
                spent(SLOW_MANY, 9000.0, 1.0),
            ]
        };
        assert_eq!(held(&all(2100.0, 0.9)), [Some(true); 4]);
        assert_eq!(held(&all(3000.0, 0.2)), [Some(false), Some(true), None, Some(true)]);
        assert_eq!(held(&[]), [None; 4]);
        assert_eq!(held(&[spent(FEW, 100.0, 0.0)])[1], Some(false));
    }
}
