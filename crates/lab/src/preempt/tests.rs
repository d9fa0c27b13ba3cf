//! What is read from records that were written by hand.

use super::place::{Place, Policy, script};
use super::trace::{Restart, Trace};
use crate::radio::probe::{Blocks, Mark};
use crate::radio::seen::{Seen, Spot};
use crate::report::Size;
use crate::tcp::{Point, Reason};
use gannet_machine::time::{Duration, Instant};
use gannet_node::bss::radio::Way;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// A segment of a hundred octets by its number.
fn data(ms: u64, spot: Spot, id: u16, number: u64) -> Seen {
    let start = 1 + number * 100;
    Seen {
        at: at(ms),
        spot,
        id,
        data: (start, start + 100),
        acknowledges: 0,
        window: 65_535,
        sack: Vec::new(),
    }
}

fn ack(ms: u64, spot: Spot, number: u64) -> Seen {
    let acknowledges = 1 + number * 100;
    Seen { at: at(ms), spot, id: 0, data: (0, 0), acknowledges, window: 65_535, sack: Vec::new() }
}

/// Six segments leave; 0 and 1 come before the preemption of a second, 2 and 3 are lost by it, 4 and 5 come after it; 2 and 3 go again.
fn trace() -> Trace {
    let mut seen: Vec<Seen> = (0..6_u16).map(|n| data(u64::from(n) * 10, Spot::Sent, n, n.into())).collect();
    seen.extend([data(500, Spot::Came, 0, 0), ack(600, Spot::Answered, 1), data(900, Spot::Came, 1, 1)]);
    seen.push(ack(2050, Spot::Answered, 2));
    seen.extend([data(2300, Spot::Came, 4, 4), data(2400, Spot::Came, 5, 5)]);
    seen.extend([data(2500, Spot::Sent, 6, 2), data(2600, Spot::Sent, 7, 3)]);
    seen.extend([data(2900, Spot::Came, 6, 2), data(3000, Spot::Came, 7, 3), ack(3100, Spot::Answered, 6)]);
    Trace { span: at(0)..at(5000), periods: vec![at(1000)..at(2000)], seen, ..Trace::default() }
}

#[test]
fn a_loss_is_read_from_both_ends() {
    let trace = trace();
    let period = &trace.periods[0];
    assert_eq!(trace.sent_again(), (8, 2));
    assert_eq!(trace.lost_in_a_row(period), 2);
    let in_order: Vec<u64> = trace.in_order().into_iter().map(|(_, octets)| octets).collect();
    assert_eq!(in_order, [100, 200, 300, 600]);
    assert_eq!(trace.came_twice(), 0);
    assert!((trace.goodput_bit_per_s() - 600.0 * 8.0 / 5.0).abs() < 1e-9);
    assert!((trace.silence_s() - 2.0).abs() < 1e-9, "behind the last segment");
    assert_eq!(trace.caught_up_s(period), Some(1.1));
    assert_eq!(trace.outstanding().iter().map(|(_, octets)| *octets).max(), Some(600));
}

/// A segment that was sent again, and those that had been sent before and lie behind it, give no round trip.
#[test]
fn round_trips_are_unambiguous() {
    let times: Vec<f64> = trace().round_trips().into_iter().map(|(_, rtt)| rtt).collect();
    assert_eq!(times, [0.6, 2.04]);
}

/// What comes back after it has arrived came twice.
#[test]
fn doubles_are_counted() {
    let mut trace = trace();
    trace.seen.push(data(3200, Spot::Came, 8, 5));
    assert_eq!(trace.came_twice(), 100);
}

#[test]
fn the_first_event_says_who_began() {
    let restarted = |marks: &[(u64, Mark)], sent: Option<u64>| {
        let mut trace = trace();
        trace.marks = marks.iter().map(|(ms, mark)| (at(*ms), *mark)).collect();
        trace.seen.extend(sent.map(|ms| data(ms, Spot::Sent, 9, 2)));
        trace.restarted_by(&trace.periods[0], at(2450))
    };
    let down = Mark::Assigned(Way::Downlink);
    assert_eq!(
        restarted(&[(1500, Mark::Burst), (2100, Mark::Burst), (2200, down)], None),
        Some(Restart::Terminal)
    );
    assert_eq!(restarted(&[(2200, down), (2300, Mark::Burst)], None), Some(Restart::Network));
    assert_eq!(restarted(&[(2200, down)], Some(2150)), Some(Restart::Server));
    assert_eq!(
        restarted(&[(1500, down), (2460, down)], None),
        None,
        "neither is after the return and before the next"
    );
}

#[test]
fn why_the_first_was_sent_again() {
    let mut trace = trace();
    let sent = |ms, reason| (at(ms), Point::Sent(201, 301, reason));
    trace.points = vec![
        sent(900, Reason::Timeout),
        sent(1200, Reason::New),
        sent(2500, Reason::Fast),
        sent(2600, Reason::Timeout),
    ];
    assert_eq!(trace.first_again(&trace.periods[0], at(5000)), Some(Reason::Fast));
    assert_eq!(trace.first_again(&trace.periods[0], at(2000)), None);
}

/// A second that brings the rate is sought from the return on; blocks before it do not count.
#[test]
fn recovery_is_a_whole_second() {
    let mut trace = trace();
    // One block each 10 ms up to the preemption; after it a trickle for half a second, and then the rate.
    let block = |ms: u64, n: u64| (at(ms), Blocks { sent: n, came: n });
    trace.blocks = (1..=100).map(|n| block(n * 10, n)).collect();
    trace.blocks.extend((1..=5).map(|n| block(2000 + n * 100, 100 + n)));
    trace.blocks.extend((1..=200).map(|n| block(2500 + n * 10, 105 + n)));
    let period = &trace.periods[0];
    assert_eq!(trace.first_block_s(period, at(5000)), Some(0.1));
    let recovery = trace.recovery_s(period, at(5000), 100.0).unwrap();
    // 95 blocks in a second: up to 5 of the trickle's last ones may be of it.
    assert!((0.4..=0.5).contains(&recovery), "{recovery}");
    assert_eq!(trace.recovery_s(period, at(5000), 120.0), None);
    assert_eq!(trace.recovery_s(period, at(3000), 100.0), None, "the next preemption comes first");
}

#[test]
fn a_minute_lies_between_two_preemptions() {
    let all = script(at(0), Duration::from_secs(2400), 15);
    assert_eq!(all[0], at(41_000)..at(56_000));
    assert!(all.windows(2).all(|pair| pair[1].start.since(pair[0].end) == Duration::from_secs(60)));
    // The study: at least 30 in 40 minutes.
    assert!(all.len() >= 30, "{}", all.len());
}

#[test]
fn each_run_has_one_without_preemption() {
    let all = Place::all(Size::Quick);
    assert!(all.iter().all(|place| all.contains(&place.undisturbed())));
    assert!(Policy::ALL.iter().all(|policy| all.iter().any(|place| place.preemption == Some((*policy, 15)))));
}
