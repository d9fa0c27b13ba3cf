//! A world that follows the clock, between two hosts whose TCP is the kernel's.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test fails by panicking")]

use gannet_lab::preempt::place::{Buffer, Policy};
use gannet_lab::preempt::real::hosts;
use gannet_lab::preempt::real::plan::{Run, Tcp};
use gannet_lab::preempt::real::run::{Order, Ran};
use gannet_lab::preempt::real::side_by_side;
use gannet_lab::testbed::Namespace;
use gannet_machine::time::{Duration, Instant};
use gannet_testkit::{Case, Need};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

const CASES: &[Case] = &[
    ("a_preemption_is_seen_and_everything_is_conserved", &[Need::NetAdmin], a_preemption_is_seen),
    ("two_worlds_that_are_told_to_stop_say_so", &[Need::NetAdmin], two_worlds_are_told_to_stop),
    ("a_run_that_cannot_begin_ends_those_beside_it", &[Need::NetAdmin], a_run_cannot_begin),
];

fn main() -> ExitCode {
    gannet_testkit::main(CASES)
}

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn order(label: &'static str, number: usize, tcp: Tcp, policy: Policy) -> Order {
    Order {
        run: Run::new(tcp, Buffer::Window, Some((policy, 1))),
        label,
        number,
        span: ms(16_000),
        script: vec![ms(9000)..ms(10_000)],
        seed: 1,
    }
}

fn worlds(label: &str) -> Namespace {
    let worlds = Namespace::new(&format!("{label}-worlds")).unwrap();
    hosts::be_quiet(&worlds).unwrap();
    worlds
}

/// All is in virtual time, so that a machine that is late changes none of it.
fn look_at(ran: &Ran) {
    let Ran { run, raw, late, taken, .. } = ran;
    let trace = &raw.trace;
    assert_eq!(raw.faults, Vec::<String>::new(), "{}", run.name());
    let came = trace.in_order();
    assert!(*taken > 10_000, "{}: {taken} octets", run.name());
    assert_eq!(came.last().unwrap().1, *taken);
    let period = &trace.periods[0];
    // PDCHs are announced for a block period, and gone with the next.
    let gone = period.start + ms(60);
    let within = |at: &Instant| (gone..period.end).contains(at);
    assert!(!came.iter().any(|(at, _)| within(at)), "{}: octets came while calls had all PDCHs", run.name());
    assert!(came.iter().any(|(at, _)| *at < gone), "{}", run.name());
    if run.place.preemption.is_some_and(|(policy, _)| policy == Policy::Forward) {
        // With `flush` the sender's timer may take longer than the rest of the run.
        assert!(came.iter().any(|(at, _)| *at > period.end), "{}", run.name());
    }
    assert!(late.events.latest().is_some() && late.n_pdus.latest().is_some());
}

fn a_preemption_is_seen() {
    let label = "preempt-test-seen";
    let worlds = worlds(label);
    let orders = [
        order(label, 0, Tcp::Reno, Policy::Forward),
        order(label, 1, Tcp::RenoBare, Policy::Flush),
        order(label, 2, Tcp::Cubic, Policy::Forward),
    ];
    let all = side_by_side(&orders, &worlds, false, &AtomicBool::new(false)).unwrap();
    all.iter().for_each(look_at);
    let lost: Vec<u64> =
        all.iter().map(|ran| ran.raw.trace.lost_in_a_row(&ran.raw.trace.periods[0])).collect();
    assert_eq!([lost[0], lost[2]], [0, 0], "forward keeps everything");
    assert!(lost[1] > 0, "flush throws away what waits");
    let has_sack = |ran: &Ran| ran.raw.trace.seen.iter().any(|seen| !seen.sack.is_empty());
    assert!(!has_sack(&all[1]), "it has none");
    let window = |ran: &Ran| ran.raw.trace.seen.iter().map(|seen| seen.window).max().unwrap();
    assert!(all.iter().all(|ran| window(ran) > 60_000), "the study's window, without scaling");
}

fn two_worlds_are_told_to_stop() {
    let label = "preempt-test-stop";
    let worlds = worlds(label);
    let orders = [0, 1].map(|number| order(label, number, Tcp::Reno, Policy::Flush));
    let error = side_by_side(&orders, &worlds, false, &AtomicBool::new(true)).unwrap_err();
    assert!(error.ends_with("interrupted"), "{error}");
}

fn a_run_cannot_begin() {
    let label = "preempt-test-begin";
    let worlds = worlds(label);
    // Not the name of a namespace.
    let orders = [label, "preempt/test"].map(|label| order(label, 0, Tcp::Reno, Policy::Flush));
    let error = side_by_side(&orders, &worlds, false, &AtomicBool::new(false)).unwrap_err();
    assert!(error.ends_with("another run could not begin"), "{error}");
    let error = side_by_side(&orders[1..], &worlds, false, &AtomicBool::new(false)).unwrap_err();
    assert!(error.contains("preempt/test"), "{error}");
}
