//! What a step came to.

use super::config::Group;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use gannet_rig::layout::{self, BUCKETS, bucket_range};
use serde::Serialize;
use std::time::Duration;

/// Latencies as the sink's driver saw them: from the generator's program to the sink's, on one clock, in log-linear buckets
/// of at most 1.6 %.
#[derive(Clone, PartialEq, Eq)]
pub struct Latency {
    counts: Vec<u64>,
    sum_ns: u64,
    max_ns: u64,
}

impl core::fmt::Debug for Latency {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { counts: _, sum_ns: _, max_ns } = self;
        let (count, mean, p50, p99) =
            (self.count(), self.mean_ns(), self.quantile_ns(0.5), self.quantile_ns(0.99));
        write!(f, "Latency({count}: mean {mean} ns, p50 {p50} ns, p99 {p99} ns, max {max_ns} ns)")
    }
}

impl Default for Latency {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS], sum_ns: 0, max_ns: 0 }
    }
}

impl Latency {
    /// Adds one latency.
    pub fn record(&mut self, ns: u64) {
        // The buckets are in order: the one whose range holds it.
        let bucket = bucket_of(ns);
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += 1;
        }
        self.sum_ns += ns;
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds those of another group or step.
    pub fn merge(&mut self, other: &Self) {
        for (to, from) in self.counts.iter_mut().zip(&other.counts) {
            *to += from;
        }
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Those that came since an earlier look at the same ones; of the longest only its bucket is known, where it came since.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let counts: Vec<u64> =
            self.counts.iter().zip(&earlier.counts).map(|(now, then)| now.saturating_sub(*then)).collect();
        let longest = counts.iter().rposition(|count| *count > 0).map_or(0, |at| bucket_range(at).1 - 1);
        Self { counts, sum_ns: self.sum_ns.saturating_sub(earlier.sum_ns), max_ns: longest.min(self.max_ns) }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Their mean, in ns; 0 where there is none.
    #[must_use]
    pub fn mean_ns(&self) -> u64 {
        self.sum_ns.checked_div(self.count()).unwrap_or(0)
    }

    /// The longest, in ns.
    #[must_use]
    pub const fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The latency that a share (0 to 1) of them does not exceed: the upper end of its bucket, in ns.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a count"
    )]
    pub fn quantile_ns(&self, share: f64) -> u64 {
        let count = self.count();
        let wanted = ((count as f64 * share.clamp(0.0, 1.0)).ceil() as u64).max(1);
        let mut sum = 0;
        for (bucket, in_it) in self.counts.iter().enumerate() {
            sum += in_it;
            if sum >= wanted {
                return (bucket_range(bucket).1 - 1).min(self.max_ns);
            }
        }
        0
    }

    /// Buckets that hold something: first latency, first latency above it, how many.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(bucket, count)| {
            let (from, to) = bucket_range(bucket);
            (from, to, *count)
        })
    }

    fn of(group: &layout::Group) -> Self {
        Self {
            counts: group.latency.iter().map(load).collect(),
            sum_ns: load(&group.latency_sum),
            max_ns: load(&group.latency_max),
        }
    }
}

fn bucket_of(ns: u64) -> usize {
    let octave = u64::from(64 - (ns >> 6).leading_zeros());
    let bucket = if octave == 0 { ns & 63 } else { octave << 6 | ns >> (octave - 1) & 63 };
    usize::try_from(bucket).unwrap_or(BUCKETS).min(BUCKETS - 1)
}

impl Serialize for Latency {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Form {
            count: u64,
            mean_ns: u64,
            p50_ns: u64,
            p90_ns: u64,
            p99_ns: u64,
            p999_ns: u64,
            max_ns: u64,
            buckets: Vec<(u64, u64, u64)>,
        }
        let form = Form {
            count: self.count(),
            mean_ns: self.mean_ns(),
            p50_ns: self.quantile_ns(0.5),
            p90_ns: self.quantile_ns(0.9),
            p99_ns: self.quantile_ns(0.99),
            p999_ns: self.quantile_ns(0.999),
            max_ns: self.max_ns,
            buckets: self.buckets().collect(),
        };
        form.serialize(serializer)
    }
}

/// What became of one group's N-PDUs in a step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct GroupResult {
    /// The group's number.
    pub group: u8,
    /// Its name.
    pub name: String,
    /// Flows in it.
    pub flows: u64,
    /// N-PDUs that the rates of the flows ask for in the step; 0 where nobody has said so.
    pub asked: u64,
    /// N-PDUs that were given to the driver, taken or refused.
    pub offered: u64,
    /// Octets of these N-PDUs.
    pub offered_octets: u64,
    /// From when they were due to when they left, mean, ns.
    pub slip_mean_ns: u64,
    /// The longest of these, ns.
    pub slip_max_ns: u64,
    /// N-PDUs that came as they should, each once.
    pub delivered: u64,
    /// Octets of these.
    pub delivered_octets: u64,
    /// N-PDUs whose octets were wrong.
    pub corrupt: u64,
    /// N-PDUs that came to another mobile.
    pub wrong_mobile: u64,
    /// Delivered, but in a cell where the mobile is not.
    pub wrong_cell: u64,
    /// N-PDUs that came again.
    pub repeated: u64,
    /// Delivered, but after a later one of the same flow.
    pub reordered: u64,
    /// N-PDUs of an earlier step that came in this one.
    pub other_step: u64,
    /// Delivered by the first of several segments.
    pub segmented: u64,
    /// Of these, those whose segments all came, in their order.
    pub completed: u64,
    /// Delivered ciphered, and known by TLLI and N(U) alone: neither their octets nor how long they took.
    pub unread: u64,
    /// Delivered ciphered, with every octet deciphered and right.
    pub whole: u64,
    /// N-PDUs that left within the window ([`super::Traffic::set_window`]).
    pub offered_inside: u64,
    /// N-PDUs that came within it as they should.
    pub delivered_inside: u64,
    /// I frames that were not the next one of their link: what came before, or behind what was missing.
    pub unexpected: u64,
    /// Acknowledgements that were sent.
    pub answered: u64,
    /// From generator to sink.
    pub latency: Latency,
}

impl GroupResult {
    pub(super) fn of(number: u8, flows: u64, group: &layout::Group) -> Self {
        let offered = load(&group.offered);
        Self {
            group: number,
            name: Group(number).name(),
            flows,
            asked: 0,
            offered,
            offered_octets: load(&group.offered_octets),
            slip_mean_ns: load(&group.slip_sum).checked_div(offered).unwrap_or(0),
            slip_max_ns: load(&group.slip_max),
            delivered: load(&group.delivered),
            delivered_octets: load(&group.delivered_octets),
            corrupt: load(&group.corrupt),
            wrong_mobile: load(&group.wrong_mobile),
            wrong_cell: load(&group.wrong_cell),
            repeated: load(&group.repeated),
            reordered: load(&group.reordered),
            other_step: load(&group.other_step),
            segmented: load(&group.segmented),
            completed: load(&group.completed),
            unread: load(&group.unread),
            whole: load(&group.whole),
            offered_inside: load(&group.offered_inside),
            delivered_inside: load(&group.delivered_inside),
            unexpected: load(&group.unexpected),
            answered: load(&group.answered),
            latency: Latency::of(group),
        }
    }

    /// N-PDUs that were offered and not delivered.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.offered.saturating_sub(self.delivered)
    }
}

/// What one flow did in the last step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct FlowResult {
    /// N-PDUs offered.
    pub offered: u32,
    /// N-PDUs delivered.
    pub delivered: u32,
    /// Octets of these.
    pub delivered_octets: u64,
    /// N-PDUs whose octets were wrong.
    pub corrupt: u32,
    /// N-PDUs that came to another mobile.
    pub wrong: u32,
    /// N-PDUs that came again.
    pub repeated: u32,
    /// N-PDUs that came after later ones.
    pub reordered: u32,
}

/// What the driver's ring took and refused: together what was offered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Ring {
    /// Frames that it took.
    pub taken: u64,
    /// Frames for which it had no place.
    pub refused: u64,
}

impl Ring {
    pub(super) const fn since(self, before: Self) -> Self {
        Self { taken: self.taken - before.taken, refused: self.refused - before.refused }
    }
}

/// A step.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct StepResult {
    /// Its number, which each of its N-PDUs carries.
    pub step: u16,
    /// How long it was offered.
    pub duration: Duration,
    /// How long it was waited for what was still under way.
    pub drained: Duration,
    /// What the ring of the SGSN's driver on Gn made of what was offered downlink.
    pub gn: Ring,
    /// The same on Gb, uplink.
    pub gb: Ring,
    /// What the same ring made of acknowledgements.
    pub answers: Ring,
    /// User data at the sink without our mark, or whose mark names no flow.
    pub unmarked: u64,
    /// Other frames at the sink: they went to the control plane.
    pub passed: u64,
    /// Calls of the generator.
    pub calls: u64,
    /// The longest time between two of them, in which nothing could leave.
    pub pause_max: Duration,
    /// The generator did not run for so long, in pauses of more than 2 ms: the machine had taken its core away.
    pub paused: Duration,
    /// The same as a share of [`StepResult::duration`], 0 to 1.
    pub away_share: f64,
    /// Where N-PDUs were lost, each place by its name.
    pub losses: Vec<Loss>,
    /// By group; those without flows are left out.
    pub groups: Vec<GroupResult>,
    /// How much of what came ciphered was read; `None` where nothing did.
    pub samples: Option<Samples>,
}

/// N-PDUs that were lost in one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// The name of the place.
    pub name: String,
    /// How many.
    pub n_pdus: u64,
    /// The same in a sentence.
    pub meaning: String,
}

/// How much is read of what comes ciphered; see [`super::TrafficConfig::read_every`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Samples {
    /// The mark, in one of so many.
    pub read_every: u32,
    /// All of it, in one of so many.
    pub whole_every: u32,
}

impl Default for Samples {
    fn default() -> Self {
        Self { read_every: 16, whole_every: 256 }
    }
}

impl StepResult {
    /// A group's result.
    #[must_use]
    pub fn group(&self, group: Group) -> Option<&GroupResult> {
        self.groups.iter().find(|result| result.group == group.0)
    }

    /// The sum of something over all groups.
    #[must_use]
    pub fn total(&self, what: impl Fn(&GroupResult) -> u64) -> u64 {
        self.groups.iter().map(what).sum()
    }

    /// N-PDUs that the rings of the SGSN's driver refused.
    #[must_use]
    pub const fn refused(&self) -> u64 {
        self.gn.refused + self.gb.refused
    }
}

fn load(counter: &AtomicU64) -> u64 {
    counter.load(Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_a_bucket() {
        let mut latency = Latency::default();
        for us in 1..=1000 {
            latency.record(us * 1000);
        }
        assert_eq!((latency.count(), latency.max_ns(), latency.mean_ns()), (1000, 1_000_000, 500_500));
        for (share, exact) in [(0.5, 500_000_u64), (0.9, 900_000), (0.99, 990_000), (1.0, 1_000_000)] {
            let found = latency.quantile_ns(share);
            assert!(found >= exact && found <= exact + exact / 60, "{share}: {found}");
        }
        let earlier = latency.clone();
        latency.record(7_000_000);
        latency.record(3_000_000);
        let since = latency.since(&earlier);
        assert_eq!((since.count(), since.mean_ns(), since.max_ns()), (2, 5_000_000, 7_000_000));
        assert_eq!(earlier.since(&earlier), Latency::default());
        let latency = earlier;
        let mut twice = latency.clone();
        twice.merge(&latency);
        assert_eq!((twice.count(), twice.mean_ns()), (2000, latency.mean_ns()));
        assert_eq!(Latency::default().quantile_ns(0.5), 0);
    }

    #[test]
    fn a_latency_is_in_the_bucket_whose_range_holds_it() {
        for ns in (0..40)
            .map(|bit| 1_u64 << bit)
            .flat_map(|at| [at - 1, at, at + at / 3])
            .filter(|ns| *ns < 1 << 34)
        {
            let (from, to) = bucket_range(bucket_of(ns));
            assert!((from..to).contains(&ns), "{ns}: {from}..{to}");
        }
    }
}
