//! What an operator asks of running GGSNs.

use super::{Instance, named_apn, user_plane, ways};
use crate::node::Table;
use crate::node::show as common;
use crate::node::statistics::number;
use core::fmt::Write as _;
use gannet_machine::time::Instant;
use gannet_node::ggsn::{Addresses, ApnConfig, ApnCounters, Ggsn, GgsnCommand, PdpContext, Volume};
use gannet_ops::config::ggsn::GgsnOperation;
use gannet_ops::grammar::CommandError;
use gannet_ops::metrics::{Class, Group, Level, Metric, of_view};
use gannet_ops::view;
use gannet_proto::gtp::{Path, PlaneState, Version, flow_label};
use gannet_rt::Access;
use gannet_wire::id::{Imsi, Teid};
use std::collections::HashMap;

/// Does it.
pub fn execute(
    instances: &[Instance],
    operation: &GgsnOperation,
    access: &mut Access<'_>,
    out: &mut String,
) -> Result<(), CommandError> {
    match operation {
        GgsnOperation::ShowDrops => {
            common::drops(access, out);
            let at_driver = user_plane::drops(instances, access).into_iter();
            for (drop, count) in at_driver.filter(|(_, count)| *count > 0) {
                let _ = write!(out, "{}", view::DropCount { drop, count });
            }
        }
        GgsnOperation::ShowQos(name) => {
            ways::show(instances, ways::Asked::Queues, name.as_ref(), access, out)?;
        }
        GgsnOperation::ShowStreams(name) => {
            ways::show(instances, ways::Asked::Streams, name.as_ref(), access, out)?;
        }
        GgsnOperation::ShowRules => ways::show_rules(instances, access, out),
        GgsnOperation::ShowUserPlane => user_plane::show(instances, access, out),
        GgsnOperation::ShowStore => stores(instances, access, out)?,
        GgsnOperation::ShowWhy(imsi) => common::why(access, *imsi, out),
        GgsnOperation::ShowGgsn(name) => {
            for instance in named(instances, name.as_ref())? {
                let Some(ggsn) = access.machine(instance.machine) else { continue };
                let _ = write!(out, "{}", summary(instance, ggsn));
                let _ = writeln!(out, "  user plane: {}", user_plane::summary(instance.machine, access));
            }
        }
        GgsnOperation::ShowSgsns(name) => {
            for instance in named(instances, name.as_ref())? {
                let Some(ggsn) = access.machine(instance.machine) else { continue };
                for sgsn in sgsns(ggsn) {
                    let _ = write!(out, "{sgsn}");
                }
            }
        }
        GgsnOperation::ShowApn(name) => show_apns(instances, name.as_ref(), access, out)?,
        GgsnOperation::ShowPdpContexts { ggsn: name, apn, imsi, nsapi, address } => {
            for instance in named(instances, name.as_ref())? {
                let now = access.now();
                user_plane::take_all(instance.machine, access);
                let Some(ggsn) = access.machine(instance.machine) else { continue };
                let shown = contexts(ggsn, now).filter(|(context, view)| {
                    apn.as_ref().is_none_or(|apn| apn.eq_ignore_ascii_case(&view.apn))
                        && imsi.is_none_or(|imsi| imsi == context.imsi)
                        && nsapi.is_none_or(|nsapi| nsapi == context.nsapi)
                        && address.is_none_or(|address| context.address.contains(address))
                });
                for (_, view) in shown {
                    let _ = write!(out, "{view}");
                }
            }
        }
        GgsnOperation::DeactivatePdp { imsi, nsapi } => {
            let mut of = instances.iter();
            let owner = of.find(|instance| {
                access.machine(instance.machine).is_some_and(|ggsn| ggsn.context(*imsi, *nsapi).is_some())
            });
            let owner = owner
                .ok_or_else(|| CommandError(format!("IMSI {imsi} has no PDP context with NSAPI {nsapi}.")))?;
            access.command(owner.machine, GgsnCommand::Delete { imsi: *imsi, nsapi: *nsapi });
        }
    }
    Ok(())
}

/// What is kept for the time after a restart.
fn stores(instances: &[Instance], access: &mut Access<'_>, out: &mut String) -> Result<(), CommandError> {
    let mut stores = instances.iter().filter_map(|instance| instance.store.as_ref()).peekable();
    if stores.peek().is_none() {
        return Err(CommandError::new("There is no store; say 'store PATH' under 'ggsn NAME' to have one."));
    }
    for store in stores {
        let _ = write!(out, "{}", store.borrow().show(access));
    }
    Ok(())
}

/// All access points, or those of this name.
fn show_apns(
    instances: &[Instance],
    name: Option<&String>,
    access: &mut Access<'_>,
    out: &mut String,
) -> Result<(), CommandError> {
    named_apn(instances, name, access)?;
    for instance in instances {
        user_plane::take_all(instance.machine, access);
        let Some(ggsn) = access.machine(instance.machine) else { continue };
        let of = apns(instance, ggsn).into_iter();
        for apn in of.filter(|apn| name.is_none_or(|name| *name == apn.name)) {
            let _ = write!(out, "{apn}");
        }
    }
    Ok(())
}

/// All GGSNs, or the one of this name.
fn named<'i>(instances: &'i [Instance], name: Option<&String>) -> Result<Vec<&'i Instance>, CommandError> {
    let Some(name) = name else { return Ok(instances.iter().collect()) };
    let found = instances.iter().find(|instance| instance.name == *name);
    found.map(|found| vec![found]).ok_or_else(|| CommandError(format!("No such GGSN '{name}'")))
}

fn apn_name(ggsn: &Ggsn, apn: u16) -> String {
    let config = ggsn.config().apns.get(usize::from(apn));
    config.map_or_else(|| "-".to_owned(), |config| config.name.to_string())
}

/// The pools of an access point, as they are configured.
fn pools(config: &ApnConfig) -> Vec<String> {
    let v4 = config.v4.all().map(|network| format!("{}/{}", network.address, network.length));
    let v6 = config.v6.all().map(|network| format!("{}/{}", network.address, network.length));
    v4.chain(v6).collect()
}

fn apns(instance: &Instance, ggsn: &Ggsn) -> Vec<view::GgsnApn> {
    let wide = |(used, all): (u32, u32)| (u64::from(used), u64::from(all));
    let apns = ggsn.access_points().enumerate().map(|(place, point)| view::GgsnApn {
        name: point.config().name.to_string(),
        device: instance.devices.get(place).map(|(_, name)| name.clone()),
        pools: pools(point.config()),
        ipv4: wide(point.ipv4_use()),
        ipv6: wide(point.ipv6_use()),
        counters: apn_counters(point.counters()),
    });
    apns.collect()
}

const fn apn_counters(of: &ApnCounters) -> view::ApnCounters {
    view::ApnCounters {
        pdp_contexts: of.created.saturating_sub(of.deleted),
        created: of.created,
        deleted: of.deleted,
        refused: of.refused,
        idle: of.idle,
        volumes: volumes(of.downlink, of.uplink),
        uplink_dropped: of.uplink_dropped,
        over_rate: of.over_rate,
    }
}

const fn volumes(downlink: Volume, uplink: Volume) -> view::Volumes {
    view::Volumes {
        downlink_n_pdus: downlink.t_pdus,
        downlink_octets: downlink.octets,
        uplink_n_pdus: uplink.t_pdus,
        uplink_octets: uplink.octets,
    }
}

/// How a plane of a path answers.
const fn answers(plane: &PlaneState) -> &'static str {
    match (plane.failed, plane.has_answered) {
        (true, _) => "down",
        (false, true) => "up",
        (false, false) => "unknown",
    }
}

fn sgsns(ggsn: &Ggsn) -> Vec<view::GgsnSgsn> {
    let of = |path: &Path| view::GgsnSgsn {
        address: path.address,
        gtp_version: path.version.number(),
        restart_counter: path.restart_counter,
        pdp_contexts: path.origins.into(),
        echo_outstanding: [path.control, path.user].iter().filter(|plane| plane.echo_outstanding).count()
            as u64,
        planes: [answers(&path.control), answers(&path.user)],
    };
    ggsn.paths().iter().map(|(_, path)| of(path)).collect()
}

fn summary(instance: &Instance, ggsn: &Ggsn) -> view::GgsnSummary {
    view::GgsnSummary {
        name: instance.name.clone(),
        gtp_address: instance.address,
        restart_counter: instance.restart_counter,
        apns: apns(instance, ggsn),
        sgsns: sgsns(ggsn),
    }
}

/// All contexts with what is shown of them. Those of one address count as its secondaries.
fn contexts(ggsn: &Ggsn, now: Instant) -> impl Iterator<Item = (&PdpContext, view::GgsnContext)> {
    let mut sharing: HashMap<(Imsi, u16, Addresses), usize> = HashMap::new();
    for context in ggsn.contexts() {
        *sharing.entry((context.imsi, context.apn, context.address)).or_default() += 1;
    }
    ggsn.contexts().map(move |context| {
        let count = sharing.get(&(context.imsi, context.apn, context.address)).copied().unwrap_or(1);
        (context, pdp_context(ggsn, context, count, now))
    })
}

fn pdp_context(ggsn: &Ggsn, context: &PdpContext, sharing: usize, now: Instant) -> view::GgsnContext {
    let tunnel = &context.tunnel;
    let qos = context.qos.profile();
    let label = |teid: Teid| match tunnel.version {
        Version::V0 => Teid(flow_label(teid).0.into()),
        Version::V1 => teid,
    };
    let of_path = |path: u16| ggsn.paths().get(path).map(|path| path.address);
    let (control, user) = (of_path(tunnel.control_path), of_path(tunnel.user_path));
    let ours = |peer| ggsn.own_address(peer);
    let apn = apn_name(ggsn, context.apn);
    let point = ggsn.access_points().nth(usize::from(context.apn));
    view::GgsnContext {
        imsi: context.imsi,
        nsapi: context.nsapi,
        msisdn: context.msisdn.map(|msisdn| msisdn.to_string()),
        gtp_version: tunnel.version.number(),
        secondaries: (context.teid == context.control_teid || context.tft.is_none())
            .then(|| sharing.saturating_sub(1)),
        here: [(ours(control), label(context.control_teid)), (ours(user), label(context.teid))],
        there: [(control, tunnel.peer_control), (user, tunnel.peer_user)],
        apn_requested: context.requested.as_ref().map_or_else(|| apn.clone(), |name| name.to_string()),
        apn,
        ipv4: context.address.v4,
        ipv6: context.address.prefix(),
        sequence_numbers: point.is_none_or(|point| point.config().sequence_numbers),
        state: if context.deleting { "PDP-INACTIVE-PENDING" } else { "PDP-ACTIVE" },
        idle_s: now.since(context.last_active).0 / 1_000_000_000,
        qos: view::Qos {
            precedence: qos.precedence.0,
            delay: qos.delay.0,
            reliability: qos.reliability.0,
            peak: qos.peak.0,
            mean: qos.mean.0,
        },
        filters: context.tft.as_ref().map(|tft| tft.filters().to_vec()).unwrap_or_default(),
        volumes: volumes(context.downlink, context.uplink),
    }
}

/// The tables of all GGSNs of the process.
pub fn tables(instances: &[Instance], access: &mut Access<'_>) -> Vec<Table> {
    let mut tables = Vec::new();
    for instance in instances {
        let Some(ggsn) = access.look_at(instance.machine) else { continue };
        let name = &instance.name;
        tables.push(Table {
            name: format!("GGSN {name}, PDP contexts"),
            used: number(ggsn.context_count()),
            limit: Some(ggsn.config().context_limit.into()),
        });
        tables.push(Table::unlimited(format!("GGSN {name}, SGSNs"), ggsn.paths().iter().count()));
        for point in ggsn.access_points() {
            let both = [("addresses", point.ipv4_use()), ("IPv6 prefixes", point.ipv6_use())];
            tables.extend(both.into_iter().filter(|(_, (_, all))| *all > 0).map(|(what, (used, all))| {
                Table {
                    name: format!("GGSN {name}, {what} of APN {}", point.config().name),
                    used: used.into(),
                    limit: Some(all.into()),
                }
            }));
        }
    }
    tables
}

/// What all GGSNs of the process count.
const NODE: Class = Class { name: "", osmocom: "ggsn", title: "GGSN", level: Level::Global, lines: Some("") };
/// What one of them counts.
const INSTANCE: Class =
    Class { name: "", osmocom: "gtp", title: "GGSN", level: Level::Global, lines: Some("") };

/// What is counted: by the process and its GGSNs, then by their access points, one GGSN a part.
pub fn groups(instances: &[Instance], part: usize, access: &mut Access<'_>, groups: &mut Vec<Group>) -> bool {
    let Some(place) = part.checked_sub(1) else {
        let mut node = Group::single(&NODE);
        node.add_drops(access.log().drops());
        let mut at_driver = Vec::new();
        for instance in instances {
            let Some(report) = access.forwarding(instance.machine) else { continue };
            report.totals.drops().for_each(|(drop, count)| node.count_drop(drop, count));
            at_driver.push(user_plane::group(instance, &report));
        }
        groups.push(node);
        for instance in instances {
            groups.extend(access.look_at(instance.machine).map(|ggsn| instance_group(instance, ggsn)));
        }
        groups.append(&mut at_driver);
        return true;
    };
    let Some(instance) = instances.get(place) else { return false };
    if let Some(ggsn) = access.look_at(instance.machine) {
        groups.extend(apns(instance, ggsn).iter().map(|apn| of_view::apn(&instance.name, apn)));
        ways::groups(instance, ggsn, groups);
    }
    part < instances.len()
}

fn instance_group(instance: &Instance, ggsn: &Ggsn) -> Group {
    let counters = ggsn.counters();
    let mut group = Group::labelled(&INSTANCE, vec![("ggsn", instance.name.clone())]);
    group.add(Metric::gauge("pdp_contexts", "PDP contexts", number(ggsn.context_count())));
    for (name, help, value) in [
        ("created", "PDP contexts created", counters.created),
        ("updated", "PDP contexts updated", counters.updated),
        ("deleted", "PDP contexts deleted", counters.deleted),
        ("refused", "requests refused", counters.refused),
        ("notified", "SGSNs asked to have a mobile activate a context", counters.notified),
        ("n_pdu_downlink", "N-PDUs that went to SGSNs", counters.downlink.t_pdus),
        ("octets_downlink", "octets of these", counters.downlink.octets),
        ("n_pdu_uplink", "N-PDUs that came from SGSNs", counters.uplink.t_pdus),
        ("octets_uplink", "octets of these", counters.uplink.octets),
    ] {
        group.add(Metric::counter(name, help, value));
    }
    group
}
