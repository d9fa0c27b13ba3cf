//! Experiment `preempt-kernel`: the same download with the TCP of the machine's kernel, in real time.
//!
//! The world is that of [`super::place`]. It follows the clock, and its hosts are network namespaces. Records are read by the code that reads
//! those of virtual time.
//!
//! | module | what |
//! |---|---|
//! | [`plan`] | cells of the matrix |
//! | [`hosts`] | network namespaces, devices, and both programs |
//! | [`pace`] | a world that follows the clock |
//! | [`seen`], [`kernel`] | segments, and why the kernel sent them again |
//! | [`run`] | a run, and its raw record |
//! | [`measured`] | all numbers of a run |
//! | [`judge`] | claims |

pub mod hosts;
pub mod judge;
pub mod kernel;
pub mod measured;
pub mod pace;
pub mod plan;
pub mod run;
pub mod seen;
#[cfg(test)]
mod tests;

use super::place::span;
use super::table;
use crate::report::{Options, Report};
use crate::testbed::{self, Namespace};
use gannet_machine::time::Duration;
use measured::Series;
use pace::real_ns;
use plan::{Run, Tcp};
use run::{Order, Ran, Start};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;

const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
/// Names namespaces.
const LABEL: &str = "preempt";
/// From the moment at which all are ready until the first begins.
const BEFORE_NS: u64 = 500_000_000;
/// Runs begin one after the other within so long, so that their block periods do not begin together.
const SPREAD_NS: u64 = 20_000_000;

/// Runs the experiment.
///
/// # Errors
/// A sentence for the person: this machine cannot do it, or a run has failed.
pub fn run(options: &Options) -> Result<Report, String> {
    let available = std::fs::read_to_string(AVAILABLE).map_err(|error| format!("{AVAILABLE}: {error}"))?;
    let is_there = |tcp: &Tcp| available.split_whitespace().any(|name| name == tcp.algorithm());
    let missing: Vec<Tcp> = Tcp::ALL.into_iter().filter(|tcp| !is_there(tcp)).collect();
    for tcp in &missing {
        eprintln!("preempt-kernel: SKIPPED {}: the kernel has no {}", tcp.name(), tcp.algorithm());
    }
    let stop = testbed::begin("preempt-kernel", &["ip"])?;
    let mut parts = Vec::new();
    for mut part in plan::parts(options.size) {
        part.retain(|run| !missing.contains(&run.tcp));
        parts.push(together(&part, options, &stop)?);
    }
    let series = Series::of(&parts);
    let mut report = Report::here("preempt-kernel", options);
    report.parameter("seconds of a run", span(options.size).as_secs_f64());
    let most = parts.iter().map(Vec::len).max().unwrap_or(0);
    report.parameter("runs at the same time", most);
    report.parameter("cell", "as in preempt");
    report.parameter(
        "TCP",
        "the kernel's at both ends; no window scaling, buffers of 1 MiB, all else as the kernel has it",
    );
    report.parameter("load of the machine at the end", load());
    report.cells = series.iter().flat_map(Series::cells).collect();
    report.verdicts = judge::verdicts(&series);
    report.remarks = vec![
        table::real_runs(&report.cells),
        table::real_events(&report.cells),
        table::explained(&report.cells),
    ];
    Ok(report)
}

/// The machine's average loads of 1, 5 and 15 minutes.
fn load() -> String {
    let said = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    said.split(' ').take(3).collect::<Vec<_>>().join(", ")
}

/// Runs these at the same time.
fn together(runs: &[Run], options: &Options, stop: &AtomicBool) -> Result<Vec<Ran>, String> {
    let worlds = Namespace::new(&format!("{LABEL}-worlds")).map_err(|error| error.to_string())?;
    hosts::be_quiet(&worlds)?;
    let order = |(number, run): (usize, &Run)| Order {
        run: *run,
        label: LABEL,
        number,
        span: span(options.size),
        script: run.script(options.size),
        seed: options.seed,
    };
    let orders: Vec<Order> = runs.iter().enumerate().map(order).collect();
    side_by_side(&orders, &worlds, options.progress, stop)
}

/// Has them begin together, each on a thread of its own.
///
/// # Errors
/// The first of all.
pub fn side_by_side(
    orders: &[Order],
    worlds: &Namespace,
    progress: bool,
    stop: &AtomicBool,
) -> Result<Vec<Ran>, String> {
    std::thread::scope(|scope| {
        let (told, ready) = mpsc::channel();
        let (mut begins, mut threads) = (Vec::new(), Vec::new());
        for order in orders {
            let (tell, begin) = mpsc::channel();
            begins.push(tell);
            let start = Start { ready: told.clone(), begin };
            threads.push(scope.spawn(move || run::run(order, worlds, start, stop)));
        }
        drop(told);
        // Those that cannot begin say nothing, and all others wait.
        if ready.iter().count() == orders.len() {
            let longest = orders.iter().map(|order| order.span).max().unwrap_or(Duration::ZERO);
            if progress {
                eprintln!("preempt-kernel: {} runs of {:.0} s", orders.len(), longest.as_secs_f64());
            }
            let (first, step) = (real_ns() + BEFORE_NS, SPREAD_NS / (orders.len() as u64).max(1));
            for (begin, number) in begins.iter().zip(0..) {
                let _ = begin.send(first + number * step);
            }
        }
        drop(begins);
        let joined = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err("a run has failed: see above".to_owned())));
        joined.collect()
    })
}
