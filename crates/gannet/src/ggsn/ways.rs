//! The queues of access points: what is shown of them, and what they count.

use super::{Instance, named_apn};
use crate::node::streams;
use gannet_node::ggsn::{Ggsn, Heading, Parcel};
use gannet_node::streams::WayOut;
use gannet_ops::grammar::CommandError;
use gannet_ops::metrics::{Class, Group, Level};
use gannet_rt::Access;

/// What stands in front of the name of a way.
const WORD: &str = "APN";

/// The ways with queues, with the names of their access points and of themselves.
fn ways(ggsn: &Ggsn) -> impl Iterator<Item = (String, &'static str, &WayOut<Parcel>)> {
    let of = move |(point, apn): (&gannet_node::ggsn::AccessPoint, u16)| {
        let name = point.config().name.to_string();
        [(Heading::Downlink, "downlink"), (Heading::Uplink, "uplink")]
            .into_iter()
            .filter_map(move |(heading, word)| Some((name.clone(), word, ggsn.way_out(apn, heading)?)))
    };
    ggsn.access_points().zip(0..).flat_map(of)
}

/// What is asked about the queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    Queues,
    Streams,
}

/// `show qos` and `show streams`: of all access points, or of the one of this name.
///
/// # Errors
/// There is no such access point.
pub fn show(
    instances: &[Instance],
    asked: Asked,
    name: Option<&String>,
    access: &mut Access<'_>,
    out: &mut String,
) -> Result<(), CommandError> {
    named_apn(instances, name, access)?;
    for instance in instances {
        let Some(ggsn) = access.look_at(instance.machine) else { continue };
        for (_, _, way) in ways(ggsn).filter(|(apn, ..)| name.is_none_or(|name| name == apn)) {
            match asked {
                Asked::Queues => streams::show_way(WORD, way, out),
                Asked::Streams => streams::show_streams(WORD, way, &instance.names, out),
            }
        }
        if asked == Asked::Queues && ways(ggsn).next().is_some() {
            streams::show_paths(ggsn.paths_of_flows(), ggsn.stream_rules(), out);
        }
    }
    Ok(())
}

/// `show rules`.
pub fn show_rules(instances: &[Instance], access: &mut Access<'_>, out: &mut String) {
    for instance in instances {
        let Some(ggsn) = access.look_at(instance.machine) else { continue };
        streams::show_rules(ggsn.stream_rules(), &instance.names, out);
    }
}

/// What a way of an access point counts.
const QUEUES: Class =
    Class { name: "qos", osmocom: "qos", title: "Queues of an APN", level: Level::Peer, lines: None };

/// What the queues of a GGSN count.
pub fn groups(instance: &Instance, ggsn: &Ggsn, groups: &mut Vec<Group>) {
    for (apn, word, way) in ways(ggsn) {
        let labels = vec![("ggsn", instance.name.clone()), ("apn", apn), ("way", word.to_owned())];
        groups.push(streams::way_group(&QUEUES, labels.clone(), way));
        streams::stream_groups(&labels, way, &instance.names, groups);
    }
}
