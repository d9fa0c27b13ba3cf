//! Groups that were collected in parts agree with each other.
//!
//! Parts are of different moments: what comes or goes in between could be counted and not listed, listed and not counted,
//! or listed twice. So what a node counts of its NS-VCs and cells follows from those that are listed, each once.

use super::of_view::{BVC, NS_VC};
use super::{Class, Group};

/// A gauge of the node that says how many objects of a class are listed.
struct Sum {
    gauge: &'static str,
    class: &'static Class,
    /// Which of them count.
    counts: fn(&Group) -> bool,
}

const SUMS: [Sum; 3] = [
    Sum { gauge: "ns_vcs", class: &NS_VC, counts: |_| true },
    Sum { gauge: "ns_vcs_unblocked", class: &NS_VC, counts: is_unblocked },
    Sum { gauge: "cells", class: &BVC, counts: is_of_a_cell },
];

fn is_unblocked(group: &Group) -> bool {
    group.metrics.iter().any(|metric| metric.name == "unblocked" && metric.value == 1)
}

/// BVCI 0 is the signalling BVC of an NSE (08.18 clause 5.4.1).
fn is_of_a_cell(group: &Group) -> bool {
    !group.labels.iter().any(|(label, value)| *label == "bvci" && value == "0")
}

/// Leaves out what is listed twice, gives each index of Osmocom's to the first that has it, and has the node's own gauges say what is listed. Without the node's group, as where
/// a single part was asked for, nothing is counted.
pub fn agree(groups: &mut Vec<Group>) {
    let mut seen = std::collections::HashSet::new();
    groups.retain(|group| seen.insert((group.class.osmocom, group.labels.clone())));
    let mut numbers = std::collections::HashSet::new();
    for group in groups.iter_mut() {
        group.number.take_if(|number| !numbers.insert((group.class.osmocom, number.clone())));
    }
    for Sum { gauge, class, counts } in SUMS {
        let listed = groups.iter().filter(|group| group.class == class && counts(group)).count();
        let node = groups.iter_mut().find(|group| group.class.name.is_empty());
        if let Some(metric) =
            node.and_then(|node| node.metrics.iter_mut().find(|metric| metric.name == gauge))
        {
            metric.value = u64::try_from(listed).unwrap_or(u64::MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::NODE;
    use super::super::{Group, Metric};
    use super::*;

    fn node() -> Group {
        let mut node = Group::single(&NODE);
        for gauge in ["mobiles", "ns_vcs", "ns_vcs_unblocked", "cells"] {
            node.add(Metric::gauge(gauge, "", 7));
        }
        node
    }

    fn part(class: &'static Class, label: &'static str, value: u8, unblocked: u64) -> Group {
        let mut group = Group::labelled(class, vec![("nsei", "101".to_owned()), (label, value.to_string())]);
        group.add(Metric::gauge("unblocked", "", unblocked));
        group
    }

    #[test]
    fn a_node_counts_what_is_listed() {
        let mut groups = vec![
            node(),
            part(&NS_VC, "nsvci", 1, 1),
            part(&NS_VC, "nsvci", 2, 0),
            part(&BVC, "bvci", 0, 1),
            part(&BVC, "bvci", 2, 0),
            part(&BVC, "bvci", 3, 1),
            // The list had moved by one when the next part was asked for.
            part(&BVC, "bvci", 3, 1),
        ];
        agree(&mut groups);
        assert_eq!(groups.len(), 6);
        let values: Vec<u64> = groups[0].metrics.iter().map(|metric| metric.value).collect();
        assert_eq!(values, [7, 2, 1, 2], "mobiles are not listed");
    }

    #[test]
    fn a_part_alone_stays_as_it_is() {
        let mut groups = vec![part(&BVC, "bvci", 2, 0)];
        agree(&mut groups);
        assert_eq!(groups, [part(&BVC, "bvci", 2, 0)]);
    }
}
