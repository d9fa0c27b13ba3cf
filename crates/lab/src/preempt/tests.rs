//! What is read from records that were written by hand, and what the records of runs say beside the study.

use super::measured::{Event, Measured};
use super::place::{Buffer, Place, Policy, Sender, script};
use super::run::run;
use super::table;
use super::trace::{Restart, Trace};
use crate::radio::probe::{Blocks, Mark};
use crate::radio::seen::{Seen, Spot};
use crate::report::{Cell, Size};
use crate::tcp::{Point, Reason};
use gannet_machine::time::{Duration, Instant};
use gannet_node::bss::radio::Way;
use serde_json::{Value, json};

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

fn cell(axes: [(&'static str, Value); 4], metrics: &[(&str, Value)]) -> Cell {
    Cell::new(axes, metrics.iter().map(|(name, value)| ((*name).to_owned(), value.clone())))
}

/// Shares stand beside the run without preemption in the same buffer, and the study's row behind ours; a preemption without a recovery is named.
#[test]
fn a_table_sets_runs_beside_those_without_preemption_and_beside_the_study() {
    let place = |policy, period_s| Place {
        preemption: (period_s > 0).then_some((policy, period_s)),
        buffer: Buffer::Small,
        sender: Sender::Linux242,
    };
    let whole = cell(place(Policy::Flush, 0).axes(), &[("goodput_bit_per_s", json!(32_000.0))]);
    let other = Place { buffer: Buffer::Window, ..place(Policy::Flush, 0) };
    let other = cell(other.axes(), &[("goodput_bit_per_s", json!(99_000.0))]);
    let flush = cell(
        place(Policy::Flush, 15).axes(),
        &[
            ("goodput_bit_per_s", json!(16_000.0)),
            ("segments", json!(200)),
            ("segments_again", json!(15)),
            ("recovery_s", json!([1.0, null, 3.0])),
            ("lost_in_a_row", json!([9, 10, 11])),
            ("restarted_by", json!(["server", "server", null])),
            ("first_sent_again", json!(["timeout", "fast retransmit", null])),
        ],
    );
    let cells = [other, whole, flush];
    let runs = table::runs(&cells);
    let rows: Vec<Vec<&str>> = runs.lines().map(|row| row.split(" | ").collect()).collect();
    let width = rows[0].len();
    assert_eq!(rows.len(), 6, "{runs}");
    assert_eq!(rows[4][4..8], ["16.00", "0.500", "0.625", "7.50"], "{runs}");
    assert_eq!(rows[4][11], "2.00, some never");
    assert_eq!((rows[5][0], rows[5][4], rows[5].len()), ("| *the study*", "21.27", width), "{runs}");
    let events = table::events(&cells);
    let row: Vec<&str> = events.lines().nth(2).unwrap().split(" | ").collect();
    assert_eq!(row[4..12], ["3", "10 [9..11]", "0", "67", "0", "33", "33", "33"], "{events}");
}

/// A cell of the table has the medians of its seeds.
#[test]
fn seeds_become_medians() {
    let cell = |policy: &str, seed: u64, rate: f64| {
        let axes = [("policy", json!(policy)), ("load_percent", json!(0)), ("seed", json!(seed))];
        Cell::new(axes, [("tcp_bit_per_s".to_owned(), json!(rate)), ("pdchs_left".to_owned(), json!(1.0))])
    };
    let cells = [cell("a", 1, 1e3), cell("b", 1, 5e3), cell("a", 2, 9e3), cell("a", 3, 2e3)];
    let text = table::erlang(&cells);
    let rows: Vec<Vec<&str>> = text.lines().skip(2).map(|row| row.split(" | ").collect()).collect();
    let of = |row: &Vec<&str>| (row[0].to_owned(), row[6].to_owned(), row[7].to_owned());
    let expected = [("| a", "2.00", "1.000"), ("| b", "5.00", "1.000")];
    assert_eq!(
        rows.iter().map(of).collect::<Vec<_>>(),
        expected.map(|(a, b, c)| (a.into(), b.into(), c.into())),
        "{text}"
    );
}

/// Each preemption of a run of ten minutes with the study's sender and the larger buffer, read from its record.
fn events(policy: Policy, period_s: u64) -> Vec<Event> {
    let place =
        Place { preemption: Some((policy, period_s)), buffer: Buffer::Window, sender: Sender::Linux242 };
    let raw = run(place, Duration::from_secs(600), 1).unwrap();
    let events = Measured::of(&raw, raw.trace.blocks_per_s()).events;
    assert!(raw.trace.periods.len() >= 8 && events.len() == raw.trace.periods.len());
    events
}

/// Almost ten segments are lost in a row each time (section 5.5 of the study; here ten to twelve, a queue of 15 kB and what is on the air).
/// An acknowledgement of the terminal that restarts the stream lets the server retransmit fast; where there is none the server's timer does it,
/// and slow start follows (5.2 and 5.3). Where a gap is not mended when the next preemption comes, a window is lost.
fn as_in_the_study(events: &[Event]) {
    let almost_ten = events.iter().filter(|event| (8..=13).contains(&event.lost)).count();
    assert!(almost_ten + 1 >= events.len(), "{events:?}");
    for event in events {
        assert!(event.lost >= 8, "{event:?}");
        let pair = (event.restart, event.again);
        let fast = (Some(Restart::Terminal), Some(Reason::Fast));
        let slow = (Some(Restart::Server), Some(Reason::Timeout));
        assert!(pair == fast || pair == slow, "{event:?}");
    }
}

fn by_the_terminal(events: &[Event]) -> usize {
    events.iter().filter(|event| event.restart == Some(Restart::Terminal)).count()
}

/// The study: "in the typical case" of 3 s a buffered acknowledgement restarts the stream, and fast retransmit follows.
#[test]
fn flush_3_s_the_terminal_restarts_with_fast_retransmit_or_the_server_with_slow_start() {
    let events = events(Policy::Flush, 3);
    as_in_the_study(&events);
    assert!(by_the_terminal(&events) * 2 > events.len(), "{events:?}");
}

/// The study: as after 3 s.
#[test]
fn flush_6_s_the_terminal_restarts_with_fast_retransmit_or_the_server_with_slow_start() {
    let events = events(Policy::Flush, 6);
    as_in_the_study(&events);
    assert!(by_the_terminal(&events) * 2 > events.len(), "{events:?}");
}

/// The study: the terminal's buffer is empty after 15 s, the first event is the server's retransmission, and slow start follows.
#[test]
fn flush_15_s_the_server_restarts_with_slow_start() {
    let events = events(Policy::Flush, 15);
    as_in_the_study(&events);
    assert_eq!(by_the_terminal(&events), 0, "{events:?}");
}

/// Nothing is lost, nothing is sent again, and the network begins by itself.
#[test]
fn forward_3_s_the_network_restarts_and_nothing_is_sent_again() {
    for event in events(Policy::Forward, 3) {
        assert_eq!((event.lost, event.restart, event.again), (0, Some(Restart::Network), None), "{event:?}");
        assert!(event.first_block_s.is_some_and(|first| first < 0.2), "{event:?}");
    }
}

/// SNDCP waits for longer than calls stay: the half of an N-PDU that had come is not given up.
#[test]
fn forward_15_s_nothing_is_lost() {
    for event in events(Policy::Forward, 15) {
        assert_eq!(event.lost, 0, "{event:?}");
        assert!(event.first_block_s.is_some_and(|first| first < 0.2), "{event:?}");
    }
}
