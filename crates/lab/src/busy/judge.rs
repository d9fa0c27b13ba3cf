//! What a cell has shown: its rows in the table of claims, and its numbers.

use super::neighbours::Beside;
use super::saturation::Saturation;
use super::service::{Downloads, Pings};
use crate::figure::Point;
use crate::measure::Candidate;
use crate::measure::stats::Samples;
use crate::report::Verdict;
use gannet_machine::drops::Drop;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How far the estimate may be from that of the control node.
pub(super) const NEAR: f64 = 0.2;
/// A service is judged where the load is below this part of saturation.
const LOAD_MAX: f64 = 0.5;
/// Of the pings that were to be sent, what was sent at the least: else the load was another one.
const SENT_MIN: f64 = 0.9;

/// Drops whose cause is the node as a whole, and not one mobile or cell.
const NODE_WIDE: [Drop; 5] = [
    Drop::FlowQueueNodeFull,
    Drop::UplinkQueueNodeFull,
    Drop::DemuxRingFull,
    Drop::DemuxFillEmpty,
    Drop::NoFrame,
];
/// The same of the kernel: rings of the SGSN's devices, which their peers count, and its sockets.
pub(super) const KERNEL_WIDE: [&str; 3] = ["ring_full_gn", "ring_full_gb", "udp.RcvbufErrors"];

/// What the service and the two estimates have shown.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    /// How long it took, in s.
    pub(super) seconds: f64,
    pub(super) pings: Pings,
    pub(super) downloads: Downloads,
    /// By how much each counter of the node has grown.
    pub(super) moved: BTreeMap<String, u64>,
    /// The estimate of the node and of the control node after each disturbance, in ns; `None` where a node has none.
    pub(super) estimates: Vec<[Option<u64>; 2]>,
    /// The estimate of the control node before it has measured anything.
    pub(super) initial: Option<u64>,
    /// The part of the time for which the machine below had taken the SGSNs' core.
    pub(super) stolen_share: f64,
}

/// A cell.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    pub(super) candidate: Candidate,
    pub(super) beside: Beside,
    pub(super) saturation: Saturation,
    pub(super) seen: Seen,
}

#[expect(clippy::cast_precision_loss, reason = "counts of a run stay far below 2^52")]
const fn to_f64(count: u64) -> f64 {
    count as f64
}

impl Measured {
    /// Its word in a configuration.
    pub(super) fn ingress(&self) -> &'static str {
        self.candidate.name().trim_start_matches("gannet-")
    }

    /// N-PDUs a second that were served downlink.
    fn load_per_s(&self) -> f64 {
        to_f64(self.seen.moved.get("n_pdu_downlink").copied().unwrap_or(0)) / self.seen.seconds.max(1e-9)
    }

    fn node_wide(&self) -> BTreeMap<String, u64> {
        let names = NODE_WIDE.iter().map(|drop| drop.name()).chain(KERNEL_WIDE);
        let moved = names.map(|name| (name.to_owned(), self.seen.moved.get(name).copied().unwrap_or(0)));
        moved.filter(|(_, count)| *count > 0).collect()
    }

    /// The estimate as a multiple of that of the control node, disturbance by disturbance.
    fn ratios(&self) -> Samples {
        let mut ratios = Samples::NONE;
        for [node, control] in &self.seen.estimates {
            if let (Some(node), Some(control)) = (node, control.filter(|ns| *ns > 0)) {
                ratios.push(to_f64(*node) / to_f64(control));
            }
        }
        ratios
    }

    /// The median of these; `None` where there is no estimate.
    pub(super) fn ratio(&self) -> Option<f64> {
        Some(self.ratios().median()).filter(|ratio| ratio.is_finite())
    }

    /// The same for a figure.
    pub(super) fn point(&self) -> Option<Point> {
        let ratios = self.ratios();
        let y = self.ratio()?;
        Some(Point { x: f64::from(self.beside.busy), y, spread: (ratios.min(), ratios.max()) })
    }

    /// Why the service of this cell says nothing, if it does not.
    fn unjudged(&self) -> Option<String> {
        let (load, saturation) = (self.load_per_s(), self.saturation.n_pdu_per_s);
        let pings = &self.seen.pings;
        if saturation <= 0.0 {
            return Some("no load was delivered whole, so that saturation is unknown".to_owned());
        }
        if load >= saturation * LOAD_MAX {
            return Some("the load is not below half of saturation".to_owned());
        }
        (to_f64(pings.sent) < to_f64(pings.asked) * SENT_MIN || pings.sent == 0)
            .then(|| format!("{} of {} pings could be sent", pings.sent, pings.asked))
    }

    /// No ping lost, nothing dropped for the node as a whole, every download right.
    fn service(&self) -> Verdict {
        let (pings, downloads) = (&self.seen.pings, &self.seen.downloads);
        let saturation = &self.saturation;
        let wide = self.node_wide();
        let named: Vec<String> = wide.iter().map(|(name, count)| format!("{name} {count}")).collect();
        let mut ours = format!(
            "{} of {} pings lost; {}; {} downloads right, {} not; {:.0} of {}{:.0} N-PDU/s",
            pings.lost(),
            pings.sent,
            if named.is_empty() { "no node-wide drop".to_owned() } else { named.join(", ") },
            downloads.right,
            downloads.failed(),
            self.load_per_s(),
            if saturation.is_at_least { "at least " } else { "" },
            saturation.n_pdu_per_s,
        );
        let fails = pings.lost() > 0 || !wide.is_empty() || downloads.failed() > 0;
        // What is wrong is wrong at any load.
        let holds = match self.unjudged() {
            _ if downloads.wrong > 0 => Some(false),
            Some(why) => {
                ours.push_str(&format!("; {why}"));
                None
            }
            None if fails => Some(false),
            None => (downloads.right > 0).then_some(true),
        };
        Verdict {
            name: format!("{}, {}: service", self.candidate, self.beside),
            means: "Ten mobiles with a ping and a download, well below saturation: what is lost, and what is dropped for the node as \
                    a whole, while processes come and go."
                .to_owned(),
            paper: None,
            ours,
            goal: "no ping lost, no node-wide drop, SHA-256 right".to_owned(),
            holds,
        }
    }

    /// The estimate after disturbances. `own` is the ratio of both nodes where nothing disturbs either.
    fn estimate(&self, own: Option<f64>) -> Option<Verdict> {
        if self.beside.busy == 0 || !self.has_estimate() {
            return None;
        }
        let ratios = self.ratios();
        let is_near = |ratio: f64| (1.0 - NEAR..=1.0 + NEAR).contains(&ratio);
        let median = |which: usize| {
            let mut of = Samples::NONE;
            let each = self.seen.estimates.iter().filter_map(|both| both.get(which).copied().flatten());
            each.for_each(|ns| of.push(to_f64(ns)));
            of.median()
        };
        let mut ours = format!(
            "{:.0} ns beside {:.0} ns: {:.2} times, median of {} ({:.2} to {:.2})",
            median(0),
            median(1),
            ratios.median(),
            ratios.len(),
            ratios.min(),
            ratios.max(),
        );
        // Two undisturbed nodes that differ are no measure of a disturbed one.
        let unlike = own.filter(|ratio| !is_near(*ratio));
        let holds = if ratios.len() < self.seen.estimates.len() || ratios.is_empty() {
            ours.push_str("; a node gave no estimate");
            None
        } else if self.seen.estimates.iter().all(|[_, control]| *control == self.seen.initial) {
            ours.push_str("; the control node has measured nothing yet");
            None
        } else if let Some(ratio) = unlike {
            ours.push_str(&format!("; undisturbed, the two nodes differ {ratio:.2} times"));
            None
        } else {
            own.map(|_| is_near(ratios.median()))
        };
        Some(Verdict {
            name: format!("{}, {}: estimate within 1 s after", self.candidate, self.beside),
            means: "What the node believes an N-PDU costs it, a second after busy processes have gone, beside the same of a node that \
                    was not disturbed."
                .to_owned(),
            paper: None,
            ours,
            goal: format!("within {:.0} % of the control node", NEAR * 100.0),
            holds,
        })
    }

    fn has_estimate(&self) -> bool {
        self.candidate != Candidate::Fifo
    }

    /// Its rows.
    pub(super) fn verdicts(&self, own: Option<f64>) -> Vec<Verdict> {
        [Some(self.service()), self.estimate(own)].into_iter().flatten().collect()
    }

    /// A line for the person who waits.
    pub(super) fn line(&self) -> String {
        let ratio = self.ratio().map_or_else(String::new, |ratio| format!("; estimate {ratio:.2} times"));
        format!("{}{ratio}", self.service().ours)
    }

    /// For the JSON.
    pub(super) fn metrics(&self) -> Vec<(String, Value)> {
        let Seen { pings, downloads, estimates, .. } = &self.seen;
        let of = |which: usize| -> Vec<Option<u64>> {
            estimates.iter().map(|both| both.get(which).copied().flatten()).collect()
        };
        let drops = self.seen.moved.iter().filter(|(name, count)| {
            **count > 0
                && (Drop::ALL.iter().any(|drop| drop.name() == *name) || KERNEL_WIDE.contains(&name.as_str()))
        });
        let drops: BTreeMap<&String, &u64> = drops.collect();
        let us = |share: f64| to_f64(pings.round_trip.quantile_ns(share)) / 1e3;
        let named = [
            ("seconds", json!(self.seen.seconds)),
            ("pings_asked", json!(pings.asked)),
            ("pings_sent", json!(pings.sent)),
            ("pings_lost", json!(pings.lost())),
            ("pings_doubled", json!(pings.doubled)),
            ("round_trip_p50_us", json!(us(0.5))),
            ("round_trip_p99_us", json!(us(0.99))),
            ("round_trip_max_us", json!(to_f64(pings.round_trip.max_ns()) / 1e3)),
            ("downloads_right", json!(downloads.right)),
            ("downloads_wrong", json!(downloads.wrong)),
            ("downloads_broken", json!(downloads.broken)),
            ("load_n_pdu_per_s", json!(self.load_per_s())),
            ("saturation", json!(self.saturation)),
            ("drops", json!(drops)),
            ("node_wide_drops", json!(self.node_wide())),
            ("estimate_ns", json!(of(0))),
            ("control_estimate_ns", json!(of(1))),
            ("initial_estimate_ns", json!(self.seen.initial)),
            ("estimate_ratio", self.ratio().map_or(Value::Null, |ratio| json!(ratio))),
            ("stolen_share", json!(self.seen.stolen_share)),
        ];
        named.map(|(name, value)| (name.to_owned(), value)).into()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A sound cell.
    pub(in crate::busy) fn cell_of(candidate: Candidate, beside: Beside) -> Measured {
        Measured { candidate, beside, ..cell() }
    }

    fn cell() -> Measured {
        let pings = Pings { asked: 5000, sent: 5000, received: 5000, ..Pings::default() };
        let downloads = Downloads { right: 7, ..Downloads::default() };
        let moved = BTreeMap::from([("n_pdu_downlink".to_owned(), 20_000)]);
        Measured {
            candidate: Candidate::Xdp,
            beside: Beside { busy: 2, is_pinned: true },
            saturation: Saturation { n_pdu_per_s: 20_000.0, is_at_least: false },
            seen: Seen {
                seconds: 20.0,
                pings,
                downloads,
                moved,
                estimates: vec![[Some(3300), Some(3000)]; 10],
                initial: Some(800),
                stolen_share: 0.0,
            },
        }
    }

    fn dropped(cell: &mut Measured, name: &str, count: u64) {
        cell.seen.moved.insert(name.to_owned(), count);
    }

    fn service(change: impl FnOnce(&mut Measured)) -> Option<bool> {
        let mut cell = cell();
        change(&mut cell);
        cell.service().holds
    }

    #[test]
    fn a_service_holds_only_where_it_was_measured() {
        assert_eq!(service(|_| ()), Some(true));
        assert_eq!(service(|cell| cell.seen.pings.received -= 1), Some(false));
        assert_eq!(service(|cell| cell.seen.downloads.wrong = 1), Some(false));
        assert_eq!(service(|cell| cell.seen.downloads.broken = 1), Some(false));
        for name in NODE_WIDE.iter().map(|drop| drop.name()).chain(KERNEL_WIDE) {
            assert_eq!(service(|cell| dropped(cell, name, 1)), Some(false), "{name}");
        }
        // The queue of one context that a download fills is its own.
        let own = Drop::FlowQueueFull.name();
        assert_eq!(service(|cell| dropped(cell, own, 3)), Some(true));
        // Not shown: no saturation, too high a load, too little of it, no download.
        assert_eq!(service(|cell| cell.saturation.n_pdu_per_s = 0.0), None);
        assert_eq!(service(|cell| cell.saturation.n_pdu_per_s = 1900.0), None);
        assert_eq!(service(|cell| cell.seen.pings.asked = 6000), None);
        assert_eq!(service(|cell| cell.seen.downloads.right = 0), None);
        // And what is lost at too high a load says nothing either, but for octets that are wrong.
        let lost =
            |cell: &mut Measured| (cell.saturation.n_pdu_per_s, cell.seen.pings.received) = (1900.0, 1);
        assert_eq!(service(lost), None);
        assert_eq!(
            service(|cell| {
                lost(cell);
                cell.seen.downloads.wrong = 1;
            }),
            Some(false)
        );
    }

    fn estimate(own: Option<f64>, change: impl FnOnce(&mut Measured)) -> Option<Option<bool>> {
        let mut cell = cell();
        change(&mut cell);
        cell.estimate(own).map(|verdict| verdict.holds)
    }

    #[test]
    fn an_estimate_is_judged_by_a_control_node_that_is_one() {
        assert_eq!(estimate(Some(1.05), |_| ()), Some(Some(true)));
        let ratcheted = |cell: &mut Measured| cell.seen.estimates = vec![[Some(11_623), Some(3125)]; 10];
        assert_eq!(estimate(Some(1.0), ratcheted), Some(Some(false)));
        // The median counts, and not the worst.
        let once = |cell: &mut Measured| cell.seen.estimates[3] = [Some(30_000), Some(3000)];
        assert_eq!(estimate(Some(1.0), once), Some(Some(true)));
        // Too low is as wrong as too high.
        let low = |cell: &mut Measured| cell.seen.estimates = vec![[Some(2000), Some(3000)]; 10];
        assert_eq!(estimate(Some(1.0), low), Some(Some(false)));
        assert_eq!(estimate(Some(1.3), |_| ()), Some(None), "the two nodes differ by themselves");
        assert_eq!(estimate(None, |_| ()), Some(None));
        let missing = |cell: &mut Measured| cell.seen.estimates[0] = [Some(3000), None];
        assert_eq!(estimate(Some(1.0), missing), Some(None));
        // Two nodes that say what was configured agree in nothing that was measured.
        let idle = |cell: &mut Measured| cell.seen.estimates = vec![[Some(800), Some(800)]; 10];
        assert_eq!(estimate(Some(1.0), idle), Some(None));
        assert_eq!(estimate(Some(1.0), |cell| cell.beside.busy = 0), None);
        assert_eq!(estimate(Some(1.0), |cell| cell.candidate = Candidate::Fifo), None);
    }

    #[test]
    fn the_line_says_what_happened() {
        let mut cell = cell();
        cell.seen.moved.insert(Drop::FlowQueueNodeFull.name().to_owned(), 12);
        (cell.seen.pings.received, cell.saturation.is_at_least) = (4988, true);
        let line = cell.line();
        for part in [
            "12 of 5000 pings lost",
            "flow_queue_node_full 12",
            "7 downloads right, 0 not",
            "1000 of at least 20000",
        ] {
            assert!(line.contains(part), "{part}: {line}");
        }
        assert_eq!(Beside { busy: 1, is_pinned: false }.to_string(), "1 busy process on no core");
    }
}
