//! Experiment `bearer-change`: what a TCP download notices of a change of bearer (Aschenbruck et al., section 5: future work there).
//!
//! The mobile has two bearers of Ethernet, the first of which it prefers. During a download it changes to the second and back three
//! times: by order, as the cable of the first is pulled out, and as the access point's end of the first goes down.

use super::bed::{Bed, Processes, Through};
use super::configs::{BEARERS, Mode, Parameters};
use super::line::{Conditions, Kind};
use super::probe::{CONGESTION, Download};
use super::text;
use crate::measure::stats::Samples;
use crate::report::{Cell, Options, REPORTED, Report, Size, Verdict, at_most};
use crate::testbed;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use serde_json::json;
use std::time::{Duration, Instant};

const PROGRAMS: [&str; 5] = ["ip", "ethtool", "iperf3", "ping", "timeout"];
/// The rank of who acts among threads that preempt others: above the nodes.
const RANK: u8 = 5;
/// The longest pause that a change may make.
const STALL_MOST_MS: f64 = 200.0;
/// TCP finds its window, and what a change has done to it is over.
const SETTLES_IN: Duration = Duration::from_secs(2);
/// How long the mobile may take to use the other bearer.
const CHANGED_WITHIN: Duration = Duration::from_secs(30);

/// How a change comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    /// `gannet ms ctl prefer`: both bearers are there.
    Ordered,
    /// The cable of the bearer in use is pulled out: both ends see it.
    Pulled,
    /// The access point's end goes down: the mobile misses its beacons.
    Ended,
    /// The preferred bearer comes back while the other is there.
    Back,
}

/// A download's changes, each with the cell, and so the bearer, in which the mobile is then.
const STEPS: [(Change, u64); 6] = [
    (Change::Ordered, 1),
    (Change::Ordered, 0),
    (Change::Pulled, 1),
    (Change::Back, 0),
    (Change::Ended, 1),
    (Change::Back, 0),
];

impl Change {
    const ALL: [Self; 4] = [Self::Ordered, Self::Back, Self::Pulled, Self::Ended];

    const fn name(self) -> &'static str {
        match self {
            Self::Ordered => "by order, both bearers are there",
            Self::Pulled => "the cable in use is pulled out",
            Self::Ended => "the access point's end goes down",
            Self::Back => "the preferred bearer is back",
        }
    }

    /// Both bearers are there, so that nothing need be lost.
    const fn is_claimed(self) -> bool {
        matches!(self, Self::Ordered | Self::Back)
    }

    fn act(self, bed: &Bed, cell: u64) -> Result<(), String> {
        let [first, second] = BEARERS;
        match self {
            Self::Ordered if cell == 0 => bed.prefer("configured"),
            Self::Ordered => bed.prefer(&format!("ethernet {second}")),
            Self::Pulled => bed.plug(first, false),
            Self::Ended => bed.network().ip(&["link", "set", first, "down"]).map_err(text),
            Self::Back => {
                bed.network().ip(&["link", "set", first, "up"]).map_err(text)?;
                bed.plug(first, true)
            }
        }
    }
}

const fn rounds(size: Size) -> u32 {
    match size {
        Size::Quick => 2,
        Size::Normal => 10,
        Size::Full => 30,
    }
}

/// The changes of one kind under one mode.
#[derive(Debug)]
struct Measured {
    mode: Mode,
    change: Change,
    /// The longest time without new octets, from the change on.
    stall_ms: Samples,
    /// The same in the seconds before.
    stall_before_ms: Samples,
    /// Until the mobile used the other bearer.
    took_ms: Samples,
    /// Segments that TCP sent again.
    again: Samples,
}

/// Runs it.
///
/// # Errors
/// A sentence for the person: this machine cannot do it, or a program has ended.
pub fn run(options: &Options) -> Result<Report, String> {
    let stop = testbed::begin("bearer-change", &PROGRAMS)?;
    let kinds = [Kind::Ethernet; 2];
    let mut bed = Bed::new("change", &options.out, &kinds, Conditions::NONE)?;
    let nodes = bed.start_nodes((&Parameters::fitting(), Processes::Four), &stop)?;
    let mut all: Vec<Measured> = Vec::new();
    for mode in Mode::BOTH {
        let none = || Samples::NONE;
        all.extend(Change::ALL.map(|change| Measured {
            mode,
            change,
            stall_ms: none(),
            stall_before_ms: none(),
            took_ms: none(),
            again: none(),
        }));
    }
    let rounds = rounds(options.size);
    for round in 0..rounds {
        for mode in Mode::BOTH {
            if options.progress {
                eprintln!("bearer-change: round {} of {rounds}, {}", round + 1, mode.name());
            }
            download(&mut bed, mode, &mut all, &stop).map_err(|why| format!("{}: {why}", mode.name()))?;
        }
    }
    // What a line could not give to a device that was pulled out is no error of the line.
    bed.end_nodes(&nodes);
    drop(bed);
    let mut report = Report::here("bearer-change", options);
    report.parameter("bearers", format!("two of {}", Kind::Ethernet.name()));
    report.parameter("congestion control", CONGESTION);
    report.parameter("downloads", format!("{rounds} in each mode, with {} changes in each", STEPS.len()));
    report.cells = all.iter().map(cell).collect();
    report.verdicts = all.iter().flat_map(verdicts).collect();
    report.remarks = vec![table(&all)];
    Ok(report)
}

/// One download with all changes.
fn download(bed: &mut Bed, mode: Mode, all: &mut [Measured], stop: &AtomicBool) -> Result<(), String> {
    let through = Through::Gprs(mode);
    settle(bed, 0, stop)?;
    let mut running = Download::start(bed.network(), through.host(), bed.phone())?;
    pause(SETTLES_IN, stop)?;
    // Who acts and asks does not wait for the nodes. The download's threads are there already, and take turns.
    gannet_rig::set_preempting(None, RANK).map_err(text)?;
    let mut happened = Vec::new();
    for (change, cell) in STEPS {
        let (began, before) = (Instant::now(), bed.segments_sent_again()?);
        change.act(bed, cell)?;
        settle(bed, cell, stop)?;
        let took = began.elapsed();
        pause(SETTLES_IN, stop)?;
        happened.push((change, began, took, Instant::now(), bed.segments_sent_again()? - before));
    }
    gannet_rig::set_preempting(None, 0).map_err(text)?;
    let arrivals = running.end()?;
    for (change, began, took, ended, again) in happened {
        let Some(of) = all.iter_mut().find(|of| of.mode == mode && of.change == change) else { continue };
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        of.stall_ms.push(ms(longest_pause(&arrivals, began, ended)));
        let settled = began.checked_sub(SETTLES_IN / 2).unwrap_or(began);
        of.stall_before_ms.push(ms(longest_pause(&arrivals, settled, began)));
        of.took_ms.push(ms(took));
        of.again.push(again);
    }
    Ok(())
}

/// Waits until the mobile is in this cell.
fn settle(bed: &mut Bed, cell: u64, stop: &AtomicBool) -> Result<(), String> {
    let until = Instant::now() + CHANGED_WITHIN;
    while bed.cell_of_mobile()? != Some(cell) {
        bed.check()?;
        if Instant::now() > until {
            return Err(format!("the mobile is not in cell {cell} after {} s", CHANGED_WITHIN.as_secs()));
        }
        pause(Duration::from_millis(10), stop)?;
    }
    Ok(())
}

fn pause(time: Duration, stop: &AtomicBool) -> Result<(), String> {
    std::thread::sleep(time);
    if stop.load(Relaxed) { Err("interrupted".to_owned()) } else { Ok(()) }
}

/// The longest time between two arrivals of which one is within these moments, and from the last to the second moment.
fn longest_pause(arrivals: &[Instant], from: Instant, until: Instant) -> Duration {
    let mut last = from;
    let mut longest = Duration::ZERO;
    for at in arrivals.iter().filter(|at| **at > from && **at <= until) {
        longest = longest.max(*at - last);
        last = *at;
    }
    longest.max(until.saturating_duration_since(last))
}

fn cell(of: &Measured) -> Cell {
    let axis = [("mode", json!(of.mode.name())), ("change", json!(of.change.name()))];
    let metrics = [
        ("longest_pause_ms".to_owned(), of.stall_ms.json()),
        ("longest_pause_before_ms".to_owned(), of.stall_before_ms.json()),
        ("change_took_ms".to_owned(), of.took_ms.json()),
        ("segments_sent_again".to_owned(), of.again.json()),
    ];
    Cell::new(axis, metrics)
}

/// In unacknowledged mode what was on its way is lost, and that is reported; so is what a bearer takes that is not there any more.
fn verdicts(of: &Measured) -> [Verdict; 2] {
    let is_claimed = of.mode == Mode::Acknowledged && of.change.is_claimed();
    let of_pause = of.stall_ms.max();
    let of_again = of.again.max();
    let name = |what: &str| format!("{what}, {}, {}", of.change.name(), of.mode.name());
    let goal = |goal: &str| if is_claimed { goal.to_owned() } else { REPORTED.to_owned() };
    let most = |most: f64| if is_claimed { most } else { f64::INFINITY };
    [
        Verdict {
            name: name("longest pause"),
            means: "The longest time without new octets of a download from the change on, of all changes; in the second before, \
                    their longest."
                .to_owned(),
            paper: None,
            ours: format!("{of_pause:.0} ms; {:.0} ms before", of.stall_before_ms.max()),
            goal: goal("< 200 ms"),
            holds: at_most(of_pause, most(STALL_MOST_MS)),
        },
        Verdict {
            name: name("segments lost"),
            means: "Segments that TCP sent again from the change on, of the change with most of them.".to_owned(),
            paper: None,
            ours: format!("{of_again:.0}; median {:.0}", of.again.median()),
            goal: goal("0"),
            holds: at_most(of_again, most(0.0)),
        },
    ]
}

/// For a person, and for `docs/lab/bearer.md`.
fn table(all: &[Measured]) -> String {
    let mut text = "| change | mode | changes | in use after, ms | longest pause, ms | in the second before | segments sent again |\n|---|---|---|---|---|---|---|\n".to_owned();
    for of in all {
        let spread = |of: &Samples| format!("{:.0} [{:.0}..{:.0}]", of.median(), of.min(), of.max());
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} | {} |\n",
            of.change.name(),
            of.mode.name(),
            of.stall_ms.len(),
            spread(&of.took_ms),
            spread(&of.stall_ms),
            spread(&of.stall_before_ms),
            spread(&of.again),
        ));
    }
    text.replace("NaN", "–")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_counts_also_at_both_ends() {
        let begun = Instant::now();
        let at = |ms| begun + Duration::from_millis(ms);
        let arrivals = [10, 20, 150, 160].map(at);
        let pause = |from, until| longest_pause(&arrivals, at(from), at(until)).as_millis();
        assert_eq!((pause(0, 170), pause(15, 149), pause(25, 170), pause(155, 400)), (130, 129, 125, 240));
        assert_eq!(longest_pause(&[], at(0), at(7)), Duration::from_millis(7));
    }

    #[test]
    fn only_acknowledged_mode_with_both_bearers_there_claims_something() {
        let of = |mode, change, pause: f64| Measured {
            mode,
            change,
            stall_ms: [10.0, pause].into_iter().collect(),
            stall_before_ms: Samples::NONE,
            took_ms: Samples::NONE,
            again: [0.0, 1.0].into_iter().collect(),
        };
        let holds = |mode, change, pause| verdicts(&of(mode, change, pause)).map(|row| row.holds);
        assert_eq!(holds(Mode::Acknowledged, Change::Back, 201.0), [Some(false), Some(false)]);
        assert_eq!(holds(Mode::Acknowledged, Change::Back, 199.0), [Some(true), Some(false)]);
        assert_eq!(holds(Mode::Unacknowledged, Change::Back, 900.0), [Some(true), Some(true)]);
        assert_eq!(holds(Mode::Acknowledged, Change::Ordered, 201.0), [Some(false), Some(false)]);
        assert_eq!(holds(Mode::Acknowledged, Change::Pulled, f64::NAN), [Some(true), Some(true)]);
        let row = "| the cable in use is pulled out | acknowledged | 2 | – [–..–] | 60 [10..110] | – [–..–] | 0 [0..1] |";
        let told = table(&[of(Mode::Acknowledged, Change::Pulled, 110.0)]);
        assert!(told.contains(row), "{told}");
    }

    #[test]
    fn each_way_of_changing_is_there_and_ends_where_it_began() {
        assert!(Change::ALL.iter().all(|change| STEPS.iter().any(|(step, _)| step == change)));
        assert_eq!(STEPS.map(|(_, cell)| cell), [1, 0, 1, 0, 1, 0]);
    }
}
