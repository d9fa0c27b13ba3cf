//! A figure is a test: the points of simulated experiments at their quick size are those that are committed.
//!
//! The same seed gives the same octets, so that any difference is a change of what the nodes do. With `GANNET_BLESS=1` the
//! points are written anew and the tables printed: look at the difference before it is committed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use gannet_lab::report::{Options, Report, Size};
use gannet_lab::{bearer, edge, mobility, preempt, qos_cell, radio, trace, world};
use std::path::{Path, PathBuf};

/// The points are those that are committed, and every claim holds.
fn is_true(name: &str, run: fn(&Options) -> Result<Report, String>) {
    let report = holds(name, run);
    assert!(report.holds(), "{}", report.table());
}

fn holds(name: &str, run: fn(&Options) -> Result<Report, String>) -> Report {
    let options = Options { size: Size::Quick, seed: 1, out: PathBuf::new(), progress: false, against: None };
    let report = run(&options).unwrap();
    assert!(!report.cells.is_empty());
    let points = serde_json::to_string_pretty(&report.cells).unwrap() + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/simulated").join(format!("{name}.json"));
    if std::env::var_os("GANNET_BLESS").is_some() {
        std::fs::write(&path, &points).unwrap();
        eprintln!("{}\n{}", report.table(), report.remarks.join("\n"));
        return report;
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    let difference = (1..).zip(committed.lines().zip(points.lines())).find(|(_, (was, is))| was != is);
    assert!(committed == points, "{}: the first difference: {difference:?}", path.display());
    report
}

#[test]
fn world_is_as_it_was() {
    holds("world", world::run);
}

#[test]
fn qos_cell_is_as_it_was() {
    holds("qos-cell", qos_cell::run);
}

#[test]
fn edge_buffsize_is_as_it_was() {
    holds("edge-buffsize", edge::buffsize::run);
}

#[test]
fn edge_buffers_is_as_it_was() {
    holds("edge-buffers", edge::buffers::run);
}

#[test]
fn edge_delay_is_as_it_was() {
    holds("edge-delay", edge::delay::run);
}

#[test]
fn bearer_simulated_is_as_it_was() {
    holds("bearer-simulated", bearer::simulated::run);
}

#[test]
fn radio_rate_is_as_it_was() {
    is_true("radio-rate", radio::rate::run);
}

#[test]
fn radio_rtt_is_as_it_was() {
    is_true("radio-rtt", radio::rtt::run);
}

#[test]
fn radio_share_is_as_it_was() {
    is_true("radio-share", radio::share::run);
}

#[test]
fn radio_ber_is_as_it_was() {
    is_true("radio-ber", radio::ber::run);
}

#[test]
fn preempt_is_as_it_was() {
    holds("preempt", preempt::sample);
}

#[test]
fn preempt_erlang_is_as_it_was() {
    holds("preempt-erlang", preempt::erlang::run);
}

#[test]
fn trace_throughput_is_as_it_was() {
    is_true("trace-throughput", trace::throughput::run);
}

#[test]
fn trace_rtt_is_as_it_was() {
    is_true("trace-rtt", trace::rtt::run);
}

#[test]
fn trace_buffer_is_as_it_was() {
    holds("trace-buffer", trace::buffer::run);
}

#[test]
fn trace_reselect_is_as_it_was() {
    is_true("trace-reselect", mobility::reselect::run);
}

#[test]
fn trace_tbf_is_as_it_was() {
    is_true("trace-tbf", trace::tbf::run);
}
