//! What an operator asks of a running SGSN.

use super::{SgsnNode, counters, paths, show};
use crate::node::{show as common, statistics};
use core::fmt::Write as _;
use gannet_node::sgsn::mobile::Mobile;
use gannet_node::sgsn::operation::NsvcOrder;
use gannet_node::sgsn::{Sgsn, SgsnCommand};
use gannet_node::slots::Slot;
use gannet_ops::config::sgsn::{LocationAnswer, NsvcChange, SgsnConfig, SgsnOperation, Update, Whom};
use gannet_ops::grammar::CommandError;
use gannet_proto::gmm::network::NetworkNames;
use gannet_rt::Access;
use gannet_wire::gsup::CancelType;
use gannet_wire::id::{Imsi, Nsapi};
use gannet_wire::l3::ie::GmmCause;

type Done = Result<(), CommandError>;

/// Does it.
pub fn execute(
    node: &SgsnNode,
    config: &SgsnConfig,
    operation: &SgsnOperation,
    access: &mut Access<'_>,
    out: &mut String,
) -> Done {
    let now = access.now();
    let id = node.machine;
    match operation {
        SgsnOperation::ShowDrops => {
            common::drops(access, out);
            for (drop, count) in access.kernel_path().drops().into_iter().filter(|(_, count)| *count > 0) {
                let _ = write!(out, "{}", gannet_ops::view::DropCount { drop, count });
            }
        }
        SgsnOperation::ShowWhy(imsi) => {
            common::why(access, *imsi, out);
            paths::why(node, access, *imsi, out);
        }
        SgsnOperation::ShowStore => {
            let Some(store) = &node.store else {
                return Err(CommandError::new(
                    "There is no store; say 'store PATH' under 'sgsn' to have one.",
                ));
            };
            let _ = write!(out, "{}", store.borrow().show(access));
        }
        SgsnOperation::ShowIngress => paths::show(access, out),
        SgsnOperation::DeactivatePdp { imsi, nsapi } => return deactivate(node, access, *imsi, *nsapi),
        SgsnOperation::Detach(imsi) => {
            known(access.machine(id).map(|sgsn| &*sgsn), *imsi)?;
            access.command(id, SgsnCommand::Detach { imsi: *imsi, reattach: false });
        }
        SgsnOperation::ResetNs => {
            access.command(id, SgsnCommand::ResetNs);
        }
        SgsnOperation::UpdateSubscriber { imsi, update } => {
            return change_subscriber(node, *imsi, *update, access);
        }
        SgsnOperation::ResetState => {
            if let Some((sgsn, mut cx)) = access.machine_and_context(id) {
                let mobiles = sgsn.forget_all(&mut cx);
                let _ = writeln!(out, "{mobiles} mobiles are forgotten, here and at their GGSNs.");
            }
        }
        SgsnOperation::Page(_)
        | SgsnOperation::ReallocatePtmsi(_)
        | SgsnOperation::Inform(_)
        | SgsnOperation::Relocate(_)
        | SgsnOperation::ChangeNsvc { .. }
        | SgsnOperation::ResetBvc { .. } => {
            return order(node, operation, access, out);
        }
        SgsnOperation::ShowCounters => {
            let mut groups = Vec::new();
            counters::groups(node, config, 0, access, &mut groups);
            statistics::add_common(access, &mut groups);
            gannet_ops::metrics::text::counters(&groups, out);
        }
        other => {
            let Some(sgsn) = access.machine(id) else { return Ok(()) };
            return answer(node, config, sgsn, now, other, out);
        }
    }
    Ok(())
}

/// What is only read.
fn answer(
    node: &SgsnNode,
    config: &SgsnConfig,
    sgsn: &Sgsn,
    now: gannet_machine::time::Instant,
    operation: &SgsnOperation,
    out: &mut String,
) -> Done {
    match operation {
        SgsnOperation::ShowSubscribers(whom) => {
            for (_, mobile) in of_whom(sgsn, whom)? {
                let _ = write!(out, "{}", show::subscriber(mobile));
            }
        }
        SgsnOperation::ShowSubscriberCache => sgsn.mobiles().for_each(|(_, mobile)| {
            let _ = write!(out, "{}", show::cached_subscriber(mobile));
        }),
        SgsnOperation::ShowMmContexts { whom: Whom::Imsi(imsi), .. } if sgsn.mobile_of(*imsi).is_none() => {
            let _ = writeln!(out, "No MM context for IMSI {imsi}");
        }
        SgsnOperation::ShowMmContexts { whom, pdp } => {
            for (slot, mobile) in of_whom(sgsn, whom)? {
                let _ = write!(out, "{}", show::mm_context(sgsn, slot, mobile, *pdp));
            }
        }
        SgsnOperation::ShowPdpContexts(whom) => {
            for (slot, mobile) in of_whom(sgsn, whom)? {
                for context in show::pdp_contexts(sgsn, slot, mobile) {
                    let _ = write!(out, "{context}");
                }
            }
        }
        SgsnOperation::ShowNs { what, stats } => {
            let local = |port| node.local(port);
            let shown = common::Shown { now, local: &local, stats: *stats };
            show::ns(sgsn, &config.ns.binds, (*what, shown), out);
        }
        SgsnOperation::ShowLlc => {
            out.push_str("State of LLC Entities\n");
            sgsn.mobiles().for_each(|(_, mobile)| {
                let _ = write!(out, "{}", show::llc(mobile));
            });
        }
        SgsnOperation::ShowSndcp => {
            out.push_str("State of SNDCP Entities\n");
            sgsn.mobiles().flat_map(|(_, mobile)| show::sndcp(mobile)).for_each(|context| {
                let _ = write!(out, "{context}");
            });
        }
        SgsnOperation::ShowBssgp { nsei, stats } => {
            for bvc in show::bvcs(sgsn, now, *nsei, *stats) {
                let _ = write!(out, "{bvc}");
            }
        }
        SgsnOperation::ShowSgsn => {
            let hlr = super::mapping::hlr(config);
            let summary = show::summary(sgsn, node.gtp_address, (node.restart_counter, hlr), now);
            let _ = write!(out, "{summary}");
        }
        SgsnOperation::ShowScheduler => counters::scheduler(sgsn, out),
        SgsnOperation::ShowGgsns => {
            for peer in show::ggsns(sgsn, config) {
                let _ = write!(out, "{peer}");
            }
        }
        _ => return Err(CommandError::new("That is not known here.")),
    }
    Ok(())
}

type Mobiles<'s> = Vec<(Slot, &'s Mobile)>;

fn of_whom<'s>(sgsn: &'s Sgsn, whom: &Whom) -> Result<Mobiles<'s>, CommandError> {
    match whom {
        Whom::All => Ok(sgsn.mobiles().collect()),
        Whom::Imsi(imsi) => Ok(vec![known(Some(sgsn), *imsi)?]),
        Whom::Msisdn(_) => Err(CommandError::new("Without an HLR, nobody's number is known here.")),
    }
}

fn known(sgsn: Option<&Sgsn>, imsi: Imsi) -> Result<(Slot, &Mobile), CommandError> {
    sgsn.and_then(|sgsn| sgsn.mobile_of(imsi))
        .ok_or_else(|| CommandError(format!("IMSI {imsi} is not known here.")))
}

fn deactivate(node: &SgsnNode, access: &mut Access<'_>, imsi: Imsi, nsapi: Nsapi) -> Done {
    let (_, mobile) = known(access.machine(node.machine).map(|sgsn| &*sgsn), imsi)?;
    if mobile.sm().get(nsapi).is_none() {
        return Err(CommandError(format!("IMSI {imsi} has no PDP context with NSAPI {nsapi}.")));
    }
    access.command(node.machine, SgsnCommand::Deactivate { imsi, nsapi });
    Ok(())
}

/// `update-subscriber`: in the place of the HLR.
fn change_subscriber(node: &SgsnNode, imsi: Imsi, update: Update, access: &mut Access<'_>) -> Done {
    let Some((sgsn, mut cx)) = access.machine_and_context(node.machine) else { return Ok(()) };
    let cx = &mut cx;
    let result = match update {
        Update::Destroy => sgsn.forget_subscriber(cx, imsi),
        Update::CancelUpdate => sgsn.cancel_subscriber(cx, imsi, CancelType::Update),
        Update::CancelWithdraw => sgsn.cancel_subscriber(cx, imsi, CancelType::Withdraw),
        Update::LocationResult(answer) => sgsn.answer_location(cx, imsi, location_cause(answer)),
        Update::AuthInfo => sgsn.authenticate_again(cx, imsi),
    };
    result.map_err(|refused| CommandError(format!("IMSI {imsi} {refused}.")))
}

/// What the HLR's answer is in GSUP (09.02 clause 7.6.1.4 [29.002]).
const fn location_cause(answer: LocationAnswer) -> Result<(), GmmCause> {
    match answer {
        LocationAnswer::Ok => Ok(()),
        LocationAnswer::SystemFailure => Err(GmmCause::NetworkFailure),
        LocationAnswer::DataMissing => Err(GmmCause::InvalidMandatoryInformation),
        LocationAnswer::UnexpectedDataValue => Err(GmmCause::SemanticallyIncorrect),
        LocationAnswer::UnknownSubscriber => Err(GmmCause::ImsiUnknownInHlr),
        LocationAnswer::RoamingNotAllowed => Err(GmmCause::RoamingNotAllowed),
    }
}

/// What goes to the node at once, with a context.
fn order(node: &SgsnNode, operation: &SgsnOperation, access: &mut Access<'_>, out: &mut String) -> Done {
    let Some((sgsn, mut cx)) = access.machine_and_context(node.machine) else { return Ok(()) };
    match operation {
        SgsnOperation::Page(imsi) => {
            known(Some(&*sgsn), *imsi)?;
            sgsn.page_subscriber(&mut cx, *imsi);
        }
        SgsnOperation::ReallocatePtmsi(imsi) => {
            known(Some(&*sgsn), *imsi)?;
            sgsn.reallocate_ptmsi(&mut cx, *imsi);
        }
        SgsnOperation::Inform(imsi) => {
            known(Some(&*sgsn), *imsi)?;
            if sgsn.config().gmm.names == NetworkNames::default() {
                return Err(CommandError::new(
                    "The network has no name; say 'short name TEXT' or 'long name TEXT' under 'sgsn'.",
                ));
            }
            sgsn.inform_subscriber(&mut cx, *imsi);
        }
        SgsnOperation::Relocate(imsi) => {
            known(Some(&*sgsn), *imsi)?;
            let octets = sgsn.export(&mut cx, *imsi).unwrap_or_default();
            let error = |error| CommandError(format!("IMSI {imsi} has left and cannot come back: {error}."));
            sgsn.import(&mut cx, &octets).map_err(error)?;
            let _ = writeln!(out, "IMSI {imsi} left as {} octets and is back.", octets.len());
        }
        SgsnOperation::ChangeNsvc { nsvci, change } => {
            let order = match change {
                NsvcChange::Block => NsvcOrder::Block,
                NsvcChange::Unblock => NsvcOrder::Unblock,
                NsvcChange::Reset => NsvcOrder::Reset,
            };
            let vc = sgsn.gb().ns.vcs().find(|vc| vc.nsvci() == Some(*nsvci)).map(|vc| vc.index());
            let vc = vc.ok_or_else(|| CommandError(format!("There is no NS-VC with NSVCI {nsvci}.")))?;
            sgsn.order_nsvc(&mut cx, vc, order);
        }
        SgsnOperation::ResetBvc { nsei, bvci } => {
            let bvc = sgsn.gb().bvcs.find(*nsei, *bvci);
            let bvc = bvc.ok_or_else(|| CommandError(format!("NSEI {nsei} has no BVC with BVCI {bvci}.")))?;
            sgsn.reset_bvc(&mut cx, bvc);
        }
        _ => {}
    }
    Ok(())
}
