//! What an operator asks of running GGSNs.

use super::{Instance, user_plane};
use crate::node::Table;
use crate::node::show as common;
use crate::node::statistics::number;
use core::fmt::Write as _;
use gannet_node::ggsn::{Ggsn, GgsnCommand, PdpContext};
use gannet_ops::config::ggsn::GgsnOperation;
use gannet_ops::grammar::CommandError;
use gannet_ops::metrics::{Class, Group, Level, Metric, of_view};
use gannet_ops::view;
use gannet_proto::gtp::{Version, flow_label};
use gannet_rt::Access;
use gannet_wire::id::Teid;

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
        GgsnOperation::ShowUserPlane => user_plane::show(instances, access, out),
        GgsnOperation::ShowWhy(imsi) => common::why(access, *imsi, out),
        GgsnOperation::ShowGgsn => {
            for instance in instances {
                let Some(ggsn) = access.machine(instance.machine) else { continue };
                let _ = write!(out, "{}", summary(instance, ggsn));
                let _ = writeln!(out, "  user plane: {}", user_plane::summary(instance.machine, access));
            }
        }
        GgsnOperation::ShowPdpContexts { apn, imsi, address } => {
            for instance in instances {
                user_plane::take_all(instance.machine, access);
                let Some(ggsn) = access.machine(instance.machine) else { continue };
                for context in ggsn.contexts() {
                    let name = apn_name(ggsn, context.apn);
                    if apn.as_ref().is_none_or(|apn| apn.eq_ignore_ascii_case(&name))
                        && imsi.is_none_or(|imsi| imsi == context.imsi)
                        && address.is_none_or(|address| context.address.contains(address.into()))
                    {
                        let _ = write!(out, "{}", pdp_context(ggsn, context, name));
                    }
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

fn apn_name(ggsn: &Ggsn, apn: u16) -> String {
    let config = ggsn.config().apns.get(usize::from(apn));
    config.map_or_else(|| "-".to_owned(), |config| config.name.to_string())
}

fn summary(instance: &Instance, ggsn: &Ggsn) -> view::GgsnSummary {
    let apns = ggsn.access_points().enumerate().map(|(place, (config, pool))| view::GgsnApn {
        name: config.name.to_string(),
        device: instance.devices.get(place).cloned(),
        pool: Some(format!("{}/{}", config.prefix, config.prefix_length)),
        used: pool.used().into(),
        size: pool.capacity().into(),
    });
    view::GgsnSummary {
        name: instance.name.clone(),
        gtp_address: instance.address,
        restart_counter: instance.restart_counter,
        apns: apns.collect(),
    }
}

fn pdp_context(ggsn: &Ggsn, context: &PdpContext, apn: String) -> view::PdpContext {
    let tunnel = &context.tunnel;
    let qos = context.qos.profile();
    let ours = match tunnel.version {
        Version::V0 => Teid(flow_label(context.teid).0.into()),
        Version::V1 => context.teid,
    };
    view::PdpContext {
        imsi: Some(context.imsi),
        nsapi: context.nsapi,
        at_sgsn: None,
        state: if context.deleting { "PDP-INACTIVE-PENDING" } else { "PDP-ACTIVE" },
        apn,
        address: context.address.first(),
        peer: ggsn.paths().get(tunnel.user_path).map(|path| path.address),
        gtp_version: tunnel.version.number(),
        teid_control: (ours, tunnel.peer_control),
        teid_user: (ours, tunnel.peer_user),
        qos: Some(view::Qos {
            precedence: qos.precedence.0,
            delay: qos.delay.0,
            reliability: qos.reliability.0,
            peak: qos.peak.0,
            mean: qos.mean.0,
        }),
        treatment: None,
        filters: context.tft.as_ref().map(|tft| tft.filters().to_vec()).unwrap_or_default(),
        volumes: Some(view::Volumes {
            downlink_n_pdus: context.downlink.t_pdus,
            downlink_octets: context.downlink.octets,
            uplink_n_pdus: context.uplink.t_pdus,
            uplink_octets: context.uplink.octets,
        }),
    }
}

/// The tables of all GGSNs of the process.
pub fn tables(instances: &[Instance], access: &mut Access<'_>) -> Vec<Table> {
    let mut tables = Vec::new();
    for instance in instances {
        let Some(ggsn) = access.look_at(instance.machine) else { continue };
        let name = &instance.name;
        tables.push(Table::unlimited(format!("GGSN {name}, PDP contexts"), ggsn.context_count()));
        tables.push(Table::unlimited(format!("GGSN {name}, SGSNs"), ggsn.paths().iter().count()));
        tables.extend(ggsn.access_points().map(|(config, pool)| Table {
            name: format!("GGSN {name}, addresses of APN {}", config.name),
            used: pool.used().into(),
            limit: Some(pool.capacity().into()),
        }));
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
        let summary = summary(instance, ggsn);
        groups.extend(summary.apns.iter().map(|apn| of_view::apn(&summary.name, apn)));
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
