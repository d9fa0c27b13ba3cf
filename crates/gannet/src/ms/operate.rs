//! What an operator asks of the mobiles of this machine, by VTY or by `gannet ms ctl`. For people, mobiles are numbered
//! from 1.

use super::MsNode;
use super::plan::{Context, Request};
use crate::fleet::template;
use crate::node::show as common;
use core::fmt::Write as _;
use gannet_machine::Peer;
use gannet_node::ms::{Ms, MsCommand, TUN};
use gannet_ops::config::ms::{ContextOrder, MsOperation, Order, Preference};
use gannet_ops::grammar::CommandError;
use gannet_ops::view;
use gannet_proto::bearer;
use gannet_proto::sm::ms::Change;
use gannet_rt::Access;
use gannet_wire::id::CellId;
use gannet_wire::l3::ie::{DelayClass, QosProfile, ReliabilityClass};

type Done = Result<(), CommandError>;

/// Does it.
pub fn execute(node: &MsNode, operation: &MsOperation, access: &mut Access<'_>, out: &mut String) -> Done {
    match operation {
        MsOperation::ShowDrops => common::drops(access, out),
        MsOperation::ShowWhy(imsi) => common::why(access, *imsi, out),
        MsOperation::ShowMobiles(number) => return show_mobiles(node, *number, access, out),
        MsOperation::ShowDevices => show_devices(node, access, out),
        MsOperation::ShowCells => show_cells(node, access, out),
        MsOperation::Order { mobile, order } => return self::order(node, *mobile, order, access, out),
        MsOperation::Prefer(preference) => return prefer(node, preference, access),
    }
    Ok(())
}

fn show_mobiles(node: &MsNode, number: Option<u32>, access: &mut Access<'_>, out: &mut String) -> Done {
    let only = number.map(|number| place(node, access, number)).transpose()?;
    let devices = node.devices.borrow();
    let Some(ms) = access.machine(node.ms) else { return Ok(()) };
    for view in ms.views().filter(|view| only.is_none_or(|only| view.index == only)) {
        let device = devices.of_mobile(view.index).next().map(|(_, up)| up.name.clone());
        let _ = write!(out, "{}", crate::bss::show::mobile(&view, device));
        if only.is_some() {
            out.push_str(&crate::bss::show::details(&view));
        }
    }
    Ok(())
}

fn show_devices(node: &MsNode, access: &mut Access<'_>, out: &mut String) {
    let devices = node.devices.borrow();
    for (device, up) in devices.all() {
        let counts =
            access.outside(node.ms).tun(TUN, device.peer()).map(|tun| tun.counts()).unwrap_or_default();
        let _ = write!(out, "{:<15} mobile {} context {}", up.name, device.mobile + 1, up.context);
        if let Some(netns) = &up.netns {
            let _ = write!(out, " netns {netns}");
        }
        for address in up.v4.map(|v4| v4.to_string()).into_iter().chain(up.v6.map(|v6| v6.to_string())) {
            let _ = write!(out, " {address}");
        }
        let _ = write!(
            out,
            " MTU {}, {} packets sent, {} received",
            up.mtu, counts.packets_in, counts.packets_out
        );
        for server in &up.name_servers {
            let _ = write!(out, ", name server {server}");
        }
        out.push_str(if up.held { ", held back\n" } else { "\n" });
    }
}

fn show_cells(node: &MsNode, access: &mut Access<'_>, out: &mut String) {
    if node.bss.is_none() {
        out.push_str("The mobiles have no cells of their own.\n");
        for (number, cell, mobiles) in access_points(node, access) {
            let _ = writeln!(out, "{number:>5} {cell} of an access point, {mobiles} mobiles");
        }
    }
    own_cells(node, access).iter().for_each(|cell| out.push_str(&cell.to_string()));
}

/// Cells of the mobiles' own.
pub fn own_cells(node: &MsNode, access: &mut Access<'_>) -> Vec<view::Cell> {
    let camping = access.machine(node.ms).map(|ms| crate::bss::show::camping(ms)).unwrap_or_default();
    let bss = node.bss.and_then(|bss| access.machine(bss));
    bss.map_or_else(Vec::new, |bss| crate::bss::show::cells(bss, &camping))
}

/// Cells of access points, and how many mobiles are in each.
pub fn access_points(node: &MsNode, access: &mut Access<'_>) -> Vec<(u16, CellId, u32)> {
    let camping = access.machine(node.ms).map(|ms| crate::bss::show::camping(ms)).unwrap_or_default();
    let of = |(number, cell): (u16, &CellId)| (number, *cell, camping.get(&number).copied().unwrap_or(0));
    (0..).zip(&node.access_points).map(of).collect()
}

/// Another order of access points.
fn prefer(node: &MsNode, preference: &Preference, access: &mut Access<'_>) -> Done {
    if node.links.is_empty() {
        return Err(CommandError::new("The mobiles have cells of their own, and no access point."));
    }
    let configured = 0..u16::try_from(node.access_points.len()).unwrap_or(u16::MAX);
    let order = match preference {
        Preference::Configured => bearer::Order::Prefer(configured.collect()),
        Preference::Link(link) => {
            let place = node.links.iter().position(|other| other == link);
            let place = place.and_then(|place| u16::try_from(place).ok());
            bearer::Order::PreferLink(place.ok_or_else(|| absent(&format!("bearer {link}"), &node.links))?)
        }
        Preference::Cell(cell) => {
            let place = configured.clone().zip(&node.access_points).find(|(_, other)| *other == cell);
            let (first, _) = place
                .ok_or_else(|| absent(&format!("cell {cell} of an access point"), &node.access_points))?;
            bearer::Order::Prefer(
                [first].into_iter().chain(configured.filter(|cell| *cell != first)).collect(),
            )
        }
    };
    access.command(node.ms, MsCommand::Bearer(order));
    Ok(())
}

fn absent<T: ToString>(wanted: &str, there: &[T]) -> CommandError {
    let there = match there {
        [] => "there is none".to_owned(),
        there => format!("there is {}", there.iter().map(T::to_string).collect::<Vec<_>>().join(", ")),
    };
    CommandError(format!("There is no {wanted}; {there}."))
}

/// The index of the mobile with a number.
pub fn place(node: &MsNode, access: &mut Access<'_>, number: u32) -> Result<u32, CommandError> {
    let count = access.machine(node.ms).map_or(0, |ms| Ms::len(ms));
    let index = number.checked_sub(1).filter(|index| (*index as usize) < count);
    index.ok_or_else(|| CommandError(format!("There is no mobile {number}; there are {count}.")))
}

/// The orders by which a mobile attaches and activates all contexts that are activated then.
pub fn activations(contexts: &[Context], mobile: u32) -> Vec<MsCommand> {
    // A secondary context is ordered when its first is.
    let is_first = |context: &&Context| matches!(context.request, Request::First { .. });
    let (firsts, others): (Vec<&Context>, Vec<&Context>) =
        contexts.iter().filter(|context| context.activates).partition(is_first);
    firsts.into_iter().chain(others).map(|context| context.activation(mobile)).collect()
}

fn order(node: &MsNode, number: u32, order: &Order, access: &mut Access<'_>, out: &mut String) -> Done {
    let mobile = place(node, access, number)?;
    // An operator's word comes before the queue of those that are to be switched on.
    node.arrivals.borrow_mut().forget(mobile);
    let devices = node.devices.borrow();
    let is_off = access
        .machine(node.ms)
        .and_then(|ms| ms.view(mobile))
        .is_none_or(|view| matches!(view.gmm, "gmm-null" | "gmm-deregistered") && view.contexts.is_empty());
    let mut give = |command| access.command(node.ms, command);
    match order {
        Order::Attach => {
            give(MsCommand::Attach { mobile });
        }
        Order::Detach if is_off => {
            let _ = writeln!(out, "Mobile {number} is not attached.");
        }
        Order::Detach => {
            give(MsCommand::Detach { mobile, power_off: false });
        }
        Order::ActivateAll => {
            let activations = activations(devices.contexts(), mobile);
            if activations.is_empty() {
                return Err(CommandError::new("No context is configured that is activated at an attach."));
            }
            for activation in activations {
                give(activation);
            }
        }
        Order::DeactivateAll => {
            let nsapis = (5..=15).map(gannet_wire::id::Nsapi);
            let wanted: Vec<_> = match access.machine(node.ms) {
                Some(ms) => nsapis.filter(|nsapi| ms.wants(mobile, *nsapi)).collect(),
                None => Vec::new(),
            };
            if wanted.is_empty() {
                let _ = writeln!(out, "Mobile {number} has no PDP context.");
            }
            for nsapi in wanted {
                access.command(node.ms, MsCommand::Deactivate { mobile, nsapi });
            }
        }
        Order::Context { name, order } => {
            let context = devices.context(name).ok_or_else(|| no_context(devices.contexts(), name))?;
            return context_order(node, (mobile, context), *order, access);
        }
    }
    Ok(())
}

fn no_context(contexts: &[Context], name: &str) -> CommandError {
    let names: Vec<&str> = contexts.iter().map(|context| context.name.as_str()).collect();
    let there =
        if names.is_empty() { "there is none".to_owned() } else { format!("there is {}", names.join(", ")) };
    CommandError(format!("No context is called '{name}'; {there}."))
}

fn context_order(
    node: &MsNode,
    (mobile, context): (u32, &Context),
    order: ContextOrder,
    access: &mut Access<'_>,
) -> Done {
    let nsapi = context.nsapi;
    let has = access.machine(node.ms).is_some_and(|ms| ms.wants(mobile, nsapi));
    if !has && order != ContextOrder::Activate {
        let text = format!("Mobile {} has no PDP context '{}' at the moment.", mobile + 1, context.name);
        return Err(CommandError(text));
    }
    let modify = |change| MsCommand::Modify { mobile, nsapi, change };
    let with_qos = |qos| modify(Change { qos: Some(qos), tft: None });
    let command = match order {
        ContextOrder::Activate => {
            if let Request::Beside { linked, .. } = context.request
                && !access.machine(node.ms).is_some_and(|ms| ms.wants(mobile, linked))
            {
                let text =
                    format!("'{}' is beside a context that mobile {} has not.", context.name, mobile + 1);
                return Err(CommandError(text));
            }
            context.activation(mobile)
        }
        ContextOrder::Deactivate => MsCommand::Deactivate { mobile, nsapi },
        ContextOrder::Mode(mode) => {
            with_qos(QosProfile { reliability: ReliabilityClass(mode.reliability()), ..context.qos() })
        }
        ContextOrder::DelayClass(class) => with_qos(QosProfile { delay: DelayClass(class), ..context.qos() }),
        ContextOrder::Filter(filter) => modify(Change { qos: None, tft: Some(template(filter)) }),
    };
    access.command(node.ms, command);
    Ok(())
}

/// Devices, as the loop sees them: what went through each.
pub fn packets(node: &MsNode, access: &mut Access<'_>, peer: Peer) -> (u64, u64) {
    let counts = access.outside(node.ms).tun(TUN, peer).map(|tun| tun.counts()).unwrap_or_default();
    (counts.packets_in, counts.packets_out)
}
