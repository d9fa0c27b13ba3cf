//! Which back end forwards for a GGSN: chosen at the start, asked for what it has done, and shown.

use super::Instance;
use core::fmt::Write as _;
use gannet_machine::drops::Drop;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::{Category, Level, TraceSink};
use gannet_node::ggsn::{Ggsn, GgsnConfig};
use gannet_ops::config::ggsn::UserPlane;
use gannet_ops::metrics::{self, Class, Group, Metric};
use gannet_rt::{
    Access, EventLoop, ForwardingConfig, ForwardingNetwork, ForwardingReport, MachineId, Service,
};
use std::io;
use std::net::IpAddr;

/// How often the node hears what the driver has forwarded, and how many contexts it then asks about in one turn of the loop.
const ASK_EVERY: Duration = Duration::from_secs(1);
const ASKED_AT_ONCE: u32 = 2048;

/// What is configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub back_end: UserPlane,
    /// The Gi interface of each access point.
    pub interfaces: Vec<Option<String>>,
}

impl Wanted {
    /// Says what is missing.
    pub fn check(&self, ggsn: &str) -> Result<(), String> {
        if self.back_end == UserPlane::Xdp && self.interfaces.iter().all(Option::is_none) {
            return Err(format!(
                "ggsn {ggsn}: 'user-plane xdp' needs 'gi-interface NAME' at one of its access points at least"
            ));
        }
        Ok(())
    }
}

/// Takes the back end into service, behind the sockets and the TUN devices, whose names are `tuns`; the log says which it is, and
/// why not the other one.
///
/// # Errors
/// A sentence: what the machine does not permit of what was asked for by name.
pub fn open(
    (name, wanted): (&str, &Wanted),
    machine: MachineId<Ggsn>,
    config: &GgsnConfig,
    tuns: &[String],
    node: &mut EventLoop,
) -> Result<(), String> {
    let say = |node: &mut EventLoop, text: core::fmt::Arguments<'_>| {
        node.access().log().line(Category::Main, Level::Notice, format_args!("ggsn {name}: {text}"));
    };
    if wanted.back_end == UserPlane::Tun || wanted.interfaces.iter().all(Option::is_none) {
        say(node, format_args!("user data goes by the TUN devices"));
        return Ok(());
    }
    let is_auto = wanted.back_end == UserPlane::Auto;
    let refused = if is_auto && node.access().recorder().is_some() {
        Err("what the driver forwards would be missing in the capture".to_owned())
    } else {
        forwarding(wanted, config, tuns).and_then(|config| node.attach_forwarding(machine, &config))
    };
    let report = match refused {
        Ok(report) => report,
        Err(why) if is_auto => {
            say(node, format_args!("user data goes by the TUN devices; no forwarding at the driver: {why}"));
            return Ok(());
        }
        Err(why) => return Err(format!("ggsn {name}: no forwarding at the driver: {why}")),
    };
    say(node, format_args!("user data is forwarded at the driver: {}", devices(&report)));
    say(node, format_args!("  filters and address translation of this machine do not see it"));
    let networks = wanted.interfaces.iter().map(Option::is_some).collect();
    if let Some(ggsn) = node.access().machine(machine) {
        ggsn.forward_at_driver(networks);
    }
    let asking = Asking { machine, place: 0, at: Instant::ZERO };
    node.add_service(Box::new(asking)).map_err(|error| error.to_string())
}

fn forwarding(wanted: &Wanted, config: &GgsnConfig, tuns: &[String]) -> Result<ForwardingConfig, String> {
    let IpAddr::V4(user) = config.address else {
        return Err("it needs an IPv4 address for G-PDUs".to_owned());
    };
    let told = [config.told.control, config.told.user].map(|told| told.map(IpAddr::V4));
    let own = [Some(config.address), config.second_address].into_iter().chain(told);
    let all_v4 = config.apns.iter().flat_map(|apn| apn.v4.all());
    let all_v6 = config.apns.iter().flat_map(|apn| apn.v6.all());
    let of_v4 = all_v4.map(|network| (IpAddr::V4(network.address), network.length));
    let of_v6 = all_v6.map(|network| (IpAddr::V6(network.address), network.length));
    let network = |(interface, tun): (&Option<String>, &String)| {
        interface.clone().map(|interface| ForwardingNetwork { interface, tun: tun.clone() })
    };
    Ok(ForwardingConfig {
        user,
        addresses: own.into_iter().flatten().collect(),
        pools: of_v4.chain(of_v6).collect(),
        contexts: config.context_limit,
        teid_key: config.teid_key,
        networks: wanted.interfaces.iter().zip(tuns).map(network).collect(),
    })
}

fn devices(report: &ForwardingReport) -> String {
    let one = |(name, mode): &(String, Option<gannet_rt::ForwardingMode>)| match mode {
        Some(mode) => format!("{name} in {mode} mode"),
        None => format!("{name} is away"),
    };
    report.devices.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Has the node hear once a second what the driver has forwarded.
struct Asking {
    machine: MachineId<Ggsn>,
    /// Where in the table it goes on.
    place: u32,
    at: Instant,
}

impl Service for Asking {
    fn start(&mut self, access: &mut Access<'_>) -> io::Result<()> {
        self.at = access.now() + ASK_EVERY;
        Ok(())
    }

    fn ready(&mut self, _: u32, _: bool, _: bool, _: &mut Access<'_>) {}

    fn round(&mut self, access: &mut Access<'_>) {
        let now = access.now();
        if now < self.at {
            return;
        }
        if let Some((ggsn, forwarded)) = access.machine_and_forwarded(self.machine) {
            self.place = ggsn.take_forwarded(now, (self.place, ASKED_AT_ONCE), forwarded);
        }
        // Until the table's end without a pause but for packets.
        self.at = if self.place == 0 { now + ASK_EVERY } else { now };
    }

    fn next_wake(&self) -> Option<Instant> {
        Some(self.at)
    }
}

/// The node hears what has been forwarded up to now.
pub fn take_all(machine: MachineId<Ggsn>, access: &mut Access<'_>) {
    if access.forwarding(machine).is_none() {
        return;
    }
    let now = access.now();
    if let Some((ggsn, forwarded)) = access.machine_and_forwarded(machine) {
        ggsn.take_forwarded(now, (0, u32::MAX), forwarded);
    }
}

/// What forwards for a GGSN, in one line.
pub fn summary(machine: MachineId<Ggsn>, access: &Access<'_>) -> String {
    access.forwarding(machine).map_or_else(
        || "TUN devices".to_owned(),
        |report| format!("driver ({}), TUN devices for the rest", devices(&report)),
    )
}

/// `show user-plane`.
pub fn show(instances: &[Instance], access: &Access<'_>, out: &mut String) {
    for instance in instances {
        let _ = writeln!(out, "GGSN {}: {}", instance.name, summary(instance.machine, access));
        let Some(report) = access.forwarding(instance.machine) else { continue };
        for (way, (packets, octets)) in
            [("uplink", report.totals.uplink()), ("downlink", report.totals.downlink())]
        {
            let _ = writeln!(out, "  {way}: {packets} N-PDUs forwarded, {octets} octets");
        }
        for (why, count) in report.totals.left().filter(|(_, count)| *count > 0) {
            let _ = writeln!(out, "  {count} packets were left to the node: {}", why.sentence());
        }
        for (drop, count) in report.totals.drops().filter(|(_, count)| *count > 0) {
            let _ = writeln!(out, "  {} {count}: {}", drop.name(), drop.sentence());
        }
    }
}

const DRIVER: Class = Class {
    name: "driver",
    osmocom: "driver",
    title: "Forwarding at the driver",
    level: metrics::Level::Global,
    lines: Some("driver_"),
};

/// What the driver counted for a GGSN, beside the drops, which are among those of the node.
pub fn group(instance: &Instance, report: &ForwardingReport) -> Group {
    let mut group = Group::labelled(&DRIVER, vec![("ggsn", instance.name.clone())]);
    let totals = &report.totals;
    for (name, help, value) in [
        ("n_pdu_uplink", "N-PDUs that the driver forwarded from SGSNs", totals.uplink().0),
        ("octets_uplink", "octets of these", totals.uplink().1),
        ("n_pdu_downlink", "N-PDUs that the driver forwarded to SGSNs", totals.downlink().0),
        ("octets_downlink", "octets of these", totals.downlink().1),
    ] {
        group.add(Metric::counter(name, help, value));
    }
    let help = "packets that the driver left to the node, by its reason";
    totals.left().for_each(|(why, count)| group.add(Metric::counter(why.name(), help, count)));
    group
}

/// What the driver has dropped, of each GGSN.
pub fn drops(instances: &[Instance], access: &Access<'_>) -> Vec<(Drop, u64)> {
    let reports = instances.iter().filter_map(|instance| access.forwarding(instance.machine));
    reports.flat_map(|report| report.totals.drops().collect::<Vec<_>>()).collect()
}
