//! A BSS and its mobiles as an operator sees them.

use super::BssNode;
use crate::node::show as common;
use crate::node::statistics::{PARTS_STEP, number};
use core::net::IpAddr;
use gannet_machine::time::Instant;
use gannet_node::bss::Bss;
use gannet_node::ms::show::MobileView;
use gannet_node::ms::{Ms, Stats};
use gannet_ops::metrics::{Class, Group, Level, Metric, of_view};
use gannet_ops::view;
use gannet_proto::rlcmac::air::{Cell, Direction};
use gannet_rt::Access;
use gannet_wire::id::Bvci;
use gannet_wire::l3::ie::PdpAddress;
use std::collections::BTreeMap;

/// One line of `show mobile`.
pub fn mobile(view: &MobileView, tun: Option<String>) -> view::Mobile {
    let address = view.contexts.iter().find_map(|context| match context.address? {
        PdpAddress::Ipv4(address) | PdpAddress::Ipv4v6(address, _) => Some(IpAddr::V4(address)),
        PdpAddress::Ipv6(address) => Some(IpAddr::V6(address)),
        _ => None,
    });
    view::Mobile {
        number: view.index.saturating_add(1),
        imsi: view.imsi,
        state: state(view),
        cell: view.cell.map_or(0, |(index, _)| index),
        tlli: view.tlli,
        address,
        tun,
    }
}

/// What `show mobile N` says beside that line.
pub fn details(view: &MobileView) -> String {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let mut text = format!(
        "       {} ({}), {}, P-TMSI {}, {}{}{}\n",
        view.gmm,
        view.service,
        view.mm,
        or_dash(view.ptmsi.map(|ptmsi| ptmsi.to_string())),
        view.cipher,
        view.non_gprs.map(|standing| format!(", {standing}")).unwrap_or_default(),
        if view.suspended { ", GPRS suspended" } else { "" }
    );
    for context in &view.contexts {
        let sapi = or_dash(context.sapi.map(|sapi| sapi.to_string()));
        let address = or_dash(context.address.map(|address| address.to_string()));
        let mode = if context.acknowledged { ", acknowledged" } else { "" };
        text += &format!(
            "       NSAPI {} SAPI {sapi}: {}{mode}, address {address}\n",
            context.nsapi, context.state
        );
        for filter in &context.filters {
            text += &format!("         TFT {filter}\n");
        }
    }
    for line in view.layers() {
        text += &format!("       {line}\n");
    }
    text
}

/// Where a mobile is in its life, in one word.
fn state(view: &MobileView) -> &'static str {
    let registered = matches!(view.gmm, "gmm-registered" | "gmm-routing-area-updating-initiated");
    let any = |state: &str| view.contexts.iter().any(|context| context.state.starts_with(state));
    match view.gmm {
        "gmm-registered-initiated" => "attaching",
        "gmm-deregistered-initiated" => "detaching",
        _ if registered && any("pdp-active,") => "pdp-active",
        _ if registered && view.contexts.iter().any(|context| context.state == "pdp-active") => "pdp-active",
        _ if registered && any("pdp-activation") => "pdp-activating",
        _ if registered => "attached",
        _ => "detached",
    }
}

/// How many mobiles camp on each cell.
pub fn camping(ms: &Ms) -> BTreeMap<u16, u32> {
    let mut counts = BTreeMap::new();
    for (cell, _) in ms.views().filter_map(|view| view.cell) {
        *counts.entry(cell).or_default() += 1;
    }
    counts
}

/// `show cells`.
pub fn cells(bss: &Bss, camping: &BTreeMap<u16, u32>) -> Vec<view::Cell> {
    (0..=u16::MAX).map_while(|number| cell(bss, camping, number)).collect()
}

fn cell(bss: &Bss, camping: &BTreeMap<u16, u32>, number: u16) -> Option<view::Cell> {
    let cell = bss.cell(number.into())?;
    let state = bss.bvcs().get(number.into()).map_or("DOWN", |bvc| bvc.state.name());
    Some(view::Cell {
        number,
        cell: cell.config.id,
        nsei: cell.config.nsei,
        bvci: cell.config.bvci,
        state,
        mobiles: camping.get(&number).copied().unwrap_or(0),
        queued_pdus: cell.queued.frames.into(),
    })
}

/// The cells of a radio with RLC/MAC, by number.
fn cells_with_rlcmac(bss: &Bss) -> impl Iterator<Item = (u16, &Cell)> {
    (0..=u16::MAX).map_while(|number| Some((number, bss.rlcmac()?.cell(number.into())?)))
}

/// `show radio`.
pub fn radio_cells(bss: &Bss) -> impl Iterator<Item = view::RadioCell> {
    cells_with_rlcmac(bss).map(move |(number, cell)| view::RadioCell {
        number,
        arfcn: cell.pcu().options().arfcn,
        pdchs: cell.pcu().config().pdchs,
        held: cell.pcu().held_channels(),
        preemption: cell.pcu().preemption_counts(),
        calls: calls(bss, number),
        tbfs: cell.pcu().tbfs(),
        blocks: *cell.pcu().counts(),
        access: *cell.pcu().access_counts(),
        air: cell.counts(),
        rlc: cell.pcu().rlc_counts(),
    })
}

/// Calls that came to a cell, and those of them that were blocked.
fn calls(bss: &Bss, number: u16) -> (u64, u64) {
    let shared = bss.cell(number.into()).and_then(|cell| cell.shared);
    shared.map_or((0, 0), |shared| (shared.calls.offered, shared.calls.blocked))
}

/// `show tbf all`: of each cell the uplink ones first.
pub fn tbfs(bss: &Bss) -> impl Iterator<Item = view::Tbf> {
    let of = |(number, cell): (u16, &Cell)| {
        let both = [Direction::Up, Direction::Down].map(|direction| cell.pcu().tbf_views(direction));
        let both: Vec<_> = both.into_iter().flatten().map(|view| view::Tbf { cell: number, view }).collect();
        both
    };
    cells_with_rlcmac(bss).flat_map(of)
}

/// `show ms all`.
pub fn radio_mobiles(bss: &Bss) -> impl Iterator<Item = view::RadioMobile> {
    let counts = |mobile| bss.rlcmac().and_then(|radio| radio.mobile_counts(mobile)).unwrap_or_default();
    let of = move |(number, cell): (u16, &Cell)| {
        let all = cell.pcu().mobile_views().into_iter();
        all.map(move |view| view::RadioMobile { cell: number, view, counts: counts(view.mobile) })
    };
    cells_with_rlcmac(bss).flat_map(of)
}

/// `show bssgp`.
pub fn bvcs(bss: &Bss, stats: bool) -> Vec<view::Bvc> {
    let mut all = Vec::new();
    for nse in bss.bvcs().nses() {
        all.push(view::Bvc {
            nsei: nse.nsei,
            bvci: Bvci::SIGNALLING,
            cell: None,
            state: nse.state.name(),
            flow_control: None,
            stats: None,
        });
        for (index, bvc) in bss.bvcs().bvcs().filter(|(_, bvc)| bvc.nsei == nse.nsei) {
            let counters = bss.cell(index).map(|cell| cell.counters).filter(|_| stats);
            all.push(view::Bvc {
                nsei: bvc.nsei,
                bvci: bvc.bvci,
                cell: Some(bvc.cell),
                state: bvc.state.name(),
                flow_control: None,
                stats: counters.map(|counters| view::BvcStats {
                    rx_pdus: counters.downlink.frames.into(),
                    rx_octets: counters.downlink.octets,
                    tx_pdus: counters.uplink.frames.into(),
                    tx_octets: counters.uplink.octets,
                    discarded: counters.discarded.frames.into(),
                    ..view::BvcStats::default()
                }),
            });
        }
    }
    all
}

const NODE: Class = Class { name: "", osmocom: "bss", title: "BSS", level: Level::Global, lines: Some("") };

/// What is counted: by mobiles and cells together, then by the NS-VCs and cells, some in each part.
pub fn groups(node: &BssNode, part: usize, access: &mut Access<'_>, groups: &mut Vec<Group>) -> bool {
    let now = access.now();
    let Some(part) = part.checked_sub(1) else {
        let mobiles = access.look_at(node.ms).map(|ms| (Ms::len(ms), ms.stats()));
        let Some(bss) = access.look_at(node.bss) else { return false };
        let (count, stats) = mobiles.unwrap_or_default();
        groups.push(node_group(count, &stats, bss));
        groups.extend(bss.rlcmac().map(|radio| of_view::radio_mobiles(&radio.counts_of_mobiles())));
        return true;
    };
    let Some(bss) = access.look_at(node.bss) else { return false };
    groups_of_cells(bss, part, now, groups)
}

/// What is counted of NS-VCs and cells, some in each part; parts are counted from 0. True where there is a next one.
pub fn groups_of_cells(bss: &Bss, part: usize, now: Instant, groups: &mut Vec<Group>) -> bool {
    let shown = common::Shown { now, local: &|_| None, stats: true };
    let vcs = bss.ns().vcs().map(|vc| of_view::ns_vc(vc.nsei(), &common::ns_vc(vc, shown)));
    let nobody = BTreeMap::new();
    let cells = (0..=u16::MAX).map_while(|number| cell(bss, &nobody, number));
    let radio = radio_cells(bss).map(|cell| of_view::radio(&cell));
    let all = vcs.chain(cells.map(|cell| of_view::cell(&cell))).chain(radio);
    let mut peers = all.skip(part * PARTS_STEP);
    groups.extend(peers.by_ref().take(PARTS_STEP));
    peers.next().is_some()
}

fn node_group(mobiles: usize, stats: &Stats, bss: &Bss) -> Group {
    let cells = (0_u32..).map_while(|cell| Some(bss.cell(cell)?.counters));
    let discarded = cells.map(|cell| u64::from(cell.discarded.frames)).sum();
    let mut group = Group::single(&NODE);
    count_mobiles(&mut group, mobiles, stats);
    group.add(Metric::counter("ll_pdu_discarded", "LL-PDUs that cells discarded", discarded));
    group
}

const MOBILES: Class =
    Class { name: "", osmocom: "ms", title: "Mobiles", level: Level::Global, lines: Some("") };

/// What is counted of mobiles with devices, as a group of its own.
pub fn mobiles_group((mobiles, devices): (usize, usize), stats: &Stats) -> Group {
    let mut group = Group::single(&MOBILES);
    count_mobiles(&mut group, mobiles, stats);
    group.add(Metric::gauge("devices", "network devices of contexts", number(devices)));
    group
}

fn count_mobiles(group: &mut Group, mobiles: usize, stats: &Stats) {
    for (name, help, value) in [
        ("n_pdu_downlink", "N-PDUs that came to mobiles", stats.n_pdu_downlink),
        ("n_pdu_uplink", "N-PDUs that mobiles sent", stats.n_pdu_uplink),
        ("ll_pdu_downlink", "LL-PDUs that came to mobiles", stats.ll_pdu_downlink),
        ("ll_pdu_uplink", "LL-PDUs that mobiles sent", stats.ll_pdu_uplink),
        ("attached", "attach procedures that ended well", stats.attached),
        ("activated", "PDP context activations that ended well", stats.activated),
        ("pagings", "pagings that mobiles heard", stats.pagings),
        ("n_pdu_confirmed", "N-PDUs of mobiles that were confirmed in acknowledged mode", stats.confirmed),
        ("links_ended", "ends of acknowledged mode that no mobile had asked for", stats.links_ended),
    ] {
        group.add(Metric::counter(name, help, value));
    }
    group.add(Metric::gauge("mobiles", "mobiles", number(mobiles)));
}
