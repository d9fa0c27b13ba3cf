//! What a running node has counted, for all who ask: the VTY, the page of metrics, statsd, the control interface.

use super::{ConfigOf, Node, Running, trace};
use gannet_ops::config::Element;
use gannet_ops::ctrl::Control;
use gannet_ops::grammar::CommandError;
use gannet_ops::metrics::agreement::agree;
use gannet_ops::metrics::text::{self, Statistics};
use gannet_ops::metrics::{Group, Level, Marks, Metric, Rates, Source};
use gannet_rt::Access;

/// Peers in one part of a node's groups.
pub const PARTS_STEP: usize = 32;

/// What is remembered of it.
#[derive(Debug, Default)]
pub struct Counting {
    /// The values when an operator said `stats reset`.
    pub reset: Marks,
    /// Taken while somebody may ask for them.
    pub rates: Rates,
    /// An operator said `stats report`.
    pub report: bool,
    /// Datagrams that no statsd took.
    pub unsent: u64,
}

/// A count as a value.
pub fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// Adds what every node has to the first of its groups.
pub fn add_common(access: &mut Access<'_>, groups: &mut [Group]) {
    let Some(node) = groups.first_mut() else { return };
    let frames = access.frames();
    let (free, total, exhausted) = (frames.free(), frames.capacity(), frames.exhausted());
    let recorder = access.recorder();
    let (recorded, unrecorded) = recorder.map_or((0, 0), |recorder| (recorder.recorded(), recorder.lost()));
    let uptime_s = access.now().0 / 1_000_000_000;
    let log = access.log();
    if !node.metrics.iter().any(|metric| metric.kind == gannet_ops::metrics::Kind::Drop) {
        node.add_drops(log.drops());
    }
    node.add(Metric::counter(
        "log_lines_lost",
        "lines that a target of the log did not take",
        log.lines_lost(),
    ));
    node.add(Metric::counter(
        "log_lines_left_out",
        "lines of the log that were left out, since their category had more than 100 a second of their level",
        log.lines_left_out(),
    ));
    node.add(Metric::counter(
        "capture_datagrams",
        "datagrams and packets that went into captures (--pcap, trace file)",
        recorded,
    ));
    node.add(Metric::counter(
        "capture_lost",
        "datagrams and packets that are missing in captures, since their disk was full or too slow",
        unrecorded,
    ));
    node.add(Metric::counter("frames_exhausted", "how often no frame was free", exhausted));
    node.add(Metric::gauge("frames_free", "frames of the pool that are free", number(free)));
    node.add(Metric::gauge("frames_total", "frames of the pool", number(total)));
    node.add(Metric::gauge("uptime_seconds", "how long the node runs", uptime_s));
}

/// A running node and its loop, as long as somebody asks.
pub struct Counted<'r, 'a, 'l, N: Node> {
    pub running: &'r mut Running<N>,
    pub access: &'a mut Access<'l>,
}

impl<N: Node> Source for Counted<'_, '_, '_, N> {
    fn element(&self) -> &'static str {
        N::Element::NAME
    }

    fn groups(&mut self, part: usize, groups: &mut Vec<Group>) -> bool {
        let Running { node, config, counting, .. } = &*self.running;
        let before = groups.len();
        let more = node.metrics(config, part, self.access, groups);
        if part == 0
            && let Some(fresh) = groups.get_mut(before..)
        {
            add_common(self.access, fresh);
            let unsent = Metric::counter("statsd_unsent", "datagrams that no statsd took", counting.unsent);
            fresh.iter_mut().take(1).for_each(|node| node.add(unsent));
        }
        if !more {
            agree(groups);
        }
        more
    }
}

impl<N: Node> Control for Counted<'_, '_, '_, N> {
    fn get(&mut self, variable: &str) -> Option<Result<String, String>> {
        self.running.node.control(variable, self.access)
    }

    fn rates(&self) -> &Rates {
        &self.running.counting.rates
    }

    fn traps(&mut self) -> Vec<(&'static str, String)> {
        self.running.node.traps()
    }
}

/// Whether somebody could ask for rates: they are not free.
pub fn wants_rates<N: Node>(config: &ConfigOf<N>) -> bool {
    let common = N::Element::common(config);
    common.ctrl.is_some() || common.stats.reporters.iter().any(|reporter| reporter.enabled)
}

/// What an operator asks.
///
/// # Errors
/// Why it cannot be done.
pub fn execute<N: Node>(
    mut counted: Counted<'_, '_, '_, N>,
    asked: Statistics,
    out: &mut String,
) -> Result<(), CommandError> {
    if asked == Statistics::Report {
        let stats = &N::Element::common(&counted.running.config).stats;
        if !stats.reporters.iter().any(|reporter| reporter.enabled) {
            return Err(CommandError::new("No reporter is enabled."));
        }
        counted.running.counting.report = true;
        return Ok(());
    }
    if asked == Statistics::Trace {
        trace::show(counted.access, out);
        return Ok(());
    }
    let mut groups = counted.all();
    let Counting { reset, rates, .. } = &mut counted.running.counting;
    match asked {
        Statistics::Reset => groups.iter().for_each(|group| reset.note(group)),
        Statistics::Show { level, skip_zero } => {
            reset.since(&mut groups);
            let all = level.unwrap_or(Level::Subscriber);
            text::osmocom_stats(&groups, rates, all, skip_zero, out);
            text::stats(&groups, level.unwrap_or_default(), skip_zero, out);
        }
        Statistics::Rates { skip_zero } => {
            reset.since(&mut groups);
            text::rate_counters(&groups, rates, skip_zero, out);
        }
        Statistics::Asciidoc => text::asciidoc(&groups, out),
        Statistics::Report | Statistics::Trace => {}
    }
    Ok(())
}
