//! What the runs bear out, beside the study.

use super::measured::{Event, Measured};
use super::paper::Row;
use super::place::{Buffer, Place, Policy, Sender};
use super::trace::Restart;
use crate::radio::{as_f64, conserved};
use crate::report::{Verdict, at_least, at_most, greatest, least};
use crate::tcp::Reason;

/// How near throughput has to be to the study's, as a part of it.
const THROUGHPUT: f64 = 0.15;
/// Retransmissions, in points.
const AGAIN_POINTS: f64 = 3.0;
/// Mean round trip, as a part of it.
const RTT: f64 = 0.20;
/// What `forward` gets of the time that calls leave.
pub(super) const FORWARD: f64 = 0.97;
/// Beyond the run without preemption, in per cent of all segments.
pub(super) const FORWARD_AGAIN_PERCENT: f64 = 0.2;
/// Two block periods.
pub(super) const TWO_BLOCKS_S: f64 = 0.040;
pub(super) const RECOVERY_S: f64 = 2.0;
/// Segments that are "almost ten".
const ALMOST_TEN: core::ops::RangeInclusive<f64> = 8.0..=10.0;
/// "In most cases".
const MOST: f64 = 0.5;

/// All runs.
#[derive(Debug, Clone, Copy)]
pub struct Runs<'a>(pub &'a [Measured]);

impl<'a> Runs<'a> {
    /// The run at a place.
    #[must_use]
    pub fn at(self, place: Place) -> Option<&'a Measured> {
        self.0.iter().find(|of| of.place == place)
    }

    /// The run of a policy at a period.
    #[must_use]
    pub fn of(self, policy: Policy, period_s: u64, buffer: Buffer, sender: Sender) -> Option<&'a Measured> {
        self.at(Place { preemption: Some((policy, period_s)), buffer, sender })
    }

    /// Goodput as a part of that of the same run without preemption.
    #[must_use]
    pub fn share(self, of: &Measured) -> f64 {
        let undisturbed = self.at(of.place.undisturbed());
        undisturbed.map_or(f64::NAN, |whole| of.goodput_bit_per_s / whole.goodput_bit_per_s)
    }

    /// The same as a part of the time that calls leave.
    #[must_use]
    pub fn of_time_left(self, of: &Measured) -> f64 {
        let period = as_f64(of.place.period_s());
        self.share(of) * (60.0 + period) / 60.0
    }

    /// Segments that were sent again beyond the part that the same run without preemption sends again.
    #[must_use]
    pub fn again_beyond(self, of: &Measured) -> f64 {
        let undisturbed = self.at(of.place.undisturbed());
        let part = undisturbed.map_or(f64::NAN, |whole| as_f64(whole.again) / as_f64(whole.segments));
        as_f64(of.again) - part * as_f64(of.segments)
    }

    /// The runs of `forward`.
    fn forwarded(self, is: impl Fn(&Place) -> bool) -> Vec<&'a Measured> {
        let is_forward =
            |of: &&Measured| of.place.preemption.is_some_and(|(policy, _)| policy == Policy::Forward);
        self.0.iter().filter(is_forward).filter(|of| is(&of.place)).collect()
    }
}

fn verdict(
    name: String,
    means: &str,
    paper: Option<String>,
    (ours, goal): (String, String),
    holds: Option<bool>,
) -> Verdict {
    Verdict { name, means: means.to_owned(), paper, ours, goal, holds }
}

/// All claims.
#[must_use]
pub fn verdicts(runs: Runs<'_>, periods: &[u64], faults: &[String]) -> Vec<Verdict> {
    let mut rows = Vec::new();
    for buffer in Buffer::ALL {
        for period_s in periods {
            flush_by_numbers(runs, *period_s, buffer, &mut rows);
        }
    }
    for buffer in Buffer::ALL {
        for period_s in periods {
            flush_by_events(runs, *period_s, buffer, &mut rows);
        }
    }
    forward_throughput(runs, &mut rows);
    forward_again(runs, &mut rows);
    forward_return(runs, &mut rows);
    rows.push(conserved(faults));
    rows
}

/// Table 1 of the study.
fn flush_by_numbers(runs: Runs<'_>, period_s: u64, buffer: Buffer, rows: &mut Vec<Verdict>) {
    let Some(paper) = Row::of(period_s) else { return };
    let of = runs.of(Policy::Flush, period_s, buffer, Sender::Linux242);
    let about = |what: &str| format!("flush, {period_s} s, {}: {what}", buffer.name());
    let share = of.map_or(f64::NAN, |of| runs.share(of));
    let kbit_per_s = of.map_or(f64::NAN, |of| of.goodput_bit_per_s / 1000.0);
    rows.push(verdict(
        about("throughput as a part of that without preemption"),
        "With linux-2.4.2.",
        Some(format!("{:.2}: {:.2} kbit/s", paper.share(), paper.kbit_per_s)),
        (format!("{share:.3}: {kbit_per_s:.2} kbit/s"), format!("within {:.0} %", THROUGHPUT * 100.0)),
        at_most((share / paper.share() - 1.0).abs(), THROUGHPUT),
    ));
    let again = of.map_or(f64::NAN, Measured::again_percent);
    rows.push(verdict(
        about("segments sent again, %"),
        "Of all segments that the server has sent, with linux-2.4.2.",
        Some(format!("{:.2}", paper.again_percent)),
        (format!("{again:.2}"), format!("within {AGAIN_POINTS:.0} points")),
        at_most((again - paper.again_percent).abs(), AGAIN_POINTS),
    ));
    if buffer == Buffer::Small {
        let rtt = of.map_or(f64::NAN, |of| of.rtt_s);
        rows.push(verdict(
            about("mean round trip, s"),
            "As tcptrace counts it, with linux-2.4.2.",
            Some(format!("{:.2}", paper.rtt_s)),
            (format!("{rtt:.2}"), format!("within {:.0} %", RTT * 100.0)),
            at_most((rtt / paper.rtt_s - 1.0).abs(), RTT),
        ));
    }
}

/// What the study says of the traces.
fn flush_by_events(runs: Runs<'_>, period_s: u64, buffer: Buffer, rows: &mut Vec<Verdict>) {
    let of = runs.of(Policy::Flush, period_s, buffer, Sender::Linux242);
    let about = |what: &str| format!("flush, {period_s} s, {}: {what}", buffer.name());
    let lost = of.map_or(f64::NAN, |of| of.samples(|event| Some(as_f64(event.lost))).median());
    rows.push(verdict(
        about("segments lost in a row"),
        "Median of all preemptions, by the identification of IP packets at both hosts.",
        Some("almost ten".to_owned()),
        (format!("{lost:.1}"), format!("{} to {}", ALMOST_TEN.start(), ALMOST_TEN.end())),
        (!lost.is_nan()).then(|| ALMOST_TEN.contains(&lost)),
    ));
    let part = |is: &dyn Fn(&Event) -> bool| of.map_or(f64::NAN, |of| of.part(is));
    let mut most = |what: &str, means: &str, paper: &str, part: f64| {
        rows.push(verdict(
            about(what),
            means,
            Some(paper.to_owned()),
            (format!("{:.0} %", part * 100.0), format!("more than {:.0} %", MOST * 100.0)),
            (!part.is_nan()).then_some(part > MOST),
        ));
    };
    let first = "Part of the preemptions of which that was the first event on the radio after the return.";
    match period_s {
        3 => most(
            "restarted by the terminal",
            first,
            "typical case",
            part(&|event| event.restart == Some(Restart::Terminal)),
        ),
        15 => most(
            "restarted by the server",
            first,
            "first event",
            part(&|event| event.restart == Some(Restart::Server)),
        ),
        _ => {}
    }
    let again = "Part of the preemptions after which the first segment sent again was sent for that reason.";
    if period_s < 15 {
        most("fast retransmit", again, "used", part(&|event| event.again == Some(Reason::Fast)));
    } else {
        most("slow start", again, "in most cases", part(&|event| event.again == Some(Reason::Timeout)));
    }
}

fn forward_throughput(runs: Runs<'_>, rows: &mut Vec<Verdict>) {
    for sender in Sender::ALL {
        let of = runs.forwarded(|place| place.buffer == Buffer::Window && place.sender == sender);
        let part = least(of.iter().map(|of| runs.of_time_left(of)));
        rows.push(verdict(
            format!("forward: throughput by the time that calls leave, {}", sender.name()),
            "By this run's own rate and 60/(60 + P), at the period at which it is lowest. The SGSN holds more than the window.",
            None,
            (format!("{part:.3}"), format!(">= {FORWARD}")),
            at_least(part, FORWARD),
        ));
    }
    for sender in ["cubic", "BBR"] {
        rows.push(verdict(
            format!("forward: throughput by the time that calls leave, the kernel's {sender}"),
            "In real time. Virtual time has neither.",
            None,
            ("NaN".to_owned(), if sender == "BBR" { "reported".to_owned() } else { format!(">= {FORWARD}") }),
            None,
        ));
    }
}

fn forward_again(runs: Runs<'_>, rows: &mut Vec<Verdict>) {
    let short = runs.forwarded(|place| place.buffer == Buffer::Window && place.period_s() < 15);
    let percent = greatest(short.iter().map(|of| runs.again_beyond(of) * 100.0 / as_f64(of.segments)));
    rows.push(verdict(
        "forward, 3 and 6 s: segments sent again beyond the run without preemption, %".to_owned(),
        "Of the sender and period where there are most. The SGSN holds more than the window.",
        None,
        (format!("{percent:.2}"), format!("<= {FORWARD_AGAIN_PERCENT}")),
        at_most(percent, FORWARD_AGAIN_PERCENT),
    ));
    let others = runs.forwarded(|place| place.buffer == Buffer::Small || place.period_s() >= 15);
    for sender in Sender::ALL {
        let of: Vec<_> = others.iter().filter(|of| of.place.sender == sender).collect();
        // What is beyond one segment for each expiry.
        let beyond = |of: &&&Measured| runs.again_beyond(of) - as_f64(of.timeouts);
        let worst = of.iter().map(|of| (beyond(of), of)).max_by(|(a, _), (b, _)| a.total_cmp(b));
        let excess = worst.map_or(f64::NAN, |(excess, _)| excess);
        let ours = worst.map_or_else(
            || "NaN".to_owned(),
            |(_, of)| {
                format!(
                    "{:.1} segments for {} expiries, {} in vain of all {} sent again ({} s, {})",
                    runs.again_beyond(of),
                    of.timeouts,
                    of.copies.needless,
                    of.again,
                    of.place.period_s(),
                    of.place.buffer.name()
                )
            },
        );
        rows.push(verdict(
            format!(
                "forward, 15 s or 16 KB in all, {}: segments sent again beyond the run without preemption",
                sender.name()
            ),
            "Of the run where there are most beyond one for each expiry of the sender's timer.",
            None,
            (ours, "<= expiries".to_owned()),
            at_most(excess, 0.0),
        ));
    }
}

fn forward_return(runs: Runs<'_>, rows: &mut Vec<Verdict>) {
    let all = runs.forwarded(|_| true);
    let late = |of: &&Measured| {
        // Where the server speaks first, nothing waited in the network at the return.
        let waited = of.events.iter().filter(|event| event.restart != Some(Restart::Server));
        let longest = waited.map(|event| event.first_block_s.unwrap_or(f64::INFINITY));
        (greatest(longest), of.setups_s.median())
    };
    let worst = all.iter().map(late).max_by(|a, b| (a.0 - a.1).total_cmp(&(b.0 - b.1)));
    let (longest, setup) = worst.unwrap_or((f64::NAN, f64::NAN));
    rows.push(verdict(
        "forward: from the return to the first RLC block, ms".to_owned(),
        "The longest of all preemptions after which something waited in the network, by the run's median set-up of a TBF for a mobile in packet idle mode. Blocks of the CCCH begin 4 to 11 frames apart.",
        Some("1 s or more, waits for the terminal".to_owned()),
        (
            format!("{:.0}, set-up {:.0}", longest * 1000.0, setup * 1000.0),
            "<= set-up + 40".to_owned(),
        ),
        at_most(longest - setup, TWO_BLOCKS_S),
    ));
    let like = |of: &&Measured| {
        let first = of.samples(|event| {
            let waited = event.restart != Some(Restart::Server);
            waited.then(|| event.first_block_s.unwrap_or(f64::INFINITY))
        });
        let [median, most] = [first.median() - of.setups_s.median(), first.max() - of.setups_s.max()];
        median.max(most)
    };
    let beyond = greatest(all.iter().map(like));
    rows.push(verdict(
        "forward: from the return to the first RLC block beyond a set-up, ms".to_owned(),
        "Median by median and longest by longest, at the run where there is most between them: both wait for a block of the CCCH.",
        None,
        (format!("{:.0}", beyond * 1000.0), "<= 40".to_owned()),
        at_most(beyond, TWO_BLOCKS_S),
    ));
    let recovery = greatest(all.iter().map(|of| of.recovery_s().max()));
    rows.push(verdict(
        "forward: recovery, s".to_owned(),
        "From the return to the start of the first sliding second in which RLC brings 95 % of the undisturbed rate: the longest of all.",
        Some("15 to 20".to_owned()),
        (format!("{recovery:.2}"), format!("< {RECOVERY_S}")),
        at_most(recovery, RECOVERY_S),
    ));
}
