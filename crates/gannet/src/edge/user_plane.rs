//! How packets come to the router and leave it: AF_XDP where the machine permits it, else packet sockets.

use core::fmt::Write as _;
use gannet_machine::Port;
use gannet_machine::trace::{Category, Level, TraceSink as _};
use gannet_node::edge::Edge;
use gannet_ops::config::edge::UserPlane;
use gannet_ops::metrics::{Group, Metric};
use gannet_rt::{Access, EventLoop, MachineId, PacketReport, PacketRings, Seen};

/// Frames that the rings of all interfaces may hold.
pub fn ring_frames(wanted: UserPlane, interfaces: usize) -> usize {
    match wanted {
        UserPlane::Socket => 0,
        UserPlane::Auto | UserPlane::Xdp => interfaces * PacketRings::default().frames(),
    }
}

/// Takes AF_XDP into service on each interface, behind the packet sockets. The log says of each what was taken, and why not AF_XDP.
///
/// # Errors
/// A sentence: what the machine does not permit, where AF_XDP was asked for by name.
pub fn open(
    wanted: UserPlane,
    machine: MachineId<Edge>,
    interfaces: &[String],
    node: &mut EventLoop,
) -> Result<(), String> {
    for (name, port) in interfaces.iter().zip(0..) {
        let attached = match wanted {
            UserPlane::Socket => Err("configured so".to_owned()),
            UserPlane::Auto | UserPlane::Xdp => {
                node.attach_packet_rings(machine, Port(port), PacketRings::default())
            }
        };
        let mut access = node.access();
        let mut say = |text: core::fmt::Arguments<'_>| {
            access.log().line(Category::Main, Level::Notice, format_args!("interface {name}: {text}"));
        };
        match attached {
            Ok(()) => say(format_args!("packets come and leave by AF_XDP")),
            Err(why) if wanted == UserPlane::Xdp => {
                return Err(format!("interface {name}: no AF_XDP: {why}"));
            }
            Err(why) => say(format_args!("packets come and leave by a packet socket; no AF_XDP: {why}")),
        }
    }
    Ok(())
}

/// `show user-plane`.
pub fn show(machine: MachineId<Edge>, access: &mut Access<'_>, out: &mut String) {
    for PacketReport { device, by_socket, ring } in access.packet_reports(machine) {
        let Some((by_ring, seen)) = ring else {
            let _ = writeln!(out, "Interface {device}: packet socket, {by_socket} packets received");
            continue;
        };
        let _ = writeln!(
            out,
            "Interface {device}: AF_XDP, {by_ring} packets received by its ring and {by_socket} by its packet socket"
        );
        for (what, count) in seen.all() {
            let _ = writeln!(out, "  {count} frames: {}", what.sentence());
        }
    }
}

/// Adds what the driver counts to the group of an interface.
pub fn count(report: &PacketReport, group: &mut Group) {
    group.add(Metric::counter(
        "received_by_socket",
        "packets that came by the packet socket",
        report.by_socket,
    ));
    let (by_ring, seen) = report.ring.unwrap_or_default();
    group.add(Metric::counter("received_by_ring", "packets that came by AF_XDP", by_ring));
    let left = seen.all().map(|(_, count)| count).sum::<u64>() - seen.of(Seen::Ring);
    group.add(Metric::counter(
        "left_by_driver",
        "frames that the program of AF_XDP left to the kernel",
        left,
    ));
}
