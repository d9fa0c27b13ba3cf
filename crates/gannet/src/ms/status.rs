//! The state of mobiles as JSON, for programs.

use super::devices::Up;
use super::{MsNode, operate};
use gannet_node::ms::devices::Device;
use gannet_node::ms::show::MobileView;
use gannet_rt::Access;
use serde_json::{Value, json};

/// That of all mobiles, or of one by its index.
pub fn status(node: &MsNode, only: Option<u32>, access: &mut Access<'_>) -> Value {
    let views: Vec<MobileView> = match (access.machine(node.ms), only) {
        (Some(ms), Some(only)) => ms.view(only).into_iter().collect(),
        (Some(ms), None) => ms.views().collect(),
        (None, _) => Vec::new(),
    };
    Value::Array(views.iter().map(|view| mobile(node, view, access)).collect())
}

/// The devices of all mobiles, or of one by its index.
pub fn devices(node: &MsNode, only: Option<u32>, access: &mut Access<'_>) -> Value {
    let devices = node.devices.borrow();
    let wanted = devices.all().filter(|(device, _)| only.is_none_or(|only| device.mobile == only));
    wanted
        .map(|(device, up)| {
            let mut of = interface(node, (device, up), access);
            if let Value::Object(of) = &mut of {
                of.insert("mobile".to_owned(), (device.mobile + 1).into());
            }
            of
        })
        .collect()
}

/// The mobiles' own cells, and those of access points that they know.
pub fn cells(node: &MsNode, access: &mut Access<'_>) -> Value {
    let own = operate::own_cells(node, access).into_iter().map(|cell| {
        json!({
            "cell": cell.number,
            "id": cell.cell.to_string(),
            "nsei": cell.nsei.0,
            "bvci": cell.bvci.0,
            "state": cell.state,
            "mobiles": cell.mobiles,
            "queued_pdus": cell.queued_pdus,
        })
    });
    let others = operate::access_points(node, access)
        .into_iter()
        .map(|(number, cell, mobiles)| json!({ "cell": number, "id": cell.to_string(), "mobiles": mobiles }));
    own.chain(others).collect()
}

/// What was dropped or refused, by name.
pub fn drops(access: &mut Access<'_>) -> Value {
    let each = gannet_ops::view::drops(access.log().drops());
    each.map(|of| {
        json!({
            "name": of.drop.name(),
            "count": of.count,
            "sentence": of.drop.sentence(),
            "clause": of.drop.clause(),
        })
    })
    .collect()
}

fn interface(node: &MsNode, (device, up): (Device, &Up), access: &mut Access<'_>) -> Value {
    let (sent, received) = operate::packets(node, access, device.peer());
    json!({
        "device": up.name,
        "netns": up.netns,
        "context": up.context,
        "ipv4": up.v4.map(|v4| v4.to_string()),
        "ipv6": up.v6.map(|v6| v6.to_string()),
        "mtu": up.mtu,
        "name_servers": up.name_servers.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "held": up.held,
        "packets_sent": sent,
        "packets_received": received,
    })
}

fn mobile(node: &MsNode, view: &MobileView, access: &mut Access<'_>) -> Value {
    let devices = node.devices.borrow();
    let contexts: Vec<Value> = view
        .contexts
        .iter()
        .map(|context| {
            let name = devices.context_of(context.nsapi).map(|context| context.name.clone());
            json!({
                "name": name,
                "nsapi": context.nsapi.0,
                "sapi": context.sapi.map(|sapi| sapi.0),
                "state": context.state,
                "mode": if context.acknowledged { "acknowledged" } else { "unacknowledged" },
                "address": context.address.map(|address| address.to_string()),
                "filters": context.filters.iter().map(ToString::to_string).collect::<Vec<_>>(),
            })
        })
        .collect();
    let interfaces: Vec<Value> =
        devices.of_mobile(view.index).map(|(device, up)| interface(node, (device, up), access)).collect();
    json!({
        "mobile": view.index + 1,
        "imsi": view.imsi.to_string(),
        "gmm": view.gmm,
        "service": view.service,
        "mm": view.mm,
        "cell": view.cell.map(|(index, _)| index),
        "ptmsi": view.ptmsi.map(|ptmsi| ptmsi.to_string()),
        "tlli": view.tlli.map(|tlli| tlli.to_string()),
        "cipher": view.cipher.to_string(),
        "level_dbm": view.link.level_dbm,
        "ll_pdu_octets_max": view.link.mtu_octets,
        "suspended": view.suspended,
        "unconfirmed": view.unconfirmed,
        "contexts": contexts,
        "devices": interfaces,
    })
}
