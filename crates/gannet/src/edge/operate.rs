//! What an operator asks of a running edge router, and what it counts.

use super::plan::Names;
use super::user_plane;
use crate::node::show as common;
use core::fmt::Write as _;
use gannet_machine::drops::Drop;
use gannet_node::edge::{Edge, Interface};
use gannet_ops::config::edge::EdgeOperation;
use gannet_ops::metrics::{Class, Group, Level, Metric};
use gannet_qos::edge::{Service, StreamView};
use gannet_rt::{Access, MachineId};

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
                show_streams(interface, names, out);
            }
        }
        EdgeOperation::ShowRules => show_rules(edge, names, out),
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
    let _ = writeln!(
        out,
        "Classifier: {} by the fast path, {} by the rules, {} flows put out; {} rules",
        paths.fast,
        paths.slow,
        paths.evicted,
        edge.rules().iter().count()
    );
    let _ = writeln!(out, "Destinations known: {}", edge.destinations());
    for interface in edge.interfaces() {
        let waiting = interface.waiting();
        let _ = match interface.totals() {
            Some(totals) => writeln!(
                out,
                "Interface {}: {} offered, {} sent, {} dropped, {} packets of {} octets wait",
                interface.name(),
                totals.offered,
                totals.served,
                totals.drops.total(),
                waiting.pdus,
                waiting.octets
            ),
            None => {
                writeln!(out, "Interface {}: {} sent, no queues", interface.name(), interface.unqueued().pdus)
            }
        };
    }
}

const fn word(service: Service) -> &'static str {
    match service {
        Service::Expedited => "ef",
        Service::Assured => "af",
        Service::NetworkControl => "control",
        Service::BestEffort => "be",
    }
}

fn show_streams(interface: &Interface, names: &Names, out: &mut String) {
    for (number, name) in names.all() {
        let Some(stream) = interface.stream(number) else { continue };
        let StreamView { config, allocation, granted, occupied, waiting, .. } = stream;
        let _ = writeln!(
            out,
            "Interface {}, stream {name} ({}, {} kbit/s): {} packets and {} octets sent, {} dropped; {waiting} wait, {occupied} of \
             {granted} octets granted of {allocation}",
            interface.name(),
            word(config.service),
            config.rate / 125,
            stream.served_pdus,
            stream.served_octets,
            stream.dropped_pdus,
        );
    }
}

fn show_rules(edge: &Edge, names: &Names, out: &mut String) {
    for (number, rule) in edge.rules().iter() {
        let _ = match rule.verdict.stream {
            None => write!(out, "Rule {number}: drop"),
            Some(stream) => write!(out, "Rule {number}: stream {}", names.of(stream)),
        };
        if let Some(mark) = rule.verdict.mark {
            let _ = write!(out, ", mark {mark}");
        }
        out.push('\n');
    }
}

/// What the router counts.
const NODE: Class =
    Class { name: "", osmocom: "edge", title: "Edge router", level: Level::Global, lines: Some("") };
/// What an interface counts.
const INTERFACE: Class =
    Class { name: "interface", osmocom: "interface", title: "Interface", level: Level::Peer, lines: None };
/// What a stream counts at an interface.
const STREAM: Class =
    Class { name: "stream", osmocom: "stream", title: "Stream", level: Level::Peer, lines: None };

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
    let mut group = interface_group(interface);
    reports.get(place).into_iter().for_each(|report| user_plane::count(report, &mut group));
    groups.push(group);
    for (number, name) in names.all() {
        groups.extend(interface.stream(number).map(|stream| stream_group(interface.name(), name, &stream)));
    }
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

fn interface_group(interface: &Interface) -> Group {
    let mut group = Group::labelled(&INTERFACE, vec![("interface", interface.name().to_owned())]);
    let waiting = interface.waiting();
    let (sent, dropped) = interface
        .totals()
        .map_or((interface.unqueued().pdus, 0), |totals| (totals.served, totals.drops.total()));
    group.add(Metric::counter("sent", "packets that left", sent));
    group.add(Metric::counter("dropped", "packets that its queues dropped", dropped));
    group.add(Metric::gauge("waiting", "packets that wait", waiting.pdus.into()));
    group.add(Metric::gauge("waiting_octets", "octets of these", waiting.octets));
    if let Some(totals) = interface.totals() {
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

fn stream_group(interface: &str, name: &str, stream: &StreamView) -> Group {
    let labels = vec![("interface", interface.to_owned()), ("stream", name.to_owned())];
    let mut group = Group::labelled(&STREAM, labels);
    group.add(Metric::counter("sent", "packets that left", stream.served_pdus));
    group.add(Metric::counter("sent_octets", "octets of these", stream.served_octets));
    group.add(Metric::counter("dropped", "packets that were dropped", stream.dropped_pdus));
    group.add(Metric::gauge("waiting", "packets that wait", stream.waiting.into()));
    group.add(Metric::gauge("granted", "octets of its allocation that are granted", stream.granted.into()));
    group.add(Metric::gauge("occupied", "octets that its packets occupy", stream.occupied.into()));
    group
}
