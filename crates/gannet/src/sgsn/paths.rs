//! How user data gets from the machine's interfaces into the SGSN and out of it, and what an operator sees of that.

use super::{SOCKET_BUFFER_OCTETS, SgsnNode};
use crate::node::in_use;
use crate::node::statistics::number;
use core::fmt::Write as _;
use core::net::SocketAddr;
use gannet_machine::trace::{Category, Level, TraceSink};
use gannet_node::sgsn::{GB, GTP_U, GTP_V0, Sgsn};
use gannet_ops::config::BusyPoll;
use gannet_ops::config::sgsn as ops;
use gannet_ops::metrics::{self, Class, Group, Metric};
use gannet_proto::gtp::TeidKey;
use gannet_qos::class as qos;
use gannet_rt::{
    Access, Backend, EMPTY_WHERE_POLLED, EventLoop, FlowCounters, IngressConfig, LoopConfig, MachineId,
    OutputConfig, OutputWay, Ring, Traffic, UdpConfig,
};
use gannet_wire::gtp;
use gannet_wire::id::Imsi;

/// The kernel's path as configured.
#[derive(Debug)]
pub struct Paths {
    /// Of Gn.
    ingress: IngressConfig,
    /// Of Gb.
    uplink: IngressConfig,
    output: OutputConfig,
    core: Option<usize>,
}

impl Paths {
    /// For G-PDUs to an address, and so many places for PDP contexts, so many of which may be of GTPv0; for NS at another, and so many for mobiles.
    pub fn new(
        (service, busy_poll): (&ops::Service, BusyPoll),
        (gtp_u, contexts, contexts_v0): (SocketAddr, usize, usize),
        (gb, mobiles): (SocketAddr, usize),
    ) -> Self {
        let mut udp = UdpConfig::new(gtp_u).record_as("Gn");
        udp.buffer_octets = Some(service.socket_buffer_kib as usize * 1024);
        let v0 = UdpConfig { bind: SocketAddr::new(gtp_u.ip(), gtp::PORT_V0), ..udp.clone() };
        let mut ingress = IngressConfig::new(udp);
        ingress.v0 = Some((GTP_V0, v0));
        ingress.contexts = u32::try_from(contexts).unwrap_or(u32::MAX);
        ingress.contexts_v0 = u32::try_from(contexts_v0).unwrap_or(u32::MAX);
        (ingress.real_time_ring, ingress.high_ring, ingress.best_effort_ring) = (256, 1024, 1024);
        ingress.backend = match service.ingress {
            ops::Ingress::Auto => Backend::Auto,
            ops::Ingress::Fifo => Backend::Fifo,
            ops::Ingress::Reuseport => Backend::Reuseport,
            ops::Ingress::Xdp => Backend::Xdp,
        };
        let mut udp = UdpConfig::new(gb).record_as("Gb");
        udp.sends_downlink = true;
        udp.buffer_octets = Some(SOCKET_BUFFER_OCTETS);
        let mut uplink = IngressConfig {
            traffic: Traffic::Gb,
            contexts: u32::try_from(mobiles).unwrap_or(u32::MAX),
            real_time_ring: 2048,
            high_ring: 2048,
            ..IngressConfig::new(udp)
        };
        let way = match service.gb_output {
            ops::GbOutput::Auto => OutputWay::Auto,
            ops::GbOutput::Udp => OutputWay::Udp,
            ops::GbOutput::Xdp => OutputWay::Xdp,
        };
        let mut output = OutputConfig { way, ..OutputConfig::default() };
        shrink_for_few(mobiles, [&mut ingress, &mut uplink], &mut output);
        if busy_poll == BusyPoll::Always {
            (ingress.empty, uplink.empty) = (EMPTY_WHERE_POLLED, EMPTY_WHERE_POLLED);
        }
        Self { ingress, uplink, output, core: service.core.map(usize::from) }
    }

    /// What the classifier of Gn needs to know contexts by their TEIDs.
    pub const fn set_teid_key(&mut self, key: TeidKey) {
        self.ingress.teid_key = key;
    }

    /// What the loop must be for it.
    pub fn shape(&self, options: &mut LoopConfig) {
        options.core = self.core;
        let receives = matches!(self.ingress.backend, Backend::Auto | Backend::Xdp);
        let sends = self.output.way != OutputWay::Udp;
        let rings = self.ingress.ring_frames() + self.uplink.ring_frames();
        options.ring_frames +=
            if receives { rings } else { 0 } + if sends { self.output.ring_frames() } else { 0 };
    }

    /// The socket of NS.
    pub const fn ns_socket(&self) -> &UdpConfig {
        &self.uplink.udp
    }

    /// Opens all ways; the socket of NS is bound already. The log says what was taken, and why nothing better. Gb is
    /// classified where Gn is, as far as its device permits: with both interfaces on one device Gn has the program.
    ///
    /// # Errors
    /// A sentence: what the machine does not permit of what was asked for by name.
    pub fn open(&self, machine: MachineId<Sgsn>, node: &mut EventLoop) -> Result<(), String> {
        let ingress = node.attach_ingress(machine, GTP_U, &self.ingress).map_err(|error| in_use(&error))?;
        let backend = if ingress.backend == Backend::Xdp { Backend::Auto } else { Backend::Fifo };
        let uplink = IngressConfig { backend, ..self.uplink.clone() };
        let uplink = node.attach_ingress(machine, GB, &uplink).map_err(|error| in_use(&error))?;
        let output = node.attach_output(machine, GB, &self.output).map_err(|error| in_use(&error))?;
        let on =
            |device: &Option<String>| device.as_ref().map_or_else(String::new, |name| format!(" on {name}"));
        let mut access = node.access();
        let mut say = |text: core::fmt::Arguments<'_>| access.log().line(Category::Main, Level::Notice, text);
        say(format_args!("G-PDUs come in by {}{}", ingress.backend, on(&ingress.device)));
        ingress.refused.iter().for_each(|why| say(format_args!("  {why}")));
        say(format_args!("UL-UNITDATA come in by {}{}", uplink.backend, on(&uplink.device)));
        uplink.refused.iter().for_each(|why| say(format_args!("  {why}")));
        say(format_args!("DL-UNITDATA leave by {}{}", output.way, on(&output.device)));
        output.refused.iter().for_each(|why| say(format_args!("  {why}")));
        Ok(())
    }
}

/// Rings of a node for few mobiles are shorter, since each place has a frame. What may come before the loop runs is as much as there are
/// empty frames: enough for 100 ms of what the radio of so many carries, and for bursts of some at once.
fn shrink_for_few(mobiles: usize, ways_in: [&mut IngressConfig; 2], output: &mut OutputConfig) {
    let few = |ring: &mut u32, each: usize, least: u32| {
        let wanted = mobiles.saturating_mul(each).next_power_of_two();
        *ring = u32::try_from(wanted).unwrap_or(u32::MAX).max(least).min(*ring);
    };
    for way in ways_in {
        for ring in [&mut way.signalling_ring, &mut way.real_time_ring, &mut way.high_ring] {
            few(ring, 2, 256);
        }
        few(&mut way.best_effort_ring, 4, 512);
        few(&mut way.empty, 8, 1024);
    }
    few(&mut output.ring, 4, 512);
}

const fn ring_name(ring: Ring) -> &'static str {
    match ring {
        Ring::Signalling => "signalling",
        Ring::RealTime => "real_time",
        Ring::High => "high",
        Ring::BestEffort => "best_effort",
    }
}

const GN: Class = Class {
    name: "",
    osmocom: "gn",
    title: "Ways of user data",
    level: metrics::Level::Global,
    lines: Some(""),
};
const UPLINK: Class = Class {
    name: "uplink",
    osmocom: "gb",
    title: "Ways from BSSs",
    level: metrics::Level::Global,
    lines: Some("uplink_"),
};

/// What was counted before the node: its drops with those of the node, which is the last of the groups.
pub fn groups(access: &mut Access<'_>, groups: &mut Vec<Group>) {
    let (path, time) = (access.kernel_path(), access.loop_time());
    if let Some(node) = groups.last_mut() {
        let micros = |span: gannet_machine::time::Duration| span.0 / 1000;
        let help = "how long the loop has run that never sleeps, in microseconds";
        node.add(Metric::counter("loop_us", help, micros(time.all)));
        let help = "how long of that it had something to do";
        node.add(Metric::counter("loop_busy_us", help, micros(time.busy)));
        node.add_drops(access.log().drops());
        path.drops().into_iter().for_each(|(drop, count)| node.count_drop(drop, count));
    }
    let mut gn = Group::single(&GN);
    if let Some(totals) = path.of_port(GTP_U).next() {
        add_totals(totals, &[qos::Class::RealTime, qos::Class::BestEffort], &mut gn);
    }
    let frames = |pick: fn(&gannet_rt::SocketReport) -> u64| path.sockets.iter().map(pick).sum::<u64>();
    gn.add(Metric::counter(
        "sent_by_frame",
        "datagrams that left as frames",
        frames(|socket| socket.by_frame),
    ));
    let help = "datagrams that left through the kernel";
    gn.add(Metric::counter("sent_by_kernel", help, frames(|socket| socket.by_kernel)));
    if let Some(pages) = path.exchanged {
        gn.add(Metric::counter("sent_in_pages", "frames that left in pages of what arrived", pages.carried));
        gn.add(Metric::counter("pages_refused", "such frames that were refused", pages.refused.into()));
    }
    let held = path.devices.iter().map(|device| device.frames_held).sum();
    gn.add(Metric::gauge("frames_with_kernel", "frames that the kernel has", number(held)));
    groups.push(gn);
    if let Some(totals) = path.of_port(GB).next() {
        let mut uplink = Group::single(&UPLINK);
        add_totals(totals, &qos::Class::ALL, &mut uplink);
        let drops = totals.drops().map(|(drop, count)| Metric::of_drop(drop, count));
        drops.for_each(|metric| uplink.add(metric));
        groups.push(uplink);
    }
}

/// What a classifier let through.
fn add_totals(totals: &gannet_demux::Totals, classes: &[qos::Class], group: &mut Group) {
    for class in classes {
        let (name, help) = match class {
            qos::Class::Signalling => ("redirected_signalling", "signalling that was put into its ring"),
            qos::Class::RealTime => ("redirected_real_time", "real time that was put into its ring"),
            qos::Class::BestEffort => ("redirected_best_effort", "best effort that was put into its ring"),
        };
        group.add(Metric::counter(name, help, totals.redirected(*class)));
    }
    let help = "of unknown senders or receivers, what was let through";
    group.add(Metric::counter("redirected_unknown_sampled", help, totals.sampled()));
    group.add(Metric::counter("passed_to_kernel", "what was left to the kernel", totals.to_kernel()));
}

/// `show ingress`.
pub fn show(access: &Access<'_>, out: &mut String) {
    let path = access.kernel_path();
    let _ = writeln!(out, "devices are polled: {}", path.busy_poll);
    for socket in &path.sockets {
        let port = match socket.port {
            GB => "Gb",
            GTP_U => "GTP-U",
            GTP_V0 => "GTPv0",
            _ => "GTP-C",
        };
        let _ = write!(out, "{port} {}: in by {}, out by {}", socket.address, socket.backend, socket.output);
        if socket.output == OutputWay::Xdp {
            let _ = write!(
                out,
                " ({} as frames to {} peers, {} through the kernel)",
                socket.by_frame, socket.peers_resolved, socket.by_kernel
            );
        }
        let polls = if socket.polls { ", polled" } else { "" };
        let _ = writeln!(out, ", NAPI {}{polls}", socket.napi);
    }
    if let Some(pages) = path.exchanged {
        let _ = writeln!(
            out,
            "{} frames left in pages of what arrived, {} were refused; pages are {} now",
            pages.carried,
            pages.refused,
            if pages.is_on { "exchanged" } else { "not exchanged" }
        );
        let who = if pages.decides {
            "the loop, since very many contexts are known"
        } else {
            "the program at the driver"
        };
        let _ = writeln!(out, "whose G-PDU it is decides {who}");
    }
    for device in &path.devices {
        let state = if device.is_there { "in use" } else { "away" };
        let _ = writeln!(out, "{}: {state}, {} frames with the kernel", device.name, device.frames_held);
        for (ring, counted) in &device.rings {
            let _ = writeln!(
                out,
                "  ring of {}: {} lost since it was full, {} since no frame was there, {} otherwise",
                ring_name(*ring),
                counted.rx_ring_full,
                counted.rx_fill_ring_empty,
                counted.rx_dropped
            );
        }
    }
    for (port, what, whose) in [(GTP_U, "G-PDUs", "unknown contexts"), (GB, "UL-UNITDATA", "unknown mobiles")]
    {
        let Some(totals) = path.of_port(port).next() else { continue };
        let redirected = |class| totals.redirected(class);
        let _ = writeln!(
            out,
            "{what} classified: {} signalling, {} real time, {} best effort; {} of {whose} were let through, \
             {} went to the kernel",
            redirected(qos::Class::Signalling),
            redirected(qos::Class::RealTime),
            redirected(qos::Class::BestEffort),
            totals.sampled(),
            totals.to_kernel()
        );
        for (drop, count) in totals.drops().filter(|(_, count)| *count > 0) {
            let _ = writeln!(out, "  {} {count}: {}", drop.name(), drop.sentence());
        }
    }
}

/// `show why imsi IMSI`: what was dropped of a mobile before the node and in its queues, by context.
pub fn why(node: &SgsnNode, access: &mut Access<'_>, imsi: Imsi, out: &mut String) {
    let Some(sgsn) = access.look_at(node.machine) else { return };
    let Some((slot, mobile)) = sgsn.mobile_of(imsi) else { return };
    let uplink = sgsn.uplink().and_then(|uplink| uplink.view(slot));
    let mut flows = Vec::new();
    for (nsapi, bearer) in mobile.bearers() {
        flows.push((nsapi, bearer.name, sgsn.flow_of(bearer.name)));
    }
    for (nsapi, name, view) in flows {
        if let Some(view) = view {
            let _ = writeln!(
                out,
                "NSAPI {nsapi}: {} N-PDUs wait{}, {} were served, {} dropped in its queue",
                view.queued.pdus,
                if view.blocked { " and are not served now" } else { "" },
                view.served,
                view.dropped
            );
        }
        if let Some(counters) = access.flow_counters(name.0) {
            passed(format_args!("NSAPI {nsapi}: {} N-PDUs", counters.passed), counters, out);
        }
    }
    if let Some(view) = uplink {
        let _ = writeln!(
            out,
            "uplink: {} LL-PDUs of user data wait, {} were served, {} dropped in their queue",
            view.queued.pdus, view.served, view.dropped
        );
    }
    if let Some(counters) = access.flow_counters(slot.index) {
        passed(format_args!("uplink: {} LL-PDUs", counters.passed), counters, out);
    }
}

/// What a classifier counted for one flow.
fn passed(what: core::fmt::Arguments<'_>, counters: FlowCounters, out: &mut String) {
    let _ = writeln!(out, "{what} passed the driver");
    for (drop, count) in counters.drops().into_iter().filter(|(_, count)| *count > 0) {
        let _ = writeln!(out, "  {} {count}: {}", drop.name(), drop.sentence());
    }
}
