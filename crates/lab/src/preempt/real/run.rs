//! One run in real time: a download by the kernel's TCP while calls take all PDCHs now and then.

use super::super::place::{CODING, SLOTS};
use super::super::run::{COOL_DOWN, Raw, drops, measure_setups};
use super::super::trace::Trace;
use super::hosts::{self, Hosts};
use super::kernel::{Cause, Counts};
use super::pace::{Lateness, Missed, Paced, real_ns};
use super::plan::Run;
use crate::radio::airtime::{Airtime, Snapshot};
use crate::radio::world::World;
use crate::testbed::Namespace;
use core::ops::Range;
use gannet_machine::time::{Duration, Instant};
use gannet_node::bss::radio::Way;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender};

/// What is to be run.
#[derive(Debug, Clone)]
pub struct Order {
    /// The cell of the matrix.
    pub run: Run,
    /// Names the namespaces of all runs beside this one.
    pub label: &'static str,
    /// Tells this one from those beside it.
    pub number: usize,
    /// How long it takes.
    pub span: Duration,
    /// When calls take the PDCHs, from the connection's first packet on.
    pub script: Vec<Range<Duration>>,
    /// The dice of the radio.
    pub seed: u64,
}

/// Runs that begin together.
#[derive(Debug)]
pub struct Start {
    /// Told when this one is ready.
    pub ready: Sender<()>,
    /// When to begin, in nanoseconds since 1970. Nothing comes where another one cannot begin.
    pub begin: Receiver<u64>,
}

/// What a run leaves behind.
#[derive(Debug)]
pub struct Ran {
    /// The cell of the matrix.
    pub run: Run,
    /// The record, as a run in virtual time leaves it.
    pub raw: Raw,
    /// Segments that were sent again, each with its cause.
    pub again: Vec<(Instant, Cause)>,
    /// What the sender's kernel counted.
    pub counts: Counts,
    /// How late the world was.
    pub late: Lateness,
    /// Octets that the client's program has taken from its socket, in order.
    pub taken: u64,
}

/// Runs it. `worlds` is the namespace with the worlds' ends of all devices; the calling thread enters it.
///
/// # Errors
/// A sentence: what the machine does not permit, a broken connection, or that it was interrupted.
pub fn run(order: &Order, worlds: &Namespace, start: Start, stop: &AtomicBool) -> Result<Ran, String> {
    let Order { run, label, number, span, script, seed } = order;
    let failed = |why: String| format!("{}: {why}", run.name());
    let mut world = World::new(&run.place.setup(*seed)?).map_err(failed)?;
    let setups_s = measure_setups(&mut world).map_err(failed)?;
    let mobile = world.address(0).ok_or_else(|| failed("the mobile has no address".to_owned()))?;
    let hosts = Hosts::new((label, *number), worlds, mobile, run.tcp).map_err(failed)?;
    let (socket, listener) = (hosts.socket(run.tcp)?, hosts.listen()?);
    hosts::enter(worlds)?;
    let begin = world.gprs.now;
    let periods: Vec<_> = script.iter().map(|period| begin + period.start..begin + period.end).collect();
    let calls = periods.iter().flat_map(|period| [(period.start, u8::MAX), (period.end, 0)]).collect();
    let before = Snapshot::of(&world, 1);
    let expiries = world.probe.mobile(0).expiries;
    let mut paced = Paced::new(world, hosts.devices(), hosts.counters()?, calls)?;
    let Start { ready, begin: at } = start;
    let _ = ready.send(());
    // Whoever counts who is ready learns that nobody else will be.
    drop(ready);
    let at_ns = at.recv().map_err(|_| failed("another run could not begin".to_owned()))?;
    let over = AtomicBool::new(false);
    let (counts, given, taken) = std::thread::scope(|scope| {
        let given = scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_nanos(at_ns.saturating_sub(real_ns())));
            hosts.give(socket, &over)
        });
        let taken = scope.spawn(|| hosts::take(&listener, &over));
        let counts = paced.run(at_ns, *span, stop);
        over.store(true, Relaxed);
        let given = given.join().unwrap_or_else(|_| Err("the server has failed".to_owned()));
        let taken = taken.join().unwrap_or_else(|_| Err("the client has failed".to_owned()));
        (counts, given, taken)
    });
    let (counts, (), taken) = (counts.map_err(failed)?, given.map_err(failed)?, taken.map_err(failed)?);
    let Paced { mut world, noted, late, missed, .. } = paced;
    let trace = Trace {
        span: begin..begin + *span,
        periods,
        seen: noted.seen,
        points: noted.points,
        marks: world.probe.take_marks(),
        blocks: world.probe.take_blocks(),
    };
    let (mobile, drops) = (world.probe.mobile(0), drops(&world));
    let airtime = Airtime::between(&before, &Snapshot::of(&world, 1), Way::Downlink, CODING, SLOTS);
    let mut faults = world.close(COOL_DOWN);
    faults.extend(crossing(&trace, missed, noted.foreign, taken));
    let raw = Raw {
        place: run.place,
        trace,
        setups_s,
        airtime,
        timeouts: counts.timeouts,
        spurious_timeouts: counts.spurious_timeouts,
        recoveries: counts.recoveries,
        mobile_expiries: mobile.expiries - expiries,
        given_up: mobile.given_up,
        drops,
        faults: faults.into_iter().map(failed).collect(),
    };
    Ok(Ran { run: *run, raw, again: noted.again, counts, late, taken })
}

/// What does not add up between the hosts and the world.
fn crossing(trace: &Trace, missed: Missed, foreign: u64, taken: u64) -> Vec<String> {
    let Missed { unseen, unfit, refused, unsent } = missed;
    let came = trace.in_order().last().map_or(0, |(_, octets)| *octets);
    let counts = [
        (unseen, "packets of the hosts were not seen in time"),
        (unfit, "packets of the hosts are damaged or no IPv4"),
        (refused, "packets of the hosts found no frame"),
        (unsent, "packets for the hosts were not taken by the kernel"),
        (foreign, "packets do not belong to the connection"),
        (
            came.abs_diff(taken),
            "octets came in order to the client and its program did not get them, or the reverse",
        ),
    ];
    let faults = counts.into_iter().filter(|(count, _)| *count > 0);
    faults.map(|(count, what)| format!("{count} {what}")).collect()
}
