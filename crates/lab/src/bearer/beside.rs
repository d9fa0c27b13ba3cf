//! Experiment `bearer-beside`: the round trip of a ping beside one TCP connection that fills the bearer.
//!
//! The ping is marked, and the devices' discipline (`pfifo_fast`, the kernel's default) has it go first. So what it waits for is what the
//! nodes keep behind the device's queue, in the order in which they read it.

use super::bed::{Bed, Processes, Through};
use super::configs::{GGSN_DEVICE, Mode, Parameters, Waiting};
use super::line::{Conditions, Kind};
use super::probe::{CONGESTION, LITTLE_DELAY, ping_marked, quantile};
use super::text;
use crate::measure::stats::Samples;
use crate::report::{Cell, Options, Report, Size, Verdict, at_most};
use crate::testbed;
use crate::way::Way;
use core::sync::atomic::AtomicBool;
use serde_json::json;

const PROGRAMS: [&str; 7] = ["ip", "ethtool", "tc", "iperf3", "ping", "timeout", "chrt"];
/// Octets of a ping's data, as ping has it.
const OCTETS: u32 = 56;
/// A ping each so many seconds, and as many in a second.
const INTERVAL: (&str, u32) = ("0.02", 50);
/// What a ping may wait longer beside a connection, in ms.
const LONGER_MOST_MS: f64 = 5.0;
/// Seconds of a connection before the first ping: TCP has found its window.
const SETTLES_S: u32 = 1;

/// Rounds, and seconds with pings.
const fn sizes(size: Size) -> (u32, u32) {
    match size {
        Size::Quick => (1, 3),
        Size::Normal => (5, 5),
        Size::Full => (11, 10),
    }
}

#[derive(Debug)]
struct Measured {
    through: Through,
    way: Way,
    idle_ms: Samples,
    beside_ms: Samples,
    /// What 99 % of the pings beside a connection do not exceed.
    tail_ms: Samples,
    mbps: Samples,
}

/// Runs it.
///
/// # Errors
/// A sentence for the person: this machine cannot do it, or a program has ended.
pub fn run(options: &Options) -> Result<Report, String> {
    let stop = testbed::begin("bearer-beside", &PROGRAMS)?;
    let (rounds, seconds) = sizes(options.size);
    let mut bed = Bed::new("beside", &options.out, &[Kind::Metered], Conditions::NONE)?;
    bed.wait_at(Waiting::AtTheSgsn);
    let nodes = bed.start_nodes((&Parameters::fitting(), Processes::Four), &stop)?;
    for mode in Mode::BOTH {
        bed.phone().output_of("tc", &discipline(mode.device())).map_err(text)?;
    }
    bed.network().output_of("tc", &discipline(GGSN_DEVICE)).map_err(text)?;
    let mut all = Vec::new();
    for through in Through::ALL {
        all.extend(Way::BOTH.map(|way| Measured {
            through,
            way,
            idle_ms: Samples::NONE,
            beside_ms: Samples::NONE,
            tail_ms: Samples::NONE,
            mbps: Samples::NONE,
        }));
    }
    for round in 0..rounds {
        all.rotate_left(usize::from(round > 0));
        for of in &mut all {
            if options.progress {
                let (through, way) = (of.through.name(), of.way.name());
                eprintln!("bearer-beside: round {} of {rounds}, {through}, {way}", round + 1);
            }
            measure(&bed, of, seconds, &stop)
                .map_err(|why| format!("{}, {}: {why}", of.through.name(), of.way.name()))?;
            bed.check()?;
        }
    }
    let drops = bed.named()?;
    bed.end_nodes(&nodes);
    drop(bed);
    let mut report = Report::here("bearer-beside", options);
    report.parameter("bearer", Kind::Metered.name());
    report.parameter("congestion control", CONGESTION);
    report.parameter(
        "rounds",
        format!("{rounds}, ways in turns; {seconds} s with a ping each {} s", INTERVAL.0),
    );
    all.sort_by_key(|of| (Through::ALL.iter().position(|through| *through == of.through), of.way.name()));
    report.cells = all.iter().map(cell).collect();
    report.verdicts = all.iter().filter(|of| of.through.is_gprs()).map(verdict).collect();
    let drops: Vec<String> = drops
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    let drops = if drops.is_empty() { "none".to_owned() } else { drops.join(", ") };
    report.remarks = vec![table(&all), format!("Drops: {drops}.\n")];
    Ok(report)
}

/// Arguments of `tc` for a device with the kernel's default discipline.
fn discipline(device: &str) -> [&str; 6] {
    ["qdisc", "replace", "dev", device, "root", "pfifo_fast"]
}

/// Pings alone, and pings beside a connection.
fn measure(bed: &Bed, of: &mut Measured, seconds: u32, stop: &AtomicBool) -> Result<(), String> {
    let host = of.through.host();
    let pings =
        || ping_marked(bed.phone(), host, (OCTETS, LITTLE_DELAY), (seconds * INTERVAL.1, INTERVAL.0), stop);
    let idle = pings()?;
    let (carried, beside) = std::thread::scope(|scope| {
        let connection =
            scope.spawn(|| bed.connect(of.through, (CONGESTION, of.way), (seconds + 1, SETTLES_S), stop));
        std::thread::sleep(core::time::Duration::from_secs(u64::from(SETTLES_S)));
        let beside = pings();
        let carried = connection.join().unwrap_or_else(|_| Err("the connection has failed".to_owned()));
        carried.and_then(|carried| Ok((carried, beside?)))
    })?;
    of.idle_ms.push(quantile(&idle, 0.5) / 1e3);
    of.beside_ms.push(quantile(&beside, 0.5) / 1e3);
    of.tail_ms.push(quantile(&beside, 0.99) / 1e3);
    of.mbps.push(carried.mbps);
    Ok(())
}

fn cell(of: &Measured) -> Cell {
    let axis = [("through", json!(of.through.name())), ("way", json!(of.way.name()))];
    let metrics = [
        ("idle_ms".to_owned(), of.idle_ms.json()),
        ("beside_ms".to_owned(), of.beside_ms.json()),
        ("beside_99_ms".to_owned(), of.tail_ms.json()),
        ("goodput_mbps".to_owned(), of.mbps.json()),
    ];
    Cell::new(axis, metrics)
}

fn verdict(of: &Measured) -> Verdict {
    let longer = of.beside_ms.median() - of.idle_ms.median();
    Verdict {
        name: format!("ping beside TCP, {}, {}", of.way.name(), of.through.name()),
        means: format!(
            "By how much the median round trip of a ping is longer beside one connection ({CONGESTION}) of the same context that fills \
             the bearer, in ms: medians of the rounds."
        ),
        paper: None,
        ours: format!("{longer:.2} ms; {:.1} Mbit/s", of.mbps.median()),
        goal: format!("<= {LONGER_MOST_MS} ms"),
        holds: at_most(longer, LONGER_MOST_MS),
    }
}

fn table(all: &[Measured]) -> String {
    let mut text = "| direction of TCP | way | ping idle, ms | beside TCP, ms | 99 %, ms | TCP, Mbit/s |\n|---|---|---|---|---|---|\n".to_owned();
    for of in all {
        let spread = |of: &Samples| format!("{:.2} [{:.2}..{:.2}]", of.median(), of.min(), of.max());
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} | {:.1} |\n",
            of.way.name(),
            of.through.name(),
            spread(&of.idle_ms),
            spread(&of.beside_ms),
            spread(&of.tail_ms),
            of.mbps.median()
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ping_that_waits_longer_fails() {
        let of = |beside: f64| Measured {
            through: Through::Gprs(Mode::Acknowledged),
            way: Way::Down,
            idle_ms: [0.5].into_iter().collect(),
            beside_ms: [beside].into_iter().collect(),
            tail_ms: [beside].into_iter().collect(),
            mbps: [93.0].into_iter().collect(),
        };
        assert_eq!([5.4, 5.6].map(|beside| verdict(&of(beside)).holds), [Some(true), Some(false)]);
        assert_eq!(verdict(&of(f64::NAN)).holds, None);
        assert!(
            table(&[of(5.4)]).contains("| downlink | acknowledged | 0.50 [0.50..0.50] | 5.40 [5.40..5.40] |")
        );
    }
}
