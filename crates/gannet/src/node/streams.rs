//! Lines, streams and rules of a configuration as a node has them, and how they are shown and counted.

use core::fmt::Write as _;
use gannet_machine::drops::Drop;
use gannet_node::streams::{BEST_EFFORT, Line, Paths, RuleBase, WayOut, WayOutConfig, WayOutError};
use gannet_ops::config::streams as ops;
use gannet_ops::metrics::{Class, Group, Level, Metric};
use gannet_proto::flow_rule::{Named, Rule};
use gannet_qos::edge::{Accounting, Config, Excess, QueueConfig, Service, StreamConfig, StreamView};
use gannet_qos::token_bucket::Rate;
use std::collections::BTreeMap;

/// So much of a line's time may be made up for, which a wake-up that comes late has lost: 1/1000 s.
const CATCH_UP_PER_S: u32 = 1000;
/// The mean packet by which pools are held to have frames: shorter ones leave a pool without frames before it is full.
const MEAN_OCTETS: usize = 200;

/// Streams with their numbers, best effort first. Over the life of a node a number is never another stream's.
#[derive(Debug, Clone)]
pub struct Names {
    names: Vec<String>,
    most: u32,
}

impl Names {
    /// Streams at most, best effort included.
    pub const fn at_most(most: u32) -> Self {
        Self { names: Vec::new(), most }
    }

    /// The number of a stream; a new one gets the next.
    fn number(&mut self, name: &str) -> Result<u32, String> {
        let known = self.names.iter().position(|own| own == name);
        let place = known.unwrap_or(self.names.len());
        let number = u32::try_from(place).ok().map(|place| place + 1).filter(|number| *number < self.most);
        let number = number.ok_or_else(|| {
            format!(
                "stream {name}: a node has {} streams at most, those that are gone included",
                self.most - 1
            )
        })?;
        if known.is_none() {
            self.names.push(name.to_owned());
        }
        Ok(number)
    }

    /// All with their numbers, best effort first.
    pub fn all(&self) -> impl Iterator<Item = (u32, &str)> {
        let named = self.names.iter().zip(1..).map(|(name, number)| (number, name.as_str()));
        core::iter::once((BEST_EFFORT, "best-effort")).chain(named)
    }

    /// The name of a stream.
    pub fn of(&self, number: u32) -> &str {
        self.all().find(|(own, _)| *own == number).map_or("-", |(_, name)| name)
    }
}

/// kbit/s in octets/s.
fn octets_per_s(kbps: u32) -> u32 {
    kbps.saturating_mul(125)
}

fn rate(kbps: u32) -> Rate {
    let per_s = octets_per_s(kbps);
    Rate { per_s, burst: (per_s / CATCH_UP_PER_S).max(1) }
}

/// Why a way out cannot be set up so, with the name of the stream.
pub fn describe(error: &WayOutError, names: &Names) -> String {
    match error {
        WayOutError::Stream(number, error) => format!("stream {}: {error}", names.of(*number)),
        WayOutError::Queues(error) => error.to_string(),
    }
}

/// Frames that may wait before a line.
pub fn frames(of: &ops::LineConfig) -> usize {
    if of.rate_kbps.is_none() {
        return 0;
    }
    of.pools.iter().map(|pool| (*pool as usize).div_ceil(MEAN_OCTETS)).sum()
}

/// A line with its streams, under a name for people.
///
/// # Errors
/// More streams than there can be.
pub fn way_out(name: &str, of: &ops::LineConfig, names: &mut Names) -> Result<WayOutConfig, String> {
    let line = of.rate_kbps.map(|kbps| {
        let [expedited, assured] = of.pools;
        let weight = u32::from(of.ef_weight);
        let queue = |pool, weight| QueueConfig {
            buffers: match of.accounting {
                ops::Accounting::Exact => Accounting::Exact { octets: pool },
                ops::Accounting::BuffSize(octets) => {
                    Accounting::BuffSize { buffers: pool / u32::from(octets), octets: octets.into() }
                }
            },
            rate: octets_per_s(kbps).max(1),
            weight,
            excess: match of.sharing {
                ops::Sharing::Resulting => Excess::Resulting,
                ops::Sharing::Present => Excess::Present,
            },
        };
        let queues = Config {
            streams_max: names.most,
            expedited: queue(expedited, weight),
            assured: queue(assured, 100 - weight.min(99)),
        };
        Line { rate: rate(kbps), overhead: of.overhead.into(), queues }
    });
    let mut streams = Vec::new();
    for (name, config) in &of.streams {
        streams.push((names.number(name)?, stream(config)));
    }
    Ok(WayOutConfig { name: name.to_owned(), line, streams })
}

const fn service(of: ops::Service) -> Service {
    match of {
        ops::Service::Expedited => Service::Expedited,
        ops::Service::Assured => Service::Assured,
        ops::Service::NetworkControl => Service::NetworkControl,
        ops::Service::BestEffort => Service::BestEffort,
    }
}

fn stream(of: &ops::StreamConfig) -> StreamConfig {
    StreamConfig { service: service(of.service), rate: octets_per_s(of.rate_kbps), burst: of.burst }
}

/// Rules with numbers instead of names. `place` has those of interfaces, access points and groups.
///
/// # Errors
/// A name that nothing has, or more streams than there can be.
pub fn rules(
    rules: &BTreeMap<u32, ops::Rule>,
    names: &mut Names,
    place: impl Fn(Named, &str) -> Option<usize>,
) -> Result<RuleBase, String> {
    let mut base = RuleBase::default();
    for (number, rule) in rules {
        let numbered = rule.numbered(|what, name| {
            if what == Named::Stream {
                return names.number(name);
            }
            place(what, name)
                .and_then(|place| u32::try_from(place).ok())
                .ok_or_else(|| format!("rule {number}: there is no {name}"))
        });
        base.set(*number, numbered?);
    }
    Ok(base)
}

/// The word of a service.
fn word(of: Service) -> &'static str {
    let all = [
        ops::Service::Expedited,
        ops::Service::Assured,
        ops::Service::NetworkControl,
        ops::Service::BestEffort,
    ];
    all.into_iter().find(|own| service(*own) == of).map_or("-", ops::Service::word)
}

/// A way out in a line, under what stands in front of its name.
pub fn show_way<T>(what: &str, way: &WayOut<T>, out: &mut String) {
    let waiting = way.waiting();
    let _ = match way.totals() {
        Some(totals) => writeln!(
            out,
            "{what} {}: {} offered, {} sent, {} dropped, {} packets of {} octets wait",
            way.name(),
            totals.offered,
            totals.served,
            totals.drops.total(),
            waiting.pdus,
            waiting.octets
        ),
        None => writeln!(out, "{what} {}: {} sent, no queues", way.name(), way.unqueued().pdus),
    };
}

/// How packets were told apart.
pub fn show_paths(paths: Paths, rules: &RuleBase, out: &mut String) {
    let _ = writeln!(
        out,
        "Classifier: {} by the fast path, {} by the rules, {} flows put out; {} rules",
        paths.fast,
        paths.slow,
        paths.evicted,
        rules.iter().count()
    );
}

/// Each stream of a way out in a line.
pub fn show_streams<T>(what: &str, way: &WayOut<T>, names: &Names, out: &mut String) {
    for (number, name) in names.all() {
        let Some(stream) = way.stream(number) else { continue };
        let StreamView { config, allocation, granted, occupied, waiting, .. } = stream;
        let _ = writeln!(
            out,
            "{what} {}, stream {name} ({}, {} kbit/s): {} packets and {} octets sent, {} dropped; {waiting} wait, {occupied} of \
             {granted} octets granted of {allocation}",
            way.name(),
            word(config.service),
            config.rate / 125,
            stream.served_pdus,
            stream.served_octets,
            stream.dropped_pdus,
        );
    }
}

/// The rules in force, with what becomes of a packet.
pub fn show_rules(rules: &RuleBase, names: &Names, out: &mut String) {
    for (number, rule) in rules.iter() {
        let rule: &Rule<u32> = rule;
        let verdict = gannet_node::streams::Verdict::of(rule);
        let _ = match verdict.stream {
            None => write!(out, "Rule {number}: drop"),
            Some(stream) => write!(out, "Rule {number}: stream {}", names.of(stream)),
        };
        if let Some(mark) = verdict.mark {
            let _ = write!(out, ", mark {mark}");
        }
        out.push('\n');
    }
}

/// What a stream counts on a way out.
const STREAM: Class =
    Class { name: "stream", osmocom: "stream", title: "Stream", level: Level::Peer, lines: None };

/// Labels of a group.
pub type Labels = Vec<(&'static str, String)>;

/// What the queues of a way out count, of a class.
pub fn way_group<T>(class: &'static Class, labels: Labels, way: &WayOut<T>) -> Group {
    let mut group = Group::labelled(class, labels);
    let waiting = way.waiting();
    let (sent, dropped) =
        way.totals().map_or((way.unqueued().pdus, 0), |totals| (totals.served, totals.drops.total()));
    group.add(Metric::counter("sent", "packets that left", sent));
    group.add(Metric::counter("dropped", "packets that its queues dropped", dropped));
    group.add(Metric::gauge("waiting", "packets that wait", waiting.pdus.into()));
    group.add(Metric::gauge("waiting_octets", "octets of these", waiting.octets));
    if let Some(totals) = way.totals() {
        for (drop, name, help) in [
            (
                Drop::EdgeOverRate,
                "dropped_over_rate",
                "packets of EF that came faster than their stream may send",
            ),
            (Drop::EdgeShareTaken, "dropped_share_taken", "packets of streams that had their share"),
            (
                Drop::EdgeSharedFull,
                "dropped_shared_full",
                "packets that were longer than the free shared buffers",
            ),
        ] {
            group.add(Metric::counter(name, help, totals.drops.get(drop)));
        }
    }
    group
}

/// What the streams of a way out count.
pub fn stream_groups<T>(labels: &Labels, way: &WayOut<T>, names: &Names, groups: &mut Vec<Group>) {
    for (number, name) in names.all() {
        let Some(stream) = way.stream(number) else { continue };
        let mut labels = labels.clone();
        labels.push(("stream", name.to_owned()));
        let mut group = Group::labelled(&STREAM, labels);
        group.add(Metric::counter("sent", "packets that left", stream.served_pdus));
        group.add(Metric::counter("sent_octets", "octets of these", stream.served_octets));
        group.add(Metric::counter("dropped", "packets that were dropped", stream.dropped_pdus));
        group.add(Metric::gauge("waiting", "packets that wait", stream.waiting.into()));
        group.add(Metric::gauge(
            "granted",
            "octets of its allocation that are granted",
            stream.granted.into(),
        ));
        group.add(Metric::gauge("occupied", "octets that its packets occupy", stream.occupied.into()));
        groups.push(group);
    }
}
