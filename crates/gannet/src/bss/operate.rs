//! What an operator asks of a running BSS and its mobiles. For people, mobiles are numbered from 1.

use super::{BssNode, show};
use crate::cells::endpoint;
use crate::fleet::template;
use crate::node::show as common;
use core::fmt::Write as _;
use gannet_node::bss::{Command, EndpointChange};
use gannet_node::ms::show::MobileView;
use gannet_node::ms::{Ms, MsCommand};
use gannet_ops::config::bss::{self as ops, BssConfig, BssOperation};
use gannet_ops::grammar::CommandError;
use gannet_proto::sm::ms::{Change, WantedSecondary};
use gannet_rt::Access;
use gannet_wire::id::{Nsapi, Nsei, Sapi};
use gannet_wire::l3::ie::{DelayClass, QosProfile};

type Done = Result<(), CommandError>;

/// The NSAPI of the context that mobiles activate when nothing else is said.
const FIRST_NSAPI: Nsapi = Nsapi(5);
/// Those that contexts can have.
const NSAPIS: core::ops::RangeInclusive<u8> = 5..=15;

/// Does it.
pub fn execute(
    node: &BssNode,
    config: &BssConfig,
    operation: &BssOperation,
    access: &mut Access<'_>,
    out: &mut String,
) -> Done {
    match *operation {
        BssOperation::ShowDrops => common::drops(access, out),
        BssOperation::ShowWhy(imsi) => common::why(access, imsi, out),
        BssOperation::ShowMobiles(None) => {
            let Some(ms) = access.machine(node.ms) else { return Ok(()) };
            let devices = node.devices.borrow();
            for view in ms.views() {
                let _ = write!(out, "{}", show::mobile(&view, devices.name(view.index).map(str::to_owned)));
            }
        }
        BssOperation::ShowMobiles(Some(number)) => {
            let mobile = place(node, access, number)?;
            let view = access.machine(node.ms).and_then(|ms| ms.view(mobile));
            if let Some(view) = view {
                let device = node.devices.borrow().name(view.index).map(str::to_owned);
                let line = show::mobile(&view, device);
                let _ = write!(out, "{line}{}", show::details(&view));
            }
        }
        BssOperation::ShowRadio | BssOperation::ShowTbfs | BssOperation::ShowRadioMobiles => {
            show_radio(node, operation, access, out);
        }
        BssOperation::ShowCells | BssOperation::ShowNs { .. } | BssOperation::ShowBssgp { .. } => {
            return show_gb(node, operation, access, out);
        }
        BssOperation::ResetNs => {
            access.command(node.bss, Command::Start);
        }
        BssOperation::ChangeEndpoint { nsei, endpoint, change } => {
            return change_endpoint(node, config, (nsei, endpoint), change, access);
        }
        BssOperation::ResetCell(cell) => {
            cell_exists(node, access, cell)?;
            access.command(node.bss, Command::ResetCell(cell.into()));
        }
        BssOperation::RadioStatus { mobile, cause } => {
            let mobile = place(node, access, mobile)?;
            let has_link = |view: MobileView| view.cell.is_some() && view.tlli.is_some();
            if !access.machine(node.ms).and_then(|ms| ms.view(mobile)).is_some_and(has_link) {
                let number = u64::from(mobile) + 1;
                let text =
                    format!("Mobile {number} has no cell or no TLLI: it has no radio status to tell of.");
                return Err(CommandError(text));
            }
            access.command(node.bss, Command::RadioStatus { mobile, cause });
        }
        BssOperation::Attach(_)
        | BssOperation::Detach(_)
        | BssOperation::ImsiAttach(_)
        | BssOperation::ImsiDetach(_)
        | BssOperation::Activate(_)
        | BssOperation::ActivateAt { .. }
        | BssOperation::Deactivate { .. }
        | BssOperation::Secondary { .. }
        | BssOperation::ModifyFilter { .. }
        | BssOperation::ModifyDelay { .. }
        | BssOperation::TearDown { .. }
        | BssOperation::Reselect { .. } => return order(node, operation, access, out),
    }
    Ok(())
}

/// SNS-ADD, SNS-DELETE or SNS-CHANGEWEIGHT for an endpoint of an NSE, counted from 1.
fn change_endpoint(
    node: &BssNode,
    config: &BssConfig,
    (nsei, number): (Nsei, u16),
    change: ops::EndpointChange,
    access: &mut Access<'_>,
) -> Done {
    let speaks = access.machine(node.bss).is_some_and(|bss| bss.ns().sns(nsei).is_some());
    let nse = nsei.0.checked_sub(config.gb.cells.nsei_base).filter(|_| speaks);
    let nse = nse.ok_or_else(|| CommandError(format!("NSEI {nsei} does not speak IP-SNS.")))?;
    let ports = config.gb.ports_per_nse();
    let place = number.checked_sub(1).filter(|place| *place < ports);
    let place = place.ok_or_else(|| {
        CommandError(format!("There is no endpoint {number}; there are {ports}, with the spare ones."))
    })?;
    let weights = match change {
        ops::EndpointChange::Add | ops::EndpointChange::Delete => (1, 1),
        ops::EndpointChange::Weights { signalling, data } => (signalling, data),
    };
    let local = endpoint(&config.gb, nse, place, weights);
    let change = match change {
        ops::EndpointChange::Add => EndpointChange::Add(local),
        ops::EndpointChange::Delete => EndpointChange::Delete(local.element.endpoint),
        ops::EndpointChange::Weights { .. } => EndpointChange::Weights(local.element),
    };
    access.command(node.bss, Command::Endpoint { nsei, change });
    Ok(())
}

fn show_gb(node: &BssNode, operation: &BssOperation, access: &mut Access<'_>, out: &mut String) -> Done {
    let now = access.now();
    let now_in_cells = access.machine(node.ms).map(|ms| show::camping(ms)).unwrap_or_default();
    let Some(bss) = access.machine(node.bss) else { return Ok(()) };
    match *operation {
        BssOperation::ShowNs { stats } => {
            common::ns(bss.ns(), None, common::Shown { now, local: &|_| None, stats }, out);
        }
        BssOperation::ShowBssgp { stats } => {
            show::bvcs(bss, stats).iter().for_each(|bvc| out.push_str(&bvc.to_string()));
        }
        _ => show::cells(bss, &now_in_cells).iter().for_each(|cell| out.push_str(&cell.to_string())),
    }
    Ok(())
}

fn show_radio(node: &BssNode, operation: &BssOperation, access: &mut Access<'_>, out: &mut String) {
    let Some(bss) = access.machine(node.bss) else { return };
    match operation {
        _ if bss.rlcmac().is_none() => out.push_str("The radio is emulated: it has no 'radio rlcmac'.\n"),
        BssOperation::ShowTbfs => show::tbfs(bss).for_each(|tbf| out.push_str(&tbf.to_string())),
        BssOperation::ShowRadioMobiles => {
            show::radio_mobiles(bss).for_each(|mobile| out.push_str(&mobile.to_string()));
        }
        _ => show::radio_cells(bss).for_each(|cell| out.push_str(&cell.to_string())),
    }
}

/// The index of the mobile with a number.
fn place(node: &BssNode, access: &mut Access<'_>, number: u32) -> Result<u32, CommandError> {
    let count = access.machine(node.ms).map_or(0, |ms| Ms::len(ms));
    let index = number.checked_sub(1).filter(|index| (*index as usize) < count);
    index.ok_or_else(|| CommandError(format!("There is no mobile {number}; there are {count}.")))
}

fn cell_exists(node: &BssNode, access: &mut Access<'_>, cell: u16) -> Done {
    let count = access.machine(node.bss).map_or(0, |bss| bss.cell_count());
    if usize::from(cell) < count {
        return Ok(());
    }
    Err(CommandError(format!("There is no cell {cell}; there are {count}, from 0.")))
}

/// The order to attach and to activate a PDP context.
pub const fn activate(mobile: u32) -> MsCommand {
    MsCommand::Activate { mobile, nsapi: FIRST_NSAPI, apn: None, qos: None, address: None }
}

/// Why an order of a mobile would have no effect.
fn changes_nothing(operation: &BssOperation, view: &MobileView, ms: &Ms) -> Option<String> {
    let is_off = matches!(view.gmm, "gmm-null" | "gmm-deregistered");
    let has = |nsapi| ms.wants(view.index, nsapi);
    let without = |nsapi: Nsapi| (!has(nsapi)).then(|| format!("has no PDP context with NSAPI {nsapi}."));
    match *operation {
        BssOperation::Attach(_) if view.gmm == "gmm-registered" => Some("is attached already.".to_owned()),
        BssOperation::Detach(_) if is_off && !NSAPIS.map(Nsapi).any(has) => {
            Some("is not attached.".to_owned())
        }
        BssOperation::ImsiAttach(_) | BssOperation::ImsiDetach(_) if view.non_gprs.is_none() => {
            Some("is for GPRS only: it has no 'combined-procedures'.".to_owned())
        }
        BssOperation::ImsiDetach(_) if is_off => Some("is not attached.".to_owned()),
        BssOperation::Deactivate { nsapi: None, .. } if !NSAPIS.map(Nsapi).any(has) => {
            Some("has no PDP context.".to_owned())
        }
        BssOperation::Deactivate { nsapi: Some(nsapi), .. }
        | BssOperation::ModifyFilter { nsapi, .. }
        | BssOperation::ModifyDelay { nsapi, .. }
        | BssOperation::TearDown { nsapi, .. } => without(nsapi),
        BssOperation::Secondary { linked, .. } => without(linked),
        BssOperation::Reselect { cell, .. } if view.cell.is_some_and(|(own, _)| own == cell) => {
            Some(format!("is in cell {cell} already."))
        }
        _ => None,
    }
}

fn order(node: &BssNode, operation: &BssOperation, access: &mut Access<'_>, out: &mut String) -> Done {
    let number = match *operation {
        BssOperation::Attach(number)
        | BssOperation::Detach(number)
        | BssOperation::ImsiAttach(number)
        | BssOperation::ImsiDetach(number)
        | BssOperation::Activate(number) => number,
        BssOperation::ActivateAt { mobile, .. }
        | BssOperation::Deactivate { mobile, .. }
        | BssOperation::Secondary { mobile, .. }
        | BssOperation::ModifyFilter { mobile, .. }
        | BssOperation::ModifyDelay { mobile, .. }
        | BssOperation::TearDown { mobile, .. }
        | BssOperation::Reselect { mobile, .. } => mobile,
        _ => return Ok(()),
    };
    let mobile = place(node, access, number)?;
    let view = access.machine(node.ms).and_then(|ms| ms.view(mobile));
    if let Some(nothing) = view.and_then(|view| changes_nothing(operation, &view, access.machine(node.ms)?)) {
        let _ = writeln!(out, "Mobile {number} {nothing}");
        return Ok(());
    }
    // An operator's word comes before the queue of those that are to be switched on.
    if !matches!(operation, BssOperation::Reselect { .. }) {
        node.arrivals.borrow_mut().forget(mobile);
    }
    let mut give = |command| {
        access.command(node.ms, command);
    };
    match *operation {
        BssOperation::Attach(_) => give(MsCommand::Attach { mobile }),
        BssOperation::Detach(_) => give(MsCommand::Detach { mobile, power_off: false }),
        BssOperation::ImsiAttach(_) => give(MsCommand::ImsiAttach { mobile }),
        BssOperation::ImsiDetach(_) => give(MsCommand::ImsiDetach { mobile }),
        BssOperation::Activate(_) => give(activate(mobile)),
        BssOperation::ActivateAt { nsapi, ref apn, .. } => {
            give(MsCommand::Activate { mobile, nsapi, apn: Some(apn.clone()), qos: None, address: None });
        }
        BssOperation::Deactivate { nsapi: Some(nsapi), .. } => give(MsCommand::Deactivate { mobile, nsapi }),
        BssOperation::Deactivate { nsapi: None, .. } => {
            let mut nsapis: Vec<Nsapi> = NSAPIS.map(Nsapi).collect();
            let ms = access.machine(node.ms);
            nsapis.retain(|nsapi| ms.as_ref().is_some_and(|ms| ms.wants(mobile, *nsapi)));
            for nsapi in nsapis {
                access.command(node.ms, MsCommand::Deactivate { mobile, nsapi });
            }
        }
        BssOperation::Secondary { nsapi, linked, filter, .. } => {
            let wanted = WantedSecondary {
                linked,
                sapi: Sapi::DATA3,
                qos: QosProfile::default(),
                tft: Some(template(filter)),
            };
            give(MsCommand::ActivateSecondary { mobile, nsapi, wanted });
        }
        BssOperation::ModifyFilter { nsapi, filter, .. } => {
            let change = Change { qos: None, tft: Some(template(filter)) };
            give(MsCommand::Modify { mobile, nsapi, change });
        }
        BssOperation::ModifyDelay { nsapi, delay_class, .. } => {
            let qos = QosProfile { delay: DelayClass(delay_class), ..QosProfile::default() };
            give(MsCommand::Modify { mobile, nsapi, change: Change { qos: Some(qos), tft: None } });
        }
        BssOperation::TearDown { nsapi, .. } => give(MsCommand::TearDown { mobile, nsapi }),
        BssOperation::Reselect { cell, .. } => {
            cell_exists(node, access, cell)?;
            access.command(node.ms, MsCommand::ChangeCell { mobile, cell });
        }
        _ => {}
    }
    Ok(())
}
