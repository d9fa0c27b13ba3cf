//! Every counter and gauge of a node, in one list, and the three forms in which programs read it.
//!
//! A [`Group`] is one object that counts (the node, an NS-VC, a BVC, a GGSN, an access point) with its [`Metric`]s; what
//! all objects of a kind have in common is their [`Class`]. The program fills the groups from its node, most of them from
//! the [views](crate::view) that `show …` prints ([`of_view`]); what reads them knows no node:
//!
//! - [`prometheus`]: the text exposition, and the page that serves it ([`http`]);
//! - [`statsd`]: datagrams with what has changed since the last report;
//! - [`text`]: `show stats`, `show rate-counters`, `show counters`;
//! - [`crate::ctrl`][]: `rate_ctr.*`.
//!
//! ```
//! use gannet_ops::metrics::{Class, Group, Level, Metric, prometheus::Page};
//! const NODE: Class = Class { name: "", osmocom: "sgsn", title: "The SGSN", level: Level::Global, lines: Some("") };
//! let mut node = Group::single(&NODE);
//! node.add(Metric::counter("n_pdu_uplink", "N-PDUs that went to GGSNs", 3));
//! let page = Page::new("sgsn", vec![node]).whole();
//! assert!(page.ends_with("gannet_sgsn_n_pdu_uplink_total counter\ngannet_sgsn_n_pdu_uplink_total 3\n"));
//! ```

pub mod agreement;
pub mod http;
mod marks;
pub mod of_view;
pub mod osmocom;
pub mod prometheus;
pub mod statsd;
pub mod text;

pub use marks::{Marks, Period, Rates};
pub use osmocom::Known;

use gannet_machine::drops::{Drop, DropCounters};

/// What kind of value it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It only grows, from the start of the node.
    Counter,
    /// A counter of [`gannet_machine::drops`]. `show counters` and `show stats` leave it out while it is 0.
    Drop,
    /// It is what it is now.
    Gauge,
}

/// One value with its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Lower case, words joined by underscores; once in its class.
    pub name: &'static str,
    /// What osmo-sgsn calls a value of the same meaning; statsd, CTRL and `show rate-counters` have it under that name.
    pub osmocom: Option<Known>,
    /// Counter or gauge.
    pub kind: Kind,
    /// What a person reads.
    pub help: &'static str,
    /// Its value.
    pub value: u64,
}

impl Metric {
    /// A counter.
    #[must_use]
    pub const fn counter(name: &'static str, help: &'static str, value: u64) -> Self {
        Self { name, osmocom: None, kind: Kind::Counter, help, value }
    }

    /// A gauge.
    #[must_use]
    pub const fn gauge(name: &'static str, help: &'static str, value: u64) -> Self {
        Self { name, osmocom: None, kind: Kind::Gauge, help, value }
    }

    /// A drop, by its name and with its sentence.
    #[must_use]
    pub const fn of_drop(drop: Drop, value: u64) -> Self {
        Self { name: drop.name(), osmocom: None, kind: Kind::Drop, help: drop.sentence(), value }
    }

    /// The same, which Osmocom calls so.
    #[must_use]
    pub const fn known_as(self, name: &'static str, label: &'static str) -> Self {
        Self { osmocom: Some(Known::counter(name, label)), ..self }
    }

    /// A gauge that Osmocom has with a unit.
    #[must_use]
    pub const fn known_as_gauge(self, known: Known) -> Self {
        Self { osmocom: Some(known), ..self }
    }

    /// Its name where Osmocom's tools read it.
    #[must_use]
    pub const fn osmocom_name(&self) -> &'static str {
        match self.osmocom {
            Some(known) => known.name,
            None => self.name,
        }
    }

    /// Whether it only grows.
    #[must_use]
    pub const fn is_counter(&self) -> bool {
        matches!(self.kind, Kind::Counter | Kind::Drop)
    }
}

/// How much a group is about, in the words of `level (global|peer|subscriber)`. There is no group of one subscriber:
/// a million of them would be nobody's statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Level {
    /// The node as a whole.
    #[default]
    Global,
    /// A peer or a part: an NS-VC, a BVC, a GGSN.
    Peer,
    /// A subscriber.
    Subscriber,
}

impl Level {
    /// All of them, from the whole to the part.
    pub const ALL: &'static [Self] = &[Self::Global, Self::Peer, Self::Subscriber];

    /// The word of the commands.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Peer => "peer",
            Self::Subscriber => "subscriber",
        }
    }

    /// The level of a word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|level| level.word() == word)
    }
}

/// What all objects of a kind have in common. All of them have the same metrics, in the same order.
#[derive(Debug, PartialEq, Eq)]
pub struct Class {
    /// In front of a metric's name for Prometheus, empty for the node itself.
    pub name: &'static str,
    /// The group's name in Osmocom's tools: `sgsn`, `ns:nsvc`.
    pub osmocom: &'static str,
    /// What a person reads above it.
    pub title: &'static str,
    /// How much it is about.
    pub level: Level,
    /// What `show counters` puts in front of its names; `None` where it does not show them.
    pub lines: Option<&'static str>,
}

/// One object and its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// What it is.
    pub class: &'static Class,
    /// Which one, in one word without dots: part of names.
    pub index: String,
    /// Which one, for Prometheus.
    pub labels: Vec<(&'static str, String)>,
    /// Which one in Osmocom's tools, where that is another index.
    pub number: Option<String>,
    /// What a statsd calls it in the place of its index, where Osmocom gives it a name.
    pub title: Option<String>,
    /// Its values.
    pub metrics: Vec<Metric>,
}

impl Group {
    /// A group that there is once: number 0, without labels.
    #[must_use]
    pub fn single(class: &'static Class) -> Self {
        Self::of(class, "0".to_owned(), Vec::new())
    }

    /// A group with labels. Its index is made of their values.
    #[must_use]
    pub fn labelled(class: &'static Class, labels: Vec<(&'static str, String)>) -> Self {
        let values: Vec<&str> = labels.iter().map(|(_, value)| value.as_str()).collect();
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
        let index = values.join("-").chars().map(plain).collect();
        Self::of(class, index, labels)
    }

    const fn of(class: &'static Class, index: String, labels: Vec<(&'static str, String)>) -> Self {
        Self { class, index, labels, number: None, title: None, metrics: Vec::new() }
    }

    /// The same, which Osmocom's tools know by this index, and a statsd perhaps by a name.
    #[must_use]
    pub fn numbered(self, number: impl ToString, title: Option<String>) -> Self {
        Self { number: Some(number.to_string()), title, ..self }
    }

    /// Its index where Osmocom's tools read it.
    #[must_use]
    pub fn osmocom_index(&self) -> &str {
        self.number.as_deref().unwrap_or(&self.index)
    }

    /// Adds a value.
    pub fn add(&mut self, metric: Metric) {
        self.metrics.push(metric);
    }

    /// Adds every drop, those that never happened too, so that a name is there before it is needed.
    pub fn add_drops(&mut self, drops: &DropCounters) {
        self.metrics.extend(Drop::ALL.iter().map(|drop| Metric::of_drop(*drop, drops.get(*drop))));
    }

    /// Counts a drop that was counted elsewhere with those that are there.
    pub fn count_drop(&mut self, drop: Drop, count: u64) {
        let mut metrics = self.metrics.iter_mut();
        if let Some(metric) = metrics.find(|metric| metric.kind == Kind::Drop && metric.name == drop.name()) {
            metric.value = metric.value.saturating_add(count);
        }
    }
}

/// Where groups come from: a running node. A large one has many, so they are asked for in parts, each of which costs little.
pub trait Source {
    /// `sgsn`, `bss` or `ggsn`.
    fn element(&self) -> &'static str;

    /// Adds the groups of a part, counted from 0; true where there is a next one. After the last one the groups of all parts
    /// [agree](agreement).
    fn groups(&mut self, part: usize, groups: &mut Vec<Group>) -> bool;

    /// All parts at once.
    fn all(&mut self) -> Vec<Group> {
        let mut groups = Vec::new();
        let _ = (0..).find(|part| !self.groups(*part, &mut groups));
        groups
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const NODE: Class =
        Class { name: "", osmocom: "sgsn", title: "The SGSN", level: Level::Global, lines: Some("") };
    pub(crate) const PART: Class =
        Class { name: "part", osmocom: "x:part", title: "A part", level: Level::Peer, lines: None };

    /// A node with a counter, a gauge and the drops, and two parts of it.
    pub(crate) fn groups() -> Vec<Group> {
        let mut node = Group::single(&NODE);
        node.add(
            Metric::counter("ll_pdu_downlink", "LL-PDUs that went to BSSs", 7)
                .known_as("llc:dl_packets", "Sent"),
        );
        node.add(Metric::gauge("mobiles", "Mobiles", 2));
        node.add(Metric::of_drop(Drop::NoFrame, 0));
        let part = |name: &str, value| {
            let mut part = Group::labelled(&PART, vec![("name", name.to_owned())]);
            part.add(Metric::counter("taken", "What was \\ taken\nof it", value));
            part
        };
        vec![node, part("a\"1", 3), part("127.0.0.1:5", 4)]
    }

    #[test]
    fn an_index_is_one_word() {
        let [_, quoted, address] = groups().try_into().unwrap();
        assert_eq!((quoted.index.as_str(), address.index.as_str()), ("a-1", "127-0-0-1-5"));
    }

    #[test]
    fn all_drops_are_there_and_are_added_up() {
        let mut counters = DropCounters::default();
        counters.add(Drop::DemuxBlocked);
        let mut node = Group::single(&NODE);
        node.add_drops(&counters);
        node.count_drop(Drop::DemuxBlocked, 4);
        assert_eq!(node.metrics.len(), Drop::COUNT);
        let sum: u64 = node.metrics.iter().map(|metric| metric.value).sum();
        assert_eq!(sum, 5);
        let mut names: Vec<&str> = node.metrics.iter().map(|metric| metric.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Drop::COUNT);
    }

    #[test]
    fn levels_have_words() {
        for level in Level::ALL {
            assert_eq!(Level::of_word(level.word()), Some(*level));
        }
        assert_eq!(Level::of_word("all"), None);
    }
}
