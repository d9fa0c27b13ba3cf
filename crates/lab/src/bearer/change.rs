//! Experiment `bearer-change`: what a TCP download notices of a change of bearer (Aschenbruck et al., section 5: future work there).
//!
//! The mobile has two bearers of Ethernet, the first of which it prefers. During a download it changes to the second and back three
//! times: by order, as the cable of the first is pulled out, and as the access point's end of the first goes down. Twice nothing
//! happens for as long.
//!
//! TCP whose window nothing bounds fills the queue of its context until that drops, with a change or without one. So a download in
//! acknowledged mode comes in two ways. With a window that fits into the queue whatever is lost is lost by the change. With an open
//! one, what the full queue has refused is told from what is lost elsewhere.

mod judge;

use super::bed::{Bed, Processes, SentAgain, Through};
use super::configs::{BEARERS, Mode, Parameters};
use super::line::{Conditions, Kind};
use super::probe::{Arrival, CONGESTION, Download};
use super::text;
use crate::counters;
use crate::measure::stats::Samples;
use crate::report::{Options, Report, Size};
use crate::testbed;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const PROGRAMS: [&str; 5] = ["ip", "ethtool", "iperf3", "ping", "timeout"];
/// The rank of who acts among threads that preempt others: above the nodes.
const RANK: u8 = 5;
/// TCP finds its window, and what a change has done to it is over.
const SETTLES_IN: Duration = Duration::from_secs(2);
/// What the other end says of a segment that it had already comes within this time: counters that stand still for so long are whole.
const COUNTED_WITHIN: Duration = Duration::from_millis(100);
/// How often counters are looked at until they stand still.
const LOOKS: u32 = 20;
/// How long the mobile may take to use the other bearer.
const CHANGED_WITHIN: Duration = Duration::from_secs(30);

/// The receive buffer of a download whose window fits into the queue of its context (256,000 octets) with all that is under way: the
/// kernel makes it a window of at most twice as many octets.
const BUFFER: usize = 120_000;
/// Drops of a context's downlink queue that is full, as [`Bed::named`] names them: in the SGSN, or at its driver on its behalf.
const FULL_QUEUE: [&str; 3] = ["sgsn.flow_queue_full", "sgsn.flow_queue_node_full", "sgsn.demux_queue_full"];

/// How much of a download may be under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Window {
    /// As much as the queue of the context takes.
    Fits,
    /// As much as TCP likes.
    Open,
}

/// A download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Setting {
    mode: Mode,
    window: Window,
}

const SETTINGS: [Setting; 3] = [
    Setting { mode: Mode::Unacknowledged, window: Window::Open },
    Setting { mode: Mode::Acknowledged, window: Window::Open },
    Setting { mode: Mode::Acknowledged, window: Window::Fits },
];

impl Setting {
    const fn name(self) -> &'static str {
        match (self.mode, self.window) {
            (Mode::Unacknowledged, Window::Fits) => "unacknowledged, window fits the queue",
            (Mode::Unacknowledged, Window::Open) => "unacknowledged, open window",
            (Mode::Acknowledged, Window::Fits) => "acknowledged, window fits the queue",
            (Mode::Acknowledged, Window::Open) => "acknowledged, open window",
        }
    }

    const fn buffer(self) -> Option<usize> {
        match self.window {
            Window::Fits => Some(BUFFER),
            Window::Open => None,
        }
    }
}

/// How a change comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    /// Nothing changes, for comparison.
    Nothing,
    /// `gannet ms ctl prefer`: both bearers are there.
    Ordered,
    /// The cable of the bearer in use is pulled out: both ends see it.
    Pulled,
    /// The access point's end goes down: the mobile misses its beacons.
    Ended,
    /// The preferred bearer comes back while the other is there.
    Back,
}

/// What happens in a download, each time with the cell, and so the bearer, in which the mobile is then.
const STEPS: [(Change, u64); 8] = [
    (Change::Nothing, 0),
    (Change::Ordered, 1),
    (Change::Ordered, 0),
    (Change::Nothing, 0),
    (Change::Pulled, 1),
    (Change::Back, 0),
    (Change::Ended, 1),
    (Change::Back, 0),
];

impl Change {
    const ALL: [Self; 5] = [Self::Nothing, Self::Ordered, Self::Back, Self::Pulled, Self::Ended];

    const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "none, for comparison",
            Self::Ordered => "by order, both bearers are there",
            Self::Pulled => "the cable in use is pulled out",
            Self::Ended => "the access point's end goes down",
            Self::Back => "the preferred bearer is back",
        }
    }

    fn act(self, bed: &Bed, cell: u64) -> Result<(), String> {
        let [first, second] = BEARERS;
        match self {
            Self::Nothing => Ok(()),
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

/// What has happened at one change.
#[derive(Debug)]
struct Happened {
    change: Change,
    began: Instant,
    /// Until the mobile used the other bearer.
    took: Duration,
    ended: Instant,
    again: SentAgain,
    /// Drops by node and name.
    dropped: BTreeMap<String, u64>,
}

/// The changes of one kind in downloads of one setting.
#[derive(Debug)]
struct Measured {
    setting: Setting,
    change: Change,
    /// The longest time without new octets, from the change on.
    stall_ms: Samples,
    /// The same in the second before.
    stall_before_ms: Samples,
    /// Until the mobile used the other bearer.
    took_ms: Samples,
    /// What arrived from the change on.
    mbps: Samples,
    /// Segments that TCP sent again.
    again: Samples,
    /// Those of them that had not arrived.
    lost: Samples,
    /// The same by second.
    lost_per_s: Samples,
    /// Those that had not arrived and that no full queue has refused.
    lost_elsewhere: Samples,
    /// Drops of all changes by node and name.
    dropped: BTreeMap<String, u64>,
}

impl Measured {
    const fn new(setting: Setting, change: Change) -> Self {
        Self {
            setting,
            change,
            stall_ms: Samples::NONE,
            stall_before_ms: Samples::NONE,
            took_ms: Samples::NONE,
            mbps: Samples::NONE,
            again: Samples::NONE,
            lost: Samples::NONE,
            lost_per_s: Samples::NONE,
            lost_elsewhere: Samples::NONE,
            dropped: BTreeMap::new(),
        }
    }

    fn take(&mut self, happened: &Happened, arrivals: &[Arrival]) {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let Happened { began, took, ended, again, dropped, .. } = happened;
        let lasted_s = ended.saturating_duration_since(*began).as_secs_f64();
        let settled = began.checked_sub(SETTLES_IN / 2).unwrap_or(*began);
        let refused: u64 = FULL_QUEUE.iter().filter_map(|name| dropped.get(*name)).sum();
        let octets: usize =
            arrivals.iter().filter(|(at, _)| at > began && at <= ended).map(|(_, octets)| octets).sum();
        self.stall_ms.push(ms(longest_pause(arrivals, *began, *ended)));
        self.stall_before_ms.push(ms(longest_pause(arrivals, settled, *began)));
        self.took_ms.push(ms(*took));
        self.mbps.push(count(octets as u64) * 8.0 / 1e6 / lasted_s);
        self.again.push(count(again.segments));
        self.lost.push(count(again.lost()));
        self.lost_per_s.push(count(again.lost()) / lasted_s);
        self.lost_elsewhere.push(count(again.lost().saturating_sub(refused)));
        for (name, drops) in dropped.iter().filter(|(_, drops)| **drops > 0) {
            *self.dropped.entry(name.clone()).or_default() += drops;
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "octets and segments of some seconds")]
const fn count(count: u64) -> f64 {
    count as f64
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
    for setting in SETTINGS {
        all.extend(Change::ALL.map(|change| Measured::new(setting, change)));
    }
    let rounds = rounds(options.size);
    for round in 0..rounds {
        for setting in SETTINGS {
            let name = setting.name();
            if options.progress {
                eprintln!("bearer-change: round {} of {rounds}, {name}", round + 1);
            }
            download(&mut bed, setting, &mut all, &stop).map_err(|why| format!("{name}: {why}"))?;
        }
    }
    // What a line could not give to a device that was pulled out is no error of the line.
    bed.end_nodes(&nodes);
    drop(bed);
    let mut report = Report::here("bearer-change", options);
    report.parameter("bearers", format!("two of {}", Kind::Ethernet.name()));
    report.parameter("congestion control", CONGESTION);
    report.parameter("receive buffer where the window fits the queue, octets", BUFFER);
    let steps = STEPS.len();
    report.parameter(
        "downloads",
        format!("{rounds} of each of {}, with {steps} steps in each", SETTINGS.len()),
    );
    report.cells = all.iter().map(judge::cell).collect();
    report.verdicts = all.iter().flat_map(judge::verdicts).collect();
    report.remarks = vec![judge::table(&all), judge::drops(&all)];
    Ok(report)
}

/// One download with all changes.
fn download(bed: &mut Bed, setting: Setting, all: &mut [Measured], stop: &AtomicBool) -> Result<(), String> {
    let through = Through::Gprs(setting.mode);
    settle(bed, 0, stop)?;
    let mut running = Download::start(bed.network(), through.host(), bed.phone(), setting.buffer())?;
    pause(SETTLES_IN, stop)?;
    // Who acts and asks does not wait for the nodes. The download's threads are there already, and take turns.
    gannet_rig::set_preempting(None, RANK).map_err(text)?;
    let mut happened = Vec::new();
    for (change, cell) in STEPS {
        let before = (bed.named()?, sent_again(bed, stop)?);
        let began = Instant::now();
        change.act(bed, cell)?;
        settle(bed, cell, stop)?;
        let took = began.elapsed();
        pause(SETTLES_IN, stop)?;
        let again = sent_again(bed, stop)?.since(before.1);
        let ended = Instant::now();
        let dropped = counters::moved(&before.0, &bed.named()?);
        happened.push(Happened { change, began, took, ended, again, dropped });
    }
    gannet_rig::set_preempting(None, 0).map_err(text)?;
    let arrivals = running.end()?;
    for happened in happened {
        let of = all.iter_mut().find(|of| of.setting == setting && of.change == happened.change);
        if let Some(of) = of {
            of.take(&happened, &arrivals);
        }
    }
    Ok(())
}

/// What TCP has sent again so far, when that and what the other end says of it stand still; or the last of many looks.
fn sent_again(bed: &Bed, stop: &AtomicBool) -> Result<SentAgain, String> {
    let mut last = bed.sent_again()?;
    for _ in 0..LOOKS {
        pause(COUNTED_WITHIN, stop)?;
        let next = bed.sent_again()?;
        if next == last {
            break;
        }
        last = next;
    }
    Ok(last)
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
fn longest_pause(arrivals: &[Arrival], from: Instant, until: Instant) -> Duration {
    let mut last = from;
    let mut longest = Duration::ZERO;
    for (at, _) in arrivals.iter().filter(|(at, _)| *at > from && *at <= until) {
        longest = longest.max(*at - last);
        last = *at;
    }
    longest.max(until.saturating_duration_since(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_counts_also_at_both_ends() {
        let begun = Instant::now();
        let at = |ms| begun + Duration::from_millis(ms);
        let arrivals = [10, 20, 150, 160].map(|ms| (at(ms), 1));
        let pause = |from, until| longest_pause(&arrivals, at(from), at(until)).as_millis();
        assert_eq!((pause(0, 170), pause(15, 149), pause(25, 170), pause(155, 400)), (130, 129, 125, 240));
        assert_eq!(longest_pause(&[], at(0), at(7)), Duration::from_millis(7));
    }

    #[test]
    fn what_was_lost_is_told_from_what_came_twice_and_from_what_a_full_queue_refused() {
        let mut of = Measured::new(SETTINGS[1], Change::Ordered);
        let began = Instant::now() + SETTLES_IN;
        let at = |ms| began + Duration::from_millis(ms);
        let dropped = [
            ("sgsn.flow_queue_full", 3),
            ("sgsn.demux_queue_full", 2),
            ("ap.bss_overrun", 1),
            ("ms.ms_no_cell", 0),
        ];
        let happened = Happened {
            change: Change::Ordered,
            began,
            took: Duration::from_millis(20),
            ended: at(2000),
            again: SentAgain { segments: 10, twice: 2 },
            dropped: dropped.map(|(name, count)| (name.to_owned(), count)).into(),
        };
        of.take(&happened, &[(at(0), 9999), (at(1), 1_000_000), (at(2000), 250_000), (at(2001), 9999)]);
        assert_eq!(
            [&of.again, &of.lost, &of.lost_per_s, &of.lost_elsewhere, &of.mbps].map(Samples::last),
            [10.0, 8.0, 4.0, 3.0, 5.0]
        );
        of.take(&happened, &[]);
        let named: Vec<_> = of.dropped.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        assert_eq!(named, [("ap.bss_overrun", 2), ("sgsn.demux_queue_full", 4), ("sgsn.flow_queue_full", 6)]);
    }

    #[test]
    fn each_way_of_changing_is_there_and_ends_where_it_began() {
        assert!(Change::ALL.iter().all(|change| STEPS.iter().any(|(step, _)| step == change)));
        assert_eq!(STEPS.map(|(_, cell)| cell), [0, 1, 0, 0, 1, 0, 1, 0]);
    }

    #[test]
    fn drops_of_a_full_queue_have_the_names_that_nodes_tell() {
        for name in FULL_QUEUE {
            let drop = name.strip_prefix("sgsn.").and_then(crate::losses::place_of);
            assert_eq!(drop, Some(crate::losses::Place::Unread), "{name}");
        }
    }
}
