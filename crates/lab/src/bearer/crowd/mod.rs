//! Experiment `bearer-crowd`: 200 mobiles in one process, two contexts each, with steady traffic for all of them, and a change of bearer
//! for all of them at once.

mod account;
mod traffic;

use super::bed::{Bed, Nodes};
use super::configs::{BEARERS, GGSN_DEVICE, Mode, Parameters};
use super::line::{Conditions, Kind};
use super::text;
use crate::report::{Options, Report, Size};
use crate::settings::Changed;
use crate::testbed;
use account::{Named, Run, Spent};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::path::Path;
use std::time::{Duration, Instant};
use traffic::{Flow, Traffic};

const PROGRAMS: [&str; 4] = ["ip", "ethtool", "iperf3", "ping"];
const MOBILES: u32 = 200;
/// From one datagram of a context to its next.
const PERIOD: Duration = Duration::from_millis(200);
/// How long all of them may take to use the other bearer, and how often they are asked.
const CHANGED_WITHIN: Duration = Duration::from_secs(30);
const ASK_EVERY: Duration = Duration::from_millis(100);
/// What is under way when nobody sends any more has this long.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The longest receive buffer that a socket may have, and what the host's has.
const RECEIVE_BUFFERS: &str = "/proc/sys/net/core/rmem_max";
const BUFFER_OCTETS: usize = 8 << 20;
/// Packets that wait before the GGSN's device: what all contexts get in two seconds.
const DEVICE_QUEUE: &str = "4000";

/// How long there is traffic.
const fn lasting(size: Size) -> Duration {
    match size {
        Size::Quick => Duration::from_secs(60),
        Size::Normal => Duration::from_secs(300),
        Size::Full => Duration::from_secs(900),
    }
}

/// Runs it.
///
/// # Errors
/// A sentence for the person: this machine cannot do it, or a program has ended.
pub fn run(options: &Options) -> Result<Report, String> {
    let stop = testbed::begin("bearer-crowd", &PROGRAMS)?;
    // The host is to lose nothing of what comes at once after a change.
    let _buffers = Changed::make(Path::new(RECEIVE_BUFFERS), &BUFFER_OCTETS.to_string());
    let mut bed = Bed::new("crowd", &options.out, &[Kind::Ethernet; 2], Conditions::NONE)?;
    let begun = Instant::now();
    let (nodes, devices) = bed.start_crowd((&Parameters::fitting(), MOBILES), &stop)?;
    let attached = begun.elapsed();
    bed.network().ip(&["link", "set", GGSN_DEVICE, "txqueuelen", DEVICE_QUEUE]).map_err(text)?;
    let flows = flows(&devices)?;
    let lasting = lasting(options.size);
    if options.progress {
        eprintln!("bearer-crowd: {} contexts after {:.1} s", flows.len(), attached.as_secs_f64());
    }
    let (before, spent_before) = (bed.named()?, spent(&nodes)?);
    let traffic = Traffic::start(
        (bed.phone().name(), bed.network().name()),
        Mode::Unacknowledged.host(),
        &flows,
        (PERIOD, BUFFER_OCTETS),
    )?;
    let measured = Instant::now();
    go_on(&mut bed, &traffic, lasting / 2, &stop)?;
    let [_, other] = BEARERS;
    bed.prefer(&format!("ethernet {other}"))?;
    let changed = change(&mut bed, &traffic, &stop)?;
    if options.progress {
        eprintln!("bearer-crowd: all have changed after {:.2} s", changed.as_secs_f64());
    }
    go_on(&mut bed, &traffic, lasting / 2, &stop)?;
    let account = traffic.end(PATIENCE)?;
    let measured = measured.elapsed();
    bed.check()?;
    let (after, spent_after) = (bed.named()?, spent(&nodes)?);
    let sizes =
        nodes.all().map(|pid| testbed::resident_octets(pid).map_err(text)).collect::<Result<Vec<_>, _>>()?;
    bed.end_nodes(&nodes);
    let mut named = Named::moved(&before, &after);
    named.lines(&bed.end_line()?);
    let spent = spent_after.iter().zip(&spent_before).map(|(after, before)| after.saturating_sub(*before));
    let run = Run {
        mobiles: MOBILES,
        flows,
        account,
        named,
        attached,
        changed,
        spent: nodes
            .names()
            .zip(spent.zip(sizes))
            .map(|(name, (time, resident))| Spent { name, time, resident })
            .collect(),
        measured,
    };
    let mut report = Report::here("bearer-crowd", options);
    report.parameter("bearers", format!("two of {}", Kind::Ethernet.name()));
    report.parameter("mobiles", format!("{MOBILES} in one process, a context in each mode for each of them"));
    report.parameter(
        "traffic",
        format!(
            "{} s; a packet of 200 octets of each context every {} ms, which a host answers with as many",
            lasting.as_secs(),
            PERIOD.as_millis()
        ),
    );
    report.cells = run.cells();
    report.verdicts = run.verdicts();
    report.remarks = vec![run.table()];
    Ok(report)
}

/// The contexts of devices: name and address.
fn flows(devices: &[(String, String)]) -> Result<Vec<Flow>, String> {
    let flow = |(device, address): &(String, String)| {
        let is_of =
            |mode: &Mode| device.trim_end_matches(|digit: char| digit.is_ascii_digit()) == mode.prefix();
        let mode = Mode::BOTH.into_iter().find(is_of).ok_or_else(|| format!("{device} is of no context"))?;
        let address = address.parse().map_err(|error| format!("{device}: {address}: {error}"))?;
        Ok(Flow { mode, device: device.clone(), address })
    };
    devices.iter().map(flow).collect()
}

/// Processor time of each process so far.
fn spent(nodes: &Nodes) -> Result<Vec<Duration>, String> {
    nodes.all().map(|pid| gannet_rig::cpu_time_of(pid).map_err(text)).collect()
}

/// Time goes on while everything runs.
fn go_on(bed: &mut Bed, traffic: &Traffic, lasting: Duration, stop: &AtomicBool) -> Result<(), String> {
    let until = Instant::now() + lasting;
    while Instant::now() < until && traffic.is_running() {
        if stop.load(Relaxed) {
            return Err("interrupted".to_owned());
        }
        bed.check()?;
        std::thread::sleep(LOOK_EVERY);
    }
    // What it was that ended is told where the traffic is asked for its account.
    Ok(())
}

/// Waits until all mobiles are in the second cell. How long that took.
fn change(bed: &mut Bed, traffic: &Traffic, stop: &AtomicBool) -> Result<Duration, String> {
    let begun = Instant::now();
    loop {
        let cells = bed.cells_of_mobiles()?;
        if cells.iter().all(|cell| *cell == Some(1)) {
            return Ok(begun.elapsed());
        }
        if begun.elapsed() > CHANGED_WITHIN {
            let left = cells.iter().filter(|cell| **cell != Some(1)).count();
            return Err(format!(
                "{left} mobiles are not in the other cell after {} s",
                CHANGED_WITHIN.as_secs()
            ));
        }
        go_on(bed, traffic, ASK_EVERY, stop)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_tells_its_mode() {
        let of = |device: &str| flows(&[(device.to_owned(), "198.19.0.2".to_owned())]);
        assert_eq!(of("ack17").unwrap()[0].mode, Mode::Acknowledged);
        assert_eq!(of("un0").unwrap()[0].mode, Mode::Unacknowledged);
        assert!(of("eth0").is_err() && flows(&[("un0".to_owned(), "x".to_owned())]).is_err());
    }
}
