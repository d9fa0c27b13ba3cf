//! What an operator asks of a running edge router, and what it counts.

use super::user_plane;
use crate::node::show as common;
use crate::node::streams::{self, Names};
use core::fmt::Write as _;
use gannet_node::edge::Edge;
use gannet_ops::config::edge::EdgeOperation;
use gannet_ops::metrics::{Class, Group, Level, Metric};
use gannet_rt::{Access, MachineId};

/// What stands in front of an interface's name.
const INTERFACE_WORD: &str = "Interface";

/// Does it.
pub fn execute(
    (machine, names): (MachineId<Edge>, &Names),
    operation: &EdgeOperation,
    access: &mut Access<'_>,
    out: &mut String,
) {
    if *operation == EdgeOperation::ShowDrops {
        common::drops(access, out);
        for (drop, count) in access.kernel_path().drops().into_iter().filter(|(_, count)| *count > 0) {
            let _ = write!(out, "{}", gannet_ops::view::DropCount { drop, count });
        }
        return;
    }
    if *operation == EdgeOperation::ShowUserPlane {
        return user_plane::show(machine, access, out);
    }
    let Some(edge) = access.look_at(machine) else { return };
    match operation {
        EdgeOperation::ShowEdge => show_edge(edge, out),
        EdgeOperation::ShowStreams => {
            for interface in edge.interfaces() {
                streams::show_streams(INTERFACE_WORD, interface, names, out);
            }
        }
        EdgeOperation::ShowRules => streams::show_rules(edge.rules(), names, out),
        EdgeOperation::ShowDrops | EdgeOperation::ShowUserPlane => {}
    }
}

fn show_edge(edge: &Edge, out: &mut String) {
    let (counts, paths) = (edge.counts(), edge.paths());
    let _ = writeln!(
        out,
        "Packets: {} arrived, {} forwarded, {} left to the kernel, {} fragmented",
        counts.arrived, counts.forwarded, counts.left_to_kernel, counts.fragmented
    );
    streams::show_paths(paths, edge.rules(), out);
    let _ = writeln!(out, "Destinations known: {}", edge.destinations());
    for interface in edge.interfaces() {
        streams::show_way(INTERFACE_WORD, interface, out);
    }
}

/// What the router counts.
const NODE: Class =
    Class { name: "", osmocom: "edge", title: "Edge router", level: Level::Global, lines: Some("") };
/// What an interface counts.
const INTERFACE: Class =
    Class { name: "interface", osmocom: "interface", title: "Interface", level: Level::Peer, lines: None };
/// The router first, then one interface a part, with its streams.
pub fn groups(
    (machine, names): (MachineId<Edge>, &Names),
    part: usize,
    access: &mut Access<'_>,
    groups: &mut Vec<Group>,
) -> bool {
    let reports = access.packet_reports(machine);
    let Some(edge) = access.look_at(machine) else { return false };
    let Some(place) = part.checked_sub(1) else {
        groups.push(node_group(edge));
        return true;
    };
    let Some(interface) = edge.interfaces().get(place) else { return false };
    let labels = vec![("interface", interface.name().to_owned())];
    let mut group = streams::way_group(&INTERFACE, labels.clone(), interface);
    reports.get(place).into_iter().for_each(|report| user_plane::count(report, &mut group));
    groups.push(group);
    streams::stream_groups(&labels, interface, names, groups);
    part < edge.interfaces().len()
}

fn node_group(edge: &Edge) -> Group {
    let (counts, paths) = (edge.counts(), edge.paths());
    let mut group = Group::single(&NODE);
    for (name, help, value) in [
        ("packets_arrived", "packets that arrived", counts.arrived),
        ("packets_forwarded", "packets that were given to an interface", counts.forwarded),
        ("packets_left_to_kernel", "packets that the kernel answers or delivers", counts.left_to_kernel),
        ("packets_fragmented", "packets that were fragmented", counts.fragmented),
        ("fast_path", "packets whose flow the fast path remembered", paths.fast),
        ("slow_path", "packets for which the rules were asked", paths.slow),
        ("flows_evicted", "flows that were put out of the fast path for others", paths.evicted),
    ] {
        group.add(Metric::counter(name, help, value));
    }
    let known = crate::node::statistics::number(edge.destinations());
    group.add(Metric::gauge("destinations", "destinations whose way is known", known));
    group
}
